//! A store of three whose members are killed, stopped, compacted and cut off.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use tests::{eventually, unique};

use super::{Member, Process, Store, is_there, port, revision, route};

struct Cluster {
    folder: PathBuf,
    members: Vec<(String, String, Process)>,
    initial: String,
}

impl Cluster {
    fn start() -> Self {
        let folder = std::env::temp_dir().join(unique());
        fs::create_dir_all(&folder).unwrap();
        let url = || format!("http://127.0.0.1:{}", port());
        let urls: Vec<_> = (0..3).map(|_| (url(), url())).collect();
        let named = |(n, (_, peer)): (usize, &(String, String))| format!("m{n}={peer}");
        let initial = urls.iter().enumerate().map(named).collect::<Vec<_>>().join(",");
        let mut cluster = Self { folder, members: Vec::new(), initial };
        for (n, (client, peer)) in urls.into_iter().enumerate() {
            let process = cluster.process(n, &client, &peer);
            cluster.members.push((client, peer, process));
        }
        assert!(eventually(|| cluster.ctl(&["get", "nothing"]).is_some()));
        cluster
    }

    fn process(&self, n: usize, client: &str, peer: &str) -> Process {
        let name = format!("m{n}");
        let mut command = Command::new("etcd");
        command.arg("--data-dir").arg(self.folder.join(&name)).args(["--name", &name]);
        command.args(["--listen-client-urls", client, "--advertise-client-urls", client]);
        command.args(["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]);
        command.args(["--initial-cluster", &self.initial, "--log-level", "error"]);
        Process::start(&mut command, &self.folder.join(format!("output{n}")))
    }

    fn endpoints(&self) -> String {
        self.members.iter().map(|(client, ..)| client.as_str()).collect::<Vec<_>>().join(",")
    }

    fn ctl(&self, words: &[&str]) -> Option<String> {
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3").args(["--endpoints", &self.endpoints()]).args(words);
        let output = command.args(["--command-timeout", "5s"]).output().unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Writes a route as a revision; the store may need several attempts.
    fn desire(&self, n: u64) {
        let values = [
            ("/t/routers/r1/config/10-base", route(30 + n as u32)),
            ("/t/routers/r1/desired", format!(r#"{{"revision": {n}}}"#)),
        ];
        for (key, value) in values {
            assert!(eventually(|| self.ctl(&["put", key, "--", &value]).is_some()), "{key}");
        }
    }

    fn restart(&mut self, n: usize) {
        let (client, peer, _) = &self.members[n];
        let process = self.process(n, client, peer);
        self.members[n].2 = process;
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.members.clear();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn members_of_the_store_are_killed_and_stopped_one_after_the_other() {
    if !is_there() {
        return;
    }
    let mut cluster = Cluster::start();
    let mut member = Member::start("r1", &format!("endpoints {}", cluster.endpoints()), "");
    cluster.desire(1);
    member.expect(&route(31), true);
    for n in 2..8_u64 {
        let victim = n as usize % 3;
        match n % 2 {
            0 => cluster.members[victim].2.kill(),
            _ => cluster.members[victim].2.signal(Signal::STOP),
        }
        if n == 5 {
            member.restart_agent();
        }
        cluster.desire(n);
        member.expect(&route(30 + n as u32), true);
        assert!(!member.has(&route(29 + n as u32)), "one revision at a time");
        match n % 2 {
            0 => cluster.restart(victim),
            _ => cluster.members[victim].2.signal(Signal::CONT),
        }
        assert!(eventually(|| cluster.ctl(&["endpoint", "health"]).is_some()), "member {victim}");
    }
    // Two of three are gone: nothing can be written, and the router keeps what it has.
    cluster.members[0].2.kill();
    cluster.members[1].2.kill();
    sleep(Duration::from_secs(8));
    assert!(member.has(&route(37)));
    let local = || fs::read_to_string(member.folder.join("output")).unwrap_or_default();
    assert!(!local().contains("panicked"), "{}", local());
    cluster.restart(0);
    cluster.restart(1);
    cluster.desire(8);
    member.expect(&route(38), true);
}

#[test]
fn an_agent_that_slept_through_a_compaction_reads_all_again() {
    if !is_there() {
        return;
    }
    let store = Store::start();
    let mut member = Member::start("r1", &format!("endpoints {}", store.client), "");
    member.put(&[("10-base", &route(30))], &[]);
    store.expect("r1", "converged", |s| revision(s, 1));
    let compact = || {
        let status = store.ctl(&["endpoint", "status", "--write-out", "json"]).unwrap();
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        let now = status[0]["Status"]["header"]["revision"].as_u64().unwrap().to_string();
        assert!(store.ctl(&["compact", &now]).is_some());
        assert!(store.ctl(&["defrag"]).is_some());
    };
    member.agent.signal(Signal::STOP);
    for n in 31..36 {
        member.put(&[("10-base", &route(n))], &[]);
    }
    compact();
    member.agent.signal(Signal::CONT);
    store.expect("r1", "converged", |s| revision(s, 6));
    member.expect(&route(35), true);
    // What belonged to `desired' is gone, and what is there belongs to a later one.
    member.agent.signal(Signal::STOP);
    store.put("routers/r1/config/10-base", &route(36));
    store.put("routers/r1/desired", r#"{"revision": 7}"#);
    store.put("routers/r1/config/10-base", &route(37));
    compact();
    member.agent.signal(Signal::CONT);
    store.expect("r1", "refused", |s| s["why"].as_str().unwrap().contains("compacted"));
    assert!(member.has(&route(35)));
    member.put(&[("10-base", &route(38))], &[]);
    store.expect("r1", "converged", |s| revision(s, 8));
    // A new agent after a compaction has nothing but what is there.
    compact();
    fs::remove_dir_all(member.folder.join("state")).unwrap();
    member.restart_agent();
    store.expect("r1", "converged", |s| revision(s, 8));
    assert!(member.has(&route(38)));
}
