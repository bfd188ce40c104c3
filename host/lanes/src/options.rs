//! Options of TCP sessions that a program may change at any time.
#![forbid(unsafe_code)]

/// Options of a TCP session. The default is that of a new line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Whether short segments are sent without waiting for acknowledgments (TCP_NODELAY).
    pub is_undelayed: bool,
    /// Seconds without a segment after which keepalive probes are sent; 0 for never.
    pub keepalive_idle_s: u16,
    /// Seconds between two probes.
    pub keepalive_interval_s: u16,
}

impl TcpOptions {
    /// Unpacks a word; bits without a meaning are ignored.
    pub fn of(word: u64) -> Self {
        let [idle, interval] = [word as u16, (word >> 16) as u16];
        let is_undelayed = word >> 32 & 1 != 0;
        Self { is_undelayed, keepalive_idle_s: idle, keepalive_interval_s: interval }
    }
    /// Packs the options into a word.
    pub fn word(self) -> u64 {
        u64::from(self.keepalive_idle_s)
            | u64::from(self.keepalive_interval_s) << 16
            | u64::from(self.is_undelayed) << 32
    }
}
