//! Input nodes of tunnels: the outer headers are removed, and the inner packet is received on the
//! tunnel.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use graph::{Buffer, Flags, Frame, Names, Node, Reason, Record, Slot};
use infra::rcu::{Epoch, SlabReader};
use wire::{Protocol, ip4, ip6, udp};
use zerocopy::FromBytes;

use super::fields::take_congestion;
use super::{End, EndsReader, Kind, Tuple};
use crate::adjacency::Link;
use crate::adjacency::chain::ENCLOSED;
use crate::gso;
use crate::interface::{Counters, Port};
use crate::ip::{V4, V6, Version};

/// Flags that hold for the outer packet only.
const OUTER: Flags = Flags::L3
    .with(Flags::L4)
    .with(Flags::CHECKSUM_OK)
    .with(Flags::CHECKSUM_TODO)
    .with(Flags::HASH)
    .with(ENCLOSED)
    .with(Flags::ONE_LINK)
    .with(Flags::ENTRIES);

/// Clears metadata of a packet that was valid for its outer headers only.
#[inline(always)]
pub fn forget_outer(p: &mut Buffer<'_>) {
    if p.flags().has(Flags::TUNNEL) {
        p.clear_flags(OUTER.without(Flags::CHECKSUM_TODO.with(Flags::L3).with(Flags::L4)));
        gso::disclose(p);
    } else {
        p.clear_flags(OUTER);
    }
}

/// The kind's header of a received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The key that tells tunnels of a kind apart.
    pub key: u64,
    /// Bytes of the kind's own header.
    pub len: usize,
    /// The payload of a tunnel.
    pub carried: Link,
}

/// By what a received packet was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct By {
    /// The protocol in the outer IP header.
    pub protocol: Protocol,
    /// The UDP port it is for; 0 where there is none.
    pub port: u16,
}

/// Decapsulation by a kind of tunnel.
pub trait Decapsulate: Kind {
    /// Reasons to drop a packet.
    type Error: Reason;
    /// Counters besides drops.
    type Count: graph::Count;
    /// No tunnel is known for the packet.
    const NO_TUNNEL: Self::Error;
    /// A packet was taken out.
    const DECAPSULATED: Self::Count;

    /// Reads what stands behind the outer header: behind that of UDP where the carrier is a port,
    /// otherwise after that of IP.
    ///
    /// # Errors
    /// Why it is no packet of a tunnel.
    fn open(bytes: &[u8], by: By) -> Result<Opened, Self::Error>;
    /// The key of the tunnel that packets dropped for this reason are received on instead, whole:
    /// one that accepts them from any remote address. `None` where they are dropped.
    fn forwarded(why: &Self::Error) -> Option<u64> {
        let _ = why;
        None
    }
}

/// Counters of input nodes of most kinds.
#[derive(Clone, Copy, graph::Count)]
pub enum InputCount {
    /// good packets decapsulated.
    #[name("good packets decapsulated")]
    Decapsulated,
}

/// Takes packets of far ends over IPv4 or IPv6.
pub struct Input<K, const IS_6: bool> {
    kind: u8,
    ends: EndsReader,
    ports: SlabReader<Port>,
    counters: Arc<Counters>,
    of: PhantomData<fn() -> K>,
}

impl<K, const IS_6: bool> Clone for Input<K, IS_6> {
    fn clone(&self) -> Self {
        let (ends, ports) = (self.ends.clone(), self.ports.clone());
        Self { kind: self.kind, ends, ports, counters: Arc::clone(&self.counters), of: PhantomData }
    }
}

/// Edges of [`Input`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// An IPv4 packet was carried.
    #[to("ip4-input")]
    Ip4,
    /// An IPv6 packet was carried.
    #[to("ip6-input")]
    Ip6,
    /// An Ethernet frame was carried.
    #[to("ethernet-input")]
    Ethernet,
    /// Next node that the tunnel names.
    #[dynamic]
    Own(Slot),
}

/// The tunnel of a packet.
pub(super) struct Found {
    end: End,
    /// Bytes in front of the payload; `None` for a packet received whole.
    front: Option<usize>,
    carried: Link,
    /// Outer traffic class.
    class: u8,
}

/// The outer header of a packet.
struct Outside {
    by: By,
    class: u8,
    remote: u128,
    local: u128,
    /// Bytes from its start to what it announces, in the current bytes.
    len: usize,
}

impl Outside {
    #[inline(always)]
    fn of<const IS_6: bool>(p: &Buffer<'_>) -> Option<Self> {
        let len = usize::try_from(p.l4_offset() - p.offset()).unwrap_or_default();
        let udp = || udp::Header::ref_from_prefix(p.bytes_from(p.l4_offset())).ok();
        let by = |protocol| {
            let udp = if protocol == Protocol::UDP { udp() } else { None };
            By { protocol, port: udp.map_or(0, |(udp, _)| udp.dst_port.get()) }
        };
        let bytes = p.bytes_from(p.l3_offset());
        if IS_6 {
            let (h, _) = ip6::Header::ref_from_prefix(bytes).ok()?;
            let (remote, local) = (u128::from_be_bytes(h.src), u128::from_be_bytes(h.dst));
            let protocol = ip6::upper_layer(bytes).map_or(h.next_header, |upper| upper.protocol);
            return Some(Self { by: by(protocol), class: h.traffic_class(), remote, local, len });
        }
        let (h, _) = ip4::Header::ref_from_prefix(bytes).ok()?;
        let bits = |addr| u128::from(u32::from_be_bytes(addr));
        let (remote, local) = (bits(h.src), bits(h.dst));
        Some(Self { by: by(h.protocol), class: h.tos, remote, local, len })
    }
}

