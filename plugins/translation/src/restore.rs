//! Packets that were translated and are sent back as an ICMP error: the error is about them as they
//! were sent (RFC 5508 section 4).

use net::icmp::Restore;
use net::prelude::*;
use sessions::{Direction, Flow4, Kind, Look};

use crate::TRANSLATED;
use crate::rewrite::rewrite;
use crate::session::{ANY_FAR_END, NatSessions, NatTable, OUTSIDE, outside_end, with_far_end};

/// Restores packets of sessions.
pub fn of_sessions(sessions: Reader<Option<NatSessions>>) -> Restore {
    Arc::new(move |p, thread, epoch| {
        let is_ip4 = p.bytes().first().is_some_and(|byte| byte >> 4 == 4);
        let table = sessions.read(epoch).as_ref().filter(|_| is_ip4);
        if let Some(table) = table.and_then(|sessions| sessions.lend(thread)) {
            restore(p, &table);
        }
    })
}

/// Restores a packet, if it is one of a session that was translated.
fn restore(p: &mut Buffer<'_>, table: &NatTable) -> Option<()> {
    let fib = p.fib().into();
    let seen = <[u8; 4]>::look(p.bytes(), p.ports(), fib)?;
    if matches!(seen.kind, Kind::Error(_)) {
        return None;
    }
    let answer = seen.flow.reversed();
    let (near, host) = ((answer.dst, answer.dst_port), (answer.src, answer.src_port));
    let of_host = Flow4::new(host, ([0; 4], 0), answer.protocol(), fib);
    let went_out = table
        .find_reverse(&answer.in_scope(OUTSIDE))
        .or_else(|| table.find_reverse(&outside_end(near, answer.protocol())));
    let came_in = || table.find(&answer.in_scope(fib)).or_else(|| table.find(&of_host));
    let (at, direction) = went_out
        .map(|at| (at, Direction::Forward))
        .or_else(|| came_in().map(|at| (at, Direction::Reverse)))?;
    let session = table.at(at)?;
    let (mut new, fib) = match direction {
        Direction::Forward => (session.forward, session.data.in_fib),
        Direction::Reverse => (session.reverse, session.data.out_fib),
    };
    if session.data.is(ANY_FAR_END) {
        new = with_far_end(new, &seen.flow, direction);
    }
    rewrite(p, 0, &seen, &new, direction)?;
    p.set_fib(fib);
    p.clear_flags(TRANSLATED);
    Some(())
}
