//! Hosts whose addresses and ports outside follow from their own.

use std::net::Ipv4Addr;

use det44::{FEATURE, Map, Maps};
use net::testing::whole::Bench;
use proptest::prelude::*;
use wire::Ip4Prefix;

use super::nat44_ed::{end, ends, pass, udp};
use super::translation::between;
use super::translation_both::answer;

/// Hosts behind `pg0`, the world behind `pg1`.
fn bench(more: &[&str]) -> Bench {
    let first = ["det44 plugin enable", "set interface det44 inside pg0 outside pg1"];
    between(FEATURE, &first, more)
}

fn map(inside: &str, outside: &str) -> Map {
    let prefix = |text: &str| text.parse::<Ip4Prefix>().unwrap();
    Map::new(prefix(inside), prefix(outside)).unwrap()
}

#[test]
fn each_host_of_a_network_has_ports_of_its_own() {
    let mut b = bench(&["det44 add in 10.0.0.0/24 out 192.0.2.1/32"]);
    let (pg0, pg1, server) = (b.pg0, b.pg1, end("10.0.1.2", 53));
    for (host, first) in [("10.0.0.2", 1024 + 2 * 252), ("10.0.0.3", 1024 + 3 * 252)] {
        let out = pass(&mut b, pg0, &[udp(end(host, 4000), server)]);
        let [from, to] = ends(&out[0]);
        assert_eq!((from.0.to_string().as_str(), to), ("192.0.2.1", server));
        assert!((first..first + 252).contains(&from.1), "{from:?}");
        let back = pass(&mut b, pg1, &[udp(server, from)]);
        assert_eq!(ends(&back[0]), [server, end(host, 4000)]);
        let line = format!("det44 reverse 192.0.2.1:{}", from.1);
        assert_eq!(b.cli(&line), format!("{host}\n"));
        assert_eq!(
            b.cli(&format!("det44 forward {host}")),
            format!("192.0.2.1:<{first}-{}>\n", first + 251)
        );
    }
    // This port is unassigned, or that end was not contacted.
    assert!(pass(&mut b, pg1, &[udp(server, end("192.0.2.1", 1024))]).is_empty());
    b.expect(&[
        ("det44-in2out", "Good in2out packets processed", 2),
        ("det44-out2in", "No translation", 1),
        ("det44-out2in", "Good out2in packets processed", 2),
    ]);
    for n in [1, 3, 4, 255, 256] {
        let packet = udp(end("10.0.0.2", 4000), server);
        assert_eq!(pass(&mut b, pg0, &vec![packet; n]).len(), n);
    }
}

#[test]
fn a_host_without_a_map_is_not_translated_and_one_without_ports_is_told() {
    let mut b = bench(&["det44 add in 10.0.0.2/31 out 192.0.2.1/32"]);
    let (pg0, server) = (b.pg0, end("10.0.1.2", 53));
    assert!(pass(&mut b, pg0, &[udp(end("10.0.0.9", 4000), server)]).is_empty());
    for block in 0..4u16 {
        let packets: Vec<_> =
            (0..250).map(|n| udp(end("10.0.0.2", 2000 + block * 250 + n), server)).collect();
        assert_eq!(pass(&mut b, pg0, &packets).len(), 250);
    }
    let told = pass(&mut b, pg0, &[udp(end("10.0.0.2", 60000), server)]);
    assert_eq!(told[0][20..22], [3, 1], "host unreachable");
    assert_eq!(pass(&mut b, pg0, &[udp(end("10.0.0.3", 60000), server)]).len(), 1);
    b.expect(&[
        ("ip4-icmp-error", "dest_unreach_sent", 1),
        ("det44-in2out", "No translation", 1),
        ("det44-in2out", "Out of ports", 1),
        ("det44-in2out", "Good in2out packets processed", 1001),
    ]);
    assert_eq!(b.cli("set det44 timeouts udp 2"), "");
    b.wait(3.0);
    assert_eq!(pass(&mut b, pg0, &[udp(end("10.0.0.2", 60000), server)]).len(), 1);
}

