//! Making and deleting interfaces of the generator.

use std::fmt;
use std::str::FromStr;

use crate::gro::{self, Shape, Tally};
use control::api::Retval;
use control::cli::{Cli, Command, Error, Output, Print, Word};
use control::configuration::Lines;
use net::interface::{Interface, Kind, NewInterface, Offloads};
use net::neighbor::Strict;
use net::{InterfaceIndex, Router};
use serde::Serialize;
use wire::MacAddr;

use super::mac_filter::Switch;
use super::offload::Offload;
use super::stream::Generator;
use super::tx::PgTx;
use crate::host::random_mac;

/// Hardware class of generator interfaces.
const HARDWARE: &str = "pg";
const MTU: u32 = 9000;
/// Numbers in names are below this.
const NUMBERS: u32 = 1 << 20;
/// Largest payload of a segment: less than an IP packet holds.
pub(super) const MOST_GSO: u16 = 65_535 - 60 - 60;

/// First header of the packets of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Mode {
    /// An Ethernet header.
    #[default]
    Ethernet,
    /// An IPv4 header.
    Ip4,
    /// An IPv6 header.
    Ip6,
}

impl FromStr for Mode {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        [Self::Ethernet, Self::Ip4, Self::Ip6].into_iter().find(|m| m.word() == word).ok_or(())
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Mode {
    /// Its word in commands.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ethernet => "ethernet",
            Self::Ip4 => "ip4",
            Self::Ip6 => "ip6",
        }
    }
    /// Node at which packets of the interface enter the graph.
    pub fn input(self) -> &'static str {
        match self {
            Self::Ethernet => "ethernet-input",
            Self::Ip4 => "ip4-input",
            Self::Ip6 => "ip6-input",
        }
    }
}

/// The generator's settings of an interface.
#[derive(Clone, Copy, Debug)]
pub struct PgSettings {
    /// The number in the name that it was made with.
    pub number: u32,
    /// The address that it was given; random if `None`.
    pub mac: Option<MacAddr>,
    /// First header of its packets.
    pub mode: Mode,
    /// Offloads of its other side, left to this router.
    pub offload: Option<Offload>,
    /// Coalesce transmitted TCP segments.
    pub coalesces: bool,
    /// It drops frames to other addresses.
    pub filters: bool,
}

/// `pg3` or `3`.
#[derive(Debug, PartialEq)]
pub struct Name(u32);

impl Name {
    /// The name with this number; `None` when that is too big.
    pub fn new(number: u32) -> Option<Self> {
        (number < NUMBERS).then_some(Self(number))
    }
}

/// Parameters of a new interface.
pub struct New {
    /// Name.
    pub name: Name,
    /// Its address; random if `None`.
    pub mac: Option<MacAddr>,
    /// Payload of the segments that TCP packets may be cut into, 0 for no size; `None` when they
    /// may not.
    pub gso_size: Option<u16>,
    /// Whether TCP segments that it sends are joined.
    pub coalesces: bool,
    /// Whether TCP and UDP checksums are left to the other side.
    pub checksum: bool,
    /// First header of its packets.
    pub mode: Mode,
}

impl FromStr for Name {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        let digits = word.strip_prefix("pg").unwrap_or(word);
        let number: u32 = digits.parse().ok().filter(|n| *n < NUMBERS).ok_or(())?;
        // One interface, one name: `pg07` would be another.
        (digits == number.to_string()).then_some(Self(number)).ok_or(())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pg{}", self.0)
    }
}

/// Create a packet generator interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create packet-generator interface")]
#[undo("delete packet-generator interface {1}")]
#[stage(Interfaces)]
struct Create {
    /// interface name, pg<number>, or the number
    #[positional]
    name: Name,
    /// MAC address; random by default
    #[alias("mac")]
    hw_addr: Option<MacAddr>,
    /// Received TCP packets may be segmented, and are sent unsegmented
    gso_enabled: bool,
    /// segment payload in bytes; default no segmentation of received packets
    gso_size: Option<u16>,
    /// Coalesce transmitted TCP segments
    coalesce_enabled: bool,
    /// TCP and UDP checksums are left to the peer in both directions
    csum_offload_enabled: bool,
    /// first header of its packets: ethernet, ip4 or ip6
    #[values("ethernet|ip4|ip6")]
    mode: Option<Mode>,
}

