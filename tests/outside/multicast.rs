//! Multicast between hosts of the kernel: a sender, three receivers and a second router, each in a
//! namespace of its own, around the router under test.
//!
//!     sender -- router --+-- near
//!                        +-- side
//!                        +-- second router -- far

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use tests::capture::{decoded, frames};
use tests::{Daemon, Host, Running, eventually, has, is_root};

/// The group of most of what is sent here.
const GROUP: [&str; 2] = ["239.1.1.1", "ff3e::101"];
/// Groups that the receivers are members of.
const GROUPS: &[&str] = &["239.1.1.1", "239.1.1.2", "ff3e::101", "ff3e::102"];
/// The sender's addresses.
const SENDER: [&str; 2] = ["10.1.1.2", "2001:db8:1::2"];
/// Number of datagrams sent at once.
const COUNT: usize = 5;
/// Hops that they may take.
const HOPS: u8 = 9;

/// A host that is a member of all groups; dropping it leaves them.
struct Member {
    host: Host,
    file: PathBuf,
    /// Number of datagrams that tests have looked at.
    seen: Cell<usize>,
    _program: Running,
}

impl Member {
    fn new(host: Host, router: &Daemon, name: &str) -> Self {
        let file = router.folder().join(name);
        let words = format!("{} receive {} {}", script(), file.display(), GROUPS.join(" "));
        let program = host.start(&words);
        let member = Self { host, file, seen: Cell::new(0), _program: program };
        assert!(eventually(|| member.text().starts_with("ready\n")), "{name} does not listen");
        member
    }
    fn text(&self) -> String {
        fs::read_to_string(&self.file).unwrap_or_default()
    }
    /// Lines received so far.
    fn lines(&self) -> Vec<String> {
        self.text().lines().skip(1).map(str::to_owned).collect()
    }
    /// Lines received since tests looked.
    fn new_lines(&self) -> Vec<String> {
        self.lines().split_off(self.seen.get())
    }
    /// Frames to groups that came by the wire.
    fn frames(&self) -> PathBuf {
        self.file.with_extension("pcap")
    }
}

fn script() -> String {
    format!("python3 {}/outside/multicast.py", env!("CARGO_MANIFEST_DIR"))
}

/// All of them.
struct World {
    router: Daemon,
    second: Daemon,
    sender: Member,
    near: Member,
    side: Member,
    far: Member,
    _between: [Host; 2],
}

/// A host in network `number` behind device `device` of a router's namespace.
fn behind(router: &Host, device: &str, number: u8) -> Host {
    let host = Host::alone();
    wire(router, device, &host, "eth0");
    host.run(&format!("ip addr add 10.1.{number}.2/24 dev eth0"));
    host.own(&format!("2001:db8:{number}::2/64 dev eth0 nodad"));
    host.run(&format!("ip route add default via 10.1.{number}.1"));
    host.run(&format!("ip -6 route add default via 2001:db8:{number}::1"));
    host
}

fn wire(router: &Host, device: &str, other: &Host, peer: &str) {
    let namespace = other.namespace();
    router.run(&format!("ip link add {device} type veth peer name {peer} netns {namespace}"));
    for (host, device) in [(router, device), (other, peer)] {
        host.run(&format!("ip link set {device} addrgenmode none"));
        host.run(&format!("ip link set {device} up"));
    }
}

/// A router with these interfaces: device, number of its network, its own number there.
fn routing(host: &Host, interfaces: &[(&str, u8, u8)]) -> Daemon {
    let lines = interfaces.iter().flat_map(|(device, network, own)| {
        [
            // What receivers get is whole: it is looked at on the wire.
            format!("create host-interface name {device} cksum-gso-disable"),
            format!("set interface state host-{device} up"),
            format!("set interface ip address host-{device} 10.1.{network}.{own}/24"),
            format!("set interface ip address host-{device} 2001:db8:{network}::{own}/64"),
        ]
    });
    let lines: Vec<_> = lines.collect();
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    Daemon::start_in(host.namespace(), "", &lines)
}

