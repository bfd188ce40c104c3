//! Programs at app sockets, honest and hostile: this is the program's side, without its library.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Mutex;

use lanes::lane::{Lane, State, state};
use lanes::region::Word;
use lanes::stream::{In, Out};
use lanes::talk::{self, Message};
use net::testing::whole::Bench;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::{Folder, enable};

mod attacks;
mod datagrams;
mod keepalive;
mod sockets;

/// A router with app sockets in a folder of its own.
struct Rig {
    bench: Bench,
    folder: PathBuf,
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A program.
struct Peer {
    socket: OwnedFd,
    lane: Lane,
    bell: OwnedFd,
    app: u32,
    _own: OwnedFd,
}

fn rig() -> Rig {
    rig_on(1)
}

fn rig_on(threads: usize) -> Rig {
    // Paths of sockets are short.
    static COUNT: Mutex<u32> = Mutex::new(0);
    let mut count = COUNT.lock().unwrap();
    *count += 1;
    let folder = std::env::temp_dir().join(format!("fv-apps-{}-{count}", std::process::id()));
    drop(count);
    std::fs::create_dir_all(&folder).unwrap();
    let mut bench = Bench::plugged_on(threads, &[crate::FEATURE]);
    bench.control(|router, _| {
        router.insert(Folder(folder.clone()));
        enable(router, true).unwrap();
    });
    bench.set("session enable");
    let mut rig = Rig { bench, folder };
    rig.turns(2);
    rig
}

fn dial(path: &std::path::Path) -> rustix::io::Result<OwnedFd> {
    let made = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    connect(&made, &SocketAddrUnix::new(path)?).map(|()| made)
}

/// The next message; `None` when the router has closed the connection or says nothing.
fn receive(socket: &OwnedFd) -> Option<(Vec<u8>, Vec<OwnedFd>)> {
    let mut set = [PollFd::new(socket, PollFlags::IN)];
    if poll(&mut set, Some(&Timespec::default())) != Ok(1) {
        return None;
    }
    let (mut bytes, mut files) = (vec![0; 1000], Vec::new());
    let len = talk::receive(socket, &mut bytes, &mut files).unwrap_or(0);
    bytes.truncate(len);
    (len > 0).then_some((bytes, files))
}

fn hear(socket: &OwnedFd) -> Option<(Message, Vec<OwnedFd>)> {
    let (bytes, files) = receive(socket)?;
    Some((Message::parse(&bytes).unwrap(), files))
}

impl Rig {
    /// Turns of control and of the thread.
    fn turns(&mut self, count: usize) {
        for _ in 0..count {
            self.bench.control(|router, _| router.run_due());
            self.bench.settle();
        }
    }
    fn socket(&self, namespace: &str) -> PathBuf {
        self.folder.join("app_ns_sockets").join(namespace)
    }
    fn dial(&self) -> OwnedFd {
        dial(&self.socket("default")).unwrap()
    }
    fn hello(&mut self, hello: &Message) -> Result<Peer, i32> {
        let socket = self.dial();
        talk::send(&socket, hello, &[]).unwrap();
        self.turns(2);
        let (welcome, mut own) = hear(&socket).ok_or(0)?;
        assert_eq!(welcome.kind, talk::WELCOME);
        if welcome.value != 0 {
            return Err(welcome.value);
        }
        let (lane, files) = hear(&socket).unwrap();
        assert_eq!((lane.kind, lane.token), (talk::LANE, 0));
        let [d, a, bell] = <[OwnedFd; 3]>::try_from(files).unwrap();
        assert_eq!(hear(&socket).unwrap().0.kind, talk::DONE);
        let lane = Lane::open(&d, &a).unwrap();
        Ok(Peer { socket, lane, bell, app: welcome.token, _own: own.pop().unwrap() })
    }
    fn attach(&mut self, name: &str) -> Peer {
        let flags = talk::LOCAL | talk::GLOBAL;
        let hello = Message { flags, name: name.to_owned(), ..Message::new(talk::HELLO) };
        self.hello(&hello).unwrap()
    }
    fn ask(&mut self, peer: &Peer, request: &Message) -> i32 {
        talk::send(&peer.socket, request, &[]).unwrap();
        self.turns(3);
        hear(&peer.socket).unwrap().0.value
    }
    fn attached(&mut self) -> usize {
        self.bench.control(|router, _| super::attached(router).len())
    }
    fn sessions(&mut self) -> usize {
        let look = |router: &mut net::Router| crate::data::show::totals(router).unwrap();
        self.bench.control(|router, _| look(router).iter().map(|of| of.sessions).sum())
    }
    /// A server and a client with a session between them, and its lines.
    fn pair(&mut self) -> (Peer, Peer, u32, u32) {
        let (mut server, mut client) = (self.attach("server"), self.attach("client"));
        let end = "127.0.0.1:80".parse().unwrap();
        assert!(self.ask(&server, &Message { end, ..Message::new(talk::LISTEN) }) >= 0);
        let connect = Message { end, number: 77, ..Message::new(talk::CONNECT) };
        assert_eq!(self.ask(&client, &connect), 0);
        self.turns(5);
        let there = server.adopt().unwrap();
        let here = client.adopt().unwrap();
        assert_eq!(client.lane.other.get(here, Word::Opaque), 77);
        self.turns(3);
        (server, client, there, here)
    }
}

impl Peer {
    /// Takes the next line that was announced, as a new session.
    fn adopt(&mut self) -> Option<u32> {
        let line = self.lane.take().unwrap()?;
        let generation = self.lane.state(line).generation;
        self.lane.own.set(line, Word::Written, 0);
        self.lane.own.set(line, Word::Taken, 0);
        self.say(line, generation, 0);
        Some(line)
    }
    fn say(&mut self, line: u32, generation: u32, bits: u16) {
        self.lane.set_state(line, State { generation, error: 0, bits });
        self.lane.post(line).unwrap();
        if self.lane.must_ring() {
            rustix::io::write(&self.bell, &1u64.to_ne_bytes()).unwrap();
        }
    }
    fn is_open(&self) -> bool {
        let mut set = [PollFd::new(&self.socket, PollFlags::IN)];
        poll(&mut set, Some(&Timespec::default())) == Ok(0)
    }
}

#[test]
fn bytes_go_between_two_programs_and_the_end_behind_them() {
    let mut rig = rig();
    let (mut server, mut client, there, here) = rig.pair();
    let said: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
    let (mut out, mut read, mut got) = (Out::new(50_000), In::default(), Vec::new());
    let generation = client.lane.state(here).generation;
    for _ in 0..1000 {
        let at = out.written() as usize;
        if out.write(&mut client.lane, here, &said[at..]).unwrap() > 0 {
            out.publish(&client.lane, here);
            client.say(here, generation, 0);
        }
        rig.turns(1);
        let n = read.available(&server.lane, there).unwrap();
        let mut bytes = vec![0; n];
        read.copy(&server.lane, there, 0, &mut bytes).unwrap();
        read.consume(&server.lane, there, n);
        let own = server.lane.state(there).generation;
        server.say(there, own, 0);
        got.extend(bytes);
        if got.len() == said.len() {
            break;
        }
    }
    assert!(got == said);
    client.say(here, generation, state::CLOSE);
    rig.turns(4);
    assert!(server.lane.state(there).has(state::FINISHED));
    let own = server.lane.state(there).generation;
    server.say(there, own, state::CLOSE);
    rig.turns(4);
    assert_eq!(rig.sessions(), 0);
}

#[test]
fn clients_of_the_originals_library_are_answered_in_their_own_words() {
    let mut rig = rig();
    let socket = rig.dial();
    let mut attach = vec![0; 209];
    attach[0] = 1;
    talk::send_bytes(&socket, &attach, &[]).unwrap();
    rig.turns(2);
    let (reply, _) = receive(&socket).unwrap();
    assert_eq!((reply[0], i32::from_le_bytes(reply[1..5].try_into().unwrap())), (2, -10));
    assert_eq!(rig.attached(), 0);
}

#[test]
fn a_namespace_is_for_those_who_know_its_secret_and_guesses_take_time() {
    let mut rig = rig();
    rig.bench.set("app ns add id red secret 1234 ip4-fib-id 0");
    let namespace = "red".to_owned();
    let hello = Message { namespace, number: 1234, ..Message::new(talk::HELLO) };
    assert!(rig.hello(&hello).is_ok());
    let wrong = Message { number: 1235, ..hello.clone() };
    assert_eq!(rig.hello(&wrong).err(), Some(0), "no answer yet");
    let none = Message { namespace: "blue".to_owned(), ..hello };
    assert_eq!(rig.hello(&none).err(), Some(-2));
    rig.bench.set("app ns del id red");
    assert_eq!(rig.attached(), 0, "it goes with the namespace");
    assert!(!rig.socket("red").exists());
}

#[test]
fn without_being_enabled_there_is_no_socket_and_only_the_group_may_connect() {
    use std::os::unix::fs::PermissionsExt;
    let mut rig = rig();
    let path = rig.socket("default");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o007, 0, "{mode:o}");
    let peer = rig.attach("program");
    rig.bench.control(|router, _| enable(router, false).unwrap());
    assert!(!path.exists() && !peer.is_open());
    assert_eq!(rig.attached(), 0);
    rig.bench.set("session disable");
    rig.bench.set("session enable");
    assert!(!path.exists());
}

