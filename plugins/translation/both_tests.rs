//! Common tests of endpoint-dependent and endpoint-independent NAT.

use std::net::Ipv4Addr;

use control::api::Retval;
use net::InterfaceIndex;
use net::fib::TableIndex;
use net::interface::Kind;
use net::ip::{datagram, send_own};
use net::testing::packets::{changed4, udp4};
use net::testing::whole::{Bench, HOST, PG0, PG1, arp_of, bytes, request};
use wire::ethernet::{EtherType, Header};
use wire::{MacAddr, Protocol, ip4};
use zerocopy::IntoBytes;

use super::nat44_ed::{end, ends, pass, udp};
use super::translation::between;

const KINDS: [(&str, net::Feature); 2] =
    [("nat44", nat44_ed::FEATURE), ("nat44 ei", nat44_ei::FEATURE)];
const NEIGHBOURS: [&str; 3] = [
    "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01",
    "set ip neighbor pg0 10.0.0.3 02:00:00:00:00:01",
    "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:01",
];

/// A router with such NAT enabled, and commands whose `KIND` is its word.
fn bench((kind, feature): (&str, net::Feature), lines: &[&str]) -> Bench {
    let enable = format!("{kind} plugin enable");
    let mut b = between(feature, &[&enable], &[]);
    set(&mut b, kind, lines);
    b
}

#[track_caller]
fn set(b: &mut Bench, kind: &str, lines: &[&str]) {
    lines.iter().for_each(|line| b.set(&line.replace("KIND", kind)));
}

/// A packet of a protocol without ports.
fn portless(from: &str, to: &str, protocol: u8) -> Vec<u8> {
    let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
    let header = ip4::Header::new(from, to, Protocol(protocol), 28);
    [header.as_bytes(), &[7; 8]].concat()
}

fn addresses(p: &[u8]) -> [String; 2] {
    [12, 16].map(|at| Ipv4Addr::from(<[u8; 4]>::try_from(&p[at..at + 4]).unwrap()).to_string())
}

/// The MAC address that answers for an address on an interface.
pub(super) fn answer(b: &mut Bench, on: InterfaceIndex, target: &str) -> Option<MacAddr> {
    let asker = if on == b.pg0 { "10.0.0.2" } else { "10.0.1.2" };
    let out = b.receive(on, &[bytes(request(HOST, asker, target))]);
    let sent: Vec<_> = out.iter().filter(|c| c.at == "sent").collect();
    sent.first().map(|c| arp_of(c).arp.sender.mac)
}

#[test]
fn a_look_in_another_table_is_followed_and_answers_go_back_to_the_host_s() {
    for kind in KINDS {
        for output in [false, true] {
            let tables = [
                "ip table add 10",
                "ip table add 20",
                "set interface ip address del pg0 10.0.0.1/24",
                "set interface ip address del pg1 10.0.1.1/24",
                "set interface ip table pg0 10",
                "set interface ip table pg1 20",
                "set interface ip address pg0 10.0.0.1/24",
                "set interface ip address pg1 10.0.1.1/24",
                "ip route add 0.0.0.0/0 table 20 via 10.0.1.2 pg1",
                "ip route add 0.0.0.0/0 table 10 via ip4-lookup-in-table 20",
                "KIND plugin disable",
                "KIND plugin enable inside-vrf 10 outside-vrf 20",
                "KIND add address 192.0.2.1",
            ];
            let mut b = bench(kind, &tables);
            NEIGHBOURS.iter().for_each(|line| b.set(line));
            let sides = match output {
                true => "set interface KIND out pg1 output-feature",
                false => "set interface KIND in pg0 out pg1",
            };
            set(&mut b, kind.0, &[sides]);
            // The interfaces announce their addresses.
            b.wait(0.0);
            let (pg0, pg1) = (b.pg0, b.pg1);
            let (host, server) = (end("10.0.0.2", 4000), end("203.0.113.9", 53));
            let out = pass(&mut b, pg0, &[udp(host, server)]);
            let [from, to] = ends(&out[0]);
            assert_eq!((from.0, to), (end("192.0.2.1", 0).0, server), "{} {output}", kind.0);
            let back = pass(&mut b, pg1, &[udp(server, from)]);
            assert_eq!(ends(&back[0]), [server, host], "{} {output}", kind.0);
        }
    }
}

