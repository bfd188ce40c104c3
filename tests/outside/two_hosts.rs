//! Two hosts of the kernel talk through the router, offloads on.

use std::thread::sleep;
use std::time::Duration;

use tests::{TwoHosts, eventually, has, is_root};

/// Pings from left to right; the loss must be nothing from the first echo on.
fn ping(hosts: &TwoHosts, address: &str) {
    let text = hosts.left.run(&format!("ping -n -c 5 -i 0.2 -W 10 {address}"));
    assert!(text.contains("5 received, 0% packet loss"), "{text}");
}

#[test]
fn pings_are_answered_from_the_first_on() {
    if !is_root() || !has("ping") {
        return;
    }
    let hosts = TwoHosts::new();
    ping(&hosts, "10.1.2.2");
    ping(&hosts, "2001:db8:2::2");
    // The router itself.
    ping(&hosts, "10.1.1.1");
    ping(&hosts, "10.1.2.1");
    ping(&hosts, "2001:db8:1::1");
}

#[test]
fn counters_are_those_of_the_hosts() {
    if !is_root() || !has("ping") {
        return;
    }
    let hosts = TwoHosts::new();
    let counted = |interface: &str, counter: &str| {
        let text = hosts.router.tell(&format!("show interface {interface}"));
        let line = text.lines().find(|line| line.contains(counter));
        let value = line.and_then(|line| line.split_whitespace().last()?.parse().ok());
        value.unwrap_or(0_u64)
    };
    // What was sent before the router listened. A host speaks when it wants (router solicitations):
    // only readings between which nothing was sent belong together.
    let sums = || (hosts.left.packets(), counted("host-left", "rx packets"));
    let mut missed = None;
    let is_quiet = || {
        let before = sums();
        sleep(Duration::from_millis(300));
        let ((_, sent), received) = before;
        missed = (before == sums()).then(|| sent - received);
        missed.is_some()
    };
    assert!(eventually(is_quiet), "somebody speaks all the time");
    let missed = missed.unwrap();
    ping(&hosts, "10.1.2.2");
    ping(&hosts, "2001:db8:2::2");
    // What the hosts sent and received, and what the router counted of it.
    let both = || {
        let (received, sent) = hosts.left.packets();
        let theirs = [sent - missed, received, hosts.right.packets().0];
        let [rx, tx] = ["rx packets", "tx packets"].map(|name| counted("host-left", name));
        [theirs, [rx, tx, counted("host-right", "tx packets")]]
    };
    let agree = || matches!(both(), [theirs, ours] if theirs == ours);
    assert!(eventually(agree), "{:?}\n{}", both(), hosts.router.tell("show interface"));
}

#[test]
fn streams_flow_with_offloads_on() {
    if !is_root() || !has("iperf3") {
        return;
    }
    let hosts = TwoHosts::new();
    for options in ["-c 10.1.2.2", "-c 10.1.2.2 -R", "-c 2001:db8:2::2", "-c 2001:db8:2::2 -R"] {
        let text = hosts.left.iperf3(&hosts.right, &format!("{options} -t 1"));
        assert!(received(&text) > 0.0, "{text}");
    }
    for address in ["10.1.2.2", "2001:db8:2::2"] {
        let text = hosts.left.iperf3(&hosts.right, &format!("-c {address} -u -b 20M -t 1"));
        assert!(received(&text) > 1.0, "{text}");
    }
}

/// Mbit/s that the receiver of an iperf3 run got.
pub fn received(text: &str) -> f64 {
    let line = text.lines().rfind(|line| line.ends_with("receiver")).unwrap_or_default();
    let rate = line.split_whitespace().rev().skip_while(|word| *word != "Mbits/sec").nth(1);
    rate.and_then(|rate| rate.parse().ok()).unwrap_or(0.0)
}
