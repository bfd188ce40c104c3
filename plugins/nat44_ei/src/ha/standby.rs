//! Handling of the peer's messages.

use net::address::OnInterface;
use net::ip::{datagram, send_own};
use net::prelude::*;
use sessions::{New, SessionIndex};
use translation::session::{ESTABLISHED, NatSession, NatTable, OF_PEER, class_of};
use translation::users::{Counts, began, queue};

use super::format::{ACK, ADD, Change, DEL, Header, REFRESH};
use super::node::Received;
use super::{ACK_RECV, ACK_SEND, Ha, Listener, end_of_resync};
use crate::core::{Core, affinity_of_host};
use crate::state::Nat;

/// Seconds without packets after which a session made here gives way to one of the peer.
const LIVE: f64 = 30.0;

/// A message of the other router, or a part of it.
pub(super) fn receive(router: &mut Router, received: Received) {
    let ha = router.own_mut::<Ha>();
    let (thread, header, from, to, rx) = match received {
        Received::Change(thread, change) => {
            return ha.received.entry(thread).or_default().push(change);
        }
        Received::End { thread, header, from, to, rx } => (thread, header, from, to, rx),
    };
    let mut changes = ha.received.remove(&thread).unwrap_or_default();
    if !is_peer(router, (from, to), rx) {
        router.own_mut::<Ha>().refused += 1;
        return;
    }
    let ha = router.own_mut::<Ha>();
    if changes.len() != usize::from(header.count.get()) {
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

/// Whether a message is the peer's: the failover's, or without one, of the first sender on a
/// link of this router. A sender that a link has does not come by another one.
fn is_peer(
    router: &mut Router,
    (from, to): ((Ipv4Addr, u16), Ipv4Addr),
    rx: InterfaceIndex,
) -> bool {
    let has = |on: &OnInterface| on.ip4.iter().any(|prefix| prefix.contains(from.0));
    let is_on_link = has(router.addresses.of(rx));
    let is_elsewhere = !is_on_link && router.addresses.iter().any(|(_, on)| has(on));
    let ha = router.own_mut::<Ha>();
    if ha.listener.is_none_or(|l| l.addr != to) || is_elsewhere {
        return false;
    }
    match ha.failover {
        Some(failover) => (failover.addr, failover.port) == from,
        None if is_on_link => *ha.peer.get_or_insert(from) == from,
        None => false,
    }
}

/// Drops changes of sessions that this router could not make itself: in no table, or with an end
/// outside that is none of the translation's.
fn check(router: &mut Router, changes: &mut Vec<Change>) {
    let config = router.own::<Nat>().config.current();
    let is_possible = |change: &Change| {
        let Some((forward, reverse, data)) = change.session() else { return false };
        let table = TableIndex(data.in_fib);
        config.pooled.contains(&reverse.dst)
            && !config.pooled.contains(&forward.src)
            && router.fib.table_id::<Ip4>(table).is_some()
    };
    let before = changes.len();
    changes.retain(is_possible);
    router.own_mut::<Ha>().refused += (before - changes.len()) as u64;
}

/// Does what whole messages say, and acknowledges them.
pub(super) fn apply(router: &mut Router) {
    let ha = router.own_mut::<Ha>();
    let (mut changes, acks) = (std::mem::take(&mut ha.whole), std::mem::take(&mut ha.acks));
    check(router, &mut changes);
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

/// Whether a session was made here by packets and still passes some: the peer cannot end it.
fn is_live(table: &NatTable, at: SessionIndex, now: f64) -> bool {
    table.at(at).is_some_and(|s| !s.data.is(OF_PEER) && now - s.heard() < LIVE)
}

fn carry_out_one(core: &Core, table: &mut NatTable, users: &mut Counts, change: &Change, now: f64) {
    let Some((forward, reverse, data)) = change.session() else { return };
    let known =
        table.find(&forward).filter(|at| table.at(*at).is_some_and(|s| s.reverse == reverse));
    match (change.kind, known) {
        (DEL, Some(at)) if !is_live(table, at, now) => {
            if let Some(gone) = table.remove(at) {
                core.ended(users, &gone);
            }
        }
        (ADD | REFRESH, Some(at)) => {
            table.note(at, change.packets.get().into(), change.bytes.get(), now);
        }
        // What has passed says as well that there is a session.
        (ADD | REFRESH, None) => {
            let others = [table.find(&forward), table.find_reverse(&reverse)];
            if others.iter().flatten().any(|at| is_live(table, *at, now)) {
                return;
            }
            for at in others.into_iter().flatten() {
                if let Some(gone) = table.remove(at) {
                    core.ended(users, &gone);
                }
            }
            let mut data = data;
            data.flags |= OF_PEER;
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
