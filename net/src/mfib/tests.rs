//! Multicast routes: which packets are accepted, where copies go, and what tables hold.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use graph::testing::Caught;
use wire::{Protocol, udp};
use zerocopy::IntoBytes;

use super::*;
use crate::address;
use crate::fib::{Path, Source, Target};
use crate::testing::Rig;
use crate::{ip4, ip6};

/// A router with `pg0` to `pg3` up, `10.0.N.1/24` and `2001:db8:N::1/64` on them.
fn bench() -> Rig {
    let features = [fib::FEATURE, address::FEATURE, FEATURE];
    // What is refused is counted at the nodes that check headers.
    let inputs = |r: &mut Router| {
        r.engine.add(ip4::Input::<ip4::VerifyChecksum>::new(&r.interfaces)).unwrap();
        r.engine.add(ip6::Input::new(&r.interfaces)).unwrap();
    };
    let (mut b, ()) = Rig::made(1, &features, inputs, |_| ());
    b.add_networks(4);
    b
}

impl Rig {
    /// Fates of packets from `src` to a group received on an interface, and the interfaces that
    /// they leave by.
    fn send_group(&mut self, rx: &str, packets: &[Vec<u8>]) -> Vec<(String, String)> {
        let rx = self.interface(rx).0;
        let is_four = packets[0][0] >> 4 == 4;
        let at = if is_four { "ip4-mfib-forward-lookup" } else { "ip6-mfib-forward-lookup" };
        let out = self.graph.send(at, packets, move |p| p.set_rx(rx));
        let mut ends: Vec<_> = out.iter().map(|c| self.group_end(c)).collect();
        ends.sort();
        ends
    }
    fn group_end(&self, c: &Caught) -> (String, String) {
        let adjacency = self.router.adjacencies.at(crate::adjacency::AdjacencyIndex(c.adjacency));
        let tx = adjacency.filter(|_| c.at.contains("rewrite")).map(|a| a.interface.0);
        let tx = tx.map_or("", |i| self.router.interfaces.name(i)).to_owned();
        (c.at.clone(), tx)
    }
}

fn four(src: &str, group: &str, len: usize) -> Vec<u8> {
    let (src, dst) = (src.parse::<Ipv4Addr>().unwrap(), group.parse::<Ipv4Addr>().unwrap());
    let ip = wire::ip4::Header::new(src, dst, Protocol::UDP, 28 + len as u16);
    let udp = udp::Header::new(1, 2, 8 + len as u16);
    [ip.as_bytes(), udp.as_bytes(), &vec![7; len]].concat()
}

fn six(src: &str, group: &str) -> Vec<u8> {
    let (src, dst) = (src.parse::<Ipv6Addr>().unwrap(), group.parse::<Ipv6Addr>().unwrap());
    let ip = wire::ip6::Header::new(src, dst, Protocol::UDP, 8);
    [ip.as_bytes(), udp::Header::new(1, 2, 8).as_bytes()].concat()
}

fn group(text: &str, len: u8) -> MPrefix {
    MPrefix { group: text.parse::<IpAddr>().unwrap(), len, source: None }
}

fn to(list: &[&str]) -> Vec<(String, String)> {
    list.iter().map(|tx| ("ip4-rewrite-mcast".to_owned(), (*tx).to_owned())).collect()
}

const DROP: (&str, &str) = ("ip4-drop", "");

fn dropped() -> Vec<(String, String)> {
    vec![(DROP.0.to_owned(), String::new())]
}

