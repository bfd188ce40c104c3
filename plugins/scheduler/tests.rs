//! Packets routed from `pg0` leave by `pg1` at the rate, in the order and in the shares of its
//! scheduler.

use control::api::Retval;
use net::testing::packets::*;
use net::testing::whole::{Bench, HOST, PG0, sent};
use net::testing::{Rig, Transmit, new_interface};
use scheduler::*;
use wire::MacAddr;
use wire::ethernet::{EtherType, Header};
use zerocopy::IntoBytes;

/// Length of an Ethernet header.
const ETHERNET: usize = 14;
const TO: &str = "10.0.1.2";

fn bench(lines: &[&str]) -> Bench {
    let features =
        [l2::FEATURE, mpls::FEATURE, classify::FEATURE, policer::FEATURE, qos::FEATURE, FEATURE];
    let mut b = Bench::plugged(&features);
    let first = ["set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb", "qos record ip pg0"];
    first.iter().chain(lines).for_each(|line| b.set(line));
    b.wait(0.0);
    b
}

/// Frames whose packets have so many bytes, with a type of service.
fn frames(to: &str, tos: u8, bytes: usize, n: usize) -> Vec<Vec<u8>> {
    let packet = udp4("10.0.0.2", to, 9, &vec![7; bytes - 28]);
    let packet = changed4(packet, |header| header.set_tos(tos));
    let header = Header::new(PG0, HOST, EtherType::IP4);
    vec![[header.as_bytes(), &packet].concat(); n]
}

/// Type of service of a frame without tags.
fn tos(frame: &[u8]) -> u8 {
    frame[ETHERNET + 1]
}

/// Offers these frames in steps of 10 ms, after a first second that is not counted; bytes a second
/// that left, by what `of` says of each frame.
fn rates<const N: usize>(
    b: &mut Bench,
    offered: &[Vec<u8>],
    seconds: f64,
    of: impl Fn(&[u8]) -> usize,
) -> [f64; N] {
    let on = b.pg0;
    let mut sums = [0; N];
    let now = |b: &Bench| b.graph.engine.clock().now();
    let mut start = now(b);
    let (mut is_counting, mut last) = (false, start);
    loop {
        b.graph.engine.clock().adjust(0.01);
        let caught = b.receive(on, offered);
        let time = now(b);
        if time - std::mem::replace(&mut last, time) > 0.1 {
            // The machine did something else for longer than queues last.
            (sums, is_counting, start) = ([0; N], false, time);
        } else if is_counting {
            sent(&caught).iter().for_each(|frame| sums[of(frame)] += frame.len());
            if time - start >= seconds {
                return sums.map(|sum| sum as f64 / (time - start));
            }
        } else if time - start >= 1.0 {
            (is_counting, start) = (true, time);
        }
    }
}

#[track_caller]
fn is_about(found: f64, wanted: f64) {
    assert!((found / wanted - 1.0).abs() < 0.01, "{found} instead of {wanted}");
}

fn count(b: &mut Bench, name: &str) -> u64 {
    let moved = b.graph.moved_counters();
    let of = |(node, text, _): &&(String, &str, u64)| node == "scheduler-output" && *text == name;
    moved.iter().find(of).map_or(0, |moved| moved.2)
}

#[test]
fn a_port_sends_at_its_rate() {
    let mut b = bench(&["scheduler port pg1 rate 800k burst 20000"]);
    // The wire adds 24 bytes to each frame of 1014.
    let [rate] = rates(&mut b, &frames(TO, 0, 1000, 8), 20.0, |_| 0);
    is_about(rate, 100_000.0 * 1014.0 / 1038.0);
    let shown = b.cli("show scheduler pg1");
    assert!(shown.contains("rate 800k burst 20000 overhead 24"), "{shown}");
    // Nothing is lost but what was counted, and all leaves in the end.
    let Counted { waiting, dropped, .. } = show_of(&mut b);
    assert!((60..=64).contains(&waiting) && dropped > 0, "{waiting} wait, {dropped} dropped");
    assert_eq!(sent(&b.wait(2.0)).len() as u64, waiting);
    assert_eq!(b.graph.buffers_used(), 0);
}

/// Counters of all queues of pipe 0.
fn show_of(b: &mut Bench) -> Counted {
    let pg1 = b.pg1;
    b.control(|router, _| pipes(router, pg1)[0].counted)
}

