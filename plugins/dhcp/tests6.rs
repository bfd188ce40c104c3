//! Clients over IPv6: messages, timers, leases, and addresses that are made of prefixes.

use std::net::Ipv6Addr;

use control::api::Retval;
use control::api::types::Ip6Prefix;
use dhcp::*;
use graph::testing::Caught;
use net::InterfaceIndex;
use net::interface::Kind;
use net::testing::Rig;
use net::tunnel::testing::rig;
use wire::dhcp6::{self, Association, Header, INFINITE, Lease, kind, option, status};
use wire::{Protocol, checksum, ip6};
use zerocopy::IntoBytes;

/// Bytes in front of a message, with Ethernet.
pub(super) const FRONT: usize = 62;
pub(super) const SERVER: &[u8] = b"\0\x03\0\x01server";
pub(super) const OWN: &str = "fe80::ff:fe00:2";

pub(super) fn bench() -> Rig {
    let mut rig = rig(FEATURE);
    rig.add_interface("pg2", Kind::Ethernet, 2);
    settle(&mut rig);
    rig
}

fn sent(out: &[Caught]) -> Vec<Vec<u8>> {
    let is_it = |c: &&Caught| {
        let b = &c.bytes;
        c.at == "sent" && b.len() > FRONT && b[20] == 17 && b[56..58] == [2, 35]
    };
    out.iter().filter(is_it).map(|c| c.bytes[FRONT..].to_vec()).collect()
}

/// Makes control do its work; returns the messages sent.
pub(super) fn settle(rig: &mut Rig) -> Vec<Vec<u8>> {
    let mut all = sent(&rig.graph.run());
    for _ in 0..4 {
        rig.control(|router| router.run_due());
        all.extend(sent(&rig.graph.run()));
    }
    all
}

/// Messages that are sent until so many seconds have passed.
pub(super) fn wait(rig: &mut Rig, seconds: f64) -> Vec<Vec<u8>> {
    rig.control(|router| router.engine.clock().adjust(seconds));
    settle(rig)
}

pub(super) fn kind_of(message: &[u8]) -> u8 {
    message[0]
}

/// The only message, of this type.
#[track_caller]
pub(super) fn only(mut all: Vec<Vec<u8>>, kind: u8) -> Vec<u8> {
    assert_eq!(all.iter().map(|m| kind_of(m)).collect::<Vec<_>>(), [kind]);
    all.remove(0)
}

pub(super) fn find(message: &[u8], code: u16) -> Option<&[u8]> {
    dhcp6::find(&message[4..], code)
}

pub(super) fn association(message: &[u8], code: u16) -> Association<'_> {
    Association::read(find(message, code).unwrap()).unwrap()
}

/// Parameters from a server.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) code: u16,
    pub(super) times: (u32, u32),
    pub(super) leases: &'a [Lease],
    pub(super) status: u16,
    pub(super) more: &'a [(u16, &'a [u8])],
}

pub(super) const NOTHING: Given<'_> =
    Given { code: option::IA_NA, times: (0, 0), leases: &[], status: 0, more: &[] };

pub(super) fn answer(asked: &[u8], kind: u8, given: &Given<'_>) -> Vec<u8> {
    let header = dhcp6::read(asked).unwrap().0;
    let mut bytes = Header { kind, ..header }.bytes().to_vec();
    dhcp6::put(&mut bytes, option::CLIENT_ID, &[find(asked, option::CLIENT_ID).unwrap()]);
    dhcp6::put(&mut bytes, option::SERVER_ID, &[SERVER]);
    let mut leases = Vec::new();
    for lease in given.leases {
        match given.code {
            option::IA_NA => lease.put_address(&mut leases),
            _ => lease.put_prefix(&mut leases),
        }
    }
    if given.status != 0 {
        dhcp6::put(&mut leases, option::STATUS, &[&given.status.to_be_bytes()]);
    }
    let id = association(asked, given.code).id;
    Association { id, t1: given.times.0, t2: given.times.1, options: &leases }
        .put(&mut bytes, given.code);
    given.more.iter().for_each(|(code, value)| dhcp6::put(&mut bytes, *code, &[value]));
    bytes
}

/// A server's message is received; returns the messages sent then.
pub(super) fn receive(rig: &mut Rig, message: &[u8]) -> Vec<Vec<u8>> {
    let mut all = queue(rig, message);
    all.extend(settle(rig));
    all
}

