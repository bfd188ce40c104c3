//! `srv6-ad-flow-localsid`: headers come off and are kept with the flow of what is inside;
//! `srv6-ad4-flow-rewrite`, `srv6-ad6-flow-rewrite`: what the service returns gets those of its
//! flow.
//!
//! A flow is on one thread, which both nodes hand its packets to. Fragments of a packet have no
//! ports, any of them.

use graph::{HandOff, HandsOff};
use net::prelude::*;
use sessions::{Class, Flow6, Look, New, Sessions, Table, Usage, Walked};
use translation::handoff::Threads;
use zerocopy::FromZeros;

use super::node::{Error, Shown, close, spend, visit};
use super::proxy::{Back, LONGEST, Proxy, Style, To};

/// The node of local SIDs.
pub const NAME: &str = "srv6-ad-flow-localsid";
/// The nodes for what returns: IPv4, IPv6.
pub const BACKS: [&str; 2] = ["srv6-ad4-flow-rewrite", "srv6-ad6-flow-rewrite"];

/// Flows at most, on each thread.
const LIMIT: usize = 1 << 18;
/// Seconds after which an idle flow is forgotten.
const IDLE: f64 = 300.0;
/// Bit of the scope of a flow's second key, which is never looked up.
const UNUSED: u32 = 1 << 31;
/// The process that forgets idle flows, and the time between its rounds.
const PROCESS: &str = "srv6-ad-flow-expire";
const ROUND: Duration = Duration::from_secs(5);

/// The place of a node, and that of the one that hands packets over to it.
const OPEN: usize = 0;
const CLOSE4: usize = 1;
const CLOSE6: usize = 2;
const NAMES: [&str; 3] = [NAME, BACKS[0], BACKS[1]];
const HANDOFF: [&str; 3] = [
    "srv6-ad-flow-localsid-handoff",
    "srv6-ad4-flow-rewrite-handoff",
    "srv6-ad6-flow-rewrite-handoff",
];

/// Headers of a flow.
#[derive(Clone, Copy, FromZeros)]
#[repr(C)]
struct Headers {
    /// The table that the segments are looked up in.
    table: u16,
    /// Bytes that count.
    len: u16,
    bytes: [u8; LONGEST],
}

type All = Sessions<Flow6, Flow6, Headers>;
type Here = Table<Flow6, Flow6, Headers>;

/// Control's end of the flows.
struct Flows(All);

/// The flow of a packet that is inside, or returns, in the scope of a proxy.
fn flow(packet: &[u8], index: u32) -> Option<Flow6> {
    let none = |src, dst, protocol| Flow6::new((src, 0), (dst, 0), protocol, index);
    match packet.first()? >> 4 {
        4 => {
            let header = zerocopy::FromBytes::ref_from_prefix(packet).ok();
            let (header, _): (&ip4::Header, _) = header?;
            let [src, dst] =
                [header.src_addr(), header.dst_addr()].map(|addr| addr.to_ipv6_mapped().octets());
            if header.is_fragment() {
                return Some(none(src, dst, header.protocol));
            }
            let seen = <[u8; 4]>::look(packet, None, index)?.flow;
            let map = |addr: [u8; 4]| std::net::Ipv4Addr::from(addr).to_ipv6_mapped().octets();
            let ends = ((map(seen.src), seen.src_port), (map(seen.dst), seen.dst_port));
            Some(Flow6::new(ends.0, ends.1, seen.protocol(), index))
        }
        6 => {
            let header = zerocopy::FromBytes::ref_from_prefix(packet).ok();
            let (header, _): (&ip6::Header, _) = header?;
            let upper = ip6::upper_layer(packet)?;
            if upper.fragment.is_some() {
                return Some(none(header.src, header.dst, upper.protocol));
            }
            Some(<[u8; 16]>::look(packet, None, index)?.flow)
        }
        _ => None,
    }
}

/// Bytes of the headers in front of what is inside, when the service is for that.
fn front(p: &Buffer<'_>, proxy: &Proxy) -> Option<usize> {
    let upper = ip6::upper_layer(p.bytes()).filter(|u| u.fragment.is_none())?;
    let wanted = match proxy.to {
        To::Packets(Link::Ip4, _) => Protocol::IP4,
        To::Packets(..) => Protocol::IP6,
        To::Frames(..) => return None,
    };
    (upper.protocol == wanted && upper.offset <= LONGEST).then_some(upper.offset)
}

/// Takes headers off.
#[derive(Clone)]
struct Open {
    proxies: SlabReader<Proxy>,
    all: All,
}

/// Edges of [`Open`].
#[derive(Clone, Copy, graph::Next)]
enum Inside {
    /// Not what the service is for.
    #[to("error-drop")]
    Drop,
    /// IPv4.
    #[to("ip4-load-balance")]
    Ip4,
    /// IPv6.
    #[to("ip6-load-balance")]
    Ip6,
    /// To the thread that has the flow.
    #[to("srv6-ad-flow-localsid-handoff")]
    Elsewhere,
}

