//! `show adjacency`.

use std::fmt::{self, Write};
use std::net::IpAddr;

use control::cli::{Args, Cli, Command, Error, Output, Word};
use serde::Serialize;
use wire::ethernet::EtherType;
use zerocopy::IntoBytes;

use super::{Adjacency, AdjacencyIndex, Link, Role};
use crate::router::Router;

/// Description of an adjacency in one line, as in routes and traces.
pub fn describe(router: &Router, index: AdjacencyIndex) -> String {
    let Some(a) = router.adjacencies.at(index) else { return "deleted".to_owned() };
    let family = a.link.name();
    let interface = router.interfaces.name(a.interface.0);
    let mut text = match a.role {
        Role::Neighbor if !a.complete => {
            return format!("arp-{family}: via {} {interface}", a.next_hop);
        }
        Role::Neighbor | Role::Midchain => format!("{family} via {} {interface}: ", a.next_hop),
        Role::Glean => format!("{family}-glean: [src:{}] {interface}: ", network(router, a)),
        Role::Multicast => format!("{family}-mcast: {interface}: "),
    };
    // Writing to a string does not fail.
    let _ = write!(text, "mtu:{} next:{} flags:[] ", a.mtu, a.output.0);
    let mut header = a.header().to_vec();
    if a.role == Role::Glean
        && a.link == Link::Ip4
        && let Some(ethertype) = header.last_chunk_mut::<2>()
    {
        ethertype.copy_from_slice(EtherType::ARP.as_bytes());
    }
    let tunnel = a.hop.as_deref().map_or(&[][..], |hop| &hop.header);
    header.iter().chain(tunnel).for_each(|byte| {
        let _ = write!(text, "{byte:02x}");
    });
    if let (Some(hop), Some(list)) = (&a.hop, router.adjacencies.stack_of(index)) {
        let _ = write!(text, "\n      stacked-on{}", router.describe_stack(list, hop.stacked));
    }
    text
}

/// The network behind a glean, or the address it asks from.
fn network(router: &Router, a: &Adjacency) -> String {
    let mut own = router.addresses.of(a.interface).iter();
    let found = own.find(|p| p.addr() == a.next_hop);
    found.map_or_else(|| a.next_hop.to_string(), |p| p.network().to_string())
}

/// `show adj [INDEX] [INTERFACE] [NEXT-HOP] [summary]`.
struct Show {
    index: Option<u32>,
    interface: Option<Word>,
    next_hop: Option<IpAddr>,
    summary: bool,
}

impl Show {
    fn take(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut show = Self { index: None, interface: None, next_hop: None, summary: false };
        while !args.is_empty() {
            if args.keyword("summary") || args.keyword("sum") {
                show.summary = true;
            } else if let Some(index) = args.optional() {
                show.index = Some(index);
            } else if let Some(next_hop) = args.optional() {
                show.next_hop = Some(next_hop);
            } else {
                show.interface = Some(args.value("interface")?);
            }
        }
        Ok(show)
    }
    fn carry_out(&self, router: &Router, is_meant: fn(Role) -> bool) -> Result<Output, Error> {
        let interface = match &self.interface {
            Some(name) => {
                let found = router.interfaces.named(name);
                Some(found.ok_or_else(|| name.unknown("interface"))?.index)
            }
            None => None,
        };
        let mut all = router.adjacencies.iter();
        if self.summary {
            let counted = if router.adjacencies.are_counted { "enabled" } else { "disabled" };
            let text = format!("Number of adjacencies: {}", all.count());
            return Ok(Output::text(format!("{text}\nPer-adjacency counters: {counted}")));
        }
        let chosen = |(index, a): &(AdjacencyIndex, &Adjacency)| {
            self.index.is_none_or(|i| i == index.0)
                && interface.is_none_or(|i| i == a.interface)
                && self.next_hop.is_none_or(|next_hop| next_hop == a.next_hop)
                && is_meant(a.role)
        };
        let rows: Vec<_> = all
            .by_ref()
            .filter(chosen)
            .map(|(index, a)| Row {
                index: index.0,
                interface: router.interfaces.name(a.interface.0).to_owned(),
                next_hop: a.next_hop.to_string(),
                packets: router.adjacencies.counters().sum(index.0 as usize).packets,
                complete: a.complete,
                mtu: a.mtu,
                users: router.adjacencies.users(index),
                text: describe(router, index),
            })
            .collect();
        match self.index {
            Some(index) if rows.is_empty() => Ok(Output::text(format!("no adjacency {index}"))),
            _ => Ok(Output::rows(rows, write_rows)),
        }
    }
}

#[derive(Serialize)]
struct Row {
    index: u32,
    interface: String,
    next_hop: String,
    packets: u64,
    complete: bool,
    mtu: u16,
    users: u32,
    #[serde(skip)]
    text: String,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|r| writeln!(f, "[@{}] {}", r.index, r.text))
}

struct ShowAll(Show);
struct ShowNeighbors(Show);

const USAGE: &str = "[<index>] [<interface>] [<next-hop>] [summary|sum]";

impl Command for ShowAll {
    const PATHS: &'static [&'static str] = &["show adj", "show adjacency"];
    const ABOUT: &'static str = "Show adjacencies";
    const USAGE: &'static str = USAGE;
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Show::take(args).map(Self)
    }
}

impl Command for ShowNeighbors {
    const PATHS: &'static [&'static str] = &["show adj nbr", "show adjacency nbr"];
    const ABOUT: &'static str = "Show adjacencies of neighbors";
    const USAGE: &'static str = USAGE;
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        Show::take(args).map(Self)
    }
}

/// `adjacency counters [enable|disable]`.
struct Count {
    is_on: bool,
}

impl Command for Count {
    const PATHS: &'static [&'static str] = &["adjacency counters"];
    const ABOUT: &'static str = "Count packets over each adjacency";
    const USAGE: &'static str = "[enable|disable]";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let is_off = args.keyword("disable");
        if !is_off {
            args.keyword("enable");
        }
        Ok(Self { is_on: !is_off })
    }
}

pub(crate) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: ShowAll| c.0.carry_out(router, |_| true));
    cli.command(|router: &mut Router, c: ShowNeighbors| {
        c.0.carry_out(router, |role| matches!(role, Role::Neighbor | Role::Midchain))
    });
    cli.command(|router: &mut Router, c: Count| {
        router.count_adjacencies(c.is_on);
        Ok(Output::none())
    });
}
