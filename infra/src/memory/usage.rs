//! Memory usage of this process: the heap, and the ranges that tables and buffers lie in.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Size of a page in bytes.
pub const PAGE: usize = 4096;
/// Name of ranges that other processes share.
pub const SHARED: &str = "shared";
/// Pages that the kernel is asked about at a time.
const ASKED: usize = 1 << 16;

/// Ranges by their first address: bytes, and what they are for.
static RANGES: Mutex<BTreeMap<usize, (usize, &'static str)>> = Mutex::new(BTreeMap::new());

/// A range of address space that is filled as it is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Its purpose.
    pub name: &'static str,
    /// First address.
    pub start: usize,
    /// Its size in bytes.
    pub bytes: usize,
    /// Bytes of it that are in memory.
    pub resident: usize,
}

/// The ranges there are, by address.
pub fn ranges() -> Vec<Range> {
    let ranges = RANGES.lock().unwrap_or_else(PoisonError::into_inner);
    let range = |(start, (bytes, name)): (&usize, &(usize, &'static str))| {
        let resident = resident(*start, *bytes);
        Range { name, start: *start, bytes: *bytes, resident }
    };
    // Under the lock, so that none is unmapped meanwhile.
    ranges.iter().map(range).collect()
}

pub(super) fn note(start: usize, bytes: usize) {
    RANGES.lock().unwrap_or_else(PoisonError::into_inner).insert(start, (bytes, "other tables"));
}

pub(super) fn name(start: usize, name: &'static str) {
    let mut ranges = RANGES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(range) = ranges.get_mut(&start) {
        range.1 = name;
    }
}

pub(super) fn forget(start: usize) {
    RANGES.lock().unwrap_or_else(PoisonError::into_inner).remove(&start);
}

/// Bytes of a mapped range that are in memory: mincore(2).
fn resident(start: usize, bytes: usize) -> usize {
    let mut found = vec![0u8; ASKED];
    let mut pages = 0;
    for from in (start..start + bytes).step_by(ASKED * PAGE) {
        let len = (start + bytes - from).min(ASKED * PAGE);
        let at = std::ptr::without_provenance_mut(from);
        // SAFETY: the range is mapped as long as the lock on the list is held, the call reads
        // nothing of it, and `found` has a byte for each of its pages.
        if unsafe { libc::mincore(at, len, found.as_mut_ptr()) } == 0 {
            pages += found[..len.div_ceil(PAGE)].iter().filter(|page| **page & 1 == 1).count();
        }
    }
    pages * PAGE
}

/// Bytes of this process that are in memory: statm of proc(5). `None` where it is not mounted.
pub fn in_memory() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split(' ').nth(1)?.parse::<usize>().ok()? * PAGE)
}

/// The heap of the C library, which Rust allocates from, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// Got from the system.
    pub total: usize,
    /// In use.
    pub used: usize,
    /// Free, to be used again.
    pub free: usize,
    /// Of these, at the end of the heap: could be given back.
    pub trimmable: usize,
    /// Free chunks, and small ones kept aside.
    pub free_chunks: usize,
    /// Small free chunks kept aside.
    pub fastbin_chunks: usize,
}

/// Gives pages of the heap that are free to the system: malloc_trim(3).
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes a number and touches free memory only.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The heap now: mallinfo2(3). `None` where the C library does not tell.
pub fn heap() -> Option<Heap> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: it takes nothing and returns numbers.
        let info = unsafe { libc::mallinfo2() };
        Some(Heap {
            total: info.arena + info.hblkhd,
            used: info.uordblks + info.hblkhd,
            free: info.fordblks,
            trimmable: info.keepcost,
            free_chunks: info.ordblks,
            fastbin_chunks: info.smblks,
        })
    }
    #[cfg(not(target_env = "gnu"))]
    None
}

#[cfg(test)]
mod tests {
    use super::super::{HugePages, Reserved};
    use super::*;

    #[test]
    fn ranges_say_what_is_in_memory() {
        let mut table = Reserved::<u64>::new(1 << 20, HugePages::No).unwrap().named("test table");
        let mine = || ranges().into_iter().find(|range| range.name == "test table");
        let before = mine().unwrap();
        assert!(before.bytes >= 8 << 20 && before.resident == 0, "{before:?}");
        (0..10).for_each(|page| table[page * PAGE / 8] = 1);
        assert_eq!(mine().unwrap().resident, 10 * PAGE);
        drop(table);
        assert_eq!(mine(), None);
    }

    #[test]
    fn the_heap_grows_with_what_is_allocated() {
        let before = heap().unwrap();
        let data = vec![1u8; 64 << 20];
        let after = heap().unwrap();
        assert!(after.used >= before.used + (60 << 20), "{before:?} {after:?} {}", data[5]);
    }
}
