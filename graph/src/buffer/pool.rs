//! The pool of buffers.
//!
//! A pool reserves its whole address range at start and fills it segment by segment, up to a limit,
//! so an index never changes its meaning and growing moves nothing.

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use infra::memory::{HUGE_PAGE, Mapping};
use serde::Serialize;

use super::Buffer;
use super::size;

/// Buffers that a growing pool adds at a time: the fewest that fill whole 2 MB pages.
const SEGMENT: usize = 32768;
const _: () = assert!((SEGMENT * 64).is_multiple_of(HUGE_PAGE));
/// Free indices that a thread keeps at most, and how many move at a time.
const CACHE: usize = 1024;
const BATCH: usize = 512;

/// A pool of buffers, shared by control and all threads.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    base: NonNull<u8>,
    /// Distance of buffers in cache lines.
    stride: usize,
    limit: usize,
    placed: AtomicUsize,
    short: AtomicBool,
    waker: OnceLock<Waker>,
    depot: Mutex<Depot>,
}

/// Tells control that the pool is short.
struct Waker(Box<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for Waker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Waker")
    }
}

#[derive(Debug)]
struct Depot {
    map: Mapping,
    free: Vec<u32>,
    pages: Vec<&'static str>,
}

// SAFETY: the pool hands out indices; who owns one may touch its buffer, nobody else.
unsafe impl Send for Inner {}
// SAFETY: as above; the free list is behind a lock.
unsafe impl Sync for Inner {}

/// A pool's row of `show buffers`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolUse {
    /// Name.
    pub name: String,
    /// Distance of buffers in bytes.
    pub size: usize,
    /// Bytes of packet data in one.
    pub data_size: usize,
    /// Buffers there are now.
    pub total: usize,
    /// Largest number there may be.
    pub limit: usize,
    /// In the pool, free.
    pub available: usize,
    /// Free, kept by threads.
    pub cached: usize,
    /// In packets.
    pub used: usize,
    /// Kind of pages behind the segments.
    pub pages: Vec<&'static str>,
}

impl Pool {
    /// A pool that starts with a first segment and may grow to `limit` buffers.
    ///
    /// # Errors
    /// The kernel's, when it refuses the memory.
    pub fn new(limit: usize) -> io::Result<Self> {
        let (_, stride) = size::settle();
        let limit = limit.clamp(1024, (u32::MAX as usize) / stride - 1);
        let map = Mapping::reserve(limit.next_multiple_of(SEGMENT) * stride * 64)?;
        map.name("buffers");
        let pool = Self(Arc::new(Inner {
            base: map.aligned_start(),
            stride,
            limit,
            placed: AtomicUsize::new(0),
            short: AtomicBool::new(false),
            waker: OnceLock::new(),
            depot: Mutex::new(Depot { map, free: Vec::new(), pages: Vec::new() }),
        }));
        pool.grow()?;
        Ok(pool)
    }
    /// Adds a segment; control calls it when [`Pool::is_short`].
    ///
    /// # Errors
    /// The kernel's. At the limit nothing happens.
    pub fn grow(&self) -> io::Result<()> {
        let first = self.0.placed.load(Ordering::Relaxed);
        let last = (first + SEGMENT).min(self.0.limit);
        self.0.short.store(false, Ordering::Relaxed);
        if first == last {
            return Ok(());
        }
        let stride = self.0.stride;
        let (from, bytes) = (first * stride * 64, (last - first) * stride * 64);
        let mut depot = self.0.depot.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = place(&mut depot.map, from, bytes.next_multiple_of(HUGE_PAGE))?;
        depot.pages.push(pages);
        // Buffer 0 stays unused, so that index 0 means none. In reverse: the lowest is taken first.
        depot.free.extend((first.max(1)..last).rev().map(|i| (i * stride) as u32));
        self.0.placed.store(last, Ordering::Relaxed);
        Ok(())
    }
    /// Has `waker` called, on the thread that ran short, when the pool should grow: once until it
    /// has. The first one stays.
    pub fn on_short(&self, waker: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.waker.set(Waker(Box::new(waker)));
    }
    /// Whether a thread found the pool empty while it may still grow.
    pub fn is_short(&self) -> bool {
        self.0.short.load(Ordering::Relaxed) && self.0.placed.load(Ordering::Relaxed) < self.0.limit
    }
    #[inline(always)]
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.0.base
    }
    /// Takes a packet back, its whole chain, from who is not on a data-plane thread (or is ending).
    ///
    /// # Safety
    /// The packet belongs to the caller, who gives it up.
    #[cold]
    pub(crate) unsafe fn give_back(&self, index: u32) {
        let mut depot = self.0.depot.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = Some(index);
        while let Some(index) = at {
            // SAFETY: a packet's buffers belong to who owns the packet.
            at = unsafe { Buffer::new(self.base(), index) }.take_next();
            depot.free.push(index);
        }
    }
    /// Usage of the pool, given the number of indices that threads keep.
    pub fn usage(&self, cached: usize) -> PoolUse {
        let depot = self.0.depot.lock().unwrap_or_else(PoisonError::into_inner);
        let total = self.0.placed.load(Ordering::Relaxed).saturating_sub(1);
        PoolUse {
            name: "default-numa-0".to_owned(),
            size: self.0.stride * 64,
            data_size: super::data_size(),
            total,
            limit: self.0.limit,
            available: depot.free.len(),
            cached,
            used: total.saturating_sub(depot.free.len() + cached),
            pages: depot.pages.clone(),
        }
    }
}

