//! The data of a session: one stream that this side writes ([`Out`]), one that it reads ([`In`]).
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::sync::atomic::{Ordering::SeqCst, fence};

use super::Broken;
use super::lane::Lane;
use super::region::{CHUNK, Region, WINDOW, Word};

/// The writing end of a stream.
#[derive(Debug)]
pub struct Out {
    written: u64,
    /// Position up to which data is visible to the other side.
    published: u64,
    /// Position up to which the other side has taken data, as last read and validated.
    taken: u64,
    limit: u64,
    /// Chunks from the one at `taken` on; empty when everything is taken.
    chunks: VecDeque<u32>,
}

impl Out {
    /// Creates an empty stream with room for `limit` bytes, at most [`WINDOW`].
    pub fn new(limit: usize) -> Self {
        let limit = limit.clamp(1, WINDOW) as u64;
        Self { written: 0, published: 0, taken: 0, limit, chunks: VecDeque::new() }
    }
    /// Limit of unread bytes.
    pub fn limit(&self) -> usize {
        self.limit as usize
    }
    /// Total number of bytes written.
    pub fn written(&self) -> u64 {
        self.written
    }
    /// Number of bytes not known to be taken.
    pub fn len(&self) -> usize {
        (self.written - self.taken) as usize
    }
    /// Whether there are no such bytes.
    pub fn is_empty(&self) -> bool {
        self.written == self.taken
    }
    /// Frees the chunks that the other side has taken; returns the free space in bytes.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn space(&mut self, lane: &mut Lane, line: u32) -> Result<usize, Broken> {
        let taken = lane.other.get(line, Word::Taken);
        if taken < self.taken || taken > self.published {
            return Err(Broken);
        }
        let first = |at: u64| at / CHUNK as u64;
        let gone = if taken == self.written {
            self.chunks.len()
        } else {
            (first(taken) - first(self.taken)) as usize
        };
        for chunk in self.chunks.drain(..gone.min(self.chunks.len())) {
            lane.put_chunk(chunk);
        }
        self.taken = taken;
        Ok((self.limit - (self.written - taken)) as usize)
    }
    /// The same after a full fence, for a side that has announced that it waits for space.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn space_after(&mut self, lane: &mut Lane, line: u32) -> Result<usize, Broken> {
        fence(SeqCst);
        self.space(lane, line)
    }
    /// Appends bytes, as many as fit, and returns their number. The other side sees them after
    /// [`Out::publish`].
    ///
    /// # Errors
    /// [`Broken`].
    pub fn write(&mut self, lane: &mut Lane, line: u32, bytes: &[u8]) -> Result<usize, Broken> {
        let n = bytes.len().min(self.space(lane, line)?);
        let mut rest = &bytes[..n];
        while !rest.is_empty() {
            let Some((chunk, offset)) = self.last(lane, line) else { break };
            let m = rest.len().min(CHUNK - offset);
            lane.own.write(chunk, offset, &rest[..m]);
            self.written += m as u64;
            rest = &rest[m..];
        }
        Ok(n - rest.len())
    }
    /// Makes all written bytes visible to the other side.
    pub fn publish(&mut self, lane: &Lane, line: u32) {
        self.published = self.written;
        lane.own.set(line, Word::Written, self.written);
    }
    /// Discards bytes that were written but not published.
    pub fn rewind(&mut self, lane: &mut Lane) {
        let at = self.published;
        self.written = at;
        let first = self.taken / CHUNK as u64;
        let kept = if at == self.taken { 0 } else { (at - 1) / CHUNK as u64 + 1 - first };
        while self.chunks.len() as u64 > kept {
            if let Some(chunk) = self.chunks.pop_back() {
                lane.put_chunk(chunk);
            }
        }
    }
    /// The chunk and the offset of the next byte.
    fn last(&mut self, lane: &mut Lane, line: u32) -> Option<(u32, usize)> {
        let at = self.written;
        // The list begins at the chunk of the first byte that is not taken.
        let index = (at / CHUNK as u64 - self.taken / CHUNK as u64) as usize;
        let place = if self.is_empty() { 0 } else { index };
        if place >= self.chunks.len() {
            let chunk = lane.take_chunk()?;
            self.chunks.push_back(chunk);
            let is_even = (at / CHUNK as u64).is_multiple_of(2);
            let beside = if is_even { None } else { self.chunks.len().checked_sub(2) };
            let beside = beside.map_or(0, |before| self.chunks[before]);
            lane.own.set_chunk(line, at, chunk, beside);
        }
        self.chunks.get(place).map(|chunk| (*chunk, (at % CHUNK as u64) as usize))
    }
    /// Frees all chunks, after the session has ended on both sides.
    pub fn clear(&mut self, lane: &mut Lane) {
        self.chunks.drain(..).for_each(|chunk| lane.put_chunk(chunk));
        (self.taken, self.published) = (self.written, self.written);
    }
}

/// The reading end of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct In {
    taken: u64,
    /// Position up to which the other side has written, as last read and validated.
    seen: u64,
}

impl In {
    /// Total number of bytes taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }
    /// Reads how much the other side has written; returns the number of bytes not yet taken.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn available(&mut self, lane: &Lane, line: u32) -> Result<usize, Broken> {
        let written = lane.other.get(line, Word::Written);
        if written < self.seen || written - self.taken > WINDOW as u64 {
            return Err(Broken);
        }
        self.seen = written;
        Ok((written - self.taken) as usize)
    }
    /// Copies bytes from offset `ahead` without taking them; returns their number.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn copy(
        &self,
        lane: &Lane,
        line: u32,
        ahead: usize,
        to: &mut [u8],
    ) -> Result<usize, Broken> {
        let mut done = 0;
        while done < to.len() {
            let Some((chunk, offset, n)) = self.piece(&lane.other, line, ahead + done)? else {
                break;
            };
            let n = n.min(to.len() - done);
            lane.other.read(chunk, offset, &mut to[done..done + n]);
            done += n;
        }
        Ok(done)
    }
    /// Chunk, offset and length of the contiguous bytes at offset `ahead`.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn piece(
        &self,
        of: &Region,
        line: u32,
        ahead: usize,
    ) -> Result<Option<(u32, usize, usize)>, Broken> {
        let at = self.taken + ahead as u64;
        if at >= self.seen {
            return Ok(None);
        }
        let offset = (at % CHUNK as u64) as usize;
        let n = (CHUNK - offset).min((self.seen - at) as usize);
        Ok(Some((of.chunk(line, at)?, offset, n)))
    }
    /// Takes the first bytes, of those that [`In::available`] has counted.
    pub fn consume(&mut self, lane: &Lane, line: u32, n: usize) {
        self.taken = (self.taken + n as u64).min(self.seen);
        lane.own.set(line, Word::Taken, self.taken);
        fence(SeqCst);
    }
}