#[test]
fn nonsense_at_the_socket_ends_the_connection_and_descriptors_are_closed() {
    let mut rig = rig();
    for bytes in [&b"FVS1"[..], &[0; talk::MESSAGE], &[0x46; 300], &[9]] {
        let socket = rig.dial();
        let own = socket.as_fd();
        talk::send_bytes(&socket, bytes, &[own, own]).unwrap();
        rig.turns(2);
        let mut set = [PollFd::new(&socket, PollFlags::IN)];
        assert_eq!(poll(&mut set, Some(&Timespec::default())), Ok(1), "closed");
    }
    let peer = rig.attach("program");
    for request in [
        Message { transport: 7, ..Message::new(talk::LISTEN) },
        Message::new(talk::LISTEN),
        Message::new(talk::CONNECT),
    ] {
        assert_eq!(rig.ask(&peer, &request), -22, "no transport, no port");
    }
    let unlisten = Message { value: 5, ..Message::new(talk::UNLISTEN) };
    assert_eq!(rig.ask(&peer, &unlisten), -77, "another's listener");
    talk::send(&peer.socket, &Message::new(talk::HELLO), &[]).unwrap();
    rig.turns(2);
    assert!(!peer.is_open(), "it is attached already");
}

#[test]
fn positions_that_cannot_be_end_the_session_and_many_the_attachment() {
    let mut rig = rig();
    let (mut server, mut client, there, here) = rig.pair();
    let generation = client.lane.state(here).generation;
    client.lane.own.set(here, Word::Written, u64::MAX);
    client.say(here, generation, 0);
    rig.turns(4);
    let said = client.lane.state(here);
    assert!(said.has(state::DEAD) && said.error == 71, "{said:?}");
    assert_eq!(server.lane.take(), Ok(Some(there)));
    assert!(server.lane.state(there).has(state::DEAD), "its peer is reset");
    assert_eq!(rig.attached(), 2, "others go on");
    let end = "127.0.0.1:80".parse().unwrap();
    while client.lane.take().unwrap().is_some() {}
    for number in 0..20 {
        let connect = Message { end, number, ..Message::new(talk::CONNECT) };
        if talk::send(&client.socket, &connect, &[]).is_err() {
            break;
        }
        rig.turns(5);
        let Some(line) = client.adopt() else { break };
        let generation = client.lane.state(line).generation;
        client.lane.own.set(line, Word::Written, u64::MAX);
        client.say(line, generation, 0);
        rig.turns(4);
        while client.lane.take().unwrap().is_some() {}
    }
    assert_eq!(rig.attached(), 1, "only the server is left");
    let peer = rig.attach("another");
    assert!(peer.is_open());
}

