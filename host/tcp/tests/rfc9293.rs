//! Demands of RFC 9293, by the numbers of its appendix B. Those about checksums, addresses, IP
//! options, hop limits and DSCP are not here: the machine knows neither packets nor addresses.

mod rig;

use std::time::Duration;

use rig::{ACK, MSS, PEER, RST, Rig, SYN, all_options, plain_options, ranges};
use tcp_machine::{
    Answer, Config, Connection, Error, Events, Flags, Flow, HalfOpen, Late, Machine, Options,
    Outgoing, Segment, Seq, Settings, State, Time, reset_for,
};

const FULL: u32 = MSS as u32;

fn has(rig: &Rig, event: Events) -> bool {
    rig.effects.events.contains(event)
}

#[test]
fn must_1_windows_are_unsigned() {
    let mut rig = Rig::undelayed();
    rig.window = 0xffff;
    rig.ack(0);
    assert_eq!(rig.details().snd_wnd, 0xffff);
}

#[test]
fn must_4_must_14_segment_sizes_are_sent_and_received() {
    let (_, syn) = Rig::opening(Config::default(), Settings::default());
    assert_eq!(syn.options.mss, Some(9000));
    let mut rig = Rig::plain();
    assert_eq!(ranges(&rig.write(3000)), [(0, 3000)]);
    assert_eq!(rig.details().snd_mss, MSS);
}

#[test]
fn must_5_must_6_must_64_options_are_taken_in_any_segment_and_unknown_ones_skipped() {
    // Not aligned, with an unknown one before the timestamp.
    let bytes = [253, 3, 9, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 2, 4, 1, 0];
    let options = Options::parse(&bytes).unwrap();
    assert_eq!(options.timestamp.map(|t| (t.value, t.echo)), Some((7, 9)));
    let mut rig = Rig::open();
    let mut segment = rig.segment(0, 0, 10, ACK);
    segment.options.mss = Some(100);
    rig.raw(&segment);
    assert_eq!((rig.room.delivered, rig.details().snd_mss), (10, MSS));
}

#[test]
fn must_7_must_68_options_of_an_impossible_length_are_no_segment() {
    let mut packet = [0_u8; 24];
    packet[12] = 6 << 4;
    packet[20..].copy_from_slice(&[2, 0, 5, 0xb4]);
    assert_eq!(Segment::parse(&packet), None);
    packet[20..].copy_from_slice(&[2, 4, 5, 0xb4]);
    assert!(Segment::parse(&packet).is_some());
}

#[test]
fn must_8_must_9_initial_numbers_follow_a_clock_from_a_secret_place() {
    let flow = Flow { local_port: 1, remote_port: 2, ..Flow::default() };
    let iss = |secret: u8, us: u64, flow: &Flow| {
        let mut machine = Machine::new(Config::default(), [secret; 16], 1);
        let settings = Settings::default();
        let connection =
            Connection::open(&mut machine, Time::from_us(us), flow, 1460, 1000, settings);
        connection.details().iss
    };
    assert_eq!(iss(1, 4_000_000, &flow) - iss(1, 0, &flow), 1_000_000);
    let other = Flow { remote_port: 3, ..flow };
    assert!((iss(1, 0, &other) - iss(1, 0, &flow)) > 1000);
    assert!((iss(2, 0, &flow) - iss(1, 0, &flow)) > 1000);
}

#[test]
fn must_10_both_may_open_at_once() {
    let (mut rig, syn) = Rig::opening(Config::default(), Settings::default());
    let peer = Segment { seq: PEER, flags: SYN, window: 999, ..Segment::default() };
    let sent = rig.raw(&peer);
    assert_eq!(rig.state(), State::SynRcvd);
    let answer = sent[0].segment;
    assert_eq!((answer.seq, answer.ack, answer.flags), (syn.seq, PEER + 1, SYN | ACK));
    let answer = Segment { ack: syn.seq + 1, flags: SYN | ACK, ..peer };
    rig.raw(&answer);
    assert_eq!((rig.state(), rig.details().snd_wnd), (State::Established, 999));
    assert!(has(&rig, Events::CONNECTED));
}

