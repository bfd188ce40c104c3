use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::Release};
use std::thread;

use proptest::prelude::*;

use super::*;

type Writer4 = Writer<16, u32>;

fn writer4(max_plies: usize) -> Writer4 {
    Mtrie::writer(max_plies, HugePages::No).unwrap()
}

fn ip(a: u8, b: u8, c: u8, d: u8) -> u32 {
    u32::from_be_bytes([a, b, c, d])
}

#[test]
fn longest_prefix_wins_whatever_the_order() {
    let prefixes = [(8, 1), (20, 2), (24, 3), (32, 4)];
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        let mut writer = writer4(16);
        for (len, leaf) in order.map(|i: usize| prefixes[i]) {
            writer.insert(ip(10, 1, 2, 3), len, leaf).unwrap();
        }

        let table = writer.table();
        assert_eq!(table.lookup(ip(10, 1, 2, 3)), 4);
        assert_eq!(table.lookup(ip(10, 1, 2, 4)), 3);
        assert_eq!(table.lookup(ip(10, 1, 3, 3)), 2);
        assert_eq!(table.lookup(ip(10, 200, 0, 0)), 1);
        assert_eq!(table.lookup(ip(11, 1, 2, 3)), 0);
    }
}

#[test]
fn default_reaches_what_no_prefix_covers() {
    let mut writer = writer4(16);
    writer.insert(ip(10, 0, 0, 0), 24, 7).unwrap();
    writer.set_default(9);

    assert_eq!(writer.table().lookup(ip(10, 0, 1, 0)), 9);
    writer.insert(0, 0, 8).unwrap();
    assert_eq!((writer.table().lookup(ip(10, 0, 1, 0)), writer.table().default()), (8, 8));
    writer.remove(0, 0, None);
    assert_eq!(writer.table().lookup(ip(10, 0, 1, 0)), 0);
}

#[test]
fn full_table_is_left_as_it_was() {
    let mut writer = writer4(3);
    writer.insert(ip(10, 0, 0, 1), 32, 1).unwrap();
    assert_eq!(writer.ply_count(), 2);

    assert_eq!(writer.insert(ip(11, 0, 0, 1), 32, 2), Err(Full));

    assert_eq!((writer.ply_count(), writer.table().lookup(ip(11, 0, 0, 1))), (2, 0));
    writer.insert(ip(11, 0, 0, 1), 24, 3).unwrap();
    assert_eq!(writer.table().lookup(ip(11, 0, 0, 1)), 3);
}

#[test]
fn plies_come_back_only_when_reclaimed() {
    let mut writer = writer4(2);
    for round in 1..100 {
        writer.insert(ip(10, 0, 0, round), 32, 1).unwrap();
        writer.remove(ip(10, 0, 0, round), 32, None);
        assert_eq!(writer.ply_count(), 0);
        assert_eq!(writer.insert(ip(10, 0, 0, round), 32, 1), Err(Full));

        let garbage = writer.take_garbage();
        assert_eq!(garbage.len(), 2);
        garbage.into_iter().for_each(|ply| writer.reclaim(ply));
    }
}

#[test]
#[should_panic(expected = "reclaimed by the table")]
fn ply_of_another_table_is_refused() {
    let mut one = writer4(2);
    one.insert(ip(10, 0, 0, 1), 32, 1).unwrap();
    one.remove(ip(10, 0, 0, 1), 32, None);
    writer4(2).reclaim(one.take_garbage().remove(0));
}

#[test]
fn small_table_is_small() {
    let mut writer = Mtrie::<8, u32>::writer(1 << 20, HugePages::No).unwrap();
    writer.insert(ip(10, 0, 0, 0), 8, 1).unwrap();
    assert!(writer.memory() < 4096, "{}", writer.memory());
}

#[test]
fn impossible_sizes_are_refused() {
    assert!(Mtrie::<8, u32>::writer(1 << 24, HugePages::No).is_err());
    assert!(Mtrie::<8, u32>::writer(usize::MAX, HugePages::No).is_err());
}

/// Addresses that share beginnings, so that prefixes nest and collide.
fn narrow(value: u128) -> u128 {
    value & 0x8000_0301_0000_0000_8001_0000_0000_8003_u128
}

#[derive(Clone, Debug)]
enum Step {
    Insert { address: u128, len: u8, leaf: u32 },
    Remove { nth: usize },
    RemoveUnknown { address: u128, len: u8 },
    Reclaim,
}

fn step() -> impl Strategy<Value = Step> {
    let address = || any::<u128>().prop_map(narrow);
    prop_oneof![
        6 => (address(), any::<u8>(), 1..=MAX_LEAF)
            .prop_map(|(address, len, leaf)| Step::Insert { address, len, leaf }),
        3 => any::<usize>().prop_map(|nth| Step::Remove { nth }),
        1 => (address(), any::<u8>())
            .prop_map(|(address, len)| Step::RemoveUnknown { address, len }),
        1 => Just(Step::Reclaim),
    ]
}

/// The same table as a list of prefixes; addresses are left-aligned.
#[derive(Default)]
struct Model(BTreeMap<(u8, u128), u32>);

impl Model {
    fn network(address: u128, len: u8) -> u128 {
        address & u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0)
    }

    fn longest(&self, address: u128, up_to: u8) -> Option<(u8, u32)> {
        let covers = |&(&(len, network), _): &(&(u8, u128), &u32)| {
            len <= up_to && Self::network(address, len) == network
        };
        self.0.iter().rev().find(covers).map(|(&(len, _), &leaf)| (len, leaf))
    }
}

