use wire::MacAddr;

use super::*;
use crate::adjacency::Role;
use crate::interface::{InterfaceIndex, Mode, SubInterface, Tags};
use crate::ip::testing::{Bench, packets};

const OWN: [u8; 6] = [2, 0, 0, 0, 0, 0xaa];

fn bench() -> Bench {
    Bench::with(|router| {
        let types = ethertypes::EtherTypes::default();
        let bridging = input::Bridging(Shared::new(None));
        let input = EthernetInput::new(&router.interfaces, &types, &bridging, NodeByNode);
        router.engine.add(input).unwrap();
        router.insert(types);
    })
}

/// A frame for `dst` with these tags, each as type and control word.
fn frame(dst: [u8; 6], tags: &[(u16, u16)], ethertype: u16, packet: &[u8]) -> Vec<u8> {
    let mut bytes = [dst, [2, 0, 0, 0, 0, 1]].concat();
    for (kind, control) in tags {
        bytes.extend(kind.to_be_bytes().into_iter().chain(control.to_be_bytes()));
    }
    bytes.extend(ethertype.to_be_bytes());
    [&bytes, packet].concat()
}

impl Bench {
    fn sub(&mut self, parent: InterfaceIndex, sub: SubInterface, address: &str) -> InterfaceIndex {
        self.control(|router| {
            let index = router.add_sub_interface(parent, sub).unwrap();
            router.set_admin(index, true);
            router.add_address(index, address.parse().unwrap()).unwrap();
            index
        })
    }
    fn counted(&self, index: InterfaceIndex) -> [(u64, u64); 2] {
        let values = self.router.interfaces.values(index);
        [(values.rx.packets, values.rx.bytes), (values.tx.packets, values.tx.bytes)]
    }
}

#[test]
fn sub_interfaces_route_with_their_tags() {
    let mut b = bench();
    let (pg0, pg1) = (b.pg0, b.pg1);
    let one = b.sub(pg0, SubInterface::dot1q(100, 100), "10.5.0.1/24");
    let two =
        SubInterface { tags: 2, is_dot1ad: true, inner: Some(7), ..SubInterface::dot1q(9, 8) };
    let two = b.sub(pg1, two, "10.6.0.1/24");
    let packet = packets::udp4("10.5.0.2", "10.6.0.2", 80, &[1; 20]);
    let at = b.send("ethernet-input", &vec![frame(OWN, &[(0x8100, 100)], 0x800, &packet); 3]);
    assert_eq!(at.len(), 3);
    assert_eq!((at[0].at.as_str(), at[0].rx, &at[0].bytes), ("ip4-lookup", one.0, &packet));
    assert_eq!(b.counted(one), [(3, 3 * (18 + packet.len() as u64)), (0, 0)]);

    let adjacency = b.control(|router| {
        let adjacency = router.use_adjacency(two, Role::Neighbor, "10.6.0.2".parse().unwrap());
        let adjacency = adjacency.unwrap();
        router.complete_adjacency(adjacency, MacAddr([2, 0, 0, 0, 0, 0xbb]));
        adjacency
    });
    let sent =
        b.send_as("ip4-rewrite", &vec![packet.clone(); 3], move |p| p.set_adjacency(adjacency.0));
    assert_eq!((sent.len(), sent[0].at.as_str()), (3, "sent"));
    let header = [2, 0, 0, 0, 0, 0xbb, 2, 0, 0, 0, 0, 0xaa, 0x88, 0xa8, 0, 8, 0x81, 0, 0, 7, 8, 0];
    assert_eq!(sent[0].bytes[..22], header);
    assert_eq!(sent[0].bytes.len(), 22 + packet.len());
    assert_eq!(b.counted(two), [(0, 0), (3, 3 * (22 + packet.len() as u64))]);
    assert_eq!(b.counted(pg1)[1], (3, 3 * (22 + packet.len() as u64)));
    b.expect(&[]);
}

