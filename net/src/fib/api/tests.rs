//! Messages as clients send them.

use control::api::types::AddressFamily;
use control::api::{Message, Retval};

use super::IpTable;
use super::hashes::*;
use super::routes::*;
use super::sources::*;
use super::tables::*;
use crate::fib::api::types::{FibMplsLabel, FibPath, FibPathFlags, FibPathNh, FibPathNhProto};
use crate::fib::api::types::{FibPathType, FibPathType as Type};
use crate::fib::tests::{bench, prefix};
use crate::fib::{FlowHash, Ip4, Ip6, TableIndex};

const NONE: u32 = u32::MAX;

fn table(table_id: u32, is_ip6: bool) -> IpTable {
    IpTable { table_id, is_ip6, ..IpTable::default() }
}

/// A path to an address (or none) over an interface (or none).
fn path(addr: &str, sw_if_index: u32) -> FibPath {
    let addr = addr.parse::<std::net::IpAddr>().unwrap();
    let proto = if addr.is_ipv4() { FibPathNhProto::IP4 } else { FibPathNhProto::IP6 };
    let nh = FibPathNh { address: addr.into(), ..FibPathNh::default() };
    FibPath { sw_if_index, weight: 1, proto, nh, ..FibPath::default() }
}

fn of(kind: FibPathType) -> FibPath {
    FibPath { kind, ..path("0.0.0.0", NONE) }
}

fn route(text: &str, table_id: u32, paths: &[FibPath]) -> IpRoute {
    let paths = paths.to_vec();
    IpRoute { table_id, stats_index: 0, prefix: prefix(text).into(), paths }
}

fn add(text: &str, table_id: u32, paths: &[FibPath]) -> IpRouteAddDel {
    IpRouteAddDel { is_add: true, is_multipath: false, route: route(text, table_id, paths) }
}

fn del(text: &str, paths: &[FibPath]) -> IpRouteAddDel {
    IpRouteAddDel { is_add: false, is_multipath: true, route: route(text, 0, paths) }
}

#[test]
fn routes_are_added_changed_listed_and_deleted() {
    let mut b = bench();
    let before = b.in_use();
    let [pg1, pg2] = ["pg1", "pg2"].map(|name| b.interface(name).0);
    let (one, two) = (path("10.0.1.2", pg1), path("10.0.2.2", pg2));
    b.talk(|local, router| {
        let stats = local.call(router, &add("16.0.0.0/8", 0, &[one])).unwrap().stats_index;
        let more = IpRouteAddDel { is_multipath: true, ..add("16.0.0.0/8", 0, &[two]) };
        assert_eq!(local.call(router, &more).unwrap().stats_index, stats);
        let look =
            |exact, text: &str| IpRouteLookup { table_id: 0, exact, prefix: prefix(text).into() };
        let found = local.call(router, &look(0, "16.7.7.7/32")).unwrap().route;
        assert_eq!((found.stats_index, &found.paths[..]), (stats, &[one, two][..]));
        assert_eq!(found.prefix, prefix("16.0.0.0/8").into());
        let error = local.call(router, &look(1, "16.7.7.7/32")).map(drop);
        assert_eq!(error, Err(Retval::NO_SUCH_ENTRY));
        let all = local.dump(router, &IpRouteDump { table: table(0, false) });
        let mine = all.iter().filter(|d| d.route.prefix == found.prefix);
        assert_eq!((all.len(), mine.count()), (6, 1), "five that every table has, and this one");
        local.call(router, &del("16.0.0.0/8", &[two])).unwrap();
        local.call(router, &del("16.0.0.0/8", &[two])).unwrap();
        let found = local.call(router, &look(1, "16.0.0.0/8")).unwrap().route;
        assert_eq!(found.paths, [one]);
        local
            .call(router, &IpRouteAddDel { is_multipath: false, ..del("16.0.0.0/8", &[one]) })
            .unwrap();
        local.call(router, &add("2001:db8::/32", 0, &[path("2001::2", pg1)])).unwrap();
        let all = local.dump(router, &IpRouteDump { table: table(0, true) });
        assert_eq!(all.len(), 3);
        local.call(router, &del("2001:db8::/32", &[])).unwrap();
    });
    assert_eq!(b.in_use(), before);
}