#[test]
fn a_table_chooses_among_providers_in_tables_of_their_own() {
    for kind in KINDS {
        for output in [false, true] {
            let mut b = bench(kind, &["KIND plugin disable"]);
            let pg2 = b.add_interface("pg2", Kind::Ethernet, 3);
            for (n, table) in [(0, 10), (1, 20), (2, 30)] {
                b.cli(&format!("set interface ip address del pg{n} 10.0.{n}.1/24"));
                b.set(&format!("ip table add {table}"));
                b.set(&format!("set interface ip table pg{n} {table}"));
                b.set(&format!("set interface ip address pg{n} 10.0.{n}.1/24"));
            }
            NEIGHBOURS.iter().for_each(|line| b.set(line));
            let lines = [
                "set ip neighbor pg2 10.0.2.2 02:00:00:00:00:01",
                "ip route add 0.0.0.0/0 table 20 via 10.0.1.2 pg1",
                "ip route add 0.0.0.0/0 table 30 via 10.0.2.2 pg2",
                "ip route add 0.0.0.0/0 table 10 via ip4-lookup-in-table 20",
                "ip route add 198.51.100.0/24 table 10 via ip4-lookup-in-table 30",
                "KIND plugin enable",
                "KIND add address 10.0.1.77",
                "KIND add address 10.0.2.77",
            ];
            set(&mut b, kind.0, &lines);
            let sides: &[&str] = match output {
                true => &[
                    "set interface KIND out pg1 output-feature",
                    "set interface KIND out pg2 output-feature",
                ],
                false => &["set interface KIND in pg0 out pg1 out pg2"],
            };
            set(&mut b, kind.0, sides);
            let (pg0, pg1) = (b.pg0, b.pg1);
            for (far, own, over, port) in
                [("203.0.113.9", "10.0.1.77", pg1, 4000), ("198.51.100.9", "10.0.2.77", pg2, 4001)]
            {
                let (host, far) = (end("10.0.0.2", port), end(far, 53));
                let header = Header::new(PG0, HOST, EtherType::IP4);
                let frame = [header.as_bytes(), &udp(host, far)].concat();
                let out = b.receive(pg0, &[frame]);
                let sent: Vec<_> = out.iter().filter(|c| c.at == "sent").collect();
                let from = ends(&sent[0].bytes[14..])[0];
                assert_eq!((sent[0].tx, from.0.to_string().as_str()), (over.0, own), "{}", kind.0);
            }
        }
    }
}

#[test]
fn addresses_that_hosts_have_outside_are_answered_for_there() {
    for kind in KINDS {
        let (mut b, name) = (bench(kind, &[]), kind.0);
        let (pg0, pg1) = (b.pg0, b.pg1);
        set(&mut b, name, &["KIND add address 10.0.1.70 - 10.0.1.79"]);
        assert_eq!(answer(&mut b, pg1, "10.0.1.77"), None, "{name}: no interface is outside");
        set(&mut b, name, &["set interface KIND in pg0 out pg1"]);
        for target in ["10.0.1.70", "10.0.1.79"] {
            assert_eq!(answer(&mut b, pg1, target), Some(PG1), "{name}: {target}");
        }
        for (on, target) in [(pg1, "10.0.1.69"), (pg1, "10.0.1.80"), (pg0, "10.0.1.77")] {
            assert_eq!(answer(&mut b, on, target), None, "{name}: {target}");
        }
        set(
            &mut b,
            name,
            &[
                "KIND add static mapping local 10.0.0.2 external 192.0.2.9",
                "KIND add static mapping local 10.0.0.3 external 10.0.1.90",
                "KIND add identity mapping 10.0.1.91",
                "KIND add address 10.0.1.70 - 10.0.1.74 del",
            ],
        );
        let all = ["192.0.2.9", "10.0.1.90", "10.0.1.91", "10.0.1.70", "10.0.1.75"];
        let found = all.map(|target| answer(&mut b, pg1, target).is_some());
        assert_eq!(found, [true, true, false, false, true], "{name}");
        set(&mut b, name, &["set interface KIND out pg1 del"]);
        assert_eq!(answer(&mut b, pg1, "10.0.1.90"), None, "{name}");
        set(&mut b, name, &["set interface KIND out pg1 output-feature"]);
        assert_eq!(answer(&mut b, pg1, "10.0.1.90"), Some(PG1), "{name}");
        set(&mut b, name, &["KIND plugin disable"]);
        assert_eq!(answer(&mut b, pg1, "10.0.1.90"), None, "{name}");
    }
}

