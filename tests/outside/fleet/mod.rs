//! `ferrovia-agent` on a real etcd: routers come to their desired state and stay there, whatever
//! happens to agent, store and router.

mod cluster;
mod hostile;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tests::{Daemon, TwoHosts, eventually, has, is_root, program, unique};

/// A program that ends with the test.
pub struct Process(pub Child);

impl Process {
    pub fn start(command: &mut Command, output: &Path) -> Self {
        let output = fs::File::create(output).unwrap();
        command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        Self(command.spawn().unwrap())
    }
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that is free for the moment.
pub fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A store of one.
pub struct Store {
    pub process: Process,
    pub folder: PathBuf,
    pub client: String,
    peer: String,
    namespace: Option<String>,
}

/// Whether etcd is installed; says so if not.
fn is_there() -> bool {
    has("etcd") && has("etcdctl")
}

impl Store {
    pub fn start() -> Self {
        Self::at("127.0.0.1", None)
    }

    fn at(address: &str, namespace: Option<&str>) -> Self {
        let folder = std::env::temp_dir().join(unique());
        fs::create_dir_all(&folder).unwrap();
        let client = format!("http://{address}:{}", port());
        let peer = format!("http://{address}:{}", port());
        let namespace = namespace.map(str::to_owned);
        let process = Self::process(&folder, &client, &peer, namespace.as_deref());
        let store = Self { process, folder, client, peer, namespace };
        store.wait();
        store
    }

