//! The path through the router as the kernel's hosts see it, and the router of theirs: hops, and
//! packets of all sizes.

use tests::{Host, TwoHosts, has, is_root};

fn hosts(program: &str) -> Option<TwoHosts> {
    (is_root() && has(program)).then(TwoHosts::new)
}

/// Pings with `size` bytes of data that may not be cut on the way.
fn uncut(host: &Host, address: &str, size: usize) -> (bool, String) {
    host.attempt(&format!("ping -n -c 3 -i 0.2 -W 10 -M do -s {size} {address}"))
}

#[test]
fn the_kernels_traceroute_shows_the_address_it_came_in_at() {
    let Some(hosts) = hosts("traceroute") else { return };
    for (to, address, router, back) in [
        (&hosts.left, "10.1.2.2", "10.1.1.1", "10.1.1.2"),
        (&hosts.left, "2001:db8:2::2", "2001:db8:1::1", "2001:db8:1::2"),
        (&hosts.right, "10.1.1.2", "10.1.2.1", "10.1.2.2"),
    ] {
        for how in ["", "-I", "-T"] {
            let text = to.run(&format!("traceroute -n -q 2 -w 10 -m 5 {how} {address}"));
            let hops: Vec<_> = text.lines().skip(1).map(str::trim).collect();
            assert_eq!(hops.len(), 2, "{back} {how}: {text}");
            assert!(hops[0].starts_with(&format!("1  {router}  ")), "{text}");
            assert!(hops[1].starts_with(&format!("2  {address}  ")), "{text}");
        }
    }
}

#[test]
fn our_traceroute_shows_the_kernels_hops() {
    let Some(hosts) = hosts("ping") else { return };
    // The left host routes on to addresses that only it has.
    hosts.left.run("ip addr add 10.1.9.9/32 dev lo");
    hosts.left.own("2001:db8:9::9/128 dev lo");
    for line in [
        "ip route add 10.1.9.0/24 via 10.1.1.2 host-left",
        "ip route add 2001:db8:9::/48 via 2001:db8:1::2 host-left",
    ] {
        assert_eq!(hosts.router.tell(line), "");
    }
    for (address, from) in [("10.1.9.9", "10.1.1.1"), ("2001:db8:9::9", "2001:db8:1::1")] {
        for how in ["", "icmp"] {
            let text = hosts.router.tell(&format!("traceroute {address} wait 10 {how}"));
            let head = format!("traceroute to {address} from {from}, 30 hops max, 60 byte packets");
            let lines: Vec<_> = text.lines().collect();
            assert_eq!(lines[0], head, "{text}");
            assert!(lines[1].starts_with(&format!(" 1  {address}  ")), "{text}");
            assert_eq!(lines.len(), 2, "{text}");
        }
    }
    // A router that knows no further, and one that sends everything back to us.
    hosts.left.set("ipv4/ip_forward", "1");
    hosts.left.run("ip route add unreachable 10.1.9.128/25");
    let text = hosts.router.tell("traceroute 10.1.9.129 queries 1 wait 10");
    let lines: Vec<_> = text.lines().skip(1).collect();
    assert!(lines.len() == 1 && lines[0].starts_with(" 1  10.1.1.2  "), "{text}");
    assert!(lines[0].ends_with(" ms !H"), "{text}");
    let text = hosts.router.tell("traceroute 10.1.9.10 queries 1 max 2 wait 10");
    let lines: Vec<_> = text.lines().skip(1).collect();
    assert!(lines.len() == 2 && lines[0].starts_with(" 1  10.1.1.2  "), "{text}");
    assert!(lines[1].starts_with(" 2  10.1.1.1  "), "{text}");
}

#[test]
fn routes_of_one_family_go_through_addresses_of_the_other() {
    let Some(hosts) = hosts("ping") else { return };
    hosts.left.run("ip addr add 10.1.9.9/32 dev lo");
    hosts.left.own("2001:db8:9::9/128 dev lo");
    // IPv4 through an IPv6 route to a neighbour, IPv6 through an IPv4 neighbour.
    for line in [
        "ip route add 10.1.9.0/24 via 2001:db8:7::1",
        "ip route add 2001:db8:7::/48 via 2001:db8:1::2 host-left",
        "ip route add 2001:db8:9::/48 via 10.1.1.2",
    ] {
        assert_eq!(hosts.router.tell(line), "");
    }
    // A kernel that has to ask for its router does so by the address it answers from, which is of
    // no network there.
    hosts.left.run("ping -n -c 1 10.1.1.1");
    for address in ["10.1.9.9", "2001:db8:9::9"] {
        let text = hosts.right.run(&format!("ping -n -c 3 -i 0.2 -W 10 {address}"));
        assert!(text.contains("3 received"), "{text}");
    }
    assert_eq!(hosts.router.tell("ip route del 2001:db8:7::/48"), "");
    let (is_done, text) = hosts.right.attempt("ping -n -c 1 -W 1 10.1.9.9");
    assert!(!is_done && text.contains("0 received"), "{text}");
}

#[test]
fn the_longest_pings_come_back_in_pieces() {
    let Some(hosts) = hosts("ping") else { return };
    for address in ["10.1.1.2", "2001:db8:2::2"] {
        for size in [1500, 9000, 65_499] {
            let ping = format!("ping {address} repeat 2 interval 0.1 size {size}");
            let text = hosts.router.tell(&ping);
            assert!(text.ends_with("2 sent, 2 received, 0% packet loss\n"), "{size}: {text}");
        }
    }
    // And the other way round: the kernel's longest, which this router puts together and answers.
    for address in ["10.1.1.1", "10.1.2.2", "2001:db8:1::1", "2001:db8:2::2"] {
        let size = if address.contains('.') { 65_507 } else { 65_000 };
        let text = hosts.left.run(&format!("ping -n -c 2 -i 0.2 -W 10 -s {size} {address}"));
        assert!(text.contains("2 received, 0% packet loss"), "{text}");
    }
}

#[test]
fn jumbo_frames_pass_where_the_links_carry_them() {
    if !is_root() || !has("ping") {
        return;
    }
    let hosts = TwoHosts::with_mtu("", 9000);
    let jumbo = |address: &str| 9000 - if address.contains('.') { 28 } else { 48 };
    for address in ["10.1.2.2", "2001:db8:2::2", "10.1.1.1", "2001:db8:1::1"] {
        let (is_ok, text) = uncut(&hosts.left, address, jumbo(address));
        assert!(is_ok && text.contains("3 received, 0% packet loss"), "{text}");
    }
    // A link that carries less says so, with its MTU.
    assert_eq!(hosts.router.tell("set interface mtu packet 4000 host-right"), "");
    for address in ["10.1.2.2", "2001:db8:2::2"] {
        let (_, text) = uncut(&hosts.left, address, jumbo(address));
        assert!(text.contains("mtu = 4000") || text.contains("mtu=4000"), "{text}");
    }
}
