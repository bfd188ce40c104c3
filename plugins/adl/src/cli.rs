//! `adl interface`, `adl allowlist`; scripts know both by the names of their messages as well.

use control::cli::{Args, Cli, Command, Error, Line, Print};
use control::configuration::{Lines, Stage};
use net::{InterfaceIndex, Router};

use super::Lists;

/// `adl interface INTERFACE [disable]`.
#[derive(Debug, PartialEq)]
struct SetInterface {
    interface: InterfaceIndex,
    disable: bool,
}

impl Command for SetInterface {
    const PATHS: &'static [&'static str] =
        &["adl interface", "binary-api adl_interface_enable_disable"];
    const ABOUT: &'static str = "Look at an interface's packets, or no longer";
    const USAGE: &'static str = "<interface> [disable]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let interface = args.value("interface")?;
        Ok(Self { interface, disable: args.keyword("disable") })
    }
}

impl Print for SetInterface {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.interface).flag("disable", self.disable);
    }
}

/// `adl allowlist INTERFACE [ip4] [ip6] [default] [fib-id N] [disable]`.
#[derive(Debug, PartialEq)]
struct SetLists {
    interface: InterfaceIndex,
    versions: [bool; 2],
    has_default: bool,
    id: u32,
}

impl Command for SetLists {
    const PATHS: &'static [&'static str] =
        &["adl allowlist", "binary-api adl_allowlist_enable_disable"];
    const ABOUT: &'static str = "Set the table that allowed sources of an interface are in";
    const USAGE: &'static str = "<interface> [ip4] [ip6] [default] [fib-id <fib-id>] [disable]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let interface = args.value("interface")?;
        let mut new = Self { interface, versions: [false; 2], has_default: false, id: 0 };
        while !args.is_empty() {
            if args.keyword("ip4") {
                new.versions[0] = true;
            } else if args.keyword("ip6") {
                new.versions[1] = true;
            } else if args.keyword("default") {
                new.has_default = true;
            } else if args.keyword("fib-id") {
                new.id = args.value("table id")?;
            } else if args.keyword("disable") {
                (new.versions, new.has_default) = ([false; 2], false);
                return Ok(new);
            } else {
                return Err(args.unknown());
            }
        }
        if new.versions == [false; 2] && !new.has_default {
            return Err(args.error("expected ip4, ip6, default or disable"));
        }
        Ok(new)
    }
}

impl Print for SetLists {
    const STAGE: Stage = Stage::Attachments;
    fn print(&self, line: &mut Line<'_>) {
        let Self { interface, versions: [ip4, ip6], has_default, id } = self;
        line.value(interface).flag("ip4", *ip4).flag("ip6", *ip6).flag("default", *has_default);
        line.option("fib-id", Some(id).filter(|id| **id > 0));
    }
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (interface, lists) in router.settings::<Lists>() {
        if lists.is_on {
            lines.push(&SetInterface { interface, disable: false });
        }
        let versions = lists.tables.map(|table| table.is_some());
        let id = lists.tables.iter().flatten().next().map_or(0, |(id, _)| *id);
        let has_default = lists.has_default;
        if versions != [false; 2] || has_default {
            lines.push(&SetLists { interface, versions, has_default, id });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetInterface| {
        Ok(super::enable(router, c.interface, !c.disable)?)
    });
    cli.command(|router: &mut Router, c: SetLists| {
        Ok(super::set_lists(router, c.interface, c.id, c.versions, c.has_default)?)
    });
}
