//! Counters with one writer and any number of readers.
#![forbid(unsafe_code)]

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use zerocopy::FromZeros;

use crate::memory::shared::View;
use crate::memory::{HugePages, Reserved};

/// A number that one thread raises and others read: a plain load and store, no locked instruction.
#[derive(Debug, Default, FromZeros)]
#[repr(transparent)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Raises it by `n`. Only the owning thread may call this; a second writer would lose counts.
    #[inline(always)]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }
    /// Sets it, by its owner as well.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }
    /// The value now.
    #[inline]
    pub fn value(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A cell of [`Rows`].
pub trait Cell: FromZeros + Send + Sync + 'static {
    /// Resets it; by its owner only.
    fn zero(&self);
}

impl Cell for Counter {
    fn zero(&self) {
        // What is zero already stays untouched: its memory may not be there yet.
        if self.value() != 0 {
            self.set(0);
        }
    }
}

impl Cell for VolumeCounter {
    fn zero(&self) {
        self.packets.zero();
        self.bytes.zero();
    }
}

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Packets.
    pub packets: u64,
    /// Bytes, headers of layer 2 included.
    pub bytes: u64,
}

impl std::ops::AddAssign for Volume {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// One [`Volume`] being counted.
#[derive(Debug, Default, FromZeros)]
#[repr(C)]
pub struct VolumeCounter {
    packets: Counter,
    bytes: Counter,
}

impl VolumeCounter {
    /// Counts `packets` of `bytes` in all.
    #[inline(always)]
    pub fn add(&self, packets: u64, bytes: u64) {
        self.packets.add(packets);
        self.bytes.add(bytes);
    }
    /// The value now.
    pub fn value(&self) -> Volume {
        Volume { packets: self.packets.value(), bytes: self.bytes.value() }
    }
}

/// A row of counters for each thread; a reader sums the column. Clones are the same counters.
///
/// One more row, which is not summed, is for packets that are only explained.
#[derive(Debug)]
pub struct Rows<T> {
    rows: Arc<[View<T>]>,
    /// Made when it is asked for; `None` when the kernel refused the memory.
    scratch: Arc<OnceLock<Option<View<T>>>>,
}

impl<T> Clone for Rows<T> {
    fn clone(&self) -> Self {
        Self { rows: Arc::clone(&self.rows), scratch: Arc::clone(&self.scratch) }
    }
}

impl<T: Cell> Rows<T> {
    /// Rows for `threads` threads with `columns` counters each; memory is used as counters move.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(threads: usize, columns: usize) -> io::Result<Self> {
        let row = |_| {
            let row = Reserved::new(columns, HugePages::No)?;
            Ok(View::from(row.named("counters")))
        };
        (0..threads).map(row).collect::<io::Result<_>>().map(Self::of)
    }
    /// These rows, one for each thread.
    pub fn of(rows: Vec<View<T>>) -> Self {
        Self { rows: rows.into(), scratch: Arc::default() }
    }
    /// Number of rows.
    pub fn threads(&self) -> usize {
        self.rows.len()
    }
    /// Sets some counters of a thread to zero; on that thread, like counting.
    pub fn zero(&self, thread: usize, columns: Range<usize>) {
        self.rows[thread][columns].iter().for_each(Cell::zero);
    }
    /// The counters of one thread, to be raised by that thread only. Those of a thread that has no
    /// row are in no sum.
    #[inline(always)]
    pub fn row(&self, thread: usize) -> &[T] {
        match self.rows.get(thread) {
            Some(row) => row,
            None => self.scratch(),
        }
    }
    #[cold]
    fn scratch(&self) -> &[T] {
        let columns = self.rows.first().map_or(0, |row| row.len());
        let new = || {
            let row = Reserved::new(columns.max(1), HugePages::No).ok()?;
            Some(View::from(row.named("counters")))
        };
        self.scratch.get_or_init(new).as_deref().map_or(&[], |row| &row[..columns])
    }
    /// One counter, thread by thread.
    pub fn column(&self, index: usize) -> impl Iterator<Item = &T> {
        self.rows.iter().filter_map(move |row| row.get(index))
    }
}

impl Rows<Counter> {
    /// Sum over the threads.
    pub fn sum(&self, index: usize) -> u64 {
        self.column(index).map(Counter::value).sum()
    }
}

impl Rows<VolumeCounter> {
    /// Sum over the threads.
    pub fn sum(&self, index: usize) -> Volume {
        self.column(index).fold(Volume::default(), |mut sum, c| {
            sum += c.value();
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_summed_over_threads() {
        let rows = Rows::<VolumeCounter>::new(2, 10).unwrap();
        rows.row(0)[3].add(1, 64);
        rows.row(1)[3].add(2, 200);
        assert_eq!(rows.sum(3), Volume { packets: 3, bytes: 264 });
        assert_eq!(rows.sum(4), Volume::default());
    }

    #[test]
    fn a_thread_without_a_row_counts_nowhere() {
        let rows = Rows::<Counter>::new(2, 10).unwrap();
        let same = rows.clone();
        rows.row(2)[9].add(7);
        assert_eq!((rows.sum(9), same.row(2)[9].value(), same.row(2).len()), (0, 7, 10));
        assert!(Rows::<Counter>::of(Vec::new()).row(0).is_empty());
    }
}
