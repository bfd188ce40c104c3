//! `esp4-encrypt`, `ah4-encrypt` and their siblings: packets are sealed (RFC 4303 section 3.3, RFC
//! 4302 section 3.3). Those of policies come with their association; those of protected tunnels
//! find it by their adjacency.

use std::fmt;

use graph::arc::Along;
use graph::{
    Buffer, Edge, Flags, Frame, HandOff, HandsOff, Names, Node, Packet, Payload, Record, Slot,
};
use infra::rcu::{Epoch, SlabReader};
use net::adjacency::chain::Hop;
use net::gso::{self, UNDONE};
use net::ip::{Stacked, V4, V6, Version};
use wire::{Protocol, ip4, ip6};
use zerocopy::FromBytes;

use super::ah;
use super::decrypt::MPLS;
use super::esp::HEADER;
use super::outside::Inside;
use super::protect::Sealing;
use super::sa::Sa;
use super::select::{OUTPUT, SEALED};
use super::{Associations, Work};

/// The nodes.
pub const NODES: [&str; 7] = [
    "esp4-encrypt",
    "esp6-encrypt",
    "ah4-encrypt",
    "ah6-encrypt",
    "esp4-encrypt-tun",
    "esp6-encrypt-tun",
    "esp-mpls-encrypt-tun",
];
/// The nodes that hand packets to the thread of their association.
pub const HANDOFFS: [&str; 7] = [
    "esp4-encrypt-handoff",
    "esp6-encrypt-handoff",
    "ah4-encrypt-handoff",
    "ah6-encrypt-handoff",
    "esp4-encrypt-tun-handoff",
    "esp6-encrypt-tun-handoff",
    "esp-mpls-encrypt-tun-handoff",
];
/// The first of those for tunnels.
pub const TUNNELS: usize = 4;
/// The one for labelled packets.
const LABELLED: usize = 6;
/// Edges to the nodes that follow an adjacency and a load balance, for IPv4 and IPv6.
pub const ONWARD: [[Slot; 2]; 2] = [[Slot(2), Slot(3)], [Slot(4), Slot(5)]];
/// Flags that hold for a packet in the clear only.
const CLEAR: Flags = Flags::L3.with(Flags::L4).with(Flags::CHECKSUM_OK).with(Flags::HASH);

/// Headroom that is left for the headers of links.
const KEPT: usize = 32;

/// Edges of [`Encrypt`].
#[derive(Clone, Copy)]
pub enum Next<const AT: usize> {
    /// Another thread works with the association.
    HandOff,
    /// On by the interface that the packet was for.
    Sealed,
    /// As the route to the far end leads.
    To(Slot),
    /// It was cut into segments, which come one by one.
    Again,
}

impl<const AT: usize> graph::Next for Next<AT> {
    const EDGES: &'static [Edge] = &[
        Edge { to: HANDOFFS[AT], payload: if AT < TUNNELS { Work::NAME } else { "" } },
        Edge { to: if AT < TUNNELS { OUTPUT[AT % 2] } else { "adj-midchain-tx" }, payload: "" },
        Edge { to: "ip4-rewrite", payload: "" },
        Edge { to: "ip4-load-balance", payload: "" },
        Edge { to: "ip6-rewrite", payload: "" },
        Edge { to: "ip6-load-balance", payload: "" },
        Edge { to: NODES[AT], payload: if AT < TUNNELS { Work::NAME } else { "" } },
    ];
    #[inline(always)]
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        match self {
            Self::HandOff => 0,
            Self::Sealed => 1,
            Self::To(slot) => slot.0,
            Self::Again => 6,
        }
    }
}

/// Drops of [`Encrypt`].
#[derive(Clone, Copy, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// sequence number cycled (packet dropped).
    #[name("seq_cycled")]
    Cycled,
    /// crypto engine error (packet dropped).
    #[name("crypto_engine_error")]
    Engine,
    /// no buffers (packet dropped).
    #[name("no_buffers")]
    NoBuffers,
    /// no protecting SA (packet dropped).
    #[name("no_protection")]
    NoProtection,
    /// no Encrypting SA (packet dropped).
    #[name("no_encryption")]
    NoEncryption,
}

