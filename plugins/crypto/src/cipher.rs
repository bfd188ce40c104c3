//! Ciphers with prepared keys. They work in place, do not allocate and can be shared by threads.
#![forbid(unsafe_code)]

use aes::cipher::inout::InOutBuf;
use aes::cipher::typenum::{U8, U16};
use aes::cipher::{
    Block, BlockCipher, BlockDecrypt, BlockDecryptMut, BlockEncrypt, BlockEncryptMut, InnerIvInit,
    KeyInit, StreamCipher, StreamCipherCoreWrapper,
};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::aead::AeadInPlace;
use des::{Des, TdesEde3};
use ring::aead::{self, LessSafeKey, UnboundKey};

use super::algorithm::{CipherAlgorithm, Mode};
#[cfg(target_arch = "x86_64")]
use super::{cbc as lanes, gcm};

/// Length of the longest initialization vector, in bytes.
pub const MAX_IV: usize = 16;
/// Length of the tag of an AEAD, in bytes.
pub const TAG: usize = 16;
/// AES-192-GCM, which ring does not implement.
type Aes192Gcm = aes_gcm::AesGcm<Aes192, aes_gcm::aead::consts::U12>;

/// The key does not have the length that the algorithm requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyLength {
    /// The required length in bytes.
    pub expected: usize,
}

/// A packet to be sealed or opened with an AEAD, one of several that are processed together.
#[derive(Default)]
pub struct Job<'a> {
    /// The nonce.
    pub nonce: [u8; 12],
    /// Additional authenticated data, padded with zeros.
    pub aad: [u8; 12],
    /// Length of the additional authenticated data, in bytes.
    pub aad_len: u8,
    /// The data, which is encrypted or decrypted in place.
    pub data: &'a mut [u8],
    /// The tag: computed when sealing, expected when opening.
    pub tag: [u8; TAG],
}

/// A cipher with its key.
pub struct Cipher {
    /// Algorithm.
    pub algorithm: CipherAlgorithm,
    key: Key,
    /// The key for several packets in parallel, for CBC on processors that support it.
    #[cfg(target_arch = "x86_64")]
    lanes: Option<Box<lanes::Key>>,
}

enum Key {
    Null,
    Aes128(Box<Aes128>),
    Aes192(Box<Aes192>),
    Aes256(Box<Aes256>),
    Des(Box<Des>),
    TripleDes(Box<TdesEde3>),
    #[cfg(target_arch = "x86_64")]
    Gcm(Box<gcm::Key>),
    Ring(Box<LessSafeKey>),
    Aes192Gcm(Box<Aes192Gcm>),
}