/// Delete a packet generator interface.
#[derive(Command)]
#[command("delete packet-generator interface")]
struct Delete {
    /// interface index
    #[keyword("sw_if_index")]
    sw_if_index: Option<u32>,
    /// name
    #[positional]
    #[values("interface")]
    name: Option<Word>,
}

/// Show packet generator interfaces.
#[derive(Command)]
#[command("show packet-generator interface")]
struct Show {
    /// interface index
    #[keyword("sw_if_index")]
    sw_if_index: Option<u32>,
    /// name
    #[positional]
    #[values("interface")]
    name: Option<Word>,
}

#[derive(Serialize)]
struct Row {
    interface: String,
    index: u32,
    mac: String,
    mode: Mode,
    gso_size: Option<u16>,
    checksum_offload: bool,
    coalesce: bool,
    mac_filter: bool,
    /// Joined segments, by thread.
    flow_tables: Vec<(usize, Tally)>,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let on = |is_on| if is_on { "enabled" } else { "disabled" };
    for row in rows {
        writeln!(f, "Interface: {} (sw_if_index {})", row.interface, row.index)?;
        writeln!(f, "  hw-addr: {}", row.mac)?;
        writeln!(f, "  mode: {}", row.mode.word())?;
        match row.gso_size {
            Some(size) => writeln!(f, "  gso: enabled, size {size}")?,
            None => writeln!(f, "  gso: disabled")?,
        }
        writeln!(f, "  csum-offload: {}", on(row.checksum_offload))?;
        writeln!(f, "  coalesce: {}", on(row.coalesce))?;
        for (thread, tally) in &row.flow_tables {
            writeln!(f, "    thread {thread} {tally}")?;
        }
        if row.mac_filter {
            writeln!(f, "  mac-filter: enabled")?;
        }
    }
    Ok(())
}

