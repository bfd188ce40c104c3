//! Interfaces on devices that DPDK drives.

use std::path::Path;
use std::process::Command;

use tests::{Daemon, Host, eventually, has, is_root, skip, unique};

/// Builds the daemon's library; false, with a message, where DPDK is missing.
fn build(folder: &Path) -> bool {
    let there = Command::new("pkg-config").args(["--exists", "libdpdk >= 22.11"]).status();
    if !there.is_ok_and(|status| status.success()) {
        skip("libdpdk-dev is not installed");
        return false;
    }
    let script = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/dpdk.sh"));
    let built = Command::new(script).arg(folder).output().expect("the script is there");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    true
}

/// A folder of a test's own.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(unique());
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A device here whose other end is `eth0` of a host, whose kernel completes all packets.
struct Device(String);

impl Device {
    fn to(host: &Host) -> Self {
        let name = unique().replace("fvt", "d");
        let namespace = host.namespace();
        ip(&format!("link add {name} type veth peer name eth0 netns {namespace}"));
        ip(&format!("link set {name} up"));
        ip(&format!("-n {namespace} link set eth0 up"));
        if has("ethtool") {
            host.run("ethtool -K eth0 tx off tso off gso off");
        }
        Self(name)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["link", "del", &self.0]).output();
    }
}

