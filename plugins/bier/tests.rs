//! Copies by bit positions, headers put on and taken off.

use bier::*;
use control::api::Retval;
use graph::testing::Caught;
use net::fib::types::{FibPath, FibPathNhProto, FibPathType};
use net::fib::{Ip4, Path, Source, TableIndex, Target};
use net::mfib::{EntryFlags, ItfFlags, MPath, MPrefix};
use net::testing::packets::*;
use wire::bier::{Header, Payload, parse, positions, set_position};
use zerocopy::IntoBytes;

use super::mpls::{Bench, bench_with, labelled, labels, set};

/// A group.
const GROUP: &str = "232.1.1.1";
const ID: BierTableId = BierTableId { bt_set: 0, bt_sub_domain: 0, bt_hdr_len_id: 0 };

/// Positions 1 and 2 go to one neighbour, 3 to another.
fn bench() -> Bench {
    let mut bench = bench_with(&[FEATURE]);
    for line in [
        "bier table add sd 0 set 0 bsl 64 mpls 77",
        "bier route add sd 0 set 0 bsl 64 bp 1 via 10.0.1.2 pg1 out-labels 101",
        "bier route add sd 0 set 0 bsl 64 bp 2 via 10.0.1.2 pg1 out-labels 101",
        "bier route add sd 0 set 0 bsl 64 bp 3 via 10.0.1.3 pg1 out-labels 103",
    ] {
        set(&mut bench, line);
    }
    bench
}

/// A packet of a domain, below the label of the table.
fn packet(entropy: u32, to: &[u32], source: u16, below: &[u8]) -> Vec<u8> {
    let mut string = [0; 8];
    to.iter().for_each(|position| set_position(&mut string, *position));
    let header = Header::new(0, entropy, Payload::IP4, source);
    labelled(&[(77, 5, 9)], &[header.as_bytes(), &string, below].concat())
}

/// Label and time to live of what was sent, and the positions it is for.
fn sent(out: &[Caught]) -> Vec<(u32, u8, Vec<u32>)> {
    let read = |caught: &Caught| {
        let (labels, below) = labels(caught);
        let (_, string, _) = parse(below).unwrap();
        (labels[0].0, labels[0].2, positions(string).collect())
    };
    let mut all: Vec<_> = out.iter().map(read).collect();
    all.sort();
    all
}

fn to_group(flags: ItfFlags, path: Path) -> MPath {
    MPath { path, flags }
}

fn group() -> MPrefix {
    MPrefix { group: GROUP.parse().unwrap(), len: 32, source: None }
}

/// Adds a header for these positions; its number.
fn impose(bench: &mut Bench, to: &[u32]) -> u32 {
    let mut string = vec![0; 8];
    to.iter().for_each(|position| set_position(&mut string, *position));
    let add = BierImpAdd { bi_tbl_id: ID, bi_src: 333, bi_bytes: string };
    bench.talk(|local, router| local.call(router, &add).unwrap().bi_index)
}

#[test]
fn a_copy_goes_each_way_with_the_positions_that_take_it() {
    let mut bench = bench();
    for n in [1, 3, 4, 255, 256] {
        let out = bench.send("mpls-input", &vec![packet(0, &[1, 2, 3, 4], 7, b"data"); n]);
        let sent = sent(&out);
        assert_eq!(sent.len(), 2 * n);
        assert_eq!(sent[0], (101, 8, vec![1, 2]));
        assert_eq!(sent[2 * n - 1], (103, 8, vec![3]));
        bench.expect(&[("bier-input", "BIER input packets", n as u64)]);
    }
    let none = bench.send("mpls-input", &[packet(0, &[4, 64], 7, b"data")]);
    assert_eq!(none.len(), 0);
    bench.expect(&[("bier-lookup", "no error", 1), ("bier-input", "BIER input packets", 1)]);
    let mut bad = packet(0, &[1], 7, b"");
    bad[4] = 0x45;
    assert_eq!(bench.send("mpls-input", &[bad]).len(), 0);
    bench.expect(&[("bier-input", "invalid header", 1), ("bier-input", "BIER input packets", 1)]);
}

