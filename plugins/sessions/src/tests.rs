//! Tables of sessions, against a plain map and over time.

use std::collections::HashMap;

use proptest::prelude::*;
use wire::Protocol;

use super::*;

const UDP: Class = Class { timeout: 10.0, may_be_evicted: false, goes_first: false };
const SHORT: Class = Class { timeout: 2.0, may_be_evicted: true, goes_first: false };

type T = Table<Flow4, Flow4, u32>;

fn table(limit: usize) -> T {
    Table::new(limit, &[UDP, SHORT], 77).unwrap()
}

fn flow(n: u32) -> Flow4 {
    Flow4::new(((n >> 16).to_be_bytes(), n as u16), ([9; 4], 53), Protocol::UDP, 0)
}

fn new(n: u32, class: u8) -> New<Flow4, Flow4, u32> {
    New { forward: flow(n), reverse: flow(n).reversed(), data: n, class }
}

#[test]
fn a_session_is_found_by_either_flow_and_by_none_of_them_once_it_is_gone() {
    let mut t = table(10);
    let at = t.insert(new(1, 0), 0.0, |_, _| ()).unwrap();
    assert_eq!(t.find_any(&flow(1)), Some((at, Direction::Forward)));
    assert_eq!(t.find_any(&flow(1).reversed()), Some((at, Direction::Reverse)));
    assert_eq!((t.find(&flow(1)), t.find(&flow(1).reversed())), (Some(at), None));
    assert_eq!(t.find_reverse(&flow(1).reversed()), Some(at));
    assert_eq!(t.insert(new(1, 0), 0.0, |_, _| ()), Err(Refused::Clash));
    assert_eq!(t.remove(at).map(|s| s.data), Some(1));
    assert_eq!((t.find_any(&flow(1)), t.remove(at).is_none()), (None, true));
}

#[test]
fn what_is_silent_for_its_timeout_is_over_and_what_is_heard_is_not() {
    let mut t = table(10);
    let (quiet, busy) = (t.insert(new(1, 0), 0.0, |_, _| ()), t.insert(new(2, 0), 0.0, |_, _| ()));
    let (quiet, busy) = (quiet.unwrap(), busy.unwrap());
    t.passed(busy, 100, 9.0);
    assert!(!t.is_over(quiet, 10.0) && t.is_over(quiet, 10.1) && !t.is_over(busy, 18.0));
    let mut gone = Vec::new();
    t.expire(10.0 + GRACE, 8, |_, s| gone.push(s.data));
    assert_eq!(gone, [0u32; 0]);
    t.expire(10.1 + GRACE, 8, |end, s| {
        assert_eq!(end, End::Expired);
        gone.push(s.data);
    });
    assert_eq!(gone, [1]);
    t.expire(19.1 + GRACE, 8, |_, s| gone.push(s.data));
    assert_eq!((gone, t.usage().sessions), (vec![1, 2], 0));
}

#[test]
fn a_class_that_goes_first_makes_room_before_older_ones_of_others() {
    let stays = Class { timeout: 100.0, may_be_evicted: true, goes_first: false };
    let first = Class { timeout: 5.0, goes_first: true, ..stays };
    for classes in [[stays, first], [first, stays]] {
        let mut t: T = Table::new(4, &classes, 77).unwrap();
        let [stays, first] = [u8::from(classes[0] == first), u8::from(classes[1] == first)];
        let mut gone = Vec::new();
        let mut add = |t: &mut T, n, class, now| {
            t.insert(new(n, class), now, |end, s| gone.push((end, s.data))).unwrap();
            std::mem::take(&mut gone)
        };
        for (n, class) in [(1, stays), (2, stays), (3, first), (4, first)] {
            assert_eq!(add(&mut t, n, class, f64::from(n)), []);
        }
        // A flood of new ones is among itself; only without any do others go.
        assert_eq!(add(&mut t, 5, first, 5.0), [(End::Evicted, 3)]);
        assert_eq!(add(&mut t, 6, stays, 5.5), [(End::Evicted, 4)]);
        assert_eq!(add(&mut t, 7, stays, 5.6), [(End::Evicted, 5)]);
        assert_eq!(add(&mut t, 8, first, 5.7), [(End::Evicted, 1)]);
        assert_eq!(add(&mut t, 9, first, 5.8), [(End::Evicted, 8)]);
    }
}

