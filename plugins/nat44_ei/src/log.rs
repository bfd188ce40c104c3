//! What is logged: sessions that come and go, and limits that are reached.

use std::net::Ipv4Addr;

use infra::rcu::Epoch;
use nat_log::{Ends, Record};
use net::Router;
use translation::session::{BYPASS, NatSession};

use crate::ha::Teller;

/// Seconds in which a limit is told once.
const QUIET: f64 = 1.0;

/// A node's access to the log.
#[derive(Clone)]
pub struct Log {
    log: nat_log::Log,
    standby: Teller,
    /// When a limit was told last, by kind.
    told: [f64; 3],
}

/// A limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// All ports are in use.
    Ports,
    /// So many sessions.
    Sessions(u32),
    /// So many sessions of a host.
    OfHost(u32, Ipv4Addr),
}

impl Log {
    /// For a node.
    pub fn new(router: &mut Router) -> Self {
        let (log, standby) = (nat_log::Log::new(router), Teller::new(router));
        Self { log, standby, told: [f64::NEG_INFINITY; 3] }
    }
    /// A session has come, or gone.
    pub fn session(&mut self, is_new: bool, session: &NatSession, epoch: Epoch<'_>) {
        if !session.data.is(BYPASS) {
            self.log.send(epoch, || of_session(is_new, session));
            self.standby.session(is_new, session, epoch);
        }
    }
    /// A limit is reached.
    pub fn limit(&mut self, what: Limit, now: f64, epoch: Epoch<'_>) {
        let (kind, record) = match what {
            Limit::Ports => (0, Record::Exhausted(0)),
            Limit::Sessions(limit) => (1, Record::MaxSessions(limit)),
            Limit::OfHost(limit, host) => (2, Record::MaxOfHost(limit, host)),
        };
        if now - self.told[kind] >= QUIET {
            self.told[kind] = now;
            self.log.send(epoch, || record);
        }
    }
}

/// The record of a session.
pub fn of_session(is_new: bool, s: &NatSession) -> Record {
    let ends = Ends {
        host: (Ipv4Addr::from(s.forward.src).into(), s.forward.src_port),
        outside: (s.reverse.dst.into(), s.reverse.dst_port),
        protocol: s.forward.protocol(),
        fib: s.data.in_fib,
        tunnel: None,
    };
    Record::Mapping(is_new, ends)
}
