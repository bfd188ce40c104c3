//! `arp-input`: is it ARP for IPv4 over Ethernet, and is IPv4 spoken here? (RFC 826)
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::fmt;

use graph::arc::{FeatureArc, Side};
use graph::{Buffer, Frame, Names, Node, Record, Slot};
use infra::rcu::SlabReader;
use wire::ethernet::EtherType;
use wire::{arp, print};

use crate::interface::Port;

/// Features on received ARP packets.
pub static ARP: FeatureArc = FeatureArc {
    name: "arp",
    starts: &["arp-input"],
    order: &["vrrp4-arp-input", "arping-input", "arp-reply", "arp-proxy", "arp-disabled"],
    end: "error-drop",
    side: Side::Receive,
};

/// Checks ARP packets and starts their arc.
#[derive(Clone)]
pub struct ArpInput {
    pub(super) ports: SlabReader<Port>,
}

/// Edges of [`ArpInput`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The first feature.
    #[dynamic]
    Feature(Slot),
}

/// Drops of [`ArpInput`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// L2 type not ethernet.
    L2TypeNotEthernet,
    /// L3 type not IP4.
    L3TypeNotIp4,
    /// ARP packet too short.
    TooShort,
    /// IP4 destination address is unset.
    L3DstAddressUnset,
    /// Interface is not IP enabled.
    InterfaceNotIpEnabled,
    /// ARP Disabled on this interface.
    Disabled,
}

impl Node for ArpInput {
    const NAME: &'static str = "arp-input";
    type Next = Next;
    type Error = Error;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, arc) = (frame.epoch(), frame.start(&ARP));
        frame.each(|p| {
            p.trace(Packet::of);
            let arp = p.header::<arp::Header>().ok_or(Error::TooShort)?;
            if arp.hardware.get() != arp::ETHERNET || arp.hardware_len != 6 {
                return Err(Error::L2TypeNotEthernet);
            }
            if arp.protocol != EtherType::IP4 || arp.protocol_len != 4 {
                return Err(Error::L3TypeNotIp4);
            }
            if arp.target.addr().is_unspecified() {
                return Err(Error::L3DstAddressUnset);
            }
            let rx = p.rx();
            let is_enabled = self.ports.read(rx, epoch).is_some_and(|p| p.ip4.is_some());
            if !is_enabled {
                return Err(Error::InterfaceNotIpEnabled);
            }
            arc.first(rx, p).map(Next::Feature).ok_or(Error::Disabled)
        });
    }
}

/// What ARP nodes say of a traced packet.
pub(super) struct Packet([u8; size_of::<arp::Header>()]);

impl Packet {
    pub(super) fn of(p: &Buffer<'_>) -> Self {
        let mut bytes = [0; size_of::<arp::Header>()];
        let n = p.len().min(bytes.len());
        bytes[..n].copy_from_slice(&p.bytes()[..n]);
        Self(bytes)
    }
}

impl Record for Packet {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", print::arp(&self.0, 2))
    }
}
