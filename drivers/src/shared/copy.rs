//! Copying packets between shared memory and buffers.
#![forbid(unsafe_code)]

use graph::Arrival;

use super::Region;

/// The longest packet: 64 KB of IP, with an Ethernet header and tags.
const LONGEST: usize = 65_536 + 64;

/// A stretch of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Number of the region.
    pub region: u16,
    /// Bytes from its start.
    pub offset: usize,
    /// Bytes.
    pub len: u32,
}

/// The regions that pieces are in.
pub trait Memory {
    /// A region by number.
    fn region(&self, number: u16) -> Option<&Region>;
    /// The region of a piece, if the piece is in it.
    #[inline(always)]
    fn region_of(&self, piece: Piece) -> Option<&Region> {
        self.region(piece.region).filter(|r| r.holds(piece.offset, piece.len as usize))
    }
}

/// Bytes of a packet that pieces hold, less the first `skip` of them; `None` if that is nothing or
/// more than a packet may be.
pub fn length(pieces: &[Piece], skip: usize) -> Option<usize> {
    let total: usize = pieces.iter().map(|piece| piece.len as usize).sum();
    total.checked_sub(skip).filter(|n| (1..=LONGEST).contains(n))
}

/// Puts the `total` bytes that pieces hold behind the first `skip` behind what is in `p`; `None` if
/// there are no buffers.
pub fn fill(
    memory: &impl Memory,
    pieces: &[Piece],
    (mut skip, total): (usize, usize),
    p: &mut Arrival<'_>,
) -> Option<()> {
    p.extend_with(total, |slices| {
        let mut slices = slices.iter_mut().map(|s| &mut **s);
        let mut room: &mut [u8] = &mut [];
        for piece in pieces {
            let region = memory.region_of(*piece)?;
            let skipped = skip.min(piece.len as usize);
            skip -= skipped;
            let (mut offset, mut left) = (piece.offset + skipped, piece.len as usize - skipped);
            while left > 0 {
                if room.is_empty() {
                    room = slices.next()?;
                    continue;
                }
                let len = left.min(room.len());
                let (now, rest) = std::mem::take(&mut room).split_at_mut(len);
                region.copy_out(offset, now)?;
                (room, offset, left) = (rest, offset + len, left - len);
            }
        }
        Some(())
    })
}

/// Copies the first bytes that pieces hold; `None` if they hold fewer.
pub fn head(memory: &impl Memory, pieces: &[Piece], mut to: &mut [u8]) -> Option<()> {
    for piece in pieces {
        let len = to.len().min(piece.len as usize);
        let (now, rest) = to.split_at_mut(len);
        memory.region_of(*piece)?.copy_out(piece.offset, now)?;
        to = rest;
    }
    to.is_empty().then_some(())
}

/// Writes bytes into pieces, one behind the other.
#[derive(Debug)]
pub struct Writer<'a, M> {
    memory: &'a M,
    rest: &'a [Piece],
    /// Bytes of the first piece that are written.
    done: usize,
}

impl<'a, M: Memory> Writer<'a, M> {
    /// One at the start of the pieces.
    pub fn new(memory: &'a M, pieces: &'a [Piece]) -> Self {
        Self { memory, rest: pieces, done: 0 }
    }
    /// Writes these; `None` if there is no room left.
    pub fn put(&mut self, mut bytes: &[u8]) -> Option<()> {
        while !bytes.is_empty() {
            let piece = *self.rest.first()?;
            let room = piece.len as usize - self.done;
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.memory.region_of(piece)?.copy_in(piece.offset + self.done, now)?;
            self.done += now.len();
            if self.done == piece.len as usize {
                (self.rest, self.done) = (&self.rest[1..], 0);
            }
            bytes = later;
        }
        Some(())
    }
}
