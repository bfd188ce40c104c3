//! classify: tests with packets.

use classify::*;
use control::api::Retval;
use net::InterfaceIndex;
use net::fib::{Ip4, Ip6};
use net::testing::Bench;
use net::testing::packets::*;

const NO: u32 = NONE;
const HITS: &str = "input ACL hits";
const MISSES: &str = "input ACL misses";
const WALKED: &str = "input ACL hits after chain walk";

/// The number that the next table has is not known: the last one is it.
fn made(bench: &mut Bench, line: &str) -> u32 {
    bench.run(line).unwrap();
    bench.router.own::<Classifier>().numbers().max().unwrap()
}

/// With a node that traces IP packets.
fn tracing() -> Bench {
    Bench::featuring(&[FEATURE, tracenode::FEATURE], 1, |_| (), |_| ())
}

/// A table over source addresses of IPv4 or IPv6, from the current header on.
fn sources(bench: &mut Bench, is_6: bool, more: &str) -> u32 {
    let mask = if is_6 { "l2 none l3 ip6 src" } else { "l2 none l3 ip4 src" };
    made(
        bench,
        &format!("classify table mask {mask} current-data-flag 1 acl-miss-next deny {more}"),
    )
}

fn session(bench: &mut Bench, table: u32, source: &str, more: &str) {
    let version = if source.contains(':') { "ip6" } else { "ip4" };
    let matched = format!("match l2 none l3 {version} src {source}");
    bench.run(&format!("classify session table-index {table} {matched} {more}")).unwrap();
}

#[test]
fn tables_decide_what_an_interface_receives() {
    for is_6 in [false, true] {
        let mut bench = Bench::plugged(FEATURE);
        let v = if is_6 { 6 } else { 4 };
        let (good, bad, other, to) = if is_6 {
            ("2001:db8::2", "2001:db8::3", "2001:db8::4", "2001:db8:ff::1")
        } else {
            ("10.0.0.2", "10.0.0.3", "10.0.0.4", "16.0.0.1")
        };
        let table = sources(&mut bench, is_6, "");
        session(&mut bench, table, good, "");
        session(&mut bench, table, bad, "acl-hit-next deny");
        bench.run(&format!("set interface input acl intfc pg0 ip{v}-table {table}")).unwrap();
        let packet = |from| if is_6 { udp6(from, to, 9, b"x") } else { udp4(from, to, 9, b"x") };
        let (input, node) = (format!("ip{v}-input"), format!("ip{v}-inacl"));
        for count in [1, 3, 4, 255, 256u64] {
            let packets: Vec<_> =
                (0..count).map(|n| packet([good, bad, other][n as usize % 3])).collect();
            bench.send(&input, &packets);
            let of = |rest| (0..count).filter(|n| n % 3 == rest).count() as u64;
            let all = [
                (input.as_str(), "inacl_table_miss", of(2)),
                (input.as_str(), "inacl_session_deny", of(1)),
                (node.as_str(), MISSES, of(2)),
                (node.as_str(), HITS, of(0) + of(1)),
            ];
            let moved: Vec<_> = all.into_iter().filter(|(.., n)| *n > 0).collect();
            bench.expect(&moved);
        }
        let shown = bench.run(&format!("show classify tables index {table} verbose")).unwrap();
        assert!(shown.contains("hits 175,") && shown.contains("hits 172,"), "{shown}");
        bench.run(&format!("set interface input acl intfc pg0 ip{v}-table {table} del")).unwrap();
        bench.send(&input, &[packet(other)]);
        bench.expect(&[]);
    }
}

#[test]
fn what_a_table_does_not_know_the_next_one_may() {
    let mut bench = Bench::plugged(FEATURE);
    let second = sources(&mut bench, false, "");
    session(&mut bench, second, "10.0.0.2", "");
    // Ports at the same offset, from layer 2 on; there is nothing there without a layer 2 header.
    let first = made(
        &mut bench,
        &format!(
            "classify table mask l2 none l3 ip4 dst l4 dport next-table {second} miss-next deny"
        ),
    );
    session(&mut bench, second, "10.0.0.9", "");
    bench.run(&format!("set interface input acl intfc pg0 ip4-table {first}")).unwrap();
    bench.send(
        "ip4-input",
        &[udp4("10.0.0.2", "16.0.0.1", 9, b"x"), udp4("10.0.0.3", "16.0.0.1", 9, b"x")],
    );
    bench.expect(&[
        ("ip4-input", "inacl_table_miss", 1),
        ("ip4-inacl", MISSES, 1),
        ("ip4-inacl", HITS, 1),
        ("ip4-inacl", WALKED, 1),
    ]);
    let in_use = bench.run(&format!("classify table del table {second}")).unwrap_err();
    assert!(in_use.contains("the table is in use"), "{in_use}");
    let circle =
        bench.run(&format!("classify table table {second} next-table {first}")).unwrap_err();
    assert!(circle.contains("form a loop"), "{circle}");
    bench.run(&format!("set interface input acl intfc pg0 ip4-table {first} del")).unwrap();
    bench.run(&format!("classify table del-chain table {first}")).unwrap();
    assert_eq!(bench.run("show classify tables").unwrap(), "No classifier tables configured\n");
}

