//! Throughput over workers: streams on one worker and on two, beside what two processes that spin
//! show of the machine itself.

use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use infra::cpu;
use serde_json::{Value, json};

use crate::daemon::{Cores, Daemon};
use crate::groups::set_up;
use crate::options::Options;
use crate::scenario::{self, Scenario};

/// Multiplications between two looks whether time is over.
const CHAIN: u32 = 20_000;
/// Share of the packets that came in that must have gone out.
const MOST_LOST: f64 = 0.02;

/// Names of the groups.
pub const ALL: [&str; 2] = ["workers-ip4", "workers-l2bd"];

/// Rates of the two workers together, in millions of packets a second.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    /// Packets that came in.
    received: f64,
    /// Packets that went out.
    sent: f64,
}

impl Rates {
    /// Reads the output of `show runtime`: a line of rates for each thread.
    fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| line.contains("vector rates in "));
        lines.fold(Self::default(), |sum, line| {
            let rate = |word: &str| -> f64 {
                let mut words = line.split([' ', ',']).skip_while(|w| *w != word).skip(1);
                let number = words.find(|w| !w.is_empty()).and_then(|w| w.parse().ok());
                number.map_or(0.0, |rate: f64| rate / 1e6)
            };
            Self { received: sum.received + rate("in"), sent: sum.sent + rate("out") }
        })
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
    let scenario = scenario(name);
    let daemon = Daemon::start(&options.ours, Cores::Workers([two, one]), folder)?;
    let (_, complaints) = set_up(&daemon, &scenario);
    complaints.iter().for_each(|c| println!("  {c}"));
    daemon.run(&second_stream(&scenario.stream));
    let time = Duration::from_secs_f64(options.seconds);
    let (mut packets, mut spun) = ([0_f64; 2], [0_f64; 2]);
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
                true => packets[streams] = packets[streams].max(rates.sent),
                false => lossy += 1,
            }
        }
        daemon.run("packet-generator disable");
        spun[0] = spun[0].max(spin(&[two], time));
        spun[1] = spun[1].max(spin(&[two, one], time));
    }
    let (ratio, machine) = (packets[1] / packets[0], spun[1] / spun[0]);
    println!("\n| {name} | Mpps | twice | spinning twice | of that |\n|---|---|---|---|---|");
    println!(
        "| one worker, two | {:.2}, {:.2} | {ratio:.2} | {machine:.2} | {:.2} |",
        packets[0],
        packets[1],
        ratio / machine
    );
    if lossy > 0 {
        println!("  {lossy} windows lost packets");
    }
    Ok(json!({ "mpps": packets, "ratio": ratio, "spun": spun, "machine": machine }))
}

/// Routing to a neighbour, or a bridge that learns whatever comes; a stream on the first worker.
fn scenario(name: &str) -> Scenario {
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

/// The same from another host, on the second worker.
fn second_stream(first: &str) -> String {
    let second = first.replace("name s0 worker 0", "name s1 worker 1");
    second.replace("IP4: 02:00:00:00:00:01", "IP4: 02:00:00:00:00:03").replace("10.0.0.2", "10.0.0.3")
}

/// Multiplications a second, in thousands of chains, of a thread on each of these processors.
fn spin(cpus: &[usize], time: Duration) -> f64 {
    let is_over = AtomicBool::new(false);
    let chains: u64 = thread::scope(|scope| {
        let spinners: Vec<_> = cpus.iter().map(|cpu| scope.spawn(|| chains(*cpu, &is_over))).collect();
        thread::sleep(time);
        is_over.store(true, Relaxed);
        spinners.into_iter().map(|spinner| spinner.join().unwrap_or(0)).sum()
    });
    chains as f64 / time.as_secs_f64() / 1e3
}

fn chains(processor: usize, is_over: &AtomicBool) -> u64 {
    let _ = cpu::pin(processor); // it was allowed a moment ago
    let (mut count, mut x) = (0, black_box(3_u64));
    while !is_over.load(Relaxed) {
        (0..CHAIN).for_each(|_| x = x.wrapping_mul(black_box(x)));
        count += 1;
    }
    black_box(x);
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_all_threads() {
        let line = "  vector rates in 1.0000e7, out 9.5000e6, drop 0.0000e0, punt 0.0000e0\n";
        let rates = Rates::parse(&line.repeat(2));
        assert_eq!((rates.received, rates.sent), (20.0, 19.0));
    }

    #[test]
    fn streams_are_on_workers_of_their_own() {
        for name in ALL {
            let stream = scenario(name).stream;
            assert!(stream.contains("name s0 worker 0 "), "{stream}");
            let second = second_stream(&stream);
            assert!(second.contains("name s1 worker 1 ") && second.contains("10.0.0.3 -> 16.0.0.1"));
        }
    }
}
