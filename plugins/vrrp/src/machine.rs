//! The machines of virtual routers (RFC 9568 section 6).

use net::prelude::*;
use wire::vrrp::OWNER;

use super::node::Heard;
use super::send;
use super::table::Key;
use super::{
    Vrrp, api, at_mut, group, publish, virtual_router, virtual_router::forget, virtual_routers,
};

/// The process of the timers.
pub const PROCESS: &str = "vrrp-periodic-process";

/// Part of its interval after which a master advertises: a backup that knows the interval must
/// receive one within that time.
const EARLY: f64 = 0.98;

/// Answers of a master to others in one of its intervals.
const MOST_ANSWERS: u32 = 4;
/// Seconds between two looks at the timers.
const TURN: f64 = 0.001;

/// Virtual router states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was not started.
    Init,
    /// Another router answers for its addresses.
    Backup,
    /// This router does.
    Master,
    /// It was started, and its interface cannot send.
    InterfaceDown,
}

impl State {
    /// Whether it hears advertisements.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Backup | Self::Master)
    }
}

/// Seconds of hundredths.
fn seconds(hundredths: u32) -> f64 {
    f64::from(hundredths) / 100.0
}

fn set_state(router: &mut Router, key: Key, new: State) {
    let Some(of) = at_mut(router, key) else { return };
    let old = std::mem::replace(&mut of.state, new);
    if old != new {
        api::tell(router, key, old, new);
    }
}

/// Whether an interface can send and has an address to send from.
fn is_ready(router: &Router, key: Key) -> bool {
    let is_up = router.interfaces.at(key.on).is_some_and(|i| i.admin_up && i.link_up);
    is_up && send::source(router, key).is_some()
}

/// Takes a virtual router into service, or has it wait for its interface.
pub(super) fn begin(router: &mut Router, key: Key) {
    if !is_ready(router, key) {
        return set_state(router, key, State::InterfaceDown);
    }
    let Some(of) = at_mut(router, key) else { return };
    let (is_owner, hears_group) = (of.settings.priority == OWNER, !of.settings.unicast);
    of.master_interval = of.settings.interval;
    let link = Link::from(key.version);
    let table = router.addresses.of(key.on).table(link).filter(|_| hears_group);
    if let Some(table) = table {
        group::hear(router, link, table, true);
        at_mut(router, key).into_iter().for_each(|of| of.group = Some((link, table)));
        send::join(router, key);
    }
    match is_owner {
        true => become_master(router, key),
        false => become_backup(router, key),
    }
    publish(router);
    router.processes.signal(PROCESS, 0);
}

/// Takes a virtual router out of service: another router is to take over at once.
pub(super) fn end(router: &mut Router, key: Key, after: State) {
    let Some(of) = at_mut(router, key) else { return };
    let (was, group) = (of.state, of.group.take());
    if was == State::Master {
        send::advertise(router, key, 0);
        yield_addresses(router, key);
    }
    if let Some((link, table)) = group {
        group::hear(router, link, table, false);
    }
    set_state(router, key, after);
    publish(router);
}

fn become_master(router: &mut Router, key: Key) {
    set_state(router, key, State::Master);
    // An interface above another has the other's port; frames to the address reach that.
    let port = router.interfaces.at(key.on).map_or(key.on, |i| i.sup);
    // What is not taken is only answered for.
    let lent = router.lend_mac(port, key.mac(), true).is_ok();
    let Some(of) = at_mut(router, key) else { return };
    of.lent = lent.then_some(port);
    advertise(router, key);
    accept(router, key);
    publish(router);
    send::announce(router, key);
}

/// Gives an interface the addresses, where this router is to be reached at them.
fn accept(router: &mut Router, key: Key) {
    let Some(of) = virtual_router(router, key).filter(|of| of.settings.accept) else { return };
    let addrs = of.settings.addrs.clone();
    let mut accepted = Vec::new();
    for addr in addrs.iter() {
        let on = router.addresses.of(key.on);
        let has = on.iter().any(|p| p.addr() == *addr);
        // An address of a network that the interface is in has its length.
        let len = on.iter().find(|p| p.contains(*addr)).map(|p| p.prefix_len());
        let len = len.unwrap_or(key.version.bits());
        let Ok(prefix) = Prefix::new(*addr, len) else { continue };
        // A link-local one would take the place of the interface's own.
        let is_link_local = matches!(addr, IpAddr::V6(addr) if addr.is_unicast_link_local());
        if !has && !is_link_local && router.add_learned_address(key.on, prefix).is_ok() {
            accepted.push(prefix);
        }
    }
    at_mut(router, key).into_iter().for_each(|of| of.accepted = accepted.clone());
}

/// Takes away from the interface what a master has.
fn yield_addresses(router: &mut Router, key: Key) {
    let Some(of) = at_mut(router, key) else { return };
    let (lent, accepted) = (of.lent.take(), std::mem::take(&mut of.accepted));
    for prefix in accepted {
        // The address may have been removed meanwhile.
        let _ = router.remove_address(key.on, prefix);
    }
    // A virtual router with the same number on another interface of the port has it too.
    let is_shared = virtual_routers(router)
        .any(|(_, other)| other.key != key && other.lent == lent && other.key.mac() == key.mac());
    if let Some(port) = lent.filter(|_| !is_shared) {
        // An interface that goes has forgotten it.
        let _ = router.lend_mac(port, key.mac(), false);
    }
}

fn become_backup(router: &mut Router, key: Key) {
    if virtual_router(router, key).is_some_and(|of| of.state == State::Master) {
        yield_addresses(router, key);
    }
    set_state(router, key, State::Backup);
    wait(router, key);
}