/// Matches of `pg0.1`, and frames for each.
fn kinds() -> [(SubInterface, Vec<(u16, u16)>); 6] {
    let dot1q = SubInterface::dot1q(1, 5);
    let plain = SubInterface { id: 1, ..SubInterface::default() };
    [
        (dot1q, vec![(0x8100, 0xa005)]),
        (SubInterface { is_dot1ad: true, ..dot1q }, vec![(0x88a8, 5)]),
        (SubInterface { tags: 2, inner: None, ..dot1q }, vec![(0x8100, 5), (0x8100, 77)]),
        (SubInterface { outer: None, ..dot1q }, vec![(0x8100, 0)]),
        (SubInterface { is_default: true, ..plain }, vec![(0x8100, 9), (0x8100, 9)]),
        (SubInterface { is_exact: true, ..plain }, vec![]),
    ]
}

#[test]
fn frames_of_any_kind_of_tags_are_counted_once() {
    for (sub, tags) in kinds() {
        for is_ip6 in [false, true] {
            for count in [1, 3, 4, 255, 256] {
                let mut b = bench();
                let pg0 = b.pg0;
                let sub = b.sub(pg0, sub, if is_ip6 { "2001:db8:5::1/64" } else { "10.5.0.1/24" });
                let packet = if is_ip6 {
                    packets::udp6("2001:db8:5::2", "2001:db8:6::2", 80, &[1; 20])
                } else {
                    packets::udp4("10.5.0.2", "10.6.0.2", 80, &[1; 20])
                };
                let one = frame(OWN, &tags, if is_ip6 { 0x86dd } else { 0x800 }, &packet);
                let at = b.send("ethernet-input", &vec![one.clone(); count]);
                let next = if is_ip6 { "ip6-lookup" } else { "ip4-lookup" };
                assert_eq!(at.len(), count);
                assert!(at.iter().all(|p| p.at == next && p.rx == sub.0 && p.bytes == packet));
                assert_eq!(b.counted(sub)[0], (count as u64, (count * one.len()) as u64));
                b.expect(&[]);
            }
        }
    }
}

#[test]
fn each_frame_of_a_mixture_goes_to_its_interface() {
    // Whatever the first frame is, which chooses the pass.
    for first in 0..5 {
        let mut b = bench();
        let (pg0, pg1) = (b.pg0, b.pg1);
        let one = b.sub(pg0, SubInterface::dot1q(1, 5), "10.5.0.1/24");
        let two = SubInterface { tags: 2, inner: Some(6), ..SubInterface::dot1q(2, 5) };
        let two = b.sub(pg1, two, "10.6.0.1/24");
        let packet = packets::udp4("10.5.0.2", "10.6.0.2", 80, &[1; 20]);
        let other = [2, 0, 0, 0, 0, 0xcc];
        let mut frames = [
            (frame(OWN, &[], 0x800, &packet), Some(pg0)),
            (frame(OWN, &[(0x8100, 5)], 0x800, &packet), Some(one)),
            (frame(OWN, &[(0x8100, 5), (0x8100, 6)], 0x800, &packet), Some(two)),
            (frame(OWN, &[], 0x800, &packet), Some(pg1)),
            (frame(other, &[(0x8100, 5)], 0x800, &packet), None),
        ];
        // The sender's address says by which interface a frame comes.
        frames[2..4].iter_mut().for_each(|f| f.0[11] = 9);
        let all: Vec<_> = (0..255).map(|n| &frames[(first + n) % frames.len()]).collect();
        let bytes: Vec<_> = all.iter().map(|f| f.0.clone()).collect();
        let at = b.send_as("ethernet-input", &bytes, move |p| {
            p.set_rx(if p.bytes()[11] == 9 { pg1.0 } else { pg0.0 });
        });
        let rx: Vec<_> = at.iter().filter(|p| p.at == "ip4-lookup").map(|p| p.rx).collect();
        let wanted: Vec<_> = all.iter().filter_map(|f| f.1.map(|to| to.0)).collect();
        assert_eq!(rx, wanted);
        let counted = |n: usize, times: u64| (times, times * frames[n].0.len() as u64);
        // What is for another address counts as well.
        let wanted = [counted(1, 2 * 51), counted(2, 51)];
        assert_eq!([b.counted(one)[0], b.counted(two)[0]], wanted);
        b.expect(&[("ethernet-input", "l3 mac mismatch", 51)]);
    }
}

