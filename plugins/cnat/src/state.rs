//! Control's state: translations in use, the routes to their services, and the nodes' tables.

use net::fib::{Followed, Object, ObjectKind, Path, Source};
use net::prelude::*;

use crate::config::{Config, Policy, Prefixes, Startup};
use crate::interfaces::{follow_everywhere, follow_interface};
use crate::service::{Backend, MOST, Service, Services, maglev};
use crate::session::Both;
use crate::sources::{WantedSources, apply_sources, publish};
use crate::walk::end_strays;
use crate::wanted::{ALLOCATES_PORT, Endpoint, Error, LOCAL, ONE_WAY, Translation};

/// Resources that a translation holds while it is in use.
#[derive(Default)]
pub struct Held {
    route: Option<(TableIndex, IpAddr)>,
    followed: Vec<Followed>,
    /// Sources that packets of it get.
    pub own: Vec<IpAddr>,
}

/// Control's state.
pub struct Cnat {
    /// The startup configuration.
    pub startup: Startup,
    /// Translations by number.
    pub translations: BTreeMap<u32, Translation>,
    /// Resources held by them.
    pub held: BTreeMap<u32, Held>,
    /// In the nodes' hands.
    pub services: Services,
    /// Addresses that packets get, by table.
    pub sources: BTreeMap<u32, WantedSources>,
    /// Routes of those.
    pub source_routes: Vec<(TableIndex, IpAddr)>,
    /// Tables that are kept for them.
    pub source_tables: Vec<(Link, TableIndex)>,
    /// Policy.
    pub policy: Policy,
    /// Prefixes that packets reach as they are.
    pub excluded: Prefixes,
    /// Configuration of the nodes.
    pub config: Shared<Config>,
    /// Sessions.
    pub sessions: Both,
    /// Number of users of each route, to services and to sources.
    routes: BTreeMap<(TableIndex, IpAddr), [u32; 2]>,
    kinds: [ObjectKind; 2],
    source: Source,
    /// Whether sessions that are over end.
    pub scans: bool,
    /// Whether packets of all interfaces are looked at.
    pub is_everywhere: bool,
}

impl Cnat {
    /// Nothing yet.
    pub fn new(
        startup: Startup,
        (services, config, sessions): (Services, Shared<Config>, Both),
        (kinds, source): ([ObjectKind; 2], Source),
    ) -> Self {
        Self {
            scans: startup.scans,
            startup,
            translations: BTreeMap::new(),
            held: BTreeMap::new(),
            services,
            sources: BTreeMap::new(),
            source_routes: Vec::new(),
            source_tables: Vec::new(),
            policy: Policy::default(),
            excluded: Prefixes::default(),
            config,
            sessions,
            routes: BTreeMap::new(),
            kinds,
            source,
            is_everywhere: false,
        }
    }
    /// Addresses that routes lead here, with what leads there: services, sources.
    pub fn clients(&self) -> impl Iterator<Item = (TableIndex, IpAddr, [u32; 2])> {
        self.routes.iter().map(|((table, addr), users)| (*table, *addr, *users))
    }
}

/// Adds a translation, or replaces the one of the same address, port and protocol; its number.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn update(router: &mut Router, new: Translation) -> Result<u32, Error> {
    new.check(router)?;
    let cnat = router.own::<Cnat>();
    let is_same = |t: &Translation| {
        let end = |e: &Endpoint| {
            let addr = if e.interface.is_some() { Ipv4Addr::UNSPECIFIED.into() } else { e.addr };
            (addr, e.interface, e.interface.map(|_| e.version), e.port)
        };
        (end(&t.vip), t.protocol) == (end(&new.vip), new.protocol)
    };
    let same = cnat.translations.iter().find(|(_, t)| is_same(t)).map(|(id, _)| *id);
    let id = match same {
        Some(id) => id,
        None => {
            if let Some(addr) = new.vip.resolve(router)
                && let Some(other) = taken(router, addr, &new)
            {
                return Err(Error::Taken(other));
            }
            let is_free = |id: &u32| !cnat.translations.contains_key(id);
            (0..MOST as u32).find(is_free).ok_or(Error::Full)?
        }
    };
    let before = router.own_mut::<Cnat>().translations.insert(id, new);
    if let Err(why) = apply(router, id) {
        let cnat = router.own_mut::<Cnat>();
        match before {
            Some(before) => drop(cnat.translations.insert(id, before)),
            None => drop(cnat.translations.remove(&id)),
        }
        // What was there had its room.
        let _ = apply(router, id);
        return Err(why);
    }
    end_strays(router, id)?;
    follow_everywhere(router);
    Ok(id)
}