#[test]
fn must_11_a_reset_ends_an_active_open_and_lets_a_listener_listen() {
    let (mut rig, _) = Rig::opening(Config::default(), Settings::default());
    let syn = Segment { seq: PEER, flags: SYN, window: 999, ..Segment::default() };
    rig.raw(&syn);
    rig.raw(&Segment { seq: PEER + 1, flags: RST, ..Segment::default() });
    assert_eq!((rig.state(), rig.effects.error), (State::Closed, Some(Error::Refused)));

    let (mut half, mut machine) = half_open(&syn);
    let reset = Segment { seq: PEER + 1, flags: RST, ..Segment::default() };
    let mut room = rig::Room { capacity: 1000, unread: 0, delivered: 0, kept: Vec::new() };
    let now = Time::from_us(1_000_000);
    let out = &mut |_: &Outgoing| true;
    let settings = Settings::default();
    let answer = half.segment(&mut machine, now, &reset, settings, &mut room, out);
    assert!(matches!(answer, Answer::Gone));
}

fn half_open(syn: &Segment) -> (HalfOpen, Machine) {
    let mut machine = Machine::new(Config::default(), [1; 16], 2);
    let now = Time::from_us(1_000_000);
    let flow = Flow::default();
    let half = HalfOpen::new(&mut machine, now, &flow, syn, 1460, None).unwrap();
    (half, machine)
}

#[test]
fn must_12_an_end_in_order_differs_from_a_reset() {
    let mut rig = Rig::open();
    let fin = rig.segment(0, 0, 0, ACK | Flags::FIN);
    rig.raw(&fin);
    assert!(has(&rig, Events::FINISHED) && rig.effects.error.is_none());
    assert_eq!(rig.state(), State::CloseWait);
    let sent = rig.shut_down();
    assert_eq!(rig.state(), State::LastAck);
    let mut last = rig.segment(1, 1, 0, ACK);
    last.ack = sent[0].segment.seq + 1;
    rig.raw(&last);
    assert!(has(&rig, Events::ENDED));
    assert_eq!((rig.state(), rig.effects.error), (State::Closed, None));

    let mut rig = Rig::open();
    let reset = rig.segment(0, 0, 0, RST);
    rig.raw(&reset);
    assert!(has(&rig, Events::ENDED) && !has(&rig, Events::FINISHED));
    assert_eq!(rig.effects.error, Some(Error::Reset));
}

#[test]
fn must_13_who_closes_first_lingers() {
    let mut rig = Rig::open();
    rig.close();
    assert_eq!(rig.state(), State::FinWait1);
    let fin = rig.segment(0, 1, 0, ACK | Flags::FIN);
    rig.raw(&fin);
    assert!(has(&rig, Events::TIME_WAIT));
    let mut record = rig.connection.time_wait(&rig.machine, rig.now);
    assert_eq!(record.deadline(), rig.now + Duration::from_secs(60));
    // The FIN again: its acknowledgment was lost. It is sent again, and the time restarts.
    let later = rig.now + Duration::from_secs(30);
    let Late::Answer(out) = record.segment(&mut rig.machine, later, &fin) else { panic!() };
    assert_eq!((out.segment.ack, out.segment.flags), (fin.seq + 1, ACK));
    assert_eq!(record.deadline(), later + Duration::from_secs(60));
}

#[test]
fn must_15_a_peer_that_names_no_size_gets_small_segments() {
    for (is_ip6, size) in [(false, 536), (true, 1220)] {
        let mut machine = Machine::new(Config::default(), [1; 16], 1);
        let (now, flow) = (Time::from_us(0), Flow { is_ip6, ..Flow::default() });
        let settings = Settings::default();
        let connection = Connection::open(&mut machine, now, &flow, 1460, 1000, settings);
        assert_eq!(connection.details().snd_mss, size);
    }
    let mut rig = Rig::with(Options::default(), Config::default(), Settings::default());
    rig.write(2000);
    assert_eq!(rig.details().snd_mss, 536);
}

#[test]
fn must_16_options_make_segments_shorter() {
    let rig = Rig::open();
    // The peer takes 1012 bytes, of which the timestamp has 12.
    assert_eq!(rig.details().snd_mss, MSS);
    // And never more than the path takes.
    let options = Options { mss: Some(60_000), ..all_options() };
    let rig = Rig::with(options, Config::default(), Settings::default());
    assert_eq!(rig.details().snd_mss, 9000 - 12);
}

