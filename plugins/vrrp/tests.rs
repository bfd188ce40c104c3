//! Virtual routers: states, advertisements both ways, ARP and neighbour discovery for addresses.

use std::net::IpAddr;

use control::api::Retval;
use graph::testing::Caught;
use net::InterfaceIndex;
use net::testing::Rig;
use net::{Router, arp, nd};
use net::{address, fib, icmp, ip4, ip6, mfib, neighbor};
use vrrp::*;
use wire::vrrp::message;
use wire::{IpVersion, MacAddr, Protocol, ip4 as wire4, ip6 as wire6};
use zerocopy::IntoBytes;

const MAC4: [u8; 6] = [0, 0, 0x5e, 0, 1, 7];
const MAC6: [u8; 6] = [0, 0, 0x5e, 0, 2, 7];

fn bench() -> Rig {
    let mut rig = Rig::new(&[
        fib::FEATURE,
        address::FEATURE,
        ip4::FEATURE,
        ip6::FEATURE,
        mfib::FEATURE,
        icmp::FEATURE,
        neighbor::FEATURE,
        arp::FEATURE,
        nd::FEATURE,
        mld::FEATURE,
        FEATURE,
    ]);
    rig.add_networks(2);
    settle(&mut rig);
    rig
}

fn sent(out: &[Caught]) -> Vec<Vec<u8>> {
    out.iter().filter(|c| c.at == "sent").map(|c| c.bytes.clone()).collect()
}

/// Makes control do its work; returns the frames sent.
fn settle(rig: &mut Rig) -> Vec<Vec<u8>> {
    let mut all = sent(&rig.graph.run());
    for _ in 0..4 {
        rig.control(|router| router.run_due());
        all.extend(sent(&rig.graph.run()));
    }
    all
}

fn wait(rig: &mut Rig, seconds: f64) -> Vec<Vec<u8>> {
    rig.control(|router| router.engine.clock().adjust(seconds));
    settle(rig)
}

/// The priorities of advertisements among frames.
fn priorities(frames: &[Vec<u8>]) -> Vec<u8> {
    let of = |frame: &Vec<u8>| match (frame.get(12..14)?, frame.get(20), frame.get(23)) {
        ([8, 0], _, Some(112)) => Some(frame[36]),
        ([0x86, 0xdd], Some(112), _) => Some(frame[56]),
        _ => None,
    };
    frames.iter().filter_map(of).collect()
}

/// An advertisement of another router, as a packet.
fn advertisement(from: &str, said: (u8, u8, u16), addrs: &[&str], hops: u8) -> Vec<u8> {
    let from: IpAddr = from.parse().unwrap();
    let addrs: Vec<IpAddr> = addrs.iter().map(|addr| addr.parse().unwrap()).collect();
    match from {
        IpAddr::V4(src) => {
            let dst = wire::vrrp::GROUP4;
            let bytes = message((from, dst.into()), said, &addrs).unwrap();
            let mut ip = wire4::Header::new(src, dst, Protocol::VRRP, 20 + bytes.len() as u16);
            ip.ttl = hops;
            [ip.with_checksum().as_bytes(), &bytes].concat()
        }
        IpAddr::V6(src) => {
            let dst = wire::vrrp::GROUP6;
            let bytes = message((from, dst.into()), said, &addrs).unwrap();
            let mut ip = wire6::Header::new(src, dst, Protocol::VRRP, bytes.len() as u16);
            ip.hop_limit = hops;
            [ip.as_bytes(), &bytes].concat()
        }
    }
}

/// A packet is received on pg0; returns the frames sent then.
fn receive(rig: &mut Rig, packet: &[u8]) -> Vec<Vec<u8>> {
    let rx = rig.interface("pg0").0;
    let at = if packet[0] >> 4 == 6 { "ip6-input" } else { "ip4-input" };
    let mut all = sent(&rig.graph.send(at, &[packet.to_vec()], move |p| p.set_rx(rx)));
    all.extend(settle(rig));
    all
}

