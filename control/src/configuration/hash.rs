//! Hash of a configuration, the same at both ends of a connection.
//!
//! It is the sum, modulo 2^256, of the SHA-256 hashes of the lines, so their order does not matter
//! and a line more or less is one addition. It tells configurations apart, no more: who may choose
//! lines may also find two sets of them with one sum.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// Words of the error of a change that was made for another configuration.
pub const CHANGED: &str = "the configuration has changed since";

/// Hash of a set of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hash([u64; 4]);

impl Hash {
    /// Hash of these lines, without their ends.
    pub fn of<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        lines.into_iter().for_each(|line| all.add(line));
        all
    }

    /// Adds a line.
    pub fn add(&mut self, line: &str) {
        let mut carry = false;
        for (word, more) in self.0.iter_mut().zip(words(line)) {
            let (sum, first) = word.overflowing_add(more);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            (*word, carry) = (sum, first | second);
        }
    }

    /// Takes a line out.
    pub fn remove(&mut self, line: &str) {
        let mut borrow = false;
        for (word, less) in self.0.iter_mut().zip(words(line)) {
            let (rest, first) = word.overflowing_sub(less);
            let (rest, second) = rest.overflowing_sub(u64::from(borrow));
            (*word, borrow) = (rest, first | second);
        }
    }
}

/// The hash of a line as a number, the lowest 64 bits first: its last byte is the lowest.
fn words(line: &str) -> [u64; 4] {
    let bytes: [u8; 32] = Sha256::digest(line.as_bytes()).into();
    let (words, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|at| u64::from_be_bytes(words[3 - at]))
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().rev().try_for_each(|word| write!(f, "{word:016x}"))
    }
}

/// Why a text is no hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoHash;

impl fmt::Display for NoHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a hash has 64 hexadecimal digits")
    }
}

impl FromStr for Hash {
    type Err = NoHash;

    fn from_str(text: &str) -> Result<Self, NoHash> {
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(NoHash);
        }
        let word = |at: usize| {
            let digits = &text[(3 - at) * 16..(4 - at) * 16];
            u64::from_str_radix(digits, 16).map_err(|_| NoHash)
        };
        Ok(Self([word(0)?, word(1)?, word(2)?, word(3)?]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_has_the_hash_of_its_bytes() {
        let hash = Hash::of(["abc"]).to_string();
        assert_eq!(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(hash.parse(), Ok(Hash::of(["abc"])));
        for wrong in ["", "ba", &hash[1..], &format!("+{}", &hash[1..]), &format!("{hash}0")] {
            assert_eq!(wrong.parse::<Hash>(), Err(NoHash), "{wrong}");
        }
    }

    #[test]
    fn lines_that_come_and_go_leave_the_hash_of_the_rest() {
        let lines: Vec<String> = (0..1000).map(|n| format!("line {n}")).collect();
        let mut hash = Hash::of(lines.iter().rev().map(String::as_str));
        assert_eq!(hash, Hash::of(lines.iter().map(String::as_str)));
        lines.iter().skip(1).step_by(2).for_each(|line| hash.remove(line));
        assert_eq!(hash, Hash::of(lines.iter().step_by(2).map(String::as_str)));
        lines.iter().step_by(2).for_each(|line| hash.remove(line));
        assert_eq!(hash, Hash::default());
    }
}