/// A server's message is received, and control has not handled it yet.
fn queue(rig: &mut Rig, message: &[u8]) -> Vec<Vec<u8>> {
    queue_to(rig, OWN, message)
}

/// The same at one of our addresses.
pub(super) fn queue_to(rig: &mut Rig, to: &str, message: &[u8]) -> Vec<Vec<u8>> {
    let [src, dst]: [Ipv6Addr; 2] = ["fe80::1".parse().unwrap(), to.parse().unwrap()];
    let len = (8 + message.len()) as u16;
    let mut udp = wire::udp::Header::new(547, 546, len);
    let sum = checksum::ip6_pseudo(src.octets(), dst.octets(), Protocol::UDP, len.into());
    udp.checksum = sum.add_bytes(udp.as_bytes()).add_bytes(message).udp_checksum();
    let ip = ip6::Header::new(src, dst, Protocol::UDP, len);
    let packet = [ip.as_bytes(), udp.as_bytes(), message].concat();
    let rx = rig.interface("pg2").0;
    sent(&rig.graph.send("ip6-input", &[packet], move |p| p.set_rx(rx)))
}

pub(super) fn lease(addr: &str, len: u8, preferred: u32, valid: u32) -> Lease {
    Lease { addr: addr.parse().unwrap(), len, preferred, valid }
}

/// Begins with a command; the first message.
pub(super) fn solicit(rig: &mut Rig, line: &str) -> Vec<u8> {
    rig.set(line);
    let mut all = settle(rig);
    all.extend(wait(rig, 1.0));
    only(all, kind::SOLICIT)
}

/// Carries a client on to its leases; the request.
pub(super) fn bind(rig: &mut Rig, line: &str, given: &Given<'_>) -> Vec<u8> {
    let solicit = solicit(rig, line);
    let best = Given { more: &[(option::PREFERENCE, &[255])], ..*given };
    let request = only(receive(rig, &answer(&solicit, kind::ADVERTISE, &best)), kind::REQUEST);
    assert_eq!(find(&request, option::SERVER_ID), Some(SERVER));
    assert!(receive(rig, &answer(&request, kind::REPLY, given)).is_empty());
    request
}

pub(super) const PD: &str = "dhcp6 pd client pg2 prefix group wan";

#[test]
fn a_client_gets_an_address_and_gives_it_back() {
    let mut rig = bench();
    let leases = [lease("2001:db8:7::9", 128, 60, 100)];
    let given = Given { times: (30, 50), leases: &leases, ..NOTHING };
    let request = bind(&mut rig, "dhcp6 client pg2", &given);
    let duid = find(&request, option::CLIENT_ID).unwrap();
    assert_eq!(duid, [0, 3, 0, 1, 2, 0, 0, 0, 0, 0], "of the first interface");
    assert_eq!(find(&request, option::ELAPSED), Some(&[0, 0][..]));
    assert_eq!(find(&request, option::REQUESTED), Some(&[0, 23, 0, 82][..]));
    let asked = association(&request, option::IA_NA);
    assert_eq!(asked.id, 1);
    let wish = Lease::read_address(&asked.options[4..]).map(|(lease, _)| lease);
    assert_eq!(wish, Some(lease("2001:db8:7::9", 128, 0, 0)), "times are up to the server");
    assert!(rig.run("show dhcp6 addresses").starts_with("pg2 2001:db8:7::9/128 preferred "));
    assert!(rig.run("show dhcp6 clients").starts_with("pg2 state bound server 0 T1 in "));
    assert!(rig.run("show ip6 fib 2001:db8:7::9/128").contains("2001:db8:7::9/128"));
    let configuration = rig.run("show configuration");
    assert!(configuration.contains("dhcp6 client pg2\n") && !configuration.contains("db8:7::9"));
    rig.set("dhcp6 client pg2 disable");
    let release = only(settle(&mut rig), kind::RELEASE);
    assert_eq!(find(&release, option::SERVER_ID), Some(SERVER));
    assert!(!rig.run("show ip6 fib").contains("db8:7::9"));
    assert!(!rig.run("show configuration").contains("dhcp6"));
    assert!(wait(&mut rig, 60.0).is_empty(), "it is said once");
}

