//! Clients: what is asked of servers, and what is done with their leases (RFC 8415 section 18.2).

use control::process::between;
use net::interface::Kind;
use net::prelude::*;
use wire::dhcp6::{Lease, kind, status};

use super::exchange::{self, Key, Message, Timing};
use super::leases::{Held, bind, deprecate, give_up, uninstall};
use super::message::Answer;
use super::prefixes::{LONGEST_GROUP, is_group};
use super::{Dhcp6, Ia, set_port};
use crate::Error;

/// Processes of the timers, by kind of leases.
pub const PROCESS: [&str; 2] = ["dhcp6-client-cp-process", "dhcp6-pd-client-cp-process"];
/// Seconds that a client waits at most before it looks for servers.
const MOST_DELAY: f64 = 1.0;
/// Bounds of exchanges (RFC 8415 section 7.6).
const REQUEST: Timing = Timing { irt: 1, mrt: 30, mrc: 10, mrd: 0 };
const CONFIRM: Timing = Timing { irt: 1, mrt: 4, mrc: 0, mrd: 10 };
const RENEW: Timing = Timing { irt: 10, mrt: 600, mrc: 0, mrd: 0 };
/// Seconds after an address was declined before its client starts again.
const DECLINED: f64 = 10.0;
/// A client that stops sends it once, without waiting for a reply.
const RELEASE: Timing = Timing { irt: 1, mrt: 0, mrc: 1, mrd: 0 };
const SOL_MAX_RT: u32 = 3600;
/// The values servers may set.
const SOL_MAX_RTS: std::ops::RangeInclusive<u32> = 60..=86400;

/// State of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits a little, so that not all clients ask at once.
    Starting,
    /// It looks for servers.
    Solicit,
    /// It has asked one for leases.
    Request,
    /// It has leases.
    Bound,
    /// It asks whether they fit the link, which was down.
    Confirm,
    /// It asks its server for more time.
    Renew,
    /// It asks any server for more time.
    Rebind,
}

impl State {
    /// The type of its messages.
    fn kind(self) -> Option<u8> {
        match self {
            Self::Starting | Self::Bound => None,
            Self::Solicit => Some(kind::SOLICIT),
            Self::Request => Some(kind::REQUEST),
            Self::Confirm => Some(kind::CONFIRM),
            Self::Renew => Some(kind::RENEW),
            Self::Rebind => Some(kind::REBIND),
        }
    }
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Solicit => "solicit",
            Self::Request => "request",
            Self::Bound => "bound",
            Self::Confirm => "confirm",
            Self::Renew => "renew",
            Self::Rebind => "rebind",
        }
    }
}

/// A client.
pub struct Client {
    /// How far it is.
    pub state: State,
    /// The group of its prefixes.
    pub group: String,
    /// Its leases.
    pub leases: Vec<Held>,
    /// The server they are from.
    pub server: Option<u32>,
    /// When the server is asked for more time, and when any is.
    pub t1: f64,
    /// When any server is asked.
    pub t2: f64,
    /// Leases that its server offers, until they are asked for.
    offer: Option<Vec<Lease>>,
    /// Until when it waits before it looks for servers.
    next: f64,
    /// The earliest time at which it starts again.
    not_before: f64,
    max_rt: u32,
    was_up: bool,
}

impl Client {
    /// Whether it has to do with a server.
    pub fn knows(&self, server: u32) -> bool {
        self.server == Some(server)
    }
    /// Its leases, as messages have them.
    fn asked(&self) -> Vec<Lease> {
        self.leases.iter().map(|held| wish(held.prefix.addr(), held.prefix.prefix_len())).collect()
    }
    fn is_in_time(&self) -> bool {
        matches!(self.state, State::Bound | State::Renew | State::Rebind | State::Confirm)
    }
    /// When there is something to do.
    fn due(&self) -> f64 {
        let ends = self.leases.iter().flat_map(|held| [held.preferred_until, held.valid_until]);
        let wait = match self.state {
            State::Starting => self.next,
            State::Bound => self.t1.min(self.t2),
            State::Renew => self.t2,
            _ => f64::INFINITY,
        };
        ends.fold(wait, f64::min)
    }
}

