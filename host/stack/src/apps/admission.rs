//! Admission of programs: the namespace and its secret, an application, memory to share.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;

use lanes::bell::Bell;
use lanes::lane::Lane;
use lanes::socket::Answer;
use lanes::talk::{self, Message};
use net::Router;
use rustix::event::{EventfdFlags, eventfd};

use super::errno;
use super::part::Program;
use super::requests::{App, Client, Ended, Made, PATIENCE, Turn};
use super::sockets::{self, Request};
use super::{PROCESS, programs};
use crate::control::namespaces;
use crate::data::apps::{self, Error, Options};

/// Limit of connections of a user with wrong secrets; further secrets are not checked.
const GUESSES: usize = 4;
/// Peers of a program's listener for datagrams, on each thread: other sessions need lines too.
const PEERS: u32 = 1024;
/// Smallest and largest FIFO that a program may request, in bytes.
const FIFOS: (u32, u32) = (4096, 1 << 26);

/// An eventfd that is rung.
pub(super) fn bell() -> std::io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?)
}

/// Converts a name to one that is valid for an application.
fn plain(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    name.chars().take(40).map(letter).collect()
}

impl Client {
    /// Handles a HELLO: attaches the program.
    pub(super) fn attach(
        &mut self,
        router: &mut Router,
        hello: &Message,
        turn: &mut Turn,
    ) -> Result<(), Ended> {
        if self.must_wait(router, hello, turn)? {
            return Ok(());
        }
        let guesses = turn.guesses.entry(self.uid).or_default();
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
                log.warn(format_args!("process {}: {}: {why}", self.pid, plain(&hello.name)));
                let value = errno::of_error(&why);
                let welcome = Message { value, ..Message::new(talk::WELCOME) };
                if value != -13 {
                    self.say(&welcome, &[])?;
                    return Err(Ended);
                }
                // Guessing must be slow: the connection is closed without an answer after a delay.
                *guesses += 1;
                self.guess(router);
                Ok(())
            }
        }
    }
    /// Makes the connection a socket of the program.
    pub(super) fn become_socket(
        &mut self,
        router: &mut Router,
        message: &Message,
        turn: &mut Turn,
    ) -> Result<(), Ended> {
        if self.must_wait(router, message, turn)? {
            return Ok(());
        }
        if let Some(socket) = &self.socket {
            programs(router).calls.remove(socket.0.as_fd());
        }
        let request = Request { namespace: self.namespace, message, uid: self.uid };
        let connection = || self.socket.take().map(|socket| socket.into_inner().0);
        let error = match sockets::open(router, &request, connection) {
            Ok(()) => return Err(Ended),
            Err(Err(error)) => error,
            Err(Ok(why)) => {
                let log = router.log.class("session", "app-socket");
                log.debug(format_args!("process {}: a socket: {why}", self.pid));
                errno::of_error(&why).unsigned_abs()
            }
        };
        if error == 13 {
            *turn.guesses.entry(self.uid).or_default() += 1;
            self.guess(router);
            return Ok(());
        }
        let answer = Answer::failed(error).to_bytes();
        // The program may be gone.
        let _ = self.socket.as_ref().map(|socket| rustix::io::write(&socket.0, &answer));
        Err(Ended)
    }
    /// Whether nothing is answered yet to a program whose user has guessed secrets.
    fn must_wait(
        &mut self,
        router: &Router,
        message: &Message,
        turn: &Turn,
    ) -> Result<bool, Ended> {
        if self.deadline.is_none_or(|deadline| deadline <= router.now()) {
            return Err(Ended);
        }
        let guesses = turn.guesses.get(&self.uid).copied().unwrap_or(0);
        let must = guesses >= GUESSES && self.needs_secret(router, message);
        if must {
            // The secret is not checked, however many connections the user has.
            self.guess(router);
        }
        Ok(must)
    }
    fn guess(&mut self, router: &Router) {
        self.has_guessed = true;
        self.deadline = Some(router.now() + PATIENCE);
    }
    /// Whether the namespace that a program wants has a secret.
    fn needs_secret(&self, router: &Router, hello: &Message) -> bool {
        let index = match hello.namespace.as_str() {
            "" => Ok(self.namespace),
            namespace => namespaces::index_of(router, namespace),
        };
        let namespace = index.and_then(|index| namespaces::at(router, index));
        namespace.is_ok_and(|namespace| *namespace.of.secret != 0)
    }
    /// Attaches an application; the program's bell.
    fn admit(&mut self, router: &mut Router, hello: &Message) -> Result<OwnedFd, Error> {
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
            // By default, sessions with hosts are allowed.
            is_global: scope != talk::LOCAL,
            peers: PEERS,
            ..Options::default()
        };
        let no_memory = |why: std::io::Error| Error::Kernel(control::cli::io_text(&why));
        let ((rings, theirs), alarm) =
            (Bell::new().map_err(no_memory)?, Arc::new(bell().map_err(no_memory)?));
        let bells = (Arc::new(rings), Arc::clone(&alarm));
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
        self.app = Some(App { index, alarm, lanes, listeners: BTreeMap::new(), is_gone: false });
        Ok(theirs)
    }
    /// A unique name derived from the one that the program sends.
    fn name(&self, router: &Router, wanted: &str) -> String {
        let mut name = plain(wanted);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            name.insert_str(0, "app-");
        }
        let is_free =
            |name: &String| crate::control::apps::all(router).all(|(_, app)| app.name != *name);
        let numbered = (1..).map(|n| format!("{name}-{}-{n}", self.pid));
        let mut names = [name.clone()].into_iter().chain(numbered);
        names.find(is_free).expect("applications are fewer than numbers")
    }
}
