//! Questions: answered from what is known, else by asking name servers (RFC 1035 section 7).

use control::process::between;
use net::ip::{datagram, send_own};
use net::prelude::*;
use ping::Origin;
use wire::checksum::ip6_pseudo;

use super::cache::Answer;
use super::message::{Malformed, Message, Question, code, flag};
use super::node::{Arrived, Count, Error, Reply, ReplyCount, ReplyError, Request};
use super::{Dns, PORT};

/// The process of the timers.
pub const PROCESS: &str = "dns-resolver-process";
/// Seconds until a name server is asked again, and how often all of them are.
const AGAIN: f64 = 1.0;
const ROUNDS: usize = 3;
/// Most questions that wait for name servers, and most who wait for the answer to one.
pub const MOST_PENDING: usize = 1024;
const MOST_WAITING: usize = 64;
/// Questions of one network of clients that wait once half of all do, and clients of one that wait
/// for the same answer.
const SHARE: usize = 2;
const MOST_WAITING_OF_ONE: usize = 8;
/// Longest UDP answer to clients that do not accept longer ones (RFC 1035 section 4.2.1).
const LONGEST_ANSWER: usize = 512;

/// A client that waits for an answer.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The client, with its port.
    from: (IpAddr, u16),
    /// The address that it asked.
    to: (IpAddr, u16),
    interface: u32,
    id: u16,
    flags: u16,
}

/// One time that a question was asked: its number, the server, and the address and port to which
/// the answer comes. Who does not see the question guesses all of them (RFC 5452 section 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    id: u16,
    server: IpAddr,
    own: (IpAddr, u16),
}

/// A question that name servers were asked.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Each time that it was asked.
    pub asked: Vec<Asked>,
    next: f64,
    /// The network of the client that asked it first; `None` for this router.
    network: Option<IpAddr>,
    /// Clients that wait.
    pub waiting: Vec<Waiting>,
}

/// Outcome of a question.
pub enum Found {
    /// Known.
    Answer(Answer),
    /// Name servers were asked.
    Asked,
    /// No name server, or too many questions already.
    Nothing,
}

/// The network of a client, from which its user may choose any address: a /24 or a /56.
fn network(client: IpAddr) -> IpAddr {
    match client {
        IpAddr::V4(addr) => Ipv4Addr::from_bits(addr.to_bits() & !0xff).into(),
        IpAddr::V6(addr) => Ipv6Addr::from_bits(addr.to_bits() & u128::MAX << 72).into(),
    }
}

/// Looks for the answer to a question; name servers are asked where it is not known. `client` is
/// host that sent it, `None` for this router.
pub fn look_up(router: &mut Router, question: &Question, client: Option<IpAddr>) -> Found {
    let now = router.now();
    let dns = router.own_mut::<Dns>();
    if let Some(answer) = dns.cache.find(question, now) {
        return Found::Answer(answer);
    }
    if dns.pending.contains_key(question) {
        return Found::Asked;
    }
    if dns.servers.is_empty() || dns.pending.len() >= MOST_PENDING {
        return Found::Nothing;
    }
    // Names whose servers do not answer are easily made up.
    let network = client.map(network);
    let is_scarce = dns.pending.len() >= MOST_PENDING / 2;
    if is_scarce && network.is_some() {
        let own = dns.pending.values().filter(|pending| pending.network == network);
        if own.count() >= SHARE {
            return Found::Nothing;
        }
    }
    let new = Pending { asked: Vec::new(), next: now, network, waiting: Vec::new() };
    dns.pending.insert(question.clone(), new);
    ask(router, question, now);
    router.processes.signal(PROCESS, 0);
    Found::Asked
}

