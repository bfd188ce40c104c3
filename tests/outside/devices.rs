//! Devices of the host: what is set on interfaces reaches them, and their queues are served as
//! said.

use std::time::{Duration, Instant};

use tests::{Daemon, Host, TwoHosts, eventually, has, is_root, is_timing_wanted};

use crate::workers::two_workers;

/// One host behind `tap1`, and a router with these lines of configuration.
struct Tap {
    router: Daemon,
    host: Host,
}

impl Tap {
    fn new(config: &str, options: &str) -> Self {
        let host = Host::alone();
        let create = format!(
            "create tap id 1 host-if-name eth0 host-ns {} host-ip4-addr 10.1.1.2/24 {options}",
            host.namespace()
        );
        let setup = [
            create.as_str(),
            "set interface state tap1 up",
            "set interface ip address tap1 10.1.1.1/24",
        ];
        Self { router: Daemon::start_with(config, &setup), host }
    }
    fn can_ping(&self, options: &str) -> bool {
        self.host.attempt(&format!("ping -n -c 3 -i 0.05 -W 10 {options} 10.1.1.1")).0
    }
    /// Whether the input node is called a thousand times: some day when it is to be, else within a
    /// third of a second.
    fn is_polled(&self, is_to_be: bool) -> bool {
        let is_called = || {
            let text = self.router.tell("show runtime verbose");
            let rows = text.lines().filter(|line| line.starts_with("tap-input"));
            let calls = rows.filter_map(|row| row.split_whitespace().nth(2)?.parse::<f64>().ok());
            calls.sum::<f64>() > 1000.0
        };
        self.router.tell("clear runtime");
        if is_to_be {
            return eventually(is_called);
        }
        std::thread::sleep(Duration::from_millis(300));
        is_called()
    }
}

