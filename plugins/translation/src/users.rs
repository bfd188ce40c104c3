//! Hosts inside, and how many sessions each has.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// A host: its table and address.
pub type Host = (u16, [u8; 4]);

/// Sessions of the hosts of a thread: those that come and go, those of mappings.
pub type Counts = HashMap<Host, [u32; 2]>;

/// The hosts of all threads. A host's sessions are on one thread, which counts them.
#[derive(Clone)]
pub struct Users(Arc<Vec<Mutex<Counts>>>);

impl Users {
    /// None, on so many threads.
    pub fn new(threads: usize) -> Self {
        Self(Arc::new((0..threads).map(|_| Mutex::default()).collect()))
    }
    /// The hosts of the thread that asks. Only that thread takes the lock, and control for threads
    /// that do not run: so it is free whenever somebody wants it.
    pub fn lend(&self, thread: usize) -> Option<MutexGuard<'_, Counts>> {
        match self.0.get(thread)?.try_lock() {
            Ok(lent) => Some(lent),
            Err(TryLockError::Poisoned(lent)) => Some(lent.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
    /// Forgets all hosts.
    pub fn clear(&self) {
        self.0.iter().for_each(|one| one.lock().unwrap_or_else(PoisonError::into_inner).clear());
    }
}

/// Counts a session of a host, of a mapping or not.
pub fn began(users: &mut Counts, host: Host, is_static: bool) {
    users.entry(host).or_default()[usize::from(is_static)] += 1;
}

/// Counts the end of a session of a host. A host without sessions is forgotten.
pub fn ended(users: &mut Counts, host: Host, is_static: bool) {
    if let Some(counts) = users.get_mut(&host) {
        let count = &mut counts[usize::from(is_static)];
        *count = count.saturating_sub(1);
        if *counts == [0, 0] {
            users.remove(&host);
        }
    }
}

/// How many sessions a host has.
pub fn count_of(users: &Counts, host: Host) -> u32 {
    users.get(&host).map_or(0, |counts| counts[0] + counts[1])
}
