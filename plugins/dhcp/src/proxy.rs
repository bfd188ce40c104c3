//! Proxies: messages of clients behind an interface go to servers somewhere else, and back (RFC
//! 2131 section 4.1, RFC 3046, RFC 6607; RFC 8415 section 19).
//!
//! Proxies are those of the table that the interface of the clients looks up in.

use net::fib::{Path, Source};
use net::ip::{datagram, send_own};
use net::mfib::{EntryFlags, ItfFlags, MPath, MPrefix};
use net::neighbor;
use net::prelude::*;
use wire::dhcp::{
    CLIENT_PORT, Entry, Header, LEAST, SERVER_PORT, kind, kind_of, message, option, options, read,
};
use wire::dhcp6;

use super::node::{Arrived, Count, Count6, Error as Drop, Error6 as Drop6, PROXY4, PROXY6};
use super::node::{Proxy4, Proxy6};
use super::v6::{self, datagram6};
use super::{Dhcp, Error};

/// Most servers of a table.
const MOST_SERVERS: usize = 16;
/// Relays that a message over IPv4 passes at most.
const MOST_HOPS: u8 = 16;
/// Relays that a message over IPv6 passes at most (RFC 8415 section 7.6).
const MOST_HOPS6: u8 = 8;
/// Operation of messages of servers.
const REPLY: u8 = 2;
/// Bytes of a message between relays before its options.
const RELAY: usize = 34;
/// Sub-options of what a relay adds.
mod sub {
    pub const CIRCUIT: u8 = 1;
    pub const LINK: u8 = 5;
    pub const VSS: u8 = 151;
    pub const VSS_CONTROL: u8 = 152;
}

/// A server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// MAC address.
    pub addr: IpAddr,
    /// Table to reach it in.
    pub table: TableIndex,
}

/// Which virtual network a client is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vss {
    /// By name.
    Name(String),
    /// By number (RFC 2685).
    Id {
        /// Organizationally unique identifier.
        oui: u32,
        /// Number.
        index: u32,
    },
    /// The one that has none.
    Default,
}

impl Vss {
    /// Its type and value, as options have them.
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Name(name) => [&[0], name.as_bytes()].concat(),
            Self::Id { oui, index } => {
                [&[1], &oui.to_be_bytes()[1..], &index.to_be_bytes()].concat()
            }
            Self::Default => vec![255],
        }
    }
}

/// The relay of a table.
#[derive(Clone, Debug)]
pub struct Proxies {
    /// Servers, in the order in which they were added.
    pub servers: Vec<Server>,
    /// Local address.
    pub src: IpAddr,
}

/// A table of a family.
pub type Key = (Link, TableIndex);

/// Adds a server for clients behind interfaces of a table.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, key: Key, server: Server, src: IpAddr) -> Result<(), Error> {
    let link = key.0;
    if Link::of(server.addr) != link || Link::of(src) != link {
        return Err(Error::Families);
    }
    if server.addr.is_unspecified() || server.addr.is_multicast() {
        return Err(Error::Server(server.addr));
    }
    if src.is_unspecified() || src.is_multicast() {
        return Err(Error::Source(src));
    }
    let is_first = !router.own::<Dhcp>().proxies.contains_key(&key);
    if let Some(of) = router.own_mut::<Dhcp>().proxies.get_mut(&key) {
        if of.servers.contains(&server) {
            return Err(Error::ServerExists(server.addr));
        }
        if of.servers.len() >= MOST_SERVERS {
            return Err(Error::TooMany(MOST_SERVERS));
        }
    }
    let is_very_first = !router.own::<Dhcp>().proxies.keys().any(|other| other.0 == link);
    if is_very_first {
        listen(router, link, true)?;
    }
    if is_first {
        receive(router, key, true);
    }
    let all = &mut router.own_mut::<Dhcp>().proxies;
    let of = all.entry(key).or_insert_with(|| Proxies { servers: Vec::new(), src });
    of.servers.push(server);
    router.use_table_of(link, key.1, true);
    router.use_table_of(link, server.table, true);
    Ok(())
}

