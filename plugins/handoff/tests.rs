//! Packets of a flow go on at one worker.

use graph::testing::Caught;
use handoff::{FEATURE, soft_rss};
use net::testing::packets::*;
use net::testing::whole::{Bench, HOST, PG0, PG1};
use net::testing::{Rig, Transmit, new_interface};
use wire::ethernet::{EtherType, Header};
use zerocopy::IntoBytes;

/// A router with three threads: the second and third are workers 0 and 1.
fn bench() -> Bench {
    let interfaces = |router: &mut net::Router| {
        let new = |(name, mac)| router.add_interface(new_interface(name, mac), Transmit).unwrap();
        [("pg0", PG0), ("pg1", PG1)].map(new).into()
    };
    let features = [net::FEATURES, &[FEATURE, soft_rss::FEATURE]].concat();
    let mut b = Bench::of(Rig::made(3, &features, |_| (), interfaces));
    for line in [
        "set interface state pg0 up",
        "set interface state pg1 up",
        "set interface ip address pg0 10.0.0.1/24",
        "set interface ip address pg0 2001:db8::1/64",
        "set interface ip address pg1 10.0.1.1/24",
        "set interface ip address pg1 2001:db8:1::1/64",
        "ip route add 16.0.0.0/8 via 10.0.1.2 pg1",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb",
        "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01",
    ] {
        b.set(line);
    }
    b.wait(0.0);
    b.graph.moved_counters();
    b
}

fn frame(port: u16) -> Vec<u8> {
    let ip = udp4("10.0.0.2", "16.0.0.1", port, &[7; 20]);
    [Header::new(PG0, HOST, EtherType::IP4).as_bytes(), &ip].concat()
}

/// Frames that come out of those that the first thread has at a node.
fn send(b: &mut Bench, node: &str, frames: &[Vec<u8>]) -> Vec<Caught> {
    let rx = b.pg0.0;
    let mut out = b.graph.send_on(0, node, frames, move |p| p.set_rx(rx));
    out.append(&mut b.graph.run());
    out
}

/// Packets that each thread looked up since it was asked last.
fn lookups(b: &mut Bench) -> Vec<u64> {
    let rows = b.graph.engine.runtime_rows().unwrap();
    let vectors = |row: &graph::show::ThreadRow| {
        let nodes = row.nodes.iter().filter(|node| node.name == "ip4-lookup");
        nodes.map(|node| node.stats.vectors).sum()
    };
    let counts = rows.iter().map(vectors).collect();
    b.run("clear runtime");
    counts
}

#[test]
fn workers_have_what_an_interface_receives_by_flow() {
    let mut b = bench();
    b.set("set interface handoff pg0 workers 0-1 l4");
    lookups(&mut b);
    for count in [1, 3, 4, 255, 256] {
        let frames: Vec<_> = (0..count).map(|n| frame(1000 + n)).collect();
        let out = send(&mut b, "worker-handoff", &frames);
        assert_eq!(out.iter().filter(|c| c.at == "sent").count(), frames.len());
        let on = lookups(&mut b);
        assert_eq!((on[0], on.iter().sum()), (0, frames.len() as u64), "{on:?}");
        if count > 100 {
            assert!(on[1].abs_diff(on[2]) < 80, "{on:?}");
        }
        // The same flows go where they went.
        send(&mut b, "worker-handoff", &frames);
        assert_eq!(lookups(&mut b), on);
    }
    // Without ports it is one flow.
    b.set("set interface handoff pg0 workers 1 symmetrical");
    send(&mut b, "worker-handoff", &[frame(1), frame(2)]);
    assert_eq!(lookups(&mut b), [0, 0, 2]);
    b.set("set interface handoff pg0 disable");
    send(&mut b, "worker-handoff", &[frame(1), frame(2)]);
    assert_eq!(lookups(&mut b), [2, 0, 0]);
    assert_eq!(b.graph.buffers_used(), 0);
    b.expect(&[]);
}

#[test]
fn both_directions_have_one_worker_where_they_are_to() {
    let there = frame(7);
    let back = {
        let ip = udp4("16.0.0.1", "10.0.0.2", 7, &[7; 20]);
        [Header::new(HOST, PG0, EtherType::IP4).as_bytes(), &ip].concat()
    };
    let arp = |dst, src| [Header::new(dst, src, EtherType::ARP).as_bytes(), &[0; 28]].concat();
    let hash = |is_symmetric, frame: &[u8]| {
        handoff::Handoff { workers: vec![0], is_symmetric, has_ports: false }.hash(frame)
    };
    assert_eq!(hash(true, &there), hash(true, &back));
    assert_ne!(hash(false, &there), hash(false, &back));
    assert_eq!(hash(true, &arp(PG0, HOST)), hash(true, &arp(HOST, PG0)));
    assert_ne!(hash(false, &arp(PG0, HOST)), hash(false, &arp(HOST, PG0)));
    assert_eq!(hash(false, &[1, 2, 3]), 0);
}

