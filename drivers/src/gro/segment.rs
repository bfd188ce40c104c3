//! The fields of a packet that decide whether it is joined to others.

use graph::{Buffer, Flags};
use wire::flow::{Key4, Key6, ip4_flow_key, ip6_flow_key};
use wire::upper::{Upper, ip_offset};
use wire::zerocopy::FromBytes;
use wire::{Protocol, checksum, ip4, ip6, tcp};

use net::gso::bytes_from;

/// One direction of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    V4(Key4),
    /// Whatever the flow label.
    V6(Key6),
}

/// Kind of a packet.
pub(super) enum Look {
    /// Of no TCP connection.
    Other,
    /// A fragment, of whichever connection.
    Piece,
    /// Of this connection, and nothing to be joined.
    Bare(Key),
    /// Of this connection, with data.
    Data(Key, Segment),
}

/// A segment that could be joined to others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// Place of the IP header, in bytes from the start of the packet.
    pub l3: usize,
    /// Place of the TCP header.
    pub l4: usize,
    /// Start of the data.
    pub data: usize,
    /// End of the IP packet.
    pub end: usize,
    /// The TCP header.
    pub tcp: tcp::Header,
}

/// Kind of a packet; `is_ethernet` says whether it begins with an Ethernet header.
pub(super) fn look(p: &Buffer<'_>, is_ethernet: bool) -> Look {
    found(p, is_ethernet).unwrap_or(Look::Other)
}

fn found(p: &Buffer<'_>, is_ethernet: bool) -> Option<Look> {
    let l3 = if is_ethernet { ip_offset(p.bytes())? } else { 0 };
    let packet = p.bytes().get(l3..)?;
    let upper = Upper::of(packet).filter(|u| u.protocol == Protocol::TCP)?;
    if upper.is_fragment {
        return Some(Look::Piece);
    }
    let (key, ip_len) = if packet[0] >> 4 == 4 {
        (Key::V4(ip4_flow_key(packet)?), size_of::<ip4::Header>())
    } else {
        (Key::V6(Key6 { label: 0, ..ip6_flow_key(packet)? }), size_of::<ip6::Header>())
    };
    let (tcp, _) = tcp::Header::read_from_prefix(packet.get(upper.offset..)?).ok()?;
    let l4 = l3 + upper.offset;
    let segment = Segment { l3, l4, data: l4 + tcp.header_len(), end: l3 + upper.end, tcp };
    let is_there = segment.data <= p.len() && segment.end <= p.total_len();
    let is_one = upper.offset == ip_len && !p.flags().has(Flags::GSO);
    Some(if is_there && is_one && segment.is_plain() {
        Look::Data(key, segment)
    } else {
        Look::Bare(key)
    })
}

impl Segment {
    /// Whether it has data, and nothing unusual in its TCP header.
    fn is_plain(&self) -> bool {
        let usual = tcp::Flags::ACK | tcp::Flags::PSH | tcp::Flags::FIN;
        self.tcp.flags.contains(tcp::Flags::ACK)
            && usual.contains(self.tcp.flags)
            && self.tcp.data_offset & 0xf == 0
            && self.data >= self.l4 + size_of::<tcp::Header>()
            && self.end > self.data
    }
    /// Bytes of data.
    pub fn len(&self) -> usize {
        self.end - self.data
    }
    /// The number of the first byte after it.
    pub fn next_seq(&self) -> u32 {
        self.tcp.seq.get().wrapping_add(self.len() as u32)
    }
    /// Whether nothing is to be joined after it.
    pub fn is_last(&self) -> bool {
        self.tcp.flags.0 & (tcp::Flags::PSH | tcp::Flags::FIN).0 != 0
    }
    /// Whether its checksums are right, or its TCP checksum is still to be computed. It has no
    /// bytes after its end.
    pub fn is_right(&self, p: &Buffer<'_>) -> bool {
        let Some(packet) = p.bytes().get(self.l3..) else { return false };
        let is_header_right = packet[0] >> 4 == 6
            || ip4::Header::ref_from_prefix(packet).is_ok_and(|(h, _)| h.is_checksum_valid());
        if p.flags().has(Flags::CHECKSUM_TODO.with(Flags::CHECKSUM_OK)) {
            return is_header_right;
        }
        let pseudo = Upper::of(packet).and_then(|u| u.pseudo(packet, self.end - self.l4));
        let is_valid = |sum| checksum::upper_layer(sum, bytes_from(p, self.l4)).is_valid();
        is_header_right && pseudo.is_some_and(is_valid)
    }
}
