//! Interfaces with peers, those of the router itself and such as mean no good.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use net::testing::Rig;
use wire::memif::{Descriptor, Message, NEXT, Text};

use super::channel::{Address, Channel, Heard};
use super::interface::{Link, Memifs};
use super::session::{self, Linked, Master, Reply, Slave, Step, Wish};
use super::{FEATURE, api};

/// A unique socket.
fn socket() -> Address {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    Address(format!("@memif-test-{}-{number}", std::process::id()))
}

/// Lets control work until something is so.
#[track_caller]
fn until(rig: &mut Rig, mut is_so: impl FnMut(&mut Rig) -> bool) {
    for _ in 0..5000 {
        rig.control(|router| router.run_due());
        rig.graph.engine.run_inline(2);
        if is_so(rig) {
            return;
        }
        sleep(Duration::from_millis(1));
    }
    panic!("it did not happen: {}", rig.run("show memif"));
}

fn is_linked(rig: &Rig, name: &str) -> bool {
    rig.router.interfaces.named(name).is_some_and(|i| i.link_up)
}

/// A router whose interfaces `memif1/0`, the master, and `memif2/0` are connected.
fn pair(options: &str) -> Rig {
    let mut rig = Rig::new(&[FEATURE]);
    let Address(name) = socket();
    rig.set(&format!("create memif socket id 1 filename {name}"));
    rig.set(&format!("create memif socket id 2 filename {name}"));
    assert_eq!(
        rig.run(&format!("create interface memif socket-id 1 master {options}")),
        "memif1/0\n"
    );
    assert_eq!(
        rig.run(&format!("create interface memif socket-id 2 slave {options}")),
        "memif2/0\n"
    );
    rig.set("set interface state memif1/0 up\nset interface state memif2/0 up");
    until(&mut rig, |rig| is_linked(rig, "memif1/0") && is_linked(rig, "memif2/0"));
    rig.graph.moved_counters();
    rig
}

/// Frames of these lengths, all different.
fn frames(lens: impl IntoIterator<Item = usize>) -> Vec<Vec<u8>> {
    let frame = |(n, len): (usize, usize)| (0..len).map(|i| (n * 7 + i * 13) as u8).collect();
    lens.into_iter().enumerate().map(frame).collect()
}

/// Packets that one end receives of those that the other sends.
fn cross(rig: &mut Rig, from: &str, sent: &[Vec<u8>]) -> Vec<graph::testing::Caught> {
    let mut caught = rig.graph.send(&format!("{from}-tx"), sent, |_| ());
    caught.extend(rig.graph.run());
    caught
}

#[test]
fn what_one_end_sends_the_other_receives() {
    for options in ["", "rx-queues 2 tx-queues 3", "ring-size 512 buffer-size 512"] {
        let mut rig = pair(options);
        for (from, to) in [("memif1/0", "memif2/0"), ("memif2/0", "memif1/0")] {
            for count in [1, 3, 4, 255, 256] {
                let sent = frames((0..count).map(|n| 60 + n));
                let to = rig.interface(to).0;
                let caught = cross(&mut rig, from, &sent);
                let is_whole = |c: &graph::testing::Caught| c.at == "ethernet-input" && c.rx == to;
                assert!(caught.iter().all(is_whole), "{options}");
                let bytes: Vec<_> = caught.into_iter().map(|c| c.bytes).collect();
                assert!(bytes == sent, "{options}");
                rig.expect(&[]);
            }
        }
    }
}

#[test]
fn jumbo_frames_are_chains_on_both_sides() {
    for options in ["", "ring-size 1024 buffer-size 256"] {
        let mut rig = pair(options);
        for from in ["memif1/0", "memif2/0"] {
            let sent = frames([2048, 2049, 4096, 9014, 60, 9014]);
            let caught = cross(&mut rig, from, &sent);
            let bytes: Vec<_> = caught.into_iter().map(|c| c.bytes).collect();
            assert!(bytes == sent, "{options}");
            rig.expect(&[]);
        }
    }
}

