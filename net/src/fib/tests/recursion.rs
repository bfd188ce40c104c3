//! Routes through other routes.

use super::*;

#[test]
fn a_path_follows_the_route_to_its_next_hop() {
    let mut b = bench();
    let before = b.in_use();
    b.set("ip route add 18.0.0.0/8 via 16.0.0.1");
    assert_eq!(b.leads("18.0.0.1"), [Via::Drop], "nothing leads to 16.0.0.1 yet");
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1");
    let first = b.leads("16.0.0.1");
    assert_eq!(b.leads("18.0.0.1"), first);
    b.set("ip route add 16.0.0.0/24 via 10.0.2.2 pg2");
    let second = b.leads("16.0.0.1");
    assert_ne!(first, second);
    assert_eq!(b.leads("18.0.0.1"), second, "a longer prefix is around it now");
    b.set("ip route add 16.0.0.1/32 via 10.0.1.2 pg1");
    assert_eq!(b.leads("18.0.0.1"), first, "the host itself has a route");
    b.set("ip route del 16.0.0.1/32\nip route del 16.0.0.0/24");
    assert_eq!(b.leads("18.0.0.1"), first);
    b.set("ip route add 19.0.0.0/8 via 18.0.0.9");
    assert_eq!(b.leads("19.0.0.1"), first, "two steps");
    b.set("ip route del 16.0.0.0/8");
    assert_eq!(b.leads("19.0.0.1"), [Via::Drop]);
    b.set("ip route del 18.0.0.0/8\nip route del 19.0.0.0/8");
    assert_eq!(b.in_use(), before);
}

#[test]
fn a_next_hop_in_a_connected_network_is_a_neighbour_there() {
    let mut b = bench();
    b.set("ip route add 18.0.0.0/8 via 10.0.1.7\nset interface ip address pg1 10.0.1.1/24");
    let leads = b.leads("18.0.0.1");
    let [Via::Adjacency(adjacency)] = leads[..] else { panic!("{leads:?}") };
    let a = b.router.adjacencies.at(adjacency).unwrap();
    assert_eq!((a.role, a.next_hop.to_string()), (Role::Neighbor, "10.0.1.7".to_owned()));
    let learned = b.neighbor("pg1", "10.0.1.7");
    assert_eq!(learned, adjacency);
    assert_eq!(b.leads("18.0.0.1"), [Via::Adjacency(adjacency)]);
    b.set("set interface ip address del pg1 10.0.1.1/24");
    let pg1 = b.interface("pg1");
    b.control(|r| r.fib_remove_neighbor(pg1, "10.0.1.7".parse().unwrap()));
    assert_eq!(b.leads("18.0.0.1"), [Via::Drop]);
}

#[test]
fn only_ways_that_exist_share_the_load() {
    let mut b = bench();
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1\nip route add 17.0.0.0/8 via 10.0.2.2 pg2");
    b.set("ip route add 2.0.0.0/8 via 16.0.0.1 via 17.0.0.1");
    assert_eq!(b.leads("2.0.0.1").len(), 2);
    b.set("ip route del 17.0.0.0/8");
    assert_eq!(b.leads("2.0.0.1"), b.leads("16.0.0.1"));
    let pg1 = b.interface("pg1");
    b.control(|r| r.set_admin(pg1, false));
    assert_eq!(b.leads("2.0.0.1"), [Via::Drop]);
    b.set("ip route add 17.0.0.0/8 via 10.0.2.2 pg2");
    assert_eq!(b.leads("2.0.0.1"), b.leads("17.0.0.1"));
    b.control(|r| r.set_admin(pg1, true));
    assert_eq!(b.leads("2.0.0.1").len(), 2);
}

