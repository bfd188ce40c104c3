//! Tests of programs with the library and a router in this process.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use host_stack::control::SessionSapiEnableDisable;
use host_stack::{FEATURE, Folder};
use net::testing::whole::Bench;

/// Longest duration of a program.
const PATIENCE: Duration = Duration::from_secs(120);

/// Time for a program that is stopped then.
const LIMIT: Duration = Duration::from_secs(100);

/// A router with app sockets, and the files of programs in the same folder.
struct Rig {
    bench: Bench,
    folder: PathBuf,
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
        // Its children, too: they are of its group.
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-9", "--", &group]).stderr(Stdio::null()).status();
        let _ = (self.0.kill(), self.0.wait());
    }
}

fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().join("libvcl_ldpreload.so")
}

fn compile(folder: &Path, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{name}.c"));
    let program = folder.join(name);
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-Wno-unused-result", "-O1", "-pthread"]);
    cc.arg(source).arg("-o").arg(&program);
    assert!(cc.status().unwrap().success(), "{name}.c");
    program
}

fn rig(name: &str) -> Rig {
    let folder = std::env::temp_dir().join(format!("fv-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut bench = Bench::plugged(&[FEATURE]);
    bench.set("session enable");
    bench.control(|router, _| router.insert(Folder(folder.clone())));
    bench.talk(|local, router| {
        local.call(router, &SessionSapiEnableDisable { is_enable: true }).unwrap();
    });
    Rig { bench, folder }
}

impl Rig {
    fn command(&self, program: &Path, scope: &str) -> Command {
        let mut command = Command::new(program);
        command.env("LD_PRELOAD", library()).env(scope, "1").env("VCL_CONFIG", "/dev/null");
        command.env("VCL_VPP_SAPI_SOCKET", self.folder.join("app_ns_sockets/default"));
        command
    }
    /// Runs the router until a condition is met.
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Bench) -> bool) {
        let start = Instant::now();
        while !is_so(&mut self.bench) {
            assert!(start.elapsed() < PATIENCE, "{what}");
            self.bench.control(|router, _| router.run_due());
            if self.bench.settle().is_empty() {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    }
    /// Runs a program to its end, and returns what it has written.
    fn output(&mut self, mut command: Command) -> String {
        let path = self.folder.join("output");
        command.stdout(fs::File::create(&path).unwrap()).stdin(Stdio::null());
        let mut program = Program(command.process_group(0).spawn().unwrap());
        let start = Instant::now();
        self.until("", |_| program.0.try_wait().unwrap().is_some() || start.elapsed() > LIMIT);
        fs::read_to_string(path).unwrap()
    }
    fn sessions(&mut self) -> String {
        self.bench.run("show session verbose")
    }
}

/// Checks whose results may differ.
const DIFFERENT: &[&str] = &[];

fn compare(name: &str, scope: &str, here: &str) {
    let mut rig = rig(name);
    let program = compile(&rig.folder, "checks");
    let kernel = Command::new(&program).output().unwrap().stdout;
    let kernel = String::from_utf8(kernel).unwrap();
    assert!(kernel.ends_with("done\n"), "{kernel}");
    let mut command = rig.command(&program, scope);
    command.arg(here);
    let ours = rig.output(command);
    let mut wrong = String::new();
    for (kernel, ours) in kernel.lines().zip(ours.lines().chain(std::iter::repeat(""))) {
        let check = kernel.split(':').next().unwrap_or_default();
        if kernel != ours && !DIFFERENT.contains(&check) {
            wrong += &format!("kernel '{kernel}', router '{ours}'\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}{}", rig.sessions());
    assert!(kernel.lines().count() > 150);
    rig.until("no session is left", |bench| {
        let shown = bench.run("show session verbose");
        !["LISTEN", "ESTABLISHED", "CLOSE_WAIT", "ready"].iter().any(|word| shown.contains(word))
    });
}

#[test]
fn checks_of_sockets_have_the_kernels_results_within_a_namespace() {
    compare("checks-local", "VCL_APP_SCOPE_LOCAL", "127.0.0.1");
}

#[test]
fn checks_of_sockets_have_the_kernels_results_over_tcp() {
    compare("checks-tcp", "VCL_APP_SCOPE_GLOBAL", "10.0.0.1");
}

/// The address of the router, which programs reach each other at.
const ROUTER: &str = "10.0.0.1";

/// Whether a program is installed; says so if it is not.
fn has(name: &str) -> bool {
    let folders = ["/usr/bin", "/usr/sbin", "/bin"];
    let is_there = folders.iter().any(|folder| Path::new(folder).join(name).exists());
    if !is_there {
        eprintln!("skipped: no {name}");
    }
    is_there
}

impl Rig {
    /// Starts a server with arguments, and waits until it listens at a port.
    fn server(&mut self, words: &str, port: u16) -> Program {
        let mut words = words.split(' ');
        let mut command = self.command(Path::new(words.next().unwrap()), "VCL_APP_SCOPE_GLOBAL");
        let log = fs::File::create(self.folder.join("server")).unwrap();
        command.args(words).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        command.current_dir(&self.folder);
        let program = Program(command.process_group(0).spawn().unwrap());
        self.listens(port);
        program
    }
    fn listens(&mut self, port: u16) {
        self.until(&format!("a listener at {port}"), |bench| {
            bench.run("show session listeners tcp").contains(&format!(":{port}->"))
        });
    }
    /// Runs a program with arguments.
    fn run(&mut self, words: &str) -> String {
        let mut words = words.split(' ');
        let mut command = self.command(Path::new(words.next().unwrap()), "VCL_APP_SCOPE_GLOBAL");
        command.args(words);
        self.output(command)
    }
    fn python(&mut self, script: &str, arguments: &[&str]) -> String {
        let mut command = self.command(Path::new("/usr/bin/python3"), "VCL_APP_SCOPE_GLOBAL");
        command.arg("-c").arg(script).args(arguments);
        self.output(command)
    }
}

#[test]
fn a_web_server_in_python_serves_curl_and_wget() {
    let mut rig = rig("web");
    let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
    fs::write(rig.folder.join("file"), &bytes).unwrap();
    let _server = rig.server("/usr/bin/python3 -m http.server 8080", 8080);
    let url = format!("http://{ROUTER}:8080/file");
    let got = rig.folder.join("got");
    for client in ["curl -sS -o", "wget -q -O"] {
        if !has(client.split(' ').next().unwrap()) {
            continue;
        }
        let said = rig.run(&format!("/usr/bin/{client} {} {url}", got.display()));
        assert_eq!(said, "");
        assert!(fs::read(&got).unwrap() == bytes, "{client}");
        fs::remove_file(&got).unwrap();
    }
    if has("curl") {
        let refused = rig.run(&format!("/usr/bin/curl -s -w %{{errormsg}} http://{ROUTER}:81/"));
        assert!(refused.contains("Connection refused") || refused.contains("connect"), "{refused}");
    }
}

#[test]
fn iperf3_runs_in_both_roles_and_directions() {
    if !has("iperf3") {
        return;
    }
    let mut rig = rig("iperf");
    let _server = rig.server("/usr/bin/iperf3 -s -p 5201 --forceflush", 5201);
    let hows = ["", " -R", " -P 4", " -u -b 20M -l 1400", " -u -b 20M -l 1400 -R"];
    for (n, how) in (1..).zip(hows) {
        let log = rig.folder.join("server");
        rig.until("the server", |_| {
            fs::read_to_string(&log).unwrap().contains(&format!("(test #{n})"))
        });
        let said = rig.run(&format!("/usr/bin/iperf3 -c {ROUTER} -p 5201 -t 1{how}"));
        let log = fs::read_to_string(rig.folder.join("server")).unwrap();
        let listeners = rig.bench.run("show session listeners tcp");
        assert!(said.contains("iperf Done"), "{how}: {said}\n{log}\n{listeners}");
    }
}

#[test]
fn asyncio_serves_many_clients() {
    let mut rig = rig("asyncio");
    let said = rig.python(
        r#"
import asyncio, sys
async def serve(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()
async def call(port, n):
    reader, writer = await asyncio.open_connection(sys.argv[1], port)
    data = bytes([n]) * 30000
    writer.write(data)
    assert await reader.readexactly(len(data)) == data
    writer.write_eof()
    assert await reader.read() == b""
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "0.0.0.0", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(*(call(port, n) for n in range(100)))
    try:
        await asyncio.open_connection(sys.argv[1], 9)
        print("not refused")
    except ConnectionRefusedError:
        print("done")
asyncio.run(main())
"#,
        &[ROUTER],
    );
    assert_eq!(
        said,
        "done
"
    );
}

#[test]
fn a_program_without_a_router_runs_on_the_kernel() {
    let folder = std::env::temp_dir().join(format!("fv-none-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let program = compile(&folder, "checks");
    let run = |strict: bool| {
        let mut command = Command::new(&program);
        command.env("LD_PRELOAD", library()).env("VCL_CONFIG", "/dev/null");
        command.env("VCL_VPP_SAPI_SOCKET", folder.join("none"));
        if strict {
            command.env("LDP_STRICT", "1");
        }
        command.output().unwrap()
    };
    let kernel = Command::new(&program).output().unwrap();
    let ours = run(false);
    assert_eq!(String::from_utf8(ours.stdout), String::from_utf8(kernel.stdout));
    let said = String::from_utf8(ours.stderr).unwrap();
    // The program that is started by it says so, too.
    assert!(said.contains("no router at") && said.lines().count() <= 2, "{said}");
    assert!(String::from_utf8(run(true).stderr).unwrap().contains("sockets fail"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_bound_datagram_socket_connects_and_another_one_takes_its_place() {
    let mut rig = rig("udp");
    let said = rig.python(
        r#"
import socket, sys
def bound(port):
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("::", port))
    s.settimeout(5)
    return s
first = bound(0)
port = first.getsockname()[1]
clients = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
for n, c in enumerate(clients):
    c.connect((sys.argv[1], port))
    c.settimeout(5)
clients[0].send(b"one")
data, peer = first.recvfrom(100)
print(data, peer[0])
first.connect(peer)
second = bound(port)
first.send(b"answer")
print(clients[0].recv(100))
clients[1].send(b"two")
print(second.recvfrom(100)[0])
for n in range(50):
    clients[0].send(b"%d" % n * 700)
print(b"".join(first.recv(2000) for n in range(50)) == b"".join(b"%d" % n * 700 for n in range(50)))
second.close()
clients[0].send(b"three")
print(first.recv(100))
loose = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
loose.settimeout(5)
other = bound(0)
for to in [first, other]:
    loose.sendto(b"loose", (sys.argv[1], to.getsockname()[1]))
data, peer = other.recvfrom(100)
other.sendto(b"bye", peer)
print(data, loose.recv(100))
"#,
        &[ROUTER],
    );
    let expected = "b'one' ::ffff:10.0.0.1\nb'answer'\nb'two'\nTrue\nb'three'\nb'loose' b'bye'\n";
    assert_eq!(said, expected);
}

/// A configuration of nginx with four workers.
const NGINX: &str = r#"
daemon off;
worker_processes 4;
user root;
pid nginx.pid;
error_log error.log;
events { worker_connections 512; }
http {
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    sendfile on;
    server {
        listen 8080;
        location / { root .; }
        location /proxy/ { proxy_pass http://10.0.0.1:8080/; }
        location /small { return 200 "small"; }
    }
}
"#;

/// Processes that a process has started.
fn children(pid: &str) -> BTreeSet<String> {
    let is_child = |path: &PathBuf| {
        let stat = fs::read_to_string(path.join("stat")).unwrap_or_default();
        let behind = stat.rsplit_once(") ").map_or("", |(_, behind)| behind);
        behind.split(' ').nth(1) == Some(pid)
    };
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    all.filter(is_child).map(|path| path.display().to_string()).collect()
}

#[test]
fn nginx_serves_with_four_workers_and_survives_reloads() {
    if !has("nginx") || !has("curl") {
        return;
    }
    let mut rig = rig("nginx");
    fs::write(rig.folder.join("nginx.conf"), NGINX).unwrap();
    let bytes: Vec<u8> = (0..2_000_000u32).map(|n| (n % 251) as u8).collect();
    fs::write(rig.folder.join("file"), &bytes).unwrap();
    let words = format!("/usr/sbin/nginx -p {0} -e error.log -c nginx.conf", rig.folder.display());
    let mut server = rig.server(&words, 8080);
    let got = rig.folder.join("got");
    for path in ["file", "proxy/file"] {
        let url = format!("http://{ROUTER}:8080/{path}");
        rig.run(&format!("/usr/bin/curl -sS -o {} {url}", got.display()));
        assert!(fs::read(&got).unwrap() == bytes, "{path}");
        fs::remove_file(&got).unwrap();
    }
    let pid = server.0.id().to_string();
    for round in 0..5 {
        if has("ab") {
            let url = format!("http://{ROUTER}:8080/small");
            let keeps = if round % 2 == 0 { " -k" } else { "" };
            let said = rig.run(&format!("/usr/bin/ab -q -n 1000 -c 40{keeps} {url}"));
            assert!(said.contains("Failed requests:        0"), "{said}");
            assert!(said.contains("Complete requests:      1000"), "{said}");
        }
        let old = children(&pid);
        assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
        let said = rig.run(&format!("/usr/bin/curl -sS http://{ROUTER}:8080/small"));
        assert_eq!(said, "small", "after a reload");
        // An old worker closes what it has just accepted.
        rig.until("new workers only", |_| {
            let now = children(&pid);
            now.len() == 4 && now.is_disjoint(&old)
        });
    }
    assert!(Command::new("kill").args(["-QUIT", &pid]).status().unwrap().success());
    rig.until("the end of nginx", |_| server.0.try_wait().unwrap().is_some());
    rig.until("no listener", |bench| !bench.run("show session listeners tcp").contains(":8080"));
}

#[test]
fn redis_saves_while_it_serves() {
    if !has("redis-server") || !has("redis-benchmark") {
        return;
    }
    let mut rig = rig("redis");
    let words = "/usr/bin/redis-server --port 6379 --bind 10.0.0.1 --protected-mode no --save 1 1";
    let _server = rig.server(words, 6379);
    for pipeline in ["1", "16"] {
        let said = rig.run(&format!(
            "/usr/bin/redis-benchmark -h {ROUTER} -t set,get -n 2000 -c 20 -P {pipeline} -q"
        ));
        assert_eq!(said.matches("requests per second").count(), 2, "{said}");
        rig.run(&format!("/usr/bin/redis-cli -h {ROUTER} bgsave"));
    }
    let dump = rig.folder.join("dump.rdb");
    rig.until("a snapshot", |_| dump.exists());
    let said = rig.run(&format!("/usr/bin/redis-cli -h {ROUTER} ping"));
    assert_eq!(said, "PONG\n");
}

#[test]
fn sshd_gives_connections_to_processes_of_their_own() {
    if !has("sshd") || !has("ssh") {
        return;
    }
    let mut rig = rig("sshd");
    let key = rig.folder.join("key");
    let mut make = Command::new("ssh-keygen");
    make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key);
    assert!(make.status().unwrap().success());
    fs::copy(rig.folder.join("key.pub"), rig.folder.join("authorized")).unwrap();
    fs::create_dir_all("/run/sshd").unwrap();
    let folder = rig.folder.display().to_string();
    let words = format!(
        "/usr/sbin/sshd -D -e -f /dev/null -h {folder}/key -p 2222 -o StrictModes=no \
         -o AuthorizedKeysFile={folder}/authorized -o PidFile=none"
    );
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let _server = rig.server(&words, 2222);
    let said = rig.run(&format!(
        "/usr/bin/ssh -F none -i {folder}/key -p 2222 -o StrictHostKeyChecking=no -o \
         UserKnownHostsFile=/dev/null -o LogLevel=ERROR root@{ROUTER} echo $SSH_CONNECTION"
    ));
    assert!(said.ends_with(" 10.0.0.1 2222\n"), "{said}");
}

#[test]
fn a_listener_listens_again_when_there_is_a_router_again() {
    if !has("curl") {
        return;
    }
    let mut rig = rig("again");
    fs::write(rig.folder.join("file"), "there").unwrap();
    let _server = rig.server("/usr/bin/python3 -m http.server 8080", 8080);
    for is_enable in [false, true] {
        rig.bench.talk(|local, router| {
            local.call(router, &SessionSapiEnableDisable { is_enable }).unwrap();
        });
    }
    rig.listens(8080);
    let said = rig.run(&format!("/usr/bin/curl -sS http://{ROUTER}:8080/file"));
    assert_eq!(said, "there");
}
