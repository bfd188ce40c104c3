//! `session sdl`, `show session sdl`.

use std::fmt;
use std::net::IpAddr;

use control::cli::{Args, Cli, Command, Error, Line, Output, Print, Step, Task};
use control::configuration::{Lines, Stage};
use net::Router;
use net::fib::TableIndex;
use serde::Serialize;
use wire::{IpVersion, Prefix};

use super::super::filters::{self, Denial, SdlRow, SdlRows};
use super::super::namespaces::{self, DEFAULT};
use super::super::sdl::{DENY, SdlRule};

/// Number of rows shown per slice.
const SLICE: usize = 500;

/// `session sdl add|del [appns ID] PREFIX [action N] [tag T]`.
#[derive(Debug, PartialEq)]
struct Set {
    is_add: bool,
    namespace: String,
    peers: Prefix,
    action: u32,
    tag: String,
}

impl Command for Set {
    const PATHS: &'static [&'static str] = &["session sdl"];
    const ABOUT: &'static str = "Add or delete a source deny rule: peers that may not connect";
    const USAGE: &'static str =
        "[add|del] [appns <namespace>] <prefix> [action <action>] [tag <tag>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_add, mut namespace, mut peers) = (true, None, None);
        let (mut action, mut tag) = (DENY, String::new());
        while !args.is_empty() {
            if args.keyword("add") {
                is_add = true;
            } else if args.keyword("del") {
                is_add = false;
            } else if args.keyword("appns") {
                namespace = Some(args.value("namespace")?);
            } else if args.keyword("action") {
                action = args.value("action")?;
            } else if args.keyword("tag") {
                tag = args.value("tag")?;
            } else if peers.is_none() {
                peers = Some(args.value::<Prefix>("prefix")?.network());
            } else {
                return Err(args.unknown());
            }
        }
        let peers = peers.ok_or_else(|| args.error("expected a prefix"))?;
        let namespace = namespace.unwrap_or_else(|| DEFAULT.to_owned());
        Ok(Self { is_add, namespace, peers, action, tag })
    }
}

impl Print for Set {
    const STAGE: Stage = Stage::State;
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.is_add { "add" } else { "del" });
        line.keyword("appns", &self.namespace).value(&self.peers);
        line.keyword("action", &self.action);
        line.option("tag", Some(&self.tag).filter(|tag| !tag.is_empty()));
    }
}

/// Show source deny rules, or the rule that a peer matches.
#[derive(Command)]
#[command("show session sdl")]
struct Show {
    /// only those in the tables of this namespace
    appns: Option<String>,
    /// only those in the tables with this ID
    table: Option<u32>,
    /// only the rule for this peer
    #[positional]
    peer: Option<IpAddr>,
}

#[derive(Serialize)]
struct Row {
    version: &'static str,
    table_id: Option<u32>,
    peers: String,
    action: u32,
    tag: String,
    is_learned: bool,
}

impl Row {
    fn of(router: &Router, row: &SdlRow) -> Self {
        let (version, table) = row.table;
        Self {
            version: version.name(),
            table_id: router.fib.table_id_for(version, table),
            peers: row.peers.to_string(),
            action: row.rule.action,
            tag: row.rule.tag.clone(),
            is_learned: row.rule.is_learned,
        }
    }
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for row in rows {
        let Row { version, table_id, peers, action, tag, is_learned } = row;
        let table = table_id.map_or_else(|| "-".to_owned(), |id| id.to_string());
        let action = if *action == DENY { "deny".to_owned() } else { action.to_string() };
        let learned = if *is_learned { " learned" } else { "" };
        let line = format!("{version} table {table:<6} {peers:<44} {action:<8} {tag}{learned}");
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

/// A listing in progress.
struct Showing {
    rows: SdlRows,
    tables: Option<[Option<TableIndex>; 2]>,
}

impl Task<Router> for Showing {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        let mut shown = Vec::new();
        for _ in 0..SLICE {
            let Some(row) = self.rows.next(router) else {
                out.append(Output::rows(shown, write_rows));
                return Step::Done(Ok(()));
            };
            let (version, table) = row.table;
            let is_of = |tables: [Option<TableIndex>; 2]| tables[version as usize] == Some(table);
            if self.tables.is_none_or(is_of) {
                shown.push(Row::of(router, &row));
            }
        }
        out.append(Output::rows(shown, write_rows));
        Step::Again
    }
}

/// The tables of a namespace, or with an ID; `None` for all.
fn tables(router: &Router, c: &Show) -> Result<Option<[Option<TableIndex>; 2]>, Error> {
    if let Some(id) = &c.appns {
        let index = namespaces::index_of(router, id)?;
        return Ok(Some(namespaces::at(router, index)?.tables));
    }
    let Some(id) = c.table else { return Ok(None) };
    let found = IpVersion::ALL.map(|version| router.fib.table_for(version, id));
    match found {
        [None, None] => Err(Error::new(format!("no table {id}"))),
        found => Ok(Some(found)),
    }
}

/// The rules that a peer matches, one per table.
struct Meeting(Vec<Row>);

impl Task<Router> for Meeting {
    fn step(&mut self, _: &mut Router, out: &mut Output) -> Step {
        let rows = std::mem::take(&mut self.0);
        match rows.is_empty() {
            true => out.append(Output::text("no rule: not denied\n")),
            false => out.append(Output::rows(rows, write_rows)),
        }
        Step::Done(Ok(()))
    }
}

fn show(router: &Router, c: &Show) -> Result<Box<dyn Task<Router>>, Error> {
    let tables = tables(router, c)?;
    let Some(peer) = c.peer else {
        return Ok(Box::new(Showing { rows: SdlRows::default(), tables }));
    };
    let version = IpVersion::from(peer);
    let of = tables.unwrap_or([Some(TableIndex::default()); 2])[version as usize];
    let row = of.and_then(|table| filters::denied(router, table, peer));
    let rows = row.iter().map(|row| Row::of(router, row)).collect();
    Ok(Box::new(Meeting(rows)))
}

/// The position between two slices of a configuration.
#[derive(Default)]
pub(super) struct Position(SdlRows);

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>, at: Position) {
    let Position(mut rows) = at;
    while let Some(row) = rows.next(router) {
        let first = row.namespaces.first().and_then(|index| namespaces::at(router, *index).ok());
        let namespace = first.map(|found| found.of.id.clone());
        if let Some(namespace) = namespace.filter(|_| !row.rule.is_learned) {
            let SdlRule { action, tag, .. } = row.rule;
            lines.push(&Set { is_add: true, namespace, peers: row.peers, action, tag });
        }
        if lines.is_full() {
            return lines.pause(Position(rows));
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| -> Result<(), Error> {
        let namespace = namespaces::index_of(router, &c.namespace)?;
        let rule = SdlRule { action: c.action, tag: c.tag, is_learned: false };
        let denial = Denial { peers: c.peers, rule: c.is_add.then_some(rule) };
        Ok(filters::deny(router, namespace, denial)?)
    });
    cli.task(|router: &mut Router, c: Show| show(router, &c));
}