#[test]
fn leases_are_renewed_then_rebound_and_end() {
    let mut rig = bench();
    let leases = [lease("2001:db8:7::9", 128, 60, 100)];
    let given = Given { times: (30, 50), leases: &leases, ..NOTHING };
    bind(&mut rig, "dhcp6 client pg2", &given);
    let renew = only(wait(&mut rig, 30.5), kind::RENEW);
    assert_eq!(find(&renew, option::SERVER_ID), Some(SERVER));
    assert_eq!(
        Lease::read_address(&association(&renew, option::IA_NA).options[4..]).unwrap().0.addr,
        leases[0].addr
    );
    let later = [lease("2001:db8:7::9", 128, 600, 1000)];
    let more = Given { times: (0, 0), leases: &later, ..NOTHING };
    receive(&mut rig, &answer(&renew, kind::REPLY, &more));
    assert!(wait(&mut rig, 299.0).is_empty(), "T1 is half of what is preferred");
    only(wait(&mut rig, 2.0), kind::RENEW);
    let rebind = wait(&mut rig, 180.0);
    assert_eq!(kind_of(rebind.last().unwrap()), kind::REBIND);
    assert_eq!(find(rebind.last().unwrap(), option::SERVER_ID), None, "any server is asked");
    let mut after = wait(&mut rig, 520.0);
    assert!(!rig.run("show ip6 fib").contains("db8:7::9"), "it has ended");
    after.extend(wait(&mut rig, 1.0));
    assert_eq!(kind_of(after.last().unwrap()), kind::SOLICIT);
}

#[test]
fn a_server_without_the_lease_is_asked_for_it() {
    let mut rig = bench();
    let leases = [lease("2001:db8:7::9", 128, 60, 100)];
    let given = Given { times: (30, 50), leases: &leases, ..NOTHING };
    bind(&mut rig, "dhcp6 client pg2", &given);
    let renew = only(wait(&mut rig, 31.0), kind::RENEW);
    let none = Given { status: status::NO_BINDING, ..NOTHING };
    let request = only(receive(&mut rig, &answer(&renew, kind::REPLY, &none)), kind::REQUEST);
    assert_eq!(find(&request, option::SERVER_ID), Some(SERVER));
    let zero = [lease("2001:db8:7::9", 128, 0, 0), lease("2001:db8:7::a", 128, 60, 100)];
    let other = Given { leases: &zero, ..given };
    receive(&mut rig, &answer(&request, kind::REPLY, &other));
    let shown = rig.run("show dhcp6 addresses");
    assert!(shown.contains("7::a/128") && !shown.contains("7::9/128"), "{shown}");
}

#[test]
fn the_first_offer_that_can_be_used_is_taken_at_once() {
    let mut rig = bench();
    let asked = solicit(&mut rig, "dhcp6 client pg2");
    let leases = [lease("2001:db8:7::9", 128, 60, 100)];
    let odd = [lease("2001:db8:7::9", 128, 100, 60)];
    let good = Given { leases: &leases, ..NOTHING };
    let bad = [
        answer(&asked, kind::ADVERTISE, &NOTHING),
        answer(&asked, kind::ADVERTISE, &Given { status: status::NO_ADDRESS, ..good }),
        answer(&asked, kind::ADVERTISE, &Given { times: (50, 30), ..good }),
        answer(&asked, kind::ADVERTISE, &Given { leases: &odd, ..good }),
        answer(&asked, kind::REPLY, &good),
    ];
    for message in &bad {
        assert!(receive(&mut rig, message).is_empty());
    }
    let offer = answer(&asked, kind::ADVERTISE, &good);
    let count = |rig: &mut Rig, message: &[u8], why: &str| {
        rig.graph.moved_counters();
        assert!(receive(rig, message).is_empty(), "{why}");
        let moved = rig.graph.moved_counters();
        assert!(moved.iter().any(|m| (m.0.as_str(), m.1) == ("dhcpv6-client", why)), "{moved:?}");
    };
    let mut other = offer.clone();
    other[1] ^= 1;
    count(&mut rig, &other, "no DHCPv6 message waits for the answer");
    let mut other = offer.clone();
    other[8] ^= 1;
    count(&mut rig, &other, "DHCPv6 answer is for another client");
    count(&mut rig, &offer[..20], "DHCPv6 message is malformed");
    for kind in [kind::SOLICIT, kind::REQUEST, kind::RENEW, kind::RELEASE, 10] {
        let other = [&[kind], &offer[1..]].concat();
        count(&mut rig, &other, "DHCPv6 message is no answer to a client");
    }
    let again = wait(&mut rig, 1.2);
    assert_eq!(kind_of(&again[0]), kind::SOLICIT, "the exchange goes on");
    let elapsed = |message: &[u8]| find(message, option::ELAPSED).unwrap().to_vec();
    assert_eq!(elapsed(&asked), [0, 0]);
    assert_ne!(elapsed(&again[0]), [0, 0]);
    let request = only(receive(&mut rig, &offer), kind::REQUEST);
    assert_eq!(find(&request, option::SERVER_ID), Some(SERVER));
    assert_eq!(elapsed(&request), [0, 0]);
}

