//! Access to the stack's state of each thread, for nodes and the control thread.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use graph::{Engine, NoAnswer};
use infra::order::Order;
use infra::rcu::{Epoch, Reader};
use infra::table::exact::{Change, ExactReader, Missed};
use net::fib::TableIndex;

use super::connecting::ruled;
use super::endpoint::Transport;
use super::key::Key;
use super::listeners::{Listener, Listeners};
use super::worker::{SESSIONS, Worker};
use crate::control::Policy;
use crate::control::published::{Flow, Verdict};

/// Attempts to change the directory while another thread changes it.
const TRIES: usize = 16;

/// Sessions that a thread processes for the control thread between two of its loops.
const SLICE: usize = 512;

/// State shared by all threads, and the state of each thread. Nodes have clones.
#[derive(Clone)]
pub struct Stack(Arc<All>);

struct All {
    /// State by thread. Only that thread takes the lock, or the control thread while that thread
    /// does not run, so the lock is always free. `None` while the layer is disabled.
    workers: Vec<Mutex<Option<Box<Worker>>>>,
    listeners: Reader<Listeners>,
    directory: ExactReader,
    policy: Policy,
}

/// A rule forbids it.
#[derive(Clone, Copy, Debug)]
pub struct Filtered;

/// Borrow of a thread's state, for one call of a node.
pub struct Lent<'t>(MutexGuard<'t, Option<Box<Worker>>>);

impl Deref for Lent<'_> {
    type Target = Worker;
    #[inline(always)]
    fn deref(&self) -> &Worker {
        self.0.as_deref().expect("lent where there is one")
    }
}

impl DerefMut for Lent<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Worker {
        self.0.as_deref_mut().expect("lent where there is one")
    }
}

