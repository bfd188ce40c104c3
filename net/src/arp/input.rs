//! `arp-input`: checks for ARP for IPv4 over Ethernet (RFC 826).
#![forbid(unsafe_code)]

use std::fmt;

use graph::arc::{FeatureArc, Side};
use graph::{Buffer, Frame, Names, Node, Record, Slot};
use wire::ethernet::EtherType;
use wire::{arp, print};

use super::reason::{Count, Error};

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
pub struct ArpInput;

/// Edges of [`ArpInput`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The first feature.
    #[dynamic]
    Feature(Slot),
}

impl Node for ArpInput {
    const NAME: &'static str = "arp-input";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let arc = frame.start(&ARP);
        frame.each(|p| {
            p.trace(Seen::of);
            let arp = p.header::<arp::Header>().ok_or(Error::L2TypeNotEthernet)?;
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
            arc.first(rx).map(Next::Feature).ok_or(Error::InterfaceNotIpEnabled)
        });
    }
}

/// Trace of a packet in ARP nodes.
pub(super) struct Seen([u8; size_of::<arp::Header>()]);

impl Seen {
    pub(super) fn of(p: &Buffer<'_>) -> Self {
        let mut bytes = [0; size_of::<arp::Header>()];
        let n = p.len().min(bytes.len());
        bytes[..n].copy_from_slice(&p.bytes()[..n]);
        Self(bytes)
    }
}

impl Record for Seen {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", print::arp(&self.0, 2))
    }
    fn explain(&self, _: &dyn Names) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}
