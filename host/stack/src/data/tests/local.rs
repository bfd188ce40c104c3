//! Cut-through: two applications here.

use super::super::apps::{self, Options};
use super::super::connecting::{self, Connect};
use super::*;

fn connect(bench: &mut Bench, app: u32, to: &str) -> Result<(), apps::Error> {
    let connect = Connect { to: to.parse().unwrap(), opaque: 9, thread: None };
    bench.control(|router, _| connecting::connect(router, app, connect))
}

fn listen(bench: &mut Bench, app: u32, at: &str) {
    bench.control(|router, _| apps::listen(router, app, at.parse().unwrap(), true).unwrap());
}

/// Lets the queue have some turns, which bring no packets; the number of packets sent.
fn turns(bench: &mut Bench, count: usize) -> usize {
    (0..count).map(|_| bench.settle().len()).sum()
}

fn all_bytes(log: &Log) -> Vec<u8> {
    let bytes = seen(log).into_iter().filter_map(|s| match s {
        Seen::Bytes(bytes) => Some(bytes),
        _ => None,
    });
    bytes.flatten().collect()
}

#[test]
fn bytes_go_both_ways_through_small_fifos_and_in_order() {
    let mut bench = bench(1);
    let small = Options { rx_fifo: 5000, tx_fifo: 5000, ..Options::default() };
    let (server, _) = attach(&mut bench, "server", small.clone(), (b"", true, false));
    let said: Vec<u8> = (0..200_000u32).map(|n| (n % 251) as u8).collect();
    let (client, log) = attach(&mut bench, "client", small, (&said, false, false));
    listen(&mut bench, server, "tcp://0.0.0.0:80");
    connect(&mut bench, client, "tcp://127.0.0.1:80").unwrap();
    let caught = turns(&mut bench, 400);
    assert_eq!(caught, 0, "no packet");
    assert!(all_bytes(&log) == said);
}

#[test]
fn closing_ends_both_and_resetting_is_seen() {
    let mut bench = bench(1);
    let (server, there) = attach(&mut bench, "server", Options::default(), (b"", true, false));
    let (client, here) = attach(&mut bench, "client", Options::default(), (b"hi", false, false));
    listen(&mut bench, server, "tcp://0.0.0.0:80");
    connect(&mut bench, client, "tcp://10.0.0.1:80").unwrap();
    turns(&mut bench, 10);
    assert!(matches!(seen(&there)[..], [Seen::Accepted(..), Seen::Bytes(_)]));
    assert_eq!(seen(&here), [Seen::Connected(9), Seen::Bytes(b"hi".to_vec())]);
    bench.control(|router, _| apps::detach(router, client));
    turns(&mut bench, 10);
    assert_eq!(seen(&there), [Seen::Reset(Failure::Reset)]);
    let totals = bench.control(|router, _| super::super::show::totals(router).unwrap());
    assert_eq!((totals[0].sessions, totals[0].chunks.0), (0, 0));
}

#[test]
fn scopes_and_namespaces_keep_applications_apart() {
    let mut bench = bench(1);
    bench.set("app ns add id other secret 1 ip4-fib-id 0");
    let far = Options { namespace: "other".to_owned(), secret: 1, ..Options::default() };
    let (server, _) = attach(&mut bench, "server", far, (b"", true, false));
    listen(&mut bench, server, "tcp://0.0.0.0:80");
    let local = Options { is_global: false, ..Options::default() };
    let (client, _) = attach(&mut bench, "client", local, (b"", false, false));
    let refused = connect(&mut bench, client, "tcp://127.0.0.1:80");
    assert!(matches!(refused, Err(apps::Error::Refused(_))));
    let wrong = Options { namespace: "other".to_owned(), secret: 2, ..Options::default() };
    let wrong = bench.control(|router, _| {
        apps::attach(router, "x", wrong, |_| unreachable!("it is not attached"))
    });
    assert!(wrong.is_err());
}

#[test]
fn disabling_detaches_all_and_leaves_nothing() {
    let mut bench = bench(2);
    let (server, there) = attach(&mut bench, "server", Options::default(), (b"", true, false));
    let (client, _) = attach(&mut bench, "client", Options::default(), (b"hi", false, false));
    listen(&mut bench, server, "tcp://0.0.0.0:80");
    for _ in 0..10 {
        connect(&mut bench, client, "tcp://127.0.0.1:80").unwrap();
    }
    turns(&mut bench, 10);
    assert_eq!(seen(&there).iter().filter(|s| matches!(s, Seen::Accepted(..))).count(), 10);
    bench.set("session disable");
    let totals = bench.control(|router, _| super::super::show::totals(router).unwrap());
    assert_eq!(totals.len(), 0);
    bench.set("session enable");
    let again = attach(&mut bench, "server", Options::default(), (b"", true, false));
    assert_eq!(again.0, 0);
}
