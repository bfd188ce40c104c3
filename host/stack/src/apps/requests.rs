//! Connections of programs at app sockets: requests and answers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use control::process::{Event, Wake};
use control::socket::ClosedElsewhere;
use graph::InputState;
use lanes::talk::{self, Message};
use net::Router;
use rustix::net::{Shutdown, shutdown};

use super::errno;
use super::part::Program;
use super::{Attached, MOST, Programs, programs, programs_mut, sockets};
use crate::data::apps;
use crate::data::connecting::{self, Connect};
use crate::data::endpoint::{Endpoint, Transport};

/// Limit of messages of a program per turn.
const MESSAGES: usize = 64;
/// Limit of a turn. Remaining messages are handled first in the next one.
const TURN: Duration = Duration::from_millis(2);
/// Programs that may be about to attach at a time, with connections that are being closed.
const CALLERS: usize = 64;
/// Seconds in which a program has to attach, and after which one with a wrong secret is closed.
pub(super) const PATIENCE: f64 = 1.0;
/// Seconds for which closed sessions of a program that has ended may still send.
const LINGER: f64 = 30.0;
/// Interval for checking them in seconds.
const LOOK: f64 = 0.05;
/// Limit of listeners of a program.
const LISTENERS: usize = 4096;
/// First bytes of messages of VPP's own library.
const FOREIGN: std::ops::RangeInclusive<u8> = 1..=7;
/// Length of these messages.
const FOREIGN_LEN: usize = 209;

/// A connection.
pub struct Client {
    /// `None` when it has become a socket of the program, and lives on.
    pub(super) socket: Option<ClosedElsewhere<(OwnedFd, Arc<()>)>>,
    /// Its namespace; that of the socket until it attaches to another one.
    pub namespace: u32,
    pub(super) pid: u32,
    /// Number of its user.
    pub(super) uid: u32,
    /// Whether it sent a wrong secret, or is treated as if it had: its messages are ignored.
    pub(super) has_guessed: bool,
    /// Time at which it is closed.
    pub(super) deadline: Option<f64>,
    /// Whether messages may be left from the last turn.
    has_more: bool,
    pub(super) app: Option<App>,
}

/// Its application.
pub(super) struct App {
    pub(super) index: u32,
    pub(super) alarm: Arc<OwnedFd>,
    pub(super) lanes: Rc<RefCell<Vec<Made>>>,
    /// Listeners, and the program's opaque values for those of datagrams of all peers.
    pub(super) listeners: BTreeMap<u32, Option<u64>>,
    /// Whether the program has ended.
    pub(super) is_gone: bool,
}

/// A lane of a program.
pub(super) struct Made {
    /// The thread that its bell wakes.
    pub(super) thread: usize,
    pub(super) bell: OwnedFd,
    /// Files of the regions, until they are sent to the program.
    pub(super) files: Option<[OwnedFd; 2]>,
}

/// The end of a connection.
pub(super) struct Ended;

/// A turn of the process.
pub(super) struct Turn {
    start: Instant,
    /// Connections with wrong secrets by user.
    pub(super) guesses: BTreeMap<u32, usize>,
}

impl Turn {
    fn is_over(&self) -> bool {
        self.start.elapsed() > TURN
    }
}

