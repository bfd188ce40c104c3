//! Dropped packets as the drop node of a thread sees them: how many for each reason and interface,
//! and now and then one of them.
//!
//! Both are tables of fixed size that only their thread writes. Control reads the first between two
//! loops of the thread; what the second lets through is sent to it as an event.

use std::fmt;

use graph::{Buffer, Flags};
use wire::{ethernet, print};
use zerocopy::FromBytes;

use crate::events::Event;

/// Pairs of reason and interface that a thread counts; others are counted together.
const PAIRS: usize = 1024;
/// Places that a pair may have.
const TRIES: usize = 16;
/// Times of samples that a thread keeps.
const REASONS: usize = 256;
/// Time between two samples of a reason on a thread. Seconds.
const PAUSE: f64 = 1.0;
/// Bytes of a sample.
const SHOWN: usize = 96;

/// The number of an interface that stands for all pairs without a place.
pub(super) const OTHERS: u32 = u32::MAX;

/// Packets of a reason received on an interface.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pair {
    /// Number of the counter; 0 where a route discarded them.
    pub error: u32,
    pub rx: u32,
    /// 0 for a place that is free.
    pub packets: u64,
}

/// Dropped packets by reason and interface.
#[derive(Debug)]
pub(super) struct Tally {
    places: Box<[Pair]>,
    others: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self { places: vec![Pair::default(); PAIRS].into(), others: 0 }
    }
}

impl Clone for Tally {
    /// Empty: every thread counts for itself.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Tally {
    #[inline(always)]
    pub fn count(&mut self, error: u32, rx: u32) {
        let hash = error.wrapping_mul(0x9e37_79b1) ^ rx.wrapping_mul(0x85eb_ca6b);
        let start = (hash >> 16) as usize;
        for place in start..start + TRIES {
            let Some(at) = self.places.get_mut(place % PAIRS) else { break };
            if at.packets == 0 {
                *at = Pair { error, rx, packets: 1 };
                return;
            }
            if (at.error, at.rx) == (error, rx) {
                at.packets += 1;
                return;
            }
        }
        self.others += 1;
    }
    pub fn pairs(&self) -> Vec<Pair> {
        let others = Pair { error: 0, rx: OTHERS, packets: self.others };
        self.places.iter().chain([&others]).filter(|pair| pair.packets > 0).copied().collect()
    }
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// One dropped packet.
#[derive(Clone, Copy)]
pub struct Sample {
    /// Number of the counter of its reason; 0 where a route discarded it.
    pub error: u32,
    /// Receive interface.
    pub rx: u32,
    /// Seconds on the router's clock.
    pub at: f64,
    /// Its length in bytes.
    pub len: usize,
    is_framed: bool,
    shown: u8,
    bytes: [u8; SHOWN],
}

impl Event for Sample {
    const ROOM: usize = 64;
}

impl Sample {
    #[cold]
    pub(super) fn of(p: &Buffer<'_>, at: f64) -> Self {
        let has_frame = p.flags().has(Flags::L2) && !p.flags().has(Flags::LOCAL);
        let framed = p.bytes_from(p.l2_offset());
        // The header is still there if nothing was put over it.
        let is_framed = has_frame
            && p.l2_offset() <= p.offset()
            && ethernet::Header::ref_from_prefix(framed).is_ok();
        let from = if is_framed { framed } else { p.bytes() };
        let shown = from.len().min(SHOWN);
        let mut bytes = [0; SHOWN];
        bytes[..shown].copy_from_slice(&from[..shown]);
        let (error, rx, len) = (Buffer::error(p), p.rx(), p.total_len());
        Self { error, rx, at, len, is_framed, shown: shown as u8, bytes }
    }
    /// First bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.shown)]
    }
}

impl fmt::Display for Sample {
    /// Its headers, on a line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes();
        match bytes.first().map(|byte| byte >> 4) {
            _ if self.is_framed => print::ethernet(bytes, 0).fmt(f),
            Some(4) => print::ip4(bytes, 0).fmt(f),
            Some(6) => print::ip6(bytes, 0).fmt(f),
            _ => print::ethernet(bytes, 0).fmt(f),
        }
    }
}

/// Choice of samples: the first packet of a reason, and then one a second.
#[derive(Clone)]
pub(super) struct Sampler {
    /// Times of the next samples, by reason; some share one.
    next: Box<[f64]>,
}

impl Default for Sampler {
    fn default() -> Self {
        Self { next: vec![f64::NEG_INFINITY; REASONS].into() }
    }
}

impl Sampler {
    #[inline(always)]
    pub fn wants(&mut self, error: u32, now: f64) -> bool {
        let Some(next) = self.next.get_mut(error as usize % REASONS) else { return false };
        if now < *next {
            return false;
        }
        *next = now + PAUSE;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_without_a_place_are_counted_together() {
        let mut tally = Tally::default();
        for n in 0..2 * PAIRS as u32 {
            tally.count(n, n / 2);
            tally.count(n, n / 2);
        }
        let pairs = tally.pairs();
        let sum: u64 = pairs.iter().map(|pair| pair.packets).sum();
        assert_eq!(sum, 4 * PAIRS as u64);
        let known = pairs.iter().filter(|pair| pair.rx != OTHERS);
        assert!(known.clone().all(|p| p.packets == 2 && p.rx == p.error / 2));
        assert!(known.count() > PAIRS / 2);
        tally.clear();
        assert!(tally.pairs().is_empty());
    }

    #[test]
    fn a_reason_has_one_sample_a_second() {
        let mut sampler = Sampler::default();
        let wanted = (0..100).filter(|n| sampler.wants(7, f64::from(*n) / 10.0)).count();
        assert_eq!(wanted, 10);
        assert!(sampler.wants(8, 0.0));
    }
}
