//! Neighbours from outside: frames in, frames and all counters out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use graph::testing::Caught;
use wire::arp::{Operation, Peer};
use wire::ethernet::EtherType;
use wire::{MacAddr, icmp6, ip6, nd};
use zerocopy::{FromBytes, IntoBytes};

use super::Strict;
use super::family::{ArpFrame, NdFrame};
use super::testing::*;
use super::waiting::{MOST, MOST_FOR_ONE};
use crate::interface::Mode;

#[test]
fn requests_for_our_address_are_answered_and_the_asker_is_known() {
    for n in [1usize, 3, 4, 255, 256] {
        let mut b = Bench::new();
        let frame = request(HOST, "10.0.0.2", "10.0.0.1");
        let padded = [frame.as_bytes(), &[0; 18]].concat();
        let out = b.receive(b.pg0, &vec![padded; n]);
        assert_eq!(out.len(), n);
        let answer = arp_of(&out[n - 1]);
        assert_eq!(answer, reply(PG0, "10.0.0.1", HOST, "10.0.0.2"));
        assert_eq!(out[0].tx, b.pg0.0);
        let n = n as u64;
        b.expect(&[("arp-reply", "replies_sent", n), ("arp-reply", "l3_src_address_learned", n)]);
        assert!(b.cli("show ip4 neighbors pg0").contains("   D    02:00:00:00:00:01 pg0\n"));

        let out = b.receive(b.pg1, &[packet_to(PG1, "10.0.0.2")]);
        assert_eq!(out[0].bytes[..12], [HOST.0, PG0.0].concat());
    }
}

#[test]
fn arp_that_is_wrong_is_counted_and_not_answered() {
    let base = request(HOST, "10.0.0.2", "10.0.0.1");
    let with = |change: &dyn Fn(&mut ArpFrame)| {
        let mut frame = base;
        change(&mut frame);
        bytes(frame)
    };
    let cases: Vec<(&str, &str, Vec<u8>)> = vec![
        ("arp-input", "l2_type_not_ethernet", with(&|f| f.arp.hardware = 6.into())),
        ("arp-input", "l2_type_not_ethernet", with(&|f| f.arp.hardware_len = 8)),
        ("arp-input", "l3_type_not_ip4", with(&|f| f.arp.protocol = EtherType::IP6)),
        ("arp-input", "l3_type_not_ip4", with(&|f| f.arp.protocol_len = 16)),
        ("arp-input", "l3_dst_address_unset", with(&|f| f.arp.target.ip = [0; 4])),
        ("arp-input", "l2_type_not_ethernet", bytes(base)[..41].to_vec()),
        ("arp-reply", "l2_address_mismatch", with(&|f| f.ethernet.src = OTHER)),
        ("arp-reply", "l2_address_mismatch", with(&|f| f.arp.sender.mac = OTHER)),
        ("arp-reply", "l3_src_address_is_local", with(&|f| f.arp.sender.ip = [10, 0, 0, 1])),
        ("arp-reply", "l3_src_address_not_local", with(&|f| f.arp.sender.ip = [10, 0, 1, 1])),
        ("arp-reply", "l3_dst_address_not_local", with(&|f| f.arp.target.ip = [10, 0, 0, 9])),
        ("arp-reply", "l3_dst_address_not_local", bytes(request(HOST, "10.0.1.2", "10.0.1.2"))),
        ("arp-reply", "l3_dst_address_not_local", bytes(reply(HOST, "10.0.1.2", PG0, "10.0.1.2"))),
        ("arp-reply", "l3_dst_address_not_local", with(&|f| f.arp.target.ip = [10, 0, 1, 1])),
        ("arp-reply", "opcode_not_request", with(&|f| f.arp.operation = op(3))),
        ("arp-reply", "gratuitous_arp", with(&|f| f.arp.target.ip = [10, 0, 0, 2])),
        ("arp-reply", "replies_received", bytes(reply(HOST, "10.0.0.2", PG0, "10.0.0.9"))),
    ];
    let mut b = Bench::new();
    for (node, counter, frame) in cases {
        for n in [1usize, 4, 256] {
            assert!(b.receive(b.pg0, &vec![frame.clone(); n]).is_empty(), "{counter}");
            b.expect(&[(node, counter, n as u64)]);
        }
    }
    assert_eq!(b.cli("show ip neighbors"), "");
    b.cli("set interface ip address del pg0 10.0.0.1/24");
    assert!(b.receive(b.pg0, &[bytes(base)]).is_empty());
    b.expect(&[("arp-disabled", "disabled", 1)]);
}

fn op(number: u8) -> Operation {
    Operation::read_from_bytes(&[0, number]).unwrap()
}

#[test]
fn a_probe_is_answered_and_nothing_learned() {
    let mut b = Bench::new();
    let out = b.receive(b.pg0, &[bytes(request(HOST, "0.0.0.0", "10.0.0.1"))]);
    assert_eq!(arp_of(&out[0]).arp.target, Peer::new(HOST, Ipv4Addr::UNSPECIFIED));
    b.expect(&[("arp-reply", "replies_sent", 1)]);
    assert_eq!(b.cli("show ip neighbors"), "");
}

#[test]
fn what_is_said_to_all_changes_only_what_is_known() {
    let mut b = Bench::new();
    let hello = bytes(request(HOST, "10.0.0.2", "10.0.0.2"));
    b.receive(b.pg0, &[hello]);
    assert_eq!(b.cli("show ip neighbors"), "");
    b.cli("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01");
    b.cli("set ip neighbor pg0 10.0.0.3 02:00:00:00:00:01 static");
    b.receive(b.pg0, &[bytes(request(OTHER, "10.0.0.2", "10.0.0.2"))]);
    b.receive(b.pg0, &[bytes(request(OTHER, "10.0.0.3", "10.0.0.9"))]);
    let shown = b.cli("show ip neighbors");
    assert!(shown.contains("D    02:00:00:00:00:02 pg0"), "{shown}");
    assert!(shown.contains("S    02:00:00:00:00:01 pg0"), "{shown}");
    let out = b.receive(b.pg1, &[packet_to(PG1, "10.0.0.2")]);
    assert_eq!(out[0].bytes[..6], OTHER.0, "the adjacency follows");
}

