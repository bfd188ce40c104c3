//! Interfaces mirrored in Linux, where routing daemons work on them as on any other.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use tests::{Daemon, Host, Running, eventually, has, is_root};

use crate::routing::has_frr;

/// The mirror of routes is a plugin that is off unless it is named.
const CONFIG: &str = "plugins { plugin linux_nl_plugin.so { enable } }\nlinux-cp { lcp-sync }\n";

/// A router with interfaces to two hosts, and their mirrors in a namespace.
pub struct Lab {
    pub router: Daemon,
    pub linux: Host,
    pub left: Host,
    pub right: Host,
}

impl Lab {
    pub fn new() -> Self {
        Self::with("")
    }
    /// With these lines more in the router's configuration.
    fn with(more: &str) -> Self {
        let (linux, left, right) = (Host::alone(), Host::alone(), Host::alone());
        linux.set("ipv4/ip_forward", "0");
        let mut setup = vec![format!("lcp default netns {}", linux.namespace())];
        for (n, host) in [(1, &left), (2, &right)] {
            setup.extend([
                format!(
                    "create tap id {n} host-if-name eth0 host-ns {} host-ip4-addr 10.1.{n}.2/24 \
                     host-ip6-addr 2001:db8:{n}::2/64",
                    host.namespace()
                ),
                // Neighbours of OSPF want to agree about that.
                format!("set interface mtu packet 1500 tap{n}"),
                format!("lcp create tap{n} host-if e{n}"),
                format!("set interface state tap{n} up"),
                format!("set interface ip address tap{n} 10.1.{n}.1/24"),
                format!("set interface ip address tap{n} 2001:db8:{n}::1/64"),
            ]);
        }
        let setup: Vec<_> = setup.iter().map(String::as_str).collect();
        let router = Daemon::start_with(&format!("{CONFIG}{more}"), &setup);
        left.run("ip route add default via 10.1.1.1");
        left.run("ip -6 route add default via 2001:db8:1::1");
        Self { router, linux, left, right }
    }
    /// The router's route to an address or prefix.
    pub fn route(&self, prefix: &str) -> String {
        let version = if prefix.contains(':') { "ip6" } else { "ip" };
        self.router.ask(&format!("show {version} fib {prefix}")).text
    }
    /// Whether the router has a route to a prefix itself.
    pub fn has_route(&self, prefix: &str) -> bool {
        let shown = self.route(prefix);
        shown.contains(prefix) && shown.contains("lcp-rt")
    }
    /// Starts BIRD on a host with a configuration.
    pub fn bird(&self, host: &Host, name: &str, config: &str) -> Running {
        let file = |kind: &str| -> PathBuf { self.router.folder().join(format!("{name}.{kind}")) };
        fs::write(file("conf"), config).unwrap();
        let [conf, ctl, pid] = ["conf", "ctl", "pid"].map(|kind| file(kind).display().to_string());
        host.start(&format!("bird -f -c {conf} -s {ctl} -P {pid}"))
    }
    /// Waits until nothing differs between the router and Linux.
    #[track_caller]
    pub fn agrees(&self) {
        let mut shown = String::new();
        let agrees = eventually(|| {
            shown = self.router.tell("show lcp diff");
            shown.trim().is_empty()
        });
        assert!(agrees, "{shown}");
    }
}

#[test]
fn mirrors_follow_interfaces_and_interfaces_follow_mirrors() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let is_up = || lab.linux.run("ip -o link show e1").contains("UP");
    assert!(eventually(is_up), "{}", lab.linux.run("ip addr"));
    assert!(lab.linux.run("ip addr show e1").contains("10.1.1.1/24"));
    lab.router.tell("set interface mtu packet 1400 tap1");
    assert!(eventually(|| lab.linux.run("ip link show e1").contains("mtu 1400")));
    lab.linux.run("ip link set e1 mtu 1500");
    lab.linux.run("ip addr add 10.9.9.1/24 dev e1");
    let has = || lab.router.tell("show interface address tap1").contains("10.9.9.1/24");
    assert!(eventually(has));
    lab.linux.run("ip addr del 10.9.9.1/24 dev e1");
    assert!(eventually(|| !has()));
    for (word, _) in [("down", 0), ("up", 1)] {
        lab.linux.run(&format!("ip link set e1 {word}"));
        let state = || lab.router.tell("show interface tap1");
        assert!(eventually(|| state().lines().any(|l| l.contains("tap1") && l.contains(word))));
    }
    lab.linux.run("ip route add 10.50.0.0/16 via 10.1.2.2");
    lab.linux.run("ip route add blackhole 10.51.0.0/16");
    lab.linux.run("ip -6 route add 2001:db8:50::/48 via 2001:db8:2::2");
    for prefix in ["10.50.0.0/16", "10.51.0.0/16"] {
        assert!(eventually(|| lab.has_route(prefix)), "{prefix}");
    }
    assert!(eventually(|| lab.router.ask("show ip6 fib 2001:db8:50::/48").text.contains("lcp-rt")));
    lab.agrees();
    lab.linux.run("ip link set e2 down");
    assert!(eventually(|| !lab.has_route("10.50.0.0/16")));
    lab.agrees();
}

