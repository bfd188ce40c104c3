//! Log of NAT64: sessions and bindings that come and go, and limits that are reached.

use infra::rcu::Epoch;
use nat_log::{Ends, Far, Record};
use net::Router;

use crate::core::{Binding, NatSession};

/// Seconds in which a limit is told once.
const QUIET: f64 = 1.0;

/// A node's ring to the log.
#[derive(Clone)]
pub struct Log {
    log: nat_log::Log,
    /// Times of the last reports of the limits of sessions and bindings.
    told: [f64; 2],
}

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Of sessions.
    Sessions,
    /// Of bindings.
    Bindings,
}

impl Log {
    /// For a node.
    pub fn new(router: &mut Router) -> Self {
        Self { log: nat_log::Log::new(router), told: [f64::NEG_INFINITY; 2] }
    }
    /// A session has come, or gone.
    pub fn session(&mut self, is_new: bool, session: &NatSession, epoch: Epoch<'_>) {
        self.log.send(epoch, || of_session(is_new, session));
    }
    /// A binding has come, or gone.
    pub fn binding(&mut self, is_new: bool, binding: &Binding, epoch: Epoch<'_>) {
        self.log.send(epoch, || of_binding(is_new, binding));
    }
    /// There are as many as there may be.
    pub fn limit(&mut self, what: Limit, limit: usize, now: f64, epoch: Epoch<'_>) {
        let told = &mut self.told[what as usize];
        if now - *told < QUIET {
            return;
        }
        *told = now;
        self.log.send(epoch, || match what {
            Limit::Sessions => Record::MaxSessions(limit as u32),
            Limit::Bindings => Record::MaxBindings(limit as u32),
        });
    }
}

/// The record of a session.
pub fn of_session(is_new: bool, s: &NatSession) -> Record {
    let (host, answers) = (&s.forward, &s.reverse);
    let ends = Ends {
        host: (host.src.into(), host.src_port),
        outside: (answers.dst.into(), answers.dst_port),
        protocol: answers.protocol(),
        fib: s.data.in_fib,
        tunnel: None,
    };
    let far = Far {
        outside: (answers.src.into(), answers.src_port),
        inside: (host.dst.into(), host.dst_port),
    };
    Record::Session(is_new, ends, far)
}

/// The record of a binding.
pub fn of_binding(is_new: bool, b: &Binding) -> Record {
    Record::Binding(
        is_new,
        Ends {
            host: (b.forward.src.into(), b.forward.src_port),
            outside: (b.reverse.dst.into(), b.reverse.dst_port),
            protocol: b.reverse.protocol(),
            fib: b.forward.scope as u16,
            tunnel: None,
        },
    )
}
