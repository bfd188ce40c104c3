//! Sessions: made, changed and run.

use control::process::Timer;
use net::adjacency::{AdjacencyIndex, Role};
use net::prelude::*;
use wire::bfd::{self, Header, State};

use super::echo::{self, send_echo};
use super::keys::Authentication;
use super::machine::{Machine, Parameters};
use super::node::{self, ControlInput, Heard};
use super::send::{Datagram, send};
use super::table::{EchoKey, Entry, Key};
use super::{Bfd, COLUMNS, Error, MAX_SESSIONS, ports};

/// First of the source ports (RFC 5881 section 4).
const FIRST_PORT: u16 = 49152;
/// Seconds between two answers to polls of a session.
const ANSWER_PAUSE: f64 = 0.001;

/// A session.
pub struct Session {
    /// Index.
    pub index: u32,
    /// Name.
    pub key: Key,
    /// Its state machine.
    pub machine: Machine,
    /// Authentication of its packets; `None` for none.
    pub authentication: Option<Authentication>,
    /// The one that is to follow when the other end uses it.
    pub next: Option<Option<Authentication>>,
    /// Packets whose sequence number was out of order.
    pub replayed: u64,
    pub(super) echo_key: EchoKey,
    /// The neighbour, over one hop.
    pub(super) adjacency: Option<AdjacencyIndex>,
    /// Sequence number of the last packet sent.
    sequence: u32,
    /// That of the last one received, if it is known.
    remote_sequence: Option<u32>,
    /// When a poll was last answered.
    answered: f64,
    /// The last packet sent, without authentication.
    last: Option<Header>,
    timer: Option<(Timer, f64)>,
    /// Whether routes over it are not used.
    is_failed: bool,
}

impl Session {
    /// Its source port.
    pub(super) fn port(&self) -> u16 {
        FIRST_PORT + self.index as u16
    }
    /// For nodes.
    pub(super) fn entry(&self) -> Entry {
        Entry {
            index: self.index,
            key: self.key,
            is_admin_down: self.machine.state == State::AdminDown,
            authentication: self.authentication.clone(),
            next: self.next.clone(),
            echo: self.echo_key.clone(),
        }
    }
    /// Authentication as it is configured, also where the other end does not use it yet.
    pub fn configured(&self) -> Option<&Authentication> {
        self.next.as_ref().unwrap_or(&self.authentication).as_ref()
    }
    /// Whether a sequence number is in order (RFC 5880 section 6.7.4).
    fn is_in_order(&mut self, sequence: u32, now: f64) -> bool {
        let Some(by) = &self.authentication else { return true };
        if self.machine.is_forgotten(now) {
            self.remote_sequence = None;
        }
        let least = u32::from(by.secret.is_meticulous());
        let most = 3 * u32::from(self.machine.parameters.detect_mult);
        let is_next =
            |known: u32| (least..=most.max(least)).contains(&sequence.wrapping_sub(known));
        let is_in_order = self.remote_sequence.is_none_or(is_next);
        if is_in_order {
            self.remote_sequence = Some(sequence);
        }
        is_in_order
    }
    /// The bytes of the packet to send now.
    fn packet(&mut self, now: f64, is_final: bool) -> Vec<u8> {
        let header = self.machine.packet(now, is_final);
        let Some(by) = &self.authentication else { return header.as_bytes().to_vec() };
        if by.secret.is_meticulous() || self.last != Some(header) {
            self.sequence = self.sequence.wrapping_add(1);
        }
        self.last = Some(header);
        by.sign(header, self.sequence)
    }
}

fn check(router: &Router, key: &Key, parameters: Parameters) -> Result<(), Error> {
    if key.local.is_ipv4() != key.peer.is_ipv4() {
        return Err(Error::MixedVersions);
    }
    if let Some(interface) = key.interface {
        router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    }
    check_parameters(parameters)
}

fn check_parameters(parameters: Parameters) -> Result<(), Error> {
    match parameters {
        Parameters { desired_min_tx_us: 0, .. } => Err(Error::NoInterval),
        Parameters { detect_mult: 0, .. } => Err(Error::NoDetectMult),
        _ => Ok(()),
    }
}

/// A random unused discriminator.
fn new_discriminator(router: &Router) -> u32 {
    let known: BTreeSet<_> = super::sessions(router).map(|s| s.machine.discriminator).collect();
    let mut all = std::iter::repeat_with(random).filter(|n| *n != 0);
    all.find(|n| !known.contains(n)).expect("there are fewer sessions than numbers")
}

fn random() -> u32 {
    control::process::between(0.0, 4_294_967_296.0) as u32
}

