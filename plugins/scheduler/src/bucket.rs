//! Token buckets that a packet may leave in debt.
//!
//! A bucket that owes nothing lets a packet of any length go, and owes what it had not. So the rate
//! over time is exact, and packets longer than the burst are not stuck.

/// Bytes that a bucket may owe and still let a packet go: more than sums of times round off.
const SLACK: f64 = 0.5;

/// A token bucket: tokens are bytes.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    rate: f64,
    burst: f64,
    level: f64,
    filled_at: f64,
}

impl Bucket {
    /// A full bucket that fills with `rate` bytes a second; infinite for no limit.
    pub fn new(rate: f64, burst: f64, now: f64) -> Self {
        Self { rate, burst, level: burst, filled_at: now }
    }
    /// Changes its rate and size, from now on.
    pub fn change(&mut self, rate: f64, burst: f64, now: f64) {
        self.fill(now);
        (self.rate, self.burst) = (rate, burst);
        self.level = self.level.min(burst);
    }
    #[inline(always)]
    fn fill(&mut self, now: f64) {
        let passed = (now - self.filled_at).max(0.0);
        self.filled_at = now;
        self.level = (self.level + self.rate * passed).min(self.burst);
    }
    /// Seconds until it lets a packet go; 0 when it does now.
    #[inline(always)]
    pub fn wait(&mut self, now: f64) -> f64 {
        if self.rate.is_infinite() {
            return 0.0;
        }
        self.fill(now);
        if self.level >= -SLACK { 0.0 } else { -self.level / self.rate }
    }
    /// A packet goes.
    #[inline(always)]
    pub fn take(&mut self, bytes: f64) {
        if self.rate.is_finite() {
            self.level -= bytes;
        }
    }
}
