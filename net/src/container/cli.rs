//! Commands about prefixes of containers.

use std::fmt;
use std::net::IpAddr;

use control::cli::{Cli, Command, Error, Output, Word};
use serde::Serialize;
use wire::Prefix;
use wire::prefix::IpPrefix;

use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Take packets to a container for this router's own, or no longer.
#[derive(Command)]
#[command("ip container")]
struct SetContainer {
    /// the container's address
    #[positional]
    address: IpAddr,
    /// the interface it is behind
    #[positional]
    #[values("interface")]
    interface: Word,
    /// no longer
    del: bool,
}

/// Show whether packets to a container are taken for this router's own.
#[derive(Command)]
#[command("show ip container")]
struct ShowContainer {
    /// the container's address
    #[positional]
    address: IpAddr,
    /// the interface it is behind
    #[positional]
    #[values("interface")]
    interface: Word,
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

fn find(router: &Router, name: &Word) -> Result<InterfaceIndex, Error> {
    router.interfaces.named(name).map(|i| i.index).ok_or_else(|| name.unknown("interface"))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetContainer| {
        let interface = find(router, &c.interface)?;
        let done = router.set_container_proxy(interface, host(c.address), !c.del);
        done.map_err(|e| Error::new(e.to_string()))
    });
    cli.command(|router: &mut Router, c: ShowContainer| {
        let key = (find(router, &c.interface)?, host(c.address));
        let is_enabled = router.container_proxies().any(|proxied| proxied == key);
        let interface = router.interfaces.name(key.0.0).to_owned();
        Ok(Output::of(Shown { prefix: key.1.to_string(), interface, is_enabled }))
    });
}
