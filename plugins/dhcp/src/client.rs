//! Clients: interfaces that ask for an address (RFC 2131 section 4.4).

use std::net::Ipv4Addr;
use std::time::Duration;

use control::cli::is_word;
use control::process::{Wake, between};
use net::adjacency::Link;
use net::fib::{Path, Source, TableIndex, Target};
use net::ip::{datagram, send_own};
use net::{InterfaceIndex, Router, neighbor};
use wire::dhcp::{
    BROADCAST, CLIENT_PORT, Entry, Header, LEAST, SERVER_PORT, address, addresses, kind, kind_of,
    message, number, option, read,
};
use wire::ethernet::{self, EtherType};
use wire::{Ip4Prefix, IpVersion, MacAddr, Prefix};
use zerocopy::IntoBytes;

use super::node::Arrived;
use super::{Dhcp, Error, set_detecting};

/// The process of the timers.
pub const PROCESS: &str = "dhcp-client-process";
/// Seconds between two messages, at first and at most.
const FIRST: f64 = 1.0;
const MOST: f64 = 64.0;
/// Requests for an offered address before offers are asked for anew.
const REQUESTS: u32 = 4;
/// Seconds of a lease that says nothing.
const LEASE: u32 = 3600;
/// Name servers that are kept.
const MOST_SERVERS: usize = 8;
/// Longest names of a client and its host.
const LONGEST: usize = 63;
/// What is asked for.
const WANTED: [u8; 7] = [
    option::SUBNET_MASK,
    option::ROUTER,
    option::DOMAIN_SERVER,
    option::HOST_NAME,
    option::DOMAIN_NAME,
    option::LEASE_TIME,
    option::RENEWAL_TIME,
];

/// A client as it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Name of the host.
    pub hostname: String,
    /// Name for servers; empty for none.
    pub id: Vec<u8>,
    /// Whether answers are to be broadcast.
    pub broadcast: bool,
    /// The byte of the IPv4 header in front of messages that says how they are to be treated.
    pub tos: u8,
    /// Who is told of leases: number and process of an API client.
    pub listener: Option<(u32, u32)>,
}

/// How far a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It looks for servers.
    Discover,
    /// It has asked for an address.
    Request,
    /// It has one.
    Bound,
}

/// An address that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The address.
    pub addr: Ip4Prefix,
    /// Router of the subnet.
    pub router: Option<Ipv4Addr>,
    /// Name servers.
    pub servers: Vec<Ipv4Addr>,
}

/// A client.
pub struct Client {
    /// As it is set.
    pub settings: Settings,
    /// How far it is.
    pub state: State,
    /// What it has.
    pub lease: Option<Lease>,
    /// The address that was offered, and by which server.
    pub offered: Ipv4Addr,
    /// The server.
    pub server: Ipv4Addr,
    xid: u32,
    sent: u32,
    /// When there is something to send.
    next: f64,
    /// When the lease ends.
    pub ends: f64,
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
    set_detecting(router, on, |detecting| detecting.by_client = true)?;
    let now = router.now();
    let client = Client {
        settings,
        state: State::Discover,
        lease: None,
        offered: Ipv4Addr::UNSPECIFIED,
        server: Ipv4Addr::UNSPECIFIED,
        xid: between(1.0, f64::from(u32::MAX)) as u32,
        sent: 0,
        next: now,
        ends: f64::INFINITY,
    };
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
    router.own_mut::<Dhcp>().clients.remove(&on);
    // An interface that goes has forgotten both.
    let _ = router.hold_ip(on, IpVersion::V4, false);
    let _ = set_detecting(router, on, |detecting| detecting.by_client = false);
    Ok(())
}

/// Takes away what a lease gave.
fn give_up(router: &mut Router, on: InterfaceIndex) {
    let client = router.own_mut::<Dhcp>().clients.get_mut(&on);
    let Some(lease) = client.and_then(|client| client.lease.take()) else { return };
    lead_by(router, on, lease.router, false);
    // Somebody may have taken the address away meanwhile.
    let _ = router.remove_address(on, Prefix::Ip4(lease.addr));
}

/// Has the default route of an interface's table lead to a router, or no longer.
fn lead_by(router: &mut Router, on: InterfaceIndex, by: Option<Ipv4Addr>, is_on: bool) {
    let Some(by) = by else { return };
    let Some(table) = table_of(router, on) else { return };
    let path = Path::to(Target::Neighbor { interface: on, addr: by.into() });
    let all = Prefix::Ip4(Ip4Prefix::new(Ipv4Addr::UNSPECIFIED, 0).expect("a length of nothing"));
    // Without room the network of the address is reached all the same.
    let _ = match is_on {
        true => router.add_route(table, all, Source::DHCP, &[path]).map(|_| ()),
        false => router.remove_route(table, all, Source::DHCP, &[path]),
    };
}

fn table_of(router: &Router, on: InterfaceIndex) -> Option<TableIndex> {
    router.addresses.of(on).table(Link::Ip4)
}

/// Sends what is due on an interface, and says when the next message is.
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
    let pause = (FIRST * f64::from(1 << client.sent.min(6))).min(MOST);
    client.next = now + pause;
    client.sent += 1;
    if is_up {
        send(router, on);
    }
}

/// Looks for servers anew.
fn restart(router: &mut Router, on: InterfaceIndex) {
    let now = router.now();
    let Some(client) = router.own_mut::<Dhcp>().clients.get_mut(&on) else { return };
    (client.state, client.sent, client.next) = (State::Discover, 0, now);
    (client.ends, client.xid) = (f64::INFINITY, client.xid.wrapping_add(1));
    (client.offered, client.server) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED);
    step(router, on);
}