#[test]
fn packets_without_a_link_header_are_told_apart() {
    let mut rig = pair("mode ip");
    let sent = vec![vec![0x45; 40], vec![0x60; 60], vec![0x10; 60]];
    let caught = cross(&mut rig, "memif1/0", &sent);
    let at: Vec<_> = caught.iter().map(|c| c.at.as_str()).collect();
    assert_eq!(at, ["ip4-input", "ip6-input"]);
    rig.expect(&[("memif-input", "not_ip", 1)]);
}

#[test]
fn what_finds_no_slot_is_dropped_and_counted_and_nothing_else() {
    for (from, to) in [("memif1/0", "memif2/0"), ("memif2/0", "memif1/0")] {
        let mut rig = pair("ring-size 64");
        // The receiver looks away.
        let (index, node) = (rig.interface(to), "memif-input");
        rig.control(|router| {
            let node = router.engine.index_of(node).unwrap();
            router.engine.set_input_state(0, node, graph::InputState::Disabled);
        });
        let sent = frames([9000; 20]);
        rig.graph.send(&format!("{from}-tx"), &sent, |_| ());
        rig.graph.expect_counters(&[(&*format!("{from}-tx"), "no enough space in tx buffers", 8)]);
        rig.graph.send(&format!("{from}-tx"), &frames([60; 10]), |_| ());
        rig.graph.expect_counters(&[(&*format!("{from}-tx"), "no free tx slots", 6)]);
        rig.control(|router| {
            let node = router.engine.index_of(node).unwrap();
            router.engine.set_input_state(0, node, graph::InputState::Adaptive);
        });
        let caught = rig.graph.run();
        assert_eq!(caught.len(), 16);
        assert!(
            caught[..12].iter().zip(&sent).all(|(c, sent)| c.bytes == *sent && c.rx == index.0)
        );
        rig.expect(&[]);
    }
}

#[test]
fn ends_that_do_not_belong_together_do_not_connect() {
    let mut rig = Rig::new(&[FEATURE]);
    let Address(name) = socket();
    rig.set(&format!("create memif socket id 1 filename {name}"));
    rig.set(&format!("create memif socket id 2 filename {name}"));
    let lines = [
        ("create interface memif socket-id 1 id 3 master", "unmatched interface id"),
        ("create interface memif socket-id 1 id 0 master mode ip", "mode mismatch"),
        ("create interface memif socket-id 1 id 0 master secret abc", "incorrect secret"),
    ];
    rig.run("create interface memif socket-id 2 slave secret abd");
    rig.set("set interface state memif2/0 up");
    for (line, why) in lines {
        let made = rig.run(line);
        let name = made.trim();
        rig.set(&format!("set interface state {name} up"));
        until(&mut rig, |rig| rig.run("show memif memif2/0").contains(why));
        rig.set(&format!("delete interface memif {name}"));
    }
    rig.run("create interface memif socket-id 1 master secret abd");
    until(&mut rig, |rig| rig.run("show memif memif2/0").contains("interface is down"));
    rig.set("set interface state memif1/0 up");
    until(&mut rig, |rig| is_linked(rig, "memif2/0"));
    rig.set("set interface state memif1/0 down");
    until(&mut rig, |rig| !is_linked(rig, "memif2/0") && !is_linked(rig, "memif1/0"));
    let caught = rig.graph.send("memif2/0-tx", &frames([60; 3]), |_| ());
    assert!(caught.is_empty());
    rig.expect(&[("memif2/0-tx", "no tx queues", 3)]);
    rig.set("set interface state memif1/0 up");
    until(&mut rig, |rig| is_linked(rig, "memif2/0"));
}

