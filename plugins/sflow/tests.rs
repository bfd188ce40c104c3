//! Packets that are sampled and reported, and messages that agents read.

use control::api::Retval;
use net::InterfaceIndex;
use net::interface::SubInterface;
use net::testing::Bench;
use net::testing::packets::*;
use rustix::net::netlink::{SocketAddrNetlink, USERSOCK};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};
use sflow::*;

/// Bytes of the headers of netlink, and of generic netlink.
const NETLINK: usize = 16;
const GENERIC: usize = 4;

fn bench() -> Bench {
    Bench::featuring(&[net::fast_path::FEATURE, FEATURE], 1, |_| (), |_| ())
}

fn frame(n: u8) -> Vec<u8> {
    [&[2, 0, 0, 1, 0, 9, 2, 0, 0, 1, 0, n, 8, 0][..], &[n; 200]].concat()
}

/// Counters of a node that moved, in what is said of them.
fn moved(bench: &mut Bench, node: &str) -> Vec<(&'static str, u64)> {
    let all = bench.graph.moved_counters();
    all.into_iter().filter(|(at, ..)| at == node).map(|(_, name, n)| (name, n)).collect()
}

/// Makes control send everything; returns how much was sent or not.
fn told(bench: &mut Bench, node: &str) -> u64 {
    bench.control(|router| router.handle_events());
    let is_about = |name: &str| name.contains("PSAMPLE") || name.contains("DROPMON");
    moved(bench, node).into_iter().filter(|(name, _)| is_about(name)).map(|(_, n)| n).sum()
}

#[test]
fn every_packet_or_none_of_a_direction_is_sampled() {
    for n in [1, 3, 4, 255, 256] {
        let mut bench = bench();
        bench.set("sflow sampling-rate 1");
        bench.set("sflow enable-disable pg0");
        bench.set("sflow enable-disable pg1");
        let frames: Vec<_> = (0..n).map(|i| frame(i as u8)).collect();
        bench.send("sflow", &frames);
        let (packets, many) = (n as u64, "sflow packets processed");
        assert_eq!(
            moved(&mut bench, "sflow"),
            [(many, packets), ("sflow packets sampled", packets)]
        );
        assert_eq!(told(&mut bench, "sflow"), packets);
        let neighbor = bench.neighbor("10.0.1.2", true);
        let send = |bench: &mut Bench| {
            let packets = vec![udp4(HOST4, "10.0.1.2", 99, &[0; 72]); n];
            let out = bench.send_as("ip4-rewrite", &packets, move |p| p.set_adjacency(neighbor.0));
            assert_eq!(out.iter().filter(|c| c.at == "sent").count(), n);
        };
        send(&mut bench);
        assert_eq!(moved(&mut bench, "sflow"), [], "only what is received");
        bench.set("sflow direction both");
        send(&mut bench);
        let sampled = [(many, packets), ("sflow packets sampled", packets)];
        assert_eq!(moved(&mut bench, "sflow"), sampled);
        assert_eq!(told(&mut bench, "sflow"), packets);
        bench.set("sflow sampling-rate 0");
        send(&mut bench);
        assert_eq!(moved(&mut bench, "sflow"), [(many, packets)]);
        bench.set("sflow enable-disable pg1 disable");
        send(&mut bench);
        assert_eq!(moved(&mut bench, "sflow"), []);
    }
}

#[test]
fn what_sub_interfaces_send_is_sampled_as_sent_by_their_parent() {
    for is_later in [false, true] {
        let mut bench = bench();
        let pg1 = bench.pg1;
        let add = move |router: &mut net::Router| {
            router.add_sub_interface(pg1, SubInterface::dot1q(7, 7)).unwrap()
        };
        let early = (!is_later).then(|| bench.control(add));
        bench.set("sflow sampling-rate 1");
        bench.set("sflow direction both");
        bench.set("sflow enable-disable enable pg1");
        let sub = early.unwrap_or_else(|| bench.control(add));
        bench.control(move |router| router.set_admin(sub, true));
        for n in [1, 3, 4, 255, 256] {
            let send = |bench: &mut Bench| {
                bench.send_as("pg1-output", &vec![frame(1); n], move |p| p.set_tx(sub.0));
                moved(bench, "sflow")
            };
            let many = n as u64;
            let sampled = [("sflow packets processed", many), ("sflow packets sampled", many)];
            assert_eq!(send(&mut bench), sampled);
            assert_eq!(told(&mut bench, "sflow"), many);
            bench.set("sflow direction rx");
            assert_eq!(send(&mut bench), []);
            bench.set("sflow direction both");
        }
    }
}