#[test]
fn every_kind_of_path_comes_back_as_it_was_given() {
    let mut b = bench();
    b.set("ip table add 7\nip6 table add 7\nip6 table add 8");
    let pg1 = b.interface("pg1").0;
    let host = FibPathFlags::RESOLVE_VIA_HOST;
    let label = FibMplsLabel { is_uniform: 0, label: 33, ttl: 9, exp: 1 };
    let mut labelled = FibPath { n_labels: 1, ..path("10.0.1.2", pg1) };
    labelled.label_stack[0] = label;
    let paths = [
        path("10.0.1.2", pg1),
        path("0.0.0.0", pg1),
        FibPath { weight: 9, preference: 2, ..path("10.0.1.2", pg1) },
        FibPath { table_id: 7, flags: host, ..path("10.0.1.2", NONE) },
        FibPath { table_id: 7, ..path("0.0.0.0", NONE) },
        FibPath { table_id: 7, ..of(Type::SOURCE_LOOKUP) },
        FibPath { sw_if_index: pg1, ..of(Type::INTERFACE_RX) },
        of(Type::LOCAL),
        of(Type::DROP),
        of(Type::ICMP_UNREACH),
        of(Type::ICMP_PROHIBIT),
        labelled,
        FibPath { table_id: 8, flags: host, ..path("2001::1", NONE) },
        path("2001::1", pg1),
    ];
    let lookup = IpRouteLookup { table_id: 0, exact: 1, prefix: prefix("16.0.0.0/8").into() };
    for path in paths {
        let found = b.talk(|local, router| {
            local.call(router, &add("16.0.0.0/8", 0, &[path])).unwrap();
            local.call(router, &lookup).unwrap().route
        });
        assert_eq!(found.paths, [path]);
    }
    let six = path("2001::1", pg1);
    let look6 = IpRouteLookup { prefix: prefix("2a00::/16").into(), ..lookup };
    let found = b.talk(|local, router| {
        local.call(router, &add("2a00::/16", 0, &[six])).unwrap();
        local.call(router, &look6).unwrap().route
    });
    assert_eq!(found.paths, [six]);
}

#[test]
fn wrong_routes_get_the_numbers_that_clients_know() {
    let mut b = bench();
    let before = b.in_use();
    let pg1 = b.interface("pg1").0;
    let good = path("10.0.1.2", pg1);
    let mut no_label = FibPath { n_labels: 1, ..good };
    no_label.label_stack[0].label = 1 << 20;
    for (message, want) in [
        (add("16.0.0.0/8", 9, &[good]), Retval::NO_SUCH_FIB),
        (add("16.0.0.0/8", 0, &[]), Retval::NO_PATHS_IN_ROUTE),
        (add("16.0.0.0/8", 0, &[path("10.0.1.2", 99)]), Retval::INVALID_SW_IF_INDEX),
        (
            add("16.0.0.0/8", 0, &[FibPath { proto: FibPathNhProto::MPLS, ..good }]),
            Retval::INVALID_ADDRESS_FAMILY,
        ),
        (add("16.0.0.0/8", 0, &[path("::", NONE)]), Retval::INVALID_ADDRESS_FAMILY),
        (
            add("16.0.0.0/8", 0, &[FibPath { kind: Type::LOCAL, ..path("::1", NONE) }]),
            Retval::INVALID_ADDRESS_FAMILY,
        ),
        (
            add("16.0.0.0/8", 0, &[FibPath { table_id: 9, ..path("2001::1", NONE) }]),
            Retval::NO_SUCH_FIB,
        ),
        (add("16.0.0.0/8", 0, &[of(Type(77))]), Retval::UNIMPLEMENTED),
        (add("16.0.0.0/8", 0, &[of(Type::INTERFACE_RX)]), Retval::INVALID_SW_IF_INDEX),
        (add("16.0.0.0/8", 0, &[no_label]), Retval::INVALID_VALUE),
        (add("16.0.0.0/8", 0, &[FibPath { n_labels: 17, ..good }]), Retval::INVALID_VALUE),
        (
            add("16.0.0.0/8", 0, &[FibPath { table_id: 9, ..path("1.1.1.1", NONE) }]),
            Retval::NO_SUCH_FIB,
        ),
    ] {
        let got = b.talk(|local, router| local.call(router, &message).map(drop));
        assert_eq!(got, Err(want));
    }
    let mut long = add("16.0.0.0/8", 0, &[good]);
    long.route.prefix.len = 33;
    let mut odd = add("16.0.0.0/8", 0, &[good]);
    odd.route.prefix.address.af = AddressFamily(7);
    let lookup = IpRouteLookupV2 { table_id: 9, exact: 0, prefix: prefix("1.0.0.0/8").into() };
    b.talk(|local, router| {
        assert_eq!(local.call(router, &long).map(drop), Err(Retval::INVALID_VALUE));
        assert_eq!(local.call(router, &odd).map(drop), Err(Retval::INVALID_ADDRESS_FAMILY));
        assert_eq!(local.call(router, &lookup).map(drop), Err(Retval::NO_SUCH_TABLE));
    });
    assert_eq!(b.in_use(), before);
}

