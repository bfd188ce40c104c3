//! Answers that clients over IPv6 take, ignore or decline.

use std::net::Ipv6Addr;

use dhcp::{Dhcp6ClientsEnableDisable, Dhcp6PdReplyEvent, Dhcpv6MsgType, WantDhcp6PdReplyEvents};
use net::testing::Rig;
use wire::dhcp6::{Header, INFINITE, Lease, kind, option};
use wire::{Protocol, checksum, ip6};
use zerocopy::IntoBytes;

use super::dhcp6::*;

/// The two kinds of leases: how a client begins, its option, and two leases of the kind.
fn kinds() -> [(&'static str, u16, [&'static str; 2], u8, &'static str); 2] {
    [
        (
            "dhcp6 client pg2",
            option::IA_NA,
            ["2001:db8:7::9", "2001:db8:7::a"],
            128,
            "show dhcp6 addresses",
        ),
        (PD, option::IA_PD, ["2001:db8:aa00::", "2001:db8:bb00::"], 56, "show ip6 prefixes"),
    ]
}

#[test]
fn replies_that_make_no_sense_are_ignored_and_the_request_goes_on() {
    for (line, code, [one, other], len, show) in kinds() {
        let mut rig = bench();
        let asked = solicit(&mut rig, line);
        let leases = [lease(one, len, 60, 100)];
        let given = Given { code, leases: &leases, times: (20, 40), ..NOTHING };
        let offer = answer(&asked, kind::ADVERTISE, &given);
        let request = only(receive(&mut rig, &offer), kind::REQUEST);
        let (odd, never) = ([lease(one, len, 101, 100)], [lease(one, len, 0, 0)]);
        let bad = [
            (kind::ADVERTISE, given),
            (kind::REPLY, Given { times: (50, 30), ..given }),
            (kind::REPLY, Given { leases: &odd, ..given }),
            (kind::REPLY, Given { leases: &never, ..given }),
        ];
        for (kind, bad) in bad {
            assert!(receive(&mut rig, &answer(&request, kind, &bad)).is_empty());
            assert_eq!(rig.run(show), "");
        }
        let again = only(wait(&mut rig, 1.2), kind::REQUEST);
        assert_ne!(find(&again, option::ELAPSED), Some(&[0, 0][..]));
        // One of two is good.
        let mixed = [odd[0], lease(other, len, 60, 100)];
        receive(&mut rig, &answer(&again, kind::REPLY, &Given { leases: &mixed, ..given }));
        let shown = rig.run(show);
        assert!(shown.contains(other) && !shown.contains(one), "{shown}");
    }
}

#[test]
fn times_of_zero_are_left_to_the_client_and_order_is_kept() {
    for (line, code, [one, _], len, _) in kinds() {
        for (times, leases, expected) in [
            ((0, 0), (100, 200), Some((50.0, 80.0))),
            ((0, 30), (100, 200), Some((30.0, 30.0))),
            ((90, 0), (100, 200), Some((90.0, 90.0))),
            ((0, 0), (0, 100), Some((50.0, 80.0))),
            ((0, 0), (INFINITE, INFINITE), None),
        ] {
            let mut rig = bench();
            let leases = [lease(one, len, leases.0, leases.1)];
            let given = Given { code, leases: &leases, times, ..NOTHING };
            bind(&mut rig, line, &given);
            let show =
                if code == option::IA_NA { "show dhcp6 clients" } else { "show ip6 pd clients" };
            let shown = rig.run(show);
            let at = |name: &str| -> Option<f64> {
                let rest = shown.split_once(&format!("{name} in "))?.1;
                rest.split(' ').next()?.parse().ok()
            };
            let is_near = |(a, b): (f64, f64)| {
                let near =
                    |has: Option<f64>, at: f64| has.is_some_and(|has| (has - at).abs() < 1.0);
                near(at("T1"), a) && near(at("T2"), b)
            };
            assert!(expected.map_or(at("T1").is_none(), is_near), "{times:?}: {shown}");
        }
    }
}

#[test]
fn a_server_without_leases_yet_is_asked_again_when_it_says() {
    let mut rig = bench();
    let asked = solicit(&mut rig, "dhcp6 client pg2");
    let later = Given { times: (5, 8), ..NOTHING };
    let offer = answer(&asked, kind::ADVERTISE, &later);
    let request = only(receive(&mut rig, &offer), kind::REQUEST);
    assert!(receive(&mut rig, &answer(&request, kind::REPLY, &later)).is_empty());
    let renew = wait(&mut rig, 5.5);
    let rebind = wait(&mut rig, 3.0);
    assert_eq!((kind_of(&renew[0]), kind_of(&rebind[0])), (kind::RENEW, kind::REBIND));
}

#[test]
fn an_address_that_cannot_be_used_is_declined_and_asked_for_later() {
    let mut rig = bench();
    rig.set("set interface ip address pg0 2001:db8:7::9/64");
    let asked = solicit(&mut rig, "dhcp6 client pg2");
    let leases = [lease("2001:db8:7::9", 128, 60, 100)];
    let given = Given { leases: &leases, ..NOTHING };
    let request = only(receive(&mut rig, &answer(&asked, kind::ADVERTISE, &given)), kind::REQUEST);
    let decline = only(receive(&mut rig, &answer(&request, kind::REPLY, &given)), kind::DECLINE);
    assert_eq!(find(&decline, option::SERVER_ID), Some(SERVER));
    let of = association(&decline, option::IA_NA).options;
    assert_eq!(Lease::read_address(&of[4..]).unwrap().0.addr, leases[0].addr);
    assert!(wait(&mut rig, 9.5).is_empty(), "it waits ten seconds");
    only(wait(&mut rig, 1.6), kind::SOLICIT);
}

