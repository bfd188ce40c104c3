//! The segment routing header of IPv6 (RFC 8754 section 2).

use std::net::Ipv6Addr;

use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Protocol;
use crate::ip6::{self, extensions};

/// The type of routing header that it is.
pub const KIND: u8 = 4;
/// Bytes of a segment.
pub const SEGMENT: usize = 16;

/// The header without its segments.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// Protocol behind it.
    pub next_header: Protocol,
    /// Its length in units of 8 bytes, without the first.
    pub len: u8,
    /// Type of routing header.
    pub kind: u8,
    /// Number of segments still to be visited.
    pub segments_left: u8,
    /// Place of the last segment of the list.
    pub last_entry: u8,
    /// Flags.
    pub flags: u8,
    /// Tag that packets of a group have in common.
    pub tag: U16,
}

/// Place of the header in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its start, in bytes from the IPv6 header.
    pub offset: usize,
    /// Its length in bytes.
    pub len: usize,
    /// Place of the byte that announces it.
    pub announced_at: usize,
    /// Number of segments still to be visited.
    pub segments_left: u8,
    /// Protocol behind it.
    pub next_header: Protocol,
}

impl Place {
    /// Place of a segment, counted from the last of the path; `None` beyond the first.
    pub fn segment(&self, number: u8) -> Option<usize> {
        let at = size_of::<Header>() + SEGMENT * usize::from(number);
        (at + SEGMENT <= self.len).then_some(self.offset + at)
    }
    /// Place of the number of segments still to be visited.
    pub fn left_at(&self) -> usize {
        self.offset + std::mem::offset_of!(Header, segments_left)
    }
}

/// The first header of a packet that starts with its IPv6 header, if its payload has it whole.
pub fn find(packet: &[u8]) -> Option<Place> {
    let (ip, _) = ip6::Header::ref_from_prefix(packet).ok()?;
    let end = size_of::<ip6::Header>() + usize::from(ip.payload_len.get());
    let packet = packet.get(..end.min(packet.len()))?;
    let read = |e: ip6::Extension| {
        let (header, _) = Header::read_from_prefix(packet.get(e.offset..e.offset + e.len)?).ok()?;
        (header.kind == KIND).then_some(Place {
            offset: e.offset,
            len: e.len,
            announced_at: e.announced_at,
            segments_left: header.segments_left,
            next_header: header.next_header,
        })
    };
    extensions(packet).filter(|e| e.protocol == Protocol::ROUTING).find_map(read)
}

/// A header with these segments, first to last of the path, the first of which is being visited.
pub fn build(next_header: Protocol, path: &[Ipv6Addr]) -> Vec<u8> {
    let last = path.len().saturating_sub(1) as u8;
    let header = Header {
        next_header,
        len: (path.len() * SEGMENT / 8) as u8,
        kind: KIND,
        segments_left: last,
        last_entry: last,
        flags: 0,
        tag: 0.into(),
    };
    let segments = path.iter().rev().flat_map(Ipv6Addr::octets);
    header.as_bytes().iter().copied().chain(segments).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(payload: usize) -> Vec<u8> {
        let path: Vec<Ipv6Addr> = ["a::1", "b::2"].iter().map(|a| a.parse().unwrap()).collect();
        let srh = build(Protocol::IP6, &path);
        let ip = ip6::Header::new(path[0], path[0], Protocol::ROUTING, payload as u16);
        [ip.as_bytes(), &srh, &[0; 8]].concat()
    }

    #[test]
    fn segments_are_found_from_the_last() {
        let packet = packet(48);
        let place = find(&packet).unwrap();
        assert_eq!((place.offset, place.len, place.segments_left), (40, 40, 1));
        let at = |n| place.segment(n).map(|at| packet[at..at + 2].to_vec());
        assert_eq!((at(0), at(1), at(2)), (Some(vec![0, 0xb]), Some(vec![0, 0xa]), None));
        assert_eq!(packet[place.left_at()], 1);
        assert_eq!(place.next_header, Protocol::IP6);
    }

    #[test]
    fn a_header_beyond_the_payload_is_none() {
        assert!(find(&packet(39)).is_none());
        assert!(find(&packet(48)[..79]).is_none());
        let mut other = packet(48);
        other[42] = 3;
        assert!(find(&other).is_none());
    }
}
