//! A job that applies a patch.

use std::rc::Rc;

use control::cli::{Error, Output};
use control::configuration::{CHANGED, Hash, Row};
use control::origin;
use net::Router;

use super::{Job, Phase, Target};
use crate::Configure;
use crate::difference::{Difference, Known};
use crate::patch::Patch;

impl Job {
    /// Looks up the commands that the patch is about.
    pub(super) fn find(&mut self, router: &mut Router) -> Option<Result<Output, Error>> {
        let patch = match (&self.patch, &self.target) {
            (Some(patch), _) | (None, Some(Target::Patched(patch))) => patch,
            _ => return None,
        };
        match patch.part(router)? {
            Ok(rows) => self.collected(router, rows.into()),
            Err(error) => Some(Err(error)),
        }
    }

    /// Begins to carry a patch out.
    pub(super) fn patched(
        &mut self,
        router: &mut Router,
        mut patch: Patch,
        rows: Rc<[Row]>,
    ) -> Option<Result<Output, Error>> {
        if patch.base().is_some() && !self.is_part {
            let hash = hash_of(&rows);
            router.own_mut::<Configure>().hash = Some((self.seen, hash));
        }
        let hash = router.own::<Configure>().fresh_hash();
        let is_fit = match hash {
            Some(hash) => patch.check_base(hash),
            None if patch.base().is_none() => Ok(()),
            None => Err(changed()),
        };
        if let Err(error) = is_fit.and_then(|()| patch.check(&rows)) {
            return Some(Err(error));
        }
        self.places = patch.places(&rows);
        if self.is_part {
            self.wanted = patch.applied(&rows, &[]).into();
            self.rehearsals = Some(Vec::new());
            self.patch = Some(patch);
            return self.compared(router, rows);
        }
        self.patch = Some(patch);
        self.try_patch(router, true)
    }

    fn try_patch(&mut self, router: &Router, is_reduced: bool) -> Option<Result<Output, Error>> {
        let (patch, running) = (self.patch.as_ref()?, self.before.as_ref()?);
        let context = patch.context(running, is_reduced);
        let is_reduced = context.len() < running.len();
        match patch.trial(router, &context) {
            Ok(trial) => {
                self.phase = Phase::TryPatch(Box::new(trial), context, is_reduced);
                None
            }
            Err(error) => Some(Err(error)),
        }
    }

    /// Goes on from a trial of a patch.
    pub(super) fn tried(
        &mut self,
        router: &mut Router,
        outcome: Result<Vec<Row>, Error>,
    ) -> Option<Result<Output, Error>> {
        let Phase::TryPatch(_, context, is_reduced) = &self.phase else { return None };
        let (patch, running) = (self.patch.as_ref()?, self.before.clone()?);
        let judged = outcome.and_then(|rows| patch.judge(context, &rows).map(|()| rows));
        match judged {
            Err(_) if *is_reduced => self.try_patch(router, false),
            Err(error) => Some(Err(error)),
            // The trial was one of another configuration.
            Ok(_) if self.seen != origin::changes() => Some(Err(changed())),
            Ok(rows) => {
                self.wanted = patch.applied(&running, &rows).into();
                if !self.is_undone {
                    self.rehearsals = Some(Vec::new());
                }
                self.compared(router, running)
            }
        }
    }

    /// The remaining difference, with the line of a patch that it belongs to.
    pub(super) fn left(&self, difference: &Difference) -> String {
        let first = difference.added.iter().find_map(|command| self.places.get(command));
        let place = first.map_or("", String::as_str);
        match difference.removed.first().filter(|_| self.is_part && first.is_some()) {
            Some(made) => format!(
                "{place}is no line of a configuration in these words: the router has `{made}'"
            ),
            None => format!("{place}{}", difference.left()),
        }
    }

    /// Keeps the hash of the configuration that a patch has made.
    pub(super) fn note_hash(&self, router: &mut Router, known: &Known) {
        if self.patch.is_none() {
            return;
        }
        let state = router.own_mut::<Configure>();
        if !self.is_part {
            state.hash = Some((self.seen, hash_of(&known.running)));
        } else if let Some((at, hash)) = state.hash.as_mut().filter(|(at, _)| *at == self.begun) {
            let before = known.before.iter().flat_map(|rows| rows.iter());
            before.for_each(|row| hash.remove(&row.shown()));
            known.running.iter().for_each(|row| hash.add(&row.shown()));
            *at = self.seen;
        }
    }
}

/// The hash of these commands as they are shown.
pub fn hash_of(rows: &[Row]) -> Hash {
    let mut hash = Hash::default();
    rows.iter().for_each(|row| hash.add(&row.shown()));
    hash
}

fn changed() -> Error {
    Error::new(format!("{CHANGED}: try again"))
}
