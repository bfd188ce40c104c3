//! From the configuration that there is to another one, by what is different.

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use control::cli::{Cli, Error, Output, Run, Step, Task};
use control::configuration::{Collection, Row};
use drivers::host::background::Background as Work;
use net::Router;
use serde::Serialize;

use crate::history::Revision;
use crate::kept;
use crate::trial::{self, Trial};
use crate::{Configure, LOOK};

/// Attempts to get to a configuration.
const ROUNDS: u32 = 4;
/// Most commands that an error names.
const NAMED: usize = 5;

/// The configuration that is wanted.
pub enum Target {
    /// The one there is.
    Running,
    /// Commands of a file: its name, and what is in it.
    File(String, String),
    /// One that was there.
    Rows(Rc<[Row]>),
}

impl Revision {
    /// It as what is wanted; `number` is its place in the history. One of an earlier start goes
    /// through a trial, as a file does: its words may be other ones today.
    pub fn target(&self, number: usize) -> Target {
        if self.is_earlier {
            return Target::File(format!("revision {number}"), self.text.to_string());
        }
        let row = |(_, command)| Row { feature: "", command, undo: None, secrets: &[] };
        Target::Rows(trial::commands(&self.text).into_iter().map(row).collect())
    }
}

/// Work to be done when both configurations are known.
pub type Finish = Box<dyn FnOnce(&mut Router, Known) -> Result<Output, Error>>;

/// Both configurations.
pub struct Known {
    /// The one there is; after a replacement, the new one.
    pub running: Rc<[Row]>,
    /// The one that was wanted.
    pub target: Rc<[Row]>,
    /// The one there was at the beginning.
    pub before: Option<Rc<[Row]>>,
}

/// Commands that are different.
#[derive(Debug, Default, Serialize)]
pub struct Difference {
    /// Commands that go, in the order in which they stand.
    pub removed: Vec<String>,
    /// Commands that come.
    pub added: Vec<String>,
}

impl Difference {
    /// Differences that remain.
    fn left(&self) -> String {
        let named = |commands: &[String]| {
            let first: Vec<_> = commands.iter().take(NAMED).map(|c| format!("`{c}'")).collect();
            first.join(", ")
        };
        match (self.removed.is_empty(), self.added.is_empty()) {
            (false, true) => format!("no command takes back {}", named(&self.removed)),
            (true, _) => format!("this has no effect: {}", named(&self.added)),
            (false, false) => {
                let (removed, added) = (named(&self.removed), named(&self.added));
                format!("this has no effect: {added}; and no command takes back {removed}")
            }
        }
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.removed.iter().try_for_each(|command| writeln!(f, "- {command}"))?;
        self.added.iter().try_for_each(|command| writeln!(f, "+ {command}"))
    }
}

impl Known {
    /// Commands of the wanted one that are not there, and the other way round.
    pub fn difference(&self) -> Difference {
        let text = |rows: Vec<&Row>| rows.into_iter().map(Row::shown).collect();
        let removed = text(only_in(&self.running, &self.target));
        Difference { removed, added: text(only_in(&self.target, &self.running)) }
    }
}

/// Commands of one configuration that are not in another one.
fn only_in<'a>(rows: &'a [Row], other: &[Row]) -> Vec<&'a Row> {
    let there: HashSet<&str> = other.iter().map(|row| row.command.as_str()).collect();
    rows.iter().filter(|row| !there.contains(row.command.as_str())).collect()
}

enum Phase {
    Collect(Collection<Router>),
    Try(Box<Trial>),
    Work(VecDeque<String>, Option<Run<Router>>),
    /// Waits until the history is on the disk.
    Keep(Work<Result<(), String>>, Result<Output, Error>),
}

/// Compares, and if that is wanted replaces, the configuration.
pub struct Job {
    cli: Cli<Router>,
    phase: Phase,
    target: Option<Target>,
    wanted: Rc<[Row]>,
    /// The configuration at the beginning.
    before: Option<Rc<[Row]>>,
    replaces: bool,
    round: u32,
    refused: Option<String>,
    /// Reason why the way leads back.
    back: Option<String>,
    finish: Option<Finish>,
}

impl Job {
    /// Compares the configuration with `target`, or replaces it by that; then `finish` has its
    /// turn.
    ///
    /// # Errors
    /// The configuration is being replaced or saved already.
    pub fn begin(
        router: &mut Router,
        target: Target,
        replaces: bool,
        finish: Finish,
    ) -> Result<Box<dyn Task<Router>>, Error> {
        Ok(Box::new(Self::new(router, target, replaces, finish)?))
    }

