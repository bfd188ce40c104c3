//! The rate limit of ICMP errors of a thread (RFC 1812 section 4.3.2.8, RFC 4443 section 2.4 f).

/// Errors in a second, for long.
const RATE: f64 = 1000.0;
/// Errors at once.
const BURST: f64 = 1000.0;

/// A token bucket on the router's clock.
#[derive(Clone, Debug)]
pub struct Limit {
    tokens: f64,
    filled_at: f64,
}

impl Limit {
    /// A full one.
    pub fn new() -> Self {
        Self { tokens: BURST, filled_at: 0.0 }
    }
    /// Adds the tokens since the last call; `now` in seconds.
    pub fn fill(&mut self, now: f64) {
        let passed = (now - self.filled_at).max(0.0);
        self.tokens = (self.tokens + passed * RATE).min(BURST);
        self.filled_at = now;
    }
    /// Takes one out, if there is one.
    pub fn take(&mut self) -> bool {
        let is_there = self.tokens >= 1.0;
        self.tokens -= f64::from(u8::from(is_there));
        is_there
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_a_rate() {
        let mut limit = Limit::new();
        limit.fill(10.0);
        assert_eq!((0..5000).filter(|_| limit.take()).count(), 1000);
        limit.fill(10.5);
        assert_eq!((0..5000).filter(|_| limit.take()).count(), 500);
        limit.fill(9.0);
        assert!(!limit.take(), "a clock set back gives nothing");
        limit.fill(1e9);
        assert_eq!((0..5000).filter(|_| limit.take()).count(), 1000, "and one set forward a burst");
    }
}