#[test]
fn a_source_of_a_client_is_better_than_the_usual_one() {
    let mut b = bench();
    let pg1 = b.interface("pg1").0;
    b.neighbor("pg1", "10.0.1.7");
    b.talk(|local, router| {
        let all = local.dump(router, &FibSourceDump {});
        let id = |name: &str| all.iter().find(|s| &*s.src.name == name).map(|s| s.src.clone());
        let api = id("API").unwrap();
        let (priority, name) = (api.priority - 1, "bgp".into());
        let new = FibSourceAdd { src: FibSource { priority, id: 0, name } };
        let bgp = local.call(router, &new).unwrap().id;
        let add = |src, nth: u8| IpRouteAddDelV2 {
            is_add: true,
            is_multipath: false,
            route: IpRouteV2 {
                src,
                ..route("16.0.0.0/8", 0, &[path(&format!("10.0.1.{nth}"), pg1)]).into()
            },
        };
        local.call(router, &add(0, 2)).unwrap();
        local.call(router, &add(bgp, 3)).unwrap();
        let prefix = prefix("16.0.0.0/8").into();
        let lookup = IpRouteLookupV2 { table_id: 0, exact: 1, prefix };
        let found = local.call(router, &lookup).unwrap().route;
        assert_eq!((found.src, found.paths[0].nh.address.ip4().octets()[3]), (bgp, 3));
        local.call(router, &IpRouteAddDelV2 { is_add: false, ..add(bgp, 3) }).unwrap();
        assert_eq!(local.call(router, &lookup).unwrap().route.src, api.id);
        let of = |src| IpRouteV2Dump { src, table: table(0, false) };
        let count =
            |name: &str, router: &mut _| local.dump(router, &of(id(name).unwrap().id)).len();
        for (name, n) in [("API", 1), ("adjacency", 1), ("special", 2), ("default-route", 3)] {
            assert_eq!(count(name, router), n, "{name}");
        }
        assert_eq!(local.dump(router, &of(0)).len(), 7);
        let unknown = local.call(router, &add(222, 2)).map(drop);
        assert_eq!(unknown, Err(Retval::INVALID_VALUE));
    });
}