#[test]
fn cycles_are_not_followed() {
    let mut b = bench();
    let before = b.in_use();
    b.set("ip route add 16.0.0.0/8 via 16.0.0.1");
    assert_eq!(b.leads("16.9.9.9"), [Via::Drop], "covers its own next hop");
    b.set("ip route add 1.0.0.0/8 via 2.0.0.1\nip route add 2.0.0.0/8 via 3.0.0.1");
    b.set("ip route add 3.0.0.0/8 via 1.0.0.1");
    for dst in ["1.9.9.9", "2.9.9.9", "3.9.9.9"] {
        assert_eq!(b.leads(dst), [Via::Drop], "{dst}");
    }
    assert!(b.run("show ip fib 2.0.0.0/8").contains(" oper-flags:recursive-loop,\n"));
    // Two that lead to each other, each with a way out: neither uses the other.
    b.set("ip route add 5.0.0.0/8 via 6.0.0.1 via 10.0.1.2 pg1");
    b.set("ip route add 6.0.0.0/8 via 5.0.0.1 via 10.0.2.2 pg2");
    assert!(matches!(b.leads("5.9.9.9")[..], [Via::Adjacency(_)]));
    assert!(matches!(b.leads("6.9.9.9")[..], [Via::Adjacency(_)]));
    // Without the cycle the way through the other is used again.
    b.set("ip route del 6.0.0.0/8 via 5.0.0.1");
    assert_eq!(b.leads("5.9.9.9").len(), 2);
    b.set("ip route del 3.0.0.0/8\nip route add 3.0.0.0/8 via 10.0.1.2 pg1");
    assert!(matches!(b.leads("1.9.9.9")[..], [Via::Adjacency(_)]));
    assert!(b.run("show ip fib 2.0.0.0/8").contains(" oper-flags:resolved,\n"));
    for net in ["1", "2", "3", "5", "6", "16"] {
        b.set(&format!("ip route del {net}.0.0.0/8"));
    }
    assert_eq!(b.in_use(), before);
}

#[test]
fn next_hops_resolve_in_the_table_they_name() {
    let mut b = bench();
    b.set("ip table add 10\nip route add 16.0.0.0/8 table 10 via 10.0.2.2 pg2");
    b.set("ip route add 18.0.0.0/8 via 16.0.0.1 next-hop-table 10");
    b.set(
        "ip route add 16.0.0.0/8 via 10.0.1.2 pg1\nip route add 18.0.0.0/8 table 10 via 16.0.0.1",
    );
    let table = b.router.fib.table::<Ip4>(10).unwrap();
    assert_eq!(b.leads("18.0.0.1"), b.leads_in(table, "16.0.0.1"));
    assert_eq!(b.leads_in(table, "18.0.0.1"), b.leads("16.0.0.1"), "that of table 0");
    // Deleted it loses its routes, and stays for the path that leads there until that is gone.
    b.set("ip table del 10");
    assert_eq!(b.leads("18.0.0.1"), [Via::Drop]);
    assert!(b.router.fib.table::<Ip4>(10).is_some());
    b.set("ip route del 18.0.0.0/8");
    assert!(b.router.fib.table::<Ip4>(10).is_none(), "it goes with the last route that needs it");
    b.set("ip table del 10");
}

#[test]
fn ip6_resolves_alike() {
    let mut b = bench();
    let before = b.in_use();
    b.set("set interface ip address pg1 2001:db8:1::1/64");
    b.set("ip route add 2001:db8:f000::/36 via 2001:db8:1::9");
    b.set("ip route add 2001:db8:ff::/48 via 2001:db8:f000::1");
    assert!(matches!(b.leads("2001:db8:ff::1")[..], [Via::Adjacency(_)]));
    b.set("ip route del 2001:db8:f000::/36\nip route del 2001:db8:ff::/48");
    b.set("set interface ip address del pg1 all");
    assert_eq!(b.in_use(), before);
}

