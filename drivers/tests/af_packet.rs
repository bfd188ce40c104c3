//! `host-X` interfaces between two network namespaces, with the router as a wire between them.
//!
//! Needs root; says so and passes otherwise. What it makes is named after its process and removed
//! at the end, also when a test fails.

use std::convert::Infallible;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use control::log::Log;
use control::process::Processes;
use graph::{Flags, Frame, Node, Settings, Slot};
use net::{Assembly, Router};

/// A test that counts the files of the whole process runs while no other does.
static FILES: RwLock<()> = RwLock::new(());

/// In place of `ethernet-input`: packets received on one interface leave by the other.
#[derive(Clone, Default)]
struct Wire {
    /// By receive interface.
    to: Vec<Option<Slot>>,
    /// The last frame with a VLAN tag.
    tagged: Option<Vec<u8>>,
}

#[derive(Clone, Copy, graph::Next)]
enum Next {
    #[dynamic]
    To(Slot),
}

#[derive(Clone, Copy, graph::Reason)]
enum Error {
    /// No other interface.
    Alone,
}

impl Node for Wire {
    const NAME: &'static str = "ethernet-input";
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            let to = self.to.get(p.rx() as usize).copied().flatten().ok_or(Error::Alone)?;
            let is_tagged = p.bytes().get(12..14) == Some(&[0x81, 0]);
            let l3 = p.offset() + if is_tagged { 18 } else { 14 };
            if is_tagged {
                self.tagged = Some(p.segments().flatten().copied().collect());
            }
            p.set_l3_offset(l3);
            p.add_flags(Flags::L3);
            Ok(Next::To(to))
        });
    }
}

/// End of packets that this router has no use for.
#[derive(Clone)]
struct End;

impl Node for End {
    const NAME: &'static str = "end";
    type Next = Infallible;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.consume(|_| Ok(()));
    }
}

fn router() -> Assembly {
    let router = Router::new(Settings { buffers: 65536, ..Settings::default() }, Log::new());
    let mut parts = Assembly::new(router.unwrap());
    for feature in net::FEATURES.iter().filter(|f| ["drops", "interface"].contains(&f.name)) {
        parts.add(feature).unwrap();
    }
    parts.add(&drivers::af_packet::FEATURE).unwrap();
    let engine = &mut parts.router.engine;
    engine.add(Wire::default()).unwrap();
    for name in ["ip4-input", "ip6-input"] {
        engine.add_named(name, End).unwrap();
    }
    engine.build().unwrap();
    engine.start().unwrap();
    parts
}

static MADE: AtomicU32 = AtomicU32::new(0);

/// Two namespaces `left` and `right`, each with a device whose other end is here.
struct Hosts {
    id: String,
    children: Vec<Child>,
}

