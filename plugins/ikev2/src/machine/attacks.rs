//! Attacks of unauthenticated and of unfair peers, and computations without room.

use super::ask::Task;
use super::child::MOST_CHILDREN;
use super::tests::{Pair, child_of, name, to_second};
use super::*;

/// The end that answers has no association, and keeps nothing of one.
#[track_caller]
fn assert_forgotten(machine: &Machine) {
    assert!(machine.is_idle());
    assert_eq!((machine.by_peer.len(), machine.by_source.len()), (0, 0));
    assert_eq!((machine.by_spi.len(), machine.child_spis.len()), (0, 0));
}

#[test]
fn a_proof_from_another_address_leaves_no_place_taken() {
    for is_right in [false, true] {
        let mut pair = Pair::new(|at, p| {
            if at == 1 && !is_right {
                p.remote_id = name("somebody.test");
            }
        });
        pair.nat = Some(("203.0.113.9".parse().unwrap(), 1024));
        pair.initiate();
        for _ in 0..2 {
            let (to_second, ends, bytes) = pair.wire.pop_front().unwrap();
            pair.ends[usize::from(to_second)].machine.receive(pair.now, ends, &bytes);
            pair.settle(usize::from(to_second));
        }
        let (_, mut ends, proof) = pair.wire.pop_front().unwrap();
        ends.remote = ("198.51.100.77".parse().unwrap(), 7);
        pair.ends[1].machine.receive(pair.now, ends, &proof);
        let known = pair.ends[1].machine.sas.values().next().unwrap().ends.remote;
        assert_eq!(known == ends.remote, is_right, "only who proved its identity may move");
        assert_eq!(pair.ends[1].machine.half_open(), usize::from(!is_right));
        pair.settle(1);
        pair.wire.clear();
        pair.trouble = [100, 0, 0];
        pair.pass(300.0);
        pair.ends.iter().for_each(|end| assert_forgotten(&end.machine));
    }
}

#[test]
fn a_source_has_its_share_of_places_and_no_more() {
    let mut pair = Pair::plain();
    pair.initiate();
    let first = pair.wire.pop_front().unwrap().2;
    let forged = |n: u32| [&n.to_be_bytes()[..], &first[4..]].concat();
    for n in 0..100 {
        let from = to_second([198, 18, 0, 1]);
        pair.ends[1].machine.receive(pair.now, from, &forged(n));
        pair.settle(1);
    }
    assert_eq!(pair.sas(1).len(), SOURCE_COOKIES, "others are asked for a cookie");
    let source: IpAddr = [198, 18, 0, 2].into();
    pair.ends[1].machine.by_source.insert(source, MOST_OF_SOURCE);
    pair.ends[1].counts.clear();
    pair.ends[1].machine.receive(pair.now, to_second([198, 18, 0, 2]), &forged(7));
    pair.settle(1);
    assert_eq!(pair.ends[1].counts, [Noted::InitIgnored], "not even a cookie");
    pair.ends[1].machine.by_source.remove(&source);
    // Hosts of a network of IPv6 are one source.
    let six = |text: &str| source_of(text.parse().unwrap());
    assert_eq!(six("2001:db8::1"), six("2001:db8::ffff:2"));
    assert_ne!(six("2001:db8::1"), six("2001:db8:0:1::1"));
    pair.wire.clear();
    pair.pass(40.0);
    assert_eq!(pair.ends[1].machine.half_open(), 0);
}

#[test]
fn a_wrong_proof_frees_no_place_at_once() {
    let mut pair = Pair::new(|at, p| {
        if at == 1 {
            p.remote_id = name("somebody.test");
        }
    });
    pair.initiate();
    pair.deliver();
    assert_eq!(pair.ends[1].machine.half_open(), 1);
    pair.pass(15.0);
    assert_eq!(pair.ends[1].machine.half_open(), 0);
}

#[test]
fn work_that_there_is_no_room_for_comes_again() {
    // The first message, its answer, a child's keys, and the association's at both ends.
    let mut pair = Pair::plain();
    pair.busy = [0, 2];
    pair.initiate();
    pair.deliver();
    assert!(pair.sas(1).is_empty() && pair.ends[1].sent.is_empty(), "no answer");
    pair.pass(20.0);
    pair.assert_agreed();
    for (at, busy) in [(0, [1, 0]), (0, [0, 1]), (0, [2, 1]), (1, [1, 1])] {
        let (index, keys) = (pair.only(at).index, pair.only(at).keys.clone());
        pair.busy = busy;
        pair.ends[at].machine.rekey(pair.now, index);
        pair.settle(at);
        pair.deliver();
        assert_eq!(pair.only(at).keys, keys);
        assert!(pair.only(at).rekey_at < pair.now + 30.0, "it is tried again soon");
        pair.pass(120.0);
        pair.assert_agreed();
        assert_ne!(pair.only(at).keys, keys);
    }
}

#[test]
fn a_child_that_is_to_be_replaced_still_is_behind_a_new_association() {
    let mut pair = Pair::plain();
    pair.initiate();
    pair.deliver();
    let (index, child) = (pair.only(0).index, child_of(&pair, 0));
    pair.ends[0].machine.rekey(pair.now, index);
    pair.ends[0].machine.rekey_child(pair.now, (index, child));
    pair.settle(0);
    pair.deliver();
    pair.pass(30.0);
    pair.assert_agreed();
    assert_ne!(child_of(&pair, 0), child);
}

#[test]
fn what_is_sent_again_is_no_sign_of_life() {
    let mut pair = Pair::plain();
    pair.ends[1].machine.settings = Settings { asks_silent: true, period: 10, retries: 3 };
    pair.initiate();
    pair.deliver();
    let proof = pair.ends[0].sent[1].clone();
    pair.trouble = [100, 0, 0];
    for _ in 0..50 {
        pair.pass(1.0);
        pair.ends[1].machine.receive(pair.now, to_second([10, 0, 0, 1]), &proof);
        pair.settle(1);
    }
    assert!(pair.sas(1).is_empty());
}

