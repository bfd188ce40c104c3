//! `show fib ...` and `show load-balance`: what routes are made of, shared by many of them.

use std::fmt;
use std::mem::size_of;

use control::cli::{Cli, Command, Error, Output, Step, Task};
use infra::order::Order;
use serde::Serialize;

use super::render;
use crate::adjacency::{Adjacency, Link};
use crate::fib::control::path::{Path, TableIndex};
use crate::fib::control::path_list::PathList;
use crate::fib::control::source::Source;
use crate::fib::control::table::{Entry, Key};
use crate::fib::family::{Family, Ip4, Ip6};
use crate::fib::forwarding::load_balance::Via;
use crate::router::Router;

/// Objects shown between two looks at the rest of the control plane.
const SLICE: u32 = 100;

/// Show objects by number.
#[derive(Command)]
#[command()]
pub(crate) struct ShowNumbered {
    /// only this one
    #[positional]
    pub index: Option<u32>,
}

/// Show route sources.
#[derive(Command)]
#[command("show fib source")]
struct Sources {
    /// sort by priority instead of by ID
    prio: bool,
}

/// Show memory used by routing.
#[derive(Command)]
#[command("show fib memory")]
struct Memory;

/// Objects of one kind, by number.
struct Numbered {
    next: u32,
    end: u32,
    show: fn(&Router, u32) -> Output,
    /// Nothing was shown so far.
    is_empty: bool,
}

impl Task<Router> for Numbered {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        let last = self.end.min(self.next.saturating_add(SLICE));
        for shown in (self.next..last).map(|i| (self.show)(router, i)) {
            self.is_empty &= shown.is_empty();
            out.append(shown);
        }
        self.next = last;
        if last < self.end {
            return Step::Again;
        }
        if self.is_empty {
            out.append(Output::both("", [(); 0]));
        }
        Step::Done(Ok(()))
    }
}

/// All objects up to `end`, or one, which is there when it shows something.
pub(super) fn numbered(
    router: &Router,
    index: Option<u32>,
    end: u32,
    show: fn(&Router, u32) -> Output,
) -> Result<Box<dyn Task<Router>>, Error> {
    let (next, end) = index.map_or((0, end), |i| (i, i.saturating_add(1)));
    if let Some(i) = index.filter(|i| show(router, *i).is_empty()) {
        return Err(Error::new(format!("no object {i}")));
    }
    Ok(Box::new(Numbered { next, end, show, is_empty: true }))
}

#[derive(Serialize)]
struct UrpfRow {
    path_list: u32,
    interfaces: Vec<u32>,
}

impl fmt::Display for UrpfRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "uRPF-list:{} len:{} itfs:[", self.path_list, self.interfaces.len())?;
        self.interfaces.iter().try_for_each(|i| write!(f, "{i}, "))?;
        writeln!(f, "]")
    }
}

fn urpf(router: &Router, index: u32) -> Output {
    let list = router.fib.lists.find(index);
    list.map_or_else(Output::none, |list| {
        Output::of(UrpfRow { path_list: index, interfaces: list.outputs() })
    })
}

/// The prefixes of one table after the other.
struct AllEntries {
    link: Link,
    table: TableIndex,
    last4: Option<Key<Ip4>>,
    last6: Option<Key<Ip6>>,
    /// The only number that is shown.
    only: Option<u32>,
}

#[derive(Serialize)]
struct EntryRow {
    number: u32,
    prefix: String,
    table: String,
}

impl fmt::Display for EntryRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}@{} {}", self.number, self.table, self.prefix)
    }
}

impl AllEntries {
    /// The next prefixes of the table; the last of them, `None` when there are no more.
    fn slice<F: Family>(
        &self,
        router: &Router,
        last: Option<Key<F>>,
        out: &mut Output,
    ) -> Option<Key<F>> {
        let t = F::tables(&router.fib).at(self.table)?;
        let keys = render::after::<F>(router, self.table, last, SLICE as usize);
        for key in &keys {
            let number = t.number_of(*key).unwrap_or_default();
            if self.only.is_some_and(|only| only != number) {
                continue;
            }
            let (prefix, table) = (F::prefix(*key).to_string(), t.name.clone());
            out.append(Output::of(EntryRow { number, prefix, table }));
        }
        keys.last().copied()
    }
    /// Goes on to the next table; whether there is one.
    fn next_table(&mut self, router: &Router) -> bool {
        let fib = &router.fib;
        let after = |link, least: u16| match link {
            Link::Ip4 => fib.ip4.every().map(|t| t.0).find(|t| t.0 >= least),
            _ => fib.ip6.every().map(|t| t.0).find(|t| t.0 >= least),
        };
        let same = self.table.0.checked_add(1).and_then(|next| after(self.link, next));
        let next = match (same, self.link) {
            (Some(table), link) => Some((link, table)),
            (None, Link::Ip4) => after(Link::Ip6, 0).map(|table| (Link::Ip6, table)),
            (None, _) => None,
        };
        (self.link, self.table) = next.unwrap_or((self.link, self.table));
        next.is_some()
    }
}

