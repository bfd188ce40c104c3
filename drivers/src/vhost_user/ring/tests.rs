//! Drivers that put nonsense into rings.

use std::os::unix::net::UnixStream;

use proptest::prelude::*;

use super::super::machine::{
    BUFFERS, GUEST, Machine, RING, SIZE, descriptor, features, session_of, table_of,
};
use super::*;

fn alone(is_packed: bool, eventful: bool) -> (Machine, super::super::session::Session, Ring) {
    let machine = Machine::new(UnixStream::pair().unwrap().0, is_packed, 2);
    let mut names = vec![];
    names.extend(is_packed.then_some(feature::RING_PACKED));
    names.extend(eventful.then_some(feature::EVENT_IDX));
    let session = session_of(&machine, features(&names), 1);
    let ring = session.line(1).unwrap().ring;
    (machine, session, ring)
}

const BOTH: [bool; 2] = [false, true];

#[test]
fn buffers_come_out_as_they_were_put_in_and_go_back() {
    for (is_packed, eventful) in BOTH.into_iter().flat_map(|a| BOTH.map(|b| (a, b))) {
        let (mut machine, session, mut ring) = alone(is_packed, eventful);
        let mut pieces = Pieces::default();
        for round in 0..3000 {
            let parts = 1 + round % 5;
            let list: Vec<_> = (0..parts).map(|n| descriptor(BUFFERS + n * 100, 70, 0)).collect();
            assert_eq!(ring.waiting(), 0);
            machine.rings[1].put(&list);
            assert!(ring.waiting() > 0);
            pieces.clear();
            let (taken, done) =
                ring.take(table_of(&session), Direction::FromDriver, &mut pieces).unwrap();
            assert_eq!((done, pieces.all().len()), (Ok(()), parts));
            assert_eq!(pieces.all()[0].offset, BUFFERS);
            assert!(machine.rings[1].take().is_none());
            ring.give_back(&[(taken, round as u32)]);
            ring.publish();
            let (address, len) = machine.rings[1].take().unwrap();
            assert!(is_packed || address == GUEST + BUFFERS as u64);
            assert_eq!(len, round as u32);
        }
        let base = ring.base();
        let mut again = session.line(1).unwrap();
        assert!(base != 0);
        again.ring = Ring::new(
            table_of(&session),
            (RING.into(), base),
            session.rings[&1].place.as_ref().unwrap(),
            session.features,
        )
        .unwrap();
        machine.rings[1].put(&[descriptor(BUFFERS, 70, 0)]);
        pieces.clear();
        assert!(again.ring.take(table_of(&session), Direction::FromDriver, &mut pieces).is_some());
    }
}

#[test]
fn what_was_taken_can_be_put_back() {
    for is_packed in BOTH {
        let (mut machine, session, mut ring) = alone(is_packed, false);
        let mut pieces = Pieces::default();
        for _ in 0..400 {
            (0..3).for_each(|n| machine.rings[1].put(&[descriptor(BUFFERS + n, 1, 0)]));
            let mark = ring.mark();
            for last in BOTH {
                pieces.clear();
                let mut taken = Vec::new();
                while let Some((buffer, done)) =
                    ring.take(table_of(&session), Direction::FromDriver, &mut pieces)
                {
                    assert_eq!(done, Ok(()));
                    taken.push((buffer, 9));
                }
                assert_eq!((taken.len(), pieces.all().len()), (3, 3));
                match last {
                    false => ring.rewind(mark),
                    true => ring.give_back(&taken),
                }
                ring.publish();
            }
            assert_eq!(std::iter::from_fn(|| machine.rings[1].take()).count(), 3);
        }
    }
}

/// Takes what is there; whether it made sense.
fn taken(session: &super::super::session::Session, ring: &mut Ring) -> Option<Result<(), Bad>> {
    let mut pieces = Pieces::default();
    let (buffer, done) = ring.take(&session.table, Direction::FromDriver, &mut pieces)?;
    let region = &session.table.0[0].region;
    assert!(pieces.all().iter().all(|p| region.holds(p.offset, p.len as usize)));
    ring.give_back(&[(buffer, 0)]);
    ring.publish();
    Some(done)
}