#[test]
fn frames_of_all_sizes_of_vectors_are_queued_and_counted() {
    for n in [1, 3, 4, 255, 256] {
        let mut b = bench(&["scheduler port pg1 rate 8k burst 1 queue-length 100"]);
        let on = b.pg0;
        b.graph.moved_counters();
        let at_once = sent(&b.receive(on, &frames(TO, 0, 986, n))).len();
        assert_eq!(at_once, 1);
        let dropped = n.saturating_sub(100);
        assert_eq!(count(&mut b, "queue is full"), dropped as u64);
        let counted = show_of(&mut b);
        assert_eq!(counted.waiting as usize, n - dropped - 1);
        assert_eq!((counted.sent, counted.sent_bytes), (1, 1000));
        assert_eq!(counted.dropped as usize, dropped);
    }
}

#[test]
fn classes_go_in_strict_order_and_one_with_a_rate_starves_nobody() {
    let mut b = bench(&[
        "scheduler port pg1 rate 800k burst 20000 overhead 0",
        "scheduler map pg1 ip from 184 tc 0 queue 0",
    ]);
    let both = [frames(TO, 184, 1000, 4), frames(TO, 0, 1000, 4)].concat();
    let by_class = |frame: &[u8]| usize::from(tos(frame) == 0);
    let [first, last] = rates(&mut b, &both, 10.0, by_class);
    is_about(first, 100_000.0);
    assert_eq!(last, 0.0);
    b.cli("scheduler profile 0 tc0 200k");
    let [first, last] = rates(&mut b, &both, 20.0, by_class);
    is_about(first, 25_000.0);
    is_about(last, 75_000.0);
}

#[test]
fn queues_of_a_class_share_by_weight() {
    let mut b = bench(&[
        "scheduler profile 5 tc3-weights 1:2:4:1",
        "scheduler port pg1 rate 1600k burst 40000 overhead 0",
        "scheduler pipe pg1 0 0 profile 5",
        "scheduler map pg1 ip from 4 to 7 tc 3 queue 1",
        "scheduler map pg1 ip from 8 tc 3 queue 2",
        "scheduler map pg1 ip from 12 tc 3 queue 3",
    ]);
    // Packets of other lengths do not get more.
    let all: Vec<_> = [(0, 1000), (4, 1000), (8, 500), (12, 1400)]
        .iter()
        .flat_map(|(tos, bytes)| frames(TO, *tos, *bytes, 6))
        .collect();
    let found: [f64; 4] = rates(&mut b, &all, 20.0, |frame| usize::from(tos(frame) / 4));
    for (found, weight) in found.into_iter().zip([1.0, 2.0, 4.0, 1.0]) {
        is_about(found, 200_000.0 * weight / 8.0);
    }
}

/// A port with two sub-interfaces, and hosts behind them.
fn with_subs(lines: &[&str]) -> Bench {
    let mut b = bench(&[]);
    for line in ["create sub-interfaces pg1 10", "create sub-interfaces pg1 20"] {
        b.cli(line);
    }
    let more = [
        "set interface state pg1.10 up",
        "set interface state pg1.20 up",
        "set interface ip address pg1.10 10.10.0.1/24",
        "set interface ip address pg1.20 10.20.0.1/24",
        "set ip neighbor pg1.10 10.10.0.2 02:00:00:00:00:bb",
        "set ip neighbor pg1.20 10.20.0.2 02:00:00:00:00:bb",
    ];
    more.iter().for_each(|line| b.set(line));
    // Announcements of the addresses leave before there is a port.
    b.wait(0.0);
    lines.iter().for_each(|line| b.set(line));
    b.wait(0.0);
    b
}

/// 0 for VLAN 10, 1 for VLAN 20.
fn vlan(frame: &[u8]) -> usize {
    usize::from(frame[15] / 10 - 1)
}

