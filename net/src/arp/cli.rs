//! Commands about proxy ARP.
#![forbid(unsafe_code)]

use std::fmt;
use std::net::Ipv4Addr;

use control::cli::{Cli, Command, Error, Output, Print};
use control::configuration::Lines;
use serde::Serialize;

use crate::fib::{Ip4, TableIndex};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Add or delete a proxy ARP range.
#[derive(Command, Print, Clone, Debug, PartialEq)]
#[command("set arp proxy")]
struct SetProxy {
    /// ID of the table whose interfaces it applies to; default 0
    table_id: Option<u32>,
    /// first address
    start: Ipv4Addr,
    /// last address
    end: Ipv4Addr,
    /// delete
    #[alias("delete")]
    del: bool,
}

/// Enable or disable proxy ARP on an interface.
#[derive(Command, Print, Clone, Debug, PartialEq)]
#[command("set interface proxy-arp")]
#[stage(Attachments)]
struct SetInterface {
    /// interface
    #[positional]
    intfc: InterfaceIndex,
    /// disable
    #[alias("off")]
    #[opposite("enable")]
    #[opposite("on")]
    disable: bool,
}

/// Show proxy ARP ranges and interfaces.
#[derive(Clone, Debug, Command)]
#[command("show arp proxy")]
struct Show;

#[derive(Serialize)]
struct Shown {
    ranges: Vec<RangeRow>,
    interfaces: Vec<String>,
}

#[derive(Serialize)]
struct RangeRow {
    table: u32,
    first: Ipv4Addr,
    last: Ipv4Addr,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.ranges.is_empty() {
            writeln!(f, "Proxy arps enabled for:")?;
        }
        for r in &self.ranges {
            writeln!(f, "Fib_index {:<6} {:<16} - {} ", r.table, r.first, r.last)?;
        }
        if !self.interfaces.is_empty() {
            writeln!(f, "Proxy arp enabled interfaces:")?;
        }
        self.interfaces.iter().try_for_each(|name| writeln!(f, "  {name}"))
    }
}

fn show(router: &mut Router, _: Show) -> Result<Output, Error> {
    let proxies = router.arp_proxies();
    let range = |r: &super::Range| RangeRow {
        table: router.fib.table_id::<Ip4>(TableIndex(r.table)).unwrap_or_default(),
        first: r.first,
        last: r.last,
    };
    Ok(Output::of(Shown {
        ranges: proxies.ranges.iter().map(range).collect(),
        interfaces: proxies
            .interfaces
            .iter()
            .map(|i| router.interfaces.name(i.0).to_owned())
            .collect(),
    }))
}

fn plain(e: impl fmt::Display) -> Error {
    Error::new(e.to_string())
}

/// Proxied addresses and interfaces.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let proxies = router.arp_proxies();
    for range in &proxies.ranges {
        let table_id = router.fib.table_id::<Ip4>(TableIndex(range.table));
        if let Some(id) = table_id {
            let table_id = Some(id).filter(|id| *id != 0);
            lines.push(&SetProxy { table_id, start: range.first, end: range.last, del: false });
        }
    }
    for intfc in &proxies.interfaces {
        lines.push(&SetInterface { intfc: *intfc, disable: false });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetProxy| {
        router.set_proxy_arp(c.table_id.unwrap_or(0), (c.start, c.end), !c.del).map_err(plain)
    });
    cli.command(|router: &mut Router, c: SetInterface| {
        router.set_interface_proxy_arp(c.intfc, !c.disable).map_err(plain)
    });
    cli.command(show);
}
