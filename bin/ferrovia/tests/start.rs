//! The whole daemon: how it starts, what it refuses, how it ends.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A daemon with a folder of its own; both go when this is dropped.
struct Daemon {
    child: Child,
    folder: PathBuf,
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ferrovia-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_ferrovia"));
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    program
}

fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        if Instant::now() > end {
            return false;
        }
        sleep(Duration::from_millis(10));
    }
    true
}

impl Daemon {
    /// Starts one whose configuration is the words of `text`, `DIR` standing for its folder.
    fn start(name: &str, text: &str) -> Self {
        let folder = folder(name);
        let text = text.replace("DIR", folder.to_str().unwrap());
        let child = program().args(text.split_whitespace()).spawn().unwrap();
        let daemon = Self { child, folder };
        assert!(eventually(|| daemon.socket().exists()), "no socket");
        daemon
    }
    fn socket(&self) -> PathBuf {
        self.folder.join("cli.sock")
    }
    fn ask(&self, line: &str) -> String {
        ask(&self.socket(), line)
    }
    /// Ends it by a signal; its status and what it wrote, if it ended in time.
    fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let ended = eventually(|| self.child.try_wait().unwrap().is_some());
        assert!(ended, "it does not end");
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (self.child.wait().unwrap().code(), text)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// One command in the dialect of the original's client: terminal type, line, NUL after the answer.
fn ask(socket: &Path, line: &str) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(b"\xff\xfa\x18\x00vppctl\xff\xf0").unwrap();
    stream.write_all(format!("{line}\n\0quit\n").as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let greeting = bytes.iter().rposition(|b| *b == 0xf0).map_or(0, |end| end + 1);
    let text: Vec<u8> = bytes[greeting..].iter().copied().filter(|b| *b != 0).collect();
    String::from_utf8(text).unwrap().replace("\r\n", "\n")
}

fn refused(arguments: &[&str]) -> String {
    let Output { status, stderr, .. } = program().args(arguments).output().unwrap();
    assert_eq!(status.code(), Some(1), "{arguments:?}");
    String::from_utf8(stderr).unwrap()
}

const SUPERVISOR: &str = "\
unix { nodaemon nosyslog full-coredump coredump-size unlimited runtime-dir DIR \
cli-listen DIR/cli.sock pidfile DIR/pid log DIR/log } api-trace { on } api-segment { prefix P } \
cpu { skip-cores 0 } memory { main-heap-size 1G } physmem { max-size 32m } \
statseg { socket-name DIR/stats.sock size 64M per-node-counters on update-interval 1 } \
socksvr { socket-name DIR/api.sock } node { default { variant hsw 100 } } api-fuzz { off } \
buffers { buffers-per-numa 16384 default data-size 2048 page-size 4k } \
plugins { path P plugin dpdk_plugin.so { disable } plugin X.so {enable} } session { enable }";

#[test]
fn a_supervisors_line_starts_it_and_sigterm_ends_it() {
    let daemon = Daemon::start("supervisor", SUPERVISOR);
    let version = daemon.ask("show version");
    assert!(version.starts_with("ferrovia v"), "{version}");
    let pid = fs::read_to_string(daemon.folder.join("pid")).unwrap();
    assert_eq!(pid.trim(), daemon.child.id().to_string());
    assert!(daemon.ask("show threads").contains(" vpp_main "));
    let log = fs::read_to_string(daemon.folder.join("log")).unwrap();
    assert!(log.contains("plugins: no plugin X.so:"), "{log}");
    assert!(!log.contains("no plugin dpdk_plugin.so"), "{log}");
    let limits = fs::read_to_string(format!("/proc/{}/limits", daemon.child.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().filter(|word| *word == "0").count(), 2, "{core}");

    let folder = daemon.folder.clone();
    let socket = daemon.socket();
    let files = ["pid", "api.sock", "stats.sock"].map(|name| folder.join(name));
    let is_removed = move || !socket.exists() && files.iter().all(|file| !file.exists());
    let watcher = std::thread::spawn(|| eventually(is_removed));
    let (status, text) = daemon.end(Signal::TERM);
    assert_eq!(status, Some(0));
    let warnings = ["plugins: no plugin X.so:", "line 1: `enable' in stanza `session'"];
    let other = text.lines().find(|line| !warnings.iter().any(|warning| line.contains(warning)));
    assert_eq!(other, None, "only warnings are said");
    assert!(watcher.join().unwrap(), "sockets and pidfile are removed");
}

#[test]
fn an_interrupt_ends_it_too() {
    let daemon = Daemon::start("interrupt", "unix { nodaemon runtime-dir DIR }");
    assert_eq!(daemon.end(Signal::INT).0, Some(0));
}

#[test]
fn what_it_cannot_do_is_said() {
    assert_eq!(refused(&["bogus", "{", "}"]), "ferrovia: unknown stanza 'bogus' (line 1)\n");
    assert!(refused(&["unix { nodemon }"]).contains("unknown word 'nodemon' in stanza 'unix'"));
    let refused_size = refused(&["buffers { default data-size 100 }"]);
    assert_eq!(refused_size, "ferrovia: buffers: default data-size 100: 1664 to 16384 bytes\n");
    assert!(refused(&["cpu { main-core 4095 }"]).contains("main-core: CPU 4095"));
    assert!(refused(&["-c", "/nonexistent"]).contains("open `/nonexistent': No such file"));
    assert!(refused(&["node { default { variant nosuch } }"]).contains("variant 'nosuch'"));
    let text = refused(&["unix { nodaemon runtime-dir /proc/nosuch }"]);
    assert!(text.starts_with("ferrovia: cannot make runtime-dir /proc/nosuch: "), "{text}");
    let dir = folder("listen");
    for (stanza, socket) in [
        ("unix { nodaemon runtime-dir DIR cli-listen DIR/a/cli.sock }", "a/cli.sock"),
        ("unix { nodaemon runtime-dir DIR } statseg { socket-name DIR/b/s }", "b/s"),
        ("unix { nodaemon runtime-dir DIR } socksvr { socket-name DIR/c/s }", "c/s"),
    ] {
        let dir = dir.display().to_string();
        let text = refused(&[&stanza.replace("DIR", &dir)]);
        let why = format!("ferrovia: cannot listen on {dir}/{socket}: No such file or directory\n");
        assert!(text.ends_with(&why), "{text}");
    }
    fs::remove_dir(&dir).expect("no folder is made and no socket left behind");
}

#[test]
fn options_are_answered() {
    let version = program().arg("-v").output().unwrap();
    let text = String::from_utf8(version.stdout).unwrap();
    assert_eq!(text, format!("ferrovia {}\n", env!("CARGO_PKG_VERSION")));
    let help = program().arg("--help").output().unwrap();
    assert!(help.status.success() && help.stdout.starts_with(b"usage: ferrovia"));
}

#[test]
fn files_of_commands_are_carried_out_before_sessions() {
    let dir = folder("files");
    fs::write(dir.join("good"), "# a comment\nset clock adjust 7200\n").unwrap();
    fs::write(dir.join("bad"), "show version\nshow bogus\nset clock adjust 7200\n").unwrap();
    let daemon =
        Daemon::start("files", "unix { nodaemon runtime-dir DIR exec DIR/good exec DIR/bad }");
    assert!(daemon.ask("show clock").starts_with("Time now 72"));
    let log = daemon.ask("show logging");
    let expected = format!("exec: {}/bad:2: show: unknown input `bogus'", dir.display());
    assert!(log.contains(&expected), "{log}");
    let (_, text) = daemon.end(Signal::TERM);
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn two_routers_cannot_have_one_socket() {
    let daemon = Daemon::start("two", "unix { nodaemon runtime-dir DIR }");
    let dir = daemon.folder.display().to_string();
    let text = refused(&[&format!("unix {{ nodaemon runtime-dir {dir} }}")]);
    assert!(text.contains("cannot listen on"), "{text}");
    assert!(daemon.ask("show version").contains("ferrovia v"), "the first one goes on");
}

#[test]
fn without_nodaemon_a_file_puts_it_into_the_background() {
    let dir = folder("background");
    let file = dir.join("startup.conf");
    let text = format!("unix {{ runtime-dir {0} pidfile {0}/pid }} # background\n", dir.display());
    fs::write(&file, text).unwrap();
    let status = program().arg("-c").arg(&file).status().unwrap();
    assert!(status.success());
    assert!(ask(&dir.join("cli.sock"), "show version").contains("ferrovia v"), "ready at once");
    let pid = fs::read_to_string(dir.join("pid")).unwrap().trim().parse().unwrap();
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    assert_eq!(name, "ferrovia\n", "its name among processes");
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    assert!(eventually(|| !dir.join("pid").exists()));

    fs::write(&file, "# all of it is a comment\n").unwrap();
    let words = format!("unix {{ runtime-dir {0} pidfile {0}/pid }}", dir.display());
    let empty = program().arg("-c").arg(&file).arg(words).output().unwrap();
    let pid = fs::read_to_string(dir.join("pid")).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    assert!(eventually(|| !dir.join("pid").exists()));
    let text = String::from_utf8(empty.stderr).unwrap();
    assert!(empty.status.success() && text.contains("has no stanzas: process "), "{text}");

    fs::write(&file, "unix { runtime-dir /proc/nosuch }\n").unwrap();
    let failed = program().arg("-c").arg(&file).output().unwrap();
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8(failed.stderr).unwrap().contains("/proc/nosuch"));
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_command_line_on_standard_input_ends_with_it() {
    let dir = folder("stdin");
    let mut child = program()
        .arg(format!("unix {{ interactive nobanner runtime-dir {} }}", dir.display()))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"show version\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("ferrovia v"), "{text}");
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn the_client_tells_success_by_its_status() {
    let daemon = Daemon::start("client", "unix { nodaemon runtime-dir DIR }");
    let client = Path::new(env!("CARGO_BIN_EXE_ferrovia")).with_file_name("fvctl");
    if !client.exists() {
        let cargo = Command::new(env!("CARGO")).args(["build", "-q", "-p", "fvctl"]).status();
        assert!(cargo.unwrap().success());
    }
    let run = |words: &[&str]| {
        let output = Command::new(&client).arg("-s").arg(daemon.socket()).args(words).output();
        let Output { status, stdout, stderr } = output.unwrap();
        let text = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (status.code(), text)
    };
    let (status, [text, error]) = run(&["show", "clock"]);
    assert_eq!((status, error.as_str()), (Some(0), ""));
    assert!(text.starts_with("Time now "), "{text}");
    let (status, [text, error]) = run(&["set interface state nosuch up"]);
    assert_eq!((status, text.as_str()), (Some(1), ""));
    assert_eq!(
        error,
        "set interface state: unknown interface `nosuch up'\n  set interface state nosuch up\n\
         \x20                     ^^^^^^\n"
    );
    assert!(run(&["-j", "show errors"]).1[0].starts_with("[]"));
}

/// A start with one feature off, at work a little: whether it went well, or what was refused.
fn without(feature: &str) -> Result<(), String> {
    let folder = folder(&format!("without-{feature}"));
    let socket = folder.join("cli.sock");
    let text = format!(
        "unix {{ nodaemon runtime-dir DIR cli-listen DIR/cli.sock }} \
         socksvr {{ socket-name DIR/api.sock }} statseg {{ socket-name DIR/stats.sock }} \
         plugins {{ plugin {feature} {{ disable }} }}"
    );
    let text = text.replace("DIR", folder.to_str().unwrap());
    let child = program().args(text.split_whitespace()).spawn().unwrap();
    let mut daemon = Daemon { child, folder };
    assert!(eventually(|| socket.exists() || daemon.child.try_wait().unwrap().is_some()));
    if socket.exists() {
        // Missing features are unknown commands.
        for line in [
            "create loopback interface",
            "set interface state loop0 up",
            "set interface ip address loop0 10.0.0.1/24",
            "set interface ip address loop0 2001:db8::1/64",
            "set ip neighbor loop0 10.0.0.2 02:00:00:00:00:01",
            "set interface state loop0 down",
            "delete loopback interface intfc loop0",
            "show plugins",
        ] {
            daemon.ask(line);
        }
        let (status, text) = daemon.end(Signal::TERM);
        assert_eq!(status, Some(0), "{feature}: {text}");
        assert!(!text.contains("panicked"), "{feature}: {text}");
        return Ok(());
    }
    let status = daemon.child.wait().unwrap().code();
    let mut text = String::new();
    daemon.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(status, Some(1), "{feature}: {text}");
    Err(text)
}

#[test]
fn any_feature_can_be_off_or_it_is_said_what_requires_it() {
    for feature in plugins::features() {
        // An unnamed plugin is disabled along with one that it requires.
        let requires = |other: &&net::Feature| {
            let stays = other.default_enabled && other.origin != net::Origin::Plugin;
            stays && other.requires.contains(&feature.name)
        };
        let by: Vec<_> = plugins::features().filter(requires).collect();
        match (without(feature.name), by.is_empty()) {
            (Ok(()), true) => (),
            (Err(text), false) => {
                let said = |by: &str| format!("{} is disabled, but required by {by}", feature.name);
                assert!(by.iter().any(|by| text.contains(&said(by.name))), "{text}");
            }
            (result, _) => panic!("{}: {result:?}", feature.name),
        }
    }
}