#[test]
fn entropy_chooses_among_the_ways_of_a_position() {
    let mut bench = bench();
    set(&mut bench, "bier route add sd 0 set 0 bsl 64 bp 1 via 10.0.1.3 pg1 out-labels 103");
    let paths = |bench: &mut Bench| {
        let packets: Vec<_> = (0..16).map(|e| packet(e, &[1, 3], 7, b"")).collect();
        sent(&bench.send("mpls-input", &packets))
    };
    let all = paths(&mut bench);
    let with_both = all.iter().filter(|s| s.2 == [1, 3]).count();
    let alone = all.iter().filter(|s| **s == (101, 8, vec![1])).count();
    assert_eq!((with_both, alone), (8, 8), "{all:?}");
    set(&mut bench, "bier route del sd 0 set 0 bsl 64 bp 1 via 10.0.1.3 pg1 out-labels 103");
    assert!(paths(&mut bench).iter().all(|s| s.2.len() == 1));
    set(&mut bench, "bier route del sd 0 set 0 bsl 64 bp 1");
    assert!(paths(&mut bench).iter().all(|s| s.2 == [3]));
}

#[test]
fn multicast_routes_put_headers_on() {
    let mut bench = bench();
    let index = impose(&mut bench, &[2, 3]);
    let pg0 = bench.pg0;
    bench.control(|router| {
        let path = FibPath { kind: FibPathType::BIER_IMP, ..FibPath::default() };
        let mut path = FibPath { sw_if_index: u32::MAX, ..path };
        path.nh.obj_id = index;
        let forward = to_group(ItfFlags::FORWARD, path.native::<Ip4>(router).unwrap());
        let back = FibPath::of::<Ip4>(router, &forward.path);
        assert_eq!((back.kind, back.nh.obj_id), (FibPathType::BIER_IMP, index));
        let accept = Path::to(Target::attached(net::adjacency::Link::Ip4, pg0));
        let paths = [to_group(ItfFlags::ACCEPT, accept), forward];
        let of_all = (EntryFlags::default(), 0);
        router.update_mroute(TableIndex::DEFAULT, group(), Source::API, of_all, &paths).unwrap();
    });
    let ip = udp4(HOST4, GROUP, 7, b"data");
    let out = bench.send("ip4-mfib-forward-lookup", std::slice::from_ref(&ip));
    assert_eq!(sent(&out), [(101, 64, vec![2]), (103, 64, vec![3])]);
    let (header, _, below) = parse(labels(&out[0]).1).unwrap();
    assert_eq!((header.payload(), header.source.get()), (Payload::IP4, 333));
    assert_eq!(below, ip);
}

#[test]
fn what_is_for_this_router_leaves_the_domain_and_does_not_come_back() {
    let mut bench = bench();
    set(&mut bench, "bier disp table 8");
    set(&mut bench, "bier route add sd 0 set 0 bsl 64 bp 4 disposition 8");
    let path = FibPath { rpf_id: 8192, proto: FibPathNhProto::BIER, ..FibPath::default() };
    let entry = BierDispEntryAddDel {
        bde_bp: 99,
        bde_tbl_id: 8,
        bde_is_add: true,
        bde_payload_proto: Payload::IP4.0,
        bde_paths: vec![path],
    };
    bench.talk(|local, router| local.call(router, &entry).map(drop)).unwrap();
    let index = impose(&mut bench, &[1]);
    let pg1 = bench.pg1;
    bench.control(|router| {
        let mut back = FibPath { kind: FibPathType::BIER_IMP, ..FibPath::default() };
        (back.sw_if_index, back.nh.obj_id) = (u32::MAX, index);
        let back = back.native::<Ip4>(router).unwrap();
        let out = Path::to(Target::attached(net::adjacency::Link::Ip4, pg1));
        let paths = [back, out].map(|path| to_group(ItfFlags::FORWARD, path));
        let of_all = (EntryFlags::default(), 8192);
        router.update_mroute(TableIndex::DEFAULT, group(), Source::API, of_all, &paths).unwrap();
    });
    let ip = udp4(HOST4, GROUP, 7, b"data");
    let out = bench.send("mpls-input", &[packet(0, &[4], 99, &ip)]);
    let out: Vec<_> = out.iter().filter(|c| c.at == "sent").collect();
    assert_eq!(out.len(), 1, "only out of the domain");
    assert_eq!(out[0].bytes[12..14], [8, 0]);
    assert_eq!(out[0].bytes[14 + 8], ip[8] - 1, "one hop");
    assert_eq!(bench.send("mpls-input", &[packet(0, &[4], 98, &ip)]).len(), 0, "not its source");
}

