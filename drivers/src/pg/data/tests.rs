use control::cli::Args;
use proptest::prelude::*;
use wire::checksum::{Sum, ip4_pseudo, ip6_pseudo};
use wire::zerocopy::FromBytes;
use wire::{Protocol, ethernet, ip4, ip6, print};

use super::range::{Order, Range};
use super::*;

fn layout(text: &str) -> Result<Layout, String> {
    Layout::parse(&mut Args::new(text)).map_err(|e| e.to_string())
}

fn packets(text: &str, sizes: Sizes, count: usize) -> Vec<Vec<u8>> {
    let mut template = Template::new(&layout(text).unwrap(), sizes, 1).unwrap();
    let mut room = [0xee; 9216];
    (0..count)
        .map(|_| {
            let size = template.next_size();
            template.write(&mut room, size);
            room[..size].to_vec()
        })
        .collect()
}

fn packet(text: &str, size: usize) -> Vec<u8> {
    packets(text, Sizes::fixed(size), 1).remove(0)
}

const MACS: &str = "02:00:00:00:00:01 -> 02:00:00:00:00:aa";

#[test]
fn an_ip4_udp_packet() {
    let text = format!("IP4: {MACS} UDP: 10.0.0.2 -> 16.0.0.1 UDP: 1234 -> 2345 incrementing 22");
    let bytes = packet(&text, 64);
    assert_eq!(
        print::ethernet(&bytes, 0).to_string(),
        "IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa\n\
         UDP: 10.0.0.2 -> 16.0.0.1\n  \
           tos 0x00, ttl 64, length 50, checksum 0x60b9 dscp CS0 ecn NON_ECN\n  \
           fragment id 0x0000\n\
         UDP: 1234 -> 2345\n  \
           length 30, checksum 0x693b"
    );
    assert_eq!(bytes[42..], std::array::from_fn::<u8, 22, _>(|i| i as u8));
}

#[test]
fn an_ip6_udp_packet() {
    let text =
        format!("IP6: {MACS} UDP: 2001:db8::2 -> 2001:db8:ff::1 UDP: 1234 -> 2345 incrementing 16");
    assert_eq!(
        print::ethernet(&packet(&text, 78), 0).to_string(),
        "IP6: 02:00:00:00:00:01 -> 02:00:00:00:00:aa\n\
         UDP: 2001:db8::2 -> 2001:db8:ff::1\n  \
           tos 0x00, flow label 0x0, hop limit 64, payload length 24\n\
         UDP: 1234 -> 2345\n  \
           length 24, checksum 0x5d0f"
    );
}

#[test]
fn an_echo_request_with_the_id_in_its_payload() {
    let text = format!("IP4: {MACS} ICMP: 10.0.0.2 -> 10.0.0.1 ICMP echo_request incrementing 56");
    let bytes = packet(&text, 98);
    let shown = print::ethernet(&bytes, 0).to_string();
    assert!(shown.contains("length 84, checksum 0x66a7"), "{shown}");
    assert!(shown.contains("ICMP echo_request") && shown.ends_with("id 1"), "{shown}");
    check(&bytes);
    check(&packet("ICMP: ::1 -> ::2 ICMP echo_request incrementing 100", 144));
}

