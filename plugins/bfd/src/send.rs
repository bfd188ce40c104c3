//! Packets that sessions send. Those over one hop go to the neighbour whatever routes say; those
//! over several follow the routes of the default table.

use infra::counter::Rows;
use net::adjacency::AdjacencyIndex;
use net::prelude::*;
use wire::checksum;

use super::process::Process;

/// Hops of packets: all there are, so that the other end sees whether there was one (RFC 5082).
const HOPS: u8 = u8::MAX;

/// A datagram from one address and port to another.
pub(super) struct Datagram<'p> {
    /// Source and destination, of one version.
    pub addresses: [IpAddr; 2],
    /// Ports of them.
    pub ports: [u16; 2],
    /// Type of service or traffic class.
    pub tos: u8,
    /// Contents.
    pub payload: &'p [u8],
}

impl Datagram<'_> {
    fn packet(&self) -> Option<Vec<u8>> {
        let len = (size_of::<udp::Header>() + self.payload.len()) as u16;
        let mut header = udp::Header::new(self.ports[0], self.ports[1], len);
        let sum = |pseudo: checksum::Sum, header: &udp::Header| {
            pseudo.add_bytes(header.as_bytes()).add_bytes(self.payload).udp_checksum()
        };
        Some(match self.addresses {
            [IpAddr::V4(src), IpAddr::V4(dst)] => {
                let pseudo = checksum::ip4_pseudo(src.octets(), dst.octets(), Protocol::UDP, len);
                header.checksum = sum(pseudo, &header);
                [&self.ip4(src, dst, len)[..], header.as_bytes(), self.payload].concat()
            }
            [IpAddr::V6(src), IpAddr::V6(dst)] => {
                let (from, to) = (src.octets(), dst.octets());
                let pseudo = checksum::ip6_pseudo(from, to, Protocol::UDP, len.into());
                header.checksum = sum(pseudo, &header);
                [&self.ip6(src, dst, len)[..], header.as_bytes(), self.payload].concat()
            }
            _ => return None,
        })
    }
    fn ip4(&self, src: Ipv4Addr, dst: Ipv4Addr, len: u16) -> Vec<u8> {
        let total = size_of::<ip4::Header>() as u16 + len;
        let mut header = ip4::Header::new(src, dst, Protocol::UDP, total);
        (header.ttl, header.tos) = (HOPS, self.tos);
        header.with_checksum().as_bytes().to_vec()
    }
    fn ip6(&self, src: Ipv6Addr, dst: Ipv6Addr, len: u16) -> Vec<u8> {
        let mut header = ip6::Header::new(src, dst, Protocol::UDP, len);
        header.hop_limit = HOPS;
        header.version_class_flow = (6 << 28 | u32::from(self.tos) << 20).into();
        header.as_bytes().to_vec()
    }
}

/// Sends a datagram to a neighbour, or by the routes of the default table; counted in a column.
pub(super) fn send(
    router: &mut Router,
    to: Option<AdjacencyIndex>,
    datagram: &Datagram<'_>,
    counters: &Rows<VolumeCounter>,
    column: u32,
) {
    let Some(packet) = datagram.packet() else { return };
    let Some(node) = router.engine.index_of(Process::NAME) else { return };
    let thread = router.engine.data_threads().start;
    let (counters, len) = (counters.clone(), packet.len() as u64);
    router.engine.inject(thread, node, packet, move |p| {
        // On the thread that sends: a counter has one writer.
        if let Some(counter) = counters.row(thread).get(column as usize) {
            counter.add(1, len);
        }
        let l3 = p.offset();
        p.set_l3_offset(l3);
        match to {
            Some(adjacency) => p.set_adjacency(adjacency.0),
            None => {
                p.set_adjacency(0);
                p.set_fib(TableIndex::DEFAULT.0);
            }
        }
        p.add_flags(Flags::LOCAL.with(Flags::L3));
    });
}
