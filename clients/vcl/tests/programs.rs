//! Tests of C programs with the library and a router in this process: cut-through, TCP and UDP.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use host_stack::control::SessionSapiEnableDisable;
use host_stack::{FEATURE, Folder};
use net::testing::whole::Bench;

/// Longest duration of a program.
const PATIENCE: Duration = Duration::from_secs(60);

/// A router with app sockets, and the programs in the same folder.
struct Rig {
    bench: Bench,
    folder: PathBuf,
    /// Port of the last server.
    port: u16,
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A program, killed on drop.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn compile(folder: &Path, name: &str, with_library: bool) -> PathBuf {
    let (source, program) = (here().join(format!("tests/{name}.c")), folder.join(name));
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-Wno-unused-macros", "-O1", "-I"]);
    cc.arg(here().join("include")).arg(source).arg("-o").arg(&program);
    if with_library {
        cc.arg("-L").arg(folder).arg("-lvppcom");
    }
    assert!(cc.status().unwrap().success(), "{name}.c");
    program
}

fn rig(name: &str) -> Rig {
    let folder = std::env::temp_dir().join(format!("fv-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let test = std::env::current_exe().unwrap();
    let library = test.parent().unwrap().join("libvppcom.so");
    std::os::unix::fs::symlink(&library, folder.join("libvppcom.so")).unwrap();
    std::os::unix::fs::symlink(library, folder.join("libvppcom.so.26.10")).unwrap();
    compile(&folder, "echo", true);
    let mut bench = Bench::plugged(&[FEATURE]);
    bench.set("session enable");
    bench.control(|router, _| router.insert(Folder(folder.clone())));
    bench.talk(|local, router| {
        local.call(router, &SessionSapiEnableDisable { is_enable: true }).unwrap();
    });
    Rig { bench, folder, port: 5000 }
}

impl Rig {
    fn start(&self, scope: &str, arguments: &str) -> Program {
        let mut program = Command::new(self.folder.join("echo"));
        program.args(arguments.split(' ')).env_clear();
        program.env("LD_LIBRARY_PATH", &self.folder).env("VCL_DEBUG", "1").env(scope, "1");
        program.env("VCL_CONFIG", "/dev/null");
        program.env("VCL_VPP_SAPI_SOCKET", self.folder.join("app_ns_sockets/default"));
        Program(program.stdout(Stdio::null()).spawn().unwrap())
    }
    /// Runs the router until a condition is met.
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Bench) -> bool) {
        let start = Instant::now();
        while !is_so(&mut self.bench) {
            assert!(start.elapsed() < PATIENCE, "{what}");
            self.bench.control(|router, _| router.run_due());
            let caught = self.bench.settle();
            if caught.is_empty() {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    }
    fn finish(&mut self, what: &str, program: &mut Program) {
        self.until(what, |_| program.0.try_wait().unwrap().is_some());
        assert!(program.0.wait().unwrap().success(), "{what}");
    }
    /// Runs a server and several clients, one after the other.
    fn echo(&mut self, scope: &str, (proto, at): (&str, &str), clients: &[&str]) {
        self.port += 1;
        let port = self.port;
        let mut server =
            self.start(scope, &format!("server {proto} {at} {port} {}", clients.len()));
        self.until("a listener", |bench| {
            let shown =
                bench.run("show session listeners tcp") + &bench.run("show session verbose");
            shown.contains(&format!(":{port}"))
        });
        for client in clients {
            let arguments = format!("client {proto} {at} {port} {client}");
            let mut client = self.start(scope, &arguments);
            self.finish(&arguments, &mut client);
        }
        self.finish("server", &mut server);
    }
}

const WAYS: [&str; 4] = ["400000 epoll", "400000 select", "400000 poll", "400000 block"];

#[test]
fn two_programs_talk_without_a_packet() {
    let mut rig = rig("cut");
    rig.echo("VCL_APP_SCOPE_LOCAL", ("tcp", "127.0.0.1"), &WAYS);
    rig.echo("VCL_APP_SCOPE_LOCAL", ("tcp", "::1"), &WAYS[..1]);
}

#[test]
fn two_programs_talk_over_tcp_and_udp_of_both_versions() {
    let mut rig = rig("tcp");
    rig.echo("VCL_APP_SCOPE_GLOBAL", ("tcp", "10.0.0.1"), &WAYS);
    rig.echo("VCL_APP_SCOPE_GLOBAL", ("tcp", "2001:db8::1"), &WAYS[..2]);
    rig.echo("VCL_APP_SCOPE_GLOBAL", ("udp", "10.0.0.1"), &["1400", "9000"]);
    rig.echo("VCL_APP_SCOPE_GLOBAL", ("udp", "2001:db8::1"), &["1400"]);
}

#[test]
fn a_program_learns_that_nothing_listens_and_that_the_router_has_gone() {
    let mut rig = rig("gone");
    for scope in ["VCL_APP_SCOPE_LOCAL", "VCL_APP_SCOPE_GLOBAL"] {
        let mut client = rig.start(scope, "client tcp 10.0.0.1 5001 10 block");
        rig.until("a refusal", |_| client.0.try_wait().unwrap().is_some());
        assert_eq!(client.0.wait().unwrap().code(), Some(1));
    }
    let mut server = rig.start("VCL_APP_SCOPE_GLOBAL", "server tcp 10.0.0.1 5000 1");
    let listens = |bench: &mut Bench| bench.run("show session listeners tcp").contains(":5000");
    rig.until("a listener", listens);
    rig.bench.set("session disable");
    rig.until("the end", |_| server.0.try_wait().unwrap().is_some());
}

#[test]
fn the_header_says_what_the_library_has() {
    let folder = std::env::temp_dir().join(format!("fv-layout-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let program = compile(&folder, "layout", false);
    let printed = Command::new(program).output().unwrap().stdout;
    let printed = String::from_utf8(printed).unwrap();
    fs::remove_dir_all(folder).unwrap();
    // Sizes on 64-bit machines, with which programs were compiled.
    for line in [
        "vppcom_endpt_t 48",
        "vppcom_endpt_t.ip 8",
        "vppcom_endpt_t.port 16",
        "vcl_poll_t 12",
        "vppcom_data_segment_t 16",
        "vppcom_cert_key_pair_t 24",
        "vppcom_cfg_t 144",
        "VPPCOM_PROTO_HTTP 7",
        "VPPCOM_ATTR_GET_NWRITEQ 44",
        "VPPCOM_ATTR_SET_APP_PROTO_ERR_CODE 51",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}\n{printed}");
    }
}

#[test]
fn a_thread_that_waits_for_the_router_does_not_stop_others() {
    let mut rig = rig("lock");
    let program = compile(&rig.folder, "lock", true);
    let mut command = Command::new(program);
    command.arg("5600").env_clear().env("LD_LIBRARY_PATH", &rig.folder);
    command.env("VCL_CONFIG", "/dev/null").env("VCL_APP_SCOPE_LOCAL", "1");
    command.env("VCL_VPP_SAPI_SOCKET", rig.folder.join("app_ns_sockets/default"));
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut program = Program(child);
    let (said, lines) = std::sync::mpsc::channel();
    let out = BufReader::new(program.0.stdout.take().unwrap());
    std::thread::spawn(move || out.lines().try_for_each(|line| said.send(line.unwrap()).ok()));
    rig.until("it is attached", |_| lines.try_recv().as_deref() == Ok("ready"));
    // The router stands still meanwhile.
    program.0.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert_eq!(lines.recv_timeout(Duration::from_secs(20)).as_deref(), Ok("free"));
    rig.finish("it listens", &mut program);
}