/// A lease that is asked for; how long it lasts is the server's business (RFC 8415 sections 21.6
/// and 21.22).
fn wish(addr: Ipv6Addr, len: u8) -> Lease {
    Lease { addr, len, preferred: 0, valid: 0 }
}

/// The client of an interface.
pub fn at(router: &mut Router, ia: Ia, on: InterfaceIndex) -> Option<&mut Client> {
    router.own_mut::<Dhcp6>().clients.get_mut(&(ia, on))
}

fn wake(router: &mut Router, ia: Ia) {
    router.processes.signal(PROCESS[ia as usize], 0);
}

fn is_up(router: &Router, on: InterfaceIndex) -> bool {
    router.interfaces.at(on).is_some_and(|i| i.admin_up && i.link_up)
}

/// Requests addresses, or prefixes of a group, on an interface.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, ia: Ia, on: InterfaceIndex, group: &str) -> Result<(), Error> {
    let kind = router.interfaces.at(on).ok_or(Error::NoInterface)?.kind;
    if kind != Kind::Ethernet {
        return Err(Error::NoEthernet);
    }
    if router.own::<Dhcp6>().clients.contains_key(&(ia, on)) {
        return Err(Error::ClientExists);
    }
    if ia == Ia::Prefix && !is_group(group) {
        return Err(Error::Group(LONGEST_GROUP));
    }
    router.hold_ip(on, IpVersion::V6, true).map_err(Error::Address)?;
    set_port(router, |port| port.clients = true).inspect_err(|_| {
        let _ = router.hold_ip(on, IpVersion::V6, false);
    })?;
    let now = router.now();
    let client = Client {
        state: State::Starting,
        group: group.to_owned(),
        leases: Vec::new(),
        server: None,
        t1: f64::INFINITY,
        t2: f64::INFINITY,
        offer: None,
        next: now + between(0.0, MOST_DELAY),
        not_before: now,
        max_rt: SOL_MAX_RT,
        was_up: is_up(router, on),
    };
    router.own_mut::<Dhcp6>().clients.insert((ia, on), client);
    wake(router, ia);
    Ok(())
}

/// Gives up the client of an interface: its leases are given back.
///
/// # Errors
/// [`Error::NoClient`].
pub fn remove(router: &mut Router, ia: Ia, on: InterfaceIndex) -> Result<(), Error> {
    let client = at(router, ia, on).ok_or(Error::NoClient)?;
    let (is_in_time, server, leases) = (client.is_in_time(), client.server, client.asked());
    stop(router, ia, on);
    if is_in_time && is_up(router, on) {
        let message = Message { server, leases, ..Message::default() };
        // Without an answer the server forgets the leases in time.
        let _ = exchange::start(router, Key { ia, on, kind: kind::RELEASE }, message, RELEASE);
    }
    give_up(router, ia, on);
    let dhcp = router.own_mut::<Dhcp6>();
    dhcp.clients.remove(&(ia, on));
    let has_others = !dhcp.clients.is_empty();
    // An interface that goes has forgotten it.
    let _ = router.hold_ip(on, IpVersion::V6, false);
    // To give up the port cannot fail where proxies take it over.
    set_port(router, |port| port.clients = has_others)
}

/// Says to a server that addresses of it cannot be used, and starts again later (section 18.2.8).
pub fn decline(router: &mut Router, (ia, on): (Ia, InterfaceIndex), server: u32, bad: Vec<Lease>) {
    let not_before = router.now() + DECLINED;
    at(router, ia, on).into_iter().for_each(|client| client.not_before = not_before);
    let message = Message { server: Some(server), leases: bad, ..Message::default() };
    // Without it the server takes them for used, as they are.
    let _ = exchange::start(router, Key { ia, on, kind: kind::DECLINE }, message, RELEASE);
}

/// Ends what a client is asking.
fn stop(router: &mut Router, ia: Ia, on: InterfaceIndex) {
    if let Some(kind) = at(router, ia, on).and_then(|client| client.state.kind()) {
        exchange::stop(router, Key { ia, on, kind });
    }
}

