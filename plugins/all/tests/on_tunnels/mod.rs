//! Features of the output on tunnels: they see the packets inside, not the headers of the tunnel.

use net::testing::packets::changed4;
use net::testing::whole::{Bench, HOST, PG0, PG1};
use wire::checksum::Sum;
use wire::ethernet::{EtherType, Header};
use wire::{MacAddr, Protocol, ip4, tcp};
use zerocopy::IntoBytes;

use super::nat44_ed::{check, end, ends, udp};

/// Kinds of tunnels, with the length of their headers.
const TUNNELS: [(&str, usize); 2] = [("gre", 24), ("ipip", 20)];
const ETHERNET: usize = 14;
/// Plugins that those under test require.
const REQUIRED: [net::Feature; 8] = [
    sessions::FEATURE,
    ipfix::FEATURE,
    syslog::FEATURE,
    nat_log::FEATURE,
    translation::FEATURE,
    l2::FEATURE,
    mpls::FEATURE,
    classify::FEATURE,
];

/// Hosts behind `pg0`, and a tunnel `<kind>0` over `pg1` to 10.8.0.0/16.
fn bench(kind: &str, feature: net::Feature, lines: &[&str]) -> Bench {
    let features = [&REQUIRED[..], &[gre::FEATURE, ipip::FEATURE, feature]].concat();
    let mut b = Bench::plugged(&features);
    b.attempt(&format!("create {kind} tunnel src 10.0.1.1 dst 10.0.1.2")).unwrap();
    for line in [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:01",
        &format!("set interface state {kind}0 up"),
        &format!("set interface ip address {kind}0 10.9.9.1/30"),
        &format!("ip route add 10.8.0.0/16 via {kind}0"),
    ] {
        b.set(line);
    }
    for line in lines {
        b.attempt(&line.replace("TUNNEL", &format!("{kind}0"))).unwrap();
    }
    b
}

/// The packets that are sent for one, without Ethernet headers.
fn pass(b: &mut Bench, is_inside: bool, packet: &[u8]) -> Vec<Vec<u8>> {
    let (on, to): (_, MacAddr) = if is_inside { (b.pg0, PG0) } else { (b.pg1, PG1) };
    let header = Header::new(to, HOST, EtherType::IP4);
    let sent = b.receive(on, &[[header.as_bytes(), packet].concat()]);
    let sent = sent.into_iter().filter(|c| c.at == "sent");
    sent.map(|c| c.bytes[ETHERNET..].to_vec()).collect()
}

/// The one packet inside the tunnel that is sent for one from a host.
#[track_caller]
fn inside(b: &mut Bench, len: usize, packet: &[u8]) -> Vec<u8> {
    let sent = pass(b, true, packet);
    let [whole] = &sent[..] else { panic!("{} packets are sent", sent.len()) };
    check(&whole[len..]);
    assert_eq!(whole[12..20], [10, 0, 1, 1, 10, 0, 1, 2], "the ends of the tunnel");
    assert_eq!(Sum::ZERO.add_bytes(&whole[..20]).fold(), 0xffff, "the sum of the outer header");
    whole[len..].to_vec()
}

/// `packet` as it comes through the tunnel.
fn enclosed(kind: &str, packet: &[u8]) -> Vec<u8> {
    let (protocol, between) = match kind {
        "gre" => (Protocol::GRE, &[0, 0, 8, 0][..]),
        _ => (Protocol::IP4, &[][..]),
    };
    net::testing::packets::ip4("10.0.1.2", "10.0.1.1", protocol, &[between, packet].concat())
}