#[test]
fn rings_that_cannot_be_end_the_attachment_and_nothing_else() {
    for (at, value) in [(24usize, u64::MAX), (24, 1 << 20), (8, 1 << 40)] {
        let mut rig = rig();
        let (server, client, _, _) = rig.pair();
        let head = |at, value| client.lane.own.set_head(at, value);
        head(at, value);
        rustix::io::write(&client.bell, &1u64.to_ne_bytes()).unwrap();
        rig.turns(6);
        assert!(server.is_open());
        let left = rig.attached();
        // A count of taken entries matters when the next one is put.
        assert!(left == 1 || at == 8, "word {at}");
    }
}

#[test]
fn a_program_that_dies_at_any_step_leaves_nothing() {
    for step in 0..6 {
        let mut rig = rig();
        let watcher = rig.attach("watcher");
        match step {
            0 => drop(rig.dial()),
            1 => {
                let socket = rig.dial();
                talk::send(&socket, &Message::new(talk::HELLO), &[]).unwrap();
            }
            2 => drop(rig.attach("x")),
            3 => {
                let peer = rig.attach("x");
                let end = "0.0.0.0:80".parse().unwrap();
                rig.ask(&peer, &Message { end, ..Message::new(talk::LISTEN) });
            }
            4 => drop(rig.pair()),
            _ => {
                let (server, mut client, _, here) = rig.pair();
                let generation = client.lane.state(here).generation;
                let mut out = Out::new(50_000);
                out.write(&mut client.lane, here, b"last words").unwrap();
                out.publish(&client.lane, here);
                client.say(here, generation, state::CLOSE);
                drop((client, server));
            }
        }
        rig.turns(20);
        rig.bench.wait(1.0);
        assert_eq!((step, rig.attached(), rig.sessions()), (step, 1, 0));
        assert!(watcher.is_open());
        let again = rig.attach("y");
        let end = "0.0.0.0:80".parse().unwrap();
        assert!(rig.ask(&again, &Message { end, ..Message::new(talk::LISTEN) }) >= 0);
    }
}

