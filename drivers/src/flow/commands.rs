//! `flow add`, `flow del`, `flow enable`, `flow disable`, `show flow`.

use std::fmt;

use control::cli::{Args, Cli, Command, Error, Output};
use net::{InterfaceIndex, Router};
use serde::Serialize;

use super::Rule;
use super::rule::Reading;

/// `flow [add|del|enable|disable] …`.
#[derive(Debug, PartialEq)]
enum Flow {
    Add(Option<u32>, Rule),
    Delete(u32),
    Enable(u32, InterfaceIndex),
    Disable(u32),
}

impl Command for Flow {
    const PATHS: &'static [&'static str] = &["flow"];
    const ABOUT: &'static str = "Add, delete, enable or disable a NIC flow rule";
    const USAGE: &'static str = "{add [index <index>] [eth-type <type>] \
        [src-ip <ip4/mask>] [dst-ip <ip4/mask>] \
        [ip6-src-ip <ip6/mask>] [ip6-dst-ip <ip6/mask>] [src-port <port/mask>] \
        [dst-port <port/mask>] [proto <protocol>] \
        [in-src-ip <ip4/mask>] [in-dst-ip <ip4/mask>] [in-ip6-src-ip <ip6/mask>] \
        [in-ip6-dst-ip <ip6/mask>] [in-src-port <port/mask>] [in-dst-port <port/mask>] \
        [in-proto <protocol>] [ethernet <src> <dst> <type>] \
        [gtpc teid <teid>] [gtpu teid <teid>] [vxlan <vni>] [session id <session>] [spi <spi>] \
        [spec <hex> mask <hex>] [next-node <node>] [mark <id>] [count] [buffer-advance <len>] \
        [redirect-to-queue <queue>] [drop] [rss function <name>] [rss types <types>] \
        [rss queues <first> to <last>] | del index <index> | enable index <index> <interface> | \
        disable index <index>}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mut verb, mut number, mut interface) = (None, None, None);
        let mut rule = Reading::default();
        let words = *args;
        while let Some(word) = args.peek() {
            if VERBS.contains(&word) && verb.is_none() {
                verb = args.word();
            } else if args.keyword("index") {
                number = Some(args.value("index")?);
            } else if !rule.take(args)? {
                // A rule that is disabled knows its interface.
                if verb.is_none_or(|verb| !verb.ends_with("able")) || interface.is_some() {
                    return Err(args.unknown());
                }
                interface = Some(args.value("interface")?);
            }
        }
        let index = || number.ok_or_else(|| args.error("expected index"));
        Ok(match verb {
            Some("add") => Self::Add(number, rule.finish(args)?),
            Some("del") => Self::Delete(index()?),
            Some("enable") => {
                let missing = || args.error("expected an interface");
                Self::Enable(index()?, interface.ok_or_else(missing)?)
            }
            Some(_) => Self::Disable(index()?),
            None => return Err(words.error("expected add, del, enable or disable")),
        })
    }
}

/// First words.
const VERBS: [&str; 4] = ["add", "del", "enable", "disable"];

/// Show NIC flow rules.
#[derive(Command)]
#[command("show flow entry")]
struct ShowEntries {
    /// only this one
    #[keyword("index")]
    index: Option<u32>,
    /// maximum number of entries
    #[keyword("max")]
    max: Option<usize>,
}

/// Show the flow rules of an interface's NIC.
#[derive(Command)]
#[command("show flow interface")]
struct ShowInterface {
    /// interface
    #[positional]
    #[values("interface")]
    _interface: InterfaceIndex,
}

/// Show the flow rule ranges assigned to parts of the router.
#[derive(Command)]
#[command("show flow ranges")]
struct ShowRanges;

#[derive(Serialize)]
struct Entry {
    index: u32,
    matches: Vec<String>,
    actions: Vec<String>,
    /// Interfaces whose cards sort by it.
    interfaces: [String; 0],
}

fn write_entries(rows: &[Entry], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|entry| {
        writeln!(f, "flow-index {}", entry.index)?;
        writeln!(f, "  match: {}", entry.matches.join(", "))?;
        writeln!(f, "  action: {}", entry.actions.join(", "))?;
        writeln!(f, "  interfaces: none")
    })
}

fn entries(router: &Router, c: &ShowEntries) -> Result<Output, Error> {
    let rules = super::rules(router);
    if let Some(index) = c.index {
        rules.expect(index)?;
    }
    let is_shown = |(number, _): &(u32, &Rule)| c.index.is_none_or(|index| index == *number);
    let entry = |(index, rule): (u32, &Rule)| Entry {
        index,
        matches: rule.matches.iter().map(ToString::to_string).collect(),
        actions: rule.actions.iter().map(ToString::to_string).collect(),
        interfaces: [],
    };
    let shown = rules.all().filter(is_shown).take(c.max.unwrap_or(usize::MAX));
    let (is_one, all) = (c.index.is_some(), rules.all().count());
    Ok(Output::rows(shown.map(entry), move |rows, f| {
        write_entries(rows, f)?;
        let count = rows.len();
        if is_one { Ok(()) } else { writeln!(f, "Displayed {count} flows ({all} total flows)") }
    }))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Flow| {
        match c {
            Flow::Add(number, rule) => {
                let number = super::with(router, |rules| rules.add(number, rule))?;
                return Ok(format!("flow index {number}"));
            }
            Flow::Delete(number) => super::with(router, |rules| rules.delete(number))?,
            Flow::Enable(number, interface) => super::enable(router, number, interface)?,
            Flow::Disable(number) => super::disable(router, number)?,
        }
        Ok(String::new())
    });
    cli.command(|router: &mut Router, c: ShowEntries| entries(router, &c));
    // No interface has a card that sorts.
    cli.command(|_: &mut Router, _: ShowInterface| Ok(Output::rows(Vec::new(), write_entries)));
    // No part of the router takes numbers for itself.
    cli.command(|_: &mut Router, _: ShowRanges| Ok(Output::rows(Vec::new(), write_entries)));
}