#[test]
fn pipes_take_turns_by_bytes_and_are_shaped() {
    let mut b = with_subs(&[
        "scheduler port pg1 rate 800k burst 20000 overhead 0",
        "scheduler subport pg1 1",
        "scheduler pipe pg1 1 1",
        "scheduler pipe pg1 1 2",
        "scheduler vlan pg1 10 subport 1 pipe 1",
        "scheduler sub-interface pg1.20 subport 1 pipe 2",
    ]);
    let small = frames("10.10.0.2", 0, 400, 8);
    let both = [small, frames("10.20.0.2", 0, 1000, 8)].concat();
    let [small, large] = rates(&mut b, &both, 30.0, vlan);
    is_about(small, 50_000.0);
    is_about(large, 50_000.0);
    // A pipe with a limit leaves the rest to the other.
    b.cli("scheduler profile 1 rate 160k");
    b.cli("scheduler pipe pg1 1 1 profile 1");
    let [small, large] = rates(&mut b, &both, 20.0, vlan);
    is_about(small, 20_000.0);
    is_about(large, 80_000.0);
    // So does the subport to the port.
    b.cli("scheduler subport pg1 1 rate 400k");
    let [small, large] = rates(&mut b, &both, 20.0, vlan);
    is_about(small, 20_000.0);
    is_about(large, 30_000.0);
}

#[test]
fn subports_take_turns() {
    let mut b = with_subs(&[
        "scheduler port pg1 rate 800k burst 20000 overhead 0",
        "scheduler subport pg1 1",
        "scheduler pipe pg1 1 0",
        "scheduler vlan pg1 20 subport 1 pipe 0",
    ]);
    let both = [frames("10.10.0.2", 0, 300, 12), frames("10.20.0.2", 0, 1200, 8)].concat();
    let [one, other] = rates(&mut b, &both, 30.0, vlan);
    is_about(one, 50_000.0);
    is_about(other, 50_000.0);
}

#[test]
fn long_queues_drop_early_what_is_colored() {
    let mut b = bench(&[
        "scheduler port pg1 rate 80k queue-length 64",
        "scheduler red pg1 tc 3 yellow min 4 max 8 weight 0",
        "policer add name one cir 1 cb 1 type 2r3c-2698 eir 100000 eb 100000 \
         exceed-action transmit conform-action transmit violate-action drop",
        "policer input name one pg0",
    ]);
    let on = b.pg0;
    b.receive(on, &frames(TO, 0, 1000, 60));
    let counted = show_of(&mut b);
    // Between the thresholds some are dropped, beyond them all; time passes meanwhile.
    assert!(counted.waiting <= 8 && counted.waiting + counted.sent >= 5, "{counted:?}");
    assert!(counted.early_dropped >= 50, "{counted:?}");
    assert_eq!(count(&mut b, "random early detection"), counted.early_dropped);
    // Others are not.
    b.cli("policer input unapply name one pg0");
    b.receive(on, &frames(TO, 0, 1000, 30));
    assert!(show_of(&mut b).waiting >= 30);
}

#[test]
fn the_classifier_names_pipes() {
    let mut b = bench(&[
        "scheduler port pg1 rate 8k burst 1",
        "scheduler subport pg1 7",
        "scheduler pipe pg1 7 3",
        "scheduler class pg1 9 subport 7 pipe 3 tc 1 queue 2",
        "classify table mask l3 ip4 dst",
    ]);
    assert_eq!(b.cli("scheduler classify pg1 table 0"), "");
    let text =
        b.cli(&format!("classify session opaque-index 9 table-index 0 match l3 ip4 dst {TO}"));
    assert_eq!(text, "");
    let on = b.pg0;
    b.receive(on, &frames(TO, 0, 1000, 5));
    let pg1 = b.pg1;
    let found = b.control(|router, _| pipes(router, pg1));
    assert_eq!((found[0].counted.waiting, found[1].counted.waiting), (0, 4));
    let queue = found[1].queues.iter().find(|q| q.counted.waiting == 4).unwrap();
    assert_eq!((queue.class, queue.queue), (1, 2));
}

