use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use super::*;
use crate::stats::gauges::{Gauges, Published};
use crate::stats::{Columns, RingSize, Segment};

const BY_INTERFACE: Columns = Columns::growing("interface", 100);
const BY_COUNTER: Columns = Columns::growing("counter", 100);

/// A segment with a bit of everything.
fn segment() -> Segment {
    let mut s = Segment::new(2, None).unwrap();
    s.names("/if/names", 100).unwrap();
    let rx = s.combined("/if/rx", BY_INTERFACE).unwrap();
    s.simple("/if/rx-no-buf", BY_INTERFACE).unwrap();
    s.simple("/if/ip4", BY_INTERFACE).unwrap();
    let hairpins = s.simple("/nat44-ed/hairpinning", BY_INTERFACE).unwrap();
    hairpins.row(1)[2].add(6);
    s.simple("/nat44-ed/total-sessions", Columns::fixed(1)).unwrap().row(1)[0].set(40);
    s.simple("/nat44-ei/user-limit-reached", Columns::fixed(1)).unwrap().row(0)[0].add(2);
    s.grow(BY_INTERFACE, 3).unwrap();
    for (i, name) in ["local0", "deleted", "odd\\na\"me"].iter().enumerate() {
        s.set_name("/if/names", i, name).unwrap();
    }
    rx.row(1)[2].add(3, 180);
    let errors = s.simple("/node/errors", BY_COUNTER).unwrap();
    s.grow(BY_COUNTER, 2).unwrap();
    s.symlink("/err/ip4-input/bad length", "/node/errors", 1).unwrap();
    s.symlink("/err/pg0/1-tx/down", "/node/errors", 0).unwrap();
    s.grow(BY_COUNTER, 3).unwrap();
    s.symlink("/err/llc-input/unknown ssap/dsap", "/node/errors", 2).unwrap();
    errors.row(0)[1].add(4);
    errors.row(1)[0].add(7);
    errors.row(0)[2].add(1);
    s.combined("/net/route/to", Columns::fixed(1000)).unwrap().row(0)[700].add(1, 60);
    let used = s.gauge("/buffer-pools/default-numa-0/used").unwrap();
    s.set(used, 17);
    s.row("/mem/main heap", 7).unwrap().row(0)[1].set(4096);
    s.row("/sys/loops_per_worker", 2).unwrap().row(0)[1].set(8);
    s.histogram("/lag", 3, 2).unwrap().count(0, 20);
    s.ring("/ring", RingSize { entry: 8, ring: 4, threads: 1 }, (0, "")).unwrap();
    s
}

fn source(s: &Segment) -> Source {
    let state = Published::default();
    let mut gauges = Gauges::default();
    gauges.gauge("interface_link_up", "Whether the link is up.", &[("interface", "a\"b")], 1.0);
    gauges.counter("sessions_refused", "Sessions refused.", &[("table", "nat44-ed")], 0.5);
    gauges.by_interface = s.vectors_by(BY_INTERFACE).map(str::to_owned).collect();
    state.publish(gauges);
    Source::new(s.readable().unwrap(), state).unwrap()
}