#[test]
fn mirrors_are_part_of_the_configuration_and_go_with_their_interfaces() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let shown = lab.router.tell("show configuration");
    let namespace = lab.linux.namespace();
    for line in [
        format!("lcp create tap1 host-if e1 netns {namespace} id 0"),
        format!("lcp default netns {namespace}"),
        "lcp lcp-sync on".to_owned(),
    ] {
        assert!(shown.lines().any(|l| l == line), "{line}: {shown}");
    }
    assert!(!shown.contains("create tap id 0"), "{shown}");
    let devices = || lab.linux.run("ip -o link");
    lab.router.tell("delete tap tap1");
    assert!(eventually(|| !devices().contains("e1:")), "{}", devices());
    lab.linux.run("ip link del e2");
    assert!(eventually(|| !lab.router.tell("show lcp").contains("itf-pair")));
}

#[test]
fn what_is_lost_is_read_again() {
    if !is_root() {
        return;
    }
    let lab = Lab::with("linux-nl { nl-rx-buffer-size 4096 }\n");
    let file = lab.router.folder().join("routes");
    let routes = |word: &str| -> String {
        let line =
            |n: u32| format!("route {word} 10.{}.{}.0/24 via 10.1.2.2\n", 64 + n / 250, n % 250);
        (0..5000).map(line).collect()
    };
    let batch = |word: &str| {
        fs::write(&file, routes(word)).unwrap();
        // The listener is stopped meanwhile.
        lab.router.signal(Signal::STOP);
        lab.linux.run(&format!("ip -batch {}", file.display()));
        lab.router.signal(Signal::CONT);
    };
    let is_up = || lab.linux.run("ip -o link show e2").contains("UP");
    assert!(eventually(is_up));
    let count = |n: usize| {
        let shown = lab.router.tell("show lcp mirror");
        shown.contains(&format!(": {n} routes"))
    };
    for _ in 0..2 {
        batch("add");
        assert!(eventually(|| count(5000)), "{}", lab.router.tell("show lcp mirror"));
        assert!(lab.has_route("10.83.249.0/24"));
        lab.agrees();
        batch("del");
        assert!(eventually(|| count(0)), "{}", lab.router.tell("show lcp mirror"));
        assert!(!lab.has_route("10.83.249.0/24"));
        lab.agrees();
    }
    let shown = lab.router.tell("show lcp mirror");
    let lost = shown.split_once("news lost ").and_then(|(_, rest)| rest.split_once(' '));
    assert!(lost.is_some_and(|(times, _)| times.parse::<u32>().unwrap() >= 4), "{shown}");
}

#[test]
fn routes_go_with_their_nexthop_objects() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    assert!(eventually(|| lab.linux.run("ip -o link show e2").contains("UP")));
    for (id, version, via, prefix) in [
        (10, "-4", "10.1.2.13", "203.0.113.128/25"),
        (20, "-6", "2001:db8:2::130", "2001:db8:f::/48"),
    ] {
        let (other, group) = (id + 1, id + 2);
        let run = |line: &str| match line.starts_with("route ") {
            true => lab.linux.run(&format!("ip {version} {line}")),
            // Groups have no version.
            false => lab.linux.run(&format!("ip {line}")),
        };
        run(&format!("nexthop add id {id} via {via} dev e2"));
        run(&format!("nexthop add id {other} via {via}1 dev e2"));
        run(&format!("nexthop add id {group} group {id}"));
        run(&format!("route add {prefix} nhid {group}"));
        assert!(eventually(|| lab.has_route(prefix)));
        // A group of two that loses one, then the other.
        run(&format!("nexthop replace id {group} group {id}/{other}"));
        let paths = || lab.route(prefix);
        assert!(eventually(|| paths().contains(&format!("{via}1"))), "{}", paths());
        run(&format!("nexthop del id {other}"));
        assert!(eventually(|| !paths().contains(&format!("{via}1"))), "{}", paths());
        run(&format!("nexthop del id {id}"));
        assert!(eventually(|| !lab.has_route(prefix)), "{}", paths());
        lab.agrees();
        // What is used by none is deleted, and all others stay.
        run(&format!("route add {prefix} via {via} dev e2"));
        run(&format!("nexthop add id {id} via {via} dev e2"));
        run(&format!("nexthop del id {id}"));
        assert!(eventually(|| lab.has_route(prefix)));
    }
    lab.agrees();
}

