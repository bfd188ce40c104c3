//! SYN cookies (RFC 4987 section 3.6): the sequence number of the SYN-ACK encodes the SYN.
//!
//! It consists of the time (5 bits, in units of 64 s), one of eight segment sizes (3 bits), and a
//! hash of these, the flow and the peer's sequence number. Window scale and SACK are in the lowest
//! bits of the timestamp, which the peer echoes; without timestamps the connection has neither.

use wire::tcp::{Flags, Options, Timestamp};

use crate::{Connection, Flow, HalfOpen, Machine, Outgoing, Segment, Seq, Settings, Time};

const COOKIE: u64 = 4;
/// Unit of time in microseconds, and lifetime of a cookie in units.
const UNIT_US: u64 = 64_000_000;
const UNITS: u64 = 2;
/// Segment sizes in order; the largest one not above the peer's is used.
const SIZES: [u16; 8] = [216, 536, 1220, 1300, 1440, 1460, 4312, 8960];
/// Bits of a timestamp: 4 for the window scale (15 for none), one for SACK.
const SCALE: u32 = 0x0f;
const SACK: u32 = 0x10;
const BITS: u32 = 0x1f;

fn number(machine: &Machine, unit: u64, flow: &Flow, irs: Seq, size: u32) -> Seq {
    let purpose = u64::from(irs.0) << 32 | (unit & 0xf_ffff) << 12 | u64::from(size) << 8 | COOKIE;
    let hash = machine.secret.of_flow(flow, purpose) as u32;
    Seq((unit as u32 & 0x1f) << 27 | size << 24 | hash & 0xff_ffff)
}

/// The SYN-ACK with a cookie; no state is kept for the SYN. `None` if the segment is not a SYN.
pub fn cookie_for(
    machine: &mut Machine,
    now: Time,
    flow: &Flow,
    syn: &Segment,
    mss: u16,
    space: u32,
) -> Option<Outgoing> {
    let mut half = HalfOpen::new(machine, now, flow, syn, mss, None)?;
    let told = half.options().mss.unwrap_or(flow.default_mss());
    let size = SIZES.iter().rposition(|size| *size <= told).unwrap_or(0) as u32;
    half.iss = number(machine, now.us() / UNIT_US, flow, syn.seq, size);
    let has_timestamp = machine.config.timestamps && syn.options.timestamp.is_some();
    if !has_timestamp {
        half.forget_options();
    }
    let connection = Connection::passive(machine, now, &half, space, Settings::default());
    let mut out = { connection }.syn(machine, now);
    if let Some(timestamp) = &mut out.segment.options.timestamp {
        let scale = half.options().window_scale.map_or(SCALE, u32::from);
        let sack = if half.options().is_sack_permitted { SACK } else { 0 };
        let value = timestamp.value & !BITS | scale | sack;
        // Never ahead of the clock: later timestamps must not be smaller.
        let is_ahead = timestamp.value.wrapping_sub(value).cast_signed() < 0;
        timestamp.value = if is_ahead { value.wrapping_sub(BITS + 1) } else { value };
    }
    machine.cookies_until = now + UNIT_US * UNITS;
    machine.counters.cookies_sent += 1;
    machine.counters.out_segs += 1;
    Some(out)
}

