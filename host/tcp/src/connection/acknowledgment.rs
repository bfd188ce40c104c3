//! Acknowledgments of the peer (RFC 9293 section 3.10.7.4, fifth): delivered data, round-trip
//! times, windows.

use wire::tcp::Flags as Bits;

use super::{Connection, Flags, Phase};
use crate::congestion::{Controller, Sample};
use crate::flight::{Delivery, was_before};
use crate::{Effects, Events, Machine, Segment, Seq, State, Time, Timer, Verdict};

/// A duplicate reported by the peer (RFC 2883).
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplicate {
    pub(super) len: u32,
    pub(super) end: Seq,
}

impl Connection {
    /// Handles an acknowledgment within the bytes in flight.
    #[inline]
    pub(super) fn acknowledged(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        effects: &mut Effects,
    ) {
        let (una, ack) = (self.snd_una, segment.ack);
        let acked = ack - una;
        let (was_out, was_recovering) = (self.outstanding(), self.phase == Phase::Recovery);
        let mut delivery = Delivery::new(now.us() as u32, self.min_rtt.us(), self.rack.highest);
        if acked > 0 {
            if !self.flight.is_none() {
                let flight = machine.flights.at_mut(self.flight);
                flight.acknowledge(una, ack, &mut self.totals, &mut delivery);
            }
            self.snd_una = ack;
            effects.acked += acked - u32::from(self.is_fin_acked());
            self.progress_at = now;
            if ack == self.snd_nxt {
                machine.flights.give(&mut self.flight);
            }
        }
        let sack = segment.options.sack;
        let duplicate = if sack.is_empty() || !self.flags.has(Flags::SACK) {
            None
        } else {
            self.reported(machine, segment, &mut delivery)
        };
        let sample = self.measure(machine, now, segment, acked, &delivery);
        self.note_newest(&delivery);
        let is_updated = self.update_window(machine, segment, acked > 0);
        if acked > 0 || (is_updated && (self.timer == Timer::Persist || self.snd_wnd == 0)) {
            // Sending follows, and starts the timer again if necessary.
            (self.timer, self.retransmit_at) = (Timer::None, Time::NEVER);
            self.set_timer(now);
        }
        let is_again = acked == 0 && !is_updated && segment.seq_len() == 0;
        if is_again && was_out > 0 && self.snd_wnd > 0 {
            self.statistics.dupacks += 1;
            effects.verdict = Verdict::AckDup;
            if !self.flags.has(Flags::SACK) && self.phase != Phase::Loss {
                self.dupacks = self.dupacks.saturating_add(1);
                delivery.bytes = self.segment_size();
            }
        }
        let is_quiet = self.phase == Phase::Open
            && self.totals.sacked == 0
            && self.dupacks == 0
            && duplicate.is_none()
            && !self.flags.has(Flags::PROBE_OUT);
        if !is_quiet {
            self.recover(machine, now, segment, acked, &mut delivery, duplicate);
        }
        if acked > 0 && !was_recovering && self.phase != Phase::Recovery {
            self.grow(now, acked, sample);
        }
        if acked > 0
            || delivery.sacked > 0
            || is_updated
            || self.totals.lost > 0
            || self.dupacks > 0
        {
            effects.events |= Events::SEND;
        }
    }

    /// Handles SACK blocks; returns the duplicate, if the first block is one (RFC 2883 section 4).
    fn reported(
        &mut self,
        machine: &mut Machine,
        segment: &Segment,
        delivery: &mut Delivery,
    ) -> Option<Duplicate> {
        let blocks = segment.options.sack;
        let mut duplicate = None;
        for (index, (start, end)) in blocks.as_slice().iter().enumerate() {
            let (start, end) = (Seq(*start), Seq(*end));
            if !start.is_before(end) || end.is_after(self.snd_nxt) {
                continue;
            }
            let is_inside = blocks.as_slice().get(1).is_some_and(|(first, last)| {
                !start.is_before(Seq(*first)) && !end.is_after(Seq(*last))
            });
            if index == 0 && (!end.is_after(self.snd_una) || is_inside) {
                machine.counters.duplicates_reported += 1;
                duplicate = Some(Duplicate { len: end - start, end });
            } else if start.is_after(self.snd_una) && !self.flight.is_none() {
                let flight = machine.flights.at_mut(self.flight);
                flight.sack(self.snd_una, (start, end), &mut self.totals, delivery);
            }
        }
        duplicate
    }

