//! Sessions with another end that the tests play.

use std::net::IpAddr;

use bfd::*;
use control::api::Retval;
use graph::testing::Caught;
use net::InterfaceIndex;
use net::testing::whole::{Bench, HOST, OTHER, PG0};
use proptest::prelude::*;
use wire::bfd::{Header, Malformed, State, flag, parse};
use wire::ethernet::{self, EtherType};
use wire::{Protocol, ip4, ip6, udp};
use zerocopy::{FromBytes, IntoBytes};

const ADD: &str = "bfd udp session add interface pg0 local-addr 10.0.0.1 peer-addr 10.0.0.2 \
    desired-min-tx 100000 required-min-rx 100000 detect-mult 3";
const ADD6: &str = "bfd udp session add interface pg0 local-addr 2001:db8::1 peer-addr \
    2001:db8::2 desired-min-tx 100000 required-min-rx 100000 detect-mult 3";
const ADD_FAR: &str = "bfd udp session add multihop local-addr 10.0.0.1 peer-addr 10.9.9.9 \
    desired-min-tx 100000 required-min-rx 100000 detect-mult 3";

fn bench() -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    for line in [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01 static",
        "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01 static",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:02 static",
    ] {
        b.set(line);
    }
    b
}

/// The other end of a session.
struct Peer {
    addresses: [IpAddr; 2],
    port: u16,
    hops: u8,
    header: Header,
    /// Key and next sequence number.
    by: Option<(Authentication, u32)>,
}

impl Peer {
    fn at(addresses: [&str; 2], port: u16) -> Self {
        let header = Header {
            version_diagnostic: 1 << 5,
            state_flags: (State::Down as u8) << 6,
            detect_mult: 3,
            len: 24,
            my_discriminator: 0x77.into(),
            your_discriminator: 0.into(),
            desired_min_tx_us: 100_000.into(),
            required_min_rx_us: 100_000.into(),
            required_min_echo_rx_us: 0.into(),
        };
        let addresses = addresses.map(|addr| addr.parse().unwrap());
        Self { addresses, port, hops: 255, header, by: None }
    }
    fn near() -> Self {
        Self::at(["10.0.0.2", "10.0.0.1"], 3784)
    }
    fn far() -> Self {
        Self { hops: 60, ..Self::at(["10.9.9.9", "10.0.0.1"], 4784) }
    }
    fn state(&mut self, state: State, flags: u8) -> &mut Self {
        self.header.state_flags = (state as u8) << 6 | flags;
        self
    }
    fn frame(&mut self) -> Vec<u8> {
        let payload = match &mut self.by {
            Some((by, sequence)) => {
                *sequence += 1;
                by.sign(self.header, *sequence)
            }
            None => self.header.as_bytes().to_vec(),
        };
        frame(self.addresses, self.hops, self.port, &payload)
    }
}

fn frame(addresses: [IpAddr; 2], hops: u8, port: u16, payload: &[u8]) -> Vec<u8> {
    let len = (8 + payload.len()) as u16;
    let mut header = udp::Header::new(50_000, port, len);
    let (kind, ip) = match addresses {
        [IpAddr::V4(src), IpAddr::V4(dst)] => {
            let mut ip = ip4::Header::new(src, dst, Protocol::UDP, 20 + len);
            ip.ttl = hops;
            (EtherType::IP4, ip.with_checksum().as_bytes().to_vec())
        }
        [IpAddr::V6(src), IpAddr::V6(dst)] => {
            let mut ip = ip6::Header::new(src, dst, Protocol::UDP, len);
            ip.hop_limit = hops;
            let pseudo = wire::checksum::ip6_pseudo(ip.src, ip.dst, Protocol::UDP, len.into());
            let sum = pseudo.add_bytes(header.as_bytes()).add_bytes(payload);
            header.checksum = sum.udp_checksum();
            (EtherType::IP6, ip.as_bytes().to_vec())
        }
        _ => panic!("addresses of two versions"),
    };
    let front = ethernet::Header::new(PG0, HOST, kind);
    [front.as_bytes(), &ip, header.as_bytes(), payload].concat()
}

