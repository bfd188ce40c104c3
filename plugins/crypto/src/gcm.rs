//! AES-GCM (NIST SP 800-38D), four blocks at a time, on processors with VAES, VPCLMULQDQ and
//! AVX-512.
//!
//! Most packets that routers encrypt have a few hundred bytes, so the last blocks of a packet are
//! as fast as those in the middle. Blocks are hashed with their bytes in reverse order, and the
//! key of the hash is shifted left by one bit, so that two multiplications reduce a product. No
//! branch and no address depends on a key or on data.
//!
//! # Safety
//! Functions that need the processor's extensions are called by methods of [`Key`] only, and
//! [`Key::new`] makes one only where the processor has them. Memory is read and written through
//! slices of at most 64 bytes, with masks that have a bit for each byte.

mod four;

use std::arch::x86_64::*;

use zeroize::Zeroize;

use infra::cpu::prefetch;

pub use four::{FOUR, MOST};

/// Length of a block and of a tag, in bytes.
const BLOCK: usize = 16;
/// Number of bytes that are processed at once.
const WIDE: usize = 64;
/// Number of blocks between two reductions of the hash.
const GROUP: usize = 16;
/// Number of powers of the hash key: one for the block of additional data, those of a group, and
/// one for the block of lengths.
const POWERS: usize = GROUP + 2;
/// Number of zero blocks after the powers, for lanes beyond the end of a packet.
const BEHIND: usize = GROUP;
/// Number of round keys of the longest key.
pub const ROUNDS: usize = 15;
/// The polynomial of the hash, reversed: x^128 + x^127 + x^126 + x^121 + 1.
const POLYNOMIAL: u128 = 0xc200_0000_0000_0000_0000_0000_0000_0001;

/// A key with its round keys and the powers of its hash key.
#[repr(C, align(64))]
pub struct Key {
    /// Powers of the hash key, the highest first.
    powers: [u128; POWERS + BEHIND],
    /// Round keys, as bytes.
    rounds: [[u8; BLOCK]; ROUNDS],
    /// Index of the last round key: 10, 12 or 14.
    last: usize,
}

impl Drop for Key {
    fn drop(&mut self) {
        self.powers.zeroize();
        self.rounds.zeroize();
    }
}

/// Whether the processor has the required extensions.
pub fn is_able() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("vaes")
        && is_x86_feature_detected!("vpclmulqdq")
        && is_x86_feature_detected!("aes")
}

impl Key {
    /// Prepares a key of 16, 24 or 32 bytes; `None` for other lengths, and on other processors.
    pub fn new(key: &[u8]) -> Option<Self> {
        // SAFETY: the processor has the extensions.
        ([16, 24, 32].contains(&key.len()) && is_able()).then(|| unsafe { prepare(key) })
    }
    /// Prefetches the lines that a short packet needs.
    #[inline]
    pub fn prefetch(&self) {
        let line = WIDE / BLOCK;
        self.powers[POWERS - 2 * line..].iter().step_by(line).for_each(prefetch);
        self.rounds.iter().step_by(line).for_each(prefetch);
    }
    /// Encrypts in place and returns the tag. Compiled here, with all functions that it calls.
    pub fn seal(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; BLOCK] {
        // SAFETY: a key exists only on processors with the extensions.
        unsafe {
            match self.last {
                10 => crypt::<10, true>(self, nonce, aad, data),
                12 => crypt::<12, true>(self, nonce, aad, data),
                _ => crypt::<14, true>(self, nonce, aad, data),
            }
        }
    }
    /// Decrypts in place and returns the tag that the data should have.
    pub fn open(&self, nonce: &[u8; 12], aad: &[u8], data: &mut [u8]) -> [u8; BLOCK] {
        // SAFETY: a key exists only on processors with the extensions.
        unsafe {
            match self.last {
                10 => crypt::<10, false>(self, nonce, aad, data),
                12 => crypt::<12, false>(self, nonce, aad, data),
                _ => crypt::<14, false>(self, nonce, aad, data),
            }
        }
    }
}

/// Round keys.
pub type Rounds = [[u8; BLOCK]; ROUNDS];

/// Returns the round keys of a key of 16, 24 or 32 bytes, and the index of the last; `None` for
/// other lengths, and on other processors.
pub fn expand(key: &[u8]) -> Option<(Rounds, usize)> {
    // SAFETY: the processor has the extensions.
    ([16, 24, 32].contains(&key.len()) && is_able()).then(|| unsafe { expanded(key) })
}