/// The interfaces there are, and what they do. Streams are for trials: they end.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let all = &router.own::<Generator>().own;
    for (interface, own) in router.interfaces.iter().filter_map(|i| all.get_key_value(&i.index)) {
        let gso_size = own.offload.and_then(|o| o.gso_size);
        lines.push_at(
            interface.0,
            &Create {
                name: Name(own.number),
                hw_addr: own.mac,
                gso_enabled: gso_size.is_some(),
                gso_size: gso_size.filter(|size| *size > 0),
                coalesce_enabled: own.coalesces,
                csum_offload_enabled: own.offload.is_some_and(|o| o.checksum),
                mode: Some(own.mode).filter(|mode| *mode != Mode::Ethernet),
            },
        );
        if own.filters {
            lines.push(&Switch { interface: *interface, on: true, off: false });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(create_by_command).command(delete_by_command).command(show);
}

fn show(router: &mut Router, c: Show) -> Result<Output, Error> {
    let only = match (&c.name, c.sw_if_index) {
        (Some(_), Some(_)) => return Err(Error::new("expected a name or a sw_if_index, not both")),
        (Some(name), None) => Some(find(router, name)?.index),
        (None, Some(n)) => Some(at(router, InterfaceIndex(n))?.index),
        (None, None) => None,
    };
    let generator = router.state::<Generator>().ok_or("the packet generator is not loaded")?;
    let chosen = router.interfaces.iter().filter(|i| only.is_none_or(|only| only == i.index));
    let known = chosen.filter_map(|i| Some((i.clone(), *generator.own.get(&i.index)?)));
    let mut rows = Vec::new();
    for (i, own) in known.collect::<Vec<_>>() {
        let flow_tables = gro::tallies(router, i.tx, |n: &PgTx| &n.coalescer);
        rows.push(Row {
            interface: i.name,
            index: i.index.0,
            mac: i.mac.to_string(),
            mode: own.mode,
            gso_size: own.offload.and_then(|o| o.gso_size),
            checksum_offload: own.offload.is_some_and(|o| o.checksum),
            coalesce: own.coalesces,
            mac_filter: own.filters,
            flow_tables: flow_tables.map_err(|e| Error::new(e.to_string()))?,
        });
    }
    Ok(Output::rows(rows, write_rows))
}

fn create_by_command(router: &mut Router, c: Create) -> Result<(), Error> {
    if c.gso_size.is_some() && !c.gso_enabled {
        return Err(Error::new("gso-size without gso-enabled"));
    }
    let gso_size = c.gso_enabled.then(|| c.gso_size.unwrap_or(0));
    let (coalesces, checksum) = (c.coalesce_enabled, c.csum_offload_enabled);
    let (name, mac, mode) = (c.name, c.hw_addr, c.mode.unwrap_or_default());
    create(router, New { name, mac, gso_size, coalesces, checksum, mode })?;
    Ok(())
}

/// Makes an interface, down.
///
/// # Errors
/// What does not fit; a name that is in use.
pub fn create(router: &mut Router, new: New) -> Result<InterfaceIndex, Error> {
    let invalid = |text: String| Error::new(text).with_code(Retval::INVALID_VALUE.0);
    let is_ethernet = new.mode == Mode::Ethernet;
    let mac = match new.mac {
        Some(_) if !is_ethernet => {
            return Err(invalid("an IP interface has no MAC address".into()));
        }
        Some(mac) if mac.is_multicast() || mac == MacAddr::ZERO => {
            return Err(invalid(format!("{mac} is not a unicast MAC address")));
        }
        Some(mac) => mac,
        None if is_ethernet => random_mac(),
        None => MacAddr::ZERO,
    };
    if let Some(n) = new.gso_size.filter(|n| *n > MOST_GSO) {
        return Err(invalid(format!("gso-size is at most {MOST_GSO}, not {n}")));
    }
    let (checksum, gso_size) = (new.checksum, new.gso_size);
    let is_any = checksum || gso_size.is_some();
    let offload = is_any.then_some(Offload { checksum, gso_size, is_ethernet });
    let interface = NewInterface {
        name: new.name.to_string(),
        kind: if is_ethernet { Kind::Ethernet } else { Kind::Ip },
        hardware: HARDWARE,
        mac,
        mtu: MTU,
        // It is a test device: what it cannot cut it takes whole, and counts.
        offloads: Offloads { checksum: offload.is_some(), gso: true, tunnels: true },
        link_follows_admin: true,
    };
    let (shape, coalesces) = (Shape { is_ethernet, is_gso: gso_size.is_some() }, new.coalesces);
    let index = router.add_interface(interface, PgTx::new(shape, coalesces))?;
    // What comes out is to follow from what went in, not from what was held an hour ago.
    router.put(index, Strict(true)).expect("it was made just now");
    if let Some(generator) = router.state_mut::<Generator>() {
        let (number, mac, mode) = (new.name.0, new.mac, new.mode);
        let own = PgSettings { number, mac, mode, offload, coalesces, filters: false };
        generator.own.insert(index, own);
    }
    Ok(index)
}

/// Segments big packets for an interface that does not do that, if requested.
pub(super) fn follow_segments(router: &mut Router, index: InterfaceIndex) {
    let offload = router.state::<Generator>().and_then(|g| g.own.get(&index)).map(|o| o.offload);
    let asks = router.interfaces.at(index).is_some_and(|i| i.asks_segments);
    if let Some(offload) = offload {
        let gso = !asks || offload.is_some_and(|o| o.gso_size.is_some());
        router
            .interfaces
            .set_offloads(index, Offloads { checksum: offload.is_some(), gso, tunnels: !asks });
    }
}

/// Deletes an interface of the generator.
///
/// # Errors
/// There is none with this number, or it is another's.
pub fn delete(router: &mut Router, index: InterfaceIndex) -> Result<(), Error> {
    at(router, index)?;
    router.remove_interface(index);
    Ok(())
}

fn delete_by_command(router: &mut Router, c: Delete) -> Result<(), Error> {
    let index = match (&c.name, c.sw_if_index) {
        (Some(name), None) => find(router, name)?.index,
        (None, Some(n)) => InterfaceIndex(n),
        _ => return Err(Error::new("expected the name or the sw_if_index of an interface")),
    };
    delete(router, index)
}

/// The generator's interface with this name.
pub(super) fn find<'r>(router: &'r Router, name: &Word) -> Result<&'r Interface, Error> {
    own(router.interfaces.named(name).ok_or_else(|| name.unknown("interface"))?)
}

/// The generator's interface with this number.
pub(super) fn at(router: &Router, index: InterfaceIndex) -> Result<&Interface, Error> {
    let found = router.interfaces.at(index);
    own(found.ok_or_else(|| Error::new(format!("unknown sw_if_index {}", index.0)))?)
}

fn own(interface: &Interface) -> Result<&Interface, Error> {
    if interface.hardware == HARDWARE && !interface.is_sub() {
        return Ok(interface);
    }
    Err(Error::new(format!("{} is not a packet-generator interface", interface.name)))
}
