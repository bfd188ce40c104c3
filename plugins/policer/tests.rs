//! Treatment of packets beyond their rate; policers made and used.

use control::api::Retval;
use infra::meter::Fill;
use net::InterfaceIndex;
use net::interface::SubInterface;
use net::testing::packets::*;
use net::testing::{Bench, NEIGHBOR};
use policer::*;

/// A policer that 10 packets of 100 bytes pass, and one more every 800 ms.
const SLOW: &str = "cir 1 cb 1000";

fn bench(threads: usize) -> Bench {
    Bench::featuring(&[classify::FEATURE, FEATURE], threads, |_| (), |_| ())
}

fn packets(n: usize) -> Vec<Vec<u8>> {
    vec![udp4(HOST4, "10.0.1.2", 99, &[0; 72]); n]
}

fn colors(bench: &Bench, policer: u32) -> [u64; 3] {
    counted(&bench.router, policer).map(|volume| volume.packets)
}

#[test]
fn what_comes_in_beyond_the_rate_is_dropped_and_counted() {
    for n in [1, 3, 4, 255, 256] {
        let mut bench = bench(1);
        bench.run(&format!("policer add name one {SLOW}")).unwrap();
        bench.run("policer input name one pg0").unwrap();
        let out = bench.send("ip4-input", &packets(n));
        let passed = n.min(10);
        assert_eq!(out.iter().filter(|c| c.at == "ip4-lookup").count(), passed);
        let dropped = ("policer-input", "Packets Dropped", (n - passed) as u64);
        let transmitted = ("policer-input", "Packets Transmitted", passed as u64);
        let moved = [dropped, transmitted];
        bench.expect(if n > passed { &moved } else { &moved[1..] });
        assert_eq!(colors(&bench, 0), [passed as u64, 0, (n - passed) as u64]);
        assert_eq!(counted(&bench.router, 0)[0].bytes, passed as u64 * 100);
        bench.run("policer input unapply name one pg0").unwrap();
        assert_eq!(bench.send("ip4-input", &packets(n)).len(), n);
        bench.expect(&[]);
    }
}

#[test]
fn colors_have_actions_of_their_own_and_buckets_fill_again() {
    let mut bench = bench(1);
    bench
        .run(
            "policer add name three type 1r3c cir 1 cb 200 eb 100 conform-action \
        mark-and-transmit ef exceed-action mark-and-transmit AF21 violate-action transmit",
        )
        .unwrap();
    bench.run("policer input index 0 pg0").unwrap();
    let tos = |bench: &mut Bench| {
        let out = bench.send("ip4-input", &packets(4));
        out.iter()
            .for_each(|c| assert!(wire::checksum::Sum::ZERO.add_bytes(&c.bytes[..20]).is_valid()));
        out.iter().map(|c| c.bytes[1] >> 2).collect::<Vec<_>>()
    };
    assert_eq!(tos(&mut bench), [46, 46, 18, 0]);
    assert_eq!(colors(&bench, 0), [2, 1, 1]);
    assert_eq!(tos(&mut bench), [0; 4]);
    bench.run("policer reset name three").unwrap();
    assert_eq!(tos(&mut bench), [46, 46, 18, 0]);
    bench.graph.engine.clock().adjust(0.81);
    assert_eq!(tos(&mut bench), [46, 0, 0, 0]);
    bench
        .run("configure policer name three cir 1 cb 100 conform-action mark-and-transmit 8")
        .unwrap();
    assert_eq!(tos(&mut bench), [8], "the rest is dropped now");
}

#[test]
fn what_goes_out_is_policed_behind_its_layer_2_header() {
    let mut bench = bench(1);
    bench
        .run("policer add name out cir 1 cb 300 rate kbps violate-action mark-and-transmit cs1")
        .unwrap();
    bench.run("policer output name out pg1").unwrap();
    let to6 = bench.neighbor("2001:db8:1::2", true);
    let to4 = bench.neighbor("10.0.1.2", true);
    let six = udp6(HOST6, "2001:db8:1::2", 99, &[0; 52]);
    let out = bench.send_as("ip6-rewrite", &vec![six; 3], move |p| p.set_adjacency(to6.0));
    assert!(out.iter().all(|c| c.at == "sent" && c.bytes[..6] == NEIGHBOR.0));
    let classes = out.iter().map(|c| u16::from_be_bytes([c.bytes[14], c.bytes[15]]) >> 4 & 0xff);
    assert_eq!(classes.collect::<Vec<_>>(), [0, 0, 8 << 2]);
    let out = bench.send_as("ip4-rewrite", &packets(1), move |p| p.set_adjacency(to4.0));
    assert_eq!((out.len(), out[0].bytes[15]), (1, 8 << 2), "one policer for both versions");
    assert_eq!(counted(&bench.router, 0)[2].bytes, 2 * 114);
    bench.expect(&[("policer-output", "Packets Transmitted", 4)]);
}

