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
//!
//! Of vectors whose columns have no names only those are told that have counted something: there
//! may be a million of them.

use std::collections::BTreeMap;

use infra::counter::Volume;

use crate::stats::reader::{Sample, Snapshot};

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
    pub samples: Vec<(Labels, u64)>,
}

/// Everything in the segment, by name of the family.
pub(super) fn of(all: &Snapshot) -> BTreeMap<String, Family> {
    let mut families = Families(BTreeMap::new());
    for (path, sample) in &all.entries {
        families.add(all, path, sample);
    }
    families.0
}

struct Families(BTreeMap<String, Family>);

impl Families {
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
        for (thread, value) in rows.first().into_iter().flatten().enumerate() {
            let labels = vec![("thread", thread.to_string())];
            self.put(&name, Kind::Gauge, path, labels, *value);
        }
    }
    /// A vector by thread and column, each element of which has one number or several.
    fn vector<T>(&mut self, all: &Snapshot, path: &str, rows: &[Vec<T>], parts: &[Part<T>]) {
        let (name, of) = Columns::of(all, path);
        for (suffix, part) in parts {
            for (thread, row) in rows.iter().enumerate() {
                for (column, element) in row.iter().enumerate() {
                    let value = part(element);
                    let Some(mut labels) = of.labels(column, value) else { continue };
                    labels.push(("thread", thread.to_string()));
                    self.put(&format!("{name}{suffix}"), Kind::Counter, path, labels, value);
                }
            }
        }
    }
    fn histogram(&mut self, path: &str, rows: &[Vec<u64>]) {
        for (thread, row) in rows.iter().enumerate() {
            let Some((first, bins)) = row.split_first() else { continue };
            for (bin, value) in bins.iter().enumerate() {
                let from = 1u64.checked_shl(*first as u32 + bin as u32).unwrap_or(u64::MAX);
                let labels = vec![("from", from.to_string()), ("thread", thread.to_string())];
                self.put(&word(path), Kind::Counter, path, labels, *value);
            }
        }
    }
    fn put(&mut self, name: &str, kind: Kind, path: &str, labels: Labels, value: u64) {
        let family = self.0.entry(format!("ferrovia_{name}")).or_insert_with(|| Family {
            kind,
            help: help(path),
            samples: Vec::new(),
        });
        family.samples.push((labels, value));
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
}

impl<'a> Columns<'a> {
    /// The family's name, and its columns.
    fn of(all: &'a Snapshot, path: &'a str) -> (String, Self) {
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
        (word(path), Self::Numbered)
    }
    /// Labels of a column with this value; `None` for one that is not told.
    fn labels(&self, column: usize, value: u64) -> Option<Labels> {
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
            Self::Numbered => (value > 0).then(|| vec![("index", column.to_string())]),
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
        "/if/drops" => "Packets dropped, by the interface they came in on.",
        "/if/punt" => "Packets given to control.",
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
