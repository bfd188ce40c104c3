//! FIFOs between transports and applications: chains of chunks from a pool of the thread.
//!
//! Positions are stream positions, starting at 0. An empty FIFO has no chunk.

use std::cell::Cell;
use std::io;

use infra::memory::{HugePages, Reserved};

use super::shares::Shares;

/// Size of a chunk in bytes.
pub const CHUNK: usize = 4096;
/// No chunk.
const NONE: u32 = u32::MAX;

/// The chunk pool of a thread.
#[derive(Debug)]
pub struct Chunks {
    bytes: Reserved<u8>,
    next: Reserved<u32>,
    /// The first free chunk, among those that have been used.
    free: u32,
    /// Number of chunks that have ever been used.
    touched: u32,
    used: u32,
    refused: u64,
    /// Chunks by application.
    shares: Shares,
}

impl Chunks {
    /// Reserves address space for `count` chunks; memory is allocated on first use.
    ///
    /// # Errors
    /// The kernel refuses the address space.
    pub fn new(count: usize) -> io::Result<Self> {
        let bytes = Reserved::new(count * CHUNK, HugePages::No)?.named("session fifos");
        let next = Reserved::new(count, HugePages::No)?;
        Ok(Self { bytes, next, free: NONE, touched: 0, used: 0, refused: 0, shares: Shares::new() })
    }
    /// Number of chunks in FIFOs.
    pub fn used(&self) -> usize {
        self.used as usize
    }
    /// Limit of chunks.
    pub fn limit(&self) -> usize {
        self.next.len()
    }
    /// Number of failed allocations.
    pub fn refused(&self) -> u64 {
        self.refused
    }
    /// Number of chunks that an application may still allocate.
    pub fn room(&self, app: u32) -> usize {
        self.shares.left(app, self.limit() - self.used())
    }
    /// Whether less than half of them is left: then no chunk is taken for missing bytes in front of
    /// others.
    pub fn is_tight(&self) -> bool {
        self.used() * 2 > self.limit()
    }
    fn take(&mut self, app: u32) -> Option<u32> {
        if self.room(app) == 0 {
            self.refused += 1;
            return None;
        }
        let chunk = if self.free != NONE {
            let chunk = self.free;
            self.free = self.next[chunk as usize];
            chunk
        } else {
            self.touched += 1;
            self.touched - 1
        };
        self.used += 1;
        self.shares.add(app);
        self.next[chunk as usize] = NONE;
        Some(chunk)
    }
    /// Frees a chunk; returns the next one in its chain.
    fn put(&mut self, chunk: u32, app: u32) -> u32 {
        let next = std::mem::replace(&mut self.next[chunk as usize], self.free);
        self.free = chunk;
        self.used -= 1;
        self.shares.sub(app);
        next
    }
    fn at(&self, chunk: u32) -> &[u8] {
        let start = chunk as usize * CHUNK;
        self.bytes.get(start..start + CHUNK).unwrap_or(&[])
    }
    fn at_mut(&mut self, chunk: u32) -> &mut [u8] {
        let start = chunk as usize * CHUNK;
        &mut self.bytes[start..start + CHUNK]
    }
}

/// A byte queue. Its chunks belong to one [`Chunks`], which is passed to all calls.
#[derive(Debug)]
pub struct Fifo {
    /// Position of the first byte.
    start: u64,
    /// Position after the last contiguous byte.
    end: u64,
    /// Position after the last written byte.
    reach: u64,
    /// Position of the first byte of the first chunk.
    base: u64,
    head: u32,
    tail: u32,
    chunks: u32,
    limit: u32,
    /// Number of the application whose share its chunks are of.
    app: u32,
    /// The chunk of the last lookup, and the position of its first byte.
    cursor: Cell<(u32, u64)>,
}

