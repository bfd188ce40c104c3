mod codes;

use graph::Flags;
use wire::{Protocol, icmp6, ip4, ip6};
use zerocopy::FromBytes;

use super::*;
use crate::ip::testing::Bench;
use crate::ip::testing::packets::*;

const US4: &str = "10.0.0.1";
const US6: &str = "2001:db8::1";

fn is_icmp4_valid(packet: &[u8]) -> bool {
    let header = ip4::Header::ref_from_prefix(packet).unwrap().0;
    let sum = wire::checksum::Sum::ZERO.add_bytes(&packet[20..]);
    header.is_checksum_valid() && sum.is_valid() && usize::from(header.total_len) == packet.len()
}

fn echo6(dst: &str, data: &[u8]) -> Vec<u8> {
    icmp6(HOST6, dst, icmp6::Type::ECHO_REQUEST, &[&[0, 7, 0, 1], data].concat())
}

#[test]
fn pings_are_answered_from_the_address_that_was_asked() {
    for n in [1, 3, 4, 255, 256] {
        let mut bench = Bench::new();
        let asked = changed4(ping4(HOST4, US4, b"payload"), |h| (h.ttl, h.tos) = (3, 0x20));
        let out = bench.send("ip4-receive", &vec![asked.clone(); n]);
        assert_eq!(out.len(), n);
        for c in &out {
            let header = ip4::Header::ref_from_prefix(&c.bytes).unwrap().0;
            assert_eq!(
                (header.src_addr().to_string(), header.dst_addr().to_string()),
                (US4.into(), HOST4.into())
            );
            assert_eq!((header.ttl, header.tos, c.at.as_str(), c.rx), (64, 0x20, "ip4-lookup", 0));
            assert_eq!((c.bytes[20], &c.bytes[24..]), (0, &asked[24..]));
            assert!(is_icmp4_valid(&c.bytes) && c.flags.has(Flags::LOCAL));
        }
        bench.expect(&[("ip4-icmp-input", "echo_replies_sent", n as u64)]);

        let asked = changed6(echo6(US6, b"payload"), |h| h.hop_limit = 3);
        let out = bench.send("ip6-receive", &vec![asked.clone(); n]);
        assert_eq!(out.len(), n);
        for c in &out {
            let header = ip6::Header::ref_from_prefix(&c.bytes).unwrap().0;
            assert_eq!(
                (header.src_addr().to_string(), header.dst_addr().to_string()),
                (US6.into(), HOST6.into())
            );
            assert_eq!((header.hop_limit, c.at.as_str(), c.rx), (64, "ip6-lookup", bench.pg0.0));
            assert_eq!((c.bytes[40], &c.bytes[44..]), (129, &asked[44..]));
            assert!(sum6(&c.bytes).is_valid() && c.flags.has(Flags::LOCAL));
        }
        bench.expect(&[("ip6-icmp-input", "echo_replies_sent", n as u64)]);
    }
}

#[test]
fn a_wrong_sum_stays_wrong() {
    let mut asked = ping4(HOST4, US4, b"payload");
    asked[30] ^= 0x40;
    assert!(!is_icmp4_valid(&Bench::new().send("ip4-receive", &[asked])[0].bytes));
}

#[test]
fn replies_have_no_options_or_extension_headers() {
    let mut bench = Bench::new();
    let asked = with_options(&ping4(HOST4, US4, b"data"), &[131, 7, 4, 10, 0, 0, 9, 0]);
    let out = bench.send("ip4-receive", &[asked]);
    assert_eq!((out[0].bytes[0], out[0].bytes.len()), (0x45, 32));
    assert!(is_icmp4_valid(&out[0].bytes));
    let plain = echo6(US6, b"data");
    let options = [&[58, 0, 1, 4, 0, 0, 0, 0], &plain[40..]].concat();
    let asked = ip6(HOST6, US6, Protocol::DESTINATION_OPTIONS, &options);
    let out = bench.send("ip6-receive", &[asked]);
    assert_eq!((out[0].bytes[6], out[0].bytes.len()), (58, plain.len()));
    assert!(sum6(&out[0].bytes).is_valid());
}

