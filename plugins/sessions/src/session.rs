//! Sessions: records of a table.

use std::io;
use std::ops::{Deref, DerefMut};

use infra::memory::{HugePages, Reserved};
use zerocopy::FromZeros;

use crate::ages::{Aged, Link, State};

/// A session: all that lookups read, one cache line where flows and data are short.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
pub struct Session<F, R, D> {
    /// Its packets, as they come.
    pub forward: F,
    /// The answers, as they come.
    pub reverse: R,
    pub(crate) state: State,
    /// The feature's data.
    pub data: D,
}

/// The rest of what a table knows of a session: what has passed of it, and its place in the order
/// of age.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(32))]
pub(crate) struct Rest {
    pub packets: u64,
    pub bytes: u64,
    pub link: Link,
}

/// A session and what has passed of it.
#[derive(Clone, Copy, Debug)]
pub struct Counted<F, R, D> {
    /// Session.
    pub session: Session<F, R, D>,
    /// Packets that passed.
    pub packets: u64,
    /// Bytes that passed.
    pub bytes: u64,
}

impl<F, R, D> Session<F, R, D> {
    /// Its class, by position.
    #[inline(always)]
    pub fn class(&self) -> u8 {
        self.state.class()
    }
    /// When a packet passed last, in seconds on the router's clock.
    #[inline(always)]
    pub fn heard(&self) -> f64 {
        self.state.heard()
    }
}

impl<F, R, D> Deref for Counted<F, R, D> {
    type Target = Session<F, R, D>;
    fn deref(&self) -> &Self::Target {
        &self.session
    }
}

impl<F, R, D> DerefMut for Counted<F, R, D> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.session
    }
}

/// The records of a table, and the rest of each.
pub(crate) struct Records<F, R, D> {
    pub sessions: Reserved<Session<F, R, D>>,
    pub rests: Reserved<Rest>,
}

impl<F: FromZeros, R: FromZeros, D: FromZeros> Records<F, R, D> {
    /// Room for so many.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(limit: usize) -> io::Result<Self> {
        let sessions = Reserved::new(limit, HugePages::Beyond)?.named("sessions");
        let rests = Reserved::new(limit, HugePages::Beyond)?.named("session counters");
        Ok(Self { sessions, rests })
    }
}

impl<F, R, D> Aged for Records<F, R, D> {
    fn link(&mut self, at: u32) -> Option<&mut Link> {
        self.rests.get_mut(at as usize).map(|rest| &mut rest.link)
    }
    fn state(&mut self, at: u32) -> Option<&mut State> {
        self.sessions.get_mut(at as usize).map(|session| &mut session.state)
    }
    fn heard(&self, at: u32) -> f64 {
        self.sessions.get(at as usize).map_or(0.0, Session::heard)
    }
}
