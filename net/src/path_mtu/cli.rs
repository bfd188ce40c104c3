//! Commands about path MTUs.
#![forbid(unsafe_code)]

use std::fmt;
use std::net::IpAddr;

use control::cli::{Cli, Command, Output, Print};
use control::configuration::Lines;
use serde::Serialize;

use crate::adjacency::Link;
use crate::router::Router;

/// Set the path MTU to a host.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set ip pmtu")]
#[undo("=set ip pmtu {1} 0 [table {table}]")]
#[stage(Routes)]
struct SetPathMtu {
    /// the host
    #[positional]
    host: IpAddr,
    /// MTU in bytes, including the IP header; 0 deletes it
    #[positional]
    mtu: u16,
    /// table of the host
    #[values("table-id")]
    table: Option<u32>,
}

/// Show path MTUs.
#[derive(Command)]
#[command("show ip pmtu")]
struct ShowPathMtu {
    /// only the one at this place of the list
    #[positional]
    index: Option<usize>,
}

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
    cli.command(|router: &mut Router, show: ShowPathMtu| {
        let (first, count) = show.index.map_or((0, usize::MAX), |index| (index, 1));
        let rows = router.path_mtus().skip(first).take(count).map(|((table, host), mtu)| Row {
            table,
            host,
            mtu,
        });
        Ok(Output::rows(rows, write_rows))
    });
}

#[derive(Serialize)]
struct Row {
    table: u32,
    host: IpAddr,
    mtu: u16,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "Path MTU:")?;
    rows.iter().try_for_each(|r| writeln!(f, "  table:{} {} {}", r.table, r.host, r.mtu))
}
