//! Two machines over a bad network: bytes written arrive, or both know that they have not.

mod simulator;

use simulator::{Link, World};
use tcp_machine::{Algorithm, Config};

#[test]
fn what_is_written_arrives_whatever_the_network_does() {
    let mut errors = (0, 0);
    for seed in 1..=20 {
        let report = World::run(seed, 3);
        errors = (errors.0 + report.errors, errors.1 + report.connections);
    }
    // Networks that are down for minutes, and FINs lost more often than is waited for.
    assert!(errors.0 * 10 < errors.1, "{errors:?}");
}

/// 100 Mbit/s, 20 ms, a queue of 20 ms.
fn path(loss: u64, reorder: u64) -> Link {
    let (delay_us, bytes_per_ms, queue_us) = (10_000, 12_500, 20_000);
    Link { delay_us, bytes_per_ms, queue_us, loss, reorder, ..Link::default() }
}

#[test]
fn a_path_is_filled_by_both_algorithms() {
    for algorithm in Algorithm::ALL {
        let config = Config { algorithm, ..Config::default() };
        let (seconds, timeouts) = World::transfer(1, &path(0, 0), config, 25_000_000);
        println!("{}: {seconds:.2} s, {timeouts} timeouts", algorithm.name());
        // Two seconds at the full rate.
        assert!(seconds < 2.6 && timeouts == 0, "{algorithm:?}: {seconds} s, {timeouts} timeouts");
    }
}

#[test]
fn losses_are_repaired_without_timeouts() {
    for seed in 1..=3 {
        let (seconds, timeouts) = World::transfer(seed, &path(10, 0), Config::default(), 5_000_000);
        println!("1 % lost: {seconds:.2} s, {timeouts} timeouts");
        // RFC 9438's average window for this loss is 17 segments: 10 Mbit/s.
        assert!(seconds < 6.0 && timeouts <= 2, "{seed}: {seconds} s, {timeouts} timeouts");
    }
}

#[test]
fn reordering_is_no_loss() {
    let (seconds, timeouts) = World::transfer(1, &path(0, 100), Config::default(), 10_000_000);
    println!("10 % out of order: {seconds:.2} s, {timeouts} timeouts");
    assert!(seconds < 4.0 && timeouts == 0, "{seconds} s, {timeouts} timeouts");
}
