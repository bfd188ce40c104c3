//! Six hosts on one bridge domain: three on ports of their own, three behind another switch that
//! tags their frames (one VLAN, another one, one within one), and the router itself.

use std::path::PathBuf;

use tests::capture::frames;
use tests::{Daemon, Host, eventually, has, is_root, is_timing_wanted};

use crate::two_hosts::received;

/// The hosts on ports of the domain; others are behind the trunk.
const NEAR: [usize; 3] = [1, 2, 6];
/// Hosts behind the trunk: number, words of their sub-interface, tags.
const FAR: [(usize, &str, u32); 3] =
    [(3, "10", 1), (4, "20", 1), (5, "30 dot1q 30 inner-dot1q 7 exact-match", 2)];

struct Bridge {
    switch: Daemon,
    _access: Daemon,
    /// By number, from 1 on; the first holds the switch's namespace.
    hosts: Vec<Host>,
    _behind: Host,
}

fn host_interface(name: &str) -> [String; 2] {
    [format!("create host-interface name {name}"), format!("set interface state host-{name} up")]
}

/// A sub-interface of a trunk, up, without its tags.
fn sub(trunk: &str, words: &str, tags: u32) -> [String; 3] {
    let id = words.split(' ').next().unwrap();
    [
        format!("create sub-interfaces host-{trunk} {words}"),
        format!("set interface state host-{trunk}.{id} up"),
        format!("set interface l2 tag-rewrite host-{trunk}.{id} pop {tags}"),
    ]
}

fn start(host: &Host, lines: &[String]) -> Daemon {
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    Daemon::start_in(host.namespace(), "", &lines)
}

impl Bridge {
    fn new() -> Self {
        let (between, access) = (Host::alone(), Host::alone());
        let mut hosts = vec![between];
        hosts.extend((1..=6).map(|_| Host::alone()));
        between_trunk(&hosts[0], &access);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        ours.extend(host_interface("trunk"));
        theirs.extend(host_interface("uplink"));
        for n in NEAR {
            hosts[0].connect(&format!("port{n}"), &hosts[n], "eth0");
            ours.extend(host_interface(&format!("port{n}")));
            ours.push(format!("set interface l2 bridge host-port{n} 5"));
        }
        for (n, words, tags) in FAR {
            access.connect(&format!("port{n}"), &hosts[n], "eth0");
            ours.extend(sub("trunk", words, tags));
            theirs.extend(host_interface(&format!("port{n}")));
            theirs.extend(sub("uplink", words, tags));
            let id = words.split(' ').next().unwrap();
            ours.push(format!("set interface l2 bridge host-trunk.{id} 5"));
            let (port, uplink) = (format!("host-port{n}"), format!("host-uplink.{id}"));
            theirs.push(format!("set interface l2 xconnect {port} {uplink}"));
            theirs.push(format!("set interface l2 xconnect {uplink} {port}"));
        }
        for (n, host) in hosts.iter().enumerate().skip(1) {
            host.run(&format!("ip addr add 10.5.0.{n}/24 dev eth0"));
            host.own(&format!("2001:db8:5::{n}/64 dev eth0 nodad"));
        }
        ours.extend(
            [
                "bvi create",
                "set interface state bvi0 up",
                "set interface l2 bridge bvi0 5 bvi",
                "set interface ip address bvi0 10.5.0.254/24",
                "set interface ip address bvi0 2001:db8:5::254/64",
            ]
            .map(str::to_owned),
        );
        let (switch, access_switch) = (start(&hosts[0], &ours), start(&access, &theirs));
        Self { switch, _access: access_switch, hosts, _behind: access }
    }
    fn reaches(&self, from: usize, to: &str) -> bool {
        let (_, text) = self.hosts[from].attempt(&format!("ping -n -c 1 -W 5 {to}"));
        text.contains(" 0% packet loss")
    }
    fn mac(&self, n: usize) -> String {
        self.hosts[n].run("cat /sys/class/net/eth0/address").trim().to_owned()
    }
    /// The line of `show l2fib` about an address.
    fn entry(&self, mac: &str) -> Option<String> {
        let text = self.switch.tell("show l2fib verbose");
        text.lines().find(|line| line.contains(mac)).map(str::to_owned)
    }
    /// Frames that a port sends meanwhile.
    fn captured(&self, port: &str, work: impl FnOnce()) -> Vec<Vec<u8>> {
        let file: PathBuf = self.switch.folder().join("sent.pcap");
        let on = format!("pcap trace tx max 10000 intfc {port} file {}", file.display());
        self.switch.tell(&on);
        work();
        let said = self.switch.tell("pcap trace tx off");
        if said.contains("No packets") { Vec::new() } else { frames(&file) }
    }
}

/// A cable that carries frames with two tags.
fn between_trunk(switch: &Host, access: &Host) {
    switch.connect("trunk", access, "uplink");
    switch.run("ip link set trunk mtu 1508");
    access.run("ip link set uplink mtu 1508");
}

/// Whether a frame requests an IPv4 address.
fn asks_for(frame: &[u8], host: u8) -> bool {
    frame.get(12..14) == Some(&[8, 6])
        && frame.get(20..22) == Some(&[0, 1])
        && frame.get(38..42) == Some(&[10, 5, 0, host])
}

