//! `ip4-map`: puts packets for customers into IPv6 (RFC 7597); `ip4-map-t`: translates them;
//! `ip6-map`: takes packets of customers out of it, and tells senders of IPv4 about errors within
//! IPv6.

use net::drops::Problem;
use net::fragment::cut;
use net::gso;
use net::ip::{WayMtus, room_in_ip6};
use net::prelude::*;
use wire::checksum;
use wire::siit::{self, Pair};

use super::domain::Domain;
use super::table::{Error, FRAGMENTS4, REFUSED_FROM, REFUSED_TO, Readers, Settings, clamp, ports};
use super::translate;

/// Length of an IPv6 header.
const HEADER: usize = size_of::<ip6::Header>();
/// Code of an ICMPv6 error: the source is not allowed there (RFC 4443 section 3.1).
pub(super) const SOURCE_REFUSED: u8 = 5;
/// Bytes of a packet that an ICMP error quotes at most (RFC 1812 section 4.3.2.3).
const QUOTED: usize = 576 - 28;

/// Puts packets into IPv6, or translates them.
pub struct Ip4Map<const TRANSLATES: bool> {
    readers: Readers,
    mtus: WayMtus<Ip6>,
    /// State of the sequence that identifications are taken from.
    sequence: u64,
}

/// Each thread has a sequence of its own.
impl<const TRANSLATES: bool> Clone for Ip4Map<TRANSLATES> {
    fn clone(&self) -> Self {
        let sequence = infra::cpu::time_stamp().unwrap_or_default();
        Self { readers: self.readers.clone(), mtus: self.mtus.clone(), sequence }
    }
}

/// Edges of [`Ip4Map`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next4 {
    /// To find its way.
    #[to("ip6-lookup")]
    Lookup,
    /// By the way of the next hop that is set.
    #[to("ip6-load-balance")]
    Balance,
    /// The sender gets an error.
    #[to("ip4-icmp-error", payload = Problem)]
    Icmp,
    /// For no customer.
    #[along]
    Along,
}

impl<const TRANSLATES: bool> Node for Ip4Map<TRANSLATES> {
    const NAME: &'static str = if TRANSLATES { "ip4-map-t" } else { "ip4-map" };
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next4;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "ip4-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let (mut expired, mut forbidden) = (0, 0);
        let Self { readers, mtus, sequence } = self;
        let mut mtus = mtus.in_frame(epoch);
        frame.each(
            #[inline(always)]
            |p| {
                let Some(header) = p.header::<ip4::Header>() else { return Ok(Next4::Along) };
                let Some((number, domain)) = readers.by4(header.dst_addr(), epoch) else {
                    return Ok(Next4::Along);
                };
                let src = header.src_addr();
                let settings = readers.settings.read(epoch);
                if header.is_fragment() {
                    readers.count_total(thread, FRAGMENTS4, p.total_len());
                }
                let (is_fragment, is_last_hop) = (header.is_fragment(), header.ttl <= 1);
                if is_last_hop {
                    expired += 1;
                    let code = icmp4::code::TTL_EXCEEDED;
                    p.set_payload(Problem::ip4(icmp4::Type::TIME_EXCEEDED, code, 0));
                    return Ok(Next4::Icmp);
                }
                let to = customer_of(p, domain).inspect_err(|_| {
                    readers.count_total(thread, REFUSED_TO, p.total_len());
                })?;
                let fib = readers.fib(p.rx(), 1, epoch);
                let balance = settings.balances[1];
                let growth = growth::<TRANSLATES>(is_fragment);
                let way = || mtus.find(fib, to.to_bits(), balance);
                let own = if domain.mtu == 0 { usize::MAX } else { domain.mtu.into() };
                let room = room_in_ip6(p, growth, own, way);
                if room.is_some() && !may_cut(p, settings) {
                    forbidden += 1;
                    p.set_payload(Problem::too_big4(room.unwrap_or(0)));
                    return Ok(Next4::Icmp);
                }
                readers.count(thread, 1, number, p.total_len());
                p.trace(|_| Mapped { number, to });
                clamp(p, settings.params.tcp_mss);
                p.set_fib(fib);
                balance.into_iter().for_each(|balance| p.set_adjacency(balance));
                if TRANSLATES {
                    let pair = Pair { src: domain.outside(src), dst: to };
                    translate::to_ip6(p, domain, pair, room, sequence)?;
                } else {
                    encapsulate(p, (domain, settings), to, room, sequence)?;
                }
                Ok(if balance.is_some() { Next4::Balance } else { Next4::Lookup })
            },
        );
        frame.count_as(Error::TimeExceeded, expired);
        frame.count_as(Error::DfSet, forbidden);
    }
}

