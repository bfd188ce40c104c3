//! Proxies for containers: packets to a container's prefix are this router's own, so that what
//! terminates here answers in its place.
#![forbid(unsafe_code)]

use std::str::FromStr;

use control::api::types::Prefix as PrefixField;
use net::fib::{self, Path, Source};
use net::prelude::*;
use wire::prefix::{InvalidPrefix, IpPrefix};

/// Prefixes of containers, their commands and messages.
pub const FEATURE: Feature = Feature {
    name: "container",
    about: "Proxies for prefixes of containers",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["arp", "nd"],
    register,
    configuration: Configuration::Commands(configuration),
};

/// The prefixes of containers, and the table each has its route in.
#[derive(Default)]
struct Proxied(BTreeMap<(InterfaceIndex, Prefix), TableIndex>);

/// Reasons why a proxy is not made or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// no container proxy for {0}
    #[retval(NO_SUCH_ENTRY)]
    Unknown(Prefix),
    /// {0}
    #[retval(UNSPECIFIED)]
    Route(fib::Error),
}

/// Receives packets to a prefix, in the table of the container's interface, or stops.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(
    router: &mut Router,
    interface: InterfaceIndex,
    prefix: Prefix,
    is_on: bool,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let prefix = prefix.network();
    let key = (interface, prefix);
    if !is_on {
        let gone = router.own_mut::<Proxied>().0.remove(&key);
        // The route was there since the proxy came.
        let _ = router.remove_route(gone.ok_or(Error::Unknown(prefix))?, key.1, Source::PROXY, &[]);
        return Ok(());
    }
    let on = router.addresses.of(interface);
    let table = on.table_for(prefix);
    let target = Target::Receive { interface: Some(interface), addr: Some(prefix.addr()) };
    router.set_route(table, key.1, Source::PROXY, &[Path::to(target)]).map_err(Error::Route)?;
    router.own_mut::<Proxied>().0.insert(key, table);
    Ok(())
}

/// The prefixes of containers, by interface.
pub fn all(router: &Router) -> impl Iterator<Item = (InterfaceIndex, Prefix)> {
    router.own::<Proxied>().0.keys().copied()
}

/// Add or delete a container proxy: receive packets to its address.
#[derive(Command, Print, Debug, PartialEq)]
#[command("ip container")]
#[stage(Routes)]
struct SetContainer {
    /// container address or prefix
    #[positional]
    address: Containers,
    /// interface the host is behind
    #[positional]
    interface: InterfaceIndex,
    /// delete the proxy
    del: bool,
}

/// An address or a prefix.
#[derive(Debug, PartialEq)]
struct Containers(Prefix);

impl FromStr for Containers {
    type Err = InvalidPrefix;
    fn from_str(text: &str) -> Result<Self, InvalidPrefix> {
        text.parse().map(host).or_else(|_| text.parse()).map(Self)
    }
}

impl fmt::Display for Containers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_host() { self.0.addr().fmt(f) } else { self.0.fmt(f) }
    }
}

/// The proxies there are.
fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (interface, prefix) in all(router) {
        lines.push(&SetContainer { address: Containers(prefix), interface, del: false });
    }
}

/// Show whether an address has a container proxy.
#[derive(Command)]
#[command("show ip container")]
struct ShowContainer {
    /// container address
    #[positional]
    address: IpAddr,
    /// interface the host is behind
    #[positional]
    interface: InterfaceIndex,
}

#[derive(Serialize)]
struct Shown {
    prefix: String,
    interface: String,
    is_enabled: bool,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.is_enabled { "enabled" } else { "disabled" };
        write!(f, "{} {}: {state}", self.prefix, self.interface)
    }
}

fn host(addr: IpAddr) -> Prefix {
    match addr {
        IpAddr::V4(a) => IpPrefix::host(a).into(),
        IpAddr::V6(a) => IpPrefix::host(a).into(),
    }
}

fn commands(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetContainer| {
        Ok(set(router, c.interface, c.address.0, !c.del)?)
    });
    cli.command(|router: &mut Router, c: ShowContainer| {
        let key = (c.interface, host(c.address));
        let is_enabled = all(router).any(|proxied| proxied == key);
        let interface = router.interfaces.name(c.interface.0).to_owned();
        Ok(Output::of(Shown { prefix: key.1.to_string(), interface, is_enabled }))
    });
}

/// Add or delete a container proxy.
#[derive(Message)]
pub struct IpContainerProxyAddDel {
    /// prefix
    pub pfx: PrefixField,
    /// interface the host is behind
    pub sw_if_index: InterfaceIndex,
    /// true to add, false to delete
    #[preset(true)]
    pub is_add: bool,
}

/// List container proxies.
#[derive(Message)]
#[details(IpContainerProxyDetails)]
pub struct IpContainerProxyDump {}

/// A container proxy.
#[derive(Message)]
pub struct IpContainerProxyDetails {
    /// interface the host is behind
    pub sw_if_index: InterfaceIndex,
    /// prefix
    pub prefix: PrefixField,
}

fn messages(api: &mut Api<Router>) {
    api.core("ip", "3.2.0")
        .call(|router: &mut Router, m: IpContainerProxyAddDel| {
            let prefix = m.pfx.native()?;
            Ok(set(router, m.sw_if_index, prefix, m.is_add)?)
        })
        .dump(|router: &mut Router, _: IpContainerProxyDump| {
            let row = |(sw_if_index, prefix): (_, Prefix)| IpContainerProxyDetails {
                sw_if_index,
                prefix: prefix.into(),
            };
            all(router).map(row).collect()
        });
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    parts.router.insert(Proxied::default());
    parts.router.interfaces.observe(|router, interface, change| {
        if change == Change::Deleting {
            let gone = all(router).filter(|(on, _)| *on == interface);
            for (on, prefix) in gone.collect::<Vec<_>>() {
                set(router, on, prefix, false).expect("it was there just now");
            }
        }
    });
    commands(&mut parts.cli);
    messages(&mut parts.api);
    Ok(())
}
