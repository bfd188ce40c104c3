//! The connected clients: what is to be sent to them and which events they want.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use tokio::sync::Notify;

use super::directory::Directory;
use super::message::Message;
use super::outgoing::{HeadValues, Outgoing, split};
use super::retval::Retval;
use super::trace::{Direction, Trace};
use crate::events::{EventLog, Topic};

/// Set in all numbers of clients, so that none is zero.
const INDEX_BIT: u32 = 0x8000_0000;
/// Most bytes of events that wait for a client; more are dropped and counted.
const MAX_WAITING: usize = 8 << 20;

/// All clients. Clones are the same. Messages are sent when the client reads.
#[derive(Clone, Default)]
pub struct Clients(Rc<RefCell<Inner>>);

#[derive(Default)]
struct Inner {
    /// Slot 0 is unused.
    slots: Vec<Option<Client>>,
    /// Per event: the clients that want it, and the number that is returned to each.
    wanted: HashMap<&'static str, Vec<Subscription>>,
    directory: Rc<Directory>,
    /// Of requests, and of what is sent.
    traces: [Trace; 2],
    /// Requests to be run, and the task that runs them.
    injected: VecDeque<Vec<u8>>,
    is_injecting: bool,
    injector: Rc<Notify>,
    /// Recorded answers; `None` unless a trace wants them.
    answers: Option<Vec<Vec<u8>>>,
    /// Turns by the number of requests answered in one: 1, 2 to 3, 4 to 7, ….
    turns: [u64; TURNS],
    events: EventLog,
}

/// Groups of turns by the requests in them.
const TURNS: usize = 16;

#[derive(Clone, Copy)]
struct Subscription {
    client: u32,
    pid: u32,
}

struct Client {
    name: String,
    out: Outgoing,
    ready: Rc<Notify>,
    dropped: u64,
    lane: Option<usize>,
}

/// A client as `show api clients` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Index.
    pub index: u32,
    /// Name.
    pub name: String,
    /// Events it was not sent because it does not read.
    pub dropped: u64,
    /// Bytes that have room each way in the memory it shares with the router, if it does.
    pub lane: Option<usize>,
}

impl Clients {
    /// No clients; those that come and go, and what they ask for, are noted in `events`.
    pub fn noting(events: EventLog) -> Self {
        Self(Rc::new(RefCell::new(Inner { events, ..Inner::default() })))
    }

    /// Records that a request of a client is run.
    pub(super) fn note_request(&self, client: u32, name: &str) {
        let events = &self.0.borrow().events;
        events.note(Topic::Api, format_args!("{name} from client {client:#x}"));
    }

    /// Whether a client of this number is connected.
    pub fn is_connected(&self, client: u32) -> bool {
        self.0.borrow().client(client).is_some()
    }

    /// Registers `client` for events `E` or unregisters it; `pid` is echoed in each.
    ///
    /// # Errors
    /// -31 when it is registered already, or is to be taken off and was not.
    pub fn want<E: Message>(&self, client: u32, pid: u32, enable: bool) -> Result<(), Retval> {
        let mut inner = self.0.borrow_mut();
        let subscriptions = inner.wanted.entry(E::INFO.name).or_default();
        let known = subscriptions.iter().position(|subscription| subscription.client == client);
        match (known, enable) {
            (None, true) => subscriptions.push(Subscription { client, pid }),
            (Some(known), false) => drop(subscriptions.remove(known)),
            _ => return Err(Retval::INVALID_REGISTRATION),
        }
        Ok(())
    }

    /// Whether anybody wants events `E`.
    pub fn is_wanted<E: Message>(&self) -> bool {
        self.0
            .borrow()
            .wanted
            .get(E::INFO.name)
            .is_some_and(|subscriptions| !subscriptions.is_empty())
    }

    /// Sends an event to all who want it.
    pub fn send<E: Message>(&self, event: &E) {
        let mut inner = self.0.borrow_mut();
        let Some(subscriptions) = inner.wanted.get(E::INFO.name).cloned() else { return };
        for Subscription { client, pid } in subscriptions {
            inner.send(client, pid, event);
        }
    }

