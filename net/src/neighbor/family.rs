//! Resolution of a neighbour for IPv4 (ARP, RFC 826) and for IPv6 (RFC 4861 section 7.2.2).
#![forbid(unsafe_code)]

use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use graph::{Buffer, Count, Reason};
use infra::rcu::Epoch;
use wire::ethernet::{self, EtherType};
use wire::{MacAddr, Protocol, arp, checksum, icmp4, icmp6, ip4, ip6, nd};
use zerocopy::byteorder::network_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::address::AddressReader;
use crate::drops::Problem;
use crate::ip::{V4, V6, Version};

/// Hop limit of everything that may not have passed a router (RFC 4861 section 11.2).
const ON_LINK: u8 = 255;

/// A version whose neighbours can be asked for.
pub trait Family: Version {
    /// The other version: its packets may go to neighbours known by addresses of this one.
    type Other: Family;
    /// Addresses.
    type Addr: Copy + Eq + Hash + Send + 'static;
    /// The solicitation.
    type Question: IntoBytes + Immutable;
    /// Reasons for drops of packets that are not held.
    type Reason: Reason;
    /// Further counters.
    type Count: Count;

    /// The node that asks for next hops, and the one that asks for destinations.
    const ASKERS: [&'static str; 2];
    /// Node at which held packets go on.
    const LOOKUP: &'static str;
    /// Seconds between two questions for one neighbour that packets may have asked.
    const PAUSE: f64;
    /// The ICMP error for senders to an unresolved neighbor.
    const UNREACHABLE: Problem;
    /// The adjacency is none that anybody can be asked for.
    const NOT_ASKABLE: Self::Reason;
    /// No address of our own to ask from.
    const NO_SOURCE: Self::Reason;
    /// No room beside newer packets.
    const CROWDED: Self::Reason;
    /// No answer.
    const UNANSWERED: Self::Reason;
    /// Reason for drops where no packets are held.
    const NOT_HELD: Self::Reason;
    /// Questions.
    const ASKED: Self::Count;
    /// Packets for which no question was sent because there was one lately.
    const THROTTLED: Self::Count;
    /// Packets whose neighbour became known meanwhile.
    const RESOLVED: Self::Count;
    /// Questions that there was no buffer for.
    const NO_BUFFER: Self::Count;

    /// The address, if it is one of this family.
    fn addr(any: IpAddr) -> Option<Self::Addr>;
    /// The address, of any family.
    fn any(addr: Self::Addr) -> IpAddr;
    /// Destination of a packet.
    fn destination(p: &Buffer<'_>) -> Option<Self::Addr>;
    /// The address of ours from which a neighbour is asked.
    fn source(
        ours: &AddressReader,
        interface: u32,
        target: Self::Addr,
        epoch: Epoch<'_>,
    ) -> Option<Self::Addr>;
    /// Question for the layer 2 address of `target`, by `source` at `mac`.
    fn question(mac: MacAddr, source: Self::Addr, target: Self::Addr) -> Self::Question;
}

/// An ARP packet in its frame.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ArpFrame {
    /// Layer 2.
    pub ethernet: ethernet::Header,
    /// The packet.
    pub arp: arp::Header,
}

/// A solicitation or advertisement, which differ in type and flags only, with one option, in its
/// frame.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct NdFrame {
    /// Layer 2.
    pub ethernet: ethernet::Header,
    /// Layer 3.
    pub ip: ip6::Header,
    /// Solicitation or advertisement.
    pub icmp: icmp6::Header,
    /// Of an advertisement: router, solicited, override.
    pub flags: U32,
    /// The target address.
    pub target: [u8; 16],
    /// Address of layer 2 of the one that asks or answers.
    pub option: nd::LinkLayer,
}

/// Reasons why `ip4-arp` and `ip4-glean` drop packets.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error4 {
    /// ARPs to non-ARP adjacencies.
    NonArpAdj,
    /// no source address for ARP request.
    NoSourceAddress,
    /// too many packets held for ARP.
    QueueFull,
    /// no ARP reply, host unreachable.
    Unanswered,
    /// packets not held on their interface.
    NotHeld,
}

