//! Internet group management, version 3 (RFC 3376).
//!
//! On an interface of a **host** the router is a member of groups itself: it reports the sources of
//! a group it wants, on changes and on queries. On an interface of a **router** it queries, keeps
//! the sources of groups that hosts want, and notifies clients of the binary API of changes. A
//! **proxy** (RFC 4605) joins on one host interface all groups of the hosts of some router
//! interfaces, and forwards those groups to them.
//!
//! Routers keep lists of included sources, none of excluded ones: a host that wants all but some
//! sources of a group gets all of it.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod host;
mod node;
mod proxy;
mod querier;
mod routes;
mod send;
mod show;
mod tasks;

use net::address::OnInterface;
use net::fib::Source;
use net::prelude::*;
use wire::igmp;
use wire::prefix::Ip4Prefix;

pub use api::*;
pub use host::listen;
pub use node::{Input, ParseQuery, ParseReport};
pub use proxy::{Proxy, set_proxy, set_proxy_interface};
pub use querier::MOST_OF_GROUP;

use tasks::Tasks;

/// Groups and sources that all interfaces together may have.
pub const MOST_SOURCES: usize = 1 << 16;

/// The part that an interface plays.
#[derive(Words, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It asks hosts.
    Router,
    /// Host.
    Host,
}

/// Sources of a group that a host wants: these, or all but these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Whether the sources are those that are not wanted.
    pub is_exclude: bool,
    /// Sources.
    pub sources: BTreeSet<Ipv4Addr>,
}

impl Wanted {
    /// Its part of what all interfaces may have: the group and its sources.
    fn size(&self) -> usize {
        if self.is_nothing() { 0 } else { 1 + self.sources.len() }
    }
    /// Whether no packet is wanted.
    pub fn is_nothing(&self) -> bool {
        !self.is_exclude && self.sources.is_empty()
    }
}

/// Times of routers, in seconds (RFC 3376 section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// Between two general queries.
    pub query: u32,
    /// Time after which a source without reports is removed.
    pub source: u32,
    /// Seconds until a source is removed after a leave.
    pub leave: u32,
}

impl Default for Timers {
    fn default() -> Self {
        Self { query: 125, source: 260, leave: 2 }
    }
}

/// An interface with the protocol enabled.
#[derive(Debug)]
pub struct Port {
    /// The part it plays.
    pub mode: Mode,
    /// The table of its packets.
    pub table: TableIndex,
    /// Groups wanted by the router.
    pub wanted: BTreeMap<Ipv4Addr, Wanted>,
    /// The groups of these in the order in which they were asked for, as reports name them.
    order: Vec<Ipv4Addr>,
    /// Answers that wait: for a group, or for all of them.
    answers: BTreeMap<Option<Ipv4Addr>, host::Answer>,
    /// Groups wanted by hosts: their expiry, in microseconds, by group and source. The source
    /// 0.0.0.0 stands for all.
    pub heard: BTreeMap<Ipv4Addr, BTreeMap<Ipv4Addr, u64>>,
    /// Number of these sources.
    count: usize,
    /// Until when another router asks, in microseconds.
    silent_until: u64,
}

impl Port {
    /// Sets what the router wants of a group, or that it wants nothing; what it wanted before.
    fn set(&mut self, group: Ipv4Addr, wanted: Wanted) -> Option<Wanted> {
        if wanted.is_nothing() {
            self.order.retain(|known| *known != group);
            return self.wanted.remove(&group);
        }
        let before = self.wanted.insert(group, wanted);
        self.order.extend(Some(group).filter(|_| before.is_none()));
        before
    }
    /// Groups wanted by the router, in order of joining.
    fn in_order(&self) -> impl Iterator<Item = (Ipv4Addr, &Wanted)> {
        self.order.iter().filter_map(|group| Some((*group, self.wanted.get(group)?)))
    }
}

/// How the groups of a prefix are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// From any source.
    Any,
    /// Source-specific: reports for all sources are ignored (RFC 4604).
    Specific,
}

/// All that control keeps.
pub struct Igmp {
    /// Times of routers.
    pub timers: Timers,
    /// Interfaces that take part.
    pub ports: BTreeMap<InterfaceIndex, Port>,
    /// Proxies, by the number of their table.
    pub proxies: BTreeMap<u32, Proxy>,
    /// Prefixes of groups.
    pub ranges: BTreeMap<Ip4Prefix, Range>,
    /// Joined groups, their sources, and reported sources.
    held: usize,
    /// Groups of router interfaces whose sources have changed, while a report is read.
    unsettled: BTreeSet<(InterfaceIndex, Ipv4Addr)>,
    source: Source,
    routes: routes::Installed,
    tasks: Tasks,
}

