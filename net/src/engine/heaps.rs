//! `show memory`: the heap, the statistics segment, and what lies in ranges of its own: buffers,
//! tables, counters.

use std::collections::BTreeMap;
use std::{fmt, fs};

use control::cli::{Cli, Command, Output};
use infra::memory::{self, PAGE};
use serde::Serialize;

use crate::router::Router;

/// Show memory usage of the process.
#[derive(Command)]
#[command("show memory")]
struct ShowMemory {
    /// only the heap
    main_heap: bool,
    /// only the statistics segment
    stats_segment: bool,
    /// accepted: clients use sockets and have no shared memory here
    #[keyword("api-segment")]
    _api_segment: bool,
    /// accepted; the output is the same
    #[alias("map")]
    verbose: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, show: ShowMemory| {
        let _ = show.verbose;
        let mut areas = match (show.main_heap, show.stats_segment) {
            (true, false) => vec![heap()],
            (false, true) => vec![segment(router)],
            _ => [heap(), segment(router)].into_iter().chain(ranges()).collect(),
        };
        let is_alone = areas.len() == 1;
        areas.iter_mut().for_each(|area| area.is_alone = is_alone);
        Ok(Output::rows(areas, write_areas))
    });
}

/// Memory for one purpose, in bytes.
#[derive(Clone, Debug, Default, Serialize)]
struct Area {
    name: &'static str,
    /// First address, of the first part when there are several.
    base: usize,
    parts: usize,
    size: usize,
    /// Bytes of it in memory.
    resident: usize,
    /// Bytes in use, free, and free to be given back; `None` without accounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<[usize; 3]>,
    /// Free chunks, and small ones kept aside, of a heap.
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<[usize; 2]>,
    #[serde(skip)]
    is_alone: bool,
}

/// The heap. In memory is what is neither a table nor shared: the heap and the stacks.
fn heap() -> Area {
    let heap = memory::heap().unwrap_or_default();
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tables = memory::ranges().into_iter().filter(|range| range.name != memory::SHARED);
    let tables: usize = tables.map(|range| range.resident).sum();
    Area {
        name: "main heap",
        base: base_of(&maps, "[heap]"),
        parts: 1,
        size: heap.total,
        resident: anonymous(&status).saturating_sub(tables).min(heap.total),
        account: Some([heap.used, heap.free, heap.trimmable]),
        chunks: Some([heap.free_chunks, heap.fastbin_chunks]),
        is_alone: false,
    }
}

fn segment(router: &Router) -> Area {
    let usage = router.stats.usage();
    let [size, used] = [usage.total, usage.used].map(|n| n as usize);
    let range = memory::ranges().into_iter().find(|range| range.name == memory::SHARED);
    let free = size.saturating_sub(used);
    Area {
        name: "stat segment",
        base: range.map_or(0, |range| range.start),
        parts: 1,
        size,
        resident: range.map_or(0, |range| range.resident),
        account: Some([used, free, 0]),
        ..Area::default()
    }
}

/// The ranges by name, those of one name together.
fn ranges() -> impl Iterator<Item = Area> {
    let mut areas = BTreeMap::<_, Area>::new();
    for range in memory::ranges().into_iter().filter(|range| range.name != memory::SHARED) {
        let area = areas.entry(range.name).or_insert_with(|| Area {
            name: range.name,
            base: range.start,
            ..Area::default()
        });
        area.parts += 1;
        area.size += range.bytes;
        area.resident += range.resident;
    }
    areas.into_values()
}

/// Bytes of private data in memory, from `/proc/<pid>/status`.
fn anonymous(status: &str) -> usize {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kb = line.and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
    kb.unwrap_or(0) * 1024
}

/// First address of what is mapped under a name, from `/proc/<pid>/maps`; 0 if nothing is.
fn base_of(maps: &str, name: &str) -> usize {
    let line = maps.lines().find(|line| line.contains(name));
    let address = line.and_then(|line| line.split('-').next());
    address.and_then(|address| usize::from_str_radix(address, 16).ok()).unwrap_or(0)
}

/// Whether all memory is at one NUMA node.
fn has_one_node() -> bool {
    let Ok(entries) = fs::read_dir("/sys/devices/system/node") else { return true };
    let is_node = |name: &str| name.strip_prefix("node").is_some_and(|n| n.parse::<u32>().is_ok());
    entries.flatten().filter(|e| e.file_name().to_str().is_some_and(is_node)).count() < 2
}

