//! DHCP: interfaces that ask for addresses over IPv4 and IPv6 or for prefixes, and proxies that
//! carry messages of others between clients and servers, over IPv4 and IPv6.
//!
//! Nodes hand whole messages to control, which there is room for a bounded number of.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod client;
mod lease;
mod node;
mod proxy;
mod v6;

use net::prelude::*;

pub use api::*;
pub use client::{Settings, State, add as add_client, remove as remove_client};
pub use node::{Error as ProxyDrops, Error6 as ProxyDrops6};
pub use proxy::{Server, Vss, add as add_server, remove as remove_server};
pub use v6::Ia;
pub use v6::api::*;
pub use v6::node::Lost as Client6Drops;

use client::Client;
use node::{Arrived, DETECT, Detect, Proxy4, Proxy6, To};
use proxy::{Key, Proxies};

/// State of control.
#[derive(Default)]
struct Dhcp {
    clients: BTreeMap<InterfaceIndex, Client>,
    proxies: BTreeMap<Key, Proxies>,
    vss: BTreeMap<Network, Vss>,
}

/// A table by its identifier.
pub type Network = (Link, u32);

/// Whether messages for a client on an interface are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detecting {
    /// There is one.
    pub by_client: bool,
    /// Requested by a command or message.
    pub by_request: bool,
}

/// Reasons why something is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// the interface already has a client
    #[retval(VALUE_EXIST)]
    ClientExists,
    /// the interface has no client
    #[retval(NO_SUCH_ENTRY)]
    NoClient,
    /// server and source address have different address families
    #[retval(INVALID_ADDRESS_FAMILY)]
    Families,
    /// {0} cannot be a server address
    #[retval(INVALID_DST_ADDRESS)]
    Server(IpAddr),
    /// {0} cannot be a source address
    #[retval(INVALID_SRC_ADDRESS)]
    Source(IpAddr),
    /// server {0} exists
    #[retval(VALUE_EXIST)]
    ServerExists(IpAddr),
    /// no server {0}
    #[retval(NO_SUCH_ENTRY)]
    NoServer(IpAddr),
    /// a table has at most {0} servers
    #[retval(LIMIT_EXCEEDED)]
    TooMany(usize),
    /// at most {0} tables have a VSS
    #[retval(LIMIT_EXCEEDED)]
    TooManyNetworks(usize),
    /// no table {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
    /// the table has no VSS
    #[retval(NO_SUCH_ENTRY)]
    NoVss,
    /// a VSS is either a name, or a 24-bit OUI and a 32-bit number
    #[retval(INVALID_VALUE)]
    BadVss,
    /// {0}
    #[retval(UNSPECIFIED)]
    Address(net::address::Error),
    /// {0}
    #[retval(UNSPECIFIED)]
    Adjacency(net::adjacency::Error),
    /// hostname and client-id have at most {0} characters, and a hostname is one word
    #[retval(INVALID_VALUE)]
    Name(usize),
    /// not an Ethernet interface
    #[retval(INVALID_INTERFACE)]
    NoEthernet,
    /// a DUID starts with 0003: based on a link-layer address
    #[retval(INVALID_VALUE)]
    Duid,
    /// clients do not send messages of type {0}
    #[retval(INVALID_VALUE)]
    MessageKind(u8),
    /// a message has at most {0} leases
    #[retval(LIMIT_EXCEEDED)]
    TooManyLeases(usize),
    /// a prefix length is at most 128
    #[retval(INVALID_VALUE)]
    LeaseLen,
    /// no reply from server {0}
    #[retval(NO_SUCH_ENTRY)]
    NoSuchServer(u32),
    /// {0} messages are already pending
    #[retval(LIMIT_EXCEEDED)]
    TooManyExchanges(usize),
    /// a prefix group name is one word of at most {0} characters
    #[retval(INVALID_VALUE)]
    Group(usize),
    /// {0} has no network bits
    #[retval(INVALID_VALUE)]
    Suffix(Ip6Prefix),
    /// the interface already has {0} of that group
    #[retval(VALUE_EXIST)]
    AddressExists(Ip6Prefix),
    /// the interface does not have {0} of that group
    #[retval(NO_SUCH_ENTRY)]
    NoAddress(Ip6Prefix),
    /// at most {0} addresses are derived from prefixes
    #[retval(LIMIT_EXCEEDED)]
    TooManyAddresses(usize),
    /// {0}
    #[retval(UDP_PORT_TAKEN)]
    Taken(net::ip::Error),
}

