//! Tests of two machines connected by a link that loses, duplicates and reorders messages.

use std::collections::VecDeque;
use std::net::IpAddr;

use super::*;
use crate::codec::number::{auth, id};
use crate::codec::{Id, Selector};
use crate::crypto::keys::Hidden;
use crate::crypto::suite::{EspWish, IkeWish};

const A: &str = "10.0.0.1";
const B: &str = "10.0.0.2";

fn fill(bytes: &mut [u8]) -> bool {
    ::crypto::fill_random(bytes)
}

fn selector(from: &str, to: &str) -> Selector {
    let addrs = (from.parse().unwrap(), to.parse().unwrap());
    Selector { protocol: 0, ports: (0, u16::MAX), addrs }
}

pub fn name(text: &str) -> Option<Id> {
    Some(Id { kind: id::FQDN, data: text.as_bytes().to_vec() })
}

/// One end: a machine and the actions it has returned.
pub struct End {
    pub machine: Machine,
    pub installed: Vec<Install>,
    pub removed: Vec<u32>,
    pub log: Vec<String>,
    pub counts: Vec<Noted>,
    pub sent: Vec<Vec<u8>>,
}

/// A message in flight: whether it goes to the second end, the ends as seen there, and its bytes.
pub type Flying = (bool, Ends, Vec<u8>);

pub struct Pair {
    pub ends: [End; 2],
    pub now: f64,
    pub wire: VecDeque<Flying>,
    /// Whether a NAT translates the address of the first end.
    pub nat: Option<(IpAddr, u16)>,
    /// Percentage of messages lost, duplicated and reordered.
    pub trouble: [u64; 3],
    pub seed: u64,
    /// Jobs of each end that there is no room for.
    pub busy: [u32; 2],
}

