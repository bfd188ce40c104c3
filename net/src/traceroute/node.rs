//! `ip4-traceroute-answer`, `ip6-traceroute-answer`: ICMP errors about probes of ours.
#![forbid(unsafe_code)]

use std::convert::Infallible;

use graph::{Frame, Node};
use infra::rcu::Reader;
use wire::{Protocol, icmp4, ip4, ip6, udp};
use zerocopy::FromBytes;

use super::{Answer, Key};
use crate::ip::{Headers, V4, V6};
use crate::ping::Echoes;
use crate::punt::{Event, EventSender};

/// A version whose ICMP errors quote packets.
pub trait Quotes: Echoes {
    /// Name of the node.
    const ANSWERS: &'static str;
    /// What a quoted packet without options carries.
    fn quoted(packet: &[u8]) -> Option<(Protocol, &[u8])>;
}

impl Quotes for V4 {
    const ANSWERS: &'static str = "ip4-traceroute-answer";
    fn quoted(packet: &[u8]) -> Option<(Protocol, &[u8])> {
        let (header, _) = ip4::Header::ref_from_prefix(packet).ok()?;
        Some((header.protocol, packet.get(header.header_len()..)?))
    }
}

impl Quotes for V6 {
    const ANSWERS: &'static str = "ip6-traceroute-answer";
    fn quoted(packet: &[u8]) -> Option<(Protocol, &[u8])> {
        let (header, rest) = ip6::Header::ref_from_prefix(packet).ok()?;
        Some((header.next_header, rest))
    }
}

/// Tells control which probes were answered, and when.
#[derive(Clone)]
pub struct Answers<V> {
    version: std::marker::PhantomData<V>,
    keys: Reader<Vec<Key>>,
    events: EventSender,
}

/// Drops of [`Answers`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// errors about nothing of ours.
    Unexpected,
    /// errors that quote too little.
    TooShort,
}

/// Name of the node of one version.
pub(super) fn name<V: Quotes>() -> &'static str {
    V::ANSWERS
}

impl<V: Quotes> Answers<V> {
    pub(super) fn new(keys: Reader<Vec<Key>>, events: EventSender) -> Self {
        Self { version: std::marker::PhantomData, keys, events }
    }
}

impl<V: Quotes> Node for Answers<V> {
    const NAME: &'static str = V::ANSWERS;
    type Next = Infallible;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (keys, at) = (self.keys.read(frame.epoch()), frame.now());
        let events = &mut self.events;
        frame.consume(|p| {
            p.trace(Headers::<V>::of);
            let message = p.bytes_from(p.l4_offset());
            // The header is as long in both versions.
            let (error, packet) =
                icmp4::Error::ref_from_prefix(message).map_err(|_| Error::TooShort)?;
            let (key, seq) = V::quoted(packet).and_then(probe).ok_or(Error::TooShort)?;
            if !keys.contains(&key) {
                return Err(Error::Unexpected);
            }
            let (from, _) = V::from(p).ok_or(Error::TooShort)?;
            let error = Some((error.icmp.kind.0, error.icmp.code));
            events.send(Event::ProbeAnswer(Answer { key, seq, from, error, at }));
            Ok(())
        });
    }
}

/// Whose probe a quoted packet is, and which one.
fn probe((protocol, message): (Protocol, &[u8])) -> Option<(Key, u16)> {
    if protocol == Protocol::UDP {
        let (header, _) = udp::Header::ref_from_prefix(message).ok()?;
        let key = Key { is_udp: true, id: header.src_port.get() };
        return Some((key, header.dst_port.get()));
    }
    let (echo, _) = icmp4::Echo::ref_from_prefix(message).ok()?;
    Some((Key { is_udp: false, id: echo.id.get() }, echo.seq.get()))
}
