//! Flows that have a server: a table on each thread, of buckets of four. What finds its bucket full
//! of others goes by the table of new flows, and is not remembered.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use infra::memory::{HugePages, Reserved};
use zerocopy::FromZeros;

/// Flows of a bucket.
const ENTRIES: usize = 4;

/// A flow and its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromZeros)]
#[repr(C)]
pub struct Entry {
    /// The flow's key.
    pub flow: u64,
    /// The server's number.
    pub server: u32,
    /// The server's generation then.
    pub generation: u32,
    /// When the flow is over, in seconds; 0 in an entry that was never used.
    pub until: u32,
    /// 1 when another thread saw the flow last.
    is_copy: u32,
}

/// Result of a lookup of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It has this server.
    Known(u32),
    /// It has none; there is room at this place.
    New(usize),
    /// It has none, and there is no room.
    NoRoom,
}

/// The flows of a thread.
pub struct Table {
    entries: Reserved<Entry>,
    /// A power of two.
    buckets: usize,
}

impl Table {
    /// Room for four times so many flows, a power of two; memory is used as they come.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(buckets: u32) -> io::Result<Self> {
        let buckets = buckets as usize;
        let entries = Reserved::new(buckets * ENTRIES, HugePages::Beyond)?.named("lb flows");
        Ok(Self { entries, buckets })
    }
    /// The server of a flow, which it keeps for as long again if it has one. A server counts as
    /// long as `is_current` says so of its number and generation.
    #[inline(always)]
    pub fn find(
        &mut self,
        flow: u64,
        now: u32,
        timeout: u32,
        is_current: impl Fn(u32, u32) -> bool,
    ) -> Found {
        let first = (flow as usize & (self.buckets - 1)) * ENTRIES;
        let mut free = Found::NoRoom;
        for at in first..first + ENTRIES {
            let entry = &mut self.entries[at];
            let is_live = entry.until > now && is_current(entry.server, entry.generation);
            if is_live && entry.flow == flow {
                (entry.until, entry.is_copy) = (now.saturating_add(timeout), 0);
                return Found::Known(entry.server);
            }
            if !is_live && free == Found::NoRoom {
                free = Found::New(at);
            }
        }
        free
    }
    /// Gives a flow a server, at the place that was found.
    #[inline(always)]
    pub fn put(&mut self, at: usize, flow: u64, server: (u32, u32), until: u32) {
        if let Some(entry) = self.entries.get_mut(at) {
            let (server, generation) = server;
            *entry = Entry { flow, server, generation, until, is_copy: 0 };
        }
    }
    /// Shows each flow that is not over and that no other thread saw last, of `count` entries from
    /// the `from`th on; where to go on.
    pub fn walk(
        &self,
        from: usize,
        count: usize,
        now: u32,
        show: impl FnMut(&Entry),
    ) -> Option<usize> {
        let rest = self.entries.get(from..self.buckets * ENTRIES)?;
        let is_own = |entry: &&Entry| entry.until > now && entry.is_copy == 0;
        rest.iter().take(count).filter(is_own).for_each(show);
        (rest.len() > count).then_some(from + count)
    }
    /// Takes a flow of another thread, as its own or as a copy, unless it knows the flow or there
    /// is no room.
    pub fn adopt(&mut self, entry: &Entry, now: u32, is_copy: bool) {
        let first = (entry.flow as usize & (self.buckets - 1)) * ENTRIES;
        let bucket = &mut self.entries[first..first + ENTRIES];
        if bucket.iter().any(|known| known.until > now && known.flow == entry.flow) {
            return;
        }
        if let Some(free) = bucket.iter_mut().find(|known| known.until <= now) {
            *free = Entry { is_copy: is_copy.into(), ..*entry };
        }
    }
    /// Forgets all flows.
    pub fn clear(&mut self) {
        let used = self.entries.iter_mut().filter(|entry| entry.until > 0);
        used.for_each(|entry| entry.until = 0);
    }
}