#[test]
fn what_is_punted_is_policed_before_it_is_redirected() {
    for (version, us, host, hop) in
        [("", "10.0.0.1", HOST4, "10.0.1.2"), ("6", "2001:db8::1", HOST6, "2001:db8:1::2")]
    {
        let mut bench = bench(1);
        bench.neighbor(hop, true);
        let family = if version == "6" { "ipv6" } else { "ipv4" };
        bench.run(&format!("set punt {family} udp 7654")).unwrap();
        bench.run(&format!("ip{version} punt redirect add rx all via {hop} pg1")).unwrap();
        bench.run("policer add name slow cir 1 cb 3000 rate pps").unwrap();
        bench.run(&format!("ip{version} punt policer add 0")).unwrap();
        let six = version == "6";
        let packet = if six { udp6(host, us, 7654, b"x") } else { udp4(host, us, 7654, b"x") };
        let number = if six { "6" } else { "4" };
        let receive = format!("ip{number}-receive");
        assert_eq!(bench.send(&receive, &vec![packet.clone(); 10]).len(), 3);
        let (punt, policer) = (format!("ip{number}-udp-punt"), format!("ip{number}-punt-policer"));
        bench.expect(&[(&punt, "udp port punt", 10), (&policer, "ip punt policer drop", 7)]);
        assert_eq!(colors(&bench, 0), [3, 0, 7]);
        bench.run(&format!("ip{version} punt policer del 0")).unwrap();
        assert_eq!(bench.send(&receive, &vec![packet; 10]).len(), 10);
    }
}

#[test]
fn the_thread_a_policer_is_bound_to_does_its_work() {
    let mut bench = bench(2);
    bench.run(&format!("policer add name one {SLOW} violate-action transmit")).unwrap();
    bench.run("policer input name one pg0").unwrap();
    let by_thread = |bench: &Bench| {
        let counters = counters(&bench.router);
        let packets =
            |thread: usize| counters.iter().map(|c| c.row(thread)[0].value().packets).sum();
        [packets(0), packets(1)] as [u64; 2]
    };
    assert_eq!(bench.send("ip4-input", &packets(20)).len(), 20);
    assert_eq!(by_thread(&bench), [20, 0], "the first that has a packet");
    bench.run("policer bind name one 0").unwrap();
    assert_eq!(bench.send("ip4-input", &packets(20)).len(), 20);
    assert_eq!(by_thread(&bench), [20, 20]);
    assert_eq!(at(&bench.router, 0).unwrap().thread(), Some(1));
    bench.run("policer bind unbind name one").unwrap();
    assert_eq!(bench.send("ip4-input", &packets(20)).len(), 20);
    assert_eq!(by_thread(&bench), [40, 20]);
    // Thread 1 is to end: what it owns is another's then.
    bench.run("policer bind name one 0").unwrap();
    bench.control(|router| {
        for changed in router.on_threads.iter().copied().collect::<Vec<_>>() {
            changed(router, &(0..1)).unwrap();
        }
    });
    assert_eq!(bench.send("ip4-input", &packets(20)).len(), 20);
    assert_eq!(by_thread(&bench), [60, 20]);
    assert_eq!(colors(&bench, 0), [10, 0, 70]);
    bench.expect(&[("policer-input", "Packets Transmitted", 80)]);
}

