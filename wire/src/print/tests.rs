use proptest::prelude::*;
use zerocopy::IntoBytes;

use super::*;
use crate::MacAddr;

const A: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const B: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xaa]);

/// The packets of a trace taken from a running router.
const UDP4: &str = "0200000000aa02000000000108004500003200000000401160b90a000002\
    1000000104d20929001e693b000102030405060708090a0b0c0d0e0f1011";
const REWRITTEN: &str = "0200000000bb0200000000ab080045000032000000003f1161b90a000002\
    1000000104d20929001e693b000102030405060708090a0b0c0d0e0f1011";

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect()
}

fn frame(ethertype: EtherType, layers: &[&[u8]]) -> Vec<u8> {
    [ethernet::Header::new(B, A, ethertype).as_bytes(), &layers.concat()].concat()
}

fn ip4_header(protocol: Protocol, payload_len: usize) -> ip4::Header {
    let len = 20 + payload_len as u16;
    ip4::Header::new([10, 0, 0, 2].into(), [10, 0, 0, 1].into(), protocol, len)
}

fn ip6_header(next: Protocol, payload_len: usize) -> ip6::Header {
    let (src, dst) = ("2001:db8::2".parse().unwrap(), "2001:db8:ff::1".parse().unwrap());
    ip6::Header::new(src, dst, next, payload_len as u16)
}

#[test]
fn udp_over_ip4() {
    assert_eq!(
        ethernet(&bytes(UDP4), 2).to_string(),
        "  IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa
  UDP: 10.0.0.2 -> 16.0.0.1
    tos 0x00, ttl 64, length 50, checksum 0x60b9 dscp CS0 ecn NON_ECN
    fragment id 0x0000
  UDP: 1234 -> 2345
    length 30, checksum 0x693b"
    );
    assert_eq!(
        ethernet_header(&bytes(UDP4), 4).to_string(),
        "    IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa"
    );
}

#[test]
fn hexadecimal_lines() {
    assert_eq!(
        hex(&bytes(REWRITTEN), 2).to_string(),
        "  00000000: 0200000000bb0200000000ab080045000032000000003f1161b90a0000021000
  00000020: 000104d20929001e693b000102030405060708090a0b0c0d0e0f1011"
    );
    assert_eq!(hex(&[], 2).to_string(), "");
}

#[test]
fn udp_over_ip6() {
    let udp = udp::Header { checksum: 0xb993.into(), ..udp::Header::new(1234, 2345, 24) };
    let packet = [ip6_header(Protocol::UDP, 24).as_bytes(), udp.as_bytes()].concat();
    assert_eq!(
        ip6(&packet, 2).to_string(),
        "  UDP: 2001:db8::2 -> 2001:db8:ff::1
    tos 0x00, flow label 0x0, hop limit 64, payload length 24
  UDP: 1234 -> 2345
    length 24, checksum 0xb993"
    );
}

#[test]
fn icmp_echo_and_errors() {
    let icmp =
        icmp4::Header { checksum: 0x03ed.into(), ..icmp4::Header::new(icmp4::Type::ECHO_REPLY, 0) };
    let echo = icmp4::Echo { icmp, id: 1.into(), seq: 7.into() };
    let mut ip = ip4_header(Protocol::ICMP, 64);
    ip.id = 0x4c0f.into();
    let packet = [ip.with_checksum().as_bytes(), echo.as_bytes()].concat();
    assert_eq!(
        ip4(&packet, 2).to_string(),
        "  ICMP: 10.0.0.2 -> 10.0.0.1
    tos 0x00, ttl 64, length 84, checksum 0x1a98 dscp CS0 ecn NON_ECN
    fragment id 0x4c0f
  ICMP echo_reply checksum 0x3ed id 1"
    );

    let last = |packet: &[u8]| ip4(packet, 0).to_string().lines().last().unwrap().to_owned();
    let icmp = icmp4::Header::new(icmp4::Type::TIME_EXCEEDED, icmp4::code::TTL_EXCEEDED);
    let packet = [ip4_header(Protocol::ICMP, 4).as_bytes(), icmp.as_bytes()].concat();
    assert_eq!(last(&packet), "ICMP time_exceeded ttl_exceeded_in_transit checksum 0x0");
}

#[test]
fn tcp_with_flags() {
    let mut tcp = tcp::Header::new(43756, 80, 0x3d1b_a2cc, 0, tcp::Flags::SYN);
    (tcp.data_offset, tcp.window, tcp.checksum) = (0xa0, 29200.into(), 0x1c3d.into());
    let mut ip = ip4_header(Protocol::TCP, 40);
    (ip.id, ip.fragment) = (0x82.into(), ip4::DONT_FRAGMENT.into());
    (ip.tos, ip.checksum) = (0xb9, 0x1111.into());
    let packet = [ip.as_bytes(), tcp.as_bytes()].concat();
    assert_eq!(
        ip4(&packet, 2).to_string(),
        "  TCP: 10.0.0.2 -> 10.0.0.1
    tos 0xb9, ttl 64, length 60, checksum 0x1111 (should be 0x257f) dscp EF ecn ECT_1
    fragment id 0x0082, flags DONT_FRAGMENT
  TCP: 43756 -> 80
    seq. 0x3d1ba2cc ack 0x00000000
    flags 0x02 SYN, tcp header: 40 bytes
    window 29200, checksum 0x1c3d"
    );
}