#[test]
fn what_cannot_be_is_refused_and_leaves_nothing() {
    let mut bench = bench();
    for (line, why) in [
        ("bier table add sd 0 set 0 bsl 65", "bit string lengths are"),
        ("bier route add sd 0 set 0 bsl 64 bp 65 via 10.0.1.2 pg1 out-labels 1", "position"),
        ("bier route add sd 0 set 0 bsl 64 bp 9 via 10.0.1.2 pg1", "needs a label"),
        ("bier route add sd 1 set 0 bsl 64 bp 9 via 10.0.1.2 pg1 out-labels 1", "no such table"),
        ("bier route add sd 0 set 0 bsl 64 bp 9 disposition 8", "no such disposition table"),
    ] {
        let said = bench.run(line).unwrap_err();
        assert!(said.contains(why), "{line}: {said}");
    }
    let index = impose(&mut bench, &[1]);
    assert!(bench.run("bier table del sd 0 set 0 bsl 64").unwrap_err().contains("in use"));
    bench.talk(|local, router| {
        let del = |bi_index| BierImpDel { bi_index };
        assert_eq!(local.call(router, &del(index + 1)).err(), Some(Retval::NO_SUCH_ENTRY));
        assert_eq!(local.call(router, &del(index)).err(), None);
        let short = BierImpAdd { bi_tbl_id: ID, bi_src: 1, bi_bytes: vec![1; 7] };
        assert_eq!(local.call(router, &short).err(), Some(Retval::INVALID_VALUE));
        assert_eq!(local.dump(router, &BierImpDump {}).len(), 0);
    });
    set(&mut bench, "bier imp add id 4 sd 0 set 0 bsl 64 src 1 bp 64");
    for (line, why) in [
        ("bier imp add id 4 sd 0 set 0 bsl 64", "imposition header 4 exists"),
        ("bier imp add id 65536 sd 0 set 0 bsl 64", "table full"),
        ("bier imp add id 5 sd 0 set 0 bsl 64 bp 65", "position"),
        ("bier imp add id 5 sd 0 set 0 bp 1", "missing bsl"),
        ("bier imp del", "missing id"),
        ("bier imp del id 5", "no such imposition header"),
        ("bier disp entry table 8 payload ip4 via ip4-lookup-in-table 0", "no such disposition"),
        ("bier disp entry table 8 payload ip5 via ip4-lookup-in-table 0", "ip5"),
        ("bier disp entry table 8 payload ip4", "missing path"),
        ("ip mroute add 232.1.1.1 via bier-imp 5 Forward", "no such imposition header"),
        ("mpls local-label add 100 eos via bier-imp 4", "a route of IP packets"),
    ] {
        let said = bench.run(line).unwrap_err();
        assert!(said.contains(why), "{line}: {said}");
    }
    set(&mut bench, "bier imp del id 4");
    set(&mut bench, "bier table del sd 0 set 0 bsl 64");
    assert_eq!(bench.run("show bier fmask").unwrap(), "");
    assert_eq!(bench.run("show bier fmask 7").unwrap(), "");
    assert_eq!(bench.send("mpls-input", &[packet(0, &[1], 7, b"")]).len(), 0);
}
