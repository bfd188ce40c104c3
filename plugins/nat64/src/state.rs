//! Control's state, and what it tells the nodes.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use net::prelude::*;
use sessions::slices::{self, Slices};
use sessions::{Flow4, Sessions, Walked};
use translation::address_of;
use translation::pool::offers;
use translation::session::Timeouts;

use crate::config::{Config, Static};
use crate::core::{
    All, Binding, Core, NatSession, affinity_of_end, affinity_of_host, classes, ended,
};
use crate::{log, places};

/// Buckets of bindings, unless the operator says otherwise.
pub const BINDING_BUCKETS: u32 = 8192;
/// Buckets of sessions, unless the operator says otherwise.
pub const SESSION_BUCKETS: u32 = 16384;
/// Entries for each bucket.
const DEPTH: usize = 10;

/// NAT64 on an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// True for inside.
    pub is_inside: bool,
    /// IPv4 is there.
    pub is_outside: bool,
    /// Whether there are several threads.
    pub hands_off: bool,
}

/// Reasons why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// NAT64 is not enabled
    #[retval(FEATURE_DISABLED)]
    Disabled,
    /// NAT64 is already enabled
    #[retval(FEATURE_ALREADY_ENABLED)]
    Enabled,
    /// NAT64 is already disabled
    #[retval(FEATURE_ALREADY_DISABLED)]
    AlreadyDisabled,
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// the interface is neither inside nor outside
    #[retval(NO_SUCH_ENTRY)]
    NoSide,
    /// address {0} is already in the pool
    #[retval(VALUE_EXIST)]
    InPool(Ipv4Addr),
    /// address {0} is not in the pool
    #[retval(NO_SUCH_ENTRY)]
    NotInPool(Ipv4Addr),
    /// the addresses of the interface are already in the pool
    #[retval(VALUE_EXIST)]
    InterfaceInPool,
    /// the addresses of the interface are not in the pool
    #[retval(NO_SUCH_ENTRY)]
    InterfaceNotInPool,
    /// the range ends before it begins, or is too long
    #[retval(INVALID_VALUE)]
    BadRange,
    /// prefix length {0} is not 32, 40, 48, 56, 64 or 96
    #[retval(INVALID_VALUE)]
    PrefixLen(u8),
    /// table {0} has no such prefix
    #[retval(NO_SUCH_ENTRY)]
    NoPrefix(u32),
    /// the inside or outside port already has a mapping
    #[retval(VALUE_EXIST)]
    Mapped,
    /// no such mapping
    #[retval(NO_SUCH_ENTRY)]
    NotMapped,
    /// no room for table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// out of memory
    #[retval(UNSPECIFIED)]
    NoMemory,
    /// a thread does not answer
    #[retval(UNSPECIFIED)]
    NoAnswer,
}

/// Settings that end when NAT64 is disabled.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Buckets of bindings, and of sessions.
    pub buckets: [u32; 2],
    /// Addresses that hosts get, with the table that they are for.
    pub pool: Vec<(Ipv4Addr, Option<u32>)>,
    /// Interfaces whose addresses hosts get too.
    pub interfaces: Vec<InterfaceIndex>,
    /// Prefixes that stand for IPv4, by table.
    pub prefixes: BTreeMap<u32, Ip6Prefix>,
    /// Interfaces that packets to these prefixes are received on, by table.
    pub received: BTreeMap<u32, InterfaceIndex>,
    /// Mappings that stay.
    pub statics: Vec<Static>,
    /// Timeouts.
    pub timeouts: Timeouts,
}

impl Settings {
    /// Bindings, and sessions, of a thread at most.
    fn limits(&self) -> [usize; 2] {
        self.buckets.map(|buckets| buckets as usize * DEPTH)
    }
    /// The tables that it names.
    fn tables(&self) -> impl Iterator<Item = u32> {
        let pool = self.pool.iter().filter_map(|(_, vrf)| *vrf);
        pool.chain(self.prefixes.keys().copied()).chain(self.statics.iter().map(|s| s.vrf))
    }
}