/// Expands a key (FIPS 197 section 5.2).
#[target_feature(enable = "aes,sse2")]
fn expanded(key: &[u8]) -> (Rounds, usize) {
    let words = key.len() / 4;
    let last = words + 6;
    let mut w = [0_u32; 4 * ROUNDS];
    for (word, bytes) in w.iter_mut().zip(key.chunks_exact(4)) {
        *word = u32::from_le_bytes(bytes.try_into().unwrap_or_default());
    }
    let mut round = 1_u8;
    for i in words..4 * (last + 1) {
        let before = w[i - 1];
        let mixed = match i % words {
            0 => {
                let mixed = substitute(before).rotate_right(8) ^ u32::from(round);
                round = if round == 0x80 { 0x1b } else { round << 1 };
                mixed
            }
            4 if words > 6 => substitute(before),
            _ => before,
        };
        w[i] = w[i - words] ^ mixed;
    }
    let mut rounds = [[0; BLOCK]; ROUNDS];
    for (round, words) in rounds.iter_mut().zip(w.chunks_exact(4)) {
        for (bytes, word) in round.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
    (rounds, last)
}

/// Expands a key and computes the powers of the hash key.
#[target_feature(enable = "aes,avx512f,avx512bw,avx512vl,vaes,vpclmulqdq")]
fn prepare(key: &[u8]) -> Key {
    let (rounds, last) = expanded(key);
    let mut made = Key { powers: [0; POWERS + BEHIND], rounds, last };
    let first = to128(block(&made, from128(0))).swap_bytes();
    // There is no branch here, nor anywhere else that depends on keys.
    let first = (first << 1) ^ (POLYNOMIAL & 0_u128.wrapping_sub(first >> 127));
    let mut power = first;
    for place in made.powers[..POWERS].iter_mut().rev() {
        *place = power;
        let mut sum = Sum::default();
        sum.add(single(from128(power)), single(from128(first)));
        power = to128(sum.reduced());
    }
    made
}

/// Applies the S-box to each byte of a word.
#[target_feature(enable = "aes,sse2")]
fn substitute(word: u32) -> u32 {
    let all = _mm_set1_epi32(word.cast_signed());
    _mm_cvtsi128_si32(_mm_aeskeygenassist_si128::<0>(all)).cast_unsigned()
}

#[target_feature(enable = "sse2")]
fn from128(value: u128) -> __m128i {
    _mm_set_epi64x((value >> 64) as i64, value as i64)
}

#[target_feature(enable = "sse4.1")]
fn to128(value: __m128i) -> u128 {
    let low = _mm_extract_epi64::<0>(value) as u64;
    let high = _mm_extract_epi64::<1>(value) as u64;
    u128::from(high) << 64 | u128::from(low)
}

/// Returns a register with a block in the lowest lane and zeros in the others.
#[target_feature(enable = "avx512f")]
fn single(value: __m128i) -> __m512i {
    _mm512_zextsi128_si512(value)
}

/// Encrypts one block.
#[target_feature(enable = "aes,avx512f")]
fn block(key: &Key, block: __m128i) -> __m128i {
    let at = |i: usize| load128(&key.rounds[i]);
    let mut state = _mm_xor_si128(block, at(0));
    for i in 1..key.last {
        state = _mm_aesenc_si128(state, at(i));
    }
    _mm_aesenclast_si128(state, at(key.last))
}

#[target_feature(enable = "sse2")]
fn load128(bytes: &[u8; BLOCK]) -> __m128i {
    // SAFETY: sixteen bytes are read from an array of sixteen.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// Returns a mask with a bit for each of at most 64 bytes.
#[inline(always)]
fn mask_of(len: usize) -> __mmask64 {
    u64::MAX >> (WIDE - len.clamp(1, WIDE))
}

/// Loads at most 64 bytes, followed by zeros.
#[target_feature(enable = "avx512f,avx512bw")]
fn load(bytes: &[u8]) -> __m512i {
    if bytes.is_empty() {
        return _mm512_setzero_si512();
    }
    // SAFETY: the mask has a bit for each byte that is read.
    unsafe { _mm512_maskz_loadu_epi8(mask_of(bytes.len()), bytes.as_ptr().cast()) }
}

/// Writes as many bytes as there is room for, at most 64.
#[target_feature(enable = "avx512f,avx512bw")]
fn store(bytes: &mut [u8], value: __m512i) {
    if bytes.is_empty() {
        return;
    }
    // SAFETY: the mask has a bit for each byte that is written.
    unsafe { _mm512_mask_storeu_epi8(bytes.as_mut_ptr().cast(), mask_of(bytes.len()), value) }
}

/// Returns four powers, beginning with the one at an index.
#[target_feature(enable = "avx512f")]
fn powers(key: &Key, from: usize) -> __m512i {
    match key.powers.get(from..from + 4) {
        // SAFETY: four powers are 64 bytes.
        Some(four) => unsafe { _mm512_loadu_si512(four.as_ptr().cast()) },
        None => _mm512_setzero_si512(),
    }
}

/// Returns one power.
#[target_feature(enable = "sse2")]
fn power(key: &Key, index: usize) -> __m128i {
    load128(&key.powers[index].to_le_bytes())
}

/// Returns a round key, repeated in all lanes.
#[target_feature(enable = "avx512f")]
fn round_key(key: &Key, index: usize) -> __m512i {
    _mm512_broadcast_i32x4(load128(&key.rounds[index]))
}

/// Reverses the bytes of each block.
#[target_feature(enable = "avx512f,avx512bw")]
fn reversed(blocks: __m512i) -> __m512i {
    let order = from128(0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f);
    _mm512_shuffle_epi8(blocks, _mm512_broadcast_i32x4(order))
}

/// A sum of products before reduction: low, middle and high parts in each lane.
#[derive(Clone, Copy)]
struct Sum([__m512i; 3]);

impl Default for Sum {
    fn default() -> Self {
        // SAFETY: zero bits are a valid value of these types.
        Self(unsafe { std::mem::zeroed() })
    }
}

impl Sum {
    /// Adds the products of four blocks and four powers.
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn add(&mut self, a: __m512i, b: __m512i) {
        let Self([low, middle, high]) = self;
        *low = _mm512_xor_si512(*low, _mm512_clmulepi64_epi128::<0x00>(a, b));
        *high = _mm512_xor_si512(*high, _mm512_clmulepi64_epi128::<0x11>(a, b));
        let (one, other) =
            (_mm512_clmulepi64_epi128::<0x01>(a, b), _mm512_clmulepi64_epi128::<0x10>(a, b));
        *middle = _mm512_ternarylogic_epi64::<0x96>(*middle, one, other);
    }
    /// Returns the reduced sum of the lanes.
    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,avx512vl")]
    fn reduced(self) -> __m128i {
        let Self([low, middle, high]) = self;
        let (low, middle, high) = (folded(low), folded(middle), folded(high));
        let polynomial = from128(POLYNOMIAL);
        let product = _mm_clmulepi64_si128::<0x01>(polynomial, low);
        let swapped = _mm_shuffle_epi32::<0x4e>(low);
        let middle = _mm_ternarylogic_epi64::<0x96>(middle, product, swapped);
        let product = _mm_clmulepi64_si128::<0x01>(polynomial, middle);
        let swapped = _mm_shuffle_epi32::<0x4e>(middle);
        _mm_ternarylogic_epi64::<0x96>(high, product, swapped)
    }
}

/// Returns the sum of the four lanes.
#[target_feature(enable = "avx512f,avx512vl")]
fn folded(lanes: __m512i) -> __m128i {
    let half =
        _mm256_xor_si256(_mm512_castsi512_si256(lanes), _mm512_extracti64x4_epi64::<1>(lanes));
    _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half))
}

