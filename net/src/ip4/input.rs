//! `ip4-input`: the checks that every IPv4 packet must pass (RFC 1812 sections 5.2.2 and 4.2.2).
//! Sources are checked where a feature wants it, and on packets for this router.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;

use graph::{Buffer, Frame, Node, Packet, Slot};
use infra::rcu::SlabReader;
use wire::icmp4;
use wire::ip4::{Header, OFFSET_MASK, VERSION_IHL};
use zerocopy::FromBytes;

use super::options::{self, RequestedOption};
use super::{Error, IP4_MULTICAST, IP4_UNICAST, V4};
use crate::drops::Problem;
use crate::interface::{Counters, Interfaces, Port};
use crate::ip::{Headers, Version, count};

/// Whether the header checksum is looked at.
pub trait Checksum: Clone + Send + 'static {
    /// The node's name.
    const NAME: &'static str;
    /// The node it is counted at, if not itself.
    const COUNTED_AT: &'static str;
    /// Whether the checksum of a header without options is right.
    fn is_right(header: &Header) -> bool;
    /// Whether the checksum of a header with these options is right.
    fn is_right_with(header: &Header, options: &[u8]) -> bool;
}

/// `ip4-input`: verifies it.
#[derive(Clone)]
pub struct VerifyChecksum;

/// `ip4-input-no-checksum`: verified before.
#[derive(Clone)]
pub struct TrustChecksum;

impl Checksum for VerifyChecksum {
    const NAME: &'static str = "ip4-input";
    const COUNTED_AT: &'static str = "";
    #[inline(always)]
    fn is_right(header: &Header) -> bool {
        header.is_checksum_valid()
    }
    fn is_right_with(header: &Header, options: &[u8]) -> bool {
        header.is_checksum_valid_with(options)
    }
}

impl Checksum for TrustChecksum {
    const NAME: &'static str = "ip4-input-no-checksum";
    const COUNTED_AT: &'static str = V4::NODES.input;
    #[inline(always)]
    fn is_right(_: &Header) -> bool {
        true
    }
    fn is_right_with(_: &Header, _: &[u8]) -> bool {
        true
    }
}

/// Checks IPv4 headers, cuts what follows the packet, and starts the features of the interface.
#[derive(Clone)]
pub struct Input<C> {
    ports: SlabReader<Port>,
    counters: Arc<Counters>,
    checksum: PhantomData<C>,
}

/// Edges of [`Input`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// To find its way.
    #[to("ip4-lookup")]
    Lookup,
    /// To a group.
    #[to("ip4-mfib-forward-lookup")]
    Multicast,
    /// It has options that this router must look at.
    #[to("ip4-options")]
    Options,
    /// Received where IPv4 is not enabled.
    #[to("ip4-not-enabled")]
    NotEnabled,
    /// To an ICMP error for the sender.
    #[to("ip4-icmp-error", payload = Problem)]
    IcmpError,
    /// A feature.
    #[dynamic]
    Feature(Slot),
}

impl<C: Checksum> Input<C> {
    pub(crate) fn new(interfaces: &Interfaces) -> Self {
        let (ports, counters) = (interfaces.ports(), interfaces.counters());
        Self { ports, counters, checksum: PhantomData }
    }
}

impl<C: Checksum> Node for Input<C> {
    const NAME: &'static str = C::NAME;
    const COUNTED_AT: &'static str = C::COUNTED_AT;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = V4::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let (unicast, multicast) = (frame.start(&IP4_UNICAST), frame.start(&IP4_MULTICAST));
        let has_features = unicast.is_used() | multicast.is_used();
        let received = self.counters.ip4.row(frame.thread());
        // Neighbouring packets nearly always come from one interface.
        let (mut known, mut table, mut run) = (u32::MAX, None, 0);
        let mut with_options = 0;
        frame.passes(|packets| {
            packets.usual(packets.all(), |_, p| {
                let rx = p.rx();
                if rx != known {
                    count(received, known, run);
                    (known, run) = (rx, 0);
                    table = self.ports.read(rx, epoch).and_then(|port| port.ip4);
                }
                let fib = table.filter(|_| plain::<C>(p.bytes()).is_some())?;
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
                p.trace(Headers::<V4>::of);
                let table = self.ports.read(rx, epoch).and_then(|port| port.ip4);
                let Some(fib) = table else { return Ok(Next::NotEnabled) };
                p.set_fib(fib);
                let (options, next) = check(p)?;
                with_options += u64::from(options);
                if let Some(next) = next {
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
        frame.count_as(Error::Options, with_options);
    }
}

/// The header of a packet that passes all checks, has no options, ends with its buffer and is for
/// one receiver: what nearly all do.
#[inline(always)]
pub(super) fn plain<C: Checksum>(packet: &[u8]) -> Option<&Header> {
    let (header, _) = Header::ref_from_prefix(packet).ok()?;
    let is_plain = header.version_ihl == VERSION_IHL
        && usize::from(header.total_len.get()) == packet.len()
        && header.fragment.get() & OFFSET_MASK != 1
        && header.ttl != 0
        && header.dst[0] < 0xe0
        && C::is_right(header);
    is_plain.then_some(header)
}

/// The checks one by one; cuts what follows the packet. Says whether it has options, and where it
/// goes if not the usual way.
#[inline(never)]
fn check<C: Checksum>(p: &mut Packet<'_, Input<C>>) -> Result<(bool, Option<Next>), Error> {
    let header = *p.header::<Header>().ok_or(Error::TooShort)?;
    if header.version() != 4 {
        return Err(Error::Version);
    }
    let header_len = header.header_len();
    if header_len < size_of::<Header>() {
        return Err(Error::HdrTooShort);
    }
    let options = p.bytes().get(size_of::<Header>()..header_len).ok_or(Error::BadLength)?;
    let has_options = !options.is_empty();
    if !C::is_right_with(&header, options) {
        return Err(Error::BadChecksum);
    }
    let asked = options::read(options);
    // An offset of 8 bytes lets a second fragment write over TCP's flags (RFC 1858, RFC 3128).
    if header.fragment.get() & OFFSET_MASK == 1 {
        return Err(Error::FragmentOffsetOne);
    }
    let len = usize::from(header.total_len.get());
    if len < header_len {
        return Err(Error::TooShort);
    }
    if len > p.total_len() {
        return Err(Error::BadLength);
    }
    p.truncate_chain(len); // Ethernet pads short frames
    if header.ttl == 0 {
        p.error(Error::TimeExpired);
        p.set_payload(V4::EXPIRED_PROBLEM);
        return Ok((false, Some(Next::IcmpError)));
    }
    Ok(match asked {
        RequestedOption::Nothing => (has_options, None),
        RequestedOption::Attention => (true, Some(Next::Options)),
        // RFC 1812 section 4.3.3.5
        RequestedOption::Wrong(at) => {
            p.error(V4::DROPPED);
            let pointer = (size_of::<Header>() + at) as u32;
            p.set_payload(Problem::ip4(icmp4::Type::PARAMETER_PROBLEM, 0, pointer));
            (true, Some(Next::IcmpError))
        }
    })
}

#[inline(always)]
fn is_multicast(p: &Buffer<'_>) -> bool {
    p.header::<Header>().is_some_and(|h| h.dst[0] & 0xf0 == 0xe0)
}