/// Port, hops left and payload of a datagram that was sent.
fn datagram(frame: &[u8]) -> (u16, u8, &[u8]) {
    let (hops, l4) = if frame[12..14] == [8, 0] { (frame[22], 34) } else { (frame[21], 54) };
    let (header, payload) = udp::Header::ref_from_prefix(&frame[l4..]).unwrap();
    (header.dst_port.get(), hops, payload)
}

/// The control packets among what was sent.
fn said(caught: &[Caught]) -> Vec<Header> {
    let all = caught.iter().map(|c| datagram(&c.bytes)).filter(|(port, ..)| *port != 3785);
    all.map(|(_, hops, payload)| {
        assert_eq!(hops, 255);
        *parse(payload).unwrap().header
    })
    .collect()
}

/// The state of the only session.
fn state(b: &Bench) -> State {
    sessions(&b.router).next().unwrap().machine.state
}

fn receive(b: &mut Bench, frame: Vec<u8>) -> Vec<Header> {
    let pg0 = b.pg0;
    said(&b.receive(pg0, &[frame]))
}

/// Brings a session up.
fn up(b: &mut Bench, peer: &mut Peer) {
    let hello = said(&b.wait(1.0));
    assert_eq!(hello[0].state(), State::Down);
    assert_eq!(hello[0].desired_min_tx_us.get(), 1_000_000, "slow while it is down");
    peer.header.your_discriminator = hello[0].my_discriminator;
    let frame = peer.state(State::Init, 0).frame();
    let answer = receive(b, frame);
    assert_eq!((answer.len(), answer[0].state()), (1, State::Up));
    assert_eq!(answer[0].desired_min_tx_us.get(), 100_000);
    assert_eq!(answer[0].your_discriminator.get(), 0x77);
    let frame = peer.state(State::Up, 0).frame();
    assert!(receive(b, frame).is_empty());
    assert_eq!(state(b), State::Up);
}

/// Frames to a host behind the neighbour, and the interfaces that they leave by.
fn forwarded(b: &mut Bench, to: &str) -> Vec<u32> {
    let dst = to.parse().unwrap();
    let pg1 = b.pg1;
    let mut frame = frame(["10.0.1.2".parse().unwrap(), dst], 9, 5, b"data");
    frame[..6].copy_from_slice(&net::testing::whole::PG1.0);
    frame[6..12].copy_from_slice(&OTHER.0);
    let out = b.receive(pg1, &[frame]);
    out.iter().filter(|c| datagram(&c.bytes).0 == 5).map(|c| c.tx).collect()
}

#[test]
fn packets_from_farther_away_than_the_other_end_are_dropped() {
    let mut b = bench();
    b.set("ip route add 10.9.9.9/32 via 10.0.0.2 pg0");
    b.set(ADD_FAR);
    let hear = |b: &mut Bench, hops: u8| {
        let mut peer = Peer { hops, ..Peer::far() };
        b.receive(b.pg0, &[peer.frame()]);
        let moved = b.graph.moved_counters();
        let ttl = moved.iter().any(|(node, what, _)| node == "bfd-udp4-input" && *what == "ttl");
        !ttl
    };
    assert!(hear(&mut b, 1));
    b.set("bfd udp multihop hops 5");
    assert_eq!([255, 251, 250, 60].map(|hops| hear(&mut b, hops)), [true, true, false, false]);
    assert!(b.cli("show configuration").contains("bfd udp multihop hops 5\n"));
    b.set("bfd udp multihop hops 255");
    assert!(hear(&mut b, 1));
    assert!(b.cli("bfd udp multihop hops 0").contains("1 to 255"));
}

