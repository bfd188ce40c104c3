use graph::testing::Caught;
use net::testing::{Rig, packets::*};
use net::tunnel::testing::{send, settle};
use net::{
    address, ethernet, fib, fragment, icmp, ip4, ip6, mfib, neighbor, path_mtu, reassembly, teib,
    tunnel,
};
use wire::Protocol;

/// Two networks and far ends behind the second, with tunnels.
fn rig() -> Rig {
    let mut rig = Rig::new(&[
        ethernet::FEATURE,
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
        ipsec::FEATURE,
    ]);
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
            rig.set(&sa(2, "tunnel-src 20.0.0.1 tunnel-dst 10.0.1.1 inbound"));
            rig.set("ipsec spd add 1");
            rig.set("set interface ipsec spd pg1 1");
            rig.set("ipsec policy add spd 1 priority 10 outbound action protect sa 1 remote-ip-range 20.9.0.0 - 20.9.255.255");
            rig.set("ipsec policy add spd 1 priority 5 outbound protocol 50 action bypass");
            rig.set("ipsec spd add 2");
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
                // What comes out is routed, and protected once more: it goes out sealed.
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
fn tunnels_of_frames_are_refused_as_they_would_leave_in_the_clear() {
    let mut rig = rig();
    assert_eq!(rig.run("create gre tunnel src 10.0.1.1 dst 20.0.0.1 teb"), "gre0\n");
    rig.set(&format!("ipsec sa add 1 spi 1001 {}", suites()[0]));
    let said = rig.run("ipsec tunnel protect gre0 input-sa 1 output-sa 1");
    assert!(said.contains("tunnels of frames are not protected"), "{said}");
    assert_eq!(rig.run("show ipsec protect"), "");
}