    /// Sends an event to one client; for those who keep registrations themselves. False when the
    /// client is gone.
    pub fn send_to<E: Message>(&self, client: u32, pid: u32, event: &E) -> bool {
        let mut inner = self.0.borrow_mut();
        inner.send(client, pid, event);
        inner.client(client).is_some()
    }

    /// All clients that have said who they are, in the order of their numbers.
    pub fn status(&self) -> Vec<Status> {
        let inner = self.0.borrow();
        let clients = inner.slots.iter().enumerate();
        let is_named = |client: &&Client| !client.name.is_empty();
        let status = clients.filter_map(|(slot, client)| {
            let Client { name, dropped, lane, .. } = client.as_ref().filter(is_named)?;
            let (index, name) = (index(slot), name.clone());
            Some(Status { index, name, dropped: *dropped, lane: *lane })
        });
        status.collect()
    }

    /// The client as the origin of changes.
    pub(crate) fn origin(&self, client: u32) -> Rc<str> {
        let inner = self.0.borrow();
        let name = inner.client(client).map_or("", |client| client.name.as_str());
        format!("API client {name}").into()
    }

    /// A new client; `ready` is notified when something waits for it.
    pub fn connect(&self, name: String, ready: Rc<Notify>) -> u32 {
        let mut inner = self.0.borrow_mut();
        let out = Outgoing::default();
        let client = Some(Client { name, out, ready, dropped: 0, lane: None });
        let free = inner.slots.iter().skip(1).position(Option::is_none);
        let slot = free.map_or(inner.slots.len().max(1), |slot| slot + 1);
        if inner.slots.len() <= slot {
            inner.slots.resize_with(slot + 1, || None);
        }
        inner.slots[slot] = client;
        inner.note(index(slot), "connected");
        index(slot)
    }

    /// Says what a client calls itself.
    pub fn set_name(&self, client: u32, name: String) {
        let mut inner = self.0.borrow_mut();
        if let Some(known) = inner.client_mut(client) {
            known.name = name;
            inner.note(client, "connected");
        }
    }

    /// Says that a client talks through shared memory with room for so many bytes each way.
    pub(super) fn set_lane(&self, client: u32, bytes: usize) {
        if let Some(client) = self.0.borrow_mut().client_mut(client) {
            client.lane = Some(bytes);
        }
    }

    /// Number of clients that do.
    pub(super) fn lanes(&self) -> usize {
        let inner = self.0.borrow();
        inner.slots.iter().flatten().filter(|client| client.lane.is_some()).count()
    }

    /// Forgets a client and what it registered for.
    pub fn release(&self, client: u32) {
        let mut inner = self.0.borrow_mut();
        inner.note(client, "disconnected");
        if let Some(slot) = slot(client).and_then(|slot| inner.slots.get_mut(slot)) {
            *slot = None;
        }
        inner
            .wanted
            .values_mut()
            .for_each(|subscriptions| subscriptions.retain(|w| w.client != client));
    }

    /// Takes what waits for a client.
    pub fn take(&self, client: u32) -> Outgoing {
        let mut inner = self.0.borrow_mut();
        inner.client_mut(client).map(|c| std::mem::take(&mut c.out)).unwrap_or_default()
    }

    /// Puts `out` before what waits for a client.
    pub fn put(&self, client: u32, out: Outgoing) {
        self.put_back(client, out, 0);
    }

    /// Puts `out`, whose first `before` bytes were taken from there, before what waits for a
    /// client. Only what is behind them is news to it.
    pub(super) fn put_back(&self, client: u32, mut out: Outgoing, before: usize) {
        let mut inner = self.0.borrow_mut();
        let Some(client) = inner.client_mut(client) else { return };
        let has_news = out.bytes.len() > before;
        out.bytes.append(&mut client.out.bytes);
        client.out = out;
        if has_news {
            client.ready.notify_one();
        }
    }

    /// Bytes that wait for a client.
    pub fn waiting(&self, client: u32) -> usize {
        self.0.borrow().client(client).map_or(0, |c| c.out.bytes.len())
    }

    /// All messages and their numbers.
    pub fn directory(&self) -> Rc<Directory> {
        Rc::clone(&self.0.borrow().directory)
    }

    /// Says which messages there are.
    pub(super) fn set_directory(&self, directory: Directory) {
        self.0.borrow_mut().directory = Rc::new(directory);
    }

