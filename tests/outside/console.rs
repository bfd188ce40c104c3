//! The command line as a person has it: the telnet dialect of the socket, completion, help, pages,
//! and long files that are stopped; `fvctl` at a terminal.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tests::{Daemon, eventually, has, is_timing_wanted, program};

use super::GENERATORS;

/// A terminal of 80 columns and 24 lines at the router's socket.
struct Terminal(UnixStream);

impl Terminal {
    fn new(daemon: &Daemon, kind: &str) -> Self {
        let mut stream = UnixStream::connect(daemon.folder().join("cli.sock")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.read_exact(&mut [0; 36]).unwrap();
        let mut hello = b"\xff\xfa\x18\x00".to_vec();
        hello.extend(kind.as_bytes());
        hello.extend(b"\xff\xf0\xff\xfa\x1f\x00\x50\x00\x18\xff\xf0");
        stream.write_all(&hello).unwrap();
        Self(stream)
    }

    /// Types `keys` and waits for what ends with `end`.
    fn types(&mut self, keys: &str, end: &str) -> String {
        self.0.write_all(keys.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        while !bytes.ends_with(end.as_bytes()) {
            let mut byte = [0];
            self.0.read_exact(&mut byte).unwrap();
            bytes.push(byte[0]);
        }
        String::from_utf8(bytes).unwrap()
    }
}

#[test]
fn a_person_completes_names_asks_and_turns_pages() {
    let daemon = Daemon::start(GENERATORS);
    daemon.tell("ip table add 4711");
    let mut terminal = Terminal::new(&daemon, "xterm");
    assert!(terminal.types("", "# ").contains("TAB completes"));
    assert_eq!(
        terminal.types("set int st pg\t", "pg1\r\nvpp# set int st pg").matches("pg").count(),
        4
    );
    assert_eq!(terminal.types("1 do\t\r", "# "), "1 down \r\nvpp# ");
    assert!(daemon.ask("show interface pg1").text.contains("down"));
    terminal.types("ip route add 10.9.0.0/16 table 4\t", "4711 ");
    let help = terminal.types("?", "vpp# ip route add 10.9.0.0/16 table 4711 ");
    assert!(help.contains("usage: ip route [add|del]") && help.contains("\r\n  via\r\n"), "{help}");
    let page = terminal.types("\x15show vlib graph\r", "-- more -- ");
    // The line typed, and 23 of the list.
    assert!(page.lines().count() <= 25, "{page}");
    terminal.types("q", "# ");
    let wrong = terminal.types("show interfase\r", "# ");
    assert!(wrong.contains("unknown input `interfase' (did you mean `interface'?)"), "{wrong}");
}

#[test]
fn the_originals_client_has_lines_and_nothing_else() {
    let daemon = Daemon::start(GENERATORS);
    let mut terminal = Terminal::new(&daemon, "vppctl");
    assert_eq!(terminal.types("show bogus\n\0", "\0"), "show: unknown input `bogus'\r\n\0");
    let text = terminal.types("show interface address pg0\n\0", "\0");
    assert!(text.starts_with("pg0 (up):\r\n  L3 10.0.0.1/24\r\n"), "{text}");
    assert_eq!(terminal.types("quit\n", "\0"), "\0");
    assert_eq!(terminal.0.read(&mut [0]).unwrap(), 0);
}

/// First bytes of the original's server, and the answer of its client.
const GREETING: &str = "fffc22fffe22fffb03fffd03fffb01fffe01fffd18fffa1801fff0fffd1ffffa1f01fff0";

/// The original's client as far as the wire goes: connects, takes the greeting, says what it is.
fn original(daemon: &Daemon, kind: &str, window: &[u8]) -> Terminal {
    let mut stream = UnixStream::connect(daemon.folder().join("cli.sock")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut greeting = [0; GREETING.len() / 2];
    stream.read_exact(&mut greeting).unwrap();
    let hex: String = greeting.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, GREETING);
    let kind = [b"\xff\xfa\x18\x00", kind.as_bytes(), b"\xff\xf0", window].concat();
    // Byte by byte: nothing is promised about how much comes at once.
    kind.chunks(1).for_each(|byte| stream.write_all(byte).unwrap());
    Terminal(stream)
}

#[test]
fn the_originals_client_gives_one_command_and_leaves() {
    let daemon = Daemon::start(GENERATORS);
    let mut client = original(&daemon, "vppctl", b"");
    for (line, answer) in [
        (
            "show interface address pg0",
            "pg0 (up):\r\n  L3 10.0.0.1/24\r\n  L3 2001:db8::1/64\r\n\0",
        ),
        (
            "set interface state nosuch up",
            "set interface state: unknown interface `nosuch up'\r\n\0",
        ),
        ("set interface state pg0 up", "\0"),
        ("create loopback interface", "loop0\r\n\0"),
    ] {
        for byte in format!("{line}\n\0").as_bytes().chunks(1) {
            client.0.write_all(byte).unwrap();
        }
        assert_eq!(client.types("", "\0"), answer);
    }
    client.0.write_all(b"quit\n").unwrap();
    let mut rest = Vec::new();
    client.0.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"\0");
}

#[test]
fn the_originals_client_at_a_terminal_has_echo_pages_and_an_end() {
    let daemon = Daemon::start(GENERATORS);
    // 80 columns, 24 lines.
    let mut client = original(&daemon, "xterm-256color", b"\xff\xfa\x1f\x00\x50\x00\x18\xff\xf0");
    let banner = client.types("", "vpp# ");
    assert!(banner.contains("\r\n") && banner.ends_with("\r\nvpp# "), "{banner:?}");
    for key in ["e", "c", "h", "o", " ", "x"] {
        assert_eq!(client.types(key, key), key);
    }
    assert_eq!(client.types("\r", "vpp# "), "\r\nx\r\nvpp# ");
    client.types("show vlib graph\r", "-- more -- ");
    client.types("q", "vpp# ");
    // The window grows: more fits on a page. An unknown option changes nothing.
    client.0.write_all(b"\xff\xfa\x1f\x00\x50\xff\xff\x00\xff\xf0\xff\xfb\x63").unwrap();
    let text = client.types("show vlib graph\r", "vpp# ");
    assert!(!text.contains("-- more --") && text.lines().count() > 100);
    let text = client.types("show terminal\r", "vpp# ");
    assert!(text.contains("Terminal name:   xterm-256color\r\n"), "{text}");
    assert!(text.contains("Terminal height: 65280\r\n"), "{text}");
    client.0.write_all(b"quit\r").unwrap();
    let mut rest = Vec::new();
    client.0.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"quit\r\n");
}