#[test]
fn echoes_to_groups_are_answered_from_an_address_of_the_interface() {
    let mut bench = Bench::new();
    let out = bench.send("ip4-receive", &[ping4(HOST4, "224.0.0.1", b"all")]);
    let src = ip4::Header::ref_from_prefix(&out[0].bytes).unwrap().0.src_addr();
    assert_eq!(src.to_string(), US4);
    assert!(is_icmp4_valid(&out[0].bytes));
    bench.expect(&[("ip4-icmp-input", "echo_replies_sent", 1)]);
    let to_all = ping4(HOST4, "224.0.0.1", &[]);
    assert!(bench.send_as("ip4-receive", &[to_all], |p| p.set_rx(0)).is_empty());
    bench.expect(&[
        ("ip4-icmp-input", "echo_replies_sent", 1),
        ("ip4-icmp-echo-request", "drop", 1),
    ]);
    assert!(bench.send("ip4-receive", &[ping4(HOST4, "255.255.255.255", &[])]).is_empty());
    bench.expect(&[("ip4-icmp-input", "drop", 1)]);
    let out = bench.send("ip6-receive", &[echo6("ff02::1", b"all")]);
    let src = ip6::Header::ref_from_prefix(&out[0].bytes).unwrap().0.src_addr();
    assert_eq!(src.to_string(), US6);
    assert!(sum6(&out[0].bytes).is_valid());
    bench.expect(&[("ip6-icmp-input", "echo_replies_sent", 1)]);
    assert!(bench.send_as("ip6-receive", &[echo6("ff02::1", &[])], |p| p.set_rx(0)).is_empty());
    bench.expect(&[
        ("ip6-icmp-input", "echo_replies_sent", 1),
        ("ip6-icmp-echo-request", "drop", 1),
    ]);
}

#[test]
fn messages_are_checked_and_unknown_ones_counted() {
    let mut bench = Bench::new();
    let mut other = ping4(HOST4, US4, &[]);
    other[20] = 200;
    bench.send("ip4-receive", &[other, ip4(HOST4, US4, Protocol::ICMP, &[8, 0, 0, 0])]);
    bench.send("ip4-receive", &[ip4(HOST4, US4, Protocol::ICMP, &[8])]);
    bench.expect(&[
        ("ip4-icmp-input", "unknown_type", 1),
        ("ip4-icmp-input", "length_too_small_for_type", 2),
    ]);
    let ns = icmp6::Type::NEIGHBOR_SOLICITATION;
    let right = changed6(icmp6(HOST6, US6, ns, &[0; 20]), |h| h.hop_limit = 255);
    bench.send("ip6-receive", std::slice::from_ref(&right));
    bench.expect(&[("ip6-icmp-input", "unknown_type", 1)]);
    bench.control(|r| r.icmp6_type(ns, "ip6-drop").unwrap());
    let mut code = right.clone();
    (code[41], code[43]) = (1, code[43].wrapping_sub(1));
    let far = changed6(right.clone(), |h| h.hop_limit = 254);
    let short = changed6(icmp6(HOST6, US6, ns, &[0; 19]), |h| h.hop_limit = 255);
    bench.send("ip6-receive", &[right, code, far, short]);
    bench.expect(&[
        ("null-node", "blackholed packets", 1), // the right one
        ("ip6-icmp-input", "invalid_code_for_type", 1),
        ("ip6-icmp-input", "invalid_hop_limit_for_type", 1),
        ("ip6-icmp-input", "length_too_small_for_type", 1),
    ]);
}

