//! What is logged: sessions that come and go, and limits that are reached (RFC 8158, RFC 7659).

use std::net::Ipv4Addr;

use infra::rcu::Epoch;
use nat_log::{Ends, Far, Record};
use net::Router;
use translation::session::{BYPASS, NatSession};

/// Seconds in which a limit is told once.
const QUIET: f64 = 1.0;

/// A node's access to the log.
#[derive(Clone)]
pub struct Log {
    log: nat_log::Log,
    /// When a limit was told last, by kind.
    told: [f64; 2],
}

/// A limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// All ports are in use.
    Ports,
    /// So many sessions.
    Sessions(u32),
}

impl Log {
    /// For a node.
    pub fn new(router: &mut Router) -> Self {
        Self { log: nat_log::Log::new(router), told: [f64::NEG_INFINITY; 2] }
    }
    /// A session has come, or gone.
    pub fn session(&mut self, is_new: bool, session: &NatSession, epoch: Epoch<'_>) {
        if !session.data.is(BYPASS) {
            self.log.send(epoch, || of_session(is_new, session));
        }
    }
    /// A limit is reached.
    pub fn limit(&mut self, what: Limit, now: f64, epoch: Epoch<'_>) {
        let (kind, record) = match what {
            Limit::Ports => (0, Record::Exhausted(0)),
            Limit::Sessions(limit) => (1, Record::MaxSessions(limit)),
        };
        if now - self.told[kind] >= QUIET {
            self.told[kind] = now;
            self.log.send(epoch, || record);
        }
    }
}

/// Logs the ends of sessions.
pub fn ended(router: &mut Router, gone: &[NatSession]) {
    for session in gone.iter().filter(|s| !s.data.is(BYPASS)) {
        nat_log::log(router, of_session(false, session));
    }
}

/// The record of a session.
fn of_session(is_new: bool, s: &NatSession) -> Record {
    let (host, answers) = (&s.forward, &s.reverse);
    let ends = Ends {
        host: (Ipv4Addr::from(host.src).into(), host.src_port),
        outside: (answers.dst.into(), answers.dst_port),
        protocol: host.protocol(),
        fib: s.data.in_fib,
        tunnel: None,
    };
    let far = Far {
        outside: (answers.src.into(), answers.src_port),
        inside: (Ipv4Addr::from(host.dst).into(), host.dst_port),
    };
    Record::Session(is_new, ends, far)
}