#[test]
fn fragments() {
    let mut ip = ip4_header(Protocol::UDP, 1480);
    ip.fragment = (ip4::MORE_FRAGMENTS | 185).into();
    let packet = [ip.with_checksum().as_bytes(), &[0; 8]].concat();
    let text = ip4(&packet, 2).to_string();
    assert!(text.ends_with("    fragment id 0x0000, offset 1480, flags MORE_FRAGMENTS"), "{text}");

    let fragment = [17, 0, 5, 0xc8, 0, 0, 0, 9];
    let packet = [ip6_header(Protocol::FRAGMENT, 16).as_bytes(), &fragment, &[0; 8]].concat();
    let text = ip6(&packet, 0).to_string();
    assert!(text.starts_with("IPV6_FRAGMENTATION: 2001:db8::2 -> "), "{text}");
    assert!(text.ends_with("\n  fragment id 0x0009, offset 1480"), "{text}");
}

#[test]
fn neighbor_discovery() {
    let mut message = nd::NeighborSolicitation::new("2001:db8:10::1".parse().unwrap());
    message.icmp.checksum = 0xc7ff.into();
    let ip = ip6_header(Protocol::ICMP6, 24);
    let packet = frame(EtherType::IP6, &[ip.as_bytes(), message.as_bytes()]);
    assert_eq!(
        ethernet(&packet, 2).to_string(),
        "  IP6: 02:00:00:00:00:01 -> 02:00:00:00:00:aa
  ICMP6: 2001:db8::2 -> 2001:db8:ff::1
    tos 0x00, flow label 0x0, hop limit 64, payload length 24
  ICMP neighbor_solicitation checksum 0xc7ff
    target address 2001:db8:10::1"
    );
}

#[test]
fn tagged_arp() {
    let sender = arp::Peer::new(A, [192, 168, 4, 2].into());
    let request = arp::Header::request(sender, [192, 168, 4, 1].into());
    let outer = vlan::Tag::new(vlan::Id::new(100).unwrap(), EtherType::VLAN);
    let mut inner = vlan::Tag::new(vlan::Id::new(2005).unwrap(), EtherType::ARP);
    inner.control = (inner.control.get() | 5 << 13).into();
    let packet = frame(EtherType::QINQ, &[outer.as_bytes(), inner.as_bytes(), request.as_bytes()]);
    assert_eq!(
        ethernet(&packet, 2).to_string(),
        "  ARP: 02:00:00:00:00:01 -> 02:00:00:00:00:aa 802.1ad vlan 100 802.1q vlan 2005 priority 5
  request, type ethernet/IP4, address size 6/4
  02:00:00:00:00:01/192.168.4.2 -> 00:00:00:00:00:00/192.168.4.1"
    );
    assert_eq!(
        arp(&packet[22..], 0).to_string(),
        "request, type ethernet/IP4, address size 6/4\n\
         02:00:00:00:00:01/192.168.4.2 -> 00:00:00:00:00:00/192.168.4.1"
    );
}

#[test]
fn cut_and_malformed_packets_say_so() {
    let packet = bytes(UDP4);
    assert_eq!(ethernet(&packet[..13], 2).to_string(), "  ethernet header truncated");
    let text = ethernet(&packet[..20], 2).to_string();
    assert!(text.ends_with("\n  IP4 header truncated"), "{text}");
    let text = ethernet(&packet[..40], 2).to_string();
    assert!(text.ends_with("\n  UDP header truncated"), "{text}");
    let mut short = packet[14..].to_vec();
    short[0] = 0x54;
    let text = ip4(&short, 0).to_string();
    assert!(text.contains("\n  version 5, header length 16\n"), "{text}");
    assert!(!text.contains("1234"), "{text}");
    assert_eq!(
        ethernet(&frame(EtherType::new(0x88b5), &[]), 0).to_string().get(..7),
        Some("0x88b5:")
    );
}

/// Bytes that get past the first headers more often than noise does.
fn likely_frame() -> impl Strategy<Value = Vec<u8>> {
    let start = prop::sample::select(vec![
        frame(EtherType::IP4, &[&[0x45]]),
        frame(EtherType::IP4, &[ip4_header(Protocol::TCP, 20).as_bytes()]),
        frame(EtherType::IP6, &[ip6_header(Protocol::ICMP6, 4).as_bytes(), &[135]]),
        frame(EtherType::IP6, &[ip6_header(Protocol::HOP_BY_HOP, 4).as_bytes(), &[44, 0]]),
        frame(EtherType::VLAN, &[]),
        frame(EtherType::ARP, &[&[0, 1, 8, 0, 6, 4]]),
    ]);
    let rest = prop::collection::vec(any::<u8>(), 0..80);
    (start, rest).prop_map(|(start, rest)| [start, rest].concat())
}

proptest! {
    #[test]
    fn any_bytes_print(bytes in prop::collection::vec(any::<u8>(), 0..120), indent in 0..5usize) {
        for text in [
            ethernet(&bytes, indent).to_string(),
            ip4(&bytes, indent).to_string(),
            ip6(&bytes, indent).to_string(),
            arp(&bytes, indent).to_string(),
        ] {
            prop_assert!(!text.is_empty() && !text.ends_with('\n'));
        }
    }

    #[test]
    fn any_cut_of_a_frame_prints(frame in likely_frame(), cut in 0..120usize) {
        let cut = cut.min(frame.len());
        let text = ethernet(&frame[..cut], 2).to_string();
        prop_assert!(text.lines().all(|line| line.starts_with("  ")));
    }
}
