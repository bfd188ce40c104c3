//! A bench for the nodes of IP: two interfaces, `pg0` (10.0.0.1/24, 2001:db8::1/64) and `pg1`
//! (10.0.1.1/24, 2001:db8:1::1/64), everything around them in sinks. What `pg1` sends is caught at
//! `sent`.

use std::net::IpAddr;

use graph::Buffer;
use graph::testing::Caught;
use wire::{MacAddr, Prefix};

use crate::adjacency::{AdjacencyIndex, Role};
use crate::fib::{Ip4, Ip6};
use crate::interface::{InterfaceIndex, NewInterface, Offloads};
use crate::router::{Feature, Router};
use crate::testing::{Pair, Rig, Transmit, new_interface};
use crate::{address, engine, fragment, icmp, ip4, ip6, path_mtu, punt, reassembly, trace};

/// Address of the neighbour of `pg1`.
pub const NEIGHBOR: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xbb]);

/// The rig with its interfaces.
pub type Bench = Pair<Nodes>;

/// The nodes of IP.
pub struct Nodes;

impl Default for Bench {
    fn default() -> Self {
        Self::with(|_| ())
    }
}

impl Bench {
    /// One thread, nothing but IP.
    pub fn new() -> Self {
        Self::default()
    }
    /// With a plugin.
    pub fn plugged(plugin: Feature) -> Self {
        Self::featuring(&[plugin], 1, |_| (), |_| ())
    }
    /// With what `more` adds before the graph is built.
    pub fn with(more: impl FnOnce(&mut Router)) -> Self {
        Self::with_threads(1, more)
    }
    /// As if there were `threads` of them.
    pub fn with_threads(threads: usize, more: impl FnOnce(&mut Router)) -> Self {
        Self::made(threads, |_| (), more)
    }
    /// As [`Bench::with_threads`], with what `first` adds before features register.
    pub fn made(
        threads: usize,
        first: impl FnOnce(&mut Router),
        more: impl FnOnce(&mut Router),
    ) -> Self {
        Self::featuring(&[], threads, first, more)
    }
    /// As [`Bench::made`], with more features behind those of IP.
    pub fn featuring(
        extra: &[Feature],
        threads: usize,
        first: impl FnOnce(&mut Router),
        more: impl FnOnce(&mut Router),
    ) -> Self {
        let features = [
            engine::FEATURE,
            address::FEATURE,
            ip4::FEATURE,
            ip6::FEATURE,
            icmp::FEATURE,
            fragment::FEATURE,
            reassembly::FEATURE,
            path_mtu::FEATURE,
            punt::FEATURE,
            trace::FEATURE,
            trace::TRACEDUMP,
        ];
        let features = [&features, extra].concat();
        Self::of(Rig::made(threads, &features, first, |router| {
            router.add_table::<Ip4>(0).unwrap();
            router.add_table::<Ip6>(0).unwrap();
            let pg0 = add_interface(router, "pg0", ["10.0.0.1/24", "2001:db8::1/64"]);
            let pg1 = add_interface(router, "pg1", ["10.0.1.1/24", "2001:db8:1::1/64"]);
            more(router);
            (pg0, pg1)
        }))
    }
    /// Runs a command: its output, or its error.
    pub fn run(&mut self, line: &str) -> Result<String, String> {
        self.attempt(line)
    }
    /// The adjacency of a neighbour on `pg1`, known or not.
    pub fn neighbor(&mut self, addr: &str, is_known: bool) -> AdjacencyIndex {
        let (addr, pg1): (IpAddr, _) = (addr.parse().unwrap(), self.pg1);
        self.control(|router| {
            let index = router.use_adjacency(pg1, Role::Neighbor, addr).unwrap();
            if is_known {
                router.complete_adjacency(index, NEIGHBOR);
            }
            index
        })
    }
    /// Sends packets received on `pg0` into a node.
    pub fn send(&mut self, at: &str, packets: &[Vec<u8>]) -> Vec<Caught> {
        self.send_as(at, packets, |_| ())
    }
    /// As [`Bench::send`], on another thread.
    pub fn send_on(&mut self, thread: usize, at: &str, packets: &[Vec<u8>]) -> Vec<Caught> {
        let rx = self.pg0.0;
        self.graph.send_on(thread, at, packets, move |p| p.set_rx(rx))
    }
    /// As [`Bench::send`], each prepared.
    pub fn send_as(
        &mut self,
        at: &str,
        packets: &[Vec<u8>],
        prepare: impl Fn(&mut Buffer<'_>) + Clone + Send + 'static,
    ) -> Vec<Caught> {
        let rx = self.pg0.0;
        self.graph.send(at, packets, move |p| {
            p.set_rx(rx);
            prepare(p);
        })
    }
}

fn add_interface(router: &mut Router, name: &str, addresses: [&str; 2]) -> InterfaceIndex {
    let mac = MacAddr([2, 0, 0, 0, 0, 0xaa]);
    let offloads = Offloads { checksum: true, gso: true, tunnels: true };
    let new = NewInterface { offloads, ..new_interface(name, mac) };
    let index = router.add_interface(new, Transmit).unwrap();
    router.set_admin(index, true);
    for address in addresses {
        router.add_address(index, address.parse::<Prefix>().unwrap()).unwrap();
    }
    index
}

/// Packets as bytes, from their IP header on; right in every respect until a test changes them.
pub mod packets {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use wire::{Protocol, checksum, icmp4, icmp6, ip4, ip6, udp};
    use zerocopy::{FromBytes, IntoBytes};