#[test]
fn copies_go_where_the_route_says() {
    let mut b = bench();
    b.set("ip mroute add 232.1.1.1 via pg0 Accept via pg1 Forward via pg2 Forward");
    b.set("ip mroute add 232.1.1.1 via pg3 Forward");
    for len in [0, 1400, 5000] {
        for n in [1, 3, 4] {
            let packets = vec![four("10.0.0.2", "232.1.1.1", len); n];
            let rx = b.interface("pg0").0;
            let out = b.graph.send("ip4-mfib-forward-lookup", &packets, move |p| p.set_rx(rx));
            assert_eq!(out.len(), packets.len() * 3);
            assert!(out.iter().all(|c| c.bytes == packets[0]), "copies are equal");
        }
    }
    assert_eq!(b.send_group("pg0", &[four("1.1.1.1", "232.1.1.1", 9)]), to(&["pg1", "pg2", "pg3"]));
    assert_eq!(
        b.send_group("pg1", &[four("1.1.1.1", "232.1.1.1", 9)]),
        dropped(),
        "wrong interface"
    );
    assert_eq!(b.send_group("pg0", &[four("1.1.1.1", "232.1.1.2", 9)]), dropped(), "no route");
    assert_eq!(b.graph.buffers_used(), 0);
    b.set("ip mroute del 232.1.1.1 via pg2");
    assert_eq!(b.send_group("pg0", &[four("1.1.1.1", "232.1.1.1", 9)]), to(&["pg1", "pg3"]));
    b.set("ip mroute del 232.1.1.1");
    assert_eq!(b.send_group("pg0", &[four("1.1.1.1", "232.1.1.1", 9)]), dropped());
    assert_eq!(b.run("ip mroute del 232.1.1.1"), "ip mroute: (*, 232.1.1.1/32): no such route\n");
}

#[test]
fn a_source_is_preferred_to_any_and_a_group_to_its_range() {
    let mut b = bench();
    b.set("ip mroute add 232.0.0.0/8 via pg0 Accept via pg1 Forward");
    b.set("ip mroute add 9.9.9.9 232.1.1.1 via pg0 Accept via pg2 Forward");
    let range = to(&["pg1"]);
    assert_eq!(b.send_group("pg0", &[four("9.9.9.9", "232.1.1.1", 9)]), to(&["pg2"]));
    assert_eq!(b.send_group("pg0", &[four("9.9.9.8", "232.1.1.1", 9)]), range, "any other source");
    assert_eq!(b.send_group("pg0", &[four("9.9.9.9", "232.1.1.2", 9)]), range, "another group");
    b.set("ip mroute add 232.1.1.0/24 via pg0 Accept via pg3 Forward");
    assert_eq!(
        b.send_group("pg0", &[four("9.9.9.8", "232.1.1.1", 9)]),
        to(&["pg3"]),
        "a longer range"
    );
    b.set("ip mroute del 232.1.1.0/24");
    assert_eq!(b.send_group("pg0", &[four("9.9.9.8", "232.1.1.1", 9)]), range);
    b.set("ip mroute add 232.1.1.1 via pg0 Accept via pg3 Forward");
    assert_eq!(
        b.send_group("pg0", &[four("9.9.9.8", "232.1.1.1", 9)]),
        to(&["pg3"]),
        "the group itself"
    );
    b.set("ip mroute del 9.9.9.9 232.1.1.1");
    assert_eq!(b.send_group("pg0", &[four("9.9.9.9", "232.1.1.1", 9)]), to(&["pg3"]));
    let error = b.run("ip mroute add 9.9.9.9 232.1.0.0/16 via pg0 Accept");
    assert!(
        error.ends_with("a source needs a single group of the same address family\n"),
        "{error}"
    );
}

#[test]
fn every_interface_with_an_address_listens_to_its_groups() {
    let mut b = bench();
    let receive = vec![("ip4-receive".to_owned(), String::new())];
    assert_eq!(b.send_group("pg2", &[four("10.0.2.9", "224.0.0.1", 9)]), receive);
    assert_eq!(b.send_group("pg2", &[four("10.0.2.9", "224.0.0.9", 9)]), dropped());
    let receive = vec![("ip6-receive".to_owned(), String::new())];
    for all in ["ff02::1", "ff02::2", "ff02::16", "ff02::1:ff12:3456"] {
        assert_eq!(b.send_group("pg1", &[six("fe80::9", all)]), receive, "{all}");
    }
    assert_eq!(b.send_group("pg1", &[six("fe80::9", "ff02::9")])[0].0, "ip6-drop");
    b.set("set interface ip address del pg2 10.0.2.1/24");
    assert_eq!(b.send_group("pg2", &[four("10.0.2.9", "224.0.0.1", 9)]), dropped());
    let head = "    Prefix length         Count     \n";
    let rows = "                   0               1\n                  32               2\n";
    let text = format!("ipv4-VRF:0, fib_index:0 flags:none\n{head}{rows}");
    assert_eq!(b.run("show ip mfib summary"), text);
    let shown = b.run("show ip6 mfib summary");
    let counts = shown.lines().skip(2).filter_map(|line| line.split_whitespace().nth(1));
    let sum = counts.map(|count| count.parse::<u32>().unwrap()).sum::<u32>();
    assert!(shown.contains(head) && sum == 5, "{shown}");
}

