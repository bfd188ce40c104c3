//! The pool of buffers, a part of it on each NUMA node.
//!
//! A pool reserves its whole address range at start and fills that of each node segment by segment,
//! up to a limit, so an index never changes its meaning and growing moves nothing. A thread takes
//! buffers of the node it runs on; those of other nodes that it frees go back there, many at a
//! time.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use infra::memory::{HUGE_PAGE, Mapping};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
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
    /// Most buffers of a node, and how many have room there.
    limit: usize,
    span: usize,
    map: Mutex<Mapping>,
    nodes: Vec<Part>,
    waker: OnceLock<Waker>,
}

/// The buffers of a NUMA node.
#[derive(Debug)]
struct Part {
    /// Number of the node.
    node: usize,
    placed: AtomicUsize,
    short: AtomicBool,
    depot: Mutex<Depot>,
}

/// Tells control that the pool is short.
struct Waker(Box<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for Waker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Waker")
    }
}

#[derive(Debug, Default)]
struct Depot {
    free: Vec<u32>,
    pages: Vec<&'static str>,
}

// SAFETY: the pool hands out indices; only the owner of one touches its buffer.
unsafe impl Send for Inner {}
// SAFETY: as above; the free list is behind a lock.
unsafe impl Sync for Inner {}

/// A node's row of `show buffers`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolUse {
    /// Name.
    pub name: String,
    /// NUMA node.
    pub numa_node: usize,
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
    /// A pool that starts with a first segment on each of these NUMA nodes and may grow to `limit`
    /// buffers there.
    ///
    /// # Errors
    /// The kernel's, when it refuses the memory; `InvalidInput` without a node.
    pub fn new(limit: usize, nodes: &[usize]) -> io::Result<Self> {
        if nodes.is_empty() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (_, stride) = size::settle();
        let most = (u32::MAX as usize / stride - 1) / nodes.len() / SEGMENT * SEGMENT;
        let limit = limit.clamp(1024, most);
        let span = limit.next_multiple_of(SEGMENT);
        let map = Mapping::reserve(nodes.len() * span * stride * 64)?;
        map.name("buffers");
        let part = |node: &usize| Part {
            node: *node,
            placed: AtomicUsize::new(0),
            short: AtomicBool::new(true),
            depot: Mutex::default(),
        };
        let pool = Self(Arc::new(Inner {
            base: map.aligned_start(),
            stride,
            limit,
            span,
            map: Mutex::new(map),
            nodes: nodes.iter().map(part).collect(),
            waker: OnceLock::new(),
        }));
        pool.grow()?;
        Ok(pool)
    }
    /// Adds a segment on each node that is short; control calls it when [`Pool::is_short`].
    ///
    /// # Errors
    /// The kernel's. At the limit nothing happens.
    pub fn grow(&self) -> io::Result<()> {
        for (at, part) in self.0.nodes.iter().enumerate() {
            if part.short.swap(false, Ordering::Relaxed) {
                self.0.grow(at, part)?;
            }
        }
        Ok(())
    }
    /// Calls `waker`, on the thread that ran short, when the pool should grow: once until it has.
    /// The first one stays.
    pub fn on_short(&self, waker: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.waker.set(Waker(Box::new(waker)));
    }
    /// Whether a thread found its node's part empty while that may still grow.
    pub fn is_short(&self) -> bool {
        self.0.nodes.iter().any(|p| p.short.load(Ordering::Relaxed) && p.may_grow(self.0.limit))
    }
    /// NUMA nodes with buffers.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = usize> {
        self.0.nodes.iter().map(|part| part.node)
    }
    #[inline(always)]
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.0.base
    }
    /// Frees a packet, its whole chain, from outside a data-plane thread (or from one that ends).
    ///
    /// # Safety
    /// The packet belongs to the caller, who gives it up.
    #[cold]
    pub(crate) unsafe fn give_back(&self, index: u32) {
        let mut at = Some(index);
        while let Some(index) = at {
            // SAFETY: a packet's buffers belong to the packet's owner.
            at = unsafe { Buffer::new(self.base(), index) }.take_next();
            self.0.nodes[self.0.node_of(index)].depot().free.push(index);
        }
    }
    /// Usage of the buffers of each node, given the number of indices of each that threads keep.
    pub fn usage(&self, cached: &[usize]) -> Vec<PoolUse> {
        let of = |(at, part): (usize, &Part)| {
            let depot = part.depot();
            let unused = usize::from(at == 0);
            let total = part.placed.load(Ordering::Relaxed).saturating_sub(unused);
            let cached = cached.get(at).copied().unwrap_or(0);
            PoolUse {
                name: format!("default-numa-{}", part.node),
                numa_node: part.node,
                size: self.0.stride * 64,
                data_size: super::data_size(),
                total,
                limit: self.0.limit,
                available: depot.free.len(),
                cached,
                used: total.saturating_sub(depot.free.len() + cached),
                pages: depot.pages.clone(),
            }
        };
        self.0.nodes.iter().enumerate().map(of).collect()
    }
}

