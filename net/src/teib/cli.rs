//! `create teib`, `delete teib`, `show teib`.

use std::fmt;
use std::net::IpAddr;

use control::cli::{Cli, Command, Output, Print};
use control::configuration::Lines;
use serde::Serialize;

use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Set the underlay address of a tunnel peer.
#[derive(Command, Print, Debug, PartialEq)]
#[command("create teib")]
#[undo("delete teib {1} peer {peer}")]
#[stage(Attachments)]
struct Create {
    /// tunnel interface
    #[positional]
    interface: InterfaceIndex,
    /// peer address inside the tunnel
    peer: IpAddr,
    /// underlay address
    nh: IpAddr,
    /// table of the underlay address; default 0
    #[values("table-id")]
    #[default]
    nh_table_id: u32,
}

/// Delete the underlay address of a tunnel peer.
#[derive(Command)]
#[command("delete teib")]
struct Delete {
    /// tunnel interface
    #[positional]
    interface: InterfaceIndex,
    /// peer address inside the tunnel
    peer: IpAddr,
}

/// Show tunnel peers.
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

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().enumerate().try_for_each(|(number, row)| {
        let Row { interface, peer, nh, table } = row;
        let len = if nh.is_ipv4() { 32 } else { 128 };
        writeln!(f, "[{number}] {interface}:{peer} via [{table}]:{nh}/{len}")
    })
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
        Ok(Output::rows(router.peers().into_iter().map(row), write_rows))
    });
}