impl Task<Router> for AllEntries {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        let goes_on = match self.link {
            Link::Ip4 => {
                self.last4 = self.slice::<Ip4>(router, self.last4, out);
                self.last4.is_some()
            }
            _ => {
                self.last6 = self.slice::<Ip6>(router, self.last6, out);
                self.last6.is_some()
            }
        };
        if goes_on || self.next_table(router) { Step::Again } else { Step::Done(Ok(())) }
    }
}

#[derive(Serialize)]
struct SourceRow {
    id: u8,
    name: String,
    priority: u8,
}

fn write_source_rows(rows: &[SourceRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|r| writeln!(f, "[{}] {} prio:{}", r.id, r.name, r.priority))
}

fn sources(router: &Router, is_by_priority: bool) -> Output {
    let row = |(s, name): (Source, &str)| SourceRow {
        id: s.id(),
        name: name.to_owned(),
        priority: s.priority(),
    };
    let mut rows: Vec<_> = router.fib.sources.iter().map(row).collect();
    if is_by_priority {
        rows.order_by_key(|r| r.priority);
    }
    Output::rows(rows, write_source_rows)
}

#[derive(Serialize)]
struct Tables {
    name: &'static str,
    count: usize,
    bytes: usize,
}

/// Objects of one kind and the bytes of each.
#[derive(Serialize)]
pub(super) struct Objects {
    name: &'static str,
    size: usize,
    count: usize,
}

impl Objects {
    pub fn new(name: &'static str, size: usize, count: usize) -> Self {
        Self { name, size, count }
    }
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, size, count } = self;
        writeln!(f, "{name:>20}{size:>12}{count:>14}{:>14}", size * count)
    }
}

#[derive(Serialize)]
struct MemoryRows {
    tables: [Tables; 2],
    objects: [Objects; 5],
}

impl MemoryRows {
    fn of(router: &Router) -> Self {
        fn tables<F: Family>(router: &Router, name: &'static str) -> (Tables, usize) {
            let all = || F::tables(&router.fib).every().map(|(_, t)| t);
            let bytes = all().map(crate::fib::control::table::Table::memory).sum();
            (Tables { name, count: all().count(), bytes }, all().map(|t| t.entries.len()).sum())
        }
        let (ip4, four) = tables::<Ip4>(router, "IPv4 unicast");
        let (ip6, six) = tables::<Ip6>(router, "IPv6 unicast");
        let lists = || router.fib.lists.iter();
        let objects = Objects::new;
        Self {
            tables: [ip4, ip6],
            objects: [
                objects("Entry", size_of::<Entry>(), four + six),
                objects("Path-list", size_of::<PathList>(), lists().count()),
                objects("Path", size_of::<Path>(), lists().map(|(_, l)| l.paths.len()).sum()),
                objects("Load-balance", size_of::<Via>(), router.fib.balances.len()),
                objects("Adjacency", size_of::<Adjacency>(), router.adjacencies.iter().count()),
            ],
        }
    }
}

impl fmt::Display for MemoryRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "FIB memory\n  Tables:")?;
        writeln!(f, "{:>20}{:>12}{:>14}", "SAFI", "Number", "Bytes")?;
        for t in &self.tables {
            writeln!(f, "{:>20}{:>12}{:>14}", t.name, t.count, t.bytes)?;
        }
        writeln!(f, "  Nodes:\n{:>20}{:>12}{:>14}{:>14}", "Name", "Size", "in-use", "totals")?;
        self.objects.iter().try_for_each(|objects| objects.fmt(f))
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    let lists = |r: &mut Router, c: ShowNumbered| {
        numbered(r, c.index, r.fib.lists.end(), render::path_list)
    };
    cli.task_at("show fib path-lists", "Show path lists", lists);
    let paths =
        |r: &mut Router, c: ShowNumbered| numbered(r, c.index, r.fib.lists.end(), render::paths);
    cli.task_at("show fib paths", "Show the paths of all path lists, or of one", paths);
    let interfaces =
        |r: &mut Router, c: ShowNumbered| numbered(r, c.index, r.fib.lists.end(), urpf);
    cli.task_at("show fib uRPF", "Show the reverse-path interfaces of path lists", interfaces);
    let balances = |r: &mut Router, c: ShowNumbered| {
        numbered(r, c.index, r.fib.balances.end(), render::load_balance)
    };
    cli.task_at("show load-balance", "Show load balances", balances);
    let entries = |_: &mut Router, c: ShowNumbered| {
        let (table, only) = (TableIndex::DEFAULT, c.index);
        let all = AllEntries { link: Link::Ip4, table, last4: None, last6: None, only };
        Ok(Box::new(all) as Box<dyn Task<Router>>)
    };
    cli.task_at("show fib entry", "List the FIB entries of all tables by index", entries);
    cli.command(|router: &mut Router, c: Sources| Ok(sources(router, c.prio)));
    cli.command(|router: &mut Router, _: Memory| Ok(Output::of(MemoryRows::of(router))));
}
