//! Domains, rules, parameters and interfaces, and what follows from them for the nodes.

use control::stats::Columns;
use infra::counter::Rows;
use net::fib::Followed;
use net::prelude::*;

use super::domain::Domain;
use super::params::Params;
use super::prefixes::Prefixes;
use super::table::{Readers, Settings, Table, bits4};
use super::{Error, MOST, OnInterface};

/// The node that puts fragments of IPv6 together before packets are taken out of it.
const REASSEMBLY: &str = "ip6-full-reassembly-feature";
const BY_DOMAIN: Columns = Columns::growing("domain", MOST);
const BY_TOTAL: Columns = Columns::growing("total", 8);

/// The state of control.
struct State {
    domains: SharedSlab<Domain>,
    table: Shared<Arc<Table>>,
    settings: Shared<Settings>,
    /// The ways of next hops, of IPv4 and IPv6.
    hops: [Option<Followed>; 2],
    counters: [Rows<VolumeCounter>; 2],
    totals: Rows<VolumeCounter>,
}

/// Makes the state; returns what nodes read.
pub(super) fn insert(router: &mut Router) -> io::Result<Readers> {
    let mut rows = |name, columns| router.stats.combined(name, columns).map_err(io::Error::other);
    let counters = [rows("/map/rx", BY_DOMAIN)?, rows("/map/tx", BY_DOMAIN)?];
    let totals = rows("/map/totals", BY_TOTAL)?;
    router.stats.grow(BY_TOTAL, 8).map_err(io::Error::other)?;
    let state = State {
        domains: SharedSlab::new(MOST)?,
        table: Shared::new(Arc::default()),
        settings: Shared::new(Settings::default()),
        hops: [None, None],
        counters,
        totals,
    };
    let readers = Readers {
        domains: state.domains.reader(),
        table: state.table.reader(),
        settings: state.settings.reader(),
        counters: state.counters.clone(),
        totals: state.totals.clone(),
        ports: router.interfaces.ports(),
    };
    router.insert(state);
    Ok(readers)
}

/// Makes a domain; returns its number.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, domain: Domain) -> Result<u32, Error> {
    domain.check().map_err(Error::Unfit)?;
    let state = router.own_mut::<State>();
    let number = state.domains.insert(domain).map_err(|_| Error::Full)?;
    list(state, number, true);
    for counters in router.own::<State>().counters.clone() {
        router.count_from_zero(&counters, BY_DOMAIN, number, "MAP domains");
    }
    Ok(number)
}

/// Deletes a domain.
///
/// # Errors
/// [`Error::NoDomain`].
pub fn remove(router: &mut Router, number: u32) -> Result<(), Error> {
    at(router, number)?;
    let state = router.own_mut::<State>();
    list(state, number, false);
    state.domains.remove(number);
    Ok(())
}

/// Adds a domain to the nodes' table, or removes it.
fn list(state: &mut State, number: u32, is_add: bool) {
    let Some(d) = state.domains.at(number) else { return };
    let mut table = Table::clone(state.table.current());
    let change = if is_add { Prefixes::add } else { Prefixes::remove };
    change(&mut table.by4, d.ip4_prefix.prefix_len(), bits4(d.ip4_prefix.addr()), number);
    let (ip6, src) = (d.ip6_prefix, d.ip6_src);
    change(&mut table.by6, ip6.prefix_len(), ip6.addr().to_bits(), number);
    d.rules.values().for_each(|addr| change(&mut table.by6, 128, addr.to_bits(), number));
    change(&mut table.relays, src.prefix_len(), src.addr().to_bits(), number);
    state.table.publish(Arc::new(table));
}

/// Adds or deletes the address of a port set of a domain.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_rule(
    router: &mut Router,
    number: u32,
    psid: u16,
    addr: Ipv6Addr,
    is_add: bool,
) -> Result<(), Error> {
    let mut domain = at(router, number)?.clone();
    if domain.ea_bits_len > 0 {
        return Err(Error::NotForRules(domain.ip6_prefix));
    }
    if u32::from(psid) >> domain.psid_len != 0 {
        return Err(Error::Unfit("the port set is longer than psid-len says"));
    }
    if is_add {
        domain.rules.insert(psid, addr);
    } else if domain.rules.remove(&psid).is_none() {
        return Err(Error::NoRule(psid));
    }
    let state = router.own_mut::<State>();
    list(state, number, false);
    state.domains.replace(number, domain);
    list(state, number, true);
    Ok(())
}