#[test]
fn every_pair_on_a_bridge_domain_talks_whatever_its_tags() {
    if !is_root() || !has("ping") || !has("iperf3") {
        return;
    }
    let bridge = Bridge::new();
    for from in 1..=6 {
        for to in [1, 2, 3, 4, 5, 6, 254].into_iter().filter(|to| *to != from) {
            for addr in [format!("10.5.0.{to}"), format!("2001:db8:5::{to}")] {
                assert!(bridge.reaches(from, &addr), "{from} to {addr}");
            }
        }
    }
    let port = |n: usize| match FAR.iter().find(|far| far.0 == n) {
        Some((_, words, _)) => format!("host-trunk.{}", words.split(' ').next().unwrap()),
        None => format!("host-port{n}"),
    };
    for n in 1..=6 {
        let entry = bridge.entry(&bridge.mac(n)).expect("it was learned");
        assert!(entry.contains(&port(n)), "{n}: {entry}");
    }
    // Segments of 64 KB, checksums still to be filled in, get tags and lose them.
    for (from, to) in [(1, 3), (3, 5), (5, 1), (2, 6)] {
        let options = format!("-c 10.5.0.{to} -t 1");
        let text = bridge.hosts[from].iperf3(&bridge.hosts[to], &options);
        assert!(received(&text) > 0.0, "{from} to {to}: {text}");
    }
    // One host goes away, another one comes up elsewhere with its address.
    let mac = bridge.mac(1);
    bridge.hosts[1].run("ip link set eth0 down");
    bridge.hosts[6].run(&format!("ip link set eth0 address {mac}"));
    bridge.hosts[6].run("ip neigh flush dev eth0");
    assert!(eventually(|| bridge.reaches(6, "10.5.0.254")));
    let entry = bridge.entry(&mac).expect("it was learned anew");
    assert!(entry.contains("host-port6"), "{entry}");
    let errors = bridge.switch.tell("show errors");
    assert!(errors.contains("L2 mac moves"), "{errors}");
}

#[test]
fn hosts_of_a_split_horizon_group_do_not_hear_each_other() {
    if !is_root() || !has("ping") {
        return;
    }
    let bridge = Bridge::new();
    for port in ["host-port1", "host-trunk.10"] {
        bridge.switch.tell(&format!("set interface l2 bridge {port} 5 7"));
    }
    let heard = bridge.captured("any", || {
        assert!(!bridge.reaches(1, "10.5.0.3"), "of its own group");
        assert!(bridge.reaches(1, "10.5.0.4") && bridge.reaches(3, "10.5.0.2"));
        assert!(bridge.reaches(1, "10.5.0.254") && bridge.reaches(3, "10.5.0.254"));
    });
    // Behind the trunk its request is heard in other VLANs only; others may ask where they wish.
    let mac: Vec<u8> =
        bridge.mac(1).split(':').map(|b| u8::from_str_radix(b, 16).expect("a byte")).collect();
    let asked = heard.iter().filter(|f| f.get(6..14) == Some(&[&mac[..], &[0x81, 0]].concat()[..]));
    let asked = asked.filter(|f| {
        let untagged = |tags: usize| [&f[..12], &f[12 + 4 * tags..]].concat();
        (1..=2).any(|tags| f.len() >= 42 + 4 * tags && asks_for(&untagged(tags), 3))
    });
    let vlans: Vec<u16> = asked.map(|f| u16::from_be_bytes([f[14] & 15, f[15]])).collect();
    assert!(vlans.contains(&20) && vlans.contains(&30) && !vlans.contains(&10), "{vlans:?}");
}

#[test]
fn the_domain_answers_for_owners_it_knows() {
    if !is_root() || !has("ping") {
        return;
    }
    let bridge = Bridge::new();
    for line in [
        "set bridge-domain arp term 5",
        "set bridge-domain arp entry 5 10.5.0.77 02:00:00:00:00:77",
        "set bridge-domain arp entry 5 2001:db8:5::77 02:00:00:00:00:77",
    ] {
        bridge.switch.tell(line);
    }
    let sent = bridge.captured("host-port6", || {
        for (host, addr) in [(1, "10.5.0.77"), (5, "10.5.0.77"), (3, "2001:db8:5::77")] {
            bridge.reaches(host, addr);
            let known = bridge.hosts[host].run(&format!("ip neigh show {addr}"));
            assert!(known.contains("02:00:00:00:00:77"), "{host}: {known}");
        }
        assert!(bridge.reaches(1, "10.5.0.3"), "who is not known is still asked");
    });
    assert!(sent.iter().any(|f| asks_for(f, 3)) && !sent.iter().any(|f| asks_for(f, 77)));
}

#[test]
fn hosts_that_are_silent_are_forgotten() {
    if !is_root() || !has("ping") || !is_timing_wanted() {
        return;
    }
    let bridge = Bridge::new();
    bridge.switch.tell("set bridge-domain mac-age 5 1");
    assert!(bridge.reaches(1, "10.5.0.2"));
    let macs = [bridge.mac(1), bridge.mac(2)];
    assert!(macs.iter().all(|mac| bridge.entry(mac).is_some()));
    bridge.hosts[1].run("ip link set eth0 down");
    let speaks = |_| bridge.reaches(2, "10.5.0.254") && bridge.entry(&macs[0]).is_some();
    for _ in (0..30).take_while(|n| speaks(*n)) {
        std::thread::sleep(std::time::Duration::from_secs(5));
    }
    assert!(bridge.entry(&macs[0]).is_none(), "it said nothing for a minute");
    assert!(bridge.entry(&macs[1]).is_some(), "it spoke all the time");
}
