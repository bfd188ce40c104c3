//! The two ends of a ring as the router uses them. What the peer wrote is looked at once and
//! checked before it is used: indices against the size of the ring, lengths and places against the
//! region they name, chains against what is there.
#![forbid(unsafe_code)]

use std::sync::Arc;

use graph::{Arrival, Buffer};
use wire::memif::{self, Descriptor};

use super::ring::Ring;
use crate::shared::{Bell, Region};

/// Stretches of a packet at most.
const MOST_PIECES: usize = 64;
/// The longest packet: 64 KB of IP, with an Ethernet header and tags.
const LONGEST: usize = 65_536 + 64;

/// The regions of a connection, by number.
pub type Regions = Arc<[Arc<Region>]>;

/// The router's end of a connection; the slave is the one with the memory.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// Places of packets are what descriptors say.
    Master,
    /// Places of packets are where they were put to begin with, whatever descriptors say.
    Slave(Slots),
}

/// Room for packets of one ring: a slot for each descriptor, one behind the other.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// Position of the first one in region 0.
    pub start: u32,
    /// Bytes of each.
    pub size: u32,
}

/// A ring with what it takes to use it.
#[derive(Debug)]
pub struct Line {
    /// The ring.
    pub ring: Ring,
    /// Regions that descriptors refer to.
    pub regions: Regions,
    /// The router's end.
    pub end: End,
    /// Wakes the receiver.
    pub bell: Bell,
}

/// A stretch of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Piece {
    region: u16,
    offset: u32,
    len: u32,
}

/// Reasons why a packet cannot be taken from a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// A descriptor that makes no sense. What it belonged to is skipped.
    BadDescriptor,
    /// There are no buffers. The packet is skipped.
    NoBuffers,
}

/// Reasons why a packet cannot be put into a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// No descriptor is free.
    NoSlots,
    /// Some are, but the packet does not fit.
    NoRoom,
    /// One that is free makes no sense.
    BadSlot,
}

