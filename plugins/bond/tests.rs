//! Sending and receiving members, and refusals.

use bond::*;
use control::api::Retval;
use graph::testing::Caught;
use net::InterfaceIndex;
use net::testing::whole::{Bench, HOST, PG0, PG1};
use net::testing::{Transmit, new_interface, packets};
use wire::MacAddr;
use wire::ethernet::{EtherType, Header};
use zerocopy::IntoBytes;

/// The whole router with a third interface, `pg2`, and a bond that is up.
fn bench(create: &str, members: &[&str]) -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    b.control(|router, _| {
        let new = new_interface("pg2", MacAddr([2, 0, 0, 0, 0, 0xac]));
        let index = router.add_interface(new, Transmit).unwrap();
        router.set_admin(index, true);
    });
    assert_eq!(b.cli(create), "BondEthernet0\n");
    b.set("set interface state BondEthernet0 up");
    b.set("set interface ip address BondEthernet0 10.9.0.1/24");
    for member in members {
        b.set(&format!("bond add BondEthernet0 {member}"));
    }
    b.set("set ip neighbor BondEthernet0 10.9.0.2 02:00:00:00:00:99");
    b.wait(0.0);
    b.graph.moved_counters();
    b
}

/// A packet from a host on `pg0`'s link to one behind the bond.
fn packet(port: u16) -> Vec<u8> {
    let ip = packets::udp4("10.0.0.2", "10.9.0.2", port, &[7; 20]);
    [Header::new(PG0, HOST, EtherType::IP4).as_bytes(), &ip].concat()
}

fn by(b: &Bench, out: &[Caught], name: &str) -> usize {
    let index = b.interface(name).0;
    out.iter().filter(|c| c.at == "sent" && c.tx == index).count()
}

fn send(b: &mut Bench, ports: std::ops::Range<u16>) -> Vec<Caught> {
    let frames: Vec<_> = ports.map(packet).collect();
    let pg0 = b.pg0;
    b.receive(pg0, &frames)
}