/// Sends the message of a client's state.
fn send(router: &mut Router, on: InterfaceIndex) {
    let Some(mac) = router.interfaces.at(on).map(|i| i.mac) else { return };
    let Some(client) = router.own::<Dhcp>().clients.get(&on) else { return };
    let Settings { hostname, id, broadcast, tos, .. } = &client.settings;
    let mut header = Header::of_client(client.xid, mac, if *broadcast { BROADCAST } else { 0 });
    let id = [&[0], &id[..]].concat();
    let (offered, server) = (client.offered.octets(), client.server.octets());
    let kind = if client.state == State::Discover { kind::DISCOVER } else { kind::REQUEST };
    let kind = [kind];
    let mut entries: Vec<Entry<'_>> = vec![(option::MESSAGE_TYPE, &kind)];
    if client.state != State::Discover {
        entries.push((option::REQUESTED_ADDRESS, &offered));
    }
    if client.state == State::Request {
        entries.push((option::SERVER_ID, &server));
    }
    if !hostname.is_empty() {
        entries.push((option::HOST_NAME, hostname.as_bytes()));
    }
    if id.len() > 1 {
        entries.push((option::CLIENT_ID, &id));
    }
    entries.push((option::PARAMETERS, &WANTED));
    let own = client.lease.as_ref().filter(|_| client.state == State::Bound);
    let (from, to) = match own {
        Some(lease) => (lease.addr.addr(), client.server),
        None => (Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST),
    };
    header.client = from.octets();
    let tos = *tos;
    let bytes = message(&header, &entries, LEAST);
    let Some(mut packet) = datagram((from, CLIENT_PORT), (to, SERVER_PORT), &bytes, true) else {
        return;
    };
    set_tos(&mut packet, tos);
    if to.is_broadcast() {
        let front = ethernet::Header::new(MacAddr::BROADCAST, mac, EtherType::IP4);
        let frame = [front.as_bytes(), &packet].concat();
        neighbor::send(router, on, frame);
    } else if let Some(table) = table_of(router, on) {
        send_own(router, table, packet);
    }
}

fn set_tos(packet: &mut [u8], tos: u8) {
    use zerocopy::FromBytes;
    if let Ok((header, _)) = wire::ip4::Header::mut_from_prefix(packet) {
        header.set_tos(tos);
    }
}

/// Takes a message for the client of the interface that it came in on. Those for others are none of
/// ours: an answer is broadcast to all.
pub fn arrived(router: &mut Router, arrived: &Arrived) {
    let on = InterfaceIndex(arrived.interface);
    let Some(mac) = router.interfaces.at(on).map(|i| i.mac) else { return };
    let now = router.now();
    let Some(client) = router.own_mut::<Dhcp>().clients.get_mut(&on) else { return };
    let Some((header, options)) = read(arrived.bytes()) else { return };
    // Some servers answer without the number of the exchange.
    let is_ours = [client.xid, 0].contains(&header.xid.get()) && header.mac[..6] == mac.0;
    let offered = Ipv4Addr::from(header.yours);
    let is_host = !offered.is_unspecified() && !offered.is_multicast() && !offered.is_broadcast();
    match (client.state, kind_of(options)) {
        _ if !is_ours => (),
        (State::Discover, Some(kind::OFFER)) if is_host => {
            let Some(server) = address(options, option::SERVER_ID) else { return };
            (client.offered, client.server) = (offered, server);
            (client.state, client.sent, client.next) = (State::Request, 0, now);
            step(router, on);
        }
        (State::Request | State::Bound, Some(kind::ACK)) if is_host => {
            let server = address(options, option::SERVER_ID).unwrap_or(client.server);
            (client.offered, client.server) = (offered, server);
            bind(router, on, options);
        }
        (State::Request | State::Bound, Some(kind::NAK)) => {
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
    let mask = number(options, option::SUBNET_MASK).unwrap_or(u32::MAX);
    let len = mask.leading_ones();
    let Ok(addr) = Ip4Prefix::new(client.offered, len as u8) else { return };
    let lease = Lease {
        addr,
        router: address(options, option::ROUTER),
        servers: addresses(options, option::DOMAIN_SERVER).take(MOST_SERVERS).collect(),
    };
    let seconds = number(options, option::LEASE_TIME).unwrap_or(LEASE).max(1);
    let renewal = number(options, option::RENEWAL_TIME).filter(|renewal| *renewal < seconds);
    client.ends = if seconds == u32::MAX { f64::INFINITY } else { now + f64::from(seconds) };
    client.next = now + f64::from(renewal.unwrap_or(seconds / 2).max(1));
    (client.state, client.sent) = (State::Bound, 0);
    if client.lease.as_ref() != Some(&lease) {
        give_up(router, on);
        if let Err(why) = router.add_learned_address(on, Prefix::Ip4(addr)) {
            let name = router.interfaces.name(on.0).to_owned();
            router.log.class("dhcp", "client").warn(format_args!("{name}: {addr}: {why}"));
            return restart(router, on);
        }
        // The route has the router asked for.
        lead_by(router, on, lease.router, true);
    }
    let Some(client) = router.own_mut::<Dhcp>().clients.get_mut(&on) else { return };
    client.lease = Some(lease);
    tell(router, on);
}

/// Tells whoever asked for it of the lease.
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
