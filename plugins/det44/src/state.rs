//! Control's state, and what it tells the nodes.

use net::prelude::*;
use sessions::Walked;
use sessions::slices::{self, Gather, Slices};
use translation::session::{NatSession, NatSessions, Timeouts};

use crate::map::{Map, Maps};
use crate::node::{Core, affinity_of};

/// The side of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// Neither.
    #[default]
    None,
    /// Inside.
    Inside,
    /// Their far ends are there.
    Outside,
}

/// Deterministic NAT on an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// The side.
    pub side: Side,
    /// Whether there are several threads.
    pub hands_off: bool,
}

/// Reasons why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// deterministic NAT is not enabled
    #[retval(FEATURE_DISABLED)]
    Disabled,
    /// deterministic NAT is already enabled
    #[retval(FEATURE_ALREADY_ENABLED)]
    Enabled,
    /// deterministic NAT is already disabled
    #[retval(FEATURE_ALREADY_DISABLED)]
    AlreadyDisabled,
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// the interface is already inside or outside
    #[retval(VALUE_EXIST)]
    HasSide,
    /// the interface is not on that side
    #[retval(NO_SUCH_ENTRY)]
    NotThere,
    /// a prefix length is at most 32
    #[retval(INVALID_VALUE)]
    BadPrefix,
    /// the outside network must be at most as large as the inside one, and at most 2^15 times
    /// smaller
    #[retval(INVALID_VALUE)]
    BadRatio,
    /// the network overlaps that of another mapping
    #[retval(VALUE_EXIST)]
    Overlaps,
    /// no such mapping
    #[retval(NO_SUCH_ENTRY)]
    NoMap,
    /// no mapping for {0}
    #[retval(NO_SUCH_ENTRY)]
    NoMapFor(Ipv4Addr),
    /// no host uses port {0}
    #[retval(NO_SUCH_ENTRY)]
    NoHost(u16),
    /// no such session
    #[retval(NO_SUCH_ENTRY)]
    NoSession,
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

/// Settings that end when it is disabled.
pub struct Settings {
    /// The table of hosts, by number.
    pub inside_vrf: u32,
    /// The table of far ends, by number.
    pub outside_vrf: u32,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Maps.
    pub maps: Maps,
    tables: [TableIndex; 2],
}

/// Configuration of the nodes.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Maps.
    pub maps: Maps,
    /// Interfaces outside.
    pub outside: Vec<u32>,
    /// Outside table.
    pub outside_fib: u16,
}

/// Control's state.
pub struct Det44 {
    /// `None` while it is disabled.
    pub settings: Option<Settings>,
    /// For the nodes.
    pub config: Shared<Config>,
    /// For the nodes.
    pub sessions: Shared<Option<NatSessions>>,
    /// For the nodes.
    pub core: Core,
}

/// The settings while it is enabled.
///
/// # Errors
/// [`Error::Disabled`].
pub fn settings(router: &Router) -> Result<&Settings, Error> {
    router.own::<Det44>().settings.as_ref().ok_or(Error::Disabled)
}

fn settings_mut(router: &mut Router) -> Result<&mut Settings, Error> {
    router.own_mut::<Det44>().settings.as_mut().ok_or(Error::Disabled)
}

/// Enables it, with tables by number.
pub fn enable(router: &mut Router, inside_vrf: u32, outside_vrf: u32) -> Result<(), Error> {
    if router.own::<Det44>().settings.is_some() {
        return Err(Error::Enabled);
    }
    let inside = hold(router, inside_vrf)?;
    let outside = hold(router, outside_vrf).inspect_err(|_| router.release_table::<Ip4>(inside))?;
    let tables = [inside, outside];
    let (timeouts, maps) = (Timeouts::default(), Maps::default());
    if let Err(e) = start(router, timeouts) {
        tables.into_iter().for_each(|table| router.release_table::<Ip4>(table));
        return Err(e);
    }
    let new = Settings { inside_vrf, outside_vrf, timeouts, maps, tables };
    router.own_mut::<Det44>().settings = Some(new);
    publish(router);
    Ok(())
}

fn hold(router: &mut Router, vrf: u32) -> Result<TableIndex, Error> {
    router.hold_table::<Ip4>(vrf).map_err(|_| Error::NoTable(vrf))
}

/// Begins with no sessions.
fn start(router: &mut Router, timeouts: Timeouts) -> Result<(), Error> {
    let new = NatSessions::new(router, crate::SESSIONS, &timeouts.classes());
    let new = new.map_err(|_| Error::NoMemory)?;
    let det44 = router.own_mut::<Det44>();
    det44.core.users.clear();
    det44.sessions.publish(Some(new));
    Ok(())
}

