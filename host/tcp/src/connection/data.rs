//! Data and FIN of the peer (RFC 9293 section 3.10.7.4, seventh and eighth step), and the window.

use wire::tcp::Flags as Bits;

use super::{Connection, Flags};
use crate::{Effects, Events, Machine, Segment, Seq, Sink, State, Time, Verdict};

/// Largest number of received segments covered by one acknowledgment.
const SEGMENTS_PER_ACK: u32 = 2;

impl Connection {
    /// Handles data that starts at the next expected byte and fits into the window, while no data
    /// is out of order.
    #[inline]
    pub(super) fn data_in_order(
        &mut self,
        machine: &Machine,
        now: Time,
        segment: &Segment,
        rx: &mut impl Sink,
        effects: &mut Effects,
    ) {
        let len = segment.len;
        if rx.space() < len || !rx.keep(0, 0, len) {
            effects.verdict = Verdict::FifoFull;
            return self.acknowledge_now(effects);
        }
        rx.deliver(len);
        self.rcv_nxt += len;
        effects.delivered += len;
        effects.verdict = Verdict::Enqueued;
        self.statistics.in_bytes += u64::from(len);
        self.delivered(machine, now, rx);
        self.acknowledge_soon(machine, now, segment, effects);
    }

    /// Handles the part of any data that is in the window, and a FIN. `seq` is the first byte.
    pub(super) fn data(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        seq: Seq,
        rx: &mut impl Sink,
        effects: &mut Effects,
    ) {
        let mut end = seq + segment.len;
        let mut has_fin = segment.has(Bits::FIN);
        let mut limit = self.rcv_edge;
        if self.flags.has(Flags::PEER_FIN) {
            limit = limit.min(self.peer_fin);
        }
        if end.is_after(limit) {
            (end, has_fin) = (limit, false);
            effects.verdict = Verdict::RcvWnd;
            self.acknowledge_now(effects);
        }
        let start = seq.max(self.rcv_nxt);
        if start.is_after(seq) && segment.len > 0 {
            self.note_duplicate(machine, seq, start.min(end));
            self.acknowledge_now(effects);
        }
        if start.is_before(end) {
            let from = start - seq;
            if start == self.rcv_nxt {
                let len = (end - start).min(rx.space());
                has_fin &= start + len == end;
                self.append(machine, now, from, len, rx, effects);
                self.acknowledge_soon(machine, now, segment, effects);
                if start + len != end {
                    self.acknowledge_now(effects);
                }
            } else {
                self.insert(machine, from, (start, end), rx, effects);
            }
        }
        if has_fin && !end.is_before(self.rcv_nxt) && !self.flags.has(Flags::PEER_FIN) {
            self.flags.set(Flags::PEER_FIN);
            self.peer_fin = end;
        }
        if self.flags.has(Flags::PEER_FIN) && self.peer_fin == self.rcv_nxt {
            self.finished(machine, now, effects);
        }
    }

    /// Appends data in order, and stored data that follows it.
    fn append(
        &mut self,
        machine: &mut Machine,
        now: Time,
        from: u32,
        len: u32,
        rx: &mut impl Sink,
        effects: &mut Effects,
    ) {
        if len == 0 || !rx.keep(0, from, len) {
            effects.verdict = Verdict::FifoFull;
            return self.acknowledge_now(effects);
        }
        let start = self.rcv_nxt;
        let mut next = start + len;
        if !self.holes.is_none() {
            let holes = machine.holes.at_mut(self.holes);
            next = holes.advance(next);
            if holes.is_empty() {
                machine.holes.give(&mut self.holes);
            }
            // RFC 5681 section 4.2: a segment that fills a gap is acknowledged at once.
            self.acknowledge_now(effects);
        }
        rx.deliver(next - start);
        self.rcv_nxt = next;
        effects.delivered += next - start;
        effects.verdict = Verdict::Enqueued;
        self.statistics.in_bytes += u64::from(next - start);
        self.delivered(machine, now, rx);
    }

    /// Stores data received out of order.
    fn insert(
        &mut self,
        machine: &mut Machine,
        from: u32,
        (start, end): (Seq, Seq),
        rx: &mut impl Sink,
        effects: &mut Effects,
    ) {
        self.acknowledge_now(effects);
        if self.holes.is_none() {
            match machine.holes.take() {
                Some(block) => self.holes = block,
                None => {
                    machine.counters.holes_exhausted += 1;
                    return;
                }
            }
        }
        let ahead = start - self.rcv_nxt;
        let len = end - start;
        let holes = machine.holes.at_mut(self.holes);
        let duplicate = holes.duplicate(start, end);
        let is_kept = holes.has_room(start, end)
            && rx.space() >= ahead + len
            && rx.keep(ahead, from, len)
            && holes.add(start, end).is_ok();
        if is_kept {
            effects.verdict = Verdict::EnqueuedOoo;
        } else {
            machine.counters.holes_exhausted += 1;
            if machine.holes.at(self.holes).is_empty() {
                machine.holes.give(&mut self.holes);
            }
        }
        if let Some((start, end)) = duplicate {
            self.note_duplicate(machine, start, end);
        }
    }

