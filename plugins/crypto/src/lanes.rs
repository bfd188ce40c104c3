//! HMAC with SHA-1 and SHA-256 (RFC 2104, FIPS 180-4) of sixteen packets in parallel, on processors
//! with AVX-512: each packet has a 32-bit lane in every register.
//!
//! # Safety
//! [`Key::hash`] and [`Key::new`] are the only callers of what needs the processor's extensions,
//! and a key exists only where the processor has them. Memory is read through blocks of 64 bytes.

use std::arch::x86_64::*;

use zeroize::Zeroize;

/// Number of packets that are hashed in parallel.
pub const LANES: usize = 16;
/// Block size in bytes.
const BLOCK: usize = 64;
/// Number of words in the longest state.
const WORDS: usize = 8;
/// Length of the longest hash, in bytes.
pub const MAX_HASH: usize = 4 * WORDS;

type Block = [u8; BLOCK];
type State = [__m512i; WORDS];

/// The underlying hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
}

impl Hash {
    fn words(self) -> usize {
        if self == Self::Sha1 { 5 } else { 8 }
    }
    fn start(self) -> [u32; WORDS] {
        match self {
            Self::Sha1 => {
                [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0, 0, 0, 0]
            }
            Self::Sha256 => [
                0x6a09_e667,
                0xbb67_ae85,
                0x3c6e_f372,
                0xa54f_f53a,
                0x510e_527f,
                0x9b05_688c,
                0x1f83_d9ab,
                0x5be0_cd19,
            ],
        }
    }
}

/// A key: the states after its inner and its outer block.
pub struct Key {
    hash: Hash,
    inner: [u32; WORDS],
    outer: [u32; WORDS],
}

impl Drop for Key {
    fn drop(&mut self) {
        self.inner.zeroize();
        self.outer.zeroize();
    }
}

/// Whether the processor has the required extensions.
pub fn is_able() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
}

impl Key {
    /// Prepares a key of at most 64 bytes; `None` on other processors.
    pub fn new(hash: Hash, key: &[u8]) -> Option<Self> {
        let mut block = [0; BLOCK];
        block.get_mut(..key.len())?.copy_from_slice(key);
        // SAFETY: the processor has the extensions.
        is_able().then(|| unsafe {
            let behind = |with: u8| {
                let block = block.map(|byte| byte ^ with);
                let state = compressed(hash, splat(hash.start()), transposed([&block; LANES]));
                lane_words(&state, 0)
            };
            Self { hash, inner: behind(0x36), outer: behind(0x5c) }
        })
    }
    /// Hashes at most sixteen messages; short hashes are padded with zeros.
    pub fn hash(&self, messages: &[&[u8]], hashes: &mut [[u8; MAX_HASH]; LANES]) {
        assert!(messages.len() <= LANES, "each message has a lane");
        // SAFETY: a key exists only on processors with the extensions.
        unsafe { hash(self, messages, hashes) }
    }
}

/// Number of blocks and last blocks of a message.
struct Tail {
    /// Number of blocks before the tail.
    full: usize,
    /// Number of blocks including the tail.
    all: usize,
    bytes: [Block; 2],
}

