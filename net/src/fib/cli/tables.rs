//! `ip table` and `ip6 table`.

use std::fmt;

use control::cli::{Args, Cli, Command, Error, Line, Output, Print};
use control::configuration::Stage;
use serde::Serialize;

use super::paths::named;
use crate::fib::Error as FibError;
use crate::fib::control::source::Source;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::flow_hash::FlowHash;
use crate::router::Router;

/// `ip table [add|del|flush] [ID] [no-mfib] [name NAME] [keep-routes]`.
#[derive(Debug, PartialEq)]
pub(super) struct Table {
    pub verb: Verb,
    /// Its number; when it is added without, the router chooses one.
    pub id: Option<u32>,
    pub name: Option<String>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Verb {
    /// With a multicast table of the same number.
    Add,
    /// For unicast only.
    AddUnicast,
    Del,
    /// As [`Del`](Self::Del), but routes stay while others look up in the table.
    Release,
    /// Operators' and clients' routes go.
    Flush,
}

const TABLE_USAGE: &str = "{[add] [<table-id>] [no-mfib] [name <name...>] | \
    del <table-id> [keep-routes] | flush <table-id>}";

impl Table {
    fn take(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut verb, mut is_said, mut id, mut name) = ("add", false, None, None);
        let (mut is_unicast, mut keeps_routes) = (false, false);
        while !args.is_empty() {
            if let Some(word) = ["add", "del", "flush"].into_iter().find(|w| args.keyword(w)) {
                (verb, is_said) = (word, true);
            } else if args.keyword("no-mfib") {
                (is_unicast, is_said) = (true, true);
            } else if args.keyword("keep-routes") {
                keeps_routes = true;
            } else if args.keyword("name") {
                is_said = true;
                // Behind the number it is the rest of the line.
                let is_last = id.is_some();
                name = Some(if is_last { args.rest().to_owned() } else { args.value("name")? });
            } else if id.is_none() {
                id = Some(args.value("table id")?);
            } else {
                return Err(args.unknown());
            }
        }
        if id.is_none() && (verb != "add" || !is_said) {
            return Err(Error::new("missing table id"));
        }
        let verb = match (verb, keeps_routes, is_unicast || name.is_some()) {
            ("add", false, _) if is_unicast => Verb::AddUnicast,
            ("add", false, _) => Verb::Add,
            ("del", true, false) => Verb::Release,
            ("del", false, false) => Verb::Del,
            ("flush", false, false) => Verb::Flush,
            (verb, ..) => return Err(Error::new(format!("words that `{verb}' does not take"))),
        };
        if name.as_ref().is_some_and(String::is_empty) {
            return Err(Error::new("missing name"));
        }
        Ok(Self { verb, id, name })
    }
    fn print(&self, line: &mut Line<'_>) {
        let verb = match self.verb {
            Verb::Add | Verb::AddUnicast => "add",
            Verb::Del | Verb::Release => "del",
            Verb::Flush => "flush",
        };
        line.word(verb).values(&self.id).flag("no-mfib", self.verb == Verb::AddUnicast);
        line.option("name", self.name.as_ref());
        line.flag("keep-routes", self.verb == Verb::Release);
    }
    fn carry_out<F: Family>(&self, router: &mut Router) -> Result<Output, Error> {
        let unused = || (1..u32::MAX).find(|id| router.fib.table::<F>(*id).is_none());
        let id = self.id.or_else(unused).ok_or_else(|| Error::new("no number is left"))?;
        let done = match self.verb {
            Verb::Add => there(router.add_table::<F>(id)),
            Verb::AddUnicast => there(router.add_unicast_table::<F>(id)),
            Verb::Del => gone(router.remove_table::<F>(id)),
            Verb::Release => gone(router.give_up_table::<F>(id)),
            Verb::Flush => {
                let table = named::<F>(router, id)?;
                router.flush_table::<F>(table, &[Source::CLI, Source::API])
            }
        };
        let named = self.name.as_ref().filter(|_| done.is_ok());
        let done = match named.zip(router.fib.table::<F>(id)) {
            Some((name, table)) => router.fib.name_table::<F>(table, name),
            None => done,
        };
        done.map_err(|e| Error::new(format!("{id}: {e}")))?;
        Ok(if self.id.is_none() { Output::both(id.to_string(), id) } else { Output::none() })
    }
}

/// Success for a table that does not exist: it is as good as deleted.
fn gone(deleted: Result<(), FibError>) -> Result<(), FibError> {
    deleted.or_else(|e| if e == FibError::NoTable { Ok(()) } else { Err(e) })
}

/// Ignores the error that a table exists.
fn there<T>(added: Result<T, FibError>) -> Result<(), FibError> {
    added.map(drop).or_else(|e| if e == FibError::TableExists { Ok(()) } else { Err(e) })
}

/// `set ip flow-hash table ID WORD...`.
#[derive(Debug, PartialEq)]
pub(super) struct SetHash {
    pub table: u32,
    pub what: FlowHash,
}

impl SetHash {
    fn take(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut table, mut what) = (0, FlowHash(0));
        let mut is_none = false;
        while let Some(word) = args.peek() {
            let at = *args;
            args.word();
            if word == "table" {
                table = args.value("table id")?;
                continue;
            }
            if word == "none" {
                is_none = true;
                continue;
            }
            let known = FlowHash::NAMES.iter().find(|(_, name)| *name == word);
            let (bit, _) = known.ok_or_else(|| at.unknown())?;
            what = FlowHash(what.0 | bit.0);
        }
        if is_none != (what == FlowHash(0)) {
            return Err(Error::new("no hash fields"));
        }
        Ok(Self { table, what })
    }
    fn print(&self, line: &mut Line<'_>) {
        line.keyword("table", &self.table).flag("none", self.what == FlowHash(0));
        for (bit, name) in FlowHash::NAMES {
            line.flag(name, self.what.has(bit));
        }
    }
    fn carry_out<F: Family>(&self, router: &mut Router) -> Result<(), Error> {
        let table = named::<F>(router, self.table)?;
        router.set_flow_hash::<F>(table, self.what).map_err(|e| Error::new(e.to_string()))
    }
}