#[test]
fn requests_that_cannot_be_are_refused() {
    let mut rig = Rig::new(&[FEATURE]);
    let Address(name) = socket();
    rig.set(&format!("create memif socket id 1 filename {name}"));
    rig.run("create interface memif socket-id 1 master");
    for (line, why) in [
        ("create interface memif id 1", "expected master or slave"),
        ("create interface memif id 1 master slave", "expected master or slave"),
        ("create interface memif master mode x", "unknown mode `x'"),
        ("create interface memif slave ring-size 1000", "ring-size must be a power of 2"),
        ("create interface memif slave ring-size 32768", "at most 16384"),
        ("create interface memif slave buffer-size 16", "buffer-size is at least 64"),
        ("create interface memif slave hw-addr 01:00:00:00:00:01", "not a unicast MAC address"),
        ("create interface memif slave secret 1234567890123456789012345", "24 characters"),
        (
            "create interface memif slave rx-queues 255 ring-size 16384 buffer-size 65535",
            "more than 4 GB",
        ),
        ("create interface memif socket-id 9 slave", "no socket 9"),
        ("create interface memif socket-id 1 master", "id 0 is in use on this socket"),
        ("create interface memif socket-id 1 id 1 slave", "interfaces of the other role"),
        ("create memif socket id 0 filename x", "the default socket cannot be changed"),
        ("create memif socket id 1 filename @other", "socket 1 has another file name"),
        ("create memif socket id 5 filename /a/../b", "not a valid socket name: /a/../b"),
        ("delete memif socket id 1", "socket 1 is in use"),
        ("delete memif socket id 5", "no socket 5"),
        ("delete interface memif local0", "not a memif interface"),
        ("show memif local0", "local0 is not a memif interface"),
    ] {
        let said = rig.attempt(line).unwrap_err();
        assert!(said.contains(why), "{line}: {said}");
    }
    rig.set("delete interface memif memif1/0\ndelete memif socket id 1");
}

#[test]
fn clients_make_and_see_the_same() {
    use api::*;
    let mut rig = Rig::new(&[FEATURE]);
    let Address(name) = socket();
    rig.talk(|local, router| {
        let add = |id, name: &str, is_add| MemifSocketFilenameAddDelV2 {
            is_add,
            socket_id: id,
            socket_filename: name.to_owned(),
        };
        assert_eq!(local.call(router, &add(u32::MAX, &name, true)).unwrap().socket_id, 1);
        let sockets = local.dump(router, &MemifSocketFilenameDump {});
        assert_eq!((sockets.len(), sockets[1].socket_filename.as_str()), (2, name.as_str()));
        let make = |role, ring_size| MemifCreateV2 {
            role,
            mode: MemifMode::ETHERNET,
            rx_queues: 0,
            tx_queues: 0,
            id: 7,
            socket_id: 1,
            ring_size,
            buffer_size: 0,
            no_zero_copy: false,
            use_dma: false,
            hw_addr: wire::MacAddr([2, 0, 0, 0, 0, 9]),
            secret: control::Secret("abc".into()),
        };
        let made = local.call(router, &make(MemifRole::SLAVE, 256)).unwrap().sw_if_index;
        let rows = local.dump(router, &MemifDump {});
        assert_eq!((rows.len(), rows[0].sw_if_index, rows[0].id), (1, made, 7));
        assert_eq!((rows[0].ring_size, rows[0].buffer_size), (256, 2048));
        assert_eq!(rows[0].if_name.as_str(), "memif1/7");
        let refused = local.call(router, &make(MemifRole::SLAVE, 256)).err();
        assert_eq!(refused, Some(control::api::Retval::SUBIF_ALREADY_EXISTS));
        let refused = local.call(router, &make(MemifRole(9), 0)).err();
        assert_eq!(refused, Some(control::api::Retval::INVALID_ARGUMENT));
        assert_eq!(
            local.call(router, &add(1, "", false)).err(),
            Some(control::api::Retval::IN_USE)
        );
        local.call(router, &MemifDelete { sw_if_index: made }).unwrap();
        assert!(local.call(router, &MemifDelete { sw_if_index: made }).is_err());
        local.call(router, &add(1, "", false)).unwrap();
    });
}

/// A peer of the test's own.
struct Stranger {
    channel: Channel,
    linked: Linked,
}

/// A router with one interface `memif1/0` that is up.
fn alone(role: &str) -> (Rig, Address) {
    let mut rig = Rig::new(&[FEATURE]);
    let address = socket();
    rig.set(&format!("create memif socket id 1 filename {}", address.0));
    rig.run(&format!("create interface memif socket-id 1 {role}"));
    rig.set("set interface state memif1/0 up");
    (rig, address)
}