impl Igmp {
    /// Groups and sources that there still is room for.
    fn room(&self) -> usize {
        MOST_SOURCES.saturating_sub(self.held)
    }
    /// Sources of hosts that an interface with `own` of them still has room for. Once half of all
    /// is taken, each interface has a share of the rest, whatever hosts of others ask for.
    fn room_on(&self, own: usize) -> usize {
        let room = self.room();
        let share = MOST_SOURCES / (2 * self.ports.len().max(1));
        room.min(room.saturating_sub(MOST_SOURCES / 2).max(share.saturating_sub(own)))
    }
    /// How a group is meant.
    pub fn range_of(&self, group: Ipv4Addr) -> Range {
        let all = self.ranges.iter().filter(|(prefix, _)| prefix.contains(group));
        all.max_by_key(|(prefix, _)| prefix.prefix_len()).map_or(Range::Any, |(_, range)| *range)
    }
}

/// Reasons for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// no such table
    #[retval(NO_SUCH_FIB)]
    NoTable,
    /// IGMP is not enabled on the interface
    #[retval(INVALID_INTERFACE)]
    Off,
    /// the interface is already a host interface
    #[retval(VALUE_EXIST)]
    IsHost,
    /// the interface is already a router interface
    #[retval(VALUE_EXIST)]
    IsRouter,
    /// the interface is in another table
    #[retval(INVALID_INTERFACE)]
    OtherTable,
    /// the group must be a routable multicast address
    #[retval(INVALID_VALUE)]
    NoGroup,
    /// a source must be a unicast address
    #[retval(INVALID_VALUE_2)]
    NoSource,
    /// groups are IPv4 multicast prefixes
    #[retval(INVALID_VALUE)]
    NoGroups,
    /// too many groups and sources
    #[retval(TABLE_TOO_BIG)]
    Full,
    /// the table has a proxy with another upstream interface
    #[retval(VALUE_EXIST)]
    HasProxy,
    /// no such proxy
    #[retval(NO_SUCH_ENTRY)]
    NoProxy,
    /// times must be 1 to 65535 seconds
    #[retval(INVALID_VALUE)]
    Time,
}

/// State of an interface for nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadState {
    is_on: bool,
}

/// Enables IGMP on an interface.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn enable(router: &mut Router, interface: InterfaceIndex, mode: Mode) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    match port(router, interface).map(|port| port.mode) {
        Ok(now) if now == mode => return Ok(()),
        Ok(Mode::Host) => return Err(Error::IsHost),
        Ok(Mode::Router) => return Err(Error::IsRouter),
        Err(_) => {}
    }
    let table = router.addresses.of(interface).table(Link::Ip4).unwrap_or(TableIndex::DEFAULT);
    router.put(interface, ThreadState { is_on: true })?;
    let new = Port {
        mode,
        table,
        wanted: BTreeMap::new(),
        order: Vec::new(),
        answers: BTreeMap::new(),
        heard: BTreeMap::new(),
        count: 0,
        silent_until: 0,
    };
    router.own_mut::<Igmp>().ports.insert(interface, new);
    routes::follow_all(router, table);
    if mode == Mode::Router {
        tasks::soon(router, tasks::Task::Query(interface));
    }
    Ok(())
}

/// Disables IGMP on an interface: its groups are left, and a proxy on it is deleted.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn disable(router: &mut Router, interface: InterfaceIndex, mode: Mode) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    match port(router, interface)?.mode {
        now if now == mode => {}
        Mode::Host => return Err(Error::IsHost),
        Mode::Router => return Err(Error::IsRouter),
    }
    leave(router, interface);
    let _ = router.put(interface, ThreadState::default());
    Ok(())
}

/// Removes all state of an interface.
fn leave(router: &mut Router, interface: InterfaceIndex) {
    clear_groups(router, interface);
    proxy::forget(router, interface);
    let igmp = router.own_mut::<Igmp>();
    let Some(gone) = igmp.ports.remove(&interface) else { return };
    debug_assert!(igmp.held == 0 || !igmp.ports.is_empty(), "{} held without a port", igmp.held);
    routes::follow_all(router, gone.table);
}

/// Disables IGMP on an interface, in either role.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn clear(router: &mut Router, interface: InterfaceIndex) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    leave(router, interface);
    Ok(router.put(interface, ThreadState::default())?)
}

fn clear_groups(router: &mut Router, interface: InterfaceIndex) {
    let Ok(port) = port(router, interface) else { return };
    let wanted: Vec<_> = port.wanted.keys().copied().collect();
    let heard: Vec<_> = port.heard.keys().copied().collect();
    for group in wanted {
        let _ = listen(router, interface, group, Wanted::default());
    }
    for group in heard {
        querier::forget(router, interface, group);
    }
}