impl Pair {
    pub fn new(change: impl Fn(usize, &mut Profile)) -> Self {
        let end = |at: usize| {
            let mut machine = Machine::new(fill);
            let (own, other) = if at == 0 { ("a.test", "b.test") } else { ("b.test", "a.test") };
            let nets = [
                selector("192.168.1.0", "192.168.1.255"),
                selector("192.168.2.0", "192.168.2.255"),
            ];
            let auth = Auth {
                method: auth::SHARED_KEY,
                data: Hidden(b"secret".to_vec()),
                is_hex: false,
                certificates: Vec::new(),
            };
            let mut profile = Profile {
                name: "p".to_owned(),
                auth: Some(auth),
                local_id: name(own),
                remote_id: name(other),
                local_ts: Some(nets[at]),
                remote_ts: Some(nets[1 - at]),
                ..Profile::default()
            };
            change(at, &mut profile);
            machine.profiles.insert("p".to_owned(), profile);
            let (installed, removed, log, counts, sent) = Default::default();
            End { machine, installed, removed, log, counts, sent }
        };
        let (wire, trouble) = (VecDeque::new(), [0; 3]);
        Self { ends: [end(0), end(1)], now: 1.0, wire, nat: None, trouble, seed: 7, busy: [0; 2] }
    }
    pub fn plain() -> Self {
        Self::new(|_, _| ())
    }
    pub fn random(&mut self) -> u64 {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.seed >> 33
    }
    pub fn initiate(&mut self) -> u32 {
        let ends = Ends {
            local: (A.parse().unwrap(), PORT),
            remote: (B.parse().unwrap(), PORT),
            table: 0,
            interface: 1,
            node: 0,
        };
        let index = self.ends[0].machine.initiate(self.now, "p", ends).unwrap();
        self.settle(0);
        index
    }
    /// Runs the pending actions of one end.
    pub fn settle(&mut self, at: usize) {
        loop {
            let acts = self.ends[at].machine.take_acts();
            if acts.is_empty() {
                return;
            }
            for act in acts {
                self.carry_out(at, act);
            }
        }
    }
    pub fn carry_out(&mut self, at: usize, act: Act) {
        let now = self.now;
        let end = &mut self.ends[at];
        match act {
            Act::Send(ends, bytes) => {
                end.sent.push(bytes.clone());
                let mut there = Ends { local: ends.remote, remote: ends.local, ..ends };
                if let Some((addr, port)) = self.nat {
                    match at {
                        0 => there.remote = (addr, port),
                        _ if ends.remote.0 == addr => {
                            there.local = (A.parse().unwrap(), there.remote.1);
                        }
                        _ => (),
                    }
                }
                self.wire.push_back((at == 0, there, bytes));
            }
            Act::Compute(sa, job, _) if self.busy[at] > 0 => {
                self.busy[at] -= 1;
                end.machine.done(now, sa, Done::Busy(Box::new(job)));
            }
            Act::Compute(sa, job, _) => end.machine.done(now, sa, job.run()),
            Act::Install(child) => end.installed.push(*child),
            Act::Remove(child) => end.removed.push(child),
            Act::Count(_, what) => end.counts.push(what),
            Act::Log(text) => end.log.push(text),
            Act::Keepalive(_) => (),
        }
    }
    /// Delivers all messages in flight.
    pub fn deliver(&mut self) {
        for _ in 0..2000 {
            let Some((to_second, ends, bytes)) = self.wire.pop_front() else { return };
            let [lost, again, late] = self.trouble;
            if self.random() % 100 < lost {
                continue;
            }
            if self.random() % 100 < again {
                self.wire.push_back((to_second, ends, bytes.clone()));
            }
            if self.random() % 100 < late && !self.wire.is_empty() {
                self.wire.push_back((to_second, ends, bytes));
                continue;
            }
            let at = usize::from(to_second);
            self.ends[at].machine.receive(self.now, ends, &bytes);
            self.settle(at);
        }
        panic!("messages without end");
    }
    /// Advances the time.
    pub fn pass(&mut self, seconds: f64) {
        let end = self.now + seconds;
        while self.now < end {
            self.now += 0.5;
            for at in 0..2 {
                self.ends[at].machine.tick(self.now);
                self.settle(at);
            }
            self.deliver();
        }
    }
    pub fn sas(&self, at: usize) -> Vec<&Sa> {
        self.ends[at].machine.sas().collect()
    }
    pub fn only(&self, at: usize) -> &Sa {
        let all = self.sas(at);
        assert_eq!(all.len(), 1, "{:?}", self.ends[at].log);
        all[0]
    }
    /// Asserts that both ends have one association with one child SA, and agree about both.
    pub fn assert_agreed(&self) {
        let (a, b) = (self.only(0), self.only(1));
        assert_eq!((a.state, b.state), (State::Established, State::Established));
        assert_eq!((a.spis, &a.keys, &a.ids), (b.spis, &b.keys, &b.ids));
        let (ca, cb): (Vec<_>, Vec<_>) = (a.live().collect(), b.live().collect());
        assert_eq!((ca.len(), cb.len()), (1, 1));
        let (ca, cb) = (ca[0], cb[0]);
        assert_eq!((ca.spi_in, ca.spi_out), (cb.spi_out, cb.spi_in));
        assert_eq!((&ca.keys, &ca.ts), (&cb.keys, &cb.ts));
        assert!(ca.suite.has_esn && cb.suite.has_esn);
        let found = |at: usize, child: &Child| {
            self.ends[at].installed.iter().find(|i| i.child == child.id).unwrap().clone()
        };
        let (ia, ib) = (found(0, ca), found(1, cb));
        assert_eq!((&ia.keys.0, &ia.keys.1), (&ib.keys.1, &ib.keys.0));
        assert_ne!(ia.keys.0, ia.keys.1);
    }
}

/// The child that an end uses.
pub fn child_of(pair: &Pair, at: usize) -> u32 {
    pair.only(at).live().next().unwrap().id
}

/// Ends of a message to the second end, from an address.
pub fn to_second(from: [u8; 4]) -> Ends {
    Ends {
        local: (B.parse().unwrap(), PORT),
        remote: (from.into(), PORT),
        table: 0,
        interface: 1,
        node: 0,
    }
}

