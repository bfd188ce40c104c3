//! The connection to the router: its socket, bells and lanes.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use lanes::lane::{Lane, state};
use lanes::region::Word;
use lanes::stream::Out;
use lanes::talk::{self, Message};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::{Errno as Kernel, read, write};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::{Done, Errno};
use lanes::settings::Config;

/// This side's state of a line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// Generation of the line: how often it has been used.
    pub generation: u32,
    /// The session that uses it.
    pub session: Option<u32>,
}

/// A lane and its state.
pub struct End {
    /// The lane.
    pub lane: Lane,
    /// The router's bell.
    pub bell: OwnedFd,
    /// Lines by number.
    pub lines: Vec<Known>,
    /// Closed streams that the router may still read.
    graves: Vec<(u32, u32, Out)>,
}

/// The connection to the router.
pub struct Link {
    /// The app socket.
    pub socket: Arc<OwnedFd>,
    /// The bell that the router rings.
    pub bell: Arc<OwnedFd>,
    /// The one that threads of the process ring.
    pub nudge: Arc<OwnedFd>,
    /// Lanes by number.
    pub ends: Vec<End>,
    /// Whether the connection is lost.
    pub is_dead: bool,
    /// Whether the sessions have been notified of that.
    pub is_mourned: bool,
    token: u32,
    /// Requests by token, and their answers that have not been fetched.
    asked: BTreeMap<u32, Option<i32>>,
    /// Seconds to wait for an answer.
    pub patience: f64,
}

fn errno(e: impl Into<std::io::Error>) -> Errno {
    e.into().raw_os_error().unwrap_or(libc::EIO)
}

fn dial(path: &Path) -> Done<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let made = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let socket = made.map_err(errno)?;
    let abstract_name = path.to_str().and_then(|path| path.strip_prefix('@'));
    let address = match abstract_name {
        Some(name) => SocketAddrUnix::new_abstract_name(name.as_bytes()),
        None => SocketAddrUnix::new(path),
    };
    connect(&socket, &address.map_err(errno)?).map_err(errno)?;
    Ok(socket)
}

impl End {
    /// Announces a change of a line.
    pub fn post(&mut self, line: u32) -> Done<()> {
        self.lane.post(line).map_err(|_| libc::EPROTO)?;
        if self.lane.must_ring() {
            // A failed write means that the bell is already ringing.
            let _ = write(&self.bell, &1u64.to_ne_bytes());
        }
        Ok(())
    }
    /// Keeps the data of a closed stream until the router has read it.
    pub fn bury(&mut self, line: u32, generation: u32, stream: Out) {
        self.graves.push((line, generation, stream));
        self.sweep();
    }
    /// Frees data of closed streams that the router has read.
    pub fn sweep(&mut self) {
        let Self { lane, graves, .. } = self;
        graves.retain_mut(|(line, generation, stream)| {
            let said = lane.state(*line);
            let is_over = said.generation != *generation || said.has(state::DEAD);
            let is_read = is_over || lane.other.get(*line, Word::Taken) == stream.written();
            if is_read {
                stream.clear(lane);
            }
            !is_read
        });
    }
}

