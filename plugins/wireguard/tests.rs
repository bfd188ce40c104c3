//! Tunnels whose other end is boringtun, another WireGuard.

use boringtun::noise::{Tunn, TunnResult};
use boringtun::x25519::{PublicKey, StaticSecret};
use control::api::Retval;
use graph::testing::Caught;
use net::InterfaceIndex;
use net::testing::{Rig, packets::*};
use net::tunnel::testing::*;
use wireguard::*;

/// Own addresses and endpoints.
const ENDS: [(&str, &str); 2] = [("10.0.1.1", "20.0.0.1"), ("2001:db8:1::1", "2a01::1")];
/// Bytes in front of a message, over IPv4 and over IPv6.
const FRONT: [usize; 2] = [28, 48];
const NODES: [&str; 2] = ["wg4-input", "wg6-input"];
/// Base64 of 32 bytes 1, which is the router's private key, and 32 bytes 2, the secret of both.
const OWN: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
const SECRET: &str = "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";

struct Far {
    rig: Rig,
    tunn: Tunn,
    over: usize,
}

fn encoded(bytes: &[u8; 32]) -> String {
    use base64::Engine;
    base64::prelude::BASE64_STANDARD.encode(bytes)
}

impl Far {
    /// A tunnel, and the other end of it.
    fn new(over: usize, more: &str) -> Self {
        let (own, far) = ENDS[over];
        let private = StaticSecret::from([3; 32]);
        let public = encoded(PublicKey::from(&private).as_bytes());
        let router = PublicKey::from(&StaticSecret::from([1; 32]));
        let secret = more.contains("preshared").then_some([2; 32]);
        let tunn = Tunn::new(private, router, secret, None, 7, None);
        let mut rig = rig(FEATURE);
        let line = format!("wireguard create listen-port 700 private-key {OWN} src {own}");
        assert_eq!(rig.run(&line), "wg0\n");
        rig.set("set interface state wg0 up");
        rig.set("set interface ip address wg0 172.16.0.1/24");
        rig.set("enable ip6 interface wg0");
        rig.set("ip route add 30.0.0.0/8 via 172.16.0.2 wg0");
        rig.set("ip route add 2a30::/16 via wg0");
        rig.set(&format!(
            "wireguard peer add wg0 public-key {public} {more} endpoint {far} dst-port 900 \
             allowed-ip 172.16.0.2/32 allowed-ip 30.0.0.0/8 allowed-ip 2a30::/16"
        ));
        Self { rig, tunn, over }
    }
    /// Makes control do its work; returns the router's packets, from the outer header on.
    fn settle(&mut self) -> Vec<Vec<u8>> {
        let mut all = datagrams(&self.rig.graph.run());
        for _ in 0..3 {
            self.rig.control(|router| router.run_due());
            all.extend(datagrams(&self.rig.graph.run()));
        }
        all
    }
    /// Gives the other end a message; what it answers, as the router receives it.
    fn give(&mut self, sent: &[u8]) -> Option<Vec<u8>> {
        let mut room = vec![0; 2048];
        match self.tunn.decapsulate(None, &sent[FRONT[self.over]..], &mut room) {
            TunnResult::WriteToNetwork(answer) => Some(answer.to_vec()),
            TunnResult::Done => None,
            other => panic!("{other:?}"),
        }
    }
    /// The router gets a message; where what is in it ends.
    fn receive(&mut self, message: &[u8]) -> Vec<Caught> {
        let (own, far) = ENDS[self.over];
        let mut made = datagram(far, own, 700, message, false);
        let ports = FRONT[self.over] - 8;
        made[ports..ports + 2].copy_from_slice(&900_u16.to_be_bytes());
        send(&mut self.rig, ["ip4-receive", "ip6-receive"][self.over], &[made])
    }
    /// Runs a handshake that the router starts.
    fn connect(&mut self) {
        let sent = self.settle();
        assert_eq!(sent.len(), 1, "an initiation");
        let answer = self.give(&sent[0]).expect("a response");
        self.receive(&answer);
        let sent = self.settle();
        assert_eq!(sent.len(), 1, "a message without a packet");
        assert_eq!(self.give(&sent[0]), None);
        self.rig.graph.moved_counters();
    }
    /// Contents of a message as the other end reads it.
    fn opened(&mut self, sent: &[u8]) -> Vec<u8> {
        let mut room = vec![0; 1 << 16];
        match self.tunn.decapsulate(None, &sent[FRONT[self.over]..], &mut room) {
            TunnResult::WriteToTunnelV4(packet, _) | TunnResult::WriteToTunnelV6(packet, _) => {
                packet.to_vec()
            }
            other => panic!("{other:?}"),
        }
    }
    /// A packet as the other end sends it.
    fn sealed(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut room = vec![0; packet.len() + 200];
        match self.tunn.encapsulate(packet, &mut room) {
            TunnResult::WriteToNetwork(message) => message.to_vec(),
            other => panic!("{other:?}"),
        }
    }
}

