//! Metric families of Prometheus: names and labels of the segment's entries.
//!
//! | entry | family | labels |
//! |---|---|---|
//! | `/if/rx` | `ferrovia_interface_rx_packets`, `_bytes` | interface, thread |
//! | `/if/drops` | `ferrovia_interface_drops` | interface, thread |
//! | `/node/errors` | `ferrovia_node_errors` | node, counter, thread |
//! | `/sys/node/calls` | `ferrovia_node_calls` | node, thread |
//! | `/mem/main heap` | `ferrovia_memory_bytes` | region, kind |
//! | `/buffer-pools/P/used` | `ferrovia_buffers` | pool, state |
//! | `/sys/vector_rate_per_worker` | `ferrovia_vector_rate_per_worker` | thread |
//! | `/net/route/to` | `ferrovia_net_route_to_packets`, `_bytes` | index, thread |
//! | `/nat44-ed/hairpinning` | `ferrovia_nat44_ed_hairpinning` | interface, thread |
//! | `/nat44-ed/total-sessions` | `ferrovia_nat44_ed_sessions`, a gauge | thread |
//! | [`Gauges`] | `ferrovia_` and the family's name | its own |
//!
//! Series that are zero are left out, but for the counters of interfaces that alerts need from the
//! start ([`ALERTS`]): a rate is only known between two samples.

use std::collections::BTreeMap;

use infra::counter::Volume;

use crate::stats::gauges::Gauges;
use crate::stats::reader::{Sample, Snapshot};

/// Counters of interfaces that are exported even while they are zero, for one thread.
const ALERTS: &[&str] = &[
    "/if/rx",
    "/if/tx",
    "/if/drops",
    "/if/rx-error",
    "/if/rx-miss",
    "/if/rx-no-buf",
    "/if/tx-error",
];

/// Vectors whose numbers rise and fall.
const GAUGES: &[&str] = &[
    "/cnat/sessions/total",
    "/dslite/total-b4s",
    "/dslite/total-sessions",
    "/firewall/sessions",
    "/nat44-ed/total-sessions",
    "/nat44-ei/total-sessions",
    "/nat44-ei/total-users",
    "/nat64/total-bibs",
    "/nat64/total-sessions",
];

/// Label and value.
pub(super) type Labels = Vec<(&'static str, String)>;

/// Type of a family's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
}

/// Numbers of one name.
#[derive(Clone, Debug)]
pub(super) struct Family {
    pub kind: Kind,
    pub help: String,
    pub samples: Vec<(Labels, f64)>,
}

/// Everything in the segment and the state beside it, by name of the family.
pub(super) fn of(all: &Snapshot, state: &Gauges) -> BTreeMap<String, Family> {
    let mut families = Families { all: BTreeMap::new(), state };
    for (path, sample) in &all.entries {
        families.add(all, path, sample);
    }
    for (name, family) in &state.families {
        let kind = if family.is_counter { Kind::Counter } else { Kind::Gauge };
        let labels = |of: &BTreeMap<&'static str, String>| {
            of.iter().map(|(name, value)| (*name, value.clone())).collect()
        };
        let samples = family.samples.iter().map(|s| (labels(&s.labels), s.value)).collect();
        let family = Family { kind, help: family.help.to_owned(), samples };
        families.all.insert(format!("ferrovia_{name}"), family);
    }
    families.all
}

struct Families<'s> {
    all: BTreeMap<String, Family>,
    state: &'s Gauges,
}