/// Bytes that a packet becomes longer, and its segments: those that are translated carry as much
/// less as their headers are longer.
#[inline(always)]
fn growth<const TRANSLATES: bool>(is_fragment: bool) -> (usize, usize) {
    match (TRANSLATES, is_fragment) {
        (false, _) => (HEADER, HEADER),
        (true, false) => (translate::GROWTH, 0),
        (true, true) => (translate::GROWTH + translate::FRAGMENT, 0),
    }
}

/// Whether a packet that is too long may be cut. Segments never are.
#[inline(always)]
fn may_cut(p: &Buffer<'_>, settings: &Settings) -> bool {
    let is_bound = p.header::<ip4::Header>().is_some_and(ip4::Header::dont_fragment);
    !p.flags().has(Flags::GSO) && (!is_bound || settings.params.ignores_df)
}

/// The IPv6 address of the customer that an IPv4 packet is for.
#[inline(always)]
fn customer_of(p: &Buffer<'_>, domain: &Domain) -> Result<Ipv6Addr, Error> {
    let dst = p.header::<ip4::Header>().ok_or(Error::Malformed)?.dst_addr();
    let port = ports(p, siit::ports4(p.bytes())).map(|(_, dst)| dst);
    domain.address_of(dst, port).ok_or_else(|| match port {
        None => Error::BadProtocol,
        Some(port) if domain.psid(port).is_none() => Error::SecCheck,
        Some(_) => Error::NoBinding,
    })
}

/// Puts a packet into IPv6. One that is longer than `room` bytes is cut, and the other fragments
/// follow it.
#[inline(always)]
fn encapsulate<N: Node>(
    p: &mut Packet<'_, N>,
    (domain, settings): (&Domain, &Settings),
    to: Ipv6Addr,
    room: Option<usize>,
    sequence: &mut u64,
) -> Result<(), Error> {
    let params = &settings.params;
    let header = p.header_mut::<ip4::Header>().ok_or(Error::Malformed)?;
    header.decrement_ttl();
    let class = if params.copies_class { header.tos } else { params.class };
    let mut front = ip6::Header::new(domain.ip6_src.addr(), to, Protocol::IP4, 0);
    front.set_traffic_class(class);
    if let Some(room) = room.filter(|_| params.cuts_inner) {
        allow_cutting(p);
        cut::<V4, _>(p, room, sequence, |new, header, len| {
            let mut front = front;
            front.payload_len = u16::try_from(header.len() + len).ok()?.into();
            new.append(front.as_bytes())?;
            new.append(header)
        })?;
    }
    if !gso::can_wait(p, HEADER) {
        return Err(Error::Malformed);
    }
    let len = u16::try_from(p.total_len()).map_err(|_| Error::Malformed)?;
    front.payload_len = len.into();
    gso::enclose(p, HEADER);
    p.clear_flags(Flags::L2);
    p.make_room(HEADER).ok_or(Error::Malformed)?.copy_from_slice(front.as_bytes());
    if let Some(room) = room.filter(|_| !params.cuts_inner) {
        cut::<V6, _>(p, room + HEADER, sequence, |new, header, _| new.append(header))?;
    }
    Ok(())
}

/// Permits fragmentation of a packet with DF set: that was checked before.
pub(super) fn allow_cutting(p: &mut Buffer<'_>) {
    if let Some(header) = p.header_mut::<ip4::Header>()
        && header.dont_fragment()
    {
        let old = header.fragment;
        header.fragment = (old.get() & !ip4::DONT_FRAGMENT).into();
        header.checksum = checksum::update(header.checksum, old, header.fragment);
    }
}

/// Takes packets out of IPv6.
#[derive(Clone)]
pub struct Ip6Map {
    readers: Readers,
    mtus: WayMtus<Ip4>,
}

/// Edges of [`Ip6Map`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next6 {
    /// To find its way.
    #[to("ip4-lookup")]
    Lookup,
    /// By the way of the next hop that is set.
    #[to("ip4-load-balance")]
    Balance,
    /// The sender gets an error.
    #[to("ip6-icmp-error", payload = Problem)]
    Icmp,
    /// For no relay.
    #[along]
    Along,
}