/// The flows of all threads. Clones are the same flows.
#[derive(Clone)]
pub struct Flows {
    /// By thread. Only that thread takes the lock, and control for threads that do not run.
    tables: Arc<Vec<Mutex<Table>>>,
    /// Inactive timeout in seconds.
    pub timeout: u32,
}

impl Flows {
    /// No flows, with so many buckets on each of `threads` threads.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(threads: usize, buckets: u32, timeout: u32) -> io::Result<Self> {
        let tables = (0..threads).map(|_| Ok(Mutex::new(Table::new(buckets)?)));
        Ok(Self { tables: Arc::new(tables.collect::<io::Result<_>>()?), timeout })
    }
    /// The same flows with another timeout.
    #[must_use]
    pub fn with_timeout(&self, timeout: u32) -> Self {
        Self { timeout, ..self.clone() }
    }
    /// Whether there is room for any.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }
    /// The table of the thread that asks. Once a frame.
    #[inline(always)]
    pub fn lend(&self, thread: usize) -> Option<MutexGuard<'_, Table>> {
        match self.tables.get(thread)?.try_lock() {
            Ok(lent) => Some(lent),
            // A panic is caught at the frame; each step leaves the table whole.
            Err(TryLockError::Poisoned(lent)) => Some(lent.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: u32 = 40;

    fn add(table: &mut Table, flow: u64, now: u32) -> Found {
        let found = table.find(flow, now, TIMEOUT, |_, generation| generation == 1);
        if let Found::New(at) = found {
            table.put(at, flow, (flow as u32, 1), now + TIMEOUT);
        }
        found
    }

    #[test]
    fn a_flow_keeps_its_server_until_it_is_silent_or_the_server_changes() {
        let mut table = Table::new(2).unwrap();
        assert_eq!(add(&mut table, 8, 0), Found::New(0));
        assert_eq!(add(&mut table, 8, 39), Found::Known(8));
        assert_eq!(add(&mut table, 8, 78), Found::Known(8));
        assert_eq!(table.find(8, 80, TIMEOUT, |_, _| false), Found::New(0));
        assert_eq!(add(&mut table, 8, 118), Found::New(0));
    }

    #[test]
    fn flows_of_another_thread_are_known_but_not_counted_until_they_come() {
        let mut table = Table::new(1).unwrap();
        let entry = |flow, until| Entry { flow, server: 9, generation: 1, until, is_copy: 0 };
        let own = |table: &Table| {
            let mut own = Vec::new();
            table.walk(0, ENTRIES, 1, |entry| own.push((entry.flow, entry.until)));
            own
        };
        table.adopt(&entry(1, 30), 1, true);
        table.adopt(&entry(2, 31), 1, false);
        table.adopt(&entry(2, 50), 1, true);
        assert_eq!(own(&table), [(2, 31)]);
        assert_eq!(add(&mut table, 1, 5), Found::Known(9));
        assert_eq!(own(&table), [(1, 45), (2, 31)]);
        for flow in 3..9 {
            table.adopt(&entry(flow, 40), 1, false);
        }
        assert_eq!(own(&table), [(1, 45), (2, 31), (3, 40), (4, 40)]);
        table.clear();
        assert_eq!(own(&table), []);
    }

    #[test]
    fn a_full_bucket_remembers_no_more_until_a_flow_is_over() {
        let mut table = Table::new(2).unwrap();
        for flow in [0, 2, 4, 6] {
            assert!(matches!(add(&mut table, flow, 1), Found::New(_)));
        }
        assert_eq!(add(&mut table, 8, 2), Found::NoRoom);
        assert_eq!(add(&mut table, 1, 2), Found::New(4));
        let mut seen = Vec::new();
        assert_eq!(table.walk(0, 3, 2, |e| seen.push(e.server)), Some(3));
        assert_eq!(table.walk(3, 8, 2, |e| seen.push(e.server)), None);
        assert_eq!(seen, [0, 2, 4, 6, 1]);
        assert_eq!(add(&mut table, 8, 41), Found::New(0));
    }
}
