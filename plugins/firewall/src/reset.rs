//! TCP resets in the name of hosts that packets do not get to (RFC 9293 section 3.10.7.1).

use net::prelude::*;
use wire::checksum;
use wire::tcp::{Flags, Header};

/// Bytes of the longest reset.
const MOST: usize = size_of::<ip6::Header>() + size_of::<Header>();

/// A packet with a reset: its bytes, of which the first `len` count.
pub struct Packet {
    bytes: [u8; MOST],
    len: usize,
}

impl Packet {
    fn of(parts: [&[u8]; 2]) -> Option<Self> {
        let (mut bytes, len) = ([0; MOST], parts[0].len() + parts[1].len());
        let (front, back) = bytes.get_mut(..len)?.split_at_mut(parts[0].len());
        front.copy_from_slice(parts[0]);
        back.copy_from_slice(parts[1]);
        Some(Self { bytes, len })
    }
    /// Bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A version of IP that resets can be sent over.
pub trait Reset {
    /// The reset that answers a packet, whose segment of TCP begins at `upper`. `None` when it is
    /// no whole header of TCP, or a reset itself.
    fn reset(packet: &[u8], upper: usize) -> Option<Packet>;
}

/// The segment that answers one with a reset: `len` is that of the segment with its header.
fn answer(segment: &Header, len: usize) -> Option<Header> {
    let flags = segment.flags;
    if flags.contains(Flags::RST) {
        return None;
    }
    let data = len.checked_sub(segment.header_len())? as u32;
    let counted = [Flags::SYN, Flags::FIN].into_iter().filter(|flag| flags.contains(*flag));
    let next = segment.seq.get().wrapping_add(data).wrapping_add(counted.count() as u32);
    let (src, dst) = (segment.dst_port.get(), segment.src_port.get());
    let mut reset = if flags.contains(Flags::ACK) {
        Header::new(src, dst, segment.ack.get(), 0, Flags::RST)
    } else {
        Header::new(src, dst, 0, next, Flags(Flags::RST.0 | Flags::ACK.0))
    };
    reset.window = 0.into();
    Some(reset)
}

impl Reset for V4 {
    fn reset(packet: &[u8], upper: usize) -> Option<Packet> {
        let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
        let (segment, _) = Header::ref_from_prefix(packet.get(upper..)?).ok()?;
        let mut tcp = answer(segment, usize::from(header.total_len.get()).checked_sub(upper)?)?;
        let (src, dst, len) = (header.dst, header.src, size_of::<Header>() as u16);
        let sum = checksum::ip4_pseudo(src, dst, Protocol::TCP, len);
        tcp.checksum = sum.add_bytes(tcp.as_bytes()).checksum();
        let total = size_of::<ip4::Header>() as u16 + len;
        let ip = ip4::Header::new(src.into(), dst.into(), Protocol::TCP, total);
        Packet::of([ip.as_bytes(), tcp.as_bytes()])
    }
}

impl Reset for V6 {
    fn reset(packet: &[u8], upper: usize) -> Option<Packet> {
        let (header, _) = ip6::Header::ref_from_prefix(packet).ok()?;
        let (segment, _) = Header::ref_from_prefix(packet.get(upper..)?).ok()?;
        let all = size_of::<ip6::Header>() + usize::from(header.payload_len.get());
        let mut tcp = answer(segment, all.checked_sub(upper)?)?;
        let (src, dst, len) = (header.dst, header.src, size_of::<Header>() as u16);
        let sum = checksum::ip6_pseudo(src, dst, Protocol::TCP, len.into());
        tcp.checksum = sum.add_bytes(tcp.as_bytes()).checksum();
        let ip = ip6::Header::new(src.into(), dst.into(), Protocol::TCP, len);
        Packet::of([ip.as_bytes(), tcp.as_bytes()])
    }
}
