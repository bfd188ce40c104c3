//! Sessions at a standby: what hosts have outside stays theirs when another router takes over.
//!
//! The active router sends each session that begins or ends, and now and then what has passed of
//! those that go on, to the listener of its standby, which has the same settings and makes the same
//! sessions. Each message is acknowledged; one that is not is sent again, [`RETRIES`] times.
//! Sessions of mappings that stay are not sent: the standby has the mappings.

mod api;
mod cli;
mod format;
mod node;
mod refresh;
mod standby;

use std::collections::VecDeque;

use control::stats::Columns;
use infra::counter::{Counter, Rows};
use net::ip::{datagram, send_own};
use net::ip4::V4;
use net::prelude::*;
use sessions::{Place, Walked};
use translation::session::NatSession;

use crate::log::FarEnd;
use crate::state::Nat;
pub use api::{
    Nat44EiHaFlush, Nat44EiHaGetFailover, Nat44EiHaGetFailoverReply, Nat44EiHaGetListener,
    Nat44EiHaGetListenerReply, Nat44EiHaResync, Nat44EiHaResyncCompletedEvent,
    Nat44EiHaSetFailover, Nat44EiHaSetListener,
};
use format::{ADD, Change, DEL, Header, VERSION};
use refresh::{refresh, refresh_some};

/// Bytes of a packet, unless the operator says otherwise.
const PATH_MTU: u32 = 512;
/// Bytes of a packet at least: room for a change.
const SHORTEST: u32 = 28 + (size_of::<Header>() + size_of::<Change>()) as u32;
/// Session refresh interval in seconds.
const REFRESH_INTERVAL: u32 = 10;
/// Times that a message is sent again.
const RETRIES: u32 = 3;
/// Seconds until it is.
const RETRY: f64 = 2.0;
/// Seconds that a change waits for others to go along.
const ROUND: Duration = Duration::from_secs(1);
/// The same while there is more to do.
const SOON: Duration = Duration::from_millis(1);
/// Messages that wait for their acknowledgement; what there are more is missed.
const MOST_SENT: usize = 65_536;

/// The process that sends.
const PROCESS: &str = "nat44-ei-ha-process";

/// Names and positions of the counters.
const COUNTERS: [&str; 10] = [
    "add-event-send",
    "del-event-send",
    "refresh-event-send",
    "add-event-recv",
    "del-event-recv",
    "refresh-event-recv",
    "ack-send",
    "ack-recv",
    "retry-count",
    "missed-count",
];
const ACK_SEND: usize = 6;
const ACK_RECV: usize = 7;
const RETRY_COUNT: usize = 8;
const MISSED: usize = 9;

/// Reasons why something cannot be set or done.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// NAT44 is not enabled
    #[retval(UNSUPPORTED)]
    Disabled,
    /// {0} bytes are too short for a session: at least {SHORTEST}
    #[retval(INVALID_VALUE)]
    TooShort(u32),
    /// port {0} is in use
    #[retval(INVALID_VALUE)]
    PortTaken(u16),
    /// {0} cannot be the address of a router
    #[retval(INVALID_SRC_ADDRESS)]
    NoAddress(Ipv4Addr),
    /// set both the listener and the failover target first
    #[retval(NO_SUCH_ENTRY)]
    NoStandby,
    /// a resynchronization is already running
    #[retval(UNSPECIFIED)]
    Busy,
}

/// The end that messages come to, and are sent from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The address.
    pub addr: Ipv4Addr,
    /// Port.
    pub port: u16,
    /// Maximum bytes per packet.
    pub path_mtu: u32,
}

/// The end that sessions are sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failover {
    /// The address.
    pub addr: Ipv4Addr,
    /// Port.
    pub port: u16,
    /// Session refresh interval in seconds; 0 for none.
    pub refresh_interval: u32,
}

/// A message that is not acknowledged.
struct Sent {
    sequence: u32,
    packet: Vec<u8>,
    retries: u32,
    due: f64,
}

/// All sessions on their way to the standby.
struct Resync {
    /// The client notified of its end, with its process.
    client: Option<(u32, u32)>,
    /// The last message of it.
    last: u32,
    missed: u32,
}

