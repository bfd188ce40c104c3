//! Tests on a whole router: profiles are created, saved and refused; bad messages are counted.

use graph::testing::Caught;
use ikev2::*;
use net::testing::Rig;
use net::tunnel::testing::*;

const LINES: [&str; 14] = [
    "ikev2 profile add p",
    "ikev2 profile set p auth shared-key-mic string {open sesame}",
    "ikev2 profile set p id local fqdn a.test",
    "ikev2 profile set p id remote ip4-addr 10.0.0.2",
    "ikev2 profile set p traffic-selector local ip-range 10.1.0.0 - 10.1.0.255 port-range 0 - 65535 \
     protocol 0",
    "ikev2 profile set p traffic-selector remote ip-range fd00:: - fd00::ff port-range 1 - 2 \
     protocol 17",
    "ikev2 profile set p responder pg0 10.0.0.2",
    "ikev2 profile set p ike-crypto-alg aes-cbc 256 ike-integ-alg hmac-sha2-256-128 ike-dh ecp-256",
    "ikev2 profile set p esp-crypto-alg aes-gcm-16 256",
    "ikev2 profile set p sa-lifetime 3600 10 5 1000000",
    "ikev2 profile set p udp-encap",
    "ikev2 profile set p ipsec-over-udp port 4501",
    "ikev2 profile set p disable natt",
    "ikev2 set liveness 5 2",
];

fn rig() -> Rig {
    let mut rig = Rig::new(&[
        net::fast_path::FEATURE,
        net::fib::FEATURE,
        net::address::FEATURE,
        net::ip4::FEATURE,
        net::ip6::FEATURE,
        net::mfib::FEATURE,
        net::icmp::FEATURE,
        net::fragment::FEATURE,
        net::reassembly::FEATURE,
        net::neighbor::FEATURE,
        net::path_mtu::FEATURE,
        net::tunnel::FEATURE,
        net::teib::FEATURE,
        net::punt::FEATURE,
        mpls::FEATURE,
        ping::FEATURE,
        dns::FEATURE,
        ::crypto::FEATURE,
        ipsec::FEATURE,
        ipip::FEATURE,
        FEATURE,
    ]);
    rig.add_networks(2);
    rig
}

#[test]
fn profiles_are_shown_without_their_keys() {
    let mut rig = rig();
    LINES.iter().for_each(|line| rig.set(line));
    let shown = rig.run("show ikev2 profile");
    for part in [
        "profile p",
        "auth-method shared-key-mic auth data <hidden>",
        "local id-type fqdn data a.test",
        "remote id-type ip4-addr data 10.0.0.2",
        "local traffic-selector addr 10.1.0.0 - 10.1.0.255 port 0 - 65535 protocol 0",
        "responder pg0 10.0.0.2",
        "ike-crypto-alg aes-cbc-256 ike-integ-alg hmac-sha2-256-128",
        "natt disabled",
    ] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    assert!(!shown.contains("sesame"));
    rig.talk(|local, router| {
        let all: Vec<Ikev2ProfileDetails> = local.dump(router, &Ikev2ProfileDump {});
        assert_eq!(all.len(), 1);
        let text = format!("{:?}", all[0]);
        assert!(text.contains("<hidden>") && !text.contains("111, 112, 101, 110"), "{text}");
        assert_eq!(all[0].profile.esp_ts.crypto_key_size, 256);
        assert_eq!(all[0].profile.ipsec_over_udp_port, 4501);
    });
    rig.set("ikev2 profile del p");
    assert_eq!(rig.run("show ikev2 profile"), "");
}

