//! Sources that packets get: the policy, addresses by table, and the routes that lead answers here.

use net::prelude::*;

use crate::config::{Config, Policy, Sources};
use crate::interfaces::follow_everywhere;
use crate::state::{Cnat, change_route};
use crate::wanted::Error;

/// Addresses that packets get, as they were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedSources {
    /// The table of packets.
    pub table: u32,
    /// The table in which answers come.
    pub answers: u32,
    /// The address of IPv4.
    pub ip4: Option<Ipv4Addr>,
    /// The address of IPv6.
    pub ip6: Option<Ipv6Addr>,
    /// The interface whose addresses they are instead.
    pub interface: Option<InterfaceIndex>,
    /// [`NO_ROUTE`], [`AS_DEFAULT`].
    pub flags: u8,
}

/// No route leads answers here: they come by interfaces whose packets are looked at.
pub const NO_ROUTE: u8 = 2;
/// Packets of tables without addresses get these.
pub const AS_DEFAULT: u8 = 4;

impl WantedSources {
    /// The addresses now.
    pub fn resolve(&self, router: &Router) -> [Option<IpAddr>; 2] {
        match self.interface {
            Some(i) => IpVersion::ALL.map(|version| router.addresses.of(i).first(version)),
            None => [self.ip4.map(Into::into), self.ip6.map(Into::into)],
        }
    }
    fn is_some(&self) -> bool {
        self.ip4.is_some() || self.ip6.is_some() || self.interface.is_some()
    }
}

/// Sets the addresses that packets of a table get; none takes them away.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_sources(router: &mut Router, mut new: WantedSources) -> Result<(), Error> {
    if let Some(interface) = new.interface {
        router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    }
    if new.flags & !(NO_ROUTE | AS_DEFAULT | 1) != 0 {
        return Err(Error::Flags(new.flags));
    }
    new.flags &= NO_ROUTE | AS_DEFAULT;
    if new.interface.is_some() {
        (new.ip4, new.ip6) = (None, None);
    }
    let before = router.own::<Cnat>().sources.clone();
    let sources = &mut router.own_mut::<Cnat>().sources;
    match new.is_some() {
        true => drop(sources.insert(new.table, new)),
        false => drop(sources.remove(&new.table)),
    }
    if let Err(why) = apply_sources(router) {
        router.own_mut::<Cnat>().sources = before;
        let _ = apply_sources(router);
        return Err(why);
    }
    follow_everywhere(router);
    Ok(())
}

/// Updates routes and nodes for the source addresses.
pub fn apply_sources(router: &mut Router) -> Result<(), Error> {
    let wanted: Vec<_> = router.own::<Cnat>().sources.values().copied().collect();
    let (mut all, mut routes, mut tables) = (Vec::new(), Vec::new(), Vec::new());
    let mut done = Ok(());
    for w in wanted {
        let mut hold = |router: &mut Router, id: u32| {
            let held = (router.hold_table::<Ip4>(id), router.hold_table::<Ip6>(id));
            let (Ok(ip4), Ok(ip6)) = held else { return Err(Error::NoTable(id)) };
            tables.extend([(Link::Ip4, ip4), (Link::Ip6, ip6)]);
            Ok([ip4, ip6])
        };
        let held = hold(router, w.table).and_then(|t| Ok((t, hold(router, w.answers)?)));
        let (table, answers) = match held {
            Ok(held) => held,
            Err(why) => {
                done = Err(why);
                break;
            }
        };
        let addrs = w.resolve(router);
        for (table, addr) in answers.into_iter().zip(addrs).filter(|_| w.flags & NO_ROUTE == 0) {
            let Some(addr) = addr else { continue };
            match change_route(router, (table, addr), 1, true) {
                Ok(()) => routes.push((table, addr)),
                Err(why) => done = Err(why),
            }
        }
        let (table, answers) = (table.map(|t| t.0), answers.map(|t| t.0));
        all.push(Sources { table, answers, addrs, is_default: w.flags & AS_DEFAULT != 0 });
    }
    let cnat = router.own_mut::<Cnat>();
    let old_routes = std::mem::replace(&mut cnat.source_routes, routes);
    let old_tables = std::mem::replace(&mut cnat.source_tables, tables);
    let mut config = cnat.config.current().clone();
    config.sources = all;
    cnat.config.publish(config);
    for route in old_routes {
        change_route(router, route, 1, false)?;
    }
    for (link, table) in old_tables {
        router.use_table_of(link, table, false);
    }
    publish(router);
    done
}

/// Tells the nodes what is set.
pub fn publish(router: &mut Router) {
    let cnat = router.own_mut::<Cnat>();
    let sources = cnat.config.current().sources.clone();
    let of_sources = sources.iter().flat_map(|s| s.addrs).flatten();
    let of_translations = cnat.held.values().flat_map(|held| held.own.iter().copied());
    let own = of_sources.chain(of_translations).collect();
    let (policy, excluded) = (cnat.policy, cnat.excluded.clone());
    cnat.config.publish(Config { policy, excluded, sources, own });
}

/// Sets the policy.
pub fn set_policy(router: &mut Router, policy: Policy) {
    router.own_mut::<Cnat>().policy = policy;
    publish(router);
}

/// Adds or deletes an excluded prefix. Adding may be repeated.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_excluded(router: &mut Router, prefix: Prefix, is_add: bool) -> Result<(), Error> {
    if !router.own_mut::<Cnat>().excluded.set(prefix, is_add) && !is_add {
        return Err(Error::NotExcluded(prefix.network()));
    }
    publish(router);
    Ok(())
}
