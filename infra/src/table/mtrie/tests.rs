use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::rcu::Participant;

/// Readers are known to the whole process: tests that hold theirs for long go one by one.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn writer<const ROOT_BITS: u8>(plies: usize, tails: usize) -> Writer<ROOT_BITS> {
    Mtrie::writer(plies, tails, HugePages::No).unwrap()
}

fn ip(a: u8, b: u8, c: u8, d: u8) -> u32 {
    u32::from_be_bytes([a, b, c, d])
}

fn lookup<const ROOT_BITS: u8>(writer: &Writer<ROOT_BITS>, key: u32) -> u32 {
    let mut leaf = [u32::MAX];
    writer.table().find(&[key], &mut leaf, Participant::join().epoch());
    leaf[0]
}

#[test]
fn longest_prefix_wins_whatever_the_order() {
    let prefixes = [(8, 1), (20, 2), (24, 3), (32, 4)];
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        let mut w = writer::<16>(100, 100);
        for (len, leaf) in order.map(|i: usize| prefixes[i]) {
            w.insert(ip(10, 1, 2, 3), len, leaf).unwrap();
        }
        assert_eq!(lookup(&w, ip(10, 1, 2, 3)), 4);
        assert_eq!(lookup(&w, ip(10, 1, 2, 4)), 3);
        assert_eq!(lookup(&w, ip(10, 1, 3, 3)), 2);
        assert_eq!(lookup(&w, ip(10, 200, 0, 0)), 1);
        assert_eq!(lookup(&w, ip(11, 1, 2, 3)), 0);
    }
}

#[test]
fn default_reaches_what_no_prefix_covers() {
    let mut w = writer::<16>(100, 100);
    w.insert(ip(10, 0, 0, 0), 24, 7).unwrap();
    w.set_default(9);
    assert_eq!(lookup(&w, ip(10, 0, 1, 0)), 9);
    w.insert(0, 0, 8).unwrap();
    assert_eq!((lookup(&w, ip(10, 0, 1, 0)), w.table().default()), (8, 8));
    w.remove(0, 0, None);
    assert_eq!(lookup(&w, ip(10, 0, 1, 0)), 0);
}

#[test]
fn full_table_is_left_as_it_was() {
    let _alone = alone();
    [0, 80].into_iter().for_each(fill);
}

fn fill(tails: usize) {
    let mut w = writer::<16>(80, tails);
    let host = |i: u32| ip(10, 0, 0, 1) + (i << 8);
    let refused = (0..).find(|i| w.insert(host(*i), 32, i + 1) == Err(Full)).unwrap();
    assert!(refused > 10, "{refused}");
    assert_eq!((lookup(&w, host(refused)), lookup(&w, host(refused - 1))), (0, refused));
    w.insert(host(3), 32, 99).unwrap();
    assert_eq!(lookup(&w, host(3)), 99, "another leaf needs no room");
    (0..refused).for_each(|i| w.remove(host(i), 32, None));
    assert_eq!(w.node_count(), 0);
    while w.insert(host(refused), 32, 5).is_err() {} // readers of other tests hold nodes back
    assert_eq!(lookup(&w, host(refused)), 5);
}

#[test]
fn a_node_is_a_tail_while_it_holds_little() {
    let mut w = writer::<24>(100, 1000);
    let memory = w.memory();
    for byte in (0..=255).step_by(2) {
        w.insert(ip(10, 0, 0, byte), 32, 1 + u32::from(byte)).unwrap();
        assert_eq!(w.memory() - memory >= 5 * 256, byte >= 8, "a ply after four hosts");
    }
    for byte in 0..=255 {
        let expected = if byte % 2 == 0 { 1 + u32::from(byte) } else { 0 };
        assert_eq!(lookup(&w, ip(10, 0, 0, byte)), expected);
    }
    for byte in (0..=255).step_by(2).rev() {
        w.remove(ip(10, 0, 0, byte), 32, None);
        assert_eq!(w.node_count(), usize::from(byte > 0));
        let below = byte.saturating_sub(2);
        let expected = if byte > 0 { 1 + u32::from(below) } else { 0 };
        assert_eq!(
            (lookup(&w, ip(10, 0, 0, byte)), lookup(&w, ip(10, 0, 0, below))),
            (0, expected)
        );
    }
}