#[test]
fn a_session_comes_up_and_takes_its_routes_with_it_when_it_goes_down() {
    for (add, mut peer, route) in [
        (ADD, Peer::near(), "ip route add 10.8.0.0/16 via 10.0.0.2 pg0"),
        (ADD_FAR, Peer::far(), "ip route add 10.8.0.0/16 via 10.9.9.9"),
    ] {
        let mut b = bench();
        let (pg0, pg1) = (b.pg0.0, b.pg1.0);
        b.cli("ip route add 10.9.9.9/32 via 10.0.0.2 pg0");
        assert_eq!(b.cli(route), "");
        assert_eq!(b.cli(add), "");
        assert_eq!(forwarded(&mut b, "10.8.0.1"), [pg0], "it never was up: nothing is known");
        up(&mut b, &mut peer);
        assert_eq!(forwarded(&mut b, "10.8.0.1"), [pg0]);
        // Packets come all the time: it stays up.
        for _ in 0..4 {
            assert!(!b.wait(0.2).is_empty());
            let frame = peer.frame();
            receive(&mut b, frame);
        }
        assert_eq!(state(&b), State::Up);
        // None come.
        let last = said(&b.wait(0.5)).pop().unwrap();
        assert_eq!((last.state(), last.diagnostic()), (State::Down, 1));
        assert_eq!(last.your_discriminator.get(), 0);
        assert_eq!(state(&b), State::Down);
        assert!(forwarded(&mut b, "10.8.0.1").is_empty());
        // Another path takes over as soon as there is one.
        b.cli("ip route add 10.8.0.0/16 via 10.0.1.2 pg1");
        assert_eq!(forwarded(&mut b, "10.8.0.1"), [pg1]);
        b.cli("ip route del 10.8.0.0/16 via 10.0.1.2 pg1");
        assert!(forwarded(&mut b, "10.8.0.1").is_empty());
        // The other end is heard although no route leads there, and comes back.
        for state in [State::Down, State::Up] {
            let frame = peer.state(state, 0).frame();
            receive(&mut b, frame);
        }
        assert_eq!(state(&b), State::Up);
        assert_eq!(forwarded(&mut b, "10.8.0.1"), [pg0]);
        // Down on purpose is no failure.
        let frame = peer.state(State::AdminDown, 0).frame();
        receive(&mut b, frame);
        assert_eq!(state(&b), State::Down);
        assert_eq!(forwarded(&mut b, "10.8.0.1"), [pg0]);
        let frame = peer.state(State::Init, 0).frame();
        receive(&mut b, frame);
        let frame = peer.state(State::Down, 0).frame();
        receive(&mut b, frame);
        assert!(forwarded(&mut b, "10.8.0.1").is_empty());
        assert_eq!(
            b.cli(add.replace("session add", "session del").split(" desired").next().unwrap()),
            ""
        );
        assert_eq!(forwarded(&mut b, "10.8.0.1"), [pg0], "nothing watches it any more");
    }
}

#[test]
fn sessions_over_ip6_come_up() {
    let mut b = bench();
    assert_eq!(b.cli(ADD6), "");
    let mut peer = Peer::at(["2001:db8::2", "2001:db8::1"], 3784);
    up(&mut b, &mut peer);
    b.graph.moved_counters();
    let frame = peer.frame();
    receive(&mut b, frame);
    b.expect(&[("bfd-udp6-input", "none", 1)]);
}

#[test]
fn what_is_not_for_a_session_is_counted_by_reason() {
    let mut b = bench();
    assert_eq!(b.cli(ADD), "");
    let mut peer = Peer::near();
    up(&mut b, &mut peer);
    let mut tried = |change: fn(&mut Peer), on: Option<InterfaceIndex>, reason| {
        let mut peer = Peer { header: peer.header, ..Peer::near() };
        change(&mut peer);
        let (frame, on) = (peer.frame(), on.unwrap_or(b.pg0));
        b.graph.moved_counters();
        let out = b.receive(on, &[frame]);
        assert!(said(&out).is_empty(), "{reason}");
        b.expect(&[("bfd-udp4-input", reason, 1)]);
    };
    tried(|p| p.header.version_diagnostic = 2 << 5, None, "version");
    tried(|p| p.header.len = 60, None, "length");
    tried(|p| p.header.detect_mult = 0, None, "detect_multi");
    tried(|p| p.header.state_flags |= flag::MULTIPOINT, None, "multi_point");
    tried(|p| p.header.my_discriminator = 0.into(), None, "my_disc");
    tried(|p| p.header.your_discriminator = 0.into(), None, "your_disc");
    tried(|p| p.header.your_discriminator = 5.into(), None, "no_session");
    tried(|p| p.hops = 254, None, "ttl");
    tried(|p| p.addresses[0] = "10.0.0.3".parse().unwrap(), None, "src_mismatch");
    tried(|p| p.addresses[1] = "10.0.1.1".parse().unwrap(), None, "dst_mismatch");
    b.cli(
        "bfd udp session set-flags interface pg0 local-addr 10.0.0.1 peer-addr 10.0.0.2 admin down",
    );
    b.graph.moved_counters();
    let frame = peer.frame();
    receive(&mut b, frame);
    b.expect(&[("bfd-udp4-input", "admin_down", 1)]);
    assert_eq!(state(&b), State::AdminDown);
    // The port is given up with the last session.
    b.cli("bfd udp session del interface pg0 local-addr 10.0.0.1 peer-addr 10.0.0.2");
    let frame = peer.frame();
    b.graph.moved_counters();
    let pg0 = b.pg0;
    b.receive(pg0, &[frame]);
    assert!(b.graph.moved_counters().iter().all(|(node, ..)| !node.starts_with("bfd")));
}

