//! `ip4-icmp-input`, `ip6-icmp-input`: dispatch of messages for this router by type.

use graph::{Buffer, Frame, Node, Slot};
use infra::rcu::Reader;
use wire::icmp4::Header;
use wire::{icmp4, icmp6, ip4, ip6};
use zerocopy::FromBytes;

use super::reason6::{Count6, Error6};
use crate::ip::{Edges, Headers, V4, V6, Version};

/// Passes ICMP messages to the node that is registered for their type.
#[derive(Clone)]
pub struct IcmpInput<V> {
    /// Version.
    pub version: V,
    /// Nodes by type.
    pub types: Reader<Edges>,
}

/// Edges of [`IcmpInput`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: Version> {
    /// Features give messages of unknown types to another router.
    #[to(V::NODES.punt)]
    Punt(V),
    /// The node of the type.
    #[dynamic]
    To(Slot),
}

/// Drops of [`IcmpInput`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// unknown type.
    UnknownType,
    /// invalid code for type.
    InvalidCodeForType,
    /// invalid hop_limit for type.
    InvalidHopLimitForType,
    /// payload length too small for type.
    LengthTooSmallForType,
    /// error message dropped.
    Drop,
}

/// Counters of [`IcmpInput`] besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// echo replies sent.
    EchoRepliesSent,
}

/// The ICMP of an IP version.
pub trait Messages: Version {
    /// Reasons for which messages end here.
    type Reason: graph::Reason + From<Error>;
    /// Further counters.
    type Count: graph::Count;
    /// Type of echo requests.
    const ECHO_REQUEST: u8;
    /// Answers to them.
    const ECHOES: Self::Count;
    /// Checks a message of `len` bytes, apart from its checksum.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(p: &Buffer<'_>, header: Header, len: usize) -> Result<(), Error>;
}

impl<V: Messages> Node for IcmpInput<V> {
    const NAME: &'static str = V::NODES.icmp_input;
    const EXPLAINABLE: bool = true;
    type Next = Next<V>;
    type Error = V::Reason;
    type Count = V::Count;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let punts = frame.start(V::PUNT_ARC);
        let types = self.types.read(frame.epoch());
        let mut echoes = 0;
        frame.each(|p| {
            p.trace(Headers::<V>::of);
            let message = p.bytes_from(p.l4_offset());
            let (header, _) =
                Header::read_from_prefix(message).map_err(|_| Error::LengthTooSmallForType)?;
            let Some(taker) = types.find(header.kind.0.into()) else {
                punts.first(p.rx()).ok_or(Error::UnknownType)?;
                p.error(V::Reason::from(Error::UnknownType));
                return Ok(Next::Punt(self.version));
            };
            V::check(p, header, message.len())?;
            echoes += u64::from(header.kind.0 == V::ECHO_REQUEST);
            Ok(Next::To(taker))
        });
        frame.count(V::ECHOES, echoes);
    }
}

impl Messages for V4 {
    type Reason = Error;
    type Count = Count;
    const ECHOES: Count = Count::EchoRepliesSent;
    const ECHO_REQUEST: u8 = icmp4::Type::ECHO_REQUEST.0;

    fn check(p: &Buffer<'_>, header: Header, len: usize) -> Result<(), Error> {
        if len < size_of::<icmp4::Echo>() {
            return Err(Error::LengthTooSmallForType);
        }
        // Broadcast pings are not answered (RFC 1812 section 4.3.3.6 allows it).
        let is_echo = header.kind == icmp4::Type::ECHO_REQUEST;
        let is_for_all = |p: &Buffer<'_>| p.header::<ip4::Header>().is_none_or(|h| h.dst[0] >= 240);
        if is_echo && is_for_all(p) { Err(Error::Drop) } else { Ok(()) }
    }
}

impl Messages for V6 {
    type Reason = Error6;
    type Count = Count6;
    const ECHOES: Count6 = Count6::EchoRepliesSent;
    const ECHO_REQUEST: u8 = icmp6::Type::ECHO_REQUEST.0;

    fn check(p: &Buffer<'_>, header: Header, len: usize) -> Result<(), Error> {
        let kind = icmp6::Type(header.kind.0);
        let least = match kind {
            icmp6::Type::ROUTER_ADVERTISEMENT => 16,
            icmp6::Type::NEIGHBOR_SOLICITATION | icmp6::Type::NEIGHBOR_ADVERTISEMENT => 24,
            icmp6::Type::REDIRECT => 40,
            _ => 8,
        };
        if len < least {
            return Err(Error::LengthTooSmallForType);
        }
        // Neighbour discovery never crosses a router (RFC 4861 sections 6.1 and 7.1).
        if (icmp6::Type::ROUTER_SOLICITATION..=icmp6::Type::REDIRECT).contains(&kind) {
            if p.header::<ip6::Header>().is_none_or(|h| h.hop_limit != 255) {
                return Err(Error::InvalidHopLimitForType);
            }
            if header.code != 0 {
                return Err(Error::InvalidCodeForType);
            }
        }
        Ok(())
    }
}
