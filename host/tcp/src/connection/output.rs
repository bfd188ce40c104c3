//! Sending: retransmissions, probes, new data, acknowledgments (RFC 9293 section 3.8.6.2.1).

use wire::tcp::{Flags as Bits, Options, Timestamp};

use super::{Connection, Flags, Phase};
use crate::congestion::Controller;
use crate::{Emit, Machine, Outgoing, Segment, Seq, State, Time, Timer};

/// A call of [`Connection::send`].
struct Sending<'a, E> {
    machine: &'a mut Machine,
    now: Time,
    out: &'a mut E,
    /// Number of segments that it may still send.
    budget: u32,
    /// Whether the budget or free buffers were the limit.
    is_unfinished: bool,
}

/// Payload of a segment.
#[derive(Clone, Copy)]
struct Part {
    seq: Seq,
    len: u32,
    flags: Bits,
}

impl Connection {
    /// Sends pending segments, as far as allowed and at most `budget`: retransmissions, new data,
    /// an acknowledgment. `available` is the number of bytes in the source, including those in
    /// flight. Returns whether to call it again soon, because the budget or free buffers were the
    /// limit.
    #[inline]
    pub fn send(
        &mut self,
        machine: &mut Machine,
        now: Time,
        available: u32,
        budget: u32,
        out: &mut impl Emit,
    ) -> bool {
        let mut sending = Sending { machine, now, out, budget, is_unfinished: false };
        if !self.state.is_synchronized() {
            self.send_handshake(&mut sending);
            return sending.is_unfinished;
        }
        let special = Flags::PERSIST_DUE.or(Flags::TAIL_DUE).or(Flags::KEEPALIVE_DUE);
        if self.flags.has(special) {
            self.send_probes(&mut sending, available);
        }
        if self.totals.lost > 0 {
            self.send_lost(&mut sending);
        }
        let data_out =
            self.outstanding().saturating_sub(u32::from(self.flags.has(Flags::FIN_SENT)));
        let is_fin_due = self.flags.has(Flags::FIN_QUEUED) && !self.flags.has(Flags::FIN_SENT);
        if available > data_out || is_fin_due {
            self.send_new(&mut sending, available);
        }
        if self.flags.has(Flags::ACK_NOW) {
            self.send_ack(&mut sending);
        }
        sending.is_unfinished
    }

    fn send_handshake<E: Emit>(&mut self, sending: &mut Sending<E>) {
        if self.flags.has(Flags::SYN_DUE) {
            sending.is_unfinished = !self.send_syn(sending.machine, sending.now, sending.out);
        } else if self.state == State::SynRcvd && self.flags.has(Flags::ACK_NOW) {
            self.send_ack(sending);
        }
    }

    /// Whether the next [`Connection::send`] sends an acknowledgment.
    #[inline]
    pub fn is_ack_due(&self) -> bool {
        self.flags.has(Flags::ACK_NOW)
    }

    /// Sends new data and the FIN after it, as far as windows and Nagle's algorithm allow.
    #[inline]
    fn send_new<E: Emit>(&mut self, sending: &mut Sending<E>, available: u32) {
        if self.flags.has(Flags::FIN_SENT) {
            return;
        }
        if self.outstanding() == 0 && !self.begin_flight(sending) {
            return;
        }
        let mss = self.segment_size();
        self.flags.clear(Flags::LIMITED);
        loop {
            let unsent = available.saturating_sub(self.outstanding());
            let window = self.window_left();
            let congestion = self.window.cwnd.saturating_sub(self.pipe());
            let most = unsent.min(window).min(sending.machine.config.max_burst.max(mss));
            let len = self.allowed(most, unsent, congestion, window);
            let is_fin_due = self.flags.has(Flags::FIN_QUEUED) && len == unsent && window > len;
            if (len == 0 && !(is_fin_due && unsent == 0)) || sending.is_unfinished {
                break;
            }
            let push = if len > 0 && len == unsent { Bits::PSH } else { Bits::default() };
            let fin = if is_fin_due { Bits::FIN } else { Bits::default() };
            let is_sent = self.send_part(sending, len, Bits::ACK | push | fin);
            if !is_sent || is_fin_due || len == unsent {
                break;
            }
        }
        if self.outstanding() == 0 {
            self.give_flight(sending.machine);
            if !sending.is_unfinished {
                self.wait_for_window(sending.now, available);
            }
        }
    }

