//! From the configuration that there is to another one, by what is different.

mod compare;
mod patched;

use std::collections::{HashMap, VecDeque};

use control::cli::{Run, Step, Task};
use control::configuration::{Collection, Row};
use control::origin;
use drivers::host::background::Background as Work;
use net::prelude::*;

use crate::apart::{After, Apart, LARGE, let_go};
use crate::difference::{Known, Rows, rows_of};
use crate::history::Revision;
use crate::kept;
use crate::patch::Patch;
use crate::rehearsal::Rehearsal;
use crate::trial::Trial;
use crate::{Busy, LOOK, Looking};
use crate::{own, own_mut};

/// Attempts to get to a configuration.
const ROUNDS: u32 = 4;

/// The configuration that is wanted.
pub enum Target {
    /// The one there is.
    Running,
    /// Commands of a file: its name, and what is in it.
    File(String, String),
    /// One that was there.
    Rows(Rows),
    /// The one there is with other lines.
    Patched(Patch),
}

impl Revision {
    /// It as what is wanted; `number` is its place in the history. One of an earlier start goes
    /// through a trial, as a file does: its words may be other ones today.
    pub fn target(&self, number: usize, cli: &Cli<Router>) -> Target {
        if self.is_earlier {
            return self.tried(number);
        }
        Target::Rows(rows_of(&self.text, cli))
    }

    /// It as what is wanted, through a trial.
    pub fn tried(&self, number: usize) -> Target {
        Target::File(format!("revision {number}"), self.text.to_string())
    }
}

/// Work to be done when both configurations are known.
pub type Finish = Box<dyn FnOnce(&mut Router, Known) -> Result<Output, Error>>;

/// Intention of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To see what is different.
    Look,
    /// To keep the configuration there is.
    Keep,
    /// To get to the wanted one: all of it, or nothing changes.
    Replace,
    /// To get back to the wanted one as far as that is possible.
    Restore,
}

enum Phase {
    Collect(Collection<Router>),
    /// Looks up the commands that a patch is about.
    Find,
    Try(Box<Trial>),
    /// Tries a patch among these commands, which may not be all.
    TryPatch(Box<Trial>, Vec<Row>, bool),
    /// Collects once more as something may have changed during that trial, with the number of
    /// changes before and the outcome.
    Again(Collection<Router>, u64, Vec<Row>),
    /// Works on whole configurations.
    Apart(Apart),
    /// Commands that nothing takes back by itself: whether they go with others.
    Rehearse(Box<Trial>, Rehearsal),
    Work(VecDeque<String>, Option<(String, Run<Router>)>),
    /// Waits until the history is on the disk.
    Keep(Work<Result<(), kept::Failed>>, Result<Output, Error>),
}

/// The right to do a job.
#[expect(dead_code, reason = "held until the job is done")]
enum Turn {
    Change(Busy),
    Look(Looking),
}

/// Compares, and if that is wanted replaces, the configuration.
pub struct Job {
    cli: Cli<Router>,
    busy: Option<Turn>,
    phase: Phase,
    target: Option<Target>,
    wanted: Rows,
    /// The configuration at the beginning.
    before: Option<Rows>,
    purpose: Purpose,
    patch: Option<Patch>,
    /// Whether only the commands that the patch is about are looked at.
    is_part: bool,
    /// Lines of the patch by command, as errors begin.
    places: HashMap<String, String>,
    /// Number of changes when the work began, and when the configuration was last collected or
    /// changed by this.
    begun: u64,
    seen: u64,
    /// Whether there has to be a way back to the configuration of before, or to the wanted one
    /// where that is not the next one.
    is_undone: bool,
    /// Rehearsals before anything changes, once they are known.
    rehearsals: Option<Vec<Rehearsal>>,
    round: u32,
    /// Times that a trial was of a configuration that others changed meanwhile.
    again: u32,
    refused: Option<String>,
    /// Reason why the way leads back.
    back: Option<String>,
    finish: Option<Finish>,
}

impl Drop for Job {
    fn drop(&mut self) {
        let before = self.before.take();
        if before.as_ref().is_some_and(|rows| rows.len() > LARGE) {
            let_go((before, std::mem::take(&mut self.wanted), std::mem::take(&mut self.places)));
        }
    }
}