#[test]
fn what_is_sent_is_compared_from_its_ip_header_on() {
    let mut bench = Bench::plugged(FEATURE);
    let neighbor = bench.neighbor("10.0.1.2", true).0;
    let table = made(&mut bench, "classify table mask l2 none l3 ip4 src miss-next deny");
    let matched = "match l2 none l3 ip4 src 10.0.0.2";
    bench.run(&format!("classify session table-index {table} {matched}")).unwrap();
    bench.run(&format!("set interface output acl intfc pg1 ip4-table {table}")).unwrap();
    let packets = ["10.0.0.2", "10.0.0.3"].map(|from| udp4(from, "10.0.1.2", 9, b"x"));
    let out = bench.send_as("ip4-rewrite", &packets, move |p| p.set_adjacency(neighbor));
    assert_eq!(out.iter().filter(|p| p.at == "sent").count(), 1);
    bench.expect(&[
        ("ip4-input", "outacl_table_miss", 1),
        ("ip4-outacl", "output ACL misses", 1),
        ("ip4-outacl", "output ACL hits", 1),
    ]);
    let shown = bench.run("show outacl type ip4").unwrap();
    assert!(shown.contains("pg1"), "{shown}");
    assert_eq!(bench.run("show inacl type ip4").unwrap(), "No input ACL tables configured\n");
}

#[test]
fn sessions_choose_routing_tables_and_keep_them() {
    for (version, from) in [(4, "10.0.0.2"), (6, "2001:db8::2")] {
        let mut bench = tracing();
        let table = sources(&mut bench, version == 6, "");
        let add = format!("action set-ip{version}-fib-id 200");
        session(&mut bench, table, from, &add);
        let has = |bench: &mut Bench| match version {
            4 => bench.router.fib.table::<Ip4>(200).is_some(),
            _ => bench.router.fib.table::<Ip6>(200).is_some(),
        };
        assert!(has(&mut bench));
        bench.run(&format!("set interface input acl intfc pg0 ip{version}-table {table}")).unwrap();
        let packet = match version {
            4 => udp4(from, "16.0.0.1", 9, b"x"),
            _ => udp6(from, "2001:db8:ff::1", 9, b"x"),
        };
        let (node, input) = (format!("ip{version}-inacl"), format!("ip{version}-input"));
        bench.run("trace add trace-filtering 1").unwrap();
        bench.run("tracenode feature pg0").unwrap();
        bench.send(&input, &[packet]);
        bench.graph.expect_counters(&[(node.as_str(), HITS, 1)]);
        let shown = bench.run("show trace").unwrap();
        assert!(
            shown.contains("next permit") && shown.contains("action set-fib, table 200, fib_index"),
            "{shown}"
        );
        let lookup = shown.split(&format!(": ip{version}-lookup")).nth(1).unwrap();
        assert!(!lookup.trim_start().starts_with("fib 0 "), "{shown}");
        // The same packets once more, for nothing in particular: the table goes with its last use.
        session(&mut bench, table, from, "");
        assert!(!has(&mut bench));
    }
}

#[test]
fn a_filter_of_other_nodes_chooses_packets_that_become_visible_later() {
    let features = [FEATURE, tracenode::FEATURE, pipe::FEATURE];
    let mut bench = Bench::featuring(&features, 1, |_| (), |_| ());
    bench
        .run(
            "classify filter trace mask l2 none l3 ip4 src proto l4 dst_port match l2 none l3 ip4 \
        src 10.0.0.2 proto 17 l4 dst_port 9",
        )
        .unwrap();
    bench.run("tracenode feature pg0").unwrap();
    let to = |port| udp4("10.0.0.2", "16.0.0.1", port, b"x");
    let traced = |bench: &mut Bench| {
        bench.send("ip4-input", &[to(9), to(10), to(9), to(9)]);
        let shown = bench.run("show trace").unwrap();
        bench.run("clear trace").unwrap();
        (shown.matches("Packet ").count(), shown.matches(": trace-filtering\n").count())
    };
    assert_eq!(traced(&mut bench), (0, 0), "nobody asked");
    // These are requested at another node, which this test's packets do not pass.
    bench.run("trace add pipe-rx 2 filter").unwrap();
    assert_eq!(traced(&mut bench), (2, 2), "as many as were asked for");
    assert_eq!(traced(&mut bench), (0, 0), "no more than that");
    bench.run("trace add pipe-rx 2").unwrap();
    assert_eq!(traced(&mut bench), (0, 0), "without a filter they are other packets");
}

#[test]
fn what_is_punted_may_be_refused() {
    for version in [4, 6] {
        let mut bench = Bench::plugged(FEATURE);
        let from = if version == 4 { "10.0.0.2" } else { "2001:db8::2" };
        let table = sources(&mut bench, version == 6, "");
        session(&mut bench, table, from, "");
        let tables = if version == 4 { [table, NO] } else { [NO, table] };
        bench.control(|r| set_punted(r, tables, true)).unwrap();
        let packet = |from: &str| match version {
            4 => udp4(from, "10.0.0.1", 9, b"x"),
            _ => udp6(from, "2001:db8::1", 9, b"x"),
        };
        let other = if version == 4 { "10.0.0.3" } else { "2001:db8::3" };
        let (node, input) = (format!("ip{version}-punt-acl"), format!("ip{version}-input"));
        bench.send(&format!("ip{version}-punt"), &[packet(from), packet(other)]);
        bench.expect(&[
            (input.as_str(), "inacl_table_miss", 1),
            (node.as_str(), MISSES, 1),
            (node.as_str(), HITS, 1),
        ]);
        assert_eq!(bench.control(|r| punted(r)), tables);
        assert_eq!(bench.control(|r| set_punted(r, [table + 1, NO], true)), Err(Error::NoTable));
        bench.control(|r| set_punted(r, tables, false)).unwrap();
        bench.send(&format!("ip{version}-punt"), &[packet(other)]);
        bench.expect(&[]);
    }
}

