//! An idle router costs nothing, and wakes up at once.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use tests::{TwoHosts, has, is_root, is_timing_wanted};

/// Nanoseconds that all threads of a process have run.
fn time_used(id: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).unwrap();
    tasks
        .flatten()
        .map(|task| {
            let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            text.split(' ').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0)
        })
        .sum()
}

#[test]
fn idle_costs_less_than_a_hundredth_of_a_core() {
    if !is_timing_wanted() || !is_root() {
        return;
    }
    let workers = crate::workers::two_workers();
    for config in std::iter::once(String::new()).chain(workers) {
        let hosts = TwoHosts::with(&config);
        sleep(Duration::from_secs(3));
        let before = time_used(hosts.router.id());
        sleep(Duration::from_secs(10));
        let share = (time_used(hosts.router.id()) - before) as f64 / 10e9;
        let percent = share * 100.0;
        eprintln!("idle with two AF_PACKET interfaces, {config:?}: {percent:.3} % of a core");
        assert!(share < 0.01, "{percent:.2} % of a core, {config:?}");
    }
}

#[test]
fn the_first_echo_after_idling_takes_less_than_a_millisecond() {
    if !is_timing_wanted() || !is_root() || !has("ping") {
        return;
    }
    let hosts = TwoHosts::new();
    // Neighbours are known afterwards.
    hosts.left.run("ping -n -c 1 -W 10 10.1.2.2");
    let mut best = f64::MAX;
    for _ in 0..3 {
        sleep(Duration::from_secs(2));
        let text = hosts.left.run("ping -n -c 1 -W 10 10.1.2.2");
        let time = text.split("time=").nth(1).and_then(|rest| rest.split(' ').next());
        best = best.min(time.and_then(|time| time.parse().ok()).unwrap_or(f64::MAX));
    }
    eprintln!("first echo after idling: {best} ms");
    assert!(best < 1.0, "{best} ms");
}