#[test]
fn packets_are_authenticated_and_come_in_order() {
    let mut b = bench();
    b.cli("bfd key set conf-key-id 9 type meticulous-keyed-sha1 secret 736563726574");
    assert_eq!(b.cli(&format!("{ADD} conf-key-id 9 bfd-key-id 3")), "");
    let mut keys = Keys::default();
    keys.set(9, 5, b"secret").unwrap();
    let mut peer = Peer { by: Some((keys.hold(9, 3).unwrap(), 100)), ..Peer::near() };
    up(&mut b, &mut peer);
    // Without, by another key, with a sequence number again.
    b.graph.moved_counters();
    let mut rogue = Peer { header: peer.header, ..Peer::near() };
    let frame = rogue.state(State::Down, 0).frame();
    receive(&mut b, frame);
    keys.set(8, 5, b"other").unwrap();
    rogue.by = Some((keys.hold(8, 3).unwrap(), 500));
    let frame = rogue.frame();
    receive(&mut b, frame);
    b.expect(&[("bfd-udp4-input", "failed_verification", 2)]);
    let mut again = Peer { by: peer.by.clone(), header: peer.header, ..Peer::near() };
    again.by.as_mut().unwrap().1 -= 1;
    let frame = again.state(State::Down, 0).frame();
    receive(&mut b, frame);
    b.graph.run();
    b.expect(&[("bfd-udp4-input", "failed_verification", 1), ("bfd-udp4-input", "none", 1)]);
    assert_eq!(state(&b), State::Up);
    let shown = b.cli("show bfd sessions");
    let line = shown.lines().find(|line| line.trim_start().starts_with("Out of order"));
    assert!(line.is_some_and(|line| line.ends_with(" 1")), "{shown}");
    assert!(!b.cli("show configuration").contains("736563726574"), "nobody is shown a key");
    // What is sent is authentic, with growing numbers.
    let sent = b.wait(0.5);
    let mut last = None;
    for frame in &sent {
        let packet = parse(datagram(&frame.bytes).2).unwrap();
        assert!(peer.by.as_ref().unwrap().0.is_authentic(&packet));
        let sequence = u32::from_be_bytes(packet.authentication[4..8].try_into().unwrap());
        assert!(last.is_none_or(|last: u32| last.wrapping_add(1) == sequence));
        last = Some(sequence);
    }
    assert!(last.is_some());
    // A key in use stays as it is.
    let said = b.cli("bfd key del conf-key-id 9");
    assert!(said.contains("rv=-103:BFD object in use"), "{said}");
}

#[test]
fn another_key_waits_for_the_other_end_when_it_is_told_to() {
    let mut b = bench();
    b.cli("bfd key set conf-key-id 9 type keyed-sha1 secret 736563726574");
    b.cli(ADD);
    let mut peer = Peer::near();
    up(&mut b, &mut peer);
    let name = "interface pg0 local-addr 10.0.0.1 peer-addr 10.0.0.2";
    b.cli(&format!("bfd udp session auth activate {name} conf-key-id 9 bfd-key-id 3 delayed yes"));
    let is_signed = |b: &mut Bench| said(&b.wait(0.2))[0].has(flag::AUTHENTICATED);
    assert!(!is_signed(&mut b));
    let mut keys = Keys::default();
    keys.set(9, 4, b"secret").unwrap();
    peer.by = Some((keys.hold(9, 3).unwrap(), 100));
    let frame = peer.frame();
    receive(&mut b, frame);
    assert!(is_signed(&mut b));
    let frame = peer.frame();
    receive(&mut b, frame);
    b.cli(&format!("bfd udp session auth deactivate {name}"));
    assert!(!is_signed(&mut b));
    assert_eq!(state(&b), State::Up);
}

