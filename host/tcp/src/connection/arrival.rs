//! Received segments (RFC 9293 section 3.10.7), with the checks of RFC 5961 and RFC 7323.

use wire::tcp::Flags as Bits;

use super::opening::TIMESTAMP_LEN;
use super::{Connection, Flags, Phase};
use crate::segment::reset_for;
use crate::{Effects, Error, Events, Machine, Segment, Seq, Sink, State, Time, Verdict};

/// Age after which a timestamp is invalid: 24 days, in milliseconds (RFC 7323 section 5.5).
const OUTDATED_MS: u32 = 24 * 24 * 3600 * 1000;
/// Limit of challenge ACKs per connection and second (RFC 5961 section 7).
const CHALLENGES: u8 = 10;

impl Connection {
    /// Handles a segment. Replies are sent by the next [`Connection::send`]: call it once for all
    /// segments of a frame.
    #[inline]
    pub fn segment(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        rx: &mut impl Sink,
    ) -> Effects {
        let mut effects = Effects::default();
        machine.counters.in_segs += 1;
        self.statistics.in_segs = self.statistics.in_segs.wrapping_add(1);
        if self.is_plain(segment) {
            self.plain(machine, now, segment, rx, &mut effects);
        } else {
            self.any(machine, now, segment, rx, &mut effects);
        }
        effects
    }

    /// Whether the fast path applies: the segment is in order, acknowledges data in flight, and
    /// there is nothing else to do.
    #[inline(always)]
    fn is_plain(&self, segment: &Segment) -> bool {
        let is_stamp_good = match segment.options.timestamp {
            Some(timestamp) => timestamp.value.wrapping_sub(self.ts_recent).cast_signed() >= 0,
            None => !self.flags.has(Flags::TIMESTAMPS),
        };
        let odd = Flags::PEER_FIN.or(Flags::DETACHED).or(Flags::FIN_SENT);
        segment.flags.0 | Bits::PSH.0 == (Bits::ACK | Bits::PSH).0
            && segment.seq == self.rcv_nxt
            && is_stamp_good
            && self.state == State::Established
            && self.phase == Phase::Open
            && !self.flags.has(odd)
            && self.holes.is_none()
            && segment.options.sack.is_empty()
            && segment.ack - self.snd_una <= self.outstanding()
            && segment.len <= self.rcv_edge - self.rcv_nxt
    }

    #[inline]
    fn plain(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        rx: &mut impl Sink,
        effects: &mut Effects,
    ) {
        self.note_stamp(now, segment);
        self.heard_at = now;
        self.keepalives = 0;
        if segment.ack == self.snd_una && segment.len > 0 {
            if self.update_window(machine, segment, false) {
                effects.events |= Events::SEND;
            }
        } else {
            self.acknowledged(machine, now, segment, effects);
        }
        if segment.len > 0 {
            self.data_in_order(machine, now, segment, rx, effects);
        }
    }

    /// Records the timestamp of a segment up to the last acknowledgment sent (RFC 7323 section
    /// 4.3).
    #[inline]
    fn note_stamp(&mut self, now: Time, segment: &Segment) {
        if let Some(timestamp) = segment.options.timestamp
            && !segment.seq.is_after(self.ack_sent)
            && timestamp.value.wrapping_sub(self.ts_recent).cast_signed() >= 0
        {
            (self.ts_recent, self.ts_recent_at) = (timestamp.value, now.ms());
        }
    }

    /// Handles a segment in any state.
    fn any(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        rx: &mut impl Sink,
        effects: &mut Effects,
    ) {
        match self.state {
            State::Closed | State::Listen => {
                effects.verdict = Verdict::ConnectionClosed;
                self.answer_reset(segment, effects);
            }
            State::SynSent => self.in_syn_sent(machine, now, segment, rx, effects),
            _ => self.synchronized(machine, now, segment, rx, effects),
        }
    }

    fn answer_reset(&self, segment: &Segment, effects: &mut Effects) {
        if reset_for(segment).is_some() {
            effects.events |= Events::ANSWER_RESET;
        }
    }

    /// Section 3.10.7.3.
    fn in_syn_sent(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        rx: &mut impl Sink,
        effects: &mut Effects,
    ) {
        let has_ack = segment.has(Bits::ACK);
        if has_ack && segment.ack != self.snd_nxt {
            effects.verdict = Verdict::AckInvalid;
            return self.answer_reset(segment, effects);
        }
        if segment.has(Bits::RST) {
            effects.verdict = Verdict::RstRcvd;
            if has_ack {
                machine.counters.attempt_fails += 1;
                self.end(machine, Some(Error::Refused), effects);
            }
            return;
        }
        if !segment.has(Bits::SYN) {
            effects.verdict = Verdict::SegmentInvalid;
            return;
        }
        self.take_syn(&machine.config, now, segment.seq, &segment.options);
        self.measure_room(rx);
        if !has_ack {
            // Simultaneous open (section 3.5, figure 7).
            self.state = State::SynRcvd;
            self.snd_wnd = u32::from(segment.window);
            self.flags.set(Flags::SYN_DUE);
            effects.events |= Events::SEND;
            effects.verdict = Verdict::SynsRcvd;
            return;
        }
        effects.verdict = Verdict::SynAcksRcvd;
        self.rcv_edge = self.rcv_nxt + self.rcv_space.min(0xffff);
        self.establish(machine, now, segment, effects);
        self.acknowledge_now(effects);
        if segment.len > 0 || segment.has(Bits::FIN) {
            self.data(machine, now, segment, segment.seq + 1, rx, effects);
        }
    }

