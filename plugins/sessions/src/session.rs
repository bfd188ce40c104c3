//! Sessions: records of a table.

use std::ops::{Deref, DerefMut};

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
    /// What the feature knows of it.
    pub data: D,
}

/// The rest of what a table knows of a session.
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
    /// The session.
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

/// Records and the rest of each, in the order of their age.
pub(crate) struct Aging<'a, F, R, D>(pub &'a mut [Session<F, R, D>], pub &'a mut [Rest]);

impl<F, R, D> Aged for Aging<'_, F, R, D> {
    fn link(&mut self, at: u32) -> Option<&mut Link> {
        self.1.get_mut(at as usize).map(|rest| &mut rest.link)
    }
    fn state(&mut self, at: u32) -> Option<&mut State> {
        self.0.get_mut(at as usize).map(|record| &mut record.state)
    }
    fn heard(&self, at: u32) -> f64 {
        self.0.get(at as usize).map_or(0.0, Session::heard)
    }
}