impl Inner {
    /// Adds a segment to the buffers of a node.
    fn grow(&self, at: usize, part: &Part) -> io::Result<()> {
        let first = part.placed.load(Ordering::Relaxed);
        let last = (first + SEGMENT).min(self.limit);
        if first == last {
            return Ok(());
        }
        let start = at * self.span;
        let (from, to) = (start + first, start + last);
        let bytes = ((to - from) * self.stride * 64).next_multiple_of(HUGE_PAGE);
        let node = Some(part.node).filter(|_| self.nodes.len() > 1);
        let mut map = self.map.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = place(&mut map, from * self.stride * 64, bytes, node)?;
        let mut depot = part.depot();
        depot.pages.push(pages);
        // Buffer 0 stays unused, so that index 0 means none. In reverse: the lowest is taken first.
        depot.free.extend((from.max(1)..to).rev().map(|i| (i * self.stride) as u32));
        part.placed.store(last, Ordering::Relaxed);
        Ok(())
    }
    /// Place in the list of the node that a buffer is on.
    fn node_of(&self, index: u32) -> usize {
        index as usize / (self.span * self.stride)
    }
    /// Indices of the buffers of a node.
    fn indices(&self, at: usize) -> Range<u32> {
        let all = self.span * self.stride;
        (at * all) as u32..((at + 1) * all) as u32
    }
}

impl Part {
    fn depot(&self) -> MutexGuard<'_, Depot> {
        self.depot.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn may_grow(&self, limit: usize) -> bool {
        self.placed.load(Ordering::Relaxed) < limit
    }
}

/// Fills a range of the reservation, with memory of a NUMA node if given: 2 MB hugepages of a memfd
/// where the system has some, else anonymous memory with huge pages advised (an unshared pool needs
/// no file).
fn place(
    map: &mut Mapping,
    from: usize,
    bytes: usize,
    node: Option<usize>,
) -> io::Result<&'static str> {
    if let Ok(file) = hugepages(bytes, node)
        && map.place(from, bytes, Some(&file), node).is_ok()
        // Allocate them now: a page missing when touched would be a bus error.
        && fallocate(&file, FallocateFlags::empty(), 0, bytes as u64).is_ok()
    {
        return Ok("2M");
    }
    map.place(from, bytes, None, node)?;
    Ok("4K, huge pages advised")
}

