//! Throughput over workers: streams on one worker and on two, beside what two processes that spin
//! show of the machine itself.
//!
//! With a worker on each of two processors control has none of its own, and workers offer theirs
//! whenever they have run for a while. So do the processes that spin: what others on the machine
//! take of one they take of the other. Clocks a packet are free of that, and say what workers lose
//! by each other.

use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use infra::cpu;
use serde_json::{Value, json};

use crate::daemon::{Cores, Daemon};
use crate::groups::set_up;
use crate::options::Options;
use crate::scenario::{self, Scenario};
use crate::window::Window;

/// Number of steps between two checks of the time.
const STEPS: u32 = 20_000;
/// Sums that do not wait for one another: as many as keep all of a core busy, so that two threads
/// of one core do not pass for two cores.
const SUMS: usize = 8;
/// Interval at which a spinning thread offers its processor, as workers do beside control.
const SHARE: Duration = Duration::from_micros(100);
/// Least share of the received packets that must be sent.
const MOST_LOST: f64 = 0.02;

/// Names of the groups.
pub const ALL: [&str; 4] = ["workers-ip4", "workers-l2bd", "workers-acl", "workers-nat44"];
/// Hosts that are tried until the flow of one belongs to its receiving worker.
const HOSTS: std::ops::Range<u8> = 2..34;

/// Rates of the two workers together, in millions of packets a second.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    /// Clocks that a packet takes, the generator's among them.
    clocks: f64,
    /// Packets received.
    received: f64,
    /// Packets sent.
    sent: f64,
}

impl Rates {
    /// Reads the output of `show runtime`, a part for each thread.
    fn parse(text: &str) -> Self {
        let windows = text.split("\nThread ").filter_map(Window::parse);
        let mut all = Self::default();
        for window in windows.filter(|window| window.mpps > 0.0) {
            let clocks: f64 = window.nodes.iter().map(|(_, clocks)| clocks).sum();
            let received = all.received + window.mpps;
            all.clocks = (all.clocks * all.received + clocks * window.mpps) / received;
            all.received = received;
            all.sent += window.out;
        }
        all
    }
}

/// Measures one of [`ALL`] and prints its row: in each round a window with a stream on one worker,
/// one with a stream on each, and the same of processes that spin, so that all of them have a
/// chance of a quiet moment. The fastest of each counts.
///
/// # Errors
/// A daemon that does not start.
pub fn run(name: &str, options: &Options, folder: &Path) -> io::Result<Value> {
    let all = cpu::allowed()?;
    let [.., one, two] = all[..] else {
        return Err(io::Error::other(format!("{name} takes two processors")));
    };
    let scenario = scenario(name, folder);
    let daemon = Daemon::start(&options.ours, Cores::Workers([two, one]), folder)?;
    let (_, complaints) = set_up(&daemon, &scenario);
    complaints.iter().for_each(|c| println!("  {c}"));
    for worker in 0..2 {
        if !start_local(&daemon, &scenario.stream, worker) {
            println!("  no flow stays on worker {worker}");
        }
    }
    let time = Duration::from_secs_f64(options.seconds);
    let (mut packets, mut spun, mut clocks) = ([0_f64; 2], [0_f64; 2], [f64::MAX; 2]);
    let mut lossy = 0;
    for _ in 0..options.windows {
        daemon.run("packet-generator enable-stream s0");
        for streams in 0..2 {
            if streams == 1 {
                daemon.run("packet-generator enable-stream s1");
            }
            thread::sleep(Duration::from_millis(200));
            daemon.run("clear runtime");
            thread::sleep(time);
            let rates = Rates::parse(&daemon.run("show runtime"));
            match rates.sent >= (1.0 - MOST_LOST) * rates.received {
                true => {
                    packets[streams] = packets[streams].max(rates.sent);
                    clocks[streams] = clocks[streams].min(rates.clocks);
                }
                false => lossy += 1,
            }
        }
        daemon.run("packet-generator disable");
        spun[0] = spun[0].max(spin(&[two], time));
        spun[1] = spun[1].max(spin(&[two, one], time));
    }
    let (ratio, machine) = (packets[1] / packets[0], spun[1] / spun[0]);
    println!("\n| {name} | one | two | ratio | by clocks |\n|---|---|---|---|---|");
    let by_clocks = 2.0 * clocks[0] / clocks[1];
    println!("| Mpps | {:.1} | {:.1} | {ratio:.2} | |", packets[0], packets[1]);
    println!("| clocks | {:.1} | {:.1} | | {by_clocks:.2} |", clocks[0], clocks[1]);
    println!("| spinning, million steps | {:.0} | {:.0} | {machine:.2} | |", spun[0], spun[1]);
    if lossy > 0 {
        println!("  {lossy} windows lost packets");
    }
    Ok(json!({ "mpps": packets, "ratio": ratio, "clocks": clocks, "spun": spun,
        "machine": machine }))
}

