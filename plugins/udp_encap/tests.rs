//! UDP headers put in front of what routes lead there, and taken off.

use control::api::Retval;
use graph::testing::Caught;
use net::fib::types::{FibPath, FibPathType};
use net::fib::{Ip4, Ip6};
use net::testing::packets::*;
use net::tunnel::testing::datagram;
use udp_encap::*;

use super::mpls::{Bench, bench_with, labelled, set};

/// Own addresses and far ends, of IPv4 and of IPv6.
const ENDS: [(&str, &str); 2] = [("10.0.1.1", "20.0.0.1"), ("2001:db8:1::1", "2a01::1")];

/// An encapsulation over each version, 0 and 1, and routes that lead there.
fn bench() -> Bench {
    let mut bench = bench_with(&[net::tunnel::FEATURE, FEATURE]);
    for line in [
        "ip route add 20.0.0.0/8 via 10.0.1.2 pg1",
        "ip route add 2a01::/16 via 2001:db8:1::2 pg1",
        "udp encap add 10.0.1.1 20.0.0.1 330 8138",
        "udp encap add 2001:db8:1::1 2a01::1 331 8139",
    ] {
        set(&mut bench, line);
    }
    for n in 0..2 {
        set(&mut bench, &format!("ip route add 30.{n}.0.0/16 via udp-encap {n}"));
        set(&mut bench, &format!("ip route add 2a30:{n}::/32 via udp-encap {n}"));
        set(
            &mut bench,
            &format!("mpls local-label add 3{n} eos via udp-encap-id {n} out-labels 77"),
        );
    }
    bench
}

/// Sent packets, behind the Ethernet header.
#[track_caller]
fn sent(out: &[Caught]) -> Vec<&[u8]> {
    assert!(out.iter().all(|c| (c.at.as_str(), c.error.as_str()) == ("sent", "")), "{out:?}");
    out.iter().map(|c| &c.bytes[14..]).collect()
}

/// The datagram that an encapsulation makes of a packet.
fn enclosed(n: usize, carried: &[u8]) -> Vec<u8> {
    let (own, far) = ENDS[n];
    let mut made = datagram(own, far, 8138 + n as u16, carried, n == 1);
    let udp = if n == 0 { 20 } else { 40 };
    made[udp..udp + 2].copy_from_slice(&(330 + n as u16).to_be_bytes());
    made
}

/// Addresses, ports and what is behind them.
fn parts(packet: &[u8]) -> (Vec<u8>, &[u8], &[u8]) {
    match packet[0] >> 4 {
        4 => (packet[12..20].to_vec(), &packet[20..24], &packet[28..]),
        _ => (packet[8..40].to_vec(), &packet[40..44], &packet[48..]),
    }
}

#[test]
fn packets_of_both_versions_and_labelled_ones_travel_over_both() {
    let mut bench = bench();
    for n in 0..2 {
        let four = udp4(HOST4, &format!("30.{n}.1.1"), 7, b"data");
        let six = udp6(HOST6, &format!("2a30:{n}::1"), 7, b"data");
        let label = labelled(&[(30 + n as u32, 0, 9)], &udp4(HOST4, "9.9.9.9", 7, b"data"));
        let swapped = labelled(&[(77, 0, 8)], &udp4(HOST4, "9.9.9.9", 7, b"data"));
        for (at, packet, carried) in [
            ("ip4-lookup", &four, &four),
            ("ip6-lookup", &six, &six),
            ("mpls-lookup", &label, &swapped),
        ] {
            for count in [1, 3, 4, 255, 256] {
                let out = bench.send(at, &vec![packet.clone(); count]);
                let sent = sent(&out);
                assert_eq!(sent.len(), count);
                let expected = enclosed(n, carried);
                assert!(sent.iter().all(|s| parts(s) == parts(&expected)), "{at} {n}");
                assert_eq!(sent[0].len(), expected.len());
                assert_eq!(sent[0][if n == 0 { 8 } else { 7 }], if n == 0 { 253 } else { 254 });
            }
        }
        let counted = bench.control(|router| counted(router, n as u32));
        let bytes = [four.len(), six.len(), swapped.len()].iter().sum::<usize>();
        assert_eq!((counted.packets, counted.bytes), (3 * 519, 519 * bytes as u64));
    }
}