#[test]
fn interfaces_and_policers_go_without_a_trace() {
    let mut bench = bench(1);
    bench.run(&format!("policer add name one {SLOW}")).unwrap();
    for line in ["policer input name one pg0", "policer output name one pg1", "ip punt policer 0"] {
        bench.run(line).unwrap();
    }
    let features = |bench: &mut Bench| bench.run("show interface features pg0").unwrap();
    assert_eq!(features(&mut bench).matches("policer-input").count(), 2);
    assert_eq!(features(&mut bench).matches("ip4-punt-policer").count(), 1);
    bench.run("policer del name one").unwrap();
    assert!(!features(&mut bench).contains("policer"));
    assert_eq!(bench.run("show policer pools").unwrap(), "pool sizes: policers=0\n");
    bench.run(&format!("policer add name two {SLOW}")).unwrap();
    let index = named(&bench.router, "two").unwrap();
    bench.run("policer input name two pg0").unwrap();
    let pg0 = bench.pg0;
    bench.control(|router| router.remove_interface(pg0));
    bench.run(&format!("policer del index {index}")).unwrap();
}

#[test]
fn commands_name_what_is_wrong_and_show_policers() {
    let mut bench = bench(1);
    bench.run("policer add name one cir 80 cb 1000 color-aware round up").unwrap();
    for (line, word) in [
        ("policer add cir 80 cb 1000", "name"),
        ("policer add name one cir 80 cb 1000", "exists"),
        ("policer add name two cir 80 cb 1000 type 3r", "3r"),
        ("policer add name two cir 80", "burst"),
        (
            "policer add name two cir 80 cb 9 conform-action mark-and-transmit 64",
            "invalid mark-and-transmit",
        ),
        ("policer input name two pg0", "two"),
        ("policer input name one nowhere", "nowhere"),
        ("policer del index 7", "no such policer"),
        ("policer bind name one 0", "worker"),
        ("configure policer name one type 2r3c-2698 cir 9 eir 8 cb 1", "eir"),
        ("ip6 punt policer 9", "no such policer"),
    ] {
        let error = bench.run(line).unwrap_err();
        assert!(error.contains(word), "{line}: {error}");
    }
    let shown = bench.run("show policer name one").unwrap();
    assert!(shown.starts_with("Name \"one\" type 1r2c cir 80 eir 0 cb 1000 eb 0\n"), "{shown}");
    assert!(shown.contains("limit 1000, bucket 1000"), "{shown}");
}

