//! A virtual machine with a kernel of its own, behind an interface of vhost-user.

use std::thread::{scope, sleep};
use std::time::Duration;

use tests::{Daemon, Guest, Host, Running, eventually, has, is_root};

use crate::translation::serve_on;
use crate::workers::{both, two_workers};

const NAME: &str = "VirtualEthernet0/0/0";

/// The router with a guest, which is 10.1.0.2 and 2001:db8:1::2.
struct Rig {
    router: Daemon,
    guest: Guest,
}

impl Rig {
    /// None where a guest cannot be.
    fn new(setup: &[String]) -> Option<Self> {
        let router = Daemon::start(&[]);
        let socket = router.folder().join("guest.sock");
        router.tell(&format!("create vhost-user socket {} server", socket.display()));
        for line in [
            format!("set interface state {NAME} up"),
            format!("set interface ip address {NAME} 10.1.0.1/24"),
            format!("set interface ip address {NAME} 2001:db8:1::1/64"),
        ] {
            router.tell(&line);
        }
        for line in setup {
            router.tell(line);
        }
        let guest = Guest::boot(router.folder(), &socket)?;
        let mut rig = Self { router, guest };
        rig.address();
        Some(rig)
    }
    /// Gives the guest its addresses.
    fn address(&mut self) {
        self.guest.run("ip link set lo up; ip link set eth0 up");
        self.guest.run("ip addr add 10.1.0.2/24 dev eth0");
        self.guest.run("ip addr add 2001:db8:1::2/64 dev eth0 nodad");
        self.guest.run("ip route add default via 10.1.0.1");
        self.guest.run("ip -6 route add default via 2001:db8:1::1");
    }
    #[track_caller]
    fn expect(&mut self, address: &str) {
        for size in [56, 1300] {
            let is_reached = eventually(|| self.guest.reaches(address, size));
            assert!(is_reached, "{address}, {size} bytes: {}", self.shown());
        }
    }
    fn shown(&mut self) -> String {
        let links = self.guest.attempt("ip -s link; ip route; ip -6 route").1;
        let ours = ["show vhost-user", "show interface", "show errors"];
        ours.map(|line| self.router.tell(line)).concat() + &links
    }
}

/// Makes a host 10.1.1.2 and 2001:db8:2::2, behind interface tap1 of the router.
fn behind_tap(host: &Host) -> [String; 4] {
    [
        format!(
            "create tap id 1 host-if-name eth0 host-ns {} host-ip4-addr 10.1.1.2/24 host-ip4-gw \
             10.1.1.1 host-ip6-addr 2001:db8:2::2/64 host-ip6-gw 2001:db8:2::1 gso",
            host.namespace()
        ),
        "set interface state tap1 up".to_owned(),
        "set interface ip address tap1 10.1.1.1/24".to_owned(),
        "set interface ip address tap1 2001:db8:2::1/64".to_owned(),
    ]
}

/// Starts a server of iperf3 for one client.
fn serve_iperf3(host: &Host) -> Running {
    let server = host.start("iperf3 -s -1");
    let listens = |line: &str| line.contains(":1451 ") && line.contains(" 0A ");
    assert!(eventually(|| host.run("cat /proc/net/tcp6").lines().any(listens)));
    server
}

/// Mbit/s that iperf3 says it received.
fn rate(text: &str) -> f64 {
    let line = text.lines().find(|line| line.ends_with("receiver"));
    let before = line.and_then(|line| line.split(" Mbits/sec").next());
    before.and_then(|text| text.rsplit(' ').next()?.parse().ok()).unwrap_or(0.0)
}

#[test]
fn a_guest_talks_and_comes_back_after_either_side_was_away() {
    if !is_root() || !has("iperf3") {
        return;
    }
    let host = Host::alone();
    let setup = [&behind_tap(&host)[..], &["save".to_owned()]].concat();
    let Some(mut rig) = Rig::new(&setup) else { return };
    let stream = |rig: &mut Rig, options: &str| {
        let _server = serve_iperf3(&host);
        rig.guest.run(&format!("iperf3 -f m -c {options}"))
    };
    rig.expect("10.1.1.2");
    rig.expect("2001:db8:2::2");
    for options in ["10.1.1.2 -t 3", "10.1.1.2 -t 3 -R", "2001:db8:2::2 -t 3", "10.1.1.2 -n 64K"] {
        let text = stream(&mut rig, options);
        println!("TCP of a guest, iperf3 {options}: {} Mbit/s", rate(&text));
        assert!(rate(&text) > 0.1, "{text}");
    }
    rig.guest.reboot();
    rig.address();
    rig.expect("10.1.1.2");
    rig.router.kill_and_start();
    rig.expect("10.1.1.2");
    rig.expect("2001:db8:1::1");
    let text = stream(&mut rig, "10.1.1.2 -t 2");
    assert!(rate(&text) > 0.1, "{text}");
    let is_empty = || rig.router.tell("show buffers").trim_end().ends_with(" 0");
    assert!(eventually(is_empty), "a buffer was lost: {}", rig.router.tell("show buffers"));
}