/// A frame from one host to another, of a type.
fn frame(dst: u8, src: u8, kind: u16) -> Vec<u8> {
    let mac = |n| [2, 0, 0, 1, 0, n];
    [&mac(dst)[..], &mac(src), &kind.to_be_bytes(), &[7; 46]].concat()
}

#[test]
fn bridged_frames_pass_by_address_and_type() {
    let mut bench =
        Bench::featuring(&[net::fast_path::FEATURE, l2::FEATURE, FEATURE], 1, |_| (), |_| ());
    bench.set("set interface l2 bridge pg0 1");
    bench.set("set interface l2 bridge pg1 1");
    let input = made(&mut bench, "classify table mask l2 src proto miss-next deny");
    for (src, kind, more) in [(1, "0x800", ""), (2, "0x86dd", ""), (3, "0x800", "hit-next deny")] {
        let matched = format!("match l2 src 02:00:00:01:00:0{src} proto {kind}");
        bench.run(&format!("classify session table-index {input} {matched} {more}")).unwrap();
    }
    let output = made(
        &mut bench,
        "classify table mask l2 dst current-data-flag 1 current-data-offset 0 miss-next permit",
    );
    let matched = "match l2 dst 02:00:00:01:00:09";
    bench.run(&format!("classify session table-index {output} {matched} hit-next deny")).unwrap();
    bench.run(&format!("set interface input acl intfc pg0 l2-table {input}")).unwrap();
    bench.run(&format!("set interface output acl intfc pg1 l2-table {output}")).unwrap();
    bench.graph.moved_counters();
    let frames = [(8, 1, 0x800), (8, 2, 0x800), (8, 2, 0x86dd), (8, 3, 0x800), (9, 1, 0x800)];
    let frames = frames.map(|(dst, src, kind)| frame(dst, src, kind));
    let out = bench.send("ethernet-input", &frames);
    let sent: Vec<_> = out.iter().filter(|c| c.at == "sent").map(|c| c.bytes.clone()).collect();
    assert_eq!(sent, [frames[0].clone(), frames[2].clone()]);
    let moved = bench.graph.moved_counters();
    let of = |node, what| {
        moved.iter().find(|(n, text, _)| n == node && *text == what).map_or(0, |found| found.2)
    };
    for (what, count) in [
        (HITS, 4),
        (MISSES, 1),
        ("input ACL table-miss drops", 1),
        ("input ACL session deny drops", 1),
    ] {
        assert_eq!(of("l2-input-acl", what), count, "{what}");
    }
    for (what, count) in [
        ("output ACL hits", 1),
        ("output ACL misses", 2),
        ("output ACL session deny drops", 1),
        ("output ACL table-miss drops", 0),
    ] {
        assert_eq!(of("l2-output-acl", what), count, "{what}");
    }
    let shown = bench.run("show inacl type l2").unwrap();
    let head = " Intfc idx      Classify table\t\tInterface name\n         ";
    assert!(shown.starts_with(head) && shown.ends_with("\t\tpg0\n"), "{shown:?}");
    bench.run(&format!("set interface input acl intfc pg0 l2-table {input} del")).unwrap();
    let out = bench.send("ethernet-input", &frames[1..2]);
    assert!(out.iter().any(|c| c.at == "sent"));
}

#[test]
fn without_bridging_there_is_nothing_for_tables_of_layer_2() {
    let mut bench = Bench::plugged(FEATURE);
    let table = made(&mut bench, "classify table mask l2 src");
    let said = bench.run(&format!("set interface input acl intfc pg0 l2-table {table}"));
    assert!(said.unwrap_err().contains("no bridging"));
}

#[test]
fn flows_are_counted_and_go_on() {
    let mut bench = Bench::plugged(FEATURE);
    let table = sources(&mut bench, false, "");
    session(&mut bench, table, "10.0.0.2", "hit-next 0");
    bench.run(&format!("set flow classify interface pg0 ip4-table {table}")).unwrap();
    let packets = ["10.0.0.2", "10.0.0.3"].map(|from| udp4(from, "10.0.0.1", 9, b"x"));
    bench.send("ip4-input", &packets);
    bench.graph.expect_counters(&[
        ("ip4-flow-classify", "Flow classify misses", 1),
        ("ip4-flow-classify", "Flow classify hits", 1),
    ]);
    assert!(bench.run("show classify flow type ip4").unwrap().contains("pg0"));
}

#[test]
fn packets_move_on_or_back_by_what_a_session_says() {
    let mut bench = Bench::plugged(FEATURE);
    let table = sources(&mut bench, false, "");
    session(&mut bench, table, "10.0.0.2", "advance 100");
    session(&mut bench, table, "10.0.0.3", "advance 0 opaque-index 7");
    bench.run(&format!("set interface input acl intfc pg0 ip4-table {table}")).unwrap();
    // Nothing is so far on in a packet of 29 bytes.
    bench.send("ip4-input", &[udp4("10.0.0.2", "16.0.0.1", 9, b"x")]);
    bench.expect(&[("ip4-input", "inacl_session_deny", 1), ("ip4-inacl", HITS, 1)]);
}