#[test]
fn what_waits_for_what_is_deleted_is_dropped_and_counted() {
    let mut b = with_subs(&[
        "scheduler port pg1 rate 8k burst 1",
        "scheduler subport pg1 1",
        "scheduler pipe pg1 1 1",
        "scheduler vlan pg1 10 subport 1 pipe 1",
    ]);
    let on = b.pg0;
    let both = [frames("10.20.0.2", 0, 986, 5), frames("10.10.0.2", 0, 986, 5)].concat();
    assert_eq!(sent(&b.receive(on, &both)).len(), 1);
    assert!(b.cli("scheduler pipe pg1 1 1 del").contains("in use"));
    b.cli("scheduler vlan pg1 10 del");
    assert_eq!(b.cli("scheduler pipe pg1 1 1 del"), "");
    b.wait(0.0);
    b.receive(on, &frames("10.20.0.2", 0, 986, 1));
    assert_eq!(count(&mut b, "pipe or interface is deleted"), 5);
    assert_eq!(show_of(&mut b).waiting, 5);
    b.cli("delete sub-interface pg1.20");
    assert_eq!(sent(&b.wait(10.0)).len(), 0);
    assert_eq!(count(&mut b, "pipe or interface is deleted"), 5);
    b.receive(on, &frames(TO, 0, 1000, 5));
    assert_eq!(b.cli("scheduler port pg1 del"), "");
    b.wait(0.0);
    assert_eq!(count(&mut b, "pipe or interface is deleted"), 4);
    assert_eq!(b.graph.buffers_used(), 0);
    // And what comes then leaves at once.
    assert_eq!(sent(&b.receive(on, &frames(TO, 0, 1000, 5))).len(), 5);
}

#[test]
fn a_port_is_full_before_memory_is() {
    let mut b = bench(&["scheduler port pg1 rate 8k burst 1 packets 10"]);
    let on = b.pg0;
    b.receive(on, &frames(TO, 0, 1000, 31));
    assert_eq!(count(&mut b, "port is full"), 21);
    let json = b.cli("show scheduler verbose");
    assert!(json.contains("packets 10 pipes 64 memory "), "{json}");
    assert!(json.contains("tc 3 queue 0: waiting 9 sent 1"), "{json}");
}

#[test]
fn a_port_belongs_to_one_thread() {
    let features: Vec<net::Feature> = plugins::features().copied().collect();
    let (mut rig, pg1) = Rig::made(
        2,
        &features,
        |_| (),
        |router| {
            let new = new_interface("pg1", MacAddr([2, 0, 0, 0, 0, 9]));
            router.add_interface(new, Transmit).unwrap()
        },
    );
    rig.set("set interface state pg1 up\nscheduler port pg1 rate 8k burst 1");
    let all = frames(TO, 0, 986, 5);
    let send = |rig: &mut Rig, thread| {
        let out = rig.graph.send_on(thread, "pg1-output", &all, move |p| p.set_tx(pg1.0));
        sent(&out).len()
    };
    assert_eq!([send(&mut rig, 1), send(&mut rig, 0)], [1, 0]);
    let shown = rig.run("show scheduler");
    assert!(shown.contains(" thread 1\n  waiting 9 sent 1 (1000 bytes)"), "{shown}");
}

const ALL: &str = "\
scheduler profile 1 rate 10m burst 20000 tc0 2m tc3-weights 1:2:4:8
scheduler port pg1 rate 1g overhead 20 queue-length 128 packets 8192 pipes 32
scheduler subport pg1 1 rate 100m tc1 50m
scheduler pipe pg1 1 1 profile 1
scheduler map pg1 vlan from 5 tc 1 queue 0
scheduler map pg1 ip from 184 to 187 tc 0 queue 3
scheduler class pg1 9 subport 1 pipe 1 tc 2
scheduler classify pg1 table 4
scheduler vlan pg1 30 subport 1 pipe 1
scheduler red pg1 tc 3 yellow min 16 max 32 inverse 20
scheduler sub-interface pg1.10 subport 1 pipe 1
";

#[test]
fn its_configuration_is_the_commands_that_made_it() {
    let mut b = with_subs(&[]);
    ALL.lines().for_each(|line| b.set(line));
    assert_eq!(b.cli("show configuration scheduler"), ALL);
    assert!(b.cli("scheduler profile 1 del").contains("in use"));
    assert!(b.cli("scheduler port pg1 rate 2g pipes 64").contains("set once"));
    assert_eq!(b.cli("scheduler port pg1 del"), "");
    assert_eq!(b.cli("scheduler profile 1 del"), "");
    assert_eq!(b.cli("show configuration scheduler"), "");
}

