//! The clock rate of the core, measured: a chain of multiplications, each of which waits for the
//! one before, takes three core cycles each.

use std::hint::black_box;
use std::sync::OnceLock;
use std::thread;

use infra::cpu;
use infra::time::Clock;

/// Core cycles of a dependent multiplication.
const CYCLES: f64 = 3.0;
/// Multiplications of one chain.
const CHAIN: u32 = 20_000;
/// Chains, the fastest of which escaped whatever else ran.
const CHAINS: usize = 400;

/// Rate of the time-stamp counter in Hz.
pub fn tsc_hz() -> f64 {
    static HZ: OnceLock<f64> = OnceLock::new();
    *HZ.get_or_init(|| Clock::start().hz())
}

/// Clock of a core in GHz.
pub fn core_ghz(core: usize) -> f64 {
    let chain = move || {
        let _ = cpu::pin(core); // a core that is not ours is measured where we may run
        (0..CHAINS).map(|_| clocks_of_chain()).fold(f64::MAX, f64::min)
    };
    let clocks = thread::spawn(chain).join().unwrap_or(f64::MAX);
    CYCLES * f64::from(CHAIN) / clocks * tsc_hz() / 1e9
}

fn clocks_of_chain() -> f64 {
    let mut x = black_box(3u64);
    let start = cpu::time_stamp().unwrap_or(0);
    for _ in 0..CHAIN {
        x = x.wrapping_mul(x);
    }
    let end = cpu::time_stamp().unwrap_or(0);
    black_box(x);
    end.wrapping_sub(start) as f64
}