/// Runs `steps` against table and model; `key` takes the first bits of a left-aligned address.
fn compare<const ROOT_BITS: u8, K: Key>(
    steps: Vec<Step>,
    probes: &[u128],
    key: fn(u128) -> K,
) -> Result<(), TestCaseError> {
    let mut writer = Mtrie::<ROOT_BITS, K>::writer(4096, HugePages::No).unwrap();
    let mut model = Model::default();
    let lens = u16::from(K::BITS) + 1;
    for step in steps {
        match step {
            Step::Insert { address, len, leaf } => {
                let len = (u16::from(len) % lens) as u8;
                writer.insert(key(address), len, leaf).unwrap();
                model.0.insert((len, Model::network(address, len)), leaf);
            }
            Step::Remove { nth } if !model.0.is_empty() => {
                let (&(len, network), _) = model.0.iter().nth(nth % model.0.len()).unwrap();
                model.0.remove(&(len, network));
                writer.remove(key(network), len, model.longest(network, len));
            }
            Step::RemoveUnknown { address, len } => {
                let len = (u16::from(len) % lens) as u8;
                let network = Model::network(address, len);
                if !model.0.contains_key(&(len, network)) {
                    writer.remove(key(address), len, model.longest(network, len));
                }
            }
            Step::Remove { .. } => {}
            Step::Reclaim => {
                writer.take_garbage().into_iter().for_each(|ply| writer.reclaim(ply));
            }
        }
        let networks: Vec<u128> = model.0.keys().map(|&(_, network)| network).collect();
        let beside = networks.iter().map(|network| network.wrapping_sub(1 << (128 - K::BITS)));
        for address in probes.iter().copied().chain(networks.iter().copied()).chain(beside) {
            let expected = model.longest(address, K::BITS).map_or(0, |(_, leaf)| leaf);
            prop_assert_eq!(writer.table().lookup(key(address)), expected, "{:x}", address);
        }
    }
    let left: Vec<(u8, u128)> = model.0.keys().copied().collect();
    for (len, network) in left.into_iter().rev() {
        model.0.remove(&(len, network));
        writer.remove(key(network), len, model.longest(network, len));
    }
    prop_assert_eq!(writer.ply_count(), 0, "an empty table needs no plies");
    Ok(())
}

proptest! {
    #[test]
    fn agrees_with_a_list_of_prefixes(
        steps in prop::collection::vec(step(), 1..60),
        probes in prop::collection::vec(any::<u128>().prop_map(narrow), 20),
    ) {
        compare::<8, u32>(steps.clone(), &probes, |address| (address >> 96) as u32)?;
        compare::<16, u32>(steps.clone(), &probes, |address| (address >> 96) as u32)?;
        compare::<16, u128>(steps, &probes, |address| address)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn agrees_with_a_list_of_prefixes_below_24_bits(
        steps in prop::collection::vec(step(), 1..8),
        probes in prop::collection::vec(any::<u128>().prop_map(narrow), 20),
    ) {
        compare::<24, u32>(steps.clone(), &probes, |address| (address >> 96) as u32)?;
        compare::<24, u128>(steps, &probes, |address| address)?;
    }
}

/// Looks two addresses up until told to stop, and counts the rounds.
fn reader(table: &Mtrie<16, u32>, rounds: &AtomicU64, is_done: &AtomicBool) {
    while !is_done.load(Relaxed) {
        let (one, other) = (table.lookup(ip(10, 1, 2, 3)), table.lookup(ip(20, 4, 5, 6)));
        assert!((1..=3).contains(&one), "{one} is no leaf of 10.1.2.3");
        assert!((4..=6).contains(&other), "{other} is no leaf of 20.4.5.6");
        rounds.fetch_add(1, Release);
    }
}

#[test]
fn readers_see_old_or_new_but_nothing_else() {
    let mut writer = writer4(4);
    writer.insert(ip(10, 0, 0, 0), 8, 1).unwrap();
    writer.insert(ip(20, 0, 0, 0), 8, 4).unwrap();
    let (is_done, rounds) = (AtomicBool::new(false), [AtomicU64::new(0), AtomicU64::new(0)]);
    let table = Arc::clone(writer.table());

    thread::scope(|scope| {
        for rounds in &rounds {
            scope.spawn(|| reader(&table, rounds, &is_done));
        }
        for round in 0..1000u32 {
            // One and the other take turns, so that each gets the plies the other had.
            let (address, leaf) = [(ip(10, 1, 2, 3), 1), (ip(20, 4, 5, 6), 4)][round as usize % 2];
            writer.insert(address, 32, leaf + 2).unwrap();
            writer.insert(address, 24, leaf + 1).unwrap();
            writer.remove(address, 32, Some((24, leaf + 1)));
            writer.remove(address, 24, Some((8, leaf)));
            let garbage = writer.take_garbage();
            assert_eq!(garbage.len(), 2);
            for rounds in &rounds {
                let before = rounds.load(Acquire);
                while rounds.load(Acquire) == before {
                    thread::yield_now();
                }
            }
            garbage.into_iter().for_each(|ply| writer.reclaim(ply));
        }
        is_done.store(true, Relaxed);
    });
}