/// Control's state.
pub struct Nat {
    /// `None` while NAT64 is disabled.
    pub settings: Option<Settings>,
    /// Tables of hosts that the settings name.
    pub tables: BTreeMap<u32, TableIndex>,
    /// Routes that have packets to prefixes received on interfaces.
    pub routes: BTreeMap<(TableIndex, Ip6Prefix), InterfaceIndex>,
    /// For the nodes.
    pub config: Shared<Config>,
    /// For the nodes.
    pub all: Shared<Option<All>>,
    /// For the nodes.
    pub core: Core,
}

/// The settings while NAT64 is enabled.
pub fn settings(router: &Router) -> Result<&Settings, Error> {
    router.own::<Nat>().settings.as_ref().ok_or(Error::Disabled)
}

/// Changes the settings, and has the nodes follow.
pub fn change<R>(
    router: &mut Router,
    change: impl FnOnce(&mut Settings) -> Result<R, Error>,
) -> Result<R, Error> {
    let mut new = settings(router)?.clone();
    let done = change(&mut new)?;
    for vrf in new.tables() {
        if !router.own::<Nat>().tables.contains_key(&vrf) {
            let table = router.hold_table::<Ip6>(vrf).map_err(|_| Error::NoTable(vrf))?;
            router.own_mut::<Nat>().tables.insert(vrf, table);
        }
    }
    router.own_mut::<Nat>().settings = Some(new);
    apply(router);
    Ok(done)
}

/// Lets go of tables that nothing names any more.
fn release_tables(router: &mut Router) {
    let nat = router.own_mut::<Nat>();
    let named: Vec<u32> = nat.settings.iter().flat_map(Settings::tables).collect();
    let gone: Vec<_> = nat.tables.extract_if(.., |vrf, _| !named.contains(vrf)).collect();
    gone.into_iter().for_each(|(_, table)| router.release_table::<Ip6>(table));
}

/// Enables NAT64; 0 buckets are the usual number.
pub fn enable(router: &mut Router, bindings: u32, sessions: u32) -> Result<(), Error> {
    if router.own::<Nat>().settings.is_some() {
        return Err(Error::Enabled);
    }
    let or = |buckets: u32, usual| if buckets == 0 { usual } else { buckets };
    let buckets = [or(bindings, BINDING_BUCKETS), or(sessions, SESSION_BUCKETS)];
    let settings = Settings { buckets, ..Settings::default() };
    start(router, &settings)?;
    router.own_mut::<Nat>().settings = Some(settings);
    apply(router);
    Ok(())
}

/// Begins with no sessions.
fn start(router: &mut Router, settings: &Settings) -> Result<(), Error> {
    let [bindings, sessions] = settings.limits();
    let no_memory = |_| Error::NoMemory;
    let classes = classes(settings.timeouts);
    let sessions = Sessions::new(router, sessions, &classes).map_err(no_memory)?;
    let forever =
        [sessions::Class { timeout: f64::INFINITY, may_be_evicted: false, goes_first: false }];
    let bindings = Sessions::new(router, bindings, &forever).map_err(no_memory)?;
    router.own_mut::<Nat>().all.publish(Some(All { sessions, bindings }));
    Ok(())
}

/// Disables NAT64: all settings and sessions go.
pub fn disable(router: &mut Router) -> Result<(), Error> {
    if router.own::<Nat>().settings.is_none() {
        return Err(Error::AlreadyDisabled);
    }
    let all: Vec<_> = router.settings::<Role>().map(|(interface, _)| interface).collect();
    for interface in all {
        set_role(router, interface, Role::default())?;
    }
    remove_all(router);
    nat_log::flush(router);
    router.own_mut::<Nat>().settings = None;
    let show = |core: &Core, thread: usize| {
        let none = core.totals.iter().filter_map(|total| total.row(thread).first());
        none.for_each(|total| total.set(0));
    };
    let core = router.own::<Nat>().core.clone();
    let all = router.own::<Nat>().all.current().clone();
    if let Some(all) = all {
        let _ = all.bindings.visit(router, move |thread, _| show(&core, thread));
    }
    let nat = router.own_mut::<Nat>();
    nat.all.publish(None);
    nat.config.publish(Config::default());
    router.answer_for("nat64", Vec::new());
    places::lead(router, &Settings::default());
    release_tables(router);
    Ok(())
}