/// Takes a server away.
///
/// # Errors
/// [`Error::NoServer`].
pub fn remove(router: &mut Router, key: Key, server: Server) -> Result<(), Error> {
    let all = &mut router.own_mut::<Dhcp>().proxies;
    let of = all.get_mut(&key).ok_or(Error::NoServer(server.addr))?;
    let at = of.servers.iter().position(|other| *other == server);
    of.servers.remove(at.ok_or(Error::NoServer(server.addr))?);
    let is_last = of.servers.is_empty();
    if is_last {
        all.remove(&key);
        receive(router, key, false);
    }
    if !router.own::<Dhcp>().proxies.keys().any(|other| other.0 == key.0) {
        listen(router, key.0, false)?;
    }
    router.use_table_of(key.0, key.1, false);
    router.use_table_of(key.0, server.table, false);
    Ok(())
}

/// Receives messages in the nodes, or stops.
fn listen(router: &mut Router, link: Link, is_on: bool) -> Result<(), Error> {
    let lead = |router: &mut Router, (at, port): (&'static str, u16), to: Option<&str>| {
        router.redispatch(at, port, to).map_err(Error::Taken)
    };
    let names = if link == Link::Ip6 { PROXY6 } else { PROXY4 };
    let to = |of: usize| is_on.then_some(names[of]);
    let servers = match link {
        Link::Ip6 => (V6::NODES.udp_lookup, dhcp6::SERVER_PORT),
        _ => (V4::NODES.udp_lookup, SERVER_PORT),
    };
    lead(router, servers, to(0))?;
    let done = match link {
        // Clients over IPv6 have the same port.
        Link::Ip6 => v6::set_port(router, |port| port.proxies = is_on),
        _ => lead(router, (V4::NODES.udp_lookup, CLIENT_PORT), to(1)),
    };
    done.inspect_err(|_| lead(router, servers, None).expect("what was taken can be given up"))
}

/// Receives client messages to all servers, or stops.
fn receive(router: &mut Router, (link, table): Key, is_on: bool) {
    let target = Target::Receive { interface: None, addr: None };
    // Without room for the route messages to the router's own addresses are relayed still.
    if link == Link::Ip6 {
        let prefix = MPrefix { group: dhcp6::SERVERS.into(), len: 128, source: None };
        let paths = [MPath { path: Path::to(target), flags: ItfFlags::FORWARD }];
        let _ = match is_on {
            true => {
                let flags = (EntryFlags::ACCEPT_ALL, 0);
                router.update_mroute(table, prefix, Source::DHCP, flags, &paths).map(|_| ())
            }
            false => router.remove_mroute(table, prefix, Source::DHCP, &[]).map(|_| ()),
        };
        return;
    }
    let everybody = Prefix::Ip4(Ip4Prefix::host(Ipv4Addr::BROADCAST));
    let _ = match is_on {
        true => router.set_route(table, everybody, Source::DHCP, &[Path::to(target)]).map(drop),
        false => router.remove_route(table, everybody, Source::DHCP, &[]).map(drop),
    };
}

fn key_of(router: &Router, link: Link, on: InterfaceIndex) -> Option<Key> {
    Some((link, router.addresses.of(on).table(link)?))
}

/// The network that clients behind interfaces of a table are in.
pub fn vss_of(router: &Router, key: Key) -> Option<&Vss> {
    let id = router.table_id_of(key.0, key.1)?;
    router.own::<Dhcp>().vss.get(&(key.0, id))
}

/// The address of an interface that clients behind it have in common with it.
fn address4(router: &Router, on: InterfaceIndex) -> Option<Ipv4Addr> {
    router.addresses.of(on).iter().find_map(|prefix| match prefix.addr() {
        IpAddr::V4(addr) => Some(addr),
        IpAddr::V6(_) => None,
    })
}

fn address6(router: &Router, on: InterfaceIndex) -> Option<Ipv6Addr> {
    router.addresses.of(on).iter().find_map(|prefix| match prefix.addr() {
        IpAddr::V6(addr) if !addr.is_unicast_link_local() => Some(addr),
        _ => None,
    })
}

