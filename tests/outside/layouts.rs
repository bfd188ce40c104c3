//! Layouts that scripts read: they split lines on blanks and look for fixed words.

use tests::Daemon;

use crate::GENERATORS;

/// A router that has routed 100 packets and dropped 7.
fn used() -> Daemon {
    let daemon = Daemon::start(GENERATORS);
    daemon.tell("clear runtime");
    daemon.tell("trace add pg-input 2");
    for (name, count, dst) in [("good", 100, "16.0.0.1"), ("bad", 7, "99.0.0.1")] {
        daemon.tell(&format!(
            "packet-generator new {{ name {name} limit {count} size 64-64 interface pg0 \
             node ethernet-input data {{ IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa \
             UDP: 10.0.0.2 -> {dst} UDP: 1234 -> 2345 incrementing 22 }} }}"
        ));
    }
    daemon.generate();
    daemon
}

/// Number after `label` in `text`.
fn number_after(text: &str, label: &str) -> Option<f64> {
    let rest = text.split(label).nth(1)?.trim_start();
    rest.split([' ', ',', '\n']).next()?.parse().ok()
}

/// Calls, vectors, suspends, clocks and vectors per call of a node: the last five words of its row.
fn runtime_row(text: &str, node: &str) -> Option<[f64; 5]> {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(node))?;
    let words: Vec<_> = line.split_whitespace().collect();
    let last: Vec<f64> = words[words.len() - 5..].iter().flat_map(|word| word.parse()).collect();
    last.try_into().ok()
}

#[test]
fn runtime_can_be_parsed() {
    let daemon = used();
    let text = daemon.tell("show runtime");
    assert!(text.starts_with("Time "), "{text}");
    for label in ["Time ", "vector rates in ", ", out ", ", drop ", ", punt ", "loops/sec "] {
        assert!(number_after(&text, label).is_some(), "{label}: {text}");
    }
    for (node, vectors) in [("pg-input", 107.0), ("ip4-lookup", 107.0), ("ip4-rewrite", 100.0)] {
        let row = runtime_row(&text, node).unwrap_or_else(|| panic!("{node}: {text}"));
        assert_eq!(row[1], vectors, "{node}: {text}");
        assert!(row[0] > 0.0 && row[3] > 0.0, "{node}: {text}");
        assert!((row[4] - row[1] / row[0]).abs() < 0.01, "{node}: {text}");
    }
}

#[test]
fn errors_can_be_parsed() {
    let text = used().tell("show errors");
    let mut lines = text.lines();
    let words: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(words, ["Count", "Node", "Reason", "Severity"]);
    let mut dropped = 0;
    for line in lines {
        let words: Vec<_> = line.split_whitespace().collect();
        let count: u64 = words[0].parse().unwrap_or_else(|_| panic!("{line}"));
        let severity = words[words.len() - 1];
        assert!(["error", "warn", "info"].contains(&severity), "{line}");
        dropped += if severity == "error" { count } else { 0 };
    }
    assert_eq!(dropped, 7, "{text}");
}

#[test]
fn interfaces_can_be_parsed() {
    let daemon = used();
    let text = daemon.tell("show interface");
    let mut interface = "";
    let mut seen = Vec::new();
    for line in text.lines().skip(1) {
        let words: Vec<_> = line.split_whitespace().collect();
        let counter = match line.starts_with(' ') {
            true => words.as_slice(),
            false => {
                interface = words[0];
                assert!(words[1].parse::<u32>().is_ok(), "{line}");
                assert!(["up", "down"].contains(&words[2]), "{line}");
                assert_eq!(words[3].split('/').count(), 4, "{line}");
                &words[4..]
            }
        };
        if let [name @ .., value] = counter {
            let value: u64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
            seen.push((interface.to_owned(), name.join(" "), value));
        }
    }
    for (interface, name, value) in [
        ("pg0", "rx packets", 107),
        ("pg0", "rx bytes", 107 * 64),
        ("pg0", "ip4", 107),
        ("pg0", "drops", 7),
        ("pg1", "tx packets", 100),
        ("pg1", "tx bytes", 100 * 64),
    ] {
        // The router may have said something of its own.
        let own = if name.starts_with("tx") { value / 10 } else { 0 };
        let is_so = seen.iter().any(|(i, n, seen)| {
            (i.as_str(), n.as_str()) == (interface, name) && (value..=value + own).contains(seen)
        });
        assert!(is_so, "{name}: {text}");
    }
}

#[test]
fn a_trace_names_the_nodes_in_order() {
    let text = used().tell("show trace max 1");
    assert!(text.starts_with("------------------- Start of thread 0 vpp_main"), "{text}");
    let nodes: Vec<_> = text
        .lines()
        .filter(|line| line.as_bytes().first().is_some_and(u8::is_ascii_digit))
        .filter_map(|line| {
            let (time, node) = line.split_once(": ")?;
            assert_eq!(time.len(), "00:00:00:000000".len(), "{line}");
            Some(node)
        })
        .collect();
    let expected = ["pg-input", "ethernet-input", "ip4-input", "ip4-lookup", "ip4-rewrite"];
    assert_eq!(nodes, [&expected[..], &["pg1-output", "pg1-tx"]].concat(), "{text}");
    assert!(text.contains("  UDP: 10.0.0.2 -> 16.0.0.1"), "{text}");
}

#[test]
fn the_clock_is_first_in_show_clock() {
    let daemon = Daemon::start(&[]);
    let now = |text: &str| number_after(text, "Time now ").unwrap_or_else(|| panic!("{text}"));
    let before = now(&daemon.tell("show clock"));
    daemon.tell("set clock adjust 1000");
    assert!(now(&daemon.tell("show clock")) >= before + 1000.0);
}

#[test]
fn shows_are_json_as_well() {
    let daemon = used();
    for command in [
        "show runtime",
        "show errors",
        "show interface",
        "show trace",
        "show threads",
        "show ip fib",
        "show ip neighbors",
    ] {
        let answer = daemon.fvctl(&["-j", command]);
        assert!(answer.is_ok, "{command}: {answer:?}");
        let value = serde_json::from_str::<serde_json::Value>(&answer.text);
        assert!(value.is_ok_and(|v| v.is_array() || v.is_object()), "{command}: {answer:?}");
    }
}
