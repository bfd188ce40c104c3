//! Proxies (RFC 4605): one host interface joins what the hosts of router interfaces want.

use net::prelude::*;

use super::{Error, Igmp, Mode, Wanted, host, port, querier, routes};

/// A proxy of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// Host interface (upstream).
    pub upstream: InterfaceIndex,
    /// The router interfaces.
    pub downstream: BTreeSet<InterfaceIndex>,
}

/// Makes the proxy of a table, or deletes it; what it joined is left then.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_proxy(
    router: &mut Router,
    table: u32,
    upstream: InterfaceIndex,
    is_add: bool,
) -> Result<(), Error> {
    router.interfaces.at(upstream).ok_or(Error::NoInterface)?;
    let known = router.own::<Igmp>().proxies.get(&table).map(|proxy| proxy.upstream);
    if !is_add {
        if known != Some(upstream) {
            return Err(Error::NoProxy);
        }
        remove(router, table);
        return Ok(());
    }
    let index = router.fib.table_for(Link::Ip4, table).ok_or(Error::NoTable)?;
    let on = port(router, upstream)?;
    if on.mode != Mode::Host {
        return Err(Error::IsRouter);
    }
    if on.table != index {
        return Err(Error::OtherTable);
    }
    if known.is_some_and(|known| known != upstream) {
        return Err(Error::HasProxy);
    }
    let new = Proxy { upstream, downstream: BTreeSet::new() };
    router.own_mut::<Igmp>().proxies.entry(table).or_insert(new);
    Ok(())
}

fn remove(router: &mut Router, table: u32) {
    let Some(gone) = router.own_mut::<Igmp>().proxies.remove(&table) else { return };
    let mut groups = BTreeSet::new();
    for interface in gone.downstream {
        groups.extend(heard(router, interface));
    }
    for group in groups {
        let _ = host::set(router, gone.upstream, group, Wanted::default());
        if let Ok(table) = port(router, gone.upstream).map(|on| on.table) {
            routes::follow(router, table, group);
        }
    }
}

fn heard(router: &Router, interface: InterfaceIndex) -> Vec<Ipv4Addr> {
    port(router, interface).map_or_else(|_| Vec::new(), |on| on.heard.keys().copied().collect())
}

/// Adds or removes a router interface of a table's proxy.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_proxy_interface(
    router: &mut Router,
    table: u32,
    interface: InterfaceIndex,
    is_add: bool,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let upstream = router.own::<Igmp>().proxies.get(&table).ok_or(Error::NoProxy)?.upstream;
    if is_add {
        let on = port(router, interface)?;
        if on.mode != Mode::Router {
            return Err(Error::IsHost);
        }
        if on.table != port(router, upstream)?.table {
            return Err(Error::OtherTable);
        }
    }
    let Some(proxy) = router.own_mut::<Igmp>().proxies.get_mut(&table) else {
        return Err(Error::NoProxy);
    };
    let was_there = match is_add {
        true => !proxy.downstream.insert(interface),
        false => proxy.downstream.remove(&interface),
    };
    if !is_add && !was_there {
        return Err(Error::NoProxy);
    }
    for group in heard(router, interface) {
        join(router, table, group);
    }
    Ok(())
}

/// Takes an interface out of proxies; the proxy whose host interface it is goes.
pub fn forget(router: &mut Router, interface: InterfaceIndex) {
    let of = |(table, proxy): (&u32, &Proxy)| {
        let is_of = proxy.upstream == interface || proxy.downstream.contains(&interface);
        is_of.then_some((*table, proxy.upstream == interface))
    };
    let all: Vec<_> = router.own::<Igmp>().proxies.iter().filter_map(of).collect();
    for (table, is_upstream) in all {
        match is_upstream {
            true => remove(router, table),
            false => {
                let _ = set_proxy_interface(router, table, interface, false);
            }
        }
    }
}

/// Follows what the hosts of a router interface want of a group.
pub fn follow(router: &mut Router, interface: InterfaceIndex, group: Ipv4Addr) {
    let of =
        |(table, proxy): (&u32, &Proxy)| proxy.downstream.contains(&interface).then_some(*table);
    let all: Vec<_> = router.own::<Igmp>().proxies.iter().filter_map(of).collect();
    all.into_iter().for_each(|table| join(router, table, group));
}

/// Joins what all hosts of a proxy together want of a group.
fn join(router: &mut Router, table: u32, group: Ipv4Addr) {
    let igmp = router.own::<Igmp>();
    let Some(proxy) = igmp.proxies.get(&table) else { return };
    let ports = proxy.downstream.iter().filter_map(|interface| igmp.ports.get(interface));
    let heard = ports.filter_map(|on| on.heard.get(&group)).flat_map(|all| all.keys().copied());
    let mut sources: BTreeSet<_> = heard.collect();
    let is_exclude = sources.contains(&querier::ALL);
    if is_exclude {
        sources.clear();
    }
    let upstream = proxy.upstream;
    let wanted = Wanted { is_exclude, sources };
    let is_new = port(router, upstream)
        .is_ok_and(|on| *on.wanted.get(&group).unwrap_or(&Wanted::default()) != wanted);
    if is_new && let Err(e) = host::set(router, upstream, group, wanted) {
        router.log.class("igmp", "").warn(format_args!("the proxy cannot join {group}: {e}"));
    }
    if let Ok(table) = port(router, upstream).map(|on| on.table) {
        routes::follow(router, table, group);
    }
}

/// The router interfaces of the proxies of a host interface, with hosts that want a group.
pub fn listeners(igmp: &Igmp, upstream: InterfaceIndex, group: Ipv4Addr) -> Vec<InterfaceIndex> {
    let proxies = igmp.proxies.values().filter(|proxy| proxy.upstream == upstream);
    let all = proxies.flat_map(|proxy| proxy.downstream.iter().copied());
    all.filter(|i| igmp.ports.get(i).is_some_and(|on| on.heard.contains_key(&group))).collect()
}

/// Groups that proxies joined on a host interface.
pub fn joined(igmp: &Igmp, upstream: InterfaceIndex) -> BTreeSet<Ipv4Addr> {
    let proxies = igmp.proxies.values().filter(|proxy| proxy.upstream == upstream);
    let ports = proxies.flat_map(|p| &p.downstream).filter_map(|i| igmp.ports.get(i));
    ports.flat_map(|on| on.heard.keys().copied()).collect()
}
