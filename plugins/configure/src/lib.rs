//! The configuration as a whole: saved, checked, compared, replaced, and taken back.
#![forbid(unsafe_code)]

mod allowed;
mod apart;
mod cli;
mod confirm;
mod difference;
mod health;
mod history;
mod kept;
mod patch;
mod patching;
mod rehearsal;
mod replace;
mod save;
mod trial;

use net::prelude::*;
use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;

use control::configuration::Hash;
use control::{origin, wall};

pub use allowed::makes_configuration;
pub use confirm::go_on_waiting;
pub use health::started;
use history::{Awaited, History};
use kept::{Kept, Unconfirmed};

pub use trial::{Extra, Trial, check, commands};

/// Interval between checks whether a file is on the disk.
const LOOK: Duration = Duration::from_millis(1);
/// Comparisons at a time.
const MOST_LOOKS: usize = 8;

/// The configuration as a whole.
pub const FEATURE: Feature = Feature {
    name: "configure",
    about: "Saves, compares and replaces the configuration",
    origin: Origin::Core,
    default_enabled: true,
    requires: &[],
    register,
    configuration: Configuration::None("it is about the configuration of the others"),
};

/// File that `save` writes when none is named, and that is loaded at start.
#[derive(Clone, Debug)]
pub struct StartupFile(pub PathBuf);

/// State of the feature.
struct Configure {
    /// All commands.
    cli: Cli<Router>,
    history: History,
    /// The commit that is undone unless it is confirmed.
    awaited: Option<Awaited>,
    /// A commit that waited for that when the process before ended.
    unconfirmed: Option<Unconfirmed>,
    /// Name of this run of the router.
    instance: String,
    /// The hash of the configuration, with the number of changes until then.
    hash: Option<(u64, Hash)>,
    /// Patches that wait for their turn.
    waiting: Rc<Cell<usize>>,
    /// Whether the configuration is being replaced or saved: as long as there is a [`Busy`].
    is_busy: Rc<Cell<bool>>,
    /// Whether a commit that was not confirmed is to be undone next.
    is_due: Cell<bool>,
    /// Comparisons under way: one for each [`Looking`].
    looks: Rc<Cell<usize>>,
}

/// The state of the feature.
fn own(router: &Router) -> &Configure {
    router.own()
}

fn own_mut(router: &mut Router) -> &mut Configure {
    router.own_mut()
}

/// The right to replace or save the configuration, which one has at a time. It ends also where a
/// panic unwinds.
struct Busy(Rc<Cell<bool>>);

impl Configure {
    /// The hash of the configuration, unless something may have changed since it was taken.
    fn fresh_hash(&self) -> Option<Hash> {
        self.hash.filter(|(at, _)| *at == origin::changes()).map(|(_, hash)| hash)
    }

    /// Whether a change of the configuration has to wait.
    fn is_taken(&self) -> bool {
        self.is_busy.get() || self.is_due.get()
    }

    fn begin(&self) -> Result<Busy, Error> {
        if self.is_due.get() {
            return Err("a commit that was not confirmed is being undone".into());
        }
        self.begin_due()
    }

    /// As [`begin`](Self::begin), also while a commit is due to be undone.
    fn begin_due(&self) -> Result<Busy, Error> {
        if self.is_busy.replace(true) {
            return Err("the configuration is already being replaced or saved".into());
        }
        Ok(Busy(Rc::clone(&self.is_busy)))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// A comparison. It changes nothing, so changes do not wait for it.
struct Looking(Rc<Cell<usize>>);

impl Configure {
    fn look(&self) -> Result<Looking, Error> {
        if self.looks.get() == MOST_LOOKS {
            return Err("too many configurations are being compared".into());
        }
        self.looks.set(self.looks.get() + 1);
        Ok(Looking(Rc::clone(&self.looks)))
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let cli = parts.cli.clone();
    let (history, awaited, unconfirmed) = (History::default(), None, None);
    let (hash, waiting, is_busy, looks) = (None, Rc::default(), Rc::default(), Rc::default());
    let instance = format!("{}-{}", std::process::id(), wall::now().as_nanos());
    parts.router.insert(Configure {
        cli,
        history,
        awaited,
        unconfirmed,
        instance,
        hash,
        waiting,
        is_busy,
        is_due: Cell::new(false),
        looks,
    });
    health::register(parts.router);
    parts.cli.changes(allowed::may_change);
    cli::register(&mut parts.cli);
    patching::register(&mut parts.cli);
    Ok(())
}

/// Makes the history survive the process, in a folder beside the file that is loaded at start;
/// reads existing revisions. Before any commit.
pub fn resume(router: &mut Router) {
    let Some(StartupFile(file)) = router.state::<StartupFile>() else { return };
    if router.state::<Configure>().is_none() {
        return;
    }
    let mut folder = file.clone().into_os_string();
    folder.push(".history");
    let log = router.log.class("configure", "history");
    let (kept, revisions, unconfirmed) =
        Kept::read(folder.as_ref(), |problem| log.warn(format_args!("not read: {problem}")));
    let state = router.own_mut::<Configure>();
    state.history = History { revisions, kept };
    state.history.trim();
    state.unconfirmed = unconfirmed;
}
