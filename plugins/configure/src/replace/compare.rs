//! From one configuration to the next: what is different, and how to get there.

use std::collections::VecDeque;

use control::cli::{Error, Output};
use control::configuration::Hash;
use net::Router;

use super::patched::hash_of;
use super::{Job, Phase, Purpose, ROUNDS};
use crate::difference::{Difference, Known, Rows, only_in, plan};
use crate::rehearsal::Rehearsal;
use crate::trial::{Script, Trial};

/// Facts about the way from one configuration to another, without the router.
struct Facts {
    known: Known,
    difference: Difference,
    /// Rehearsals that are needed before the work, where that was asked.
    rehearsals: Option<Vec<Rehearsal>>,
    /// Whether nothing is left on the way back but commands that none takes back.
    is_lasting: bool,
    /// The commands of the next round.
    plan: VecDeque<String>,
    /// The hash of the running configuration, where that was asked.
    hash: Option<Hash>,
}

impl Job {
    /// Continues from what is different.
    pub(super) fn compared(
        &mut self,
        router: &mut Router,
        running: Rows,
    ) -> Option<Result<Output, Error>> {
        let known = Known { running, target: self.wanted.clone(), before: self.before.clone() };
        let needed = self.rehearsals.is_none().then_some((self.purpose, self.is_undone));
        let (round, is_hashed) = (self.round + 1, self.patch.is_some() && !self.is_part);
        let facts = move || {
            let goes = only_in(&known.running, &known.target);
            let is_lasting = goes.iter().all(|row| row.undo.is_none())
                && only_in(&known.target, &known.running).is_empty();
            Facts {
                difference: known.difference(),
                rehearsals: needed.map(|needed| rehearsals_of(&known, needed)),
                is_lasting,
                plan: plan(&known, round),
                hash: is_hashed.then(|| hash_of(&known.running)),
                known,
            }
        };
        if self.is_part {
            return self.decide(router, facts());
        }
        self.apart(move || {
            let facts = facts();
            Box::new(move |job, router| job.decide(router, facts))
        })
    }

    fn decide(&mut self, router: &mut Router, facts: Facts) -> Option<Result<Output, Error>> {
        let Facts { known, difference, rehearsals, is_lasting, plan, hash } = facts;
        if let Some(rehearsals) = rehearsals {
            self.rehearsals = Some(rehearsals);
        }
        if let Some(rehearsal) = self.rehearsals.as_mut().and_then(Vec::pop) {
            return self.rehearse(rehearsal);
        }
        let is_there = difference.removed.is_empty() && difference.added.is_empty();
        let is_work = matches!(self.purpose, Purpose::Replace | Purpose::Restore);
        let is_tried = self.round == ROUNDS || self.round > 1 && is_lasting;
        if is_work && !is_there && self.purpose == Purpose::Restore && is_tried {
            let finish = self.finish.take()?;
            let left = Output::text(format!("but {}", difference.left()));
            return Some(finish(router, known).map(|mut output| {
                output.append(left);
                output
            }));
        }
        if !is_work || is_there {
            if let Some(why) = self.back.take() {
                let text = format!("{why}; the configuration is unchanged");
                let has_place = self.places.values().any(|place| text.starts_with(place));
                return Some(Err(if has_place { Error::bare(text) } else { Error::new(text) }));
            }
            let finish = self.finish.take()?;
            self.note_hash(router, &known, hash);
            return Some(finish(router, known));
        }
        let rounds = if self.is_part && self.back.is_none() { 1 } else { ROUNDS };
        if self.round == rounds {
            if let Some(first) = self.back.take() {
                let what = difference.left();
                return Some(Err(Error::new(format!("{first}; and while undoing: {what}"))));
            }
            let refused = self.refused.take();
            self.back = Some(refused.unwrap_or_else(|| self.left(&difference)));
            self.round = 0;
            self.wanted = self.before.clone()?;
            self.collect(router);
            return None;
        }
        self.round += 1;
        self.refused = None;
        self.phase = Phase::Work(plan, None);
        None
    }

    /// Begins a rehearsal.
    fn rehearse(&mut self, rehearsal: Rehearsal) -> Option<Result<Output, Error>> {
        self.apart(move || {
            let script = rehearsal.script();
            Box::new(move |job, router| {
                let begun = script.and_then(|script: Script| Trial::of(router, script));
                match begun {
                    Ok(trial) => {
                        job.phase = Phase::Rehearse(Box::new(trial), rehearsal);
                        None
                    }
                    Err(error) => Some(Err(error)),
                }
            })
        })
    }
}

/// Rehearsals that are needed before the work.
fn rehearsals_of(known: &Known, (purpose, is_undone): (Purpose, bool)) -> Vec<Rehearsal> {
    let Known { running, target, .. } = known;
    let nothing = "nothing has changed";
    let no_way_back = "so this could not be undone, and nothing has changed";
    let is_replaced = purpose == Purpose::Replace;
    let there = is_replaced.then(|| Rehearsal::of(running, target, nothing));
    let back = is_undone.then(|| match is_replaced {
        true => Rehearsal::of(target, running, no_way_back),
        false => Rehearsal::of(running, target, no_way_back),
    });
    there.into_iter().chain(back).flatten().collect()
}
