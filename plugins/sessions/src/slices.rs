//! Work on all sessions of a feature in slices, between which control serves others: strangers
//! decide how many there are.

use std::collections::VecDeque;

use control::api;
use control::cli::{self, Step, Task};
use control::feature::Owner;
use control::process::Wake;
use graph::NoAnswer;
use net::prelude::*;
use zerocopy::FromZeros;

use crate::flow::Key;
use crate::session::Counted;
use crate::shared::{Place, Sessions, Walked};

/// Sessions that are looked at in one turn of control.
pub const SLICE: usize = 2048;
/// Slices of a table with few sessions that are looked at in one turn: it may have had many.
const AT_ONCE: usize = 8;
/// The process of long sweeps.
const PROCESS: &str = "session-sweeps";
/// Sessions of a listing for operators at most; `show session list` has pages.
pub const LISTED: usize = 10_000;

/// Results for some more sessions at each call; `None` at the end.
pub type Slices<T> = Box<dyn FnMut(&mut Router) -> Result<Option<Vec<T>>, NoAnswer>>;

/// Slices of nothing.
pub fn nothing<T>() -> Slices<T> {
    Box::new(|_| Ok(None))
}

/// The slices of several tables, one after the other.
pub fn chain<T: 'static>(parts: impl IntoIterator<Item = Slices<T>>) -> Slices<T> {
    let mut parts: VecDeque<_> = parts.into_iter().collect();
    Box::new(move |router| {
        let Some(part) = parts.front_mut() else { return Ok(None) };
        let found = part(router)?;
        if found.is_none() {
            parts.pop_front();
        }
        Ok(Some(found.unwrap_or_default()))
    })
}

/// Slices whose results are made into other ones.
pub fn map<T: 'static, U>(
    mut slices: Slices<T>,
    mut of: impl FnMut(&Router, T) -> U + 'static,
) -> Slices<U> {
    Box::new(move |router| {
        let found = slices(router)?;
        Ok(found.map(|all| all.into_iter().map(|one| of(router, one)).collect()))
    })
}

/// Rows of a table for [`control::api::Module::dump_some`].
pub type Rows<T> = Box<dyn FnMut(&mut Router, &mut Vec<T>) -> bool>;

/// The slices as rows of a table, which ends where a thread does not answer.
pub fn rows<T: 'static>(mut slices: Slices<T>) -> Rows<T> {
    Box::new(move |router, rows| match slices(router) {
        Ok(Some(found)) => {
            rows.extend(found);
            true
        }
        Ok(None) | Err(_) => false,
    })
}

impl<F: Key, R: Key, D: Copy + FromZeros + Send + 'static> Sessions<F, R, D> {
    /// The results of `judge` for all sessions, as [`walk`](Self::walk), in slices.
    pub fn slices<T: Send + 'static>(
        &self,
        judge: impl Fn(usize, &mut Counted<F, R, D>) -> Walked<T> + Clone + Send + 'static,
    ) -> Slices<T> {
        let (all, mut place) = (self.clone(), Some(Place::default()));
        Box::new(move |router| {
            let Some(from) = place.take() else { return Ok(None) };
            let (found, next) = all.walk_some(router, from, SLICE, judge.clone())?;
            place = next;
            Ok(Some(found))
        })
    }
    /// Ends the sessions that `judge` ends, the first slice at once and the rest in later turns;
    /// `done` has the results of each. Returns the number of results so far.
    ///
    /// # Errors
    /// A thread does not answer.
    pub fn sweep<T: Send + 'static>(
        &self,
        router: &mut Router,
        judge: impl Fn(usize, &mut Counted<F, R, D>) -> Walked<T> + Clone + Send + 'static,
        mut done: impl FnMut(&mut Router, Vec<T>) + 'static,
    ) -> Result<usize, NoAnswer> {
        let mut slices = self.slices(judge);
        // The number of results; `None` at the end.
        let mut step = move |router: &mut Router| -> Result<Option<usize>, NoAnswer> {
            let found = slices(router)?;
            let count = found.as_ref().map(Vec::len);
            if let Some(found) = found {
                done(router, found);
            }
            Ok(count)
        };
        // A small table is done within this call.
        let is_long = self.counts().iter().sum::<u64>() > SLICE as u64;
        let mut count = 0;
        for _ in 0..if is_long { 1 } else { AT_ONCE } {
            match step(router)? {
                Some(more) => count += more,
                None => return Ok(count),
            }
        }
        let Sweeps(all) = router.own_mut();
        // A thread that does not answer keeps what it has.
        let step = Box::new(move |router: &mut Router| matches!(step(router), Ok(Some(_))));
        all.push_back((Owner::current(), step));
        router.processes.signal(PROCESS, 0);
        Ok(count)
    }
}