#[test]
fn a_path_may_ask_for_a_route_to_the_host_or_over_an_interface() {
    let mut b = bench();
    let before = b.in_use();
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1\nip route add 17.0.0.0/8 via 16.0.0.1");
    b.set("ip route add 2.0.0.0/8 via 16.0.0.1 resolve-via-host");
    b.set("ip route add 3.0.0.0/8 via 17.0.0.1 resolve-via-attached");
    assert_eq!(b.leads("2.0.0.1"), [Via::Drop]);
    assert_eq!(b.leads("3.0.0.1"), [Via::Drop]);
    b.set("ip route add 16.0.0.1/32 via 10.0.2.2 pg2\nip route add 17.0.0.1/32 via 10.0.2.2 pg2");
    assert_eq!(b.leads("2.0.0.1"), b.leads("16.0.0.1"));
    assert_eq!(b.leads("3.0.0.1"), b.leads("17.0.0.1"));
    for prefix in ["16.0.0.0/8", "17.0.0.0/8", "2.0.0.0/8", "3.0.0.0/8", "16.0.0.1/32"] {
        b.set(&format!("ip route del {prefix}"));
    }
    b.set("ip route del 17.0.0.1/32");
    assert_eq!(b.in_use(), before);
}

#[test]
fn a_route_to_the_host_counts_with_the_paths_of_the_network_too() {
    let mut b = bench();
    let paths = "via 10.0.1.2 pg1";
    b.set(&format!("ip route add 16.0.0.0/8 {paths}"));
    b.set("ip route add 2.0.0.0/8 via 16.0.0.1 resolve-via-host");
    assert_eq!(b.leads("2.0.0.1"), [Via::Drop]);
    b.set(&format!("ip route add 16.0.0.1/32 {paths}"));
    assert_eq!(b.leads("2.0.0.1"), b.leads("16.0.0.1"));
    b.set("ip route del 16.0.0.1/32");
    assert_eq!(b.leads("2.0.0.1"), [Via::Drop]);
}

#[test]
fn a_path_with_labels_is_kept_and_not_used() {
    let mut b = bench();
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1 out-labels 33 44");
    assert_eq!(b.leads("16.0.0.1"), [Via::Drop]);
    let text = b.run("show ip fib 16.0.0.0/8");
    let labels = "  labels:[[33 pipe ttl:0 exp:0][44 pipe ttl:0 exp:0]]\n";
    assert!(text.contains("    Extensions:\n     path:") && text.contains(labels), "{text}");
    let too_big = "via 10.0.1.2 pg1 out-labels 1048576";
    let error = b.run(&format!("ip route add 17.0.0.0/8 {too_big}"));
    assert_eq!(error, format!("ip route: parse error `{too_big}'\n"));
}

#[test]
fn a_lost_next_hop_touches_what_is_shared_only() {
    let mut b = bench();
    b.set("ip route add 16.0.0.1/32 via 10.0.1.2 pg1\nip route add 17.0.0.1/32 via 10.0.2.2 pg2");
    let paths = "via 16.0.0.1 via 17.0.0.1 preference 1";
    b.set(&format!("ip route add count 3000 20.0.0.0/24 {paths}"));
    b.set("ip route add count 3000 30.0.0.0/24 via 10.0.1.2 pg1 via 10.0.2.2 pg2");
    let (first, second) = (b.leads("16.0.0.1"), b.leads("17.0.0.1"));
    assert_eq!(b.leads("20.0.7.1"), first);
    let written = b.router.fib.balances.written();
    let pg1 = b.interface("pg1");
    b.control(|r| r.set_admin(pg1, false));
    assert_eq!(b.leads("20.0.7.1"), second, "the backup");
    assert_eq!(b.leads("30.0.7.1"), second);
    // One word for each route of its own counters over the lists that changed, never a prefix.
    let now = b.router.fib.balances.written() - written;
    assert!(now <= 1 + 6000, "{now} words");
    b.control(|r| r.set_admin(pg1, true));
    assert_eq!(b.leads("20.0.7.1"), first);
}
