//! Tables: who keeps them, and routes replaced all at once.

use super::*;
use crate::fib::forwarding::load_balance::Word;

fn put(b: &mut Rig, table: TableIndex, text: &str, source: Source, nth: u32) {
    let addr = std::net::Ipv4Addr::from_bits(0x0a00_0102 + nth).into();
    let path = Path::to(Target::Neighbor { interface: b.interface("pg1"), addr });
    b.control(|r| r.set_route(table, prefix(text), source, &[path])).unwrap();
}

#[test]
fn what_is_not_given_anew_goes_when_routes_are_replaced() {
    let mut b = bench();
    let table = b.control(|r| r.add_table::<Ip4>(7)).unwrap();
    for (text, source) in [
        ("16.0.0.0/8", Source::API),
        ("17.0.0.0/8", Source::API),
        ("18.0.0.0/8", Source::CLI),
        ("19.0.0.0/8", Source::API),
    ] {
        put(&mut b, table, text, source, 0);
    }
    b.control(|r| r.begin_replace::<Ip4>(table)).unwrap();
    put(&mut b, table, "16.0.0.0/8", Source::API, 0);
    put(&mut b, table, "17.0.0.0/8", Source::API, 1);
    put(&mut b, table, "20.0.0.0/8", Source::API, 1);
    assert!(matches!(b.leads_in(table, "19.0.0.1")[..], [Via::Adjacency(_)]), "until the end");
    b.control(|r| r.end_replace::<Ip4>(table)).unwrap();
    for (dst, is_there) in [("16", true), ("17", true), ("18", true), ("19", false), ("20", true)] {
        let lead = b.leads_in(table, &format!("{dst}.0.0.1"));
        assert_eq!(lead != [Via::Drop], is_there, "{dst}");
    }
    b.control(|r| r.flush_table::<Ip4>(table, &[Source::API])).unwrap();
    assert_eq!(b.leads_in(table, "16.0.0.1"), [Via::Drop]);
    assert_ne!(b.leads_in(table, "18.0.0.1"), [Via::Drop], "another source's");
    assert_eq!(b.router.end_replace::<Ip4>(TableIndex(99)), Err(Error::NoTable));
}

#[test]
fn a_deleted_table_stays_while_an_interface_looks_up_there() {
    let mut b = bench();
    let before = b.in_use();
    b.set("ip table add 7\nset interface ip table pg1 7");
    b.set("set interface ip address pg1 10.0.1.1/24\nip table del 7");
    let table = b.router.fib.table::<Ip4>(7).unwrap();
    assert!(matches!(b.leads_in(table, "10.0.1.1")[..], [Via::Receive(_)]));
    b.set("ip table add 7\nip table del 7\nset interface ip address del pg1 all");
    b.set("set interface ip table pg1 0");
    assert_eq!(b.router.fib.table::<Ip4>(7), None);
    assert_eq!(b.in_use(), before);
}

#[test]
fn a_table_is_emptied_of_what_operators_and_clients_put_in() {
    let mut b = bench();
    let before = (b.in_use(), b.run("show ip fib"), b.run("show ip6 fib"));
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1");
    put(&mut b, TableIndex(0), "17.0.0.0/8", Source::API, 0);
    b.set("ip6 route add 2001:db8:16::/48 via 2001:db8:1::2 pg1\nip6 table flush 0");
    assert_ne!(b.leads_in(TableIndex(0), "16.0.0.1"), [Via::Drop], "the other family's");
    b.set("ip table flush 0");
    assert_eq!((b.in_use(), b.run("show ip fib"), b.run("show ip6 fib")), before);
    assert_eq!(b.run("ip table flush 77"), "ip table: Nonexistent table id 77\n");
}

#[test]
fn tables_have_names() {
    let mut b = bench();
    let table = b.control(|r| r.add_table::<Ip4>(7)).unwrap();
    b.control(|r| r.fib.name_table::<Ip4>(table, "red")).unwrap();
    assert_eq!(b.run("show ip table"), "[0] table_id:0 ipv4-VRF:0\n[1] table_id:7 red\n");
    assert!(b.run("show ip fib table 7").starts_with("red, fib_index:1, flow hash:["));
}

#[test]
fn a_better_source_counts_and_the_next_one_takes_over() {
    let mut b = bench();
    let bgp = b.router.fib.sources.add("bgp", Source::API.priority() - 1).unwrap();
    let table = TableIndex::DEFAULT;
    put(&mut b, table, "16.0.0.0/8", Source::API, 0);
    let api = b.leads("16.0.0.1");
    put(&mut b, table, "16.0.0.0/8", bgp, 1);
    let better = b.leads("16.0.0.1");
    assert_ne!(better, api);
    let text = b.run("show ip fib 16.0.0.0/8");
    assert!(text.contains("  bgp refs:1 src-flags:added,contributing,active,"), "{text}");
    assert!(text.contains("  API refs:1 src-flags:added,\n"), "{text}");
    b.control(|r| r.remove_route(table, prefix("16.0.0.0/8"), bgp, &[])).unwrap();
    assert_eq!(b.leads("16.0.0.1"), api);
}

