//! One ring of a socket.

use std::io;
use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::xdp::XdpRingOffset;

/// A packet, or a piece of one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// Offset in the memory.
    pub addr: u64,
    /// Bytes.
    pub len: u32,
    /// [`Descriptor::CONTINUES`].
    pub options: u32,
}

impl Descriptor {
    /// The packet goes on in the next one.
    pub const CONTINUES: u32 = 1;
}

/// Something that rings hold: any bits are one.
pub trait Entry: Copy {}
impl Entry for u64 {}
impl Entry for Descriptor {}

/// A ring between the kernel and one thread at a time.
#[derive(Debug)]
pub struct Ring<T> {
    base: NonNull<u8>,
    bytes: usize,
    offsets: XdpRingOffset,
    size: u32,
    of: PhantomData<T>,
}

// SAFETY: the mapping belongs to the ring alone, which any thread may use that owns it.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Entry> Ring<T> {
    /// The ring of `size` entries (a power of 2) that the kernel has at `place`.
    pub(super) fn map(
        socket: impl AsFd,
        place: u64,
        offsets: XdpRingOffset,
        size: u32,
    ) -> io::Result<Self> {
        let bytes = offsets.desc as usize + size as usize * size_of::<T>();
        let words = [offsets.producer, offsets.consumer, offsets.flags.unwrap_or(0)];
        let is_right = words.iter().all(|at| *at as usize + 4 <= bytes && at.is_multiple_of(4));
        let is_aligned = offsets.desc.is_multiple_of(align_of::<T>() as u64);
        if !size.is_power_of_two() || !is_right || !is_aligned {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let (prot, flags) =
            (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::POPULATE);
        // SAFETY: a new mapping at a place of the kernel's choice, of the size that the ring has.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes, prot, flags, socket, place)? };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, bytes, offsets, size, of: PhantomData })
    }
    fn word(&self, at: u64) -> &AtomicU32 {
        // SAFETY: within the mapping and aligned, which `map` has checked; both sides access it
        // atomically.
        unsafe { self.base.add(at as usize).cast().as_ref() }
    }
    fn producer(&self) -> &AtomicU32 {
        self.word(self.offsets.producer)
    }
    fn consumer(&self) -> &AtomicU32 {
        self.word(self.offsets.consumer)
    }
    fn entry(&self, n: u32) -> NonNull<T> {
        let at = self.offsets.desc as usize + (n & (self.size - 1)) as usize * size_of::<T>();
        // SAFETY: within the mapping: `n` is masked.
        unsafe { self.base.add(at).cast() }
    }
    /// Entries that the kernel has put in.
    pub fn filled(&self) -> u32 {
        let put = self.producer().load(Ordering::Acquire);
        put.wrapping_sub(self.consumer().load(Ordering::Relaxed)).min(self.size)
    }
    /// The oldest entry, if there is one.
    pub fn take(&mut self) -> Option<T> {
        if self.filled() == 0 {
            return None;
        }
        let at = self.consumer().load(Ordering::Relaxed);
        // SAFETY: an entry that the kernel has filled and does not write to before it is given back
        // below; any bits are valid.
        let entry = unsafe { self.entry(at).read() };
        self.consumer().store(at.wrapping_add(1), Ordering::Release);
        Some(entry)
    }
    /// Entries that the kernel has not taken yet.
    pub fn waiting(&self) -> u32 {
        let taken = self.consumer().load(Ordering::Acquire);
        self.producer().load(Ordering::Relaxed).wrapping_sub(taken).min(self.size)
    }
    /// Entries that there is room for.
    pub fn free(&self) -> u32 {
        self.size - self.waiting()
    }
    /// Puts entries in, of which the kernel sees all or none; false without room for all.
    pub fn put(&mut self, entries: &[T]) -> bool {
        if (self.free() as usize) < entries.len() {
            return false;
        }
        let mut at = self.producer().load(Ordering::Relaxed);
        for entry in entries {
            // SAFETY: an entry that the kernel has consumed and does not read before it is notified
            // below.
            unsafe { self.entry(at).write(*entry) };
            at = at.wrapping_add(1);
        }
        self.producer().store(at, Ordering::Release);
        true
    }
    /// Whether the kernel goes on only when it is called.
    pub fn wants_wakeup(&self) -> bool {
        const NEED_WAKEUP: u32 = 1;
        let flags = self.offsets.flags.map(|at| self.word(at).load(Ordering::Relaxed));
        flags.is_none_or(|flags| flags & NEED_WAKEUP != 0)
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping of `map`; nothing borrows it any more. It cannot fail for a range
        // that is mapped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
