//! Routes that lead to a table: `via classify TABLE`, and those of an interface's own addresses
//! (`set ip classify`).
#![forbid(unsafe_code)]

use control::cli::Error as Wrong;
use net::fib::types::{FibPath, FibPathType};
use net::fib::{NewKind, Object, ObjectKind, Path, PathType, PathWord, RouteOf, Source};
use net::prelude::*;

use super::Error;
use super::node::{NAMES, ROUTED};
use super::table::NONE;
use super::tables::Classifier;

/// The routes of an interface's addresses: routing table, prefix, table of the classifier.
type Routes = Vec<(TableIndex, Prefix, u32)>;

/// Tables that routes lead to.
struct Steering {
    kind: ObjectKind,
    /// Number of paths to each table.
    users: BTreeMap<u32, u32>,
    /// The tables of interfaces' own addresses, of IPv4 and IPv6.
    own: BTreeMap<InterfaceIndex, [u32; 2]>,
    /// The routes that follow from those.
    routes: BTreeMap<InterfaceIndex, Routes>,
}

/// Whether routes lead to a table.
fn is_used(router: &Router, table: u32) -> bool {
    let steering = router.own::<Steering>();
    let is_own = steering.own.values().flatten().any(|own| *own == table);
    is_own || steering.users.contains_key(&table)
}

/// The tables of interfaces' own addresses, of IPv4 and IPv6.
pub fn own_tables(router: &Router) -> impl Iterator<Item = (InterfaceIndex, [u32; 2])> {
    router.own::<Steering>().own.iter().map(|(interface, own)| (*interface, *own))
}

/// Sets the table for packets to an interface's own addresses of a version; [`NONE`]: none.
///
/// # Errors
/// [`Error::NoInterface`], [`Error::NoTableThere`]; nothing has changed then.
pub fn set_own(
    router: &mut Router,
    interface: InterfaceIndex,
    is_ip6: bool,
    table: u32,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    if table != NONE && router.own::<Classifier>().table(table).is_none() {
        return Err(Error::NoTableThere);
    }
    let all = &mut router.own_mut::<Steering>().own;
    let own = all.entry(interface).or_insert([NONE; 2]);
    own[usize::from(is_ip6)] = table;
    if *own == [NONE; 2] {
        all.remove(&interface);
    }
    follow_addresses(router, interface);
    Ok(())
}

/// Updates routes of an interface's addresses.
fn follow_addresses(router: &mut Router, interface: InterfaceIndex) {
    let steering = router.own::<Steering>();
    let [ip4, ip6] = steering.own.get(&interface).copied().unwrap_or([NONE; 2]);
    let old = steering.routes.get(&interface).cloned().unwrap_or_default();
    if old.is_empty() && [ip4, ip6] == [NONE; 2] {
        return;
    }
    let on = router.addresses.of(interface);
    let mut new = Routes::new();
    if on.is_routed && ip4 != NONE {
        let host = |p: &Ip4Prefix| Prefix::Ip4(Ip4Prefix::host(p.addr()));
        new.extend(on.ip4.iter().map(|p| (on.table4, host(p), ip4)));
    }
    if on.is_routed && ip6 != NONE {
        let host = |p: &Ip6Prefix| Prefix::Ip6(Ip6Prefix::host(p.addr()));
        new.extend(on.ip6.iter().map(|p| (on.table6, host(p), ip6)));
    }
    let kind = router.own::<Steering>().kind;
    for (table, prefix, _) in old.iter().filter(|route| !new.contains(route)) {
        // A table that is gone has taken its routes along.
        let _ = router.remove_route(*table, *prefix, Source::CLASSIFY, &[]);
    }
    new.retain(|route| {
        let (table, prefix, index) = *route;
        let path = Path::to(Target::Object(Object { kind, index }));
        // Without room for one more route the address stays as it was.
        old.contains(route) || router.set_route(table, prefix, Source::CLASSIFY, &[path]).is_ok()
    });
    let routes = &mut router.own_mut::<Steering>().routes;
    if new.is_empty() {
        routes.remove(&interface);
    } else {
        routes.insert(interface, new);
    }
}

fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        router.own_mut::<Steering>().own.remove(&interface);
        follow_addresses(router, interface);
    }
}

/// Records that a path leads to a table, or not.
fn hold(router: &mut Router, table: u32, is_held: bool) {
    let users = &mut router.own_mut::<Steering>().users;
    let count = users.entry(table).or_default();
    *count = if is_held { *count + 1 } else { count.saturating_sub(1) };
    if *count == 0 {
        users.remove(&table);
    }
}

fn is_routed(of: RouteOf) -> bool {
    matches!(of, RouteOf::Link(Link::Ip4 | Link::Ip6))
}

fn read(router: &Router, path: &FibPath, of: RouteOf) -> Result<Target, Retval> {
    if !is_routed(of) {
        return Err(Retval::INVALID_ADDRESS_FAMILY);
    }
    let index = path.nh.classify_table_index;
    router.own::<Classifier>().table(index).ok_or(Error::NoTable)?;
    Ok(Target::Object(Object { kind: router.own::<Steering>().kind, index }))
}

fn write(router: &Router, object: Object, path: &mut FibPath) -> bool {
    let is_one = object.kind == router.own::<Steering>().kind;
    if is_one {
        path.nh.classify_table_index = object.index;
    }
    is_one
}

fn parse(router: &Router, of: RouteOf, args: &mut Args<'_>) -> Result<Object, Wrong> {
    if !is_routed(of) {
        return Err(args.error("a route of IPv4 or IPv6 before"));
    }
    let place = *args;
    let index = args.value("table of the classifier")?;
    if router.own::<Classifier>().table(index).is_none() {
        return Err(place.error("no such table"));
    }
    Ok(Object { kind: router.own::<Steering>().kind, index })
}

/// Registers the kind of object behind the nodes.
pub(super) fn register(router: &mut Router) -> Result<(), Refused> {
    let [ip4, ip6, _] = NAMES[ROUTED as usize];
    let nodes = vec![(Link::Ip4, ip4.to_owned()), (Link::Ip6, ip6.to_owned())];
    let describe = |_: &Router, index| format!("classify:[{index}]:table:{index}");
    let kind = router.add_object_kind(NewKind { nodes, describe }).map_err(refuse)?;
    router.fib.watch_objects(kind, hold);
    router.fib.add_path_type(PathType { number: FibPathType::CLASSIFY, read, write });
    let print = |_: &Router, index: u32| Some(index.to_string());
    router.fib.add_path_word(PathWord { kind, word: "classify", parse, print });
    let (users, own, routes) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    router.insert(Steering { kind, users, own, routes });
    super::tables::add_user(router, is_used);
    router.interfaces.observe(follow);
    router.addresses.observe(|router, interface, _| follow_addresses(router, interface));
    Ok(())
}
