//! Packets that go in at one end come out at the other.

use control::api::Retval;
use net::InterfaceIndex;
use net::testing::packets;
use net::testing::whole::{Bench, HOST, PG0, sent};
use pipe::*;
use wire::ethernet::{EtherType, Header};
use zerocopy::IntoBytes;

fn bench() -> Bench {
    let mut b = Bench::plugged(&[l2::FEATURE, FEATURE]);
    assert_eq!(b.cli("pipe create instance 3"), "pipe3\n");
    b.set("set interface state pipe3 up");
    b
}

fn frame(dst: &str) -> Vec<u8> {
    let ip = packets::udp4("10.0.0.2", dst, 9, &[7; 20]);
    [Header::new(PG0, HOST, EtherType::IP4).as_bytes(), &ip].concat()
}

fn rx(b: &Bench, name: &str) -> u64 {
    b.router.interfaces.values(b.interface(name)).rx.packets
}

#[test]
fn frames_come_out_at_the_other_end() {
    let mut b = bench();
    for line in ["pg0 pipe3.1", "pipe3.1 pg0", "pg1 pipe3.0", "pipe3.0 pg1"] {
        b.set(&format!("set interface l2 xconnect {line}"));
    }
    b.wait(0.0);
    let (pg0, pg1) = (b.pg0, b.pg1);
    for count in [1, 3, 4, 255, 256] {
        let before = rx(&b, "pipe3.0");
        let frames = vec![frame("10.9.9.9"); count];
        for (from, to) in [(pg0, pg1), (pg1, pg0)] {
            let out = b.receive(from, &frames);
            assert_eq!(out.len(), count);
            assert!(out.iter().all(|c| c.at == "sent" && c.tx == to.0 && c.bytes == frames[0]));
        }
        assert_eq!(rx(&b, "pipe3.0") - before, count as u64);
    }
    assert_eq!(b.graph.buffers_used(), 0);
    b.set("set interface state pipe3 down");
    assert!(b.receive(pg0, &[frame("10.9.9.9")]).is_empty(), "both ends are down");
}

#[test]
fn tables_are_joined_and_nobody_is_asked_for_addresses() {
    let mut b = bench();
    b.set("ip table add 7");
    b.set("set interface ip table pipe3.1 7");
    b.set("set interface unnumbered pipe3.0 use pg0");
    b.set("set interface unnumbered pipe3.1 use pg1");
    b.set("ip route add 10.9.0.0/16 via pipe3.0");
    b.set("ip route add table 7 10.9.0.0/16 via 10.0.1.2 pg1");
    b.set("set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb");
    b.wait(0.0);
    let pg0 = b.pg0;
    let out = b.receive(pg0, &[frame("10.9.1.1")]);
    let out = sent(&out);
    assert_eq!(out.len(), 1, "no ARP");
    assert_eq!(out[0][..6], [2, 0, 0, 0, 0, 0xbb]);
    // Two routers' worth of hops.
    assert_eq!(out[0][14 + 8], frame("10.9.1.1")[14 + 8] - 2);
    assert_eq!(rx(&b, "pipe3.1"), 1);
    b.set("trace add pipe-rx 1");
    b.receive(pg0, &[frame("10.9.1.1")]);
    let trace = b.cli("show trace");
    assert!(trace.contains("pipe-rx\n  pipe3.1\n"), "{trace}");
}

#[test]
fn the_pipe_itself_carries_nothing() {
    let mut b = bench();
    b.set("set interface ip address pipe3 10.3.0.1/24");
    b.set("set ip neighbor pipe3 10.3.0.2 02:00:00:00:00:03");
    b.wait(0.0);
    b.graph.moved_counters();
    let pg0 = b.pg0;
    assert!(b.receive(pg0, &[frame("10.3.0.2")]).is_empty());
    let moved = b.graph.moved_counters();
    assert!(moved.iter().any(|c| c.1 == "no end of a pipe" && c.2 == 1), "{moved:?}");
}

#[test]
fn pipes_are_listed_and_deleted() {
    let mut b = bench();
    let pg0 = b.pg0;
    b.talk(|local, router| {
        let create = |is_specified, user_instance| PipeCreate { is_specified, user_instance };
        assert_eq!(local.call(router, &create(true, 3)).err(), Some(Retval::INSTANCE_IN_USE));
        let made = local.call(router, &create(false, 3)).unwrap();
        assert_eq!(router.interfaces.name(made.sw_if_index.0), "pipe0");
        assert_eq!(router.interfaces.name(made.pipe_sw_if_index[1].0), "pipe0.1");
        let rows = local.dump(router, &PipeDump {});
        let instances: Vec<_> = rows.iter().map(|row| row.instance).collect();
        assert_eq!(instances, [3, 0]);
        assert_eq!(rows[1].pipe_sw_if_index, made.pipe_sw_if_index);
        let delete = |sw_if_index| PipeDelete { sw_if_index };
        for wrong in [pg0, made.pipe_sw_if_index[0], InterfaceIndex(99)] {
            let refused = local.call(router, &delete(wrong)).err();
            assert_eq!(refused, Some(Retval::INVALID_SW_IF_INDEX));
        }
        local.call(router, &delete(made.sw_if_index)).unwrap();
        assert!(router.interfaces.named("pipe0.1").is_none());
        assert_eq!(local.dump(router, &PipeDump {}).len(), 1);
    });
    assert!(b.cli("pipe create instance 3").contains("instance 3 is in use"));
    assert!(b.cli("pipe delete pg0").contains("no such pipe"));
    b.set("pipe delete pipe3");
}

#[test]
fn frames_in_circles_are_dropped_and_counted_before_they_stop_the_router() {
    let mut b = bench();
    b.cli("pipe create instance 4");
    b.set("set interface state pipe4 up");
    for (end, domain) in
        [("pg0", 1), ("pipe3.0", 1), ("pipe4.0", 1), ("pipe3.1", 2), ("pipe4.1", 2)]
    {
        b.set(&format!("set interface l2 bridge {end} {domain}"));
    }
    b.wait(0.0);
    b.graph.moved_counters();
    b.receive(b.pg0, &[frame("255.255.255.255")]);
    let moved = b.graph.moved_counters();
    let circles = moved.iter().find(|m| (m.0.as_str(), m.1) == ("null-node", "in_circles"));
    assert!(circles.is_some_and(|m| m.2 > 0), "{moved:?}");
    assert_eq!(b.graph.buffers_used(), 0);
    // Everything else goes on.
    b.set("set interface state pipe4 down");
    b.receive(b.pg0, &[frame("255.255.255.255")]);
    let moved = b.graph.moved_counters();
    assert!(moved.iter().all(|m| m.1 != "in_circles"), "{moved:?}");
}