#[test]
fn what_a_program_has_closed_arrives_after_its_death() {
    let mut rig = rig();
    let (server, mut client, there, here) = rig.pair();
    let generation = client.lane.state(here).generation;
    let mut out = Out::new(50_000);
    out.write(&mut client.lane, here, b"last words").unwrap();
    out.publish(&client.lane, here);
    client.say(here, generation, state::CLOSE);
    drop(client);
    rig.turns(10);
    let mut read = In::default();
    assert_eq!(read.available(&server.lane, there), Ok(10));
    let mut bytes = [0; 10];
    read.copy(&server.lane, there, 0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"last words");
    assert!(server.lane.state(there).has(state::FINISHED));
    rig.bench.wait(1.0);
    assert_eq!(rig.attached(), 1);
}

#[test]
fn scribbling_over_its_memory_costs_a_program_its_sessions_and_no_others() {
    let mut rig = rig();
    let (server, client, _, _) = rig.pair();
    let apps = (server.app, client.app);
    let scribbler = std::thread::spawn(move || {
        for round in 0..300_000u64 {
            let word = (round.wrapping_mul(0x9E37_79B9) % 20_000) as usize;
            let value = round.wrapping_mul(0x2545_F491_4F6C_DD1D) >> (round % 61);
            client.lane.own.set_head(word, value);
            if round % 64 == 0 {
                let _ = rustix::io::write(&client.bell, &1u64.to_ne_bytes());
            }
        }
        client
    });
    while !scribbler.is_finished() {
        rig.turns(1);
    }
    let client = scribbler.join().unwrap();
    rig.turns(5);
    assert!(apps.0 != apps.1 && server.is_open());
    drop(client);
    rig.turns(10);
    rig.bench.wait(1.0);
    assert_eq!(rig.attached(), 1);
    let peer = rig.attach("another");
    assert!(peer.is_open());
}