/// A domain.
///
/// # Errors
/// [`Error::NoDomain`].
pub fn at(router: &Router, number: u32) -> Result<&Domain, Error> {
    router.own::<State>().domains.at(number).ok_or(Error::NoDomain(number))
}

/// All domains, by number, from one on.
pub fn all_from(router: &Router, first: u32) -> impl Iterator<Item = (u32, &Domain)> {
    router.own::<State>().domains.iter_from(first)
}

/// Packets of a domain: from customers and to them.
pub fn counted(router: &Router, number: u32) -> [Volume; 2] {
    let counters = &router.own::<State>().counters;
    [0, 1].map(|direction: usize| counters[direction].sum(number as usize))
}

/// A total by its place: see [`super::table`].
pub fn total(router: &Router, place: usize) -> Volume {
    router.own::<State>().totals.sum(place)
}

/// Parameters of all domains.
pub fn params(router: &Router) -> Params {
    router.own::<State>().settings.current().params
}

/// Sets parameters of all domains.
///
/// # Errors
/// [`Error::NoRoom`]; nothing has changed then.
pub fn set_params(router: &mut Router, new: Params) -> Result<(), Error> {
    let old = params(router);
    let hops = |p: &Params| -> [Option<IpAddr>; 2] {
        let four = Some(p.next_hop4).filter(|a| *a != Ipv4Addr::UNSPECIFIED);
        let six = Some(p.next_hop6).filter(|a| *a != Ipv6Addr::UNSPECIFIED);
        [four.map(IpAddr::from), six.map(IpAddr::from)]
    };
    let links = [Link::Ip4, Link::Ip6];
    let mut balances = router.own::<State>().settings.current().balances;
    let mut made = [None, None];
    for (n, (old, new)) in hops(&old).into_iter().zip(hops(&new)).enumerate() {
        if old == new {
            continue;
        }
        let Some(addr) = new else {
            balances[n] = None;
            continue;
        };
        match router.follow(links[n], TableIndex::DEFAULT, addr, None) {
            Ok(followed) => {
                balances[n] = Some(followed.load_balance());
                made[n] = Some(followed);
            }
            Err(_) => {
                made.into_iter().flatten().for_each(|followed| router.unfollow(followed));
                return Err(Error::NoRoom);
            }
        }
    }
    let state = router.own_mut::<State>();
    state.settings.publish(Settings { params: new, balances });
    let changed = hops(&old).into_iter().zip(hops(&new)).map(|(old, new)| old != new);
    let mut gone = Vec::new();
    for ((is_changed, hop), made) in changed.zip(&mut state.hops).zip(made) {
        if is_changed {
            gone.extend(std::mem::replace(hop, made));
        }
    }
    gone.into_iter().for_each(|followed| router.unfollow(followed));
    Ok(())
}

/// Enables MAP on an interface, as encapsulation or translation (`translates`), or disables it.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn set_interface(
    router: &mut Router,
    interface: InterfaceIndex,
    translates: bool,
    on: bool,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(NoInterface)?;
    let old = router.setting::<OnInterface>(interface);
    let mut new = old;
    *if translates { &mut new.translates } else { &mut new.encapsulates } = on;
    if old == new {
        return Ok(());
    }
    let is_on = |s: &OnInterface| s.translates || s.encapsulates;
    if is_on(&new) != is_on(&old) {
        // The interface is there; without a route of its own it takes packets all the same.
        for version in IpVersion::ALL {
            router.hold_ip(interface, version, on).map_err(|_| Error::NoInterface)?;
        }
    }
    router.put(interface, new)?;
    let ports = |router: &mut Router, family| {
        router.need_fragment_ports(interface, family, on).map_err(|_| Error::NoInterface)
    };
    ports(router, 0)?;
    if translates {
        return ports(router, 1);
    }
    let engine = &mut router.engine;
    let done = match on {
        true => engine.require_feature(&IP6_UNICAST, REASSEMBLY, interface.0),
        false => engine.release_feature(&IP6_UNICAST, REASSEMBLY, interface.0),
    };
    done.expect("reassembly is on the arc: the feature requires it");
    Ok(())
}

/// Takes MAP off an interface that goes.
pub(super) fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting {
        for translates in [false, true] {
            let done = set_interface(router, interface, translates, false);
            done.expect("an interface that is being deleted is still there");
        }
    }
}

/// Interfaces with MAP.
pub fn interfaces(router: &Router) -> impl Iterator<Item = (InterfaceIndex, &OnInterface)> {
    router.settings::<OnInterface>()
}
