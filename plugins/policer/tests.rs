//! Treatment of packets beyond their rate; policers made and used.

use control::api::Retval;
use infra::meter::Fill;
use net::InterfaceIndex;
use net::interface::SubInterface;
use net::testing::packets::*;
use net::testing::{Bench, NEIGHBOR};
use policer::*;

/// A policer that 10 packets of 100 bytes pass, and one more every 800 ms.
const SLOW: &str = "policer add name one cir 1 cb 1000";
/// Hosts behind `pg0` and `pg1`, by version.
const HOSTS: [[&str; 2]; 2] = [[HOST4, "10.0.1.2"], [HOST6, "2001:db8:1::2"]];
const SIZES: [usize; 5] = [1, 3, 4, 255, 256];

fn bench(threads: usize, lines: &str) -> Bench {
    let mut bench = Bench::featuring(&[classify::FEATURE, FEATURE], threads, |_| (), |_| ());
    lines.lines().for_each(|line| bench.set(line));
    bench
}

/// 100 bytes of IPv4 (`six` 0) or IPv6.
fn packet(six: usize, src: &str, dst: &str) -> Vec<u8> {
    if six == 1 { udp6(src, dst, 99, &[0; 52]) } else { udp4(src, dst, 99, &[0; 72]) }
}

fn packets(n: usize) -> Vec<Vec<u8>> {
    vec![packet(0, HOST4, "10.0.1.2"); n]
}

fn colors(bench: &Bench, policer: u32) -> [u64; 3] {
    counted(&bench.router, policer).map(|volume| volume.packets)
}

/// Packets that a thread has judged.
fn judged(bench: &Bench, thread: usize) -> u64 {
    counters(&bench.router).iter().map(|c| c.row(thread)[0].value().packets).sum()
}

/// The DSCP of an IP packet.
fn dscp(packet: &[u8]) -> u8 {
    wire::ip::traffic_class(packet).unwrap() >> 2
}

/// Checks the errors of commands: a word of each.
fn refuses<'a>(bench: &mut Bench, lines: impl IntoIterator<Item = (&'a str, &'a str)>) {
    for (line, word) in lines {
        let error = bench.run(line).unwrap_err();
        assert!(error.contains(word), "{line}: {error}");
    }
}

#[test]
fn what_comes_in_beyond_the_rate_is_dropped_and_counted() {
    for n in SIZES {
        let mut bench = bench(1, &format!("{SLOW}\npolicer input name one pg0"));
        let out = bench.send("ip4-input", &packets(n));
        let passed = n.min(10);
        assert_eq!(out.iter().filter(|c| c.at == "ip4-lookup").count(), passed);
        let dropped = ("policer-input", "Packets Dropped", (n - passed) as u64);
        let moved = [dropped, ("policer-input", "Packets Transmitted", passed as u64)];
        bench.expect(&moved[usize::from(n == passed)..]);
        assert_eq!(colors(&bench, 0), [passed as u64, 0, (n - passed) as u64]);
        assert_eq!(counted(&bench.router, 0)[0].bytes, passed as u64 * 100);
        bench.set("policer input unapply name one pg0");
        assert_eq!(bench.send("ip4-input", &packets(n)).len(), n);
        bench.expect(&[]);
    }
}

