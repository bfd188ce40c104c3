//! Hosts inside, and the sessions of each.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use graph::Engine;
use graph::explain::Copied;
use sessions::{Flow4, SessionIndex};

use crate::session::NatTable;

/// Sessions that are compared when the oldest is looked for.
const COMPARED: usize = 8;

/// A host: its table and address.
pub type Host = (u16, [u8; 4]);

/// State of a host.
#[derive(Clone, Debug, Default)]
pub struct User {
    /// Dynamic sessions.
    pub dynamic: u32,
    /// Sessions of static mappings.
    pub fixed: u32,
    /// Flows of those that come and go, more or less in the order of their age; some have ended.
    queue: VecDeque<Flow4>,
}

/// The hosts of a thread.
pub type Counts = HashMap<Host, User>;

/// The hosts of all threads. A host's sessions are on one thread, which counts them.
#[derive(Clone)]
pub struct Users {
    all: Arc<Vec<Mutex<Counts>>>,
    /// Those of all threads, for explanations of packets.
    copy: Arc<Copied<Counts>>,
}

impl Users {
    /// Creates the state without hosts, for the given number of threads.
    pub fn new(threads: usize) -> Self {
        let all = Arc::new((0..threads).map(|_| Mutex::default()).collect());
        Self { all, copy: Arc::new(Copied::new(Counts::new())) }
    }
    /// The hosts of the calling thread. Only that thread takes the lock, and the control thread
    /// while that thread does not run: so the lock is always free. For a packet that is only
    /// explained, which is on no thread, this is a copy with the hosts of all threads.
    #[inline]
    pub fn lend(&self, thread: usize) -> Option<MutexGuard<'_, Counts>> {
        let Some(counts) = self.all.get(thread) else { return self.lend_copy() };
        match counts.try_lock() {
            Ok(lent) => Some(lent),
            Err(TryLockError::Poisoned(lent)) => Some(lent.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
    #[cold]
    fn lend_copy(&self) -> Option<MutexGuard<'_, Counts>> {
        let users = self.clone();
        self.copy.lend(move |engine| users.copy(engine))
    }
    fn copy(&self, engine: &mut Engine) -> Option<Counts> {
        let (users, all) = (self.clone(), Arc::new(Mutex::new(Counts::new())));
        let sum = Arc::clone(&all);
        let visit = move |thread| {
            if let Some(counts) = users.lend(thread) {
                let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                sum.extend(counts.iter().map(|(host, user)| (*host, user.clone())));
            }
        };
        engine.on_threads(visit).ok()?;
        Some(std::mem::take(&mut *all.lock().unwrap_or_else(PoisonError::into_inner)))
    }
    /// Forgets all hosts.
    pub fn clear(&self) {
        self.all.iter().for_each(|one| one.lock().unwrap_or_else(PoisonError::into_inner).clear());
    }
}

/// Counts a session of a host, of a mapping or not.
pub fn began(users: &mut Counts, host: Host, is_static: bool) {
    let user = users.entry(host).or_default();
    *(if is_static { &mut user.fixed } else { &mut user.dynamic }) += 1;
}

/// Counts a session moved from another thread, after those that began before it.
pub fn came(users: &mut Counts, host: Host, is_static: bool, flow: Flow4) {
    began(users, host, is_static);
    if !is_static && let Some(user) = users.get_mut(&host) {
        user.queue.push_back(flow);
    }
}

/// Counts the end of a session of a host. A host without sessions is forgotten.
pub fn ended(users: &mut Counts, host: Host, is_static: bool) {
    if let Some(user) = users.get_mut(&host) {
        let count = if is_static { &mut user.fixed } else { &mut user.dynamic };
        *count = count.saturating_sub(1);
        if user.fixed + user.dynamic == 0 {
            users.remove(&host);
        }
    }
}

/// Number of sessions of a host.
pub fn count_of(users: &Counts, host: Host) -> u32 {
    users.get(&host).map_or(0, |user| user.dynamic + user.fixed)
}

/// Notes the flow of a new dynamic session, for [`oldest`]. The flows of sessions that have ended
/// are at most as many as the host has sessions.
pub fn queue(users: &mut Counts, host: Host, flow: Flow4, table: &NatTable) {
    let Some(user) = users.get_mut(&host) else { return };
    if user.queue.len() >= (user.dynamic as usize).saturating_mul(2).max(COMPARED) {
        user.queue.retain(|flow| table.find(flow).is_some());
    }
    user.queue.push_back(flow);
}

/// The session of a host that was silent longest, of the few that began first.
pub fn oldest(users: &mut Counts, host: Host, table: &NatTable) -> Option<SessionIndex> {
    let queue = &mut users.get_mut(&host)?.queue;
    let mut found: Vec<(Flow4, SessionIndex, f64)> = Vec::new();
    while found.len() < COMPARED
        && let Some(flow) = queue.pop_front()
    {
        let session = table.find(&flow).and_then(|at| Some((at, table.at(at)?.heard())));
        found.extend(session.map(|(at, heard)| (flow, at, heard)));
    }
    let oldest = (0..found.len()).reduce(|a, b| if found[b].2 < found[a].2 { b } else { a })?;
    let (_, at, _) = found.remove(oldest);
    // Those that began first stay in front.
    found.iter().rev().for_each(|(flow, ..)| queue.push_front(*flow));
    Some(at)
}
