//! Counters of Linux for a thread: proc(5), `/proc/self/task/TID/status` and `stat`.

use std::fs;

use serde::Serialize;

/// A group of counters that are read together.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bundle {
    /// Name in commands.
    pub name: &'static str,
    /// Its contents.
    pub description: &'static str,
    /// Where its counters come from.
    pub source: &'static str,
    /// Heads of its columns.
    pub columns: &'static [&'static str],
    #[serde(skip)]
    read: fn(u32) -> Option<Vec<u64>>,
}

/// The source of all bundles.
pub const SOURCE: &str = "linux";

/// Description of the source.
pub const SOURCE_DESCRIPTION: &str = "Linux kernel performance counters";

/// All bundles.
pub const BUNDLES: &[Bundle] = &[
    Bundle {
        name: "context-switches",
        description: "per-thread context switches",
        source: SOURCE,
        columns: &["Voluntary", "Involuntary"],
        read: context_switches,
    },
    Bundle {
        name: "page-faults",
        description: "per-thread page faults",
        source: SOURCE,
        columns: &["Minor", "Major"],
        read: page_faults,
    },
];

impl Bundle {
    /// The bundle of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        BUNDLES.iter().find(|bundle| bundle.name == name)
    }
    /// Values of its counters for a thread; `None` for one that is gone.
    pub fn read(&self, thread: u32) -> Option<Vec<u64>> {
        (self.read)(thread)
    }
}

fn context_switches(thread: u32) -> Option<Vec<u64>> {
    let status = fs::read_to_string(format!("/proc/self/task/{thread}/status")).ok()?;
    let field = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().parse().ok()
    };
    Some(vec![field("voluntary_ctxt_switches:")?, field("nonvoluntary_ctxt_switches:")?])
}

fn page_faults(thread: u32) -> Option<Vec<u64>> {
    let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).ok()?;
    // The name, in parentheses, may have blanks; behind it stands field 3.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<_> = fields.split_whitespace().collect();
    let field = |n: usize| fields.get(n - 3)?.parse().ok();
    Some(vec![field(10)?, field(12)?])
}