impl Hosts {
    fn new() -> Self {
        let id = format!("{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let hosts = Self { id, children: Vec::new() };
        for (side, n) in [("l", 1), ("r", 2)] {
            ip(&format!("netns add {}", hosts.ns(side)));
            hosts.plug_in(side, n);
        }
        hosts
    }
    /// Makes a device and its other end, which is host `n`'s.
    fn plug_in(&self, side: &str, n: u8) {
        let (ns, here) = (self.ns(side), self.device(side));
        ip(&format!("link add {here} type veth peer name eth0 netns {ns}"));
        let there = |line: &str| ip(&format!("-n {ns} {line}"));
        there("link set lo up");
        there("link set eth0 up");
        there(&format!("address add 10.77.0.{n}/24 dev eth0"));
        there(&format!("address add fd77::{n}/64 dev eth0 nodad"));
    }
    fn ns(&self, side: &str) -> String {
        format!("fva{side}{}", self.id)
    }
    fn device(&self, side: &str) -> String {
        format!("fv{side}{}", self.id)
    }
    /// Runs a command in a namespace.
    fn run(&self, side: &str, line: &str) -> Output {
        let words = line.split_whitespace();
        Command::new("ip").args(["netns", "exec", &self.ns(side)]).args(words).output().unwrap()
    }
    #[track_caller]
    fn must(&self, side: &str, line: &str) -> String {
        let out = self.run(side, line);
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "{line}: {text}{}", String::from_utf8_lossy(&out.stderr));
        text
    }
    fn start(&mut self, side: &str, line: &str) {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.ns(side)]).args(line.split_whitespace());
        self.children.push(command.stdout(Stdio::null()).spawn().unwrap());
    }
    /// Ends what was started.
    fn stop(&mut self) {
        for mut child in self.children.drain(..) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
    /// Makes both interfaces and the wire between them.
    fn connect(&self, parts: &mut Assembly, options: &str) {
        for side in ["l", "r"] {
            let device = self.device(side);
            let made = cli(parts, &format!("create host-interface name {device} {options}"));
            assert_eq!(made, format!("host-{device}\n"));
            let index = parts.router.interfaces.named(made.trim()).unwrap().index;
            parts.router.set_admin(index, true);
        }
        let engine = &mut parts.router.engine;
        let mut to = vec![None; 256];
        for (from, other) in [("l", "r"), ("r", "l")] {
            let from = format!("host-{}", self.device(from));
            let output = format!("host-{}-output", self.device(other));
            let slot = engine.connect("ethernet-input", &output).unwrap();
            to[parts.router.interfaces.named(&from).unwrap().index.0 as usize] = Some(slot);
        }
        let wire = engine.index_of("ethernet-input").unwrap();
        for thread in engine.data_threads() {
            let to = to.clone();
            engine.with_node(thread, wire, |w: &mut Wire| w.to = to).unwrap();
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.stop();
        for side in ["l", "r"] {
            // Both ends of the pair go with one.
            let _ = Command::new("ip").args(["link", "del", &self.device(side)]).status();
            let _ = Command::new("ip").args(["netns", "del", &self.ns(side)]).status();
        }
    }
}

#[track_caller]
fn ip(line: &str) {
    let out = Command::new("ip").args(line.split_whitespace()).output().unwrap();
    assert!(out.status.success(), "ip {line}: {}", String::from_utf8_lossy(&out.stderr));
}

fn cli(parts: &mut Assembly, line: &str) -> String {
    parts.cli.run(&mut parts.router, line).text().to_owned()
}

fn may_run() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    let may = is_root && has("ip") && has("iperf3") && has("ping");
    if !may {
        eprintln!("skipped: needs root, ip, iperf3 and ping");
    }
    may
}

/// Gigabits a second that iperf3 reports as received.
fn throughput(json: &str) -> f64 {
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    let end = &value["end"];
    let received = [&end["sum_received"], &end["sum"]];
    let bits = received.iter().find_map(|s| s["bits_per_second"].as_f64());
    bits.unwrap_or_else(|| panic!("no result: {json}")) / 1e9
}

/// Waits until `is_so`, at most half a minute; whether it became so.
fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    (0..1500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        is_so()
    })
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn two_hosts_talk_through_it() {
    if !may_run() {
        return;
    }
    let _turn = FILES.read().unwrap_or_else(PoisonError::into_inner);
    for options in ["", "cksum-gso-disable", "num-rx-queues 2 num-tx-queues 2 qdisc-bypass-disable"]
    {
        let mut hosts = Hosts::new();
        let mut parts = router();
        hosts.connect(&mut parts, options);
        for address in ["10.77.0.2", "fd77::2"] {
            let text = hosts.must("l", &format!("ping -c 5 -i 0.05 -W 10 {address}"));
            assert!(text.contains(" 0% packet loss"), "{text}");
            println!("{options:?}: {}", text.lines().last().unwrap_or_default());
        }
        hosts.must("l", "ping -c 2 -i 0.05 -W 10 -s 1472 -M do 10.77.0.2");
        for flags in ["", "-R", "-6", "-6 -R", "-u -b 200M", "-u -b 200M -R -l 1400"] {
            let to = if flags.contains("-6") { "fd77::2" } else { "10.77.0.2" };
            // One that has had a client does not listen for a while.
            hosts.start("r", "iperf3 -s -1");
            let is_one = |line: &str| line.contains(":1451 ") && line.contains(" 0A ");
            let is_listening = || hosts.must("r", "cat /proc/net/tcp6").lines().any(is_one);
            assert!(eventually(is_listening), "iperf3 does not listen");
            let json = hosts.must("l", &format!("iperf3 -J -t 2 -c {to} {flags}"));
            hosts.stop();
            let gigabits = throughput(&json);
            println!("{options:?}: iperf3 {flags}: {gigabits:.2} Gbit/s");
            for (_, node, text, n) in parts.router.engine.errors() {
                println!("{n} {node} {}", text.text);
            }
            assert!(gigabits > 0.01, "iperf3 {flags}: {gigabits} Gbit/s");
        }
        println!("{}", cli(&mut parts, "show af-packet"));
        for (_, node, text, n) in parts.router.engine.errors() {
            println!("{n} {node} {}", text.text);
        }
        for side in ["l", "r"] {
            cli(&mut parts, &format!("delete host-interface name {}", hosts.device(side)));
        }
        assert_eq!(parts.router.interfaces.iter().count(), 1, "local0 is left");
        assert_eq!(parts.router.engine.buffers_used().unwrap(), 0);
    }
}

