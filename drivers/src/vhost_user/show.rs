//! `show vhost-user`.
#![forbid(unsafe_code)]

use std::fmt;

use control::cli::{Cli, Command, Error, Output};
use net::{InterfaceIndex, Router};
use serde::Serialize;
use wire::vhost_user::protocol_name;
use wire::virtio_ring::{Descriptor, feature_name};

use super::interface::{Vhost, Vhosts};
use super::ring::{Look, Ring};
use super::session::Session;

/// Show vhost-user interfaces.
#[derive(Command)]
#[command("show vhost-user")]
struct Show {
    /// interfaces; default all
    #[positional]
    interfaces: Vec<InterfaceIndex>,
    /// include descriptors
    #[alias("desc")]
    descriptors: bool,
    /// include empty descriptors
    verbose: bool,
}

#[derive(Serialize)]
struct Row {
    interface: String,
    index: u32,
    header: usize,
    features_mask: u64,
    features: u64,
    protocol_features: u64,
    socket: String,
    server: bool,
    connected: bool,
    /// Reason why it is not connected.
    reason: String,
    rx_threads: Vec<usize>,
    regions: Vec<RegionRow>,
    rings: Vec<RingRow>,
}

#[derive(Serialize)]
struct RegionRow {
    guest: u64,
    size: u64,
    user: u64,
    offset: u64,
}

#[derive(Serialize)]
struct RingRow {
    number: usize,
    size: u16,
    packed: bool,
    available_flags: u16,
    available_index: u16,
    used_flags: u16,
    used_index: u16,
    call: bool,
    descriptors: Vec<Slot>,
}

#[derive(Serialize)]
struct Slot {
    number: u16,
    address: u64,
    len: u32,
    flags: u16,
    link: u16,
}

impl RingRow {
    fn of(session: &Session, (number, ring): &(usize, Ring), wants: (bool, bool)) -> Self {
        let (descriptors, verbose) = wants;
        let slot = |number| {
            let Descriptor { address, len, flags, link } = ring.descriptor(number);
            Slot { number, address, len, flags, link }
        };
        let Look { available, used } = ring.look();
        let shown = if descriptors { ring.size() } else { 0 };
        let is_shown = |s: &Slot| verbose || s.address != 0;
        Self {
            number: *number,
            size: ring.size(),
            packed: matches!(ring, Ring::Packed(_)),
            available_flags: available.0,
            available_index: available.1,
            used_flags: used.0,
            used_index: used.1,
            call: session.rings.get(number).is_some_and(|ring| ring.call.is_some()),
            descriptors: (0..shown).map(slot).filter(is_shown).collect(),
        }
    }
}

impl Row {
    fn of(router: &Router, vhost: &Vhost, wants: (bool, bool)) -> Option<Self> {
        let (i, session) = (router.interfaces.at(vhost.index)?, vhost.session());
        let region = |area: &super::memory::Area| RegionRow {
            guest: area.said.guest.get(),
            size: area.said.size.get(),
            user: area.said.user.get(),
            offset: area.said.offset.get(),
        };
        let rings = vhost.running.iter().flat_map(|running| &running.rings);
        let ring = |ring| session.map(|session| RingRow::of(session, ring, wants));
        Some(Self {
            interface: i.name.clone(),
            index: i.index.0,
            header: session.map_or(0, Session::header),
            features_mask: !vhost.wanted.offer.hidden,
            features: session.map_or(0, |s| s.features),
            protocol_features: session.map_or(0, |s| s.protocol),
            socket: vhost.wanted.socket.clone(),
            server: vhost.wanted.is_server,
            connected: session.is_some(),
            reason: vhost.why.clone(),
            rx_threads: vhost.running.as_ref().map_or(Vec::new(), |_| vhost.serving.threads()),
            regions: session.map_or(Vec::new(), |s| s.table.0.iter().map(region).collect()),
            rings: rings.filter_map(ring).collect(),
        })
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Show| show(router, &c));
}

