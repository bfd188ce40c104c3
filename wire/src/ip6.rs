//! IPv6 header (RFC 8200 section 3), extension headers (section 4) and addresses (RFC 4291).

use std::net::Ipv6Addr;

use zerocopy::byteorder::network_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::ip::{Dscp, Ecn, Protocol};

/// The 40-byte header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    /// Version (4 bits), traffic class (8 bits), flow label (20 bits).
    pub version_class_flow: U32,
    /// Length in bytes of what follows this header.
    pub payload_len: U16,
    /// Type of the next header.
    pub next_header: Protocol,
    /// Hops left.
    pub hop_limit: u8,
    /// Source address.
    pub src: [u8; 16],
    /// Destination address.
    pub dst: [u8; 16],
}

/// Hop limit of packets made here.
pub const DEFAULT_HOP_LIMIT: u8 = 64;

impl Header {
    /// A header with [`DEFAULT_HOP_LIMIT`], traffic class and flow label zero; `payload_len` in
    /// bytes without this header.
    pub fn new(src: Ipv6Addr, dst: Ipv6Addr, next_header: Protocol, payload_len: u16) -> Self {
        Self {
            version_class_flow: U32::new(6 << 28),
            payload_len: payload_len.into(),
            next_header,
            hop_limit: DEFAULT_HOP_LIMIT,
            src: src.octets(),
            dst: dst.octets(),
        }
    }

    /// IP version: 6 unless malformed.
    #[inline]
    pub fn version(&self) -> u8 {
        (self.version_class_flow.get() >> 28) as u8
    }

    /// DSCP (6 bits) and ECN (2 bits).
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        (self.version_class_flow.get() >> 20) as u8
    }

    /// Sets DSCP and ECN.
    #[inline]
    pub fn set_traffic_class(&mut self, class: u8) {
        let rest = self.version_class_flow.get() & !(0xff << 20);
        self.version_class_flow = (rest | u32::from(class) << 20).into();
    }

    /// Differentiated services code point.
    #[inline]
    pub fn dscp(&self) -> Dscp {
        Dscp::of_traffic_class(self.traffic_class())
    }

    /// Explicit congestion notification.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::of_traffic_class(self.traffic_class())
    }

    /// Flow label, 20 bits (RFC 6437).
    #[inline]
    pub fn flow_label(&self) -> u32 {
        self.version_class_flow.get() & 0xf_ffff
    }

    /// Sets the flow label; its upper 12 bits are ignored.
    #[inline]
    pub fn set_flow_label(&mut self, label: u32) {
        let rest = self.version_class_flow.get() & !0xf_ffff;
        self.version_class_flow = (rest | label & 0xf_ffff).into();
    }

    /// Source address.
    #[inline]
    pub fn src_addr(&self) -> Ipv6Addr {
        self.src.into()
    }

    /// Destination address.
    #[inline]
    pub fn dst_addr(&self) -> Ipv6Addr {
        self.dst.into()
    }
}

/// The fragment header (RFC 8200 section 4.5): 8 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct FragmentHeader {
    /// Type of the next header in the whole packet.
    pub next_header: Protocol,
    /// Zero.
    pub reserved: u8,
    /// Offset in units of 8 bytes (13 bits), reserved (2 bits), more fragments (1 bit).
    pub offset_more: U16,
    /// Identification, the same in all fragments of a packet.
    pub id: U32,
}

impl FragmentHeader {
    /// Offset of the payload in the fragmentable part, in bytes.
    #[inline]
    pub fn offset(&self) -> usize {
        usize::from(self.offset_more.get() & 0xfff8)
    }

    /// Whether this is not the last fragment.
    #[inline]
    pub fn more_fragments(&self) -> bool {
        self.offset_more.get() & 1 != 0
    }
}

/// The end of the extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpperLayer {
    /// The part after them.
    pub protocol: Protocol,
    /// Bytes from the start of the IPv6 header.
    pub offset: usize,
    /// The fragment header passed on the way. When its offset is not zero, the bytes at `offset`
    /// are the middle of the upper layer's data.
    pub fragment: Option<FragmentHeader>,
}

/// More extension headers than any sender has use for (RFC 8200 section 4.1 names seven).
pub const MAX_EXTENSIONS: usize = 8;

/// The length of all IPv6 extension headers but authentication and fragment is counted so.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct ExtensionStart {
    next_header: Protocol,
    len: u8,
}

