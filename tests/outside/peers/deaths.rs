//! Peers that are killed at random moments, under traffic: nothing is lost of the router's, and the
//! next one is served.
//!
//! A few deaths by default, as many as `FERROVIA_DEATHS` says otherwise.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use tests::{Daemon, eventually};

use super::Peer;

/// Longest life of a peer in milliseconds, which starting and the handshake are part of.
const LIFE: u64 = 150;
/// Deaths before memory is looked at: pools and tables grow to what traffic needs.
pub(super) const WARM: usize = 10;
/// Bytes by which the memory of a router may grow meanwhile.
pub(super) const GROWTH: u64 = 8 << 20;

/// How many die.
pub(super) fn deaths(default: usize) -> usize {
    let wanted = std::env::var("FERROVIA_DEATHS").ok();
    wanted.map_or(default, |n| n.parse().expect("FERROVIA_DEATHS is a number"))
}

/// Numbers in no order, the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % limit
    }
}

/// Resources of a router.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Held {
    descriptors: usize,
    mappings: usize,
}

/// A router whose interface is connected with a generator's, which sends all the time.
pub(super) struct Rig {
    pub(super) router: Daemon,
    pub(super) interface: &'static str,
}

impl Rig {
    fn new(create: &str, interface: &'static str) -> Self {
        let router =
            Daemon::start(&["create packet-generator interface pg0", "set interface state pg0 up"]);
        create.lines().for_each(|line| drop(router.tell(line)));
        let rig = Self { router, interface };
        rig.connect();
        rig
    }
    /// Sends the generator's packets to the interface, and those of the interface to it.
    pub(super) fn connect(&self) {
        let name = self.interface;
        self.router.tell(&format!("set interface state {name} up"));
        self.router.tell(&format!("set interface l2 xconnect pg0 {name}"));
        self.router.tell(&format!("set interface l2 xconnect {name} pg0"));
    }
    pub(super) fn send(&self) {
        self.router.tell(
            "packet-generator new { name s limit 0 rate 20000 size 60-1400 interface pg0 \
             node ethernet-input data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:02 \
             UDP: 10.0.0.1 -> 10.0.0.2 UDP: 1 -> 2 incrementing 8 } }",
        );
        self.router.tell("packet-generator enable-stream s");
    }
    pub(super) fn stop(&self) {
        self.router.tell("packet-generator disable-stream s");
        self.router.tell("packet-generator delete s");
    }
    pub(super) fn counted(&self, what: &str) -> u64 {
        let text = self.router.tell(&format!("show interface {}", self.interface));
        let line = text.lines().find_map(|line| line.split_once(what));
        line.and_then(|(_, n)| n.trim().parse().ok()).unwrap_or(0)
    }
    /// Packets go both ways.
    #[track_caller]
    fn is_served(&self) {
        let before = [self.counted("rx packets"), self.counted("tx packets")];
        let both =
            || self.counted("rx packets") > before[0] && self.counted("tx packets") > before[1];
        let why = ["show interface", "show errors", "show memif", "show vhost-user"];
        assert!(eventually(both), "{}", why.map(|line| self.router.ask(line).text).concat());
    }
    fn is_up(&self) -> bool {
        let shown = self.router.tell(&format!("show hardware-interfaces {}", self.interface));
        shown.lines().any(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            words.first() == Some(&self.interface) && words.get(2) == Some(&"up")
        })
    }
    /// Its memory when no command is in progress.
    pub(super) fn rest(&self) -> Held {
        let held = (0..20).map(|_| {
            sleep(Duration::from_millis(20));
            self.held()
        });
        held.min_by_key(|held| (held.descriptors, held.mappings)).expect("there are some")
    }
    fn held(&self) -> Held {
        let id = self.router.id();
        let maps = fs::read_to_string(format!("/proc/{id}/maps")).expect("the router runs");
        let descriptors = fs::read_dir(format!("/proc/{id}/fd")).expect("the router runs");
        let mappings = maps.lines().filter(|line| line.contains("memfd:")).count();
        Held { descriptors: descriptors.count(), mappings }
    }
    /// Bytes of its own that are in memory.
    pub(super) fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.router.id()));
        let status = status.expect("the router runs");
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        number.expect("the kernel says so") * 1024
    }
    /// Waits until the router holds as much as before, and no buffer.
    #[track_caller]
    pub(super) fn expect(&self, before: &Held) {
        let is_same = || self.held() == *before;
        assert!(eventually(is_same), "{:?} instead of {before:?}", self.held());
        let is_empty = || self.router.tell("show buffers").trim_end().ends_with(" 0");
        assert!(eventually(is_empty), "{}", self.router.tell("show buffers"));
    }
    /// `deaths` peers die, each at some time.
    #[track_caller]
    fn kill(&self, peer: &str, deaths: usize) {
        // Neither a peer nor packets: the present state has to be the same in the end.
        assert!(eventually(|| !self.is_up()));
        let mut random = Random(7);
        self.send();
        let mut served = 0;
        let mut one = |random: &mut Random, is_awaited: bool| {
            let peer = Peer::start(peer);
            if is_awaited {
                self.is_served();
                served += 1;
            }
            sleep(Duration::from_millis(random.below(LIFE)));
            drop(peer);
        };
        for n in 0..WARM {
            one(&mut random, n % 5 == 0);
        }
        self.stop();
        assert!(eventually(|| !self.is_up()));
        let (before, memory) = (self.rest(), self.memory());
        self.send();
        for n in 0..deaths {
            one(&mut random, n % 10 == 9);
        }
        one(&mut random, true);
        self.stop();
        assert!(eventually(|| !self.is_up()));
        self.expect(&before);
        let after = self.memory();
        println!(
            "{peer}: {} deaths, {served} of them awaited; {before:?} before and after, \
             {} and {} KB, {} packets received, {} sent",
            deaths + WARM + 1,
            memory >> 10,
            after >> 10,
            self.counted("rx packets"),
            self.counted("tx packets"),
        );
        assert!(after < memory + GROWTH, "{memory} bytes became {after}");
    }
}

fn memif(role: &str) -> (Rig, String) {
    let socket = format!("@{}", tests::unique());
    let create = format!(
        "create memif socket id 1 filename {socket}\ncreate interface memif socket-id 1 {role}"
    );
    (Rig::new(&create, "memif1/0"), socket)
}

#[test]
fn slaves_of_memif_die() {
    let (rig, socket) = memif("master");
    rig.kill(&format!("memif slave {socket}"), deaths(20));
}

#[test]
fn masters_of_memif_die() {
    let (rig, socket) = memif("slave");
    // It looks for one once a second.
    rig.kill(&format!("memif master {socket}"), deaths(10));
}

fn die(words: &str, side: &str, ring: &str, count: usize) {
    let name = tests::unique();
    let path = std::env::temp_dir().join(format!("{name}-vhost"));
    let create = format!("create vhost-user socket {} {words}", path.display());
    let rig = Rig::new(&create, "VirtualEthernet0/0/0");
    rig.kill(&format!("vhost-user {side} {ring} {}", path.display()), count);
    let _ = std::fs::remove_file(path);
}

#[test]
fn drivers_of_split_rings_die() {
    die("server", "client", "split", deaths(20));
}

#[test]
fn drivers_of_packed_rings_die() {
    die("server packed", "client", "packed", deaths(20));
}

#[test]
fn drivers_that_listen_die() {
    // It looks for one once a second.
    die("", "server", "split", deaths(10));
}
