//! `auto-sdl`, `show auto-sdl`.

use host_stack::control::namespaces;

use net::prelude::*;

use super::{Settings, State, peers, settings};

/// `auto-sdl enable|disable [threshold N] [remove-timeout N]`.
#[derive(Debug, PartialEq)]
struct Set(Option<Settings>);

impl Command for Set {
    const PATHS: &'static [&'static str] = &["auto-sdl"];
    const ABOUT: &'static str = "Deny peers that leave connections half-open";
    const USAGE: &'static str = "enable|disable [threshold <count>] [remove-timeout <seconds>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_on, mut new) = (None, Settings::default());
        while !args.is_empty() {
            if args.keyword("enable") {
                is_on = Some(true);
            } else if args.keyword("disable") {
                is_on = Some(false);
            } else if args.keyword("threshold") {
                new.threshold = args.value("threshold")?;
            } else if args.keyword("remove-timeout") {
                new.remove_timeout = args.value("seconds")?;
            } else {
                return Err(args.unknown());
            }
        }
        let is_on = is_on.ok_or_else(|| args.error("expected enable or disable"))?;
        Ok(Self(is_on.then_some(new)))
    }
}

impl Print for Set {
    const STAGE: Stage = Stage::State;
    const UNDO: &'static str = "auto-sdl disable";
    fn print(&self, line: &mut Line<'_>) {
        let Some(Settings { threshold, remove_timeout }) = &self.0 else {
            line.word("disable");
            return;
        };
        line.word("enable").keyword("threshold", threshold);
        line.keyword("remove-timeout", remove_timeout);
    }
}

/// Show peers with half-open connections.
#[derive(Command)]
#[command("show auto-sdl")]
struct Show {
    /// only those in the tables of this namespace
    appns: Option<String>,
    /// only the number of peers
    summary: bool,
    /// only this peer
    #[positional]
    peer: Option<IpAddr>,
}

#[derive(Serialize)]
struct Row {
    peer: IpAddr,
    table_id: Option<u32>,
    count: u32,
    is_denied: bool,
    seconds_left: u64,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for Row { peer, table_id, count, is_denied, seconds_left } in rows {
        let table = table_id.map_or_else(|| "-".to_owned(), |id| id.to_string());
        let denied = if *is_denied { "denied" } else { "counted" };
        writeln!(
            f,
            "{peer:<40} table {table:<6} unfinished {count:<6} {denied} for {seconds_left} s"
        )?;
    }
    Ok(())
}

fn show(router: &Router, c: &Show) -> Result<Output, Error> {
    let tables = match &c.appns {
        Some(id) => {
            let index = namespaces::index_of(router, id)?;
            Some(namespaces::at(router, index)?.tables)
        }
        None => None,
    };
    let now = router.now();
    let rows = peers(router).filter_map(|(peer, State { count, is_denied, until })| {
        let version = IpVersion::from(peer.addr);
        let is_of = tables.is_none_or(|of| of[version as usize] == Some(peer.table));
        let is_shown = is_of && c.peer.is_none_or(|only| only == peer.addr);
        is_shown.then(|| Row {
            peer: peer.addr,
            table_id: router.fib.table_id_for(version, peer.table),
            count,
            is_denied,
            seconds_left: (until - now).max(0.0).ceil() as u64,
        })
    });
    let rows: Vec<_> = rows.collect();
    if !c.summary {
        return Ok(Output::rows(rows, write_rows));
    }
    let denied = rows.iter().filter(|row| row.is_denied).count();
    let state = match settings(router) {
        Some(Settings { threshold, remove_timeout }) => {
            format!("enabled, threshold {threshold}, remove-timeout {remove_timeout}")
        }
        None => "disabled".to_owned(),
    };
    Ok(Output::text(format!("auto-sdl {state}\npeers {}, denied {denied}\n", rows.len())))
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    if let Some(settings) = settings(router) {
        lines.push(&Set(Some(settings)));
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| -> Result<(), Error> {
        match c.0 {
            Some(settings) => super::enable(router, settings)?,
            None => super::disable(router),
        }
        Ok(())
    });
    cli.command(|router: &mut Router, c: Show| show(router, &c));
}
