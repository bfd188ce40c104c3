//! Control's state, and what it tells the nodes.

use std::net::Ipv4Addr;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use infra::rcu::Shared;
use net::Router;
use net::fib::{Ip4, TableIndex};
use net::interface::{Change, InterfaceIndex};
use sessions::Walked;
use translation::address_of;
use translation::mapping::{Mapping, Mappings};
use translation::outside::Outside;
use translation::pool::{Pool, PoolAddress};
use translation::ports::PortSet;
use translation::session::{BYPASS, NatSession, NatSessions, STATIC, Timeouts};

use crate::core::{Config, Core};
use crate::slow::{affinity_of_destination, affinity_of_source};
use crate::{ha, log};

pub use translation::error::Error;

/// Sessions of a thread, unless the operator says otherwise.
pub const SESSIONS: u32 = 10 * 1024;
/// Hosts of a thread, unless the operator says otherwise.
pub const USERS: u32 = 1024;
/// Sessions of a host, unless the operator says otherwise.
pub const USER_SESSIONS: u32 = 100;

/// NAT on an interface.
pub type Role = translation::role::Role<Nat>;

/// Settings that end when NAT is disabled.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Addresses that packets get.
    pub pool: Pool,
    /// The ports that they get.
    pub ports: PortSet,
    /// Mappings that stay.
    pub mappings: Vec<Mapping>,
    /// Whether packets without a translation pass.
    pub is_forwarding: bool,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// The maximum segment size of TCP.
    pub mss: Option<u16>,
    /// The table of hosts, unless the interface says another.
    pub inside_vrf: u32,
    /// The table of far ends, unless the interface says another.
    pub outside_vrf: u32,
    /// Sessions of a thread at most.
    pub sessions: u32,
    /// Hosts of a thread at most.
    pub users: u32,
    /// Sessions of a host at most.
    pub user_sessions: u32,
    /// Whether only mappings that stay are used.
    pub is_static_only: bool,
    /// Whether their sessions are asked for as well.
    pub tracks: bool,
    /// The tables inside and outside.
    pub tables: Vec<TableIndex>,
}

/// Control's state.
pub struct Nat {
    /// `None` while NAT is disabled.
    pub settings: Option<Settings>,
    /// For the nodes.
    pub config: Shared<Config>,
    /// For the nodes.
    pub sessions: Shared<Option<NatSessions>>,
    /// For the nodes.
    pub core: Core,
}

/// The settings while NAT is enabled.
pub fn settings(router: &Router) -> Result<&Settings, Error> {
    router.own::<Nat>().settings.as_ref().ok_or(Error::Disabled)
}

/// Changes the settings, and has the nodes follow.
pub fn change<R>(
    router: &mut Router,
    change: impl FnOnce(&mut Settings) -> Result<R, Error>,
) -> Result<R, Error> {
    let done = change(router.own_mut::<Nat>().settings.as_mut().ok_or(Error::Disabled)?)?;
    apply(router);
    Ok(done)
}

/// Enables NAT. Numbers that are 0 are the usual ones.
pub fn enable(router: &mut Router, new: Settings) -> Result<(), Error> {
    if router.own::<Nat>().settings.is_some() {
        return Err(Error::Enabled);
    }
    let or = |number: u32, usual: u32| if number == 0 { usual } else { number };
    let mut settings = Settings {
        sessions: or(new.sessions, SESSIONS),
        users: or(new.users, USERS),
        user_sessions: or(new.user_sessions, USER_SESSIONS),
        ..new
    };
    for vrf in [settings.inside_vrf, settings.outside_vrf] {
        match router.hold_table::<Ip4>(vrf) {
            Ok(table) => settings.tables.push(table),
            Err(_) => {
                release_tables(router, &settings);
                return Err(Error::NoTable(vrf));
            }
        }
    }
    start(router, &settings).inspect_err(|_| release_tables(router, &settings))?;
    router.own_mut::<Nat>().settings = Some(settings);
    apply(router);
    Ok(())
}

fn release_tables(router: &mut Router, settings: &Settings) {
    settings.tables.iter().for_each(|table| router.release_table::<Ip4>(*table));
}

