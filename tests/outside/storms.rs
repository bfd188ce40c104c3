//! Bridge domains that learn addresses by the million, and what happens in one of them while others
//! are at work.
//!
//! Some thousand addresses by default; `FERROVIA_ADDRESSES` says otherwise.

use std::time::{Duration, Instant};

use tests::{Daemon, eventually};

/// Addresses to learn.
fn addresses(default: u64) -> u64 {
    let wanted = std::env::var("FERROVIA_ADDRESSES").ok();
    wanted.map_or(default, |n| n.parse().expect("FERROVIA_ADDRESSES is a number"))
}

/// A router with generators, each in a bridge domain.
fn bridge(ports: &[(&str, u32)]) -> Daemon {
    let daemon = Daemon::start(&[]);
    for (name, domain) in ports {
        daemon.tell(&format!("create packet-generator interface {name}"));
        daemon.tell(&format!("set interface state {name} up"));
        daemon.tell(&format!("set interface l2 bridge {name} {domain}"));
    }
    daemon
}

/// The address with this number.
fn mac(number: u64) -> String {
    let bytes = number.to_be_bytes().map(|b| format!("{b:02x}"));
    format!("02:01:{}", bytes[4..].join(":"))
}

/// Adds a stream of `count` frames from as many addresses, one after the other, starting again
/// behind the last of `addresses`.
fn add_stream(daemon: &Daemon, port: &str, count: u64, addresses: u64, to: &str, more: &str) {
    let last = mac(addresses - 1);
    daemon.tell(&format!(
        "packet-generator new {{ name {port} limit {count} size 60-60 interface {port} {more} \
         node ethernet-input data {{ IP4: {}-{last} -> {to} UDP: 10.0.0.1 -> 10.0.0.2 \
         UDP: 1 -> 2 incrementing 8 }} }}",
        mac(0)
    ));
}

fn counted(daemon: &Daemon, interface: &str, what: &str) -> u64 {
    let text = daemon.tell(&format!("show interface {interface}"));
    let line = text.lines().find_map(|line| line.split_once(what));
    line.and_then(|(_, n)| n.trim().parse().ok()).unwrap_or(0)
}

