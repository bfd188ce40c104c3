//! All orders of a lookup and of changes around it. Each of these fails when it is taken away or
//! made Relaxed: the Release of the store that makes a segment reachable, the Acquire of the load
//! that finds it, and the wait for readers before a segment is used again.

use loom::thread;

use super::*;
use crate::cpu::Baseline;
use crate::rcu::{self, Participant};
use crate::sync::model;

/// A tree with leaf 1 below key 100 and leaf 4 from there on, whose top was used.
fn tree(store: &mut Store) -> Writer {
    let spans = [(0, 1), (100, 4)].map(|(start, leaf)| Span { start, leaf, len: 1 });
    let tree = Writer::new(store, &spans).unwrap();
    assert_eq!(tree.span(50).leaf, 1);
    tree
}

/// A thread that looks two keys up, `times` times.
fn reader(w: &Writer, mut me: Participant, times: usize) -> thread::JoinHandle<()> {
    let tree = w.reader();
    thread::spawn(move || {
        for _ in 0..times {
            let mut leaves = [0; 2];
            tree.find(Baseline::everywhere(), &[50, 150], &mut leaves, me.epoch());
            let [one, other] = leaves;
            assert!((1..=2).contains(&one), "{one} is no leaf of the one");
            assert!((4..=5).contains(&other), "{other} is no leaf of the other");
            me.quiescent();
        }
    })
}

fn participant() -> Participant {
    rcu::end_epoch();
    Participant::join()
}

#[test]
fn a_segment_is_seen_whole() {
    model::check(2, || {
        let mut store = Store::new(16).unwrap();
        let mut w = tree(&mut store);
        let reading = reader(&w, participant(), 1);
        w.rewrite(&mut store, (40, 60), |_, _| (2, 2)).unwrap();
        reading.join().unwrap();
    });
}

#[test]
fn a_segment_is_not_used_again_under_a_reader() {
    model::check(2, || {
        let mut store = Store::new(16).unwrap();
        let mut w = tree(&mut store);
        let reading = reader(&w, participant(), 2);
        w.rewrite(&mut store, (40, 60), |_, _| (2, 2)).unwrap();
        w.rewrite(&mut store, (140, 160), |_, _| (5, 2)).unwrap();
        reading.join().unwrap();
    });
}