/// Gives an interface a role, and features what they need for it.
pub fn set_role(router: &mut Router, interface: InterfaceIndex, new: Role) -> Result<(), Error> {
    let old = router.setting::<Role>(interface);
    router.put(interface, new)?;
    for (family, was, is) in
        [(1, old.is_inside, new.is_inside), (0, old.is_outside, new.is_outside)]
    {
        if was != is {
            let needed = router.need_fragment_ports(interface, family, is);
            needed.map_err(|_| Error::NoInterface)?;
        }
    }
    apply(router);
    Ok(())
}

/// Publishes the current state to the nodes.
pub fn apply(router: &mut Router) {
    release_tables(router);
    let nat = router.own::<Nat>();
    let Some(settings) = nat.settings.clone() else { return };
    let fib = |vrf: u32| nat.tables.get(&vrf).map_or(u16::MAX, |table| table.0);
    let first_thread = router.engine.data_threads().start;
    let mut config = Config { first_thread, ..Config::default() };
    for (vrf, prefix) in &settings.prefixes {
        config.prefixes.insert(fib(*vrf), *prefix);
    }
    if let Some(prefix) = settings.prefixes.get(&0) {
        config.prefix = *prefix;
    }
    let outside = router.settings::<Role>().filter(|(_, role)| role.is_outside);
    config.interfaces = outside.map(|(interface, _)| interface.0).collect();
    let all = pool(router, &settings).map(|(addr, vrf)| (addr, vrf.map(fib)));
    config.pool = offers(router, all, &config.interfaces);
    config.outside = config.pool.iter().map(|offer| offer.addr).collect();
    for s in &settings.statics {
        let (at, fib, protocol) = (config.statics.len(), fib(s.vrf), s.protocol.0);
        config.outside.insert(s.outside);
        config.by_host.insert((s.host, s.port, protocol, fib), at);
        config.by_outside.insert((s.outside, s.outside_port, protocol), at);
        config.addresses.entry((s.host, fib)).or_insert(s.outside);
        config.statics.push((*s, fib));
    }
    for interface in &config.interfaces {
        let table = router
            .interfaces
            .port(InterfaceIndex(*interface))
            .and_then(|port| port.ip4)
            .unwrap_or(0);
        if !config.fibs.contains(&table) {
            config.fibs.push(table);
        }
    }
    let statics = config.statics.len();
    router.own_mut::<Nat>().config.publish(config);
    places::answer(router, &settings);
    places::lead(router, &settings);
    show_totals(router, statics);
}

/// Shows how many bindings and sessions there are.
pub fn show_totals(router: &mut Router, statics: usize) {
    let nat = router.own::<Nat>();
    let (core, first) = (nat.core.clone(), router.engine.data_threads().start);
    let Some(all) = nat.all.current().clone() else { return };
    let bindings = all.bindings.clone();
    let _ = all.sessions.visit(router, move |thread, table| {
        if let Some(bindings) = bindings.lend(thread) {
            let statics = if thread == first { statics } else { 0 };
            core.show_totals(thread, table, &bindings, statics);
        }
    });
}

/// The addresses that hosts get: as configured, and of interfaces.
pub fn pool<'a>(
    router: &'a Router,
    settings: &'a Settings,
) -> impl Iterator<Item = (Ipv4Addr, Option<u32>)> + 'a {
    let of_interfaces = settings.interfaces.iter().filter_map(|i| address_of(router, *i));
    settings.pool.iter().copied().chain(of_interfaces.map(|addr| (addr, None)))
}

