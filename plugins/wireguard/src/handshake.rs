//! Handshakes: initiations, responses and cookies, sent and received.

use std::time::{SystemTime, UNIX_EPOCH};

use control::process::between;
use net::prelude::*;
use wire::checksum::{ip4_pseudo, ip6_pseudo};
use wire::wireguard::{Cookie, Handshake, Initiation, Macs, Response};

use super::cookie::Proof;
use super::events::{Arrived, Notice, What};
use super::input::{Error, Input};
use super::keypair::Keypair;
use super::noise::{self, Keys, Stamp};
use super::output::{self, Output};
use super::peer::{self, Attempt};
use super::timers::REKEY_TIMEOUT;
use super::{Endpoint, Wireguard, apart};

/// Bytes of both codes.
const MACS: usize = size_of::<Macs>();
/// Most that an initiation waits beyond [`REKEY_TIMEOUT`], so that two ends do not always meet.
const JITTER: f64 = 0.333;
/// Seconds between two initiations of a peer that are taken.
const FLOOD: f64 = 0.02;
/// Nanoseconds of the resolution of times in initiations: observers need not know more.
const COARSE: u32 = 1 << 24;

/// Time of day for an initiation, later than the last one was whatever the clock does.
fn stamp(last: Stamp) -> Stamp {
    const TAI: u64 = (1 << 62) + 10;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut stamp = [0; 12];
    stamp[..8].copy_from_slice(&(TAI + now.as_secs()).to_be_bytes());
    stamp[8..].copy_from_slice(&(now.subsec_nanos() / COARSE * COARSE).to_be_bytes());
    if stamp > last {
        return stamp;
    }
    let number =
        |bytes: Stamp| bytes.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    let next = (number(last) + 1).to_be_bytes();
    stamp.copy_from_slice(&next[4..]);
    stamp
}

/// Counts what control has against a message.
fn count(router: &mut Router, is_6: bool, why: Error) {
    match is_6 {
        false => router.engine.count_reason_at::<Input<false, false>>(why, 1),
        true => router.engine.count_reason_at::<Input<true, false>>(why, 1),
    }
}

/// Sends a message from an interface.
fn send(
    router: &mut Router,
    (interface, table): (InterfaceIndex, TableIndex),
    to: Endpoint,
    message: &[u8],
) {
    let Some(own) = router.own::<Wireguard>().interfaces.get(&interface) else { return };
    let len = (size_of::<udp::Header>() + message.len()) as u16;
    let mut header = udp::Header::new(own.port, to.1, len);
    let (front, node) = match (own.src, to.0) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let pseudo = ip4_pseudo(src.octets(), dst.octets(), Protocol::UDP, len);
            let sum = pseudo.add_bytes(header.as_bytes()).add_bytes(message);
            header.checksum = sum.udp_checksum();
            let total = len + size_of::<ip4::Header>() as u16;
            let outer = ip4::Header::new(src, dst, Protocol::UDP, total);
            (outer.as_bytes().to_vec(), "ip4-lookup")
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let pseudo = ip6_pseudo(src.octets(), dst.octets(), Protocol::UDP, len.into());
            let sum = pseudo.add_bytes(header.as_bytes()).add_bytes(message);
            header.checksum = sum.udp_checksum();
            let outer = ip6::Header::new(src, dst, Protocol::UDP, len);
            (outer.as_bytes().to_vec(), "ip6-lookup")
        }
        _ => return,
    };
    let packet = [&front, header.as_bytes(), message].concat();
    let Some(node) = router.engine.index_of(node) else { return };
    let thread = router.engine.data_threads().start;
    router.engine.inject(thread, node, packet, move |p| {
        let l3 = p.offset();
        p.set_l3_offset(l3);
        p.set_fib(table.0);
        p.add_flags(Flags::LOCAL.with(Flags::L3));
    });
}

/// Sends a peer a message, with its codes at the end.
fn send_sealed<M: IntoBytes + zerocopy::Immutable + Copy>(
    router: &mut Router,
    number: u32,
    message: M,
    with: fn(M, Macs) -> M,
) {
    let now = router.now();
    let Some(peer) = router.own_mut::<Wireguard>().peers.get_mut(&number) else { return };
    let Some(to) = peer.endpoint else { return };
    let front = message.as_bytes();
    let macs = peer.sealer.seal(&front[..front.len() - MACS], now);
    let from = (peer.interface, peer.table);
    send(router, from, to, with(message, macs).as_bytes());
}

