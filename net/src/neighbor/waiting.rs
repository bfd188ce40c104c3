//! Packets that wait for a neighbour's answer, on one thread.
//!
//! Bounded twice: so many for one neighbour, so many in all. Room is made by giving up the oldest;
//! an interface that has more than half of all slots gives up its own. The slots are used in turn,
//! so the slot that comes next holds the packet that has waited longest.
#![forbid(unsafe_code)]

use std::hash::Hash;

use graph::Held;
use hashbrown::HashMap;

/// Packets held for one neighbour.
pub(super) const MOST_FOR_ONE: usize = 64;
/// Packets held by one node on one thread; four nodes hold packets.
pub(super) const MOST: usize = 1024;
/// Most questions to a neighbour before its packets are given up (RFC 4861 section 10).
const ATTEMPTS: u8 = 3;
/// Seconds between two questions (RFC 1122 section 2.3.2.1, RFC 4861 section 10).
pub(super) const INTERVAL: f64 = 1.0;

/// A neighbour: number of the interface, address.
pub(super) type Key<A> = (u32, A);

/// The packets, by neighbour, each neighbour's in order.
pub(super) struct Waiting<A> {
    slots: Vec<Option<Slot<A>>>,
    next: usize,
    neighbors: HashMap<Key<A>, Queue>,
    /// Packets by interface.
    counts: HashMap<u32, usize>,
}

struct Slot<A> {
    key: Key<A>,
    packet: Held,
    /// The slot with the same neighbour's next packet.
    after: usize,
}

struct Queue {
    first: usize,
    last: usize,
    len: usize,
    /// Intervals begun, and when the last was.
    asked: u8,
    asked_at: f64,
    /// Time of the last question, for whatever packet.
    questioned_at: f64,
}

/// Step that is due for a neighbour that did not answer in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Another question.
    Question,
    /// Nothing more: its packets are given up.
    End,
}

impl<A: Copy + Eq + Hash> Waiting<A> {
    pub(super) fn new() -> Self {
        Self {
            slots: (0..MOST).map(|_| None).collect(),
            next: 0,
            neighbors: HashMap::with_capacity(2 * MOST),
            counts: HashMap::new(),
        }
    }
    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.neighbors.is_empty()
    }
    /// Whether one more packet for a neighbour has it asked: the first does, and at `now` one that
    /// comes `pause` seconds after a question, which counts as asking.
    pub(super) fn asks(&mut self, key: Key<A>, now: f64, pause: f64) -> bool {
        let Some(queue) = self.neighbors.get_mut(&key) else { return true };
        let asks = !(0.0..pause).contains(&(now - queue.questioned_at));
        if asks {
            queue.questioned_at = now;
        }
        asks
    }
    /// Gives up a packet that a further one for `key` has no room beside; call it until it says
    /// `None`.
    pub(super) fn make_room(&mut self, key: Key<A>) -> Option<Held> {
        let full = self.neighbors.get(&key).is_some_and(|q| q.len == MOST_FOR_ONE);
        let oldest = self.slots[self.place(key.0)].as_ref().map(|s| s.key);
        self.pop(if full { key } else { oldest? })
    }
    /// The slot of the next packet over an interface: the next in turn, of those of the interface
    /// if it has more than its share.
    fn place(&self, interface: u32) -> usize {
        let has_share = self.counts.get(&interface).is_some_and(|count| *count >= MOST / 2);
        let is_meant = |at: &usize| match &self.slots[*at] {
            Some(slot) => !has_share || slot.key.0 == interface,
            None => true,
        };
        let mut all = (0..MOST).map(|n| (self.next + n) % MOST);
        all.find(is_meant).unwrap_or(self.next)
    }
    /// Keeps a packet, in the room made for it, at `now` in seconds. For a neighbour without
    /// packets, it has just been asked.
    pub(super) fn push(&mut self, key: Key<A>, packet: Held, now: f64) {
        let at = self.place(key.0);
        self.next = (at + 1) % MOST;
        *self.counts.entry(key.0).or_default() += 1;
        self.slots[at] = Some(Slot { key, packet, after: at });
        let queue = self.neighbors.entry(key).or_insert(Queue {
            first: at,
            last: at,
            len: 0,
            asked: 1,
            asked_at: now,
            questioned_at: now,
        });
        if let Some(last) = self.slots[queue.last].as_mut() {
            last.after = at;
        }
        (queue.last, queue.len) = (at, queue.len + 1);
    }
    /// Takes out the packet that has waited longest for this neighbour.
    pub(super) fn pop(&mut self, key: Key<A>) -> Option<Held> {
        let queue = self.neighbors.get_mut(&key)?;
        let slot = self.slots[queue.first].take()?;
        (queue.first, queue.len) = (slot.after, queue.len - 1);
        if queue.len == 0 {
            self.neighbors.remove(&key);
        }
        if let Some(count) = self.counts.get_mut(&key.0) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&key.0);
            }
        }
        Some(slot.packet)
    }
    /// The neighbours whose interval is over: a question, unless a packet had one asked since, or
    /// the end; those due for a question count as asked.
    pub(super) fn due(&mut self, now: f64) -> Vec<(Key<A>, Due)> {
        // A clock that was set back must not make packets wait for it.
        let is_late = |q: &Queue| now - q.asked_at >= INTERVAL || now < q.asked_at;
        let late = self.neighbors.iter_mut().filter(|(_, q)| is_late(q));
        late.filter_map(|(key, q)| {
            if q.asked == ATTEMPTS {
                return Some((*key, Due::End));
            }
            (q.asked, q.asked_at) = (q.asked + 1, now);
            let lately = (0.0..INTERVAL).contains(&(now - q.questioned_at));
            q.questioned_at = if lately { q.questioned_at } else { now };
            (!lately).then_some((*key, Due::Question))
        })
        .collect()
    }
    /// Gives up what waits for such neighbours.
    pub(super) fn forget(
        &mut self,
        is_meant: impl Fn(Key<A>) -> bool,
        mut give_up: impl FnMut(Held),
    ) {
        for at in 0..MOST {
            let key = self.slots[at].as_ref().map(|s| s.key).filter(|key| is_meant(*key));
            while let Some(packet) = key.and_then(|key| self.pop(key)) {
                give_up(packet);
            }
        }
    }
}

/// Each thread holds its own.
impl<A: Copy + Eq + Hash> Clone for Waiting<A> {
    fn clone(&self) -> Self {
        Self::new()
    }
}