#[test]
fn must_17_short_segments_wait_unless_told_otherwise() {
    let mut rig = Rig::plain();
    assert_eq!(ranges(&rig.write(100)), [(0, 100)]);
    assert_eq!(ranges(&rig.write(100)), []);
    // More makes a full segment.
    assert_eq!(ranges(&rig.write(950)), [(100, 1000)]);
    assert_eq!(ranges(&rig.ack(1100)), [(0, 50)]);

    let mut rig = Rig::undelayed();
    assert_eq!(ranges(&rig.write(100)), [(0, 100)]);
    assert_eq!(ranges(&rig.write(100)), [(100, 100)]);
}

#[test]
fn must_18_timeouts_follow_round_trips_and_double() {
    let mut rig = Rig::plain();
    rig.write(100);
    rig.pass(150);
    rig.ack(100);
    // The SYN took 10 ms: 7/8 of it and 1/8 of 150 ms; 4 deviations more.
    let details = rig.details();
    assert_eq!((details.srtt_us, details.rttvar_us), (27_500, 38_750));
    rig.write(100);
    let sent: Vec<_> = rig.pass(3000).iter().map(|(ms, out)| (*ms, out.segment.len)).collect();
    assert_eq!(sent, [(200, 100), (600, 100), (1400, 100), (3000, 100)]);
    // Karn: what was sent again says nothing of the round trip.
    rig.ack(200);
    assert_eq!(rig.details().srtt_us, 27_500);
}

#[test]
fn must_19_slow_start_then_congestion_avoidance() {
    let config = Config { algorithm: tcp_machine::Algorithm::NewReno, ..Config::default() };
    let mut rig = Rig::with(plain_options(), config, Settings::default());
    assert_eq!(rig.details().cwnd, 10 * FULL);
    rig.write(100 * FULL);
    rig.ack(10 * FULL);
    assert_eq!(rig.details().cwnd, 20 * FULL);
    // A timeout: back to one segment, threshold at half of what was in flight.
    rig.pass(250);
    assert_eq!((rig.details().cwnd, rig.details().ssthresh), (FULL, 10 * FULL));
    let mut acked = 10;
    while rig.details().cwnd < 10 * FULL {
        acked += 1;
        rig.ack(acked * FULL);
    }
    assert_eq!(acked, 19);
}

#[test]
fn must_20_must_21_a_silent_peer_is_given_up_after_a_time_that_can_be_set() {
    for (settings_ms, seconds) in [(0, 15 * 60), (5000, 5)] {
        let settings = Settings { user_timeout_ms: settings_ms, ..Settings::default() };
        let mut rig = Rig::with(plain_options(), Config::default(), settings);
        rig.write(100);
        let before = rig.now;
        let tries = rig.pass(seconds * 1000 - 1).len();
        assert_eq!(rig.state(), State::Established);
        assert!(tries >= 3, "SHLD-10: {tries}");
        rig.pass(120_000);
        assert_eq!((rig.state(), rig.effects.error), (State::Closed, Some(Error::TimedOut)));
        assert!(rig.now - before > Duration::from_secs(seconds));
    }
}

#[test]
fn must_22_must_23_a_syn_is_repeated_for_three_minutes() {
    let (mut rig, syn) = Rig::opening(Config::default(), Settings::default());
    let sent = rig.pass(179_000);
    assert!(sent.iter().all(|(_, out)| (out.segment.flags, out.segment.seq) == (SYN, syn.seq)));
    let times: Vec<_> = sent.iter().map(|(ms, _)| *ms).collect();
    assert_eq!(times, [1000, 3000, 7000, 15_000, 31_000, 63_000, 123_000]);
    assert_eq!(rig.state(), State::SynSent);
    rig.pass(60_000);
    assert_eq!((rig.state(), rig.effects.error), (State::Closed, Some(Error::TimedOut)));
    assert_eq!(rig.machine.counters.to_establish, 1);
}