    /// Records a duplicate for the next acknowledgment (RFC 2883).
    pub(super) fn note_duplicate(&mut self, machine: &Machine, start: Seq, end: Seq) {
        if machine.config.dsack && self.flags.has(Flags::SACK) && start.is_before(end) {
            self.duplicate = (start, end);
            self.flags.set(Flags::DUPLICATE);
        }
    }

    /// Handles the peer's FIN in order.
    fn finished(&mut self, machine: &mut Machine, now: Time, effects: &mut Effects) {
        let next = match self.state {
            State::Established => State::CloseWait,
            State::FinWait1 => State::Closing,
            State::FinWait2 => State::TimeWait,
            _ => return,
        };
        self.rcv_nxt += 1;
        self.rcv_edge = self.rcv_edge.max(self.rcv_nxt);
        effects.events |= Events::FINISHED;
        effects.verdict = Verdict::FinRcvd;
        self.enter(machine, now, next);
        if next == State::TimeWait {
            effects.events |= Events::TIME_WAIT;
        }
        self.acknowledge_now(effects);
    }

    #[inline]
    pub(super) fn acknowledge_now(&mut self, effects: &mut Effects) {
        self.flags.set(Flags::ACK_NOW);
        effects.events |= Events::SEND;
    }

    /// Decides when data in order is acknowledged (RFC 9293 section 3.8.6.3).
    #[inline]
    fn acknowledge_soon(
        &mut self,
        machine: &Machine,
        now: Time,
        segment: &Segment,
        effects: &mut Effects,
    ) {
        let is_full = segment.len >= u32::from(self.rcv_mss);
        if is_full {
            self.rcv_mss = segment.len.min(u32::from(self.own_mss)) as u16;
        }
        let waiting = self.rcv_nxt - self.ack_sent;
        // A sender in its initial slow start depends on quick acknowledgments; so may one that sets
        // PSH while nothing is being sent to it.
        let is_quick = is_full && self.quick > 0;
        self.quick -= u8::from(is_quick);
        let is_alone = segment.has(Bits::PSH) && !self.flags.has(Flags::INTERACTIVE);
        if waiting >= SEGMENTS_PER_ACK * u32::from(self.rcv_mss) || is_quick || is_alone {
            self.acknowledge_now(effects);
        } else if !self.flags.has(Flags::ACK_LATER) {
            self.flags.set(Flags::ACK_LATER);
            self.ack_at = now + machine.config.ack_delay;
        }
    }

    /// Measures how much the application reads per round trip, and the current space.
    #[inline]
    fn delivered(&mut self, machine: &Machine, now: Time, rx: &impl Sink) {
        let tune = &mut self.autotune;
        if now.since(tune.since) >= self.rtt.smoothed.max(1) {
            let got = self.rcv_nxt - tune.from;
            let is_read = rx.unread() <= tune.buffer / 2;
            if is_read && got.saturating_mul(2) > tune.buffer {
                let wanted = got.saturating_mul(4);
                tune.buffer = wanted.min(machine.config.rcv_buffer_max).max(tune.buffer);
            }
            (tune.from, tune.since) = (self.rcv_nxt, now);
        }
        self.measure_room(rx);
    }

    /// Measures the space after the next expected byte.
    #[inline]
    pub(super) fn measure_room(&mut self, rx: &impl Sink) {
        let (unread, space) = (rx.unread(), rx.space());
        self.rcv_space = self.autotune.buffer.saturating_sub(unread).min(space);
        let whole = self.autotune.buffer.min(unread.saturating_add(space));
        self.autotune.step = u32::from(self.own_mss).min(whole / 2).max(1);
    }

    /// Handles that the application has read data: the window may open.
    pub fn consumed(&mut self, _: &mut Machine, _: Time, rx: &impl Sink) -> Effects {
        let mut effects = Effects::default();
        if !self.state.may_receive() {
            return effects;
        }
        self.measure_room(rx);
        let left = self.rcv_edge.beyond(self.rcv_nxt);
        let gained = self.rcv_space.saturating_sub(left);
        let small = self.autotune.step;
        // Notify the peer if it may be waiting: the window was small, or has doubled.
        if gained >= small && (left < small || self.rcv_space / 2 >= left) {
            self.acknowledge_now(&mut effects);
        }
        effects
    }

    /// Window for the next header; it never shrinks (RFC 9293 SHLD-14), nor opens in small steps
    /// (section 3.8.6.2.2).
    #[inline]
    pub(super) fn announce(&mut self) -> u16 {
        let left = self.rcv_edge.beyond(self.rcv_nxt);
        let small = self.autotune.step;
        let is_worth_it = self.rcv_space >= left.saturating_add(small);
        let window = if is_worth_it { self.rcv_space } else { left };
        let (shift, unit) = (self.rcv_shift, 1 << self.rcv_shift);
        // Rounded up if there is space, so that it does not appear to shrink.
        let is_cut = (window >> shift << shift) < left;
        let may_round = is_cut && (window >> shift << shift) + unit <= self.rcv_space;
        let shown = ((window >> shift) + u32::from(may_round)).min(0xffff);
        self.rcv_edge = self.rcv_edge.max(self.rcv_nxt + (shown << self.rcv_shift));
        shown as u16
    }
}
