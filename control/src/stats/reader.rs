//! The segment as a client sees it: a descriptor that is read, without a word to its owner.
//!
//! Reads copy; a copy is valid if the layout did not change meanwhile. A program that shares the
//! memory may have written anything there: numbers are checked before use, and a read copies no
//! more than the file has.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use infra::counter::Volume;

use super::layout::{ENTRY, ENTRY_NAME, ENTRY_VALUE, Kind, VERSION, header};

/// Most tries of a read that changes disturb: of one entry, of all.
const TRIES: usize = 100_000;
const TRIES_ALL: usize = 100;

/// A client's view of a segment.
#[derive(Debug)]
pub struct Reader {
    file: File,
    size: u64,
}

/// One try of a read.
struct Look<'a> {
    reader: &'a Reader,
    /// Bytes that it may still copy.
    left: Cell<u64>,
}

/// A copy of an entry's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sample {
    /// A scalar or a gauge.
    Number(u64),
    /// Counters, by thread and column.
    Simple(Vec<Vec<u64>>),
    /// Counters of packets and bytes, by thread and column.
    Combined(Vec<Vec<Volume>>),
    /// Names, by column of what they name.
    Names(Vec<Option<String>>),
    /// Counts by power of two, by thread: the first exponent, then the bins.
    Histogram(Vec<Vec<u64>>),
    /// The entries of a ring, by thread, the oldest first.
    Ring(Vec<Vec<Vec<u8>>>),
}

impl Sample {
    /// Sum of a column over the threads.
    pub fn sum(&self, column: usize) -> u64 {
        match self {
            Self::Number(n) => *n,
            Self::Simple(rows) | Self::Histogram(rows) => {
                rows.iter().filter_map(|row| row.get(column)).sum()
            }
            Self::Combined(rows) => {
                rows.iter().filter_map(|row| row.get(column)).map(|v| v.packets).sum()
            }
            Self::Names(_) | Self::Ring(_) => 0,
        }
    }
}

/// Everything at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Entries that say something themselves, by name.
    pub entries: BTreeMap<String, Sample>,
    /// Names of columns, by entry and column.
    pub links: BTreeMap<(String, usize), String>,
}

/// A directory entry, copied: type, value.
type Raw = (u32, u64);