/// Counters of `ip4-arp` and `ip4-glean`.
#[derive(Clone, Copy, graph::Count)]
pub enum Count4 {
    /// ARP requests sent.
    RequestSent,
    /// ARP requests throttled.
    Throttled,
    /// ARP requests resolved.
    Resolved,
    /// ARP requests out of buffer.
    #[severity("error")]
    NoBuffers,
}

/// Reasons why `ip6-discover-neighbor` and `ip6-glean` drop packets.
#[derive(Clone, Copy, graph::Reason)]
pub enum Error6 {
    /// neighbor solicitations to adjacencies without neighbors.
    Drop,
    /// no source address for neighbor solicitation.
    NoSourceAddress,
    /// too many packets held for neighbor discovery.
    QueueFull,
    /// no neighbor advertisement, address unreachable.
    Unanswered,
    /// packets not held on their interface.
    NotHeld,
}

/// Counters of `ip6-discover-neighbor` and `ip6-glean`.
#[derive(Clone, Copy, graph::Count)]
pub enum Count6 {
    /// neighbor solicitations sent.
    RequestSent,
    /// neighbor solicitations throttled.
    Throttled,
    /// neighbor solicitations resolved.
    Resolved,
    /// neighbor solicitations out of buffer.
    #[severity("error")]
    NoBuffers,
}

impl Family for V4 {
    type Other = V6;
    type Addr = Ipv4Addr;
    type Question = ArpFrame;
    type Reason = Error4;
    type Count = Count4;

    const ASKERS: [&'static str; 2] = ["ip4-arp", "ip4-glean"];
    const LOOKUP: &'static str = "ip4-lookup";
    /// Operators of the original see a request for each burst of packets; RFC 1122 section 2.3.2.1
    /// wants a limit and recommends a second.
    const PAUSE: f64 = 0.005;
    const UNREACHABLE: Problem =
        Problem::ip4(icmp4::Type::DESTINATION_UNREACHABLE, icmp4::code::HOST_UNREACHABLE, 0);
    const NOT_ASKABLE: Error4 = Error4::NonArpAdj;
    const NO_SOURCE: Error4 = Error4::NoSourceAddress;
    const CROWDED: Error4 = Error4::QueueFull;
    const UNANSWERED: Error4 = Error4::Unanswered;
    const NOT_HELD: Error4 = Error4::NotHeld;
    const ASKED: Count4 = Count4::RequestSent;
    const THROTTLED: Count4 = Count4::Throttled;
    const RESOLVED: Count4 = Count4::Resolved;
    const NO_BUFFER: Count4 = Count4::NoBuffers;

    fn addr(any: IpAddr) -> Option<Ipv4Addr> {
        match any {
            IpAddr::V4(addr) => Some(addr),
            IpAddr::V6(_) => None,
        }
    }
    fn any(addr: Ipv4Addr) -> IpAddr {
        addr.into()
    }
    fn destination(p: &Buffer<'_>) -> Option<Ipv4Addr> {
        p.header::<ip4::Header>().map(ip4::Header::dst_addr)
    }
    fn source(
        ours: &AddressReader,
        interface: u32,
        target: Ipv4Addr,
        epoch: Epoch<'_>,
    ) -> Option<Ipv4Addr> {
        ours.covering4(interface, target, epoch).or_else(|| ours.source4(interface, epoch))
    }
    fn question(mac: MacAddr, source: Ipv4Addr, target: Ipv4Addr) -> ArpFrame {
        ArpFrame {
            ethernet: ethernet::Header::new(MacAddr::BROADCAST, mac, EtherType::ARP),
            arp: arp::Header::request(arp::Peer::new(mac, source), target),
        }
    }
}

impl Family for V6 {
    type Other = V4;
    type Addr = Ipv6Addr;
    type Question = NdFrame;
    type Reason = Error6;
    type Count = Count6;

