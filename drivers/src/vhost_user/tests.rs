//! Interfaces with machines of the test's own, among them such as mean no good.

use std::path::PathBuf;

use graph::{Flags, testing::Caught};
use net::testing::Rig;
use wire::virtio_ring::{feature, flag};

use super::machine::{
    BUFFERS, Machine, RING, SIZE, descriptor, features, is_linked, socket, stretch, until,
};
use super::{FEATURE, api};

const NAME: &str = "VirtualEthernet0/0/0";
const TX: &str = "VirtualEthernet0/0/0-tx";
const MERGING: u32 = feature::MRG_RXBUF;

/// A router with one interface that listens.
fn server(options: &str) -> (Rig, PathBuf) {
    let (mut rig, path) = (Rig::new(&[FEATURE]), socket());
    let line = format!("create vhost-user socket {} server {options}", path.display());
    assert_eq!(rig.run(&line), format!("{NAME}\n"));
    rig.set(&format!("set interface state {NAME} up"));
    (rig, path)
}

/// The same with a machine that uses these features, and so many rings.
fn linked(options: &str, names: &[u32], rings: usize) -> (Rig, Machine, PathBuf) {
    let (mut rig, path) = server(options);
    let is_packed = names.contains(&feature::RING_PACKED);
    let mut machine = Machine::connect(&path, is_packed, rings);
    machine.begin(&mut rig, features(names));
    (rig, machine, path)
}

/// Frames of these lengths, all different.
fn frames(lens: impl IntoIterator<Item = usize>) -> Vec<Vec<u8>> {
    let frame = |(n, len): (usize, usize)| (0..len).map(|i| (n * 7 + i * 13) as u8).collect();
    lens.into_iter().enumerate().map(frame).collect()
}

fn bytes(caught: Vec<Caught>) -> Vec<Vec<u8>> {
    caught.into_iter().map(|c| c.bytes).collect()
}

const KINDS: [&[u32]; 5] = [
    &[MERGING],
    &[],
    &[MERGING, feature::EVENT_IDX],
    &[MERGING, feature::RING_PACKED],
    &[feature::RING_PACKED, feature::EVENT_IDX],
];

#[test]
fn what_the_machine_sends_comes_in() {
    for names in KINDS {
        let (mut rig, mut machine, _) = linked("packed event-idx", names, 2);
        let to = rig.interface(NAME).0;
        for (round, cuts) in
            [&[][..], &[12], &[5, 11, 40], &[12, 13, 30, 31, 50]].iter().enumerate()
        {
            for count in [1, 3, 4, 255, 256] {
                if cuts.len() * count > usize::from(RING) / 2 {
                    continue;
                }
                let sent = frames((0..count).map(|n| 60 + n + round));
                machine.send(&[0; 12], &sent, cuts);
                let caught = rig.graph.run();
                assert!(caught.iter().all(|c| c.at == "ethernet-input" && c.rx == to));
                assert!(bytes(caught) == sent, "{names:?} {cuts:?}");
                assert_eq!(machine.returned(), count);
                rig.expect(&[]);
            }
        }
        let big = frames([2048, 4096, 9014, 65_000]);
        machine.send(&[0; 12], &big, &[12, 4000]);
        assert!(bytes(rig.graph.run()) == big, "{names:?}");
        rig.expect(&[]);
    }
}

#[test]
fn what_is_sent_is_in_the_machine() {
    for names in KINDS {
        let (mut rig, mut machine, _) = linked("packed event-idx", names, 2);
        for count in [1, 3, 4, 255, 256] {
            machine.make_room(count, 2048);
            let sent = frames((0..count).map(|n| 60 + n));
            assert!(rig.graph.send(TX, &sent, |_| ()).is_empty());
            let received = machine.received();
            assert!(
                received.iter().all(|(header, _)| *header == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0])
            );
            assert!(received.into_iter().map(|r| r.1).eq(sent), "{names:?} {count}");
            rig.expect(&[]);
        }
        // More than a buffer holds.
        let jumbo = frames([9014, 60, 2037]);
        machine.make_room(9, 2048);
        rig.graph.send(TX, &jumbo, |_| ());
        let received: Vec<_> = machine.received().into_iter().map(|r| (r.0[10], r.1)).collect();
        if names.contains(&MERGING) {
            let counts: Vec<_> = received.iter().map(|r| r.0).collect();
            assert_eq!(counts, [5, 1, 2], "{names:?}");
            assert!(received.into_iter().map(|r| r.1).eq(jumbo), "{names:?}");
            rig.expect(&[]);
        } else {
            assert_eq!(received.len(), 1);
            rig.expect(&[(TX, "tx packet drops (cannot merge descriptors)", 2)]);
        }
    }
}

