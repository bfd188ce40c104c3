use std::convert::Infallible;

use graph::testing::{Caught, TestInput};
use graph::{Continue, Frame, Node};
use proptest::prelude::*;
use wire::ip4::Header;

use super::*;
use crate::ip::testing::Bench;
use crate::ip::testing::packets::*;

fn good() -> Vec<u8> {
    udp4(HOST4, "16.0.0.1", 2345, &[1; 22])
}

#[test]
fn good_packets_go_to_the_lookup_and_are_counted_by_interface() {
    for n in [1, 3, 4, 255, 256] {
        let mut bench = Bench::new();
        let out = bench.send("ip4-input", &vec![good(); n]);
        assert!(out.iter().all(|c| c.at == "ip4-lookup" && c.bytes == good()));
        assert_eq!(out.len(), n);
        bench.expect(&[]);
        assert_eq!(bench.router.interfaces.values(bench.pg0).ip4, n as u64);
    }
}

#[test]
fn interfaces_are_counted_apart() {
    let mut bench = Bench::new();
    let (pg0, pg1) = (bench.pg0, bench.pg1);
    let mixed: Vec<_> = (0..9u8).map(|i| udp4(HOST4, "16.0.0.1", i.into(), &[])).collect();
    let out = bench.send_as("ip4-input", &mixed, move |p| {
        let odd = p.bytes()[23] % 3 == 0; // the port's low byte
        p.set_rx(if odd { pg1.0 } else { pg0.0 });
    });
    assert_eq!(out.len(), 9);
    let values = |i| bench.router.interfaces.values(i).ip4;
    assert_eq!((values(pg0), values(pg1)), (6, 3));
}

#[test]
fn every_check_drops_and_counts() {
    let changed = |change: fn(&mut Header)| changed4(good(), change);
    let mut bad_sum = good();
    bad_sum[10] ^= 1;
    let mut bad_sum_with_options = with_options(&good(), &[1, 1, 1, 0]);
    bad_sum_with_options[20] = 7;
    let cases = [
        ("too_short", good()[..19].to_vec()),
        ("too_short", vec![]),
        ("too_short", changed(|h| h.total_len = 19.into())),
        ("bad_length", changed(|h| h.total_len = 51.into())),
        ("bad_checksum", bad_sum),
        ("bad_checksum", bad_sum_with_options),
        ("version", changed(|h| h.version_ihl = 0x65)),
        ("hdr_too_short", changed(|h| h.version_ihl = 0x44)),
        ("bad_length", changed(|h| h.version_ihl = 0x4f)[..40].to_vec()),
        ("too_short", changed4(with_options(&good(), &[0; 4]), |h| h.total_len = 23.into())),
        ("fragment_offset_one", changed(|h| h.fragment = 1.into())),
    ];
    for (counter, packet) in cases {
        let mut bench = Bench::new();
        let out = bench.send("ip4-input", &[packet, good()]);
        assert_eq!(out.len(), 1, "{counter}: only the good one");
        bench.expect(&[("ip4-input", counter, 1)]);
        assert_eq!(bench.router.interfaces.values(bench.pg0).drops, 1, "{counter}");
    }
}

#[test]
fn packets_of_odd_sources_are_forwarded() {
    let mut bench = Bench::new();
    let sources = [[0; 4], [126, 0, 0, 1], [127, 0, 0, 1], [224, 0, 0, 1], [255; 4]];
    let packets = sources.map(|src| changed4(good(), |h| h.src = src));
    assert_eq!(bench.send("ip4-input", &packets).len(), 5);
    bench.expect(&[]);
}

#[test]
fn a_node_that_trusts_checksums_does_all_else() {
    let mut bench = Bench::new();
    let mut bad_sum = good();
    bad_sum[10] ^= 1;
    let one = changed4(good(), |h| h.fragment = 1.into());
    let out = bench.send("ip4-input-no-checksum", &[bad_sum.clone(), one]);
    assert_eq!((out.len(), &out[0].bytes), (1, &bad_sum));
    bench.expect(&[("ip4-input", "fragment_offset_one", 1)]);
}

#[test]
fn a_used_up_ttl_is_told() {
    let mut bench = Bench::new();
    let out = bench.send("ip4-input", &[changed4(good(), |h| h.ttl = 0)]);
    assert_eq!((out[0].at.as_str(), &out[0].bytes[20..22]), ("ip4-lookup", &[11, 0][..]));
    assert_eq!(out[0].error, "", "the reason was the old packet's");
    bench.expect(&[("ip4-input", "time_expired", 1), ("ip4-icmp-error", "ttl_expire_sent", 1)]);
    let one = bench.send("ip4-input", &[changed4(good(), |h| h.ttl = 1)]);
    assert_eq!(one[0].bytes[8], 1, "may still be for this router");
}

#[test]
fn what_follows_the_packet_is_cut() {
    let mut bench = Bench::new();
    let out = bench.send("ip4-input", &[[good(), vec![0; 14]].concat()]);
    assert_eq!(out[0].bytes, good());
    bench.expect(&[]);
}

#[derive(Clone, Copy, graph::Next)]
enum ToInput {
    #[to("ip4-input")]
    Input,
}

/// Sends packets of several buffers into `ip4-input`.
fn send_chained(bench: &mut Bench, packets: Vec<Vec<u8>>) -> Vec<Caught> {
    let input = bench.graph.engine.index_of("test-input").unwrap();
    bench
        .graph
        .engine
        .with_node(0, input, move |i: &mut TestInput<ToInput>| i.packets = packets)
        .unwrap();
    bench.graph.run()
}