#[test]
fn no_number_outlives_its_association() {
    // Silence while a replacement is under way, and a deletion.
    for deletes in [false, true] {
        let mut pair = Pair::plain();
        pair.initiate();
        pair.deliver();
        let index = pair.only(0).index;
        pair.ends[0].machine.rekey(pair.now, index);
        pair.settle(0);
        assert_eq!(pair.ends[0].machine.by_spi.len(), 2);
        if deletes {
            pair.ends[0].machine.delete(pair.now, index);
            pair.settle(0);
        }
        pair.trouble = [100, 0, 0];
        pair.pass(400.0);
        pair.ends.iter().for_each(|end| assert_forgotten(&end.machine));
    }
}

#[test]
fn replaced_children_are_few() {
    let mut pair = Pair::new(|_, p| p.lifetime.handover = 10_000);
    pair.initiate();
    pair.deliver();
    for _ in 0..10 {
        let of = (pair.only(0).index, child_of(&pair, 0));
        pair.ends[0].machine.rekey_child(pair.now, of);
        pair.settle(0);
        pair.deliver();
        pair.pass(0.5);
    }
    assert_eq!(pair.only(1).children.len(), MOST_CHILDREN);
    assert_eq!(pair.ends[1].installed.len(), MOST_CHILDREN);
}

#[test]
fn a_child_that_cannot_be_installed_is_deleted_at_the_other_end() {
    for at in 0..2 {
        let mut pair = Pair::plain();
        pair.initiate();
        pair.deliver();
        let child = child_of(&pair, at);
        pair.ends[at].machine.reject_child(pair.now, child);
        pair.settle(at);
        pair.deliver();
        assert_eq!(pair.ends[1 - at].removed.len(), 1);
        assert_eq!(pair.only(0).children.len() + pair.only(1).children.len(), 0);
        assert!(pair.ends.iter().all(|end| end.machine.child_spis.is_empty()));
    }
}

#[test]
fn numbers_of_children_are_new() {
    fn few(bytes: &mut [u8]) -> bool {
        use std::sync::atomic::{AtomicU8, Ordering};
        static NEXT: AtomicU8 = AtomicU8::new(0);
        bytes.fill(NEXT.fetch_add(1, Ordering::Relaxed) / 4);
        true
    }
    let mut machine = Machine::new(few);
    let one = machine.new_child_spi().unwrap();
    machine.child_spis.insert(one);
    assert_ne!(machine.new_child_spi(), Some(one));
}

#[test]
fn keys_that_are_nearly_used_up_are_replaced_once() {
    for at in 0..2 {
        let mut pair = Pair::plain();
        pair.initiate();
        pair.deliver();
        let child = child_of(&pair, at);
        for _ in 0..20 {
            pair.ends[at].machine.replace_spent(pair.now, &[child]);
            pair.pass(0.5);
        }
        pair.pass(20.0);
        pair.assert_agreed();
        assert_ne!(child_of(&pair, at), child);
        assert_eq!(pair.ends[at].installed.len(), 2);
    }
}

thread_local! {
    /// Calls of the generator until the one that fails.
    static LEFT: std::cell::Cell<u32> = const { std::cell::Cell::new(u32::MAX) };
}

fn failing(bytes: &mut [u8]) -> bool {
    let left = LEFT.get();
    LEFT.set(left.wrapping_sub(1));
    left != 0 && ::crypto::fill_random(bytes)
}

#[test]
fn without_random_numbers_no_exchange_goes_on() {
    let mut established = 0;
    for at in 0..32 {
        LEFT.set(at);
        let mut pair = Pair::plain();
        pair.ends.iter_mut().for_each(|end| end.machine.random = failing);
        let ends = to_second([10, 0, 0, 2]);
        let _ = pair.ends[0].machine.initiate(pair.now, "p", ends);
        pair.settle(0);
        pair.deliver();
        for at in 0..2 {
            let sas: Vec<u32> = pair.sas(at).iter().map(|sa| sa.index).collect();
            for sa in sas {
                pair.ends[at].machine.demand(pair.now, sa, Task::Rekey);
                pair.settle(at);
                pair.deliver();
            }
            let first = |sa: &Sa| Some((sa.index, sa.live().next()?.id));
            let child = pair.sas(at).first().and_then(|sa| first(sa));
            if let Some(child) = child {
                pair.ends[at].machine.rekey_child(pair.now, child);
                pair.settle(at);
                pair.deliver();
            }
        }
        for sa in pair.sas(0).into_iter().chain(pair.sas(1)) {
            let nonces = [&sa.origin.nonces.0, &sa.origin.nonces.1];
            assert!(nonces.iter().all(|nonce| nonce.is_empty() || nonce.iter().any(|b| *b != 0)));
            let mut spis = sa.children.iter().flat_map(|c| [c.spi_in, c.spi_out]);
            assert!(spis.all(|spi| spi != 0x8000_0000));
            established += u32::from(sa.state == State::Established);
        }
    }
    assert!(established >= 2);
}

#[test]
fn a_long_identity_of_a_stranger_is_not_logged_whole() {
    let long = "x".repeat(3000);
    let mut pair = Pair::new(|at, p| {
        if at == 0 {
            p.local_id = name(&long);
        }
    });
    pair.initiate();
    pair.deliver();
    let log = &pair.ends[1].log;
    assert!(log.iter().any(|line| line.contains("no profile matches `xxx")), "{log:?}");
    assert!(log.iter().all(|line| line.len() < 300), "{log:?}");
}
