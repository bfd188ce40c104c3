//! Rings in the memory of a port.
//!
//! A ring is a circle of slots. From `head` up to before `tail` they are the router's: packets to
//! take, or room for packets to send. What the kernel writes is believed as far as the region goes.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use graph::Arrival;

use super::kernel::Direction;
use crate::shared::{Memory, Piece, Region, Words, Writer, fill, length};

/// Places in what describes a port, in bytes: numbers of rings, and where the list of them begins.
mod port {
    pub const TX_RINGS: usize = 24;
    pub const HOST_TX_RINGS: usize = 36;
    pub const LIST: usize = 56;
}
/// Places in a ring.
mod ring {
    pub const BUFFERS: usize = 0;
    pub const SLOTS: usize = 8;
    pub const SIZE: usize = 12;
    pub const HEAD: usize = 20;
    pub const CURRENT: usize = 24;
    pub const TAIL: usize = 28;
    pub const LIST: usize = 256;
}
/// Bytes of a slot: number of its buffer (4), length (2), flags (2), a pointer.
const SLOT: usize = 16;
/// Flag of a slot: the packet goes on in the next one.
const MORE: u16 = 0x20;
/// Slots of a ring at most.
const MOST_SLOTS: u32 = 1 << 20;
/// Slots of a packet at most.
const MOST_PIECES: usize = 64;

/// A ring.
#[derive(Debug)]
pub struct Ring {
    region: Arc<Region>,
    words: Words,
    slots: u32,
    /// Bytes of a buffer.
    size: usize,
    /// Bytes from the start of the region to buffer 0.
    buffers: usize,
    head: u32,
    pieces: Vec<Piece>,
}

/// Reasons why a packet is not taken or sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The slots say what cannot be.
    Bad,
    /// The router has no buffers.
    NoBuffers,
    /// No slot is free.
    Full,
    /// It does not fit into a buffer.
    TooLong,
}

impl Memory for Ring {
    #[inline(always)]
    fn region(&self, number: u16) -> Option<&Region> {
        (number == 0).then_some(&*self.region)
    }
}

/// A number of bytes from `at` on that is read from the region, signed.
fn offset(at: usize, words: &Words, place: usize) -> Option<usize> {
    let by = words.u64(place).load(Ordering::Relaxed).cast_signed();
    usize::try_from(i64::try_from(at).ok()?.checked_add(by)?).ok()
}

