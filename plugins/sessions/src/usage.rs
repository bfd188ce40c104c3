//! Usage of tables.

use std::ops::AddAssign;

/// Totals of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Sessions there are.
    pub sessions: usize,
    /// Sessions there may be.
    pub limit: usize,
    /// Bytes that the table of flows takes, and all records that were ever used.
    pub bytes: usize,
    /// Sessions that were made.
    pub made: u64,
    /// Those that were silent for too long.
    pub expired: u64,
    /// Those that made room for others.
    pub evicted: u64,
    /// Those for which there was no room.
    pub refused: u64,
    /// Those of which another one had a flow.
    pub clashes: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.limit += other.limit;
        self.bytes += other.bytes;
        self.made += other.made;
        self.expired += other.expired;
        self.evicted += other.evicted;
        self.refused += other.refused;
        self.clashes += other.clashes;
    }
}