/// Starts a handshake, or retransmits its initiation, unless one was sent just now. Without an
/// endpoint, or while the interface is down, nothing happens.
pub(super) fn begin(router: &mut Router, number: u32) {
    let now = router.now();
    let Wireguard { peers, tables, interfaces, begun, .. } = router.own_mut();
    let Some(peer) = peers.get_mut(&number) else { return };
    let Some(own) = interfaces.get(&peer.interface).filter(|own| own.is_up) else { return };
    let is_fresh = peer.initiated.is_some_and(|at| apart(now, at) < REKEY_TIMEOUT);
    if peer.endpoint.is_none() || is_fresh {
        return;
    }
    let Some(local) = tables.take() else { return };
    let stamp = stamp(peer.sent_stamp);
    let Some((message, state)) = noise::initiate(&own.key, &peer.public, stamp, local) else {
        tables.give_back(local);
        return;
    };
    let since = peer.attempt.as_ref().map_or(now, |attempt| attempt.since);
    let again = now + between(REKEY_TIMEOUT, REKEY_TIMEOUT + JITTER);
    let old = peer.attempt.replace(Attempt { since, again, local, begun: state });
    if let Some(old) = old {
        begun.remove(&old.local);
        tables.give_back(old.local);
    }
    begun.insert(local, number);
    (peer.sent_stamp, peer.initiated) = (stamp, Some(now));
    send_sealed(router, number, message, |message, macs| Initiation { macs, ..message });
}

/// Does what a node noticed about a peer.
pub(super) fn noticed(router: &mut Router, Notice { peer: number, what }: Notice) {
    let Some(peer) = router.own::<Wireguard>().peers.get(&number) else { return };
    match what {
        What::Wanted if peer.attempt.is_none() => begin(router, number),
        What::Wanted => (),
        What::Confirmed { local } => confirm(router, number, local),
        What::Roamed { to } => {
            // An endpoint that cannot be reached from here is not taken.
            let _ = peer::set_endpoint(router, number, to);
        }
    }
}

/// The peer uses a session that it began: it is the current one.
fn confirm(router: &mut Router, number: u32, local: u32) {
    let Some(peer) = router.own_mut::<Wireguard>().peers.get_mut(&number) else { return };
    if peer.next.as_ref().is_none_or(|next| next.local != local) {
        return;
    }
    let next = peer.next.take();
    let current = std::mem::replace(&mut peer.current, next);
    let gone = std::mem::replace(&mut peer.previous, current);
    peer.lacks_answer = None;
    end_attempt(router, number);
    peer::end_session(router, gone);
    peer::publish(router, number);
    peer::set_established(router, number, true);
}

/// Gives up a handshake under way: there is a session.
fn end_attempt(router: &mut Router, number: u32) {
    let Wireguard { peers, tables, begun, .. } = router.own_mut();
    let attempt = peers.get_mut(&number).and_then(|peer| peer.attempt.take());
    if let Some(attempt) = attempt {
        begun.remove(&attempt.local);
        tables.give_back(attempt.local);
    }
}

/// Takes a message.
pub(super) fn arrived(router: &mut Router, arrived: Arrived) {
    let is_6 = arrived.from.0.is_ipv6();
    let done = match arrived.message {
        Handshake::Initiation(message) => initiation(router, &arrived, &message),
        Handshake::Response(message) => response(router, &arrived, &message),
        Handshake::Cookie(message) => cookie(router, &arrived, &message),
    };
    if let Err(why) = done {
        count(router, is_6, why);
    }
}

/// Whether a message that has codes is to be looked at: the interface that it is for, unless it was
/// answered by a cookie.
fn admit(
    router: &mut Router,
    arrived: &Arrived,
    message: &[u8],
    (macs, sender): (&Macs, u32),
) -> Result<Option<InterfaceIndex>, Error> {
    let front = &message[..message.len() - MACS];
    let Wireguard { peers, interfaces, .. } = router.own_mut();
    let is_6 = arrived.from.0.is_ipv6();
    let mut mine = interfaces.iter_mut().filter(|(_, own)| {
        (own.port, own.src.is_ipv6()) == (arrived.port, is_6) && own.checker.is_for(front, macs)
    });
    let (interface, own) = mine.next().ok_or(Error::Mac)?;
    let interface = *interface;
    if !own.is_up {
        return Err(Error::Interface);
    }
    let count = peers.values().filter(|peer| peer.interface == interface).count();
    if !own.checker.is_loaded(count, arrived.at) {
        return Ok(Some(interface));
    }
    match own.checker.check(front, macs, arrived.from, arrived.at) {
        Proof::Address if own.checker.may_pass(arrived.from.0, arrived.at) => Ok(Some(interface)),
        Proof::Address => Err(Error::Ratelimited),
        Proof::None => Err(Error::Mac),
        Proof::Key => {
            let cookie = own.checker.cookie(macs, sender, arrived.from, arrived.at);
            let cookie = cookie.ok_or(Error::SendHandshake)?;
            // The sender is still unknown: the reply is sent like those to the interface's peers.
            let table = peers.values().find(|peer| peer.interface == interface);
            let table = table.map_or(TableIndex::DEFAULT, |peer| peer.table);
            send(router, (interface, table), arrived.from, cookie.as_bytes());
            Ok(None)
        }
    }
}