#[derive(Debug, PartialEq)]
pub(super) struct SetIp4Hash(pub SetHash);
#[derive(Debug, PartialEq)]
pub(super) struct SetIp6Hash(pub SetHash);

const HASH_USAGE: &str = "[table <table-id>] {none | [src] [dst] [sport] [dport] [proto] \
    [reverse] [symmetric] [flowlabel] [gtpv1teid]}";

impl Command for SetIp4Hash {
    const PATHS: &'static [&'static str] = &["set ip flow-hash"];
    const ABOUT: &'static str = "Set the flow hash fields of an IPv4 table";
    const USAGE: &'static str = HASH_USAGE;
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        SetHash::take(args).map(Self)
    }
}

impl Command for SetIp6Hash {
    const PATHS: &'static [&'static str] = &["set ip6 flow-hash"];
    const ABOUT: &'static str = "Set the flow hash fields of an IPv6 table";
    const USAGE: &'static str = HASH_USAGE;
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        SetHash::take(args).map(Self)
    }
}

#[derive(Debug, PartialEq)]
pub(super) struct Ip4Table(pub Table);
#[derive(Debug, PartialEq)]
pub(super) struct Ip6Table(pub Table);

impl Command for Ip4Table {
    const PATHS: &'static [&'static str] = &["ip table"];
    const ABOUT: &'static str = "Add or delete an IPv4 table, or all of its routes";
    const USAGE: &'static str = TABLE_USAGE;
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Table::take(args).map(Self)
    }
}

impl Command for Ip6Table {
    const PATHS: &'static [&'static str] = &["ip6 table"];
    const ABOUT: &'static str = "Add or delete an IPv6 table, or all of its routes";
    const USAGE: &'static str = TABLE_USAGE;
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Table::take(args).map(Self)
    }
}

/// Prints a command as the one that it wraps.
macro_rules! printed {
    ($($name:ident: $stage:ident, $undo:literal;)*) => {$(
        impl Print for $name {
            const STAGE: Stage = Stage::$stage;
            const UNDO: &'static str = $undo;
            fn print(&self, line: &mut Line<'_>) {
                self.0.print(line);
            }
        }
    )*};
}

printed! {
    Ip4Table: Objects, "ip table {?del} add {2}|ip table del {2}";
    Ip6Table: Objects, "ip6 table {?del} add {2}|ip6 table del {2}";
    SetIp4Hash: Settings, "=set ip flow-hash [table {table}] src dst sport dport proto flowlabel";
    SetIp6Hash: Settings, "=set ip6 flow-hash [table {table}] src dst sport dport proto flowlabel";
}

/// Set the seed that varies flow hashes between routers.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set ip flow-hash router-id")]
#[undo("=set ip flow-hash router-id 0")]
pub(super) struct SetSeed {
    /// any number; default 0
    #[positional]
    pub number: u32,
}

/// Show routing tables.
#[derive(Command)]
#[command()]
struct ShowTables {
    /// only this table
    #[positional]
    #[values("table-id")]
    id: Option<u32>,
}

/// A row of `show ip table`.
#[derive(Serialize)]
struct Row {
    index: u16,
    table_id: u32,
    name: String,
    prefixes: usize,
}

fn tables<F: Family>(router: &Router, only: Option<u32>) -> Output {
    let tables = F::tables(&router.fib).iter();
    let tables = tables.filter(|(_, t)| only.is_none_or(|id| id == t.id));
    let row = |(index, t): (crate::fib::TableIndex, &crate::fib::control::table::Table<F>)| Row {
        index: index.0,
        table_id: t.id,
        name: t.name.clone(),
        prefixes: t.entries.len(),
    };
    Output::rows(tables.map(row), write_rows)
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|r| writeln!(f, "[{}] table_id:{} {}", r.index, r.table_id, r.name))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.values("table-id", |router: &Router| {
        let ip4 = Ip4::tables(&router.fib).iter().map(|(_, table)| table.id);
        let ip6 = Ip6::tables(&router.fib).iter().map(|(_, table)| table.id);
        let ids: std::collections::BTreeSet<u32> = ip4.chain(ip6).collect();
        ids.into_iter().map(|id| id.to_string()).collect()
    });
    cli.command(|router: &mut Router, c: Ip4Table| c.0.carry_out::<Ip4>(router));
    cli.command(|router: &mut Router, c: Ip6Table| c.0.carry_out::<Ip6>(router));
    let four = |router: &mut Router, c: ShowTables| Ok(tables::<Ip4>(router, c.id));
    let six = |router: &mut Router, c: ShowTables| Ok(tables::<Ip6>(router, c.id));
    cli.command_at("show ip table", four).command_at("show ip6 table", six);
    cli.command(|router: &mut Router, c: SetSeed| {
        router.set_flow_hash_seed(c.number);
        Ok(())
    });
    cli.command(|router: &mut Router, c: SetIp4Hash| c.0.carry_out::<Ip4>(router));
    cli.command(|router: &mut Router, c: SetIp6Hash| c.0.carry_out::<Ip6>(router));
}
