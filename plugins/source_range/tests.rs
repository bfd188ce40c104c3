//! Packets that pass, and lists of ranges.

use control::api::Retval;
use net::InterfaceIndex;
use net::fib::Ip4;
use net::reassembly::Kind;
use net::testing::Bench;
use net::testing::packets::*;
use source_range::*;

fn bench() -> Bench {
    let mut bench = Bench::plugged(FEATURE);
    for line in [
        "set ip source-and-port-range-check vrf 7 10.0.0.0/8 port 23 range 100 - 200",
        "set ip source-and-port-range-check vrf 7 10.9.0.0/16 range 5-6",
    ] {
        bench.run(line).unwrap();
    }
    bench
}

#[test]
fn what_comes_in_passes_by_its_source_and_port() {
    let mut bench = bench();
    bench.run("set interface ip source-and-port-range-check pg0 udp-out-vrf 7").unwrap();
    let tcp = ip4("99.0.0.1", "10.0.1.2", wire::Protocol::TCP, &[0; 20]);
    let passes = |bench: &mut Bench, packet: Vec<u8>| {
        let out = bench.send("ip4-input", &[packet]);
        out.len() == 1 && out[0].at == "ip4-lookup"
    };
    let (good, bad) = (
        "ip4 source and port range check good packets",
        "ip4 source and port range check bad packets",
    );
    let name = "ip4-source-and-port-range-check-rx";
    for (source, port, expected) in [
        ("10.0.0.2", 23, true),
        ("10.0.0.2", 99, false),
        ("10.0.0.2", 100, true),
        ("10.0.0.2", 200, true),
        ("10.0.0.2", 201, false),
        ("10.9.0.2", 23, false),
        ("10.9.0.2", 6, true),
        ("11.0.0.2", 23, false),
    ] {
        let packet = udp4(source, "10.0.1.2", port, b"x");
        assert_eq!(passes(&mut bench, packet), expected, "{source} {port}");
        bench.expect(&[(name, if expected { good } else { bad }, 1)]);
    }
    assert!(passes(&mut bench, tcp), "there is no list for TCP");
    let second = changed4(udp4("11.0.0.2", "10.0.1.2", 1, b"x"), |h| h.fragment = 2.into());
    assert!(passes(&mut bench, second), "not the first fragment");
    bench.expect(&[]);
    let pg0 = bench.pg0;
    bench.control(|r| r.enable_reassembly(pg0, Kind::Shallow, [true; 2]).unwrap());
    for (port, expected) in [(23, true), (99, false)] {
        let whole = udp4("10.0.0.2", "10.0.1.2", port, &[0; 24]);
        let cut = |data: std::ops::Range<usize>, fragment: u16| {
            changed4([&whole[..20], &whole[data.start..data.end]].concat(), |h| {
                h.total_len = (20 + data.len() as u16).into();
                (h.id, h.fragment) = (port.into(), fragment.into());
            })
        };
        let (first, last) = (cut(20..36, 0x2000), cut(36..52, 2));
        let out = bench.send("ip4-input", &[last, first]);
        assert_eq!(out.len(), 2 * usize::from(expected), "all fragments have the port");
        let node = "ip4-sv-reassembly-feature";
        bench.expect(&[
            (node, "reass_success", 1),
            (node, "reass_fragments_rcvd", 2),
            (name, if expected { good } else { bad }, 2),
        ]);
    }
    bench.control(|r| r.enable_reassembly(pg0, Kind::Shallow, [false; 2]).unwrap());
    for n in [1, 3, 4, 255, 256] {
        let packet = udp4("10.0.0.2", "10.0.1.2", 23, b"x");
        assert_eq!(bench.send("ip4-input", &vec![packet; n]).len(), n);
        bench.expect(&[(name, good, n as u64)]);
    }
    bench.run("set ip source-and-port-range-check vrf 7 10.0.0.0/8 port 23 del").unwrap();
    assert!(!passes(&mut bench, udp4("10.0.0.2", "10.0.1.2", 23, b"x")));
    bench.run("set interface ip source-and-port-range-check pg0 del").unwrap();
    assert!(passes(&mut bench, udp4("10.0.0.2", "10.0.1.2", 23, b"x")));
}

#[test]
fn what_goes_out_is_checked_behind_its_layer_2_header() {
    let mut bench = bench();
    bench.run("set interface ip source-and-port-range-check pg1 tcp-in-vrf 7").unwrap();
    let to = bench.neighbor("10.0.1.2", true);
    for (port, expected) in [(150u16, 1), (151, 1), (22, 0)] {
        let mut tcp = [0; 20];
        tcp[2..4].copy_from_slice(&port.to_be_bytes());
        let packet = ip4("10.0.0.2", "10.0.1.2", wire::Protocol::TCP, &tcp);
        let out = bench.send_as("ip4-rewrite", &[packet], move |p| p.set_adjacency(to.0));
        assert_eq!(out.len(), expected, "{port}");
    }
    bench.expect(&[
        ("ip4-source-and-port-range-check-tx", "ip4 source and port range check bad packets", 1),
        ("ip4-source-and-port-range-check-tx", "ip4 source and port range check good packets", 2),
    ]);
}

