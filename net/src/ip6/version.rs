//! IPv6 as the nodes that both versions share need it.

use std::fmt::Display;

use graph::arc::FeatureArc;
use graph::{Buffer, Flags};
use infra::counter::{Counter, Rows};
use wire::checksum::{self, Sum};
use wire::ip6::{self, Header};
use wire::{MacAddr, Protocol, dhcp6, icmp6, print, udp};
use zerocopy::FromBytes;

use super::input::plain;
use super::{Error, IP6_DROP, IP6_LOCAL, IP6_OUTPUT, IP6_PUNT, IP6_UNICAST};
use crate::adjacency::Link;
use crate::drops::Problem;
use crate::fib::Ip6;
use crate::interface::Counters;
use crate::ip::{Linked, Nodes, Upper, Version};

/// IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V6;

impl Linked for V6 {
    const LINK: Link = Link::Ip6;
}

impl Version for V6 {
    type Error = Error;
    type Family = Ip6;

    const SELF: Self = Self;
    const NODES: Nodes = Nodes {
        input: "ip6-input",
        drop: "ip6-drop",
        punt: "ip6-punt",
        not_enabled: "ip6-not-enabled",
        lookup: "ip6-lookup",
        receive: "ip6-receive",
        local: "ip6-local",
        local_end: "ip6-local-end-of-arc",
        reassemble: "ip6-local-full-reassembly",
        udp_lookup: "ip6-udp-lookup",
        udp_punt: "ip6-udp-punt",
        icmp_input: "ip6-icmp-input",
        icmp_error: "ip6-icmp-error",
        rewrite: "ip6-rewrite",
        rewrite_mcast: "ip6-rewrite-mcast",
        midchain: "ip6-midchain",
        fragment: "ip6-frag",
        resolve: "ip6-discover-neighbor",
        resolve_other: "ip4-arp",
    };
    const UNICAST_ARC: &'static FeatureArc = &IP6_UNICAST;
    const DROP_ARC: &'static FeatureArc = &IP6_DROP;
    const PUNT_ARC: &'static FeatureArc = &IP6_PUNT;
    const LOCAL_ARC: &'static FeatureArc = &IP6_LOCAL;
    const OUTPUT_ARC: &'static FeatureArc = &IP6_OUTPUT;
    const DROPPED: Error = Error::Drop;
    const EXPIRED: Error = Error::TimeExpired;
    const TOO_BIG: Error = Error::MtuExceeded;
    const UNKNOWN_PROTOCOL: Error = Error::UnknownProtocol;
    const NO_WAY_BACK: Error = Error::SrcLookupMiss;
    const SPOOFED: Error = Error::SrcLookupMiss;
    const RPF_FAILURE: Error = Error::RpfFailure;
    const SAME_INTERFACE: Error = Error::SameInterface;
    const EXPIRED_PROBLEM: Problem =
        Problem::ip6(icmp6::Type::TIME_EXCEEDED, icmp6::code::HOP_LIMIT_EXCEEDED, 0);
    const PORT_PROBLEM: Problem =
        Problem::ip6(icmp6::Type::DESTINATION_UNREACHABLE, icmp6::code::PORT_UNREACHABLE, 0);
    const SCOPE_PROBLEM: Option<Problem> =
        Some(Problem::ip6(icmp6::Type::DESTINATION_UNREACHABLE, icmp6::code::BEYOND_SCOPE, 0));
    const LOCAL_COUNTED_AT: &'static str = Self::NODES.input;
    const QUOTES_AS_SENT: bool = true;