impl Tail {
    fn of(message: &[u8]) -> Self {
        let (full, rest) = message.as_chunks::<BLOCK>();
        let mut bytes = [[0; BLOCK]; 2];
        let flat = bytes.as_flattened_mut();
        flat[..rest.len()].copy_from_slice(rest);
        flat[rest.len()] = 0x80;
        // The key is hashed first, as one more block.
        let bits = (message.len() as u64 + BLOCK as u64) * 8;
        let count = (rest.len() + 9).div_ceil(BLOCK);
        flat[count * BLOCK - 8..count * BLOCK].copy_from_slice(&bits.to_be_bytes());
        Self { full: full.len(), all: full.len() + count, bytes }
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn hash(key: &Key, messages: &[&[u8]], hashes: &mut [[u8; MAX_HASH]; LANES]) {
    let none = [0; BLOCK];
    let tails: [Option<Tail>; LANES] =
        std::array::from_fn(|lane| messages.get(lane).map(|message| Tail::of(message)));
    let most = tails.iter().flatten().map(|tail| tail.all).max().unwrap_or(0);
    let mut state = splat(key.inner);
    for step in 0..most {
        let mut active = 0;
        let blocks: [&Block; LANES] = std::array::from_fn(|lane| {
            let Some(tail) = tails[lane].as_ref().filter(|tail| step < tail.all) else {
                return &none;
            };
            active |= 1 << lane;
            match step.checked_sub(tail.full) {
                Some(behind) => &tail.bytes[behind],
                None => &messages[lane].as_chunks::<BLOCK>().0[step],
            }
        });
        let new = compressed(key.hash, state, transposed(blocks));
        for (word, new) in state.iter_mut().zip(new) {
            *word = _mm512_mask_mov_epi32(*word, active, new);
        }
    }
    // The inner hash, with padding, is a block of the outer hash.
    let (words, zero) = (key.hash.words(), _mm512_setzero_si512());
    let mut block = [zero; 16];
    block[..words].copy_from_slice(&state[..words]);
    block[words] = _mm512_set1_epi32(i32::MIN);
    block[15] = _mm512_set1_epi32((BLOCK + 4 * words) as i32 * 8);
    let state = compressed(key.hash, splat(key.outer), block);
    for (lane, hash) in hashes.iter_mut().enumerate().take(messages.len()) {
        for (bytes, word) in hash.chunks_exact_mut(4).zip(lane_words(&state, lane)) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        hash[4 * words..].fill(0);
    }
}

/// Repeats the same words in all lanes.
#[target_feature(enable = "avx512f")]
fn splat(words: [u32; WORDS]) -> State {
    words.map(|word| _mm512_set1_epi32(word.cast_signed()))
}

/// Returns the words of one lane.
#[target_feature(enable = "avx512f")]
fn lane_words(state: &State, lane: usize) -> [u32; WORDS] {
    // SAFETY: a register has sixteen words.
    state.map(|word| unsafe { std::mem::transmute::<__m512i, [u32; LANES]>(word) }[lane])
}

/// Transposes sixteen blocks: each register has the words of all blocks at one position.
#[target_feature(enable = "avx512f,avx512bw")]
fn transposed(blocks: [&Block; LANES]) -> [__m512i; 16] {
    let order =
        _mm512_broadcast_i32x4(_mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203));
    let rows: [__m512i; 16] = std::array::from_fn(|lane| {
        // SAFETY: 64 bytes are read from a block of 64 bytes.
        let block = unsafe { _mm512_loadu_si512(blocks[lane].as_ptr().cast()) };
        _mm512_shuffle_epi8(block, order)
    });
    // Each quarter of a register now has one word of four blocks.
    let zero = _mm512_setzero_si512();
    let mut quarters = [[zero; 4]; 4];
    for (quarters, rows) in quarters.iter_mut().zip(rows.as_chunks::<4>().0) {
        let low = [0, 2].map(|i| _mm512_unpacklo_epi32(rows[i], rows[i + 1]));
        let high = [0, 2].map(|i| _mm512_unpackhi_epi32(rows[i], rows[i + 1]));
        *quarters = [
            _mm512_unpacklo_epi64(low[0], low[1]),
            _mm512_unpackhi_epi64(low[0], low[1]),
            _mm512_unpacklo_epi64(high[0], high[1]),
            _mm512_unpackhi_epi64(high[0], high[1]),
        ];
    }
    let mut words = [zero; 16];
    for j in 0..4 {
        let [a, b, c, d] = quarters.map(|q| q[j]);
        let low = [_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0x44>(c, d)];
        let high = [_mm512_shuffle_i32x4::<0xee>(a, b), _mm512_shuffle_i32x4::<0xee>(c, d)];
        words[j] = _mm512_shuffle_i32x4::<0x88>(low[0], low[1]);
        words[4 + j] = _mm512_shuffle_i32x4::<0xdd>(low[0], low[1]);
        words[8 + j] = _mm512_shuffle_i32x4::<0x88>(high[0], high[1]);
        words[12 + j] = _mm512_shuffle_i32x4::<0xdd>(high[0], high[1]);
    }
    words
}

/// Returns the state after one more block.
#[target_feature(enable = "avx512f")]
fn compressed(hash: Hash, state: State, block: [__m512i; 16]) -> State {
    let new = match hash {
        Hash::Sha1 => sha1(state, block),
        Hash::Sha256 => sha256(state, block),
    };
    let mut sum = state;
    for (word, new) in sum.iter_mut().zip(new) {
        *word = _mm512_add_epi32(*word, new);
    }
    sum
}

macro_rules! rounds {
    ($round:ident $state:ident $block:ident $($t:literal)*) => {
        $($round::<$t>(&mut $state, &mut $block);)*
    };
}

#[target_feature(enable = "avx512f")]
fn add(a: __m512i, b: __m512i) -> __m512i {
    _mm512_add_epi32(a, b)
}

#[target_feature(enable = "avx512f")]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0x96>(a, b, c)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn round1<const T: usize>(state: &mut State, w: &mut [__m512i; 16]) {
    let [a, b, c, d, e, ..] = *state;
    let at = |i: usize| i % 16;
    if T >= 16 {
        let mixed = xor3(w[at(T + 13)], w[at(T + 8)], w[at(T + 2)]);
        w[at(T)] = _mm512_rol_epi32::<1>(_mm512_xor_si512(mixed, w[at(T)]));
    }
    let (f, k) = match T / 20 {
        0 => (_mm512_ternarylogic_epi32::<0xca>(b, c, d), 0x5a82_7999_u32),
        1 => (xor3(b, c, d), 0x6ed9_eba1),
        2 => (_mm512_ternarylogic_epi32::<0xe8>(b, c, d), 0x8f1b_bcdc),
        _ => (xor3(b, c, d), 0xca62_c1d6),
    };
    let known = add(add(e, w[at(T)]), _mm512_set1_epi32(k.cast_signed()));
    let new = add(add(_mm512_rol_epi32::<5>(a), f), known);
    let [.., x, y, z] = *state;
    *state = [new, a, _mm512_rol_epi32::<30>(b), c, d, x, y, z];
}