#[test]
fn packets_wait_for_the_answer_and_go_on_in_order() {
    for n in [1usize, 3, 4, 64] {
        let mut b = Bench::new();
        let mut packets: Vec<_> = (0..n).map(|_| packet("10.0.1.9")).collect();
        packets.iter_mut().enumerate().for_each(|(i, p)| *p.last_mut().unwrap() = i as u8);
        let out = b.receive(b.pg0, &packets);
        let asked = request(PG1, "10.0.1.1", "10.0.1.9");
        assert_eq!(sent(&out), [asked.as_bytes()]);
        let throttled = ("ip4-glean", "throttled", n as u64 - 1);
        let counters = [("ip4-glean", "request_sent", 1), throttled];
        b.graph.expect_counters(&counters[..1 + usize::from(n > 1)]);
        assert_eq!(b.graph.buffers_used(), n);

        let out = b.receive(b.pg1, &[bytes(reply(HOST, "10.0.1.9", PG1, "10.0.1.1"))]);
        let last: Vec<_> = sent(&out).iter().map(|p| *p.last().unwrap()).collect();
        assert_eq!(last, (0..n as u8).collect::<Vec<_>>());
        assert_eq!(out[0].bytes[..12], [HOST.0, PG1.0].concat());
        b.expect(&[("arp-reply", "replies_received", 1)]);
        assert_eq!(b.wait(5.0), [], "nobody waits any more");
    }
}

#[test]
fn where_none_are_held_each_burst_asks_and_is_dropped() {
    let cases = [
        ("ip4-glean", packet("10.0.1.9"), "10.0.1.9"),
        ("ip6-glean", packet6("2001:db8:1::9"), "2001:db8:1::9"),
    ];
    for (node, packet, neighbor) in cases {
        let mut b = Bench::new();
        let (pg0, pg1) = (b.pg0, b.pg1);
        b.cli("set interface ip address pg1 2001:db8:1::1/64");
        b.wait(0.0);
        b.control(|router, _| router.put(pg1, Strict(true))).unwrap();
        for _ in 0..2 {
            b.graph.caught();
            let out = b.receive(pg0, &vec![packet.clone(); 3]);
            assert_eq!(out.len(), 1, "a question");
            assert_eq!(b.graph.buffers_used(), 0);
            b.graph.expect_counters(&[
                (node, "not_held", 3),
                (node, "request_sent", 1),
                (node, "throttled", 2),
            ]);
            b.graph.engine.clock().adjust(super::strict::PAUSE);
        }
        assert!(b.wait(5.0).iter().all(|c| c.tx != pg1.0), "nobody is asked without a packet");
        b.cli(&format!("set ip neighbor pg1 {neighbor} 02:00:00:00:00:01 static"));
        assert_eq!(sent(&b.settle()).len(), 0, "nothing was held");
        assert_eq!(b.receive(pg0, &[packet])[0].bytes[..6], HOST.0);
    }
}

#[test]
fn packets_wait_for_the_answer_even_if_the_neighbour_asks_meanwhile() {
    for answers in [true, false] {
        let mut b = Bench::new();
        assert_eq!(sent(&b.receive(b.pg0, &[packet("10.0.1.9")])).len(), 1, "asked");
        let out = b.receive(b.pg1, &[bytes(request(HOST, "10.0.1.9", "10.0.1.1"))]);
        assert_eq!(sent(&out), [bytes(reply(PG1, "10.0.1.1", HOST, "10.0.1.9"))], "answered only");
        assert!(b.cli("show ip neighbors").contains("10.0.1.9"));
        assert_eq!(sent(&b.receive(b.pg0, &[packet("10.0.1.9")])).len(), 1, "it is known");
        if answers {
            let out = b.receive(b.pg1, &[bytes(reply(HOST, "10.0.1.9", PG1, "10.0.1.1"))]);
            assert_eq!(sent(&out).len(), 1);
            assert!(b.wait(5.0).is_empty());
        } else {
            let late = b.wait(5.0);
            let packets = sent(&late).into_iter().filter(|p| p[12..14] == [8, 0]).count();
            assert_eq!((packets, b.graph.buffers_used()), (1, 0), "a second later it goes on");
        }
    }
}

#[test]
fn next_hops_of_routes_are_asked_for_too() {
    let mut b = Bench::new();
    assert_eq!(b.cli("ip route add 16.0.0.0/8 via 10.0.1.3 pg1"), "");
    assert_eq!(b.settle().len(), 1);
    b.graph.expect_counters(&[("ip4-arp", "request_sent", 1)]);
    let out = b.receive(b.pg0, &[packet("16.0.0.1"), packet("16.0.0.2")]);
    assert_eq!(sent(&out), [request(PG1, "10.0.1.1", "10.0.1.3").as_bytes()]);
    b.graph.expect_counters(&[("ip4-arp", "request_sent", 1), ("ip4-arp", "throttled", 1)]);
    assert_eq!(b.cli("set ip neighbor pg1 10.0.1.3 02:00:00:00:00:01 static"), "");
    let out = b.settle();
    assert_eq!(sent(&out).len(), 2);
    b.expect(&[]);

    assert_eq!(b.cli("ip route add 17.0.0.0/8 via 10.0.1.3 pg1"), "");
    assert_eq!(sent(&b.receive(b.pg0, &[packet("17.0.0.1")])).len(), 1, "known at once");
}

#[test]
fn neighbours_that_routes_lead_to_are_asked_for_at_once() {
    let mut b = Bench::new();
    let targets = |b: &mut Bench, line: &str| {
        b.set(line);
        let out = b.graph.run();
        let target = |c: &Caught| match u16::from_be_bytes([c.bytes[12], c.bytes[13]]) {
            0x0806 => IpAddr::from(<[u8; 4]>::try_from(&c.bytes[38..42]).unwrap()),
            _ => IpAddr::from(<[u8; 16]>::try_from(&c.bytes[62..78]).unwrap()),
        };
        out.iter().map(|c| target(c).to_string()).collect::<Vec<_>>()
    };
    assert_eq!(targets(&mut b, "ip route add 20.0.0.0/8 via 10.0.1.7 pg1"), ["10.0.1.7"]);
    assert_eq!(targets(&mut b, "ip6 route add 20::/16 via 2001:db8:1::7 pg1"), ["2001:db8:1::7"]);
    let nobody: [&str; 0] = [];
    assert_eq!(targets(&mut b, "ip route add 21.0.0.0/8 via 10.0.1.7 pg1"), nobody, "once");
    let known = "set ip neighbor pg1 10.0.1.9 02:00:00:00:00:09";
    assert_eq!(targets(&mut b, known), nobody);
    assert_eq!(targets(&mut b, "ip route add 22.0.0.0/8 via 10.0.1.9 pg1"), nobody, "known");
    assert_eq!(targets(&mut b, "ip route add 23.0.0.0/8 via 10.3.0.1 pg1"), nobody, "no address");
    let both = targets(&mut b, "set interface ip address pg1 10.3.0.0/31");
    assert_eq!(both, ["10.3.0.1"], "both routes lead to it");
    let other = targets(&mut b, "set interface ip address pg1 10.4.0.1/31");
    assert_eq!(other, ["10.4.0.0"]);
    let asked = b.messages(0, b.pg1)[3];
    assert_eq!(asked, 3);
    assert_eq!(targets(&mut b, "set interface state pg1 down"), nobody);
    assert_eq!(targets(&mut b, "ip route add 24.0.0.0/8 via 10.0.1.8 pg1"), nobody, "down");
}

