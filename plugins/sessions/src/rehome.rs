//! Sessions and other threads: when the number of threads changes, each session goes over to the
//! thread that has it from then on.
//!
//! The thread of a packet follows from its hash. Where the directions of a session have hashes of
//! their own, a port was chosen so that both lead to one thread, and with another number of threads
//! they need not: the session is where its first direction leads, and the others are [`Strays`].
//! Strays are identified by all common fields of their packets, not by the hash alone, which may be
//! that of many sessions. They stay until the threads change again.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use graph::NoAnswer;
use net::prelude::*;
use zerocopy::FromZeros;

use crate::flow::Key;
use crate::session::Counted;
use crate::shared::{Sessions, Walked};

/// Sessions that a thread takes over in one visit.
const TAKEN: usize = 1 << 16;

/// The affinity of packets to the thread that has their session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affinity {
    /// A hash of all that they have in common: it tells them from packets of other sessions.
    flow: u64,
    /// The hash that says which thread they go to.
    hash: u64,
    /// Whether they may go by another hash as well.
    is_unsure: bool,
}

impl Affinity {
    /// Of packets that go by a hash of all that they have in common.
    #[inline(always)]
    pub fn of(hash: u64) -> Self {
        Self::new(hash, hash)
    }
    /// Of packets that have `flow` in common and go by `hash`.
    #[inline(always)]
    pub fn new(flow: u64, hash: u64) -> Self {
        Self { flow, hash, is_unsure: false }
    }
    /// The hash that says which thread packets go to.
    #[inline(always)]
    pub fn hash(self) -> u64 {
        self.hash
    }
    /// The same where it depends on more than the session which hash packets go by.
    #[must_use]
    pub fn unsure(self) -> Self {
        Self { is_unsure: true, ..self }
    }
}

/// Flows whose session is on another thread than their hash says.
#[derive(Clone, Debug, Default)]
pub struct Strays(HashMap<u64, usize, BuildHasherDefault<AsItIs>>);

impl Strays {
    /// The thread that has the session of packets, of those that `at` chooses from.
    #[inline(always)]
    pub fn thread(&self, affinity: Affinity, at: impl FnOnce(u64) -> usize) -> usize {
        if self.0.is_empty() {
            return at(affinity.hash);
        }
        self.0.get(&affinity.flow).copied().unwrap_or_else(|| at(affinity.hash))
    }
    /// Number of flows.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Keys that are hashes already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.0 = self.0.rotate_left(8) ^ u64::from(*b));
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

/// A step of a session that goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The thread does not have it any more.
    Left,
    /// The thread has it.
    Came,
}

/// Sessions for which there was no room on a thread, or that made room for others.
pub type Lost<F, R, D> = Vec<(usize, Counted<F, R, D>)>;

impl<F: Key, R: Key, D: Copy + FromZeros + Send + Sync + 'static> Sessions<F, R, D> {
    /// Flows whose session is on another thread than their hash says. Once a frame.
    #[inline(always)]
    pub fn strays<'e>(&'e self, epoch: Epoch<'e>) -> &'e Strays {
        self.strays_reader().read(epoch)
    }
    /// Moves each session to the thread, of those that stay, of its packets: the first of its
    /// `affinities` leads there, and the others do from then on. `step` is called on the thread
    /// that a session leaves or enters. Nothing may be received meanwhile (`Router::set_threads`).
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn rehome<const N: usize>(
        &self,
        router: &mut Router,
        stay: &Range<usize>,
        affinities: impl Fn(&Counted<F, R, D>) -> [Affinity; N] + Clone + Send + 'static,
        step: impl Fn(Step, usize, &Counted<F, R, D>) + Clone + Send + 'static,
    ) -> Result<Lost<F, R, D>, NoAnswer> {
        let threads: Vec<_> = stay.clone().collect();
        self.rehome_on(router, &threads, affinities, step)
    }
    /// The same where only these `threads` have sessions, in the order of their hashes.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn rehome_on<const N: usize>(
        &self,
        router: &mut Router,
        threads: &[usize],
        affinities: impl Fn(&Counted<F, R, D>) -> [Affinity; N] + Clone + Send + 'static,
        step: impl Fn(Step, usize, &Counted<F, R, D>) + Clone + Send + 'static,
    ) -> Result<Lost<F, R, D>, NoAnswer> {
        let (threads, count) = (Arc::<[usize]>::from(threads), threads.len().max(1) as u64);
        let at = move |hash: u64| threads.get((hash % count) as usize).copied().unwrap_or(0);
        let strays = Arc::new(Mutex::new(Strays::default()));
        let (to, leaves) = (Arc::clone(&strays), step.clone());
        let judge = move |thread, session: &mut Counted<F, R, D>| {
            let affinities = affinities(session);
            let owner = at(affinities[0].hash);
            if count > 1 {
                let astray = affinities
                    .iter()
                    .filter(|affinity| affinity.is_unsure || at(affinity.hash) != owner);
                locked(&to).0.extend(astray.map(|affinity| (affinity.flow, owner)));
            }
            if owner == thread {
                return Walked::keep(None);
            }
            leaves(Step::Left, thread, session);
            Walked::remove(Some((owner, *session)))
        };
        let mut moving = Vec::new();
        for thread in self.occupied() {
            moving.extend(self.walk_on(router, thread, judge.clone())?);
        }
        let lost = self.take_over(router, moving, step)?;
        let strays = std::mem::take(&mut *locked(&strays));
        self.publish_strays(strays);
        Ok(lost)
    }
    fn take_over(
        &self,
        router: &mut Router,
        moving: Vec<(usize, Counted<F, R, D>)>,
        step: impl Fn(Step, usize, &Counted<F, R, D>) + Clone + Send + 'static,
    ) -> Result<Lost<F, R, D>, NoAnswer> {
        if moving.is_empty() {
            return Ok(Vec::new());
        }
        let (now, moving) = (router.now(), Arc::new(moving));
        let lost = Arc::new(Mutex::new(Vec::new()));
        for from in (0..moving.len()).step_by(TAKEN) {
            let (part, step, to) = (Arc::clone(&moving), step.clone(), Arc::clone(&lost));
            self.visit(router, move |thread, table| {
                let part = &part[from..part.len().min(from + TAKEN)];
                let mut lost: Lost<F, R, D> = Vec::new();
                for (_, session) in part.iter().filter(|(to, _)| *to == thread) {
                    let done = table.adopt(session, now, |_, gone| {
                        step(Step::Left, thread, gone);
                        lost.push((thread, *gone));
                    });
                    match done {
                        Ok(_) => step(Step::Came, thread, session),
                        Err(_) => lost.push((thread, *session)),
                    }
                }
                locked(&to).append(&mut lost);
            })?;
        }
        self.visit(router, |_, table| table.sort())?;
        let lost = std::mem::take(&mut *locked(&lost));
        Ok(lost)
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
