//! Packets that travel together, and come out as they went in.

use control::api::Retval;
use graph::testing::Caught;
use net::InterfaceIndex;
use net::testing::{Rig, packets::*};
use net::tunnel::testing::*;
use pvti::*;
use wire::pvti::{FIRST, Header, parse};
use wire::zerocopy::{FromBytes, IntoBytes};

/// Own addresses and far ends.
const ENDS: [(&str, &str); 2] = [("10.0.1.1", "20.0.0.1"), ("2001:db8:1::1", "2a01::1")];
/// Bytes in front of a PVTI header, over IPv4 and over IPv6.
const FRONT: [usize; 2] = [28, 48];

fn bench(over: usize, more: &str) -> Rig {
    let mut rig = rig(FEATURE);
    let (own, far) = ENDS[over];
    let line = format!("pvti interface create peer {far} 700 701 local-ip {own} {more}");
    assert_eq!(rig.run(&line), "pvti0\n");
    rig.set("set interface state pvti0 up");
    rig.set("set interface ip address pvti0 172.16.0.1/24");
    rig.set("enable ip6 interface pvti0");
    rig.set("ip route add 30.0.0.0/8 via 172.16.0.2");
    rig.set("ip route add 2a30::/16 via pvti0");
    settle(&mut rig);
    rig.graph.caught();
    rig
}

/// Datagrams that were sent, from the outer header on.
fn datagrams(out: &[Caught]) -> Vec<Vec<u8>> {
    let sent = out.iter().filter(|c| c.at == "sent");
    sent.map(|c| c.bytes[14..].to_vec()).collect()
}

/// Numbers of continued chunks, and the chunks, of a datagram.
fn chunks(over: usize, datagram: &[u8]) -> (u32, u8, Vec<Vec<u8>>) {
    let (header, chunks) = parse(&datagram[FRONT[over]..]).unwrap();
    let chunks = chunks.map(|c| c.unwrap().to_vec()).collect();
    (header.sequence.get(), header.continued, chunks)
}

/// A datagram as the far end would send it.
fn back(over: usize, sent: &[u8]) -> Vec<u8> {
    let (own, far) = ENDS[over];
    let mut made = datagram(far, own, 701, &sent[FRONT[over]..], false);
    let ports = FRONT[over] - 8;
    made[ports..ports + 2].copy_from_slice(&700_u16.to_be_bytes());
    made
}

/// A counter that moved, among others, and that no buffer is lost.
#[track_caller]
fn expect_some(rig: &mut Rig, node: &str, what: &str, n: u64) {
    let moved = rig.graph.moved_counters();
    let is_it = |m: &&(String, &str, u64)| (m.0.as_str(), m.1) == (node, what);
    assert_eq!(moved.iter().find(is_it).map(|m| m.2), Some(n), "{node} {what}: {moved:?}");
    assert_eq!(rig.graph.buffers_used(), 0, "buffers in use");
}

fn packet(port: u16, len: usize) -> Vec<u8> {
    udp4(HOST4, "30.1.1.1", port, &vec![port as u8; len])
}

fn less(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    packets.iter().map(|p| changed4(p.clone(), |h| h.ttl -= 1)).collect()
}

#[test]
fn packets_of_a_frame_share_datagrams_and_are_cut_where_those_end() {
    for over in 0..2 {
        let mut rig = bench(over, "underlay-mtu 600");
        let packets: Vec<_> = (1..=5).map(|n| packet(n, 200)).collect();
        let out = send(&mut rig, "ip4-input", &packets);
        let sent = datagrams(&out);
        assert!(sent.iter().all(|d| d.len() <= 600), "{:?}", sent[0].len());
        let read: Vec<_> = sent.iter().map(|d| chunks(over, d)).collect();
        let numbers: Vec<_> = read.iter().map(|r| r.0).collect();
        assert_eq!(numbers, (FIRST..FIRST + sent.len() as u32).collect::<Vec<_>>());
        assert_eq!(sent.len(), 3);
        let all: Vec<u8> = read.iter().flat_map(|r| r.2.concat()).collect();
        assert_eq!(all, less(&packets).concat());
        assert!(read[1..].iter().all(|r| r.1 == 1));
        let node = ["pvti4-output", "pvti6-output"][over];
        expect_some(&mut rig, node, "Packets processed", 5);
        // What comes later begins datagrams of its own.
        let out = send(&mut rig, "ip4-input", &packets[..1]);
        let next = chunks(over, &datagrams(&out)[0]);
        assert_eq!((next.0, next.1, next.2.len()), (FIRST + 3, 0, 1));
    }
}

