//! Memory and wakeups that are shared with another program: what memif and vhost-user stand on, and
//! all of their code that is unsafe.
//!
//! Safety contract:
//! * A [`Region`] owns its mapping, which is readable and writable from `base` for `len` bytes
//!   during its lifetime. Its pages may be removed by the peer, unless the file is sealed: a
//!   [`faults::Watch`] puts zeroes in their place, so that no access within the mapping ends the
//!   program, whatever the peer does or however it dies.
//! * The peer may write to all of it at any time. No reference to bytes of a region ever exists:
//!   they are copied in and out, and nothing depends on their values. [`Words`] are atomic, each is
//!   read once, and the value is checked afterwards.
//! * Every offset is checked against the region before it becomes an address.
//! * A [`Bell`] passes the kernel a plain struct that lives until the call returns.

mod bell;
mod copy;
mod faults;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

pub use bell::Bell;
pub use copy::{Memory, Piece, Writer, fill, head, length};
pub use faults::losses;

/// Bytes of a page, at which mappings of ordinary memory begin.
const PAGE: u64 = 4096;

/// Memory that the peer sees, too.
#[derive(Debug)]
pub struct Region {
    base: NonNull<u8>,
    len: usize,
    /// Bytes that are mapped from `base` on; what is behind `len` belongs to the same page.
    mapped: usize,
    watch: faults::Watch,
}

// SAFETY: the mapping belongs to the region; all access to it is by copying or atomic, at any time
// and from any thread.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

fn refuse(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

impl Region {
    /// Zeroed memory, and the file that the peer gets.
    ///
    /// # Errors
    /// The kernel's.
    pub fn create(len: usize) -> io::Result<(Self, OwnedFd)> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("shared region", flags)?;
        ftruncate(&file, len as u64)?;
        let region = Self::open(&file, len as u64)?;
        Ok((region, file))
    }
    /// The first `len` bytes of a file that cannot become shorter.
    ///
    /// # Errors
    /// It is shorter, may become shorter, or the kernel's.
    pub fn open(file: impl AsFd, len: u64) -> io::Result<Self> {
        // Fails for one that is sealed already against more seals: then it must have this one.
        let _ = fcntl_add_seals(&file, SealFlags::SHRINK);
        let seals = fcntl_get_seals(&file).unwrap_or(SealFlags::empty());
        if !seals.contains(SealFlags::SHRINK) {
            return Err(refuse("region is not sealed against shrinking"));
        }
        Self::map(file, 0, len).map(|(region, _)| region)
    }
    /// `len` bytes of a file from `offset` on, and where in the region they begin.
    ///
    /// # Errors
    /// Too short, not a file in memory (others may block readers forever), or the kernel's.
    pub fn map(file: impl AsFd, offset: u64, len: u64) -> io::Result<(Self, usize)> {
        // Only files of tmpfs and hugetlbfs, and those without a name, have seals or none. This is
        // answered without asking a file system, which could be the peer's.
        let seals = fcntl_get_seals(&file);
        seals.map_err(|_| refuse("region is neither in tmpfs nor in hugetlbfs"))?;
        let about = fstat(&file)?;
        let size = u64::try_from(about.st_size).unwrap_or(0);
        let end = offset.checked_add(len).filter(|end| len > 0 && *end <= size);
        let end = end.ok_or_else(|| refuse("region is longer than its file"))?;
        // Mappings begin and end where pages do, and those of hugetlbfs are as large as its blocks.
        let page = u64::try_from(about.st_blksize).unwrap_or(PAGE).max(PAGE);
        let start = offset - offset % page;
        let whole = end.checked_next_multiple_of(page).unwrap_or(end) - start;
        let too_long = |_| refuse("region is longer than its file");
        let mapped = usize::try_from(whole).map_err(too_long)?;
        let at = (offset - start) as usize;
        Ok((Self::mapping(file, start, mapped, at + len as usize)?, at))
    }
    /// The first `len` bytes of the memory of a device.
    ///
    /// # Errors
    /// The kernel's.
    pub fn of_device(file: impl AsFd, len: u64) -> io::Result<Self> {
        let len = usize::try_from(len).map_err(|_| refuse("region is longer than memory"))?;
        if len == 0 {
            return Err(refuse("region is empty"));
        }
        let mapped = len.next_multiple_of(PAGE as usize);
        Self::mapping(file, 0, mapped, len)
    }
    /// `mapped` bytes of a file from `start` on, of which `len` are the region.
    fn mapping(file: impl AsFd, start: u64, mapped: usize, len: usize) -> io::Result<Self> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        let nowhere = std::ptr::null_mut();
        // SAFETY: a new mapping at a place of the kernel's choice.
        let base = unsafe { mmap(nowhere, mapped, prot, MapFlags::SHARED, file, start)? };
        let base: NonNull<u8> = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let watched = faults::Watch::new(base.as_ptr() as usize, mapped);
        let watch = match watched {
            Ok(watch) => watch,
            Err(e) => {
                // SAFETY: the mapping from above, which has no other user.
                let _ = unsafe { munmap(base.as_ptr().cast(), mapped) };
                return Err(e);
            }
        };
        Ok(Self { base, len, mapped, watch })
    }
    /// Bytes.
    pub fn size(&self) -> usize {
        self.len
    }
    /// Whether the peer has taken the memory away: it is zeroes of our own since.
    pub fn is_lost(&self) -> bool {
        self.watch.has_faulted()
    }
    /// Whether these bytes are in it.
    #[inline(always)]
    pub fn holds(&self, offset: usize, len: usize) -> bool {
        offset <= self.len && len <= self.len - offset
    }
    /// Copies bytes out of it; `None` if they are not in it.
    #[inline(always)]
    pub fn copy_out(&self, offset: usize, to: &mut [u8]) -> Option<()> {
        if !self.holds(offset, to.len()) {
            return None;
        }
        // SAFETY: the source is within the mapping, the target is memory of ours elsewhere. What
        // the peer writes meanwhile makes the bytes others, and any are valid.
        unsafe {
            let from = self.base.as_ptr().add(offset);
            std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len());
        }
        Some(())
    }
    /// Copies bytes into it; `None` if they do not fit.
    #[inline(always)]
    pub fn copy_in(&self, offset: usize, from: &[u8]) -> Option<()> {
        if !self.holds(offset, from.len()) {
            return None;
        }
        // SAFETY: the target is within the mapping, of which no references exist; the source is
        // memory of ours elsewhere.
        unsafe {
            let to = self.base.as_ptr().add(offset);
            std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len());
        }
        Some(())
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.watch.end();
        // SAFETY: the mapping of `map`; nothing borrows it any more. It cannot fail for a range
        // that is mapped, and there would be nothing to do.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.mapped) };
    }
}