impl ExtensionStart {
    #[inline]
    fn len_of(&self, protocol: Protocol) -> usize {
        match protocol {
            Protocol::AH => (usize::from(self.len) + 2) * 4,
            Protocol::FRAGMENT => size_of::<FragmentHeader>(),
            _ => (usize::from(self.len) + 1) * 8,
        }
    }
}

/// One extension header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Protocol of the header.
    pub protocol: Protocol,
    /// Place of the byte that announces it, in bytes from the start of the IPv6 header.
    pub announced_at: usize,
    /// Its start, in bytes from the start of the IPv6 header.
    pub offset: usize,
    /// Its length in bytes.
    pub len: usize,
}

/// Place of the IPv6 header's byte that announces the next one, in bytes.
pub const NEXT_HEADER: usize = 6;

/// The extension headers of a packet that starts with its IPv6 header, as far as the bytes have
/// them whole and up to [`MAX_EXTENSIONS`]; nothing after the header of a later fragment.
pub fn extensions(packet: &[u8]) -> impl Iterator<Item = Extension> + '_ {
    let mut next = packet.get(NEXT_HEADER).map(|kind| (Protocol(*kind), NEXT_HEADER, 40));
    let step = move || {
        let (protocol, announced_at, offset) = next.take().filter(|n| is_extension(n.0))?;
        let bytes = packet.get(offset..)?;
        let (first, _) = ExtensionStart::ref_from_prefix(bytes).ok()?;
        let len = first.len_of(protocol);
        let found = bytes.get(..len)?;
        let is_later = protocol == Protocol::FRAGMENT
            && FragmentHeader::ref_from_prefix(found).is_ok_and(|(f, _)| f.offset() != 0);
        if !is_later {
            next = Some((first.next_header, offset, offset + len));
        }
        Some(Extension { protocol, announced_at, offset, len })
    };
    std::iter::from_fn(step).take(MAX_EXTENSIONS)
}

/// Place of a fragment header in a packet that is cut (RFC 8200 section 4.5): after the headers
/// that every router on the way may look at. First the place of the byte that announces the header
/// now there.
pub fn fragment_place(packet: &[u8]) -> (usize, usize) {
    let seen_on_the_way = [Protocol::HOP_BY_HOP, Protocol::ROUTING];
    let last = extensions(packet).filter(|e| seen_on_the_way.contains(&e.protocol)).last();
    last.map_or((NEXT_HEADER, size_of::<Header>()), |e| (e.offset, e.offset + e.len))
}

/// Walks the extension headers of a packet that starts with its IPv6 header.
///
/// `None` when the packet ends within them or has more than [`MAX_EXTENSIONS`]. ESP and "no next
/// header" are upper layers here.
#[inline]
pub fn upper_layer(packet: &[u8]) -> Option<UpperLayer> {
    let (header, _) = Header::ref_from_prefix(packet).ok()?;
    let first =
        UpperLayer { protocol: header.next_header, offset: size_of::<Header>(), fragment: None };
    if is_extension(first.protocol) { walk_extensions(packet, first) } else { Some(first) }
}

fn walk_extensions(packet: &[u8], mut at: UpperLayer) -> Option<UpperLayer> {
    for _ in 0..MAX_EXTENSIONS {
        let bytes = packet.get(at.offset..)?;
        let (extension, _) = ExtensionStart::ref_from_prefix(bytes).ok()?;
        if at.protocol == Protocol::FRAGMENT {
            at.fragment = Some(FragmentHeader::read_from_prefix(bytes).ok()?.0);
        }
        let len = extension.len_of(at.protocol);
        at.protocol = extension.next_header;
        at.offset += len;
        let is_later_fragment = at.fragment.is_some_and(|f| f.offset() != 0);
        if is_later_fragment || !is_extension(at.protocol) {
            return (at.offset <= packet.len()).then_some(at);
        }
    }
    None
}

#[inline]
fn is_extension(protocol: Protocol) -> bool {
    matches!(
        protocol,
        Protocol::HOP_BY_HOP
            | Protocol::ROUTING
            | Protocol::FRAGMENT
            | Protocol::AH
            | Protocol::DESTINATION_OPTIONS
            | Protocol::MOBILITY
            | Protocol::HIP
            | Protocol::SHIM6
    )
}