#[test]
fn numbers_have_the_names_and_labels_of_the_table() {
    let text = source(&segment()).render(Format::Prometheus).unwrap();
    for line in [
        "# TYPE ferrovia_interface_rx_packets_total counter",
        "ferrovia_interface_rx_packets_total{interface=\"odd\\\\na\\\"me\",thread=\"1\"} 3",
        "ferrovia_interface_rx_bytes_total{interface=\"odd\\\\na\\\"me\",thread=\"1\"} 180",
        "ferrovia_interface_rx_no_buf_total{interface=\"odd\\\\na\\\"me\",thread=\"0\"} 0",
        "ferrovia_node_errors_total{node=\"ip4-input\",counter=\"bad length\",thread=\"0\"} 4",
        "ferrovia_node_errors_total{node=\"pg0/1-tx\",counter=\"down\",thread=\"1\"} 7",
        "ferrovia_node_errors_total{node=\"llc-input\",counter=\"unknown ssap/dsap\",thread=\"0\"} 1",
        "ferrovia_nat44_ed_hairpinning_total{interface=\"odd\\\\na\\\"me\",thread=\"1\"} 6",
        "# TYPE ferrovia_nat44_ed_sessions gauge",
        "ferrovia_nat44_ed_sessions{thread=\"1\"} 40",
        "ferrovia_nat44_ei_user_limit_reached_total{thread=\"0\"} 2",
        "# TYPE ferrovia_interface_link_up gauge",
        "ferrovia_interface_link_up{interface=\"a\\\"b\"} 1",
        "ferrovia_sessions_refused_total{table=\"nat44-ed\"} 0.5",
        "ferrovia_net_route_to_packets_total{index=\"700\",thread=\"0\"} 1",
        "# TYPE ferrovia_buffers gauge",
        "ferrovia_buffers{pool=\"default-numa-0\",state=\"used\"} 17",
        "ferrovia_memory_bytes{region=\"main heap\",kind=\"used\"} 4096",
        "ferrovia_loops_per_worker{thread=\"1\"} 8",
        "ferrovia_lag_total{from=\"16\",thread=\"0\"} 1",
        "ferrovia_heartbeat_total 0",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is missing in\n{text}");
    }
    assert!(!text.contains("deleted") && !text.contains("ring"));
    for zero in ["thread=\"1\"} 0", "ferrovia_interface_ip4", "total_sessions", "total_total"] {
        assert!(!text.contains(zero), "{zero} in\n{text}");
    }
    let routes = text.lines().filter(|l| l.starts_with("ferrovia_net_route_to_packets"));
    assert_eq!(routes.count(), 1, "only what counted");
}

/// Checks what the formats demand: families are whole, each after its HELP and TYPE, no sample
/// comes twice, names and labels are well formed.
fn check(text: &str, format: Format) {
    let mut types = BTreeMap::new();
    let (mut seen, mut current, mut done) = (BTreeSet::new(), String::new(), BTreeSet::new());
    let is_name = |n: &str| {
        let rest = |c: char| c.is_ascii_alphanumeric() || c == '_';
        n.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && n.chars().all(rest)
    };
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').unwrap();
            assert!(is_name(name) && !text.is_empty(), "{line}");
            assert!(done.insert(name.to_owned()), "{name} comes twice");
            current = name.to_owned();
        } else if let Some(of) = line.strip_prefix("# TYPE ") {
            let (name, kind) = of.split_once(' ').unwrap();
            assert_eq!(name, current, "TYPE follows HELP");
            types.insert(name.to_owned(), kind.to_owned());
        } else if line == "# EOF" {
            assert!(format == Format::OpenMetrics && text.ends_with("# EOF\n"));
        } else {
            let (sample, value) = line.rsplit_once(' ').unwrap();
            value.parse::<f64>().unwrap();
            assert!(seen.insert(sample.to_owned()), "{sample} comes twice");
            let (name, labels) = sample.split_once('{').unwrap_or((sample, "}"));
            let family = match (format, types[&current].as_str()) {
                (Format::OpenMetrics, "counter") => format!("{current}_total"),
                _ => current.clone(),
            };
            assert_eq!(name, family, "{line}");
            let mut rest = labels.strip_suffix('}').unwrap();
            while !rest.is_empty() {
                let (label, value) = rest.split_once("=\"").unwrap();
                assert!(is_name(label), "{line}");
                let mut escape = false;
                let end = value.find(|c| {
                    let is_end = c == '"' && !escape;
                    escape = c == '\\' && !escape;
                    is_end
                });
                rest = &value[end.unwrap() + 1..];
                rest = rest.strip_prefix(',').unwrap_or(rest);
            }
        }
    }
    assert_eq!(types.len(), done.len(), "each HELP has its TYPE");
}

#[test]
fn both_formats_are_well_formed() {
    for format in [Format::Prometheus, Format::OpenMetrics] {
        check(&source(&segment()).render(format).unwrap(), format);
    }
}

#[test]
fn who_connects_gets_the_page() {
    let s = segment();
    let address = start((Ipv4Addr::LOCALHOST, 0).into(), source(&s)).unwrap();
    let _silent = TcpStream::connect(address).unwrap();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /met").unwrap();
        stream.write_all(b"rics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        assert!(page.contains("ferrovia_buffers{"));
    }
}
