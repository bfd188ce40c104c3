//! Virtual memory that is reserved whole and used as it is touched.
//!
//! Safety contract: a [`Reserved`] owns its mapping from creation to drop, so every element lies in
//! mapped, zero-initialised, suitably aligned memory for as long as a reference to it can exist.

pub mod allocations;
pub mod lane;
pub mod shared;

mod usage;

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use zerocopy::FromZeros;

pub use usage::{Heap, PAGE, Range, SHARED, heap, in_memory, ranges, trim};

/// Whether the kernel is asked to back memory with 2 MB pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HugePages {
    /// Ask: right for big tables that are read at random.
    Advise,
    /// Ask for all but the first 2 MB: right for what may stay small and is read at random when it
    /// does not.
    Beyond,
    /// Do not: right for what stays mostly untouched.
    No,
}

/// Size of a huge page in bytes.
pub const HUGE_PAGE: usize = 2 << 20;

/// An array of `len` zeroed elements whose memory is used only where it is touched, and never
/// moves.
#[derive(Debug)]
pub struct Reserved<T> {
    start: NonNull<T>,
    len: usize,
    /// Keeps the memory mapped.
    _map: Mapping,
}

// SAFETY: `Reserved` owns the memory like a boxed slice does, so it moves and shares like one.
unsafe impl<T: Send> Send for Reserved<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Reserved<T> {}

impl<T: FromZeros> Reserved<T> {
    /// Reserves room for `len` elements.
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn new(len: usize, pages: HugePages) -> io::Result<Self> {
        const { assert!(align_of::<T>() <= 4096 && !std::mem::needs_drop::<T>()) };
        let bytes = len.max(1) * size_of::<T>().max(1);
        let map = Mapping::anonymous(bytes)?;
        // The big pages of one table lie within its own mapping, so start where one can start.
        let lead = match pages {
            HugePages::No => 0,
            _ => map.start.addr().get().wrapping_neg() % HUGE_PAGE,
        };
        let small = if pages == HugePages::Beyond { bytes.min(HUGE_PAGE) } else { 0 };
        // SAFETY: the mapping is `bytes + HUGE_PAGE` long and `lead < HUGE_PAGE`.
        let start = unsafe { map.start.byte_add(lead) };
        if pages != HugePages::No && bytes > small {
            // SAFETY: the range lies within the mapping. A kernel without huge pages may refuse: no
            // harm.
            let _ = unsafe {
                madvise(start.byte_add(small).as_ptr(), bytes - small, Advice::LinuxHugepage)
            };
        }
        Ok(Self { start: start.cast(), len, _map: map })
    }
    /// The same, listed under this name among the [`ranges`].
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        self._map.name(name);
        self
    }
    /// Asks for huge pages, and moves the first 2 MB into one: for what stayed small no longer.
    pub fn enlarge(&self) {
        let bytes = self.len * size_of::<T>();
        if bytes >= HUGE_PAGE {
            // SAFETY: the ranges lie within the mapping, whose contents stay as they are. A kernel
            // without such pages, or one that does not know how, refuses: no harm.
            let _ = unsafe {
                let start = self.start.as_ptr().cast::<c_void>();
                let _ = madvise(start, bytes, Advice::LinuxHugepage);
                libc::madvise(start, HUGE_PAGE, libc::MADV_COLLAPSE)
            };
        }
    }
    /// Gives the pages of elements `from..to` back to the system; those elements read as zero
    /// again.
    ///
    /// Whole pages inside the range only. Takes `&mut self`: there must be no readers.
    pub fn release(&mut self, from: usize, to: usize) {
        let page = 4096;
        let base = self.start.addr().get();
        let first = (base + from * size_of::<T>()).next_multiple_of(page);
        let last = (base + to.min(self.len) * size_of::<T>()) / page * page;
        if first < last {
            // SAFETY: the pages lie within the mapping, no reference into it exists, and zero bytes
            // are a valid `T`.
            let _ = unsafe {
                let at = self.start.as_ptr().byte_add(first - base).cast::<c_void>();
                madvise(at, last - first, Advice::LinuxDontNeed)
            };
        }
    }
}