    /// A host behind `pg0`.
    pub const HOST4: &str = "10.0.0.2";
    /// A host behind `pg0`.
    pub const HOST6: &str = "2001:db8::2";

    /// An IPv4 packet.
    pub fn ip4(src: &str, dst: &str, protocol: Protocol, payload: &[u8]) -> Vec<u8> {
        let (src, dst): (Ipv4Addr, Ipv4Addr) = (src.parse().unwrap(), dst.parse().unwrap());
        let header = ip4::Header::new(src, dst, protocol, 20 + payload.len() as u16);
        [header.as_bytes(), payload].concat()
    }
    /// An IPv6 packet.
    pub fn ip6(src: &str, dst: &str, protocol: Protocol, payload: &[u8]) -> Vec<u8> {
        let (src, dst): (Ipv6Addr, Ipv6Addr) = (src.parse().unwrap(), dst.parse().unwrap());
        let header = ip6::Header::new(src, dst, protocol, payload.len() as u16);
        [header.as_bytes(), payload].concat()
    }
    fn udp(port: u16, data: &[u8]) -> Vec<u8> {
        let header = udp::Header::new(1234, port, 8 + data.len() as u16);
        [header.as_bytes(), data].concat()
    }
    /// A UDP datagram in IPv4.
    pub fn udp4(src: &str, dst: &str, port: u16, data: &[u8]) -> Vec<u8> {
        let mut packet = ip4(src, dst, Protocol::UDP, &udp(port, data));
        let sum = sum4(&packet).udp_checksum();
        packet[26..28].copy_from_slice(sum.as_bytes());
        packet
    }
    /// A UDP datagram in IPv6.
    pub fn udp6(src: &str, dst: &str, port: u16, data: &[u8]) -> Vec<u8> {
        let mut packet = ip6(src, dst, Protocol::UDP, &udp(port, data));
        let sum = sum6(&packet).udp_checksum();
        packet[46..48].copy_from_slice(sum.as_bytes());
        packet
    }
    /// An ICMP echo request.
    pub fn ping4(src: &str, dst: &str, data: &[u8]) -> Vec<u8> {
        let icmp = icmp4::Header::new(icmp4::Type::ECHO_REQUEST, 0);
        let echo = icmp4::Echo { icmp, id: 7.into(), seq: 1.into() };
        let mut packet = ip4(src, dst, Protocol::ICMP, &[echo.as_bytes(), data].concat());
        let sum = checksum::Sum::ZERO.add_bytes(&packet[20..]).checksum();
        packet[22..24].copy_from_slice(sum.as_bytes());
        packet
    }
    /// An ICMPv6 message.
    pub fn icmp6(src: &str, dst: &str, kind: icmp6::Type, rest: &[u8]) -> Vec<u8> {
        let icmp = icmp6::Header::new(kind, 0);
        let mut packet = ip6(src, dst, Protocol::ICMP6, &[icmp.as_bytes(), rest].concat());
        let sum = sum6(&packet).checksum();
        packet[42..44].copy_from_slice(sum.as_bytes());
        packet
    }
    /// The sum of what an IPv4 packet carries and its pseudo header.
    pub fn sum4(packet: &[u8]) -> checksum::Sum {
        let h = ip4::Header::ref_from_prefix(packet).unwrap().0;
        let body = &packet[h.header_len()..];
        checksum::ip4_pseudo(h.src, h.dst, h.protocol, body.len() as u16).add_bytes(body)
    }
    /// The sum of what an IPv6 packet carries and its pseudo header.
    pub fn sum6(packet: &[u8]) -> checksum::Sum {
        let h = ip6::Header::ref_from_prefix(packet).unwrap().0;
        let found = ip6::upper_layer(packet).unwrap();
        let body = &packet[found.offset..];
        checksum::ip6_pseudo(h.src, h.dst, found.protocol, body.len() as u32).add_bytes(body)
    }
    /// The packet with its IPv4 header changed and the header's checksum right again.
    pub fn changed4(mut packet: Vec<u8>, change: impl FnOnce(&mut ip4::Header)) -> Vec<u8> {
        let header = ip4::Header::mut_from_prefix(&mut packet).unwrap().0;
        change(header);
        let len = header.header_len().clamp(20, 60);
        let (header, rest) = ip4::Header::mut_from_prefix(&mut packet).unwrap();
        let options = rest.get(..len - 20).unwrap_or(&[]).to_vec();
        header.update_checksum_with(&options);
        packet
    }
    /// The packet with its IPv6 header changed.
    pub fn changed6(mut packet: Vec<u8>, change: impl FnOnce(&mut ip6::Header)) -> Vec<u8> {
        change(ip6::Header::mut_from_prefix(&mut packet).unwrap().0);
        packet
    }
    /// The packet with options behind its IPv4 header.
    pub fn with_options(packet: &[u8], options: &[u8]) -> Vec<u8> {
        let longer = [&packet[..20], options, &packet[20..]].concat();
        changed4(longer, |h| {
            h.version_ihl += options.len() as u8 / 4;
            h.total_len = (h.total_len.get() + options.len() as u16).into();
        })
    }
}