impl Stack {
    /// Creates it for the given number of threads, without their states.
    pub fn new(
        threads: usize,
        listeners: Reader<Listeners>,
        directory: ExactReader,
        policy: Policy,
    ) -> Self {
        let workers = (0..threads).map(|_| Mutex::new(None)).collect();
        Self(Arc::new(All { workers, listeners, directory, policy }))
    }
    fn lock(&self, thread: usize) -> Option<MutexGuard<'_, Option<Box<Worker>>>> {
        match self.0.workers.get(thread)?.try_lock() {
            Ok(lent) => Some(lent),
            Err(TryLockError::Poisoned(lent)) => Some(lent.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
    /// The state of the calling thread; `None` while the layer is disabled, and after a panic of a
    /// node that had borrowed it (`fence`).
    #[inline(always)]
    pub fn lend(&self, thread: usize) -> Option<Lent<'_>> {
        let lent = match self.0.workers.get(thread)?.try_lock() {
            Ok(lent) => lent,
            Err(TryLockError::Poisoned(lent)) => self.unfence(thread, lent.into_inner())?,
            Err(TryLockError::WouldBlock) => return None,
        };
        lent.is_some().then_some(Lent(lent))
    }
    /// The state after a panic, if an application panicked.
    #[cold]
    fn unfence<'t>(
        &self,
        thread: usize,
        mut lent: MutexGuard<'t, Option<Box<Worker>>>,
    ) -> Option<MutexGuard<'t, Option<Box<Worker>>>> {
        if !std::mem::take(&mut lent.as_mut()?.is_panic_of_application) {
            return None;
        }
        self.0.workers[thread].clear_poison();
        Some(lent)
    }
    /// Whether the state of a thread is not used any more, because a node panicked with it.
    pub fn is_fenced(&self, thread: usize) -> bool {
        let is_of_application = |lent: &MutexGuard<'_, Option<Box<Worker>>>| {
            lent.as_ref().is_none_or(|worker| worker.is_panic_of_application)
        };
        self.0.workers.get(thread).is_some_and(Mutex::is_poisoned)
            && !self.lock(thread).is_some_and(|lent| is_of_application(&lent))
    }
    /// Sets or removes the state of a thread and returns the old one. Call it on the thread itself,
    /// or while it does not run.
    pub fn replace(&self, thread: usize, part: Option<Box<Worker>>) -> Option<Box<Worker>> {
        let mut lent = self.lock(thread)?;
        let old = std::mem::replace(&mut *lent, part);
        self.0.workers[thread].clear_poison();
        old
    }
    /// Listeners.
    #[inline(always)]
    pub fn listeners<'e>(&'e self, epoch: Epoch<'e>) -> &'e Listeners {
        self.0.listeners.read(epoch)
    }
    /// The listener for a packet without a session.
    ///
    /// # Errors
    /// A rule forbids the session.
    pub fn listener_for<'e>(
        &'e self,
        transport: Transport,
        key: &Key,
        epoch: Epoch<'e>,
    ) -> Result<Option<&'e Listener>, Filtered> {
        let (local, peer) = (key.local(), key.peer());
        let listeners = self.listeners(epoch);
        let found = listeners.find(transport, key.fib(), local.ip(), local.port());
        let flow = Flow { transport: ruled(transport), local, remote: peer };
        match self.policy().arriving(TableIndex(key.fib()), &flow, epoch) {
            Verdict::Drop => Err(Filtered),
            Verdict::Redirect(app) => Ok(listeners.of_app(transport, app).or(found)),
            Verdict::Allow | Verdict::Unsaid => Ok(found),
        }
    }
    /// Namespaces, filters and settings.
    #[inline(always)]
    pub fn policy(&self) -> &Policy {
        &self.0.policy
    }
    /// The thread of the session with this key hash.
    pub fn thread_of(&self, hash: u64, epoch: Epoch<'_>) -> Option<usize> {
        (self.0.directory.read(epoch).find(hash) as usize).checked_sub(1)
    }
    /// Updates the directory with sessions that a thread has added or removed. Changes that fail
    /// because another thread is writing are kept for the next time.
    pub fn announce(&self, worker: &mut Worker, epoch: Epoch<'_>) {
        let (view, own) = (self.0.directory.read(epoch), worker.thread as u64 + 1);
        let is_noted = |(hash, is_here): &(u64, bool)| {
            let change = |old: u64| match is_here {
                true => Change::Set(own),
                false if old == own => Change::Remove,
                false => Change::Nothing,
            };
            // A session that does not fit into the directory is found by its own thread only.
            (0..TRIES).any(|_| view.try_change(*hash, change) != Err(Missed::Busy))
        };
        let done = worker.moves.iter().take_while(|next| is_noted(next)).count();
        worker.moves.drain(..done);
    }
    /// Runs `work` on each thread's state, between two of its loops, and waits for it.
    ///
    /// # Errors
    /// A thread does not answer; the others have done it.
    pub fn visit(
        &self,
        engine: &mut Engine,
        work: impl Fn(&mut Worker) + Clone + Send + 'static,
    ) -> Result<(), NoAnswer> {
        let all = self.clone();
        engine.on_threads(move |thread| {
            if let Some(mut worker) = all.lend(thread) {
                #[cfg(test)]
                let begun = thread_time();
                work(&mut worker);
                #[cfg(test)]
                (worker.longest = worker.longest.max(thread_time().saturating_sub(begun)));
            }
        })
    }
    /// Runs `work` on the sessions of each thread, [`SLICE`] of them between two of its loops, and
    /// waits for it. Free entries are included; sessions that begin meanwhile may be left out.
    ///
    /// # Errors
    /// A thread does not answer; other sessions have been processed.
    pub fn sweep(
        &self,
        engine: &mut Engine,
        work: impl Fn(&mut Worker, u32) + Clone + Send + 'static,
    ) -> Result<(), NoAnswer> {
        for begin in (0..SESSIONS).step_by(SLICE) {
            let work = work.clone();
            let slices = self.ask(engine, move |worker| {
                let end = worker.sessions.len().min(begin + SLICE);
                (begin..end).for_each(|index| work(worker, index as u32));
                worker.sessions.len() > end
            })?;
            if slices.iter().all(|(_, is_more)| !is_more) {
                break;
            }
        }
        Ok(())
    }
    /// Runs `look` on each thread's state and returns the results by thread.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn ask<T: Send + 'static>(
        &self,
        engine: &mut Engine,
        look: impl Fn(&mut Worker) -> T + Clone + Send + 'static,
    ) -> Result<Vec<(usize, T)>, NoAnswer> {
        let found = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&found);
        self.visit(engine, move |worker| {
            let seen = (worker.thread, look(worker));
            to.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
        })?;
        let mut found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        found.order_by_key(|(thread, _)| *thread);
        Ok(found)
    }
}

/// Processor time of the calling thread.
#[cfg(test)]
fn thread_time() -> std::time::Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    std::time::Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