#[test]
fn colors_have_actions_of_their_own_and_buckets_fill_again() {
    let mut bench = bench(
        1,
        "policer add name three type 1r3c cir 1 cb 200 eb 100 conform-action mark-and-transmit ef \
         exceed-action mark-and-transmit AF21 violate-action transmit
         policer input index 0 pg0",
    );
    let marks = |bench: &mut Bench| {
        let out = bench.send("ip4-input", &packets(4));
        out.iter().map(|c| dscp(&c.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(marks(&mut bench), [46, 46, 18, 0]);
    assert_eq!(colors(&bench, 0), [2, 1, 1]);
    assert_eq!(marks(&mut bench), [0; 4]);
    bench.set("policer reset name three");
    assert_eq!(marks(&mut bench), [46, 46, 18, 0]);
    bench.graph.engine.clock().adjust(0.81);
    assert_eq!(marks(&mut bench), [46, 0, 0, 0]);
    bench.set("configure policer name three cir 1 cb 100 conform-action mark-and-transmit 8");
    assert_eq!(marks(&mut bench), [8], "the rest is dropped now");
}

#[test]
fn what_is_punted_is_policed_before_it_is_redirected() {
    for (six, us) in ["10.0.0.1", "2001:db8::1"].into_iter().enumerate() {
        let (mut bench, [host, hop]) = (bench(1, ""), HOSTS[six]);
        let (word, number) = [("", 4), ("6", 6)][six];
        bench.neighbor(hop, true);
        bench.set(&format!(
            "set punt ipv{number} udp 7654
             ip{word} punt redirect add rx all via {hop} pg1
             policer add name slow cir 1 cb 3000 rate pps
             ip{word} punt policer add 0"
        ));
        let udp = if six == 1 { udp6 } else { udp4 };
        let (receive, packets) =
            (format!("ip{number}-receive"), vec![udp(host, us, 7654, b"x"); 10]);
        assert_eq!(bench.send(&receive, &packets).len(), 3);
        let (punt, policer) = (format!("ip{number}-udp-punt"), format!("ip{number}-punt-policer"));
        bench.expect(&[(&punt, "udp port punt", 10), (&policer, "ip punt policer drop", 7)]);
        assert_eq!(colors(&bench, 0), [3, 0, 7]);
        bench.set(&format!("ip{word} punt policer del 0"));
        assert_eq!(bench.send(&receive, &packets).len(), 10);
    }
}

#[test]
fn the_thread_a_policer_is_bound_to_does_its_work() {
    let lines = format!("{SLOW} violate-action transmit\npolicer input name one pg0");
    let mut bench = bench(2, &lines);
    let judged = |bench: &mut Bench| {
        assert_eq!(bench.send("ip4-input", &packets(20)).len(), 20);
        [0, 1].map(|thread| judged(bench, thread))
    };
    assert_eq!(judged(&mut bench), [20, 0], "the first that has a packet");
    bench.set("policer bind name one 0");
    assert_eq!(judged(&mut bench), [20, 20]);
    assert_eq!(at(&bench.router, 0).unwrap().thread(), Some(1));
    bench.set("policer bind unbind name one");
    assert_eq!(judged(&mut bench), [40, 20]);
    bench.set("policer bind name one 0");
    bench.control(|router| {
        for changed in router.on_threads.iter().copied().collect::<Vec<_>>() {
            changed(router, &(0..1)).unwrap();
        }
    });
    assert_eq!(judged(&mut bench), [60, 20]);
    assert_eq!(colors(&bench, 0), [10, 0, 70]);
    bench.expect(&[("policer-input", "Packets Transmitted", 80)]);
}

#[test]
fn interfaces_and_policers_go_without_a_trace() {
    let applied = "policer input name one pg0\npolicer output name one pg1\nip punt policer 0";
    let mut bench = bench(1, &format!("{SLOW}\n{applied}"));
    let features = |bench: &mut Bench, name: &str| {
        bench.run(&format!("show interface features {name}")).unwrap()
    };
    assert_eq!(features(&mut bench, "pg0").matches("policer-input").count(), 2);
    assert_eq!(features(&mut bench, "pg0").matches("ip4-punt-policer").count(), 1);
    let pg1 = bench.pg1;
    bench.control(|router| router.add_sub_interface(pg1, SubInterface::dot1q(7, 7)).unwrap());
    assert!(features(&mut bench, "pg1.7").contains("ip4-punt-policer"), "new ones, too");
    bench.set("policer del name one");
    for name in ["pg0", "pg1", "pg1.7"] {
        assert!(!features(&mut bench, name).contains("policer"));
    }
    assert_eq!(bench.run("show policer pools").unwrap(), "pool sizes: configs=0 policers=0\n");
    bench.set(&format!("{SLOW}\npolicer input name one pg0"));
    let index = named(&bench.router, "one").unwrap();
    let pg0 = bench.pg0;
    bench.control(|router| router.remove_interface(pg0));
    bench.set(&format!("policer del index {index}"));
}

#[test]
fn commands_name_what_is_wrong_and_show_policers() {
    let mut bench = bench(1, "policer add name one cir 80 cb 1000 color-aware round up");
    refuses(
        &mut bench,
        [
            ("policer add cir 80 cb 1000", "name"),
            ("policer add name one cir 80 cb 1000", "exists"),
            ("policer add name two cir 80 cb 1000 type 3r", "3r"),
            ("policer add name two cir 80", "burst"),
            ("policer add name two cir 80 cb 9 exceed-action mark-and-transmit 64", "invalid mark"),
            ("policer input name two pg0", "two"),
            ("policer input name one nowhere", "nowhere"),
            ("policer del index 7", "no such policer"),
            ("policer bind name one 0", "worker"),
            ("configure policer name one type 2r3c-2698 cir 9 eir 8 cb 1", "eir"),
            ("ip6 punt policer 9", "no such policer"),
        ],
    );
    let shown = bench.run("show policer name one").unwrap();
    assert!(shown.starts_with("Name \"one\" type 1r2c cir 80 eir 0 cb 1000 eb 0\n"), "{shown}");
    let buckets = "\n\nPolicer at index 0: single rate, is color-aware\n\
        cir 10000 tok/period, pir 0 tok/period, scale 0\n\
        cur lim 1000, cur bkt 1000, ext lim 0, ext bkt 0\nlast update ";
    assert!(shown.contains(buckets), "{shown}");
}

#[test]
fn messages_make_change_use_and_list_policers() {
    let mut bench = bench(2, "");
    let (pg0, pg1) = (bench.pg0, bench.pg1);
    let action = |kind, dscp| QosAction { kind, dscp };
    let transmit = action(ActionType::TRANSMIT, 0);
    let round_type = RoundType::UP;
    let (rate_type, kind) = (RateType::KBPS, PolicerType::TWO_RATE);
    let rates = Rates { cir: 80, eir: 160, cb: 1000, eb: 2000, rate_type, round_type, kind };
    let exceed_action = action(ActionType::MARK_AND_TRANSMIT, 46);
    let actions = Actions { conform_action: transmit, exceed_action, ..Actions::default() };
    let infos = PolicerConfig { rates, color_aware: true, actions };
    let rated = |rates| PolicerConfig { rates, ..infos };
    let acting =
        |conform_action| PolicerConfig { actions: Actions { conform_action, ..actions }, ..infos };
    let plain = PolicerConfig {
        rates: Rates { cir: 100, cb: 10, rate_type: RateType::PPS, ..Rates::default() },
        ..acting(transmit)
    };
    bench.talk(|local, router| {
        let add = |name: &str, infos| PolicerAdd { name: name.into(), infos };
        assert_eq!(local.call(router, &add("a", infos)).unwrap().policer_index, 0);
        let again = local.call(router, &add("a", infos)).err();
        assert_eq!(again, Some(Retval::VALUE_EXIST));
        for wrong in [
            rated(Rates { kind: PolicerType::MAX, ..rates }),
            rated(Rates { rate_type: RateType::INVALID, ..rates }),
            rated(Rates { round_type: RoundType::INVALID, ..rates }),
            rated(Rates { eir: 8, ..rates }),
            acting(action(ActionType::MARK_AND_TRANSMIT, 64)),
            acting(action(ActionType(9), 0)),
        ] {
            let refused = local.call(router, &add("b", wrong)).err();
            assert_eq!(refused, Some(Retval::INVALID_VALUE));
        }
        let old = |is_add, name: &str| PolicerAddDel { is_add, name: name.into(), infos: plain };
        assert_eq!(local.call(router, &old(true, "b")).unwrap().policer_index, 1);
        let found = local.dump(router, &PolicerDumpV2 { policer_index: u32::MAX });
        assert_eq!(found.iter().map(|d| d.name.to_string()).collect::<Vec<_>>(), ["a", "b"]);
        let (a, Rates { cir, eir, cb, eb, .. }) = (&found[0], found[0].rates);
        assert_eq!((cir, eir, cb, eb, a.single_rate), (80, 160, 1000, 2000, false));
        assert_eq!((a.current_bucket, a.extended_bucket), (1000 << a.scale, 2000 << a.scale));
        assert_eq!((a.current_limit, a.actions.exceed_action.dscp), (a.current_bucket, 46));
        let only = PolicerDump { match_name_valid: true, match_name: "b".into() };
        assert!(local.dump(router, &only).iter().all(|d| &*d.name == "b" && d.single_rate));
        let new = PolicerUpdate { policer_index: 0, infos: rated(Rates { cir: 90, ..rates }) };
        local.call(router, &new).unwrap();
        local.call(router, &PolicerReset { policer_index: 0 }).unwrap();
        assert_eq!(local.dump(router, &PolicerDumpV2 { policer_index: 0 })[0].rates.cir, 90);
        let name = || "b".into();
        let rx = PolicerInput { name: name(), sw_if_index: pg0, apply: true };
        local.call(router, &rx).unwrap();
        let tx = PolicerOutput { name: name(), sw_if_index: pg1, apply: true };
        local.call(router, &tx).unwrap();
        let mut rx = |policer_index, sw_if_index, apply| {
            local.call(router, &PolicerInputV2 { policer_index, sw_if_index, apply }).err()
        };
        assert_eq!(rx(0, pg0, true), None);
        assert_eq!(rx(0, InterfaceIndex(99), true), Some(Retval::INVALID_SW_IF_INDEX));
        assert_eq!(rx(9, pg0, false), Some(Retval::NO_SUCH_ENTRY));
        let tx = PolicerOutputV2 { policer_index: 1, sw_if_index: pg1, apply: false };
        local.call(router, &tx).unwrap();
        let mut bind = |worker_index| {
            let bind = PolicerBindV2 { policer_index: 0, worker_index, bind_enable: true };
            local.call(router, &bind).err()
        };
        assert_eq!([bind(0), bind(1)], [None, Some(Retval::INVALID_WORKER)]);
        let free = PolicerBind { name: name(), worker_index: 0, bind_enable: false };
        local.call(router, &free).unwrap();
        let mut punt = |policer_index, is_add| {
            local.call(router, &IpPuntPolice { policer_index, is_add, is_ip6: true }).err()
        };
        assert_eq!([punt(1, true), punt(1, false)], [None; 2]);
        assert_eq!(punt(9, true), Some(Retval::NO_SUCH_ENTRY));
        let gone = local.call(router, &old(false, "b")).unwrap().policer_index;
        assert_eq!(gone, u32::MAX);
        let mut delete = || local.call(router, &PolicerDel { policer_index: 0 }).err();
        assert_eq!([delete(), delete()], [None, Some(Retval::NO_SUCH_ENTRY)]);
        assert_eq!(all(router).count(), 0);
    });
}

#[test]
fn what_the_policer_before_found_counts_for_those_aware_of_it() {
    for (aware, found) in [("", [10, 0, 0]), ("color-aware ", [4, 6, 0])] {
        let mut bench = bench(
            1,
            &format!(
                "policer add name in type 1r3c cir 1 cb 400 eb 600 exceed-action transmit
                 policer add name out type 1r3c {aware}cir 1 cb 9000 eb 9000 exceed-action transmit
                 policer input name in pg0
                 policer output name out pg1"
            ),
        );
        let neighbor = bench.neighbor("10.0.1.2", true);
        let passed = bench.send("ip4-input", &packets(12));
        assert_eq!((passed.len(), colors(&bench, 0)), (10, [4, 6, 2]));
        for caught in passed {
            bench.send_as("ip4-rewrite", &[caught.bytes], move |p| {
                p.set_flags(caught.flags);
                p.set_adjacency(neighbor.0);
            });
        }
        assert_eq!(colors(&bench, 1), found);
    }
}

#[test]
fn policing_is_tried_out_in_numbers() {
    for (kind, cir, eir, color, expected) in [
        ("1r2c", 8500, 0, 0, [2000, 0, 0]),
        ("1r2c", 4000, 0, 0, [1100, 0, 900]),
        ("1r2c", 4000, 0, 2, [0, 0, 2000]),
        ("1r3c", 4000, 0, 0, [1100, 100, 800]),
        ("1r3c", 4000, 0, 1, [0, 1100, 900]),
        ("2r3c-4115", 4000, 6000, 0, [1100, 500, 400]),
        ("2r3c-4115", 4000, 8500, 1, [0, 2000, 0]),
        ("2r3c-2698", 4000, 6000, 0, [1100, 500, 400]),
    ] {
        let config = format!("type {kind} color-aware cir {cir} cb 50000 eir {eir} eb 50000");
        let mut bench = bench(1, &format!("policer add name one {config}"));
        let before = at(&bench.router, 0).unwrap().levels();
        bench.set(&format!("test policing index 0 rate 8000 burst 1000 colour {color}"));
        let found = colors(&bench, 0);
        let is_near = found.iter().zip(expected).all(|(a, b): (&u64, u64)| a.abs_diff(b) <= 3);
        assert!(is_near && found.iter().sum::<u64>() == 2000, "{config} {color}: {found:?}");
        assert_eq!(counted(&bench.router, 0)[0].bytes, found[0] * 500);
        assert_eq!(at(&bench.router, 0).unwrap().levels(), before);
    }
    let mut bench = bench(1, SLOW);
    refuses(
        &mut bench,
        [
            ("test policing name two rate 1 burst 1", "two"),
            ("test policing rate 1 burst 1", "name or index"),
            ("test policing name one burst 1", "rate"),
            ("test policing name one rate 0 burst 1", "rate"),
            ("test policing name one rate 1", "burst"),
            ("test policing name one rate 1 burst 1 colour 3", "3"),
            ("test policing name one rate 4000000000 burst 4000000000", "packets"),
        ],
    );
    assert_eq!(colors(&bench, 0), [0; 3]);
}

/// A sub-interface with these tags that is up.
fn sub(bench: &mut Bench, parent: InterfaceIndex, sub: SubInterface) -> InterfaceIndex {
    bench.control(|router| {
        let index = router.add_sub_interface(parent, sub).unwrap();
        router.set_admin(index, true);
        index
    })
}

#[test]
fn interfaces_and_sub_interfaces_have_policers_of_their_own() {
    for is_sub in [false, true] {
        let mut bench = bench(
            1,
            &format!(
                "{SLOW}\npolicer add name out cir 1 cb 1140 violate-action mark-and-transmit cs1"
            ),
        );
        let ports = [bench.pg0, bench.pg1].map(|port| match is_sub {
            true => sub(&mut bench, port, SubInterface::dot1q(7, 7)),
            false => port,
        });
        let networks = [["10.5.0", "2001:db8:5:"], ["10.6.0", "2001:db8:6:"]];
        let host = |side: usize, six: usize, host: u8| {
            format!("{}{}{host}", networks[side][six], [".", ":"][six])
        };
        bench.control(|router| {
            for (side, port) in ports.into_iter().enumerate() {
                let address = |six| format!("{}/{}", host(side, six, 1), [24, 64][six]);
                router.add_address(port, address(0).parse().unwrap()).unwrap();
                router.add_address(port, address(1).parse().unwrap()).unwrap();
            }
            apply(router, ports[0], Direction::Input, 0, true).unwrap();
            apply(router, ports[1], Direction::Output, 1, true).unwrap();
        });
        for six in [0, 1] {
            let packet = packet(six, &host(0, six, 2), &host(1, six, 2));
            bench.set("policer reset index 0\npolicer reset index 1");
            let (rx, at) = (ports[0].0, ["ip4-input", "ip6-input"][six]);
            let header = 14 + 4 * usize::from(is_sub);
            let in_sub = bench.send_as(at, &vec![packet.clone(); 20], move |p| {
                p.set_rx(rx);
                p.set_l2_offset(p.offset() - header as i16);
                p.set_l3_offset(p.offset());
                p.add_flags(graph::Flags::L2.with(graph::Flags::L3));
            });
            assert_eq!(in_sub.iter().filter(|c| c.at.ends_with("-lookup")).count(), 8);
            if is_sub {
                assert_eq!(bench.send(at, &vec![packet.clone(); 20]).len(), 20, "not its parent");
            }
            let adjacency = bench.control(|router| {
                let (role, hop) = (net::adjacency::Role::Neighbor, host(1, six, 2));
                let index = router.use_adjacency(ports[1], role, hop.parse().unwrap()).unwrap();
                router.complete_adjacency(index, NEIGHBOR);
                index
            });
            let sent = bench.send_as(["ip4-rewrite", "ip6-rewrite"][six], &vec![packet; 12], {
                move |p| p.set_adjacency(adjacency.0)
            });
            assert!(sent.iter().all(|c| c.at == "sent" && c.bytes[..6] == NEIGHBOR.0));
            let marked = sent.iter().filter(|c| dscp(&c.bytes[header..]) == 8).count();
            let beyond = 2 + usize::from(is_sub);
            assert_eq!((sent.len(), marked), (12, beyond), "with the header and tags of layer 2");
            let bytes = ((six + 1) * beyond * (100 + header)) as u64;
            assert_eq!(counted(&bench.router, 1)[2].bytes, bytes);
        }
        let sent = if is_sub { [18, 0, 6] } else { [20, 0, 4] };
        assert_eq!([colors(&bench, 0), colors(&bench, 1)], [[16, 0, 24], sent]);
        bench.expect(&[
            ("policer-input", "Packets Dropped", 24),
            ("policer-input", "Packets Transmitted", 16),
            ("policer-output", "Packets Transmitted", 24),
        ]);
    }
}

#[test]
fn rates_become_bytes_or_packets_a_second_and_what_passes_nothing_is_refused() {
    let c = Config { cir: 80, cb: 1000, ..Config::default() };
    assert_eq!(c.profile().unwrap().committed, Fill { rate: 10_000.0, burst: 1000.0 });
    assert_eq!(c.tokens(700), 700.0);
    let c = Config { cir: 400, cb: 10, rate: Unit::Pps, ..Config::default() };
    assert_eq!(c.profile().unwrap().committed, Fill { rate: 400.0, burst: 4.0 });
    assert_eq!(c.tokens(700), 1.0);
    let two = Config { cir: 10, cb: 1, eir: 9, eb: 1, ..Config::default() };
    for (config, why) in [
        (Config { cb: 1, ..Config::default() }, "cir is 0"),
        (Config { cir: 1, ..Config::default() }, "burst"),
        (Config { kind: Kind::TwoRate, ..two }, "eir"),
        (Config { kind: Kind::Coupled, cir: 0, eir: 0, ..two }, "cir and eir"),
    ] {
        let refused = config.profile().unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}

/// A table over source addresses whose session of the first host leads to policer `one`.
fn sort(bench: &mut Bench, six: usize, more: &str) {
    let (v, host) = ([4, 6][six], HOSTS[six][0]);
    bench.run(&format!("classify table mask l2 none l3 ip{v} src current-data-flag 1")).unwrap();
    bench.set(&format!(
        "classify session policer-hit-next one table-index 0 match l2 none l3 ip{v} src {host} {more}
         set policer classify interface pg0 ip{v}-table 0"
    ));
}

#[test]
fn sessions_of_the_classifier_choose_policers() {
    for (six, n) in [0, 1].into_iter().flat_map(|six| SIZES.map(|n| (six, n))) {
        let other = format!("policer add name other cir 1 cb 1000\n{SLOW}\npolicer del name other");
        let mut bench = bench(1, &other);
        sort(&mut bench, six, "");
        let (v, [from, to], other) = ([4, 6][six], HOSTS[six], ["10.0.0.77", "2001:db8::77"][six]);
        let (input, node) = (format!("ip{v}-input"), format!("ip{v}-policer-classify"));
        let passed = n.min(10);
        assert_eq!(bench.send(&input, &vec![packet(six, from, to); n]).len(), passed);
        let dropped = (node.as_str(), "Policer classify action drop", (n - passed) as u64);
        let moved = [dropped, (&node, "Policer classify hits", n as u64)];
        bench.expect(&moved[usize::from(n == passed)..]);
        assert_eq!(colors(&bench, 1), [passed as u64, 0, (n - passed) as u64]);
        assert_eq!(bench.send(&input, &vec![packet(six, other, to); n]).len(), n);
        bench.expect(&[(&node, "Policer classify misses", n as u64)]);
        let shown = bench.run("show classify tables verbose").unwrap();
        assert!(shown.contains(&format!("hits {n},")), "{shown}");
        bench.set(&format!("set policer classify interface pg0 ip{v}-table 0 del"));
        assert_eq!(bench.send(&input, &vec![packet(six, from, to); n]).len(), n);
        bench.expect(&[]);
    }
}

#[test]
fn sessions_say_the_colour_that_policers_are_aware_of() {
    for color in ["opaque-index exceed-color", "exceed-color"] {
        sorted_by_colour(color);
    }
}

fn sorted_by_colour(exceeds: &str) {
    let mut bench = bench(
        1,
        "policer add name one type 1r3c color-aware cir 1000 cb 9000 eb 9000 exceed-action \
         mark-and-transmit AF21",
    );
    sort(&mut bench, 0, exceeds);
    let out = bench.send("ip4-input", &packets(2));
    assert_eq!(out.iter().map(|c| dscp(&c.bytes)).collect::<Vec<_>>(), [18, 18]);
    assert!(wire::checksum::Sum::ZERO.add_bytes(&out[0].bytes[..20]).is_valid());
    assert_eq!(colors(&bench, 0), [0, 2, 0]);
    let nobody = "classify session policer-hit-next nobody table-index 0 match l3 ip4 src 1.1.1.1";
    refuses(&mut bench, [(nobody, "no such policer")]);
    // The policer of a session may be deleted: packets pass then.
    bench.set("policer del name one");
    assert_eq!(bench.send("ip4-input", &packets(2)).len(), 2);
}

/// A bridge of pg0 and pg1, or of sub-interfaces of theirs, in which frames keep their tags.
fn bridge(threads: usize, tags: Option<SubInterface>) -> (Bench, [String; 2]) {
    let features = [net::fast_path::FEATURE, l2::FEATURE, classify::FEATURE, FEATURE];
    let mut bench = Bench::featuring(&features, threads, |_| (), |_| ());
    let ports = [bench.pg0, bench.pg1].map(|port| {
        let port = tags.map_or(port, |tags| sub(&mut bench, port, tags));
        let name = bench.router.interfaces.name(port.0).to_owned();
        bench.set(&format!("set interface l2 bridge {name} 1"));
        name
    });
    (bench, ports)
}

/// A frame with these tags, of a type and with 86 bytes.
fn frame(tags: &[u8], src: u8, kind: [u8; 2], rest: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 1, 0, 9, 2, 0, 0, 1, 0, src], tags, &kind, rest].concat()
}

/// The frames that leave.
fn bridged(bench: &mut Bench, thread: usize, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let out = bench.send_on(thread, "ethernet-input", frames).into_iter();
    out.filter(|c| c.at == "sent").map(|c| c.bytes).collect()
}

#[test]
fn bridged_frames_meet_the_policer_of_their_session() {
    let (mut bench, _) = bridge(1, None);
    bench.set("policer add name one cir 1 cb 300 conform-action mark-and-transmit ef");
    bench.run("classify table mask l2 src").unwrap();
    bench.set(
        "classify session policer-hit-next one table-index 0 match l2 src 02:00:00:01:00:01
         set policer classify interface pg0 l2-table 0",
    );
    let ip = |src| frame(&[], src, [8, 0], &udp4(HOST4, "10.0.1.2", 99, &[0; 58]));
    let other = frame(&[], 1, [0x45, 0x45], &[0x45; 86]);
    let out = bridged(&mut bench, 0, &[ip(1), ip(2), other.clone(), ip(1), ip(1)]);
    let marks: Vec<_> = out.iter().map(|bytes| bytes[15] >> 2).collect();
    assert_eq!(marks, [46, 0, 0x45 >> 2, 46], "marked where there is a header");
    assert_eq!(out[2], other);
    assert_eq!(colors(&bench, 0), [3, 0, 1]);
    for (kind, count) in [(0, 0), (1, 0), (2, 1)] {
        let kind = classify::PolicerClassifyTable(kind);
        let dump = classify::PolicerClassifyDump { kind, sw_if_index: InterfaceIndex(u32::MAX) };
        bench.talk(|local, router| assert_eq!(local.dump(router, &dump).len(), count));
    }
}

#[test]
fn frames_of_bridged_interfaces_are_policed_received_and_sent() {
    let (c_tag, s_tag) = (|vlan| [0x81, 0, 0, vlan], |vlan| [0x88, 0xa8, 0, vlan]);
    let q = SubInterface::dot1q;
    let inner = SubInterface { tags: 2, is_dot1ad: true, inner: Some(9), ..q(7, 8) };
    for (sub, tags) in [
        (None, vec![]),
        (Some(q(7, 7)), c_tag(7).to_vec()),
        (Some(SubInterface { is_dot1ad: true, ..q(7, 8) }), s_tag(8).to_vec()),
        (Some(inner), [s_tag(8), c_tag(9)].concat()),
    ] {
        for (side, n) in [0, 1].into_iter().flat_map(|side| SIZES.map(|n| (side, n))) {
            let (mut bench, ports) = bridge(1, sub);
            let frames: Vec<_> = (0..n)
                .map(|i| match i % 2 {
                    0 => frame(&tags, 1, [8, 0], &udp4(HOST4, "10.0.1.2", 99, &[0; 58])),
                    _ => frame(&tags, 1, [0x86, 0xdd], &udp6(HOST6, "2001:db8:1::2", 99, &[0; 38])),
                })
                .collect();
            let room = 4 * frames[0].len();
            let ([word, other], port) =
                ([["input", "output"], ["output", "input"]][side], &ports[side]);
            bench.set(&format!(
                "policer add name one cir 1 cb {room} conform-action mark-and-transmit ef
                 policer {word} name one {port}"
            ));
            let marks = |bench: &mut Bench| -> Vec<u8> {
                let out = bridged(bench, 0, &frames);
                out.iter().map(|bytes| dscp(&bytes[tags.len() + 14..])).collect()
            };
            let (passed, node) = (n.min(4), format!("l2-policer-{word}"));
            assert_eq!(marks(&mut bench), vec![46; passed], "{sub:?} {word} {n}");
            assert_eq!(colors(&bench, 0), [passed as u64, 0, (n - passed) as u64]);
            let mut moved = bench.graph.moved_counters();
            moved.retain(|(name, ..)| *name == node);
            let moved: Vec<_> = moved.into_iter().map(|(_, what, count)| (what, count)).collect();
            let dropped = ("Packets Dropped", (n - passed) as u64);
            let all = [dropped, ("Packets Transmitted", passed as u64)];
            assert_eq!(moved, all[usize::from(n == passed)..]);
            // Not the other direction, and no longer.
            bench.set(&format!(
                "policer {word} unapply name one {port}\npolicer {other} name one {port}"
            ));
            assert_eq!(marks(&mut bench), vec![0; n]);
        }
    }
}

#[test]
fn frames_are_handed_to_the_thread_of_their_policer() {
    for word in ["input name one pg0", "output name one pg1"] {
        let (mut bench, _) = bridge(2, None);
        bench.set(&format!("{SLOW}\npolicer {word}"));
        let frames = vec![frame(&[], 1, [0x45, 0x45], &[0x45; 86]); 6];
        for (thread, passed) in [6, 4].into_iter().enumerate() {
            assert_eq!(bridged(&mut bench, thread, &frames), frames[..passed], "{word}");
        }
        assert_eq!(colors(&bench, 0), [10, 0, 2]);
        assert_eq!(judged(&bench, 0), 12, "all by the first that had a frame");
    }
}

#[test]
fn sorted_packets_are_handed_to_the_thread_of_their_policer() {
    let mut bench = bench(2, SLOW);
    sort(&mut bench, 0, "");
    assert_eq!(bench.send("ip4-input", &packets(6)).len(), 6);
    assert_eq!(bench.send_on(1, "ip4-input", &packets(6)).len(), 4);
    assert_eq!(colors(&bench, 0), [10, 0, 2]);
}
