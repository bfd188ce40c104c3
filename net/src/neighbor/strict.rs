//! Interfaces where neighbours are treated strictly as in the original, and who was asked for there
//! lately.
#![forbid(unsafe_code)]

use std::hash::{BuildHasher, Hash};

use hashbrown::DefaultHashBuilder;

use super::waiting::Key;

/// Neighbours that are remembered; of two in one place the one asked for last is.
const MOST: usize = 256;
/// Seconds between two questions for the same neighbour: one for each burst of packets.
pub(super) const PAUSE: f64 = 0.005;

/// Whether neighbours on an interface are treated strictly as in the original, where a generator of
/// packets wants to see what follows from each, and on tunnels of Ethernet frames for routed
/// packets. No packet waits for a neighbour there: each burst asks. Hosts of other links are not
/// answered, new addresses not announced, neighbours outlive the link, and reports of multicast
/// listeners name all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strict(pub bool);

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