/// Disables it: all settings and sessions go.
pub fn disable(router: &mut Router) -> Result<(), Error> {
    let gone = router.own_mut::<Det44>().settings.take().ok_or(Error::AlreadyDisabled)?;
    let all: Vec<_> = router.settings::<Role>().map(|(interface, _)| interface).collect();
    for interface in all {
        put(router, interface, Role::default())?;
    }
    // All at once: their table goes.
    let det44 = router.own::<Det44>();
    if let Some(sessions) = det44.sessions.current().clone() {
        let ending = ending(&det44.core, |_| true);
        let _ = sessions.walk(router, ending);
    }
    gone.tables.into_iter().for_each(|table| router.release_table::<Ip4>(table));
    let det44 = router.own_mut::<Det44>();
    det44.sessions.publish(None);
    det44.config.publish(Config::default());
    publish(router);
    Ok(())
}

fn put(router: &mut Router, interface: InterfaceIndex, new: Role) -> Result<(), Error> {
    let old = router.setting::<Role>(interface);
    router.put(interface, new)?;
    if (old.side == Side::None) != (new.side == Side::None) {
        let is_needed = new.side != Side::None;
        router.need_fragment_ports(interface, 0, is_needed).map_err(|_| Error::NoInterface)?;
    }
    Ok(())
}

/// Puts an interface on a side, or takes it off.
pub fn set_side(
    router: &mut Router,
    interface: InterfaceIndex,
    side: Side,
    is_add: bool,
) -> Result<(), Error> {
    settings(router)?;
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let old = router.setting::<Role>(interface);
    match (old.side, is_add) {
        (Side::None, true) => {
            let hands_off = router.engine.data_threads().len() > 1;
            put(router, interface, Role { side, hands_off })?;
        }
        (is, false) if is == side => put(router, interface, Role::default())?,
        (_, true) => return Err(Error::HasSide),
        (_, false) => return Err(Error::NotThere),
    }
    publish(router);
    Ok(())
}

/// Adds a mapping of an inside network to an outside network, or deletes it with its sessions.
pub fn set_map(
    router: &mut Router,
    inside: Ip4Prefix,
    outside: Ip4Prefix,
    is_add: bool,
) -> Result<(), Error> {
    let settings = settings_mut(router)?;
    let map = Map::new(inside, outside).ok_or(Error::BadRatio)?;
    if is_add {
        if settings.maps.overlaps(&map) {
            return Err(Error::Overlaps);
        }
        settings.maps.add(map);
        publish(router);
        return Ok(());
    }
    if !settings.maps.remove(&map) {
        return Err(Error::NoMap);
    }
    publish(router);
    let det44 = router.own::<Det44>();
    let Some(sessions) = det44.sessions.current().clone() else { return Ok(()) };
    let is_meant = move |s: &NatSession| map.inside.contains(s.forward.src.into());
    let ended = sessions.sweep(router, ending(&det44.core, is_meant), |_, _| ());
    ended.map(drop).map_err(|_| Error::NoAnswer)
}

/// The map of a host.
pub fn map_of(router: &Router, host: Ipv4Addr) -> Result<Map, Error> {
    settings(router)?.maps.of_host(host).copied().ok_or(Error::NoMapFor(host))
}

/// The inside host of an outside address and port.
pub fn host_of(router: &Router, addr: Ipv4Addr, port: u16) -> Result<Ipv4Addr, Error> {
    let map = settings(router)?.maps.of_outside(addr).ok_or(Error::NoMapFor(addr))?;
    map.reverse(addr, port).ok_or(Error::NoHost(port))
}

/// Sets the timeouts; sessions have the new ones at once.
pub fn set_timeouts(router: &mut Router, new: Timeouts) -> Result<(), Error> {
    settings_mut(router)?.timeouts = new;
    let sessions = router.own::<Det44>().sessions.current().clone();
    let Some(sessions) = sessions else { return Ok(()) };
    sessions.set_classes(router, new.classes()).map_err(|_| Error::NoAnswer)
}

/// An end of a session: address and port.
pub type End = (Ipv4Addr, u16);

