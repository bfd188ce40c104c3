//! Clients that get addresses, and messages that go to servers and back.

use control::api::Retval;
use control::api::types::IpDscp;
use dhcp::*;
use graph::testing::Caught;
use net::InterfaceIndex;
use net::interface::Kind;
use net::testing::{Rig, whole};
use net::tunnel::testing::*;
use wire::MacAddr;
use wire::dhcp::{Entry, Header, find, kind, kind_of, message, option, read};
use wire::ethernet::{self, EtherType};
use zerocopy::IntoBytes;

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
/// Bytes in front of a message, with Ethernet.
const FRONT: usize = 42;

fn bench() -> Rig {
    let mut rig = rig(FEATURE);
    rig.add_interface("pg2", Kind::Ethernet, 2);
    settle_all(&mut rig);
    rig
}

/// Makes control do its work; returns the frames sent.
fn settle_all(rig: &mut Rig) -> Vec<Vec<u8>> {
    let mut all = sent(&rig.graph.run());
    for _ in 0..3 {
        rig.control(|router| router.run_due());
        all.extend(sent(&rig.graph.run()));
    }
    all
}

fn sent(out: &[Caught]) -> Vec<Vec<u8>> {
    out.iter().filter(|c| c.at == "sent").map(|c| c.bytes.clone()).collect()
}

/// Frames with DHCP messages.
fn messages(frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let is_it = |frame: &&Vec<u8>| frame.len() > FRONT && frame[23] == 17;
    frames.iter().filter(is_it).map(|frame| frame[FRONT..].to_vec()).collect()
}

/// A server's message is received; returns the frames sent then.
fn receive(rig: &mut Rig, on: &str, packet: &[u8]) -> Vec<Vec<u8>> {
    let rx = rig.interface(on).0;
    let mut all = sent(&rig.graph.send("ip4-input", &[packet.to_vec()], move |p| p.set_rx(rx)));
    all.extend(settle_all(rig));
    all
}

