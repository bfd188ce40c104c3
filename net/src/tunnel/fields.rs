//! The fields of an outer header: those that are the same for all packets, made ready, and those
//! that depend on what is carried, written packet by packet.
//!
//! Congestion marks are treated as RFC 6040 says: put on as they are where asked for, and joined
//! with those of what is carried when that is taken out.

use std::net::IpAddr;

use graph::{Buffer, Flags};
use wire::checksum::ip6_pseudo;
use wire::{Protocol, ip4, ip6, udp};
use zerocopy::byteorder::network_endian::U16;
use zerocopy::{FromBytes, IntoBytes};

use super::{Behind, EncapDecapFlags as Copies, Outer, flow};
use crate::adjacency::Link;
use crate::adjacency::chain::{Fixup, keeps_hops};
use crate::gso;
use crate::ip::Chain;

/// Bits of a traffic class that are congestion marks.
const ECN: u8 = 3;
/// The mark of a packet that met congestion.
const CONGESTED: u8 = 3;
/// The marks of packets that can be marked.
const CAPABLE_0: u8 = 2;
const CAPABLE_1: u8 = 1;
/// First of the ports that stand for flows.
const FLOW_PORTS: u16 = 0xc000;

/// Fields written packet by packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Varying {
    copies: Copies,
    carried: Link,
    /// Bytes of all headers.
    header: u8,
    /// Place of a length field in the headers, and where the bytes that it counts begin.
    length: Option<(u8, u8)>,
    /// Whether the source port of UDP stays as it is.
    keeps_port: bool,
}

impl Varying {
    fn packed(self) -> u64 {
        let carried = match self.carried {
            Link::Ip4 => 4,
            Link::Ip6 => 6,
            Link::Mpls => 1,
            Link::Ethernet => 0,
        };
        let (at, from) = self.length.unwrap_or_default();
        let keeps = u8::from(self.keeps_port);
        u64::from_le_bytes([self.copies.0, carried, self.header, at, from, keeps, 0, 0])
    }
    fn unpacked(number: u64) -> Self {
        let [copies, carried, header, at, from, keeps, ..] = number.to_le_bytes();
        let carried = match carried {
            4 => Link::Ip4,
            6 => Link::Ip6,
            1 => Link::Mpls,
            _ => Link::Ethernet,
        };
        let length = (at > 0).then_some((at, from));
        Self { copies: Copies(copies), carried, header, length, keeps_port: keeps > 0 }
    }
}

impl Outer {
    /// All headers in front of what is carried to a far end, with hops for IPv4 and IPv6.
    pub fn chain(&self, dst: IpAddr, hops: [u8; 2], carried: Link, behind: &Behind) -> Chain {
        let usual = hops[usize::from(self.src.is_ipv6())];
        let hop_limit = left(if self.hop_limit == 0 { usual } else { self.hop_limit });
        let mut header = match (self.src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let mut outer = ip4::Header::new(src, dst, behind.protocol, 0);
                (outer.ttl, outer.tos) = (hop_limit, self.dscp << 2);
                // Where it is copied it may be set: the way to the far end counts for what goes in.
                let may_be_whole = [Copies::ENCAP_SET_DF, Copies::ENCAP_COPY_DF];
                if may_be_whole.into_iter().any(|flag| self.flags.contains(flag)) {
                    outer.fragment = ip4::DONT_FRAGMENT.into();
                }
                outer.with_checksum().as_bytes().to_vec()
            }
            (src, dst) => {
                let of = |addr| match addr {
                    IpAddr::V6(addr) => addr,
                    IpAddr::V4(addr) => addr.to_ipv6_mapped(),
                };
                let mut outer = ip6::Header::new(of(src), of(dst), behind.protocol, 0);
                outer.hop_limit = hop_limit;
                outer.set_traffic_class(self.dscp << 2);
                outer.as_bytes().to_vec()
            }
        };
        let ip = header.len() as u8;
        header.extend_from_slice(&behind.bytes);
        let length = behind.length.map(|(at, from)| (ip + at, ip + from));
        let (copies, keeps_port) = (self.flags, behind.keeps_port);
        let len = header.len() as u8;
        let varying = Varying { copies, carried, header: len, length, keeps_port };
        let is_plain = length.is_none()
            && behind.protocol != Protocol::UDP
            && varying.copies.0 & !(Copies::ENCAP_SET_DF.0 | Copies::DECAP_COPY_ECN.0) == 0;
        let has_only_port = length.is_none()
            && behind.protocol == Protocol::UDP
            && !(keeps_port || Inner::wanted(copies));
        let fixup = match (is_plain, self.src) {
            (true, IpAddr::V4(_)) => Fixup::Ip4,
            (true, IpAddr::V6(_)) => Fixup::Ip6,
            (false, IpAddr::V4(_)) if has_only_port => Fixup::Own(write_udp4, varying.packed()),
            (false, _) => Fixup::Own(write, varying.packed()),
        };
        let carries_offloads = length.is_none() && behind.sequence.is_none();
        Chain { header: header.into(), fixup, carries_offloads, to: (self.table, dst).into() }
    }
}