    /// Section 3.10.7.4: all other states.
    fn synchronized(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        rx: &mut impl Sink,
        effects: &mut Effects,
    ) {
        let mut segment = *segment;
        if self.state == State::SynRcvd && segment.has(Bits::SYN) && segment.seq == self.irs {
            if !segment.has(Bits::ACK) {
                effects.verdict = Verdict::SynsRcvd;
                self.flags.set(Flags::SYN_DUE);
                effects.events |= Events::SEND;
                return;
            }
            // In a simultaneous open, only the acknowledgment matters.
            segment.flags.0 &= !Bits::SYN.0;
            segment.seq += 1;
            segment.window >>= self.snd_shift; // the window of a SYN is not scaled
        }
        if !self.has_good_stamp(now, &segment, effects) || !self.is_in_window(machine, &segment) {
            return self.refuse(machine, now, &segment, effects);
        }
        if segment.has(Bits::RST) {
            return self.reset(machine, now, &segment, effects);
        }
        if segment.has(Bits::SYN) {
            effects.verdict =
                if segment.has(Bits::ACK) { Verdict::SpuriousSynAck } else { Verdict::SpuriousSyn };
            return self.challenge(machine, now, effects);
        }
        if !segment.has(Bits::ACK) {
            effects.verdict = Verdict::SegmentInvalid;
            return;
        }
        if self.state == State::SynRcvd {
            if segment.ack != self.snd_nxt {
                effects.verdict = Verdict::AckInvalid;
                return self.answer_reset(&segment, effects);
            }
            effects.verdict = Verdict::ConnAccepted;
            self.establish(machine, now, &segment, effects);
        } else if !self.is_ack_possible(&segment) {
            effects.verdict = if segment.ack.is_after(self.snd_nxt) {
                Verdict::AckFuture
            } else {
                Verdict::AckInvalid
            };
            return self.challenge(machine, now, effects);
        }
        self.accepted(machine, now, &segment, rx, effects);
    }

    /// Fifth to eighth step, for an acceptable segment.
    fn accepted(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        rx: &mut impl Sink,
        effects: &mut Effects,
    ) {
        self.note_stamp(now, segment);
        (self.heard_at, self.keepalives) = (now, 0);
        if segment.ack.is_before(self.snd_una) {
            effects.verdict = Verdict::AckOld;
        } else {
            self.acknowledged(machine, now, segment, effects);
        }
        if self.after_fin(machine, now, effects) {
            return;
        }
        if !self.state.may_receive() {
            if segment.seq_len() > 0 {
                self.acknowledge_now(effects);
            }
            return;
        }
        if segment.has(Bits::URG) {
            self.note_urgent(segment, effects);
        }
        let end = segment.seq + segment.len;
        if self.flags.has(Flags::DETACHED) && segment.len > 0 && end.is_after(self.rcv_nxt) {
            // Section 3.6.1: no application will read it, so the peer gets a reset.
            effects.verdict = Verdict::ConnectionClosed;
            machine.counters.rst_unread += 1;
            self.answer_reset(segment, effects);
            return self.end(machine, Some(Error::Aborted), effects);
        }
        if segment.seq_len() > 0 {
            self.data(machine, now, segment, segment.seq, rx, effects);
        }
    }

    /// RFC 9293 section 3.8.5: urgent data stays in the stream; the application is notified once.
    fn note_urgent(&mut self, segment: &Segment, effects: &mut Effects) {
        let urgent = segment.seq + u32::from(segment.urgent);
        let known = self.urgent_ahead();
        if urgent.beyond(self.rcv_nxt) > known.unwrap_or(0) {
            if known.is_none() {
                effects.events |= Events::URGENT;
            }
            self.urgent = urgent;
            self.flags.set(Flags::URGENT);
        }
    }

    /// PAWS (RFC 7323 section 5.3), and presence of timestamps (section 3.2). Resets need none.
    fn has_good_stamp(&self, now: Time, segment: &Segment, effects: &mut Effects) -> bool {
        if !self.flags.has(Flags::TIMESTAMPS) || segment.has(Bits::RST) {
            return true;
        }
        let Some(timestamp) = segment.options.timestamp else {
            effects.verdict = Verdict::Options;
            return false;
        };
        let is_old = timestamp.value.wrapping_sub(self.ts_recent).cast_signed() < 0;
        let is_outdated = now.ms().wrapping_sub(self.ts_recent_at) > OUTDATED_MS;
        if is_old && !is_outdated {
            effects.verdict = Verdict::Paws;
            return false;
        }
        true
    }

