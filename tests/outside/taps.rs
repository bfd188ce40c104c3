//! Interfaces that are devices of the host, with hosts of the kernel behind them.

use std::time::Duration;

use tests::{Daemon, Host, eventually, has, is_root, is_timing_wanted};

use crate::two_hosts::received;

/// Two hosts, each behind a tap made with these options.
struct Taps {
    router: Daemon,
    left: Host,
    right: Host,
}

impl Taps {
    fn new(kind: &str, options: &str) -> Self {
        let (left, right) = (Host::alone(), Host::alone());
        let mut setup = Vec::new();
        for (n, host) in [(1, &left), (2, &right)] {
            let name = format!("{kind}{n}");
            let tun = if kind == "tun" { "tun" } else { "" };
            setup.extend([
                format!(
                    "create tap id {n} host-if-name eth0 host-ns {} host-ip4-addr 10.1.{n}.2/24 \
                     host-ip6-addr 2001:db8:{n}::2/64 host-ip4-gw 10.1.{n}.1 \
                     host-ip6-gw 2001:db8:{n}::1 {options} {tun}",
                    host.namespace()
                ),
                format!("set interface state {name} up"),
                format!("set interface ip address {name} 10.1.{n}.1/24"),
                format!("set interface ip address {name} 2001:db8:{n}::1/64"),
            ]);
        }
        let setup: Vec<_> = setup.iter().map(String::as_str).collect();
        Self { router: Daemon::start(&setup), left, right }
    }
    fn ping(&self) {
        for address in ["10.1.2.2", "2001:db8:2::2", "10.1.1.1"] {
            let text = self.left.run(&format!("ping -n -c 3 -i 0.2 -W 2 {address}"));
            assert!(text.contains("3 received, 0% packet loss"), "{text}");
        }
    }
    /// Mbit/s of TCP, both ways and both families.
    fn streams(&self, seconds: u32) -> Vec<f64> {
        let _server = self.right.start("iperf3 -s");
        let is_listening = || self.right.run("cat /proc/net/tcp6").contains(":1451 ");
        assert!(eventually(Duration::from_secs(5), is_listening), "iperf3 does not listen");
        let run = |options: &str| {
            let words = format!("iperf3 -c {options} -t {seconds} -f m");
            received(&self.left.run(&words))
        };
        ["10.1.2.2", "10.1.2.2 -R", "2001:db8:2::2"].map(run).to_vec()
    }
}

#[test]
fn hosts_behind_taps_talk() {
    if !is_root() || !has("ping") || !has("iperf3") {
        return;
    }
    for options in ["", "gso", "no-gso", "csum-offload num-rx-queues 2 num-tx-queues 2"] {
        let taps = Taps::new("tap", options);
        taps.ping();
        let rates = taps.streams(1);
        assert!(rates.iter().all(|rate| *rate > 1.0), "{options}: {rates:?}");
    }
}

#[test]
fn hosts_behind_tuns_talk() {
    if !is_root() || !has("ping") || !has("iperf3") {
        return;
    }
    let taps = Taps::new("tun", "gso");
    taps.ping();
    assert!(taps.streams(1).iter().all(|rate| *rate > 1.0));
    let shown = taps.router.tell("show tap tun1");
    assert!(shown.contains("  name \"eth0\"\n") && shown.contains("  tun\n"), "{shown}");
}

#[test]
fn tcp_with_offloads_is_fast() {
    if !is_root() || !has("iperf3") || !is_timing_wanted() {
        return;
    }
    let rates = Taps::new("tap", "gso").streams(5);
    println!("TCP over taps, Mbit/s: {rates:?}");
    assert!(rates.iter().all(|rate| *rate >= 5000.0), "{rates:?}");
}

#[test]
fn devices_come_and_go_with_their_interfaces() {
    if !is_root() {
        return;
    }
    let host = Host::alone();
    let router = Daemon::start(&[]);
    let namespace = host.namespace();
    let links = || host.run("ip -o link");
    for _ in 0..20 {
        router.tell(&format!(
            "create tap id 7 host-ns {namespace} host-mac-addr 02:00:00:00:00:99 \
             host-mtu-size 1400 rx-ring-size 1024"
        ));
        let shown = links();
        assert!(shown.contains("tap7: ") && shown.contains("02:00:00:00:00:99"), "{shown}");
        assert!(shown.contains("mtu 1400") && shown.contains("qlen 1024"), "{shown}");
        router.tell("delete tap tap7");
    }
    let is_gone = || !links().contains("tap7");
    assert!(eventually(Duration::from_secs(2), is_gone), "{}", links());
    router.tell(&format!("create tap host-ns {namespace} host-if-name stays persist"));
    router.tell("delete tap tap0");
    router.tell(&format!("create tap host-ns {namespace} host-if-name stays attach"));
    assert!(router.tell("show tap").contains("Interface: tap0 (ifindex"));
    for (line, error) in [
        ("create tap id 0", "interface 0 already exists"),
        ("create tap id 5000", "an id is below 1024"),
        ("create tap rx-ring-size 100", "must be a power of 2"),
        ("create tap host-ns nosuch", "No such file or directory"),
        ("create tap attach", "attach needs host-if-name"),
        ("create tap num-rx-queues 99", "no more than 64 queues"),
        ("create tap host-mac-addr ff:ff:ff:ff:ff:ff", "no address of one interface"),
        ("create tap gso no-gso", "not both"),
        ("delete tap local0", "not a tap interface"),
        ("delete tap nosuch", "unknown interface `nosuch'"),
        ("delete tap", "expected the name or the sw_if_index"),
    ] {
        let answer = router.ask(line);
        assert!(answer.error.contains(error) || answer.text.contains(error), "{line}: {answer:?}");
    }
    let bad = format!("create tap id 9 host-ns {namespace} host-bridge nosuch");
    assert!(!router.ask(&bad).is_ok);
    let is_gone = || !links().contains("tap9");
    assert!(eventually(Duration::from_secs(2), is_gone), "{}", links());
    assert!(!router.tell("show interface").contains("tap9"));
}