/// Fields of the packet that is carried.
#[derive(Clone, Copy, Default)]
struct Inner {
    class: u8,
    hops: u8,
    label: u32,
    dont_fragment: bool,
}

impl Inner {
    /// Whether a tunnel that copies this has anything in its headers from the packet's.
    fn wanted(copies: Copies) -> bool {
        const NONE: u8 = Copies::ENCAP_SET_DF.0 | Copies::DECAP_COPY_ECN.0;
        copies.0 & !NONE != 0
    }
    fn of(carried: Link, packet: &[u8]) -> Option<Self> {
        match carried {
            Link::Ip4 => {
                let (h, _) = ip4::Header::ref_from_prefix(packet).ok()?;
                let dont_fragment = h.dont_fragment();
                Some(Self { class: h.tos, hops: h.ttl, label: 0, dont_fragment })
            }
            Link::Ip6 => {
                let (h, _) = ip6::Header::ref_from_prefix(packet).ok()?;
                let (class, label) = (h.traffic_class(), h.flow_label());
                Some(Self { class, hops: h.hop_limit, label, dont_fragment: false })
            }
            Link::Mpls | Link::Ethernet => None,
        }
    }
    /// The traffic class of the outer header, which had one already.
    fn class(self, copies: Copies, own: u8) -> u8 {
        let dscp = if copies.contains(Copies::ENCAP_COPY_DSCP) { self.class } else { own };
        let ecn = if copies.contains(Copies::ENCAP_COPY_ECN) { self.class } else { 0 };
        dscp & !ECN | ecn & ECN
    }
}

/// Hops that are left when the outer header has spent one here, too.
fn left(hops: u8) -> u8 {
    hops.saturating_sub(1).max(1)
}

/// Writes the fields of the headers in front of a packet.
fn write(p: &mut Buffer<'_>, number: u64) {
    let varying = Varying::unpacked(number);
    let len = p.total_len();
    let header = usize::from(varying.header);
    let inner = Inner::wanted(varying.copies)
        .then(|| Inner::of(varying.carried, p.bytes().get(header..).unwrap_or(&[])))
        .flatten();
    let port =
        (!varying.keeps_port).then(|| FLOW_PORTS | flow_of(p, varying.carried, header) as u16);
    if let Some((at, from)) = varying.length {
        let (at, counted) = (usize::from(at), len.saturating_sub(from.into()) as u16);
        if let Some(field) = p.bytes_mut().get_mut(at..at + 2) {
            field.copy_from_slice(&counted.to_be_bytes());
        }
    }
    match p.bytes().first().map(|b| b >> 4) {
        Some(4) => write4(p, len, varying.copies, inner, port),
        _ => write6(p, len, varying.copies, inner, port),
    }
}

/// As [`write`], of headers of IPv4 and UDP that have only lengths and the flow's port to be
/// written, as those of most tunnels over UDP.
fn write_udp4(p: &mut Buffer<'_>, number: u64) {
    let Varying { carried, header, .. } = Varying::unpacked(number);
    let (len, port) = (p.total_len(), FLOW_PORTS | flow_of(p, carried, header.into()) as u16);
    let Ok((outer, rest)) = ip4::Header::mut_from_prefix(p.bytes_mut()) else { return };
    outer.set_total_len(len as u16);
    if let Ok((udp, _)) = udp::Header::mut_from_prefix(rest) {
        udp.src_port = port.into();
        udp.len = ((len - size_of::<ip4::Header>()) as u16).into();
    }
}

