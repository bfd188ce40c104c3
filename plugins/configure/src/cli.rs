//! `save`, `configure check`, `configure replace`, `configure rollback`, `commit`, `show
//! configuration diff`, `show configuration history`.

use std::fs;
use std::path::{Path, PathBuf};

use control::cli::{Step, Task, io_text};
use control::configuration::Collection;
use control::wall::Civil;
use drivers::host::background::Background;
use net::prelude::*;

use crate::confirm::{self, await_confirmation, check_awaited, forget_awaited, words};
use crate::difference::{Difference, Known};
use crate::history::{Revision, text};
use crate::replace::{Finish, Job, Purpose, Target};
use crate::save::{Saved, save_to};
use crate::{Busy, Configure, LOOK, StartupFile};
use crate::{own, own_mut};

/// Largest file of commands in bytes.
const MOST_BYTES: u64 = 1 << 30;
/// Longest time that a commit may wait to be confirmed, in minutes.
const MOST_MINUTES: f64 = 7.0 * 24.0 * 60.0;

/// Save the configuration to a file, atomically.
#[derive(Command)]
#[command("save")]
struct Save {
    /// path of the file; default that of `unix { startup-config FILE }`
    #[positional]
    file: Option<PathBuf>,
}

/// Commands in a file, or between braces, as fvctl sends those of its standard input.
pub(super) enum Commands {
    File(PathBuf),
    Text(String),
}

impl Value for Commands {
    fn take(args: &mut Args<'_>, what: &str) -> Result<Self, Error> {
        Ok(match args.block()? {
            Some(inside) => Self::Text(inside.line().to_owned()),
            None => Self::File(args.value(what)?),
        })
    }
}

impl fmt::Display for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => write!(f, "{}", file.display()),
            Self::Text(_) => f.write_str("standard input"),
        }
    }
}

/// Check a file of commands without applying it.
#[derive(Command)]
#[command("configure check")]
struct Check {
    /// path of the file, or - for the standard input of fvctl
    #[positional]
    #[values("file")]
    file: Commands,
}

/// Replace the configuration with a file by applying the differences; all or nothing.
#[derive(Command)]
#[command("configure replace")]
struct Replace {
    /// path of the file, or - for the standard input of fvctl
    #[positional]
    #[values("file")]
    file: Commands,
    /// minutes until it is rolled back unless confirmed by `commit`
    confirm: Option<f64>,
}

/// Roll back to a committed configuration by applying the differences.
#[derive(Command)]
#[command("configure rollback")]
struct Rollback {
    /// revision in `show configuration history`; 0 is the last commit
    #[positional]
    number: usize,
    /// minutes until it is rolled back unless confirmed by `commit`
    confirm: Option<f64>,
}

/// Commit the running configuration and cancel a pending rollback.
#[derive(Command)]
#[command("commit")]
struct Commit {
    /// comment
    #[rest]
    reason: Option<String>,
}

/// Commit; roll back these and later changes unless confirmed by `commit`.
#[derive(Command)]
#[command("commit confirm")]
struct CommitConfirm {
    /// minutes until rollback
    #[positional]
    minutes: f64,
}

/// Show the differences to another configuration: `-` is removed, `+` is added.
#[derive(Command)]
#[command("show configuration diff")]
struct ShowDiff {
    /// path of a candidate file, - for the standard input of fvctl, or a revision; default 0, the
    /// last commit
    #[positional]
    #[values("file")]
    other: Option<Commands>,
}

/// Show committed configurations.
#[derive(Command)]
#[command("show configuration history")]
struct ShowHistory;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(save).task(check).task(replace).task(rollback).task(commit).task(commit_confirm);
    confirm::register(cli);
    cli.task(diff).command(|router: &mut Router, _: ShowHistory| Ok(history(router)));
}

/// A configuration on its way to a file.
struct Saving {
    busy: Option<Busy>,
    collection: Option<Collection<Router>>,
    file: PathBuf,
    written: Option<Background<std::io::Result<Saved>>>,
}

impl Task<Router> for Saving {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        if let Some(mut collection) = self.collection.take() {
            if collection.advance(router) {
                self.collection = Some(collection);
                return Step::Again;
            }
            let (text, file) = (text(&collection.rows()), self.file.clone());
            self.written = Some(Background::begin(move || save_to(&file, text.as_bytes())));
        }
        let Some(result) = self.written.as_ref().and_then(Background::result) else {
            return Step::Sleep(LOOK);
        };
        self.busy = None;
        let file = self.file.display();
        Step::Done(match result.flatten() {
            Ok(saved) => {
                // The next start has what runs.
                let name = file.to_string();
                router.forget_start(|subject| subject.starts_with(&name));
                out.append(Output::text(format!("saved to {file}")));
                if let Saved::InPlaceOf(old) = saved {
                    let old = old.display();
                    let lost = "comments of the old file are not in the new one";
                    out.append(Output::text(format!("\n{lost}: the old one is {old}")));
                }
                Ok(())
            }
            Err(e) => Err(Error::new(format!("cannot write `{file}': {}", io_text(&e)))),
        })
    }
}