#[test]
fn tables_of_linux_are_tables_of_the_router() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    for (version, address) in [("ip", "10.1.2.1/24"), ("ip6", "2001:db8:2::1/64")] {
        for line in [
            format!("{version} table add 100"),
            format!("set interface ip address del tap2 {address}"),
            format!("set interface {version} table tap2 100"),
            format!("set interface ip address tap2 {address}"),
        ] {
            assert_eq!(lab.router.tell(&line), "", "{line}");
        }
    }
    assert!(eventually(|| lab.linux.run("ip addr show e2").contains("2001:db8:2::1/64")));
    let route = |table: u32, version: &str, prefix: &str| -> String {
        let text = lab.router.ask(&format!("show {version} fib table {table} {prefix}")).text;
        if text.contains("lcp-rt") && text.contains(prefix) { text } else { String::new() }
    };
    let routes = [
        (0, "ip", "10.7.0.0/16", "-4", "10.7.0.0/16 via 10.1.1.2 dev e1"),
        (100, "ip", "10.9.0.0/16", "-4", "10.9.0.0/16 via 10.1.2.2 dev e2 table 100"),
        (100, "ip", "10.7.0.0/16", "-4", "10.7.0.0/16 via 10.1.2.3 dev e2 table 100"),
        // From the main table into the network of another.
        (0, "ip", "10.10.0.0/16", "-4", "10.10.0.0/16 via 10.1.2.2 dev e2"),
        (7, "ip", "10.11.0.0/16", "-4", "blackhole 10.11.0.0/16 table 7"),
        (0, "ip6", "2001:db8:7::/48", "-6", "2001:db8:7::/48 via 2001:db8:1::2 dev e1"),
        (100, "ip6", "2001:db8:9::/48", "-6", "2001:db8:9::/48 via 2001:db8:2::2 dev e2 table 100"),
    ];
    for (table, version, prefix, family, line) in routes {
        lab.linux.run(&format!("ip {family} route add {line}"));
        assert!(eventually(|| !route(table, version, prefix).is_empty()), "{line}");
    }
    assert!(route(100, "ip", "10.7.0.0/16").contains("10.1.2.3"));
    lab.agrees();
    let has_seven = || lab.router.tell("show ip table").contains("7");
    assert!(has_seven());
    for (table, version, prefix, family, line) in &routes[3..5] {
        lab.linux.run(&format!("ip {family} route del {line}"));
        assert!(eventually(|| route(*table, version, prefix).is_empty()), "{line}");
    }
    assert!(!has_seven(), "a table without routes is given up");
    // The kernel does not announce the routes that go with the last address.
    lab.linux.run("ip addr flush dev e2");
    assert!(eventually(|| route(100, "ip", "10.9.0.0/16").is_empty()));
    lab.agrees();
}

