//! Routes through addresses of the other family (RFC 8950).

use super::nodes::{packet4, packet6};
use super::*;
use crate::adjacency::Link;

/// Link, next hop and interface of the adjacencies that packets to `dst` leave by.
fn hops(b: &Rig, dst: &str) -> Vec<(Link, String, String)> {
    let hop = |via| {
        let Via::Adjacency(adjacency) = via else { panic!("{dst} leads to {via:?}") };
        let a = b.router.adjacencies.at(adjacency).unwrap();
        (a.link, a.next_hop.to_string(), b.router.interfaces.name(a.interface.0).to_owned())
    };
    b.leads(dst).into_iter().map(hop).collect()
}

fn one(link: Link, next_hop: &str, interface: &str) -> [(Link, String, String); 1] {
    [(link, next_hop.to_owned(), interface.to_owned())]
}

#[test]
fn packets_follow_routes_through_the_other_family() {
    let mut b = bench();
    let before = b.in_use();
    b.set("ip route add 16.0.0.0/8 via 2001:db8::1");
    b.set("ip route add 2a16::/16 via 17.0.0.1");
    assert_eq!(b.leads("16.0.0.1"), [Via::Drop], "nothing leads to 2001:db8::1 yet");
    b.set("ip route add 2001:db8::/32 via fe80::2 pg1");
    b.set("ip route add 17.0.0.0/8 via 10.0.2.2 pg2");
    assert_eq!(hops(&b, "16.0.0.1"), one(Link::Ip4, "fe80::2", "pg1"));
    assert_eq!(hops(&b, "2001:db8::1"), one(Link::Ip6, "fe80::2", "pg1"));
    assert_eq!(hops(&b, "2a16::1"), one(Link::Ip6, "10.0.2.2", "pg2"));
    let [four, six] = ["16.0.0.1", "2a16::1"].map(|dst| match b.leads(dst)[..] {
        [Via::Adjacency(a)] => a.0,
        ref leads => panic!("{leads:?}"),
    });
    let caught = b.graph.send("ip4-lookup", &[packet4("16.0.0.1", 1)], |_| ());
    assert_eq!((caught[0].at.as_str(), caught[0].adjacency), ("ip4-rewrite", four));
    let caught = b.graph.send("ip6-lookup", &[packet6("2a16::1", 1)], |_| ());
    assert_eq!((caught[0].at.as_str(), caught[0].adjacency), ("ip6-rewrite", six));
    // The way changes: another interface, down, another route, a route to the address itself.
    b.set("ip route add 2001:db8::/48 via 2001:db8:2::2 pg2");
    assert_eq!(hops(&b, "16.0.0.1"), one(Link::Ip4, "2001:db8:2::2", "pg2"));
    let pg2 = b.interface("pg2");
    b.control(|r| r.set_admin(pg2, false));
    assert_eq!(b.leads("16.0.0.1"), [Via::Drop]);
    assert_eq!(b.leads("2a16::1"), [Via::Drop]);
    b.set("ip route del 2001:db8::/48");
    assert_eq!(hops(&b, "16.0.0.1"), one(Link::Ip4, "fe80::2", "pg1"));
    b.control(|r| r.set_admin(pg2, true));
    b.set("ip route add 2001:db8::1/128 via 10.0.0.9 pg0");
    assert_eq!(hops(&b, "16.0.0.1"), one(Link::Ip4, "10.0.0.9", "pg0"), "there and back");
    // What is no neighbour of both families ends it.
    b.set("ip route del 2001:db8::1/128\nip6 table add 9");
    b.set("ip route add 2001:db8::1/128 via lookup in table 9");
    assert_eq!(b.leads("16.0.0.1"), [Via::Drop]);
    for prefix in ["16.0.0.0/8", "17.0.0.0/8", "2a16::/16", "2001:db8::/32", "2001:db8::1/128"] {
        b.set(&format!("ip route del {prefix}"));
    }
    b.set("ip6 table del 9");
    assert_eq!(b.in_use(), before);
}