impl Node for Ip6Map {
    const NAME: &'static str = "ip6-map";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next6;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let mut refused = 0;
        let Self { readers, mtus } = self;
        let mut mtus = mtus.in_frame(epoch);
        frame.each(
            #[inline(always)]
            |p| {
                let Some(header) = p.header::<ip6::Header>() else { return Ok(Next6::Along) };
                let (src, dst) = (header.src_addr(), header.dst_addr());
                if !readers.is_relay(dst, epoch) {
                    return Ok(Next6::Along);
                }
                let settings = readers.settings.read(epoch);
                let Some(upper) = ip6::upper_layer(p.bytes()) else { return Err(Error::Malformed) };
                match upper.protocol {
                    Protocol::IP4 if upper.fragment.is_none() => (),
                    Protocol::ICMP6 if !settings.params.icmp_source.is_unspecified() => {
                        return relay(p, upper.offset, settings);
                    }
                    _ => return Ok(Next6::Along),
                }
                let (number, len) = match origin(readers, p, (src, dst), upper.offset, epoch) {
                    Ok(number) => (number, p.total_len()),
                    Err(error) => {
                        readers.count_total(thread, REFUSED_FROM, p.total_len());
                        let is_told = settings.params.icmp6_unreachables;
                        if error != Error::DecapSecCheck || !is_told {
                            return Err(error);
                        }
                        refused += 1;
                        p.set_payload(source_refused());
                        return Ok(Next6::Icmp);
                    }
                };
                let fib = readers.fib(p.rx(), 0, epoch);
                let balance = settings.balances[0];
                let mut way = |dst| mtus.find(fib, dst, balance);
                if let Some(room) = room_outside(p, upper.offset, &mut way) {
                    // To the end of the tunnel, which lets the host know (RFC 2473 section 7.1).
                    p.set_payload(Problem::too_big6(room + HEADER));
                    return Ok(Next6::Icmp);
                }
                readers.count(thread, 0, number, len);
                p.trace(|_| Mapped { number, to: dst });
                p.set_fib(fib);
                p.advance(upper.offset).ok_or(Error::Malformed)?;
                p.clear_flags(Flags::L2);
                gso::disclose(p);
                clamp(p, settings.params.tcp_mss);
                Ok(match settings.balances[0] {
                    Some(balance) => {
                        p.set_adjacency(balance);
                        Next6::Balance
                    }
                    None => Next6::Lookup,
                })
            },
        );
        frame.count_as(Error::DecapSecCheck, refused);
    }
}

/// The length that an IPv4 packet `at` bytes within one of IPv6 may have on its way, when it is
/// longer and must not be cut.
#[inline(always)]
fn room_outside(p: &Buffer<'_>, at: usize, way: &mut dyn FnMut(u32) -> usize) -> Option<usize> {
    let len = gso::longest_segment(p).unwrap_or_else(|| p.total_len()).saturating_sub(at);
    if len <= icmp6::LEAST_MTU - HEADER {
        return None;
    }
    let (inner, _) = ip4::Header::ref_from_prefix(p.bytes().get(at..)?).ok()?;
    let mtu = if inner.dont_fragment() { way(inner.dst_addr().to_bits()) } else { usize::MAX };
    (len > mtu).then_some(mtu)
}

/// The ICMP error about a packet whose source is not allowed.
pub(super) fn source_refused() -> Problem {
    Problem::ip6(icmp6::Type::DESTINATION_UNREACHABLE, SOURCE_REFUSED, 0)
}

/// The domain of the customer that sent the packet which is `at` bytes within an IPv6 packet.
#[inline(always)]
fn origin<'e>(
    readers: &'e Readers,
    p: &Buffer<'_>,
    (src, dst): (Ipv6Addr, Ipv6Addr),
    at: usize,
    epoch: Epoch<'e>,
) -> Result<u32, Error> {
    let packet = p.bytes().get(at..).ok_or(Error::Malformed)?;
    let (header, _) = ip4::Header::ref_from_prefix(packet).map_err(|_| Error::Malformed)?;
    let (own, total) = (header.header_len(), usize::from(header.total_len.get()));
    let is_whole = own >= size_of::<ip4::Header>() && (own..=p.total_len() - at).contains(&total);
    if header.version() != 4 || !is_whole {
        return Err(Error::Malformed);
    }
    let addr = header.src_addr();
    let found = readers.by4(addr, epoch).filter(|(_, d)| d.ip6_src.contains(dst));
    let params = &readers.settings.read(epoch).params;
    let Some((number, domain)) = found else {
        // Of no domain: never forwarded; answered if the outer source belongs to a customer.
        let is_customers = params.checks && readers.by6((src, dst), epoch).is_some();
        return Err(if is_customers { Error::DecapSecCheck } else { Error::NoDomain });
    };
    if !params.checks {
        return Ok(number);
    }
    if header.fragment_offset() != 0 {
        let is_fine = !params.checks_fragments || domain.is_customer(src, addr);
        return if is_fine { Ok(number) } else { Err(Error::DecapSecCheck) };
    }
    let port = siit::ports4(packet).map(|(src, _)| src);
    if port.is_none() && domain.needs_port() {
        return Err(Error::BadProtocol);
    }
    if domain.address_of(addr, port) == Some(src) { Ok(number) } else { Err(Error::DecapSecCheck) }
}