#[test]
fn routes_with_an_encapsulation_are_left_out_and_shown() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    assert!(eventually(|| lab.linux.run("ip -o link show e2").contains("UP")));
    // Kernels have some of them.
    let all = [
        ("198.51.100.0/24", "encap seg6 mode encap segs 2001:db8:77::1 dev e1", "seg6"),
        ("2001:db8:a::/48", "encap seg6 mode inline segs 2001:db8:77::1 dev e1", "seg6"),
        ("198.51.101.0/24", "encap mpls 100 via 10.1.1.2 dev e1", "mpls"),
        ("2001:db8:b::/48", "encap mpls 100/200 via 2001:db8:1::2 dev e1", "mpls"),
        ("198.51.102.0/24", "encap ip id 7 dst 10.1.1.2 dev e1", "ip"),
        ("2001:db8:c::/48", "encap ip6 id 7 dst 2001:db8:1::2 dev e1", "ip6"),
        (
            "2001:db8:d::/48",
            "encap ioam6 trace prealloc type 0x800000 ns 1 size 12 dev e1",
            "ioam6",
        ),
        ("2001:db8:e::/48", "encap rpl segs 2001:db8:77::1 dev e1", "rpl"),
        ("2001:db8:1f::/48", "encap seg6local action End dev e1", "seg6local"),
        ("198.51.103.0/24", "encap xfrm if_id 1 dev e1", "xfrm"),
        (
            "198.51.104.0/24",
            "nexthop encap ip id 7 dst 10.1.1.2 dev e1 nexthop via 10.1.2.2 dev e2",
            "ip",
        ),
    ];
    let add = |prefix: &str, rest: &str| {
        lab.linux.attempt(&format!("ip route replace {prefix} {rest}")).0
    };
    let mut made = Vec::new();
    for (prefix, rest, kind) in all {
        // It takes the place of a plain one, which is the router's.
        let via = if prefix.contains(':') { "2001:db8:2::2" } else { "10.1.2.2" };
        assert!(add(prefix, &format!("via {via} dev e2")));
        assert!(eventually(|| lab.has_route(prefix)), "{prefix}");
        if add(prefix, rest) {
            made.push((prefix, kind));
        } else {
            lab.linux.run(&format!("ip route del {prefix}"));
        }
    }
    assert!(!made.is_empty());
    for (prefix, kind) in &made {
        let shown = || lab.route(prefix);
        assert!(eventually(|| !lab.has_route(prefix)), "{kind}: {}", shown());
        let line = format!("route {prefix}: ignored, it has an encapsulation ({kind})");
        let differs = || lab.router.tell("show lcp diff");
        assert!(eventually(|| differs().contains(&line)), "{line}: {}", differs());
    }
    let count = format!(", {} routes with an encapsulation left out", made.len());
    let shown = || lab.router.tell("show lcp mirror");
    assert!(eventually(|| shown().contains(&count)), "{}", shown());
    made.iter().for_each(|(prefix, _)| drop(lab.linux.run(&format!("ip route del {prefix}"))));
    lab.agrees();
}

#[test]
fn routes_of_frr_are_the_routers() {
    if !is_root() || !has("ping") || !has("bird") || !has_frr() {
        return;
    }
    let lab = Lab::new();
    lab.right.run("ip addr add 10.88.0.1/32 dev lo");
    let timers = "{ hello 1; dead 4; wait 2; }";
    let _peer = lab.bird(
        &lab.right,
        "peer",
        &format!(
            "router id 2.2.2.2;\nprotocol device {{ scan time 2; }}\n\
             protocol kernel {{ ipv4 {{ export where source = RTS_OSPF; }}; }}\n\
             protocol ospf v2 {{ ipv4 {{ import all; export none; }}; area 0 {{\n\
             interface \"eth0\" {timers}; interface \"lo\" {{ stub; }}; }}; }}\n"
        ),
    );
    let ospf = "router ospf\n ospf router-id 1.1.1.1\n network 10.1.0.0/16 area 0\n\
        interface e2\n ip ospf hello-interval 1\n ip ospf dead-interval 4\n";
    let _running = lab.frr(&[("zebra", "hostname z\n"), ("ospfd", ospf)]);
    assert!(eventually(|| lab.has_route("10.88.0.1/32")), "{}", lab.linux.run("ip route"));
    assert!(eventually(|| lab.left.attempt("ping -n -c 1 -W 1 10.88.0.1").0));
    lab.agrees();
}

#[test]
fn programs_of_linux_talk_over_mirrors() {
    if !is_root() || !has("ping") {
        return;
    }
    let lab = Lab::new();
    for address in ["10.1.1.2", "2001:db8:1::2"] {
        let ping = || lab.linux.attempt(&format!("ping -n -c 1 -W 1 {address}")).0;
        assert!(eventually(ping), "{address}");
    }
    // The router itself answers on behalf of both.
    assert!(eventually(|| lab.left.attempt("ping -n -c 1 -W 1 10.1.1.1").0));
}

