//! `srv6-ad-localsid` and `srv6-as-localsid`: headers come off, what is inside goes to the service;
//! `srv6-ad4-rewrite` and its siblings: headers are put on what the service returns.

use graph::arc::{Along, Beside, FeatureArc};
use graph::{CounterText, Edge};
use net::ethernet::L2_INPUT;
use net::interface::DEVICE_INPUT;
use net::prelude::*;
use wire::srh;

use super::proxy::{Back, LONGEST, Learned, Proxies, Proxy, Style, To};

/// The node of local SIDs of a style.
pub const fn name(style: u8) -> &'static str {
    if style == Style::DYNAMIC { "srv6-ad-localsid" } else { "srv6-as-localsid" }
}

/// The nodes for what returns: frames, IPv4, IPv6.
pub const fn backs(style: u8) -> [&'static str; 3] {
    if style == Style::DYNAMIC {
        ["srv6-ad2-rewrite", "srv6-ad4-rewrite", "srv6-ad6-rewrite"]
    } else {
        ["srv6-as2-rewrite", "srv6-as4-rewrite", "srv6-as6-rewrite"]
    }
}

/// Takes headers off.
#[derive(Clone)]
struct Open<const STYLE: u8> {
    proxies: SlabReader<Proxy>,
    learned: EventSender<Learned<STYLE>>,
}

/// Edges of [`Open`].
#[derive(Clone, Copy, graph::Next)]
enum Inside {
    /// Not what the service is for.
    #[to("error-drop")]
    Drop,
    /// Frames.
    #[to("interface-output")]
    Output,
    /// Frames, to a sub-interface: with the tags they have, as that rewrites them.
    #[to("l2-output")]
    Layer2,
    /// IPv4.
    #[to("ip4-load-balance")]
    Ip4,
    /// IPv6.
    #[to("ip6-load-balance")]
    Ip6,
}

impl<const STYLE: u8> Open<STYLE> {
    /// Takes the headers off a packet, and says where it goes and how long it is.
    fn open(
        learned: &mut EventSender<Learned<STYLE>>,
        p: &mut Buffer<'_>,
        index: u32,
        proxy: &Proxy,
    ) -> Option<(Inside, usize)> {
        if STYLE == Style::DYNAMIC {
            visit(p)?;
        }
        let outer = p.header::<ip6::Header>()?;
        let end = size_of::<ip6::Header>() + usize::from(outer.payload_len.get());
        let upper = ip6::upper_layer(p.bytes()).filter(|u| u.fragment.is_none())?;
        let (is_wanted, next) = match proxy.to {
            To::Frames(_, is_sub) => {
                let is_frame = [srv6::ETHERNET, Protocol(59)].contains(&upper.protocol);
                (is_frame, if is_sub { Inside::Layer2 } else { Inside::Output })
            }
            To::Packets(Link::Ip4, _) => (upper.protocol == Protocol::IP4, Inside::Ip4),
            To::Packets(..) => (upper.protocol == Protocol::IP6, Inside::Ip6),
        };
        let mut len = end.min(p.total_len()).checked_sub(upper.offset)?;
        if !is_wanted || len < size_of::<ethernet::Header>() {
            return None;
        }
        if STYLE == Style::DYNAMIC
            && let Some(new) = learn(p, index, proxy, upper.offset)
        {
            learned.send(new);
        }
        p.advance(upper.offset)?;
        match proxy.to {
            To::Frames(interface, is_sub) => {
                p.set_tx(interface);
                if is_sub {
                    l2::packet::enter(p)?;
                }
            }
            To::Packets(link, balance) => {
                len = srv6::inner_len(p, link, len)?;
                p.set_adjacency(balance);
            }
        }
        Some((next, len))
    }
}

/// The headers of a packet, when they are not those that are known.
fn learn<const STYLE: u8>(
    p: &Buffer<'_>,
    index: u32,
    proxy: &Proxy,
    len: usize,
) -> Option<Learned<STYLE>> {
    let headers = p.bytes().get(..len).filter(|_| len <= LONGEST)?;
    let is_same = |(at, (new, known)): (usize, (&u8, &u8))| {
        // Each packet has its own length and flow label.
        (1..6).contains(&at) || new == known
    };
    let is_known = headers.len() == proxy.headers.len()
        && proxy.table == p.fib()
        && headers.iter().zip(&proxy.headers).enumerate().all(is_same);
    let mut bytes = [0; LONGEST];
    bytes.get_mut(..len)?.copy_from_slice(headers);
    (!is_known).then_some(Learned { index, table: p.fib(), len: len as u16, bytes })
}

/// Makes the next segment the destination.
pub fn visit(p: &mut Buffer<'_>) -> Option<()> {
    let place = srh::find(p.bytes())?;
    let left = place.segments_left.checked_sub(1)?;
    let at = place.segment(left)?;
    let bytes = p.bytes_mut();
    bytes.copy_within(at..at + srh::SEGMENT, std::mem::offset_of!(ip6::Header, dst));
    *bytes.get_mut(place.left_at())? = left;
    Some(())
}

impl<const STYLE: u8> Node for Open<STYLE> {
    const NAME: &'static str = name(STYLE);
    const EXPLAINABLE: bool = true;
    type Next = Inside;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let Self { proxies, learned } = self;
        frame.each(
            #[inline(always)]
            |p| {
                let index = p.adjacency();
                let proxy = proxies.read(index, epoch);
                let opened = proxy.and_then(|proxy| Self::open(learned, p, index, proxy));
                p.trace(|_| Shown { index, is_good: opened.is_some() });
                let Some((next, len)) = opened else { return Ok(Inside::Drop) };
                p.truncate_chain(len);
                p.clear_flags(Flags::L4.with(Flags::HASH));
                if let Inside::Layer2 = next {
                    return Ok(next);
                }
                let at = p.offset();
                p.set_l3_offset(at);
                p.add_flags(Flags::L3);
                Ok(next)
            },
        );
    }
}

