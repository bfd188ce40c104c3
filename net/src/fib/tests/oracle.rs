//! Random changes against a list that is searched from end to end.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::SizeRange;
use proptest::prelude::*;

use super::*;
use crate::fib::control::routes::{FromPrefix, key};
use crate::fib::control::table::Key;
use crate::fib::forwarding::lpm::LpmWriter;
use crate::fib::forwarding::ranges;

/// One change: a prefix, its source, and its target (a made-up table), or none.
#[derive(Clone, Debug)]
pub(super) struct Change {
    addr: u128,
    len: u8,
    source: Source,
    to: Option<u16>,
}

pub(super) fn changes(count: impl Into<SizeRange>) -> impl Strategy<Value = Vec<Change>> {
    // Few different bits, so that prefixes nest, meet and repeat.
    let addr = (0..4u128, 0..8u128, 0..4u128).prop_map(|(a, b, c)| a << 126 | b << 117 | c << 96);
    let len = prop_oneof![0..=32u8, 40..=48u8, Just(128u8)];
    let source = prop_oneof![Just(Source::INTERFACE), Just(Source::CLI), Just(Source::ADJACENCY)];
    let to = prop_oneof![4 => (1..5u16).prop_map(Some), 3 => Just(None)];
    let change = (addr, len, source, to);
    let change = change.prop_map(|(addr, len, source, to)| Change { addr, len, source, to });
    prop::collection::vec(change, count)
}

/// All routes and their sources, in no order.
#[derive(Clone)]
pub(super) struct Oracle<F: Family>(Vec<(Key<F>, Source, Via)>);

impl<F: Family> Oracle<F>
where
    Key<F>: FromPrefix,
{
    /// The routes that every table has.
    pub fn new() -> Self {
        let default = |&(bits, len, target, source): &(F::Bits, u8, Target, Source)| {
            let via = if target == Target::LinkLocal { Via::LinkLocal } else { Via::Drop };
            ((bits, len), source, via)
        };
        Self(F::DEFAULTS.iter().map(default).collect())
    }
    /// The prefix of a change, whose addresses are shifted and cut to those of the family.
    pub fn key(change: &Change) -> Key<F> {
        let len = change.len.min(F::BITS);
        let addr: IpAddr = match F::BITS {
            32 => Ipv4Addr::from_bits((change.addr >> 96) as u32).into(),
            _ => Ipv6Addr::from_bits(change.addr).into(),
        };
        (F::masked(F::bits(addr).unwrap(), len), len)
    }
    pub fn apply(&mut self, change: &Change) {
        let key = Self::key(change);
        self.0.retain(|o| (o.0, o.1) != (key, change.source));
        self.0.extend(change.to.map(|to| (key, change.source, Via::Lookup(to))));
    }
    /// The prefix that packets to an address follow, and where that leads.
    pub fn best(&self, addr: F::Bits) -> (Key<F>, Via) {
        let covers = |o: &&(Key<F>, Source, Via)| F::masked(addr, o.0.1) == o.0.0;
        let best = self.0.iter().filter(covers).max_by_key(|o| (o.0.1, std::cmp::Reverse(o.1)));
        best.map(|o| (o.0, o.2)).unwrap()
    }
    /// The load balance of a prefix, if it exists.
    pub fn at(&self, key: Key<F>) -> Option<Via> {
        self.0.iter().filter(|o| o.0 == key).min_by_key(|o| o.1).map(|o| o.2)
    }
}

/// Makes the router apply a change.
pub(super) fn apply<F: Family>(router: &mut Router, table: TableIndex, change: &Change)
where
    Key<F>: FromPrefix,
{
    let key = Oracle::<F>::key(change);
    match change.to {
        Some(to) => {
            let path = Path::to(Target::Lookup { link: F::LINK, table: TableIndex(to) });
            router.set_paths::<F>(table, key, change.source, &[path]).unwrap();
        }
        None => drop(router.remove_paths::<F>(table, key, change.source, &[])),
    }
}