fn write4(p: &mut Buffer<'_>, len: usize, copies: Copies, inner: Option<Inner>, port: Option<u16>) {
    let Ok((outer, rest)) = ip4::Header::mut_from_prefix(p.bytes_mut()) else { return };
    outer.set_total_len(len as u16);
    if let Some(inner) = inner {
        outer.tos = inner.class(copies, outer.tos);
        if copies.contains(Copies::ENCAP_COPY_HOP_LIMIT) {
            outer.ttl = left(inner.hops);
        }
        if copies.contains(Copies::ENCAP_COPY_DF) && !copies.contains(Copies::ENCAP_SET_DF) {
            outer.fragment = if inner.dont_fragment { ip4::DONT_FRAGMENT } else { 0 }.into();
        }
        outer.update_checksum();
    }
    if outer.protocol == Protocol::UDP
        && let Ok((udp, _)) = udp::Header::mut_from_prefix(rest)
    {
        udp.src_port = port.map_or(udp.src_port, Into::into);
        udp.len = ((len - size_of::<ip4::Header>()) as u16).into();
    }
}

fn write6(p: &mut Buffer<'_>, len: usize, copies: Copies, inner: Option<Inner>, port: Option<u16>) {
    let is_enclosed = p.flags().has(Flags::TUNNEL);
    let Ok((outer, rest)) = ip6::Header::mut_from_prefix(p.bytes_mut()) else { return };
    let upper = len.saturating_sub(size_of::<ip6::Header>());
    outer.payload_len = (upper as u16).into();
    if let Some(inner) = inner {
        outer.set_traffic_class(inner.class(copies, outer.traffic_class()));
        if copies.contains(Copies::ENCAP_COPY_HOP_LIMIT) {
            let is_kept = keeps_hops(outer.next_header);
            outer.hop_limit = if is_kept { inner.hops } else { left(inner.hops) };
        }
        if copies.contains(Copies::ENCAP_COPY_FLOW_LABEL) {
            outer.set_flow_label(inner.label);
        }
    }
    if outer.next_header != Protocol::UDP {
        return;
    }
    let pseudo = ip6_pseudo(outer.src, outer.dst, Protocol::UDP, upper as u32);
    let Ok((udp, _)) = udp::Header::mut_from_prefix(rest) else { return };
    udp.src_port = port.map_or(udp.src_port, Into::into);
    udp.len = (upper as u16).into();
    if is_enclosed {
        udp.checksum = U16::ZERO;
        let sum = gso::outer_checksum(p, size_of::<ip6::Header>(), pseudo);
        let rest = p.bytes_mut().get_mut(size_of::<ip6::Header>()..).unwrap_or_default();
        if let (Ok((udp, _)), Some(sum)) = (udp::Header::mut_from_prefix(rest), sum) {
            udp.checksum = sum;
        }
        return;
    }
    // As in all packets with a checksum that the device or the output node completes.
    udp.checksum = pseudo.fold().into();
    let l3 = p.offset();
    p.set_l3_offset(l3);
    p.set_l4_offset(l3 + size_of::<ip6::Header>() as i16);
    p.add_flags(Flags::L3.with(Flags::L4).with(Flags::CHECKSUM_TODO));
}

/// A number that is the same for all packets of a flow.
#[inline(always)]
fn flow_of(p: &Buffer<'_>, carried: Link, header: usize) -> u32 {
    if p.flags().has(Flags::HASH) {
        return p.flow_hash();
    }
    let bytes = p.bytes().get(header..).unwrap_or(&[]);
    let plain = if carried == Link::Ethernet { flow::hash_plain(bytes) } else { None };
    plain.unwrap_or_else(|| flow::hash(carried, bytes))
}

/// Joins the congestion mark of an outer header, given its traffic class, with that of the packet
/// it was taken off.
pub fn take_congestion(class: u8, carried: Link, p: &mut Buffer<'_>) {
    let outer = class & ECN;
    let joined = |inner: u8| match (outer, inner & ECN) {
        (CONGESTED, _) => inner | CONGESTED,
        (CAPABLE_1, CAPABLE_0) => inner & !ECN | CAPABLE_1,
        _ => inner,
    };
    match carried {
        Link::Ip4 => {
            if let Some(inner) = p.header_mut::<ip4::Header>() {
                inner.set_tos(joined(inner.tos));
            }
        }
        Link::Ip6 => {
            if let Some(inner) = p.header_mut::<ip6::Header>() {
                inner.set_traffic_class(joined(inner.traffic_class()));
            }
        }
        Link::Mpls | Link::Ethernet => (),
    }
}
