//! Commands about answering for others.
#![forbid(unsafe_code)]

use std::fmt;
use std::net::Ipv6Addr;

use control::cli::{Cli, Command, Error, Print};
use control::configuration::Lines;

use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Add or delete an ND proxy entry: a host behind an interface.
#[derive(Command, Print, Clone, Debug, PartialEq)]
#[command("set ip6 nd proxy")]
#[stage(Routes)]
struct SetProxy {
    /// interface the host is behind
    #[positional]
    interface: InterfaceIndex,
    /// delete
    #[alias("delete")]
    del: bool,
    /// MAC address
    #[positional]
    host_ip: Ipv6Addr,
}

/// Enable or disable answering all neighbor solicitations on an interface.
#[derive(Command, Print, Clone, Debug, PartialEq)]
#[command("set interface ip6-nd proxy")]
#[stage(Attachments)]
struct SetMirror {
    /// interface
    #[positional]
    intfc: InterfaceIndex,
    /// disable
    #[alias("off")]
    #[opposite("enable")]
    #[opposite("on")]
    disable: bool,
}

fn plain(e: impl fmt::Display) -> Error {
    Error::new(e.to_string())
}

/// Hosts that are answered for, and interfaces on which everybody is.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let has_ip6 = |i: InterfaceIndex| router.addresses.of(i).has_ip6();
    // Without IPv6 on its interface there are no proxy answers.
    for proxied in router.nd_proxied().iter().filter(|p| has_ip6(p.interface)) {
        let (interface, host_ip) = (proxied.interface, proxied.addr);
        lines.push(&SetProxy { interface, del: false, host_ip });
    }
    for intfc in router.nd_mirrored() {
        lines.push(&SetMirror { intfc: *intfc, disable: false });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetProxy| match c.del {
        true => router.remove_nd_proxy(c.interface, c.host_ip).map_err(plain),
        false => router.add_nd_proxy(c.interface, c.host_ip).map_err(plain),
    });
    cli.command(|router: &mut Router, c: SetMirror| {
        router.set_nd_mirror(c.intfc, !c.disable).map_err(plain)
    });
}
