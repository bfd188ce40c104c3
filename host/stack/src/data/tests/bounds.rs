//! Shares of applications and peers.

use super::super::apps::{self, Options};
use super::super::connecting::{self, Connect};
use super::super::layer::Layer;
use super::super::session::Pending;
use super::super::worker::Worker;
use super::*;

fn by_peer(bench: &mut Bench, name: &str, options: Options, uri: &str) -> Log {
    let (app, log) = attach(bench, name, options, (b"", false, true));
    let uri = uri.parse().unwrap();
    bench.control(|router, _| apps::listen(router, app, uri, true).unwrap());
    log
}

pub fn each<T: Send + 'static>(
    bench: &mut Bench,
    look: impl Fn(&mut Worker) -> T + Clone + Send + 'static,
) -> Vec<T> {
    let all = bench.control(|router, _| {
        let stack = router.own::<Layer>().stack.clone();
        stack.ask(&mut router.engine, look).unwrap()
    });
    all.into_iter().map(|(_, found)| found).collect()
}

fn accepted(log: &Log) -> Vec<u16> {
    let ports = seen(log).into_iter().filter_map(|seen| match seen {
        Seen::Accepted(_, peer) => Some(peer.port()),
        _ => None,
    });
    ports.collect()
}

#[test]
fn one_application_leaves_sessions_for_the_next() {
    let mut bench = bench(1);
    let greedy = by_peer(&mut bench, "greedy", Options::default(), "udp://0.0.0.0:7");
    let other = by_peer(&mut bench, "other", Options::default(), "udp://0.0.0.0:8");
    each(&mut bench, |worker| worker.set_limit(9));
    let pg0 = bench.pg0;
    for port in 1000..1020 {
        let from = format!("10.0.0.2:{port}");
        bench.receive(pg0, &[datagram(&from, "10.0.0.1:7", b"x")]);
    }
    bench.receive(pg0, &[datagram("10.0.0.2:1000", "10.0.0.1:8", b"x")]);
    assert_eq!((accepted(&greedy).len(), accepted(&other).len()), (8, 1));
}

#[test]
fn connections_under_way_are_bounded_and_counted_down() {
    let mut bench = bench(1);
    let (app, log) = attach(&mut bench, "client", Options::default(), (b"", false, false));
    let all = super::super::worker::UNDER_WAY + 5;
    for n in 0..all {
        let to = format!("tcp://10.0.0.{}:{}", 2 + n % 4, 80 + n / 4).parse().unwrap();
        let connect = Connect { to, opaque: 1, thread: None };
        bench.control(|router, _| connecting::connect(router, app, connect).unwrap());
        if n % 64 == 0 || n + 1 == all {
            bench.settle();
        }
    }
    bench.settle();
    let full = Seen::Refused(1, Failure::Full);
    assert_eq!(seen(&log).into_iter().filter(|seen| *seen == full).count(), 5);
    bench.control(|router, _| apps::detach(router, app));
    (0..200).for_each(|_| drop(bench.settle()));
    assert_eq!(each(&mut bench, |worker| worker.count()), [0]);
    let (app, log) = attach(&mut bench, "again", Options::default(), (b"", false, false));
    let connect = Connect { to: "tcp://10.0.0.2:80".parse().unwrap(), opaque: 1, thread: None };
    bench.control(|router, _| connecting::connect(router, app, connect).unwrap());
    bench.settle();
    assert_eq!(seen(&log), []);
}

#[test]
fn a_new_peer_takes_the_place_of_one_that_is_silent() {
    let mut bench = bench(1);
    let options = Options { peers: 4, ..Options::default() };
    let log = by_peer(&mut bench, "server", options, "udp://0.0.0.0:7");
    let pg0 = bench.pg0;
    let say = |bench: &mut Bench, port: u16| {
        let from = format!("10.0.0.2:{port}");
        bench.receive(pg0, &[datagram(&from, "10.0.0.1:7", b"x")]);
        bench.settle();
    };
    for port in [1, 2, 3, 4, 1, 5, 6, 7, 1] {
        say(&mut bench, port);
    }
    let all = seen(&log);
    let lost = all.iter().filter(|seen| **seen == Seen::Reset(Failure::Withdrawn)).count();
    let ports = all.iter().filter_map(|seen| match seen {
        Seen::Accepted(_, peer) => Some(peer.port()),
        _ => None,
    });
    let ports: Vec<_> = ports.collect();
    assert_eq!((ports, lost), (vec![1, 2, 3, 4, 5, 6, 7], 3), "the first one has spoken");
    assert_eq!(each(&mut bench, |worker| worker.count()), [4]);
    // A flood within a frame, of which the application has seen nothing yet.
    let flood: Vec<_> =
        (100..200).map(|port| datagram(&format!("10.0.0.2:{port}"), "10.0.0.1:7", b"x")).collect();
    bench.receive(pg0, &flood);
    bench.settle();
    assert_eq!(each(&mut bench, |worker| worker.count()), [4]);
}

