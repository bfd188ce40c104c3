//! Labels that are bound to prefixes: their packets go where the prefix's do, whatever that is.

use net::fib::{self, Follower, Path, Pop, Source};
use net::prelude::*;

use super::table::{self, Key, Route};
use super::{Error, Mpls};

/// Binds a label to a prefix.
///
/// # Errors
/// A missing table, no room.
pub fn bind(
    router: &mut Router,
    (table, label): (u32, u32),
    (ip_table, prefix): (u32, Prefix),
) -> Result<(), Error> {
    let at = router.own::<Mpls>().tables.named(table).ok_or(Error::NoTable(table))?;
    let of = Link::of(prefix.addr());
    let ip = router.table_of(of, ip_table).ok_or(Error::Fib(fib::Error::NoTable))?;
    // A label is of one prefix at most.
    let _ = unbind(router, (table, label));
    for is_last in [true, false] {
        let (key, bound) = ((label, is_last), Some((ip, prefix)));
        let paths = paths(router, key, ip, prefix);
        let route = Route { source: Source::API, of, paths, is_multicast: false, bound };
        table::set(router, at, key, route)?;
    }
    router.watch_route(ip, prefix, Follower { call: again, key: key(at, label) }, true);
    Ok(())
}

/// Unbinds the label from the prefix.
///
/// # Errors
/// A label that is not bound.
pub fn unbind(router: &mut Router, (table, label): (u32, u32)) -> Result<(), Error> {
    let at = router.own::<Mpls>().tables.named(table).ok_or(Error::NoTable(table))?;
    let (ip, prefix) = bound(router, at, label).ok_or(Error::NoLabel)?;
    router.watch_route(ip, prefix, Follower { call: again, key: key(at, label) }, false);
    for is_last in [true, false] {
        table::take(router, at, (label, is_last), Source::API)?;
    }
    Ok(())
}

fn key(table: TableIndex, label: u32) -> u64 {
    u64::from(table.0) << 32 | u64::from(label)
}

/// The prefix that a label is bound to.
fn bound(router: &Router, table: TableIndex, label: u32) -> Option<(TableIndex, Prefix)> {
    let entry = router.own::<Mpls>().tables.at(table)?.entries.get(&(label, true))?;
    entry.routes.iter().find(|r| r.source == Source::API)?.bound
}

/// Follows a change of the prefix.
fn again(router: &mut Router, key: u64) {
    let (table, label) = (TableIndex((key >> 32) as u16), key as u32);
    let Some((ip, prefix)) = bound(router, table, label) else { return };
    for is_last in [true, false] {
        let (key, of, bound) = ((label, is_last), Link::of(prefix.addr()), Some((ip, prefix)));
        let paths = paths(router, key, ip, prefix);
        let route = Route { source: Source::API, of, paths, is_multicast: false, bound };
        if let Err(why) = table::set(router, table, key, route) {
            let log = router.log.class("mpls", "bind");
            log.error(format_args!("label {label} keeps its forwarding: {why}"));
        }
    }
}

/// Paths of packets with a label that is bound to a prefix.
fn paths(router: &Router, (_, is_last): Key, table: TableIndex, prefix: Prefix) -> Vec<Path> {
    let of = Link::of(prefix.addr());
    let link = if is_last { of } else { Link::Mpls };
    let pop = Some(Pop { link, is_uniform: false, has_control_word: false, rpf_id: 0 });
    let lookup = || Path { pop, ..Path::to(Target::Lookup { link: of, table }) };
    let one = |path: &Path| match path.target {
        _ if path.pushed().next().is_some() => path.clone(),
        Target::Neighbor { .. } | Target::ForeignNeighbor { .. } | Target::Recursive { .. } => {
            Path { pop, ..path.with_link(link) }
        }
        // What is not one neighbour is found by the packet's own destination.
        _ if is_last => lookup(),
        _ => Path::to(Target::Drop),
    };
    match router.paths_of(table, prefix) {
        Some(paths) => paths.iter().map(one).collect(),
        None if is_last => vec![lookup()],
        None => vec![Path::to(Target::Drop)],
    }
}
