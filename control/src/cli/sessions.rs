//! Who gives commands now: `show cli-sessions`, `kill cli-session`.

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

/// Show who gives commands.
#[derive(Command)]
#[command("show cli-sessions")]
struct Show;

/// End a session, and what it has under way.
#[derive(Command)]
#[command("kill cli-session")]
struct Kill {
    /// its number, as `show cli-sessions` has it
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
    open: BTreeMap<u32, (Status, Rc<Notify>)>,
}

/// A session as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Where the client is.
    pub peer: String,
    /// How the two sides talk; empty until the client has said so.
    pub dialect: &'static str,
    /// Type of the terminal, empty when unknown.
    pub terminal: String,
    /// When it began: time since 1970-01-01 UTC.
    #[serde(serialize_with = "crate::log::as_seconds")]
    pub since: Duration,
    /// Commands so far.
    pub commands: u64,
    /// What is being carried out; empty when nothing is.
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
        let number = inner.last;
        inner.open.insert(number, (status, Rc::clone(&killed)));
        Session { all: self.clone(), number, killed }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.borrow().open.len()
    }

    /// All by number.
    pub fn status(&self) -> Vec<(u32, Status)> {
        let inner = self.0.borrow();
        inner.open.iter().map(|(number, (status, _))| (*number, status.clone())).collect()
    }

    /// Has a session ended. False when there is none with this number.
    pub fn kill(&self, number: u32) -> bool {
        let inner = self.0.borrow();
        let found = inner.open.get(&number);
        found.inspect(|(_, killed)| killed.notify_one()).is_some()
    }
}

impl Session {
    /// Notes something about it.
    pub fn change(&self, change: impl FnOnce(&mut Status)) {
        if let Some((status, _)) = self.all.0.borrow_mut().open.get_mut(&self.number) {
            change(status);
        }
    }

    /// Notes that a command begins.
    pub fn begin(&self, command: &str) {
        self.change(|status| {
            status.commands += 1;
            status.running = command.trim().chars().take(SHOWN).collect();
        });
    }

    /// Notes that the command has ended.
    pub fn finish(&self) {
        self.change(|status| status.running.clear());
    }

    /// Notified when somebody wants it to end.
    pub fn killed(&self) -> Rc<Notify> {
        Rc::clone(&self.killed)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.all.0.borrow_mut().open.remove(&self.number);
    }
}

/// What `show cli-sessions` prints.
#[derive(Serialize)]
#[serde(transparent)]
struct Table(BTreeMap<u32, Status>);

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<6}{:<24}{:<12}{:<12}{:<31}{:<10}Command",
            "Id", "Peer", "Dialect", "Terminal", "Since", "Commands"
        )?;
        for (number, s) in &self.0 {
            let (since, commands) = (Civil::from_unix(s.since).to_string(), s.commands);
            writeln!(
                f,
                "{number:<6}{:<24}{:<12}{:<12}{since:<31}{commands:<10}{}",
                s.peer, s.dialect, s.terminal, s.running
            )?;
        }
        Ok(())
    }
}

pub(super) fn register<C: 'static>(cli: &mut Cli<C>) {
    let all = cli.sessions.clone();
    cli.values("cli-session", move |_| all.0.borrow().open.keys().map(u32::to_string).collect());
    let all = cli.sessions.clone();
    cli.command(move |_, _: Show| Ok(Output::of(Table(all.status().into_iter().collect()))));
    let all = cli.sessions.clone();
    cli.command(move |_, Kill { session }: Kill| {
        if all.kill(session) { Ok(()) } else { Err(Error::new(format!("no session {session}"))) }
    });
}
