//! Packets that pass, and settings of checks.

use control::api::Retval;
use control::api::types::AddressFamily;
use net::testing::Rig;
use net::{InterfaceIndex, address, fib};
use urpf::*;
use wire::{MacAddr, Protocol, ip4, ip6};
use zerocopy::IntoBytes;

/// A router with `pg0` and `pg1` up, `10.0.N.1/24` and `2001:db8:N::1/64` on them, and routes to
/// `16.0.0.0/8` over `pg1`, to `17.0.0.0/8` over both, to `18.0.0.0/8` through `16.0.0.1`.
fn bench() -> Rig {
    let parts = [fib::FEATURE, address::FEATURE, net::ip4::FEATURE, net::ip6::FEATURE, FEATURE];
    let mut b = Rig::new(&parts);
    b.add_networks(2);
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1\nip route add 18.0.0.0/8 via 16.0.0.1");
    b.set("ip route add 17.0.0.0/8 via 10.0.1.2 pg1 via 10.0.0.2 pg0");
    b
}

/// Whether a packet from `src` received on an interface passes the checks.
fn may_pass(b: &mut Rig, rx: &str, src: &str) -> bool {
    let rx = b.interface(rx).0;
    let (at, packet) = packet(src);
    let out = b.graph.send(at, &[packet], move |p| p.set_rx(rx));
    !out.is_empty() && out.iter().all(|c| !c.at.ends_with("-drop"))
}

fn packet(src: &str) -> (&'static str, Vec<u8>) {
    match src.parse().unwrap() {
        std::net::IpAddr::V4(src) => {
            let header = ip4::Header::new(src, [10, 0, 1, 77].into(), Protocol(253), 20);
            ("ip4-input", header.as_bytes().to_vec())
        }
        std::net::IpAddr::V6(src) => {
            let dst = "2001:db8:1::77".parse().unwrap();
            ("ip6-input", ip6::Header::new(src, dst, Protocol(59), 0).as_bytes().to_vec())
        }
    }
}

#[test]
fn strict_takes_what_comes_the_way_back() {
    let mut b = bench();
    b.set("set urpf ip4 rx strict pg0\nset urpf ip6 rx strict pg0");
    for (src, rx, passes) in [
        ("10.0.0.9", 0, true),
        ("10.0.1.9", 0, false),
        ("10.0.1.9", 1, true),
        ("16.0.0.9", 0, false),
        ("17.0.0.9", 0, true),
        ("18.0.0.9", 0, false),
        ("99.0.0.9", 0, false),
        ("99.0.0.9", 1, true),
        ("2001:db8::9", 0, true),
        ("2001:db8:1::9", 0, false),
        ("fe80::9", 0, true),
        ("0.0.0.0", 0, false),
        ("::", 0, false),
    ] {
        assert_eq!(may_pass(&mut b, &format!("pg{rx}"), src), passes, "{src} on pg{rx}");
    }
    b.graph.expect_counters(&[
        ("ip4-rx-urpf-strict", "uRPF Drop", 5),
        ("ip6-rx-urpf-strict", "uRPF Drop", 2),
    ]);
    b.set("set urpf ip4 rx off pg0");
    assert!(may_pass(&mut b, "pg0", "99.0.0.9"));
}

#[test]
fn hosts_without_an_address_may_ask_all_others() {
    let mut b = bench();
    b.set("set urpf ip4 rx strict pg0");
    let discover = ip4::Header::new([0; 4].into(), [255; 4].into(), Protocol(253), 20);
    let rx = b.interface("pg0").0;
    b.graph.send("ip4-input", &[discover.as_bytes().to_vec()], move |p| p.set_rx(rx));
    b.graph.run();
    let counted = b.graph.moved_counters();
    assert!(counted.iter().all(|(node, ..)| node != "ip4-rx-urpf-strict"), "{counted:?}");
}

#[test]
fn loose_takes_what_any_way_leads_back_to() {
    let mut b = bench();
    b.set("set urpf ip4 rx loose pg0\nset urpf ip6 rx loose pg0");
    for (src, passes) in [
        ("10.0.1.9", true),
        ("18.0.0.9", true),
        ("99.0.0.9", false),
        ("2001:db8:1::9", true),
        ("2a00::9", false),
    ] {
        assert_eq!(may_pass(&mut b, "pg0", src), passes, "{src}");
    }
    b.set("set urpf-accept add 99.0.0.0/8");
    assert!(may_pass(&mut b, "pg0", "99.0.0.9"));
    b.set("set urpf-accept del 99.0.0.0/8");
    assert!(!may_pass(&mut b, "pg0", "99.0.0.9"));
    // Another table than the interface's own.
    b.set("ip table add 7\nip route add 99.0.0.0/8 table 7 via 10.0.0.2 pg0");
    b.set("set urpf ip4 rx loose pg0 table 7");
    assert!(may_pass(&mut b, "pg0", "99.0.0.9") && !may_pass(&mut b, "pg0", "10.0.1.9"));
    assert_eq!(b.run("show urpf"), "pg0 ip4 rx loose table 7\npg0 ip6 rx loose\n");
}