/// Begins with no sessions.
fn start(router: &mut Router, settings: &Settings) -> Result<(), Error> {
    let classes = settings.timeouts.classes();
    let new = NatSessions::new(router, settings.sessions as usize, &classes);
    let new = new.map_err(|_| Error::NoMemory)?;
    let nat = router.own_mut::<Nat>();
    nat.core.users.clear();
    nat.sessions.publish(Some(new));
    Ok(())
}

/// Disables NAT: all settings and sessions go.
pub fn disable(router: &mut Router) -> Result<(), Error> {
    let gone = settings(router).map_err(|_| Error::AlreadyDisabled)?.clone();
    ha::disable(router);
    let all: Vec<_> = router.settings::<Role>().map(|(interface, _)| interface).collect();
    for interface in all {
        set_role(router, interface, Role::default())?;
    }
    let _ = remove_sessions(router, |_| true);
    nat_log::flush(router);
    release_tables(router, &gone);
    let nat = router.own_mut::<Nat>();
    nat.settings = None;
    nat.sessions.publish(None);
    nat.config.publish(Config::default());
    Ok(())
}

/// Gives an interface a role, and features what they need for it.
pub fn set_role(router: &mut Router, interface: InterfaceIndex, new: Role) -> Result<(), Error> {
    translation::role::set(router, interface, new)?;
    apply(router);
    Ok(())
}

/// Tells the nodes what there is.
pub fn apply(router: &mut Router) {
    let Some(settings) = router.own::<Nat>().settings.clone() else { return };
    let fib = |vrf: u32| router.fib.table::<Ip4>(vrf).map_or(u16::MAX, |table| table.0);
    let all = settings.pool.all(router);
    let mut config = Config {
        is_forwarding: settings.is_forwarding,
        is_static_only: settings.is_static_only,
        mss: settings.mss,
        pool: all.iter().map(|address| (address.addr, address.vrf.map(fib))).collect(),
        pooled: all.iter().map(|address| address.addr.octets()).collect(),
        ports: settings.ports,
        mappings: Mappings::of(router, &settings.mappings),
        most_users: settings.users,
        most_per_user: settings.user_sessions,
        ..Config::default()
    };
    for (interface, role) in router.settings::<Role>() {
        if role.is_only_inside() {
            config.inside.push(interface.0);
        }
        if role.receives_outside() {
            config.outside.push(interface.0);
            let table = router.interfaces.port(interface).and_then(|port| port.ip4);
            let table = table.unwrap_or_else(|| fib(settings.outside_vrf));
            if !config.outside_fibs.contains(&table) {
                config.outside_fibs.push(table);
            }
        }
    }
    router.own_mut::<Nat>().config.publish(config);
}

/// A session as control sees it, with the thread that owns it.
pub type Shown = (usize, NatSession);

/// All sessions for which `is_meant`.
pub fn list_sessions(
    router: &mut Router,
    is_meant: impl Fn(&NatSession) -> bool + Clone + Send + 'static,
) -> Result<Vec<Shown>, Error> {
    let Some(sessions) = router.own::<Nat>().sessions.current().clone() else { return Ok(vec![]) };
    let look = move |thread, session: &mut NatSession| {
        Walked::keep(is_meant(session).then_some((thread, *session)))
    };
    sessions.walk(router, look).map_err(|_| Error::NoAnswer)
}

/// Ends all sessions for which `is_meant`; how many.
pub fn remove_sessions(
    router: &mut Router,
    is_meant: impl Fn(&NatSession) -> bool + Clone + Send + 'static,
) -> Result<usize, Error> {
    let nat = router.own::<Nat>();
    let core = nat.core.clone();
    let Some(sessions) = nat.sessions.current().clone() else { return Ok(0) };
    let look = move |thread, session: &mut NatSession| {
        if !is_meant(session) {
            return Walked::keep(None);
        }
        core.ended_on(thread, session);
        Walked::remove(Some(*session))
    };
    let gone = sessions.walk(router, look).map_err(|_| Error::NoAnswer)?;
    log_ended(router, &gone);
    show_totals(router, &sessions);
    Ok(gone.len())
}

fn log_ended(router: &mut Router, gone: &[NatSession]) {
    ha::ended(router, gone);
    for session in gone.iter().filter(|s| !s.data.is(BYPASS)) {
        nat_log::log(router, log::of_session(false, session));
    }
}

