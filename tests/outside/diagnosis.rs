//! `fvctl top --once` and `fvctl support`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use tests::Daemon;

use super::GENERATORS;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn rates_are_printed_once() {
    let daemon = Daemon::start(GENERATORS);
    daemon.tell(
        "packet-generator new { name s0 limit 0 rate 500 size 64-64 interface pg0 \
         node ethernet-input data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa \
         UDP: 10.0.0.2 -> 10.0.1.2 checksum 1 UDP: 1 -> 2 incrementing 22 } }",
    );
    daemon.tell("packet-generator enable");
    let answer = daemon.fvctl(&["top", "--once", "-d", "1"]);
    assert!(answer.is_ok && answer.text.contains("Interfaces\n  interface"), "{answer:?}");
    let answer = daemon.fvctl(&["-j", "top", "-d", "1"]);
    let all = json(&answer.text);
    let row = |table: &str, name: &str| -> Value {
        let rows = all[table].as_array().expect("rows");
        let is_it = |row: &&Value| row.as_object().expect("a row").values().any(|v| v == name);
        rows.iter().find(is_it).unwrap_or_else(|| panic!("no {name}: {all}")).clone()
    };
    let is_about = |value: &Value| (400.0..600.0).contains(&value.as_f64().expect("a number"));
    assert!(is_about(&row("interfaces", "pg0")["rx_packets_per_s"]), "{all}");
    assert!(is_about(&row("nodes", "ip4-input")["packets_per_s"]), "{all}");
    assert!(is_about(&row("drops", "bad ip4 checksum")["count_per_s"]), "{all}");
    let thread = &all["threads"][0];
    assert!(is_about(&thread["in_packets_per_s"]), "{all}");
    let load = thread["load"].as_f64().expect("a share");
    assert!(load > 0.0 && load < 1.0, "{all}");
}

#[test]
fn what_a_helper_needs_is_one_file_without_keys() {
    let daemon = Daemon::start(GENERATORS);
    daemon.tell("ipsec sa add 1 spi 1 esp crypto-alg aes-128-cbc crypto-key 00112233445566778899aabbccddeeff");
    let file = daemon.folder().join("support.txt");
    let words = ["support", file.to_str().expect("a path")];
    let answer = daemon.fvctl(&words);
    assert!(answer.is_ok, "{answer:?}");
    let text = fs::read_to_string(&file).expect("a file");
    for part in
        ["==== show health verbose", "ip route add 16.0.0.0/8", "==== fvctl doctor", "kept: "]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("failed: ") && !text.contains("00112233"), "{text}");
    assert!(text.contains("crypto-key ***"), "{text}");
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    assert!(!daemon.fvctl(&words).is_ok, "no file is written over");
}
