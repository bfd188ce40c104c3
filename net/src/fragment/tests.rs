use graph::Flags;
use wire::{Protocol, ip4, ip6};
use zerocopy::FromBytes;

use crate::interface::Mtu;
use crate::ip::testing::Bench;
use crate::ip::testing::packets::*;

/// Fragments that leave `pg1` for packets over its neighbour, without their Ethernet headers.
fn sent(bench: &mut Bench, packet: &[u8], mtu: u32, flags: Flags) -> Vec<Vec<u8>> {
    let (at, neighbor) = match packet[0] >> 4 {
        4 => ("ip4-rewrite", "10.0.1.2"),
        _ => ("ip6-rewrite", "2001:db8:1::2"),
    };
    let over = bench.neighbor(neighbor, true).0;
    let pg1 = bench.pg1;
    bench.control(|r| r.set_mtu(pg1, Mtu { l3: mtu, ip4: 0, ip6: 0, mpls: 0 }));
    let out = bench.send_as(at, &[packet.to_vec()], move |p| {
        p.set_adjacency(over);
        p.add_flags(flags);
    });
    assert!(out.iter().all(|c| c.at == "sent" && c.bytes.len() <= mtu as usize + 14), "{out:?}");
    out.into_iter().map(|c| c.bytes[14..].to_vec()).collect()
}

fn header4(packet: &[u8]) -> (ip4::Header, &[u8]) {
    let header = *ip4::Header::ref_from_prefix(packet).unwrap().0;
    let (len, total) = (header.header_len(), usize::from(header.total_len.get()));
    assert_eq!(total, packet.len());
    assert!(header.is_checksum_valid_with(&packet[20..len]));
    (header, &packet[len..])
}

#[test]
fn fragments_are_the_packet_in_order() {
    let data: Vec<u8> = (0..4000u32).map(|i| (i * 7) as u8).collect();
    for mtu in [28, 29, 68, 1400, 1500, 2100, 3000] {
        let mut bench = Bench::new();
        let packet = changed4(udp4(HOST4, "16.0.0.1", 1, &data), |h| h.id = 77.into());
        let out = sent(&mut bench, &packet, mtu, Flags(0));
        // No longer than a buffer.
        let room = (mtu.min(2048) as usize - 20) & !7;
        assert_eq!(out.len(), 4008_usize.div_ceil(room));
        let mut body = Vec::new();
        for (i, fragment) in out.iter().enumerate() {
            let (header, payload) = header4(fragment);
            assert_eq!((header.fragment_offset(), header.id.get()), (body.len(), 77));
            assert_eq!((header.ttl, header.more_fragments()), (63, i + 1 < out.len()));
            body.extend_from_slice(payload);
        }
        assert_eq!(body, packet[20..]);
        bench.expect(&[("ip4-frag", "fragment_sent", out.len() as u64)]);
    }
}

#[test]
fn fragments_of_fragments_keep_their_place() {
    let mut bench = Bench::new();
    let packet = ip4(HOST4, "16.0.0.1", Protocol::UDP, &[9; 100]);
    let packet = changed4(packet, |h| h.fragment = (0x2000 | 10).into());
    let out = sent(&mut bench, &packet, 84, Flags(0));
    let places: Vec<_> = out.iter().map(|f| header4(f).0.fragment.get()).collect();
    assert_eq!(places, [0x2000 | 10, 0x2000 | 18]);
}

#[test]
fn later_fragments_have_only_the_options_to_be_copied() {
    let mut bench = Bench::new();
    // No operation, record route (first only), strict source route (all), end.
    let options = [1, 7, 3, 4, 137, 4, 4, 9, 0, 0, 0, 0];
    let packet = with_options(&udp4(HOST4, "16.0.0.1", 1, &[1; 200]), &options);
    let out = sent(&mut bench, &packet, 132, Flags(0));
    assert_eq!(out.len(), 3);
    assert_eq!(out[0][20..32], options);
    assert!(out[1..].iter().all(|f| (f[0], &f[20..24]) == (0x46, &[137, 4, 4, 9][..])));
    assert_eq!(out.iter().map(|f| header4(f).1.len()).sum::<usize>(), 208);
}

#[test]
fn only_our_own_ip6_packets_are_cut() {
    let mut bench = Bench::new();
    let plain = udp6(HOST6, "2001:db8:ff::1", 1, &[5; 3000]);
    let hops = [&[17, 0, 1, 4, 0, 0, 0, 0], &plain[40..]].concat();
    let hops = ip6(HOST6, "2001:db8:ff::1", Protocol::HOP_BY_HOP, &hops);
    for (packet, start) in [(&plain, 40), (&hops, 48)] {
        let out = sent(&mut bench, packet, 1280, Flags::LOCAL);
        let mut body = Vec::new();
        for (i, piece) in out.iter().enumerate() {
            let header = ip6::Header::ref_from_prefix(piece).unwrap().0;
            assert_eq!(usize::from(header.payload_len.get()) + 40, piece.len());
            let found = ip6::upper_layer(piece).unwrap();
            let fragment = found.fragment.unwrap();
            assert_eq!((found.protocol, found.offset), (Protocol::UDP, start + 8));
            assert_eq!(fragment.offset(), body.len());
            assert_eq!(fragment.more_fragments(), i + 1 < out.len());
            body.extend_from_slice(&piece[found.offset..]);
        }
        assert_eq!(body, packet[start..]);
        bench.expect(&[("ip6-frag", "fragment_sent", out.len() as u64)]);
    }
}

#[test]
fn what_cannot_be_cut_is_dropped() {
    let mut bench = Bench::new();
    let packet = udp4(HOST4, "16.0.0.1", 1, &[0; 100]);
    assert!(sent(&mut bench, &packet, 27, Flags(0)).is_empty());
    bench.expect(&[("ip4-frag", "cant_fragment_header", 1)]);
    let wrong = changed4(packet, |h| h.total_len = 90.into());
    assert!(sent(&mut bench, &wrong, 100, Flags(0)).is_empty());
    bench.expect(&[("ip4-frag", "malformed", 1)]);
}

#[test]
fn fragments_of_ip6_keep_their_place_when_they_are_cut_again() {
    let mut bench = Bench::new();
    let plain = udp6(HOST6, "2001:db8:ff::1", 1, &[5; 1500]);
    let piece = [&[17, 0, 0x05, 0xb1, 0, 0, 0, 9], &plain[40..1480]].concat();
    let piece = ip6(HOST6, "2001:db8:ff::1", Protocol::FRAGMENT, &piece);
    let out = sent(&mut bench, &piece, 1280, Flags::LOCAL);
    let (mut places, mut body) = (Vec::new(), Vec::new());
    for piece in &out {
        assert_eq!(usize::from(u16::from_be_bytes([piece[4], piece[5]])) + 40, piece.len());
        let fragment = ip6::upper_layer(piece).unwrap().fragment.unwrap();
        assert_eq!((fragment.id.get(), piece[40]), (9, 17));
        places.push((fragment.offset(), fragment.more_fragments()));
        body.extend_from_slice(&piece[48..]);
    }
    assert_eq!(places, [(0x5b0, true), (0x5b0 + 1232, true)]);
    assert_eq!(body, plain[40..1480]);
}
