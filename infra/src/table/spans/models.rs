//! All orders of a lookup and of changes around it. Each of these fails when it is removed or made
//! Relaxed: the Release of the store that makes a segment reachable, the Acquire of the load that
//! finds it, and the wait for readers before a segment is used again.

use loom::thread;

use super::*;
use crate::cpu::Baseline;
use crate::rcu::Participant;
use crate::sync::model;

/// A tree with leaf 1 below key 100 and leaf 4 from there on, whose top was used.
fn tree(store: &mut Store) -> Writer {
    let spans = [(0, 1), (100, 4)].map(|(start, leaf)| Span { start, leaf, len: 1 });
    let tree = Writer::new(store, &spans).unwrap();
    assert_eq!(tree.span(50).leaf, 1);
    tree
}

/// A thread that looks two keys up, `times` times.
fn reader(w: &Writer, me: Participant, times: usize) -> thread::JoinHandle<()> {
    let (tree, cpu) = (w.reader(), Baseline::everywhere());
    model::reader(me, times, move |leaves, epoch| tree.find(cpu, &[50, 150], leaves, epoch))
}

#[test]
fn a_segment_is_seen_whole() {
    model::check(2, || {
        let mut store = Store::new(16).unwrap();
        let mut w = tree(&mut store);
        let reading = reader(&w, model::participant(), 1);
        w.rewrite(&mut store, (40, 60), |_, _| (2, 2)).unwrap();
        reading.join().unwrap();
    });
}

#[test]
fn a_segment_is_not_used_again_under_a_reader() {
    model::check(2, || {
        let mut store = Store::new(16).unwrap();
        let mut w = tree(&mut store);
        let reading = reader(&w, model::participant(), 2);
        w.rewrite(&mut store, (40, 60), |_, _| (2, 2)).unwrap();
        w.rewrite(&mut store, (140, 160), |_, _| (5, 2)).unwrap();
        reading.join().unwrap();
    });
}