impl Families<'_> {
    fn add(&mut self, all: &Snapshot, path: &str, sample: &Sample) {
        match sample {
            Sample::Number(value) => self.number(path, *value),
            Sample::Simple(rows) if path.starts_with("/mem/") => self.memory(path, rows),
            Sample::Simple(rows) if path.ends_with("_per_worker") => self.per_worker(path, rows),
            Sample::Simple(rows) => self.vector(all, path, rows, &[("", |n: &u64| *n)]),
            Sample::Combined(rows) => {
                let parts: [Part<Volume>; 2] =
                    [("_packets", |v| v.packets), ("_bytes", |v| v.bytes)];
                self.vector(all, path, rows, &parts);
            }
            Sample::Histogram(rows) => self.histogram(path, rows),
            Sample::Names(_) | Sample::Ring(_) => {}
        }
    }
    fn number(&mut self, path: &str, value: u64) {
        let (name, kind, labels) = match path {
            "/sys/heartbeat" => ("heartbeat".to_owned(), Kind::Counter, Vec::new()),
            "/sys/boottime" => ("boot_time_seconds".to_owned(), Kind::Gauge, Vec::new()),
            "/sys/last_stats_clear" => {
                ("last_clear_time_seconds".to_owned(), Kind::Gauge, Vec::new())
            }
            "/sys/last_update" => ("last_update_seconds".to_owned(), Kind::Gauge, Vec::new()),
            _ => match path.strip_prefix("/buffer-pools/").and_then(|p| p.rsplit_once('/')) {
                Some((pool, state)) => {
                    let labels = vec![("pool", pool.to_owned()), ("state", state.to_owned())];
                    ("buffers".to_owned(), Kind::Gauge, labels)
                }
                None => (word(path.strip_prefix("/sys").unwrap_or(path)), Kind::Gauge, Vec::new()),
            },
        };
        self.put(&name, kind, path, labels, value);
    }
    fn memory(&mut self, path: &str, rows: &[Vec<u64>]) {
        const KINDS: [&str; 4] = ["total", "used", "free", "mapped"];
        let region = path.strip_prefix("/mem/").unwrap_or(path);
        for (kind, value) in KINDS.iter().zip(rows.first().into_iter().flatten()) {
            let labels = vec![("region", region.to_owned()), ("kind", (*kind).to_owned())];
            self.put("memory_bytes", Kind::Gauge, "/mem", labels, *value);
        }
    }
    /// One row with a column for each thread.
    fn per_worker(&mut self, path: &str, rows: &[Vec<u64>]) {
        let name = word(path.strip_prefix("/sys").unwrap_or(path));
        let all = rows.first().into_iter().flatten().enumerate();
        for (thread, value) in all.filter(|(thread, value)| *thread == 0 || **value > 0) {
            let labels = vec![("thread", thread.to_string())];
            self.put(&name, Kind::Gauge, path, labels, *value);
        }
    }
    /// A vector by thread and column, each element of which has one number or several.
    fn vector<T>(&mut self, all: &Snapshot, path: &str, rows: &[Vec<T>], parts: &[Part<T>]) {
        let (name, of) = Columns::of(all, path, self.state);
        let is_gauge = GAUGES.contains(&path);
        let (kind, name) = match is_gauge {
            // The number is the sum of no others.
            true => (Kind::Gauge, name.replace("_total", "")),
            false => (Kind::Counter, name),
        };
        let is_wanted = |thread, value| value > 0 || (thread == 0 && ALERTS.contains(&path));
        for (suffix, part) in parts {
            for (thread, row) in rows.iter().enumerate() {
                for (column, element) in row.iter().enumerate() {
                    let value = part(element);
                    if !is_wanted(thread, value) {
                        continue;
                    }
                    let Some(mut labels) = of.labels(column) else { continue };
                    if value == 0 && labels.iter().any(|(_, of)| of == "local0") {
                        continue;
                    }
                    labels.push(("thread", thread.to_string()));
                    self.put(&format!("{name}{suffix}"), kind, path, labels, value);
                }
            }
        }
    }
    fn histogram(&mut self, path: &str, rows: &[Vec<u64>]) {
        for (thread, row) in rows.iter().enumerate() {
            let Some((first, bins)) = row.split_first() else { continue };
            for (bin, value) in bins.iter().enumerate().filter(|(_, value)| **value > 0) {
                let from = 1u64.checked_shl(*first as u32 + bin as u32).unwrap_or(u64::MAX);
                let labels = vec![("from", from.to_string()), ("thread", thread.to_string())];
                self.put(&word(path), Kind::Counter, path, labels, *value);
            }
        }
    }
    fn put(&mut self, name: &str, kind: Kind, path: &str, labels: Labels, value: u64) {
        let family = self.all.entry(format!("ferrovia_{name}")).or_insert_with(|| Family {
            kind,
            help: help(path),
            samples: Vec::new(),
        });
        family.samples.push((labels, value as f64));
    }
}

/// The end of a family's name, and the number of an element that it has.
type Part<T> = (&'static str, fn(&T) -> u64);

/// Labels of the columns of a vector.
enum Columns<'a> {
    /// By name, of interfaces or nodes.
    Named(&'static str, &'a [Option<String>]),
    /// By the paths of symlinks: node and counter.
    Linked(&'a Snapshot, &'a str),
    /// By number.
    Numbered,
    /// One.
    Single,
}

