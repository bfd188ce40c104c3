//! Waiting for several sessions: epoll, select, poll.
//!
//! A set has a list of sessions that may be ready: those that were added or changed, and
//! level-triggered ones that were ready at the last check. The readiness of a session is computed
//! from its positions when it is checked, so no event is lost or reported twice. Edges are changes
//! that the router has announced.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, VecDeque};

use super::session::{Kind, Session, readiness};
use super::state::{State, lock};
use super::{Done, wait};

/// Bits that are always reported.
const ALWAYS: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;

/// An epoll set.
#[derive(Default)]
pub struct Epoll {
    members: BTreeMap<u32, Member>,
    ready: VecDeque<u32>,
}

struct Member {
    events: u32,
    data: u64,
    is_listed: bool,
    /// The session's change count and readiness when it was last reported.
    told: Option<(u64, u32)>,
}

/// An event of a set.
pub struct Told {
    /// Bits.
    pub events: u32,
    /// The program's value.
    pub data: u64,
}

impl Epoll {
    fn list(&mut self, handle: u32) {
        if let Some(member) = self.members.get_mut(&handle)
            && !member.is_listed
        {
            member.is_listed = true;
            self.ready.push_back(handle);
        }
    }
}

impl State {
    fn set(&mut self, handle: u32) -> Done<&mut Epoll> {
        match self.find(handle).map(|session| &mut session.kind) {
            Some(Kind::Epoll(set)) => Ok(set),
            Some(_) => Err(libc::EINVAL),
            None => Err(libc::EBADFD),
        }
    }
    /// Marks a session as possibly ready in its sets, and sessions that share its pipes in theirs.
    pub fn notify(&mut self, handle: u32) {
        let is_shared = self.find(handle).is_some_and(|s| s.is_udp() && s.listener.is_some());
        self.list(handle);
        if is_shared {
            let sharers = self.handles().filter(|(_, s)| s.shares == Some(handle));
            let sharers: Vec<u32> = sharers.map(|(at, _)| at).collect();
            for sharer in sharers {
                if let Some(session) = self.find(sharer) {
                    session.changes += 1;
                }
                self.list(sharer);
            }
        }
    }
    fn list(&mut self, handle: u32) {
        let Some(session) = self.find(handle) else { return };
        let sets = std::mem::take(&mut session.sets);
        for set in &sets {
            if let Ok(set) = self.set(*set) {
                set.list(handle);
            }
        }
        if let Some(session) = self.find(handle) {
            session.sets = sets;
        }
    }
    /// Removes a closed session from its sets, or a closed set from its members.
    pub fn leave_sets(&mut self, handle: u32, gone: &Session) {
        for set in &gone.sets {
            if let Ok(set) = self.set(*set) {
                set.members.remove(&handle);
            }
        }
        if let Kind::Epoll(set) = &gone.kind {
            for member in set.members.keys() {
                if let Some(session) = self.find(*member) {
                    session.sets.retain(|of| *of != handle);
                }
            }
        }
    }
    /// Readiness of a session as event bits.
    pub fn readiness(&mut self, handle: u32) -> u32 {
        let target = self.find(handle).and_then(|session| session.shares).unwrap_or(handle);
        if let Ok((session, link)) = self.both(target) {
            return readiness(session, Some(link));
        }
        self.find(target).map_or(0, |session| readiness(session, None))
    }
    /// The current events of a set, at most `most`.
    fn collect(&mut self, handle: u32, most: usize) -> Done<Vec<Told>> {
        let mut told = Vec::new();
        let (mut left, mut again) = (self.set(handle)?.ready.len(), Vec::new());
        while left > 0 && told.len() < most {
            left -= 1;
            let Some(at) = self.set(handle)?.ready.pop_front() else { break };
            let now = self.readiness(at);
            let changes = self.find(at).map_or(0, |session| session.changes);
            let Some(member) = self.set(handle)?.members.get_mut(&at) else { continue };
            member.is_listed = false;
            let mut events = now & (member.events | ALWAYS);
            let is_edge = member.events & libc::EPOLLET as u32 != 0;
            if is_edge && member.told == Some((changes, events)) {
                events = 0;
            }
            let is_off = member.events & !(libc::EPOLLET | libc::EPOLLONESHOT) as u32 == 0
                && member.events & libc::EPOLLONESHOT as u32 != 0;
            if events == 0 || is_off {
                continue;
            }
            member.told = Some((changes, events));
            told.push(Told { events, data: member.data });
            if member.events & libc::EPOLLONESHOT as u32 != 0 {
                member.events &= (libc::EPOLLET | libc::EPOLLONESHOT) as u32;
            } else if !is_edge {
                again.push(at);
            }
        }
        let set = self.set(handle)?;
        again.into_iter().for_each(|at| set.list(at));
        Ok(told)
    }
}