#[test]
fn both_ends_agree_with_each_suite() {
    let ike: [(u16, u16, u16, u16, u16); 6] = [
        (20, 256, 0, 5, 19),
        (20, 128, 0, 6, 20),
        (28, 0, 0, 7, 31),
        (12, 256, 12, 5, 14),
        (12, 128, 8, 8, 21),
        (13, 256, 13, 2, 31),
    ];
    let esp: [(u16, u16, u16); 6] =
        [(20, 256, 0), (28, 0, 0), (12, 256, 12), (12, 128, 2), (11, 0, 14), (11, 0, 11)];
    for ((encr, bits, integ, prf, group), esp) in ike.into_iter().zip(esp) {
        let mut pair = Pair::new(|_, p| {
            p.ike = IkeWish { encr, bits, integ, prf, group };
            p.esp = EspWish { encr: esp.0, bits: esp.1, integ: esp.2 };
        });
        pair.initiate();
        pair.deliver();
        pair.assert_agreed();
        assert_eq!(pair.only(0).suite.unwrap().group.number(), group);
        assert_eq!(pair.ends[0].sent.len(), 2, "two requests");
    }
}

#[test]
fn nothing_is_left_to_chance_by_a_wire_that_loses_repeats_and_reorders() {
    for seed in 0..30 {
        let mut pair = Pair::plain();
        (pair.seed, pair.trouble) = (seed * 77 + 1, [10, 25, 25]);
        // The end that checks for liveness gives up sooner.
        pair.ends.iter_mut().for_each(|end| end.machine.settings.asks_silent = false);
        pair.initiate();
        pair.deliver();
        pair.pass(60.0);
        pair.assert_agreed();
        let child = pair.only(0).live().next().unwrap().spis().0;
        let of = pair.ends[0].machine.child_of_spi(child).unwrap();
        pair.ends[0].machine.rekey_child(pair.now, of);
        pair.settle(0);
        pair.deliver();
        pair.pass(60.0);
        pair.assert_agreed();
        let index = pair.only(1).index;
        pair.ends[1].machine.rekey(pair.now, index);
        pair.settle(1);
        pair.deliver();
        pair.pass(80.0);
        pair.assert_agreed();
        assert_ne!(pair.only(0).live().next().unwrap().spis().0, child);
    }
}

#[test]
fn wrong_keys_and_identities_are_refused_at_both_ends() {
    let other = |p: &mut Profile| p.auth.as_mut().unwrap().data = Hidden(b"other".to_vec());
    let mut pair = Pair::new(|at, p| {
        if at == 1 {
            other(p)
        }
    });
    pair.initiate();
    pair.deliver();
    pair.pass(40.0);
    assert!(pair.sas(0).is_empty() && pair.sas(1).is_empty());
    assert!(pair.ends.iter().all(|end| end.installed.is_empty()));
    assert!(pair.ends[1].log.iter().any(|l| l.contains("shared keys differ")));
    let mut pair = Pair::new(|at, p| {
        if at == 1 {
            p.remote_id = name("somebody.test");
        }
    });
    pair.initiate();
    pair.deliver();
    assert!(pair.ends[1].log.iter().any(|l| l.contains("no profile matches `a.test'")));
    pair.pass(40.0);
    assert!(pair.ends.iter().all(|end| end.installed.is_empty()));
}

#[test]
fn traffic_is_narrowed_to_what_both_want() {
    let wide = selector("192.168.0.0", "192.168.255.255");
    let mut pair = Pair::new(|at, p| {
        if at == 0 {
            (p.local_ts, p.remote_ts) = (Some(wide), Some(wide));
        }
    });
    pair.initiate();
    pair.deliver();
    pair.assert_agreed();
    let ts = &pair.only(0).live().next().unwrap().ts;
    assert_eq!(ts.0, [selector("192.168.1.0", "192.168.1.255")]);
    assert_eq!(ts.1, [selector("192.168.2.0", "192.168.2.255")]);
    let mut pair = Pair::new(|at, p| {
        if at == 0 {
            p.remote_ts = Some(selector("172.16.0.0", "172.16.0.255"));
        }
    });
    pair.initiate();
    pair.deliver();
    assert!(pair.ends.iter().all(|end| end.installed.is_empty()));
    assert_eq!(pair.only(0).state, State::Established);
    assert!(pair.ends[0].log.iter().any(|l| l.contains("notify 38")));
}

#[test]
fn another_group_is_asked_for() {
    let mut pair = Pair::new(|at, p| {
        if at == 1 {
            p.ike = IkeWish { encr: 20, bits: 256, integ: 0, prf: 5, group: 20 };
        }
    });
    pair.initiate();
    pair.deliver();
    pair.assert_agreed();
    assert_eq!(pair.only(0).suite.unwrap().group.number(), 20);
    assert_eq!(pair.ends[0].sent.len(), 3);
}

