//! Layout of a region, the same for both regions of a lane:
//!
//! * a head of words, in separate cache lines: layout version, number of sessions and chunks; the
//!   number of entries ever taken out of the *other* side's ring; how often this side went to sleep
//!   and woke (odd while it sleeps); the number of entries ever put into this side's ring;
//! * the ring: one word per session, each a line number;
//! * a line for each session ([`Word`]) with a table of chunks;
//! * the chunks.
//!
//! The byte at position `p` of a stream is at offset `p % CHUNK` of the chunk in entry
//! `p / CHUNK % PLACES` of the writer's table. An entry is valid for positions that are written and
//! not yet taken.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::Broken;
pub use super::map::Access;
use super::map::Map;

/// Version of the layout.
const VERSION: u64 = 0x4656_5331_0000_0001;
/// Size of a chunk in bytes.
pub const CHUNK: usize = 16 << 10;
/// Entries in the chunk table of a line.
pub const PLACES: usize = 64;
/// Limit of unread bytes of a stream: wherever they begin, no pair of table entries is used twice.
pub const WINDOW: usize = (PLACES - 2) * CHUNK;
/// Number of sessions in a lane, a power of two.
pub const LINES: u32 = 4096;
/// Number of chunks in a region: 64 MB, used as needed.
pub const CHUNKS: u32 = 4096;

/// Size of the head in words.
const HEAD: usize = 64;
/// Size of a line before its table in words.
const OWN: usize = 16;
/// Size of a line in words.
const LINE: usize = OWN + PLACES / 2;

const LAYOUT: usize = 0;
const SIZES: usize = 1;
/// Number of entries taken from the other side's ring.
pub(crate) const TAKEN: usize = 8;
/// Number of changes between awake and asleep.
pub(crate) const ASLEEP: usize = 16;
/// Number of entries put into the ring.
pub(crate) const WRITTEN: usize = 24;

/// Words of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Word {
    /// Generation (32 bits), error (16), state (16); written last.
    State,
    /// Total number of bytes written by this side.
    Written,
    /// Total number of bytes taken out of the other side's stream.
    Taken,
    /// D: the program's opaque value from a connect request or of a datagram listener.
    Opaque,
    /// D: number of the listener that accepted the session (32 bits), transport (8), IPv6 (8).
    Kind,
    /// D: local port (16 bits), peer's port (16).
    Ports,
    /// D: local address, first half.
    Local,
    /// Its second half.
    LocalLow,
    /// D: the peer's address, first half.
    Peer,
    /// Its second half.
    PeerLow,
    /// A: [`TcpOptions`](super::options::TcpOptions) of the session.
    Options,
}

/// A region mapped into this process.
#[derive(Debug)]
pub struct Region(Map);

fn bytes() -> usize {
    chunks_at() + CHUNKS as usize * CHUNK
}

fn chunks_at() -> usize {
    (8 * (HEAD + LINES as usize * (1 + LINE))).next_multiple_of(CHUNK)
}

impl Region {
    /// Creates a region, and returns it with its file for the other side.
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
    /// Opens a region created by the router.
    ///
    /// # Errors
    /// The kernel's; `InvalidData` if it has another layout.
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
    /// Sets any word, as a hostile program might. For tests.
    pub fn set_head(&self, word: usize, value: u64) {
        self.0.store(word, value);
    }
    /// The word of the ring for the `count`th entry.
    pub(crate) fn entry(count: u64) -> usize {
        HEAD + (count % u64::from(LINES)) as usize
    }
    fn line(line: u32) -> usize {
        HEAD + LINES as usize + line as usize % LINES as usize * LINE
    }
    /// Reads a word of a line.
    pub fn get(&self, line: u32, word: Word) -> u64 {
        self.0.load(Self::line(line) + word as usize)
    }
    /// Sets a word of a line.
    pub fn set(&self, line: u32, word: Word, value: u64) {
        self.0.store(Self::line(line) + word as usize, value);
    }
    /// The chunk of a stream position.
    pub(crate) fn chunk(&self, line: u32, at: u64) -> Result<u32, Broken> {
        let place = (at / CHUNK as u64) as usize % PLACES;
        let pair = self.0.load(Self::line(line) + OWN + place / 2);
        let chunk = (pair >> (32 * (place % 2))) as u32;
        if chunk < CHUNKS { Ok(chunk) } else { Err(Broken) }
    }
    /// Sets the chunk of a stream position; `beside` is the other entry in the same word.
    pub(crate) fn set_chunk(&self, line: u32, at: u64, chunk: u32, beside: u32) {
        let place = (at / CHUNK as u64) as usize % PLACES;
        let (own, other) = (u64::from(chunk), u64::from(beside));
        let pair = if place.is_multiple_of(2) { own | other << 32 } else { other | own << 32 };
        self.0.store(Self::line(line) + OWN + place / 2, pair);
    }
    fn byte(chunk: u32, offset: usize) -> usize {
        chunks_at() + chunk as usize * CHUNK + offset
    }
    /// Copies bytes out of a chunk.
    pub(crate) fn read(&self, chunk: u32, offset: usize, to: &mut [u8]) {
        self.0.read(Self::byte(chunk, offset), to);
    }
    /// Copies bytes into a chunk.
    pub(crate) fn write(&self, chunk: u32, offset: usize, from: &[u8]) {
        self.0.write(Self::byte(chunk, offset), from);
    }
    /// Address of a byte of a chunk.
    pub fn address(&self, chunk: u32, offset: usize) -> *mut u8 {
        self.0.address(Self::byte(chunk, offset))
    }
    /// Size in bytes of address space.
    pub fn size(&self) -> usize {
        self.0.len()
    }
}