/// Sends a frame that carries VLAN tag 7 and so many bytes more.
const SEND_TAGGED: &str = "
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(('eth0', 0))
s.send(bytes(6 * [255] + 6 * [2]) + b'\\x81\\x00\\x20\\x07\\x88\\xb5' + bytes(int(sys.argv[1])))
";

#[test]
fn tags_are_put_back() {
    if !may_run() {
        return;
    }
    let _turn = FILES.read().unwrap_or_else(PoisonError::into_inner);
    let hosts = Hosts::new();
    for side in ["l", "r"] {
        ip(&format!("-n {} link set eth0 mtu 9000", hosts.ns(side)));
        ip(&format!("link set {} mtu 9000", hosts.device(side)));
    }
    let mut parts = router();
    hosts.connect(&mut parts, "");
    // One that fits a slot of the ring, and one that does not.
    for len in [100, 5000] {
        let mut python = Command::new("ip");
        python.args(["netns", "exec", &hosts.ns("l"), "python3", "-c", SEND_TAGGED]);
        match python.arg(len.to_string()).status() {
            Ok(status) if status.success() => (),
            _ => return eprintln!("skipped: needs python3"),
        }
        let engine = &mut parts.router.engine;
        let wire = engine.index_of("ethernet-input").unwrap();
        let mut seen = None;
        eventually(|| {
            seen = engine.with_node(0, wire, |w: &mut Wire| w.tagged.take()).unwrap();
            seen.is_some()
        });
        let mut frame = [[0xff; 6], [2; 6]].concat();
        frame.extend([0x81, 0, 0x20, 7, 0x88, 0xb5]);
        frame.resize(frame.len() + len, 0);
        assert!(seen.is_some_and(|s| s == frame), "{len} bytes");
    }
}

#[test]
fn link_and_device_are_followed() {
    if !may_run() {
        return;
    }
    let _turn = FILES.read().unwrap_or_else(PoisonError::into_inner);
    let hosts = Hosts::new();
    let mut parts = router();
    hosts.connect(&mut parts, "");
    let name = format!("host-{}", hosts.device("l"));
    let is_up = |parts: &Assembly| parts.router.interfaces.named(&name).unwrap().link_up;
    let look = |parts: &mut Assembly, now: f64| {
        Processes::run_due(&mut parts.router, |r| &mut r.processes, now)
    };
    assert!(look(&mut parts, 0.0).is_some(), "it looks again by itself");
    assert!(is_up(&parts), "switched on with its interface");
    // The kernel may take its time to say that the other side has lost its carrier, or has it.
    let mut now = 0.0;
    ip(&format!("-n {} link set eth0 down", hosts.ns("l")));
    let goes_down = || {
        now += 2.0;
        look(&mut parts, now);
        !is_up(&parts)
    };
    assert!(eventually(goes_down));
    ip(&format!("-n {} link set eth0 up", hosts.ns("l")));
    let comes_up = || {
        now += 2.0;
        look(&mut parts, now);
        is_up(&parts)
    };
    assert!(eventually(comes_up));
    ip(&format!("link del {}", hosts.device("l")));
    look(&mut parts, now + 2.0);
    assert!(!is_up(&parts));
    assert_eq!(cli(&mut parts, &format!("delete host-interface name {}", hosts.device("l"))), "");
}

