//! The resolver: requests, questions to name servers, what is remembered.

use std::net::IpAddr;

use control::api::Retval;
use dns::message::{Data, Message, Question, Record, code, flag, kind};
use dns::*;
use graph::testing::Caught;
use net::testing::Rig;
use net::tunnel::testing::*;

/// Bytes in front of a message, with Ethernet.
const FRONT: usize = 42;
const SERVER: &str = "20.0.0.53";

fn bench() -> Rig {
    let mut rig = Rig::new(&[
        net::fib::FEATURE,
        net::address::FEATURE,
        net::ip4::FEATURE,
        net::ip6::FEATURE,
        net::mfib::FEATURE,
        net::icmp::FEATURE,
        net::neighbor::FEATURE,
        ping::FEATURE,
        FEATURE,
    ]);
    rig.add_networks(2);
    for line in [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:a2",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:b2",
        "ip route add 20.0.0.0/8 via 10.0.1.2 pg1",
        "dns name-server 20.0.0.53",
        "dns cache add Bozo.clown.org 1.2.3.4",
        "dns enable",
    ] {
        rig.set(line);
    }
    settle_all(&mut rig);
    rig
}

/// Frames with messages to or from a port, with their destination.
fn sent(out: &[Caught]) -> Vec<Vec<u8>> {
    let is_it = |c: &&Caught| c.at == "sent" && c.bytes.len() > FRONT && c.bytes[23] == 17;
    out.iter().filter(is_it).map(|c| c.bytes.clone()).collect()
}

fn settle_all(rig: &mut Rig) -> Vec<Vec<u8>> {
    let mut all = sent(&rig.graph.run());
    for _ in 0..3 {
        rig.control(|router| router.run_due());
        all.extend(sent(&rig.graph.run()));
    }
    all
}

fn wait(rig: &mut Rig, seconds: f64) -> Vec<Vec<u8>> {
    rig.control(|router| router.engine.clock().adjust(seconds));
    settle_all(rig)
}

/// A datagram is received; returns the frames sent then.
fn receive(
    rig: &mut Rig,
    on: &str,
    (src, from): (&str, u16),
    to: u16,
    bytes: &[u8],
) -> Vec<Vec<u8>> {
    let dst = if on == "pg0" { "10.0.0.1" } else { "10.0.1.1" };
    let mut packet = datagram(src, dst, to, bytes, false);
    packet[20..22].copy_from_slice(&from.to_be_bytes());
    let rx = rig.interface(on).0;
    let mut all = sent(&rig.graph.send("ip4-input", &[packet], move |p| p.set_rx(rx)));
    all.extend(settle_all(rig));
    all
}

fn question(name: &str, kind: u16) -> Message {
    let question = Question { name: name.to_owned(), kind };
    Message { id: 7, flags: flag::RECURSION_DESIRED, question, answers: vec![], negative_ttl: None }
}

fn ask(rig: &mut Rig, name: &str, kind: u16) -> Vec<Vec<u8>> {
    receive(rig, "pg0", ("10.0.0.2", 1234), 53, &question(name, kind).bytes(512))
}

#[track_caller]
fn only(frames: &[Vec<u8>]) -> (Message, [u8; 4], u16) {
    assert_eq!(frames.len(), 1, "{frames:x?}");
    let frame = &frames[0];
    let dst = frame[30..34].try_into().unwrap();
    let source_port = u16::from_be_bytes([frame[34], frame[35]]);
    (Message::read(&frame[FRONT..]).unwrap(), dst, source_port)
}

fn record(name: &str, ttl: u32, addr: &str) -> Record {
    let addr: IpAddr = addr.parse().unwrap();
    Record { name: name.to_owned(), ttl, data: Data::Addr(addr) }
}

#[test]
fn names_of_the_operator_are_answered_at_once() {
    let mut rig = bench();
    let (answer, to, port) = only(&ask(&mut rig, "bozo.clown.org", kind::A));
    assert_eq!((to, port, answer.id), ([10, 0, 0, 2], 53, 7));
    assert_eq!(answer.flags, 0x8180);
    assert_eq!(answer.answers[0].data, record("", 0, "1.2.3.4").data);
    let (none, ..) = only(&ask(&mut rig, "bozo.clown.org", kind::AAAA));
    assert_eq!((none.answers.len(), none.flags & flag::CODE), (0, 0), "there are no others");
    let configuration = rig.run("show configuration");
    let told = "dns name-server 20.0.0.53\ndns cache add bozo.clown.org 1.2.3.4\n";
    assert!(configuration.contains(told), "{configuration}");
    assert!(configuration.contains("dns enable\n"));
    rig.set("dns cache del bozo.clown.org");
    assert!(!rig.run("show dns cache verbose").contains("bozo"));
}