#[test]
fn polls_are_answered_and_changes_are_polled_for() {
    let mut b = bench();
    b.cli(ADD);
    let mut peer = Peer::near();
    up(&mut b, &mut peer);
    let frame = peer.state(State::Up, flag::POLL).frame();
    let answer = receive(&mut b, frame);
    assert_eq!(answer.len(), 1);
    assert!(answer[0].has(flag::FINAL) && !answer[0].has(flag::POLL));
    // It asks for nothing, and nothing is sent.
    let frame = peer.state(State::Up, flag::DEMAND).frame();
    receive(&mut b, frame);
    assert!(said(&b.wait(0.2)).is_empty());
    let frame = peer.frame();
    receive(&mut b, frame);
    let name = "interface pg0 local-addr 10.0.0.1 peer-addr 10.0.0.2";
    b.cli(&format!(
        "bfd udp session mod {name} desired-min-tx 100000 required-min-rx 400000 detect-mult 3"
    ));
    let asked = said(&b.wait(0.0));
    assert!(asked[0].has(flag::POLL));
    assert_eq!(asked[0].required_min_rx_us.get(), 400_000);
    let frame = peer.state(State::Up, flag::DEMAND | flag::FINAL).frame();
    receive(&mut b, frame);
    assert!(said(&b.wait(0.2)).is_empty(), "the poll is over");
    assert_eq!(state(&b), State::Up);
}

#[test]
fn echoes_watch_the_path_and_only_fresh_own_ones_count() {
    let mut b = bench();
    b.cli(&ADD.replace("mult 3", "mult 9"));
    let mut peer = Peer::near();
    up(&mut b, &mut peer);
    peer.header.required_min_echo_rx_us = 100_000.into();
    let frame = peer.frame();
    receive(&mut b, frame);
    b.cli("bfd udp echo-source set interface pg1");
    let pg0 = b.pg0;
    let mut first: Option<Vec<u8>> = None;
    for _ in 0..8 {
        let out = b.wait(0.2);
        let echoes: Vec<_> = out.iter().filter(|c| datagram(&c.bytes).0 == 3785).collect();
        assert!(!echoes.is_empty());
        let sent = &echoes[0].bytes;
        assert_eq!((&sent[..6], &sent[26..34]), (&HOST.0[..], &[10, 0, 1, 0, 10, 0, 0, 1][..]));
        let mut back = sent.clone();
        back[..6].copy_from_slice(&PG0.0);
        back[6..12].copy_from_slice(&HOST.0);
        first.get_or_insert(back.clone());
        b.receive(pg0, &[back]);
        let all = said(&out);
        assert!(all.iter().all(|h| h.required_min_rx_us.get() >= 1_000_000), "control is slow");
        let is_asked = all.iter().any(|h| h.has(flag::POLL));
        let frame = peer.state(State::Up, if is_asked { flag::FINAL } else { 0 }).frame();
        receive(&mut b, frame);
    }
    assert_eq!(state(&b), State::Up);
    // The first one comes again and again: it is worth nothing now. Nor is one that was changed.
    let old = first.unwrap();
    let mut changed = old.clone();
    let end = changed.len() - 1;
    changed[end] ^= 1;
    changed[40..42].fill(0);
    b.graph.moved_counters();
    b.receive(pg0, &[changed, old.clone()]);
    b.expect(&[
        ("bfd-udp-echo4-input", "failed_verification", 1),
        ("bfd-udp-echo4-input", "none", 1),
    ]);
    let mut last = Vec::new();
    for _ in 0..4 {
        last.extend(said(&b.receive(pg0, std::slice::from_ref(&old))));
        last.extend(said(&b.wait(0.2)));
        let frame = peer.state(State::Up, 0).frame();
        last.extend(receive(&mut b, frame));
    }
    assert!(last.iter().any(|h| (h.state(), h.diagnostic()) == (State::Down, 2)));
    assert_ne!(state(&b), State::Up);
}

