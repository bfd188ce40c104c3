//! A connection: plain data, and the calls that move it.
//!
//! The first two cache lines are all that a segment in order meets; the third counts it.

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
    /// Shift counts of windows sent and received.
    rcv_shift: u8,
    snd_shift: u8,
    flags: Flags,
    /// Most payload of a packet, options that each has being there.
    mss: u16,
    /// Largest segment received, at most what we have announced.
    rcv_mss: u16,
    rcv_nxt: Seq,
    /// End of the window that was announced: it never moves back.
    rcv_edge: Seq,
    /// Window that the sink has room for.
    rcv_space: u32,
    /// Last acknowledgment sent.
    ack_sent: Seq,
    snd_una: Seq,
    snd_nxt: Seq,
    snd_wnd: u32,
    snd_wl1: Seq,
    snd_wl2: Seq,
    /// Newest timestamp in order, when it came (both in milliseconds), and what we add to ours.
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
    /// Retransmissions and probes in a row without progress.
    backoff: u8,
    /// Duplicate ACKs in a row, without SACK.
    dupacks: u8,
    /// Full segments that are still acknowledged at once.
    quick: u8,
    // Third line: counted and noted for each segment.
    /// Last time a valid segment was received.
    heard_at: Time,
    /// Time of the last progress: of sending something new after all was acknowledged, or of an
    /// acknowledgment.
    progress_at: Time,
    statistics: Statistics,
    /// Begin of the round: when this is acknowledged, it ends.
    round_end: Seq,
    // Rare.
    settings: Settings,
    congestion: Congestion,
    recovery: Recovery,
    rack: Rack,
    min_rtt: Least,
    /// End of a tail loss probe that is not answered; with [`Flags::PROBE_OUT`].
    probe_end: Seq,
    /// Sequence number of the peer's FIN; with [`Flags::PEER_FIN`].
    peer_fin: Seq,
    /// Duplicate to report (RFC 2883); with [`Flags::DUPLICATE`].
    duplicate: (Seq, Seq),
    iss: Seq,
    irs: Seq,
    /// Urgent data up to here was announced by the peer, and by this side.
    urgent: Seq,
    urgent_out: Seq,
    autotune: Autotune,
    /// Challenge ACKs of this second.
    challenges: (u32, u8),
    keepalives: u8,
    /// Segment size announced, without options.
    own_mss: u16,
}