/// All sessions for which `is_meant` and that are not over, in slices.
pub fn slices(
    router: &Router,
    is_meant: impl Fn(&NatSession) -> bool + Clone + Send + 'static,
) -> Slices<NatSession> {
    let nat = router.own::<Nat>();
    let Some(all) = nat.all.current() else { return slices::nothing() };
    let classes = nat.settings.as_ref().map(|s| classes(s.timeouts)).unwrap_or_default();
    let now = router.now();
    all.sessions.slices(move |_, session: &mut NatSession| {
        let class = classes.get(usize::from(session.class()));
        let is_over = class.is_some_and(|class| now - session.heard() > class.timeout);
        Walked::keep((!is_over && is_meant(session)).then_some(*session))
    })
}

/// All bindings that come and go, in slices.
pub fn bindings(router: &Router) -> Slices<Binding> {
    match router.own::<Nat>().all.current() {
        Some(all) => all.bindings.slices(|_, binding: &mut Binding| Walked::keep(Some(*binding))),
        None => slices::nothing(),
    }
}

/// Ends all sessions for which `is_meant`, and bindings that have none left; most of many in later
/// turns of control.
pub fn remove_sessions(
    router: &mut Router,
    is_meant: impl Fn(&NatSession) -> bool + Clone + Send + 'static,
) -> Result<(), Error> {
    let Some(all) = router.own::<Nat>().all.current().clone() else { return Ok(()) };
    let look = ending(router, &all, is_meant);
    all.sessions.sweep(router, look, have_ended).map(drop).map_err(|_| Error::NoAnswer)
}

/// Ends all sessions at once: their tables go.
fn remove_all(router: &mut Router) {
    let Some(all) = router.own::<Nat>().all.current().clone() else { return };
    let look = ending(router, &all, |_| true);
    let gone = all.sessions.walk(router, look).unwrap_or_default();
    have_ended(router, gone);
}

fn ending(
    router: &Router,
    all: &All,
    is_meant: impl Fn(&NatSession) -> bool + Clone + Send + 'static,
) -> impl Fn(usize, &mut NatSession) -> Walked<Gone> + Clone + Send + 'static {
    let bindings = all.bindings.clone();
    let is_logged = nat_log::is_wanted(router);
    move |thread, session| {
        if !is_meant(session) {
            return Walked::keep(None);
        }
        let binding = bindings.lend(thread).and_then(|mut b| ended(&mut b, session));
        Walked::remove(is_logged.then_some((*session, binding)))
    }
}

fn have_ended(router: &mut Router, gone: Vec<Gone>) {
    let settings = &router.own::<Nat>().settings;
    let statics = settings.as_ref().map_or(0, |s| s.statics.len());
    log_ended(router, gone);
    show_totals(router, statics);
}

/// A session that has ended, and its binding if that went too.
type Gone = (NatSession, Option<Binding>);

fn log_ended(router: &mut Router, gone: Vec<Gone>) {
    for (session, binding) in gone {
        nat_log::log(router, log::of_session(false, &session));
        if let Some(binding) = binding {
            nat_log::log(router, log::of_binding(false, &binding));
        }
    }
}

/// Ends what is over; whether there may be more.
pub fn expire(router: &mut Router) -> bool {
    let nat = router.own::<Nat>();
    let statics = nat.settings.as_ref().map_or(0, |s| s.statics.len());
    let Some(all) = nat.all.current().clone() else { return false };
    let bindings = all.bindings.clone();
    let is_logged = nat_log::is_wanted(router);
    let ends = Arc::new(Mutex::new(Vec::<Gone>::new()));
    let to = Arc::clone(&ends);
    let more = all.sessions.expire(router, move |thread, _, gone| {
        let binding = bindings.lend(thread).and_then(|mut b| ended(&mut b, gone));
        if is_logged {
            to.lock().unwrap_or_else(PoisonError::into_inner).push((*gone, binding));
        }
    });
    let ends = std::mem::take(&mut *ends.lock().unwrap_or_else(PoisonError::into_inner));
    log_ended(router, ends);
    show_totals(router, statics);
    more
}