fn show_totals(router: &mut Router, sessions: &NatSessions) {
    let core = router.own::<Nat>().core.clone();
    let show = move |thread, table: &mut _| {
        if let Some(users) = core.users.lend(thread) {
            core.show_totals(thread, table, &users);
        }
    };
    let _ = sessions.visit(router, show);
}

/// Ends what is over; whether there may be more.
pub fn expire(router: &mut Router) -> bool {
    let nat = router.own::<Nat>();
    let core = nat.core.clone();
    let Some(sessions) = nat.sessions.current().clone() else { return false };
    let is_logged = nat_log::is_wanted(router) || ha::is_wanted(router);
    let ends = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&ends);
    let more = sessions.expire(router, move |thread, _, gone| {
        core.ended_on(thread, gone);
        if is_logged {
            to.lock().unwrap_or_else(PoisonError::into_inner).push(*gone);
        }
    });
    let ends = std::mem::take(&mut *ends.lock().unwrap_or_else(PoisonError::into_inner));
    log_ended(router, &ends);
    show_totals(router, &sessions);
    more
}

/// Ends the sessions that have an address of the pool.
pub fn release_address(router: &mut Router, addr: Ipv4Addr) {
    let addr = addr.octets();
    let _ = remove_sessions(router, move |s| !s.data.is(STATIC) && s.reverse.dst == addr);
}

/// Ends the sessions of addresses of the pool.
pub fn release_addresses(router: &mut Router, gone: &[PoolAddress]) {
    gone.iter().for_each(|address| release_address(router, address.addr));
}

/// Ends the sessions of a mapping.
pub fn release_mapping(router: &mut Router, mapping: &Mapping) {
    let of = mapping.interface.map(InterfaceIndex);
    let external = of.and_then(|i| address_of(router, i)).unwrap_or(mapping.external).octets();
    let (port, protocol) = (mapping.port, mapping.protocol);
    let _ = remove_sessions(router, move |s| {
        s.data.is(STATIC)
            && s.reverse.dst == external
            && protocol.is_none_or(|p| s.reverse.protocol() == p && s.reverse.dst_port == port)
    });
}

/// Follows changes of interfaces: one that goes takes what hangs on it along.
pub fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting
        && let Some(settings) = &mut router.own_mut::<Nat>().settings
    {
        settings.pool.interfaces.retain(|(known, _)| *known != interface);
        settings.mappings.retain(|m| m.interface != Some(interface.0));
    }
    addresses_changed(router);
}

/// Follows addresses of interfaces: sessions that had one that is gone end.
pub fn addresses_changed(router: &mut Router) {
    let old = outside(router);
    apply(router);
    if let Some(gone) = old.without(&outside(router)) {
        let _ = remove_sessions(router, move |s| gone.has(s));
    }
}

fn outside(router: &Router) -> Outside {
    let config = router.own::<Nat>().config.current();
    Outside::of(config.pool.iter().map(|(addr, _)| *addr), &[], &config.mappings)
}

/// Other threads: sessions go over to the one that has their host from now on.
pub fn threads_changed(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
    let hands_off = stay.len() > 1;
    let nat = router.own::<Nat>();
    let Some(sessions) = nat.sessions.current().clone() else { return Ok(()) };
    let (config, core) = (Arc::new(nat.config.current().clone()), nat.core.clone());
    let seed = sessions.seed();
    let paths = move |s: &NatSession| {
        [affinity_of_source(&s.forward, seed), affinity_of_destination(&config, &s.reverse, seed)]
    };
    let step = move |step, thread, session: &NatSession| core.moved(step, thread, session);
    let lost = sessions.rehome(router, stay, paths, step).map_err(|e| e.to_string())?;
    let lost: Vec<_> = lost.into_iter().map(|(_, session)| session).collect();
    log_ended(router, &lost);
    show_totals(router, &sessions);
    let all: Vec<_> = router.settings::<Role>().map(|(i, role)| (i, *role)).collect();
    for (interface, mut role) in all {
        role.hands_off = hands_off;
        set_role(router, interface, role).map_err(|e| e.to_string())?;
    }
    Ok(())
}
