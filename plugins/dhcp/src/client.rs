//! Clients: interfaces that ask for an address (RFC 2131 section 4.4).

use control::cli::is_word;
use control::process::between;
use net::adjacency::{AdjacencyIndex, Role};
use net::interface::{MARK, PacketMark};
use net::ip::{datagram, send_own};
use net::prelude::*;
use wire::dhcp::{
    BROADCAST, CLIENT_PORT, Entry, Header, LEAST, SERVER_PORT, address, kind, kind_of, message,
    option, read,
};

use super::lease::{self, Lease, Times, give_up, table_of};
use super::node::{Arrived, To};
use super::{Dhcp, Error, set_detecting};

/// The process of the timers.
pub const PROCESS: &str = "dhcp-client-process";
/// Seconds between two messages, at first and at most.
const FIRST: f64 = 1.0;
const MOST: f64 = 64.0;
/// Seconds after an address was refused before the client starts again (RFC 2131 section 3.1).
const REFUSED: f64 = 10.0;
/// Requests for more time that follow each other quickly: the first may be lost while the server's
/// MAC address is unknown.
const QUICK: u32 = 3;
/// The least seconds between two later requests (RFC 2131 section 4.4.5), and the part of a short
/// lease that they are at least instead.
const LEAST_RENEWAL: f64 = 60.0;
const PART: f64 = 0.1;
/// Seconds by which a timer may be early.
const EARLY: f64 = 0.01;
/// Requests for an offered address before discovery restarts.
const REQUESTS: u32 = 4;
/// Longest names of a client and its host.
const LONGEST: usize = 63;
/// Requested options; classless routes precede the router (RFC 3442).
const WANTED: [u8; 10] = [
    option::SUBNET_MASK,
    option::CLASSLESS_ROUTES,
    option::ROUTER,
    option::DOMAIN_SERVER,
    option::HOST_NAME,
    option::DOMAIN_NAME,
    option::INTERFACE_MTU,
    option::LEASE_TIME,
    option::RENEWAL_TIME,
    option::REBINDING_TIME,
];

/// Hops of messages.
const HOPS: u8 = 128;

/// A client as it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Hostname.
    pub hostname: String,
    /// Name for servers; empty for none.
    pub id: Vec<u8>,
    /// Whether answers are to be broadcast.
    pub broadcast: bool,
    /// The byte of the IPv4 header in front of messages that says how they are to be treated.
    pub tos: u8,
    /// Subscriber to leases: index and process of an API client.
    pub listener: Option<(u32, u32)>,
}

/// State of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It looks for servers.
    Discover,
    /// It has asked for an address.
    Request,
    /// It has one.
    Bound,
}

/// A client.
pub struct Client {
    /// Configuration.
    pub settings: Settings,
    /// How far it is.
    pub state: State,
    /// Current lease.
    pub lease: Option<Lease>,
    /// The address that was offered, and by which server.
    pub offered: Ipv4Addr,
    /// Server.
    pub server: Ipv4Addr,
    /// The neighbour that its offer came from.
    offered_by: MacAddr,
    /// The address that could not be used, and the reason; forgotten with the next lease.
    pub refused: Option<(Ipv4Addr, String)>,
    xid: u32,
    sent: u32,
    /// When there is something to send.
    next: f64,
    /// The earliest time at which it starts again.
    not_before: f64,
    /// Whether a server has refused the last request.
    was_refused: bool,
    /// When any server is asked for more time.
    rebinds: f64,
    /// The least seconds between two requests for more time.
    least: f64,
    /// When the lease ends.
    pub ends: f64,
    /// The adjacency of broadcasts.
    everybody: AdjacencyIndex,
}

impl Client {
    fn new(settings: Settings, everybody: AdjacencyIndex, now: f64) -> Self {
        Self {
            settings,
            state: State::Discover,
            lease: None,
            offered: Ipv4Addr::UNSPECIFIED,
            server: Ipv4Addr::UNSPECIFIED,
            offered_by: MacAddr::ZERO,
            refused: None,
            xid: number_of_exchange(),
            sent: 0,
            next: now,
            not_before: now,
            was_refused: false,
            rebinds: f64::INFINITY,
            least: LEAST_RENEWAL,
            ends: f64::INFINITY,
            everybody,
        }
    }
    /// Seconds from a message to the next.
    fn pause(&self, now: f64) -> f64 {
        let quick = (FIRST * f64::from(1 << self.sent.min(6))).min(MOST);
        if self.state != State::Bound {
            return quick;
        }
        // Half of the time that is left for asking its server, or any.
        let until = if self.is_rebinding(now) { self.ends } else { self.rebinds };
        let left = until - now;
        let pause = (left * 0.5).max(self.least);
        (if self.sent < QUICK { quick.min(pause) } else { pause }).min(left.max(FIRST))
    }
    /// Whether any server is asked for more time, when its own does not give it.
    fn is_rebinding(&self, now: f64) -> bool {
        self.state == State::Bound && now + EARLY >= self.rebinds
    }
}