#[test]
fn a_translator_moves_both_to_the_other_port() {
    let mut pair = Pair::plain();
    pair.nat = Some(("203.0.113.9".parse().unwrap(), 1024));
    pair.initiate();
    pair.deliver();
    let (a, b) = (pair.only(0), pair.only(1));
    assert_eq!((a.nat, b.nat), ((true, false), (false, true)));
    assert_eq!((a.ends.local.1, a.ends.remote.1), (NATT_PORT, NATT_PORT));
    assert!(pair.ends.iter().all(|end| end.installed[0].has_udp));
    pair.assert_agreed();
    // Without one, neither is moved.
    let mut pair = Pair::plain();
    pair.initiate();
    pair.deliver();
    assert_eq!(pair.only(0).ends.local.1, PORT);
    assert!(pair.ends.iter().all(|end| !end.installed[0].has_udp));
}

#[test]
fn a_silent_end_is_given_up() {
    let mut pair = Pair::plain();
    for end in &mut pair.ends {
        end.machine.settings = Settings { asks_silent: true, period: 10, retries: 3 };
    }
    pair.initiate();
    pair.deliver();
    pair.pass(60.0);
    pair.assert_agreed();
    assert!(pair.ends.iter().any(|end| end.counts.contains(&Noted::Keepalive)));
    pair.trouble = [100, 0, 0];
    pair.pass(45.0);
    assert!(pair.sas(0).is_empty() && pair.sas(1).is_empty());
    for end in &pair.ends {
        assert_eq!(end.installed.len(), end.removed.len());
        assert!(end.log.iter().any(|l| l.contains("does not answer")));
    }
}

/// Makes the first end an initiator, and cuts the line of an association.
fn silenced() -> Pair {
    let mut pair = Pair::new(|at, p| {
        let responder = Responder { interface: 1, at: At::Addr(B.parse().unwrap()) };
        p.responder = (at == 0).then_some(responder);
    });
    for end in &mut pair.ends {
        end.machine.settings = Settings { asks_silent: true, period: 10, retries: 3 };
    }
    pair.initiate();
    pair.deliver();
    pair.assert_agreed();
    assert!(pair.ends[0].machine.due(pair.now).is_empty());
    pair.trouble = [100, 0, 0];
    while !pair.sas(0).is_empty() {
        pair.pass(1.0);
        assert!(pair.now < 100.0);
    }
    pair
}

#[test]
fn a_silent_end_is_asked_again_at_growing_intervals_until_it_answers() {
    let mut pair = silenced();
    let (lost, mut times) = (pair.now, Vec::new());
    while pair.now < lost + 3000.0 {
        pair.pass(1.0);
        if !pair.ends[0].machine.due(pair.now).is_empty() {
            times.push(pair.now);
            pair.initiate();
        }
        assert!(pair.ends[0].machine.sas.len() <= 1, "one at a time");
    }
    assert!(times[0] < lost + 7.0);
    let gaps: Vec<_> = times.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(gaps.is_sorted(), "{gaps:?}");
    assert!((299.0..303.0).contains(gaps.last().unwrap()), "{gaps:?}");
    let silent = *pair.ends[0].machine.silent().next().unwrap().1;
    assert_eq!((silent.peer, silent.tries as usize), (B.parse().unwrap(), times.len()));
    assert!(
        pair.sas(1).is_empty() && pair.ends[1].machine.due(pair.now).is_empty(),
        "no initiator"
    );
    pair.trouble = [0; 3];
    pair.pass(310.0);
    while pair.ends[0].machine.due(pair.now).is_empty() {
        pair.pass(1.0);
        assert!(pair.now < lost + 4000.0);
    }
    pair.initiate();
    pair.deliver();
    pair.assert_agreed();
    pair.pass(20.0);
    assert!(pair.ends[0].machine.due(pair.now).is_empty());
    assert_eq!(pair.ends[0].machine.silent().count(), 0);
}