    /// Whether part of a segment is in the window. With a closed window, the acknowledgment of the
    /// next segment is accepted (MUST-66), but not its data.
    fn is_in_window(&mut self, machine: &Machine, segment: &Segment) -> bool {
        let end = segment.seq + segment.seq_len();
        let is_in = if segment.seq_len() == 0 {
            !segment.seq.is_before(self.rcv_nxt) && !segment.seq.is_after(self.rcv_edge)
        } else {
            let is_next = segment.seq == self.rcv_nxt;
            end.is_after(self.rcv_nxt) && (segment.seq.is_before(self.rcv_edge) || is_next)
        };
        if !is_in && segment.len > 0 && !end.is_after(self.rcv_nxt) {
            self.note_duplicate(machine, segment.seq, segment.seq + segment.len);
        }
        is_in
    }

    /// Handles a segment outside of the window: one of another connection, or a duplicate.
    fn refuse(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        effects: &mut Effects,
    ) {
        if effects.verdict == Verdict::Options || segment.has(Bits::RST) {
            return;
        }
        if effects.verdict != Verdict::Paws {
            let is_old = segment.seq.is_before(self.rcv_nxt);
            effects.verdict = if is_old { Verdict::SegmentOld } else { Verdict::RcvWnd };
        }
        // A peer whose acknowledgment was lost retransmits data and FINs, and is answered each
        // time. Other answers are rate-limited, so that two hosts cannot trigger each other
        // endlessly.
        if segment.has(Bits::SYN) || segment.seq_len() == 0 {
            self.challenge(machine, now, effects);
        } else {
            self.acknowledge_now(effects);
        }
        if self.state == State::TimeWait {
            self.enter(machine, now, State::TimeWait);
            effects.events |= Events::TIME_WAIT;
        }
    }

    /// Handles a reset in the window (RFC 5961 section 3.2).
    fn reset(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        effects: &mut Effects,
    ) {
        effects.verdict = Verdict::RstRcvd;
        if segment.seq != self.rcv_nxt {
            return self.challenge(machine, now, effects);
        }
        let error = match self.state {
            State::SynRcvd => {
                machine.counters.attempt_fails += 1;
                Some(Error::Refused)
            }
            State::Closing | State::LastAck | State::TimeWait => None,
            _ => {
                machine.counters.estab_resets += 1;
                Some(Error::Reset)
            }
        };
        self.end(machine, error, effects);
    }

    /// Sends a challenge ACK: a peer that has restarted answers it with a valid reset.
    fn challenge(&mut self, machine: &mut Machine, now: Time, effects: &mut Effects) {
        let second = (now.us() / 1_000_000) as u32;
        if self.challenges.0 != second {
            self.challenges = (second, 0);
        }
        if self.challenges.1 >= CHALLENGES {
            machine.counters.challenges_withheld += 1;
        } else if machine.may_challenge(now) {
            self.challenges.1 += 1;
            self.acknowledge_now(effects);
        }
    }

    /// Handles an ICMP error about the segment that starts at `seq`. Hard errors end a connection
    /// that is being opened; others are only recorded (RFC 5927, RFC 9293 MUST-56, SHLD-26).
    pub fn unreachable(&mut self, machine: &mut Machine, seq: Seq, is_hard: bool) -> Effects {
        let mut effects = Effects::default();
        let is_in_flight = seq - self.snd_una < self.outstanding();
        let is_opening = matches!(self.state, State::SynSent | State::SynRcvd);
        if is_in_flight && is_opening && is_hard {
            machine.counters.attempt_fails += 1;
            self.end(machine, Some(Error::Unreachable), &mut effects);
        }
        effects
    }

    /// Handles an ICMP error that the segment that starts at `seq` exceeds the path MTU. From now
    /// on segments carry at most `most` bytes, including options, and data in flight is sent again
    /// (RFC 1191, RFC 8201). Errors about data not in flight are ignored (RFC 5927), and segments
    /// do not become shorter than [`crate::Config::min_mss`].
    pub fn too_big(&mut self, machine: &mut Machine, seq: Seq, most: u16) -> Effects {
        let mut effects = Effects::default();
        let options = if self.flags.has(Flags::TIMESTAMPS) { TIMESTAMP_LEN } else { 0 };
        let mss = most.max(machine.config.min_mss).saturating_sub(options).max(1);
        let is_in_flight = seq - self.snd_una < self.outstanding();
        if !is_in_flight || !self.state.is_synchronized() || mss >= self.mss {
            return effects;
        }
        self.mss = mss;
        machine.counters.too_big += 1;
        if !self.flight.is_none() {
            // This is no sign of congestion, so the window does not change.
            machine.flights.at_mut(self.flight).lose_all(self.snd_una, &mut self.totals);
            effects.events |= Events::SEND;
        }
        effects
    }
}