fn state(rig: &mut Rig) -> String {
    let shown = rig.run("show vrrp vr");
    let (_, behind) = shown.split_once("state ").unwrap();
    behind.split(" flags").next().unwrap_or_default().to_owned()
}

const ADD4: &str = "vrrp vr add pg0 vr_id 7 10.0.0.254";
const START4: &str = "vrrp proto start pg0 vr_id 7";
const STOP4: &str = "vrrp proto stop pg0 vr_id 7";

/// `pg0` is master of 10.0.0.254.
fn master(rig: &mut Rig, line: &str) -> Vec<Vec<u8>> {
    rig.set(line);
    rig.set(START4);
    assert!(priorities(&settle(rig)).is_empty());
    assert_eq!(state(rig), "Backup");
    let taken = wait(rig, 3.7);
    assert_eq!((state(rig).as_str(), priorities(&taken).as_slice()), ("Master", &[100][..]));
    taken
}

#[test]
fn an_owner_joins_advertises_and_announces_and_says_that_it_stops() {
    let mut rig = bench();
    rig.set("vrrp vr add pg0 vr_id 7 priority 255 10.0.0.1");
    rig.set(START4);
    let frames = settle(&mut rig);
    assert_eq!(frames.len(), 3, "{frames:x?}");
    assert_eq!((&frames[0][30..34], frames[0][38]), (&[224, 0, 0, 22][..], 0x22));
    assert_eq!(&frames[1][..12], &[&[1, 0, 0x5e, 0, 0, 0x12][..], &MAC4].concat()[..]);
    assert_eq!((frames[1][22], &frames[1][30..34]), (255, &[224, 0, 0, 18][..]));
    assert_eq!(frames[1][34..40], [0x31, 7, 255, 1, 0, 100]);
    assert_eq!(&frames[2][22..32], &[&MAC4[..], &[10, 0, 0, 1]].concat()[..]);
    assert_eq!(priorities(&wait(&mut rig, 1.1)), [255]);
    rig.set(STOP4);
    assert_eq!(priorities(&settle(&mut rig)), [0]);
    assert_eq!(state(&mut rig), "Initialize");
    assert!(wait(&mut rig, 9.0).is_empty());
}

#[test]
fn an_owner_of_ip6_reports_groups_and_announces() {
    let mut rig = bench();
    rig.set("vrrp vr add pg0 vr_id 7 ipv6 priority 255 2001:db8::1");
    rig.set("vrrp proto start pg0 vr_id 7 ipv6");
    let frames = settle(&mut rig);
    assert_eq!(frames.len(), 3, "{frames:x?}");
    assert_eq!(frames[0][62], 143, "a report");
    assert_eq!(&frames[1][..12], &[&[0x33, 0x33, 0, 0, 0, 0x12][..], &MAC6].concat()[..]);
    assert_eq!((frames[1][21], &frames[1][54..58]), (255, &[0x31, 7, 255, 1][..]));
    assert_eq!((frames[2][54], &frames[2][80..86]), (136, &MAC6[..]));
    rig.set("vrrp vr del pg0 vr_id 7 ipv6");
    assert_eq!(priorities(&settle(&mut rig)), [0]);
    assert_eq!(rig.run("show vrrp vr"), "");
}

#[test]
fn a_backup_waits_for_silence_and_yields_to_more_priority() {
    let mut rig = bench();
    rig.set(ADD4);
    rig.set(START4);
    settle(&mut rig);
    for _ in 0..3 {
        wait(&mut rig, 3.0);
        let heard =
            receive(&mut rig, &advertisement("10.0.0.2", (7, 110, 100), &["10.0.0.254"], 255));
        assert!(heard.is_empty());
    }
    assert_eq!(state(&mut rig), "Backup");
    // The master stops: what is left is the time by which less priority waits longer.
    receive(&mut rig, &advertisement("10.0.0.2", (7, 0, 100), &["10.0.0.254"], 255));
    assert_eq!(priorities(&wait(&mut rig, 0.7)), [100]);
    assert_eq!(state(&mut rig), "Master");
    let less = receive(&mut rig, &advertisement("10.0.0.2", (7, 90, 100), &["10.0.0.254"], 255));
    assert_eq!(priorities(&less), [100], "it hears that there is one");
    receive(&mut rig, &advertisement("10.0.0.2", (7, 110, 200), &["10.0.0.254"], 255));
    assert_eq!(state(&mut rig), "Backup");
    assert!(rig.run("show vrrp vr").contains("master adv 200"));
}

