//! Questions that a node may send, so that a scan of unused addresses does not use up those for
//! other hosts (RFC 6583 section 6).
//!
//! So many a second may be sent in all. When what is allowed runs short, each interface has a small
//! share of the rest, and questions that no stranger can cause have all of it: those of the router
//! itself, and for neighbours that were known lately.
#![forbid(unsafe_code)]

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashMap};

use super::waiting::Key;

/// Questions that one node sends in a second on one thread, whatever is thrown at it.
pub(super) const PER_SECOND: f64 = 1000.0;
/// Questions kept back for interfaces that have asked little.
const RESERVE: f64 = 500.0;
/// Questions of one interface in a second out of these.
pub(super) const SHARE: f64 = 100.0;
/// Interfaces whose share is remembered; beyond, all shares are reset.
const MOST_SHARES: usize = 4096;
/// Known neighbours that are remembered; of two in one place the later one is.
const MOST_KNOWN: usize = 1024;

/// Tokens, and when they were reckoned, in seconds.
#[derive(Clone, Copy)]
struct Tokens(f64, f64);

impl Tokens {
    fn refill(&mut self, now: f64, per_second: f64, most: f64) -> f64 {
        *self = Self((self.0 + (now - self.1).max(0.0) * per_second).min(most), now);
        self.0
    }
}

/// Allowance of questions.
pub(super) struct Allowance<A> {
    all: Tokens,
    shares: HashMap<u32, Tokens>,
    hasher: DefaultHashBuilder,
    known: Vec<Option<Key<A>>>,
}

impl<A: Copy + Eq + Hash> Allowance<A> {
    pub(super) fn new() -> Self {
        Self {
            all: Tokens(PER_SECOND + RESERVE, 0.0),
            shares: HashMap::new(),
            hasher: DefaultHashBuilder::default(),
            known: vec![None; MOST_KNOWN],
        }
    }
    fn place(&self, key: Key<A>) -> usize {
        self.hasher.hash_one(key) as usize % MOST_KNOWN
    }
    /// Notes that a neighbour is there.
    pub(super) fn note(&mut self, key: Key<A>) {
        let place = self.place(key);
        self.known[place] = Some(key);
    }
    /// Whether a neighbour may be asked for at `now`; `is_own` where no packet of others is why.
    pub(super) fn takes(&mut self, key: Key<A>, is_own: bool, now: f64) -> bool {
        let left = self.all.refill(now, PER_SECOND, PER_SECOND + RESERVE);
        let may = match left {
            ..1.0 => false,
            ..RESERVE if !is_own && self.known[self.place(key)] != Some(key) => {
                self.takes_share(key.0, now)
            }
            _ => true,
        };
        self.all.0 -= f64::from(u8::from(may));
        may
    }
    fn takes_share(&mut self, interface: u32, now: f64) -> bool {
        if self.shares.len() >= MOST_SHARES {
            self.shares.clear();
        }
        let share = self.shares.entry(interface).or_insert(Tokens(SHARE, now));
        let may = share.refill(now, SHARE, SHARE) >= 1.0;
        share.0 -= f64::from(u8::from(may));
        may
    }
}

/// Each thread has its own.
impl<A: Copy + Eq + Hash> Clone for Allowance<A> {
    fn clone(&self) -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_everything_leaves_questions_to_others() {
        let mut all = Allowance::<u32>::new();
        all.note((1, u32::MAX));
        // Ten seconds of a scan, a thousand questions in each tenth.
        let mut asked = 0;
        for n in 0..100_000_u32 {
            let now = f64::from(n) / 10_000.0;
            asked += u32::from(all.takes((1, n), false, now));
            if n % 1000 == 999 {
                // Elsewhere one host in each tenth, here one that was known, and the router itself.
                assert!(all.takes((2, n), false, now), "{n}");
                assert!(all.takes((1, u32::MAX), false, now), "{n}");
                assert!(all.takes((1, n), true, now), "{n}");
            }
        }
        assert!((9_000..12_000).contains(&asked), "{asked} questions");
    }
}
