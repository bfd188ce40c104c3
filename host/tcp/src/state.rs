//! Connection states, and names of timers.

use std::fmt;

/// State of a connection (RFC 9293 section 3.3.2), numbered as in VPP. LISTEN is not a state of a
/// record: listeners belong to the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum State {
    /// No connection; the record can be freed.
    #[default]
    Closed,
    /// Listener: only for display.
    Listen,
    /// A SYN was sent.
    SynSent,
    /// A SYN was received and sent.
    SynRcvd,
    /// Open.
    Established,
    /// The peer has closed.
    CloseWait,
    /// Closed here: a FIN was sent.
    FinWait1,
    /// Closed by the peer, then here.
    LastAck,
    /// Closed at both ends at the same time.
    Closing,
    /// Closed here: the FIN is acknowledged.
    FinWait2,
    /// Closed; waiting for late segments.
    TimeWait,
}

impl State {
    /// Whether sequence numbers of both sides are known and acknowledged.
    #[inline]
    pub fn is_synchronized(self) -> bool {
        self >= Self::Established
    }

    /// Whether the application may still send.
    #[inline]
    pub fn may_send(self) -> bool {
        matches!(self, Self::Established | Self::CloseWait)
    }

    /// Whether data of the peer is still expected.
    #[inline]
    pub fn may_receive(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Closed => "CLOSED",
            Self::Listen => "LISTEN",
            Self::SynSent => "SYN_SENT",
            Self::SynRcvd => "SYN_RCVD",
            Self::Established => "ESTABLISHED",
            Self::CloseWait => "CLOSE_WAIT",
            Self::FinWait1 => "FIN_WAIT_1",
            Self::LastAck => "LAST_ACK",
            Self::Closing => "CLOSING",
            Self::FinWait2 => "FIN_WAIT_2",
            Self::TimeWait => "TIME_WAIT",
        })
    }
}

/// An active timer, for display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Timer {
    /// No timer.
    #[default]
    None,
    /// Retransmission (RFC 6298).
    Retransmit,
    /// Retransmission of a SYN.
    RetransmitSyn,
    /// Tail loss probe (RFC 8985 section 7).
    TailLoss,
    /// Reordering (RFC 8985 section 6).
    Reorder,
    /// Zero window (RFC 9293 section 3.8.6.1) and segments held back.
    Persist,
    /// Delayed acknowledgment.
    DelayedAck,
    /// Keepalive (RFC 9293 section 3.8.4).
    Keepalive,
    /// End of a closing state.
    WaitClose,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "",
            Self::Retransmit => "RETRANSMIT",
            Self::RetransmitSyn => "RETRANSMIT_SYN",
            Self::TailLoss => "TAIL_LOSS",
            Self::Reorder => "REORDER",
            Self::Persist => "PERSIST",
            Self::DelayedAck => "DELAYED_ACK",
            Self::Keepalive => "KEEPALIVE",
            Self::WaitClose => "WAITCLOSE",
        })
    }
}
