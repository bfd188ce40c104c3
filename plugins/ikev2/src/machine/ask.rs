//! Requests of ours: one at a time (RFC 7296 section 2.3), repeated until they are answered.

use crate::crypto::group::{Group, Private};

/// Seconds until a request is sent again, and by how much that grows.
pub const RETRY: f64 = 2.0;
/// Growth of it.
pub const GROWTH: f64 = 1.8;
/// Requests sent before the other end is given up.
pub const TRIES: u32 = 6;

/// Something to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Replace a child.
    RekeyChild(u32),
    /// Delete a child.
    DeleteChild(u32),
    /// Replace the association.
    Rekey,
    /// Is it alive?
    Probe,
}

/// Something asked for.
#[derive(Debug)]
pub enum Ask {
    /// Key exchange.
    Init,
    /// Proof of identity and the first child.
    Auth,
    /// Another child in place of one.
    RekeyChild {
        /// The one that goes.
        old: u32,
        /// SPI of ours.
        spi: u32,
        /// Nonce of ours.
        nonce: Vec<u8>,
        /// A child that the other end made in place of the same one meanwhile, and the lower of
        /// the nonces of that exchange.
        rival: Option<(u32, Vec<u8>)>,
    },
    /// Another association in place of this one.
    Rekey {
        /// Its number of ours.
        spi: u64,
        /// Nonce of ours.
        nonce: Vec<u8>,
        /// The group.
        group: Group,
        /// Private value.
        private: Option<Private>,
    },
    /// Deletion of a child, by its number of ours.
    DeleteChild(u32),
    /// Deletion of the association.
    Delete,
    /// A sign of life.
    Probe,
}

/// A request that is not answered.
#[derive(Debug)]
pub struct Request {
    /// Its number.
    pub id: u32,
    /// The exchange.
    pub exchange: u8,
    /// Its bytes, the same each time.
    pub packets: Vec<Vec<u8>>,
    /// When it is sent again.
    pub again: f64,
    /// How often it was sent.
    pub tries: u32,
    /// What is asked for.
    pub ask: Ask,
}
