//! Addresses: conflicts, the routes they bring, and that all goes with them.

use std::net::Ipv6Addr;

use infra::rcu::Participant;
use wire::MacAddr;

use super::*;
use crate::fib::Ip4;
use crate::interface::Kind;
use crate::testing::Rig;

/// A router with `pg0` and `pg1` up and without addresses.
fn bench() -> Rig {
    let mut b = Rig::new(&[fib::FEATURE, FEATURE]);
    for (name, mac) in [("pg0", 0xaa), ("pg1", 0xab)] {
        b.add_interface(name, Kind::Ethernet, mac);
    }
    b
}

impl Rig {
    /// All routes, and what packets meet on both interfaces.
    fn address_state(&mut self) -> String {
        let ports: Vec<_> = ["pg0", "pg1"]
            .map(|n| {
                let port = self.router.interfaces.port(self.interface(n)).unwrap();
                format!("{:?} {:?}", port.ip4, port.ip6)
            })
            .into();
        let routes = self.run("show ip fib") + &self.run("show ip6 fib");
        let count = self.router.fib.len::<crate::fib::Ip6>(TableIndex::DEFAULT);
        let lines = routes.lines().filter(|l| !l.contains("load-balance"));
        lines.collect::<Vec<_>>().join("\n") + &ports.join(",") + &count.to_string()
    }
}

#[test]
fn addresses_are_listed() {
    let mut b = bench();
    b.set(
        "set interface ip address pg0 10.0.0.1/24\nset interface ip address pg0 2001:db8:0::1/64",
    );
    let pg1 = b.interface("pg1");
    b.control(|r| r.set_admin(pg1, false));
    let want = "local0 (dn):\npg0 (up):\n  L3 10.0.0.1/24\n  L3 2001:db8::1/64\npg1 (dn):\n";
    assert_eq!(b.run("show interface address"), want);
    assert_eq!(b.run("show int addr pg1"), "pg1 (dn):\n");
}

#[test]
fn only_while_an_interface_is_up_its_addresses_bring_routes() {
    let mut b = bench();
    let nothing = b.address_state();
    let pg0 = b.interface("pg0");
    let addresses = "set interface ip address pg0 10.0.0.1/24\n\
        set interface ip address pg0 10.1.0.1/31\n\
        set interface ip address pg0 2001:db8::1/64";
    b.set(addresses);
    let all = b.address_state();
    assert!(all.contains("10.0.0.1/32") && all.contains("2001:db8::1/128"), "{all}");
    b.control(|r| r.set_admin(pg0, false));
    let down = b.run("show ip fib") + &b.run("show ip6 fib");
    for gone in ["10.0.0.", "10.1.0.", "2001:db8::"] {
        assert!(!down.contains(gone), "{down}");
    }
    assert!(b.run("show interface address").contains("L3 10.0.0.1/24"), "it still has it");
    b.set("set interface ip address del pg0 10.0.0.1/24");
    b.control(|r| r.set_admin(pg0, true));
    b.set("set interface ip address del pg0 10.1.0.1/31");
    b.set("set interface ip address del pg0 2001:db8::1/64");
    assert_eq!(b.address_state(), nothing);
    b.control(|r| r.set_admin(pg0, false));
    b.set(addresses);
    b.control(|r| r.set_admin(pg0, true));
    assert_eq!(b.address_state(), all);
}

#[test]
fn the_other_end_of_a_31_is_a_neighbour() {
    let mut b = bench();
    for (own, peer) in [("10.0.0.0", "10.0.0.1"), ("10.0.0.1", "10.0.0.0")] {
        b.set(&format!("set interface ip address pg0 {own}/31"));
        let shown = b.run(&format!("show ip fib {peer}/32"));
        assert!(shown.contains(&format!("via {peer} pg0")), "{shown}");
        b.set(&format!("set interface ip address del pg0 {own}/31"));
    }
}

#[test]
fn a_single_address_may_lie_in_the_network_of_another_interface() {
    for hosts_first in [false, true] {
        let mut b = bench();
        let networks = "set interface ip address pg0 10.0.0.1/24\n\
                        set interface ip address pg0 2001:db8::1/64";
        let hosts = "set interface ip address pg1 10.0.0.9/32\n\
                     set interface ip address pg1 2001:db8::9/128";
        let (first, second) = if hosts_first { (hosts, networks) } else { (networks, hosts) };
        b.set(first);
        b.set(second);
        for (shown, addr) in [
            ("show ip fib 10.0.0.9", "10.0.0.9/32"),
            ("show ip6 fib 2001:db8::9", "2001:db8::9/128"),
        ] {
            let text = b.run(shown);
            assert!(text.contains(addr) && text.contains("receive"), "{text}");
        }
        for same in ["10.0.0.1/32", "2001:db8::1/128"] {
            let text = b.run(&format!("set interface ip address pg1 {same}"));
            assert!(text.contains("which conflicts with"), "{text}");
        }
    }
}

