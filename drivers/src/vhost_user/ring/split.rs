//! Split rings (VIRTIO 1.2 section 2.7).

use std::sync::atomic::{Ordering, fence};

use wire::vhost_user::RingPlace;
use wire::virtio_ring::{DESCRIPTOR, Descriptor, NO_INTERRUPT, flag};

use super::super::memory::{Pieces, Table};
use super::{Bad, Direction, Look, Position, Taken, add, add_table, is_reached};
use crate::shared::Words;

/// Offset of the index in both parts that have one, after the flags.
const INDEX: usize = 2;
/// Offset of their entries.
const ENTRIES: usize = 4;
/// Bytes of an entry of what is used.
const USED: usize = 8;

/// A split ring.
#[derive(Clone, Debug)]
pub struct Split {
    descriptors: Words,
    available: Words,
    used: Words,
    mask: u16,
    is_eventful: bool,
    /// Buffers taken so far.
    at: u16,
    /// Buffers given back so far.
    given: u16,
    /// Entries that the driver has seen.
    published: u16,
    /// Entry at which the driver has to wake us; `None` while it has not to.
    asked: Option<u16>,
}

impl Split {
    pub(super) fn new(
        table: &Table,
        size: u16,
        place: &RingPlace,
        is_eventful: bool,
    ) -> Option<Self> {
        let count = usize::from(size);
        if !size.is_power_of_two() {
            return None;
        }
        let (available, used) = (ENTRIES + 2 * count + 2, ENTRIES + USED * count + 2);
        let descriptors = table.words(place.descriptors.get(), count * DESCRIPTOR, DESCRIPTOR)?;
        let available = table.words(place.available.get(), available, 2)?;
        let used = table.words(place.used.get(), used, 4)?;
        // Nothing is kept: buffers that were not returned have not been taken, whichever program
        // served the ring before and however it ended.
        let at = u16::from_le(used.u16(INDEX).load(Ordering::Acquire));
        let mask = size - 1;
        let mut ring = Self {
            descriptors,
            available,
            used,
            mask,
            is_eventful,
            at,
            given: at,
            published: at,
            asked: Some(at.wrapping_sub(1)),
        };
        ring.ask(false);
        Some(ring)
    }
    pub(super) fn size(&self) -> u16 {
        self.mask + 1
    }
    #[inline(always)]
    pub(super) fn waiting(&self) -> u16 {
        let put = u16::from_le(self.available.u16(INDEX).load(Ordering::Acquire));
        let count = put.wrapping_sub(self.at);
        if count <= self.size() { count } else { 0 }
    }
    #[inline(always)]
    pub(super) fn descriptor(&self, at: u16) -> Descriptor {
        let place = usize::from(at & self.mask) * DESCRIPTOR;
        let word = |at| self.descriptors.u64(at).load(Ordering::Relaxed);
        Descriptor::of_split([word(place), word(place + 8)])
    }
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        table: &Table,
        direction: Direction,
        pieces: &mut Pieces,
    ) -> Option<(Taken, Result<(), Bad>)> {
        if self.waiting() == 0 {
            return None;
        }
        let entry = ENTRIES + 2 * usize::from(self.at & self.mask);
        let id = u16::from_le(self.available.u16(entry).load(Ordering::Relaxed));
        self.at = self.at.wrapping_add(1);
        let taken = Taken { id, ..Taken::default() };
        if id > self.mask {
            return Some((taken, Err(Bad::Chain)));
        }
        let first = self.descriptor(id);
        if first.flags & (flag::NEXT | flag::INDIRECT) == 0 {
            return Some((taken, add(table, first, direction, pieces)));
        }
        Some((taken, self.walk(table, first, direction, pieces)))
    }
    fn walk(
        &self,
        table: &Table,
        first: Descriptor,
        direction: Direction,
        pieces: &mut Pieces,
    ) -> Result<(), Bad> {
        let mut d = first;
        for _ in 0..self.size() {
            if d.flags & flag::INDIRECT != 0 {
                return add_table(table, d, (direction, false), pieces);
            }
            add(table, d, direction, pieces)?;
            if d.flags & flag::NEXT == 0 {
                return Ok(());
            }
            if d.link > self.mask {
                return Err(Bad::Chain);
            }
            d = self.descriptor(d.link);
        }
        Err(Bad::Chain)
    }
    #[inline(always)]
    pub(super) fn position(&self) -> Position {
        Position { at: self.at, wrap: false }
    }
    pub(super) fn rewind(&mut self, to: Position) {
        self.at = to.at;
    }
    #[inline(always)]
    pub(super) fn give_back(&mut self, buffers: &[(Taken, u32)]) {
        for (taken, len) in buffers {
            let entry = ENTRIES + USED * usize::from(self.given & self.mask);
            self.used.u32(entry).store(u32::from(taken.id).to_le(), Ordering::Relaxed);
            self.used.u32(entry + 4).store(len.to_le(), Ordering::Relaxed);
            self.given = self.given.wrapping_add(1);
        }
    }
    #[inline(always)]
    pub(super) fn publish(&mut self) -> bool {
        let (new, old) = (self.given, self.published);
        if new == old {
            return false;
        }
        self.used.u16(INDEX).store(new.to_le(), Ordering::Release);
        self.published = new;
        fence(Ordering::SeqCst);
        if !self.is_eventful {
            return u16::from_le(self.available.u16(0).load(Ordering::Relaxed)) & NO_INTERRUPT == 0;
        }
        let event = self.available.u16(ENTRIES + 2 * usize::from(self.size()));
        is_reached(u16::from_le(event.load(Ordering::Relaxed)), new, old)
    }
    #[inline(always)]
    pub(super) fn ask(&mut self, wants: bool) {
        let wanted = wants.then_some(if self.is_eventful { self.at } else { 0 });
        if wanted == self.asked {
            return;
        }
        self.asked = wanted;
        match wanted {
            // The driver looks for a place that it comes by, and passes it only once.
            None if self.is_eventful => return,
            Some(at) if self.is_eventful => {
                let event = ENTRIES + USED * usize::from(self.size());
                self.used.u16(event).store(at.to_le(), Ordering::Relaxed);
            }
            _ => {
                let flags = if wants { 0 } else { NO_INTERRUPT };
                self.used.u16(0).store(flags.to_le(), Ordering::Relaxed);
            }
        }
        // Descriptors that the driver added before it could see this are visible from here on.
        fence(Ordering::SeqCst);
    }
    pub(super) fn base(&self) -> u32 {
        self.at.into()
    }
    pub(super) fn look(&self) -> Look {
        let word = |words: &Words, at| u16::from_le(words.u16(at).load(Ordering::Relaxed));
        Look {
            available: (word(&self.available, 0), word(&self.available, INDEX)),
            used: (word(&self.used, 0), word(&self.used, INDEX)),
        }
    }
}
