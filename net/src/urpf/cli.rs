//! `set urpf`, `set urpf-accept` and `show urpf`.

use std::fmt;

use control::cli::{Args, Cli, Command, Error, Output, Word};
use serde::Serialize;
use wire::Prefix;

use super::{Check, Direction, Mode};
use crate::adjacency::Link;
use crate::fib::{Ip4, Ip6, Path, Source, TableIndex, Target};
use crate::router::Router;

fn table(router: &Router, link: Link, id: u32) -> Result<TableIndex, Error> {
    let found = match link {
        Link::Ip4 => router.fib.table::<Ip4>(id),
        _ => router.fib.table::<Ip6>(id),
    };
    found.ok_or_else(|| Error::new(format!("Nonexistent table id {id}")))
}

/// `set urpf [ip4|ip6] [rx|tx] [off|strict|loose] INTERFACE [table ID]`.
struct SetUrpf {
    link: Link,
    direction: Direction,
    mode: Option<Mode>,
    interface: Word,
    table: Option<u32>,
}

impl Command for SetUrpf {
    const PATHS: &'static [&'static str] = &["set urpf"];
    const ABOUT: &'static str = "Check the sources of packets of an interface";
    const USAGE: &'static str =
        "[ip4|ip6] [rx|tx] [off|strict|loose] <interface> [table <table-id>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut link, mut direction) = (Link::Ip4, Direction::Rx);
        let (mut mode, mut interface, mut table) = (Some(Mode::Strict), None, None);
        while let Some(word) = args.peek() {
            let at = *args;
            args.word();
            match word {
                "ip4" => link = Link::Ip4,
                "ip6" => link = Link::Ip6,
                "rx" => direction = Direction::Rx,
                "tx" => direction = Direction::Tx,
                "off" => mode = None,
                "strict" => mode = Some(Mode::Strict),
                "loose" => mode = Some(Mode::Loose),
                "table" => table = Some(args.value("table id")?),
                _ if interface.is_none() => {
                    *args = at;
                    interface = Some(args.value("interface")?);
                }
                _ => return Err(at.unknown()),
            }
        }
        let interface = interface.ok_or_else(|| Error::new("missing interface"))?;
        Ok(Self { link, direction, mode, interface, table })
    }
}

impl SetUrpf {
    fn carry_out(&self, router: &mut Router) -> Result<(), Error> {
        let found = router.interfaces.named(&self.interface);
        let interface = found.ok_or_else(|| self.interface.unknown("interface"))?.index;
        let table = self.table.map(|id| table(router, self.link, id)).transpose()?;
        let done = router.check_sources(interface, self.direction, self.link, self.mode, table);
        done.map_err(|e| Error::new(e.to_string()))
    }
}

/// `set urpf-accept [table ID] [add|del] PREFIX`.
struct Accept {
    is_del: bool,
    table: u32,
    prefix: Prefix,
}

impl Command for Accept {
    const PATHS: &'static [&'static str] = &["set urpf-accept"];
    const ABOUT: &'static str = "Let sources pass loose checks that no route leads to";
    const USAGE: &'static str = "[table <table-id>] [add|del] <prefix>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_del, mut table, mut prefix) = (false, 0, None);
        while let Some(word) = args.peek() {
            let at = *args;
            args.word();
            match word {
                "add" => is_del = false,
                "del" => is_del = true,
                "table" => table = args.value("table id")?,
                _ => prefix = Some(word.parse::<Prefix>().map_err(|_| at.unknown())?),
            }
        }
        let prefix = prefix.ok_or_else(|| Error::new("missing prefix"))?;
        Ok(Self { is_del, table, prefix })
    }
}

impl Accept {
    fn carry_out(&self, router: &mut Router) -> Result<(), Error> {
        let table = table(router, Link::of(self.prefix.addr()), self.table)?;
        let (prefix, source) = (self.prefix, Source::URPF_EXEMPT);
        let done = if self.is_del {
            router.remove_route(table, prefix, source, &[])
        } else {
            router.set_route(table, prefix, source, &[Path::to(Target::Exempt)]).map(drop)
        };
        done.map_err(|e| Error::new(format!("{prefix}: {e}")))
    }
}

/// Show which interfaces have the sources of packets checked.
#[derive(Command)]
#[command("show urpf")]
struct ShowUrpf {}

/// A check as `show urpf` has it.
#[derive(Serialize)]
struct Row {
    interface: String,
    protocol: &'static str,
    direction: &'static str,
    mode: &'static str,
    /// The table sources are looked up in, when it is not the interface's.
    table: Option<u32>,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Rows(Vec<Row>);

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Row { interface, protocol, direction, mode, table } in &self.0 {
            write!(f, "{interface} {protocol} {direction} {mode}")?;
            if let Some(table) = table {
                write!(f, " table {table}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn show(router: &Router) -> Rows {
    let table = |link, table| match link {
        Link::Ip4 => router.fib.table_id::<Ip4>(table),
        _ => router.fib.table_id::<Ip6>(table),
    };
    let row = |c: &Check| Row {
        interface: router.interfaces.name(c.interface.0).to_owned(),
        protocol: if c.link == Link::Ip4 { "ip4" } else { "ip6" },
        direction: if c.direction == Direction::Rx { "rx" } else { "tx" },
        mode: if c.mode == Mode::Strict { "strict" } else { "loose" },
        table: c.table.map(|index| table(c.link, index).unwrap_or_default()),
    };
    Rows(router.source_checks().iter().map(row).collect())
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetUrpf| c.carry_out(router));
    cli.command(|router: &mut Router, c: Accept| c.carry_out(router));
    cli.command(|router: &mut Router, _: ShowUrpf| Ok(Output::of(show(router))));
}