#[test]
fn protocols_without_ports_are_translated_with_forwarding_too() {
    for kind in KINDS {
        let mut b = bench(
            kind,
            &[
                "set interface KIND in pg0 out pg1",
                "KIND forwarding enable",
                "KIND add address 192.0.2.1",
            ],
        );
        let (pg0, pg1) = (b.pg0, b.pg1);
        for protocol in [50, 132, 99] {
            let out = pass(&mut b, pg0, &[portless("10.0.0.3", "10.0.1.2", protocol)]);
            assert_eq!(addresses(&out[0]), ["192.0.2.1", "10.0.1.2"], "{} {protocol}", kind.0);
            let back = pass(&mut b, pg1, &[portless("10.0.1.2", "192.0.2.1", protocol)]);
            assert_eq!(addresses(&back[0]), ["10.0.1.2", "10.0.0.3"], "{} {protocol}", kind.0);
        }
        // Without an address for them none leaves.
        set(&mut b, kind.0, &["KIND add address 192.0.2.1 del"]);
        assert!(pass(&mut b, pg0, &[portless("10.0.0.2", "10.0.1.2", 99)]).is_empty());
    }
}

#[test]
fn a_packet_gets_an_address_of_the_interface_that_it_leaves_over() {
    for kind in KINDS {
        for output in [false, true] {
            let mut b = bench(kind, &[]);
            b.add_interface("pg2", Kind::Ethernet, 3);
            let sides: &[&str] = match output {
                true => &[
                    "set interface KIND out pg1 output-feature",
                    "set interface KIND out pg2 output-feature",
                ],
                false => &["set interface KIND in pg0 out pg1 out pg2"],
            };
            set(
                &mut b,
                kind.0,
                &[
                    "set interface ip address pg2 10.0.2.1/24",
                    "set ip neighbor pg2 10.0.2.2 02:00:00:00:00:01",
                    "ip route add 198.51.100.0/24 via 10.0.2.2 pg2",
                    "ip route add 203.0.113.0/24 via 10.0.1.2 pg1",
                    "KIND add address 10.0.1.1",
                    "KIND add address 10.0.2.77",
                ],
            );
            set(&mut b, kind.0, sides);
            let pg0 = b.pg0;
            for (n, host) in ["10.0.0.2", "10.0.0.3"].into_iter().enumerate() {
                for (far, own) in [("198.51.100.7", "10.0.2.77"), ("203.0.113.7", "10.0.1.1")] {
                    let port = 4000 + n as u16 + if own == "10.0.1.1" { 10 } else { 0 };
                    let out = pass(&mut b, pg0, &[udp(end(host, port), end(far, 53))]);
                    assert_eq!(ends(&out[0])[0].0.to_string(), own, "{} {host} {far}", kind.0);
                }
            }
            // Addresses of no interface are for all of them.
            set(&mut b, kind.0, &["KIND add address 10.0.1.1 del", "KIND add address 192.0.2.1"]);
            let out = pass(&mut b, pg0, &[udp(end("10.0.0.2", 5000), end("203.0.113.7", 53))]);
            assert_eq!(ends(&out[0])[0].0.to_string(), "192.0.2.1", "{}", kind.0);
        }
    }
}