/// `fvctl` at a terminal of its own.
struct Fvctl {
    script: Child,
    keys: Arc<Mutex<ChildStdin>>,
    seen: Arc<Mutex<String>>,
}

impl Fvctl {
    /// Starts it with its history in the daemon's folder.
    fn start(daemon: &Daemon) -> Self {
        let folder = daemon.folder().display();
        let fvctl = program("fvctl").display().to_string();
        let line = format!("stty cols 100 rows 40; exec {fvctl} -s {folder}/cli.sock");
        let mut script = Command::new("script");
        let script = script.args(["-q", "-e", "-c", &line, "/dev/null"]);
        script.env("XDG_STATE_HOME", daemon.folder()).env("TERM", "xterm");
        let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let keys = Arc::new(Mutex::new(script.stdin.take().unwrap()));
        let seen = Arc::new(Mutex::new(String::new()));
        let mut screen = script.stdout.take().unwrap();
        let (answers, shown) = (Arc::clone(&keys), Arc::clone(&seen));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                // Where is the cursor? A terminal says so.
                for _ in text.matches("\x1b[6n") {
                    let _ = answers.lock().unwrap().write_all(b"\x1b[1;1R");
                }
                shown.lock().unwrap().push_str(&text);
            }
        });
        Self { script, keys, seen }
    }

    fn types(&self, keys: &str) {
        self.keys.lock().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        let is_there = || self.seen.lock().unwrap().contains(text);
        let is_seen = eventually(is_there);
        assert!(is_seen, "no {text:?} in {:?}", self.seen.lock().unwrap());
    }
}