impl Job {
    /// Compares the configuration with `target`, or replaces it by that; then `finish` has its
    /// turn.
    ///
    /// # Errors
    /// The configuration is being replaced or saved already, or too many are being compared.
    pub fn begin(
        router: &mut Router,
        target: Target,
        purpose: Purpose,
        finish: Finish,
    ) -> Result<Box<dyn Task<Router>>, Error> {
        Ok(Box::new(Self::new(router, target, purpose, finish)?))
    }

    /// As [`Job::begin`].
    pub fn new(
        router: &mut Router,
        target: Target,
        purpose: Purpose,
        finish: Finish,
    ) -> Result<Self, Error> {
        let mut phase = Phase::Collect(router.collect());
        let state = own(router);
        let turn = match purpose {
            Purpose::Look => Turn::Look(state.look()?),
            Purpose::Restore => Turn::Change(state.begin_due()?),
            _ => Turn::Change(state.begin()?),
        };
        let is_part = matches!(&target, Target::Patched(patch) if patch.is_plain(router));
        if is_part {
            phase = Phase::Find;
        }
        Ok(Self {
            cli: state.cli.clone(),
            busy: Some(turn),
            phase,
            patch: None,
            is_part,
            places: HashMap::new(),
            begun: origin::changes(),
            seen: origin::changes(),
            target: Some(target),
            wanted: Rows::default(),
            before: None,
            purpose,
            is_undone: false,
            rehearsals: None,
            round: 0,
            again: 0,
            refused: None,
            back: None,
            finish: Some(finish),
        })
    }

    /// It where the result can be undone later, which is found out before anything changes.
    pub fn undone(self, router: &Router, is_undone: bool) -> Self {
        let mut job = self;
        job.is_undone = is_undone;
        if is_undone && job.is_part {
            // All of what was comes back, so all of it has to be known.
            job.is_part = false;
            job.collect(router);
        }
        job
    }

    /// A slice of the work; the output when it is done.
    pub fn advance(&mut self, router: &mut Router) -> Option<Result<Output, Error>> {
        let mut done = match &mut self.phase {
            Phase::Keep(work, result) => {
                let kept =
                    work.result()?.unwrap_or_else(|e| Err(kept::Failed::without_changes(&e)));
                let mut result = std::mem::replace(result, Ok(Output::none()));
                if let Err(failed) = kept {
                    let text = kept::failed(router, failed);
                    if let Ok(output) = &mut result {
                        output.append(Output::text(text));
                    }
                }
                self.busy = None;
                return Some(result);
            }
            _ => self.slice(router),
        };
        if done.is_some()
            && self.purpose != Purpose::Look
            && let Some(changes) = own_mut(router).history.kept.changes()
        {
            let work = Work::begin(move || kept::carry_out(changes));
            self.phase = Phase::Keep(work, done.take()?);
        }
        if done.is_some() {
            self.busy = None;
        }
        done
    }

    /// Time after which it should be looked at again.
    fn pause(&self) -> Duration {
        if matches!(self.phase, Phase::Keep(..) | Phase::Apart(_)) { LOOK } else { Duration::ZERO }
    }

    fn slice(&mut self, router: &mut Router) -> Option<Result<Output, Error>> {
        match &mut self.phase {
            Phase::Collect(collection) => {
                if collection.advance(router) {
                    return None;
                }
                let rows = std::mem::replace(collection, router.collect()).rows();
                self.collected(router, Arc::new(rows))
            }
            Phase::Find => self.find(router),
            Phase::TryPatch(trial, ..) => match trial.step().transpose() {
                None => None,
                Some(outcome) => self.tried(outcome),
            },
            Phase::Try(trial) => match trial.step() {
                Ok(None) => None,
                Ok(Some(rows)) => {
                    self.wanted = Arc::new(rows);
                    let running = self.before.clone()?;
                    self.compared(router, running)
                }
                Err(error) => match &mut self.finish {
                    // What was committed comes back as far as it can.
                    Some(_) if matches!(self.purpose, Purpose::Restore | Purpose::Keep) => {
                        let running = self.before.clone()?;
                        self.compared(router, running)
                    }
                    _ => Some(Err(error)),
                },
            },
            Phase::Rehearse(trial, rehearsal) => match trial.step() {
                // The commands are those of a router, so errors are not theirs.
                Ok(None) | Err(_) => None,
                Ok(Some(rows)) => match rehearsal.result(&rows) {
                    Ok(()) => {
                        self.collect(router);
                        None
                    }
                    Err(error) => Some(Err(error)),
                },
            },
            Phase::Work(..) => self.work(router),
            Phase::Again(collection, ..) => match collection.advance(router) {
                true => None,
                false => self.collected_again(router),
            },
            Phase::Apart(work) => match work.result()? {
                Ok(after) => after(self, router),
                Err(error) => Some(Err(Error::new(error.to_string()))),
            },
            Phase::Keep(..) => None,
        }
    }

