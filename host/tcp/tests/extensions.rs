//! Demands of the RFCs beside RFC 9293: timestamps, SACK, loss recovery, blind attacks.

mod rig;

use std::time::Duration;

use rig::{ACK, MSS, PEER, RST, Rig, SYN, all_options, plain_options, ranges};
use tcp_machine::{
    Algorithm, Config, Flags, Late, Options, Segment, Settings, State, Time, Timer, Timestamp,
};

const FULL: u32 = MSS as u32;

/// A connection with NewReno and this many segments in flight, of round trips of 10 ms.
fn in_flight(options: Options, count: u32) -> Rig {
    let config = Config { algorithm: Algorithm::NewReno, initial_cwnd: 40, ..Config::default() };
    let mut rig = Rig::with(options, config, Settings::default());
    for _ in 0..count {
        rig.write(FULL);
        rig.now = rig.now + 100;
    }
    rig.now = rig.now + Duration::from_millis(10);
    rig
}

#[test]
fn rfc6928_ten_segments_to_begin_with() {
    // But not of more than 14600 bytes, unless two are.
    for (mss, cwnd) in [(500, 5000), (1460, 14_600), (8000, 16_000)] {
        let options = Options { mss: Some(mss), ..Options::default() };
        let rig = Rig::with(options, Config::default(), Settings::default());
        assert_eq!(rig.details().cwnd, cwnd);
    }
}

#[test]
fn rfc7323_options_are_used_only_if_both_sides_have_them() {
    let rig = Rig::plain();
    let details = rig.details();
    assert!(!details.has_timestamps && !details.has_sack && !details.has_window_scale);
    assert_eq!((details.snd_wscale, details.rcv_wscale), (0, 0));
    let config =
        Config { timestamps: false, sack: false, window_scale: false, ..Config::default() };
    let (_, syn) = Rig::opening(config, Settings::default());
    assert_eq!(syn.options, Options { mss: Some(9000), ..Options::default() });
}

#[test]
fn rfc7323_windows_are_scaled_but_for_that_of_a_syn() {
    let options = Options { window_scale: Some(15), ..all_options() };
    let mut rig = Rig::with(options, Config::default(), Settings::default());
    assert_eq!((rig.details().snd_wnd, rig.details().snd_wscale), (60_000, 14)); // section 2.3
    rig.ack(0);
    assert_eq!(rig.details().snd_wnd, 60_000 << 14);
    // Ours: the sink has a MB.
    assert_eq!(rig.details().rcv_wscale, 5);
    let sent = rig.write(10);
    assert_eq!(u32::from(sent[0].segment.window) << 5, 65_536);
}

#[test]
fn rfc7323_old_timestamps_are_refused_and_answered() {
    let mut rig = Rig::open();
    rig.stamp = Some(1000);
    rig.data(0, 10);
    rig.pass(100);
    let mut old = rig.segment(10, 0, 10, ACK);
    old.options.timestamp = Some(Timestamp { value: 900, echo: rig.echo });
    let sent = rig.raw(&old);
    assert_eq!((rig.room.delivered, sent.len()), (10, 1));
    // After 24 days it is taken: the clock may have wrapped (section 5.5).
    rig.now = rig.now + Duration::from_secs(25 * 24 * 3600);
    rig.raw(&old);
    assert_eq!(rig.room.delivered, 20);
}

