//! `show buffers`, `show physmem`, `show memory`.

use std::fmt;
use std::fs;

use control::cli::{Cli, Command, Error, Output};
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
}

/// Show the memory of the process.
#[derive(Command)]
#[command("show memory")]
struct ShowMemory {
    /// only the heap
    main_heap: bool,
    /// accepted, prints the same
    verbose: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, show: ShowBuffers| {
        let _ = show.detail;
        Ok(Output::of(Pools([router.engine.pool_usage().map_err(no_answer)?])))
    });
    cli.command(|router, show: ShowPhysmem| {
        let _ = (show.verbose, show.detail);
        Ok(Output::of(Arena(router.engine.pool_usage().map_err(no_answer)?)))
    });
    cli.command(|_, show: ShowMemory| {
        let _ = show.verbose;
        let status = fs::read_to_string("/proc/self/status").map_err(Error::from)?;
        Ok(Output::of(Heap { indent: if show.main_heap { "  " } else { "" }, ..heap(&status) }))
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

/// Memory of the process in KB. There is one heap, the allocator's, and it grows as it must.
#[derive(Debug, PartialEq, Serialize)]
struct Heap {
    #[serde(skip)]
    indent: &'static str,
    /// Address space for data.
    size: u64,
    /// In memory: of data, of shared mappings, and the most there ever was of all.
    used: u64,
    shared: u64,
    most: u64,
}

/// Reads `/proc/<pid>/status`.
fn heap(status: &str) -> Heap {
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    Heap {
        indent: "",
        size: value("VmData:"),
        used: value("RssAnon:"),
        shared: value("RssShmem:"),
        most: value("VmHWM:"),
    }
}

impl fmt::Display for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { indent: i, size, used, .. } = self;
        let (total, populated) = (size / 4, used / 4);
        writeln!(f, "{i}base 0x0, size {}, name 'main heap'", size_text(*size))?;
        write!(f, "{i}  page stats: page-size 4K, total {total}, populated {populated}, ")?;
        writeln!(f, "not-populated {}", total.saturating_sub(populated))?;
        let free = size_text(size.saturating_sub(*used));
        let used = size_text(*used);
        writeln!(
            f,
            "{i}  total: {}, used: {used}, free: {free}, trimmable: {free}",
            size_text(*size)
        )?;
        let [shared, most] = [self.shared, self.most].map(size_text);
        writeln!(f, "{i}    shared mappings {shared} max total resident {most}")
    }
}

/// `183.13M`: KB in the largest unit that leaves a whole part.
fn size_text(kb: u64) -> String {
    let kb = kb as f64;
    match kb {
        _ if kb >= 1_048_576.0 => format!("{:.2}G", kb / 1_048_576.0),
        _ if kb >= 1024.0 => format!("{:.2}M", kb / 1024.0),
        _ => format!("{kb:.2}K"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_of_the_process_is_read() {
        let status = "VmHWM:\t  205000 kB\nVmData:\t 4194304 kB\nRssAnon:\t  187525 kB\n\
                      RssShmem:\t  512 kB\n";
        let text = heap(status).to_string();
        let expected = "\
base 0x0, size 4.00G, name 'main heap'
  page stats: page-size 4K, total 1048576, populated 46881, not-populated 1001695
  total: 4.00G, used: 183.13M, free: 3.82G, trimmable: 3.82G
    shared mappings 512.00K max total resident 200.20M
";
        assert_eq!(text, expected);
        assert_eq!(heap("").used, 0);
    }
}