#[test]
fn descriptors_that_make_no_sense_are_given_back() {
    for is_packed in BOTH {
        let (mut machine, session, mut ring) = alone(is_packed, false);
        let last = Machine::address(SIZE);
        let at = |address, len, flags| Descriptor { address, len, flags, link: 0 };
        let cases = [
            (at(0, 60, 0), Bad::Address),
            (at(last - 59, 60, 0), Bad::Address),
            (at(last, 1, 0), Bad::Address),
            (at(u64::MAX, 60, 0), Bad::Address),
            (at(GUEST, u32::MAX, 0), Bad::Address),
            (at(GUEST, 60, flag::WRITE), Bad::Address),
            (at(GUEST, 0, flag::INDIRECT), Bad::Chain),
            (at(GUEST, 15, flag::INDIRECT), Bad::Chain),
            (at(last - 16, 32, flag::INDIRECT), Bad::Address),
            (at(0, 32, flag::INDIRECT), Bad::Address),
        ];
        for (d, bad) in cases {
            machine.rings[1].put_raw(&[d]);
            assert_eq!(taken(&session, &mut ring), Some(Err(bad)), "{d:?} {is_packed}");
            assert!(machine.rings[1].take().is_some());
            machine.rings[1].put(&[descriptor(BUFFERS, 60, 0)]);
            assert_eq!(taken(&session, &mut ring), Some(Ok(())));
            assert!(machine.rings[1].take().is_some());
        }
    }
}

#[test]
fn no_loop_keeps_a_thread() {
    // Split: two descriptors that name each other, one that names itself, one that names none.
    let (mut machine, session, mut ring) = alone(false, false);
    for links in [[1, 0], [0, 0], [1, 600]] {
        for (n, link) in links.into_iter().enumerate() {
            let d = Descriptor { link, ..descriptor(BUFFERS, 0, flag::NEXT) };
            machine.rings[1].write(n as u16, d);
        }
        machine.rings[1].put_head(0);
        assert_eq!(taken(&session, &mut ring), Some(Err(Bad::Chain)), "{links:?}");
    }
    machine.rings[1].put_head(0xffff);
    assert_eq!(taken(&session, &mut ring), Some(Err(Bad::Chain)));
    // More than a ring holds is nothing, and not forever.
    machine.rings[1].claim(4 + RING + 1);
    assert_eq!((ring.waiting(), taken(&session, &mut ring)), (0, None));
    machine.rings[1].claim(3);
    assert_eq!((ring.waiting(), taken(&session, &mut ring)), (0, None));
    // A table that names itself, and one that goes round.
    for link in [0, 1] {
        let d = Descriptor { link, ..descriptor(BUFFERS, 1, flag::NEXT) };
        let half: Vec<u8> = d.to_split().iter().flat_map(|w| w.to_ne_bytes()).collect();
        machine.region.copy_in(0x9_0000, &[half.clone(), half].concat()).unwrap();
        machine.rings[1].write(5, descriptor(0x9_0000, 32, flag::INDIRECT));
        machine.rings[1].put_head(5);
        assert_eq!(taken(&session, &mut ring), Some(Err(Bad::Chain)), "{link}");
    }
    // Packed: a buffer as long as the ring, and longer.
    let (mut machine, session, mut ring) = alone(true, false);
    let list = vec![descriptor(BUFFERS, 0, flag::NEXT); RING.into()];
    machine.rings[1].put_raw(&list);
    assert_eq!(taken(&session, &mut ring), Some(Err(Bad::Chain)));
    let own = descriptor(0x9_0000, 32, flag::INDIRECT | flag::NEXT);
    machine.rings[1].put_raw(&[own, descriptor(BUFFERS, 60, 0)]);
    assert!(taken(&session, &mut ring).is_some() && taken(&session, &mut ring).is_none());
}

#[test]
fn empty_descriptors_are_counted_like_others() {
    let most = super::super::memory::MOST_PIECES;
    for is_packed in BOTH {
        for count in [most, most + 1, usize::from(RING)] {
            let (mut machine, session, mut ring) = alone(is_packed, false);
            machine.rings[1].put(&vec![descriptor(BUFFERS, 0, 0); count]);
            let good = if count > most { Err(Bad::Chain) } else { Ok(()) };
            assert_eq!(taken(&session, &mut ring), Some(good), "{is_packed} {count}");
            // The same in a table.
            let entry = Descriptor { link: 0, ..descriptor(BUFFERS, 0, 0) };
            let table: Vec<u8> = (0..count as u16)
                .flat_map(|n| {
                    let (flags, link) =
                        if usize::from(n) + 1 < count { (flag::NEXT, n + 1) } else { (0, 0) };
                    let d = Descriptor { flags, link, ..entry };
                    let words = if is_packed { entry.to_packed() } else { d.to_split() };
                    words.into_iter().flat_map(u64::to_ne_bytes).collect::<Vec<_>>()
                })
                .collect();
            machine.region.copy_in(0x9_0000, &table).unwrap();
            let own = descriptor(0x9_0000, table.len() as u32, flag::INDIRECT);
            machine.rings[1].put_raw(&[own]);
            assert_eq!(taken(&session, &mut ring), Some(good), "{is_packed} {count}");
            // Neither is looked at where a table is one of several.
            machine.rings[1].put_raw(&[Descriptor { flags: flag::INDIRECT | flag::NEXT, ..own }]);
            let mut pieces = Pieces::default();
            let (_, done) =
                ring.take(table_of(&session), Direction::FromDriver, &mut pieces).unwrap();
            assert_eq!((done, pieces.all().len()), (Err(Bad::Chain), 0));
        }
    }
}

