//! Input that is nearly right.

use crate::MAX_LEN;

/// Random numbers that come the same again for the same seed (SplitMix64).
pub struct Random(u64);

/// Numbers that limits are near to.
const EDGES: [u64; 16] =
    [0, 1, 2, 4, 5, 8, 15, 20, 40, 64, 127, 255, 1280, 0x7fff, 0xffff, u64::MAX];

impl Random {
    /// Starts at `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, 0 when that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.number() % limit as u64) as usize }
    }

    /// One of `list`, which is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// One of the corpus with a few things changed.
    pub fn input(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = if corpus.is_empty() { Vec::new() } else { self.pick(corpus).clone() };
        for _ in 0..=self.below(4) {
            self.change(&mut input, corpus);
        }
        input.truncate(MAX_LEN);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = self.below(input.len());
        match self.below(8) {
            0 if !input.is_empty() => input[at] ^= 1 << self.below(8),
            1 if !input.is_empty() => input[at] = self.number() as u8,
            2 => self.set(input, at),
            3 => input.truncate(at),
            4 => {
                let byte = self.number() as u8;
                input.insert(at, byte);
            }
            5 => {
                let end = at + self.below(input.len() - at);
                input.drain(at..end);
            }
            6 if !corpus.is_empty() => {
                let other = self.pick(corpus).clone();
                let from = self.below(other.len());
                input.truncate(at);
                input.extend(&other[from..]);
            }
            _ => {
                let end = at + self.below((input.len() - at).min(64));
                let piece = input[at..end].to_vec();
                input.splice(at..at, piece);
            }
        }
    }

    /// Writes a number that a limit may be near to, one, two or four bytes long.
    fn set(&mut self, input: &mut [u8], at: usize) {
        let edge = *self.pick(&EDGES);
        let near = edge.wrapping_add(self.below(3) as u64).wrapping_sub(1);
        let len = *self.pick(&[1, 2, 4]);
        if let Some(place) = input.get_mut(at..at + len) {
            place.copy_from_slice(&near.to_be_bytes()[8 - len..]);
        }
    }
}
