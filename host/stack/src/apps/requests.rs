//! Connections of programs: what they ask for, and what they are answered.

use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;

use control::process::{Event, Wake};
use graph::InputState;
use lanes::lane::Lane;
use lanes::talk::{self, Message};
use net::Router;
use rustix::event::{EventfdFlags, eventfd};

use super::part::Program;
use super::{Attached, MOST, PROCESS, Programs};
use crate::control::{Error as ControlError, namespaces};
use crate::data::apps::{self, Error, Options};
use crate::data::connecting::{self, Connect};
use crate::data::endpoint::{Endpoint, Transport};

/// Messages of a program in one go.
const MESSAGES: usize = 64;
/// Programs that may be about to attach at a time.
const CALLERS: usize = 64;
/// Seconds that a program may take to attach, and that one with a wrong secret waits.
const PATIENCE: f64 = 1.0;
/// Seconds for which closed sessions of a program that is gone still send.
const LINGER: f64 = 30.0;
/// Seconds between looks at them.
const LOOK: f64 = 0.05;
/// Listeners of a program at most.
const LISTENERS: usize = 4096;
/// Bytes of FIFOs that a program may ask for.
const FIFOS: (u32, u32) = (4096, 1 << 26);
/// First bytes of messages of the original's library.
const FOREIGN: std::ops::RangeInclusive<u8> = 1..=7;
/// Length of these messages.
const FOREIGN_LEN: usize = 209;

/// A connection.
pub struct Client {
    socket: OwnedFd,
    /// Its namespace: that of the socket, until it attaches to another.
    pub namespace: u32,
    pid: u32,
    /// When it is closed.
    deadline: Option<f64>,
    /// Whether messages may be left of the last turn.
    has_more: bool,
    app: Option<App>,
}

/// Its application.
struct App {
    index: u32,
    alarm: Arc<OwnedFd>,
    lanes: Rc<RefCell<Vec<Made>>>,
    listeners: Vec<u32>,
    /// Whether it is gone.
    is_gone: bool,
}

/// A lane of a program.
struct Made {
    /// The thread that its bell wakes.
    thread: usize,
    bell: OwnedFd,
    /// Files of the regions, until the program has them.
    files: Option<[OwnedFd; 2]>,
}

/// The end of a connection.
struct Ended;

fn bell() -> std::io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?)
}

/// A turn of the process.
pub fn run(router: &mut Router, _: Event) -> Wake {
    let mut clients = std::mem::take(&mut router.own_mut::<Programs>().clients);
    accept(router, &mut clients);
    let mut kept = Vec::with_capacity(clients.len());
    for mut client in clients {
        match client.hear(router) {
            Ok(()) => kept.push(client),
            Err(Ended) => client.detach(router),
        }
    }
    let now = router.now();
    let next = kept.iter().filter_map(|client| client.next(now)).reduce(f64::min);
    // None can have come meanwhile: requests change no list of clients.
    router.own_mut::<Programs>().clients = kept;
    match next {
        Some(seconds) => Wake::AfterOrEvent(std::time::Duration::from_secs_f64(seconds.max(0.001))),
        None => Wake::OnEvent,
    }
}

fn accept(router: &mut Router, clients: &mut Vec<Client>) {
    let mut new = Vec::new();
    for (namespace, socket) in &router.own::<Programs>().sockets {
        new.extend(std::iter::from_fn(|| socket.accept()).map(|it| (*namespace, it)));
    }
    for (namespace, (socket, pid)) in new {
        let callers = clients.iter().filter(|client| client.app.is_none()).count();
        let has_room = callers < CALLERS && clients.len() < MOST;
        if has_room && router.processes.watch(PROCESS, socket.as_fd()).is_ok() {
            let deadline = Some(router.now() + PATIENCE);
            clients.push(Client { socket, namespace, pid, deadline, has_more: true, app: None });
        }
    }
}

/// The number of an error, as the kernel's.
fn number(why: &Error) -> i32 {
    -match why {
        Error::InUse(_) | Error::Taken(_) => 98,
        Error::NoAddress(_) | Error::NoPort(_) => 99,
        Error::Refused(_) | Error::Filtered(_) => 111,
        Error::TooManyListeners => 12,
        Error::Control(ControlError::WrongSecret(_)) => 13,
        Error::Control(ControlError::NoNamespace(_)) => 2,
        Error::NoApp(_) | Error::NoListener(_) => 77,
        _ => 22,
    }
}

fn endpoint(message: &Message) -> Option<Endpoint> {
    let transport = match message.transport {
        0 => Transport::Tcp,
        1 => Transport::Udp,
        _ => return None,
    };
    Some(Endpoint { transport, address: message.end.ip(), port: message.end.port() })
}