#[test]
fn filters_choose_what_is_traced() {
    let mut bench = tracing();
    let refused = bench.run("trace add trace-filtering 10 filter").unwrap_err();
    assert!(refused.contains("no trace filter"), "{refused}");
    bench
        .run("classify filter trace mask l2 none l3 ip4 src match l2 none l3 ip4 src 10.0.0.2")
        .unwrap();
    bench
        .run("classify filter trace mask l2 none l3 ip4 proto l4 dport match l2 none l3 ip4 proto udp l4 dport 77")
        .unwrap();
    bench.run("tracenode feature pg0").unwrap();
    bench.run("trace add trace-filtering 10 filter").unwrap();
    let packet = |from, port| udp4(from, "16.0.0.1", port, b"x");
    bench
        .send("ip4-input", &[packet("10.0.0.2", 9), packet("10.0.0.3", 9), packet("10.0.0.4", 77)]);
    let shown = bench.run("show trace").unwrap();
    assert_eq!(shown.matches("Packet ").count(), 2, "{shown}");
    let shown = bench.run("show classify filter verbose").unwrap();
    assert_eq!(shown.matches("hits 1,").count(), 2, "{shown}");
    bench.run("classify filter trace del mask l2 none l3 ip4 src").unwrap();
    let shown = bench.run("show classify filter").unwrap();
    assert!(!shown.contains("packet tracer:                 first table none"), "{shown}");
    bench.run("classify filter trace del").unwrap();
    let shown = bench.run("show classify filter").unwrap();
    assert!(shown.contains("packet tracer:                 first table none"), "{shown}");
    assert_eq!(bench.run("show classify tables").unwrap(), "No classifier tables configured\n");
    assert!(bench.run("classify filter trace del").unwrap_err().contains("no such filter"));
}

#[test]
fn words_name_fields_in_their_places() {
    let mut bench = Bench::plugged(FEATURE);
    for (words, skip, mask) in [
        ("l2 src", 0, "000000000000ffffffffffff00000000"),
        ("l2 proto", 0, "000000000000000000000000ffff0000"),
        ("l2 tag1 proto", 0, "00000000000000000000000000000fffffff0000000000000000000000000000"),
        ("l2 dot1q cos2", 0, "000000000000000000000000ffff00000000e000000000000000000000000000"),
        ("l3 ip4 src dst", 1, "00000000000000000000ffffffffffffffff0000000000000000000000000000"),
        ("l3 ip4 src 255.255.0.0", 1, "00000000000000000000ffff00000000"),
        (
            "l3 ip4 hdr_length ttl",
            0,
            "00000000000000000000000000000f00000000000000ff000000000000000000",
        ),
        (
            "l2 none l3 ip6 traffic-class dst",
            0,
            "0ff000000000000000000000000000000000000000000000ffffffffffffffffffffffffffffffff0000000000000000",
        ),
        ("l4 udp sport", 2, "0000ffff000000000000000000000000"),
        ("hex 00ff", 0, "00ff0000000000000000000000000000"),
    ] {
        let table = made(&mut bench, &format!("classify table mask {words}"));
        let shown = bench.run(&format!("show classify tables index {table}")).unwrap();
        let vectors = mask.len() / 32;
        if words.starts_with("l4") {
            assert!(shown.contains("match 1 "), "{words}: {shown}");
        } else {
            assert!(shown.contains(&format!("skip {skip} match {vectors} ")), "{words}: {shown}");
            // In lines of 32 bytes with offsets, where it is longer.
            let lines = shown.lines().skip_while(|line| !line.starts_with("  mask "));
            let dumped: String = lines.filter_map(|line| line.split(' ').next_back()).collect();
            assert_eq!(dumped, mask, "{words}: {shown}");
            let offset = "\n       00000020: ";
            assert_eq!(shown.contains(offset), vectors > 2, "{words}: {shown}");
        }
        bench.run(&format!("classify table table {table} del")).unwrap();
    }
    for (line, error) in [
        ("classify table mask l3", "expected ip4 or ip6"),
        ("classify table mask hex 0", "expected pairs of hexadecimal digits"),
        ("classify table mask hex 0000", "the mask is zero"),
        ("classify table buckets 4", "expected mask"),
        ("classify table mask l2 src buckets 0", "at least one bucket"),
        ("classify table mask l2 src memory-size 0", "needs memory"),
        ("classify table mask l2 src memory-size 1T", "invalid memory size"),
        ("classify table mask l2 src next-table 77", "no such table"),
        ("classify session table-index 0 match l3 ip4 ttl 256", "invalid ttl"),
        ("classify session table-index 0 match l3 ip4 src 1.2.3.4", "no such table"),
        ("classify filter trace mask l3 ip4 src", "expected mask and match"),
        ("classify filter pg9 mask l3 ip4 src match l3 ip4 src 1.2.3.4", "unknown interface"),
        ("set interface input acl intfc pg0", "expected a table"),
        ("set interface input acl intfc pg0 ip4-table 5", "no such table"),
        ("show inacl type l5", "invalid kind"),
    ] {
        let said = bench.run(line).unwrap_err();
        assert!(said.contains(error), "{line}: {said}");
    }
    assert_eq!(bench.run("show classify tables").unwrap(), "No classifier tables configured\n");
}