#[test]
fn packets_take_turns() {
    let mut b = bench("create bond mode round-robin", &["pg1", "pg2"]);
    for count in [1, 3, 4, 255, 256] {
        let out = send(&mut b, 1..count + 1);
        let (one, two) = (by(&b, &out, "pg1"), by(&b, &out, "pg2"));
        assert_eq!(one + two, usize::from(count));
        assert!(one.abs_diff(two) <= 1, "{one} {two}");
        assert!(out.iter().all(|c| c.bytes[6..12] == PG1.0), "with the first member's address");
    }
    let bond = b.interface("BondEthernet0");
    // One announced its address when it came up.
    assert_eq!(b.router.interfaces.values(bond).tx.packets, 1 + 3 + 4 + 255 + 256 + 1);
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn all_members_get_copies() {
    let mut b = bench("create bond mode broadcast", &["pg1", "pg2"]);
    let out = send(&mut b, 1..4);
    assert_eq!((by(&b, &out, "pg1"), by(&b, &out, "pg2")), (3, 3));
    let of = |name: &str| {
        let index = b.interface(name).0;
        out.iter().filter(|c| c.tx == index).map(|c| &c.bytes).collect::<Vec<_>>()
    };
    assert_eq!(of("pg1"), of("pg2"));
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn flows_choose_members_and_stay_with_them() {
    for (balance, spreads) in [("l34", true), ("l23", false), ("l2", false)] {
        let create = format!("create bond mode xor load-balance {balance}");
        let mut b = bench(&create, &["pg1", "pg2"]);
        let out = send(&mut b, 1..201);
        let (one, two) = (by(&b, &out, "pg1"), by(&b, &out, "pg2"));
        assert_eq!(one + two, 200);
        // Hosts are the same, so only ports tell these flows apart.
        assert_eq!(one > 50 && two > 50, spreads, "{balance}: {one} {two}");
        assert_eq!(one == 0 || two == 0, !spreads, "{balance}: {one} {two}");
        let again = send(&mut b, 1..201);
        let path = |out: &[Caught]| out.iter().map(|c| (c.bytes.clone(), c.tx)).collect::<Vec<_>>();
        let (mut first, mut second) = (path(&out), path(&again));
        first.sort();
        second.sort();
        assert!(first == second, "{balance}: a flow keeps its member");
    }
}

#[test]
fn hosts_choose_members_by_layer_2_and_by_address() {
    for balance in ["l2", "l23"] {
        let create = format!("create bond mode xor load-balance {balance} id 0");
        let mut b = bench(&create, &["pg1", "pg2"]);
        for host in 3..100 {
            let mac = if balance == "l2" { host } else { 0x99 };
            b.set(&format!("set ip neighbor BondEthernet0 10.9.0.{host} 02:00:00:00:00:{mac:02x}"));
        }
        let to = |host: u8| {
            let ip = packets::udp4("10.0.0.2", &format!("10.9.0.{host}"), 9, &[7; 20]);
            [Header::new(PG0, HOST, EtherType::IP4).as_bytes(), &ip].concat()
        };
        let (pg0, frames) = (b.pg0, (3..100).map(to).collect::<Vec<_>>());
        let out = b.receive(pg0, &frames);
        let (one, two) = (by(&b, &out, "pg1"), by(&b, &out, "pg2"));
        assert!(one + two == 97 && one > 25 && two > 25, "{balance}: {one} {two}");
    }
}

/// Makes a member receive a frame; returns the frames it sends and the counters that moved at
/// `bond-input`.
fn received(
    b: &mut Bench,
    on: &str,
    ethertype: EtherType,
    dst: MacAddr,
) -> (Vec<Caught>, Vec<(String, u64)>) {
    let ip = packets::udp4("10.9.0.2", "10.0.0.2", 9, &[7; 20]);
    let frame = [Header::new(dst, HOST, ethertype).as_bytes(), &ip].concat();
    let on = b.interface(on).0;
    b.graph.moved_counters();
    let mut out = b.graph.send("bond-input", &[frame], move |p| p.set_rx(on));
    let mut moved = b.graph.moved_counters();
    moved.retain(|c| c.0 == "bond-input");
    out.append(&mut b.settle());
    (out, moved.into_iter().map(|c| (c.1.to_string(), c.2)).collect())
}

/// Frames that the bond received.
fn taken(b: &Bench) -> u64 {
    b.router.interfaces.values(b.interface("BondEthernet0")).rx.packets
}

const PASSED: &str = "pass through (CDP, LLDP, slow protocols)";

#[test]
fn only_the_active_member_receives_and_another_takes_over() {
    let mut b = bench("create bond mode active-backup", &["pg1", "pg2"]);
    b.set("set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01");
    let out = send(&mut b, 1..9);
    assert_eq!((by(&b, &out, "pg1"), by(&b, &out, "pg2")), (8, 0));
    let (out, moved) = received(&mut b, "pg1", EtherType::IP4, PG1);
    assert_eq!((by(&b, &out, "pg0"), taken(&b)), (1, 1));
    assert_eq!(moved, [("no error".to_owned(), 1)]);
    let (out, moved) = received(&mut b, "pg2", EtherType::IP4, PG1);
    assert_eq!((by(&b, &out, "pg0"), taken(&b)), (0, 1));
    assert_eq!(moved, [("traffic received on passive interface".to_owned(), 1)]);
    b.set("set interface state pg1 down");
    // A gratuitous request tells the link where packets go now.
    let out = b.wait(0.1);
    let asks = |c: &&Caught| c.bytes[12..14] == [8, 6] && c.tx == b.interface("pg2").0;
    assert_eq!(out.iter().filter(asks).count(), 1);
    let out = send(&mut b, 1..9);
    assert_eq!((by(&b, &out, "pg1"), by(&b, &out, "pg2")), (0, 8));
    b.set("set interface state pg1 up");
    let out = send(&mut b, 1..9);
    assert_eq!(by(&b, &out, "pg2"), 8, "the one that is used stays");
    b.set("set interface bond pg1 weight 7");
    let out = send(&mut b, 1..9);
    assert_eq!(by(&b, &out, "pg1"), 8, "but for a heavier one");
    let shown = b.cli("show bond details");
    assert!(shown.contains("    pg1\n      weight: 7\n    pg2\n      weight: 0\n"), "{shown}");
}

#[test]
fn what_is_of_a_link_stays_with_it() {
    let mut b = bench("create bond mode xor", &["pg1", "pg2"]);
    let all = MacAddr([0x01, 0x80, 0xc2, 0, 0, 2]);
    for (ethertype, dst, passes) in [
        (EtherType::SLOW_PROTOCOLS, all, true),
        (EtherType::LLDP, all, true),
        (EtherType::new(100), MacAddr([0x01, 0, 0x0c, 0xcc, 0xcc, 0xcc]), true),
        (EtherType::new(100), all, false),
        (EtherType::SLOW_PROTOCOLS, PG1, false),
    ] {
        let before = taken(&b);
        let (_, moved) = received(&mut b, "pg2", ethertype, dst);
        assert_eq!(taken(&b) - before, u64::from(!passes), "{ethertype:?} {dst}");
        let counter = if passes { PASSED } else { "no error" };
        assert_eq!(moved, [(counter.to_owned(), 1)]);
    }
    b.set("set interface state BondEthernet0 down");
    let (_, moved) = received(&mut b, "pg2", EtherType::IP4, PG1);
    assert_eq!(moved, [("interface down".to_owned(), 1)]);
    b.set("trace add bond-input 1");
    received(&mut b, "pg2", EtherType::LLDP, all);
    let trace = b.cli("show trace");
    assert!(trace.contains("dst 01:80:c2:00:00:02, pg2 -> pg2"), "{trace}");
}

#[test]
fn members_get_the_bonds_address_and_their_own_back() {
    let mut b = bench("create bond mode xor", &[]);
    let mac = |b: &Bench, name: &str| b.router.interfaces.named(name).unwrap().mac;
    let is_up = |b: &Bench| b.router.interfaces.named("BondEthernet0").unwrap().link_up;
    assert!(!is_up(&b), "without members there is no link");
    let out = send(&mut b, 1..3);
    assert_eq!(by(&b, &out, "pg1"), 0);
    for member in ["pg1", "pg2"] {
        b.set(&format!("bond add BondEthernet0 {member}"));
    }
    assert!(is_up(&b));
    assert_eq!([mac(&b, "BondEthernet0"), mac(&b, "pg2")], [PG1; 2]);
    let macs = |b: &mut Bench| {
        let shown = b.run("show configuration interface");
        shown.lines().filter(|l| l.contains("mac")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(macs(&mut b).is_empty(), "what is taken and given is no configuration");
    b.set("bond del pg1");
    let kept = format!("set interface mac address BondEthernet0 {PG1}");
    assert_eq!(macs(&mut b), [kept], "pg2 is the first now, with another address");
    b.set("bond add BondEthernet0 pg1");
    b.set("set interface mac address BondEthernet0 02:00:00:00:00:77");
    assert_eq!(mac(&b, "pg1"), MacAddr([2, 0, 0, 0, 0, 0x77]));
    b.set("bond del pg1");
    assert_eq!(mac(&b, "pg1"), PG1);
    b.set("set interface state pg2 down");
    assert!(!is_up(&b));
    b.set("delete bond BondEthernet0");
    assert_eq!(mac(&b, "pg2"), MacAddr([2, 0, 0, 0, 0, 0xac]));
    assert_eq!(b.cli("show bond").lines().count(), 1);
    let (_, moved) = received(&mut b, "pg2", EtherType::IP4, PG1);
    assert_eq!(moved, [(PASSED.to_owned(), 1)], "it is free");
}

#[test]
fn a_member_that_is_deleted_leaves() {
    let mut b = bench("create bond mode round-robin", &["pg1", "pg2"]);
    let pg2 = b.interface("pg2");
    b.control(|router, _| router.remove_interface(pg2));
    let out = send(&mut b, 1..9);
    assert_eq!(by(&b, &out, "pg1"), 8);
    let shown = b.cli("show bond");
    assert!(shown.contains("round-robin   1              1\n"), "{shown}");
}

#[test]
fn tags_of_sub_interfaces_reach_members() {
    let mut b = bench("create bond mode xor", &["pg1"]);
    b.cli("create sub-interfaces BondEthernet0 7");
    b.set("set interface state BondEthernet0.7 up");
    b.set("set interface ip address BondEthernet0.7 10.7.0.1/24");
    b.set("set ip neighbor BondEthernet0.7 10.7.0.2 02:00:00:00:00:07");
    let ip = packets::udp4("10.0.0.2", "10.7.0.2", 9, &[7; 20]);
    let frame = [Header::new(PG0, HOST, EtherType::IP4).as_bytes(), &ip].concat();
    let pg0 = b.pg0;
    let out = b.receive(pg0, &[frame]);
    assert_eq!(by(&b, &out, "pg1"), 1);
    assert_eq!(out[0].bytes[12..16], [0x81, 0, 0, 7]);
}

#[test]
fn what_cannot_be_is_refused() {
    let mut b = bench("create bond mode active-backup", &["pg1"]);
    for (line, error) in [
        ("create bond", "expected mode"),
        ("create bond mode fast", "invalid mode"),
        ("create bond mode xor load-balance l5", "invalid load-balance"),
        ("create bond mode broadcast load-balance l2", "load balancing requires mode xor or lacp"),
        ("create bond mode xor numa-only", "numa-only requires mode lacp"),
        ("create bond mode xor id 0", "bond 0 exists"),
        ("create bond mode xor hw-addr 01:00:00:00:00:00", "is not a unicast MAC address"),
        ("bond add pg1 pg2", "no such bond"),
        ("bond add BondEthernet0 pg1", "the interface is already a member"),
        ("bond add BondEthernet0 BondEthernet0", "members must be Ethernet interfaces"),
        ("bond del pg2", "the interface is not a member"),
        ("set interface bond pg2 weight 3", "the interface is not a member"),
        ("set interface bond pg1", "missing weight"),
        ("delete bond pg1", "no such interface"),
    ] {
        let said = b.cli(line);
        assert!(said.contains(error), "{line}: {said}");
    }
    assert_eq!(b.cli("create bond mode lacp numa-only"), "BondEthernet1\n");
    let said = b.cli("bond add BondEthernet1 pg2");
    assert!(said.contains("the LACP plugin is not loaded"), "{said}");
}

#[test]
fn a_bond_takes_the_address_of_its_first_member_unless_the_operator_set_one() {
    let mut b = bench("create bond mode active-backup", &["pg1"]);
    let bond = b.interface("BondEthernet0");
    let mac = |b: &Bench| b.router.interfaces.at(bond).unwrap().mac;
    assert_eq!(mac(&b), PG1);
    b.set("bond del pg1");
    b.set("bond add BondEthernet0 pg2");
    assert_eq!(mac(&b), MacAddr([2, 0, 0, 0, 0, 0xac]), "it was its first member's only");
    b.set("bond del pg2");
    b.set("set interface mac address BondEthernet0 02:00:00:00:00:77");
    b.set("bond add BondEthernet0 pg1");
    let set = MacAddr([2, 0, 0, 0, 0, 0x77]);
    assert_eq!([mac(&b), b.router.interfaces.at(b.pg1).unwrap().mac], [set; 2]);
}

#[test]
fn clients_make_bonds_and_list_them() {
    let mut b = bench("create bond mode active-backup", &[]);
    let (pg1, pg2, first) = (b.pg1, b.interface("pg2"), b.interface("BondEthernet0"));
    let (all, nobody) = (InterfaceIndex(u32::MAX), InterfaceIndex(99));
    b.talk(|local, router| {
        let create = |mode, lb, id, mac_address| BondCreate2 {
            mode,
            lb,
            numa_only: false,
            enable_gso: false,
            use_custom_mac: mac_address != MacAddr::ZERO,
            mac_address,
            id,
        };
        let zero = MacAddr::ZERO;
        for (wrong, why) in [
            (create(BondMode(0), BondLbAlgo::L2, 7, zero), Retval::INVALID_ARGUMENT),
            (create(BondMode::XOR, BondLbAlgo::RR, 7, zero), Retval::INVALID_ARGUMENT),
            (
                create(BondMode::XOR, BondLbAlgo::L2, 7, MacAddr::BROADCAST),
                Retval::INVALID_ARGUMENT,
            ),
            (create(BondMode::XOR, BondLbAlgo::L2, 0, zero), Retval::INSTANCE_IN_USE),
        ] {
            assert_eq!(local.call(router, &wrong).err(), Some(why));
        }
        let mac = MacAddr([2, 0, 0, 0, 0, 0x55]);
        let made = local.call(router, &create(BondMode::XOR, BondLbAlgo::L23, u32::MAX, mac));
        let made = made.unwrap().sw_if_index;
        assert_eq!(router.interfaces.name(made.0), "BondEthernet1");
        let add = |sw_if_index, bond_sw_if_index| BondAddMember {
            sw_if_index,
            bond_sw_if_index,
            is_passive: true,
            is_long_timeout: false,
        };
        local.call(router, &add(pg1, made)).unwrap();
        assert_eq!(router.interfaces.at(pg1).unwrap().mac, mac, "the one that was given");
        for (wrong, why) in [
            (add(nobody, made), Retval::INVALID_SW_IF_INDEX),
            (add(pg2, nobody), Retval::INVALID_INTERFACE),
            (add(pg1, first), Retval::VALUE_EXIST),
            (add(first, made), Retval::INVALID_INTERFACE),
        ] {
            assert_eq!(local.call(router, &wrong).err(), Some(why));
        }
        let old = BondEnslave {
            sw_if_index: pg2,
            bond_sw_if_index: first,
            is_passive: false,
            is_long_timeout: false,
        };
        local.call(router, &old).unwrap();
        let weight = |sw_if_index| SwInterfaceSetBondWeight { sw_if_index, weight: 5 };
        local.call(router, &weight(pg2)).unwrap();
        assert_eq!(local.call(router, &weight(pg1)).err(), Some(Retval::INVALID_ARGUMENT));
        assert_eq!(local.call(router, &weight(first)).err(), Some(Retval::INVALID_INTERFACE));
        let rows = local.dump(router, &SwBondInterfaceDump { sw_if_index: all });
        let told: Vec<_> =
            rows.iter().map(|r| (r.id, r.mode, r.lb, r.active_members, r.members)).collect();
        assert_eq!(
            told,
            [
                (0, BondMode::ACTIVE_BACKUP, BondLbAlgo::AB, 1, 1),
                (1, BondMode::XOR, BondLbAlgo::L23, 1, 1)
            ]
        );
        assert_eq!(local.dump(router, &SwBondInterfaceDump { sw_if_index: made }).len(), 1);
        assert_eq!(local.dump(router, &SwInterfaceBondDump {}).len(), 2);
        let rows = local.dump(router, &SwMemberInterfaceDump { sw_if_index: made });
        assert_eq!((rows[0].sw_if_index, rows[0].is_passive, rows[0].weight), (pg1, true, 0));
        assert_eq!(rows[0].interface_name.as_str(), "pg1");
        let rows = local.dump(router, &SwInterfaceSlaveDump { sw_if_index: first });
        assert_eq!((rows.len(), rows[0].weight), (1, 5));
        let detach = |sw_if_index| BondDetachMember { sw_if_index };
        local.call(router, &detach(pg1)).unwrap();
        assert_eq!(local.call(router, &detach(pg1)).err(), Some(Retval::INVALID_INTERFACE));
        local.call(router, &BondDetachSlave { sw_if_index: pg2 }).unwrap();
        let delete = |sw_if_index| BondDelete { sw_if_index };
        local.call(router, &delete(made)).unwrap();
        assert_eq!(local.call(router, &delete(pg1)).err(), Some(Retval::INVALID_SW_IF_INDEX));
    });
}
