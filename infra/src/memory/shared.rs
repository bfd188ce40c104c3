//! Memory that other processes may read: a file without a name, reserved whole, mapped once, used
//! as it is touched.
//!
//! Safety contract: a [`Region`] is mapped from its creation until the last [`Block`] of it is
//! gone, and its file is sealed against shrinking, so every byte of it stays there. Blocks do not
//! overlap, and everything in them is read and written as [`AtomicU64`]s, here and through
//! [`View`]s, whatever other processes do to the file.

use std::any::Any;
use std::collections::HashMap;
use std::io;
use std::ops::{Deref, Range};
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{
    FallocateFlags, MemfdFlags, Mode, OFlags, SealFlags, fallocate, fchmod, fcntl_add_seals,
    fcntl_get_seals, fstat, ftruncate, memfd_create, open,
};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::mm::{MapFlags, ProtFlags, mmap};
use zerocopy::FromZeros;

use super::{Mapping, Reserved};
use crate::counter::{Counter, VolumeCounter};
use crate::sync::AtomicU64;

/// Smallest block, and what all start at a multiple of: a cache line.
const LINE: usize = 64;
const PAGE: usize = 4096;
/// Eight bytes; those of models are larger.
pub(super) const WORD: usize = size_of::<AtomicU64>();

/// The memory, of which blocks are handed out.
#[derive(Debug)]
pub struct Region {
    map: Mapping,
    file: OwnedFd,
    bytes: usize,
    space: Mutex<Space>,
}

/// Memory that is not handed out.
#[derive(Debug, Default)]
struct Space {
    /// Nothing from here on was ever handed out.
    top: usize,
    /// Starts of blocks that were given back, by size.
    free: HashMap<usize, Vec<usize>>,
}

impl Region {
    /// Reserves `bytes`, whole pages; the file has this size from the start.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(name: &str, bytes: usize) -> io::Result<Arc<Self>> {
        let bytes = bytes.next_multiple_of(PAGE);
        let file = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, bytes as u64)?;
        // Readers cannot reopen it for writing: the kernel makes such files world-writable.
        fchmod(&file, Mode::RUSR)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::map(file, bytes)
    }
    /// Maps a file that such a region was made of.
    ///
    /// # Errors
    /// The kernel's; `InvalidData` when the file may be cut short.
    pub fn open(file: OwnedFd) -> io::Result<Arc<Self>> {
        if !fcntl_get_seals(&file)?.contains(SealFlags::SHRINK) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let bytes = fstat(&file)?.st_size as usize;
        Self::map(file, bytes)
    }
    fn map(file: OwnedFd, bytes: usize) -> io::Result<Arc<Self>> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address the kernel chooses touches nothing that exists.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, prot, MapFlags::SHARED, &file, 0)? };
        let map = Mapping::from_raw(start, bytes)?;
        map.name(super::SHARED);
        Ok(Arc::new(Self { map, file, bytes, space: Mutex::default() }))
    }
    /// The whole memory, for users that allocate no blocks from it.
    pub(super) fn words(&self) -> &[AtomicU64] {
        // SAFETY: see the module's contract: so many bytes are mapped as long as `self` lives, from
        // the start of a page, and are only ever accessed as atomics.
        unsafe { std::slice::from_raw_parts(self.map.start.cast().as_ptr(), self.bytes / WORD) }
    }
    /// A descriptor of the file that can be written to as well.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn writable(&self) -> io::Result<OwnedFd> {
        Ok(fcntl_dupfd_cloexec(&self.file, 0)?)
    }
    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.bytes
    }
    /// Address of its first byte in this process.
    pub fn address(&self) -> u64 {
        self.map.start.addr().get() as u64
    }
    /// A descriptor of the file that can only be read from, to be given to others.
    ///
    /// # Errors
    /// The kernel's.
    pub fn readable(&self) -> io::Result<OwnedFd> {
        use std::os::fd::AsRawFd;
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        // Without /proc others get what we have; sealed it cannot be cut short either.
        open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .or_else(|_| fcntl_dupfd_cloexec(&self.file, 0))
            .map_err(Into::into)
    }
    /// A block of at least `bytes` bytes, all zero; `None` when there is no room.
    pub fn block(self: &Arc<Self>, bytes: usize) -> Option<Block> {
        let bytes = rounded(bytes);
        let mut space = self.space.lock().unwrap_or_else(PoisonError::into_inner);
        let start = match space.free.get_mut(&bytes).and_then(Vec::pop) {
            Some(start) => start,
            None => {
                let start = space.top.next_multiple_of(bytes.min(PAGE));
                if bytes > self.bytes.saturating_sub(start) {
                    return None;
                }
                space.top = start + bytes;
                start
            }
        };
        Some(Block { region: Arc::clone(self), start, bytes })
    }
    /// Takes a block back: its memory is zero again, and given to the system where it is pages.
    fn take_back(&self, block: &Block) {
        block.clear(0..block.bytes / WORD);
        let mut space = self.space.lock().unwrap_or_else(PoisonError::into_inner);
        space.free.entry(block.bytes).or_default().push(block.start);
    }
}

/// Sizes that blocks have: powers of two of lines, from a page on pages.
fn rounded(bytes: usize) -> usize {
    if bytes > PAGE { bytes.next_multiple_of(PAGE) } else { bytes.next_power_of_two().max(LINE) }
}

/// A part of a [`Region`] with one owner. Dropped, its memory serves again.
#[derive(Debug)]
pub struct Block {
    region: Arc<Region>,
    start: usize,
    bytes: usize,
}

