//! A resolver of names (RFC 1035): clients and programs ask it, it asks name servers and remembers
//! what they answer.
#![forbid(unsafe_code)]

mod api;
mod cache;
mod cli;
pub mod message;
mod node;
mod resolver;

use std::collections::HashSet;

use control::process::between;
use net::prelude::*;

pub use api::*;
pub use node::{Error as RequestDrops, ReplyError as ReplyDrops};

use cache::{Answer, Cache, record};
use message::{Data, Question, code, kind};
use node::{REPLY, REQUEST, Reply, Request};
use resolver::Pending;

/// Port of name servers.
const PORT: u16 = 53;
/// Ports that answers come to: some of these, chosen when it is switched on (RFC 6335 section 6),
/// and one of them for each question (RFC 5452 section 9.2).
const OWN_PORTS: std::ops::Range<u16> = 49152..65535;
const OWN_COUNT: usize = 64;
/// Most name servers.
const MOST_SERVERS: usize = 16;
/// Most networks of clients.
const MOST_CLIENTS: usize = 256;

/// State of control.
#[derive(Default)]
struct Dns {
    is_on: bool,
    /// The ports that answers of name servers come to.
    own_ports: Vec<u16>,
    servers: Vec<IpAddr>,
    /// Networks of clients; every host is one while there are none.
    clients: Vec<Prefix>,
    cache: Cache,
    pending: BTreeMap<Question, Pending>,
}

/// Reasons for a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// the DNS resolver is disabled
    #[retval(FEATURE_DISABLED)]
    Disabled,
    /// no name servers
    #[retval(NO_SUCH_ENTRY)]
    NoServers,
    /// {0} cannot be a name server
    #[retval(INVALID_VALUE)]
    Server(IpAddr),
    /// {0} is no name server
    #[retval(NO_SUCH_ENTRY)]
    NoServer(IpAddr),
    /// at most {0} name servers
    #[retval(LIMIT_EXCEEDED)]
    TooManyServers(usize),
    /// at most {0} networks of clients
    #[retval(LIMIT_EXCEEDED)]
    TooManyClients(usize),
    /// {0} is not a network of clients
    #[retval(NO_SUCH_ENTRY)]
    NoClients(Prefix),
    /// `{0}' is not a valid name
    #[retval(INVALID_VALUE)]
    Name(String),
    /// no such name `{0}'
    #[retval(NO_SUCH_ENTRY)]
    NoName(String),
    /// no addresses for `{0}'
    #[retval(NO_SUCH_ENTRY)]
    NoAddresses(String),
    /// the cache holds at most {0} names
    #[retval(LIMIT_EXCEEDED)]
    Full(usize),
    /// too many pending queries
    #[retval(LIMIT_EXCEEDED)]
    Busy,
    /// {0}
    #[retval(UDP_PORT_TAKEN)]
    Taken(net::ip::Error),
}

/// Enables or disables the resolver.
///
/// # Errors
/// [`Error::NoServers`], [`Error::Taken`]; nothing has changed then.
pub fn enable(router: &mut Router, is_on: bool) -> Result<(), Error> {
    let dns = router.own::<Dns>();
    if dns.is_on == is_on {
        return Ok(());
    }
    if is_on && dns.servers.is_empty() {
        return Err(Error::NoServers);
    }
    let own = match is_on {
        true => own_ports(router),
        false => dns.own_ports.clone(),
    };
    let (at4, at6) = (V4::NODES.udp_lookup, V6::NODES.udp_lookup);
    let all: [(_, &[u16], _); 4] = [
        (at4, &[PORT], REQUEST[0]),
        (at6, &[PORT], REQUEST[1]),
        (at4, &own, REPLY),
        (at6, &own, REPLY),
    ];
    for (done, (at, ports, node)) in all.into_iter().enumerate() {
        let led = router.redispatch_all(at, ports, is_on.then_some(node)).map_err(Error::Taken);
        if let Err(why) = led {
            for (at, ports, _) in &all[..done] {
                router.redispatch_all(at, ports, None).expect("what was taken can be given up");
            }
            return Err(why);
        }
    }
    let dns = router.own_mut::<Dns>();
    (dns.is_on, dns.own_ports) = (is_on, own);
    dns.pending.clear();
    Ok(())
}

/// Unused ports, chosen at random.
fn own_ports(router: &Router) -> Vec<u16> {
    let mut taken: HashSet<u16> =
        router.udp_takers().into_iter().map(|(_, port, _)| port).collect();
    let some = || between(OWN_PORTS.start.into(), OWN_PORTS.end.into()) as u16;
    let tries = std::iter::repeat_with(some).take(100 * OWN_COUNT);
    tries.filter(|port| taken.insert(*port)).take(OWN_COUNT).collect()
}

