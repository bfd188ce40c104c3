//! Rings of a virtio device, from the device's side: buffers that the driver makes available are
//! taken and given back in the same order.
//!
//! A driver may write to a ring at any time and whatever it likes. Words are read once; a buffer
//! has [`MOST_PIECES`] descriptors at most, empty ones included, so that no loop of them keeps a
//! thread; a buffer that makes no sense is given back unused.
//!
//! [`MOST_PIECES`]: super::memory::MOST_PIECES
#![forbid(unsafe_code)]

mod packed;
mod split;

use wire::vhost_user::RingPlace;
use wire::virtio_ring::{DESCRIPTOR, Descriptor, MOST, feature, flag};

use super::memory::{Pieces, Table};
use crate::shared::Memory as _;

use packed::Packed;
use split::Split;

/// A buffer that was taken, to be given back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    /// Number that the driver gave it.
    id: u16,
    /// Its first descriptor, and whether in an odd turn; in a packed ring.
    place: Position,
}

/// A position in a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    at: u16,
    /// In a packed ring: whether this turn's descriptors have their bits set.
    wrap: bool,
}

/// Reasons why a buffer cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// Not in shared memory, or for the other direction.
    Address,
    /// Its descriptors are none, go round, or are too many.
    Chain,
}

/// Direction of buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The driver has put packets in.
    FromDriver,
    /// Packets are put in here.
    ToDriver,
}

/// State of a ring as it can be seen from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The driver's word about interrupts, and its index; 0 in packed rings.
    pub available: (u16, u16),
    /// The device's word about interrupts, and its index; 0 in packed rings.
    pub used: (u16, u16),
}

/// A ring of either kind.
#[derive(Clone, Debug)]
pub enum Ring {
    /// Three parts: descriptors, what is available, what is used.
    Split(Split),
    /// All in one.
    Packed(Packed),
}

/// Does the same for both kinds.
macro_rules! either {
    ($self:ident, $ring:ident => $what:expr) => {
        match $self {
            Self::Split($ring) => $what,
            Self::Packed($ring) => $what,
        }
    };
}

impl Ring {
    /// A ring of `size` descriptors at these addresses of the front end, from `base` on, with these
    /// features; `None` if it is not all in memory, or cannot be a ring.
    pub fn new(
        table: &Table,
        (size, base): (u32, u32),
        place: &RingPlace,
        features: u64,
    ) -> Option<Self> {
        let size = u16::try_from(size).ok().filter(|n| (1..=MOST).contains(&u32::from(*n)))?;
        let has = |bit: u32| features >> bit & 1 != 0;
        let is_eventful = has(feature::EVENT_IDX);
        Some(match has(feature::RING_PACKED) {
            true => Self::Packed(Packed::new(table, (size, base), place, is_eventful)?),
            false => Self::Split(Split::new(table, size, place, is_eventful)?),
        })
    }
    /// Descriptors.
    pub fn size(&self) -> u16 {
        either!(self, ring => ring.size())
    }
    /// Buffers that wait to be taken, or a guess that is 0 only if none does.
    #[inline(always)]
    pub fn waiting(&self) -> u16 {
        either!(self, ring => ring.waiting())
    }
    /// Takes the next buffer and adds its stretches to `pieces`; `None` if there is none.
    #[inline(always)]
    pub fn take(
        &mut self,
        table: &Table,
        direction: Direction,
        pieces: &mut Pieces,
    ) -> Option<(Taken, Result<(), Bad>)> {
        either!(self, ring => ring.take(table, direction, pieces))
    }
    /// Position of the next buffer.
    #[inline(always)]
    pub fn mark(&self) -> Mark {
        Mark(either!(self, ring => ring.position()))
    }
    /// Goes back to where it was: what was taken since was not.
    pub fn rewind(&mut self, to: Mark) {
        either!(self, ring => ring.rewind(to.0));
    }
    /// Gives buffers back, each with the bytes that were written to it, in the order they were
    /// taken. The driver sees all of them or none.
    #[inline(always)]
    pub fn give_back(&mut self, buffers: &[(Taken, u32)]) {
        either!(self, ring => ring.give_back(buffers));
    }
    /// Shows the driver the buffers returned; returns whether it wants to be woken.
    #[inline(always)]
    pub fn publish(&mut self) -> bool {
        either!(self, ring => ring.publish())
    }
    /// Asks the driver to wake the device when there is more than was taken, or not to; says
    /// whether more waits.
    #[inline(always)]
    pub fn ask(&mut self, wants: bool) -> bool {
        either!(self, ring => ring.ask(wants));
        wants && self.waiting() > 0
    }
    /// Position it stops at, for the front end.
    pub fn base(&self) -> u32 {
        either!(self, ring => ring.base())
    }
    /// Its state as it can be seen from outside.
    pub fn look(&self) -> Look {
        either!(self, ring => ring.look())
    }
    /// A descriptor as it is now.
    pub fn descriptor(&self, at: u16) -> Descriptor {
        either!(self, ring => ring.descriptor(at))
    }
}

/// A place to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark(Position);

/// Whether an event at `event` lies in what was done between `old` and `new`.
fn is_reached(event: u16, new: u16, old: u16) -> bool {
    new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old)
}

/// Adds the stretch of a descriptor.
#[inline(always)]
fn add(table: &Table, d: Descriptor, direction: Direction, pieces: &mut Pieces) -> Result<(), Bad> {
    if (d.flags & flag::WRITE != 0) != (direction == Direction::ToDriver) {
        return Err(Bad::Address);
    }
    table.add(d.address, d.len, pieces)
}

/// Adds what a table of descriptors in the machine's memory says; `is_packed` where they follow one
/// another, otherwise each names the next.
#[cold]
fn add_table(
    table: &Table,
    d: Descriptor,
    (direction, is_packed): (Direction, bool),
    pieces: &mut Pieces,
) -> Result<(), Bad> {
    let count = d.len / DESCRIPTOR as u32;
    // Section 2.7.5.3.1: never both.
    if d.flags & flag::NEXT != 0
        || count == 0
        || !d.len.is_multiple_of(DESCRIPTOR as u32)
        || count > MOST
    {
        return Err(Bad::Chain);
    }
    let place = table.whole(d.address, d.len).ok_or(Bad::Address)?;
    let region = table.region_of(place).ok_or(Bad::Address)?;
    let mut next = 0;
    for n in 0..count {
        if next >= count {
            return Err(Bad::Chain);
        }
        let mut bytes = [0; DESCRIPTOR];
        let at = place.offset + next as usize * DESCRIPTOR;
        region.copy_out(at, &mut bytes).ok_or(Bad::Address)?;
        let half = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        let words = [half(0), half(8)];
        let d = if is_packed { Descriptor::of_packed(words) } else { Descriptor::of_split(words) };
        if d.flags & flag::INDIRECT != 0 {
            return Err(Bad::Chain);
        }
        add(table, d, direction, pieces)?;
        next = match is_packed {
            true => n + 1,
            false if d.flags & flag::NEXT == 0 => return Ok(()),
            false => d.link.into(),
        };
    }
    if is_packed { Ok(()) } else { Err(Bad::Chain) }
}

#[cfg(test)]
mod tests;