#[test]
fn no_interval_and_no_flood_makes_a_virtual_router_change_or_talk_at_once() {
    for (from, line, addr) in [
        ("10.0.0.2", ADD4, "10.0.0.254"),
        ("fe80::2", "vrrp vr add pg0 vr_id 7 ipv6 fe80::254", "fe80::254"),
    ] {
        let mut rig = bench();
        rig.set(line);
        rig.set(
            &line
                .replace("vr add", "proto start")
                .split(" ipv6")
                .next()
                .unwrap()
                .replace(" 10.0.0.254", "")
                .replace("vr_id 7", if from.contains(':') { "vr_id 7 ipv6" } else { "vr_id 7" }),
        );
        settle(&mut rig);
        let none = advertisement(from, (7, 110, 0), &[addr], 255);
        for _ in 0..5 {
            receive(&mut rig, &none);
            assert_eq!(state(&mut rig), "Backup");
        }
        assert!(priorities(&wait(&mut rig, 0.02)).is_empty());
        assert_eq!(state(&mut rig), "Backup");
        wait(&mut rig, 4.0);
        assert_eq!(state(&mut rig), "Master");
        let less = advertisement(from, (7, 90, 100), &[addr], 255);
        let first = (0..50).map(|_| priorities(&receive(&mut rig, &less)).len()).sum::<usize>();
        assert!(first <= 5, "{first} answers");
    }
}

#[test]
fn the_same_priority_is_decided_by_the_address() {
    let mut rig = bench();
    master(&mut rig, ADD4);
    receive(&mut rig, &advertisement("10.0.0.0", (7, 100, 100), &["10.0.0.254"], 255));
    assert_eq!(state(&mut rig), "Master");
    receive(&mut rig, &advertisement("10.0.0.2", (7, 100, 100), &["10.0.0.254"], 255));
    assert_eq!(state(&mut rig), "Backup");
}

#[test]
fn bad_advertisements_are_counted() {
    let mut rig = bench();
    rig.set(ADD4);
    rig.set(START4);
    settle(&mut rig);
    let good = advertisement("10.0.0.2", (7, 110, 100), &["10.0.0.254"], 255);
    let changed = |at: usize, to: u8| {
        let mut packet = good.clone();
        packet[at] = to;
        packet
    };
    for (packet, why) in [
        (
            advertisement("10.0.0.2", (7, 110, 100), &["10.0.0.254"], 254),
            "VRRP advertisement TTL is not 255",
        ),
        (
            advertisement("10.0.0.2", (8, 110, 100), &["10.0.0.254"], 255),
            "VRRP message does not match known VRs",
        ),
        (
            advertisement("10.0.0.2", (7, 110, 100), &["10.0.0.253"], 255),
            "VR addrs do not match configuration",
        ),
        (changed(20, 0x21), "VRRP version is not 3"),
        (changed(23, 9), "VRRP packet has wrong size"),
        (changed(22, 111), "VRRP checksum is invalid"),
        (good.clone(), "VRRP packets processed"),
    ] {
        rig.graph.moved_counters();
        receive(&mut rig, &packet);
        let moved = rig.graph.moved_counters();
        assert!(moved.iter().any(|m| (m.0.as_str(), m.1) == ("vrrp4-input", why)), "{moved:?}");
    }
}

