//! Shares of applications and peers.

use super::super::apps::{self, Options};
use super::super::connecting::{self, Connect};
use super::super::layer::Layer;
use super::super::worker::Worker;
use super::*;

fn by_peer(bench: &mut Bench, name: &str, options: Options, uri: &str) -> Log {
    let (app, log) = attach(bench, name, options, (b"", false, true));
    let uri = uri.parse().unwrap();
    bench.control(|router, _| apps::listen(router, app, uri, true).unwrap());
    log
}

fn each<T: Send + 'static>(
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
