//! Encrypted payloads (RFC 7296 section 3.14, RFC 5282) and message fragments (RFC 7383).

use crypto::{CIPHERS, Cipher, MACS, MAX_IV, Mac, Mode, TAG};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::keys::{Hidden, cmac};
use super::suite::{Suite, integ};
use crate::codec::number::payload;
use crate::codec::{Chain, HEADER, Header, message};

/// Encryption and integrity protection for one direction of an association.
pub struct Seal {
    cipher: Cipher,
    salt: [u8; 4],
    integ: Option<Hash>,
}

enum Hash {
    Hmac(Mac),
    Cmac(Zeroizing<[u8; 16]>),
}

impl Hash {
    fn icv(&self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Hmac(mac) => {
                mac.hash(&[bytes]).get(..mac.algorithm.icv).unwrap_or_default().to_vec()
            }
            Self::Cmac(key) => cmac(key, &[bytes])[..12].to_vec(),
        }
    }
}

/// Bytes between the message header and the ciphertext: the payload header, and the fragment
/// numbers.
fn front(part: Option<(u16, u16)>) -> usize {
    HEADER + if part.is_some() { 8 } else { 4 }
}

impl Seal {
    /// Creates one direction from its keys; `None` if their lengths are wrong.
    pub fn new(suite: &Suite, encr: &Hidden, hash: &Hidden) -> Option<Self> {
        let algorithm = suite.encr.algorithm();
        let (key, salt) = encr.0.split_at_checked(algorithm.key)?;
        let cipher = Cipher::new(algorithm, key).ok()?;
        let salt = salt.try_into().unwrap_or_default();
        let by_id = |id: u16| {
            let (.., esp) = integ(id)?;
            match esp {
                Some(number) => {
                    let algorithm = MACS.get(number as usize)?;
                    Some(Hash::Hmac(Mac::new(*algorithm, &hash.0)))
                }
                None => Some(Hash::Cmac(Zeroizing::new(hash.0.as_slice().try_into().ok()?))),
            }
        };
        let integ = match suite.integ {
            Some(id) => Some(by_id(id)?),
            None => None,
        };
        debug_assert!(CIPHERS.contains(&algorithm));
        Some(Self { cipher, salt, integ })
    }
    fn icv_len(&self) -> usize {
        match &self.integ {
            Some(Hash::Hmac(mac)) => mac.algorithm.icv,
            Some(Hash::Cmac(_)) => 12,
            None => TAG,
        }
    }
    /// Bytes that encryption adds to `len` bytes of payloads.
    fn added(&self, len: usize) -> usize {
        let algorithm = self.cipher.algorithm;
        let padded = (len + 1).next_multiple_of(algorithm.block.max(1));
        padded - len + algorithm.iv + self.icv_len()
    }
    /// Encrypts payloads into a message or one of its fragments.
    pub fn seal(
        &self,
        header: &Header,
        (first, plain): (u8, &[u8]),
        part: Option<(u16, u16)>,
    ) -> Option<Vec<u8>> {
        let algorithm = self.cipher.algorithm;
        let numbers = part.map_or_else(Vec::new, |(number, count)| {
            [number.to_be_bytes(), count.to_be_bytes()].concat()
        });
        let len = plain.len() + self.added(plain.len());
        let kind = if part.is_some() { payload::FRAGMENT } else { payload::SEALED };
        let mut chain = Chain::default();
        chain.first = kind;
        let inside = u16::try_from(4 + numbers.len() + len).ok()?;
        chain.bytes.extend([first, 0]);
        chain.bytes.extend(inside.to_be_bytes());
        chain.bytes.extend(&numbers);
        let mut out = message(header, &chain, len);
        let at = out.len();
        let mut iv = [0; MAX_IV];
        crypto::fill_random(&mut iv[..algorithm.iv]).then_some(())?;
        out.extend(&iv[..algorithm.iv]);
        out.extend(plain);
        let pad = len - plain.len() - algorithm.iv - self.icv_len() - 1;
        out.resize(out.len() + pad, 0);
        out.push(pad as u8);
        self.close(&mut out, at, &iv)?;
        Some(out)
    }
    /// Encrypts everything behind the initialization vector at `at`, and appends the check value.
    fn close(&self, out: &mut Vec<u8>, at: usize, iv: &[u8; MAX_IV]) -> Option<()> {
        let len = self.cipher.algorithm.iv;
        let (front, data) = out.split_at_mut(at + len);
        match &self.integ {
            None => {
                let tag = self.cipher.seal(&self.nonce(iv), &front[..at], data)?;
                out.extend(tag);
            }
            Some(hash) => {
                self.cipher.encrypt(&self.block(iv), data);
                let icv = hash.icv(out);
                out.extend(icv);
            }
        }
        Some(())
    }
    fn nonce(&self, iv: &[u8]) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&self.salt);
        nonce[4..].copy_from_slice(iv.get(..8).unwrap_or(&[0; 8]));
        nonce
    }
    /// First block of the cipher mode: the vector, or the counter block (RFC 3686).
    fn block(&self, iv: &[u8; MAX_IV]) -> [u8; MAX_IV] {
        if self.cipher.algorithm.mode != Mode::Ctr {
            return *iv;
        }
        let mut block = [0; MAX_IV];
        block[..12].copy_from_slice(&self.nonce(iv));
        block[15] = 1;
        block
    }
    /// Decrypts the encrypted payload of a message and returns the payloads inside. `None` if it is
    /// not authentic.
    pub fn open(&self, bytes: &[u8], part: Option<(u16, u16)>) -> Option<Vec<u8>> {
        let algorithm = self.cipher.algorithm;
        let (front, sealed) = bytes.split_at_checked(front(part))?;
        let (iv, data) = sealed.split_at_checked(algorithm.iv)?;
        let mut whole = [0; MAX_IV];
        whole[..algorithm.iv].copy_from_slice(iv);
        let mut plain = data.to_vec();
        match &self.integ {
            None => {
                self.cipher.open(&self.nonce(&whole), front, &mut plain).then_some(())?;
                plain.truncate(plain.len().checked_sub(TAG)?);
            }
            Some(hash) => {
                let (signed, icv) = bytes.split_at_checked(bytes.len() - self.icv_len())?;
                bool::from(hash.icv(signed).ct_eq(icv)).then_some(())?;
                plain.truncate(plain.len().checked_sub(self.icv_len())?);
                (plain.len() % algorithm.block.max(1) == 0).then_some(())?;
                self.cipher.decrypt(&self.block(&whole), &mut plain);
            }
        }
        let pad = usize::from(plain.pop()?);
        plain.truncate(plain.len().checked_sub(pad)?);
        Some(plain)
    }
}
