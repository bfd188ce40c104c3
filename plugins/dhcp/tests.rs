//! Clients that get addresses, and messages that go to servers and back.

use control::api::Retval;
use control::api::types::IpDscp;
use dhcp::*;
use graph::testing::Caught;
use net::InterfaceIndex;
use net::interface::Kind;
use net::testing::Rig;
use net::tunnel::testing::*;
use wire::MacAddr;
use wire::dhcp::{Entry, Header, find, kind, kind_of, message, option, read};

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
/// Bytes in front of a message, with Ethernet.
const FRONT: usize = 42;

fn bench() -> Rig {
    let mut rig = rig(FEATURE);
    rig.add_interface("pg2", Kind::Ethernet, 2);
    settle_all(&mut rig);
    rig
}

/// Has control do what is to be done; frames that are sent.
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

/// A server's message comes in; frames that are sent then.
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
    assert!(rig.run("show dhcp client").contains("state BOUND addr 10.7.0.9/24 gw 10.7.0.1"));
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
    let told = "set dhcp proxy server 20.0.0.1 src-address 10.0.1.1\n\
                set dhcp proxy server 20.0.0.2 src-address 10.0.1.1\n\
                set dhcp option-82 vss table 0 vpn-ascii-id net\n";
    assert!(rig.run("show configuration").contains(told));
    rig.set("set dhcp proxy del server 20.0.0.1 src-address 10.0.1.1");
    rig.set("set dhcp proxy del server 20.0.0.2 src-address 10.0.1.1");
    assert!(messages(&receive(&mut rig, "pg0", &asked(kind::DISCOVER))).is_empty());
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
