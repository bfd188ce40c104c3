//! Layout of a region. Both regions of a lane have the same one:
//!
//! * a head of words, in cache lines of their own: layout version, sessions, chunks; the number of
//!   entries ever taken out of the *other* side's ring; how often this side went to sleep and woke
//!   (odd while it sleeps); the number of entries ever put into this side's ring;
//! * the ring: as many words as there are sessions, each a line's number;
//! * a line for each session ([`Word`]) with a table of chunks;
//! * the chunks.
//!
//! A byte at position `p` of a stream is in the chunk that place `p / CHUNK % PLACES` of the
//! writer's table names, at `p % CHUNK`. A place is valid for the positions that are written and
//! not yet taken.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::Broken;
pub use super::map::Access;
use super::map::Map;

/// Version of the layout.
const VERSION: u64 = 0x4656_5331_0000_0001;
/// Bytes of a chunk.
pub const CHUNK: usize = 16 << 10;
/// Places in the table of a line.
pub const PLACES: usize = 64;
/// Bytes that a stream may have at a time: wherever they begin, a pair of places of the table has
/// none of two turns.
pub const WINDOW: usize = (PLACES - 2) * CHUNK;
/// Sessions of a lane. A power of two.
pub const LINES: u32 = 4096;
/// Chunks of a region: 64 MB, used as they are needed.
pub const CHUNKS: u32 = 4096;

/// Words of the head.
const HEAD: usize = 64;
/// Words of a line before its table.
const OWN: usize = 16;
/// Words of a line.
const LINE: usize = OWN + PLACES / 2;

const LAYOUT: usize = 0;
const SIZES: usize = 1;
/// Entries taken from the other side's ring.
pub(crate) const TAKEN: usize = 8;
/// Changes between awake and asleep.
pub(crate) const ASLEEP: usize = 16;
/// Entries put into the ring.
pub(crate) const WRITTEN: usize = 24;

/// Words of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Word {
    /// Generation (32 bits), error (16), state (16): written last.
    State,
    /// Bytes ever written by this side.
    Written,
    /// Bytes ever taken out of the other side's stream.
    Taken,
    /// D: the program's word of a connect or of a listener of datagrams.
    Opaque,
    /// D: number of the listener that a session came to (32 bits), transport (8), IPv6 (8).
    Kind,
    /// D: own port (16 bits), peer's (16).
    Ports,
    /// D: own address, first half.
    Local,
    /// Its second half.
    LocalLow,
    /// D: the peer's address, first half.
    Peer,
    /// Its second half.
    PeerLow,
    /// D: bytes that the program may put down before some are taken.
    Limit,
}

/// A region in the memory of this process.
#[derive(Debug)]
pub struct Region(Map);

fn bytes() -> usize {
    chunks_at() + CHUNKS as usize * CHUNK
}

fn chunks_at() -> usize {
    (8 * (HEAD + LINES as usize * (1 + LINE))).next_multiple_of(CHUNK)
}

impl Region {
    /// A new one, and its file for the other side.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(name: &str, access: Access) -> io::Result<(Self, OwnedFd)> {
        let (map, file) = Map::new(name, bytes(), access)?;
        let region = Self(map);
        if access == Access::Own {
            region.0.store(LAYOUT, VERSION);
            region.0.store(SIZES, u64::from(LINES) << 32 | u64::from(CHUNKS));
        }
        Ok((region, file))
    }
    /// One that the router has made.
    ///
    /// # Errors
    /// The kernel's; `InvalidData` when it has another layout.
    pub fn open(file: impl AsFd, access: Access) -> io::Result<Self> {
        let region = Self(Map::open(file, access, |found| found == bytes())?);
        let sizes = u64::from(LINES) << 32 | u64::from(CHUNKS);
        let is_ours = region.0.load(LAYOUT) == VERSION && region.0.load(SIZES) == sizes;
        if access == Access::Other && !is_ours {
            return Err(Broken.into());
        }
        Ok(region)
    }
    pub(crate) fn load(&self, word: usize) -> u64 {
        self.0.load(word)
    }
    pub(crate) fn store(&self, word: usize, value: u64) {
        self.0.store(word, value);
    }
    /// Sets any word from the head on, as only a hostile program does: for tests.
    pub fn set_head(&self, word: usize, value: u64) {
        self.0.store(word, value);
    }
    /// The entry of the ring for a count of entries.
    pub(crate) fn entry(count: u64) -> usize {
        HEAD + (count % u64::from(LINES)) as usize
    }
    fn line(line: u32) -> usize {
        HEAD + LINES as usize + line as usize % LINES as usize * LINE
    }
    /// A word of a line.
    pub fn get(&self, line: u32, word: Word) -> u64 {
        self.0.load(Self::line(line) + word as usize)
    }
    /// Sets a word of a line.
    pub fn set(&self, line: u32, word: Word, value: u64) {
        self.0.store(Self::line(line) + word as usize, value);
    }
    /// The chunk of a position.
    pub(crate) fn chunk(&self, line: u32, at: u64) -> Result<u32, Broken> {
        let place = (at / CHUNK as u64) as usize % PLACES;
        let pair = self.0.load(Self::line(line) + OWN + place / 2);
        let chunk = (pair >> (32 * (place % 2))) as u32;
        if chunk < CHUNKS { Ok(chunk) } else { Err(Broken) }
    }
    /// Names the chunk of a position. `beside` is that of the other place in the same word.
    pub(crate) fn set_chunk(&self, line: u32, at: u64, chunk: u32, beside: u32) {
        let place = (at / CHUNK as u64) as usize % PLACES;
        let (own, other) = (u64::from(chunk), u64::from(beside));
        let pair = if place.is_multiple_of(2) { own | other << 32 } else { other | own << 32 };
        self.0.store(Self::line(line) + OWN + place / 2, pair);
    }
    fn byte(chunk: u32, offset: usize) -> usize {
        chunks_at() + chunk as usize * CHUNK + offset
    }
    /// Copies bytes out of a chunk, inside of it.
    pub(crate) fn read(&self, chunk: u32, offset: usize, to: &mut [u8]) {
        self.0.read(Self::byte(chunk, offset), to);
    }
    /// Copies bytes into a chunk, inside of it.
    pub(crate) fn write(&self, chunk: u32, offset: usize, from: &[u8]) {
        self.0.write(Self::byte(chunk, offset), from);
    }
    /// Address of a byte of a chunk.
    pub fn address(&self, chunk: u32, offset: usize) -> *mut u8 {
        self.0.address(Self::byte(chunk, offset))
    }
    /// Bytes of address space.
    pub fn size(&self) -> usize {
        self.0.len()
    }
}
