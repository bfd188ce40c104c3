use proptest::prelude::*;
use wire::ip6::Header;
use wire::{Protocol, icmp6};
use zerocopy::IntoBytes;

use crate::ip::testing::Bench;
use crate::ip::testing::packets::*;

fn good() -> Vec<u8> {
    udp6(HOST6, "2001:db8:ff::1", 2345, &[1; 16])
}

#[test]
fn good_packets_go_to_the_lookup_and_are_counted_by_interface() {
    for n in [1, 3, 4, 255, 256] {
        let mut bench = Bench::new();
        let out = bench.send("ip6-input", &vec![good(); n]);
        assert!(out.iter().all(|c| c.at == "ip6-lookup" && c.bytes == good()));
        assert_eq!(out.len(), n);
        bench.expect(&[]);
        assert_eq!(bench.router.interfaces.values(bench.pg0).ip6, n as u64);
    }
}

#[test]
fn every_check_drops_and_counts() {
    let changed = |change: fn(&mut Header)| changed6(good(), change);
    let loopback = std::net::Ipv6Addr::LOCALHOST.octets();
    let cases = [
        ("too_short", good()[..39].to_vec()),
        ("bad_length", good()[..63].to_vec()),
        ("bad_length", changed(|h| h.payload_len = 25.into())),
        ("version", changed(|h| h.version_class_flow = (4 << 28).into())),
        ("src_lookup_miss", changed6(good(), |h| h.src = loopback)),
        ("dst_lookup_miss", changed6(good(), |h| h.dst = loopback)),
    ];
    for (counter, packet) in cases {
        let mut bench = Bench::new();
        let out = bench.send("ip6-input", &[packet, good()]);
        assert_eq!(out.len(), 1, "{counter}: only the good one");
        bench.expect(&[("ip6-input", counter, 1)]);
        assert_eq!(bench.router.interfaces.values(bench.pg0).drops, 1, "{counter}");
    }
}

#[test]
fn packets_of_groups_are_forwarded() {
    let mut bench = Bench::new();
    let packet = changed6(good(), |h| h.src = [0xff; 16]);
    assert_eq!(bench.send("ip6-input", &[packet])[0].at, "ip6-lookup");
}

#[test]
fn a_used_up_hop_limit_is_told() {
    let mut bench = Bench::new();
    let out = bench.send("ip6-input", &[changed6(good(), |h| h.hop_limit = 0)]);
    assert_eq!((out[0].at.as_str(), &out[0].bytes[40..42]), ("ip6-lookup", &[3, 0][..]));
    bench.expect(&[("ip6-input", "time_expired", 1), ("ip6-icmp-error", "ttl_expire_sent", 1)]);
}

#[test]
fn what_follows_the_packet_is_cut() {
    let mut bench = Bench::new();
    let out = bench.send("ip6-input", &[[good(), vec![0; 6]].concat()]);
    assert_eq!(out[0].bytes, good());
    bench.expect(&[]);
}

#[test]
fn hop_by_hop_options_are_forwarded_as_they_are() {
    let mut bench = Bench::new();
    let alert = [17, 0, 5, 2, 0, 0, 1, 0];
    let packet = ip6(HOST6, "2001:db8:ff::1", Protocol::HOP_BY_HOP, &alert);
    assert_eq!(bench.send("ip6-input", std::slice::from_ref(&packet))[0].bytes, packet);
    bench.expect(&[]);
}

#[test]
fn nothing_comes_in_where_ip6_is_not_enabled() {
    let mut bench = Bench::new();
    let out = bench.send_as("ip6-input", &[good()], |p| p.set_rx(0));
    assert!(out.is_empty());
    bench.expect(&[("ip6-not-enabled", "not_enabled", 1)]);
}