#[test]
fn solicitations_come_at_growing_intervals() {
    let mut rig = bench();
    solicit(&mut rig, "dhcp6 client pg2");
    let mut at = Vec::new();
    for tenth in 1..160 {
        if !wait(&mut rig, 0.1).is_empty() {
            at.push(f64::from(tenth) / 10.0);
        }
    }
    let gaps: Vec<_> = [&[0.0], &at[..]].concat().windows(2).map(|w| w[1] - w[0]).collect();
    assert!((3..=4).contains(&gaps.len()), "{gaps:?}");
    assert!(gaps.windows(2).all(|w| w[1] / w[0] > 1.5), "{gaps:?}");
}

#[test]
fn addresses_are_made_of_prefixes() {
    let mut rig = bench();
    rig.set("set ip6 address pg1 prefix group wan ::1:0:0:0:7/64");
    rig.set("set ip6 address pg0 prefix group lan ::7/64");
    assert_eq!(rig.run("show ip6 addresses").lines().count(), 2);
    let leases = [lease("2001:db8:aa00::", 56, 60, 100), lease("2001:db8:bb00::", 56, 200, 300)];
    let given = Given { code: option::IA_PD, times: (30, 50), leases: &leases, ..NOTHING };
    bind(&mut rig, PD, &given);
    assert!(rig.run("show ip6 prefixes").starts_with("pg2 2001:db8:aa00::/56 prefix group wan"));
    assert!(rig.run("show ip6 addresses").contains("address 2001:db8:aa00:1::7/64"));
    assert!(rig.run("show interface address pg1").contains("2001:db8:aa00:1::7/64"));
    assert!(!rig.run("show interface address pg0").contains("::7/64"), "of another group");
    // What is not used does not go back to the provider (RFC 7084 WPD-5).
    assert!(rig.run("show ip6 fib 2001:db8:aa00:99::1").contains("unreach"));
    wait(&mut rig, 61.0);
    assert!(rig.run("show interface address pg1").contains("2001:db8:bb00:1::7/64"), "preferred");
    let configuration = rig.run("show configuration");
    assert!(configuration.contains(PD), "{configuration}");
    assert!(configuration.contains("set ip6 address pg1 prefix group wan ::1:0:0:0:7/64\n"));
    assert!(!configuration.contains("bb00"));
    wait(&mut rig, 250.0);
    assert!(!rig.run("show interface address pg1").contains("::7/64"), "all have ended");
    assert!(!rig.run("show ip6 fib").contains("2001:db8:aa00"));
    rig.set("set ip6 address pg1 prefix group wan ::1:0:0:0:7/64 del");
    rig.set("set ip6 address pg0 prefix group lan ::7/64 del");
    rig.set("dhcp6 pd client pg2 disable");
    assert!(!rig.run("show configuration").contains("group"));
}

#[test]
fn a_link_that_was_down_is_asked_about() {
    let mut rig = bench();
    let leases = [lease("2001:db8:7::9", 128, 600, 1000)];
    let given = Given { leases: &leases, ..NOTHING };
    bind(&mut rig, "dhcp6 client pg2", &given);
    rig.set("set interface state pg2 down");
    assert!(settle(&mut rig).is_empty());
    rig.set("set interface state pg2 up");
    let confirm = only(settle(&mut rig), kind::CONFIRM);
    assert_eq!(find(&confirm, option::SERVER_ID), None);
    let code = status::NOT_ON_LINK.to_be_bytes();
    let moved = Given { more: &[(option::STATUS, &code)], ..NOTHING };
    let mut after = receive(&mut rig, &answer(&confirm, kind::REPLY, &moved));
    assert_eq!(rig.run("show dhcp6 addresses"), "");
    after.extend(wait(&mut rig, 1.0));
    only(after, kind::SOLICIT);
}