#[test]
fn who_does_not_answer_is_asked_three_times_and_the_sender_is_told() {
    let mut b = Bench::new();
    b.cli("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static");
    let out = b.receive(b.pg0, &[packet("10.0.1.9"), packet("10.0.1.9")]);
    assert_eq!(sent(&out).len(), 1);
    let out = b.wait(2.6);
    assert_eq!(sent(&out), [request(PG1, "10.0.1.1", "10.0.1.9").as_bytes(); 2]);
    let out = b.wait(1.5);
    let errors = sent(&out);
    assert_eq!(errors.len(), 2);
    assert_eq!((&errors[0][..6], &errors[0][34..36]), (&HOST.0[..], &[3, 1][..]));
    b.expect(&[
        ("ip4-icmp-error", "dest_unreach_sent", 2),
        ("ip4-glean", "unanswered", 2),
        ("ip4-glean", "request_sent", 3),
        ("ip4-glean", "throttled", 1),
    ]);
    assert_eq!(b.wait(3.0), []);
}

#[test]
fn a_later_packet_has_its_neighbour_asked_again_and_ip6_only_each_second() {
    let mut b = Bench::new();
    let v4 =
        |b: &mut Bench| sent(&b.receive(b.pg0, &[packet("10.0.1.9"), packet("10.0.1.9")])).len();
    let v6 = |b: &mut Bench| sent(&b.receive(b.pg0, &[packet6("2001:db8:1::9")])).len();
    assert_eq!((v4(&mut b), v6(&mut b)), (1, 1));
    b.graph.engine.clock().adjust(0.1);
    assert_eq!(v4(&mut b), 1, "one for all that come at once");
    b.graph.engine.clock().adjust(1.0);
    assert_eq!(v6(&mut b), 1);
    b.graph.expect_counters(&[
        ("ip4-glean", "request_sent", 2),
        ("ip4-glean", "throttled", 2),
        ("ip6-glean", "request_sent", 2),
    ]);
}

#[test]
fn one_neighbour_has_room_for_so_many_packets() {
    let mut b = Bench::new();
    let mut packets = vec![packet("10.0.1.9"); MOST_FOR_ONE + 6];
    packets.iter_mut().enumerate().for_each(|(i, p)| *p.last_mut().unwrap() = i as u8);
    b.receive(b.pg0, &packets);
    assert_eq!(b.graph.buffers_used(), MOST_FOR_ONE);
    let out = b.receive(b.pg1, &[bytes(reply(HOST, "10.0.1.9", PG1, "10.0.1.1"))]);
    assert_eq!(sent(&out)[0].last(), Some(&6), "the oldest gave way");
    b.expect(&[
        ("ip4-glean", "queue_full", 6),
        ("ip4-glean", "request_sent", 1),
        ("ip4-glean", "throttled", MOST_FOR_ONE as u64 + 5),
        ("arp-reply", "replies_received", 1),
    ]);
}

#[test]
fn a_flood_to_thousands_of_addresses_stays_within_bounds() {
    let mut b = Bench::new();
    b.cli("set interface ip address pg1 10.64.0.1/16");
    b.cli("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static");
    let mut asked = 0;
    for i in (0..5000u32).step_by(2) {
        let to = |i| packet(&Ipv4Addr::from_bits(0x0a40_0100 + i).to_string());
        let both = [to(i), to(i + 1)];
        asked += sent(&b.graph.send("ethernet-input", &both, |p| p.set_rx(1))).len();
        assert!(b.graph.buffers_used() <= MOST);
    }
    assert_eq!(b.graph.buffers_used(), MOST);
    assert!((1000..2500).contains(&asked), "{asked} questions");
    b.settle();
    let more = sent(&b.wait(4.0)).len();
    assert!(more < 6000, "{more}");
    assert_eq!(b.graph.buffers_used(), 0, "all were given up");
    assert!(!b.control(|r, _| r.neighbors().is_ticking));

    b.receive(b.pg0, &[packet("10.64.0.9")]);
    assert_eq!(b.graph.buffers_used(), 1);
    b.control(|router, _| router.remove_interface(router.interfaces.named("pg1").unwrap().index));
    b.graph.run();
    assert_eq!(b.graph.buffers_used(), 0, "the interface is gone");
}

#[test]
fn a_scan_of_one_network_leaves_questions_and_room_to_another() {
    let mut b = Bench::new();
    b.cli("set interface ip address pg1 10.64.0.1/16");
    let to = |n: u32| packet(&Ipv4Addr::from_bits(0x0a40_0100 + n).to_string());
    let (scan, host) = ((0..4000).map(to).collect::<Vec<_>>(), packet_to(PG1, "10.0.0.77"));
    let ask = |b: &mut Bench, frames: &[Vec<u8>], rx| {
        sent(&b.graph.send("ethernet-input", frames, move |p| p.set_rx(rx))).len()
    };
    let (pg0, pg1) = (b.pg0, b.pg1);
    let asked = scan.chunks(256).map(|some| ask(&mut b, some, pg0.0)).sum::<usize>();
    assert!(asked >= 1000, "{asked} questions");
    assert_eq!(ask(&mut b, std::slice::from_ref(&host), pg1.0), 1, "it is asked for");
    scan.chunks(256).for_each(|some| assert!(ask(&mut b, some, pg0.0) <= 256));
    assert_eq!(b.graph.buffers_used(), MOST);
    let out = b.receive(pg0, &[bytes(reply(HOST, "10.0.0.77", PG0, "10.0.0.1"))]);
    assert_eq!(sent(&out).len(), 1, "its packet has waited");
}