/// Makes a session; returns its number.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(
    router: &mut Router,
    key: Key,
    parameters: Parameters,
    authentication: Option<(u32, u8)>,
) -> Result<u32, Error> {
    check(router, &key, parameters)?;
    let known = router.own::<Bfd>();
    if known.by_key.contains_key(&key) {
        return Err(Error::Exists);
    }
    if known.by_key.len() >= MAX_SESSIONS {
        return Err(Error::TooManySessions);
    }
    if authentication.is_some_and(|(id, _)| known.keys.iter().all(|(known, _)| known != id)) {
        return Err(Error::NoKey);
    }
    let free = known.sessions.iter().position(Option::is_none);
    let index = free.unwrap_or(known.sessions.len());
    ports::follow(router, Some(key.is_multihop()))?;
    let neighbor = |interface| router.use_adjacency(interface, Role::Neighbor, key.peer);
    let adjacency = key.interface.map(neighbor).transpose().map_err(|_| Error::NoAdjacency);
    let adjacency = adjacency.inspect_err(|_| {
        // Only gives up again what was taken just now.
        let _ = ports::follow(router, None);
    })?;
    let machine = Machine::new(new_discriminator(router), parameters, key.is_multihop());
    let bfd = router.own_mut::<Bfd>();
    let held = authentication.map(|(id, key_id)| bfd.keys.hold(id, key_id)).transpose()?;
    if index == bfd.sessions.len() {
        bfd.sessions.push(None);
    }
    let index = index as u32;
    bfd.sessions[index as usize] = Some(Session {
        index,
        key,
        machine,
        authentication: held,
        next: None,
        replayed: 0,
        echo_key: EchoKey::default(),
        adjacency,
        sequence: random(),
        remote_sequence: None,
        answered: f64::NEG_INFINITY,
        last: None,
        timer: None,
        is_failed: false,
    });
    bfd.by_key.insert(key, index);
    bfd.publish();
    count(router);
    start_counters(router, index);
    echo::exempt(router);
    router.note(format_args!("bfd session {} to {} created", key.local, key.peer));
    run(router, index);
    Ok(index)
}

/// The counters of a new session are zero.
fn start_counters(router: &mut Router, index: u32) {
    let counters = &router.own::<Bfd>().counters;
    let all = [&counters.rx, &counters.rx_echo, &counters.tx, &counters.tx_echo].map(Clone::clone);
    for rows in &all {
        router.count_from_zero(rows, COLUMNS, index, "BFD sessions");
    }
}

/// Brings the gauges of the numbers of sessions up to date.
fn count(router: &mut Router) {
    let bfd = router.own::<Bfd>();
    let mut counts = [0; 4];
    for key in bfd.by_key.keys() {
        counts[usize::from(key.local.is_ipv6()) * 2 + usize::from(key.is_multihop())] += 1;
    }
    let gauges = bfd.gauges;
    for (gauge, count) in gauges.into_iter().zip(counts) {
        router.stats.set(gauge, count);
    }
}

/// The number of a session.
fn find(router: &Router, key: &Key) -> Result<u32, Error> {
    router.own::<Bfd>().by_key.get(key).copied().ok_or(Error::NoSession)
}

/// Changes the parameters of a session.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn modify(router: &mut Router, key: &Key, parameters: Parameters) -> Result<u32, Error> {
    let index = find(router, key)?;
    check_parameters(parameters)?;
    if let Some(s) = router.own_mut::<Bfd>().at_mut(index) {
        s.machine.modify(parameters);
    }
    run(router, index);
    Ok(index)
}

/// Removes a session.
///
/// # Errors
/// [`Error::NoSession`].
pub fn remove(router: &mut Router, key: &Key) -> Result<(), Error> {
    let index = find(router, key)?;
    let bfd = router.own_mut::<Bfd>();
    let Some(gone) = bfd.sessions[index as usize].take() else { return Err(Error::NoSession) };
    bfd.by_key.remove(key);
    let held = gone.authentication.iter().chain(gone.next.iter().flatten());
    held.for_each(|by| bfd.keys.release(by));
    bfd.publish();
    if let Some((timer, _)) = gone.timer {
        router.cancel(timer);
    }
    if let Some(adjacency) = gone.adjacency {
        router.release_adjacency(adjacency);
    }
    fail(router, key);
    count(router);
    echo::exempt(router);
    router.note(format_args!("bfd session {} to {} deleted", key.local, key.peer));
    // Giving ports up is not refused.
    ports::follow(router, None)
}

