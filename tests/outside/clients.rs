//! Clients of the binary API: raw bytes on the socket, and the clients' own library.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tests::{Daemon, Host, eventually, is_root, is_timing_wanted, papi, program, unique};

/// A connected client.
pub struct Client {
    pub stream: UnixStream,
    pub index: [u8; 4],
    /// Numbers and names of all messages, without CRCs.
    pub names: Vec<(u16, String)>,
}

pub fn frame(message: &[u8]) -> Vec<u8> {
    let len = (message.len() as u32).to_be_bytes();
    [&[0; 8][..], &len, &[0; 4], message].concat()
}

fn socket(daemon: &Daemon) -> UnixStream {
    let path = daemon.folder().join("api.sock");
    let mut stream = None;
    eventually(|| {
        stream = UnixStream::connect(&path).ok();
        stream.is_some()
    });
    let stream = stream.expect("the socket accepts");
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

impl Client {
    pub fn connect(daemon: &Daemon) -> Self {
        let mut message = vec![0, 15, 0, 0, 0, 123];
        message.resize(70, b'x');
        let mut client = Self { stream: socket(daemon), index: [0; 4], names: Vec::new() };
        client.stream.write_all(&frame(&message)).unwrap();
        let reply = client.receive();
        assert_eq!(reply[..14], [0, 16, 0, 0, 0, 0, 0, 0, 0, 123, 0, 0, 0, 0]);
        client.index = reply[14..18].try_into().unwrap();
        let name = |entry: &[u8]| {
            let text = String::from_utf8_lossy(&entry[2..]);
            let text = text.trim_end_matches('\0').rsplit_once('_').unwrap().0.to_owned();
            (u16::from_be_bytes([entry[0], entry[1]]), text)
        };
        client.names = reply[20..].chunks(66).map(name).collect();
        client
    }

    pub fn request(&self, name: &str, fields: &[u8]) -> Vec<u8> {
        let (id, _) = self.names.iter().find(|(_, known)| known == name).expect(name);
        frame(&[&id.to_be_bytes()[..], &self.index, &[0, 0, 0, 5], fields].concat())
    }

    /// Asks, and takes the answer.
    pub fn ask(&mut self, name: &str, fields: &[u8]) -> Vec<u8> {
        let request = self.request(name, fields);
        self.stream.write_all(&request).unwrap();
        self.receive()
    }

    pub fn receive(&mut self) -> Vec<u8> {
        let mut header = [0; 16];
        self.stream.read_exact(&mut header).unwrap();
        let len = u32::from_be_bytes(header[8..12].try_into().unwrap());
        let mut message = vec![0; len as usize];
        self.stream.read_exact(&mut message).unwrap();
        message
    }

    pub fn ping(&mut self) {
        let request = self.request("control_ping", &[]);
        self.stream.write_all(&request).unwrap();
        let reply = self.receive();
        assert_eq!((reply.len(), &reply[..10]), (18, &[0, 24, 0, 0, 0, 5, 0, 0, 0, 0][..]));
    }
}

#[test]
fn the_router_describes_its_messages() {
    let mut daemon = Daemon::start(&[]);
    let mut client = Client::connect(&daemon);
    let path = daemon.folder().join("api.sock");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o775);
    let request = client.request("get_api_json", &[]);
    client.stream.write_all(&request).unwrap();
    let reply = client.receive();
    let len = u32::from_be_bytes(reply[10..14].try_into().unwrap()) as usize;
    assert_eq!((reply.len(), reply[reply.len() - 1]), (14 + len + 1, 0), "a NUL is not counted");
    let modules: serde_json::Value = serde_json::from_slice(&reply[14..14 + len]).unwrap();
    let names: Vec<_> = modules.as_array().unwrap().iter().map(|m| &m["module"]).collect();
    assert!(names.iter().any(|name| *name == "vpe") && names.iter().all(|n| *n != "memclnt"));
    assert!(daemon.stop().is_some_and(|status| status.success()));
    assert!(!path.exists(), "its name goes with it");
}

