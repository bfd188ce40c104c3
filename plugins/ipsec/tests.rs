//! Security of IP packets: ESP and AH: tests with packets.

use graph::testing::Caught;
use net::testing::{Rig, packets::*};
use net::tunnel::testing::{send, settle};
use net::{
    address, fast_path, fib, fragment, icmp, ip4, ip6, mfib, neighbor, path_mtu, punt, reassembly,
    teib, tunnel,
};
use wire::Protocol;

/// Two networks and far ends behind the second, with tunnels.
fn rig() -> Rig {
    rig_with("")
}

/// The same with a startup configuration.
fn rig_with(startup: &str) -> Rig {
    rig_on(1, startup)
}

/// The same on so many threads.
fn rig_on(threads: usize, startup: &str) -> Rig {
    let features = [
        fast_path::FEATURE,
        fib::FEATURE,
        address::FEATURE,
        ip4::FEATURE,
        ip6::FEATURE,
        mfib::FEATURE,
        icmp::FEATURE,
        fragment::FEATURE,
        reassembly::FEATURE,
        neighbor::FEATURE,
        path_mtu::FEATURE,
        tunnel::FEATURE,
        teib::FEATURE,
        mpls::FEATURE,
        ipip::FEATURE,
        gre::FEATURE,
        crypto::FEATURE,
        punt::FEATURE,
        ipsec::FEATURE,
    ];
    let read = |router: &mut net::Router| {
        router.stanzas = control::config::Config::parse(startup, &[]).unwrap().others;
    };
    let (mut rig, ()) = Rig::made(threads, &features, read, |_| ());
    rig.add_networks(2);
    for line in [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:a2",
        "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:a2",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:b2",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:b2",
        "ip route add 20.0.0.0/8 via 10.0.1.2 pg1",
        "ip route add 2a01::/16 via 2001:db8:1::2 pg1",
    ] {
        rig.set(line);
    }
    settle(&mut rig);
    rig
}

/// All algorithms that go together, as words of a command, with whether they have a hash.
fn suites() -> Vec<String> {
    let key = |len: usize| "5a".repeat(len);
    let of = |cipher: &crypto::CipherAlgorithm, mac: &crypto::MacAlgorithm| {
        let mut words = String::new();
        if cipher.key > 0 {
            words += &format!("crypto-alg {} crypto-key {} ", cipher.name, key(cipher.key));
        }
        if mac.icv > 0 {
            words += &format!("integ-alg {} integ-key {} ", mac.name, key(20));
        }
        words
    };
    let mut all = Vec::new();
    for cipher in &crypto::CIPHERS {
        let is_whole = cipher.icv > 0;
        let macs = crypto::MACS.iter().filter(|mac| (mac.icv == 0) == is_whole);
        all.extend(macs.map(|mac| of(cipher, mac)));
    }
    all
}

/// The packet that was sent, behind the Ethernet header.
#[track_caller]
fn only(out: Vec<Caught>) -> Vec<u8> {
    assert_eq!(out.len(), 1, "{out:?}");
    assert_eq!((out[0].at.as_str(), out[0].error.as_str()), ("sent", ""));
    out[0].bytes[14..].to_vec()
}

fn packet(len: usize) -> Vec<u8> {
    udp4(HOST4, "20.9.9.9", 7, &vec![0x11; len])
}

#[test]
fn tunnels_of_policies_carry_packets_of_all_lengths_with_all_algorithms() {
    for suite in suites() {
        for more in ["", "use-esn use-anti-replay"] {
            let mut rig = rig();
            let sa = |id, ends: &str| format!("ipsec sa add {id} spi 1000 {suite} {more} {ends}");
            rig.set(&sa(1, "tunnel-src 10.0.1.1 tunnel-dst 20.0.0.1"));
            // The number may come last.
            let ends = "tunnel-src 20.0.0.1 tunnel-dst 10.0.1.1";
            rig.set(&format!("ipsec sa {ends} inbound {suite} {more} spi 1000 2 add"));
            rig.set("ipsec sa bind 2 unbind");
            rig.set("ipsec spd add 1");
            rig.set("set interface ipsec spd pg1 1");
            rig.set(
                "ipsec policy add spd 1 priority 10 outbound action protect sa 1 \
                remote-ip-range 20.9.0.0 - 20.9.255.255",
            );
            rig.set("ipsec policy add spd 1 priority 5 outbound protocol 50 action bypass");
            rig.set("ipsec spd 2 add");
            rig.set("ipsec policy add spd 2 priority 10 inbound action protect sa 2");
            rig.set("ipsec policy add spd 2 priority 1 inbound protocol 17 action bypass");
            rig.set("set interface ipsec spd pg0 2");
            settle(&mut rig);
            for len in [1, 17, 1000] {
                let out = send(&mut rig, "ip4-input", &[packet(len)]);
                assert!(!out.is_empty(), "{:?}", rig.graph.moved_counters());
                let sealed = only(out);
                assert_eq!((sealed[9], &sealed[12..20]), (50, &[10, 0, 1, 1, 20, 0, 0, 1][..]));
                let back = ip4("20.0.0.1", "10.0.1.1", Protocol::ESP, &sealed[20..]);
                let clear = only(send(&mut rig, "ip4-input", std::slice::from_ref(&back)));
                // The decrypted packet is routed, and protected once more: it leaves encrypted.
                assert_eq!((clear[9], clear.len()), (50, sealed.len()), "{suite}");
                if !more.is_empty() {
                    let again = send(&mut rig, "ip4-input", &[back]);
                    assert!(again.iter().all(|caught| caught.at != "sent"), "{again:?}");
                }
            }
        }
    }
}

#[test]
fn protected_tunnels_carry_what_they_did_without() {
    for suite in suites() {
        let mut rig = rig();
        assert_eq!(rig.run("create ipip tunnel src 10.0.1.1 dst 20.0.0.1"), "ipip0\n");
        rig.set(&format!("ipsec sa add 1 spi 1001 {suite}"));
        rig.set(&format!("ipsec sa add 2 spi 1001 {suite} use-anti-replay"));
        rig.set("ipsec tunnel protect ipip0 input-sa 2 output-sa 1");
        for line in ["set interface state ipip0 up", "ip route add 30.0.0.0/8 via ipip0"] {
            rig.set(line);
        }
        rig.set("enable ip4 interface ipip0");
        settle(&mut rig);
        let out = udp4(HOST4, "30.1.1.1", 7, b"data");
        let sealed = only(send(&mut rig, "ip4-input", std::slice::from_ref(&out)));
        assert_eq!((sealed[9], &sealed[12..20]), (50, &[10, 0, 1, 1, 20, 0, 0, 1][..]));
        // The far end sends the same: it is routed into the tunnel again.
        let back = ip4("20.0.0.1", "10.0.1.1", Protocol::ESP, &sealed[20..]);
        let again = only(send(&mut rig, "ip4-receive", std::slice::from_ref(&back)));
        assert_eq!((again[9], again.len()), (50, sealed.len()), "{suite}");
        let replayed = send(&mut rig, "ip4-receive", &[back]);
        assert!(replayed.iter().all(|caught| caught.at != "sent"), "{replayed:?}");
        rig.set("ipsec tunnel protect ipip0 del");
        let clear = only(send(&mut rig, "ip4-input", &[out]));
        assert_eq!(clear[9], 4);
    }
}

