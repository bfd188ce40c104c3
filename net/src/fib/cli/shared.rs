//! Objects behind load balances and tables: `show load-balance-map`, `show lookup-dpo`, `show fib
//! walk`, `show dpo memory`, `show bihash`.

use std::fmt;
use std::mem::size_of;

use control::cli::{Cli, Command, Output};
use serde::Serialize;

use super::objects::{Objects, ShowNumbered, numbered};
use super::render;
use crate::adjacency::{Adjacency, Link};
use crate::fib::control::load_balance_map::fill_buckets;
use crate::fib::control::path::Target;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::fib::forwarding::load_balance::Via;
use crate::router::Router;

/// Show table updates in progress.
#[derive(Command)]
#[command("show fib walk")]
struct Walk;

/// Pause or resume background updates of tables.
#[derive(Command)]
#[command("test fib-walk-process")]
struct HoldWalk {
    /// resume
    #[keyword("enable")]
    _enable: bool,
    /// pause
    disable: bool,
}

/// Show memory used by forwarding objects.
#[derive(Command)]
#[command("show dpo memory")]
struct DpoMemory;

/// Show lookup tables and their memory.
#[derive(Command)]
#[command("show bihash")]
struct Sizes {
    /// accepted; the output is the same
    #[keyword("verbose")]
    _verbose: bool,
}

#[derive(Serialize)]
struct Map {
    index: u32,
    buckets: usize,
    /// Paths by bucket, as positions in the path list.
    paths: Vec<u16>,
}

impl fmt::Display for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "load-balance-map: index:{} buckets:{}", self.index, self.buckets)?;
        write!(f, "   index:")?;
        (0..self.buckets).try_for_each(|bucket| write!(f, " {bucket:>4}"))?;
        write!(f, "\n     map:")?;
        self.paths.iter().try_for_each(|path| write!(f, " {path:>4}"))?;
        writeln!(f)
    }
}

/// The map of a path list that has several buckets.
fn map(router: &Router, index: u32) -> Output {
    let list = router.fib.lists.find(index).filter(|list| list.group.is_some());
    list.map_or_else(Output::none, |list| {
        let paths = fill_buckets(&list.weights(), &list.layout);
        Output::of(Map { index, buckets: paths.len(), paths })
    })
}

/// A path list with a path that is another lookup.
fn lookup(router: &Router, index: u32) -> Output {
    let looks = |target| matches!(target, Target::Lookup { .. } | Target::SourceLookup { .. });
    let list = router.fib.lists.find(index);
    match list.is_some_and(|list| list.paths.iter().any(|path| looks(path.target))) {
        true => render::paths(router, index),
        false => Output::none(),
    }
}

#[derive(Serialize)]
struct FibWalk {
    family: &'static str,
    table: u16,
    interface: Option<u32>,
}

fn write_fib_walks(rows: &[FibWalk], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "FIB Walks: {} under way", rows.len())?;
    for walk in rows {
        write!(f, "  {} fib:{}", walk.family, walk.table)?;
        match walk.interface {
            Some(interface) => writeln!(f, " over deleted interface {interface}")?,
            None => writeln!(f)?,
        }
    }
    Ok(())
}

fn fib_walks(router: &Router) -> Output {
    let walk = |((link, table), over): ((Link, crate::fib::TableIndex), Option<_>)| FibWalk {
        family: if link == Link::Ip4 { Ip4::NAME } else { Ip6::NAME },
        table: table.0,
        interface: over.map(|interface: crate::InterfaceIndex| interface.0),
    };
    Output::rows(router.fib.deferred.iter().map(walk), write_fib_walks)
}

fn write_dpos(rows: &[Objects], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "DPO memory\n{:>20}{:>12}{:>14}{:>14}", "Name", "Size", "in-use", "totals")?;
    rows.iter().try_for_each(|objects| write!(f, "{objects}"))
}

fn dpos(router: &Router) -> Output {
    let maps = router.fib.lists.iter().filter_map(|(_, list)| list.group);
    let buckets: usize = maps.map(|group| router.fib.balances.group(group).len()).sum();
    let mut all = vec![
        Objects::new("load-balance", size_of::<u64>(), router.fib.balances.len()),
        Objects::new("bucket", size_of::<Via>(), buckets),
        Objects::new("adjacency", size_of::<Adjacency>(), router.adjacencies.iter().count()),
    ];
    let more = router.fib.more_objects.iter().map(|of| of(router));
    all.extend(more.map(|(name, size, count)| Objects::new(name, size, count)));
    Output::rows(all, write_dpos)
}

/// A table that packets are looked up in.
#[derive(Serialize)]
struct Table {
    name: String,
    shape: String,
    elements: usize,
    bytes: usize,
}

fn tables(router: &Router) -> Output {
    let mut all = unicast_tables::<Ip4>(router);
    all.extend(unicast_tables::<Ip6>(router));
    let table = |(name, shape, elements, bytes)| Table { name, shape, elements, bytes };
    all.extend(router.fib.more_tables.iter().flat_map(|of| of(router)).map(table));
    Output::rows(all, write_tables)
}

fn unicast_tables<F: Family>(router: &Router) -> Vec<Table> {
    let row = |(_, t): (crate::fib::TableIndex, &crate::fib::control::table::Table<F>)| Table {
        name: format!("{} FIB fwding table {}", F::NAME, t.name),
        shape: t.shape(),
        elements: t.entries.len(),
        bytes: t.memory(),
    };
    F::tables(&router.fib).every().map(row).collect()
}

fn write_tables(rows: &[Table], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for table in rows {
        writeln!(f, "\nTable '{}'", table.name)?;
        writeln!(f, "    {} active elements\n    {}", table.elements, table.shape)?;
    }
    Ok(())
}

pub(super) fn register(cli: &mut Cli<Router>) {
    let maps = |r: &mut Router, c: ShowNumbered| numbered(r, c.index, r.fib.lists.end(), map);
    cli.task_at("show load-balance-map", "Show the load-balance buckets of path lists", maps);
    let lookups = |r: &mut Router, c: ShowNumbered| numbered(r, c.index, r.fib.lists.end(), lookup);
    cli.task_at("show lookup-dpo", "Show path lists that look up in another table", lookups);
    cli.command(|router: &mut Router, _: Walk| Ok(fib_walks(router)));
    cli.command(|router: &mut Router, c: HoldWalk| {
        router.hold_deferred(c.disable);
        Ok::<_, control::cli::Error>(())
    });
    cli.command(|router: &mut Router, _: DpoMemory| Ok(dpos(router)));
    cli.command(|router: &mut Router, _: Sizes| Ok(tables(router)));
}
