//! Frames of every protocol the router reads, all well-formed, for `pg0` of the set-up.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::Protocol;
use wire::checksum::{Sum, ip4_pseudo, ip6_pseudo};

const TO_US: [u8; 6] = [2, 0, 0, 0, 0, 0xaa];
const FROM: [u8; 6] = [2, 0, 0, 0, 0, 1];
const HOST4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const HOST6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);

/// One of each.
pub fn all() -> Vec<Vec<u8>> {
    let udp = [4, 0xd2, 9, 0x29, 0, 12, 0, 0, 1, 2, 3, 4];
    let tcp_syn =
        [4, 0xd2, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x60, 2, 0xff, 0xff, 0, 0, 0, 0, 2, 4, 5, 0xb4];
    let echo = [8, 0, 0, 0, 0, 1, 0, 1, 9, 9];
    let echo6 = [128, 0, 0, 0, 0, 1, 0, 1, 9, 9];
    let mut frames = vec![arp(1, [10, 0, 0, 1]), arp(2, [10, 0, 0, 1]), arp(1, [10, 0, 0, 2])];
    for dst in [
        [16, 0, 0, 1],
        [17, 0, 0, 9],
        [18, 0, 0, 1],
        [10, 0, 0, 1],
        [10, 0, 1, 77],
        [9, 9, 9, 9],
        [224, 0, 0, 1],
    ] {
        frames.push(ip4(17, dst, &[], 0, &udp));
        frames.push(ip4(1, dst, &[], 0, &echo));
    }
    frames.push(ip4(6, [16, 0, 0, 1], &[], 0x4000, &tcp_syn));
    frames.push(ip4(6, [10, 0, 0, 1], &[], 0, &tcp_syn));
    frames.push(ip4(17, [16, 0, 0, 1], &[0x94, 4, 0, 0], 0, &udp));
    frames.push(ip4(17, [16, 0, 0, 1], &[], 0x2000, &[7; 64]));
    frames.push(ip4(17, [16, 0, 0, 1], &[], 8, &[7; 20]));
    frames.push(ip4(17, [10, 0, 0, 1], &[], 0x2000, &[7; 64]));
    frames.push(ip4(17, [10, 0, 0, 1], &[], 8, &[7; 20]));
    frames.push(ip4(17, [16, 0, 0, 1], &[], 0, &[7; 1400]));
    for dst in ["2001:db8:ff::1", "2001:db8::1", "2001:db8:1::99", "2001:dead::1", "ff02::1"] {
        let dst = dst.parse().expect("an address");
        frames.push(ip6(17, dst, &udp));
        frames.push(ip6(58, dst, &echo6));
        frames.push(ip6(6, dst, &tcp_syn));
        frames.push(ip6(0, dst, &[&[17, 0, 5, 2, 0, 0, 1, 0], udp.as_slice()].concat()));
        frames.push(ip6(44, dst, &[&[17, 0, 0, 1, 0, 0, 0, 9], [7; 64].as_slice()].concat()));
        frames.push(ip6(44, dst, &[&[17, 0, 0, 64, 0, 0, 0, 9], [7; 8].as_slice()].concat()));
        frames.push(ip6(
            43,
            dst,
            &[&[17, 2, 0, 1, 0, 0, 0, 0], HOST6.octets().as_slice(), &udp].concat(),
        ));
    }
    frames.extend(neighbor_discovery());
    let tagged = [&TO_US[..], &FROM, &[0x81, 0, 0, 5], &frames[3][12..]].concat();
    frames.push(tagged);
    frames
}

/// Those of IPv4 in IPv6, for the end of a tunnel.
pub fn tunnelled(to: Ipv6Addr) -> Vec<Vec<u8>> {
    let all = all().into_iter().filter(|frame| frame[12..14] == [8, 0]);
    all.map(|frame| ip6(Protocol::IP4.0, to, &frame[14..])).collect()
}

fn neighbor_discovery() -> Vec<Vec<u8>> {
    let ours = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
    let groups = "ff02::1:ff00:1".parse().expect("an address");
    let routers = "ff02::2".parse().expect("an address");
    let lladdr = [&[1, 1], &FROM[..]].concat();
    let message = |kind: u8, rest: &[u8], target: Option<Ipv6Addr>, options: &[u8]| {
        let target = target.map(|t| t.octets().to_vec()).unwrap_or_default();
        [&[kind, 0, 0, 0], rest, &target, options].concat()
    };
    let prefix =
        [&[3, 4, 64, 0xc0], [0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0].as_slice(), &ours.octets()]
            .concat();
    vec![
        ip6(58, groups, &message(135, &[0; 4], Some(ours), &lladdr)),
        ip6(58, ours, &message(136, &[0x60, 0, 0, 0], Some(HOST6), &[&[2, 1], &FROM[..]].concat())),
        ip6(58, routers, &message(133, &[0; 4], None, &lladdr)),
        ip6(58, ours, &message(134, &[64, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0], None, &prefix)),
        ip6(58, ours, &message(137, &[0; 4], Some(ours), &HOST6.octets())),
        ip6(58, ours, &message(3, &[0; 4], None, &[0x60; 48])),
    ]
}

