//! Fragments of IPv4 (RFC 791 section 3.2, RFC 1858, RFC 3128).
#![forbid(unsafe_code)]

use std::fmt;
use std::net::Ipv4Addr;

use graph::{Buffer, Ports};
use wire::Protocol;
use wire::ip4::Header;
use zerocopy::{FromBytes, IntoBytes};

use super::Kind;
use super::place::PLACES;
use super::version::{Fragment, Reassemble, l4_ports};
use crate::drops::Problem;
use crate::ip::V4;
use crate::ip4::Error;

/// Longest packet in bytes.
const LONGEST: usize = 65535;

/// The key that the fragments of one packet share, and its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key4 {
    /// The table it is looked up in, or its transmit interface.
    pub(super) scope: u32,
    /// Identification.
    pub(super) id: u16,
    /// Source address.
    pub(super) src: [u8; 4],
    /// Destination address.
    pub(super) dst: [u8; 4],
    /// Protocol.
    pub(super) protocol: Protocol,
}

impl fmt::Display for Key4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (src, dst) = (Ipv4Addr::from(self.src), Ipv4Addr::from(self.dst));
        write!(f, "{src} -> {dst}, protocol {}, id {}", self.protocol, self.id)
    }
}

impl Reassemble for V4 {
    type Key = Key4;
    const MAY_OVERLAP: bool = true;
    const TIMEOUT_PROBLEM: Option<Problem> = None;
    const DUPLICATE: Error = Error::ReassDuplicateFragment;
    const OVERLAPPING: Error = Error::ReassDuplicateFragment;
    const INCONSISTENT: Error = Error::ReassMalformedPacket;
    const TOO_MANY: Error = Error::ReassFragmentChainTooLong;
    const LIMIT: Error = Error::ReassLimitReached;
    const TIMEOUT: Error = Error::ReassTimeout;
    const NO_BUFFERS: Error = Error::ReassNoBuf;
    const UNSUPPORTED: Error = Error::ReassUnsuppIpProt;
    const SUCCESS: Error = Error::ReassSuccess;
    const REASSEMBLED: Error = Error::ReassFragmentsReassembled;
    const RECEIVED: Error = Error::ReassFragmentsRcvd;

    #[inline(always)]
    fn concerns(packet: &[u8], _: usize) -> bool {
        Header::ref_from_prefix(packet).is_ok_and(|(header, _)| header.is_fragment())
    }
    fn fragment(packet: &[u8], there: usize, scope: u32, place: usize) -> Fragment<V4> {
        let bad = Fragment::Bad(Error::ReassMalformedPacket);
        let Ok((header, _)) = Header::ref_from_prefix(packet) else { return bad };
        let (start, total) = (header.header_len(), usize::from(header.total_len.get()));
        let Some(len) = total.checked_sub(start).filter(|len| *len > 0) else { return bad };
        let (from, is_last) = (header.fragment_offset(), !header.more_fragments());
        let is_cut_right = PLACES[place].kind == Kind::Shallow || is_last || len % 8 == 0;
        if !is_cut_right || start > packet.len() || total > there || start + from + len > LONGEST {
            return bad;
        }
        let key = Key4 {
            scope,
            id: header.id.get(),
            src: header.src,
            dst: header.dst,
            protocol: header.protocol,
        };
        let to = (from + len) as u32;
        Fragment::Piece { key, from: from as u32, to, start: start as u32, is_last }
    }
    fn ports(packet: &[u8]) -> Result<Option<Ports>, Error> {
        let Ok((header, _)) = Header::ref_from_prefix(packet) else { return Ok(None) };
        if !matches!(header.protocol, Protocol::TCP | Protocol::UDP | Protocol::ICMP) {
            return Err(Self::UNSUPPORTED);
        }
        let l4 = packet.get(header.header_len()..);
        Ok(l4.and_then(|l4| l4_ports(header.protocol, l4)))
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