/// The address by which servers know the clients behind an interface.
pub fn own_address(router: &Router, on: InterfaceIndex, is_6: bool) -> Option<IpAddr> {
    match is_6 {
        true => address6(router, on).map(Into::into),
        false => address4(router, on).map(Into::into),
    }
}

/// Takes a message of a client.
pub fn to_server4(router: &mut Router, arrived: &Arrived) {
    match relay4(router, arrived) {
        Ok(count) => router.engine.count_at::<Proxy4<false>>(Count::ToServer, count),
        Err(why) => router.engine.count_reason_at::<Proxy4<false>>(why, 1),
    }
}

fn relay4(router: &mut Router, arrived: &Arrived) -> Result<u64, Drop> {
    let on = InterfaceIndex(arrived.interface);
    let (header, rest) = read(arrived.bytes()).ok_or(Drop::Bad)?;
    let key = key_of(router, Link::Ip4, on).ok_or(Drop::NoServer)?;
    let of = router.own::<Dhcp>().proxies.get(&key).ok_or(Drop::NoServer)?.clone();
    let own = address4(router, on).ok_or(Drop::NoAddress)?;
    let IpAddr::V4(src) = of.src else { return Err(Drop::NoServer) };
    if header.hops >= MOST_HOPS {
        return Err(Drop::Bad);
    }
    let agent = agent_of(router, key, on, own);
    let bytes = forward(header, rest, src, &agent)?;
    // All servers are looked for, one is asked.
    let is_discover = kind_of(rest) == Some(kind::DISCOVER);
    let asked = if is_discover { &of.servers[..] } else { &of.servers[..1] };
    for server in asked.iter().rev() {
        let IpAddr::V4(addr) = server.addr else { continue };
        let ends = ((src, CLIENT_PORT), (addr, SERVER_PORT));
        let packet = datagram(ends.0, ends.1, &bytes, true).ok_or(Drop::TooBig)?;
        send_own(router, server.table, packet);
    }
    Ok(asked.len() as u64)
}

/// The option by which this relay knows the interface of a client again.
fn agent_of(router: &Router, key: Key, on: InterfaceIndex, own: Ipv4Addr) -> Vec<u8> {
    let mut agent = vec![sub::CIRCUIT, 4];
    agent.extend_from_slice(&on.0.to_be_bytes());
    agent.extend_from_slice(&[sub::LINK, 4]);
    agent.extend_from_slice(&own.octets());
    if let Some(vss) = vss_of(router, key) {
        let value = vss.bytes();
        agent.extend_from_slice(&[sub::VSS, value.len() as u8]);
        agent.extend_from_slice(&value);
        agent.extend_from_slice(&[sub::VSS_CONTROL, 0]);
    }
    agent
}

/// A message of a client as its servers get it. What another relay has sent has that one's option
/// already, and its answer goes there (RFC 3046 section 2.1.1).
fn forward(header: &Header, rest: &[u8], src: Ipv4Addr, agent: &[u8]) -> Result<Vec<u8>, Drop> {
    let mut entries: Vec<_> = options(rest).collect();
    let has_option = entries.iter().any(|entry| entry.0 == option::RELAY_AGENT);
    let mut header = *header;
    header.hops += 1;
    if header.relay == src.octets() {
        return Err(Drop::Untrusted);
    }
    if header.relay == [0; 4] {
        if has_option {
            return Err(Drop::Untrusted);
        }
        header.relay = src.octets();
        entries.push((option::RELAY_AGENT, agent));
    }
    Ok(message(&header, &entries, 0))
}

/// Takes a message of a server.
pub fn to_client4(router: &mut Router, arrived: &Arrived) {
    match answer4(router, arrived) {
        Ok(()) => router.engine.count_at::<Proxy4<true>>(Count::ToClient, 1),
        Err(why) => router.engine.count_reason_at::<Proxy4<true>>(why, 1),
    }
}