impl Reader {
    /// Reads from the descriptor that the router's socket handed out.
    ///
    /// # Errors
    /// The kernel's, and `InvalidData` for a layout of another version.
    pub fn new(descriptor: OwnedFd) -> io::Result<Self> {
        let file = File::from(descriptor);
        let size = file.metadata()?.len();
        let this = Self { file, size };
        if this.word(8 * header::VERSION as u64)? == VERSION {
            Ok(this)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "statistics of another version"))
        }
    }
    /// Number of the layout.
    ///
    /// # Errors
    /// The kernel's.
    pub fn epoch(&self) -> io::Result<u64> {
        self.word(8 * header::EPOCH as u64)
    }
    /// Names of all entries, with their types.
    ///
    /// # Errors
    /// The kernel's, and `WouldBlock` when the layout never stands still.
    pub fn names(&self) -> io::Result<BTreeMap<String, u32>> {
        let directory = self.consistent(TRIES, |look| look.directory())?;
        let entries = directory.into_iter().filter(|(name, _)| !name.is_empty());
        Ok(entries.map(|(name, (kind, _))| (name, kind)).collect())
    }
    /// Value of the entry of this name; `None` without one.
    ///
    /// # Errors
    /// The kernel's, and `WouldBlock` when the layout never stands still.
    pub fn read(&self, name: &str) -> io::Result<Option<Sample>> {
        self.consistent(TRIES, |look| {
            let directory = look.directory()?;
            let entry = directory.iter().find(|(n, _)| n == name);
            entry.map(|(_, raw)| look.sample(*raw, &directory)).transpose()
        })
    }
    /// Everything at one time.
    ///
    /// # Errors
    /// The kernel's, and `WouldBlock` when the layout does not stand still for long enough.
    pub fn snapshot(&self) -> io::Result<Snapshot> {
        self.consistent(TRIES_ALL, |look| {
            let directory = look.directory()?;
            let mut all = Snapshot::default();
            for (name, raw) in directory.iter().filter(|(name, _)| !name.is_empty()) {
                if raw.0 != Kind::Symlink as u32 {
                    all.entries.insert(name.clone(), look.sample(*raw, &directory)?);
                    continue;
                }
                let (target, column) = (raw.1 as u32 as usize, (raw.1 >> 32) as usize);
                let target = directory.get(target).ok_or_else(nonsense)?;
                all.links.insert((target.0.clone(), column), name.clone());
            }
            Ok(all)
        })
    }
    fn consistent<R>(
        &self,
        tries: usize,
        read: impl Fn(&Look<'_>) -> io::Result<R>,
    ) -> io::Result<R> {
        for _ in 0..tries {
            let epoch = self.epoch()?;
            if self.is_changing()? {
                std::thread::yield_now();
                continue;
            }
            // What is read while the layout changes may make no sense at all, errors included.
            let got = read(&Look { reader: self, left: Cell::new(self.size) });
            if !self.is_changing()? && self.epoch()? == epoch {
                return got;
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }
    fn is_changing(&self) -> io::Result<bool> {
        Ok(self.word(8 * header::IN_PROGRESS as u64)? != 0)
    }
    fn word(&self, at: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

impl Look<'_> {
    fn directory(&self) -> io::Result<Vec<(String, Raw)>> {
        let words = self.vector(self.word(8 * header::DIRECTORY as u64)?, ENTRY)?;
        let entry = |entry: &[u64]| {
            let name: Vec<u8> = entry[ENTRY_NAME..].iter().flat_map(|w| w.to_ne_bytes()).collect();
            let len = name.iter().position(|b| *b == 0).unwrap_or(name.len());
            let name = String::from_utf8_lossy(&name[..len]).into_owned();
            (name, (entry[0] as u32, entry[ENTRY_VALUE]))
        };
        Ok(words.chunks(ENTRY).map(entry).collect())
    }
    fn sample(&self, (kind, value): Raw, all: &[(String, Raw)]) -> io::Result<Sample> {
        Ok(match kind {
            1 | 9 => Sample::Number(value),
            2 => Sample::Simple(self.rows(value, 1)?),
            3 => {
                let volume = |c: &[u64]| Volume { packets: c[0], bytes: c[1] };
                let row = |row: Vec<u64>| row.chunks(2).map(volume).collect();
                Sample::Combined(self.rows(value, 2)?.into_iter().map(row).collect())
            }
            4 => {
                let text = |p: u64| (p != 0).then(|| self.text(p)).transpose();
                let names = self.vector(value, 1)?.into_iter().map(text);
                Sample::Names(names.collect::<io::Result<_>>()?)
            }
            6 => {
                let (target, column) = (value as u32 as usize, (value >> 32) as usize);
                // A symlink to another would lead on and on.
                let target = all.get(target).filter(|target| target.1.0 != Kind::Symlink as u32);
                match self.sample(target.ok_or_else(nonsense)?.1, all)? {
                    Sample::Simple(rows) => Sample::Simple(pick(rows, column)?),
                    Sample::Combined(rows) => Sample::Combined(pick(rows, column)?),
                    _ => return Err(nonsense()),
                }
            }
            7 => Sample::Histogram(self.rows(value, 1)?),
            8 => Sample::Ring(self.ring(value)?),
            _ => return Err(nonsense()),
        })
    }
    fn rows(&self, pointer: u64, words: usize) -> io::Result<Vec<Vec<u64>>> {
        self.vector(pointer, 1)?.into_iter().map(|row| self.vector(row, words)).collect()
    }
    fn ring(&self, pointer: u64) -> io::Result<Vec<Vec<Vec<u8>>>> {
        let start = self.offset(pointer)?;
        let half = |at: u64| {
            let mut bytes = [0; 4];
            self.reader.file.read_exact_at(&mut bytes, start + 4 * at)?;
            Ok::<_, io::Error>(u64::from(u32::from_ne_bytes(bytes)))
        };
        let (entry, size, threads) = (half(0)?, half(1)?, half(2)?);
        let (meta, data) = (half(5)?, half(6)?);
        // Each of these has bytes of its own in the file.
        let threads = Some(threads).filter(|n| n * 64 <= self.reader.size).ok_or_else(nonsense)?;
        let bytes = threads.checked_mul(size).and_then(|n| n.checked_mul(entry.max(1)));
        bytes.filter(|bytes| *bytes <= self.reader.size).ok_or_else(nonsense)?;
        let thread = |thread: u64| {
            let written = self.word(start + meta + 64 * thread + 8)?;
            let first = written.saturating_sub(size);
            let at = |n: u64| start + data + (thread * size + n % size) * entry;
            (first..written).map(|n| self.bytes(at(n), entry)).collect()
        };
        (0..threads).map(thread).collect()
    }
    fn text(&self, pointer: u64) -> io::Result<String> {
        let start = self.offset(pointer)?;
        let len = self.word(start - 8)? & u64::from(u32::MAX);
        let bytes = self.bytes(start, len.min(4096))?;
        Ok(String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(&bytes)).into_owned())
    }
    /// The words of a vector whose elements have `words` each.
    fn vector(&self, pointer: u64, words: usize) -> io::Result<Vec<u64>> {
        let start = self.offset(pointer)?;
        let len = self.word(start - 8)? & u64::from(u32::MAX);
        let bytes = self.bytes(start, len * words as u64 * 8)?;
        let word = |b: &[u8]| u64::from_ne_bytes(b.try_into().expect("eight bytes"));
        Ok(bytes.chunks(8).map(word).collect())
    }
    fn offset(&self, pointer: u64) -> io::Result<u64> {
        let base = self.word(8 * header::BASE as u64)?;
        let offset = pointer.checked_sub(base).filter(|o| (4096..self.reader.size).contains(o));
        offset.ok_or_else(nonsense)
    }
    fn word(&self, at: u64) -> io::Result<u64> {
        self.reader.word(at)
    }
    fn bytes(&self, at: u64, len: u64) -> io::Result<Vec<u8>> {
        // Nothing counts as something: lists of it end, too.
        let left = self.left.get().checked_sub(len.max(8)).ok_or_else(nonsense)?;
        let is_there = at.checked_add(len).is_some_and(|end| end <= self.reader.size);
        let len = usize::try_from(len).ok().filter(|_| is_there).ok_or_else(nonsense)?;
        self.left.set(left);
        let mut bytes = vec![0; len];
        self.reader.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }
}

/// One column of each row.
fn pick<T: Copy>(rows: Vec<Vec<T>>, column: usize) -> io::Result<Vec<Vec<T>>> {
    rows.iter().map(|row| Ok(vec![*row.get(column).ok_or_else(nonsense)?])).collect()
}

fn nonsense() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "statistics make no sense")
}