fn save(router: &mut Router, save: Save) -> Result<Box<dyn Task<Router>>, Error> {
    let default = || router.state::<StartupFile>().map(|StartupFile(file)| file.clone());
    let file = save.file.or_else(default).ok_or("no default file: give a path")?;
    let busy = Some(own(router).begin()?);
    let collection = Some(router.collect());
    Ok(Box::new(Saving { busy, collection, file, written: None }))
}

/// The name and the text of a file of commands.
pub(super) fn text_of(commands: Commands) -> Result<(String, String), Error> {
    let name = commands.to_string();
    let file = match commands {
        Commands::File(file) if file == Path::new("-") => {
            return Err("only fvctl has a standard input: `fvctl configure check - <FILE'".into());
        }
        Commands::File(file) => file,
        Commands::Text(text) => return Ok((name, text)),
    };
    let failed = |why: &str| Error::new(format!("cannot read `{name}': {why}"));
    let about = fs::metadata(&file).map_err(|e| failed(&io_text(&e)))?;
    if !about.is_file() {
        return Err(failed("not a regular file"));
    }
    if about.len() > MOST_BYTES {
        return Err(failed("longer than 1 GiB"));
    }
    let text = fs::read_to_string(&file).map_err(|e| failed(&io_text(&e)))?;
    Ok((name, text))
}

fn read(commands: Commands) -> Result<Target, Error> {
    text_of(commands).map(|(name, text)| Target::File(name, text))
}

fn check(router: &mut Router, check: Check) -> Result<Box<dyn Task<Router>>, Error> {
    let finish: Finish = Box::new(|_, known| {
        let Difference { removed, added } = known.difference();
        let (goes, comes, all) = (removed.len(), added.len(), known.target.len());
        Ok(Output::text(format!("{all} commands: {goes} to be removed, {comes} to be added")))
    });
    Job::begin(router, read(check.file)?, Purpose::Look, finish)
}

fn diff(router: &mut Router, diff: ShowDiff) -> Result<Box<dyn Task<Router>>, Error> {
    let number = match diff.other {
        None => None,
        Some(Commands::File(file)) if file.to_string_lossy().parse::<usize>().is_ok() => {
            file.to_string_lossy().parse().ok()
        }
        Some(other) => {
            let finish: Finish = Box::new(|_, known| Ok(Output::of(known.difference())));
            return Job::begin(router, read(other)?, Purpose::Look, finish);
        }
    };
    let is_first = number.is_none() && own(router).history.at(0).is_none();
    let number = number.unwrap_or(0);
    let target = match is_first {
        true => Target::Running,
        false => revision(router, number)?.target(number, cli(router)),
    };
    let finish: Finish = Box::new(move |_, known| {
        // What has changed since: the revision is the older one.
        let Known { running, target, before } = known;
        Ok(Output::of(Known { running: target, target: running, before }.difference()))
    });
    Job::begin(router, target, Purpose::Look, finish)
}

/// All commands.
pub(super) fn cli(router: &Router) -> &Cli<Router> {
    &own(router).cli
}

/// The revision of this number.
fn revision(router: &Router, number: usize) -> Result<&Revision, Error> {
    let history = &own(router).history;
    history.at(number).ok_or_else(|| Error::new(format!("no revision {number}")))
}

pub(super) fn seconds(minutes: Option<f64>) -> Result<Option<f64>, Error> {
    match minutes {
        Some(m) if !(m > 0.0 && m <= MOST_MINUTES) => Err(Error::new(format!(
            "minutes must be more than 0 and at most {MOST_MINUTES}, not \
                {m}"
        ))),
        minutes => Ok(minutes.map(|m| m * 60.0)),
    }
}

fn replace(router: &mut Router, c: Replace) -> Result<Box<dyn Task<Router>>, Error> {
    let confirm = seconds(c.confirm)?;
    check_awaited(router, confirm.is_some(), None)?;
    let reason = format!("replaced by {}", c.file);
    let finish = replaced(reason, confirm, None);
    let job = Job::new(router, read(c.file)?, Purpose::Replace, finish)?;
    Ok(Box::new(job.undone(router, confirm.is_some())))
}