#[test]
fn a_port_sends_with_and_without_tags() {
    for count in [1, 3, 4, 255, 256] {
        for first in 0..4 {
            let mut b = bench();
            let (pg0, pg1) = (b.pg0, b.pg1);
            let sub = |tags, is_dot1ad, id| SubInterface {
                tags,
                is_dot1ad,
                inner: (tags == 2).then_some(7),
                ..SubInterface::dot1q(id, 0x800 + id as u16)
            };
            let one = b.sub(pg1, sub(1, false, 1), "10.5.0.1/24");
            let two = b.sub(pg1, sub(2, true, 2), "10.6.0.1/24");
            let down = b.sub(pg1, sub(2, false, 3), "10.7.0.1/24");
            b.control(|router| router.set_admin(down, false));
            let packet = packets::udp4("10.0.0.2", "10.6.0.2", 80, &[1; 20]);
            // The sender's address says by which interface a frame goes.
            let plain = |n: usize| {
                let mut plain = frame([2, 0, 0, 0, 0, 0xbb], &[], 0x800, &packet);
                plain[11] = n as u8;
                plain
            };
            let kinds: [(_, &[u8]); 4] = [
                (pg1, &[]),
                (one, &[0x81, 0, 8, 1]),
                (two, &[0x88, 0xa8, 8, 2, 0x81, 0, 0, 7]),
                (down, &[]),
            ];
            let kind = move |n: usize| (first + n) % kinds.len();
            let frames: Vec<_> = (0..count).map(|at| plain(kind(at))).collect();
            let sent = b.send_as("pg1-output", &frames, move |p| {
                p.set_tx(kinds[usize::from(p.bytes()[11])].0.0);
            });
            let of = |n: usize| (0..count).filter(move |at| kind(*at) == n).count() as u64;
            let good = (0..count).map(kind).filter(|n| *n < 3);
            let wanted: Vec<_> =
                good.map(|n| [&plain(n)[..12], kinds[n].1, &plain(n)[12..]].concat()).collect();
            assert_eq!(sent.iter().map(|p| p.bytes.clone()).collect::<Vec<_>>(), wanted);
            let bytes = |n| of(n) * (plain(n).len() + kinds[n].1.len()) as u64;
            assert_eq!(b.counted(one)[1], (of(1), bytes(1)));
            assert_eq!(b.counted(two)[1], (of(2), bytes(2)));
            assert_eq!(b.counted(down)[1], (0, 0));
            let all = (0..3).fold((0, 0), |sum, n| (sum.0 + of(n), sum.1 + bytes(n)));
            assert_eq!(b.counted(pg1)[1], all);
            assert_eq!(b.counted(pg0)[1], (0, 0));
            let dropped = [("pg1-output", "interface is down", of(3))];
            b.expect(if of(3) > 0 { &dropped } else { &[] });
        }
    }
}

#[test]
fn a_frame_with_only_a_priority_is_in_no_vlan() {
    let mut b = bench();
    let pg0 = b.pg0;
    let packet = packets::udp4("10.0.0.2", "10.1.0.2", 80, &[1; 20]);
    let at = b.send("ethernet-input", &[frame(OWN, &[(0x8100, 0xa000)], 0x800, &packet)]);
    assert_eq!((at[0].at.as_str(), at[0].rx, &at[0].bytes), ("ip4-lookup", pg0.0, &packet));
    b.expect(&[]);
}

