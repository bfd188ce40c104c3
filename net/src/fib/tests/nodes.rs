//! The lookup nodes: where packets end up and what is counted.

use std::net::{Ipv4Addr, Ipv6Addr};

use graph::Flags;
use graph::testing::Caught;
use infra::counter::Volume;
use wire::{Protocol, ip4, ip6, udp};
use zerocopy::IntoBytes;

use super::*;

pub(super) fn packet4(dst: &str, port: u16) -> Vec<u8> {
    let dst = dst.parse::<Ipv4Addr>().unwrap();
    let ip = ip4::Header::new([10, 0, 0, 2].into(), dst, Protocol::UDP, 28);
    [ip.as_bytes(), udp::Header::new(port, 2345, 8).as_bytes()].concat()
}

pub(super) fn packet6(dst: &str, port: u16) -> Vec<u8> {
    let (src, dst) = ("2001:db8::2".parse().unwrap(), dst.parse::<Ipv6Addr>().unwrap());
    let ip = ip6::Header::new(src, dst, Protocol::UDP, 8);
    [ip.as_bytes(), udp::Header::new(port, 2345, 8).as_bytes()].concat()
}

fn ways(caught: &[Caught]) -> Vec<(&str, u32)> {
    caught.iter().map(|c| (c.at.as_str(), c.adjacency)).collect()
}

/// Counters of the route to `dst`: looked up, and reached through another.
fn counted(b: &Rig, text: &str) -> (Volume, Volume) {
    let key = crate::fib::control::routes::key::<Ip4>(prefix(text));
    let t = b.router.fib.ip4.at(TableIndex::DEFAULT).unwrap();
    b.router.fib.balances.counted(t.entries[&key].balance)
}

