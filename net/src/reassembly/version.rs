//! Fragments of either IP version.
#![forbid(unsafe_code)]

use std::fmt::{Debug, Display};
use std::hash::Hash;

use graph::{Buffer, Ports};
use wire::Protocol;

use crate::drops::Problem;
use crate::ip::Version;

/// A version whose fragments are put together. Functions on packets take the first segment from the
/// IP header on.
pub(super) trait Reassemble: Version {
    /// Fields that the fragments of one packet have in common.
    type Key: Copy + Eq + Hash + Debug + Display + Send + 'static;

    /// Whether fragments may overlap (RFC 5722 forbids it to those of IPv6).
    const MAY_OVERLAP: bool;
    /// The ICMP error for its sender when a packet stays incomplete.
    const TIMEOUT_PROBLEM: Option<Problem>;

    /// All of a fragment is there already.
    const DUPLICATE: Self::Error;
    /// It overlaps another where it must not.
    const OVERLAPPING: Self::Error;
    /// It does not belong to the others.
    const INCONSISTENT: Self::Error;
    /// More fragments than a packet may have.
    const TOO_MANY: Self::Error;
    /// More packets than there may be.
    const LIMIT: Self::Error;
    /// The rest did not arrive in time.
    const TIMEOUT: Self::Error;
    /// No buffers.
    const NO_BUFFERS: Self::Error;
    /// Its own protocol is not known to shallow reassembly ([`Reassemble::ports`]).
    const UNSUPPORTED: Self::Error;

    /// A packet is put together, or its fragments pass: counted for each packet.
    const SUCCESS: Self::Error;
    /// Counted for each fragment of a packet that is put together.
    const REASSEMBLED: Self::Error;
    /// Counter of received fragments.
    const RECEIVED: Self::Error;

    /// Whether a packet has to be looked at with [`Reassemble::fragment`] at a place.
    fn concerns(packet: &[u8], place: usize) -> bool;
    /// Properties of a fragment of which `there` bytes have come. `scope` tells apart packets that
    /// are otherwise the same: the table of the lookup, or the interface that they leave by.
    /// Whether fragments fit together matters to places of full reassembly only.
    fn fragment(packet: &[u8], there: usize, scope: u32, place: usize) -> Fragment<Self>;
    /// The ports of a first fragment, `None` when it is too short or has none.
    ///
    /// # Errors
    /// [`Reassemble::UNSUPPORTED`]: it carries neither TCP nor UDP nor ICMP, so its flow cannot be
    /// identified by the data after the first fragment.
    fn ports(packet: &[u8]) -> Result<Option<Ports>, Self::Error>;
    /// Makes the only fragment of a packet ([`Fragment::Only`]) the packet.
    fn unwrap(p: &mut Buffer<'_>);
    /// Puts the header of the whole packet, which has `len` bytes after it, into `whole`; `first`
    /// is what is in front of the data of its first fragment. `None` when it becomes too long.
    fn header(first: &[u8], len: usize, whole: &mut Vec<u8>) -> Option<()>;
}

/// A packet as reassembly sees it.
pub(super) enum Fragment<V: Reassemble> {
    /// A fragment.
    Piece {
        /// Fields in common with the others.
        key: V::Key,
        /// Place of its data in the whole, in bytes.
        from: u32,
        /// End of its data in the whole.
        to: u32,
        /// Place of its data in the packet.
        start: u32,
        /// Whether nothing follows it.
        is_last: bool,
    },
    /// The only fragment of its packet.
    Only,
    /// Dropped for this reason.
    Bad(V::Error),
    /// And its sender gets an ICMP error.
    Told(V::Error, Problem),
}

/// The ports at the start of a layer 4 header; of ICMP messages about one of several runs, the
/// number of the run is both.
pub(super) fn l4_ports(protocol: Protocol, l4: &[u8]) -> Option<Ports> {
    let number = |at: usize| Some(u16::from_be_bytes(*l4.get(at..)?.first_chunk()?));
    match protocol {
        Protocol::TCP | Protocol::UDP => Some(Ports { src: number(0)?, dst: number(2)? }),
        Protocol::ICMP if matches!(l4.first()?, 0 | 8) => {
            Some(Ports { src: number(4)?, dst: number(4)? })
        }
        Protocol::ICMP6 if matches!(l4.first()?, 128 | 129) => {
            Some(Ports { src: number(4)?, dst: number(4)? })
        }
        _ => None,
    }
}