fn check<F: Family>(changes: &[Change], mut router: Router)
where
    Key<F>: FromPrefix,
{
    let table = router.add_table::<F>(0).unwrap();
    let mut oracle = Oracle::<F>::new();
    let me = Participant::join();
    let mut probes = Vec::new();
    for change in changes {
        oracle.apply(change);
        apply::<F>(&mut router, table, change);
        let (bits, len) = Oracle::<F>::key(change);
        probes.extend([bits, F::last(bits, len)]);
        let forwarding = router.fib.forwarding::<F>();
        let found = |bits| {
            let leaf = forwarding.table(table.0, me.epoch()).unwrap().lookup(bits, me.epoch());
            forwarding.load_balance(leaf, me.epoch()).choose(0)
        };
        for probe in &probes {
            assert_eq!(found(*probe), oracle.best(*probe).1, "{probe:?} after {change:?}");
        }
    }
    let t = F::tables(&router.fib).at(table).unwrap();
    let mut keys: Vec<_> = oracle.0.iter().map(|o| o.0).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(t.entries.iter().map(|(key, _)| *key).collect::<Vec<_>>(), keys);
}

pub(super) fn router() -> Router {
    Router::new(Settings { buffers: 64, ..Settings::default() }, Log::new()).unwrap()
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn any_changes_lead_where_a_plain_search_says(changes in changes(1..80)) {
        check::<Ip4>(&changes, router());
        check::<Ip6>(&changes, router());
    }

    #[test]
    fn ranges_split_and_merge_without_losing_any(
        prefixes in prop::collection::vec((0..3000u128, 0..4u8), 300..2500),
    ) {
        let me = Participant::join();
        let mut table = ranges::Writer::new().unwrap();
        let reader = table.reader();
        let key = |n: u128, nest: u8| (0x2001_0db8 << 96 | n << 80, 48 - nest * 2);
        let mut all = std::collections::BTreeMap::new();
        for (i, (n, nest)) in prefixes.iter().enumerate() {
            let (bits, len) = key(*n, *nest);
            let bits = Ip6::masked(bits, len);
            table.insert(bits, len, i as u32 + 1).unwrap();
            all.insert((bits, len), i as u32 + 1);
        }
        let cover = |all: &std::collections::BTreeMap<(u128, u8), u32>, bits, below: u8| {
            let covers = (0..below).rev();
            covers.filter_map(|len| Some((len, *all.get(&(Ip6::masked(bits, len), len))?))).next()
        };
        let check = |all: &_| {
            for (n, nest) in &prefixes {
                let bits = key(*n, *nest).0;
                let want = cover(all, bits, 129).map_or(0, |c| c.1);
                assert_eq!(reader.lookup(bits, me.epoch()), want);
            }
        };
        check(&all);
        let gone: Vec<_> = all.keys().copied().step_by(2).collect();
        for (bits, len) in gone {
            all.remove(&(bits, len));
            table.remove(bits, len, cover(&all, bits, len));
        }
        check(&all);
        while let Some(((bits, len), _)) = all.pop_first() {
            table.remove(bits, len, cover(&all, bits, len));
        }
        check(&all);
        prop_assert!(table.segment_count() <= 3, "{} segments for nothing", table.segment_count());
    }
}

#[test]
fn a_table_that_takes_its_larger_shape_keeps_all_routes() {
    let mut router = router();
    let table = router.add_table::<Ip4>(0).unwrap();
    let path = |to: u32| {
        let table = TableIndex((to % 60_000) as u16);
        [Path::to(Target::Lookup { link: crate::adjacency::Link::Ip4, table })]
    };
    let hosts = 11_000u32;
    let host = |i: u32| (0x1000_0000 + (i << 8) + 7, 32u8);
    for i in 0..hosts {
        router.set_paths::<Ip4>(table, host(i), Source::CLI, &path(i)).unwrap();
    }
    router.set_paths::<Ip4>(table, (0x1000_0000, 12), Source::CLI, &path(59_999)).unwrap();
    let me = Participant::join();
    let forwarding = router.fib.forwarding::<Ip4>();
    let reader = forwarding.table(table.0, me.epoch()).unwrap();
    assert!(
        matches!(reader, crate::fib::forwarding::trie4::Trie4::Large(_)),
        "{hosts} plies are many"
    );
    let found =
        |bits| forwarding.load_balance(reader.lookup(bits, me.epoch()), me.epoch()).choose(0);
    for i in 0..hosts {
        let (bits, _) = host(i);
        assert_eq!(found(bits), Via::Lookup(i as u16));
        let around = if i < 1 << 12 { Via::Lookup(59_999) } else { Via::Drop };
        assert_eq!(found(bits + 1), around);
    }
    let key = key::<Ip4>(prefix("16.0.0.7/32"));
    router.remove_paths::<Ip4>(table, key, Source::CLI, &[]).unwrap();
    assert_eq!(found(key.0), Via::Lookup(59_999));
}