/// Adds a name server; an existing one stays.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add_server(router: &mut Router, addr: IpAddr) -> Result<(), Error> {
    if !resolver::is_host(addr) {
        return Err(Error::Server(addr));
    }
    let servers = &mut router.own_mut::<Dns>().servers;
    if servers.contains(&addr) {
        return Ok(());
    }
    if servers.len() >= MOST_SERVERS {
        return Err(Error::TooManyServers(MOST_SERVERS));
    }
    servers.push(addr);
    Ok(())
}

/// Takes a name server away.
///
/// # Errors
/// [`Error::NoServer`].
pub fn remove_server(router: &mut Router, addr: IpAddr) -> Result<(), Error> {
    let servers = &mut router.own_mut::<Dns>().servers;
    let at = servers.iter().position(|known| *known == addr).ok_or(Error::NoServer(addr))?;
    servers.remove(at);
    Ok(())
}

/// Adds a network of clients, or removes it: others get no answers while there are any.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set_clients(router: &mut Router, prefix: Prefix, is_add: bool) -> Result<(), Error> {
    let clients = &mut router.own_mut::<Dns>().clients;
    match (clients.iter().position(|known| *known == prefix), is_add) {
        (None, true) if clients.len() >= MOST_CLIENTS => Err(Error::TooManyClients(MOST_CLIENTS)),
        (None, true) => {
            clients.push(prefix);
            Ok(())
        }
        (Some(_), true) => Ok(()),
        (Some(at), false) => {
            clients.remove(at);
            Ok(())
        }
        (None, false) => Err(Error::NoClients(prefix)),
    }
}

/// Gives a name addresses, which are those it has for clients.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add_static(router: &mut Router, name: &str, addrs: &[IpAddr]) -> Result<(), Error> {
    let name = message::checked(name).ok_or_else(|| Error::Name(name.to_owned()))?;
    if addrs.is_empty() {
        return Err(Error::NoAddresses(name));
    }
    let cache = &mut router.own_mut::<Dns>().cache;
    if cache.len() + 2 > cache::MOST && cache.iter().all(|(_, answer)| answer.is_static()) {
        return Err(Error::Full(cache::MOST));
    }
    for (of, is_ip6) in [(kind::A, false), (kind::AAAA, true)] {
        let addrs = addrs.iter().filter(|addr| addr.is_ipv6() == is_ip6);
        let records: Vec<_> = addrs.map(|addr| record(&name, Data::Addr(*addr))).collect();
        if !records.is_empty() {
            let answer = Answer { code: code::NONE, records, until: f64::INFINITY };
            cache.put(Question { name: name.clone(), kind: of }, answer);
        }
    }
    Ok(())
}

/// Forgets a name.
///
/// # Errors
/// [`Error::NoName`].
pub fn forget(router: &mut Router, name: &str) -> Result<(), Error> {
    let name = message::checked(name).ok_or_else(|| Error::Name(name.to_owned()))?;
    let gone = router.own_mut::<Dns>().cache.remove_name(&name);
    if gone == 0 { Err(Error::NoName(name)) } else { Ok(()) }
}

/// Forgets all names.
pub fn clear(router: &mut Router) {
    router.own_mut::<Dns>().cache.clear();
}

/// State of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// Its addresses.
    Addrs(Vec<IpAddr>),
    /// Name servers are being asked: ask again later.
    Asked,
    /// There are no name servers, or none knows the name.
    Unknown,
}

/// Looks for the addresses of a name, on behalf of another feature. Without this plugin no name is
/// known.
pub fn resolve(router: &mut Router, name: &str) -> Resolved {
    let Some(name) = message::checked(name) else { return Resolved::Unknown };
    if router.state::<Dns>().is_none_or(|dns| !dns.is_on) {
        return Resolved::Unknown;
    }
    let (mut addrs, mut is_asked) = (Vec::new(), false);
    for kind in [kind::A, kind::AAAA] {
        let question = Question { name: name.clone(), kind };
        match resolver::look_up(router, &question, None) {
            resolver::Found::Answer(answer) => {
                addrs.extend(answer.records.iter().filter_map(|record| match record.data {
                    Data::Addr(addr) => Some(addr),
                    _ => None,
                }));
            }
            resolver::Found::Asked => is_asked = true,
            resolver::Found::Nothing => (),
        }
    }
    match (addrs.is_empty(), is_asked) {
        (false, _) => Resolved::Addrs(addrs),
        (true, true) => Resolved::Asked,
        (true, false) => Resolved::Unknown,
    }
}

/// A resolver of names.
pub const FEATURE: Feature = Feature {
    name: "dns",
    about: "Simple DNS name resolver",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6", "ping"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let (request4, request6) = (router.events.sender(), router.events.sender());
    let reply = router.events.sender();
    router.engine.add(Request::<false>(request4)).map_err(refuse)?;
    router.engine.add(Request::<true>(request6)).map_err(refuse)?;
    router.engine.add(Reply(reply)).map_err(refuse)?;
    router.insert(Dns::default());
    router.events.handle(resolver::arrived);
    let body = Box::new(|router: &mut Router, _| resolver::look(router));
    router.processes.spawn(resolver::PROCESS, body);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