    /// Allocates a block for segments in flight, and restarts the window of an idle connection (RFC
    /// 5681 section 4.1).
    fn begin_flight<E: Emit>(&mut self, sending: &mut Sending<E>) -> bool {
        if self.flight.is_none() {
            let Some(block) = sending.machine.flights.take() else {
                sending.machine.counters.blocks_exhausted += 1;
                sending.is_unfinished = true;
                return false;
            };
            self.flight = block;
        }
        if sending.now.since(self.progress_at) > self.rtt.timeout {
            let initial = self.initial_window(&sending.machine.config);
            self.window.cwnd = self.window.cwnd.min(initial);
            self.congestion.on_idle(sending.now);
        }
        true
    }

    fn give_flight(&mut self, machine: &mut Machine) {
        machine.flights.give(&mut self.flight);
    }

    /// Length of the next segment of new data, at most `most`; 0 for none.
    #[inline]
    fn allowed(&mut self, most: u32, unsent: u32, congestion: u32, window: u32) -> u32 {
        let mss = self.segment_size();
        if most > congestion {
            self.flags.set(Flags::LIMITED);
        }
        let len = most.min(congestion);
        let whole = len - len % mss;
        let rest = len - whole;
        if rest == 0 {
            return whole;
        }
        // A short segment is sent only if it is the last one and waiting is not worthwhile (Nagle's
        // algorithm, silly window avoidance).
        let is_alone = self.outstanding() == 0 && whole == 0;
        let is_last = len == unsent;
        let may = if is_last {
            let is_free = self.settings.is_undelayed || is_alone;
            self.flags.has(Flags::FIN_QUEUED) || (is_free && !self.settings.is_corked)
        } else {
            // The segment is limited by the peer's window, not by ours.
            len == window && len >= self.snd_wnd_max / 2
        };
        if may { len } else { whole }
    }

    /// Sends the next `len` bytes; false if that was not possible.
    #[inline]
    fn send_part<E: Emit>(&mut self, sending: &mut Sending<E>, len: u32, flags: Bits) -> bool {
        if !self.emit(sending, Part { seq: self.snd_nxt, len, flags }) {
            return false;
        }
        let was_idle = self.outstanding() == 0;
        self.snd_nxt += len;
        self.statistics.out_bytes += u64::from(len);
        if flags.contains(Bits::FIN) {
            self.snd_nxt += 1;
            self.fin_sent(sending.machine, sending.now);
        }
        if was_idle {
            self.progress_at = sending.now;
        }
        let flight = sending.machine.flights.at_mut(self.flight);
        flight.push(self.snd_una, self.snd_nxt, sending.now.us() as u32, &mut self.totals);
        if self.phase == Phase::Recovery {
            self.recovery.sent = self.recovery.sent.saturating_add(len);
        }
        if matches!(self.timer, Timer::None | Timer::TailLoss | Timer::Persist) {
            self.set_timer(sending.now);
        }
        true
    }

    /// Retransmits lost data.
    fn send_lost<E: Emit>(&mut self, sending: &mut Sending<E>) {
        let mss = self.segment_size();
        while self.totals.lost > 0 && !sending.is_unfinished {
            let flight = sending.machine.flights.at(self.flight);
            let Some((start, end)) = flight.next_lost(self.snd_una) else { break };
            let limit = self.snd_una + self.snd_wnd;
            if !start.is_before(limit) {
                break;
            }
            let mut room = self.window.cwnd.saturating_sub(self.pipe());
            if self.flags.has(Flags::FIRST_DUE) {
                room = room.max(mss);
            }
            let most = end.min(limit) - start;
            if room < most.min(mss) {
                break;
            }
            let burst = sending.machine.config.max_burst.max(mss);
            let len = most.min(room).min(burst);
            let len = if len > mss { len - len % mss } else { len };
            let lost = self.totals.lost;
            if !self.send_again(sending, start, len) || self.totals.lost >= lost {
                break;
            }
            self.flags.clear(Flags::FIRST_DUE);
        }
    }

