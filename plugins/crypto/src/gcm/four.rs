//! AES-GCM of four short packets: their blocks are encrypted in turn, so that none waits for its
//! own last round, and their hashes are reduced together, one in each lane.
//!
//! # Safety
//! As in the parent module, [`Key::crypt_four`] is the only caller of what needs the processor's
//! extensions, and there is a key only where the processor has them.

use std::arch::x86_64::*;

use super::{
    BLOCK, GROUP, Key, POLYNOMIAL, POWERS, Sum, WIDE, from128, load, mask_of, power, powers,
    reversed, round_key, store,
};
use crate::cipher::Job;

/// Length of the longest short packet, in bytes: its blocks, that of the additional data and that
/// of the lengths have a power each.
pub const MOST: usize = GROUP * BLOCK;
/// Number of packets that are processed together.
pub const FOUR: usize = 4;

impl Key {
    /// Encrypts or decrypts four packets of at most [`MOST`] bytes in place, and stores their
    /// tags.
    #[inline]
    pub fn crypt_four<const SEALS: bool>(&self, jobs: &mut [Job<'_>; FOUR]) {
        let len = jobs.iter().map(|job| job.data.len()).max().unwrap_or(0);
        assert!(len <= MOST, "packets are short");
        // SAFETY: a key exists only on processors with the extensions.
        unsafe {
            match self.last {
                10 => sized::<10, SEALS>(self, jobs, len),
                12 => sized::<12, SEALS>(self, jobs, len),
                _ => sized::<14, SEALS>(self, jobs, len),
            }
        }
    }
}

#[target_feature(enable = "aes,avx512f,avx512bw,avx512vl,vaes,vpclmulqdq,pclmulqdq")]
fn sized<const R: usize, const SEALS: bool>(key: &Key, jobs: &mut [Job<'_>; FOUR], len: usize) {
    match len.div_ceil(WIDE) {
        0 | 1 => four::<R, SEALS, 1>(key, jobs),
        2 => four::<R, SEALS, 2>(key, jobs),
        3 => four::<R, SEALS, 3>(key, jobs),
        _ => four::<R, SEALS, 4>(key, jobs),
    }
}

/// Numbers of the blocks from the second one on, as in counter blocks: at the end, in network
/// order.
const NUMBERS: [[u32; 16]; 4] = {
    let mut all = [[0; 16]; 4];
    let mut at = 0;
    while at < 16 {
        all[at / 4][at % 4 * 4 + 3] = (at as u32 + 2).to_be();
        at += 1;
    }
    all
};

#[target_feature(enable = "avx512f")]
fn numbers(at: usize) -> __m512i {
    // SAFETY: 64 bytes are read from an array of 64.
    unsafe { _mm512_loadu_si512(NUMBERS[at].as_ptr().cast()) }
}

/// Loads at most 16 bytes, followed by zeros.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn narrow(bytes: &[u8]) -> __m128i {
    _mm512_castsi512_si128(load(&bytes[..bytes.len().min(BLOCK)]))
}

/// The hashed parts of one packet: the sum of its data, and the blocks around that.
#[derive(Clone, Copy)]
struct Hashed {
    sum: Sum,
    aad: __m128i,
    /// Power for the block of additional data.
    power: __m128i,
    lengths: __m128i,
}

/// Encrypts or decrypts one of the four packets.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
#[inline]
fn one<const SEALS: bool, const N: usize>(
    key: &Key,
    job: &mut Job<'_>,
    stream: [__m512i; N],
) -> Hashed {
    let len = job.data.len();
    let from = POWERS - 1 - len.div_ceil(BLOCK);
    let mut sum = Sum::default();
    for (n, stream) in stream.into_iter().enumerate() {
        let end = len.min(WIDE * (n + 1));
        let Some(wide) = job.data.get_mut(WIDE * n..end).filter(|wide| !wide.is_empty()) else {
            break;
        };
        let before = load(wide);
        let after = _mm512_maskz_mov_epi8(mask_of(wide.len()), _mm512_xor_si512(before, stream));
        store(wide, after);
        let sent = reversed(if SEALS { after } else { before });
        sum.add(sent, powers(key, from + 4 * n));
    }
    let aad = narrow(&job.aad[..usize::from(job.aad_len).min(job.aad.len())]);
    let lengths = from128((u128::from(job.aad_len) * 8) << 64 | (len as u128 * 8));
    Hashed { sum, aad, power: power(key, from - 1), lengths }
}

/// Combines four blocks into one register.
#[target_feature(enable = "avx512f")]
fn lanes(blocks: [__m128i; FOUR]) -> __m512i {
    let [a, b, c, d] = blocks;
    let low = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b);
    let high = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(c), d);
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
}

