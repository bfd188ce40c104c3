//! Stores that are broken, wrong or lie.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use tests::{eventually, has};

use super::{Member, Process, Store, is_there, port, revision, route};

/// Kilobytes of a process in memory at most so far.
fn most_memory(process: &Process) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.0.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn values_that_are_no_state_are_refused_with_their_place() {
    if !is_there() {
        return;
    }
    let store = Store::start();
    let member = Member::start("r1", &format!("endpoints {}", store.client), "");
    member.put(&[("10-base", &route(30))], &[]);
    store.expect("r1", "converged", |s| revision(s, 1));
    let before = member.router.tell("show configuration");
    let mut next = 1;
    let long = format!("comment {}", "x".repeat(70_000));
    let huge = format!("# {}\n", "x".repeat(100)).repeat(10_500);
    for (key, value, why) in [
        ("config/10-base", "ip route add 31.0.0.0/8 via drop\u{1}", "10-base:1: has a control"),
        ("config/10-base", "a { b", "10-base:1: has braces"),
        ("config/10-base", "exec /etc/passwd", "not a configuration command"),
        ("config/10-base", "show version", "not a configuration command"),
        ("config/10-base", "a\n${nothing}", "10-base:2: there is no variable `nothing'"),
        ("config/10-base", "${", "begins no variable"),
        ("config/10-base", long.as_str(), "10-base:1: is too long a line"),
        ("config/10-base", huge.as_str(), "10-base: is longer than"),
        ("config/..%2f..", "", "is no name of a section"),
        ("use", r#"["nothing"]"#, "there is no set `nothing'"),
        ("use", r#"["../routers"]"#, "is no name"),
        ("use", r#"{"a": 1}"#, "is no list of names"),
        ("vars", r#"{"a": "${b}", "b": "${a}"}"#, "has a variable"),
        ("vars", r#"{"a": ["x"]}"#, "is no text"),
        ("vars", "]", "is no object"),
    ] {
        next += 1;
        store.put(&format!("routers/r1/{key}"), value);
        store.put("routers/r1/desired", &format!(r#"{{"revision": {next}}}"#));
        let is_it = |s: &serde_json::Value| s["why"].as_str().is_some_and(|w| w.contains(why));
        store.expect("r1", "refused", is_it);
        store.ctl(&["del", &format!("/t/routers/r1/{key}")]).unwrap();
        store.put("routers/r1/config/10-base", &route(30));
    }
    for wrong in ["", "7", "[]", r#"{"revision": -1}"#, r#"{"revision": 1, "confirm": -5}"#] {
        store.put("routers/r1/desired", wrong);
        let is_it =
            |s: &serde_json::Value| s["why"].as_str().is_some_and(|w| w.starts_with("desired: "));
        store.expect("r1", "refused", is_it);
    }
    // More sections than one can have.
    let file = member.folder.join("transactions");
    let many = (0..1200).map(|n| format!("put /t/routers/r1/config/{n:04} a\n"));
    fs::write(&file, many.collect::<String>()).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    for part in text.lines().collect::<Vec<_>>().chunks(100) {
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3").args(["--endpoints", &store.client, "txn"]);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        let words = format!("\n{}\n\n\n", part.join("\n"));
        child.stdin.take().unwrap().write_all(words.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }
    store.put("routers/r1/desired", r#"{"revision": 90}"#);
    let is_it = |s: &serde_json::Value| {
        s["why"].as_str().is_some_and(|w| w.contains("more than 1016 keys"))
    };
    store.expect("r1", "refused", is_it);
    assert_eq!(member.router.tell("show configuration"), before);
    let memory = most_memory(&member.agent);
    assert!(memory < 100 << 10, "{memory} kB");
    store.ctl(&["del", "--prefix", "/t/routers/r1/config/"]).unwrap();
    store.put("routers/r1/config/10-base", &route(39));
    store.put("routers/r1/desired", r#"{"revision": 91}"#);
    store.expect("r1", "converged", |s| revision(s, 91));
}

#[test]
fn a_store_that_lies_cannot_command_a_router_that_wants_signatures() {
    if !is_there() {
        return;
    }
    let store = Store::start();
    let keys = std::env::temp_dir().join(tests::unique());
    fs::create_dir_all(&keys).unwrap();
    let file = |name: &str| keys.join(name).display().to_string();
    let make = |name: &str| {
        let program = tests::program("ferrovia-agent");
        let made = Command::new(program).args(["new-key", "--file", &file(name)]).output().unwrap();
        assert!(made.status.success());
        fs::write(keys.join(format!("{name}.pub")), made.stdout).unwrap();
    };
    make("ours");
    make("theirs");
    let signed_by = format!("signed-by {}", file("ours.pub"));
    let member = Member::start("r1", &format!("endpoints {}", store.client), &signed_by);
    let refused = |why: &str| {
        let is_it = |s: &serde_json::Value| s["why"].as_str().is_some_and(|w| w.contains(why));
        store.expect("r1", "refused", is_it);
    };
    member.put(&[("10-base", &route(30))], &[]);
    refused("`desired' is not signed");
    member.put(&[("10-base", &route(30))], &["--sign", &file("theirs")]);
    refused("the signature of `desired' is wrong");
    member.put(&[("10-base", &route(30))], &["--sign", &file("ours")]);
    store.expect("r1", "converged", |s| revision(s, 3));
    let wish = store.ctl(&["get", "/t/routers/r1/desired", "--print-value-only"]).unwrap();
    // Other lines, another revision, another router, or none of the order.
    store.put("routers/r1/config/10-base", &route(31));
    store.put("routers/r1/desired", wish.trim());
    refused("the sections do not match the digest");
    store.put("routers/r1/config/10-base", &route(30));
    store.put("routers/r1/desired", &wish.trim().replace("\"revision\":3", "\"revision\":4"));
    refused("the signature of `desired' is wrong");
    for more in ["\"force\":true", "\"confirm\":1.0"] {
        store.put("routers/r1/desired", &wish.trim().replacen('{', &format!("{{{more},"), 1));
        refused("the signature of `desired' is wrong");
        store.put("routers/r1/desired", wish.trim());
        store.expect("r1", "converged", |s| revision(s, 3));
    }
    let mut order: serde_json::Value = serde_json::from_str(&wish).unwrap();
    order.as_object_mut().unwrap().remove("digest");
    store.put("routers/r1/config/10-base", &route(31));
    store.put("routers/r1/desired", &order.to_string());
    refused("the signature of `desired' is wrong");
    assert!(member.has(&route(30)) && !member.has(&route(31)));
    fs::remove_dir_all(&keys).unwrap();
}

/// Answers every connection with these bytes, again and again until it is full or closed.
fn nonsense(listener: &TcpListener, answer: &[u8], asked: &AtomicUsize, times: usize) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        let count = asked.fetch_add(1, Ordering::Relaxed);
        if count > 1_000_000 {
            return;
        }
        let _ = stream.read(&mut [0; 4096]);
        for _ in 0..times {
            if stream.write_all(answer).is_err() {
                break;
            }
        }
    }
}

#[test]
fn nonsense_from_the_store_costs_little_and_changes_nothing() {
    if !is_there() {
        return;
    }
    let mut store = Store::start();
    let fake = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", fake.local_addr().unwrap());
    let etcd = format!("endpoints {},{address}", store.client);
    let member = Member::start("r1", &etcd, "");
    member.put(&[("10-base", &route(30))], &[]);
    store.expect("r1", "converged", |s| revision(s, 1));
    let before = member.router.tell("show configuration");
    store.process.kill();
    let ok = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let body = |text: &str| format!("{ok}content-length: {}\r\n\r\n{text}", text.len());
    let lease = r#"{"header":{"revision":"9"},"ID":"7","TTL":"10","succeeded":true}"#;
    let wrong = r#"{"header":{"revision":"9"},"kvs":[{"key":"!","value":{},"mod_revision":"x"}]}"#;
    let mixed = r#"{"header":{"revision":"99999999999999999999"},"succeeded":true,"ID":"7",
        "kvs":[{"key":"L3Qvcm91dGVycy9yMS9kZXNpcmVk","value":"eyJyZXZpc2lvbiI6OX0=",
        "mod_revision":"9"}]}"#;
    let answers = [
        ("\r\n\r\n".to_owned(), 1),
        ("\0".repeat(4096), 1000),
        (body(""), 1),
        (body("[]"), 1),
        (body(lease), 1),
        (body(wrong), 1),
        (body(mixed), 1),
        (format!("{ok}transfer-encoding: chunked\r\n\r\n"), 1),
        (format!("{ok}content-length: 99999999999\r\n\r\n{}", "[".repeat(1 << 16)), 4000),
        ("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\n\r\n".to_owned(), 1),
        (format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(10_000)), 1),
    ];
    let asked = AtomicUsize::new(0);
    for (answer, times) in &answers {
        let listener = fake.try_clone().unwrap();
        let count = asked.load(Ordering::Relaxed);
        scope(|scope| {
            scope.spawn(|| nonsense(&listener, answer.as_bytes(), &asked, *times));
            sleep(Duration::from_secs(3));
            let count = asked.load(Ordering::Relaxed) - count;
            assert!(count < 40, "{count} requests in three seconds");
            asked.store(2_000_000, Ordering::Relaxed);
            let _ = std::net::TcpStream::connect(fake.local_addr().unwrap());
        });
        asked.store(0, Ordering::Relaxed);
        assert_eq!(member.router.tell("show configuration"), before);
    }
    let memory = most_memory(&member.agent);
    assert!(memory < 150 << 10, "{memory} kB");
    drop(fake);
    store.restart();
    member.put(&[("10-base", &route(31))], &[]);
    store.expect("r1", "converged", |s| revision(s, 2));
}

/// A certificate authority and what it signed, made by openssl. The gateway of etcd refuses clients
/// whose certificate has a common name.
fn certificates(folder: &std::path::Path) {
    let openssl = |words: &str| {
        let output = Command::new("openssl").args(words.split(' ')).current_dir(folder).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    };
    for ca in ["ca", "other"] {
        openssl(&format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
             -subj /CN={ca} -keyout {ca}.key -out {ca}.pem"
        ));
    }
    let names = "subjectAltName=IP:127.0.0.1,DNS:localhost";
    fs::write(folder.join("names"), names).unwrap();
    for name in ["server", "agent"] {
        openssl(&format!(
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /O={name} \
             -keyout {name}.key -out {name}.csr"
        ));
        openssl(&format!(
            "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
             -extfile names -out {name}.pem"
        ));
    }
}

#[test]
fn an_agent_has_the_rights_of_its_router_and_asks_over_tls() {
    if !is_there() || !has("openssl") {
        return;
    }
    let folder = std::env::temp_dir().join(tests::unique());
    fs::create_dir_all(&folder).unwrap();
    certificates(&folder);
    let file = |name: &str| folder.join(name).display().to_string();
    let (client, peer) =
        (format!("https://127.0.0.1:{}", port()), format!("http://127.0.0.1:{}", port()));
    let mut etcd = Command::new("etcd");
    etcd.arg("--data-dir").arg(folder.join("data")).args(["--log-level", "error"]);
    etcd.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
    etcd.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
    etcd.args(["--initial-cluster", &format!("default={peer}"), "--client-cert-auth"]);
    etcd.args(["--cert-file", &file("server.pem"), "--key-file", &file("server.key")]);
    etcd.args(["--trusted-ca-file", &file("ca.pem")]);
    let _etcd = Process::start(&mut etcd, &folder.join("output"));
    let ctl = |user: &str, words: &[&str]| {
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3").args(["--endpoints", &client, "--cacert", &file("ca.pem")]);
        command.args(["--cert", &file("agent.pem"), "--key", &file("agent.key")]);
        command.args(["--command-timeout", "10s"]);
        if !user.is_empty() {
            command.args(["--user", user]);
        }
        let output = command.args(words).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    assert!(eventually(|| ctl("", &["get", "x"]).0), "{}", ctl("", &["get", "x"]).1);
    let tls = format!(
        "endpoints {client} ca {} certificate {} key {}",
        file("ca.pem"),
        file("agent.pem"),
        file("agent.key")
    );
    fs::write(folder.join("password"), "secret\n").unwrap();
    let with_user = |user: &str| format!("{tls} user {user} password-file {}", file("password"));
    let member = Member::start("r1", &with_user("r1"), "");
    let (_, roles) = member.tool(&["roles", "r1"]);
    for line in roles.lines() {
        let line = line.replace("PASSWORD", "secret");
        let words: Vec<_> = line.split(' ').skip(1).collect();
        assert!(eventually(|| ctl("", &words).0), "{line}");
    }
    for words in ["user add root:root", "user grant-role root root", "auth enable"] {
        let (is_ok, text) = ctl("", &words.split(' ').collect::<Vec<_>>());
        assert!(is_ok, "{words}: {text}");
    }
    let put = |key: &str, value: &str| {
        assert!(eventually(|| ctl("root:root", &["put", key, "--", value]).0), "{key}");
    };
    put("/t/routers/r1/config/10-base", &route(30));
    put("/t/routers/r1/desired", r#"{"revision": 1}"#);
    member.expect(&route(30), true);
    // Its rights end there.
    for words in [
        ["get", "/t/routers/r2/config/10-base", ""],
        ["put", "/t/routers/r1/config/10-base", "x"],
        ["put", "/t/status/r2", "x"],
    ] {
        let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let (is_ok, text) = ctl("r1:secret", &words);
        assert!(!is_ok && text.contains("permission denied"), "{words:?}: {text}");
    }
    // Another router's agent, another password, another authority.
    let wrong = [
        ("r2", with_user("r1"), "permission denied"),
        ("r1", with_user("r9"), "authentication failed"),
        ("r1", with_user("r1").replace("/ca.pem", "/other.pem"), "TLS"),
    ];
    for (name, etcd, why) in wrong {
        let other = Member::start(name, &etcd, "");
        let file = other.folder.join("own.json");
        sleep(Duration::from_secs(4));
        assert!(!file.exists() && !other.has(&route(30)));
        let status = fs::read_to_string(other.folder.join("state/status.json"));
        let (is_ok, text) = other.tool(&["get", name]);
        assert!(!is_ok && text.contains(why), "{text} {status:?}");
    }
    fs::remove_dir_all(&folder).unwrap();
}