#[test]
fn one_of_so_many_packets_is_sampled() {
    let mut bench = bench();
    bench.set("sflow sampling-rate 20");
    bench.set("sflow enable-disable pg0");
    let (frames, mut sampled) = (vec![frame(1); 250], Vec::new());
    for _ in 0..160 {
        bench.send("sflow", &frames);
        let counts = moved(&mut bench, "sflow");
        let of = |name| counts.iter().find(|c| c.0 == name).map_or(0, |c| c.1);
        assert_eq!((of("sflow packets processed"), of("sflow packets dropped")), (250, 0));
        sampled.push(of("sflow packets sampled"));
        bench.control(|router| router.handle_events());
    }
    let sum: u64 = sampled.iter().sum();
    assert!((1800..2200).contains(&sum), "{sum} of 40000");
    assert!(sampled.iter().any(|count| *count != sampled[0]), "at random");
}

#[test]
fn samples_that_find_no_room_are_counted() {
    let mut bench = bench();
    bench.set("sflow sampling-rate 1");
    bench.set("sflow enable-disable pg0");
    let (frames, mut all) = (vec![frame(1); 256], [0; 3]);
    for _ in 0..8 {
        bench.send("sflow", &frames);
        for (name, count) in moved(&mut bench, "sflow") {
            let which = ["processed", "sampled", "dropped"].iter().position(|w| name.ends_with(w));
            all[which.unwrap()] += count;
        }
    }
    assert_eq!(all, [2048, 1024, 1024]);
    assert_eq!(told(&mut bench, "sflow"), 1024);
}

#[test]
fn what_is_dropped_is_reported_with_its_reason() {
    for is_sub in [false, true] {
        let mut bench = bench();
        bench.set("sflow enable-disable pg0");
        bench.set("sflow drop-monitoring enable");
        let pg0 = bench.pg0;
        let rx = match is_sub {
            true => bench.control(|router| {
                router.add_sub_interface(pg0, SubInterface::dot1q(7, 7)).unwrap()
            }),
            false => pg0,
        };
        let mut damaged = udp4(HOST4, "10.0.1.2", 99, &[0; 72]);
        damaged[10] ^= 1;
        let send = |bench: &mut Bench, n| {
            bench.send_as("ip4-input", &vec![damaged.clone(); n], move |p| p.set_rx(rx.0));
        };
        for n in [1, 3, 100] {
            send(&mut bench, n);
            assert_eq!(moved(&mut bench, "sflow"), [("sflow discards processed", n as u64)]);
            assert_eq!(told(&mut bench, "sflow"), n as u64);
        }
        send(&mut bench, 200);
        let full = [("sflow discards processed", 200), ("sflow discards dropped", 72)];
        assert_eq!(moved(&mut bench, "sflow"), full);
        bench.set("sflow drop-monitoring disable");
        send(&mut bench, 1);
        assert_eq!(moved(&mut bench, "sflow"), []);
    }
}

/// The attributes of a message behind `skip` bytes.
fn attributes(message: &[u8], skip: usize) -> Vec<(u16, Vec<u8>)> {
    let mut rest = &message[skip..];
    let mut all = Vec::new();
    while let [a, b, c, d, ..] = *rest {
        let len = usize::from(u16::from_ne_bytes([a, b]));
        all.push((u16::from_ne_bytes([c, d]) & 0x7fff, rest[4..len].to_vec()));
        rest = &rest[len.next_multiple_of(4).min(rest.len())..];
    }
    all
}