#[test]
fn a_far_end_may_leave_the_header_of_a_protected_tunnel_out() {
    for kind in ["ipip", "gre"] {
        let mut rig = rig();
        rig.run(&format!("create {kind} tunnel src 10.0.1.1 dst 20.0.0.1"));
        let suite = &suites()[0];
        for line in [
            &format!("ipsec sa add 1 spi 1001 {suite}"),
            &format!(
                "ipsec sa add 2 spi 1001 {suite} tunnel-src 20.0.0.1 tunnel-dst 10.0.1.1 inbound"
            ),
            &format!("ipsec tunnel protect {kind}0 input-sa 2 output-sa 1"),
            &format!("set interface state {kind}0 up"),
            &format!("ip route add 30.0.0.0/8 via {kind}0"),
            &format!("enable ip4 interface {kind}0"),
        ] {
            rig.set(line);
        }
        settle(&mut rig);
        // The sealed packet has no header of the tunnel, which received packets may have.
        let out = udp4(HOST4, "30.1.1.1", 7, b"data");
        let sealed = only(send(&mut rig, "ip4-input", &[out]));
        let back = ip4("20.0.0.1", "10.0.1.1", Protocol::ESP, &sealed[20..]);
        let again = only(send(&mut rig, "ip4-receive", &[back]));
        assert_eq!((again[9], again.len()), (50, sealed.len()), "{kind}");
    }
}

#[test]
fn nothing_leaves_by_an_interface_that_nobody_protects() {
    let mut rig = rig();
    assert_eq!(rig.run("ipsec itf create"), "ipsec0\n");
    for line in ["set interface state ipsec0 up", "ip route add 30.0.0.0/8 via ipsec0"] {
        rig.set(line);
    }
    rig.set("enable ip4 interface ipsec0");
    settle(&mut rig);
    let out = send(&mut rig, "ip4-input", &[udp4(HOST4, "30.1.1.1", 7, b"data")]);
    assert!(out.iter().all(|caught| caught.at != "sent"), "{out:?}");
}

#[test]
fn protected_tunnels_carry_frames() {
    for mode in [
        ["", ""],
        ["tunnel-src 10.0.1.1 tunnel-dst 20.0.0.1", "tunnel-src 20.0.0.1 tunnel-dst 10.0.1.1"],
    ] {
        let mut rig = rig();
        assert_eq!(rig.run("create gre tunnel src 10.0.1.1 dst 20.0.0.1 teb"), "gre0\n");
        let suite = &suites()[0];
        rig.set(&format!("ipsec sa add 1 spi 1001 {suite} {}", mode[0]));
        rig.set(&format!("ipsec sa add 2 spi 1001 {suite} {} inbound", mode[1]));
        rig.set("set interface state gre0 up");
        settle(&mut rig);
        let frame =
            [[2; 6], [4; 6]].concat().into_iter().chain(*b"\x88\xb5frame").collect::<Vec<_>>();
        let clear = net::tunnel::testing::frame_sent(&mut rig, "gre0", &frame);
        assert_eq!((clear[9], &clear[24..]), (47, &frame[..]));
        rig.set("ipsec tunnel protect gre0 input-sa 2 output-sa 1");
        let sealed = net::tunnel::testing::frame_sent(&mut rig, "gre0", &frame);
        assert_eq!((sealed[9], &sealed[12..20]), (50, &[10, 0, 1, 1, 20, 0, 0, 1][..]));
        settle(&mut rig);
        // The remote end sends the same; the frame has no handler, but it is seen as the tunnel's.
        let back = ip4("20.0.0.1", "10.0.1.1", Protocol::ESP, &sealed[20..]);
        send(&mut rig, "ip4-receive", &[back]);
        let moved = rig.graph.moved_counters();
        assert!(moved.contains(&("esp4-decrypt-tun".to_owned(), "rx_pkts", 1)), "{moved:?}");
        rig.set("ipsec tunnel protect gre0 del");
        assert_eq!(net::tunnel::testing::frame_sent(&mut rig, "gre0", &frame), clear);
    }
}

#[test]
fn a_protected_tunnel_for_frames_carries_no_announcement_of_an_address() {
    for (own, far) in [("10.0.1.1", "20.0.0.1"), ("2001:db8:1::1", "2a01::1")] {
        let mut rig = rig();
        rig.run(&format!("create gre tunnel src {own} dst {far} teb"));
        let suite = &suites()[0];
        for line in [
            &format!("ipsec sa add 1 spi 1001 {suite}"),
            "ipsec tunnel protect gre0 input-sa 1 output-sa 1",
            "set interface state gre0 up",
        ] {
            rig.set(line);
        }
        settle(&mut rig);
        for line in ["set interface ip address gre0 10.7.0.1/24", "enable ip6 interface gre0"] {
            rig.set(line);
        }
        rig.graph.run();
        let moved = rig.graph.moved_counters();
        let is_sealed = |(node, ..): &(String, _, _)| node.contains("encrypt");
        assert!(!moved.iter().any(is_sealed), "{moved:?}");
    }
}

