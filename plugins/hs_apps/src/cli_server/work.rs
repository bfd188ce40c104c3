//! Commands on the control thread: one at a time, one slice per turn.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use control::cli::{Run, Step};
use control::{HIDDEN, origin};
use http_core::{Response, Ticket};
use net::prelude::*;

use super::CliServer;

/// Limit of queued commands.
const WAITING: usize = 16;
/// Limit of output in bytes.
const MOST_OUTPUT: usize = 1 << 20;
/// Interval for polling a waiting command in seconds.
const LOOK: f64 = 0.01;
/// Show commands that are refused here: they show secrets or the actions of others. Commands that
/// take a file name are refused as well.
const REFUSED: [&str; 4] =
    ["show configuration", "show api trace", "show event-logger", "show cli"];
/// Words that are refused in commands.
const WORDS: [&str; 4] = ["secrets", "file", "filename", "save"];

/// Event: requests are queued.
#[derive(Clone, Copy)]
pub(super) struct Asked;

impl Event for Asked {
    const ROOM: usize = WAITING;
}

/// A request.
pub(super) struct Ask {
    pub(super) command: String,
    pub(super) ticket: Ticket,
}

/// The control thread's side.
pub(super) struct Work {
    cli: Cli<Router>,
    asks: Option<Receiver<Ask>>,
    waiting: VecDeque<Ask>,
    running: Option<Running>,
    /// Whether a turn is already scheduled.
    is_due: bool,
}

/// The running command.
struct Running {
    run: Run<Router>,
    output: Output,
    ticket: Ticket,
}

impl Work {
    pub(super) fn new(cli: Cli<Router>) -> Self {
        Self { cli, asks: None, waiting: VecDeque::new(), running: None, is_due: false }
    }
    /// Replaces the queue by a new one.
    pub(super) fn open(&mut self) -> SyncSender<Ask> {
        let (asks, taken) = sync_channel(WAITING);
        self.asks = Some(taken);
        asks
    }
}

/// Checks whether a command may run, by its resolved path.
fn check(cli: &Cli<Router>, command: &str) -> Result<(), &'static str> {
    let (path, rest) = cli.command_on(command).ok_or("no such command")?;
    if path != "show" && !path.starts_with("show ") {
        return Err("only show commands are run");
    }
    if REFUSED.iter().any(|refused| path.starts_with(refused)) || cli.takes_file(command) {
        return Err("this command is not allowed over HTTP");
    }
    if rest.split_whitespace().any(|word| WORDS.iter().any(|known| known.starts_with(word))) {
        return Err("a word of the command is not allowed over HTTP");
    }
    Ok(())
}

fn take(router: &mut Router) {
    let work = &mut router.own_mut::<CliServer>().work;
    let asked: Vec<_> = work.asks.iter().flat_map(Receiver::try_iter).collect();
    work.waiting.extend(asked);
    if work.running.is_none()
        && let Some(Ask { command, ticket }) = work.waiting.pop_front()
    {
        match check(&work.cli, &command) {
            Ok(()) => {
                let (run, output) = (Run::new(&command), Output::none());
                work.running = Some(Running { run, output, ticket });
            }
            Err(why) => ticket.fill(Response::plain(403, why)),
        }
    }
    let seconds = step(router);
    let work = &mut router.own_mut::<CliServer>().work;
    let is_more = work.running.is_some() || !work.waiting.is_empty();
    if is_more && !std::mem::replace(&mut work.is_due, true) {
        router.after(seconds, due, 0);
    }
}

fn due(router: &mut Router, _: u64) {
    router.own_mut::<CliServer>().work.is_due = false;
    take(router);
}

/// Runs a slice of the current command; returns the time until the next slice.
fn step(router: &mut Router) -> f64 {
    let work = &mut router.own_mut::<CliServer>().work;
    let Some(mut running) = work.running.take() else { return 0.0 };
    let cli = work.cli.clone();
    let _entered = origin::enter(&"http cli server".into());
    if !running.ticket.is_awaited() {
        running.run.cancel(router, &mut Output::none());
        return 0.0;
    }
    let step = running.run.step(&cli, router, &mut running.output);
    let (result, seconds) = match step {
        Step::Done(result) => (Some(result.map_err(|why| why.to_string())), 0.0),
        Step::Again => (None, 0.0),
        Step::Sleep(time) => (None, time.as_secs_f64().min(LOOK)),
        Step::Wait => (None, LOOK),
    };
    let Some(result) = result else {
        router.own_mut::<CliServer>().work.running = Some(running);
        return seconds;
    };
    let text = running.output.to_text();
    running.ticket.fill(match result {
        _ if text.len() > MOST_OUTPUT => Response::plain(500, "the output is too long"),
        _ if text.contains(HIDDEN) => Response::plain(403, "the command shows secrets"),
        Ok(()) => Response::new(200, "text/plain; charset=utf-8", text.into_bytes()),
        Err(why) => Response::plain(400, &why),
    });
    seconds
}

pub(super) fn register(router: &mut Router) {
    router.events.handle(|router: &mut Router, _: Asked| take(router));
}