/// Updates the hash with more bytes, padded to whole blocks.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vpclmulqdq,pclmulqdq")]
fn hash(key: &Key, mut hash: __m128i, bytes: &[u8]) -> __m128i {
    for group in bytes.chunks(GROUP * BLOCK) {
        let mut from = POWERS - group.len().div_ceil(BLOCK);
        let mut sum = Sum::default();
        for wide in group.chunks(WIDE) {
            let blocks = _mm512_xor_si512(reversed(load(wide)), single(hash));
            sum.add(blocks, powers(key, from));
            (hash, from) = (_mm_setzero_si128(), from + 4);
        }
        hash = sum.reduced();
    }
    hash
}

/// Returns the key stream of `N` times four blocks.
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn stream<const R: usize, const N: usize>(key: &Key, counter: &mut __m512i) -> [__m512i; N] {
    let order = _mm512_broadcast_i32x4(from128(0x0c0d_0e0f_0b0a_0908_0706_0504_0302_0100));
    let first = round_key(key, 0);
    let mut state = [first; N];
    for lanes in &mut state {
        *lanes = _mm512_xor_si512(first, _mm512_shuffle_epi8(*counter, order));
        *counter = _mm512_add_epi32(*counter, _mm512_broadcast_i32x4(from128(4 << 96)));
    }
    for i in 1..R {
        let round = round_key(key, i);
        for lanes in &mut state {
            *lanes = _mm512_aesenc_epi128(*lanes, round);
        }
    }
    let round = round_key(key, R);
    for lanes in &mut state {
        *lanes = _mm512_aesenclast_epi128(*lanes, round);
    }
    state
}

