//! NAT66: hosts inside have other addresses outside, one for one, so that no state is kept.
//!
//! Sources of packets received on inside interfaces and sent by outside ones are translated, as are
//! destinations of packets received on outside interfaces. Packets quoted by ICMPv6 errors are
//! translated along.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;
mod packet;

use control::stats::Columns;
use infra::counter::Rows;
use net::prelude::*;

pub use api::*;

/// Mappings at most.
const MOST: usize = 1 << 16;
const COLUMNS: Columns = Columns::growing("mapping", MOST);

/// NAT66.
pub const FEATURE: Feature = Feature {
    name: "nat66",
    about: "NAT66",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip6"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The setting of an interface: whether hosts inside, hosts outside are behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// Hosts inside.
    pub inside: bool,
    /// Hosts outside.
    pub outside: bool,
}

/// A mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The address inside.
    pub local: Ipv6Addr,
    /// Outside address.
    pub external: Ipv6Addr,
    /// Identifier of the table inside.
    pub vrf: u32,
    table: u16,
}

/// Mappings as the nodes find them: the address of the other side, the table and the number.
#[derive(Clone, Default)]
struct Table {
    by_local: HashMap<(u16, Ipv6Addr), (Ipv6Addr, u32)>,
    by_external: HashMap<Ipv6Addr, (Ipv6Addr, u16, u32)>,
    outside_table: u16,
    /// Interfaces to the outside.
    outside: Vec<u32>,
}

/// The state of control.
struct Nat {
    /// Identifier and index of the table outside, while it is enabled.
    enabled: Option<(u32, TableIndex)>,
    mappings: BTreeMap<u32, Mapping>,
    table: Shared<Table>,
    counters: Rows<VolumeCounter>,
}

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// NAT66 is not enabled
    #[retval(FEATURE_DISABLED)]
    Disabled,
    /// NAT66 is already enabled
    #[retval(FEATURE_ALREADY_ENABLED)]
    Enabled,
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// the interface is not on that side
    #[retval(NO_SUCH_ENTRY)]
    NotThere,
    /// the interface is already on that side
    #[retval(VALUE_EXIST)]
    There,
    /// address {0} already has a mapping
    #[retval(VALUE_EXIST)]
    Exists(Ipv6Addr),
    /// no such mapping of {0}
    #[retval(NO_SUCH_ENTRY)]
    Unknown(Ipv6Addr),
    /// at most {MOST} mappings
    #[retval(LIMIT_EXCEEDED)]
    Full,
    /// no room for table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
}

/// Enables NAT66; what is outside is looked up in a table.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn enable(router: &mut Router, outside_vrf: u32) -> Result<(), Error> {
    if router.own::<Nat>().enabled.is_some() {
        return Err(Error::Enabled);
    }
    let table = router.hold_table::<Ip6>(outside_vrf).map_err(|_| Error::NoTable(outside_vrf))?;
    router.own_mut::<Nat>().enabled = Some((outside_vrf, table));
    publish(router);
    Ok(())
}

/// Disables NAT66: there are no mappings and sides any more.
///
/// # Errors
/// [`Error::Disabled`].
pub fn disable(router: &mut Router) -> Result<(), Error> {
    let (_, table) = router.own_mut::<Nat>().enabled.take().ok_or(Error::Disabled)?;
    let interfaces: Vec<_> = router.settings::<Sides>().map(|(interface, _)| interface).collect();
    for interface in interfaces {
        router.put(interface, Sides::default())?;
    }
    let gone = std::mem::take(&mut router.own_mut::<Nat>().mappings);
    gone.values().for_each(|m| router.release_table::<Ip6>(TableIndex(m.table)));
    router.release_table::<Ip6>(table);
    publish(router);
    Ok(())
}

/// Says on which side an interface is, or that it no longer is. It may be on both.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_side(
    router: &mut Router,
    interface: InterfaceIndex,
    is_inside: bool,
    on: bool,
) -> Result<(), Error> {
    router.own::<Nat>().enabled.ok_or(Error::Disabled)?;
    router.interfaces.at(interface).ok_or(NoInterface)?;
    let mut sides = router.setting::<Sides>(interface);
    let side = if is_inside { &mut sides.inside } else { &mut sides.outside };
    match (std::mem::replace(side, on), on) {
        (true, true) => return Err(Error::There),
        (false, false) => return Err(Error::NotThere),
        _ => (),
    }
    router.put(interface, sides)?;
    publish(router);
    Ok(())
}

