//! `show buffers`, `show physmem`.

use std::fmt;

use control::cli::{Cli, Command, Output};
use graph::PoolUse;
use graph::show::centered;

use super::no_answer;
use crate::router::Router;

/// Bytes in a huge page.
const HUGE: usize = 2 << 20;

/// Show packet buffers.
#[derive(Command)]
#[command("show buffers")]
struct ShowBuffers {
    /// accepted; the output is the same
    detail: bool,
}

/// Show the memory of packet buffers.
#[derive(Command)]
#[command("show physmem")]
struct ShowPhysmem {
    /// accepted, prints the same
    #[alias("v")]
    verbose: bool,
    /// accepted, prints the same
    #[alias("d")]
    detail: bool,
    /// accepted; the output is the same
    map: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, show: ShowBuffers| {
        let _ = show.detail;
        Ok(Output::rows(router.engine.pool_usage().map_err(no_answer)?, write_pools))
    });
    cli.command(|router, show: ShowPhysmem| {
        let _ = (show.verbose, show.detail, show.map);
        Ok(Output::rows(router.engine.pool_usage().map_err(no_answer)?, write_arenas))
    });
}

fn write_pools(rows: &[PoolUse], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const WIDTHS: [usize; 8] = [6, 6, 6, 11, 6, 8, 8, 8];
    const TITLES: [&str; 8] =
        ["Index", "NUMA", "Size", "Data Size", "Total", "Avail", "Cached", "Used"];
    let row = |name: &str, cells: [String; 8]| {
        let cells = cells.iter().zip(WIDTHS).map(|(cell, width)| centered(cell, width));
        format!("{name:<20}{}", cells.collect::<String>())
    };
    writeln!(f, "{}", row("Pool Name", TITLES.map(str::to_owned)))?;
    rows.iter().enumerate().try_for_each(|(index, p)| {
        let node = p.numa_node;
        let cells = [index, node, p.size, p.data_size, p.total, p.available, p.cached, p.used];
        writeln!(f, "{}", row(&p.name, cells.map(|cell| cell.to_string())))
    })
}

fn write_arenas(rows: &[PoolUse], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let pages = |pool: &PoolUse, buffers: usize| (buffers * pool.size).div_ceil(HUGE);
    let used: usize = rows.iter().map(|pool| pages(pool, pool.total)).sum();
    let reserved: usize = rows.iter().map(|pool| pages(pool, pool.limit)).sum();
    write!(f, " used-pages {used} reserved-pages {reserved} default-page-size 2M ")?;
    writeln!(f, "lookup-page-size 4K linear-pa 0")?;
    rows.iter().try_for_each(|pool| {
        let (node, used) = (pool.numa_node, pages(pool, pool.total));
        let kind = pool.pages.first().copied().unwrap_or("4K");
        write!(f, "   arena 'buffers-numa-{node}' pages {used} subpage-size {kind} ")?;
        writeln!(f, "numa-node {node}")
    })
}
