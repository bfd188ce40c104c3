//! Prints what lookup nodes and route changes cost on this machine.
//!
//! `taskset -c 1 cargo run --release -p net --example fib_clocks [ip4|ip6 [FIRST WORD OF TABLE]]`
//! `… fib_clocks convergence`: how long it takes until no packet goes to a next hop that is lost.
#![allow(clippy::disallowed_methods)] // it measures how long things take

use std::convert::Infallible;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Instant;

use control::cli::Cli;
use control::log::Log;
use graph::{Frame, Input, InputState, Intake, Node, Payload, Settings};
use net::interface::{Kind, NewInterface, Offloads};
use net::{Assembly, Router};
use wire::{MacAddr, Protocol, ip4, ip6};
use zerocopy::IntoBytes;

/// Packets between two looks at the counters.
const WINDOW: usize = 1 << 13;

/// Takes packets, with an ICMP problem or without, and forgets them.
#[derive(Clone)]
struct End<const PROBLEM: bool>;

impl<const PROBLEM: bool> Node for End<PROBLEM> {
    const NAME: &'static str = "end";
    const INPUT: &'static str = if PROBLEM { net::icmp::Problem::NAME } else { "" };
    type Next = Infallible;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.consume(|_| Ok(()));
    }
}

/// Brings in headers, over and over, until `left` is used up.
#[derive(Clone)]
struct Headers {
    packets: Arc<Vec<Vec<u8>>>,
    at: usize,
    left: usize,
}

#[derive(Clone, Copy, graph::Next)]
enum Next {
    #[to("ip4-lookup")]
    Ip4,
    #[to("ip6-lookup")]
    Ip6,
}

impl Input for Headers {
    const NAME: &'static str = "headers";
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;
    const STATE: InputState = InputState::Polling;
    #[inline(always)]
    fn poll<On: graph::Cpu>(&mut self, intake: &mut Intake<'_, Self, On>) {
        let n = self.left.min(256);
        self.left -= n;
        let (packets, at) = (Arc::clone(&self.packets), &mut self.at);
        intake.each(n, 0, |p| {
            let bytes = &packets[*at];
            *at = (*at + 1) % packets.len();
            p.extend(bytes)?;
            Some(if bytes[0] >> 4 == 4 { Next::Ip4 } else { Next::Ip6 })
        });
    }
}

struct Bench {
    router: Router,
    cli: Cli<Router>,
}

impl Bench {
    fn new() -> Self {
        let router = Router::new(Settings { buffers: 4096, ..Settings::default() }, Log::new());
        let mut parts = Assembly::new(router.expect("memory"));
        let engine = &mut parts.router.engine;
        for family in ["ip4", "ip6"] {
            for end in ["drop", "punt", "receive", "rewrite", "glean", "input"] {
                engine.add_named(&format!("{family}-{end}"), End::<false>).expect("a new name");
            }
            let error = format!("{family}-icmp-error");
            engine.add_named(&error, End::<true>).expect("a new name");
        }
        for feature in
            [net::drops::FEATURE, net::interface::FEATURE, net::fib::FEATURE, net::address::FEATURE]
        {
            parts.add(&feature).expect("features fit together");
        }
        let headers = Headers { packets: Arc::default(), at: 0, left: 0 };
        parts.router.engine.add_input(headers).expect("no other input");
        let Assembly { mut router, cli, .. } = parts;
        let pg1 = NewInterface {
            name: "pg1".to_owned(),
            kind: Kind::Ethernet,
            hardware: "none",
            mac: MacAddr([2, 0, 0, 0, 0, 0xab]),
            mtu: 9000,
            offloads: Offloads::default(),
            link_follows_admin: true,
        };
        let index = router.add_interface(pg1, End::<false>).expect("one interface");
        router.set_admin(index, true);
        router.engine.build().expect("a whole graph");
        router.engine.start_inline();
        Self { router, cli }
    }
    fn run(&mut self, lines: &str) -> String {
        self.cli.run(&mut self.router, lines).text()
    }
    /// Clocks per packet of a good window: one in which no other program took the processor.
    /// Windows are short, and one in twenty is assumed to be good.
    fn clocks(&mut self, node: &str, packets: Vec<Vec<u8>>) -> f64 {
        let input = self.router.engine.index_of("headers").expect("added above");
        let packets = Arc::new(packets);
        let mut windows = Vec::new();
        for at in (0..packets.len()).step_by(WINDOW).cycle().take(1000) {
            let packets = Arc::clone(&packets);
            let set = self.router.engine.with_node(0, input, move |h: &mut Headers| {
                *h = Headers { packets, at, left: WINDOW };
            });
            set.expect("an answer");
            self.router.engine.clear_runtime();
            self.router.engine.run_inline(1 << 20);
            let rows = self.router.engine.runtime_rows().expect("an answer");
            let row = rows[0].nodes.iter().find(|n| n.name == node).expect("it ran");
            windows.push(row.stats.clocks as f64 / row.stats.vectors as f64);
        }
        windows.sort_by(f64::total_cmp);
        windows[windows.len() / 20]
    }
}