#[test]
fn conflicts_are_refused_in_known_words() {
    let mut b = bench();
    b.set("set interface ip address pg0 10.0.0.1/24\nset interface ip address pg0 2001:db8::1/64");
    // Another address of the same network, on the same interface.
    b.set("set interface ip address pg0 10.0.0.2/24\nset interface ip address pg0 2001:db8::2/64");
    let before = b.address_state();
    let failed = "set interface ip address: failed to add";
    for (line, error) in [
        (
            "pg0 10.0.0.1/24",
            "10.0.0.1/24 on pg0 which conflicts with 10.0.0.1/24 for interface pg0",
        ),
        (
            "pg1 10.0.0.3/24",
            "10.0.0.3/24 on pg1 which conflicts with 10.0.0.1/24 for interface pg0",
        ),
        ("pg1 10.0.0.3/8", "10.0.0.3/8 on pg1 which conflicts with 10.0.0.1/24 for interface pg0"),
        (
            "pg0 10.0.0.9/28",
            "10.0.0.9/28 on pg0 which conflicts with 10.0.0.1/24 for interface pg0",
        ),
        (
            "pg1 2001:db8::9/64",
            "2001:db8::9/64 on pg1 which conflicts with 2001:db8::1/64 for interface pg0",
        ),
        ("pg1 224.0.0.1/24", "224.0.0.1/24 on pg1: 224.0.0.1/24 cannot be an interface's address"),
        ("pg1 0.0.0.0/0", "0.0.0.0/0 on pg1: 0.0.0.0/0 cannot be an interface's address"),
    ] {
        let line = format!("set interface ip address {line}");
        assert_eq!(b.run(&line), format!("{failed} {error}\n"));
    }
    let set = "set interface ip address";
    assert_eq!(
        b.run("set interface ip address nosuch 1.1.1.1/8"),
        format!("{set}: unknown interface `nosuch 1.1.1.1/8'\n")
    );
    assert_eq!(b.run("set interface ip address pg0 1.1.1.1/33"), "Invalid prefix len: 33\n");
    assert_eq!(
        b.run("set interface ip address pg0 1.1.1.1"),
        format!("{set}: parse error `1.1.1.1'\n")
    );
    assert_eq!(
        b.run("set interface ip address del pg1 10.0.0.1/24"),
        format!("{set}: failed to delete 10.0.0.1/24 on pg1: no address 10.0.0.1/24\n")
    );
    assert_eq!(b.address_state(), before);
}

#[test]
fn removal_restores_everything() {
    let mut b = bench();
    let before = b.address_state();
    b.set("set interface ip address pg0 10.0.0.1/24");
    let one = b.address_state();
    assert!(
        one.contains("10.0.0.255/32") && one.contains("ipv4-glean: [src:10.0.0.0/24] pg0"),
        "{one}"
    );
    b.set("set interface ip address pg0 10.0.0.2/24\nset interface ip address pg0 10.5.0.1/31");
    b.set("set interface ip address pg1 2001:db8:1::1/64\nset interface ip address pg1 9.9.9.9/32");
    b.set("set interface ip address del pg0 10.0.0.1/24\nset interface ip address pg0 10.0.0.1/24");
    b.set("set interface ip address del pg0 10.0.0.2/24");
    b.set("set interface ip address del pg0 10.5.0.1/31");
    b.set("set interface ip address pg1 all del\nset interface ip address del pg1 all");
    assert_eq!(b.address_state(), one);
    b.set("set interface ip address del pg0 10.0.0.1/24");
    assert_eq!(b.address_state(), before);
}

#[test]
fn deleting_an_interface_takes_its_addresses_along() {
    let mut b = bench();
    b.set(
        "set interface ip address pg1 10.0.1.1/24\nset interface ip address pg1 2001:db8:1::1/64",
    );
    let with_one = b.address_state();
    b.set("set interface ip address pg0 10.0.0.1/24\nset interface ip address pg0 2001:db8::1/64");
    b.set("set interface ip address del pg0 2001:db8::1/64\nenable ip6 interface pg0");
    let pg0 = b.interface("pg0");
    b.control(|r| r.remove_interface(pg0));
    assert_eq!(b.router.addresses.of(pg0), &OnInterface::default());
    let routes = b.run("show ip fib") + &b.run("show ip6 fib");
    assert!(
        !routes.contains("10.0.0.") && !routes.contains("pg0") && !routes.contains("DELETED"),
        "{routes}"
    );
    assert!(with_one.contains("10.0.1.1/32 ") || routes.contains("10.0.1.1/32"));
    assert_eq!(b.run("show adj").lines().count(), 3, "two networks and link-local");
}