#[test]
fn intervals_have_jitter_and_follow_both_ends() {
    let parameters =
        Parameters { desired_min_tx_us: 50_000, required_min_rx_us: 40_000, detect_mult: 3 };
    let mut machine = Machine::new(5, parameters, false);
    let mut header = Peer::near().header;
    header.required_min_rx_us = 20_000.into();
    header.desired_min_tx_us = 60_000.into();
    let mut now = 100.0;
    assert!(machine.run(now, false).control);
    assert!((0.74..=1.0).contains(&(machine.due(now).unwrap() - now)));
    for state in [State::Init, State::Up] {
        header.state_flags = (state as u8) << 6;
        machine.receive(&header, now);
    }
    assert_eq!((machine.state, machine.tx_interval()), (State::Up, 0.05));
    assert!((machine.detection_time() - 0.18).abs() < 1e-9, "the slower of both, three times");
    machine.run(now, false);
    let mut gaps = Vec::new();
    for _ in 0..200 {
        let due = machine.due(now).unwrap();
        gaps.push(due - now);
        now = due;
        assert!(machine.run(now, false).control);
        machine.receive(&header, now);
    }
    assert!(gaps.iter().all(|gap| (0.037..0.05).contains(gap)), "{gaps:?}");
    assert!(gaps.iter().any(|gap| *gap < 0.041) && gaps.iter().any(|gap| *gap > 0.045));
    // Sending less often waits for the other end's answer, hearing more often as well.
    let slower = Parameters { desired_min_tx_us: 90_000, required_min_rx_us: 10_000, ..parameters };
    machine.modify(slower);
    assert_eq!(machine.tx_interval(), 0.05);
    let asked = machine.packet(now, false);
    assert!(asked.has(flag::POLL));
    assert_eq!(asked.desired_min_tx_us.get(), 90_000);
    header.state_flags |= flag::FINAL;
    machine.receive(&header, now + 0.1);
    assert_eq!(machine.tx_interval(), 0.09);
    // It requests silence.
    header.required_min_rx_us = 0.into();
    machine.receive(&header, now);
    machine.run(now, false);
    assert!(!machine.run(now + 0.17, false).control);
}

#[test]
fn clients_and_operators_are_told_what_is_wrong() {
    let mut b = bench();
    for (line, error) in [
        (ADD.replace("10.0.0.2", "2001:db8::2"), "addresses must have the same IP version"),
        (ADD.replace("mult 3", "mult 0"), "detect-mult must not be 0"),
        (ADD.replace("tx 100000", "tx 0"), "desired-min-tx must not be 0"),
        (ADD.replace("interface pg0", ""), "interface must be set if not multihop"),
        (ADD.replace("add i", "add multihop i"), "cannot be specified when multihop is enabled"),
        (format!("{ADD} conf-key-id 1 bfd-key-id 1"), "rv=-102:No such BFD object"),
        (format!("{ADD} conf-key-id 1"), "go together"),
        (
            "bfd key set conf-key-id 1 type keyed-sha1 secret 0g".into(),
            "pairs of hexadecimal digits",
        ),
        ("bfd udp echo-source set interface pg9".into(), "unknown interface"),
    ] {
        let said = b.cli(&line);
        assert!(said.contains(error), "{line}: {said}");
    }
    assert_eq!(b.cli(ADD), "");
    assert!(
        b.cli(ADD).contains("`bfd_add_add_session' API call failed, rv=-101:Duplicate BFD object")
    );
    b.talk(|local, router| {
        local.call(router, &WantBfdEvents { enable_disable: true, pid: 7 }).unwrap();
        let key = Key {
            interface: Some(InterfaceIndex(1)),
            local: "10.0.0.1".parse().unwrap(),
            peer: "10.0.0.2".parse().unwrap(),
        };
        for is_up in [false, true, true] {
            set_admin(router, &key, is_up).unwrap();
        }
        let events = local.events::<BfdUdpSessionEvent>();
        let states: Vec<_> =
            events.iter().map(|e| (e.session.state, e.session.sw_if_index)).collect();
        let on = InterfaceIndex(1);
        assert_eq!(states, [(BfdState::ADMIN_DOWN, on), (BfdState::DOWN, on)]);
        let set = |auth_type, key_len| BfdAuthSetKey {
            conf_key_id: 1,
            key_len,
            auth_type,
            key: [1; 20].into(),
        };
        assert_eq!(local.call(router, &set(2, 9)), Err(Retval::BFD_NOTSUPP));
        assert_eq!(local.call(router, &set(4, 21)), Err(Retval::INVALID_ARGUMENT));
        assert_eq!(local.call(router, &set(4, 20)), Ok(()));
        let rows = local.dump(router, &BfdUdpSessionDump {});
        assert_eq!(
            (rows.len(), rows[0].session.state, rows[0].session.detect_mult),
            (1, BfdState::DOWN, 3)
        );
    });
    assert_eq!(parse(&[0x20; 3]), Err(Malformed::Length));
}

