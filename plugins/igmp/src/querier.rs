//! Groups that hosts of a router's link want (RFC 3376 section 6).

use net::prelude::*;
use wire::igmp::RecordType;

use super::tasks::{self, SECOND, Task};
use super::{FilterMode, IgmpEvent};
use super::{Igmp, Mode, Range, is_group, port, port_mut, proxy, routes, send};

/// The source that stands for all.
pub const ALL: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
/// Sources of a group on an interface.
pub const MOST_OF_GROUP: usize = 1024;

/// Sends queries, unless another router does, and again after a while.
pub fn ask(router: &mut Router, interface: InterfaceIndex) {
    let Ok(on) = port(router, interface) else { return };
    if on.mode != Mode::Router {
        return;
    }
    let (now, silent_until) = (tasks::now(router), on.silent_until);
    let timers = router.own::<Igmp>().timers;
    if silent_until <= now {
        send::query(router, interface, None, &[]);
    }
    let next = silent_until.max(now + u64::from(timers.query) * SECOND);
    tasks::put(router, next, Task::Query(interface));
}

/// Another router asks: the one with the lower address goes on (section 6.6.2).
pub fn other_asks(router: &mut Router, interface: InterfaceIndex, from: Ipv4Addr) {
    let own = router.addresses.of(interface).ip4.first().map(|prefix| prefix.addr());
    if from.is_unspecified() || own.is_some_and(|own| own <= from) {
        return;
    }
    let query = u64::from(router.own::<Igmp>().timers.query);
    let until = tasks::now(router) + 2 * query * SECOND + query * SECOND / 2;
    if let Some(on) = port_mut(router, interface) {
        on.silent_until = until;
    }
}

/// Hosts say what they want.
pub fn heard(
    router: &mut Router,
    interface: InterfaceIndex,
    records: Vec<(RecordType, Ipv4Addr, Vec<Ipv4Addr>)>,
) {
    for (kind, group, sources) in records {
        if !is_group(group) {
            continue;
        }
        let is_specific = router.own::<Igmp>().range_of(group) == Range::Specific;
        match kind {
            RecordType::IsExclude | RecordType::ToExclude if is_specific => {}
            RecordType::IsExclude | RecordType::ToExclude => {
                join(router, interface, group, &[ALL]);
            }
            RecordType::Allow | RecordType::IsInclude => {
                join(router, interface, group, &sources);
                if sources.is_empty() && kind == RecordType::IsInclude {
                    doubt(router, interface, group, |source| source == ALL);
                }
            }
            RecordType::ToInclude => {
                join(router, interface, group, &sources);
                doubt(router, interface, group, |source| !sources.contains(&source));
            }
            RecordType::Block => {
                doubt(router, interface, group, |source| sources.contains(&source));
            }
        }
    }
    settle(router);
}

/// Sources are wanted, for a while from now on.
fn join(router: &mut Router, interface: InterfaceIndex, group: Ipv4Addr, sources: &[Ipv4Addr]) {
    let igmp = router.own::<Igmp>();
    let own = igmp.ports.get(&interface).map_or(0, |on| on.count);
    let (lifetime, mut room) = (u64::from(igmp.timers.source) * SECOND, igmp.room_on(own));
    let until = tasks::now(router) + lifetime;
    let mut new = Vec::new();
    for source in sources {
        if source.is_multicast() || source.is_broadcast() {
            continue;
        }
        let Some(on) = port_mut(router, interface) else { return };
        let known = on.heard.get(&group).and_then(|all| all.get(source)).copied();
        let of_group = on.heard.get(&group).map_or(0, BTreeMap::len);
        if known.is_none() && (room == 0 || of_group >= MOST_OF_GROUP) {
            router.log.class("igmp", "").warn("no room for more groups and sources");
            break;
        }
        on.heard.entry(group).or_default().insert(*source, until);
        match known {
            Some(before) => tasks::take(router, before, Task::Expire(interface, group, *source)),
            None => {
                room -= 1;
                on.count += 1;
                new.push(*source);
            }
        }
        tasks::put(router, until, Task::Expire(interface, group, *source));
    }
    router.own_mut::<Igmp>().held += new.len();
    changed(router, interface, group, &new, true);
}

