//! Counters of a thread. The first ones are the original's, of `/sys/tcp`.

/// Events of all connections of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Timers that expired.
    pub timer_expirations: u64,
    /// Segments retransmitted.
    pub rxt_segs: u64,
    /// Retransmission timeouts.
    pub tr_events: u64,
    /// Connections that were not established in time.
    pub to_establish: u64,
    /// Timeouts of closed windows.
    pub to_persist: u64,
    /// Connections given up in CLOSE_WAIT.
    pub to_closewait: u64,
    /// The same after the application has closed.
    pub to_closewait2: u64,
    /// Connections given up in FIN_WAIT_1.
    pub to_finwait1: u64,
    /// Connections given up in FIN_WAIT_2.
    pub to_finwait2: u64,
    /// Connections given up in LAST_ACK.
    pub to_lastack: u64,
    /// Connections given up in CLOSING.
    pub to_closing: u64,
    /// Connections given up after retransmissions.
    pub tr_abort: u64,
    /// Resets because of data that no application had read.
    pub rst_unread: u64,
    /// Segments for which there was no buffer.
    pub no_buffer: u64,

    /// Connections opened from here (tcpActiveOpens of RFC 4022).
    pub active_opens: u64,
    /// Connections opened by peers (tcpPassiveOpens).
    pub passive_opens: u64,
    /// Attempts that failed (tcpAttemptFails).
    pub attempt_fails: u64,
    /// Open connections that were reset (tcpEstabResets).
    pub estab_resets: u64,
    /// Segments received by connections (tcpInSegs).
    pub in_segs: u64,
    /// Segments sent (tcpOutSegs).
    pub out_segs: u64,
    /// Resets sent (tcpOutRsts).
    pub out_rsts: u64,
    /// Loss recoveries begun.
    pub recoveries: u64,
    /// Of these and of timeouts, those that proved unnecessary and were undone.
    pub undone: u64,
    /// Tail loss probes.
    pub tail_loss_probes: u64,
    /// Probes of closed windows.
    pub window_probes: u64,
    /// Keepalive probes.
    pub keepalive_probes: u64,
    /// Acknowledgments that were delayed until their timer.
    pub delayed_acks: u64,
    /// Reports of duplicates received.
    pub duplicates_reported: u64,
    /// Challenge ACKs sent (RFC 5961).
    pub challenges: u64,
    /// Challenge ACKs not sent because there were many.
    pub challenges_withheld: u64,
    /// SYN cookies sent.
    pub cookies_sent: u64,
    /// SYN cookies that came back right.
    pub cookies_accepted: u64,
    /// SYN cookies that came back wrong.
    pub cookies_refused: u64,
    /// Segments out of order that were dropped because of too many holes, or no memory for them.
    pub holes_exhausted: u64,
    /// Reports of packets that were too large for the path (RFC 1191, RFC 8201) and were heeded.
    pub too_big: u64,
    /// Sends that waited because all blocks for segments in flight were taken.
    pub blocks_exhausted: u64,
}