#[test]
fn sessions_come_and_go_among_thousands() {
    let mut bench = Bench::plugged(FEATURE);
    let mask = [[0xff; 16], [0; 16]].concat();
    let new = NewTable { mask, memory: 80 * 2000, ..NewTable::default() };
    let table = bench.control(|r| add_table(r, &new)).unwrap();
    let matched = |n: u32| [n.to_be_bytes().repeat(4), vec![0; 16]].concat();
    let session = |n| NewSession {
        matched: matched(n),
        hit_next: n,
        opaque: n,
        advance: 0,
        action: SessionAction::None,
    };
    let mut there = std::collections::BTreeSet::new();
    for round in 0..40u32 {
        bench.control(|r| {
            for n in round * 500..(round + 1) * 500 {
                add_session(r, table, &session(n)).unwrap();
                there.insert(n);
                let gone = n.saturating_sub(n * 7 % 1400);
                let expected = there.remove(&gone).then_some(()).ok_or(Error::NoSession);
                assert_eq!(remove_session(r, table, &matched(gone)), expected);
                if there.len() > 1400 {
                    let first = there.pop_first().unwrap();
                    remove_session(r, table, &matched(first)).unwrap();
                }
            }
        });
        // Threads pass the top of their loop: what was taken out is forgotten.
        bench.send("ip4-input", &[udp4(HOST4, "16.0.0.1", 9, b"x")]);
    }
    bench.control(|r| {
        let info = r.own::<Classifier>().table(table).unwrap();
        let found: Vec<_> = info.sessions.iter().map(|(_, s)| s.hit_next).collect();
        assert_eq!(found.iter().copied().collect::<std::collections::BTreeSet<_>>(), there);
        for n in 0..20_000 {
            let key = info.table.mask.key(&matched(n));
            let is_there = info.sessions.get(&info.table.mask, &key).is_some();
            assert_eq!(is_there, there.contains(&n), "{n}");
        }
        let (most, left) = (info.sessions.most(), info.sessions.count());
        assert_eq!(most, 2000);
        for n in 0..(most - left) as u32 {
            add_session(r, table, &session(100_000 + n)).unwrap();
        }
        assert_eq!(add_session(r, table, &session(200_000)), Err(Error::Sessions));
        // An existing one can still be changed.
        add_session(r, table, &session(100_000)).unwrap();
    });
}

fn table_of(mask: Vec<u8>) -> ClassifyAddDelTable {
    ClassifyAddDelTable {
        is_add: true,
        del_chain: false,
        table_index: NO,
        nbuckets: 3,
        memory_size: 1 << 20,
        skip_n_vectors: 1,
        match_n_vectors: 1,
        next_table_index: NO,
        miss_next_index: 0,
        current_data_flag: 1,
        current_data_offset: -14,
        mask,
    }
}

#[test]
fn clients_make_tables_and_sessions() {
    let mut bench = Bench::plugged(FEATURE);
    let pg0 = bench.pg0;
    bench.talk(|local, router| {
        let mut call = |m: ClassifyAddDelTable| local.call(router, &m);
        let made = call(table_of(vec![0xff; 16])).unwrap();
        assert_eq!((made.skip_n_vectors, made.match_n_vectors), (1, 1));
        let number = made.new_table_index;
        let wrong = |m| ClassifyAddDelTable { mask: vec![0; 16], ..m };
        let basic = || wrong(table_of(Vec::new()));
        for (m, error) in [
            (table_of(vec![0xff; 15]), Retval::INVALID_VALUE),
            (ClassifyAddDelTable { nbuckets: 0, ..basic() }, Retval::INVALID_VALUE),
            (ClassifyAddDelTable { memory_size: 0, ..basic() }, Retval::INVALID_MEMORY_SIZE),
            (ClassifyAddDelTable { skip_n_vectors: 128, ..basic() }, Retval::INVALID_VALUE),
            (ClassifyAddDelTable { next_table_index: 9, ..basic() }, Retval::NO_SUCH_TABLE),
            (
                ClassifyAddDelTable { is_add: false, table_index: 9, ..basic() },
                Retval::NO_SUCH_TABLE,
            ),
            (ClassifyAddDelTable { table_index: 9, ..basic() }, Retval::NO_SUCH_TABLE),
            (
                ClassifyAddDelTable { mask: vec![1; 96], match_n_vectors: 6, ..basic() },
                Retval::INVALID_VALUE,
            ),
        ] {
            assert_eq!(call(m).err(), Some(error));
        }
        let session = |is_add, matched| ClassifyAddDelSession {
            is_add,
            table_index: number,
            hit_next_index: NO,
            opaque_index: 5,
            advance: -3,
            action: ClassifyAction::SET_METADATA,
            metadata: 9,
            matched,
        };
        local.call(router, &session(true, vec![7; 32])).unwrap();
        let short = local.call(router, &session(true, vec![7; 31])).err();
        assert_eq!(short, Some(Retval::INVALID_VALUE));
        let odd = ClassifyAddDelSession { action: ClassifyAction(9), ..session(true, vec![1; 32]) };
        assert_eq!(local.call(router, &odd).err(), Some(Retval::INVALID_VALUE));
        let rows = local.dump(router, &ClassifySessionDump { table_id: number });
        let shown: Vec<_> =
            rows.iter().map(|r| (r.opaque_index, r.advance, r.matched.len())).collect();
        assert_eq!(shown, [(5, -3, 16)]);
        let info = local.call(router, &ClassifyTableInfo { table_id: number }).unwrap();
        assert_eq!((info.active_sessions, info.nbuckets, info.mask), (1, 4, vec![0xff; 16]));
        let none = local.call(router, &ClassifyTableInfo { table_id: 99 }).err();
        assert_eq!(none, Some(Retval::CLASSIFY_TABLE_NOT_FOUND));
        assert_eq!(local.call(router, &ClassifyTableIds {}).unwrap().ids, [number]);
        let set = |sw_if_index, ip6_table_index, is_add| InputAclSetInterface {
            sw_if_index,
            ip4_table_index: NO,
            ip6_table_index,
            l2_table_index: NO,
            is_add,
        };
        local.call(router, &set(pg0, number, true)).unwrap();
        let by = local.call(router, &ClassifyTableByInterface { sw_if_index: pg0 }).unwrap();
        assert_eq!((by.ip4_table_id, by.ip6_table_id, by.l2_table_id), (NO, number, NO));
        let gone = ClassifyAddDelTable { is_add: false, table_index: number, ..basic() };
        assert_eq!(local.call(router, &gone).err(), Some(Retval::IN_USE));
        let nowhere = local.call(router, &set(InterfaceIndex(99), number, true)).err();
        assert_eq!(nowhere, Some(Retval::INVALID_SW_IF_INDEX));
        assert_eq!(local.call(router, &set(pg0, 9, true)).err(), Some(Retval::NO_SUCH_TABLE));
        local.call(router, &set(pg0, number, false)).unwrap();
        assert_eq!(local.call(router, &set(pg0, number, false)).err(), Some(Retval::NO_SUCH_ENTRY));
        local.call(router, &session(false, vec![7; 32])).unwrap();
        let twice = local.call(router, &session(false, vec![7; 32])).err();
        assert_eq!(twice, Some(Retval::NO_SUCH_ENTRY));
        assert_eq!(local.call(router, &gone).unwrap().new_table_index, NO);
    });
}

