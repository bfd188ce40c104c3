//! Effects of a call of the machine: requests to its caller.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

use crate::Outgoing;

/// Events of a connection, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events(u16);

impl Events {
    /// There may be something to send: [`crate::Connection::send`] is to be called, once for all
    /// segments of a frame.
    pub const SEND: Self = Self(1);
    /// The connection is established.
    pub const CONNECTED: Self = Self(1 << 1);
    /// The peer has closed its direction; all of its bytes were delivered.
    pub const FINISHED: Self = Self(1 << 2);
    /// Urgent data is announced (RFC 9293 MUST-32). It is part of the stream.
    pub const URGENT: Self = Self(1 << 3);
    /// The connection is in TIME_WAIT: [`crate::Connection::time_wait`] gives the record that
    /// remains, once what is due was sent.
    pub const TIME_WAIT: Self = Self(1 << 4);
    /// The connection is over, [`Effects::error`] says why: the record can be freed, after
    /// [`crate::Connection::release`].
    pub const ENDED: Self = Self(1 << 5);
    /// The segment is to be answered with [`crate::reset_for`] it.
    pub const ANSWER_RESET: Self = Self(1 << 6);

    /// Whether all of `other` are set.
    #[inline]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether none is set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Events {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Events {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Reason why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Error {
    /// The peer answered the SYN with a reset.
    Refused,
    /// The peer has reset the connection.
    Reset,
    /// The peer did not answer in time.
    TimedOut,
    /// It was given up here.
    Aborted,
    /// ICMP says that the peer cannot be reached.
    Unreachable,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "connection refused",
            Self::Reset => "connection reset by peer",
            Self::TimedOut => "connection timed out",
            Self::Aborted => "connection aborted",
            Self::Unreachable => "peer is unreachable",
        })
    }
}

impl std::error::Error for Error {}

/// Fate of a segment: counters of the original's TCP nodes, by their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// `ack_ok`: an acknowledgment without data.
    #[default]
    AckOk,
    /// `ack_dup`.
    AckDup,
    /// `ack_old`.
    AckOld,
    /// `ack_future`: of something that was not sent.
    AckFuture,
    /// `ack_invalid`.
    AckInvalid,
    /// `enqueued`: data in order.
    Enqueued,
    /// `enqueued_ooo`: data out of order.
    EnqueuedOoo,
    /// `partially_enqueued`: the rest had no room.
    PartiallyEnqueued,
    /// `fifo_full`.
    FifoFull,
    /// `zero_rwnd`: data for a window that is closed.
    ZeroRwnd,
    /// `rcv_wnd`: not in the window.
    RcvWnd,
    /// `segment_old`.
    SegmentOld,
    /// `segment_invalid`.
    SegmentInvalid,
    /// `paws`: an old timestamp.
    Paws,
    /// `options`: no timestamp where there must be one.
    Options,
    /// `spurious_syn`.
    SpuriousSyn,
    /// `spurious_syn_ack`.
    SpuriousSynAck,
    /// `syns_rcvd`.
    SynsRcvd,
    /// `syn_acks_rcvd`.
    SynAcksRcvd,
    /// `conn_accepted`.
    ConnAccepted,
    /// `fin_rcvd`.
    FinRcvd,
    /// `rst_rcvd`.
    RstRcvd,
    /// `connection_closed`: data for an application that has closed.
    ConnectionClosed,
}

/// Result of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Events.
    pub events: Events,
    /// Bytes that the peer has acknowledged: the source is to drop them, before the next
    /// [`crate::Connection::send`]. More than 0 means room for the application to write.
    pub acked: u32,
    /// Bytes that became readable.
    pub delivered: u32,
    /// Reason, with [`Events::ENDED`]; `None` there after an orderly end.
    pub error: Option<Error>,
    /// Fate of the segment.
    pub verdict: Verdict,
}

impl Effects {
    /// Adds what a further segment of the same frame did.
    pub fn add(&mut self, later: &Self) {
        self.events |= later.events;
        self.acked += later.acked;
        self.delivered += later.delivered;
        self.error = self.error.or(later.error);
        self.verdict = later.verdict;
    }
}

/// Bytes from the peer go here: a FIFO of the caller.
///
/// Bytes are addressed by their distance to the next byte that is expected in order. The machine
/// bounds distance and length by [`Sink::space`] and the window.
pub trait Sink {
    /// Bytes that there is memory for, after the next one expected: those kept out of order count
    /// as free.
    fn space(&self) -> u32;

    /// Bytes delivered that the application has not read.
    fn unread(&self) -> u32;

    /// Copies `len` bytes, from `from` on in the payload of the current segment, to `ahead` bytes
    /// after the next one expected. False if there was no memory after all: they count as lost.
    fn keep(&mut self, ahead: u32, from: u32, len: u32) -> bool;

    /// Makes the next `len` bytes readable: all of them were kept.
    fn deliver(&mut self, len: u32);
}

/// Segments go here.
pub trait Emit {
    /// Sends a segment; false if there is no buffer: it counts as not sent.
    fn emit(&mut self, out: &Outgoing) -> bool;
}

impl<F: FnMut(&Outgoing) -> bool> Emit for F {
    #[inline]
    fn emit(&mut self, out: &Outgoing) -> bool {
        self(out)
    }
}
