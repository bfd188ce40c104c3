//! MAP-E and MAP-T with customers made of scapy, which builds and checks packets in its own way.

use std::fs;

use tests::{TwoHosts, eventually, is_root, skip, unique};

/// The script, and a Python that may have scapy: the distribution's.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/outside/mapping.py");
const PYTHON: &str = "/usr/bin/python3";

fn has_scapy() -> bool {
    let asked = std::process::Command::new(PYTHON).args(["-c", "import scapy"]).output();
    let has = asked.is_ok_and(|done| done.status.success());
    if !has {
        skip("scapy is not installed");
    }
    has
}

/// Makes a host talk to customers behind a border relay, by a kind of MAP.
fn talk(kind: &str, relay: &str, word: &str) {
    if !is_root() || !has_scapy() {
        return;
    }
    let hosts = TwoHosts::new();
    for line in [
        format!(
            "map add domain ip4-pfx 192.0.2.0/24 ip6-pfx 2001:db8:ce00::/40 ip6-src {relay} \
             ea-bits-len 16 psid-offset 6 psid-len 8"
        ),
        format!("map interface host-left {word}"),
        format!("map interface host-right {word}"),
        "ip route add 2001:db8:ce00::/40 via 2001:db8:2::2 host-right".into(),
    ] {
        hosts.router.tell(&line);
    }
    let faults = std::env::temp_dir().join(unique());
    let words = format!("{PYTHON} {SCRIPT} serve {kind} eth0 {}", faults.display());
    let customers = hosts.right.start(&words);
    let ready = faults.with_extension("ready");
    assert!(eventually(|| ready.exists()), "the customers are not there");
    let text = hosts.left.attempt(&format!("{PYTHON} {SCRIPT} ask 192.0.2")).1;
    drop(customers);
    let found = fs::read_to_string(&faults).unwrap();
    let errors = hosts.router.tell("show errors");
    for path in [faults, ready] {
        fs::remove_file(path).unwrap();
    }
    assert_eq!(found, "", "{text}");
    assert!(text.contains("40 of 40 talks"), "{text}{errors}");
}

#[test]
fn customers_made_of_scapy_are_reached_in_tunnels_of_map_e() {
    talk("e", "2001:db8:ffff::1/128", "");
}

#[test]
fn customers_made_of_scapy_are_reached_by_translation_of_map_t() {
    talk("t", "2001:db8:ffff::/64", "map-t");
}
