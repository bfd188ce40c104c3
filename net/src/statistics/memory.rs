//! `/mem`: the memory of the segment and of the process, in bytes.

use std::fs;

use control::stats::{Error, Segment};
use infra::counter::{Counter, Rows};

/// Meaning of each entry, by column; the first three are there by name too.
const COLUMNS: [&str; 7] =
    ["total", "used", "free", "used-mmap", "total-alloc", "free-chunks", "releasable"];
const NAMED: usize = 3;

/// The entries.
pub(super) struct Memory {
    segment: Rows<Counter>,
    heap: Rows<Counter>,
}

impl Memory {
    pub fn new(stats: &mut Segment) -> Result<Self, Error> {
        let mut entry = |name: &str| {
            let row = stats.row(name, COLUMNS.len())?;
            for (column, what) in COLUMNS.iter().take(NAMED).enumerate() {
                stats.symlink(&format!("{name}/{what}"), name, column as u32)?;
            }
            Ok::<_, Error>(row)
        };
        Ok(Self { segment: entry("/mem/stat segment")?, heap: entry("/mem/main heap")? })
    }
    pub fn update(&self, stats: &Segment) {
        let usage = stats.usage();
        put(&self.segment, [usage.total, usage.used, usage.used]);
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        put(&self.heap, heap(&status));
    }
}

/// Total, used, mapped.
fn put(row: &Rows<Counter>, [total, used, mapped]: [u64; 3]) {
    let free = total.saturating_sub(used);
    // What is free is in no chunks, and given back already.
    let values = [total, used, free, mapped, used, 0, 0];
    row.row(0).iter().zip(values).for_each(|(counter, value)| counter.set(value));
}

/// Address space for data, what of it is in memory, and this with shared mappings, from
/// `/proc/<pid>/status`.
fn heap(status: &str) -> [u64; 3] {
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kb = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        kb.unwrap_or(0) * 1024
    };
    let used = bytes("RssAnon:");
    [bytes("VmData:"), used, used + bytes("RssShmem:")]
}

#[cfg(test)]
mod tests {
    use super::heap;

    #[test]
    fn the_status_of_the_process_is_read() {
        let status = "VmData:\t  4096 kB\nRssAnon:\t 100 kB\nRssShmem:\t  5 kB\n";
        assert_eq!(heap(status), [4096 << 10, 100 << 10, 105 << 10]);
        assert_eq!(heap(""), [0, 0, 0]);
    }
}