    /// Runs a command, or a slice of one.
    fn work(&mut self, router: &mut Router) -> Option<Result<Output, Error>> {
        let Phase::Work(commands, run) = &mut self.phase else { return None };
        let Some((command, running)) = run else {
            match commands.pop_front() {
                Some(command) => {
                    let running = Run::new(&command);
                    *run = Some((command, running));
                }
                None => self.collect(router),
            }
            return None;
        };
        let before = origin::changes();
        let step = running.step(&self.cli, router, &mut Output::none());
        self.seen += origin::changes() - before;
        if let Step::Done(result) = step {
            if let Err(error) = result {
                let place = self.places.get(command).map_or("", String::as_str);
                self.refused.get_or_insert_with(|| format!("{place}{error}"));
                if self.is_part {
                    commands.clear();
                }
            }
            *run = None;
        }
        None
    }

    /// Works on a thread of its own.
    fn apart(
        &mut self,
        work: impl FnOnce() -> After + Send + 'static,
    ) -> Option<Result<Output, Error>> {
        self.phase = Phase::Apart(Apart::begin(work));
        None
    }

    fn collect(&mut self, router: &Router) {
        if self.is_part {
            self.phase = Phase::Find;
            return;
        }
        self.seen = origin::changes();
        self.phase = Phase::Collect(router.collect());
    }

    /// The configuration that there is, is known.
    fn collected(&mut self, router: &mut Router, rows: Rows) -> Option<Result<Output, Error>> {
        if self.before.is_none() {
            self.before = Some(Arc::clone(&rows));
            match self.target.take() {
                Some(Target::File(name, text)) => {
                    self.wanted = rows_of(&text, &own(router).cli);
                    return match Trial::new(router, &[(name, text)], &rows) {
                        Ok(trial) => {
                            self.phase = Phase::Try(Box::new(trial));
                            None
                        }
                        Err(error) => Some(Err(error)),
                    };
                }
                Some(Target::Patched(patch)) => return self.patched(router, patch, rows),
                Some(Target::Rows(wanted)) => self.wanted = wanted,
                Some(Target::Running) | None => self.wanted = Arc::clone(&rows),
            }
        }
        // What others have changed meanwhile stays: only the lines of a patch are its own.
        if self.back.is_none()
            && !self.is_part
            && let Some(patch) = self.patch.take()
        {
            let wanted = Arc::clone(&self.wanted);
            return self.apart(move || {
                let wanted = Arc::new(patch.applied(&rows, &wanted));
                Box::new(move |job, router| {
                    (job.wanted, job.patch) = (wanted, Some(patch));
                    job.compared(router, rows)
                })
            });
        }
        self.compared(router, rows)
    }
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
            busy: self.busy.take(),
            phase: if self.is_part { Phase::Find } else { Phase::Collect(router.collect()) },
            target: None,
            wanted: self.before.clone().unwrap_or_default(),
            before: self.before.clone(),
            purpose: Purpose::Replace,
            patch: self.patch.take(),
            is_part: self.is_part,
            places: HashMap::new(),
            begun: self.begun,
            seen: self.seen,
            is_undone: false,
            rehearsals: Some(Vec::new()),
            round: 0,
            again: 0,
            refused: None,
            back: Some("it was stopped".to_owned()),
            finish: None,
        };
        if matches!(self.phase, Phase::Keep(..)) {
            std::mem::swap(&mut rest.phase, &mut self.phase);
            run_in_background(router, rest);
        } else if self.round > 0 {
            run_in_background(router, rest);
        }
    }
}

/// Jobs without a waiting client.
#[derive(Default)]
struct Background(VecDeque<Job>);

/// Runs a job between others; its output is logged.
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
