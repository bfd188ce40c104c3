//! Translators, policers, sessions and reassembly: an explanation says what they would do, and
//! does not change their state.

use net::testing::whole::Bench;

use super::{lab, packet};

/// A set-up, a packet on an interface, changes that an explanation names, and what shows the state.
struct Case<'c> {
    lines: &'c str,
    on: &'c str,
    packet: &'c str,
    says: &'c [&'c str],
    state: &'c [&'c str],
}

/// Output of commands, without times.
fn shown(bench: &mut Bench, lines: &[&str]) -> Vec<String> {
    let is_time =
        |word: &str| word.contains('.') && word.trim_end_matches('s').parse::<f64>().is_ok();
    let without = |text: String| {
        text.split_whitespace().filter(|word| !is_time(word)).collect::<Vec<_>>().join(" ")
    };
    lines.iter().map(|line| without(bench.run(line))).collect()
}

fn explain(bench: &mut Bench, on: &str, packet: &str) -> String {
    bench.run(&format!("explain {on} {packet}"))
}

/// Sends a packet that an interface receives.
fn send(bench: &mut Bench, on: &str, words: &str) -> Vec<Vec<u8>> {
    let (rx, bytes) = (bench.interface(on), packet(words));
    let entrance = if bytes[0] >> 4 == 4 { "ip4-input" } else { "ip6-input" };
    let caught = bench.graph.send(entrance, &[bytes], move |p| p.set_rx(rx.0));
    caught.into_iter().filter(|c| c.at == "sent").map(|c| c.bytes).collect()
}

const OUT4: &str = "UDP: 10.0.0.2 -> 10.0.1.2 UDP: 1234 -> 2345 incrementing 30";
/// It takes more than ten seconds until a slow policer lets a second one pass.
const LONG4: &str = "UDP: 10.0.0.2 -> 10.0.1.2 UDP: 1234 -> 2345 incrementing 1400";
const OUT6: &str = "UDP: 2001:db8::2 -> 64:ff9b::10.0.1.2 UDP: 1234 -> 2345 incrementing 30";

const TRANSLATORS: &[Case<'static>] = &[
    Case {
        lines: "nat44 plugin enable sessions 1000\nnat44 add address 192.0.2.1\n\
            set interface nat44 in pg0 out pg1",
        on: "pg0",
        packet: OUT4,
        says: &["changed: ip4 src 10.0.0.2 to 192.0.2.1", "=> sent on pg1"],
        state: &["show nat44 sessions", "show nat44 summary", "show session tables"],
    },
    Case {
        lines: "nat44 plugin enable sessions 1000\nnat44 add address 192.0.2.1\n\
            set interface nat44 out pg1 output-feature",
        on: "pg0",
        packet: OUT4,
        says: &["changed: ip4 src 10.0.0.2 to 192.0.2.1", "=> sent on pg1"],
        state: &["show nat44 sessions", "show nat44 summary", "show session tables"],
    },
    Case {
        lines: "nat44 ei plugin enable\nnat44 ei add address 192.0.2.1\n\
            set interface nat44 ei in pg0 out pg1",
        on: "pg0",
        packet: OUT4,
        says: &["changed: ip4 src 10.0.0.2 to 192.0.2.1", "=> sent on pg1"],
        state: &["show nat44 ei sessions detail", "show session tables"],
    },
    Case {
        lines: "nat44 ei plugin enable\nnat44 ei add address 192.0.2.1\n\
            set interface nat44 ei out pg1 output-feature",
        on: "pg0",
        packet: OUT4,
        says: &["changed: ip4 src 10.0.0.2 to 192.0.2.1", "=> sent on pg1"],
        state: &["show nat44 ei sessions detail", "show session tables"],
    },
    Case {
        lines: "det44 plugin enable\ndet44 add in 10.0.0.0/24 out 192.0.2.1/32\n\
            set interface det44 inside pg0 outside pg1",
        on: "pg0",
        packet: OUT4,
        says: &["changed: ip4 src 10.0.0.2 to 192.0.2.1", "=> sent on pg1"],
        state: &["show det44 sessions", "show session tables"],
    },
    Case {
        lines: "nat64 plugin enable\nnat64 add pool address 192.0.2.1\n\
            nat64 add prefix 64:ff9b::/96\nset interface nat64 in pg0 out pg1",
        on: "pg0",
        packet: OUT6,
        says: &["src 192.0.2.1 dst 10.0.1.2", "=> sent on pg1"],
        state: &["show nat64 session table all", "show nat64 bib all", "show session tables"],
    },
    Case {
        lines: "set cnat snat-policy addr 192.0.2.1\nset cnat snat-policy none\n\
            cnat translation add proto UDP vip 192.0.2.9 80 to 10.0.0.9 1 -> 10.0.1.2 2345",
        on: "pg0",
        packet: "UDP: 10.0.0.2 -> 192.0.2.9 UDP: 1234 -> 80 incrementing 30",
        says: &["changed: ip4 dst 192.0.2.9 to 10.0.1.2", "=> sent on pg1"],
        state: &["show cnat session verbose", "show session tables"],
    },
];

