//! Fragments of IPv4 (RFC 791 section 3.2, RFC 1858, RFC 3128).
#![forbid(unsafe_code)]

use graph::Buffer;
use wire::Protocol;
use wire::ip4::Header;
use zerocopy::{FromBytes, IntoBytes};

use super::version::{Fragment, Names, Reassemble};
use crate::icmp::Problem;
use crate::ip::V4;
use crate::ip4::Error;

/// Longest packet in bytes.
const LONGEST: usize = 65535;

/// What the fragments of one packet have in common, and its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key4 {
    /// Index of the table it is looked up in.
    pub fib: u16,
    /// Identification.
    pub id: u16,
    /// Source address.
    pub src: [u8; 4],
    /// Destination address.
    pub dst: [u8; 4],
    /// Protocol.
    pub protocol: Protocol,
}

impl Reassemble for V4 {
    type Key = Key4;
    const FAMILY: usize = 0;
    const REASSEMBLY: Names = Names {
        full: "ip4-full-reassembly-feature",
        local: "ip4-local-full-reassembly",
        shallow: "ip4-sv-reassembly-feature",
        walks: ["ip4-full-reassembly-expire-walk", "ip4-sv-reassembly-expire-walk"],
    };
    const MAY_OVERLAP: bool = true;
    const TIMEOUT_PROBLEM: Option<Problem> = None;
    const DUPLICATE: Error = Error::ReassDuplicateFragment;
    const OVERLAPPING: Error = Error::ReassDuplicateFragment;
    const INCONSISTENT: Error = Error::ReassMalformedPacket;
    const TOO_MANY: Error = Error::ReassFragmentChainTooLong;
    const LIMIT: Error = Error::ReassLimitReached;
    const TIMEOUT: Error = Error::ReassTimeout;
    const NO_BUFFERS: Error = Error::ReassNoBuf;

    #[inline(always)]
    fn concerns(p: &Buffer<'_>) -> bool {
        p.header::<Header>().is_some_and(Header::is_fragment)
    }
    fn fragment(p: &Buffer<'_>) -> Fragment<V4> {
        let bad = Fragment::Bad(Error::ReassMalformedPacket);
        let Some(header) = p.header::<Header>() else { return bad };
        let (start, total) = (header.header_len(), usize::from(header.total_len.get()));
        let Some(len) = total.checked_sub(start).filter(|len| *len > 0) else { return bad };
        let (from, is_last) = (header.fragment_offset(), !header.more_fragments());
        let is_cut_right = is_last || len % 8 == 0;
        if !is_cut_right || start > p.len() || start + from + len > LONGEST {
            return bad;
        }
        let key = Key4 {
            fib: p.fib(),
            id: header.id.get(),
            src: header.src,
            dst: header.dst,
            protocol: header.protocol,
        };
        let to = (from + len) as u32;
        Fragment::Piece { key, from: from as u32, to, start: start as u32, is_last }
    }
    fn unwrap(_: &mut Buffer<'_>) {
        // A packet of one fragment is not marked as one.
    }
    fn header(first: &[u8], len: usize, whole: &mut Vec<u8>) -> Option<()> {
        let (plain, options) = first.split_at_checked(size_of::<Header>())?;
        let mut header = Header::read_from_bytes(plain).ok()?;
        header.total_len = u16::try_from(first.len() + len).ok()?.into();
        header.fragment = 0.into();
        header.update_checksum_with(options);
        whole.extend_from_slice(header.as_bytes());
        whole.extend_from_slice(options);
        Some(())
    }
}