/// Counters of [`Encrypt`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// pkts received.
    #[name("rx_pkts")]
    Received,
    /// Hand-off.
    #[name("handoff")]
    HandOff,
}

/// Seals packets.
#[derive(Clone)]
pub struct Encrypt<const AT: usize> {
    pub(super) all: Associations,
    /// Associations of tunnels, by adjacency.
    pub(super) protecting: SlabReader<Sealing>,
    pub(super) stacked: Stacked,
}

/// The plan of a sealed packet.
struct Plan {
    /// Bytes in front that stay: layer 2 and IP header in transport mode.
    keep: usize,
    /// Bytes before the packet that go: layer 2 in tunnel mode.
    skip: usize,
    /// Place of the byte that announces what is carried.
    announced_at: usize,
    /// Protocol of what is carried.
    next_header: u8,
    /// The IP header in front of AH is of IPv6.
    is_6: bool,
    inside: Inside,
}

impl Plan {
    fn of(sa: &Sa, p: &Buffer<'_>, front: usize, is_labelled: bool) -> Option<Self> {
        let packet = p.bytes().get(front..)?;
        let version = packet.first()? >> 4;
        if sa.outside.is_tunnel() {
            let next_header = match version {
                _ if is_labelled => MPLS,
                4 => Protocol::IP4,
                6 => Protocol::IP6,
                _ => return None,
            };
            let inside = if is_labelled { Inside::default() } else { Inside::of(packet) };
            let skip = front;
            let next_header = next_header.0;
            let is_6 = sa.outside.is_6();
            return Some(Self { keep: 0, skip, announced_at: 0, next_header, is_6, inside });
        }
        let (announced_at, len) = match version {
            4 => (9, ip4::Header::ref_from_prefix(packet).ok()?.0.header_len()),
            6 => ip6::fragment_place(packet),
            _ => return None,
        };
        let next_header = *packet.get(announced_at)?;
        packet.get(..len)?;
        let inside = Inside::default();
        let (keep, announced_at, is_6) = (front + len, announced_at + front, version == 6);
        Some(Self { keep, skip: 0, announced_at, next_header, is_6, inside })
    }
    /// Has IP header in front of what is carried now speak of that.
    fn patch(&self, bytes: &mut [u8], front: usize, protocol: Protocol) -> Option<()> {
        let total = bytes.len() - front;
        *bytes.get_mut(self.announced_at)? = protocol.0;
        let packet = bytes.get_mut(front..self.keep)?;
        if packet.first()? >> 4 == 6 {
            let (ip, _) = ip6::Header::mut_from_prefix(packet).ok()?;
            ip.payload_len = ((total - size_of::<ip6::Header>()) as u16).into();
            return Some(());
        }
        let (ip, options) = ip4::Header::mut_from_prefix(packet).ok()?;
        ip.total_len = (total as u16).into();
        ip.update_checksum_with(options);
        Some(())
    }
}

/// Writes a packet, whose payload is at its place, around it.
fn fill(
    sa: &Sa,
    plan: &Plan,
    front: usize,
    (bytes, payload_len): (&mut [u8], usize),
    (number, unique): (u64, u64),
) -> Option<()> {
    let esp = plan.keep + sa.outside.len();
    sa.outside.write(bytes, plan.keep, &plan.inside)?;
    if !sa.outside.is_tunnel() {
        let has_udp = sa.outside.has_udp();
        plan.patch(bytes, front, if has_udp { Protocol::UDP } else { sa.config.protocol })?;
    }
    if sa.is_ah() {
        let start = if sa.outside.is_tunnel() { 0 } else { front };
        let packet = bytes.get_mut(start..)?;
        let header = (plan.next_header, sa.config.spi);
        return ah::sign(&sa.keys, packet, esp - start, header, number);
    }
    let header = bytes.get_mut(esp..esp + HEADER)?;
    let (spi, low) = header.split_at_mut(4);
    spi.copy_from_slice(&sa.config.spi.to_be_bytes());
    low.copy_from_slice(&(number as u32).to_be_bytes());
    let end = esp + HEADER + sa.keys.iv() + payload_len;
    sa.keys.seal(bytes, (esp, end), plan.next_header, (number, unique))
}