    /// Retransmits `len` bytes, the last of which may be the FIN.
    fn send_again<E: Emit>(&mut self, sending: &mut Sending<E>, start: Seq, len: u32) -> bool {
        let end = start + len;
        let has_fin = self.flags.has(Flags::FIN_SENT) && end == self.snd_nxt;
        let fin = if has_fin { Bits::FIN } else { Bits::default() };
        let data = len - u32::from(has_fin);
        if !self.emit(sending, Part { seq: start, len: data, flags: Bits::ACK | fin }) {
            return false;
        }
        let now = sending.now.us() as u32;
        let flight = sending.machine.flights.at_mut(self.flight);
        flight.resend(self.snd_una, (start, end), now, &mut self.totals);
        if self.phase == Phase::Recovery {
            self.recovery.sent = self.recovery.sent.saturating_add(len);
        }
        self.note_resent(sending.machine, sending.now, len);
        if self.timer != Timer::Reorder && self.timer != Timer::Persist {
            self.set_timer(sending.now);
        }
        true
    }

    /// Sends the probes whose timers have expired.
    fn send_probes<E: Emit>(&mut self, sending: &mut Sending<E>, available: u32) {
        let mss = self.segment_size();
        let data_out =
            self.outstanding().saturating_sub(u32::from(self.flags.has(Flags::FIN_SENT)));
        let unsent = available.saturating_sub(data_out);
        if self.flags.has(Flags::PERSIST_DUE) {
            self.flags.clear(Flags::PERSIST_DUE);
            self.send_window_probe(sending, unsent);
        }
        if self.flags.has(Flags::TAIL_DUE) && !self.flight.is_none() {
            sending.machine.counters.tail_loss_probes += 1;
            let len = unsent.min(mss);
            self.flags.clear(Flags::TAIL_DUE.or(Flags::PROBE_OUT).or(Flags::PROBE_RESENT));
            let is_new = len > 0 && self.window_left() >= len && !self.flags.has(Flags::FIN_SENT);
            let is_sent = if is_new {
                self.send_part(sending, len, Bits::ACK | Bits::PSH)
            } else {
                let flight = sending.machine.flights.at(self.flight);
                let limit = self.snd_una + self.snd_wnd;
                let tail = flight.tail(self.snd_una, mss);
                let tail = tail.filter(|(_, end)| !end.is_after(limit));
                self.flags.set(Flags::PROBE_RESENT);
                tail.is_some_and(|(start, end)| self.send_again(sending, start, end - start))
            };
            if is_sent {
                self.flags.set(Flags::PROBE_OUT);
                self.probe_end = self.snd_nxt;
            }
            self.set_timer_without_probe(sending.now);
        }
        if self.flags.has(Flags::KEEPALIVE_DUE) {
            self.flags.clear(Flags::KEEPALIVE_DUE);
            sending.machine.counters.keepalive_probes += 1;
            // Section 3.8.4: without data, with an acknowledged sequence number.
            self.emit(sending, Part { seq: self.snd_nxt - 1, len: 0, flags: Bits::ACK });
        }
    }

    /// Probes the window with one byte, or sends as much as fits (section 3.8.6.1).
    fn send_window_probe<E: Emit>(&mut self, sending: &mut Sending<E>, unsent: u32) {
        sending.machine.counters.window_probes += 1;
        if self.outstanding() > 0 {
            self.send_again(sending, self.snd_una, 1);
        } else if self.begin_flight(sending) {
            let len = unsent.min(self.window_left().max(1)).min(self.segment_size());
            let is_fin = self.flags.has(Flags::FIN_QUEUED) && unsent == 0;
            if len > 0 {
                self.send_part(sending, len, Bits::ACK | Bits::PSH);
            } else if is_fin {
                self.send_part(sending, 0, Bits::ACK | Bits::FIN);
            }
            if self.outstanding() == 0 {
                self.give_flight(sending.machine);
            }
        }
    }

    /// Sends an acknowledgment with SACK blocks. Its sequence number is in the peer's window, even
    /// if a probe was sent beyond it, or else the peer would not accept it.
    fn send_ack<E: Emit>(&mut self, sending: &mut Sending<E>) {
        let seq = self.snd_nxt.min(self.snd_una + self.snd_wnd);
        self.emit(sending, Part { seq, len: 0, flags: Bits::ACK });
    }

