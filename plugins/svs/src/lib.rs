//! Source VRF select: the routing table that a packet's destination is looked up in follows from
//! its source, by the longest prefix in a table of sources that the interface has. A packet from no
//! listed source stays with the table of its interface.
//!
//! Tables of sources have numbers as routing tables have, and are none themselves.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;

use net::prelude::*;

pub use api::*;

use node::Sources;

/// Tables of sources at most.
const MOST: usize = 1 << 16;

/// Source VRF select.
pub const FEATURE: Feature = Feature {
    name: "svs",
    about: "Source Virtual Routing and Fowarding (VRF) Select",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The setting of an interface: its tables of IPv4 and IPv6 sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chosen([Option<u32>; 2]);

/// A table of sources.
struct Table {
    /// Its place among those of the nodes.
    slot: u32,
    /// The routing table of each prefix: its number and index.
    routes: BTreeMap<Prefix, (u32, TableIndex)>,
}

/// All tables, by version and number.
struct Tables {
    all: BTreeMap<(IpVersion, u32), Table>,
    slab: SharedSlab<Sources>,
}

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no source table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// source table {0} exists
    #[retval(VALUE_EXIST)]
    Exists(u32),
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoFib(u32),
    /// source table {0} is in use by an interface
    #[retval(INSTANCE_IN_USE)]
    InUse(u32),
    /// no source route {0}
    #[retval(NO_SUCH_ENTRY)]
    NoRoute(Prefix),
    /// the interface does not use that table
    #[retval(NO_SUCH_ENTRY)]
    NotOn,
    /// no room for another table
    #[retval(LIMIT_EXCEEDED)]
    Full,
}

/// Makes a table of sources.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add_table(router: &mut Router, version: IpVersion, id: u32) -> Result<(), Error> {
    let tables = router.own_mut::<Tables>();
    if tables.all.contains_key(&(version, id)) {
        return Err(Error::Exists(id));
    }
    let slot = tables.slab.insert(Sources::default()).map_err(|_| Error::Full)?;
    tables.all.insert((version, id), Table { slot, routes: BTreeMap::new() });
    Ok(())
}

/// Deletes a table of sources.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove_table(router: &mut Router, version: IpVersion, id: u32) -> Result<(), Error> {
    let slot = table(router, version, id)?.slot;
    if router.settings::<Chosen>().any(|(_, c)| c.0[version as usize] == Some(slot)) {
        return Err(Error::InUse(id));
    }
    let tables = router.own_mut::<Tables>();
    tables.slab.remove(slot);
    let gone = tables.all.remove(&(version, id)).expect("it was found");
    gone.routes.values().for_each(|(_, fib)| router.use_table_of(version, *fib, false));
    Ok(())
}

fn table(router: &Router, version: IpVersion, id: u32) -> Result<&Table, Error> {
    router.own::<Tables>().all.get(&(version, id)).ok_or(Error::NoTable(id))
}

/// Sets the table for packets from a prefix.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add_route(router: &mut Router, id: u32, prefix: Prefix, fib: u32) -> Result<(), Error> {
    let (version, prefix) = (IpVersion::from(prefix), prefix.network());
    table(router, version, id)?;
    let index = router.fib.table_for(version, fib).ok_or(Error::NoFib(fib))?;
    router.use_table_of(version, index, true);
    let table = router.own_mut::<Tables>().all.get_mut(&(version, id)).expect("it was found");
    if let Some((_, old)) = table.routes.insert(prefix, (fib, index)) {
        router.use_table_of(version, old, false);
    }
    publish(router, version, id);
    Ok(())
}

/// Deletes the table for packets from a prefix.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove_route(router: &mut Router, id: u32, prefix: Prefix) -> Result<(), Error> {
    let (version, prefix) = (IpVersion::from(prefix), prefix.network());
    table(router, version, id)?;
    let table = router.own_mut::<Tables>().all.get_mut(&(version, id)).expect("it was found");
    let (_, old) = table.routes.remove(&prefix).ok_or(Error::NoRoute(prefix))?;
    router.use_table_of(version, old, false);
    publish(router, version, id);
    Ok(())
}

/// Gives the nodes a table.
fn publish(router: &mut Router, version: IpVersion, id: u32) {
    let tables = router.own_mut::<Tables>();
    if let Some(table) = tables.all.get(&(version, id)) {
        let bits = |addr: IpAddr| match addr {
            IpAddr::V4(addr) => u128::from(addr.to_bits()) << 96,
            IpAddr::V6(addr) => addr.to_bits(),
        };
        let routes = table.routes.iter();
        let routes = routes.map(|(p, (_, fib))| (bits(p.addr()), p.prefix_len(), fib.0));
        tables.slab.replace(table.slot, Sources::of(routes));
    }
}

/// Enables source table selection on an interface.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn enable(
    router: &mut Router,
    interface: InterfaceIndex,
    version: IpVersion,
    id: u32,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(NoInterface)?;
    let slot = table(router, version, id)?.slot;
    let mut chosen = router.setting::<Chosen>(interface);
    chosen.0[version as usize] = Some(slot);
    Ok(router.put(interface, chosen)?)
}

/// Disables source table selection on an interface.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn disable(
    router: &mut Router,
    interface: InterfaceIndex,
    version: IpVersion,
    id: u32,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(NoInterface)?;
    let slot = table(router, version, id)?.slot;
    let mut chosen = router.setting::<Chosen>(interface);
    if chosen.0[version as usize] != Some(slot) {
        return Err(Error::NotOn);
    }
    chosen.0[version as usize] = None;
    Ok(router.put(interface, chosen)?)
}

/// Interfaces that choose, by which version and table.
pub fn enabled(router: &Router) -> impl Iterator<Item = (InterfaceIndex, IpVersion, u32)> {
    let all = &router.own::<Tables>().all;
    router.settings::<Chosen>().flat_map(move |(interface, chosen)| {
        IpVersion::ALL.into_iter().filter_map(move |version| {
            let slot = chosen.0[version as usize]?;
            let found = all.iter().find(|((of, _), t)| *of == version && t.slot == slot);
            found.map(|((_, id), _)| (interface, version, *id))
        })
    })
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let chosen = router.attach::<Chosen>().map_err(refuse)?;
    let slab = SharedSlab::new(MOST).map_err(refuse)?;
    node::add(router, &chosen, &slab.reader()).map_err(refuse)?;
    router.attach_at::<Chosen, _>([
        AttachedAt { arc: &IP4_UNICAST, node: node::NAMES[0], is_on: |c| c.0[0].is_some() },
        AttachedAt { arc: &IP6_UNICAST, node: node::NAMES[1], is_on: |c| c.0[1].is_some() },
    ]);
    router.insert(Tables { all: BTreeMap::new(), slab });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