#[test]
fn bad_requests_change_nothing() {
    let mut b = with_subs(&["scheduler port pg1"]);
    let before = b.cli("show configuration scheduler");
    for (line, word) in [
        ("scheduler port pg0.9", "pg0.9"),
        ("scheduler port pg1.10", "sub-interface"),
        ("scheduler port pg1 rate 1x", "1x"),
        ("scheduler port pg0 packets 0", "packets"),
        ("scheduler port pg0 overhead 999", "overhead"),
        ("scheduler port pg0 pipes 99999", "pipes"),
        ("scheduler subport pg0 1", "has no scheduler"),
        ("scheduler subport pg1 0 del", "subport 0"),
        ("scheduler pipe pg1 3 1", "subport 3"),
        ("scheduler pipe pg1 0 1 profile 8", "profile 8"),
        ("scheduler map pg1 ip from 1 tc 4 queue 0", "0 to 3"),
        ("scheduler map pg1 ip from 9 to 1 tc 1 queue 0", "before the first"),
        ("scheduler class pg1 256 subport 0 pipe 0", "0 to 255"),
        ("scheduler vlan pg1 5 subport 0 pipe 8", "pipe 8"),
        ("scheduler sub-interface pg1 subport 0 pipe 0", "not a sub-interface"),
        ("scheduler red pg1 tc 0 green min 9 max 9", "min must be below max"),
        ("scheduler profile 1 tc0-weights 0:1:1:1", "at least 1"),
        ("scheduler profile 1 tc0-weights 1:1:1", "1:1:1"),
    ] {
        let text = b.cli(line);
        assert!(text.contains(word), "{line}: {text}");
    }
    assert_eq!(b.cli("show configuration scheduler"), before);
}

#[test]
fn clients_set_schedulers_and_read_queues() {
    let mut b = bench(&[]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    let level = SchedulerLevel { rate: 0, burst: 0, class_rates: [0; 4] };
    let port = |sw_if_index, is_add| SchedulerPortAddDel {
        is_add,
        sw_if_index,
        rate: 8000,
        burst: 1,
        overhead: 24,
        queue_length: 64,
        packets: 100,
        pipes: 4,
    };
    b.talk(|local, router| {
        let nowhere = net::InterfaceIndex(99);
        let refused = local.call(router, &port(nowhere, true)).err();
        assert_eq!(refused, Some(Retval::INVALID_SW_IF_INDEX));
        local.call(router, &port(pg1, true)).unwrap();
        let subport = SchedulerSubportAddDel { is_add: true, sw_if_index: pg1, subport: 2, level };
        local.call(router, &subport).unwrap();
        let profile = SchedulerProfileAddDel { is_add: true, profile: 3, level, weights: [2; 16] };
        local.call(router, &profile).unwrap();
        let pipe = |profile| SchedulerPipeAddDel {
            is_add: true,
            sw_if_index: pg1,
            subport: 2,
            pipe: 1,
            profile,
        };
        assert_eq!(local.call(router, &pipe(4)).err(), Some(Retval::NO_SUCH_ENTRY));
        local.call(router, &pipe(3)).unwrap();
        let map = SchedulerMapSet {
            sw_if_index: pg1,
            source: qos::QosSource::IP,
            first_mark: 184,
            last_mark: 184,
            traffic_class: 1,
            queue: 2,
        };
        local.call(router, &map).unwrap();
        let red = SchedulerRedSet {
            is_add: true,
            sw_if_index: pg1,
            traffic_class: 0,
            color: SchedulerColor(9),
            min: 1,
            max: 2,
            inverse: 10,
            weight: 9,
        };
        assert_eq!(local.call(router, &red).err(), Some(Retval::INVALID_VALUE));
    });
    b.wait(0.0);
    b.receive(pg0, &frames(TO, 184, 986, 5));
    b.talk(|local, router| {
        let queues = local.dump(router, &SchedulerQueueDump { sw_if_index: pg1 });
        let [queue] = &queues[..] else { panic!("{queues:?}") };
        assert_eq!((queue.traffic_class, queue.queue, queue.subport), (1, 2, 0));
        assert_eq!((queue.waiting, queue.sent, queue.sent_bytes), (4, 1, 1000));
        local.call(router, &port(pg1, false)).unwrap();
        assert!(local.dump(router, &SchedulerQueueDump { sw_if_index: pg1 }).is_empty());
    });
}