#[test]
fn what_a_packed_ring_passes_over_is_bounded_until_it_is_published() {
    let (mut machine, session, mut ring) = alone(true, false);
    let list = vec![descriptor(BUFFERS, 0, flag::NEXT); RING.into()];
    let mut pieces = Pieces::default();
    let mut waits = false;
    let mut take = |ring: &mut Ring| {
        if !waits {
            machine.rings[1].put_raw(&list);
        }
        pieces.clear();
        let taken = ring.take(table_of(&session), Direction::FromDriver, &mut pieces);
        waits = taken.is_none();
        taken.map(|(buffer, done)| {
            assert_eq!(done, Err(Bad::Chain));
            ring.give_back(&[(buffer, 0)]);
        })
    };
    for _ in 0..3 {
        let count = (0..100).take_while(|_| take(&mut ring).is_some()).count();
        assert!((10..=12).contains(&count), "{count}");
        ring.publish();
    }
}

#[test]
fn drivers_are_woken_when_they_want_to_be() {
    for is_packed in BOTH {
        let (mut machine, session, mut ring) = alone(is_packed, true);
        let mut give = |machine: &mut Machine, count: usize| {
            (0..count).for_each(|_| machine.rings[1].put(&[descriptor(BUFFERS, 60, 0)]));
            let mut pieces = Pieces::default();
            for _ in 0..count {
                let taken = ring.take(&session.table, Direction::FromDriver, &mut pieces).unwrap();
                ring.give_back(&[(taken.0, 0)]);
            }
            ring.publish()
        };
        machine.rings[1].want(true, Some(2));
        assert!(!give(&mut machine, 1) && !give(&mut machine, 1), "{is_packed}");
        assert!(give(&mut machine, 1) && !give(&mut machine, 1), "{is_packed}");
        machine.rings[1].want(true, Some(10));
        assert!(give(&mut machine, 20) && !give(&mut machine, 20), "{is_packed}");
        let (mut machine, session, mut ring) = alone(is_packed, false);
        let mut give = |machine: &mut Machine| {
            machine.rings[1].put(&[descriptor(BUFFERS, 60, 0)]);
            let mut pieces = Pieces::default();
            let taken = ring.take(&session.table, Direction::FromDriver, &mut pieces).unwrap();
            ring.give_back(&[(taken.0, 0)]);
            ring.publish()
        };
        machine.rings[1].want(false, None);
        assert!(!give(&mut machine));
        machine.rings[1].want(true, None);
        assert!(give(&mut machine));
    }
}

/// Entries written in a ring: a link, a length, flags.
fn written() -> impl Strategy<Value = (u16, u16, u32, u8)> {
    (any::<u16>(), any::<u16>(), 0_u32..3000, 0_u8..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_is_in_a_ring_stays_within_memory(
        is_packed: bool,
        seed in proptest::collection::vec(written(), 1..200),
    ) {
        let (mut machine, session, mut ring) = alone(is_packed, false);
        for (at, link, len, flags) in seed {
            let flags = u16::from(flags) | if is_packed { flag::AVAILABLE } else { 0 };
            let d = Descriptor { link, ..descriptor(usize::from(at) * 70, len, flags) };
            machine.rings[1].write(at % RING, d);
            if !is_packed {
                machine.rings[1].put_head(link % (RING + 2));
            }
            // Each call is over, and those that find something are no more than there is.
            let count = std::iter::from_fn(|| taken(&session, &mut ring)).take(2000).count();
            prop_assert!(count <= usize::from(RING));
        }
    }
}