/// Asks the next name server, or gives up.
fn ask(router: &mut Router, question: &Question, now: f64) {
    let dns = router.own_mut::<Dns>();
    let Dns { servers, own_ports: ports, pending, .. } = dns;
    let Some(pending) = pending.get_mut(question).filter(|pending| now >= pending.next) else {
        return;
    };
    let at = pending.asked.len();
    if servers.is_empty() || at >= ROUNDS * servers.len() {
        let failed = Answer { code: code::SERVER_FAILURE, records: Vec::new(), until: now };
        return finish(router, question, &failed, false);
    }
    pending.next = now + AGAIN * (1 + at / servers.len()) as f64;
    let (id, server) = (between(0.0, 65536.0) as u16, servers[at % servers.len()]);
    let port = ports.get(between(0.0, ports.len() as f64) as usize).copied().unwrap_or_default();
    let message = Message {
        id,
        flags: flag::RECURSION_DESIRED,
        question: question.clone(),
        answers: Vec::new(),
        negative_ttl: None,
    };
    // One that cannot be reached now may be the next time.
    let origin = Origin::towards(server, None, None, router);
    let src = origin.as_ref().map_or(server, |origin| origin.src);
    if let Some(pending) = router.own_mut::<Dns>().pending.get_mut(question) {
        pending.asked.push(Asked { id, server, own: (src, port) });
    }
    if let Ok(origin) = origin
        && let Some(packet) = packet((src, port), (server, PORT), &message.bytes(usize::MAX))
    {
        origin.send(router, packet, |_| ());
        origin.end(router);
    }
}

/// The packet with a datagram between addresses of one version.
fn packet(from: (IpAddr, u16), to: (IpAddr, u16), data: &[u8]) -> Option<Vec<u8>> {
    match (from, to) {
        ((IpAddr::V4(src), from), (IpAddr::V4(dst), to)) => {
            datagram((src, from), (dst, to), data, true)
        }
        ((IpAddr::V6(src), from), (IpAddr::V6(dst), to)) => {
            let len = u16::try_from(size_of::<udp::Header>() + data.len()).ok()?;
            let mut header = udp::Header::new(from, to, len);
            let pseudo = ip6_pseudo(src.octets(), dst.octets(), Protocol::UDP, len.into());
            header.checksum = pseudo.add_bytes(header.as_bytes()).add_bytes(data).udp_checksum();
            let front = ip6::Header::new(src, dst, Protocol::UDP, len);
            Some([front.as_bytes(), header.as_bytes(), data].concat())
        }
        _ => None,
    }
}

/// Gives the answer to all who wait for it; `is_cut` where it is a part only.
fn finish(router: &mut Router, question: &Question, answer: &Answer, is_cut: bool) {
    let Some(pending) = router.own_mut::<Dns>().pending.remove(question) else { return };
    for waiting in &pending.waiting {
        respond(router, waiting, question, (answer, is_cut));
    }
}

/// Sends a client an answer, or a part of one.
fn respond(
    router: &mut Router,
    to: &Waiting,
    question: &Question,
    (answer, is_cut): (&Answer, bool),
) {
    let now = router.now();
    let asked = to.flags & (flag::OPCODE | flag::RECURSION_DESIRED);
    let code = u16::from(answer.code);
    let cut = if is_cut { flag::TRUNCATED } else { 0 };
    let message = Message {
        id: to.id,
        flags: flag::RESPONSE | flag::RECURSION_AVAILABLE | asked | code | cut,
        question: question.clone(),
        answers: answer.records_at(now),
        negative_ttl: None,
    };
    let Some(packet) = packet(to.to, to.from, &message.bytes(LONGEST_ANSWER)) else { return };
    let link = Link::of(to.from.0);
    let Some(table) = router.addresses.of(InterfaceIndex(to.interface)).table(link) else { return };
    if to.from.0.is_ipv4() {
        return send_own(router, table, packet);
    }
    let Some(node) = router.engine.index_of("ip6-lookup") else { return };
    let (thread, interface) = (router.engine.data_threads().start, to.interface);
    router.engine.inject(thread, node, packet, move |p| {
        let l3 = p.offset();
        p.set_l3_offset(l3);
        p.set_rx(interface);
        p.set_fib(table.0);
        p.add_flags(Flags::LOCAL.with(Flags::L3));
    });
}

/// Takes a message.
pub(super) fn arrived(router: &mut Router, arrived: Arrived) {
    if !router.own::<Dns>().is_on {
        return;
    }
    if arrived.is_reply {
        return match replied(router, &arrived) {
            Ok(()) => router.engine.count_at::<Reply>(ReplyCount::Processed, 1),
            Err(why) => router.engine.count_reason_at::<Reply>(why, 1),
        };
    }
    let done = requested(router, &arrived);
    let is_ip4 = arrived.from.0.is_ipv4();
    match (done, is_ip4) {
        (Ok(count), true) => router.engine.count_at::<Request<false>>(count, 1),
        (Ok(count), false) => router.engine.count_at::<Request<true>>(count, 1),
        (Err(why), true) => router.engine.count_reason_at::<Request<false>>(why, 1),
        (Err(why), false) => router.engine.count_reason_at::<Request<true>>(why, 1),
    }
}

