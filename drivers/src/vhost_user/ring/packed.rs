//! Packed rings (VIRTIO 1.2 section 2.8).

use std::sync::atomic::{Ordering, fence};

use wire::vhost_user::RingPlace;
use wire::virtio_ring::{DESCRIPTOR, Descriptor, flag};

use super::super::memory::{Pieces, Table};
use super::{Bad, Direction, Look, Position, Taken, add, add_table, is_reached};
use crate::shared::Words;

/// Offset of the second half of a descriptor, and of its flags.
const HALF: usize = 8;
const FLAGS: usize = 14;
/// Bytes of what each side says about interrupts; where its flags are.
const EVENT: usize = 4;
const EVENT_FLAGS: usize = 2;
/// Interrupts are wanted, are not, or when a place is reached.
const ALWAYS: u16 = 0;
const NEVER: u16 = 1;
const AT_PLACE: u16 = 2;
/// Bit of positions, as both sides exchange them: the turn.
const TURN: u16 = 1 << 15;
/// Buffers that are said to wait where at least one does.
const BATCH: u16 = 32;
/// Descriptors of buffers without sense that are passed over until the driver is shown what was
/// returned.
const MOST_SKIPPED: u32 = 4096;

/// A packed ring.
#[derive(Clone, Debug)]
pub struct Packed {
    descriptors: Words,
    /// The driver's word about interrupts.
    driver: Words,
    /// The device's word.
    device: Words,
    size: u16,
    is_eventful: bool,
    next: Position,
    /// Descriptors given back since the driver was last woken or not.
    given: u16,
    /// Descriptors passed over since then.
    skipped: u32,
    /// Whether the driver is asked to wake us.
    is_asked: bool,
}

