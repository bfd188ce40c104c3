//! The machines of a port with each other, and a bond with another station.

use bond::{SwBondInterfaceDump, SwMemberInterfaceDump};
use graph::testing::Caught;
use lacp::*;
use net::InterfaceIndex;
use net::testing::whole::{Bench, HOST, PG1};
use net::testing::{Transmit, new_interface, packets};
use wire::MacAddr;
use wire::ethernet::{EtherType, Header};
use wire::lacp::{Marker, Party, Pdu, SLOW_PROTOCOLS, state};
use zerocopy::{FromBytes, IntoBytes};

/// The other system.
const THERE: MacAddr = MacAddr([2, 0, 0, 0, 0, 0x77]);

fn party(system: MacAddr, port: u16, state: u8) -> Party {
    Party {
        system_priority: 0x8000.into(),
        system,
        key: 9.into(),
        port_priority: 0xff.into(),
        port: port.into(),
        state,
        reserved: [0; 3],
    }
}

const USUAL: u8 = state::ACTIVITY | state::TIMEOUT | state::AGGREGATION;

/// Lets two ports talk for some seconds; what they said, in tenths of a second.
fn talk(ports: &mut [Port; 2], from: f64, seconds: f64, is_cut: bool) -> Vec<f64> {
    let mut said = Vec::new();
    for step in 0..(seconds * 10.0) as usize {
        let now = from + step as f64 / 10.0;
        for at in [0, 1] {
            if let Some(pdu) = ports[at].run(now) {
                said.push(now);
                if !is_cut {
                    ports[1 - at].hear(&pdu, now);
                    // The group of one port is its own.
                    ports[1 - at].is_selected = ports[1 - at].is_eligible();
                }
            }
        }
    }
    said
}

fn pair(states: [u8; 2]) -> [Port; 2] {
    let mut ports = [Port::new(party(PG1, 1, states[0])), Port::new(party(THERE, 2, states[1]))];
    ports.iter_mut().for_each(|port| port.set_enabled(true, 0.0));
    ports
}

#[test]
fn two_ports_agree_unless_both_only_answer() {
    let passive = USUAL & !state::ACTIVITY;
    for (states, agree) in [
        ([USUAL, USUAL], true),
        ([USUAL, passive], true),
        ([passive, passive], false),
        ([USUAL, USUAL & !state::AGGREGATION], false),
    ] {
        let mut ports = pair(states);
        let said = talk(&mut ports, 0.0, 10.0, false);
        assert_eq!(ports[0].is_distributing(), agree, "{states:?}");
        assert_eq!(said.is_empty(), states == [passive, passive]);
        if agree {
            let both = state::SYNCHRONIZATION | state::COLLECTING | state::DISTRIBUTING;
            assert!(ports.iter().all(|port| port.partner.has(both)));
        }
    }
}

#[test]
fn each_end_speaks_as_often_as_the_other_one_wants() {
    let slow = USUAL & !state::TIMEOUT;
    for (states, first, second) in
        [([USUAL, USUAL], 60, 60), ([slow, USUAL], 60, 2), ([slow, slow], 2, 2)]
    {
        let mut ports = pair(states);
        talk(&mut ports, 0.0, 40.0, false);
        let [mut one, mut two] = [0, 0];
        for step in 0..600 {
            let now = 40.0 + f64::from(step) / 10.0;
            let said = [ports[0].run(now), ports[1].run(now)];
            one += usize::from(said[0].is_some());
            two += usize::from(said[1].is_some());
            let [a, b] = &mut ports;
            said[0].inspect(|pdu| b.hear(pdu, now));
            said[1].inspect(|pdu| a.hear(pdu, now));
        }
        assert!(one.abs_diff(first) <= 1 && two.abs_diff(second) <= 1, "{states:?}: {one} {two}");
    }
}

#[test]
fn what_is_not_heard_of_any_more_expires_and_is_forgotten() {
    let mut ports = pair([USUAL, USUAL]);
    talk(&mut ports, 0.0, 10.0, false);
    assert_eq!((ports[0].rx, ports[0].mux), (Rx::Current, Mux::CollectingDistributing));
    talk(&mut ports, 10.0, 3.2, true);
    assert_eq!((ports[0].rx, ports[0].mux), (Rx::Expired, Mux::Attached));
    assert!(ports[0].actor.has(state::EXPIRED) && !ports[0].actor.has(state::COLLECTING));
    talk(&mut ports, 13.2, 3.2, true);
    assert_eq!((ports[0].rx, ports[0].mux), (Rx::Defaulted, Mux::Detached));
    assert!(ports[0].actor.has(state::DEFAULTED) && !ports[0].actor.has(state::EXPIRED));
    let of_none = Party { system: MacAddr::ZERO, state: 0, ..ports[0].actor };
    assert_eq!(ports[0].partner, of_none);
    talk(&mut ports, 17.0, 40.0, false);
    assert!(ports[0].is_distributing(), "and it comes back");
}