fn write_areas(rows: &[Area], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().enumerate().try_for_each(|(i, area)| {
        if i > 0 {
            writeln!(f)?;
        }
        write!(f, "{area}")
    })
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let i = if self.is_alone { "  " } else { "" };
        write!(f, "{i}base {:#x}, size {}", self.base, short(self.size))?;
        if self.parts > 1 {
            write!(f, " in {} parts", self.parts)?;
        }
        writeln!(f, ", name '{}'", self.name)?;
        let (total, populated) = (self.size.div_ceil(PAGE), self.resident.div_ceil(PAGE));
        write!(f, "{i}  page stats: page-size 4K, total {total}, populated {populated}, ")?;
        writeln!(f, "not-populated {}", total.saturating_sub(populated))?;
        if has_one_node() && populated > 0 {
            writeln!(f, "{i}    numa 0: {populated} pages, {} bytes", short(self.resident))?;
        }
        if let Some([used, free, trimmable]) = self.account {
            let [total, used, free, trimmable] = [self.size, used, free, trimmable].map(long);
            writeln!(f, "{i}  total: {total}, used: {used}, free: {free}, trimmable: {trimmable}")?;
        }
        match self.chunks.filter(|_| !self.is_alone) {
            Some([free, fast]) => writeln!(f, "    free chunks {free} free fastbin blks {fast}"),
            None => Ok(()),
        }
    }
}

/// `183.13M`: in the largest unit that leaves a whole part.
fn long(bytes: usize) -> String {
    let kb = bytes as f64 / 1024.0;
    match kb {
        _ if kb >= 1_048_576.0 => format!("{:.2}G", kb / 1_048_576.0),
        _ if kb >= 1024.0 => format!("{:.2}M", kb / 1024.0),
        _ => format!("{kb:.2}K"),
    }
}

/// `205.37m`, `880k`, `4g`: without a fraction where there is none.
fn short(bytes: usize) -> String {
    let text = long(bytes).to_lowercase();
    text.replacen(".00", "", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_have_the_layout_that_scripts_know() {
        let area = Area {
            name: "main heap",
            base: 0x7f04_7f48_e000,
            parts: 1,
            size: 4 << 30,
            resident: 52_574 * PAGE,
            account: Some([187_525 << 10, 4_006_779 << 10, 0]),
            chunks: Some([898, 0]),
            is_alone: false,
        };
        let text = area.to_string();
        let mut lines: Vec<_> = text.lines().collect();
        lines.retain(|line| !line.contains("numa 0")); // where there are several nodes
        assert_eq!(
            lines,
            [
                "base 0x7f047f48e000, size 4g, name 'main heap'",
                "  page stats: page-size 4K, total 1048576, populated 52574, not-populated 996002",
                "  total: 4.00G, used: 183.13M, free: 3.82G, trimmable: 0.00K",
                "    free chunks 898 free fastbin blks 0",
            ]
        );
        let alone = Area { is_alone: true, ..area }.to_string();
        assert!(alone.starts_with("  base 0x7f") && !alone.contains("chunks"), "{alone}");
        assert_eq!((short(225_280 * 4), short(16 << 20)), ("880k".to_owned(), "16m".to_owned()));
    }

    #[test]
    fn files_of_the_kernel_are_read() {
        let maps = "55d0c0000000-55d0c0200000 rw-p 00000000 00:00 0    [heap]\n";
        assert_eq!(base_of(maps, "[heap]"), 0x55d0_c000_0000);
        assert_eq!((base_of(maps, "other"), anonymous("RssAnon:\t 100 kB\n")), (0, 102_400));
        assert_eq!(anonymous(""), 0);
    }

    #[test]
    fn ranges_of_one_name_are_one_area() {
        let table = || memory::Reserved::<u8>::new(1 << 20, memory::HugePages::No).unwrap();
        let [mut a, b] = [table().named("two tables"), table().named("two tables")];
        a[0] = 1;
        let area = ranges().find(|area| area.name == "two tables").unwrap();
        assert_eq!((area.parts, area.resident), (2, PAGE));
        assert!(
            area.size >= 2 << 20 && area.to_string().contains(" in 2 parts, name 'two tables'")
        );
        drop((a, b));
    }
}