fn wish() -> Wish {
    Wish {
        id: 0,
        mode: wire::memif::ETHERNET,
        secret: String::new(),
        rings: [1, 1],
        log2_ring_size: 6,
        buffer_size: 2048,
        interface: "stranger".to_owned(),
    }
}

impl Stranger {
    /// Connects as a slave to a router.
    fn slave(rig: &mut Rig, address: &Address) -> Self {
        let channel = address.connect().unwrap();
        let mut slave = Slave::new(wish());
        let mut found = None;
        until(rig, |_| {
            while let Heard::Message(message, _) = channel.hear() {
                match slave.take(&message).unwrap() {
                    Step::Say(message, file) => channel.say(&message, file).unwrap(),
                    Step::Connected(linked) => found = Some(linked),
                    Step::Closed(why) => panic!("{why}"),
                }
            }
            found.is_some()
        });
        until(rig, |rig| is_linked(rig, "memif1/0"));
        Self { channel, linked: found.unwrap() }
    }
    /// Connects a router to it.
    fn master(rig: &mut Rig, address: &Address) -> Self {
        let listener = address.listen().unwrap();
        let mut channel = None;
        until(rig, |_| {
            channel = listener.accept();
            channel.is_some()
        });
        let (channel, mut master) = (channel.unwrap(), Master::default());
        channel.say(&session::hello(), None).unwrap();
        let mut found = None;
        until(rig, |_| {
            while let Heard::Message(message, file) = channel.hear() {
                let file = file.map(control::socket::ClosedElsewhere::into_inner);
                match master.take(&message, file).unwrap() {
                    Reply::Ack | Reply::Init(_) => channel.say(&Message::Ack, None).unwrap(),
                    Reply::Connected(linked) => {
                        channel.say(&Message::Connected(Text::of("stranger")), None).unwrap();
                        found = Some(linked);
                    }
                    Reply::Closed(why) => panic!("{why}"),
                }
            }
            found.is_some()
        });
        until(rig, |rig| is_linked(rig, "memif1/0"));
        Self { channel, linked: found.unwrap() }
    }
}

fn descriptor(flags: u16, region: u16, length: u32, offset: u32) -> Descriptor {
    Descriptor { flags, region, length, offset }
}

#[test]
fn no_descriptor_of_a_slave_reaches_outside_of_its_memory() {
    let (mut rig, address) = alone("master");
    let stranger = Stranger::slave(&mut rig, &address);
    let (ring, regions) = (stranger.linked.senders[0].ring(), &stranger.linked.regions);
    let size = regions[0].size() as u32;
    rig.graph.moved_counters();
    let bad = [
        descriptor(0, 1, 60, 0),
        descriptor(0, 0xffff, 60, 0),
        descriptor(0, 0, 0, 0),
        descriptor(0, 0, 60, size - 59),
        descriptor(0, 0, u32::MAX, 1),
        descriptor(0, 0, 60, u32::MAX),
        descriptor(0, 0, size, 0),
    ];
    let mut head = 0;
    for bad in bad {
        ring.set_descriptor(head, bad);
        ring.set_descriptor(head + 1, descriptor(0, 0, 60, size - 60));
        head += 2;
        ring.set_head(head);
        let caught = rig.graph.run();
        assert_eq!((caught.len(), caught[0].bytes.len()), (1, 60), "{bad:?}");
        rig.expect(&[("memif-input", "bad_desc", 1)]);
        assert_eq!(ring.tail(), head);
    }
    // A chain around the whole ring, and one that is too long for a packet.
    (0..64).for_each(|n| ring.set_descriptor(n, descriptor(NEXT, 0, 2048, 0)));
    ring.set_head(head + 64);
    assert!(rig.graph.run().is_empty());
    rig.expect(&[("memif-input", "bad_desc", 1)]);
    ring.set_descriptor(head + 39, descriptor(0, 0, 2048, 0));
    ring.set_descriptor(head + 40, descriptor(0, 0, 70, 0));
    ring.set_head(head + 64 + 41);
    assert_eq!(rig.graph.run().len(), 1);
    rig.expect(&[("memif-input", "bad_desc", 1)]);
    // More than the ring holds is nothing, and not forever.
    let tail = ring.tail();
    ring.set_head(tail.wrapping_add(65));
    assert!(rig.graph.run().is_empty());
    ring.set_head(tail.wrapping_sub(1));
    assert!(rig.graph.run().is_empty());
    ring.set_descriptor(tail, descriptor(0, 0, 60, 0));
    ring.set_head(tail.wrapping_add(1));
    assert_eq!(rig.graph.run().len(), 1);
    rig.expect(&[]);
    // Slots to send into that are none.
    let ring = stranger.linked.receivers[0].0.ring();
    let at = ring.tail();
    ring.set_descriptor(at, descriptor(0, 3, 2048, 0));
    ring.set_descriptor(at + 1, descriptor(0, 0, 2048, size - 2047));
    rig.graph.send("memif1/0-tx", &frames([60, 60, 60]), |_| ());
    rig.expect(&[("memif1/0-tx", "bad tx slot", 2)]);
    assert_eq!(ring.tail(), at + 3);
    ring.set_head(ring.tail().wrapping_add(65));
    rig.graph.send("memif1/0-tx", &frames([60]), |_| ());
    rig.expect(&[("memif1/0-tx", "no free tx slots", 1)]);
}

