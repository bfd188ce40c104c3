//! Limits connections of TCP to the router: tests with packets.

use net::testing::packets::*;
use net::testing::whole::{Bench, HOST, PG0};
use syn_filter::*;
use wire::ethernet::{EtherType, Header};
use zerocopy::IntoBytes;

const NODE: &str = "syn-filter-4";

fn bench() -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    assert_eq!(b.cli("ip syn filter pg0"), "");
    b.wait(0.0);
    b
}

/// Counters `ok` and `throttled` for `count` packets of TCP with these flags to the router.
fn judged(b: &mut Bench, src: &str, flags: u8, count: usize) -> [u64; 2] {
    let mut packet = udp4(src, "10.0.0.1", 9, &[0; 12]);
    (packet[9], packet[32], packet[33]) = (6, 5 << 4, flags);
    packet[10..12].fill(0);
    let sum = wire::checksum::Sum::ZERO.add_bytes(&packet[..20]).checksum();
    packet[10..12].copy_from_slice(&sum.to_bytes());
    let frame = [Header::new(PG0, HOST, EtherType::IP4).as_bytes(), &packet].concat();
    let on = b.pg0;
    b.receive(on, &vec![frame; count]);
    let moved = b.graph.moved_counters();
    let of = |name: &str| moved.iter().find(|(n, t, _)| n == NODE && *t == name).map_or(0, |m| m.2);
    [of("ok"), of("throttled")]
}

#[test]
fn a_source_begins_so_many_connections_and_more_when_time_has_passed() {
    let mut b = bench();
    let burst = BURST as u64;
    for (host, n) in [(20, 1), (21, 3), (22, 4), (23, 255), (24, 256)] {
        let passed = burst.min(n);
        let counts = judged(&mut b, &format!("10.0.0.{host}"), 2, n as usize);
        assert_eq!(counts, [passed, n - passed]);
    }
    // Other sources and other packets are none of its business.
    assert_eq!(judged(&mut b, "10.0.0.10", 2, 1), [1, 0]);
    assert_eq!(judged(&mut b, "10.0.0.24", 0x12, 256), [256, 0]);
    // Time goes on while this runs, so there may be a few more.
    b.wait(0.25);
    let [ok, _] = judged(&mut b, "10.0.0.24", 2, 256);
    assert!((RATE as u64 / 4..=burst).contains(&ok), "{ok}");
    b.wait(100.0);
    assert_eq!(judged(&mut b, "10.0.0.24", 2, 256), [burst, 256 - burst]);
}

#[test]
fn a_command_sets_and_takes_it_back() {
    let mut b = bench();
    assert_eq!(b.cli("show configuration syn_filter"), "ip syn filter pg0\n");
    assert_eq!(b.cli("ip syn filter pg0 disable"), "");
    assert_eq!(b.cli("show configuration syn_filter"), "");
    assert_eq!(judged(&mut b, "10.0.0.9", 2, 256), [0, 0]);
    assert!(b.cli("ip syn filter pg9").contains("pg9"));
}