#[test]
fn what_an_operator_deletes_is_not_initiated_again() {
    let mut pair = silenced();
    pair.pass(6.0);
    assert_eq!(pair.ends[0].machine.due(pair.now), ["p"]);
    let index = pair.initiate();
    pair.ends[0].machine.delete(pair.now, index);
    pair.settle(0);
    pair.pass(400.0);
    assert!(pair.ends[0].machine.due(pair.now).is_empty() && pair.ends[0].machine.is_idle());
    let mut pair = silenced();
    pair.ends[0].machine.profiles.get_mut("p").unwrap().responder = None;
    pair.pass(400.0);
    assert!(pair.ends[0].machine.due(pair.now).is_empty() && pair.ends[0].machine.is_idle());
}

#[test]
fn an_initiator_waits_for_room_for_its_computations() {
    // A computation in advance does not count: the value, the secret, and both again.
    for busy in [1, 2, 5] {
        let mut pair = Pair::plain();
        pair.busy = [busy, 0];
        pair.initiate();
        pair.deliver();
        assert!(pair.sas(1).is_empty(), "nothing is sent without a value");
        pair.pass(10.0);
        assert_eq!(pair.busy, [0, 0]);
        pair.assert_agreed();
    }
    let mut pair = Pair::plain();
    pair.busy = [u32::MAX, 0];
    pair.initiate();
    pair.pass(130.0);
    assert!(pair.ends[0].machine.is_idle(), "it does not wait forever");
    assert!(pair.ends[0].log.iter().any(|l| l.contains("timed out")));
}

#[test]
fn deletions_reach_the_other_end() {
    for at in 0..2 {
        let mut pair = Pair::plain();
        pair.initiate();
        pair.deliver();
        let index = pair.only(at).index;
        pair.ends[at].machine.delete(pair.now, index);
        pair.settle(at);
        assert_eq!(pair.ends[at].removed.len(), 1, "at once");
        pair.deliver();
        assert_eq!(pair.ends[1 - at].removed.len(), 1);
        pair.pass(70.0);
        assert!(pair.ends.iter().all(|end| end.machine.is_idle()));
    }
    let mut pair = Pair::plain();
    pair.initiate();
    pair.deliver();
    let spi = pair.only(1).live().next().unwrap().spis().0;
    let of = pair.ends[1].machine.child_of_spi(spi).unwrap();
    pair.ends[1].machine.delete_child(pair.now, of);
    pair.settle(1);
    pair.deliver();
    assert_eq!(pair.only(0).live().count() + pair.only(1).live().count(), 0);
    assert_eq!(pair.only(0).state, State::Established);
}

#[test]
fn children_are_replaced_in_time_and_old_ones_go() {
    let mut pair = Pair::new(|at, p| {
        if at == 0 {
            p.lifetime = Lifetime { seconds: 100, jitter: 10, ..Lifetime::default() };
        }
    });
    pair.initiate();
    pair.deliver();
    pair.pass(1000.0);
    pair.assert_agreed();
    for end in &pair.ends {
        assert!((9..=13).contains(&end.installed.len()), "{}", end.installed.len());
        assert!(end.installed.len() - end.removed.len() <= 2);
        for (at, child) in end.installed.iter().enumerate().skip(1) {
            assert_eq!(child.replaces, Some(end.installed[at - 1].child));
        }
    }
    for (end, begins) in pair.ends.iter().zip([true, false]) {
        assert!(end.installed.iter().all(|child| child.is_ready == begins));
    }
}

#[test]
fn both_replace_a_child_at_a_time_and_one_is_left() {
    for _ in 0..20 {
        let mut pair = Pair::plain();
        pair.initiate();
        pair.deliver();
        for at in 0..2 {
            let spi = pair.only(at).live().next().unwrap().spis().0;
            let of = pair.ends[at].machine.child_of_spi(spi).unwrap();
            pair.ends[at].machine.rekey_child(pair.now, of);
            pair.settle(at);
        }
        pair.deliver();
        pair.pass(30.0);
        pair.assert_agreed();
        for end in &pair.ends {
            assert_eq!(end.installed.len() - end.removed.len(), 1);
        }
    }
}

#[test]
fn both_replace_the_association_at_a_time_and_one_is_left() {
    let mut pair = Pair::plain();
    pair.initiate();
    pair.deliver();
    for at in 0..2 {
        let index = pair.only(at).index;
        pair.ends[at].machine.rekey(pair.now, index);
        pair.settle(at);
    }
    pair.deliver();
    pair.pass(200.0);
    pair.assert_agreed();
    let keys = pair.only(0).keys.clone();
    assert_eq!(keys, pair.only(1).keys);
    assert!(pair.ends.iter().all(|end| end.removed.is_empty()), "children go over");
}