#[test]
fn hosts_are_translated_and_the_router_s_own_packets_are_not() {
    let ed = ["nat44 plugin enable sessions 100", "set interface nat44 out TUNNEL output-feature"];
    let ei =
        ["nat44 ei plugin enable sessions 100", "set interface nat44 ei out TUNNEL output-feature"];
    let (host, far) = (end("10.0.0.2", 4000), end("10.8.0.9", 53));
    for (kind, len) in TUNNELS {
        for (feature, pool, lines) in [
            (nat44_ed::FEATURE, "nat44 add interface address TUNNEL", ed),
            (nat44_ei::FEATURE, "nat44 ei add interface address TUNNEL", ei),
        ] {
            let mut b = bench(kind, feature, &lines);
            b.set(&pool.replace("TUNNEL", &format!("{kind}0")));
            let out = inside(&mut b, len, &udp(host, far));
            let [near, to] = ends(&out);
            assert_eq!((near.0, to), (end("10.9.9.1", 0).0, far), "{kind}");
            let back = pass(&mut b, false, &enclosed(kind, &udp(far, near)));
            assert_eq!(back.iter().map(|p| ends(p)).collect::<Vec<_>>(), [[far, host]], "{kind}");
            // A ping of the router itself is answered as it came.
            let echo = [8, 0, 0xf7, 0xf7, 0, 1, 0, 7];
            let ping = net::testing::packets::ip4("10.8.0.9", "10.9.9.1", Protocol::ICMP, &echo);
            let answer = pass(&mut b, false, &enclosed(kind, &ping));
            let answer: Vec<_> = answer.iter().map(|p| &p[len + 12..len + 21]).collect();
            assert_eq!(answer, [[10, 9, 9, 1, 10, 8, 0, 9, 0]], "{kind}");
        }
    }
}

#[test]
fn lists_rates_marks_and_reverse_paths_are_of_the_packet_inside() {
    let packet = udp(end("10.0.0.2", 4000), end("10.8.0.9", 53));
    for (kind, len) in TUNNELS {
        let list = [
            "set acl-plugin acl deny src 10.0.0.0/24 dst 10.8.0.9/32, permit",
            "set acl-plugin interface TUNNEL output acl 0",
        ];
        let mut b = bench(kind, acl::FEATURE, &list);
        assert!(pass(&mut b, true, &packet).is_empty(), "{kind}: denied");
        inside(&mut b, len, &udp(end("10.0.0.2", 4000), end("10.8.0.10", 53)));

        let marks =
            ["qos egress map id 1 [ip][0]=184", "qos record ip pg0", "qos mark ip TUNNEL id 1"];
        let mut b = bench(kind, qos::FEATURE, &marks);
        assert_eq!(inside(&mut b, len, &packet)[1], 184, "{kind}: marked");

        let rate = [
            "policer add name p rate pps cir 10 cb 10 conform-action mark-and-transmit AF11 \
             exceed-action drop",
            "policer output name p TUNNEL",
        ];
        let mut b = bench(kind, policer::FEATURE, &rate);
        assert_eq!(inside(&mut b, len, &packet)[1], 40, "{kind}: policed");

        let mut b = bench(kind, urpf::FEATURE, &["set urpf ip4 tx strict TUNNEL"]);
        inside(&mut b, len, &packet);
        let foreign = udp(end("10.8.1.1", 4000), end("10.8.0.9", 53));
        assert!(pass(&mut b, true, &foreign).is_empty(), "{kind}: behind the tunnel itself");
    }
}

#[test]
fn segment_sizes_are_those_inside() {
    let header = tcp::Header::new(1000, 80, 7, 0, tcp::Flags::SYN);
    let header = tcp::Header { data_offset: 6 << 4, ..header };
    let segment = [header.as_bytes(), &[2, 4, 5, 180]].concat();
    let syn = net::testing::packets::ip4("10.0.0.2", "10.8.0.9", Protocol::TCP, &segment);
    let syn = changed4(syn, |h: &mut ip4::Header| h.ttl = 9);
    for (kind, len) in TUNNELS {
        let clamp = ["set interface tcp-mss-clamp TUNNEL ip4 enable ip4-mss 1300 ip6 disable"];
        let mut b = bench(kind, mss_clamp::FEATURE, &clamp);
        let out = inside(&mut b, len, &syn);
        assert_eq!(out[42..44], 1300_u16.to_be_bytes(), "{kind}");
    }
}