/// The half-open connection for a cookie returned in an ACK; pass the ACK to it next. `None` if the
/// cookie is invalid: then answer with [`crate::reset_for`].
pub fn cookie_of(
    machine: &mut Machine,
    now: Time,
    flow: &Flow,
    ack: &Segment,
    mss: u16,
) -> Option<HalfOpen> {
    if ack.flags.0 & (Flags::SYN | Flags::ACK | Flags::RST).0 != Flags::ACK.0 {
        return None;
    }
    if now > machine.cookies_until {
        // None is on its way: guesses are pointless.
        return None;
    }
    let (iss, irs) = (ack.ack - 1, ack.seq - 1);
    let unit = now.us() / UNIT_US;
    let size = iss.0 >> 24 & 7;
    let mut units = unit.saturating_sub(UNITS - 1)..=unit;
    if !units.any(|unit| number(machine, unit, flow, irs, size) == iss) {
        machine.counters.cookies_refused += 1;
        return None;
    }
    let mut options = Options { mss: Some(SIZES[size as usize]), ..Options::default() };
    if let Some(timestamp) = ack.options.timestamp {
        let bits = timestamp.echo;
        options.timestamp = Some(Timestamp { value: timestamp.value, echo: 0 });
        options.is_sack_permitted = bits & SACK != 0;
        options.window_scale = (bits & SCALE != SCALE).then_some((bits & SCALE) as u8);
    }
    machine.counters.cookies_accepted += 1;
    let mut half = HalfOpen::of(machine, now, flow, &options, mss);
    (half.iss, half.irs, half.sent_at) = (iss, irs, Time::NEVER);
    Some(half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn machine() -> Machine {
        Machine::new(Config::default(), [7; 16], 1)
    }

    fn syn(options: Options) -> Segment {
        Segment { seq: Seq(99), flags: Flags::SYN, window: 1000, options, ..Segment::default() }
    }

    #[test]
    fn a_cookie_that_comes_back_says_what_the_syn_said() {
        let (mut machine, flow) = (machine(), Flow::default());
        for (scale, is_sack_permitted) in [(None, true), (Some(0), false), (Some(14), true)] {
            for ms in [0, 1, 31, 32, 1_000_000] {
                let now = Time::from_us(ms * 1000);
                let timestamp = Some(Timestamp { value: 5, echo: 0 });
                let mss = Some(1460);
                let options = Options {
                    mss,
                    window_scale: scale,
                    is_sack_permitted,
                    timestamp,
                    ..Options::default()
                };
                let out = cookie_for(&mut machine, now, &flow, &syn(options), 1400, 9000)
                    .unwrap()
                    .segment;
                let echo = out.options.timestamp.unwrap().value;
                assert!((now.ms().wrapping_add(machine.clock_offset(&flow)) - echo) < 64);
                let options =
                    Options { timestamp: Some(Timestamp { value: 6, echo }), ..Options::default() };
                let mut ack = Segment {
                    seq: Seq(100),
                    ack: out.seq + 1,
                    flags: Flags::ACK,
                    options,
                    ..Segment::default()
                };
                let half = cookie_of(&mut machine, now + 60_000_000, &flow, &ack, 1400).unwrap();
                let found = half.options();
                assert_eq!(
                    (found.window_scale, found.is_sack_permitted),
                    (scale, is_sack_permitted)
                );
                assert_eq!((found.mss, half.iss, half.irs), (Some(1460), out.seq, Seq(99)));
                // Too late, of another flow, of another number.
                assert!(cookie_of(&mut machine, now + 200_000_000, &flow, &ack, 1400).is_none());
                let other = Flow { remote_port: 1, ..flow };
                assert!(cookie_of(&mut machine, now, &other, &ack, 1400).is_none());
                ack.ack += 1;
                assert!(cookie_of(&mut machine, now, &flow, &ack, 1400).is_none());
            }
        }
    }

    #[test]
    fn an_answer_counts_only_after_a_cookie_and_says_nothing_about_the_path() {
        let flow = Flow { local_port: 80, remote_port: 4000, ..Flow::default() };
        let (mut sender, mut other) = (machine(), machine());
        let now = Time::from_us(500_000_000);
        let out = cookie_for(&mut sender, now, &flow, &syn(Options::default()), 1400, 9000);
        let seq = out.unwrap().segment.seq;
        let ack = Segment {
            seq: Seq(100),
            ack: seq + 1,
            flags: Flags::ACK,
            window: 9000,
            ..Segment::default()
        };
        let later = now + 300_000;
        assert!(cookie_of(&mut other, later, &flow, &ack, 1400).is_none(), "it has sent none");
        assert_eq!(other.counters.cookies_refused, 0, "not even looked at");
        let mut half = cookie_of(&mut sender, later, &flow, &ack, 1400).unwrap();
        let settings = Settings::default();
        let answer =
            half.segment(&mut sender, later, &ack, settings, &mut Nothing, &mut |_: &Outgoing| {
                true
            });
        let crate::Answer::Open(connection, _) = answer else { panic!("{answer:?}") };
        let found = connection.details();
        assert_eq!((found.srtt_us, found.min_rtt_us, found.rto_us), (0, 0, 1_000_000));
    }

    /// Takes no bytes.
    struct Nothing;

    impl crate::Sink for Nothing {
        fn space(&self) -> u32 {
            9000
        }
        fn unread(&self) -> u32 {
            0
        }
        fn keep(&mut self, _: u32, _: u32, _: u32) -> bool {
            false
        }
        fn deliver(&mut self, _: u32) {}
    }
}