/// Enables or disables detection of messages for clients on an interface.
fn set_detecting(
    router: &mut Router,
    on: InterfaceIndex,
    change: impl FnOnce(&mut Detecting),
) -> Result<(), Error> {
    let mut detecting: Detecting = router.setting(on);
    change(&mut detecting);
    Ok(router.put(on, detecting)?)
}

/// Sets or deletes the VSS of clients behind interfaces of a table.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_vss(router: &mut Router, of: Network, vss: Option<Vss>) -> Result<(), Error> {
    const LONGEST: usize = 128;
    const MOST: usize = 4096;
    let all = &mut router.own_mut::<Dhcp>().vss;
    let Some(vss) = vss else {
        all.remove(&of).ok_or(Error::NoVss)?;
        return Ok(());
    };
    let is_good = match &vss {
        Vss::Name(name) => !name.is_empty() && name.len() <= LONGEST,
        Vss::Id { oui, .. } => *oui < 1 << 24,
        Vss::Default => true,
    };
    if !is_good {
        return Err(Error::BadVss);
    }
    if all.len() >= MOST && !all.contains_key(&of) {
        return Err(Error::TooManyNetworks(MOST));
    }
    all.insert(of, vss);
    Ok(())
}

fn arrived(router: &mut Router, arrived: Arrived) {
    match arrived.to {
        To::Client | To::Unnumbered => client::arrived(router, &arrived),
        To::Server4 => proxy::to_server4(router, &arrived),
        To::Behind4 => proxy::to_client4(router, &arrived),
        To::Server6 => proxy::to_server6(router, &arrived),
        To::Behind6 => proxy::to_client6(router, &arrived),
        To::Client6 => v6::arrived(router, &arrived),
    }
}

fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    v6::follow(router, interface, change);
    match change {
        // It has none in most cases.
        Change::Deleting => drop(client::remove(router, interface)),
        Change::State => client::came_up(router, interface),
        _ => (),
    }
}

/// DHCP.
pub const FEATURE: Feature = Feature {
    name: "dhcp",
    about: "Dynamic Host Configuration Protocol (DHCP)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6", "neighbor", "mfib", "ra"],
    register,
    configuration: Configuration::Commands(configuration),
};

fn configuration(router: &Router, lines: &mut Lines<'_>) {
    cli::configuration(router, lines);
    v6::cli::configuration(router, lines);
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let events = router.events.sender();
    router.attach::<Detecting>().map_err(refuse)?;
    router.engine.place(&IP4_UNICAST, DETECT).map_err(refuse)?;
    router.engine.add(Detect(events.clone())).map_err(refuse)?;
    router.engine.add(Proxy4::<false>(events.clone())).map_err(refuse)?;
    router.engine.add(Proxy4::<true>(events.clone())).map_err(refuse)?;
    router.engine.add(Proxy6::<false>(events.clone())).map_err(refuse)?;
    router.engine.add(Proxy6::<true>(events)).map_err(refuse)?;
    router.attach_at::<Detecting, _>([AttachedAt {
        arc: &IP4_UNICAST,
        node: DETECT,
        is_on: |on: &Detecting| on.by_client || on.by_request,
    }]);
    router.insert(Dhcp::default());
    router.events.handle(arrived);
    router.interfaces.observe(follow);
    router
        .processes
        .spawn(client::PROCESS, Box::new(|router: &mut Router, _| client::look(router)));
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    v6::register(parts)
}