    /// As [`Job::begin`].
    pub fn new(
        router: &mut Router,
        target: Target,
        replaces: bool,
        finish: Finish,
    ) -> Result<Self, Error> {
        let phase = Phase::Collect(Collection::new(router.configured.clone()));
        let state = router.own_mut::<Configure>();
        if std::mem::replace(&mut state.is_busy, true) {
            return Err("the configuration is being replaced or saved already".into());
        }
        Ok(Self {
            cli: state.cli.clone(),
            phase,
            target: Some(target),
            wanted: [].into(),
            before: None,
            replaces,
            round: 0,
            refused: None,
            back: None,
            finish: Some(finish),
        })
    }

    /// A slice of the work; the output when it is done.
    pub fn advance(&mut self, router: &mut Router) -> Option<Result<Output, Error>> {
        let mut done = match &mut self.phase {
            Phase::Keep(work, result) => {
                let kept = work.result()?.map_err(|e| e.to_string()).flatten();
                let mut result = std::mem::replace(result, Ok(Output::none()));
                if let Err(why) = kept {
                    let text = format!("the history is kept in memory only: {why}");
                    router.log.class("configure", "history").warn(&text);
                    if let Ok(output) = &mut result {
                        output.append(Output::text(text));
                    }
                }
                Some(result)
            }
            _ => self.slice(router),
        };
        let state = router.own_mut::<Configure>();
        if done.is_some()
            && let Some(changes) = state.history.kept.changes()
        {
            let work = Work::begin(move || kept::carry_out(changes));
            self.phase = Phase::Keep(work, done.take()?);
        }
        if done.is_some() {
            state.is_busy = false;
        }
        done
    }

    /// Time after which it should be looked at again.
    fn pause(&self) -> Duration {
        if matches!(self.phase, Phase::Keep(..)) { LOOK } else { Duration::ZERO }
    }

    fn slice(&mut self, router: &mut Router) -> Option<Result<Output, Error>> {
        match &mut self.phase {
            Phase::Collect(collection) => {
                if collection.advance(router) {
                    return None;
                }
                let next = Collection::new(Vec::new());
                let rows: Rc<[Row]> = std::mem::replace(collection, next).rows().into();
                self.collected(router, rows)
            }
            Phase::Try(trial) => match trial.step() {
                Ok(None) => None,
                Ok(Some(rows)) => {
                    self.wanted = rows.into();
                    let running = self.before.clone()?;
                    self.compared(router, running)
                }
                Err(error) => Some(Err(error)),
            },
            Phase::Work(commands, run) => {
                let Some(running) = run else {
                    match commands.pop_front() {
                        Some(command) => *run = Some(Run::new(&command)),
                        None => self.collect(router),
                    }
                    return None;
                };
                if let Step::Done(result) = running.step(&self.cli, router, &mut Output::none()) {
                    *run = None;
                    if let Err(error) = result {
                        self.refused.get_or_insert(error.to_string());
                    }
                }
                None
            }
            Phase::Keep(..) => None,
        }
    }

    fn collect(&mut self, router: &Router) {
        self.phase = Phase::Collect(Collection::new(router.configured.clone()));
    }

    /// The configuration that there is, is known.
    fn collected(&mut self, router: &mut Router, rows: Rc<[Row]>) -> Option<Result<Output, Error>> {
        if self.before.is_none() {
            self.before = Some(Rc::clone(&rows));
            match self.target.take() {
                Some(Target::File(name, text)) => {
                    return match Trial::new(router, &[(name, text)], &rows) {
                        Ok(trial) => {
                            self.phase = Phase::Try(Box::new(trial));
                            None
                        }
                        Err(error) => Some(Err(error)),
                    };
                }
                Some(Target::Rows(wanted)) => self.wanted = wanted,
                Some(Target::Running) | None => self.wanted = Rc::clone(&rows),
            }
        }
        self.compared(router, rows)
    }

    /// Goes on from what is different.
    fn compared(
        &mut self,
        router: &mut Router,
        running: Rc<[Row]>,
    ) -> Option<Result<Output, Error>> {
        let known = Known { running, target: Rc::clone(&self.wanted), before: self.before.clone() };
        let difference = known.difference();
        let is_there = difference.removed.is_empty() && difference.added.is_empty();
        if !self.replaces || is_there {
            if let Some(why) = self.back.take() {
                let text = format!("{why}; the configuration is as it was");
                return Some(Err(Error::new(text)));
            }
            let finish = self.finish.take()?;
            return Some(finish(router, known));
        }
        if self.round == ROUNDS {
            if let Some(first) = self.back.take() {
                let what = difference.left();
                return Some(Err(Error::new(format!("{first}; and on the way back {what}"))));
            }
            let refused = self.refused.take();
            self.back = Some(refused.unwrap_or_else(|| difference.left()));
            self.round = 0;
            self.wanted = self.before.clone()?;
            self.collect(router);
            return None;
        }
        self.round += 1;
        self.refused = None;
        self.phase = Phase::Work(plan(&known, self.round, self.back.is_some()), None);
        None
    }
}