/// Datagrams that were sent, from the outer header on.
fn datagrams(out: &[Caught]) -> Vec<Vec<u8>> {
    let is_outer = |bytes: &Vec<u8>| match bytes[0] >> 4 {
        4 => bytes[9] == 17,
        _ => bytes[6] == 17,
    };
    let sent = out.iter().filter(|c| c.at == "sent").map(|c| c.bytes[14..].to_vec());
    sent.filter(is_outer).collect()
}

fn to_far(len: usize) -> Vec<u8> {
    udp4(HOST4, "30.1.1.1", 5, &vec![7; len])
}

fn from_far(src: &str, len: usize) -> Vec<u8> {
    udp4(src, HOST4, 5, &vec![9; len])
}

#[test]
fn packets_go_both_ways_after_a_handshake_begun_here() {
    for (over, more) in [(0, ""), (1, ""), (0, &*format!("preshared-key {SECRET}"))] {
        let mut far = Far::new(over, more);
        far.connect();
        for len in [0, 1, 3, 100, 1400, 1980, 2000, 4500, 8800] {
            let sent = datagrams(&send(&mut far.rig, "ip4-input", &[to_far(len)]));
            assert_eq!(sent.len(), 1, "{over} {len}");
            let expected = changed4(to_far(len), |h| h.ttl -= 1);
            assert_eq!(far.opened(&sent[0]), expected, "{over} {len}");
            let message = far.sealed(&from_far("30.1.1.1", len));
            let out = far.receive(&message);
            let expected = changed4(from_far("30.1.1.1", len), |h| h.ttl -= 1);
            let got: Vec<_> = out.iter().filter(|c| c.at == "sent").collect();
            assert_eq!(got.len(), 1, "{over} {len}: {out:?}");
            assert_eq!(got[0].bytes[14..], expected);
        }
        assert_eq!(far.rig.graph.buffers_used(), 0);
        assert!(far.rig.run("show wireguard peer").contains("flags: [established]"));
    }
}

#[test]
fn a_handshake_that_the_other_end_begins_counts_once_it_is_used() {
    let mut far = Far::new(0, "");
    far.settle();
    let mut room = vec![0; 2048];
    let initiation = match far.tunn.format_handshake_initiation(&mut room, true) {
        TunnResult::WriteToNetwork(message) => message.to_vec(),
        other => panic!("{other:?}"),
    };
    far.receive(&initiation);
    let sent = far.settle();
    assert_eq!(sent.len(), 1, "a response");
    far.rig.graph.moved_counters();
    send(&mut far.rig, "ip4-input", &[to_far(8)]);
    let moved = far.rig.graph.moved_counters();
    assert!(moved.contains(&("wg4-output-tun".into(), "Keypair error", 1)), "{moved:?}");
    // The response is answered without a packet.
    let answer = far.give(&sent[0]).expect("the session is used");
    far.receive(&answer);
    far.settle();
    let sent = datagrams(&send(&mut far.rig, "ip4-input", &[to_far(8)]));
    assert_eq!(far.opened(&sent[0]), changed4(to_far(8), |h| h.ttl -= 1));
    // The same once more is an old one.
    far.rig.graph.moved_counters();
    far.receive(&initiation);
    assert!(far.settle().is_empty());
    let moved = far.rig.graph.moved_counters();
    let why = "Failed while receiving Handshake";
    assert!(moved.contains(&("wg4-input".into(), why, 1)), "{moved:?}");
}

