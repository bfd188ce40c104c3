//! Sources, path lists, sharing, and that nothing stays behind.

use super::*;

fn neighbor(bench: &Rig, interface: &str, addr: &str) -> Path {
    let interface = bench.interface(interface);
    Path::to(Target::Neighbor { interface, addr: addr.parse().unwrap() })
}

#[test]
fn the_best_source_counts_and_the_next_one_takes_over() {
    let mut b = bench();
    let before = b.in_use();
    let host = prefix("10.9.9.9/32");
    let order = [Source::ADJACENCY, Source::CLI, Source::API, Source::INTERFACE];
    for (i, source) in order.into_iter().enumerate() {
        let target =
            Target::Lookup { link: crate::adjacency::Link::Ip4, table: TableIndex(i as u16) };
        b.router.set_route(TableIndex::DEFAULT, host, source, &[Path::to(target)]).unwrap();
        assert_eq!(b.leads("10.9.9.9"), [Via::Lookup(i as u16)]);
    }
    let remove =
        |b: &mut Rig, source| b.router.remove_route(TableIndex::DEFAULT, host, source, &[]);
    remove(&mut b, Source::API).unwrap();
    assert_eq!(b.leads("10.9.9.9"), [Via::Lookup(3)]);
    remove(&mut b, Source::INTERFACE).unwrap();
    assert_eq!(b.leads("10.9.9.9"), [Via::Lookup(1)]);
    remove(&mut b, Source::CLI).unwrap();
    assert_eq!(b.leads("10.9.9.9"), [Via::Lookup(0)]);
    assert_eq!(remove(&mut b, Source::CLI), Err(Error::NoRoute));
    remove(&mut b, Source::ADJACENCY).unwrap();
    assert_eq!(b.leads("10.9.9.9"), [Via::Drop]);
    assert_eq!(b.in_use(), before);
}

#[test]
fn an_operators_route_replaces_that_of_everybody_and_of_nobody() {
    let mut b = bench();
    for dst in ["255.255.255.255", "0.0.0.0"] {
        assert_eq!(b.leads(dst), [Via::Drop]);
        b.set(&format!("ip route add {dst}/32 via local"));
        assert_eq!(b.leads(dst), [Via::Receive(u32::MAX)]);
        b.set(&format!("ip route del {dst}/32"));
        assert_eq!(b.leads(dst), [Via::Drop]);
    }
    // What no router forwards stays dropped.
    b.set("ip route add 240.0.0.0/4 via local");
    assert_eq!(b.leads("240.1.1.1"), [Via::Drop]);
    b.set("ip route del 240.0.0.0/4 via local");
}

#[test]
fn equal_paths_are_one_list_and_one_adjacency() {
    let mut b = bench();
    b.set("set interface ip address pg1 10.0.1.1/24");
    let before = b.in_use();
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1\nip route add 17.0.0.0/8 via 10.0.1.2 pg1");
    b.set("ip route add 2001:db8:ff::/48 via fe80::2 pg1");
    let [lists, balances, adjacencies, ..] = b.in_use();
    assert_eq!(lists - before[0], 2);
    assert_eq!((balances - before[1], adjacencies - before[2]), (3, 2));
    b.set("ip route del 16.0.0.0/8 via 10.0.1.2 pg1\nip route del 17.0.0.0/8\n");
    b.set("ip route del 2001:db8:ff::/48 via fe80::2 pg1");
    assert_eq!(b.in_use(), before);
}

#[test]
fn paths_come_and_go_one_by_one() {
    let mut b = bench();
    b.set("ip route add 17.0.0.0/8 via 10.0.1.2 pg1 weight 3 via 10.0.1.3 pg1 weight 1");
    let four = b.leads("17.1.1.1");
    assert_eq!(four.iter().filter(|v| **v == four[0]).count(), 3);
    assert_eq!(four.len(), 4);
    b.set("ip route add 17.0.0.0/8 via 10.0.2.2 pg2 weight 4");
    assert_eq!(b.leads("17.1.1.1").len(), 8);
    b.set("ip route del 17.0.0.0/8 via 10.0.1.2 pg1");
    b.set("ip route add 17.0.0.0/8 via 10.0.1.3 pg1 weight 4");
    let two = b.leads("17.1.1.1");
    let count = |v: &Via| two.iter().filter(|x| *x == v).count();
    assert_eq!(count(&two[0]) * 2, two.len());
    b.set("ip route del 17.0.0.0/8 via 10.0.1.3 pg1\nip route del 17.0.0.0/8 via 10.0.2.2 pg2");
    assert_eq!(b.leads("17.1.1.1"), [Via::Drop]);
}

