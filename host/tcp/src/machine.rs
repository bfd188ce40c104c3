//! State that the connections of a thread have in common.

use crate::flight::Flight;
use crate::holes::Holes;
use crate::pool::Pool;
use crate::secret::Secret;
use crate::{Config, Counters, Seq, Time};

/// Purposes of hashes of a flow.
const ISN: u64 = 1;
const CLOCK: u64 = 2;
const NOISE: u64 = 3;

/// State of a thread that all its connections use: an argument of most calls.
#[derive(Debug)]
pub struct Machine {
    /// Settings. A change affects what begins afterwards.
    pub config: Config,
    /// Counters.
    pub counters: Counters,
    pub(crate) secret: Secret,
    pub(crate) flights: Pool<Flight>,
    pub(crate) holes: Pool<Holes>,
    challenges: Challenges,
}

/// Bound of challenge ACKs by second (RFC 5961 section 10), which cannot be measured from outside:
/// it is another one each second.
#[derive(Clone, Copy, Debug, Default)]
struct Challenges {
    second: u64,
    left: u32,
}

impl Machine {
    /// With a secret that is random and the same in all threads, and reserved room for segments in
    /// flight, and holes, of `blocks` connections each.
    pub fn new(config: Config, secret: [u8; 16], blocks: usize) -> Self {
        Self {
            config,
            counters: Counters::default(),
            secret: Secret::new(secret),
            flights: Pool::new(blocks),
            holes: Pool::new(blocks),
            challenges: Challenges::default(),
        }
    }

    /// Blocks taken by connections with segments in flight, and with holes.
    pub fn blocks_taken(&self) -> (usize, usize) {
        (self.flights.taken(), self.holes.taken())
    }

    /// Initial sequence number (RFC 6528, RFC 9293 section 3.4.1): a clock of 4 us, from a place of
    /// the flow's own.
    pub(crate) fn isn(&self, now: Time, flow: &Flow) -> Seq {
        Seq((self.secret.of_flow(flow, ISN) as u32).wrapping_add((now.us() / 4) as u32))
    }

    /// Offset of a flow's timestamps (RFC 7323 section 5.4).
    pub(crate) fn clock_offset(&self, flow: &Flow) -> u32 {
        self.secret.of_flow(flow, CLOCK) as u32
    }

    /// Takes one of this second's challenge ACKs.
    pub(crate) fn may_challenge(&mut self, now: Time) -> bool {
        let second = now.us() / 1_000_000;
        if second != self.challenges.second {
            let half = self.config.challenges / 2;
            let noise = self.secret.of_flow(&Flow::default(), NOISE ^ second << 8) as u32;
            let left = half + noise % (half + 1);
            self.challenges = Challenges { second, left };
        } else if self.challenges.left == 0 {
            self.counters.challenges_withheld += 1;
            return false;
        }
        self.challenges.left = self.challenges.left.saturating_sub(1);
        self.counters.challenges += 1;
        true
    }
}

/// Addresses and ports of a connection, seen from here. Addresses of IPv4 are in the first 4 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flow {
    /// Own address.
    pub local: [u8; 16],
    /// Peer's address.
    pub remote: [u8; 16],
    /// Own port.
    pub local_port: u16,
    /// Peer's port.
    pub remote_port: u16,
    /// The addresses are those of IPv6.
    pub is_ip6: bool,
}

impl Flow {
    /// Segment size of a peer that names none (RFC 9293 MUST-15).
    pub(crate) fn default_mss(&self) -> u16 {
        if self.is_ip6 { 1220 } else { 536 }
    }
}
