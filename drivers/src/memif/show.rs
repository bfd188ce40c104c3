//! `show memif`.
#![forbid(unsafe_code)]

use std::fmt;

use control::cli::{Cli, Command, Error, Output};
use infra::order::Order;
use net::{InterfaceIndex, Router};
use serde::Serialize;

use super::interface::{Link, Memif, Memifs, Peer};
use super::ring::Ring;

/// Show memif interfaces and sockets.
#[derive(Command)]
#[command("show memif")]
struct Show {
    /// interfaces; default all
    #[positional]
    interfaces: Vec<InterfaceIndex>,
    /// include descriptors
    descriptors: bool,
}

#[derive(Serialize)]
struct Table {
    sockets: Vec<SocketRow>,
    interfaces: Vec<Row>,
}

#[derive(Serialize)]
struct SocketRow {
    id: u32,
    /// Masters on it.
    listeners: usize,
    filename: String,
}

#[derive(Serialize)]
struct Row {
    interface: String,
    socket: u32,
    id: u32,
    is_master: bool,
    mode: &'static str,
    admin_up: bool,
    connected: bool,
    calling: bool,
    /// Reason why it is not connected.
    reason: String,
    remote_name: String,
    remote_interface: String,
    buffer_size: u32,
    regions: Vec<usize>,
    rx_threads: Vec<usize>,
    rings: Vec<RingRow>,
}

#[derive(Serialize)]
struct RingRow {
    direction: &'static str,
    number: usize,
    size: u16,
    head: u16,
    tail: u16,
    flags: u16,
    descriptors: Vec<Slot>,
}

#[derive(Serialize)]
struct Slot {
    flags: u16,
    length: u32,
    region: u16,
    offset: u32,
}

impl RingRow {
    fn of(direction: &'static str, (number, ring): (usize, &Ring), descriptors: bool) -> Self {
        let slot = |n| {
            let wire::memif::Descriptor { flags, region, length, offset } = ring.descriptor(n);
            Slot { flags, length, region, offset }
        };
        let shown = if descriptors { ring.size() } else { 0 };
        let (size, head, tail) = (ring.size(), ring.head(), ring.tail());
        let descriptors = (0..shown).map(slot).collect();
        Self { direction, number, size, head, tail, flags: ring.flags(), descriptors }
    }
}

impl Row {
    fn of(router: &Router, memif: &Memif, descriptors: bool) -> Option<Self> {
        let (i, wanted) = (router.interfaces.at(memif.index)?, &memif.wanted);
        let peer = if let Link::Up(_, peer) = &memif.link { Some(peer) } else { None };
        let rings = |peer: &Peer| {
            let directions = ["slave-to-master", "master-to-slave"];
            let [rx, tx] = if wanted.is_master { [0, 1] } else { [1, 0] };
            let of = |direction: usize, rings: &[Ring]| {
                let row = |ring| RingRow::of(directions[direction], ring, descriptors);
                rings.iter().enumerate().map(row).collect::<Vec<_>>()
            };
            let mut rows = of(rx, &peer.rings[0]);
            rows.extend(of(tx, &peer.rings[1]));
            rows.order_by_key(|row| row.direction != directions[0]);
            rows
        };
        Some(Self {
            interface: i.name.clone(),
            socket: wanted.socket,
            id: wanted.id,
            is_master: wanted.is_master,
            mode: if wanted.is_ip { "ip" } else { "ethernet" },
            admin_up: i.admin_up,
            connected: peer.is_some(),
            calling: matches!(memif.link, Link::Calling(..)),
            reason: memif.why.clone(),
            remote_name: peer.map(|p| p.name.clone()).unwrap_or_default(),
            remote_interface: peer.map(|p| p.interface.clone()).unwrap_or_default(),
            buffer_size: if wanted.is_master { 0 } else { wanted.slot_size() },
            regions: peer.map(|p| p.regions.clone()).unwrap_or_default(),
            rx_threads: if peer.is_some() { memif.serving.threads() } else { Vec::new() },
            rings: peer.map(rings).unwrap_or_default(),
        })
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Show| show(router, &c));
}

fn show(router: &mut Router, c: &Show) -> Result<Output, Error> {
    let all = router.own::<Memifs>();
    if let Some(other) = c.interfaces.iter().find(|n| all.list.iter().all(|m| m.index != **n)) {
        let name = router.interfaces.name(other.0);
        return Err(Error::new(format!("{name} is not a memif interface")));
    }
    let sockets = all.sockets.iter().map(|(id, socket)| {
        let is_on = |m: &&Memif| m.wanted.socket == *id && m.wanted.is_master;
        let listeners = all.list.iter().filter(is_on).count();
        SocketRow { id: *id, listeners, filename: socket.address.0.clone() }
    });
    let is_shown = |m: &&Memif| c.interfaces.is_empty() || c.interfaces.contains(&m.index);
    let shown = all.list.iter().filter(is_shown);
    let interfaces = shown.filter_map(|m| Row::of(router, m, c.descriptors)).collect();
    Ok(Output::of(Table { sockets: sockets.collect(), interfaces }))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "sockets")?;
        writeln!(f, "  {:<3} {:<11} filename", "id", "listener")?;
        for row in &self.sockets {
            let listens = match row.listeners {
                0 => "no".to_owned(),
                n => format!("yes ({n})"),
            };
            writeln!(f, "  {:<3} {listens:<11} {}", row.id, row.filename)?;
        }
        self.interfaces.iter().try_for_each(|row| write!(f, "\n{row}"))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "interface {}", self.interface)?;
        if self.connected {
            writeln!(f, "  remote-name \"{}\"", self.remote_name)?;
            writeln!(f, "  remote-interface \"{}\"", self.remote_interface)?;
        } else if !self.reason.is_empty() {
            writeln!(f, "  reason \"{}\"", self.reason)?;
        }
        let Self { socket, id, mode, .. } = self;
        writeln!(f, "  socket-id {socket} id {id} mode {mode}")?;
        let flag = |is_set, name| if is_set { name } else { "" };
        let flags = [
            flag(self.admin_up, " admin-up"),
            flag(!self.is_master, " slave"),
            flag(self.calling, " connecting"),
            flag(self.connected, " connected"),
        ];
        writeln!(f, "  flags{}", flags.concat())?;
        let count = |direction| self.rings.iter().filter(|r| r.direction == direction).count();
        let (up, down) = (count("slave-to-master"), count("master-to-slave"));
        let (size, regions) = (self.buffer_size, self.regions.len());
        write!(f, "  num-s2m-rings {up} num-m2s-rings {down} buffer-size {size}")?;
        writeln!(f, " num-regions {regions}")?;
        for (number, size) in self.regions.iter().enumerate() {
            writeln!(f, "    region {number} size {size}")?;
        }
        for (number, thread) in self.rx_threads.iter().enumerate() {
            writeln!(f, "    rx-queue {number} thread {thread}")?;
        }
        self.rings.iter().try_for_each(|ring| ring.fmt(f))
    }
}

impl fmt::Display for RingRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { direction, number, size, head, tail, flags, .. } = self;
        writeln!(f, "    {direction} ring {number}:")?;
        writeln!(f, "      ring-size {size} head {head} tail {tail} flags {flags:#06x}")?;
        if !self.descriptors.is_empty() {
            writeln!(f, "      descriptor flags  length region     offset")?;
        }
        for (n, slot) in self.descriptors.iter().enumerate() {
            let Slot { flags, length, region, offset } = slot;
            writeln!(f, "      {n:>10} {flags:#06x} {length:>7} {region:>6} {offset:>10}")?;
        }
        Ok(())
    }
}
