//! `ethernet-input`: destination check and dispatch by type.

use std::convert::Infallible;
use std::fmt;

use graph::{Flags, Frame, Names, Node, Record};
use infra::rcu::SlabReader;
use wire::ethernet::{EtherType, Header};
use wire::print;

use crate::interface::{Interfaces, Port};

/// Checks the destination of frames and sends them to their protocol, layer 2 header stripped.
#[derive(Clone)]
pub struct EthernetInput {
    ports: SlabReader<Port>,
}

/// Edges of [`EthernetInput`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// IPv4.
    #[to("ip4-input")]
    Ip4,
    /// IPv6.
    #[to("ip6-input")]
    Ip6,
    /// ARP.
    #[to("arp-input")]
    Arp,
}

/// Drops of [`EthernetInput`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// l3 mac mismatch.
    #[name("l3 mac mismatch")]
    MacMismatch,
    /// unknown ethernet type.
    #[name("unknown ethernet type")]
    UnknownType,
    /// unknown vlan.
    #[name("unknown vlan")]
    UnknownVlan,
    /// subinterface down.
    #[name("subinterface down")]
    Down,
    /// frame shorter than its header.
    #[name("too short")]
    TooShort,
}

impl EthernetInput {
    pub(super) fn new(interfaces: &Interfaces) -> Self {
        Self { ports: interfaces.ports() }
    }
}

/// The bits of an address in the first eight bytes of a frame, read as a little-endian number.
const ADDRESS: u64 = (1 << 48) - 1;
/// No address: an interface that takes nothing without a closer look.
const NOBODY: u64 = u64::MAX;

/// The address of an interface that is up, as [`ADDRESS`] cuts it out of a frame.
fn own_address(port: &Port) -> u64 {
    let [a, b, c, d, e, f] = port.mac.0;
    if port.up { u64::from_le_bytes([a, b, c, d, e, f, 0, 0]) } else { NOBODY }
}

/// Whether an interface takes a frame that is not for its own address.
#[inline(always)]
fn check_other(dst: u64, port: Option<&Port>) -> Result<(), Error> {
    let port = port.filter(|p| p.up).ok_or(Error::Down)?;
    let is_group = dst & 1 != 0;
    if is_group || port.promiscuous { Ok(()) } else { Err(Error::MacMismatch) }
}

impl Node for EthernetInput {
    const NAME: &'static str = "ethernet-input";
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        // Neighbouring packets nearly always come from one interface.
        let (mut known, mut port, mut own) = (u32::MAX, None, NOBODY);
        frame.each(|p| {
            let rx = p.rx();
            if rx != known {
                (known, port) = (rx, self.ports.read(rx, epoch));
                own = port.map_or(NOBODY, own_address);
            }
            p.trace(|p| Received { rx, bytes: p.bytes()[..p.len().min(64)].to_vec() });
            let header = p.bytes().first_chunk::<14>().ok_or(Error::TooShort)?;
            let [d0, d1, d2, d3, d4, d5, s0, s1, .., t0, t1] = *header;
            let dst = u64::from_le_bytes([d0, d1, d2, d3, d4, d5, s0, s1]) & ADDRESS;
            if dst != own {
                check_other(dst, port)?;
            }
            let ethertype = EtherType::new(u16::from_be_bytes([t0, t1]));
            let next = match ethertype {
                EtherType::IP4 => Next::Ip4,
                EtherType::IP6 => Next::Ip6,
                EtherType::ARP => Next::Arp,
                t if t.is_vlan() => return Err(Error::UnknownVlan),
                _ => return Err(Error::UnknownType),
            };
            let offset = p.offset();
            p.set_l2_offset(offset);
            p.set_l3_offset(offset + size_of::<Header>() as i16);
            p.add_flags(Flags::L2.with(Flags::L3));
            p.advance(size_of::<Header>()).ok_or(Error::TooShort)?;
            Ok(next)
        });
    }
}

struct Received {
    rx: u32,
    bytes: Vec<u8>,
}

impl Record for Received {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  frame: flags 0x1, hw-if-index {0}, sw-if-index {0}", self.rx)?;
        write!(f, "{}", print::ethernet_header(&self.bytes, 2))
    }
}
