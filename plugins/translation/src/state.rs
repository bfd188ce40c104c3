//! Control's state of a kind of NAT of IPv4, and what it tells the nodes.

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use net::neighbor::Answered;
use net::prelude::*;
use sessions::{Affinity, Step, Usage};

use crate::address_of;
use crate::error::Error;
use crate::mapping::{Local, Mapping, Mappings};
use crate::outside::Outside;
use crate::pool::{Pool, PoolAddress};
use crate::received::{self, Received};
use crate::role::{self, Role};
use crate::session::{BYPASS, NatSession, NatSessions, NatTable, STATIC, TWICE, Timeouts};
use crate::workers::Workers;

/// Seconds between rounds in which what is over ends.
const ROUND: Duration = Duration::from_secs(5);

/// A kind of NAT of IPv4.
pub trait Kind: Sized + 'static {
    /// Settings that others do not have.
    type More: Clone + Debug + Default + 'static;
    /// The configuration that nodes read.
    type Config: Clone + Default + Send + Sync + 'static;
    /// Data shared by the nodes.
    type Core: Clone + Send + Sync + 'static;
    /// Default limit of sessions of a thread.
    const SESSIONS: u32;
    /// Default frame queue size.
    const FRAME_QUEUE: u32;
    /// Name.
    const NAME: &'static str;
    /// Whether a session has one far end, which may be translated too.
    const HAS_FAR_END: bool;
    /// Refusal of requests while it is disabled.
    const DISABLED: Error = Error::Disabled;

    /// Prepares to be enabled: takes what the settings need.
    ///
    /// # Errors
    /// A missing object; nothing is changed then.
    fn begin(_: &mut Router, _: &mut Settings<Self>) -> Result<(), Error> {
        Ok(())
    }
    /// Before sessions end because the kind is disabled.
    fn disabling(_: &mut Router) {}
    /// Gives up what [`begin`](Self::begin) took.
    fn end(router: &mut Router, settings: &Settings<Self>);
    /// The configuration that follows from settings.
    fn configure(router: &Router, settings: &Settings<Self>) -> Self::Config;
    /// Checks a mapping before it is added.
    ///
    /// # Errors
    /// What the kind lacks for it.
    fn check_mapping(_: &Router, _: &Mapping) -> Result<(), Error> {
        Ok(())
    }
    /// Addresses outside that sessions have.
    fn outside(config: &Self::Config) -> Outside;
    /// Sets its counters to zero, while it is disabled: those by interface up to a number.
    fn reset(core: &Self::Core, interfaces: usize);
    /// Records on a thread that a session ended there or moved to another one.
    fn ended(core: &Self::Core, thread: usize, gone: &NatSession);
    /// Records on a thread that a session moved there from another one.
    fn came(core: &Self::Core, thread: usize, session: &NatSession);
    /// Says how many sessions a thread has.
    fn show_totals(core: &Self::Core, thread: usize, table: &NatTable);
    /// Whether ends of sessions have subscribers.
    fn is_told(router: &Router) -> bool;
    /// Tells of ends.
    fn tell(router: &mut Router, gone: &[NatSession]);
    /// Other threads: sessions go over to the one that has their packets from now on
    /// ([`Nat::move_over`]).
    ///
    /// # Errors
    /// When a thread does not answer.
    fn go_over(router: &mut Router, stay: &Range<usize>) -> Result<(), String>;
}

/// Settings that end when NAT is disabled.
#[derive(Debug)]
pub struct Settings<K: Kind> {
    /// Addresses that packets get.
    pub pool: Pool,
    /// Mappings that stay.
    pub mappings: Vec<Mapping>,
    /// True if packets without a translation are forwarded.
    pub is_forwarding: bool,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// TCP MSS.
    pub mss: Option<u16>,
    /// Default table of hosts.
    pub inside_vrf: u32,
    /// Default table of far ends.
    pub outside_vrf: u32,
    /// Maximum sessions per thread; 0 for the default.
    pub sessions: u32,
    /// The errors of the kind.
    pub more: K::More,
}