/// Waits for advertisements of the master as long as its interval calls for.
fn wait(router: &mut Router, key: Key) {
    let now = router.now();
    let priority = priority(router, key);
    let Some(of) = at_mut(router, key) else { return };
    of.next = now + seconds(of.master_down(priority));
    router.processes.signal(PROCESS, 0);
}

/// Sends an advertisement, and says when the next one is.
fn advertise(router: &mut Router, key: Key) {
    send::advertise(router, key, priority(router, key));
    let now = router.now();
    let Some(of) = at_mut(router, key) else { return };
    of.master_interval = of.settings.interval;
    of.next = now + EARLY * seconds(of.settings.interval.into());
    router.processes.signal(PROCESS, 0);
}

/// Advertises out of turn, as others have to learn that there is a master, however often they ask.
fn answer(router: &mut Router, key: Key) {
    let now = router.now();
    let Some(of) = at_mut(router, key) else { return };
    let (since, count) = of.answers;
    let is_same = (0.0..seconds(of.settings.interval.into())).contains(&(now - since));
    let count = if is_same { count } else { 0 };
    if count < MOST_ANSWERS {
        of.answers = (if is_same { since } else { now }, count + 1);
        advertise(router, key);
    }
}

/// Whether an interface that a virtual router depends on is of use to it.
pub(super) fn is_useful(router: &Router, on: InterfaceIndex, version: IpVersion) -> bool {
    let is_up = router.interfaces.at(on).is_some_and(|i| i.admin_up && i.link_up);
    is_up && router.addresses.of(on).iter().any(|p| IpVersion::from(p) == version)
}

/// The current priority decrement of tracked interfaces.
pub(super) fn decrement(router: &Router, key: Key) -> u32 {
    let Some(of) = virtual_router(router, key) else { return 0 };
    let lost = of.tracked.iter().filter(|(on, _)| !is_useful(router, **on, key.version));
    lost.map(|(_, priority)| u32::from(*priority)).sum()
}

/// The priority of a virtual router now.
pub(super) fn priority(router: &Router, key: Key) -> u8 {
    let Some(of) = virtual_router(router, key) else { return 0 };
    let left = u32::from(of.settings.priority).saturating_sub(decrement(router, key));
    left.max(1) as u8
}

/// Takes an advertisement of another router.
pub(super) fn heard(router: &mut Router, heard: Heard) {
    let key = heard.key;
    let Some(of) = virtual_router(router, key) else { return };
    let own = priority(router, key);
    let (state, preempt, is_owner) = (of.state, of.settings.preempt, of.settings.priority == OWNER);
    let is_above = send::source(router, key).is_some_and(|source| heard.from > source);
    match state {
        State::Backup if heard.priority == 0 => {
            let now = router.now();
            let Some(of) = at_mut(router, key) else { return };
            of.next = now + seconds(of.skew(own));
            router.processes.signal(PROCESS, 0);
        }
        State::Backup if !preempt || heard.priority >= own => {
            let Some(of) = at_mut(router, key) else { return };
            of.master_interval = heard.interval;
            wait(router, key);
        }
        State::Master if heard.priority == 0 => answer(router, key),
        State::Master
            if !is_owner && (heard.priority > own || heard.priority == own && is_above) =>
        {
            let Some(of) = at_mut(router, key) else { return };
            of.master_interval = heard.interval;
            become_backup(router, key);
            publish(router);
        }
        // Backups learn that there is a master, and switches learn where.
        State::Master => answer(router, key),
        _ => (),
    }
}

/// Runs due actions; returns the time until the next one.
pub(super) fn look(router: &mut Router) -> Wake {
    let now = router.now();
    let due = |(_, of): &(u32, &super::VirtualRouter)| of.state.is_running() && now >= of.next;
    let due: Vec<_> = virtual_routers(router).filter(due).map(|(_, of)| of.key).collect();
    for key in due {
        match virtual_router(router, key).map(|of| of.state) {
            Some(State::Backup) => become_master(router, key),
            Some(State::Master) => advertise(router, key),
            _ => (),
        }
    }
    let now = router.now();
    let next = virtual_routers(router).filter(|(_, of)| of.state.is_running());
    match next.map(|(_, of)| of.next - now).reduce(f64::min) {
        None => Wake::OnEvent,
        Some(seconds) => Wake::AfterOrEvent(Duration::from_secs_f64(seconds.max(TURN))),
    }
}

/// Follows whether virtual routers of an interface can run.
fn follow(router: &mut Router, on: InterfaceIndex) {
    let here: Vec<_> =
        virtual_routers(router).map(|(_, of)| of.key).filter(|key| key.on == on).collect();
    for key in here {
        let state = virtual_router(router, key).map(|of| of.state);
        match (state, is_ready(router, key)) {
            (Some(State::InterfaceDown), true) => begin(router, key),
            (Some(State::Backup | State::Master), false) => {
                end(router, key, State::InterfaceDown);
            }
            _ => (),
        }
    }
}

/// Follows an interface.
pub(super) fn follow_interface(router: &mut Router, on: InterfaceIndex, change: Change) {
    match change {
        Change::Deleting => forget(router, on),
        Change::State => follow(router, on),
        _ => (),
    }
}

/// Follows the addresses of an interface.
pub(super) fn follow_addresses(router: &mut Router, on: InterfaceIndex) {
    // Nothing is kept while the feature registers.
    if router.state::<Vrrp>().is_some() {
        follow(router, on);
    }
}
