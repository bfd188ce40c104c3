//! A job that applies a patch.

use control::cli::{Error, Output};
use control::configuration::{CHANGED, Hash, Row};
use control::origin;
use net::{Router, prelude::Arc};

use super::{Job, Phase, Target};
use crate::difference::{Difference, Known, Rows};
use crate::patch::Patch;
use crate::trial::Trial;
use crate::{own, own_mut};

/// Times that a patch is tried again as others have changed something meanwhile.
const MOST_AGAIN: u32 = 8;

impl Job {
    /// Looks up the commands that the patch is about.
    pub(super) fn find(&mut self, router: &mut Router) -> Option<Result<Output, Error>> {
        let patch = match (&self.patch, &self.target) {
            (Some(patch), _) | (None, Some(Target::Patched(patch))) => patch,
            _ => return None,
        };
        match patch.part(router)? {
            Ok(rows) => self.collected(router, Arc::new(rows)),
            Err(error) => Some(Err(error)),
        }
    }

    /// Begins to carry a patch out.
    pub(super) fn patched(
        &mut self,
        router: &mut Router,
        mut patch: Patch,
        rows: Rows,
    ) -> Option<Result<Output, Error>> {
        if self.is_part {
            let hash = own(router).fresh_hash();
            let is_fit = match hash {
                Some(hash) => patch.check_base(hash),
                None if patch.base().is_none() => Ok(()),
                None => Err(changed()),
            };
            if let Err(error) = is_fit.and_then(|()| patch.check(&rows)) {
                return Some(Err(error));
            }
            self.places = patch.places(&rows);
            self.wanted = Arc::new(patch.applied(&rows, &[]));
            self.rehearsals = Some(Vec::new());
            self.patch = Some(patch);
            return self.compared(router, rows);
        }
        self.apart(move || {
            let hash = patch.base().map(|_| hash_of(&rows));
            let is_fit = hash.map_or(Ok(()), |hash| patch.check_base(hash));
            let checked = is_fit.and_then(|()| patch.check(&rows));
            let places = patch.places(&rows);
            Box::new(move |job, router| {
                let state = own_mut(router);
                state.hash = hash.map(|hash| (job.seen, hash)).or(state.hash);
                if let Err(error) = checked {
                    return Some(Err(error));
                }
                (job.places, job.patch) = (places, Some(patch));
                job.try_patch(true)
            })
        })
    }

    fn try_patch(&mut self, is_reduced: bool) -> Option<Result<Output, Error>> {
        let (patch, running) = (self.patch.take()?, self.before.clone()?);
        self.apart(move || {
            let context = patch.context(&running, is_reduced);
            let is_reduced = context.len() < running.len();
            let script = patch.script(&context);
            Box::new(move |job, router| {
                job.patch = Some(patch);
                match script.and_then(|script| Trial::of(router, script)) {
                    Ok(trial) => {
                        job.phase = Phase::TryPatch(Box::new(trial), context, is_reduced);
                        None
                    }
                    Err(error) => Some(Err(error)),
                }
            })
        })
    }

    /// Continues from a trial of a patch.
    pub(super) fn tried(
        &mut self,
        outcome: Result<Vec<Row>, Error>,
    ) -> Option<Result<Output, Error>> {
        let Phase::TryPatch(_, context, is_reduced) = &mut self.phase else { return None };
        let (context, is_reduced) = (std::mem::take(context), *is_reduced);
        let patch = self.patch.take()?;
        self.apart(move || {
            let judged = outcome.and_then(|rows| patch.judge(&context, &rows).map(|()| rows));
            drop(context);
            Box::new(move |job, router| {
                job.patch = Some(patch);
                match judged {
                    Err(_) if is_reduced => job.try_patch(false),
                    Err(error) => Some(Err(error)),
                    Ok(rows) if job.seen == origin::changes() => job.adopt(rows),
                    // The trial may have been one of another configuration.
                    Ok(rows) => job.look_again(router, rows),
                }
            })
        })
    }

    /// Collects the configuration once more after the trial.
    fn look_again(&mut self, router: &Router, rows: Vec<Row>) -> Option<Result<Output, Error>> {
        self.again += 1;
        if self.again > MOST_AGAIN {
            return Some(Err(changed()));
        }
        self.phase = Phase::Again(router.collect(), origin::changes(), rows);
        None
    }

    /// Continues once the configuration is known again: with the trial if nothing has changed,
    /// else with a trial of the new one.
    pub(super) fn collected_again(&mut self, router: &mut Router) -> Option<Result<Output, Error>> {
        let Phase::Again(collection, seen, rows) = &mut self.phase else { return None };
        let (seen, rows) = (*seen, std::mem::take(rows));
        if seen != origin::changes() {
            return self.look_again(router, rows);
        }
        let running = Arc::new(std::mem::replace(collection, router.collect()).rows());
        let before = self.before.replace(Arc::clone(&running))?;
        let patch = self.patch.take()?;
        self.seen = seen;
        self.apart(move || {
            let is_same = before == running;
            Box::new(move |job, router| match is_same {
                true if job.seen == origin::changes() => {
                    job.patch = Some(patch);
                    job.adopt(rows)
                }
                true => {
                    job.patch = Some(patch);
                    job.look_again(router, rows)
                }
                false => job.patched(router, patch, running),
            })
        })
    }

    /// Wants what a trial of the patch has led to.
    fn adopt(&mut self, rows: Vec<Row>) -> Option<Result<Output, Error>> {
        let (patch, running) = (self.patch.take()?, self.before.clone()?);
        if !self.is_undone {
            self.rehearsals = Some(Vec::new());
        }
        self.apart(move || {
            let wanted = Arc::new(patch.applied(&running, &rows));
            Box::new(move |job, router| {
                (job.wanted, job.patch) = (wanted, Some(patch));
                job.compared(router, running)
            })
        })
    }

    /// The remaining difference, with the line of a patch that it belongs to.
    pub(super) fn left(&self, difference: &Difference) -> String {
        let first = difference.added.iter().find_map(|command| self.places.get(command));
        let place = first.map_or("", String::as_str);
        match difference.removed.first().filter(|_| self.is_part && first.is_some()) {
            Some(made) => format!(
                "{place}is written differently in the configuration: the router has `{made}'"
            ),
            None => format!("{place}{}", difference.left()),
        }
    }

    /// Keeps the hash of the configuration that a patch has made.
    pub(super) fn note_hash(&self, router: &mut Router, known: &Known, hash: Option<Hash>) {
        if self.patch.is_none() {
            return;
        }
        let state = own_mut(router);
        if !self.is_part {
            state.hash = hash.map(|hash| (self.seen, hash));
        } else if let Some((at, hash)) = state.hash.as_mut().filter(|(at, _)| *at == self.begun) {
            let before = known.before.iter().flat_map(|rows| rows.iter());
            before.for_each(|row| hash.remove(&row.shown()));
            known.running.iter().for_each(|row| hash.add(&row.shown()));
            *at = self.seen;
        }
    }
}

/// The hash of these commands as they are shown.
pub(super) fn hash_of(rows: &[Row]) -> Hash {
    let mut hash = Hash::default();
    rows.iter().for_each(|row| hash.add(&row.shown()));
    hash
}

fn changed() -> Error {
    Error::new(format!("{CHANGED}: try again"))
}
