//! Lists of sources whose packets an interface takes: tests with packets.

use adl::*;
use control::api::Retval;
use net::testing::packets::*;
use net::testing::whole::{Bench, HOST, PG0};
use wire::ethernet::{EtherType, Header};
use zerocopy::IntoBytes;

fn bench() -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    for line in [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01",
        "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01",
        "ip table add 1",
        "ip6 table add 1",
        "ip route add 10.0.0.2/32 table 1 via local",
        "ip route add 2001:db8::2/128 table 1 via local",
    ] {
        b.set(line);
    }
    b.wait(0.0);
    b
}

/// Nodes at which frames from `adl-input` on end up.
fn ends(b: &mut Bench, kind: EtherType, packet: &[u8]) -> Vec<String> {
    let frame = [Header::new(PG0, HOST, kind).as_bytes(), packet].concat();
    let rx = b.pg0.0;
    let out = b.graph.send("adl-input", &[frame], move |p| p.set_rx(rx));
    out.into_iter().map(|c| c.error).collect()
}

#[test]
fn only_listed_sources_pass() {
    let mut b = bench();
    b.set("adl interface pg0");
    b.set("adl allowlist pg0 ip4 ip6 fib-id 1");
    let allowed4 = udp4("10.0.0.2", "10.0.0.1", 9, &[]);
    let allowed6 = udp6("2001:db8::2", "2001:db8::1", 9, &[]);
    ends(&mut b, EtherType::IP4, &allowed4);
    let moved = b.graph.moved_counters();
    let has = |node: &str, name: &str| {
        moved.iter().any(|(n, t, count)| n == node && *t == name && *count == 1)
    };
    assert!(has("adl-input", "Allow/Deny packets processed"), "{moved:?}");
    assert!(has("ip4-adl-allowlist", "ip4 allowlist allowed"), "{moved:?}");
    ends(&mut b, EtherType::IP6, &allowed6);
    let moved = b.graph.moved_counters();
    assert!(moved.iter().any(|(n, ..)| n == "ip6-adl-allowlist"), "{moved:?}");
    ends(&mut b, EtherType::IP4, &udp4("10.0.0.3", "10.0.0.1", 9, &[]));
    b.expect(&[
        ("adl-input", "Allow/Deny packets processed", 1),
        ("ip4-adl-allowlist", "ip4 allowlist dropped", 1),
    ]);
    ends(&mut b, EtherType::IP6, &udp6("2001:db8::3", "2001:db8::1", 9, &[]));
    b.expect(&[
        ("adl-input", "Allow/Deny packets processed", 1),
        ("ip6-adl-allowlist", "ip6 allowlist dropped", 1),
    ]);
}

#[test]
fn lists_are_set_by_commands_and_messages() {
    let mut b = bench();
    let error = b.attempt("adl allowlist pg0 ip4 fib-id 9").unwrap_err();
    assert!(error.contains('9'), "{error}");
    assert!(b.attempt("adl allowlist pg0").unwrap_err().contains("ip4"));
    b.set("adl interface pg0");
    b.set("adl allowlist pg0 ip6 default fib-id 1");
    let told = b.run("show configuration adl");
    assert_eq!(told, "adl interface pg0\nadl allowlist pg0 ip6 default fib-id 1\n");
    let pg0 = b.pg0;
    b.talk(|local, router| {
        let lists = |fib_id, ip4| AdlAllowlistEnableDisable {
            sw_if_index: pg0,
            fib_id,
            ip4,
            ip6: false,
            default_adl: false,
        };
        assert_eq!(local.call(router, &lists(7, true)).err(), Some(Retval::NO_SUCH_FIB));
        local.call(router, &lists(7, false)).unwrap();
        let off = AdlInterfaceEnableDisable { sw_if_index: pg0, enable_disable: false };
        local.call(router, &off).unwrap();
    });
    assert_eq!(b.run("show configuration adl"), "");
}
