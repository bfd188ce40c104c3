//! Hosts of the kernel talk through NAT44 and NAT64: TCP connections by the hundred, DNS, ping and
//! traceroute, while rules and pools change.
//!
//! With `FERROVIA_TIMING=1` there are 1,000 connections.

use std::fmt::Write;
use std::path::PathBuf;
use std::thread::{self, sleep};
use std::time::Duration;

use tests::{Host, Running, TwoHosts, eventually, has, is_root, is_timing_wanted};

use crate::workers::{both, two_workers};

/// The script that serves and asks.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/outside/serving.py");
/// The server's name, which has an IPv4 address only.
const NAME: &str = "www.example.net";

/// Connections, and seconds that they last at least.
fn load() -> (usize, u32) {
    if is_timing_wanted() { (1000, 20) } else { (100, 4) }
}

/// Starts a server of lines at port 8080 of a host: each comes back with the address of its sender.
pub fn serve_on(host: &Host, address: &str) -> Running {
    let server = host.start(&format!("python3 {SCRIPT} serve {address} 8080"));
    let is_one = |line: &str| line.contains(":1F90 ") && line.contains(" 0A ");
    let is_listening = || host.run("cat /proc/net/tcp").lines().any(is_one);
    assert!(eventually(is_listening), "the server does not listen");
    server
}

/// A name server with DNS64 in a folder of its own. Dropping it ends it.
struct Resolver {
    folder: PathBuf,
    _running: Running,
}