/// A tunnel or VLAN: commands of the router, lines of the guest, and who answers at its end.
struct Case {
    ours: &'static [&'static str],
    theirs: &'static [&'static str],
    answers: &'static [&'static str],
}

const CASES: [Case; 8] = [
    Case {
        ours: &[
            "create sub-interfaces VirtualEthernet0/0/0 10",
            "set interface state VirtualEthernet0/0/0.10 up",
            "set interface ip address VirtualEthernet0/0/0.10 10.2.1.1/24",
        ],
        theirs: &[
            "ip link add link eth0 name v10 type vlan id 10",
            "ip addr add 10.2.1.2/24 dev v10",
            "ip link set v10 up",
        ],
        answers: &["10.2.1.1"],
    },
    Case {
        ours: &[
            "create ipip tunnel src 10.1.0.1 dst 10.1.0.2",
            "set interface state ipip0 up",
            "set interface ip address ipip0 10.2.2.1/24",
        ],
        theirs: &[
            "ip link add t2 type ipip local 10.1.0.2 remote 10.1.0.1",
            "ip addr add 10.2.2.2/24 dev t2",
            "ip link set t2 up",
        ],
        answers: &["10.2.2.1"],
    },
    Case {
        ours: &[
            "create gre tunnel src 10.1.0.1 dst 10.1.0.2",
            "set interface state gre0 up",
            "set interface ip address gre0 10.2.3.1/24",
            "set interface ip address gre0 2001:db8:23::1/64",
        ],
        theirs: &[
            "ip link add t3 type gre local 10.1.0.2 remote 10.1.0.1",
            "ip addr add 10.2.3.2/24 dev t3",
            "ip addr add 2001:db8:23::2/64 dev t3",
            "ip link set t3 up",
        ],
        answers: &["10.2.3.1", "2001:db8:23::1"],
    },
    Case {
        // 6in4 is what the router calls an IPIP tunnel that carries IPv6.
        ours: &[
            "create ipip tunnel src 10.1.0.1 dst 10.1.0.12",
            "set interface state ipip1 up",
            "set interface ip address ipip1 2001:db8:24::1/64",
        ],
        theirs: &[
            "ip addr add 10.1.0.12/24 dev eth0",
            "ip link add t4 type sit local 10.1.0.12 remote 10.1.0.1",
            "ip addr add 2001:db8:24::2/64 dev t4",
            "ip link set t4 up",
        ],
        answers: &["2001:db8:24::1"],
    },
    Case {
        ours: &[
            "create vxlan tunnel src 10.1.0.1 dst 10.1.0.2 vni 25",
            "bvi create instance 5",
            "set interface l2 bridge vxlan_tunnel0 25",
            "set interface l2 bridge bvi5 25 bvi",
            "set interface state bvi5 up",
            "set interface ip address bvi5 10.2.5.1/24",
        ],
        theirs: &[
            "ip link add t5 type vxlan id 25 local 10.1.0.2 remote 10.1.0.1 dstport 4789",
            "ip addr add 10.2.5.2/24 dev t5",
            "ip link set t5 up",
        ],
        answers: &["10.2.5.1"],
    },
    Case {
        // The softwire of DS-Lite: IPv4 in IPv6.
        ours: &[
            "create ipip tunnel src 2001:db8:1::1 dst 2001:db8:1::2",
            "set interface state ipip2 up",
            "set interface ip address ipip2 10.2.6.1/24",
            "set interface ip address ipip2 2001:db8:26::1/64",
        ],
        theirs: &[
            "ip link add t6 type ip6tnl mode any encaplimit none local 2001:db8:1::2 \
             remote 2001:db8:1::1",
            "ip addr add 10.2.6.2/24 dev t6",
            "ip addr add 2001:db8:26::2/64 dev t6",
            "ip link set t6 up",
        ],
        answers: &["10.2.6.1", "2001:db8:26::1"],
    },
    Case {
        ours: &[
            "create gre tunnel src 2001:db8:1::1 dst 2001:db8:1::2",
            "set interface state gre1 up",
            "set interface ip address gre1 10.2.7.1/24",
        ],
        theirs: &[
            "ip link add t7 type ip6gre encaplimit none local 2001:db8:1::2 remote 2001:db8:1::1",
            "ip addr add 10.2.7.2/24 dev t7",
            "ip link set t7 up",
        ],
        answers: &["10.2.7.1"],
    },
    Case {
        // Labels both ways: 100 to the router, 200 to the guest.
        ours: &[
            "mpls table add 0",
            "set interface mpls VirtualEthernet0/0/0 enable",
            "mpls local-label add eos 100 via ip4-lookup-in-table 0",
            "loopback create-interface instance 8",
            "set interface state loop8 up",
            "set interface ip address loop8 10.2.8.1/32",
            "ip route add 10.3.8.2/32 via 10.1.0.2 VirtualEthernet0/0/0 out-labels 200",
        ],
        theirs: &[
            "sysctl -w net.mpls.platform_labels=1000",
            "sysctl -w net.mpls.conf.eth0.input=1",
            "ip addr add 10.3.8.2/32 dev lo",
            "ip route add 10.2.8.1/32 encap mpls 100 via inet 10.1.0.1 src 10.3.8.2",
            "ip -f mpls route add 200 dev lo",
        ],
        answers: &["10.2.8.1"],
    },
];

