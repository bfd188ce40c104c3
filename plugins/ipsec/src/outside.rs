//! Headers in front of ESP: the outer IP header in tunnel mode, and the UDP header (RFC 3948).

use net::prelude::*;
use net::tunnel::EncapDecapFlags as Copies;

use super::sa::Config;

/// Default hop limit of outer headers.
const HOPS: u8 = 254;
/// The maximum hop limit, treated as not configured.
const ALL_HOPS: u8 = 255;
/// ECN bits of a traffic class.
const ECN: u8 = 3;

/// The headers of an association.
#[derive(Clone, Debug)]
pub struct Outside {
    header: Box<[u8]>,
    /// Length of the outer IP header in bytes; 0 in transport mode.
    ip: usize,
    copies: Copies,
    /// Whether the hop limit of an inner packet of the same IP version is decremented and copied.
    spends_hops: bool,
}

/// Fields of a packet before encryption.
#[derive(Clone, Copy, Default)]
pub struct Inside {
    class: u8,
    hops: u8,
    label: u32,
    dont_fragment: bool,
    is_6: bool,
}

impl Inside {
    /// The traffic class.
    #[inline(always)]
    pub fn class(self) -> u8 {
        self.class
    }
    /// Reads the fields of an IP packet, if it is one.
    #[inline(always)]
    pub fn of(packet: &[u8]) -> Self {
        match packet.first().map(|b| b >> 4) {
            Some(4) => ip4::Header::ref_from_prefix(packet).map_or_else(
                |_| Self::default(),
                |(h, _)| Self {
                    class: h.tos,
                    hops: h.ttl,
                    label: 0,
                    dont_fragment: h.dont_fragment(),
                    is_6: false,
                },
            ),
            Some(6) => ip6::Header::ref_from_prefix(packet).map_or_else(
                |_| Self::default(),
                |(h, _)| Self {
                    class: h.traffic_class(),
                    hops: h.hop_limit,
                    label: h.flow_label(),
                    dont_fragment: false,
                    is_6: true,
                },
            ),
            _ => Self::default(),
        }
    }
}

/// Decrements the TTL of an IP packet, if there is no tunnel header for which that was done.
pub fn spend_hop(p: &mut Buffer<'_>) {
    match p.bytes().first().map(|b| b >> 4) {
        Some(4) => V4::spend_hop(p),
        Some(6) => V6::spend_hop(p),
        _ => (),
    }
}

/// The flow label of a tunnel (RFC 6438): VPP's hash of its addresses and protocol.
fn flow_label(src: Ipv6Addr, dst: Ipv6Addr, protocol: Protocol) -> u32 {
    let fold = |addr: Ipv6Addr| {
        let octets = addr.octets();
        octets.as_chunks::<8>().0.iter().fold(0, |sum, half| sum ^ u64::from_le_bytes(*half))
    };
    let (mut a, mut b, mut c) = (fold(src), fold(dst) ^ u64::from(protocol.0), 0u64);
    // The mix of Bob Jenkins' hash for words of 64 bits.
    for [right, left, last] in [[43, 9, 8], [38, 23, 5], [35, 49, 11], [12, 18, 22]] {
        a = a.wrapping_sub(b).wrapping_sub(c) ^ c >> right;
        b = b.wrapping_sub(c).wrapping_sub(a) ^ a << left;
        c = c.wrapping_sub(a).wrapping_sub(b) ^ b >> last;
    }
    (c & 0xf_ffff) as u32
}

