//! Usual packets: whole ones of UDP and TCP over IPv4 without options, to one receiver, with a hop
//! to spare, that do not change the state of a connection. Their ends are exchanged in one go.

use sessions::Flow4;
use wire::checksum::Change;
use wire::ip4::VERSION_IHL;
use wire::{Protocol, tcp};
use zerocopy::byteorder::network_endian::U16;

/// Bytes of an IPv4 header without options.
const HEADER: usize = 20;
/// Bytes up to the end of a header of UDP.
const UDP_END: usize = HEADER + 8;
/// Bytes up to the end of a header of TCP without options.
const TCP_END: usize = HEADER + 20;
/// Place of the TTL.
const TTL: usize = 8;
/// Place of the flags of TCP.
const TCP_FLAGS: usize = HEADER + 13;
/// Flags of TCP that change the state of a connection.
const CHANGES: u8 = tcp::Flags::SYN.0 | tcp::Flags::FIN.0 | tcp::Flags::RST.0;

/// The flow of a usual packet, from its IP header on, with scope 0; `None` for another one.
#[inline(always)]
pub fn flow_of(packet: &[u8]) -> Option<Flow4> {
    let header: &[u8; UDP_END] = packet.first_chunk()?;
    let is_plain = (header[0] == VERSION_IHL)
        & (header[6] & 0x3f == 0)
        & (header[7] == 0)
        & (header[TTL] > 1)
        & (header[16] < 224);
    let protocol = Protocol(header[9]);
    let is_usual = protocol == Protocol::UDP
        || protocol == Protocol::TCP
            && packet.len() >= TCP_END
            && packet.get(TCP_FLAGS).is_some_and(|flags| flags & CHANGES == 0);
    if !(is_plain & is_usual) {
        return None;
    }
    let [.., a, b, c, d, e, f, g, h, s, t, u, v, _, _, _, _] = *header;
    let ports = [u16::from_be_bytes([s, t]), u16::from_be_bytes([u, v])];
    Some(Flow4::new(([a, b, c, d], ports[0]), ([e, f, g, h], ports[1]), protocol, 0))
}

/// Both addresses of a flow as they stand in a header.
#[inline(always)]
fn addresses(flow: &Flow4) -> [u8; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (flow.src, flow.dst);
    [a, b, c, d, e, f, g, h]
}

/// Both ports of a flow as they stand in a header.
#[inline(always)]
fn ports(flow: &Flow4) -> [u8; 4] {
    (u32::from(flow.src_port) << 16 | u32::from(flow.dst_port)).to_be_bytes()
}

/// Gives a usual packet, from its IP header on, the ends of another flow.
#[inline(always)]
pub fn rewrite(packet: &mut [u8], old: &Flow4, new: &Flow4) -> Option<()> {
    let (new_addresses, new_ports) = (addresses(new), ports(new));
    let ends = Change::of(addresses(old), new_addresses);
    let all = ends.and(ports(old), new_ports);
    if old.protocol() == Protocol::TCP {
        let sum: &mut [u8; 2] = packet.get_mut(HEADER + 16..)?.first_chunk_mut()?;
        *sum = all.apply(U16::from_bytes(*sum)).to_bytes();
    }
    let header: &mut [u8; UDP_END] = packet.first_chunk_mut()?;
    if old.protocol() == Protocol::UDP {
        let sum = all.apply_udp(U16::from_bytes([header[HEADER + 6], header[HEADER + 7]]));
        header[HEADER + 6..HEADER + 8].copy_from_slice(&sum.to_bytes());
    }
    let sum = ends.apply(U16::from_bytes([header[10], header[11]]));
    header[10..12].copy_from_slice(&sum.to_bytes());
    header[12..HEADER].copy_from_slice(&new_addresses);
    header[HEADER..HEADER + 4].copy_from_slice(&new_ports);
    Some(())
}
