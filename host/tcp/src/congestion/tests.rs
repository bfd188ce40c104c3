use super::*;

const MSS: u32 = 1000;

fn grow(controller: &mut dyn Controller, window: &mut Window, now: Time, rtt_us: u32) {
    let acked = window.cwnd;
    let sample = Sample { acked, rtt_us, srtt_us: rtt_us, is_limited: true, is_new_round: true };
    controller.on_ack(now, &sample, MSS, window);
}

#[test]
fn algorithms_have_their_names() {
    for algorithm in Algorithm::ALL {
        assert_eq!(Algorithm::named(algorithm.name()), Some(algorithm));
        assert_eq!(Congestion::from(algorithm).algorithm(), algorithm);
    }
    assert_eq!(Algorithm::named("bbr"), None);
}

#[test]
fn new_reno_doubles_in_slow_start_and_adds_a_segment_a_round_after_it() {
    let mut window = Window { cwnd: 10 * MSS, ssthresh: 40 * MSS };
    let mut new_reno = NewReno::default();
    let now = Time::from_us(0);
    for expected in [20, 40, 41, 42] {
        grow(&mut new_reno, &mut window, now, 10_000);
        assert_eq!(window.cwnd, expected * MSS);
    }
    new_reno.on_loss(now, 42 * MSS, MSS, &mut window);
    assert_eq!(window.ssthresh, 21 * MSS);
    new_reno.on_loss(now, MSS, MSS, &mut window);
    assert_eq!(window.ssthresh, 2 * MSS);
}

#[test]
fn nothing_grows_that_was_not_used() {
    let start = Window { cwnd: 10 * MSS, ssthresh: 5 * MSS };
    for algorithm in Algorithm::ALL {
        let (mut window, mut controller) = (start, Congestion::from(algorithm));
        for second in 0..100 {
            let sample = Sample { acked: 10 * MSS, srtt_us: 1000, ..Sample::default() };
            controller.on_ack(Time::from_us(second * 1_000_000), &sample, MSS, &mut window);
        }
        assert_eq!(window, start);
    }
}

/// RFC 9438 section 4.2: concave up to the old window, then convex.
#[test]
fn cubic_is_slow_around_the_old_window() {
    let mut cubic = Cubic::default();
    let mut window = Window { cwnd: 1000 * MSS, ssthresh: 1000 * MSS };
    cubic.on_loss(Time::from_us(0), 1000 * MSS, MSS, &mut window);
    window.cwnd = window.ssthresh;
    assert_eq!(window.cwnd, 700 * MSS);
    // K = cbrt(300 / 0.4) = 9.1 s
    let mut windows = Vec::new();
    for tick in 0..180 {
        grow(&mut cubic, &mut window, Time::from_us(tick * 100_000), 100_000);
        windows.push(window.cwnd / MSS);
    }
    let grown = |from: usize, to: usize| windows[to] - windows[from];
    assert!(windows[90].abs_diff(1000) < 30, "{}", windows[90]);
    assert!(grown(0, 30) > 4 * grown(75, 105), "{windows:?}");
    assert!(grown(149, 179) > 4 * grown(75, 105), "{windows:?}");
}

/// RFC 9438 section 4.7: two reductions in a row leave room for others.
#[test]
fn cubic_gives_way_to_newcomers() {
    let (mut cubic, now) = (Cubic::default(), Time::from_us(0));
    let mut window = Window { cwnd: 100 * MSS, ssthresh: 100 * MSS };
    cubic.on_loss(now, 100 * MSS, MSS, &mut window);
    window.cwnd = 70 * MSS;
    cubic.on_loss(now, 70 * MSS, MSS, &mut window);
    assert!((cubic.w_max() - 70.0 * 0.85).abs() < 0.1, "{}", cubic.w_max());
    cubic.on_undo();
    assert!((cubic.w_max() - 100.0).abs() < 0.1);
}

/// RFC 9438 section 4.3: never below what Reno would have.
#[test]
fn cubic_is_no_slower_than_reno_where_round_trips_are_short() {
    let (mut cubic, mut new_reno) = (Cubic::default(), NewReno::default());
    let mut ours = Window { cwnd: 20 * MSS, ssthresh: 20 * MSS };
    let mut theirs = ours;
    cubic.on_loss(Time::from_us(0), 20 * MSS, MSS, &mut ours);
    new_reno.on_loss(Time::from_us(0), 20 * MSS, MSS, &mut theirs);
    (ours.cwnd, theirs.cwnd) = (ours.ssthresh, theirs.ssthresh);
    for tick in 0..2000 {
        let now = Time::from_us(tick * 1000);
        grow(&mut cubic, &mut ours, now, 1000);
        grow(&mut new_reno, &mut theirs, now, 1000);
    }
    assert!(ours.cwnd * 10 > theirs.cwnd * 9, "{ours:?} {theirs:?}");
}

/// RFC 9406: slow start ends when round trips grow, before anything is lost.
#[test]
fn hystart_leaves_slow_start_when_round_trips_grow() {
    let mut cubic = Cubic::default();
    let mut window = Window { cwnd: 10 * MSS, ssthresh: u32::MAX };
    let mut rtt_us = 40_000;
    for round in 0..30 {
        for ack in 0..10 {
            let sample = Sample {
                acked: window.cwnd / 10,
                rtt_us,
                srtt_us: rtt_us,
                is_limited: true,
                is_new_round: ack == 0,
            };
            cubic.on_ack(Time::from_us(round * 50_000), &sample, MSS, &mut window);
        }
        rtt_us += if window.cwnd > 100 * MSS { 8_000 } else { 0 };
    }
    assert!(window.ssthresh < 2000 * MSS, "{window:?}");
}