/// Sends packets to the error node with a problem.
fn make_error(bench: &mut Bench, at: &str, packet: &[u8], problem: Problem) -> Option<Vec<u8>> {
    let out = bench.send_as(at, &[packet.to_vec()], move |p| p.set_payload(problem));
    out.into_iter().next().map(|c| c.bytes)
}

const PORT4: Problem = V4::PORT_PROBLEM;
const PORT6: Problem = V6::PORT_PROBLEM;

#[test]
fn errors_quote_what_they_are_about() {
    let mut bench = Bench::new();
    let about = udp4(HOST4, "16.0.0.1", 1, b"data");
    let error = make_error(&mut bench, "ip4-icmp-error", &about, PORT4).unwrap();
    let header = ip4::Header::ref_from_prefix(&error).unwrap().0;
    assert_eq!(
        (header.src_addr().to_string(), header.dst_addr().to_string()),
        (US4.into(), HOST4.into())
    );
    assert_eq!((header.ttl, header.tos, &error[20..22]), (255, 0, &[3, 3][..]));
    assert_eq!(error[28..], about);
    assert!(is_icmp4_valid(&error));
    let problem = Problem::ip4(wire::icmp4::Type::PARAMETER_PROBLEM, 0, 9);
    let error = make_error(&mut bench, "ip4-icmp-error", &about, problem).unwrap();
    assert_eq!(error[20..22], [12, 0]);
    assert_eq!(error[24..28], [9, 0, 0, 0]);
    bench.expect(&[
        ("ip4-icmp-error", "dest_unreach_sent", 1),
        ("ip4-icmp-error", "param_problem_sent", 1),
    ]);

    let about = udp6(HOST6, "2001:db8:ff::1", 1, b"data");
    let error = make_error(&mut bench, "ip6-icmp-error", &about, PORT6).unwrap();
    let header = ip6::Header::ref_from_prefix(&error).unwrap().0;
    assert_eq!(
        (header.src_addr().to_string(), header.dst_addr().to_string()),
        (US6.into(), HOST6.into())
    );
    assert_eq!((header.hop_limit, header.traffic_class(), &error[40..42]), (255, 0, &[1, 4][..]));
    assert_eq!(error[48..], about);
    assert!(sum6(&error).is_valid());
    bench.expect(&[("ip6-icmp-error", "dest_unreach_sent", 1)]);
}

#[test]
fn quotes_are_cut() {
    let mut bench = Bench::new();
    let about = udp4(HOST4, "16.0.0.1", 1, &[0; 1400]);
    let error = make_error(&mut bench, "ip4-icmp-error", &about, PORT4).unwrap();
    assert_eq!((error.len(), is_icmp4_valid(&error)), (576, true));
    let about = udp6(HOST6, "2001:db8:ff::1", 1, &[0; 1400]);
    let error = make_error(&mut bench, "ip6-icmp-error", &about, PORT6).unwrap();
    assert_eq!((error.len(), sum6(&error).is_valid()), (1280, true));
}

#[test]
fn some_packets_are_never_answered_4() {
    let about = udp4(HOST4, "16.0.0.1", 1, &[]);
    let changed = |change: fn(&mut ip4::Header)| changed4(about.clone(), change);
    let icmp = |kind| ip4(HOST4, "16.0.0.1", Protocol::ICMP, &[kind, 0, 0, 0, 0, 0, 0, 0]);
    let silent = [
        changed(|h| h.fragment = 2.into()),
        changed(|h| h.dst = [239, 1, 1, 1]),
        changed(|h| h.dst = [255; 4]),
        changed(|h| h.src = [0; 4]),
        changed(|h| h.src = [0, 1, 2, 3]),
        changed(|h| h.src = [127, 0, 0, 1]),
        changed(|h| h.src = [239, 1, 1, 1]),
        changed(|h| h.src = [255; 4]),
        icmp(3),
        icmp(4),
        icmp(5),
        icmp(11),
        icmp(12),
        ip4(HOST4, "16.0.0.1", Protocol::ICMP, &[]),
        about[..19].to_vec(),
    ];
    let mut bench = Bench::new();
    for packet in &silent {
        assert_eq!(make_error(&mut bench, "ip4-icmp-error", packet, PORT4), None, "{packet:x?}");
    }
    bench.expect(&[("ip4-icmp-error", "drop", silent.len() as u64)]);
    let told = [changed(|h| h.fragment = 0x2000.into()), icmp(8), icmp(0), icmp(13)];
    for packet in &told {
        assert!(make_error(&mut bench, "ip4-icmp-error", packet, PORT4).is_some(), "{packet:x?}");
    }
    let ours = bench.send_as("ip4-icmp-error", std::slice::from_ref(&about), |p| {
        p.set_payload(PORT4);
        p.add_flags(Flags::LOCAL);
    });
    let nowhere = bench.send_as("ip4-icmp-error", &[about], |p| {
        p.set_payload(PORT4);
        p.set_rx(0);
    });
    assert!(ours.is_empty() && nowhere.is_empty());
}