fn u32_of(attributes: &[(u16, Vec<u8>)], kind: u16) -> u32 {
    let value = &attributes.iter().find(|(k, _)| *k == kind).unwrap().1;
    u32::from_ne_bytes(value[..].try_into().unwrap())
}

#[test]
fn samples_and_drops_are_what_the_kernel_would_send() {
    let header = Header { bytes: &[1, 2, 3, 4, 5], len: 1500 };
    let message = sampled(31, 7, Group::Sent, (2, Some(3)), 1000, header);
    assert_eq!(message[..4], (message.len() as u32).to_ne_bytes());
    assert_eq!(message[4..6], 31u16.to_ne_bytes());
    assert_eq!(message[6..8], [0, 0], "no request: the kernel does not answer");
    assert_eq!(message[16..20], [0, 1, 0, 0]);
    let all = attributes(&message, NETLINK + GENERIC);
    let numbers = |n: u32| n.to_ne_bytes().to_vec();
    let expected = [
        (0, 2u16.to_ne_bytes().to_vec()),
        (1, 3u16.to_ne_bytes().to_vec()),
        (2, numbers(1500)),
        (3, numbers(4)),
        (4, numbers(7)),
        (5, numbers(1000)),
        (6, vec![1, 2, 3, 4, 5]),
    ];
    assert_eq!(all, expected);
    let message = sampled(31, 7, Group::Received, (2, None), 1, header);
    let all = attributes(&message, NETLINK + GENERIC);
    assert_eq!((u32_of(&all, 3), all.iter().any(|a| a.0 == 1)), (3, false));

    let message = dropped(30, 9, 5, ("ip4-input", "time_expired"), 0x0800, header);
    assert_eq!(message[16..18], [5, 1]);
    let all = attributes(&message, NETLINK + GENERIC);
    let kinds: Vec<_> = all.iter().map(|a| a.0).collect();
    assert_eq!(kinds, [1, 4, 6, 7, 9, 10, 14, 15, 16]);
    assert_eq!(attributes(&all[1].1, 0), [(0, numbers(5))]);
    assert_eq!(all[7].1, b"ip4-input\0");
    assert_eq!(all[8].1, b"time_expired\0");
    assert_eq!(u32_of(&all, 10), 1500);
}

#[test]
fn counters_reach_whoever_listens_to_their_group() {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(USERSOCK));
    let socket = socket.unwrap();
    bind(&socket, &SocketAddrNetlink::new(0, 1 << 28)).unwrap();
    let mut bench = bench();
    bench.set("sflow enable-disable pg1");
    bench.set("sflow polling-interval 5");
    let due = |bench: &mut Bench| bench.control(|router| router.run_due());
    due(&mut bench);
    bench.graph.engine.clock().adjust(5.01);
    due(&mut bench);
    let mut room = [0; 1024];
    let mut next = || {
        let (len, _) = recv(&socket, &mut room[..], RecvFlags::DONTWAIT).unwrap();
        let kind = u16::from_ne_bytes([room[4], room[5]]);
        (kind, attributes(&room[..len], NETLINK))
    };
    let (kind, all) = next();
    assert_eq!((kind, all.iter().map(|a| a.0).collect::<Vec<_>>()), (1, vec![20, 22, 23]));
    assert!(u32_of(&all, 20) >= 5, "seconds since the start");
    let (kind, all) = next();
    let kinds: Vec<_> = all.iter().map(|a| a.0).collect();
    assert_eq!((kind, kinds), (2, (0..20).chain([23]).collect()));
    assert_eq!(all[0].1, b"pg1");
    assert_eq!(u32_of(&all, 1), bench.pg1.0);
    assert_eq!([u32_of(&all, 5), u32_of(&all, 6)], [1, 1]);
    assert!(bench.run("show sflow").unwrap().contains("counter samples sent: 2"));
}

