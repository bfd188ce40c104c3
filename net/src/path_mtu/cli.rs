//! Commands about path MTUs.
#![forbid(unsafe_code)]

use std::fmt;
use std::net::IpAddr;

use control::cli::{Cli, Command, Output, Print};
use control::configuration::Lines;
use serde::Serialize;

use crate::adjacency::Link;
use crate::router::Router;

/// Set how long packets to a host may be.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set ip pmtu")]
#[undo("=set ip pmtu {1} 0 [table {table}]")]
#[stage(Routes)]
struct SetPathMtu {
    /// the host
    #[positional]
    host: IpAddr,
    /// bytes, IP header included; 0 takes it back
    #[positional]
    mtu: u16,
    /// the table the host is in
    #[values("table-id")]
    table: Option<u32>,
}

/// Show how long packets to hosts may be.
#[derive(Command)]
#[command("show ip pmtu")]
struct ShowPathMtu;

/// All path MTUs.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for ((id, host), mtu) in router.path_mtus() {
        // They outlive their table.
        if router.fib.table_for(Link::of(host), id).is_some() {
            lines.push(&SetPathMtu { host, mtu, table: Some(id).filter(|id| *id != 0) });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, set: SetPathMtu| {
        let done = router.set_path_mtu((set.table.unwrap_or(0), set.host), set.mtu);
        Ok(done?)
    });
    cli.command(|router: &mut Router, _: ShowPathMtu| {
        let rows = router.path_mtus().map(|((table, host), mtu)| Row { table, host, mtu });
        Ok(Output::of(Rows(rows.collect())))
    });
}

#[derive(Serialize)]
struct Row {
    table: u32,
    host: IpAddr,
    mtu: u16,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Rows(Vec<Row>);

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Path MTU:")?;
        self.0.iter().try_for_each(|r| writeln!(f, "  table:{} {} {}", r.table, r.host, r.mtu))
    }
}
