//! Tests of the client against the server.

use control::cli::{Output, Run, Step};
use net::testing::whole::Bench;
use vperf::FEATURE;

fn bench(threads: usize) -> Bench {
    let mut b = Bench::plugged_on(threads, &[host_stack::FEATURE, FEATURE]);
    b.set("session enable");
    b
}

/// Runs a command while the router works, and returns its output.
fn run(b: &mut Bench, line: &str) -> String {
    let (mut run, mut out) = (Run::new(line), Output::none());
    for _ in 0..20_000 {
        match b.control(|router, cli| run.step(cli, router, &mut out)) {
            Step::Done(Ok(())) => return out.to_text(),
            Step::Done(Err(e)) => return format!("{}{e}", out.to_text()),
            Step::Sleep(time) => b.graph.engine.clock().adjust(time.as_secs_f64()),
            Step::Again | Step::Wait => (),
        }
        for _ in 0..50 {
            b.settle();
        }
    }
    "does not end".to_owned()
}

#[test]
fn sessions_without_packets_send_all_and_have_it_sent_back() {
    let mut b = bench(2);
    b.set("vperf server fifo-size 4k uri tcp://0.0.0.0/1234");
    let said = run(
        &mut b,
        "vperf client nclients 7 bytes 100k echo-bytes test-bytes uri tcp://10.0.0.1/1234",
    );
    assert!(said.starts_with("1433600 bytes (1.43 mbytes, 0.00 gbytes) in "), "{said}");
    assert!(said.contains(" bytes/second") && said.contains("full-duplex, 7 sessions"), "{said}");
    let said = run(&mut b, "vperf client bytes 1m fifo-size 8k test-bytes uri tcp://10.0.0.1/1234");
    assert!(said.starts_with("1048576 bytes") && said.contains("half-duplex"), "{said}");
    let said = run(&mut b, "vperf client run-time 1 uri tcp://10.0.0.1/1234");
    assert!(said.contains("half-duplex, 1 sessions"), "{said}");
    b.set("vperf server stop");
    let said = run(&mut b, "vperf client uri udp://10.0.0.1/1234 syn-timeout 1 test-timeout 1");
    assert!(said.contains("failed"), "{said}");
}

#[test]
fn datagrams_of_the_router_to_itself_arrive() {
    let mut b = bench(1);
    b.set("app ns add id other ip4-fib-id 0");
    b.set("vperf server appns other uri udp://10.0.0.1/1234");
    for words in ["echo-bytes test-bytes bytes 32k", "test-bytes bytes 100k"] {
        let said = run(&mut b, &format!("vperf client {words} uri udp://10.0.0.1/1234"));
        assert!(said.contains(" bytes (") && !said.contains("lost"), "{said}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_word_failed() {
    let mut b = bench(1);
    for (line, why) in [
        ("vperf client", "failed: tcp://0.0.0.0:1234 is not the address of a host"),
        ("vperf client nclients 0", "failed: nclients must be 1 to 65536"),
        ("vperf client bytes 1 run-time 1", "failed: bytes and run-time exclude each other"),
        ("vperf client run-time nan", "failed: times must not be negative"),
        ("vperf client appns x uri tcp://10.0.0.2/1", "failed: no such namespace `x'"),
        ("vperf server fifo-size 1", "failed: the size of a FIFO must be 1 KB to 1 GB"),
        ("vperf server stop", "failed: server not running"),
        (
            "vperf client uri tcp://192.0.2.1/1",
            "failed: no source address or no route for tcp://192.0.2.1:1",
        ),
    ] {
        assert_eq!(
            run(&mut b, line).trim(),
            format!("{}: {why}", line.split(' ').take(2).collect::<Vec<_>>().join(" ")),
            "{line}"
        );
    }
    b.set("vperf server");
    assert_eq!(b.cli("vperf server"), "vperf server: failed: server already running\n");
    b.set("session disable");
    // The layer is enabled with an application, unless that is refused.
    let refused = b.cli("vperf server appns nowhere");
    assert!(refused.contains("nowhere"), "{refused}");
    assert!(b.cli("show session").contains("the session layer is disabled"));
    b.set("vperf server");
    assert!(b.cli("show session").starts_with("Thread 0:"));
}

#[test]
fn tcp_of_the_router_to_itself_carries_all_bytes_both_ways() {
    let mut b = bench(1);
    b.set("app ns add id other ip4-fib-id 0 ip6-fib-id 0");
    for (server, client) in [("0.0.0.0", "10.0.0.1"), ("::", "2001:db8::1")] {
        b.set(&format!("vperf server appns other fifo-size 4k uri tcp://{server}/1234"));
        for words in [
            "test-bytes bytes 100k fifo-size 4k",
            "echo-bytes test-bytes bytes 200k",
            "nclients 20 bytes 10k test-bytes echo-bytes",
        ] {
            let said = run(&mut b, &format!("vperf client {words} uri tcp://{client}/1234"));
            assert!(said.contains(" bytes (") && !said.contains("failed"), "{words}: {said}");
        }
        b.set("vperf server stop");
    }
    let said = run(&mut b, "vperf client uri tcp://10.0.0.1/1234");
    assert!(said.contains("failed: 1 of 1 sessions: connection refused"), "{said}");
}
