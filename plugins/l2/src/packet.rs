//! The metadata of a frame on its way through layer 2.

use graph::Payload;
use graph::arc::Carried;
use net::ethernet::Tagged;
use net::interface::{Counters, Port};
use net::prelude::*;
use wire::ethernet::Header;
use wire::print;
use wire::vlan::Tag;

/// The metadata of a frame from `l2-input` on.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Layer2 {
    /// Features it has still to meet.
    pub features: u64,
    /// Place of its bridge domain; 0 while it is cross-connected.
    pub domain: u16,
    /// Sequence numbers of the domain and of the receive interface: addresses learned under other
    /// ones are invalid.
    pub sequence: u16,
    /// Split horizon group it came from; 0 for none.
    pub group: u8,
    pub(crate) padding: [u8; 3],
}

const _: () = assert!(size_of::<Layer2>() == 16 && size_of::<Carried>() == 8);

impl Payload for Layer2 {
    const NAME: &'static str = "layer 2";
}

/// An address of 48 bits in the low bits of eight bytes of a frame.
const ADDRESS: u64 = (1 << 48) - 1;

/// The address of a destination, in the order that keys have it; 0 in a frame that is cut off.
#[inline(always)]
pub fn destination(frame: &[u8]) -> u64 {
    frame.first_chunk().map_or(0, |b| u64::from_le_bytes(*b)) & ADDRESS
}

/// The address of a source.
#[inline(always)]
pub fn source(frame: &[u8]) -> u64 {
    let bytes = frame.get(6..14).and_then(|b| b.first_chunk());
    bytes.map_or(0, |b| u64::from_le_bytes(*b)) & ADDRESS
}

/// An address as it is written.
pub fn address(number: u64) -> MacAddr {
    let [a, b, c, d, e, f, ..] = number.to_le_bytes();
    MacAddr([a, b, c, d, e, f])
}

/// Length of the header of layer 2 with its tags.
pub fn header_len(p: &Buffer<'_>) -> usize {
    (i32::from(p.l3_offset()) - i32::from(p.l2_offset())).max(0) as usize
}

/// Type of the payload behind the header of layer 2.
pub fn ethertype(p: &Buffer<'_>) -> Option<EtherType> {
    let end = header_len(p);
    let bytes = p.bytes().get(end.checked_sub(2)?..end)?;
    Some(EtherType::new(u16::from_be_bytes(*bytes.first_chunk()?)))
}

/// Turns bytes that start with a frame's header into a frame without a domain, bound for
/// `l2-output`; `None` if the header is truncated.
pub fn enter(p: &mut Buffer<'_>) -> Option<()> {
    let tags = Tagged::read(p.bytes())?.count;
    let at = p.offset();
    p.set_l2_offset(at);
    p.set_l3_offset(at + (size_of::<Header>() + tags * size_of::<Tag>()) as i16);
    p.add_flags(Flags::L2.with(Flags::L3));
    p.set_payload(Layer2::default());
    Some(())
}

/// The protocol that a frame for the router itself is given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// IPv4.
    Ip4,
    /// IPv6.
    Ip6,
    /// ARP.
    Arp,
}

/// Reasons why a frame cannot be given to the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOurs {
    /// Another address.
    Mac,
    /// Another protocol.
    Type,
}

/// Receives a frame on a bridge virtual interface: it is counted there and loses its header.
pub fn receive(
    p: &mut Buffer<'_>,
    bvi: u32,
    port: &Port,
    (counters, thread): (&Counters, usize),
) -> Result<Protocol, NotOurs> {
    let header = p.header::<Header>().ok_or(NotOurs::Type)?;
    let is_own = |dst| dst == port.mac || port.promiscuous || port.secondary.contains(&dst);
    if !header.dst.is_multicast() && !is_own(header.dst) {
        return Err(NotOurs::Mac);
    }
    let to = match ethertype(p) {
        Some(EtherType::IP4) => Protocol::Ip4,
        Some(EtherType::IP6) => Protocol::Ip6,
        Some(EtherType::ARP) => Protocol::Arp,
        _ => return Err(NotOurs::Type),
    };
    counters.rx.row(thread)[bvi as usize].add(1, p.total_len() as u64);
    p.set_rx(bvi);
    p.set_tx(u32::MAX);
    p.advance(header_len(p)).ok_or(NotOurs::Type)?;
    Ok(to)
}

/// The trace record of the nodes of layer 2.
pub struct FrameTrace {
    node: &'static str,
    interface: u32,
    domain: u16,
    bytes: Vec<u8>,
}

impl FrameTrace {
    /// Of a frame on one of its interfaces.
    pub fn of(node: &'static str, interface: u32, p: &Buffer<'_>) -> Self {
        let domain = p.payload::<Layer2>().domain;
        Self { node, interface, domain, bytes: p.bytes()[..p.len().min(14)].to_vec() }
    }
}

impl Record for FrameTrace {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok((header, _)) = Header::ref_from_prefix(&self.bytes) else {
            return write!(f, "  {}: {}", self.node, print::ethernet(&self.bytes, 2));
        };
        let (node, interface) = (self.node, self.interface);
        write!(f, "  {node}: sw_if_index {interface} dst {} src {}", header.dst, header.src)?;
        if self.domain > 0 { write!(f, " bd_index {}", self.domain) } else { Ok(()) }
    }
    fn explain(&self, _: &dyn Names) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}
