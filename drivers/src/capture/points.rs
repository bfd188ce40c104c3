//! Packets at chosen places: received, transmitted or dropped, at nodes and on arcs.

use std::collections::HashSet;
use std::sync::Arc;

use graph::{Buffer, Filter, Flags, NodeIndex, PacketContext, Watcher};

use super::copies::{Lanes, Link, PacketCopy, Place};

/// Nanoseconds in a second.
const SECOND: f64 = 1e9;
/// Place of the EtherType in a frame without tags.
const TYPE_AT: usize = 12;

/// A place: a node whose packets are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// The reason for looking at them.
    pub place: Place,
    /// The interface that all its packets belong to, if they belong to one.
    pub interface: Option<u32>,
    /// Whether its packets begin with an Ethernet header.
    pub is_ethernet: bool,
    /// Whether only packets of interfaces count that `ethernet-input` does not know: tunnels,
    /// and sub-interfaces.
    pub is_late: bool,
    /// Whether only packets of bond members count: the next node counts them as the bond's.
    pub is_early: bool,
}

/// The choice among the packets at these places.
#[derive(Clone, Default)]
pub enum Chooser {
    /// All.
    #[default]
    All,
    /// None.
    Nothing,
    /// Packets that a filter chooses, whatever they begin with.
    Function(Arc<dyn Filter>),
    /// Packets that a filter for Ethernet chooses, and one for IP without a layer 2 header.
    Expression(Arc<dyn Filter>, Option<Arc<dyn Filter>>),
}

impl Chooser {
    fn chooses(&self, link: Link, interface: u32, bytes: &[u8], at: PacketContext<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Function(filter) => filter.chooses(interface, bytes, at),
            Self::Expression(filter, _) if link == Link::ETHERNET => {
                filter.chooses(interface, bytes, at)
            }
            Self::Expression(_, raw) if link == Link::RAW => {
                raw.as_ref().is_some_and(|filter| filter.chooses(interface, bytes, at))
            }
            Self::Expression(..) => false,
        }
    }
}

/// Copies packets at chosen places.
pub struct Points {
    /// By node.
    pub spots: Vec<Option<Spot>>,
    /// Only packets of these interfaces; of all if there is none.
    pub interfaces: HashSet<u32>,
    /// Interfaces whose packets `ethernet-input` does not know as theirs.
    pub late: HashSet<u32>,
    /// Members of bonds among `interfaces`.
    pub members: HashSet<u32>,
    /// Only packets dropped for the reasons that these counters count; for any if there is none.
    pub reasons: HashSet<u32>,
    /// Only those that it chooses.
    pub chooser: Chooser,
    /// Maximum bytes per packet.
    pub most_bytes: usize,
    /// Lanes of the copies.
    pub lanes: Arc<Lanes>,
}

impl Points {
    /// The nodes.
    pub fn nodes(&self) -> Vec<NodeIndex> {
        let used = self.spots.iter().enumerate().filter(|(_, spot)| spot.is_some());
        used.map(|(node, _)| NodeIndex(node as u32)).collect()
    }
    /// The interface a packet belongs to; `None` if it is not wanted.
    fn interface(&self, spot: &Spot, p: &Buffer<'_>) -> Option<u32> {
        if spot.is_late && !self.late.contains(&p.rx()) {
            return None;
        }
        if spot.place == Place::Rx && spot.is_early != self.members.contains(&p.rx()) {
            return None;
        }
        let own = spot.interface.unwrap_or(if spot.place == Place::Tx { p.tx() } else { p.rx() });
        if self.interfaces.is_empty() {
            return Some(own);
        }
        // At a node in the middle the way out may be known already.
        let other = if spot.place == Place::Rx { own } else { p.tx() };
        [own, other].into_iter().find(|interface| self.interfaces.contains(interface))
    }
}