/// The state.
struct Ha {
    listener: Option<Listener>,
    failover: Option<Failover>,
    /// The first sender of messages while there is no failover: the only one that is believed.
    peer: Option<(Ipv4Addr, u16)>,
    /// Messages of others, and changes that cannot be.
    refused: u64,
    /// Whether nodes say what begins and ends.
    is_wanted: Shared<bool>,
    counters: Vec<Rows<Counter>>,
    waiting: Vec<Change>,
    sent: VecDeque<Sent>,
    sequence: u32,
    /// When what had passed of sessions was sent last.
    refreshed: f64,
    /// Where looking for that has got to, and since when it counts.
    refreshing: Option<(Place, f64)>,
    resync: Option<Resync>,
    /// Messages of the last one that were not acknowledged.
    resync_missed: u32,
    /// Changes of messages whose end has not come, by thread.
    received: HashMap<usize, Vec<Change>>,
    /// Changes of whole messages, and who waits for their acknowledgement.
    whole: Vec<Change>,
    acks: Vec<(Header, (Ipv4Addr, u16))>,
}

impl Ha {
    fn count(&self, what: usize, n: u64) {
        if let Some(counter) = self.counters[what].row(0).first() {
            counter.add(n);
        }
    }
    /// A message was not acknowledged.
    fn missed(&mut self) {
        self.count(MISSED, 1);
        if let Some(resync) = &mut self.resync {
            resync.missed += 1;
        }
    }
}

/// A session that begins or ends on a thread.
#[derive(Clone, Copy, Debug)]
struct Own(Change);

impl Event for Own {
    const ROOM: usize = 4096;
}

/// A node's end.
#[derive(Clone)]
pub struct Teller {
    events: EventSender<Own>,
    is_wanted: Reader<bool>,
}

impl Teller {
    /// For a node.
    pub fn new(router: &mut Router) -> Self {
        let is_wanted = router.own::<Ha>().is_wanted.reader();
        Self { events: router.events.sender(), is_wanted }
    }
    /// A session has come with a packet of a far end, or gone.
    #[inline]
    pub fn session(&mut self, from: Option<FarEnd>, session: &NatSession, epoch: Epoch<'_>) {
        if *self.is_wanted.read(epoch)
            && let Some(change) = Change::of(if from.is_some() { ADD } else { DEL }, session)
        {
            self.events.send(Own(from.map_or(change, |far| change.with_far_end(far))));
        }
    }
}

/// Whether sessions are sent.
pub fn is_wanted(router: &Router) -> bool {
    *router.own::<Ha>().is_wanted.current()
}

/// Control has ended sessions.
pub fn ended(router: &mut Router, gone: &[NatSession]) {
    let ha = router.own_mut::<Ha>();
    if *ha.is_wanted.current() {
        ha.waiting.extend(gone.iter().filter_map(|s| Change::of(DEL, s)));
    }
}

/// Whether an address may be that of a router.
fn check(addr: Ipv4Addr) -> Result<(), Error> {
    match addr.is_multicast() || addr.is_broadcast() || addr.is_unspecified() {
        true => Err(Error::NoAddress(addr)),
        false => Ok(()),
    }
}

/// Whether address and port say that there is no such end.
fn is_none(addr: Ipv4Addr, port: u16) -> bool {
    addr.is_unspecified() && port == 0
}

/// Sets or deletes the listener.
fn set_listener(router: &mut Router, new: Option<Listener>) -> Result<(), Error> {
    Nat::settings(router).map_err(|_| Error::Disabled)?;
    if let Some(Listener { addr, path_mtu, .. }) = new {
        check(addr)?;
        if path_mtu < SHORTEST {
            return Err(Error::TooShort(path_mtu));
        }
    }
    let old = router.own::<Ha>().listener;
    if old.map(|l| l.port) != new.map(|l| l.port) {
        if let Some(Listener { port, .. }) = new {
            router.udp4_port(port, node::NAME).map_err(|_| Error::PortTaken(port))?;
        }
        if let Some(Listener { port, .. }) = old {
            let _ = router.redispatch(V4::NODES.udp_lookup, port, None);
        }
    }
    router.own_mut::<Ha>().listener = new;
    changed(router);
    Ok(())
}

