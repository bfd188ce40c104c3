//! `show app`.

use std::fmt::Write;

use control::cli::{Cli, Command, Error, Output};
use net::Router;
use net::engine::no_answer;
use serde::Serialize;

use super::super::{apps, check_enabled, namespaces};
use crate::data::show;

/// Limit of listed sessions of an application.
const MOST: usize = 50;

/// Show applications.
#[derive(Command)]
#[command("show app")]
struct Show {
    /// include listeners
    #[alias("listeners")]
    server: bool,
    /// include sessions
    client: bool,
    /// include both
    verbose: bool,
    /// show transports instead
    transports: bool,
    /// include processes that share memory with the router
    mq: bool,
    /// only this application, by name or index
    #[positional]
    app: Option<String>,
}

#[derive(Serialize)]
struct Row {
    index: u32,
    name: String,
    namespace: String,
    listeners: Vec<String>,
    /// Listeners as sessions are named.
    #[serde(skip)]
    names: Vec<String>,
    sessions: Vec<String>,
    processes: Vec<u32>,
}

fn rows(router: &mut Router, c: &Show) -> Result<Vec<Row>, Error> {
    let only = c.app.as_ref().map(|app| apps::find(router, app)).transpose()?;
    let sessions = show::sessions(router, false).map_err(no_answer)?;
    let listeners = show::listeners(router);
    let attached = crate::apps::attached(router);
    let shown = apps::all(router).filter(|(index, _)| only.is_none_or(|only| only == *index));
    let row = |(index, app): (u32, &apps::App)| {
        let namespace = namespaces::at(router, app.namespace);
        let own: Vec<_> = listeners.iter().filter(|l| l.app == index).collect();
        let of = sessions.iter().flat_map(|(_, of)| of).filter(|s| s.app == index);
        let name = |s: &show::Shown| {
            let (id, letter) = (s.id, s.transport.letter());
            format!("[{}:{}][{letter}] {}->{} {}", id.thread, id.index, s.local, s.peer, s.state)
        };
        Row {
            index,
            name: app.name.clone(),
            namespace: namespace.map_or_else(|_| String::new(), |found| found.of.id.clone()),
            listeners: own.iter().map(|l| l.endpoint.to_string()).collect(),
            names: own
                .into_iter()
                .map(|l| super::sessions::listener_name(l.index, &l.endpoint))
                .collect(),
            sessions: of.map(name).collect(),
            processes: attached.iter().filter(|of| of.app == index).map(|of| of.pid).collect(),
        }
    };
    Ok(shown.map(row).collect())
}

fn show(router: &mut Router, c: &Show) -> Result<Output, Error> {
    check_enabled(router)?;
    if c.transports {
        return Ok(super::sessions::transports());
    }
    let rows = rows(router, c)?;
    let mut out = String::new();
    // Writing to a String cannot fail.
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    if c.server {
        line(format!("{:<60}{:<25}{:<10}", "Connection", "App", "Wrk"));
        for (name, row) in rows.iter().flat_map(|row| row.names.iter().map(move |n| (n, row))) {
            line(format!("{name:<60}{:<25}{:<10}", row.name, 0));
        }
    }
    if c.client {
        line(format!("{:<60}{:<20}", "Connection", "App"));
        for row in &rows {
            let sessions = row.sessions.iter().take(MOST);
            sessions.for_each(|name| line(format!("{name:<60}{:<20}", row.name)));
        }
    }
    if !c.server && !c.client {
        line(format!("{:<10}{:<20}{:<40}", "Index", "Name", "Namespace"));
        for row in &rows {
            line(format!("{:<10}{:<20}{:<40}", row.index, row.name, row.namespace));
            let names = row.names.iter().chain(row.sessions.iter().take(MOST));
            names.filter(|_| c.verbose).for_each(|name| line(format!("        {name}")));
            let processes = row.processes.iter().filter(|_| c.mq);
            processes.for_each(|process| line(format!("        process {process}")));
        }
    }
    Ok(Output::both(out, rows))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Show| show(router, &c));
    cli.values("app", |router: &Router| {
        apps::all(router).map(|(_, app)| app.name.clone()).collect()
    });
}
