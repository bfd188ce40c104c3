//! The API over HTTP, from outside: what it does, and what it does not do for strangers.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tests::{Daemon, eventually, has, program};

/// A router that serves HTTP.
pub struct Served {
    pub daemon: Daemon,
    pub port: u16,
    pub token: String,
}

impl Served {
    pub fn start(more: &str) -> Self {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        drop(socket);
        let config = format!("http {{ listen {port} {more} }}");
        let daemon = Daemon::start_with(&config, crate::GENERATORS);
        let file = daemon.folder().join("http.token");
        eventually(|| fs::read_to_string(&file).is_ok_and(|text| text.len() > 16));
        let token = fs::read_to_string(file).unwrap_or_default().trim().to_owned();
        Self { daemon, port, token }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// Status and body of a request with these headers.
    fn ask(&self, line: &str, headers: &str, body: &str) -> (u16, String) {
        converse(self.connect(), line, headers, body)
    }

    fn headers(&self) -> String {
        format!("Host: localhost\r\nAuthorization: Bearer {}\r\n", self.token)
    }

    /// The JSON of a request with everything right.
    pub fn json(&self, line: &str, body: &str) -> (u16, Value) {
        let headers = format!("{}Content-Type: application/json\r\n", self.headers());
        let (status, text) = self.ask(line, &headers, body);
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }
}

pub fn converse(
    mut stream: impl Read + Write,
    line: &str,
    headers: &str,
    body: &str,
) -> (u16, String) {
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    // A router that has heard enough closes before all is sent.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or(0), body.to_owned())
}

#[test]
fn commands_statistics_and_configurations_go_over_http() {
    let served = Served::start("");
    let (status, version) = served.json("GET /api/v1/version", "");
    assert_eq!((status, &version["read_only"]), (200, &Value::Bool(false)), "{version}");
    let (_, said) = served.json("POST /api/v1/cli", r#"{"command": "show interface pg0"}"#);
    assert_eq!((&said["output"][0]["name"], &said["error"]), (&"pg0".into(), &Value::Null));
    let text = r#"{"command": "show version\nshow nonsense", "format": "text"}"#;
    let (status, said) = served.json("POST /api/v1/cli", text);
    assert_eq!(status, 422);
    assert!(said["output"].as_str().unwrap().starts_with("ferrovia"), "{said}");
    assert!(said["error"].as_str().unwrap().contains("nonsense"), "{said}");

    served.daemon.tell("trace add pg-input 3");
    served.daemon.tell(
        "packet-generator new { name s limit 5 size 100-100 interface pg0 node ethernet-input \
         data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa UDP: 10.0.0.2 -> 16.0.0.1 \
         UDP: 1 -> 2 incrementing 30 } }",
    );
    let capture = r#"{"rx": true, "interface": "pg0", "filter": "udp and dst host 16.0.0.1"}"#;
    let (status, said) = served.json("POST /api/v1/capture", capture);
    assert_eq!(status, 200, "{said}");
    let (_, captures) = served.json("GET /api/v1/capture", "");
    assert_eq!(captures[0]["name"], "http", "{captures}");
    served.daemon.generate();
    let (_, sample) = served.json("GET /api/v1/statistics", "");
    let edges = sample["edges"].as_array().unwrap();
    let edge = edges.iter().find(|e| e["from"] == "ip4-lookup" && e["to"] == "ip4-rewrite");
    assert_eq!(edge.map(|e| e["packets"].as_u64()), Some(Some(5)), "{edges:?}");
    let pg0 = sample["interfaces"].as_array().unwrap().iter().find(|i| i["name"] == "pg0");
    assert_eq!(pg0.unwrap()["rx_bytes"], 500);
    let (_, trace) = served.json("GET /api/v1/trace?max=10", "");
    assert_eq!(trace[0]["packets"].as_array().map(Vec::len), Some(3), "{trace}");
    let (_, found) = served.json("GET /api/v1/fib?address=16.0.0.1", "");
    assert!(found.to_string().contains("16.0.0.0/8"), "{found}");
    served.json("DELETE /api/v1/capture", "");
    let (status, _) = served.ask("GET /api/v1/capture/file", &served.headers(), "");
    assert_eq!(status, 200);
    let (_, metrics) = served.ask("GET /metrics", &served.headers(), "");
    assert!(metrics.contains("interface=\"pg0\",thread=\"0\"} 5\n"), "{metrics}");
    crate::statistics::are_in_order(&served.daemon, &metrics);

    let (_, rows) = served.json("GET /api/v1/configuration", "");
    let lines = rows.as_array().unwrap().iter().map(|row| row["command"].as_str().unwrap());
    let now: Vec<_> = lines.collect();
    let next = format!("{}\ncreate loopback interface\n", now.join("\n"));
    let text = serde_json::json!({ "text": next }).to_string();
    let (_, diff) = served.json("POST /api/v1/configuration/diff", &text);
    assert_eq!(diff["added"].as_array().map(Vec::len), Some(1), "{diff}");
    let confirm = serde_json::json!({ "text": next, "confirm": 60 }).to_string();
    let (status, said) = served.json("POST /api/v1/configuration/replace", &confirm);
    assert_eq!(status, 200, "{said}");
    served.daemon.tell("show interface loop0");
    let (_, history) = served.json("GET /api/v1/configuration/history", "");
    assert!(history["undone_in"].is_number(), "{history}");
    assert!(history.to_string().contains("over HTTP"), "{history}");
    let (status, _) = served.json("POST /api/v1/configuration/commit", r#"{"reason": "it works"}"#);
    assert_eq!(status, 200);
    let wrong = r#"{"text": "set interface state nosuch up"}"#;
    let (status, said) = served.json("POST /api/v1/configuration/check", wrong);
    assert_eq!(status, 422);
    let why = said["error"].as_str().unwrap();
    assert!(why.contains("nosuch") && !why.contains("/configuration-"), "{why}");
    let left = fs::read_dir(served.daemon.folder().join("http")).unwrap().count();
    assert_eq!(left, 1, "the capture is all that is left");
}

#[test]
fn state_history_and_pages_are_served() {
    let served = Served::start("");
    served.daemon.tell("nat44 plugin enable sessions 1000");
    served.daemon.tell("nat44 add interface address pg1");
    served.daemon.tell("set interface nat44 in pg0 out pg1");
    served.daemon.tell(
        "packet-generator new { name s limit 30 size 100-100 interface pg0 node ethernet-input \
         data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa UDP: 10.0.0.2 -> 16.0.0.1 \
         UDP: 1001-1030 -> 53 incrementing 30 } }",
    );
    served.daemon.generate();
    let page = |words: &str| served.json(&format!("GET /api/v1/sessions/list?{words}"), "").1;
    let first = page("table=nat44-ed&count=20");
    assert_eq!(first["sessions"].as_array().map(Vec::len), Some(20), "{first}");
    let next = first["next"].as_str().unwrap();
    let second = page(&format!("table=nat44-ed&count=20&from={next}"));
    assert_eq!((&second["total"], &second["next"]), (&30.into(), &Value::Null), "{second}");
    let found = page("table=nat44-ed&port=1007&protocol=udp");
    assert_eq!(found["sessions"][0]["src"], serde_json::json!(["10.0.0.2", 1007]), "{found}");
    assert!(page("table=nosuch").to_string().contains("nosuch"));

    let has_state = || {
        let (_, state) = served.json("GET /api/v1/overview", "");
        state["sessions"][0]["value"] == 30.0 && state["health"]["findings"].is_array()
    };
    assert!(eventually(has_state));
    let has_history = || {
        let (_, past) = served.json("GET /api/v1/history?interface=pg0", "");
        past["rx"].as_array().is_some_and(|steps| !steps.is_empty())
    };
    assert!(eventually(has_history));
    let (status, _) = served.json("GET /api/v1/history?interface=nosuch", "");
    assert_eq!(status, 404);
    let (_, past) = served.json("GET /api/v1/history", "");
    for name in ["rx_bytes", "tx", "drops", "cpu", "buffers", "sessions"] {
        assert!(past[name].is_array(), "{name} in {past}");
    }
    let (_, words) = served.json("GET /api/v1/complete?line=show+vers", "");
    assert_eq!(words[0]["word"], "version", "{words}");
    let (_, one) = served.json("GET /api/v1/interfaces?name=pg0", "");
    assert_eq!((one.as_array().map(Vec::len), &one[0]["name"]), (Some(1), &"pg0".into()));
    let (_, routes) = served.json("GET /api/v1/fib?table=0&count=2&after=10.0.0.0/24", "");
    let prefixes = routes.as_array().unwrap().iter().filter(|r| r["prefix"].is_string()).count();
    assert_eq!(prefixes, 2, "{routes}");
}

#[test]
fn samples_come_every_second() {
    let served = Served::start("");
    let mut stream = served.connect();
    let request = format!("GET /api/v1/statistics/live HTTP/1.1\r\n{}\r\n", served.headers());
    stream.write_all(request.as_bytes()).unwrap();
    let (mut text, mut buffer) = (String::new(), [0; 65536]);
    while text.matches("event: sample").count() < 3 {
        let len = stream.read(&mut buffer).unwrap();
        assert!(len > 0, "it ended: {text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..len]));
    }
    let shown = served.daemon.tell("show http");
    assert!(shown.contains("clients of live statistics: 1"), "{shown}");
    drop(stream);
    let is_none = || served.daemon.tell("show http").contains("clients of live statistics: 0");
    assert!(eventually(is_none));
}

#[test]
fn strangers_are_refused() {
    let served = Served::start("");
    let status = |line: &str, headers: &str| served.ask(line, headers, "").0;
    let line = "GET /api/v1/version";
    let right = served.headers();
    assert_eq!(status(line, &right), 200);
    assert_eq!(status(line, "Host: localhost\r\n"), 401);
    let wrong = "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef0123456789abcdef\r\n";
    assert_eq!(status(line, wrong), 401);
    assert_eq!(status("GET /metrics", "Host: localhost\r\n"), 401);
    assert_eq!(status(line, &right.replace("localhost", "evil.example")), 421);
    assert_eq!(status(line, &format!("{right}Origin: http://evil.example\r\n")), 403);
    assert_eq!(status(line, &format!("{right}Sec-Fetch-Site: cross-site\r\n")), 403);
    assert_eq!(status("OPTIONS /api/v1/cli", &format!("{right}Origin: null\r\n")), 403);
    for path in
        ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..\\etc\\passwd", "//etc/passwd"]
    {
        let (status, body) = served.ask(&format!("GET {path}"), &right, "");
        assert!([400, 404].contains(&status), "{path}: {status}");
        assert!(!body.contains("root:"), "{path}: {body}");
    }
    assert_eq!(status("PUT /api/v1/cli", &right), 405);
    let form = format!("{right}Content-Type: text/plain\r\n");
    let body = r#"{"command": "show version"}"#;
    assert_eq!(served.ask("POST /api/v1/cli", &form, body).0, 415);
    let big = format!("{right}Content-Type: application/json\r\n");
    assert_eq!(served.ask("POST /api/v1/cli", &big, &" ".repeat(5 << 20)).0, 413);
    let head = format!("{right}X: {}\r\n", "x".repeat(64 << 10));
    assert!([0, 431].contains(&status(line, &head)));
    let shown = served.daemon.tell("show http");
    assert!(shown.contains("3 without the right token") && shown.contains("4 of other"), "{shown}");
}

#[test]
fn half_open_connections_disturb_nobody() {
    let served = Served::start("");
    let mut open = Vec::new();
    // As many as this process may have, of 10,000, at the same time.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, raised);
    let most = limit.maximum.unwrap_or(20_000).saturating_sub(1000).clamp(100, 10_000) as usize;
    for _ in 0..10_000 {
        match TcpStream::connect(("127.0.0.1", served.port)) {
            Ok(mut stream) => {
                let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: lo");
                open.push(stream);
            }
            Err(_) => break,
        }
        if open.len() % 1000 == 0 {
            assert_eq!(served.json("GET /api/v1/version", "").0, 200, "{}", open.len());
        }
        if open.len() > most {
            open.remove(0);
        }
    }
    println!("{} connections half open", open.len());
    assert_eq!(served.json("GET /api/v1/version", "").0, 200);
    served.daemon.tell("show version");
    let shown = served.daemon.tell("show http");
    let now: usize =
        shown.split("connections: ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(now <= 128, "{shown}");
}

#[test]
fn files_of_tokens_say_who_may_only_look() {
    let folder = std::env::temp_dir().join(tests::unique());
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("tokens");
    fs::write(&file, "aaaaaaaaaaaaaaaaaaaa Ada\nbbbbbbbbbbbbbbbbbbbb read-only the wall\n")
        .unwrap();
    let mode =
        |mode| fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode));
    mode(0o600).unwrap();
    let socket = folder.join("http.sock");
    let more = format!("token-file {} listen unix {}", file.display(), socket.display());
    let mut served = Served::start(&more);
    served.token = "bbbbbbbbbbbbbbbbbbbb".to_owned();
    assert_eq!(served.json("GET /api/v1/interfaces", "").0, 200);
    let body = r#"{"command": "show version"}"#;
    assert_eq!(served.json("POST /api/v1/cli", body).0, 403);
    // Who may only look reads no files by it, makes none, and learns no names of files.
    for line in ["exec+/", "exec+/etc/", "show+vlib+graphviz+/"] {
        let (status, said) = served.json(&format!("GET /api/v1/complete?line={line}"), "");
        assert!(status == 200 && !said.to_string().contains('/'), "{line}: {said}");
    }
    let (secret, fresh) = (file.display(), folder.join("fresh"));
    for line in [
        format!("exec {secret}"),
        format!("plugin load {secret}"),
        format!("capture start file {}", fresh.display()),
        format!("show vlib graphviz {}", fresh.display()),
    ] {
        let text = serde_json::json!({ "text": line }).to_string();
        for end in ["check", "diff"] {
            let (status, said) = served.json(&format!("POST /api/v1/configuration/{end}"), &text);
            assert_eq!(status, 422, "{line}: {said}");
            assert!(!said.to_string().contains("aaaa"), "{said}");
        }
    }
    assert!(!fresh.exists());
    let wrong = r#"{"interface": "local0", "packet": "UDP 8.8.8.8"}"#;
    let (status, said) = served.json("POST /api/v1/explain", wrong);
    assert_eq!(status, 422, "{said}");
    assert!(said.to_string().contains("UDP 8.8.8.8"), "{said}");
    served.token = "aaaaaaaaaaaaaaaaaaaa".to_owned();
    assert_eq!(served.json("POST /api/v1/cli", body).0, 200);
    let stream = UnixStream::connect(&socket).unwrap();
    assert_eq!(converse(stream, "GET /api/v1/version", "Host: localhost\r\n", "").0, 401);
    let stream = UnixStream::connect(&socket).unwrap();
    assert_eq!(converse(stream, "GET /api/v1/version", &served.headers(), "").0, 200);

    // What is refused at start says why.
    let refused = |stanza: &str| {
        let dir = folder.display();
        let words = format!("unix {{ nodaemon runtime-dir {dir} }} http {{ {stanza} }}");
        let output = Command::new(program("ferrovia")).args(words.split(' ')).output().unwrap();
        assert!(!output.status.success(), "{stanza}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let why = refused("listen 0.0.0.0:8443");
    assert!(why.contains("needs a token-file and TLS"), "{why}");
    mode(0o644).unwrap();
    let why = refused(&format!("listen 8443 token-file {}", file.display()));
    assert!(why.contains("is world-readable"), "{why}");
    let why = refused(&format!("listen {}", served.port));
    assert!(why.contains("address is already in use") || why.contains("in use"), "{why}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn other_machines_come_over_tls() {
    if !has("openssl") || !has("curl") {
        return;
    }
    let folder = std::env::temp_dir().join(tests::unique());
    fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    let (certificate, key, tokens) = (path("cert.pem"), path("key.pem"), path("tokens"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-days", "1", "-subj", "/CN=router.test", "-addext"])
        .args(["subjectAltName=DNS:router.test", "-keyout", &key, "-out", &certificate])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::write(&tokens, "cccccccccccccccccccc\n").unwrap();
    fs::set_permissions(&tokens, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let socket = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    drop(socket);
    let config = format!(
        "http {{ listen 0.0.0.0:{port} token-file {tokens} certificate {certificate} key {key} \
         name router.test }}"
    );
    let daemon = Daemon::start_with(&config, &[]);
    let ask = |scheme: &str, token: &str| {
        let output = Command::new("curl")
            .args([
                "-s",
                "-m",
                "10",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code}",
                "--cacert",
                &certificate,
            ])
            .args(["--resolve", &format!("router.test:{port}:127.0.0.1")])
            .args(["-H", &format!("Authorization: Bearer {token}")])
            .arg(format!("{scheme}://router.test:{port}/api/v1/version"))
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(ask("https", "cccccccccccccccccccc"), "200");
    assert_eq!(ask("https", "dddddddddddddddddddd"), "401");
    assert_eq!(ask("http", "cccccccccccccccccccc"), "000");
    is_not_replayed(port, &daemon, &["--cacert", &certificate]);
    fs::remove_dir_all(&folder).unwrap();
}

/// Replays, byte by byte, a client's data over TLS: nothing of it has an effect.
fn is_not_replayed(port: u16, daemon: &Daemon, trust: &[&str]) {
    let proxy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let by = proxy.local_addr().unwrap().port();
    let recorder = std::thread::spawn(move || {
        let (mut client, _) = proxy.accept().unwrap();
        let mut router = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut from, mut to) = (router.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Both);
        });
        let (mut sent, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(len @ 1..) = client.read(&mut buffer) {
            sent.extend_from_slice(&buffer[..len]);
            router.write_all(&buffer[..len]).unwrap();
        }
        sent
    });
    let said = Command::new("curl")
        .args(["-s", "-m", "10", "--resolve", &format!("router.test:{by}:127.0.0.1")])
        .args(["-H", "Authorization: Bearer cccccccccccccccccccc"])
        .args(["-H", "Content-Type: application/json"])
        .args(["-H", &format!("Host: router.test:{port}")])
        .args(["-d", r#"{"command": "create loopback interface"}"#])
        .args(trust)
        .arg(format!("https://router.test:{by}/api/v1/cli"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success() && text.contains("loop0"), "{text}");
    let sent = recorder.join().unwrap();
    assert!(sent.len() > 200, "{}", sent.len());
    let mut again = TcpStream::connect(("127.0.0.1", port)).unwrap();
    again.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let _ = again.write_all(&sent);
    let _ = again.read_to_end(&mut Vec::new());
    let shown = daemon.tell("show interface");
    assert!(shown.contains("loop0") && !shown.contains("loop1"), "{shown}");
}
