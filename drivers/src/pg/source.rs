//! Sources of a stream's packets.

use graph::data_size;

use super::data::Template;
use super::data::template::LINE;
use super::replay::Replay;

/// The source of a stream's packets.
#[derive(Clone, Debug)]
pub enum Source {
    /// A description.
    Template(Box<Template>),
    /// A capture file.
    Replay(Replay),
}

impl Source {
    /// Length in bytes of the next packet.
    pub fn next_size(&mut self) -> usize {
        match self {
            Self::Template(t) => t.next_size(),
            Self::Replay(r) => r.next_size(),
        }
    }
    /// Writes the next packet, of `size` bytes, into `room`: at least as many, rounded up to lines.
    pub fn write(&mut self, room: &mut [u8], size: usize) {
        match self {
            Self::Template(t) => t.write(room, size),
            Self::Replay(r) => r.write(room, size),
        }
    }
}

/// Room for a packet of `size` bytes, rounded up to lines.
pub fn room(size: usize) -> usize {
    size.next_multiple_of(LINE)
}

/// Whether a packet of `size` bytes, rounded up, fits one buffer.
#[inline(always)]
pub fn fits(size: usize) -> bool {
    let most = data_size();
    size <= most - most % LINE
}
