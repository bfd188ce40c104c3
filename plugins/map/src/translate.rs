//! `ip6-map-t`: translates packets of customers, and what `ip4-map-t` does to those for them
//! (RFC 7599, RFC 7915).

use net::drops::Problem;
use net::fragment::cut;
use net::ip::{WayMtus, room_as_ip4};
use net::prelude::*;
use wire::siit::{self, Front, Pair};

use super::domain::Domain;
use super::encapsulate::{Next6, allow_cutting, source_refused};
use super::table::{Error, REFUSED_FROM, Readers, clamp, ports};

/// Bytes that an IPv6 header is longer than one of IPv4.
pub(super) const GROWTH: usize = size_of::<ip6::Header>() - size_of::<ip4::Header>();
/// Length of an IPv6 fragment header.
pub(super) const FRAGMENT: usize = size_of::<ip6::FragmentHeader>();

/// Translates a packet. One that is longer than `room` bytes is cut, and the other fragments follow
/// it.
#[inline(always)]
pub(super) fn to_ip6<N: Node>(
    p: &mut Packet<'_, N>,
    domain: &Domain,
    pair: Pair<std::net::Ipv6Addr>,
    room: Option<usize>,
    sequence: &mut u64,
) -> Result<(), Error> {
    let header = p.header::<ip4::Header>().ok_or(Error::Malformed)?;
    let is_fragment = header.is_fragment();
    if let Some(room) = room.filter(|_| is_fragment) {
        allow_cutting(p);
        cut::<V4, _>(p, room, sequence, |new, header, len| {
            let none = |_: &[u8], _: Pair<Ipv4Addr>| None;
            let front = siit::to_ip6(header, header.len() + len, pair, false, none).ok()?;
            new.append(front.bytes())
        })?;
    }
    let is_partial = p.flags().has(Flags::CHECKSUM_TODO);
    let len = p.total_len();
    let quoted = |packet: &[u8], old: Pair<Ipv4Addr>| {
        let port = siit::ports4(packet).map(|(src, _)| src);
        Some(Pair { src: domain.address_of(old.src, port)?, dst: domain.outside(old.dst) })
    };
    let front = siit::to_ip6(p.bytes_mut(), len, pair, is_partial, quoted)?;
    replace(p, &front)?;
    if p.flags().has(Flags::GSO) {
        let size = p.gso_size().saturating_sub(GROWTH as u16);
        p.set_gso_size(size);
    }
    if let Some(room) = room.filter(|_| !is_fragment) {
        cut::<V6, _>(p, room + GROWTH, sequence, |new, header, _| new.append(header))?;
    }
    Ok(())
}

/// Puts a new front on a packet.
#[inline(always)]
fn replace<N: Node>(p: &mut Packet<'_, N>, front: &Front) -> Result<(), Error> {
    p.advance(front.taken).ok_or(Error::Malformed)?;
    let bytes = front.bytes();
    p.make_room(bytes.len()).ok_or(Error::Malformed)?.copy_from_slice(bytes);
    p.clear_flags(Flags::L2);
    let at = p.offset();
    p.set_l3_offset(at);
    Ok(())
}

/// Translates packets into IPv4.
#[derive(Clone)]
pub struct Ip6MapT {
    pub(super) readers: Readers,
    pub(super) mtus: WayMtus<Ip4>,
}

impl Node for Ip6MapT {
    const NAME: &'static str = "ip6-map-t";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next6;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let (mut expired, mut refused) = (0, 0);
        let Self { readers, mtus } = self;
        let mut mtus = mtus.in_frame(epoch);
        frame.each(
            #[inline(always)]
            |p| {
                let Some(header) = p.header::<ip6::Header>() else { return Ok(Next6::Along) };
                if !readers.is_relay(header.dst_addr(), epoch) {
                    return Ok(Next6::Along);
                }
                if header.hop_limit <= 1 {
                    expired += 1;
                    let code = icmp6::code::HOP_LIMIT_EXCEEDED;
                    p.set_payload(Problem::ip6(icmp6::Type::TIME_EXCEEDED, code, 0));
                    return Ok(Next6::Icmp);
                }
                let settings = readers.settings.read(epoch);
                let (number, domain, pair) = match origin(readers, p, epoch) {
                    Ok(found) => found,
                    Err(error) => {
                        readers.count_total(thread, REFUSED_FROM, p.total_len());
                        if error != Error::SecCheck || !settings.params.icmp6_unreachables {
                            return Err(error);
                        }
                        refused += 1;
                        p.set_payload(source_refused());
                        return Ok(Next6::Icmp);
                    }
                };
                let fib = readers.fib(p.rx(), 0, epoch);
                let way = || mtus.find(fib, pair.dst.to_bits(), settings.balances[0]);
                if let Some(room) = room_as_ip4(p, way) {
                    p.set_payload(Problem::too_big6(room));
                    return Ok(Next6::Icmp);
                }
                readers.count(thread, 0, number, p.total_len());
                clamp(p, settings.params.tcp_mss);
                p.set_fib(fib);
                to_ip4(p, domain, pair)?;
                Ok(match settings.balances[0] {
                    Some(balance) => {
                        p.set_adjacency(balance);
                        Next6::Balance
                    }
                    None => Next6::Lookup,
                })
            },
        );
        frame.count_as(Error::TimeExceeded, expired);
        frame.count_as(Error::SecCheck, refused);
    }
}

/// The domain of the customer that sent a packet, and its addresses in IPv4.
#[inline(always)]
fn origin<'e>(
    readers: &'e Readers,
    p: &Packet<'_, Ip6MapT>,
    epoch: Epoch<'e>,
) -> Result<(u32, &'e Domain, Pair<Ipv4Addr>), Error> {
    let (header, _) = ip6::Header::ref_from_prefix(p.bytes()).map_err(|_| Error::Malformed)?;
    let (src6, dst6) = (header.src_addr(), header.dst_addr());
    let (number, domain) = readers.by6((src6, dst6), epoch).ok_or(Error::NoDomain)?;
    let src = domain.inside_of(src6).ok_or(Error::NoDomain)?;
    let dst = domain.outside_of(dst6).ok_or(Error::NoDomain)?;
    let port = ports(p, siit::ports6(p.bytes())).map(|(src, _)| src);
    if port.is_none() && domain.needs_port() {
        return Err(Error::BadProtocol);
    }
    if domain.address_of(src, port) != Some(src6) {
        return Err(Error::SecCheck);
    }
    Ok((number, domain, Pair { src, dst }))
}

#[inline(always)]
fn to_ip4(p: &mut Packet<'_, Ip6MapT>, domain: &Domain, pair: Pair<Ipv4Addr>) -> Result<(), Error> {
    let is_partial = p.flags().has(Flags::CHECKSUM_TODO);
    let len = p.total_len();
    let quoted = |_: &[u8], old: Pair<std::net::Ipv6Addr>| {
        Some(Pair { src: domain.outside_of(old.src)?, dst: domain.inside_of(old.dst)? })
    };
    let front = siit::to_ip4(p.bytes_mut(), len, pair, is_partial, quoted)?;
    replace(p, &front)?;
    if p.flags().has(Flags::GSO) {
        let size = p.gso_size().saturating_add(GROWTH as u16);
        p.set_gso_size(size);
    }
    Ok(())
}
