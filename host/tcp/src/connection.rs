//! A connection: a plain record, and its transitions.
//!
//! A segment in order needs only the first two cache lines, and the third one for counters.

mod acknowledgment;
mod arrival;
mod closing;
mod data;
mod opening;
mod output;
mod recovery;
mod show;
mod timers;

use crate::congestion::Congestion;
use crate::flight::Totals;
use crate::pool::Block;
use crate::rtt::{Least, Rtt};
use crate::{Effects, Error, Events, Machine, Seq, Settings, State, Time, Timer, Window};

pub use show::{Details, Statistics};

/// A connection's record.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct Connection {
    state: State,
    phase: Phase,
    /// Shift counts of sent and received windows.
    rcv_shift: u8,
    snd_shift: u8,
    flags: Flags,
    /// Largest payload of a packet, after options that every packet has.
    mss: u16,
    /// Largest segment received, at most the announced size.
    rcv_mss: u16,
    rcv_nxt: Seq,
    /// End of the announced window; it never moves back.
    rcv_edge: Seq,
    /// Window for which the sink has space.
    rcv_space: u32,
    /// Last acknowledgment sent.
    ack_sent: Seq,
    snd_una: Seq,
    snd_nxt: Seq,
    snd_wnd: u32,
    snd_wl1: Seq,
    snd_wl2: Seq,
    /// Newest timestamp in order, its arrival time (both in milliseconds), and the offset of our
    /// own.
    ts_recent: u32,
    ts_recent_at: u32,
    ts_offset: u32,
    flight: Block,
    // Second line.
    window: Window,
    totals: Totals,
    rtt: Rtt,
    /// Largest window of the peer.
    snd_wnd_max: u32,
    retransmit_at: Time,
    ack_at: Time,
    idle_at: Time,
    holes: Block,
    timer: Timer,
    /// Number of consecutive retransmissions and probes without progress.
    backoff: u8,
    /// Number of consecutive duplicate ACKs, without SACK.
    dupacks: u8,
    /// Number of full segments that are still acknowledged at once.
    quick: u8,
    // Third line: updated for each segment.
    /// Time of the last valid segment.
    heard_at: Time,
    /// Time of the last progress: an acknowledgment, or new data sent when nothing was outstanding.
    progress_at: Time,
    statistics: Statistics,
    /// End of the current round: it ends when this is acknowledged.
    round_end: Seq,
    // Rarely used.
    settings: Settings,
    congestion: Congestion,
    recovery: Recovery,
    rack: Rack,
    min_rtt: Least,
    /// End of an unanswered tail loss probe; with [`Flags::PROBE_OUT`].
    probe_end: Seq,
    /// Sequence number of the peer's FIN; with [`Flags::PEER_FIN`].
    peer_fin: Seq,
    /// Duplicate to report (RFC 2883); with [`Flags::DUPLICATE`].
    duplicate: (Seq, Seq),
    iss: Seq,
    irs: Seq,
    /// End of urgent data announced by the peer, and by this side.
    urgent: Seq,
    urgent_out: Seq,
    autotune: Autotune,
    /// The current second, and challenge ACKs sent in it.
    challenges: (u32, u8),
    keepalives: u8,
    /// Announced segment size, without options.
    own_mss: u16,
}

/// Receive window that adapts to the application (dynamic right-sizing).
#[derive(Clone, Copy, Debug, Default)]
struct Autotune {
    /// Limit of unread bytes.
    buffer: u32,
    /// Smallest step by which the window opens (RFC 9293 section 3.8.6.2.2).
    step: u32,
    /// Next expected byte at the start of this round trip.
    from: Seq,
    since: Time,
}

/// Loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    /// No losses.
    #[default]
    Open,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// A recovery in progress, with the state to undo it.
#[derive(Clone, Copy, Debug, Default)]
struct Recovery {
    /// The recovery ends when this is acknowledged.
    point: Seq,
    /// Proportional rate reduction (RFC 6937): bytes in flight at the start, and bytes delivered
    /// and sent since.
    flight: u32,
    delivered: u32,
    sent: u32,
    /// Window before it.
    before: Option<Window>,
    /// Timestamp of the first retransmission (RFC 3522).
    first_stamp: Option<u32>,
    /// Retransmitted bytes that the peer has not reported as duplicates.
    doubtful: u32,
}

/// RACK state (RFC 8985 section 5.2).
#[derive(Clone, Copy, Debug, Default)]
struct Rack {
    /// Latest transmission among delivered data: time in microseconds modulo 2^32, and end.
    newest: Option<(u32, Seq)>,
    /// Its round-trip time in microseconds.
    rtt: u32,
    /// Highest delivered byte.
    highest: Seq,
    /// Reordering window in quarters of the minimum round-trip time.
    quarters: u8,
    /// Number of recoveries until it is one quarter again.
    persist: u8,
    is_reordering_seen: bool,
    /// End of a round in which duplicates were reported.
    duplicate_round: Option<Seq>,
}

/// Properties and pending work of a connection, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags(u32);

