//! Tables of interfaces.

use std::fmt;

use graph::show::centered;
use serde::Serialize;

use super::{Interface, Kind, Values, placement};
use crate::router::Router;

/// An interface with its counters.
#[derive(Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    pub interface: Interface,
    pub counters: Values,
}

pub(super) fn write_counted(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let columns = |name: &str, [index, state, mtu]: [&str; 3]| {
        let (index, state) = (centered(index, 5), centered(state, 10));
        format!("{name:<32}{index}{state}{}", centered(mtu, 21))
    };
    write!(f, "{}", columns(&centered("Name", 32), ["Idx", "State", "MTU (L3/IP4/IP6/MPLS)"]))?;
    writeln!(f, "{}{}", centered("Counter", 16), centered("Count", 16))?;
    for Row { interface: i, counters } in rows {
        let state = match i.admin_up {
            true if i.is_device_gone => "gone",
            true if i.port.punts => "punt",
            true => "up",
            false => "down",
        };
        let mtu = format!("{}/{}/{}/{}", i.mtu.l3, i.mtu.ip4, i.mtu.ip6, i.mtu.mpls);
        write!(f, "{}", columns(&i.name, [&i.index.0.to_string(), state, &mtu]))?;
        let moved = counters.moved();
        if moved.is_empty() {
            writeln!(f)?;
        }
        for (line, (counter, value)) in moved.iter().enumerate() {
            let indent = if line == 0 { 0 } else { 68 };
            writeln!(f, "{:indent$}{counter:<16}{value:>16}", "")?;
        }
    }
    Ok(())
}

/// `show hardware-interfaces`.
#[derive(Serialize)]
pub(super) struct Hardware {
    #[serde(skip)]
    pub brief: bool,
    pub rows: Vec<HardwareRow>,
}

/// A device.
#[derive(Serialize)]
pub(super) struct HardwareRow {
    name: String,
    index: u32,
    link_up: bool,
    /// Kilobits per second; 0 when unknown.
    link_speed: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    numa_node: Option<usize>,
    class: &'static str,
    /// Thread and mode of each receive queue.
    rx_queues: Vec<(String, &'static str)>,
    /// Threads of each send queue.
    tx_queues: Vec<Vec<usize>>,
    /// The driver's text.
    device: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mac: Option<String>,
}

impl HardwareRow {
    pub fn of(router: &Router, i: &Interface) -> Self {
        let thread = |q: &placement::Row| match q.thread {
            0 => "main (0)".to_owned(),
            n => format!("{} ({n})", q.thread_name),
        };
        let rx_queues = placement::of(router, i.index);
        let device = router.interfaces.describe.get(i.hardware);
        Self {
            rx_queues: rx_queues.iter().map(|q| (thread(q), q.mode)).collect(),
            tx_queues: router.tx_queues(i.index).into_iter().map(|q| q.threads).collect(),
            device: device.map_or_else(Vec::new, |describe| describe(router, i)),
            name: i.name.clone(),
            index: i.index.0,
            link_up: i.link_up,
            link_speed: i.link_speed,
            numa_node: i.numa_node,
            class: i.hardware,
            mac: (i.kind == Kind::Ethernet).then(|| i.mac.to_string()),
        }
    }
}

impl fmt::Display for Hardware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = |name: &str, index: &str, link: &str, hardware: &str| {
            format!("{name:<32}{}{}{hardware}", centered(index, 6), centered(link, 8))
        };
        writeln!(f, "{}", columns(&centered("Name", 32), "Idx", "Link", "Hardware"))?;
        for row in &self.rows {
            let link = if row.link_up { "up" } else { "down" };
            writeln!(f, "{}", columns(&row.name, &row.index.to_string(), link, &row.name))?;
            writeln!(f, "  Link speed: {}", speed(row.link_speed))?;
            if let Some(node) = row.numa_node {
                writeln!(f, "  NUMA node: {node}")?;
            }
            if !row.rx_queues.is_empty() {
                writeln!(f, "  RX Queues:\n    queue thread         mode      ")?;
            }
            for (number, (thread, mode)) in row.rx_queues.iter().enumerate() {
                writeln!(f, "    {number:<5} {thread:<14} {mode:<10}")?;
            }
            if !row.tx_queues.is_empty() {
                writeln!(f, "  TX Queues:\n    queue shared thread(s)      ")?;
            }
            for (number, threads) in row.tx_queues.iter().enumerate() {
                let shared = if threads.len() > 1 { "yes" } else { "no" };
                writeln!(f, "    {number:<5} {shared:<6} {}", ranges(threads))?;
            }
            if self.brief {
                continue;
            }
            match &row.mac {
                Some(mac) => writeln!(f, "  Ethernet address {mac}")?,
                None => writeln!(f, "  {}", row.class)?,
            }
            row.device.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        Ok(())
    }
}

/// `0,2-3`: numbers in their order.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(",")
}

/// Speed of a link, of which `kbps` is known.
fn speed(kbps: u32) -> String {
    match kbps {
        0 => "unknown".to_owned(),
        n if n >= 1_000_000 => format!("{} Gbps", f64::from(n) / 1e6),
        n if n >= 1_000 => format!("{} Mbps", f64::from(n) / 1e3),
        n => format!("{n} Kbps"),
    }
}