#[test]
fn bytes_are_counted_as_one_by_one() {
    for bytes in [[0u8; 8], [255; 8], [0, 1, 127, 128, 129, 200, 255, 255]] {
        for byte in 0..=255u8 {
            let expected = bytes.iter().filter(|b| **b <= byte).count();
            assert_eq!(not_above(u64::from_le_bytes(bytes), byte), expected, "{bytes:?} {byte}");
        }
    }
}

#[test]
fn small_table_is_small() {
    let mut w = writer::<8>(1 << 20, 1 << 20);
    w.insert(ip(10, 0, 0, 1), 32, 1).unwrap();
    assert!(w.memory() < 4096, "{}", w.memory());
}

#[test]
fn impossible_sizes_are_refused() {
    assert!(Mtrie::<8>::writer(1 << 24, 1, HugePages::No).is_err());
    assert!(Mtrie::<8>::writer(usize::MAX, 1, HugePages::No).is_err());
    assert!(Mtrie::<8>::writer(1, (1 << 30) + 1, HugePages::No).is_err());
}

/// Addresses that share beginnings, so that prefixes nest and collide.
fn narrow(value: u32) -> u32 {
    value & 0x8001_0317
}

#[derive(Clone, Debug)]
enum Step {
    Insert { address: u32, len: u8, leaf: u32 },
    Remove { nth: usize },
    RemoveUnknown { address: u32, len: u8 },
}

fn step() -> impl Strategy<Value = Step> {
    let address = || any::<u32>().prop_map(narrow);
    let len = || prop_oneof![0..=32u8, 24..=32u8];
    prop_oneof![
        6 => (address(), len(), prop_oneof![1..4u32, 1..=MAX_LEAF])
            .prop_map(|(address, len, leaf)| Step::Insert { address, len, leaf }),
        3 => any::<usize>().prop_map(|nth| Step::Remove { nth }),
        1 => (address(), len())
            .prop_map(|(address, len)| Step::RemoveUnknown { address, len }),
    ]
}

/// The same table as a list of prefixes.
#[derive(Default)]
struct Model(BTreeMap<(u8, u32), u32>);

impl Model {
    fn network(address: u32, len: u8) -> u32 {
        address & u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0)
    }

    fn longest(&self, address: u32, below: u8) -> Option<(u8, u32)> {
        let covers = |&(&(len, network), _): &(&(u8, u32), &u32)| {
            len < below && Self::network(address, len) == network
        };
        self.0.iter().rev().find(covers).map(|(&(len, _), &leaf)| (len, leaf))
    }
}

/// Runs `steps` against table and model.
fn compare<const ROOT_BITS: u8>(
    steps: &[Step],
    probes: &[u32],
    tails: usize,
) -> Result<(), TestCaseError> {
    let mut w = writer::<ROOT_BITS>(4096, tails);
    let mut model = Model::default();
    let mut me = Participant::join();
    for step in steps {
        match *step {
            Step::Insert { address, len, leaf } => {
                w.insert(address, len, leaf).unwrap();
                model.0.insert((len, Model::network(address, len)), leaf);
            }
            Step::Remove { nth } if !model.0.is_empty() => {
                let (&(len, network), _) = model.0.iter().nth(nth % model.0.len()).unwrap();
                model.0.remove(&(len, network));
                w.remove(network, len, model.longest(network, len));
            }
            Step::RemoveUnknown { address, len } => {
                let network = Model::network(address, len);
                if !model.0.contains_key(&(len, network)) {
                    w.remove(address, len, model.longest(network, len));
                }
            }
            Step::Remove { .. } => {}
        }
        let networks = model.0.keys().map(|&(_, network)| network);
        let keys = networks.flat_map(|n| [n, n.wrapping_sub(1), n | 0xff]);
        let keys: Vec<u32> = keys.chain(probes.iter().copied()).collect();
        let mut leaves = vec![u32::MAX; keys.len()];
        w.table().find(&keys, &mut leaves, me.epoch());
        for (key, leaf) in keys.iter().zip(leaves) {
            let expected = model.longest(*key, 33).map_or(0, |(_, leaf)| leaf);
            prop_assert_eq!(leaf, expected, "{:x}", key);
        }
        me.quiescent();
    }
    let left: Vec<(u8, u32)> = model.0.keys().copied().collect();
    for (len, network) in left.into_iter().rev() {
        model.0.remove(&(len, network));
        w.remove(network, len, model.longest(network, len));
    }
    prop_assert_eq!(w.node_count(), 0, "an empty table needs no nodes");
    Ok(())
}

