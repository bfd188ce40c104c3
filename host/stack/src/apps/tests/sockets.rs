//! Sockets of programs, which end at any step, or break the rules.

use std::os::fd::AsFd;

use lanes::socket::{ANSWER, Answer, FILLING, twin};
use rustix::io::{Errno, read, write};
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};

use super::*;

const END: &str = "127.0.0.1:80";

fn stream(rig: &Rig) -> OwnedFd {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let made = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
    connect(&made, &SocketAddrUnix::new(twin(&rig.socket("default"))).unwrap()).unwrap();
    made
}

fn request(kind: u8) -> Message {
    let end = END.parse().unwrap();
    Message { end, flags: talk::LOCAL, ..Message::new(kind) }
}

fn answer(socket: &OwnedFd) -> Option<Answer> {
    let mut bytes = [0; ANSWER];
    let got = read(socket, &mut bytes).ok()?;
    (got == ANSWER).then(|| Answer::parse(&bytes).unwrap())
}

impl Rig {
    fn open(&mut self, message: &Message) -> OwnedFd {
        let socket = stream(self);
        talk::send(&socket, message, &[]).unwrap();
        self.turns(4);
        socket
    }
    fn serve(&mut self) -> OwnedFd {
        let door = self.open(&request(talk::SERVE));
        assert_eq!(answer(&door).map(|answer| answer.error), Some(0));
        door
    }
    /// Both ends of a session.
    fn ends(&mut self, door: &OwnedFd) -> (OwnedFd, OwnedFd) {
        let client = self.open(&request(talk::REACH));
        assert_eq!(answer(&client).map(|answer| answer.error), Some(0));
        let (mut bytes, mut files) = ([0; ANSWER], Vec::new());
        assert_eq!(talk::receive(door, &mut bytes, &mut files), Ok(ANSWER));
        (client, files.pop().unwrap())
    }
    fn listeners(&mut self) -> usize {
        self.bench.run("show session listeners tcp").matches(":80").count()
    }
}

#[test]
fn bytes_and_ends_go_both_ways_and_nothing_is_left() {
    let mut rig = rig();
    let door = rig.serve();
    let (client, server) = rig.ends(&door);
    write(&client, b"question").unwrap();
    shutdown(&client, Shutdown::Write).unwrap();
    rig.turns(4);
    let mut bytes = [0; 100];
    assert_eq!(read(&server, &mut bytes), Ok(8));
    assert_eq!(read(&server, &mut bytes), Ok(0));
    write(&server, b"answer").unwrap();
    drop(server);
    rig.turns(4);
    assert_eq!(read(&client, &mut bytes), Ok(6));
    assert_eq!(read(&client, &mut bytes), Ok(0));
    drop(client);
    drop(door);
    rig.turns(6);
    assert_eq!((rig.sessions(), rig.listeners()), (0, 0));
}

#[test]
fn a_socket_is_not_writable_before_it_is_connected() {
    let mut rig = rig();
    let _door = rig.serve();
    let client = stream(&rig);
    let message = Message { token: FILLING as u32, ..request(talk::REACH) };
    let mut bytes = message.to_bytes().to_vec();
    bytes.resize(bytes.len() + FILLING, 0);
    assert_eq!(write(&client, &bytes), Ok(bytes.len()));
    let is_writable = |socket: &OwnedFd| {
        let mut set = [PollFd::new(socket, PollFlags::OUT)];
        poll(&mut set, Some(&Timespec::default())) == Ok(1)
    };
    assert!(!is_writable(&client));
    rig.turns(6);
    assert!(is_writable(&client));
    assert_eq!(answer(&client).map(|answer| answer.error), Some(0));
    assert_eq!(rig.sessions(), 2);
}

#[test]
fn a_program_may_end_at_any_step() {
    let mut rig = rig();
    let door = rig.serve();
    // Without a word, with a part of one, with a wrong one, and before the answer.
    drop(stream(&rig));
    for bytes in [&b"FVS1"[..], &[0; talk::MESSAGE], &request(talk::DONE).to_bytes()] {
        let socket = stream(&rig);
        write(&socket, bytes).unwrap();
        rig.turns(4);
        assert_eq!(read(&socket, &mut [0; 8]).unwrap_or(0), 0);
    }
    for kind in [talk::REACH, talk::SERVE] {
        let socket = stream(&rig);
        talk::send(&socket, &request(kind), &[]).unwrap();
        drop(socket);
        rig.turns(6);
    }
    // Connected, and not accepted; accepted, and closed by one side or the other, with bytes
    // underway.
    drop(rig.open(&request(talk::REACH)));
    rig.turns(6);
    while recv(&door, &mut [0; ANSWER][..], RecvFlags::DONTWAIT).is_ok() {}
    for is_client in [true, false] {
        let (client, server) = rig.ends(&door);
        write(&client, &[1; 5000]).unwrap();
        write(&server, &[1; 5000]).unwrap();
        let kept = if is_client { server } else { client };
        rig.turns(6);
        drop(kept);
        rig.turns(6);
    }
    rig.turns(10);
    assert_eq!((rig.sessions(), rig.listeners()), (0, 1));
    // A listener with connections that it has not accepted.
    let _clients = [rig.open(&request(talk::REACH)), rig.open(&request(talk::REACH))];
    drop(door);
    rig.turns(10);
    assert_eq!(rig.listeners(), 0);
    rig.serve();
}

#[test]
fn descriptors_end_the_socket_that_they_came_in_and_no_other() {
    let mut rig = rig();
    let door = rig.serve();
    let (client, server) = rig.ends(&door);
    let (other, other_server) = rig.ends(&door);
    talk::send_bytes(&client, b"x", &[client.as_fd(), other.as_fd()]).unwrap();
    // It is closed by a thread of its own.
    let start = std::time::Instant::now();
    while write(&client, b"x").is_ok() {
        assert!(start.elapsed().as_secs() < 60);
        rig.turns(1);
    }
    rig.turns(6);
    assert!(matches!(read(&server, &mut [0; 8]), Ok(0) | Err(Errno::CONNRESET)));
    write(&other, b"still there").unwrap();
    rig.turns(4);
    assert_eq!(read(&other_server, &mut [0; 100]), Ok(11));
    let early = stream(&rig);
    talk::send(&early, &request(talk::REACH), &[other.as_fd()]).unwrap();
    rig.turns(4);
    assert_eq!(read(&early, &mut [0; 8]).unwrap_or(0), 0);
}

#[test]
fn an_endpoint_is_shared_by_those_who_say_so() {
    let mut rig = rig();
    let shared = Message { flags: talk::LOCAL | talk::SHARED, ..request(talk::SERVE) };
    let first = rig.open(&shared);
    assert_eq!(answer(&first).map(|answer| answer.error), Some(0));
    let second = rig.open(&shared);
    assert_eq!(answer(&second).map(|answer| answer.error), Some(0));
    let third = rig.open(&request(talk::SERVE));
    assert_eq!(answer(&third).map(|answer| answer.error), Some(98));
    let _clients = [rig.open(&request(talk::REACH)), rig.open(&request(talk::REACH))];
    for door in [&first, &second] {
        assert!(answer(door).is_some_and(|answer| answer.error == 0), "in turn");
    }
    drop(first);
    rig.turns(6);
    assert_eq!(rig.listeners(), 1);
    let missing = Message { end: "127.0.0.1:81".parse().unwrap(), ..request(talk::REACH) };
    let client = rig.open(&missing);
    assert_eq!(answer(&client).map(|answer| answer.error), Some(111));
}
