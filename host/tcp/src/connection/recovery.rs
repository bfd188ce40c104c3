//! Loss recovery: RACK-TLP (RFC 8985), NewReno without SACK (RFC 6582), proportional rate reduction
//! (RFC 6937), and its undoing (RFC 3522, RFC 4015).

use super::acknowledgment::Duplicate;
use super::{Connection, Flags, Phase, Recovery};
use crate::congestion::Controller;
use crate::flight::Delivery;
use crate::{Machine, Segment, Time, Timer};

/// Number of segments out of order after which earlier ones are lost (DupThresh of RFC 5681).
const DUPLICATES: u32 = 3;
/// Number of recoveries after which the reordering window is small again (RFC 8985 section 6.2).
const PERSIST: u8 = 16;

impl Connection {
    /// Handles an acknowledgment while data is lost, out of order or being probed.
    pub(super) fn recover(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        acked: u32,
        delivery: &mut Delivery,
        duplicate: Option<Duplicate>,
    ) {
        if let Some(duplicate) = duplicate {
            self.widen(duplicate);
        }
        self.undo_if_needless(machine, now, segment, acked, duplicate.is_some());
        self.check_probe(machine, now, segment, duplicate);
        if self.phase != Phase::Open && !self.snd_una.is_before(self.recovery.point) {
            self.finish();
        }
        if self.flags.has(Flags::SACK) {
            self.detect(machine, now);
        } else {
            self.detect_without_sack(machine, acked);
        }
        self.enter_recovery_if_lost(machine, now);
        if self.phase == Phase::Recovery {
            self.reduce(delivery.bytes);
        }
    }

    /// Widens the reordering window: the peer has received a duplicate (section 6.2 step 4).
    fn widen(&mut self, duplicate: Duplicate) {
        self.recovery.doubtful = self.recovery.doubtful.saturating_sub(duplicate.len);
        if self.rack.duplicate_round.is_none_or(|end| !self.snd_una.is_before(end)) {
            self.rack.duplicate_round = Some(self.snd_nxt);
            self.rack.quarters = self.rack.quarters.saturating_add(1);
            self.rack.persist = PERSIST;
        }
    }

    /// Time to wait for a segment that was sent before a delivered one.
    fn reordering_window(&self) -> u32 {
        let many = DUPLICATES * self.segment_size();
        let is_sure = self.phase != Phase::Open || self.totals.sacked >= many;
        if !self.rack.is_reordering_seen && is_sure {
            return 0;
        }
        let quarter = u64::from(self.min_rtt.us() / 4);
        (quarter * u64::from(self.rack.quarters)).min(u64::from(self.rtt.smoothed)) as u32
    }

    /// Detects losses by time (RFC 8985 section 6.2 step 5).
    pub(super) fn detect(&mut self, machine: &mut Machine, now: Time) {
        let (Some(newest), false) = (self.rack.newest, self.flight.is_none()) else { return };
        let window = self.rack.rtt.saturating_add(self.reordering_window());
        let flight = machine.flights.at_mut(self.flight);
        let now_us = now.us() as u32;
        let (_, wait) = flight.detect(self.snd_una, newest, now_us, window, &mut self.totals);
        if let Some(wait) = wait {
            self.timer = Timer::Reorder;
            self.retransmit_at = now + u64::from(wait.max(1));
        } else if self.timer == Timer::Reorder {
            self.set_timer(now);
        }
    }

    /// Detects losses by counting duplicate ACKs (RFC 6582 section 3.2).
    fn detect_without_sack(&mut self, machine: &mut Machine, acked: u32) {
        let len = self.segment_size().min(self.outstanding());
        let is_third = self.phase == Phase::Open && u32::from(self.dupacks) == DUPLICATES;
        let is_partial = self.phase == Phase::Recovery && acked > 0;
        if acked > 0 {
            // These segments are now acknowledged, so their duplicate ACKs no longer count.
            let count = acked.div_ceil(self.segment_size()).min(255) as u8;
            let is_over = self.phase != Phase::Recovery;
            self.dupacks = if is_over { 0 } else { self.dupacks.saturating_sub(count) };
        }
        // Section 4.1: not again for data that was already retransmitted.
        let is_new = self.snd_una.is_after(self.recovery.point);
        if len > 0 && !self.flight.is_none() && (is_partial || (is_third && is_new)) {
            let flight = machine.flights.at_mut(self.flight);
            flight.lose_first(self.snd_una, len, &mut self.totals);
            self.flags.set(Flags::FIRST_DUE);
        }
    }

    /// Starts fast recovery if data is lost.
    pub(super) fn enter_recovery_if_lost(&mut self, machine: &mut Machine, now: Time) {
        if self.phase != Phase::Open || self.totals.lost == 0 {
            return;
        }
        machine.counters.recoveries += 1;
        let before = Some(self.window);
        self.reduce_threshold(now);
        self.phase = Phase::Recovery;
        let (point, flight) = (self.snd_nxt, self.outstanding());
        self.recovery = Recovery { point, flight, before, ..Recovery::default() };
        self.flags.set(Flags::FIRST_DUE);
    }

    /// Lets the controller reduce the threshold after a loss.
    fn reduce_threshold(&mut self, now: Time) {
        let mss = self.segment_size();
        let flight = self.outstanding().min(self.window.cwnd).max(mss);
        self.congestion.on_loss(now, flight, mss, &mut self.window);
    }

