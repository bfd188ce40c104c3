//! Handling of the peer's messages.

use net::ip::{datagram, send_own};
use net::prelude::*;
use sessions::New;
use translation::session::{ESTABLISHED, NatSession, NatTable, class_of};
use translation::users::{Counts, began, queue};

use super::format::{ACK, ADD, Change, DEL, Header, REFRESH};
use super::node::Received;
use super::{ACK_RECV, ACK_SEND, Ha, Listener, end_of_resync};
use crate::core::{Core, affinity_of_host};
use crate::state::Nat;

/// A message of the other router, or a part of it.
pub(super) fn receive(router: &mut Router, received: Received) {
    let ha = router.own_mut::<Ha>();
    let (thread, header, from, to) = match received {
        Received::Change(thread, change) => {
            return ha.received.entry(thread).or_default().push(change);
        }
        Received::End { thread, header, from, to } => (thread, header, from, to),
    };
    let mut changes = ha.received.remove(&thread).unwrap_or_default();
    let is_known = ha.listener.is_some_and(|l| l.addr == to)
        && ha.failover.is_none_or(|f| (f.addr, f.port) == from);
    if !is_known || changes.len() != usize::from(header.count.get()) {
        return;
    }
    if header.flags & ACK != 0 {
        let before = ha.sent.len();
        ha.sent.retain(|sent| sent.sequence != header.sequence.get());
        ha.count(ACK_RECV, (before - ha.sent.len()) as u64);
        return end_of_resync(router);
    }
    ha.whole.append(&mut changes);
    ha.acks.push((header, from));
}

/// Does what whole messages say, and acknowledges them.
pub(super) fn apply(router: &mut Router) {
    let ha = router.own_mut::<Ha>();
    let (changes, acks) = (std::mem::take(&mut ha.whole), std::mem::take(&mut ha.acks));
    if acks.is_empty() || !carry_out(router, changes) {
        return;
    }
    let Some(Listener { addr, port, .. }) = router.own::<Ha>().listener else { return };
    for (header, to) in acks {
        let ack = Header { flags: ACK, count: 0.into(), ..header };
        let Some(packet) = datagram((addr, port), to, ack.as_bytes(), true) else { continue };
        router.own::<Ha>().count(ACK_SEND, 1);
        send_own(router, TableIndex(0), packet);
    }
}

/// Makes, ends and notes sessions, each on its thread; whether that could be done.
fn carry_out(router: &mut Router, changes: Vec<Change>) -> bool {
    let nat = router.own::<Nat>();
    let Some(sessions) = nat.sessions.current().clone() else { return false };
    let core = nat.core.clone();
    let threads = nat.workers.of(router.engine.data_threads());
    let ha = router.own::<Ha>();
    for change in &changes {
        if (ADD..=REFRESH).contains(&change.kind) {
            ha.count(3 + usize::from(change.kind - ADD), 1);
        }
    }
    let (now, seed) = (router.now(), sessions.seed());
    let of = move |c: &Change| {
        threads[(affinity_of_host(c.host(), seed).hash() % threads.len() as u64) as usize]
    };
    let work = move |thread, table: &mut NatTable| {
        let Some(mut users) = core.users.lend(thread) else { return };
        for change in changes.iter().filter(|c| of(c) == thread) {
            carry_out_one(&core, table, &mut users, change, now);
        }
        core.show_totals(thread, table, &users);
    };
    sessions.visit(router, work).is_ok()
}

fn carry_out_one(core: &Core, table: &mut NatTable, users: &mut Counts, change: &Change, now: f64) {
    let Some((forward, reverse, data)) = change.session() else { return };
    let known =
        table.find(&forward).filter(|at| table.at(*at).is_some_and(|s| s.reverse == reverse));
    match (change.kind, known) {
        (DEL, Some(at)) => {
            if let Some(gone) = table.remove(at) {
                core.ended(users, &gone);
            }
        }
        (ADD | REFRESH, Some(at)) => {
            table.note(at, change.packets.get().into(), change.bytes.get(), now);
        }
        // What has passed says as well that there is a session.
        (ADD | REFRESH, None) => {
            for at in [table.find(&forward), table.find_reverse(&reverse)].into_iter().flatten() {
                if let Some(gone) = table.remove(at) {
                    core.ended(users, &gone);
                }
            }
            let mut data = data;
            let mut class = class_of(forward.protocol());
            if forward.protocol() == Protocol::TCP {
                (data.tcp, class) = (sessions::tcp::State::ESTABLISHED, ESTABLISHED);
            }
            let new = New { forward, reverse, data, class };
            let gone = |_, s: &NatSession| core.ended(users, s);
            let Ok(at) = table.insert(new, now, gone) else { return };
            table.note(at, change.packets.get().into(), change.bytes.get(), now);
            let host = (data.in_fib, forward.src);
            began(users, host, false);
            queue(users, host, forward, table);
        }
        _ => {}
    }
}