/// Outcome for a packet.
pub struct Shown {
    /// The proxy.
    pub index: u32,
    /// Whether it is for the service, or got headers.
    pub is_good: bool,
}

impl Record for Shown {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.is_good { "to the service" } else { "not for the service" };
        write!(f, "  SRv6 proxy {}: {end}", self.index)
    }
}

/// Drops of [`Close`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Error {
    /// (Error) No header for rewriting.
    #[name("(Error) No header for rewriting.")]
    NoHeader,
}

/// Counters of [`Close`].
#[derive(Clone, Copy)]
pub struct Rewritten<const STYLE: u8>;

impl<const STYLE: u8> graph::Count for Rewritten<STYLE> {
    const TEXTS: &'static [CounterText] = &[CounterText {
        name: if STYLE == Style::DYNAMIC {
            "srv6-ad rewritten packets"
        } else {
            "srv6-as rewritten packets"
        },
        text: "packets encapsulated",
        severity: "info",
    }];
    fn index(self) -> usize {
        0
    }
}

/// Puts headers on what returns: frames (0), IPv4 or IPv6 packets.
#[derive(Clone)]
struct Close<const STYLE: u8, const VERSION: u8> {
    proxies: SlabReader<Proxy>,
    backs: SlabReader<Back<STYLE>>,
}

/// The edge of [`Close`].
#[derive(Clone, Copy)]
struct ToSegment;

impl graph::Next for ToSegment {
    const EDGES: &'static [Edge] = &[Edge { to: "ip6-lookup", payload: "" }];
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        0
    }
}

/// Spends a hop of a packet that returns; false when the last one is used up.
pub fn spend(p: &mut Buffer<'_>, version: u8) -> bool {
    match version {
        4 if V4::hops(p).is_some_and(|hops| hops > 1) => V4::spend_hop(p),
        6 if V6::hops(p).is_some_and(|hops| hops > 1) => V6::spend_hop(p),
        0 => (),
        _ => return false,
    }
    true
}

/// Puts headers on a packet, whose segments are looked up in a table.
pub fn close(p: &mut Buffer<'_>, headers: &[u8], table: u16) -> Option<()> {
    let headers = Some(headers).filter(|h| h.len() >= size_of::<ip6::Header>())?;
    let len = p.total_len() + headers.len() - size_of::<ip6::Header>();
    let len = u16::try_from(len).ok()?;
    p.make_room(headers.len())?.copy_from_slice(headers);
    p.header_mut::<ip6::Header>()?.payload_len = len.into();
    p.set_fib(table);
    let at = p.offset();
    p.set_l3_offset(at);
    p.clear_flags(Flags::L4.with(Flags::HASH).with(Flags::L2));
    p.add_flags(Flags::L3);
    Some(())
}

impl<const STYLE: u8, const VERSION: u8> Node for Close<STYLE, VERSION> {
    const NAME: &'static str = backs(STYLE)[VERSION as usize / 2 - (VERSION > 0) as usize];
    const EXPLAINABLE: bool = true;
    type Next = ToSegment;
    type Error = Error;
    type Count = Rewritten<STYLE>;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let mut count = 0;
        frame.each(
            #[inline(always)]
            |p| {
                let back = self.backs.read(p.rx(), epoch).and_then(|back| back.0);
                let (index, _) = back.ok_or(Error::NoHeader)?;
                let proxy = self.proxies.read(index, epoch).ok_or(Error::NoHeader)?;
                if proxy.headers.is_empty() || !spend(p, VERSION) {
                    return Err(Error::NoHeader);
                }
                close(p, &proxy.headers, proxy.table).ok_or(Error::NoHeader)?;
                count += 1;
                p.trace(|_| Shown { index, is_good: true });
                Ok(ToSegment)
            },
        );
        frame.count(Rewritten, count);
    }
}

fn add_back<const STYLE: u8, const VERSION: u8>(
    router: &mut Router,
    arc: &'static FeatureArc,
    proxies: &Proxies<STYLE>,
    backs: &SlabReader<Back<STYLE>>,
) -> Result<(), BuildError> {
    let (proxies, backs) = (proxies.reader(), backs.clone());
    router.engine.add_feature(arc, Close::<STYLE, VERSION> { proxies, backs })?;
    Ok(())
}

/// Adds the nodes of a style.
pub fn add<const STYLE: u8>(
    router: &mut Router,
    proxies: &Proxies<STYLE>,
    backs: &SlabReader<Back<STYLE>>,
) -> Result<(), BuildError> {
    let learned = router.events.sender();
    router.engine.add(Open::<STYLE> { proxies: proxies.reader(), learned })?;
    add_back::<STYLE, 0>(router, &DEVICE_INPUT, proxies, backs)?;
    let behind = Beside::After("l2-input-vtr");
    router.engine.place_beside(&L2_INPUT, self::backs(STYLE)[0], behind)?;
    add_back::<STYLE, 4>(router, &IP4_UNICAST, proxies, backs)?;
    add_back::<STYLE, 6>(router, &IP6_UNICAST, proxies, backs)
}

const _: () = assert!(size_of::<ip4::Header>() >= size_of::<ethernet::Header>());