/// Restarts discovery, in a moment.
pub fn restart(router: &mut Router, ia: Ia, on: InterfaceIndex) {
    stop(router, ia, on);
    give_up(router, ia, on);
    let now = router.now();
    let Some(client) = at(router, ia, on) else { return };
    client.state = State::Starting;
    client.next = (now + between(0.0, MOST_DELAY)).max(client.not_before);
    (client.server, client.offer) = (None, None);
    wake(router, ia);
}

/// Goes over to a state, and sends its message.
fn go(router: &mut Router, ia: Ia, on: InterfaceIndex, state: State) {
    stop(router, ia, on);
    let now = router.now();
    let Some(client) = at(router, ia, on) else { return };
    client.state = state;
    let Some(kind) = state.kind() else { return };
    let longest = client.leases.iter().map(|held| held.valid_until).fold(now, f64::max);
    let until = |time: f64| if time.is_finite() { (time - now).max(1.0) as u32 } else { 0 };
    let timing = match state {
        State::Solicit => Timing { irt: 1, mrt: client.max_rt, mrc: 0, mrd: 0 },
        State::Confirm => CONFIRM,
        State::Renew => Timing { mrd: until(client.t2), ..RENEW },
        State::Rebind => Timing { mrd: until(longest), ..RENEW },
        _ => REQUEST,
    };
    let asks_one = matches!(state, State::Request | State::Renew);
    let server = client.server.filter(|_| asks_one);
    let leases = client.offer.take().unwrap_or_else(|| client.asked());
    let message = Message { server, t1: 0, t2: 0, leases };
    let key = Key { ia, on, kind };
    if let Err(why) = exchange::start(router, key, message, timing) {
        let name = router.interfaces.name(on.0).to_owned();
        router.log.class("dhcp", "client6").warn(format_args!("{name}: {why}"));
        // Not before it has looked at everything else.
        if let Some(client) = at(router, ia, on) {
            (client.state, client.next) = (State::Starting, now + 1.0);
        }
        return;
    }
    wake(router, ia);
}

/// A client has leases, and waits for their times.
pub fn bound(router: &mut Router, ia: Ia, on: InterfaceIndex) {
    go(router, ia, on, State::Bound);
    wake(router, ia);
}

/// An exchange has ended without an answer.
pub fn failed(router: &mut Router, key: Key) {
    let Key { ia, on, kind } = key;
    let Some(client) = at(router, ia, on) else { return };
    if client.state.kind() != Some(kind) {
        return;
    }
    match client.state {
        // What cannot be confirmed is used on (section 18.2.3).
        State::Confirm => go(router, ia, on, State::Bound),
        State::Renew => go(router, ia, on, State::Rebind),
        _ => restart(router, ia, on),
    }
}

/// Takes the answer to an exchange.
pub fn answered(router: &mut Router, key: Key, server: u32, answer: &Answer) {
    let Key { ia, on, kind } = key;
    let Some(client) = at(router, ia, on) else { return };
    if client.state.kind() != Some(kind) {
        return;
    }
    if let Some(max_rt) = answer.max_rt.filter(|max_rt| SOL_MAX_RTS.contains(max_rt)) {
        client.max_rt = max_rt;
    }
    match (client.state, answer.kind) {
        (State::Solicit, kind::ADVERTISE) => offered(router, (ia, on), server, answer),
        // These ask one.
        (State::Request | State::Renew, _) if client.server != Some(server) => (),
        (State::Request | State::Renew | State::Rebind | State::Confirm, kind::REPLY) => {
            replied(router, (ia, on), server, answer);
        }
        _ => (),
    }
}

/// Asks a server for what it offers. The first offer that can be used is taken, as in the original.
fn offered(router: &mut Router, (ia, on): (Ia, InterfaceIndex), server: u32, answer: &Answer) {
    let Some(given) = &answer.given else { return };
    if answer.status != status::SUCCESS || !given.is_good() {
        return;
    }
    let Some(client) = at(router, ia, on) else { return };
    let wishes = given.leases.iter().map(|lease| wish(lease.addr, lease.len)).collect();
    (client.server, client.offer) = (Some(server), Some(wishes));
    go(router, ia, on, State::Request);
}