#[test]
fn what_is_sent_comes_out_at_the_far_end_as_it_went_in() {
    for over in 0..2 {
        for (mtu, lens) in [
            (1500, &[8, 1400, 30][..]),
            (128, &[500, 1, 64, 7, 7, 7, 200]),
            (600, &[3000, 20, 4000, 551, 552, 553, 554]),
        ] {
            let mut rig = bench(over, &format!("underlay-mtu {mtu}"));
            let packets: Vec<_> =
                lens.iter().zip(1..).map(|(len, port)| packet(port, *len)).collect();
            let sent = datagrams(&send(&mut rig, "ip4-input", &packets));
            let back: Vec<_> = sent.iter().map(|d| back(over, d)).collect();
            rig.set("ip route del 30.0.0.0/8\nip route add 30.0.0.0/8 via 10.0.1.2 pg1");
            let at = ["ip4-receive", "ip6-receive"][over];
            let out = datagrams(&send(&mut rig, at, &back));
            let twice: Vec<_> = less(&less(&packets));
            let whole: Vec<u8> = out.concat();
            let is_small = |p: &&Vec<u8>| p.len() <= 1500;
            assert!(twice.iter().filter(is_small).all(|p| out.contains(p)), "{over} {mtu}");
            assert!(whole.len() >= twice.concat().len());
            let node = ["pvti4-input", "pvti6-input"][over];
            expect_some(&mut rig, node, "PVTI inner packets decapsulated", lens.len() as u64);
        }
    }
}

#[test]
fn without_one_datagram_only_what_was_in_it_is_lost() {
    let mut rig = bench(0, "underlay-mtu 600");
    let packets = [packet(1, 100), packet(2, 1000), packet(3, 100)];
    let sent = datagrams(&send(&mut rig, "ip4-input", &packets));
    assert_eq!(sent.len(), 3);
    let some: Vec<_> = [0, 2].map(|n: usize| back(0, &sent[n])).to_vec();
    rig.set("ip route del 30.0.0.0/8\nip route add 30.0.0.0/8 via 10.0.1.2 pg1");
    let out = datagrams(&send(&mut rig, "ip4-receive", &some));
    let twice = less(&less(&packets));
    assert_eq!(out, [twice[0].clone(), twice[2].clone()]);
}

#[test]
fn a_far_end_begins_no_more_packets_than_there_is_room_for() {
    for over in 0..2 {
        let mut rig = bench(over, "underlay-mtu 600");
        let sent = datagrams(&send(&mut rig, "ip4-input", &[packet(1, 900)]));
        assert_eq!(sent.len(), 2);
        let input = ["ip4-receive", "ip6-receive"][over];
        let of_stream = |part: usize, stream: u8| {
            let mut datagram = sent[part].clone();
            let (mut header, rest) = Header::read_from_prefix(&datagram[FRONT[over]..]).unwrap();
            header.stream = stream;
            let rest = rest.to_vec();
            datagram.truncate(FRONT[over]);
            datagram.extend([header.as_bytes(), &rest].concat());
            back(over, &datagram)
        };
        let begun: Vec<_> = (0..40).map(|n| of_stream(0, n)).collect();
        send(&mut rig, input, &begun);
        rig.graph.moved_counters();
        let others: Vec<_> = (0..40).map(|n| of_stream(1, n)).collect();
        send(&mut rig, input, &others);
        let node = ["pvti4-input", "pvti6-input"][over];
        expect_some(&mut rig, node, "PVTI inner packets decapsulated", 32);
        // What was given up is begun again.
        send(&mut rig, input, &[of_stream(0, 0)]);
        rig.graph.moved_counters();
        send(&mut rig, input, &[of_stream(1, 0)]);
        expect_some(&mut rig, node, "PVTI inner packets decapsulated", 1);
    }
}

#[test]
fn datagrams_that_are_wrong_are_counted() {
    let mut rig = bench(0, "");
    let sent = datagrams(&send(&mut rig, "ip4-input", &[packet(1, 8)]));
    let good = back(0, &sent[0]);
    let with = |at: usize, value: u8| {
        let mut bad = good.clone();
        bad[28 + at] = value;
        bad
    };
    let mut other = good.clone();
    other[21] ^= 1;
    rig.graph.moved_counters();
    for (bad, why) in [
        (with(5, 0), "Packet has no chunks"),
        (with(6, 2), "Packet has more reassembly chunks than total"),
        (with(7, 1), "flags that are not known"),
        (with(9, 200), "Packet too short"),
        (with(20, 200), "Packet too short"),
        (other, "Could not find a peer"),
    ] {
        let out = send(&mut rig, "ip4-receive", &[bad]);
        assert!(out.iter().all(|c| c.at != "sent"), "{why}");
        expect_some(&mut rig, "pvti4-input", why, 1);
    }
}