#[test]
fn messages_make_change_use_and_list_policers() {
    let mut bench = bench(2);
    let (pg0, pg1) = (bench.pg0, bench.pg1);
    let action = |kind, dscp| QosAction { kind, dscp };
    let infos = PolicerConfig {
        cir: 80,
        eir: 160,
        cb: 1000,
        eb: 2000,
        rate_type: RateType::KBPS,
        round_type: RoundType::UP,
        kind: PolicerType::TWO_RATE,
        color_aware: true,
        conform_action: action(ActionType::TRANSMIT, 0),
        exceed_action: action(ActionType::MARK_AND_TRANSMIT, 46),
        violate_action: action(ActionType::DROP, 0),
    };
    bench.talk(|local, router| {
        let add = |name: &str, infos| PolicerAdd { name: name.into(), infos };
        assert_eq!(local.call(router, &add("a", infos)).unwrap().policer_index, 0);
        let again = local.call(router, &add("a", infos)).err();
        assert_eq!(again, Some(Retval::VALUE_EXIST));
        for wrong in [
            PolicerConfig { kind: PolicerType::MAX, ..infos },
            PolicerConfig { rate_type: RateType::INVALID, ..infos },
            PolicerConfig { round_type: RoundType::INVALID, ..infos },
            PolicerConfig { eir: 8, ..infos },
            PolicerConfig { conform_action: action(ActionType::MARK_AND_TRANSMIT, 64), ..infos },
            PolicerConfig { conform_action: action(ActionType(9), 0), ..infos },
        ] {
            let refused = local.call(router, &add("b", wrong)).err();
            assert_eq!(refused, Some(Retval::INVALID_VALUE));
        }
        let plain = PolicerConfig {
            cir: 100,
            eir: 0,
            cb: 10,
            eb: 0,
            rate_type: RateType::PPS,
            round_type: RoundType::CLOSEST,
            kind: PolicerType::ONE_BUCKET,
            color_aware: false,
            conform_action: action(ActionType::TRANSMIT, 0),
            exceed_action: action(ActionType::TRANSMIT, 0),
            violate_action: action(ActionType::TRANSMIT, 0),
        };
        let old = |is_add, name: &str| PolicerAddDel { is_add, name: name.into(), infos: plain };
        assert_eq!(local.call(router, &old(true, "b")).unwrap().policer_index, 1);
        let told = local.dump(router, &PolicerDumpV2 { policer_index: u32::MAX });
        assert_eq!(told.iter().map(|d| d.name.to_string()).collect::<Vec<_>>(), ["a", "b"]);
        let a = &told[0];
        assert_eq!((a.cir, a.eir, a.cb, a.eb, a.single_rate), (80, 160, 1000, 2000, false));
        assert_eq!((a.current_bucket, a.extended_bucket), (1000 << a.scale, 2000 << a.scale));
        assert_eq!((a.current_limit, a.exceed_action.dscp), (a.current_bucket, 46));
        let only = PolicerDump { match_name_valid: true, match_name: "b".into() };
        assert!(local.dump(router, &only).iter().all(|d| &*d.name == "b" && d.single_rate));
        let new = PolicerConfig { cir: 90, ..infos };
        local.call(router, &PolicerUpdate { policer_index: 0, infos: new }).unwrap();
        local.call(router, &PolicerReset { policer_index: 0 }).unwrap();
        assert_eq!(local.dump(router, &PolicerDumpV2 { policer_index: 0 })[0].cir, 90);
        let name = || "b".into();
        let rx = PolicerInput { name: name(), sw_if_index: pg0, apply: true };
        local.call(router, &rx).unwrap();
        let tx = PolicerOutput { name: name(), sw_if_index: pg1, apply: true };
        local.call(router, &tx).unwrap();
        let rx = |policer_index, sw_if_index, apply| PolicerInputV2 {
            policer_index,
            sw_if_index,
            apply,
        };
        local.call(router, &rx(0, pg0, true)).unwrap();
        let nowhere = local.call(router, &rx(0, InterfaceIndex(99), true)).err();
        assert_eq!(nowhere, Some(Retval::INVALID_SW_IF_INDEX));
        let none = local.call(router, &rx(9, pg0, false)).err();
        assert_eq!(none, Some(Retval::NO_SUCH_ENTRY));
        let tx = PolicerOutputV2 { policer_index: 1, sw_if_index: pg1, apply: false };
        local.call(router, &tx).unwrap();
        let bind =
            |worker_index| PolicerBindV2 { policer_index: 0, worker_index, bind_enable: true };
        local.call(router, &bind(0)).unwrap();
        assert_eq!(local.call(router, &bind(1)).err(), Some(Retval::INVALID_WORKER));
        let free = PolicerBind { name: name(), worker_index: 0, bind_enable: false };
        local.call(router, &free).unwrap();
        let punt = |policer_index, is_add| IpPuntPolice { policer_index, is_add, is_ip6: true };
        local.call(router, &punt(1, true)).unwrap();
        local.call(router, &punt(1, false)).unwrap();
        assert_eq!(local.call(router, &punt(9, true)).err(), Some(Retval::NO_SUCH_ENTRY));
        let gone = local.call(router, &old(false, "b")).unwrap().policer_index;
        assert_eq!(gone, u32::MAX);
        local.call(router, &PolicerDel { policer_index: 0 }).unwrap();
        let gone = local.call(router, &PolicerDel { policer_index: 0 }).err();
        assert_eq!(gone, Some(Retval::NO_SUCH_ENTRY));
        assert_eq!(all(router).count(), 0);
    });
}