/// Begins to ask for an address on an interface.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, on: InterfaceIndex, settings: Settings) -> Result<(), Error> {
    router.interfaces.at(on).ok_or(Error::NoInterface)?;
    if router.own::<Dhcp>().clients.contains_key(&on) {
        return Err(Error::ClientExists);
    }
    let Settings { hostname, id, .. } = &settings;
    if !(hostname.is_empty() || is_word(hostname)) || hostname.len().max(id.len()) > LONGEST {
        return Err(Error::Name(LONGEST));
    }
    router.hold_ip(on, IpVersion::V4, true).map_err(Error::Address)?;
    let everybody = router.use_adjacency(on, Role::Neighbor, Ipv4Addr::BROADCAST.into());
    let everybody = everybody.map_err(|why| {
        let _ = router.hold_ip(on, IpVersion::V4, false);
        Error::Adjacency(why)
    })?;
    set_detecting(router, on, |detecting| detecting.by_client = true)?;
    let client = Client::new(settings, everybody, router.now());
    router.own_mut::<Dhcp>().clients.insert(on, client);
    step(router, on);
    router.processes.signal(PROCESS, 0);
    Ok(())
}

/// Gives up the client of an interface, with its address.
///
/// # Errors
/// [`Error::NoClient`].
pub fn remove(router: &mut Router, on: InterfaceIndex) -> Result<(), Error> {
    if !router.own::<Dhcp>().clients.contains_key(&on) {
        return Err(Error::NoClient);
    }
    give_up(router, on);
    if let Some(gone) = router.own_mut::<Dhcp>().clients.remove(&on) {
        router.release_adjacency(gone.everybody);
    }
    // An interface that goes has forgotten both.
    let _ = router.hold_ip(on, IpVersion::V4, false);
    let _ = set_detecting(router, on, |detecting| detecting.by_client = false);
    Ok(())
}

/// Sends due messages on an interface, and schedules the next one.
fn step(router: &mut Router, on: InterfaceIndex) {
    let now = router.now();
    let is_up = router.interfaces.at(on).is_some_and(|i| i.admin_up && i.link_up);
    let Some(client) = router.own_mut::<Dhcp>().clients.get_mut(&on) else { return };
    if now >= client.ends {
        give_up(router, on);
        return restart(router, on);
    }
    if now < client.next {
        return;
    }
    if client.state == State::Request && client.sent >= REQUESTS {
        return restart(router, on);
    }
    client.next = now + client.pause(now);
    client.sent += 1;
    if is_up {
        send(router, on);
    }
}

/// An unpredictable number.
fn number_of_exchange() -> u32 {
    between(1.0, f64::from(u32::MAX)) as u32
}

/// Restarts discovery.
fn restart(router: &mut Router, on: InterfaceIndex) {
    let now = router.now();
    let Some(client) = router.own_mut::<Dhcp>().clients.get_mut(&on) else { return };
    (client.state, client.sent) = (State::Discover, 0);
    client.next = client.not_before.max(now);
    (client.ends, client.xid) = (f64::INFINITY, number_of_exchange());
    (client.offered, client.server) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED);
    step(router, on);
}

/// Sends the message of a client's state.
fn send(router: &mut Router, on: InterfaceIndex) {
    let now = router.now();
    let Some(client) = router.own::<Dhcp>().clients.get(&on) else { return };
    let server = client.server;
    match client.state {
        State::Discover => say(router, on, kind::DISCOVER, Ipv4Addr::BROADCAST),
        // Its own server, then any (RFC 2131 section 4.4.5).
        State::Bound if !client.is_rebinding(now) => say(router, on, kind::REQUEST, server),
        _ => say(router, on, kind::REQUEST, Ipv4Addr::BROADCAST),
    }
}

