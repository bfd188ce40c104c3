//! Recovery from a panic of a node that had borrowed the state of its thread: a change may have
//! been left half done, so nothing uses that state any more, and the layer is off on the thread.
//! The control thread replaces it after a while. Its sessions end, which applications learn, and
//! peers when they send again. The applications go on.
//!
//! A panic of an application costs one session only ([`Worker::abandon`]).

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use infra::rcu::Participant;
use net::Router;
use net::events::Event;
use net::health::{Check, Findings, Severity};

use super::apps;
use super::layer::{self, Layer};
use super::opening::Spare;
use super::session::{Failure, Inner, Life, NONE};
use super::stack::Stack;
use super::worker::Worker;

/// Seconds until a state is replaced, so that a peer that knows how to cause a panic does not keep
/// the control thread busy.
const PAUSE: f64 = 1.0;

/// Event: the state of a thread is not used any more.
#[derive(Clone, Copy, Debug)]
pub struct Fenced(pub usize);

impl Event for Fenced {}

/// Numbers of states that were replaced, and of their sessions.
#[derive(Clone, Copy, Default)]
pub struct Failures {
    count: u64,
    sessions: usize,
}

/// The reusable rest of a state.
#[derive(Default)]
struct Rest {
    parts: Vec<Spare>,
    /// Local ends of outgoing datagram sessions.
    freed: Vec<SocketAddr>,
    sessions: usize,
}

impl Worker {
    /// Tells applications that their sessions have ended, and takes their parts. Transports are
    /// left alone.
    fn salvage(&mut self) -> Rest {
        let mut rest = Rest { freed: std::mem::take(&mut self.freed), ..Rest::default() };
        let mut words = vec![Vec::new(); self.parts.len()];
        self.moves.clear();
        for index in 0..self.sessions.len() {
            let session = &self.sessions[index];
            if matches!(session.inner, Inner::Free) {
                continue;
            }
            let (data, part, listener) = (session.data, session.part as usize, session.listener);
            let (life, is_seen, hash) = (session.life, session.is_seen(), self.hash_of(index));
            if life == Life::Listening {
                words.get_mut(part).into_iter().for_each(|of| of.push((listener, data)));
                continue;
            }
            rest.sessions += 1;
            if matches!(session.inner, Inner::Udp) && listener == NONE {
                rest.freed.push(session.key.local());
            }
            self.note_move(hash, false);
            let id = self.id_of(index as u32);
            let object = self.parts.get_mut(part).filter(|_| is_seen);
            let Some(object) = object.and_then(|part| part.object.as_mut()) else { continue };
            // An application that panics in turn has its session ended like others.
            let _ = catch_unwind(AssertUnwindSafe(|| match life {
                Life::Connecting => object.on_refused(data, Failure::Withdrawn),
                _ => object.on_reset(id, data, Failure::Withdrawn),
            }));
        }
        let parts = std::mem::take(&mut self.parts).into_iter().zip(words);
        rest.parts.extend(parts.filter_map(|(part, words)| {
            let object = part.object.filter(|_| part.app != NONE)?;
            Some(Spare { app: part.app, object, words })
        }));
        rest
    }
    fn hash_of(&self, index: usize) -> u64 {
        self.sessions[index].key.hash(self.seed())
    }
}

/// Replaces the state of a thread that is not used any more.
fn replace(router: &mut Router, stack: &Stack, thread: usize) {
    let Some(mut old) = layer::take_part(router, thread) else { return };
    let rest = catch_unwind(AssertUnwindSafe(|| old.salvage())).unwrap_or_default();
    let me = Participant::join();
    // An entry that another thread keeps from changing now leads to no session.
    stack.announce(&mut old, me.epoch());
    drop(me);
    for end in rest.freed {
        apps::release_port(router, end.ip().into(), end.port());
    }
    let log = router.log.class("session", "failed");
    log.error(format_args!(
        "thread {thread}: a transport failed: its {} sessions have ended",
        rest.sessions
    ));
    let failures = &mut router.own_mut::<Layer>().failures;
    failures.count += 1;
    failures.sessions += rest.sessions;
    layer::restart(router, rest.parts);
}

/// Replaces the states of all threads that are not used any more.
pub fn replace_all(router: &mut Router) {
    let Layer { stack, is_on, .. } = router.own::<Layer>();
    let (stack, is_on) = (stack.clone(), *is_on);
    for thread in router.engine.data_threads() {
        if is_on && stack.is_fenced(thread) {
            replace(router, &stack, thread);
        }
    }
}

fn look(router: &mut Router, found: &mut Findings) {
    let Failures { count, sessions } = router.own::<Layer>().failures;
    if count > 0 {
        let text = format!("transports failed: {count}, sessions that ended with them: {sessions}");
        found.add(Severity::Warning, "session layer", text);
    }
}

/// Registers the recovery and its check.
pub fn register(router: &mut Router) {
    router.events.handle(|router: &mut Router, Fenced(thread)| {
        let log = router.log.class("session", "failed");
        log.error(format_args!("thread {thread}: a transport failed: its sessions end"));
        router.after(PAUSE, |router, _| replace_all(router), 0);
    });
    router.check_health(Check {
        name: "session-layer",
        about: "transports of the session layer work",
        look,
    });
}