fn errors(daemon: &Daemon, what: &str) -> u64 {
    let text = daemon.tell("show errors");
    let line = text.lines().find(|line| line.contains(what));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Addresses that were learned.
fn learned(daemon: &Daemon) -> u64 {
    let text = daemon.tell("show l2fib");
    let numbers = text.split("total/learned entries: ").nth(1);
    let learned = numbers.and_then(|text| text.split(' ').next()?.split_once('/')?.1.parse().ok());
    learned.unwrap_or_else(|| panic!("{text}"))
}

/// Bytes of the table, as the router says.
fn table(daemon: &Daemon) -> u64 {
    let text = daemon.tell("show l2fib raw");
    let before = text.split(" bytes").next().and_then(|text| text.rsplit(' ').next());
    before.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

/// Bytes of the process that are in memory.
fn memory(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

/// Passes over all addresses at most.
const PASSES: usize = 5;

/// Sends all frames, and waits until all that were sent so far are forwarded.
#[track_caller]
fn pass(daemon: &Daemon, count: u64) -> Duration {
    #[allow(clippy::disallowed_methods, reason = "how long it takes is real time")]
    let start = Instant::now();
    daemon.tell("packet-generator enable");
    let through = || counted(daemon, "pg1", "tx packets");
    // As long as it is at work.
    let mut most = 0;
    while most < count && eventually(|| through() > most) {
        most = through();
    }
    assert_eq!(most, count, "{}", daemon.tell("show errors"));
    start.elapsed()
}

#[test]
fn addresses_are_learned_without_a_loss_and_all_age() {
    let count = addresses(50_000);
    let daemon = bridge(&[("pg0", 5), ("pg1", 5)]);
    daemon.tell("l2fib add 02:00:00:00:00:bb 5 pg1 static");
    daemon.tell("set bridge-domain mac-age 5 1");
    let before = memory(&daemon);
    add_stream(&daemon, "pg0", count, count, "02:00:00:00:00:bb", "");
    // A thread that finds the table being grown goes on: the host is learned when it speaks again.
    let (mut passes, mut took) = (Vec::new(), Duration::ZERO);
    while learned(&daemon) < count && passes.len() < PASSES {
        let time = pass(&daemon, count * (passes.len() as u64 + 1));
        took = if passes.is_empty() { time } else { took };
        passes.push(learned(&daemon));
    }
    assert_eq!(learned(&daemon), count, "{passes:?} {}", daemon.tell("show errors"));
    let (grown, said) = (memory(&daemon) - before, table(&daemon));
    println!(
        "{count} frames from as many addresses forwarded in {took:?}: {:.0} a second; learned after \
         each pass: {passes:?}; the table has {said} bytes, the process {grown} more than before",
        count as f64 / took.as_secs_f64()
    );
    assert!(grown < said + (16 << 20), "{grown} bytes for a table of {said}");
    daemon.tell("packet-generator delete pg0");

    daemon.tell("set clock adjust 130");
    let end = Instant::now() + Duration::from_secs(120);
    while learned(&daemon) > 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(learned(&daemon), 0, "{}", daemon.tell("show l2fib"));
    assert!(daemon.tell("show l2fib verbose").contains("02:00:00:00:00:bb"));
}

#[test]
fn moves_and_broadcasts_by_the_million_leave_other_domains_alone() {
    let count = addresses(50_000).min(1_000_000);
    let ports = [("pg0", 5), ("pg1", 5), ("pg2", 6), ("pg3", 6), ("pg4", 6)];
    let daemon = bridge(&ports);
    daemon.tell("l2fib add 02:00:00:00:00:bb 6 pg4 static");
    // Two hosts that talk all the time, in a domain of their own.
    let (ours, rate) = (20_000, 5_000);
    daemon.tell("l2fib add 02:01:00:00:00:bb 5 pg1");
    add_stream(&daemon, "pg0", ours, 1, "02:01:00:00:00:bb", &format!("rate {rate}"));
    // All hosts of another domain come and go between two ports, a third one floods.
    for port in ["pg2", "pg3"] {
        add_stream(&daemon, port, 3 * count, count, "02:00:00:00:00:bb", "");
    }
    daemon.tell(&format!(
        "packet-generator new {{ name pg4 limit {count} size 60-60 interface pg4 \
         node ethernet-input data {{ IP4: 02:02:00:00:00:01 -> ff:ff:ff:ff:ff:ff \
         UDP: 10.0.0.1 -> 10.0.0.2 UDP: 1 -> 2 incrementing 8 }} }}"
    ));
    #[allow(clippy::disallowed_methods, reason = "how long it takes is real time")]
    let start = Instant::now();
    daemon.tell("packet-generator enable");
    let sent = || counted(&daemon, "pg1", "tx packets");
    assert!(eventually(|| sent() == ours), "{}", daemon.tell("show errors"));
    let took = start.elapsed();
    let others = 7 * count;
    let received = || ["pg2", "pg3", "pg4"].iter().map(|p| counted(&daemon, p, "rx packets")).sum();
    let mut most: u64 = 0;
    while most < others && eventually(|| received() > most) {
        most = received();
    }
    assert_eq!(most, others);
    let moves = errors(&daemon, "L2 mac moves");
    println!("{moves} moves of {count} addresses, {count} broadcasts; ours took {took:?}");
    assert!(moves > 0, "{}", daemon.tell("show errors"));
    // What was for us, no more and no less; and we are where we were.
    assert_eq!((counted(&daemon, "pg0", "tx packets"), sent()), (0, ours));
    let fib = daemon.tell("show l2fib bd_id 5 all");
    assert!(fib.contains("02:01:00:00:00:bb") && fib.contains(&mac(0)), "{fib}");
    // Both ports of the others have all broadcasts, the third all other frames.
    for port in ["pg2", "pg3"] {
        assert_eq!(counted(&daemon, port, "tx packets"), count, "{port}");
    }
    assert_eq!(counted(&daemon, "pg4", "tx packets"), 6 * count);
    assert!(daemon.tell("show buffers").trim_end().ends_with(" 0"), "a buffer was lost");
}