impl Fifo {
    /// Creates an empty FIFO of `limit` bytes for an application.
    pub fn new(limit: usize, app: u32) -> Self {
        Self {
            start: 0,
            end: 0,
            reach: 0,
            base: 0,
            head: NONE,
            tail: NONE,
            chunks: 0,
            limit: limit.min(u32::MAX as usize) as u32,
            app,
            cursor: Cell::new((NONE, 0)),
        }
    }
    /// Number of contiguous bytes.
    pub fn len(&self) -> usize {
        (self.end - self.start) as usize
    }
    /// Whether there are no contiguous bytes.
    pub fn is_empty(&self) -> bool {
        self.end == self.start
    }
    /// Number of the application whose share its chunks are of.
    pub fn app(&self) -> u32 {
        self.app
    }
    /// Capacity in bytes.
    pub fn limit(&self) -> usize {
        self.limit as usize
    }
    /// Free space after the last byte.
    pub fn space(&self) -> usize {
        self.limit().saturating_sub(self.len())
    }
    /// Position of the first byte.
    pub fn start(&self) -> u64 {
        self.start
    }
    /// Position after the last contiguous byte.
    pub fn end(&self) -> u64 {
        self.end
    }
    /// Appends bytes, as many as fit, and returns their number.
    pub fn write(&mut self, chunks: &mut Chunks, bytes: &[u8]) -> usize {
        let n = bytes.len().min(self.space());
        let done = self.put(chunks, self.end, &bytes[..n]);
        self.advance(done);
        done
    }
    /// Writes bytes at a position at or after the end, which may leave a gap; returns the number of
    /// bytes that fit.
    pub fn write_at(&mut self, chunks: &mut Chunks, at: u64, bytes: &[u8]) -> usize {
        let last = self.start + u64::from(self.limit);
        let n = bytes.len().min(last.saturating_sub(at) as usize);
        if at < self.end { 0 } else { self.put(chunks, at, &bytes[..n]) }
    }
    /// Moves the end forward by `n` bytes that have already been written.
    pub fn advance(&mut self, n: usize) {
        self.end += n as u64;
        self.reach = self.reach.max(self.end);
    }
    /// Discards bytes after a gap.
    pub fn drop_ahead(&mut self, chunks: &mut Chunks) {
        self.reach = self.end;
        if self.is_empty() {
            self.clear(chunks);
        }
    }
    fn put(&mut self, chunks: &mut Chunks, at: u64, mut bytes: &[u8]) -> usize {
        let (mut at, all) = (at, bytes.len());
        while !bytes.is_empty() {
            let Some((chunk, offset)) = self.find_or_add(chunks, at) else { break };
            let room = &mut chunks.at_mut(chunk)[offset..];
            let n = room.len().min(bytes.len());
            room[..n].copy_from_slice(&bytes[..n]);
            (at, bytes) = (at + n as u64, &bytes[n..]);
        }
        self.reach = self.reach.max(at);
        all - bytes.len()
    }
    /// The chunk of a position, allocated if missing, and the offset in it.
    fn find_or_add(&mut self, chunks: &mut Chunks, at: u64) -> Option<(u32, usize)> {
        if self.head == NONE {
            (self.base, self.cursor) = (self.start, Cell::new((NONE, 0)));
        }
        while at >= self.base + u64::from(self.chunks) * CHUNK as u64 {
            let new = chunks.take(self.app)?;
            match self.tail {
                NONE => self.head = new,
                tail => chunks.next[tail as usize] = new,
            }
            self.tail = new;
            self.chunks += 1;
        }
        self.find(chunks, at)
    }
    fn find(&self, chunks: &Chunks, at: u64) -> Option<(u32, usize)> {
        if self.head == NONE || at >= self.base + u64::from(self.chunks) * CHUNK as u64 {
            return None;
        }
        let (mut chunk, mut first) = self.cursor.get();
        if chunk == NONE || first > at {
            (chunk, first) = (self.head, self.base);
        }
        while at - first >= CHUNK as u64 {
            chunk = chunks.next[chunk as usize];
            first += CHUNK as u64;
        }
        self.cursor.set((chunk, first));
        Some((chunk, (at - first) as usize))
    }
    /// The contiguous bytes in memory from a position on.
    pub fn piece<'c>(&self, chunks: &'c Chunks, at: u64) -> &'c [u8] {
        if at < self.start || at >= self.end {
            return &[];
        }
        let Some((chunk, offset)) = self.find(chunks, at) else { return &[] };
        let n = (CHUNK - offset).min((self.end - at) as usize);
        chunks.at(chunk).get(offset..offset + n).unwrap_or(&[])
    }
    /// Copies bytes from a position on; returns their number.
    pub fn copy(&self, chunks: &Chunks, at: u64, to: &mut [u8]) -> usize {
        let mut done = 0;
        while done < to.len() {
            let piece = self.piece(chunks, at + done as u64);
            let n = piece.len().min(to.len() - done);
            if n == 0 {
                break;
            }
            to[done..done + n].copy_from_slice(&piece[..n]);
            done += n;
        }
        done
    }
    /// Copies the content of another FIFO, including data after gaps, into this empty one; `false`
    /// if not all of it fits.
    #[must_use]
    pub fn copy_from(&mut self, chunks: &mut Chunks, other: &Self, of: &Chunks) -> bool {
        let mut at = other.start;
        while at < other.reach {
            let Some((chunk, offset)) = other.find(of, at) else { return false };
            let n = (CHUNK - offset).min((other.reach - at) as usize);
            let to = self.end + (at - other.start);
            if self.put(chunks, to, &of.at(chunk)[offset..offset + n]) < n {
                return false;
            }
            at += n as u64;
        }
        self.advance(other.len());
        true
    }
    /// Removes the first bytes; returns their number.
    pub fn consume(&mut self, chunks: &mut Chunks, n: usize) -> usize {
        let n = n.min(self.len());
        self.start += n as u64;
        if self.start == self.reach {
            self.clear(chunks);
            return n;
        }
        while self.head != NONE && self.start - self.base >= CHUNK as u64 {
            if self.cursor.get().0 == self.head {
                self.cursor.set((NONE, 0));
            }
            self.head = chunks.put(self.head, self.app);
            self.base += CHUNK as u64;
            self.chunks -= 1;
            if self.head == NONE {
                self.tail = NONE;
            }
        }
        n
    }
    /// Frees all chunks and their content.
    pub fn clear(&mut self, chunks: &mut Chunks) {
        while self.head != NONE {
            self.head = chunks.put(self.head, self.app);
        }
        (self.tail, self.chunks) = (NONE, 0);
        (self.start, self.reach) = (self.end, self.end);
        self.cursor.set((NONE, 0));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(from: u64, n: usize) -> Vec<u8> {
        (from..from + n as u64).map(|n| (n % 251) as u8).collect()
    }

    #[test]
    fn it_has_no_chunk_when_it_is_empty_and_no_more_bytes_than_its_limit() {
        let mut chunks = Chunks::new(8).unwrap();
        let mut fifo = Fifo::new(10_000, 0);
        assert_eq!(fifo.write(&mut chunks, &pattern(0, 12_000)), 10_000);
        assert_eq!((fifo.len(), fifo.space(), chunks.used()), (10_000, 0, 3));
        assert_eq!(fifo.consume(&mut chunks, 5000), 5000);
        assert_eq!(chunks.used(), 2);
        let mut got = [0; 6000];
        assert_eq!(fifo.copy(&chunks, 5000, &mut got), 5000);
        assert_eq!(got[..5000], pattern(5000, 5000));
        assert_eq!(fifo.consume(&mut chunks, 9999), 5000);
        assert_eq!(chunks.used(), 0);
    }

    #[test]
    fn it_takes_what_there_is_when_the_pool_is_empty() {
        let mut chunks = Chunks::new(2).unwrap();
        let (mut one, mut other) = (Fifo::new(1 << 20, 0), Fifo::new(1 << 20, 0));
        assert_eq!(one.write(&mut chunks, &pattern(0, 20_000)), 2 * CHUNK);
        assert_eq!((other.write(&mut chunks, b"x"), chunks.refused() > 0), (0, true));
        one.clear(&mut chunks);
        assert_eq!(other.write(&mut chunks, b"x"), 1);
    }

    #[test]
    fn a_copy_has_what_lies_behind_gaps_and_says_when_there_is_no_room() {
        let (mut from, mut to) = (Chunks::new(8).unwrap(), Chunks::new(3).unwrap());
        let mut fifo = Fifo::new(20_000, 0);
        fifo.write(&mut from, &pattern(0, 6000));
        fifo.consume(&mut from, 5000);
        fifo.write_at(&mut from, 7000, &pattern(7000, 4000));
        let mut copy = Fifo::new(20_000, 0);
        assert!(copy.copy_from(&mut to, &fifo, &from));
        assert_eq!((copy.len(), copy.write(&mut to, &pattern(6000, 1000))), (1000, 1000));
        copy.advance(4000);
        let mut got = [0; 6000];
        let start = copy.start();
        assert_eq!((copy.copy(&to, start, &mut got), &got[..]), (6000, &pattern(5000, 6000)[..]));
        let mut second = Fifo::new(20_000, 0);
        assert!(!second.copy_from(&mut to, &fifo, &from), "one chunk is left");
        second.clear(&mut to);
        copy.clear(&mut to);
        assert_eq!(to.used(), 0);
    }

    proptest! {
        #[test]
        fn bytes_come_out_as_they_went_in_whatever_the_order(
            steps in prop::collection::vec((0u8..3, 1usize..9000), 1..60),
        ) {
            let mut chunks = Chunks::new(64).unwrap();
            let mut fifo = Fifo::new(40_000, 0);
            let mut early: Option<(u64, usize)> = None;
            for (kind, n) in steps {
                match kind {
                    // A gap of n bytes, and n bytes behind it.
                    0 if early.is_none() => {
                        let at = fifo.end() + n as u64;
                        let done = fifo.write_at(&mut chunks, at, &pattern(at, n));
                        early = (done > 0).then_some((at, done));
                    }
                    // The gap is filled.
                    0 | 1 => {
                        let gap = early.map_or(n, |(at, _)| (at - fifo.end()) as usize);
                        let bytes = pattern(fifo.end(), gap);
                        let done = fifo.write(&mut chunks, &bytes);
                        if let Some((at, len)) = early.take() && done == gap {
                            prop_assert_eq!(at, fifo.end());
                            fifo.advance(len);
                        }
                    }
                    _ => {
                        let mut got = vec![0; n];
                        let start = fifo.start();
                        let some = fifo.copy(&chunks, start, &mut got);
                        prop_assert_eq!(&got[..some], &pattern(start, some)[..]);
                        prop_assert_eq!(fifo.consume(&mut chunks, n), some);
                    }
                }
                prop_assert!(fifo.len() <= fifo.limit());
                prop_assert!(chunks.used() <= fifo.limit() / CHUNK + 2);
            }
            fifo.clear(&mut chunks);
            prop_assert_eq!(chunks.used(), 0);
        }
    }
}