/// A turn of the process.
pub fn run(router: &mut Router, _: Event) -> Wake {
    programs(router).calls.hear();
    sockets::sweep(router);
    let mut clients = std::mem::take(&mut programs_mut(router).clients);
    let is_full = accept(router, &mut clients);
    let mut turn = Turn { start: Instant::now(), guesses: BTreeMap::new() };
    for client in clients.iter().filter(|client| client.has_guessed) {
        *turn.guesses.entry(client.uid).or_default() += 1;
    }
    let (mut kept, mut left) = (Vec::with_capacity(clients.len()), clients.into_iter());
    for mut client in left.by_ref() {
        match client.hear(router, &mut turn) {
            Ok(()) => kept.push(client),
            Err(Ended) => client.detach(router),
        }
        if turn.is_over() {
            break;
        }
    }
    // Those that had no turn are the first of the next one.
    let mut left: Vec<_> = left.collect();
    left.iter_mut().for_each(|client| client.has_more = true);
    left.append(&mut kept);
    let kept = left;
    let now = router.now();
    let wait = is_full.then_some(LOOK);
    let next = kept.iter().filter_map(|client| client.next(now)).chain(wait).reduce(f64::min);
    // Requests do not add clients, so the list is empty here.
    programs_mut(router).clients = kept;
    match next {
        Some(seconds) => Wake::AfterOrEvent(Duration::from_secs_f64(seconds.max(0.001))),
        None => Wake::OnEvent,
    }
}

/// Accepts connections up to the limit of unattached ones; returns whether it is reached.
fn accept(router: &mut Router, clients: &mut Vec<Client>) -> bool {
    let mut new = Vec::new();
    let Programs { listening, tickets, .. } = programs(router);
    let attached = clients.iter().filter(|client| client.app.is_some()).count();
    let is_full = || Arc::strong_count(tickets) > CALLERS + attached;
    let all = listening.iter().flat_map(|(of, pair)| pair.iter().map(move |one| (of, one)));
    for (namespace, socket) in all {
        while !is_full()
            && let Some((socket, pid, uid)) = socket.accept()
        {
            let socket = ClosedElsewhere::new((socket.into_inner(), Arc::clone(tickets)));
            new.push((*namespace, socket, pid, uid));
        }
    }
    let is_full = is_full();
    for (namespace, socket, pid, uid) in new {
        if clients.len() < MOST && programs(router).calls.add(socket.0.as_fd()).is_ok() {
            let deadline = Some(router.now() + PATIENCE);
            let (has_guessed, has_more) = (false, true);
            let (socket, app) = (Some(socket), None);
            let client =
                Client { socket, namespace, pid, uid, has_guessed, deadline, has_more, app };
            clients.push(client);
        }
    }
    is_full
}

/// The endpoint in a message.
pub(super) fn endpoint(message: &Message) -> Option<Endpoint> {
    let transport = match message.transport {
        0 => Transport::Tcp,
        1 => Transport::Udp,
        _ => return None,
    };
    Some(Endpoint { transport, address: message.end.ip(), port: message.end.port() })
}

