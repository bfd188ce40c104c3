//! The daemon under a supervisor that speaks systemd's notification protocol.

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use tests::{Daemon, program};

/// Longest wait for a message.
const PATIENCE: Duration = Duration::from_secs(60);

/// A socket for messages, and its path.
fn bound(name: &str) -> (PathBuf, UnixDatagram) {
    let path = std::env::temp_dir().join(format!("fvtn-{name}-{}", std::process::id()));
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    (path, socket)
}

/// Receives messages until one has this line; returns all that came.
fn until(socket: &UnixDatagram, line: &str) -> Vec<String> {
    let (mut seen, mut bytes, begun) = (Vec::new(), [0; 4096], Instant::now());
    while begun.elapsed() < PATIENCE {
        let Ok(len) = socket.recv(&mut bytes) else { continue };
        let text = String::from_utf8_lossy(&bytes[..len]).into_owned();
        let is_it = text.lines().any(|l| l == line);
        seen.push(text);
        if is_it {
            return seen;
        }
    }
    panic!("no {line} among {seen:?}");
}

#[test]
fn a_supervisor_learns_when_it_is_ready_that_it_lives_and_that_it_ends() {
    let (path, socket) = bound("life");
    let commands = path.with_extension("start");
    std::fs::write(&commands, "loopback create-interface\nloopback create-interface\n").unwrap();
    let mut command = Command::new(program("ferrovia"));
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "200000");
    let config = format!("unix {{ exec {} }}", commands.display());
    let mut daemon = Daemon::start_by(command, &config, &[]);
    let seen = until(&socket, "READY=1");
    assert!(daemon.tell("show interface").contains("loop1"), "ready before its configuration");
    assert!(!seen.iter().any(|text| text.contains("STOPPING")), "{seen:?}");
    until(&socket, "WATCHDOG=1");
    until(&socket, "WATCHDOG=1");
    assert!(daemon.stop().is_some_and(|status| status.success()));
    until(&socket, "STOPPING=1");
    [path, commands].iter().for_each(|file| std::fs::remove_file(file).unwrap());
}

#[test]
fn nothing_is_sent_to_who_waits_for_another_process() {
    let (path, socket) = bound("other");
    let mut command = Command::new(program("ferrovia"));
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "100000").env("WATCHDOG_PID", "1");
    let mut daemon = Daemon::start_by(command, "", &[]);
    let mut seen = until(&socket, "READY=1");
    assert!(daemon.stop().is_some_and(|status| status.success()));
    seen.extend(until(&socket, "STOPPING=1"));
    assert!(!seen.iter().any(|text| text.contains("WATCHDOG")), "{seen:?}");
    std::fs::remove_file(path).unwrap();
}
