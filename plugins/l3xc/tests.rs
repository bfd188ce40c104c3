//! Paths of the packets of cross-connected interfaces.

use control::api::Retval;
use l3xc::*;
use net::adjacency::Link;
use net::fib::types::FibPath;
use net::fib::{Path, Target};
use net::testing::whole::{Bench, packet, packet6};

/// Cross-connects that are listed.
fn connects(b: &mut Bench) -> usize {
    b.cli("show l3xc").lines().filter(|line| line.starts_with("l3xc:[")).count()
}

fn bench() -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    for host in ["10.0.1.2", "10.0.1.3", "2001:db8:1::2"] {
        b.cli(&format!("set ip neighbor pg1 {host} 02:00:00:00:00:01 static"));
    }
    b
}

#[test]
fn packets_leave_by_the_paths_whatever_their_destination() {
    let mut b = bench();
    let (pg0, pg1) = (b.pg0, b.pg1);
    for (frame, path, node) in [
        (packet("203.0.113.9"), "10.0.1.2", "l3xc-input-ip4"),
        (packet6("2001:db8:99::9"), "2001:db8:1::2", "l3xc-input-ip6"),
    ] {
        let leave = |b: &mut Bench, n| {
            let out = b.receive(pg0, &vec![frame.clone(); n]);
            out.iter().filter(|c| c.tx == pg1.0).count()
        };
        assert_eq!(leave(&mut b, 1), 0, "no route leads there");
        assert_eq!(b.cli(&format!("l3xc add pg0 via {path} pg1")), "");
        let shown = b.cli("show l3xc");
        let path_lines = format!("attached-nexthop:  oper-flags:resolved,\n        {path} pg1\n");
        assert!(shown.starts_with("l3xc:[0]: pg0\n    path-list:["), "{shown}");
        assert!(shown.contains(&path_lines) && shown.contains("\n\n  "), "{shown}");
        b.graph.moved_counters();
        for n in [1, 3, 4, 255, 256] {
            assert_eq!(leave(&mut b, n), n, "{path}");
        }
        let moved = b.graph.moved_counters();
        assert!(moved.contains(&(node.to_owned(), "matched", 519)), "{moved:?}");
        assert_eq!(b.cli(&format!("l3xc del pg0 via {path} pg1")), "");
        assert_eq!(leave(&mut b, 1), 0);
        assert!(b.cli(&format!("l3xc del pg0 via {path} pg1")).contains("no such cross-connect"));
    }
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn a_cross_connect_is_deleted_without_its_paths_or_when_they_are_gone() {
    let mut b = bench();
    let pg2 = b.add_interface("pg2", net::interface::Kind::Ethernet, 0xac);
    for (add, del) in [
        ("l3xc add pg0 via pg1", "l3xc del pg0"),
        ("l3xc add pg0 ip6 via pg1", "l3xc pg0 del"),
        ("l3xc pg0 ip6 add via pg1", "l3xc del pg0 ip6"),
        ("l3xc pg0 via 2001:db8:1::2 pg1", "l3xc del ip6 pg0 via pg1"),
        ("l3xc pg0 via 10.0.1.2 pg1", "l3xc del pg0 via 10.0.1.2 pg9"),
    ] {
        assert_eq!(b.cli(add), "", "{add}");
        assert_eq!(connects(&mut b), 1, "{add}");
        let printed = b.cli("show configuration l3xc");
        let again = printed.lines().find(|line| line.starts_with("l3xc")).unwrap().to_owned();
        assert_eq!(b.cli(del), "", "{del}");
        assert_eq!(b.cli("show l3xc"), "", "{del}");
        assert_eq!(b.cli(&again), "", "{again}");
        assert_eq!(b.cli("show configuration l3xc"), printed);
        b.cli("l3xc del pg0");
    }
    assert!(b.cli("l3xc del pg0").contains("no such cross-connect"));
    assert!(b.cli("l3xc add pg0").contains("expected via"));
    assert!(b.cli("l3xc add").contains("expected an interface"));
    // Both versions at once, or one of them.
    for (del, left) in [("l3xc del pg0", 0), ("l3xc del pg0 ip4", 1)] {
        b.cli("l3xc add pg0 via 10.0.1.2 pg1");
        b.cli("l3xc add pg0 via 2001:db8:1::2 pg1");
        assert_eq!(b.cli(del), "");
        assert_eq!(connects(&mut b), left);
    }
    // An interface that takes no packets yet says so.
    let hint = b.cli("l3xc add pg2 via pg1");
    assert!(hint.contains("until it has an address, or `enable ip4 interface pg2'"), "{hint}");
    assert!(b.cli("l3xc add pg2 ip6 via pg1").contains("enable ip6 interface pg2"));
    b.set("enable ip4 interface pg2");
    assert_eq!(b.cli("l3xc add pg2 via pg1"), "");
    b.control(|router, _| router.remove_interface(pg2));
}

#[test]
fn other_paths_take_the_place_of_those_there_were() {
    let mut b = bench();
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.cli("l3xc add pg0 via 10.0.1.2 pg1 via 10.0.1.3 pg1");
    b.cli("l3xc pg0 via drop");
    assert!(b.receive(pg0, &[packet("203.0.113.9")]).iter().all(|c| c.tx != pg1.0));
    assert_eq!(connects(&mut b), 1);
}

#[test]
fn messages_answer_as_clients_know_them() {
    let mut b = bench();
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.talk(|local, router| {
        let addr = "10.0.1.2".parse().unwrap();
        let path = Path::to(Target::neighbor(Link::Ip4, pg1, addr));
        let paths = vec![FibPath::of_link(router, Link::Ip4, &path)];
        let l3xc = |sw_if_index, paths: &[FibPath]| L3xcUpdate {
            l3xc: L3xc { sw_if_index, is_ip6: false, paths: paths.to_vec() },
        };
        let nobody = net::InterfaceIndex(99);
        let refused = local.call(router, &l3xc(nobody, &paths)).err();
        assert_eq!(refused, Some(Retval::INVALID_SW_IF_INDEX));
        assert_eq!(local.call(router, &l3xc(pg0, &[])).err(), Some(Retval::INVALID_VALUE));
        let balance = local.call(router, &l3xc(pg0, &paths)).unwrap().stats_index;
        assert_eq!(local.call(router, &l3xc(pg0, &paths)).unwrap().stats_index, balance);
        for (of, count) in [(pg0, 1), (pg1, 0), (net::InterfaceIndex(u32::MAX), 1)] {
            let rows = local.dump(router, &L3xcDump { sw_if_index: of });
            assert_eq!(rows.len(), count);
            assert!(rows.iter().all(|r| r.l3xc == l3xc(pg0, &paths).l3xc));
        }
        let gone = |is_ip6| L3xcDel { sw_if_index: pg0, is_ip6 };
        assert_eq!(local.call(router, &gone(true)).err(), Some(Retval::NO_SUCH_ENTRY));
        local.call(router, &gone(false)).unwrap();
    });
}

#[test]
fn a_cross_connect_goes_with_its_interfaces() {
    for (from, to) in [("pg0", "pg2"), ("pg2", "pg1")] {
        let mut b = bench();
        let pg2 = b.add_interface("pg2", net::interface::Kind::Ethernet, 0xac);
        b.set("enable ip4 interface pg2");
        assert_eq!(b.cli(&format!("l3xc add {from} via 10.0.1.2 {to} via 10.0.1.3 {to}")), "");
        b.control(|router, _| router.remove_interface(pg2));
        assert_eq!(b.cli("show l3xc"), "", "{from} {to}");
    }
}