#[test]
fn a_peer_that_knows_the_session_does_not_forget_it_in_the_next_packet() {
    for (add, mut peer) in [(ADD, Peer::near()), (ADD_FAR, Peer::far())] {
        let mut b = bench();
        assert_eq!(b.cli("ip route add 10.9.9.9/32 via 10.0.0.2 pg0"), "");
        assert_eq!(b.cli(add), "");
        // Half of its detection time, in which it is believed, is 15 s.
        peer.header.desired_min_tx_us = 10_000_000.into();
        up(&mut b, &mut peer);
        let known = peer.header.your_discriminator;
        b.graph.moved_counters();
        // It may be from any sender: it names nothing that only the peer knows.
        peer.header.your_discriminator = 0.into();
        let forged = peer.state(State::Down, 0).frame();
        receive(&mut b, forged.clone());
        b.expect(&[("bfd-udp4-input", "your_disc", 1), ("bfd-udp4-input", "none", 1)]);
        assert_eq!(state(&b), State::Up);
        // A peer that has restarted has fallen silent before.
        b.graph.engine.clock().adjust(16.0);
        receive(&mut b, forged);
        assert_eq!(state(&b), State::Down);
        // And one that says it with our number is believed at once.
        peer.header.your_discriminator = known;
        up(&mut b, &mut peer);
        let down = peer.state(State::Down, 0).frame();
        receive(&mut b, down);
        assert_eq!(state(&b), State::Down);
    }
}

#[test]
fn polls_that_come_at_once_have_one_answer() {
    let (mut b, mut peer) = (bench(), Peer::near());
    assert_eq!(b.cli(ADD), "");
    up(&mut b, &mut peer);
    let poll = peer.state(State::Up, flag::POLL).frame();
    let pg0 = b.pg0;
    let finals = |out: &[Caught]| said(out).iter().filter(|h| h.has(flag::FINAL)).count();
    let out = b.receive(pg0, &vec![poll.clone(); 100]);
    assert!((1..=50).contains(&finals(&out)), "{}", finals(&out));
    b.graph.engine.clock().adjust(0.01);
    assert_eq!(finals(&b.receive(pg0, &[poll])), 1);
}

/// Values of a packet or an operator: often the odd ones.
fn interval() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0_u32), Just(1), Just(1_000_000), Just(u32::MAX), any::<u32>()]
}

proptest! {
    /// A session whose timer is due at once whenever it has run keeps control from all else.
    #[test]
    fn nothing_is_due_when_a_session_has_run(
        (tx, rx, detect_mult) in (interval(), interval(), 1..=255_u8),
        is_multihop: bool,
        steps in proptest::collection::vec(
            ([interval(), interval(), interval()], 0..4_u8, 0..64_u8, 1..=255_u8, any::<bool>(),
                0.0..3.0_f64, prop::option::weighted(0.2, interval())),
            1..40,
        ),
    ) {
        let of = |tx: u32, rx| Parameters {
            desired_min_tx_us: tx.max(1), required_min_rx_us: rx, detect_mult,
        };
        let mut machine = Machine::new(7, of(tx, rx), is_multihop);
        let mut now = 1000.0;
        for (us, state, flags, mult, has_source, passed, modified) in steps {
            now += passed;
            if let Some(us) = modified {
                machine.modify(of(us, rx));
            }
            let packet = Header {
                version_diagnostic: 1 << 5,
                state_flags: state << 6 | flags & !1,
                detect_mult: mult,
                len: size_of::<Header>() as u8,
                my_discriminator: 9.into(),
                your_discriminator: 7.into(),
                desired_min_tx_us: us[0].into(),
                required_min_rx_us: us[1].into(),
                required_min_echo_rx_us: us[2].into(),
            };
            machine.receive(&packet, now);
            for _ in 0..2 {
                let sends = machine.run(now, has_source);
                if sends.control {
                    machine.packet(now, false);
                }
                prop_assert!(machine.due(now).is_none_or(|due| due > now), "{machine:?}");
            }
        }
    }
}
