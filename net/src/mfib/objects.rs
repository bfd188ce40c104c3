//! Objects of multicast routes: `show mfib entry`, `show mfib interface`, `show replicate`.

use std::fmt;
use std::ops::Bound;

use control::cli::{Cli, Error, Output, Step, Task};
use infra::counter::Volume;
use serde::Serialize;

use super::kind::Multicast;
use super::routes::prefix;
use super::show::describe;
use super::table::{Copy, Entry, MKey};
use crate::fib::{Ip4, Ip6, ShowNumbered, TableIndex, TableSize};
use crate::router::Router;

/// Routes shown between two looks at the rest of the control plane.
const SLICE: usize = 200;

/// Description of a route.
type Say = fn(&Router, &Seen<'_>) -> Output;

/// A route that is looked at.
struct Seen<'r> {
    table: String,
    prefix: String,
    entry: &'r Entry,
}

/// The tables of a family on their way past.
struct Pages<F: Multicast> {
    tables: Vec<TableIndex>,
    last: Option<MKey<F>>,
}

impl<F: Multicast> Pages<F> {
    fn new(router: &Router) -> Self {
        let tables = F::mtables(&router.mfib).iter().map(|(index, _)| index).collect();
        Self { tables, last: None }
    }
    /// Says something of the next routes; false when there are no more.
    fn next(&mut self, router: &Router, say: &mut dyn FnMut(&Seen<'_>)) -> bool {
        let Some(&table) = self.tables.first() else { return false };
        let start = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let entries = F::mtables(&router.mfib).at(table).map(|t| &t.entries);
        let some = entries.into_iter().flat_map(|e| e.range((start, Bound::Unbounded)));
        self.last = None;
        let id = router.fib.table_id::<F>(table).unwrap_or_default();
        for (key, entry) in some.take(SLICE) {
            self.last = Some(*key);
            let table = format!("{}-VRF:{id}", F::LONG_NAME);
            say(&Seen { table, prefix: prefix::<F>(*key).to_string(), entry });
        }
        if self.last.is_none() {
            self.tables.remove(0);
        }
        true
    }
}

/// All routes, a few at a time.
struct All {
    ip4: Pages<Ip4>,
    ip6: Pages<Ip6>,
    say: Say,
    /// Only the route with this number; whether it was seen.
    only: Option<(u32, bool)>,
    /// Nothing was shown so far.
    is_empty: bool,
}

impl Task<Router> for All {
    fn step(&mut self, router: &mut Router, out: &mut Output) -> Step {
        let Self { ip4, ip6, say, only, is_empty } = self;
        let router = &*router;
        let mut each = |seen: &Seen<'_>| match only {
            Some((wanted, _)) if *wanted != seen.entry.route => {}
            _ => {
                let shown = say(router, seen);
                *is_empty &= shown.is_empty();
                out.append(shown);
                *only = only.map(|(wanted, _)| (wanted, true));
            }
        };
        if ip4.next(router, &mut each) || ip6.next(router, &mut each) {
            return Step::Again;
        }
        if *is_empty {
            out.append(Output::both("", [(); 0]));
        }
        Step::Done(match only {
            Some((index, false)) => Err(Error::new(format!("no object {index}"))),
            _ => Ok(()),
        })
    }
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

fn entry(_: &Router, seen: &Seen<'_>) -> Output {
    let (prefix, table) = (seen.prefix.clone(), seen.table.clone());
    Output::of(EntryRow { number: seen.entry.route, prefix, table })
}

#[derive(Serialize)]
struct InterfaceRow {
    route: u32,
    interface: String,
    flags: String,
}

impl fmt::Display for InterfaceRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}: {}", self.route, self.interface, self.flags)
    }
}

fn interfaces(router: &Router, seen: &Seen<'_>) -> Output {
    let mut rows = Output::none();
    let route = router.mfib.routes.at(seen.entry.route);
    for (interface, flags) in route.map_or(&[][..], |r| &r.interfaces) {
        let interface = router.interfaces.name(*interface).to_owned();
        let flags = flags.to_string();
        rows.append(Output::of(InterfaceRow { route: seen.entry.route, interface, flags }));
    }
    rows
}

#[derive(Serialize)]
struct Replicate {
    index: u32,
    packets: u64,
    bytes: u64,
    copies: Vec<String>,
    /// Whether one of them is for the router itself.
    #[serde(skip)]
    is_local: bool,
}

impl fmt::Display for Replicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, packets, bytes, copies, is_local } = self;
        let flags = if *is_local { "has-local " } else { "none" };
        write!(f, "dpo-replicate: [index:{index} buckets:{} flags:[{flags}] ", copies.len())?;
        writeln!(f, "to:[{packets}:{bytes}]]")?;
        let mut numbered = copies.iter().enumerate();
        numbered.try_for_each(|(at, copy)| writeln!(f, "  [{at}] {copy}"))
    }
}

fn replicate(router: &Router, seen: &Seen<'_>) -> Output {
    let index = seen.entry.route;
    let copies = router.mfib.routes.at(index).map_or(&[][..], |r| &r.copies);
    if copies.is_empty() {
        return Output::none();
    }
    let is_local = copies.iter().any(|copy| matches!(copy, Copy::Receive));
    let copies = copies.iter().map(|copy| describe(router, copy)).collect();
    let Volume { packets, bytes } = router.mfib.counters.sum(index as usize);
    Output::of(Replicate { index, packets, bytes, copies, is_local })
}

/// The tables that packets are looked up in.
pub(super) fn sizes(router: &Router) -> Vec<TableSize> {
    fn of<F: Multicast>(router: &Router, all: &mut Vec<TableSize>) {
        all.extend(F::mtables(&router.mfib).iter().map(|(index, t)| {
            let id = router.fib.table_id::<F>(index).unwrap_or_default();
            let (shape, bytes) = t.size();
            let name = format!("{} mFIB table {}-VRF:{id}", F::NAME, F::LONG_NAME);
            (name, shape, t.entries.len(), bytes)
        }));
    }
    let mut all = Vec::new();
    of::<Ip4>(router, &mut all);
    of::<Ip6>(router, &mut all);
    all
}

fn all(router: &Router, say: Say, only: Option<u32>) -> Result<Box<dyn Task<Router>>, Error> {
    let (ip4, ip6) = (Pages::new(router), Pages::new(router));
    Ok(Box::new(All { ip4, ip6, say, only: only.map(|index| (index, false)), is_empty: true }))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    let entries = |router: &mut Router, c: ShowNumbered| all(router, entry, c.index);
    let about = "List the multicast FIB entries of all tables by index";
    cli.task_at("show mfib entry", about, entries);
    let inside = |router: &mut Router, c: ShowNumbered| all(router, interfaces, c.index);
    cli.task_at("show mfib interface", "Show the interfaces of multicast routes", inside);
    let copies = |router: &mut Router, c: ShowNumbered| all(router, replicate, c.index);
    cli.task_at("show replicate", "Show the replication of multicast routes, by index", copies);
}
