//! Packets of a load balancer, and their rewriting towards a server.

use std::fmt::Debug;

use net::gso;
use net::prelude::*;
use sessions::{Direction, Flow, Kind, Look, Seen};
use translation::rewrite::{Ends, rewrite};
use wire::checksum;
use zerocopy::byteorder::network_endian::U16;

/// Bytes of the header of GRE (RFC 2784).
const GRE: usize = 4;

/// A version that VIPs are of.
pub trait Spreadable: Version {
    /// Addresses.
    type Address: Look + Ends + Debug + Sync;
    /// Names of the nodes, by kind of encapsulation and whether for a port; empty where there are
    /// none.
    const NAMES: [[&'static str; 2]; 4];
    /// The header of GRE in front of packets.
    const GRE: [u8; GRE];
    /// An address of the version; `None` for one of the other.
    fn address(addr: IpAddr) -> Option<Self::Address>;
    /// An address as all of the router know it.
    fn any(addr: Self::Address) -> IpAddr;
}

impl Spreadable for V4 {
    type Address = [u8; 4];
    const NAMES: [[&'static str; 2]; 4] = [
        ["lb4-gre4", "lb4-gre4-port"],
        ["lb4-gre6", "lb4-gre6-port"],
        ["lb4-l3dsr", "lb4-l3dsr-port"],
        ["", "lb4-nat4-port"],
    ];
    const GRE: [u8; GRE] = [0, 0, 0x08, 0x00];
    fn address(addr: IpAddr) -> Option<[u8; 4]> {
        match addr {
            IpAddr::V4(addr) => Some(addr.octets()),
            IpAddr::V6(_) => None,
        }
    }
    fn any(addr: [u8; 4]) -> IpAddr {
        Ipv4Addr::from(addr).into()
    }
}

impl Spreadable for V6 {
    type Address = [u8; 16];
    const NAMES: [[&'static str; 2]; 4] = [
        ["lb6-gre4", "lb6-gre4-port"],
        ["lb6-gre6", "lb6-gre6-port"],
        ["", ""],
        ["", "lb6-nat6-port"],
    ];
    const GRE: [u8; GRE] = [0, 0, 0x86, 0xdd];
    fn address(addr: IpAddr) -> Option<[u8; 16]> {
        match addr {
            IpAddr::V6(addr) => Some(addr.octets()),
            IpAddr::V4(_) => None,
        }
    }
    fn any(addr: [u8; 16]) -> IpAddr {
        Ipv6Addr::from(addr).into()
    }
}

/// The flow of a packet. Of an ICMP error that is the flow of the quoted packet, which a server
/// sent; of a fragment with unknown ports, that of its addresses.
#[inline(always)]
pub fn look<V: Spreadable>(p: &Buffer<'_>) -> Option<Seen<V::Address>> {
    if let Some(seen) = V::Address::look(p.bytes(), p.ports(), 0) {
        return Some(seen);
    }
    let [src, dst] = V::Address::of(p.bytes())?;
    let (protocol, upper) = V::Address::upper(p.bytes())?;
    let flow = Flow::new((src, 0), (dst, 0), protocol, 0);
    Some(Seen { flow, kind: Kind::Other, upper, has_upper: false })
}

/// Hops of an outer header, as in the original.
const HOPS: u8 = 128;

/// Puts a packet into GRE over IPv4.
#[inline(always)]
pub fn enclose4(p: &mut Buffer<'_>, gre: [u8; GRE], src: Ipv4Addr, dst: Ipv4Addr) -> Option<()> {
    const LEN: usize = size_of::<ip4::Header>() + GRE;
    let len = u16::try_from(p.total_len() + LEN).ok()?;
    let mut header = ip4::Header::new(src, dst, Protocol::GRE, len);
    header.ttl = HOPS;
    header.update_checksum();
    let mut bytes = [0; LEN];
    bytes[..size_of::<ip4::Header>()].copy_from_slice(header.as_bytes());
    bytes[size_of::<ip4::Header>()..].copy_from_slice(&gre);
    enclose(p, &bytes)
}

/// Puts a packet into GRE over IPv6.
#[inline(always)]
pub fn enclose6(p: &mut Buffer<'_>, gre: [u8; GRE], src: Ipv6Addr, dst: Ipv6Addr) -> Option<()> {
    const LEN: usize = size_of::<ip6::Header>() + GRE;
    let len = u16::try_from(p.total_len() + GRE).ok()?;
    let mut header = ip6::Header::new(src, dst, Protocol::GRE, len);
    header.hop_limit = HOPS - 1; // as it leaves: packets of our own spend none
    let mut bytes = [0; LEN];
    bytes[..size_of::<ip6::Header>()].copy_from_slice(header.as_bytes());
    bytes[size_of::<ip6::Header>()..].copy_from_slice(&gre);
    enclose(p, &bytes)?;
    // Packets of our own are cut where the link needs it.
    p.add_flags(Flags::LOCAL);
    Some(())
}

#[inline(always)]
fn enclose(p: &mut Buffer<'_>, headers: &[u8]) -> Option<()> {
    if !gso::can_wait(p, headers.len()) {
        return None;
    }
    gso::enclose(p, headers.len());
    p.clear_flags(Flags::L2);
    p.make_room(headers.len())?.copy_from_slice(headers);
    Some(())
}

/// Gives a packet another destination, and a DSCP (RFC 2474) that names the VIP.
#[inline(always)]
pub fn redirect<A: Ends>(p: &mut Buffer<'_>, seen: &Seen<A>, to: A, dscp: u8) -> Option<()> {
    // What an error quotes stays: the server knows the flow by the VIP.
    let seen = match seen.kind {
        Kind::Error(_) => {
            let [src, dst] = A::of(p.bytes())?;
            let flow = Flow::new((src, 0), (dst, 0), seen.flow.protocol(), 0);
            Seen { flow, kind: Kind::Other, has_upper: false, ..*seen }
        }
        _ => *seen,
    };
    let mut new = seen.flow;
    new.dst = to;
    rewrite(p, 0, &seen, &new, Direction::Forward)?;
    let header = p.header_mut::<ip4::Header>()?;
    let word = |tos| U16::from_bytes([header.version_ihl, tos]);
    let tos = dscp << 2 | header.tos & 3;
    header.checksum = checksum::update(header.checksum, word(header.tos), word(tos));
    header.tos = tos;
    Some(())
}

/// Gives a packet another destination and port.
#[inline(always)]
pub fn translate<A: Ends>(p: &mut Buffer<'_>, seen: &Seen<A>, to: (A, u16)) -> Option<()> {
    let mut new = seen.flow;
    (new.dst, new.dst_port) = to;
    rewrite(p, 0, seen, &new, Direction::Forward)
}
