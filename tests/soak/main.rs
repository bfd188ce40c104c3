//! Soak test of everything at once: translation, an access list, a tunnel and a bridge forward
//! packets, while CLI and API clients connect and disconnect, and configurations, workers, plugins
//! and captures change. Each received packet has to be sent.
//!
//! It runs for at least `FERROVIA_SOAK` seconds, `FERROVIA_SOAK_LINES` commands and
//! `FERROVIA_SOAK_MESSAGES` messages.
#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use control::session::frame::{Answer, Request};
use control::session::telnet::{Decoder, Event, FRAMES, IAC, WILL};
use ferrovia_client::messages::{AddressUnion, FibPath, FibPathType, IpRouteAddDelV2, ShowVersion};
use ferrovia_client::{Client, stats};
use tests::{Daemon, eventually};

/// Receiving and transmitting interfaces.
const WAYS: [(u32, u32); 4] = [(0, 1), (2, 3), (4, 5), (6, 7)];
/// Clients that give commands, and those that send messages.
const CLIENTS: u32 = 3;

/// The value of a variable, or what is so without it.
fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// A router with all of it, and streams that do not end.
fn setup() -> String {
    let mut text = String::new();
    for n in 0..8 {
        let lines = format!(
            "create packet-generator interface pg{n}\n\
             set interface mac address pg{n} 02:00:00:00:01:0{n}\n\
             set interface state pg{n} up\n"
        );
        text.push_str(&lines);
        if n != 4 && n != 5 {
            let _ = writeln!(text, "set interface ip address pg{n} 10.0.{n}.1/24");
            let _ = writeln!(text, "set ip neighbor pg{n} 10.0.{n}.2 02:00:00:00:02:0{n} static");
        }
    }
    text.push_str(
        "nat44 plugin enable
        nat44 add address 10.0.1.9
        set interface nat44 in pg0 out pg1
        ip route add 20.1.0.0/16 via 10.0.1.2 pg1
        create ipip tunnel src 10.0.3.1 dst 10.0.3.2
        set interface state ipip0 up
        set interface ip address ipip0 10.9.0.1/30
        ip route add 20.3.0.0/16 via ipip0
        set interface l2 bridge pg4 7
        set interface l2 bridge pg5 7
        l2fib add 02:00:00:00:02:05 7 pg5 static
        set acl-plugin acl permit+reflect proto 17 src 10.0.6.0/24, deny
        set acl-plugin interface pg7 output acl 0
        ip route add 20.7.0.0/16 via 10.0.7.2 pg7\n",
    );
    let targets = ["20.1.0.1-20.1.0.99", "20.3.0.1", "10.0.5.2", "20.7.0.1-20.7.0.50"];
    for ((from, _), to) in WAYS.iter().zip(targets) {
        let mac = if *from == 4 {
            "02:00:00:00:02:05".to_owned()
        } else {
            format!("02:00:00:00:01:0{from}")
        };
        let _ = writeln!(
            text,
            "packet-generator new {{ name s{from} limit 0 rate 2500 size 100-100 interface pg{from} \
             node ethernet-input data {{ IP4: 02:00:00:00:02:0{from} -> {mac} \
             UDP: 10.0.{from}.2 -> {to} UDP: 1000 -> 53 incrementing 58 }} }}"
        );
    }
    text
}

/// State shared by all threads of the test.
struct Soak<'a> {
    daemon: &'a Daemon,
    is_over: AtomicBool,
    lines: AtomicU64,
    messages: AtomicU64,
    /// Replacements, commits, changes of workers, plugins, captures and deaths of clients.
    rounds: AtomicU64,
}