/// Removes a session whose interface goes, and says so.
pub(super) fn end(router: &mut Router, key: Key) {
    let Some(s) = router.own_mut::<Bfd>().by_key.get(&key).copied() else { return };
    if let Some(s) = router.own_mut::<Bfd>().at_mut(s) {
        s.machine.set_admin(false);
    }
    tell(router, &key);
    remove(router, &key).expect("it was found just now");
}

/// Puts a session up or down as its operator says.
///
/// # Errors
/// [`Error::NoSession`].
pub fn set_admin(router: &mut Router, key: &Key, is_up: bool) -> Result<(), Error> {
    let index = find(router, key)?;
    let bfd = router.own_mut::<Bfd>();
    let Some(s) = bfd.at_mut(index) else { return Err(Error::NoSession) };
    let before = s.machine.state;
    s.machine.set_admin(is_up);
    let after = s.machine.state;
    bfd.publish();
    if before != after {
        changed(router, index, before);
    }
    run(router, index);
    Ok(())
}

/// Sets a key that no session uses.
///
/// # Errors
/// [`Error`].
pub fn set_key(router: &mut Router, id: u32, kind: u8, key: &[u8]) -> Result<(), Error> {
    router.own_mut::<Bfd>().keys.set(id, kind, key)
}

/// Removes a key that no session uses.
///
/// # Errors
/// [`Error`].
pub fn unset_key(router: &mut Router, id: u32) -> Result<(), Error> {
    router.own_mut::<Bfd>().keys.remove(id)
}

/// Authenticates packets of a session by a key from now on, or once the peer does.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn activate(
    router: &mut Router,
    key: &Key,
    (conf_key_id, key_id): (u32, u8),
    is_delayed: bool,
) -> Result<(), Error> {
    let index = find(router, key)?;
    let by = router.own_mut::<Bfd>().keys.hold(conf_key_id, key_id)?;
    authenticate(router, index, Some(by), is_delayed);
    Ok(())
}

/// Stops authentication of a session from now on, or once the peer does.
///
/// # Errors
/// [`Error::NoSession`].
pub fn deactivate(router: &mut Router, key: &Key, is_delayed: bool) -> Result<(), Error> {
    let index = find(router, key)?;
    authenticate(router, index, None, is_delayed);
    Ok(())
}

fn authenticate(router: &mut Router, index: u32, by: Option<Authentication>, is_delayed: bool) {
    let bfd = router.own_mut::<Bfd>();
    let Some(s) = bfd.at_mut(index) else { return };
    let mut gone: Vec<_> = s.next.take().flatten().into_iter().collect();
    if is_delayed && s.authentication != by {
        s.next = Some(by);
    } else {
        gone.extend(std::mem::replace(&mut s.authentication, by));
        s.remote_sequence = None;
    }
    gone.iter().for_each(|by| bfd.keys.release(by));
    bfd.publish();
    run(router, index);
}

/// Takes what the data plane heard.
pub(super) fn heard(router: &mut Router, heard: Heard) {
    let (Heard::Control { session, .. } | Heard::Echo { session, .. }) = heard;
    let now = router.now();
    let bfd = router.own_mut::<Bfd>();
    // It may be gone meanwhile.
    let found = bfd.table.current().by_discriminator.get(&session).map(|entry| entry.index);
    let Some(index) = found else { return };
    match heard {
        Heard::Echo { expires, .. } => {
            if let Some(s) = bfd.at_mut(index).filter(|_| expires as f64 > now * 1e9) {
                s.machine.receive_echo(now);
            }
        }
        Heard::Control { header, sequence, is_next, .. } => {
            receive(router, index, &header, sequence, is_next);
        }
    }
    run(router, index);
}

fn receive(router: &mut Router, index: u32, header: &Header, sequence: Option<u32>, is_next: bool) {
    let now = router.now();
    let bfd = router.own_mut::<Bfd>();
    let Some(s) = bfd.at_mut(index) else { return };
    if s.machine.state == State::AdminDown {
        return;
    }
    if s.machine.is_contradicted(header, now) {
        return refuse(router, index, node::Error::YourDiscriminator);
    }
    if is_next && let Some(next) = s.next.take() {
        let gone = std::mem::replace(&mut s.authentication, next);
        s.remote_sequence = None;
        gone.iter().for_each(|by| bfd.keys.release(by));
        bfd.publish();
    }
    let Some(s) = bfd.at_mut(index) else { return };
    if sequence.is_some_and(|sequence| !s.is_in_order(sequence, now)) {
        s.replayed += 1;
        return refuse(router, index, node::Error::FailedVerification);
    }
    let before = s.machine.state;
    // However many polls come, answers are few.
    let may_answer = !(0.0..ANSWER_PAUSE).contains(&(now - s.answered));
    let wants_answer = s.machine.receive(header, now) && may_answer;
    s.answered = if wants_answer { now } else { s.answered };
    let is_changed = before != s.machine.state;
    if is_changed {
        changed(router, index, before);
    }
    if wants_answer {
        speak(router, index, true);
    }
}