impl Drop for Fvctl {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

#[test]
fn pasted_lines_are_all_carried_out_and_kept_whatever_happens() {
    if !has("script") {
        return;
    }
    let daemon = Daemon::start(GENERATORS);
    let person = Fvctl::start(&daemon);
    person.shows("vpp# ");
    let line = |n: usize| format!("ip route add 30.0.{n}.0/24 via 10.0.1.2 pg1");
    let count = 150;
    person.types(&(0..count).map(|n| line(n) + "\r").collect::<String>());
    let has_route = |n: usize| {
        let prefix = format!("30.0.{n}.0/24");
        daemon.ask(&format!("show ip fib {prefix}")).text.contains(&format!("\n{prefix} "))
    };
    assert!(eventually(|| has_route(count - 1)));
    assert!((0..count).all(has_route));
    person.types("echo Ma\u{df}e\r");
    person.shows("\nMa\u{df}e");
    person.types("wait 1000\r");
    let is_waiting = || daemon.tell("show cli-sessions").contains("wait 1000");
    assert!(eventually(is_waiting));
    person.types("\x03");
    person.shows("interrupted");
    // Its terminal is gone from one moment to the next.
    drop(person);
    let file = daemon.folder().join("ferrovia/history");
    let kept = fs::read_to_string(&file).unwrap();
    let expected = (0..count).map(line).chain(["echo Ma\u{df}e".into(), "wait 1000".into()]);
    assert_eq!(kept.lines().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

/// A program that is ended with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_prompt_outlives_the_router() {
    if !has("script") {
        return;
    }
    let mut daemon = Daemon::start(GENERATORS);
    let person = Fvctl::start(&daemon);
    person.shows("vpp# ");
    assert!(daemon.stop().is_some());
    person.types("show version\r");
    person.shows("waiting for it");
    let config = daemon.folder().join("startup.conf");
    let second = Command::new(program("ferrovia")).arg("-c").arg(config).spawn();
    let _second = Ended(second.unwrap());
    person.shows("reconnected");
    person.types("echo ba\"ck\r");
    person.shows("\nba\"ck");
    // A closed session stays closed.
    let table = daemon.tell("show cli-sessions");
    let row = table.lines().find(|line| line.contains(" framed ") && !line.contains("show cli"));
    let number = row.unwrap().split(' ').next().unwrap();
    daemon.tell(&format!("kill cli-session {number}"));
    person.types("echo more\r");
    person.shows("the router has ended the session");
}

#[test]
fn a_long_file_is_stopped_between_two_lines() {
    let daemon = Daemon::start(GENERATORS);
    let file = daemon.folder().join("routes");
    let line = |n: u32| {
        format!(
            "ip route add {}.{}.{}.0/24 via 10.0.0.2 pg0\n",
            20 + (n >> 16),
            n >> 8 & 255,
            n & 255
        )
    };
    fs::write(&file, (0..1 << 20).map(line).collect::<String>()).unwrap();
    let mut person = Terminal::new(&daemon, "xterm");
    person.types("", "# ");
    person.types(&format!("exec {}\r", file.display()), "\r\n");
    // Others are served meanwhile.
    let mut other = Terminal::new(&daemon, "vppctl");
    let start = Instant::now();
    for _ in 0..20 {
        other.types("show version\n\0", "\0");
    }
    // 6 ms on an idle machine.
    let each = start.elapsed() / 20;
    assert!(!is_timing_wanted() || each < Duration::from_millis(100), "{each:?}");
    let text = person.types("\x03", "# ");
    let count = text.split("stopped; ").nth(1).and_then(|t| t.split(' ').next());
    let count: usize = count.unwrap_or_else(|| panic!("{text}")).parse().unwrap();
    let has = |n: usize| {
        let prefix = line(n as u32).split(' ').nth(3).unwrap().to_owned();
        daemon.ask(&format!("show ip fib {prefix}")).text.contains(&format!("\n{prefix} "))
    };
    assert!(has(count - 1), "{text}");
    assert!(!has(count), "{text}");
}
