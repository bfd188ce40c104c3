//! Proxies for prefixes of containers: tests with packets.

use container::*;
use control::api::Retval;
use net::InterfaceIndex;
use net::testing::whole::{Bench, packet};

#[test]
fn packets_to_a_container_are_ours_as_long_as_it_is_proxied() {
    let mut b = Bench::plugged(&[FEATURE]);
    let pg0 = b.pg0;
    assert_eq!(b.cli("ip container 10.7.0.9 pg1"), "");
    assert_eq!(b.cli("show ip container 10.7.0.9 pg1"), "10.7.0.9/32 pg1: enabled\n");
    assert_eq!(b.cli("show ip container 10.7.0.9 pg0"), "10.7.0.9/32 pg0: disabled\n");
    b.cli("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static");
    let out = b.receive(pg0, &[packet("10.7.0.9")]);
    assert_eq!(out[0].bytes[34..36], [3, 3], "nobody listens on the port");
    b.expect(&[("ip4-udp-lookup", "no_listener", 1), ("ip4-icmp-error", "dest_unreach_sent", 1)]);
    assert_eq!(b.cli("ip container 10.7.0.9 pg1 del"), "");
    let again = b.cli("ip container 10.7.0.9 pg1 del");
    assert_eq!(again, "ip container: no container proxy for 10.7.0.9/32\n");
    b.receive(pg0, &[packet("10.7.0.9")]);
    assert!(!b.cli("show ip fib 10.7.0.9").contains("10.7.0.9/32 "));
    let nowhere = b.cli("ip container 10.7.0.9 nosuch");
    assert_eq!(nowhere, "ip container: unknown interface `nosuch'\n");
}

#[test]
fn a_deleted_interface_takes_its_containers_along() {
    let mut b = Bench::plugged(&[FEATURE]);
    let pg1 = b.pg1;
    b.cli("ip container 2001:db8:7::9 pg1");
    b.control(|router, _| {
        assert_eq!(all(router).count(), 1);
        router.remove_interface(pg1);
        assert_eq!(all(router).count(), 0);
    });
    assert!(!b.cli("show ip6 fib").contains("2001:db8:7::9"));
}

#[test]
fn clients_get_prefixes_as_they_set_them() {
    let mut b = Bench::plugged(&[FEATURE]);
    let pg0 = b.pg0;
    b.talk(|local, router| {
        let set = |prefix: &str, sw_if_index, is_add| IpContainerProxyAddDel {
            pfx: prefix.parse::<wire::Prefix>().unwrap().into(),
            sw_if_index,
            is_add,
        };
        for prefix in ["10.7.0.0/24", "2001:db8:7::9/128"] {
            local.call(router, &set(prefix, pg0, true)).unwrap();
            let rows = local.dump(router, &IpContainerProxyDump {});
            let rows: Vec<_> = rows.iter().map(|d| d.prefix.native().unwrap()).collect();
            assert_eq!(rows, [prefix.parse().unwrap()]);
            local.call(router, &set(prefix, pg0, false)).unwrap();
            let again = local.call(router, &set(prefix, pg0, false)).err();
            assert_eq!(again, Some(Retval::NO_SUCH_ENTRY));
        }
        let nowhere = set("10.7.0.0/24", InterfaceIndex(99), true);
        assert_eq!(local.call(router, &nowhere).err(), Some(Retval::INVALID_SW_IF_INDEX));
    });
}
