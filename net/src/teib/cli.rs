//! `create teib`, `delete teib`, `show teib`.

use std::fmt;
use std::net::IpAddr;

use control::cli::{Cli, Command, Output, Print};
use control::configuration::Lines;
use serde::Serialize;

use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Set the address that a peer of a tunnel is reached by.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create teib")]
#[undo("delete teib {1} peer {peer}")]
#[stage(Attachments)]
struct Create {
    /// the tunnel
    #[positional]
    interface: InterfaceIndex,
    /// the peer's address behind the tunnel
    peer: IpAddr,
    /// the address it is reached by
    nh: IpAddr,
    /// the table of that address; 0 unless given
    #[values("table-id")]
    #[default]
    nh_table_id: u32,
}

/// Forget the address that a peer of a tunnel is reached by.
#[derive(Command)]
#[command("delete teib")]
struct Delete {
    /// the tunnel
    #[positional]
    interface: InterfaceIndex,
    /// the peer's address behind the tunnel
    peer: IpAddr,
}

/// Show the peers of tunnels.
#[derive(Command)]
#[command("show teib")]
struct Show;

#[derive(Serialize)]
struct Row {
    interface: String,
    peer: IpAddr,
    nh: IpAddr,
    table: u32,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Rows(Vec<Row>);

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(number, row)| {
            let Row { interface, peer, nh, table } = row;
            writeln!(f, "[{number}] {interface}: {peer} via [{table}]:{nh}")
        })
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for ((interface, peer), nh, nh_table_id) in router.peers() {
        lines.push(&Create { interface, peer, nh, nh_table_id });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| {
        Ok(router.add_peer((c.interface, c.peer), c.nh, c.nh_table_id)?)
    });
    cli.command(|router: &mut Router, c: Delete| Ok(router.remove_peer((c.interface, c.peer))?));
    cli.command(|router: &mut Router, _: Show| {
        let row = |((interface, peer), nh, table): ((InterfaceIndex, IpAddr), IpAddr, u32)| Row {
            interface: router.interfaces.name(interface.0).to_owned(),
            peer,
            nh,
            table,
        };
        Ok(Output::of(Rows(router.peers().into_iter().map(row).collect())))
    });
}
