//! Requests to the router, over the socket that they are about.
#![forbid(unsafe_code)]

use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use lanes::settings::Config;
use lanes::socket::{ANSWER, Answer, Name, about, twin};
use lanes::talk::{self, Message};

use super::abi::sys;
use super::policy::Policy;
use super::table::{Entry, flag};
use super::{Done, address};

/// Milliseconds for which the router may think about a request that waits for no peer.
const PATIENCE: u32 = 10_000;

/// Settings of the process.
pub struct Settings {
    config: Config,
    /// Encoded addresses of the app socket and its twin.
    sockets: [Vec<u8>; 2],
    /// Addresses that are left to the kernel.
    pub policy: Policy,
    /// Whether nothing may run on the kernel instead.
    is_strict: bool,
    is_quiet: bool,
    name: String,
}

impl Settings {
    /// Whether datagram sockets are the router's: within a namespace there are streams only.
    pub fn has_datagrams(&self) -> bool {
        self.config.is_global || !self.config.is_local
    }
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();
static HAS_TOLD: AtomicBool = AtomicBool::new(false);
/// Seconds, plus one, at which there was no router.
static MISSED: AtomicU64 = AtomicU64::new(0);

/// The settings, read at the first use.
pub fn settings() -> &'static Settings {
    SETTINGS.get_or_init(|| {
        let config = Config::read();
        let encode = |path: &std::path::Path| address::unix(path.as_os_str().as_bytes());
        let sockets = [config.socket.clone(), twin(&config.socket)];
        let sockets = sockets.map(|path| encode(&path).unwrap_or_default());
        let variable = |name: &str| std::env::var(name).ok();
        let name = variable("LDP_APP_NAME").unwrap_or_else(|| "app".to_owned());
        let level = variable("LDP_DEBUG").and_then(|level| level.parse::<u32>().ok());
        let policy = Policy::parse(variable("LDP_KERNEL").as_deref());
        if let Err(word) = &policy {
            sys::say(&format!("vcl_ldpreload: LDP_KERNEL: cannot read '{word}': ignored\n"));
        }
        Settings {
            sockets,
            policy: policy.unwrap_or_default(),
            is_strict: variable("LDP_STRICT").is_some(),
            is_quiet: level == Some(0),
            name,
            config,
        }
    })
}

/// Tells the user once why the program runs on the kernel.
fn tell(why: i32) {
    let settings = settings();
    if !settings.is_quiet && !HAS_TOLD.swap(true, Relaxed) {
        let (path, pid) = (settings.config.socket.display(), sys::pid());
        let why = std::io::Error::from_raw_os_error(why);
        let what = if settings.is_strict { "sockets fail" } else { "sockets are the kernel's" };
        let name = &settings.name;
        sys::say(&format!("vcl_ldpreload: {name}-ldp-{pid}: no router at {path}: {why}; {what}\n"));
    }
}

/// Whether a router is there. One that is missing is looked for again after a second.
pub fn is_there() -> bool {
    static HAS_ASKED: AtomicBool = AtomicBool::new(false);
    let missed = MISSED.load(Relaxed);
    if HAS_ASKED.load(Relaxed) && missed == 0 {
        return true;
    }
    if missed > sys::seconds() {
        return settings().is_strict;
    }
    let found = sys::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
    let found = found.and_then(|fd| {
        let done = sys::connect(fd, &settings().sockets[1]);
        sys::close(fd);
        done
    });
    HAS_ASKED.store(true, Relaxed);
    let is_there = found.is_ok();
    MISSED.store(if is_there { 0 } else { sys::seconds() + 1 }, Relaxed);
    found.map_err(tell).is_ok() || settings().is_strict
}

/// Failures of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// There is no router.
    Missing,
    /// The request has failed.
    Because(i32),
}

impl From<i32> for Failed {
    fn from(why: i32) -> Self {
        Self::Because(why)
    }
}