#[test]
fn headers_are_complete_and_ports_stand_for_flows_where_asked() {
    let mut bench = bench();
    let four = udp4(HOST4, "30.0.1.1", 7, b"data");
    let out = bench.send("ip4-lookup", std::slice::from_ref(&four));
    let outer = sent(&out)[0];
    let header =
        wire::ip4::Header::new([10, 0, 1, 1].into(), [20, 0, 0, 1].into(), wire::Protocol::UDP, 0);
    assert_eq!(outer[..2], zerocopy::IntoBytes::as_bytes(&header)[..2]);
    assert_eq!(usize::from(u16::from_be_bytes([outer[2], outer[3]])), outer.len());
    assert_eq!(usize::from(u16::from_be_bytes([outer[24], outer[25]])), outer.len() - 20);
    set(&mut bench, "udp encap add 10.0.1.1 20.0.0.1 8138 src-port-is-entropy");
    set(&mut bench, "ip route add 31.0.0.0/8 via udp-encap 2");
    let flows: Vec<_> = (1..=64).map(|port| udp4(HOST4, "31.0.1.1", port, b"")).collect();
    let ports = |out: &[Caught]| -> Vec<u16> {
        sent(out).iter().map(|s| u16::from_be_bytes([s[20], s[21]])).collect()
    };
    let first = ports(&bench.send("ip4-lookup", &flows));
    assert_eq!(first, ports(&bench.send("ip4-lookup", &flows)));
    let mut different = first.clone();
    different.sort_unstable();
    different.dedup();
    assert!(different.len() > 50 && different[0] >= 0xc000, "{different:?}");
}

#[test]
fn an_encapsulation_that_leads_nowhere_or_to_itself_is_not_used() {
    let mut bench = bench();
    let packet = udp4(HOST4, "30.0.1.1", 7, b"data");
    let goes = |bench: &mut Bench| {
        let out = bench.send("ip4-lookup", std::slice::from_ref(&packet));
        out.first().is_some_and(|c| c.at == "sent")
    };
    assert!(goes(&mut bench));
    set(&mut bench, "ip route del 20.0.0.0/8");
    assert!(!goes(&mut bench));
    set(&mut bench, "ip route add 20.0.0.0/8 via udp-encap 0");
    assert!(!goes(&mut bench));
    set(&mut bench, "ip route add 30.0.0.0/16 via 10.0.1.2 pg1 preference 1");
    assert!(goes(&mut bench));
    set(&mut bench, "ip route add 20.0.0.1/32 via 10.0.1.2 pg1");
    let out = bench.send("ip4-lookup", std::slice::from_ref(&packet));
    assert_eq!(parts(sent(&out)[0]).2, packet);
}

#[test]
fn one_that_was_deleted_stays_while_paths_lead_there() {
    let mut bench = bench();
    let packet = udp4(HOST4, "30.0.1.1", 7, b"data");
    // With the whole of it behind `del`, as with the number alone.
    set(&mut bench, "udp encap del id 0 10.0.1.1 20.0.0.1 330 8138");
    assert!(bench.run("udp encap del id 0").unwrap_err().contains("no encapsulation 0"));
    assert!(bench.run("ip route add 40.0.0.0/8 via udp-encap 0").is_err());
    assert_eq!(sent(&bench.send("ip4-lookup", std::slice::from_ref(&packet))).len(), 1);
    for route in ["30.0.0.0/16", "2a30:0::/32"] {
        set(&mut bench, &format!("ip route del {route}"));
    }
    let line = "udp-encap:[0]: ip-fib-index:0 ip:[src:10.0.1.1, dst:20.0.0.1] udp:[src:330, \
        dst:8138] flags:none to:[";
    let shown = bench.run("show udp encap 0").unwrap();
    assert!(shown.starts_with(line) && shown.contains("]] locks:1\n Stacked on:\n"), "{shown}");
    set(&mut bench, "mpls local-label del 30 eos");
    assert!(bench.run("show udp encap 0").is_err());
    let made = "udp encap add 10.0.1.1 20.0.0.9 1 2";
    assert_eq!(bench.run(made).unwrap(), "0\n");
    assert_eq!(bench.control(|router| counted(router, 0)).packets, 0);
}