impl Outside {
    /// Creates the headers from the configuration.
    pub fn new(config: &Config) -> Self {
        let inner = if config.udp.is_some() { Protocol::UDP } else { config.protocol };
        let mut header = Vec::new();
        let mut copies = Copies::NONE;
        if let Some(outer) = &config.tunnel {
            copies = outer.flags;
            let hops = if outer.hop_limit == 0 { HOPS } else { outer.hop_limit };
            match (outer.src, outer.dst) {
                (IpAddr::V4(src), IpAddr::V4(dst)) => {
                    let mut ip = ip4::Header::new(src, dst, inner, 0);
                    (ip.ttl, ip.tos) = (hops, outer.dscp << 2);
                    if copies.contains(Copies::ENCAP_SET_DF) {
                        ip.fragment = ip4::DONT_FRAGMENT.into();
                    }
                    header.extend_from_slice(ip.as_bytes());
                }
                (IpAddr::V6(src), IpAddr::V6(dst)) => {
                    let mut ip = ip6::Header::new(src, dst, inner, 0);
                    ip.hop_limit = hops;
                    ip.set_traffic_class(outer.dscp << 2);
                    ip.set_flow_label(flow_label(src, dst, inner));
                    header.extend_from_slice(ip.as_bytes());
                }
                _ => (),
            }
        }
        let ip = header.len();
        if let Some((src, dst)) = config.udp {
            header.extend_from_slice(udp::Header::new(src, dst, 0).as_bytes());
        }
        // AH decrements the hop limit like a router on the path, unless it is configured.
        let is_set = config.tunnel.is_some_and(|outer| !matches!(outer.hop_limit, 0 | ALL_HOPS));
        let spends_hops = config.protocol == Protocol::AH && !is_set;
        Self { header: header.into(), ip, copies, spends_hops }
    }
    /// Length of all headers in bytes.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.header.len()
    }
    /// Whether there is an outer IP header.
    #[inline(always)]
    pub fn is_tunnel(&self) -> bool {
        self.ip > 0
    }
    /// Whether the outer header is IPv6.
    #[inline(always)]
    pub fn is_6(&self) -> bool {
        self.ip == size_of::<ip6::Header>()
    }
    /// Whether the outer header forbids fragmentation.
    #[inline(always)]
    pub fn forbids_cutting(&self, inside: &Inside) -> bool {
        let copies = self.copies;
        let takes = copies.contains(Copies::ENCAP_COPY_DF) && inside.dont_fragment;
        !self.is_6() && (copies.contains(Copies::ENCAP_SET_DF) || takes)
    }
    /// Hop limit of the outer header derived from the packet's own.
    #[inline(always)]
    fn hops(&self, inside: &Inside) -> Option<u8> {
        if self.copies.contains(Copies::ENCAP_COPY_HOP_LIMIT) {
            return Some(inside.hops);
        }
        let goes_on = self.spends_hops && inside.is_6 == self.is_6();
        goes_on.then(|| inside.hops.saturating_sub(1).max(1))
    }
    /// Whether there is a UDP header.
    #[inline(always)]
    pub fn has_udp(&self) -> bool {
        self.header.len() > self.ip
    }
    /// Writes the headers of a packet that is as long as `bytes`, at offset `at`.
    #[inline(always)]
    pub fn write(&self, bytes: &mut [u8], at: usize, inside: &Inside) -> Option<()> {
        let total = bytes.len().checked_sub(at)?;
        let place = bytes.get_mut(at..at + self.len())?;
        place.copy_from_slice(&self.header);
        let (ip, udp) = place.split_at_mut_checked(self.ip)?;
        if let Ok((udp, _)) = udp::Header::mut_from_prefix(udp) {
            udp.len = ((total - self.ip) as u16).into();
        }
        if !self.is_tunnel() {
            return Some(());
        }
        let class = |own: u8| {
            let dscp =
                if self.copies.contains(Copies::ENCAP_COPY_DSCP) { inside.class } else { own };
            let ecn = if self.copies.contains(Copies::ENCAP_COPY_ECN) { inside.class } else { 0 };
            dscp & !ECN | ecn & ECN
        };
        let hops = self.hops(inside);
        if self.is_6() {
            let (ip, _) = ip6::Header::mut_from_prefix(ip).ok()?;
            ip.payload_len = ((total - self.ip) as u16).into();
            ip.set_traffic_class(class(ip.traffic_class()));
            if let Some(hops) = hops {
                ip.hop_limit = hops;
            }
            if self.copies.contains(Copies::ENCAP_COPY_FLOW_LABEL) {
                ip.set_flow_label(inside.label);
            }
            return Some(());
        }
        let (ip, _) = ip4::Header::mut_from_prefix(ip).ok()?;
        ip.total_len = (total as u16).into();
        ip.tos = class(ip.tos);
        if let Some(hops) = hops {
            ip.ttl = hops;
        }
        if self.copies.contains(Copies::ENCAP_COPY_DF) && inside.dont_fragment {
            ip.fragment = ip4::DONT_FRAGMENT.into();
        }
        ip.update_checksum();
        Some(())
    }
    /// Whether ECN marks are copied to the inner packet.
    #[inline(always)]
    pub fn takes_congestion(&self) -> bool {
        self.is_tunnel() && self.copies.contains(Copies::DECAP_COPY_ECN)
    }
}