fn taken(router: &Router, addr: IpAddr, new: &Translation) -> Option<u32> {
    let cnat = router.own::<Cnat>();
    let is_it = |s: &Service| (s.addr, s.port, s.protocol) == (addr, new.vip.port, new.protocol);
    cnat.translations.keys().copied().find(|id| cnat.services.at(*id).is_some_and(is_it))
}

/// Deletes a translation, and its sessions with it.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove(router: &mut Router, id: u32) -> Result<(), Error> {
    router.own_mut::<Cnat>().translations.remove(&id).ok_or(Error::Unknown(id))?;
    // Without a translation there is nothing to make room for.
    let _ = apply(router, id);
    end_strays(router, id)?;
    follow_everywhere(router);
    Ok(())
}

/// Updates the nodes and routes of a translation.
pub fn apply(router: &mut Router, id: u32) -> Result<(), Error> {
    let mut held = Held::default();
    let new = match router.own::<Cnat>().translations.get(&id).cloned() {
        Some(wanted) => service(router, id, &wanted, &mut held)?,
        None => None,
    };
    if let Some(new) = &new
        && router.own::<Cnat>().translations.get(&id).is_some_and(leads_by_route)
    {
        let route = (TableIndex(0), new.addr);
        if let Err(why) = change_route(router, route, 0, true) {
            held.followed.into_iter().for_each(|f| router.unfollow(f));
            return Err(why);
        }
        held.route = Some(route);
    }
    let cnat = router.own_mut::<Cnat>();
    cnat.services.set(id, new);
    let is_there = cnat.translations.contains_key(&id);
    let old = if is_there { cnat.held.insert(id, held) } else { cnat.held.remove(&id) };
    if let Some(old) = old {
        release(router, old);
    }
    publish(router);
    Ok(())
}

fn release(router: &mut Router, held: Held) {
    if let Some(route) = held.route {
        let _ = change_route(router, route, 0, false);
    }
    held.followed.into_iter().for_each(|followed| router.unfollow(followed));
}

/// Whether routes lead packets to the service, and other packets to its address nowhere.
fn leads_by_route(t: &Translation) -> bool {
    t.flags & LOCAL == 0 && !t.is_real
}

/// A translation as nodes find it; `None` while its service has no address.
fn service(
    router: &mut Router,
    id: u32,
    wanted: &Translation,
    held: &mut Held,
) -> Result<Option<Service>, Error> {
    let Some(addr) = wanted.vip.resolve(router) else { return Ok(None) };
    let (vip, protocol) = (wanted.vip, wanted.protocol);
    if router.own::<Cnat>().services.is_taken(id, addr, vip.port, protocol) {
        return Ok(None);
    }
    let mut backends = Vec::with_capacity(wanted.backends.len());
    for b in &wanted.backends {
        let Some(dst) = b.dst.resolve(router) else { continue };
        let src = b.src.resolve(router);
        if b.src.is_some() && src.is_none() {
            continue;
        }
        held.own.extend(src);
        let mut balance = 0;
        if b.is_untranslated {
            let link = if dst.is_ipv4() { Link::Ip4 } else { Link::Ip6 };
            match router.follow(link, TableIndex(0), dst, None) {
                Ok(followed) => {
                    balance = followed.load_balance();
                    held.followed.push(followed);
                }
                Err(_) => {
                    std::mem::take(&mut held.followed).into_iter().for_each(|f| router.unfollow(f));
                    return Err(Error::NoRoute);
                }
            }
        }
        let (port, src_port) = (b.dst.port, b.src.port);
        backends.push(Backend { addr: dst, port, src, src_port, balance });
    }
    let len = router.own::<Cnat>().startup.maglev_len;
    let maglev = if wanted.is_maglev { maglev(&backends, len) } else { Vec::new() };
    let is = |flag| wanted.flags & flag != 0;
    Ok(Some(Service {
        id,
        addr,
        port: vip.port,
        protocol,
        is_local: is(LOCAL),
        allocates_port: is(ALLOCATES_PORT),
        is_one_way: is(ONE_WAY),
        hash: wanted.hash,
        backends,
        maglev,
    }))
}

