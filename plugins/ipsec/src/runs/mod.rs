//! Runs of usual packets: neighbours in a frame that one association seals or opens. What is the
//! same for all of them is done once, and ciphers and hashes take them together.
//!
//! A packet is usual in one segment, untraced, with plain headers, nothing left to be done for it,
//! and room around it; others are treated one by one in between, so the order of packets and of
//! their numbers is that of a frame without any run.

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

/// Packets of a run at most.
pub const MOST: usize = 16;
/// Flags of packets that are treated one by one.
pub const UNUSUAL: Flags = UNDONE.with(Flags::TRACED).with(Flags::CHAINED);
/// Bytes of the longest hash that is sent.
const MOST_ICV: usize = 32;

/// How packets of an association are worked on together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// By a cipher that authenticates.
    Aead,
    /// By a cipher and a keyed hash.
    Hashed,
}

impl Suite {
    /// That of some keys; `None` where packets are sealed one by one.
    pub fn of(keys: &Keys) -> Option<Self> {
        match keys.cipher.algorithm.mode {
            Mode::Aead => Some(Self::Aead),
            Mode::Gmac => None,
            _ => (1..=MOST_ICV).contains(&keys.icv()).then_some(Self::Hashed),
        }
    }
}
