//! Differences between the nodes for IPv4 and IPv6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use graph::Buffer;
use net::ip::{V4, V6, Version};
use wire::{Protocol, checksum, ip4, ip6};
use zerocopy::IntoBytes;

use super::key::Key;

/// Length of the longer IP header in bytes.
pub const LONGEST: usize = size_of::<ip6::Header>();

/// An IP version with transport nodes.
pub trait HostVersion: Version {
    /// The session key of a received packet with these ports; `None` if its source or destination
    /// is not a unicast address.
    fn key(p: &Buffer<'_>, ports: [u16; 2], protocol: Protocol) -> Option<Key>;
}

impl HostVersion for V4 {
    #[inline(always)]
    fn key(p: &Buffer<'_>, [src, dst]: [u16; 2], protocol: Protocol) -> Option<Key> {
        let header = p.header::<ip4::Header>()?;
        let is_one = |a: [u8; 4]| a[0] != 0 && a[0] < 224;
        (is_one(header.src) && is_one(header.dst))
            .then(|| Key::ip4((header.dst, dst), (header.src, src), protocol, p.fib()))
    }
}

impl HostVersion for V6 {
    #[inline(always)]
    fn key(p: &Buffer<'_>, [src, dst]: [u16; 2], protocol: Protocol) -> Option<Key> {
        let header = p.header::<ip6::Header>()?;
        let is_one = |a: [u8; 16]| a[0] != 0xff && a != [0; 16];
        if !is_one(header.src) || !is_one(header.dst) {
            return None;
        }
        let key = Key::ip6((header.dst, dst), (header.src, src), protocol, p.fib());
        Some(if key.is_peer_on_link() { key.on(p.rx()) } else { key })
    }
}

/// The unspecified address of the same version.
pub fn unspecified(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Writes the IP header of one of the router's own packets with `len` bytes of payload; returns its
/// length, and the pseudo header sum for a checksum field that is completed later.
pub fn write_header(
    key: &Key,
    len: usize,
    may_be_cut: bool,
    to: &mut [u8; LONGEST],
) -> (usize, u16) {
    match (key.local().ip(), key.peer().ip()) {
        (IpAddr::V4(local), IpAddr::V4(peer)) => {
            let total = (size_of::<ip4::Header>() + len) as u16;
            let mut header = ip4::Header::new(local, peer, key.protocol(), total);
            if !may_be_cut {
                header.fragment = ip4::DONT_FRAGMENT.into();
                header.update_checksum();
            }
            to[..size_of::<ip4::Header>()].copy_from_slice(header.as_bytes());
            let sum = checksum::ip4_pseudo(header.src, header.dst, key.protocol(), len as u16);
            (size_of::<ip4::Header>(), sum.fold())
        }
        (local, peer) => {
            let six = |a| match a {
                IpAddr::V4(a) => Ipv4Addr::to_ipv6_mapped(&a),
                IpAddr::V6(a) => a,
            };
            let header = ip6::Header::new(six(local), six(peer), key.protocol(), len as u16);
            to.copy_from_slice(header.as_bytes());
            let sum = checksum::ip6_pseudo(header.src, header.dst, key.protocol(), len as u32);
            (size_of::<ip6::Header>(), sum.fold())
        }
    }
}
