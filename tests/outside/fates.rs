//! The daemon about packets and itself: `explain`, `show drops`, `show health`.

use tests::{Daemon, eventually};

use crate::GENERATORS;
use crate::workers::two_workers;

const PACKET: &str = "IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa UDP: 10.0.0.2 -> 16.9.0.1 \
    UDP: 1234 -> 2345 incrementing 22";

/// A daemon with workers and a route that discards.
fn daemon() -> Option<Daemon> {
    let daemon = Daemon::start_with(&two_workers()?, GENERATORS);
    daemon.tell("ip route add 16.9.0.0/24 drop");
    Some(daemon)
}

#[test]
fn a_packet_is_explained_without_being_counted() {
    let Some(daemon) = daemon() else { return };
    // The router reports its own groups meanwhile: only what IPv4 packets would raise.
    let counts = || {
        let shown = ["show errors", "show interface", "show runtime"].map(|show| daemon.tell(show));
        let lines = shown.iter().flat_map(|text| text.lines());
        let mine = ["rx packets", "drops", "ip4", "blackholed"];
        let mine = lines.filter(|line| mine.iter().any(|word| line.contains(word)));
        mine.map(str::to_owned).collect::<Vec<_>>()
    };
    let before = counts();
    let text = daemon.tell(&format!("explain pg0 {PACKET}"));
    assert!(text.contains("16.9.0.1 in table 0: 16.9.0.0/24 matches (CLI)"), "{text}");
    let end = "  => dropped: blackholed packets (counted at null-node)\n";
    assert!(text.ends_with(end), "{text}");
    assert_eq!(counts(), before);

    let json = daemon.fvctl(&["-j", &format!("explain pg0 data {{ {PACKET} }}")]);
    let story: serde_json::Value = serde_json::from_str(&json.text).unwrap();
    assert_eq!(story["packets"][0]["fate"]["kind"], "dropped", "{}", json.text);
}

#[test]
fn drops_are_found_and_make_scripts_stop() {
    let Some(daemon) = daemon() else { return };
    daemon.tell(&format!(
        "packet-generator new {{ name s limit 7 interface pg0 node ethernet-input \
         data {{ {PACKET} }} }}"
    ));
    daemon.generate();
    let has_sample = || daemon.tell("show drops verbose").contains("UDP: 10.0.0.2 -> 16.9.0.1");
    assert!(eventually(has_sample), "{}", daemon.tell("show drops verbose"));
    let drops = daemon.tell("show drops");
    assert!(drops.contains("null-node") && drops.contains("7 on pg0"), "{drops}");
    assert!(daemon.tell("show health").contains("drops packets, some of them from pg0"));
    assert!(daemon.fvctl(&["show", "health", "strict"]).is_ok, "a warning is no error");

    daemon.tell("ip route add 16.8.0.0/24 via 10.0.1.77 pg1");
    let strict = daemon.fvctl(&["show", "health", "strict"]);
    assert!(!strict.is_ok, "{strict:?}");
    assert!(strict.text.contains("10.0.1.77 on pg1: does not answer"), "{strict:?}");
    daemon.tell("clear drops");
    assert!(!daemon.tell("show drops").contains("null-node"));
}