#[test]
fn what_is_wrong_is_counted() {
    for (over, node) in NODES.into_iter().enumerate() {
        let mut far = Far::new(over, "");
        far.connect();
        let good = far.sealed(&from_far("30.1.1.1", 8));
        let foreign = far.sealed(&from_far("31.1.1.1", 8));
        let mut expect = |message: &[u8], why: &str| {
            far.rig.graph.moved_counters();
            let out = far.receive(message);
            assert!(out.iter().all(|c| c.at != "sent"), "{why}: {out:?}");
            far.settle();
            let moved = far.rig.graph.moved_counters();
            let found = moved.iter().any(|m| (m.0.as_str(), m.1, m.2) == (node, why, 1));
            assert!(found, "{node} {why}: {moved:?}");
        };
        let mut bad = good.clone();
        bad[20] ^= 1;
        expect(&bad, "Failed during decryption");
        let mut bad = good.clone();
        bad[4] ^= 1;
        expect(&bad, "Peer error");
        expect(&foreign, "Peer error");
        expect(&[4, 0, 0, 0, 1], "Undefined error");
        expect(&[9; 20], "Undefined error");
        expect(&good[..20], "Failed during decryption");
        let mut initiation = vec![0; 148];
        initiation[0] = 1;
        expect(&initiation, "Invalid MAC handshake");
        let mut cookie = vec![0; 64];
        cookie[0] = 3;
        expect(&cookie, "Failed during Cookie decryption");
        let sent = |out: Vec<Caught>| out.iter().filter(|c| c.at == "sent").count();
        assert_eq!(sent(far.receive(&good)), 1);
        assert_eq!(sent(far.receive(&good)), 0, "a second time");
        // No peer is allowed this address.
        far.rig.set("ip route add 40.0.0.0/8 via 40.0.0.1 wg0");
        far.rig.graph.moved_counters();
        send(&mut far.rig, "ip4-input", &[udp4(HOST4, "40.1.1.1", 5, &[])]);
        let moved = far.rig.graph.moved_counters();
        assert!(moved.contains(&("wg4-output-tun".into(), "Peer error", 1)), "{moved:?}");
    }
}

#[test]
fn a_peer_is_followed_to_where_its_messages_come_from() {
    let mut far = Far::new(0, "");
    far.connect();
    let message = far.sealed(&from_far("30.1.1.1", 8));
    let mut made = datagram("20.0.0.9", "10.0.1.1", 700, &message, false);
    made[20..22].copy_from_slice(&901_u16.to_be_bytes());
    send(&mut far.rig, "ip4-receive", &[made]);
    far.settle();
    let sent = datagrams(&send(&mut far.rig, "ip4-input", &[to_far(8)]));
    assert_eq!((&sent[0][16..20], &sent[0][22..24]), (&[20, 0, 0, 9][..], &[3, 133][..]));
    // What an operator has said is what is kept.
    assert!(far.rig.run("show configuration").contains("endpoint 20.0.0.1"));
}

#[test]
fn a_clock_that_moves_ends_sessions_and_new_ones_begin() {
    let adjust = |far: &mut Far, seconds| {
        far.rig.control(|router| router.engine.clock().adjust(seconds));
    };
    for seconds in [181.0, -181.0] {
        let mut far = Far::new(0, "");
        adjust(&mut far, 1000.0);
        far.settle();
        far.rig.set("set interface state wg0 down\nset interface state wg0 up");
        let sent = far.settle();
        let answer = far.give(sent.last().unwrap()).expect("a response");
        far.receive(&answer);
        far.settle();
        adjust(&mut far, seconds);
        far.rig.graph.moved_counters();
        send(&mut far.rig, "ip4-input", &[to_far(8)]);
        let moved = far.rig.graph.moved_counters();
        assert!(moved.contains(&("wg4-output-tun".into(), "Keypair error", 1)), "{moved:?}");
        let sent = far.settle();
        assert!(sent.iter().any(|d| d[28] == 1), "{seconds}: an initiation");
    }
}

#[test]
fn windows_take_each_number_once() {
    use window::taken;
    assert_eq!(taken(&[0, 0, 2, 1, 1, 2]), [true, false, true, true, false, false]);
    assert_eq!(taken(&[8192, 0, 1, 1]), [true, false, true, false]);
    assert_eq!(taken(&[100_000, 91_809, 91_808, 99_999]), [true, true, false, true]);
    let far = u64::MAX / 2;
    assert_eq!(taken(&[5, far, 5, far - 1, far]), [true, true, false, true, false]);
    let all: Vec<u64> = (0..20_000).rev().collect();
    let expected: Vec<_> = all.iter().map(|n| *n >= 20_000 - 8192).collect();
    assert_eq!(taken(&all), expected);
}

