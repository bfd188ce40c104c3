//! Objects of features as targets of routes, and routes that features follow.

use std::convert::Infallible;

use graph::{Frame, Node};

use super::*;
use crate::ip::testing::packets;

/// Takes packets for the objects of a test, and says with which number they came.
#[derive(Clone)]
struct Taker;

#[derive(Clone, Copy, graph::Next)]
enum Next {
    #[to("taken")]
    Taken,
}

impl Node for Taker {
    const NAME: &'static str = "taker";
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            let index = p.adjacency();
            p.set_flow_hash(index);
            Ok(Next::Taken)
        });
    }
}

fn object(kind: ObjectKind, index: u32) -> Path {
    Path::to(Target::Object(Object { kind, index }))
}

#[test]
fn a_route_leads_to_objects_of_a_kind_that_has_a_node_for_its_packets() {
    let (mut b, kind) = Rig::made(
        1,
        &[FEATURE, address::FEATURE],
        |_| (),
        |router| {
            router.engine.add(Taker).unwrap();
            let nodes = vec![(Link::Ip4, "taker".to_owned())];
            let describe = |_: &Router, index| format!("test-object: {index}");
            let first = NewKind { nodes: vec![], describe };
            router.add_object_kind(first).unwrap();
            router.add_object_kind(NewKind { nodes, describe }).unwrap()
        },
    );
    let used = b.in_use();
    assert_eq!(kind, ObjectKind(3), "behind those of labels");
    let paths = [object(kind, 7), object(kind, 8)];
    for prefix in ["16.0.0.0/8", "2001:db8::/32"] {
        let prefix = prefix.parse().unwrap();
        b.control(|r| r.set_route(TableIndex::DEFAULT, prefix, Source::API, &paths).unwrap());
    }
    b.set("ip route add 18.0.0.0/8 via 16.0.0.1");
    assert!(b.run("show ip fib 16.0.0.0/8").contains("[@20]: test-object: 7"));
    for dst in ["16.0.0.2", "18.0.0.2"] {
        for n in [1, 3, 4, 255, 256] {
            let packets: Vec<_> =
                (0..n).map(|i| packets::udp4("9.9.9.9", dst, 7 + i, b"data")).collect();
            let out = b.graph.send("ip4-lookup", &packets, |_| ());
            assert_eq!(out.len(), usize::from(n));
            assert!(out.iter().all(|c| c.at == "taken"), "{dst}");
        }
    }
    let six = packets::udp6("2a00::9", "2001:db8::1", 7, b"data");
    let out = b.graph.send("ip6-lookup", &[six], |_| ());
    assert!(out.iter().all(|c| c.at == "ip6-drop"), "the kind has no node for IPv6");
    b.set("ip route del 18.0.0.0/8");
    for prefix in ["16.0.0.0/8", "2001:db8::/32"] {
        let prefix = prefix.parse().unwrap();
        b.control(|r| r.remove_route(TableIndex::DEFAULT, prefix, Source::API, &[]).unwrap());
    }
    assert_eq!(b.in_use(), used);
}

/// Calls of followers.
#[derive(Default)]
struct Called(Vec<u64>);

fn note(router: &mut Router, key: u64) {
    router.own_mut::<Called>().0.push(key);
}

#[test]
fn who_follows_a_route_keeps_the_load_balance_and_is_called_once_for_all_changes() {
    let mut b = bench();
    b.router.insert(Called::default());
    let used = b.in_use();
    let follower = Some(Follower { call: note, key: 5 });
    let followed = b.control(|r| {
        let addr = "16.0.0.1".parse().unwrap();
        r.follow(Link::Ip4, TableIndex::DEFAULT, addr, follower).unwrap()
    });
    let balance = followed.load_balance();
    let called = |b: &mut Rig| {
        b.graph.engine.clock().adjust(0.1);
        b.control(|r| {
            r.run_due();
            std::mem::take(&mut r.own_mut::<Called>().0)
        })
    };
    called(&mut b);
    assert!(!b.control(|r| r.fib.leads_on(&followed)));
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1");
    assert_eq!(b.follow(balance, 9), b.leads("16.0.0.1"));
    assert!(b.control(|r| r.fib.leads_on(&followed)));
    b.set("ip route add 16.0.0.1/32 via 10.0.2.2 pg2");
    assert_eq!(b.follow(balance, 9), b.leads("16.0.0.1"));
    assert_eq!(called(&mut b), [5], "once for both");
    b.set("ip route add 17.0.0.0/8 via 10.0.2.2 pg2");
    assert_eq!(called(&mut b), [0_u64; 0], "that is another route");
    let pg2 = b.interface("pg2");
    b.control(|r| r.set_admin(pg2, false));
    assert_eq!(called(&mut b), [5]);
    assert!(!b.control(|r| r.fib.leads_on(&followed)));
    b.control(|r| r.set_admin(pg2, true));
    let other = Path::to(Target::Neighbor { interface: pg2, addr: [10, 0, 2, 9].into() });
    b.control(|r| r.refollow(balance, &[other]).unwrap());
    assert_eq!(followed.load_balance(), balance);
    assert!(matches!(b.follow(balance, 9)[..], [Via::Adjacency(_)]));
    b.control(|r| r.unfollow(followed));
    for route in ["16.0.0.0/8", "16.0.0.1/32", "17.0.0.0/8"] {
        b.set(&format!("ip route del {route}"));
    }
    called(&mut b);
    assert_eq!(b.in_use(), used);
}