#[test]
fn the_directory_is_forgotten_with_the_second_thread() {
    let mut bench = bench(2);
    let (app, _) = attach(&mut bench, "client", Options::default(), (b"", false, false));
    for thread in 0..2 {
        let connect =
            Connect { to: "tcp://10.0.0.2:80".parse().unwrap(), opaque: 1, thread: Some(thread) };
        bench.control(|router, _| connecting::connect(router, app, connect).unwrap());
        bench.settle();
    }
    let entries = |bench: &mut Bench| {
        let mut count = 0;
        bench.control(|router, _| router.own::<Layer>().directory.each(|_, _| count += 1));
        count
    };
    bench.settle();
    assert_eq!(entries(&mut bench), 2);
    bench.set_threads(0..1);
    bench.control(|router, _| apps::detach(router, app));
    bench.settle();
    bench.settle();
    assert_eq!(entries(&mut bench), 0);
    bench.set_threads(0..2);
    bench.settle();
    assert_eq!(entries(&mut bench), 0);
}

#[test]
fn places_of_parts_are_used_again() {
    let mut bench = bench(1);
    let mut old = attach(&mut bench, "a0", Options::default(), (b"", false, false)).0;
    for n in 1..8 {
        let name = format!("a{n}");
        let new = attach(&mut bench, &name, Options::default(), (b"", false, false)).0;
        bench.control(|router, _| apps::detach(router, old));
        bench.settle();
        old = new;
    }
    assert_eq!(each(&mut bench, |worker| worker.parts.len()), [2]);
}

#[test]
fn rules_for_an_application_go_with_it() {
    let mut bench = bench(1);
    let (app, _) = attach(&mut bench, "a", Options::default(), (b"", false, false));
    let (other, _) = attach(&mut bench, "b", Options::default(), (b"", false, false));
    for (port, to) in [(80, app), (81, other)] {
        bench.set(&format!(
            "session rule add appns default scope all proto tcp 10.0.0.1/32 {port} 0.0.0.0/0 0 \
             action {to}"
        ));
    }
    bench.control(|router, _| apps::detach(router, app));
    let has = |bench: &mut Bench, port: u16| {
        let lookup = format!(
            "show session rules tcp appns default 10.0.0.1/32 {port} 10.0.0.2/32 1000 \
             scope global"
        );
        bench.run(&lookup)
    };
    let (gone, there) = (has(&mut bench, 80), has(&mut bench, 81));
    assert!(gone != there && there.contains("action 1"), "{gone}\n{there}");
}

/// Panics once.
struct Bad(Log, bool);

impl Application for Bad {
    fn on_accept(&mut self, _: &mut Stream<'_>) -> bool {
        true
    }
    fn on_readable(&mut self, stream: &mut Stream<'_>) {
        let mut bytes = [0; 100];
        let n = stream.receive(&mut bytes).map_or(0, |(n, _)| n);
        if std::mem::take(&mut self.1) {
            panic!("as the test wants it");
        }
        self.0.lock().unwrap().push(Seen::Bytes(bytes[..n].to_vec()));
    }
    fn on_reset(&mut self, _: SessionId, _: u64, why: Failure) {
        self.0.lock().unwrap().push(Seen::Reset(why));
    }
}

#[test]
fn a_panic_costs_an_application_one_session_and_no_others() {
    let mut bench = bench(1);
    let log = Log::default();
    let to = Arc::clone(&log);
    let make = move |_| -> Box<dyn Application> { Box::new(Bad(Arc::clone(&to), true)) };
    let uri = "udp://0.0.0.0:7".parse().unwrap();
    bench.control(|router, _| {
        let app = apps::attach(router, "bad", Options::default(), make).unwrap();
        apps::listen(router, app, uri, true).unwrap();
    });
    let pg0 = bench.pg0;
    bench.receive(pg0, &[datagram("10.0.0.2:1000", "10.0.0.1:7", b"one")]);
    bench.settle();
    assert_eq!(seen(&log), [Seen::Reset(Failure::Withdrawn)]);
    assert_eq!(each(&mut bench, |worker| worker.count()), [0]);
    bench.receive(pg0, &[datagram("10.0.0.2:1001", "10.0.0.1:7", b"two")]);
    bench.settle();
    assert_eq!(seen(&log), [Seen::Bytes(b"two".to_vec())]);
}