fn chained_bench() -> Bench {
    Bench::with(|router| {
        let input = TestInput { packets: Vec::new(), next: ToInput::Input, rx: 1 };
        router.engine.add_input(input).unwrap();
    })
}

#[test]
fn packets_of_several_buffers_are_treated_alike() {
    let mut bench = chained_bench();
    let big = udp4(HOST4, "16.0.0.1", 2345, &[3; 5000]);
    let small = [good(), vec![0; 5000]].concat();
    let out = send_chained(&mut bench, vec![big.clone(), small]);
    assert_eq!((&out[0].bytes, &out[1].bytes), (&big, &good()));
    let short = changed4(big.clone(), |h| h.total_len = 5029.into());
    assert!(send_chained(&mut bench, vec![short]).is_empty());
    bench.expect(&[("ip4-input", "bad_length", 1)]);
}

#[test]
fn options_are_forwarded_unless_they_ask_for_us() {
    let mut bench = Bench::new();
    let route = with_options(&good(), &[7, 7, 4, 0, 0, 0, 0, 0]);
    let alert = with_options(&good(), &[148, 4, 0, 0]);
    let out = bench.send("ip4-input", &[route.clone(), alert]);
    assert_eq!((out.len(), out[0].at.as_str(), &out[0].bytes), (1, "ip4-lookup", &route));
    bench.expect(&[("ip4-input", "options", 2)]);
    assert_eq!(bench.router.interfaces.values(bench.pg0).punt, 1);
    let rows = bench.graph.engine.runtime_rows().unwrap();
    assert_eq!((rows[0].punt, rows[0].drop), (1, 0));
}

#[test]
fn nothing_comes_in_where_ip4_is_not_enabled() {
    let mut bench = Bench::new();
    let out = bench.send_as("ip4-input", &[good()], |p| p.set_rx(0));
    assert!(out.is_empty());
    bench.expect(&[("ip4-not-enabled", "not_enabled", 1)]);
}

#[derive(Clone)]
struct Seen<const MULTICAST: bool>;

impl<const MULTICAST: bool> Node for Seen<MULTICAST> {
    const NAME: &'static str = if MULTICAST { "ip4-qos-record" } else { "ip4-inacl" };
    type Next = Continue;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            p.set_adjacency(if MULTICAST { 2 } else { 1 });
            Ok(Continue)
        });
    }
}

#[test]
fn features_see_unicast_or_multicast_on_their_interface() {
    let mut bench = Bench::with(|router| {
        router.engine.add_feature(&IP4_UNICAST, Seen::<false>).unwrap();
        router.engine.add_feature(&IP4_MULTICAST, Seen::<true>).unwrap();
    });
    let pg0 = bench.pg0.0;
    bench.graph.engine.set_feature(&IP4_UNICAST, "ip4-inacl", pg0, true).unwrap();
    bench.graph.engine.set_feature(&IP4_MULTICAST, "ip4-qos-record", pg0, true).unwrap();
    let group = udp4(HOST4, "239.1.1.1", 1, &[]);
    let out = bench.send("ip4-input", &[good(), group]);
    assert_eq!(out.iter().map(|c| c.adjacency).collect::<Vec<_>>(), [1, 2]);
    let pg1 = bench.pg1.0;
    let out = bench.send_as("ip4-input", &[good()], move |p| p.set_rx(pg1));
    assert_eq!(out[0].adjacency, 0);
}

#[test]
fn a_trace_shows_the_headers() {
    let mut bench = chained_bench();
    let input = bench.graph.engine.index_of("test-input").unwrap();
    bench.graph.engine.trace(input, 1);
    send_chained(&mut bench, vec![changed4(good(), |h| h.fragment = 1.into())]);
    let rig = &mut *bench;
    let text = rig.graph.trace_text(&rig.router).concat();
    let headers = "  UDP: 10.0.0.2 -> 16.0.0.1\n    tos 0x00, ttl 64, length 50, ";
    for node in ["ip4-input\n", "ip4-drop\n    fib:0 adj:0 flow:0x00000000\n"] {
        assert!(text.contains(&format!(": {node}{headers}")), "{text}");
    }
    assert!(text.contains(": error-drop\n  rx:pg0\n"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_comes_is_counted_or_forwarded_once(
        packets in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..120), 0..4u8, any::<bool>()), 1..60,
        ),
    ) {
        let mut bench = Bench::new();
        let packets: Vec<_> = packets.into_iter().map(|(bytes, kind, valid)| match kind {
            0 => bytes,
            // Plausible headers get further.
            _ => {
                let host = ["16.0.0.1", "10.0.0.1", "224.0.0.1"][usize::from(kind) - 1];
                let protocol = wire::Protocol(bytes.first().copied().unwrap_or(0) % 20);
                let mut packet = ip4(HOST4, host, protocol, &bytes);
                let at = bytes.get(1).map_or(0, |b| usize::from(*b) % packet.len());
                packet[at] ^= bytes.get(2).copied().unwrap_or(0);
                if valid && packet.len() >= 20 { changed4(packet, |_| ()) } else { packet }
            }
        }).collect();
        let n = packets.len() as u64;
        let nodes =
            ["ip4-input", "ip4-receive", "ip4-input-no-checksum", "ip4-icmp-error", "ip4-rewrite"];
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