/// A packet that AH protects, as another implementation (Scapy) makes it.
struct Signed {
    /// Words of the association.
    sa: &'static str,
    /// Of its tunnel from near to far, if it is one.
    ends: [&'static str; 2],
    is_6: bool,
    /// Behind the IP header.
    bytes: &'static str,
}

const SIGNED: [Signed; 4] = [
    Signed {
        sa: "integ-alg sha1-96",
        ends: ["", ""],
        is_6: false,
        bytes: "11040000000003e800000001c7fee1069210b50590b00e5b04d20007000cfb2664617461",
    },
    Signed {
        sa: "integ-alg sha-256-128 use-esn use-anti-replay",
        ends: ["", ""],
        is_6: true,
        bytes: "11060000000003e8000000014371c5cbf2a837e0bc9c8c645c4caf960000000004d20007000cca7564617461",
    },
    Signed {
        sa: "integ-alg sha-512-256 use-esn use-anti-replay",
        ends: ["10.0.1.1", "20.0.0.1"],
        is_6: false,
        bytes: "04090000000003e8000000019b9c50ca84c288c1d80b870dbca0d4dbdece4041386255d4aa9feaacbc92ad75\
            45000020000000003f1154ba0a0000021409090904d20007000cfb2664617461",
    },
    Signed {
        sa: "integ-alg sha-384-192",
        ends: ["2001:db8:1::1", "2a01::1"],
        is_6: true,
        bytes: "29080000000003e800000001f7909953e1ee4fa6774c911ca687966f6b1a87847e8fe87e00000000\
            60000000000c113f20010db80000000000000000000000022a01000000000000000000000000000904d2\
            0007000cca7564617461",
    },
];

impl Signed {
    fn bytes(&self) -> Vec<u8> {
        let digits: Vec<_> = self.bytes.chars().filter_map(|c| c.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    }
    fn clear(&self) -> Vec<u8> {
        match self.is_6 {
            false => udp4(HOST4, "20.9.9.9", 7, b"data"),
            true => udp6(HOST6, "2a01::9", 7, b"data"),
        }
    }
    /// From the far end, or on from the host in transport mode.
    fn sealed(&self) -> Vec<u8> {
        let host = if self.is_6 { [HOST6, "2a01::9"] } else { [HOST4, "20.9.9.9"] };
        let [src, dst] = if self.ends[0].is_empty() { host } else { self.ends };
        match self.is_6 {
            false => changed4(ip4(src, dst, Protocol::AH, &self.bytes()), |_| ()),
            true => ip6(src, dst, Protocol::AH, &self.bytes()),
        }
    }
    fn family(&self) -> &'static str {
        if self.is_6 { "ip6" } else { "ip4" }
    }
    /// A rig with an association, whose policies protect outbound or inbound packets.
    fn rig(&self, is_inbound: bool) -> Rig {
        let mut rig = rig();
        let key = "5a".repeat(20);
        let ends = match self.ends {
            ["", ""] => String::new(),
            [src, dst] => format!("tunnel-src {src} tunnel-dst {dst}"),
        };
        let direction = if is_inbound { "inbound" } else { "outbound" };
        let at = if is_inbound { "pg0" } else { "pg1" };
        rig.set(&format!("ipsec sa add 1 spi 1000 ah {} integ-key {key} {ends}", self.sa));
        rig.set("ipsec spd add 1");
        rig.set(&format!("set interface ipsec spd {at} 1"));
        let family = self.family().to_owned() + if is_inbound { "" } else { " protocol 17" };
        rig.set(&format!(
            "ipsec policy add spd 1 priority 9 {direction} {family} action protect sa 1"
        ));
        if !is_inbound {
            let rest = self.family();
            rig.set(&format!("ipsec policy add spd 1 priority 1 outbound {rest} action bypass"));
        }
        settle(&mut rig);
        rig
    }
    fn node(&self, what: &str) -> String {
        format!("ah{}-{what}", if self.is_6 { 6 } else { 4 })
    }
}

#[test]
fn packets_are_signed_as_others_sign_them() {
    for signed in &SIGNED {
        let mut rig = signed.rig(false);
        let input = format!("{}-input", signed.family());
        let sealed = only(send(&mut rig, &input, &[signed.clear()]));
        let header = if signed.is_6 { 40 } else { 20 };
        assert_eq!(sealed[if signed.is_6 { 6 } else { 9 }], 51);
        assert_eq!(sealed[header..], signed.bytes(), "{}", signed.sa);
        let addresses = header - if signed.is_6 { 32 } else { 8 };
        assert_eq!(sealed[addresses..header], signed.sealed()[addresses..header]);
        let node = signed.node("encrypt");
        assert!(rig.graph.moved_counters().contains(&(node, "rx_pkts", 1)));
    }
}

#[test]
fn packets_that_others_signed_are_let_through_once_and_only_as_they_were() {
    for signed in &SIGNED {
        let input = format!("{}-input", signed.family());
        // Routers on the way change these.
        let travelled = match signed.is_6 {
            false => changed4(signed.sealed(), |h| (h.ttl, h.tos) = (3, 0xb9)),
            true => changed6(signed.sealed(), |h| {
                (h.hop_limit, h.version_class_flow) = (3, 0x6ab1_2345.into())
            }),
        };
        let node = signed.node("decrypt");
        let mut rig = signed.rig(true);
        let clear = only(send(&mut rig, &input, std::slice::from_ref(&travelled)));
        let header = if signed.is_6 { 40 } else { 20 };
        assert_eq!(clear[header..], signed.clear()[header..], "{}", signed.sa);
        assert!(rig.graph.moved_counters().contains(&(node.clone(), "rx_pkts", 1)));
        let again = send(&mut rig, &input, std::slice::from_ref(&travelled));
        let is_protected = signed.sa.contains("anti-replay");
        let is_sent = again.iter().any(|caught| caught.at == "sent");
        assert_eq!(is_sent, !is_protected, "{again:?}");
        assert_eq!(rig.graph.moved_counters().contains(&(node.clone(), "replay", 1)), is_protected);

        let refused = |packet: Vec<u8>, why: &'static str| {
            let mut rig = signed.rig(true);
            let out = send(&mut rig, &input, &[packet]);
            assert!(out.iter().all(|caught| caught.at != "sent"), "{why}: {out:?}");
            let moved = rig.graph.moved_counters();
            assert!(moved.contains(&(node.clone(), why, 1)), "{why}: {moved:?}");
            let errors = rig.run("show ipsec sa detail");
            let said = if why == "integ_error" { "Integrity check failed" } else { TAIL };
            assert!(errors.contains(&format!("\"{said}\":[packets:1]\n")), "{errors}");
        };
        for at in [header, header + 2, header + 13, travelled.len() - 1] {
            let mut packet = travelled.clone();
            packet[at] ^= 1;
            refused(packet, "integ_error");
        }
        if !signed.is_6 {
            let mut long = travelled.clone();
            long[header + 1] = 200;
            refused(long, "no_tail_space");
        }
    }
}

#[test]
fn options_and_extension_headers_that_change_on_the_way_are_not_signed() {
    let key = "5a".repeat(20);
    for mode in ["", "tunnel-src 2001:db8:1::1 tunnel-dst 2a01::1"] {
        let mut out = rig();
        out.set(&format!("ipsec sa add 1 spi 1000 ah integ-alg sha1-96 integ-key {key} {mode}"));
        out.set("ipsec spd add 1");
        out.set("set interface ipsec spd pg1 1");
        out.set("ipsec policy add spd 1 priority 9 outbound ip6 protocol 17 action protect sa 1");
        out.set("ipsec policy add spd 1 priority 1 outbound ip6 action bypass");
        settle(&mut out);
        // An option that may change and one that does not, behind a hop-by-hop header.
        let udp = &udp6(HOST6, "2a01::9", 7, b"data")[40..];
        let options = [17, 1, 0x3e, 4, 1, 2, 3, 4, 0x1e, 4, 5, 6, 7, 8, 1, 0];
        let packet = ip6(HOST6, "2a01::9", Protocol::HOP_BY_HOP, &[&options[..], udp].concat());
        let caught = send(&mut out, "ip6-input", &[packet]);
        assert!(!caught.is_empty(), "{:?}", out.graph.moved_counters());
        let sealed = only(caught);
        let mut back = rig();
        back.set(&format!("ipsec sa add 1 spi 1000 ah integ-alg sha1-96 integ-key {key} {mode}"));
        back.set("ipsec spd add 1");
        back.set("set interface ipsec spd pg0 1");
        back.set("ipsec policy add spd 1 priority 9 inbound ip6 action protect sa 1");
        settle(&mut back);
        let mut travelled = sealed.clone();
        if mode.is_empty() {
            travelled[44] ^= 0xff;
        }
        let caught = send(&mut back, "ip6-input", &[travelled.clone()]);
        assert!(!caught.is_empty(), "{:?}", back.graph.moved_counters());
        let clear = only(caught);
        assert_eq!((clear[6], &clear[56..]), (0, udp));
        let mut other = sealed;
        other[if mode.is_empty() { 50 } else { 120 }] ^= 0xff;
        let out = send(&mut back, "ip6-input", &[other]);
        assert!(out.iter().all(|caught| caught.at != "sent"), "{out:?}");
    }
}

#[test]
fn associations_of_ah_have_a_hash_and_protect_no_tunnel() {
    let mut rig = rig();
    for words in ["", "crypto-alg aes-128-cbc crypto-key 00112233445566778899aabbccddeeff"] {
        let said = rig.run(&format!("ipsec sa add 1 spi 1000 ah {words}"));
        assert!(said.contains("unsupported combination"), "{said}");
    }
    let sa = "ipsec sa add 1 spi 1000 ah integ-alg sha1-96 integ-key 5a5a";
    let said = rig.run(&format!("{sa} udp-encap"));
    assert!(said.contains("unsupported combination"), "{said}");
    rig.set(sa);
    assert_eq!(rig.run("create ipip tunnel src 10.0.1.1 dst 20.0.0.1"), "ipip0\n");
    let said = rig.run("ipsec tunnel protect ipip0 input-sa 1 output-sa 1");
    assert!(said.contains("only ESP can protect tunnels"), "{said}");
}

/// Fates of datagrams to these ports.
fn fates(rig: &mut Rig, ports: &[u16]) -> Vec<bool> {
    let packets: Vec<_> =
        ports.iter().map(|port| udp4(HOST4, "20.9.9.9", *port, b"data")).collect();
    let sent = send(rig, "ip4-input", &packets);
    let went =
        |port: &u16| sent.iter().any(|c| c.at == "sent" && c.bytes[36..38] == port.to_be_bytes());
    ports.iter().map(went).collect()
}