/// Scope of a multicast address (RFC 7346): 1 interface, 2 link, 5 site, 8 organisation, 14
/// global. `None` for other addresses.
pub fn multicast_scope(addr: Ipv6Addr) -> Option<u8> {
    addr.is_multicast().then(|| addr.octets()[1] & 0xf)
}

/// The group in which a node is asked for `addr` (RFC 4291 section 2.7.1).
pub fn solicited_node(addr: Ipv6Addr) -> Ipv6Addr {
    const PREFIX: u128 = 0xff02_0000_0000_0000_0000_0001_ff00_0000;
    Ipv6Addr::from_bits(PREFIX | addr.to_bits() & 0xff_ffff)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packet(next: u8, rest: &[u8]) -> Vec<u8> {
        let len = rest.len() as u16;
        let header = Header::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, Protocol(next), len);
        [header.as_bytes(), rest].concat()
    }

    #[test]
    fn first_word_splits() {
        let mut header = Header::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, Protocol::TCP, 20);
        header.set_traffic_class(0xb9);
        header.set_flow_label(0xfff_abcde);
        assert_eq!(header.as_bytes()[..4], [0x6b, 0x9a, 0xbc, 0xde]);
        assert_eq!((header.version(), header.traffic_class()), (6, 0xb9));
        assert_eq!(header.flow_label(), 0xabcde);
        assert_eq!((header.dscp(), header.ecn()), (Dscp::EF, Ecn::Capable1));
        header.set_flow_label(0);
        assert_eq!((header.traffic_class(), header.flow_label()), (0xb9, 0));
    }

    #[test]
    fn extension_headers_are_walked() {
        let mut rest = vec![60, 0, 1, 4, 0, 0, 0, 0]; // hop-by-hop, 8 bytes
        rest.extend([51, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // destination, 16 bytes
        rest.extend([44, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]); // authentication, 12 bytes
        rest.extend([17, 0, 0, 1, 0, 0, 0, 9]); // first fragment, 8 bytes
        let found = upper_layer(&packet(0, &rest)).unwrap();
        assert_eq!((found.protocol, found.offset), (Protocol::UDP, 40 + rest.len()));
        let fragment = found.fragment.unwrap();
        assert_eq!((fragment.offset(), fragment.more_fragments(), fragment.id.get()), (0, true, 9));
    }

    #[test]
    fn walk_stops_at_a_later_fragment() {
        let rest = [60, 0, 0x05, 0xc8, 0, 0, 0, 9, 1, 2, 3];
        let found = upper_layer(&packet(44, &rest)).unwrap();
        assert_eq!((found.protocol, found.offset), (Protocol::DESTINATION_OPTIONS, 48));
        assert_eq!(found.fragment.unwrap().offset(), 1480);
    }

    #[test]
    fn truncated_and_endless_chains_have_no_upper_layer() {
        let option = [0, 0, 1, 4, 0, 0, 0, 0];
        assert_eq!(upper_layer(&packet(0, &[17])), None);
        assert_eq!(upper_layer(&packet(0, &[17, 1, 0, 0, 0, 0, 0, 0])), None);
        assert_eq!(upper_layer(&packet(0, &option.repeat(20))), None);
        assert_eq!(upper_layer(&[0x60; 39]), None);
        let none = upper_layer(&packet(59, &[])).unwrap();
        assert_eq!((none.protocol, none.offset), (Protocol::NO_NEXT_HEADER, 40));
    }

    #[test]
    fn groups_and_scopes() {
        // RFC 4291 section 2.7.1
        let addr: Ipv6Addr = "4037::1:800:200e:8c6c".parse().unwrap();
        let group: Ipv6Addr = "ff02::1:ff0e:8c6c".parse().unwrap();
        assert_eq!(solicited_node(addr), group);
        assert_eq!((multicast_scope(group), multicast_scope(addr)), (Some(2), None));
    }

    fn likely_byte() -> impl Strategy<Value = u8> {
        prop_oneof![prop::sample::select(vec![0u8, 1, 43, 44, 51, 60]), any::<u8>()]
    }

    proptest! {
        #[test]
        fn upper_layer_is_inside_the_packet(
            next in prop::sample::select(vec![0u8, 43, 44, 51, 60, 135]),
            rest in prop::collection::vec(likely_byte(), 0..200),
        ) {
            let packet = packet(next, &rest);
            if let Some(found) = upper_layer(&packet) {
                prop_assert!(found.offset >= 48 && found.offset <= packet.len());
            }
        }
    }
}
