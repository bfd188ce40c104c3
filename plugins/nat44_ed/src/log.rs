//! Logging of new and ended sessions (RFC 8158, RFC 7659).

use nat_log::{Ends, Far, Log, Record, Translator};
use net::prelude::*;
use translation::session::{BYPASS, NatSession};

/// Logs a session that has come, or gone.
pub fn session(log: &mut Log, is_new: bool, session: &NatSession, epoch: Epoch<'_>) {
    if !session.data.is(BYPASS) {
        log.send(epoch, || of_session(is_new, session));
    }
}

/// Logs the ends of sessions.
pub fn ended(router: &mut Router, gone: &[NatSession]) {
    for session in gone.iter().filter(|s| !s.data.is(BYPASS)) {
        Translator::Nat44Ed.log(router, of_session(false, session));
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
