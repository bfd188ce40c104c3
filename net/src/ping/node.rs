//! `ip4-icmp-echo-reply`, `ip6-icmp-echo-reply`: echoes of requests of ours.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::net::IpAddr;

use graph::{Buffer, Frame, Node};
use infra::rcu::Reader;
use wire::{icmp4, ip4, ip6};
use zerocopy::FromBytes;

use super::EchoReply;
use super::packet::Sent;
use crate::ip::{Headers, V4, V6, Version};
use crate::punt::{Event, EventSender};

/// A version that echoes come in.
pub trait Echoes: Version {
    /// Name of the node.
    const REPLIES: &'static str;
    /// Who sent a packet, and the hops it has left.
    fn from(p: &Buffer<'_>) -> Option<(IpAddr, u8)>;
}

impl Echoes for V4 {
    const REPLIES: &'static str = "ip4-icmp-echo-reply";
    fn from(p: &Buffer<'_>) -> Option<(IpAddr, u8)> {
        p.header::<ip4::Header>().map(|ip| (ip.src_addr().into(), ip.ttl))
    }
}

impl Echoes for V6 {
    const REPLIES: &'static str = "ip6-icmp-echo-reply";
    fn from(p: &Buffer<'_>) -> Option<(IpAddr, u8)> {
        p.header::<ip6::Header>().map(|ip| (ip.src_addr().into(), ip.hop_limit))
    }
}

/// Tells control which echoes came, and when.
#[derive(Clone)]
pub struct Replies<V> {
    version: std::marker::PhantomData<V>,
    ids: Reader<Vec<u16>>,
    events: EventSender,
}

/// Drops of [`Replies`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// echo replies nobody waits for.
    Unexpected,
    /// echo replies too short.
    TooShort,
}

/// Name of the node of one version.
pub(super) fn name<V: Echoes>() -> &'static str {
    V::REPLIES
}

impl<V: Echoes> Replies<V> {
    pub(super) fn new(ids: Reader<Vec<u16>>, events: EventSender) -> Self {
        Self { version: std::marker::PhantomData, ids, events }
    }
}

impl<V: Echoes> Node for Replies<V> {
    const NAME: &'static str = V::REPLIES;
    type Next = Infallible;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (ids, now) = (self.ids.read(frame.epoch()), frame.now());
        let events = &mut self.events;
        frame.consume(|p| {
            p.trace(Headers::<V>::of);
            // The header is the same in both versions.
            let message = p.bytes_from(p.l4_offset());
            let (echo, rest) =
                icmp4::Echo::ref_from_prefix(message).map_err(|_| Error::TooShort)?;
            let (id, seq) = (echo.id.get(), echo.seq.get());
            if !ids.contains(&id) {
                return Err(Error::Unexpected);
            }
            let (sent, _) = Sent::ref_from_prefix(rest).map_err(|_| Error::TooShort)?;
            let (from, ttl) = V::from(p).ok_or(Error::TooShort)?;
            let seconds = (now - sent.seconds()).max(0.0);
            events.send(Event::PingReply(EchoReply { id, seq, from, ttl, seconds }));
            Ok(())
        });
    }
}