/// Maps an address inside, in a table, to one outside.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(
    router: &mut Router,
    local: Ipv6Addr,
    external: Ipv6Addr,
    vrf: u32,
) -> Result<(), Error> {
    let nat = router.own::<Nat>();
    nat.enabled.ok_or(Error::Disabled)?;
    if nat.mappings.values().any(|m| m.local == local && m.vrf == vrf) {
        return Err(Error::Exists(local));
    }
    if nat.mappings.values().any(|m| m.external == external) {
        return Err(Error::Exists(external));
    }
    let number = (0..MOST as u32).find(|number| !nat.mappings.contains_key(number));
    let number = number.ok_or(Error::Full)?;
    let counters = nat.counters.clone();
    let TableIndex(table) = router.hold_table::<Ip6>(vrf).map_err(|_| Error::NoTable(vrf))?;
    router.count_from_zero(&counters, COLUMNS, number, "nat66 mappings");
    let mapping = Mapping { local, external, vrf, table };
    router.own_mut::<Nat>().mappings.insert(number, mapping);
    publish(router);
    Ok(())
}

/// Deletes a mapping.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove(
    router: &mut Router,
    local: Ipv6Addr,
    external: Ipv6Addr,
    vrf: u32,
) -> Result<(), Error> {
    let nat = router.own_mut::<Nat>();
    nat.enabled.ok_or(Error::Disabled)?;
    let is_it = |m: &Mapping| m.local == local && m.external == external && m.vrf == vrf;
    let found = nat.mappings.iter().find(|(_, m)| is_it(m)).map(|(number, _)| *number);
    let gone = found.and_then(|number| nat.mappings.remove(&number));
    let gone = gone.ok_or(Error::Unknown(local))?;
    router.release_table::<Ip6>(TableIndex(gone.table));
    publish(router);
    Ok(())
}

/// All mappings with what they translated.
pub fn mappings(router: &Router) -> impl Iterator<Item = (&Mapping, Volume)> {
    let nat = router.own::<Nat>();
    nat.mappings.iter().map(|(number, m)| (m, nat.counters.sum(*number as usize)))
}

/// Gives the nodes what is set.
fn publish(router: &mut Router) {
    let outside = router.settings::<Sides>().filter(|(_, sides)| sides.outside);
    let outside: Vec<u32> = outside.map(|(interface, _)| interface.0).collect();
    let externals: Vec<_> = router.own::<Nat>().mappings.values().map(|m| m.external).collect();
    let on = |i: &u32| {
        let interface = InterfaceIndex(*i);
        externals.iter().map(move |addr| (Some(interface), [IpAddr::V6(*addr); 2]))
    };
    router.answer_for("nat66", outside.iter().flat_map(on).collect());
    let nat = router.own_mut::<Nat>();
    let mut table = Table { outside, ..Table::default() };
    table.outside_table = nat.enabled.map_or(0, |(_, table)| table.0);
    for (number, m) in &nat.mappings {
        table.by_local.insert((m.table, m.local), (m.external, *number));
        table.by_external.insert(m.external, (m.local, m.table, *number));
    }
    nat.table.publish(table);
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let counters = router.stats.combined("/nat66/static-mapping", COLUMNS);
    let counters = counters.map_err(io::Error::other).map_err(refuse)?;
    router.attach::<Sides>().map_err(refuse)?;
    let table = Shared::new(Table::default());
    node::add(router, &table, &counters).map_err(refuse)?;
    router.attach_at::<Sides, _>([
        AttachedAt { arc: &IP6_UNICAST, node: node::NAMES[0], is_on: |s| s.inside },
        AttachedAt { arc: &IP6_UNICAST, node: node::NAMES[1], is_on: |s| s.outside },
    ]);
    router.insert(Nat { enabled: None, mappings: BTreeMap::new(), table, counters });
    router.interfaces.observe(|router, _, change| {
        if change == net::interface::Change::Deleting {
            publish(router);
        }
    });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
