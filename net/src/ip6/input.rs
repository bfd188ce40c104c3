//! `ip6-input`: the checks that every IPv6 packet must pass (RFC 8200 section 3, RFC 4291 sections
//! 2.5.3, 2.5.6 and 2.7). Hop-by-hop options are for those who are configured to look at them (RFC
//! 8200 section 4); packets with them are forwarded as all others.

use std::convert::Infallible;
use std::sync::Arc;

use graph::{Buffer, Flags, Frame, Node, Packet, Slot};
use infra::rcu::SlabReader;
use wire::Protocol;
use wire::ip6::{FragmentHeader, Header};
use zerocopy::FromBytes;

use super::{Error, IP6_MULTICAST, IP6_UNICAST, V6};
use crate::drops::Problem;
use crate::interface::{Counters, Interfaces, Port};
use crate::ip::{Headers, Version, count};

const LOOPBACK: [u8; 16] = std::net::Ipv6Addr::LOCALHOST.octets();
const MULTICAST: u8 = 0xff;
/// The first byte of link-local addresses; those of groups are higher.
const LINK_LOCAL: u8 = 0xfe;

/// Checks IPv6 headers, cuts what follows the packet, and starts the features of the interface.
#[derive(Clone)]
pub struct Input {
    ports: SlabReader<Port>,
    counters: Arc<Counters>,
}

/// Edges of [`Input`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// To find its way.
    #[to("ip6-lookup")]
    Lookup,
    /// To a group.
    #[to("ip6-mfib-forward-lookup")]
    Multicast,
    /// Received where IPv6 is not enabled.
    #[to("ip6-not-enabled")]
    NotEnabled,
    /// To an ICMP error for the sender.
    #[to("ip6-icmp-error", payload = Problem)]
    IcmpError,
    /// A feature.
    #[dynamic]
    Feature(Slot),
}

impl Input {
    pub(crate) fn new(interfaces: &Interfaces) -> Self {
        Self { ports: interfaces.ports(), counters: interfaces.counters() }
    }
}

impl Node for Input {
    const NAME: &'static str = "ip6-input";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = V6::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let (unicast, multicast) = (frame.start(&IP6_UNICAST), frame.start(&IP6_MULTICAST));
        let has_features = unicast.is_used() | multicast.is_used();
        let received = self.counters.ip6.row(frame.thread());
        // Neighbouring packets nearly always come from one interface.
        let (mut known, mut table, mut run) = (u32::MAX, None, 0);
        frame.passes(|packets| {
            packets.usual(packets.all(), |_, p| {
                let rx = p.rx();
                if rx != known {
                    count(received, known, run);
                    (known, run) = (rx, 0);
                    table = self.ports.read(rx, epoch).and_then(|port| port.ip6);
                }
                let fib = table.filter(|_| plain(p.bytes()).is_some())?;
                run += 1;
                p.set_fib(fib);
                if has_features {
                    return Some(unicast.first(rx).map_or(Next::Lookup, Next::Feature));
                }
                Some(Next::Lookup)
            });
            packets.others(packets.all(), |_, p| {
                let rx = p.rx();
                count(received, rx, 1);
                p.trace(Headers::<V6>::of);
                let table = self.ports.read(rx, epoch).and_then(|port| port.ip6);
                let Some(fib) = table else { return Ok(Next::NotEnabled) };
                p.set_fib(fib);
                if let Some(next) = check(p)? {
                    return Ok(next);
                }
                let (arc, end) = if is_multicast(p) {
                    (multicast, Next::Multicast)
                } else {
                    (unicast, Next::Lookup)
                };
                Ok(arc.first(rx).map_or(end, Next::Feature))
            });
        });
        count(received, known, run);
    }
}

/// The header of a packet that passes all checks, ends with its buffer and is for one receiver:
/// what nearly all do.
#[inline(always)]
pub(super) fn plain(packet: &[u8]) -> Option<&Header> {
    let (header, _) = Header::ref_from_prefix(packet).ok()?;
    let is_plain = header.version() == 6
        && size_of::<Header>() + usize::from(header.payload_len.get()) == packet.len()
        && header.hop_limit != 0
        && (header.src[0] < LINK_LOCAL) & (header.dst[0] != MULTICAST)
        && (header.src != LOOPBACK) & (header.dst != LOOPBACK);
    is_plain.then_some(header)
}

/// Runs the checks one by one, and truncates padding. Returns the next node, if unusual.
/// What a link-local address sent is marked: it does not leave its link (RFC 4291 section 2.5.6).
#[inline(never)]
fn check(p: &mut Packet<'_, Input>) -> Result<Option<Next>, Error> {
    let header = *p.header::<Header>().ok_or(Error::TooShort)?;
    if header.version() != 6 {
        return Err(Error::Version);
    }
    if header.src == LOOPBACK {
        return Err(Error::SrcLookupMiss);
    }
    if header.dst == LOOPBACK {
        return Err(Error::DstLookupMiss);
    }
    if header.src_addr().is_unicast_link_local() {
        p.add_flags(Flags::ONE_LINK);
    }
    let len = size_of::<Header>() + usize::from(header.payload_len.get());
    // The sender of a fragment may have to get an error for its length (RFC 8200 section 4.5),
    // which reassembly detects.
    if len > p.total_len() && header.next_header != Protocol::FRAGMENT {
        return Err(Error::BadLength);
    }
    if !is_odd_fragment(p) {
        p.truncate_chain(len); // Ethernet pads short frames
    }
    if header.hop_limit == 0 {
        p.error(Error::TimeExpired);
        p.set_payload(V6::EXPIRED_PROBLEM);
        return Ok(Some(Next::IcmpError));
    }
    Ok(None)
}

/// Whether a packet is a fragment that others follow, with bytes that are not a multiple of 8. It
/// has enough to fill any frame, so they are not padding: reassembly sends the error.
fn is_odd_fragment(p: &Buffer<'_>) -> bool {
    let Ok((header, rest)) = Header::ref_from_prefix(p.bytes()) else { return false };
    let fragment = FragmentHeader::ref_from_prefix(rest).ok();
    let others_follow = fragment.is_some_and(|(fragment, _)| fragment.more_fragments());
    header.next_header == Protocol::FRAGMENT && others_follow && !p.total_len().is_multiple_of(8)
}

#[inline(always)]
fn is_multicast(p: &Buffer<'_>) -> bool {
    p.header::<Header>().is_some_and(|h| h.dst[0] == MULTICAST)
}
