//! AES-CBC (NIST SP 800-38A) of several packets in parallel, on processors with VAES and AVX-512.
//!
//! Each block depends on the previous one, so one packet alone leaves the processor mostly idle.
//! Sixteen packets advance together by one block at a time, four in a register; a packet that ends
//! makes room for the next one.
//!
//! # Safety
//! [`Key::encrypt`] is the only caller of what needs the processor's extensions, and
//! [`Key::new`] makes a key only where the processor has them. Memory is read and written
//! through pointers into slices that are known to have that many bytes left.

use std::arch::x86_64::*;

use zeroize::Zeroize;

use super::gcm;

/// Block size in bytes.
const BLOCK: usize = 16;
/// Number of packets that are encrypted in parallel.
pub const LANES: usize = 16;
/// Number of packets in a register.
const WIDE: usize = 4;
/// Number of blocks that a lane without a packet encrypts repeatedly.
const IDLE: usize = 1;

/// An expanded key.
pub struct Key {
    rounds: [[u8; BLOCK]; gcm::ROUNDS],
    /// Index of the last round key: 10, 12 or 14.
    last: usize,
}

impl Drop for Key {
    fn drop(&mut self) {
        self.rounds.zeroize();
    }
}

/// A packet and its lane.
struct Lane<'a> {
    data: &'a mut [u8],
    /// Number of blocks already encrypted.
    done: usize,
}

impl Lane<'_> {
    fn left(&self) -> usize {
        self.data.len() / BLOCK - self.done
    }
}

impl Key {
    /// Prepares a key of 16, 24 or 32 bytes; `None` for other lengths, and on other processors.
    pub fn new(key: &[u8]) -> Option<Self> {
        let (rounds, last) = gcm::expand(key)?;
        Some(Self { rounds, last })
    }
    /// Encrypts pieces of whole blocks in place, each with an initialization vector of zeros.
    pub fn encrypt<'a>(&self, pieces: impl Iterator<Item = &'a mut [u8]>) {
        // SAFETY: a key exists only on processors with the extensions.
        unsafe {
            match self.last {
                10 => encrypt::<10>(self, pieces),
                12 => encrypt::<12>(self, pieces),
                _ => encrypt::<14>(self, pieces),
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
fn encrypt<'a, const R: usize>(key: &Key, pieces: impl Iterator<Item = &'a mut [u8]>) {
    let mut pieces = pieces.filter(|piece| piece.len() >= BLOCK);
    let mut idle = [[0; BLOCK * IDLE]; LANES];
    let mut lanes: [Option<Lane<'a>>; LANES] = [const { None }; LANES];
    let mut state = [_mm512_setzero_si512(); LANES / WIDE];
    loop {
        let mut places = [std::ptr::null_mut(); LANES];
        let mut steps = usize::MAX;
        for (at, lane) in lanes.iter_mut().enumerate() {
            if lane.as_ref().is_none_or(|lane| lane.left() == 0) {
                *lane = pieces.next().map(|data| Lane { data, done: 0 });
                clear(&mut state[at / WIDE], at % WIDE);
            }
            if let Some(lane) = lane {
                steps = steps.min(lane.left());
                places[at] = lane.data[lane.done * BLOCK..].as_mut_ptr();
            }
        }
        if steps == usize::MAX {
            return;
        }
        let mut strides = [BLOCK; LANES];
        for ((place, stride), idle) in places.iter_mut().zip(&mut strides).zip(&mut idle) {
            if place.is_null() {
                (*place, *stride) = (idle.as_mut_ptr(), 0);
            }
        }
        // SAFETY: each place has `steps` blocks, or one block and a stride of zero.
        unsafe { lockstep::<R>(key, &mut state, (&places, &strides), steps) };
        lanes.iter_mut().flatten().for_each(|lane| lane.done += steps);
    }
}

/// Sets one of the four blocks to zero.
#[target_feature(enable = "avx512f")]
fn clear(state: &mut __m512i, lane: usize) {
    *state = _mm512_maskz_mov_epi64(!(0b11 << (2 * lane)), *state);
}

/// Encrypts `steps` blocks at each place; each block is `stride` bytes after the previous one.
///
/// # Safety
/// Each place may be read and written for all its blocks.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes")]
unsafe fn lockstep<const R: usize>(
    key: &Key,
    state: &mut [__m512i; LANES / WIDE],
    (places, strides): (&[*mut u8; LANES], &[usize; LANES]),
    steps: usize,
) {
    let rounds: [__m512i; 15] = std::array::from_fn(|i| {
        // SAFETY: sixteen bytes are read from an array of sixteen.
        _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(key.rounds[i].as_ptr().cast()) })
    });
    let mut states = *state;
    for step in 0..steps {
        let at = |lane: usize| places[lane].wrapping_add(step * strides[lane]);
        for (n, wide) in states.iter_mut().enumerate() {
            // SAFETY: the caller guarantees that this block may be read.
            let block = |k: usize| unsafe { _mm_loadu_si128(at(WIDE * n + k).cast()) };
            let low = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(block(0)), block(1));
            let high = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(block(2)), block(3));
            let blocks = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
            *wide = _mm512_ternarylogic_epi64::<0x96>(*wide, blocks, rounds[0]);
        }
        for round in &rounds[1..R] {
            for wide in &mut states {
                *wide = _mm512_aesenc_epi128(*wide, *round);
            }
        }
        for (n, wide) in states.iter_mut().enumerate() {
            *wide = _mm512_aesenclast_epi128(*wide, rounds[R]);
            // SAFETY: the caller guarantees that these blocks may be written.
            unsafe {
                _mm_storeu_si128(at(WIDE * n).cast(), _mm512_castsi512_si128(*wide));
                _mm_storeu_si128(at(WIDE * n + 1).cast(), _mm512_extracti32x4_epi32::<1>(*wide));
                _mm_storeu_si128(at(WIDE * n + 2).cast(), _mm512_extracti32x4_epi32::<2>(*wide));
                _mm_storeu_si128(at(WIDE * n + 3).cast(), _mm512_extracti32x4_epi32::<3>(*wide));
            }
        }
    }
    *state = states;
}
