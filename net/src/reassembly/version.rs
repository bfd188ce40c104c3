//! What fragments of one IP version are like.
#![forbid(unsafe_code)]

use std::fmt::Debug;
use std::hash::Hash;

use graph::Buffer;

use crate::icmp::Problem;
use crate::ip::Version;

/// A version whose fragments are put together. Functions on packets take those whose current bytes
/// start at the IP header.
pub trait Reassemble: Version {
    /// What the fragments of one packet have in common.
    type Key: Copy + Eq + Hash + Debug + Send + 'static;

    /// 0 for IPv4, 1 for IPv6.
    const FAMILY: usize;
    /// Names of its nodes.
    const REASSEMBLY: Names;
    /// Whether fragments may overlap (RFC 5722 forbids it to those of IPv6).
    const MAY_OVERLAP: bool;
    /// What the sender is told when a packet stays incomplete.
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
    /// The rest did not come in time.
    const TIMEOUT: Self::Error;
    /// No buffers.
    const NO_BUFFERS: Self::Error;

    /// Whether a packet has to be looked at with [`Reassemble::fragment`].
    fn concerns(p: &Buffer<'_>) -> bool;
    /// What a fragment is.
    fn fragment(p: &Buffer<'_>) -> Fragment<Self>;
    /// Makes the only fragment of a packet ([`Fragment::Only`]) the packet.
    fn unwrap(p: &mut Buffer<'_>);
    /// Puts the header of the whole packet, which has `len` bytes behind it, into `whole`; `first`
    /// is what is in front of the data of its first fragment. `None` when it becomes too long.
    fn header(first: &[u8], len: usize, whole: &mut Vec<u8>) -> Option<()>;
}

/// Names of the nodes and processes of one version.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Puts together what an interface receives.
    pub full: &'static str,
    /// Puts together what is for this router.
    pub local: &'static str,
    /// Holds fragments back until the first has come.
    pub shallow: &'static str,
    /// The process that gives up what is too old, of the first two and of the last.
    pub walks: [&'static str; 2],
}

/// A packet as reassembly sees it.
pub enum Fragment<V: Reassemble> {
    /// A fragment.
    Piece {
        /// What it has in common with the others.
        key: V::Key,
        /// Where its data belongs in the whole, in bytes.
        from: u32,
        /// Where its data ends in the whole.
        to: u32,
        /// Where its data is in the packet.
        start: u32,
        /// Whether nothing follows it.
        is_last: bool,
    },
    /// The only fragment of its packet.
    Only,
    /// It is dropped for this reason.
    Bad(V::Error),
    /// And its sender is told.
    Told(V::Error, Problem),
}