#[test]
fn clients_set_filters() {
    let mut bench = Bench::plugged(FEATURE);
    let pg1 = bench.pg1;
    bench.talk(|local, router| {
        let mut tables = Vec::new();
        for ones in [1, 3, 2] {
            let mask = [vec![0xff; ones], vec![0; 16 - ones]].concat();
            let next_table_index = tables.last().copied().unwrap_or(NO);
            let m = ClassifyAddDelTable { next_table_index, ..table_of(mask) };
            tables.push(local.call(router, &m).unwrap().new_table_index);
        }
        let set = ClassifyTraceSetTable { table_index: tables[2], sort_masks: true };
        assert_eq!(local.call(router, &set).unwrap().table_index, tables[1]);
        let chain = local.call(router, &ClassifyTraceGetTables {}).unwrap().indices;
        assert_eq!(chain, [tables[1], tables[2], tables[0]]);
        let find = |first: u8| ClassifyTraceLookupTable {
            skip_n_vectors: 1,
            match_n_vectors: 1,
            mask: [vec![0xff, first], vec![0; 14]].concat(),
        };
        assert_eq!(local.call(router, &find(0xff)).unwrap().table_index, tables[2]);
        assert_eq!(local.call(router, &find(1)).unwrap().table_index, NO);
        let capture = |sw_if_index, table_index| ClassifyPcapSetTable {
            sw_if_index,
            table_index,
            sort_masks: false,
        };
        local.call(router, &capture(pg1, tables[0])).unwrap();
        let list = |sw_if_index| ClassifyPcapGetTables { sw_if_index };
        assert_eq!(local.call(router, &list(pg1)).unwrap().indices, [tables[0]]);
        assert_eq!(local.call(router, &list(InterfaceIndex(NO))).unwrap().indices, [0; 0]);
        let nowhere = local.call(router, &capture(InterfaceIndex(77), tables[0])).err();
        assert_eq!(nowhere, Some(Retval::INVALID_SW_IF_INDEX));
        let no_table = local.call(router, &capture(pg1, 77)).err();
        assert_eq!(no_table, Some(Retval::NO_SUCH_TABLE));
        local.call(router, &capture(pg1, NO)).unwrap();
        assert_eq!(local.call(router, &list(pg1)).unwrap().indices, [0; 0]);
    });
}

/// A whole router with bridging.
fn whole() -> net::testing::whole::Bench {
    net::testing::whole::Bench::plugged(&[l2::FEATURE, FEATURE])
}

fn made_of(b: &mut net::testing::whole::Bench, line: &str) -> u32 {
    b.set(line);
    b.control(|router, _| router.own::<Classifier>().numbers().max().unwrap())
}

