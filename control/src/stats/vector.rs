//! Counters: a vector by thread of vectors by object.

use std::ops::Range;
use std::sync::Arc;

use infra::counter::{Cell, Rows};
use infra::memory::shared::{Block, Region, View, Words};

use super::Columns;
use super::layout::LEAD;

/// The memory of a vector of counters.
#[derive(Debug)]
pub(super) struct Vector {
    /// The pointers to the rows.
    top: Block,
    rows: Vec<Arc<Block>>,
    pub columns: Columns,
    /// Bytes of one element.
    pub element: usize,
    /// Elements that clients see.
    len: usize,
}

impl Vector {
    /// `None` when the region has no room.
    pub fn new<T>(region: &Arc<Region>, threads: usize, columns: Columns) -> Option<Self> {
        let element = size_of::<T>();
        let top = region.block(8 * (LEAD + threads))?;
        let row = || region.block(8 * LEAD + element * columns.capacity).map(Arc::new);
        let rows = (0..threads).map(|_| row()).collect::<Option<Vec<_>>>()?;
        for (i, row) in rows.iter().enumerate() {
            top.store(LEAD + i, row.address(LEAD));
        }
        top.store(LEAD - 1, threads as u64);
        Some(Self { top, rows, columns, element, len: 0 })
    }
    /// Pointer to the vector by thread.
    pub fn pointer(&self) -> u64 {
        self.top.address(LEAD)
    }
    /// The rows, to count in.
    pub fn rows<T: Words + Cell>(&self) -> Rows<T> {
        let words = LEAD..LEAD + self.columns.capacity * self.element / 8;
        let view = |row: &Arc<Block>| View::of(Arc::clone(row), Range::clone(&words));
        Rows::of(self.rows.iter().map(view).collect())
    }
    pub fn len(&self) -> usize {
        self.len
    }
    /// Shows clients `len` elements of each row, at most the reserved number.
    pub fn show(&mut self, len: usize) {
        self.len = len.min(self.columns.capacity);
        self.rows.iter().for_each(|row| row.store(LEAD - 1, self.len as u64));
    }
    /// Gives back the memory of elements that clients do not see.
    pub fn give_back(&self) {
        let words = |elements: usize| LEAD + elements * self.element / 8;
        for row in &self.rows {
            row.give_back(words(self.len)..words(self.columns.capacity));
        }
    }
    /// Shows clients the rows of the first `threads` threads.
    pub fn show_threads(&mut self, threads: usize) {
        self.top.store(LEAD - 1, threads.min(self.rows.len()) as u64);
    }
    /// Bytes that `len` elements of each row take.
    pub fn cost(&self, len: usize) -> u64 {
        (self.rows.len() * len.min(self.columns.capacity) * self.element) as u64
    }
    /// Bytes that do not depend on how many elements clients see.
    pub fn fixed_cost(&self) -> u64 {
        (self.top.size() + self.rows.len() * 8 * LEAD) as u64
    }
}
