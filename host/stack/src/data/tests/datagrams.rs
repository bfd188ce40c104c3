//! UDP: listeners for each peer and for all, sessions from here, and ports without either.

use super::super::apps::{self, Options};
use super::super::connecting::{self, Connect};
use super::*;

fn know_host(bench: &mut Bench) {
    bench.set("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01");
}

#[test]
fn a_listener_makes_a_session_of_each_peer_and_answers_it() {
    let mut bench = bench(1);
    know_host(&mut bench);
    let (app, log) = attach(&mut bench, "echo", Options::default(), (b"", true, true));
    let uri = "udp://0.0.0.0:7".parse().unwrap();
    bench.control(|router, _| apps::listen(router, app, uri, true).unwrap());
    let pg0 = bench.pg0;
    let sent = bench.receive(
        pg0,
        &[
            datagram("10.0.0.2:1000", "10.0.0.1:7", b"one"),
            datagram("10.0.0.2:1001", "10.0.0.1:7", b"two"),
            datagram("10.0.0.2:1000", "10.0.0.1:7", b"three"),
        ],
    );
    let mut back: Vec<_> = sent.iter().filter_map(|c| read_datagram(&c.bytes)).collect();
    back.sort_by_key(|(_, to, data)| (to.port(), data.clone()));
    let back: Vec<_> = back.iter().map(|(_, to, data)| (to.port(), &data[..])).collect();
    assert_eq!(back, [(1000, &b"one"[..]), (1000, b"three"), (1001, b"two")]);
    let accepted = seen(&log).iter().filter(|s| matches!(s, Seen::Accepted(..))).count();
    assert_eq!(accepted, 2);
}

#[test]
fn a_listener_for_all_peers_is_one_session() {
    let mut bench = bench(1);
    know_host(&mut bench);
    let (app, log) = attach(&mut bench, "echo", Options::default(), (b"", true, true));
    let uri = "udp://10.0.0.1:7".parse().unwrap();
    let listener = bench.control(|router, _| apps::listen(router, app, uri, false).unwrap());
    let pg0 = bench.pg0;
    let frames = [
        datagram("10.0.0.2:1000", "10.0.0.1:7", b"one"),
        datagram("10.0.0.2:1001", "10.0.0.1:7", b"two"),
    ];
    let sent = bench.receive(pg0, &frames);
    assert_eq!(sent.iter().filter_map(|c| read_datagram(&c.bytes)).count(), 2);
    assert_eq!(seen(&log), [Seen::Bytes(b"one".to_vec()), Seen::Bytes(b"two".to_vec())]);
    bench.control(|router, _| apps::unlisten(router, listener).unwrap());
    let sent = bench.receive(pg0, &frames[..1]);
    let kinds: Vec<_> = sent.iter().map(|c| (c.bytes[23], c.bytes[34], c.bytes[35])).collect();
    assert_eq!(kinds, [(1, 3, 3)], "ICMP port unreachable");
    assert_eq!(seen(&log), []);
}

#[test]
fn a_session_from_here_hears_its_peer_alone_and_frees_its_port() {
    let mut bench = bench(1);
    know_host(&mut bench);
    let (app, log) = attach(&mut bench, "client", Options::default(), (b"hello", false, true));
    let to = "udp://10.0.0.2:53".parse().unwrap();
    let connect = Connect { to, opaque: 5, thread: None };
    bench.control(|router, _| connecting::connect(router, app, connect).unwrap());
    let sent = bench.settle();
    let (from, to, data) = read_datagram(&sent[0].bytes).unwrap();
    assert_eq!((to.to_string(), &data[..]), ("10.0.0.2:53".to_owned(), &b"hello"[..]));
    assert_eq!(seen(&log), [Seen::Connected(5)]);
    let pg0 = bench.pg0;
    let answer = datagram("10.0.0.2:53", &from.to_string(), b"answer");
    let other = datagram("10.0.0.2:54", &from.to_string(), b"other");
    let sent = bench.receive(pg0, &[answer.clone(), other]);
    assert_eq!(seen(&log), [Seen::Bytes(b"answer".to_vec())]);
    assert_eq!(sent.len(), 1, "port unreachable for the other");
    bench.control(|router, _| apps::detach(router, app));
    bench.settle();
    bench.settle();
    let taken = bench.control(|router, _| router.udp_takers());
    assert!(!taken.iter().any(|(_, port, _)| *port == from.port()));
}

#[test]
fn datagrams_that_find_no_room_are_counted_and_others_go_on() {
    let mut bench = bench(1);
    know_host(&mut bench);
    let small = Options { rx_fifo: 1024, ..Options::default() };
    let (app, log) = attach(&mut bench, "echo", small, (b"", false, true));
    let uri = "udp://0.0.0.0:7".parse().unwrap();
    bench.control(|router, _| apps::listen(router, app, uri, true).unwrap());
    let pg0 = bench.pg0;
    let frames: Vec<_> =
        (0..5).map(|n| datagram("10.0.0.2:1000", "10.0.0.1:7", &[n; 400])).collect();
    bench.receive(pg0, &frames);
    assert_eq!(seen(&log).len(), 1 + 2, "accepted, and two of 400 bytes");
    bench.receive(pg0, &frames[..1]);
    assert_eq!(seen(&log), [Seen::Bytes(vec![0; 400])]);
    assert!(bench.run("show errors").contains("Fifo full"));
}
