//! `ping` against hosts that answer, hosts that do not, and ourselves.

use std::net::IpAddr;

use control::api::Retval;
use control::cli::{Output, Run, Step};
use net::testing::whole::{Bench, PG1};
use ping::*;
use wire::checksum::{self, Sum};
use wire::{Protocol, ip4, ip6};
use zerocopy::{FromBytes, IntoBytes};

/// Answer of a host to an echo request in a frame.
fn echo(frame: &[u8]) -> Vec<Vec<u8>> {
    let mut back = frame.to_vec();
    back[..6].copy_from_slice(&frame[6..12]);
    back[6..12].copy_from_slice(&frame[..6]);
    if frame[12..14] == [8, 0] {
        back[26..30].copy_from_slice(&frame[30..34]);
        back[30..34].copy_from_slice(&frame[26..30]);
        (back[34], back[22]) = (0, 64);
        ip4::Header::mut_from_prefix(&mut back[14..]).unwrap().0.update_checksum();
        back[36..38].fill(0);
        let sum = Sum::ZERO.add_bytes(&back[34..]).checksum();
        back[36..38].copy_from_slice(sum.as_bytes());
    } else {
        back[22..38].copy_from_slice(&frame[38..54]);
        back[38..54].copy_from_slice(&frame[22..38]);
        (back[54], back[21]) = (129, 63);
        back[56..58].fill(0);
        let ip = *ip6::Header::ref_from_prefix(&back[14..]).unwrap().0;
        let pseudo =
            checksum::ip6_pseudo(ip.src, ip.dst, Protocol::ICMP6, ip.payload_len.get().into());
        let sum = pseudo.add_bytes(&back[54..]).checksum();
        back[56..58].copy_from_slice(sum.as_bytes());
    }
    vec![back]
}

fn bench() -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    for addr in ["10.0.1.2", "2001:db8:1::2", "fe80::2"] {
        let line = format!("set ip neighbor pg1 {addr} 02:00:00:00:00:bb static");
        assert_eq!(b.cli(&line), "");
    }
    b
}