pub(super) fn message(
    msg_type: Dhcpv6MsgType,
    on: InterfaceIndex,
    stop: bool,
) -> Dhcp6PdSendClientMessage {
    let prefix = Ip6Prefix { address: "2001:db8:aa00::".parse().unwrap(), len: 56 };
    Dhcp6PdSendClientMessage {
        message: ClientMessage {
            sw_if_index: on,
            server_index: u32::MAX,
            irt: 1,
            mrt: 2,
            mrc: 3,
            mrd: 0,
            stop,
            msg_type,
            t1: 20,
            t2: 40,
        },
        prefixes: vec![Dhcp6PdPrefixInfo { prefix, valid_time: INFINITE, preferred_time: 60 }],
    }
}

#[test]
fn programs_send_messages_and_hear_of_answers() {
    let mut rig = bench();
    rig.set("enable ip6 interface pg2");
    let pg2 = rig.interface("pg2");
    settle(&mut rig);
    rig.talk(|talker, router| {
        talker.call(router, &Dhcp6DuidLlSet { duid_ll: *b"\0\x03\0\x01abcdef" }).unwrap();
        let bad = Dhcp6DuidLlSet { duid_ll: *b"\0\x01\0\x01abcdef" };
        assert_eq!(talker.call(router, &bad).unwrap_err(), Retval::INVALID_VALUE);
        talker.call(router, &Dhcp6ClientsEnableDisable { enable: true }).unwrap();
        let unknown = message(Dhcpv6MsgType::SOLICIT, InterfaceIndex(99), false);
        assert_eq!(talker.call(router, &unknown).unwrap_err(), Retval::INVALID_SW_IF_INDEX);
        let odd = message(Dhcpv6MsgType::REPLY, pg2, false);
        assert_eq!(talker.call(router, &odd).unwrap_err(), Retval::INVALID_VALUE);
        talker.call(router, &message(Dhcpv6MsgType::SOLICIT, pg2, false)).unwrap();
    });
    let solicit = only(settle(&mut rig), kind::SOLICIT);
    assert_eq!(find(&solicit, option::CLIENT_ID), Some(&b"\0\x03\0\x01abcdef"[..]));
    let asked = association(&solicit, option::IA_PD);
    assert_eq!((asked.id, asked.t1, asked.t2), (1, 20, 40));
    let leases = [lease("2001:db8:aa00::", 56, 60, INFINITE)];
    assert_eq!(Lease::read_prefix(&asked.options[4..]), Some((leases[0], 0)));
    let more: &[(u16, &[u8])] = &[(option::PREFERENCE, &[9]), (option::STATUS, &[0, 1])];
    let (times, code) = ((20, 40), option::IA_PD);
    let given = Given { code, times, leases: &leases, status: status::NO_PREFIX, more };
    queue(&mut rig, &answer(&solicit, kind::ADVERTISE, &given));
    rig.talk(|talker, router| {
        let want = WantDhcp6PdReplyEvents { enable_disable: true, pid: 7 };
        talker.call(router, &want).unwrap();
        router.handle_events();
        let events = talker.events::<Dhcp6PdReplyEvent>();
        let prefix = message(Dhcpv6MsgType::SOLICIT, pg2, false).prefixes[0];
        let expected = Dhcp6PdReplyEvent {
            sw_if_index: pg2,
            server_index: 0,
            msg_type: Dhcpv6MsgType::ADVERTISE,
            t1: 20,
            t2: 40,
            inner_status_code: status::NO_PREFIX,
            status_code: 1,
            preference: 9,
            prefixes: vec![prefix],
        };
        assert_eq!(events, [expected]);
    });
    assert_eq!(wait(&mut rig, 1.2).len(), 1);
    assert_eq!(wait(&mut rig, 3.0).len(), 1, "three in all");
    assert_eq!(wait(&mut rig, 9.0).len(), 0);
    rig.talk(|talker, router| {
        let mut to_one = message(Dhcpv6MsgType::REQUEST, pg2, false);
        to_one.message.server_index = 5;
        assert_eq!(talker.call(router, &to_one).unwrap_err(), Retval::NO_SUCH_ENTRY);
        to_one.message.server_index = 0;
        talker.call(router, &to_one).unwrap();
        to_one.message.stop = true;
        talker.call(router, &to_one).unwrap();
    });
    let request = only(settle(&mut rig), kind::REQUEST);
    assert_eq!(find(&request, option::SERVER_ID), Some(SERVER));
    assert!(wait(&mut rig, 9.0).is_empty(), "it was stopped");
}