#[test]
fn the_time_of_an_exchange_begins_with_its_first_message() {
    let mut rig = bench();
    rig.set("set interface state pg2 down");
    rig.set("enable ip6 interface pg2");
    let pg2 = rig.interface("pg2");
    settle(&mut rig);
    rig.talk(|talker, router| {
        let mut solicit = message(Dhcpv6MsgType::SOLICIT, pg2, false);
        solicit.message.mrc = 0;
        talker.call(router, &solicit).unwrap();
    });
    assert!(wait(&mut rig, 3.0).is_empty());
    rig.set("set interface state pg2 up");
    let mut sent = settle(&mut rig);
    while sent.is_empty() {
        sent = wait(&mut rig, 0.5);
    }
    assert_eq!(find(&sent[0], option::ELAPSED), Some(&[0, 0][..]));
}

#[test]
fn answers_from_beyond_the_link_are_not_taken() {
    let mut rig = bench();
    rig.set("enable ip6 interface pg2");
    rig.set("set interface ip address pg2 2001:db8:2::1/64");
    let pg2 = rig.interface("pg2");
    settle(&mut rig);
    rig.talk(|talker, router| {
        talker.call(router, &Dhcp6ClientsEnableDisable { enable: true }).unwrap();
        talker.call(router, &message(Dhcpv6MsgType::SOLICIT, pg2, false)).unwrap();
    });
    let solicit = only(settle(&mut rig), kind::SOLICIT);
    let leases = [lease("2001:db8:aa00::", 56, 60, INFINITE)];
    let given = Given { code: option::IA_PD, times: (20, 40), leases: &leases, ..NOTHING };
    let forged = answer(&solicit, kind::ADVERTISE, &given);
    for (to, count) in [("2001:db8:2::1", 0), (OWN, 1)] {
        queue_to(&mut rig, to, &forged);
        rig.talk(|talker, router| {
            let want = WantDhcp6PdReplyEvents { enable_disable: true, pid: 7 };
            talker.call(router, &want).unwrap();
            router.handle_events();
            assert_eq!(talker.events::<Dhcp6PdReplyEvent>().len(), count, "{to}");
        });
    }
}

/// A datagram to an address of ours, received on pg0 or pg1; the frames sent then.
fn datagram(rig: &mut Rig, on: &str, ends: [(&str, u16); 2], message: &[u8]) -> Vec<Vec<u8>> {
    let [(src, from), (dst, to)] = ends;
    let [src, dst]: [Ipv6Addr; 2] = [src, dst].map(|addr| addr.parse().unwrap());
    let len = (8 + message.len()) as u16;
    let mut udp = wire::udp::Header::new(from, to, len);
    let sum = checksum::ip6_pseudo(src.octets(), dst.octets(), Protocol::UDP, len.into());
    udp.checksum = sum.add_bytes(udp.as_bytes()).add_bytes(message).udp_checksum();
    let ip = ip6::Header::new(src, dst, Protocol::UDP, len);
    let packet = [ip.as_bytes(), udp.as_bytes(), message].concat();
    let rx = rig.interface(on).0;
    let mut out = rig.graph.send("ip6-input", &[packet], move |p| p.set_rx(rx));
    rig.control(|router| router.run_due());
    out.append(&mut rig.graph.run());
    out.retain(|c| c.at == "sent" && c.bytes.get(20) == Some(&17));
    out.into_iter().map(|c| c.bytes).collect()
}

#[test]
fn servers_answer_a_relay_at_the_port_of_relays_and_at_that_of_clients() {
    let mut rig = bench();
    rig.set("set dhcpv6 proxy server 2001:db8:1::2 src-address 2001:db8:1::1");
    let solicit = Header { kind: kind::SOLICIT, transaction: [1, 2, 3] }.bytes();
    let asked = [("fe80::9", 546), ("ff02::1:2", 547)];
    let forward = datagram(&mut rig, "pg0", asked, &solicit).remove(0);
    assert_eq!(forward[54..58], [2, 34, 2, 35], "from the port of clients to that of servers");
    for (port, from_client, kinds) in [
        (547, false, [kind::RELAY_REPLY, kind::ADVERTISE]),
        (546, false, [kind::RELAY_REPLY, kind::ADVERTISE]),
        (547, true, [kind::RELAY_REPLY, kind::RELAY_REPLY]),
    ] {
        // The reply to what was forwarded, to the client or to a relay in between.
        let mut reply = forward[FRONT..].to_vec();
        assert_eq!(reply[0], kind::RELAY_FORWARD);
        let at = reply.windows(4).position(|bytes| bytes == solicit).unwrap();
        (reply[0], reply[at]) = (kinds[0], kinds[1]);
        let ends = [("2001:db8:1::2", 547), ("2001:db8:1::1", port)];
        let answers = datagram(&mut rig, "pg1", ends, &reply);
        assert_eq!(answers.len(), 1, "{port}");
        assert_eq!(answers[0][38..54], asked[0].0.parse::<Ipv6Addr>().unwrap().octets());
        let to = if from_client { [2, 35] } else { [2, 34] };
        assert_eq!(answers[0][56..58], to, "{port}");
        assert_eq!(answers[0][FRONT], kinds[1]);
    }
}