#[test]
fn an_interface_that_goes_down_takes_its_neighbours_and_packets_along() {
    let mut b = Bench::new();
    b.cli("set ip neighbor pg1 10.0.1.2 02:00:00:00:00:01");
    b.cli("set ip neighbor pg1 10.0.1.3 02:00:00:00:00:01 static");
    b.receive(b.pg0, &[packet("10.0.1.9")]);
    b.cli("set interface state pg1 down");
    b.graph.run();
    b.expect(&[("ip4-glean", "non_arp_adj", 1), ("ip4-glean", "request_sent", 1)]);
    let shown = b.cli("show ip neighbors");
    assert!(!shown.contains("10.0.1.2") && shown.contains("10.0.1.3"), "{shown}");
    b.control(|router, _| router.remove_interface(router.interfaces.named("pg1").unwrap().index));
    assert_eq!(b.cli("show ip neighbors"), "");
}

#[test]
fn packets_that_wait_on_a_thread_that_ends_are_counted() {
    let mut b = Bench::new();
    b.receive(b.pg0, &[packet("10.0.1.9"), packet("10.0.1.9")]);
    assert_eq!(b.graph.buffers_used(), 2);
    b.graph.engine.keep_threads(0..0).unwrap();
    b.expect(&[
        ("ip4-glean", "queue_full", 2),
        ("ip4-glean", "request_sent", 1),
        ("ip4-glean", "throttled", 1),
    ]);
}

#[test]
fn without_an_address_of_ours_nobody_is_asked() {
    let mut b = Bench::new();
    b.cli("ip route add 16.0.0.0/8 via 10.0.1.3 pg1");
    b.settle();
    b.expect(&[("ip4-arp", "request_sent", 1)]);
    b.cli("set interface ip address del pg1 10.0.1.1/24");
    b.receive(b.pg0, &[packet("16.0.0.1")]);
    b.expect(&[("ip4-arp", "no_source_address", 1)]);
}

#[test]
fn neighbours_go_with_the_network_they_are_in() {
    let mut b = Bench::new();
    b.cli("set interface ip address pg1 10.0.1.5/24");
    b.cli("set ip neighbor pg1 10.0.1.2 02:00:00:00:00:01");
    b.cli("set ip neighbor pg1 fe80::9 02:00:00:00:00:01");
    b.cli("set interface ip address del pg1 10.0.1.1/24");
    assert!(b.cli("show ip neighbors").contains("10.0.1.2"), "10.0.1.5 still covers it");
    b.cli("set interface ip address del pg1 10.0.1.5/24");
    let shown = b.cli("show ip neighbors");
    assert!(!shown.contains("10.0.1.2") && shown.contains("fe80::9"), "{shown}");
    b.cli("set interface ip address del pg1 2001:db8:1::1/64");
    assert_eq!(b.cli("show ip neighbors"), "", "IPv6 is off");
}

#[test]
fn packets_do_not_wait_for_neighbours_in_a_network_that_goes() {
    let mut b = Bench::new();
    for (network, dst) in [("10.0.1.1/24", "10.0.1.7"), ("2001:db8:1::1/64", "2001:db8:1::7")] {
        let pg0 = b.pg0;
        let frame = if dst.contains(':') { packet6(dst) } else { packet(dst) };
        for _ in 0..2 {
            let asked = b.receive(pg0, std::slice::from_ref(&frame)).len();
            assert_eq!(asked, 1, "who has {dst}");
            assert_eq!(b.graph.buffers_used(), 1);
            b.cli(&format!("set interface ip address del pg1 {network}"));
            b.settle();
            assert_eq!(b.graph.buffers_used(), 0);
            b.cli(&format!("set interface ip address pg1 {network}"));
            b.settle();
        }
    }
}

#[test]
fn the_table_is_bounded() {
    let mut b = Bench::new();
    b.cli("set ip neighbor-config ip4 limit 2");
    let ask = |n: u8| bytes(request(HOST, &format!("10.0.0.{n}"), "10.0.0.1"));
    b.receive(b.pg0, &[ask(2), ask(3), ask(4)]);
    assert_eq!(
        b.cli("show ip neighbor-config"),
        "ip4:\n  limit:2, age:0, recycle:0, count:2, refused:1\n\
         ip6:\n  limit:50000, age:0, recycle:0, count:0, refused:0\n"
    );
    assert_eq!(
        b.cli("set ip neighbor pg0 10.0.0.9 02:00:00:00:00:09"),
        "set ip neighbor: 10.0.0.9: at most 2 neighbors\n"
    );
}

#[test]
fn those_not_heard_of_are_asked_and_forgotten() {
    let mut b = Bench::new();
    b.receive(b.pg0, &[bytes(request(HOST, "10.0.0.2", "10.0.0.1"))]);
    b.cli("set ip neighbor-config ip4 age 60");
    assert_eq!(b.wait(58.0), []);
    let out = b.wait(4.0);
    assert_eq!(sent(&out)[0], request(PG0, "10.0.0.1", "10.0.0.2").as_bytes());
    b.receive(b.pg0, &[bytes(reply(HOST, "10.0.0.2", PG0, "10.0.0.1"))]);
    b.wait(50.0);
    assert!(b.cli("show ip neighbors").contains("10.0.0.2"), "it answered");
    b.wait(20.0);
    assert_eq!(b.cli("show ip neighbors"), "");
}

#[test]
fn an_interface_that_comes_up_announces_its_addresses() {
    let mut b = Bench::new();
    b.cli("set interface state pg0 down");
    b.cli("set interface state pg0 up");
    let out = b.graph.run();
    let out = sent(&out);
    assert_eq!(out.len(), 3, "IPv4, link-local, IPv6");
    assert_eq!(out[0], request(PG0, "10.0.0.1", "10.0.0.1").as_bytes());
    let told = NdFrame::read_from_bytes(out[2]).unwrap();
    let to = MacAddr::for_ip6_group(ip6("ff02::1"));
    let target = ip6("2001:db8::1");
    let flags = nd::ROUTER | nd::OVERRIDE;
    assert_eq!(told, NdFrame::advertisement(PG0, to, target, ip6("ff02::1"), flags));
    b.expect(&[]);
}

