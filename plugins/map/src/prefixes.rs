//! A table of prefixes that is published whole each time it changes: the longest one that an
//! address is in is found by a lookup for each length. It consists of parts, so that a change
//! copies few.

use net::prelude::*;

/// Parts of a table.
const PARTS: usize = 256;

type Part = HashMap<(u8, u128), Vec<u32>>;

/// Numbers by prefix, whose bits begin at the top. Of several for one prefix the latest counts.
#[derive(Clone)]
pub struct Prefixes {
    parts: Vec<Arc<Part>>,
    /// Lengths that there are, longest first, and how many prefixes have each.
    lens: Vec<(u8, u32)>,
}

impl Default for Prefixes {
    fn default() -> Self {
        Self { parts: vec![Arc::default(); PARTS], lens: Vec::new() }
    }
}

#[inline(always)]
fn part_of(len: u8, bits: u128) -> usize {
    let mixed = (bits as u64 ^ (bits >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as usize ^ usize::from(len) & (PARTS - 1)
}

#[inline(always)]
fn masked(len: u8, bits: u128) -> u128 {
    bits & u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0)
}

impl Prefixes {
    /// Puts a number in.
    pub fn add(&mut self, len: u8, bits: u128, number: u32) {
        let bits = masked(len, bits);
        Arc::make_mut(&mut self.parts[part_of(len, bits)])
            .entry((len, bits))
            .or_default()
            .push(number);
        match self.lens.iter_mut().find(|(l, _)| *l == len) {
            Some((_, count)) => *count += 1,
            None => {
                self.lens.push((len, 1));
                self.lens.sort_unstable_by(|a, b| b.cmp(a));
            }
        }
    }
    /// Takes a number out.
    pub fn remove(&mut self, len: u8, bits: u128, number: u32) {
        let bits = masked(len, bits);
        let part = Arc::make_mut(&mut self.parts[part_of(len, bits)]);
        let Some(numbers) = part.get_mut(&(len, bits)) else { return };
        let Some(at) = numbers.iter().position(|n| *n == number) else { return };
        numbers.remove(at);
        if numbers.is_empty() {
            part.remove(&(len, bits));
        }
        if let Some(at) = self.lens.iter().position(|(l, _)| *l == len) {
            self.lens[at].1 -= 1;
            if self.lens[at].1 == 0 {
                self.lens.remove(at);
            }
        }
    }
    /// The number of the longest prefix that an address is in.
    #[inline(always)]
    pub fn find(&self, bits: u128) -> Option<u32> {
        self.lens.iter().find_map(|(len, _)| {
            let bits = masked(*len, bits);
            self.parts[part_of(*len, bits)].get(&(*len, bits))?.last().copied()
        })
    }
}
