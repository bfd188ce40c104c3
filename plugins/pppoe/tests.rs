//! Clients behind `pg0`, a control plane behind `pg1`.

use control::api::Retval;
use control::api::types::Address;
use graph::testing::Caught;
use net::InterfaceIndex;
use net::testing::packets;
use net::testing::whole::{Bench, HOST, OTHER, PG0, ip, ip6};
use pppoe::*;
use wire::MacAddr;
use wire::ethernet::{EtherType, Header};
use wire::pppoe::{PPP_IP4, PPP_IP6, SessionHeader};
use zerocopy::IntoBytes;

/// A frame of a client, with something behind its header of PPPoE.
fn framed(dst: MacAddr, src: MacAddr, pppoe: &[u8]) -> Vec<u8> {
    let is_discovery = pppoe[1] != 0;
    let kind = if is_discovery { EtherType::PPPOE_DISCOVERY } else { EtherType::PPPOE_SESSION };
    [Header::new(dst, src, kind).as_bytes(), pppoe].concat()
}

/// A packet in a session.
fn carried(src: MacAddr, session: u16, ppp: u16, packet: &[u8]) -> Vec<u8> {
    let header = SessionHeader::new(session, ppp, packet.len() as u16);
    framed(PG0, src, &[header.as_bytes(), packet].concat())
}

const PADI: [u8; 10] = [0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0];
const PADO: [u8; 10] = [0x11, 7, 0, 0, 0, 4, 1, 1, 0, 0];

/// With a control plane behind `pg1` and a session of `HOST`.
fn bench() -> Bench {
    // Another feature has a node that starts traces.
    let mut b = Bench::plugged(&[p2p_ethernet::FEATURE, FEATURE]);
    b.set("create pppoe cp cp-if-index pg1");
    let pg0 = b.pg0;
    b.receive(pg0, &[framed(MacAddr::BROADCAST, HOST, &PADI)]);
    let create = "create pppoe session client-ip 10.5.0.2 session-id 7";
    assert_eq!(b.cli(&format!("{create} client-mac {HOST}")), "pppoe_session0\n");
    b.set("set interface unnumbered pppoe_session0 use pg0");
    b.set("set ip neighbor pg0 10.0.0.9 02:00:00:00:00:09");
    b.wait(0.0);
    b.graph.moved_counters();
    b
}

fn by(out: &[Caught], interface: InterfaceIndex) -> Vec<&Caught> {
    out.iter().filter(|c| c.at == "sent" && c.tx == interface.0).collect()
}

fn counted(b: &mut Bench, node: &str) -> Vec<(String, u64)> {
    let mut moved = b.graph.moved_counters();
    moved.retain(|c| c.0 == node);
    moved.into_iter().map(|c| (c.1.to_string(), c.2)).collect()
}

#[test]
fn discovery_goes_to_the_control_plane_and_back() {
    let mut b = bench();
    let (pg0, pg1) = (b.pg0, b.pg1);
    let asks = framed(MacAddr::BROADCAST, HOST, &PADI);
    let out = b.receive(pg0, std::slice::from_ref(&asks));
    assert_eq!(by(&out, pg1).len(), 1);
    assert_eq!(by(&out, pg1)[0].bytes, asks, "as it was");
    let answer = framed(HOST, MacAddr([2, 0, 0, 0, 0, 0x44]), &PADO);
    let out = b.receive(pg1, std::slice::from_ref(&answer));
    assert_eq!(by(&out, pg0).len(), 1);
    assert_eq!(by(&out, pg0)[0].bytes, framed(HOST, PG0, &PADO), "from this router");
    assert_eq!(counted(&mut b, "pppoe-cp-dispatch"), [("control plane packet".to_owned(), 2)]);
    let unknown = framed(OTHER, PG0, &PADO);
    let mut bad = asks;
    bad[14] = 0x21;
    assert!(b.receive(pg1, &[unknown]).is_empty());
    assert!(b.receive(pg0, &[bad]).is_empty());
    let mut moved = counted(&mut b, "pppoe-cp-dispatch");
    moved.sort();
    let expected = [("bad version and type in pppoe header", 1), ("no such sessions", 1)];
    assert_eq!(moved, expected.map(|(text, n)| (text.to_owned(), n)));
    let shown = b.cli("show pppoe fib");
    assert!(shown.contains("02:00:00:00:00:01") && shown.contains("pg0"), "{shown}");
    b.set(&format!("create pppoe cp del cp-if-index {}", pg1.0));
    assert!(b.receive(pg0, &[framed(MacAddr::BROADCAST, HOST, &PADI)]).is_empty());
}