impl Line {
    fn slot_of(&self, slots: Slots, at: u16) -> Descriptor {
        let number = u32::from(at & (self.ring.size() - 1));
        let offset = slots.start + number * slots.size;
        Descriptor { flags: 0, region: 0, length: slots.size, offset }
    }
    /// The stretch that a descriptor names, if there is such a one.
    #[inline(always)]
    fn piece(&self, at: u16, said: Descriptor) -> Option<Piece> {
        match self.end {
            End::Master => {
                let region = self.regions.get(usize::from(said.region))?;
                let is_there = region.holds(said.offset as usize, said.length as usize);
                let Descriptor { region, offset, length: len, .. } = said;
                is_there.then_some(Piece { region, offset, len })
            }
            End::Slave(slots) => {
                let offset = self.slot_of(slots, at).offset;
                (said.length <= slots.size).then_some(Piece { region: 0, offset, len: said.length })
            }
        }
    }
    #[inline(always)]
    fn region(&self, piece: Piece) -> &Region {
        &self.regions[usize::from(piece.region)]
    }
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver {
    line: Line,
    /// The descriptor that is looked at next.
    at: u16,
    is_masked: bool,
}

impl Receiver {
    /// One that has not received yet. A slave gives its slots to the master.
    pub fn new(line: Line) -> Self {
        if let End::Slave(slots) = line.end {
            (0..line.ring.size()).for_each(|n| line.ring.set_descriptor(n, line.slot_of(slots, n)));
            line.ring.set_head(line.ring.size());
        }
        let at = match line.end {
            End::Master => line.ring.tail(),
            End::Slave(_) => 0,
        };
        Self { line, at, is_masked: false }
    }
    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.line.ring
    }
    /// Descriptors with packets in them; none where what the peer says cannot be.
    #[inline(always)]
    pub fn waiting(&self) -> u16 {
        let ring = &self.line.ring;
        let put = match self.line.end {
            End::Master => ring.head(),
            End::Slave(_) => ring.tail(),
        };
        let count = put.wrapping_sub(self.at);
        if count <= ring.size() { count } else { 0 }
    }
    /// Whether the sender is asked for no interrupts.
    pub fn is_masked(&self) -> bool {
        self.is_masked
    }
    /// Asks the sender for interrupts or for none; says what waits then.
    pub fn mask(&mut self, is_masked: bool) -> u16 {
        self.line.ring.mask_interrupt(is_masked);
        self.is_masked = is_masked;
        self.waiting()
    }
    /// Wakes the thread of this queue although the sender has no news.
    pub fn ring_bell(&self) {
        self.line.bell.ring();
    }
    /// Puts the next packet after what is in `p`; there is one among the `waiting`, of which it
    /// takes its own.
    ///
    /// # Errors
    /// See [`Lost`]. What the packet took is gone, too.
    #[inline(always)]
    pub fn take(&mut self, waiting: &mut u16, p: &mut Arrival<'_>) -> Result<(), Lost> {
        let first = self.line.ring.descriptor(self.at);
        let piece = self.line.piece(self.at, first);
        self.at = self.at.wrapping_add(1);
        *waiting -= 1;
        if first.flags & memif::NEXT != 0 {
            return self.take_chain(piece, waiting, p);
        }
        let piece = piece.filter(|piece| piece.len > 0).ok_or(Lost::BadDescriptor)?;
        let len = piece.len as usize;
        if len <= p.tailroom() {
            let room = p.append_with(len).ok_or(Lost::NoBuffers)?;
            let copied = self.line.region(piece).copy_out(piece.offset as usize, room);
            return copied.ok_or(Lost::BadDescriptor);
        }
        self.copy(&[piece], p)
    }
    #[cold]
    fn take_chain(
        &mut self,
        first: Option<Piece>,
        waiting: &mut u16,
        p: &mut Arrival<'_>,
    ) -> Result<(), Lost> {
        let mut pieces = [Piece::default(); MOST_PIECES];
        let (mut count, mut is_good) = (1, first.is_some());
        pieces[0] = first.unwrap_or_default();
        loop {
            if *waiting == 0 {
                return Err(Lost::BadDescriptor);
            }
            let said = self.line.ring.descriptor(self.at);
            let piece = self.line.piece(self.at, said);
            self.at = self.at.wrapping_add(1);
            *waiting -= 1;
            match (piece, pieces.get_mut(count)) {
                (Some(piece), Some(place)) => *place = piece,
                _ => is_good = false,
            }
            count += 1;
            if said.flags & memif::NEXT == 0 {
                break;
            }
        }
        if is_good { self.copy(&pieces[..count], p) } else { Err(Lost::BadDescriptor) }
    }
    #[cold]
    fn copy(&self, pieces: &[Piece], p: &mut Arrival<'_>) -> Result<(), Lost> {
        let total: usize = pieces.iter().map(|piece| piece.len as usize).sum();
        if total == 0 || total > LONGEST {
            return Err(Lost::BadDescriptor);
        }
        let filled = p.extend_with(total, |slices| {
            let mut slices = slices.iter_mut().map(|s| &mut **s).used_up();
            for piece in pieces {
                let (mut offset, mut left) = (piece.offset as usize, piece.len as usize);
                while left > 0 {
                    let room = slices.next(left)?;
                    let len = room.len();
                    self.line.region(*piece).copy_out(offset, room)?;
                    (offset, left) = (offset + len, left - len);
                }
            }
            Some(())
        });
        filled.ok_or(Lost::NoBuffers)
    }
    /// Gives the sender back what was taken.
    #[inline(always)]
    pub fn give_back(&mut self) {
        match self.line.end {
            End::Master => self.line.ring.set_tail(self.at),
            End::Slave(slots) => self.refill(slots),
        }
    }
    fn refill(&self, slots: Slots) {
        let (size, ring) = (self.line.ring.size(), &self.line.ring);
        let mut head = ring.head();
        let end = self.at.wrapping_add(size);
        // The word is ours, but the peer may write to it: no more than a ring in any case.
        if end.wrapping_sub(head) > size {
            head = end.wrapping_sub(size);
        }
        while head != end {
            ring.set_descriptor(head, self.line.slot_of(slots, head));
            head = head.wrapping_add(1);
        }
        ring.set_head(end);
    }
    /// Gives up what waits; says how many descriptors that were.
    pub fn skip(&mut self) -> u16 {
        let waiting = self.waiting();
        self.at = self.at.wrapping_add(waiting);
        self.give_back();
        waiting
    }
}

/// Room in several pieces, used up from its start.
struct Room<'s, I> {
    rest: I,
    now: &'s mut [u8],
}

trait Rooms<'s>: Iterator<Item = &'s mut [u8]> + Sized {
    fn used_up(self) -> Room<'s, Self> {
        Room { rest: self, now: &mut [] }
    }
}

impl<'s, I: Iterator<Item = &'s mut [u8]>> Rooms<'s> for I {}

impl<'s, I: Iterator<Item = &'s mut [u8]>> Room<'s, I> {
    /// The next stretch, of `most` bytes at most.
    fn next(&mut self, most: usize) -> Option<&'s mut [u8]> {
        while self.now.is_empty() {
            self.now = self.rest.next()?;
        }
        let now = std::mem::take(&mut self.now);
        let (first, rest) = now.split_at_mut(most.min(now.len()));
        self.now = rest;
        Some(first)
    }
}

/// The sending end.
#[derive(Debug)]
pub struct Sender {
    line: Line,
    /// The descriptor that is filled next.
    at: u16,
    /// Whether the peer does not know of all that was filled.
    is_pending: bool,
}

