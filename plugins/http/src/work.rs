//! The work for control: commands and samples of statistics that clients over HTTP ask for.
//!
//! Requests wait in a bounded queue; control is woken by an event. It runs a slice of one command
//! per turn, so that sessions, processes and the binary API get their turns in between.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use control::cli::{Run, Step};
use control::origin;
use net::prelude::*;
use tokio::sync::oneshot;

use crate::sample::{Sample, take as take_sample};

/// Requests that may wait.
const WAITING: usize = 64;
/// Words offered for the end of a line.
const COMPLETED: usize = 50;
/// Longest time a command that waits for a change goes without looking.
const LOOK: Duration = Duration::from_millis(10);

/// There are requests.
#[derive(Clone, Copy)]
struct Asked;

impl Event for Asked {
    const ROOM: usize = WAITING;
}

/// The form of a command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// A request.
enum Ask {
    Command { text: String, origin: String, form: Form, reply: oneshot::Sender<Answer> },
    Sample(oneshot::Sender<Result<Sample, String>>),
    Complete(String, oneshot::Sender<String>),
}

/// The outcome of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Output: text, or JSON.
    pub output: String,
    /// Its number and text, if it failed.
    pub error: Option<(i32, String)>,
}

/// Numbers for `show http`.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections now.
    pub connections: AtomicU64,
    /// Connections so far.
    pub accepted: AtomicU64,
    /// Connections ended to make room, or turned away.
    pub turned_away: AtomicU64,
    /// Requests so far.
    pub requests: AtomicU64,
    /// Requests without the right token.
    pub refused: AtomicU64,
    /// Requests that a page of another origin sent, or that were for another name.
    pub foreign: AtomicU64,
    /// Clients of live statistics now.
    pub live: AtomicU64,
}

/// Adds one.
pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The server's end.
pub struct Link {
    asks: SyncSender<Ask>,
    told: EventSender<Asked>,
}

/// Reasons for no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// Too much waits already.
    Busy,
    /// The router is ending.
    Gone,
}

impl Link {
    /// Runs a command. Dropping the receiver cancels it.
    pub fn command(
        &mut self,
        text: String,
        origin: String,
        form: Form,
    ) -> Result<oneshot::Receiver<Answer>, Unanswered> {
        let (reply, wait) = oneshot::channel();
        self.ask(Ask::Command { text, origin, form, reply })?;
        Ok(wait)
    }

    /// Takes a sample.
    pub fn sample(&mut self) -> Result<oneshot::Receiver<Result<Sample, String>>, Unanswered> {
        let (reply, wait) = oneshot::channel();
        self.ask(Ask::Sample(reply))?;
        Ok(wait)
    }

    /// Asks for the words that may follow in a command, as JSON.
    pub fn complete(&mut self, line: String) -> Result<oneshot::Receiver<String>, Unanswered> {
        let (reply, wait) = oneshot::channel();
        self.ask(Ask::Complete(line, reply))?;
        Ok(wait)
    }

    fn ask(&mut self, ask: Ask) -> Result<(), Unanswered> {
        self.asks.try_send(ask).map_err(|_| Unanswered::Busy)?;
        // A full ring means that control was notified often enough.
        self.told.send(Asked);
        Ok(())
    }
}

/// Control's end.
struct Work {
    cli: Cli<Router>,
    asks: Option<Receiver<Ask>>,
    jobs: VecDeque<Job>,
    /// A turn is due already.
    is_due: bool,
}

/// A running command. Dropping it does not cancel it: [`Job::cancel`] does.
struct Job {
    run: Run<Router>,
    output: Output,
    form: Form,
    origin: Rc<str>,
    reply: oneshot::Sender<Answer>,
    /// Time of its next slice; now without one.
    due: Option<Instant>,
}

impl Job {
    /// Whether a slice is due or the client is gone.
    fn is_ready(&self, now: Instant) -> bool {
        self.due.is_none_or(|due| due <= now) || self.reply.is_closed()
    }

    /// Runs a slice; returns itself if there are more.
    fn step(mut self, cli: &Cli<Router>, router: &mut Router, now: Instant) -> Option<Self> {
        let _entered = origin::enter(&self.origin);
        if self.reply.is_closed() {
            self.run.cancel(router, &mut Output::none());
            return None;
        }
        self.due = match self.run.step(cli, router, &mut self.output) {
            Step::Done(result) => {
                let output = match self.form {
                    Form::Text => self.output.to_text(),
                    Form::Json => self.output.to_json().to_string(),
                };
                let error = result.err().map(|e| (e.code(), e.to_string()));
                // A closed connection needs no answer.
                let _ = self.reply.send(Answer { output, error });
                return None;
            }
            Step::Again => None,
            Step::Sleep(time) => Some(now + time.min(LOOK)),
            Step::Wait => Some(now + LOOK),
        };
        Some(self)
    }
}

pub fn register(parts: &mut Parts) {
    let cli = parts.cli.clone();
    let (asks, jobs, is_due) = (None, VecDeque::new(), false);
    parts.router.insert(Work { cli, asks, jobs, is_due });
    parts.router.events.handle(|router, _: Asked| take(router));
}

/// The end of a server, which is the only one.
pub fn link(router: &mut Router) -> Link {
    let (asks, taken) = sync_channel(WAITING);
    router.own_mut::<Work>().asks = Some(taken);
    Link { asks, told: router.events.sender() }
}

/// Takes requests, and runs a slice of the first command that is due.
fn take(router: &mut Router) {
    let work = router.own_mut::<Work>();
    let asked = work.asks.as_ref().map(|asks| asks.try_iter().collect::<Vec<_>>());
    for ask in asked.unwrap_or_default() {
        match ask {
            Ask::Command { text, origin, form, reply } => {
                let (run, output, origin) = (Run::new(&text), Output::none(), origin.into());
                let job = Job { run, output, form, origin, reply, due: None };
                router.own_mut::<Work>().jobs.push_back(job);
            }
            Ask::Complete(line, reply) => {
                let cli = router.own::<Work>().cli.clone();
                drop(reply.send(words(&cli, router, &line)));
            }
            Ask::Sample(reply) => drop(reply.send(take_sample(router))),
        }
    }
    #[allow(clippy::disallowed_methods, reason = "slices are real time, not router time")]
    let now = Instant::now();
    let work = router.own_mut::<Work>();
    let ready = work.jobs.iter().position(|job| job.is_ready(now));
    if let Some(job) = ready.and_then(|at| work.jobs.remove(at)) {
        let cli = work.cli.clone();
        let left = job.step(&cli, router, now);
        router.own_mut::<Work>().jobs.extend(left);
    }
    let work = router.own_mut::<Work>();
    let next = work.jobs.iter().map(|job| job.due.map_or(0.0, |due| (due - now).as_secs_f64()));
    let next = next.reduce(f64::min);
    if let Some(seconds) = next
        && !std::mem::replace(&mut work.is_due, true)
    {
        router.after(seconds, due, 0);
    }
}

/// Words that may stand where a line ends, with their help.
fn words(cli: &Cli<Router>, router: &Router, line: &str) -> String {
    let found = cli.complete_without_files(router, line).into_iter().take(COMPLETED);
    let word = |c: control::cli::Candidate| serde_json::json!({ "word": c.word, "help": c.help });
    serde_json::Value::from_iter(found.map(word)).to_string()
}

fn due(router: &mut Router, _: u64) {
    router.own_mut::<Work>().is_due = false;
    take(router);
}
