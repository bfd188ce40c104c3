//! The two ends of a ring as the router uses them: packets between buffers of the driver and our
//! own, each after a virtio header.
#![forbid(unsafe_code)]

use std::sync::Arc;

use graph::{Arrival, Buffer, FRAME};
use wire::virtio_net::{COUNTED, Header};
use wire::zerocopy::IntoBytes;

use super::memory::{Pieces, Table};
use super::ring::{Bad, Direction, Ring, Taken};
use crate::shared::{Bell, Memory, Writer, fill, head, length};

/// Buffers that one packet is put into at most.
const MOST_BUFFERS: usize = 64;
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;

/// A ring with what it takes to use it.
#[derive(Debug)]
pub struct Line {
    /// Its number in the machine.
    pub number: usize,
    /// The ring.
    pub ring: Ring,
    /// Memory that descriptors refer to.
    pub table: Arc<Table>,
    /// Bytes of the header before each packet.
    pub header: usize,
    /// Whether a packet may be put into several buffers.
    pub merges: bool,
    /// Wakes the driver, if it wants to be woken at all.
    pub call: Option<Bell>,
    /// Wakes the thread of a ring that receives.
    pub kick: Bell,
}

impl Line {
    #[inline(always)]
    fn publish(&mut self) {
        if self.ring.publish()
            && let Some(call) = &self.call
        {
            call.ring();
        }
    }
}

/// Reasons why a packet cannot be taken from a ring. Its buffer has been given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Its descriptors make no sense.
    Bad(Bad),
    /// Not a packet: less than the headers, or too much.
    Size,
    /// There are no buffers.
    NoBuffers,
}

/// Reasons why a packet cannot be put into a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// There are no buffers, or not enough of them.
    NoBuffers,
    /// It does not fit the next buffer, and may not be put into several.
    NoRoom,
    /// The descriptors of a buffer make no sense. It has been given back.
    Bad(Bad),
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver {
    line: Line,
    pieces: Box<Pieces>,
}

impl Receiver {
    /// One for a ring that the driver fills.
    pub fn new(line: Line) -> Self {
        Self { line, pieces: Box::default() }
    }
    /// Ring and memory it works with.
    pub fn line(&self) -> &Line {
        &self.line
    }
    /// Packets that wait, or a guess that is 0 only if none does.
    #[inline(always)]
    pub fn waiting(&self) -> u16 {
        self.line.ring.waiting()
    }
    /// Asks the driver to wake the thread when there is more, or not to; whether more waits.
    #[inline(always)]
    pub fn ask(&mut self, wants: bool) -> bool {
        self.line.ring.ask(wants)
    }
    /// Wakes the thread of this queue although the driver has no news.
    pub fn ring_bell(&self) {
        self.line.kick.ring();
    }
    /// Puts the next packet after what is in `p`; its virtio header, or `None` if there is none.
    ///
    /// # Errors
    /// See [`Lost`]. What the packet took is gone, too.
    #[inline(always)]
    pub fn take(&mut self, p: &mut Arrival<'_>) -> Result<Option<Header>, Lost> {
        self.pieces.clear();
        let taken = self.line.ring.take(&self.line.table, Direction::FromDriver, &mut self.pieces);
        let Some((taken, done)) = taken else { return Ok(None) };
        let copied = done.map_err(Lost::Bad).and_then(|()| self.copy(p));
        self.line.ring.give_back(&[(taken, 0)]);
        copied.map(Some)
    }
    #[inline(always)]
    fn copy(&self, p: &mut Arrival<'_>) -> Result<Header, Lost> {
        let (table, skip) = (&*self.line.table, self.line.header);
        let mut header = Header::default();
        if let [piece] = self.pieces.all() {
            let len = (piece.len as usize).checked_sub(skip).filter(|n| *n >= ETHERNET);
            let len = len.ok_or(Lost::Size)?;
            if len <= p.tailroom() {
                let region = table.region_of(*piece).ok_or(Lost::Bad(Bad::Address))?;
                let room = p.append_with(len).ok_or(Lost::NoBuffers)?;
                let copied = region.copy_out(piece.offset, header.as_mut_bytes());
                copied
                    .and_then(|()| region.copy_out(piece.offset + skip, room))
                    .ok_or(Lost::Bad(Bad::Address))?;
                return Ok(header);
            }
        }
        self.gather(p)
    }
    #[cold]
    fn gather(&self, p: &mut Arrival<'_>) -> Result<Header, Lost> {
        let (table, pieces, skip) = (&*self.line.table, self.pieces.all(), self.line.header);
        let total = length(pieces, skip).filter(|n| *n >= ETHERNET).ok_or(Lost::Size)?;
        let mut header = Header::default();
        head(table, pieces, header.as_mut_bytes()).ok_or(Lost::Bad(Bad::Address))?;
        fill(table, pieces, (skip, total), p).ok_or(Lost::NoBuffers)?;
        Ok(header)
    }
    /// Shows the driver the buffers returned.
    #[inline(always)]
    pub fn publish(&mut self) {
        self.line.publish();
    }
    /// Gives up a frame of what waits; says how many packets that were.
    pub fn skip(&mut self) -> u64 {
        let mut count = 0;
        for _ in 0..FRAME {
            self.pieces.clear();
            let taken =
                self.line.ring.take(&self.line.table, Direction::FromDriver, &mut self.pieces);
            let Some((taken, _)) = taken else { break };
            self.line.ring.give_back(&[(taken, 0)]);
            count += 1;
        }
        self.line.publish();
        count
    }
}