/// A file of hugepages, none of which is taken yet.
fn hugepages(bytes: usize, node: Option<usize>) -> io::Result<File> {
    let of = match node {
        Some(node) => format!("/sys/devices/system/node/node{node}/hugepages"),
        None => "/sys/kernel/mm/hugepages".to_owned(),
    };
    let free = std::fs::read_to_string(format!("{of}/hugepages-2048kB/free_hugepages"))?;
    if free.trim().parse::<usize>().unwrap_or(0) < bytes / HUGE_PAGE {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let file = File::from(memfd_create(
        "buffers",
        MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB,
    )?);
    file.set_len(bytes as u64)?;
    Ok(file)
}

/// The free indices one thread keeps.
#[derive(Debug)]
pub(crate) struct Cache {
    pool: Pool,
    /// Place in the pool's list of the node that the thread is on, and its indices.
    at: usize,
    home: Range<u32>,
    /// Whether there is no other node.
    is_only: bool,
    free: Vec<u32>,
    /// Indices of other nodes, to be put back there.
    foreign: Vec<u32>,
    /// Indices taken out of the pool, less those put back.
    moved: i64,
}

impl Cache {
    pub fn new(pool: &Pool) -> Self {
        Self {
            pool: pool.clone(),
            at: 0,
            home: pool.0.indices(0),
            is_only: pool.0.nodes.len() == 1,
            free: Vec::with_capacity(CACHE + BATCH),
            foreign: Vec::new(),
            moved: 0,
        }
    }
    /// Takes buffers of this NUMA node from now on: of the first where it has none.
    pub fn move_to(&mut self, node: Option<usize>) {
        let at = self.pool.nodes().position(|n| Some(n) == node).unwrap_or(0);
        if at != self.at {
            self.put_back(0);
            (self.at, self.home) = (at, self.pool.0.indices(at));
            self.send_home();
            self.foreign.reserve(CACHE);
        }
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
        self.put_all(&[index]);
    }
    /// Takes many back.
    #[inline(always)]
    pub fn put_all(&mut self, indices: &[u32]) {
        if self.is_only {
            self.free.extend_from_slice(indices);
        } else {
            self.sort(indices);
        }
        if self.free.len() >= CACHE {
            self.put_back(BATCH);
        }
    }
    /// Indices that it keeps of the buffers of a node, by its place in the pool's list.
    pub fn kept(&self, at: usize) -> usize {
        let foreign = self.foreign.iter().filter(|index| self.pool.0.node_of(**index) == at);
        foreign.count() + if at == self.at { self.free.len() } else { 0 }
    }
    /// Buffers that the thread took, less those it gave back.
    pub fn out(&self) -> i64 {
        self.moved - (self.free.len() + self.foreign.len()) as i64
    }
    pub fn pool(&self) -> &Pool {
        &self.pool
    }
    #[cold]
    fn refill(&mut self) {
        let inner = &self.pool.0;
        let part = &inner.nodes[self.at];
        let mut depot = part.depot();
        let keep = depot.free.len().saturating_sub(BATCH);
        self.moved += (depot.free.len() - keep) as i64;
        self.free.extend(depot.free.drain(keep..));
        drop(depot);
        if self.free.len() < BATCH
            && !part.short.swap(true, Ordering::Relaxed)
            && part.may_grow(inner.limit)
            && let Some(Waker(wake)) = inner.waker.get()
        {
            wake();
        }
    }
    /// Puts all but so many of its node's back.
    #[cold]
    fn put_back(&mut self, keep: usize) {
        // The oldest go: what was freed last is still in the processor's cache.
        let many = self.free.len() - keep;
        self.moved -= many as i64;
        self.pool.0.nodes[self.at].depot().free.extend(self.free.drain(..many));
    }
    /// Takes many back, which may be of any node.
    #[inline(never)]
    fn sort(&mut self, indices: &[u32]) {
        for index in indices {
            let to = if self.home.contains(index) { &mut self.free } else { &mut self.foreign };
            to.push(*index);
        }
        if self.foreign.len() >= BATCH {
            self.send_home();
        }
    }
    #[cold]
    fn send_home(&mut self) {
        let inner = &self.pool.0;
        self.moved -= self.foreign.len() as i64;
        for (at, part) in inner.nodes.iter().enumerate() {
            let theirs = self.foreign.extract_if(.., |index| inner.node_of(*index) == at);
            part.depot().free.extend(theirs);
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.put_back(0);
        self.send_home();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_pool_says_so_once_until_it_has_grown() {
        let pool = Pool::new(SEGMENT + 2048, &[0]).unwrap();
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
    #[test]
    fn a_thread_takes_buffers_of_its_node_and_sends_those_of_others_home() {
        let pool = Pool::new(4096, &[0, 2]).unwrap();
        let (mut first, mut second) = (Cache::new(&pool), Cache::new(&pool));
        second.move_to(Some(2));
        let take = |cache: &mut Cache, n| (0..n).filter_map(|_| cache.take()).collect::<Vec<_>>();
        let of_first = take(&mut first, 1000);
        let of_second = take(&mut second, 5000);
        assert_eq!((of_first.len(), of_second.len()), (1000, 4096), "a limit each");
        assert!(of_first.iter().all(|index| pool.0.node_of(*index) == 0));
        assert!(of_second.iter().all(|index| pool.0.node_of(*index) == 1));
        let used = |caches: [&Cache; 2]| {
            let cached: Vec<_> = (0..2).map(|at| caches.map(|c| c.kept(at)).iter().sum()).collect();
            let rows = pool.usage(&cached);
            rows.into_iter().map(|row| (row.name, row.used)).collect::<Vec<_>>()
        };
        let rows = |first, second| {
            vec![("default-numa-0".to_owned(), first), ("default-numa-2".to_owned(), second)]
        };
        assert_eq!(used([&first, &second]), rows(1000, 4096));

        // The packets of the first are freed by the second.
        second.put_all(&of_first);
        assert_eq!(used([&first, &second]), rows(0, 4096));
        assert_eq!(second.foreign.len(), 0);
        first.put_all(&of_second[..100]);
        assert_eq!(used([&first, &second]), rows(0, 3996));
        assert_eq!((first.foreign.len(), first.out() + second.out()), (100, 3996));
        let again = take(&mut first, 100);
        assert!(again.iter().all(|index| pool.0.node_of(*index) == 0));

        // On another node it takes that one's; what it kept is where it belongs.
        first.move_to(Some(2));
        assert_eq!(take(&mut first, 300).len(), 100);
        first.put_all(&again);
        drop(first);
        second.move_to(None);
        second.put_all(&of_second[100..]);
        drop(second);
        let rows = pool.usage(&[0, 0]);
        assert_eq!([rows[0].used, rows[1].used], [0, 100]);
    }
}