#[test]
fn translations_are_foretold_and_begin_no_session() {
    for case in TRANSLATORS {
        let mut bench = lab(case.lines);
        let before = shown(&mut bench, case.state);
        for _ in 0..2 {
            let text = explain(&mut bench, case.on, case.packet);
            for says in case.says {
                assert!(text.contains(says), "{}: {says}\n{text}", case.lines);
            }
        }
        assert_eq!(before, shown(&mut bench, case.state), "{}", case.lines);
        assert!(bench.graph.moved_counters().is_empty(), "{}", case.lines);
        // With a session its own translation is said, to the checksum.
        let [first] = &send(&mut bench, case.on, case.packet)[..] else {
            panic!("{}: one packet", case.lines)
        };
        bench.settle();
        bench.graph.moved_counters();
        let before = shown(&mut bench, case.state);
        let text = explain(&mut bench, case.on, case.packet);
        let udp = first.len() - 38;
        let src = u16::from_be_bytes([first[udp], first[udp + 1]]);
        assert!(text.contains(&format!("udp src {src} dst")), "{}: {src}\n{text}", case.lines);
        assert_eq!(before, shown(&mut bench, case.state), "{}", case.lines);
    }
}

#[test]
fn answers_are_foretold_by_the_session_there_is() {
    let mut bench = lab(TRANSLATORS[0].lines);
    let answer =
        |port: u16| format!("UDP: 10.0.1.2 -> 192.0.2.1 UDP: 2345 -> {port} incrementing 30");
    let text = explain(&mut bench, "pg1", &answer(1234));
    assert!(text.contains("=> dropped"), "no session yet\n{text}");
    let sent = send(&mut bench, "pg0", OUT4);
    let udp = sent[0].len() - 38;
    let port = u16::from_be_bytes([sent[0][udp], sent[0][udp + 1]]);
    let text = explain(&mut bench, "pg1", &answer(port));
    assert!(text.contains("changed: ip4 dst 192.0.2.1 to 10.0.0.2"), "{text}");
    assert!(text.contains("=> sent on pg0"), "{text}");
}

#[test]
fn limits_of_sessions_are_foretold() {
    let mut bench = lab("nat44 plugin enable sessions 1\nnat44 add address 192.0.2.1\n\
        set interface nat44 in pg0 out pg1");
    assert_eq!(send(&mut bench, "pg0", OUT4).len(), 1);
    let other = "UDP: 10.0.0.2 -> 10.0.1.2 UDP: 1235 -> 2345 incrementing 30";
    let text = explain(&mut bench, "pg0", other);
    assert!(text.contains("maximum sessions exceeded"), "{text}");
}

#[test]
fn policers_say_what_they_would_do_and_their_buckets_stay_full() {
    let mut bench =
        lab("policer add name p rate kbps cir 1 cb 1500 type 1r2c conform-action transmit \
         exceed-action drop violate-action drop\npolicer input name p pg0");
    let before = bench.run("show policer p");
    for _ in 0..5 {
        let text = explain(&mut bench, "pg0", LONG4);
        assert!(text.contains("policer-input") && text.contains("=> sent on pg1"), "{text}");
    }
    assert_eq!(bench.run("show policer p"), before);
    assert_eq!(send(&mut bench, "pg0", LONG4).len(), 1);
    assert_eq!(send(&mut bench, "pg0", LONG4).len(), 0, "the bucket is empty");
    let text = explain(&mut bench, "pg0", LONG4);
    assert!(text.contains("=> dropped"), "{text}");
}

#[test]
fn access_lists_know_the_sessions_there_are() {
    let mut bench = lab("set acl-plugin acl permit+reflect src 0.0.0.0/0 dst 0.0.0.0/0\n\
         set acl-plugin acl deny src 0.0.0.0/0 dst 0.0.0.0/0\n\
         set acl-plugin interface pg1 output acl 0\nset acl-plugin interface pg1 input acl 1");
    let answer = "UDP: 10.0.1.2 -> 10.0.0.2 UDP: 2345 -> 1234 incrementing 30";
    let text = explain(&mut bench, "pg0", OUT4);
    assert!(text.contains("=> sent on pg1"), "{text}");
    let text = explain(&mut bench, "pg1", answer);
    assert!(text.contains("=> dropped"), "an explanation begins no session\n{text}");
    assert_eq!(send(&mut bench, "pg0", OUT4).len(), 1);
    let text = explain(&mut bench, "pg1", answer);
    assert!(text.contains("=> sent on pg0"), "{text}");
}

#[test]
fn fragments_end_an_explanation_and_whole_packets_pass() {
    let mut bench = lab("set interface reassembly pg0 on");
    let text = explain(&mut bench, "pg0", OUT4);
    assert!(text.contains("=> sent on pg1"), "{text}");
    let fragment =
        "UDP: 10.0.0.2 -> 10.0.1.2 fragment offset 8192 UDP: 1234 -> 2345 incrementing 24";
    let text = explain(&mut bench, "pg0", fragment);
    assert!(text.contains("it waits here for other fragments of its packet"), "{text}");
    let mut bench = lab(TRANSLATORS[0].lines);
    let text = explain(&mut bench, "pg0", fragment);
    assert!(text.contains("src 10.0.0.2 to 192.0.2.1"), "the first fragment goes on\n{text}");
}
