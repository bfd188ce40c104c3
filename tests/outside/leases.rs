//! Leases of dnsmasq for a client of another router, through relays over IPv4 and IPv6.

use tests::{Daemon, TwoHosts, eventually, has, is_root};

#[test]
fn dnsmasq_behind_a_relay_gives_addresses_to_clients() {
    if !is_root() || !has("dnsmasq") {
        return;
    }
    let hosts = TwoHosts::new();
    let folder = hosts.router.folder().display();
    let ranges = [
        "--dhcp-range=10.1.2.50,10.1.2.60,255.255.255.0,1h",
        "--dhcp-range=2001:db8:2::50,2001:db8:2::60,64,1h",
        "--dhcp-option=option:router,10.1.2.1",
    ];
    let files = format!("--conf-file=/dev/null --dhcp-leasefile={folder}/leases");
    let _server = hosts.left.start(&format!("dnsmasq -k --port=0 {files} {}", ranges.join(" ")));
    for line in [
        "set dhcp proxy server 10.1.1.2 src-address 10.1.2.1",
        "set dhcpv6 proxy server 2001:db8:1::2 src-address 2001:db8:2::1",
    ] {
        assert_eq!(hosts.router.tell(line), "");
    }
    let client = Daemon::start_in(
        hosts.right.namespace(),
        "",
        &[
            "create host-interface name eth0",
            "set interface mac address host-eth0 02:00:00:00:00:77",
            "set interface state host-eth0 up",
            "enable ip6 interface host-eth0",
            "set dhcp client intfc host-eth0 hostname away",
            "dhcp6 client host-eth0",
        ],
    );
    for address in ["10.1.2.5", "2001:db8:2::5"] {
        let addresses = || client.tell("show interface address host-eth0");
        assert!(eventually(|| addresses().contains(address)), "{}", addresses());
    }
    assert!(eventually(|| client.tell("ping 10.1.1.2 repeat 1").contains(" 1 received")));
    let counted = hosts.router.tell("show errors");
    for node in ["dhcp-proxy-to-server", "dhcpv6-proxy-to-server", "dhcpv6-proxy-to-client"] {
        assert!(counted.contains(node), "{counted}");
    }
    assert!(!counted.contains("wrong message type"), "{counted}");
}