impl Soak<'_> {
    /// Carries on until it is over.
    fn again(&self, mut round: impl FnMut(u32)) {
        let mut number = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            round(number);
            number = number.wrapping_add(1);
        }
    }

    /// One command after the other of a client that stays; others may be in their way.
    fn commands(&self, client: u32) {
        let mut session = Session::open(&self.daemon.folder().join("cli.sock"));
        let name = format!("loop{}", 100 + client);
        self.again(|n| {
            let net = format!("30.{client}.{}.0/24", n % 256);
            for line in [
                format!("create loopback interface instance {}", 100 + client),
                format!("set interface ip address {name} 10.20{client}.0.1/24"),
                format!("set interface state {name} up"),
                format!("ip route add {net} via 10.20{client}.0.2 {name}"),
                format!("show ip fib {net}"),
                format!("show interface {name}"),
                format!("set interface state {name} sideways {n}"),
                "show errors".to_owned(),
                format!("ip route del {net} via 10.20{client}.0.2 {name}"),
                format!("delete loopback interface intfc {name}"),
            ] {
                session.give(&line);
                self.lines.fetch_add(1, Ordering::Relaxed);
            }
        });
    }

    /// Messages of a client, in shared memory or not.
    fn messages(&self, client: u32) {
        let socket = self.daemon.folder().join("api.sock");
        self.again(|n| {
            let connected = match client % 2 {
                0 => Client::connect(&socket, "soak"),
                _ => Client::connect_shared(&socket, "soak", 1 << 20),
            };
            let mut connected = connected.expect("a client may connect");
            for is_add in [true, false] {
                let routes = (0..500).map(|host| route(client, n % 16, host, is_add));
                connected.calls(routes, |_, _| ()).expect("all are answered");
            }
            connected.call(&ShowVersion::default()).expect("it has a version");
            self.messages.fetch_add(1001, Ordering::Relaxed);
        });
    }

    /// Configurations that are saved, committed, undone and replaced.
    fn configurations(&self, base: &Path) {
        let (base, other) = (base.display(), self.daemon.folder().join("other"));
        self.again(|n| {
            for line in [
                format!("create loopback interface instance {}", 50 + n % 4),
                format!("save {}", other.display()),
                format!("commit round {n}"),
                "create loopback interface instance 60".to_owned(),
                "commit confirm 0.01".to_owned(),
                "wait 1".to_owned(),
                format!("configure replace {base}"),
                format!("configure replace {}", other.display()),
                format!("show configuration diff {base}"),
                format!("configure replace {base}"),
            ] {
                self.daemon.ask(&line);
            }
            self.rounds.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// Workers, plugins, captures and traces.
    fn surroundings(&self) {
        let file = self.daemon.folder().join("soak.pcapng");
        self.again(|n| {
            for line in [
                format!("set workers {}", n % 3),
                "plugin unload lldp".to_owned(),
                format!("capture start name soak rx tx file {} packets 2000", file.display()),
                "trace add pg-input 5".to_owned(),
                "plugin load lldp".to_owned(),
                "show trace".to_owned(),
                "clear trace".to_owned(),
                "capture stop soak".to_owned(),
                "show health".to_owned(),
            ] {
                self.daemon.ask(&line);
            }
            self.rounds.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// Clients that are killed in the middle of a command.
    fn deaths(&self) {
        self.again(|n| {
            let line = ["show ip fib", "wait 100", "show configuration"][n as usize % 3];
            let mut client = self.daemon.fvctl_command();
            client.arg(line).stdout(Stdio::null()).stderr(Stdio::null());
            let mut client = client.spawn().expect("fvctl is built");
            sleep(Duration::from_millis(u64::from(n % 20)));
            let _ = client.kill();
            let _ = client.wait();
            self.rounds.fetch_add(1, Ordering::Relaxed);
        });
    }
}

/// A route of a client's own.
fn route(client: u32, block: u32, host: u32, is_add: bool) -> IpRouteAddDelV2 {
    let mut request = IpRouteAddDelV2 { is_add, ..Default::default() };
    let address = 0x4000_0000 + (client << 24) + (block << 16) + host;
    request.route.prefix.len = 32;
    request.route.prefix.address.un = AddressUnion::of_ip4(&address.to_be_bytes());
    let drop = FibPathType::FIB_API_PATH_TYPE_DROP;
    request.route.paths = vec![FibPath { r#type: drop, weight: 1, ..Default::default() }];
    request
}

/// A session that speaks frames and stays.
struct Session {
    stream: UnixStream,
    decoder: Decoder,
    number: u32,
}

impl Session {
    fn open(socket: &Path) -> Self {
        let mut stream = UnixStream::connect(socket).expect("it listens");
        stream.write_all(&[IAC, WILL, FRAMES]).expect("it reads");
        let mut session = Self { stream, decoder: Decoder::default(), number: 0 };
        session.until(|answer| matches!(answer, Answer::Hello { .. }));
        session
    }

    /// Gives a command, and waits for its end.
    fn give(&mut self, line: &str) {
        self.number += 1;
        let request = Request::Run { json: false, text: line.to_owned() };
        self.stream.write_all(&request.encode(self.number)).expect("it reads");
        self.until(|answer| matches!(answer, Answer::Done { .. }));
    }

    fn until(&mut self, is_it: impl Fn(&Answer) -> bool) {
        let mut bytes = [0; 65_536];
        loop {
            let len = self.stream.read(&mut bytes).expect("the session goes on");
            assert!(len > 0, "the session ended");
            let mut is_there = false;
            for byte in &bytes[..len] {
                if let Some(Event::Frame(frame)) = self.decoder.byte(*byte) {
                    is_there |= Answer::decode(&frame).is_some_and(|(_, answer)| is_it(&answer));
                }
            }
            if is_there {
                return;
            }
        }
    }
}

/// Resident memory of the daemon, in kB.
fn memory(daemon: &Daemon) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
#[allow(clippy::disallowed_methods, reason = "how long it takes is real time")]
fn every_packet_goes_through_while_everything_changes() {
    let time = Duration::from_secs(setting("FERROVIA_SOAK", 5));
    let least = [setting("FERROVIA_SOAK_LINES", 0), setting("FERROVIA_SOAK_MESSAGES", 0)];
    let daemon = Daemon::start_with("cpu { workers 1 }", &[]);
    let base = daemon.folder().join("base");
    fs::write(&base, setup()).unwrap();
    daemon.tell(&format!("exec {}", base.display()));
    daemon.tell(&format!("save {}", base.display()));
    let configuration = daemon.tell("show configuration");
    let segment = stats::fetch(&daemon.folder().join("stats.sock")).unwrap();
    let reader = stats::Reader::new(segment).unwrap();
    let count = |interface: u32, direction: &str| {
        reader.read(&format!("/interfaces/pg{interface}/{direction}")).unwrap().unwrap().sum(0)
    };
    let sums = || WAYS.map(|(from, to)| [count(from, "rx"), count(to, "tx")]);
    let before = sums();
    let (start, first) = (Instant::now(), memory(&daemon));
    daemon.tell("packet-generator enable");
    let soak = Soak {
        daemon: &daemon,
        is_over: AtomicBool::new(false),
        lines: AtomicU64::new(0),
        messages: AtomicU64::new(0),
        rounds: AtomicU64::new(0),
    };
    let mut slowest = Duration::ZERO;
    scope(|scope| {
        for client in 0..CLIENTS {
            let soak = &soak;
            scope.spawn(move || soak.commands(client));
            scope.spawn(move || soak.messages(client));
        }
        scope.spawn(|| soak.configurations(&base));
        scope.spawn(|| soak.surroundings());
        scope.spawn(|| soak.deaths());
        let is_enough = || {
            let done = [&soak.lines, &soak.messages].map(|n| n.load(Ordering::Relaxed));
            start.elapsed() > time && done[0] >= least[0] && done[1] >= least[1]
        };
        while !is_enough() && daemon.is_running() {
            let asked = Instant::now();
            daemon.ask("show version");
            slowest = slowest.max(asked.elapsed());
            sleep(Duration::from_millis(100));
        }
        soak.is_over.store(true, Ordering::Relaxed);
    });
    daemon.tell("packet-generator disable");
    daemon.tell("set workers 1");
    // An unconfirmed replacement may still be rolling back.
    let mut last = String::new();
    let is_replaced = eventually(|| {
        last = daemon.ask(&format!("configure replace {}", base.display())).error;
        last.is_empty() && daemon.tell("show configuration") == configuration
    });
    assert!(is_replaced, "{last}: {}", daemon.tell("show configuration"));
    let is_even = |now: [[u64; 2]; 4]| {
        now.iter().zip(&before).all(|(now, then)| now[0] - then[0] == now[1] - then[1])
    };
    let is_through = eventually(|| is_even(sums()));
    let [lines, messages, rounds] =
        [&soak.lines, &soak.messages, &soak.rounds].map(|n| n.load(Ordering::Relaxed));
    let packets: u64 = sums().iter().zip(&before).map(|(now, then)| now[0] - then[0]).sum();
    println!(
        "{:.0?}: {packets} packets, {lines} lines, {messages} messages, {rounds} rounds, slowest \
         answer {slowest:.2?}, memory {first} to {} kB",
        start.elapsed(),
        memory(&daemon)
    );
    assert!(is_through, "came in and went out: {:?}, before {before:?}", sums());
    assert!(packets > 0 && lines > 0 && messages > 0);
    let log = fs::read_to_string(daemon.folder().join("log")).unwrap();
    assert!(!log.contains("panicked"), "{log}");
    assert!(slowest < Duration::from_secs(20), "an answer took {slowest:?}");
}
