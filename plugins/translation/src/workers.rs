//! The workers that have the sessions of a kind of NAT: all, unless an operator chose some.

use std::str::FromStr;

use control::config::CpuList;
use graph::ThreadInfo;
use net::prelude::*;

use crate::error::Error;
use crate::state::{Kind, Nat};

/// The threads that have sessions; none are named while all have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workers(Vec<usize>);

impl Workers {
    /// All threads.
    pub const ALL: &'static Self = &Self(Vec::new());

    /// The threads that are named.
    #[inline(always)]
    pub fn named(&self) -> &[usize] {
        &self.0
    }
    /// The threads that have sessions, of those that run.
    pub fn of(&self, running: Range<usize>) -> Vec<usize> {
        if self.0.is_empty() { running.collect() } else { self.0.clone() }
    }
    /// Forgets threads that do not stay, and all when only one does.
    fn keep(&mut self, stay: &Range<usize>) {
        self.0.retain(|thread| stay.contains(thread) && stay.len() > 1);
    }
}

/// Numbers of workers, from 0 on, as `0-2,5`; `all` for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerList(pub Vec<usize>);

impl fmt::Display for WorkerList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("all"),
            some => CpuList(some.iter().map(|worker| *worker as u32).collect()).fmt(f),
        }
    }
}

impl FromStr for WorkerList {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "all" {
            return Ok(Self::default());
        }
        let CpuList(workers) = text.parse()?;
        Ok(Self(workers.into_iter().map(|worker| worker as usize).collect()))
    }
}

impl<K: Kind> Nat<K> {
    /// Spreads sessions over some workers, or all when none are named. Sessions go over to the
    /// worker that has their packets from now on, while nothing is received.
    ///
    /// # Errors
    /// [`Error::FewWorkers`], [`Error::NoWorker`], [`Error::NoAnswer`].
    pub fn set_workers(router: &mut Router, workers: &WorkerList) -> Result<(), Error> {
        let running = router.engine.data_threads();
        let is_worker = |thread: &usize| *thread > 0 && running.contains(thread);
        let mut threads: Vec<_> = workers.0.iter().map(|worker| worker + 1).collect();
        threads.sort_unstable();
        if !threads.is_empty() && running.clone().filter(is_worker).count() < 2 {
            return Err(Error::FewWorkers);
        }
        if let Some(thread) = threads.iter().find(|thread| !is_worker(thread)) {
            return Err(Error::NoWorker(thread - 1));
        }
        if router.own::<Self>().workers.0 == threads {
            return Ok(());
        }
        let held = router.engine.hold_inputs(true).map_err(|_| Error::NoAnswer);
        let done = held.and_then(|()| {
            router.own_mut::<Self>().workers = Workers(threads);
            K::go_over(router, &running).map_err(|_| Error::NoAnswer)
        });
        let freed = router.engine.hold_inputs(false).map_err(|_| Error::NoAnswer);
        done.and(freed)
    }
    /// The same for a bit for each worker.
    ///
    /// # Errors
    /// As [`Nat::set_workers`], and [`Error::NoWorkers`].
    pub fn set_worker_mask(router: &mut Router, mask: u64) -> Result<(), Error> {
        let workers: Vec<_> = (0..64).filter(|worker| mask >> worker & 1 == 1).collect();
        match workers.is_empty() {
            true => Err(Error::NoWorkers),
            false => Self::set_workers(router, &WorkerList(workers)),
        }
    }
    /// The workers that were chosen; none when all have sessions.
    pub fn workers(router: &Router) -> WorkerList {
        let threads = router.own::<Self>().workers.named();
        WorkerList(threads.iter().map(|thread| thread - 1).collect())
    }
    /// The workers that have sessions.
    pub fn worker_infos(router: &Router) -> Vec<ThreadInfo> {
        let has_sessions = router.own::<Self>().workers.of(router.engine.data_threads());
        let all = router.engine.thread_infos().into_iter();
        all.filter(|thread| thread.id > 0 && has_sessions.contains(&thread.id)).collect()
    }
    /// The threads that have sessions, of those that stay; others are forgotten.
    pub(crate) fn threads_of(router: &mut Router, stay: &Range<usize>) -> Vec<usize> {
        let workers = &mut router.own_mut::<Self>().workers;
        workers.keep(stay);
        workers.of(stay.clone())
    }
}