#[test]
fn a_device_made_again_is_used_again() {
    if !may_run() {
        return;
    }
    let _turn = FILES.read().unwrap_or_else(PoisonError::into_inner);
    for options in ["", "num-rx-queues 2 num-tx-queues 2"] {
        let hosts = Hosts::new();
        let mut parts = router();
        hosts.connect(&mut parts, options);
        hosts.must("l", "ping -c 2 -i 0.05 -W 10 10.77.0.2");
        ip(&format!("link del {}", hosts.device("l")));
        let mut now = 0.0;
        let mut look = |parts: &mut Assembly| {
            now += 2.0;
            Processes::run_due(&mut parts.router, |r| &mut r.processes, now);
            let name = format!("host-{}", hosts.device("l"));
            parts.router.interfaces.named(&name).unwrap().link_up
        };
        assert!(!look(&mut parts));
        hosts.plug_in("l", 1);
        assert!(eventually(|| look(&mut parts)), "{options}: it stays down");
        for address in ["10.77.0.2", "fd77::2"] {
            hosts.must("l", &format!("ping -c 5 -i 0.05 -W 10 {address}"));
        }
        hosts.must("r", "ping -c 5 -i 0.05 -W 10 10.77.0.1");
    }
}

#[test]
fn wrong_input_changes_nothing() {
    if !may_run() {
        return;
    }
    let _turn = FILES.write().unwrap_or_else(PoisonError::into_inner);
    let hosts = Hosts::new();
    let mut parts = router();
    let device = hosts.device("l");
    let files = open_files();
    for (line, answer) in [
        (
            "create host-interface name nosuchif",
            "create host-interface: Invalid interface name: there is no such device in this \
             network namespace",
        ),
        ("delete host-interface name nosuchif", "delete host-interface: Invalid interface name"),
        (
            "create host-interface name way-too-long-for-linux",
            "create host-interface: Invalid interface name: there is no such device in this \
             network namespace",
        ),
        (
            &format!("create host-interface name {device} mode ip"),
            "create host-interface: an Ethernet device cannot do `mode ip'",
        ),
        (
            &format!("create host-interface name {device} num-rx-queues 0"),
            "create host-interface: queues must be 1 to 64, not 0",
        ),
        (
            &format!("create host-interface name {device} hw-addr ff:ff:ff:ff:ff:ff"),
            "create host-interface: hw-addr is not a unicast MAC address",
        ),
    ] {
        assert_eq!(cli(&mut parts, line).trim(), answer, "{line}");
        assert_eq!(parts.router.interfaces.iter().count(), 1);
    }
    // What a test before this one had may be closed late.
    assert!(eventually(|| open_files() <= files), "{} files, {files} before", open_files());
    let create = format!("create host-interface v2 name {device} hw-addr 02:01:02:03:04:05");
    assert_eq!(cli(&mut parts, &create), format!("host-{device}\n"));
    assert_eq!(cli(&mut parts, &create).trim(), "create host-interface: Interface already exists");
    let made = parts.router.interfaces.named(&format!("host-{device}")).unwrap();
    assert_eq!(made.mac.to_string(), "02:01:02:03:04:05");
    assert_eq!(made.mtu.l3, 1500);
}

#[test]
fn coming_and_going_under_traffic_leaks_nothing() {
    if !may_run() {
        return;
    }
    let _turn = FILES.write().unwrap_or_else(PoisonError::into_inner);
    let hosts = Hosts::new();
    let mut parts = router();
    let rounds =
        std::env::var("FERROVIA_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(30_u32);
    let mut ping = Command::new("ip");
    ping.args(["netns", "exec", &hosts.ns("l"), "ping", "-f", "-W", "1", "10.77.0.2"]);
    let mut ping = ping.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // What control waits for news of devices with is made once: a list, and an alarm in it.
    let files = open_files() + 2;
    let start = parts.router.now();
    for _ in 0..rounds {
        hosts.connect(&mut parts, "");
        for side in ["r", "l"] {
            let line = format!("delete host-interface name {}", hosts.device(side));
            assert_eq!(cli(&mut parts, &line), "");
        }
    }
    let each = (parts.router.now() - start) / f64::from(rounds);
    println!("{rounds} rounds: {:.1} ms each", each * 1e3);
    let _ = ping.kill();
    let _ = ping.wait();
    // Sockets are closed on another thread.
    assert!(eventually(|| open_files() <= files), "{} files, not {files}", open_files());
    assert_eq!(parts.router.engine.buffers_used().unwrap(), 0);
}