#[test]
fn routes_into_the_tunnel_that_lead_to_its_endpoint_end_there() {
    let mut far = Far::new(0, "");
    far.connect();
    far.rig.set("ip route add 20.0.0.1/32 via 172.16.0.2 wg0");
    far.rig.graph.moved_counters();
    let out = send(&mut far.rig, "ip4-input", &[to_far(8)]);
    assert!(out.iter().all(|c| c.at != "sent"));
    let moved = far.rig.graph.moved_counters();
    assert!(moved.contains(&("wg4-output-tun".into(), "Peer error", 1)), "{moved:?}");
}

#[test]
fn keys_are_saved_and_not_shown() {
    let mut far = Far::new(0, &format!("preshared-key {SECRET}"));
    let shown = far.rig.run("show configuration");
    assert!(!shown.contains(OWN) && !shown.contains(SECRET), "{shown}");
    assert_eq!(shown.matches("<hidden>").count(), 2);
}

#[test]
fn messages_refuse_what_cannot_be_and_list_what_is() {
    let mut far = Far::new(0, "");
    let addr = |text: &str| text.parse::<std::net::IpAddr>().unwrap().into();
    let prefix = |text: &str| text.parse::<wire::Prefix>().unwrap().into();
    let wg0 = far.rig.interface("wg0");
    let good = WireguardPeer {
        peer_index: 0,
        public_key: [8; 32],
        port: 9,
        persistent_keepalive: 0,
        table_id: 0,
        endpoint: addr("20.0.0.3"),
        sw_if_index: wg0,
        flags: WireguardPeerFlags::default(),
        allowed_ips: vec![prefix("33.0.0.0/8")],
    };
    far.rig.talk(|client, router| {
        for (bad, why) in [
            (WireguardPeer { endpoint: addr("::1"), ..good.clone() }, Retval::INVALID_DST_ADDRESS),
            (WireguardPeer { port: 0, ..good.clone() }, Retval::INVALID_VALUE),
            (WireguardPeer { table_id: 4, ..good.clone() }, Retval::NO_SUCH_FIB),
            (WireguardPeer { allowed_ips: vec![], ..good.clone() }, Retval::INVALID_VALUE),
            (WireguardPeer { public_key: [0; 32], ..good.clone() }, Retval::INVALID_VALUE),
            (
                WireguardPeer { sw_if_index: InterfaceIndex(0), ..good.clone() },
                Retval::INVALID_SW_IF_INDEX,
            ),
        ] {
            let done = client.call(router, &WireguardPeerAdd { peer: bad.clone() });
            assert_eq!(done.unwrap_err(), why, "{bad:?}");
        }
        let made = client.call(router, &WireguardPeerAdd { peer: good.clone() }).unwrap();
        assert_eq!(made.peer_index, 1);
        let again = client.call(router, &WireguardPeerAdd { peer: good.clone() });
        assert_eq!(again.unwrap_err(), Retval::ENTRY_ALREADY_EXISTS);
        let rows = client.dump(router, &WireguardPeersDump { peer_index: 1 });
        assert_eq!(rows[0].peer, WireguardPeer { peer_index: 1, ..good.clone() });
        client.call(router, &WireguardPeerRemove { peer_index: 1 }).unwrap();
        let gone = client.call(router, &WireguardPeerRemove { peer_index: 1 });
        assert_eq!(gone.unwrap_err(), Retval::NO_SUCH_ENTRY);
        let all = |show_private_key| WireguardInterfaceDump {
            show_private_key,
            sw_if_index: InterfaceIndex(u32::MAX),
        };
        assert_eq!(client.dump(router, &all(false))[0].interface.private_key.0, [0; 32]);
        assert_eq!(client.dump(router, &all(true))[0].interface.private_key.0, [1; 32]);
        client.call(router, &WireguardInterfaceDelete { sw_if_index: wg0 }).unwrap();
        assert!(client.dump(router, &WireguardPeersV2Dump { peer_index: u32::MAX }).is_empty());
    });
    assert_eq!(far.rig.run("show wireguard peer"), "");
}