fn counted(router: &Daemon, error: &str) -> u64 {
    let text = router.tell("show errors");
    let line = text.lines().find(|line| line.contains(error));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn queues_are_looked_at_as_it_is_said() {
    if !is_root() || !has("ping") {
        return;
    }
    let tap = Tap::new("", "num-rx-queues 2");
    for (mode, is_busy) in [("polling", true), ("interrupt", false), ("adaptive", false)] {
        tap.router.tell(&format!("set interface rx-mode tap1 {mode}"));
        assert!(tap.can_ping(""), "{mode}");
        assert_eq!(tap.is_polled(is_busy), is_busy, "{mode}");
        let shown = tap.router.tell("show hardware-interfaces tap1");
        assert!(shown.contains(&format!("    1     main (0)       {mode}")), "{shown}");
    }
    // One queue that is polled is enough to keep the thread awake.
    tap.router.tell("set interface rx-mode tap1 interrupt");
    tap.router.tell("set interface rx-mode tap1 queue 1 polling");
    assert!(tap.is_polled(true));
    tap.router.tell("set interface default rx-mode interrupt");
    tap.router.tell("create tap id 2");
    let shown = tap.router.tell("show interface rx-placement");
    assert!(shown.contains("tap2 queue 0 (interrupt)"), "{shown}");
}

#[test]
fn threads_send_on_the_queues_they_are_placed_on() {
    let Some(config) = two_workers() else { return };
    if !is_root() || !has("ping") {
        return;
    }
    let tap = Tap::new(&config, "num-rx-queues 2 num-tx-queues 2");
    let shown = tap.router.tell("show hardware-interfaces tap1");
    let expected = "  RX Queues:\n    queue thread         mode      \n    \
                    0     vpp_wk_0 (1)   adaptive  \n    1     vpp_wk_1 (2)   adaptive  \n  \
                    TX Queues:\n    queue shared thread(s)      \n    \
                    0     no     2\n    1     no     1\n";
    assert!(shown.contains(expected), "{shown}");
    assert!(shown.contains("  Linux TAP interface, host device eth0 (ifindex "), "{shown}");
    assert!(tap.can_ping(""));
    for queue in [0, 1] {
        tap.router.tell(&format!("set interface tx-queue tap1 queue {queue}"));
    }
    assert!(!tap.can_ping("-W 1"));
    assert!(
        counted(&tap.router, "no tx queue available") > 0,
        "{}",
        tap.router.tell("show errors")
    );
    tap.router.tell("set interface tx-queue tap1 queue 1 threads 1-2");
    assert!(tap.can_ping(""));
    let shown = tap.router.tell("show hardware-interfaces tap1");
    assert!(shown.contains("    1     yes    1-2\n"), "{shown}");
    for line in ["set interface rx-placement tap1 queue 0 worker 1", "set workers 1"] {
        tap.router.tell(line);
        assert!(tap.can_ping(""), "{line}");
    }
}

#[test]
fn jumbo_frames_pass_both_ways() {
    if !is_root() || !has("ping") {
        return;
    }
    let tap = Tap::new("", "host-mtu-size 9000");
    for size in [1400, 2100, 4000, 8972] {
        assert!(tap.can_ping(&format!("-M do -s {size}")), "tap, {size} bytes");
    }
    let hosts = TwoHosts::with_mtu("", 9000);
    for size in [1400, 2100, 4000, 8972] {
        let line = format!("ping -n -c 3 -i 0.05 -W 10 -M do -s {size} 10.1.2.2");
        let (is_good, text) = hosts.left.attempt(&line);
        assert!(is_good && text.contains("3 received"), "{text}");
    }
    for router in [&tap.router, &hosts.router] {
        assert!(router.tell("show buffers").trim_end().ends_with(" 0"), "a buffer was lost");
    }
}

#[test]
fn addresses_and_mtus_reach_devices() {
    if !is_root() || !has("ping") {
        return;
    }
    let hosts = TwoHosts::new();
    let router = &hosts.router;
    let can_ping =
        |wait: u8| hosts.left.attempt(&format!("ping -n -c 2 -i 0.05 -W {wait} 10.1.1.1")).0;
    let speed = router.tell("show hardware-interfaces host-left");
    assert!(speed.contains("  Link speed: 10 Gbps\n"), "{speed}");
    assert!(speed.contains("  Linux PACKET socket interface v2\n  FEATURES:\n"), "{speed}");
    assert!(speed.contains("    qdisc-bpass-enabled\n    cksum-gso-enabled\n"), "{speed}");
    router.tell("set host-interface qdisc-bypass host-left disable");
    router.tell("set host-interface l4-cksum-offload host-left off");
    let shown = router.tell("show hardware-interfaces host-left");
    assert!(shown.contains("    qdisc-bpass-disabled\n    cksum-gso-disabled\n"), "{shown}");
    assert!(can_ping(10));
    let to = "ip neigh replace 10.1.1.1 lladdr 02:00:00:00:77:77 dev eth0 nud permanent";
    hosts.left.run(to);
    assert!(!can_ping(1));
    for (on, off) in [
        (
            "set interface secondary-mac-address host-left 02:00:00:00:77:77",
            "set interface secondary-mac-address host-left 02:00:00:00:77:77 del",
        ),
        ("set interface mac address host-left 02:00:00:00:77:77", "show interface"),
    ] {
        router.tell(on);
        assert!(can_ping(10), "{on}");
        router.tell(off);
    }
    router.tell("set interface mtu 1300 host-left");
    let between = hosts.left.namespace().replace("-left", "-router");
    let links = hosts.left.run("ip -o link");
    assert!(links.contains("mtu 1500"), "the other end is not ours: {links}");
    let link = std::process::Command::new("ip").args(["-n", &between, "link"]).output();
    let link = String::from_utf8(link.expect("ip is there").stdout).expect("it is text");
    assert!(link.contains("left@") && link.contains("mtu 1300"), "{link}");
}

#[test]
fn what_devices_are_given_is_traced() {
    if !is_root() || !has("ping") {
        return;
    }
    let hosts = TwoHosts::new();
    hosts.left.run("ping -n -c 1 -W 10 10.1.2.2");
    hosts.router.tell("clear trace");
    hosts.router.tell("trace add af-packet-input 10");
    hosts.left.run("ping -n -c 1 -W 10 10.1.2.2");
    let trace = hosts.router.tell("show trace");
    for text in [
        ": af-packet-input\n  af_packet: hw_if_index 1 rx-queue 0 len 98\n    vnet-hdr:\n      flags",
        ": host-right-tx\n  af_packet: hw_if_index 2 tx-queue 0 len 98\n    vnet-hdr:\n      flags",
        "\n    buffer 0x",
        ": current data 0, length 98, buffer-pool 0, ref-count 1",
    ] {
        assert!(trace.contains(text), "{text} is not in {trace}");
    }
}

#[test]
fn ip_packets_of_a_device_without_ethernet_are_taken() {
    if !is_root() {
        return;
    }
    // The device is a tun of the same router: packets sent by one are received by the other.
    let host = Host::alone();
    let router = Daemon::start_in(
        host.namespace(),
        "",
        &[
            "create tap id 1 tun host-if-name tun9",
            "set interface state tun1 up",
            "create host-interface name tun9 mode ip",
            "set interface state host-tun9 up",
            "ip table add 10",
            "ip6 table add 10",
            "set interface ip table host-tun9 10",
            "set interface ip6 table host-tun9 10",
            "set interface ip address tun1 10.9.0.1/24",
            "set interface ip address host-tun9 10.9.0.2/24",
            "set interface ip address tun1 2001:db8:9::1/64",
            "set interface ip address host-tun9 2001:db8:9::2/64",
        ],
    );
    for address in ["10.9.0.2", "2001:db8:9::2"] {
        let text = router.tell(&format!("ping {address} repeat 3 interval 0.1"));
        assert!(text.contains("3 sent, 3 received"), "{text}{}", router.tell("show errors"));
    }
    // What either brings in is punted for as long as it is to be.
    for interface in ["tun1", "host-tun9"] {
        for (state, received) in [("punt", 0), ("up", 2)] {
            router.tell(&format!("set interface state {interface} {state}"));
            let text = router.tell("ping 10.9.0.2 repeat 2 interval 0.1");
            let shown = router.tell(&format!("show interface {interface}"));
            assert!(text.contains(&format!("2 sent, {received} received")), "{text}{shown}");
            assert!(shown.contains("punt"), "{shown}");
        }
    }
    let refused = router.ask("create host-interface name tun9");
    assert!(refused.error.contains("Interface already exists"), "{refused:?}");
    let refused = router.ask("create host-interface name lo mode ip");
    assert!(refused.error.contains("an Ethernet device cannot do `mode ip'"), "{refused:?}");
}

/// `ip` in the router's namespace.
fn at_router(hosts: &TwoHosts, words: &str) {
    let between = hosts.left.namespace().replace("-left", "-router");
    let mut command = std::process::Command::new("ip");
    let done = command.args(["-n", &between]).args(words.split(' ')).output().expect("ip is there");
    assert!(done.status.success(), "ip {words}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Waits until a line about an interface says so; where time counts, a second at most.
#[track_caller]
fn follows(router: &Daemon, interface: &str, says: &str) {
    let start = Instant::now();
    let show = || router.tell(&format!("show hardware-interfaces {interface}"));
    let show = || show() + &router.tell(&format!("show interface {interface}"));
    assert!(eventually(|| show().contains(says)), "no {says:?} in {}", show());
    let time = start.elapsed();
    assert!(!is_timing_wanted() || time < Duration::from_secs(1), "{time:?}");
}

/// Output of a ping that may not be fragmented.
fn big_ping(host: &Host, to: &str) -> String {
    host.attempt(&format!("ping -n -c 1 -W 10 -M do -s 1372 {to}")).1
}

#[test]
fn an_mtu_that_the_host_changes_is_told_to_senders() {
    if !is_root() || !has("ping") {
        return;
    }
    let hosts = TwoHosts::new();
    let targets = ["10.1.2.2", "2001:db8:2::2"];
    for to in targets {
        assert!(big_ping(&hosts.left, to).contains(" 0% packet loss"), "{to}");
    }
    at_router(&hosts, "link set right mtu 1300");
    follows(&hosts.router, "host-right", "1300/0/0/0");
    let four = big_ping(&hosts.left, "10.1.2.2");
    assert!(four.contains("From 10.1.1.1 ") && four.contains("(mtu = 1300)"), "{four}");
    let six = big_ping(&hosts.left, "2001:db8:2::2");
    assert!(
        six.contains("From 2001:db8:1::1 ") && six.contains("Packet too big: mtu=1300"),
        "{six}"
    );
    assert_eq!(counted(&hosts.router, "fatal failure"), 0);
    // An operator's own lower limit stays.
    hosts.router.tell("set interface mtu packet 1290 host-right");
    at_router(&hosts, "link set right mtu 1500");
    std::thread::sleep(Duration::from_millis(1500));
    follows(&hosts.router, "host-right", "1290/0/0/0");
    hosts.router.tell("set interface mtu packet 1500 host-right");
    hosts.left.run("ip route flush cache");
    hosts.left.run("ip -6 route flush cache");
    for to in targets {
        let answer = big_ping(&hosts.left, to);
        assert!(answer.contains(" 0% packet loss"), "{answer}");
    }
}

#[test]
fn a_link_that_goes_down_is_told_to_senders() {
    if !is_root() || !has("ping") {
        return;
    }
    let hosts = TwoHosts::new();
    let ping = |to: &str| hosts.left.attempt(&format!("ping -n -c 2 -i 0.2 -W 5 {to}")).1;
    let is_unreachable = || {
        for to in ["10.1.2.2", "2001:db8:2::2"] {
            let answer = ping(to);
            assert!(answer.contains("nreachable"), "{answer}");
        }
    };
    let is_reachable = || {
        for to in ["10.1.2.2", "2001:db8:2::2"] {
            assert!(eventually(|| ping(to).contains(" 0% packet loss")), "{to}");
        }
    };
    is_reachable();
    // Switched off here, no carrier because of the other end, another name, nothing.
    at_router(&hosts, "link set right down");
    follows(&hosts.router, "host-right", " down  host-right");
    is_unreachable();
    at_router(&hosts, "link set right up");
    follows(&hosts.router, "host-right", " up   host-right");
    is_reachable();
    hosts.right.run("ip link set eth0 down");
    follows(&hosts.router, "host-right", " down  host-right");
    is_unreachable();
    hosts.right.run("ip link set eth0 up");
    hosts.right.run("ip route replace default via 10.1.2.1");
    hosts.right.run("ip addr replace 2001:db8:2::2/64 dev eth0 nodad");
    hosts.right.run("ip -6 route replace default via 2001:db8:2::1");
    follows(&hosts.router, "host-right", " up   host-right");
    is_reachable();
    for words in ["link set right down", "link set right name other", "link set other up"] {
        at_router(&hosts, words);
    }
    is_reachable();
    at_router(&hosts, "link set other mtu 1400");
    follows(&hosts.router, "host-right", "1400/0/0/0");
    at_router(&hosts, "link del other");
    follows(&hosts.router, "host-right", " down  host-right");
    is_unreachable();
}