/// A stretch of a region whose words both sides read and write.
#[derive(Clone, Debug)]
pub struct Words {
    region: Arc<Region>,
    at: usize,
    len: usize,
}

impl Words {
    /// `len` bytes from `at` on, where words of `align` bytes are at multiples of their size;
    /// `None` if they are not, or not all in the region.
    pub fn new(region: Arc<Region>, at: usize, len: usize, align: usize) -> Option<Self> {
        let is_there = at.is_multiple_of(align) && region.holds(at, len);
        is_there.then_some(Self { region, at, len })
    }
    /// The region they are in.
    pub fn region(&self) -> &Arc<Region> {
        &self.region
    }
    #[inline(always)]
    fn word<T>(&self, offset: usize) -> &T {
        let is_there = offset <= self.len && size_of::<T>() <= self.len - offset;
        let at = self.at.wrapping_add(offset);
        assert!(is_there && at.is_multiple_of(align_of::<T>()), "a word outside of its stretch");
        // SAFETY: the stretch is within the region, and the word within the stretch; regions begin
        // at pages, so that it is aligned. `T` is an atomic, of which any bytes are one. The
        // mapping lives as long as `self`.
        unsafe { self.region.base.add(at).cast().as_ref() }
    }
    /// The word at `offset`, which is within the stretch.
    #[inline(always)]
    pub fn u16(&self, offset: usize) -> &AtomicU16 {
        self.word(offset)
    }
    /// The word at `offset`, which is within the stretch.
    #[inline(always)]
    pub fn u32(&self, offset: usize) -> &AtomicU32 {
        self.word(offset)
    }
    /// The word at `offset`, which is within the stretch.
    #[inline(always)]
    pub fn u64(&self, offset: usize) -> &AtomicU64 {
        self.word(offset)
    }
}

#[cfg(test)]
mod tests;
