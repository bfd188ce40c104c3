//! `l2-input`: the features for each frame of a bridged or cross-connected interface.

use net::ethernet::L2_INPUT;
use net::prelude::*;

use super::fast_path::FastPath;
use super::packet::{self, FrameTrace, Layer2};
use super::state::{PortSeen, Tables};

/// Sorts frames: for one address, for several, or asking for one.
#[derive(Clone)]
pub struct Input {
    pub(super) tables: Tables,
    pub(super) fast: FastPath,
}

/// Edges of [`Input`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The first feature of a frame.
    #[dynamic]
    First(Slot),
}

/// Drops of [`Input`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// L2 input drops.
    #[name("L2 input drops")]
    Drop,
}

/// Counters of [`Input`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// L2 input packets.
    #[name("L2 input packets")]
    Packets,
}

/// Whether a frame asks for the owner of an address: by ARP, or by neighbour discovery.
fn asks(p: &Buffer<'_>) -> Option<bool> {
    match packet::ethertype(p)? {
        EtherType::ARP => Some(true),
        EtherType::IP6 => {
            let (header, rest) = ip6::Header::ref_from_prefix(p.bytes_from(p.l3_offset())).ok()?;
            let kind = icmp6::Type(*rest.first()?);
            let is_nd = kind == icmp6::Type::NEIGHBOR_SOLICITATION
                || kind == icmp6::Type::NEIGHBOR_ADVERTISEMENT;
            (header.next_header == wire::Protocol::ICMP6 && is_nd).then_some(false)
        }
        _ => None,
    }
}

/// Notes on a frame where it is and what it is to meet; `None` when that is nothing.
#[inline(always)]
fn note(p: &mut Buffer<'_>, port: &PortSeen, features: u64, group: u8) -> Option<u32> {
    if features == 0 {
        return None;
    }
    p.set_payload(Layer2 {
        features,
        domain: port.domain,
        sequence: port.sequence,
        group,
        padding: [0; 3],
    });
    p.set_tx(port.peer);
    Some(features.trailing_zeros())
}

/// As [`note`], for a frame that may be for several or a request.
fn note_any(p: &mut Buffer<'_>, port: &PortSeen, bits: u64) -> Option<u32> {
    let is_many = p.bytes().first()? & 1 != 0;
    let asking = if is_many { asks(p) } else { None };
    let mask = match (asking, port.asking) {
        (Some(is_arp), Some(masks)) => masks[usize::from(!is_arp)],
        _ => port.masks[usize::from(is_many)],
    };
    // What the router asks reaches members of its own group too.
    let group = if port.is_bvi && asking.is_some() { 0 } else { port.group };
    note(p, port, bits & mask, group)
}

impl Node for Input {
    const NAME: &'static str = "l2-input";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, start) = (frame.epoch(), frame.start(&L2_INPUT));
        let count = frame.len() as u64;
        let (ports, fast) = (&self.tables.ports, &mut self.fast);
        let (mut known, mut port, mut bits) = (u32::MAX, None, 0);
        frame.passes(
            #[inline(always)]
            |packets| {
                let is_tried = fast.take(packets, epoch);
                if is_tried && !packets.are_left(packets.all()) {
                    return;
                }
                let usual = |_, p: &mut Buffer<'_>| {
                    let rx = p.rx();
                    if rx != known {
                        (known, port, bits) = (rx, ports.read(rx, epoch), start.bits(rx));
                    }
                    let port = port?;
                    let is_many = *p.bytes().first()? & 1 != 0;
                    if is_many && (port.asking.is_some() || port.is_bvi) {
                        return None;
                    }
                    let features = bits & port.masks[usize::from(is_many)];
                    note(p, port, features, port.group).map(|at| Next::First(start.at(at)))
                };
                match is_tried {
                    true => packets.rest(packets.all(), usual),
                    false => packets.usual(packets.all(), usual),
                }
                packets.others(
                    packets.all(),
                    #[inline(always)]
                    |_, p| {
                        let rx = p.rx();
                        let port = ports.read(rx, epoch).ok_or(Error::Drop)?;
                        let at = note_any(p, port, start.bits(rx));
                        p.trace(|p| FrameTrace::of("l2-input", rx, p));
                        at.map(|at| Next::First(start.at(at))).ok_or(Error::Drop)
                    },
                );
            },
        );
        frame.count(Count::Packets, count);
    }
}

/// `feature-bitmap-drop`: nothing is left that would forward a frame.
#[derive(Clone)]
pub struct BitmapDrop;

/// Drops of [`BitmapDrop`].
#[derive(Clone, Copy, graph::Reason)]
pub enum BitmapError {
    /// L2 feature not implemented.
    #[name("L2 feature not implemented")]
    NotImplemented,
    /// L2 feature forwarding disabled.
    #[name("L2 feature forwarding disabled")]
    Disabled,
}

impl Node for BitmapDrop {
    const NAME: &'static str = L2_INPUT.end;
    const EXPLAINABLE: bool = true;
    type Next = Infallible;
    type Error = BitmapError;
    type Count = Infallible;
    const READS_BYTES: bool = false;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|_| Err(BitmapError::Disabled));
    }
}
