//! Allow/deny lists: an interface takes packets of IPv4 or IPv6 only from sources to which a
//! routing table has a route to the router itself. Everything else is dropped before anybody looks
//! at it.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;

use net::interface::DEVICE_INPUT;
use net::prelude::*;

pub use api::*;

/// Allow/deny lists.
pub const FEATURE: Feature = Feature {
    name: "adl",
    about: "Allow/deny list plugin",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The setting of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// Whether packets are looked at.
    pub is_on: bool,
    /// Tables of allowed sources of IPv4 and IPv6: number and index.
    pub tables: [Option<(u32, TableIndex)>; 2],
    /// Whether packets of other protocols go by the default list, which allows all.
    pub has_default: bool,
}

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
}

/// Enables or disables source checks on an interface.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn enable(router: &mut Router, interface: InterfaceIndex, on: bool) -> Result<(), Error> {
    let lists = router.setting::<Lists>(interface);
    Ok(router.put(interface, Lists { is_on: on, ..lists })?)
}

/// Sets the lists of an interface: sources of IPv4 and IPv6 must be in this table, where they are
/// meant, and the default list.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_lists(
    router: &mut Router,
    interface: InterfaceIndex,
    id: u32,
    versions: [bool; 2],
    has_default: bool,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(NoInterface)?;
    let mut tables = [None; 2];
    let found = [router.fib.table::<Ip4>(id), router.fib.table::<Ip6>(id)];
    for ((table, is_meant), found) in tables.iter_mut().zip(versions).zip(found) {
        if is_meant {
            *table = Some((id, found.ok_or(Error::NoTable(id))?));
        }
    }
    let old = router.setting::<Lists>(interface);
    use_tables(router, &tables, true);
    router.put(interface, Lists { tables, has_default, ..old })?;
    use_tables(router, &old.tables, false);
    Ok(())
}

fn use_tables(router: &mut Router, tables: &[Option<(u32, TableIndex)>; 2], uses: bool) {
    for (table, link) in tables.iter().zip([Link::Ip4, Link::Ip6]) {
        if let Some((_, table)) = table {
            router.use_table_of(link, *table, uses);
        }
    }
}

fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        let lists = router.setting::<Lists>(interface);
        use_tables(router, &lists.tables, false);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut parts.router;
    // Before the setting forgets it.
    router.interfaces.observe(follow);
    let lists = router.attach::<Lists>().map_err(refuse)?;
    node::add(router, &lists).map_err(refuse)?;
    let [input, ip4, ip6, default] = node::NAMES;
    router.attach_at::<Lists, _>([
        AttachedAt { arc: &DEVICE_INPUT, node: input, is_on: |l| l.is_on },
        AttachedAt { arc: &DEVICE_INPUT, node: ip4, is_on: |l| l.is_on && l.tables[0].is_some() },
        AttachedAt { arc: &DEVICE_INPUT, node: ip6, is_on: |l| l.is_on && l.tables[1].is_some() },
        AttachedAt { arc: &DEVICE_INPUT, node: default, is_on: |l| l.is_on && l.has_default },
    ]);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