/// Receive window that follows the application (as dynamic right-sizing does).
#[derive(Clone, Copy, Debug, Default)]
struct Autotune {
    /// Bytes that may be received and not read.
    buffer: u32,
    /// Least part by which the window opens (RFC 9293 section 3.8.6.2.2).
    step: u32,
    /// Next byte expected at the begin of this round trip.
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

/// A recovery that is under way, and what undoes it.
#[derive(Clone, Copy, Debug, Default)]
struct Recovery {
    /// It ends when this is acknowledged.
    point: Seq,
    /// Proportional rate reduction (RFC 6937): bytes in flight at the begin, and bytes delivered
    /// and sent since.
    flight: u32,
    delivered: u32,
    sent: u32,
    /// Window before it.
    before: Option<Window>,
    /// Timestamp of the first retransmission (RFC 3522).
    first_stamp: Option<u32>,
    /// Bytes retransmitted that the peer has not reported as duplicates.
    doubtful: u32,
}

/// State of RACK (RFC 8985 section 5.2).
#[derive(Clone, Copy, Debug, Default)]
struct Rack {
    /// Last transmission of all that arrived: time in microseconds modulo 2^32, byte after it.
    newest: Option<(u32, Seq)>,
    /// Round trip of it, in microseconds.
    rtt: u32,
    /// Highest byte that arrived.
    highest: Seq,
    /// Part of the least round trip that is waited, in quarters.
    quarters: u8,
    /// Recoveries until it is one again.
    persist: u8,
    is_reordering_seen: bool,
    /// A round in which duplicates were reported ends here.
    duplicate_round: Option<Seq>,
}

/// Facts about a connection, and what is due, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags(u32);

#[rustfmt::skip]
impl Flags {
    /// Negotiated options.
    const TIMESTAMPS: Self = Self(1);
    const SACK: Self = Self(1 << 1);
    /// An acknowledgment leaves with the next send; it may wait for [`Connection::ack_at`].
    const ACK_NOW: Self = Self(1 << 2);
    const ACK_LATER: Self = Self(1 << 3);
    /// The application sends no more; a FIN was sent.
    const FIN_QUEUED: Self = Self(1 << 4);
    const FIN_SENT: Self = Self(1 << 5);
    /// The application receives no more.
    const DETACHED: Self = Self(1 << 6);
    /// The peer's FIN was seen, perhaps not yet in order.
    const PEER_FIN: Self = Self(1 << 7);
    /// The last send was limited by the congestion window.
    const LIMITED: Self = Self(1 << 8);
    /// A SYN is due; this side began; the SYN was sent again.
    const SYN_DUE: Self = Self(1 << 9);
    const ACTIVE: Self = Self(1 << 10);
    const SYN_RESENT: Self = Self(1 << 11);
    /// Probes that are due: of a window, of the tail, of the peer.
    const PERSIST_DUE: Self = Self(1 << 12);
    const TAIL_DUE: Self = Self(1 << 13);
    const KEEPALIVE_DUE: Self = Self(1 << 14);
    /// A tail loss probe is out; it repeated old data.
    const PROBE_OUT: Self = Self(1 << 15);
    const PROBE_RESENT: Self = Self(1 << 16);
    /// There is a duplicate to report.
    const DUPLICATE: Self = Self(1 << 17);
    /// The application answers what it gets: acknowledgments travel with its data.
    const INTERACTIVE: Self = Self(1 << 18);
    /// The first retransmission of a recovery is due, whatever the window.
    const FIRST_DUE: Self = Self(1 << 19);
    /// The peer has announced urgent data that was not delivered yet.
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
    /// Bytes, SYN and FIN that were sent and not acknowledged.
    #[inline(always)]
    fn outstanding(&self) -> u32 {
        self.snd_nxt - self.snd_una
    }

    /// Bytes that are taken to be in the network (RFC 6675 section 4).
    #[inline(always)]
    fn pipe(&self) -> u32 {
        let known = self.totals.sacked + self.totals.lost;
        let pipe = self.outstanding() - known;
        if self.dupacks == 0 {
            return pipe;
        }
        // Without SACK each duplicate ACK stands for a segment that left.
        pipe.saturating_sub(u32::from(self.dupacks) * u32::from(self.mss))
    }

    /// The peer's window from here on.
    #[inline(always)]
    fn window_left(&self) -> u32 {
        (self.snd_una + self.snd_wnd).beyond(self.snd_nxt)
    }

    /// The FIN that was sent is acknowledged.
    fn is_fin_acked(&self) -> bool {
        self.flags.has(Flags::FIN_SENT) && self.snd_una == self.snd_nxt
    }

    /// Clock of timestamps that we send.
    #[inline(always)]
    fn stamp(&self, now: Time) -> u32 {
        now.ms().wrapping_add(self.ts_offset)
    }

    /// The connection is over.
    fn end(&mut self, machine: &mut Machine, error: Option<Error>, effects: &mut Effects) {
        self.state = State::Closed;
        self.release(machine);
        (self.retransmit_at, self.ack_at, self.idle_at) = (Time::NEVER, Time::NEVER, Time::NEVER);
        self.timer = Timer::None;
        effects.events |= Events::ENDED;
        effects.error = error;
    }

    /// Gives blocks of memory back to the machine: the last call, before the record is dropped.
    pub fn release(&mut self, machine: &mut Machine) {
        machine.flights.give(&mut self.flight);
        machine.holes.give(&mut self.holes);
    }

    /// Moves to another thread, whose machine has room for as many connections: what this one
    /// holds of the old thread's memory goes with it. `false` if there is no room: then it is
    /// only released, by the machine of the old thread.
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

    /// Least payload of any segment: what congestion control counts in.
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