/// Follows changes of interfaces: one that goes takes what hangs on it along.
pub fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change == Change::Deleting
        && let Some(settings) = &mut router.own_mut::<Nat>().settings
    {
        settings.interfaces.retain(|known| *known != interface);
        settings.received.retain(|_, on| *on != interface);
    }
    addresses_changed(router);
}

/// Follows addresses of interfaces: sessions that had one that is gone end.
pub fn addresses_changed(router: &mut Router) {
    let Ok(settings) = settings(router) else { return };
    let old: Vec<_> =
        router.own::<Nat>().config.current().pool.iter().map(|offer| offer.addr).collect();
    let new: Vec<_> = pool(router, settings).map(|(addr, _)| addr).collect();
    apply(router);
    release(router, old.into_iter().filter(|addr| !new.contains(addr)).collect());
}

/// Ends sessions that have addresses which are not in the pool any more.
pub fn release(router: &mut Router, gone: Vec<Ipv4Addr>) {
    if gone.is_empty() {
        return;
    }
    let Ok(settings) = settings(router) else { return };
    let statics = settings.statics.clone();
    let _ = remove_sessions(router, move |s| {
        let (addr, port) = (Ipv4Addr::from(s.reverse.dst), s.reverse.dst_port);
        let is_of = |m: &Static| {
            (m.outside, m.outside_port, m.protocol) == (addr, port, s.reverse.protocol())
        };
        gone.contains(&addr) && !statics.iter().any(is_of)
    });
}

/// Other threads: bindings and sessions go over to the one that has their host from now on.
pub fn threads_changed(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
    let hands_off = stay.len() > 1;
    let nat = router.own::<Nat>();
    let Some(all) = nat.all.current().clone() else { return Ok(()) };
    let (config, seed) = (Arc::new(nat.config.current().clone()), all.bindings.seed());
    let of_host = move |src, end: &Flow4| affinity_of_host(src, end.protocol(), seed);
    let affinities = move |b: &Binding| {
        [of_host(b.forward.src, &b.reverse), affinity_of_end(&config, &b.reverse, seed)]
    };
    let text = |e: graph::NoAnswer| e.to_string();
    let lost = all.bindings.rehome(router, stay, affinities, |_, _, _| ()).map_err(text)?;
    let affinity = move |s: &NatSession| [of_host(s.forward.src, &s.reverse)];
    let gone = all.sessions.rehome(router, stay, affinity, |_, _, _| ()).map_err(text)?;
    end_lost(router, &all, lost, gone).map_err(text)?;
    let all: Vec<_> = router.settings::<Role>().map(|(i, role)| (i, *role)).collect();
    for (interface, role) in all {
        set_role(router, interface, Role { hands_off, ..role }).map_err(|e| e.to_string())?;
    }
    apply(router);
    Ok(())
}

/// Ends what found no room on another thread: sessions of lost bindings go with them.
fn end_lost(
    router: &mut Router,
    all: &All,
    lost: Vec<(usize, Binding)>,
    gone: Vec<(usize, NatSession)>,
) -> Result<(), graph::NoAnswer> {
    let mut ended_now: Vec<Gone> = Vec::new();
    for (thread, session) in gone {
        let binding = Arc::new(Mutex::new(None));
        let to = Arc::clone(&binding);
        all.bindings.visit(router, move |at, bindings| {
            if at == thread {
                *to.lock().unwrap_or_else(PoisonError::into_inner) = ended(bindings, &session);
            }
        })?;
        let binding = *binding.lock().unwrap_or_else(PoisonError::into_inner);
        ended_now.push((session, binding));
    }
    log_ended(router, ended_now);
    if lost.is_empty() {
        return Ok(());
    }
    let end = |flow: &Flow4| (flow.dst, flow.dst_port, flow.protocol());
    let ends: HashSet<_> = lost.iter().map(|(_, binding)| end(&binding.reverse)).collect();
    // Nothing else than threads that do not answer can be wrong, which is said above.
    let _ = remove_sessions(router, move |session| ends.contains(&end(&session.reverse)));
    Ok(())
}