impl Packed {
    pub(super) fn new(
        table: &Table,
        (size, base): (u16, u32),
        place: &RingPlace,
        is_eventful: bool,
    ) -> Option<Self> {
        let len = usize::from(size) * DESCRIPTOR;
        let descriptors = table.words(place.descriptors.get(), len, DESCRIPTOR)?;
        let driver = table.words(place.available.get(), EVENT, 4)?;
        let device = table.words(place.used.get(), EVENT, 4)?;
        let base = base as u16;
        let next = Position { at: base & !TURN, wrap: base & TURN != 0 };
        if next.at >= size {
            return None;
        }
        let is_asked = true;
        let mut ring = Self {
            descriptors,
            driver,
            device,
            size,
            is_eventful,
            next,
            given: 0,
            skipped: 0,
            is_asked,
        };
        ring.ask(false);
        Some(ring)
    }
    pub(super) fn size(&self) -> u16 {
        self.size
    }
    #[inline(always)]
    fn is_available(&self) -> bool {
        let place = usize::from(self.next.at) * DESCRIPTOR + FLAGS;
        let flags = u16::from_le(self.descriptors.u16(place).load(Ordering::Acquire));
        let (available, used) = (flags & flag::AVAILABLE != 0, flags & flag::USED != 0);
        available == self.next.wrap && used != self.next.wrap
    }
    #[inline(always)]
    pub(super) fn waiting(&self) -> u16 {
        if self.is_available() { BATCH.min(self.size) } else { 0 }
    }
    #[inline(always)]
    pub(super) fn descriptor(&self, at: u16) -> Descriptor {
        let place = usize::from(at) * DESCRIPTOR;
        let word = |at| self.descriptors.u64(at).load(Ordering::Relaxed);
        Descriptor::of_packed([word(place), word(place + HALF)])
    }
    #[inline(always)]
    fn go_on(&mut self) {
        self.next.at += 1;
        if self.next.at == self.size {
            self.next = Position { at: 0, wrap: !self.next.wrap };
        }
    }
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        table: &Table,
        direction: Direction,
        pieces: &mut Pieces,
    ) -> Option<(Taken, Result<(), Bad>)> {
        if !self.is_available() {
            return None;
        }
        let place = self.next;
        let first = self.descriptor(place.at);
        let is_plain = first.flags & (flag::NEXT | flag::INDIRECT) == 0;
        if !is_plain && self.skipped >= MOST_SKIPPED {
            return None;
        }
        self.go_on();
        if is_plain {
            let taken = Taken { id: first.link, place };
            return Some((taken, add(table, first, direction, pieces)));
        }
        let (id, done) = self.walk(table, first, direction, pieces);
        Some((Taken { id, place }, done))
    }
    /// Goes over all descriptors of a buffer, whatever they say: the driver counts them. After
    /// the first that makes no sense they are passed over. A table is a buffer of its own (section
    /// 2.8.7).
    fn walk(
        &mut self,
        table: &Table,
        first: Descriptor,
        direction: Direction,
        pieces: &mut Pieces,
    ) -> (u16, Result<(), Bad>) {
        let (mut d, mut done) = (first, Ok(()));
        if d.flags & (flag::INDIRECT | flag::NEXT) == flag::INDIRECT {
            return (d.link, add_table(table, d, (direction, true), pieces));
        }
        for _ in 0..self.size {
            match done {
                Err(_) => self.skipped += 1,
                Ok(()) if d.flags & flag::INDIRECT != 0 => done = Err(Bad::Chain),
                Ok(()) => done = add(table, d, direction, pieces),
            }
            if d.flags & flag::NEXT == 0 {
                return (d.link, done);
            }
            d = self.descriptor(self.next.at);
            self.go_on();
        }
        (d.link, Err(Bad::Chain))
    }
    #[inline(always)]
    pub(super) fn position(&self) -> Position {
        self.next
    }
    pub(super) fn rewind(&mut self, to: Position) {
        self.next = to;
    }
    #[inline(always)]
    pub(super) fn give_back(&mut self, buffers: &[(Taken, u32)]) {
        // The first one last: with it the driver sees the others.
        for (Taken { id, place }, len) in buffers.iter().rev() {
            let turn = if place.wrap { flag::AVAILABLE | flag::USED } else { 0 };
            let written = if *len > 0 { flag::WRITE } else { 0 };
            let used = Descriptor { address: 0, len: *len, flags: turn | written, link: *id };
            let [_, half] = used.to_packed();
            let word = self.descriptors.u64(usize::from(place.at) * DESCRIPTOR + HALF);
            word.store(half, Ordering::Release);
        }
        if let Some((Taken { place, .. }, _)) = buffers.first() {
            let (from, to) = (u32::from(place.at), u32::from(self.next.at));
            let turn = if place.wrap == self.next.wrap { 0 } else { u32::from(self.size) };
            self.given = self.given.saturating_add((to + turn).saturating_sub(from) as u16);
        }
    }
    #[inline(always)]
    pub(super) fn publish(&mut self) -> bool {
        self.skipped = 0;
        let given = std::mem::take(&mut self.given);
        if given == 0 {
            return false;
        }
        fence(Ordering::SeqCst);
        match u16::from_le(self.driver.u16(EVENT_FLAGS).load(Ordering::Acquire)) {
            ALWAYS => true,
            AT_PLACE if self.is_eventful => {
                let said = u16::from_le(self.driver.u16(0).load(Ordering::Relaxed));
                let is_this_turn = (said & TURN != 0) == self.next.wrap;
                let turn = if is_this_turn { 0 } else { self.size };
                let (event, new) = ((said & !TURN).wrapping_sub(turn), self.next.at);
                is_reached(event, new, new.wrapping_sub(given))
            }
            _ => false,
        }
    }
    #[inline(always)]
    pub(super) fn ask(&mut self, wants: bool) {
        if wants == self.is_asked {
            return;
        }
        self.is_asked = wants;
        let flags = if wants { ALWAYS } else { NEVER };
        self.device.u16(EVENT_FLAGS).store(flags.to_le(), Ordering::Relaxed);
        // Descriptors that the driver added before it could see this are visible from here on.
        fence(Ordering::SeqCst);
    }
    pub(super) fn base(&self) -> u32 {
        let turn = if self.next.wrap { TURN } else { 0 };
        let base = u32::from(self.next.at | turn);
        base | base << 16
    }
    pub(super) fn look(&self) -> Look {
        let word = |words: &Words| u16::from_le(words.u16(EVENT_FLAGS).load(Ordering::Relaxed));
        Look { available: (word(&self.driver), 0), used: (word(&self.device), 0) }
    }
}
