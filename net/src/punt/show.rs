//! `show punt …`: receivers of punted packets.

use std::fmt;

use control::cli::{Args, Cli, Command, Error, Output};
use serde::Serialize;
use wire::IpVersion;

use super::{Port, Punted, Reason};
use crate::router::Router;

/// Show the features that register punt reasons.
#[derive(Command)]
#[command("show punt client")]
struct ShowClients;

/// Show the nodes that punt-dispatch sends to, by reason.
#[derive(Command)]
#[command("show punt db")]
struct ShowDb;

/// Show punt reasons.
#[derive(Command)]
#[command("show punt reasons")]
struct ShowReasons;

/// Show punted packets by reason.
#[derive(Command)]
#[command("show punt stats")]
struct ShowStats;

/// `show punt socket registrations [l4] [exception] [ip]`: of these kinds, or of all.
struct ShowSockets(Vec<Kind>);

/// Kinds of what is punted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    L4,
    Exception,
    Protocol,
}

impl Kind {
    fn of(what: Punted) -> Self {
        match what {
            Punted::Port(_) => Self::L4,
            Punted::Protocol { .. } => Self::Protocol,
            Punted::Reason(_) => Self::Exception,
        }
    }
}

impl Command for ShowSockets {
    const PATHS: &'static [&'static str] = &["show punt socket registrations"];
    const ABOUT: &'static str = "Show punt socket registrations";
    const USAGE: &'static str = "[l4] [exception] [ip]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let words = [("l4", Kind::L4), ("exception", Kind::Exception), ("ip", Kind::Protocol)];
        let mut kinds = Vec::new();
        while let Some((_, kind)) = words.iter().find(|(word, _)| args.keyword(word)) {
            kinds.push(*kind);
        }
        Ok(Self(kinds))
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, _: ShowClients| {
        let mut clients: Vec<&str> = router.punt_reasons().map(|(_, r, ..)| r.client).collect();
        clients.dedup();
        let client = |name: &&'static str| Client {
            name,
            reasons: rows(router).into_iter().filter(|row| row.client == *name).collect(),
        };
        Ok(Output::rows(clients.iter().map(client), write_clients))
    });
    cli.command(|router: &mut Router, _: ShowDb| Ok(Output::rows(rows(router), write_db)));
    cli.command(|router: &mut Router, _: ShowReasons| {
        Ok(Output::rows(rows(router), write_reasons))
    });
    cli.command(|router: &mut Router, _: ShowStats| Ok(Output::rows(rows(router), write_stats)));
    cli.command(|router: &mut Router, show: ShowSockets| {
        let is_meant = |what| show.0.is_empty() || show.0.contains(&Kind::of(what));
        let chosen = router.punt_clients().filter(|client| is_meant(client.what));
        let row = |client: &super::Client| Socket {
            what: text_of(router, client.what),
            path: client.path.display().to_string(),
        };
        Ok(Output::rows(chosen.map(row), write_sockets))
    });
}

fn text_of(router: &Router, what: Punted) -> String {
    match what {
        Punted::Port(Port { version, protocol, port }) => {
            let port = port.map_or_else(|| "all".to_owned(), |port| port.to_string());
            format!("{version} {protocol} port:{port}")
        }
        Punted::Protocol { version, protocol } => format!("{version} {protocol}"),
        Punted::Reason(reason) => {
            let known = router.punt_reasons().find(|(number, ..)| *number == reason);
            let name = known.map_or("", |(_, info, ..)| info.name);
            format!("[{}] {name}", reason.0)
        }
    }
}

#[derive(Serialize)]
struct Row {
    id: u32,
    name: &'static str,
    client: &'static str,
    flags: &'static str,
    nodes: Vec<String>,
    packets: u64,
    bytes: u64,
}

fn rows(router: &Router) -> Vec<Row> {
    let row =
        |(Reason(id), info, takers, volume): (_, &super::ReasonInfo, &super::Receivers, _)| {
            let infra::counter::Volume { packets, bytes } = volume;
            let flags = if info.version == IpVersion::V6 { "ip6-packet" } else { "ip4-packet" };
            let (name, client, nodes) = (info.name, info.client, takers.nodes());
            let nodes = nodes.into_iter().map(str::to_owned).collect();
            Row { id, name, client, flags, nodes, packets, bytes }
        };
    router.punt_reasons().map(row).collect()
}

#[derive(Serialize)]
struct Client {
    name: &'static str,
    reasons: Vec<Row>,
}

fn write_clients(rows: &[Client], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for Client { name, reasons } in rows {
        writeln!(f, "{name}")?;
        for Row { id, name, .. } in reasons {
            writeln!(f, "  [{id}] {name}")?;
        }
    }
    Ok(())
}

fn write_db(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "\nDerived data-plane data-base:")?;
    writeln!(f, "  (for each punt-reason the edge[s] from punt-dispatch)")?;
    writeln!(f, " [0] \n   []")?;
    for Row { id, name, flags, nodes, .. } in rows {
        writeln!(f, " [{id}] {name} flags: {flags} \n   [{}]", nodes.join(", "))?;
    }
    Ok(())
}

fn write_reasons(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|Row { id, name, flags, client, .. }| {
        writeln!(f, "[{id}] {name} flags: {flags}  from:[{client} ]")
    })
}

fn write_stats(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|Row { id, name, flags, packets, bytes, .. }| {
        writeln!(f, "[{id}] {name} flags: {flags}  packets:{packets} bytes:{bytes}")
    })
}

#[derive(Serialize)]
struct Socket {
    what: String,
    path: String,
}

fn write_sockets(rows: &[Socket], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|Socket { what, path }| writeln!(f, " punt {what} path:{path}"))
}