#[test]
fn a_server_that_cannot_listen_leaves_the_layer_as_it_was() {
    let mut bench = Bench::plugged(&[crate::FEATURE]);
    let uri = "udp://0.0.0.0/5000".parse().unwrap();
    let serve = |bench: &mut Bench| {
        bench.control(|router, _| {
            let make = |_| -> Box<dyn Application> { Box::new(Bad(Log::default(), false)) };
            apps::serve(router, "server", Options::default(), uri, make).map(|_| ())
        })
    };
    let is_on = |bench: &mut Bench| bench.control(|router, _| router.own::<Layer>().is_on);
    let dispatch = |bench: &mut Bench, to: Option<&'static str>| {
        bench.control(|router, _| {
            let lookup = <net::ip::V4 as net::ip::Version>::NODES.udp_lookup;
            router.redispatch(lookup, 5000, to).unwrap();
        });
    };
    dispatch(&mut bench, Some("ip4-drop"));
    assert_eq!((serve(&mut bench), is_on(&mut bench)), (Err(apps::Error::Taken(5000)), false));
    bench.set("session enable");
    assert_eq!((serve(&mut bench), is_on(&mut bench)), (Err(apps::Error::Taken(5000)), true));
    assert_eq!(bench.run("show app").lines().count(), 1);
    bench.set("session disable");
    dispatch(&mut bench, None);
    assert_eq!((serve(&mut bench), is_on(&mut bench)), (Ok(()), true));
}

#[test]
fn a_panic_of_a_transport_ends_the_sessions_of_its_thread_and_the_layer_goes_on() {
    let mut bench = bench(1);
    let (app, log) = attach(&mut bench, "a", Options::default(), (b"", false, true));
    let uri = "udp://0.0.0.0:7".parse().unwrap();
    bench.control(|router, _| apps::listen(router, app, uri, true).unwrap());
    let all = "udp://0.0.0.0:8".parse().unwrap();
    bench.control(|router, _| apps::listen(router, app, all, false).unwrap());
    let pg0 = bench.pg0;
    let say = |bench: &mut Bench, from: &str, to: &str, what: &[u8]| {
        bench.receive(pg0, &[datagram(from, to, what)]);
        bench.settle();
    };
    say(&mut bench, "10.0.0.2:1000", "10.0.0.1:7", b"one");
    assert!(seen(&log).contains(&Seen::Bytes(b"one".to_vec())));
    each(&mut bench, |worker| worker.is_faulty = true);
    say(&mut bench, "10.0.0.2:1000", "10.0.0.1:7", b"two");
    assert_eq!(seen(&log), [], "nothing uses the broken state");
    assert!(each(&mut bench, |worker| worker.count()).is_empty());
    say(&mut bench, "10.0.0.2:1000", "10.0.0.1:7", b"three");
    bench.wait(1.1);
    bench.settle();
    assert_eq!(seen(&log), [Seen::Reset(Failure::Withdrawn)]);
    assert!(
        bench.run("show health").contains("transports failed: 1, sessions that ended with them: 1")
    );
    // The application is as it was, and so are its listeners.
    for to in ["10.0.0.1:7", "10.0.0.1:8"] {
        say(&mut bench, "10.0.0.2:1001", to, b"four");
        assert!(seen(&log).contains(&Seen::Bytes(b"four".to_vec())), "{to}");
    }
    assert_eq!(each(&mut bench, |worker| worker.parts.len()), [1]);
    bench.run("session disable");
    assert!(each(&mut bench, |_| ()).is_empty());
}

/// Closes its sessions when they have said something, and notes each call.
struct Leaver(Log, bool);

impl Application for Leaver {
    fn on_accept(&mut self, _: &mut Stream<'_>) -> bool {
        true
    }
    fn on_readable(&mut self, stream: &mut Stream<'_>) {
        self.0.lock().unwrap().push(Seen::Bytes(Vec::new()));
        // To be called for everything else as well.
        stream.wake_in(0.0);
        stream.wake();
        if self.1 { stream.reset() } else { stream.close() }
    }
    fn on_close(&mut self, _: &mut Stream<'_>) {
        self.0.lock().unwrap().push(Seen::Closed(Vec::new()));
    }
    fn on_timer(&mut self, _: &mut Stream<'_>) {
        self.0.lock().unwrap().push(Seen::Closed(Vec::new()));
    }
    fn on_writable(&mut self, _: &mut Stream<'_>) {
        self.0.lock().unwrap().push(Seen::Closed(Vec::new()));
    }
    fn on_reset(&mut self, _: SessionId, _: u64, why: Failure) {
        self.0.lock().unwrap().push(Seen::Reset(why));
    }
}