#[test]
fn only_clients_are_answered_where_there_are_any() {
    let mut rig = bench();
    assert_eq!(ask(&mut rig, "bozo.clown.org", kind::A).len(), 1);
    rig.set("dns clients 10.9.0.1/16");
    assert!(ask(&mut rig, "bozo.clown.org", kind::A).is_empty());
    assert!(ask(&mut rig, "www.example", kind::A).is_empty(), "nobody is asked for a stranger");
    rig.expect(&[
        ("dns4-request", "DNS pkts from hosts that are not clients (dropped)", 2),
        ("dns4-request", "DNS request pkts processed", 1),
    ]);
    rig.set("dns clients 10.0.0.0/24");
    assert_eq!(ask(&mut rig, "bozo.clown.org", kind::A).len(), 1);
    let configuration = rig.run("show configuration");
    assert!(configuration.contains("dns clients 10.9.0.0/16\ndns clients 10.0.0.0/24\n"));
    rig.set("dns clients 10.9.0.0/16 del\ndns clients 10.0.0.0/24 del");
    assert_eq!(ask(&mut rig, "bozo.clown.org", kind::A).len(), 1);
    assert!(rig.run("dns clients 10.9.0.0/16 del").contains("is not a network of clients"));
}

#[test]
fn name_servers_are_asked_and_their_answers_remembered() {
    let mut rig = bench();
    let (asked, to, own) = only(&ask(&mut rig, "www.example", kind::A));
    assert_eq!((to, &asked.question), ([20, 0, 0, 53], &question("www.example", kind::A).question));
    assert!(rig.run("show dns cache verbose").contains("[P] www.example: A"));
    assert!(rig.run("show dns cache name www.example").contains("[P] www.example: A"));
    assert!(!rig.run("show dns cache name other.example verbose 2").contains("[P]"));
    assert!(ask(&mut rig, "www.example", kind::A).is_empty(), "it is asked for already");
    let good = Message {
        flags: flag::RESPONSE,
        answers: vec![record("www.example", 100, "9.9.9.9")],
        ..asked.clone()
    };
    let other = Message { id: asked.id ^ 1, ..good.clone() };
    let elsewhere = Message { question: question("www.other", kind::A).question, ..good.clone() };
    for (from, message) in [
        ((SERVER, 53), &other),
        ((SERVER, 53), &elsewhere),
        (("20.0.0.54", 53), &good),
        ((SERVER, 54), &good),
    ] {
        rig.graph.moved_counters();
        assert!(receive(&mut rig, "pg1", from, own, &message.bytes(512)).is_empty());
        let moved = rig.graph.moved_counters();
        let why = ("dns46_reply", "No unresolved entry for pkt");
        assert!(moved.iter().any(|m| (m.0.as_str(), m.1) == why), "{moved:?}");
    }
    let told = receive(&mut rig, "pg1", (SERVER, 53), own, &good.bytes(512));
    assert_eq!(told.len(), 2, "both who asked");
    let (first, to, _) = only(&told[..1]);
    assert_eq!((to, first.id), ([10, 0, 0, 2], 7));
    assert_eq!(first.answers[0].data, good.answers[0].data);
    wait(&mut rig, 40.0);
    let (again, ..) = only(&ask(&mut rig, "WWW.example", kind::A));
    assert!((55..=60).contains(&again.answers[0].ttl), "{again:?}");
    wait(&mut rig, 61.0);
    assert_eq!(only(&ask(&mut rig, "www.example", kind::A)).1, [20, 0, 0, 53], "it has ended");
}

#[test]
fn silence_is_a_failure_and_no_name_is_remembered() {
    let mut rig = bench();
    ask(&mut rig, "www.example", kind::A);
    let mut all = Vec::new();
    for _ in 0..12 {
        all.extend(wait(&mut rig, 1.0));
    }
    let (questions, answers): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|frame| frame[30..34] == [20, 0, 0, 53]);
    assert_eq!(questions.len(), 2, "three times with the first");
    let (failed, ..) = only(&answers);
    assert_eq!(failed.flags & flag::CODE, u16::from(code::SERVER_FAILURE));
    let (asked, _, own) = only(&ask(&mut rig, "www.example", kind::A));
    let flags = flag::RESPONSE | u16::from(code::NO_NAME);
    let none = Message { flags, ..asked };
    receive(&mut rig, "pg1", (SERVER, 53), own, &none.bytes(512));
    let (none, to, _) = only(&ask(&mut rig, "www.example", kind::A));
    assert_eq!((none.flags & flag::CODE, to), (u16::from(code::NO_NAME), [10, 0, 0, 2]));
}