    /// Proportional rate reduction, with the slow-start reduction bound.
    fn reduce(&mut self, delivered: u32) {
        let (pipe, mss) = (self.pipe(), self.segment_size());
        let recovery = &mut self.recovery;
        recovery.delivered = recovery.delivered.saturating_add(delivered);
        let ssthresh = self.window.ssthresh;
        let allowed = if pipe > ssthresh {
            let share = u64::from(recovery.delivered) * u64::from(ssthresh);
            let share = share.div_ceil(u64::from(recovery.flight.max(1))) as u32;
            share.saturating_sub(recovery.sent)
        } else {
            let bound = recovery.delivered.saturating_sub(recovery.sent).max(delivered) + mss;
            (ssthresh - pipe).min(bound)
        };
        self.window.cwnd = pipe.saturating_add(allowed).max(mss);
    }

    /// Ends a recovery: all data that was in flight at its start is delivered.
    fn finish(&mut self) {
        if self.phase == Phase::Recovery {
            self.window.cwnd = self.window.ssthresh.max(self.segment_size());
        }
        self.phase = Phase::Open;
        self.dupacks = 0;
        self.rack.persist = self.rack.persist.saturating_sub(1);
        if self.rack.persist == 0 {
            self.rack.quarters = 1;
        }
    }

    /// Restores the window if the original segments were delivered after all: the peer's timestamp
    /// is older than the first retransmission, or it has received everything twice.
    fn undo_if_needless(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        acked: u32,
        is_duplicate: bool,
    ) {
        let (Some(before), Some(first)) = (self.recovery.before, self.recovery.first_stamp) else {
            return;
        };
        let echo = segment.options.timestamp.filter(|_| self.flags.has(Flags::TIMESTAMPS));
        let is_early = acked > 0
            && self.phase != Phase::Open
            && echo.is_some_and(|t| t.echo.wrapping_sub(first).cast_signed() < 0);
        let is_all_twice = is_duplicate && self.recovery.doubtful == 0;
        if !is_early && !is_all_twice {
            return;
        }
        machine.counters.undone += 1;
        self.window.cwnd = self.window.cwnd.max(before.cwnd);
        self.window.ssthresh = self.window.ssthresh.max(before.ssthresh);
        self.congestion.on_undo();
        self.recovery.before = None;
        self.phase = Phase::Open;
        self.dupacks = 0;
        if !self.flight.is_none() {
            machine.flights.at_mut(self.flight).lose_none(&mut self.totals);
        }
        self.flags.clear(Flags::FIRST_DUE);
        self.set_timer(now);
    }

    /// Checks whether a tail loss probe has repaired an undetected loss (RFC 8985 section 7.4).
    fn check_probe(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        duplicate: Option<Duplicate>,
    ) {
        if !self.flags.has(Flags::PROBE_OUT) || segment.ack.is_before(self.probe_end) {
            return;
        }
        let is_needless = duplicate.is_some_and(|duplicate| duplicate.end == self.probe_end);
        if !self.flags.has(Flags::PROBE_RESENT) || is_needless {
            self.flags.clear(Flags::PROBE_OUT);
        } else if segment.ack.is_after(self.probe_end) {
            self.flags.clear(Flags::PROBE_OUT);
            if self.phase == Phase::Open {
                machine.counters.recoveries += 1;
                self.reduce_threshold(now);
                self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
            }
        }
    }

    /// Handles expiry of the retransmission timer (RFC 6298 section 5.4 to 5.6, RFC 8985 section
    /// 6.3).
    pub(super) fn lose_flight(&mut self, machine: &mut Machine, now: Time) {
        machine.counters.tr_events += 1;
        let mss = self.segment_size();
        // RFC 5681 section 3.1: the threshold does not change if the same data is lost again.
        if self.backoff == 0 {
            let before = (self.phase == Phase::Open).then_some(self.window);
            let flight = self.outstanding().min(self.window.cwnd).max(mss);
            self.congestion.on_timeout(now, flight, mss, &mut self.window);
            self.recovery = Recovery { before, ..Recovery::default() };
        }
        self.recovery.point = self.snd_nxt;
        self.window.cwnd = mss;
        self.phase = Phase::Loss;
        self.dupacks = 0;
        self.flags.clear(Flags::PROBE_OUT.or(Flags::FIRST_DUE));
        self.backoff = self.backoff.saturating_add(1);
        if !self.flight.is_none() {
            let flight = machine.flights.at_mut(self.flight);
            flight.forget_if_reneged(&mut self.totals);
            flight.lose_all(self.snd_una, &mut self.totals);
        }
    }

    /// Records a retransmission.
    pub(super) fn note_resent(&mut self, machine: &mut Machine, now: Time, len: u32) {
        let count = len.div_ceil(self.segment_size()).max(1);
        machine.counters.rxt_segs += u64::from(count);
        self.statistics.rxt_segs += count;
        if self.phase != Phase::Open {
            self.recovery.doubtful = self.recovery.doubtful.saturating_add(len);
            let stamp = self.stamp(now);
            self.recovery.first_stamp.get_or_insert(stamp);
        }
    }
}
