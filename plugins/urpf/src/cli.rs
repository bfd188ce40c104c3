//! `set urpf`, `set urpf-accept` and `show urpf`.

use net::fib::{Path, Source};
use net::prelude::*;

use super::{Check, Direction, Mode};

/// `set urpf [ip4|ip6] [rx|tx] [off|strict|loose] INTERFACE [table ID]`.
#[derive(Debug, PartialEq)]
struct SetUrpf {
    version: IpVersion,
    direction: Direction,
    mode: Option<Mode>,
    interface: InterfaceIndex,
    table: Option<u32>,
}

impl Command for SetUrpf {
    const PATHS: &'static [&'static str] = &["set urpf"];
    const ABOUT: &'static str = "Set the source check (uRPF) of an interface";
    const USAGE: &'static str =
        "[ip4|ipv4|ip6|ipv6] [rx|tx] [off|strict|loose] <interface> [table <table-id>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut version, mut direction) = (IpVersion::V4, Direction::Rx);
        let (mut mode, mut interface, mut table) = (Some(Mode::Strict), None, None);
        while let Some(word) = args.peek() {
            let at = *args;
            args.word();
            match word {
                "ip4" | "ipv4" => version = IpVersion::V4,
                "ip6" | "ipv6" => version = IpVersion::V6,
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
        Ok(Self { version, direction, mode, interface, table })
    }
}

impl Print for SetUrpf {
    const STAGE: Stage = Stage::Attachments;
    const UNDO: &'static str = "=set urpf {1} {2} off {4} [table {table}]";
    fn print(&self, line: &mut Line<'_>) {
        line.word(self.version.name());
        line.word(if self.direction == Direction::Rx { "rx" } else { "tx" });
        line.word(match self.mode {
            None => "off",
            Some(Mode::Strict) => "strict",
            Some(Mode::Loose) => "loose",
        });
        line.value(&self.interface).option("table", self.table.as_ref());
    }
}

/// `set urpf-accept [table ID] [add|del] PREFIX`.
#[derive(Debug, PartialEq)]
struct Accept {
    is_del: bool,
    table: u32,
    prefix: Prefix,
}

impl Command for Accept {
    const PATHS: &'static [&'static str] = &["set urpf-accept"];
    const ABOUT: &'static str = "Accept sources without a route in loose mode";
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

impl Print for Accept {
    const STAGE: Stage = Stage::Routes;
    const UNDO: &'static str = "set urpf-accept table {table} del {add}";
    fn print(&self, line: &mut Line<'_>) {
        line.option("table", Some(&self.table).filter(|table| **table != 0));
        line.word(if self.is_del { "del" } else { "add" }).value(&self.prefix);
    }
}

/// The checks, and sources that are exempt.
pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (interface, direction, version, check) in super::all(router) {
        let table = check.table.and_then(|table| router.fib.table_id_for(version, table));
        // What looks up in a table that is gone finds nothing.
        if check.table.is_some() == table.is_some() {
            let mode = Some(check.mode);
            lines.push(&SetUrpf { version, direction, mode, interface, table });
        }
    }
    for (table, prefix) in router.fib.routes_of(Source::URPF_EXEMPT) {
        lines.push(&Accept { is_del: false, table, prefix });
    }
}

impl Accept {
    fn carry_out(&self, router: &mut Router) -> Result<(), Error> {
        let table = router.fib.table_for(self.prefix.addr(), self.table);
        let table = table.ok_or(super::Error::NoTable(self.table))?;
        let (prefix, source) = (self.prefix, Source::URPF_EXEMPT);
        let done = if self.is_del {
            router.remove_route(table, prefix, source, &[])
        } else {
            router.set_route(table, prefix, source, &[Path::to(Target::Exempt)]).map(drop)
        };
        done.map_err(|e| Error::new(format!("{prefix}: {e}")))
    }
}

/// Show source checks of interfaces.
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
    /// The table of sources, when it is not the interface's.
    table: Option<u32>,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for Row { interface, protocol, direction, mode, table } in rows {
        write!(f, "{interface} {protocol} {direction} {mode}")?;
        if let Some(table) = table {
            write!(f, " table {table}")?;
        }
        writeln!(f)?;
    }
    Ok(())
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetUrpf| {
        Ok(super::set(router, c.interface, (c.direction, c.version), c.mode, c.table)?)
    });
    cli.command(|router: &mut Router, c: Accept| c.carry_out(router));
    cli.command(|router: &mut Router, _: ShowUrpf| {
        let row =
            |(interface, direction, version, check): (InterfaceIndex, _, IpVersion, Check)| Row {
                interface: router.interfaces.name(interface.0).to_owned(),
                protocol: version.name(),
                direction: if direction == Direction::Rx { "rx" } else { "tx" },
                mode: if check.mode == Mode::Strict { "strict" } else { "loose" },
                table: check.table.and_then(|table| router.fib.table_id_for(version, table)),
            };
        Ok(Output::rows(super::all(router).map(row), write_rows))
    });
}