impl<T> Deref for Reserved<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: see the module's contract.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> std::ops::DerefMut for Reserved<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: see the module's contract; `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

/// A range of address space, unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<c_void>,
    bytes: usize,
}

// SAFETY: a mapping is plain memory of this process; only its owner hands out access.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Zeroed private memory with room for `bytes` from any 2 MB boundary in it.
    fn anonymous(bytes: usize) -> io::Result<Self> {
        let bytes = (bytes + HUGE_PAGE).next_multiple_of(4096);
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address the kernel chooses touches nothing that exists.
        let start = unsafe {
            mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags)?
        };
        Self::from_raw(start, bytes)
    }
    /// Address space without access, to be filled with [`Mapping::place`].
    ///
    /// # Errors
    /// The kernel's, when it refuses the address space.
    pub fn reserve(bytes: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let bytes = (bytes + HUGE_PAGE).next_multiple_of(4096);
        // SAFETY: as in `anonymous`.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::empty(), flags)? };
        Self::from_raw(start, bytes)
    }
    fn from_raw(start: *mut c_void, bytes: usize) -> io::Result<Self> {
        let start = NonNull::new(start).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        usage::note(start.addr().get(), bytes);
        Ok(Self { start, bytes })
    }
    /// Lists it under this name among the [`ranges`].
    pub fn name(&self, name: &'static str) {
        usage::name(self.start.addr().get(), name);
    }
    /// First 2 MB boundary of the range.
    pub fn aligned_start(&self) -> NonNull<u8> {
        let lead = self.start.addr().get().wrapping_neg() % HUGE_PAGE;
        // SAFETY: every mapping is at least 2 MB longer than asked for.
        unsafe { self.start.byte_add(lead) }.cast()
    }
    /// Replaces `bytes` at `offset` from [`Mapping::aligned_start`] by zeroed memory: shared with
    /// `file` where given (from the file's start), else anonymous with huge pages advised. It lies
    /// on the NUMA node where one is given, as long as that has memory; pages of a file are taken
    /// at once then.
    ///
    /// # Errors
    /// `InvalidInput` outside the range, else the kernel's.
    pub fn place(
        &mut self,
        offset: usize,
        bytes: usize,
        file: Option<&File>,
        node: Option<usize>,
    ) -> io::Result<()> {
        let lead = self.aligned_start().addr().get() - self.start.addr().get();
        if lead + offset + bytes > self.bytes || !offset.is_multiple_of(4096) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the range lies within this reservation, which `&mut self` owns, and no reference
        // into a part that is not placed yet exists.
        unsafe {
            let at = self.aligned_start().as_ptr().add(offset).cast();
            match file {
                Some(f) => {
                    let _ =
                        mmap(at, bytes, prot, MapFlags::SHARED | MapFlags::FIXED, f.as_fd(), 0)?;
                }
                None => {
                    let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
                    mmap_anonymous(at, bytes, prot, flags)?;
                    let _ = madvise(at, bytes, Advice::LinuxHugepage);
                }
            }
            if let Some(node) = node {
                prefer(at, bytes, node);
                if file.is_some() {
                    // The kernel notes the wish with the mapping, not with the file: what is taken
                    // through the file would lie anywhere. A kernel that cannot (before 5.14) takes
                    // it when it is touched.
                    let _ = libc::madvise(at, bytes, libc::MADV_POPULATE_WRITE);
                }
            }
        }
        Ok(())
    }
}

/// Places a range on a NUMA node as far as possible: mbind(2). A kernel that does not know the node
/// places it anywhere, which is harmless.
///
/// # Safety
/// The range is mapped.
unsafe fn prefer(at: *mut c_void, bytes: usize, node: usize) {
    const WORDS: usize = 16;
    const BITS: usize = usize::BITS as usize;
    let mut nodes = [0_usize; WORDS];
    let Some(word) = nodes.get_mut(node / BITS) else { return };
    *word = 1 << (node % BITS);
    // SAFETY: the call reads the bits, of which it is given one more than there are to look at, and
    // changes nothing but where pages of the range come from.
    let _ = unsafe {
        let most = WORDS * BITS;
        libc::syscall(libc::SYS_mbind, at, bytes, libc::MPOL_PREFERRED, nodes.as_ptr(), most, 0)
    };
}

impl Drop for Mapping {
    fn drop(&mut self) {
        usage::forget(self.start.addr().get());
        // SAFETY: the range was mapped by this value, which alone unmaps it.
        let _ = unsafe { munmap(self.start.as_ptr(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    #[test]
    fn a_reserved_array_is_zero_writable_and_releasable() {
        let mut a = Reserved::<AtomicU32>::new(1 << 28, HugePages::Advise).unwrap();
        assert_eq!(a.len(), 1 << 28);
        assert_eq!(a.as_ptr().addr() % HUGE_PAGE, 0);
        a[5].store(7, Relaxed);
        a[(1 << 28) - 1].store(9, Relaxed);
        assert_eq!((a[5].load(Relaxed), a[6].load(Relaxed)), (7, 0));
        a.release(0, 4096);
        assert_eq!((a[5].load(Relaxed), a[(1 << 28) - 1].load(Relaxed)), (0, 9));
    }

    #[test]
    fn memory_is_placed_only_inside_a_reservation() {
        let mut m = Mapping::reserve(8 << 20).unwrap();
        m.place(4096, 1 << 20, None, None).unwrap();
        assert!(m.place(8 << 20, 4 << 20, None, None).is_err());
        assert!(m.place(1, 4096, None, None).is_err());
    }
}