#[test]
fn routes_of_bird_are_the_routers_and_go_with_it() {
    if !is_root() || !has("ping") || !has("bird") {
        return;
    }
    let lab = Lab::new();
    let lines: String =
        (0..500).map(|n| format!("route 10.77.{}.{}/32 blackhole;\n", n / 250, n % 250)).collect();
    lab.right.run("ip addr add 10.88.0.1/32 dev lo");
    let peer = format!(
        "router id 2.2.2.2;\nprotocol device {{}}\n\
         protocol kernel {{ ipv4 {{ export where source = RTS_BGP; }}; }}\n\
         protocol static {{ ipv4; route 10.88.0.0/16 blackhole;\n{lines}}}\n\
         protocol bgp {{ local 10.1.2.2 as 65002; neighbor 10.1.2.1 as 65001; connect delay time 1;\n\
         ipv4 {{ import all; export all; next hop self; }}; }}\n"
    );
    let own = "router id 1.1.1.1;\nprotocol device { scan time 2; }\n\
        protocol direct { ipv4; interface \"e1\"; }\n\
        protocol kernel { ipv4 { export where source = RTS_BGP; }; }\n\
        protocol bgp { local 10.1.2.1 as 65001; neighbor 10.1.2.2 as 65002; connect delay time 1;\n\
        error wait time 1,2; ipv4 { import all; export all; next hop self; }; }\n";
    let _peer = lab.bird(&lab.right, "peer", &peer);
    let bird = lab.bird(&lab.linux, "own", own);
    assert!(eventually(|| lab.has_route("10.88.0.0/16")), "{}", lab.linux.run("ip route"));
    assert!(eventually(|| lab.has_route("10.77.1.249/32")));
    lab.agrees();
    let ping = || lab.left.attempt("ping -n -c 1 -W 1 10.88.0.1").0;
    assert!(eventually(ping), "traffic follows the routes");

    // Nothing moves when the mirror restarts.
    let shown = || {
        let text = lab.router.tell("show ip fib 10.88.0.0/16");
        text.split("to:[").next().unwrap_or_default().to_owned()
    };
    let before = shown();
    let flow = || lab.left.attempt("ping -n -q -c 300 -i 0.01 -W 10 10.88.0.1").1;
    let said = std::thread::scope(|scope| {
        let said = scope.spawn(flow);
        lab.router.tell("plugin unload linux_nl");
        lab.router.tell("plugin load linux_nl");
        lab.agrees();
        lab.router.tell("lcp resync");
        lab.agrees();
        said.join().unwrap()
    });
    assert!(said.contains(" 300 received"), "{said}");
    assert_eq!(shown(), before);

    drop(bird);
    // BIRD that was killed has left its routes in Linux; a new one takes them back when it ends.
    let bird = lab.bird(&lab.linux, "again", own);
    let ctl = lab.router.folder().join("again.ctl").display().to_string();
    let is_established = || {
        let (_, shown) = lab.linux.attempt(&format!("birdc -s {ctl} show protocols"));
        shown.contains("Established")
    };
    assert!(eventually(is_established));
    assert!(eventually(|| lab.has_route("10.88.0.0/16") && lab.has_route("10.77.1.249/32")));
    lab.agrees();
    terminate(&bird);
    assert!(eventually(|| !lab.has_route("10.88.0.0/16") && !lab.has_route("10.77.1.249/32")));
    lab.agrees();
}

/// Asks a program to end, so that it cleans up behind itself.
pub fn terminate(program: &Running) {
    let kill = std::process::Command::new("kill").arg(program.id().to_string()).status();
    assert!(kill.is_ok_and(|status| status.success()));
}

#[test]
fn neighbours_of_ospf_find_each_other_over_mirrors() {
    if !is_root() || !has("ping") || !has("bird") {
        return;
    }
    let lab = Lab::new();
    lab.right.run("ip addr add 10.88.0.1/32 dev lo");
    let config = |id: u8, interfaces: &str| {
        format!(
            "router id {id}.{id}.{id}.{id};\nprotocol device {{ scan time 2; }}\n\
             protocol kernel {{ ipv4 {{ export where source = RTS_OSPF; }}; }}\n\
             protocol ospf v2 {{ ipv4 {{ import all; export none; }}; area 0 {{ {interfaces} }}; }}\n"
        )
    };
    let timers = "{ hello 1; dead 4; wait 2; }";
    let _peer = lab.bird(
        &lab.right,
        "peer",
        &config(2, &format!("interface \"eth0\" {timers}; interface \"lo\" {{ stub; }};")),
    );
    let _own = lab.bird(
        &lab.linux,
        "own",
        &config(1, &format!("interface \"e2\" {timers}; interface \"e1\" {{ stub; }};")),
    );
    assert!(eventually(|| lab.has_route("10.88.0.1/32")), "{}", lab.linux.run("ip route"));
    assert!(eventually(|| lab.left.attempt("ping -n -c 1 -W 1 10.88.0.1").0));
    lab.agrees();
}
