//! Outgoing requests: one at a time (RFC 7296 section 2.3), retransmitted until answered.

use crate::crypto::group::{Group, Private};

/// Seconds until the first retransmission of a request.
pub const RETRY: f64 = 2.0;
/// Factor by which that grows with each retransmission.
pub const GROWTH: f64 = 1.8;
/// Transmissions of a request before the peer is considered dead.
pub const TRIES: u32 = 6;

/// A pending request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Rekey a child SA.
    RekeyChild(u32),
    /// Delete a child SA.
    DeleteChild(u32),
    /// Rekey the association.
    Rekey,
    /// Check that the peer is alive.
    Probe,
}

/// An outstanding request.
#[derive(Debug)]
pub enum Ask {
    /// Key exchange.
    Init,
    /// Authentication and the first child SA.
    Auth,
    /// A child SA that replaces another one.
    RekeyChild {
        /// SPI of the replaced child SA.
        old: u32,
        /// Our SPI.
        spi: u32,
        /// Our nonce.
        nonce: Vec<u8>,
        /// Child SA with which the peer has replaced the same one at the same time, and the lower
        /// nonce of that exchange.
        rival: Option<(u32, Vec<u8>)>,
    },
    /// An association that replaces this one.
    Rekey {
        /// Our SPI.
        spi: u64,
        /// Our nonce.
        nonce: Vec<u8>,
        /// The group.
        group: Group,
        /// Private value.
        private: Option<Private>,
    },
    /// Deletion of a child SA, by our SPI.
    DeleteChild(u32),
    /// Deletion of the association.
    Delete,
    /// A liveness check.
    Probe,
}

/// An unanswered request.
#[derive(Debug)]
pub struct Request {
    /// Message ID.
    pub id: u32,
    /// Exchange type.
    pub exchange: u8,
    /// The message or its fragments; retransmissions are identical.
    pub packets: Vec<Vec<u8>>,
    /// Time of the next retransmission.
    pub again: f64,
    /// Number of transmissions.
    pub tries: u32,
    /// The request itself.
    pub ask: Ask,
}