/// Encrypts or decrypts a part of at most `N` times 64 bytes, and hashes the ciphertext. The first
/// part may follow a block of additional data; the last part is followed by the block of lengths.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq,pclmulqdq")]
fn part<const R: usize, const SEALS: bool, const N: usize>(
    key: &Key,
    counter: &mut __m512i,
    mut hash: __m128i,
    (aad, data, lengths): (Option<__m128i>, &mut [u8], Option<__m128i>),
) -> __m128i {
    let blocks = data.len().div_ceil(BLOCK) + usize::from(lengths.is_some());
    let mut from = POWERS - blocks.min(POWERS);
    let stream = stream::<R, N>(key, counter);
    let mut sum = Sum::default();
    if let Some(aad) = aad {
        sum.add(single(aad), single(power(key, from.saturating_sub(1))));
    }
    for (wide, stream) in data.chunks_mut(WIDE).zip(stream) {
        let mask = mask_of(wide.len());
        let before = load(wide);
        let after = _mm512_maskz_mov_epi8(mask, _mm512_xor_si512(before, stream));
        store(wide, after);
        let sent = reversed(if SEALS { after } else { before });
        sum.add(_mm512_xor_si512(sent, single(hash)), powers(key, from));
        (hash, from) = (_mm_setzero_si128(), from + 4);
    }
    if let Some(lengths) = lengths {
        sum.add(single(_mm_xor_si128(lengths, hash)), powers(key, POWERS - 1));
    }
    sum.reduced()
}

#[target_feature(enable = "aes,avx512f,avx512bw,avx512vl,vaes,vpclmulqdq,pclmulqdq")]
fn crypt<const R: usize, const SEALS: bool>(
    key: &Key,
    nonce: &[u8; 12],
    aad: &[u8],
    data: &mut [u8],
) -> [u8; BLOCK] {
    let mut first = [0; BLOCK];
    first[..12].copy_from_slice(nonce);
    let counter = _mm512_broadcast_i32x4(load128(&first));
    let numbers = _mm512_set_epi32(5, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0);
    let mut counter = _mm512_add_epi32(counter, numbers);
    first[BLOCK - 1] = 1;
    let seal = block(key, load128(&first));
    let lengths = ((aad.len() as u128 * 8) << 64) | (data.len() as u128 * 8);
    // Additional data that fits in one block is reduced together with the other blocks.
    let (mut hash, mut aad) = match aad.len() {
        1..=BLOCK => (_mm_setzero_si128(), Some(_mm512_castsi512_si128(reversed(load(aad))))),
        _ => (hash(key, _mm_setzero_si128(), aad), None),
    };
    let mut parts = data;
    while parts.len() > GROUP * BLOCK {
        let (now, later) = parts.split_at_mut(GROUP * BLOCK);
        hash = part::<R, SEALS, 4>(key, &mut counter, hash, (aad.take(), now, None));
        parts = later;
    }
    let end = (aad, parts, Some(from128(lengths)));
    hash = match end.1.len().div_ceil(WIDE) {
        0 | 1 => part::<R, SEALS, 1>(key, &mut counter, hash, end),
        2 => part::<R, SEALS, 2>(key, &mut counter, hash, end),
        3 => part::<R, SEALS, 3>(key, &mut counter, hash, end),
        _ => part::<R, SEALS, 4>(key, &mut counter, hash, end),
    };
    let tag = to128(hash).swap_bytes() ^ to128(seal);
    tag.to_le_bytes()
}
