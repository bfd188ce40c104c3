//! Sessions in the order of their age, by class: a timing wheel with one slot for each timeout.
//!
//! All of a class have one timeout, so the order in which they were queued is the order in which
//! they are due, and a list does: no entry of its own for a timer, and nothing to start or stop. A
//! packet only writes the time into its session. Who meets a session at the head of its list that
//! was heard since it was queued queues it again, a few times a timeout and not once a packet; so
//! an order may be wrong by that part of a timeout.

use zerocopy::FromZeros;

use crate::table::Class;

const NONE: u32 = u32::MAX;
/// How often in its timeout a session that is heard is queued again.
const TURNS: f64 = 4.0;

/// A place in a list.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C)]
pub(crate) struct Link {
    /// The time that counted when it was queued.
    queued: f64,
    older: u32,
    newer: u32,
}

impl Default for Link {
    fn default() -> Self {
        Self { queued: 0.0, older: NONE, newer: NONE }
    }
}

impl Link {
    /// Of an unused record, in front of another such.
    pub fn freed(next: Option<u32>) -> Self {
        Self { newer: next.unwrap_or(NONE), ..Self::default() }
    }
    /// The record behind an unused one.
    #[inline]
    pub fn free(&self) -> Option<u32> {
        Some(self.newer).filter(|at| *at != NONE)
    }
}

/// When a session was heard last, its class, and whether it exists, in one number: 48 bits of time
/// in units of 1/65536 s, a byte for whether it is in a list, one for its class. Zero, as in unused
/// memory, is none.
#[derive(Clone, Copy, Debug, Default, FromZeros)]
#[repr(transparent)]
pub(crate) struct State(u64);

/// Units of time in a second.
const UNITS: f64 = 65536.0;
/// Set in the state of a session that is in a list.
const USED: u64 = 1 << 8;

impl State {
    #[inline(always)]
    pub fn is_used(self) -> bool {
        self.0 & USED != 0
    }
    #[inline(always)]
    pub fn class(self) -> u8 {
        self.0 as u8
    }
    #[inline(always)]
    pub fn heard(self) -> f64 {
        (self.0 >> 16) as i64 as f64 / UNITS
    }
    /// The same, heard at a time.
    #[inline(always)]
    #[must_use]
    pub fn heard_at(self, now: f64) -> Self {
        Self(self.0 & 0xffff | ((now.max(0.0) * UNITS) as i64 as u64) << 16)
    }
    #[must_use]
    fn in_class(self, class: u8) -> Self {
        Self(self.0 & !0xff | u64::from(class) | USED)
    }
}

/// Records with links.
pub(crate) trait Aged {
    fn link(&mut self, at: u32) -> Option<&mut Link>;
    fn state(&mut self, at: u32) -> Option<&mut State>;
    /// When a packet of it passed last.
    fn heard(&self, at: u32) -> f64;
}

#[derive(Clone, Copy)]
struct List {
    class: Class,
    oldest: u32,
    newest: u32,
}

/// The lists of all classes.
pub(crate) struct Ages(Vec<List>);