impl<K: Decapsulate, const IS_6: bool> Input<K, IS_6> {
    pub(super) fn new(
        kind: u8,
        ends: EndsReader,
        (ports, counters): (SlabReader<Port>, Arc<Counters>),
    ) -> Self {
        Self { kind, ends, ports, counters, of: PhantomData }
    }
    /// The tunnel of a packet.
    #[inline(always)]
    pub(super) fn find(&self, p: &Buffer<'_>, epoch: Epoch<'_>) -> Result<Found, K::Error> {
        let outside = Outside::of::<IS_6>(p).ok_or(K::NO_TUNNEL)?;
        let found = self.find_open(p, &outside, epoch);
        found.or_else(|why| self.find_whole(p, &outside, why, epoch))
    }
    /// The tunnel that a packet is received on whole, as it is dropped for this reason otherwise.
    #[cold]
    fn find_whole(
        &self,
        p: &Buffer<'_>,
        outside: &Outside,
        why: K::Error,
        epoch: Epoch<'_>,
    ) -> Result<Found, K::Error> {
        let Some(key) = K::forwarded(&why) else { return Err(why) };
        let Outside { local, class, .. } = *outside;
        let tuple = Tuple { kind: self.kind, table: p.fib(), key, remote: 0, local };
        let end = self.ends.find_any(&tuple, epoch).ok_or(why)?;
        if end.is_sealed || !self.ports.read(end.interface.0, epoch).is_some_and(|p| p.up) {
            return Err(why);
        }
        let own = if IS_6 { Link::Ip6 } else { Link::Ip4 };
        Ok(Found { end, front: None, carried: end.carried.unwrap_or(own), class })
    }
    #[inline(always)]
    fn find_open(
        &self,
        p: &Buffer<'_>,
        outside: &Outside,
        epoch: Epoch<'_>,
    ) -> Result<Found, K::Error> {
        let bytes = p.bytes().get(outside.len..).ok_or(K::NO_TUNNEL)?;
        let Opened { key, len, carried } = K::open(bytes, outside.by)?;
        let Outside { remote, local, .. } = *outside;
        let tuple = Tuple { kind: self.kind, table: p.fib(), key, remote, local };
        let found = self.ends.find(&tuple, epoch);
        let found = found.or_else(|| self.ends.find_any(&tuple, epoch));
        let is_up = |end: &End| self.ports.read(end.interface.0, epoch).is_some_and(|p| p.up);
        // Packets of a protected tunnel come from those that open them.
        let end = found.filter(|end| is_up(end) && !end.is_sealed).ok_or(K::NO_TUNNEL)?;
        if let Some(guard) = end.guard {
            let inner = bytes.get(len..).unwrap_or(&[]);
            if !(guard.check)(inner, remote, guard.number) {
                return Err(K::NO_TUNNEL);
            }
        }
        let front = Some(outside.len + len);
        Ok(Found { end, front, carried: end.carried.unwrap_or(carried), class: outside.class })
    }
}

/// Restores a packet's outer header, or that of its frame. This costs a hop, so that none loops for
/// ever.
#[cold]
fn rewind<const IS_6: bool>(p: &mut Buffer<'_>, carried: Link) -> Option<()> {
    let back = usize::try_from(p.offset() - p.l3_offset()).ok()?;
    p.prepend(back)?;
    let hops = if IS_6 { V6::hops(p) } else { V4::hops(p) };
    hops.filter(|hops| *hops > 1)?;
    if IS_6 {
        V6::spend_hop(p)
    } else {
        V4::spend_hop(p)
    }
    if carried == Link::Ethernet {
        let frame = p.flags().has(Flags::L2).then(|| p.l3_offset() - p.l2_offset())?;
        p.prepend(usize::try_from(frame).ok()?)?;
    }
    p.clear_flags(Flags::L4.with(ENCLOSED));
    Some(())
}

impl<K: Decapsulate, const IS_6: bool> Node for Input<K, IS_6> {
    const NAME: &'static str = K::INPUT[IS_6 as usize];
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = K::Error;
    type Count = K::Count;
    const DROP: &'static str = if IS_6 { "ip6-drop" } else { "ip4-drop" };

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, this) = (frame.epoch(), &*self);
        let received = this.counters.rx.row(frame.thread());
        let mut taken = 0;
        frame.each(
            #[inline(always)]
            |p| {
                let Found { end, front, carried, class } = this.find(p, epoch)?;
                if let Some(front) = front {
                    p.advance(front).ok_or(K::NO_TUNNEL)?;
                    forget_outer(p);
                    if end.copies_ecn {
                        take_congestion(class, carried, p);
                    }
                } else {
                    rewind::<IS_6>(p, carried).ok_or(K::NO_TUNNEL)?;
                }
                let interface = end.interface.0;
                p.set_rx(interface);
                if let Some(counter) = received.get(interface as usize) {
                    counter.add(1, p.total_len() as u64);
                }
                taken += 1;
                p.trace(|_| Taken { interface });
                Ok(match (end.next, carried) {
                    (Some(next), _) => Next::Own(next),
                    (None, Link::Ip4) => Next::Ip4,
                    (None, Link::Ip6) => Next::Ip6,
                    (None, Link::Mpls) => Next::Own(end.mpls.ok_or(K::NO_TUNNEL)?),
                    (None, Link::Ethernet) => Next::Ethernet,
                })
            },
        );
        frame.count(K::DECAPSULATED, taken);
    }
}

struct Taken {
    interface: u32,
}

impl Record for Taken {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  decapsulated by {}", names.name("interface", self.interface))
    }
}