#[test]
fn cookies_are_asked_for_in_a_flood_and_a_good_end_still_comes_in() {
    let mut pair = Pair::plain();
    pair.initiate();
    let first = pair.wire.pop_front().unwrap().2;
    for n in 0..1000_u32 {
        let mut forged = first.clone();
        forged[..4].copy_from_slice(&n.to_be_bytes());
        pair.ends[1].machine.receive(
            pair.now,
            to_second([198, 18, (n >> 8) as u8, n as u8]),
            &forged,
        );
        pair.settle(1);
    }
    assert_eq!(pair.sas(1).len(), HALF_OPEN_COOKIES);
    // Without a cookie, the response is no longer than the request.
    assert!(pair.ends[1].sent.iter().all(|answer| answer.len() <= first.len() + 256));
    pair.wire.clear();
    pair.ends[1].machine.receive(pair.now, to_second([10, 0, 0, 1]), &first);
    pair.settle(1);
    pair.deliver();
    let is_in = |sa: &&Sa| sa.state == State::Established;
    assert_eq!(pair.sas(1).into_iter().filter(is_in).count(), 1);
    pair.pass(40.0);
    pair.assert_agreed();
}

#[test]
fn a_first_message_that_comes_again_is_answered_with_the_same_bytes() {
    let mut pair = Pair::plain();
    pair.initiate();
    let (_, ends, first) = pair.wire.pop_front().unwrap();
    for _ in 0..3 {
        pair.ends[1].machine.receive(pair.now, ends, &first);
        pair.settle(1);
    }
    let sent = &pair.ends[1].sent;
    assert!(sent.len() == 3 && sent.iter().all(|answer| *answer == sent[0]));
    assert_eq!(pair.sas(1).len(), 1);
    assert_eq!(pair.only(1).stats.init_retransmits, 2);
}

#[test]
fn long_messages_travel_in_parts() {
    let mut pair = Pair::plain();
    pair.initiate();
    pair.deliver();
    let sa = pair.ends[0].machine.sas.values().next().unwrap();
    let mut chain = crate::codec::Chain::default();
    chain.push(crate::codec::number::payload::VENDOR, &vec![7; 5000]);
    let header = Header {
        spi_i: sa.spis.0,
        spi_r: sa.spis.1,
        next: 0,
        exchange: crate::codec::number::exchange::INFORMATIONAL,
        flags: crate::codec::flag::INITIATOR,
        id: sa.next_id,
    };
    let parts = Machine::seal(sa, &header, &chain);
    assert_eq!(parts.len(), 5);
    assert!(parts.iter().all(|part| part.len() < 1232));
    let ends = to_second([10, 0, 0, 1]);
    for part in parts.iter().rev().chain(&parts[..1]) {
        pair.ends[1].machine.receive(pair.now, ends, part);
        pair.settle(1);
    }
    let answers = pair.ends[1].counts.iter().filter(|what| **what == Noted::Keepalive).count();
    assert_eq!(answers, 1);
}

/// An empty request of the first end with the given message ID.
fn empty_request(pair: &Pair, number: u32) -> Vec<u8> {
    let sa = pair.ends[0].machine.sas.values().next().unwrap();
    let header = Header {
        spi_i: sa.spis.0,
        spi_r: sa.spis.1,
        next: 0,
        exchange: crate::codec::number::exchange::INFORMATIONAL,
        flags: crate::codec::flag::INITIATOR,
        id: number,
    };
    Machine::seal(sa, &header, &crate::codec::Chain::default()).remove(0)
}

#[test]
fn numbers_may_be_ahead() {
    let mut pair = Pair::plain();
    pair.initiate();
    pair.deliver();
    let ends = to_second([10, 0, 0, 1]);
    let next = pair.only(1).expected;
    let answered = |pair: &mut Pair, number: u32| {
        let before = pair.ends[1].sent.len();
        let request = empty_request(pair, number);
        pair.ends[1].machine.receive(pair.now, ends, &request);
        pair.settle(1);
        pair.ends[1].sent.len() > before
    };
    assert!(!answered(&mut pair, next + AHEAD + 1));
    assert!(answered(&mut pair, next + AHEAD));
    assert!(answered(&mut pair, next + AHEAD), "again");
    assert!(!answered(&mut pair, next), "behind");
    assert_eq!(pair.only(1).stats.keepalives, 1);
}