#[test]
fn what_the_policer_before_found_counts_for_those_aware_of_it() {
    for (aware, found) in [("", [10, 0, 0]), ("color-aware ", [4, 6, 0])] {
        let mut bench = bench(1);
        let neighbor = bench.neighbor("10.0.1.2", true);
        for line in [
            "policer add name in type 1r3c cir 1 cb 400 eb 600 exceed-action transmit",
            &format!(
                "policer add name out type 1r3c {aware}cir 1 cb 9000 eb 9000 exceed-action transmit"
            ),
            "policer input name in pg0",
            "policer output name out pg1",
        ] {
            bench.run(line).unwrap();
        }
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
        let mut bench = bench(1);
        let config = format!("type {kind} color-aware cir {cir} cb 50000 eir {eir} eb 50000");
        bench.run(&format!("policer add name one {config}")).unwrap();
        let before = at(&bench.router, 0).unwrap().levels();
        bench.run(&format!("test policing index 0 rate 8000 burst 1000 colour {color}")).unwrap();
        let found = colors(&bench, 0);
        let is_near = found.iter().zip(expected).all(|(a, b): (&u64, u64)| a.abs_diff(b) <= 3);
        assert!(is_near && found.iter().sum::<u64>() == 2000, "{config} {color}: {found:?}");
        assert_eq!(counted(&bench.router, 0)[0].bytes, found[0] * 500);
        assert_eq!(at(&bench.router, 0).unwrap().levels(), before);
    }
    let mut bench = bench(1);
    bench.run(&format!("policer add name one {SLOW}")).unwrap();
    for (line, word) in [
        ("test policing name two rate 1 burst 1", "two"),
        ("test policing rate 1 burst 1", "name or index"),
        ("test policing name one burst 1", "rate"),
        ("test policing name one rate 0 burst 1", "rate"),
        ("test policing name one rate 1", "burst"),
        ("test policing name one rate 1 burst 1 colour 3", "3"),
        ("test policing name one rate 4000000000 burst 4000000000", "packets"),
    ] {
        let error = bench.run(line).unwrap_err();
        assert!(error.contains(word), "{line}: {error}");
    }
    assert_eq!(colors(&bench, 0), [0; 3]);
}

#[test]
fn sub_interfaces_have_policers_of_their_own() {
    let mut bench = bench(1);
    let (pg0, pg1) = (bench.pg0, bench.pg1);
    let [one, two] =
        [(pg0, "10.5.0.1/24", "2001:db8:5::1/64"), (pg1, "10.6.0.1/24", "2001:db8:6::1/64")].map(
            |(parent, four, six)| {
                bench.control(|router| {
                    let sub = SubInterface::dot1q(7, 7);
                    let index = router.add_sub_interface(parent, sub).unwrap();
                    router.set_admin(index, true);
                    router.add_address(index, four.parse().unwrap()).unwrap();
                    router.add_address(index, six.parse().unwrap()).unwrap();
                    index
                })
            },
        );
    let packet = |is_4| match is_4 {
        true => udp4("10.5.0.2", "10.6.0.2", 99, &[0; 72]),
        false => udp6("2001:db8:5::2", "2001:db8:6::2", 99, &[0; 52]),
    };
    bench.run(&format!("policer add name in {SLOW}")).unwrap();
    bench.control(|router| apply(router, one, Direction::Input, Some(0))).unwrap();
    for (is_4, at) in [(true, "ip4-input"), (false, "ip6-input")] {
        bench.run("policer reset index 0").unwrap();
        let on_sub = bench.send_as(at, &vec![packet(is_4); 20], move |p| p.set_rx(one.0));
        assert_eq!(on_sub.iter().filter(|c| c.at.ends_with("-lookup")).count(), 10);
        assert_eq!(bench.send(at, &vec![packet(is_4); 20]).len(), 20, "not on its parent");
    }
    assert_eq!(colors(&bench, 0), [20, 0, 20]);
    bench.run("policer add name out cir 1 cb 1180 violate-action mark-and-transmit cs1").unwrap();
    bench.control(|router| apply(router, two, Direction::Output, Some(1))).unwrap();
    for (is_4, at, hop) in
        [(true, "ip4-rewrite", "10.6.0.2"), (false, "ip6-rewrite", "2001:db8:6::2")]
    {
        bench.run("policer reset index 1").unwrap();
        let adjacency = bench.control(|router| {
            let hop = hop.parse().unwrap();
            let index = router.use_adjacency(two, net::adjacency::Role::Neighbor, hop).unwrap();
            router.complete_adjacency(index, NEIGHBOR);
            index
        });
        let sent =
            bench.send_as(at, &vec![packet(is_4); 12], move |p| p.set_adjacency(adjacency.0));
        assert!(sent.iter().all(|c| c.at == "sent" && c.bytes[12..16] == [0x81, 0, 0, 7]));
        let class = |b: &[u8]| match is_4 {
            true => b[19],
            false => (u16::from_be_bytes([b[18], b[19]]) >> 4) as u8,
        };
        let marked = sent.iter().filter(|c| class(&c.bytes) == 8 << 2).count();
        assert_eq!((sent.len(), marked), (12, 2), "118 bytes each, tag included");
    }
    assert_eq!(colors(&bench, 1), [20, 0, 4]);
    bench.expect(&[
        ("policer-input", "Packets Dropped", 20),
        ("policer-input", "Packets Transmitted", 20),
        ("policer-output", "Packets Transmitted", 24),
    ]);
}

