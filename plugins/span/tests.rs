//! Mirrors: copies of what interfaces receive and send: tests with packets.

use control::api::Retval;
use graph::testing::Caught;
use net::InterfaceIndex;
use net::testing::Bench;
use span::*;

/// A bench with `pg2` besides, and what the original's bridge has.
fn bench() -> Bench {
    let features = [net::fast_path::FEATURE, l2::FEATURE, FEATURE];
    let mut bench = Bench::featuring(&features, 1, |_| (), |_| ());
    bench.add_interface("pg2", net::interface::Kind::Ethernet, 0xac);
    bench
}

fn frame(n: u8) -> Vec<u8> {
    [&[2, 0, 0, 1, 0, 9, 2, 0, 0, 1, 0, n, 8, 0][..], &[n; 46]].concat()
}

/// Interfaces and the frames that they sent, in order of both.
fn sent(bench: &Bench, caught: Vec<Caught>) -> Vec<(String, Vec<u8>)> {
    let out = caught.into_iter().filter(|c| c.at == "sent");
    let mut out: Vec<_> =
        out.map(|c| (bench.router.interfaces.name(c.tx).to_owned(), c.bytes)).collect();
    out.sort();
    out
}

#[test]
fn bridged_frames_are_copied_as_they_come_and_go() {
    let mut bench = bench();
    bench.set("set interface l2 xconnect pg0 pg1");
    bench.set("set interface l2 xconnect pg1 pg0");
    bench.set("set interface l2 bridge pg2 5");
    for (from, which) in [("pg0", "rx"), ("pg1", "tx")] {
        bench.set(&format!("set interface span {from} l2 destination pg2 {which}"));
        bench.graph.moved_counters();
        for count in [1, 3, 255, 256] {
            let frames: Vec<_> = (0..count).map(|n| frame(n as u8)).collect();
            let caught = bench.send("ethernet-input", &frames);
            let out = sent(&bench, caught);
            assert_eq!(out.len(), 2 * count);
            let of = |name: &str| -> Vec<_> {
                out.iter().filter(|(n, _)| n == name).map(|(_, bytes)| bytes.clone()).collect()
            };
            assert_eq!(of("pg1"), of("pg2"));
        }
        let node = if which == "rx" { "span-l2-input" } else { "span-l2-output" };
        let moved = bench.graph.moved_counters();
        let counted = moved.iter().find(|(n, ..)| n == node).map(|(_, text, n)| (*text, *n));
        assert_eq!(counted, Some(("SPAN incoming packets processed", 515)));
        assert_eq!(bench.graph.buffers_used(), 0);
        bench.set(&format!("set interface span {from} l2 destination pg2 disable"));
    }
    let caught = bench.send("ethernet-input", &[frame(1)]);
    assert_eq!(sent(&bench, caught).len(), 1);
}

#[test]
fn sent_packets_are_copied_at_the_device_and_copies_are_not() {
    let mut bench = bench();
    bench.set("set interface span pg1 destination pg2");
    // In a circle: nothing comes back.
    bench.set("set interface span pg2 destination pg1 tx");
    let neighbor = bench.neighbor("10.0.1.2", true).0;
    let packet = net::testing::packets::udp4("10.0.0.2", "10.0.1.2", 9, b"x");
    let caught = bench.send_as("ip4-rewrite", &[packet], move |p| p.set_adjacency(neighbor));
    let out = sent(&bench, caught);
    let names: Vec<_> = out.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["pg1", "pg2"]);
    assert_eq!(out[0].1, out[1].1);
    let shown = bench.run("show interface span").unwrap();
    let pad = " ".repeat(22);
    let lines = [
        format!("Source {pad}    Destination{pad} Device       L2"),
        format!("pg1    {pad}    pg2        {pad}(  both) (  none)"),
        format!("pg2    {pad}    pg1        {pad}(    tx) (  none)"),
    ];
    assert_eq!(shown, lines.join("\n") + "\n");
    let pg2 = bench.interface("pg2");
    bench.control(|r| r.remove_interface(pg2));
    assert_eq!(bench.run("show interface span").unwrap(), "");
}

#[test]
fn clients_set_and_list_mirrors() {
    let mut bench = bench();
    let (pg0, pg1) = (bench.pg0, bench.pg1);
    bench.talk(|local, router| {
        let set = |to, state| SwInterfaceSpanEnableDisable {
            sw_if_index_from: pg0,
            sw_if_index_to: to,
            state: SpanState(state),
            is_l2: true,
        };
        let nobody = InterfaceIndex(u32::MAX);
        for (to, state, error) in [
            (pg0, 1, Retval::INVALID_INTERFACE),
            (nobody, 1, Retval::INVALID_INTERFACE),
            (InterfaceIndex(99), 1, Retval::INVALID_SW_IF_INDEX),
            (pg1, 4, Retval::UNIMPLEMENTED),
        ] {
            assert_eq!(local.call(router, &set(to, state)), Err(error));
        }
        local.call(router, &set(pg1, 3)).unwrap();
        local.call(router, &set(pg1, 2)).unwrap();
        let rows = local.dump(router, &SwInterfaceSpanDump { is_l2: true });
        let listed: Vec<_> = rows.iter().map(|r| (r.sw_if_index_to, r.state)).collect();
        assert_eq!(listed, [(pg1, SpanState::TX)]);
        assert_eq!(local.dump(router, &SwInterfaceSpanDump { is_l2: false }).len(), 0);
        local.call(router, &set(nobody, 0)).unwrap();
        assert_eq!(local.dump(router, &SwInterfaceSpanDump { is_l2: true }).len(), 0);
    });
}