#[test]
fn must_24_must_25_must_28_keepalive_is_off_and_two_hours_when_on() {
    let mut rig = Rig::open();
    assert_eq!(rig.pass(10 * 3600 * 1000), []);
    let settings = Settings::default().with_keepalive();
    let mut rig = Rig::with(all_options(), Config::default(), settings);
    assert_eq!(rig.pass(7_199_000), []);
    let sent = rig.pass(2000);
    let probe = sent[0].1.segment;
    // SHLD-12: no data, and a number that was acknowledged.
    assert_eq!((probe.len, probe.seq), (0, rig.details().snd_nxt - 1));
    rig.connection.set(Settings::default());
    assert_eq!(rig.pass(10 * 3600 * 1000), []);
    assert_eq!(rig.state(), State::Established);
}

fn watched() -> Rig {
    let settings = Settings {
        keepalive_idle_s: 10,
        keepalive_interval_s: 2,
        keepalive_probes: 3,
        ..Settings::default()
    };
    Rig::with(all_options(), Config::default(), settings)
}

#[test]
fn must_26_must_27_keepalive_asks_only_who_is_silent_for_as_long_as_was_set() {
    let mut rig = watched();
    rig.pass(9000);
    rig.data(0, 10);
    assert!(rig.pass(9900).iter().all(|(ms, _)| *ms < 100), "only the acknowledgment");
    assert_eq!(rig.pass(200).len(), 1);
}

#[test]
fn must_29_one_probe_without_an_answer_ends_nothing() {
    let mut rig = watched();
    assert_eq!(rig.pass(15_900).len(), 3);
    assert_eq!(rig.state(), State::Established);
    rig.ack(0);
    assert_eq!(rig.pass(15_900).len(), 3);
    rig.pass(1000);
    assert_eq!((rig.state(), rig.effects.error), (State::Closed, Some(Error::TimedOut)));
}

#[test]
fn must_30_must_31_must_62_urgent_data_is_marked_up_to_its_last_byte() {
    let mut rig = Rig::undelayed();
    rig.available = 5;
    rig.connection.urge(5);
    let sent = rig.send()[0].segment;
    assert_eq!((sent.flags, sent.urgent), (ACK | Flags::PSH | Flags::URG, 5));
    let sent = rig.write(10)[0].segment;
    assert_eq!(sent.flags, ACK | Flags::PSH);
    // Of any length.
    rig.ack(15);
    rig.available = 100_000;
    rig.connection.urge(100_000);
    let sent = rig.send();
    assert!(sent.iter().all(|out| out.segment.urgent == 0xffff));
}

#[test]
fn must_32_must_33_urgent_data_is_announced_once_and_its_rest_known() {
    let mut rig = Rig::open();
    let mut urgent = rig.segment(0, 0, 10, ACK | Flags::URG);
    urgent.urgent = 50;
    rig.raw(&urgent);
    assert!(has(&rig, Events::URGENT));
    assert_eq!((rig.connection.urgent_ahead(), rig.room.delivered), (Some(40), 10));
    rig.effects = Default::default();
    let mut again = rig.segment(10, 0, 10, ACK | Flags::URG);
    again.urgent = 40;
    rig.raw(&again);
    assert!(!has(&rig, Events::URGENT));
    rig.data(20, 30);
    assert_eq!(rig.connection.urgent_ahead(), None);
}

#[test]
fn must_34_a_window_may_shrink() {
    let mut rig = Rig::undelayed();
    rig.write(8000);
    rig.window = 2000;
    assert_eq!(rig.ack(0), []); // SHLD-15: nothing new
    rig.window = 1000;
    rig.ack(1000);
    // SHLD-16: what is left of the window is sent again, nothing beyond.
    let sent = rig.pass(1000);
    assert!(!sent.is_empty());
    assert!(sent.iter().all(|(_, out)| out.ahead + out.segment.len <= 1000), "{sent:?}");
    rig.window = 60_000;
    rig.ack(2000);
    for acked in 3..=8 {
        rig.pass(500);
        rig.ack(acked * 1000);
    }
    assert_eq!((rig.available, rig.state()), (0, State::Established));
}

#[test]
fn must_35_must_36_closed_windows_are_probed_less_and_less_often() {
    let mut rig = Rig::undelayed();
    rig.write(1000);
    rig.window = 0;
    rig.ack(1000);
    assert_eq!(rig.write(5000), []);
    let sent = rig.pass(6000);
    let probes: Vec<_> = sent.iter().map(|(ms, out)| (*ms, out.segment.len)).collect();
    assert_eq!(probes, [(200, 1), (600, 1), (1400, 1), (3000, 1)]);
    // The window opens, and that is not lost either if its announcement was.
    rig.window = 60_000;
    assert_eq!(ranges(&rig.ack(1000)), [(0, 1), (1, 4999)]);
}