/// Counts users of a route to a node (0: services, 1: sources), which exists while there are any.
pub fn change_route(
    router: &mut Router,
    route: (TableIndex, IpAddr),
    node: usize,
    is_wanted: bool,
) -> Result<(), Error> {
    let (table, addr) = route;
    let cnat = router.own::<Cnat>();
    let mut users = cnat.routes.get(&route).copied().unwrap_or_default();
    users[node] = if is_wanted { users[node] + 1 } else { users[node].saturating_sub(1) };
    let (source, kinds) = (cnat.source, cnat.kinds);
    let prefix = match addr {
        IpAddr::V4(addr) => Prefix::Ip4(Ip4Prefix::host(addr)),
        IpAddr::V6(addr) => Prefix::Ip6(Ip6Prefix::host(addr)),
    };
    match users.iter().position(|count| *count > 0) {
        Some(node) => {
            let path = Path::to(Target::Object(Object { kind: kinds[node], index: 0 }));
            router.set_route(table, prefix, source, &[path]).map_err(|_| Error::NoRoute)?;
            router.own_mut::<Cnat>().routes.insert(route, users);
        }
        None => {
            // A table that is gone has taken its routes along.
            let _ = router.remove_route(table, prefix, source, &[]);
            router.own_mut::<Cnat>().routes.remove(&route);
        }
    }
    if is_near(router, addr) {
        answer(router);
    }
    Ok(())
}

/// Whether an address is in the network of an interface.
fn is_near(router: &Router, addr: IpAddr) -> bool {
    router.addresses.iter().any(|(_, on)| on.iter().any(|prefix| prefix.contains(addr)))
}

/// Answers for addresses of services and sources that are in the network of an interface.
fn answer(router: &mut Router) {
    let all = router.own::<Cnat>().routes.keys().map(|(_, addr)| *addr);
    let near = all.filter(|addr| is_near(router, *addr));
    let answered = near.map(|addr| (None, [addr; 2])).collect();
    router.answer_for("cnat", answered);
}

/// Follows interfaces that come and go.
pub fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    match change {
        Change::Added if router.own::<Cnat>().is_everywhere => follow_interface(router, interface),
        Change::Deleting => {
            let cnat = router.own_mut::<Cnat>();
            let met = cnat.translations.iter_mut().filter(|(_, t)| t.follows(interface));
            let met: Vec<(u32, bool)> = met
                .map(|(id, t)| {
                    let is_over = |end: Endpoint| end.interface == Some(interface);
                    t.backends.retain(|b| !is_over(b.dst) && !is_over(b.src));
                    (*id, is_over(t.vip))
                })
                .collect();
            for (id, has_no_vip) in met {
                // What goes needs no room.
                let _ = if has_no_vip { remove(router, id) } else { apply(router, id) };
            }
            let cnat = router.own_mut::<Cnat>();
            let before = cnat.sources.len();
            cnat.sources.retain(|_, s| s.interface != Some(interface));
            if cnat.sources.len() != before {
                let _ = apply_sources(router);
                follow_everywhere(router);
            }
        }
        _ => (),
    }
}

/// Follows the addresses of an interface.
pub fn addresses_changed(router: &mut Router, interface: InterfaceIndex) {
    let cnat = router.own::<Cnat>();
    let met = cnat.translations.iter().filter(|(_, t)| t.follows(interface));
    let met: Vec<u32> = met.map(|(id, _)| *id).collect();
    for id in met {
        // Without room the translation is as it was.
        if apply(router, id).is_ok() {
            let _ = end_strays(router, id);
        }
    }
    if router.own::<Cnat>().sources.values().any(|s| s.interface == Some(interface)) {
        let _ = apply_sources(router);
    }
    answer(router);
}