#[test]
fn control_hears_of_one_packet_until_it_asks() {
    let mut b = bench();
    let table = TableIndex::DEFAULT;
    b.set("ip mroute add 232.1.1.1 Signal via pg0 Accept via pg1 Accept Negate-Signal");
    b.set("ip mroute add 232.1.1.2 via pg1 Accept Don't-Preserve");
    assert!(b.run("show ip mfib 232.1.1.2").contains("Don't-Preserve"));
    let packet = four("9.9.9.9", "232.1.1.1", 9);
    b.send_group("pg0", &[packet.clone(), packet.clone()]);
    b.send_group("pg1", std::slice::from_ref(&packet));
    let signals = b.control(Router::take_signals);
    let (prefix, interface) = (group("232.1.1.1", 32), b.interface("pg0"));
    assert_eq!(signals, [Signal { prefix, table, interface, bytes: packet.clone() }]);
    assert_eq!(b.control(Router::take_signals), []);
    b.send_group("pg0", &[packet]);
    assert_eq!(b.control(Router::take_signals).len(), 1);
    // Only of sources on the interface's own networks.
    b.set("ip mroute add 232.2.2.2 Connected via pg0 Accept");
    b.send_group("pg0", &[four("9.9.9.9", "232.2.2.2", 9)]);
    assert_eq!(b.control(Router::take_signals), []);
    b.send_group("pg0", &[four("10.0.0.9", "232.2.2.2", 9)]);
    assert_eq!(b.control(Router::take_signals).len(), 1);
}

#[test]
fn the_newest_signal_comes_first() {
    let mut b = bench();
    for group in ["232.1.1.1", "232.1.1.2", "ff3e::1"] {
        b.set(&format!("ip mroute add {group} Signal via pg0 Accept via pg1 Forward"));
    }
    let groups = |b: &mut Rig| {
        let all = b.control(Router::take_signals);
        all.iter().map(|s| s.prefix.group.to_string()).collect::<Vec<_>>()
    };
    // At once, and one after the other.
    let both = [four("9.9.9.9", "232.1.1.1", 9), four("9.9.9.9", "232.1.1.2", 9)];
    b.send_group("pg0", &both);
    assert_eq!(groups(&mut b), ["232.1.1.2", "232.1.1.1"]);
    for n in [1, 0] {
        b.send_group("pg0", &both[n..=n]);
        b.graph.engine.clock().adjust(1.0);
    }
    b.send_group("pg0", &[six("2001:db8:9::9", "ff3e::1")]);
    assert_eq!(groups(&mut b), ["ff3e::1", "232.1.1.1", "232.1.1.2"]);
}

#[test]
fn only_groups_of_one_link_stay_there_whatever_a_route_says() {
    let mut b = bench();
    let to = |tx: &str| vec![("ip6-rewrite-mcast".to_owned(), tx.to_owned())];
    for (group, is_sent) in
        [("ff00::5", true), ("ff01::5", true), ("ff02::5", false), ("ff05::5", true)]
    {
        b.set(&format!("ip mroute add {group} via pg0 Accept via pg1 Forward"));
        let ends = b.send_group("pg0", &[six("2001:db8::9", group)]);
        let expected =
            if is_sent { to("pg1") } else { vec![("ip6-drop".to_owned(), String::new())] };
        assert_eq!(ends, expected, "{group}");
    }
    b.set("ip mroute add 224.0.0.5 via pg0 Accept via pg1 Forward");
    assert_eq!(b.send_group("pg0", &[four("10.0.0.9", "224.0.0.5", 9)]), dropped());
}

