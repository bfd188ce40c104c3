//! `traceroute` through routers that answer, hosts that do, and silence.

use std::net::IpAddr;

use control::cli::{Output, Run, Step};
use net::testing::whole::{Bench, OTHER, PG1};
use ping::Header;
use traceroute::*;
use wire::ethernet::{self, EtherType};
use wire::{Protocol, icmp4, ip4, ip6, udp};
use zerocopy::{FromBytes, IntoBytes};

fn bench() -> Bench {
    let mut b = Bench::plugged(&[ping::FEATURE, FEATURE]);
    for line in [
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb static",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb static",
        "ip route add 10.8.0.0/15 via 10.0.1.2 pg1",
        "ip route add 2001:db8:9::/48 via 2001:db8:1::2 pg1",
    ] {
        b.set(line);
    }
    b
}

/// A frame to `pg1` with an ICMP error from `from` about the packet in `frame`.
fn error(frame: &[u8], from: &str, kind: u8, code: u8) -> Vec<u8> {
    let packet = &frame[14..];
    let (src, dst): (IpAddr, IpAddr) = match from.parse().unwrap() {
        IpAddr::V4(from) => {
            (from.into(), ip4::Header::ref_from_prefix(packet).unwrap().0.src_addr().into())
        }
        IpAddr::V6(from) => {
            (from.into(), ip6::Header::ref_from_prefix(packet).unwrap().0.src_addr().into())
        }
    };
    let icmp = icmp4::Header::new(icmp4::Type(kind), code);
    let head = icmp4::Error { icmp, pointer: [0; 2], mtu: 0.into() };
    let (protocol, ethertype) = match dst {
        IpAddr::V4(_) => (Protocol::ICMP, EtherType::IP4),
        IpAddr::V6(_) => (Protocol::ICMP6, EtherType::IP6),
    };
    let way = Header { src, dst, hops: 60, id: 0 };
    let answer = way.packet(protocol, [head.as_bytes(), packet].concat(), 2);
    [ethernet::Header::new(PG1, OTHER, ethertype).as_bytes(), &answer].concat()
}

/// Hops that a frame's packet may go.
fn hops(frame: &[u8]) -> u8 {
    if frame[12..14] == [8, 0] { frame[22] } else { frame[21] }
}

/// A way of two routers and the host behind them, which `kind` and `code` come from.
fn way(host: &str, (kind, code): (u8, u8)) -> impl Fn(&[u8]) -> Vec<Vec<u8>> {
    let is_ip4 = host.contains('.');
    move |frame| {
        let exceeded = if is_ip4 { 11 } else { 3 };
        let router = |n| if is_ip4 { format!("10.8.0.{n}") } else { format!("2001:db8:8::{n}") };
        vec![match hops(frame) {
            n @ 1..=2 => error(frame, &router(n), exceeded, 0),
            _ => error(frame, host, kind, code),
        }]
    }
}

/// The text without times, which differ from run to run.
fn timeless(text: &str) -> String {
    let mut words = Vec::new();
    for line in text.lines() {
        let line: Vec<_> = line.split("  ").map(str::trim).collect();
        let is_time = |word: &str| word.split(' ').nth(1) == Some("ms");
        let mark = |word: &str| word.split_once(" ms").map(|(_, mark)| format!("T{mark}"));
        let short = line.iter().map(|w| if is_time(w) { mark(w).unwrap() } else { (*w).into() });
        words.push(short.collect::<Vec<String>>().join(" "));
    }
    words.join("\n")
}

#[test]
fn each_router_and_then_the_host_are_shown() {
    let mut b = bench();
    for (host, option, port, head) in [
        ("10.9.0.9", "", (3, 3), "10.0.1.1, 30 hops max, 60 byte packets"),
        ("10.9.0.9", "port 53 size 100", (3, 3), "10.0.1.1, 30 hops max, 100 byte packets"),
        ("10.9.0.9", "-I -n", (3, 2), "10.0.1.1, 30 hops max, 60 byte packets"),
        ("2001:db8:9::9", "-U", (1, 4), "2001:db8:1::1, 30 hops max, 60 byte packets"),
        (
            "ipv6 2001:db8:9::9",
            "source pg1 icmp",
            (4, 1),
            "2001:db8:1::1, 30 hops max, 60 byte packets",
        ),
    ] {
        let addr = host.trim_start_matches("ipv6 ");
        let text = b.run_task(&format!("traceroute {host} {option}"), way(addr, port));
        let router = if addr.contains('.') { "10.8.0." } else { "2001:db8:8::" };
        let want = format!(
            "traceroute to {addr} from {head}\n1 {router}1 T T T\n2 {router}2 T T T\n3 {addr} T T T"
        );
        assert_eq!(timeless(&text), want, "{text}");
        assert_eq!(b.graph.buffers_used(), 0);
    }
}

