//! Sessions of the command line: `show cli-sessions`, `kill cli-session`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::Notify;

use super::{Cli, Command, Error, Output};
use crate::wall::{self, Civil};

/// Most characters of a command that are shown.
const SHOWN: usize = 60;

/// Show CLI sessions.
#[derive(Command)]
#[command("show cli-sessions")]
struct Show;

/// End a session and the command it is running.
#[derive(Command)]
#[command("kill cli-session")]
struct Kill {
    /// session number, as in `show cli-sessions`
    #[positional]
    #[values("cli-session")]
    session: u32,
}

/// All sessions. Clones are the same.
#[derive(Clone, Default)]
pub struct Sessions(Rc<RefCell<Inner>>);

#[derive(Default)]
struct Inner {
    last: u32,
    open: BTreeMap<u32, Open>,
    /// Counts what clients do, so that it is known who did nothing for longest.
    moment: u64,
}

struct Open {
    status: Status,
    killed: Rc<Notify>,
    /// Reason of its end, once it has to end.
    why: Option<&'static str>,
    /// Count of commands at the last one that began or ended here, to find the idlest session.
    moment: u64,
}

/// A session as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The address of the client.
    pub peer: String,
    /// Dialect of client and server; empty until the client has chosen.
    pub dialect: &'static str,
    /// Type of the terminal, empty when unknown.
    pub terminal: String,
    /// Start: time since 1970-01-01 UTC.
    #[serde(serialize_with = "crate::log::as_seconds")]
    pub since: Duration,
    /// Commands so far.
    pub commands: u64,
    /// The command in progress; empty when there is none.
    pub running: String,
}

/// One session, from its side. Dropping it ends its being shown.
pub struct Session {
    all: Sessions,
    number: u32,
    killed: Rc<Notify>,
}

impl Sessions {
    /// A session begins.
    pub fn open(&self, peer: String) -> Session {
        let (killed, mut inner) = (Rc::new(Notify::new()), self.0.borrow_mut());
        inner.last += 1;
        let status = Status {
            peer,
            dialect: "",
            terminal: String::new(),
            since: wall::now(),
            commands: 0,
            running: String::new(),
        };
        let (number, moment) = (inner.last, inner.next_moment());
        let session = Open { status, killed: Rc::clone(&killed), why: None, moment };
        inner.open.insert(number, session);
        Session { all: self.clone(), number, killed }
    }

    /// Number of sessions, without those that are about to end.
    pub fn count(&self) -> usize {
        self.0.borrow().open.values().filter(|session| session.why.is_none()).count()
    }

    /// All by number.
    pub fn status(&self) -> Vec<(u32, Status)> {
        let inner = self.0.borrow();
        inner.open.iter().map(|(number, session)| (*number, session.status.clone())).collect()
    }

    /// Ends a session, which prints `why`. False when there is none with this number.
    pub fn kill(&self, number: u32, why: &'static str) -> bool {
        let mut inner = self.0.borrow_mut();
        let found = inner.open.get_mut(&number);
        found.map(|session| session.end(why)).is_some()
    }

    /// Closes the session idle longest; false if all are running commands.
    pub fn kill_idle(&self, why: &'static str) -> bool {
        let mut inner = self.0.borrow_mut();
        let all = inner.open.values_mut();
        let idle = all.filter(|s| s.why.is_none() && s.status.running.is_empty());
        idle.min_by_key(|session| session.moment).map(|session| session.end(why)).is_some()
    }
}

impl Inner {
    fn next_moment(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }
}

impl Open {
    fn end(&mut self, why: &'static str) {
        self.why = Some(why);
        self.killed.notify_one();
    }
}

impl Session {
    /// Notes something about it.
    pub fn change(&self, change: impl FnOnce(&mut Status)) {
        if let Some(session) = self.all.0.borrow_mut().open.get_mut(&self.number) {
            change(&mut session.status);
        }
    }

    /// Reason of its end.
    pub fn why(&self) -> &'static str {
        let inner = self.all.0.borrow();
        inner.open.get(&self.number).and_then(|session| session.why).unwrap_or_default()
    }

    fn be_used(&self) {
        let mut inner = self.all.0.borrow_mut();
        let moment = inner.next_moment();
        if let Some(session) = inner.open.get_mut(&self.number) {
            session.moment = moment;
        }
    }

    /// Notes that a command begins.
    pub fn begin(&self, command: &str) {
        self.be_used();
        self.change(|status| {
            status.commands += 1;
            status.running = command.trim().chars().take(SHOWN).collect();
        });
    }

    /// Notes that the command has ended.
    pub fn finish(&self) {
        self.be_used();
        self.change(|status| status.running.clear());
    }

    /// Notified when the session is to end.
    pub fn killed(&self) -> Rc<Notify> {
        Rc::clone(&self.killed)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.all.0.borrow_mut().open.remove(&self.number);
    }
}

fn write_table(all: &BTreeMap<u32, Status>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(
        f,
        "{:<6}{:<24}{:<12}{:<12}{:<31}{:<10}Command",
        "Id", "Peer", "Dialect", "Terminal", "Since", "Commands"
    )?;
    for (number, s) in all {
        let (since, commands) = (Civil::from_unix(s.since).to_string(), s.commands);
        writeln!(
            f,
            "{number:<6}{:<24}{:<12}{:<12}{since:<31}{commands:<10}{}",
            s.peer, s.dialect, s.terminal, s.running
        )?;
    }
    Ok(())
}

pub(super) fn register<C: 'static>(cli: &mut Cli<C>) {
    let all = cli.sessions.clone();
    cli.values("cli-session", move |_| all.0.borrow().open.keys().map(u32::to_string).collect());
    let all = cli.sessions.clone();
    cli.command(move |_, _: Show| {
        Ok(Output::written(all.status().into_iter().collect(), write_table))
    });
    let all = cli.sessions.clone();
    cli.command(move |_, Kill { session }: Kill| {
        let is_there = all.kill(session, "ended by `kill cli-session'");
        if is_there { Ok(()) } else { Err(Error::new(format!("no session {session}"))) }
    });
}
