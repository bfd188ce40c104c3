//! Logging and replication of new and ended sessions.

use nat_log::{Ends, Record, Translator};
use net::prelude::*;
use translation::session::{BYPASS, NatSession};

use crate::ha::Teller;

/// A far end: address and port.
pub type FarEnd = ([u8; 4], u16);

/// A node's access to the log.
#[derive(Clone)]
pub struct Log {
    /// For limits as well.
    pub log: nat_log::Log,
    standby: Teller,
}

impl Log {
    /// For a node.
    pub fn new(router: &mut Router) -> Self {
        Self { log: nat_log::Log::of(router, Translator::Nat44Ei), standby: Teller::new(router) }
    }
    /// A session has come with a packet of a far end, or gone.
    pub fn session(&mut self, from: Option<FarEnd>, session: &NatSession, epoch: Epoch<'_>) {
        if !session.data.is(BYPASS) {
            self.log.send(epoch, || of_session(from.is_some(), session));
            self.standby.session(from, session, epoch);
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
