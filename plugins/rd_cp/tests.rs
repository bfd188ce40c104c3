//! Autoconfiguration from outside.

use control::api::Retval;
use net::InterfaceIndex;
use net::testing::whole::*;
use rd_cp::*;

use super::ra::advertisement::advertisement;

const ROUTER: &str = "fe80::ff:fe00:1";
const MADE: &str = "2001:db8:7::ff:fe00:aa/64";

fn bench() -> Bench {
    let mut b = Bench::plugged(&[ra::FEATURE, FEATURE]);
    assert_eq!(b.cli("ip6 nd address autoconfig pg0 default-route"), "");
    b
}

#[test]
fn addresses_and_default_routes_live_as_long_as_they_are_told() {
    let mut b = bench();
    assert_eq!(b.wait(0.0).len(), 1, "routers are looked for");
    let prefixes = [
        ("2001:db8:7::", 64, 0xc0, 2, 2),
        ("2001:db8:8::", 64, 0x80, 1500, 1000),
        ("2001:db8:9::", 60, 0xc0, 1500, 1000),
        ("2001:db8:a::", 64, 0xc0, 1000, 1500),
    ];
    b.receive(b.pg0, &[advertisement(ROUTER, 1, &prefixes)]);
    let shown = b.cli("show interface address");
    assert!(shown.contains(MADE) && !shown.contains("2001:db8:8"), "{shown}");
    assert!(!shown.contains("2001:db8:9:") && !shown.contains("2001:db8:a:"), "{shown}");
    assert!(b.cli("show ip6 fib ::/0").contains(ROUTER));
    assert_eq!(count(&mut b), 1);
    b.wait(1.2);
    assert!(b.cli("show interface address").contains(MADE));
    assert!(!b.cli("show ip6 fib ::/0").contains(ROUTER), "the router's time is over");
    b.wait(1.2);
    assert!(!b.cli("show interface address").contains(MADE));
}

#[test]
fn packets_come_from_addresses_that_are_not_deprecated() {
    let mut b = bench();
    let tell = |b: &mut Bench, preferred: u32| {
        let prefix = ("2001:db8:7::", 64, 0xc0, 100, preferred);
        b.receive(b.pg0, &[advertisement(ROUTER, 1800, &[prefix])]);
        b.wait(0.0);
    };
    // An address of the network itself is the best source of a request there.
    let source = |b: &mut Bench| {
        let (on, me) = (b.pg0.0, infra::rcu::Participant::join());
        let all = b.control(|router, _| router.addresses.reader());
        all.source6(on, "2001:db8:7::99".parse().unwrap(), me.epoch()).unwrap().to_string()
    };
    let (made, other) = ("2001:db8:7::ff:fe00:aa", "2001:db8::1");
    tell(&mut b, 2);
    assert_eq!(source(&mut b), made);
    b.wait(2.5);
    assert!(b.cli("show interface address").contains(MADE), "it is still there");
    assert_eq!(source(&mut b), other);
    tell(&mut b, 50);
    assert_eq!(source(&mut b), made);
    tell(&mut b, 0);
    assert_eq!(source(&mut b), other);
}

#[test]
fn a_router_that_leaves_takes_its_route_along() {
    let mut b = bench();
    b.receive(b.pg0, &[advertisement(ROUTER, 1800, &[])]);
    assert_eq!(count(&mut b), 1);
    b.receive(b.pg0, &[advertisement(ROUTER, 0, &[])]);
    assert_eq!(count(&mut b), 0);
}

#[test]
fn a_link_full_of_routers_fills_no_default_route() {
    let mut b = bench();
    let tell = |b: &mut Bench, n: usize, lifetime| {
        b.receive(b.pg0, &[advertisement(&format!("fe80::1:{n:x}"), lifetime, &[])]);
    };
    let has = |b: &mut Bench, n: usize| {
        let on = b.pg0;
        let addr: std::net::Ipv6Addr = format!("fe80::1:{n:x}").parse().unwrap();
        b.control(|router, _| routers(router, on).any(|known| known == addr))
    };
    (1..=100).for_each(|n| tell(&mut b, n, 65_535));
    let shown = b.cli("show ip6 fib ::/0");
    assert!(shown.contains("fe80::1:10 ") && !shown.contains("fe80::1:11 "), "{shown}");
    let on = b.pg0;
    assert_eq!(b.control(|router, _| routers(router, on).count()), 16);
    assert!(has(&mut b, 16) && !has(&mut b, 17));
    assert!(b.cli("show health").contains("84 routers and prefixes"), "{}", b.cli("show health"));
    // One that leaves makes room.
    tell(&mut b, 3, 0);
    tell(&mut b, 50, 1800);
    assert!(has(&mut b, 50) && !has(&mut b, 3));
}

fn count(b: &mut Bench) -> usize {
    let pg0 = b.pg0;
    b.control(|router, _| routers(router, pg0).count())
}

#[test]
fn nobody_can_take_an_address_away_at_once() {
    let mut b = bench();
    let tell = |b: &mut Bench, valid: u32| {
        let prefix = ("2001:db8:7::", 64, 0xc0, valid, valid.min(10));
        b.receive(b.pg0, &[advertisement(ROUTER, 0, &[prefix])]);
    };
    tell(&mut b, 100_000);
    tell(&mut b, 1);
    b.wait(2.0);
    assert!(b.cli("show interface address").contains(MADE));
    b.control(|router, _| router.engine.clock().adjust(7000.0));
    b.wait(0.5);
    assert!(b.cli("show interface address").contains(MADE));
    b.control(|router, _| router.engine.clock().adjust(200.0));
    b.wait(0.5);
    assert!(!b.cli("show interface address").contains(MADE));
}

#[test]
fn off_means_all_is_as_before() {
    let mut b = bench();
    let before = b.cli("show interface address");
    b.receive(b.pg0, &[advertisement(ROUTER, 1800, &[("2001:db8:7::", 64, 0xc0, 90, 90)])]);
    assert_ne!(b.cli("show interface address"), before);
    assert_eq!(b.cli("ip6 nd address autoconfig pg0 disable"), "");
    assert_eq!(b.cli("show interface address"), before);
    assert!(!b.cli("show ip6 fib ::/0").contains(ROUTER));
    b.receive(b.pg0, &[advertisement(ROUTER, 1800, &[("2001:db8:7::", 64, 0xc0, 90, 90)])]);
    assert_eq!(b.cli("show interface address"), before);
}

#[test]
fn clients_switch_it() {
    bench().talk(|local, router| {
        let pg0 = router.interfaces.named("pg0").unwrap().index;
        let set = |sw_if_index, enable| Ip6NdAddressAutoconfig {
            sw_if_index,
            enable,
            install_default_routes: true,
        };
        local.call(router, &set(pg0, true)).unwrap();
        local.call(router, &set(pg0, false)).unwrap();
        local.call(router, &set(pg0, false)).unwrap();
        let refused = local.call(router, &set(InterfaceIndex(77), true)).err();
        assert_eq!(refused, Some(Retval::INVALID_SW_IF_INDEX));
    });
}