#[test]
fn must_37_a_window_may_stay_closed() {
    let mut rig = Rig::undelayed();
    rig.write(1000);
    rig.window = 0;
    rig.ack(1000);
    rig.write(5000);
    for _ in 0..100 {
        let sent = rig.pass(60_000);
        assert!(!sent.is_empty());
        rig.ack(1000);
    }
    assert_eq!(rig.state(), State::Established);
    // Who does not answer is gone.
    rig.pass(20 * 60_000);
    assert_eq!(rig.effects.error, Some(Error::TimedOut));
}

#[test]
fn must_38_no_small_segments_for_small_windows() {
    let mut rig = Rig::undelayed();
    rig.write(5000);
    rig.window = 1300;
    rig.ack(5000);
    assert_eq!(ranges(&rig.write(5000)), [(0, 1000)]); // not the 300
    rig.window = 300;
    assert_eq!(ranges(&rig.ack(6000)), []);
    // But after the override timeout, as nothing else would tell.
    let sent: Vec<_> = rig.pass(1000).iter().map(|(ms, out)| (*ms, out.segment.len)).collect();
    assert_eq!(sent[0], (200, 300));
}

#[test]
fn must_39_the_window_does_not_open_by_little() {
    let config = Config { rcv_buffer: 4000, rcv_buffer_max: 4000, ..Config::default() };
    let mut rig = Rig::with(all_options(), config, Settings::default());
    for n in 0..4 {
        rig.data(n * 1000, 1000);
    }
    assert_eq!(rig.details().rcv_wnd, 0);
    rig.room.unread = 3000;
    let consumed = |rig: &mut Rig| {
        let effects = rig.connection.consumed(&mut rig.machine, rig.now, &rig.room);
        assert_eq!(effects.events.contains(Events::SEND), rig.connection.is_ack_due());
        rig.connection.is_ack_due()
    };
    assert!(!consumed(&mut rig), "1000 bytes of 4000");
    rig.room.unread = 2000;
    assert!(consumed(&mut rig), "half of it");
    assert_eq!(rig.send()[0].segment.window, 2000);
}

#[test]
fn must_40_acknowledgments_wait_less_than_half_a_second() {
    let mut rig = Rig::open();
    assert_eq!(rig.data(0, 100), []);
    let sent = rig.pass(1000);
    assert_eq!((sent.len(), sent[0].0), (1, 40));
    // SHLD-19: every second full segment is acknowledged at once, when the peer has begun to send.
    for n in 0..20 {
        rig.data(100 + n * FULL, FULL);
    }
    let answers: Vec<_> = (20..30).map(|n| rig.data(100 + n * FULL, FULL).len()).collect();
    assert_eq!(answers.iter().sum::<usize>(), 5);
    // What is out of order, at once.
    assert_eq!(rig.data(100 + 40 * FULL, FULL).len(), 1);
}

#[test]
fn must_47_must_54_must_56_soft_errors_end_nothing_and_hard_ones_an_attempt() {
    let (mut rig, syn) = Rig::opening(Config::default(), Settings::default());
    let machine = &mut rig.machine;
    let effects = rig.connection.unreachable(machine, syn.seq, false);
    assert!(effects.events.is_empty());
    // Of another segment: a guess.
    let effects = rig.connection.unreachable(machine, syn.seq + 1000, true);
    assert!(effects.events.is_empty());
    let effects = rig.connection.unreachable(machine, syn.seq, true);
    assert_eq!(effects.error, Some(Error::Unreachable));
    let mut rig = Rig::open();
    rig.write(100);
    let seq = rig.details().snd_una;
    assert!(rig.connection.unreachable(&mut rig.machine, seq, true).events.is_empty());
    assert_eq!(rig.state(), State::Established);
}

