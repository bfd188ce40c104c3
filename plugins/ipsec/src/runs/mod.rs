//! Runs: consecutive common packets in a frame that one SA encrypts or decrypts. Common work is
//! done once, and ciphers and hashes process the packets together.
//!
//! A packet is common if it is in one segment, untraced, with plain headers, without pending
//! offloads, and with space around it. Others are processed one by one in between, so the order of
//! packets and sequence numbers is the same as without runs.

mod leave;
mod open;
mod seal;

use crypto::Mode;
use graph::Flags;
use net::gso::UNDONE;

use super::esp::Keys;

pub use leave::{Leave, Onwards, To, flags};
pub use open::Run as OpenRun;
pub use seal::Run;

/// Limit of packets in a run.
pub const MOST: usize = 16;
/// Flags of packets that are processed one by one.
pub const UNUSUAL: Flags = UNDONE.with(Flags::TRACED).with(Flags::CHAINED);
/// Longest integrity check value in bytes.
const MOST_ICV: usize = 32;

/// Method of processing packets of an SA together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// With an AEAD cipher.
    Aead,
    /// With a cipher and an integrity algorithm.
    Hashed,
}

impl Suite {
    /// The method for some keys; `None` if packets are processed one by one.
    pub fn of(keys: &Keys) -> Option<Self> {
        match keys.cipher.algorithm.mode {
            Mode::Aead => Some(Self::Aead),
            Mode::Gmac => None,
            _ => (1..=MOST_ICV).contains(&keys.icv()).then_some(Self::Hashed),
        }
    }
}
