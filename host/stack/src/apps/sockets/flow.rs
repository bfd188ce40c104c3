//! The socket of a session, and copying between the two.

use rustix::net::{Shutdown, shutdown};

use lanes::socket::Answer;
use lanes::talk;

use super::link::{Got, Socket, read, write, write_datagram};
use crate::data::app::Stream;
use crate::data::session::SessionId;
use std::os::fd::OwnedFd;

/// Bytes of a session that are moved at a time, each way.
pub const AT_ONCE: usize = 64 << 10;
/// Bytes that a datagram counts for beside its own.
pub const DATAGRAM: usize = 1 << 10;
/// Longest packet of a datagram socket.
pub const LONGEST: usize = talk::DATAGRAM + talk::LONGEST;

/// An accepted connection that no program has yet.
pub struct Offered {
    /// The program's end.
    pub end: OwnedFd,
    /// Its endpoints.
    pub answer: Answer,
}

/// A session's socket.
pub struct Link {
    /// The socket.
    pub socket: Socket,
    /// The session.
    pub session: SessionId,
    /// The program's end, until it is offered.
    pub offered: Option<Offered>,
    /// Bytes that only fill the socket, which come first.
    pub filling: usize,
    /// Whether it is for datagrams.
    is_udp: bool,
    /// Bytes of the program for which the session had no room.
    left: Vec<u8>,
    /// Whether there may be bytes of the program.
    pub has_input: bool,
    /// Whether the program has to read before more is written.
    pub is_full: bool,
    /// Whether the program is known to have finished writing: the end follows what is there.
    pub is_ending: bool,
    /// Whether the program has closed it.
    pub is_closed: bool,
    /// Whether that has been read.
    is_ended: bool,
    is_shut: bool,
    is_finished: bool,
}

/// Outcome of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// All that was there is moved, or there is no room: an event follows.
    Waits,
    /// There is more.
    More,
    /// The program has closed the socket.
    Closed,
    /// The session is to be reset.
    Broken,
}

impl Link {
    /// Creates it for a session.
    pub fn new(socket: Socket, session: SessionId, is_udp: bool) -> Self {
        Self {
            socket,
            session,
            offered: None,
            filling: 0,
            is_udp,
            left: Vec::new(),
            has_input: true,
            is_full: false,
            is_ending: false,
            is_closed: false,
            is_ended: false,
            is_shut: false,
            is_finished: false,
        }
    }
    /// Moves what the program has written to the session.
    pub fn move_out(&mut self, stream: &mut Stream<'_>, work: (&mut [u8], &mut usize)) -> Flow {
        let (scratch, budget) = work;
        let most = AT_ONCE.min(*budget);
        let mut moved = 0;
        let flow = loop {
            if !self.left.is_empty() {
                let done = self.put(stream, 0..0, scratch);
                self.left.drain(..done);
            }
            if !self.left.is_empty() || !self.has_input {
                break Flow::Waits;
            }
            if moved >= most {
                break Flow::More;
            }
            let room = match self.filling {
                0 if self.is_udp => LONGEST,
                0 => stream.space().min(scratch.len()),
                filling => filling.min(scratch.len()),
            };
            if room == 0 {
                // It is called when there is room. Nothing fits now.
                stream.write(&[0]);
                break Flow::Waits;
            }
            match read(self.socket.fd(), &mut scratch[..room]) {
                Got::Bytes(n) if self.filling > 0 => self.filling -= n,
                Got::Bytes(n) => {
                    let done = self.put(stream, 0..n, scratch);
                    self.left.extend(&scratch[done..n]);
                    moved += n + if self.is_udp { DATAGRAM } else { 0 };
                    // What comes after a short read is announced, but the end may have been.
                    self.has_input = self.is_udp || n == room || self.is_ending;
                }
                Got::Nothing => self.has_input = false,
                Got::End => (self.has_input, self.is_ended) = (false, true),
                Got::Broken => break Flow::Broken,
            }
        };
        *budget = budget.saturating_sub(moved);
        if self.is_ended && self.left.is_empty() {
            if self.is_closed {
                return Flow::Closed;
            }
            if !self.is_shut && !self.is_udp {
                self.is_shut = true;
                stream.shut();
            }
        }
        flow
    }
    /// Writes bytes of the scratch space, or those left over, to the session; how many it took.
    fn put(&self, stream: &mut Stream<'_>, at: std::ops::Range<usize>, scratch: &[u8]) -> usize {
        let bytes = if at.is_empty() { &self.left[..] } else { &scratch[at] };
        if !self.is_udp {
            return stream.write(bytes);
        }
        let Some(body) = bytes.get(talk::DATAGRAM..) else { return bytes.len() };
        // A datagram that cannot be sent is dropped.
        if stream.send(body, None) || stream.space() >= body.len() { bytes.len() } else { 0 }
    }
    /// Moves what the session has received to the program.
    pub fn move_in(&mut self, stream: &mut Stream<'_>, work: (&mut [u8], &mut usize)) {
        let (scratch, budget) = work;
        let (most, mut moved) = (AT_ONCE.min(*budget), 0);
        while !self.is_full && stream.readable() > 0 {
            if moved >= most {
                stream.wake();
                break;
            }
            moved += if self.is_udp {
                self.give_datagram(stream, scratch)
            } else {
                self.give(stream, scratch)
            };
        }
        *budget = budget.saturating_sub(moved);
        if stream.is_finished() && stream.readable() == 0 && !self.is_finished && !self.is_udp {
            self.is_finished = true;
            // A program that has closed it needs no word.
            let _ = shutdown(self.socket.fd(), Shutdown::Write);
        }
    }
    fn give(&mut self, stream: &mut Stream<'_>, scratch: &mut [u8]) -> usize {
        let piece = stream.peek();
        let n = piece.len();
        let got = if n == stream.readable() {
            write(self.socket.fd(), piece)
        } else {
            let n = stream.copy(0, scratch);
            write(self.socket.fd(), &scratch[..n])
        };
        match got {
            Got::Bytes(n) => {
                stream.consume(n);
                n
            }
            Got::Nothing => {
                self.is_full = true;
                0
            }
            // The program no longer reads it.
            _ => {
                let n = stream.readable();
                stream.consume(n);
                n
            }
        }
    }
    fn give_datagram(&mut self, stream: &mut Stream<'_>, scratch: &mut [u8]) -> usize {
        let Some((len, from)) = stream.receive(scratch) else { return 0 };
        // One for which there is no room is lost, as all datagrams may be.
        write_datagram(self.socket.fd(), from, &scratch[..len.min(scratch.len())]);
        len + DATAGRAM
    }
    /// Ends it, after the program has closed its end.
    pub fn close_now(self) {
        self.socket.close_now();
    }
}