#[test]
fn a_message_takes_the_place_of_one_of_another_type() {
    let mut rig = bench();
    rig.set("enable ip6 interface pg2");
    let pg2 = rig.interface("pg2");
    settle(&mut rig);
    rig.talk(|talker, router| {
        talker.call(router, &Dhcp6ClientsEnableDisable { enable: true }).unwrap();
        let want = WantDhcp6PdReplyEvents { enable_disable: true, pid: 7 };
        talker.call(router, &want).unwrap();
    });
    let leases = [lease("2001:db8:aa00::", 56, 60, INFINITE)];
    rig.talk(|talker, router| {
        for kind in [Dhcpv6MsgType::SOLICIT, Dhcpv6MsgType::RENEW] {
            talker.call(router, &message(kind, pg2, false)).unwrap();
        }
    });
    let kinds: Vec<_> = settle(&mut rig).iter().map(|m| kind_of(m)).collect();
    assert_eq!(kinds, [kind::SOLICIT, kind::RENEW]);
    let renew = only(wait(&mut rig, 1.2), kind::RENEW);
    let given = Given { code: option::IA_PD, times: (50, 40), leases: &leases, ..NOTHING };
    queue(&mut rig, &answer(&renew, kind::REPLY, &given));
    rig.talk(|talker, router| {
        router.handle_events();
        assert_eq!(talker.events::<Dhcp6PdReplyEvent>().len(), 0, "T1 is behind T2");
        talker.call(router, &message(Dhcpv6MsgType::SOLICIT, pg2, true)).unwrap();
    });
    assert!(wait(&mut rig, 9.0).is_empty());
}

#[test]
fn what_cannot_be_is_refused() {
    let mut rig = bench();
    for (line, why) in [
        ("dhcp6 pd client pg2", "expected either `prefix group' or `disable'"),
        ("dhcp6 client pg2 disable", "the interface has no client"),
        ("set ip6 address pg1 prefix group wan ::7/0", "has no network bits"),
        ("set ip6 address pg1 prefix group wan ::7/64 del", "does not have ::7/64 of that group"),
        ("set dhcp6 duid 12", "expected 20 hexadecimal digits, not `12'"),
        ("set dhcp6 duid 00020001020000000000", "starts with 0003"),
    ] {
        let said = rig.attempt(line).unwrap_err();
        assert!(said.contains(why), "{line}: {said}");
    }
    rig.set("dhcp6 client pg2");
    assert!(rig.attempt("dhcp6 client pg2").unwrap_err().contains("has a client"));
    rig.set("set dhcpv6 proxy server 2a01::1 src-address 2001:db8::1");
    rig.set("dhcp6 client pg2 disable");
    rig.set("set dhcpv6 proxy del server 2a01::1 src-address 2001:db8::1");
}

#[test]
fn only_the_server_that_was_asked_answers() {
    let mut rig = bench();
    let leases = [lease("2001:db8:7::9", 128, 60, 100)];
    let given = Given { times: (30, 50), leases: &leases, ..NOTHING };
    bind(&mut rig, "dhcp6 client pg2", &given);
    let renew = only(wait(&mut rig, 31.0), kind::RENEW);
    let other = [lease("2001:db8:7::66", 128, 60, 100)];
    let good = answer(&renew, kind::REPLY, &Given { leases: &other, ..given });
    let mut bad = good.clone();
    let at = bad.windows(6).position(|bytes| bytes == b"server").unwrap();
    bad[at] ^= 1;
    receive(&mut rig, &bad);
    assert!(!rig.run("show dhcp6 addresses").contains("7::66"));
    receive(&mut rig, &good);
    assert!(rig.run("show dhcp6 addresses").contains("7::66"));
}
