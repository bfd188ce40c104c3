//! Session keys: the common fields of a session's packets.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use wire::Protocol;

/// Addresses, ports, protocol and table of a session. IPv4 addresses are mapped to IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    local: u128,
    peer: u128,
    local_port: u16,
    peer_port: u16,
    fib: u16,
    protocol: Protocol,
    is_ip6: bool,
    /// Interface of a peer with a link-local address.
    link: u32,
}

/// Multiplier of the hash.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ MIX.rotate_left(32)) * u128::from(b ^ MIX);
    product as u64 ^ (product >> 64) as u64
}

impl Key {
    /// The key of IPv4 packets.
    #[inline(always)]
    pub fn ip4(local: ([u8; 4], u16), peer: ([u8; 4], u16), protocol: Protocol, fib: u16) -> Self {
        let mapped = |a: [u8; 4]| u128::from(u32::from_be_bytes(a)) | 0xffff << 32;
        Self {
            local: mapped(local.0),
            peer: mapped(peer.0),
            local_port: local.1,
            peer_port: peer.1,
            fib,
            protocol,
            is_ip6: false,
            link: 0,
        }
    }
    /// The key of IPv6 packets.
    #[inline(always)]
    pub fn ip6(
        local: ([u8; 16], u16),
        peer: ([u8; 16], u16),
        protocol: Protocol,
        fib: u16,
    ) -> Self {
        Self {
            local: u128::from_be_bytes(local.0),
            peer: u128::from_be_bytes(peer.0),
            local_port: local.1,
            peer_port: peer.1,
            fib,
            protocol,
            is_ip6: true,
            link: 0,
        }
    }
    /// The key for two endpoints of one IP version.
    pub fn of(local: SocketAddr, peer: SocketAddr, protocol: Protocol, fib: u16) -> Self {
        let (own, other) = (local.port(), peer.port());
        match (local.ip(), peer.ip()) {
            (IpAddr::V4(l), IpAddr::V4(r)) => {
                Self::ip4((l.octets(), own), (r.octets(), other), protocol, fib)
            }
            (l, r) => {
                let octets = |a: IpAddr| match a {
                    IpAddr::V4(a) => a.to_ipv6_mapped().octets(),
                    IpAddr::V6(a) => a.octets(),
                };
                Self::ip6((octets(l), own), (octets(r), other), protocol, fib)
            }
        }
    }
    fn address(&self, bits: u128) -> IpAddr {
        if self.is_ip6 { IpAddr::V6(bits.into()) } else { IpAddr::V4((bits as u32).into()) }
    }
    /// The local endpoint.
    pub fn local(&self) -> SocketAddr {
        SocketAddr::new(self.address(self.local), self.local_port)
    }
    /// The remote endpoint.
    pub fn peer(&self) -> SocketAddr {
        SocketAddr::new(self.address(self.peer), self.peer_port)
    }
    /// Whether it is IPv6.
    pub fn is_ip6(&self) -> bool {
        self.is_ip6
    }
    /// FIB index of its addresses.
    pub fn fib(&self) -> u16 {
        self.fib
    }
    /// Protocol.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }
    /// Both addresses as bytes; IPv4 addresses are in the first four.
    pub fn octets(&self) -> ([u8; 16], [u8; 16]) {
        let bytes = |bits: u128| match self.is_ip6 {
            true => bits.to_be_bytes(),
            false => ((bits as u32 as u128) << 96).to_be_bytes(),
        };
        (bytes(self.local), bytes(self.peer))
    }
    /// The same key with another local port.
    #[cfg(test)]
    pub fn with_port(self, local_port: u16) -> Self {
        Self { local_port, ..self }
    }
    /// The same key with a peer on the link of an interface.
    #[must_use]
    pub fn on(self, interface: u32) -> Self {
        Self { link: interface, ..self }
    }
    /// Whether the peer's address is link-local (RFC 4291 section 2.5.6).
    pub fn is_peer_on_link(&self) -> bool {
        self.is_ip6 && Ipv6Addr::from(self.peer).is_unicast_link_local()
    }
    /// The interface of a peer with a link-local address, or 0.
    pub fn link(&self) -> u32 {
        self.link
    }
    /// A nonzero hash. Without the seed, collisions cannot be provoked.
    #[inline(always)]
    pub fn hash(&self, seed: u64) -> u64 {
        let ends = u64::from(self.local_port) << 48
            | u64::from(self.peer_port) << 32
            | u64::from(self.fib) << 16
            | u64::from(self.protocol.0) << 8
            | u64::from(self.is_ip6);
        let peer = fold(self.peer as u64 ^ seed, (self.peer >> 64) as u64 ^ seed.rotate_left(17));
        let peer = peer.wrapping_add(u64::from(self.link).wrapping_mul(seed | 1));
        let local = fold(self.local as u64 ^ seed, (self.local >> 64) as u64 ^ peer);
        fold(peer.wrapping_add(local) ^ seed.rotate_left(32), ends ^ seed).max(1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_say_what_they_were_made_of() {
        for (local, peer) in
            [("10.0.0.1:80", "10.0.0.2:4000"), ("[2001:db8::1]:80", "[2001:db8::2]:4000")]
        {
            let ends: [SocketAddr; 2] = [local.parse().unwrap(), peer.parse().unwrap()];
            let key = Key::of(ends[0], ends[1], Protocol::TCP, 7);
            assert_eq!((key.local(), key.peer(), key.fib()), (ends[0], ends[1], 7));
            assert_eq!(key.with_port(81).local().port(), 81);
        }
        let key = Key::ip4(([10, 0, 0, 1], 1), ([10, 0, 0, 2], 2), Protocol::UDP, 0);
        assert_eq!((&key.octets().0[..5], key.octets().1[3]), (&[10, 0, 0, 1, 0][..], 2));
    }

    #[test]
    fn neighbours_have_hashes_of_their_own() {
        let mut seen = HashSet::new();
        for n in 0..20_000u32 {
            let peer = ([10, 0, (n >> 8) as u8, n as u8], n as u16);
            let key = Key::ip4(([10, 0, 0, 1], 80), peer, Protocol::TCP, 0);
            assert!(seen.insert(key.hash(7)) && key.hash(7) != key.hash(8));
        }
        let key = Key::ip6(([1; 16], 1), ([2; 16], 2), Protocol::TCP, 0);
        for other in [
            Key::ip6(([3; 16], 1), ([2; 16], 2), Protocol::TCP, 0),
            Key::ip6(([1; 16], 1), ([2; 16], 2), Protocol::UDP, 0),
            Key::ip6(([1; 16], 1), ([2; 16], 2), Protocol::TCP, 1),
            key.with_port(2),
        ] {
            assert_ne!(key.hash(1), other.hash(1));
        }
    }
}