#[test]
fn mappings_take_their_words_in_any_order() {
    for kind in KINDS {
        let pool = ["KIND add address 203.0.113.1", "KIND add address 10.0.0.9"];
        let mut b = bench(kind, &["ip table add 7", pool[0], pool[1]]);
        let whole = " tcp local 10.0.0.2:22 external 203.0.113.1:22 vrf 0";
        for line in [
            "tcp local 10.0.0.2 22 external 203.0.113.1 22",
            "local 10.0.0.2 22 external 203.0.113.1 22 tcp",
            "external 203.0.113.1 22 local 10.0.0.2 22 vrf 0 tcp",
            "vrf 0 tcp external 203.0.113.1 22 local 10.0.0.2 22",
        ] {
            set(&mut b, kind.0, &[&format!("KIND add static mapping {line}")]);
            let shown = b.cli(&format!("show {} static mappings", kind.0));
            assert!(shown.lines().any(|l| l.eq_ignore_ascii_case(whole)), "{line}: {shown}");
            set(&mut b, kind.0, &[&format!("KIND add static mapping del {line}")]);
        }
        set(&mut b, kind.0, &["KIND add identity mapping vrf 7 udp 53 10.0.0.9"]);
        set(&mut b, kind.0, &["KIND add identity mapping 10.0.0.9 del udp 53 vrf 7"]);
        for (line, why) in [
            ("static mapping local 10.0.0.2 22 external 203.0.113.1 22", "needs a protocol"),
            ("static mapping tcp local 10.0.0.2 external 203.0.113.1 22", "needs both ports"),
            ("static mapping tcp external 203.0.113.1 22", "expected local"),
            ("static mapping tcp local 10.0.0.2 22", "expected external"),
            ("static mapping local 10.0.0.2 external 203.0.113.1 sideways", "sideways"),
            ("identity mapping udp 53", "expected an address"),
            ("identity mapping 10.0.0.2 upwards", "upwards"),
        ] {
            let said = b.attempt(&format!("{} add {line}", kind.0)).unwrap_err();
            assert!(said.contains(why), "{line}: {said}");
        }
        let plugin = format!("{} plugin sessions 77 enable", kind.0);
        set(&mut b, kind.0, &["KIND plugin disable", &plugin]);
    }
}

#[test]
fn words_about_far_ends_and_several_hosts_come_in_any_order() {
    let mut b = bench(KINDS[0], &[]);
    for line in [
        "static mapping out2in-only tcp local 10.0.0.2 22 external 203.0.113.1 22",
        "static mapping twice-nat local 10.0.0.2 22 vrf 0 external 203.0.113.1 22 tcp",
        "load-balancing static mapping external 203.0.113.1:80 local 10.0.0.2:80 probability 3 \
         local 10.0.0.3:80 probability 2 affinity 9 protocol tcp",
    ] {
        b.set(&format!("nat44 add {line}"));
        b.set(&format!("nat44 add {line} del"));
    }
    let both = "nat44 add static mapping twice-nat self-twice-nat local 10.0.0.2 external 1.2.3.4";
    let said = b.attempt(both).unwrap_err();
    assert!(said.contains("mutually exclusive"), "{said}");
}

#[test]
fn a_mapping_ends_sessions_of_its_host_that_have_another_translation() {
    for kind in KINDS {
        let mut b =
            bench(kind, &["set interface KIND in pg0 out pg1", "KIND add address 192.0.2.1"]);
        let (pg0, server) = (b.pg0, end("10.0.1.2", 53));
        let (host, other) = (end("10.0.0.2", 4000), end("10.0.0.3", 4000));
        let outside = |b: &mut Bench, from| ends(&pass(b, pg0, &[udp(from, server)])[0])[0];
        let before = [host, other].map(|from| outside(&mut b, from));
        // One that says what is so anyway changes nothing.
        let same = format!(
            "{} add static mapping udp local 10.0.0.2 4000 external 192.0.2.1 {}",
            kind.0, before[0].1
        );
        b.set(&same);
        assert_eq!(outside(&mut b, host), before[0], "{}", kind.0);
        b.set(&format!("{same} del"));
        outside(&mut b, host);
        let add = format!("{} add static mapping local 10.0.0.2 external 192.0.2.9", kind.0);
        assert_eq!(b.cli(&add), "1 conflicting sessions ended\n", "{}", kind.0);
        assert_eq!(outside(&mut b, host), end("192.0.2.9", 4000), "{}", kind.0);
        assert_eq!(outside(&mut b, other), before[1], "{}", kind.0);
    }
}