impl World {
    fn new() -> Option<Self> {
        if !is_root() || !has("python3") {
            return None;
        }
        let between = [Host::alone(), Host::alone()];
        let [here, there] = &between;
        let sender = behind(here, "sender", 1);
        let [near, side] = [("near", 2), ("side", 3)].map(|(name, n)| behind(here, name, n));
        let far = behind(there, "far", 5);
        wire(here, "trunk", there, "trunk");
        let router =
            routing(here, &[("sender", 1, 1), ("near", 2, 1), ("side", 3, 1), ("trunk", 4, 1)]);
        let second = routing(there, &[("trunk", 4, 2), ("far", 5, 1)]);
        let member = |host, name| Member::new(host, &router, name);
        let [sender, near, side, far] = [
            member(sender, "sender"),
            member(near, "near"),
            member(side, "side"),
            member(far, "far"),
        ];
        Some(Self { router, second, sender, near, side, far, _between: between })
    }
    /// Makes a host send datagrams of `size` bytes to a group. Hosts in `to` get each of them once,
    /// over so many routers, and others get nothing.
    #[track_caller]
    fn send(&self, (from, source): (&Member, &str), group: &str, size: usize, to: &[(&str, u8)]) {
        let words = format!("{} send {source} {group} {COUNT} {size} {HOPS}", script());
        let sent = from.host.run(&words);
        let expected = |name: &str| {
            let routers =
                to.iter().find(|(member, _)| *member == name).map(|(_, routers)| HOPS - routers);
            let line = |hops, datagram| format!("{group} from {source} hops {hops}: {datagram}");
            sent.lines().filter_map(|d| Some(line(routers?, d))).collect::<Vec<_>>()
        };
        let members = ["sender", "near", "side", "far"];
        let all = || members.iter().all(|m| self.of(m).new_lines().len() >= expected(m).len());
        eventually(all);
        sleep(Duration::from_millis(300)); // for what must not come
        for name in members {
            let got = self.of(name).new_lines();
            assert_eq!(got, expected(name), "{name}\n{}", self.router.tell("show errors"));
            self.of(name).seen.set(self.of(name).lines().len());
        }
    }
    fn of(&self, name: &str) -> &Member {
        match name {
            "sender" => &self.sender,
            "near" => &self.near,
            "side" => &self.side,
            _ => &self.far,
        }
    }
    /// Routes from everywhere to everywhere, on both routers: what each sends the other must not
    /// send back.
    fn route_both_ways(&self) {
        for group in GROUP {
            self.router.tell(&format!(
                "ip mroute add {group} via host-sender Accept Forward via host-near Forward \
                 via host-side Forward via host-trunk Accept Forward"
            ));
            self.second.tell(&format!(
                "ip mroute add {group} via host-trunk Accept Forward via host-far Accept Forward"
            ));
        }
    }
}

/// The value of a counter.
fn counted(router: &Daemon, node: &str, reason: &str) -> usize {
    let text = router.tell("show errors");
    let lines = text.lines().filter(|line| line.contains(node) && line.contains(reason));
    lines.filter_map(|line| line.split_whitespace().next()?.parse::<usize>().ok()).sum()
}

const BACK: &str = "egress interface same as ingress";
const EVERYBODY: &[(&str, u8)] = &[("near", 1), ("side", 1), ("far", 2)];

#[test]
fn groups_reach_all_members_once_and_nothing_comes_back() {
    let Some(world) = World::new() else { return };
    world.route_both_ways();
    for (at, (group, input)) in GROUP.iter().zip(["ip4-input", "ip6-input"]).enumerate() {
        world.send((&world.sender, SENDER[at]), group, 100, EVERYBODY);
        // One for the sender, one for the other router: each is refused once, and none goes round.
        assert_eq!(counted(&world.router, input, BACK), COUNT);
        assert_eq!(counted(&world.second, input, BACK), COUNT);
        let far = ["10.1.5.2", "2001:db8:5::2"][at];
        let to = [("sender", 2), ("near", 2), ("side", 2)];
        world.send((&world.far, far), group, 100, &to);
        assert_eq!(counted(&world.router, input, BACK), 2 * COUNT);
        assert_eq!(counted(&world.second, input, BACK), 2 * COUNT);
        // Where nothing is accepted from. Reports of groups come there as well.
        let near = ["10.1.2.2", "2001:db8:2::2"][at];
        world.send((&world.near, near), group, 100, &[]);
        assert!(counted(&world.router, input, "RPF check failed") >= COUNT);
    }
    // On the wire there is what sockets got, and no more: a frame for each.
    for (member, from) in [(&world.near, 2), (&world.far, 1), (&world.sender, 1)] {
        let is_sent = |f: &Vec<u8>| f.len() == 14 + 20 + 8 + 100 || f.len() == 14 + 40 + 8 + 100;
        let count = frames(&member.frames()).into_iter().filter(is_sent).count();
        assert_eq!(count, from * 2 * COUNT);
    }
    if has("tshark") {
        let lines = decoded(&world.near.frames());
        let sent = |to: &str| lines.iter().filter(|l| l.contains(to) && l.contains("5000")).count();
        assert_eq!(sent("10.1.1.2 → 239.1.1.1"), COUNT, "{lines:#?}");
        assert_eq!(sent("2001:db8:1::2 → ff3e::101"), COUNT, "{lines:#?}");
    }
    for frame in frames(&world.near.frames()).iter().filter(|f| f.len() == 14 + 20 + 8 + 100) {
        assert_eq!(frame[..6], [1, 0, 0x5e, 1, 1, 1], "the group's own address");
    }
}

