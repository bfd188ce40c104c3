//! The part of a port that outlives changes of its settings: its thread and its queues.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, TryLockError};

use infra::owner::Owner;

use super::tree::Tree;

/// A port's thread and queues.
pub(super) struct Core {
    /// The thread that it belongs to.
    pub owner: Owner,
    /// Only that thread takes the lock, so it is free; but where another one takes over.
    tree: Mutex<Tree>,
}

impl Core {
    pub fn new(tree: Tree) -> Self {
        Self { owner: Owner::new(None), tree: Mutex::new(tree) }
    }
    /// The queues, for as long as a node works on a frame; `None` while another thread has them.
    #[inline(always)]
    pub fn lend(&self) -> Option<MutexGuard<'_, Tree>> {
        match self.tree.try_lock() {
            Ok(lent) => Some(lent),
            // A panic is caught at the frame; packets are in queues or out of them.
            Err(TryLockError::Poisoned(lent)) => Some(lent.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
    /// The thread that queues packets which `thread` has; `stay` are those that stay.
    #[inline(always)]
    pub fn thread_for(&self, thread: usize, stay: &Range<usize>) -> usize {
        if stay.contains(&thread) {
            return self.owner.claim(thread, |owner| stay.contains(&owner));
        }
        self.owner.thread().filter(|owner| stay.contains(owner)).unwrap_or(thread)
    }
}