impl Client {
    /// The program as operators see it, once it has attached.
    pub fn attached(&self) -> Option<Attached> {
        let app = self.app.as_ref()?.index;
        Some(Attached { app, pid: self.pid, namespace: self.namespace })
    }
    /// Seconds until it is to be looked at.
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
    /// Detaches it.
    pub fn detach(self, router: &mut Router) {
        if let Some(app) = self.app {
            app.lanes.borrow().iter().for_each(|lane| lane.unwatch(router));
            apps::detach(router, app.index);
        }
    }
    fn hear(&mut self, router: &mut Router) -> Result<(), Ended> {
        let is_late = self.deadline.is_some_and(|deadline| deadline <= router.now());
        if self.app.as_ref().is_some_and(|app| app.is_gone) {
            return if is_late { Err(Ended) } else { self.linger(router) };
        }
        if is_late {
            return Err(Ended);
        }
        if let Some(app) = &self.app
            && rustix::io::read(&*app.alarm, &mut [0; 8]).is_ok()
        {
            let log = router.log.class("session", "app-socket");
            log.warn(format_args!("process {} has broken the shared memory: detached", self.pid));
            return Err(Ended);
        }
        self.has_more = false;
        for _ in 0..MESSAGES {
            let (mut bytes, mut files) = ([0; talk::MESSAGE], Vec::new());
            // Descriptors of programs are closed: none is ever asked for.
            match talk::receive(&self.socket, &mut bytes, &mut files) {
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Ok(()),
                Ok(0) | Err(_) => return self.linger(router),
                Ok(len) => self.take(router, &bytes[..len.min(bytes.len())])?,
            }
        }
        // Others have their turn first: the descriptor says nothing more of what waits in it.
        self.has_more = true;
        Ok(())
    }
    /// Keeps a program that is gone as long as what it closed is on its way.
    fn linger(&mut self, router: &mut Router) -> Result<(), Ended> {
        let app = self.app.as_mut().ok_or(Ended)?;
        if !app.is_gone {
            app.is_gone = true;
            self.deadline = Some(router.now() + LINGER);
            for listener in std::mem::take(&mut app.listeners) {
                // It exists: the program's list has it.
                let _ = apps::unlisten(router, listener);
            }
        }
        let left = apps::ask_parts(router, app.index, Program::orphan);
        match left {
            Ok(left) if left.iter().sum::<usize>() > 0 => Ok(()),
            _ => Err(Ended),
        }
    }
    fn say(&self, message: &Message, files: &[BorrowedFd<'_>]) -> Result<(), Ended> {
        // One that does not read is as good as gone.
        talk::send(&self.socket, message, files).map_err(|_| Ended)
    }
    fn take(&mut self, router: &mut Router, bytes: &[u8]) -> Result<(), Ended> {
        if self.app.is_none() && bytes.first().is_some_and(|kind| FOREIGN.contains(kind)) {
            return self.refuse_foreign(router);
        }
        let message = Message::parse(bytes).ok_or(Ended)?;
        match (message.kind, &self.app) {
            (talk::HELLO, None) => self.attach(router, &message),
            (talk::LISTEN, Some(_)) => self.listen(router, &message),
            (talk::UNLISTEN, Some(_)) => self.unlisten(router, &message),
            (talk::CONNECT, Some(_)) => self.connect(router, &message),
            _ => Err(Ended),
        }
    }
    /// Answers a client of the original's library in its own words: an attach reply with `retval`
    /// "not supported".
    fn refuse_foreign(&self, router: &Router) -> Result<(), Ended> {
        let mut reply = [0; FOREIGN_LEN];
        reply[0] = 2;
        reply[1..5].copy_from_slice(&(-10i32).to_le_bytes());
        // It may be gone.
        let _ = talk::send_bytes(&self.socket, &reply, &[]);
        router.log.class("session", "app-socket").warn(format_args!(
            "client of the original's library (process {}): use libvppcom.so of this router",
            self.pid
        ));
        Err(Ended)
    }
    fn attach(&mut self, router: &mut Router, hello: &Message) -> Result<(), Ended> {
        if self.deadline.is_none_or(|deadline| deadline <= router.now()) {
            return Err(Ended);
        }
        match self.admit(router, hello) {
            Ok(bell) => {
                self.deadline = None;
                let app = self.app.as_ref().map_or(0, |app| app.index);
                let welcome = Message { token: app, ..Message::new(talk::WELCOME) };
                self.say(&welcome, &[bell.as_fd()])?;
                self.follow_threads(router);
                let done = Message { token: hello.token, ..Message::new(talk::DONE) };
                self.say(&done, &[])
            }
            Err(why) => {
                let log = router.log.class("session", "app-socket");
                log.warn(format_args!("process {}: {}: {why}", self.pid, hello.name));
                let value = number(&why);
                let welcome = Message { value, ..Message::new(talk::WELCOME) };
                if value != -13 {
                    self.say(&welcome, &[])?;
                    return Err(Ended);
                }
                // Guesses take their time: it is closed without an answer when that is over.
                Ok(())
            }
        }
    }
    /// Attaches an application; the program's bell.
    fn admit(&mut self, router: &mut Router, hello: &Message) -> Result<Arc<OwnedFd>, Error> {
        let own = namespaces::at(router, self.namespace)?.of.id.clone();
        let namespace = if hello.namespace.is_empty() { own } else { hello.namespace.clone() };
        let fifo = |size: u32| match size {
            0 => Options::default().rx_fifo,
            size => size.clamp(FIFOS.0, FIFOS.1),
        };
        let scope = hello.flags & (talk::LOCAL | talk::GLOBAL);
        let options = Options {
            namespace: namespace.clone(),
            secret: hello.number,
            rx_fifo: fifo(hello.sizes[0]),
            tx_fifo: fifo(hello.sizes[1]),
            is_local: scope & talk::LOCAL != 0,
            // Without a word about it, sessions are with hosts.
            is_global: scope != talk::LOCAL,
            ..Options::default()
        };
        let no_memory = |_| Error::TooManyListeners;
        let bells = (Arc::new(bell().map_err(no_memory)?), Arc::new(bell().map_err(no_memory)?));
        let (ours, alarm) = bells.clone();
        let made = Rc::new(RefCell::new(Vec::new()));
        let (to, rx_limit) = (Rc::clone(&made), options.rx_fifo as usize);
        let make = move |thread| -> Box<dyn crate::data::app::Application> {
            let mut all = to.borrow_mut();
            let lane = bell().and_then(|bell| Lane::create().map(|lane| (bell, lane)));
            let lane = lane.map(|(bell, (lane, files))| {
                all.push(Made { thread, bell, files: Some(files) });
                lane
            });
            // Without memory for it, the thread has no sessions of the program.
            Box::new(Program::new(all.len().wrapping_sub(1), lane.ok(), bells.clone(), rx_limit))
        };
        let name = self.name(router, &hello.name);
        let index = apps::attach(router, &name, options, make)?;
        self.namespace = namespaces::index_of(router, &namespace)?;
        // It is looked at with every turn even if this fails.
        let _ = router.processes.watch(PROCESS, alarm.as_fd());
        let lanes = Rc::clone(&made);
        self.app = Some(App { index, alarm, lanes, listeners: Vec::new(), is_gone: false });
        Ok(ours)
    }
    /// A name like that which the program gives itself, and that no other has.
    fn name(&self, router: &Router, wanted: &str) -> String {
        let letter = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let mut name: String = wanted.chars().take(40).map(letter).collect();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            name.insert_str(0, "app-");
        }
        let is_free =
            |name: &String| crate::control::apps::all(router).all(|(_, app)| app.name != *name);
        let numbered = (1..).map(|n| format!("{name}-{}-{n}", self.pid));
        let mut names = [name.clone()].into_iter().chain(numbered);
        names.find(is_free).expect("applications are fewer than numbers")
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
            // Port 0 would take all ports.
            Some(to) if to.port == 0 => Err(-22),
            Some(_) if app.listeners.len() >= LISTENERS => Err(-12),
            Some(to) => apps::listen(router, app.index, to, by_peer).map_err(|e| number(&e)),
        };
        if let Ok(listener) = result {
            app.listeners.push(listener);
            if !by_peer {
                let opaque = request.number;
                let want = move |part: &mut Program| part.want(listener, opaque);
                // A thread that does not answer takes no datagrams.
                let _ = apps::ask_parts(router, app.index, want);
                wake(router);
            }
        }
        self.done(request, result.map(u32::cast_signed))
    }
    fn unlisten(&mut self, router: &mut Router, request: &Message) -> Result<(), Ended> {
        let app = self.app.as_mut().ok_or(Ended)?;
        let listener = request.value.cast_unsigned();
        let own = app.listeners.iter().position(|own| *own == listener);
        let result = own.ok_or(-77).map(|at| {
            app.listeners.swap_remove(at);
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
            connecting::connect(router, app.index, connect).map_err(|e| number(&e))
        });
        self.done(request, result.map(|()| 0))
    }
    /// Gives the program lanes that it has not, and has their bells ring on their threads.
    pub fn follow_threads(&mut self, router: &mut Router) {
        let Some(app) = &self.app else { return };
        let places = apps::ask_places(router, app.index, |part: &mut Program| part.number);
        let node = crate::data::turning(router);
        let mut lanes = app.lanes.borrow_mut();
        for (thread, number) in places.unwrap_or_default() {
            let Some(lane) = lanes.get_mut(number) else { continue };
            lane.unwatch(router);
            lane.thread = thread;
            // A bell that cannot ring leaves the thread to look when it is awake.
            let _ = router.engine.watch_rings(thread, node, lane.bell.as_fd());
        }
        for (number, lane) in (0..).zip(lanes.iter_mut()) {
            if let Some([d, a]) = lane.files.take() {
                let message = Message { token: number, ..Message::new(talk::LANE) };
                // One that does not read it is gone soon.
                let _ = self.say(&message, &[d.as_fd(), a.as_fd(), lane.bell.as_fd()]);
            }
        }
    }
}

impl Made {
    fn unwatch(&self, router: &mut Router) {
        // The thread may have ended.
        let _ = router.engine.unwatch(self.thread, self.bell.as_fd());
    }
}

/// Gives the threads a turn.
fn wake(router: &mut Router) {
    let node = crate::data::turning(router);
    for thread in router.engine.data_threads() {
        router.engine.set_input_state(thread, node, InputState::Adaptive);
    }
}