#[test]
fn the_tunnel_of_a_profile_carries_nothing_without_keys() {
    let mut rig = rig();
    for line in [
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:b2",
        "create ipip tunnel src 10.0.1.1 dst 10.0.1.2",
        "set interface state ipip0 up",
        "enable ip4 interface ipip0",
        "ip route add 30.0.0.0/8 via ipip0",
        "ikev2 profile add p",
        "ikev2 profile add q",
    ] {
        rig.run(line);
    }
    settle(&mut rig);
    let goes = |rig: &mut Rig| {
        let packet = net::testing::packets::udp4("10.0.0.2", "30.1.1.1", 7, b"data");
        let out = send(rig, "ip4-input", &[packet]);
        out.iter().any(|caught| caught.at == "sent")
    };
    assert!(goes(&mut rig));
    for line in ["ikev2 profile set p tunnel ipip0", "ikev2 profile set q tunnel ipip0"] {
        rig.set(line);
        assert!(!goes(&mut rig), "{line}");
    }
    rig.expect(&[("esp4-encrypt-tun", "no_protection", 2)]);
    rig.set("ikev2 profile del p");
    assert!(!goes(&mut rig), "another one names it");
    rig.set("ikev2 profile unset q tunnel");
    assert!(goes(&mut rig));
    // No profile names a tunnel that takes the place of a deleted one.
    rig.set("ikev2 profile set q tunnel ipip0");
    for line in [
        "delete ipip tunnel ipip0",
        "create ipip tunnel src 10.0.1.1 dst 10.0.1.2",
        "set interface state ipip0 up",
        "enable ip4 interface ipip0",
        "ip route add 30.0.0.0/8 via ipip0",
        "ikev2 profile add r",
        "ikev2 profile set r udp-encap",
    ] {
        rig.run(line);
    }
    settle(&mut rig);
    assert!(goes(&mut rig));
    assert!(!rig.run("show ikev2 profile").contains("ipip0"));
}

#[test]
fn wrong_words_are_named_and_change_nothing() {
    let mut rig = rig();
    rig.set("ikev2 profile add p");
    for (line, why) in [
        ("ikev2 profile add p", "exists"),
        ("ikev2 profile del q", "no profile `q'"),
        ("ikev2 profile set q udp-encap", "no profile `q'"),
        ("ikev2 profile set p auth psk string x", "shared-key-mic"),
        ("ikev2 profile set p auth rsa-sig cert-file /nowhere", "/nowhere"),
        ("ikev2 profile set p id local name x", "unknown type of identity `name'"),
        ("ikev2 profile set p id local ip4-addr x", "expected an address"),
        ("ikev2 profile set p ike-crypto-alg rot13 ike-dh ecp-256", "unknown cipher `rot13'"),
        ("ikev2 profile set p traffic-selector local ip-range 1.0.0.0 - fd00::", "families"),
        ("set ikev2 local key /nowhere", "/nowhere"),
        ("ikev2 initiate sa-init q", "no profile `q'"),
        ("ikev2 initiate sa-init p", "no responder"),
        ("ikev2 initiate del-sa 12", "no association"),
        ("ikev2 initiate rekey-child-sa xyz", "hexadecimal"),
        ("ikev2 set sleep interval 0", "at least 0.001"),
    ] {
        let said = rig.attempt(line).unwrap_err();
        assert!(said.contains(why), "{line}: {said}");
    }
    rig.set("ikev2 profile set p responder pg0 10.0.0.2");
    rig.set("ikev2 profile set p auth shared-key-mic hex c0ffee");
    rig.set(
        "ikev2 profile set p ike-crypto-alg aes-cbc 256 ike-integ-alg sha1-96 ike-dh modp-1024",
    );
    let said = rig.attempt("ikev2 initiate sa-init p").unwrap_err();
    assert!(said.contains("group 2 is not supported"), "{said}");
}

#[test]
fn what_is_no_message_is_dropped_and_counted() {
    let mut rig = rig();
    rig.set("ikev2 profile add p");
    let mut message = vec![0x11; 8];
    message.extend([0; 8]);
    message.extend([33, 0x20, 34, 8, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0xde, 0xad]);
    let mut long = message.clone();
    long[27] = 33;
    let mut old = message.clone();
    old[17] = 0x10;
    for (data, counter) in [(message, "malformed_packet"), (long, "bad_length"), (old, "not_ikev2")]
    {
        for count in [1, 3, 256] {
            let packet = datagram("10.0.0.2", "10.0.0.1", 500, &data, true);
            let rx = rig.interface("pg0").0;
            let packets = vec![packet; count];
            let out: Vec<Caught> = rig.graph.send("ip4-input", &packets, move |p| p.set_rx(rx));
            assert!(out.iter().all(|c| c.at != "sent"));
            let expected =
                [("ikev2-ip4", counter, count as u64), ("ikev2-ip4", "processed", count as u64)];
            rig.expect(&expected);
        }
    }
}
