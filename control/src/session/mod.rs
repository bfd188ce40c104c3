//! The command line over a socket: the original's telnet dialect (RFC 854, 858, 1073, 1091) and our
//! own on top of it.
//!
//! The server greets, asks for terminal type and window size and decides by what comes first:
//!
//! * terminal type `vppctl`: plain. One line is one command, no prompt, no echo, lines end in CR LF
//!   and a NUL follows each command's output.
//! * another terminal type, or none within a second: interactive, with banner, prompt, echo,
//!   history, completion and pager.
//! * `WILL 203`: framed, for programs that need to know whether a command failed. 203 is not
//!   assigned by IANA and never offered by the server. It answers `DO 203`; from then on both
//!   sides speak [`frame`]s in subnegotiations of that option.
//!
//! A client that does not read costs the others nothing: its command rests while its output waits.

mod connection;
mod dialog;
mod edit;
pub mod frame;
mod job;
mod listener;
mod pager;
mod stdio;
pub mod telnet;
mod terminal;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;

pub use listener::Listener;
pub(crate) use listener::Stream;

use crate::cli::{Cli, Output, Reply, Step};
use crate::config::Unix;
use crate::origin;
use connection::Connection;
use job::Job;

/// Maximum sessions at a time. For one more, the session idle longest is closed; if all are running
/// commands, the new one is rejected.
const MAX_SESSIONS: usize = 256;
/// The last text of a session that ends.
const ENDED: &str = "ended: there are too many sessions, and this one did nothing for longest";
/// The text for a session that is refused, before anything else.
pub const TURNED_AWAY: &str = "too many sessions, all of them at work: try again later\r\n";

/// Settings of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Prompt of interactive sessions, with its blank.
    pub prompt: String,
    /// Text shown at the start of interactive sessions.
    pub banner: String,
    /// Stop at the end of each page when the window's height is known.
    pub pager: bool,
    /// No echo and no editing even in interactive sessions.
    pub line_mode: bool,
    /// Lines of history.
    pub history: usize,
}

impl Settings {
    /// Settings of `unix { … }`, with this banner unless it is disabled.
    pub fn new(unix: &Unix, banner: &str) -> Self {
        let default = Self::default();
        Self {
            prompt: unix.prompt(),
            banner: if unix.nobanner { String::new() } else { banner.to_owned() },
            pager: !unix.cli_no_pager,
            line_mode: unix.cli_line_mode,
            history: unix.cli_history_limit.unwrap_or(default.history),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            prompt: "vpp# ".to_owned(),
            banner: String::new(),
            pager: true,
            line_mode: false,
            history: 50,
        }
    }
}

/// Runs commands for any number of sessions. Clones are the same server.
///
/// It lives on one thread, inside a `tokio::task::LocalSet`. The context is borrowed only while a
/// command or a slice of one runs.
pub struct Server<C>(Rc<Shared<C>>);

struct Shared<C> {
    cli: Rc<Cli<C>>,
    cx: Rc<RefCell<C>>,
    settings: Settings,
    changed: Notify,
}

impl<C> Clone for Server<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C: 'static> Server<C> {
    /// A server without sessions.
    pub fn new(cli: Rc<Cli<C>>, cx: Rc<RefCell<C>>, settings: Settings) -> Self {
        Self(Rc::new(Shared { cli, cx, settings, changed: Notify::new() }))
    }

    /// Lets tasks that said [`Step::Wait`] look again. They do so every 10 ms anyway.
    pub fn changed(&self) {
        self.0.changed.notify_waiters();
    }

    /// Runs `text` while others run. Dropping the future cancels the command in progress.
    pub async fn run(&self, text: &str) -> Reply {
        let mut job = Job::new(self, text, "the start".into());
        let mut output = Output::none();
        loop {
            job.ready().await;
            if let Step::Done(result) = job.step(&mut output) {
                return Reply { output, result };
            }
        }
    }

    /// Accepts sessions until the listener fails for good.
    pub async fn serve(&self, listener: Listener) -> io::Result<()> {
        loop {
            match listener.accept().await? {
                listener::Stream::Unix(stream) => {
                    let (process, user) = stream.process_and_user();
                    let peer = process.map_or("unix".to_owned(), |pid| format!("process {pid}"));
                    let user = user.map_or_else(String::new, origin::user);
                    self.start(stream, peer, &user);
                }
                listener::Stream::Tcp(stream) => {
                    let peer = stream.peer_addr().map_or("tcp".to_owned(), |a| a.to_string());
                    self.start(stream, peer.clone(), &peer);
                }
            }
        }
    }

    /// A session on standard input and output, in whole lines. It ends with the terminal, if that
    /// is one.
    pub async fn serve_stdio(&self) -> io::Result<()> {
        let stdio::Stdio { stream, written, gone } = stdio::open()?;
        let session = async {
            Connection::lines(self, stream).run().await;
            // What may follow is the end of the program.
            let _ = written.await;
        };
        tokio::select! {
            () = session => {}
            Ok(()) = gone => {}
        }
        Ok(())
    }

    fn start<S>(&self, mut stream: S, peer: String, user: &str)
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + 'static,
    {
        let sessions = self.0.cli.sessions();
        if sessions.count() >= MAX_SESSIONS && !sessions.kill_idle(ENDED) {
            tokio::task::spawn_local(async move {
                // It fits into the socket; a closed connection needs no answer.
                let _ = stream.write_all(TURNED_AWAY.as_bytes()).await;
            });
            return;
        }
        tokio::task::spawn_local(Connection::telnet(self, stream, peer, user).run());
    }
}

#[cfg(test)]
mod tests;