#[test]
fn three_frames_a_second_are_sent_at_most() {
    let mut ports = pair([USUAL, USUAL]);
    talk(&mut ports, 0.0, 10.0, false);
    let mut said = 0;
    for step in 0..100 {
        let now = 10.0 + f64::from(step) / 100.0;
        // The other end never understands.
        let wrong = Pdu::new(ports[1].actor, Party::default());
        ports[0].hear(&wrong, now);
        said += usize::from(ports[0].run(now).is_some());
    }
    assert_eq!(said, 3);
    assert!(ports[0].next().is_some_and(|at| at <= 11.1), "the fourth one waits");
}

/// The whole router with three members of a bond.
fn bench(options: &str) -> Bench {
    let mut b = Bench::plugged(&[bond::FEATURE, FEATURE]);
    b.control(|router, _| {
        let new = new_interface("pg2", MacAddr([2, 0, 0, 0, 0, 0xac]));
        let index = router.add_interface(new, Transmit).unwrap();
        router.set_admin(index, true);
    });
    assert_eq!(b.cli("create bond mode lacp load-balance l34"), "BondEthernet0\n");
    b.set("set interface state BondEthernet0 up");
    for member in ["pg1", "pg2"] {
        b.set(&format!("bond add BondEthernet0 {member} {options}"));
    }
    b
}

fn said(out: &[Caught], by: InterfaceIndex) -> Vec<Pdu> {
    let slow = |c: &&Caught| c.at == "sent" && c.tx == by.0 && c.bytes[12..15] == [0x88, 9, 1];
    out.iter().filter(slow).map(|c| Pdu::read_from_bytes(&c.bytes[14..]).unwrap()).collect()
}

/// Makes a member receive a frame.
fn hear(b: &mut Bench, on: InterfaceIndex, what: &[u8]) -> Vec<Caught> {
    let header = Header::new(SLOW_PROTOCOLS, HOST, EtherType::SLOW_PROTOCOLS);
    let frame = [header.as_bytes(), what].concat();
    let mut out = b.graph.send("bond-input", &[frame], move |p| p.set_rx(on.0));
    out.append(&mut b.settle());
    out
}

/// The other station, which agrees with all it hears, talks on some members for some seconds.
fn agree(b: &mut Bench, on: &[(InterfaceIndex, MacAddr)], seconds: usize) -> Vec<Caught> {
    let mut all = Vec::new();
    let mut known = vec![Party::default(); on.len()];
    for _ in 0..seconds {
        let mut out = b.wait(1.0);
        for ((member, system), known) in on.iter().zip(&mut known) {
            let both = state::SYNCHRONIZATION | state::COLLECTING | state::DISTRIBUTING;
            let actor = party(*system, member.0 as u16 + 100, USUAL | both);
            if let Some(last) = said(&out, *member).last() {
                *known = last.actor;
            }
            out.extend(hear(b, *member, Pdu::new(actor, *known).as_bytes()));
            if let Some(last) = said(&out, *member).last() {
                *known = last.actor;
            }
        }
        all.extend(out);
    }
    all
}