#[test]
fn probes_are_udp_to_one_port_after_the_other() {
    let mut b = bench();
    let seen = std::cell::RefCell::new(Vec::new());
    b.run_task("traceroute 10.9.0.9 queries 2 max 2 wait 0.1", |frame| {
        let header = udp::Header::ref_from_prefix(&frame[34..]).unwrap().0;
        assert!(ip4::Header::ref_from_prefix(&frame[14..]).unwrap().0.is_checksum_valid());
        seen.borrow_mut().push((hops(frame), header.dst_port.get(), frame.len()));
        Vec::new()
    });
    let seen = seen.borrow();
    assert_eq!(seen[..], [(1, 33434, 74), (1, 33435, 74), (2, 33436, 74), (2, 33437, 74)]);
}

#[test]
fn who_does_not_answer_is_a_star_and_who_refuses_ends_it() {
    let mut b = bench();
    let refused = |code, exceeded: u8| {
        move |frame: &[u8]| match hops(frame) {
            1 => Vec::new(),
            2 if frame[37] % 2 == 1 => vec![error(frame, "10.8.0.2", exceeded, 0)],
            2 => Vec::new(),
            _ => vec![error(frame, "10.8.0.3", 3, code)],
        }
    };
    for (code, mark) in [(0, "!N"), (1, "!H"), (2, "!P"), (4, "!F"), (13, "!X"), (7, "!7")] {
        let text = b.run_task("traceroute 10.9.0.9", refused(code, 11));
        let lines: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(lines[0], " 1  * * *", "{text}");
        assert_eq!(timeless(lines[1]), "2 10.8.0.2 T * T", "{text}");
        let last = format!("3 10.8.0.3 T {mark} T {mark} T {mark}");
        assert_eq!(timeless(lines[2]), last, "{text}");
        assert_eq!(lines.len(), 3);
    }
    let text = b.run_task("traceroute 10.9.0.9 first 29 wait 0.2", |_| Vec::new());
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), ["29  * * *", "30  * * *"]);
}

#[test]
fn a_cancelled_one_leaves_nothing_behind() {
    let mut b = bench();
    let (mut run, mut out) = (Run::new("traceroute 10.9.0.9"), Output::none());
    let step = b.control(|router, cli| run.step(cli, router, &mut out));
    assert!(matches!(step, Step::Sleep(_)));
    let sent = b.graph.run();
    assert_eq!(sent.len(), 3, "the next hop is not asked yet");
    let late = error(&sent[0].bytes, "10.8.0.1", 11, 0);
    b.control(|router, _| {
        assert!(!is_idle(router));
        run.cancel(router, &mut out);
        assert!(is_idle(router));
    });
    b.receive(b.pg1, &[late]);
    b.expect(&[("ip4-icmp-input", "unknown_type", 1)]);
}

#[test]
fn errors_about_packets_of_others_are_no_answers() {
    let mut b = bench();
    let (mut run, mut out) = (Run::new("traceroute 10.9.0.9"), Output::none());
    b.control(|router, cli| run.step(cli, router, &mut out));
    let sent = b.graph.run().remove(0).bytes;
    let mut other = sent.clone();
    other[35] ^= 1; // another source port
    let short = error(&sent[..14 + 20 + 4], "10.8.0.1", 11, 0);
    for n in [1, 4, 256] {
        b.receive(b.pg1, &vec![error(&other, "10.8.0.1", 11, 0); n]);
        b.expect(&[("ip4-traceroute-answer", "unexpected", n as u64)]);
    }
    b.receive(b.pg1, &[short]);
    b.expect(&[("ip4-traceroute-answer", "too_short", 1)]);
    b.control(|router, _| run.cancel(router, &mut out));
}

#[test]
fn what_cannot_be_traced() {
    let mut b = bench();
    for (line, error) in [
        ("", "expected an IPv4 or IPv6 address"),
        (" nonsense", "unknown input `nonsense'"),
        (" 10.9.0.9 source nosuch", "unknown interface `nosuch'"),
        (" 10.9.0.9 table-id 77", "Nonexistent table id 77"),
        (" 10.9.0.9 queries 0", "must be 1 to 10 `0'"),
        (" 10.9.0.9 first 9 max 8", "`first' is more than `max'"),
        (" 10.9.0.9 size 65001", "must be 0 to 65000 `65001'"),
        (" 10.0.0.1", "10.0.0.1 is an address of this router"),
        (" 239.1.1.1", "239.1.1.1 is a multicast address"),
        (" fe80::2", "a link-local address or a group needs a source interface"),
        (" 99.0.0.1", "no source address or no route to the host"),
    ] {
        assert_eq!(b.cli(&format!("traceroute{line}")), format!("traceroute: {error}\n"));
    }
}