#[test]
fn some_packets_are_never_answered_6() {
    let about = udp6(HOST6, "2001:db8:ff::1", 1, &[]);
    let changed = |change: fn(&mut ip6::Header)| changed6(about.clone(), change);
    let icmp = |kind| icmp6(HOST6, "2001:db8:ff::1", icmp6::Type(kind), &[0; 4]);
    let fragment = |offset: u8| {
        ip6(HOST6, "2001:db8:ff::1", Protocol::FRAGMENT, &[17, 0, 0, offset, 0, 0, 0, 1])
    };
    let group = changed(|h| h.dst[0] = 0xff);
    let silent = [
        group.clone(),
        changed(|h| h.src = [0; 16]),
        changed(|h| h.src[0] = 0xff),
        icmp(1),
        icmp(3),
        icmp(127),
        icmp(137),
        about[..39].to_vec(),
    ];
    let mut bench = Bench::new();
    for packet in &silent {
        assert_eq!(make_error(&mut bench, "ip6-icmp-error", packet, PORT6), None, "{packet:x?}");
    }
    bench.expect(&[("ip6-icmp-error", "drop", silent.len() as u64)]);
    for packet in [fragment(1), fragment(8), icmp(128), icmp(135)] {
        assert!(make_error(&mut bench, "ip6-icmp-error", &packet, PORT6).is_some(), "{packet:x?}");
    }
    let too_big = Problem::ip6(icmp6::Type::PACKET_TOO_BIG, 0, 1280);
    for packet in [group, fragment(8)] {
        assert!(
            make_error(&mut bench, "ip6-icmp-error", &packet, too_big).is_some(),
            "{packet:x?}"
        );
    }
    assert_eq!(make_error(&mut bench, "ip6-icmp-error", &icmp(1), too_big), None);
}

#[test]
fn frames_to_a_group_are_never_answered() {
    let mut bench = Bench::new();
    let about = udp4(HOST4, "16.0.0.1", 1, &[]);
    for (first, answers) in [(0xff, 0), (0x33, 0), (0x02, 1)] {
        let frame = [&[first; 14][..], &about].concat();
        let out = bench.send_as("ip4-icmp-error", &[frame], |p| {
            p.set_l2_offset(0);
            p.add_flags(Flags::L2);
            p.advance(14).unwrap();
            p.set_payload(PORT4);
        });
        assert_eq!(out.len(), answers, "{first:x}");
    }
}

#[test]
fn errors_are_limited() {
    let mut bench = Bench::new();
    let about = udp4(HOST4, "16.0.0.1", 1, &[]);
    let mut told = 0;
    for _ in 0..8 {
        told += bench
            .send_as("ip4-icmp-error", &vec![about.clone(); 256], |p| {
                p.set_payload(PORT4);
            })
            .len();
    }
    assert!((1000..1500).contains(&told), "{told} of 2048");
}
