//! `show ip mfib` and `show ip6 mfib`.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::net::IpAddr;
use std::str::FromStr;

use control::cli::{Cli, Command, Error, Output};
use serde::Serialize;

use super::kind::Multicast;
use super::routes::prefix;
use super::table::{Copy, Entry, MKey};
use super::{EntryFlags, MPath};
use crate::adjacency;
use crate::fib::{Ip4, Ip6, TableIndex, Target};
use crate::router::Router;

/// Show multicast routes.
#[derive(Command)]
#[command()]
struct Show {
    /// only this table
    table: Option<u32>,
    /// only the table with this index
    index: Option<u16>,
    /// numbers of routes
    #[alias("sum")]
    #[alias("brief")]
    summary: bool,
    /// memory of the tables
    #[alias("memory")]
    mem: bool,
    /// accepted: entries that cover an address are always shown for it
    #[keyword("cover")]
    #[alias("verbose")]
    #[alias("detail")]
    _cover: bool,
    /// group, or group/length, or source and group
    #[positional]
    groups: Vec<Group>,
}

/// An address, with a length or without.
struct Group(IpAddr, Option<u8>);

impl FromStr for Group {
    type Err = ();
    fn from_str(word: &str) -> Result<Self, ()> {
        let (addr, len) = word.split_once('/').map_or((word, None), |(a, l)| (a, Some(l)));
        let len = len.map(|len| len.parse().map_err(drop)).transpose()?;
        Ok(Self(addr.parse().map_err(drop)?, len))
    }
}

impl Show {
    fn carry_out<F: Multicast>(&self, router: &Router) -> Result<Output, Error> {
        let named = |id| {
            let found = router.fib.table::<F>(id);
            found.ok_or_else(|| Error::new(format!("Nonexistent table id {id}")))
        };
        let only = match (self.table, self.index) {
            (Some(id), _) => Some(named(id)?),
            (None, index) => index.map(TableIndex),
        };
        let tables = F::mtables(&router.mfib).iter().filter(|(i, _)| only.is_none_or(|o| o == *i));
        let mut all = Vec::new();
        for (index, t) in tables {
            let chosen = t.entries.iter().filter(|(key, _)| self.is_chosen::<F>(**key));
            let routes: Vec<_> = chosen.map(|(key, e)| route::<F>(router, *key, e)).collect();
            let id = router.fib.table_id::<F>(index).unwrap_or_default();
            let name = format!("{}-VRF:{id}", F::LONG_NAME);
            let is_summary = self.summary;
            let bytes = self.mem.then(|| t.size().1);
            all.push(Table { name, fib_index: index.0, table_id: id, is_summary, bytes, routes });
        }
        Ok(Output::list(all))
    }
    fn is_chosen<F: Multicast>(&self, key: MKey<F>) -> bool {
        match self.groups[..] {
            [] => true,
            [Group(group, len)] => {
                let is_in = |bits| F::masked(bits, key.1) == key.0;
                let is_len = len.is_none_or(|len| len == key.1);
                F::bits(group).is_some_and(is_in) && is_len
            }
            [Group(source, _), Group(group, _), ..] => {
                F::bits(group) == Some(key.0) && key.2.is_some() && F::bits(source) == key.2
            }
        }
    }
}

/// The target of a copy.
pub(super) fn describe(router: &Router, copy: &Copy) -> String {
    match copy {
        Copy::Receive => "[@1]: dpo-receive".to_owned(),
        Copy::Multicast(a) | Copy::Neighbor(a, _) => {
            format!("[@2]: {}", adjacency::describe(router, *a))
        }
        Copy::Object(object) => router.describe_object(*object),
    }
}