/// All checksums of an IP packet, with or without an Ethernet header.
fn check(bytes: &[u8]) {
    let bytes = if bytes[0] >> 4 == 4 || bytes[0] >> 4 == 6 { bytes } else { &bytes[14..] };
    let (pseudo, protocol, rest) = if bytes[0] >> 4 == 4 {
        let (h, rest) = ip4::Header::ref_from_prefix(bytes).unwrap();
        assert!(h.is_checksum_valid(), "{}", print::ip4(bytes, 0));
        assert_eq!(usize::from(h.total_len.get()), bytes.len());
        (ip4_pseudo(h.src, h.dst, h.protocol, rest.len() as u16), h.protocol, rest)
    } else {
        let (h, rest) = ip6::Header::ref_from_prefix(bytes).unwrap();
        assert_eq!(usize::from(h.payload_len.get()), rest.len());
        (ip6_pseudo(h.src, h.dst, h.next_header, rest.len() as u32), h.next_header, rest)
    };
    let pseudo = if protocol == Protocol::ICMP { Sum::ZERO } else { pseudo };
    let shown = print::hex(bytes, 0);
    assert!(pseudo.add_bytes(rest).is_valid(), "{shown}");
    if protocol == Protocol::UDP {
        assert_eq!(usize::from(u16::from_be_bytes([rest[4], rest[5]])), rest.len(), "{shown}");
    }
}

#[test]
fn fields_of_every_form_keep_all_checksums_right() {
    let order = Order::Random;
    let sizes = [Sizes::fixed(120), Sizes { low: 100, high: 131, order: Order::Increment }];
    for text in [
        "IP4: 02:00:00:00:00:01-02:00:00:00:00:03 -> 02:00:00:00:00:a0+02:00:00:00:00:af \
         UDP: 10.0.0.2 - 10.0.0.9 -> 16.0.0.0+ 16.15.255.255 UDP: 1 -9 -> 2 + 2000 incrementing 70",
        "TCP: 10.0.0.2-10.0.0.9 -> 16.0.0.0+16.15.255.255 ttl 3-9 tos 1+200 fragment id 5-80 \
         TCP: 1-9 -> 2+2000 SYN ACK seq 1+4000000000 ack 7 window 1+99 incrementing 33",
        "UDP: 2001:db8::2-2001:db8::ff -> 2001:db8::1+2001:db8::1:0:0:0 hop-limit 1+9 \
         UDP: 1-9 -> 2+2000 hex 0x0102030405",
        "ICMP: 10.0.0.2-10.0.0.9 -> 16.0.0.1 ICMP echo_request code 0-9 incrementing 9",
        "ICMP: ::2-::9 -> ff02::1 ICMP echo_reply code 0+9 incrementing 9",
    ] {
        for sizes in sizes.into_iter().chain([Sizes { order, ..sizes[1] }]) {
            let made = packets(text, sizes, 500);
            made.iter().for_each(|p| check(p));
            let mut different = made.clone();
            different.sort();
            different.dedup();
            assert!(different.len() > 4, "{text}");
        }
    }
}

#[test]
fn fields_count_and_are_drawn_where_they_stand() {
    let text = "IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa-02:00:00:00:00:ab \
                UDP: 10.0.0.2 -> 16.0.0.0+16.0.0.3 UDP: 1000-1002 -> 7 incrementing 2";
    let made = packets(text, Sizes::fixed(44), 64);
    for (i, p) in made.iter().enumerate() {
        let (eth, rest) = ethernet::Header::ref_from_prefix(p).unwrap();
        let (ip, udp) = ip4::Header::ref_from_prefix(rest).unwrap();
        assert_eq!(eth.dst.0[5], 0xaa + (i % 2) as u8);
        assert!(ip.dst[..3] == [16, 0, 0] && ip.dst[3] < 4);
        assert_eq!(udp[..4], [0x03, 0xe8 + (i % 3) as u8, 0, 7]);
    }
    assert!((0..4).all(|n| made.iter().any(|p| p[33] == n)));
}

#[test]
fn sizes_increment_or_are_drawn() {
    let data = "UDP: 1.1.1.1 -> 2.2.2.2 UDP: 1 -> 2 incrementing 30";
    let len = |sizes| packets(data, sizes, 8).iter().map(Vec::len).collect::<Vec<_>>();
    let sizes = Sizes { low: 64, high: 66, order: Order::Increment };
    assert_eq!(len(sizes), [64, 65, 66, 64, 65, 66, 64, 65]);
    let drawn = len(Sizes { low: 28, high: 9000, order: Order::Random });
    assert!(drawn.iter().all(|n| (28..=9000).contains(n)) && drawn[0] != drawn[1]);
    packets(data, Sizes { low: 28, high: 3000, order: Order::Increment }, 3000)
        .iter()
        .for_each(|p| check(p));
    assert_eq!(Template::new(&layout(data).unwrap(), Sizes::fixed(27), 0).unwrap_err(), 28);
}

