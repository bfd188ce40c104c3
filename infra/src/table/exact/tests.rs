use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::*;
use crate::rcu::Participant;

fn set(table: &mut Exact, key: u64, value: u64) -> Result<(), Missed> {
    table.change(key, |_| Change::Set(value))
}

/// Copies all that is left.
fn grow(table: &mut Exact) {
    table.grow().unwrap();
    while table.go_on_growing(7) {
        std::thread::yield_now(); // other tests of this process take part too
    }
}

#[test]
fn six_tenths_fit_and_are_found() {
    let mut table = Exact::new(1 << 12).unwrap();
    let count = (1 << 12) * 6 / 10;
    for key in 1..=count {
        set(&mut table, key << 16, key).unwrap();
    }
    let view = table.view();
    assert_eq!((view.len() as u64, view.room()), (count, 1 << 12));
    for key in 1..=count {
        assert_eq!(view.find(key << 16), key);
    }
    assert_eq!((view.find(5), table.is_crowded()), (0, true));
    grow(&mut table);
    assert_eq!((table.view().room(), table.view().len() as u64), (1 << 13, count));
    assert!((1..=count).all(|key| table.view().find(key << 16) == key));
}

#[test]
fn a_full_table_says_so_or_grows() {
    let mut table = Exact::new(8).unwrap();
    let learn = |key| table.view().try_change(key, |_| Change::Set(key));
    let fit = (1..=9).filter(|key| learn(*key).is_ok()).count();
    assert_eq!((fit, learn(10)), (8, Err(Missed::Full)), "any place will do in two lines");
    assert_eq!((1..=9).filter(|key| table.view().find(*key) == *key).count(), fit);
    assert_eq!(set(&mut table, 1, 7), Ok(()), "what is there can change");
    assert_eq!((set(&mut table, 11, 11), table.view().room()), (Ok(()), 32));
    while table.go_on_growing(7) {
        std::thread::yield_now(); // other tests of this process take part too
    }
    assert_eq!(table.view().len(), 9);
    table.walk(0, usize::MAX, |key, _| if key == 1 { Verdict::Keep } else { Verdict::Remove });
    assert_eq!((table.view().len(), table.view().find(1)), (1, 7));
    assert!(table.view().refresh(1, 7, 8) && !table.view().refresh(1, 7, 9));
    assert!(!table.view().refresh(2, 0, 9));
    assert_eq!(table.view().find(1), 8);
}

proptest! {
    #[test]
    fn it_is_a_map_also_while_it_grows(ops in prop::collection::vec((0..4u8, 1..40u64), 1..200)) {
        let (mut table, mut map) = (Exact::new(256).unwrap(), HashMap::new());
        for (n, (op, key)) in ops.into_iter().enumerate() {
            match op {
                0 | 1 => {
                    prop_assert_eq!(set(&mut table, key, n as u64 + 1), Ok(()));
                    map.insert(key, n as u64 + 1);
                }
                2 => {
                    table.change(key, |_| Change::Remove).unwrap();
                    map.remove(&key);
                }
                _ => {
                    if key > 30 && table.buckets() < 1024 {
                        table.grow().unwrap();
                    }
                    table.go_on_growing(key as usize);
                }
            }
            prop_assert_eq!(table.view().len(), map.len());
            for key in 1..40 {
                prop_assert_eq!(table.view().find(key), map.get(&key).copied().unwrap_or(0));
            }
        }
    }
}

#[test]
fn who_does_not_see_the_bigger_table_changes_nothing() {
    let mut table = Exact::new(64).unwrap();
    let (reader, me) = (table.reader(), Participant::join());
    let before = reader.read(me.epoch());
    table.grow().unwrap();
    set(&mut table, 7, 70).unwrap();
    assert_eq!(before.try_change(7, |_| Change::Set(71)), Err(Missed::Busy));
    assert_eq!((table.view().len(), table.view().find(7)), (1, 70));
}

/// Two threads learn and look up while the owner removes and grows: a value found is the key's.
#[test]
fn threads_never_see_the_value_of_another_key() {
    let mut table = Exact::new(64).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let found = Arc::new([const { AtomicU64::new(0) }; 2]);
    let threads = [0, 1].map(|n| {
        let (reader, stop, all) = (table.reader(), Arc::clone(&stop), Arc::clone(&found));
        std::thread::spawn(move || {
            let (mut me, mut x) = (Participant::join(), n as u64 + 1);
            while !stop.load(Relaxed) {
                let view = reader.read(me.epoch());
                for _ in 0..64 {
                    x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let key = (x >> 40) % 300 + 1;
                    let value = view.find(key);
                    assert!(value == 0 || value % 512 == key, "{value} for {key}");
                    all[n].fetch_add(u64::from(value != 0), Relaxed);
                    let _ = view.try_change(key, |now| match now {
                        0 => Change::Set(key + 512 * (x >> 50)),
                        _ => Change::Nothing,
                    });
                }
                me.quiescent();
            }
        })
    });
    let mut n = 0;
    while n < 2000 || found.iter().any(|found| found.load(Relaxed) == 0) {
        n += 1;
        let buckets = table.buckets();
        table.walk(0, buckets, |key, _| match key % 7 == n % 7 {
            true => Verdict::Remove,
            false => Verdict::Keep,
        });
        if table.is_crowded() && buckets < 4096 {
            table.grow().unwrap();
        }
        table.go_on_growing(8);
    }
    stop.store(true, Relaxed);
    threads.into_iter().for_each(|t| t.join().unwrap());
    while table.go_on_growing(64) {
        std::thread::yield_now();
    }
    let mut entries = 0;
    table.walk(0, usize::MAX, |_, _| {
        entries += 1;
        Verdict::Keep
    });
    assert_eq!(entries, table.view().len(), "none is there twice");
}
