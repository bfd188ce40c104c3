//! `configure patch`, `show configuration hash`.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

use control::cli::{Cli, Command, Error, Output, Serialize, Step, Task};
use control::configuration::{Collection, Hash};
use control::origin;
use drivers::host::background::Background;
use net::Router;

use crate::LOOK;
use crate::cli::{Commands, replaced, seconds, text_of};
use crate::confirm::check_awaited;
use crate::patch::{Patch, Reading};
use crate::replace::{Finish, Job, Purpose, Target};
use crate::trial::commands;
use crate::{own, own_mut};

/// Patches that may wait for their turn.
const MOST_WAITING: usize = 16;
/// Bytes of the name of a change.
const MOST_ID: usize = 64;

/// Apply the lines of a file to the configuration, all or none: `+ COMMAND` adds, `- COMMAND`
/// removes.
#[derive(Command)]
#[command("configure patch")]
struct PatchCommand {
    /// path of the file, or - for the standard input of fvctl
    #[positional]
    #[values("file")]
    file: Commands,
    /// hash that the configuration must have, as `show configuration hash` prints it
    #[keyword("if")]
    base: Option<String>,
    /// minutes until it is rolled back unless confirmed by `commit`
    confirm: Option<f64>,
    /// name of the change, which `commit id' confirms it by
    id: Option<String>,
}

/// Show the hash of the configuration, without its secrets.
#[derive(Command)]
#[command("show configuration hash")]
struct ShowHash;

/// A place among the patches that wait.
struct Place(Rc<Cell<usize>>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// A patch, and what comes of it.
struct Patching {
    place: Option<Place>,
    /// The commands of its text, and the patch as far as it was read.
    text: Option<Background<Vec<(usize, String)>>>,
    named: Option<(String, Option<Hash>)>,
    reading: Option<Reading>,
    patch: Option<Patch>,
    confirm: Option<f64>,
    id: Option<String>,
    reason: String,
    job: Option<Job>,
}

/// Output of `configure patch`.
#[derive(Serialize)]
struct Patched {
    removed: usize,
    added: usize,
    /// The hash of the configuration afterwards, if it is known without a look at all of it.
    hash: Option<String>,
    /// When it is rolled back unless it is confirmed.
    confirm: Option<String>,
}

impl fmt::Display for Patched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} removed, {} added", self.removed, self.added)?;
        self.hash.iter().try_for_each(|hash| write!(f, ", hash {hash}"))?;
        self.confirm.iter().try_for_each(|text| write!(f, "\n{text}"))
    }
}

/// Consequences of a patch. One that has to be confirmed makes revisions, as a replacement does.
fn done(counts: [usize; 2], reason: String, confirm: Option<f64>, id: Option<String>) -> Finish {
    let [removed, added] = counts;
    Box::new(move |router, known| {
        let hash = own(router).fresh_hash().map(|hash| hash.to_string());
        let confirm = match confirm {
            None => None,
            Some(_) => {
                let text = replaced(reason, confirm, id)(router, known)?.to_text();
                Some(text.trim().to_owned())
            }
        };
        Ok(Output::of(Patched { removed, added, hash, confirm }))
    })
}

impl Patching {
    /// Reads a part of the patch.
    fn read(&mut self, router: &Router) -> Result<Step, Error> {
        if let Some(reading) = &mut self.reading {
            self.patch = reading.advance(&own(router).cli)?;
            return Ok(Step::Again);
        }
        let Some(commands) = self.text.as_ref().and_then(Background::result) else {
            return Ok(Step::Sleep(LOOK));
        };
        let commands = commands.map_err(|e| Error::new(e.to_string()))?;
        let (name, base) = self.named.take().unwrap_or_default();
        self.reading = Some(Reading::new(name, base, commands));
        Ok(Step::Again)
    }
}

impl Task<Router> for Patching {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        if let Some(job) = &mut self.job {
            return job.step(router, out);
        }
        if self.patch.is_none() {
            return self.read(router).unwrap_or_else(|error| Step::Done(Err(error)));
        }
        if own(router).is_taken() {
            return Step::Sleep(LOOK);
        }
        self.place = None;
        let (waits, id) = (self.confirm.is_some(), self.id.as_deref());
        if let Err(error) = check_awaited(router, waits, id) {
            return Step::Done(Err(error));
        }
        let Some(patch) = self.patch.take() else { return Step::Done(Ok(())) };
        let (reason, id) = (self.reason.clone(), self.id.take());
        let finish = done(patch.counts(), reason, self.confirm, id);
        match Job::new(router, Target::Patched(patch), Purpose::Replace, finish) {
            Ok(job) => {
                self.job = Some(job.undone(router, self.confirm.is_some()));
                Step::Again
            }
            Err(error) => Step::Done(Err(error)),
        }
    }

    fn cancel(&mut self, router: &mut Router, out: &mut Output) {
        if let Some(job) = &mut self.job {
            job.cancel(router, out);
        }
    }
}

fn patch(router: &mut Router, c: PatchCommand) -> Result<Box<dyn Task<Router>>, Error> {
    let confirm = seconds(c.confirm)?;
    if c.id.as_ref().is_some_and(|id| confirm.is_none() || id.len() > MOST_ID) {
        return Err(Error::new(format!("id: needs confirm, and at most {MOST_ID} bytes")));
    }
    let base = c.base.map(|text| text.parse::<Hash>().map_err(|e| Error::new(e.to_string())));
    let base = base.transpose()?;
    let reason = format!("patched by {}", c.file);
    let (name, text) = text_of(c.file)?;
    let waiting = Rc::clone(&own(router).waiting);
    if waiting.get() == MOST_WAITING {
        return Err(Error::new(format!("{MOST_WAITING} patches wait already")));
    }
    waiting.set(waiting.get() + 1);
    Ok(Box::new(Patching {
        place: Some(Place(waiting)),
        text: Some(Background::begin(move || commands(&text))),
        named: Some((name, base)),
        reading: None,
        patch: None,
        confirm,
        id: c.id,
        reason,
        job: None,
    }))
}

/// A configuration whose hash is wanted, with the number of changes before.
struct Hashing(u64, Option<Collection<Router>>);

/// Output of `show configuration hash`.
#[derive(Serialize)]
struct Shown {
    hash: String,
    /// The run of the router: another one after each start.
    instance: String,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.hash)
    }
}

impl Shown {
    fn of(router: &Router, hash: Hash) -> Output {
        let instance = own(router).instance.clone();
        Output::of(Self { hash: hash.to_string(), instance })
    }
}

impl Task<Router> for Hashing {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        let Some(mut collection) = self.1.take() else { return Step::Done(Ok(())) };
        if collection.advance(router) {
            self.1 = Some(collection);
            return Step::Again;
        }
        let hash = collection.hash();
        own_mut(router).hash = Some((self.0, hash));
        out.append(Shown::of(router, hash));
        Step::Done(Ok(()))
    }
}

/// The task of a hash that is known.
struct Known(Hash);

impl Task<Router> for Known {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        out.append(Shown::of(router, self.0));
        Step::Done(Ok(()))
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(patch);
    cli.task(|router: &mut Router, _: ShowHash| {
        Ok(match own(router).fresh_hash() {
            Some(hash) => Box::new(Known(hash)) as Box<dyn Task<Router>>,
            None => {
                let collection = Collection::for_hash(router, |router| &router.configured);
                Box::new(Hashing(origin::changes(), Some(collection)))
            }
        })
    });
}
