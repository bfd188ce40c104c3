//! `show buffers`, `show physmem`.

use std::fmt;

use control::cli::{Cli, Command, Output};
use graph::PoolUse;
use graph::show::centered;
use serde::Serialize;

use super::no_answer;
use crate::router::Router;

/// Bytes in a huge page.
const HUGE: usize = 2 << 20;

/// Show the packet buffers.
#[derive(Command)]
#[command("show buffers")]
struct ShowBuffers {
    /// accepted, prints the same
    detail: bool,
}

/// Show the memory of the packet buffers.
#[derive(Command)]
#[command("show physmem")]
struct ShowPhysmem {
    /// accepted, prints the same
    verbose: bool,
    /// accepted, prints the same
    detail: bool,
    /// accepted, prints the same
    map: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, show: ShowBuffers| {
        let _ = show.detail;
        Ok(Output::of(Pools([router.engine.pool_usage().map_err(no_answer)?])))
    });
    cli.command(|router, show: ShowPhysmem| {
        let _ = (show.verbose, show.detail, show.map);
        Ok(Output::of(Arena(router.engine.pool_usage().map_err(no_answer)?)))
    });
}

#[derive(Serialize)]
#[serde(transparent)]
struct Pools([PoolUse; 1]);

impl fmt::Display for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WIDTHS: [usize; 8] = [6, 6, 6, 11, 6, 8, 8, 8];
        const TITLES: [&str; 8] =
            ["Index", "NUMA", "Size", "Data Size", "Total", "Avail", "Cached", "Used"];
        let row = |name: &str, cells: [String; 8]| {
            let cells = cells.iter().zip(WIDTHS).map(|(cell, width)| centered(cell, width));
            format!("{name:<20}{}", cells.collect::<String>())
        };
        writeln!(f, "{}", row("Pool Name", TITLES.map(str::to_owned)))?;
        self.0.iter().enumerate().try_for_each(|(index, p)| {
            let cells = [index, 0, p.size, p.data_size, p.total, p.available, p.cached, p.used];
            writeln!(f, "{}", row(&p.name, cells.map(|cell| cell.to_string())))
        })
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct Arena(PoolUse);

impl fmt::Display for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pages = |buffers: usize| (buffers * self.0.size).div_ceil(HUGE);
        let (used, reserved) = (pages(self.0.total), pages(self.0.limit));
        write!(f, " used-pages {used} reserved-pages {reserved} default-page-size 2M ")?;
        writeln!(f, "lookup-page-size 4K linear-pa 0")?;
        let kind = self.0.pages.first().copied().unwrap_or("4K");
        writeln!(f, "   arena 'buffers-numa-0' pages {used} subpage-size {kind} numa-node 0")
    }
}
