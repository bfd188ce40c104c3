//! Access to the stack's state of each thread, for nodes and the control thread.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use graph::{Engine, NoAnswer};
use infra::rcu::{Epoch, Reader};
use infra::table::exact::{Change, ExactReader, Missed};

use super::listeners::Listeners;
use super::worker::Worker;
use crate::control::Policy;

/// Attempts to change the directory while another thread changes it.
const TRIES: usize = 16;

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
            // A panic is caught at the frame.
            Err(TryLockError::Poisoned(lent)) => Some(lent.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
    /// The state of the calling thread; `None` while the layer is disabled.
    #[inline(always)]
    pub fn lend(&self, thread: usize) -> Option<Lent<'_>> {
        self.lock(thread).filter(|part| part.is_some()).map(Lent)
    }
    /// Sets or removes the state of a thread and returns the old one. Call it on the thread itself,
    /// or while it does not run.
    pub fn replace(&self, thread: usize, part: Option<Box<Worker>>) -> Option<Box<Worker>> {
        self.lock(thread).and_then(|mut lent| std::mem::replace(&mut *lent, part))
    }
    /// Listeners.
    #[inline(always)]
    pub fn listeners<'e>(&'e self, epoch: Epoch<'e>) -> &'e Listeners {
        self.0.listeners.read(epoch)
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
                work(&mut worker);
            }
        })
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
        found.sort_by_key(|(thread, _)| *thread);
        Ok(found)
    }
}