    /// Emits a segment; false if the budget is spent or no buffer is free.
    #[inline]
    fn emit<E: Emit>(&mut self, sending: &mut Sending<E>, part: Part) -> bool {
        let Part { seq, len, flags } = part;
        if sending.budget == 0 {
            sending.is_unfinished = true;
            return false;
        }
        let is_pure = len == 0 && flags == Bits::ACK;
        let mut options = Options::default();
        if self.flags.has(Flags::TIMESTAMPS) {
            let value = self.stamp(sending.now);
            options.timestamp = Some(Timestamp { value, echo: self.ts_recent });
        }
        let reports = !self.holes.is_none() || self.flags.has(Flags::DUPLICATE);
        if reports && is_pure && self.flags.has(Flags::SACK) {
            self.report(sending.machine, &mut options);
        }
        let window = self.announce();
        let ack = self.rcv_nxt;
        let mut segment = Segment { seq, ack, flags, window, urgent: 0, len, options };
        if self.flags.has(Flags::URGENT_OUT) {
            self.mark_urgent(&mut segment);
        }
        let ahead = seq.beyond(self.snd_una);
        if !sending.out.emit(&Outgoing { segment, ahead, mss: self.mss }) {
            sending.machine.counters.no_buffer += 1;
            sending.is_unfinished = true;
            return false;
        }
        sending.budget -= 1;
        sending.machine.counters.out_segs += 1;
        self.statistics.out_segs = self.statistics.out_segs.wrapping_add(1);
        if len > 0 && self.flags.has(Flags::ACK_LATER) {
            self.flags.set(Flags::INTERACTIVE);
        }
        // SACK blocks are sent in a separate segment.
        let told = if is_pure || !reports {
            Flags::ACK_NOW.or(Flags::ACK_LATER)
        } else {
            Flags::ACK_LATER
        };
        self.flags.clear(told);
        self.ack_at = Time::NEVER;
        self.ack_sent = ack;
        true
    }

    /// Marks all `available` bytes of the source as urgent (RFC 9293 section 3.8.5).
    pub fn urge(&mut self, available: u32) {
        self.urgent_out = self.snd_una + available;
        self.flags.set(Flags::URGENT_OUT);
    }

    /// Number of undelivered bytes up to the end of urgent data; `None` if there is none (MUST-33).
    pub fn urgent_ahead(&self) -> Option<u32> {
        let ahead = self.urgent.beyond(self.rcv_nxt);
        (self.flags.has(Flags::URGENT) && ahead > 0).then_some(ahead)
    }

    /// Sets the urgent pointer to the byte after the urgent data (MUST-62).
    fn mark_urgent(&mut self, segment: &mut Segment) {
        if !self.urgent_out.is_after(self.snd_una) {
            self.flags.clear(Flags::URGENT_OUT);
        } else if segment.seq.is_before(self.urgent_out) {
            segment.flags = segment.flags | Bits::URG;
            segment.urgent = (self.urgent_out - segment.seq).min(0xffff) as u16;
        }
    }

    /// Writes SACK blocks: a duplicate first (RFC 2883 section 4), then the newest (RFC 2018
    /// section 4).
    fn report(&mut self, machine: &Machine, options: &mut Options) {
        if self.flags.has(Flags::DUPLICATE) {
            let (start, end) = self.duplicate;
            options.sack.push(start.0, end.0);
            self.flags.clear(Flags::DUPLICATE);
        }
        if !self.holes.is_none() {
            machine.holes.at(self.holes).report(&mut options.sack);
        }
        // With timestamps, only three fit.
        options.sack.truncate(if options.timestamp.is_some() { 3 } else { 4 });
    }

    /// Starts a timer if nothing is in flight but data is left: until the window opens, or until
    /// data held back has waited long enough.
    fn wait_for_window(&mut self, now: Time, available: u32) {
        let is_fin_due = self.flags.has(Flags::FIN_QUEUED) && !self.flags.has(Flags::FIN_SENT);
        if (available > 0 || is_fin_due) && self.timer != Timer::Persist {
            self.timer = Timer::Persist;
            self.retransmit_at = now + self.persist_interval();
        }
    }

    /// Whether there is nothing to send, nothing unacknowledged, and nothing out of order.
    pub fn is_idle(&self) -> bool {
        self.state == State::Established && self.outstanding() == 0 && self.holes.is_none()
    }
}