fn answer4(router: &mut Router, arrived: &Arrived) -> Result<(), Drop> {
    let (header, rest) = read(arrived.bytes()).ok_or(Drop::Bad)?;
    let mut all = options(rest);
    let (_, agent) = all.find(|entry| entry.0 == option::RELAY_AGENT).ok_or(Drop::NoOption)?;
    let mut circuit = None;
    let mut link = None;
    let mut agent_rest = agent;
    while let [code, len, behind @ ..] = agent_rest {
        let Some((value, behind)) = behind.split_at_checked((*len).into()) else { break };
        agent_rest = behind;
        match *code {
            sub::CIRCUIT => circuit = value.try_into().ok().map(u32::from_be_bytes),
            sub::LINK => link = <[u8; 4]>::try_from(value).ok().map(Ipv4Addr::from),
            _ => (),
        }
    }
    let on = InterfaceIndex(circuit.ok_or(Drop::BadInterface)?);
    let mac = router.interfaces.at(on).ok_or(Drop::BadInterface)?.mac;
    let own = address4(router, on).ok_or(Drop::NoAddress)?;
    if link != Some(own) {
        return Err(Drop::BadAddress);
    }
    is_server(router, Link::Ip4, on, arrived).ok_or(Drop::NotServer)?;
    // The option is between relay and server (RFC 3046 section 2.2). A message that is no reply is
    // passed on as it is.
    let without = |entry: &Entry<'_>| entry.0 != option::RELAY_AGENT;
    let bytes = match header.op {
        REPLY => message(header, &options(rest).filter(without).collect::<Vec<_>>(), LEAST),
        _ => arrived.bytes().to_vec(),
    };
    let ends = ((own, SERVER_PORT), (Ipv4Addr::BROADCAST, CLIENT_PORT));
    let packet = datagram(ends.0, ends.1, &bytes, true).ok_or(Drop::TooBig)?;
    let front = ethernet::Header::new(MacAddr::BROADCAST, mac, EtherType::IP4);
    let frame = [front.as_bytes(), &packet].concat();
    neighbor::send(router, on, frame);
    Ok(())
}

/// Whether a message comes from a server of clients behind an interface.
fn is_server(router: &Router, link: Link, on: InterfaceIndex, arrived: &Arrived) -> Option<()> {
    let came_by = key_of(router, link, InterfaceIndex(arrived.interface))?.1;
    let of = router.own::<Dhcp>().proxies.get(&key_of(router, link, on)?)?;
    let server = Server { addr: arrived.from, table: came_by };
    of.servers.contains(&server).then_some(())
}

/// Takes a message of a client over IPv6.
pub fn to_server6(router: &mut Router, arrived: &Arrived) {
    match relay6(router, arrived) {
        Ok(count) => router.engine.count_at::<Proxy6<false>>(Count6::ToServer, count),
        Err(why) => router.engine.count_reason_at::<Proxy6<false>>(why, 1),
    }
}

fn relay6(router: &mut Router, arrived: &Arrived) -> Result<u64, Drop6> {
    let on = InterfaceIndex(arrived.interface);
    let key = key_of(router, Link::Ip6, on).ok_or(Drop6::NoServer)?;
    let of = router.own::<Dhcp>().proxies.get(&key).ok_or(Drop6::NoServer)?.clone();
    let own = address6(router, on).ok_or(Drop6::NoAddress)?;
    let (IpAddr::V6(src), IpAddr::V6(from)) = (of.src, arrived.from) else {
        return Err(Drop6::NoServer);
    };
    let inner = arrived.bytes();
    let kind = *inner.first().ok_or(Drop6::Kind)?;
    let hops = match kind {
        0 => return Err(Drop6::Kind),
        dhcp6::kind::RELAY_FORWARD => inner.get(1).map_or(0, |hops| hops.saturating_add(1)),
        _ => 0,
    };
    if hops > MOST_HOPS6 {
        return Err(Drop6::TooBig);
    }
    // A relay with an address of its own says by it which link it is on (RFC 8415 section 19.1.2).
    let is_known = kind == dhcp6::kind::RELAY_FORWARD && !from.is_unicast_link_local();
    let link = if is_known { Ipv6Addr::UNSPECIFIED } else { own };
    let mut bytes = vec![dhcp6::kind::RELAY_FORWARD, hops];
    bytes.extend_from_slice(&link.octets());
    bytes.extend_from_slice(&from.octets());
    let mut put = |code, parts: &[&[u8]]| dhcp6::put(&mut bytes, code, parts);
    put(dhcp6::option::INTERFACE, &[&on.0.to_be_bytes()]);
    if kind != dhcp6::kind::RELAY_FORWARD {
        put(dhcp6::option::LINK_ADDRESS, &[&[0, 1], &arrived.mac.0]);
    }
    put(dhcp6::option::RELAYED, &[inner]);
    if let Some(vss) = vss_of(router, key) {
        put(dhcp6::option::VSS, &[&vss.bytes()]);
    }
    // All servers are looked for, one is asked.
    let asked = if kind == dhcp6::kind::SOLICIT { &of.servers[..] } else { &of.servers[..1] };
    for server in asked {
        let IpAddr::V6(addr) = server.addr else { continue };
        let ends = ((src, dhcp6::CLIENT_PORT), (addr, dhcp6::SERVER_PORT));
        let packet = datagram6(ends.0, ends.1, &bytes).ok_or(Drop6::TooBig)?;
        send_own6(router, server.table, packet);
    }
    Ok(asked.len() as u64)
}