/// Sets or deletes the failover target.
fn set_failover(router: &mut Router, new: Option<Failover>) -> Result<(), Error> {
    Nat::settings(router).map_err(|_| Error::Disabled)?;
    new.map_or(Ok(()), |failover| check(failover.addr))?;
    let now = router.now();
    let ha = router.own_mut::<Ha>();
    (ha.failover, ha.refreshed) = (new, now);
    changed(router);
    Ok(())
}

/// Tells the nodes whether sessions are sent; without ends nothing waits any more.
fn changed(router: &mut Router) {
    let ha = router.own_mut::<Ha>();
    (ha.peer, ha.refreshing) = (None, None);
    let is_wanted = ha.listener.is_some() && ha.failover.is_some();
    ha.is_wanted.publish(is_wanted);
    if !is_wanted {
        ha.waiting.clear();
        ha.sent.clear();
    }
    end_of_resync(router);
}

/// NAT is disabled: the ends go with it.
pub fn disable(router: &mut Router) {
    let _ = set_failover(router, None);
    let _ = set_listener(router, None);
}

/// Earlier events have reached control, and traffic counts are sent.
fn flush(router: &mut Router) -> Result<(), Error> {
    Nat::settings(router).map_err(|_| Error::Disabled)?;
    let _ = router.engine.fence();
    router.handle_events();
    refresh(router);
    send(router);
    Ok(())
}

/// Sends all sessions; `client` is notified when they have arrived, or how much was missed.
fn resync(router: &mut Router, client: Option<(u32, u32)>) -> Result<(), Error> {
    Nat::settings(router).map_err(|_| Error::Disabled)?;
    let ha = router.own::<Ha>();
    if !*ha.is_wanted.current() {
        return Err(Error::NoStandby);
    }
    if ha.resync.is_some() {
        return Err(Error::Busy);
    }
    flush(router)?;
    let all = changes_of(router, ADD, |_| true);
    router.own_mut::<Ha>().waiting.extend(all);
    send(router);
    let ha = router.own_mut::<Ha>();
    ha.resync = Some(Resync { client, last: ha.sequence, missed: 0 });
    end_of_resync(router);
    Ok(())
}

/// Tells the client when all is acknowledged or missed.
fn end_of_resync(router: &mut Router) {
    let ha = router.own_mut::<Ha>();
    let Some(Resync { last, .. }) = &ha.resync else { return };
    let is_before = |sent: &Sent| last.wrapping_sub(sent.sequence) <= u32::MAX / 2;
    if ha.sent.iter().any(is_before) {
        return;
    }
    let Some(Resync { client, missed: missed_count, .. }) = ha.resync.take() else { return };
    ha.resync_missed = missed_count;
    if let Some((client, pid)) = client {
        router.clients.send_to(client, pid, &Nat44EiHaResyncCompletedEvent { missed_count });
    }
}

/// Changes of all sessions that are meant.
fn changes_of(
    router: &mut Router,
    kind: u8,
    is_meant: impl Fn(&NatSession) -> bool + Clone + Send + 'static,
) -> Vec<Change> {
    let Some(sessions) = router.own::<Nat>().sessions.current().clone() else { return Vec::new() };
    let look = move |_, s: &mut NatSession| {
        Walked::keep(is_meant(s).then(|| Change::of(kind, s)).flatten())
    };
    sessions.walk(router, look).unwrap_or_default()
}

/// Sends what waits, in as few messages as there is room for.
fn send(router: &mut Router) {
    let now = router.now();
    let ha = router.own_mut::<Ha>();
    let (Some(listener), Some(failover)) = (ha.listener, ha.failover) else { return };
    let room = (listener.path_mtu - SHORTEST) as usize / size_of::<Change>() + 1;
    let mut packets = Vec::new();
    for changes in std::mem::take(&mut ha.waiting).chunks(room) {
        ha.sequence = ha.sequence.wrapping_add(1);
        let header = Header {
            version: VERSION,
            flags: 0,
            count: (changes.len() as u16).into(),
            sequence: ha.sequence.into(),
            thread: 0.into(),
        };
        let bytes = [header.as_bytes(), changes.as_bytes()].concat();
        let from = (listener.addr, listener.port);
        let to = (failover.addr, failover.port);
        let Some(packet) = datagram(from, to, &bytes, true) else { continue };
        for change in changes {
            ha.count(usize::from(change.kind - ADD), 1);
        }
        if ha.sent.len() == MOST_SENT {
            ha.sent.pop_front();
            ha.missed();
        }
        let (sequence, due) = (ha.sequence, now + RETRY);
        ha.sent.push_back(Sent { sequence, packet: packet.clone(), retries: 0, due });
        packets.push(packet);
    }
    packets.into_iter().for_each(|packet| send_own(router, TableIndex(0), packet));
}