#[test]
fn segments_become_as_short_as_the_path_says_and_leave_again() {
    let mut rig = Rig::open();
    let sent = rig.write(3 * FULL);
    assert!(!sent.is_empty());
    let seq = rig.details().snd_una;
    let mut told = |seq, most| rig.connection.too_big(&mut rig.machine, seq, most).events;
    // A guess, a longer one, and one that would make segments tiny.
    assert!(told(seq + 3 * FULL, 500).is_empty());
    assert!(told(seq, 1460).is_empty());
    assert_eq!(told(seq, 500), Events::SEND);
    assert!(told(seq, 500).is_empty(), "it is so already");
    assert_eq!(rig.machine.counters.too_big, 1);
    let (window, sent) = (rig.details().cwnd, rig.send());
    assert_eq!(ranges(&sent).first().map(|range| range.0), Some(0));
    let len: u32 = sent.iter().map(|out| out.segment.len).sum();
    assert_eq!(len, 3 * FULL, "all of it leaves again");
    assert!(sent.iter().all(|out| out.mss <= 500), "{sent:?}");
    assert_eq!(rig.details().cwnd, window);
    rig.connection.too_big(&mut rig.machine, seq, 60);
    assert_eq!(rig.details().snd_mss, 216 - (500 - sent[0].mss));
}

#[test]
fn must_58_must_59_segments_of_a_frame_have_one_acknowledgment() {
    let mut rig = Rig::open();
    let mut events = Events::default();
    for n in 0..30 {
        let segment = rig.segment(n * FULL, 0, FULL, ACK);
        let (machine, room) = (&mut rig.machine, &mut rig.room);
        events |= rig.connection.segment(machine, rig.now, &segment, room).events;
    }
    assert!(events.contains(Events::SEND));
    let sent = rig.send();
    assert_eq!((sent.len(), sent[0].segment.ack), (1, PEER + 1 + 30 * FULL));
}

#[test]
fn must_60_must_61_what_is_written_leaves_and_the_last_of_it_is_pushed() {
    let mut rig = Rig::undelayed();
    let sent = rig.write(2500);
    assert_eq!(ranges(&sent), [(0, 2500)]);
    assert!(sent[0].segment.has(Flags::PSH));
    // Even what is held back.
    let settings = Settings { is_corked: true, ..Settings::default() };
    let mut rig = Rig::with(all_options(), Config::default(), settings);
    assert_eq!(rig.write(100), []);
    let sent = rig.pass(1000);
    assert_eq!((sent[0].0, sent[0].1.segment.len), (200, 100));
    assert!(sent[0].1.segment.has(Flags::PSH));
}

#[test]
fn must_65_the_segment_size_is_in_no_other_segment() {
    let mut rig = Rig::open();
    let sent = rig.write(5000);
    assert!(sent.iter().all(|out| out.segment.options.mss.is_none()));
}

#[test]
fn must_66_a_closed_window_takes_acknowledgments_urgency_and_resets() {
    let config = Config { rcv_buffer: 1000, rcv_buffer_max: 1000, ..Config::default() };
    let closed = || {
        let mut rig = Rig::with(all_options(), config, Settings::default());
        rig.write(100);
        rig.data(0, 1000);
        assert_eq!(rig.details().rcv_wnd, 0);
        rig
    };
    let mut rig = closed();
    let mut segment = rig.segment(1000, 100, 1, ACK | Flags::URG);
    segment.urgent = 1;
    let sent = rig.raw(&segment);
    assert_eq!((rig.available, rig.room.delivered, sent.len()), (0, 1000, 1));
    assert!(has(&rig, Events::URGENT));
    let mut rig = closed();
    let reset = rig.segment(1000, 0, 0, RST);
    rig.raw(&reset);
    assert_eq!(rig.effects.error, Some(Error::Reset));
}

#[test]
fn must_67_the_size_announced_is_what_the_path_takes() {
    let syn = Segment { seq: PEER, flags: SYN, options: all_options(), ..Segment::default() };
    let (mut half, mut machine) = half_open(&syn);
    let mut sent = Vec::new();
    let out = &mut |out: &Outgoing| {
        sent.push(*out);
        true
    };
    half.send(&mut machine, Time::from_us(1_000_000), 1000, out);
    assert_eq!(sent[0].segment.options.mss, Some(1460));
}