#[test]
fn what_is_behind_the_header_of_a_port_is_forwarded() {
    let mut bench = bench();
    set(&mut bench, "ip route add 50.0.0.0/8 via 10.0.1.2 pg1");
    set(&mut bench, "ip route add 2a50::/16 via 2001:db8:1::2 pg1");
    set(&mut bench, "mpls local-label add 88 eos via 10.0.1.2 pg1 out-labels 89");
    let four = udp4(HOST4, "50.0.0.1", 7, b"data");
    let six = udp6(HOST6, "2a50::1", 7, b"data");
    let label = labelled(&[(88, 0, 9)], &four);
    for (version, (_, far), own, at) in [
        ("ipv4", ENDS[0], "10.0.0.1", "ip4-receive"),
        ("ipv6", ENDS[1], "2001:db8::1", "ip6-receive"),
    ] {
        for (port, next, carried, there) in [
            (1000, "ip4", &four, changed4(four.clone(), |h| h.ttl -= 1)),
            (1001, "ip6", &six, changed6(six.clone(), |h| h.hop_limit -= 1)),
            (1002, "mpls", &label, labelled(&[(89, 0, 8)], &four)),
        ] {
            let line = format!("{version} {port}");
            let packet = datagram(far, own, port, carried, false);
            set(&mut bench, &format!("udp decap add {line} next-proto {next}"));
            assert_eq!(sent(&bench.send(at, std::slice::from_ref(&packet))), [&there[..]]);
            assert!(bench.run(&format!("udp decap add {line} next-proto {next}")).is_err());
            set(&mut bench, &format!("udp decap del {line}"));
            let out = bench.send(at, &[packet]);
            assert!(out.iter().all(|c| c.bytes.get(14..) != Some(&there[..])));
            assert!(bench.run(&format!("udp decap del {line}")).is_err());
        }
    }
}

#[test]
fn messages_make_list_and_refuse() {
    let mut bench = bench();
    let addr = |text: &str| text.parse::<std::net::IpAddr>().unwrap().into();
    let good = ApiUdpEncap {
        table_id: 0,
        src_port: 0,
        dst_port: 9,
        src_ip: addr("10.0.1.1"),
        dst_ip: addr("20.0.0.7"),
        id: 0,
    };
    bench.talk(|client, router| {
        let make = |router: &mut _, udp_encap| client.call(router, &UdpEncapAdd { udp_encap });
        for (bad, why) in [
            (ApiUdpEncap { table_id: 9, ..good }, Retval::NO_SUCH_FIB),
            (ApiUdpEncap { src_ip: addr("::1"), ..good }, Retval::INVALID_ADDRESS_FAMILY),
            (ApiUdpEncap { dst_ip: addr("0.0.0.0"), ..good }, Retval::INVALID_VALUE),
            (ApiUdpEncap { dst_port: 0, ..good }, Retval::INVALID_VALUE),
        ] {
            assert_eq!(make(router, bad).unwrap_err(), why);
        }
        assert_eq!(make(router, good).unwrap().id, 2);
        let all = client.dump(router, &UdpEncapDump {});
        assert_eq!(all.len(), 3);
        assert_eq!(all[2].udp_encap, ApiUdpEncap { id: 2, ..good });
        client.call(router, &UdpEncapDel { id: 2 }).unwrap();
        assert_eq!(client.call(router, &UdpEncapDel { id: 2 }).unwrap_err(), Retval::NO_SUCH_ENTRY);
        let udp_decap = UdpDecap { is_ip4: 1, port: 7, next_proto: UdpDecapNextProto(3) };
        let wrong = UdpDecapAddDel { is_add: true, udp_decap };
        assert_eq!(client.call(router, &wrong).unwrap_err(), Retval::INVALID_VALUE);
        let udp_decap = UdpDecap { next_proto: UdpDecapNextProto::IP6, ..udp_decap };
        let right = UdpDecapAddDel { is_add: true, udp_decap };
        client.call(router, &right).unwrap();
        assert_eq!(client.call(router, &right).unwrap_err(), Retval::UDP_PORT_TAKEN);
        let mut path =
            FibPath { kind: FibPathType::UDP_ENCAP, sw_if_index: !0, ..FibPath::default() };
        path.nh.obj_id = 1;
        let native = path.native::<Ip4>(router).unwrap();
        let back = FibPath::of::<Ip4>(router, &native);
        assert_eq!((back.kind, back.nh.obj_id), (FibPathType::UDP_ENCAP, 1));
        path.nh.obj_id = 9;
        assert_eq!(path.native::<Ip6>(router).unwrap_err(), Retval::NO_SUCH_ENTRY);
    });
}
