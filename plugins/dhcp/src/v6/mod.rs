//! Clients over IPv6 (RFC 8415): interfaces that ask for addresses, or for prefixes that other
//! interfaces get their addresses from.
//!
//! Two layers, as clients of the binary API know them: [`exchange`] retransmits a message until it
//! is answered, on request; [`client`] decides what is sent. Programs may use the first alone, and
//! decide for themselves.

pub mod api;
pub mod cli;
pub mod client;
pub mod exchange;
pub mod leases;
pub mod message;
pub mod node;
pub mod prefixes;

use net::prelude::*;
use wire::checksum::ip6_pseudo;
use wire::dhcp6::CLIENT_PORT;

use super::Error;
use super::node::{Arrived, PROXY6};
use client::Client;
use exchange::{Exchange, Key};
use node::{CLIENT, Client6, Count};
use prefixes::Pool;

/// Servers that are remembered; those that nothing is asked of are forgotten first.
const MOST_SERVERS: usize = 256;
/// Length of a DUID that is made of an address of a link (RFC 8415 section 11.4).
pub const DUID_LL: usize = 10;

/// Kinds of leases: an identity association for addresses, or for prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ia {
    /// Addresses of the interface.
    Address,
    /// Prefixes.
    Prefix,
}

/// Users of the port of clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// Clients of this router.
    pub clients: bool,
    /// A program that is one.
    pub program: bool,
    /// Proxies.
    pub proxies: bool,
}

impl Port {
    fn node(self) -> Option<&'static str> {
        match self {
            Self { clients: true, .. } | Self { program: true, .. } => Some(CLIENT),
            Self { proxies: true, .. } => Some(PROXY6[1]),
            _ => None,
        }
    }
}

/// State of control.
#[derive(Default)]
pub struct Dhcp6 {
    /// The name of this router for servers, when it was set.
    duid: Option<[u8; DUID_LL]>,
    /// The one that it has otherwise.
    own_duid: Option<[u8; DUID_LL]>,
    port: Port,
    servers: BTreeMap<u32, Vec<u8>>,
    next_server: u32,
    /// Numbers of identity associations.
    ids: BTreeMap<(Ia, InterfaceIndex), u32>,
    exchanges: BTreeMap<Key, Exchange>,
    clients: BTreeMap<(Ia, InterfaceIndex), Client>,
    pool: Pool,
}

/// Changes who uses the port of clients.
///
/// # Errors
/// [`Error::Taken`]; nothing has changed then.
pub fn set_port(router: &mut Router, change: impl FnOnce(&mut Port)) -> Result<(), Error> {
    let before = router.own::<Dhcp6>().port;
    let mut after = before;
    change(&mut after);
    let lead = |router: &mut Router, to| router.redispatch(V6::NODES.udp_lookup, CLIENT_PORT, to);
    if before.node() != after.node() {
        if before.node().is_some() {
            lead(router, None).map_err(Error::Taken)?;
        }
        if after.node().is_some() {
            lead(router, after.node()).map_err(Error::Taken)?;
        }
    }
    router.own_mut::<Dhcp6>().port = after;
    Ok(())
}

/// Sets the name of this router for servers; `None` for one that it makes itself. It is one of a
/// link's address.
///
/// # Errors
/// [`Error::Duid`].
pub fn set_duid(router: &mut Router, duid: Option<[u8; DUID_LL]>) -> Result<(), Error> {
    const LL: [u8; 2] = [0, 3];
    if duid.is_some_and(|duid| duid[..2] != LL) {
        return Err(Error::Duid);
    }
    router.own_mut::<Dhcp6>().duid = duid;
    Ok(())
}

/// The name of this router for servers: as it was set, or made of the first interface that has an
/// address of its link, which it stays.
pub fn duid(router: &mut Router) -> [u8; DUID_LL] {
    let all = router.interfaces.iter();
    let made = all.map(|i| i.mac).find(|mac| *mac != MacAddr::ZERO).unwrap_or(MacAddr::ZERO);
    let mut bytes = [0, 3, 0, 1, 0, 0, 0, 0, 0, 0];
    bytes[4..].copy_from_slice(&made.0);
    let dhcp = router.own_mut::<Dhcp6>();
    dhcp.duid.unwrap_or_else(|| *dhcp.own_duid.get_or_insert(bytes))
}