#[test]
fn nonsense_harms_only_who_sends_it() {
    let daemon = Daemon::start(&[]);
    let mut client = Client::connect(&daemon);
    let mut bytes = Vec::new();
    for len in 0..200_u8 {
        bytes.extend(frame(&vec![len; usize::from(len)]));
    }
    client.stream.write_all(&bytes).unwrap();
    client.ping();
    let mut huge = socket(&daemon);
    huge.write_all(&[0xff; 16]).unwrap();
    assert_eq!(huge.read(&mut [0]).unwrap_or(0), 0, "nobody has messages of 4 GB");
    let mut rude = socket(&daemon);
    rude.write_all(&client.request("get_api_json", &[])[..20]).unwrap();
    drop(rude);
    client.ping();
}

#[test]
fn a_thousand_half_open_clients_and_one_that_does_not_read_harm_nobody() {
    let files = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files }).unwrap();
    let daemon = Daemon::start(&[]);
    let mut half = Vec::new();
    for _ in 0..1000 {
        let mut stream = socket(&daemon);
        stream.write_all(&[0; 10]).unwrap();
        half.push(stream);
    }
    let mut slow = Client::connect(&daemon);
    let request = slow.request("get_api_json", &[]);
    for _ in 0..200 {
        slow.stream.write_all(&request).unwrap();
    }
    let mut quick = Client::connect(&daemon);
    for _ in 0..100 {
        quick.ping();
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kilobytes < 1 << 20, "{line}");
    for _ in 0..200 {
        slow.receive();
    }
    slow.ping();
    drop(half);
    quick.ping();
}

#[test]
fn the_clients_own_library_works() {
    let Some(python) = papi() else { return };
    let host = is_root().then(Host::alone);
    let daemon = match &host {
        Some(host) => {
            host.run("ip link add left type veth peer name right");
            Daemon::start_in(host.namespace(), "", crate::GENERATORS)
        }
        None => Daemon::start(crate::GENERATORS),
    };
    drop(socket(&daemon));
    let statistics = daemon.folder().join("stats.sock").display().to_string();
    let device = host.is_some().then_some("left");
    script(&python, "clients.py", &daemon, [statistics.as_str()].into_iter().chain(device));
}

/// As tests of the original do it.
#[test]
fn segments_are_joined_as_clients_expect() {
    let Some(python) = papi() else { return };
    let daemon = Daemon::start(&[]);
    let folder = daemon.folder().display().to_string();
    script(&python, "gro.py", &daemon, [folder.as_str()]);
}

/// Runs a script of this folder on a socket and the description of what is said there.
fn script<'a>(python: &str, name: &str, daemon: &Daemon, args: impl IntoIterator<Item = &'a str>) {
    let json = daemon.folder().join("api");
    assert!(
        Command::new(program("ferrovia")).arg("--api-json").arg(&json).status().unwrap().success()
    );
    let said = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("outside").join(name))
        .arg(daemon.folder().join("api.sock"))
        .arg(json)
        .args(args)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&said.stdout), "done\n", "{}", text(&said.stderr));
}

/// As a supervisor does it; `FERROVIA_ROUNDS` says how often.
#[test]
fn it_starts_forwards_and_stops_again_and_again() {
    let Some(python) = papi() else { return };
    let folder = std::env::temp_dir().join(unique());
    let json = folder.join("api");
    std::fs::create_dir_all(&folder).unwrap();
    assert!(
        Command::new(program("ferrovia")).arg("--api-json").arg(&json).status().unwrap().success()
    );
    let rounds = std::env::var("FERROVIA_ROUNDS").unwrap_or_else(|_| "5".to_owned());
    let said = Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/outside/rig.py"))
        .arg(program("ferrovia"))
        .arg(json)
        .arg(&folder)
        .arg(rounds)
        .arg(if is_timing_wanted() { "5" } else { "30" })
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    std::fs::remove_dir_all(&folder).unwrap();
    println!("{}", text(&said.stderr));
    assert_eq!(text(&said.stdout), "done\n", "{}", text(&said.stderr));
}