#[test]
fn no_descriptor_of_a_master_moves_the_slots_of_a_slave() {
    let (mut rig, address) = alone("slave ring-size 64");
    let stranger = Stranger::master(&mut rig, &address);
    let size = stranger.linked.regions[0].size() as u32;
    let ring = stranger.linked.senders[0].ring().clone();
    rig.graph.moved_counters();
    // Where a slot is is the slave's business, how long a packet is the master's.
    ring.set_descriptor(0, descriptor(0, 9, 60, size + 5));
    ring.set_descriptor(1, descriptor(0, 0, 2049, 0));
    ring.set_descriptor(2, descriptor(0, 0, 0, 0));
    ring.set_tail(3);
    assert_eq!(rig.graph.run().len(), 1);
    rig.expect(&[("memif-input", "bad_desc", 2)]);
    assert_eq!(ring.head(), 64 + 3);
    assert_eq!(ring.descriptor(0).length, 2048);
    // The words of the slave are not the master's to write.
    ring.set_head(0x8000);
    ring.set_descriptor(3, descriptor(0, 0, 60, 0));
    ring.set_tail(4);
    assert_eq!(rig.graph.run().len(), 1);
    assert_eq!(ring.head(), 64 + 4);
    ring.set_tail(0x7000);
    assert!(rig.graph.run().is_empty());
    ring.set_tail(4);
    rig.expect(&[]);
}

#[test]
fn a_peer_may_go_at_any_moment() {
    for role in ["master", "slave"] {
        let (mut rig, address) = alone(role);
        for round in 0..3 {
            let stranger = match role {
                "master" => Stranger::slave(&mut rig, &address),
                _ => Stranger::master(&mut rig, &address),
            };
            rig.graph.send("memif1/0-tx", &frames([60; 100]), |_| ());
            if round == 1 {
                // A last word that is none.
                stranger.channel.say(&Message::Connect(Text::of("x")), None).unwrap();
                until(&mut rig, |rig| !is_linked(rig, "memif1/0"));
            }
            drop(stranger);
            until(&mut rig, |rig| !is_linked(rig, "memif1/0"));
            rig.graph.send("memif1/0-tx", &frames([60; 3]), |_| ());
            assert_eq!(rig.graph.buffers_used(), 0);
            let is_down = |rig: &mut Rig| {
                rig.control(|router| matches!(router.own::<Memifs>().list[0].link, Link::Down(_)))
            };
            assert!(is_down(&mut rig));
        }
        // Half a handshake.
        if role == "master" {
            let channel = address.connect().unwrap();
            until(&mut rig, |_| matches!(channel.hear(), Heard::Message(Message::Hello(_), None)));
            drop(channel);
            Stranger::slave(&mut rig, &address);
        }
    }
}
