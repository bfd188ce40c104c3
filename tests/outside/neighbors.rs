//! Neighbours, routers and hosts, as the kernel sees them.

use tests::capture::decoded;
use tests::{Host, Running, TwoHosts, eventually, has, is_root};

fn hosts() -> Option<TwoHosts> {
    (is_root() && has("ping")).then(TwoHosts::new)
}

fn sure(hosts: &TwoHosts, commands: &[&str]) {
    for command in commands {
        assert_eq!(hosts.router.tell(command), "", "{command}");
    }
}

fn reaches(host: &Host, address: &str) {
    let text = host.run(&format!("ping -n -c 3 -i 0.2 -W 10 {address}"));
    assert!(text.contains("3 received, 0% packet loss"), "{text}");
}

/// Captures what a host's device sees; the file is complete once the capture is dropped.
fn capture(host: &Host, file: &std::path::Path) -> Option<Running> {
    has("tcpdump")
        .then(|| host.start(&format!("tcpdump --immediate-mode -U -i eth0 -w {}", file.display())))
}

#[test]
fn a_host_configures_itself_from_our_advertisements() {
    let Some(hosts) = hosts() else { return };
    let file = std::env::temp_dir().join(format!("{}.pcap", tests::unique()));
    let capturing = capture(&hosts.left, &file);
    hosts.left.run("ip -6 route del default");
    sure(
        &hosts,
        &[
            "ip6 nd host-left prefix 2001:db8:77::/64 infinite",
            "ip6 nd host-left ra-interval 4 3",
            "ip6 nd host-left no ra-suppress",
        ],
    );
    let addresses = || hosts.left.run("ip -6 addr show dev eth0");
    assert!(eventually(|| addresses().contains("2001:db8:77:")), "{}", addresses());
    let routes = || hosts.left.run("ip -6 route show default");
    assert!(eventually(|| routes().contains("proto ra")), "{}", routes());
    reaches(&hosts.left, "2001:db8:2::2");
    sure(&hosts, &["ip6 nd host-left ra-cease"]);
    assert!(eventually(|| !routes().contains("proto ra")), "{}", routes());
    drop(capturing);
    if file.exists() && has("tshark") {
        let lines = decoded(&file);
        assert!(lines.iter().any(|line| line.contains("Router Advertisement")), "{lines:#?}");
    }
    let _ = std::fs::remove_file(file);
}

#[test]
fn an_address_in_use_is_a_duplicate_for_us_and_for_the_host() {
    let Some(hosts) = hosts() else { return };
    sure(
        &hosts,
        &[
            "set ip6 dad enable transmits 1 delay 1",
            "set interface ip address host-left 2001:db8:1::2/64",
            "set interface ip address host-left 2001:db8:1::99/64",
        ],
    );
    let state = |address: &str, state: &str| {
        let text = hosts.router.tell("show ip6 dad");
        let line = text.lines().find(|line| line.contains(&format!(" {address} ")));
        line.is_some_and(|line| line.contains(state))
    };
    let shown = || hosts.router.tell("show ip6 dad");
    assert!(eventually(|| state("2001:db8:1::2", "duplicate")), "{}", shown());
    assert!(eventually(|| state("2001:db8:1::99", "preferred")), "{}", shown());
    hosts.left.run("ip -6 addr add 2001:db8:1::99/64 dev eth0");
    let addresses = || hosts.left.run("ip -6 addr show dev eth0");
    assert!(eventually(|| addresses().contains("dadfailed")), "{}", addresses());
}

#[test]
fn hosts_reach_each_other_through_proxies() {
    let Some(hosts) = hosts() else { return };
    // The left host believes that the right one's networks are on its link.
    hosts.left.run("ip route add 10.1.2.0/24 dev eth0");
    hosts.left.run("ip -6 route add 2001:db8:2::/64 dev eth0");
    sure(
        &hosts,
        &[
            "set arp proxy start 10.1.2.2 end 10.1.2.99",
            "set interface proxy-arp host-left",
            "set ip6 nd proxy host-right 2001:db8:2::2",
        ],
    );
    reaches(&hosts.left, "10.1.2.2");
    reaches(&hosts.left, "2001:db8:2::2");
    let text = hosts.left.run("ip neigh show dev eth0");
    assert!(text.contains("10.1.2.2 ") && text.contains("2001:db8:2::2 "), "{text}");
}

#[test]
fn neighbours_that_are_gone_are_forgotten_when_time_passes() {
    let Some(hosts) = hosts() else { return };
    sure(&hosts, &["set ip neighbor-config ip4 age 600"]);
    reaches(&hosts.left, "10.1.1.1");
    reaches(&hosts.right, "10.1.2.1");
    hosts.left.run("ip addr del 10.1.1.2/24 dev eth0");
    let knows = |address: &str| {
        let text = hosts.router.tell("show ip4 neighbors");
        text.contains(&format!(" {address} "))
    };
    assert!(knows("10.1.1.2") && knows("10.1.2.2"));
    // So far that they are asked, and no further: there is time for an answer.
    sure(&hosts, &["set clock adjust 600"]);
    let shown = || hosts.router.tell("show ip4 neighbors");
    assert!(eventually(|| !knows("10.1.1.2")), "{}", shown());
    assert!(knows("10.1.2.2"), "it answered when it was asked:\n{}", shown());
}

/// The line with the address of an interface.
fn mac(hosts: &TwoHosts, interface: &str) -> String {
    let text = hosts.router.tell(&format!("show hardware-interfaces {interface}"));
    let line = text.lines().find(|line| line.contains("Ethernet address"));
    line.unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn a_router_that_is_killed_and_started_again_is_reached_at_once_by_the_same_address() {
    let Some(mut hosts) = hosts() else { return };
    let more = [
        "create tap id 7 host-if-name seven",
        "create memif socket id 7 filename seven.sock",
        "create interface memif id 1 socket-id 7 master",
    ];
    for line in more {
        hosts.router.tell(line);
    }
    let macs = |hosts: &TwoHosts| ["host-left", "tap7", "memif7/1"].map(|name| mac(hosts, name));
    let before = macs(&hosts);
    let addresses = ["10.1.1.1", "2001:db8:1::1"];
    addresses.iter().for_each(|address| reaches(&hosts.left, address));
    hosts.router.kill_and_start();
    for line in more {
        hosts.router.tell(line);
    }
    hosts.router.tell("create host-interface name left");
    assert_eq!(macs(&hosts), before);
    // With another one the announcement tells the host; the address last, as in most files.
    sure(
        &hosts,
        &[
            "set interface mac address host-left 02:fe:00:00:07:07",
            "set interface state host-left up",
            "set interface ip address host-left 10.1.1.1/24",
            "set interface ip address host-left 2001:db8:1::1/64",
        ],
    );
    for address in addresses {
        let known = || hosts.left.run(&format!("ip neigh show {address}"));
        assert!(eventually(|| known().contains("02:fe:00:00:07:07")), "{}", known());
        reaches(&hosts.left, address);
    }
}