/// Copies the segments of a packet, one behind the other.
pub fn gather(p: &Buffer<'_>, room: &mut [u8]) -> Option<usize> {
    let mut len = 0;
    for segment in p.segments() {
        room.get_mut(len..len + segment.len())?.copy_from_slice(segment);
        len += segment.len();
    }
    Some(len)
}

/// Has a packet be these bytes, in as many segments as it takes.
pub fn replace<N: Node>(p: &mut Packet<'_, N>, bytes: &[u8]) -> Option<()> {
    p.truncate_chain(0);
    p.extend(bytes)
}

/// Seals a packet.
fn seal<N: Node>(
    p: &mut Packet<'_, N>,
    sa: &Sa,
    (front, is_labelled): (usize, bool),
) -> Result<u64, Error> {
    let plan = Plan::of(sa, p, front, is_labelled).ok_or(Error::Engine)?;
    let number = sa.state.sent.take(sa.most()).ok_or(Error::Cycled)?;
    let unique = sa.state.unique.take(u64::MAX).ok_or(Error::Cycled)?;
    let numbers = (number, unique);
    let payload_len = p.total_len() - plan.keep - plan.skip;
    let (header, behind) = match sa.is_ah() {
        true => (ah::header_len(&sa.keys, plan.is_6), 0),
        false => (HEADER + sa.keys.iv(), sa.keys.behind(payload_len)),
    };
    let grows = sa.outside.len() + header;
    let is_one = p.next_segment().is_none();
    if is_one && p.tailroom() >= behind && p.headroom() + plan.skip >= grows + KEPT {
        p.advance(plan.skip).ok_or(Error::Engine)?;
        p.append_with(behind).ok_or(Error::NoBuffers)?;
        p.prepend(grows).ok_or(Error::NoBuffers)?;
        let bytes = p.bytes_mut();
        bytes.copy_within(grows..grows + plan.keep, 0);
        fill(sa, &plan, front, (bytes, payload_len), numbers).ok_or(Error::Engine)?;
        return Ok(number);
    }
    p.with_room(|p, room| {
        let (head, tail) = (plan.keep + grows, payload_len + behind);
        let (new, old) = room.split_at_mut_checked(head + tail).ok_or(Error::NoBuffers)?;
        let len = gather(p, old).ok_or(Error::NoBuffers)?;
        let old = old.get(plan.skip..len).ok_or(Error::Engine)?;
        let (kept, payload) = old.split_at_checked(plan.keep).ok_or(Error::Engine)?;
        new[..plan.keep].copy_from_slice(kept);
        new[head..head + payload_len].copy_from_slice(payload);
        fill(sa, &plan, front, (new, payload_len), numbers).ok_or(Error::Engine)?;
        replace(p, new).ok_or(Error::NoBuffers)
    })?;
    Ok(number)
}

/// Takes a hop from an IP packet, as it has no header of a tunnel in front that did.
fn spend_hop(p: &mut Buffer<'_>) {
    match p.bytes().first().map(|b| b >> 4) {
        Some(4) => V4::spend_hop(p),
        Some(6) => V6::spend_hop(p),
        _ => (),
    }
}

impl<const AT: usize> Encrypt<AT> {
    #[inline(always)]
    fn work<'e>(&'e self, p: &Buffer<'_>, epoch: Epoch<'e>) -> Option<(Work, Option<&'e Hop>)> {
        if AT < TUNNELS {
            return Some((p.payload::<Work>(), None));
        }
        let Sealing { sa, is_bare, hop } = self.protecting.read(p.adjacency(), epoch)?;
        Some((Work { sa: *sa, front: 0, via: (*is_bare).into() }, hop.as_ref()))
    }
}