/// Takes a message of a server over IPv6.
pub fn to_client6(router: &mut Router, arrived: &Arrived) {
    match answer6(router, arrived) {
        Ok(()) => router.engine.count_at::<Proxy6<true>>(Count6::ToClient, 1),
        Err(why) => router.engine.count_reason_at::<Proxy6<true>>(why, 1),
    }
}

fn answer6(router: &mut Router, arrived: &Arrived) -> Result<(), Drop6> {
    let bytes = arrived.bytes();
    if bytes.first() != Some(&dhcp6::kind::RELAY_REPLY) {
        return Err(Drop6::Kind);
    }
    let front = bytes.get(..RELAY).ok_or(Drop6::NoRelayed)?;
    let peer = <[u8; 16]>::try_from(&front[18..]).map(Ipv6Addr::from);
    let peer = peer.map_err(|_| Drop6::NoRelayed)?;
    let (mut circuit, mut relayed) = (None, None);
    for (code, value) in dhcp6::options(&bytes[RELAY..]) {
        match code {
            dhcp6::option::INTERFACE => circuit = value.try_into().ok().map(u32::from_be_bytes),
            dhcp6::option::RELAYED => {
                relayed = Some(value);
                // What is behind it is none of this relay's.
                break;
            }
            _ => (),
        }
    }
    let relayed = relayed.ok_or(Drop6::NoRelayed)?;
    let on = InterfaceIndex(circuit.ok_or(Drop6::NoCircuit)?);
    let mac = router.interfaces.at(on).ok_or(Drop6::BadInterface)?.mac;
    let own = address6(router, on).ok_or(Drop6::NoAddress)?;
    is_server(router, Link::Ip6, on, arrived).ok_or(Drop6::NotServer)?;
    // To another relay, or to the client.
    let port = if relayed.first() == Some(&dhcp6::kind::RELAY_REPLY) {
        dhcp6::SERVER_PORT
    } else {
        dhcp6::CLIENT_PORT
    };
    let packet =
        datagram6((own, dhcp6::SERVER_PORT), (peer, port), relayed).ok_or(Drop6::TooBig)?;
    let front = ethernet::Header::new(MacAddr::BROADCAST, mac, EtherType::IP6);
    let frame = [front.as_bytes(), &packet].concat();
    neighbor::send(router, on, frame);
    Ok(())
}

/// Sends an IPv6 packet of the router's own by the routes of a table.
fn send_own6(router: &mut Router, table: TableIndex, packet: Vec<u8>) {
    let Some(node) = router.engine.index_of("ip6-lookup") else { return };
    let thread = router.engine.data_threads().start;
    router.engine.inject(thread, node, packet, move |p| {
        let l3 = p.offset();
        p.set_l3_offset(l3);
        p.set_fib(table.0);
        p.add_flags(Flags::LOCAL.with(Flags::L3));
    });
}
