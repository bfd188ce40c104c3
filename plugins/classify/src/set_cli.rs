//! Commands that say where tables are used, and show it.

use std::fmt;

use control::cli::{Args, Cli, Command, Error, Output};
use net::{InterfaceIndex, Router};
use serde::Serialize;

use super::NONE;
use super::uses::{self, Kind, Use};

/// What all commands that set tables of an interface take.
struct Wanted {
    interface: InterfaceIndex,
    tables: [u32; 3],
    is_add: bool,
}

impl Wanted {
    fn parse(args: &mut Args<'_>, word: &str) -> Result<Self, Error> {
        let (mut interface, mut tables, mut is_add) = (None, [NONE; 3], true);
        while !args.is_empty() {
            if args.keyword(word) {
                interface = Some(args.value("interface")?);
            } else if args.keyword("ip4-table") {
                tables[0] = args.value("table index")?;
            } else if args.keyword("ip6-table") {
                tables[1] = args.value("table index")?;
            } else if args.keyword("l2-table") {
                tables[2] = args.value("table index")?;
            } else if args.keyword("del") {
                is_add = false;
            } else {
                return Err(args.unknown());
            }
        }
        let interface = interface.ok_or_else(|| args.error("expected an interface"))?;
        if tables == [NONE; 3] {
            return Err(args.error("expected a table"));
        }
        Ok(Self { interface, tables, is_add })
    }
}

macro_rules! set {
    ($name:ident, $path:literal, $word:literal, $about:literal) => {
        struct $name(Wanted);

        impl Command for $name {
            const PATHS: &'static [&'static str] = &[$path];
            const ABOUT: &'static str = $about;
            const USAGE: &'static str = concat!(
                $word,
                " <interface> [ip4-table <index>] [ip6-table <index>] [l2-table <index>] [del]"
            );
            fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
                Ok(Self(Wanted::parse(args, $word)?))
            }
        }
    };
}

set!(
    SetInput,
    "set interface input acl",
    "intfc",
    "Have tables of the classifier decide what an interface receives"
);
set!(
    SetOutput,
    "set interface output acl",
    "intfc",
    "Have tables of the classifier decide what an interface sends"
);
set!(
    SetFlow,
    "set flow classify",
    "interface",
    "Have flows that an interface receives counted by tables of the classifier"
);

/// The kind of packets after `type`.
struct OfKind(Kind);

impl OfKind {
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        args.keyword("type");
        if args.keyword("ip4") {
            Ok(Self(Kind::Ip4))
        } else if args.keyword("ip6") {
            Ok(Self(Kind::Ip6))
        } else if args.keyword("l2") {
            Ok(Self(Kind::Layer2))
        } else {
            Err(args.error("expected type ip4, ip6 or l2"))
        }
    }
}

macro_rules! show {
    ($name:ident, $path:literal, $about:literal) => {
        struct $name(OfKind);

        impl Command for $name {
            const PATHS: &'static [&'static str] = &[$path];
            const ABOUT: &'static str = $about;
            const USAGE: &'static str = "type [ip4|ip6|l2]";
            fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
                Ok(Self(OfKind::parse(args)?))
            }
        }
    };
}

show!(ShowInput, "show inacl", "Show the tables that decide what interfaces receive");
show!(ShowOutput, "show outacl", "Show the tables that decide what interfaces send");
show!(ShowFlow, "show classify flow", "Show the tables that flows of interfaces are counted by");

pub(super) fn register(cli: &mut Cli<Router>) {
    let set = |router: &mut Router, of, w: Wanted| {
        Ok(uses::set(router, w.interface, of, w.tables, w.is_add)?)
    };
    cli.command(move |router, c: SetInput| set(router, Use::Input, c.0));
    cli.command(move |router, c: SetOutput| set(router, Use::Output, c.0));
    cli.command(move |router, c: SetFlow| set(router, Use::Flow, c.0));
    let shown =
        |router: &mut Router, of, kind: OfKind, none| Output::of(rows(router, of, kind.0, none));
    cli.command(move |router: &mut Router, c: ShowInput| {
        Ok(shown(router, Use::Input, c.0, "No input ACL tables configured"))
    });
    cli.command(move |router: &mut Router, c: ShowOutput| {
        Ok(shown(router, Use::Output, c.0, "No output ACL tables configured"))
    });
    cli.command(move |router: &mut Router, c: ShowFlow| {
        Ok(shown(router, Use::Flow, c.0, "No flow classify tables configured"))
    });
}

#[derive(Serialize)]
struct Row {
    interface: String,
    sw_if_index: u32,
    table: u32,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Rows {
    rows: Vec<Row>,
    #[serde(skip)]
    none: &'static str,
}

fn rows(router: &Router, of: Use, kind: Kind, none: &'static str) -> Rows {
    let row = |(InterfaceIndex(sw_if_index), table)| {
        let interface = router.interfaces.name(sw_if_index).to_owned();
        Row { interface, sw_if_index, table }
    };
    Rows { rows: uses::of(router, of, kind).map(row).collect(), none }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows.is_empty() {
            return writeln!(f, "{}", self.none);
        }
        writeln!(f, "{:<20}{:<20}{:>10}", "Intfc idx", "Classify table", "Interface name")?;
        self.rows.iter().try_for_each(|Row { interface, sw_if_index, table }| {
            writeln!(f, "{sw_if_index:<20}{table:<20}{interface:>10}")
        })
    }
}
