//! Commands about answering for others.
#![forbid(unsafe_code)]

use std::fmt;
use std::net::Ipv6Addr;

use control::cli::{Cli, Command, Error, Word};

use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Answer neighbor solicitations for a host behind an interface, or no longer.
#[derive(Clone, Debug, Command)]
#[command("set ip6 nd proxy")]
struct SetProxy {
    /// the interface it is behind
    #[positional]
    #[values("interface")]
    interface: Word,
    /// no longer
    del: bool,
    /// its address
    #[positional]
    host_ip: Ipv6Addr,
}

/// Answer all neighbor solicitations on an interface, or no longer.
#[derive(Clone, Debug, Command)]
#[command("set interface ip6-nd proxy")]
struct SetMirror {
    /// interface
    #[positional]
    #[values("interface")]
    intfc: Word,
    /// which is how it is without a word
    #[keyword("enable")]
    _enable: bool,
    /// no longer
    disable: bool,
}

fn find(router: &Router, name: &Word) -> Result<InterfaceIndex, Error> {
    router.interfaces.named(name).map(|i| i.index).ok_or_else(|| name.unknown("interface"))
}

fn plain(e: impl fmt::Display) -> Error {
    Error::new(e.to_string())
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetProxy| {
        let interface = find(router, &c.interface)?;
        match c.del {
            true => router.remove_nd_proxy(interface, c.host_ip).map_err(plain),
            false => router.add_nd_proxy(interface, c.host_ip).map_err(plain),
        }
    });
    cli.command(|router: &mut Router, c: SetMirror| {
        router.set_nd_mirror(find(router, &c.intfc)?, !c.disable).map_err(plain)
    });
}
