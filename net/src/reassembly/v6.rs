//! Fragments of IPv6 (RFC 8200 section 4.5, RFC 5722, RFC 6946, RFC 7112).
#![forbid(unsafe_code)]

use std::fmt;
use std::net::Ipv6Addr;

use graph::{Buffer, Ports};
use wire::ip6::{self, Extension, FragmentHeader, Header};
use wire::{Protocol, icmp6};
use zerocopy::FromBytes;

use super::Kind;
use super::place::{CUSTOM, PLACES};
use super::v4::Key4;
use super::version::{Fragment, Reassemble, l4_ports};
use crate::drops::Problem;
use crate::ip::{V4, V6};
use crate::ip6::Error;

/// Most bytes after the IPv6 header.
const LONGEST: usize = 65535;
/// Place of the payload length in the IPv6 header.
const PAYLOAD_LEN: u32 = 4;
/// Place of the offset in a fragment header.
const OFFSET: u32 = 2;

/// The key that the fragments of one packet share, and its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key6 {
    /// The table it is looked up in, or its transmit interface.
    pub(super) scope: u32,
    /// Identification.
    pub(super) id: Id,
    /// Source address.
    pub(super) src: [u8; 16],
    /// Destination address.
    pub(super) dst: [u8; 16],
}

/// Fields that tell a packet from others between the same ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Id {
    /// Identification of a packet of IPv6.
    Own(u32),
    /// That of a packet of IPv4 inside.
    Inside(Key4),
}

impl fmt::Display for Key6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (src, dst) = (Ipv6Addr::from(self.src), Ipv6Addr::from(self.dst));
        match self.id {
            Id::Own(id) => write!(f, "{src} -> {dst}, id {id}"),
            Id::Inside(inner) => write!(f, "{src} -> {dst}, inside {inner}"),
        }
    }
}

impl Reassemble for V6 {
    type Key = Key6;
    const MAY_OVERLAP: bool = false;
    const TIMEOUT_PROBLEM: Option<Problem> =
        Some(Problem::ip6(icmp6::Type::TIME_EXCEEDED, icmp6::code::REASSEMBLY_TIME_EXCEEDED, 0));
    const DUPLICATE: Error = Error::ReassDuplicateFragment;
    const OVERLAPPING: Error = Error::ReassOverlappingFragment;
    const INCONSISTENT: Error = Error::ReassInvalidFragLen;
    const TOO_MANY: Error = Error::ReassFragmentChainTooLong;
    const LIMIT: Error = Error::ReassLimitReached;
    const TIMEOUT: Error = Error::ReassTimeout;
    const NO_BUFFERS: Error = Error::ReassNoBuf;
    const UNSUPPORTED: Error = Error::ReassUnsuppIpProto;
    const SUCCESS: Error = Error::ReassSuccess;
    const REASSEMBLED: Error = Error::ReassFragmentsReassembled;
    const RECEIVED: Error = Error::ReassFragmentsRcvd;

