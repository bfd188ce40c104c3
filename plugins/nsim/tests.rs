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