#[test]
fn bypass_takes_datagrams_where_they_come_in() {
    let mut rig = bench(0, "");
    let sent = datagrams(&send(&mut rig, "ip4-input", &[packet(1, 8)]));
    let back = back(0, &sent[0]);
    rig.set("set interface ip pvti-bypass pg0");
    rig.graph.moved_counters();
    send(&mut rig, "ip4-input", &[back]);
    expect_some(&mut rig, "ip4-pvti-bypass", "PVTI bypass tunnel packets processed", 1);
}

#[test]
fn messages_refuse_what_cannot_be_and_list_what_is() {
    let mut rig = bench(0, "");
    let addr = |text: &str| text.parse::<std::net::IpAddr>().unwrap().into();
    let good = PvtiTunnel {
        sw_if_index: InterfaceIndex(0),
        local_ip: addr("10.0.1.1"),
        local_port: 1,
        remote_ip: addr("20.0.0.9"),
        peer_address_from_payload: false,
        remote_port: 2,
        underlay_mtu: 0,
        underlay_fib_index: 0,
    };
    rig.talk(|client, router| {
        for (bad, why) in [
            (PvtiTunnel { local_ip: addr("::1"), ..good }, Retval::INVALID_ADDRESS_FAMILY),
            (PvtiTunnel { local_ip: addr("0.0.0.0"), ..good }, Retval::INVALID_SRC_ADDRESS),
            (PvtiTunnel { remote_ip: addr("224.0.0.1"), ..good }, Retval::INVALID_DST_ADDRESS),
            (PvtiTunnel { remote_port: 0, ..good }, Retval::INVALID_VALUE),
            (PvtiTunnel { underlay_mtu: 100, ..good }, Retval::INVALID_VALUE),
            (PvtiTunnel { underlay_fib_index: 9, ..good }, Retval::NO_SUCH_FIB),
            (PvtiTunnel { peer_address_from_payload: true, ..good }, Retval::UNIMPLEMENTED),
        ] {
            let done = client.call(router, &PvtiInterfaceCreate { interface: bad });
            assert_eq!(done.unwrap_err(), why, "{bad:?}");
        }
        let made = client.call(router, &PvtiInterfaceCreate { interface: good }).unwrap();
        assert!(client.call(router, &PvtiInterfaceCreate { interface: good }).is_err());
        let all = PvtiInterfaceDump { sw_if_index: InterfaceIndex(u32::MAX) };
        let rows = client.dump(router, &all);
        assert_eq!(rows.len(), 2);
        let sw_if_index = made.sw_if_index;
        let expected = PvtiTunnel { sw_if_index, underlay_mtu: 1500, ..good };
        assert_eq!(rows[1].interface, expected);
        client.call(router, &PvtiInterfaceDelete { sw_if_index }).unwrap();
        assert!(client.call(router, &PvtiInterfaceDelete { sw_if_index }).is_err());
        assert_eq!(client.dump(router, &all).len(), 1);
    });
    assert!(rig.run("show pvti tx peers").contains("20.0.0.1 700"));
}

#[test]
fn a_route_to_the_far_end_through_the_tunnel_itself_is_not_used() {
    for over in 0..2 {
        let mut rig = bench(over, "");
        let (prefix, inside) = [("20.0.0.0/24", "20.0.0.7"), ("2a01::/64", "2a01::7")][over];
        rig.set(&format!("ip route add {prefix} via pvti0"));
        rig.graph.moved_counters();
        let (packet, node) = match over {
            0 => (udp4(HOST4, inside, 9, b"x"), "ip4-input"),
            _ => (udp6(HOST6, inside, 9, b"x"), "ip6-input"),
        };
        let out = send(&mut rig, node, std::slice::from_ref(&packet));
        assert!(datagrams(&out).is_empty(), "{out:?}");
        assert_eq!(rig.graph.buffers_used(), 0);
        // With another route to the far end it is one like any other.
        let host = ["20.0.0.1/32 via 10.0.1.2 pg1", "2a01::1/128 via 2001:db8:1::2 pg1"][over];
        rig.set(&format!("ip route add {host}"));
        assert_eq!(datagrams(&send(&mut rig, node, &[packet])).len(), 1);
    }
}

#[test]
fn words_of_commands_are_those_of_the_original() {
    let mut rig = rig(FEATURE);
    rig.set("ip table add 7");
    let line = "pvti interface create underlay-fib 7 local-ip 10.0.1.1 peer 20.0.0.1 700 701";
    let said = rig.run(&format!("{line} peer-address-from-payload"));
    assert!(!said.starts_with("pvti0"), "{said}");
    assert_eq!(rig.run(line), "pvti0\n");
}