#[test]
fn sessions_end_by_name_and_with_their_map_and_what_is_refused_changes_nothing() {
    let mut b = bench(&["det44 add in 10.0.0.0/24 out 192.0.2.0/30"]);
    let (pg0, server) = (b.pg0, end("10.0.1.2", 53));
    let sessions = |b: &mut Bench| b.cli("show det44 sessions").lines().count() - 1;
    pass(&mut b, pg0, &[udp(end("10.0.0.2", 4000), server)]);
    assert_eq!(sessions(&mut b), 1);
    assert!(b.cli("show det44 sessions").contains(" state: udp-active expire: "));
    assert_eq!(b.cli("det44 close session in 10.0.0.2:4000 10.0.1.2:53"), "");
    assert_eq!(sessions(&mut b), 0);
    for line in [
        "det44 close session in 10.0.0.2:4000 10.0.1.2:53",
        "det44 add in 10.0.0.128/25 out 198.51.100.0/30",
        "det44 add in 10.9.0.0/24 out 192.0.2.3/32",
        "det44 add in 10.9.0.0/24 out 198.51.100.0/23",
        "det44 add in 10.9.0.0/8 out 198.51.100.0/24",
        "det44 add in 10.9.0.0/24 out 198.51.100.0/24 del",
        "det44 plugin enable",
        "set interface det44 outside pg0",
        "det44 forward 10.9.9.9",
        "det44 reverse 192.0.2.1:1023",
    ] {
        assert_ne!(b.cli(line), "", "{line}");
    }
    pass(&mut b, pg0, &[udp(end("10.0.0.2", 4000), server)]);
    assert_eq!(b.cli("det44 add in 10.0.0.0/24 out 192.0.2.0/30 del"), "");
    assert_eq!(sessions(&mut b), 0);
    assert_eq!(b.cli("det44 plugin disable"), "");
    // Packets pass as they are.
    let packet = udp(end("10.0.0.2", 4000), server);
    assert_eq!(ends(&pass(&mut b, pg0, &[packet])[0])[0], end("10.0.0.2", 4000));
}

proptest! {
    #[test]
    fn hosts_are_found_by_any_of_their_ports_and_no_two_share_one(
        inside in 8u8..=32, less in 0u8..=15, seed: u32, other: u32, place: u16,
    ) {
        let outside = (inside + less).min(32);
        let map = map(&format!("10.0.0.0/{inside}"), &format!("100.64.0.0/{outside}"));
        let mut maps = Maps::default();
        maps.add(map);
        let mask = u32::MAX.checked_shr(inside.into()).unwrap_or(0);
        let host = |n: u32| Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) | (n & mask));
        let (addr, ports) = map.forward(host(seed)).unwrap();
        let port = ports.start() + place % map.ports_per_host();
        prop_assert!(ports.contains(&port) && *ports.start() >= 1024);
        prop_assert_eq!(maps.host_of(addr, port), Some(host(seed)));
        prop_assert_eq!(maps.of_host(host(seed)), Some(&map));
        let (addr2, ports2) = map.forward(host(other)).unwrap();
        prop_assert!(host(seed) == host(other) || addr != addr2 || !ports2.contains(&port));
    }
}

#[test]
fn networks_outside_are_answered_for_there() {
    let mut b = bench(&["det44 add in 10.0.0.0/24 out 10.0.1.64/30"]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    for (on, target, is_answered) in [
        (pg1, "10.0.1.63", false),
        (pg1, "10.0.1.64", true),
        (pg1, "10.0.1.67", true),
        (pg1, "10.0.1.68", false),
        (pg0, "10.0.1.64", false),
    ] {
        assert_eq!(answer(&mut b, on, target).is_some(), is_answered, "{target}");
    }
    b.set("det44 plugin disable");
    assert_eq!(answer(&mut b, pg1, "10.0.1.64"), None);
    b.set("det44 plugin outside vrf 0 enable inside vrf 0");
    b.set("det44 add out 10.0.1.64/30 in 10.0.0.0/24");
    assert!(b.cli("det44 plugin inside vrf 0").contains("expected enable or disable"));
}
