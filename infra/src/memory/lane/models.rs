//! All orders of the two sides of a lane. Each of these fails when it is removed or made Relaxed:
//! the Release store and the Acquire load of the written count, the fence of `sleep` and the one of
//! `must_ring`. Those of the taken count are for an order that loom does not try: loads that see
//! values stored after them.
#![forbid(unsafe_code)]

use loom::sync::Notify;
use loom::thread;

use super::*;
use crate::sync::model;

/// Words of a ring: two pieces of up to eight bytes.
const FEW: usize = 4;

/// Both ends, whose words were used.
fn pair() -> [Lane; 2] {
    let region = Region::new("lane", 2 * WORD * (CONTROL + FEW)).unwrap();
    let ends = [0, 1].map(|own| {
        let region = Arc::clone(&region);
        Lane { region, capacity: FEW, own, written: 0, taken: 0 }
    });
    for ring in [0, 1] {
        for which in [WRITTEN, TAKEN, ASLEEP] {
            assert_eq!(ends[0].word(ring, which).load(Relaxed), 0);
        }
        assert!(ends[0].ring(ring).iter().all(|word| word.load(Relaxed) == 0));
    }
    ends
}

#[test]
fn bytes_come_in_order_through_words_that_serve_again() {
    model::check(3, || {
        let [mut ours, mut theirs] = pair();
        let sending = thread::spawn(move || {
            for byte in 1..=3 {
                while ours.send(&[byte]) == Ok(0) {
                    thread::yield_now();
                }
            }
        });
        let mut got = Vec::new();
        while got.len() < 3 {
            if theirs.receive(&mut got, 1).unwrap() == 0 {
                thread::yield_now();
            }
        }
        assert_eq!(got, [1, 2, 3]);
        sending.join().unwrap();
    });
}

#[test]
fn who_sleeps_is_woken_by_what_comes_and_by_room() {
    model::check(3, || {
        let [mut ours, mut theirs] = pair();
        assert_eq!(ours.send(&[1; 24]), Ok(24), "it is full");
        let bells = [(); 2].map(|()| Arc::new(Notify::new()));
        let [our_bell, their_bell] = bells.clone();
        let sending = thread::spawn(move || {
            while ours.send(&[2]) == Ok(0) {
                if ours.sleep(true).unwrap() {
                    our_bell.wait();
                }
            }
            if ours.must_ring() {
                their_bell.notify();
            }
        });
        let [our_bell, their_bell] = bells;
        let mut got = Vec::new();
        while got.len() < 25 {
            let is_some = theirs.receive(&mut got, 1).unwrap() > 0;
            if is_some && theirs.must_ring() {
                our_bell.notify();
            }
            if !is_some && theirs.sleep(false).unwrap() {
                their_bell.wait();
            }
        }
        sending.join().unwrap();
    });
}
