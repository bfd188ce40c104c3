//! Memory for packets, in frames of a page.

use std::io;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Bytes of a frame.
pub const FRAME: usize = 4096;

/// Frames that the kernel fills and sends.
#[derive(Debug)]
pub struct Umem {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to this alone; who may touch which frame is said by the rings, and
// each frame is in the hands of one of them.
unsafe impl Send for Umem {}
// SAFETY: as above.
unsafe impl Sync for Umem {}

impl Umem {
    /// So many frames.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(frames: usize) -> io::Result<Self> {
        let (len, prot) = (frames * FRAME, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at a place of the kernel's choice.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), len, prot, MapFlags::PRIVATE)? };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, len })
    }
    /// Address and length.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.base.as_ptr() as u64, self.len as u64)
    }
    fn is_in(&self, addr: u64, len: usize) -> Option<usize> {
        let at = usize::try_from(addr).ok()?;
        let end = at.checked_add(len)?;
        (end <= self.len && at % FRAME + len <= FRAME).then_some(at)
    }
    /// Bytes that the kernel has filled; `None` if they are not within a frame.
    ///
    /// The frame came out of the receive ring and is not in the fill ring yet, which the borrow of
    /// [`super::Rx`] sees to.
    pub(super) fn bytes(&self, addr: u64, len: usize) -> Option<&[u8]> {
        let at = self.is_in(addr, len)?;
        // SAFETY: within the mapping; the kernel does not write to a frame that it gave us.
        Some(unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(at), len) })
    }
    /// Writes to the start of a frame that is ours; `None` if it is too long for one.
    pub(super) fn fill(&self, addr: u64, offset: usize, bytes: &[u8]) -> Option<()> {
        let at = self.is_in(addr + offset as u64, bytes.len())?;
        // SAFETY: within the mapping; a frame on the free list has no other user.
        unsafe {
            let to = self.base.as_ptr().add(at);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        Some(())
    }
}

impl Drop for Umem {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`. The kernel holds its pages itself as long as a socket uses
        // them. It cannot fail for a range that is mapped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}