impl Block {
    /// Address of word `word` in this process.
    pub fn address(&self, word: usize) -> u64 {
        self.region.address() + (self.start + 8 * word) as u64
    }
    /// Bytes it has.
    pub fn size(&self) -> usize {
        self.bytes
    }
    /// The word at this position.
    ///
    /// # Panics
    /// Outside the block.
    pub fn load(&self, word: usize) -> u64 {
        self.words()[word].load(Acquire)
    }
    /// Changes a word. Others see the changes of one thread in order.
    ///
    /// # Panics
    /// Outside the block.
    pub fn store(&self, word: usize, value: u64) {
        self.words()[word].store(value, Release);
    }
    /// Makes words zero; whole pages of them are given to the system.
    ///
    /// # Panics
    /// Outside the block.
    pub fn clear(&self, words: Range<usize>) {
        let given = self.give_back(words.clone());
        let ends = (words.start..given.start).chain(given.end..words.end);
        ends.for_each(|word| self.store(word, 0));
    }
    /// Frees the whole pages among some words: these words, which are zero then. Others, written by
    /// anyone, are unchanged.
    ///
    /// # Panics
    /// Outside the block.
    pub fn give_back(&self, words: Range<usize>) -> Range<usize> {
        assert!(words.end * WORD <= self.bytes, "words of a block");
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let (from, to) = (self.start + WORD * words.start, self.start + WORD * words.end);
        let (start, end) = (from.next_multiple_of(PAGE), to / PAGE * PAGE);
        let bytes = end.saturating_sub(start) as u64;
        if bytes == 0 || fallocate(&self.region.file, punch, start as u64, bytes).is_err() {
            return words.start..words.start;
        }
        let word = |at: usize| (at - self.start) / WORD;
        word(start)..word(end)
    }
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: see the module's contract: the bytes are mapped as long as `self` lives, start at
        // a multiple of a line, and are only ever accessed as atomics.
        unsafe {
            let start = self.region.map.start.byte_add(self.start).cast();
            std::slice::from_raw_parts(start.as_ptr(), self.bytes / WORD)
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.region.take_back(self);
    }
}

/// Types that a [`Block`] can hold.
///
/// # Safety
/// They consist of [`AtomicU64`]s only, laid out as in C.
pub unsafe trait Words: Send + Sync + 'static {}

// SAFETY: a transparent `AtomicU64`.
unsafe impl Words for Counter {}
// SAFETY: two of the above, `repr(C)`.
unsafe impl Words for VolumeCounter {}

/// An array in memory that may have other readers, kept alive by this value.
#[derive(Clone, Debug)]
pub struct View<T> {
    start: NonNull<T>,
    len: usize,
    /// The owner of the memory.
    _owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: a `View` gives shared access only, like a reference to a slice.
unsafe impl<T: Sync> Send for View<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for View<T> {}

impl<T: Words> View<T> {
    /// The words `words` of a block as an array.
    ///
    /// # Panics
    /// Outside the block.
    pub fn of(block: Arc<Block>, words: Range<usize>) -> Self {
        let part = &block.words()[words];
        let len = size_of_val(part) / size_of::<T>();
        // A `T` is made of atomic words, of which `part` has enough, and is aligned like them.
        let start = NonNull::from(part).cast();
        Self { start, len, _owner: block }
    }
}

impl<T: FromZeros + Send + Sync + 'static> From<Reserved<T>> for View<T> {
    fn from(memory: Reserved<T>) -> Self {
        Self { start: memory.start, len: memory.len, _owner: Arc::new(memory) }
    }
}

impl<T> Deref for View<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `start` and `len` are of memory that `_owner` keeps mapped, in which `T`s lie (a
        // block's words are `T`s by the contract of `Words`).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    #[test]
    fn what_is_written_is_what_the_file_says() {
        let region = Region::new("test", 64 << 20).unwrap();
        let block = Arc::new(region.block(1000).unwrap());
        block.store(3, 77);
        let view = View::<Counter>::of(Arc::clone(&block), 4..8);
        view[0].add(5);
        assert_eq!((block.load(4), view.len()), (5, 4));
        let file = File::from(region.readable().unwrap());
        let mut bytes = [0; 16];
        file.read_exact_at(&mut bytes, block.address(3) - region.address()).unwrap();
        assert_eq!(bytes, [77, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
        assert!(file.write_at(b"x", 0).is_err() && file.set_len(0).is_err());
        let about = file.metadata().unwrap();
        assert_eq!(about.len(), 64 << 20);
        assert_eq!(about.mode() & 0o777, 0o400, "nobody else opens it once more, to write");
    }

    #[test]
    fn blocks_are_zero_and_their_memory_serves_again() {
        let region = Region::new("test", 16 << 20).unwrap();
        let used = || File::from(region.readable().unwrap()).metadata().unwrap().blocks() * 512;
        for _ in 0..1000 {
            let (small, large) = (region.block(100).unwrap(), region.block(8 << 20).unwrap());
            assert_eq!(small.load(1) + large.load(1 << 19), 0);
            (0..16).for_each(|i| small.store(i, 1));
            (0..1 << 20).step_by(1 << 16).for_each(|i| large.store(i, 1));
        }
        assert!(used() < 64 << 10, "{} bytes are in use", used());
        assert!(region.block(17 << 20).is_none());
    }

    #[test]
    fn a_view_keeps_the_memory() {
        let region = Region::new("test", 1 << 20).unwrap();
        let view = View::<VolumeCounter>::of(Arc::new(region.block(64).unwrap()), 0..8);
        drop(region);
        view[3].add(1, 60);
        assert_eq!((view.len(), view[3].value().bytes), (4, 60));
    }
}