/// An ARP request for an address is received on pg0; returns the sender of the reply.
fn asked(rig: &mut Rig, target: [u8; 4]) -> Vec<Vec<u8>> {
    let sender = wire::arp::Peer::new(MacAddr([8; 6]), [10, 0, 0, 2].into());
    let arp = wire::arp::Header::request(sender, target.into());
    let rx = rig.interface("pg0").0;
    sent(&rig.graph.send("arp-input", &[arp.as_bytes().to_vec()], move |p| p.set_rx(rx)))
}

#[test]
fn a_master_answers_for_its_addresses() {
    let mut rig = bench();
    assert!(asked(&mut rig, [10, 0, 0, 254]).is_empty());
    // Those of groups.
    let own = rig.run("show interface secondary-mac-address pg0");
    assert!(!own.contains("00:00:5e"), "{own}");
    let taken = master(&mut rig, ADD4);
    assert_eq!(&taken.last().unwrap()[6..12], &MAC4, "it announces them");
    let answer = asked(&mut rig, [10, 0, 0, 254]);
    assert_eq!((&answer[0][6..12], &answer[0][22..28]), (&MAC4[..], &MAC4[..]));
    assert!(!rig.run("show configuration").contains("secondary"), "lent");
    assert!(rig.run("show interface secondary-mac-address pg0").contains("00:00:5e:00:01:07"));
    rig.set(STOP4);
    settle(&mut rig);
    assert!(asked(&mut rig, [10, 0, 0, 254]).is_empty());
    assert_eq!(rig.run("show interface secondary-mac-address pg0"), own);
}

#[test]
fn a_master_that_accepts_has_the_addresses() {
    let mut rig = bench();
    master(&mut rig, "vrrp vr add pg0 vr_id 7 accept_mode 10.0.0.254");
    assert!(rig.run("show interface address pg0").contains("10.0.0.254/24"));
    assert!(!rig.run("show configuration").contains("10.0.0.254/24"));
    rig.set("set interface state pg0 down");
    assert_eq!(state(&mut rig), "Interface Down");
    assert!(!rig.run("show interface address pg0").contains("10.0.0.254/24"));
    rig.set("set interface state pg0 up");
    assert_eq!(state(&mut rig), "Backup");
}

#[test]
fn priority_is_lost_with_other_interfaces() {
    let mut rig = bench();
    master(&mut rig, ADD4);
    rig.set("vrrp vr track-if add pg0 vr_id 7 track-interface pg1 priority 50");
    assert_eq!(priorities(&wait(&mut rig, 1.1)), [100]);
    rig.set("set interface state pg1 down");
    assert_eq!(priorities(&wait(&mut rig, 1.1)), [50]);
    rig.set("set interface state pg1 up");
    rig.set("set interface ip address del pg1 10.0.1.1/24");
    assert_eq!(priorities(&wait(&mut rig, 1.1)), [50], "without an address");
    rig.set("vrrp vr track-if del pg0 vr_id 7 track-interface pg1");
    assert_eq!(priorities(&wait(&mut rig, 1.1)), [100]);
}

#[test]
fn peers_get_advertisements_where_there_is_no_group() {
    let mut rig = bench();
    rig.set("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:a2");
    rig.set("vrrp vr add pg0 vr_id 7 priority 255 unicast 10.0.0.1");
    assert!(rig.attempt(START4).unwrap_err().contains("has no peers"));
    rig.set("vrrp peers pg0 vr_id 7 10.0.0.2");
    rig.set(START4);
    let frames = settle(&mut rig);
    let sent = frames.iter().find(|frame| frame[12..14] == [8, 0]).unwrap();
    assert_eq!((&sent[..6], &sent[30..34]), (&[2, 0, 0, 0, 0, 0xa2][..], &[10, 0, 0, 2][..]));
    assert_eq!((sent[22], sent[23]), (255, 112));
    let configuration = rig.run("show configuration");
    for line in [
        "vrrp vr add pg0 vr_id 7 priority 255 unicast 10.0.0.1\n",
        "vrrp peers pg0 vr_id 7 10.0.0.2\n",
        "vrrp proto start pg0 vr_id 7\n",
    ] {
        assert!(configuration.contains(line), "{line}: {configuration}");
    }
}