impl Resolver {
    fn start(host: &Host) -> Self {
        let folder = std::env::temp_dir().join(host.namespace());
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.display();
        let zone = format!(
            "example.net. 60 IN SOA ns.example.net. root.example.net. 1 60 60 60 60\n\
             example.net. 60 IN NS ns.example.net.\n{NAME}. 60 IN A 10.1.2.2\n"
        );
        std::fs::write(folder.join("zone"), zone).unwrap();
        let mut config = format!(
            "server:\n directory: \"{path}\"\n chroot: \"\"\n username: \"\"\n pidfile: \"\"\n\
             use-syslog: no\n do-daemonize: no\n interface: 10.1.2.2\n interface: 2001:db8:2::2\n\
             access-control: 0.0.0.0/0 allow\n access-control: ::/0 allow\n\
             module-config: \"dns64 iterator\"\n dns64-prefix: 64:ff9b::/96\n"
        );
        writeln!(
            config,
            "auth-zone:\n name: \"example.net\"\n zonefile: \"{path}/zone\"\n\
             for-downstream: no\n for-upstream: yes\n\
             remote-control:\n control-enable: no"
        )
        .unwrap();
        let file = folder.join("unbound.conf");
        std::fs::write(&file, config).unwrap();
        let running = host.start(&format!("unbound -d -c {}", file.display()));
        Self { folder, _running: running }
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Keeps connections of the left host with the server busy while `change` is called again and again
/// with the number of the call; returns the addresses that the server saw.
fn under_load(hosts: &TwoHosts, address: &str, mut change: impl FnMut(usize)) -> Vec<String> {
    let (connections, seconds) = load();
    let words = format!("python3 {SCRIPT} ask {address} 8080 {connections} {seconds}");
    let resent = || {
        let text = hosts.left.run("cat /proc/net/snmp");
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let mut both = names.split(' ').zip(values.split(' '));
        both.find(|(name, _)| *name == "RetransSegs").unwrap().1.parse::<u64>().unwrap()
    };
    let before = resent();
    let mut count = 0;
    let text = thread::scope(|scope| {
        let asking = scope.spawn(|| hosts.left.run(&words));
        while !asking.is_finished() {
            change(count);
            count += 1;
            sleep(Duration::from_millis(100));
        }
        asking.join().unwrap()
    });
    println!("{text} changes {count} segments sent again {}", resent() - before);
    let last = text.lines().last().unwrap();
    assert!(last.contains(&format!("connections {connections} ")), "{text}");
    assert!(last.contains(" failures 0 ") && count > 3, "{text}");
    let (_, peers) = last.split_once(" peers ").unwrap();
    peers.split(',').map(str::to_owned).collect()
}

/// Makes the router answer ARP for the addresses of its pools.
const PROXY: [&str; 2] =
    ["set arp proxy start 10.1.2.10 end 10.1.2.50", "set interface proxy-arp host-right enable"];

/// Two hosts around a router with such a configuration; `None` where a program is missing.
fn hosts_with(lines: &[&str]) -> Option<TwoHosts> {
    if !is_root() || !["ping", "traceroute", "dig", "unbound", "python3"].into_iter().all(has) {
        return None;
    }
    Some(told(TwoHosts::new(), lines))
}

fn told(hosts: TwoHosts, lines: &[&str]) -> TwoHosts {
    for line in PROXY.iter().chain(lines) {
        hosts.router.tell(line);
    }
    hosts
}

/// Keeps connections of the hosts busy while there are two workers, one and none.
fn live_on(lines: &[&str], address: &str, outside: &[&str]) {
    let Some(config) = two_workers() else { return };
    let workers = [both(&config), "set workers 0".into(), "set workers 1".into()];
    live_on_while(&config, lines, (address, outside), &workers);
}

/// Keeps connections of the hosts busy while these commands run one after the other.
fn live_on_while(
    config: &str,
    lines: &[&str],
    (address, outside): (&str, &[&str]),
    commands: &[String],
) {
    if !is_root() || !has("python3") {
        return;
    }
    let hosts = told(TwoHosts::with(config), lines);
    let _server = serve_on(&hosts.right, "10.1.2.2");
    let tell = |n: usize| drop(hosts.router.tell(&commands[n % commands.len()]));
    let peers = under_load(&hosts, address, tell);
    assert!(peers.iter().all(|peer| outside.contains(&peer.as_str())), "{peers:?}");
}

#[test]
fn connections_through_nat44_live_on_while_workers_come_and_go() {
    let lines = [
        "nat44 plugin enable sessions 20000",
        "set interface nat44 in host-left out host-right",
        "nat44 add address 10.1.2.10 - 10.1.2.11",
        "set acl-plugin acl permit+reflect src 10.1.1.0/24 dst 0.0.0.0/0",
        "set acl-plugin acl permit dst 0.0.0.0/0 proto 1, deny src 0.0.0.0/0 dst 0.0.0.0/0",
        "set acl-plugin interface host-left input acl 0",
        "set acl-plugin interface host-left output acl 1",
    ];
    live_on(&lines, "10.1.2.2", &["10.1.2.10", "10.1.2.11"]);
}

#[test]
fn connections_through_nat44_live_on_while_they_go_over_to_other_workers() {
    let Some(config) = two_workers() else { return };
    for (kind, set) in [("nat44", "set nat workers"), ("nat44 ei", "set nat44 ei workers")] {
        let lines = [
            format!("{kind} plugin enable sessions 20000"),
            format!("set interface {kind} in host-left out host-right"),
            format!("{kind} add address 10.1.2.10 - 10.1.2.11"),
        ];
        let lines = lines.each_ref().map(String::as_str);
        let commands = ["1", "0", "all"].map(|workers| format!("{set} {workers}"));
        let outside = ["10.1.2.10", "10.1.2.11"];
        live_on_while(&config, &lines, ("10.1.2.2", &outside), &commands);
    }
}

#[test]
fn connections_through_nat64_live_on_while_workers_come_and_go() {
    let lines = [
        "nat64 plugin enable",
        "set interface nat64 in host-left",
        "set interface nat64 out host-right",
        "nat64 add prefix 64:ff9b::/96",
        "nat64 add pool address 10.1.2.40",
    ];
    live_on(&lines, "64:ff9b::a01:202", &["10.1.2.40"]);
}

#[test]
fn connections_through_endpoint_independent_nat_live_on_while_workers_come_and_go() {
    let lines = [
        "nat44 ei plugin enable",
        "set interface nat44 ei in host-left out host-right",
        "nat44 ei add address 10.1.2.10 - 10.1.2.11",
    ];
    live_on(&lines, "10.1.2.2", &["10.1.2.10", "10.1.2.11"]);
}

#[test]
fn connections_through_deterministic_nat_live_on_while_workers_come_and_go() {
    let lines = [
        "det44 plugin enable",
        "set interface det44 inside host-left outside host-right",
        "det44 add in 10.1.1.0/24 out 10.1.2.10/32",
    ];
    live_on(&lines, "10.1.2.2", &["10.1.2.10"]);
}

#[test]
fn connections_through_a_firewall_live_on_while_workers_come_and_go() {
    let lines = [
        "firewall zone inside",
        "firewall zone outside",
        "firewall interface host-left zone inside",
        "firewall interface host-right zone outside",
        "firewall policy inside outside default permit",
    ];
    live_on(&lines, "10.1.2.2", &["10.1.1.2"]);
}

#[test]
fn hosts_are_served_through_nat44_while_rules_and_pools_change() {
    let Some(hosts) = hosts_with(&[
        "nat44 plugin enable sessions 20000",
        "set interface nat44 in host-left out host-right",
        "nat44 add address 10.1.2.10 - 10.1.2.11",
        "set acl-plugin acl permit+reflect src 10.1.1.0/24 dst 0.0.0.0/0",
        "set acl-plugin interface host-left input acl 0",
    ]) else {
        return;
    };
    let _server = serve_on(&hosts.right, "10.1.2.2");
    let _resolver = Resolver::start(&hosts.right);
    let asked = || hosts.left.attempt(&format!("dig +short +tries=1 @10.1.2.2 {NAME}"));
    assert!(eventually(|| asked().1.trim() == "10.1.2.2"), "{}", asked().1);
    let text = hosts.left.run("ping -n -c 5 -i 0.2 -W 10 10.1.2.2");
    assert!(text.contains("5 received, 0% packet loss"), "{text}");
    let text = hosts.left.run("traceroute -n -q 1 -w 10 10.1.2.2");
    let hops: Vec<_> = text.lines().filter_map(|l| l.split_whitespace().nth(1)).collect();
    assert_eq!(hops[1..], ["10.1.1.1", "10.1.2.2"], "{text}");

    let peers = under_load(&hosts, "10.1.2.2", |n| {
        let tell = |line: &str| hosts.router.tell(line);
        match n % 6 {
            0 => tell("nat44 add address 10.1.2.20 tenant-vrf 7"),
            1 => tell("nat44 add static mapping tcp local 10.1.1.9 22 external 10.1.2.10 2222"),
            2 => tell(
                "set acl-plugin acl index 0 permit+reflect src 10.1.1.0/24 dst 0.0.0.0/0, \
                 deny src 10.9.0.0/16 dst 0.0.0.0/0",
            ),
            3 => tell("nat44 add address 10.1.2.20 tenant-vrf 7 del"),
            4 => tell("nat44 add static mapping tcp local 10.1.1.9 22 external 10.1.2.10 2222 del"),
            _ => tell("set acl-plugin acl index 0 permit+reflect src 10.1.1.0/24 dst 0.0.0.0/0"),
        };
    });
    assert!(peers.iter().all(|p| ["10.1.2.10", "10.1.2.11"].contains(&p.as_str())), "{peers:?}");
}

#[test]
fn hosts_are_served_through_nat64_and_dns64_while_pools_change() {
    let Some(hosts) = hosts_with(&[
        "nat64 plugin enable",
        "set interface nat64 in host-left",
        "set interface nat64 out host-right",
        "nat64 add prefix 64:ff9b::/96",
        "nat64 add pool address 10.1.2.40",
    ]) else {
        return;
    };
    let _server = serve_on(&hosts.right, "10.1.2.2");
    let _resolver = Resolver::start(&hosts.right);
    let asked = || hosts.left.attempt(&format!("dig +short +tries=1 @2001:db8:2::2 {NAME} AAAA")).1;
    assert!(eventually(|| asked().trim() == "64:ff9b::a01:202"), "{}", asked());
    let server = asked().trim().to_owned();
    let text = hosts.left.run(&format!("ping -n -c 5 -i 0.2 -W 10 {server}"));
    assert!(text.contains("5 received, 0% packet loss"), "{text}");
    let text = hosts.left.run(&format!("traceroute -n -q 1 -w 10 {server}"));
    let hops: Vec<_> = text.lines().filter_map(|l| l.split_whitespace().nth(1)).collect();
    assert_eq!(hops[1..], ["2001:db8:1::1", &server], "{text}");

    let peers = under_load(&hosts, &server, |n| {
        let tell = |line: &str| hosts.router.tell(line);
        match n % 2 {
            0 => tell("nat64 add pool address 10.1.2.50 tenant-vrf 7"),
            _ => tell("nat64 add pool address 10.1.2.50 tenant-vrf 7 del"),
        };
    });
    assert_eq!(peers, ["10.1.2.40"]);
}