#[test]
fn routes_lead_to_tables_which_name_the_next_node() {
    use net::testing::whole::{packet, packet6};
    for (v, prefix, host, from, arc) in [
        (4, "10.9.0.0/16", "10.9.0.1", "10.0.0.2", "ip4-punt"),
        (6, "2001:db8:9::/48", "2001:db8:9::1", "2001:db8::2", "ip6-punt"),
    ] {
        let mut b = whole();
        let pg0 = b.pg0;
        let table = made_of(&mut b, &format!("classify table mask l3 ip{v} src"));
        let none = b.cli(&format!("ip route add {prefix} via classify 77"));
        assert!(none.contains("no such table"), "{none}");
        assert_eq!(b.cli(&format!("ip route add {prefix} via classify {table}")), "");
        let frame = || if v == 4 { packet(host) } else { packet6(host) };
        b.graph.moved_counters();
        for n in [1, 3, 4, 255, 256u64] {
            // Neither a session nor a next node for others: nowhere to go.
            b.receive(pg0, &vec![frame(); n as usize]);
            let (input, node) = (format!("ip{v}-input"), format!("ip{v}-classify"));
            let reason = if v == 4 { "ip4 packets dropped" } else { "ip6 packets dropped" };
            let moved = b.graph.moved_counters();
            let of = |at: &str, what: &str| {
                let found = moved.iter().find(|(n, text, _)| n == at && text.starts_with(what));
                found.map_or(0, |found| found.2)
            };
            assert_eq!(of(&node, "Classify misses"), n);
            assert_eq!(of(&input, ""), n, "{reason}: {moved:?}");
        }
        let matched = format!("match l3 ip{v} src {from}");
        let next = b.control(|router, _| {
            router.engine.connect(&format!("ip{v}-classify"), &format!("ip{v}-lookup")).unwrap().0
        });
        // What is looked up once more in another table finds another route.
        assert_eq!(b.cli(&format!("ip{} table add 9", if v == 6 { "6" } else { "" })), "");
        let hop = if v == 4 { "10.0.1.9" } else { "2001:db8:1::9" };
        assert_eq!(b.cli(&format!("ip route add table 9 {prefix} via {hop} pg1")), "");
        assert_eq!(b.cli(&format!("ip neighbor pg1 {hop} 02:00:00:00:00:99")), "");
        let add = format!(
            "classify session hit-next {next} table-index {table} {matched} action set-ip{v}-fib-id 9"
        );
        assert_eq!(b.cli(&add), "");
        let out = b.receive(pg0, &[frame(), frame()]);
        let pg1 = b.pg1;
        let is_there = |c: &&graph::testing::Caught| {
            c.tx == pg1.0 && c.at == "sent" && c.bytes[..6] == [2, 0, 0, 0, 0, 0x99]
        };
        assert_eq!(out.iter().filter(is_there).count(), 2);
        // To control by the number that clients know.
        assert_eq!(
            b.cli(&format!("classify session hit-next 1 table-index {table} {matched}")),
            ""
        );
        b.receive(pg0, &[frame()]);
        let shown = b.cli(&format!("show ip{} fib {prefix}", if v == 6 { "6" } else { "" }));
        assert!(shown.contains(&format!("classify:[{table}]:table:{table}")), "{shown}");
        assert!(b.cli(&format!("classify table del table {table}")).contains("in use"), "{arc}");
        assert_eq!(b.cli(&format!("ip route del {prefix} via classify {table}")), "");
        assert_eq!(b.cli(&format!("classify table del table {table}")), "");
    }
}

#[test]
fn routes_of_clients_lead_to_tables_and_say_so() {
    use net::fib::types::{FibPath, FibPathType};
    use net::fib::{Ip4, RouteOf};
    let mut b = whole();
    let table = made_of(&mut b, "classify table mask l3 ip4 src");
    b.control(|router, _| {
        let mut path = FibPath { kind: FibPathType::CLASSIFY, ..FibPath::default() };
        path.nh.classify_table_index = table;
        let native = path.native::<Ip4>(router).unwrap();
        let said = FibPath::of::<Ip4>(router, &native);
        assert_eq!((said.kind, said.nh.classify_table_index), (FibPathType::CLASSIFY, table));
        path.nh.classify_table_index = 9;
        assert_eq!(path.native::<Ip4>(router).err(), Some(Retval::NO_SUCH_TABLE));
        let label = path.native_of(router, RouteOf::Label(net::adjacency::Link::Mpls));
        assert!(label.is_err());
    });
}

#[test]
fn packets_for_an_interfaces_own_addresses_meet_its_table() {
    use net::testing::whole::{packet, packet6};
    for (v, own, also) in
        [("", "10.0.0.1", "10.0.5.1/24"), ("6", "2001:db8::1", "2001:db8:5::1/64")]
    {
        let mut b = whole();
        let pg0 = b.pg0;
        let version = if v == "6" { 6 } else { 4 };
        let table = made_of(&mut b, &format!("classify table mask l3 ip{version} src"));
        let refused = b.cli(&format!("set ip{v} classify intfc pg0 table-index 9"));
        assert!(refused.contains("no such classifier table"), "{refused}");
        assert_eq!(b.cli(&format!("set ip{v} classify intfc pg0 table-index {table}")), "");
        assert_eq!(b.cli(&format!("set interface ip address pg0 {also}")), "");
        let node = format!("ip{version}-classify");
        let also = also.split('/').next().unwrap();
        let misses = |b: &mut net::testing::whole::Bench, to: &str| {
            b.graph.moved_counters();
            b.receive(pg0, &[if v == "6" { packet6(to) } else { packet(to) }]);
            let moved = b.graph.moved_counters();
            moved.iter().filter(|(n, ..)| *n == node).map(|m| m.2).sum::<u64>()
        };
        assert_eq!(misses(&mut b, own), 1);
        assert_eq!(misses(&mut b, also), 1, "an address that came later");
        assert!(b.cli(&format!("classify table del table {table}")).contains("in use"));
        // While the interface is down its addresses bring no routes.
        b.cli("set interface state pg0 down");
        b.cli("set interface state pg0 up");
        assert_eq!(misses(&mut b, own), 1);
        b.cli(&format!(
            "set interface ip address del pg0 {also}/{}",
            if v == "6" { 64 } else { 24 }
        ));
        let set = |table_index| ClassifySetInterfaceIpTable {
            is_ipv6: v == "6",
            sw_if_index: pg0,
            table_index,
        };
        b.talk(|local, router| {
            let wrong = ClassifySetInterfaceIpTable { sw_if_index: InterfaceIndex(99), ..set(0) };
            assert_eq!(local.call(router, &wrong).err(), Some(Retval::INVALID_SW_IF_INDEX));
            assert_eq!(local.call(router, &set(99)).err(), Some(Retval::NO_SUCH_ENTRY));
            local.call(router, &set(NONE)).unwrap();
        });
        assert_eq!(misses(&mut b, own), 0);
        assert_eq!(b.cli(&format!("classify table del table {table}")), "");
    }
}

