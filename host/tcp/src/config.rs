//! Settings of all connections of a thread, and of single connections.

use std::time::Duration;

use crate::Algorithm;

/// Settings of all connections of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// First retransmission timeout.
    pub rto_initial: Duration,
    /// Minimum retransmission timeout.
    pub rto_min: Duration,
    /// Maximum retransmission timeout.
    pub rto_max: Duration,
    /// Time without progress after which an open connection is aborted, unless it has its own
    /// limit.
    pub user_timeout: Duration,
    /// The same for a connection that is being opened.
    pub connect_timeout: Duration,
    /// Time in SYN_RCVD.
    pub syn_rcvd_time: Duration,
    /// Time in FIN_WAIT_1 without progress.
    pub finwait1_time: Duration,
    /// Time in FIN_WAIT_2 after the application has closed both directions.
    pub finwait2_time: Duration,
    /// Time in CLOSING without progress.
    pub closing_time: Duration,
    /// Time in LAST_ACK without progress.
    pub lastack_time: Duration,
    /// Time in TIME_WAIT.
    pub timewait_time: Duration,
    /// Longest delay of an acknowledgment.
    pub ack_delay: Duration,
    /// Initial congestion window in segments (RFC 6928).
    pub initial_cwnd: u8,
    /// Initial receive window.
    pub rcv_buffer: u32,
    /// Largest receive window.
    pub rcv_buffer_max: u32,
    /// Smallest maximum segment size accepted from a peer.
    pub min_mss: u16,
    /// Largest payload of an [`crate::Outgoing`]; at least one maximum segment size is always
    /// allowed.
    pub max_burst: u32,
    /// Use of timestamps.
    pub timestamps: bool,
    /// Use of window scaling.
    pub window_scale: bool,
    /// Use of SACK.
    pub sack: bool,
    /// Whether duplicates are reported (D-SACK, RFC 2883).
    pub dsack: bool,
    /// Approximate limit of challenge ACKs per second.
    pub challenges: u32,
    /// Congestion control of new connections.
    pub algorithm: Algorithm,
}

impl Default for Config {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            rto_initial: seconds(1),
            rto_min: Duration::from_millis(200),
            rto_max: seconds(60),
            user_timeout: seconds(15 * 60),
            connect_timeout: seconds(3 * 60),
            syn_rcvd_time: seconds(60),
            finwait1_time: seconds(60),
            finwait2_time: seconds(30),
            closing_time: seconds(30),
            lastack_time: seconds(30),
            timewait_time: seconds(60),
            ack_delay: Duration::from_millis(40),
            initial_cwnd: 10,
            rcv_buffer: 64 << 10,
            rcv_buffer_max: 32 << 20,
            min_mss: 216,
            max_burst: 64 << 10,
            timestamps: true,
            window_scale: true,
            sack: true,
            dsack: true,
            challenges: 1000,
            algorithm: Algorithm::Cubic,
        }
    }
}

/// Settings of one connection; its application may change them at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Whether short segments are sent without waiting for acknowledgments (TCP_NODELAY).
    pub is_undelayed: bool,
    /// Whether short segments wait for more data, up to 200 ms (TCP_CORK).
    pub is_corked: bool,
    /// Seconds without a segment after which keepalive probes are sent; 0 for never.
    pub keepalive_idle_s: u16,
    /// Seconds between two keepalive probes.
    pub keepalive_interval_s: u16,
    /// Number of unanswered probes after which the connection is aborted.
    pub keepalive_probes: u8,
    /// Time without progress after which the connection is aborted, in milliseconds (the local half
    /// of RFC 5482); 0 for that of [`Config`].
    pub user_timeout_ms: u32,
}

impl Settings {
    /// Enables keepalive after two hours, then every 75 s, 9 times (RFC 9293 MUST-28).
    pub fn with_keepalive(self) -> Self {
        Self { keepalive_idle_s: 7200, keepalive_interval_s: 75, keepalive_probes: 9, ..self }
    }
}
