//! IPv4 as the nodes that both versions share need it.

use std::fmt::Display;

use graph::arc::FeatureArc;
use graph::{Buffer, Flags};
use infra::counter::{Counter, Rows};
use wire::checksum::{self, Sum};
use wire::ip4::Header;
use wire::{MacAddr, Protocol, icmp4, print, udp};
use zerocopy::FromBytes;

use super::input::{VerifyChecksum, plain};
use super::{Error, IP4_DROP, IP4_LOCAL, IP4_OUTPUT, IP4_PUNT, IP4_UNICAST};
use crate::adjacency::Link;
use crate::drops::Problem;
use crate::fib::Ip4;
use crate::interface::Counters;
use crate::ip::{Linked, Nodes, Upper, Version};

/// IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V4;

impl Linked for V4 {
    const LINK: Link = Link::Ip4;
}

impl Version for V4 {
    type Error = Error;
    type Family = Ip4;

    const SELF: Self = Self;
    const NODES: Nodes = Nodes {
        input: "ip4-input",
        drop: "ip4-drop",
        punt: "ip4-punt",
        not_enabled: "ip4-not-enabled",
        lookup: "ip4-lookup",
        receive: "ip4-receive",
        local: "ip4-local",
        local_end: "ip4-local-end-of-arc",
        reassemble: "ip4-local-full-reassembly",
        udp_lookup: "ip4-udp-lookup",
        udp_punt: "ip4-udp-punt",
        icmp_input: "ip4-icmp-input",
        icmp_error: "ip4-icmp-error",
        rewrite: "ip4-rewrite",
        rewrite_mcast: "ip4-rewrite-mcast",
        midchain: "ip4-midchain",
        fragment: "ip4-frag",
        resolve: "ip4-arp",
        resolve_other: "ip6-discover-neighbor",
    };
    const UNICAST_ARC: &'static FeatureArc = &IP4_UNICAST;
    const DROP_ARC: &'static FeatureArc = &IP4_DROP;
    const PUNT_ARC: &'static FeatureArc = &IP4_PUNT;
    const LOCAL_ARC: &'static FeatureArc = &IP4_LOCAL;
    const OUTPUT_ARC: &'static FeatureArc = &IP4_OUTPUT;
    const DROPPED: Error = Error::Drop;
    const EXPIRED: Error = Error::TimeExpired;
    const TOO_BIG: Error = Error::MtuExceeded;
    const UNKNOWN_PROTOCOL: Error = Error::UnknownProtocol;
    const NO_WAY_BACK: Error = Error::SrcLookupMiss;
    const SPOOFED: Error = Error::SpoofedLocalPackets;
    const RPF_FAILURE: Error = Error::RpfFailure;
    const SAME_INTERFACE: Error = Error::SameInterface;
    const EXPIRED_PROBLEM: Problem =
        Problem::ip4(icmp4::Type::TIME_EXCEEDED, icmp4::code::TTL_EXCEEDED, 0);
    const PORT_PROBLEM: Problem =
        Problem::ip4(icmp4::Type::DESTINATION_UNREACHABLE, icmp4::code::PORT_UNREACHABLE, 0);
    const SCOPE_PROBLEM: Option<Problem> = None;
    const LOCAL_COUNTED_AT: &'static str = "";
    const QUOTES_AS_SENT: bool = false;

