//! Ring buffers: the latest entries of a fixed size, by thread, with a text that describes them.
//!
//! In memory: the description (seven numbers of 32 bits), from the next line on a line for each
//! thread with the place of its next entry and how many it has written, the schema, the entries.

use std::sync::Arc;

use infra::memory::shared::Block;

use super::directory::store_bytes;
use super::layout::Kind;
use super::segment::no_room;
use super::value::Content;
use super::{Error, Segment};

/// Bytes of a thread's metadata, and where the first one's are.
const LINE: usize = 64;
/// Words of a thread's metadata: next entry and schema version, entries written, schema.
const HEAD: usize = 0;
const SEQUENCE: usize = 1;
const SCHEMA: usize = 2;

/// Numbers that a ring's memory follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    /// Bytes of an entry, a multiple of 8.
    pub entry: u32,
    /// Entries kept for each thread.
    pub ring: u32,
    /// Threads that write.
    pub threads: usize,
}

/// Owner of a ring's memory.
#[derive(Debug)]
pub(super) struct RingMemory {
    block: Arc<Block>,
    entry_size: u32,
    ring_size: u32,
}

impl RingMemory {
    pub fn cost(&self) -> u64 {
        self.block.size() as u64
    }
    pub fn entry_size(&self) -> u32 {
        self.entry_size
    }
    pub fn ring_size(&self) -> u32 {
        self.ring_size
    }
}

/// The writing end of a ring buffer.
#[derive(Clone, Debug)]
pub struct Ring {
    block: Arc<Block>,
    entry_words: usize,
    ring_size: usize,
    threads: usize,
    schema_version: u32,
    /// Word at which the entries begin.
    data: usize,
}

impl Ring {
    /// Writes an entry, on thread `thread`. Longer ones are cut, shorter ones filled with zeros.
    ///
    /// # Panics
    /// A thread that the ring is not for.
    pub fn push(&self, thread: usize, entry: &[u8]) {
        assert!(thread < self.threads, "a thread of the ring");
        let meta = (LINE + thread * LINE) / 8;
        let head = self.block.load(meta + HEAD) as u32 as usize;
        let start = self.data + (thread * self.ring_size + head) * self.entry_words;
        for i in 0..self.entry_words {
            let mut whole = [0; 8];
            let chunk = entry.get(8 * i..).unwrap_or_default();
            let len = chunk.len().min(8);
            whole[..len].copy_from_slice(&chunk[..len]);
            self.block.store(start + i, u64::from_ne_bytes(whole));
        }
        let next = (head + 1) % self.ring_size;
        self.block.store(meta + HEAD, pair(next as u32, self.schema_version));
        self.block.store(meta + SEQUENCE, self.block.load(meta + SEQUENCE) + 1);
    }
}

/// Two numbers of 32 bits, the first one first in memory.
fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) | u64::from(second) << 32
}

impl Segment {
    /// A ring of the latest entries of each thread, described by `schema` in its version.
    ///
    /// # Errors
    /// A name that is in use, or no memory.
    ///
    /// # Panics
    /// Sizes of zero, or entries that are not whole words.
    pub fn ring(
        &mut self,
        name: &str,
        RingSize { entry: entry_size, ring: ring_size, threads }: RingSize,
        (schema_version, schema): (u32, &str),
    ) -> Result<Ring, Error> {
        assert!(entry_size.is_multiple_of(8) && entry_size > 0 && ring_size > 0, "whole words");
        assert!(threads > 0, "a thread that writes");
        self.directory.check(name)?;
        let schema_at = LINE + threads * LINE;
        let data_at = (schema_at + schema.len()).next_multiple_of(LINE);
        let bytes = data_at + threads * ring_size as usize * entry_size as usize;
        let block = Arc::new(self.region.block(bytes).ok_or_else(no_room)?);
        let schema_size = schema.len() as u32;
        block.store(0, pair(entry_size, ring_size));
        block.store(1, pair(threads as u32, schema_size));
        block.store(2, pair(schema_version, LINE as u32));
        block.store(3, data_at as u64);
        for thread in 0..threads {
            let meta = (LINE + thread * LINE) / 8;
            block.store(meta + HEAD, pair(0, schema_version));
            block.store(meta + SCHEMA, pair(schema_at as u32, schema_size));
        }
        store_bytes(&block, schema_at / 8, schema.as_bytes());
        let memory = RingMemory { block: Arc::clone(&block), entry_size, ring_size };
        let (pointer, cost) = (block.address(0), memory.cost());
        self.insert(name, Kind::Ring, pointer, Content::Ring(Box::new(memory)), cost)?;
        Ok(Ring {
            block,
            entry_words: entry_size as usize / 8,
            ring_size: ring_size as usize,
            threads,
            schema_version,
            data: data_at / 8,
        })
    }
}