fn main() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let only: Vec<String> = std::env::args().skip(1).collect();
    if only.first().is_some_and(|what| what == "convergence") {
        return convergence();
    }
    let is_chosen = |family, name: &str| {
        only.first().is_none_or(|f| f == family)
            && only.get(1).is_none_or(|n| name.starts_with(n.as_str()))
    };
    for name in ["1 route", "1M count", "1M random /32", "1M BGP-like"] {
        if is_chosen("ip4", name) {
            ip4(name, &mut random);
        }
    }
    for name in ["1 route", "220k BGP-like"] {
        if is_chosen("ip6", name) {
            ip6(name, &mut random);
        }
    }
}

/// Times the loss of what a million prefixes lead to: of an interface, of a next hop.
fn convergence() {
    let mut b = Bench::new();
    let pg1 = b.router.interfaces.named("pg1").expect("it was made").index;
    b.run("ip route add 9.9.9.1/32 via 10.0.1.2 pg1\nip route add 9.9.9.2/32 via 10.0.1.3 pg1");
    b.run("ip route add count 500000 16.0.0.0/32 via 9.9.9.1 via 9.9.9.2");
    b.run("ip route add count 500000 32.0.0.0/32 via 10.0.1.2 pg1");
    let mut best = [f64::MAX; 3];
    for _ in 0..20 {
        let mut time = |of: usize, change: &mut dyn FnMut(&mut Bench)| {
            let start = Instant::now();
            change(&mut b);
            best[of] = best[of].min(start.elapsed().as_secs_f64() * 1e3);
        };
        time(0, &mut |b| drop(b.run("ip route del 9.9.9.1/32")));
        time(1, &mut |b| drop(b.run("ip route add 9.9.9.1/32 via 10.0.1.2 pg1")));
        time(2, &mut |b| b.router.set_admin(pg1, false));
        b.router.set_admin(pg1, true);
    }
    let [lost, back, down] = best;
    println!("1,000,000 prefixes: next hop lost {lost:.3} ms, back {back:.3} ms");
    println!("1,000,000 prefixes: interface down {down:.3} ms");
}

