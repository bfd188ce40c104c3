//! State shared by the connections of a thread.

use crate::flight::Flight;
use crate::holes::Holes;
use crate::pool::Pool;
use crate::secret::Secret;
use crate::{Config, Counters, Seq, Time};

/// Purposes of hashes of a flow.
const ISN: u64 = 1;
const CLOCK: u64 = 2;
const NOISE: u64 = 3;

/// State shared by all connections of a thread; an argument of most calls.
#[derive(Debug)]
pub struct Machine {
    /// Settings. A change affects new connections.
    pub config: Config,
    /// Counters.
    pub counters: Counters,
    pub(crate) secret: Secret,
    pub(crate) flights: Pool<Flight>,
    pub(crate) holes: Pool<Holes>,
    challenges: Challenges,
    /// Time until which cookies that were sent may come back.
    pub(crate) cookies_until: Time,
}

/// Limit of challenge ACKs per second (RFC 5961 section 10). It changes each second, so that it
/// cannot be measured from outside.
#[derive(Clone, Copy, Debug, Default)]
struct Challenges {
    second: u64,
    left: u32,
}

impl Machine {
    /// Creates the state with a random secret, the same for all threads, and blocks for segments in
    /// flight and for gaps of `blocks` connections each.
    pub fn new(config: Config, secret: [u8; 16], blocks: usize) -> Self {
        Self {
            config,
            counters: Counters::default(),
            secret: Secret::new(secret),
            flights: Pool::new(blocks),
            holes: Pool::new(blocks),
            challenges: Challenges::default(),
            cookies_until: Time::default(),
        }
    }

    /// Number of blocks in use, for segments in flight and for gaps.
    pub fn blocks_taken(&self) -> (usize, usize) {
        (self.flights.taken(), self.holes.taken())
    }

    /// Initial sequence number (RFC 6528, RFC 9293 section 3.4.1): a clock of 4 us, with an offset
    /// per flow.
    pub(crate) fn isn(&self, now: Time, flow: &Flow) -> Seq {
        Seq((self.secret.of_flow(flow, ISN) as u32).wrapping_add((now.us() / 4) as u32))
    }

    /// Offset of a flow's timestamps (RFC 7323 section 5.4).
    pub(crate) fn clock_offset(&self, flow: &Flow) -> u32 {
        self.secret.of_flow(flow, CLOCK) as u32
    }

    /// Whether another challenge ACK may be sent in this second.
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

/// Addresses and ports of a connection. IPv4 addresses are in the first 4 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flow {
    /// Local address.
    pub local: [u8; 16],
    /// Peer's address.
    pub remote: [u8; 16],
    /// Local port.
    pub local_port: u16,
    /// Peer's port.
    pub remote_port: u16,
    /// Whether the addresses are IPv6.
    pub is_ip6: bool,
}

impl Flow {
    /// Segment size of a peer without the MSS option (RFC 9293 MUST-15).
    pub(crate) fn default_mss(&self) -> u16 {
        if self.is_ip6 { 1220 } else { 536 }
    }
}