/// Sets the times of routers.
///
/// # Errors
/// [`Error::Time`]; nothing has changed then.
pub fn set_timers(router: &mut Router, timers: Timers) -> Result<(), Error> {
    let Timers { query, source, leave } = timers;
    if [query, source, leave].into_iter().any(|time| !(1..=65535).contains(&time)) {
        return Err(Error::Time);
    }
    router.own_mut::<Igmp>().timers = timers;
    Ok(())
}

/// Says how the groups of a prefix are meant.
///
/// # Errors
/// [`Error::NoGroups`], [`Error::Full`]; nothing has changed then.
pub fn set_range(router: &mut Router, prefix: Ip4Prefix, range: Range) -> Result<(), Error> {
    if !prefix.addr().is_multicast() {
        return Err(Error::NoGroups);
    }
    let ranges = &mut router.own_mut::<Igmp>().ranges;
    if ranges.len() >= MOST_SOURCES {
        return Err(Error::Full);
    }
    ranges.insert(prefix, range);
    Ok(())
}

/// Resets the type of a group prefix.
///
/// # Errors
/// As of [`set_range`].
pub fn reset_range(router: &mut Router, prefix: Ip4Prefix) -> Result<(), Error> {
    if prefix.to_string() == SPECIFIC {
        return set_range(router, prefix, Range::Specific);
    }
    router.own_mut::<Igmp>().ranges.remove(&prefix);
    Ok(())
}

fn port(router: &Router, interface: InterfaceIndex) -> Result<&Port, Error> {
    router.own::<Igmp>().ports.get(&interface).ok_or(Error::Off)
}

fn port_mut(router: &mut Router, interface: InterfaceIndex) -> Option<&mut Port> {
    router.own_mut::<Igmp>().ports.get_mut(&interface)
}

/// Whether groups are forwarded by routers: those of a link alone are not (RFC 5771).
fn is_group(group: Ipv4Addr) -> bool {
    group.is_multicast() && group.octets()[..3] != [224, 0, 0]
}

fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    match change {
        Change::Deleting => leave(router, interface),
        Change::State => host::tell_all(router, interface),
        _ => {}
    }
}

fn follow_table(router: &mut Router, interface: InterfaceIndex, before: &OnInterface) {
    let table = router.addresses.of(interface).table4;
    if table == before.table4 {
        return;
    }
    let Some(port) = port_mut(router, interface) else { return };
    port.table = table;
    proxy::forget(router, interface);
    routes::follow_all(router, before.table4);
    routes::follow_all(router, table);
}

/// Internet group management.
pub const FEATURE: Feature = Feature {
    name: "igmp",
    about: "Internet Group Management Protocol (IGMP)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["mfib", "ip4", "neighbor"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// Priority of its multicast routes: those of clients and operators count first.
const PRIORITY: u8 = 0x60;

/// Groups of named sources (RFC 4607).
const SPECIFIC: &str = "232.0.0.0/8";

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let ports = router.attach::<ThreadState>().map_err(refuse)?;
    let events = router.events.sender();
    router.engine.add(ParseQuery { events: events.clone() }).map_err(refuse)?;
    router.engine.add(ParseReport { events }).map_err(refuse)?;
    router.engine.add(Input { ports }).map_err(refuse)?;
    router.ip4_protocol(Protocol::IGMP, node::NAME).map_err(refuse)?;
    let source = router.fib.sources.add_own("igmp", PRIORITY);
    let specific = SPECIFIC.parse().map_err(refuse)?;
    router.insert(Igmp {
        timers: Timers::default(),
        ports: BTreeMap::new(),
        proxies: BTreeMap::new(),
        ranges: BTreeMap::from([(specific, Range::Specific)]),
        held: 0,
        unsettled: BTreeSet::new(),
        source: source.ok_or_else(|| refuse("there is no room for a source of routes"))?,
        routes: routes::Installed::default(),
        tasks: Tasks::default(),
    });
    router.events.handle(arrived);
    router.interfaces.observe(follow);
    router.addresses.observe(follow_table);
    tasks::register(router);
    cli::register(&mut parts.cli);
    show::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}

fn arrived(router: &mut Router, message: node::Arrived) {
    let interface = message.interface;
    let Ok(mode) = port(router, interface).map(|port| port.mode) else { return };
    if message.is_report {
        if mode == Mode::Router {
            let mut records = Vec::new();
            let each = |r: igmp::Record<'_>| {
                let sources: Vec<_> = r.sources.iter().map(|s| Ipv4Addr::from(*s)).collect();
                records.push((r.kind, r.group, sources));
            };
            let _ = igmp::report(message.bytes(), each);
            querier::heard(router, interface, records);
        }
        return;
    }
    let Some(query) = igmp::query(message.bytes()) else { return };
    match mode {
        Mode::Host => host::asked(router, interface, query),
        Mode::Router => querier::other_asks(router, interface, message.from),
    }
}