impl<K: Kind> Default for Settings<K> {
    fn default() -> Self {
        Self {
            pool: Pool::default(),
            mappings: Vec::new(),
            is_forwarding: false,
            timeouts: Timeouts::default(),
            mss: None,
            inside_vrf: 0,
            outside_vrf: 0,
            sessions: 0,
            more: K::More::default(),
        }
    }
}

impl<K: Kind> Clone for Settings<K> {
    fn clone(&self) -> Self {
        let (pool, mappings, more) = (self.pool.clone(), self.mappings.clone(), self.more.clone());
        Self { pool, mappings, more, ..*self }
    }
}

/// Control's state of a kind.
pub struct Nat<K: Kind> {
    /// `None` while NAT is disabled.
    pub settings: Option<Settings<K>>,
    /// For the nodes.
    pub config: Shared<K::Config>,
    /// For the nodes.
    pub sessions: Shared<Option<NatSessions>>,
    /// For the nodes.
    pub core: K::Core,
    /// The threads that have sessions.
    pub workers: Workers,
    /// Addresses outside that packets are received for.
    pub received: Received,
    /// The frame queue size that clients set; 0 before the kind is enabled first. Queues between
    /// threads here have a size of their own.
    pub frame_queue: u32,
}

/// A session as control sees it, with the thread that owns it.
pub type Shown = (usize, NatSession);