/// Does some work; whether there is more.
type Sweep = Box<dyn FnMut(&mut Router) -> bool>;

/// Sweeps under way with their owners, the first one at work.
#[derive(Default)]
pub(super) struct Sweeps(VecDeque<(Owner, Sweep)>);

/// Starts the process that does the rest of long sweeps.
pub(super) fn register(router: &mut Router) {
    router.insert(Sweeps::default());
    let body = |router: &mut Router, _| match step(router) {
        true => Wake::After(Duration::ZERO),
        false => Wake::OnEvent,
    };
    router.processes.spawn(PROCESS, Box::new(body));
}

fn step(router: &mut Router) -> bool {
    let Some((owner, mut sweep)) = router.own_mut::<Sweeps>().0.pop_front() else { return false };
    // The tables of a plugin that was unloaded are gone.
    let is_more = owner.is_there() && {
        let _entered = owner.enter();
        sweep(router)
    };
    let Sweeps(all) = router.own_mut();
    if is_more {
        all.push_front((owner, sweep));
    }
    !all.is_empty()
}

/// Makes the result of what was gathered.
type Finish<T, R> = Box<dyn FnOnce(&mut Router, Result<Vec<T>, NoAnswer>) -> R>;

/// Results for all sessions, gathered in slices, from which an answer is made.
pub struct Gather<T, R> {
    slices: Slices<T>,
    found: Vec<T>,
    most: usize,
    finish: Option<Finish<T, R>>,
}

impl<T, R> Gather<T, R> {
    /// Gathers all results.
    pub fn all(
        slices: Slices<T>,
        finish: impl FnOnce(&mut Router, Result<Vec<T>, NoAnswer>) -> R + 'static,
    ) -> Self {
        let (found, most) = (Vec::new(), usize::MAX);
        Self { slices, found, most, finish: Some(Box::new(finish)) }
    }
    /// Gathers the first [`LISTED`] results.
    pub fn first(
        slices: Slices<T>,
        finish: impl FnOnce(&mut Router, Result<Vec<T>, NoAnswer>) -> R + 'static,
    ) -> Self {
        Self { most: LISTED, ..Self::all(slices, finish) }
    }
    /// Gathers a slice; the answer with whether it lacks something, once it is complete.
    fn advance(&mut self, router: &mut Router) -> Option<(R, bool)> {
        let outcome = match (self.slices)(router) {
            Ok(Some(found)) => {
                self.found.extend(found);
                if self.found.len() <= self.most {
                    return None;
                }
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        let is_cut = self.found.len() > self.most;
        self.found.truncate(self.most);
        let found = std::mem::take(&mut self.found);
        let finish = self.finish.take()?;
        Some((finish(router, outcome.map(|()| found)), is_cut))
    }
}

impl<T> Task<Router> for Gather<T, Result<Output, cli::Error>> {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        let Some((answer, is_cut)) = self.advance(router) else { return Step::Again };
        Step::Done(answer.map(|output| {
            out.append(output);
            if is_cut {
                let text = format!("the first {LISTED} only: see `show session list'");
                out.append(Output::text(text));
            }
        }))
    }
}

impl<T, M> api::Task<Router> for Gather<T, Result<M, api::Retval>> {
    type Reply = M;

    fn step(&mut self, router: &mut Router) -> api::Slice<M> {
        self.advance(router).map_or(api::Slice::Again, |(answer, _)| api::Slice::Done(answer))
    }
}