#[test]
fn frames_are_sorted_by_what_they_carry() {
    for n in [1, 3, 4, 255, 256usize] {
        let mut b = whole();
        let (pg0, pg1) = (b.pg0, b.pg1);
        assert_eq!(b.cli("set interface l2 bridge pg0 1"), "");
        assert_eq!(b.cli("set interface l2 bridge pg1 1"), "");
        let tables: Vec<u32> =
            (0..3).map(|_| made_of(&mut b, "classify table mask l2 src l2-miss-next -1")).collect();
        for table in &tables {
            let add = format!(
                "classify session l2-input-hit-next drop table-index {table} \
                 match l2 src 02:00:00:01:00:0{}",
                table + 1
            );
            assert_eq!(b.cli(&add), "");
        }
        let [ip4, ip6, other] = tables[..] else { unreachable!() };
        let set = |is_input, ip6_table_index, other_table_index| ClassifySetInterfaceL2Tables {
            sw_if_index: pg0,
            ip4_table_index: ip4,
            ip6_table_index,
            other_table_index,
            is_input,
        };
        b.talk(|local, router| {
            for (m, error) in [
                (set(true, 99, other), Retval::NO_SUCH_TABLE_2),
                (set(true, ip6, 99), Retval::NO_SUCH_TABLE_3),
            ] {
                assert_eq!(local.call(router, &m).err(), Some(error));
            }
            local.call(router, &set(true, ip6, other)).unwrap();
            let out = ClassifySetInterfaceL2Tables { sw_if_index: pg1, ..set(false, NO, other) };
            local.call(router, &out).unwrap();
        });
        let kinds = [0x800, 0x86dd, 0x8100, 0x806];
        let sent = |b: &mut net::testing::whole::Bench, src, kind| {
            b.graph.moved_counters();
            let frames = vec![frame(9, src, kind); n];
            b.receive(pg0, &frames).iter().filter(|c| c.at == "sent").count()
        };
        for (kind, refused) in kinds.into_iter().zip([1, 2, 3, 3]) {
            for src in [1, 2, 3] {
                let there = sent(&mut b, src, kind);
                assert_eq!(there, if src == refused { 0 } else { n }, "{kind:x} {src}");
                let moved = b.graph.moved_counters();
                let at = |node: &str, what: &str| {
                    let found = moved.iter().find(|(at, text, _)| at == node && *text == what);
                    found.map_or(0, |found| found.2 as usize)
                };
                let hits = if src == refused { n } else { 0 };
                assert_eq!(at("l2-input-classify", "Classify hits"), hits);
                assert_eq!(at("l2-input-classify", "L2 Classify Drops"), hits);
                assert_eq!(at("l2-input-classify", "Classify misses"), n - hits);
            }
        }
        let shown = b.cli("show configuration");
        let line = format!(
            "set interface l2 input classify intfc pg0 ip4-table {ip4} ip6-table {ip6} \
             other-table {other}"
        );
        assert!(shown.contains(&line), "{shown}");
        // Of what is sent only the tables count that there are.
        assert_eq!(b.cli("set interface l2 input classify intfc pg0"), "");
        assert_eq!(sent(&mut b, 2, 0x86dd), n);
        let moved = b.graph.moved_counters();
        assert!(moved.iter().all(|(node, ..)| node != "l2-input-classify"), "{moved:?}");
        assert_eq!(sent(&mut b, 3, 0x806), 0);
        assert!(b.cli(&format!("classify table del table {other}")).contains("in use"));
        assert_eq!(b.cli(&format!("classify table del table {ip6}")), "");
    }
}

#[test]
fn frames_may_leave_the_bridge_for_the_router() {
    use net::testing::whole::{PG0, packet};
    let mut b = whole();
    let pg0 = b.pg0;
    for line in ["set interface l2 bridge pg0 1", "ip route add 10.7.0.0/16 via 10.0.1.9 pg1"] {
        assert_eq!(b.cli(line), "");
    }
    assert_eq!(b.cli("ip neighbor pg1 10.0.1.9 02:00:00:00:00:99"), "");
    let table = made_of(&mut b, "classify table mask l2 proto");
    let session = |next: &str| {
        format!(
            "classify session l2-input-hit-next {next} table-index {table} match l2 proto 0x800"
        )
    };
    assert_eq!(b.cli(&format!("set interface l2 input classify intfc pg0 ip4-table {table}")), "");
    for (next, to, count) in
        [("ip4 advance 14", PG0, 1), ("ethernet", PG0, 1), ("ethernet", wire::MacAddr([2; 6]), 0)]
    {
        let (next, more) = next.split_once(' ').unwrap_or((next, ""));
        assert_eq!(b.cli(&format!("{} {more}", session(next))), "");
        let mut frame = packet("10.7.0.1");
        frame[..6].copy_from_slice(&to.0);
        let out = b.receive(pg0, &[frame]);
        let sent = out.iter().filter(|c| c.at == "sent" && c.bytes[30..34] == [10, 7, 0, 1]);
        assert_eq!(sent.count(), count, "{next}");
    }
    assert!(b.cli(&session("li")).contains("`li"), "there is no interception");
}