impl Link {
    /// Attaches to the router.
    ///
    /// # Errors
    /// The kernel's, or the router's.
    pub fn new(name: &str, config: &Config) -> Done<Self> {
        let socket = dial(&config.socket)?;
        let scope = |is: bool, bit| if is { bit } else { 0 };
        let hello = Message {
            flags: scope(config.is_local, talk::LOCAL) | scope(config.is_global, talk::GLOBAL),
            number: config.secret,
            sizes: [config.rx_fifo, config.tx_fifo],
            name: name.to_owned(),
            namespace: config.namespace.clone(),
            ..Message::new(talk::HELLO)
        };
        talk::send(&socket, &hello, &[]).map_err(errno)?;
        let patience = config.app_timeout;
        let (welcome, mut files) = receive(&socket, patience)?.ok_or(libc::ECONNREFUSED)?;
        if welcome.kind != talk::WELCOME || welcome.value != 0 {
            return Err(if welcome.value < 0 { -welcome.value } else { libc::EPROTO });
        }
        let bell = files.pop().ok_or(libc::EPROTO)?;
        let nudge = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(errno)?;
        let mut link = Self {
            socket: Arc::new(socket),
            bell: Arc::new(bell),
            nudge: Arc::new(nudge),
            ends: Vec::new(),
            is_dead: false,
            is_mourned: false,
            token: 0,
            asked: BTreeMap::from([(0, None)]),
            patience,
        };
        // The first lanes are announced before the answer to the greeting.
        while link.asked.contains_key(&0) {
            let (message, files) = receive(&link.socket, patience)?.ok_or(libc::ENOTCONN)?;
            if message.kind == talk::DONE && message.token == 0 {
                link.asked.remove(&0);
            } else {
                link.take(&message, files)?;
            }
        }
        Ok(link)
    }
    /// Wakes the thread that waits for the router.
    pub fn nudge(&self) {
        // It can only be full of rings already.
        let _ = write(&*self.nudge, &1u64.to_ne_bytes());
    }
    /// Takes what has rung.
    pub fn quiet(&self) {
        lanes::bell::quiet(&*self.bell);
        let _ = read(&*self.nudge, &mut [0; 8]);
    }
    /// Sends a request to the router; returns the token of its answer.
    ///
    /// # Errors
    /// `ENOTCONN` if the connection is lost.
    pub fn request(&mut self, request: Message) -> Done<u32> {
        if self.is_dead {
            return Err(libc::ENOTCONN);
        }
        self.token = self.token.wrapping_add(1).max(1);
        let token = self.token;
        if talk::send(&*self.socket, &Message { token, ..request }, &[]).is_err() {
            self.is_dead = true;
            return Err(libc::ENOTCONN);
        }
        self.asked.insert(token, None);
        Ok(token)
    }
    /// The answer to a request, or the loss of the connection.
    pub fn answer_to(&mut self, token: u32) -> Option<Done<i32>> {
        let value = self.asked.get(&token).copied().flatten();
        if value.is_some() || self.is_dead {
            self.asked.remove(&token);
        }
        match value {
            Some(value) => Some(if value < 0 { Err(-value) } else { Ok(value) }),
            None => self.is_dead.then_some(Err(libc::ENOTCONN)),
        }
    }
    /// Forgets a request whose answer is no longer awaited.
    pub fn forget(&mut self, token: u32) {
        self.asked.remove(&token);
    }
    /// Handles unsolicited messages of the router.
    pub fn hear(&mut self) {
        let mut set = [PollFd::new(&*self.socket, PollFlags::IN)];
        while !self.is_dead && poll(&mut set, Some(&rustix::event::Timespec::default())) == Ok(1) {
            let heard = receive(&self.socket, self.patience);
            let taken = heard.map(|heard| heard.map(|(message, files)| self.take(&message, files)));
            self.is_dead |= !matches!(taken, Ok(Some(Ok(()))));
            set = [PollFd::new(&*self.socket, PollFlags::IN)];
        }
    }
    fn take(&mut self, message: &Message, files: Vec<OwnedFd>) -> Done<()> {
        if message.kind == talk::DONE {
            // One that came too late is not awaited any longer.
            if let Some(answer) = self.asked.get_mut(&message.token) {
                *answer = Some(message.value);
            }
            return Ok(());
        }
        if message.kind != talk::LANE || message.token as usize != self.ends.len() {
            return Err(libc::EPROTO);
        }
        let [d, a, bell] = <[OwnedFd; 3]>::try_from(files).map_err(|_| libc::EPROTO)?;
        let lane = Lane::open(d.as_fd(), a.as_fd()).map_err(errno)?;
        let lines = vec![Known::default(); lanes::region::LINES as usize];
        self.ends.push(End { lane, bell, lines, graves: Vec::new() });
        Ok(())
    }
}

/// The next message and its file descriptors; `None` if the connection is closed.
fn receive(socket: &OwnedFd, patience: f64) -> Done<Option<(Message, Vec<OwnedFd>)>> {
    let (mut bytes, mut files) = ([0; talk::MESSAGE], Vec::new());
    let timeout = super::wait::timespec(patience);
    loop {
        let mut set = [PollFd::new(socket, PollFlags::IN)];
        match poll(&mut set, timeout.as_ref()) {
            Err(Kernel::INTR) => continue,
            Ok(0) => return Err(libc::ETIMEDOUT),
            _ => {}
        }
        return match talk::receive(socket, &mut bytes, &mut files) {
            Err(Kernel::INTR | Kernel::AGAIN) => continue,
            Ok(0) | Err(_) => Ok(None),
            Ok(len) => {
                let message = bytes.get(..len).and_then(Message::parse);
                message.map(|message| Some((message, files))).ok_or(libc::EPROTO)
            }
        };
    }
}