/// A server that leaves its session, and a client that says something to it.
fn leaver(resets: bool, says: &'static [u8]) -> (Bench, Log) {
    let mut bench = bench(1);
    let log = Log::default();
    let to = Arc::clone(&log);
    let make = move |_| -> Box<dyn Application> { Box::new(Leaver(Arc::clone(&to), resets)) };
    let server = "tcp://127.0.0.1:80".parse().unwrap();
    bench.control(|router, _| {
        let app = apps::attach(router, "leaver", Options::default(), make).unwrap();
        apps::listen(router, app, server, true).unwrap();
    });
    let (app, _) = attach(&mut bench, "client", Options::default(), (says, false, false));
    let connect = Connect { to: server, opaque: 1, thread: None };
    bench.control(|router, _| connecting::connect(router, app, connect).unwrap());
    bench.settle();
    (bench, log)
}

/// Everything that an application may be called for.
fn all_calls() -> Pending {
    Pending::READABLE | Pending::WRITABLE | Pending::FINISHED | Pending::ALARM
}

#[test]
fn an_application_that_has_left_a_session_is_not_called_for_it_again() {
    for resets in [false, true] {
        let (mut bench, log) = leaver(resets, b"bye");
        each(&mut bench, |worker| {
            (0..worker.sessions.len() as u32).for_each(|index| worker.queue(index, all_calls()));
        });
        bench.wait(0.5);
        assert_eq!(seen(&log), [Seen::Bytes(Vec::new())], "resets: {resets}");
    }
    // One that is withdrawn is not called for what came before.
    let (mut bench, log) = leaver(false, b"");
    each(&mut bench, |worker| {
        (0..worker.sessions.len() as u32).for_each(|index| worker.queue(index, all_calls()));
        (0..worker.sessions.len() as u32).for_each(|index| _ = worker.withdraw_at(index));
    });
    bench.wait(0.5);
    assert_eq!(seen(&log), [Seen::Reset(Failure::Withdrawn)]);
}

#[test]
fn bytes_behind_a_gap_are_kept_only_while_half_of_the_memory_is_free() {
    use super::super::fifo::{CHUNK, Chunks, Fifo};
    use super::refused::{frame, read};
    use tcp_machine::{Flags, Segment, Seq};

    for (used, kept) in [(4, true), (5, false)] {
        let mut bench = bench(1);
        bench.set("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01");
        let (app, log) = attach(&mut bench, "a", Options::default(), (b"", false, false));
        let uri = "tcp://0.0.0.0:80".parse().unwrap();
        bench.control(|router, _| apps::listen(router, app, uri, true).unwrap());
        each(&mut bench, move |worker| {
            worker.chunks = Chunks::new(8).unwrap();
            let mut of_others = Fifo::new(1 << 20, 77);
            let bytes = vec![0; used * CHUNK];
            assert_eq!(of_others.write(&mut worker.chunks, &bytes), bytes.len());
        });
        let pg0 = bench.pg0;
        let say = |bench: &mut Bench, seq, ack, flags, data: &[u8]| {
            let segment = Segment { seq, ack, flags, window: 60_000, ..Segment::default() };
            let sent = bench.receive(pg0, &[frame(false, &segment, data)]);
            sent.iter().filter_map(|caught| read(&caught.bytes)).next_back()
        };
        let (first, answer) = (Seq(1000), say(&mut bench, Seq(999), Seq(0), Flags::SYN, b""));
        let ack = answer.unwrap().0.seq + 1;
        say(&mut bench, first, ack, Flags::ACK, b"");
        let told = say(&mut bench, first + 100, ack, Flags::ACK, &[2; 50]).unwrap().0;
        assert_eq!(told.ack, first, "the gap");
        say(&mut bench, first, ack, Flags::ACK, &[1; 100]);
        bench.settle();
        let bytes: usize = seen(&log)
            .iter()
            .map(|seen| if let Seen::Bytes(bytes) = seen { bytes.len() } else { 0 })
            .sum();
        assert_eq!(bytes, if kept { 150 } else { 100 }, "{used} of 8 chunks in use");
    }
}

#[test]
fn a_port_that_listens_is_not_chosen_and_no_session_is_its_own_peer() {
    for listens in [true, false] {
        let mut bench = bench(1);
        let options = Options { is_local: false, ..Options::default() };
        let (app, log) = attach(&mut bench, "a", options, (b"", false, false));
        let to = "tcp://10.0.0.1:8080".parse().unwrap();
        bench.control(|router, _| {
            if listens {
                apps::listen(router, app, "tcp://0.0.0.0:8080".parse().unwrap(), true).unwrap();
            }
        });
        let choose = |worker: &mut Worker| worker.ports.set_range(8080..=8080);
        each(&mut bench, choose);
        let connect = Connect { to, opaque: 1, thread: None };
        bench.control(|router, _| connecting::connect(router, app, connect).unwrap());
        bench.settle();
        assert_eq!(seen(&log), [Seen::Refused(1, Failure::NoPort)], "listens: {listens}");
    }
}