#[test]
fn flows_are_remembered_until_a_policy_of_their_direction_changes() {
    let words = "ipsec { ipv4-inbound-spd-flow-cache on ipv4-outbound-spd-flow-cache on \
        ipv4-outbound-spd-hash-buckets 1024 }";
    let mut rig = rig_with(words);
    let count = |rig: &mut Rig| {
        let shown = rig.run("show ipsec spd");
        let last: Vec<_> = shown.lines().rev().take(2).map(str::to_owned).collect();
        let number = |at: usize, name: &str| {
            let line = last[at].strip_prefix(name).expect("the entries");
            line.trim().parse::<u64>().unwrap()
        };
        [
            number(1, "ipv4-inbound-spd-flow-cache-entries: "),
            number(0, "ipv4-outbound-spd-flow-cache-entries: "),
        ]
    };
    for line in [
        "ipsec spd add 1",
        "ipsec spd add 2",
        "set interface ipsec spd pg0 1",
        "set interface ipsec spd pg1 2",
        "ipsec policy add spd 1 priority 1 inbound ip4 action bypass",
        "ipsec policy add spd 2 priority 1 outbound ip4 action bypass",
    ] {
        rig.set(line);
    }
    assert_eq!(count(&mut rig), [0, 0]);
    for _ in 0..2 {
        assert_eq!(fates(&mut rig, &[1, 2, 3]), [true; 3]);
        assert_eq!(count(&mut rig), [3, 3]);
    }
    // Another policy in front of those that are remembered by their place.
    let discard = "spd 2 priority 9 outbound ip4 action discard remote-port-range 2 - 2";
    rig.set(&format!("ipsec policy add {discard}"));
    assert_eq!(count(&mut rig), [3, 0]);
    for _ in 0..2 {
        assert_eq!(fates(&mut rig, &[1, 2, 3]), [true, false, true]);
    }
    assert_eq!(count(&mut rig), [3, 3]);
    let policies = rig.run("show ipsec spd 2");
    assert!(policies.contains("packets 2 bytes"), "{policies}");
    rig.set(&format!("ipsec policy del {discard}"));
    rig.set(
        "ipsec policy add spd 1 priority 9 inbound ip4 action discard remote-port-range 1234 \
        - 1234",
    );
    rig.set("ipsec policy del spd 1 priority 1 inbound ip4 action bypass");
    assert_eq!(count(&mut rig), [0, 0]);
    assert_eq!(fates(&mut rig, &[1, 2, 3]), [false; 3]);
    assert_eq!(count(&mut rig), [3, 0]);
}

#[test]
fn flows_that_meet_in_a_place_are_each_judged_by_their_policy() {
    let words = "ipsec { ipv4-outbound-spd-flow-cache on ipv4-outbound-spd-hash-buckets 1 }";
    let mut rig = rig_with(words);
    rig.set("ipsec spd add 2");
    rig.set("set interface ipsec spd pg1 2");
    rig.set("ipsec policy add spd 2 priority 1 outbound ip4 action bypass");
    rig.set(
        "ipsec policy add spd 2 priority 9 outbound ip4 action discard remote-port-range 2 - 2",
    );
    for _ in 0..3 {
        assert_eq!(fates(&mut rig, &[1, 2, 3, 2, 1]), [true, false, true, false, true]);
    }
    let shown = rig.run("show ipsec spd");
    assert!(shown.ends_with("ipv4-outbound-spd-flow-cache-entries: 1\n"), "{shown}");
}

#[test]
fn policies_found_by_tables_are_those_found_one_by_one() {
    let fast = "ipsec { ipv4-outbound-spd-fast-path on ipv4-inbound-spd-fast-path on \
        ipv6-outbound-spd-fast-path on ipv6-inbound-spd-fast-path on \
        spd-fast-path-num-buckets 1024 }";
    for startup in ["", fast] {
        let mut rig = rig_with(startup);
        for line in [
            "ipsec spd add 1",
            "ipsec spd add 2",
            "set interface ipsec spd pg0 1",
            "set interface ipsec spd pg1 2",
            "ipsec policy add spd 1 priority 5 inbound ip4 action bypass local-ip-range 20.0.0.0 \
                - 20.255.255.255",
            "ipsec policy add spd 1 priority 5 inbound ip4 action discard",
            "ipsec policy add spd 2 priority 1 outbound ip4 action bypass",
            "ipsec policy add spd 2 priority 5 outbound ip4 protocol 17 action discard \
                remote-port-range 2 - 3",
            "ipsec policy add spd 2 priority 7 outbound ip4 protocol 17 action bypass \
                remote-ip-range 20.9.9.9 - 20.9.9.9 remote-port-range 3 - 3",
            "ipsec policy add spd 2 priority 6 outbound ip4 protocol 17 action discard \
                remote-ip-range 20.9.9.0 - 20.9.9.255 remote-port-range 4 - 4",
        ] {
            rig.set(line);
        }
        assert_eq!(fates(&mut rig, &[1, 2, 3, 4]), [true, false, true, false], "{startup}");
        rig.set(
            "ipsec policy del spd 2 priority 7 outbound ip4 protocol 17 action bypass \
            remote-ip-range 20.9.9.9 - 20.9.9.9 remote-port-range 3 - 3",
        );
        assert_eq!(fates(&mut rig, &[1, 2, 3, 4]), [true, false, false, false], "{startup}");
    }
}