proptest! {
    #[test]
    fn agrees_with_a_list_of_prefixes(
        steps in prop::collection::vec(step(), 1..80),
        probes in prop::collection::vec(any::<u32>().prop_map(narrow), 20),
    ) {
        let _alone = alone();
        for tails in [0, 4096] {
            compare::<8>(&steps, &probes, tails)?;
            compare::<16>(&steps, &probes, tails)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn agrees_with_a_list_of_prefixes_below_24_bits(
        steps in prop::collection::vec(step(), 1..30),
        probes in prop::collection::vec(any::<u32>().prop_map(narrow), 20),
    ) {
        let _alone = alone();
        // Shorter ones are millions of slots, and no other case.
        let longer = |mut step: Step| {
            if let Step::Insert { len, .. } | Step::RemoveUnknown { len, .. } = &mut step {
                *len = (*len).max(14);
            }
            step
        };
        let steps: Vec<Step> = steps.into_iter().map(longer).collect();
        compare::<24>(&steps, &probes, 4096)?;
    }
}

/// Looks addresses up until stopped.
fn reader(table: &Mtrie<16>, is_done: &AtomicBool) {
    let mut me = Participant::join();
    let keys = [ip(10, 1, 2, 3), ip(20, 4, 5, 6), ip(10, 1, 2, 9)];
    while !is_done.load(Relaxed) {
        let mut leaves = [0; 3];
        table.find(&keys, &mut leaves, me.epoch());
        let [one, other, host] = leaves;
        assert!((1..=3).contains(&one), "{one} is no leaf of 10.1.2.3");
        assert!((4..=6).contains(&other), "{other} is no leaf of 20.4.5.6");
        assert!((1..=2).contains(&host), "{host} is no leaf of 10.1.2.9");
        me.quiescent();
    }
}

#[test]
fn readers_see_old_or_new_but_nothing_else() {
    let _alone = alone();
    [0, 80].into_iter().for_each(change_under_readers);
}

fn change_under_readers(tails: usize) {
    let mut w = writer::<16>(80, tails);
    w.insert(ip(10, 0, 0, 0), 8, 1).unwrap();
    w.insert(ip(20, 0, 0, 0), 8, 4).unwrap();
    let is_done = AtomicBool::new(false);
    let table = Arc::clone(w.table());
    thread::scope(|scope| {
        let readers = [(); 2].map(|()| scope.spawn(|| reader(&table, &is_done)));
        for round in 0..300u32 {
            // One and the other take turns, so that each gets the nodes the other had; hosts around
            // turn tails into plies and back.
            let (address, leaf) = [(ip(10, 1, 2, 3), 1), (ip(20, 4, 5, 6), 4)][round as usize % 2];
            while w.insert(address, 32, leaf + 2).is_err() {}
            while w.insert(address, 24, leaf + 1).is_err() {}
            let hosts = (0..8).map(|i| (address & !0xff) | 0x80 | i << 3);
            for host in hosts.clone() {
                while w.insert(host, 32, 7).is_err() {}
            }
            hosts.for_each(|host| w.remove(host, 32, Some((24, leaf + 1))));
            w.remove(address, 32, Some((24, leaf + 1)));
            w.remove(address, 24, Some((8, leaf)));
        }
        is_done.store(true, Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
    assert_eq!(w.node_count(), 0);
}