#[test]
fn a_bond_carries_packets_by_members_whose_other_ends_agree() {
    let mut b = bench("");
    let (pg1, pg2) = (b.pg1, b.interface("pg2"));
    let out = b.wait(1.0);
    let first = said(&out, pg1)[0];
    assert_eq!((first.actor.system, first.actor.port.get()), (PG1, pg1.0 as u16));
    let bond = b.interface("BondEthernet0").0 as u16;
    assert_eq!((first.actor.system_priority.get(), first.actor.key.get()), (0xffff, bond));
    let other = (first.partner.port.get(), first.partner.key.get(), first.partner.system);
    assert_eq!(other, (pg1.0 as u16, bond, MacAddr::ZERO), "one like this end, of no system");
    assert!(first.actor.has(state::DEFAULTED | state::EXPIRED));
    let frame = out.iter().find(|c| c.tx == pg2.0 && c.bytes[12..14] == [0x88, 9]).unwrap();
    assert_eq!(frame.bytes[..12], [SLOW_PROTOCOLS.0, PG1.0].concat(), "the bond's address");
    assert_eq!(frame.bytes.len(), 124);
    let active = |b: &mut Bench| {
        let sw_if_index = InterfaceIndex(u32::MAX);
        let rows = b.talk(|local, router| local.dump(router, &SwBondInterfaceDump { sw_if_index }));
        (rows[0].active_members, rows[0].members)
    };
    assert_eq!(active(&mut b), (0, 2));
    agree(&mut b, &[(pg1, THERE)], 5);
    assert_eq!(active(&mut b), (1, 2));
    assert!(b.router.interfaces.named("BondEthernet0").unwrap().link_up);
    agree(&mut b, &[(pg1, THERE), (pg2, THERE)], 5);
    assert_eq!(active(&mut b), (2, 2));
    let shown = b.cli("show lacp");
    let states = "0   0   1   1   1   1   1   1    0   0   1   1   1   1   1   1";
    assert!(shown.matches(states).count() == 2, "{shown}");
    assert!(shown.contains("(8000,02-00-00-00-00-77,0009,00ff,0066)"), "{shown}");
    assert!(shown.contains("RX-state: CURRENT, TX-state: TRANSMIT"), "{shown}");
    // One falls silent.
    agree(&mut b, &[(pg1, THERE)], 3);
    assert_eq!(active(&mut b), (1, 2));
    let rows = b.talk(|local, router| local.dump(router, &SwInterfaceLacpDump {}));
    let of = |row: &SwInterfaceLacpDetails| (row.rx_state, row.mux_state, row.ptx_state);
    assert_eq!(of(&rows[0]), (5, 3, 3));
    assert_eq!(rows[1].mux_state, 2);
    assert_eq!((rows[0].partner_system, rows[0].actor_state), (THERE, 0x3f));
    assert_eq!(rows[0].bond_interface_name.as_str(), "BondEthernet0");
    b.set("set interface state pg1 down");
    assert_eq!(active(&mut b), (0, 2));
    let rows = b.talk(|local, router| local.dump(router, &SwInterfaceLacpDump {}));
    assert_eq!(rows[0].rx_state, 1, "the port is disabled");
}

#[test]
fn a_group_has_one_other_system_until_it_is_gone() {
    let mut b = bench("");
    let (pg1, pg2, other) = (b.pg1, b.interface("pg2"), MacAddr([2, 0, 0, 0, 0, 0x78]));
    let members = |b: &mut Bench| {
        let rows = b.talk(|local, router| local.dump(router, &SwInterfaceLacpDump {}));
        rows.iter().map(|row| row.mux_state).collect::<Vec<_>>()
    };
    agree(&mut b, &[(pg1, THERE), (pg2, other)], 6);
    assert_eq!(members(&mut b), [3, 0], "two systems are no group");
    agree(&mut b, &[(pg2, other)], 12);
    assert_eq!(members(&mut b), [0, 3], "the other one takes over");
    // A cable to ourselves is no link.
    b.graph.moved_counters();
    let own = Pdu::new(party(PG1, 5, USUAL), Party::default());
    hear(&mut b, pg1, own.as_bytes());
    let moved = b.graph.moved_counters();
    assert!(moved.iter().any(|c| c.1 == "loopback port" && c.2 == 1), "{moved:?}");
}

#[test]
fn members_say_what_they_were_told_and_that_they_go() {
    let mut b = bench("passive long-timeout");
    let pg1 = b.pg1;
    assert!(said(&b.wait(5.0), pg1).is_empty(), "they only answer");
    let ask = Pdu::new(party(THERE, 3, USUAL), Party::default());
    let mut out = hear(&mut b, pg1, ask.as_bytes());
    out.extend(b.wait(0.5));
    let answer = said(&out, pg1)[0];
    assert_eq!(answer.actor.state & USUAL, state::AGGREGATION);
    assert!(answer.partner.is_same(&ask.actor));
    let out = {
        b.set("bond del pg1");
        b.settle()
    };
    assert!(said(&out, pg1).last().is_some_and(|pdu| !pdu.actor.has(state::SYNCHRONIZATION)));
    let rows = b.talk(|local, router| {
        let sw_if_index = router.interfaces.named("BondEthernet0").unwrap().index;
        local.dump(router, &SwMemberInterfaceDump { sw_if_index })
    });
    assert_eq!((rows.len(), rows[0].is_passive, rows[0].is_long_timeout), (1, true, true));
    b.set("delete bond BondEthernet0");
    assert_eq!(b.talk(|local, router| local.dump(router, &SwInterfaceLacpDump {})).len(), 0);
    assert!(said(&b.wait(3.0), pg1).is_empty());
}