#[test]
fn a_stanza_that_says_something_else_is_refused() {
    for (words, why) in [
        ("ipv4-inbound-spd-flow-cash on", "ipv4-inbound-spd-flow-cash"),
        ("ipv4-outbound-spd-fast-path maybe", "ipv4-outbound-spd-fast-path"),
        ("ipv4-inbound-spd-hash-buckets 0", "ipv4-inbound-spd-hash-buckets must be 1 to"),
    ] {
        let made = std::panic::catch_unwind(|| rig_with(&format!("ipsec {{ {words} }}")));
        let panic = made.err().expect("it is refused");
        let said = panic.downcast_ref::<String>().expect("a text");
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn what_no_tunnel_is_for_is_punted() {
    let mut rig = rig();
    let esp = ip4("20.0.0.1", "10.0.1.1", Protocol::ESP, &[0, 0, 0, 9, 0, 0, 0, 1, 5, 5, 5, 5]);
    let unknown =
        [("ip4-local", "unknown_protocol", 1), ("ip4-icmp-error", "dest_unreach_sent", 1)];
    send(&mut rig, "ip4-receive", std::slice::from_ref(&esp));
    rig.expect(&unknown); // without protected tunnels ESP is a protocol like others
    let suite = format!("crypto-alg aes-128-gcm crypto-key {}", "5a".repeat(16));
    assert_eq!(rig.run("create ipip tunnel src 10.0.1.1 dst 20.0.0.2"), "ipip0\n");
    rig.set(&format!("ipsec sa add 1 spi 1001 {suite}"));
    rig.set(&format!("ipsec sa add 2 spi 1001 {suite} inbound"));
    rig.set("ipsec tunnel protect ipip0 input-sa 2 output-sa 1");
    send(&mut rig, "ip4-receive", std::slice::from_ref(&esp));
    rig.expect(&[("punt-dispatch", "No registrations", 1), ("ipsec4-tun-input", "no_tunnel", 1)]);
    rig.set("set punt reason ipsec4-no-such-tunnel");
    settle(&mut rig);
    send(&mut rig, "ip4-receive", std::slice::from_ref(&esp));
    let moved = rig.graph.moved_counters();
    assert!(moved.contains(&("punt-dispatch".to_owned(), "dispatched", 1)), "{moved:?}");
    rig.set("ipsec tunnel protect ipip0 del");
    send(&mut rig, "ip4-receive", &[esp]);
    rig.expect(&unknown);
}

#[test]
fn tunnels_behind_translators_carry_packets_that_pass_by() {
    let key = "5a".repeat(16);
    let suite = format!("crypto-alg aes-128-gcm crypto-key {key} udp-encap");
    let mut rig = rig();
    for line in [
        format!("ipsec sa add 1 spi 1000 {suite} tunnel-src 10.0.1.1 tunnel-dst 20.0.0.1"),
        format!("ipsec sa add 2 spi 1000 {suite} tunnel-src 20.0.0.1 tunnel-dst 20.7.7.7 inbound"),
    ] {
        rig.set(&line);
    }
    for line in [
        "ipsec spd add 1",
        "set interface ipsec spd pg1 1",
        "ipsec policy add spd 1 priority 10 outbound action protect sa 1 remote-ip-range 20.9.0.0 \
            - 20.9.255.255",
        "ipsec policy add spd 1 priority 5 outbound protocol 17 action bypass",
        "ipsec spd add 2",
        "set interface ipsec spd pg0 2",
        "ipsec policy add spd 2 priority 10 inbound action protect sa 2",
        "ipsec policy add spd 2 priority 1 inbound protocol 17 action bypass",
    ] {
        rig.set(line);
    }
    settle(&mut rig);
    let sealed = only(send(&mut rig, "ip4-input", &[packet(30)]));
    assert_eq!((sealed[9], &sealed[20..24]), (17, &[0x11, 0x94, 0x11, 0x94][..]));
    rig.set("set interface ipsec spd pg1 1 del");
    // To another host: it is opened on its way there. Without UDP as well.
    for (protocol, from) in [(Protocol::UDP, 20), (Protocol::ESP, 28)] {
        let back = ip4("20.0.0.1", "20.7.7.7", protocol, &sealed[from..]);
        let clear = only(send(&mut rig, "ip4-input", &[back]));
        assert_eq!((clear[9], &clear[20..]), (17, &packet(30)[20..]));
    }
}

#[test]
fn congestion_marks_of_outer_headers_go_on_where_they_are_to() {
    let key = "5a".repeat(20);
    // Bits of the flags: 3 for marks of the inner header, 4 for those of the outer one.
    for (flags, expected) in [(0, 0xb9), (16, 0xbb)] {
        for suite in ["ah integ-alg sha1-96", "esp integ-alg sha1-96"] {
            let mut rig = rig();
            let sa = |id: u32, ends: &str| {
                format!(
                    "ipsec sa add {id} spi 1000 {suite} integ-key {key} {ends} copy-flags {flags}"
                )
            };
            rig.set(&sa(1, "tunnel-src 10.0.1.1 tunnel-dst 20.0.0.1"));
            rig.set(&sa(2, "tunnel-src 10.0.1.1 tunnel-dst 20.0.0.1 inbound"));
            for line in [
                "ipsec spd add 1",
                "set interface ipsec spd pg1 1",
                "ipsec policy add spd 1 priority 10 outbound protocol 17 action protect sa 1",
                "ipsec policy add spd 1 priority 5 outbound action bypass",
                "ipsec spd add 2",
                "set interface ipsec spd pg0 2",
                "ipsec policy add spd 2 priority 10 inbound action protect sa 2",
                "ipsec policy add spd 2 priority 1 inbound protocol 17 action bypass",
            ] {
                rig.set(line);
            }
            settle(&mut rig);
            let out = changed4(packet(9), |h| h.tos = 0xb9);
            let sealed = only(send(&mut rig, "ip4-input", &[out]));
            rig.set("set interface ipsec spd pg1 1 del");
            // Routers on the way mark it.
            let back = changed4(sealed, |h| h.tos |= 3);
            let clear = only(send(&mut rig, "ip4-input", &[back]));
            assert_eq!((clear[9], clear[1]), (17, expected), "{suite} {flags}");
        }
    }
}

/// Associations of a protocol in either mode, and policies for them between `HOST4` or `HOST6` and
/// what is behind `pg1`.
fn protected_rig(suite: &str, is_tunnel: bool, is_6: bool) -> Rig {
    let mut rig = rig();
    let (ends, family, to) = match is_6 {
        false => ("tunnel-src 10.0.1.1 tunnel-dst 20.0.0.1", "ip4", "20.9.0.0 - 20.9.255.255"),
        true => ("tunnel-src 2001:db8:1::1 tunnel-dst 2a01::1", "ip6", "2a01:9:: - 2a01:9:ffff::"),
    };
    let ends = if is_tunnel { ends } else { "" };
    rig.set(&format!("ipsec sa add 1 spi 1000 {suite} {ends}"));
    rig.set(&format!("ipsec sa add 2 spi 1000 {suite} {ends} inbound"));
    for line in [
        "ipsec spd add 1",
        "set interface ipsec spd pg1 1",
        &format!(
            "ipsec policy add spd 1 priority 9 outbound {family} remote-ip-range {to} action \
                protect sa 1"
        ),
        &format!("ipsec policy add spd 1 priority 1 outbound {family} action bypass"),
        "ipsec spd add 2",
        "set interface ipsec spd pg0 2",
        &format!("ipsec policy add spd 2 priority 9 inbound {family} action protect sa 2"),
        &format!("ipsec policy add spd 2 priority 1 inbound {family} protocol 17 action bypass"),
        &format!("ipsec policy add spd 2 priority 1 outbound {family} action bypass"),
    ] {
        rig.set(line);
    }
    settle(&mut rig);
    rig
}

const ESP: &str = "esp crypto-alg aes-cbc-128 crypto-key 4a506a794f5742655645516965374d68 \
    integ-alg sha1-96 integ-key 4339314b555239474d793547";
const AH: &str = "ah integ-alg sha1-96 integ-key 4339314b555239474d793547";

/// A datagram of so many bytes to a far host.
fn datagram(is_6: bool, len: usize) -> Vec<u8> {
    match is_6 {
        false => udp4(HOST4, "20.9.9.9", 7, &vec![0x11; len - 28]),
        true => udp6(HOST6, "2a01:9::9", 7, &vec![0x11; len - 48]),
    }
}

/// Fragments of a packet, of at most 1000 bytes of data each.
fn fragments(packet: &[u8]) -> Vec<Vec<u8>> {
    let is_6 = packet[0] >> 4 == 6;
    let (header, data) = packet.split_at(if is_6 { 40 } else { 20 });
    let count = data.len().div_ceil(1000);
    let piece = |(n, data): (usize, &[u8])| {
        let (at, more) = ((n * 1000) as u16, u16::from(n + 1 < count));
        if is_6 {
            let [high, low] = (at | more).to_be_bytes();
            let body = [&[header[6], 0, high, low, 0, 0, 0, 9], data].concat();
            let mut piece = [header, &body].concat();
            piece[4..6].copy_from_slice(&(body.len() as u16).to_be_bytes());
            piece[6] = 44;
            return piece;
        }
        changed4([header, data].concat(), |h| {
            h.total_len = ((20 + data.len()) as u16).into();
            h.fragment = ((at / 8) | (more << 13)).into();
        })
    };
    data.chunks(1000).enumerate().map(piece).collect()
}

/// Fragments as the packet that they are of.
fn joined(pieces: &[Vec<u8>]) -> Vec<u8> {
    let is_6 = pieces[0][0] >> 4 == 6;
    let mut body = Vec::new();
    for (n, piece) in pieces.iter().enumerate() {
        let (at, place) = match is_6 {
            true => (48, usize::from(u16::from_be_bytes([piece[42], piece[43]]))),
            false => (20, usize::from(u16::from_be_bytes([piece[6], piece[7]])) << 3),
        };
        let more = if is_6 { place & 1 } else { place >> 16 };
        assert_eq!((place & 0xfff8, more), (body.len(), usize::from(n + 1 < pieces.len())));
        body.extend_from_slice(&piece[at..]);
    }
    let first = &pieces[0];
    let mut whole = [&first[..if is_6 { 40 } else { 20 }], &body].concat();
    if is_6 {
        whole[6] = first[40];
        whole[4..6].copy_from_slice(&(body.len() as u16).to_be_bytes());
        return whole;
    }
    changed4(whole, |h| {
        h.total_len = ((20 + body.len()) as u16).into();
        h.fragment = 0.into();
    })
}

/// The packets that were sent, behind the Ethernet header.
fn all_sent(out: &[Caught]) -> Vec<Vec<u8>> {
    out.iter().filter(|caught| caught.at == "sent").map(|c| c.bytes[14..].to_vec()).collect()
}

#[test]
fn sealed_packets_that_come_in_fragments_are_put_together_and_opened() {
    for (suite, is_tunnel, is_6) in [ESP, AH]
        .iter()
        .flat_map(|s| [(s, true, false), (s, false, false), (s, true, true), (s, false, true)])
    {
        let mut rig = protected_rig(suite, is_tunnel, is_6);
        let input = if is_6 { "ip6-input" } else { "ip4-input" };
        let sealed = only(send(&mut rig, input, &[datagram(is_6, 1600)]));
        assert!(sealed.len() > 1600);
        rig.set("set interface ipsec spd pg1 1 del");
        let mut pieces = fragments(&sealed);
        assert_eq!(pieces.len(), 2);
        pieces.reverse();
        let clear = only(send(&mut rig, input, &pieces));
        let protocol = if is_6 { clear[6] } else { clear[9] };
        assert_eq!((protocol, clear.len()), (17, 1600), "{suite} tunnel: {is_tunnel}");
        // With reassembly on the interface they are received whole.
        let pg0 = rig.interface("pg0");
        let set = |rig: &mut Rig, on| {
            rig.control(|r| r.enable_reassembly(pg0, reassembly::Kind::Full, [on; 2])).unwrap();
        };
        set(&mut rig, true);
        assert_eq!(only(send(&mut rig, input, &pieces)).len(), 1600);
        set(&mut rig, false);
        // Fragments between others pass as they are.
        let others = fragments(&datagram(is_6, 1600));
        assert_eq!(all_sent(&send(&mut rig, input, &others)).len(), 2);
    }
}

#[test]
fn datagrams_are_sealed_whole_and_cut_where_they_leave() {
    for (suite, is_tunnel, is_6) in [ESP, AH]
        .iter()
        .flat_map(|s| [(s, true, false), (s, false, false), (s, true, true), (s, false, true)])
    {
        let mut rig = protected_rig(suite, is_tunnel, is_6);
        rig.set("set interface mtu packet 1500 pg1");
        let lookup = if is_6 { "ip6-lookup" } else { "ip4-lookup" };
        let input = if is_6 { "ip6-input" } else { "ip4-input" };
        for len in [1490, 3000, 8800] {
            let pg0 = rig.interface("pg0").0;
            let out = rig.graph.send(lookup, &[datagram(is_6, len)], move |p| {
                p.set_rx(pg0);
                p.add_flags(graph::Flags::LOCAL);
            });
            let pieces = all_sent(&out);
            assert!(pieces.len() > 1 && pieces.iter().all(|p| p.len() <= 1500), "{out:?}");
            let whole = joined(&pieces);
            rig.set("set interface ipsec spd pg1 1 del");
            rig.set("set interface mtu packet 9000 pg1");
            assert_eq!(
                only(send(&mut rig, input, &[whole])).len(),
                len,
                "{suite} tunnel: {is_tunnel}"
            );
            rig.set("set interface ipsec spd pg1 1");
            rig.set("set interface mtu packet 1500 pg1");
        }
        // What no policy protects is cut in front of its link all the same.
        let other = match is_6 {
            false => udp4(HOST4, "20.8.8.8", 7, &[1; 3000]),
            true => udp6(HOST6, "2a01:8::8", 7, &[1; 3000]),
        };
        let pg0 = rig.interface("pg0").0;
        let out = rig.graph.send(lookup, std::slice::from_ref(&other), move |p| {
            p.set_rx(pg0);
            p.add_flags(graph::Flags::LOCAL);
        });
        assert_eq!(joined(&all_sent(&out)).len(), other.len());
    }
}

#[test]
fn senders_are_told_what_fits_when_it_is_sealed() {
    // ESP: eight bytes of header, 16 each of vector and blocks, 12 to check.
    for (suite, is_6, fits) in
        [(ESP, false, 1458), (AH, false, 1476), (ESP, true, 1462), (AH, true, 1476)]
    {
        let mut rig = protected_rig(suite, false, is_6);
        rig.set("set interface mtu packet 1500 pg1");
        let of = |len| match is_6 {
            true => datagram(true, len),
            false => changed4(datagram(false, len), |h| h.fragment = 0x4000.into()),
        };
        let input = if is_6 { "ip6-input" } else { "ip4-input" };
        assert!(only(send(&mut rig, input, &[of(fits)])).len() <= 1500);
        for len in [fits + 1, 1500] {
            let told = only(send(&mut rig, input, &[of(len)]));
            let icmp = if is_6 { &told[40..] } else { &told[20..] };
            let mtu = u32::from_be_bytes(*icmp[4..].first_chunk().unwrap());
            let kind = if is_6 { (2, 0) } else { (3, 4) };
            assert_eq!(((icmp[0], icmp[1]), mtu as usize), (kind, fits), "{suite}");
        }
    }
    // Outer packets that must not be cut.
    for (flags, bound) in [("encap-copy-df", 0x4000_u16), ("encap-set-df", 0x4000)] {
        let mut rig = protected_rig(&format!("{ESP} {flags}"), true, false);
        rig.set("set interface mtu packet 1500 pg1");
        let packet = changed4(datagram(false, 1500), |h| h.fragment = bound.into());
        let told = only(send(&mut rig, "ip4-input", &[packet]));
        assert_eq!((told[20], told[21], &told[26..28]), (3, 4, &1438_u16.to_be_bytes()[..]));
    }
}

#[test]
fn hops_go_on_from_what_ah_carries_unless_they_are_set() {
    for (more, hops) in [("", 62), ("hop-limit 255", 62), ("hop-limit 9", 9)] {
        for is_6 in [false, true] {
            let mut rig = protected_rig(&format!("{AH} {more}"), true, is_6);
            let input = if is_6 { "ip6-input" } else { "ip4-input" };
            let sealed = only(send(&mut rig, input, &[datagram(is_6, 100)]));
            assert_eq!(sealed[if is_6 { 7 } else { 8 }], hops, "{more}");
        }
    }
}

#[test]
fn ciphers_have_the_names_of_associations_and_those_of_engines() {
    let mut rig = rig();
    for (id, cipher) in (1..).zip(&crypto::CIPHERS[1..]) {
        let key = "5a".repeat(cipher.key);
        let name = if id % 2 == 0 { cipher.name } else { cipher.sa_name };
        rig.set(&format!("ipsec sa add {id} spi {id} esp crypto-key {key} crypto-alg {name}"));
        let shown = rig.run(&format!("show ipsec sa {}", id - 1));
        let alg = format!("   crypto alg {} key [redacted]\n", cipher.sa_name);
        assert!(shown.contains(&alg), "{shown}");
    }
    for name in [
        "aes-cbc-128",
        "aes-cbc-192",
        "aes-cbc-256",
        "aes-ctr-128",
        "aes-ctr-192",
        "aes-ctr-256",
        "aes-gcm-128",
        "aes-gcm-192",
        "aes-gcm-256",
        "aes-null-gmac-128",
        "aes-null-gmac-192",
        "aes-null-gmac-256",
        "des-cbc",
        "3des-cbc",
        "chacha20-poly1305",
    ] {
        assert!(crypto::CIPHERS.iter().any(|cipher| cipher.sa_name == name), "{name}");
        assert!(rig.run(&format!("show crypto algorithm {name}")).lines().count() == 2);
    }
    let said = rig.run("ipsec sa add 99 spi 5 esp crypto-alg rot13");
    assert!(said.contains("expected one of none, aes-cbc-128"), "{said}");
}

/// Text of the drop reason `no_tail_space`.
const TAIL: &str = "no enough buffer tail space (dropped)";

/// Two associations and a database as they are listed.
const SAS: [&str; 2] = [
    "[0] sa 1 (0x1) spi 9 (0x00000009) protocol:esp flags:[anti-replay tunnel inbound ]",
    "[1] sa 2 (0x2) spi 8 (0x00000008) protocol:esp flags:[tunnel ]",
];
const SPD: &str = "spd 1
 ip4-outbound:
   [0] priority 5 action protect type ip4-outbound protocol any sa 2
     local addr range 0.0.0.0 - 255.255.255.255 port range 0 - 65535
     remote addr range 20.9.0.0 - 20.9.9.9 port range 0 - 65535
     packets 0 bytes 0

 ip6-outbound:

 ip4-inbound-protect:

 ip6-inbound-protect:

 ip4-inbound-bypass:
   [1] priority 4 action bypass type ip4-inbound-bypass protocol IPSEC_ESP
     local addr range 0.0.0.0 - 255.255.255.255 port range 0 - 65535
     remote addr range 0.0.0.0 - 255.255.255.255 port range 0 - 65535
     packets 0 bytes 0

 ip6-inbound-bypass:

 ip4-inbound-discard:

 ip6-inbound-discard:

";

#[test]
fn words_of_commands_come_in_any_order() {
    let mut rig = rig();
    assert_eq!(rig.run("create ipip tunnel src 10.0.1.1 dst 20.0.0.1"), "ipip0\n");
    for line in [
        &format!(
            "ipsec sa add 1 inbound anti-replay-size 128 {ESP} spi 9 tunnel src 10.0.1.1 dst \
                20.0.0.1 hop-limit 9 p2p"
        ),
        &format!(
            "ipsec sa add 2 tunnel dst 20.0.0.1 encap-copy-df src 10.0.1.1 {ESP} spi 8 salt 0x7"
        ),
        "ipsec spd add 1",
        "ipsec policy outbound sa 2 remote-ip-range 20.9.0.0 - 20.9.9.9 action protect priority 5 \
            spd 1 add",
        "ipsec policy spd 1 inbound protocol 50 action bypass priority 4",
        "ipsec tunnel protect sa-in 1 sa-out 2 ipip0 add",
    ] {
        rig.set(line);
    }
    let shown = rig.run("show ipsec spd");
    assert_eq!(shown, SPD);
    assert_eq!(rig.run("show ipsec spd bindings"), "SPD Bindings:\n");
    rig.set("set interface ipsec spd pg1 1");
    assert_eq!(rig.run("show ipsec spd bindings"), "SPD Bindings:\n  1 -> pg1\n");
    rig.set("set interface ipsec spd pg1 1 del");
    let [first, second] = SAS;
    assert_eq!(rig.run("show ipsec sa"), format!("{first}\n{second}\n"));
    let protect = format!("ipip0 flags:[none]\n output-sa:\n  {second}\n input-sa:\n  {first}\n");
    assert_eq!(rig.run("show ipsec protect"), protect);
    let keys = rig.run("show ipsec protect-hash");
    assert_eq!(keys, "IPv4:\n remote:10.0.1.1 spi:9 (0x00000009) sa:1\nIPv6:\n");
    let details = rig.run("show ipsec sa 0");
    let head = format!("{first}\n   locks 2\n   salt 0x0\n   inbound thread-index:none\n");
    assert!(details.starts_with(&head), "{details}");
    let ones = "1".repeat(64);
    assert!(details.contains(&format!("   window-size: 128\n   window: Bl <- {ones} Tl\n")));
    let end =
        "   UDP:[src:0 dst:0]\n   tx/rx:[packets:0 bytes:0]\n   SA errors:\n   \"packets lost\"";
    assert!(details.contains(end), "{details}");
    let tunnel = "   table-ID:0 [10.0.1.1->20.0.0.1] hop-limit:9 point-to-point CS0 [none]\n";
    assert!(details.ends_with(tunnel), "{details}");
    rig.set("ipsec tunnel protect del ipip0");
    rig.set(
        "ipsec policy del spd 1 action protect sa 2 outbound remote-ip-range 20.9.0.0 - \
        20.9.9.9 priority 5",
    );
    let said = rig.run("ipsec policy spd 1 outbound action bypass sa 2");
    assert!(said.contains("sa requires action protect"), "{said}");
}

/// Plain packets of the far ends of tunnels, for `10.0.1.1` and `2001:db8:1::1`, and what makes the
/// tunnel.
fn plain_tunnels() -> [(&'static str, &'static str, &'static str, Vec<u8>); 5] {
    let inner = udp4("30.1.1.1", "20.9.9.9", 7, b"data");
    let gre = |kind: [u8; 2]| [&[0, 0, kind[0], kind[1]], &inner[..]].concat();
    let in4 = |protocol, data: &[u8]| ip4("20.0.0.1", "10.0.1.1", protocol, data);
    let in6 = |protocol, data: &[u8]| ip6("2a01::1", "2001:db8:1::1", protocol, data);
    [
        ("create ipip tunnel src 10.0.1.1 dst 20.0.0.1", "ipip0", "", in4(Protocol::IP4, &inner)),
        (
            "create gre tunnel src 10.0.1.1 dst 20.0.0.1",
            "gre0",
            "",
            in4(Protocol::GRE, &gre([8, 0])),
        ),
        (
            "create ipip tunnel src 2001:db8:1::1 dst 2a01::1",
            "ipip0",
            "",
            in6(Protocol::IP4, &inner),
        ),
        (
            "create gre tunnel src 2001:db8:1::1 dst 2a01::1",
            "gre0",
            "",
            in6(Protocol::GRE, &gre([8, 0])),
        ),
        (
            "create ipip tunnel src 10.0.1.1 p2mp",
            "ipip0",
            "create teib ipip0 peer 30.0.0.9 nh 20.0.0.1",
            in4(Protocol::IP4, &inner),
        ),
    ]
}

#[test]
fn a_protected_tunnel_takes_no_packet_that_nothing_opened() {
    for (create, name, more, plain) in plain_tunnels() {
        let mut rig = rig();
        rig.run(create);
        rig.set(&format!("set interface state {name} up"));
        rig.set(&format!("enable ip4 interface {name}"));
        more.lines().for_each(|line| rig.set(line));
        rig.set(&format!("ipsec sa add 1 spi 1001 {ESP}"));
        rig.set(&format!("ipsec sa add 2 spi 1001 {ESP} inbound"));
        settle(&mut rig);
        let node = if plain[0] >> 4 == 6 { "ip6-receive" } else { "ip4-receive" };
        let goes = |rig: &mut Rig| {
            let out = send(rig, node, std::slice::from_ref(&plain));
            out.iter().any(|caught| caught.at == "sent" && caught.bytes[23] == 17)
        };
        assert!(goes(&mut rig), "{create}");
        let next_hop = if more.is_empty() { "" } else { "nh 30.0.0.9" };
        rig.set(&format!("ipsec tunnel protect {name} input-sa 2 output-sa 1 {next_hop}"));
        settle(&mut rig);
        assert!(!goes(&mut rig), "{create}");
        let counted = rig.graph.moved_counters();
        let is_it = |(node, name, count): &(String, &str, u64)| {
            node.ends_with("-input")
                && (name.ends_with("no tunnel") || name.ends_with("missing tunnel"))
                && *count == 1
        };
        assert!(counted.iter().any(is_it), "{counted:?}");
        rig.set(&format!("ipsec tunnel protect {name} {next_hop} del"));
        assert!(goes(&mut rig), "{create}");
        // One that is to be protected, while nothing does.
        let tunnel = rig.interface(name);
        rig.control(|router| ipsec::hold(router, tunnel, true));
        assert!(!goes(&mut rig), "{create}");
        rig.control(|router| ipsec::hold(router, tunnel, false));
        assert!(goes(&mut rig), "{create}");
    }
}

#[test]
fn a_far_end_that_becomes_known_later_is_held_to_the_same() {
    let mut rig = rig();
    rig.run("create ipip tunnel src 10.0.1.1 p2mp");
    rig.set("set interface state ipip0 up");
    rig.set("enable ip4 interface ipip0");
    let tunnel = rig.interface("ipip0");
    rig.control(|router| ipsec::hold(router, tunnel, true));
    rig.set("create teib ipip0 peer 30.0.0.9 nh 20.0.0.1");
    settle(&mut rig);
    let inner = udp4("30.1.1.1", "20.9.9.9", 7, b"data");
    let plain = ip4("20.0.0.1", "10.0.1.1", Protocol::IP4, &inner);
    let out = send(&mut rig, "ip4-receive", &[plain]);
    assert!(out.iter().all(|caught| caught.at != "sent"), "{out:?}");
}

#[test]
fn a_held_tunnel_sends_nothing_until_it_is_protected() {
    let frame = [[2; 6], [4; 6]].concat().into_iter().chain(*b"\x88\xb5frame").collect::<Vec<_>>();
    for (create, name) in [
        ("create ipip tunnel src 10.0.1.1 dst 20.0.0.1", "ipip0"),
        ("create gre tunnel src 10.0.1.1 dst 20.0.0.1", "gre0"),
        ("create gre tunnel src 10.0.1.1 dst 20.0.0.1 teb", "gre0"),
    ] {
        let mut rig = rig();
        rig.run(create);
        rig.set(&format!("set interface state {name} up"));
        let carries_frames = create.ends_with("teb");
        if !carries_frames {
            rig.set(&format!("enable ip4 interface {name}"));
            rig.set(&format!("ip route add 30.0.0.0/8 via {name}"));
        }
        rig.set(&format!("ipsec sa add 1 spi 1001 {ESP}"));
        rig.set(&format!("ipsec sa add 2 spi 1001 {ESP} inbound"));
        settle(&mut rig);
        let tunnel = rig.interface(name);
        let out = |rig: &mut Rig| {
            let caught = match carries_frames {
                true => rig.graph.send(
                    &format!("{name}-output"),
                    std::slice::from_ref(&frame),
                    move |p| p.set_tx(tunnel.0),
                ),
                false => send(rig, "ip4-input", &[udp4(HOST4, "30.1.1.1", 7, b"data")]),
            };
            let sent: Vec<_> = caught.iter().filter(|c| c.at == "sent").collect();
            sent.first().map(|caught| caught.bytes[23])
        };
        let clear = out(&mut rig);
        assert!(clear.is_some_and(|protocol| protocol != 50));
        rig.control(|router| ipsec::hold(router, tunnel, true));
        settle(&mut rig);
        assert_eq!(out(&mut rig), None, "{create}");
        let counted = rig.graph.moved_counters();
        let is_it = |(node, name, count): &(String, &str, u64)| {
            node == "esp4-encrypt-tun" && *name == "no_protection" && *count == 1
        };
        assert!(counted.iter().any(is_it), "{counted:?}");
        rig.set(&format!("ipsec tunnel protect {name} input-sa 2 output-sa 1"));
        assert_eq!(out(&mut rig), Some(50), "{create}");
        rig.set(&format!("ipsec tunnel protect {name} del"));
        assert_eq!(out(&mut rig), None, "{create}");
        rig.control(|router| ipsec::hold(router, tunnel, false));
        assert_eq!(out(&mut rig), clear, "{create}");
    }
}

#[test]
fn fragments_without_ports_do_not_pass_by_a_policy_for_ports() {
    let fast = "ipsec { ipv4-outbound-spd-fast-path on ipv6-outbound-spd-fast-path on }";
    let cached = "ipsec { ipv4-outbound-spd-flow-cache on }";
    for startup in ["", fast, cached] {
        for is_6 in [false, true] {
            let mut rig = rig_with(startup);
            let (family, input) = if is_6 { ("ip6", "ip6-input") } else { ("ip4", "ip4-input") };
            for line in [
                "ipsec spd add 1",
                "set interface ipsec spd pg1 1",
                &format!(
                    "ipsec policy add spd 1 priority 9 outbound {family} protocol 17 \
                     remote-port-range 7 - 7 action bypass"
                ),
                &format!("ipsec policy add spd 1 priority 1 outbound {family} action discard"),
            ] {
                rig.set(line);
            }
            settle(&mut rig);
            let whole = datagram(is_6, 1600);
            for _ in 0..2 {
                let pieces = fragments(&whole);
                assert_eq!(all_sent(&send(&mut rig, input, &pieces[..1])).len(), 1);
                assert_eq!(all_sent(&send(&mut rig, input, &pieces[1..])).len(), 0, "{startup}");
            }
            // One for all ports, and one that protects.
            rig.set(&format!(
                "ipsec policy add spd 1 priority 5 outbound {family} protocol 17 action bypass"
            ));
            assert_eq!(all_sent(&send(&mut rig, input, &fragments(&whole))).len(), 2);
        }
    }
}

#[test]
fn an_association_that_is_bound_goes_on_with_its_numbers() {
    let mut rig = protected_rig(ESP, true, false);
    let number = |rig: &mut Rig| {
        let sealed = only(send(rig, "ip4-input", &[datagram(false, 100)]));
        u32::from_be_bytes(*sealed[24..].first_chunk().unwrap())
    };
    for (n, line) in (1..).zip(["bind unbind 1", "bind unbind 1", "bind 1 0", "bind unbind 1"]) {
        assert_eq!(number(&mut rig), n);
        // There is no worker 0 here.
        let done = rig.run(&format!("ipsec sa {line}"));
        assert_eq!(done.contains("no such worker"), line == "bind 1 0", "{done}");
    }
}

#[test]
fn an_association_goes_from_thread_to_thread_and_takes_no_number_twice() {
    let mut rig = rig_on(3, "");
    for line in [
        "create ipip tunnel src 10.0.1.1 dst 20.0.0.1",
        "set interface state ipip0 up",
        "enable ip4 interface ipip0",
        "ip route add 30.0.0.0/8 via ipip0",
        &format!("ipsec sa add 1 spi 1001 {ESP}"),
        &format!("ipsec sa add 2 spi 1001 {ESP} inbound"),
        "ipsec tunnel protect ipip0 input-sa 2 output-sa 1",
    ] {
        rig.run(line);
    }
    settle(&mut rig);
    let pg0 = rig.interface("pg0").0;
    let mut numbers = Vec::new();
    for round in 0..12 {
        for thread in 0..3 {
            let packet = udp4(HOST4, "30.1.1.1", 7, b"data");
            let out = rig.graph.send_on(thread, "ip4-input", &[packet.clone(), packet], move |p| {
                p.set_rx(pg0);
            });
            let sent = out.iter().filter(|caught| caught.at == "sent");
            let number = |bytes: &[u8]| u32::from_be_bytes(*bytes[38..].first_chunk().unwrap());
            numbers.extend(sent.map(|caught| number(&caught.bytes)));
        }
        let line = if round % 3 == 2 { "unbind 1".to_owned() } else { format!("1 {}", round % 2) };
        rig.set(&format!("ipsec sa bind {line}"));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=72).collect::<Vec<_>>());
}