#[test]
fn a_table_over_its_budget_refuses_a_route_and_keeps_the_rest() {
    let mut b = bench();
    let table = b.control(|r| r.add_table::<Ip4>(7)).unwrap();
    put(&mut b, table, "16.0.0.0/8", Source::CLI, 0);
    b.router.fib.ip4.at_mut(table).unwrap().budget = 6;
    let before = b.in_use();
    let routes = "ip route add count 5 20.0.0.0/24 table 7";
    for via in ["via 10.0.1.9 pg1", "via 20.0.0.1", "via 16.0.0.1"] {
        let error = b.run(&format!("{routes} {via}"));
        assert!(error.ends_with(": table is full\n"), "{error}");
        assert_eq!(b.in_use(), before, "{via}");
    }
    put(&mut b, table, "16.0.0.0/8", Source::CLI, 1);
    assert!(matches!(b.leads_in(table, "16.0.0.1")[..], [Via::Adjacency(_)]));
    assert_eq!(b.leads_in(table, "20.0.0.1"), [Via::Drop]);
}

#[test]
fn without_room_for_adjacencies_routes_are_refused_and_ways_end() {
    let mut b = bench();
    b.set("set interface ip address pg1 10.0.1.1/24\nip route add 50.0.0.0/8 via pg1");
    b.set("ip route add 20.0.0.0/8 via 10.0.1.9 pg1\nip route add 30.0.0.0/8 via 40.0.0.1");
    b.set("ip6 route add 2a20::/16 via 41.0.0.1");
    b.router.adjacencies.budget = b.router.adjacencies.iter().count();
    let before = b.in_use();
    for via in ["10.0.1.10 pg1", "10.0.1.9 pg1 via 10.0.1.11 pg1", "10.0.1.12"] {
        let error = b.run(&format!("ip route add 21.0.0.0/8 via {via}"));
        assert!(error.ends_with(" adjacencies\n"), "{via}: {error}");
        assert_eq!(b.in_use(), before, "{via}");
    }
    b.set("ip route add 21.0.0.0/8 via 10.0.1.9 pg1");
    // These would be neighbours now, and one of them for the other family.
    b.set("ip route add 40.0.0.0/8 via pg1");
    b.set("ip route add 41.0.0.0/8 via 10.0.1.9 pg1");
    assert_eq!([b.leads("30.0.0.1"), b.leads("2a20::1")], [[Via::Drop], [Via::Drop]]);
    let log: Vec<_> = b.router.log.entries().iter().map(|e| e.text.clone()).collect();
    for to in ["40.0.0.1", "41.0.0.1"] {
        let said = format!("packets via {to} are dropped: at most");
        assert!(log.iter().any(|line| line.contains(&said)), "{to}: {log:?}");
    }
    assert!(matches!(b.leads("20.0.0.1")[..], [Via::Adjacency(_)]));
}

#[test]
fn without_room_for_load_balances_routes_stay_as_they_are() {
    let mut b = bench();
    b.router.fib.counting = RouteCounting::Off;
    b.set("ip route add 20.0.0.0/8 via 10.0.1.9 pg1\nip route add 21.0.0.0/8 via 10.0.1.8 pg1");
    while b.router.fib.balances.make(0, Word::DROP).is_some() {}
    let before = b.in_use();
    for (verb, route) in [("add", "20.0.0.0/8"), ("add", "22.0.0.0/8")] {
        let error = b.run(&format!("ip route {verb} {route} via 10.0.1.10 pg1"));
        assert!(error.ends_with(": table is full\n"), "{error}");
        assert_eq!(b.in_use(), before, "{route}");
    }
    assert!(matches!(b.leads("20.0.0.1")[..], [Via::Adjacency(_)]));
    // What is there already may serve others.
    b.set("ip route add 22.0.0.0/8 via 10.0.1.8 pg1");
    assert_eq!(b.leads("22.0.0.1"), b.leads("21.0.0.1"));
}

#[test]
fn a_thousand_tables_are_small() {
    let mut router =
        Router::new(Settings { buffers: 64, ..Settings::default() }, Log::new()).unwrap();
    let resident = || {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    };
    let before = resident();
    for id in 1..=1000 {
        router.add_table::<Ip4>(id).unwrap();
        router.add_table::<Ip6>(id).unwrap();
    }
    let used = resident().saturating_sub(before);
    // Other tests use memory meanwhile, so this is no more than a bound.
    assert!(used < 200 << 20, "{used} bytes");
}