#[test]
fn who_makes_up_clients_shuts_nobody_out_and_takes_no_client_over() {
    let mut b = bench();
    let (pg0, on) = (b.pg0, b.pg1);
    let learn =
        |router: &mut net::Router, mac, interface| learn(router, Learned { mac, interface });
    let behind = |b: &mut Bench, mac: MacAddr| {
        b.control(|router, _| router.own::<Sessions>().clients.get(&mac).copied())
    };
    // A client with a session stays where it is, whichever host uses its address.
    b.control(|router, _| learn(router, HOST, on));
    assert_eq!(behind(&mut b, HOST), Some(pg0));
    // One without has moved.
    b.control(|router, _| learn(router, OTHER, pg0));
    b.control(|router, _| learn(router, OTHER, on));
    assert_eq!(behind(&mut b, OTHER), Some(on));
    // More than there is room for, on one interface: the oldest give way, and a new one is known.
    let made_up = |n: u32| {
        let [a, b, c, d] = n.to_be_bytes();
        MacAddr([2, 9, a, b, c, d])
    };
    b.control(|router, _| (0..140_000).for_each(|n| learn(router, made_up(n), on)));
    assert_eq!(behind(&mut b, made_up(139_999)), Some(on));
    assert_eq!(behind(&mut b, made_up(0)), None);
    assert_eq!(behind(&mut b, HOST), Some(pg0), "it has a session");
    b.control(|router, _| learn(router, made_up(1 << 30), pg0));
    assert_eq!(behind(&mut b, made_up(1 << 30)), Some(pg0));
}

#[test]
fn packets_come_out_of_sessions_and_go_into_them() {
    let mut b = bench();
    let pg0 = b.pg0;
    let session = b.interface("pppoe_session0");
    let to = packets::udp4("10.5.0.2", "10.0.0.9", 9, &[7; 20]);
    let from = packets::udp4("10.0.0.9", "10.5.0.2", 9, &[7; 20]);
    for count in [1, 3, 4, 255, 256] {
        let before = b.router.interfaces.values(session);
        // Short frames are filled up.
        let frame = [carried(HOST, 7, PPP_IP4, &to), vec![0; 9]].concat();
        let out = b.receive(pg0, &vec![frame; count]);
        let out = by(&out, pg0);
        assert_eq!(out.len(), count);
        assert_eq!(out[0].bytes.len(), 14 + to.len());
        assert_eq!(out[0].bytes[..6], [2, 0, 0, 0, 0, 9]);
        let frame = [Header::new(PG0, OTHER, EtherType::IP4).as_bytes(), &from].concat();
        let out = b.receive(pg0, &vec![frame; count]);
        let out = by(&out, pg0);
        assert_eq!(out.len(), count);
        let header = SessionHeader::new(7, PPP_IP4, from.len() as u16);
        let expected = framed(HOST, PG0, header.as_bytes());
        assert_eq!(out[0].bytes[..22], expected);
        assert_eq!(out[0].bytes[22 + 20..], from[20..]);
        let after = b.router.interfaces.values(session);
        assert_eq!(after.rx.packets - before.rx.packets, count as u64);
        assert_eq!(after.tx.packets - before.tx.packets, count as u64);
        let moved = counted(&mut b, "pppoe-input");
        assert_eq!(moved, [("good packets decapsulated".to_owned(), count as u64)]);
    }
    assert_eq!(b.graph.buffers_used(), 0);
    b.set("trace add p2p-ethernet-input 2");
    let frame = [Header::new(PG0, OTHER, EtherType::IP4).as_bytes(), &from].concat();
    let frames = [carried(HOST, 7, PPP_IP4, &to), frame];
    b.graph.send("p2p-ethernet-input", &frames, move |p| p.set_rx(pg0.0));
    let trace = b.cli("show trace");
    assert!(trace.contains("session 7 of pppoe_session0"), "{trace}");
    assert!(trace.contains("into session 7 over pg0"), "{trace}");
}