#[test]
fn malformed_requests_are_counted() {
    let mut rig = bench();
    let header = [0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let many = [&header[..4], &[0, 2], &header[6..]].concat();
    let bad = "DNS pkts with serious discrepancies (dropped)";
    for (head, name, why) in [
        (&header[..], &b"\x03foo\xc0\x0c"[..], bad),
        (&header[..], &b"\xc0\xff"[..], bad),
        (&header[..], &[&b"\x05aaaaa".repeat(50)[..], &[0]].concat()[..], bad),
        (&header[..], &b"\x05aa.aa\0"[..], bad),
        (&header[..9], &b""[..], bad),
        (&many[..], &b"\x03foo\0"[..], "DNS pkts asking too many questions"),
    ] {
        let bytes = [head, name, &[0, 1, 0, 1][..]].concat();
        rig.graph.moved_counters();
        assert!(receive(&mut rig, "pg0", ("10.0.0.2", 1234), 53, &bytes).is_empty());
        let moved = rig.graph.moved_counters();
        assert!(moved.iter().any(|m| (m.0.as_str(), m.1) == ("dns4-request", why)), "{moved:?}");
    }
}

#[test]
fn programs_ask_for_names() {
    let mut rig = bench();
    rig.talk(|talker, router| {
        let mut name = [0; 256];
        name[..14].copy_from_slice(b"bozo.clown.org");
        let reply = talker.call(router, &DnsResolveName { name }).unwrap();
        assert_eq!((reply.ip4_set, reply.ip6_set, reply.ip4_address), (1, 0, [1, 2, 3, 4]));
        name[4] = b' ';
        let odd = talker.call(router, &DnsResolveName { name }).unwrap_err();
        assert_eq!(odd, Retval::INVALID_VALUE);
        let mut server_address = [0; 16];
        server_address[..4].copy_from_slice(&[20, 0, 0, 53]);
        let server = |is_add| DnsNameServerAddDel { is_ip6: 0, is_add, server_address };
        talker.call(router, &server(0)).unwrap();
        assert_eq!(talker.call(router, &server(0)).unwrap_err(), Retval::NO_SUCH_ENTRY);
        let address = server_address;
        let nobody = talker.call(router, &DnsResolveIp { is_ip6: 0, address }).unwrap_err();
        assert_eq!(nobody, Retval::NO_SUCH_ENTRY, "nobody can be asked");
        talker.call(router, &DnsEnableDisable { enable: 0 }).unwrap();
        let off = talker.call(router, &DnsResolveIp { is_ip6: 0, address }).unwrap_err();
        assert_eq!(off, Retval::FEATURE_DISABLED);
        let none = talker.call(router, &DnsEnableDisable { enable: 1 }).unwrap_err();
        assert_eq!(none, Retval::NO_SUCH_ENTRY, "without name servers");
        talker.call(router, &server(1)).unwrap();
        talker.call(router, &DnsEnableDisable { enable: 1 }).unwrap();
    });
}

#[test]
fn the_name_for_an_address_is_written_backwards() {
    let [ip4, ip6]: [IpAddr; 2] = ["10.1.2.3", "2001:db8::9"].map(|text| text.parse().unwrap());
    assert_eq!(message::reverse(ip4), "3.2.1.10.in-addr.arpa");
    let long = message::reverse(ip6);
    assert!(long.starts_with("9.0.0.0.") && long.ends_with(".8.b.d.0.1.0.0.2.ip6.arpa"), "{long}");
}

#[test]
fn who_does_not_see_the_question_guesses_server_port_and_number() {
    let mut rig = bench();
    rig.set("dns name-server 20.0.0.54");
    let (asked, to, own) = only(&ask(&mut rig, "www.example", kind::A));
    assert_eq!(to, [20, 0, 0, 53], "the other was not asked");
    let mut ports = std::collections::HashSet::from([own]);
    let mut numbers = std::collections::HashSet::from([asked.id]);
    for n in 0..40 {
        let (other, _, port) = only(&ask(&mut rig, &format!("n{n}.example"), kind::A));
        ports.insert(port);
        numbers.insert(other.id);
    }
    assert!(ports.len() > 10 && numbers.len() > 35, "{ports:?} {numbers:?}");
    let answers = vec![record("www.example", 100, "6.6.6.6")];
    let good = Message { flags: flag::RESPONSE, answers, ..asked.clone() };
    let another = *ports.iter().find(|port| **port != own).unwrap();
    for (server, port) in [(SERVER, another), ("20.0.0.54", own), ("20.0.0.54", another)] {
        rig.graph.moved_counters();
        let out = receive(&mut rig, "pg1", (server, 53), port, &good.bytes(512));
        assert!(out.is_empty(), "{server} {port}");
        let moved = rig.graph.moved_counters();
        let why = ("dns46_reply", "No unresolved entry for pkt");
        assert!(moved.iter().any(|m| (m.0.as_str(), m.1) == why), "{moved:?}");
    }
    assert!(rig.run("show dns cache verbose").contains("[P] www.example: A"));
    assert_eq!(receive(&mut rig, "pg1", (SERVER, 53), own, &good.bytes(512)).len(), 1);
    rig.set("dns disable");
    rig.set("dns enable");
}

#[test]
fn who_asks_for_names_that_nobody_knows_shuts_nobody_else_out() {
    let mut rig = bench();
    rig.set("ip route add 0.0.0.0/0 via 10.0.0.2 pg0");
    let packet_of = |client: &str, n: usize| {
        let bytes = question(&format!("n{n}.example.org"), kind::A).bytes(512);
        datagram(client, "10.0.0.1", 53, &bytes, false)
    };
    // The names that the server is asked for when these come at once.
    let asked = |rig: &mut Rig, all: &[(&str, usize)]| {
        let packets: Vec<_> = all.iter().map(|(client, n)| packet_of(client, *n)).collect();
        let rx = rig.interface("pg0").0;
        let mut out = Vec::new();
        for some in packets.chunks(256) {
            out.extend(sent(&rig.graph.send("ip4-input", some, move |p| p.set_rx(rx))));
            out.extend(settle_all(rig));
        }
        let to_server = out.iter().filter(|frame| frame[30..34] == [20, 0, 0, 53]);
        let names = to_server.map(|frame| Message::read(&frame[FRONT..]).unwrap().question.name);
        let names: std::collections::HashSet<_> = names.collect();
        let is_in = |n: usize| names.contains(&format!("n{n}.example.org"));
        all.iter().map(|(_, n)| is_in(*n)).collect::<Vec<_>>()
    };
    // One network has half of all, and then no more; others have a little.
    let flood: Vec<_> = (0..600).map(|n| ("10.0.0.2", n)).collect();
    assert_eq!(asked(&mut rig, &flood).iter().filter(|is| **is).count(), 512);
    let others = ["30.0.0.1", "30.0.0.2", "30.0.0.3", "30.0.1.1"];
    let others: Vec<_> = others.into_iter().zip(1000..).collect();
    assert_eq!(asked(&mut rig, &others), [true, true, false, true]);
    // As many of one network wait for the same name as there is room for.
    let popular = |rig: &mut Rig, from: &str, port: u16| {
        receive(rig, "pg0", (from, port), 53, &question("p.org", kind::A).bytes(512));
    };
    (0..70).for_each(|port| popular(&mut rig, "40.0.0.1", 2000 + port));
    rig.graph.moved_counters();
    popular(&mut rig, "40.0.1.1", 9);
    let moved = rig.graph.moved_counters();
    assert!(moved.iter().any(|m| m.1 == "DNS pkts pending upstream name resolution"), "{moved:?}");
}

#[test]
fn a_part_of_an_answer_says_that_it_is_one() {
    let mut rig = bench();
    let (asked, _, port) = only(&ask(&mut rig, "part.org", kind::A));
    let part = Message {
        flags: flag::RESPONSE | flag::TRUNCATED,
        answers: vec![record("part.org", 60, "5.5.5.5")],
        ..asked
    };
    let out = receive(&mut rig, "pg1", (SERVER, 53), port, &part.bytes(512));
    let (answer, ..) = only(&out);
    assert_eq!((answer.flags & flag::TRUNCATED, answer.answers.len()), (flag::TRUNCATED, 1));
    // It is not remembered.
    assert_eq!(only(&ask(&mut rig, "part.org", kind::A)).1, [20, 0, 0, 53]);
}
