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
        Self::unlike(kind, [options, options])
    }
    /// The same with options of each.
    fn unlike(kind: &str, options: [&str; 2]) -> Self {
        let (left, right) = (Host::alone(), Host::alone());
        let mut setup = Vec::new();
        for (n, host, options) in [(1, &left, options[0]), (2, &right, options[1])] {
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
            let text = self.left.run(&format!("ping -n -c 3 -i 0.2 -W 10 {address}"));
            assert!(text.contains("3 received, 0% packet loss"), "{text}");
        }
    }
    /// Mbit/s of TCP, both ways and both families.
    fn streams(&self, seconds: u32) -> Vec<f64> {
        let run = |options: &str| {
            let options = format!("-c {options} -t {seconds}");
            received(&self.left.iperf3(&self.right, &options))
        };
        ["10.1.2.2", "10.1.2.2 -R", "2001:db8:2::2"].map(run).to_vec()
    }
}

#[test]
fn hosts_behind_taps_talk() {
    if !is_root() || !has("ping") || !has("iperf3") {
        return;
    }
    for options in ["", "gso", "no-gso", "num-tx-queues 2", "csum-offload num-rx-queues 2"] {
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
    assert_eq!(taps.router.tell("show tun tun1"), taps.router.tell("show tap tun1"));
    let shown = taps.router.tell("show tap tun1");
    assert!(shown.contains("  name \"eth0\"\n") && shown.contains("  tun\n"), "{shown}");
}

#[test]
fn segments_are_joined_before_the_host_gets_them() {
    if !is_root() || !has("ping") || !has("iperf3") {
        return;
    }
    for kind in ["tap", "tun"] {
        // The left host cuts what it sends itself.
        let taps = Taps::unlike(kind, ["", "gso gro-coalesce"]);
        taps.ping();
        let rates = taps.streams(1);
        assert!(rates.iter().all(|rate| *rate > 100.0), "{kind}: {rates:?}");
        let shown = taps.router.tell(&format!("show tap {kind}2"));
        assert!(shown.contains("  packet-coalesce 1\n"), "{shown}");
        let numbers: Vec<f64> = shown
            .lines()
            .filter_map(|line| line.split_once("evicted, ")?.1.strip_suffix(" packets"))
            .flat_map(|text| text.split(" segments joined to ").map(|n| n.parse().unwrap()))
            .collect();
        println!("{kind}: {rates:?} Mbit/s, {numbers:?}");
        assert!(numbers[0] > 2.0 * numbers[1] && numbers[1] > 100.0, "{shown}");
        assert!(taps.router.tell(&format!("show tap {kind}1")).contains("packet-coalesce 0\n"));
        let is_empty = || taps.router.tell("show buffers").trim_end().ends_with(" 0");
        assert!(eventually(is_empty), "a buffer was lost");
    }
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
    assert!(eventually(is_gone), "{}", links());
    router.tell(&format!("create tap host-ns {namespace} host-if-name stays persist"));
    router.tell("delete tap tap0");
    router.tell(&format!("create tap host-ns {namespace} host-if-name stays attach"));
    assert!(router.tell("show tap").contains("Interface: tap0 (ifindex"));
    assert_eq!(router.tell("show tun"), "");
    for (line, error) in [
        ("create tap id 0", "interface 0 already exists"),
        ("create tap id 5000", "an id must be below 1024"),
        ("create tap rx-ring-size 100", "must be a power of 2"),
        ("create tap host-ns nosuch", "No such file or directory"),
        ("create tap attach", "attach needs host-if-name"),
        ("create tap num-rx-queues 99", "at most 64 queues"),
        ("create tap host-mac-addr ff:ff:ff:ff:ff:ff", "not a unicast MAC address"),
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
    assert!(eventually(is_gone), "{}", links());
    assert!(!router.tell("show interface").contains("tap9"));
    router.tell(&format!("create tap id 8 host-ns {namespace}"));
    router.tell("set interface state tap8 up");
    assert!(!router.tell("show interface tap8").contains("gone"));
    host.run("ip link del tap8");
    let is_told = || router.tell("show interface tap8").contains(" gone ");
    assert!(eventually(is_told), "{}", router.tell("show interface tap8"));
}

#[test]
fn every_option_reaches_the_device() {
    if !is_root() || !has("ping") {
        return;
    }
    let host = Host::alone();
    host.run("ip link add br0 type bridge");
    host.run("ip link set br0 up");
    let router = Daemon::start(&[]);
    let path = format!("/var/run/netns/{}", host.namespace());
    let made = router.tell(&format!(
        "create tap id 4 hw-addr 02:00:00:00:04:01 if-name uplink num-rx-queues 3 num-tx-queues 2 \
         rx-ring-size 512 tx-ring-size 1024 host-ns {path} host-mac-addr 02:00:00:00:04:02 \
         host-if-name eth4 host-mtu-size 1450 host-ip4-addr 10.4.0.2/24 \
         host-ip6-addr 2001:db8:4::2/64 host-ip4-gw 10.4.0.1 host-ip6-gw 2001:db8:4::1 \
         gso gro-coalesce persist packed in-order consistent-qp"
    ));
    assert_eq!(made.trim(), "uplink");
    for line in [
        "set interface state uplink up",
        "set interface ip address uplink 10.4.0.1/24",
        "set interface ip address uplink 2001:db8:4::1/64",
    ] {
        router.tell(line);
    }
    let link = host.run("ip -o link show eth4");
    for text in ["mtu 1450", "qlen 512", "02:00:00:00:04:02", "UP"] {
        assert!(link.contains(text), "{text}: {link}");
    }
    assert!(host.run("ip -4 address show eth4").contains("10.4.0.2/24"));
    assert!(host.run("ip -6 address show eth4").contains("2001:db8:4::2/64"));
    assert!(host.run("ip -4 route").contains("default via 10.4.0.1 dev eth4"));
    assert!(host.run("ip -6 route").contains("default via 2001:db8:4::1 dev eth4"));
    let shown = router.tell("show tap uplink");
    for text in [
        "Interface: uplink (ifindex ",
        "  name \"eth4\"\n",
        "  host-mtu-size \"1450\"\n",
        "  gso-enabled 1\n",
        "  packet-coalesce 1\n",
        "  Mac Address: 02:00:00:00:04:01\n",
        "  Device instance: 4\n",
        "Number of RX Virtqueue  3\n",
        "Number of TX Virtqueue  2",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    // Somewhere else, so that the default routes are used.
    router.tell("create loopback interface");
    router.tell("set interface state loop0 up");
    router.tell("set interface ip address loop0 10.5.0.1/32");
    assert!(host.run("ping -n -c 2 -i 0.1 -W 10 10.5.0.1").contains("2 received"));
    router.tell("delete tap uplink");
    assert!(host.run("ip -o link").contains("eth4"), "it was to stay");
    router
        .tell(&format!("create tap id 4 host-ns {path} host-if-name eth4 attach num-rx-queues 3"));
    // A namespace may be that of a process, and the device a port of a bridge.
    let sleeper = host.start("sleep 60");
    let namespace_of = |id: &str| std::fs::read_link(format!("/proc/{id}/ns/net")).ok();
    let has_entered = || namespace_of(&sleeper.id().to_string()) != namespace_of("self");
    assert!(eventually(has_entered));
    let made = router.tell(&format!(
        "create tap id 5 host-ns pid:{} host-if-name port0 host-bridge br0",
        sleeper.id()
    ));
    assert_eq!(made.trim(), "tap5");
    assert!(host.run("ip -o link show port0").contains("master br0"));
}

#[test]
fn taps_come_and_go_under_traffic_without_a_leak() {
    if !is_root() || !has("ping") {
        return;
    }
    let rounds = std::env::var("FERROVIA_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let host = Host::alone();
    let router = Daemon::start(&[]);
    let process = format!("/proc/{}", router.id());
    let files = || std::fs::read_dir(format!("{process}/fd")).expect("it runs").count();
    let pages = || {
        let text = std::fs::read_to_string(format!("{process}/statm")).expect("it runs");
        text.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).expect("resident pages")
    };
    let round = || {
        for line in [
            &format!(
                "create tap id 1 host-if-name eth0 host-ns {} host-ip4-addr 10.1.1.2/24",
                host.namespace()
            ),
            "set interface state tap1 up",
            "set interface ip address tap1 10.1.1.1/24",
        ] {
            router.tell(line);
        }
        host.attempt("ping -n -q -c 5 -i 0.002 -W 1 10.1.1.1");
        router.tell("delete tap tap1");
    };
    round();
    // Devices are closed on a thread of its own.
    std::thread::sleep(Duration::from_millis(500));
    let (files_before, pages_before) = (files(), pages());
    (0..rounds).for_each(|_| round());
    assert!(eventually(|| files() <= files_before), "{}", files());
    let grown = pages().saturating_sub(pages_before) * 4;
    println!("{rounds} rounds: {grown} KB more, {files_before} files");
    assert!(grown < 8192, "{grown} KB more after {rounds} rounds");
    assert!(router.tell("show buffers").trim_end().ends_with(" 0"), "a buffer was lost");
}

#[test]
fn a_device_that_the_host_deletes_takes_the_link_away() {
    if !is_root() {
        return;
    }
    let host = Host::alone();
    let router = Daemon::start(&[]);
    let create = format!("create tap id 1 host-if-name eth0 host-ns {}", host.namespace());
    for line in [&create, "set interface state tap1 up"] {
        router.tell(line);
    }
    let link = |state: &str| {
        let text = router.tell("show hardware-interfaces tap1");
        text.lines().nth(1).is_some_and(|line| line.contains(state))
    };
    assert!(link(" up "));
    host.run("ip link del eth0");
    assert!(eventually(|| link(" down ")));
    assert!(router.tell("show tap tap1").contains("  host-carrier-up: 0\n"));
    router.tell("delete tap tap1");
    router.tell(&create);
    assert!(link(" up "), "it is made again");
}

#[test]
fn what_the_host_does_to_devices_is_told_to_senders() {
    if !is_root() || !has("ping") {
        return;
    }
    for kind in ["tap", "tun"] {
        let taps = Taps::new(kind, "");
        let ping =
            |to: &str| taps.right.attempt(&format!("ping -n -c 1 -W 10 -M do -s 1372 {to}")).1;
        let targets = ["10.1.1.2", "2001:db8:1::2"];
        for to in targets {
            let answer = ping(to);
            assert!(answer.contains(" 0% packet loss"), "{kind} {answer}");
        }
        let name = format!("{kind}1");
        let shows = |says: &str| {
            let text = || {
                let hardware = taps.router.tell(&format!("show hardware-interfaces {name}"));
                hardware + &taps.router.tell(&format!("show interface {name}"))
            };
            assert!(eventually(|| text().contains(says)), "no {says:?} in {}", text());
        };
        shows("9000/0/0/0");
        taps.left.run("ip link set eth0 mtu 1300");
        shows("1300/0/0/0");
        let four = ping("10.1.1.2");
        assert!(four.contains("From 10.1.2.1 ") && four.contains("(mtu = 1300)"), "{four}");
        let six = ping("2001:db8:1::2");
        assert!(six.contains("Packet too big: mtu=1300"), "{six}");
        taps.left.run("ip link set eth0 down");
        shows(&format!(" down  {name}"));
        // There are no neighbours behind a tun: its routes lead nowhere without a link.
        for to in targets.into_iter().filter(|_| kind == "tap") {
            let answer = ping(&format!("-s 100 {to}"));
            assert!(answer.contains("nreachable"), "{kind} {answer}");
        }
        taps.left.run("ip link set eth0 name other");
        taps.left.run("ip link set other up");
        shows(&format!(" up   {name}"));
        taps.router.tell("ping 10.1.1.2 repeat 1");
        shows("host device other");
    }
}