#[test]
fn sessions_of_ip6_work_in_their_table() {
    let mut b = bench();
    let pg0 = b.pg0;
    b.set("ip6 table add 7");
    b.receive(pg0, &[framed(MacAddr::BROADCAST, OTHER, &PADI)]);
    let create = "create pppoe session client-ip 2001:db8:5::2 session-id 9 decap-vrf-id 7";
    assert_eq!(b.cli(&format!("{create} client-mac {OTHER}")), "pppoe_session1\n");
    let packet = packets::udp6("2001:db8:5::2", "2001:db8:9::1", 9, &[7; 20]);
    b.receive(pg0, &[carried(OTHER, 9, PPP_IP6, &packet)]);
    let dropped = counted(&mut b, "ip6-not-enabled");
    assert_eq!(dropped.len(), 1, "{dropped:?}");
    b.set("enable ip6 interface pppoe_session1");
    b.set("ip route add table 7 2001:db8:9::/48 via 2001:db8::9 pg0");
    b.set("set ip neighbor pg0 2001:db8::9 02:00:00:00:00:09");
    b.wait(0.0);
    let packet = packets::udp6("2001:db8:5::2", "2001:db8:9::1", 9, &[7; 20]);
    let out = b.receive(pg0, &[carried(OTHER, 9, PPP_IP6, &packet)]);
    assert_eq!(by(&out, pg0).len(), 1);
    let packet = packets::udp6("2001:db8:5::3", "2001:db8:5::2", 9, &[7; 20]);
    let out = b.receive(pg0, &[carried(OTHER, 9, PPP_IP6, &packet)]);
    assert_eq!(by(&out, pg0)[0].bytes[20..22], [0, 0x57], "back into the session");
}

#[test]
fn what_belongs_to_no_session_is_dropped_or_the_control_planes() {
    let mut b = bench();
    let (pg0, pg1) = (b.pg0, b.pg1);
    let packet = packets::udp4("10.5.0.2", "10.0.0.9", 9, &[7; 20]);
    let good = carried(HOST, 7, PPP_IP4, &packet);
    let with = |at: usize, value: u8| {
        let mut frame = good.clone();
        frame[at] = value;
        frame
    };
    let frames = [
        carried(HOST, 8, PPP_IP4, &packet),
        carried(HOST, 0, PPP_IP4, &packet),
        carried(OTHER, 7, PPP_IP4, &packet),
        with(14, 0x12),
        with(18, 9),
        with(19, 1)[..60.min(good.len())].to_vec(),
    ];
    assert!(by(&b.receive(pg0, &frames), pg0).is_empty());
    let mut moved = counted(&mut b, "pppoe-input");
    moved.sort();
    let expected = [
        ("bad length in pppoe header", 2),
        ("bad version and type in pppoe header", 1),
        ("no such sessions", 3),
    ];
    assert_eq!(moved, expected.map(|(text, n)| (text.to_owned(), n)));
    // LCP, both ways.
    let lcp = carried(HOST, 7, 0xc021, &[1, 1, 0, 4]);
    let out = b.receive(pg0, std::slice::from_ref(&lcp));
    assert_eq!(by(&out, pg1)[0].bytes, lcp);
    let answer = framed(HOST, PG0, &lcp[14..]);
    let out = b.receive(pg1, std::slice::from_ref(&answer));
    assert_eq!(by(&out, pg0)[0].bytes, answer);
    b.set("set interface state pppoe_session0 down");
    assert!(by(&b.receive(pg0, &[good]), pg0).is_empty());
}