#[test]
fn an_address_that_an_interface_gets_while_it_is_up_is_announced() {
    let mut b = Bench::new();
    for (line, target, count) in [
        ("set interface ip address pg0 10.7.0.1/24", "10.7.0.1", 1),
        ("set interface ip address pg0 2001:db8:7::1/64", "2001:db8:7::1", 1),
    ] {
        b.set(line);
        let out = b.wait(0.0);
        assert_eq!(sent(&out).len(), count, "{line}");
        let bytes = &out[0].bytes;
        assert_eq!(&bytes[6..12], &PG0.0);
        match target.parse::<std::net::IpAddr>().unwrap() {
            std::net::IpAddr::V4(_) => {
                assert_eq!(bytes, request(PG0, target, target).as_bytes());
            }
            std::net::IpAddr::V6(addr) => {
                let told = NdFrame::read_from_bytes(bytes).unwrap();
                assert_eq!(told.target, addr.octets());
                assert_eq!(told.ip.dst_addr(), ip6("ff02::1"));
            }
        }
    }
    // Neither one that goes again at once, nor one of an interface that is down.
    b.set("set interface ip address pg0 10.8.0.1/24");
    b.set("set interface ip address del pg0 10.8.0.1/24");
    b.set("set interface state pg1 down");
    b.set("set interface ip address pg1 10.9.0.1/24");
    assert!(b.wait(0.0).is_empty());
    // Nor one of an interface that is bridged before the announcement.
    let pg0 = b.pg0;
    b.set("set interface ip address pg0 10.8.0.1/24");
    b.control(|router, _| router.set_mode(pg0, Mode::Bridge)).unwrap();
    assert!(b.wait(0.0).is_empty());
    b.control(|router, _| router.set_mode(pg0, Mode::Layer3)).unwrap();
    b.set("set interface ip address del pg0 10.8.0.1/24");
    b.control(|router, _| router.put(pg0, Strict(true))).unwrap();
    b.set("set interface ip address pg0 10.8.0.1/24");
    assert!(b.wait(0.0).is_empty());
}

#[test]
fn those_heard_of_are_forgotten_with_the_link_and_next_hops_asked_for_when_it_returns() {
    for (route, neighbor, host) in [
        ("ip route add 10.9.0.0/16 via 10.0.1.2 pg1", "10.0.1.2", "10.0.1.3"),
        ("ip route add 2001:db8:9::/48 via 2001:db8:1::2 pg1", "2001:db8:1::2", "2001:db8:1::3"),
    ] {
        let mut b = Bench::new();
        let pg1 = b.pg1;
        b.set(route);
        b.settle();
        b.set(&format!("set ip neighbor pg1 {neighbor} 02:00:00:00:00:01"));
        b.set(&format!("set ip neighbor pg1 {host} 02:00:00:00:00:01"));
        b.wait(0.0);
        b.control(|r, _| r.set_link(pg1, false));
        assert_eq!(b.cli("show ip neighbors"), "");
        b.settle();
        b.control(|r, _| r.set_link(pg1, true));
        let out = b.settle();
        let asked = |frame: &[u8]| match neighbor.contains(':') {
            true => NdFrame::read_from_bytes(frame).is_ok_and(|f| {
                f.icmp.kind == icmp6::Type::NEIGHBOR_SOLICITATION
                    && f.target == ip6(neighbor).octets()
            }),
            false => {
                ArpFrame::read_from_bytes(frame).is_ok_and(|f| f.arp.target.addr() == ip(neighbor))
            }
        };
        let asked = sent(&out).into_iter().filter(|frame| asked(frame)).count();
        assert_eq!(asked, 1, "the next hop, and nobody else: {out:?}");
    }
}

#[test]
fn an_interface_that_floods_leaves_room_for_neighbours_on_others() {
    let mut b = Bench::new();
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.set("set ip neighbor-config ip4 limit 6");
    b.set("set ip neighbor-config ip6 limit 6");
    for n in 2..30 {
        b.receive(pg0, &[bytes(request(HOST, &format!("10.0.0.{n}"), "10.0.0.1"))]);
        b.receive(pg0, &[summed(&solicitation(&format!("2001:db8::{n}"), "2001:db8::1"), 0)]);
    }
    b.receive(pg1, &[bytes(request(OTHER, "10.0.1.2", "10.0.1.1"))]);
    b.receive(pg1, &[summed(&solicitation("2001:db8:1::2", "2001:db8:1::1"), 0)]);
    for (list, there, first) in [
        ("show ip4 neighbors", "10.0.1.2 ", "10.0.0.2 "),
        ("show ip6 neighbors", "2001:db8:1::2 ", "2001:db8::2 "),
    ] {
        let shown = b.cli(list);
        assert!(shown.contains(there) && shown.contains(first), "{shown}");
        assert_eq!(shown.lines().count(), 7, "{shown}");
    }
}

#[test]
fn hosts_that_ask_from_an_address_of_another_link_are_answered_and_not_learned() {
    for is_strict in [false, true] {
        let mut b = Bench::new();
        let pg0 = b.pg0;
        b.control(|router, _| router.put(pg0, Strict(is_strict))).unwrap();
        for (asked, ours) in [
            (bytes(request(HOST, "203.0.113.1", "10.0.0.1")), true),
            (bytes(request(HOST, "10.0.1.9", "10.0.0.1")), true),
            (summed(&solicitation("2001:db8:99::1", "2001:db8::1"), 0), true),
            (summed(&solicitation("2001:db8:1::9", "2001:db8::1"), 0), true),
            (bytes(request(HOST, "203.0.113.1", "10.0.0.9")), false),
            (summed(&solicitation("2001:db8:99::1", "2001:db8::9"), 0), false),
            // Addresses of this router, of groups, broadcast and unused ones on the link.
            (bytes(request(HOST, "10.0.1.1", "10.0.0.1")), false),
            (bytes(request(HOST, "224.0.0.5", "10.0.0.1")), false),
            (bytes(request(HOST, "255.255.255.255", "10.0.0.1")), false),
            (bytes(request(HOST, "10.0.0.255", "10.0.0.1")), false),
            (summed(&solicitation("2001:db8:1::1", "2001:db8::1"), 0), false),
        ] {
            let out = b.receive(pg0, std::slice::from_ref(&asked));
            assert_eq!(out.len(), usize::from(ours && !is_strict), "{asked:x?}");
            assert!(out.iter().all(|c| c.bytes[..6] == HOST.0));
        }
        assert_eq!(b.cli("show ip neighbors"), "");
    }
}

