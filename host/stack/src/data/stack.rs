//! The threads' parts of the stack, in the hands of nodes and of control.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use graph::{Engine, NoAnswer};
use infra::rcu::{Epoch, Reader};
use infra::table::exact::{Change, ExactReader, Missed};

use super::listeners::Listeners;
use super::worker::Worker;
use crate::control::Policy;

/// Tries to enter a session in the directory, while another thread enters one.
const TRIES: usize = 16;

/// State that all threads have, and that of each. Nodes have clones.
#[derive(Clone)]
pub struct Stack(Arc<All>);

struct All {
    /// By thread. Only that thread takes the lock, and control for threads that do not run: so it
    /// is always free. `None` while the layer is off.
    workers: Vec<Mutex<Option<Box<Worker>>>>,
    listeners: Reader<Listeners>,
    directory: ExactReader,
    policy: Policy,
}

/// A thread's part, for as long as a node works on a frame.
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
    /// Of so many threads, none with a part.
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
    /// The part of the thread that asks; `None` while the layer is off.
    #[inline(always)]
    pub fn lend(&self, thread: usize) -> Option<Lent<'_>> {
        self.lock(thread).filter(|part| part.is_some()).map(Lent)
    }
    /// Gives a thread its part, or removes it: the old one. On the thread itself, or while it
    /// does not run.
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
    /// The thread that has the session of a key with this hash.
    pub fn thread_of(&self, hash: u64, epoch: Epoch<'_>) -> Option<usize> {
        (self.0.directory.read(epoch).find(hash) as usize).checked_sub(1)
    }
    /// Notes for all threads which sessions a thread has, and no longer has. What is not noted as
    /// another thread is at it stays for the next time.
    pub fn announce(&self, worker: &mut Worker, epoch: Epoch<'_>) {
        let (view, own) = (self.0.directory.read(epoch), worker.thread as u64 + 1);
        let is_noted = |(hash, is_here): &(u64, bool)| {
            let change = |old: u64| match is_here {
                true => Change::Set(own),
                false if old == own => Change::Remove,
                false => Change::Nothing,
            };
            // What finds no place is found by its own thread alone.
            (0..TRIES).any(|_| view.try_change(*hash, change) != Err(Missed::Busy))
        };
        let done = worker.moves.iter().take_while(|next| is_noted(next)).count();
        worker.moves.drain(..done);
    }
    /// Does `work` on each thread's part, between two of its loops, and waits for it.
    ///
    /// # Errors
    /// When a thread does not answer; others have done it.
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
    /// Results of `look` at each thread's part, by thread.
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