#[test]
fn sessions_are_made_listed_and_ended() {
    let mut b = bench();
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.talk(|local, router| {
        let add = |session_id, client_mac, client_ip: Address, decap_vrf_id| PppoeAddDelSession {
            is_add: true,
            session_id,
            client_ip,
            decap_vrf_id,
            client_mac,
        };
        let four = Address::from(std::net::IpAddr::V4(ip("10.5.0.3")));
        let six = Address::from(std::net::IpAddr::V6(ip6("2001:db8:5::3")));
        let none = Address::from(std::net::IpAddr::V4(ip("0.0.0.0")));
        for (wrong, why) in [
            (add(0, HOST, four, 0), Retval::INVALID_VALUE),
            (add(8, MacAddr::BROADCAST, four, 0), Retval::INVALID_DST_ADDRESS),
            (add(8, HOST, none, 0), Retval::INVALID_DST_ADDRESS),
            (add(7, HOST, four, 0), Retval::TUNNEL_EXISTS),
            (add(8, OTHER, four, 0), Retval::NO_SUCH_ENTRY),
            (add(8, HOST, four, 99), Retval::NO_SUCH_FIB),
        ] {
            assert_eq!(local.call(router, &wrong).err(), Some(why));
        }
        let made = local.call(router, &add(8, HOST, six, 0)).unwrap().sw_if_index;
        let all = PppoeSessionDump { sw_if_index: InterfaceIndex(u32::MAX) };
        assert_eq!(local.dump(router, &all).len(), 2);
        let rows = local.dump(router, &PppoeSessionDump { sw_if_index: made });
        assert_eq!((rows[0].session_id, rows[0].client_ip), (8, six));
        assert_eq!((rows[0].encap_if_index, rows[0].local_mac), (pg0, PG0));
        let end = PppoeAddDelSession { is_add: false, ..add(8, HOST, six, 0) };
        assert_eq!(local.call(router, &end).unwrap().sw_if_index, made);
        assert_eq!(local.call(router, &end).err(), Some(Retval::NO_SUCH_ENTRY));
        let cp = |sw_if_index, is_add| PppoeAddDelCp { sw_if_index, is_add };
        let nobody = InterfaceIndex(99);
        assert_eq!(local.call(router, &cp(nobody, 1)).err(), Some(Retval::INVALID_SW_IF_INDEX));
        local.call(router, &cp(pg0, 1)).unwrap();
        // In place of the other one.
        assert_eq!(local.call(router, &cp(pg1, 0)).err(), Some(Retval::IN_USE));
        local.call(router, &cp(pg1, 1)).unwrap();
        local.call(router, &cp(pg1, 0)).unwrap();
        assert_eq!(local.call(router, &cp(pg1, 0)).err(), Some(Retval::NO_SUCH_ENTRY));
    });
    for (line, error) in [
        ("create pppoe session session-id 9", "missing client-ip"),
        ("create pppoe session client-ip 10.5.0.9 session-id 70000", "invalid session-id"),
        ("create pppoe cp pg0", "unknown input `pg0'"),
    ] {
        let said = b.cli(line);
        assert!(said.contains(error), "{line}: {said}");
    }
    assert!(b.cli("show pppoe session").contains("client-ip 10.5.0.2 session-id 7"));
    b.control(|router, _| router.remove_interface(pg0));
    assert!(b.router.interfaces.named("pppoe_session0").is_none(), "it goes with its link");
    assert_eq!(b.cli("show pppoe session"), "No pppoe sessions configured...\n");
    assert_eq!(b.cli("show pppoe fib"), "no pppoe fib entries\n");
}