#[test]
fn threads_are_chosen_as_cards_choose_queues() {
    let mut b = bench();
    b.set("soft-rss config pg0 ipv4-type 4-tuple ipv6-type disabled threads 1-2");
    b.set("soft-rss enable pg0");
    lookups(&mut b);
    let frames: Vec<_> = (0..256).map(|n| frame(1000 + n)).collect();
    let out = send(&mut b, "soft-rss", &frames);
    assert_eq!(out.iter().filter(|c| c.at == "sent").count(), 256);
    let on = lookups(&mut b);
    assert!(on[0] == 0 && on[1].abs_diff(on[2]) < 80, "{on:?}");
    // What the hash does not know stays.
    let six = udp6("2001:db8::2", "2001:db8:1::1", 9, b"data");
    let six = [Header::new(PG0, HOST, EtherType::IP6).as_bytes(), &six].concat();
    send(&mut b, "soft-rss", &[six]);
    // An inner packet counts where there is one.
    b.set("soft-rss config pg0 l2-offset 14 threads 2");
    let outer = Header::new(PG0, HOST, EtherType::ARP);
    let inner = [outer.as_bytes(), &frame(5)].concat();
    b.graph.moved_counters();
    send(&mut b, "soft-rss", &[inner]);
    let rows = b.graph.engine.runtime_rows().unwrap();
    let input = |row: &graph::show::ThreadRow| {
        row.nodes.iter().any(|n| n.name == "ethernet-input" && n.stats.vectors > 0)
    };
    assert!(input(&rows[2]));
    let shown = b.run("show soft-rss");
    assert!(shown.starts_with("pg0: enabled\n  ipv4-type 4-tuple ipv6-type 4-tuple\n"), "{shown}");
    assert!(shown.contains("l2-offset 14 threads 2\n  rss-key 6d5a56da"), "{shown}");
    b.set("soft-rss clear pg0");
    assert_eq!(b.run("show soft-rss"), "");
    // A packet that is still on its way to the node goes on.
    b.graph.moved_counters();
    send(&mut b, "soft-rss", &[frame(1)]);
    b.expect(&[("soft-rss", "not_enabled", 1)]);
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn what_is_wrong_is_refused_and_the_rest_is_printed() {
    let mut b = bench();
    for (line, why) in [
        ("set interface handoff pg0", "expected workers or disable"),
        ("set interface handoff pg0 workers 2", "no worker 2"),
        ("set interface handoff pg0 workers x", "x"),
        ("set interface handoff pg0 workers 0 fq-nelts 3", "fq-nelts must be a power of 2"),
        ("set interface handoff nosuch workers 0", "nosuch"),
        ("soft-rss config pg0 type 5-tuple", "expected 4-tuple"),
        ("soft-rss config pg0 threads 3", "no thread 3 receives packets"),
        ("soft-rss config pg0 threads 0", "no thread 0 receives packets"),
        ("soft-rss config pg0 rss-key 6d5a", "rss-key must be 40 bytes"),
        ("soft-rss config pg0 handoff-queue-size 9000", "handoff-queue-size must be 1 to 8192"),
        ("soft-rss config pg0 with-main-thread", "main receives no packets"),
    ] {
        let said = b.attempt(line).unwrap_err();
        assert!(said.contains(why), "{line}: {said}");
    }
    let key = "6d5a".repeat(20);
    let lines = [
        "set interface handoff pg0 workers 0,1 symmetrical l4".to_owned(),
        format!(
            "soft-rss config pg1 ipv4-type 2-tuple ipv6-type src-ip l2-offset 4 threads 1,2 \
             rss-key {key}"
        ),
        "soft-rss enable pg1".to_owned(),
    ];
    lines.iter().for_each(|line| b.set(line));
    let printed = b.run("show configuration");
    for line in &lines {
        assert!(printed.lines().any(|other| other == line), "{line}: {printed}");
    }
    let mut alone = Bench::plugged(&[soft_rss::FEATURE]);
    let said = alone.attempt("soft-rss enable pg0").unwrap_err();
    assert!(said.contains("no workers to distribute packets to"), "{said}");
}