#[test]
fn a_copy_for_a_neighbour_where_it_came_in_goes_to_the_node_that_refuses_it() {
    let mut b = bench();
    b.set("ip mroute add 232.1.1.1 via 10.0.0.2 pg0 Accept Forward via 10.0.1.2 pg1 Forward");
    let ends = b.send_group("pg0", &[four("10.0.0.9", "232.1.1.1", 9)]);
    let end = |at: &str, tx: &str| (at.to_owned(), tx.to_owned());
    assert_eq!(ends, [end("ip4-rewrite", "pg1"), end("ip4-rewrite-mcast", "pg0")]);
}

#[test]
fn a_table_of_routes_is_replaced_and_flushed() {
    let mut b = bench();
    b.set("ip table add 7");
    let table = b.router.fib.table::<Ip4>(7).unwrap();
    let pg1 = b.interface("pg1");
    let put = |r: &mut Router, text: &str| {
        let own = "0.0.0.0".parse().unwrap();
        let path = Path::to(Target::Attached { interface: pg1, own });
        let path = MPath { path, flags: ItfFlags::FORWARD };
        r.add_mroute_paths(table, group(text, 32), Source::API, &[path]).unwrap();
    };
    let count = |b: &Rig| b.router.mfib.ip4.at(table).unwrap().entries.len();
    b.control(|r| ["232.1.1.1", "232.1.1.2"].iter().for_each(|g| put(r, g)));
    assert_eq!(count(&b), 3 + 2);
    b.control(|r| {
        r.mark_mtable::<Ip4>(table);
        put(r, "232.1.1.2");
        put(r, "232.1.1.3");
        r.sweep_mtable::<Ip4>(table);
    });
    assert!(!b.run("show ip mfib table 7").contains("232.1.1.1"));
    assert_eq!(count(&b), 3 + 2);
    b.control(|r| r.flush_mtable::<Ip4>(table, Source::API));
    assert_eq!(count(&b), 3);
    b.set("ip mroute add 232.1.1.1 table 7 via pg1 Forward\nip table del 7");
    assert!(b.router.mfib.ip4.at(table).is_none(), "the table takes its routes along");
    let all = b.router.mfib.routes.len();
    b.set("ip mroute add 232.1.1.1 via pg1 Forward via local Forward");
    b.control(|r| r.remove_interface(pg1));
    assert!(b.run("show ip mfib mem").starts_with("ipv4-VRF:0 hash:"));
    assert!(b.run("show ip mfib 232.1.1.1").contains("Interfaces:\n   local: Forward,\n"));
    b.set("ip mroute del 232.1.1.1");
    assert_eq!(b.router.mfib.routes.len(), all);
}

#[test]
fn tables_may_be_for_unicast_only() {
    let mut b = bench();
    for (ip, name, group, addr) in [
        ("ip", "ipv4-VRF", "224.0.0.1/32", "10.7.0.1/24"),
        ("ip6", "ipv6-VRF", "ff02::1/128", "2001:7::1/64"),
    ] {
        let before = b.run(&format!("show {ip} mfib"));
        let listens = |b: &mut Rig, table: u32| {
            b.run(&format!("show {ip} mfib table {table} {group}")).contains("pg9")
        };
        b.add_interface("pg9", crate::interface::Kind::Ethernet, 0xcc);
        b.set(&format!("{ip} table add 7 no-mfib\n{ip} table add 7 no-mfib"));
        b.set(&format!("set interface {ip} table pg9 7\nset interface ip address pg9 {addr}"));
        assert!(b.run(&format!("show {ip} fib table 7 summary")).contains(&format!("{name}:7")));
        assert!(!b.run(&format!("show {ip} mfib summary")).contains(&format!("{name}:7")));
        assert!(listens(&mut b, 0), "the first table serves it");
        let refused = b.run(&format!("{ip} mroute add {group} table 7 via pg9 Forward"));
        assert!(refused.contains("no such table"), "{refused}");
        b.set(&format!("{ip} table add 7"));
        assert!(b.run(&format!("show {ip} mfib summary")).contains(&format!("{name}:7")));
        assert!(listens(&mut b, 7) && !listens(&mut b, 0), "now its own does");
        b.set(&format!("{ip} table add 7 no-mfib"));
        assert!(listens(&mut b, 7), "nothing is taken away");
        let pg9 = b.interface("pg9");
        b.control(|r| r.remove_interface(pg9));
        b.set(&format!("{ip} table del 7\n{ip} table del 7"));
        assert_eq!(b.run(&format!("show {ip} mfib")), before);
    }
}