/// Takes a reply to a request for leases or more time.
fn replied(router: &mut Router, (ia, on): (Ia, InterfaceIndex), server: u32, answer: &Answer) {
    let Some(client) = at(router, ia, on) else { return };
    let state = client.state;
    match (state, answer.status, &answer.given) {
        (State::Confirm, status::SUCCESS, _) => go(router, ia, on, State::Bound),
        (_, status::NOT_ON_LINK, _) => restart(router, ia, on),
        (State::Confirm, ..) | (_, _, None) => (),
        (State::Renew | State::Rebind, _, Some(given))
            if given.status == status::NO_BINDING || answer.status == status::NO_BINDING =>
        {
            client.server = Some(server);
            go(router, ia, on, State::Request);
        }
        (State::Request, _, Some(given)) if given.status != status::SUCCESS => {
            restart(router, ia, on);
        }
        // The message goes on being sent.
        (_, code, _) if code != status::SUCCESS => (),
        (_, _, Some(given)) if !given.is_good() => (),
        // Only what was given before can be taken back.
        (State::Request, _, Some(given)) if !given.gives() => (),
        (_, _, Some(given)) => bind(router, (ia, on), server, given),
    }
}

/// Runs due actions of a client.
fn step(router: &mut Router, ia: Ia, on: InterfaceIndex) {
    let now = router.now();
    let Some(client) = at(router, ia, on) else { return };
    let had_leases = !client.leases.is_empty();
    let (stay, ended): (Vec<_>, Vec<_>) =
        client.leases.drain(..).partition(|held| now < held.valid_until);
    client.leases = stay;
    let mut old = Vec::new();
    for held in client.leases.iter_mut().filter(|held| now >= held.preferred_until) {
        held.preferred_until = f64::INFINITY;
        old.push(held.prefix);
    }
    let is_lost = had_leases && client.leases.is_empty() && client.is_in_time();
    ended.iter().for_each(|held| uninstall(router, ia, on, held.prefix));
    old.into_iter().for_each(|prefix| deprecate(router, ia, on, prefix, true));
    if is_lost {
        return restart(router, ia, on);
    }
    let Some(client) = at(router, ia, on) else { return };
    match client.state {
        State::Starting if now >= client.next => go(router, ia, on, State::Solicit),
        State::Bound if now >= client.t2 => go(router, ia, on, State::Rebind),
        State::Bound if now >= client.t1 => go(router, ia, on, State::Renew),
        State::Renew if now >= client.t2 => go(router, ia, on, State::Rebind),
        _ => (),
    }
}

/// Carries on with all clients of a kind of leases; the time until there is something to do.
pub fn look(router: &mut Router, ia: Ia) -> Wake {
    let all = router.own::<Dhcp6>().clients.keys().filter(|(kind, _)| *kind == ia);
    let all: Vec<_> = all.map(|(_, on)| *on).collect();
    all.into_iter().for_each(|on| step(router, ia, on));
    let now = router.now();
    let clients = router.own::<Dhcp6>().clients.iter().filter(|((kind, _), _)| *kind == ia);
    let due = clients.map(|(_, client)| client.due()).filter(|due| due.is_finite());
    match due.reduce(f64::min) {
        None => Wake::OnEvent,
        Some(due) => Wake::AfterOrEvent(Duration::from_secs_f64((due - now).max(0.001))),
    }
}

/// An interface that comes up looks for servers, or whether its leases fit still (RFC 8415 section
/// 18.2.12).
pub fn follow_state(router: &mut Router, on: InterfaceIndex) {
    let now_up = is_up(router, on);
    for ia in [Ia::Address, Ia::Prefix] {
        let Some(client) = at(router, ia, on) else { continue };
        let came_up = now_up && !client.was_up;
        client.was_up = now_up;
        match (came_up, client.is_in_time(), ia) {
            (false, ..) => (),
            (true, false, _) => restart(router, ia, on),
            (true, true, Ia::Address) => go(router, ia, on, State::Confirm),
            (true, true, Ia::Prefix) => go(router, ia, on, State::Rebind),
        }
    }
}