impl Ring {
    /// Ring `number` of a port that is described at `at`; `None` if what is there cannot be.
    pub fn new(region: &Arc<Region>, at: usize, direction: Direction, number: u16) -> Option<Self> {
        let head = Words::new(Arc::clone(region), at, port::LIST, 8)?;
        let count = |place| head.u32(place).load(Ordering::Relaxed) as usize;
        let first = match direction {
            Direction::Tx => 0,
            Direction::Rx => count(port::TX_RINGS).checked_add(count(port::HOST_TX_RINGS))?,
        };
        let entry = first.checked_add(usize::from(number))?.checked_mul(8)?;
        let list = at.checked_add(port::LIST)?.checked_add(entry)?;
        let here = offset(at, &Words::new(Arc::clone(region), list, 8, 8)?, 0)?;
        let start = Words::new(Arc::clone(region), here, ring::LIST, 8)?;
        let slots = start.u32(ring::SLOTS).load(Ordering::Relaxed);
        let size = start.u32(ring::SIZE).load(Ordering::Relaxed) as usize;
        if !(2..=MOST_SLOTS).contains(&slots) || size == 0 {
            return None;
        }
        let buffers = offset(here, &start, ring::BUFFERS)?;
        let len = ring::LIST + slots as usize * SLOT;
        let words = Words::new(Arc::clone(region), here, len, 8)?;
        let head = words.u32(ring::HEAD).load(Ordering::Relaxed);
        let (region, pieces) = (Arc::clone(region), Vec::with_capacity(MOST_PIECES));
        (head < slots).then_some(Self { region, words, slots, size, buffers, head, pieces })
    }
    /// Maximum bytes per packet.
    pub fn room(&self) -> usize {
        self.size
    }
    /// Slots that are the router's.
    #[inline(always)]
    pub fn ready(&self) -> u32 {
        let tail = self.words.u32(ring::TAIL).load(Ordering::Acquire);
        match tail {
            tail if tail >= self.slots => 0,
            tail if tail >= self.head => tail - self.head,
            tail => tail + self.slots - self.head,
        }
    }
    /// The buffer of the first slot, if it is in the region, and the place of the slot.
    #[inline(always)]
    fn slot(&self) -> (usize, Option<usize>) {
        let at = ring::LIST + self.head as usize * SLOT;
        let number = self.words.u32(at).load(Ordering::Relaxed) as usize;
        let by = number.checked_mul(self.size);
        (at, by.and_then(|by| self.buffers.checked_add(by)))
    }
    #[inline(always)]
    fn advance(&mut self) {
        self.head = if self.head + 1 == self.slots { 0 } else { self.head + 1 };
    }
    /// Takes the next packet, of which there is one: its slots are the kernel's after
    /// [`Self::give_back`].
    #[inline(always)]
    pub fn take(&mut self, p: &mut Arrival<'_>) -> Result<(), Refused> {
        self.gather()?;
        let total = length(&self.pieces, 0).ok_or(Refused::Bad)?;
        if self.pieces.iter().any(|piece| self.region_of(*piece).is_none()) {
            return Err(Refused::Bad);
        }
        fill(self, &self.pieces, (0, total), p).ok_or(Refused::NoBuffers)
    }
    /// Goes past the slots of the next packet.
    #[inline(always)]
    fn gather(&mut self) -> Result<(), Refused> {
        self.pieces.clear();
        let mut is_bad = false;
        for _ in 0..self.ready() {
            let (at, buffer) = self.slot();
            let len = self.words.u16(at + 4).load(Ordering::Relaxed);
            let flags = self.words.u16(at + 6).load(Ordering::Relaxed);
            self.advance();
            let is_room = usize::from(len) <= self.size && self.pieces.len() < MOST_PIECES;
            match buffer.filter(|_| is_room) {
                Some(offset) => self.pieces.push(Piece { region: 0, offset, len: len.into() }),
                None => is_bad = true,
            }
            if flags & MORE == 0 {
                break;
            }
        }
        if is_bad { Err(Refused::Bad) } else { Ok(()) }
    }
    /// Goes past the next packet, of which there is one.
    pub fn skip(&mut self) {
        let _ = self.gather();
    }
    /// Puts a packet into the next slot: it is the kernel's after [`Self::give_back`].
    #[inline(always)]
    pub fn put<'a>(
        &mut self,
        len: usize,
        segments: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), Refused> {
        if len > self.size || len > usize::from(u16::MAX) {
            return Err(Refused::TooLong);
        }
        if self.ready() == 0 {
            return Err(Refused::Full);
        }
        let (at, buffer) = self.slot();
        let offset = buffer.ok_or(Refused::Bad)?;
        let piece = [Piece { region: 0, offset, len: len as u32 }];
        let mut writer = Writer::new(self, &piece);
        for segment in segments {
            writer.put(segment).ok_or(Refused::Bad)?;
        }
        self.words.u16(at + 4).store(len as u16, Ordering::Relaxed);
        self.words.u16(at + 6).store(0, Ordering::Relaxed);
        self.advance();
        Ok(())
    }
    /// Gives the kernel all slots that were gone past. It looks when it is asked to.
    #[inline(always)]
    pub fn give_back(&self) {
        self.words.u32(ring::CURRENT).store(self.head, Ordering::Relaxed);
        self.words.u32(ring::HEAD).store(self.head, Ordering::Release);
    }
}