    /// Records requests from the start, as the configuration says.
    pub fn configure_trace(&self, config: &crate::config::ApiTrace) {
        let limit = config.nitems.map(|n| n as usize);
        self.with_trace(Direction::Rx, |trace| trace.configure(config.on, limit));
    }

    /// Lets `work` at what is recorded.
    pub(super) fn with_trace<R>(
        &self,
        direction: Direction,
        work: impl FnOnce(&mut Trace) -> R,
    ) -> R {
        work(&mut self.0.borrow_mut().traces[direction as usize])
    }

    /// Notes that so many requests were answered in one turn.
    pub(super) fn note_turn(&self, requests: usize) {
        if let Some(group) = requests.checked_ilog2() {
            self.0.borrow_mut().turns[(group as usize).min(TURNS - 1)] += 1;
        }
    }

    /// Turns by the number of requests answered in one: 1, 2 to 3, 4 to 7, ….
    pub(super) fn turns(&self) -> [u64; TURNS] {
        self.0.borrow().turns
    }

    /// Forgets that.
    pub(super) fn clear_turns(&self) {
        self.0.borrow_mut().turns = [0; TURNS];
    }

    /// Makes the server run requests; `keeps` records the replies.
    pub(super) fn inject(&self, requests: Vec<Vec<u8>>, keeps: bool) {
        let mut inner = self.0.borrow_mut();
        inner.answers = keeps.then(Vec::new);
        inner.injected.extend(requests);
        inner.injector.notify_one();
    }

    /// Requests of [`inject`](Self::inject) that are not done yet.
    pub(super) fn injected(&self) -> usize {
        let inner = self.0.borrow();
        inner.injected.len() + usize::from(inner.is_injecting)
    }

    /// Keeps what waits for the client that carries them out, if it is wanted.
    pub(super) fn keep_answers(&self, client: u32) {
        let out = self.take(client);
        if let Some(answers) = &mut self.0.borrow_mut().answers {
            answers.extend(split(&out.bytes).into_iter().map(<[u8]>::to_vec));
        }
    }

    /// The kept bytes.
    pub(super) fn take_answers(&self) -> Vec<Vec<u8>> {
        self.0.borrow_mut().answers.take().unwrap_or_default()
    }

    /// Takes the next of them; the one before is done then.
    pub(super) fn next_injected(&self) -> Option<Vec<u8>> {
        let mut inner = self.0.borrow_mut();
        let next = inner.injected.pop_front();
        inner.is_injecting = next.is_some();
        next
    }

    /// Notified when there are some.
    pub(super) fn injector(&self) -> Rc<Notify> {
        Rc::clone(&self.0.borrow().injector)
    }
}

fn index(slot: usize) -> u32 {
    INDEX_BIT | slot as u32
}

fn slot(index: u32) -> Option<usize> {
    let slot = index & !INDEX_BIT;
    (index & INDEX_BIT != 0 && slot != 0).then_some(slot as usize)
}

impl Inner {
    /// Notes what a client did that has said who it is.
    fn note(&self, client: u32, what: &str) {
        if let Some(Client { name, .. }) = self.client(client).filter(|c| !c.name.is_empty()) {
            self.events.note(Topic::State, format_args!("API client {name} ({client:#x}) {what}"));
        }
    }

    fn client(&self, index: u32) -> Option<&Client> {
        self.slots.get(slot(index)?)?.as_ref()
    }

    fn client_mut(&mut self, index: u32) -> Option<&mut Client> {
        self.slots.get_mut(slot(index)?)?.as_mut()
    }

    fn send<E: Message>(&mut self, to: u32, pid: u32, event: &E) {
        let Some((id, ..)) = self.directory.find(E::INFO.name) else { return };
        let Self { slots, traces, .. } = self;
        let known = slot(to).and_then(|slot| slots.get_mut(slot));
        let Some(client) = known.and_then(Option::as_mut) else { return };
        if client.out.bytes.len() > MAX_WAITING {
            client.dropped += 1;
            return;
        }
        let head = HeadValues { client_index: to, pid, ..HeadValues::default() };
        let before = client.out.bytes.len();
        client.out.message(id, E::INFO, head, |out| event.encode(out));
        traces[Direction::Tx as usize].record_all(&client.out.bytes[before..]);
        client.ready.notify_one();
    }
}