fn rollback(router: &mut Router, c: Rollback) -> Result<Box<dyn Task<Router>>, Error> {
    let confirm = seconds(c.confirm)?;
    check_awaited(router, confirm.is_some(), None)?;
    let revision = revision(router, c.number)?;
    let target = match confirm {
        None => revision.target(c.number, cli(router)),
        // A trial knows which of its commands can be taken back.
        Some(_) => revision.tried(c.number),
    };
    let finish = replaced(format!("rolled back to revision {}", c.number), confirm, None);
    let job = Job::new(router, target, Purpose::Replace, finish)?;
    Ok(Box::new(job.undone(router, confirm.is_some())))
}

/// Consequences of a replacement: revisions of what was and of what is, and the time by which it is
/// to be confirmed.
pub(super) fn replaced(reason: String, confirm: Option<f64>, id: Option<String>) -> Finish {
    Box::new(move |router, known| {
        let base = known.before.unwrap_or_default();
        let history = &mut own_mut(router).history;
        history.push("before the next one", &base);
        let base = history.at(0).cloned();
        history.push(&reason, &known.running);
        // What waits for `commit' already was not confirmed by this: it is undone as well.
        let now = router.now();
        let waits = own(router).awaited.as_ref();
        let waits = waits.map(|awaited| ((awaited.due - now).max(0.0), awaited.base.clone()));
        let awaited = match (confirm, waits) {
            (None, Some(_)) => return Ok(Output::text(WAITS)),
            (Some(seconds), Some((left, base))) => Some((seconds.min(left), base)),
            (confirm, None) => confirm.zip(base),
        };
        let Some((seconds, base)) = awaited else { return Ok(Output::none()) };
        forget_awaited(router);
        Ok(Output::text(await_confirmation(router, seconds, base, id)))
    })
}

/// The answer to a replacement while an earlier change waits.
const WAITS: &str = "an earlier change is unconfirmed: without `commit' this one is undone with it";

fn commit(router: &mut Router, c: Commit) -> Result<Box<dyn Task<Router>>, Error> {
    check_awaited(router, true, None)?;
    let reason = c.reason.unwrap_or_default();
    let finish: Finish = Box::new(move |router, known| {
        let is_confirmed = forget_awaited(router);
        let is_new = own_mut(router).history.push(&reason, &known.running);
        Ok(match (is_confirmed, is_new) {
            (true, _) => Output::text("confirmed"),
            (false, true) => Output::none(),
            (false, false) => Output::text("nothing has changed since the last commit"),
        })
    });
    Job::begin(router, Target::Running, Purpose::Keep, finish)
}

fn commit_confirm(router: &mut Router, c: CommitConfirm) -> Result<Box<dyn Task<Router>>, Error> {
    let Some(seconds) = seconds(Some(c.minutes))? else { return Err("missing minutes".into()) };
    check_awaited(router, true, None)?;
    let state = own(router);
    let awaited = state.awaited.as_ref().map(|awaited| awaited.base.clone());
    let last = state.history.at(0).cloned();
    let base = awaited.or(last).ok_or("no commit to roll back to: use `commit'")?;
    let target = base.target(0, cli(router));
    let finish: Finish = Box::new(move |router, known| {
        forget_awaited(router);
        own_mut(router).history.push("to be confirmed", &known.running);
        Ok(Output::text(await_confirmation(router, seconds, base, None)))
    });
    let job = Job::new(router, target, Purpose::Keep, finish)?;
    Ok(Box::new(job.undone(router, true)))
}

/// Output of `show configuration history`.
#[derive(Serialize)]
struct Shown {
    /// Seconds until the last commit is undone.
    undone_in: Option<f64>,
    /// The command that confirms it.
    confirmed_by: Option<String>,
    revisions: Vec<Revision>,
}

fn history(router: &Router) -> Output {
    let Configure { history, awaited, .. } = own(router);
    let undone_in = awaited.as_ref().map(|awaited| (awaited.due - router.now()).max(0.0));
    let confirmed_by = awaited.as_ref().map(|awaited| words(awaited.id.as_deref()));
    Output::of(Shown {
        undone_in,
        confirmed_by,
        revisions: history.revisions.iter().cloned().collect(),
    })
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(seconds), Some(words)) = (self.undone_in, &self.confirmed_by) {
            writeln!(f, "undone in {seconds:.0} s unless `{words}' confirms it")?;
        }
        for (number, r) in self.revisions.iter().enumerate() {
            let time = Civil::from_unix(Duration::from_secs(r.time)).to_string();
            let commands = r.commands;
            write!(f, "{number:<4}{time:<31}{:<22}{commands:>8} commands  {}", r.origin, r.reason)?;
            if !r.changed_by.is_empty() {
                write!(f, "  (changed by {})", r.changed_by.join(", "))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