impl<K: Kind> Nat<K> {
    /// Whether NAT is enabled.
    pub fn is_enabled(router: &Router) -> bool {
        router.state::<Self>().is_some_and(|nat| nat.settings.is_some())
    }
    /// The settings while NAT is enabled.
    ///
    /// # Errors
    /// [`Error::Disabled`].
    pub fn settings(router: &Router) -> Result<&Settings<K>, Error> {
        router.own::<Self>().settings.as_ref().ok_or(K::DISABLED)
    }
    /// The settings; none while NAT is disabled.
    pub fn known(router: &Router) -> Settings<K> {
        Self::settings(router).cloned().unwrap_or_default()
    }
    /// Changes the settings, and has the nodes follow.
    ///
    /// # Errors
    /// [`Error::Disabled`], or that of the change.
    pub fn change<R>(
        router: &mut Router,
        change: impl FnOnce(&mut Settings<K>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let done = change(router.own_mut::<Self>().settings.as_mut().ok_or(K::DISABLED)?)?;
        Self::apply(router);
        Ok(done)
    }
    /// Enables NAT.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn enable(router: &mut Router, mut settings: Settings<K>) -> Result<(), Error> {
        if Self::is_enabled(router) {
            return Err(Error::Enabled);
        }
        if settings.sessions == 0 {
            settings.sessions = K::SESSIONS;
        }
        K::begin(router, &mut settings)?;
        let classes = settings.timeouts.classes();
        let Ok(new) = NatSessions::new(router, settings.sessions as usize, &classes) else {
            K::end(router, &settings);
            return Err(Error::NoMemory);
        };
        let interfaces = router.interfaces.end();
        let nat = router.own_mut::<Self>();
        K::reset(&nat.core, interfaces);
        nat.sessions.publish(Some(new));
        nat.settings = Some(settings);
        if nat.frame_queue == 0 {
            nat.frame_queue = K::FRAME_QUEUE;
        }
        Self::apply(router);
        Ok(())
    }
    /// Disables NAT: all settings and sessions go.
    ///
    /// # Errors
    /// [`Error::AlreadyDisabled`].
    pub fn disable(router: &mut Router) -> Result<(), Error> {
        let gone = Self::settings(router).map_err(|_| Error::AlreadyDisabled)?.clone();
        K::disabling(router);
        for (interface, _) in Self::roles(router) {
            Self::set_role(router, interface, Role::default())?;
        }
        // All at once: their table goes.
        if let Some(all) = router.own::<Self>().sessions.current().clone() {
            let ending = Self::ending(router, |_| true);
            let gone = all.walk(router, ending).unwrap_or_default();
            Self::tell(router, &all, &gone);
        }
        let nat = router.own_mut::<Self>();
        nat.settings = None;
        nat.sessions.publish(None);
        nat.config.publish(K::Config::default());
        router.answer_for(K::NAME, Answered::new());
        Self::receive(router, Received::new());
        K::end(router, &gone);
        Ok(())
    }
    /// Roles of interfaces.
    pub(crate) fn roles(router: &Router) -> Vec<(InterfaceIndex, Role<Self>)> {
        router.settings::<Role<Self>>().map(|(interface, role)| (interface, *role)).collect()
    }
    /// Gives an interface a role, and features what they need for it.
    pub(crate) fn set_role(
        router: &mut Router,
        interface: InterfaceIndex,
        new: Role<Self>,
    ) -> Result<(), Error> {
        role::set(router, interface, new)?;
        Self::apply(router);
        Ok(())
    }
    /// Publishes the current state to the nodes.
    fn apply(router: &mut Router) {
        if let Ok(settings) = Self::settings(router) {
            let config = K::configure(router, settings);
            router.own_mut::<Self>().config.publish(config);
            let answered = Self::answered(router);
            Self::receive(router, Self::received(router, &answered));
            router.answer_for(K::NAME, answered);
        }
    }
    /// Receives packets to these addresses.
    fn receive(router: &mut Router, new: Received) {
        let old = std::mem::replace(&mut router.own_mut::<Self>().received, new.clone());
        received::receive(router, K::NAME, &old, &new);
    }
    /// Addresses outside in the tables of interfaces where far ends are.
    fn received(router: &Router, answered: &Answered) -> Received {
        let vrf = Self::settings(router).map_or(0, |settings| settings.outside_vrf);
        let usual = router.fib.table::<Ip4>(vrf);
        let table = |interface| {
            let role: Role<Self> = router.setting(interface);
            let own = router.interfaces.port(interface).and_then(|port| port.ip4);
            own.map(TableIndex).or(usual).filter(|_| role.receives_outside())
        };
        let one = |(interface, [addr, _]): &(Option<InterfaceIndex>, [IpAddr; 2])| match addr {
            IpAddr::V4(addr) => Some(((table((*interface)?)?, *addr), (*interface)?)),
            IpAddr::V6(_) => None,
        };
        answered.iter().filter_map(one).collect()
    }
    /// Addresses that this router answers for: those outside where far ends are, and where only
    /// hosts are those that far ends get. Those of interfaces it answers for anyway.
    fn answered(router: &Router) -> Answered {
        let settings = Self::known(router);
        let of_pool = |is_twice: bool| {
            let all = settings.pool.addresses.iter();
            all.filter(move |a| a.is_twice == is_twice).map(|a| a.addr)
        };
        let foreign = settings.mappings.iter().filter_map(Mapping::foreign);
        let outside: Vec<_> = of_pool(false).chain(foreign).collect();
        let twice: Vec<_> = of_pool(true).collect();
        let of_role = |(interface, role): (InterfaceIndex, Role<Self>)| {
            let all = if role.receives_outside() { &outside } else { &twice };
            all.iter().map(move |addr| (Some(interface), [IpAddr::V4(*addr); 2]))
        };
        Self::roles(router).into_iter().flat_map(of_role).collect()
    }
    /// Interfaces outside, and the tables that packets from there are looked up in.
    pub fn outsides(router: &Router, fib: impl Fn(u32) -> u16) -> (Vec<u32>, Vec<u16>) {
        let (mut interfaces, mut fibs) = (Vec::new(), Vec::new());
        let vrf = Self::settings(router).map_or(0, |settings| settings.outside_vrf);
        for (interface, _) in Self::roles(router).iter().filter(|(_, r)| r.receives_outside()) {
            interfaces.push(interface.0);
            let table = router.interfaces.port(*interface).and_then(|port| port.ip4);
            let table = table.unwrap_or_else(|| fib(vrf));
            if !fibs.contains(&table) {
                fibs.push(table);
            }
        }
        (interfaces, fibs)
    }
    /// Reports ended sessions; returns the number of remaining ones.
    pub(crate) fn tell(router: &mut Router, sessions: &NatSessions, gone: &[NatSession]) {
        K::tell(router, gone);
        let core = router.own::<Self>().core.clone();
        // A thread that does not answer is reported at the next request.
        let _ = sessions.visit(router, move |thread, table| K::show_totals(&core, thread, table));
    }
    /// Sessions of each thread, and the room for them.
    pub fn usage(router: &mut Router) -> Vec<Usage> {
        let sessions = router.own::<Self>().sessions.current().clone();
        sessions.and_then(|s| s.usage(router).ok()).unwrap_or_default()
    }
    /// Begins to follow what the kind hangs on, with a process that ends what is over.
    pub fn start(self, router: &mut Router, process: &'static str) {
        router.insert(self);
        router.interfaces.observe(Self::interface_changed);
        router.addresses.observe(|router, _, _| Self::addresses_changed(router));
        let body = |router: &mut Router, _| match Self::expire(router) {
            true => Wake::After(Duration::from_millis(1)),
            false => Wake::After(ROUND),
        };
        router.processes.spawn(process, Box::new(body));
        sessions::list(router, K::NAME, Self::usage);
        sessions::list_pages(router, K::NAME, |router, wanted| {
            match router.own::<Self>().sessions.current().clone() {
                Some(all) => sessions::page::page(router, &all, wanted, |one| one.data.tcp.name()),
                None => Ok(sessions::page::Page::default()),
            }
        });
    }
    /// Ends what is over; whether there may be more.
    pub fn expire(router: &mut Router) -> bool {
        let nat = router.own::<Self>();
        let core = nat.core.clone();
        let Some(sessions) = nat.sessions.current().clone() else { return false };
        let is_told = K::is_told(router);
        let ends = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&ends);
        let more = sessions.expire(router, move |thread, _, gone| {
            K::ended(&core, thread, gone);
            if is_told {
                to.lock().unwrap_or_else(PoisonError::into_inner).push(*gone);
            }
        });
        let ends = std::mem::take(&mut *ends.lock().unwrap_or_else(PoisonError::into_inner));
        Self::tell(router, &sessions, &ends);
        more
    }
    /// Ends the sessions that have addresses of the pool.
    pub(crate) fn release_addresses(router: &mut Router, addresses: &[PoolAddress]) {
        let of = |is_twice| {
            let those = addresses.iter().filter(move |address| address.is_twice == is_twice);
            those.map(|address| address.addr.octets()).collect::<HashSet<_>>()
        };
        let (once, twice) = (of(false), of(true));
        let _ = Self::remove_sessions(router, move |s| {
            s.data.is(TWICE) && twice.contains(&s.forward.dst)
                || !s.data.is(STATIC) && once.contains(&s.reverse.dst)
        });
    }
    /// Ends the sessions of a mapping; returns how many so far.
    pub(crate) fn release_mapping(router: &mut Router, mapping: &Mapping) -> Result<usize, Error> {
        let of = mapping.interface.map(InterfaceIndex);
        let external = of.and_then(|i| address_of(router, i)).unwrap_or(mapping.external).octets();
        let (port, protocol) = (mapping.port, mapping.protocol);
        Self::remove_sessions(router, move |s| {
            s.data.is(STATIC)
                && s.reverse.dst == external
                && protocol.is_none_or(|p| s.reverse.protocol() == p && s.reverse.dst_port == port)
        })
    }
    /// Ends sessions that come and go which a mapping gives another translation: those of its
    /// hosts, and of others that have its end outside if that leads to one host.
    /// Returns how many so far.
    pub(crate) fn take_over(router: &mut Router, mapping: &Mapping) -> Result<usize, Error> {
        let of = mapping.interface.map(InterfaceIndex);
        let external = match of {
            Some(interface) => address_of(router, interface),
            None => Some(mapping.external),
        };
        let Some(external) = external else { return Ok(0) };
        let table = |local: &Local| router.fib.table::<Ip4>(local.vrf).map(|table| table.0);
        let locals: Vec<_> = mapping.locals.iter().map(|local| (*local, table(local))).collect();
        let mapping = mapping.clone();
        Self::remove_sessions(router, move |s| {
            if s.data.is(STATIC | BYPASS) {
                return false;
            }
            let (host, end) = (s.forward.src, (s.reverse.dst, s.reverse.dst_port));
            let (port, protocol) = (s.forward.src_port, s.forward.protocol());
            let own = locals.iter().find(|(local, fib)| {
                let addr = if mapping.is_identity { external } else { local.addr };
                addr.octets() == host && *fib == Some(s.data.in_fib)
            });
            let new = own.and_then(|(local, _)| {
                let local = Local { addr: host.into(), ..*local };
                Mappings::translated(&mapping, external, &local, (port, protocol))
            });
            let is_taken = mapping.protocol.is_none_or(|p| p == protocol && mapping.port == end.1);
            let is_others = !K::HAS_FAR_END && end.0 == external.octets() && is_taken;
            match new {
                Some(new) => !mapping.is_out2in_only && new != end,
                None => is_others,
            }
        })
    }
    /// Follows changes of interfaces: state of a deleted interface is deleted with it.
    pub fn interface_changed(router: &mut Router, interface: InterfaceIndex, change: Change) {
        if router.state::<Self>().is_none() {
            return;
        }
        if change == Change::Deleting
            && let Some(settings) = &mut router.own_mut::<Self>().settings
        {
            settings.pool.interfaces.retain(|(known, _)| *known != interface);
            settings.mappings.retain(|m| m.interface != Some(interface.0));
        }
        Self::addresses_changed(router);
    }
    /// Follows addresses of interfaces: sessions that had one that is gone end.
    pub fn addresses_changed(router: &mut Router) {
        let outside = |router: &Router| K::outside(router.own::<Self>().config.current());
        let old = outside(router);
        Self::apply(router);
        let new = outside(router);
        if let Some(gone) = old.without(&new) {
            let _ = Self::remove_sessions(router, move |s| gone.has(s));
        }
        if old != new {
            let of_interfaces = Self::known(router).mappings;
            for mapping in of_interfaces.iter().filter(|m| m.interface.is_some()) {
                let _ = Self::take_over(router, mapping);
            }
        }
    }
    /// Other threads: sessions go over to the one that has their packets from now on, by the first
    /// of their `paths`.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn move_over<const N: usize>(
        router: &mut Router,
        stay: &Range<usize>,
        paths: impl Fn(&K::Config, &NatSession, u64) -> [Affinity; N] + Clone + Send + 'static,
    ) -> Result<(), String> {
        let threads = Self::threads_of(router, stay);
        Self::apply(router);
        let nat = router.own::<Self>();
        let Some(sessions) = nat.sessions.current().clone() else { return Ok(()) };
        let (config, core) = (Arc::new(nat.config.current().clone()), nat.core.clone());
        let seed = sessions.seed();
        let paths = move |session: &NatSession| paths(&config, session, seed);
        let step = move |step, thread, session: &NatSession| match step {
            Step::Left => K::ended(&core, thread, session),
            Step::Came => K::came(&core, thread, session),
        };
        let lost = sessions.rehome_on(router, &threads, paths, step).map_err(|e| e.to_string())?;
        let lost: Vec<_> = lost.into_iter().map(|(_, session)| session).collect();
        Self::tell(router, &sessions, &lost);
        for (interface, mut role) in Self::roles(router) {
            role.hands_off = stay.len() > 1;
            Self::set_role(router, interface, role).map_err(|e| e.to_string())?;
        }
        Ok(())
    }
}
