use proptest::prelude::*;

use super::*;

/// Source and destination in the first word; protocol and ports in the second.
static FIELDS: [Field; 5] = [
    Field { word: 0, shift: 32, bits: 32, step: 8 },
    Field { word: 0, shift: 0, bits: 32, step: 8 },
    Field { word: 1, shift: 32, bits: 8, step: 8 },
    Field { word: 1, shift: 16, bits: 16, step: 16 },
    Field { word: 1, shift: 0, bits: 16, step: 16 },
];

fn first(patterns: &[Pattern<2>], key: &[u64; 2], flags: u8) -> Option<u32> {
    patterns.iter().position(|p| p.matches(key, flags)).map(|at| at as u32)
}

fn prefix(len: u32) -> u64 {
    u64::from(u32::MAX.checked_shl(32 - len).unwrap_or(0))
}

/// Addresses and ports are few, so that patterns meet.
fn address() -> impl Strategy<Value = u64> {
    prop_oneof![0..4u64, (0..4u64, 0..4u64).prop_map(|(a, b)| 10 << 24 | a << 16 | b)]
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![0..40u16, Just(u16::MAX)]
}

fn range() -> impl Strategy<Value = (u16, u16)> {
    let any = (port(), port()).prop_map(|(a, b)| (a.min(b), a.max(b)));
    prop_oneof![Just((0, u16::MAX)), port().prop_map(|p| (p, p)), any]
}

fn len() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(32), 0..33u32]
}

prop_compose! {
    fn pattern()(
        addresses in [address(), address()],
        lens in [len(), len()],
        protocol in prop_oneof![Just(None), Just(Some(6)), Just(Some(17))],
        ranges in [range(), range()],
        flags in prop_oneof![3 => Just((0, 0)), 1 => (1..4u8).prop_map(|f| (f, f & 1))],
    ) -> Pattern<2> {
        let mask = prefix(lens[0]) << 32 | prefix(lens[1]);
        let protocol: Option<u64> = protocol;
        Pattern {
            mask: [mask, protocol.map_or(0, |_| 0xff << 32)],
            value: [(addresses[0] << 32 | addresses[1]) & mask, protocol.unwrap_or(0) << 32],
            ranges,
            flags,
        }
    }
}

prop_compose! {
    fn key()(
        src in address(), dst in address(), protocol in prop_oneof![Just(6u64), Just(17), Just(1)],
        ports in [port(), port()], flags in 0..4u8,
    ) -> ([u64; 2], u8) {
        let ports = u64::from(ports[0]) << 16 | u64::from(ports[1]);
        ([src << 32 | dst, protocol << 32 | ports], flags)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn the_first_of_the_list_is_found(
        patterns in prop::collection::vec(pattern(), 0..300),
        keys in prop::collection::vec(key(), 100),
    ) {
        let rules = Rules::of(patterns.clone(), &FIELDS);
        for keys in keys.chunks(KEYS) {
            let mut found = [0; KEYS];
            rules.find_all(|n| (&keys[n].0, keys[n].1), &mut found[..keys.len()]);
            for ((key, flags), found) in keys.iter().zip(found) {
                let right = first(&patterns, key, *flags);
                prop_assert_eq!(rules.find(key, *flags), right);
                prop_assert_eq!((found != u32::MAX).then_some(found), right);
            }
        }
    }
}

/// A sequence of numbers in no order.
fn scrambled(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

fn long_list(count: usize) -> Vec<Pattern<2>> {
    let mut next = scrambled(7);
    let lens = [0, 8, 13, 16, 19, 22, 24, 28, 32];
    let pattern = |_| {
        let mask = prefix(lens[next(9) as usize]) << 32 | prefix(lens[next(8) as usize + 1]);
        let low = next(1000) as u16;
        let ranges = [(0, u16::MAX), if next(2) == 0 { (low, low) } else { (low, low + 500) }];
        let value = (next(1 << 31) << 33 | next(1 << 31) << 1) & mask;
        Pattern { mask: [mask, 0xff << 32], value: [value, 6 << 32], ranges, flags: (0, 0) }
    };
    (0..count).map(pattern).collect()
}

#[test]
fn long_lists_have_few_groups_and_short_runs() {
    let patterns = long_list(8_000);
    let rules = Rules::of(patterns.clone(), &FIELDS);
    let size = rules.size();
    assert!(size.groups <= GROUPS && size.entries < 2 * patterns.len(), "{size:?}");
    let mut next = scrambled(8);
    for _ in 0..200 {
        let near = patterns[next(8_000) as usize];
        let key = [near.value[0] | next(256), 6 << 32 | next(1500)];
        assert_eq!(rules.find(&key, 0), first(&patterns, &key, 0));
    }
}

#[test]
fn ranges_between_the_same_hosts_are_told_apart_by_cuts() {
    let mut patterns: Vec<_> = (0..5000u16)
        .map(|n| Pattern { ranges: [(n, n + 3), (n / 2, 60_000 - n)], ..Pattern::ANY })
        .collect();
    patterns.push(Pattern::ANY);
    let rules = Rules::of(patterns.clone(), &FIELDS);
    assert!(rules.size().entries < 100_000, "{:?}", rules.size());
    let mut next = scrambled(9);
    for _ in 0..200 {
        let key = [0, next(6000) << 16 | next(1 << 16)];
        assert_eq!(rules.find(&key, 0), first(&patterns, &key, 0));
    }
}

#[test]
fn an_empty_list_has_nothing() {
    assert_eq!(Rules::of(Vec::new(), &FIELDS).find(&[1, 2], 3), None);
}
