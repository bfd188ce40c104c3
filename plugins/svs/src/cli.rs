//! `svs table`, `svs route`, `svs enable`, `show svs`.

use net::prelude::*;

use super::Tables;

/// `svs table [add|delete] [ip4|ip6] table-id N`.
#[derive(Debug, PartialEq)]
struct SetTable {
    is_add: bool,
    version: IpVersion,
    id: u32,
}

impl Command for SetTable {
    const PATHS: &'static [&'static str] = &["svs table"];
    const ABOUT: &'static str = "Add or delete a source table";
    const USAGE: &'static str = "[add|delete|del] [ip4|ip6] table-id <id>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_add, mut version, mut id) = (true, IpVersion::V4, None);
        while !args.is_empty() {
            if args.keyword("add") {
                is_add = true;
            } else if args.keyword("delete") || args.keyword("del") {
                is_add = false;
            } else if let Some(said) = args.optional() {
                version = said;
            } else if args.keyword("table-id") {
                id = Some(args.value("table id")?);
            } else {
                return Err(args.unknown());
            }
        }
        let id = id.ok_or_else(|| args.error("expected table-id"))?;
        Ok(Self { is_add, version, id })
    }
}

impl Print for SetTable {
    const STAGE: Stage = Stage::Objects;
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.is_add { "add" } else { "delete" }).word(self.version.name());
        line.keyword("table-id", &self.id);
    }
}

/// `svs route [add|delete] TABLE PREFIX ROUTING-TABLE`.
#[derive(Debug, PartialEq)]
struct SetRoute {
    is_add: bool,
    id: u32,
    prefix: Prefix,
    /// The routing table; it need not be named when the source is taken out.
    fib: Option<u32>,
}

impl Command for SetRoute {
    const PATHS: &'static [&'static str] = &["svs route"];
    const ABOUT: &'static str = "Add or delete a source route: the table for packets from a prefix";
    const USAGE: &'static str =
        "[add|delete|del] [table-id] <table-id> <prefix> [src-table-id] [<src-table-id>]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_add, mut id, mut prefix, mut fib) = (true, None, None, None);
        while !args.is_empty() {
            if args.keyword("add") {
                is_add = true;
            } else if args.keyword("delete") || args.keyword("del") {
                is_add = false;
            } else if args.keyword("table-id") {
                id = Some(args.value("table-id")?);
            } else if args.keyword("src-table-id") {
                fib = Some(args.value("src-table-id")?);
            } else if let Some(found) = args.optional::<Prefix>() {
                prefix = Some(found);
            } else if id.is_none() {
                id = Some(args.value("table-id")?);
            } else {
                fib = Some(args.value("src-table-id")?);
            }
        }
        let id = id.ok_or_else(|| args.error("expected table-id"))?;
        let prefix = prefix.ok_or_else(|| args.error("expected a prefix"))?;
        if is_add && fib.is_none() {
            return Err(args.error("expected src-table-id"));
        }
        Ok(Self { is_add, id, prefix, fib })
    }
}

impl Print for SetRoute {
    const STAGE: Stage = Stage::Settings;
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.is_add { "add" } else { "delete" }).value(&self.id).value(&self.prefix);
        if let Some(fib) = self.fib {
            line.value(&fib);
        }
    }
}

/// `svs enable [enable|disable] [ip4|ip6] [table-id] N INTERFACE`.
#[derive(Debug, PartialEq)]
struct SetInterface {
    is_on: bool,
    version: IpVersion,
    id: u32,
    interface: InterfaceIndex,
}

impl Command for SetInterface {
    const PATHS: &'static [&'static str] = &["svs enable"];
    const ABOUT: &'static str = "Enable or disable source table selection on an interface";
    const USAGE: &'static str = "[enable|disable] [ip4|ip6] [table-id] <table-id> <interface>";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut is_on, mut version, mut id, mut interface) = (true, IpVersion::V4, None, None);
        while !args.is_empty() {
            if args.keyword("enable") {
                is_on = true;
            } else if args.keyword("disable") {
                is_on = false;
            } else if let Some(said) = args.optional() {
                version = said;
            } else if args.keyword("table-id") {
                id = Some(args.value("table id")?);
            } else if id.is_none() && args.peek().is_some_and(|w| w.parse::<u32>().is_ok()) {
                id = args.optional();
            } else if interface.is_none() {
                interface = Some(args.value("interface")?);
            } else {
                return Err(args.unknown());
            }
        }
        let id = id.ok_or_else(|| args.error("expected table-id"))?;
        let interface = interface.ok_or_else(|| args.error("expected an interface"))?;
        Ok(Self { is_on, version, id, interface })
    }
}

impl Print for SetInterface {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.is_on { "enable" } else { "disable" }).word(self.version.name());
        line.keyword("table-id", &self.id).value(&self.interface);
    }
}

/// Show source tables and the interfaces that use them.
#[derive(Command)]
#[command("show svs")]
struct Show;

#[derive(Serialize)]
struct TableRow {
    version: &'static str,
    table_id: u32,
    routes: Vec<(String, u32)>,
    interfaces: Vec<String>,
}

fn write_rows(rows: &[TableRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "Source VRF select interface to fib-index mappings:")?;
    for (name, of) in [("ipv4", "ip4"), ("ipv6", "ip6")] {
        writeln!(f, " {name}")?;
        for row in rows.iter().filter(|row| row.version == of) {
            let mut on = row.interfaces.iter();
            on.try_for_each(|interface| writeln!(f, "  {interface} -> {}", row.table_id))?;
        }
    }
    for TableRow { version, table_id, routes, interfaces } in rows {
        writeln!(f, "{version} table-id {table_id}:")?;
        for (prefix, fib) in routes {
            writeln!(f, "  {prefix} -> table-id {fib}")?;
        }
        for interface in interfaces {
            writeln!(f, "  on {interface}")?;
        }
    }
    Ok(())
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for ((version, id), table) in &router.own::<Tables>().all {
        lines.push(&SetTable { is_add: true, version: *version, id: *id });
        for (prefix, (fib, _)) in &table.routes {
            lines.push(&SetRoute { is_add: true, id: *id, prefix: *prefix, fib: Some(*fib) });
        }
    }
    for (interface, version, id) in super::enabled(router) {
        lines.push(&SetInterface { is_on: true, version, id, interface });
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetTable| {
        let change = if c.is_add { super::add_table } else { super::remove_table };
        Ok(change(router, c.version, c.id)?)
    });
    cli.command(|router: &mut Router, c: SetRoute| match c.fib.filter(|_| c.is_add) {
        Some(fib) => Ok(super::add_route(router, c.id, c.prefix, fib)?),
        None => Ok(super::remove_route(router, c.id, c.prefix)?),
    });
    cli.command(|router: &mut Router, c: SetInterface| {
        let change = if c.is_on { super::enable } else { super::disable };
        Ok(change(router, c.interface, c.version, c.id)?)
    });
    cli.command(|router: &mut Router, _: Show| {
        let rows = router.own::<Tables>().all.iter().map(|((version, id), table)| TableRow {
            version: version.name(),
            table_id: *id,
            routes: table.routes.iter().map(|(p, (fib, _))| (p.to_string(), *fib)).collect(),
            interfaces: super::enabled(router)
                .filter(|(_, of, table)| (of, table) == (version, id))
                .map(|(interface, ..)| router.interfaces.name(interface.0).to_owned())
                .collect(),
        });
        Ok(Output::rows(rows, write_rows))
    });
}