/// Creates a set and returns its handle.
///
/// # Errors
/// `EBADFD` when the process is not attached.
pub fn create() -> Done<u32> {
    let mut guard = lock();
    guard.link().map_err(|_| libc::EBADFD)?;
    let kind = Kind::Epoll(Epoll::default());
    Ok(guard.add(Session { kind, ..Session::new(super::session::TCP, false) }))
}

/// Adds a session to a set, or changes or removes it.
///
/// # Errors
/// `EEXIST`, `ENOENT`, `EINVAL`, `EBADFD`.
pub fn control(set: u32, op: i32, handle: u32, wanted: Option<(u32, u64)>) -> Done<()> {
    let mut guard = lock();
    guard.set(set)?;
    if matches!(guard.at(handle)?.kind, Kind::Epoll(_)) {
        return Err(libc::EINVAL);
    }
    let has = guard.set(set)?.members.contains_key(&handle);
    match (op, wanted) {
        (libc::EPOLL_CTL_ADD, Some(_)) if has => return Err(libc::EEXIST),
        (libc::EPOLL_CTL_MOD, Some(_)) | (libc::EPOLL_CTL_DEL, _) if !has => {
            return Err(libc::ENOENT);
        }
        (libc::EPOLL_CTL_DEL, _) => {
            guard.set(set)?.members.remove(&handle);
            guard.at(handle)?.sets.retain(|of| *of != set);
            return Ok(());
        }
        (libc::EPOLL_CTL_ADD, Some((events, data))) => {
            let member = Member { events, data, is_listed: false, told: None };
            guard.set(set)?.members.insert(handle, member);
            guard.at(handle)?.sets.push(set);
        }
        (libc::EPOLL_CTL_MOD, Some((events, data))) => {
            if let Some(member) = guard.set(set)?.members.get_mut(&handle) {
                (member.events, member.data, member.told) = (events, data, None);
            }
        }
        _ => return Err(libc::EINVAL),
    }
    guard.set(set)?.list(handle);
    // Another thread may wait for this set.
    if guard.is_polled || guard.waiters > 0 {
        guard.tell_others();
    }
    Ok(())
}

/// Waits for events of a set; returns none after the timeout.
///
/// # Errors
/// `EINVAL`, `EBADFD`.
pub fn wait_for(set: u32, most: usize, seconds: f64) -> Done<Vec<Told>> {
    let mut guard = lock();
    guard.set(set)?;
    let collect = |state: &mut State| match state.collect(set, most) {
        Ok(told) if told.is_empty() => None,
        done => Some(done),
    };
    wait::until(guard, wait::deadline(seconds), collect).1.unwrap_or_else(|| Ok(Vec::new()))
}

/// Waits until one of several sessions is ready for the requested events, and returns the readiness
/// of each. An invalid handle is ready with `unknown`.
pub fn wait_for_some(wanted: &[(u32, u32)], unknown: u32, seconds: f64) -> Vec<u32> {
    let look = |state: &mut State| {
        let ready = |(handle, events): &(u32, u32)| match state.find(*handle) {
            Some(_) => state.readiness(*handle) & (events | ALWAYS),
            None => unknown,
        };
        let all: Vec<u32> = wanted.iter().map(ready).collect();
        all.iter().any(|bits| *bits != 0).then_some(all)
    };
    let found = wait::until(lock(), wait::deadline(seconds), look).1;
    found.unwrap_or_else(|| vec![0; wanted.len()])
}
