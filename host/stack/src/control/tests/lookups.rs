//! Lookups of the data plane, against a plain list.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use infra::rcu::Participant;
use net::fib::TableIndex;
use proptest::prelude::*;
use wire::Prefix;

use super::*;
use crate::control::filters::{Denial, Scope};
use crate::control::published::{Flow, Transport, Verdict};
use crate::control::rules::{Match, Rule};
use crate::control::sdl::SdlRule;

/// An address of a few, so that rules and connections meet.
fn addr(six: bool, n: u16) -> IpAddr {
    match six {
        false => Ipv4Addr::from_bits(0x0a00_0000 | u32::from(n) << 12 | u32::from(n & 7)).into(),
        true => Ipv6Addr::from_bits(0x2001 << 112 | u128::from(n) << 60 | u128::from(n & 7)).into(),
    }
}

fn any_prefix(six: bool) -> impl Strategy<Value = Prefix> {
    let lens: Vec<u8> = if six { vec![0, 16, 60, 64, 66, 128] } else { vec![0, 8, 14, 20, 31, 32] };
    (any::<u16>(), proptest::sample::select(lens))
        .prop_map(move |(n, len)| Prefix::new(addr(six, n & 63), len).unwrap().network())
}

fn any_rule(six: bool) -> impl Strategy<Value = (Match, u32)> {
    let port = || proptest::sample::select(vec![0_u16, 80, 443]);
    (any_prefix(six), any_prefix(six), port(), port(), 0_u32..5).prop_map(|(l, r, a, b, action)| {
        (Match::new(Transport::Tcp, [l, r], [a, b]).unwrap(), action)
    })
}

/// The least rule that a flow meets, where one is least.
fn expected(rules: &[(Match, u32)], flow: &Flow) -> Vec<u32> {
    let within = |outer: &Match, inner: &Match| {
        let holds = |o: Prefix, i: Prefix| o.prefix_len() <= i.prefix_len() && o.contains(i.addr());
        holds(outer.local, inner.local)
            && holds(outer.remote, inner.remote)
            && outer.ports.iter().zip(&inner.ports).all(|(o, i)| *o == 0 || o == i)
    };
    let meets = |rule: &Match| {
        rule.local.contains(flow.local.ip())
            && rule.remote.contains(flow.remote.ip())
            && [flow.local.port(), flow.remote.port()]
                .iter()
                .zip(&rule.ports)
                .all(|(port, of)| *of == 0 || of == port)
    };
    let met: Vec<_> = rules.iter().filter(|(rule, _)| meets(rule)).collect();
    let is_least = |rule: &Match| met.iter().all(|(o, _)| o == rule || !within(rule, o));
    met.iter().filter(|(rule, _)| is_least(rule)).map(|(_, action)| *action).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_rule_within_the_one_that_is_found_is_met(
        six in any::<bool>(),
        seed in any::<[u8; 8]>(),
        four in proptest::collection::vec(any_rule(false), 0..24),
        sixes in proptest::collection::vec(any_rule(true), 0..24),
        flows in proptest::collection::vec((0_u16..64, 0_u16..64, any::<bool>(), any::<bool>()), 40),
    ) {
        let _ = seed;
        let mut b = bench();
        let mut rules = if six { sixes } else { four };
        // The last of two about the same connections counts.
        rules.reverse();
        let mut known = std::collections::BTreeSet::new();
        rules.retain(|(found, _)| known.insert(*found));
        rules.reverse();
        b.control(|router, _| {
            for (found, action) in &rules {
                let rule = Rule { action: *action, tag: String::new() };
                filters::add_rule(router, 0, Scope::Global, (*found, rule)).unwrap();
            }
            let (policy, reader) = (policy(router), Participant::join());
            for (l, r, a, b) in &flows {
                let port = |web: &bool| if *web { 80 } else { 443 };
                let flow = Flow {
                    transport: Transport::Tcp,
                    local: SocketAddr::new(addr(six, *l), port(a)),
                    remote: SocketAddr::new(addr(six, *r), port(b)),
                };
                let found = policy.arriving(TableIndex::default(), &flow, reader.epoch());
                let least = expected(&rules, &flow);
                match found {
                    Verdict::Redirect(action) => assert!(least.contains(&action), "{flow:?}"),
                    other => assert!(least.is_empty() && other == Verdict::Unsaid, "{other:?}"),
                }
            }
        });
    }

    #[test]
    fn the_longest_prefix_of_a_peer_decides(
        six in any::<bool>(),
        four in proptest::collection::vec((any_prefix(false), 0_u32..2, any::<bool>()), 0..60),
        sixes in proptest::collection::vec((any_prefix(true), 0_u32..2, any::<bool>()), 0..60),
    ) {
        let mut b = Bench::plugged(&[FEATURE]);
        b.set("session enable rt-backend sdl");
        let mut list = std::collections::BTreeMap::new();
        b.control(|router, _| {
            for (peers, action, is_add) in if six { sixes } else { four } {
                let rule = SdlRule { action, ..SdlRule::default() };
                let denial = Denial { peers, rule: is_add.then_some(rule) };
                let done = filters::deny(router, 0, denial);
                let key = (peers.prefix_len(), peers);
                match is_add {
                    true => { done.unwrap(); list.insert(key, action); }
                    false => assert_eq!(done.is_ok(), list.remove(&key).is_some()),
                }
            }
            let (policy, reader) = (policy(router), Participant::join());
            for n in 0..64 {
                let remote = SocketAddr::new(addr(six, n), 9);
                let flow = Flow { transport: Transport::Tcp, local: remote, remote };
                let found = policy.arriving(TableIndex::default(), &flow, reader.epoch());
                let longest = list.iter().rev().find(|((_, p), _)| p.contains(remote.ip()));
                let should = match longest {
                    Some((_, 0)) => Verdict::Drop,
                    Some(_) => Verdict::Allow,
                    None => Verdict::Unsaid,
                };
                assert_eq!(found, should, "{remote}");
            }
        });
    }
}