/// Takes a request of a client.
fn requested(router: &mut Router, arrived: &Arrived) -> Result<Count, Error> {
    let clients = &router.own::<Dns>().clients;
    if !clients.is_empty() && !clients.iter().any(|prefix| prefix.contains(arrived.from.0)) {
        return Err(Error::Stranger);
    }
    let message = Message::read(arrived.bytes()).map_err(|why| match why {
        Malformed::Questions => Error::Questions,
        Malformed::Other => Error::Bad,
    })?;
    if message.flags & flag::RESPONSE != 0 {
        return Err(Error::Bad);
    }
    let waiting = Waiting {
        from: arrived.from,
        to: arrived.to,
        interface: arrived.interface,
        id: message.id,
        flags: message.flags,
    };
    let now = router.now();
    let without = |code| Answer { code, records: Vec::new(), until: now };
    if message.flags & flag::OPCODE != 0 {
        respond(router, &waiting, &message.question, (&without(code::NOT_IMPLEMENTED), false));
        return Ok(Count::Unimplemented);
    }
    match look_up(router, &message.question, Some(arrived.from.0)) {
        Found::Answer(answer) => respond(router, &waiting, &message.question, (&answer, false)),
        Found::Nothing => {
            let failed = without(code::SERVER_FAILURE);
            respond(router, &waiting, &message.question, (&failed, false));
        }
        Found::Asked => {
            let pending = router.own_mut::<Dns>().pending.get_mut(&message.question);
            let is_near = |other: &&Waiting| network(other.from.0) == network(waiting.from.0);
            let has_room = |pending: &&mut Pending| {
                pending.waiting.len() < MOST_WAITING
                    && pending.waiting.iter().filter(is_near).count() < MOST_WAITING_OF_ONE
            };
            let room = pending.filter(has_room);
            room.ok_or(Error::NoRoom)?.waiting.push(waiting);
            return Ok(Count::Pending);
        }
    }
    Ok(Count::Processed)
}

/// Takes the answer of a name server: it was asked, by this number and from that port, that
/// question (RFC 5452 section 9.1).
fn replied(router: &mut Router, arrived: &Arrived) -> Result<(), ReplyError> {
    let message = Message::read(arrived.bytes()).map_err(|_| ReplyError::Bad)?;
    if message.flags & flag::RESPONSE == 0 {
        return Err(ReplyError::Bad);
    }
    let now = router.now();
    let dns = router.own_mut::<Dns>();
    let pending = dns.pending.get_mut(&message.question).ok_or(ReplyError::NotAsked)?;
    let this = Asked { id: message.id, server: arrived.from.0, own: arrived.to };
    if arrived.from.1 != PORT || !pending.asked.contains(&this) {
        return Err(ReplyError::NotAsked);
    }
    let code = (message.flags & flag::CODE) as u8;
    if code != code::NONE && code != code::NO_NAME {
        // Another server may know more.
        pending.next = now;
        ask(router, &message.question, now);
        return Ok(());
    }
    let answer = Answer::of(code, message.answers, message.negative_ttl, now);
    // A truncated answer is passed on as such and not cached.
    let is_cut = message.flags & flag::TRUNCATED != 0;
    if !is_cut {
        dns.cache.put(message.question.clone(), answer.clone());
    }
    finish(router, &message.question, &answer, is_cut);
    Ok(())
}

/// Asks again what was not answered; the time until there is something to do.
pub(super) fn look(router: &mut Router) -> Wake {
    let now = router.now();
    let pending = router.own::<Dns>().pending.iter();
    let due = pending.filter(|(_, pending)| now >= pending.next);
    let due: Vec<_> = due.map(|(question, _)| question.clone()).collect();
    due.iter().for_each(|question| ask(router, question, now));
    let next = router.own::<Dns>().pending.values().map(|pending| pending.next - now);
    match next.reduce(f64::min) {
        None => Wake::OnEvent,
        Some(seconds) => Wake::AfterOrEvent(Duration::from_secs_f64(seconds.max(0.001))),
    }
}

/// Whether an address may be that of a name server.
pub fn is_host(addr: IpAddr) -> bool {
    let is_own = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
    !is_own.contains(&addr) && !addr.is_multicast() && addr != Ipv4Addr::BROADCAST
}
