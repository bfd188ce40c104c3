//! Random early detection (S. Floyd, V. Jacobson, 1993; RFC 2309), weighted by colour.

/// Thresholds for packets of one class and colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Red {
    /// Average length of a queue up to which nothing is dropped, in packets.
    pub min: u32,
    /// Average length from which on everything is.
    pub max: u32,
    /// One packet of so many is dropped just below `max`.
    pub inverse: u32,
    /// The average moves by 1 / 2^weight of the difference with each packet.
    pub weight: u8,
}

impl Red {
    /// Largest weight.
    pub const MOST_WEIGHT: u8 = 15;

    /// Checks that the curve is possible.
    ///
    /// # Errors
    /// The reason why it is not, as a text.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.min >= self.max {
            return Err("min must be below max");
        }
        if self.inverse == 0 {
            return Err("inverse must be at least 1");
        }
        if self.weight > Self::MOST_WEIGHT {
            return Err("weight must be at most 15");
        }
        Ok(())
    }
}

/// The average length of a queue, and the packets since the last early drop.
#[derive(Clone, Copy, Debug, Default)]
pub struct Average {
    packets: f64,
    since_drop: u32,
    empty_since: f64,
}

impl Average {
    /// The queue is empty.
    pub fn empties(&mut self, now: f64) {
        self.empty_since = now;
    }
    /// Whether a packet that finds `length` others is dropped; `random` is from 0 to 1, and
    /// `packet_time` what a small packet takes on the link, for queues that were empty.
    pub fn drops(
        &mut self,
        red: &Red,
        length: u32,
        (now, packet_time): (f64, f64),
        random: f64,
    ) -> bool {
        let part = 0.5f64.powi(i32::from(red.weight));
        if length == 0 {
            let missed = (now - self.empty_since).max(0.0) / packet_time.max(1e-12);
            self.packets *= (1.0 - part).powf(missed);
        } else {
            self.packets += (f64::from(length) - self.packets) * part;
        }
        let (min, max) = (f64::from(red.min), f64::from(red.max));
        if self.packets < min {
            self.since_drop = 0;
            return false;
        }
        if self.packets >= max {
            self.since_drop = 0;
            return true;
        }
        let probability = (self.packets - min) / (max - min) / f64::from(red.inverse);
        let spread = 1.0 - f64::from(self.since_drop) * probability;
        let is_dropped = spread <= 0.0 || random < probability / spread;
        self.since_drop = if is_dropped { 0 } else { self.since_drop.saturating_add(1) };
        is_dropped
    }
}
