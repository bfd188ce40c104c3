//! A server and its client inside the daemon, without packets between them.

use std::sync::{Arc, Mutex};

use host_stack::{Application, Connect, Options, Stream, attach, connect};
use net::testing::whole::Bench;

use crate::{Answer, Limits, Request, Response, Site, serve};

/// Answers with the length of the body.
struct Length;

impl Site for Length {
    fn answer(&mut self, request: &Request<'_>, _: f64) -> Answer {
        let sum: u64 = request.body.iter().map(|byte| u64::from(*byte)).sum();
        Answer::Now(Response::plain(200, &format!("{} bytes, sum {sum}", request.body.len())))
    }
}

/// Writes a request, as much of it as there is room for, and keeps the response.
struct Client {
    request: Vec<u8>,
    response: Arc<Mutex<Vec<u8>>>,
}

impl Client {
    fn write(&mut self, stream: &mut Stream<'_>) {
        let written = stream.write(&self.request);
        self.request.drain(..written);
    }
}

impl Application for Client {
    fn on_accept(&mut self, _: &mut Stream<'_>) -> bool {
        false
    }
    fn on_connected(&mut self, stream: &mut Stream<'_>) {
        self.write(stream);
    }
    fn on_writable(&mut self, stream: &mut Stream<'_>) {
        self.write(stream);
    }
    fn on_readable(&mut self, stream: &mut Stream<'_>) {
        let mut bytes = vec![0; stream.readable()];
        let read = stream.copy(0, &mut bytes);
        stream.consume(read);
        self.response.lock().unwrap().extend_from_slice(&bytes[..read]);
    }
}

/// The response of a server with small FIFOs to a request.
fn response(body: usize, request: &str, data: &[u8]) -> String {
    let mut bench = Bench::plugged(&[host_stack::FEATURE]);
    let response = Arc::new(Mutex::new(Vec::new()));
    let (to, bytes) = (Arc::clone(&response), [request.as_bytes(), data].concat());
    let fifos = Options { rx_fifo: 4096, tx_fifo: 4096, ..Options::default() };
    bench.control(|router, _| {
        let limits = Limits { body, ..Limits::default() };
        let at = "tcp://0.0.0.0/80".parse().unwrap();
        serve(router, "server", fifos.clone(), limits, at, || Length).unwrap();
        let client = attach(router, "client", fifos, move |_| {
            Box::new(Client { request: bytes.clone(), response: Arc::clone(&to) })
        });
        let to = "tcp://10.0.0.1/80".parse().unwrap();
        connect(router, client.unwrap(), Connect { to, opaque: 0, thread: None }).unwrap();
    });
    for _ in 0..200 {
        bench.settle();
    }
    String::from_utf8(std::mem::take(&mut *response.lock().unwrap())).unwrap()
}

#[test]
fn a_request_is_larger_than_the_fifo_that_was_asked_for() {
    let head = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n";
    let long = format!("{head}b: {}\r\n\r\n", "c".repeat(8000));
    for head in [format!("{head}\r\n"), long] {
        let response = response(100_000, &head, &[7; 100_000]);
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        assert!(response.ends_with("100000 bytes, sum 700000\n"), "{response}");
    }
}

#[test]
fn requests_in_a_row_are_answered_in_order_and_what_is_not_one_is_refused_at_once() {
    let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    let post = "\r\nPOST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n\u{1}\u{2}";
    let all = response(10, &format!("{get}{post}{get}"), b"");
    let bodies: Vec<_> =
        all.lines().filter(|line| line.ends_with("sum 0") || line.ends_with("sum 3")).collect();
    assert_eq!(bodies, ["0 bytes, sum 0", "2 bytes, sum 3", "0 bytes, sum 0"], "{all}");
    for (text, status) in [
        ("\u{16}\u{3}\u{1}", "400"),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n", "413"),
        (&*format!("GET /{}", "x".repeat(9000)), "431"),
    ] {
        let refused = response(10, text, b"");
        assert!(refused.starts_with(&format!("HTTP/1.1 {status} ")), "{text:.20}: {refused}");
    }
}
