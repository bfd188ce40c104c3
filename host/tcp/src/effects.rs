//! Effects of a call, to be applied by the caller.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

use crate::Outgoing;

/// Events of a connection, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events(u16);

impl Events {
    /// There may be segments to send: call [`crate::Connection::send`], once for all segments of a
    /// frame.
    pub const SEND: Self = Self(1);
    /// The connection is established.
    pub const CONNECTED: Self = Self(1 << 1);
    /// The peer has finished sending; all of its data has been delivered.
    pub const FINISHED: Self = Self(1 << 2);
    /// Urgent data is announced (RFC 9293 MUST-32). It is part of the stream.
    pub const URGENT: Self = Self(1 << 3);
    /// The connection is in TIME_WAIT: [`crate::Connection::time_wait`] returns the record that
    /// remains, after pending segments have been sent.
    pub const TIME_WAIT: Self = Self(1 << 4);
    /// The connection has ended, with the reason in [`Effects::error`]: the record can be freed,
    /// after [`crate::Connection::release`].
    pub const ENDED: Self = Self(1 << 5);
    /// Answer the segment with [`crate::reset_for`].
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
    /// It was aborted here.
    Aborted,
    /// ICMP reports that the peer is unreachable.
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

/// Outcome of a segment, with the names of the counters of VPP's TCP nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// `ack_ok`: an acknowledgment without data.
    #[default]
    AckOk,
    /// `ack_dup`.
    AckDup,
    /// `ack_old`.
    AckOld,
    /// `ack_future`: for data that was not sent.
    AckFuture,
    /// `ack_invalid`.
    AckInvalid,
    /// `enqueued`: data in order.
    Enqueued,
    /// `enqueued_ooo`: data out of order.
    EnqueuedOoo,
    /// `partially_enqueued`: the rest did not fit.
    PartiallyEnqueued,
    /// `fifo_full`.
    FifoFull,
    /// `zero_rwnd`: data for a closed window.
    ZeroRwnd,
    /// `rcv_wnd`: not in the window.
    RcvWnd,
    /// `segment_old`.
    SegmentOld,
    /// `segment_invalid`.
    SegmentInvalid,
    /// `paws`: an old timestamp.
    Paws,
    /// `options`: a required timestamp is missing.
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
    /// Number of bytes that the peer has acknowledged: drop them from the source before the next
    /// [`crate::Connection::send`]. If it is not 0, the application has space for writing.
    pub acked: u32,
    /// Bytes that became readable.
    pub delivered: u32,
    /// The reason, with [`Events::ENDED`]; `None` after an orderly close.
    pub error: Option<Error>,
    /// Outcome of the segment.
    pub verdict: Verdict,
}

impl Effects {
    /// Adds the effects of a further segment of the same frame.
    pub fn add(&mut self, later: &Self) {
        self.events |= later.events;
        self.acked += later.acked;
        self.delivered += later.delivered;
        self.error = self.error.or(later.error);
        self.verdict = later.verdict;
    }
}

/// Destination of data from the peer: a FIFO of the caller.
///
/// Data is addressed by its distance from the next expected byte. The machine limits distance and
/// length by [`Sink::space`] and the window.
pub trait Sink {
    /// Space in bytes from the next expected byte on; stored data out of order counts as free.
    fn space(&self) -> u32;

    /// Number of delivered bytes that the application has not read.
    fn unread(&self) -> u32;

    /// Copies `len` bytes at offset `from` of the current segment's payload to distance `ahead`.
    /// False if there was no memory: then they count as lost.
    fn keep(&mut self, ahead: u32, from: u32, len: u32) -> bool;

    /// Makes the next `len` bytes readable; all of them have been stored.
    fn deliver(&mut self, len: u32);
}

/// Transmission of segments.
pub trait Emit {
    /// Sends a segment; false if no buffer is free and it was not sent.
    fn emit(&mut self, out: &Outgoing) -> bool;
}

impl<F: FnMut(&Outgoing) -> bool> Emit for F {
    #[inline]
    fn emit(&mut self, out: &Outgoing) -> bool {
        self(out)
    }
}