#[test]
fn commands_name_what_is_wrong_and_show_what_passes() {
    let mut bench = bench();
    let set = "set ip source-and-port-range-check";
    for (line, word) in [
        (format!("{set} vrf 7 10.0.0.0/8"), "expected port or range"),
        (format!("{set} 10.0.0.0/8 port 1"), "expected vrf"),
        (format!("{set} vrf 7 port 1"), "expected a prefix"),
        (format!("{set} vrf 7 10.0.0.0/8 range 9 - 8"), "ends before"),
        (format!("{set} vrf 7 10.0.0.0/8 range 9-x"), "invalid port `x'"),
        (format!("{set} vrf 7 10.0.0.0/8 port 9 del"), "no such range"),
        (format!("{set} vrf 7 10.0.0.0/33 port 9"), "10.0.0.0/33"),
        ("set interface ip source-and-port-range-check pg0 tcp-out-vrf 9".into(), "table 9"),
        ("set interface ip source-and-port-range-check pg0".into(), "expected a table"),
        ("set interface ip source-and-port-range-check pg9 tcp-in-vrf 7".into(), "pg9"),
        ("show ip source-and-port-range-check vrf 8 10.0.0.1".into(), "table 8"),
    ] {
        let error = bench.run(&line).unwrap_err();
        assert!(error.contains(word), "{line}: {error}");
    }
    let mut show = |rest: &str| {
        bench.run(&format!("show ip source-and-port-range-check vrf 7 {rest}")).unwrap()
    };
    assert_eq!(show("10.0.0.1"), "10.0.0.1: 23, 100 - 200\n");
    assert_eq!(show("10.0.0.1 port 23"), "10.0.0.1 port 23 PASS\n");
    assert_eq!(show("10.9.0.1 port 23"), "10.9.0.1 port 23 FAIL\n");
}

#[test]
fn messages_set_lists_and_checks() {
    let mut bench = bench();
    let pg0 = bench.pg0;
    bench.talk(|local, router| {
        let add = |prefix: &str, number_of_ranges, (low, high), is_add| {
            let prefix = prefix.parse::<wire::Prefix>().unwrap().into();
            let (low_ports, high_ports) = ([low; 32], [high; 32]);
            IpSourceAndPortRangeCheckAddDel {
                is_add,
                prefix,
                number_of_ranges,
                low_ports,
                high_ports,
                vrf_id: 5,
            }
        };
        local.call(router, &add("10.0.0.0/24", 1, (1, 9), true)).unwrap();
        assert_eq!(ranges_of(router, 5, [10, 0, 0, 1].into()).unwrap(), [1..=9]);
        assert!(router.fib.table::<Ip4>(5).is_some());
        for (message, error) in [
            (add("10.0.0.0/24", 33, (1, 9), true), Retval::EXCEEDED_NUMBER_OF_RANGES_CAPACITY),
            (add("10.0.0.0/24", 1, (9, 1), true), Retval::INVALID_VALUE),
            (add("10.0.0.0/24", 1, (2, 3), false), Retval::NO_SUCH_ENTRY),
            (add("2001:db8::/32", 1, (2, 3), true), Retval::INVALID_ADDRESS_FAMILY),
        ] {
            assert_eq!(local.call(router, &message).err(), Some(error));
        }
        let check = |vrf, sw_if_index| IpSourceAndPortRangeCheckInterfaceAddDel {
            is_add: true,
            sw_if_index,
            tcp_in_vrf_id: 0,
            tcp_out_vrf_id: u32::MAX,
            udp_in_vrf_id: vrf,
            udp_out_vrf_id: vrf,
        };
        local.call(router, &check(5, pg0)).unwrap();
        let on = router.engine.features_of(pg0.0).into_iter().flat_map(|(_, nodes)| nodes);
        assert_eq!(on.filter(|node| node.starts_with("ip4-source")).count(), 2);
        assert_eq!(local.call(router, &check(6, pg0)).err(), Some(Retval::INVALID_VALUE));
        let nowhere = local.call(router, &check(5, InterfaceIndex(99))).err();
        assert_eq!(nowhere, Some(Retval::INVALID_SW_IF_INDEX));
        local.call(router, &add("10.0.0.0/24", 1, (1, 9), false)).unwrap();
        assert!(ranges_of(router, 5, [10, 0, 0, 1].into()).unwrap().is_empty());
    });
}