#[target_feature(enable = "avx512f")]
fn sha1(start: State, mut block: [__m512i; 16]) -> State {
    let zero = _mm512_setzero_si512();
    let [a, b, c, d, e, ..] = start;
    let mut state = [a, b, c, d, e, zero, zero, zero];
    rounds! { round1 state block
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19
            20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39
            40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59
            60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79
    }
    state
}

/// Constants of SHA-256.
const K: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

#[target_feature(enable = "avx512f")]
#[inline]
fn round256<const T: usize>(state: &mut State, w: &mut [__m512i; 16]) {
    let [a, b, c, d, e, f, g, h] = *state;
    let at = |i: usize| i % 16;
    if T >= 16 {
        let (old, new) = (w[at(T + 1)], w[at(T + 14)]);
        let (o7, o18) = (_mm512_ror_epi32::<7>(old), _mm512_ror_epi32::<18>(old));
        let (n17, n19) = (_mm512_ror_epi32::<17>(new), _mm512_ror_epi32::<19>(new));
        let mixed = add(
            xor3(o7, o18, _mm512_srli_epi32::<3>(old)),
            xor3(n17, n19, _mm512_srli_epi32::<10>(new)),
        );
        w[at(T)] = add(add(w[at(T)], w[at(T + 9)]), mixed);
    }
    let known = add(add(h, w[at(T)]), _mm512_set1_epi32(K[T].cast_signed()));
    let (e6, e11, e25) =
        (_mm512_ror_epi32::<6>(e), _mm512_ror_epi32::<11>(e), _mm512_ror_epi32::<25>(e));
    let first = add(add(known, xor3(e6, e11, e25)), _mm512_ternarylogic_epi32::<0xca>(e, f, g));
    let (a2, a13, a22) =
        (_mm512_ror_epi32::<2>(a), _mm512_ror_epi32::<13>(a), _mm512_ror_epi32::<22>(a));
    let second = add(xor3(a2, a13, a22), _mm512_ternarylogic_epi32::<0xe8>(a, b, c));
    *state = [add(first, second), a, b, c, add(d, first), e, f, g];
}

#[target_feature(enable = "avx512f")]
fn sha256(mut state: State, mut block: [__m512i; 16]) -> State {
    rounds! { round256 state block
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19
            20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39
            40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59
            60 61 62 63
    }
    state
}