#[derive(Serialize)]
struct Route {
    #[serde(skip)]
    family: &'static str,
    prefix: String,
    /// Bits that are looked up: of the group, and of the source if there is one.
    #[serde(skip)]
    len: u32,
    flags: String,
    rpf_id: u32,
    stats_index: u32,
    interfaces: Vec<(String, String)>,
    copies: Vec<String>,
    /// Whether one of them is for the router itself.
    #[serde(skip)]
    is_local: bool,
    packets: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Table {
    name: String,
    fib_index: u16,
    table_id: u32,
    #[serde(skip)]
    is_summary: bool,
    /// Memory that nodes read.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    routes: Vec<Route>,
}

fn route<F: Multicast>(router: &Router, key: MKey<F>, entry: &Entry) -> Route {
    let route = entry.best();
    let name = |p: &MPath| match p.path.target {
        Target::Receive { .. } => "local".to_owned(),
        target => target
            .interface()
            .map_or_else(|| format!("{target:?}"), |i| router.interfaces.name(i.0).to_owned()),
    };
    let interfaces = route.paths.iter().map(|p| (name(p), p.flags.to_string())).collect();
    let copies = router.mfib.routes.at(entry.route).map_or(&[][..], |r| &r.copies);
    let counted = router.mfib.counters.sum(entry.route as usize);
    Route {
        family: F::NAME,
        prefix: prefix::<F>(key).to_string(),
        len: u32::from(key.1) + key.2.map_or(0, |_| u32::from(F::BITS)),
        flags: route.flags.to_string(),
        rpf_id: route.rpf_id,
        stats_index: entry.route,
        interfaces,
        copies: copies.iter().map(|copy| describe(router, copy)).collect(),
        is_local: copies.iter().any(|copy| matches!(copy, Copy::Receive)),
        packets: counted.packets,
        bytes: counted.bytes,
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(bytes) = self.bytes {
            return writeln!(f, "{} hash:{bytes}", self.name);
        }
        writeln!(f, "{}, fib_index:{} flags:none", self.name, self.fib_index)?;
        if self.is_summary {
            writeln!(f, "{:>17}{:>14}     ", "Prefix length", "Count")?;
            let mut lens = BTreeMap::<u32, usize>::new();
            self.routes.iter().for_each(|route| *lens.entry(route.len).or_default() += 1);
            return lens.iter().try_for_each(|(len, n)| writeln!(f, "{len:>20}{n:>16}"));
        }
        self.routes.iter().try_for_each(|r| r.fmt(f))
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.prefix)?;
        if !self.flags.is_empty() {
            write!(f, "  flags:{}", self.flags)?;
        }
        if self.rpf_id != 0 {
            write!(f, " rpf-id:{}", self.rpf_id)?;
        }
        writeln!(f, "\n  Interfaces:")?;
        for (name, flags) in &self.interfaces {
            writeln!(f, "   {name}: {flags}")?;
        }
        writeln!(f, "  multicast-{}-chain", self.family)?;
        if self.copies.is_empty() {
            return writeln!(f, "  [@0]: dpo-drop {}", self.family);
        }
        let mut text = String::new();
        for (i, copy) in self.copies.iter().enumerate() {
            writeln!(text, "    [{i}] {copy}")?;
        }
        write!(f, "  [@1]: dpo-replicate: [index:{} ", self.stats_index)?;
        let count = self.copies.len();
        let flags = if self.is_local { "has-local " } else { "none" };
        write!(f, "buckets:{count} flags:[{flags}] to:[{}:{}]]\n{text}", self.packets, self.bytes)
    }
}

/// Show the flags of multicast routes.
#[derive(Command)]
#[command("show mfib route flags")]
struct ShowRouteFlags {}

/// Show the flags of interfaces in multicast routes.
#[derive(Command)]
#[command("show mfib itf flags")]
struct ShowItfFlags {}

fn list(flags: &[(u32, &'static str)]) -> Output {
    let lines: String = flags.iter().map(|(bit, name)| format!("{name} = {bit}\n")).collect();
    Output::both(lines, flags.iter().map(|(bit, name)| (*name, *bit)).collect::<BTreeMap<_, _>>())
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command_at("show ip mfib", |router: &mut Router, c: Show| c.carry_out::<Ip4>(router));
    cli.command_at("show ip6 mfib", |router: &mut Router, c: Show| c.carry_out::<Ip6>(router));
    cli.command(|_: &mut Router, _: ShowRouteFlags| {
        let all: Vec<_> = EntryFlags::NAMES.iter().map(|(flag, name)| (flag.0, *name)).collect();
        Ok(list(&all))
    });
    cli.command(|_: &mut Router, _: ShowItfFlags| {
        let names = super::ItfFlags::NAMES;
        let all: Vec<_> = names.iter().map(|(flag, name)| (flag.0, *name)).collect();
        Ok(list(&all))
    });
}
