//! NewReno: slow start and congestion avoidance of RFC 5681, counting bytes (RFC 3465).

use super::{Controller, Sample, Window, slow_start};
use crate::Time;

/// NewReno state.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewReno {
    /// Bytes acknowledged since the last growth of the window.
    acked: u32,
}

impl Controller for NewReno {
    fn on_ack(&mut self, _: Time, sample: &Sample, mss: u32, window: &mut Window) {
        if !sample.is_limited {
            return;
        }
        let acked = slow_start(sample.acked, window);
        self.acked += acked;
        if self.acked >= window.cwnd {
            self.acked -= window.cwnd;
            window.cwnd += mss;
        }
    }

    fn on_loss(&mut self, _: Time, flight: u32, mss: u32, window: &mut Window) {
        self.acked = 0;
        window.ssthresh = (flight / 2).max(2 * mss);
    }

    fn on_timeout(&mut self, now: Time, flight: u32, mss: u32, window: &mut Window) {
        self.on_loss(now, flight, mss, window);
    }

    fn on_undo(&mut self) {}

    fn on_idle(&mut self, _: Time) {}
}
