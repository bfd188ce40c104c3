//! Simulates connections until so many segments were received: `simulate [segments] [first seed]`.

#[path = "../tests/simulator/mod.rs"]
mod simulator;

use std::time::Instant;

use simulator::{Report, World};

/// Segments between two lines of progress.
const PROGRESS: u64 = 10_000_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| match arguments.next() {
        Some(text) => text.parse().expect("a number of segments, and a seed"),
        None => default,
    };
    let (wanted, mut seed) = (number(1_000_000_u64), number(1_u64));
    let (begin, first) = (Instant::now(), seed);
    let mut sum = Report::default();
    let mut next = PROGRESS;
    while sum.segments < wanted {
        if sum.segments >= next {
            eprintln!("{} segments, seed {seed}", sum.segments);
            next += PROGRESS;
        }
        let run = std::panic::catch_unwind(|| World::run(seed, 4));
        let report = run.unwrap_or_else(|_| panic!("seed {seed}"));
        seed += 1;
        sum.segments += report.segments;
        sum.connections += report.connections;
        sum.errors += report.errors;
        sum.bytes += report.bytes;
        sum.retransmitted += report.retransmitted;
        sum.recoveries += report.recoveries;
        sum.timeouts += report.timeouts;
        sum.undone += report.undone;
        sum.probes += report.probes;
        sum.cookies += report.cookies;
        sum.reopened += report.reopened;
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("seeds {first} to {}, {seconds:.1} s", seed - 1);
    println!("{sum:#?}");
}
