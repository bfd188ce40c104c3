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

impl Node for EthernetInput {
    const NAME: &'static str = "ethernet-input";
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        // Neighbouring packets nearly always come from one interface.
        let (mut known, mut port) = (u32::MAX, None);
        frame.each(|p| {
            let rx = p.rx();
            if rx != known {
                (known, port) = (rx, self.ports.read(rx, epoch));
            }
            p.trace(|p| Received { rx, bytes: p.bytes()[..p.len().min(64)].to_vec() });
            let header = p.header::<Header>().ok_or(Error::TooShort)?;
            let (dst, ethertype) = (header.dst, header.ethertype);
            let port = port.filter(|p| p.up).ok_or(Error::Down)?;
            if dst != port.mac && !dst.is_multicast() && !port.promiscuous {
                return Err(Error::MacMismatch);
            }
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
