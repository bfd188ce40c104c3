//! Prints what lookups in lists of rules cost on this machine, in TSC clocks, and what making them
//! takes.
//!
//! `cargo run --release -p infra --example rules_clocks`

use std::hint::black_box;
use std::time::{Duration, Instant};

use infra::table::rules::{self, Builder, Field, Pattern};
use infra::time::Clock;

const KEYS: usize = 1 << 16;
const BATCH: usize = rules::KEYS;
const ROUNDS: usize = 20;

/// Source and destination in the first word; protocol and ports in the second.
static FIELDS: [Field; 5] = [
    Field { word: 0, shift: 32, bits: 32, step: 8 },
    Field { word: 0, shift: 0, bits: 32, step: 8 },
    Field { word: 1, shift: 32, bits: 8, step: 8 },
    Field { word: 1, shift: 16, bits: 16, step: 16 },
    Field { word: 1, shift: 0, bits: 16, step: 16 },
];

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}

fn prefix(len: u32) -> u64 {
    u64::from(u32::MAX.checked_shl(32 - len).unwrap_or(0))
}

/// A rule between prefixes, for a protocol and ranges of ports.
fn rule(src: (u64, u32), dst: (u64, u32), protocol: u64, ranges: [(u16, u16); 2]) -> Pattern<2> {
    let mask = prefix(src.1) << 32 | prefix(dst.1);
    let value = (src.0 << 32 | dst.0) & mask;
    let (mask, value) = ([mask, 0xff << 32], [value, protocol << 32]);
    Pattern { mask, value, ranges, flags: (0, 0) }
}

/// Rules of four kinds about hosts and networks of 16.0.0.0/12, and one about everything.
fn mixed(count: u64, random: &mut Random) -> Vec<Pattern<2>> {
    let all = (0, u16::MAX);
    let mut rules: Vec<_> = (0..count)
        .map(|n| {
            let to = 16 << 24 | random.below(1 << 20);
            match n % 4 {
                0 => rule((10 << 24, 24), (to, 32), 17, [all, (2345, 2345)]),
                1 => rule((10 << 24 | 2, 32), (to, 24), 6, [all, all]),
                2 => rule((0, 0), (to, 32), 17, [all, (1, 1023)]),
                _ => rule((10 << 24, 8), (to, 30), 17, [all, (2000, 3000)]),
            }
        })
        .collect();
    rules.push(Pattern::ANY);
    rules
}

/// Rules with prefixes of all lengths and ranges of ports.
fn wild(count: u64, random: &mut Random) -> Vec<Pattern<2>> {
    let mut rules: Vec<_> = (0..count)
        .map(|_| {
            let to = 16 << 24 | random.below(1 << 20);
            let from = 10 << 24 | random.below(1 << 16);
            let (s, d) = (8 + random.below(25) as u32, 14 + random.below(19) as u32);
            let low = random.below(4000) as u16;
            let ports = (low, low + random.below(500) as u16);
            rule((from, s), (to, d), 6 + 11 * random.below(2), [(0, u16::MAX), ports])
        })
        .collect();
    rules.push(Pattern::ANY);
    rules
}

/// Rules as firewalls have them: services of single hosts, networks to networks, and ranges of ports.
fn firewall(count: u64, random: &mut Random) -> Vec<Pattern<2>> {
    let services = [22, 25, 53, 80, 123, 443, 993, 1521, 2345, 3306, 8080];
    let mut rules: Vec<_> = (0..count)
        .map(|_| {
            let to = 16 << 24 | random.below(1 << 20);
            let from = 10 << 24 | random.below(1 << 20);
            let protocol = 6 + 11 * random.below(2);
            let service = services[random.below(11) as usize];
            let service = (service, service);
            let (all, high) = ((0, u16::MAX), (1024, u16::MAX));
            match random.below(10) {
                0..4 => rule((0, 0), (to, 32), protocol, [all, service]),
                4 => rule((from, 24), (to, 32), protocol, [high, service]),
                5 => rule((from, 24), (to, 24), protocol, [all, all]),
                6 => rule((from, 32), (to, 32), protocol, [all, service]),
                7 => rule((from, 16 + random.below(8) as u32), (to, 28), 6, [all, high]),
                8 => rule((from, 32), (0, 0), protocol, [all, service]),
                _ => rule((0, 0), (to, 22 + random.below(8) as u32), protocol, [all, (5000, 6000)]),
            }
        })
        .collect();
    rules.push(Pattern::ANY);
    rules
}

/// Ranges of ports between the same hosts: nothing but cuts tells them apart.
fn ranges(count: u64, random: &mut Random) -> Vec<Pattern<2>> {
    let range = |random: &mut Random| {
        let low = random.below(60_000) as u16;
        (low, low + random.below(5000) as u16)
    };
    (0..count)
        .map(|_| {
            let ranges = [range(random), range(random)];
            rule((10 << 24 | 2, 32), (16 << 24, 8), 17, ranges)
        })
        .collect()
}

fn measure(name: &str, patterns: Vec<Pattern<2>>, keys: &[[u64; 2]], clock: &Clock) {
    let count = patterns.len();
    let begin = Instant::now();
    let (mut builder, mut slice) = (Builder::new(patterns, &FIELDS), Duration::ZERO);
    let rules = loop {
        let begin = Instant::now();
        let made = builder.step();
        slice = slice.max(begin.elapsed());
        if let Some(rules) = made {
            break rules;
        }
    };
    let made = begin.elapsed();
    let (mut best, mut found) = (f64::MAX, [0; BATCH]);
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for batch in keys.chunks(BATCH) {
            rules.find_all(|n| (&batch[n], 0), &mut found[..batch.len()]);
            black_box(&mut found);
        }
        best = best.min(begin.elapsed().as_secs_f64() * clock.hz() / keys.len() as f64);
    }
    let size = rules.size();
    println!(
        "{name:>12} {count:>7} rules: {best:6.1} clocks, {} groups, {} entries, {} cuts, {:.1} MB, \
         made in {:.1} ms, the longest slice {:.2}",
        size.groups,
        size.entries,
        size.cuts,
        size.bytes as f64 / 1e6,
        made.as_secs_f64() * 1e3,
        slice.as_secs_f64() * 1e3
    );
}

fn main() {
    let clock = Clock::start();
    println!("clock {:.4} GHz", clock.hz() / 1e9);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let upper = 17 << 32 | 1234 << 16 | 2345;
    let keys: Vec<_> = (0..KEYS)
        .map(|_| [(10 << 24 | 2) << 32 | 16 << 24 | random.below(1 << 20), upper])
        .collect();
    let specific = |n: u64| {
        let port = n as u16 + 1;
        rule((20 << 24 | n, 32), (30 << 24 | n, 32), 17, [(port, port); 2])
    };
    let mut fifty: Vec<_> = (0..50).map(specific).collect();
    fifty.push(Pattern::ANY);
    measure("acl-50", fifty, &keys, &clock);
    for count in [1000, 10_000, 100_000] {
        measure("mixed", mixed(count, &mut random), &keys, &clock);
    }
    for count in [1000, 10_000, 100_000] {
        measure("firewall", firewall(count, &mut random), &keys, &clock);
    }
    for count in [1000, 10_000, 100_000] {
        measure("wild", wild(count, &mut random), &keys, &clock);
    }
    measure("ranges", ranges(100_000, &mut random), &keys, &clock);
}