#[test]
fn ip6_brings_a_link_local_address_and_groups() {
    let mut b = bench();
    let before = b.address_state();
    b.set("set interface ip address pg0 2001:db8::1/64");
    let text = b.run("show ip6 interface pg0");
    let head = "pg0 is admin up
  Global unicast address(es):
    2001:db8::1/64
  Link-local address(es):
    fe80::ff:fe00:aa
  Joined group address(es):
    ff02::1
    ff02::2
    ff02::16
    ff02::1:ff00:aa
    ff02::1:ff00:1
  Neighbor Discovery: enabled
    ICMP redirects are disabled
";
    assert_eq!(text, head);
    assert_eq!(b.run("show ip6 interface pg1"), "IP6 disabled\n");
    // The address follows the interface's own.
    let pg0 = b.interface("pg0");
    b.control(|r| r.set_mac(pg0, MacAddr([2, 0, 0, 0, 0, 0xcc])));
    assert_eq!(b.router.addresses.of(pg0).link_local, Some("fe80::ff:fe00:cc".parse().unwrap()));
    b.set("set interface ip address del pg0 2001:db8::1/64");
    assert_eq!(b.address_state(), before);
    b.set("enable ip6 interface pg0\nenable ip6 interface pg1\ndisable ip6 interface pg0");
    assert!(b.router.addresses.of(pg0).link_local.is_none());
    b.set("disable ip6 interface pg1");
    assert_eq!(b.address_state(), before);
}