/// Makes the stream of a worker, of the first host whose flow is not handed to another worker;
/// false where there is none.
fn start_local(daemon: &Daemon, first: &str, worker: u8) -> bool {
    let name = format!("s{worker}");
    HOSTS.skip(worker.into()).step_by(2).any(|host| {
        daemon.run(&format!("packet-generator delete {name}"));
        daemon.run(&stream(first, worker, host));
        daemon.run("clear errors");
        daemon.run(&format!("packet-generator enable-stream {name}"));
        thread::sleep(Duration::from_millis(50));
        daemon.run("packet-generator disable");
        !daemon.run("show errors").contains("do handoff")
    })
}

/// Routing to a neighbour, a bridge that learns whatever comes, or routing behind an access list or
/// translation; a stream on the first worker.
fn scenario(name: &str, folder: &Path) -> Scenario {
    let same = match name {
        "workers-acl" => Scenario::named("acl-50", folder),
        "workers-nat44" => Scenario::named("nat44-setup", folder),
        _ => None,
    };
    if let Some(Scenario { mut setup, .. }) = same {
        setup.retain(|line| !line.starts_with("set nat timeout"));
        let stream = scenario::ip4_stream("16.0.0.1").replace("name s0", "name s0 worker 0");
        return Scenario { name: name.to_owned(), setup, stream };
    }
    let (version, lines, to) = match name {
        "workers-ip4" => (4, vec!["ip route add 16.0.0.0/8 via 10.0.1.2 pg1"], "00:00:aa"),
        _ => (
            0,
            vec![
                "set interface l2 bridge pg0 1",
                "set interface l2 bridge pg1 1",
                "set bridge-domain learn 1",
                "l2fib add 02:00:00:00:10:00 1 pg1 static",
            ],
            "00:10:00",
        ),
    };
    let mut setup = scenario::base(version);
    setup.extend(lines.into_iter().map(str::to_owned));
    let stream = scenario::ip4_stream("16.0.0.1").replace("00:00:aa", to);
    let stream = stream.replace("name s0", "name s0 worker 0");
    Scenario { name: name.to_owned(), setup, stream }
}

/// The first stream, of a host, on a worker.
fn stream(first: &str, worker: u8, host: u8) -> String {
    first
        .replace("name s0 worker 0", &format!("name s{worker} worker {worker}"))
        .replace("IP4: 02:00:00:00:00:01", &format!("IP4: 02:00:00:00:00:{host:02x}"))
        .replace("10.0.0.2", &format!("10.0.0.{host}"))
}

/// Steps a second, in millions, of a thread on each of these processors.
fn spin(cpus: &[usize], time: Duration) -> f64 {
    let is_over = AtomicBool::new(false);
    let rounds: u64 = thread::scope(|scope| {
        let spinner = |cpu: &usize| {
            let (cpu, is_over) = (*cpu, &is_over);
            scope.spawn(move || rounds(cpu, is_over))
        };
        let spinners: Vec<_> = cpus.iter().map(spinner).collect();
        thread::sleep(time);
        is_over.store(true, Relaxed);
        spinners.into_iter().map(|spinner| spinner.join().unwrap_or(0)).sum()
    });
    (rounds * u64::from(STEPS)) as f64 / time.as_secs_f64() / 1e6
}

fn rounds(processor: usize, is_over: &AtomicBool) -> u64 {
    let _ = cpu::pin(processor); // it was allowed a moment ago
    let (mut count, mut sums) = (0, black_box([1_u64; SUMS]));
    let mut offered = Instant::now();
    while !is_over.load(Relaxed) {
        for step in 0..STEPS {
            for sum in &mut sums {
                *sum = (*sum ^ u64::from(step)).rotate_left(7).wrapping_add(*sum);
            }
        }
        sums = black_box(sums);
        count += 1;
        if offered.elapsed() > SHARE {
            thread::yield_now();
            offered = Instant::now();
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_all_threads() {
        let part = |rate: u32, clocks: u32| {
            format!(
                "Thread 1 vpp_wk_0 (lcore 1)\n\
                 \x20 vector rates in {rate}.0e6, out {rate}.0e6, drop 0.0000e0, punt 0.0000e0\n\
                 ip4-input  active   10  2560  0  {clocks}.0e0  256.00\n\
                 pg-input   polling  10  2560  0  1.00e1  256.00\n"
            )
        };
        let rates = Rates::parse(&format!("{}{}", part(30, 10), part(10, 14)));
        assert_eq!((rates.received, rates.sent, rates.clocks), (40.0, 40.0, 21.0));
    }

    #[test]
    fn streams_are_on_workers_of_their_own() {
        for name in ALL {
            let first = scenario(name, Path::new("/none")).stream;
            assert!(first.contains("name s0 worker 0 "), "{first}");
            let second = stream(&first, 1, 3);
            assert!(
                second.contains("name s1 worker 1 ") && second.contains("10.0.0.3 -> 16.0.0.1")
            );
        }
    }
}