impl<'a> Columns<'a> {
    /// The family's name, and its columns.
    fn of(all: &'a Snapshot, path: &'a str, state: &Gauges) -> (String, Self) {
        let names = |path: &str| match all.entries.get(path) {
            Some(Sample::Names(names)) => names.as_slice(),
            _ => &[],
        };
        if let Some(rest) = path.strip_prefix("/if") {
            return (
                format!("interface_{}", word(rest)),
                Self::Named("interface", names("/if/names")),
            );
        }
        if let Some(rest) = path.strip_prefix("/sys/node") {
            return (format!("node_{}", word(rest)), Self::Named("node", names("/sys/node/names")));
        }
        if path == "/node/errors" {
            return ("node_errors".to_owned(), Self::Linked(all, path));
        }
        if state.by_interface.contains(path) {
            return (word(path), Self::Named("interface", names("/if/names")));
        }
        let is_single = match all.entries.get(path) {
            Some(Sample::Simple(rows)) => rows.iter().all(|row| row.len() == 1),
            Some(Sample::Combined(rows)) => rows.iter().all(|row| row.len() == 1),
            _ => false,
        };
        (word(path), if is_single { Self::Single } else { Self::Numbered })
    }
    /// Labels of a column; `None` for one that has lost its name.
    fn labels(&self, column: usize) -> Option<Labels> {
        match self {
            Self::Named(label, names) => {
                let name = names.get(column)?.as_ref().filter(|name| *name != "deleted")?;
                Some(vec![(label, name.clone())])
            }
            Self::Linked(all, path) => {
                let link = all.links.get(&((*path).to_owned(), column))?;
                let (node, counter) = node_and_counter(link.strip_prefix("/err/")?)?;
                Some(vec![("node", node.to_owned()), ("counter", counter.to_owned())])
            }
            Self::Numbered => Some(vec![("index", column.to_string())]),
            Self::Single => Some(Vec::new()),
        }
    }
}

/// Both may have a `/`, but nodes only those of an interface.
fn node_and_counter(path: &str) -> Option<(&str, &str)> {
    let is_end = |at: &usize| path[..*at].ends_with("-tx") || path[..*at].ends_with("-output");
    let mut slashes = path.match_indices('/').map(|(at, _)| at);
    let first = slashes.clone().next()?;
    let at = slashes.find(is_end).unwrap_or(first);
    Some((&path[..at], &path[at + 1..]))
}

/// A path as a part of a name.
fn word(path: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    path.trim_start_matches('/').chars().map(fits).collect()
}

/// Help text of a family.
fn help(path: &str) -> String {
    let what = match path {
        "/if/rx" => "Received by the interface.",
        "/if/tx" => "Sent by the interface.",
        "/if/drops" => "Packets dropped, by receive interface.",
        "/if/punt" => "Packets punted to control.",
        "/if/ip4" => "IPv4 packets received.",
        "/if/ip6" => "IPv6 packets received.",
        "/if/mpls" => "MPLS packets received.",
        "/if/rx-no-buf" => "Packets lost for want of a buffer.",
        "/if/rx-miss" => "Packets lost by the device.",
        "/if/rx-error" => "Packets received damaged.",
        "/if/tx-error" => "Packets not sent because the device refused.",
        "/node/errors" => "What nodes counted: reasons of drops and other events.",
        "/sys/heartbeat" => "Updates of what is computed and not counted.",
        "/sys/boottime" => "When the router started, since 1970.",
        "/sys/last_stats_clear" => "When counters were last set to zero, since 1970; 0 for never.",
        "/sys/last_update" => "When computed values were last updated, on the router's clock.",
        "/sys/input_rate" => "Packets received in a second.",
        "/sys/vector_rate" => "Packets in a call of a node, on average.",
        "/sys/num_worker_threads" => "Data-plane threads beside the main thread.",
        "/mem" => "Memory of the process and of the statistics.",
        "/net/route/to" => "Found by a lookup, by the route's number.",
        "/net/route/via" => "Reached through another route, by the route's number.",
        _ if path.starts_with("/buffer-pools/") => "Packet buffers.",
        _ => return format!("Statistics {path}."),
    };
    what.to_owned()
}