/// Converts an ICMPv6 error about an encapsulated packet into an ICMP error for the IPv4 sender.
#[cold]
#[inline(never)]
fn relay(p: &mut Packet<'_, Ip6Map>, at: usize, settings: &Settings) -> Result<Next6, Error> {
    let message = p.bytes().get(at..).ok_or(Error::Malformed)?;
    let (icmp, quoted) = icmp6::Error::read_from_prefix(message).map_err(|_| Error::Malformed)?;
    if !icmp.icmp.kind.is_error() {
        return Ok(Next6::Along);
    }
    let upper = ip6::upper_layer(quoted).filter(|u| u.protocol == Protocol::IP4);
    let Some(upper) = upper else { return Ok(Next6::Along) };
    let inner = quoted.get(upper.offset..).ok_or(Error::Malformed)?;
    let (header, _) = ip4::Header::read_from_prefix(inner).map_err(|_| Error::Malformed)?;
    let told = siit::icmp6_to_4(icmp.icmp.kind, icmp.icmp.code, icmp.value.get());
    let (kind, code, mut value) = told.map_err(|_| Error::IcmpRelay)?;
    if icmp.icmp.kind == icmp6::Type::PACKET_TOO_BIG {
        // What was in front of the packet is longer than what the translation takes away.
        value = value.saturating_sub((HEADER - 20) as u32);
    }
    let skipped = at + size_of_val(&icmp) + upper.offset;
    p.advance(skipped).ok_or(Error::Malformed)?;
    p.truncate_chain(QUOTED.min(p.len()));
    let mut head = [0; 8];
    (head[0], head[1]) = (kind.0, code);
    head[4..].copy_from_slice(&value.to_be_bytes());
    let sum = checksum::Sum::ZERO.add_bytes(&head).add_bytes(p.bytes()).checksum();
    head[2..4].copy_from_slice(sum.as_bytes());
    let len = (size_of::<ip4::Header>() + head.len() + p.len()) as u16;
    let source = settings.params.icmp_source;
    let front = ip4::Header::new(source, header.src_addr(), Protocol::ICMP, len);
    p.prepend(head.len()).ok_or(Error::Malformed)?.copy_from_slice(&head);
    p.prepend_header(&front).ok_or(Error::Malformed)?;
    p.clear_flags(Flags::L2.with(Flags::L3).with(Flags::L4));
    p.add_flags(Flags::LOCAL);
    Ok(Next6::Lookup)
}

/// The trace record of the nodes.
pub(super) struct Mapped {
    pub number: u32,
    pub to: Ipv6Addr,
}

impl Record for Mapped {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  MAP domain index: {} ip6 {}", self.number, self.to)
    }
}

/// Adds the nodes.
pub(super) fn add(router: &mut Router, readers: &Readers) -> Result<(), BuildError> {
    let sequence = infra::cpu::time_stamp().unwrap_or_default();
    let (mtus, outside) = (WayMtus::new(router), WayMtus::new(router));
    let encapsulate = Ip4Map::<false> { readers: readers.clone(), mtus: mtus.clone(), sequence };
    let translate = Ip4Map::<true> { readers: readers.clone(), mtus, sequence };
    let engine = &mut router.engine;
    engine.add_feature(&IP4_UNICAST, encapsulate)?;
    engine.add_feature(&IP4_UNICAST, translate)?;
    let (readers, mtus) = (readers.clone(), outside.clone());
    engine.add_feature(&IP6_UNICAST, Ip6Map { readers: readers.clone(), mtus })?;
    engine.add_feature(&IP6_UNICAST, translate::Ip6MapT { readers, mtus: outside })?;
    Ok(())
}