#[test]
fn answers_to_this_router_itself_reach_it_where_packets_are_translated_as_they_are_sent() {
    for kind in KINDS {
        let mut b = bench(
            kind,
            &["set interface KIND out pg1 output-feature", "KIND add interface address pg1"],
        );
        let (own, server) = (end("10.0.1.1", 5353), end("10.0.1.2", 53));
        b.control(|r, _| send_own(r, TableIndex(0), datagram(own, server, b"?", true).unwrap()));
        let out = b.wait(0.1);
        let sent: Vec<_> = out.iter().filter(|c| c.at == "sent").collect();
        assert_eq!(ends(&sent[0].bytes[14..]), [own, server], "{}", kind.0);
        // No listener there, which causes an error.
        let pg1 = b.pg1;
        let told = pass(&mut b, pg1, &[udp(server, own)]);
        assert_eq!((told.len(), &told[0][20..22]), (1, &[3, 3][..]), "{}", kind.0);
        let stranger = udp(server, end("10.0.1.1", 5354));
        assert!(pass(&mut b, pg1, &[stranger]).is_empty(), "{}", kind.0);
        // No host gets the port meanwhile, not even the one that asks for it.
        let pg0 = b.pg0;
        let out = pass(&mut b, pg0, &[udp(end("10.0.0.2", 5353), server)]);
        assert_ne!(ends(&out[0])[0], own, "{}", kind.0);
    }
}

#[test]
fn interfaces_need_no_address_of_their_own() {
    for kind in KINDS {
        let bare = [
            "set interface ip address del pg0 10.0.0.1/24",
            "set interface ip address del pg1 10.0.1.1/24",
            "set interface KIND in pg0 out pg1",
            "KIND add address 192.0.2.1",
            "ip route add 10.0.0.2/32 via 10.0.0.2 pg0",
            "ip route add 10.0.1.2/32 via 10.0.1.2 pg1",
        ];
        let mut b = bench(kind, &bare);
        NEIGHBOURS.iter().for_each(|line| b.set(line));
        let (pg0, pg1) = (b.pg0, b.pg1);
        let (host, server) = (end("10.0.0.2", 4000), end("10.0.1.2", 53));
        let out = pass(&mut b, pg0, &[udp(host, server)]);
        let from = ends(&out[0])[0];
        assert_eq!(from.0.to_string(), "192.0.2.1", "{}", kind.0);
        let back = pass(&mut b, pg1, &[udp(server, from)]);
        assert_eq!(ends(&back[0]), [server, host], "{}", kind.0);
        set(&mut b, kind.0, &["KIND plugin disable"]);
        assert!(pass(&mut b, pg0, &[udp(host, server)]).is_empty(), "IPv4 is off again");
    }
}

#[test]
fn clients_see_mappings_of_interfaces_with_the_addresses_they_have() {
    use nat44_ei::*;
    use translation::messages::{IdentityFields, StaticFields};
    let mut b = bench(KINDS[1], &["set interface ip address del pg1 10.0.1.1/24"]);
    let pg1 = b.pg1;
    let static_fields = |port| StaticFields {
        local_ip_address: "10.0.0.2".parse().unwrap(),
        external_ip_address: Ipv4Addr::UNSPECIFIED,
        protocol: 6,
        local_port: port,
        external_port: port,
        external_sw_if_index: pg1,
        vrf_id: 0,
        tag: "t".into(),
    };
    let add = |port| Nat44EiAddDelStaticMapping {
        is_add: true,
        flags: Nat44EiConfigFlags::NONE,
        mapping: static_fields(port),
    };
    let identity = || IdentityFields {
        ip_address: Ipv4Addr::UNSPECIFIED,
        protocol: 17,
        port: 53,
        sw_if_index: pg1,
        vrf_id: 0,
        tag: "i".into(),
    };
    let seen = |b: &mut Bench| -> [Vec<(String, u32)>; 2] {
        b.talk(|local, router| {
            let all = local.dump(router, &Nat44EiStaticMappingDump {});
            let row =
                |m: &StaticFields| (m.external_ip_address.to_string(), m.external_sw_if_index.0);
            let fixed = all.iter().map(|d| row(&d.mapping)).collect();
            let all = local.dump(router, &Nat44EiIdentityMappingDump {});
            let row = |m: &IdentityFields| (m.ip_address.to_string(), m.sw_if_index.0);
            [fixed, all.iter().map(|d| row(&d.mapping)).collect()]
        })
    };
    b.talk(|local, router| {
        local.call(router, &add(22)).unwrap();
        let flags = Nat44EiConfigFlags::NONE;
        let m = Nat44EiAddDelIdentityMapping { is_add: true, flags, mapping: identity() };
        local.call(router, &m).unwrap();
        // Commands and messages judge alike.
        assert_eq!(local.call(router, &add(0)).err(), Some(Retval::INVALID_VALUE));
    });
    let none = || vec![("0.0.0.0".to_owned(), pg1.0)];
    assert_eq!(seen(&mut b), [none(), none()]);
    b.set("set interface ip address pg1 10.0.1.1/24");
    let with = || vec![("10.0.1.1".to_owned(), u32::MAX), ("0.0.0.0".to_owned(), pg1.0)];
    assert_eq!(seen(&mut b), [with(), with()]);
    b.set("set interface ip address del pg1 10.0.1.1/24");
    assert_eq!(seen(&mut b), [none(), none()]);
}