impl Dhcp6 {
    /// The number of an identity association: the lowest that no other interface uses, so 1 where
    /// only one asks.
    fn id_of(&mut self, of: (Ia, InterfaceIndex)) -> u32 {
        if let Some(id) = self.ids.get(&of) {
            return *id;
        }
        let Self { ids, clients, exchanges, .. } = self;
        let asks = |of: &(Ia, InterfaceIndex)| exchanges.keys().any(|key| (key.ia, key.on) == *of);
        ids.retain(|of, _| clients.contains_key(of) || asks(of));
        let is_free = |id: &u32| !ids.iter().any(|((ia, _), n)| *ia == of.0 && n == id);
        let id = (1..).find(is_free).expect("there are fewer interfaces than numbers");
        ids.insert(of, id);
        id
    }
    /// The index of a server, assigned when it is first heard.
    fn server(&mut self, duid: &[u8]) -> u32 {
        if let Some((number, _)) = self.servers.iter().find(|(_, known)| *known == duid) {
            return *number;
        }
        if self.servers.len() >= MOST_SERVERS {
            let asked = |number: u32| {
                self.exchanges.values().any(|e| e.message.server == Some(number))
                    || self.clients.values().any(|client| client.knows(number))
            };
            let old = self.servers.keys().copied().find(|number| !asked(*number));
            old.map(|number| self.servers.remove(&number));
        }
        let number = self.next_server;
        self.next_server = (number + 1) % u32::MAX;
        self.servers.insert(number, duid.to_vec());
        number
    }
}

/// Takes an answer of a server.
pub fn arrived(router: &mut Router, arrived: &Arrived) {
    match exchange::answered(router, arrived) {
        Ok(()) => router.engine.count_at::<Client6>(Count::Answers, 1),
        Err(why) => router.engine.count_reason_at::<Client6>(why, 1),
    }
}

/// The IPv6 packet with a datagram; `None` where the data is too long for any.
pub fn datagram6(from: (Ipv6Addr, u16), to: (Ipv6Addr, u16), data: &[u8]) -> Option<Vec<u8>> {
    let len = u16::try_from(size_of::<udp::Header>() + data.len()).ok()?;
    let mut header = udp::Header::new(from.1, to.1, len);
    let pseudo = ip6_pseudo(from.0.octets(), to.0.octets(), Protocol::UDP, len.into());
    header.checksum = pseudo.add_bytes(header.as_bytes()).add_bytes(data).udp_checksum();
    let mut front = ip6::Header::new(from.0, to.0, Protocol::UDP, len);
    front.hop_limit = 255;
    Some([front.as_bytes(), header.as_bytes(), data].concat())
}

/// Follows an interface that goes or comes up.
pub fn follow(router: &mut Router, on: InterfaceIndex, change: Change) {
    match change {
        Change::Deleting => {
            for ia in [Ia::Address, Ia::Prefix] {
                // It has none in most cases.
                let _ = client::remove(router, ia, on);
                let dhcp = router.own_mut::<Dhcp6>();
                dhcp.exchanges.retain(|key, _| key.on != on);
                dhcp.ids.remove(&(ia, on));
            }
            prefixes::forget(router, on);
        }
        Change::State => client::follow_state(router, on),
        _ => (),
    }
}

/// Registers nodes, processes, commands and messages.
///
/// # Errors
/// What is there already.
pub fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let events = router.events.sender();
    router.engine.add(Client6(events)).map_err(refuse)?;
    router.insert(Dhcp6::default());
    for ia in [Ia::Address, Ia::Prefix] {
        let send = Box::new(move |router: &mut Router, _| exchange::look(router, ia));
        router.processes.spawn(exchange::PROCESS[ia as usize], send);
        let decide = Box::new(move |router: &mut Router, _| client::look(router, ia));
        router.processes.spawn(client::PROCESS[ia as usize], decide);
    }
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