impl Ages {
    pub fn new(classes: &[Class]) -> Self {
        Self(classes.iter().map(|&class| List { class, oldest: NONE, newest: NONE }).collect())
    }
    pub fn set_classes(&mut self, classes: &[Class]) {
        self.0.iter_mut().zip(classes).for_each(|(list, class)| list.class = *class);
        let new = classes.iter().skip(self.0.len());
        let new: Vec<_> = new.map(|&class| List { class, oldest: NONE, newest: NONE }).collect();
        self.0.extend(new);
    }
    pub fn all(&self) -> Vec<Class> {
        self.0.iter().map(|list| list.class).collect()
    }
    pub fn classes(&self) -> u8 {
        self.0.len() as u8
    }
    /// Whether a record is over: nothing passed for the timeout of its class.
    #[inline(always)]
    pub fn is_over(&self, state: State, now: f64) -> bool {
        let class = self.0.get(usize::from(state.class()));
        now - state.heard() > class.map_or(0.0, |list| list.class.timeout)
    }
    /// Queues a record, which is in no list. A class that does not exist is the last one.
    pub fn append(&mut self, records: &mut impl Aged, at: u32, class: u8) {
        let class = class.min(self.classes() - 1);
        let queued = records.heard(at);
        let Some(list) = self.0.get_mut(usize::from(class)) else { return };
        let before = std::mem::replace(&mut list.newest, at);
        if let Some(link) = records.link(at) {
            *link = Link { queued, older: before, newer: NONE };
        }
        if let Some(state) = records.state(at) {
            *state = state.in_class(class);
        }
        match records.link(before) {
            Some(before) => before.newer = at,
            None => list.oldest = at,
        }
    }
    /// Takes a record out of its list.
    pub fn remove(&mut self, records: &mut impl Aged, at: u32) {
        let Some(&mut Link { older, newer, .. }) = records.link(at) else { return };
        let class = records.state(at).map_or(u8::MAX, |state| state.class());
        let Some(list) = self.0.get_mut(usize::from(class)) else { return };
        match records.link(older) {
            Some(older) => older.newer = newer,
            None => list.oldest = newer,
        }
        match records.link(newer) {
            Some(newer) => newer.older = older,
            None => list.newest = older,
        }
    }
    /// A record of a class that was over `grace` seconds ago. Each record that is looked at counts
    /// against `left`.
    pub fn due(
        &mut self,
        records: &mut impl Aged,
        class: u8,
        now: f64,
        grace: f64,
        left: &mut usize,
    ) -> Option<u32> {
        while *left > 0 {
            let List { class: Class { timeout, .. }, oldest, .. } =
                *self.0.get(usize::from(class))?;
            let queued = records.link(oldest)?.queued;
            let heard = records.heard(oldest);
            if now - heard > timeout + grace {
                *left -= 1;
                return Some(oldest);
            }
            if heard <= queued || now - queued <= timeout / TURNS {
                return None;
            }
            *left -= 1;
            self.remove(records, oldest);
            self.append(records, oldest, class);
        }
        None
    }
    /// The record of a class that was heard before a time and is the oldest. At most `left` that
    /// were heard since they were queued are queued again.
    pub fn silent(
        &mut self,
        records: &mut impl Aged,
        class: u8,
        before: f64,
        left: usize,
    ) -> Option<u32> {
        for _ in 0..left {
            let oldest = self.0.get(usize::from(class))?.oldest;
            let queued = records.link(oldest)?.queued;
            let heard = records.heard(oldest);
            if heard < before {
                return Some(oldest);
            }
            if heard <= queued {
                return None;
            }
            self.remove(records, oldest);
            self.append(records, oldest, class);
        }
        None
    }
    /// The record to go first when there is no room, of the `most` at the head of each list: one
    /// that is over (true), or else the one of those that may be evicted that was silent longest,
    /// of classes that go first if there is any.
    pub fn dispensable(
        &self,
        records: &mut impl Aged,
        now: f64,
        most: usize,
    ) -> Option<(u32, bool)> {
        let mut best: Option<(bool, f64, u32)> = None;
        for List { class, oldest, .. } in &self.0 {
            let mut at = *oldest;
            for _ in 0..most {
                let Some(link) = records.link(at) else { break };
                let newer = link.newer;
                let heard = records.heard(at);
                if now - heard > class.timeout {
                    return Some((at, true));
                }
                let is_better =
                    |(later, than, _): (bool, f64, u32)| (!class.goes_first, heard) < (later, than);
                if class.may_be_evicted && best.is_none_or(is_better) {
                    best = Some((!class.goes_first, heard, at));
                }
                at = newer;
            }
        }
        best.map(|(.., at)| (at, false))
    }
}
