//! ARP from outside: proxies, interfaces without IPv4, shared addresses.

use super::ArpProxy;
use crate::neighbor::testing::*;
use graph::Node;

#[test]
fn ranges_are_answered_for_where_the_operator_says() {
    let mut b = Bench::new();
    assert_eq!(b.cli("set arp proxy table-id 0 start 10.9.0.2 end 10.9.0.124"), "");
    let ask = |target: &str| bytes(request(HOST, "10.0.0.2", target));
    assert!(b.receive(b.pg0, &[ask("10.9.0.3")]).is_empty());
    b.expect(&[("arp-reply", "l3_dst_address_not_local", 1)]);

    assert_eq!(b.cli("set interface proxy-arp pg0"), "");
    for n in [1usize, 3, 255, 256] {
        let out = b.receive(b.pg0, &vec![ask("10.9.0.3"); n]);
        assert_eq!(out.len(), n);
        assert_eq!(out[n - 1].bytes, bytes(reply(PG0, "10.9.0.3", HOST, "10.0.0.2")));
        b.expect(&[("arp-proxy", "proxy_arp_replies_sent", n as u64)]);
    }
    // A host that is about to use one of them is not kept from it.
    assert!(b.receive(b.pg0, &[bytes(request(HOST, "0.0.0.0", "10.9.0.3"))]).is_empty());
    b.expect(&[("arp-proxy", "l3_dst_address_not_local", 1)]);
    for outside in ["10.9.0.1", "10.9.0.125"] {
        assert!(b.receive(b.pg0, &[ask(outside)]).is_empty());
        b.expect(&[("arp-proxy", "l3_dst_address_not_local", 1)]);
    }
    let shown = b.cli("show arp proxy");
    assert!(
        shown.contains("10.9.0.2         - 10.9.0.124") && shown.contains("  pg0\n"),
        "{shown}"
    );
    assert_eq!(b.cli("set interface proxy-arp pg0 disable"), "");
    assert!(b.receive(b.pg0, &[ask("10.9.0.3")]).is_empty());
    assert_eq!(b.cli("set arp proxy del start 10.9.0.2 end 10.9.0.124"), "");
    assert_eq!(b.cli("show arp proxy"), "");
}

#[test]
fn a_proxy_answers_hosts_that_are_not_of_the_link() {
    let mut b = Bench::new();
    b.cli("set arp proxy start 10.9.0.2 end 10.9.0.124");
    let ask = |target: &str| bytes(request(HOST, "10.66.0.7", target));
    assert!(b.receive(b.pg0, &[ask("10.9.0.3")]).is_empty());
    b.expect(&[("arp-reply", "l3_dst_address_not_local", 1)]);
    b.cli("set interface proxy-arp pg0");
    let out = b.receive(b.pg0, &[ask("10.9.0.3")]);
    assert_eq!(out[0].bytes, bytes(reply(PG0, "10.9.0.3", HOST, "10.66.0.7")));
    b.expect(&[("arp-proxy", "proxy_arp_replies_sent", 1)]);
    // For its own address it is no proxy, and it learns nothing of strangers.
    assert_eq!(b.receive(b.pg0, &[ask("10.0.0.1")]).len(), 1);
    b.expect(&[("arp-reply", "replies_sent", 1)]);
    assert!(!b.cli("show ip neighbors").contains("10.66.0.7"));
}

#[test]
fn a_proxy_answers_a_host_that_has_the_address_its_unnumbered_interface_uses() {
    let mut b = Bench::new();
    let pg1 = b.pg1;
    for line in [
        "set interface ip address del pg1 10.0.1.1/24",
        "set interface ip address del pg1 2001:db8:1::1/64",
        "set interface unnumbered pg1 use pg0",
        "set arp proxy start 10.0.0.0 end 10.0.0.255",
    ] {
        b.set(line);
    }
    b.wait(0.0);
    let ask = bytes(request(HOST, "10.0.0.1", "10.0.0.9"));
    assert!(b.receive(pg1, std::slice::from_ref(&ask)).is_empty());
    b.expect(&[("arp-reply", "l3_src_address_is_local", 1)]);
    b.cli("set interface proxy-arp pg1");
    let out = b.receive(pg1, std::slice::from_ref(&ask));
    assert_eq!(out[0].bytes, bytes(reply(PG1, "10.0.0.9", HOST, "10.0.0.1")));
    assert_eq!(b.cli("show ip neighbors"), "", "nothing is learned of it");
    b.cli("set interface proxy-arp pg0");
    assert!(b.receive(b.pg0, &[ask]).is_empty(), "an address of its own is nobody else's");
}

