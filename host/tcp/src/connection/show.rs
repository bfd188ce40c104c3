//! Display of a connection.

use super::{Connection, Flags, Phase};
use crate::{Algorithm, Machine, Seq, Settings, State, Time, Timer};

/// Counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Bytes delivered in order.
    pub in_bytes: u64,
    /// Bytes sent for the first time.
    pub out_bytes: u64,
    /// Segments received.
    pub in_segs: u32,
    /// Segments sent.
    pub out_segs: u32,
    /// Of these, those sent again.
    pub rxt_segs: u32,
    /// Duplicate ACKs received.
    pub dupacks: u32,
}

/// Variables of a connection, under the names of RFC 9293.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "names of the RFCs")]
pub struct Details {
    pub state: State,
    pub iss: Seq,
    pub irs: Seq,
    pub snd_una: Seq,
    pub snd_nxt: Seq,
    pub snd_wnd: u32,
    pub snd_wl1: Seq,
    pub snd_wl2: Seq,
    pub rcv_nxt: Seq,
    pub rcv_wnd: u32,
    pub rcv_buffer: u32,
    pub ack_sent: Seq,
    pub snd_wscale: u8,
    pub rcv_wscale: u8,
    pub snd_mss: u16,
    pub rcv_mss: u16,
    pub cwnd: u32,
    pub ssthresh: u32,
    /// Estimated bytes in the network, bytes selectively acknowledged, and lost bytes.
    pub flight: u32,
    pub sacked: u32,
    pub lost: u32,
    pub recovery: &'static str,
    pub algorithm: Algorithm,
    /// Microseconds; 0 before the first sample.
    pub srtt_us: u32,
    pub rttvar_us: u32,
    pub min_rtt_us: u32,
    pub rto_us: u32,
    /// Number of consecutive retransmissions without progress.
    pub backoff: u8,
    pub has_timestamps: bool,
    pub has_sack: bool,
    pub has_window_scale: bool,
    pub is_active: bool,
    pub is_fin_queued: bool,
    pub is_fin_sent: bool,
    /// Whether the last transmission was limited by the congestion window.
    pub is_cwnd_limited: bool,
    pub ts_recent: u32,
}

impl Connection {
    /// State.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Counters.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Active timers with their expiry times.
    pub fn timers(&self) -> impl Iterator<Item = (Timer, Time)> {
        let idle = match self.state {
            State::Established | State::CloseWait => Timer::Keepalive,
            _ => Timer::WaitClose,
        };
        let timers = [
            (self.timer, self.retransmit_at),
            (Timer::DelayedAck, self.ack_at),
            (idle, self.idle_at),
        ];
        timers.into_iter().filter(|(_, at)| !at.is_never())
    }

    /// All variables.
    pub fn details(&self) -> Details {
        Details {
            state: self.state,
            iss: self.iss,
            irs: self.irs,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            snd_wnd: self.snd_wnd,
            snd_wl1: self.snd_wl1,
            snd_wl2: self.snd_wl2,
            rcv_nxt: self.rcv_nxt,
            rcv_wnd: self.rcv_edge.beyond(self.rcv_nxt),
            rcv_buffer: self.autotune.buffer,
            ack_sent: self.ack_sent,
            snd_wscale: self.snd_shift,
            rcv_wscale: self.rcv_shift,
            snd_mss: self.mss,
            rcv_mss: self.rcv_mss,
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            flight: self.pipe(),
            sacked: self.totals.sacked,
            lost: self.totals.lost,
            recovery: match self.phase {
                Phase::Open => "none",
                Phase::Recovery => "fast recovery",
                Phase::Loss => "timeout",
            },
            algorithm: self.congestion.algorithm(),
            srtt_us: self.rtt.smoothed,
            rttvar_us: self.rtt.variation,
            min_rtt_us: self.min_rtt.us(),
            rto_us: self.rtt.timeout,
            backoff: self.backoff,
            has_timestamps: self.flags.has(Flags::TIMESTAMPS),
            has_sack: self.flags.has(Flags::SACK),
            has_window_scale: self.flags.has(Flags::SCALED),
            is_active: self.flags.has(Flags::ACTIVE),
            is_fin_queued: self.flags.has(Flags::FIN_QUEUED),
            is_fin_sent: self.flags.has(Flags::FIN_SENT),
            is_cwnd_limited: self.flags.has(Flags::LIMITED),
            ts_recent: self.ts_recent,
        }
    }
}

impl Connection {
    /// Checks invariants between calls, for tests and fuzz targets; `Err` is the violated one.
    /// `available` is that of the last [`Connection::send`], if it was not limited.
    pub fn check(&self, machine: &Machine, available: Option<u32>) -> Result<(), String> {
        let broken = |is_broken: bool, why: &str| if is_broken { Err(why.into()) } else { Ok(()) };
        broken(self.snd_nxt.is_before(self.snd_una), "snd_nxt is before snd_una")?;
        broken(self.rcv_edge.is_before(self.rcv_nxt), "the window ends before it begins")?;
        if !self.state.is_synchronized() || self.state == State::TimeWait {
            return Ok(());
        }
        let (out, totals) = (self.outstanding(), self.totals);
        broken(self.flight.is_none() != (out == 0), "a block is held for nothing, or missing")?;
        if self.flight.is_none() {
            broken(totals.sacked + totals.lost != 0, "totals of nothing")?;
        } else {
            machine.flights.at(self.flight).check(self.snd_una, self.snd_nxt, totals)?;
        }
        broken(out > 0 && self.retransmit_at.is_never(), "no timer for what is in flight")?;
        broken(self.window.cwnd < self.segment_size().min(1), "no congestion window")?;
        let is_fin_due = self.flags.has(Flags::FIN_QUEUED) && !self.flags.has(Flags::FIN_SENT);
        let Some(available) = available else { return Ok(()) };
        let has_more = available > 0 || is_fin_due;
        broken(has_more && self.retransmit_at.is_never(), "no timer for what is to be sent")
    }
}