#[test]
fn markers_are_answered_and_the_rest_is_counted() {
    let mut b = bench("");
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.wait(0.5);
    let marker = Marker {
        subtype: 2,
        version: 1,
        kind: 1,
        len: 16,
        port: 7.into(),
        system: THERE,
        transaction: 0x0102_0304.into(),
        pad: [0; 2],
        rest: [[0; 23]; 4],
    };
    b.set("trace add bond-input 1");
    let out = hear(&mut b, pg1, marker.as_bytes());
    let trace = b.cli("show trace");
    for line in [
        "Markerv1\n",
        "Marker Information TLV: type 1\n",
        "Marker Information TLV: length 16\n",
        "Requester port: 7\n",
        "Requester system: 02:00:00:00:00:77\n",
        "Requester transaction ID: 16909060",
    ] {
        assert!(trace.contains(line), "{trace}");
    }
    let answers: Vec<_> = out.iter().filter(|c| c.bytes[12..15] == [0x88, 9, 2]).collect();
    assert_eq!(answers.len(), 1);
    assert_eq!(
        answers[0].bytes[6..12],
        PG1.0,
        "from the bond, which has its first member's address"
    );
    let answer = Marker::read_from_bytes(&answers[0].bytes[14..]).unwrap();
    assert_eq!(answer, Marker { kind: 2, ..marker });
    b.graph.moved_counters();
    let good = Pdu::new(party(THERE, 3, USUAL), Party::default());
    hear(&mut b, pg1, good.as_bytes());
    hear(&mut b, pg1, good.as_bytes());
    hear(&mut b, pg1, &good.as_bytes()[..109]);
    hear(&mut b, pg1, Pdu { partner_element: [2, 19], ..good }.as_bytes());
    hear(&mut b, pg1, &[3; 110]);
    hear(&mut b, pg0, good.as_bytes());
    let mut moved = b.graph.moved_counters();
    moved.retain(|c| c.0 == "lacp-input");
    for text in [
        "good lacp packets -- consumed",
        "good lacp packets -- cache hit",
        "bad lacp packets -- packet too small",
        "bad lacp packets -- bad TLV length",
        "unsupported slow protocol packets",
        "lacp packets received on disabled interfaces",
    ] {
        assert!(moved.iter().any(|c| c.1 == text && c.2 == 1), "{text}: {moved:?}");
    }
    assert_eq!(moved.len(), 6);
    for (line, error) in [
        ("debug lacp pg0 on", "is not an LACP member"),
        ("debug lacp pg1", "expected on or off"),
        ("debug lacp", "expected on or off"),
        ("debug lacp pg9 on", "unknown interface `pg9 on'"),
        ("show lacp pg0", "is not an LACP member"),
        ("show lacp pg9", "unknown interface"),
    ] {
        let said = b.cli(line);
        assert!(said.contains(error), "{line}: {said}");
    }
    let told = |b: &Bench, text: &str| {
        b.router.log.entries().iter().filter(|entry| entry.text.starts_with(text)).count()
    };
    b.set("debug lacp pg1 on");
    b.set("set interface state pg1 down");
    assert!(told(&b, "pg1: receive PORT_DISABLED") > 0);
    assert_eq!(told(&b, "pg2: "), 0);
    b.set("debug lacp on");
    b.set("set interface state pg2 down");
    assert!(told(&b, "pg2: receive PORT_DISABLED") > 0);
    let before = told(&b, "pg2: ");
    b.set("debug lacp off");
    b.set("set interface state pg2 up");
    assert_eq!(told(&b, "pg2: "), before);
}

#[test]
fn packets_of_a_member_that_does_not_carry_any_are_dropped() {
    let mut b = bench("");
    let ip = packets::udp4("10.9.0.2", "10.0.0.2", 9, &[7; 20]);
    let frame = [Header::new(PG1, HOST, EtherType::IP4).as_bytes(), &ip].concat();
    let pg1 = b.pg1;
    b.graph.moved_counters();
    b.graph.send("bond-input", &[frame], move |p| p.set_rx(pg1.0));
    let moved = b.graph.moved_counters();
    let text = "traffic received on passive interface";
    assert!(moved.iter().any(|c| c.1 == text && c.2 == 1), "{moved:?}");
}
