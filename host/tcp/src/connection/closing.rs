//! Closing (RFC 9293 section 3.6, section 3.10.4 and 3.10.5).

use wire::tcp::Flags as Bits;

use super::{Connection, Flags};
use crate::time_wait::TimeWait;
use crate::{Effects, Emit, Error, Events, Machine, Outgoing, Segment, Seq, State, Time, Timer};

impl Connection {
    /// Finishes sending: a FIN follows the last byte of the source. Data from the peer is still
    /// delivered.
    pub fn shut_down(&mut self, machine: &mut Machine, _: Time) -> Effects {
        let mut effects = Effects::default();
        match self.state {
            State::SynSent => self.end(machine, None, &mut effects),
            State::SynRcvd | State::Established | State::CloseWait => {
                self.flags.set(Flags::FIN_QUEUED);
                effects.events |= Events::SEND;
            }
            _ => {}
        }
        effects
    }

    /// Closes both directions. If there are `unread` bytes, or more data arrives afterwards, the
    /// connection is reset (RFC 9293 SHLD-3).
    pub fn close(
        &mut self,
        machine: &mut Machine,
        now: Time,
        unread: u32,
        out: &mut impl Emit,
    ) -> Effects {
        if unread > 0 && self.state.is_synchronized() {
            machine.counters.rst_unread += 1;
            return self.abort(machine, now, out);
        }
        self.flags.set(Flags::DETACHED);
        let effects = self.shut_down(machine, now);
        if self.state == State::FinWait2 {
            self.enter(machine, now, State::FinWait2);
        }
        effects
    }

    /// Ends the connection at once, with a reset if the state requires it.
    pub fn abort(&mut self, machine: &mut Machine, _: Time, out: &mut impl Emit) -> Effects {
        let mut effects = Effects::default();
        if self.state == State::Closed {
            return effects;
        }
        let has_peer = !matches!(
            self.state,
            State::SynSent | State::Closing | State::LastAck | State::TimeWait
        );
        if has_peer {
            let flags = Bits::RST | Bits::ACK;
            let (seq, ack) = (self.snd_nxt, self.rcv_nxt);
            let segment = Segment { seq, ack, flags, ..Segment::default() };
            if out.emit(&Outgoing { segment, ..Outgoing::default() }) {
                machine.counters.out_rsts += 1;
                machine.counters.out_segs += 1;
            } else {
                machine.counters.no_buffer += 1;
            }
        }
        self.end(machine, Some(Error::Aborted), &mut effects);
        effects
    }

    /// Enters a state, and starts its timer if it has one.
    pub(super) fn enter(&mut self, machine: &mut Machine, now: Time, state: State) {
        self.state = state;
        let config = &machine.config;
        let limit = match state {
            State::FinWait1 => config.finwait1_time,
            State::Closing => config.closing_time,
            State::LastAck => config.lastack_time,
            State::TimeWait => config.timewait_time,
            State::FinWait2 if self.flags.has(Flags::DETACHED) => config.finwait2_time,
            State::FinWait2 => return self.watch_peer(),
            _ => return,
        };
        self.idle_at = now + limit;
        if state == State::TimeWait {
            (self.timer, self.retransmit_at) = (Timer::None, Time::NEVER);
        }
    }

    /// Handles that our FIN was sent.
    pub(super) fn fin_sent(&mut self, machine: &mut Machine, now: Time) {
        self.flags.set(Flags::FIN_SENT);
        match self.state {
            State::Established => self.enter(machine, now, State::FinWait1),
            State::CloseWait => self.enter(machine, now, State::LastAck),
            _ => {}
        }
    }

    /// The record that replaces the connection after [`Events::TIME_WAIT`].
    pub fn time_wait(&self, machine: &Machine, now: Time) -> TimeWait {
        TimeWait {
            until: now + machine.config.timewait_time,
            snd_nxt: self.snd_nxt,
            rcv_nxt: self.rcv_nxt,
            window: self.rcv_edge.beyond(self.rcv_nxt),
            ts_recent: self.flags.has(Flags::TIMESTAMPS).then_some(self.ts_recent),
            ts_offset: self.ts_offset,
            shift: self.rcv_shift,
            challenges: self.challenges,
        }
    }

    /// Sequence number of the next byte to send; an RST sent by others must have it.
    pub fn next_seq(&self) -> Seq {
        self.snd_nxt
    }
}