impl Watcher for Points {
    fn see(&self, node: NodeIndex, p: &Buffer<'_>, context: PacketContext<'_>) {
        let Some(Some(spot)) = self.spots.get(node.0 as usize) else { return };
        let Some(interface) = self.interface(spot, p) else { return };
        let is_dropped = spot.place == Place::Drop;
        if is_dropped && !self.reasons.is_empty() && !self.reasons.contains(&p.error()) {
            return;
        }
        let (start, link) = match is_dropped {
            // Nodes may have removed headers: dropped packets are shown as received.
            true => whole(p),
            false if spot.is_ethernet => (p.offset(), Link::ETHERNET),
            false => framed(p),
        };
        if !self.chooser.chooses(link, interface, p.bytes_from(start), context) {
            return;
        }
        let len = (p.total_len() as i64 + i64::from(p.offset()) - i64::from(start)) as usize;
        let size = len.min(self.most_bytes);
        self.lanes.send(context.thread, size, || PacketCopy {
            at: nanoseconds(context.now),
            node,
            place: spot.place,
            thread: context.thread,
            interface,
            link,
            reason: p.error(),
            len,
            bytes: keep(size, std::iter::once(p.bytes_from(start)).chain(p.segments().skip(1))),
            visit: None,
        });
    }
}

/// A time of the router's clock in nanoseconds.
pub fn nanoseconds(seconds: f64) -> u64 {
    (seconds * SECOND) as u64
}

/// The first bytes of some parts.
pub fn keep<'p>(most: usize, parts: impl Iterator<Item = &'p [u8]>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(most);
    for part in parts {
        let room = most - bytes.len();
        bytes.extend_from_slice(&part[..part.len().min(room)]);
    }
    bytes
}

/// The start of a packet as it was received, and its first header.
fn whole(p: &Buffer<'_>) -> (i16, Link) {
    let (has_frame, l2) = (p.flags().has(Flags::L2), p.l2_offset());
    if has_frame && l2 <= p.offset() { (l2, Link::ETHERNET) } else { bare(p) }
}

/// The start of a packet in the middle of the graph, and its first header: the Ethernet header
/// right in front of where its node finds it, if there is one.
fn framed(p: &Buffer<'_>) -> (i16, Link) {
    let l2 = p.l2_offset();
    if !p.flags().has(Flags::L2) || l2 > p.offset() {
        return bare(p);
    }
    let taken_off = usize::from(p.offset().abs_diff(l2));
    match header_len(p.bytes_from(l2)) {
        Some(len) if taken_off == 0 || taken_off == len => (l2, Link::ETHERNET),
        _ => bare(p),
    }
}

/// A packet from where its node finds it. What `ethernet-input` has not seen and is no IP packet is
/// a frame.
fn bare(p: &Buffer<'_>) -> (i16, Link) {
    let link = match p.flags().has(Flags::L2) {
        _ if is_ip(p.bytes(), p.total_len()) => Link::RAW,
        true => Link::OTHER,
        false => Link::ETHERNET,
    };
    (p.offset(), link)
}

/// Whether a packet of `len` bytes begins with a header of IPv4 or IPv6 that says it is no longer.
fn is_ip(bytes: &[u8], len: usize) -> bool {
    let Some([first, _, high, low, next_high, next_low]) = bytes.first_chunk() else {
        return false;
    };
    let says = match first >> 4 {
        4 if first & 15 >= 5 => usize::from(u16::from_be_bytes([*high, *low])),
        6 => 40 + usize::from(u16::from_be_bytes([*next_high, *next_low])),
        _ => return false,
    };
    (20..=len).contains(&says)
}

/// Length of an Ethernet header with its VLAN tags.
fn header_len(frame: &[u8]) -> Option<usize> {
    let mut at = TYPE_AT;
    loop {
        let kind = frame.get(at..)?.first_chunk()?;
        at += 2;
        match u16::from_be_bytes(*kind) {
            0x8100 | 0x88a8 | 0x9100 => at += 2,
            _ => return Some(at),
        }
    }
}