/// Sends a request over a new socket. The `filling` makes it unwritable until it is connected.
///
/// # Errors
/// [`Failed`].
pub fn ask(fd: i32, entry: &Entry, request: Message, filling: usize) -> Result<(), Failed> {
    let settings = settings();
    let is_stream = entry.has(flag::STREAM);
    match sys::connect(fd, &settings.sockets[usize::from(is_stream)]) {
        Ok(()) => {}
        Err(libc::EINTR) => return Err(Failed::Because(libc::EINTR)),
        Err(why) if settings.is_strict => {
            tell(why);
            return Err(Failed::Because(libc::ENETDOWN));
        }
        Err(why) => {
            tell(why);
            return Err(Failed::Missing);
        }
    }
    let scope = |is: bool, bit| if is { bit } else { 0 };
    let config = &settings.config;
    let scope = scope(config.is_local, talk::LOCAL) | scope(config.is_global, talk::GLOBAL);
    let message = Message {
        transport: u8::from(!is_stream),
        flags: request.flags | scope,
        number: config.secret,
        namespace: config.namespace.clone(),
        token: if filling > 0 { filling as u32 } else { request.token },
        name: settings.name.clone(),
        ..request
    };
    let mut bytes = message.to_bytes().to_vec();
    bytes.resize(bytes.len() + filling, 0);
    match sys::send(fd, &bytes, libc::MSG_NOSIGNAL) {
        Ok(n) if n == bytes.len() => Ok(()),
        Ok(_) => Err(Failed::Because(libc::ENOBUFS)),
        Err(why) => Err(Failed::Because(why)),
    }
}

/// The router's answer.
///
/// # Errors
/// `EAGAIN` before it has come, `EINTR`, and the error in it.
pub fn answer(fd: i32, waits: bool) -> Done<Answer> {
    let mut bytes = [0; ANSWER];
    let flags = if waits { libc::MSG_WAITALL } else { libc::MSG_DONTWAIT };
    match sys::receive(fd, &mut bytes, flags)? {
        // A wrong secret is not answered.
        0 => Err(libc::EACCES),
        ANSWER => {
            let answer = Answer::parse(&bytes).ok_or(libc::EPROTO)?;
            if answer.error == 0 { Ok(answer) } else { Err(answer.error.cast_signed()) }
        }
        _ => Err(libc::EPROTO),
    }
}

/// The answer to a request that waits for no peer.
///
/// # Errors
/// The error in it, `ETIMEDOUT`.
pub fn answer_soon(fd: i32) -> Done<Answer> {
    loop {
        match answer(fd, false) {
            Err(libc::EAGAIN) => {}
            done => return done,
        }
        match sys::poll(fd, libc::POLLIN, Some(PATIENCE)) {
            Ok(0) => return Err(libc::ETIMEDOUT),
            Ok(_) | Err(libc::EINTR) => {}
            Err(why) => return Err(why),
        }
    }
}

/// Asks and waits for the answer.
///
/// # Errors
/// [`Failed`].
pub fn ask_soon(fd: i32, entry: &Entry, request: Message) -> Result<Answer, Failed> {
    ask(fd, entry, request, 0)?;
    Ok(answer_soon(fd)?)
}

/// A request for an endpoint.
pub fn request(kind: u8, end: SocketAddr) -> Message {
    Message { end, ..Message::new(kind) }
}

/// Names a socket, so that a process that inherits it knows what it is.
pub fn name(fd: i32, entry: &Entry) {
    let bit = |flags, bit| if entry.has(flags) { bit } else { 0 };
    let name = Name {
        about: bit(flag::DATAGRAM, about::DATAGRAMS)
            | bit(flag::IP6, about::IP6)
            | bit(flag::LISTENS, about::LISTENS)
            | bit(flag::CONNECTED, about::CONNECTED),
        local: entry.local(),
        peer: entry.peer(),
        number: sys::random(),
    };
    let mut bytes = (libc::AF_UNIX as u16).to_ne_bytes().to_vec();
    bytes.extend(name.to_bytes());
    // It may have one.
    let _ = sys::bind(fd, &bytes);
}

/// The entry of a socket of the library, which may be inherited.
pub fn know(fd: i32) -> Option<&'static Entry> {
    let entry = super::table::at(fd)?;
    if entry.flags() != 0 {
        return Some(entry);
    }
    let mut bytes = [0; sys::NAME];
    let len = sys::name(fd, &mut bytes).ok()?;
    let name = bytes.get(2..len).and_then(Name::parse)?;
    if address::family(&bytes) != Some(libc::AF_UNIX) {
        return None;
    }
    let bit = |bit, flags| if name.about & bit != 0 { flags } else { 0 };
    entry.begin(
        flag::OPEN
            | flag::BOUND
            | bit(about::DATAGRAMS, flag::DATAGRAM)
            | bit(about::IP6, flag::IP6)
            | bit(about::LISTENS, flag::LISTENS)
            | bit(about::CONNECTED, flag::CONNECTED)
            | if name.about & about::DATAGRAMS == 0 { flag::STREAM } else { 0 },
    );
    entry.set_local(name.local);
    entry.set_peer(name.peer);
    Some(entry)
}