#[test]
fn wrong_routes_are_refused() {
    let mut b = bench();
    for (line, error) in [
        ("ip mroute add", "ip mroute: missing group"),
        ("ip mroute add 232.1.1.1 table 9", "ip mroute: Nonexistent table id 9"),
        ("ip mroute add 232.1.1.1 bogus", "ip mroute: unknown input `bogus'"),
        ("ip mroute add 232.1.1.1 via pg0 bogus", "ip mroute: parse error `via pg0 bogus'"),
        ("ip mroute add 232.1.1.1 via Accept", "ip mroute: parse error `via Accept'"),
    ] {
        assert_eq!(b.run(line), error.to_owned() + "\n", "{line}");
    }
    assert_eq!(b.run("show ip mfib 232.1.1.1").matches("(*, ").count(), 1, "the drop of all");
}

#[test]
fn messages_add_list_and_delete_multicast_routes() {
    use control::api::Retval;
    use control::api::types::{AddressFamily, Mprefix};

    use super::api::*;
    use super::types::{MfibEntryFlags, MfibItfFlags, MfibPath};
    use crate::fib::api::IpTable;
    use crate::fib::types::FibPath;

    let mut b = bench();
    let prefix = |group: [u8; 4], source: [u8; 4], len| Mprefix {
        af: AddressFamily::IP4,
        grp_address_length: len,
        grp_address: IpAddr::from(group).into(),
        src_address: IpAddr::from(source).into(),
    };
    let path = |interface: InterfaceIndex, itf_flags| MfibPath {
        itf_flags,
        path: FibPath { sw_if_index: interface.0, weight: 1, ..FibPath::default() },
    };
    let [pg0, pg1] = ["pg0", "pg1"].map(|n| b.interface(n));
    let paths = [path(pg0, MfibItfFlags::ACCEPT), path(pg1, MfibItfFlags::FORWARD)];
    let route = |prefix, paths: &[MfibPath]| IpMroute {
        table_id: 0,
        entry_flags: MfibEntryFlags::SIGNAL,
        rpf_id: 0,
        prefix,
        paths: paths.to_vec(),
    };
    let add = |prefix, paths: &[MfibPath]| IpMrouteAddDel {
        is_add: true,
        is_multipath: true,
        route: route(prefix, paths),
    };
    // Any length will do for a group with a source.
    let (any, one) = (prefix([232, 1, 1, 1], [0; 4], 32), prefix([232, 1, 1, 1], [9; 4], 27));
    b.talk(|local, router| {
        local.call(router, &add(any, &paths)).unwrap();
        local.call(router, &add(one, &paths)).unwrap();
        let table = IpTable { table_id: 0, is_ip6: false, ..IpTable::default() };
        let all = local.dump(router, &IpMrouteDump { table });
        let mine: Vec<_> = all.iter().filter(|d| d.route.paths == paths).collect();
        let lens: Vec<_> = mine.iter().map(|d| d.route.prefix.grp_address_length).collect();
        assert_eq!((all.len(), lens), (3 + 2, vec![32, 64]));
        assert_eq!(mine[0].route.entry_flags, MfibEntryFlags::SIGNAL);
        assert_eq!(local.dump(router, &IpMtableDump {}).len(), 2);
        // A path is added to the existing ones, and an existing path takes the new flags.
        let flags = MfibItfFlags(MfibItfFlags::ACCEPT.0 | MfibItfFlags::FORWARD.0);
        let group = prefix([232, 1, 1, 7], [0; 4], 32);
        for one in paths.iter().chain(&[path(pg0, flags)]) {
            let one = IpMrouteAddDel { is_multipath: false, ..add(group, &[*one]) };
            local.call(router, &one).unwrap();
        }
        let table = IpTable { table_id: 0, is_ip6: false, ..IpTable::default() };
        let all = local.dump(router, &IpMrouteDump { table });
        let merged = all.iter().find(|d| d.route.prefix == group).unwrap();
        assert_eq!(merged.route.paths, [path(pg0, flags), paths[1]]);
        let gone = IpMrouteAddDel { is_add: false, is_multipath: false, ..add(group, &[]) };
        local.call(router, &gone).unwrap();
        let error = local.call(router, &add(prefix([232, 1, 1, 1], [0; 4], 33), &paths)).map(drop);
        assert_eq!(error, Err(Retval::INVALID_VALUE));
    });
    let packet = four("1.1.1.1", "232.1.1.1", 9);
    assert_eq!(b.send_group("pg0", std::slice::from_ref(&packet)), to(&["pg1"]));
    let signals = b.talk(|local, router| local.dump(router, &MfibSignalDump {}));
    assert_eq!((signals.len(), signals[0].sw_if_index), (1, pg0));
    assert_eq!(signals[0].ip_packet_data[..packet.len()], packet);
    b.talk(|local, router| {
        let all = local.call(router, &add(any, &[])).unwrap().stats_index;
        assert_eq!(router.mfib.counters.sum(all as usize).packets, 1);
        let del = |prefix| IpMrouteAddDel { is_add: false, ..add(prefix, &paths) };
        local.call(router, &del(any)).unwrap();
        local.call(router, &del(one)).unwrap();
        local.call(router, &del(one)).unwrap();
    });
    assert_eq!(b.send_group("pg0", &[packet]), dropped());
}

