//! Interfaces where no packets are held, and who was asked for there lately.
#![forbid(unsafe_code)]

use std::hash::{BuildHasher, Hash};

use hashbrown::DefaultHashBuilder;

use super::waiting::Key;

/// Neighbours that are remembered; of two in one place the one asked for last is.
const MOST: usize = 256;
/// Seconds between two questions for the same neighbour: one for each burst of packets.
pub(super) const PAUSE: f64 = 0.005;

/// Whether packets wait on an interface for neighbours that are not known. They do, but where a
/// generator of packets wants to see what follows from each, and on tunnels of Ethernet frames for
/// routed packets: there each burst asks, as operators of the original know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding(pub bool);

impl Default for Holding {
    fn default() -> Self {
        Self(true)
    }
}

/// The neighbours, and when they were asked for.
pub(super) struct Lately<A> {
    hasher: DefaultHashBuilder,
    slots: Vec<Option<(Key<A>, f64)>>,
}

impl<A: Copy + Eq + Hash> Lately<A> {
    pub(super) fn new() -> Self {
        Self { hasher: DefaultHashBuilder::default(), slots: vec![None; MOST] }
    }
    /// Whether a packet at `now` has its neighbour asked.
    pub(super) fn asks(&mut self, key: Key<A>, now: f64) -> bool {
        let slot = &mut self.slots[self.hasher.hash_one(key) as usize % MOST];
        let is_lately =
            |(asked, at): (Key<A>, f64)| asked == key && (0.0..PAUSE).contains(&(now - at));
        let asks = !slot.is_some_and(is_lately);
        if asks {
            *slot = Some((key, now));
        }
        asks
    }
}

/// Each thread remembers its own.
impl<A: Copy + Eq + Hash> Clone for Lately<A> {
    fn clone(&self) -> Self {
        Self::new()
    }
}