#[test]
fn the_silent_ones_of_a_class_make_room_and_no_others() {
    let mut t = table(10);
    let at = |t: &mut T, n, class, now| t.insert(new(n, class), now, |_, _| ()).unwrap();
    let (first, second) = (at(&mut t, 1, 0, 0.0), at(&mut t, 2, 0, 1.0));
    at(&mut t, 3, 1, 0.0);
    t.passed(first, 100, 5.0);
    let mut gone = Vec::new();
    let mut evict = |t: &mut T, before| {
        let was = gone.len();
        let done = t.evict_silent(0, before, |end, s| gone.push((end, s.data)));
        assert_eq!(done, gone.len() > was);
        done.then(|| gone.last().copied().unwrap())
    };
    assert_eq!(evict(&mut t, 1.0), None);
    assert_eq!(evict(&mut t, 2.0), Some((End::Evicted, 2)), "the other was heard since");
    assert_eq!((evict(&mut t, 2.0), t.at(second).is_some()), (None, false));
    assert_eq!(evict(&mut t, 6.0), Some((End::Evicted, 1)));
    assert_eq!((evict(&mut t, 6.0), t.usage().sessions), (None, 1));
}

#[test]
fn a_full_table_gives_up_what_is_over_then_the_oldest_that_may_go_then_refuses() {
    let mut t = table(3);
    let mut gone = Vec::new();
    let mut add = |t: &mut T, n, class, now| {
        t.insert(new(n, class), now, |end, s| gone.push((end, s.data))).map(|_| ())
    };
    for (n, class) in [(1, 0), (2, 1), (3, 1)] {
        add(&mut t, n, class, 0.0).unwrap();
    }
    let (two, _) = t.find_any(&flow(2)).unwrap();
    t.passed(two, 1, 1.0);
    add(&mut t, 4, 0, 1.5).unwrap();
    add(&mut t, 5, 0, 3.5).unwrap();
    assert_eq!(add(&mut t, 6, 0, 4.0), Err(Refused::Full));
    add(&mut t, 7, 0, 10.5).unwrap();
    assert_eq!(gone, [(End::Evicted, 3), (End::Expired, 2), (End::Expired, 1)]);
    assert_eq!((t.usage().refused, t.usage().sessions), (1, 3));
}

#[test]
fn a_table_grows_from_thousands_to_hundreds_of_thousands_and_loses_none() {
    let mut t = table(300_000);
    for n in 0..300_000 {
        t.insert(new(n, 0), 0.0, |_, _| ()).unwrap();
    }
    for n in 0..300_000 {
        let (at, _) = t.find_any(&flow(n)).unwrap();
        assert_eq!(t.at(at).map(|s| s.data), Some(n));
    }
    for (first, count) in (0..300_200u32).step_by(255).zip((0..=256).cycle()) {
        let keys: Vec<_> = (first..first + count).map(flow).collect();
        let mut found = vec![None; keys.len()];
        t.find_all(&keys, &mut found);
        let right = keys.iter().map(|key| t.find_any(key));
        assert!(right.eq(found.into_iter()), "{count} from {first}");
    }
    assert!(t.usage().bytes < 300_000 * 170, "{} bytes", t.usage().bytes);
    let (mut from, mut seen) = (Some(0), 0);
    while let Some(at) = from {
        from = t.walk(at, 1000, |_, _| {
            seen += 1;
            false
        });
    }
    assert_eq!((seen, t.usage().sessions, t.find_any(&flow(5))), (300_000, 0, None));
    assert_eq!((t.usage().made, t.usage().refused, t.usage().clashes), (300_000, 0, 0));
}

proptest! {
    #[test]
    fn it_holds_what_a_map_holds(steps in prop::collection::vec((0u32..40, 0u8..5), 1..400)) {
        let (mut t, mut map, mut now) = (table(24), HashMap::<u32, f64>::new(), 0.0);
        for (n, what) in steps {
            now += 0.3;
            let found = t.find_any(&flow(n)).filter(|(at, _)| !t.is_over(*at, now));
            let is_there = map.get(&n).is_some_and(|heard| now - heard <= UDP.timeout);
            prop_assert_eq!(found.is_some(), is_there);
            match (what, found) {
                (0, Some((at, _))) => {
                    t.remove(at);
                    map.remove(&n);
                }
                (_, Some((at, _))) => {
                    t.passed(at, 1, now);
                    map.insert(n, now);
                }
                (_, None) => {
                    if let Some((at, _)) = t.find_any(&flow(n)) {
                        t.remove(at);
                    }
                    let is_full = map.values().filter(|h| now - **h <= UDP.timeout).count() >= 24;
                    match t.insert(new(n, 0), now, |_, _| ()) {
                        Ok(_) => {
                            map.insert(n, now);
                        }
                        Err(why) => prop_assert_eq!((why, is_full), (Refused::Full, true)),
                    }
                }
            }
            prop_assert_eq!(t.count().value() as usize, t.usage().sessions);
        }
    }
}
