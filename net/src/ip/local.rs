//! Packets for this router: checked, and passed to the node that is registered for their protocol
//! (RFC 1122 section 3.3.1.4).
//!
//! `ip4-receive` and `ip6-receive` deliver correct packets. Others go to `ip4-local` and
//! `ip6-local`, which check again, count, drop, and send errors.
//!
//! What comes from an address of our own, or from one that no route leads back to, is not right
//! (RFC 1812 section 5.3.8). What this router sends to itself is.

use std::convert::Infallible;

use graph::{Buffer, Flags, Frame, Node, Slot};
use infra::rcu::{Epoch, Reader};
use wire::{Protocol, udp};

use super::dispatch::Edges;
use super::reverse_path::{ReversePath, ReversePaths};
use super::{Forwarding, Upper, Version};
use crate::drops::Problem;

/// `ip4-receive`, `ip6-receive`, and the nodes at the end of their feature arcs.
#[derive(Clone)]
pub struct Receive<V: Version> {
    /// Version.
    pub version: V,
    /// Nodes by protocol.
    pub protocols: Reader<Edges>,
    /// Nodes by UDP port.
    pub ports: Reader<Edges>,
    /// Reverse paths to sources.
    pub reverse_paths: ReversePaths<V::Family>,
}

/// Edges of [`Receive`].
#[derive(Clone, Copy, graph::Next)]
pub enum Received<V: Version> {
    /// Something is wrong.
    #[to(V::NODES.local)]
    Local(V),
    /// A feature, or the node of the protocol.
    #[dynamic]
    To(Slot),
}

impl<V: Version> Node for Receive<V> {
    const NAME: &'static str = V::NODES.receive;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Received<V>;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let arc = frame.start(V::LOCAL_ARC);
        let epoch = frame.epoch();
        let (protocols, ports) = (self.protocols.read(epoch), self.ports.read(epoch));
        frame.each(|p| {
            p.trace(Forwarding::<V>::of);
            let rx = p.rx();
            if let Some(feature) = arc.first(rx) {
                return Ok(Received::To(feature));
            }
            let upper = inspect::<V>(&self.reverse_paths, ports, p, epoch).ok();
            let taker = upper.and_then(|u| protocols.find(u.protocol.0.into()));
            Ok(taker.map_or(Received::Local(self.version), Received::To))
        });
    }
}

/// `ip4-local`, `ip6-local`.
#[derive(Clone)]
pub struct Local<V: Version> {
    /// Version.
    pub version: V,
    /// Nodes by protocol.
    pub protocols: Reader<Edges>,
    /// Nodes by UDP port.
    pub ports: Reader<Edges>,
    /// Reverse paths to sources.
    pub reverse_paths: ReversePaths<V::Family>,
}

/// To the node of its protocol, or to an ICMP error for its sender.
#[derive(Clone, Copy, graph::Next)]
pub enum Delivery<V: Version> {
    /// An ICMP error to the sender.
    #[to(V::NODES.icmp_error, payload = Problem)]
    IcmpError(V),
    /// The taker.
    #[dynamic]
    To(Slot),
}

/// Edges of [`Local`].
#[derive(Clone, Copy, graph::Next)]
pub enum Sorted<V: Version> {
    /// An ICMP error to the sender.
    #[to(V::NODES.icmp_error, payload = Problem)]
    IcmpError(V),
    /// A fragment.
    #[to(V::NODES.reassemble)]
    Reassemble(V),
    /// Features give packets without a handler to it.
    #[to(V::NODES.punt)]
    Punt(V),
    /// The taker.
    #[dynamic]
    To(Slot),
}

impl<V: Version> Node for Local<V> {
    const NAME: &'static str = V::NODES.local;
    const COUNTED_AT: &'static str = V::LOCAL_COUNTED_AT;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Sorted<V>;
    type Error = V::Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let punts = frame.start(V::PUNT_ARC);
        let epoch = frame.epoch();
        let (protocols, ports) = (self.protocols.read(epoch), self.ports.read(epoch));
        frame.each(|p| {
            p.trace(Forwarding::<V>::of);
            if V::is_fragment(p) {
                return Ok(Sorted::Reassemble(self.version));
            }
            let upper = inspect::<V>(&self.reverse_paths, ports, p, epoch)?;
            if let Some(taker) = protocols.find(upper.protocol.0.into()) {
                return Ok(Sorted::To(taker));
            }
            if punts.first(p.rx()).is_some() {
                p.error(V::UNKNOWN_PROTOCOL);
                return Ok(Sorted::Punt(self.version));
            }
            // TCP without a taker is dropped without an error, as in VPP.
            if upper.protocol == Protocol::TCP {
                return Err(V::UNKNOWN_PROTOCOL);
            }
            let problem = V::protocol_problem(p, &upper).ok_or(V::UNKNOWN_PROTOCOL)?;
            p.error(V::UNKNOWN_PROTOCOL);
            p.set_payload(problem);
            Ok(Sorted::IcmpError(self.version))
        });
    }
}

/// Checks the payload and the source of a packet; notes the offset of the payload.
#[inline(always)]
fn inspect<V: Version>(
    reverse_paths: &ReversePaths<V::Family>,
    ports: &Edges,
    p: &mut Buffer<'_>,
    epoch: Epoch<'_>,
) -> Result<Upper, V::Error> {
    let upper = V::upper(p)?;
    V::verify(p, &upper)
        .or_else(|why| if is_bare(ports, p, &upper) { Ok(()) } else { Err(why) })?;
    if !p.flags().has(Flags::LOCAL)
        && let Some(source) = V::source_to_check(p, &upper)
    {
        match reverse_paths.find(p.fib(), source, None, epoch) {
            ReversePath::Away | ReversePath::Proxied => (),
            ReversePath::Here => return Err(V::SPOOFED),
            ReversePath::Nowhere => return Err(V::NO_WAY_BACK),
        }
    }
    let l3 = p.offset();
    p.set_l3_offset(l3);
    p.set_l4_offset(l3 + upper.offset as i16);
    p.add_flags(Flags::L3.with(Flags::L4));
    Ok(upper)
}

/// Whether a packet is UDP without a checksum, and for a port that needs none: a tunnel's, or one
/// without a listener.
#[cold]
fn is_bare(ports: &Edges, p: &Buffer<'_>, upper: &Upper) -> bool {
    let udp = (upper.protocol == Protocol::UDP).then(|| upper.header::<udp::Header>(p)).flatten();
    udp.is_some_and(|udp| {
        let len = usize::from(udp.len.get());
        let is_right = (size_of::<udp::Header>()..=upper.len).contains(&len);
        is_right && udp.checksum.get() == 0 && !ports.needs_checksum(udp.dst_port.get())
    })
}
