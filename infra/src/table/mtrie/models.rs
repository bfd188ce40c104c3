//! All orders of a lookup and of changes around it, in tables with tails and of plies only. Each of
//! these fails when it is removed or made Relaxed: the Release of the store that makes a node
//! reachable and the Acquire of the load that finds it, below the root and below another node, and
//! the wait for readers before a node is used again; so does a node that is retired before it is
//! unlinked.

use std::sync::Arc;

use loom::thread;

use super::*;
use crate::rcu::Participant;
use crate::sync::model;

const ONE: u32 = 10 << 24 | 1 << 16;
const OTHER: u32 = 20 << 24 | 1 << 16;

/// Tails that a table has room for: without any, all its nodes are plies.
const TAILS: usize = 80;
const PLIES: usize = 0;

/// Leaves 1 and 4 below two slots of the root; a node was in use and is free.
fn table(tails: usize) -> Writer<8> {
    let mut w = Mtrie::<8>::writer(80, tails, HugePages::No).unwrap();
    w.set_default(0);
    for (key, leaf) in [(ONE, 1), (OTHER, 4)] {
        w.insert(key, 8, leaf).unwrap();
        w.insert(key, 16, leaf + 1).unwrap();
        w.remove(key, 16, Some((8, leaf)));
    }
    w
}

/// A thread that looks both keys up, `times` times.
fn reader(w: &Writer<8>, me: Participant, times: usize) -> thread::JoinHandle<()> {
    let table = Arc::clone(w.table());
    model::reader(me, times, move |leaves, epoch| table.find(&[ONE, OTHER], leaves, epoch))
}

fn a_node_is_seen_whole(tails: usize) {
    model::check(2, move || {
        let mut w = table(tails);
        let reading = reader(&w, model::participant(), 1);
        w.insert(ONE, 16, 2).unwrap();
        w.insert(OTHER, 16, 5).unwrap();
        reading.join().unwrap();
    });
}

#[test]
fn a_tail_is_seen_whole() {
    a_node_is_seen_whole(TAILS);
}

#[test]
fn a_ply_is_seen_whole() {
    a_node_is_seen_whole(PLIES);
}

fn a_node_below_another_is_seen_whole(tails: usize) {
    model::check(2, move || {
        let mut w = table(tails);
        w.insert(ONE, 16, 2).unwrap();
        let reading = reader(&w, model::participant(), 1);
        w.insert(ONE, 24, 1).unwrap();
        reading.join().unwrap();
    });
}

#[test]
fn a_tail_below_another_is_seen_whole() {
    a_node_below_another_is_seen_whole(TAILS);
}

#[test]
fn a_ply_below_another_is_seen_whole() {
    a_node_below_another_is_seen_whole(PLIES);
}

fn a_node_is_not_used_again_under_a_reader(tails: usize) {
    model::check(3, move || {
        let mut w = table(tails);
        let me = model::participant();
        w.insert(ONE, 16, 2).unwrap();
        let reading = reader(&w, me, 2);
        w.remove(ONE, 16, Some((8, 1)));
        w.insert(OTHER, 16, 5).unwrap();
        reading.join().unwrap();
    });
}

#[test]
fn a_tail_is_not_used_again_under_a_reader() {
    a_node_is_not_used_again_under_a_reader(TAILS);
}

#[test]
fn a_ply_is_not_used_again_under_a_reader() {
    a_node_is_not_used_again_under_a_reader(PLIES);
}