/// Sources were left: queries for other members, who have to report soon.
fn doubt(
    router: &mut Router,
    interface: InterfaceIndex,
    group: Ipv4Addr,
    is_meant: impl Fn(Ipv4Addr) -> bool,
) {
    let until = tasks::now(router) + u64::from(router.own::<Igmp>().timers.leave) * SECOND;
    let Some(all) = port_mut(router, interface).and_then(|on| on.heard.get_mut(&group)) else {
        return;
    };
    let meant = all.iter_mut().filter(|(source, at)| is_meant(**source) && **at > until);
    let meant: Vec<_> = meant.map(|(source, at)| (*source, std::mem::replace(at, until))).collect();
    for (source, before) in &meant {
        tasks::take(router, *before, Task::Expire(interface, group, *source));
        tasks::put(router, until, Task::Expire(interface, group, *source));
    }
    // Others were asked already about sources that are left anyway.
    if !meant.is_empty() {
        let sources: Vec<_> = meant.into_iter().map(|(s, _)| s).filter(|s| *s != ALL).collect();
        send::query(router, interface, Some(group), &sources);
    }
}

/// Removes an expired source, if it still is.
pub fn expire(
    router: &mut Router,
    interface: InterfaceIndex,
    group: Ipv4Addr,
    source: Ipv4Addr,
    at: u64,
) {
    let Some(on) = port_mut(router, interface) else { return };
    let Some(all) = on.heard.get_mut(&group) else { return };
    if all.get(&source) != Some(&at) {
        return;
    }
    all.remove(&source);
    if all.is_empty() {
        on.heard.remove(&group);
    }
    on.count -= 1;
    router.own_mut::<Igmp>().held -= 1;
    changed(router, interface, group, &[source], false);
}

/// Forgets what hosts want of a group.
pub fn forget(router: &mut Router, interface: InterfaceIndex, group: Ipv4Addr) {
    let Some(on) = port_mut(router, interface) else { return };
    let gone: BTreeMap<Ipv4Addr, u64> = on.heard.remove(&group).unwrap_or_default();
    on.count -= gone.len();
    for (source, at) in &gone {
        tasks::take(router, *at, Task::Expire(interface, group, *source));
    }
    let gone: Vec<_> = gone.into_keys().collect();
    router.own_mut::<Igmp>().held -= gone.len();
    changed(router, interface, group, &gone, false);
    settle(router);
}

/// Tells clients of sources that came or went; proxies and routes follow in [`settle`].
fn changed(
    router: &mut Router,
    interface: InterfaceIndex,
    group: Ipv4Addr,
    sources: &[Ipv4Addr],
    is_new: bool,
) {
    if sources.is_empty() {
        return;
    }
    let filter = if is_new { FilterMode::INCLUDE } else { FilterMode::EXCLUDE };
    for source in sources {
        let event = IgmpEvent { sw_if_index: interface, filter, saddr: *source, gaddr: group };
        router.clients.send(&event);
    }
    unsettled(router).insert((interface, group));
}

fn unsettled(router: &mut Router) -> &mut BTreeSet<(InterfaceIndex, Ipv4Addr)> {
    &mut router.own_mut::<Igmp>().unsettled
}

/// Makes proxies and routes follow the groups that have changed: once for all changes of a report,
/// as each looks at all sources.
pub fn settle(router: &mut Router) {
    while let Some((interface, group)) = unsettled(router).pop_first() {
        proxy::follow(router, interface, group);
        if let Ok(table) = port(router, interface).map(|on| on.table) {
            routes::follow(router, table, group);
        }
    }
}