    #[inline(always)]
    fn concerns(packet: &[u8], place: usize) -> bool {
        // Extension headers that do not end in the first segment are refused as fragments are.
        ip6::upper_layer(packet).is_none_or(|upper| upper.fragment.is_some())
            || place == CUSTOM && inside(packet).is_some()
    }
    fn fragment(packet: &[u8], there: usize, scope: u32, at_place: usize) -> Fragment<V6> {
        if at_place == CUSTOM
            && let Some(offset) = inside(packet)
        {
            return fragment_inside(packet, offset, there, scope);
        }
        let wrong = |pointer| {
            let code = icmp6::code::ERRONEOUS_HEADER;
            Problem::ip6(icmp6::Type::PARAMETER_PROBLEM, code, pointer)
        };
        let header = Header::ref_from_prefix(packet).ok();
        let Some(((header, _), (at, fragment))) = header.zip(place(packet)) else {
            // Headers that end in a later segment are not their sender's fault.
            let reason = Error::ReassNoFragHdr;
            if packet.len() < there {
                return Fragment::Bad(reason);
            }
            return Fragment::Told(reason, wrong(chain_end(packet)));
        };
        let start = at.offset + at.len;
        let total = size_of::<Header>() + usize::from(header.payload_len.get());
        let Some(len) = total.checked_sub(start) else {
            return Fragment::Bad(Error::ReassInvalidFragLen);
        };
        let (from, is_last) = (fragment.offset(), !fragment.more_fragments());
        if len == 0 && (from > 0 || !is_last) {
            return Fragment::Bad(Error::ReassInvalidFragLen);
        }
        if from == 0 && !has_upper_layer(packet) {
            let code = icmp6::code::INCOMPLETE_HEADER_CHAIN;
            let problem = Problem::ip6(icmp6::Type::PARAMETER_PROBLEM, code, 0);
            return Fragment::Told(Error::ReassMissingUpper, problem);
        }
        if from == 0 && is_last && total <= there {
            return Fragment::Only;
        }
        // Bytes that the header does not tell of are as wrong as too few that it does.
        let is_cut_right = is_last || (len % 8, there.saturating_sub(start) % 8) == (0, 0);
        if PLACES[at_place].kind == Kind::Full && !is_cut_right {
            return Fragment::Told(Error::ReassInvalidFragLen, wrong(PAYLOAD_LEN));
        }
        let before = at.offset - size_of::<Header>();
        if before + from + len > LONGEST {
            let pointer = at.offset as u32 + OFFSET;
            return Fragment::Told(Error::ReassInvalidFragSize, wrong(pointer));
        }
        if total > there {
            return Fragment::Bad(Error::ReassInvalidFragLen);
        }
        let key = Key6 { scope, id: Id::Own(fragment.id.get()), src: header.src, dst: header.dst };
        let to = (from + len) as u32;
        Fragment::Piece { key, from: from as u32, to, start: start as u32, is_last }
    }
    fn ports(packet: &[u8]) -> Result<Option<Ports>, Error> {
        let Some(upper) = ip6::upper_layer(packet) else { return Ok(None) };
        if !matches!(upper.protocol, Protocol::TCP | Protocol::UDP | Protocol::ICMP6) {
            return Err(Self::UNSUPPORTED);
        }
        Ok(packet.get(upper.offset..).and_then(|l4| l4_ports(upper.protocol, l4)))
    }
    fn unwrap(p: &mut Buffer<'_>) {
        let Some((at, fragment)) = place(p.bytes()) else { return };
        let bytes = p.bytes_mut();
        bytes[at.announced_at] = fragment.next_header.0;
        bytes.copy_within(..at.offset, at.len);
        p.advance(at.len).expect("the fragment header is in the first segment");
        if let Some(header) = p.header_mut::<Header>() {
            header.payload_len = (header.payload_len.get() - at.len as u16).into();
        }
    }
    fn header(first: &[u8], len: usize, whole: &mut Vec<u8>) -> Option<()> {
        if let Some(offset) = inside(first) {
            let (outer, inner) = first.split_at_checked(offset)?;
            whole.extend_from_slice(outer);
            V4::header(inner, len, whole)?;
            let payload_len = whole.len() - size_of::<Header>() + len;
            let (header, _) = Header::mut_from_prefix(whole).ok()?;
            header.payload_len = u16::try_from(payload_len).ok()?.into();
            return Some(());
        }
        let (at, fragment) = place(first)?;
        let payload_len = at.offset - size_of::<Header>() + len;
        whole.extend_from_slice(&first[..at.offset]);
        *whole.get_mut(at.announced_at)? = fragment.next_header.0;
        let (header, _) = Header::mut_from_prefix(whole).ok()?;
        header.payload_len = u16::try_from(payload_len).ok()?.into();
        Some(())
    }
}

/// Place of the packet of IPv4 inside of one of IPv6 that is whole, if it is a fragment.
fn inside(packet: &[u8]) -> Option<usize> {
    let upper = ip6::upper_layer(packet)?;
    let is_whole = upper.protocol == Protocol::IP4 && upper.fragment.is_none();
    let inner = packet.get(upper.offset..).filter(|_| is_whole)?;
    V4::concerns(inner, CUSTOM).then_some(upper.offset)
}

/// A fragment of IPv4 inside, so many bytes from the start.
fn fragment_inside(packet: &[u8], offset: usize, there: usize, scope: u32) -> Fragment<V6> {
    let bad = Fragment::Bad(Error::ReassInvalidFragLen);
    let Ok((header, inner)) = Header::ref_from_prefix(packet) else { return bad };
    let inner = inner.get(offset - size_of::<Header>()..).unwrap_or(&[]);
    match V4::fragment(inner, there.saturating_sub(offset), scope, CUSTOM) {
        Fragment::Piece { key, from, to, start, is_last } => {
            let key = Key6 { scope, id: Id::Inside(key), src: header.src, dst: header.dst };
            Fragment::Piece { key, from, to, start: start + offset as u32, is_last }
        }
        _ => bad,
    }
}

/// The fragment header of a packet, and where it is.
fn place(packet: &[u8]) -> Option<(Extension, FragmentHeader)> {
    let at = ip6::extensions(packet).find(|e| e.protocol == Protocol::FRAGMENT)?;
    let (fragment, _) = FragmentHeader::read_from_prefix(packet.get(at.offset..)?).ok()?;
    Some((at, fragment))
}

/// Start of the first extension header that is cut off, in bytes.
fn chain_end(packet: &[u8]) -> u32 {
    ip6::extensions(packet).last().map_or(size_of::<Header>(), |e| e.offset + e.len) as u32
}

/// Whether the upper layer's header begins within a packet (RFC 7112 section 5).
fn has_upper_layer(packet: &[u8]) -> bool {
    ip6::upper_layer(packet).is_some_and(|upper| {
        upper.offset < packet.len() || upper.protocol == Protocol::NO_NEXT_HEADER
    })
}