    const ASKERS: [&'static str; 2] = ["ip6-discover-neighbor", "ip6-glean"];
    const LOOKUP: &'static str = "ip6-lookup";
    /// At most one for each RetransTimer (RFC 4861 section 7.2.2).
    const PAUSE: f64 = 1.0;
    const UNREACHABLE: Problem =
        Problem::ip6(icmp6::Type::DESTINATION_UNREACHABLE, icmp6::code::ADDRESS_UNREACHABLE, 0);
    const NOT_ASKABLE: Error6 = Error6::Drop;
    const NO_SOURCE: Error6 = Error6::NoSourceAddress;
    const CROWDED: Error6 = Error6::QueueFull;
    const UNANSWERED: Error6 = Error6::Unanswered;
    const NOT_HELD: Error6 = Error6::NotHeld;
    const ASKED: Count6 = Count6::RequestSent;
    const THROTTLED: Count6 = Count6::Throttled;
    const RESOLVED: Count6 = Count6::Resolved;
    const NO_BUFFER: Count6 = Count6::NoBuffers;

    fn addr(any: IpAddr) -> Option<Ipv6Addr> {
        match any {
            IpAddr::V4(_) => None,
            IpAddr::V6(addr) => Some(addr),
        }
    }
    fn any(addr: Ipv6Addr) -> IpAddr {
        addr.into()
    }
    fn destination(p: &Buffer<'_>) -> Option<Ipv6Addr> {
        p.header::<ip6::Header>().map(ip6::Header::dst_addr)
    }
    fn source(
        ours: &AddressReader,
        interface: u32,
        _: Ipv6Addr,
        epoch: Epoch<'_>,
    ) -> Option<Ipv6Addr> {
        // What is said of neighbours stays on the link.
        ours.link_local(interface, epoch)
    }
    fn question(mac: MacAddr, source: Ipv6Addr, target: Ipv6Addr) -> NdFrame {
        let group = ip6::solicited_node(target);
        NdFrame {
            ethernet: ethernet::Header::new(MacAddr::for_ip6_group(group), mac, EtherType::IP6),
            ip: NdFrame::ip(source, group),
            icmp: icmp6::Header::new(icmp6::Type::NEIGHBOR_SOLICITATION, 0),
            flags: U32::ZERO,
            target: target.octets(),
            option: nd::LinkLayer::source(mac),
        }
        .with_checksum()
    }
}

impl NdFrame {
    /// Tells `dst`, at layer 2 `to`, that `target`, an address of this router, is at `mac`.
    pub fn advertisement(
        mac: MacAddr,
        to: MacAddr,
        target: Ipv6Addr,
        dst: Ipv6Addr,
        flags: u32,
    ) -> Self {
        Self {
            ethernet: ethernet::Header::new(to, mac, EtherType::IP6),
            ip: Self::ip(target, dst),
            icmp: icmp6::Header::new(icmp6::Type::NEIGHBOR_ADVERTISEMENT, 0),
            flags: flags.into(),
            target: target.octets(),
            option: nd::LinkLayer::target(mac),
        }
        .with_checksum()
    }
    fn ip(src: Ipv6Addr, dst: Ipv6Addr) -> ip6::Header {
        let len = size_of::<Self>() - size_of::<ethernet::Header>() - size_of::<ip6::Header>();
        let mut ip = ip6::Header::new(src, dst, Protocol::ICMP6, len as u16);
        ip.hop_limit = ON_LINK;
        ip
    }
    fn with_checksum(mut self) -> Self {
        let (ip, len) = (self.ip, self.ip.payload_len.get().into());
        let pseudo = checksum::ip6_pseudo(ip.src, ip.dst, Protocol::ICMP6, len);
        let message = &self.as_bytes()[size_of::<Self>() - len as usize..];
        self.icmp.checksum = checksum::upper_layer(pseudo, [message]).checksum();
        self
    }
}