/// Fills a range of the reservation: 2 MB hugepages of a memfd where the system has some, else
/// anonymous memory with huge pages advised (a pool nobody shares needs no file).
fn place(map: &mut Mapping, from: usize, bytes: usize) -> io::Result<&'static str> {
    if let Ok(file) = hugepages(bytes)
        && map.place(from, bytes, Some(&file)).is_ok()
    {
        return Ok("2M");
    }
    map.place(from, bytes, None)?;
    Ok("4K, huge pages advised")
}

fn hugepages(bytes: usize) -> io::Result<File> {
    let free = std::fs::read_to_string("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")?;
    if free.trim().parse::<usize>().unwrap_or(0) < bytes / HUGE_PAGE {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    use rustix::fs::{MemfdFlags, memfd_create};
    let file = File::from(memfd_create(
        "buffers",
        MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB,
    )?);
    file.set_len(bytes as u64)?;
    // Take them now: a page that is not there when touched would be a bus error.
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes as u64)?;
    Ok(file)
}

/// The free indices one thread keeps.
#[derive(Debug)]
pub(crate) struct Cache {
    pool: Pool,
    free: Vec<u32>,
    /// Indices taken out of the pool, less those put back.
    moved: i64,
}

impl Cache {
    pub fn new(pool: &Pool) -> Self {
        Self { pool: pool.clone(), free: Vec::with_capacity(CACHE + BATCH), moved: 0 }
    }
    /// Makes sure of `n` free indices (at most a frame), as far as the pool has them; returns how
    /// many.
    #[inline(always)]
    pub fn ensure(&mut self, n: usize) -> usize {
        if self.free.len() < n {
            self.refill();
        }
        self.free.len().min(n)
    }
    /// Takes one that [`Cache::ensure`] promised, or tries.
    #[inline(always)]
    pub fn take(&mut self) -> Option<u32> {
        if self.free.is_empty() {
            self.refill();
        }
        self.free.pop()
    }
    /// Takes one back.
    #[inline(always)]
    pub fn put(&mut self, index: u32) {
        self.free.push(index);
        if self.free.len() >= CACHE {
            self.spill();
        }
    }
    /// Takes many back.
    #[inline(always)]
    pub fn put_all(&mut self, indices: &[u32]) {
        self.free.extend_from_slice(indices);
        if self.free.len() >= CACHE {
            self.spill();
        }
    }
    pub fn len(&self) -> usize {
        self.free.len()
    }
    /// Buffers that the thread took, less those it gave back.
    pub fn out(&self) -> i64 {
        self.moved - self.free.len() as i64
    }
    pub fn pool(&self) -> &Pool {
        &self.pool
    }
    #[cold]
    fn refill(&mut self) {
        let inner = &self.pool.0;
        let mut depot = inner.depot.lock().unwrap_or_else(PoisonError::into_inner);
        let keep = depot.free.len().saturating_sub(BATCH);
        self.moved += (depot.free.len() - keep) as i64;
        self.free.extend(depot.free.drain(keep..));
        drop(depot);
        let may_grow = inner.placed.load(Ordering::Relaxed) < inner.limit;
        if self.free.len() < BATCH
            && !inner.short.swap(true, Ordering::Relaxed)
            && may_grow
            && let Some(Waker(wake)) = inner.waker.get()
        {
            wake();
        }
    }
    #[cold]
    fn spill(&mut self) {
        // The oldest go: what was freed last is still in the processor's cache.
        let many = self.free.len() - BATCH;
        self.moved -= many as i64;
        let mut depot = self.pool.0.depot.lock().unwrap_or_else(PoisonError::into_inner);
        depot.free.extend(self.free.drain(..many));
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let mut depot = self.pool.0.depot.lock().unwrap_or_else(PoisonError::into_inner);
        depot.free.append(&mut self.free);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_pool_says_so_once_until_it_has_grown() {
        let pool = Pool::new(SEGMENT + 2048).unwrap();
        let told = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&told);
        pool.on_short(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let mut cache = Cache::new(&pool);
        let mut take = |n: usize| (0..n).filter_map(|_| cache.take()).count();
        assert_eq!(take(SEGMENT / 2), SEGMENT / 2);
        assert_eq!((told.load(Ordering::Relaxed), pool.is_short()), (0, false));
        assert_eq!(take(SEGMENT), SEGMENT / 2 - 1);
        assert_eq!((told.load(Ordering::Relaxed), pool.is_short()), (1, true));
        pool.grow().unwrap();
        assert_eq!(take(SEGMENT), 2048);
        assert_eq!((told.load(Ordering::Relaxed), pool.is_short()), (1, false), "at its limit");
    }
}