#[test]
fn addresses_that_routes_say_are_ours_are_answered_for() {
    let mut b = Bench::new();
    let ask = bytes(request(HOST, "10.0.0.2", "10.0.0.40"));
    assert!(b.receive(b.pg0, std::slice::from_ref(&ask)).is_empty());
    b.expect(&[("arp-reply", "l3_dst_address_not_local", 1)]);
    b.cli("ip route add 10.0.0.40/32 via local pg0");
    let out = b.receive(b.pg0, std::slice::from_ref(&ask));
    assert_eq!(out[0].bytes, bytes(reply(PG0, "10.0.0.40", HOST, "10.0.0.2")));
    // By way of another interface it is not this link's.
    b.cli("ip route del 10.0.0.40/32");
    b.cli("ip route add 10.0.0.40/32 via local pg1");
    assert!(b.receive(b.pg0, &[ask]).is_empty());
}

#[test]
fn wrong_proxies_are_refused() {
    let mut b = Bench::new();
    for (line, error) in [
        ("set arp proxy table-id 7 start 1.0.0.1 end 1.0.0.2", "no IPv4 table 7"),
        ("set arp proxy start 1.0.0.2 end 1.0.0.1", "the last address is before the first"),
        ("set arp proxy del start 1.0.0.1 end 1.0.0.2", "no such range"),
    ] {
        assert_eq!(b.cli(line), format!("set arp proxy: {error}\n"));
    }
    let text = b.cli("set interface proxy-arp nosuch");
    assert_eq!(text, "set interface proxy-arp: unknown interface `nosuch'\n");
}

#[test]
fn a_proxy_goes_with_its_interface() {
    let mut b = Bench::new();
    b.cli("set interface proxy-arp pg1 enable");
    b.control(|router, _| {
        let pg1 = router.interfaces.named("pg1").unwrap().index;
        router.remove_interface(pg1);
        assert!(router.arp_proxies().interfaces.is_empty());
        let on = router.engine.features_of(pg1.0).into_iter();
        assert!(on.flat_map(|(_, features)| features).all(|f| f != ArpProxy::NAME));
    });
}

#[test]
fn without_ip4_arp_is_disabled() {
    let mut b = Bench::new();
    b.cli("set interface ip address del pg0 10.0.0.1/24");
    let frame = bytes(request(HOST, "10.0.0.2", "10.0.0.1"));
    for n in [1usize, 3, 255, 256] {
        assert!(b.receive(b.pg0, &vec![frame.clone(); n]).is_empty());
        b.expect(&[("arp-disabled", "disabled", n as u64)]);
    }
    b.cli("set interface ip address pg0 10.0.0.1/24");
    assert_eq!(b.receive(b.pg0, &[frame]).len(), 1);
}

#[test]
fn a_virtual_router_answers_from_another_address_of_layer_2() {
    let mut b = Bench::new();
    let shared = wire::MacAddr([0, 0, 0x5e, 0, 1, 9]);
    let mut frame = reply(shared, "10.0.0.7", PG0, "10.0.0.1");
    frame.ethernet.src = HOST;
    b.receive(b.pg0, &[bytes(frame)]);
    assert!(b.cli("show ip neighbors").contains("00:00:5e:00:01:09"));
}

#[test]
fn hosts_of_attached_routes_are_on_the_link() {
    let mut b = Bench::new();
    let ask = bytes(request(HOST, "10.7.0.9", "10.0.0.1"));
    assert_eq!(b.receive(b.pg0, std::slice::from_ref(&ask)).len(), 1);
    b.expect(&[("arp-reply", "replies_sent", 1)]);
    assert!(!b.cli("show ip neighbors").contains("10.7.0.9"));
    // Behind a router is not on the link.
    b.cli("ip route add 10.7.0.0/16 via 10.0.0.2 pg0");
    b.settle();
    b.expect(&[("ip4-arp", "request_sent", 1)]);
    assert_eq!(b.receive(b.pg0, std::slice::from_ref(&ask)).len(), 1);
    assert!(!b.cli("show ip neighbors").contains("10.7.0.9"));
    b.expect(&[("arp-reply", "replies_sent", 1)]);
    b.cli("ip route add 10.7.0.9/32 via pg0");
    assert_eq!(b.receive(b.pg0, &[ask]).len(), 1);
    assert!(b.cli("show ip neighbors").contains("10.7.0.9"));
}