#[test]
fn what_goes_out_strictly_is_not_from_behind_the_same_interface() {
    let mut b = bench();
    b.set(
        "ip route add 20.0.0.0/8 via 10.0.1.77 pg1\nip6 route add 20::/16 via 2001:db8:1::77 pg1",
    );
    b.set("set urpf ip4 tx strict pg1\nset urpf ip6 tx strict pg1");
    let (pg0, pg1) = (b.interface("pg0").0, b.interface("pg1"));
    let mut passes = |src: &str, local: bool| {
        let (at, packet) = packet(src);
        let at = at.replace("input", "rewrite");
        let hop = if at == "ip4-rewrite" { "10.0.1.77" } else { "2001:db8:1::77" };
        let over = b.control(|r| {
            let role = net::adjacency::Role::Neighbor;
            let index = r.use_adjacency(pg1, role, hop.parse().unwrap()).unwrap();
            r.complete_adjacency(index, MacAddr([2; 6]));
            index
        });
        let out = b.graph.send(&at, &[packet], move |p| {
            p.set_rx(pg0);
            p.set_adjacency(over.0);
            if local {
                p.add_flags(graph::Flags::LOCAL);
            }
        });
        out.iter().any(|c| c.at == "sent")
    };
    for (src, may) in [
        ("10.0.0.9", true),
        ("10.0.1.9", false),
        ("16.0.0.9", false),
        ("17.0.0.9", false),
        ("20.0.0.9", false),
        ("99.0.0.9", false),
        ("2001:db8::9", true),
        ("2001:db8:1::9", false),
        ("20::9", false),
        ("2a00::9", false),
    ] {
        assert_eq!(passes(src, false), may, "{src}");
        assert!(passes(src, true), "{src}, ours");
    }
    b.graph.expect_counters(&[
        ("ip4-tx-urpf-strict", "uRPF Drop", 5),
        ("ip6-tx-urpf-strict", "uRPF Drop", 3),
    ]);
}

#[test]
fn messages_set_and_list_checks() {
    let mut b = bench();
    let (pg0, pg1) = (b.interface("pg0"), b.interface("pg1"));
    let one = |mode, af, sw_if_index, table_id| UrpfUpdateV2 {
        is_input: false,
        mode,
        af,
        sw_if_index,
        table_id,
    };
    let (strict, four) = (UrpfMode::STRICT, AddressFamily::IP4);
    b.talk(|local, router| {
        let old = UrpfUpdate { is_input: true, mode: UrpfMode::LOOSE, af: four, sw_if_index: pg0 };
        local.call(router, &old).unwrap();
        local.call(router, &one(strict, AddressFamily::IP6, pg1, 0)).unwrap();
        for (message, want) in [
            (one(strict, four, InterfaceIndex(99), 0), Retval::INVALID_SW_IF_INDEX),
            (one(strict, four, pg0, 9), Retval::NO_SUCH_FIB),
            (one(UrpfMode(9), four, pg0, 0), Retval::INVALID_VALUE),
            (one(strict, AddressFamily(9), pg0, 0), Retval::INVALID_ADDRESS_FAMILY),
        ] {
            assert_eq!(local.call(router, &message).map(drop), Err(want));
        }
        let dump = |index| UrpfInterfaceDump { sw_if_index: InterfaceIndex(index) };
        let all = local.dump(router, &dump(u32::MAX));
        let modes: Vec<_> = all.iter().map(|d| (d.sw_if_index, d.is_input, d.mode)).collect();
        assert_eq!(modes, [(pg0, true, UrpfMode::LOOSE), (pg1, false, strict)]);
        assert_eq!(local.dump(router, &dump(pg1.0))[0].af, AddressFamily::IP6);
        router.remove_interface(pg0);
        assert_eq!(local.dump(router, &dump(u32::MAX)).len(), 1);
    });
}

#[test]
fn strict_follows_a_look_in_another_table() {
    let mut b = bench();
    b.set("ip table add 7\nip route add 19.0.0.0/8 table 7 via 10.0.1.2 pg1");
    b.set("ip route add 19.0.0.0/8 via ip4-lookup-in-table 7");
    b.set("set urpf ip4 rx strict pg0\nset urpf ip4 rx strict pg1");
    assert!(may_pass(&mut b, "pg1", "19.0.0.9"));
    assert!(!may_pass(&mut b, "pg0", "19.0.0.9"));
}
