//! Work on big tables is sliced, and no access sees one that is half done.

use super::*;
use crate::fib::control::deferred::{SLICE, next_slice};

/// Table 10 with this many routes of the operator, beside those that every table has.
fn filled(count: usize) -> (Rig, TableIndex) {
    let mut b = bench();
    b.set(&format!(
        "ip table add 10\nip route add count {count} 20.0.0.0/32 table 10 via 10.0.1.2 pg1"
    ));
    let table = b.router.fib.table::<Ip4>(10).unwrap();
    (b, table)
}

fn len(b: &Rig, table: TableIndex) -> usize {
    b.router.fib.len::<Ip4>(table)
}

#[test]
fn a_big_table_is_emptied_in_slices() {
    let (mut b, table) = filled(5 * SLICE);
    let before = len(&b, table);
    b.control(|r| r.flush_table::<Ip4>(table, &[Source::CLI]).unwrap());
    let mut left = len(&b, table);
    assert!(b.router.fib.has_deferred() && left < before && before - left <= SLICE);
    let walks = format!("FIB Walks: 1 under way\n  ip4 fib:{}\n", table.0);
    assert_eq!(b.run("show fib walk"), walks);
    while b.router.fib.has_deferred() {
        b.control(|r| next_slice(r, 0));
        let now = len(&b, table);
        assert!(left - now <= SLICE, "{left} to {now} in one slice");
        left = now;
    }
    assert_eq!(left, Ip4::DEFAULTS.len());
    assert_eq!(b.run("show fib walk"), "FIB Walks: 0 under way\n");
    let events = b.run("show event-logger");
    let swept = format!(": state: ip4 table 10: {} routes swept\n", 5 * SLICE);
    assert!(events.contains(&swept), "{events}");
    assert!(events.contains(": state: ip4 table 10: added\n"), "{events}");
}

#[test]
fn who_comes_to_a_table_meanwhile_finds_it_empty() {
    let defaults = Ip4::DEFAULTS.len();
    let (mut b, table) = filled(5 * SLICE);
    b.control(|r| r.flush_table::<Ip4>(table, &[Source::CLI]).unwrap());
    b.set("ip route add 16.0.0.0/8 via 10.0.1.2 pg1");
    assert!(b.router.fib.has_deferred(), "other tables are not waited for");
    b.set("ip route add 20.0.4.0/32 table 10 via 10.0.1.3 pg1");
    assert!(!b.router.fib.has_deferred());
    assert_eq!(len(&b, table), defaults + 1);
    b.set(&format!("ip route add count {} 20.0.0.0/32 table 10 via 10.0.1.2 pg1", 5 * SLICE));
    b.set("ip table del 10");
    assert!(b.router.fib.has_deferred());
    b.set("ip table add 10");
    assert_eq!(len(&b, b.router.fib.table::<Ip4>(10).unwrap()), defaults, "it is another one");
    b.set(&format!("ip route add count {} 20.0.0.0/32 table 10 via 10.0.1.2 pg1", 5 * SLICE));
    b.set("ip table del 10");
    while b.router.fib.has_deferred() {
        b.control(|r| next_slice(r, 0));
    }
    assert!(b.router.fib.table::<Ip4>(10).is_none());
}

#[test]
fn a_big_replacement_takes_away_what_was_not_given_anew() {
    let mut b = bench();
    let pg1 = b.interface("pg1");
    let route = |r: &mut Router, i: u32| {
        let path = Path::to(Target::Neighbor { interface: pg1, addr: [10, 0, 1, 2].into() });
        let key = (0x1400_0000 + i, 32);
        r.set_paths::<Ip4>(TableIndex::DEFAULT, key, Source::API, &[path]).unwrap();
    };
    let count = 3 * SLICE as u32;
    let before = b.router.fib.len::<Ip4>(TableIndex::DEFAULT);
    b.control(|r| {
        (0..count).for_each(|i| route(r, i));
        r.begin_replace::<Ip4>(TableIndex::DEFAULT).unwrap();
        (0..count).step_by(3).for_each(|i| route(r, i));
        r.end_replace::<Ip4>(TableIndex::DEFAULT).unwrap();
    });
    assert!(b.router.fib.has_deferred());
    let lines = b.run("show ip fib summary");
    assert!(lines.contains(&format!("{}", count / 3 + 2)), "{lines}");
    assert_eq!(b.router.fib.len::<Ip4>(TableIndex::DEFAULT), before + count as usize / 3);
}

#[test]
fn the_routes_over_a_deleted_interface_go_in_slices() {
    let (mut b, table) = filled(3 * SLICE);
    // One route has another path, which stays.
    b.set("ip route add 20.0.0.0/32 table 10 via 10.0.0.2 pg0");
    let (pg1, defaults) = (b.interface("pg1"), Ip4::DEFAULTS.len());
    let before = len(&b, table);
    b.control(|r| r.remove_interface(pg1));
    assert!(b.router.fib.has_deferred() && before - len(&b, table) <= SLICE);
    let lists = |b: &Rig| b.router.fib.lists.over(pg1);
    assert!(!lists(&b).is_empty());
    assert_eq!(b.leads_in(table, "20.0.5.219"), [Via::Drop], "at once");
    let (pg0, addr) = (b.interface("pg0"), "10.0.0.2".parse().unwrap());
    let left = b.router.adjacencies.find(pg0, Role::Neighbor, addr).unwrap();
    assert_eq!(b.leads_in(table, "20.0.0.0"), [Via::Adjacency(left)]);
    b.control(|r| next_slice(r, 0));
    assert!(b.router.fib.has_deferred());
    b.control(|r| r.welcome_interface(pg1));
    assert!(!b.router.fib.has_deferred(), "who takes the number finds nothing of it");
    assert_eq!((lists(&b).len(), len(&b, table)), (0, defaults + 1));
    assert_eq!(b.leads_in(table, "20.0.0.0"), [Via::Adjacency(left)]);
}