#[test]
fn rfc7323_segments_without_a_timestamp_are_dropped_but_resets_are_not() {
    let mut rig = Rig::open();
    let mut bare = rig.segment(0, 0, 10, ACK);
    bare.options.timestamp = None;
    assert_eq!(rig.raw(&bare), []);
    assert_eq!(rig.room.delivered, 0);
    let reset = Segment { flags: RST, len: 0, ..bare };
    rig.raw(&reset);
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn rfc7323_the_echo_is_that_of_the_oldest_segment_not_acknowledged() {
    let mut rig = Rig::open();
    rig.stamp = Some(100);
    rig.data(0, 10);
    let first = rig.stamp.unwrap() - 1;
    rig.data(10, 10);
    let sent = rig.pass(50);
    assert_eq!(sent[0].1.segment.options.timestamp.unwrap().echo, first);
    // Out of order: the last one in order.
    let before = rig.details().ts_recent;
    let sent = rig.data(500, 10);
    assert_eq!(sent[0].segment.options.timestamp.unwrap().echo, before);
}

#[test]
fn rfc2018_blocks_begin_with_the_newest() {
    let mut rig = Rig::open();
    let first = PEER + 1;
    let blocks = |rig: &mut Rig, at: u32| {
        let sent = rig.data(at, 100);
        let blocks = sent.last().unwrap().segment.options.sack;
        let from = |n: u32| n.wrapping_sub(first.0);
        blocks.as_slice().iter().map(|(a, b)| (from(*a), from(*b))).collect::<Vec<_>>()
    };
    assert_eq!(blocks(&mut rig, 1000), [(1000, 1100)]);
    assert_eq!(blocks(&mut rig, 3000), [(3000, 3100), (1000, 1100)]);
    assert_eq!(blocks(&mut rig, 2000), [(2000, 2100), (3000, 3100), (1000, 1100)]);
    // With timestamps there is room for three.
    assert_eq!(blocks(&mut rig, 4000), [(4000, 4100), (2000, 2100), (3000, 3100)]);
    assert_eq!(blocks(&mut rig, 1100), [(1000, 1200), (4000, 4100), (2000, 2100)]);
    assert_eq!(rig.room.delivered, 0);
    rig.data(0, 1000);
    assert_eq!(rig.room.delivered, 1200);
}

#[test]
fn rfc2018_a_peer_that_drops_what_it_had_gets_it_again() {
    let mut rig = in_flight(all_options(), 10);
    rig.sack(0, &[(FULL, 10 * FULL)]);
    assert_eq!(rig.details().sacked, 9 * FULL);
    // The first is acknowledged; the next, which it had, is not.
    rig.pass(1);
    rig.sack(FULL, &[]);
    rig.pass(1000);
    assert_eq!(rig.details().sacked, 0);
    let mut acked = 1;
    while acked < 10 {
        acked += 1;
        rig.ack(acked * FULL);
    }
    assert_eq!(rig.available, 0);
}

#[test]
fn rfc2883_duplicates_are_reported_first() {
    let mut rig = Rig::open();
    let first = (PEER + 1).0;
    rig.data(0, 500);
    rig.data(1000, 500);
    let sent = rig.data(0, 500);
    let blocks = sent[0].segment.options.sack;
    let at = |n: u32| first.wrapping_add(n);
    assert_eq!(blocks.as_slice(), [(at(0), at(500)), (at(1000), at(1500))]);
    // Once; and of what is out of order as well: the part, then the whole.
    let sent = rig.data(1200, 500);
    let blocks = sent[0].segment.options.sack;
    assert_eq!(blocks.as_slice(), [(at(1200), at(1500)), (at(1000), at(1700))]);
}

#[test]
fn rfc5681_three_duplicates_without_sack_are_a_loss() {
    let mut rig = in_flight(plain_options(), 10);
    for _ in 0..2 {
        rig.ack(0);
        assert_eq!(rig.details().recovery, "none");
    }
    let sent = rig.ack(0);
    assert_eq!((ranges(&sent), rig.details().recovery), (vec![(0, FULL)], "fast recovery"));
    assert_eq!(rig.details().ssthresh, 5 * FULL);
}

#[test]
fn rfc6582_a_partial_acknowledgment_sends_the_next_hole() {
    let mut rig = in_flight(plain_options(), 10);
    (0..3).for_each(|_| drop(rig.ack(0)));
    let sent = rig.ack(4 * FULL);
    assert_eq!((ranges(&sent), rig.details().recovery), (vec![(0, FULL)], "fast recovery"));
    rig.ack(10 * FULL);
    assert_eq!((rig.details().recovery, rig.details().cwnd), ("none", 5 * FULL));
    // Duplicates of repetitions begin nothing.
    assert_eq!(rig.machine.counters.recoveries, 1);
}

#[test]
fn rfc3042_new_segments_follow_the_first_duplicates() {
    let config = Config { algorithm: Algorithm::NewReno, initial_cwnd: 2, ..Config::default() };
    let mut rig = Rig::with(plain_options(), config, Settings::default());
    assert_eq!(ranges(&rig.write(10 * FULL)), [(0, 2 * FULL)]);
    assert_eq!(ranges(&rig.ack(0)), [(2 * FULL, FULL)]);
    assert_eq!(ranges(&rig.ack(0)), [(3 * FULL, FULL)]);
}

#[test]
fn rfc6675_holes_are_repeated_and_nothing_else() {
    let mut rig = in_flight(all_options(), 20);
    rig.sack(0, &[(FULL, 5 * FULL), (7 * FULL, 20 * FULL)]);
    let details = rig.details();
    assert_eq!((details.recovery, details.sacked), ("fast recovery", 17 * FULL));
    let mut repeated = Vec::new();
    for _ in 0..3 {
        repeated.extend(ranges(&rig.sack(0, &[(FULL, 5 * FULL), (7 * FULL, 20 * FULL)])));
    }
    let all: u32 = u32::from(rig.details().lost == 0);
    assert_eq!((all, rig.connection.statistics().rxt_segs), (1, 3));
    rig.ack(20 * FULL);
    assert_eq!((rig.details().recovery, rig.available), ("none", 0));
}

#[test]
fn rfc6937_the_window_shrinks_in_proportion() {
    let mut rig = in_flight(all_options(), 40);
    rig.write(100 * FULL);
    let begin = rig.details().snd_nxt;
    // One is lost; what is sent for each that arrives is about half of it.
    let mut sent = 0;
    for n in 2..=40 {
        rig.now = rig.now + 100;
        for out in rig.sack(0, &[(FULL, n * FULL)]) {
            sent += out.segment.len;
        }
    }
    assert_eq!(rig.details().ssthresh, 20 * FULL);
    let share = f64::from(sent) / f64::from(38 * FULL);
    assert!((0.4..0.6).contains(&share), "{share}");
    assert!(rig.details().snd_nxt.is_after(begin));
    rig.ack(40 * FULL);
    assert_eq!(rig.details().cwnd, 20 * FULL);
}

#[test]
fn rfc8985_what_was_sent_before_something_that_arrived_is_lost_after_a_time() {
    let mut rig = in_flight(all_options(), 3);
    // The last has arrived: too few to be sure, so a quarter of the round trip is waited.
    let sent = rig.sack(0, &[(2 * FULL, 3 * FULL)]);
    assert_eq!((ranges(&sent), rig.details().lost), (vec![], 0));
    let (timer, at) = rig.connection.timers().next().unwrap();
    assert_eq!(timer, Timer::Reorder);
    let quarter = u64::from(rig.details().min_rtt_us / 4);
    assert!(at <= rig.now + quarter && at + 200 >= rig.now + quarter);
    let sent = rig.pass(5);
    assert_eq!(sent[0].1.ahead, 0);
    assert_eq!(rig.details().recovery, "fast recovery");
}

#[test]
fn rfc8985_a_repetition_that_is_lost_is_found_lost() {
    let mut rig = in_flight(all_options(), 20);
    rig.write(20 * FULL);
    let mut high = 4;
    let sent = rig.sack(0, &[(FULL, high * FULL)]);
    assert_eq!(sent[0].ahead, 0);
    // What is sent after the repetition arrives; the repetition does not.
    let mut again = 0;
    for _ in 0..30 {
        rig.now = rig.now + Duration::from_millis(12);
        high += 1;
        let sent = rig.sack(0, &[(FULL, high.min(39) * FULL)]);
        again += sent.iter().filter(|out| out.ahead == 0 && out.segment.len > 0).count();
    }
    assert!(again >= 1, "without the timeout: {again}");
    assert_eq!(rig.machine.counters.tr_events, 0);
}

#[test]
fn rfc8985_a_lost_tail_is_probed_before_the_timeout() {
    let mut rig = in_flight(all_options(), 10);
    rig.ack(8 * FULL);
    let sent = rig.pass(100);
    let (at, probe) = &sent[0];
    assert!((10..=60).contains(at), "{at}");
    assert_eq!((probe.ahead, probe.segment.len), (FULL, FULL)); // the last one
    assert_eq!((rig.machine.counters.tail_loss_probes, rig.details().cwnd > 10 * FULL), (1, true));
    // It has arrived, and shows that the one before is lost.
    rig.sack(8 * FULL, &[(9 * FULL, 10 * FULL)]);
    rig.pass(20);
    assert_eq!(rig.details().recovery, "fast recovery");
    rig.ack(10 * FULL);
    assert_eq!(rig.machine.counters.tr_events, 0);
}

#[test]
fn rfc3522_a_recovery_that_was_not_needed_is_undone() {
    let mut rig = in_flight(all_options(), 20);
    let before = rig.details();
    let echo = rig.echo;
    rig.now = rig.now + Duration::from_millis(5);
    rig.sack(0, &[(FULL, 6 * FULL)]);
    assert_eq!(rig.details().recovery, "fast recovery");
    // The first one was only late: the echo is older than its repetition.
    let mut late = rig.segment(0, 6 * FULL, 0, ACK);
    late.options.timestamp = Some(Timestamp { value: rig.stamp.unwrap(), echo });
    rig.raw(&late);
    let details = rig.details();
    assert_eq!((details.recovery, details.ssthresh), ("none", before.ssthresh));
    assert!(details.cwnd >= before.cwnd);
    assert_eq!(rig.machine.counters.undone, 1);
}

#[test]
fn rfc6298_the_oldest_is_repeated_and_the_timer_restarts_with_progress() {
    let mut rig = in_flight(plain_options(), 4);
    rig.pass(150);
    rig.ack(FULL);
    // 200 ms from the acknowledgment, not from the begin.
    let sent = rig.pass(1000);
    assert!(sent[0].0 >= 200);
    assert_eq!((sent[0].1.ahead, sent[0].1.segment.len), (0, FULL));
}

#[test]
fn rfc9438_the_window_returns_to_where_it_was_and_then_grows() {
    let config = Config { initial_cwnd: 100, ..Config::default() };
    let options = Options { window_scale: Some(8), ..all_options() };
    let mut rig = Rig::with(options, config, Settings::default());
    rig.ack(0); // with a window that is scaled
    rig.write(4_000_000);
    let before = rig.details().cwnd;
    rig.now = rig.now + Duration::from_millis(50);
    rig.sack(0, &[(FULL, 20 * FULL)]);
    let reduced = rig.details().ssthresh;
    assert!((f64::from(reduced) / f64::from(before) - 0.7).abs() < 0.02);
    let end = rig.details().snd_nxt - rig.details().iss - 1;
    rig.ack(end);
    // K = cbrt(0.3 * 100 / 0.4) s = 4.2 s
    let at = |rig: &mut Rig, ms: u64| {
        let until = rig.now + Duration::from_millis(ms);
        while rig.now < until {
            rig.available += 200_000;
            rig.send();
            rig.now = rig.now + Duration::from_millis(50);
            let end = rig.details().snd_nxt - rig.details().iss - 1;
            rig.ack(end);
        }
        f64::from(rig.details().cwnd) / f64::from(before)
    };
    let early = at(&mut rig, 2000);
    let plateau = at(&mut rig, 2200);
    let late = at(&mut rig, 6000);
    assert!((0.7..1.0).contains(&early), "{early}");
    assert!((0.9..1.35).contains(&plateau), "{plateau}");
    assert!(late > plateau * 1.2, "{late}");
}

#[test]
fn rfc5961_resets_and_syns_in_the_window_are_challenged() {
    let mut rig = Rig::open();
    for (at, flags) in [(1, RST), (1000, RST), (0, SYN), (1000, SYN), (5_000_000, SYN)] {
        let segment = rig.segment(at, 0, 0, flags);
        let sent = rig.raw(&segment);
        assert_eq!((sent.len(), rig.state()), (1, State::Established), "{at} {flags}");
        assert_eq!(sent[0].segment.flags, ACK);
    }
    // Beyond the window: nothing. At its begin: the end.
    let outside = rig.segment(5_000_000, 0, 0, RST);
    assert_eq!(rig.raw(&outside), []);
    let right = rig.segment(0, 0, 0, RST);
    rig.raw(&right);
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn rfc5961_challenges_are_few() {
    let mut rig = Rig::open();
    let reset = rig.segment(1, 0, 0, RST);
    let answers: usize = (0..100).map(|_| rig.raw(&reset).len()).sum();
    assert_eq!(answers, 10);
    assert_eq!(rig.machine.counters.challenges_withheld, 90);
    rig.pass(1000);
    assert_eq!(rig.raw(&reset).len(), 1);
}

#[test]
fn rfc5961_acknowledgments_of_long_ago_or_of_nothing_carry_no_data() {
    let mut rig = Rig::open();
    for ack in [1, u32::MAX - 100_000] {
        let segment = rig.segment(0, ack, 100, ACK);
        let sent = rig.raw(&segment);
        assert_eq!((sent.len(), rig.room.delivered), (1, 0));
    }
    // An old one in the largest window that the peer had is fine.
    let segment = rig.segment(0, u32::MAX - 100, 100, ACK);
    rig.raw(&segment);
    assert_eq!(rig.room.delivered, 100);
}

#[test]
fn rfc6191_a_newer_syn_opens_what_lingers() {
    let mut rig = Rig::open();
    rig.close();
    let fin = rig.segment(0, 1, 0, ACK | Flags::FIN);
    rig.raw(&fin);
    let mut record = rig.connection.time_wait(&rig.machine, rig.now);
    let snd_nxt = rig.details().snd_nxt;
    let late = |record: &mut tcp_machine::TimeWait, rig: &mut Rig, at: u32, value: u32| {
        let timestamp = Some(Timestamp { value, echo: 0 });
        let options = Options { timestamp, ..Options::default() };
        let syn = Segment { seq: PEER + at, flags: SYN, options, ..Segment::default() };
        record.segment(&mut rig.machine, rig.now, &syn)
    };
    // An older number, and an older timestamp.
    assert!(matches!(late(&mut record, &mut rig, 0, 1), Late::Answer(_)));
    // The timestamp counts more than the number.
    let Late::Reopen(least) = late(&mut record, &mut rig, 0, 100) else { panic!() };
    assert!(least.is_after(snd_nxt));
    // A reset ends nothing (RFC 1337).
    let reset = Segment { seq: PEER + 2, flags: RST, ..Segment::default() };
    assert_eq!(record.segment(&mut rig.machine, rig.now, &reset), Late::Ignore);
}

#[test]
fn round_trips_are_right_where_microseconds_wrap() {
    // 2^32 us are 71 minutes.
    let mut rig = Rig::open();
    rig.now = Time::from_us((1 << 32) * 5 - 2000);
    rig.write(FULL);
    rig.now = rig.now + Duration::from_millis(10);
    rig.ack(FULL);
    assert!((9_000..12_000).contains(&rig.details().srtt_us), "{}", rig.details().srtt_us);
}