fn show(router: &mut Router, c: &Show) -> Result<Output, Error> {
    let all = &router.own::<Vhosts>().list;
    if let Some(other) = c.interfaces.iter().find(|n| all.iter().all(|v| v.index != **n)) {
        let name = router.interfaces.name(other.0);
        return Err(Error::new(format!("{name} is not a vhost-user interface")));
    }
    let is_shown = |v: &&Vhost| c.interfaces.is_empty() || c.interfaces.contains(&v.index);
    let row = |v| Row::of(router, v, (c.descriptors, c.verbose));
    Ok(Output::rows(all.iter().filter(is_shown).filter_map(row), write_table))
}

fn write_table(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "Virtio vhost-user interfaces")?;
    rows.iter().try_for_each(|row| write!(f, "{row}"))
}

/// The bits that are set, with their names.
fn bits(f: &mut fmt::Formatter<'_>, set: u64, name: impl Fn(u32) -> String) -> fmt::Result {
    let mut bits = (0..u64::BITS).filter(|bit| set >> bit & 1 != 0);
    bits.try_for_each(|bit| writeln!(f, "   {} ({bit})", name(bit)))
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Interface: {} (ifindex {})", self.interface, self.index)?;
        writeln!(f, " virtio_net_hdr_sz {}", self.header)?;
        writeln!(f, " features mask ({:#x})", self.features_mask)?;
        writeln!(f, " features ({:#x}):", self.features)?;
        bits(f, self.features, |bit| feature_name(bit).to_owned())?;
        writeln!(f, " protocol features ({:#x})", self.protocol_features)?;
        bits(f, self.protocol_features, |bit| {
            format!("VHOST_USER_PROTOCOL_F_{}", protocol_name(bit))
        })?;
        let role = if self.server { "server" } else { "client" };
        let state = if self.connected { "connected" } else { "not connected" };
        write!(f, " socket filename {} type {role} {state}", self.socket)?;
        if self.connected || self.reason.is_empty() {
            writeln!(f)?;
        } else {
            writeln!(f, ": {}", self.reason)?;
        }
        if !self.rx_threads.is_empty() {
            writeln!(f, " rx placement:")?;
            let mut threads = self.rx_threads.iter().enumerate();
            threads.try_for_each(|(n, thread)| writeln!(f, "   thread {thread} on queue {n}"))?;
        }
        writeln!(f, " Memory regions (total {})", self.regions.len())?;
        if !self.regions.is_empty() {
            let titles = ["guest_phys_addr", "memory_size", "userspace_addr", "mmap_offset"];
            let [guest, size, user, offset] = titles;
            writeln!(f, " region {guest:<18} {size:<18} {user:<18} {offset:<18}")?;
        }
        for (n, region) in self.regions.iter().enumerate() {
            let RegionRow { guest, size, user, offset } = region;
            writeln!(f, " {n:<6} {guest:#018x} {size:#018x} {user:#018x} {offset:#018x}")?;
        }
        self.rings.iter().try_for_each(|ring| ring.fmt(f))
    }
}

impl fmt::Display for RingRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = if self.number % 2 == 1 { "RX" } else { "TX" };
        writeln!(f, " Virtqueue {} ({way})", self.number)?;
        let Self { available_flags, available_index, used_flags, used_index, .. } = self;
        if self.packed {
            writeln!(f, "  qsz {} packed", self.size)?;
            writeln!(f, "  driver.flags {available_flags:#x} device.flags {used_flags:#x}")?;
        } else {
            writeln!(f, "  qsz {}", self.size)?;
            write!(f, "  avail.flags {available_flags:#x} avail.idx {available_index} ")?;
            writeln!(f, "used.flags {used_flags:#x} used.idx {used_index}")?;
        }
        writeln!(f, "  interrupts {}", if self.call { "by eventfd" } else { "none" })?;
        if !self.descriptors.is_empty() {
            writeln!(f, "  descriptor table:")?;
            writeln!(f, "   slot  address            length flags  link")?;
        }
        for Slot { number, address, len, flags, link } in &self.descriptors {
            writeln!(f, "   {number:<5} {address:#018x} {len:>6} {flags:#06x} {link}")?;
        }
        Ok(())
    }
}