#[test]
fn commands_set_show_and_remove() {
    let mut b = Bench::new();
    assert_eq!(b.cli("set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb static"), "");
    assert_eq!(b.cli("set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb static"), "");
    let shown = b.cli("show ip neighbors");
    let lines: Vec<_> = shown.lines().collect();
    let header = "     Age                       IP                    \
                  Flags      Ethernet              Interface       ";
    assert_eq!(lines[0], header);
    let v4 = "                10.0.1.2                   S    02:00:00:00:00:bb pg1";
    let v6 = "              2001:db8:1::2                S    02:00:00:00:00:bb pg1";
    assert_eq!((&lines[1][12..], &lines[2][12..], lines.len()), (v4, v6, 3));
    assert!(lines[1][..12].trim().parse::<f64>().unwrap() < 5.0);
    assert_eq!(b.cli("show ip6 neighbors").lines().count(), 2);
    assert_eq!(b.cli("show ip4 neighbors pg0"), "");

    assert_eq!(b.cli("set ip neighbor pg1 10.0.1.10 02:00:00:00:00:fe no-fib-entry count 3"), "");
    let shown = b.cli("show ip4 neighbors");
    for row in ["10.0.1.10                 DN    02:00:00:00:00:fe", "02:00:00:00:01:00 pg1"] {
        assert!(shown.contains(row), "{shown}");
    }
    assert_eq!(b.cli("set ip neighbor del pg1 10.0.1.10 count 3"), "");
    assert_eq!(b.cli("set ip neighbor del pg1 10.0.1.2 02:00:00:00:00:bb"), "");
    assert_eq!(b.cli("show ip4 neighbors"), "");

    for (line, error) in [
        ("set ip neighbor pg1 10.0.1.2", "set ip neighbor: missing mac-address"),
        ("set ip neighbor del pg1 10.0.1.2", "set ip neighbor: 10.0.1.2: no such neighbor"),
        (
            "set ip neighbor nosuch 10.0.1.2 2:0:0:0:0:1",
            "set ip neighbor: unknown interface `nosuch 10.0.1.2 2:0:0:0:0:1'",
        ),
        (
            "set ip neighbor local0 10.0.1.2 2:0:0:0:0:1",
            "set ip neighbor: 10.0.1.2: the interface has no neighbors",
        ),
        (
            "set ip neighbor pg1 224.0.0.5 2:0:0:0:0:1",
            "set ip neighbor: 224.0.0.5: not a valid neighbor address",
        ),
        ("show ip neighbors nosuch", "show ip neighbors: unknown interface `nosuch'"),
    ] {
        assert_eq!(b.cli(line), format!("{error}\n"));
    }
    // The operator may name the address of a group.
    for (line, mac) in [
        ("set ip neighbor static pg1 10.0.1.2 1:0:0:0:0:1", "01:00:00:00:00:01"),
        ("set ip neighbor pg1 10.0.1.3 1:0:0:0:0:2", "01:00:00:00:00:02"),
        ("set ip neighbor pg1 2001:db8:1::3 33:33:0:0:0:2", "33:33:00:00:00:02"),
    ] {
        assert_eq!(b.cli(line), "");
        assert!(b.cli("show ip neighbors").contains(mac));
    }
}

#[test]
fn many_neighbours_are_shown_in_slices() {
    let mut b = Bench::new();
    b.cli("set interface ip address pg1 10.64.0.1/16");
    assert_eq!(b.cli("set ip neighbor pg1 10.64.1.0 02:00:00:00:00:00 count 2500"), "");
    assert_eq!(b.cli("show ip neighbors").lines().count(), 2501);
    assert_eq!(b.cli("set interface ip address del pg1 10.64.0.1/16"), "");
    assert_eq!(b.cli("show ip neighbors"), "");
}

#[test]
fn solicitations_are_answered_and_the_asker_is_known() {
    for n in [1usize, 3, 4, 255, 256] {
        let mut b = Bench::new();
        let asked = summed(&solicitation("2001:db8::2", "2001:db8::1"), 0);
        let out = b.receive(b.pg0, &vec![asked; n]);
        assert_eq!(out.len(), n);
        let flags = nd::ROUTER | nd::SOLICITED | nd::OVERRIDE;
        let (ours, host) = (ip6("2001:db8::1"), ip6("2001:db8::2"));
        let answer = NdFrame::advertisement(PG0, HOST, ours, host, flags);
        assert_eq!(out[n - 1].bytes, answer.as_bytes());
        assert_eq!(summed(&answer, 0), answer.as_bytes(), "its checksum is right");
        let count = "neighbor_advertisements_tx";
        b.expect(&[("ip6-icmp-input", count, n as u64)]);
        assert!(b.cli("show ip6 neighbors").contains("D    02:00:00:00:00:01 pg0"));
    }
}

#[test]
fn solicitations_for_addresses_that_routes_say_are_ours_are_answered() {
    let mut b = Bench::new();
    let asked = summed(&solicitation("2001:db8::2", "2001:db8::40"), 0);
    assert!(b.receive(b.pg0, std::slice::from_ref(&asked)).is_empty());
    b.expect(&[("ip6-icmp-input", "neighbor_solicitation_source_unknown", 1)]);
    b.cli("ip route add 2001:db8::40/128 via local pg0");
    assert_eq!(b.receive(b.pg0, &[asked]).len(), 1);
    b.expect(&[("ip6-icmp-input", "neighbor_advertisements_tx", 1)]);
}

#[test]
fn solicitations_without_an_address_of_layer_2_and_of_duplicate_detection_are_answered() {
    let mut b = Bench::new();
    let out = b.receive(b.pg0, &[summed(&solicitation("fe80::2", "2001:db8::1"), 8)]);
    assert_eq!((&out[0].bytes[..6], out.len()), (&HOST.0[..], 1));
    assert_eq!(b.cli("show ip neighbors"), "");

    let out = b.receive(b.pg0, &[summed(&solicitation("::", "2001:db8::1"), 8)]);
    let told = NdFrame::read_from_bytes(&out[0].bytes).unwrap();
    assert_eq!((told.ip.dst_addr(), told.flags.get()), (ip6("ff02::1"), nd::ROUTER | nd::OVERRIDE));
    b.expect(&[("ip6-icmp-input", "neighbor_advertisements_tx", 2)]);
}

