//! Counters of a thread. The first ones are VPP's, of `/sys/tcp`.

/// Events of all connections of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Timers that expired.
    pub timer_expirations: u64,
    /// Segments retransmitted.
    pub rxt_segs: u64,
    /// Retransmission timeouts.
    pub tr_events: u64,
    /// Connections that timed out while being established.
    pub to_establish: u64,
    /// Timeouts with a zero window.
    pub to_persist: u64,
    /// Connections that timed out in CLOSE_WAIT.
    pub to_closewait: u64,
    /// Connections that timed out in CLOSE_WAIT after the application had closed.
    pub to_closewait2: u64,
    /// Connections that timed out in FIN_WAIT_1.
    pub to_finwait1: u64,
    /// Connections that timed out in FIN_WAIT_2.
    pub to_finwait2: u64,
    /// Connections that timed out in LAST_ACK.
    pub to_lastack: u64,
    /// Connections that timed out in CLOSING.
    pub to_closing: u64,
    /// Connections aborted after retransmissions.
    pub tr_abort: u64,
    /// Resets because of unread data.
    pub rst_unread: u64,
    /// Segments not sent because no buffer was free.
    pub no_buffer: u64,

    /// Outgoing connections (tcpActiveOpens of RFC 4022).
    pub active_opens: u64,
    /// Incoming connections (tcpPassiveOpens).
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
    /// Loss recoveries started.
    pub recoveries: u64,
    /// Recoveries and timeouts that were unnecessary and were undone.
    pub undone: u64,
    /// Tail loss probes.
    pub tail_loss_probes: u64,
    /// Zero-window probes.
    pub window_probes: u64,
    /// Keepalive probes.
    pub keepalive_probes: u64,
    /// Acknowledgments that were delayed until their timer.
    pub delayed_acks: u64,
    /// Reports of duplicates received.
    pub duplicates_reported: u64,
    /// Challenge ACKs sent (RFC 5961).
    pub challenges: u64,
    /// Challenge ACKs not sent because of the rate limit.
    pub challenges_withheld: u64,
    /// SYN cookies sent.
    pub cookies_sent: u64,
    /// Valid SYN cookies received.
    pub cookies_accepted: u64,
    /// Invalid SYN cookies received.
    pub cookies_refused: u64,
    /// Segments out of order dropped because of too many gaps, or lack of memory.
    pub holes_exhausted: u64,
    /// Accepted reports of packets that exceeded the path MTU (RFC 1191, RFC 8201).
    pub too_big: u64,
    /// Sends delayed because all blocks for segments in flight were in use.
    pub blocks_exhausted: u64,
}
