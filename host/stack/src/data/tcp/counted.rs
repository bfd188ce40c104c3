//! Counters of the TCP nodes.

use tcp_machine::Verdict;

/// Outcome of a packet. All TCP nodes have all counters; each node counts its own decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, graph::Reason)]
pub enum Counted {
    /// Packets filtered.
    #[severity("info")]
    Filtered,
    /// inconsistent ip/tcp lengths.
    Length,
    /// no listener for dst port.
    NoListener,
    /// lookup drops.
    LookupDrops,
    /// Packets pushed into rx fifo.
    #[severity("info")]
    Enqueued,
    /// OOO packets pushed into rx fifo.
    #[severity("warn")]
    EnqueuedOoo,
    /// Packets dropped for lack of rx fifo space.
    FifoFull,
    /// Packets partially pushed into rx fifo.
    #[severity("warn")]
    PartiallyEnqueued,
    /// Old segment.
    #[severity("warn")]
    SegmentOld,
    /// Invalid segments.
    SegmentInvalid,
    /// SYNs received.
    #[severity("info")]
    SynsRcvd,
    /// Spurious SYNs received.
    #[severity("warn")]
    SpuriousSyn,
    /// SYN-ACKs received.
    #[severity("info")]
    SynAcksRcvd,
    /// Spurious SYN-ACKs received.
    #[severity("warn")]
    SpuriousSynAck,
    /// Sessions couldn't be allocated.
    CreateSessionFail,
    /// Pure ACKs received.
    #[severity("info")]
    AckOk,
    /// Invalid ACK.
    AckInvalid,
    /// Duplicate ACK.
    #[severity("warn")]
    AckDup,
    /// Old ACK.
    #[severity("warn")]
    AckOld,
    /// Future ACK.
    #[severity("warn")]
    AckFuture,
    /// Packets sent.
    #[severity("info")]
    PktsSent,
    /// Resets sent.
    #[severity("info")]
    RstSent,
    /// Resets received.
    #[severity("info")]
    RstRcvd,
    /// Invalid connection.
    InvalidConnection,
    /// Connection closed.
    #[severity("warn")]
    ConnectionClosed,
    /// Could not parse options.
    Options,
    /// PAWS check failed.
    Paws,
    /// Segment not in receive window.
    #[severity("warn")]
    RcvWnd,
    /// FINs received.
    #[severity("info")]
    FinRcvd,
    /// Zero receive window.
    #[severity("warn")]
    ZeroRwnd,
    /// Connections accepted.
    #[severity("info")]
    ConnAccepted,
    /// Wrong worker thread.
    WrongThread,
}

impl From<Verdict> for Counted {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::AckOk => Self::AckOk,
            Verdict::AckDup => Self::AckDup,
            Verdict::AckOld => Self::AckOld,
            Verdict::AckFuture => Self::AckFuture,
            Verdict::AckInvalid => Self::AckInvalid,
            Verdict::Enqueued => Self::Enqueued,
            Verdict::EnqueuedOoo => Self::EnqueuedOoo,
            Verdict::PartiallyEnqueued => Self::PartiallyEnqueued,
            Verdict::FifoFull => Self::FifoFull,
            Verdict::ZeroRwnd => Self::ZeroRwnd,
            Verdict::RcvWnd => Self::RcvWnd,
            Verdict::SegmentOld => Self::SegmentOld,
            Verdict::SegmentInvalid => Self::SegmentInvalid,
            Verdict::Paws => Self::Paws,
            Verdict::Options => Self::Options,
            Verdict::SpuriousSyn => Self::SpuriousSyn,
            Verdict::SpuriousSynAck => Self::SpuriousSynAck,
            Verdict::SynsRcvd => Self::SynsRcvd,
            Verdict::SynAcksRcvd => Self::SynAcksRcvd,
            Verdict::ConnAccepted => Self::ConnAccepted,
            Verdict::FinRcvd => Self::FinRcvd,
            Verdict::RstRcvd => Self::RstRcvd,
            Verdict::ConnectionClosed => Self::ConnectionClosed,
        }
    }
}