#[test]
fn what_finds_no_room_is_dropped_and_counted() {
    for names in KINDS {
        let (mut rig, mut machine, _) = linked("packed event-idx", names, 2);
        machine.make_room(3, 2048);
        rig.graph.send(TX, &frames([60; 5]), |_| ());
        rig.expect(&[(TX, "tx packet drops (no available descriptors)", 2)]);
        assert_eq!(machine.received().len(), 3);
        // Not enough for this one, which leaves the room to the next.
        machine.make_room(2, 2048);
        rig.graph.send(TX, &frames([4085, 60]), |_| ());
        assert_eq!(machine.received().len(), 1, "{names:?}");
        rig.graph.moved_counters();
        assert_eq!(rig.graph.buffers_used(), 0);
    }
}

#[test]
fn empty_room_is_returned_and_in_nobodys_way() {
    for names in KINDS {
        let (mut rig, mut machine, _) = linked("packed event-idx", names, 2);
        let empty = descriptor(BUFFERS, 0, flag::WRITE);
        machine.rings[0].put(&[empty]);
        machine.rings[0].put(&[empty; 5]);
        machine.rings[0].put(&[empty; 200]);
        machine.make_room(2, 2048);
        rig.graph.send(TX, &frames([60; 5]), |_| ());
        rig.expect(&[(TX, "indirect descriptor table overflow", 3)]);
        assert!((0..3).all(|_| machine.rings[0].take().is_some_and(|(_, len)| len == 0)));
        assert_eq!(machine.received().len(), 2, "{names:?}");
    }
}

