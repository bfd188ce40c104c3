//! The statistics segment: counters in memory that other programs map and read at any time,
//! without asking.
//!
//! How a feature counts:
//!
//! ```
//! use control::stats::{Columns, Segment};
//!
//! const BY_FRUIT: Columns = Columns::growing("fruit", 1 << 16);
//!
//! let mut stats = Segment::new(2, None)?; // two threads count; it is `router.stats`
//! let eaten = stats.simple("/fruit/eaten", BY_FRUIT)?; // Rows<Counter>, for the nodes
//! let sold = stats.combined("/fruit/sold", BY_FRUIT)?; // Rows<VolumeCounter>
//! let broken = stats.simple("/fruit/broken", Columns::fixed(3))?;
//! let ripe = stats.gauge("/fruit/ripe")?;
//! stats.grow(BY_FRUIT, 11)?; // clients see columns 0 to 10 of everything by fruit
//! eaten.row(0)[10].add(1); // in a node: `.row(frame.thread())`
//! stats.symlink("/fruits/apple/eaten", "/fruit/eaten", 10)?;
//! stats.set(ripe, 42);
//! stats.remove("/fruits/apple/eaten")?;
//! # assert_eq!((eaten.sum(10), sold.threads(), broken.row(1).len()), (1, 2, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * A vector has a row for each thread and a column for each object. Rows are reserved for the
//!   `capacity` of their [`Columns`] and never move, so nodes keep what they got; memory is used
//!   as counters move. Nodes may count in columns that clients do not see yet.
//! * Vectors by interface use `net::interface::COLUMNS` and grow as interfaces are added.
//! * A counter has one writer, the thread of its row. Zeroing is work for that thread too:
//!   `graph::Engine::on_threads` with [`Rows::zero`](infra::counter::Rows::zero).
//! * An object's number that serves again must start at zero: zero its column before.
//!
//! The layout is version 2 of the original's; [`layout`] has it. A writer that changes it (adds,
//! removes, grows, renames) holds `in_progress` at 1 meanwhile and increments `epoch`; readers copy
//! and check that the epoch is still the same. Counting touches neither.

mod directory;
mod error;
pub mod gauges;
mod histogram;
pub mod layout;
mod names;
pub mod prometheus;
pub mod reader;
mod ring;
mod segment;
pub mod server;
mod value;
mod vector;

pub use error::Error;
pub use histogram::Histogram;
pub use ring::{Ring, RingSize};
pub use segment::{BOOT_TIME, HEARTBEAT, LAST_CLEAR, Number, Segment, Usage};
pub use value::Value;

/// Objects that the columns of vectors stand for. Vectors by the same objects grow together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    of: &'static str,
    capacity: usize,
}

impl Columns {
    /// One for each of `of` ("interface"), at most `capacity`; clients see as many as
    /// [`Segment::grow`] says.
    pub const fn growing(of: &'static str, capacity: usize) -> Self {
        Self { of, capacity }
    }
    /// `count` of them from the start.
    pub const fn fixed(count: usize) -> Self {
        Self { of: "", capacity: count }
    }
}

#[cfg(test)]
mod tests;
