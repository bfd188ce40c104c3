//! `l3xc`, `show l3xc`.

use std::fmt;

use control::cli::{Args, Cli, Command, Error, Line, Output, Print};
use control::configuration::{Lines, Stage};
use net::fib::{Path, RouteOf, paths_of, words_of_path};
use net::{InterfaceIndex, Router};
use serde::Serialize;
use wire::IpVersion;

use super::Key;

/// `l3xc [add|del] INTERFACE PATHS`.
#[derive(Debug, PartialEq)]
struct Set {
    interface: InterfaceIndex,
    is_del: bool,
    paths: String,
}

impl Command for Set {
    const PATHS: &'static [&'static str] = &["l3xc"];
    const ABOUT: &'static str = "Have all IP packets of an interface leave by given paths";
    const USAGE: &'static str = "[add|del] <interface> {via [<next-hop>] [<interface>] \
        [next-hop-table <table-id>] [weight <n:0-255>] [preference <n:0-255>]}...";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let is_del = !args.keyword("add") && args.keyword("del");
        let interface = args.value("interface")?;
        let paths = args.rest().to_owned();
        if paths.is_empty() {
            return Err(args.error("expected via"));
        }
        Ok(Self { interface, is_del, paths })
    }
}

impl Print for Set {
    const STAGE: Stage = Stage::Routes;
    fn print(&self, line: &mut Line<'_>) {
        line.word(if self.is_del { "del" } else { "add" });
        line.value(&self.interface).flag(&self.paths, true);
    }
}

/// Show where the packets of cross-connected interfaces go.
#[derive(Command)]
#[command("show l3xc")]
struct Show;

/// The paths in words, and what packets they are for: what the first next hop is of.
fn read(router: &Router, text: &str) -> Result<(IpVersion, Vec<Path>), Error> {
    let is_ip6 = text.split_whitespace().any(|word| word.parse::<std::net::Ipv6Addr>().is_ok());
    let version = IpVersion::six(is_ip6);
    Ok((version, paths_of(router, RouteOf::Link(version.into()), 0, text)?))
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (Key { interface, version }, paths) in super::all(router) {
        let paths: Option<Vec<_>> =
            paths.iter().map(|path| words_of_path(router, version.into(), path)).collect();
        let Some(paths) = paths else { continue };
        lines.push(&Set { interface, is_del: false, paths: paths.join(" ") });
    }
}

#[derive(Serialize)]
struct Row {
    interface: String,
    version: &'static str,
    paths: Vec<String>,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Rows(Vec<Row>);

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|Row { interface, version, paths }| {
            writeln!(f, "l3xc: {interface} {version}")?;
            paths.iter().try_for_each(|path| writeln!(f, "  {path}"))
        })
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| {
        let (version, paths) = read(router, &c.paths)?;
        let key = Key { interface: c.interface, version };
        let done = if c.is_del {
            super::remove(router, key)
        } else {
            super::set(router, key, paths).map(|_| ())
        };
        Ok(done?)
    });
    cli.command(|router: &mut Router, _: Show| {
        let row = |(Key { interface, version }, paths): (Key, &[Path])| Row {
            interface: router.interfaces.name(interface.0).to_owned(),
            version: version.long_name(),
            paths: paths
                .iter()
                .filter_map(|path| words_of_path(router, version.into(), path))
                .collect(),
        };
        Ok(Output::of(Rows(super::all(router).map(row).collect())))
    });
}
