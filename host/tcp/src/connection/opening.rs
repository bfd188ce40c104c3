//! The three-way handshake (RFC 9293 section 3.5): records, SYNs, options negotiated.

use wire::tcp::{Flags as Bits, Options, Timestamp};

use super::{Autotune, Connection, Flags};
use crate::congestion::Congestion;
use crate::rtt::Rtt;
use crate::segment::Outgoing;
use crate::{
    Config, Effects, Emit, Events, Flow, HalfOpen, Machine, Segment, Seq, Settings, State, Time,
    Timer, Window,
};

/// Length of the timestamp option in each header.
pub(super) const TIMESTAMP_LEN: u16 = 12;
/// Number of full segments of a new connection that are acknowledged at once.
const QUICK: u8 = 16;
/// Retransmission timeout after a retransmitted SYN (RFC 6298 section 5.7).
const RTO_AFTER_SYN_US: u32 = 3_000_000;

impl Connection {
    /// Starts an active open: the next [`Connection::send`] sends the SYN. `mss` is the largest
    /// payload for the path to the peer; `space` the largest space that the sink will ever have.
    pub fn open(
        machine: &mut Machine,
        now: Time,
        flow: &Flow,
        mss: u16,
        space: u32,
        settings: Settings,
    ) -> Self {
        let iss = machine.isn(now, flow);
        let ts_offset = machine.clock_offset(flow);
        let mut this = Self::blank(&machine.config, now, mss, space, settings);
        this.state = State::SynSent;
        this.flags = Flags::ACTIVE.or(Flags::SYN_DUE);
        this.mss = flow.default_mss();
        this.ts_offset = ts_offset;
        this.begin(iss);
        machine.counters.active_opens += 1;
        this
    }

    /// Creates the connection of a half-open record, in SYN_RCVD.
    pub(crate) fn passive(
        machine: &Machine,
        now: Time,
        half: &HalfOpen,
        space: u32,
        settings: Settings,
    ) -> Self {
        let mut this = Self::blank(&machine.config, now, half.own_mss, space, settings);
        this.state = State::SynRcvd;
        this.mss = half.default_mss;
        this.ts_offset = half.ts_offset;
        this.begin(half.iss);
        this.take_syn(&machine.config, now, half.irs, &half.options());
        if half.retries > 0 {
            this.flags.set(Flags::SYN_RESENT);
        }
        this.progress_at = half.sent_at;
        this.snd_wnd = u32::from(half.window);
        this
    }

    fn blank(config: &Config, now: Time, mss: u16, space: u32, settings: Settings) -> Self {
        let buffer = config.rcv_buffer.clamp(1, config.rcv_buffer_max.max(1));
        let wanted = u64::from(config.rcv_buffer_max.min(space));
        let shift = (0..14).find(|shift| 0xffff << shift >= wanted).unwrap_or(14);
        Self {
            rcv_shift: if config.window_scale { shift } else { 0 },
            own_mss: mss,
            rcv_mss: mss.min(536),
            rcv_space: space.min(buffer),
            window: Window { cwnd: 0, ssthresh: u32::MAX },
            rtt: Rtt::new(config),
            retransmit_at: Time::NEVER,
            ack_at: Time::NEVER,
            idle_at: Time::NEVER,
            heard_at: now,
            progress_at: now,
            settings,
            congestion: Congestion::from(config.algorithm),
            autotune: Autotune { buffer, step: 1, ..Autotune::default() },
            ..Self::default()
        }
    }

    fn begin(&mut self, iss: Seq) {
        (self.iss, self.snd_una, self.snd_nxt) = (iss, iss, iss + 1);
        (self.rack.highest, self.rack.quarters) = (iss, 1);
        self.recovery.point = iss;
    }

    /// Applies the peer's sequence number and the options of its SYN.
    pub(super) fn take_syn(&mut self, config: &Config, now: Time, irs: Seq, options: &Options) {
        self.irs = irs;
        self.rcv_nxt = irs + 1;
        (self.rcv_edge, self.ack_sent) = (self.rcv_nxt, self.rcv_nxt);
        (self.autotune.from, self.autotune.since) = (self.rcv_nxt, now);
        let told = options.mss.unwrap_or(self.mss).max(config.min_mss);
        self.mss = told.min(self.own_mss);
        if let (true, Some(timestamp)) = (config.timestamps, options.timestamp) {
            self.flags.set(Flags::TIMESTAMPS);
            (self.ts_recent, self.ts_recent_at) = (timestamp.value, now.ms());
            self.mss = self.mss.saturating_sub(TIMESTAMP_LEN).max(1);
        }
        if config.sack && options.is_sack_permitted {
            self.flags.set(Flags::SACK);
        }
        match options.window_scale {
            // RFC 7323 section 2.3: values above 14 mean 14.
            Some(shift) if config.window_scale => {
                self.snd_shift = shift.min(14);
                self.flags.set(Flags::SCALED);
            }
            _ => (self.snd_shift, self.rcv_shift) = (0, 0),
        }
    }