/// Keeps the headers of a packet with its flow; false without room for one more.
fn learn(table: &mut Here, flow: Flow6, p: &Buffer<'_>, len: usize, now: f64) -> Option<()> {
    let mut headers = Headers { table: p.fib(), len: len as u16, bytes: [0; LONGEST] };
    headers.bytes.get_mut(..len)?.copy_from_slice(p.bytes().get(..len)?);
    let at = match table.find(&flow) {
        Some(at) => {
            *table.data_mut(at)? = headers;
            at
        }
        None => {
            let reverse = flow.in_scope(flow.scope | UNUSED);
            let new = New { forward: flow, reverse, data: headers, class: 0 };
            table.insert(new, now, |_, _| ()).ok()?
        }
    };
    table.passed(at, p.total_len(), now);
    Some(())
}

/// Takes the headers off a packet.
fn open(
    p: &mut Packet<'_, Open>,
    proxy: &Proxy,
    (table, flow): (&mut Here, Flow6),
    len: usize,
    now: f64,
) -> Option<Inside> {
    visit(p)?;
    let outer = p.header::<ip6::Header>()?;
    let end = size_of::<ip6::Header>() + usize::from(outer.payload_len.get());
    let inner = end.min(p.total_len()).checked_sub(len)?;
    learn(table, flow, p, len, now)?;
    p.advance(len)?;
    let To::Packets(link, balance) = proxy.to else { return None };
    // Only whole packets go to the service; padding stays behind.
    let inner = srv6::inner_len(p, link, inner)?;
    p.truncate_chain(inner);
    p.clear_flags(Flags::L4.with(Flags::HASH));
    let at = p.offset();
    p.set_l3_offset(at);
    p.add_flags(Flags::L3);
    p.set_adjacency(balance);
    Some(if link == Link::Ip4 { Inside::Ip4 } else { Inside::Ip6 })
}

impl Node for Open {
    const NAME: &'static str = NAME;
    type Next = Inside;
    type Error = Infallible;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, now) = (frame.epoch(), frame.now());
        let (thread, threads) = (frame.thread(), Threads::of(frame));
        let Some(mut table) = self.all.lend(thread) else {
            return frame.forward_all(Inside::Drop);
        };
        frame.each(
            #[inline(always)]
            |p| {
                let index = p.adjacency();
                let proxy = self.proxies.read(index, epoch);
                let len = proxy.and_then(|proxy| front(p, proxy));
                let flow = len.and_then(|len| flow(p.bytes().get(len..)?, index));
                let mut next = None;
                if let (Some(proxy), Some(len), Some(flow)) = (proxy, len, flow) {
                    if threads.at(flow.meeting(table.seed())) != thread {
                        return Ok(Inside::Elsewhere);
                    }
                    next = open(p, proxy, (&mut table, flow), len, now);
                }
                p.trace(|_| Shown { index, is_good: next.is_some() });
                Ok(next.unwrap_or(Inside::Drop))
            },
        );
    }
}

/// Puts headers on what returns: IPv4 or IPv6 packets.
#[derive(Clone)]
struct Close<const AT: usize> {
    backs: SlabReader<Back<{ Style::FLOW }>>,
    all: All,
}

/// Edges of [`Close`].
#[derive(Clone, Copy, graph::Next)]
enum Next<const AT: usize> {
    /// To the next segment.
    #[to("ip6-lookup")]
    Segment,
    /// To the thread that has the flow.
    #[to(HANDOFF[AT])]
    Elsewhere,
}

/// Counters of [`Close`].
#[derive(Clone, Copy, graph::Count)]
enum Count {
    /// srv6-ad-flow rewritten packets.
    #[name("srv6-ad-flow rewritten packets")]
    Rewritten,
}

/// The flow of a packet that an interface returns.
fn returned<const AT: usize>(
    backs: &SlabReader<Back<{ Style::FLOW }>>,
    p: &Buffer<'_>,
    epoch: infra::rcu::Epoch<'_>,
) -> Option<(u32, Flow6)> {
    let (index, _) = backs.read(p.rx(), epoch)?.0?;
    Some((index, flow(p.bytes(), index)?))
}