#[test]
fn messages_set_and_tell_what_is_sampled() {
    let mut bench = bench();
    let (pg0, pg1) = (bench.pg0, bench.pg1);
    bench.talk(|local, router| {
        let all = SflowInterfaceDump { hw_if_index: InterfaceIndex(u32::MAX) };
        let on = |hw_if_index, enable_disable| SflowEnableDisable { enable_disable, hw_if_index };
        local.call(router, &on(pg0, true)).unwrap();
        local.call(router, &on(pg1, true)).unwrap();
        assert_eq!(local.dump(router, &all).len(), 2);
        let one = local.dump(router, &SflowInterfaceDump { hw_if_index: pg1 });
        assert_eq!(one.iter().map(|d| d.hw_if_index).collect::<Vec<_>>(), [pg1]);
        local.call(router, &on(pg1, false)).unwrap();
        assert_eq!(local.dump(router, &all).len(), 1);
        let nowhere = local.call(router, &on(InterfaceIndex(99), true)).err();
        assert_eq!(nowhere, Some(Retval::INVALID_SW_IF_INDEX));
        let sub = router.add_sub_interface(pg0, SubInterface::dot1q(7, 7)).unwrap();
        assert_eq!(local.call(router, &on(sub, true)).err(), Some(Retval::INVALID_SW_IF_INDEX));
        assert_eq!(local.call(router, &SflowSamplingRateGet {}).unwrap().rate, 10_000);
        local.call(router, &SflowSamplingRateSet { rate: 5 }).unwrap();
        assert_eq!(local.call(router, &SflowSamplingRateGet {}).unwrap().rate, 5);
        assert_eq!(local.call(router, &SflowPollingIntervalGet {}).unwrap().polling, 20);
        local.call(router, &SflowPollingIntervalSet { polling: 1 }).unwrap();
        assert_eq!(local.call(router, &SflowPollingIntervalGet {}).unwrap().polling, 1);
        assert_eq!(local.call(router, &SflowHeaderBytesGet {}).unwrap().header_bytes, 128);
        local.call(router, &SflowHeaderBytesSet { header_bytes: 100 }).unwrap();
        assert_eq!(local.call(router, &SflowHeaderBytesGet {}).unwrap().header_bytes, 128);
        for (header_bytes, nearest) in [(0, 64), (64, 64), (255, 256), (9999, 256)] {
            local.call(router, &SflowHeaderBytesSet { header_bytes }).unwrap();
            let now = local.call(router, &SflowHeaderBytesGet {}).unwrap();
            assert_eq!(now.header_bytes, nearest);
        }
        assert_eq!(local.call(router, &SflowDirectionGet {}).unwrap().direction, 1);
        for (direction, is_fit) in [(0, false), (2, true), (3, true), (4, false)] {
            let done = local.call(router, &SflowDirectionSet { direction });
            assert_eq!(done.err(), (!is_fit).then_some(Retval::INVALID_VALUE));
        }
        assert_eq!(local.call(router, &SflowDirectionGet {}).unwrap().direction, 3);
        assert_eq!(local.call(router, &SflowDropMonitoringGet {}).unwrap().drops, 0);
        local.call(router, &SflowDropMonitoringSet { drops: 1 }).unwrap();
        let done = local.call(router, &SflowDropMonitoringSet { drops: 2 }).err();
        assert_eq!(done, Some(Retval::INVALID_VALUE));
        assert_eq!(local.call(router, &SflowDropMonitoringGet {}).unwrap().drops, 1);
    });
    let shown = bench.run("show sflow").unwrap();
    for line in [
        "sflow sampling-rate 5\n",
        "sflow direction both\n",
        "sflow polling-interval 1\n",
        "sflow header-bytes 256\n",
        "sflow drop-monitoring enable\n",
        "sflow enable pg0\nStatus\n  interfaces enabled: 1\n",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    for (line, word) in [
        ("sflow enable-disable pg0", "already"),
        ("sflow direction up", "up"),
        ("sflow enable-disable pg0.7", "parent"),
        ("sflow drop-monitoring maybe", "maybe"),
    ] {
        let error = bench.run(line).unwrap_err();
        assert!(error.contains(word), "{line}: {error}");
    }
}
