//! Where the packets of a stream come from.

use graph::DATA_SIZE;

use super::data::Template;
use super::data::template::LINE;
use super::replay::Replay;

/// What makes the packets of a stream.
#[derive(Clone, Debug)]
pub enum Source {
    /// A description.
    Template(Template),
    /// A capture file.
    Replay(Replay),
}

/// One kind of [`Source`] at work.
pub trait Packets {
    /// Length in bytes of the next packet.
    fn next_size(&mut self) -> usize;
    /// Writes the next packet, of `size` bytes, into `room`: at least as many, rounded up to lines.
    fn write(&mut self, room: &mut [u8], size: usize);
}

impl Packets for Template {
    #[inline(always)]
    fn next_size(&mut self) -> usize {
        Template::next_size(self)
    }
    #[inline(always)]
    fn write(&mut self, room: &mut [u8], size: usize) {
        Template::write(self, room, size);
    }
}

impl Packets for Replay {
    #[inline(always)]
    fn next_size(&mut self) -> usize {
        Replay::next_size(self)
    }
    #[inline(always)]
    fn write(&mut self, room: &mut [u8], size: usize) {
        Replay::write(self, room, size);
    }
}

/// Room for a packet of `size` bytes, rounded up to lines.
pub fn room(size: usize) -> usize {
    size.next_multiple_of(LINE)
}

/// Whether a packet of `size` bytes, rounded up, fits one buffer.
#[inline(always)]
pub fn fits(size: usize) -> bool {
    size <= DATA_SIZE - DATA_SIZE % LINE
}