/// Sends again what is not acknowledged in time, or gives it up.
fn send_again(router: &mut Router) {
    let now = router.now();
    let ha = router.own_mut::<Ha>();
    let mut packets = Vec::new();
    for mut sent in std::mem::take(&mut ha.sent) {
        // The clock may have been moved over several times.
        while sent.due <= now && sent.retries <= RETRIES {
            sent.retries += 1;
            sent.due += RETRY;
            if sent.retries <= RETRIES {
                ha.count(RETRY_COUNT, 1);
                packets.push(sent.packet.clone());
            }
        }
        if sent.retries <= RETRIES {
            ha.sent.push_back(sent);
        } else {
            ha.missed();
        }
    }
    packets.into_iter().for_each(|packet| send_own(router, TableIndex(0), packet));
    end_of_resync(router);
}

fn tick(router: &mut Router) -> Wake {
    let now = router.now();
    let ha = router.own_mut::<Ha>();
    let interval = ha.failover.map_or(0, |f| f.refresh_interval);
    if interval > 0 && now - ha.refreshed >= interval.into() && ha.refreshing.is_none() {
        ha.refreshing = Some((Place::default(), std::mem::replace(&mut ha.refreshed, now)));
    }
    let is_more = refresh_some(router);
    send(router);
    if is_more {
        return Wake::After(SOON);
    }
    send_again(router);
    Wake::After(ROUND)
}

/// The commands that make the ends.
pub fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let ha = router.own::<Ha>();
    if let Some(Listener { addr, port, path_mtu }) = ha.listener {
        let line = format!("nat44 ei ha listener {addr}:{port} path-mtu {path_mtu}");
        lines.push_undone(Stage::Attachments, &line, "=nat44 ei ha listener 0.0.0.0:0");
    }
    if let Some(Failover { addr, port, refresh_interval }) = ha.failover {
        let line =
            format!("nat44 ei ha failover {addr}:{port} refresh-interval {refresh_interval}");
        lines.push_undone(Stage::Attachments, &line, "=nat44 ei ha failover 0.0.0.0:0");
    }
}

/// The state; nodes need it.
pub fn insert(router: &mut Router) -> Result<(), Refused> {
    let mut counter = |name: &&str| {
        router.stats.simple(&format!("/nat44-ei/ha/{name}"), Columns::fixed(1)).map_err(refuse)
    };
    let counters = COUNTERS.iter().map(&mut counter).collect::<Result<_, _>>()?;
    router.insert(Ha {
        listener: None,
        failover: None,
        peer: None,
        refused: 0,
        is_wanted: Shared::new(false),
        counters,
        waiting: Vec::new(),
        sent: VecDeque::new(),
        sequence: 0,
        refreshed: 0.0,
        refreshing: None,
        resync: None,
        resync_missed: 0,
        received: HashMap::new(),
        whole: Vec::new(),
        acks: Vec::new(),
    });
    Ok(())
}

/// The node, the process, commands and messages.
pub fn register(
    router: &mut Router,
    cli: &mut Cli<Router>,
    api: &mut Api<Router>,
) -> Result<(), Refused> {
    let input = node::Input(router.events.sender());
    router.engine.add(input).map_err(refuse)?;
    router.events.handle(|router, Own(change)| {
        let ha = router.own_mut::<Ha>();
        if *ha.is_wanted.current() {
            ha.waiting.push(change);
        }
    });
    router.events.handle(standby::receive);
    router.events.afterwards(standby::apply);
    router.processes.spawn(PROCESS, Box::new(|router: &mut Router, _| tick(router)));
    cli::register(cli);
    api::register(api);
    Ok(())
}