    fn process(folder: &Path, client: &str, peer: &str, namespace: Option<&str>) -> Process {
        let mut command = match namespace {
            Some(namespace) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", namespace, "etcd"]);
                command
            }
            None => Command::new("etcd"),
        };
        command.arg("--data-dir").arg(folder.join("data")).args(["--name", "one"]);
        command.args(["--listen-client-urls", client, "--advertise-client-urls", client]);
        command.args(["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]);
        command.args(["--initial-cluster", &format!("one={peer}"), "--log-level", "error"]);
        Process::start(&mut command, &folder.join("output"))
    }

    fn wait(&self) {
        let log = || fs::read_to_string(self.folder.join("output")).unwrap_or_default();
        assert!(eventually(|| self.ctl(&["get", "nothing"]).is_some()), "{}", log());
    }

    /// Starts it again after it was killed.
    pub fn restart(&mut self) {
        let namespace = self.namespace.as_deref();
        self.process = Self::process(&self.folder, &self.client, &self.peer, namespace);
        self.wait();
    }

    /// Output of etcdctl; `None` if it fails.
    pub fn ctl(&self, words: &[&str]) -> Option<String> {
        let mut command = match &self.namespace {
            Some(namespace) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", namespace, "etcdctl"]);
                command
            }
            None => Command::new("etcdctl"),
        };
        command.env("ETCDCTL_API", "3").args(["--endpoints", &self.client]).args(words);
        command.args(["--command-timeout", "2s"]);
        let output = command.output().unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Writes a value below the prefix.
    pub fn put(&self, key: &str, value: &str) {
        let key = format!("/t/{key}");
        let done = match value.len() {
            0..100_000 => self.ctl(&["put", &key, "--", value]),
            // Too long for a command line.
            _ => {
                let file = self.folder.join("value");
                fs::write(&file, value).unwrap();
                let script = "etcdctl --endpoints $1 put $2 < $3";
                let mut command = Command::new("sh");
                command.args(["-c", script, "sh", &self.client, &key]).arg(&file);
                let output = command.env("ETCDCTL_API", "3").output().unwrap();
                output.status.success().then(String::new)
            }
        };
        assert!(done.is_some(), "{key}");
    }

    /// The status that a router's agent has written; `None` if it is away.
    pub fn status(&self, name: &str) -> Option<Value> {
        let text = self.ctl(&["get", &format!("/t/status/{name}"), "--print-value-only"])?;
        serde_json::from_str(text.trim()).ok()
    }

    /// Waits until the state of a router is this one; returns it.
    #[track_caller]
    pub fn expect(&self, name: &str, state: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let is = eventually(|| {
            last = self.status(name).unwrap_or_default();
            last["state"] == state && is_so(&last)
        });
        assert!(is, "{name} is not {state}: {last}");
        last
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.process.0.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A router with its agent.
pub struct Member {
    pub router: Daemon,
    pub agent: Process,
    pub folder: PathBuf,
    pub name: String,
    namespace: Option<String>,
}

/// Addition to a router's startup configuration: its API on a socket in `folder`.
fn served(folder: &Path) -> String {
    format!("http {{ listen unix {}/http.sock }}", folder.display())
}

impl Member {
    /// A router of this name; `more` are settings of the agent, `etcd` of its store.
    pub fn start(name: &str, etcd: &str, more: &str) -> Self {
        let folder = std::env::temp_dir().join(unique());
        fs::create_dir_all(&folder).unwrap();
        let router = Daemon::start_with(&served(&folder), crate::GENERATORS);
        Self::of(router, folder, (name, None), etcd, more)
    }

    fn of(
        router: Daemon,
        folder: PathBuf,
        (name, namespace): (&str, Option<&str>),
        etcd: &str,
        more: &str,
    ) -> Self {
        let dir = folder.display();
        let text = format!(
            "agent {{ etcd {{ prefix /t {etcd} }} name {name}\n\
             router unix:{dir}/http.sock state {dir}/state {more} }}\n"
        );
        fs::write(folder.join("agent.conf"), text).unwrap();
        let namespace = namespace.map(str::to_owned);
        let agent = Self::agent(&folder, namespace.as_deref());
        Self { router, agent, folder, name: name.to_owned(), namespace }
    }

    fn agent(folder: &Path, namespace: Option<&str>) -> Process {
        let program = program("ferrovia-agent");
        let mut command = match namespace {
            Some(namespace) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", namespace]).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.arg("-c").arg(folder.join("agent.conf")).arg("run");
        Process::start(&mut command, &folder.join("output"))
    }

    /// Kills the agent and starts it again.
    pub fn restart_agent(&mut self) {
        self.agent.kill();
        self.agent = Self::agent(&self.folder, self.namespace.as_deref());
    }

    /// Output of the tool.
    pub fn tool(&self, words: &[&str]) -> (bool, String) {
        let mut command = Command::new(program("ferrovia-agent"));
        command.arg("-c").arg(self.folder.join("agent.conf")).args(words);
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    /// Writes sections by the tool, as the desired state.
    #[track_caller]
    pub fn put(&self, sections: &[(&str, &str)], options: &[&str]) -> String {
        let folder = self.folder.join("sections");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for (section, text) in sections {
            fs::write(folder.join(section), text).unwrap();
        }
        let path = folder.display().to_string();
        let words = [&["put", &path, &self.name][..], options].concat();
        let (is_ok, text) = self.tool(&words);
        assert!(is_ok, "{text}");
        text
    }

    pub fn has(&self, line: &str) -> bool {
        self.router.tell("show configuration").lines().any(|l| l == line)
    }

    #[track_caller]
    pub fn expect(&self, line: &str, is_there: bool) {
        let is_so = eventually(|| self.has(line) == is_there);
        let log = fs::read_to_string(self.folder.join("output")).unwrap_or_default();
        assert!(is_so, "`{line}': {}\n{log}", self.has(line));
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.agent.0.kill();
        if std::thread::panicking() {
            let log = fs::read_to_string(self.folder.join("output")).unwrap_or_default();
            eprintln!("the agent of {} said:\n{log}", self.name);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn revision(status: &Value, revision: u64) -> bool {
    status["applied"] == revision && status["desired"] == revision
}

/// A route with this first number.
pub fn route(n: u32) -> String {
    format!("ip route add {n}.0.0.0/8 via 10.0.1.2 pg1")
}

#[test]
fn a_router_has_what_is_desired_and_keeps_what_is_its_operators() {
    if !is_there() {
        return;
    }
    let store = Store::start();
    let etcd = format!("endpoints {}", store.client);
    let mut member = Member::start("r1", &etcd, "drift repair");
    store.expect("r1", "waiting", |s| s["why"] == "there is no desired state");
    let base = "# tables\nip table add 7\n\nset interface mtu packet 1400 pg1\n";
    member.put(&[("10-base", base), ("20-routes", &[route(30), route(31)].join("\n"))], &[]);
    store.expect("r1", "converged", |s| revision(s, 1));
    let lines = ["ip table add 7", &route(30), &route(31)];
    assert!(lines.iter().all(|line| member.has(line)));
    // A change takes away what is no longer desired, and only that.
    member.router.tell(&route(40));
    let vars = r#"{"net": "32"}"#;
    let with_vars = "ip route add ${net}.0.0.0/8 via 10.0.1.2 pg1";
    member.put(&[("10-base", base), ("20-routes", with_vars), ("vars", vars)], &[]);
    store.expect("r1", "converged", |s| revision(s, 2));
    let has = [route(30), route(31), route(32), route(40)].map(|line| member.has(&line));
    assert_eq!(has, [false, false, true, true]);
    // Drift is repaired after a while.
    member.router.tell("ip route del 32.0.0.0/8");
    store.expect("r1", "drifted", |s| s["drift"][0].as_str().unwrap().contains("20-routes:1: "));
    member.expect(&route(32), true);
    store.expect("r1", "converged", |s| revision(s, 2));
    // The agent is killed in between, the router as well: it comes back without a configuration.
    member.restart_agent();
    member.router.kill_and_start();
    member.router.tell("create packet-generator interface pg0");
    member.router.tell("create packet-generator interface pg1");
    member.expect(&route(32), true);
    store.expect("r1", "converged", |s| revision(s, 2));
    assert!(!member.has(&route(40)), "it was not saved");
    let (is_ok, text) = member.tool(&["status"]);
    assert!(is_ok && text.contains("r1                  converged    desired 2"), "{text}");
    let (_, text) = member.tool(&["get", "r1"]);
    assert!(text.contains("# 20-routes\nip route add 32.0.0.0/8"), "{text}");
}

#[test]
fn nothing_counts_before_desired_does_and_wrong_lines_are_named() {
    if !is_there() {
        return;
    }
    let store = Store::start();
    let member = Member::start("r1", &format!("endpoints {}", store.client), "");
    member.put(&[("10-base", &route(30))], &[]);
    store.expect("r1", "converged", |s| revision(s, 1));
    // A writer dies after two sections of three.
    store.put("routers/r1/config/10-base", &route(31));
    store.put("routers/r1/config/20-more", &route(32));
    sleep(Duration::from_secs(7));
    assert!(member.has(&route(30)) && !member.has(&route(31)) && !member.has(&route(32)));
    // Sections that are written behind `desired` are the next revision's.
    store.put("routers/r1/desired", r#"{"revision": 2}"#);
    store.put("routers/r1/config/20-more", &route(33));
    store.expect("r1", "converged", |s| revision(s, 2));
    let has = [30, 31, 32, 33].map(|n| member.has(&route(n)));
    assert_eq!(has, [false, true, true, false]);
    let before = member.router.tell("show configuration");
    let put = |section: &str, text: &str, revision: u64| {
        store.put(&format!("routers/r1/config/{section}"), text);
        store.put("routers/r1/desired", &format!(r#"{{"revision": {revision}}}"#));
    };
    put("20-more", &format!("{}\n\nip route add nonsense", route(34)), 3);
    let status = store.expect("r1", "refused", |s| s["desired"] == 3);
    assert_eq!(
        (&status["error"]["section"], &status["error"]["line"]),
        (&"20-more".into(), &3.into())
    );
    put("20-more", "ip route add 34.0.0.0/8 via 10.9.9.9 tap77", 4);
    let status = store.expect("r1", "refused", |s| s["desired"] == 4);
    assert_eq!(status["error"]["line"], 1, "{status}");
    assert_eq!(status["applied"], 2);
    // An old backup.
    put("20-more", &route(34), 1);
    store.expect("r1", "refused", |s| s["why"].as_str().unwrap().contains("older than 2"));
    put("20-more", &route(34), 2);
    store.expect("r1", "refused", |s| s["why"].as_str().unwrap().contains("other lines"));
    assert_eq!(member.router.tell("show configuration"), before);
    store.put("routers/r1/desired", r#"{"revision": 1, "force": true}"#);
    store.expect("r1", "converged", |s| revision(s, 1));
    member.expect(&route(34), true);
    // Everything is gone.
    let before = member.router.tell("show configuration");
    store.ctl(&["del", "--prefix", "/t/routers/"]).unwrap();
    store.expect("r1", "waiting", |s| s["why"] == "there is no desired state");
    sleep(Duration::from_secs(6));
    assert_eq!(member.router.tell("show configuration"), before);
}

#[test]
fn a_router_keeps_its_configuration_while_the_store_is_away() {
    if !is_there() {
        return;
    }
    let mut store = Store::start();
    let mut member = Member::start("r1", &format!("endpoints {}", store.client), "");
    member.put(&[("10-base", &route(30))], &[]);
    store.expect("r1", "converged", |s| revision(s, 1));
    store.process.kill();
    let file = member.folder.join("state/status.json");
    let local = || fs::read_to_string(&file).unwrap_or_default();
    assert!(eventually(|| local().contains("\"store\":")), "{}", local());
    member.router.kill_and_start();
    member.router.tell("create packet-generator interface pg1");
    member.expect(&route(30), true);
    // The agent starts again without a store and knows what it held.
    member.restart_agent();
    member.router.tell("ip route del 30.0.0.0/8");
    member.router.kill_and_start();
    member.router.tell("create packet-generator interface pg1");
    member.expect(&route(30), true);
    store.restart();
    store.expect("r1", "converged", |s| revision(s, 1));
    member.put(&[("10-base", &route(31))], &[]);
    store.expect("r1", "converged", |s| revision(s, 2));
    assert!(!member.has(&route(30)));
}

#[test]
fn a_change_that_cuts_the_router_off_the_store_is_undone() {
    if !is_there() || !is_root() {
        return;
    }
    let folder = std::env::temp_dir().join(unique());
    fs::create_dir_all(&folder).unwrap();
    let TwoHosts { router, left, right, .. } = &mut TwoHosts::with(&served(&folder));
    let store = Store::at("10.1.2.2", Some(right.namespace()));
    let etcd = format!("endpoints {}", store.client);
    let dir = folder.display();
    let text = format!(
        "agent {{ etcd {{ prefix /t {etcd} }} name r1 router unix:{dir}/http.sock\nstate {dir}/state }}\n"
    );
    fs::write(folder.join("agent.conf"), text).unwrap();
    let _agent = Member::agent(&folder, Some(left.namespace()));
    // A route to the store's network that leads nowhere is no way back.
    let good = "ip route add 30.0.0.0/8 via drop";
    let bad = "ip route add 10.1.2.2/32 via drop";
    let put = |text: &str, revision: u64| {
        store.put("routers/r1/config/10-base", text);
        let order = format!(r#"{{"revision": {revision}, "confirm": 0.1}}"#);
        store.put("routers/r1/desired", &order);
    };
    put(good, 1);
    store.expect("r1", "converged", |s| revision(s, 1));
    put(&format!("{good}\n{bad}"), 2);
    let runs = |line: &str| router.tell("show configuration").lines().any(|l| l == line);
    assert!(eventually(|| runs(bad)), "it is tried");
    assert!(eventually(|| !runs(bad)), "it is undone");
    assert!(runs(good));
    let status = store.expect("r1", "refused", |s| s["applied"] == 1);
    assert!(status["why"].as_str().unwrap().contains("not confirmed"), "{status}");
    put(&format!("{good}\nip route add 31.0.0.0/8 via drop"), 3);
    store.expect("r1", "converged", |s| revision(s, 3));
    let history = router.tell("show configuration history");
    assert!(!history.contains("undone in"), "{history}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn one_name_has_one_agent_and_one_that_slept_looks_first() {
    if !is_there() {
        return;
    }
    let store = Store::start();
    let etcd = format!("endpoints {}", store.client);
    let mut first = Member::start("r1", &etcd, "");
    first.put(&[("10-base", &route(30))], &[]);
    store.expect("r1", "converged", |s| revision(s, 1));
    // Another host has the same name.
    let second = Member::start("r1", &etcd, "");
    let file = second.folder.join("state/status.json");
    let local = || fs::read_to_string(&file).unwrap_or_default();
    assert!(eventually(|| local().contains("another agent has this name")), "{}", local());
    assert!(!second.has(&route(30)));
    // The first one sleeps longer than its name is kept.
    first.agent.signal(Signal::STOP);
    second.expect(&route(30), true);
    first.put(&[("10-base", &route(31))], &[]);
    second.expect(&route(31), true);
    first.agent.signal(Signal::CONT);
    let file = first.folder.join("state/status.json");
    let local = || fs::read_to_string(&file).unwrap_or_default();
    assert!(eventually(|| local().contains("another agent has this name")), "{}", local());
    assert!(first.has(&route(30)) && !first.has(&route(31)), "it did not act");
    drop(second);
    first.expect(&route(31), true);
    first.restart_agent();
    store.expect("r1", "converged", |s| revision(s, 2));
}

#[test]
fn a_change_reaches_the_router_at_once() {
    if !is_there() {
        return;
    }
    let store = Store::start();
    let member = Member::start("r1", &format!("endpoints {}", store.client), "");
    member.put(&[("10-base", &route(30))], &[]);
    store.expect("r1", "converged", |s| revision(s, 1));
    let mut times = Vec::new();
    for n in 2..22_u32 {
        store.put("routers/r1/config/10-base", &route(30 + n));
        let start = Instant::now();
        store.put("routers/r1/desired", &format!(r#"{{"revision": {n}}}"#));
        while !member.has(&route(30 + n)) {
            assert!(start.elapsed() < Duration::from_secs(20));
        }
        times.push(start.elapsed());
    }
    times.sort();
    println!(
        "from put to route, with etcdctl's and fvctl's own time: {:?} at most, {:?} half",
        times[19], times[10]
    );
    assert!(times[10] < Duration::from_secs(2), "{times:?}");
}

/// A fleet as large as `FERROVIA_ROUTERS` says.
#[test]
fn a_fleet_takes_a_change() {
    if !is_there() || !is_root() {
        return;
    }
    let count = std::env::var("FERROVIA_ROUTERS").ok().and_then(|n| n.parse().ok()).unwrap_or(4);
    let store = Store::start();
    let etcd = format!("endpoints {}", store.client);
    let set = std::env::temp_dir().join(unique());
    fs::create_dir_all(&set).unwrap();
    let lines = |first: u32| {
        let line = |n: u32| format!("ip route add 50.{}.{}.0/24 via 10.0.1.2 pg1\n", first, n);
        (0..200).map(line).collect::<String>()
    };
    fs::write(set.join("10-routes"), lines(1)).unwrap();
    let begin = Instant::now();
    let members: Vec<_> = (0..count).map(|n| Member::start(&format!("r{n}"), &etcd, "")).collect();
    println!("{count} routers and agents started in {:?}", begin.elapsed());
    let path = set.display().to_string();
    for (revision, first) in [(1, 1), (2, 2)] {
        fs::write(
            set.join("10-routes"),
            lines(1) + &lines(first).lines().take(5).collect::<Vec<_>>().join("\n"),
        )
        .unwrap();
        let (is_ok, text) = members[0].tool(&["put-set", &path, "edge"]);
        assert!(is_ok, "{text}");
        let begin = Instant::now();
        for member in &members {
            store.put(&format!("routers/{}/use", member.name), r#"["edge"]"#);
            let order = format!(r#"{{"revision": {revision}}}"#);
            store.put(&format!("routers/{}/desired", member.name), &order);
        }
        let told = begin.elapsed();
        for member in &members {
            store.expect(&member.name, "converged", |s| s["applied"] == revision);
        }
        println!(
            "revision {revision}: told in {told:?}, all converged after {:?}",
            begin.elapsed()
        );
    }
    fs::remove_dir_all(&set).unwrap();
}