    /// The SYN or SYN-ACK.
    pub(crate) fn syn(&mut self, machine: &Machine, now: Time) -> Outgoing {
        let is_first = self.state == State::SynSent;
        let config = &machine.config;
        let offers = |is_wanted: bool, flag: Flags| is_wanted && (is_first || self.flags.has(flag));
        let value = self.stamp(now);
        let timestamp = Timestamp { value, echo: if is_first { 0 } else { self.ts_recent } };
        let options = Options {
            mss: Some(self.own_mss),
            window_scale: offers(config.window_scale, Flags::SCALED).then_some(self.rcv_shift),
            is_sack_permitted: offers(config.sack, Flags::SACK),
            timestamp: offers(config.timestamps, Flags::TIMESTAMPS).then_some(timestamp),
            ..Options::default()
        };
        // The window of a SYN is never scaled (RFC 7323 section 2.2).
        let window = self.rcv_space.min(0xffff);
        let flags = if is_first {
            Bits::SYN
        } else {
            self.rcv_edge = self.rcv_edge.max(self.rcv_nxt + window);
            Bits::SYN | Bits::ACK
        };
        let ack = if is_first { Seq(0) } else { self.rcv_nxt };
        let window = window as u16;
        let segment = Segment { seq: self.iss, ack, flags, window, options, ..Segment::default() };
        Outgoing { segment, ahead: 0, mss: self.own_mss }
    }

    /// Sends a pending SYN; false if no buffer was free.
    pub(super) fn send_syn(
        &mut self,
        machine: &mut Machine,
        now: Time,
        out: &mut impl Emit,
    ) -> bool {
        let syn = self.syn(machine, now);
        if !out.emit(&syn) {
            machine.counters.no_buffer += 1;
            return false;
        }
        machine.counters.out_segs += 1;
        self.statistics.out_segs += 1;
        if self.flags.has(Flags::SYN_RESENT) {
            machine.counters.rxt_segs += 1;
            self.statistics.rxt_segs += 1;
        }
        self.flags.clear(Flags::SYN_DUE);
        self.timer = Timer::RetransmitSyn;
        self.retransmit_at = now + self.backed_off();
        true
    }

    /// The handshake is complete.
    pub(super) fn establish(
        &mut self,
        machine: &mut Machine,
        now: Time,
        segment: &Segment,
        effects: &mut Effects,
    ) {
        self.state = State::Established;
        effects.events |= Events::CONNECTED;
        (self.timer, self.retransmit_at, self.backoff) = (Timer::None, Time::NEVER, 0);
        // The SYN does not consume a byte of the source.
        self.snd_una = self.iss + 1;
        (self.rack.highest, self.round_end) = (self.snd_una, self.snd_una);
        let is_syn = segment.has(Bits::SYN);
        let shift = if is_syn { 0 } else { self.snd_shift };
        self.snd_wnd = u32::from(segment.window) << shift;
        self.snd_wnd_max = self.snd_wnd;
        (self.snd_wl1, self.snd_wl2) = (segment.seq, segment.ack);
        self.window.cwnd = self.initial_window(&machine.config);
        if self.flags.has(Flags::SYN_RESENT) {
            self.window.cwnd = self.segment_size();
            self.rtt.timeout = RTO_AFTER_SYN_US;
        } else if !self.progress_at.is_never() {
            let sample = now.since(self.progress_at);
            self.rtt.add(sample, &machine.config);
            self.min_rtt.add(sample, now);
        }
        self.quick = QUICK;
        (self.heard_at, self.progress_at) = (now, now);
        self.watch_peer();
    }

    /// Initial congestion window (RFC 6928).
    pub(super) fn initial_window(&self, config: &Config) -> u32 {
        let (mss, count) = (self.segment_size(), u32::from(config.initial_cwnd.max(1)));
        (count * mss).min((count * 1460).max(2 * mss))
    }
}