#[test]
fn a_rule_of_a_namespace_is_about_its_own_connections() {
    let mut b = bench();
    b.set("app ns add id a if pg0");
    b.set("session rule add appns a scope local proto tcp 0.0.0.0/0 0 10.0.0.0/8 80 action drop");
    b.control(|router, _| {
        let (policy, reader) = (policy(router), Participant::join());
        let end = |text: &str| text.parse::<SocketAddr>().unwrap();
        let (transport, local) = (Transport::Tcp, end("0.0.0.0:0"));
        let flow = Flow { transport, local, remote: end("10.1.1.1:80") };
        assert_eq!(policy.connecting_local(1, &flow, reader.epoch()), Verdict::Drop);
        assert_eq!(policy.connecting_local(0, &flow, reader.epoch()), Verdict::Unsaid);
        let table = TableIndex::default();
        assert_eq!(policy.connecting(table, &flow, reader.epoch()), Verdict::Unsaid);
        assert_eq!(policy.arriving(table, &flow, reader.epoch()), Verdict::Unsaid);
    });
}

#[test]
fn many_rules_are_published_together_and_soon() {
    let mut b = bench();
    let end = |text: &str| text.parse::<SocketAddr>().unwrap();
    let flow = |n: u16| Flow {
        transport: Transport::Tcp,
        local: end("10.0.0.1:80"),
        remote: SocketAddr::new(addr(false, 7), n),
    };
    let all: Prefix = "0.0.0.0/0".parse().unwrap();
    let found = |n| Match::new(Transport::Tcp, [all, all], [80, n]).unwrap();
    b.control(|router, _| {
        let drop = || Rule { action: crate::control::rules::DROP, tag: String::new() };
        for n in 1..=MOST_RULES as u16 {
            filters::add_rule(router, 0, Scope::Global, (found(n), drop())).unwrap();
        }
        let more = filters::add_rule(router, 0, Scope::Global, (found(9999), drop()));
        assert_eq!(more, Err(Error::TooManyRules));
        filters::add_rule(router, 0, Scope::Global, (found(9), drop())).unwrap();
    });
    b.wait(0.1);
    b.control(|router, _| {
        let (policy, reader) = (policy(router), Participant::join());
        let verdict = |n| policy.arriving(TableIndex::default(), &flow(n), reader.epoch());
        assert_eq!(verdict(MOST_RULES as u16), Verdict::Drop);
        assert_eq!(verdict(9999), Verdict::Unsaid);
    });
}
