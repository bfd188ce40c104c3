//! Commits that are undone unless they are confirmed.

use std::fs;

use control::cli::{Step, Task};
use drivers::host::background::Background;
use net::prelude::*;

use crate::cli::cli;
use crate::difference::Known;
use crate::history::{Awaited, Revision, text};
use crate::kept;
use crate::replace::{Finish, Job, Purpose, run_in_background};
use crate::{Configure, LOOK, StartupFile};
use crate::{own, own_mut};

/// Seconds between two attempts to undo a commit.
const SOON: f64 = 0.01;
/// Difference of the times that files have from the clock, at most.
const CLOCK_GRAIN: Duration = Duration::from_millis(10);

/// Confirm the change with a name, which cancels its pending rollback.
#[derive(Command)]
#[command("commit id")]
struct CommitId {
    /// name that `configure patch' gave it
    #[positional]
    id: String,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(commit_id);
}

/// Refuses a change while another one waits for its own confirmation: a change with a name is
/// confirmed by that alone.
pub(super) fn check_awaited(router: &Router, waits: bool, id: Option<&str>) -> Result<(), Error> {
    let awaited = own(router).awaited.as_ref();
    match awaited.filter(|_| waits).map(|awaited| awaited.id.as_deref()) {
        Some(other) if other != id => Err(Error::new(waiting(other))),
        _ => Ok(()),
    }
}

fn waiting(id: Option<&str>) -> String {
    format!("an earlier change is unconfirmed: only `{}' confirms it", words(id))
}

/// The command that confirms a change.
pub(super) fn words(id: Option<&str>) -> String {
    id.map_or_else(|| "commit".to_owned(), |id| format!("commit id {id}"))
}

/// Stops the clock of a commit that waits; whether there was one.
pub(super) fn forget_awaited(router: &mut Router) -> bool {
    let state = own_mut(router);
    let Some(awaited) = state.awaited.take() else { return false };
    state.history.kept.confirm();
    router.cancel(awaited.timer);
    true
}

pub(super) fn await_confirmation(
    router: &mut Router,
    seconds: f64,
    base: Revision,
    id: Option<String>,
) -> String {
    let minutes = (seconds / 0.06).round() / 1000.0;
    let commands = base.commands;
    own_mut(router).history.kept.await_confirmation(seconds, &base, id.as_deref());
    let words = words(id.as_deref());
    start_clock(router, seconds, base, id);
    format!(
        "rollback in {minutes} minutes unless confirmed by `{words}': {commands} commands to \
        be undone"
    )
}

fn start_clock(router: &mut Router, seconds: f64, base: Revision, id: Option<String>) {
    let timer = router.after(seconds, not_confirmed, 0);
    let due = router.now() + seconds;
    own_mut(router).awaited = Some(Awaited { timer, due, base, id });
}

/// Restarts the confirmation timer of a commit from before the restart.
pub fn go_on_waiting(router: &mut Router) {
    let unconfirmed = router.state_mut::<Configure>().and_then(|c| c.unconfirmed.take());
    let Some(unconfirmed) = unconfirmed else { return };
    let (seconds, words) = (unconfirmed.left(), words(unconfirmed.id.as_deref()));
    let log = router.log.class("configure", "background");
    log.notice(format_args!(
        "a commit from before the start is unconfirmed: rollback in {seconds:.0} s unless \
            confirmed by `{words}'"
    ));
    start_clock(router, seconds, unconfirmed.base, unconfirmed.id);
}

/// A confirmation on its way to the disk.
struct Confirming(Background<Result<(), kept::Failed>>);

impl Task<Router> for Confirming {
    fn step(&mut self, router: &mut Router, _: &mut Output) -> Step {
        let Some(kept) = self.0.result() else { return Step::Sleep(LOOK) };
        if let Err(failed) = kept.unwrap_or_else(|e| Err(kept::Failed::without_changes(&e))) {
            kept::failed(router, failed);
        }
        Step::Done(Ok(()))
    }
}

fn commit_id(router: &mut Router, c: CommitId) -> Result<Box<dyn Task<Router>>, Error> {
    let state = own(router);
    let waits = state.awaited.as_ref().and_then(|awaited| awaited.id.as_deref());
    if waits != Some(&c.id) || state.is_due.get() {
        return Err(Error::new(format!("no change `{}' waits to be confirmed", c.id)));
    }
    forget_awaited(router);
    let changes = own_mut(router).history.kept.changes().unwrap_or_default();
    Ok(Box::new(Confirming(Background::begin(move || kept::carry_out(changes)))))
}

/// Undoes an unconfirmed commit.
fn not_confirmed(router: &mut Router, _: u64) {
    let Some(awaited) = own_mut(router).awaited.take() else { return };
    let target = awaited.base.target(0, cli(router));
    let base = awaited.base.clone();
    let finish: Finish = Box::new(move |router, known| {
        undo_save(router, &base, &known);
        let Configure { history, .. } = router.own_mut();
        history.push("not confirmed, undone", &known.before.unwrap_or_default());
        history.push("back to what was committed before", &known.running);
        history.kept.confirm();
        Ok(Output::text("the last commit was not confirmed and is undone"))
    });
    let job = Job::new(router, target, Purpose::Restore, finish);
    own(router).is_due.set(job.is_err());
    match job {
        Ok(job) => run_in_background(router, job),
        Err(_) => {
            // Something else is under way: right after that, and before anything else.
            let timer = router.after(SOON, not_confirmed, 0);
            own_mut(router).awaited = Some(Awaited { timer, ..awaited });
        }
    }
}

/// A save since the restored commit is undone in the file as well: it would be loaded at the next
/// start.
fn undo_save(router: &mut Router, base: &Revision, known: &Known) {
    let Some(StartupFile(file)) = router.state::<StartupFile>() else { return };
    let file = file.clone();
    let Ok(saved) = fs::metadata(&file).and_then(|about| about.modified()) else { return };
    let saved = saved.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let committed = Duration::new(base.time, base.millisecond * 1_000_000);
    if saved + CLOCK_GRAIN >= committed {
        let text = text(&known.running);
        own_mut(router).history.kept.write_other(file, text);
    }
}