#[test]
fn what_routes_are_made_of_is_shown() {
    let mut b = bench();
    b.set("ip mroute add 232.1.1.1 via pg0 Accept via pg1 Forward via pg2 Forward");
    let entries = b.run("show mfib entry");
    let entry = entries.lines().find(|line| line.contains("232.1.1.1")).unwrap();
    let (number, rest) = entry.split_once('@').unwrap();
    assert_eq!(rest, "ipv4-VRF:0 (*, 232.1.1.1/32)");
    assert!(entries.contains("@ipv6-VRF:0 (*, ff02::1/128)\n"), "{entries}");
    assert_eq!(b.run(&format!("show mfib entry {number}")), format!("{entry}\n"));
    let here = b.run(&format!("show mfib interface {number}"));
    assert_eq!(here.lines().count(), 3, "{here}");
    let interfaces = b.run("show mfib interface");
    for row in ["pg0: Accept,", "pg1: Forward,", "pg2: Forward,"] {
        assert!(interfaces.contains(&format!("{number}: {row}\n")), "{interfaces}");
    }
    b.send_group("pg0", &[four("10.0.0.2", "232.1.1.1", 100)]);
    let copies = b.run(&format!("show replicate {number}"));
    let head =
        format!("dpo-replicate: [index:{number} buckets:2 flags:[none] to:[1:128]]\n  [0] [@2]: ");
    assert!(copies.starts_with(&head), "{copies}");
    assert!(b.run("show replicate").contains(&copies));
    assert_eq!(b.run("show replicate 99999"), "show replicate: no object 99999\n");
    // More than are shown in one go.
    let (ip4, ip6) = (b.run("show mfib entry").lines().count(), 700);
    for n in 0..ip6 {
        b.set(&format!("ip6 mroute add ff3e::{n:x} via pg1 Forward"));
    }
    assert_eq!(b.run("show mfib entry").lines().count(), ip4 + ip6);
}

#[test]
fn routes_and_tables_count_among_the_memory_of_forwarding() {
    let mut b = bench();
    let count = b.router.mfib.route_count().to_string();
    let objects = b.run("show dpo memory");
    let row = objects.lines().find(|line| line.contains("replicate")).unwrap();
    assert_eq!(row.split_whitespace().nth(2), Some(&*count), "{objects}");
    let tables = b.run("show bihash");
    for name in ["ip4 mFIB table ipv4-VRF:0", "ip6 mFIB table ipv6-VRF:0"] {
        assert!(tables.contains(&format!("Table '{name}'\n")), "{tables}");
    }
}