#[test]
fn frames_that_nobody_takes_are_dropped_and_counted() {
    let mut b = bench();
    let pg0 = b.pg0;
    let sub = b.sub(pg0, SubInterface::dot1q(1, 5), "10.5.0.1/24");
    let packet = packets::udp4("10.5.0.2", "10.0.0.1", 80, &[]);
    let other = [2, 0, 0, 0, 0, 0xcc];
    let bad = [
        frame(OWN, &[(0x8100, 6)], 0x800, &packet),
        frame(OWN, &[(0x88a8, 5)], 0x800, &packet),
        frame(OWN, &[(0x8100, 5), (0x8100, 5)], 0x800, &packet),
        frame(other, &[(0x8100, 5)], 0x800, &packet),
        frame(other, &[], 0x800, &packet),
        frame(OWN, &[(0x8100, 5)], 0x1234, &packet),
        frame(OWN, &[(0x8100, 5)], 0x800, &packet)[..17].to_vec(),
    ];
    b.control(move |r| r.interfaces.set_promiscuous(pg0, true).unwrap());
    assert_eq!(b.send("ethernet-input", &bad), []);
    b.expect(&[
        ("ethernet-input", "l3 mac mismatch", 2),
        ("ethernet-input", "unknown ethernet type", 1),
        ("ethernet-input", "unknown vlan", 3),
        ("ethernet-input", "too short", 1),
    ]);
    b.control(|router| router.set_admin(sub, false));
    b.send("ethernet-input", &[frame(OWN, &[(0x8100, 5)], 0x800, &packet)]);
    b.control(|router| router.set_admin(sub, true));
    b.control(|router| router.set_admin(pg0, false));
    b.send("ethernet-input", &[frame(OWN, &[(0x8100, 5)], 0x800, &packet)]);
    b.expect(&[("ethernet-input", "subinterface down", 2)]);
}

#[test]
fn secondary_addresses_and_untagged_sub_interfaces() {
    let mut b = bench();
    let pg0 = b.pg0;
    let other = [2, 0, 0, 0, 0, 0xcc];
    let arp = [frame(other, &[], 0x806, &[0; 28])];
    assert_eq!(b.send("ethernet-input", &arp), []);
    b.control(|r| assert_eq!(r.set_secondary_mac(pg0, MacAddr(other), true), Ok(true)));
    assert_eq!(b.send("ethernet-input", &arp)[0].at, "arp-input");
    let sub = SubInterface { id: 3, is_exact: true, ..SubInterface::default() };
    let sub = b.sub(pg0, sub, "10.5.0.1/24");
    let caught = b.send("ethernet-input", &arp);
    assert_eq!((caught[0].at.as_str(), caught[0].rx), ("arp-input", sub.0));
    b.control(|r| r.remove_interface(sub));
    assert_eq!(b.send("ethernet-input", &arp)[0].rx, pg0.0);
    b.control(|r| assert_eq!(r.set_secondary_mac(pg0, MacAddr(other), false), Ok(true)));
    assert_eq!(b.send("ethernet-input", &arp), []);
    b.control(|r| r.interfaces.change_port(pg0, |port| port.takes_all = true));
    assert_eq!(b.send("ethernet-input", &arp)[0].at, "arp-input");
}

#[test]
fn an_interface_punts_all_it_brings_in_while_it_is_told_to() {
    let mut b = bench();
    let pg0 = b.pg0;
    let sub = b.sub(pg0, SubInterface::dot1q(1, 5), "10.5.0.1/24");
    let packet = packets::udp4("10.0.0.2", "10.0.0.1", 80, &[]);
    let frames =
        [frame([2; 6], &[], 0x800, &packet), frame([2; 6], &[(0x8100, 5)], 0x806, &[0; 28])];
    b.run("set interface state pg0 punt").unwrap();
    assert!(b.run("show interface pg0").unwrap().contains("  punt  "));
    assert!(b.send("ethernet-input", &frames).is_empty());
    b.run("set interface state pg0 up").unwrap();
    b.control(|r| r.set_punting(sub));
    assert!(b.send("ethernet-input", &frames[1..]).is_empty());
    let punts = |b: &Bench, index| b.router.interfaces.values(index).punt;
    assert_eq!((punts(&b, pg0), punts(&b, sub)), (2, 1));
    b.expect(&[]);
    b.run("set interface state pg0 down").unwrap();
    assert!(b.send("ethernet-input", &frames).is_empty());
    b.expect(&[("ethernet-input", "subinterface down", 2)]);
    assert!(b.run("set interface state pg0 punt up").is_err());
}