#[test]
fn an_unrecognized_next_header_is_pointed_at() {
    let mut bench = Bench::new();
    let options = [253, 0, 1, 4, 0, 0, 0, 0];
    let cases = [
        (ip6(HOST6, "2001:db8::1", Protocol(253), &[0; 8]), 6),
        (ip6(HOST6, "2001:db8::1", Protocol::DESTINATION_OPTIONS, &options), 40),
    ];
    for (packet, pointer) in cases {
        let out = bench.send("ip6-receive", std::slice::from_ref(&packet));
        let reply = &out[0].bytes;
        assert_eq!(&reply[40..42], [4, 1]);
        assert_eq!(&reply[44..48], u32::to_be_bytes(pointer));
        assert_eq!(reply[48..], packet);
        assert!(sum6(reply).is_valid());
        bench.expect(&[
            ("ip6-input", "unknown_protocol", 1),
            ("ip6-icmp-error", "param_problem_sent", 1),
        ]);
    }
    bench.send("ip6-receive", &[ip6(HOST6, "2001:db8::1", Protocol::NO_NEXT_HEADER, &[])]);
    bench.expect(&[("ip6-input", "unknown_protocol", 1)]);
}

#[test]
fn tcp_that_nobody_takes_is_dropped_in_silence() {
    let mut bench = Bench::new();
    let header = wire::tcp::Header::new(1, 2, 3, 4, wire::tcp::Flags::SYN);
    let mut packet = ip6(HOST6, "2001:db8::1", Protocol::TCP, header.as_bytes());
    packet[52] = 5 << 4;
    let sum = sum6(&packet).checksum();
    packet[56..58].copy_from_slice(sum.as_bytes());
    assert!(bench.send("ip6-receive", &[packet]).is_empty());
    bench.expect(&[("ip6-input", "unknown_protocol", 1)]);
}

#[test]
fn what_is_for_us_is_checked() {
    let mut bad_icmp = icmp6(HOST6, "2001:db8::1", icmp6::Type::ECHO_REQUEST, &[0; 4]);
    bad_icmp[42] ^= 1;
    let mut bad_udp = udp6(HOST6, "2001:db8::1", 53, &[1; 9]);
    bad_udp[47] ^= 1;
    // It need not be checked without a listener.
    let mut unsummed = udp6(HOST6, "2001:db8::1", 67, &[1; 9]);
    unsummed[46..48].fill(0);
    let mut long = udp6(HOST6, "2001:db8::1", 53, &[]);
    long[45] = 9;
    let cut = ip6(HOST6, "2001:db8::1", Protocol::HOP_BY_HOP, &[17, 9, 0, 0, 0, 0, 0, 0]);
    let cases = [
        ("icmp_checksum", bad_icmp),
        ("udp_checksum", bad_udp),
        ("udp_checksum", unsummed),
        ("udp_length", long),
        ("bad_length", cut),
    ];
    for (counter, packet) in cases {
        let mut bench = Bench::new();
        bench.control(|router| router.udp6_port(67, "ip6-icmp-input").unwrap());
        assert!(bench.send("ip6-receive", &[packet]).is_empty());
        bench.expect(&[("ip6-input", counter, 1)]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_comes_is_counted_or_forwarded_once(
        packets in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..150), 0..4u8), 1..60,
        ),
    ) {
        let mut bench = Bench::new();
        let packets: Vec<_> = packets.into_iter().map(|(bytes, kind)| match kind {
            0 => bytes,
            // Plausible headers get further.
            _ => {
                let host = ["2001:db8:ff::1", "2001:db8::1", "ff02::1"][usize::from(kind) - 1];
                let protocols = [0, 6, 17, 43, 44, 51, 58, 59, 60, 253];
                let protocol = bytes.first().map_or(17, |b| protocols[usize::from(*b) % 10]);
                let mut packet = ip6(HOST6, host, Protocol(protocol), &bytes);
                let at = bytes.get(1).map_or(0, |b| usize::from(*b) % packet.len());
                packet[at] ^= bytes.get(2).copied().unwrap_or(0);
                packet
            }
        }).collect();
        let n = packets.len() as u64;
        let nodes = ["ip6-input", "ip6-receive", "ip6-icmp-error", "ip6-rewrite"];
        let mut caught = 0;
        for node in nodes {
            caught += bench.send(node, &packets).len() as u64;
        }
        let row = &bench.graph.engine.runtime_rows().unwrap()[0];
        // Fragments for this router wait for the others.
        let kept = bench.graph.buffers_used() as u64;
        prop_assert_eq!(caught + row.drop + row.punt + kept, n * nodes.len() as u64);
        prop_assert!(bench.graph.engine.errors().iter().all(|e| e.2.name != "node_failed"));
    }
}
