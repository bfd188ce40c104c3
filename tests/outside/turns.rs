//! No client holds up the others, whatever it asks for, leaves undone, or how it ends.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread::{scope, sleep};
use std::time::Duration;

use control::stats::server::fetch;
use infra::memory::lane::Lane;
use rustix::process::{Signal, kill_process};
use tests::{Daemon, eventually, is_root};

use crate::clients::{Client, frame};

/// Most processor time of control until another client has its answers. On a machine that has other
/// things to do, it takes control much longer.
const SOON: Duration = Duration::from_secs(5);

/// Processor time of control, which is the main thread.
fn control_time(daemon: &Daemon) -> Duration {
    let id = daemon.id();
    let text = std::fs::read_to_string(format!("/proc/{id}/task/{id}/schedstat")).unwrap();
    Duration::from_nanos(text.split_once(' ').unwrap().0.parse().unwrap())
}

/// Makes another client send a request. It waits for half a minute for each answer.
#[track_caller]
fn expect_answers(daemon: &Daemon) {
    let before = control_time(daemon);
    Client::connect(daemon).ping();
    assert_eq!(daemon.tell("comment x"), "");
    let took = control_time(daemon) - before;
    assert!(took < SOON, "it took control {took:?}");
}

fn files(daemon: &Daemon) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", daemon.id())).unwrap().count()
}

/// Moves a client into shared memory.
fn enter(client: &mut Client, size: u32) -> Lane {
    let request = client.request("ferrovia_lane_create", &size.to_be_bytes());
    client.stream.write_all(&request).unwrap();
    let mut bytes = [0; 64];
    let (len, file) = control::socket::receive_with(&client.stream, &mut bytes).unwrap();
    assert!(len > 16);
    Lane::open(file.expect("a descriptor comes with the reply")).unwrap()
}

#[test]
fn clients_in_shared_memory_die_with_answers_unread_and_are_forgotten() {
    let daemon = Daemon::start(&[]);
    expect_answers(&daemon);
    let before = files(&daemon);
    let deaths = std::env::var("FERROVIA_DEATHS").ok().and_then(|text| text.parse().ok());
    for round in (0..100).cycle().take(deaths.unwrap_or(100)) {
        let mut client = Client::connect(&daemon);
        let mut lane = enter(&mut client, 4096);
        let request = client.request("show_version", &[]);
        for _ in 0..round {
            lane.send(&request).unwrap();
        }
        if round % 3 > 0 {
            client.stream.write_all(&[0]).unwrap();
        }
        if round % 3 > 1 {
            client.stream.shutdown(Shutdown::Write).unwrap();
        }
        drop(client);
    }
    expect_answers(&daemon);
    assert!(eventually(|| files(&daemon) <= before), "{before} files, now {}", files(&daemon));
    assert!(!daemon.tell("show api clients").contains("xxx"), "they are forgotten");
}

#[test]
fn endless_requests_without_pauses_hold_up_nobody() {
    let daemon = Daemon::start(crate::GENERATORS);
    let mut clients: Vec<_> = (0..4).map(|_| Client::connect(&daemon)).collect();
    let addr = [&[0, 10, 0, 0, 77][..], &[0; 12]].concat();
    for (at, client) in clients.iter_mut().enumerate() {
        // What it asked for before fills its socket: it reads nothing.
        let versions = client.request("api_versions", &[]).repeat(50);
        let count = u32::MAX.to_be_bytes();
        let mut fields = [&addr[..], &[0, 0, 0, 1, (at % 2) as u8], &count].concat();
        fields.extend(0_f64.to_ne_bytes());
        let names = ["arping", "arping_acd"];
        let arping = client.request(names[at % 2], &fields);
        client.stream.write_all(&[versions, arping].concat()).unwrap();
    }
    for _ in 0..10 {
        expect_answers(&daemon);
        sleep(Duration::from_millis(100));
    }
    let line = "arping 10.0.0.77 pg0 repeat 4000000000 interval 0";
    let mut typed = daemon.fvctl_command();
    let mut typed = typed.arg(line).spawn().unwrap();
    for _ in 0..10 {
        expect_answers(&daemon);
        sleep(Duration::from_millis(50));
    }
    typed.kill().unwrap();
    typed.wait().unwrap();
    drop(clients);
    expect_answers(&daemon);
}

#[test]
fn huge_and_half_messages_of_many_clients_hold_up_nobody() {
    let daemon = Daemon::start(&[]);
    let huge = vec![b'x'; 48 << 20];
    scope(|all| {
        for kind in 0..4 {
            let (daemon, huge) = (&daemon, &huge);
            all.spawn(move || {
                let mut client = Client::connect(daemon);
                let len = (huge.len() as u32).to_be_bytes();
                let bytes = match kind {
                    // One line, a line for each word, an unknown message, half of one.
                    0 => client.request("cli_inband", &[&len[..], huge].concat()),
                    1 => {
                        let lines = b"show version\n".repeat(huge.len() / 13);
                        let len = (lines.len() as u32).to_be_bytes();
                        client.request("cli_inband", &[&len[..], &lines].concat())
                    }
                    2 => frame(huge),
                    _ => frame(huge)[..1 << 20].to_vec(),
                };
                client.stream.write_all(&bytes).unwrap();
                sleep(Duration::from_millis(500));
            });
        }
        for _ in 0..10 {
            expect_answers(&daemon);
            sleep(Duration::from_millis(50));
        }
    });
    expect_answers(&daemon);
}

#[test]
fn readers_of_the_statistics_never_write_to_them() {
    if !is_root() {
        return;
    }
    let daemon = Daemon::start(&[]);
    let file = fetch(&daemon.folder().join("stats.sock")).unwrap();
    let again = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let about = std::fs::metadata(&again).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o400);
    // An unprivileged process that inherits it.
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let script = format!("exec 3<>/proc/self/fd/{}", file.as_raw_fd());
    let mut other = Command::new("sh");
    let status = other.args(["-c", &script]).uid(65_534).gid(65_534).status().unwrap();
    assert!(!status.success(), "it opens it to write");
    drop(OpenOptions::new().read(true).open(again).unwrap());
}

#[test]
fn a_client_that_is_killed_in_the_middle_leaves_nothing() {
    let daemon = Daemon::start(&[]);
    expect_answers(&daemon);
    let before = files(&daemon);
    for pause in 0..15 {
        let mut typed = daemon.fvctl_command();
        let mut typed = typed.args(["wait", "1000"]).spawn().unwrap();
        sleep(Duration::from_millis(pause));
        let pid = rustix::process::Pid::from_child(&typed);
        kill_process(pid, Signal::KILL).unwrap();
        typed.wait().unwrap();
    }
    expect_answers(&daemon);
    assert!(eventually(|| files(&daemon) <= before), "{before} files, now {}", files(&daemon));
}