#[test]
fn a_source_has_its_own_members_and_these_come_and_go() {
    let Some(world) = World::new() else { return };
    world.sender.host.run("ip addr add 10.1.1.3/24 dev eth0");
    world.sender.host.own("2001:db8:1::3/64 dev eth0 nodad");
    world.route_both_ways();
    for (at, group) in GROUP.iter().enumerate() {
        let source = SENDER[at];
        let other = ["10.1.1.3", "2001:db8:1::3"][at];
        let route = format!("{source} {group}");
        world
            .router
            .tell(&format!("ip mroute add {route} via host-sender Accept via host-side Forward"));
        world.send((&world.sender, source), group, 100, &[("side", 1)]);
        world.send((&world.sender, other), group, 100, EVERYBODY);
        // A member joins, another one leaves.
        world.router.tell(&format!("ip mroute add {route} via host-near Forward"));
        world.send((&world.sender, source), group, 100, &[("near", 1), ("side", 1)]);
        world.router.tell(&format!("ip mroute del {route} via host-side Forward"));
        world.send((&world.sender, source), group, 100, &[("near", 1)]);
        // The source's route goes; what holds for any source is left.
        world.router.tell(&format!("ip mroute del {route}"));
        world.send((&world.sender, source), group, 100, EVERYBODY);
        world.second.tell(&format!("ip mroute del {group} via host-far"));
        world.send((&world.sender, source), group, 100, &[("near", 1), ("side", 1)]);
    }
}

#[test]
fn tables_have_routes_of_their_own() {
    let Some(world) = World::new() else { return };
    for line in [
        "ip table add 7",
        "ip6 table add 7",
        "set interface ip address del host-side all",
        "set interface ip table host-side 7",
        "set interface ip6 table host-side 7",
        "set interface ip address host-side 10.1.3.1/24",
        "set interface ip address host-side 2001:db8:3::1/64",
    ] {
        world.router.tell(line);
    }
    for (at, group) in GROUP.iter().enumerate() {
        world
            .router
            .tell(&format!("ip mroute add {group} via host-sender Accept via host-near Forward"));
        world.router.tell(&format!(
            "ip mroute add {group} table 7 via host-side Accept via host-sender Forward"
        ));
        world.send((&world.sender, SENDER[at]), group, 100, &[("near", 1)]);
        let side = ["10.1.3.2", "2001:db8:3::2"][at];
        world.send((&world.side, side), group, 100, &[("sender", 1)]);
    }
}

#[test]
fn datagrams_in_pieces_reach_everybody_whole() {
    let Some(world) = World::new() else { return };
    world.route_both_ways();
    for (at, group) in GROUP.iter().enumerate() {
        for size in [1400, 4000, 60_000] {
            world.send((&world.sender, SENDER[at]), group, size, EVERYBODY);
        }
    }
    // A link that carries less: IPv4 is cut once more, on the way there only.
    world.router.tell("set interface mtu packet 600 host-near");
    let cut = counted(&world.router, "ip4-frag", "number of sent fragments");
    for size in [1400, 4000] {
        world.send((&world.sender, SENDER[0]), GROUP[0], size, EVERYBODY);
    }
    assert!(counted(&world.router, "ip4-frag", "number of sent fragments") >= cut + 10 * COUNT);
    if has("tshark") {
        decoded(&world.near.frames());
        decoded(&world.far.frames());
    }
}