impl<const AT: usize> Node for Close<AT> {
    const NAME: &'static str = NAMES[AT];
    type Next = Next<AT>;
    type Error = Error;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        const VERSIONS: [u8; 3] = [0, 4, 6];
        let (epoch, now) = (frame.epoch(), frame.now());
        let (thread, threads) = (frame.thread(), Threads::of(frame));
        let mut table = self.all.lend(thread);
        let mut count = 0;
        frame.each(
            #[inline(always)]
            |p| {
                let table = table.as_mut().ok_or(Error::NoHeader)?;
                let (index, flow) = returned::<AT>(&self.backs, p, epoch).ok_or(Error::NoHeader)?;
                if threads.at(flow.meeting(table.seed())) != thread {
                    return Ok(Next::Elsewhere);
                }
                let at = table.find(&flow).filter(|at| !table.is_over(*at, now));
                p.trace(|_| Shown { index, is_good: at.is_some() });
                let at = at.ok_or(Error::NoHeader)?;
                table.passed(at, p.total_len(), now);
                let headers = table.data_mut(at).ok_or(Error::NoHeader)?;
                if !spend(p, VERSIONS[AT]) {
                    return Err(Error::NoHeader);
                }
                let bytes = headers.bytes.get(..headers.len.into()).ok_or(Error::NoHeader)?;
                close(p, bytes, headers.table).ok_or(Error::NoHeader)?;
                count += 1;
                Ok(Next::Segment)
            },
        );
        frame.count(Count::Rewritten, count);
    }
}

/// Hands packets to the thread of their flow.
#[derive(Clone)]
struct ByFlow<const AT: usize> {
    backs: SlabReader<Back<{ Style::FLOW }>>,
    all: All,
}

impl<const AT: usize> HandsOff for ByFlow<AT> {
    const NAME: &'static str = HANDOFF[AT];
    const TO: &'static str = NAMES[AT];

    #[inline(always)]
    fn threads<'a, On: graph::Cpu>(
        &'a self,
        frame: &Frame<'a, HandOff<Self>, On>,
    ) -> impl FnMut(&Buffer<'_>) -> usize + use<'a, On, AT> {
        let epoch = frame.epoch();
        let (thread, threads, seed) = (frame.thread(), Threads::of(frame), self.all.seed());
        move |p| {
            let flow = match AT {
                OPEN => ip6::upper_layer(p.bytes())
                    .and_then(|upper| flow(p.bytes().get(upper.offset..)?, p.adjacency())),
                _ => returned::<AT>(&self.backs, p, epoch).map(|(_, flow)| flow),
            };
            flow.map_or(thread, |flow| threads.at(flow.meeting(seed)))
        }
    }
}

fn usage(router: &mut Router) -> Vec<Usage> {
    let all = router.own::<Flows>().0.clone();
    all.usage(router).unwrap_or_default()
}

/// Other threads: flows restart, each on its new thread.
fn threads_changed(router: &mut Router, _: &Range<usize>) -> Result<(), String> {
    forget(router, |_| true);
    Ok(())
}

/// Forgets the flows of some proxies.
fn forget(router: &mut Router, is_gone: impl Fn(u32) -> bool + Clone + Send + 'static) {
    let all = router.own::<Flows>().0.clone();
    let judge = move |_, one: &mut sessions::Counted<Flow6, Flow6, Headers>| {
        if is_gone(one.forward.scope) { Walked::<()>::remove(None) } else { Walked::keep(None) }
    };
    // What a thread that does not answer keeps is forgotten later.
    let _ = all.walk(router, judge);
}

/// Forgets the flows of a proxy that is given up, whose number another one may get.
pub fn end(router: &mut Router, index: u32) {
    super::proxy::end::<{ Style::FLOW }>(router, index);
    forget(router, move |of| of == index);
}

/// Adds the nodes.
pub fn add(
    router: &mut Router,
    proxies: SlabReader<Proxy>,
    backs: &SlabReader<Back<{ Style::FLOW }>>,
) -> Result<(), Refused> {
    let classes = [Class { timeout: IDLE, may_be_evicted: true, goes_first: false }];
    let all: All = Sessions::new(router, LIMIT, &classes).map_err(refuse)?;
    let engine = &mut router.engine;
    let to = || (backs.clone(), all.clone());
    engine.add(Open { proxies, all: all.clone() }).map_err(refuse)?;
    let ((b, a), (c, d)) = (to(), to());
    engine.add_feature(&IP4_UNICAST, Close::<CLOSE4> { backs: b, all: a }).map_err(refuse)?;
    engine.add_feature(&IP6_UNICAST, Close::<CLOSE6> { backs: c, all: d }).map_err(refuse)?;
    let ((b, a), (c, d), (e, f)) = (to(), to(), to());
    engine.add(HandOff(ByFlow::<OPEN> { backs: b, all: a })).map_err(refuse)?;
    engine.add(HandOff(ByFlow::<CLOSE4> { backs: c, all: d })).map_err(refuse)?;
    engine.add(HandOff(ByFlow::<CLOSE6> { backs: e, all: f })).map_err(refuse)?;
    router.insert(Flows(all));
    router.on_threads.push(threads_changed);
    let body = |router: &mut Router, _| {
        let all = router.own::<Flows>().0.clone();
        let is_more = all.expire(router, |_, _, _| ());
        Wake::After(if is_more { Duration::from_millis(1) } else { ROUND })
    };
    router.processes.spawn(PROCESS, Box::new(body));
    sessions::list(router, "srv6-ad-flow", usage);
    Ok(())
}
