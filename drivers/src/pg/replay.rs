//! Packets of a capture file, sent in order, again and again.

use std::path::Path;
use std::sync::Arc;

use infra::cpu::prefetch;

use super::data::template::LINE;
use crate::pcap;

/// Number of cache lines that the next packets are fetched ahead of the copy.
const AHEAD: usize = 32;

/// All packets of a file in one piece of memory, each at the start of a line.
#[derive(Debug)]
pub struct Frames {
    lines: Vec<Line>,
    lens: Vec<u32>,
    /// Length in bytes of the shortest and the longest.
    pub shortest: usize,
    /// Length of the longest.
    pub longest: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u8; LINE]);

impl Frames {
    /// Reads a file.
    ///
    /// # Errors
    /// See [`pcap::Error`].
    pub fn read(path: &Path) -> Result<Self, pcap::Error> {
        let (mut lines, mut lens) = (Vec::new(), Vec::new());
        pcap::read(path, |packet| {
            lens.push(packet.len() as u32);
            for chunk in packet.chunks(LINE) {
                let mut line = Line([0; LINE]);
                line.0[..chunk.len()].copy_from_slice(chunk);
                lines.push(line);
            }
        })?;
        let (shortest, longest) =
            lens.iter().fold((u32::MAX, 0), |(s, l), n| (s.min(*n), l.max(*n)));
        Ok(Self { lines, lens, shortest: shortest as usize, longest: longest as usize })
    }
    /// Number of packets; at least one.
    pub fn count(&self) -> usize {
        self.lens.len()
    }
}

/// A place in [`Frames`].
#[derive(Clone, Debug)]
pub struct Replay {
    frames: Arc<Frames>,
    /// Number of the next packet, and its first line.
    next: usize,
    line: usize,
}

impl Replay {
    /// From the first packet on.
    pub fn new(frames: Arc<Frames>) -> Self {
        Self { frames, next: 0, line: 0 }
    }
    /// Length of the next packet.
    #[inline(always)]
    pub fn next_size(&self) -> usize {
        self.frames.lens.get(self.next).map_or(0, |n| *n as usize)
    }
    /// Writes the next packet, of `size` bytes, into `room`: at least as many, rounded up to lines.
    #[inline(always)]
    pub fn write(&mut self, room: &mut [u8], size: usize) {
        let count = size.div_ceil(LINE);
        let (to, _) = room.as_chunks_mut::<LINE>();
        if let Some(ahead) = self.frames.lines.get(self.line + AHEAD) {
            prefetch(ahead);
        }
        let from = self.frames.lines.get(self.line..).unwrap_or_default();
        for (to, from) in to.iter_mut().zip(from).take(count) {
            *to = from.0;
        }
        self.next += 1;
        self.line += count;
        if self.next == self.frames.lens.len() {
            (self.next, self.line) = (0, 0);
        }
    }
}
