//! Simulates delay, loss and reordering on links: tests with packets.

use control::api::Retval;
use net::testing::packets::*;
use net::testing::whole::{Bench, HOST, PG0, sent};
use nsim::*;
use wire::ethernet::{EtherType, Header};
use zerocopy::IntoBytes;

const LINK: &str = "set nsim delay 100 ms bandwidth 1 gbit packet-size 128";

fn bench(lines: &[&str]) -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    for line in lines {
        b.set(line);
    }
    b.wait(0.0);
    b
}

fn frames(n: usize) -> Vec<Vec<u8>> {
    let packet = udp4("10.0.0.2", "10.0.1.2", 9, &[7; 30]);
    let header = Header::new(PG0, HOST, EtherType::IP4);
    vec![[header.as_bytes(), &packet].concat(); n]
}

/// Number of frames that leave at once, and number after some time.
fn through(b: &mut Bench, n: usize, seconds: f64) -> [usize; 2] {
    let rx = b.pg0.0;
    let at_once = sent(&b.graph.send("nsim", &frames(n), move |p| p.set_rx(rx))).len();
    [at_once, sent(&b.wait(seconds)).len()]
}

fn count(b: &mut Bench, node: &str, name: &str) -> u64 {
    let moved = b.graph.moved_counters();
    moved.into_iter().find(|(n, t, _)| n == node && *t == name).map_or(0, |(_, _, count)| count)
}