#[test]
fn the_kernel_of_a_guest_is_the_other_end_of_tunnels_vlans_and_labels() {
    let Some(mut rig) = Rig::new(&[]) else { return };
    rig.expect("10.1.0.1");
    for case in &CASES {
        case.ours.iter().for_each(|line| drop(rig.router.tell(line)));
        case.theirs.iter().for_each(|line| drop(rig.guest.run(line)));
        case.answers.iter().for_each(|address| rig.expect(address));
    }
}

/// The kernel is the B4 and its hosts, with addresses that others may have as well: 192.0.0.2 is the
/// B4's own (RFC 6333 section 5.7), 192.168.7.9 one behind it.
#[test]
fn the_kernel_of_a_guest_reaches_ip4_through_ds_lite_while_workers_come_and_go() {
    if !is_root() || !["iperf3", "python3"].into_iter().all(has) {
        return;
    }
    let host = Host::alone();
    let provider = [
        "dslite set aftr-tunnel-endpoint-address 2001:db8:ffff::1".to_owned(),
        "dslite add pool address 192.0.2.1".to_owned(),
    ];
    let Some(mut rig) = Rig::new(&[&behind_tap(&host)[..], &provider].concat()) else { return };
    let tunnel = "b4 mode ipip6 local 2001:db8:1::2 remote 2001:db8:ffff::1 dev eth0";
    for line in [
        "ip -4 addr flush dev eth0",
        &format!("ip -6 tunnel add {tunnel}"),
        "ip addr add 192.0.0.2/29 dev b4",
        "ip addr add 192.168.7.9/32 dev lo",
        "ip link set b4 up",
        "ip route add default dev b4",
    ] {
        rig.guest.run(line);
    }
    let _server = serve_on(&host, "10.1.1.2");
    // By default the kernel puts an option of RFC 2473 in front of the packet.
    for limit in ["4", "none"] {
        rig.guest.run(&format!("ip -6 tunnel change {tunnel} encaplimit {limit}"));
        rig.expect("10.1.1.2");
        let text = rig.guest.run("ping -c 3 -i 0.3 -I 192.168.7.9 10.1.1.2");
        assert!(text.contains(" 0% packet loss"), "{text}");
        let answer = rig.guest.attempt("echo asked | timeout 10 nc 10.1.1.2 8080").1;
        assert!(answer.contains("asked 192.0.2.1 xxx"), "{answer}{}", rig.shown());
    }
    let shown = rig.router.tell("show dslite sessions");
    assert!(shown.contains("B4 2001:db8:1::2 "), "{shown}");
    let workers = two_workers().map_or_else(Vec::new, |config| {
        vec![both(&config), "set workers 0".into(), "set workers 1".into()]
    });
    for options in ["-P 4", "-P 4 -R"] {
        let _server = serve_iperf3(&host);
        let Rig { router, guest } = &mut rig;
        let text = scope(|scope| {
            let line = format!("iperf3 -f m -t 4 -c 10.1.1.2 {options}");
            let asking = scope.spawn(move || guest.run(&line));
            for line in workers.iter().cycle().take_while(|_| !asking.is_finished()) {
                router.tell(line);
                sleep(Duration::from_millis(200));
            }
            asking.join().unwrap()
        });
        println!("TCP through DS-Lite, iperf3 {options}: {} Mbit/s", rate(&text));
        assert!(rate(&text) > 0.1, "{text}");
    }
}