#[test]
fn other_protocols_go_where_they_are_registered() {
    let mut b = bench();
    let lldp = [frame([1, 0x80, 0xc2, 0, 0, 0xe], &[], 0x88cc, &[0; 20])];
    assert_eq!(b.send("ethernet-input", &lldp), []);
    b.control(|r| r.register_ethertype(wire::ethernet::EtherType::LLDP, "arp-input").unwrap());
    assert_eq!(b.send("ethernet-input", &lldp)[0].at, "arp-input");
    b.control(|r| {
        assert!(r.register_ethertype(wire::ethernet::EtherType::LLDP, "nosuch").is_err());
    });
}

#[test]
fn frames_of_bridged_interfaces_go_one_way_with_their_header_and_tags() {
    let mut b = bench();
    let (pg0, own) = (b.pg0, frame(OWN, &[], 0x800, &[1; 30]));
    let sub = b.sub(pg0, SubInterface::dot1q(1, 5), "10.5.0.1/24");
    let frames = [
        own.clone(),
        frame([1, 2, 3, 4, 5, 6], &[], 0x1234, &[2; 30]),
        frame([1, 2, 3, 4, 5, 6], &[(0x8100, 6), (0x8100, 5)], 0x800, &[3; 30]),
        frame([1, 2, 3, 4, 5, 6], &[(0x8100, 5)], 0x806, &[4; 30]),
    ];
    b.control(|r| r.set_mode(pg0, Mode::CrossConnect).unwrap());
    assert!(b.send("ethernet-input", &frames[..1]).is_empty());
    b.expect(&[("ethernet-input", "no bridging", 1)]);
    b.control(|r| r.register_layer2("arp-input").unwrap());
    b.control(|r| r.set_mode(sub, Mode::Bridge).unwrap());
    assert!(b.control(|r| r.interfaces.port(sub).unwrap().tags == Tags::NONE));
    for count in [1, 3, 4, 255, 256] {
        let many: Vec<_> = frames.iter().cycle().take(count).cloned().collect();
        let caught = b.send("ethernet-input", &many);
        let seen: Vec<_> = caught.iter().map(|c| (&*c.at, c.rx, &c.bytes)).collect();
        let mut wanted: Vec<_> = many.iter().map(|f| ("arp-input", pg0.0, f)).collect();
        wanted.iter_mut().skip(3).step_by(4).for_each(|w| w.1 = sub.0);
        assert_eq!(seen, wanted);
    }
    b.expect(&[]);
    b.control(|r| [pg0, sub].map(|i| r.set_mode(i, Mode::Layer3).unwrap()));
    assert!(b.control(|r| r.interfaces.port(sub).unwrap().tags != Tags::NONE));
}

#[test]
fn deleting_an_interface_deletes_its_sub_interfaces() {
    let mut b = bench();
    let pg0 = b.pg0;
    let sub = b.sub(pg0, SubInterface::dot1q(1, 5), "10.5.0.1/24");
    b.control(|r| {
        r.set_mac(pg0, MacAddr([2, 0, 0, 0, 0, 9]));
        assert_eq!(r.interfaces.at(sub).unwrap().mac, MacAddr([2, 0, 0, 0, 0, 9]));
        assert!(r.add_sub_interface(pg0, SubInterface::dot1q(1, 6)).is_err());
        assert!(r.add_sub_interface(pg0, SubInterface::dot1q(2, 5)).is_err());
        assert!(r.add_sub_interface(sub, SubInterface::dot1q(2, 7)).is_err());
        r.remove_interface(pg0);
        assert!(r.interfaces.at(sub).is_none() && r.interfaces.named("pg0.1").is_none());
    });
}