#[test]
fn connected_interfaces_pass_packets_on_late() {
    let mut b = bench(&[LINK, "nsim cross-connect enable-disable pg0 pg1"]);
    for n in [1, 3, 4, 255, 256] {
        assert_eq!(through(&mut b, n, 0.2), [0, n]);
        let moved = b.graph.moved_counters();
        let has = |node: &str, name: &str| {
            moved.iter().any(|(m, t, count)| m == node && *t == name && *count == n as u64)
        };
        assert!(has("nsim", "Packets buffered"), "{moved:?}");
        assert!(has("nsim-wheel", "Packets transmitted"), "{moved:?}");
    }
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn a_link_holds_so_much_and_loses_and_reorders_some() {
    let small = "set nsim delay 100 ms bandwidth 102400 packet-size 128";
    let mut b = bench(&[small, "nsim cross-connect enable-disable pg0 pg1"]);
    assert_eq!(through(&mut b, 256, 0.2), [0, 11]);
    assert_eq!(count(&mut b, "nsim", "Packets dropped due to lack of space"), 245);
    b.cli(&format!("{LINK} packets-per-drop 1"));
    assert_eq!(through(&mut b, 256, 0.2), [0, 0]);
    assert_eq!(count(&mut b, "nsim", "Network loss simulation drop packets"), 256);
    b.cli(&format!("{LINK} reorder-fraction 1"));
    assert_eq!(through(&mut b, 256, 0.0), [256, 0]);
    assert_eq!(count(&mut b, "nsim", "Packets reordered"), 256);
    b.cli(&format!("{LINK} drop-fraction 0.5"));
    let [_, late] = through(&mut b, 256, 0.2);
    assert!((64..192).contains(&late), "{late}");
}

#[test]
fn what_an_interface_sends_is_late() {
    let mut b = bench(&[
        LINK,
        "set ip neighbor pg1 10.9.9.9 02:00:00:00:00:bb",
        "ip route add 10.0.1.2/32 via 10.9.9.9 pg1",
        "nsim output-feature enable-disable pg1",
    ]);
    let on = b.pg0;
    for n in [1, 3, 4, 255, 256] {
        assert_eq!(sent(&b.receive(on, &frames(n))).len(), 0);
        assert_eq!(count(&mut b, "nsim-output-feature", "Packets buffered"), n as u64);
        assert_eq!(sent(&b.wait(0.2)).len(), n);
    }
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn clients_and_commands_set_links() {
    let mut b = bench(&[]);
    assert!(b.cli("nsim output-feature enable-disable pg0").contains("set nsim"));
    assert!(b.cli("set nsim delay 0 bandwidth 1 packet-size 128").contains("delay"));
    assert!(b.cli("set nsim delay 1 bandwidth 1 packet-size 12").contains("12"));
    assert!(b.cli("show nsim").contains("not configured"));
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.talk(|local, router| {
        let connect = |on, sw_if_index1| NsimCrossConnectEnableDisable {
            enable_disable: on,
            sw_if_index0: pg0,
            sw_if_index1,
        };
        let refused = local.call(router, &connect(true, pg1)).err();
        assert_eq!(refused, Some(Retval::CANNOT_ENABLE_DISABLE_FEATURE));
        let link = |delay_in_usec, average_packet_size| NsimConfigure2 {
            delay_in_usec,
            average_packet_size,
            bandwidth_in_bits_per_second: 1_000_000,
            packets_per_drop: 4,
            packets_per_reorder: 0,
        };
        assert_eq!(local.call(router, &link(0, 128)).err(), Some(Retval::INVALID_VALUE));
        assert_eq!(local.call(router, &link(9, 9)).err(), Some(Retval::INVALID_VALUE_2));
        local.call(router, &link(250_000, 128)).unwrap();
        let nowhere = net::InterfaceIndex(99);
        let refused = local.call(router, &connect(true, nowhere)).err();
        assert_eq!(refused, Some(Retval::INVALID_SW_IF_INDEX_2));
        local.call(router, &connect(true, pg1)).unwrap();
        let late = NsimOutputFeatureEnableDisable { enable_disable: true, sw_if_index: pg1 };
        local.call(router, &late).unwrap();
    });
    let lines = "set nsim delay 0.25 bandwidth 1000000 packet-size 128 drop-fraction 0.25\n\
                 nsim cross-connect enable-disable pg0 pg1\n\
                 nsim output-feature enable-disable pg1\n";
    assert_eq!(b.cli("show configuration nsim"), lines);
    assert!(b.cli("show nsim").contains("delay: 250.0 ms"));
    b.cli("nsim cross-connect enable-disable pg0 pg1 disable");
    b.cli("nsim output-feature enable-disable pg1 disable");
    assert!(!b.cli("show configuration nsim").contains("pg"));
}

#[test]
fn a_buffer_lets_packets_out_one_by_one() {
    // A frame of 72 bytes takes a second.
    let slow = "set nsim delay 1 ms bandwidth 576 packet-size 128 buffer 2500 ms";
    let mut b = bench(&[slow, "nsim cross-connect enable-disable pg0 pg1"]);
    assert_eq!(through(&mut b, 10, 1.0), [0, 1]);
    assert_eq!(count(&mut b, "nsim", "Packets dropped due to lack of space"), 7);
    assert_eq!(sent(&b.wait(0.75)).len(), 1);
    assert_eq!(sent(&b.wait(0.75)).len(), 1);
    b.set(&format!("{slow} rate-stall bandwidth 1 every 5 for 1000"));
    assert_eq!(through(&mut b, 1, 1.0), [0, 1]);
    b.wait(5.0);
    assert_eq!(through(&mut b, 1, 3.0), [0, 0], "it takes 576 seconds");
    assert_eq!(sent(&b.wait(576.0)).len(), 1);
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn losses_come_in_bursts_or_once() {
    let mut b = bench(&[LINK, "nsim cross-connect enable-disable pg0 pg1"]);
    b.set(&format!("{LINK} burst-loss-prob 1 burst-duration 50 ms"));
    assert_eq!(through(&mut b, 3, 0.2), [0, 0]);
    b.set(&format!("{LINK} drop-once after 2 s for 1 s"));
    assert_eq!(through(&mut b, 3, 0.2), [0, 3]);
    b.wait(1.5);
    assert_eq!(through(&mut b, 3, 0.2), [0, 0]);
    b.wait(0.5);
    assert_eq!(through(&mut b, 3, 0.2), [0, 3]);
    b.set(&format!("{LINK} reorder-fraction 1 reorder-delay 1 s"));
    assert_eq!(through(&mut b, 3, 0.5), [0, 0]);
    assert_eq!(sent(&b.wait(0.75)).len(), 3, "later than others");
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn parameters_of_a_link_are_kept() {
    let mut b = bench(&[]);
    let line = "set nsim delay 0.25 bandwidth 1000000 packet-size 128 reorder-delay 0.5 \
                buffer 0.1 burst-loss-prob 0.125 burst-duration 2 drop-once after 1 for 2 \
                rate-stall bandwidth 1000 every 4 for 2\n";
    b.set(line.trim_end());
    assert_eq!(b.cli("show configuration nsim"), line);
    for (words, why) in [
        ("rate-stall bandwidth 1 every 2 for 1", "needs a buffer"),
        ("buffer 1 rate-stall bandwidth 1 every 0 for 1", "a time must be"),
        ("buffer 1 rate-stall bandwidth 0 every 1 for 1", "bandwidth must be"),
        ("burst-loss-prob 2 burst-duration 1", "a fraction must be"),
        ("burst-loss-prob 1", "expected burst-duration"),
        ("drop-once after 1", "expected for"),
        ("buffer -1", "a time must be"),
        ("wifi", "not `wifi'"),
    ] {
        let said = b.cli(&format!("{LINK} {words}"));
        assert!(said.contains(why), "{words}: {said}");
    }
    assert_eq!(b.cli("show configuration nsim"), line, "what is refused changes nothing");
}
