//! Packets of the router's own that control makes and sends.

use std::net::Ipv4Addr;

use graph::Flags;
use wire::{Protocol, checksum, ip4, udp};
use zerocopy::IntoBytes;

use crate::fib::TableIndex;
use crate::router::Router;

/// Bytes of a packet of [`datagram`] before its data.
pub const DATAGRAM_HEADERS: usize = size_of::<ip4::Header>() + size_of::<udp::Header>();

/// The IPv4 packet with a datagram from one address and port to another; `None` where the data is
/// too long for any.
pub fn datagram(
    from: (Ipv4Addr, u16),
    to: (Ipv4Addr, u16),
    data: &[u8],
    has_checksum: bool,
) -> Option<Vec<u8>> {
    let len = u16::try_from(size_of::<udp::Header>() + data.len()).ok()?;
    let total = len.checked_add(size_of::<ip4::Header>() as u16)?;
    let mut header = udp::Header::new(from.1, to.1, len);
    if has_checksum {
        let pseudo = checksum::ip4_pseudo(from.0.octets(), to.0.octets(), Protocol::UDP, len);
        header.checksum = pseudo.add_bytes(header.as_bytes()).add_bytes(data).udp_checksum();
    }
    let front = ip4::Header::new(from.0, to.0, Protocol::UDP, total);
    Some([front.as_bytes(), header.as_bytes(), data].concat())
}

/// Sends an IPv4 packet of the router's own by the routes of a table.
pub fn send_own(router: &mut Router, table: TableIndex, packet: Vec<u8>) {
    let Some(node) = router.engine.index_of("ip4-lookup") else { return };
    let thread = router.engine.data_threads().start;
    router.engine.inject(thread, node, packet, move |p| {
        let l3 = p.offset();
        p.set_l3_offset(l3);
        p.set_fib(table.0);
        p.add_flags(Flags::LOCAL.with(Flags::L3));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_has_the_lengths_and_checksums_of_its_headers() {
        let [from, to] =
            [("10.0.0.1", 5), ("10.0.0.2", 6)].map(|(a, port)| (a.parse().unwrap(), port));
        for (data, has_checksum) in [(&b"abc"[..], true), (b"", true), (b"abc", false)] {
            let packet = datagram(from, to, data, has_checksum).unwrap();
            let (ip, rest) = packet.split_at(size_of::<ip4::Header>());
            let len = (8 + data.len()) as u16;
            assert_eq!(ip[2..4], (20 + len).to_be_bytes());
            assert_eq!(ip, ip4::Header::new(from.0, to.0, Protocol::UDP, 20 + len).as_bytes());
            assert_eq!(rest[..6], [0, 5, 0, 6, 0, len as u8]);
            assert_eq!(&rest[8..], data);
            let sum = checksum::ip4_pseudo(from.0.octets(), to.0.octets(), Protocol::UDP, len);
            assert_eq!(sum.add_bytes(rest).is_valid(), has_checksum);
            assert_eq!(rest[6..8] == [0, 0], !has_checksum);
        }
        let most = usize::from(u16::MAX) - DATAGRAM_HEADERS;
        assert!(datagram(from, to, &vec![0; most], true).is_some());
        assert_eq!(datagram(from, to, &vec![0; most + 1], true), None);
    }
}