/// Sends a message of a type to a server, or to all.
fn say(router: &mut Router, on: InterfaceIndex, kind: u8, to: Ipv4Addr) {
    let now = router.now();
    let Some(mac) = router.interfaces.at(on).map(|i| i.mac) else { return };
    let Some(client) = router.own::<Dhcp>().clients.get(&on) else { return };
    let Settings { hostname, id, broadcast, tos, .. } = &client.settings;
    let own = client.lease.as_ref().filter(|_| client.state == State::Bound);
    let is_decline = kind == kind::DECLINE;
    let has_flag = *broadcast && !is_decline;
    let mut header = Header::of_client(client.xid, mac, if has_flag { BROADCAST } else { 0 });
    let id = [&[0], &id[..]].concat();
    let (offered, server) = (client.offered.octets(), client.server.octets());
    let kinds = [kind];
    let mut entries: Vec<Entry<'_>> = vec![(option::MESSAGE_TYPE, &kinds)];
    // The server that is asked for more time gets the address again, as in the original.
    if kind != kind::DISCOVER && !client.is_rebinding(now) {
        entries.push((option::REQUESTED_ADDRESS, &offered));
    }
    if kind != kind::DISCOVER && own.is_none() {
        entries.push((option::SERVER_ID, &server));
    }
    if !hostname.is_empty() && !is_decline {
        entries.push((option::HOST_NAME, hostname.as_bytes()));
    }
    if id.len() > 1 {
        entries.push((option::CLIENT_ID, &id));
    }
    if !is_decline {
        entries.push((option::PARAMETERS, &WANTED));
    }
    let from = own.map_or(Ipv4Addr::UNSPECIFIED, |lease| lease.addr.addr());
    header.client = from.octets();
    let (tos, everybody) = (*tos, client.everybody);
    let bytes = message(&header, &entries, LEAST);
    let Some(mut packet) = datagram((from, CLIENT_PORT), (to, SERVER_PORT), &bytes, true) else {
        return;
    };
    finish(&mut packet, tos);
    if to.is_broadcast() {
        broadcast_on(router, everybody, packet, tos);
    } else if let Some(table) = table_of(router, on) {
        send_own(router, table, packet);
    }
}

/// Sends a packet to all on a link, past the features of what the interface sends.
fn broadcast_on(router: &mut Router, over: AdjacencyIndex, packet: Vec<u8>, tos: u8) {
    let Some(node) = router.engine.index_of("ip4-rewrite") else { return };
    let thread = router.engine.data_threads().start;
    router.engine.inject(thread, node, packet, move |p| {
        let l3 = p.offset();
        p.set_l3_offset(l3);
        p.set_adjacency(over.0);
        p.set_metadata(&MARK, PacketMark::of_ip(tos));
        p.add_flags(Flags::LOCAL.with(Flags::L3));
    });
}

/// Gives a message its class, and the hops of the original.
fn finish(packet: &mut [u8], tos: u8) {
    use zerocopy::FromBytes;
    if let Ok((header, _)) = wire::ip4::Header::mut_from_prefix(packet) {
        (header.tos, header.ttl) = (tos, HOPS);
        header.update_checksum();
    }
}

/// Handles a message for the client of its receive interface. Those for others are ignored: replies
/// are broadcast to all.
pub fn arrived(router: &mut Router, arrived: &Arrived) {
    let on = InterfaceIndex(arrived.interface);
    let Some(mac) = router.interfaces.at(on).map(|i| i.mac) else { return };
    let now = router.now();
    let Some(client) = router.own_mut::<Dhcp>().clients.get_mut(&on) else { return };
    let Some((header, options)) = read(arrived.bytes()) else { return };
    // Some servers answer without the number of the exchange: one that was heard, or by broadcast.
    let is_known = client.state != State::Discover && arrived.mac == client.offered_by;
    let is_unicast_wanted = client.state == State::Discover && !client.settings.broadcast;
    let is_near = arrived.to == To::Client || is_known || is_unicast_wanted;
    let is_numbered = header.xid.get() == client.xid || header.xid.get() == 0 && is_near;
    let is_ours = is_numbered && header.mac[..6] == mac.0;
    let offered = Ipv4Addr::from(header.yours);
    let is_host = !offered.is_unspecified() && !offered.is_multicast() && !offered.is_broadcast();
    let is_asked = client.state == State::Request || client.sent > 0;
    let server = address(options, option::SERVER_ID);
    let is_from_asked = server.is_none_or(|server| server == client.server);
    // Any server answers where all were asked, and one that took over from ours may give more time.
    let is_anyone = client.state == State::Bound
        && (client.is_rebinding(now) || kind_of(options) == Some(kind::ACK));
    let is_awaited = is_asked && (is_anyone || is_from_asked);
    match (client.state, kind_of(options)) {
        _ if !is_ours => (),
        (State::Request | State::Bound, _) if !is_awaited => (),
        (State::Discover, Some(kind::OFFER)) if is_host && client.sent > 0 => {
            let Some(server) = server else { return };
            (client.offered, client.server) = (offered, server);
            client.offered_by = arrived.mac;
            (client.state, client.sent, client.next) = (State::Request, 0, now);
            step(router, on);
        }
        (State::Request | State::Bound, Some(kind::ACK)) if is_host => {
            (client.offered, client.server) = (offered, server.unwrap_or(client.server));
            bind(router, on, options);
        }
        (State::Request | State::Bound, Some(kind::NAK)) => {
            // A server that refuses what it offers is not asked without pause.
            let pause = if client.was_refused { REFUSED } else { 0.0 };
            (client.was_refused, client.not_before) = (true, now + pause);
            give_up(router, on);
            restart(router, on);
        }
        _ => (),
    }
    router.processes.signal(PROCESS, 0);
}