    fn print(bytes: &[u8], indent: usize) -> impl Display + '_ {
        print::ip4(bytes, indent)
    }
    #[inline(always)]
    fn received(counters: &Counters) -> &Rows<Counter> {
        &counters.ip4
    }
    #[inline(always)]
    fn plain(packet: &[u8]) -> Option<u32> {
        plain::<VerifyChecksum>(packet).map(|header| u32::from_be_bytes(header.dst))
    }
    #[inline(always)]
    fn hops_of(packet: &[u8]) -> Option<u8> {
        Header::ref_from_prefix(packet).ok().map(|(h, _)| h.ttl)
    }
    #[inline(always)]
    fn spend_hop_of(packet: &mut [u8]) {
        if let Ok((header, _)) = Header::mut_from_prefix(packet) {
            header.decrement_ttl();
        }
    }
    fn too_big_problem(p: &Buffer<'_>, mtu: u16) -> Option<Problem> {
        let kind = icmp4::Type::DESTINATION_UNREACHABLE;
        let needed = Problem::ip4(kind, icmp4::code::FRAGMENTATION_NEEDED, mtu.into());
        p.header::<Header>().filter(|h| h.dont_fragment()).map(|_| needed)
    }
    fn group_mac(p: &Buffer<'_>) -> MacAddr {
        let header = p.header::<Header>();
        header.map_or(MacAddr::BROADCAST, |h| MacAddr::for_ip4_group(h.dst_addr()))
    }
    #[inline(always)]
    fn is_fragment(p: &Buffer<'_>) -> bool {
        p.header::<Header>().is_some_and(Header::is_fragment)
    }
    #[inline(always)]
    fn is_whole(packet: &[u8]) -> bool {
        Header::ref_from_prefix(packet).is_ok_and(|(header, _)| !header.is_fragment())
    }
    #[inline(always)]
    fn upper(p: &Buffer<'_>) -> Result<Upper, Error> {
        let header = p.header::<Header>().ok_or(Error::TooShort)?;
        if header.is_fragment() {
            return Err(Error::Drop);
        }
        // No host has such an address (RFC 1122 section 3.2.1.3).
        let is_odd = matches!(header.src, [127 | 0xe0..=0xef, ..] | [255, 255, 255, 255]);
        if is_odd && !p.flags().has(Flags::LOCAL) {
            return Err(Error::SrcLookupMiss);
        }
        let (offset, total) = (header.header_len(), usize::from(header.total_len.get()));
        let len = total.checked_sub(offset).ok_or(Error::TooShort)?;
        Ok(Upper { protocol: header.protocol, offset, len })
    }
    #[inline(always)]
    fn verify(p: &Buffer<'_>, upper: &Upper) -> Result<(), Error> {
        match upper.protocol {
            Protocol::UDP => verify_udp(p, upper),
            Protocol::TCP if !is_sum_known(p) => {
                let len = upper.len;
                let right = upper.is_sum_valid(p, len, pseudo(p, Protocol::TCP, len));
                if right { Ok(()) } else { Err(Error::TcpChecksum) }
            }
            _ => Ok(()),
        }
    }
    #[inline(always)]
    fn source_to_check(p: &Buffer<'_>, _: &Upper) -> Option<u32> {
        // Hosts without an address send broadcasts, and members of a group are anywhere.
        let header = p.header::<Header>().filter(|h| h.dst[0] < 224)?;
        Some(u32::from_be_bytes(header.src))
    }
    fn protocol_problem(_: &Buffer<'_>, _: &Upper) -> Option<Problem> {
        let kind = icmp4::Type::DESTINATION_UNREACHABLE;
        Some(Problem::ip4(kind, icmp4::code::PROTOCOL_UNREACHABLE, 0))
    }
}

fn verify_udp(p: &Buffer<'_>, upper: &Upper) -> Result<(), Error> {
    let header = upper.header::<udp::Header>(p).ok_or(Error::UdpLength)?;
    let len = usize::from(header.len.get());
    if len < size_of::<udp::Header>() || len > upper.len {
        return Err(Error::UdpLength);
    }
    let unsent = header.checksum.get() == 0;
    if unsent || is_sum_known(p) || upper.is_sum_valid(p, len, pseudo(p, Protocol::UDP, len)) {
        return Ok(());
    }
    Err(Error::UdpChecksum)
}

/// Whether the layer 4 checksum was verified already, or will be computed when the packet is sent.
#[inline(always)]
fn is_sum_known(p: &Buffer<'_>) -> bool {
    p.flags().has(Flags::CHECKSUM_OK.with(Flags::CHECKSUM_TODO))
}

fn pseudo(p: &Buffer<'_>, protocol: Protocol, len: usize) -> Sum {
    let header = p.header::<Header>();
    header.map_or(Sum::ZERO, |h| checksum::ip4_pseudo(h.src, h.dst, protocol, len as u16))
}