#[test]
fn must_69_options_are_padded_with_nothing_that_counts() {
    let mut bytes = [0xff; 40];
    let options = Options { window_scale: Some(7), is_sack_permitted: true, ..Options::default() };
    let len = options.write(&mut bytes);
    assert_eq!((len % 4, Options::parse(&bytes[..len])), (0, Some(options)));
}

#[test]
fn section_3_10_7_1_what_belongs_to_nothing_is_reset() {
    let segment = Segment { seq: Seq(5), len: 10, flags: Flags::FIN, ..Segment::default() };
    let reset = reset_for(&segment).unwrap().segment;
    assert_eq!((reset.seq, reset.ack, reset.flags), (Seq(0), Seq(16), RST | ACK));
    let segment = Segment { ack: Seq(7), flags: ACK, ..segment };
    let reset = reset_for(&segment).unwrap().segment;
    assert_eq!((reset.seq, reset.flags), (Seq(7), RST));
    assert_eq!(reset_for(&Segment { flags: RST, ..segment }), None);
}

#[test]
fn section_3_10_7_3_only_what_acknowledges_the_syn_refuses_it() {
    let (mut rig, syn) = Rig::opening(Config::default(), Settings::default());
    let mut reset = Segment { seq: PEER, flags: RST, ..Segment::default() };
    rig.raw(&reset);
    reset.flags = RST | ACK;
    reset.ack = syn.seq;
    rig.raw(&reset);
    assert_eq!(rig.state(), State::SynSent);
    // An acknowledgment of something else is answered, and ends nothing.
    rig.effects = Default::default();
    rig.raw(&Segment { flags: SYN | ACK, ..reset });
    assert!(has(&rig, Events::ANSWER_RESET));
    reset.ack = syn.seq + 1;
    rig.raw(&reset);
    assert_eq!(rig.effects.error, Some(Error::Refused));
}

#[test]
fn section_3_6_both_may_close_at_once() {
    let mut rig = Rig::open();
    rig.shut_down();
    let fin = rig.segment(0, 0, 0, ACK | Flags::FIN);
    rig.raw(&fin);
    assert_eq!(rig.state(), State::Closing);
    let last = rig.segment(1, 1, 0, ACK);
    rig.raw(&last);
    assert_eq!(rig.state(), State::TimeWait);
}

#[test]
fn section_3_6_a_closed_direction_leaves_the_other_open() {
    let mut rig = Rig::open();
    rig.shut_down();
    let acked = rig.segment(0, 1, 0, ACK);
    rig.raw(&acked);
    assert_eq!(rig.state(), State::FinWait2);
    let data = rig.segment(0, 1, 500, ACK);
    rig.raw(&data);
    assert_eq!(rig.room.delivered, 500);
    assert_eq!(rig.pass(10 * 3600 * 1000).len(), 1); // the acknowledgment; the peer may take its time
    assert_eq!(rig.state(), State::FinWait2);
}

#[test]
fn section_3_6_1_data_that_nobody_reads_is_a_reason_for_a_reset() {
    let mut rig = Rig::open();
    rig.data(0, 100);
    let sent = rig.close();
    assert_eq!((sent[0].segment.flags, rig.state()), (RST | ACK, State::Closed));
    assert_eq!(rig.machine.counters.rst_unread, 1);

    let mut rig = Rig::open();
    rig.close();
    let data = rig.segment(0, 1, 100, ACK);
    rig.raw(&data);
    assert!(has(&rig, Events::ANSWER_RESET | Events::ENDED));
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn section_3_6_a_peer_that_never_closes_is_left_after_a_time() {
    let mut rig = Rig::open();
    rig.close();
    let acked = rig.segment(0, 1, 0, ACK);
    rig.raw(&acked);
    assert_eq!(rig.state(), State::FinWait2);
    rig.pass(29_900);
    assert_eq!(rig.state(), State::FinWait2);
    rig.pass(200);
    assert_eq!((rig.state(), rig.machine.counters.to_finwait2), (State::Closed, 1));
}

#[test]
fn section_3_10_5_an_abort_resets() {
    let mut rig = Rig::open();
    rig.write(100);
    let sent = rig.abort();
    assert_eq!((sent[0].segment.flags, sent[0].segment.seq), (RST | ACK, rig.details().snd_nxt));
    assert_eq!(rig.machine.blocks_taken(), (0, 0));
}