#[test]
fn only_the_best_preference_is_used_and_an_interface_that_is_down_is_not() {
    let mut b = bench();
    b.set("ip route add 17.0.0.0/8 via 10.0.1.2 pg1 via 10.0.2.2 pg2 preference 1");
    let first = b.leads("17.1.1.1");
    assert_eq!(first.len(), 1);
    let (pg1, pg2) = (b.interface("pg1"), b.interface("pg2"));
    b.control(|r| r.set_admin(pg1, false));
    let second = b.leads("17.1.1.1");
    assert!(second.len() == 1 && second != first);
    b.control(|r| r.set_admin(pg2, false));
    assert_eq!(b.leads("17.1.1.1"), [Via::Drop]);
    b.control(|r| r.set_admin(pg1, true));
    assert_eq!(b.leads("17.1.1.1"), first);
}

#[test]
fn a_path_that_drops_packets_is_used_only_when_no_other_can_be() {
    let mut b = bench();
    for (prefix, dst, hop) in [
        ("17.0.0.0/8", "17.1.1.1", "10.0.1.2 pg1"),
        ("2001:db8:ff::/48", "2001:db8:ff::1", "2001:db8:1::2 pg1"),
    ] {
        b.set(&format!("ip route add {prefix} via drop"));
        assert_eq!(b.leads(dst), [Via::Drop]);
        b.set(&format!("ip route add {prefix} via {hop}"));
        let only = b.leads(dst);
        assert!(matches!(*only, [Via::Adjacency(_)]), "{only:?}");
        b.set("set interface state pg1 down");
        assert_eq!(b.leads(dst), [Via::Drop]);
        b.set("set interface state pg1 up");
        assert_eq!(b.leads(dst), only);
        b.set(&format!("ip route del {prefix} via {hop}"));
        assert_eq!(b.leads(dst), [Via::Drop]);
    }
}

#[test]
fn flows_of_other_paths_stay_when_one_goes() {
    let mut b = bench();
    let all = ["10.0.1.2", "10.0.1.3", "10.0.1.4", "10.0.1.5"];
    for addr in all {
        b.set(&format!("ip route add 17.0.0.0/8 via {addr} pg1"));
    }
    let before = b.leads("17.1.1.1");
    b.set("ip route del 17.0.0.0/8 via 10.0.1.3 pg1");
    let after = b.leads("17.1.1.1");
    let lost = before.iter().find(|v| !after.contains(v)).unwrap();
    for (i, now) in after.iter().enumerate() {
        let old = &before[i % before.len()];
        assert!(old == lost || old == now, "bucket {i}");
    }
}

#[test]
fn many_prefixes_share_the_load_balance_of_their_paths() {
    let mut b = bench();
    let before = b.in_use();
    b.set("ip route add count 70000 16.0.0.0/32 via 10.0.1.2 pg1");
    let balances = b.in_use()[1] - before[1];
    assert!((60_000..=65_537).contains(&balances), "{balances} load balances");
    let lead = b.leads("16.0.0.0");
    assert!(matches!(lead[..], [Via::Adjacency(_)]));
    assert_eq!(b.leads("16.1.17.111"), lead);
    assert_eq!(b.leads("16.1.17.112"), [Via::Drop]);
    // One that shares takes another path, and shares again.
    b.set("ip route add 16.1.17.100/32 via 10.0.2.2 pg2");
    assert_eq!(b.leads("16.1.17.100").len(), 2);
    assert_eq!(b.leads("16.1.17.101"), lead);
    let pg1 = b.interface("pg1");
    b.control(|r| r.set_admin(pg1, false));
    assert_eq!(b.leads("16.1.17.101"), [Via::Drop]);
    assert_eq!(b.leads("16.1.17.100").len(), 1);
    b.control(|r| r.set_admin(pg1, true));
    b.set("ip route del 16.1.17.100/32 via 10.0.2.2 pg2");
    b.set("ip route del count 70000 16.0.0.0/32 via 10.0.1.2 pg1");
    assert_eq!(b.in_use(), before);
}

#[test]
fn the_default_route_changes_in_one_place() {
    let mut b = bench();
    for (default, dst) in [("0.0.0.0/0", "99.1.1.1"), ("::/0", "2a00::1")] {
        b.set(&format!("ip route add {default} via punt"));
        assert_eq!(b.leads(dst), [Via::Punt]);
        b.set(&format!("ip route del {default}"));
        assert_eq!(b.leads(dst), [Via::Drop]);
    }
}