fn initiation(router: &mut Router, arrived: &Arrived, message: &Initiation) -> Result<(), Error> {
    let sender = message.sender.get();
    let admitted = admit(router, arrived, message.as_bytes(), (&message.macs, sender))?;
    let Some(interface) = admitted else { return Ok(()) };
    let now = router.now();
    let Wireguard { peers, interfaces, tables, .. } = router.own_mut();
    let own = &interfaces.get(&interface).ok_or(Error::Interface)?.key;
    let mut initiated = noise::read_initiation(own, message).ok_or(Error::Peer)?;
    let is_it = |peer: &peer::Peer| peer.interface == interface && peer.public == initiated.from;
    let (number, peer) = peers.iter_mut().find(|(_, peer)| is_it(peer)).ok_or(Error::Peer)?;
    let number = *number;
    let stamp = initiated.stamp(own).ok_or(Error::Handshake)?;
    let is_flood = peer.stamp_at.is_some_and(|at| apart(now, at) < FLOOD);
    if stamp <= peer.stamp || is_flood {
        return Err(Error::Handshake);
    }
    let local = tables.take().ok_or(Error::SendHandshake)?;
    let Some((response, keys)) = initiated.respond(&peer.preshared, (local, sender)) else {
        tables.give_back(local);
        return Err(Error::Handshake);
    };
    (peer.stamp, peer.stamp_at) = (stamp, Some(now));
    let keypair = session(&keys, number, (local, sender), (now, false), arrived.from);
    let gone = peer.next.replace(Arc::clone(&keypair));
    peer::end_session(router, gone);
    peer::publish_session(router, &keypair);
    // An endpoint that cannot be reached from here is not taken.
    let _ = peer::set_endpoint(router, number, arrived.from);
    send_sealed(router, number, response, |message, macs| Response { macs, ..message });
    Ok(())
}

fn session(
    keys: &Keys,
    peer: u32,
    numbers: (u32, u32),
    begun: (f64, bool),
    from: Endpoint,
) -> Arc<Keypair> {
    Arc::new(Keypair::new(keys, peer, numbers, begun, from))
}

fn response(router: &mut Router, arrived: &Arrived, message: &Response) -> Result<(), Error> {
    let sender = message.sender.get();
    let admitted = admit(router, arrived, message.as_bytes(), (&message.macs, sender))?;
    let Some(interface) = admitted else { return Ok(()) };
    let now = router.now();
    let local = message.receiver.get();
    let Wireguard { peers, interfaces, begun, .. } = router.own_mut();
    let number = *begun.get(&local).ok_or(Error::Handshake)?;
    let peer = peers.get_mut(&number).filter(|peer| peer.interface == interface);
    let peer = peer.ok_or(Error::Peer)?;
    let own = &interfaces.get(&interface).ok_or(Error::Interface)?.key;
    let attempt = peer.attempt.as_ref().ok_or(Error::Handshake)?;
    let keys = attempt.begun.finish(own, &peer.preshared, message).ok_or(Error::Handshake)?;
    let keypair = session(&keys, number, (local, sender), (now, true), arrived.from);
    // Its number is the session's now.
    peer.attempt = None;
    begun.remove(&local);
    let next = peer.next.take();
    let current = peer.current.replace(Arc::clone(&keypair));
    // A session that the peer began meanwhile may still be used by it.
    let (kept, first) = if next.is_some() { (next, current) } else { (current, None) };
    let second = std::mem::replace(&mut peer.previous, kept);
    (peer.lacks_answer, peer.owes_answer) = (None, None);
    peer::end_session(router, first);
    peer::end_session(router, second);
    peer::publish_session(router, &keypair);
    // An endpoint that cannot be reached from here is not taken.
    let _ = peer::set_endpoint(router, number, arrived.from);
    peer::publish(router, number);
    // The peer uses the session as soon as something comes under it.
    keep_alive(router, number);
    peer::set_established(router, number, true);
    Ok(())
}

fn cookie(router: &mut Router, arrived: &Arrived, message: &Cookie) -> Result<(), Error> {
    let local = message.receiver.get();
    let Wireguard { peers, begun, tables, .. } = router.own_mut();
    let of_session = || {
        let of = tables.receiving.at(super::tables::place(local))?;
        (of.keypair.local == local).then_some(of.keypair.peer)
    };
    let number = begun.get(&local).copied().or_else(of_session).ok_or(Error::Cookie)?;
    let peer = peers.get_mut(&number).ok_or(Error::Cookie)?;
    if peer.sealer.take(message, arrived.at) { Ok(()) } else { Err(Error::Cookie) }
}

/// Sends a peer a message without a packet, on the thread that has the peer.
pub(super) fn keep_alive(router: &mut Router, number: u32) {
    let name = <Output<false, false> as Node>::NAME;
    debug_assert_eq!(name, output::NAMES[0][0]);
    let Some(node) = router.engine.index_of(name) else { return };
    let threads = router.engine.data_threads();
    let thread = threads.start + number as usize % threads.len().max(1);
    router.engine.visit(thread, node, move |node: &mut Output<false, false>, frame| {
        node.keepalive(frame, number);
    });
}