#[test]
fn keys_of_whole_nonces_are_taken() {
    let cmac = IkeWish { encr: 12, bits: 256, integ: 12, prf: 8, group: 31 };
    let mut pair = Pair::new(|_, p| p.ike = cmac);
    pair.initiate();
    // The response makes the machine derive its keys the way VPP does.
    let (_, ends, first) = pair.wire.pop_front().unwrap();
    pair.ends[1].machine.receive(pair.now, ends, &first);
    pair.settle(1);
    let (_, ends, answer) = pair.wire.pop_front().unwrap();
    pair.ends[0].machine.receive(pair.now, ends, &answer);
    let acts = pair.ends[0].machine.take_acts();
    let Some(Act::Compute(index, job, _)) = acts.into_iter().next() else { panic!("no work") };
    let sa = pair.ends[0].machine.sas.get_mut(&index).unwrap();
    let (half, whole) = {
        let Done::Shared(shared) = job.run() else { panic!("no secret") };
        sa.origin.shared = shared;
        sa.make_keys(None, false);
        let half = sa.keys.clone();
        sa.make_keys(None, true);
        (half, sa.keys.clone())
    };
    assert_ne!(half, whole);
    sa.waiting = None;
    let sa = &pair.ends[0].machine.sas[&index];
    let header = Header {
        spi_i: sa.spis.0,
        spi_r: sa.spis.1,
        next: 0,
        exchange: crate::codec::number::exchange::IKE_AUTH,
        flags: crate::codec::flag::INITIATOR,
        id: 1,
    };
    let request = Machine::seal(sa, &header, &crate::codec::Chain::default()).remove(0);
    let ends = Ends { local: ends.remote, remote: ends.local, ..ends };
    pair.ends[1].machine.receive(pair.now, ends, &request);
    pair.settle(1);
    assert!(pair.ends[1].counts.contains(&Noted::Auth), "it was opened");
    assert_eq!(pair.only(1).keys, whole);
}

#[test]
fn messages_with_any_byte_changed_do_nothing() {
    let mut pair = Pair::plain();
    pair.initiate();
    let mut seen = Vec::new();
    while let Some((to_second, ends, bytes)) = pair.wire.pop_front() {
        seen.push((to_second, ends, bytes.clone()));
        let at = usize::from(to_second);
        pair.ends[at].machine.receive(pair.now, ends, &bytes);
        pair.settle(at);
    }
    pair.assert_agreed();
    let before = (pair.only(0).keys.clone(), pair.only(1).expected, pair.only(0).next_id);
    for (to_second, ends, bytes) in &seen {
        for at in 0..bytes.len() {
            let mut forged = bytes.clone();
            forged[at] ^= 1 << (at % 8);
            let end = usize::from(*to_second);
            pair.ends[end].machine.receive(pair.now, *ends, &forged);
            // To the wrong end, and back to the sender.
            pair.ends[1 - end].machine.receive(pair.now, *ends, bytes);
            pair.settle(0);
            pair.settle(1);
        }
    }
    pair.wire.clear();
    pair.pass(200.0);
    let established =
        |at: usize| pair.sas(at).iter().filter(|sa| sa.state == State::Established).count();
    assert_eq!((established(0), established(1)), (1, 1));
    assert_eq!(pair.sas(0).iter().filter(|sa| sa.keys == before.0).count(), 1);
    assert!(pair.ends.iter().all(|end| end.removed.is_empty()));
}

#[test]
fn an_end_that_began_anew_replaces_what_the_other_knew() {
    let mut pair = Pair::plain();
    pair.initiate();
    pair.deliver();
    // The first end forgets everything.
    let mut fresh = Pair::plain();
    std::mem::swap(&mut fresh.ends[1], &mut pair.ends[1]);
    fresh.now = pair.now + 1.0;
    fresh.initiate();
    fresh.deliver();
    fresh.assert_agreed();
    assert_eq!(fresh.ends[1].removed.len(), 1);
}