/// ESP, also behind UDP, and AH, for associations with SPI 1 to 8.
pub fn sealed() -> Vec<Vec<u8>> {
    let udp = [4, 0xd2, 0, 9, 0, 12, 0, 0, 1, 2, 3, 4];
    let mut frames = Vec::new();
    for spi in 1..=8 {
        let header = [0, 0, 0, spi, 0, 0, 0, 1];
        let inner = &ip4(17, [16, 0, 0, 1], &[], 0, &udp)[14..];
        let carried =
            [(4, inner), (17, &udp[..]), (47, &[0, 0, 0x65, 0x58, 2, 0, 0, 0, 0, 0xaa][..])];
        for (next, bytes) in carried {
            let esp = [&header[..], bytes, &[1, 2, 2, next]].concat();
            let ah = [&[next, 4, 0, 0], &header[..], &[0x5a; 12], bytes].concat();
            let in_udp =
                [&[0x11, 0x94, 0x11, 0x94, 0, 8 + esp.len() as u8, 0, 0], &esp[..]].concat();
            for (protocol, packet) in [(50, &esp), (51, &ah), (17, &in_udp)] {
                frames.push(ip4(protocol, [10, 0, 0, 1], &[], 0, packet));
                frames.push(ip4(protocol, [16, 0, 0, 1], &[], 0, packet));
                let to = "2001:db8:ff::1".parse().expect("an address");
                frames.push(ip6(protocol, to, packet));
            }
        }
    }
    frames
}

fn arp(operation: u8, target: [u8; 4]) -> Vec<u8> {
    let sender = [&FROM[..], &HOST4.octets()].concat();
    let head = [0, 1, 8, 0, 6, 4, 0, operation];
    [&[0xff; 6][..], &FROM, &[8, 6], &head, &sender, &[0; 6], &target].concat()
}

fn ip4(protocol: u8, dst: [u8; 4], options: &[u8], fragment: u16, payload: &[u8]) -> Vec<u8> {
    let words = 5 + options.len() / 4;
    let len = (words * 4 + payload.len()) as u16;
    let head = [0x40 | words as u8, 0, (len >> 8) as u8, len as u8, 0, 1];
    let fragment = fragment.to_be_bytes();
    let middle = [fragment[0], fragment[1], 64, protocol, 0, 0];
    let mut frame =
        [&TO_US[..], &FROM, &[8, 0], &head, &middle, &HOST4.octets(), &dst, options, payload]
            .concat();
    complete(&mut frame);
    frame
}

fn ip6(next: u8, dst: Ipv6Addr, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u16).to_be_bytes();
    let head = [0x60, 0, 0, 0, len[0], len[1], next, if next == 58 { 255 } else { 64 }];
    let mut to = TO_US;
    if dst.is_multicast() {
        to[..2].copy_from_slice(&[0x33, 0x33]);
        to[2..].copy_from_slice(&dst.octets()[12..]);
    }
    let mut frame =
        [&to[..], &FROM, &[0x86, 0xdd], &head, &HOST6.octets(), &dst.octets(), payload].concat();
    complete(&mut frame);
    frame
}

/// Sets the checksums of an IP packet right, as far as its headers can be read.
pub fn complete(frame: &mut [u8]) {
    match frame.get(12..14) {
        Some([8, 0]) => complete4(&mut frame[14..]),
        Some([0x86, 0xdd]) => complete6(&mut frame[14..]),
        _ => {}
    }
}

fn complete4(packet: &mut [u8]) {
    let header_len = usize::from(packet.first().copied().unwrap_or_default() & 15) * 4;
    if header_len < 20 || packet.len() < header_len {
        return;
    }
    packet[10..12].fill(0);
    let sum = Sum::default().add_bytes(&packet[..header_len]).checksum();
    packet[10..12].copy_from_slice(&sum.get().to_be_bytes());
    let address = |at: usize| [packet[at], packet[at + 1], packet[at + 2], packet[at + 3]];
    let (protocol, len) = (Protocol(packet[9]), packet.len() - header_len);
    let pseudo = match protocol.0 {
        1 => Sum::default(),
        _ => ip4_pseudo(address(12), address(16), protocol, len as u16),
    };
    upper(&mut packet[header_len..], protocol.0, pseudo);
}

fn complete6(packet: &mut [u8]) {
    if packet.len() < 40 {
        return;
    }
    let address = |at: usize| -> [u8; 16] { packet[at..at + 16].try_into().expect("16 bytes") };
    let (protocol, len) = (Protocol(packet[6]), packet.len() - 40);
    let pseudo = ip6_pseudo(address(8), address(24), protocol, len as u32);
    match protocol {
        Protocol::IP4 => complete4(&mut packet[40..]),
        _ => upper(&mut packet[40..], protocol.0, pseudo),
    }
}

fn upper(message: &mut [u8], protocol: u8, pseudo: Sum) {
    let at = match protocol {
        1 | 58 => 2,
        6 => 16,
        17 => 6,
        _ => return,
    };
    if message.len() < at + 2 {
        return;
    }
    message[at..at + 2].fill(0);
    let sum = pseudo.add_bytes(message).udp_checksum();
    message[at..at + 2].copy_from_slice(&sum.get().to_be_bytes());
}
