//! The statistics as other programs read them, from a running daemon.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use control::stats::reader::{Reader, Sample};
use control::stats::server::fetch;
use tests::{Daemon, eventually, has, papi};

const PAPI: &str = r#"
import sys
from vpp_papi.vpp_stats import VPPStats
stats = VPPStats(sys.argv[1])
stats.connect()
assert stats["/if/names"][:3] == ["local0", "pg0", "pg1"], stats["/if/names"]
assert stats["/if/rx"][:, 1].sum_packets() == 5
assert stats["/if/rx"][0][1]["bytes"] == stats["/interfaces/pg0/rx"].octets()[0] == 500
assert stats["/if/tx"][:, 2].sum_packets() >= 5
assert stats["/sys/heartbeat"] >= 1 and stats["/sys/boottime"] > 1500000000
assert stats["/sys/node/names"] and stats["/nodes/ip4-lookup/vectors"][0] >= 0
total, used, free = stats["/mem/stat segment"][0][:3]
assert total == used + free
assert "/err/ip4-input/bad_length" not in stats.set_errors()
assert stats.get_err_counter("/err/ip4-input/bad_length") == 0
assert len(stats.ls(["^/interfaces/pg0/"])) == 17
stats.dump(stats.ls("^/"))
stats.disconnect()
print("read")
"#;

fn reader(daemon: &Daemon) -> Reader {
    Reader::new(fetch(&daemon.folder().join("stats.sock")).unwrap()).unwrap()
}

fn send_five(daemon: &Daemon) {
    daemon.tell(
        "packet-generator new { name s limit 5 size 100-100 interface pg0 node ethernet-input \
         data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa UDP: 10.0.0.2 -> 16.0.0.1 \
         UDP: 1 -> 2 incrementing 30 } }",
    );
    daemon.generate();
}

#[test]
fn counters_are_read_without_asking() {
    let mut daemon = Daemon::start(crate::GENERATORS);
    let reader = reader(&daemon);
    send_five(&daemon);
    let sum = |name: &str, column| reader.read(name).unwrap().unwrap().sum(column);
    assert_eq!(sum("/if/rx", 1), 5);
    assert!(sum("/if/tx", 2) >= 5, "these, and what the router says by itself");
    assert_eq!(sum("/interfaces/pg0/ip4", 0), 5);
    let counted = |sample| match sample {
        Some(Sample::Combined(rows)) => rows.iter().flatten().map(|v| v.packets).sum(),
        _ => 0,
    };
    assert!(counted(reader.read("/net/route/to").unwrap()) >= 5);
    daemon.tell("clear interfaces");
    assert_eq!((sum("/if/rx", 1), sum("/interfaces/pg0/ip4", 0)), (0, 0));
    assert!(sum("/sys/last_stats_clear", 0) >= sum("/sys/boottime", 0));

    let names = reader.names().unwrap();
    daemon.tell("set clock adjust 1000");
    let beats = sum("/sys/heartbeat", 0);
    assert!(eventually(|| sum("/sys/heartbeat", 0) <= beats + 1));
    for _ in 0..100 {
        daemon.tell("create loopback interface");
        assert!(reader.names().unwrap().contains_key("/interfaces/loop0/rx-multicast"));
        daemon.tell("delete loopback interface intfc loop0");
    }
    let now: BTreeSet<_> = reader.names().unwrap().into_keys().collect();
    assert_eq!(now, names.into_keys().collect(), "what came is gone");

    let socket = daemon.folder().join("stats.sock");
    assert!(socket.exists());
    assert!(daemon.stop().is_some_and(|status| status.success()));
    assert!(!socket.exists(), "clients see by it that the router is gone");
}

#[test]
fn the_clients_own_library_reads_them() {
    let Some(python) = papi() else { return };
    let more = "statseg { per-node-counters on update-interval 0.1 }";
    let daemon = Daemon::start_with(more, crate::GENERATORS);
    send_five(&daemon);
    let reader = reader(&daemon);
    let beats = || reader.read("/sys/heartbeat").unwrap().unwrap().sum(0);
    let before = beats();
    assert!(eventually(|| beats() > before + 1), "what nodes did is written now");
    let script = daemon.folder().join("stats.py");
    fs::write(&script, PAPI).unwrap();
    let socket = daemon.folder().join("stats.sock");
    let said = Command::new(python).arg(script).arg(socket).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&said.stdout), "read\n", "{}", text(&said.stderr));
}