#[test]
fn packets_go_where_their_route_leads_whatever_the_frame_size() {
    let mut b = bench();
    b.set(
        "set interface ip address pg1 10.0.1.1/24\nset interface ip address pg1 2001:db8:1::1/64",
    );
    let four = b.neighbor("pg1", "10.0.1.2").0;
    let six = b.neighbor("pg1", "2001:db8:1::2").0;
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1");
    b.set("ip route add 2001:db8:ff::/48 via 2001:db8:1::2 pg1");
    let mut sent = 0;
    for n in [1, 3, 4, 255, 256] {
        // Every third is for us, so that neighbours in the frame go different ways.
        let for_us = |i: usize| i % 3 == 1;
        let four_to = |i: usize| if for_us(i) { "10.0.1.1" } else { "16.1.2.3" };
        let six_to = |i: usize| if for_us(i) { "2001:db8:1::1" } else { "2001:db8:ff::1" };
        let packets: Vec<_> = (0..n).map(|i| packet4(four_to(i), i as u16)).collect();
        let out = b.graph.send("ip4-lookup", &packets, |_| ());
        let mut want: Vec<_> = packets.iter().enumerate().filter(|(i, _)| !for_us(*i)).collect();
        let local = packets.iter().enumerate().filter(|(i, _)| for_us(*i));
        want.extend(local);
        assert_eq!(out.len(), n);
        for (c, (i, packet)) in out.iter().zip(&want) {
            let at = if for_us(*i) { ("ip4-receive", 0) } else { ("ip4-rewrite", four) };
            assert_eq!((c.at.as_str(), c.adjacency, &c.bytes), (at.0, at.1, *packet), "{i} of {n}");
            assert_eq!(c.flags, Flags::default());
        }
        let packets: Vec<_> = (0..n).map(|i| packet6(six_to(i), i as u16)).collect();
        for (i, c) in b.graph.send("ip6-lookup", &packets, |_| ()).iter().enumerate() {
            let is_local = c.at == "ip6-receive";
            let at = if is_local { ("ip6-receive", 0) } else { ("ip6-rewrite", six) };
            assert_eq!((c.at.as_str(), c.adjacency), at, "{i} of {n}");
        }
        sent += (0..n).filter(|i| !for_us(*i)).count() as u64;
    }
    assert_eq!(counted(&b, "16.0.0.0/8").0, Volume { packets: sent, bytes: sent * 28 });
    b.graph.expect_counters(&[]);
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn every_kind_of_route_has_its_edge() {
    let mut b = bench();
    b.set("set interface ip address pg1 10.0.1.1/24");
    let routes =
        ["1.0.0.0/8 drop", "2.0.0.0/8 via unreachable", "3.0.0.0/8 prohibit", "4.0.0.0/8 local"];
    for route in routes {
        b.set(&format!("ip route add {route}"));
    }
    b.set("ip route add 5.0.0.0/8 via punt\nip route add 6.0.0.0/8 via 10.0.1.9 pg1");
    let dst = ["1.0.0.1", "2.0.0.1", "3.0.0.1", "4.0.0.1", "5.0.0.1", "10.0.1.77", "99.0.0.1"];
    let ends = [
        "ip4-drop",
        "ip4-icmp-error",
        "ip4-icmp-error",
        "ip4-receive",
        "ip4-punt",
        "ip4-glean",
        "ip4-drop",
    ];
    for (dst, end) in dst.iter().zip(ends) {
        let out = b.graph.send("ip4-lookup", &[packet4(dst, 1)], |_| ());
        assert_eq!((out[0].at.as_str(), out[0].error.as_str()), (end, ""), "{dst}");
    }
    // A route without its neighbour goes the same way: the rewrite node sees what is missing.
    let out = b.graph.send("ip4-lookup", &[packet4("6.0.0.1", 1)], |_| ());
    assert_eq!(out[0].at, "ip4-rewrite");
    // Not a whole header: nothing to find but the drop of 0.0.0.0/32.
    let out = b.graph.send("ip4-lookup", &[vec![0x45; 10]], |_| ());
    assert_eq!(out[0].at, "ip4-drop");
    let out = b.graph.send("ip4-lookup", &[packet4("1.0.0.1", 1)], |p| p.set_fib(999));
    assert_eq!(out[0].at, "ip4-drop", "a table that is gone");
    b.graph.expect_counters(&[]);
}

#[test]
fn flows_spread_by_weight_and_stay_on_their_path() {
    let mut b = bench();
    let one = b.neighbor("pg1", "10.0.1.2").0;
    let two = b.neighbor("pg1", "10.0.1.3").0;
    b.set("ip route add 17.0.0.0/8 via 10.0.1.2 pg1 weight 3 via 10.0.1.3 pg1 weight 1");
    let packets: Vec<_> = (0..4096).map(|port| packet4("17.0.0.1", port)).collect();
    let mut take = || {
        let mut ways = std::collections::BTreeMap::new();
        for chunk in packets.chunks(256) {
            for c in b.graph.send("ip4-lookup", chunk, |_| ()) {
                assert_eq!(c.at, "ip4-rewrite");
                assert!(c.flags.has(Flags::HASH));
                ways.insert(c.bytes, c.adjacency);
            }
        }
        ways
    };
    let first = take();
    assert_eq!(first, take());
    let share = |a: u32| first.values().filter(|x| **x == a).count();
    assert_eq!(share(one) + share(two), 4096);
    assert!((2900..3250).contains(&share(one)), "{} of 4096", share(one));
}

#[test]
fn a_recursive_route_goes_on_through_the_other_one() {
    let mut b = bench();
    let one = b.neighbor("pg1", "10.0.1.2").0;
    let two = b.neighbor("pg1", "10.0.1.3").0;
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1 via 10.0.1.3 pg1");
    b.set("ip route add 2.0.0.0/8 via 16.0.0.1 via 16.0.0.2\nip route add 3.0.0.0/8 via 16.0.0.1");
    let packets: Vec<_> = (0..1024).map(|port| packet4("2.0.0.1", port)).collect();
    let mut count = [0u32; 2];
    for chunk in packets.chunks(256) {
        for c in b.graph.send("ip4-lookup", chunk, |_| ()) {
            assert_eq!(c.at, "ip4-rewrite");
            count[usize::from(c.adjacency == two)] += 1;
            assert!(c.adjacency == one || c.adjacency == two);
        }
    }
    assert!(count[0].abs_diff(count[1]) < 200, "{count:?}: the second choice depends on the first");
    b.graph.send("ip4-lookup", &[packet4("3.0.0.1", 1)], |_| ());
    assert_eq!(counted(&b, "3.0.0.0/8").0.packets, 1);
    let (to, via) = counted(&b, "16.0.0.1/32");
    assert_eq!(to, Volume::default());
    assert!(via.packets > 400);
}

#[test]
fn other_tables_are_looked_up() {
    let mut b = bench();
    let one = b.neighbor("pg1", "10.0.1.2").0;
    b.set("ip table add 10\nip route add 16.0.0.0/8 table 10 via 10.0.1.2 pg1");
    b.set("ip route add 16.0.0.0/8 lookup in table 10\nip route add 17.0.0.0/8 lookup in table 10");
    let table = b.router.fib.table::<Ip4>(10).unwrap();
    let direct = b.graph.send("ip4-lookup", &[packet4("16.0.0.1", 1)], move |p| p.set_fib(table.0));
    assert_eq!(ways(&direct), [("ip4-rewrite", one)]);
    let other = b.graph.send("ip4-lookup", &[packet4("16.0.0.1", 1)], |_| ());
    assert_eq!(ways(&other), [("ip4-rewrite", one)]);
    let none = b.graph.send("ip4-lookup", &[packet4("17.0.0.1", 1)], |_| ());
    assert_eq!(none[0].at, "ip4-drop");
    // Two tables that send to each other.
    b.set("ip route add 17.0.0.0/8 table 10 ip4-lookup-in-table 0");
    let out = b.graph.send("ip4-lookup", &[packet4("17.0.0.1", 1)], |_| ());
    assert_eq!(out[0].at, "ip4-drop");
}

#[test]
fn sources_are_looked_up_where_a_route_says_so() {
    let mut b = bench();
    let one = b.neighbor("pg1", "10.0.1.2").0;
    b.set("ip table add 10\nip route add 10.0.0.2/32 table 10 via 10.0.1.2 pg1");
    let table = b.router.fib.table::<Ip4>(10).unwrap();
    let target = Target::SourceLookup { link: crate::adjacency::Link::Ip4, table };
    let path = [Path::to(target)];
    b.control(|r| r.set_route(TableIndex::DEFAULT, prefix("16.0.0.0/8"), Source::API, &path))
        .unwrap();
    let out = b.graph.send("ip4-lookup", &[packet4("16.0.0.1", 1)], |_| ());
    assert_eq!(ways(&out), [("ip4-rewrite", one)]);
    let text = b.run("show ip fib 16.0.0.1");
    assert!(text.contains("[@14]: src-address,unicast lookup in ipv4-VRF:10"), "{text}");
}

#[test]
fn a_route_may_have_packets_come_in_elsewhere() {
    let mut b = bench();
    b.set("ip route add 16.0.0.0/8 via rx-ip4 pg2\nip route add 2::/16 via rx-ip6 pg2");
    let pg2 = b.interface("pg2");
    let four = b.graph.send("ip4-lookup", &[packet4("16.0.0.1", 1)], |_| ());
    assert_eq!((four[0].at.as_str(), four[0].rx), ("ip4-input", pg2.0));
    let six = b.graph.send("ip6-lookup", &[packet6("2::1", 1)], |_| ());
    assert_eq!((six[0].at.as_str(), six[0].rx), ("ip6-input", pg2.0));
    assert_eq!(b.router.interfaces.values(pg2).rx.packets, 2);
    assert!(b.run("show ip fib 16.0.0.1").contains("interface-rx-dpo: pg2"));
    b.control(|r| r.set_admin(pg2, false));
    assert_eq!(b.leads("16.0.0.1"), [Via::Drop]);
}

#[test]
fn routes_that_have_packets_come_in_for_ever_end_in_a_drop() {
    let mut b = bench();
    b.set("ip route add 16.0.0.0/8 via rx-ip4 pg2");
    let pg2 = b.interface("pg2");
    let mut again = |flags: Flags| {
        let out =
            b.graph.send("ip4-lookup", &[packet4("16.0.0.1", 1)], move |p| p.add_flags(flags));
        out.first().filter(|c| c.at == "ip4-input").map(|c| c.flags)
    };
    let mut flags = Flags::default();
    for entry in 1..=3 {
        flags = again(flags).unwrap_or_else(|| panic!("entry {entry}"));
    }
    assert_eq!(again(flags), None);
    assert_eq!(b.router.interfaces.values(pg2).rx.packets, 3);
    b.graph.expect_counters(&[("interface-rx-dpo-ip4", "loop", 1)]);
}

#[test]
fn what_makes_a_flow_is_set_by_table() {
    let mut b = bench();
    let one = b.neighbor("pg1", "10.0.1.2").0;
    b.neighbor("pg1", "10.0.1.3");
    b.set("ip route add 17.0.0.0/8 via 10.0.1.2 pg1 via 10.0.1.3 pg1");
    let packets: Vec<_> = (0..256).map(|port| packet4("17.0.0.1", port)).collect();
    let share = |b: &mut Rig| {
        let out = b.graph.send("ip4-lookup", &packets, |_| ());
        out.iter().filter(|c| c.adjacency == one).count()
    };
    assert!((1..256).contains(&share(&mut b)));
    b.set("set ip flow-hash table 0 src dst dport proto");
    assert!([0, 256].contains(&share(&mut b)), "the source port does not count");
    assert!(b.run("show ip fib").contains("flow hash:[src dst dport proto ] epoch:0"));
    b.set("set ip flow-hash table 0 sport reverse");
    assert!((1..256).contains(&share(&mut b)));
    // Another seed, another choice for some flows and the same for others.
    b.set("set ip flow-hash table 0 src dst sport dport proto");
    let mut ways = |seed| {
        b.router.set_flow_hash_seed(seed);
        let out = b.graph.send("ip4-lookup", &packets, |_| ());
        out.iter().map(|c| c.adjacency).collect::<Vec<_>>()
    };
    let (plain, seeded) = (ways(0), ways(77));
    let same = plain.iter().zip(&seeded).filter(|(a, b)| a == b).count();
    assert!((64..192).contains(&same), "{same} of 256");
    assert_eq!((ways(0), ways(77)), (plain, seeded));
    let error = "set ip flow-hash: unknown input `bogus'\n";
    assert_eq!(b.run("set ip flow-hash table 0 src bogus"), error);
    let error = "set ip6 flow-hash: Nonexistent table id 9\n";
    assert_eq!(b.run("set ip6 flow-hash table 9 src"), error);
}

#[test]
fn link_local_addresses_are_those_of_the_interface() {
    let mut b = bench();
    b.set("enable ip6 interface pg1\nenable ip6 interface pg2");
    let pg1 = b.interface("pg1").0;
    let own = "fe80::ff:fe00:ab";
    let mut send = |dst: &str, rx: u32, local: bool| {
        let out = b.graph.send("ip6-lookup", &[packet6(dst, 1)], move |p| {
            p.set_rx(rx);
            if local {
                p.add_flags(Flags::LOCAL);
            }
        });
        out[0].at.clone()
    };
    assert_eq!(send(own, pg1, false), "ip6-receive");
    assert_eq!(send(own, pg1 + 1, false), "ip6-drop", "of another interface");
    assert_eq!(send("fe80::9", pg1, false), "ip6-drop", "not forwarded");
    assert_eq!(send("fe80::9", pg1, true), "ip6-glean", "our own packet");
    assert_eq!(send(own, 77, false), "ip6-drop", "no IPv6 there");
    let neighbor = b.neighbor("pg1", "fe80::9").0;
    let out = b.graph.send("ip6-lookup", &[packet6("fe80::9", 1)], move |p| {
        p.set_rx(pg1);
        p.add_flags(Flags::LOCAL);
    });
    assert_eq!(ways(&out), [("ip6-rewrite", neighbor)]);
}