/// Takes an address with what was said about it.
fn bind(router: &mut Router, on: InterfaceIndex, options: &[u8]) {
    let now = router.now();
    let Some(client) = router.own_mut::<Dhcp>().clients.get_mut(&on) else { return };
    let Some(lease) = Lease::read(client.offered, options) else { return };
    if client.lease.as_ref() != Some(&lease) {
        give_up(router, on);
        if let Err(why) = lease::take(router, on, &lease) {
            return refuse(router, on, &lease, &why.to_string());
        }
    }
    let times = Times::read(options);
    let Some(client) = router.own_mut::<Dhcp>().clients.get_mut(&on) else { return };
    (client.state, client.sent) = (State::Bound, 0);
    client.next = now + times.renewal;
    (client.rebinds, client.ends) = (now + times.rebinding, now + times.end);
    client.least = (times.end * PART).clamp(FIRST, LEAST_RENEWAL);
    (client.lease, client.refused, client.was_refused) = (Some(lease), None, false);
    tell(router, on);
}

/// Gives an address back that cannot be used, and starts again later (RFC 2131 section 3.1). The
/// same reason is logged once.
fn refuse(router: &mut Router, on: InterfaceIndex, lease: &Lease, why: &str) {
    let name = router.interfaces.name(on.0).to_owned();
    let now = router.now();
    let Some(client) = router.own_mut::<Dhcp>().clients.get_mut(&on) else { return };
    let refused = Some((lease.addr.addr(), why.to_owned()));
    let is_new = client.refused != refused;
    client.refused = refused;
    (client.state, client.not_before) = (State::Request, now + REFUSED);
    if is_new {
        router.log.class("dhcp", "client").warn(format_args!("{name}: {}: {why}", lease.addr));
    }
    say(router, on, kind::DECLINE, Ipv4Addr::BROADCAST);
    restart(router, on);
}

/// Notifies the subscriber of the lease.
fn tell(router: &mut Router, on: InterfaceIndex) {
    let Some(mac) = router.interfaces.at(on).map(|i| i.mac) else { return };
    let Some(client) = router.own_mut::<Dhcp>().clients.get_mut(&on) else { return };
    let Some((listener, pid)) = client.settings.listener else { return };
    let event = super::api::DhcpComplEvent { lease: super::api::lease_of(on, client, mac) };
    if !router.clients.send_to(listener, pid, &event)
        && let Some(client) = router.own_mut::<Dhcp>().clients.get_mut(&on)
    {
        client.settings.listener = None;
    }
}

/// Carries on with all clients; the time until there is something to do.
pub fn look(router: &mut Router) -> Wake {
    let all: Vec<_> = router.own::<Dhcp>().clients.keys().copied().collect();
    all.into_iter().for_each(|on| step(router, on));
    let now = router.now();
    let due = |client: &Client| client.next.min(client.ends) - now;
    match router.own::<Dhcp>().clients.values().map(due).reduce(f64::min) {
        None => Wake::OnEvent,
        Some(seconds) => Wake::AfterOrEvent(Duration::from_secs_f64(seconds.clamp(0.01, MOST))),
    }
}

/// An interface that comes up asks at once.
pub fn came_up(router: &mut Router, on: InterfaceIndex) {
    let is_bound = |client: &Client| client.state == State::Bound;
    if router.own::<Dhcp>().clients.get(&on).is_some_and(|client| !is_bound(client)) {
        restart(router, on);
    }
}