impl<const AT: usize> Node for Encrypt<AT> {
    const NAME: &'static str = NODES[AT];
    const INPUT: &'static str = if AT < TUNNELS { Work::NAME } else { "" };
    const HOT: bool = true;
    type Next = Next<AT>;
    type Error = Error;
    type Count = Count;
    const DROP: &'static str = match AT {
        LABELLED => "mpls-drop",
        _ => ["ip4-drop", "ip6-drop"][AT % 2],
    };

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread, this) = (frame.epoch(), frame.thread(), &*self);
        let (mut received, mut elsewhere, mut is_behind) = (0, 0, false);
        frame.each(
            #[inline(always)]
            |p| {
                // Packets of policies were cut before they were judged.
                if AT >= TUNNELS && p.flags().has(UNDONE) {
                    gso::apply(UNDONE, p).map_err(|_| Error::NoBuffers)?;
                    is_behind = true;
                }
                if is_behind {
                    return Ok(Next::Again);
                }
                let (work, hop) = this.work(p, epoch).ok_or(Error::NoProtection)?;
                let sa = this.all.sas.read(work.sa, epoch).ok_or(Error::NoProtection)?;
                if this.all.thread_of(sa, thread, epoch) != thread {
                    elsewhere += 1;
                    p.set_payload(work);
                    return Ok(Next::HandOff);
                }
                received += 1;
                let len = p.total_len() as u64;
                let refuse = |why: Error| {
                    this.all.refuse(thread, work.sa, why);
                    why
                };
                let is_bare = AT >= TUNNELS && work.via > 0;
                if sa.protects_nothing() && !is_bare {
                    return Err(refuse(Error::NoEncryption));
                }
                // The first word of a labelled packet is a label, unless headers are in front.
                let is_labelled = AT == LABELLED && is_bare;
                if is_bare && !is_labelled && !p.flags().has(Flags::LOCAL) {
                    spend_hop(p);
                }
                let place = (work.front as usize, is_labelled);
                let number = seal(p, sa, place).map_err(refuse)?;
                this.all.count(thread, work.sa, len - u64::from(work.front));
                p.clear_flags(CLEAR);
                if sa.outside.is_tunnel() {
                    // The outer header is made here: it has all its hops, and may be cut.
                    p.add_flags(Flags::LOCAL);
                }
                p.trace(|_| Said::of(work.sa, sa, number));
                if AT >= TUNNELS {
                    let onward = |hop| Next::To(this.stacked.onward(hop, epoch).take(p));
                    return Ok(hop.map_or(Next::Sealed, onward));
                }
                if !sa.outside.is_tunnel() {
                    p.add_flags(SEALED);
                    return Ok(Next::Sealed);
                }
                Ok(Next::To(this.stacked.onward(&sa.hop, epoch).take(p)))
            },
        );
        frame.count(Count::Received, received);
        frame.count(Count::HandOff, elsewhere);
    }
}

/// Hands packets to the thread of their association.
#[derive(Clone)]
pub struct ByAssociation<const AT: usize>(pub Encrypt<AT>);

impl<const AT: usize> HandsOff for ByAssociation<AT> {
    const NAME: &'static str = HANDOFFS[AT];
    const TO: &'static str = NODES[AT];
    const DROP: &'static str = Encrypt::<AT>::DROP;
    const INPUT: &'static str = if AT < TUNNELS { Work::NAME } else { "" };
    const OUTPUT: &'static str = Self::INPUT;

    #[inline(always)]
    fn threads<'a, On: graph::Cpu>(
        &'a self,
        frame: &Frame<'a, HandOff<Self>, On>,
    ) -> impl FnMut(&Buffer<'_>) -> usize + use<'a, On, AT> {
        let (epoch, thread, this) = (frame.epoch(), frame.thread(), &self.0);
        move |p| {
            let work = this.work(p, epoch);
            let sa = work.and_then(|(work, _)| this.all.sas.read(work.sa, epoch));
            sa.map_or(thread, |sa| this.all.thread_of(sa, thread, epoch))
        }
    }
}

/// Lines of a trace about a packet that is sealed or opened.
pub struct Said {
    is_ah: bool,
    sa: u32,
    spi: u32,
    number: u64,
}

impl Said {
    pub fn of(index: u32, sa: &Sa, number: u64) -> Self {
        Self { is_ah: sa.is_ah(), sa: index, spi: sa.config.spi, number }
    }
}

impl Record for Said {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_ah, sa, spi, number } = self;
        let protocol = if *is_ah { "ah" } else { "esp" };
        write!(f, "  {protocol}: sa-index {sa} spi {spi} (0x{spi:08x}) seq {number}")
    }
}
