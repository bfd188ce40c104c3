//! The command line as a person has it: the telnet dialect of the socket, completion, help, pages,
//! and long files that are stopped.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use tests::{Daemon, is_timing_wanted};

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
    // 6 ms where nobody else wants the processors.
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