/// The text with all times replaced, which differ from run to run.
fn timeless(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once("time=") {
        Some((start, time)) => {
            let ms = time.split(' ').next().unwrap();
            assert!(ms.parse::<f64>().unwrap() < 1000.0 && !ms.starts_with('0'), "{ms}");
            format!("{start}time=T ms\n")
        }
        None => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn a_host_that_answers() {
    let mut b = bench();
    for (host, ttl) in [("10.0.1.2", 64), ("2001:db8:1::2", 63), ("ipv4 10.0.1.2", 64)] {
        let text = b.run_task(&format!("ping {host} repeat 3 interval 0.1"), echo);
        let host = host.trim_start_matches("ipv4 ");
        let line = |n| format!("116 bytes from {host}: icmp_seq={n} ttl={ttl} time=T ms\n");
        let lines: String = (1..=3).map(line).collect();
        let end = "\nStatistics: 3 sent, 3 received, 0% packet loss\n";
        assert_eq!(timeless(&text), lines + end);
        b.expect(&[]);
    }
    let text = b.run_task("ping fe80::2 source pg1 repeat 1 size 100", echo);
    assert!(text.starts_with("156 bytes from fe80::2: icmp_seq=1 ttl=63 time="), "{text}");
    let text = b.run_task("ping 10.0.1.2 repeat 2 burst 5 interval 0.1 size 1900", echo);
    assert!(text.ends_with("\nStatistics: 10 sent, 10 received, 0% packet loss\n"), "{text}");
    b.expect(&[]);
}

#[test]
fn a_burst_has_one_number_and_goes_as_far_as_it_can() {
    let mut b = bench();
    for (host, hops, at) in [("10.0.1.2", 22, 34), ("2001:db8:1::2", 21, 54)] {
        let seen = std::cell::RefCell::new(Vec::new());
        let keep = |frame: &[u8]| {
            let number =
                |offset: usize| u16::from_be_bytes([frame[at + offset], frame[at + offset + 1]]);
            seen.borrow_mut().push((frame[hops], number(4), number(6)));
            // One more echo than was asked for.
            if number(6) == 2 { [echo(frame), echo(frame)].concat() } else { echo(frame) }
        };
        let text = b.run_task(&format!("ping {host} repeat 2 burst 3 interval 0.1"), keep);
        assert!(text.ends_with("6 sent, 6 received, 0% packet loss\n"), "{text}");
        assert_eq!(text.matches("(duplicate)").count(), 3, "{text}");
        let seen = seen.into_inner();
        let id = seen[0].1;
        let expected: Vec<_> = [1, 1, 1, 2, 2, 2].map(|seq| (255, id, seq)).into();
        assert_eq!(seen, expected);
    }
}

#[test]
fn requests_longer_than_the_link_allows_go_in_fragments() {
    let mut b = bench();
    b.cli("set interface mtu packet 1500 pg1");
    for (host, fragments) in [("10.0.1.2", 5), ("2001:db8:1::2", 5)] {
        let held = std::cell::RefCell::new(Vec::new());
        // A host that puts the fragments back together and answers in one piece of its own size.
        let answer = |frame: &[u8]| {
            let mut held = held.borrow_mut();
            held.push(frame.to_vec());
            if held.len() < fragments { Vec::new() } else { echo(&joined(&held.split_off(0))) }
        };
        let text = b.run_task(&format!("ping {host} repeat 1 size 7000"), answer);
        assert!(text.contains(&format!("7056 bytes from {host}: icmp_seq=1 ttl=6")), "{text}");
        let cutter = if host.contains('.') { "ip4-frag" } else { "ip6-frag" };
        b.expect(&[(cutter, "fragment_sent", 5)]);
    }
}

/// The packet that fragments of one packet, in order, are.
fn joined(fragments: &[Vec<u8>]) -> Vec<u8> {
    let is_ip4 = fragments[0][12..14] == [8, 0];
    let (headers, body) = if is_ip4 { (34, 34) } else { (54, 62) };
    let mut whole = fragments[0][..headers].to_vec();
    fragments.iter().for_each(|f| whole.extend(&f[body..]));
    if is_ip4 {
        let len = (whole.len() - 14) as u16;
        let header = ip4::Header::mut_from_prefix(&mut whole[14..]).unwrap().0;
        (header.total_len, header.fragment) = (len.into(), 0.into());
        header.update_checksum();
    } else {
        let len = (whole.len() - 54) as u16;
        let header = ip6::Header::mut_from_prefix(&mut whole[14..]).unwrap().0;
        (header.payload_len, header.next_header) = (len.into(), Protocol::ICMP6);
    }
    whole
}

#[test]
fn groups_are_asked_on_one_link() {
    let mut b = bench();
    for (group, mac, at) in
        [("239.1.1.1", [1, 0, 0x5e, 1, 1, 1], 22), ("ff02::1", [0x33, 0x33, 0, 0, 0, 1], 21)]
    {
        let before = b.cli("show adj").lines().count();
        // A member answers, from its own address.
        let answers = |frame: &[u8]| {
            assert_eq!((&frame[..6], frame[at]), (&mac[..], 255));
            let mut asked = frame.to_vec();
            asked[..6].copy_from_slice(&[2, 0, 0, 0, 0, 0xbb]);
            if group.contains('.') {
                asked[30..34].copy_from_slice(&[10, 0, 1, 2]);
            } else {
                let member: std::net::Ipv6Addr = "2001:db8:1::2".parse().unwrap();
                asked[38..54].copy_from_slice(&member.octets());
            }
            echo(&asked)
        };
        let text = b.run_task(&format!("ping {group} source pg1 repeat 2 interval 0.1"), answers);
        assert!(text.ends_with("2 sent, 2 received, 0% packet loss\n"), "{text}");
        assert_eq!(b.cli("show adj").lines().count(), before);
        b.expect(&[]);
    }
}

#[test]
fn a_host_that_does_not_answer() {
    let mut b = bench();
    let text = b.run_task("ping 10.0.1.2 repeat 2 interval 0.1", |_| Vec::new());
    assert_eq!(text, "\nStatistics: 2 sent, 0 received, 100% packet loss\n");
    let text = b.run_task("ping 10.0.1.9 repeat 1 interval 0.1", |_| Vec::new());
    assert_eq!(text, "\nStatistics: 1 sent, 0 received, 100% packet loss\n");
    b.wait(5.0);
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn our_own_addresses() {
    let mut b = bench();
    for host in ["10.0.0.1", "10.0.1.1 source pg1", "2001:db8::1"] {
        let text = b.run_task(&format!("ping {host} repeat 1"), |_| Vec::new());
        assert!(text.ends_with("1 sent, 1 received, 0% packet loss\n"), "{host}: {text}");
    }
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn requests_go_by_the_table_asked_for_or_that_of_the_interface() {
    let mut b = bench();
    for line in [
        "ip table add 10",
        "ip6 table add 10",
        "set interface ip address del pg1 10.0.1.1/24",
        "set interface ip address del pg1 2001:db8:1::1/64",
        "set interface ip table pg1 10",
        "set interface ip6 table pg1 10",
        "set interface ip address pg1 10.0.1.1/24",
        "set interface ip address pg1 2001:db8:1::1/64",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb static",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb static",
    ] {
        b.set(line);
    }
    for host in ["10.0.1.2", "2001:db8:1::2"] {
        for words in ["table-id 10", "source pg1", "source pg1 table-id 10"] {
            let text = b.run_task(&format!("ping {host} repeat 1 {words}"), echo);
            assert!(text.ends_with("1 sent, 1 received, 0% packet loss\n"), "{words}: {text}");
        }
        for words in ["", "table-id 0"] {
            let text = b.run_task(&format!("ping {host} repeat 1 {words}"), echo);
            assert_eq!(text, "ping: no source address or no route to the host\n", "{words}");
        }
        let text = b.run_task(&format!("ping {host} repeat 1 source pg1 table-id 0"), echo);
        assert!(text.ends_with("1 sent, 0 received, 100% packet loss\n"), "{text}");
    }
}

#[test]
fn echoes_that_come_twice_or_to_nobody() {
    let mut b = bench();
    let twice = |frame: &[u8]| [echo(frame), echo(frame)].concat();
    let text = b.run_task("ping 10.0.1.2 repeat 1", twice);
    assert!(text.contains(" ms (duplicate)\n"), "{text}");
    assert!(text.ends_with("1 sent, 1 received, 0% packet loss\n"), "{text}");
    b.expect(&[]);

    let frame = std::cell::RefCell::new(Vec::new());
    b.run_task("ping 10.0.1.2 repeat 1", |f| {
        *frame.borrow_mut() = echo(f).remove(0);
        vec![frame.borrow().clone()]
    });
    for n in [1usize, 4, 256] {
        b.receive(b.pg1, &vec![frame.borrow().clone(); n]);
        b.expect(&[("ip4-icmp-echo-reply", "unexpected", n as u64)]);
    }
    assert_eq!(frame.borrow()[..6], PG1.0);
}

#[test]
fn echoes_that_nobody_waits_for_are_given_to_another_router_where_punted_packets_are() {
    let mut b = bench();
    let message = [0, 0, 0xff, 0xf8, 0, 7, 0, 0];
    let packet = net::testing::packets::ip4("10.0.1.2", "10.0.1.1", Protocol::ICMP, &message);
    let frame = [&PG1.0[..], &[2, 0, 0, 0, 0, 0xbb, 8, 0], &packet].concat();
    b.receive(b.pg1, std::slice::from_ref(&frame));
    b.expect(&[("ip4-icmp-echo-reply", "too_short", 1)]);
    assert_eq!(b.cli("ip punt redirect add rx pg1 via 10.0.1.2 pg1"), "");
    let out = b.receive(b.pg1, &[frame]);
    assert!(out.iter().any(|c| c.bytes.ends_with(&packet)), "{out:?}");
}

#[test]
fn a_cancelled_ping_leaves_nothing_behind() {
    let mut b = bench();
    let (mut run, mut out) = (Run::new("ping 10.0.1.2"), Output::none());
    let step = b.control(|router, cli| run.step(cli, router, &mut out));
    assert!(matches!(step, Step::Sleep(_)));
    b.control(|router, _| {
        assert!(!is_idle(router));
        run.cancel(router, &mut out);
        assert!(out.to_text().contains("1 sent, 0 received, 100% packet loss"));
        assert!(is_idle(router));
    });
    b.graph.run();
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn what_cannot_be_asked() {
    let mut b = bench();
    for (line, error) in [
        ("ping", "ping: expected an IPv4 or IPv6 address"),
        ("ping nonsense", "ping: unknown input `nonsense'"),
        ("ping 10.0.1.2 10.0.1.3", "ping: unknown input `10.0.1.3'"),
        ("ping 10.0.1.2 source nosuch", "ping: unknown interface `nosuch'"),
        ("ping 10.0.1.2 table-id 77", "ping: Nonexistent table id 77"),
        ("ping 10.0.1.2 size 65500", "ping: at most 65499 bytes `size 65500'"),
        ("ping 10.0.1.2 interval -1", "ping: not a valid interval `interval -1'"),
        ("ping 10.0.1.2 burst 0", "ping: must be 1 to 256 `burst 0'"),
        ("ping fe80::2", "ping: a link-local address or a group needs a source interface"),
        ("ping 239.1.1.1", "ping: a link-local address or a group needs a source interface"),
        ("ping 99.0.0.1", "ping: no source address or no route to the host"),
    ] {
        assert_eq!(b.cli(line), format!("{error}\n"));
    }
}

#[test]
fn a_client_hears_how_many_were_answered() {
    let mut b = Bench::plugged(&[FEATURE]);
    b.talk(|local, router| {
        let want = |address: &str, interval| WantPingFinishedEvents {
            address: address.parse::<IpAddr>().unwrap().into(),
            repeat: 2,
            interval,
        };
        for host in ["10.0.1.2", "2001:db8:1::2"] {
            local.call(router, &want(host, 0.2)).unwrap();
            // The event comes one interval after the last request.
            for _ in 0..9 {
                router.engine.clock().adjust(0.05);
                router.run_due();
            }
            let seen = local.events::<PingFinishedEvent>();
            let counts: Vec<_> = seen.iter().map(|e| (e.request_count, e.reply_count)).collect();
            assert_eq!(counts, [(2, 0)], "{host}");
        }
        let far = local.call(router, &want("192.0.2.1", 1.0)).err();
        assert_eq!(far, Some(Retval::INVALID_DST_ADDRESS));
        let never = local.call(router, &want("10.0.1.2", -1.0)).err();
        assert_eq!(never, Some(Retval::INVALID_VALUE));
    });
}

#[test]
fn requests_are_right_in_both_families() {
    let (src, dst) = ("10.0.1.1".parse().unwrap(), "10.0.1.2".parse().unwrap());
    let way = Header { src, dst, hops: 3, id: 5 };
    for size in [61, MOST] {
        let mut bytes = echo_request(way, 7, 9, size);
        stamp(&mut bytes[..2048.min(20 + 16 + size)], 1.5);
        assert_eq!(bytes.len(), 20 + 16 + size);
        let ip = ip4::Header::ref_from_prefix(&bytes).unwrap().0;
        assert!(ip.is_checksum_valid() && (ip.ttl, ip.id.get()) == (3, 5));
        assert_eq!(usize::from(ip.total_len.get()), bytes.len());
        assert!(Sum::ZERO.add_bytes(&bytes[20..]).is_valid());
        assert_eq!(bytes[20..22], [8, 0]);
        assert_eq!(bytes[24..28], [0, 7, 0, 9]);
        assert_eq!(Sent::ref_from_prefix(&bytes[28..]).unwrap().0.seconds(), 1.5);
    }
    let (src, dst) = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
    let mut bytes = echo_request(Header { src, dst, ..way }, 7, 9, 61);
    stamp(&mut bytes, 1.5);
    let (ip, icmp) = ip6::Header::ref_from_prefix(&bytes).unwrap();
    let len = icmp.len() as u32;
    assert_eq!((ip.payload_len.get(), ip.hop_limit), (16 + 61, 3));
    let pseudo = checksum::ip6_pseudo(ip.src, ip.dst, Protocol::ICMP6, len);
    assert!(pseudo.add_bytes(icmp).is_valid());
    assert_eq!(icmp[0], 128);
}

#[test]
fn lines_are_those_that_scripts_read() {
    let from = "10.0.1.2".parse().unwrap();
    let echo = Echo { bytes: 116, from, seq: 1, ttl: 64, ms: 0.042, is_duplicate: false };
    assert_eq!(echo.to_string(), "116 bytes from 10.0.1.2: icmp_seq=1 ttl=64 time=.0420 ms");
    let late = Echo { ms: 12.5, is_duplicate: true, ..echo };
    let text = "116 bytes from 10.0.1.2: icmp_seq=1 ttl=64 time=12.5000 ms (duplicate)";
    assert_eq!(late.to_string(), text);
    let text = Statistics { sent: 5, received: 5 }.to_string();
    assert_eq!(text, "\nStatistics: 5 sent, 5 received, 0% packet loss");
    let text = Statistics { sent: 3, received: 2 }.to_string();
    assert_eq!(text, "\nStatistics: 3 sent, 2 received, 33% packet loss");
    let text = Statistics { sent: 0, received: 0 }.to_string();
    assert_eq!(text, "\nStatistics: 0 sent, 0 received, 0% packet loss");
}
