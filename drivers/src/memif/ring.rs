//! Rings in shared memory, whose words both sides read and write.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering, fence};

use wire::memif::{self, Descriptor, ring};

use crate::shared::{Region, Words};

/// A ring in shared memory.
#[derive(Clone, Debug)]
pub struct Ring {
    words: Words,
    mask: u16,
}

impl Ring {
    /// The ring of `1 << log2` descriptors that begins at `offset`; `None` if it is not all in the
    /// region, not aligned to 8 bytes, or larger than a ring may be.
    pub fn new(region: Arc<Region>, offset: usize, log2: u8) -> Option<Self> {
        if log2 > memif::MAX_LOG2_RING {
            return None;
        }
        let bytes = memif::RING_HEADER + (memif::DESCRIPTOR << log2);
        let mask = ((1_u32 << log2) - 1) as u16;
        let words = Words::new(region, offset, bytes, size_of::<u64>())?;
        Some(Self { words, mask })
    }
    /// Whether its memory was removed.
    pub fn is_lost(&self) -> bool {
        self.words.region().is_lost()
    }
    /// Descriptors.
    #[inline(always)]
    pub fn size(&self) -> u16 {
        self.mask + 1
    }
    /// Writes what a new ring begins with.
    pub fn begin(&self) {
        self.words.u32(ring::COOKIE).store(memif::COOKIE.to_le(), Ordering::Relaxed);
        self.store(ring::FLAGS, 0);
        self.store(ring::TAIL, 0);
        self.store(ring::HEAD, 0);
    }
    /// Whether it begins as a ring does.
    pub fn is_begun(&self) -> bool {
        let cookie = self.words.u32(ring::COOKIE).load(Ordering::Relaxed);
        u32::from_le(cookie) == memif::COOKIE
    }
    #[inline(always)]
    fn load(&self, at: usize) -> u16 {
        u16::from_le(self.words.u16(at).load(Ordering::Acquire))
    }
    #[inline(always)]
    fn store(&self, at: usize, value: u16) {
        let word: &AtomicU16 = self.words.u16(at);
        word.store(value.to_le(), Ordering::Release);
    }
    /// Descriptors the slave has put in so far; what it wrote before can be seen.
    #[inline(always)]
    pub fn head(&self) -> u16 {
        self.load(ring::HEAD)
    }
    /// Descriptors the master has put in so far; what it wrote before can be seen.
    #[inline(always)]
    pub fn tail(&self) -> u16 {
        self.load(ring::TAIL)
    }
    /// Shows the master earlier writes.
    #[inline(always)]
    pub fn set_head(&self, head: u16) {
        self.store(ring::HEAD, head);
    }
    /// Shows the slave earlier writes.
    #[inline(always)]
    pub fn set_tail(&self, tail: u16) {
        self.store(ring::TAIL, tail);
    }
    /// Tells the sender whether the receiver wants to be woken. Descriptors that the sender added
    /// before it could see that are visible to any check of the ring after this call.
    pub fn mask_interrupt(&self, is_masked: bool) {
        self.store(ring::FLAGS, if is_masked { memif::MASK_INTERRUPT } else { 0 });
        fence(Ordering::SeqCst);
    }
    /// Whether the receiver wants to be woken, of what was put in before.
    #[inline(always)]
    pub fn wants_interrupt(&self) -> bool {
        fence(Ordering::SeqCst);
        self.load(ring::FLAGS) & memif::MASK_INTERRUPT == 0
    }
    /// Flags as they are.
    pub fn flags(&self) -> u16 {
        self.load(ring::FLAGS)
    }
    /// A descriptor as it is now. Only the low bits of `at` count.
    #[inline(always)]
    pub fn descriptor(&self, at: u16) -> Descriptor {
        let place = self.place(at);
        let word = |at| self.words.u64(at).load(Ordering::Relaxed);
        Descriptor::of_words([word(place), word(place + 8)])
    }
    /// Writes a descriptor. Only the low bits of `at` count.
    #[inline(always)]
    pub fn set_descriptor(&self, at: u16, descriptor: Descriptor) {
        let (place, [low, high]) = (self.place(at), descriptor.to_words());
        self.words.u64(place).store(low, Ordering::Relaxed);
        self.words.u64(place + 8).store(high, Ordering::Relaxed);
    }
    #[inline(always)]
    fn place(&self, at: u16) -> usize {
        memif::RING_HEADER + usize::from(at & self.mask) * memif::DESCRIPTOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_lie_within_their_region() {
        let (region, _file) = Region::create(128 + 16 * 8).unwrap();
        let region = Arc::new(region);
        let new = |offset, log2| Ring::new(Arc::clone(&region), offset, log2);
        assert_eq!(new(0, 3).unwrap().size(), 8);
        assert!(new(8, 3).is_none() && new(0, 4).is_none() && new(0, 15).is_none());
        assert!(new(8, 2).is_some() && new(4, 2).is_none() && new(usize::MAX - 7, 2).is_none());
        let ring = new(0, 3).unwrap();
        assert!(!ring.is_begun());
        ring.begin();
        assert!(ring.is_begun());
        let last = Descriptor { flags: 1, region: 9, length: 77, offset: 0xffff_ffff };
        ring.set_descriptor(7, last);
        assert_eq!((ring.descriptor(7), ring.descriptor(0xffff)), (last, last));
        let mut bytes = [0; 16];
        region.copy_out(128 + 7 * 16, &mut bytes).unwrap();
        assert_eq!(bytes[..4], [1, 0, 9, 0]);
        ring.set_head(0x1234);
        ring.set_tail(0x5678);
        ring.mask_interrupt(true);
        assert!(!ring.wants_interrupt());
        region.copy_out(0, &mut bytes).unwrap();
        assert_eq!(bytes[..8], [0x20, 0x1f, 0xe3, 3, 1, 0, 0x34, 0x12]);
        assert_eq!((ring.head(), ring.tail(), ring.flags()), (0x1234, 0x5678, 1));
    }
}