#[test]
fn programs_set_virtual_routers_and_hear_of_states() {
    let mut rig = bench();
    let pg0 = rig.interface("pg0");
    let addr = |text: &str| text.parse::<IpAddr>().unwrap().into();
    rig.talk(|talker, router| {
        talker.call(router, &WantVrrpVrEvents { enable_disable: true, pid: 7 }).unwrap();
        let update = |vrrp_index, on, priority, addrs: &[&str]| VrrpVrUpdate {
            vrrp_index,
            sw_if_index: on,
            vr_id: 7,
            priority,
            interval: 100,
            flags: VrrpVrFlags::PREEMPT,
            addrs: addrs.iter().map(|text| addr(text)).collect(),
        };
        let set = |router: &mut Router, m: VrrpVrUpdate| {
            talker.call(router, &m).map(|reply| reply.vrrp_index)
        };
        let new = u32::MAX;
        let nowhere = set(router, update(new, InterfaceIndex(99), 255, &["10.0.0.1"]));
        assert_eq!(nowhere, Err(Retval::INVALID_SW_IF_INDEX));
        assert_eq!(set(router, update(new, pg0, 255, &[])), Err(Retval::INVALID_ARGUMENT));
        assert_eq!(set(router, update(new, pg0, 0, &["10.0.0.1"])), Err(Retval::INVALID_VALUE));
        let mixed = set(router, update(new, pg0, 9, &["10.0.0.1", "::1"]));
        assert_eq!(mixed, Err(Retval::INVALID_ARGUMENT));
        assert_eq!(set(router, update(new, pg0, 255, &["10.0.0.1"])), Ok(0));
        let again = set(router, update(new, pg0, 255, &["10.0.0.1"]));
        assert_eq!(again, Err(Retval::ENTRY_ALREADY_EXISTS));
        assert_eq!(set(router, update(5, pg0, 255, &["10.0.0.1"])), Err(Retval::NO_SUCH_ENTRY));
        let start = |is_start| VrrpVrStartStop { sw_if_index: pg0, vr_id: 7, is_ipv6: 0, is_start };
        talker.call(router, &start(1)).unwrap();
        let vr = VrrpVrKey { sw_if_index: pg0, vr_id: 7, is_ipv6: 0 };
        let event = |old_state, new_state| VrrpVrEvent { vr, old_state, new_state };
        let key = Key { on: pg0, id: 7, version: IpVersion::V4 };
        // What a request causes comes with its answer.
        stop(router, key).unwrap();
        let events = talker.events::<VrrpVrEvent>();
        assert_eq!(events, [event(VrrpVrState::MASTER, VrrpVrState::INIT)]);
        // The first answer to a request is its reply only where no event comes before it.
        let none = WantVrrpVrEvents { enable_disable: false, pid: 7 };
        talker.call(router, &none).unwrap();
        vrrp::start(router, key).unwrap();
        assert_eq!(set(router, update(0, pg0, 100, &["10.0.0.254"])), Ok(0));
        let rows = talker.dump(router, &VrrpVrDump { sw_if_index: pg0 });
        let shown = (rows[0].runtime.state, rows[0].runtime.skew, rows[0].runtime.master_down_int);
        assert_eq!(shown, (VrrpVrState::BACKUP, 60, 360));
        assert_eq!((rows[0].config.priority, &rows[0].addrs[..]), (100, &[addr("10.0.0.254")][..]));
        talker.call(router, &VrrpVrDel { vrrp_index: 0 }).unwrap();
        let gone = talker.call(router, &start(0)).unwrap_err();
        assert_eq!(gone, Retval::NO_SUCH_ENTRY);
    });
}