#[rustfmt::skip]
impl Flags {
    /// Negotiated options.
    const TIMESTAMPS: Self = Self(1);
    const SACK: Self = Self(1 << 1);
    /// An acknowledgment is sent with the next send; or it may wait for [`Connection::ack_at`].
    const ACK_NOW: Self = Self(1 << 2);
    const ACK_LATER: Self = Self(1 << 3);
    /// The application has finished sending; a FIN was sent.
    const FIN_QUEUED: Self = Self(1 << 4);
    const FIN_SENT: Self = Self(1 << 5);
    /// The application no longer receives.
    const DETACHED: Self = Self(1 << 6);
    /// The peer's FIN was seen, perhaps not yet in order.
    const PEER_FIN: Self = Self(1 << 7);
    /// The last send was limited by the congestion window.
    const LIMITED: Self = Self(1 << 8);
    /// A SYN has to be sent; this side is the initiator; the SYN was retransmitted.
    const SYN_DUE: Self = Self(1 << 9);
    const ACTIVE: Self = Self(1 << 10);
    const SYN_RESENT: Self = Self(1 << 11);
    /// Probes to send: zero window, tail loss, keepalive.
    const PERSIST_DUE: Self = Self(1 << 12);
    const TAIL_DUE: Self = Self(1 << 13);
    const KEEPALIVE_DUE: Self = Self(1 << 14);
    /// A tail loss probe is unanswered; it repeated old data.
    const PROBE_OUT: Self = Self(1 << 15);
    const PROBE_RESENT: Self = Self(1 << 16);
    /// There is a duplicate to report.
    const DUPLICATE: Self = Self(1 << 17);
    /// The application replies to data: acknowledgments are piggybacked.
    const INTERACTIVE: Self = Self(1 << 18);
    /// The first retransmission of a recovery has to be sent, regardless of the window.
    const FIRST_DUE: Self = Self(1 << 19);
    /// The peer has announced urgent data that is not yet delivered.
    const URGENT: Self = Self(1 << 20);
    /// Window scaling was negotiated.
    const SCALED: Self = Self(1 << 21);
    /// Bytes before [`Connection::urgent_out`] are urgent.
    const URGENT_OUT: Self = Self(1 << 22);

    #[inline(always)]
    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    #[inline(always)]
    fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }
    #[inline(always)]
    fn clear(&mut self, other: Self) {
        self.0 &= !other.0;
    }
    #[inline(always)]
    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Connection {
    /// Number of unacknowledged sequence numbers: bytes, SYN and FIN.
    #[inline(always)]
    fn outstanding(&self) -> u32 {
        self.snd_nxt - self.snd_una
    }

    /// Estimated number of bytes in the network (RFC 6675 section 4).
    #[inline(always)]
    fn pipe(&self) -> u32 {
        let known = self.totals.sacked + self.totals.lost;
        let pipe = self.outstanding() - known;
        if self.dupacks == 0 {
            return pipe;
        }
        // Without SACK, each duplicate ACK means that a segment has left the network.
        pipe.saturating_sub(u32::from(self.dupacks) * u32::from(self.mss))
    }

    /// Remaining window of the peer.
    #[inline(always)]
    fn window_left(&self) -> u32 {
        (self.snd_una + self.snd_wnd).beyond(self.snd_nxt)
    }

    /// Whether our FIN is acknowledged.
    fn is_fin_acked(&self) -> bool {
        self.flags.has(Flags::FIN_SENT) && self.snd_una == self.snd_nxt
    }

    /// Our timestamp clock.
    #[inline(always)]
    fn stamp(&self, now: Time) -> u32 {
        now.ms().wrapping_add(self.ts_offset)
    }

    /// Ends the connection.
    fn end(&mut self, machine: &mut Machine, error: Option<Error>, effects: &mut Effects) {
        self.state = State::Closed;
        self.release(machine);
        (self.retransmit_at, self.ack_at, self.idle_at) = (Time::NEVER, Time::NEVER, Time::NEVER);
        self.timer = Timer::None;
        effects.events |= Events::ENDED;
        effects.error = error;
    }

    /// Returns memory blocks to the machine; the last call before the record is dropped.
    pub fn release(&mut self, machine: &mut Machine) {
        machine.flights.give(&mut self.flight);
        machine.holes.give(&mut self.holes);
    }

    /// Moves to another thread with the memory blocks that it uses. `false` if the new machine has
    /// no free blocks; then the connection is only released from the old machine.
    #[must_use]
    pub fn change_thread(&mut self, from: &mut Machine, to: &mut Machine) -> bool {
        if !from.flights.hand_over(&mut self.flight, &mut to.flights) {
            return false;
        }
        let is_moved = from.holes.hand_over(&mut self.holes, &mut to.holes);
        if !is_moved {
            to.flights.give(&mut self.flight);
        }
        is_moved
    }

    /// Segment size for congestion control.
    #[inline(always)]
    fn segment_size(&self) -> u32 {
        u32::from(self.mss)
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn a_segment_in_order_meets_two_lines_and_its_counters() {
        assert!(offset_of!(Connection, window) == 64, "{}", offset_of!(Connection, window));
        assert!(offset_of!(Connection, heard_at) == 128, "{}", offset_of!(Connection, heard_at));
        assert!(offset_of!(Connection, settings) <= 192);
        assert!(size_of::<Connection>() <= 512, "{}", size_of::<Connection>());
    }
}
