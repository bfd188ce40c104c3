//! Connections over IPv6 that begin inside, behind `pg0`, and leave over `pg1`.

use control::api::Retval;
use ct6::*;
use net::testing::packets::*;
use net::testing::whole::{Bench, HOST, PG0, PG1, sent};
use wire::ethernet::{EtherType, Header};
use zerocopy::IntoBytes;

const IN: &str = "2001:db8::2";
const OUT: &str = "2001:db8:1::2";

fn bench() -> Bench {
    let mut b = Bench::plugged(&[sessions::FEATURE, translation::FEATURE, FEATURE]);
    for line in [
        "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb",
        "set ct6 inside pg1",
        "set ct6 outside pg1",
    ] {
        b.set(line);
    }
    b.wait(0.0);
    b
}

/// Number of these packets that leave, coming in inside or from outside.
fn through(b: &mut Bench, from_outside: bool, packets: &[Vec<u8>]) -> usize {
    let (mac, on) = if from_outside { (PG1, b.pg1) } else { (PG0, b.pg0) };
    let header = Header::new(mac, HOST, EtherType::IP6);
    let frame = |packet: &Vec<u8>| [header.as_bytes(), packet].concat();
    let out = b.receive(on, &packets.iter().map(frame).collect::<Vec<_>>());
    sent(&out).len()
}

fn count(b: &mut Bench, node: &str, name: &str) -> u64 {
    let moved = b.graph.moved_counters();
    moved.into_iter().find(|(n, t, _)| n == node && *t == name).map_or(0, |(_, _, count)| count)
}

#[test]
fn only_answers_come_in() {
    let mut b = bench();
    let no_session = |b: &mut Bench| count(b, "ct6-out2in", "ct6 no session drops");
    let (ask, answer) = (udp6(IN, OUT, 9, &[]), udp6(OUT, IN, 9, &[]));
    assert_eq!(through(&mut b, true, std::slice::from_ref(&answer)), 0);
    assert_eq!(no_session(&mut b), 1);
    for n in [1, 3, 4, 255, 256] {
        assert_eq!(through(&mut b, false, &vec![ask.clone(); n]), n);
        let moved = b.graph.moved_counters();
        let of = |name: &str| moved.iter().find(|(_, t, _)| *t == name).map_or(0, |m| m.2);
        assert_eq!(of("ct6 packets processed"), n as u64);
        assert_eq!(of("ct6 sessions created"), u64::from(n == 1));
        let answers = vec![swapped(&ask); n];
        assert_eq!(through(&mut b, true, &answers), n);
        assert_eq!(no_session(&mut b), 0);
    }
    let text = b.cli("show ip6 connection-tracker verbose");
    assert!(text.contains("Thread 0: 1 connections"), "{text}");
    assert!(text.contains(&format!("[{IN}]")) && text.contains("packets 1038"), "{text}");
    // Once expired, no reply passes.
    b.wait(301.0);
    assert_eq!(through(&mut b, true, &[swapped(&ask)]), 0);
    assert!(b.cli("show ip6 connection-tracker").contains("Thread 0: 0 connections"));
}

/// The packet that answers a packet of UDP.
fn swapped(packet: &[u8]) -> Vec<u8> {
    let mut answer = packet.to_vec();
    answer[8..24].copy_from_slice(&packet[24..40]);
    answer[24..40].copy_from_slice(&packet[8..24]);
    answer[40..42].copy_from_slice(&packet[42..44]);
    answer[42..44].copy_from_slice(&packet[40..42]);
    answer
}

#[test]
fn errors_come_in_when_they_are_about_a_connection() {
    let mut b = bench();
    let ask = udp6(IN, OUT, 9, &[1; 8]);
    let error = |about: &[u8]| {
        let mut icmp = vec![1, 0, 0, 0, 0, 0, 0, 0];
        icmp.extend_from_slice(about);
        let mut packet = about[..40].to_vec();
        packet[4..6].copy_from_slice(&(icmp.len() as u16).to_be_bytes());
        packet[6] = 58;
        packet[8..24].copy_from_slice(&about[24..40]);
        packet[24..40].copy_from_slice(&about[8..24]);
        [packet, icmp].concat()
    };
    assert_eq!(through(&mut b, true, &[error(&ask)]), 0);
    assert_eq!(through(&mut b, false, std::slice::from_ref(&ask)), 1);
    assert_eq!(through(&mut b, true, &[error(&ask)]), 1);
    assert_eq!(through(&mut b, true, &[error(&udp6(IN, OUT, 10, &[1; 8]))]), 0);
}

#[test]
fn other_protocols_are_known_by_addresses_and_neighbours_are_heard() {
    let mut b = bench();
    let mut gre = udp6(IN, OUT, 9, &[]);
    gre[6] = 47;
    assert_eq!(through(&mut b, true, &[swapped(&gre)]), 0);
    assert_eq!(through(&mut b, false, &[gre.clone()]), 1);
    assert_eq!(through(&mut b, true, &[swapped(&gre)]), 1);
    b.graph.moved_counters();
    // A truncated solicitation: its own node judges it.
    let mut ns = udp6(OUT, "ff02::1:ff00:1", 9, &[]);
    (ns[6], ns[40]) = (58, 135);
    through(&mut b, true, &[ns]);
    assert_eq!(count(&mut b, "ct6-out2in", "ct6 no session drops"), 0);
}

#[test]
fn clients_and_commands_set_both_sides() {
    let mut b = bench();
    assert_eq!(b.cli("show configuration ct6"), "set ct6 inside pg1\nset ct6 outside pg1\n");
    let pg1 = b.pg1;
    b.talk(|local, router| {
        let set = |is_inside, sw_if_index| Ct6EnableDisable {
            enable_disable: false,
            is_inside,
            sw_if_index,
        };
        local.call(router, &set(true, pg1)).unwrap();
        let nowhere = net::InterfaceIndex(99);
        let refused = local.call(router, &set(true, nowhere)).err();
        assert_eq!(refused, Some(Retval::INVALID_SW_IF_INDEX));
    });
    assert_eq!(b.cli("show configuration ct6"), "set ct6 outside pg1\n");
    assert_eq!(b.cli("set ct6 outside pg1 disable"), "");
    assert_eq!(b.cli("show configuration ct6"), "");
    assert!(b.cli("set ct6 beside pg1").contains("unknown interface `beside pg1'"));
    assert!(b.cli("set ct6 pg1").contains("inside or outside"));
    // The one that was silent longest made room.
    assert_eq!(b.cli("test ip6 connection-tracker"), "Start state: 1 2 3\nEnd state: 2 3 4\n");
    let sized = b.cli("test ip6 connection-tracker max-sessions 2 num-sessions 5");
    assert_eq!(sized, "Start state: 3 4\nEnd state: 4 5\n");
}