#[test]
fn frames_to_the_groups_in_which_addresses_are_asked_for_are_taken() {
    let mut b = bench();
    let pg0 = b.interface("pg0");
    let macs = |b: &Rig| {
        let mut macs = b.router.interfaces.port(pg0).unwrap().secondary.to_vec();
        macs.sort_unstable();
        macs.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    b.set("set interface ip address pg0 2001:db8::1:5/64");
    let both = ["33:33:ff:00:00:aa", "33:33:ff:01:00:05"];
    assert_eq!(macs(&b), both);
    b.set("set interface ip address pg0 2001:db8:1::1:5/64");
    b.set("set interface ip address del pg0 2001:db8::1:5/64");
    assert_eq!(macs(&b), both, "the group of another address, too");
    assert!(!b.run("show configuration").contains("secondary"), "nobody gave it these");
    b.set("enable ip6 interface pg0");
    b.set("set interface ip address del pg0 2001:db8:1::1:5/64");
    assert_eq!(macs(&b), both[..1]);
    b.set("disable ip6 interface pg0");
    assert!(macs(&b).is_empty());
}

#[test]
fn a_link_local_address_is_set_as_others_are_and_leads_nowhere_else() {
    let mut b = bench();
    let pg0 = b.interface("pg0");
    b.set("set interface ip address pg0 fe80::5/128");
    let own: Ipv6Addr = "fe80::5".parse().unwrap();
    assert_eq!(b.router.addresses.of(pg0).link_local, Some(own));
    assert!(b.router.addresses.of(pg0).ip6.is_empty(), "no network of the table");
    let add = "set interface ip address: failed to add fe80::6/64 on pg0";
    assert_eq!(
        b.run("set interface ip address pg0 fe80::6/64"),
        format!("{add}: prefix length of fe80::6/64, a link-local address, is 128\n")
    );
    let delete = "set interface ip address: failed to delete fe80::5/128 on pg0";
    assert_eq!(
        b.run("set interface ip address del pg0 fe80::5/128"),
        format!("{delete}: fe80::5/128 goes with IPv6 on the interface only\n")
    );
    assert_eq!(b.router.addresses.of(pg0).link_local, Some(own));
}

#[test]
fn nodes_find_the_address_to_send_from() {
    let mut b = bench();
    b.set("set interface ip address pg0 10.0.0.1/24\nset interface ip address pg0 10.1.0.1/16");
    b.set("set interface ip address pg0 2001:db8::1/64\nset interface ip address pg0 2a00::1/64");
    let (me, r) = (Participant::join(), b.router.addresses.reader());
    let (e, pg0) = (me.epoch(), b.interface("pg0").0);
    let six = |t: &str| t.parse::<Ipv6Addr>().unwrap();
    let own = six("fe80::ff:fe00:aa");
    assert_eq!(r.source4(pg0, e), Some([10, 0, 0, 1].into()));
    assert_eq!(r.covering4(pg0, [10, 1, 7, 7].into(), e), Some([10, 1, 0, 1].into()));
    assert_eq!(r.covering4(pg0, [10, 2, 7, 7].into(), e), None);
    assert!(r.owns4(pg0, [10, 1, 0, 1].into(), e) && !r.owns4(pg0, [10, 1, 0, 2].into(), e));
    assert_eq!(r.source6(pg0, six("2a00::9"), e), Some(six("2a00::1")));
    assert_eq!(r.source6(pg0, six("2001:db8::9"), e), Some(six("2001:db8::1")));
    assert_eq!(r.source6(pg0, six("2a00::1"), e), Some(six("2a00::1")), "itself");
    assert_eq!(r.source6(pg0, six("9::9"), e), Some(six("2001:db8::1")), "the first of equals");
    assert_eq!(r.source6(pg0, six("ff05::9"), e), Some(six("2001:db8::1")));
    assert_eq!(r.source6(pg0, six("ff01::9"), e), Some(own));
    assert_eq!(r.source6(pg0, six("fe80::9"), e), Some(own));
    assert_eq!(r.source6(pg0, six("ff02::1"), e), Some(own));
    assert_eq!(r.covering6(pg0, six("2a00::77"), e), Some(six("2a00::1")));
    assert_eq!(r.covering6(pg0, six("fe80::77"), e), Some(own));
    assert!(r.owns6(pg0, own, e) && !r.owns6(pg0, six("2a00::2"), e));
    assert_eq!((r.source4(pg0 + 1, e), r.link_local(99, e)), (None, None));
}

#[test]
fn an_interface_looks_up_in_the_table_it_is_given() {
    let mut b = bench();
    b.set("ip table add 10\nip6 table add 20\nset interface ip table pg0 10");
    b.set("set interface ip6 table pg0 20\nset interface ip address pg0 10.0.0.1/24");
    b.set("set interface ip address pg0 2001:db8::1/64\nset interface ip address pg1 10.0.0.1/24");
    let four = b.router.fib.table::<Ip4>(10).unwrap();
    let pg0 = b.interface("pg0");
    assert_eq!(b.router.interfaces.port(pg0).unwrap().ip4, Some(four.0));
    assert!(b.run("show ip fib table 10").contains("dpo-receive: 10.0.0.1 on pg0"));
    assert!(b.run("show ip fib table 0").contains("dpo-receive: 10.0.0.1 on pg1"));
    assert!(b.run("show ip6 fib table 20").contains("2001:db8::1/128"));
    let shown = b.run("show interface address pg0");
    for line in [
        format!("  L3 10.0.0.1/24 ip4 table-id 10 fib-idx {}\n", four.0),
        "  L3 2001:db8::1/64 ip6 table-id 20 fib-idx ".to_owned(),
    ] {
        assert!(shown.contains(&line), "{shown}");
    }
    let set = "set interface ip table";
    assert_eq!(b.run("set interface ip table pg0 0"), format!("{set}: interface has addresses\n"));
    assert_eq!(b.run("set interface ip table pg0 77"), format!("{set}: Nonexistent table id 77\n"));
    b.set("ip table del 10\nip6 table del 20");
    assert!(b.run("show ip fib table 10").contains("dpo-receive: 10.0.0.1 on pg0"), "as long");
    b.control(|r| r.remove_interface(pg0));
    assert_eq!(b.run("show ip table"), "[0] table_id:0 ipv4-VRF:0\n");
}

#[test]
fn an_interface_may_use_the_addresses_of_another() {
    let mut b = bench();
    assert_eq!(b.run("set interface ip address pg0 10.0.0.1/24"), "");
    assert_eq!(b.run("set interface unnumbered pg1 use pg0"), "");
    let shown = b.run("show interface address pg1");
    assert!(shown.contains("  unnumbered, use pg0\n  L3 10.0.0.1/24\n"), "{shown}");
    assert!(b.run("set interface unnumbered pg0 use pg1").contains("no interface to use"));
    assert!(b.run("set interface unnumbered pg1").contains("expected `use'"));
    assert_eq!(b.run("set interface unnumbered del pg1"), "");
    assert!(!b.run("show interface address pg1").contains("10.0.0.1"));
}
