//! Rules over the whole router.

use control::api::Retval;
use net::InterfaceIndex;
use net::testing::whole::{Bench, packet, packet6};
use stn::{StnAddDelRule, StnRulesDump};

#[test]
fn what_nobody_listens_for_leaves_for_the_host_as_it_came() {
    let mut b = Bench::plugged(&[stn::FEATURE, container::FEATURE]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    for host in ["10.0.0.2", "2001:db8::2"] {
        b.cli(&format!("set ip neighbor pg0 {host} 02:00:00:00:00:01 static"));
    }
    for (addr, frame) in [
        ("10.7.0.9", packet("10.7.0.9")),
        ("10.0.0.1", packet("10.0.0.1")),
        ("2001:db8:7::9", packet6("2001:db8:7::9")),
        ("2001:db8::1", packet6("2001:db8::1")),
    ] {
        if addr.contains('7') {
            assert_eq!(b.cli(&format!("ip container {addr} pg1")), "");
        }
        let answered = b.receive(pg0, std::slice::from_ref(&frame));
        assert!(answered.iter().all(|c| c.tx == pg0.0), "without a rule its sender is told");
        assert_eq!(b.cli(&format!("stn rule address {addr} interface pg1")), "");
        for n in [1, 3, 4, 255, 256] {
            let out = b.receive(pg0, &vec![frame.clone(); n]);
            let expected = [&[0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1][..], &frame[12..]].concat();
            let is_it = |c: &graph::testing::Caught| c.tx == pg1.0 && c.bytes == expected;
            assert_eq!(out.iter().filter(|c| is_it(c)).count(), n, "{addr}");
        }
        assert_eq!(b.cli(&format!("stn rule address {addr} interface pg1 del")), "");
        assert!(!b.cli("show interface features pg0").contains("stn-ip"));
        let out = b.receive(pg0, std::slice::from_ref(&frame));
        assert!(out.iter().all(|c| c.tx == pg0.0), "{addr}: as before");
    }
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn what_an_operator_has_punted_stays_punted() {
    let mut b = Bench::plugged(&[stn::FEATURE, container::FEATURE]);
    b.cli("set punt ipv4 udp all");
    b.cli("stn rule address 10.0.0.1 interface pg1");
    b.cli("stn rule address 10.0.0.1 interface pg1 del");
    b.control(|router, _| {
        assert_eq!(router.punted_ports().count(), 1);
    });
}

#[test]
fn rules_are_listed_by_number_and_go_with_their_interface() {
    let mut b = Bench::plugged(&[stn::FEATURE, container::FEATURE]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.talk(|local, router| {
        let set = |addr: &str, sw_if_index, is_add| StnAddDelRule {
            ip_address: addr.parse::<std::net::IpAddr>().unwrap().into(),
            sw_if_index,
            is_add,
        };
        for (addr, on) in [("10.0.0.7", pg0), ("2001:db8::7", pg1), ("10.0.0.7", pg1)] {
            local.call(router, &set(addr, on, true)).unwrap();
        }
        let rows = local.dump(router, &StnRulesDump {});
        let rows: Vec<_> =
            rows.iter().map(|r| (r.ip_address.native().unwrap(), r.sw_if_index)).collect();
        assert_eq!(
            rows,
            [("10.0.0.7".parse().unwrap(), pg1), ("2001:db8::7".parse().unwrap(), pg1)]
        );
        let nowhere = set("10.0.0.8", InterfaceIndex(99), true);
        assert_eq!(local.call(router, &nowhere).err(), Some(Retval::INVALID_SW_IF_INDEX));
        let unknown = set("10.0.0.8", pg1, false);
        assert_eq!(local.call(router, &unknown).err(), Some(Retval::NO_SUCH_ENTRY));
    });
    let text = format!(
        "- rule_index: 0\n  address: 10.0.0.7\n  iface: pg1 ({0})\n  next_node: pg1-output\n\
         - rule_index: 1\n  address: 2001:db8::7\n  iface: pg1 ({0})\n  next_node: pg1-output\n",
        pg1.0
    );
    assert_eq!(b.cli("show stn rules"), text);
    let unknown = b.cli("stn rule address 10.0.0.8 interface pg1 del");
    assert_eq!(unknown, "stn rule: no rule for 10.0.0.8\n");
    let nowhere = b.cli("stn rule address 10.0.0.8 interface nosuch");
    assert_eq!(nowhere, "stn rule: unknown interface `nosuch'\n");
    b.control(|router, _| router.remove_interface(pg1));
    assert_eq!(b.cli("show stn rules"), "");
    b.control(|router, _| assert_eq!(router.punted_ports().count(), 0));
}
