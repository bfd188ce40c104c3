//! Sessions: records of a table.

use zerocopy::FromZeros;

use crate::ages::{Link, State};

/// A session. What every packet reads is on one cache line where flows and data are short.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
pub struct Session<F, R, D> {
    /// Its packets, as they come.
    pub forward: F,
    /// The answers, as they come.
    pub reverse: R,
    pub(crate) state: State,
    /// What the feature knows of it.
    pub data: D,
    /// Packets that passed.
    pub packets: u64,
    /// Bytes that passed.
    pub bytes: u64,
    pub(crate) link: Link,
}

impl<F, R, D> Session<F, R, D> {
    /// Its class, by position.
    #[inline(always)]
    pub fn class(&self) -> u8 {
        self.state.class()
    }
    /// When a packet passed last, in seconds on the router's clock.
    #[inline(always)]
    pub fn heard(&self) -> f64 {
        self.state.heard()
    }
    /// Counts a packet; the session is not over for its timeout from now on.
    #[inline(always)]
    pub fn passed(&mut self, bytes: usize, now: f64) {
        self.state = self.state.heard_at(now);
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}