fn ip4(name: &str, random: &mut Random) {
    let mut b = Bench::new();
    let before = resident_mb();
    let mut routes: Vec<(u32, u32)> = Vec::new();
    let start = Instant::now();
    match name {
        "1 route" => {
            routes.push((0x1000_0000, 8));
            b.run("ip route add 16.0.0.0/8 via 10.0.1.2 pg1");
        }
        "1M count" => {
            routes.extend((0..1 << 20).map(|i| (0x1000_0000 + i, 32)));
            b.run("ip route add count 1048576 16.0.0.0/32 via 10.0.1.2 pg1");
        }
        _ => {
            for _ in 0..1_000_000 {
                let len = match (name, random.next() % 10) {
                    ("1M random /32", _) => 32,
                    (_, 0..=5) => 24,
                    (_, n) => 15 + n as u32,
                };
                let addr = 0x0100_0000 + random.next() as u32 % 0xde00_0000;
                routes.push((addr >> (32 - len) << (32 - len), len));
            }
            exec(
                &mut b,
                routes.iter().map(|(addr, len)| {
                    let hop = addr % 64 + 3;
                    format!(
                        "ip route add {}/{len} via 10.0.1.{hop} pg1",
                        Ipv4Addr::from_bits(*addr)
                    )
                }),
            );
        }
    }
    let each = start.elapsed().as_secs_f64() * 1e6 / routes.len() as f64;
    let memory = resident_mb() - before;
    let packets = (0..1 << 18).map(|_| {
        let (addr, len) = routes[random.next() as usize % routes.len()];
        let host = random.next() as u32 & u32::MAX.checked_shr(len).unwrap_or(0);
        let dst = Ipv4Addr::from_bits(addr | host);
        ip4::Header::new([10, 0, 0, 2].into(), dst, Protocol::UDP, 20).as_bytes().to_vec()
    });
    let packets = packets.collect();
    let clocks = b.clocks("ip4-lookup", packets);
    println!("ip4 {name:<14} {clocks:6.1} clocks, {each:5.2} us a route, {memory} MB");
}

fn ip6(name: &str, random: &mut Random) {
    let mut b = Bench::new();
    let before = resident_mb();
    let mut routes: Vec<(u128, u32)> = vec![(0x2001_0db8_00ff << 80, 48)];
    let tops = [0x2001u128, 0x2400, 0x2600, 0x2602, 0x2606, 0x2804, 0x2a00, 0x2a02, 0x2c0f, 0x2408];
    if name != "1 route" {
        for _ in 1..220_000 {
            let len = [48, 48, 48, 48, 48, 32, 44, 40, 36, 64][random.next() as usize % 10];
            let low = u128::from(random.next()) << 80 | u128::from(random.next()) << 40;
            let addr = tops[random.next() as usize % tops.len()] << 112 | low & (u128::MAX >> 16);
            routes.push((addr >> (128 - len) << (128 - len), len));
        }
    }
    let start = Instant::now();
    exec(
        &mut b,
        routes.iter().map(|(addr, len)| {
            format!("ip route add {}/{len} via 2001:db8:1::2 pg1", Ipv6Addr::from_bits(*addr))
        }),
    );
    let each = start.elapsed().as_secs_f64() * 1e6 / routes.len() as f64;
    let memory = resident_mb() - before;
    let packets = (0..1 << 18).map(|_| {
        let (addr, len) = routes[random.next() as usize % routes.len()];
        let low = u128::from(random.next()) << 48 | u128::from(random.next());
        let dst = Ipv6Addr::from_bits(addr | low & u128::MAX.checked_shr(len).unwrap_or(0));
        let src = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);
        ip6::Header::new(src, dst, Protocol::UDP, 0).as_bytes().to_vec()
    });
    let packets = packets.collect();
    let clocks = b.clocks("ip6-lookup", packets);
    println!("ip6 {name:<14} {clocks:6.1} clocks, {each:5.2} us a route, {memory} MB");
}

/// Runs lines from a file, as an operator does.
fn exec(b: &mut Bench, lines: impl Iterator<Item = String>) {
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{line}");
    }
    let path = std::env::temp_dir().join(format!("fib-clocks-{}", std::process::id()));
    std::fs::write(&path, text).expect("room for a file");
    let said = b.run(&format!("exec {}", path.display()));
    std::fs::remove_file(&path).expect("it was just written");
    assert_eq!(said, "");
}

fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
    (pages.unwrap_or(0) * 4096) >> 20
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