#[test]
fn deleting_an_interface_takes_its_routes_along() {
    let mut b = bench();
    let before = b.in_use();
    b.set(
        "set interface ip address pg1 10.0.1.1/24\nset interface ip address pg1 2001:db8:1::1/64",
    );
    b.neighbor("pg1", "10.0.1.2");
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1\nip route add 18.0.0.0/8 via 16.0.0.1");
    b.set("ip route add 17.0.0.0/8 via 10.0.1.2 pg1 via 10.0.2.2 pg2");
    b.set("ip route add 19.0.0.0/8 via pg1");
    let pg1 = b.interface("pg1");
    b.control(|r| r.remove_interface(pg1));
    assert_eq!(b.leads("16.0.0.1"), [Via::Drop]);
    assert_eq!(b.leads("18.0.0.1"), [Via::Drop]);
    assert!(matches!(b.leads("17.0.0.1")[..], [Via::Adjacency(_)]));
    b.set("ip route del 18.0.0.0/8\nip route del 17.0.0.0/8");
    assert_eq!(b.in_use(), before);
}

#[test]
fn a_refused_path_changes_nothing() {
    let mut b = bench();
    let before = b.in_use();
    let gone = Path::to(Target::Neighbor {
        interface: InterfaceIndex(99),
        addr: "10.0.1.9".parse().unwrap(),
    });
    let paths = [neighbor(&b, "pg1", "10.0.1.2"), gone];
    let result =
        b.control(|r| r.set_route(TableIndex::DEFAULT, prefix("16.0.0.0/8"), Source::CLI, &paths));
    assert_eq!(result, Err(Error::Adjacency(adjacency::Error::NoInterface)));
    assert_eq!(b.in_use(), before);
    let nowhere = TableIndex(7);
    let result = b.router.set_route(nowhere, prefix("16.0.0.0/8"), Source::CLI, &[]);
    assert_eq!(result, Err(Error::NoTable));
}

#[test]
fn a_new_adjacency_is_told_by_its_neighbour_entry() {
    let mut b = bench();
    let adjacency = b.neighbor("pg1", "10.0.1.2");
    assert_eq!(b.leads("10.0.1.2"), [Via::Adjacency(adjacency)]);
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1");
    assert_eq!(b.leads("16.0.0.1"), [Via::Adjacency(adjacency)]);
    let pg1 = b.interface("pg1");
    b.control(|r| r.fib_remove_neighbor(pg1, "10.0.1.2".parse().unwrap()));
    assert_eq!(b.leads("10.0.1.2"), [Via::Drop]);
    assert_eq!(b.leads("16.0.0.1"), [Via::Adjacency(adjacency)]);
}

#[test]
fn routes_share_their_counters_when_told_to() {
    let mut b = bench();
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1");
    let before = b.in_use()[1];
    b.router.fib.counting = "off".parse().unwrap();
    b.set("ip route add count 9 20.0.0.0/24 via 10.0.1.2 pg1");
    assert_eq!(b.in_use()[1], before + 1);
    b.router.fib.counting = "on".parse().unwrap();
    b.set("ip route add count 9 30.0.0.0/24 via 10.0.1.2 pg1");
    assert_eq!(b.in_use()[1], before + 1 + 9);
    assert!("perhaps".parse::<crate::fib::RouteCounting>().is_err());
}

#[test]
fn who_is_behind_a_link_that_is_down_is_unreachable_if_nobody_can_be_asked_for() {
    let mut b = bench();
    let tun = b.add_interface("tun0", crate::interface::Kind::Ip, 0);
    b.set("set interface ip address tun0 10.3.0.1/24");
    b.set("set interface ip address tun0 2001:db8:3::1/64");
    b.set("ip route add 16.0.0.0/8 via tun0\nip route add 17.0.0.0/8 via 10.3.0.9 tun0");
    b.set("ip route add 18.0.0.0/8 via tun0 via 10.0.1.2 pg1");
    b.set("ip route add 19.0.0.0/8 via 10.3.0.9");
    let all = ["10.3.0.2", "2001:db8:3::2", "16.0.0.1", "17.0.0.1", "18.0.0.1", "19.0.0.1"];
    let ways = |b: &Rig| all.map(|to| b.leads(to));
    let before = ways(&b);
    assert!(before.iter().flatten().all(|via| matches!(via, Via::Adjacency(_))), "{before:?}");
    b.control(|router| router.set_link(tun, false));
    let [host4, host6, attached, by_hop, two, recursive] = ways(&b);
    assert_eq!([host4, host6, attached], [(); 3].map(|()| vec![Via::Unreachable]));
    assert_eq!((by_hop, recursive), (vec![Via::Drop], vec![Via::Drop]));
    assert_eq!(two, before[4][1..], "the other way is used");
    b.control(|router| router.set_link(tun, true));
    assert_eq!(ways(&b), before);
    b.control(|router| router.set_admin(tun, false));
    assert_eq!([b.leads("10.3.0.2"), b.leads("16.0.0.1")], [[Via::Drop], [Via::Drop]]);
}
