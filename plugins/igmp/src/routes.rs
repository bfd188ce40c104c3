//! Multicast routes: packets to groups that are accepted, for this router and for hosts behind
//! proxies.

use net::fib::Path;
use net::mfib::{ItfFlags, MPath, MPrefix};
use net::prelude::*;
use wire::igmp::{ALL_SYSTEMS, REPORTS};

use super::{Igmp, Mode, proxy};

/// Routes there are.
pub type Installed = BTreeMap<(TableIndex, Ipv4Addr), Vec<MPath>>;

/// Makes the routes of a table for messages of the protocol, and all its groups, what they should
/// be.
pub fn follow_all(router: &mut Router, table: TableIndex) {
    let igmp = router.own::<Igmp>();
    let there = igmp.routes.keys().filter(|key| key.0 == table).map(|key| key.1);
    let ports = igmp.ports.values().filter(|on| on.table == table);
    let wanted = ports.flat_map(|on| on.wanted.keys().copied());
    let mut groups: Vec<_> = there.chain(wanted).chain([ALL_SYSTEMS, REPORTS]).collect();
    groups.sort_unstable();
    groups.dedup();
    groups.into_iter().for_each(|group| follow(router, table, group));
}

/// Makes the route of a group what it should be.
pub fn follow(router: &mut Router, table: TableIndex, group: Ipv4Addr) {
    let paths = paths(router.own::<Igmp>(), table, group);
    let igmp = router.own_mut::<Igmp>();
    let source = igmp.source;
    let before = match paths.is_empty() {
        true => igmp.routes.remove(&(table, group)),
        false => igmp.routes.insert((table, group), paths.clone()),
    };
    let before = before.unwrap_or_default();
    if before == paths {
        return;
    }
    let prefix = MPrefix { group: group.into(), len: 32, source: None };
    let is_in = |path: &MPath, of: &[MPath]| of.iter().any(|p| p.path.target == path.path.target);
    if !paths.is_empty()
        && let Err(e) = router.add_mroute_paths(table, prefix, source, &paths)
    {
        router.log.class("igmp", "").warn(format_args!("no route to {group}: {e}"));
    }
    let gone: Vec<_> = before.into_iter().filter(|path| !is_in(path, &paths)).collect();
    if !gone.is_empty() {
        // With its last path the route goes.
        let _ = router.remove_mroute(table, prefix, source, &gone);
    }
}

fn paths(igmp: &Igmp, table: TableIndex, group: Ipv4Addr) -> Vec<MPath> {
    let mut flags: BTreeMap<InterfaceIndex, ItfFlags> = BTreeMap::new();
    let mut put = |interface, flag| {
        let flags = flags.entry(interface).or_default();
        *flags = flags.with(flag);
    };
    let is_ours = [ALL_SYSTEMS, REPORTS].contains(&group);
    let mut is_received = false;
    for (interface, on) in igmp.ports.iter().filter(|(_, on)| on.table == table) {
        let is_wanted = on.mode == Mode::Host && on.wanted.contains_key(&group);
        if is_ours || is_wanted {
            put(*interface, ItfFlags::ACCEPT);
            is_received = true;
        }
        for listener in proxy::listeners(igmp, *interface, group) {
            put(listener, ItfFlags::FORWARD);
        }
    }
    let own = Ipv4Addr::UNSPECIFIED.into();
    let path = |target, flags| MPath { path: Path::to(target), flags };
    let attached = flags
        .into_iter()
        .map(|(interface, flags)| path(Target::Attached { interface, own }, flags));
    let receive = Target::Receive { interface: None, addr: None };
    attached.chain(is_received.then(|| path(receive, ItfFlags::FORWARD))).collect()
}
