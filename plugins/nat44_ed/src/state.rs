//! Control's state, and what it tells the nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use infra::rcu::Shared;
use net::Router;
use net::fib::Ip4;
use net::interface::{Change, InterfaceIndex};
use sessions::{End, Walked};
use translation::address_of;
use translation::mapping::{Mapping, Mappings};
use translation::outside::Outside;
use translation::pool::{Pool, PoolAddress};
use translation::session::{NatSession, NatSessions, STATIC, TWICE, Timeouts};

use crate::config::Config;
use crate::core::Core;
use crate::log;

pub use translation::error::Error;

/// Sessions of a thread, unless the operator says otherwise.
pub const SESSIONS: u32 = 63 * 1024;
/// NAT on an interface.
pub type Role = translation::role::Role<Nat>;

/// Settings that end when NAT is disabled.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Addresses that packets get.
    pub pool: Pool,
    /// Mappings that stay.
    pub mappings: Vec<Mapping>,
    /// Whether packets without a translation pass.
    pub is_forwarding: bool,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// The maximum segment size of TCP.
    pub mss: Option<u16>,
    /// Most sessions by table.
    pub limits: BTreeMap<u32, u32>,
    /// Tables that a table leads to.
    pub vrfs: BTreeMap<u32, BTreeSet<u32>>,
    /// The table of hosts, unless the interface says another.
    pub inside_vrf: u32,
    /// The table of far ends, unless the interface says another.
    pub outside_vrf: u32,
    /// Sessions of a thread at most.
    pub sessions: u32,
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

/// Enables NAT.
pub fn enable(router: &mut Router, new: Settings) -> Result<(), Error> {
    if router.own::<Nat>().settings.is_some() {
        return Err(Error::Enabled);
    }
    let sessions = if new.sessions == 0 { SESSIONS } else { new.sessions };
    let settings = Settings { sessions, ..new };
    start(router, &settings)?;
    router.own_mut::<Nat>().settings = Some(settings);
    apply(router);
    Ok(())
}

/// Begins with no sessions.
fn start(router: &mut Router, settings: &Settings) -> Result<(), Error> {
    let classes = settings.timeouts.classes();
    let new = NatSessions::new(router, settings.sessions as usize, &classes);
    let new = new.map_err(|_| Error::NoMemory)?;
    let nat = router.own_mut::<Nat>();
    nat.sessions.publish(Some(new));
    Ok(())
}

/// Disables NAT: all settings and sessions go.
pub fn disable(router: &mut Router) -> Result<(), Error> {
    if router.own::<Nat>().settings.is_none() {
        return Err(Error::AlreadyDisabled);
    }
    let all: Vec<_> = router.settings::<Role>().map(|(interface, _)| interface).collect();
    for interface in all {
        set_role(router, interface, Role::default())?;
    }
    let _ = remove_sessions(router, |_| true);
    nat_log::flush(router);
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
    let mut config = Config {
        is_forwarding: settings.is_forwarding,
        mss: settings.mss,
        limits: settings.limits.iter().map(|(vrf, most)| (fib(*vrf), u64::from(*most))).collect(),
        ..Config::default()
    };
    for (table, far) in &settings.vrfs {
        config.routes.insert(fib(*table), far.iter().map(|vrf| fib(*vrf)).collect());
    }
    for address in settings.pool.all(router) {
        match address.is_twice {
            true => config.twice.push(address.addr),
            false => config.pool.push((address.addr, address.vrf.map(fib))),
        }
    }
    config.mappings = Mappings::of(router, &settings.mappings);
    for (interface, role) in router.settings::<Role>() {
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
    let (by_fib, core) = (nat.core.by_fib.clone(), nat.core.clone());
    let Some(sessions) = nat.sessions.current().clone() else { return Ok(0) };
    let look = move |_, session: &mut NatSession| {
        if !is_meant(session) {
            return Walked::keep(None);
        }
        Core::ended(&by_fib, End::Removed, session);
        Walked::remove(Some(*session))
    };
    let gone = sessions.walk(router, look).map_err(|_| Error::NoAnswer)?;
    log::ended(router, &gone);
    let show = move |thread, table: &mut _| core.show_total(thread, table);
    sessions.visit(router, show).map_err(|_| Error::NoAnswer)?;
    Ok(gone.len())
}

/// Ends the sessions that have an address of the pool.
pub fn release_address(router: &mut Router, address: PoolAddress) {
    let addr = address.addr.octets();
    let _ = remove_sessions(router, move |s| match address.is_twice {
        true => s.data.is(TWICE) && s.forward.dst == addr,
        false => !s.data.is(STATIC) && s.reverse.dst == addr,
    });
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
    Outside::of(config.pool.iter().map(|(addr, _)| *addr), &config.twice, &config.mappings)
}

/// Other threads: sessions go over to the one that has their packets from now on.
pub fn threads_changed(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
    let hands_off = stay.len() > 1;
    let nat = router.own::<Nat>();
    let Some(sessions) = nat.sessions.current().clone() else { return Ok(()) };
    let (config, core) = (Arc::new(nat.config.current().clone()), nat.core.clone());
    let seed = sessions.seed();
    let paths = move |session: &NatSession| crate::handoff::paths(&config, session, seed);
    let lost = sessions.rehome(router, stay, paths, |_, _, _| ()).map_err(|e| e.to_string())?;
    let lost: Vec<_> = lost.into_iter().map(|(_, session)| session).collect();
    lost.iter().for_each(|session| Core::ended(&core.by_fib, End::Evicted, session));
    log::ended(router, &lost);
    let show = move |thread, table: &mut _| core.show_total(thread, table);
    sessions.visit(router, show).map_err(|e| e.to_string())?;
    let all: Vec<_> = router.settings::<Role>().map(|(i, role)| (i, *role)).collect();
    for (interface, mut role) in all {
        role.hands_off = hands_off;
        set_role(router, interface, role).map_err(|e| e.to_string())?;
    }
    Ok(())
}