#[test]
fn neighbour_discovery_that_is_wrong_is_counted_and_not_answered() {
    let base = solicitation("2001:db8::2", "2001:db8::1");
    let with = |change: &dyn Fn(&mut NdFrame)| {
        let mut frame = base;
        change(&mut frame);
        summed(&frame, 0)
    };
    let mut zero = summed(&base, 0);
    zero[79] = 0;
    let sum: u16 = u16::from_be_bytes([zero[56], zero[57]]) + 1; // one less in the option's length
    zero[56..58].copy_from_slice(&sum.to_be_bytes());
    let told = |flags: u32, target: &str, dst: &str| {
        let to = MacAddr::for_ip6_group(ip6("ff02::1"));
        let mut frame = NdFrame::advertisement(HOST, to, ip6(target), ip6(dst), flags);
        frame.ip.src = ip6("2001:db8::2").octets();
        summed(&frame, 0)
    };
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("invalid_hop_limit_for_type", with(&|f| f.ip.hop_limit = 254)),
        ("invalid_code_for_type", with(&|f| f.icmp.code = 1)),
        ("length_too_small_for_type", summed(&base, 16)),
        ("option_with_zero_length", zero),
        ("drop", with(&|f| f.target = ip6("ff02::1").octets())),
        ("drop", with(&|f| f.ip.src = [0; 16])),
        ("drop", with(&|f| f.ip.src = ip6("2001:db8::1").octets())),
        (
            "neighbor_solicitation_source_not_on_link",
            with(&|f| f.ip.src = ip6("2001:db8:1::1").octets()),
        ),
        ("neighbor_solicitation_source_unknown", with(&|f| f.target = ip6("2001:db8::9").octets())),
        ("drop", told(nd::SOLICITED, "2001:db8::2", "ff02::1")),
        ("drop", told(nd::OVERRIDE, "2001:db8::1", "ff02::1")),
        (
            "neighbor_solicitation_source_not_on_link",
            told(nd::OVERRIDE, "2001:db8:1::2", "ff02::1"),
        ),
        ("neighbor_advertisements_rx", told(nd::OVERRIDE, "2001:db8::2", "ff02::1")),
    ];
    let mut b = Bench::new();
    for (counter, frame) in cases {
        for n in [1usize, 4, 256] {
            let out = b.receive(b.pg0, &vec![frame.clone(); n]);
            assert!(out.is_empty(), "{counter}");
            b.expect(&[("ip6-icmp-input", counter, n as u64)]);
        }
    }
    assert_eq!(b.cli("show ip neighbors"), "");
}

#[test]
fn advertisements_count_as_far_as_their_flags_say() {
    let mut b = Bench::new();
    let tell = |b: &mut Bench, mac: MacAddr, flags: u32| {
        let dst = if flags & nd::SOLICITED == 0 { "ff02::1" } else { "2001:db8::1" };
        let to = if flags & nd::SOLICITED == 0 { MacAddr::for_ip6_group(ip6(dst)) } else { PG0 };
        let frame = NdFrame::advertisement(mac, to, ip6("2001:db8::2"), ip6(dst), flags);
        b.receive(b.pg0, &[bytes(frame)]);
        let shown = b.cli("show ip6 neighbors");
        shown.lines().nth(1).map(|l| l[73..77].trim().to_owned())
    };
    assert_eq!(tell(&mut b, HOST, nd::OVERRIDE), None, "unasked");
    assert_eq!(tell(&mut b, HOST, nd::SOLICITED).as_deref(), Some("0:01"));
    assert_eq!(tell(&mut b, OTHER, nd::SOLICITED).as_deref(), Some("0:01"), "no override");
    assert_eq!(tell(&mut b, OTHER, 0).as_deref(), Some("0:01"));
    assert_eq!(tell(&mut b, OTHER, nd::OVERRIDE).as_deref(), Some("0:02"));
}

#[test]
fn ip6_packets_wait_for_the_answer_too() {
    let mut b = Bench::new();
    b.cli("ip route add 2001:db8:ff::/48 via 2001:db8:1::3 pg1");
    b.settle();
    b.graph.expect_counters(&[("ip6-discover-neighbor", "request_sent", 1)]);
    let packets = [packet6("2001:db8:1::9"), packet6("2001:db8:1::9"), packet6("2001:db8:ff::1")];
    let out = b.receive(b.pg0, &packets);
    let asked: Vec<_> = out.iter().map(|c| NdFrame::read_from_bytes(&c.bytes).unwrap()).collect();
    let targets: Vec<_> = asked.iter().map(|f| Ipv6Addr::from(f.target)).collect();
    assert_eq!(asked.len(), 2);
    assert!(targets.contains(&ip6("2001:db8:1::9")) && targets.contains(&ip6("2001:db8:1::3")));
    assert_eq!(asked[0].ip.src_addr(), ip6("fe80::ff:fe00:ab"));
    assert_eq!(asked[0].ip.dst_addr(), ip6::solicited_node(targets[0]));
    assert_eq!(asked[0].ethernet.dst, MacAddr::for_ip6_group(asked[0].ip.dst_addr()));
    assert_eq!(summed(&asked[0], 0), out[0].bytes);
    assert_eq!(asked[0].option, nd::LinkLayer::source(PG1));
    for target in targets {
        let flags = nd::SOLICITED | nd::OVERRIDE;
        let frame = NdFrame::advertisement(HOST, PG1, target, ip6("2001:db8:1::1"), flags);
        let out = b.receive(b.pg1, &[bytes(frame)]);
        assert!(!out.is_empty() && out.iter().all(|c| c.bytes[..6] == HOST.0));
    }
    b.expect(&[
        ("ip6-icmp-input", "neighbor_advertisements_rx", 2),
        ("ip6-discover-neighbor", "request_sent", 1),
        ("ip6-glean", "request_sent", 1),
        ("ip6-glean", "throttled", 1),
    ]);
}

#[test]
fn messages_are_counted_by_interface() {
    let mut b = Bench::new();
    let before = [b.messages(0, b.pg0), b.messages(1, b.pg0)];
    let moved = |b: &Bench, of: usize| {
        let now = b.messages(of, b.pg0);
        std::array::from_fn::<_, 6, _>(|i| now[i] - before[of][i])
    };
    b.receive(b.pg0, &[bytes(request(HOST, "10.0.0.2", "10.0.0.1"))]);
    b.receive(b.pg0, &[bytes(request(HOST, "10.0.0.2", "10.0.0.2"))]);
    b.receive(b.pg0, &[bytes(reply(HOST, "10.0.0.2", PG0, "10.0.0.1"))]);
    b.receive(b.pg1, &[packet_to(PG1, "10.0.0.7")]);
    assert_eq!(moved(&b, 0), [1, 1, 1, 1, 1, 0]);
    b.receive(b.pg0, &[summed(&solicitation("2001:db8::2", "2001:db8::1"), 0)]);
    b.cli("set interface state pg0 down");
    b.cli("set interface state pg0 up");
    b.graph.run();
    assert_eq!(moved(&b, 1), [1, 0, 0, 0, 1, 2]);
    assert_eq!(moved(&b, 0)[5], 1);
}