#[test]
fn tables_come_and_go_and_are_replaced() {
    let mut b = bench();
    let pg1 = b.interface("pg1").0;
    let before = b.in_use();
    let add_del = |is_add, table_id, name: &str| IpTableAddDel {
        is_add,
        table: IpTable { table_id, is_ip6: false, name: name.into() },
    };
    let names = |b: &mut crate::testing::Rig| {
        b.talk(|local, router| {
            let all = local.dump(router, &IpTableDump {});
            all.into_iter()
                .map(|t| (t.table.table_id, t.table.name.to_string()))
                .collect::<Vec<_>>()
        })
    };
    b.talk(|local, router| {
        local.call(router, &add_del(true, 7, "red")).unwrap();
        local.call(router, &add_del(true, 7, "")).unwrap();
        local.call(router, &add_del(false, 0, "")).unwrap();
        local.call(router, &add_del(false, 77, "")).unwrap();
        let any = IpTableAllocate { table: table(NONE, true) };
        let got = local.call(router, &any).unwrap().table;
        assert_eq!((got.table_id, &*got.name), (1, "ipv6-VRF:1"));
        let routes =
            |router: &mut _| local.dump(router, &IpRouteDump { table: table(7, false) }).len();
        let one = add("16.0.0.0/8", 7, &[path("10.0.1.2", pg1)]);
        local.call(router, &one).unwrap();
        local.call(router, &add("17.0.0.0/8", 7, &[path("10.0.1.2", pg1)])).unwrap();
        assert_eq!(routes(router), 7);
        local.call(router, &IpTableReplaceBegin { table: table(7, false) }).unwrap();
        local.call(router, &one).unwrap();
        local.call(router, &IpTableReplaceEnd { table: table(7, false) }).unwrap();
        assert_eq!(routes(router), 6);
        local.call(router, &IpTableFlush { table: table(7, false) }).unwrap();
        assert_eq!(routes(router), 5);
        let no = local.call(router, &IpTableFlush { table: table(8, false) }).map(drop);
        assert_eq!(no, Err(Retval::NO_SUCH_FIB));
    });
    let names_of = |all: &[(u32, &str)]| {
        all.iter().map(|(id, name)| (*id, (*name).to_owned())).collect::<Vec<_>>()
    };
    let want = [(0, "ipv4-VRF:0"), (7, "red"), (0, "ipv6-VRF:0"), (1, "ipv6-VRF:1")];
    assert_eq!(names(&mut b), names_of(&want));
    b.talk(|local, router| local.call(router, &add_del(false, 7, "")).unwrap());
    b.control(|r| r.remove_table::<Ip6>(1)).unwrap();
    assert_eq!(b.in_use(), before);
}

#[test]
fn what_flows_are_is_set_by_message() {
    let mut b = bench();
    let (af4, af6) = (AddressFamily::IP4, AddressFamily::IP6);
    b.talk(|local, router| {
        let two = |table_id, af, bits| SetIpFlowHashV2 {
            table_id,
            af,
            flow_hash_config: IpFlowHashConfig(bits),
        };
        local.call(router, &two(0, af4, 3)).unwrap();
        local
            .call(
                router,
                &SetIpFlowHashV3 {
                    table_id: 0,
                    af: af6,
                    flow_hash_config: IpFlowHashConfigV2::GTPV1_TEID,
                },
            )
            .unwrap();
        local.call(router, &SetIpFlowHashRouterId { router_id: 7 }).unwrap();
        assert_eq!(local.call(router, &two(5, af4, 3)).map(drop), Err(Retval::NO_SUCH_FIB));
        let odd = two(0, AddressFamily(9), 3);
        assert_eq!(local.call(router, &odd).map(drop), Err(Retval::INVALID_ADDRESS_FAMILY));
    });
    let table = TableIndex::DEFAULT;
    assert_eq!(b.router.fib.flow_hash::<Ip4>(table), FlowHash(3));
    assert_eq!(b.router.fib.flow_hash::<Ip6>(table), FlowHash::GTPV1_TEID);
    let old = SetIpFlowHash {
        vrf_id: 0,
        is_ipv6: false,
        src: true,
        dst: false,
        sport: true,
        dport: false,
        proto: true,
        reverse: false,
        symmetric: true,
    };
    b.talk(|local, router| local.call(router, &old)).unwrap();
    assert_eq!(b.router.fib.flow_hash::<Ip4>(table), FlowHash(0b101_0101));
}

#[test]
fn messages_have_the_bytes_that_clients_send() {
    let mut bytes = Vec::new();
    let message = add("10.1.0.0/16", 5, &[FibPath { preference: 2, ..path("10.0.1.2", 3) }]);
    message.encode(&mut bytes);
    let path = 4 + 4 + 4 + 1 + 1 + 4 + 4 + 4 + 28 + 1 + 16 * 7;
    assert_eq!(bytes.len(), 2 + 4 + 4 + 18 + 1 + path);
    assert_eq!(bytes[..2], [1, 0]);
    assert_eq!(bytes[2..6], [0, 0, 0, 5], "table");
    assert_eq!(bytes[10..15], [0, 10, 1, 0, 0], "family and address");
    assert_eq!(bytes[27..29], [16, 1], "length, and one path");
    assert_eq!(bytes[29..33], [0, 0, 0, 3], "interface");
    assert_eq!(bytes[41..43], [1, 2], "weight and preference");
}
