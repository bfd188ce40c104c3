//! Prints what lookups and updates of a multibit trie cost on this machine, in TSC clocks and ns.
//!
//! `cargo run --release -p infra --example mtrie_clocks`

use std::hint::black_box;

use infra::cpu;
use infra::memory::HugePages;
use infra::rcu::Participant;
use infra::table::mtrie::{Mtrie, Writer};
use infra::time::Clock;

const KEYS: usize = 1 << 20;
const BATCH: usize = 256;
/// Tails of tables that are to have any.
const TAILS: usize = 1 << 21;

/// Share of each prefix length in the global IPv4 table, in thousandths.
const LENGTHS: [(u8, u32); 12] = [
    (24, 610),
    (23, 100),
    (22, 120),
    (21, 50),
    (20, 45),
    (19, 25),
    (18, 14),
    (17, 9),
    (16, 14),
    (15, 5),
    (14, 4),
    (12, 4),
];

fn main() {
    let clock = Clock::start();
    println!("clock {:.4} GHz, best variant {}", clock.hz() / 1e9, cpu::Variant::best());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let one = vec![(0x0a00_0000, 8)];
    for hosts in [1, 16, 256, 4096, 65_536, 1 << 18] {
        let hosts: Vec<_> = (0..hosts).map(|host| (0x1000_0000 + host, 32)).collect();
        let name = format!("{} hosts", hosts.len());
        measure::<8>(&name, &hosts, 0, &clock, &mut random);
        measure::<8>(&name, &hosts, TAILS, &clock, &mut random);
        measure::<16>(&name, &hosts, 0, &clock, &mut random);
        measure::<16>(&name, &hosts, TAILS, &clock, &mut random);
        measure::<24>(&name, &hosts, TAILS, &clock, &mut random);
    }
    let dense: Vec<_> = (0..1 << 20).map(|host| (0x0a00_0000 + host, 32)).collect();
    let scattered: Vec<_> = (0..1_000_000).map(|_| (random.next() as u32, 32)).collect();
    let bgp = bgp_like(&mut random);
    for (name, prefixes) in
        [("1 route", one), ("1M dense /32", dense), ("1M random /32", scattered), ("1M BGP", bgp)]
    {
        measure::<16>(name, &prefixes, TAILS, &clock, &mut random);
        measure::<24>(name, &prefixes, TAILS, &clock, &mut random);
    }
}

/// A million prefixes, half of the longer ones next to or inside the one before.
fn bgp_like(random: &mut Random) -> Vec<(u32, u8)> {
    let mut prefixes = Vec::with_capacity(1_000_000);
    let mut last = 0x0100_0000u32;
    while prefixes.len() < 1_000_000 {
        let mut pick = (random.next() % 1000) as u32;
        let (len, _) = LENGTHS
            .into_iter()
            .find(|&(_, share)| {
                let is_it = pick < share;
                pick = pick.wrapping_sub(share);
                is_it
            })
            .expect("shares add up to 1000");
        let step = 1u32 << (32 - len);
        let near = last.wrapping_add(step);
        let far = 0x0100_0000 + (random.next() as u32) % 0xdf00_0000;
        let address = if random.next().is_multiple_of(2) { near } else { far } & !(step - 1);
        prefixes.push((address, len));
        last = address;
    }
    prefixes
}

fn measure<const ROOT_BITS: u8>(
    name: &str,
    prefixes: &[(u32, u8)],
    tails: usize,
    clock: &Clock,
    random: &mut Random,
) {
    let mut writer = Mtrie::<ROOT_BITS>::writer(1 << 20, tails, HugePages::Advise)
        .expect("address space for so many nodes");
    let start = clock.now();
    fill(&mut writer, prefixes);
    let insert = clock.now() - start;
    let again = clock.now();
    fill(&mut writer, prefixes);
    let update = clock.now() - again;

    let uniform: Vec<u32> = (0..KEYS)
        .map(|_| {
            let (address, len) = prefixes[random.next() as usize % prefixes.len()];
            address | (random.next() as u32) & u32::MAX.checked_shr(len.into()).unwrap_or(0)
        })
        .collect();
    let anywhere: Vec<u32> = (0..KEYS).map(|_| random.next() as u32).collect();
    let kinds = if tails > 0 { "tails" } else { "plies" };
    let per_prefix = 1e9 / prefixes.len() as f64;
    println!(
        "{name:<14} root {ROOT_BITS:>2}, {kinds}: lookup uniform {:5.1}, any address {:5.1} clocks; \
         insert {:4.0} ns, update {:4.0} ns; {} nodes, {:.1} MiB",
        clocks(&writer, &uniform),
        clocks(&writer, &anywhere),
        insert * per_prefix,
        update * per_prefix,
        writer.node_count(),
        writer.memory() as f64 / (1 << 20) as f64,
    );
}

fn fill<const ROOT_BITS: u8>(writer: &mut Writer<ROOT_BITS>, prefixes: &[(u32, u8)]) {
    for (leaf, &(address, len)) in (1..).zip(prefixes) {
        writer.insert(address, len, leaf).expect("nodes are enough");
    }
}

/// Median clocks for one lookup of many in batches.
fn clocks<const ROOT_BITS: u8>(writer: &Writer<ROOT_BITS>, keys: &[u32]) -> f64 {
    let (table, me) = (writer.table(), Participant::join());
    let mut leaves = [0; BATCH];
    let mut samples = Vec::new();
    for _ in 0..5 {
        for group in keys.chunks(64 * BATCH) {
            let start = cpu::time_stamp().unwrap_or(0);
            for batch in group.chunks(BATCH) {
                table.find(batch, &mut leaves, me.epoch());
                black_box(&leaves);
            }
            let end = cpu::time_stamp().unwrap_or(0);
            samples.push((end - start) as f64 / group.len() as f64);
        }
    }
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// xorshift64*, so that every run sees the same tables.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
}