    /// Measures the round-trip time (RFC 6298 section 3, RFC 7323 section 4); 0 if not possible.
    #[inline]
    fn measure(
        &mut self,
        machine: &Machine,
        now: Time,
        segment: &Segment,
        acked: u32,
        delivery: &Delivery,
    ) -> u32 {
        let once = delivery.sent.filter(|_| !delivery.has_resent);
        let sample = if let Some(sent) = once {
            delivery.now.wrapping_sub(sent).max(1)
        } else if let (1.., Some((sent, _)), Some(timestamp)) =
            (acked, delivery.newest, segment.options.timestamp)
            && self.flags.has(Flags::TIMESTAMPS)
        {
            // For a retransmission, only if the echo is that of the latest transmission. An older
            // echo may be from a duplicate.
            let age = delivery.now.wrapping_sub(sent);
            let stamp = self.stamp(now).wrapping_sub(age / 1000);
            let is_last = timestamp.echo.wrapping_sub(stamp).wrapping_add(1) <= 2;
            if is_last { age.max(1) } else { 0 }
        } else {
            0
        };
        if sample > 0 {
            self.rtt.add(sample, &machine.config);
            if once.is_some() {
                self.min_rtt.add(sample, now);
            }
        }
        // Karn's algorithm: the timeout stays backed off until data that was sent once is
        // delivered, or a retransmission with a normal round-trip time.
        let age = delivery.newest.map(|(sent, _)| delivery.now.wrapping_sub(sent));
        let usual = self.min_rtt.us()..=self.rtt.smoothed.saturating_mul(2);
        let is_usual = age.is_some_and(|age| usual.contains(&age));
        if acked > 0 && (sample > 0 || delivery.has_once || is_usual) {
            self.backoff = 0;
        }
        sample
    }

    /// Records the latest transmission among delivered data (RFC 8985 section 6.2 steps 1 to 3).
    #[inline]
    fn note_newest(&mut self, delivery: &Delivery) {
        if let Some((sent, end)) = delivery.newest
            && self.rack.newest.is_none_or(|newest| !was_before(sent, end, newest))
        {
            self.rack.newest = Some((sent, end));
            self.rack.rtt = delivery.now.wrapping_sub(sent);
        }
        self.rack.highest = delivery.highest;
        self.rack.is_reordering_seen |= delivery.is_reordered;
    }

    /// Updates the peer's window if the segment is newer than the last update, or acknowledges more
    /// data. Returns whether it has changed.
    #[inline]
    pub(super) fn update_window(
        &mut self,
        machine: &mut Machine,
        segment: &Segment,
        is_more: bool,
    ) -> bool {
        let is_newer = is_more
            || self.snd_wl1.is_before(segment.seq)
            || (self.snd_wl1 == segment.seq && !segment.ack.is_before(self.snd_wl2));
        if !is_newer {
            return false;
        }
        (self.snd_wl1, self.snd_wl2) = (segment.seq, segment.ack);
        let before = self.snd_wnd;
        self.snd_wnd = u32::from(segment.window) << self.snd_shift;
        self.snd_wnd_max = self.snd_wnd_max.max(self.snd_wnd);
        if before == 0 && self.snd_wnd > 0 {
            self.backoff = 0;
            // The peer has dropped data that was sent into the closed window.
            if !self.flight.is_none() && self.timer == Timer::Persist {
                let (una, len) = (self.snd_una, self.outstanding().min(self.segment_size()));
                machine.flights.at_mut(self.flight).lose_first(una, len, &mut self.totals);
            }
        }
        before != self.snd_wnd
    }

    /// Grows the congestion window.
    #[inline]
    fn grow(&mut self, now: Time, acked: u32, sample: u32) {
        let is_new_round = !self.snd_una.is_before(self.round_end);
        if is_new_round {
            self.round_end = self.snd_nxt;
        }
        let sample = Sample {
            acked,
            rtt_us: sample,
            srtt_us: self.rtt.smoothed,
            is_limited: self.flags.has(Flags::LIMITED) || self.phase == Phase::Loss,
            is_new_round,
        };
        let mss = self.segment_size();
        self.congestion.on_ack(now, &sample, mss, &mut self.window);
    }

    /// Changes state if our FIN is acknowledged; true if the connection has ended.
    pub(super) fn after_fin(
        &mut self,
        machine: &mut Machine,
        now: Time,
        effects: &mut Effects,
    ) -> bool {
        if !self.is_fin_acked() {
            return false;
        }
        match self.state {
            State::FinWait1 => self.enter(machine, now, State::FinWait2),
            State::Closing => {
                self.enter(machine, now, State::TimeWait);
                effects.events |= Events::TIME_WAIT;
            }
            State::LastAck => {
                self.end(machine, None, effects);
                return true;
            }
            _ => {}
        }
        false
    }

    /// Whether the acknowledgment is plausible: for data that was sent, and not too old (RFC 5961
    /// section 5.2).
    pub(super) fn is_ack_possible(&self, segment: &Segment) -> bool {
        let oldest = self.snd_una - self.snd_wnd_max.max(1);
        segment.has(Bits::ACK)
            && !segment.ack.is_after(self.snd_nxt)
            && !segment.ack.is_before(oldest)
    }
}
