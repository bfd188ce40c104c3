//! Datagrams of programs that find no room.

use lanes::region::WINDOW;

use super::*;
use crate::data::tests::read_datagram;

/// A program with small FIFOs that has the datagrams of a port, and its line.
fn taker(rig: &mut Rig) -> (Peer, u32, u32) {
    rig.bench.set("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01");
    let hello = Message { sizes: [4096; 2], ..Message::new(talk::HELLO) };
    let flags = talk::LOCAL | talk::GLOBAL;
    let mut peer = rig.hello(&Message { flags, name: "taker".to_owned(), ..hello }).unwrap();
    let end = "10.0.0.1:9".parse().unwrap();
    let listen = Message { transport: 1, end, number: 9, ..Message::new(talk::LISTEN) };
    assert!(rig.ask(&peer, &listen) >= 0);
    let line = peer.adopt().unwrap();
    rig.turns(2);
    let generation = peer.lane.state(line).generation;
    (peer, line, generation)
}

/// Says datagrams at once, and then nothing more; the lengths of those that leave.
fn said(lens: &[(usize, &str)]) -> Vec<usize> {
    let mut rig = rig();
    let (mut peer, line, generation) = taker(&mut rig);
    let mut out = Out::new(WINDOW);
    for (len, to) in lens {
        let head = talk::datagram(*len, to.parse().unwrap());
        let bytes = [&head[..], &vec![7; *len]].concat();
        assert_eq!(out.write(&mut peer.lane, line, &bytes), Ok(bytes.len()));
    }
    out.publish(&peer.lane, line);
    peer.say(line, generation, 0);
    let mut sent = Vec::new();
    for _ in 0..8 {
        sent.extend(rig.bench.settle());
        rig.bench.control(|router, _| router.run_due());
    }
    sent.iter().filter_map(|c| read_datagram(&c.bytes)).map(|(.., data)| data.len()).collect()
}

#[test]
fn datagrams_without_room_leave_when_there_is_some_though_their_program_says_nothing_more() {
    let host = "10.0.0.2:1000";
    assert_eq!(said(&[(1000, host); 12]), [1000; 12], "three have room at a time");
    // Those that can never be sent keep no place before others.
    let never = [(1400, "[2001:db8::2]:1000"), (5000, host)];
    let all = [&[(1400, host), (1400, host)][..], &never, &[(100, host)]].concat();
    assert_eq!(said(&all), [1400, 1400, 100]);
}