impl Cipher {
    /// Prepares a key.
    ///
    /// # Errors
    /// [`KeyLength`].
    pub fn new(algorithm: CipherAlgorithm, key: &[u8]) -> Result<Self, KeyLength> {
        let wrong = KeyLength { expected: algorithm.key };
        if algorithm.mode != Mode::Null && key.len() != algorithm.key {
            return Err(wrong);
        }
        let ring = |with: &'static aead::Algorithm| {
            UnboundKey::new(with, key).map(|key| Key::Ring(Box::new(LessSafeKey::new(key))))
        };
        let has_tag = matches!(algorithm.mode, Mode::Aead | Mode::Gmac);
        #[cfg(target_arch = "x86_64")]
        if algorithm.is_gcm()
            && let Some(key) = gcm::Key::new(key)
        {
            return Ok(Self { algorithm, key: Key::Gcm(Box::new(key)), lanes: None });
        }
        #[cfg(target_arch = "x86_64")]
        let lanes = (algorithm.mode == Mode::Cbc && algorithm.block == 16)
            .then(|| lanes::Key::new(key).map(Box::new));
        let key = match (algorithm.mode, algorithm.block, algorithm.key) {
            (Mode::Null, ..) => Key::Null,
            _ if has_tag && !algorithm.is_gcm() => {
                ring(&aead::CHACHA20_POLY1305).map_err(|_| wrong)?
            }
            (_, _, 16) if has_tag => ring(&aead::AES_128_GCM).map_err(|_| wrong)?,
            (_, _, 32) if has_tag => ring(&aead::AES_256_GCM).map_err(|_| wrong)?,
            _ if has_tag => Key::Aes192Gcm(prepared(key).ok_or(wrong)?),
            (_, 8, 8) => Key::Des(prepared(key).ok_or(wrong)?),
            (_, 8, _) => Key::TripleDes(prepared(key).ok_or(wrong)?),
            (_, _, 16) => Key::Aes128(prepared(key).ok_or(wrong)?),
            (_, _, 24) => Key::Aes192(prepared(key).ok_or(wrong)?),
            _ => Key::Aes256(prepared(key).ok_or(wrong)?),
        };
        Ok(Self {
            algorithm,
            key,
            #[cfg(target_arch = "x86_64")]
            lanes: lanes.flatten(),
        })
    }
    /// Encrypts whole blocks with CBC, or any bytes with CTR, whose `iv` is the whole first
    /// counter block.
    #[inline]
    pub fn encrypt(&self, iv: &[u8; MAX_IV], data: &mut [u8]) {
        match (&self.key, self.algorithm.mode) {
            (Key::Aes128(key), Mode::Cbc) => cbc_encrypt16(&**key, iv, data),
            (Key::Aes192(key), Mode::Cbc) => cbc_encrypt16(&**key, iv, data),
            (Key::Aes256(key), Mode::Cbc) => cbc_encrypt16(&**key, iv, data),
            (Key::Des(key), _) => cbc_encrypt8(&**key, iv, data),
            (Key::TripleDes(key), _) => cbc_encrypt8(&**key, iv, data),
            _ => self.stream(iv, data),
        }
    }
    /// Decrypts the output of [`Cipher::encrypt`].
    #[inline]
    pub fn decrypt(&self, iv: &[u8; MAX_IV], data: &mut [u8]) {
        match (&self.key, self.algorithm.mode) {
            (Key::Aes128(key), Mode::Cbc) => cbc_decrypt16(&**key, iv, data),
            (Key::Aes192(key), Mode::Cbc) => cbc_decrypt16(&**key, iv, data),
            (Key::Aes256(key), Mode::Cbc) => cbc_decrypt16(&**key, iv, data),
            (Key::Des(key), _) => cbc_decrypt8(&**key, iv, data),
            (Key::TripleDes(key), _) => cbc_decrypt8(&**key, iv, data),
            _ => self.stream(iv, data),
        }
    }
    fn stream(&self, iv: &[u8; MAX_IV], data: &mut [u8]) {
        match &self.key {
            Key::Aes128(key) => key_stream(&**key, iv, data),
            Key::Aes192(key) => key_stream(&**key, iv, data),
            Key::Aes256(key) => key_stream(&**key, iv, data),
            _ => (),
        }
    }
    /// Encrypts pieces of whole blocks with CBC, each with an initialization vector of zeros.
    pub fn encrypt_each<'a>(&self, pieces: impl ExactSizeIterator<Item = &'a mut [u8]>) {
        #[cfg(target_arch = "x86_64")]
        if let Some(key) = self.lanes.as_ref().filter(|_| pieces.len() >= FEW) {
            return key.encrypt(pieces);
        }
        pieces.for_each(|piece| self.encrypt(&[0; MAX_IV], piece));
    }
    /// Returns an unpredictable initialization vector for CBC, made from a number that is used
    /// once: that number encrypted (NIST SP 800-38A, appendix C).
    #[inline]
    pub fn unforeseen_iv(&self, number: u64) -> [u8; MAX_IV] {
        let mut block = [0; MAX_IV];
        let len = self.algorithm.block.min(MAX_IV);
        if len < 8 {
            return block;
        }
        block[len - 8..len].copy_from_slice(&number.to_be_bytes());
        let no_iv = [0; MAX_IV];
        self.encrypt(&no_iv, &mut block[..len]);
        block
    }
    /// Encrypts in place and returns the tag; `None` if the algorithm is not an AEAD.
    pub fn seal(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> Option<[u8; TAG]> {
        match &self.key {
            #[cfg(target_arch = "x86_64")]
            Key::Gcm(key) => Some(key.seal(nonce, aad, data)),
            Key::Ring(key) => {
                let nonce = aead::Nonce::assume_unique_for_key(*nonce);
                let tag = key.seal_in_place_separate_tag(nonce, aead::Aad::from(aad), data).ok()?;
                tag.as_ref().try_into().ok()
            }
            Key::Aes192Gcm(key) => {
                let tag = key.encrypt_in_place_detached(nonce.into(), aad, data).ok()?;
                Some(tag.into())
            }
            _ => None,
        }
    }
    /// Seals several packets; returns whether all of them were sealed.
    pub fn seal_each(&self, jobs: &mut [Job<'_>]) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let Key::Gcm(key) = &self.key {
            gcm_each::<true>(key, jobs, |_, _| ());
            return true;
        }
        jobs.iter_mut().fold(true, |all, job| {
            let (aad, len) = (job.aad, usize::from(job.aad_len));
            let tag = self.seal(&job.nonce, aad.get(..len).unwrap_or(&[]), job.data);
            job.tag = tag.unwrap_or_default();
            all & tag.is_some()
        })
    }
    /// Prefetches the key for a packet that will soon be sealed or opened.
    #[inline]
    pub fn prefetch(&self) {
        #[cfg(target_arch = "x86_64")]
        if let Key::Gcm(key) = &self.key {
            key.prefetch();
        }
    }
    /// Whether several packets can be opened together.
    #[inline(always)]
    pub fn opens_each(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return matches!(self.key, Key::Gcm(_));
        #[cfg(not(target_arch = "x86_64"))]
        false
    }
    /// Decrypts at most 64 packets and returns a bit for each packet whose tag is correct.
    /// `None` if packets can only be opened one by one.
    pub fn open_each(&self, jobs: &mut [Job<'_>]) -> Option<u64> {
        #[cfg(target_arch = "x86_64")]
        if let Key::Gcm(key) = &self.key {
            let mut right = 0;
            gcm_each::<false>(key, jobs, |at, is_right| right |= u64::from(is_right) << (at % 64));
            return Some(right);
        }
        let _ = jobs;
        None
    }
    /// Decrypts data that ends with its tag in place; returns whether the tag is correct.
    pub fn open(&self, nonce: &[u8; 12], aad: &[u8], data_and_tag: &mut [u8]) -> bool {
        match &self.key {
            #[cfg(target_arch = "x86_64")]
            Key::Gcm(key) => {
                let Some((data, tag)) = data_and_tag.split_last_chunk_mut::<TAG>() else {
                    return false;
                };
                is_same(&key.open(nonce, aad, data), tag)
            }
            Key::Ring(key) => {
                let nonce = aead::Nonce::assume_unique_for_key(*nonce);
                key.open_in_place(nonce, aead::Aad::from(aad), data_and_tag).is_ok()
            }
            Key::Aes192Gcm(key) => {
                let Some(at) = data_and_tag.len().checked_sub(TAG) else { return false };
                let (data, tag) = data_and_tag.split_at_mut(at);
                let tag = aes_gcm::Tag::from_slice(tag);
                key.decrypt_in_place_detached(nonce.into(), aad, data, tag).is_ok()
            }
            _ => false,
        }
    }
}

/// Number of packets from which parallel processing is worthwhile.
#[cfg(target_arch = "x86_64")]
const FEW: usize = 3;

/// Seals or opens packets, four short ones at a time; returns for each whether it has the tag that
/// it came with.
#[cfg(target_arch = "x86_64")]
fn gcm_each<const SEALS: bool>(
    key: &gcm::Key,
    jobs: &mut [Job<'_>],
    mut is_right: impl FnMut(usize, bool),
) {
    let (fours, rest) = jobs.as_chunks_mut::<{ gcm::FOUR }>();
    let alone = |job: &mut Job<'_>| {
        let (aad, len) = (job.aad, usize::from(job.aad_len).min(12));
        match SEALS {
            true => key.seal(&job.nonce, &aad[..len], job.data),
            false => key.open(&job.nonce, &aad[..len], job.data),
        }
    };
    let mut at = 0;
    for four in fours {
        let given: [_; gcm::FOUR] = std::array::from_fn(|k| four[k].tag);
        if four.iter().all(|job| job.data.len() <= gcm::MOST) {
            key.crypt_four::<SEALS>(four);
        } else {
            four.iter_mut().for_each(|job| job.tag = alone(job));
        }
        for (given, job) in given.iter().zip(four) {
            is_right(at, SEALS || is_same(given, &job.tag));
            at += 1;
        }
    }
    for job in rest {
        let given = job.tag;
        job.tag = alone(job);
        is_right(at, SEALS || is_same(&given, &job.tag));
        at += 1;
    }
}

/// Whether tags are equal: compared as one number, so that no branch depends on a part of them.
#[cfg(target_arch = "x86_64")]
fn is_same(one: &[u8; TAG], other: &[u8; TAG]) -> bool {
    u128::from_ne_bytes(*one) ^ u128::from_ne_bytes(*other) == 0
}

fn prepared<K: KeyInit>(key: &[u8]) -> Option<Box<K>> {
    K::new_from_slice(key).ok().map(Box::new)
}

fn key_stream<C>(key: &C, iv: &[u8; MAX_IV], data: &mut [u8])
where
    C: BlockEncrypt<BlockSize = U16> + BlockCipher,
{
    let core: ctr::CtrCore<&C, ctr::flavors::Ctr32BE> = ctr::CtrCore::inner_iv_init(key, iv.into());
    StreamCipherCoreWrapper::from_core(core).apply_keystream(data);
}

macro_rules! cbc_with_blocks {
    ($encrypt:ident $decrypt:ident $size:ty, $len:literal) => {
        fn $encrypt<C>(key: &C, iv: &[u8; MAX_IV], data: &mut [u8])
        where
            C: BlockEncrypt<BlockSize = $size> + BlockCipher,
        {
            let Some(iv) = iv.first_chunk::<$len>() else { return };
            let mut mode = cbc::Encryptor::inner_iv_init(key, iv.into());
            for block in data.chunks_exact_mut($len) {
                mode.encrypt_block_mut(Block::<C>::from_mut_slice(block));
            }
        }
        fn $decrypt<C>(key: &C, iv: &[u8; MAX_IV], data: &mut [u8])
        where
            C: BlockDecrypt<BlockSize = $size> + BlockCipher,
        {
            let Some(iv) = iv.first_chunk::<$len>() else { return };
            let mut mode = cbc::Decryptor::inner_iv_init(key, iv.into());
            let (blocks, _) = InOutBuf::from(data).into_chunks::<$size>();
            mode.decrypt_blocks_inout_mut(blocks);
        }
    };
}

cbc_with_blocks!(cbc_encrypt16 cbc_decrypt16 U16, 16);
cbc_with_blocks!(cbc_encrypt8 cbc_decrypt8 U8, 8);