#[test]
fn exempt_hosts_have_no_session_of_endpoint_independent_nat() {
    let mut b = bench(
        KINDS[1],
        &[
            "set interface KIND in pg0 out pg1",
            "KIND add address 192.0.2.1",
            "KIND add identity mapping 10.0.0.2",
        ],
    );
    let (pg0, pg1, server) = (b.pg0, b.pg1, end("10.0.1.2", 53));
    let host = end("10.0.0.2", 4000);
    assert_eq!(ends(&pass(&mut b, pg1, &[udp(server, host)])[0]), [server, host]);
    assert_eq!(ends(&pass(&mut b, pg0, &[udp(host, server)])[0]), [host, server]);
    let shown = b.cli("show nat44 ei sessions");
    assert!(!shown.contains("10.0.0.2"), "{shown}");
}

#[test]
fn hosts_meet_by_addresses_outside_where_their_packets_are_translated_as_they_are_sent() {
    let mut b = bench(
        KINDS[1],
        &[
            "set interface KIND out pg0 output-feature",
            "set interface KIND out pg1 output-feature",
            "KIND add address 192.0.2.1",
            "KIND add static mapping udp local 10.0.0.2 53 external 192.0.2.1 5353",
        ],
    );
    let pg0 = b.pg0;
    let (host, server) = (end("10.0.0.3", 1234), end("10.0.0.2", 53));
    let there = pass(&mut b, pg0, &[udp(host, end("192.0.2.1", 5353))]);
    let [from, to] = ends(&there[0]);
    assert_eq!((from.0.to_string().as_str(), to), ("192.0.2.1", server));
    let back = pass(&mut b, pg0, &[udp(server, from)]);
    assert_eq!(ends(&back[0]), [end("192.0.2.1", 5353), host]);
}

#[test]
fn fragments_to_an_address_outside_reach_the_host_inside() {
    for kind in KINDS {
        let mut b = bench(
            kind,
            &[
                "set interface KIND in pg0 out pg1",
                "KIND add address 192.0.2.1",
                "KIND add static mapping udp local 10.0.0.2 53 external 192.0.2.1 5353",
            ],
        );
        let pg0 = b.pg0;
        let whole = udp4("10.0.0.3", "192.0.2.1", 5353, &[7; 12]);
        let cut = |data: std::ops::Range<usize>, fragment: u16| {
            changed4([&whole[..20], &whole[data.clone()]].concat(), |h| {
                h.total_len = (20 + data.len() as u16).into();
                (h.id, h.fragment) = (9.into(), fragment.into());
            })
        };
        // Not behind the first 8 bytes: those are dropped.
        let out = pass(&mut b, pg0, &[cut(36..40, 2), cut(20..36, 0x2000)]);
        assert_eq!(out.len(), 2, "{}", kind.0);
        for p in &out {
            assert_eq!(addresses(p), ["192.0.2.1", "10.0.0.2"], "{}", kind.0);
        }
    }
}
