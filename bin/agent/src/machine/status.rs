//! The state of a router as others see it.

use super::{Machine, Name};
use crate::desired::Refusal;
use crate::difference::key;
use crate::state::{State, Status};

impl Machine {
    /// The state as others see it.
    pub fn status(&self) -> Status {
        let (state, why, error) = self.state();
        let drift = match state {
            State::Drifted => self.drifted.iter().flat_map(|(_, lines)| lines.clone()).collect(),
            _ => Vec::new(),
        };
        Status {
            state,
            why,
            desired: self.wanted.as_ref().map(|goal| goal.revision),
            applied: self.own.goal.as_ref().map(|goal| goal.revision),
            hash: self.running.as_ref().map(|running| running.hash.clone()),
            error,
            drift,
            store: self.lost.clone(),
        }
    }

    fn state(&self) -> (State, String, Option<Refusal>) {
        let waiting = |why: String| (State::Waiting, why, None);
        if let Name::Other(by) = &self.name {
            return waiting(format!("another agent has this name: {by}"));
        }
        if let Some((_, why)) = &self.gone {
            return waiting(format!("the router does not answer: {why}"));
        }
        if let Some(problem) = &self.problem {
            return (State::Refused, problem.to_string(), Some(problem.clone()));
        }
        if self.is_orphan {
            return waiting("there is no desired state".to_owned());
        }
        if let Some(goal) = &self.wanted {
            if let Err(refusal) = self.fits(goal) {
                return (State::Refused, refusal.to_string(), Some(refusal));
            }
            let failed = self.failed.as_ref().filter(|failed| failed.key == key(goal));
            if let Some(failed) = failed {
                return (State::Refused, failed.refusal.to_string(), Some(failed.refusal.clone()));
            }
        }
        if let Some(failed) = &self.failed
            && self.own.goal.as_ref().is_some_and(|goal| failed.key == key(goal))
        {
            return waiting(failed.refusal.to_string());
        }
        if self.unconfirmed.is_some() {
            return (State::Applying, "waiting for the change to be confirmed".to_owned(), None);
        }
        if self.drifted.is_some() {
            return (State::Drifted, "lines were removed by others".to_owned(), None);
        }
        match self.goal() {
            None => waiting("no desired state is known".to_owned()),
            Some(goal) if self.own.goal.as_ref() == Some(goal) && self.running.is_some() => {
                (State::Converged, String::new(), None)
            }
            Some(_) => (State::Applying, String::new(), None),
        }
    }
}