#[test]
fn overrides_stand_in_for_what_is_computed() {
    let text = "UDP: 1.1.1.1 -> 2.2.2.2 checksum 0x1234 UDP: 1 -> 2 length 7 checksum 0";
    let bytes = packet(text, 40);
    assert_eq!(bytes[10..12], [0x12, 0x34]);
    assert_eq!(bytes[24..28], [0, 7, 0, 0]);
}

#[test]
fn tags_and_raw_bytes() {
    let text = format!("IP4: {MACS} vlan 100 vlan 7 UDP: 1.1.1.1 -> 2.2.2.2 hex 0xABcd");
    let bytes = packet(&text, 44);
    assert_eq!(bytes[12..22], [0x81, 0, 0, 100, 0x81, 0, 0, 7, 8, 0]);
    assert_eq!(bytes[42..], [0xab, 0xcd]);
    assert_eq!(packet("hex 0102", 4), [1, 2, 0, 0]);
    let arp = packet(&format!("ARP: {MACS} hex 0x0001"), 16);
    assert_eq!(arp[12..], [8, 6, 0, 1]);
}

#[test]
fn packets_inside_others() {
    let inner = "UDP: 192.0.2.1 -> 192.0.2.2 UDP: 7 -> 8 incrementing 4";
    let whole = |text: &str, len: usize| {
        let text = format!("{text} {inner}");
        let bytes = packet(&text, len);
        assert_eq!(Sum::ZERO.add_bytes(&bytes[..20]).fold(), 0xffff, "{text}: the outer sum");
        let at = len - 32;
        assert_eq!(bytes[2..4], (len as u16).to_be_bytes(), "{text}: the outer length");
        assert_eq!(Sum::ZERO.add_bytes(&bytes[at..at + 20]).fold(), 0xffff, "{text}: the sum");
        assert_eq!(bytes[at + 2..at + 4], [0, 32], "{text}: the length");
        bytes
    };
    let gre = whole("GRE: 203.0.113.1-203.0.113.9 -> 203.0.113.20 ip4", 56);
    assert_eq!((gre[9], &gre[20..24]), (47, &[0, 0, 8, 0][..]));
    assert_eq!(whole("IP_IN_IP: 203.0.113.1 -> 203.0.113.20", 52)[9], 4);
    let frame = whole(&format!("GRE: 203.0.113.1 -> 203.0.113.20 teb IP4: {MACS}"), 70);
    assert_eq!((&frame[22..24], &frame[36..38]), (&[0x65, 0x58][..], &[8, 0][..]));
    let label = packet("GRE: 203.0.113.1 -> 203.0.113.2 mpls_unicast hex 000051ff", 28);
    assert_eq!(label[22..], [0x88, 0x47, 0, 0, 0x51, 0xff]);
    let deep = "IP_IN_IP: 1.1.1.1 -> 2.2.2.2 ".repeat(9);
    assert!(layout(&deep).is_err());
}

#[test]
fn fields_as_the_original_writes_them() {
    let ranges = "UDP: 192.0.2.1 - 192.0.2.3 -> 192.0.2.9 UDP: 7 - 8 -> 9 incrementing 4";
    let all = packets(ranges, Sizes::fixed(32), 3);
    assert_eq!(all.iter().map(|p| (p[15], p[21])).collect::<Vec<_>>(), [(1, 7), (2, 8), (3, 7)]);
    let bytes =
        packet("UDP: 1.1.1.1 -> 2.2.2.2 tos 0x10 df fragment id 5 offset 10 mf length 99", 24);
    assert_eq!(bytes[..8], [0x45, 0x10, 0, 99, 0, 5, 0x60, 10]);
    assert_eq!(Sum::ZERO.add_bytes(&bytes[..20]).fold(), 0xffff);
    assert!(layout("UDP: 1.1.1.1 - -> 2.2.2.2").is_err());
    assert!(layout("UDP: 1.1.1.1 -> 2.2.2.2 tos 0x100").is_err());
}