impl Sender {
    /// One that has not sent yet.
    pub fn new(line: Line) -> Self {
        let at = match line.end {
            End::Master => line.ring.tail(),
            End::Slave(_) => 0,
        };
        Self { line, at, is_pending: false }
    }
    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.line.ring
    }
    /// Descriptors that are free; none where what the peer says cannot be.
    #[inline(always)]
    pub fn free(&self) -> u16 {
        let ring = &self.line.ring;
        let free = match self.line.end {
            End::Master => ring.head().wrapping_sub(self.at),
            End::Slave(_) => ring.size().wrapping_sub(self.at.wrapping_sub(ring.tail())),
        };
        if free <= ring.size() { free } else { 0 }
    }
    #[inline(always)]
    fn place(&self, at: u16) -> Option<Piece> {
        let slot = match self.line.end {
            End::Master => self.line.ring.descriptor(at),
            End::Slave(slots) => self.line.slot_of(slots, at),
        };
        self.line.piece(at, slot)
    }
    /// Puts a packet into the ring, where `free` says how much was free; the peer sees it after
    /// [`Sender::publish`].
    ///
    /// # Errors
    /// See [`Full`]; the ring is as it was, but that a slot which makes no sense is passed over.
    #[inline(always)]
    pub fn put(&mut self, free: &mut u16, p: &Buffer<'_>) -> Result<(), Full> {
        if *free == 0 {
            return Err(Full::NoSlots);
        }
        let bytes = p.bytes();
        let Some(place) = self.place(self.at) else { return self.pass_over(free) };
        if p.next_segment().is_some() || bytes.len() > place.len as usize {
            return self.put_chain(free, p);
        }
        self.line.region(place).copy_in(place.offset as usize, bytes).ok_or(Full::BadSlot)?;
        self.fill(place, bytes.len(), false);
        *free -= 1;
        Ok(())
    }
    /// Notes `len` bytes in the next slot.
    #[inline(always)]
    fn fill(&mut self, place: Piece, len: usize, goes_on: bool) {
        let flags = if goes_on { memif::NEXT } else { 0 };
        let Piece { region, offset, .. } = place;
        let filled = Descriptor { flags, region, length: len as u32, offset };
        self.line.ring.set_descriptor(self.at, filled);
        self.at = self.at.wrapping_add(1);
        self.is_pending = true;
    }
    /// Nothing can be put there: the peer gets it back empty.
    #[cold]
    fn pass_over(&mut self, free: &mut u16) -> Result<(), Full> {
        let said = self.line.ring.descriptor(self.at);
        let Descriptor { region, offset, .. } = said;
        self.fill(Piece { region, offset, len: 0 }, 0, false);
        *free -= 1;
        Err(Full::BadSlot)
    }
    #[cold]
    fn put_chain(&mut self, free: &mut u16, p: &Buffer<'_>) -> Result<(), Full> {
        let mut places = [Piece::default(); MOST_PIECES];
        let (total, mut room, mut count) = (p.total_len(), 0, 0);
        // Only what holds all of the packet is written to.
        while room < total {
            let is_free = count < usize::from(*free) && count < MOST_PIECES;
            let at = self.at.wrapping_add(count as u16);
            let place = if is_free { self.place(at) } else { return Err(Full::NoRoom) };
            let Some(place) = place.filter(|place| place.len > 0) else {
                return if count == 0 { self.pass_over(free) } else { Err(Full::NoRoom) };
            };
            places[count] = place;
            (room, count) = (room + place.len as usize, count + 1);
        }
        let mut segments = p.segments();
        let (mut bytes, mut left): (&[u8], usize) = (&[], total);
        for place in &places[..count] {
            let len = left.min(place.len as usize);
            let mut done = 0;
            while done < len {
                if bytes.is_empty() {
                    bytes = segments.next().ok_or(Full::NoRoom)?;
                    continue;
                }
                let (now, rest) = bytes.split_at(bytes.len().min(len - done));
                let to = place.offset as usize + done;
                self.line.region(*place).copy_in(to, now).ok_or(Full::BadSlot)?;
                (bytes, done) = (rest, done + now.len());
            }
            left -= len;
            self.fill(*place, len, left > 0);
        }
        *free -= count as u16;
        Ok(())
    }
    /// Wakes the peer.
    pub fn ring_bell(&self) {
        self.line.bell.ring();
    }
    /// Shows the peer the packets written, and wakes it if it wants to be.
    #[inline(always)]
    pub fn publish(&mut self) {
        if !std::mem::take(&mut self.is_pending) {
            return;
        }
        match self.line.end {
            End::Master => self.line.ring.set_tail(self.at),
            End::Slave(_) => self.line.ring.set_head(self.at),
        }
        if self.line.ring.wants_interrupt() {
            self.ring_bell();
        }
    }
}
