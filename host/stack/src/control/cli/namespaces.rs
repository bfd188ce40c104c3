//! `app ns`, `show app ns`.

use std::fmt;

use control::Secret;
use control::cli::{Cli, Command, Error, Output, Print};
use control::configuration::Lines;
use net::{InterfaceIndex, Router};
use serde::Serialize;
use wire::IpVersion;

use super::super::namespaces::{self, Binding, DEFAULT, NewNamespace};

/// Add, change or delete a namespace: an interface, or one routing table per IP version.
#[derive(Command, Print, Debug, PartialEq)]
#[command("app ns")]
#[stage(Attachments)]
#[undo("app ns del id {id}")]
struct Set {
    /// delete
    #[opposite("add")]
    del: bool,
    /// ID
    id: String,
    /// secret that applications need; 0 for none
    secret: Option<Secret<u64>>,
    /// index of the interface
    #[keyword("sw_if_index")]
    index: Option<u32>,
    /// interface
    #[keyword("if")]
    interface: Option<InterfaceIndex>,
    /// IPv4 table; default table 0 of both versions if no table or interface is given
    ip4_fib_id: Option<u32>,
    /// IPv6 table
    ip6_fib_id: Option<u32>,
    /// socket name, if not the default one
    sock_name: Option<String>,
}

/// Show namespaces of applications.
#[derive(Command)]
#[command("show app ns")]
struct Show {
    /// only this namespace
    id: Option<String>,
    /// show the clients attached through its socket
    api_clients: bool,
}

#[derive(Serialize)]
struct Row {
    index: u32,
    id: String,
    has_secret: bool,
    interface: Option<String>,
    ip4_table: Option<u32>,
    ip6_table: Option<u32>,
    socket: String,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let head = ["Index", "Secret", "Interface", "Id", "ip4 table", "ip6 table", "Socket"];
    let line = |cells: [&str; 7]| {
        let [index, secret, interface, id, ip4, ip6, socket] = cells;
        let line = format!("{index:<6}{secret:<7}{interface:<20} {id:<20}{ip4:<10}{ip6:<10}");
        format!("{line}{socket}").trim_end().to_owned()
    };
    writeln!(f, "{}", line(head))?;
    for row in rows {
        let table = |id: Option<u32>| id.map_or("-".to_owned(), |id| id.to_string());
        let (ip4, ip6) = (table(row.ip4_table), table(row.ip6_table));
        let secret = if row.has_secret { "yes" } else { "no" };
        let interface = row.interface.as_deref().unwrap_or("-");
        let index = row.index.to_string();
        let cells = [&index, secret, interface, &row.id, &ip4, &ip6, &row.socket];
        writeln!(f, "{}", line(cells))?;
    }
    Ok(())
}

fn set(router: &mut Router, c: Set) -> Result<(), Error> {
    if c.del {
        return Ok(namespaces::remove(router, &c.id).map(drop)?);
    }
    let tables = [c.ip4_fib_id, c.ip6_fib_id];
    let interface = c.interface.or(c.index.map(InterfaceIndex));
    let binding = match (interface, tables) {
        (Some(interface), _) => Binding::Interface(interface),
        (None, [None, None]) => Binding::Tables([Some(0); 2]),
        (None, tables) => Binding::Tables(tables),
    };
    let (secret, socket) = (c.secret.unwrap_or_default(), c.sock_name.unwrap_or_default());
    namespaces::add(router, NewNamespace { id: c.id, secret, binding, socket })?;
    Ok(())
}

fn show(router: &Router, c: &Show) -> Result<Output, Error> {
    if let Some(id) = &c.id {
        namespaces::index_of(router, id)?;
    }
    let is_shown = |id: &str| c.id.as_deref().is_none_or(|only| only == id);
    let shown = namespaces::all(router).filter(|(_, found)| is_shown(&found.of.id));
    let rows = shown.map(|(index, found)| {
        let table = |version: IpVersion| {
            let table = found.tables[version as usize]?;
            router.fib.table_id_for(version, table)
        };
        let interface = match found.of.binding {
            Binding::Interface(interface) => Some(router.interfaces.name(interface.0).to_owned()),
            Binding::Tables(_) => None,
        };
        Row {
            index,
            id: found.of.id.clone(),
            has_secret: *found.of.secret != 0,
            interface,
            ip4_table: table(IpVersion::V4),
            ip6_table: table(IpVersion::V6),
            socket: found.of.socket.clone(),
        }
    });
    if c.api_clients {
        return Ok(Output::text("no clients: app sockets are disabled\n"));
    }
    Ok(Output::rows(rows, write_rows))
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (_, found) in namespaces::all(router).filter(|(_, found)| found.of.id != DEFAULT) {
        let of = &found.of;
        let (interface, tables) = match of.binding {
            Binding::Interface(interface) => (Some(interface), [None; 2]),
            Binding::Tables(tables) => (None, tables),
        };
        lines.push(&Set {
            del: false,
            id: of.id.clone(),
            secret: (*of.secret != 0).then_some(of.secret),
            index: None,
            interface,
            ip4_fib_id: tables[0],
            ip6_fib_id: tables[1],
            sock_name: (!of.socket.is_empty()).then(|| of.socket.clone()),
        });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(set);
    cli.command(|router: &mut Router, c: Show| show(router, &c));
    cli.values("namespace", |router: &Router| {
        namespaces::all(router).map(|(_, found)| found.of.id.clone()).collect()
    });
}
