//! Selection of local ports (RFC 6056 section 3.3.4): by a counter for the hash of the other three
//! parts of the connection, so that ports towards one peer reveal nothing about those of another.
//!
//! A thread uses only ports that are congruent to its number modulo the number of threads, so no
//! two threads choose the same port.

use std::ops::RangeInclusive;

/// Default range: all but the well-known ports.
pub const DEFAULT: RangeInclusive<u16> = 1024..=u16::MAX;
/// Limit of ports tried for one connection.
const TRIES: u32 = 8192;
/// Number of counters.
const COUNTERS: usize = 256;

/// A thread's share of the ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Index of the thread.
    pub place: u16,
    /// Number of threads.
    pub of: u16,
}

/// Port counters of a thread.
#[derive(Debug)]
pub struct Ports {
    next: [u16; COUNTERS],
    range: RangeInclusive<u16>,
    share: Share,
    most_tries: u32,
}

impl Ports {
    /// Creates it without history.
    pub fn new(share: Share) -> Self {
        Self { next: [0; COUNTERS], range: DEFAULT, share, most_tries: 0 }
    }
    /// Changes the port range.
    pub fn set_range(&mut self, range: RangeInclusive<u16>) {
        self.range = range;
    }
    /// Changes the share of the thread.
    pub fn set_share(&mut self, share: Share) {
        self.share = share;
    }
    /// The largest number of tries so far.
    pub fn most_tries(&self) -> u32 {
        self.most_tries
    }
    /// Chooses a port for a connection with the given hash of its other parts; `is_free` tells
    /// whether a port may be used. `None` if no port was found.
    pub fn choose(&mut self, hash: u64, mut is_free: impl FnMut(u16) -> bool) -> Option<u16> {
        let Share { place, of } = self.share;
        let (first, of) = (*self.range.start(), of.max(1));
        // The lowest port of the share, and the number of ports.
        let offset = (place + of - first % of) % of;
        let all = u32::from(*self.range.end() - first) + 1;
        let count = (all.saturating_sub(u32::from(offset))).div_ceil(u32::from(of));
        if count == 0 {
            return None;
        }
        let next = &mut self.next[(hash >> 56) as usize % COUNTERS];
        for tried in 1..=count.min(TRIES) {
            let n = (hash as u32).wrapping_add(u32::from(*next)) % count;
            *next = next.wrapping_add(1);
            let port = first + offset + (n * u32::from(of)) as u16;
            if is_free(port) {
                self.most_tries = self.most_tries.max(tried);
                return Some(port);
            }
        }
        self.most_tries = self.most_tries.max(count.min(TRIES));
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn threads_share_all_ports_of_the_range() {
        let mut seen = HashSet::new();
        for place in 0..3 {
            let mut ports = Ports::new(Share { place, of: 3 });
            ports.set_range(1030..=1099);
            while let Some(port) = ports.choose(7, |port| !seen.contains(&port)) {
                assert!(port % 3 == place && (1030..=1099).contains(&port));
                seen.insert(port);
            }
        }
        assert_eq!(seen.len(), 70);
    }

    #[test]
    fn a_range_without_a_port_of_the_share_has_none() {
        let mut ports = Ports::new(Share { place: 1, of: 4 });
        ports.set_range(1024..=1024);
        assert_eq!(ports.choose(0, |_| true), None);
        ports.set_share(Share { place: 0, of: 4 });
        assert_eq!(ports.choose(0, |_| true), Some(1024));
        ports.set_range(65535..=65535);
        ports.set_share(Share { place: 3, of: 4 });
        assert_eq!(ports.choose(9, |_| true), Some(65535));
    }

    #[test]
    fn peers_see_ports_from_different_starts() {
        let mut ports = Ports::new(Share { place: 0, of: 1 });
        let first = ports.choose(0x0123_4567_89ab_cdef, |_| true);
        let other = ports.choose(0x8123_4567_1234_5678, |_| true);
        assert_ne!(first, other);
        // The same peer gets the next one.
        assert_eq!(ports.choose(0x0123_4567_89ab_cdef, |_| true), first.map(|p| p + 1));
    }
}