/// The commands that lead from one configuration to the other. What can be set anew is not taken
/// back first, unless that was tried already; in later rounds everything behind the first
/// difference is made anew.
///
/// Some commands cannot be taken back: while one is there that has to go, perhaps with what it is
/// about, nothing is added, so that there is a way back. On that way everything is.
fn plan(known: &Known, round: u32, is_back: bool) -> VecDeque<String> {
    let wanted: HashSet<&str> = known.target.iter().map(|row| row.command.as_str()).collect();
    let new = only_in(&known.target, &known.running);
    let set_anew: HashSet<&str> = match round {
        1 => {
            let settings = new.iter().filter_map(|row| row.undo.as_ref());
            settings.filter(|undo| undo.is_setting).map(|undo| undo.command.as_str()).collect()
        }
        _ => HashSet::new(),
    };
    let mut first_gone = false;
    let mut taken_back = Vec::new();
    let mut seen: HashMap<&str, ()> = HashMap::new();
    for row in known.running.iter() {
        let stays = wanted.contains(row.command.as_str());
        first_gone |= !stays;
        let goes = !stays || round > 2 && first_gone;
        let Some(undo) = row.undo.as_ref().filter(|_| goes) else { continue };
        let is_set_anew = undo.is_setting && set_anew.contains(undo.command.as_str());
        if !is_set_anew && seen.insert(&undo.command, ()).is_none() {
            taken_back.push((undo.command.clone(), stays.then(|| row.command.clone())));
        }
    }
    let again: HashSet<String> = taken_back.iter().filter_map(|(_, row)| row.clone()).collect();
    let there: HashSet<&str> = known.running.iter().map(|row| row.command.as_str()).collect();
    let made = known.target.iter().map(|row| &row.command);
    let is_kept = |row: &Row| row.undo.is_none() && !wanted.contains(row.command.as_str());
    let is_blocked = !is_back && known.running.iter().any(is_kept);
    let is_new = |command: &String| !is_blocked && !there.contains(command.as_str());
    let made = made.filter(|command| is_new(command) || again.contains(*command));
    taken_back.iter().rev().map(|(undo, _)| undo.clone()).chain(made.cloned()).collect()
}

impl Task<Router> for Job {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        match self.advance(router) {
            None if self.pause().is_zero() => Step::Again,
            None => Step::Sleep(self.pause()),
            Some(Ok(output)) => {
                out.append(output);
                Step::Done(Ok(()))
            }
            Some(Err(error)) => Step::Done(Err(error)),
        }
    }

    fn cancel(&mut self, router: &mut Router, _: &mut Output) {
        // Half a replacement is none: it is finished, or leads back, in the background. So does
        // what is on its way to the disk.
        let mut rest = Self {
            cli: self.cli.clone(),
            phase: Phase::Collect(Collection::new(router.configured.clone())),
            target: None,
            wanted: self.before.clone().unwrap_or_default(),
            before: self.before.clone(),
            replaces: true,
            round: 0,
            refused: None,
            back: Some("it was stopped".to_owned()),
            finish: None,
        };
        if matches!(self.phase, Phase::Keep(..)) {
            std::mem::swap(&mut rest.phase, &mut self.phase);
            run_in_background(router, rest);
        } else if self.replaces && self.round > 0 {
            run_in_background(router, rest);
        } else {
            router.own_mut::<Configure>().is_busy = false;
        }
    }
}

/// Jobs that nobody waits for.
#[derive(Default)]
struct Background(VecDeque<Job>);

/// Carries out a job between others; what it says is in the log.
pub fn run_in_background(router: &mut Router, job: Job) {
    if router.state::<Background>().is_none() {
        router.insert(Background::default());
    }
    router.own_mut::<Background>().0.push_back(job);
    router.after(0.0, go_on, 0);
}

fn go_on(router: &mut Router, _: u64) {
    let Some(mut job) = router.own_mut::<Background>().0.pop_front() else { return };
    match job.advance(router) {
        None => {
            let pause = job.pause().as_secs_f64();
            router.own_mut::<Background>().0.push_front(job);
            router.after(pause, go_on, 0);
        }
        Some(done) => {
            let log = router.log.class("configure", "background");
            match done {
                Ok(output) => log.notice(output.to_text().trim_end()),
                Err(error) => log.error(error),
            }
        }
    }
}