/// The sending end.
#[derive(Debug)]
pub struct Sender {
    line: Line,
    pieces: Box<Pieces>,
}

impl Sender {
    /// One for a ring whose buffers the driver leaves empty.
    pub fn new(mut line: Line) -> Self {
        line.ring.ask(false);
        Self { line, pieces: Box::default() }
    }
    /// Ring and memory it works with.
    pub fn line(&self) -> &Line {
        &self.line
    }
    /// Puts a packet into the ring, after a header; the driver sees it after
    /// [`Sender::publish`].
    ///
    /// # Errors
    /// See [`Full`]; no packet is in the ring then.
    #[inline(always)]
    pub fn put(&mut self, header: &Header, p: &Buffer<'_>) -> Result<(), Full> {
        let mark = self.line.ring.mark();
        let total = self.line.header + p.total_len();
        let mut buffers = [(Taken::default(), 0); MOST_BUFFERS];
        let (mut count, mut room) = (0, 0);
        self.pieces.clear();
        while room < total {
            if count == MOST_BUFFERS || count > 0 && !self.line.merges {
                self.line.ring.rewind(mark);
                return Err(Full::NoRoom);
            }
            let had = self.pieces.all().len();
            let taken =
                self.line.ring.take(&self.line.table, Direction::ToDriver, &mut self.pieces);
            let Some((taken, done)) = taken else {
                self.line.ring.rewind(mark);
                return Err(Full::NoBuffers);
            };
            buffers[count] = (taken, 0);
            count += 1;
            let added = &self.pieces.all()[had..];
            let len = added.iter().map(|piece| piece.len as usize).sum::<usize>();
            let done = if len == 0 { done.and(Err(Bad::Chain)) } else { done };
            if let Err(bad) = done {
                // Left where it is it would be in the way forever.
                self.line.ring.give_back(&buffers[..count]);
                return Err(Full::Bad(bad));
            }
            let used = len.min(total - room);
            buffers[count - 1].1 = used as u32;
            room += len;
        }
        if self.write(header, count as u16, p).is_none() {
            self.line.ring.give_back(&buffers[..count]);
            return Err(Full::Bad(Bad::Address));
        }
        self.line.ring.give_back(&buffers[..count]);
        Ok(())
    }
    #[inline(always)]
    fn write(&self, header: &Header, count: u16, p: &Buffer<'_>) -> Option<()> {
        let mut bytes = [0; COUNTED];
        bytes[..size_of::<Header>()].copy_from_slice(header.as_bytes());
        bytes[size_of::<Header>()..].copy_from_slice(&count.to_le_bytes());
        let mut writer = Writer::new(&*self.line.table, self.pieces.all());
        writer.put(&bytes[..self.line.header])?;
        writer.put(p.bytes())?;
        if p.next_segment().is_none() {
            return Some(());
        }
        p.segments().skip(1).try_for_each(|segment| writer.put(segment))
    }
    /// Shows the driver the packets written, and wakes it if it wants to be.
    #[inline(always)]
    pub fn publish(&mut self) {
        self.line.publish();
    }
}