#[test]
fn prometheus_gets_them_as_text() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let daemon = Daemon::start_with(&format!("statseg {{ prometheus {port} }}"), crate::GENERATORS);
    send_five(&daemon);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    let (head, text) = page.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let line = "ferrovia_interface_rx_packets_total{interface=\"pg0\",thread=\"0\"} 5";
    assert!(text.lines().any(|l| l == line), "{text}");
    are_in_order(&daemon, text);
}

/// Checks metrics with Prometheus's own tool, where it is installed.
#[track_caller]
pub fn are_in_order(daemon: &Daemon, metrics: &str) {
    if !has("promtool") {
        return;
    }
    let file = daemon.folder().join("metrics");
    fs::write(&file, metrics).unwrap();
    let metrics = fs::File::open(&file).unwrap();
    let said = Command::new("promtool").args(["check", "metrics"]).stdin(metrics).output();
    let said = said.unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

/// Names of metrics in an expression of Prometheus.
fn metrics_in(expression: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = expression.split(|c| !word(c)).filter(|word| word.starts_with("ferrovia_"));
    words.map(str::to_owned).collect()
}

#[test]
fn the_dashboard_and_the_alerts_name_metrics_that_there_are() {
    let packaging = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging");
    let dashboard = fs::read_to_string(format!("{packaging}/grafana/ferrovia.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    let mut named = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()) && panel["gridPos"]["w"].is_u64());
        assert!(matches!(panel["type"].as_str(), Some("timeseries" | "stat")), "{panel}");
        for target in panel["targets"].as_array().unwrap() {
            named.extend(metrics_in(target["expr"].as_str().unwrap()));
        }
    }
    let rules = fs::read_to_string(format!("{packaging}/prometheus/ferrovia.rules.yml")).unwrap();
    named.extend(metrics_in(&rules));
    assert!(named.len() > 30, "{named:?}");

    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let stanza = format!("statseg {{ prometheus {port} per-node-counters on update-interval 1 }}");
    let daemon = Daemon::start_with(&stanza, crate::GENERATORS);
    for line in [
        "bfd udp session add interface pg1 local-addr 10.0.1.1 peer-addr 10.0.1.2 \
         desired-min-tx 400000 required-min-rx 400000 detect-mult 3",
        "vrrp vr add pg0 vr_id 7 priority 200 10.0.0.7",
        "nat44 plugin enable sessions 1000",
        "nat44 add interface address pg1",
        "set interface nat44 in pg0 out pg1",
    ] {
        daemon.ask(line);
    }
    daemon.tell(
        "packet-generator new { name dropped limit 5 size 100-100 interface pg0 \
         node ethernet-input data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa \
         UDP: 10.0.0.2 -> 99.0.0.1 UDP: 1 -> 2 incrementing 30 } }",
    );
    send_five(&daemon);
    // Of these there are none: the speed of a generator is not known.
    let absent = ["ferrovia_interface_speed_bits_per_second"];
    let mut missing = Vec::new();
    let is_whole = eventually(|| {
        let page = scrape(port);
        let has = |name: &String| {
            let rest = page.lines().filter_map(|line| line.strip_prefix(name.as_str()));
            rest.into_iter().any(|rest| rest.starts_with([' ', '{']))
        };
        missing = named.iter().filter(|name| !has(name)).cloned().collect();
        missing.retain(|name| !absent.contains(&name.as_str()));
        missing.is_empty()
    });
    assert!(is_whole, "{missing:?} of\n{}", scrape(port));
    let page = scrape(port);
    are_in_order(&daemon, &page);
    assert!(page.len() < 60_000, "{} bytes for a router with three interfaces", page.len());
    if has("promtool") {
        let folder = format!("{packaging}/prometheus");
        for words in
            [["check", "rules", "ferrovia.rules.yml"], ["test", "rules", "ferrovia.test.yml"]]
        {
            let said = Command::new("promtool").args(words).current_dir(&folder).output().unwrap();
            let text = [said.stdout, said.stderr].concat();
            assert!(said.status.success(), "{}", String::from_utf8_lossy(&text));
        }
    }
}

fn scrape(port: u16) -> String {
    let mut page = String::new();
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return page };
    let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let _ = stream.read_to_string(&mut page);
    page.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
}