fn answer(asked: &[u8], kind: u8, yours: [u8; 4], more: &[Entry<'_>]) -> Vec<u8> {
    let mut header = *read(asked).unwrap().0;
    (header.op, header.yours) = (2, yours);
    let kind = [kind];
    let front: [Entry<'_>; 2] =
        [(option::MESSAGE_TYPE, &kind), (option::SERVER_ID, &[10, 7, 0, 1])];
    let bytes = message(&header, &[&front[..], more].concat(), 300);
    from_server("10.7.0.1", "255.255.255.255", 68, &bytes)
}

fn from_server(src: &str, dst: &str, port: u16, bytes: &[u8]) -> Vec<u8> {
    let mut packet = datagram(src, dst, port, bytes, false);
    packet[20..22].copy_from_slice(&67_u16.to_be_bytes());
    packet
}

const LEASED: [u8; 4] = [10, 7, 0, 9];

fn ack(asked: &[u8], seconds: u32) -> Vec<u8> {
    let more: [Entry<'_>; 3] = [
        (option::SUBNET_MASK, &[255, 255, 255, 0]),
        (option::ROUTER, &[10, 7, 0, 1]),
        (option::LEASE_TIME, &seconds.to_be_bytes()),
    ];
    answer(asked, kind::ACK, LEASED, &more)
}

/// Carries a client on to its lease.
fn bind(rig: &mut Rig, seconds: u32) {
    rig.set("set dhcp client intfc pg2 hostname here client-id me");
    let discover = messages(&settle_all(rig)).remove(0);
    let (header, options) = read(&discover).unwrap();
    assert_eq!(kind_of(options), Some(kind::DISCOVER));
    assert_eq!((&header.mac[..6], header.flags.get()), (&MAC.0[..], 0x8000));
    assert_eq!(find(options, option::HOST_NAME), Some(&b"here"[..]));
    assert_eq!(find(options, option::CLIENT_ID), Some(&b"\0me"[..]));
    let offer = answer(&discover, kind::OFFER, LEASED, &[]);
    let request = messages(&receive(rig, "pg2", &offer)).remove(0);
    let options = read(&request).unwrap().1;
    assert_eq!(kind_of(options), Some(kind::REQUEST));
    assert_eq!(find(options, option::REQUESTED_ADDRESS), Some(&LEASED[..]));
    assert_eq!(find(options, option::SERVER_ID), Some(&[10, 7, 0, 1][..]));
    receive(rig, "pg2", &ack(&request, seconds));
    assert!(
        rig.run("show dhcp client")
            .contains("state DHCP_BOUND installed 1 addr 10.7.0.9/24 gw 10.7.0.1")
    );
}

#[test]
fn a_client_gets_an_address_and_a_router_and_gives_them_up() {
    let mut rig = bench();
    bind(&mut rig, 3600);
    assert!(rig.run("show ip fib 0.0.0.0/0").contains("10.7.0.1"));
    assert!(!rig.run("show configuration").contains("10.7.0.9"), "it is learned");
    rig.set("set dhcp client del intfc pg2");
    assert!(!rig.run("show ip fib").contains("10.7.0"));
    assert!(!rig.run("show configuration").contains("dhcp"));
}

#[test]
fn a_client_without_an_identifier_is_known_by_its_mac_address() {
    let mut rig = bench();
    rig.set("set dhcp client intfc pg2");
    let frames = settle_all(&mut rig);
    let discover = messages(&frames).remove(0);
    let id = [&[0][..], MAC.to_string().as_bytes()].concat();
    assert_eq!(find(read(&discover).unwrap().1, option::CLIENT_ID), Some(&id[..]));
    let hops = frames.iter().find(|frame| frame.get(23) == Some(&17)).map(|frame| frame[22]);
    assert_eq!(hops, Some(128));
    assert!(!rig.run("show configuration").contains("client-id"));
}

#[test]
fn answers_from_afar_have_the_number_of_the_exchange() {
    let mut rig = bench();
    rig.set("set dhcp client intfc pg2");
    let discover = messages(&settle_all(&mut rig)).remove(0);
    let offer = answer(&discover, kind::OFFER, LEASED, &[]);
    // The number is behind the headers of IPv4 and UDP, and four bytes.
    let changed = |port: u16, dst: [u8; 4], has_number: bool| {
        let mut packet = offer.clone();
        packet[20..22].copy_from_slice(&port.to_be_bytes());
        if !has_number {
            packet[32..36].fill(0);
        }
        net::testing::packets::changed4(packet, |header| header.dst = dst)
    };
    for packet in
        [changed(68, [255; 4], true), changed(67, LEASED, false), changed(1000, LEASED, true)]
    {
        assert!(messages(&receive(&mut rig, "pg2", &packet)).is_empty());
    }
    let server = MacAddr([2, 0, 0, 0, 0, 9]);
    let sent = receive_from(&mut rig, server, &changed(67, [255; 4], false));
    let request = messages(&sent).remove(0);
    assert_eq!(kind_of(read(&request).unwrap().1), Some(kind::REQUEST));
    // Only the neighbour whose offer was taken may leave the number out.
    let mut unnumbered = ack(&request, 100);
    unnumbered[32..36].fill(0);
    let unnumbered = net::testing::packets::changed4(unnumbered, |header| header.dst = LEASED);
    for (last, is_bound) in [(8, false), (9, true)] {
        let from = MacAddr([2, 0, 0, 0, 0, last]);
        receive_from(&mut rig, from, &unnumbered);
        let shown = rig.run("show dhcp client");
        assert_eq!(shown.contains("state DHCP_BOUND"), is_bound, "{shown}");
    }
}

/// The same as [`receive`] on pg2, in a frame from a neighbour.
fn receive_from(rig: &mut Rig, from: MacAddr, packet: &[u8]) -> Vec<Vec<u8>> {
    let rx = rig.interface("pg2").0;
    let header = ethernet::Header::new(MAC, from, EtherType::IP4);
    let frame = [header.as_bytes(), packet].concat();
    let mut all = sent(&rig.graph.send("ip4-input", &[frame], move |p| {
        p.set_rx(rx);
        let l2 = p.offset();
        p.set_l2_offset(l2);
        p.advance(size_of::<ethernet::Header>());
    }));
    all.extend(settle_all(rig));
    all
}

#[test]
fn a_lease_ends_and_the_client_begins_anew() {
    let mut rig = bench();
    bind(&mut rig, 100);
    rig.set("set ip neighbor pg2 10.7.0.1 02:00:00:00:00:99");
    settle_all(&mut rig);
    rig.control(|router| router.engine.clock().adjust(51.0));
    let renewal = messages(&settle_all(&mut rig)).remove(0);
    let (header, options) = read(&renewal).unwrap();
    assert_eq!((kind_of(options), header.client), (Some(kind::REQUEST), LEASED));
    rig.control(|router| router.engine.clock().adjust(60.0));
    let discover = messages(&settle_all(&mut rig)).remove(0);
    assert_eq!(kind_of(read(&discover).unwrap().1), Some(kind::DISCOVER));
    assert!(!rig.run("show ip fib").contains("10.7.0.9"));
}

/// Waits so long; messages that are sent meanwhile, and where they go.
fn wait(rig: &mut Rig, seconds: f64) -> Vec<(bool, Vec<u8>)> {
    rig.control(|router| router.engine.clock().adjust(seconds));
    let frames = settle_all(rig);
    let is_broadcast = frames.iter().map(|frame| frame[30..34] == [255; 4]);
    is_broadcast.zip(frames.iter().map(|frame| frame[FRONT..].to_vec())).collect()
}

#[test]
fn a_renewal_is_for_the_server_and_from_t2_on_for_any() {
    let mut rig = bench();
    bind(&mut rig, 24);
    rig.set("set ip neighbor pg2 10.7.0.1 02:00:00:00:00:99");
    settle_all(&mut rig);
    let mut at = 0.0;
    let mut sent = Vec::new();
    while at < 23.5 {
        at += 0.5;
        sent.extend(wait(&mut rig, 0.5).into_iter().map(|(all, message)| (at, all, message)));
    }
    let first = sent.first().unwrap();
    assert!((12.0..13.0).contains(&first.0), "T1 is half of the lease");
    assert!(sent.len() >= 4, "it is asked for more than once in each state");
    for (at, is_broadcast, message) in &sent {
        let (header, options) = read(message).unwrap();
        assert_eq!((kind_of(options), header.client), (Some(kind::REQUEST), LEASED));
        assert_eq!(*is_broadcast, *at >= 21.0, "{at}: T2 is seven eighths");
        let named = (!is_broadcast).then_some(&LEASED[..]);
        assert_eq!(find(options, option::REQUESTED_ADDRESS), named, "{at}");
        assert_eq!(find(options, option::SERVER_ID), None);
    }
    // Another server gives more time.
    let more = ack(&sent.last().unwrap().2, 3600);
    receive(&mut rig, "pg2", &more);
    assert!(wait(&mut rig, 1700.0).is_empty());
    assert!(rig.run("show dhcp client").contains("BOUND installed 1 addr 10.7.0.9/24"));
}

#[test]
fn a_renewal_that_is_lost_is_repeated_soon_and_another_server_may_answer() {
    let mut rig = bench();
    bind(&mut rig, 43_200);
    rig.set("set ip neighbor pg2 10.7.0.1 02:00:00:00:00:99");
    settle_all(&mut rig);
    assert_eq!(wait(&mut rig, 21_601.0).len(), 1, "T1");
    assert_eq!(wait(&mut rig, 1.1).len(), 1);
    assert_eq!(wait(&mut rig, 2.1).len(), 1);
    let last = wait(&mut rig, 4.1);
    assert!(wait(&mut rig, 59.0).is_empty(), "later ones are rare");
    receive(&mut rig, "pg2", &of_another(&last[0].1, kind::ACK, [10, 7, 0, 77]));
    assert!(rig.run("show dhcp client").contains("BOUND installed 1 addr 10.7.0.77/"));
}

#[test]
fn classless_routes_and_an_mtu_are_asked_for_and_used() {
    let mut rig = bench();
    rig.set("set dhcp client broadcast intfc pg2");
    let discover = messages(&settle_all(&mut rig)).remove(0);
    let asked = find(read(&discover).unwrap().1, option::PARAMETERS).unwrap().to_vec();
    let place = |code| asked.iter().position(|asked| *asked == code);
    assert!(place(option::CLASSLESS_ROUTES).unwrap() < place(option::ROUTER).unwrap());
    assert!(place(option::INTERFACE_MTU).is_some() && place(option::REBINDING_TIME).is_some());
    let offer = answer(&discover, kind::OFFER, LEASED, &[]);
    let request = messages(&receive(&mut rig, "pg2", &offer)).remove(0);
    let routes = [&[32, 10, 9, 9, 9, 0, 0, 0, 0][..], &[0, 10, 9, 9, 9], &[20, 192, 168, 16]];
    // The option is in two parts.
    let (first, second) = (routes.concat(), [10, 7, 0, 2]);
    let given: [Entry<'_>; 6] = [
        (option::SUBNET_MASK, &[255, 255, 255, 0]),
        (option::ROUTER, &[10, 7, 0, 1]),
        (option::LEASE_TIME, &[0, 0, 14, 16]),
        (option::INTERFACE_MTU, &[5, 20]),
        (option::CLASSLESS_ROUTES, &first),
        (option::CLASSLESS_ROUTES, &second),
    ];
    receive(&mut rig, "pg2", &answer(&request, kind::ACK, LEASED, &given));
    assert!(rig.run("show dhcp client").contains("BOUND installed 1 addr 10.7.0.9/24 gw 10.9.9.9"));
    let default = rig.run("show ip fib 0.0.0.0/0");
    assert!(default.contains("10.9.9.9") && !default.contains("10.7.0.1"), "{default}");
    assert!(rig.run("show ip fib 192.168.16.0/20").contains("10.7.0.2"));
    assert!(rig.run("show ip fib 10.9.9.9/32").contains("pg2"));
    let pg2 = rig.interface("pg2");
    let mtu = |rig: &mut Rig| rig.control(move |r| r.interfaces.mtu_of(pg2, |m| m.for_ip4()));
    assert_eq!(mtu(&mut rig), 1300);
    let configuration = rig.run("show configuration");
    assert!(!configuration.contains("1300") && !configuration.contains("10.9.9.9"));
    rig.set("set dhcp client del intfc pg2");
    assert!(mtu(&mut rig) > 1300, "it goes with the lease");
    let fib = rig.run("show ip fib");
    assert!(!fib.contains("10.9.9.9") && !fib.contains("192.168.16.0"));
    // The operator's counts.
    rig.set("set interface mtu ip4 1200 pg2");
    bind(&mut rig, 3600);
    assert_eq!(mtu(&mut rig), 1200);
}

#[test]
fn an_address_that_cannot_be_used_is_declined_and_asked_for_later() {
    let mut rig = bench();
    rig.set("set interface ip address pg0 10.7.0.7/24");
    rig.set("set dhcp client intfc pg2");
    let mut discover = messages(&settle_all(&mut rig)).remove(0);
    for _ in 0..2 {
        let offer = answer(&discover, kind::OFFER, LEASED, &[]);
        let request = messages(&receive(&mut rig, "pg2", &offer)).remove(0);
        let after = messages(&receive(&mut rig, "pg2", &ack(&request, 3600)));
        assert_eq!(after.len(), 1, "nothing but the refusal");
        let (header, options) = read(&after[0]).unwrap();
        assert_eq!((kind_of(options), header.client), (Some(kind::DECLINE), [0; 4]));
        assert_eq!(find(options, option::REQUESTED_ADDRESS), Some(&LEASED[..]));
        assert_eq!(find(options, option::SERVER_ID), Some(&[10, 7, 0, 1][..]));
        assert_eq!(find(options, option::PARAMETERS), None);
        let shown = rig.run("show dhcp client");
        let said = "state DHCP_DISCOVER installed 0 no address declined 10.7.0.9: conflicts with 10.7.0.7/24";
        assert!(shown.contains(said), "{shown}");
        assert!(wait(&mut rig, 9.5).is_empty(), "it waits ten seconds");
        rig.set("set interface state pg2 down");
        rig.set("set interface state pg2 up");
        assert!(messages(&settle_all(&mut rig)).is_empty(), "whatever its interface does");
        discover = wait(&mut rig, 1.0).remove(0).1;
        assert_eq!(kind_of(read(&discover).unwrap().1), Some(kind::DISCOVER));
    }
    let entries = rig.control(|router| router.log.entries());
    let said = entries.iter().filter(|entry| entry.text.contains("conflicts with 10.7.0.7/24"));
    assert_eq!(said.count(), 1, "once");
    rig.set("set interface ip address del pg0 10.7.0.7/24");
    let offer = answer(&discover, kind::OFFER, LEASED, &[]);
    let request = messages(&receive(&mut rig, "pg2", &offer)).remove(0);
    receive(&mut rig, "pg2", &ack(&request, 3600));
    assert!(!rig.run("show dhcp client").contains("declined"));
}

#[test]
fn a_server_that_refuses_what_it_offers_is_not_asked_without_pause() {
    let mut rig = bench();
    rig.set("set dhcp client intfc pg2");
    let mut discover = messages(&settle_all(&mut rig)).remove(0);
    for round in 0..2 {
        let offer = answer(&discover, kind::OFFER, LEASED, &[]);
        let request = messages(&receive(&mut rig, "pg2", &offer)).remove(0);
        let nak = answer(&request, kind::NAK, [0; 4], &[]);
        let again = messages(&receive(&mut rig, "pg2", &nak));
        assert_eq!(again.len(), 1 - round);
        again.into_iter().for_each(|message| discover = message);
    }
    assert!(wait(&mut rig, 9.5).is_empty());
    assert_eq!(wait(&mut rig, 1.0).len(), 1);
}

#[test]
fn priority_bits_of_a_tag_follow_the_mark_of_messages() {
    let mut b = whole::Bench::plugged(&[l2::FEATURE, mpls::FEATURE, qos::FEATURE, FEATURE]);
    for line in [
        "create sub-interfaces pg1 100",
        "set interface state pg1.100 up",
        "qos egress map id 1 [ip][46]=4",
        "qos mark vlan pg1.100 id 1",
        "set dhcp client intfc pg1.100 dscp 46",
    ] {
        b.cli(line);
    }
    let out = b.settle();
    let all = whole::sent(&out);
    let discover = all.iter().find(|frame| frame[12..14] == [0x81, 0]).unwrap();
    assert_eq!(discover[..6], [255; 6]);
    assert_eq!((discover[14] >> 4, discover[15]), (4, 100), "the map's four bits");
    assert_eq!(discover[19], 46, "the byte of the header");
}

#[test]
fn a_client_heeds_only_what_is_for_it() {
    let mut rig = bench();
    rig.set("set dhcp client intfc pg2");
    let discover = messages(&settle_all(&mut rig)).remove(0);
    for change in [4_usize, 28] {
        let mut other = discover.clone();
        other[change] ^= 1;
        let offer = answer(&other, kind::OFFER, LEASED, &[]);
        assert!(messages(&receive(&mut rig, "pg2", &offer)).is_empty(), "byte {change}");
    }
    let offer = answer(&discover, kind::OFFER, [0; 4], &[]);
    assert!(messages(&receive(&mut rig, "pg2", &offer)).is_empty(), "no address");
    let offer = answer(&discover, kind::OFFER, LEASED, &[]);
    let request = messages(&receive(&mut rig, "pg2", &offer)).remove(0);
    let nak = answer(&request, kind::NAK, [0; 4], &[]);
    let again = messages(&receive(&mut rig, "pg2", &nak)).remove(0);
    assert_eq!(kind_of(read(&again).unwrap().1), Some(kind::DISCOVER));
}

/// A message of a client behind an interface.
fn asked(kind: u8) -> Vec<u8> {
    let header = Header::of_client(7, MacAddr([8; 6]), 0);
    let bytes = message(&header, &[(option::MESSAGE_TYPE, &[kind])], 0);
    let mut packet = datagram("0.0.0.0", "255.255.255.255", 67, &bytes, false);
    packet[20..22].copy_from_slice(&68_u16.to_be_bytes());
    packet
}

#[test]
fn messages_are_relayed_to_servers_and_back() {
    let mut rig = bench();
    rig.set("set dhcp proxy server 20.0.0.1 src-address 10.0.1.1");
    rig.set("set dhcp proxy server 20.0.0.2 src-address 10.0.1.1");
    rig.set("set dhcp option-82 vss table 0 vpn-ascii-id net");
    let relayed = messages(&receive(&mut rig, "pg0", &asked(kind::DISCOVER)));
    assert_eq!(relayed.len(), 2, "all servers are looked for");
    assert_eq!(messages(&receive(&mut rig, "pg0", &asked(kind::REQUEST))).len(), 1);
    let (header, options) = read(&relayed[0]).unwrap();
    assert_eq!((header.relay, header.hops), ([10, 0, 1, 1], 1));
    let agent = find(options, option::RELAY_AGENT).unwrap().to_vec();
    let pg0 = rig.interface("pg0").0 as u8;
    let expected = [&[1, 4, 0, 0, 0, pg0, 5, 4, 10, 0, 0, 1, 151, 4, 0], &b"net"[..], &[152, 0]];
    assert_eq!(agent, expected.concat());
    let offer = |agent: &[u8]| {
        let more: [Entry<'_>; 2] =
            [(option::MESSAGE_TYPE, &[kind::OFFER]), (option::RELAY_AGENT, agent)];
        message(header, &more, 0)
    };
    let back = from_server("20.0.0.1", "10.0.1.1", 67, &offer(&agent));
    let frames = receive(&mut rig, "pg1", &back);
    assert_eq!((&frames[0][..6], &frames[0][30..34]), (&[255; 6][..], &[255; 4][..]));
    let mut refused = |packet: &[u8], why: &str| {
        rig.graph.moved_counters();
        assert!(messages(&receive(&mut rig, "pg1", packet)).is_empty(), "{why}");
        let moved = rig.graph.moved_counters();
        let found = moved.iter().any(|m| (m.0.as_str(), m.1) == ("dhcp-proxy-to-client", why));
        assert!(found, "{why}: {moved:?}");
    };
    let other = from_server("20.0.0.9", "10.0.1.1", 67, &offer(&agent));
    refused(&other, "DHCP packets not from DHCP server or server FIB.");
    let mut bad = agent.clone();
    bad[2] = 33;
    let bad = from_server("20.0.0.1", "10.0.1.1", 67, &offer(&bad));
    refused(&bad, "Bad DHCP option 82 interface value");
    let mut bad = agent.clone();
    bad[8] = 33;
    let bad = from_server("20.0.0.1", "10.0.1.1", 67, &offer(&bad));
    refused(&bad, "Bad DHCP option 82 address value");
    let bad = message(header, &[(option::MESSAGE_TYPE, &[kind::OFFER])], 0);
    refused(&from_server("20.0.0.1", "10.0.1.1", 67, &bad), "DHCP option 82 missing");
    let mut reply = *header;
    reply.op = 2;
    let entries: [Entry<'_>; 2] =
        [(option::MESSAGE_TYPE, &[kind::ACK]), (option::RELAY_AGENT, &agent)];
    let back = from_server("20.0.0.1", "10.0.1.1", 67, &message(&reply, &entries, 0));
    let got = messages(&receive(&mut rig, "pg1", &back)).remove(0);
    let (header, options) = read(&got).unwrap();
    assert_eq!((header.op, header.relay, kind_of(options)), (2, [10, 0, 1, 1], Some(kind::ACK)));
    assert_eq!(find(options, option::RELAY_AGENT), None, "it is between relay and server");
    let told = "set dhcp proxy server 20.0.0.1 src-address 10.0.1.1\n\
                set dhcp proxy server 20.0.0.2 src-address 10.0.1.1\n\
                set dhcp option-82 vss table 0 vpn-ascii-id net\n";
    assert!(rig.run("show configuration").contains(told));
    rig.set("set dhcp proxy del server 20.0.0.1 src-address 10.0.1.1");
    rig.set("set dhcp proxy del server 20.0.0.2 src-address 10.0.1.1");
    assert!(messages(&receive(&mut rig, "pg0", &asked(kind::DISCOVER))).is_empty());
}

#[test]
fn messages_of_other_relays_keep_their_option_and_go_back_to_them() {
    let mut rig = bench();
    rig.set("set dhcp proxy server 20.0.0.1 src-address 10.0.1.1");
    let theirs: &[u8] = &[1, 2, 9, 9];
    let send = |rig: &mut Rig, relay: [u8; 4], agent: Option<&[u8]>| {
        let mut header = Header::of_client(7, MacAddr([8; 6]), 0);
        (header.relay, header.hops) = (relay, 1);
        let kind: Entry<'_> = (option::MESSAGE_TYPE, &[kind::DISCOVER]);
        let agent = agent.map(|agent| (option::RELAY_AGENT, agent));
        let entries: Vec<_> = [Some(kind), agent].into_iter().flatten().collect();
        let packet = from_server("10.0.0.9", "10.0.0.1", 67, &message(&header, &entries, 0));
        rig.graph.moved_counters();
        messages(&receive(rig, "pg0", &packet))
    };
    for agent in [Some(theirs), None] {
        let relayed = send(&mut rig, [10, 8, 0, 1], agent).remove(0);
        let (header, options) = read(&relayed).unwrap();
        assert_eq!((header.relay, header.hops), ([10, 8, 0, 1], 2));
        assert_eq!(find(options, option::RELAY_AGENT), agent);
    }
    for relay in [[0; 4], [10, 0, 1, 1]] {
        assert!(send(&mut rig, relay, Some(theirs)).is_empty());
        let moved = rig.graph.moved_counters();
        let why = ("dhcp-proxy-to-server", "DHCP option 82 of no relay");
        assert!(moved.iter().any(|m| (m.0.as_str(), m.1) == why), "{relay:?}: {moved:?}");
    }
}

#[test]
fn a_network_is_taken_back_by_what_set_it_and_saved_while_its_table_is_there() {
    let mut rig = bench();
    for (plain, of) in [("set dhcp option-82 vss", "ip"), ("set dhcpv6 vss", "ip6")] {
        rig.set(&format!("{of} table add 2"));
        for which in ["vpn-ascii-id abc", "oui 1 vpn-id 2", ""] {
            rig.set(format!("{plain} table 2 {which}").trim());
            rig.set(format!("{plain} table 2 {which} delete").trim());
            assert!(!rig.run("show configuration").contains(plain));
        }
        rig.set(&format!("{plain} table 2 oui 1 vpn-id 2"));
        assert!(rig.run("show configuration").contains(plain));
        // Without its table it is in no configuration, which a new router would refuse.
        rig.set(&format!("{of} table del 2"));
        assert!(!rig.run("show configuration").contains(plain));
        rig.set(&format!("{plain} table 2 delete"));
    }
}

#[test]
fn requests_that_cannot_be_are_refused() {
    let mut rig = bench();
    let pg2 = rig.interface("pg2");
    let client = DhcpClient {
        sw_if_index: pg2,
        hostname: "here".into(),
        id: [0; 64],
        want_dhcp_event: false,
        set_broadcast_flag: true,
        dscp: IpDscp(46),
        pid: 0,
    };
    let addr = |text: &str| text.parse::<std::net::IpAddr>().unwrap().into();
    rig.talk(|talker, router| {
        let mut set = |is_add, client: &DhcpClient| {
            talker.call(router, &DhcpClientConfig { is_add, client: client.clone() })
        };
        let unknown = DhcpClient { sw_if_index: InterfaceIndex(99), ..client.clone() };
        assert_eq!(set(true, &unknown).unwrap_err(), Retval::INVALID_SW_IF_INDEX);
        assert_eq!(set(false, &client).unwrap_err(), Retval::NO_SUCH_ENTRY);
        set(true, &client).unwrap();
        assert_eq!(set(true, &client).unwrap_err(), Retval::VALUE_EXIST);
        let rows = talker.dump(router, &DhcpClientDump {});
        assert_eq!((&rows[0].client, rows[0].lease.state), (&client, DhcpClientState::DISCOVER));
        let mut proxy = |server: &str, src: &str, rx_vrf_id, is_add| {
            let (dhcp_server, dhcp_src_address) = (addr(server), addr(src));
            let m = DhcpProxyConfig {
                rx_vrf_id,
                server_vrf_id: 0,
                is_add,
                dhcp_server,
                dhcp_src_address,
            };
            talker.call(router, &m).map(|_| ())
        };
        let why = Err(Retval::INVALID_ADDRESS_FAMILY);
        assert_eq!(proxy("20.0.0.1", "::1", 0, true), why);
        assert_eq!(proxy("20.0.0.1", "10.0.1.1", 7, true), Err(Retval::NO_SUCH_FIB));
        assert_eq!(proxy("20.0.0.1", "10.0.1.1", 0, false), Err(Retval::NO_SUCH_ENTRY));
        assert_eq!(proxy("20.0.0.1", "10.0.1.1", 0, true), Ok(()));
        assert_eq!(proxy("20.0.0.1", "10.0.1.1", 0, true), Err(Retval::VALUE_EXIST));
    });
}

/// A message of another server than the one that gave the lease.
fn of_another(asked: &[u8], kind: u8, yours: [u8; 4]) -> Vec<u8> {
    let mut header = *read(asked).unwrap().0;
    (header.op, header.yours) = (2, yours);
    let kind = [kind];
    let options: [Entry<'_>; 2] =
        [(option::MESSAGE_TYPE, &kind), (option::SERVER_ID, &[10, 7, 0, 66])];
    from_server("10.7.0.66", "255.255.255.255", 68, &message(&header, &options, 300))
}

#[test]
fn a_client_heeds_only_the_server_that_it_asked_and_only_then() {
    let mut rig = bench();
    rig.set("set dhcp client intfc pg2");
    let discover = messages(&settle_all(&mut rig)).remove(0);
    let offer = answer(&discover, kind::OFFER, LEASED, &[]);
    let request = messages(&receive(&mut rig, "pg2", &offer)).remove(0);
    for bad in
        [of_another(&request, kind::NAK, [0; 4]), of_another(&request, kind::ACK, [10, 7, 0, 200])]
    {
        assert!(messages(&receive(&mut rig, "pg2", &bad)).is_empty());
        assert!(!rig.run("show dhcp client").contains("BOUND"));
    }
    receive(&mut rig, "pg2", &ack(&request, 100));
    let is_bound =
        |rig: &mut Rig| rig.run("show dhcp client").contains("BOUND installed 1 addr 10.7.0.9/24");
    assert!(is_bound(&mut rig));
    for unasked in [
        answer(&request, kind::NAK, [0; 4], &[]),
        answer(&request, kind::ACK, [10, 7, 0, 200], &[]),
        of_another(&request, kind::NAK, [0; 4]),
    ] {
        receive(&mut rig, "pg2", &unasked);
        assert!(is_bound(&mut rig));
    }
    rig.set("set ip neighbor pg2 10.7.0.1 02:00:00:00:00:99");
    rig.control(|router| router.engine.clock().adjust(51.0));
    let renewal = messages(&settle_all(&mut rig)).remove(0);
    receive(&mut rig, "pg2", &of_another(&renewal, kind::NAK, [0; 4]));
    assert!(is_bound(&mut rig));
    let nak = answer(&renewal, kind::NAK, [0; 4], &[]);
    let again = messages(&receive(&mut rig, "pg2", &nak)).remove(0);
    assert_eq!(kind_of(read(&again).unwrap().1), Some(kind::DISCOVER));
    assert_ne!(read(&again).unwrap().0.xid.get(), read(&renewal).unwrap().0.xid.get() + 1);
}