fn ip(line: &str) {
    let done = Command::new("ip").args(line.split_whitespace()).output().expect("ip is installed");
    assert!(done.status.success(), "ip {line}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A counter of `show interface`.
fn count(daemon: &Daemon, interface: &str, what: &str) -> u64 {
    let text = daemon.tell(&format!("show interface {interface}"));
    let line = text.lines().find_map(|line| line.split_once(what));
    line.and_then(|(_, n)| n.trim().parse().ok()).unwrap_or(0)
}

fn stanza(folder: &Folder, devices: &str) -> String {
    let library = folder.0.display();
    format!("dpdk {{ no-hugepages socket-mem 128 no-pci library {library} {devices} }}")
}

#[test]
fn hosts_talk_over_devices_of_dpdk() {
    if !is_root() || !has("ping") {
        return;
    }
    let folder = Folder::new();
    if !build(&folder.0) {
        return;
    }
    let (left, right) = (Host::alone(), Host::alone());
    let (one, two) = (Device::to(&left), Device::to(&right));
    let devices = format!("vdev net_af_packet0,iface={} {{ name left num-rx-desc 256 }}", one.0);
    let router = Daemon::start_with(&stanza(&folder, &devices), &[]);
    let made =
        router.ask(&format!("create interface dpdk net_af_packet1,iface={} name right", two.0));
    assert_eq!(made.text, "right\n", "{}", made.error);
    for (n, name, host) in [(1, "left", &left), (2, "right", &right)] {
        router.tell(&format!("set interface state {name} up"));
        router.tell(&format!("set interface ip address {name} 10.1.{n}.1/24"));
        router.tell(&format!("set interface ip address {name} 2001:db8:{n}::1/64"));
        host.run(&format!("ip address add 10.1.{n}.2/24 dev eth0"));
        host.run(&format!("ip address add 2001:db8:{n}::2/64 dev eth0 nodad"));
        host.run(&format!("ip route add default via 10.1.{n}.1"));
        host.run(&format!("ip -6 route add default via 2001:db8:{n}::1"));
    }
    for (address, size) in [("10.1.2.2", 56), ("2001:db8:2::2", 1400), ("10.1.1.1", 56)] {
        let line = format!("ping -n -c 3 -i 0.2 -W 10 -s {size} {address}");
        let reaches = || left.attempt(&line).1.contains("3 received, 0% packet loss");
        let shown = || router.tell("show errors") + &router.tell("show hardware-interfaces");
        assert!(eventually(reaches), "{address}: {}", shown());
    }
    if has("iperf3") && has("ethtool") {
        for address in ["10.1.2.2", "2001:db8:2::2"] {
            let text = left.iperf3(&right, &format!("-c {address} -t 1"));
            assert!(crate::two_hosts::received(&text) > 1.0, "{text}");
        }
    }
    let shown = router.tell("show hardware-interfaces right");
    assert!(shown.contains("driver net_af_packet"), "{shown}");
    // Only what a command made is in the configuration; the rest is in startup.conf.
    let configuration = router.tell("show configuration");
    assert!(
        configuration.contains("create interface dpdk net_af_packet1,iface="),
        "{configuration}"
    );
    assert!(!configuration.contains("net_af_packet0"), "{configuration}");
    assert_eq!(router.tell("delete interface dpdk left"), "");
    assert!(!left.attempt("ping -n -c 1 -W 1 10.1.1.1").0);
    // Gone with all its resources: it can be made again.
    let again = format!("create interface dpdk net_af_packet0,iface={} name left", one.0);
    assert!(eventually(|| router.ask(&again).text == "left\n"), "{}", router.ask(&again).error);
}

#[test]
fn memif_of_dpdk_is_a_peer_and_rings_are_loops() {
    let folder = Folder::new();
    if !build(&folder.0) {
        return;
    }
    let router = Daemon::start_with(&stanza(&folder, "vdev net_ring0 vdev net_null0"), &[]);
    for (line, why) in [
        ("create interface dpdk net_nothing0", "net_nothing0: No such device"),
        ("create interface dpdk net_ring0 name other", "net_ring0 already has an interface"),
        ("create interface dpdk net_ring7 name net_null0", "interface name `net_null0' is in use"),
        ("create interface dpdk net_ring7 num-rx-queues 0", "num-rx-queues is not 0"),
        ("create interface dpdk net_ring7 num-rx-queues 17", "at most 16 receive queues"),
        ("delete interface dpdk local0", "not an interface on a DPDK device"),
    ] {
        let answer = router.ask(line);
        assert!(answer.error.contains(why), "{line}: {}{}", answer.text, answer.error);
    }
    let socket = folder.0.join("m");
    router.tell(&format!("create memif socket id 1 filename {}", socket.display()));
    router.tell("create interface memif id 0 socket-id 1 master");
    let device =
        format!("net_memif0,role=client,id=0,socket-abstract=no,socket={}", socket.display());
    for _ in 0..3 {
        router.tell(&format!("create interface dpdk {device} name theirs"));
        for interface in ["memif1/0", "theirs", "net_ring0"] {
            router.tell(&format!("set interface state {interface} up"));
        }
        let is_linked = || {
            ["memif1/0", "theirs"].iter().all(|interface| {
                let text = router.tell(&format!("show hardware-interfaces {interface}"));
                text.lines().any(|line| line.starts_with(interface) && line.contains(" up "))
            })
        };
        assert!(eventually(is_linked), "{}", router.tell("show hardware-interfaces"));
        router.tell("clear interfaces");
        // Packets to one end are received at the other, long packets in pieces.
        for (from, to, size) in [
            ("memif1/0", "theirs", "60-1500"),
            ("theirs", "memif1/0", "60-1500"),
            ("net_ring0", "net_ring0", "60-4000"),
        ] {
            let (sent, received) =
                (count(&router, from, "tx packets"), count(&router, to, "rx packets"));
            router.tell(&format!(
                "packet-generator new {{ name x limit 200 node {from}-output size {size} data {{ \
                 IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:02 UDP: 10.0.0.1 -> 10.0.0.2 UDP: 1 -> 2 \
                 incrementing 10 }} }}"
            ));
            router.generate();
            let arrived = || {
                let rx = count(&router, to, "rx packets") - received;
                (count(&router, from, "tx packets") - sent, rx) == (200, 200)
            };
            let shown = || router.tell("show interface") + &router.tell("show errors");
            assert!(eventually(arrived), "{from} {to}: {}", shown());
            router.tell("packet-generator delete x");
        }
        let (rx, tx) = ("rx bytes", "tx bytes");
        assert_eq!(count(&router, "theirs", rx), count(&router, "memif1/0", tx));
        assert_eq!(count(&router, "theirs", tx), count(&router, "memif1/0", rx));
        router.tell("delete interface dpdk theirs");
        let is_alone = || router.tell("show hardware-interfaces memif1/0").contains("down");
        assert!(eventually(is_alone));
    }
}

#[test]
fn without_dpdk_the_router_runs_and_says_so() {
    let folder = Folder::new();
    let router = Daemon::start_with(&stanza(&folder, "vdev net_null0"), &[]);
    let log = router.tell("show logging");
    assert!(log.contains("DPDK: no ") && log.contains("ferrovia_dpdk.so"), "{log}");
    let answer = router.ask("create interface dpdk net_null0");
    assert!(answer.error.contains("ferrovia_dpdk.so"), "{}", answer.error);
    assert!(router.tell("show interface").contains("local0"));
}