/// Counts a packet that is not taken after all.
fn refuse(router: &mut Router, index: u32, why: node::Error) {
    match router.own_mut::<Bfd>().at_mut(index).map(|s| s.key.local) {
        Some(IpAddr::V4(_)) => router.engine.count_reason_at::<ControlInput<V4>>(why, 1),
        Some(IpAddr::V6(_)) => router.engine.count_reason_at::<ControlInput<V6>>(why, 1),
        None => (),
    }
}

/// Runs due actions of a session, and sets its timer.
pub(super) fn run(router: &mut Router, index: u32) {
    let now = router.now();
    let source = echo::echo_source(router);
    let Some(s) = router.own_mut::<Bfd>().at_mut(index) else { return };
    let has_source = source.is_some_and(|source| source.towards(s.key.local).is_some());
    let before = s.machine.state;
    let sends = s.machine.run(now, has_source);
    let is_changed = before != s.machine.state;
    if is_changed {
        changed(router, index, before);
    }
    if sends.control {
        speak(router, index, false);
    }
    if sends.echo {
        send_echo(router, index);
    }
    let Some(s) = router.own_mut::<Bfd>().at_mut(index) else { return };
    let (due, old) = (s.machine.due(now), s.timer);
    if due == old.map(|(_, due)| due) {
        return;
    }
    s.timer = None;
    old.map(|(timer, _)| router.cancel(timer));
    let new = due.map(|due| (router.after((due - now).max(0.0), wake, index.into()), due));
    if let Some(s) = router.own_mut::<Bfd>().at_mut(index) {
        s.timer = new;
    }
}

fn wake(router: &mut Router, index: u64) {
    // The feature may be gone meanwhile.
    let Some(bfd) = router.state_mut::<Bfd>() else { return };
    if let Some(s) = bfd.at_mut(index as u32) {
        s.timer = None;
        run(router, index as u32);
    }
}

/// Sends a control packet.
fn speak(router: &mut Router, index: u32, is_final: bool) {
    let now = router.now();
    let bfd = router.own_mut::<Bfd>();
    let (tos, counters) = (bfd.tos, bfd.counters.tx.clone());
    let Some(s) = bfd.at_mut(index) else { return };
    let payload = s.packet(now, is_final);
    let port = if s.key.is_multihop() { bfd::MULTIHOP } else { bfd::SINGLE_HOP };
    let (addresses, ports) = ([s.key.local, s.key.peer], [s.port(), port]);
    let adjacency = s.adjacency;
    let datagram = Datagram { addresses, ports, tos, payload: &payload };
    send(router, adjacency, &datagram, &counters, index);
}

/// Follows a change of state: notifies clients, and withdraws or restores routes.
fn changed(router: &mut Router, index: u32, before: State) {
    let Some(s) = router.own_mut::<Bfd>().at_mut(index) else { return };
    let (key, state) = (s.key, s.machine.state);
    // Who put it down on purpose goes on forwarding (RFC 5882 section 3.2).
    let is_on_purpose = state == State::AdminDown || s.machine.remote.state == State::AdminDown;
    match state {
        State::Up => s.is_failed = false,
        _ if is_on_purpose => s.is_failed = false,
        _ if before == State::Up => s.is_failed = true,
        _ => (),
    }
    fail(router, &key);
    let (from, to) = (super::properties::state(before), super::properties::state(state));
    let text = format!("session {} to {}: {from} -> {to}", key.local, key.peer);
    router.note(format_args!("bfd {text}"));
    router.log.class("bfd", "udp").notice(text);
    tell(router, &key);
}

fn tell(router: &Router, key: &Key) {
    if let Some(s) = router.own::<Bfd>().at(key) {
        router.clients.send(&super::api::BfdUdpSessionEvent::of(s));
    }
}

/// Makes routes use or avoid targets that the sessions with one peer watch.
fn fail(router: &mut Router, key: &Key) {
    let is_same = |s: &&Session| (s.key.interface, s.key.peer) == (key.interface, key.peer);
    let is_failed = super::sessions(router).filter(is_same).any(|s| s.is_failed);
    match key.interface {
        Some(InterfaceIndex(interface)) => {
            router.set_neighbor_failed(InterfaceIndex(interface), key.peer, is_failed);
        }
        None => router.set_host_failed(TableIndex::DEFAULT, key.peer, is_failed),
    }
}