#[test]
fn wrong_data_is_refused_with_its_place() {
    for (text, error) in [
        ("", "data without any bytes"),
        ("bogus", "unknown input `bogus'"),
        ("IP4: 02:00:00:00:00:01 02:00:00:00:00:aa", "expected `->' before `02:00:00:00:00:aa'"),
        ("IP4: 02:00:00:00:00:01 -> x", "invalid MAC address `x'"),
        ("IP4: 02:00:00:00:00:01 ->", "missing MAC address"),
        ("UDP: 10.0.0.2 -> 10.0.0", "invalid IPv4 address `10.0.0'"),
        ("UDP: 10.0.0.2 -> 2001::1", "invalid IPv4 address `2001::1'"),
        ("UDP: 10.0.0.9-10.0.0.2 -> 1.1.1.1", "range ends before it starts in `10.0.0.9-10.0.0.2"),
        ("NO: 10.0.0.2 -> 1.1.1.1", "unknown protocol `NO: 10.0.0.2"),
        ("UDP: ::-4:: -> ::1", "range of more than 2^64 values in `::-4::"),
        (
            "UDP: 1.1.1.1 -> 2.2.2.2 TCP: 1 -> 2",
            "protocol mismatch with the IP header before `TCP: 1 -> 2'",
        ),
        ("UDP: 1.1.1.1 -> 2.2.2.2 UDP: 1 -> 70000", "invalid port `70000'"),
        ("ICMP: 1.1.1.1 -> 2.2.2.2 ICMP nonsense", "unknown ICMP type in `ICMP nonsense'"),
        ("IP6: 2:0:0:0:0:1 -> 2:0:0:0:0:2 UDP: 1.1.1.1 -> 2.2.2.2", "type mismatch"),
        ("hex 0x123", "invalid hexadecimal bytes `hex 0x123'"),
        ("hex", "missing hexadecimal bytes"),
        ("incrementing x", "invalid number of bytes `x'"),
        ("incrementing 70000", "too many bytes `incrementing 70000'"),
        ("IP4: 2:0:0:0:0:1 -> 2:0:0:0:0:2 vlan 4096", "invalid vlan `4096'"),
    ] {
        let got = layout(text).map(|_| ()).unwrap_err();
        assert!(got.contains(error), "{text}: {got}");
    }
}

proptest! {
    #[test]
    fn any_text_is_answered(text in "[A-Z46: 0-9a-f.>+x-]{0,80}") {
        if let Ok(l) = layout(&text) {
            let _ = Template::new(&l, Sizes::fixed(l.size()), 0);
        }
    }

    #[test]
    fn random_udp_packets_are_valid(
        low: u32,
        span in 0u32..1 << 20,
        port: u16,
        size in 28usize..300,
    ) {
        let low = low & 0x7fff_ffff;
        let addr = |n: u32| std::net::Ipv4Addr::from(n);
        let text = format!(
            "UDP: {} -> {}+{} UDP: {port} -> 0+65535 incrementing 10",
            addr(low ^ 0x5555), addr(low), addr(low + span)
        );
        packets(&text, Sizes::fixed(size), 10).iter().for_each(|p| check(p));
    }
}

#[test]
fn sizes_no_packet_has_are_refused() {
    let sizes = |low, high| Sizes::of(Range { low, high, order: Order::Random });
    assert!(sizes(0, 64).is_none() && sizes(64, 1 << 20).is_none() && sizes(1, 65_549).is_some());
}
