//! Clients that connect and do nothing do not exclude others.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use control::stats::server;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tests::{Daemon, eventually, skip};

/// Connections of each kind.
const MANY: usize = 5000;

/// Whether this process may have so many files open.
fn may_open(count: u64) -> bool {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let is_enough = limit.maximum.is_none_or(|most| most > count);
    if !is_enough {
        skip("not enough open files are allowed");
    }
    is_enough
}

/// A client of the statistics that never takes what it is sent.
fn statistics(path: &Path) -> OwnedFd {
    let socket =
        socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let socket = socket.unwrap();
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    socket
}

#[test]
fn idle_clients_keep_nobody_away() {
    // Those of the clients are at both ends.
    if !may_open(3 * MANY as u64) {
        return;
    }
    let daemon = Daemon::start(&[]);
    let path = |name: &str| daemon.folder().join(name);
    let idle: Vec<_> = (0..MANY).map(|_| statistics(&path("stats.sock"))).collect();
    assert!(server::fetch(&path("stats.sock")).is_ok());
    drop(idle);
    for name in ["cli.sock", "api.sock"] {
        let connected = || UnixStream::connect(path(name)).unwrap();
        let idle: Vec<_> = (0..MANY).map(|_| connected()).collect();
        let is_served = || (0..20).all(|_| daemon.ask("show version").is_ok);
        assert!(eventually(is_served), "{name}");
        drop(idle);
    }
    // A session at work is not ended for others.
    let mut at_work = std::process::Command::new(tests::program("fvctl"));
    at_work.arg("-s").arg(path("cli.sock")).args(["wait", "3"]);
    let mut at_work = at_work.spawn().unwrap();
    assert!(eventually(|| daemon.tell("show cli-sessions").contains("wait 3")));
    let idle: Vec<_> = (0..600).map(|_| UnixStream::connect(path("cli.sock")).unwrap()).collect();
    let count = || daemon.tell("show cli-sessions").lines().count();
    assert!(eventually(|| count() <= 257), "{}", count());
    assert!(at_work.wait().unwrap().success());
    drop(idle);
}
