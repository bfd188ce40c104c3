//! Mappings of files that two processes share, and copies from and to them.
//!
//! Safety contract: a [`Map`] is mapped from its creation until it is dropped. Its file is sealed
//! against changes of its size, which [`Map::new`] sets and [`Map::open`] checks, so every byte of
//! it remains mapped whatever the other process does. Words are only accessed as [`AtomicU64`]s,
//! and other bytes only by [`Map::read`] and [`Map::write`], whose copies are opaque to the
//! compiler: on x86-64 an instruction, elsewhere atomic bytes. No reference to such bytes is ever
//! created.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Access rights of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// This side writes, and the other side reads.
    Own,
    /// This side only reads.
    Other,
}

/// A mapped file.
#[derive(Debug)]
pub struct Map {
    start: NonNull<u8>,
    bytes: usize,
    access: Access,
}

// SAFETY: all access is through atomics or through copies that allow for changes by others, see the
// module's contract.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

const SIZE_SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

impl Map {
    /// Creates a sealed file of `bytes` zero bytes, and maps it. With [`Access::Own`], no process
    /// can map it for writing afterwards.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(name: &str, bytes: usize, access: Access) -> io::Result<(Self, OwnedFd)> {
        let file = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, bytes as u64)?;
        let seals = match access {
            Access::Own => SIZE_SEALS.union(SealFlags::FUTURE_WRITE),
            Access::Other => SIZE_SEALS,
        };
        // The seal does not affect the existing mapping.
        let map = Self::of(&file, bytes, access)?;
        fcntl_add_seals(&file, seals)?;
        Ok((map, file))
    }
    /// Maps a file from another process.
    ///
    /// # Errors
    /// The kernel's; `InvalidData` if the file could be truncated, or has a size that `is` does not
    /// allow.
    pub fn open(
        file: impl AsFd,
        access: Access,
        is: impl FnOnce(usize) -> bool,
    ) -> io::Result<Self> {
        let bytes = fstat(&file)?.st_size as usize;
        if !fcntl_get_seals(&file)?.contains(SIZE_SEALS) || !is(bytes) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Self::of(file, bytes, access)
    }
    fn of(file: impl AsFd, bytes: usize, access: Access) -> io::Result<Self> {
        let prot = match access {
            Access::Own => ProtFlags::READ | ProtFlags::WRITE,
            Access::Other => ProtFlags::READ,
        };
        // SAFETY: a new mapping at an address the kernel chooses touches nothing that exists.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, prot, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes, access })
    }
    /// Size in bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }
    /// A word, which only its owner may store to.
    ///
    /// # Panics
    /// Outside the mapping.
    #[inline(always)]
    fn at(&self, word: usize) -> &AtomicU64 {
        assert!(word < self.bytes / 8, "a word of the region");
        // SAFETY: the word lies in the mapping, which starts at a page and stays as long as `self`;
        // words are only accessed as atomics. A load needs no right to write.
        unsafe { self.start.cast::<AtomicU64>().add(word).as_ref() }
    }
    /// A word's value.
    ///
    /// # Panics
    /// Outside the mapping.
    #[inline(always)]
    pub fn load(&self, word: usize) -> u64 {
        self.at(word).load(Ordering::Acquire)
    }
    /// Sets a word, with release ordering.
    ///
    /// # Panics
    /// Outside the mapping, or if it is the other side's.
    #[inline(always)]
    pub fn store(&self, word: usize, value: u64) {
        assert!(self.access == Access::Own, "each side writes its own region");
        self.at(word).store(value, Ordering::Release);
    }
    /// Copies bytes out. If the other side changes them at the same time, the result is any
    /// mixture.
    ///
    /// # Panics
    /// Outside the mapping.
    pub fn read(&self, at: usize, to: &mut [u8]) {
        assert!(self.has(at, to.len()), "bytes of the region");
        // SAFETY: the source lies in the mapping, and the target is a private slice of this length.
        unsafe { copy(self.start.add(at).as_ptr(), to.as_mut_ptr(), to.len()) }
    }
    /// Copies bytes in.
    ///
    /// # Panics
    /// Outside the mapping, or if it is the other side's.
    pub fn write(&self, at: usize, from: &[u8]) {
        assert!(self.access == Access::Own, "each side writes its own region");
        assert!(self.has(at, from.len()), "bytes of the region");
        // SAFETY: the target lies in the mapping, which is writable, and the source is a private
        // slice of this length.
        unsafe { copy(from.as_ptr(), self.start.add(at).as_ptr(), from.len()) }
    }
    /// Address of a byte, for a program that reads in place.
    ///
    /// # Panics
    /// Outside the mapping.
    pub fn address(&self, at: usize) -> *mut u8 {
        assert!(at < self.bytes, "a byte of the region");
        self.start.as_ptr().wrapping_add(at)
    }
    fn has(&self, at: usize, len: usize) -> bool {
        at.checked_add(len).is_some_and(|end| end <= self.bytes)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: it is mapped so, and no reference into it outlives `self`.
        // It cannot fail: the range is that of the mapping.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Copies bytes, one side of which another process may change at the same time.
///
/// # Safety
/// `len` bytes are readable at `from` and writable at `to`, and do not overlap.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the instruction reads and writes what the caller vouches for, and the direction flag
    // is clear on entry of every `asm!`.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") len => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags),
        );
    }
}

/// Copies bytes, one side of which another process may change at the same time.
///
/// # Safety
/// `len` bytes are readable at `from` and writable at `to`, and do not overlap.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
    for at in 0..len {
        // SAFETY: each byte is one that the caller vouches for; an atomic byte has no alignment.
        unsafe {
            let byte = (*from.add(at).cast::<AtomicU8>()).load(Relaxed);
            (*to.add(at).cast::<AtomicU8>()).store(byte, Relaxed);
        }
    }
}