impl Client {
    /// The program for display, once it has attached.
    pub fn attached(&self) -> Option<Attached> {
        let app = self.app.as_ref()?.index;
        Some(Attached { app, pid: self.pid, namespace: self.namespace })
    }
    /// Seconds until it has to be processed.
    fn next(&self, now: f64) -> Option<f64> {
        let is_gone = self.app.as_ref().is_some_and(|app| app.is_gone);
        let deadline = self.deadline.map(|deadline| deadline - now);
        if self.has_more {
            Some(0.0)
        } else if is_gone {
            Some(LOOK)
        } else {
            deadline
        }
    }
    /// Detaches the program.
    pub fn detach(mut self, router: &mut Router) {
        if let Some(app) = self.app.take() {
            app.lanes.borrow().iter().for_each(|lane| lane.unwatch(router));
            apps::detach(router, app.index);
        }
    }
    fn hear(&mut self, router: &mut Router, turn: &mut Turn) -> Result<(), Ended> {
        let is_late = self.deadline.is_some_and(|deadline| deadline <= router.now());
        if self.app.as_ref().is_some_and(|app| app.is_gone) {
            return if is_late { Err(Ended) } else { self.linger(router) };
        }
        if is_late {
            return Err(Ended);
        }
        if self.has_guessed {
            return Ok(());
        }
        if let Some(app) = &self.app
            && rustix::io::read(&*app.alarm, &mut [0; 8]).is_ok()
        {
            let log = router.log.class("session", "app-socket");
            log.warn(format_args!(
                "process {} violated the shared memory protocol: detached",
                self.pid
            ));
            return Err(Ended);
        }
        self.has_more = false;
        for _ in 0..MESSAGES {
            // Descriptors are never asked for, and not even received.
            let Some(socket) = &self.socket else { return Err(Ended) };
            if talk::has_files(&socket.0) {
                return Err(Ended);
            }
            let mut bytes = [0; talk::MESSAGE];
            match talk::receive(&socket.0, &mut bytes, &mut Vec::new()) {
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Ok(()),
                Ok(0) | Err(_) => return self.linger(router),
                Ok(len) => self.take(router, &bytes[..len.min(bytes.len())], turn)?,
            }
            if self.has_guessed {
                return Ok(());
            }
            if turn.is_over() {
                break;
            }
        }
        // Other work gets its turn first; the descriptor does not signal the remaining messages.
        self.has_more = true;
        Ok(())
    }
    /// Keeps the state of a program that has ended until its closed sessions are sent.
    fn linger(&mut self, router: &mut Router) -> Result<(), Ended> {
        let app = self.app.as_mut().ok_or(Ended)?;
        if !app.is_gone {
            app.is_gone = true;
            self.deadline = Some(router.now() + LINGER);
            let own: Vec<_> = std::mem::take(&mut app.listeners).into_keys().collect();
            apps::unlisten_all(router, &own);
        }
        let left = apps::ask_parts(router, app.index, Program::orphan);
        match left {
            Ok(left) if left.iter().sum::<usize>() > 0 => Ok(()),
            _ => Err(Ended),
        }
    }
    pub(super) fn say(&self, message: &Message, files: &[BorrowedFd<'_>]) -> Result<(), Ended> {
        // A program that does not read is treated as ended.
        let socket = self.socket.as_ref().ok_or(Ended)?;
        talk::send(&socket.0, message, files).map_err(|_| Ended)
    }
    fn take(&mut self, router: &mut Router, bytes: &[u8], turn: &mut Turn) -> Result<(), Ended> {
        if self.app.is_none() && bytes.first().is_some_and(|kind| FOREIGN.contains(kind)) {
            return self.refuse_foreign(router);
        }
        let message = Message::parse(bytes).ok_or(Ended)?;
        match (message.kind, &self.app) {
            (talk::HELLO, None) => self.attach(router, &message, turn),
            (talk::SERVE | talk::REACH, None) => self.become_socket(router, &message, turn),
            (talk::LISTEN, Some(_)) => self.listen(router, &message),
            (talk::UNLISTEN, Some(_)) => self.unlisten(router, &message),
            (talk::CONNECT, Some(_)) => self.connect(router, &message),
            _ => Err(Ended),
        }
    }
    /// Answers a client that uses VPP's own library with its attach reply, `retval` "not
    /// supported".
    fn refuse_foreign(&self, router: &Router) -> Result<(), Ended> {
        let mut reply = [0; FOREIGN_LEN];
        reply[0] = 2;
        reply[1..5].copy_from_slice(&(-10i32).to_le_bytes());
        // The client may have disconnected.
        let _ = self.socket.as_ref().map(|socket| talk::send_bytes(&socket.0, &reply, &[]));
        router.log.class("session", "app-socket").warn(format_args!(
            "process {} uses VPP's own library: use libvppcom.so of this router",
            self.pid
        ));
        Err(Ended)
    }
    fn done(&self, request: &Message, result: Result<i32, i32>) -> Result<(), Ended> {
        let value = result.unwrap_or_else(|number| number);
        self.say(&Message { token: request.token, value, ..Message::new(talk::DONE) }, &[])
    }
    fn listen(&mut self, router: &mut Router, request: &Message) -> Result<(), Ended> {
        let app = self.app.as_mut().ok_or(Ended)?;
        let by_peer = request.transport == 0 || request.flags & talk::BY_PEER != 0;
        let result = match endpoint(request) {
            None => Err(-22),
            // Port 0 would match all ports.
            Some(to) if to.port == 0 => Err(-22),
            Some(_) if app.listeners.len() >= LISTENERS => Err(-12),
            Some(to) => {
                apps::listen(router, app.index, to, by_peer).map_err(|e| errno::of_error(&e))
            }
        };
        if let Ok(listener) = result {
            let opaque = request.number;
            app.listeners.insert(listener, (!by_peer).then_some(opaque));
            if !by_peer {
                let want = move |part: &mut Program| part.want(listener, opaque);
                // A thread that does not answer accepts no datagrams.
                let _ = apps::ask_parts(router, app.index, want);
                wake(router);
            }
        }
        self.done(request, result.map(u32::cast_signed))
    }
    fn unlisten(&mut self, router: &mut Router, request: &Message) -> Result<(), Ended> {
        let app = self.app.as_mut().ok_or(Ended)?;
        let listener = request.value.cast_unsigned();
        let result = app.listeners.remove(&listener).ok_or(-77).map(|_| {
            // It exists: the program's list has it.
            let _ = apps::unlisten(router, listener);
            0
        });
        self.done(request, result)
    }
    fn connect(&self, router: &mut Router, request: &Message) -> Result<(), Ended> {
        let app = self.app.as_ref().ok_or(Ended)?;
        let result = endpoint(request).ok_or(-22).and_then(|to| {
            let connect = Connect { to, opaque: request.number, thread: None };
            connecting::connect(router, app.index, connect).map_err(|e| errno::of_error(&e))
        });
        self.done(request, result.map(|()| 0))
    }
    /// Sends missing lanes to the program, watches their bells on their threads, and starts
    /// datagrams on new threads.
    pub fn follow_threads(&mut self, router: &mut Router) {
        let Some(app) = &self.app else { return };
        let places = apps::ask_places(router, app.index, |part: &mut Program| part.number);
        let node = crate::data::turning(router);
        let mut lanes = app.lanes.borrow_mut();
        for (thread, number) in places.unwrap_or_default() {
            let Some(lane) = lanes.get_mut(number) else { continue };
            lane.unwatch(router);
            lane.thread = thread;
            // Without the bell, the thread checks only while it is awake.
            let _ = router.engine.watch_rings(thread, node, lane.bell.as_fd());
        }
        for (number, lane) in (0..).zip(lanes.iter_mut()) {
            if let Some([d, a]) = lane.files.take() {
                let message = Message { token: number, ..Message::new(talk::LANE) };
                // A program that does not read it will be detached.
                let _ = self.say(&message, &[d.as_fd(), a.as_fd(), lane.bell.as_fd()]);
            }
        }
        drop(lanes);
        let wanted = app.listeners.iter().filter_map(|(of, opaque)| Some((*of, (*opaque)?)));
        let wanted: Vec<_> = wanted.collect();
        if !wanted.is_empty() {
            let want = move |part: &mut Program| {
                wanted.iter().for_each(|(listener, opaque)| part.want(*listener, *opaque));
            };
            // A thread that does not answer takes no datagrams.
            let _ = apps::ask_parts(router, app.index, want);
            wake(router);
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(socket) = &self.socket {
            // The program knows at once, however long it takes to close.
            let _ = shutdown(&socket.0, Shutdown::Both);
        }
    }
}

impl Made {
    fn unwatch(&self, router: &mut Router) {
        // The thread may have ended.
        let _ = router.engine.unwatch(self.thread, self.bell.as_fd());
    }
}

/// Wakes the threads for a turn.
pub(super) fn wake(router: &mut Router) {
    let node = crate::data::turning(router);
    for thread in router.engine.data_threads() {
        router.engine.set_input_state(thread, node, InputState::Adaptive);
    }
}