/// Ends the session of a far end with a host, which is named by its own address and port or, if
/// `is_outside`, by those that it has outside; `answer` makes the answer.
pub fn close<R: 'static>(
    router: &Router,
    near: End,
    far: End,
    is_outside: bool,
    answer: impl FnOnce(Result<(), Error>) -> R + 'static,
) -> Result<Gather<(), R>, Error> {
    match is_outside {
        true => drop(host_of(router, near.0, near.1)?),
        false => drop(map_of(router, near.0)?),
    }
    let is_meant = move |s: &NatSession| {
        let own = match is_outside {
            true => (s.reverse.dst.into(), s.reverse.dst_port),
            false => (s.forward.src.into(), s.forward.src_port),
        };
        own == near && (s.forward.dst.into(), s.forward.dst_port) == far
    };
    let det44 = router.own::<Det44>();
    let slices = match det44.sessions.current() {
        Some(sessions) => sessions.slices(ending(&det44.core, is_meant)),
        None => slices::nothing(),
    };
    Ok(Gather::all(slices, |_, gone| {
        answer(match gone {
            Ok(gone) if gone.is_empty() => Err(Error::NoSession),
            Ok(_) => Ok(()),
            Err(_) => Err(Error::NoAnswer),
        })
    }))
}

/// The sessions that are not over for which `is_meant`, in the order that they have in memory.
pub fn slices(
    router: &Router,
    is_meant: impl Fn(&NatSession) -> bool + Clone + Send + 'static,
) -> Slices<(NatSession, Timeouts)> {
    let det44 = router.own::<Det44>();
    let timeouts = det44.settings.as_ref().map(|s| s.timeouts);
    let Some((sessions, timeouts)) = det44.sessions.current().as_ref().zip(timeouts) else {
        return slices::nothing();
    };
    let now = router.now();
    sessions.slices(move |_, s: &mut NatSession| {
        let is_over = now - s.heard() > timeouts.of(s).into();
        Walked::keep((!is_over && is_meant(s)).then_some((*s, timeouts)))
    })
}

/// Ends a session on its thread if it `is_meant`.
fn ending(
    core: &Core,
    is_meant: impl Fn(&NatSession) -> bool + Clone + Send + 'static,
) -> impl Fn(usize, &mut NatSession) -> Walked<()> + Clone + Send + 'static {
    let core = core.clone();
    move |thread, s| {
        if !is_meant(s) {
            return Walked::keep(None);
        }
        core.ended(thread, s);
        Walked::remove(Some(()))
    }
}

/// Ends what is over; whether there may be more.
pub fn expire(router: &mut Router) -> bool {
    let det44 = router.own::<Det44>();
    let core = det44.core.clone();
    let Some(sessions) = det44.sessions.current().clone() else { return false };
    sessions.expire(router, move |thread, _, gone| core.ended(thread, gone))
}

/// Publishes the current state to the nodes.
pub fn publish(router: &mut Router) {
    let outside = router.settings::<Role>().filter(|(_, role)| role.side == Side::Outside);
    let outside: Vec<u32> = outside.map(|(interface, _)| interface.0).collect();
    let det44 = router.own_mut::<Det44>();
    let Some(Settings { maps, tables, .. }) = &det44.settings else {
        return router.answer_for("det44", Vec::new());
    };
    let (maps, outside_fib) = (maps.clone(), tables[1].0);
    let range = |map: &Map| {
        let (first, mask) = (map.outside.network().addr(), map.outside.mask());
        [first, Ipv4Addr::from(first.to_bits() | !mask.to_bits())].map(IpAddr::V4)
    };
    let ranges: Vec<_> = maps.iter().map(range).collect();
    let all = outside.iter().flat_map(|on| ranges.iter().map(|range| (*on, *range)));
    let all = all.map(|(on, range)| (Some(InterfaceIndex(on)), range)).collect();
    det44.config.publish(Config { maps, outside, outside_fib });
    router.answer_for("det44", all);
}

/// Other threads: sessions go over to the one that has their host from now on.
pub fn threads_changed(router: &mut Router, stay: &Range<usize>) -> Result<(), String> {
    let hands_off = stay.len() > 1;
    let det44 = router.own::<Det44>();
    let Some(sessions) = det44.sessions.current().clone() else { return Ok(()) };
    let (core, seed) = (det44.core.clone(), sessions.seed());
    let ways = move |session: &NatSession| [affinity_of(session.forward.src, seed)];
    let step = move |step, thread, session: &NatSession| core.moved(step, thread, session);
    sessions.rehome(router, stay, ways, step).map_err(|e| e.to_string())?;
    let all: Vec<_> = router.settings::<Role>().map(|(i, role)| (i, *role)).collect();
    for (interface, role) in all {
        put(router, interface, Role { hands_off, ..role }).map_err(|e| e.to_string())?;
    }
    Ok(())
}
