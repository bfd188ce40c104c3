//! `show tap`, `show tun`.
#![forbid(unsafe_code)]

use std::fmt;

use crate::gro::{self, Tally};
use control::cli::{Cli, Command, Error, Output, Word};
use net::Router;
use rustix::fd::AsRawFd;
use serde::Serialize;

use super::interface::{Tap, Taps};
use super::tx::TapTx;

/// Show tap interfaces.
#[derive(Command)]
#[command("show tap")]
struct Show {
    /// interfaces; default all
    #[positional]
    #[values("interface")]
    interfaces: Vec<Word>,
    /// accepted: the kernel does not expose its descriptors
    #[keyword("descriptors")]
    _descriptors: bool,
}

/// Show tun interfaces.
#[derive(Command)]
#[command("show tun")]
struct ShowTun {
    /// interfaces; default all
    #[positional]
    #[values("interface")]
    interfaces: Vec<Word>,
    /// accepted: the kernel does not expose its descriptors
    #[keyword("descriptors")]
    _descriptors: bool,
}

#[derive(Serialize)]
struct Row {
    interface: String,
    id: u32,
    index: u32,
    mac: String,
    admin_up: bool,
    /// The host has deleted the device.
    is_gone: bool,
    is_tun: bool,
    host_name: String,
    host_namespace: Option<String>,
    host_bridge: Option<String>,
    host_mtu: Option<u32>,
    host_mac: Option<String>,
    host_device: u32,
    fds: Vec<i32>,
    rx_threads: Vec<usize>,
    tx_queues: usize,
    gso: bool,
    checksum: bool,
    coalesces: bool,
    /// Joined segments, by thread.
    flow_tables: Vec<(usize, Tally)>,
    persists: bool,
}

impl Row {
    fn of(router: &Router, tap: &Tap, flow_tables: Vec<(usize, Tally)>) -> Option<Self> {
        let i = router.interfaces.at(tap.index)?;
        let (wanted, host) = (&tap.wanted, &tap.wanted.host);
        Some(Self {
            interface: i.name.clone(),
            id: tap.id,
            index: i.index.0,
            mac: i.mac.to_string(),
            admin_up: i.admin_up,
            is_gone: tap.is_gone,
            is_tun: wanted.is_tun,
            host_name: host.name.clone().unwrap_or_default(),
            host_namespace: host.namespace.clone(),
            host_bridge: host.bridge.clone(),
            host_mtu: host.mtu,
            host_mac: host.mac.map(|mac| mac.to_string()),
            host_device: tap.device,
            fds: tap.queues.iter().map(|fd| fd.as_raw_fd()).collect(),
            rx_threads: tap.serving.threads(),
            tx_queues: wanted.queues.1.max(1),
            gso: wanted.leaves.gso,
            checksum: wanted.leaves.checksum,
            coalesces: wanted.coalesces,
            flow_tables,
            persists: wanted.persists,
        })
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Show| show(router, &c.interfaces, |_| true));
    cli.command(|router: &mut Router, c: ShowTun| {
        show(router, &c.interfaces, |tap| tap.wanted.is_tun)
    });
}

fn show(router: &mut Router, names: &[Word], is_shown: fn(&Tap) -> bool) -> Result<Output, Error> {
    let mut chosen = Vec::new();
    for name in names {
        chosen.push(router.interfaces.named(name).ok_or_else(|| name.unknown("interface"))?.index);
    }
    let is_chosen = |t: &Tap| is_shown(t) && (chosen.is_empty() || chosen.contains(&t.index));
    let row = |router: &mut Router, tap: &Tap| {
        let Some(i) = router.interfaces.at(tap.index) else { return Ok(None) };
        let flow_tables = gro::tallies(router, i.tx, |n: &TapTx| &n.coalescer);
        flow_tables.map(|tables| Row::of(router, tap, tables))
    };
    let rows = router.with(|taps: &mut Taps, router: &mut Router| {
        let shown = taps.list.iter().filter(|t| is_chosen(t));
        shown.filter_map(|tap| row(router, tap).transpose()).collect::<Result<_, _>>()
    });
    let rows = rows.unwrap_or(Ok(Vec::new())).map_err(|e| Error::new(e.to_string()))?;
    Ok(Output::list(rows))
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "(nil)".to_owned());
        writeln!(f, "Interface: {} (ifindex {})", self.interface, self.index)?;
        writeln!(f, "  name \"{}\"", self.host_name)?;
        writeln!(f, "  host-ns \"{}\"", or_none(&self.host_namespace))?;
        if let Some(bridge) = &self.host_bridge {
            writeln!(f, "  host-bridge \"{bridge}\"")?;
        }
        if let Some(mtu) = self.host_mtu {
            writeln!(f, "  host-mtu-size \"{mtu}\"")?;
        }
        if let Some(mac) = &self.host_mac {
            writeln!(f, "  host-mac-addr: {mac}")?;
        }
        writeln!(f, "  host-ifindex {}", self.host_device)?;
        writeln!(f, "  host-carrier-up: {}", u8::from(self.admin_up && !self.is_gone))?;
        let fds: Vec<_> = self.fds.iter().map(ToString::to_string).collect();
        writeln!(f, "  tap-fds {}", fds.join(" "))?;
        writeln!(f, "  gso-enabled {}", u8::from(self.gso))?;
        writeln!(f, "  csum-enabled {}", u8::from(self.checksum))?;
        writeln!(f, "  packet-coalesce {}", u8::from(self.coalesces))?;
        if self.is_tun {
            writeln!(f, "  tun")?;
        } else {
            writeln!(f, "  Mac Address: {}", self.mac)?;
        }
        writeln!(f, "  Device instance: {}", self.id)?;
        writeln!(f, "  Number of RX Virtqueue  {}", self.rx_threads.len())?;
        for (number, thread) in self.rx_threads.iter().enumerate() {
            writeln!(f, "    rx-queue {number} thread {thread}")?;
        }
        writeln!(f, "  Number of TX Virtqueue  {}", self.tx_queues)?;
        let mut tables = self.flow_tables.iter();
        tables.try_for_each(|(thread, tally)| writeln!(f, "    thread {thread} {tally}"))
    }
}
