//! Prints what sessions cost on this machine: memory, set-up and end, and lookups in TSC clocks.
//!
//! `cargo run --release -p sessions --example session_clocks`

use std::hint::black_box;
use std::time::Instant;

use infra::time::Clock;
use sessions::{Class, Flow4, New, Table};
use wire::Protocol;

type Sessions = Table<Flow4, Flow4, [u32; 4]>;

const UDP: Class = Class { timeout: 300.0, may_be_evicted: false, goes_first: false };
const KEYS: usize = 1 << 20;
const ROUNDS: usize = 5;
/// Keys that are looked up together: a full frame.
const FRAME: usize = 256;
const SEED: u64 = 0x5851_f42d_4c95_7f2d;

/// Flow number so and so: hosts of a large network to some servers, through one address.
fn new(n: u32) -> New<Flow4, Flow4, [u32; 4]> {
    let host = ((10 << 24) | (n / 48)).to_be_bytes();
    let (port, server) = (1024 + (n % 48) as u16, [198, 51, 100, (n % 16) as u8]);
    let outside = ([192, 0, (n >> 24) as u8, (n >> 16) as u8], n as u16);
    let forward = Flow4::new((host, port), (server, 443), Protocol::UDP, 0);
    let reverse = Flow4::new((server, 443), outside, Protocol::UDP, 1);
    New { forward, reverse, data: [n; 4], class: 0 }
}

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

fn table(limit: usize) -> Sessions {
    Table::new(limit, &[UDP], SEED).expect("there is address space")
}

fn fill(table: &mut Sessions, count: u32) {
    for n in 0..count {
        table.insert(new(n), 0.0, |_, _| ()).expect("there is room");
    }
}

/// Lookups of random sessions, each with what its record says.
fn look(table: &Sessions, count: u32, clock: &Clock) -> f64 {
    let mut random = Random(SEED);
    let keys: Vec<Flow4> = (0..KEYS)
        .map(|_| {
            let new = new(random.below(count.into()) as u32);
            if random.below(2) == 0 { new.forward } else { new.reverse }
        })
        .collect();
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for batch in keys.chunks(FRAME) {
            let mut found = [None; FRAME];
            table.find_all(batch, &mut found);
            for at in &found[..batch.len()] {
                let (at, _) = at.expect("it is there");
                black_box(table.at(at).map(|session| session.data));
            }
        }
        best = best.min(begin.elapsed().as_secs_f64() * clock.hz() / KEYS as f64);
    }
    best
}

/// Sessions that are set up and ended in a second, beside so many others.
fn churn(table: &mut Sessions, first: u32) -> f64 {
    const COUNT: u32 = 1 << 20;
    const LIVING: u32 = 1 << 12;
    let begin = Instant::now();
    for n in 0..COUNT {
        table.insert(new(first + n), 0.0, |_, _| ()).expect("there is room");
        if n >= LIVING {
            let (at, _) = table.find_any(&new(first + n - LIVING).forward).expect("it is there");
            table.remove(at);
        }
    }
    f64::from(COUNT) / begin.elapsed().as_secs_f64()
}

fn main() {
    let clock = Clock::start();
    println!("clock {:.4} GHz", clock.hz() / 1e9);
    for millions in [1, 8, 10] {
        let count = millions * 1_000_000;
        let mut table = table(count as usize + (1 << 20));
        let begin = Instant::now();
        fill(&mut table, count);
        let filled = begin.elapsed().as_secs_f64();
        let bytes = table.usage().bytes;
        let clocks = look(&table, count, &clock);
        println!(
            "{millions:>3} million sessions: {:.2} GB, {} bytes each; made in {filled:.1} s, {:.2} \
             million a second; lookups {clocks:.1} clocks; {:.2} million set up and ended a second",
            bytes as f64 / 1e9,
            bytes / count as usize,
            f64::from(count) / filled / 1e6,
            churn(&mut table, count) / 1e6,
        );
    }
}