#[test]
fn checksums_and_segments_are_left_to_who_can_do_them() {
    let all = [
        MERGING,
        feature::CSUM,
        feature::GUEST_CSUM,
        feature::GUEST_TSO4,
        feature::GUEST_TSO6,
        feature::HOST_TSO4,
        feature::HOST_TSO6,
    ];
    let offloads = |rig: &Rig| {
        let i = rig.router.interfaces.named(NAME).unwrap();
        (i.offloads.checksum, i.offloads.gso)
    };
    let (rig, ..) = linked("gso", &[MERGING], 2);
    assert_eq!(offloads(&rig), (false, false));
    let (rig, ..) = linked("gso", &[MERGING, feature::GUEST_CSUM], 2);
    assert_eq!(offloads(&rig), (true, false));
    let (mut rig, mut machine, _) = linked("gso", &all, 2);
    assert_eq!(offloads(&rig), (true, true));
    // IPv4, TCP, 4000 bytes of payload.
    let mut packet = vec![0; 14 + 20 + 20 + 4000];
    packet[12..15].copy_from_slice(&[8, 0, 0x45]);
    packet[16..18].copy_from_slice(&4040_u16.to_be_bytes());
    packet[23] = 6;
    packet[14 + 20 + 12] = 0x50;
    let header = [1, 1, 54, 0, 0xb4, 5, 34, 0, 16, 0, 0, 0];
    machine.send(&header, &[packet.clone()], &[]);
    let caught = rig.graph.run();
    assert_eq!(bytes(caught), [packet.clone()]);
    machine.make_room(4, 2048);
    rig.graph.send(TX, &[packet.clone()], |p| {
        p.set_l3_offset(14);
        p.set_l4_offset(34);
        p.set_gso_size(1460);
        p.add_flags(Flags::L3.with(Flags::L4).with(Flags::CHECKSUM_TODO).with(Flags::GSO));
    });
    let [(sent, bytes)] = machine.received().try_into().unwrap();
    assert_eq!(sent, [1, 1, 54, 0, 0xb4, 5, 34, 0, 16, 0, 2, 0]);
    assert!(bytes == packet);
    rig.expect(&[]);
    // A header that its packet cannot have.
    machine.send(&[1, 0, 0, 0, 0, 0, 0xff, 0xff, 16, 0, 0, 0], &frames([60]), &[]);
    machine.send(&[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &frames([60]), &[]);
    assert!(rig.graph.run().is_empty());
    rig.expect(&[("vhost-user-input", "unfit for offload", 2)]);
}

#[test]
fn no_descriptor_reaches_outside_of_the_memory() {
    for names in [&[MERGING][..], &[MERGING, feature::RING_PACKED]] {
        let (mut rig, mut machine, _) = linked("packed", names, 2);
        let bad = [
            (descriptor(SIZE - 71, 72, 0), "mmap failure"),
            (descriptor(BUFFERS, 72, flag::WRITE), "mmap failure"),
            (descriptor(BUFFERS, 72, flag::INDIRECT), "indirect descriptor overflows table"),
            (descriptor(BUFFERS, 25, 0), "undersized ethernet frame received (< 14 bytes)"),
            (descriptor(BUFFERS, 0, 0), "undersized ethernet frame received (< 14 bytes)"),
            (descriptor(0, 100_000, 0), "undersized ethernet frame received (< 14 bytes)"),
        ];
        for (d, counter) in bad {
            machine.rings[1].put_raw(&[d]);
            machine.send(&[0; 12], &frames([60]), &[]);
            assert_eq!(rig.graph.run().len(), 1, "{d:?}");
            rig.expect(&[("vhost-user-input", counter, 1)]);
            assert_eq!(machine.returned(), 2);
        }
        for (d, counter) in [
            (descriptor(SIZE - 71, 72, flag::WRITE), "mmap failure"),
            (descriptor(BUFFERS, 72, 0), "mmap failure"),
            (descriptor(BUFFERS, 7, flag::INDIRECT), "indirect descriptor table overflow"),
        ] {
            // In front of a packet, and in the middle of one: out of the way afterwards.
            machine.rings[0].put_raw(&[d]);
            machine.make_room(1, 2048);
            rig.graph.send(TX, &frames([60, 60]), |_| ());
            rig.expect(&[(TX, counter, 1)]);
            assert!(machine.rings[0].take().is_some_and(|(_, len)| len == 0));
            assert_eq!(machine.received().len(), 1);
            machine.make_room(1, 2048);
            machine.rings[0].put_raw(&[d]);
            rig.graph.send(TX, &frames([4000]), |_| ());
            rig.expect(&[(TX, counter, 1)]);
            assert_eq!(std::iter::from_fn(|| machine.rings[0].take()).count(), 2);
        }
        assert_eq!(rig.graph.buffers_used(), 0);
    }
}

#[test]
fn a_machine_may_go_at_any_moment_and_come_back() {
    let (mut rig, path) = server("packed");
    for round in 0..6 {
        let is_packed = round % 2 == 1;
        let mut machine = Machine::connect(&path, is_packed, 2);
        let packed: &[u32] = if is_packed { &[feature::RING_PACKED] } else { &[] };
        machine.begin(&mut rig, features(packed));
        machine.make_room(100, 256);
        machine.send(&[0; 12], &frames([60; 10]), &[]);
        rig.graph.send(TX, &frames([60; 50]), |_| ());
        if round == 4 {
            use std::io::Write as _;
            machine.stream.write_all(&[0xff; 12]).unwrap();
            until(&mut rig, |rig| !is_linked(rig));
        }
        drop(machine);
        until(&mut rig, |rig| !is_linked(rig));
        rig.graph.run();
        rig.graph.send(TX, &frames([60; 3]), |_| ());
        rig.graph.moved_counters();
        assert_eq!(rig.graph.buffers_used(), 0);
    }
    // Half a handshake, and what is no request at all.
    let half = Machine::connect(&path, false, 2);
    until(&mut rig, |rig| rig.run("show vhost-user").contains("server connected"));
    drop(half);
    until(&mut rig, |rig| rig.run("show vhost-user").contains("not connected: disconnected"));
}

#[test]
fn memory_that_is_taken_away_ends_the_connection_and_nothing_else() {
    let (mut rig, path) = server("");
    let mut machine = Machine::connect(&path, false, 2);
    machine.begin(&mut rig, features(&[]));
    // A second stretch that cannot be sealed, with a buffer in it.
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    let file = memfd_create("unsealed", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&file, 1 << 16).unwrap();
    let body = wire::vhost_user::Body::Region(stretch(SIZE as u64, 1 << 16));
    let number = wire::vhost_user::request::ADD_MEM_REG;
    let add = wire::vhost_user::Request { number, wants_reply: true, body };
    assert_eq!(machine.ask(&mut rig, &add, Some(&file)), 0);
    until(&mut rig, |rig| is_linked(rig));
    machine.rings[1].put(&[descriptor(SIZE, 100, 0)]);
    assert_eq!(rig.graph.run().len(), 1);
    ftruncate(&file, 0).unwrap();
    machine.rings[1].put(&[descriptor(SIZE, 100, 0)]);
    let caught = rig.graph.run();
    assert!(caught.len() == 1 && caught[0].bytes == vec![0; 88]);
    until(&mut rig, |rig| rig.run("show vhost-user").contains("its memory was removed"));
}

#[test]
fn rings_go_on_where_they_were_when_memory_or_queues_change() {
    for names in [&[MERGING][..], &[MERGING, feature::RING_PACKED]] {
        let (mut rig, mut machine, _) = linked("packed", names, 4);
        machine.make_room(200, 256);
        for _ in 0..30 {
            machine.send(&[0; 12], &frames([60, 61, 62]), &[30]);
            rig.graph.send(TX, &frames([60, 70]), |_| ());
            machine.hand_over(&mut rig);
            until(&mut rig, |rig| is_linked(rig));
            let mut caught = rig.graph.caught();
            caught.extend(rig.graph.run());
            // Some were received while control worked.
            assert!(machine.returned() == 3, "{} {names:?}", caught.len());
            assert_eq!(machine.received().len(), 2);
        }
        // The second pair is not used any more, and then the first is.
        machine.enable(&mut rig, 2, false);
        machine.enable(&mut rig, 3, false);
        until(&mut rig, |rig| rig.router.interfaces.named(NAME).unwrap().queues.len() == 1);
        machine.send(&[0; 12], &frames([60]), &[]);
        until(&mut rig, |_| machine.returned() == 1);
        machine.enable(&mut rig, 3, true);
        until(&mut rig, |rig| rig.router.interfaces.named(NAME).unwrap().queues.len() == 2);
        let base = machine.stop(&mut rig, 1);
        let at = base & 0x7fff;
        assert!(at > 0 && at < if names.len() > 1 { 512 } else { 32_768 }, "{base:#x}");
        rig.graph.moved_counters();
    }
}

#[test]
fn the_driver_is_woken_and_wakes() {
    for names in [&[MERGING][..], &[MERGING, feature::RING_PACKED]] {
        let (mut rig, mut machine, _) = linked("packed", names, 2);
        machine.rings[0].was_called();
        machine.rings[1].was_called();
        machine.make_room(4, 256);
        machine.rings[0].want(true, None);
        rig.graph.send(TX, &frames([60]), |_| ());
        assert!(machine.rings[0].was_called());
        machine.rings[0].want(false, None);
        rig.graph.send(TX, &frames([60]), |_| ());
        assert!(!machine.rings[0].was_called());
        machine.send(&[0; 12], &frames([60]), &[]);
        rig.graph.run();
        assert!(machine.rings[1].was_called());
    }
}

#[test]
fn an_interface_connects_to_who_listens() {
    let (mut rig, path) = (Rig::new(&[FEATURE]), socket());
    rig.run(&format!("create vhost-user socket {}", path.display()));
    until(&mut rig, |rig| rig.run("show vhost-user").contains("cannot connect"));
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    for _ in 0..2 {
        let mut stream = None;
        until(&mut rig, |_| {
            stream = listener.accept().ok();
            stream.is_some()
        });
        let stream = stream.unwrap().0;
        stream.set_nonblocking(false).unwrap();
        let mut machine = Machine::new(stream, false, 2);
        machine.begin(&mut rig, features(&[]));
        drop(machine);
        until(&mut rig, |rig| !is_linked(rig));
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn an_interface_that_is_down_gives_up_what_comes() {
    let (mut rig, mut machine, _) = linked("", &[], 2);
    rig.set(&format!("set interface state {NAME} down"));
    machine.send(&[0; 12], &frames([60; 5]), &[]);
    assert!(rig.graph.run().is_empty());
    assert_eq!(machine.returned(), 5);
    rig.expect(&[("vhost-user-input", "vhost interface not ready or down", 5)]);
}

#[test]
fn requests_that_cannot_be_are_refused() {
    let (mut rig, path) = server("renumber 0");
    let path = path.display();
    let long = "x".repeat(120);
    for (line, why) in [
        ("create vhost-user socket x".to_owned(), "not a valid socket path: x"),
        (format!("create vhost-user socket /tmp/{long}"), "not a valid socket path"),
        (format!("create vhost-user socket {path}"), "has an interface"),
        ("create vhost-user socket /tmp/x renumber 0".to_owned(), "interface 0 already exists"),
        (
            "create vhost-user socket /tmp/x hwaddr 01:00:00:00:00:01".to_owned(),
            "not a unicast MAC address",
        ),
        ("create vhost-user socket /tmp/x feature-mask xyz".to_owned(), "`xyz'"),
        ("create vhost-user socket /none/x server".to_owned(), "cannot listen"),
        ("delete vhost-user local0".to_owned(), "not a vhost-user interface"),
        ("delete vhost-user sw_if_index 77".to_owned(), "not a vhost-user interface"),
        ("show vhost-user local0".to_owned(), "local0 is not a vhost-user interface"),
    ] {
        let said = rig.attempt(&line).unwrap_err();
        assert!(said.contains(why), "{line}: {said}");
    }
    rig.set(&format!("delete vhost-user {NAME}"));
    assert!(rig.router.interfaces.named(NAME).is_none());
}

#[test]
fn clients_make_change_and_see_the_same() {
    use api::*;
    let (mut rig, path, other) = (Rig::new(&[FEATURE]), socket(), socket());
    let name = |path: &PathBuf| path.to_str().unwrap().to_owned();
    rig.talk(|local, router| {
        let make = |path: &PathBuf, number| CreateVhostUserIfV2 {
            is_server: true,
            sock_filename: name(path).as_str().into(),
            renumber: number != 0,
            disable_mrg_rxbuf: true,
            disable_indirect_desc: false,
            enable_gso: true,
            enable_packed: true,
            enable_event_idx: false,
            custom_dev_instance: number,
            use_custom_mac: true,
            mac_address: wire::MacAddr([2, 0, 0, 0, 0, 9]),
            tag: "abc".into(),
        };
        let made = local.call(router, &make(&path, 7)).unwrap().sw_if_index;
        let i = router.interfaces.at(made).unwrap();
        assert_eq!((i.name.as_str(), i.tag.as_str()), ("VirtualEthernet0/0/7", "abc"));
        assert_eq!(i.mac, wire::MacAddr([2, 0, 0, 0, 0, 9]));
        assert!(local.call(router, &make(&other, 7)).is_err());
        let second = local.call(router, &make(&other, 0)).unwrap().sw_if_index;
        let modify = |path: &PathBuf, sw_if_index, number: u32| ModifyVhostUserIfV2 {
            sw_if_index,
            is_server: true,
            sock_filename: name(path).as_str().into(),
            renumber: number > 0,
            enable_gso: false,
            enable_packed: false,
            enable_event_idx: true,
            custom_dev_instance: number,
        };
        assert!(local.call(router, &modify(&path, second, 0)).is_err());
        assert!(local.call(router, &modify(&other, second, 7)).is_err());
        assert!(local.call(router, &modify(&other, net::InterfaceIndex(99), 0)).is_err());
        local.call(router, &modify(&other, second, 9)).unwrap();
        let third = socket();
        local.call(router, &modify(&third, second, 0)).unwrap();
        assert!(third.exists() && !other.exists());
        let all = SwInterfaceVhostUserDump { sw_if_index: net::InterfaceIndex(u32::MAX) };
        let seen = local.dump(router, &all);
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[1].interface_name.as_str(), "VirtualEthernet0/0/9");
        assert_eq!(seen[1].sock_filename.as_str(), name(&third));
        let one = local.dump(router, &SwInterfaceVhostUserDump { sw_if_index: made });
        assert!(one.len() == 1 && one[0].is_server && one[0].num_regions == 0);
        for sw_if_index in [made, second] {
            local.call(router, &DeleteVhostUserIf { sw_if_index }).unwrap();
            assert!(local.call(router, &DeleteVhostUserIf { sw_if_index }).is_err());
        }
        assert!(!path.exists() && !third.exists());
    });
}