    fn print(bytes: &[u8], indent: usize) -> impl Display + '_ {
        print::ip6(bytes, indent)
    }
    #[inline(always)]
    fn received(counters: &Counters) -> &Rows<Counter> {
        &counters.ip6
    }
    #[inline(always)]
    fn plain(packet: &[u8]) -> Option<u128> {
        plain(packet).map(|header| u128::from_be_bytes(header.dst))
    }
    #[inline(always)]
    fn hops_of(packet: &[u8]) -> Option<u8> {
        Header::ref_from_prefix(packet).ok().map(|(h, _)| h.hop_limit)
    }
    #[inline(always)]
    fn spend_hop_of(packet: &mut [u8]) {
        if let Ok((header, _)) = Header::mut_from_prefix(packet) {
            header.hop_limit = header.hop_limit.saturating_sub(1);
        }
    }
    fn too_big_problem(p: &Buffer<'_>, mtu: u16) -> Option<Problem> {
        // Only its sender cuts a packet (RFC 8200 section 4.5).
        let is_ours = p.flags().has(Flags::LOCAL);
        (!is_ours).then(|| Problem::ip6(icmp6::Type::PACKET_TOO_BIG, 0, mtu.into()))
    }
    fn group_mac(p: &Buffer<'_>) -> MacAddr {
        let header = p.header::<Header>();
        header.map_or(MacAddr::BROADCAST, |h| MacAddr::for_ip6_group(h.dst_addr()))
    }
    #[inline(always)]
    fn is_fragment(p: &Buffer<'_>) -> bool {
        ip6::upper_layer(p.bytes()).is_some_and(|upper| upper.fragment.is_some())
    }
    #[inline(always)]
    fn is_whole(packet: &[u8]) -> bool {
        ip6::upper_layer(packet).is_some_and(|upper| upper.fragment.is_none())
    }
    #[inline(always)]
    fn upper(p: &Buffer<'_>) -> Result<Upper, Error> {
        let header = p.header::<Header>().ok_or(Error::TooShort)?;
        let found = ip6::upper_layer(p.bytes()).ok_or(Error::BadLength)?;
        if found.fragment.is_some() {
            return Err(Error::Drop);
        }
        // Groups send nothing (RFC 4291 section 2.7).
        if header.src_addr().is_multicast() && !p.flags().has(Flags::LOCAL) {
            return Err(Error::SrcLookupMiss);
        }
        let total = size_of::<Header>() + usize::from(header.payload_len.get());
        let len = total.checked_sub(found.offset).ok_or(Error::BadLength)?;
        Ok(Upper { protocol: found.protocol, offset: found.offset, len })
    }
    #[inline(always)]
    fn verify(p: &Buffer<'_>, upper: &Upper) -> Result<(), Error> {
        match upper.protocol {
            Protocol::UDP => verify_udp(p, upper),
            Protocol::ICMP6 => {
                let pseudo = pseudo(p, Protocol::ICMP6, upper.len);
                let right = upper.is_sum_valid(p, upper.len, pseudo);
                if right { Ok(()) } else { Err(Error::IcmpChecksum) }
            }
            _ => Ok(()),
        }
    }
    #[inline(always)]
    fn source_to_check(p: &Buffer<'_>, upper: &Upper) -> Option<u128> {
        // Neighbours must be able to ask who we are before a route leads to them.
        let is_icmp = upper.protocol == Protocol::ICMP6;
        let header = p.header::<Header>().filter(|h| !is_icmp && h.dst[0] != 0xff)?;
        // So must a DHCP client: a relay answers it from a global address.
        let udp = upper.header::<udp::Header>(p).filter(|_| upper.protocol == Protocol::UDP);
        let is_for_client = udp.is_some_and(|udp| udp.dst_port.get() == dhcp6::CLIENT_PORT);
        if is_for_client && header.dst_addr().is_unicast_link_local() {
            return None;
        }
        let src = Some(header.src_addr()).filter(|src| !src.is_unspecified());
        src.filter(|src| !src.is_unicast_link_local()).map(|src| src.to_bits())
    }
    fn protocol_problem(p: &Buffer<'_>, upper: &Upper) -> Option<Problem> {
        if upper.protocol == Protocol::NO_NEXT_HEADER {
            return None; // nothing is wrong: nothing follows
        }
        let (kind, code) = (icmp6::Type::PARAMETER_PROBLEM, icmp6::code::UNKNOWN_NEXT_HEADER);
        Some(Problem::ip6(kind, code, announced_at(p.bytes(), upper.offset) as u32))
    }
}

/// Place of the header field that announces the header at `offset`: bytes from the start of the
/// packet.
fn announced_at(packet: &[u8], offset: usize) -> usize {
    let before = ip6::extensions(packet).take_while(|e| e.offset < offset).last();
    before.map_or(ip6::NEXT_HEADER, |e| e.offset)
}

fn verify_udp(p: &Buffer<'_>, upper: &Upper) -> Result<(), Error> {
    let header = upper.header::<udp::Header>(p).ok_or(Error::UdpLength)?;
    let len = usize::from(header.len.get());
    if len < size_of::<udp::Header>() || len > upper.len {
        return Err(Error::UdpLength);
    }
    // Over IPv6 the checksum may not be left out (RFC 8200 section 8.1).
    let known = p.flags().has(Flags::CHECKSUM_OK.with(Flags::CHECKSUM_TODO));
    let is_there = header.checksum.get() != 0;
    if known || is_there && upper.is_sum_valid(p, len, pseudo(p, Protocol::UDP, len)) {
        return Ok(());
    }
    Err(Error::UdpChecksum)
}

fn pseudo(p: &Buffer<'_>, protocol: Protocol, len: usize) -> Sum {
    let header = p.header::<Header>();
    header.map_or(Sum::ZERO, |h| checksum::ip6_pseudo(h.src, h.dst, protocol, len as u32))
}