#[test]
fn rates_become_bytes_or_packets_a_second() {
    let c = Config { cir: 80, cb: 1000, ..Config::default() };
    assert_eq!(c.profile().unwrap().committed, Fill { rate: 10_000.0, burst: 1000.0 });
    assert_eq!(c.tokens(700), 700.0);
    let c = Config { cir: 400, cb: 10, rate: Unit::Pps, ..Config::default() };
    assert_eq!(c.profile().unwrap().committed, Fill { rate: 400.0, burst: 4.0 });
    assert_eq!(c.tokens(700), 1.0);
}

#[test]
fn what_passes_nothing_is_refused() {
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

/// A table over source addresses whose session of the first host leads to policer 0.
fn sorted(bench: &mut Bench, is_6: bool, more: &str) {
    let (v, host) = if is_6 { (6, HOST6) } else { (4, HOST4) };
    for line in [
        format!("classify table mask l2 none l3 ip{v} src current-data-flag 1"),
        format!(
            "classify session policer-hit-next one table-index 0 match l2 none l3 ip{v} src {host} {more}"
        ),
        format!("set policer classify interface pg0 ip{v}-table 0"),
    ] {
        bench.run(&line).unwrap();
    }
}

#[test]
fn sessions_of_the_classifier_choose_policers() {
    for is_6 in [false, true] {
        let (v, to, other) =
            if is_6 { (6, "2001:db8:1::2", "2001:db8::77") } else { (4, "10.0.1.2", "10.0.0.77") };
        for n in [1, 3, 4, 255, 256] {
            let mut bench = bench(1);
            bench.run("policer add name other cir 1 cb 1000").unwrap();
            bench.run("policer add name one cir 1 cb 1000").unwrap();
            bench.run("policer del name other").unwrap();
            sorted(&mut bench, is_6, "");
            let packet = |from: &str| match is_6 {
                true => udp6(from, to, 99, &[0; 52]),
                false => udp4(from, to, 99, &[0; 72]),
            };
            let from = if is_6 { HOST6 } else { HOST4 };
            let (input, node) = (format!("ip{v}-input"), format!("ip{v}-policer-classify"));
            let out = bench.send(&input, &vec![packet(from); n]);
            let passed = n.min(10);
            assert_eq!(out.len(), passed);
            let all = [
                (node.as_str(), "Policer classify action drop", (n - passed) as u64),
                (node.as_str(), "Policer classify hits", n as u64),
            ];
            bench.expect(if n > passed { &all } else { &all[1..] });
            assert_eq!(colors(&bench, 1), [passed as u64, 0, (n - passed) as u64]);
            assert_eq!(bench.send(&input, &vec![packet(other); n]).len(), n);
            bench.expect(&[(&node, "Policer classify misses", n as u64)]);
            let shown = bench.run("show classify tables verbose").unwrap();
            assert!(shown.contains(&format!("hits {n},")), "{shown}");
            bench.run(&format!("set policer classify interface pg0 ip{v}-table 0 del")).unwrap();
            assert_eq!(bench.send(&input, &vec![packet(from); n]).len(), n);
            bench.expect(&[]);
        }
    }
}

#[test]
fn sessions_say_the_colour_that_policers_are_aware_of() {
    let mut bench = bench(1);
    bench
        .run(
            "policer add name one type 1r3c color-aware cir 1000 cb 9000 eb 9000 exceed-action \
             mark-and-transmit AF21",
        )
        .unwrap();
    sorted(&mut bench, false, "opaque-index exceed-color");
    let out = bench.send("ip4-input", &packets(2));
    assert_eq!(out.iter().map(|c| c.bytes[1] >> 2).collect::<Vec<_>>(), [18, 18]);
    assert!(wire::checksum::Sum::ZERO.add_bytes(&out[0].bytes[..20]).is_valid());
    assert_eq!(colors(&bench, 0), [0, 2, 0]);
    bench.run("policer add name mark cir 1 cb 1 violate-action drop").unwrap();
    let gone = bench
        .run("classify session policer-hit-next nobody table-index 0 match l3 ip4 src 1.1.1.1");
    assert!(gone.unwrap_err().contains("no such policer"));
    // The policer of a session may be deleted: packets pass then.
    bench.run("policer del name one").unwrap();
    assert_eq!(bench.send("ip4-input", &packets(2)).len(), 2);
}

#[test]
fn bridged_frames_meet_the_policer_of_their_session() {
    let features = [net::fast_path::FEATURE, l2::FEATURE, classify::FEATURE, FEATURE];
    let mut bench = Bench::featuring(&features, 1, |_| (), |_| ());
    for line in [
        "set interface l2 bridge pg0 1",
        "set interface l2 bridge pg1 1",
        "policer add name one cir 1 cb 300 conform-action mark-and-transmit ef",
        "classify table mask l2 src",
        "classify session policer-hit-next one table-index 0 match l2 src 02:00:00:01:00:01",
        "set policer classify interface pg0 l2-table 0",
    ] {
        bench.run(line).unwrap();
    }
    let frame = |src: u8, kind: [u8; 2], rest: Vec<u8>| {
        [&[2, 0, 0, 1, 0, 9, 2, 0, 0, 1, 0, src][..], &kind, &rest].concat()
    };
    let ip = |src| frame(src, [8, 0], udp4(HOST4, "10.0.1.2", 99, &[0; 58]));
    let other = frame(1, [0x45, 0x45], vec![0x45; 86]);
    let sent = |bench: &mut Bench, frames: &[Vec<u8>]| -> Vec<_> {
        let out = bench.send("ethernet-input", frames);
        out.iter().filter(|c| c.at == "sent").map(|c| c.bytes.clone()).collect()
    };
    let out = sent(&mut bench, &[ip(1), ip(2), other.clone(), ip(1), ip(1)]);
    let tos: Vec<_> = out.iter().map(|bytes| bytes[15] >> 2).collect();
    assert_eq!(tos, [46, 0, 0x45 >> 2, 46], "marked where there is a header");
    assert_eq!(out[2], other);
    assert_eq!(colors(&bench, 0), [3, 0, 1]);
    for (kind, count) in [(0, 0), (1, 0), (2, 1)] {
        let kind = classify::PolicerClassifyTable(kind);
        let dump = classify::PolicerClassifyDump { kind, sw_if_index: InterfaceIndex(u32::MAX) };
        bench.talk(|local, router| assert_eq!(local.dump(router, &dump).len(), count));
    }
}

/// A bridge of pg0 and pg1, or of sub-interfaces of theirs, in which frames keep their tags.
fn bridge(threads: usize, sub: Option<SubInterface>) -> (Bench, [InterfaceIndex; 2]) {
    let features = [net::fast_path::FEATURE, l2::FEATURE, classify::FEATURE, FEATURE];
    let mut bench = Bench::featuring(&features, threads, |_| (), |_| ());
    let ports = [bench.pg0, bench.pg1].map(|port| {
        let Some(sub) = sub else { return port };
        bench.control(|router| {
            let index = router.add_sub_interface(port, sub).unwrap();
            router.set_admin(index, true);
            index
        })
    });
    for port in ports {
        let name = bench.router.interfaces.name(port.0).to_owned();
        bench.run(&format!("set interface l2 bridge {name} 1")).unwrap();
    }
    (bench, ports)
}

#[test]
fn frames_of_bridged_interfaces_are_policed_received_and_sent() {
    let s_tag = |vlan: u16| [&[0x88, 0xa8][..], &vlan.to_be_bytes()].concat();
    let c_tag = |vlan: u16| [&[0x81, 0][..], &vlan.to_be_bytes()].concat();
    for (sub, tags) in [
        (None, vec![]),
        (Some(SubInterface::dot1q(7, 7)), c_tag(7)),
        (Some(SubInterface { is_dot1ad: true, ..SubInterface::dot1q(7, 8) }), s_tag(8)),
        (
            Some(SubInterface {
                tags: 2,
                is_dot1ad: true,
                inner: Some(9),
                ..SubInterface::dot1q(7, 8)
            }),
            [s_tag(8), c_tag(9)].concat(),
        ),
    ] {
        for (direction, n) in [0, 1].into_iter().flat_map(|d| [1, 3, 4, 255, 256].map(|n| (d, n))) {
            let (mut bench, ports) = bridge(1, sub);
            let ip = |is_4| match is_4 {
                true => [&[8, 0][..], &udp4(HOST4, "10.0.1.2", 99, &[0; 58])].concat(),
                false => [&[0x86, 0xdd][..], &udp6(HOST6, "2001:db8:1::2", 99, &[0; 38])].concat(),
            };
            let frame = |rest: Vec<u8>| {
                let mac = [2, 0, 0, 1, 0, 9, 2, 0, 0, 1, 0, 1];
                [&mac[..], &tags, &rest].concat()
            };
            let room = 4 * frame(ip(true)).len();
            bench
                .run(&format!(
                    "policer add name one cir 1 cb {room} conform-action mark-and-transmit ef"
                ))
                .unwrap();
            let [word, node] =
                [["input", "l2-policer-input"], ["output", "l2-policer-output"]][direction];
            let name = bench.router.interfaces.name(ports[direction].0).to_owned();
            bench.run(&format!("policer {word} name one {name}")).unwrap();
            let class = |b: &[u8]| match &b[tags.len() + 12..] {
                [8, 0, _, tos, ..] => tos >> 2,
                [0x86, 0xdd, a, b, ..] => (a << 4 | b >> 4) >> 2,
                other => panic!("{other:?}"),
            };
            let sent = |bench: &mut Bench, n| -> Vec<u8> {
                let frames: Vec<_> = (0..n).map(|i| frame(ip(i % 2 == 0))).collect();
                let out = bench.send("ethernet-input", &frames);
                out.iter().filter(|c| c.at == "sent").map(|c| class(&c.bytes)).collect()
            };
            let passed = n.min(4);
            assert_eq!(sent(&mut bench, n), vec![46; passed], "{sub:?} {word} {n}");
            assert_eq!(colors(&bench, 0), [passed as u64, 0, (n - passed) as u64]);
            let (dropped, passed) = ((n - passed) as u64, passed as u64);
            let moved = bench.graph.moved_counters();
            let of_node = |(name, what, count): (String, &'static str, u64)| {
                (name == node).then_some((what, count))
            };
            let all = [("Packets Dropped", dropped), ("Packets Transmitted", passed)];
            assert_eq!(
                moved.into_iter().filter_map(of_node).collect::<Vec<_>>(),
                if dropped > 0 { &all[..] } else { &all[1..] }
            );
            // Not the other direction, and no longer.
            let other = ["output", "input"][direction];
            bench.run(&format!("policer {word} unapply name one {name}")).unwrap();
            bench.run(&format!("policer {other} name one {name}")).unwrap();
            assert_eq!(sent(&mut bench, n), vec![0; n]);
        }
    }
}

#[test]
fn frames_are_handed_to_the_thread_of_their_policer() {
    for word in ["input name one pg0", "output name one pg1"] {
        let (mut bench, _) = bridge(2, None);
        bench.run("policer add name one cir 1 cb 1000").unwrap();
        bench.run(&format!("policer {word}")).unwrap();
        let payload = [0x45; 86];
        let frame = [&[2, 0, 0, 1, 0, 9, 2, 0, 0, 1, 0, 1, 0x45, 0x45][..], &payload].concat();
        let sent = |bench: &mut Bench, thread| {
            let out = bench.send_on(thread, "ethernet-input", &vec![frame.clone(); 6]);
            assert!(out.iter().filter(|c| c.at == "sent").all(|c| c.bytes == frame));
            out.iter().filter(|c| c.at == "sent").count()
        };
        assert_eq!([sent(&mut bench, 0), sent(&mut bench, 1)], [6, 4], "{word}");
        assert_eq!(colors(&bench, 0), [10, 0, 2]);
        let by_first: u64 =
            counters(&bench.router).iter().map(|c| c.row(0)[0].value().packets).sum();
        assert_eq!(by_first, 12, "all by the first that had a frame");
    }
}

#[test]
fn sorted_packets_are_handed_to_the_thread_of_their_policer() {
    let mut bench = bench(2);
    bench.run(&format!("policer add name one {SLOW}")).unwrap();
    sorted(&mut bench, false, "");
    assert_eq!(bench.send("ip4-input", &packets(6)).len(), 6);
    assert_eq!(bench.send_on(1, "ip4-input", &packets(6)).len(), 4);
    assert_eq!(colors(&bench, 0), [10, 0, 2]);
}