/// Adds the lanes of each of four registers; each sum is in its own lane of the result.
#[target_feature(enable = "avx512f")]
fn folded([a, b, c, d]: [__m512i; FOUR]) -> __m512i {
    let halves = |x, y| {
        let low = _mm512_shuffle_i64x2::<0x44>(x, y);
        _mm512_xor_si512(low, _mm512_shuffle_i64x2::<0xee>(x, y))
    };
    let (ab, cd) = (halves(a, b), halves(c, d));
    let even = _mm512_shuffle_i64x2::<0x88>(ab, cd);
    _mm512_xor_si512(even, _mm512_shuffle_i64x2::<0xdd>(ab, cd))
}

/// Returns the reduced sum of each lane.
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn reduced(Sum([low, middle, high]): Sum) -> __m512i {
    let polynomial = _mm512_broadcast_i32x4(from128(POLYNOMIAL));
    let product = _mm512_clmulepi64_epi128::<0x01>(polynomial, low);
    let swapped = _mm512_shuffle_epi32::<0x4e>(low);
    let middle = _mm512_ternarylogic_epi64::<0x96>(middle, product, swapped);
    let product = _mm512_clmulepi64_epi128::<0x01>(polynomial, middle);
    let swapped = _mm512_shuffle_epi32::<0x4e>(middle);
    _mm512_ternarylogic_epi64::<0x96>(high, product, swapped)
}

#[target_feature(enable = "aes,avx512f,avx512bw,avx512vl,vaes,vpclmulqdq,pclmulqdq")]
fn four<const R: usize, const SEALS: bool, const N: usize>(key: &Key, jobs: &mut [Job<'_>; FOUR]) {
    let [a, b, c, d] = &*jobs;
    let nonces = [narrow(&a.nonce), narrow(&b.nonce), narrow(&c.nonce), narrow(&d.nonce)];
    let first = round_key(key, 0);
    // The first counter block of each packet encrypts its tag.
    let ones = _mm512_broadcast_i32x4(from128(1 << 120));
    let mut seal = _mm512_xor_si512(first, _mm512_xor_si512(lanes(nonces), ones));
    let mut stream = [[first; N]; FOUR];
    for (stream, nonce) in stream.iter_mut().zip(nonces) {
        let start = _mm512_xor_si512(first, _mm512_broadcast_i32x4(nonce));
        for (n, wide) in stream.iter_mut().enumerate() {
            *wide = _mm512_xor_si512(start, numbers(n));
        }
    }
    for i in 1..R {
        let round = round_key(key, i);
        for wide in stream.iter_mut().flatten() {
            *wide = _mm512_aesenc_epi128(*wide, round);
        }
        seal = _mm512_aesenc_epi128(seal, round);
    }
    let round = round_key(key, R);
    for wide in stream.iter_mut().flatten() {
        *wide = _mm512_aesenclast_epi128(*wide, round);
    }
    seal = _mm512_aesenclast_epi128(seal, round);

    let [a, b, c, d] = jobs;
    let [p, q, r, s] = stream;
    let hashed = [
        one::<SEALS, N>(key, a, p),
        one::<SEALS, N>(key, b, q),
        one::<SEALS, N>(key, c, r),
        one::<SEALS, N>(key, d, s),
    ];
    let part = |at: usize| folded(hashed.map(|one| one.sum.0[at]));
    let mut sum = Sum([part(0), part(1), part(2)]);
    let aads = reversed(lanes(hashed.map(|one| one.aad)));
    sum.add(aads, lanes(hashed.map(|one| one.power)));
    let last = _mm512_broadcast_i32x4(power(key, POWERS - 1));
    sum.add(lanes(hashed.map(|one| one.lengths)), last);
    let tags = _mm512_xor_si512(reversed(reduced(sum)), seal);
    let mut bytes = [0; WIDE];
    store(&mut bytes, tags);
    for (job, tag) in jobs.iter_mut().zip(bytes.as_chunks::<BLOCK>().0) {
        job.tag = *tag;
    }
}