#[test]
fn a_next_hop_of_the_other_family_in_a_connected_network_is_a_neighbour_there() {
    let mut b = bench();
    b.set("ip route add 16.0.0.0/8 via 2001:db8:1::7 via 2001:db8:2::7 weight 3");
    b.set("set interface ip address pg1 2001:db8:1::1/64");
    assert_eq!(hops(&b, "16.0.0.1"), one(Link::Ip4, "2001:db8:1::7", "pg1"));
    b.set("set interface ip address pg2 2001:db8:2::1/64");
    let all = hops(&b, "16.0.0.1");
    let second = all.iter().filter(|hop| hop.2 == "pg2").count();
    assert_eq!((all.len(), second), (4, 3), "shared by weight: {all:?}");
    // A resolved address completes the adjacencies of both families.
    let native = b.neighbor("pg1", "2001:db8:1::7");
    let neighbor = b.router.adjacencies.at(native).unwrap().next_hop;
    let pg1 = b.interface("pg1");
    assert_eq!(b.router.adjacencies.of_neighbor(pg1, neighbor).count(), 2);
}

#[test]
fn cycles_through_both_families_are_not_followed() {
    let mut b = bench();
    let before = b.in_use();
    b.set("ip route add 16.0.0.0/8 via 2a16::1\nip route add 2a16::/16 via 16.0.0.1");
    assert_eq!(b.leads("16.9.9.9"), [Via::Drop]);
    assert_eq!(b.leads("2a16::9"), [Via::Drop]);
    b.set("ip route add 17.0.0.0/8 via 16.0.0.1\nip route add 2a17::/16 via 2a16::5");
    assert_eq!(b.leads("17.0.0.1"), [Via::Drop]);
    // A path that leads out is used instead of the cycle.
    b.set("ip route add 2a16::/16 via fe80::2 pg1");
    assert_eq!(b.leads("16.9.9.9"), [Via::Drop]);
    assert_eq!(hops(&b, "2a17::9"), one(Link::Ip6, "fe80::2", "pg1"));
    b.set("ip route del 2a16::/16 via 16.0.0.1\nip route add 18.0.0.0/8 via 17.0.0.1");
    assert_eq!(hops(&b, "18.0.0.1"), one(Link::Ip4, "fe80::2", "pg1"));
    for prefix in ["16.0.0.0/8", "2a16::/16", "17.0.0.0/8", "2a17::/16", "18.0.0.0/8"] {
        b.set(&format!("ip route del {prefix}"));
    }
    assert_eq!(b.in_use(), before);
}

#[test]
fn routes_through_the_other_family_are_shown() {
    let mut b = bench();
    b.set("ip6 table add 9\nip table add 9");
    b.set("ip route add 2001:db8::/32 table 9 via fe80::2 pg1");
    b.set("ip route add 16.0.0.0/8 via 2001:db8::1 next-hop-table 9");
    b.set("ip route add 17.0.0.0/8 table 9 via 2001:db8::1 next-hop-table 9");
    let table = b.router.fib.table::<Ip4>(9).unwrap();
    assert_eq!(b.leads_in(table, "17.0.0.1"), b.leads("16.0.0.1"));
    let text = b.run("show ip fib 16.0.0.0/8");
    let host = b.run("show ip6 fib table 9 2001:db8::1/128");
    let number = host.lines().find_map(|l| l.strip_prefix("2001:db8::1/128 fib:1 index:"));
    let number = number.unwrap().split(' ').next().unwrap();
    let via =
        format!("        via 2001:db8::1 in fib:1 via-fib:{number} via-dpo:[dpo-load-balance:");
    assert!(text.contains(&via), "{text}");
    let end = "[@3]: arp-ipv4: via fe80::2 pg1";
    assert!(text.contains(end), "{text}");
    let chain =
        host.split(" Delegates:\n  unicast-ip4-chain\n  [@0]: dpo-load-balance: [proto:ip4 ");
    let chain = chain.last().unwrap();
    assert!(chain.contains(end), "{host}");
    // The table goes with the last route that leads there.
    b.set("ip6 table del 9");
    assert_eq!(b.leads("16.0.0.1"), [Via::Drop]);
    b.set("ip route del 16.0.0.0/8");
    assert!(b.router.fib.table::<Ip6>(9).is_some());
    b.set("ip route del 17.0.0.0/8 table 9");
    assert!(b.router.fib.table::<Ip6>(9).is_none());
}
