//! Terminals that go away: no program stays behind. None of those here is the controlling terminal
//! of what runs on it, so no signal helps.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tests::{Daemon, eventually, program};

use super::GENERATORS;

/// A program on a terminal of its own.
struct OnTerminal {
    child: Child,
    /// The other side of the terminal; `None` when it has been closed.
    screen: Option<File>,
    shown: String,
}

impl OnTerminal {
    fn start(command: Command) -> Self {
        Self::new(command, None)
    }

    /// One whose standard input is something else.
    fn printing(command: Command, stdin: Stdio) -> Self {
        Self::new(command, Some(stdin))
    }

    fn new(mut command: Command, stdin: Option<Stdio>) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal = || -> OwnedFd { open(&name, flags, Mode::empty()).unwrap() };
        let size = rustix::termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(terminal(), size).unwrap();
        command.stdin(stdin.unwrap_or_else(|| terminal().into()));
        command.stdout(terminal()).stderr(terminal()).env("TERM", "xterm");
        let child = command.spawn().unwrap();
        Self { child, screen: Some(master.into()), shown: String::new() }
    }

    fn types(&mut self, keys: &str) {
        self.screen.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until `text` is on the screen.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        let screen = self.screen.as_mut().unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        while !self.shown.contains(text) {
            assert!(Instant::now() < end, "no {text:?} in {:?}", self.shown);
            let mut one = [PollFd::from_borrowed_fd(screen.as_fd(), PollFlags::IN)];
            let pause = Timespec { tv_sec: 1, tv_nsec: 0 };
            if poll(&mut one, Some(&pause)).unwrap() == 0 {
                continue;
            }
            let mut bytes = [0; 4096];
            let count = screen.read(&mut bytes).unwrap();
            let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
            // Where is the cursor? A terminal says so.
            for _ in text.matches("\x1b[6n") {
                screen.write_all(b"\x1b[1;1R").unwrap();
            }
            self.shown.push_str(&text);
        }
    }

    fn close(&mut self) {
        self.screen = None;
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `fvctl` at a prompt of the daemon's.
fn fvctl(daemon: &Daemon) -> Command {
    let mut command = Command::new(program("fvctl"));
    command.arg("-s").arg(daemon.folder().join("cli.sock"));
    command.env("XDG_STATE_HOME", daemon.folder());
    command
}

#[test]
fn a_hundred_closed_terminals_leave_no_client() {
    let daemon = Daemon::start(GENERATORS);
    let mut people = Vec::new();
    for n in 0..100 {
        let mut person = OnTerminal::start(fvctl(&daemon));
        person.shows("vpp# ");
        // At the prompt, with a line begun, in the middle of a command, of a page.
        match n % 4 {
            0 => {}
            1 => person.types("show inter"),
            2 => person.types("wait 1000\r"),
            _ => {
                person.types("show vlib graph\r");
                person.shows("-- more --");
            }
        }
        people.push(person);
    }
    let is_waiting = || daemon.tell("show cli-sessions").matches("wait 1000").count() == 25;
    assert!(eventually(is_waiting), "{}", daemon.tell("show cli-sessions"));
    people.iter_mut().for_each(OnTerminal::close);
    let start = Instant::now();
    let have_ended = || people.iter_mut().all(OnTerminal::has_ended);
    assert!(eventually(have_ended));
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    // Nor does the router keep their sessions: only the asking one is left.
    let is_alone = || daemon.tell("show cli-sessions").matches("framed").count() == 1;
    assert!(eventually(is_alone), "{}", daemon.tell("show cli-sessions"));
}

#[test]
fn the_live_view_gives_the_terminal_back() {
    let daemon = Daemon::start(GENERATORS);
    let top = |ends: &dyn Fn(&mut OnTerminal)| {
        let mut command = fvctl(&daemon);
        command.args(["top", "-d", "0.2"]);
        let mut person = OnTerminal::start(command);
        person.shows("Nodes, by share");
        person.types("i");
        person.shows("pg1");
        person.types("\r");
        person.shows("rx packets");
        ends(&mut person);
        // Out of the other screen, and the cursor is there again.
        person.shows("\x1b[?1049l");
        person.shows("\x1b[?25h");
        let terminal = person.screen.as_ref().unwrap();
        let modes = rustix::termios::tcgetattr(terminal).unwrap().local_modes;
        assert!(modes.contains(rustix::termios::LocalModes::ICANON));
        assert!(eventually(|| person.has_ended()));
    };
    top(&|person| person.types("q"));
    top(&|person| person.types("\x03"));
    top(&|person| {
        let id = rustix::process::Pid::from_child(&person.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    });
}

#[test]
fn one_command_ends_with_its_terminal() {
    let daemon = Daemon::start(&[]);
    let wait = |seconds: &str| {
        let mut command = fvctl(&daemon);
        command.args(["wait", seconds]);
        command
    };
    let mut reads = OnTerminal::start(wait("1000"));
    let mut prints = OnTerminal::printing(wait("1001"), Stdio::null());
    let sessions = || daemon.tell("show cli-sessions");
    assert!(eventually(|| sessions().contains("wait 1000") && sessions().contains("wait 1001")));
    reads.close();
    prints.close();
    assert!(eventually(|| reads.has_ended() && prints.has_ended()));
}

#[test]
fn a_router_at_a_terminal_ends_with_it() {
    for line in ["", "wait 1000\r"] {
        let daemon = Daemon::start(&[]); // for a folder
        let folder = daemon.folder().display();
        let mut command = Command::new(program("ferrovia"));
        let unix = format!("runtime-dir {folder}/2 cli-listen {folder}/2/cli.sock");
        command.args(["unix", &format!("{{ interactive {unix} log {folder}/2/log }}")]);
        command.args(["socksvr", &format!("{{ socket-name {folder}/2/api.sock }}")]);
        command.args(["statseg", &format!("{{ socket-name {folder}/2/stats.sock }}")]);
        let mut router = OnTerminal::start(command);
        router.shows("vpp# ");
        router.types(line);
        router.close();
        assert!(eventually(|| router.has_ended()), "{line:?}");
    }
}