#[test]
fn the_oldest_gives_way_where_the_operator_says() {
    let mut b = Bench::new();
    b.cli("set ip neighbor-config ip4 limit 3 recycle");
    b.cli("set ip neighbor pg0 10.0.0.9 02:00:00:00:00:09 static");
    let ask = |n: u8| bytes(request(HOST, &format!("10.0.0.{n}"), "10.0.0.1"));
    b.receive(b.pg0, &[ask(2)]);
    b.receive(b.pg0, &[ask(3)]);
    b.receive(b.pg0, &[ask(2)]);
    b.receive(b.pg0, &[ask(4)]);
    let shown = b.cli("show ip4 neighbors");
    assert!(!shown.contains("10.0.0.3 ") && shown.contains("10.0.0.9 "), "{shown}");
    assert_eq!(shown.lines().count(), 4);
    assert_eq!(b.cli("set ip neighbor pg0 10.0.0.5 02:00:00:00:00:05"), "");
    assert!(!b.cli("show ip4 neighbors").contains("10.0.0.2 "));
    b.cli("set ip neighbor-config ip4 norecycle");
    assert!(
        b.cli("set ip neighbor pg0 10.0.0.6 02:00:00:00:00:06").contains("at most 3 neighbors")
    );
}

#[test]
fn a_static_neighbour_gives_way_to_static_ones_only() {
    let mut b = Bench::new();
    b.cli("set ip neighbor pg0 10.0.0.9 02:00:00:00:00:09 static");
    let text = b.cli("set ip neighbor pg0 10.0.0.9 02:00:00:00:00:08");
    assert!(text.contains("a static neighbor is replaced by static ones only"), "{text}");
    assert_eq!(b.cli("set ip neighbor pg0 10.0.0.9 02:00:00:00:00:08 static"), "");
}

#[test]
fn all_are_forgotten_at_once() {
    let mut b = Bench::new();
    b.cli("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 count 20");
    b.cli("set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01 static");
    b.cli("set ip neighbor pg1 10.0.1.2 02:00:00:00:00:01");
    assert_eq!(b.cli("ip neighbor flush pg0"), "");
    assert_eq!(b.cli("show ip neighbors").lines().count(), 2);
}

#[test]
fn neighbors_stay_when_the_address_of_their_interface_changes() {
    let mut b = Bench::new();
    b.cli("set interface ip address pg0 2001:db8::1/64");
    b.cli("set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01");
    b.cli("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01");
    let before = b.cli("show ip neighbors").lines().count();
    b.cli("set interface mac address pg0 02:00:00:00:00:dd");
    assert_eq!(b.cli("show ip neighbors").lines().count(), before);
    assert_eq!(before, 3);
}

#[test]
fn a_route_of_another_table_leads_to_the_same_neighbours() {
    let mut b = Bench::new();
    let (pg0, pg1) = (b.pg0, b.pg1);
    for line in [
        "set interface ip address del pg1 10.0.1.1/24",
        "set interface ip address del pg1 2001:db8:1::1/64",
        "ip table add 1",
        "ip6 table add 1",
        "set interface ip table pg1 1",
        "set interface ip6 table pg1 1",
        "set interface ip address pg1 10.0.1.1/24",
        "set interface ip address pg1 2001:db8:1::1/64",
        "ip route add 10.0.1.0/24 via pg1",
        "ip route add 2001:db8:1::/64 via pg1",
        "set ip neighbor pg1 2001:db8:1::9 02:00:00:00:00:02 static",
    ] {
        b.set(line);
    }
    b.wait(0.0);
    let asked = b.receive(pg0, &[packet("10.0.1.9")]);
    assert_eq!(arp_of(&asked[0]).arp.target.addr(), ip("10.0.1.9"));
    let came = b.receive(pg1, &[bytes(reply(OTHER, "10.0.1.9", PG1, "10.0.1.1"))]);
    assert_eq!(sent(&came).len(), 1, "what was held");
    for frame in [packet("10.0.1.9"), packet6("2001:db8:1::9")] {
        let out = b.receive(pg0, &[frame]);
        assert!(out.len() == 1 && out[0].bytes[..6] == OTHER.0 && out[0].tx == pg1.0);
    }
    // Our own address there cannot be requested: only for the sender, and is answered.
    b.graph.caught();
    let asked = b.receive(pg0, &[packet("10.0.1.1")]);
    assert!(asked.len() == 1 && asked[0].tx == pg0.0);
    assert_eq!(arp_of(&asked[0]).arp.target.addr(), ip("10.0.0.2"));
    // A route of that table is for packets of that table.
    b.set("ip route add table 1 10.0.1.128/25 via 10.0.1.9 pg1");
    let asked = b.receive(pg0, &[packet("10.0.1.200")]);
    assert_eq!(arp_of(&asked[0]).arp.target.addr(), ip("10.0.1.200"));
}

#[test]
fn static_neighbours_stay_while_a_link_is_down_and_packets_wait() {
    let mut b = Bench::new();
    let pg1 = b.pg1;
    for (addr, frame) in
        [("10.0.1.2", packet("10.0.1.2")), ("2001:db8:1::2", packet6("2001:db8:1::2"))]
    {
        b.cli(&format!("set ip neighbor pg1 {addr} 02:00:00:00:00:01 static"));
        b.wait(0.0);
        let (pg0, sent) = (b.pg0, std::slice::from_ref(&frame));
        assert_eq!(b.receive(pg0, sent)[0].bytes[..6], HOST.0);
        b.control(|r, _| r.set_link(pg1, false));
        assert!(b.receive(pg0, sent).iter().all(|c| c.bytes[..6] != HOST.0));
        assert!(b.cli("show ip neighbors").contains(addr));
        b.control(|r, _| r.set_link(pg1, true));
        b.settle();
        assert_eq!(b.receive(pg0, sent)[0].bytes[..6], HOST.0, "as before");
    }
}
