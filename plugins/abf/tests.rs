//! Packets along the paths of policies.

use abf::*;
use net::testing::whole::{Bench, packet, packet6};

fn bench() -> Bench {
    let mut b = Bench::plugged(&[sessions::FEATURE, acl::FEATURE, FEATURE]);
    for host in ["10.0.1.2", "2001:db8:1::2"] {
        run(&mut b, &format!("set ip neighbor pg1 {host} 02:00:00:00:00:01 static"));
    }
    b
}

fn run(b: &mut Bench, line: &str) -> String {
    b.attempt(line).unwrap_or_else(|why| panic!("{line}: {why}"))
}

#[test]
fn packets_that_a_list_permits_leave_by_the_paths_of_the_first_policy() {
    for (v, any, near, other, hop) in [
        (4, "0.0.0.0/0", "203.0.113.9", "203.0.113.10", "10.0.1.2"),
        (6, "::/0", "2001:db8:99::9", "2001:db8:99::10", "2001:db8:1::2"),
    ] {
        let mut b = bench();
        let (pg0, pg1) = (b.pg0, b.pg1);
        let whole = if v == 4 { 32 } else { 128 };
        let to = |host: &str| if v == 4 { packet(host) } else { packet6(host) };
        let node = format!("abf-input-ip{v}");
        run(&mut b, &format!("set acl-plugin acl permit src {any} dst {near}/{whole}"));
        run(&mut b, &format!("set acl-plugin acl deny src {any} dst {near}/{whole}"));
        run(&mut b, &format!("abf policy add id 10 acl 0 via {hop} pg1"));
        run(&mut b, &format!("abf policy add id 11 acl 1 via {hop} pg1"));
        run(&mut b, &format!("abf attach ip{v} policy 10 priority 50 pg0"));
        b.graph.moved_counters();
        let left = |b: &mut Bench, frames: &[Vec<u8>]| {
            let out = b.receive(pg0, frames).iter().filter(|c| c.tx == pg1.0).count();
            let moved = b.graph.moved_counters();
            let counts = ["matched", "missed", "no match"].map(|what| {
                let found = moved.iter().find(|(n, c, _)| *n == node && *c == what);
                found.map_or(0, |(.., count)| *count)
            });
            (out, counts)
        };
        assert_eq!(left(&mut b, &[to(near), to(other)]), (1, [1, 0, 1]));
        // One that comes before it denies.
        run(&mut b, &format!("abf attach ip{v} policy 11 priority 40 pg0"));
        assert_eq!(left(&mut b, &[to(near)]), (0, [0, 1, 0]));
        assert!(b.attempt("delete acl-plugin acl index 0").unwrap_err().contains("in use"));
        assert!(b.attempt("abf policy del id 10").unwrap_err().contains("attached"));
        run(&mut b, &format!("abf attach ip{v} del policy 10 pg0"));
        run(&mut b, "abf policy del id 10");
        run(&mut b, "delete acl-plugin acl index 0");
    }
}

#[test]
fn paths_come_and_go_one_by_one() {
    let mut b = bench();
    run(&mut b, "set acl-plugin acl permit src 10.0.0.0/8 dst 0.0.0.0/0");
    run(&mut b, "abf policy add id 1 acl 0 via 10.0.1.2 pg1");
    run(&mut b, "abf policy add id 1 acl 0 via 10.0.1.3 pg1");
    let paths = |b: &Bench| all(&b.router).map(|(_, p)| p.paths().len()).collect::<Vec<_>>();
    assert_eq!(paths(&b), [2]);
    assert!(b.attempt("abf policy add id 1 acl 9 via 10.0.1.4 pg1").is_err());
    assert!(b.attempt("abf policy del id 1 acl 0 via 10.0.1.9 pg1").is_err());
    run(&mut b, "abf policy del id 1 acl 0 via 10.0.1.2 pg1");
    assert_eq!(paths(&b), [1]);
    let shown = run(&mut b, "show abf policy");
    assert!(shown.starts_with("abf:[0]: policy:1 acl:0\n     path-list:["), "{shown}");
    assert!(shown.contains("attached-nexthop:  ") && shown.contains("\n        10.0.1.3 pg1\n"));
    run(&mut b, "abf attach ip4 policy 1 priority 7 pg0");
    let shown = run(&mut b, "show abf attach pg0");
    let head =
        "ipv4:\n abf-interface-attach: policy:1 priority:7\n  [@3]: arp-ipv4: via 10.0.1.3 pg1";
    assert!(shown.starts_with(head), "{shown}");
    assert!(run(&mut b, "show abf attach").starts_with("pg0 ipv4:\n"));
    run(&mut b, "abf attach ip4 del policy 1 pg0");
    run(&mut b, "abf policy del id 1 acl 0 via 10.0.1.3 pg1");
    assert_eq!(paths(&b), [0usize; 0]);
}

#[test]
fn a_policy_goes_with_the_interface_of_its_last_path() {
    let mut b = bench();
    let pg2 = b.add_interface("pg2", net::interface::Kind::Ethernet, 3);
    run(&mut b, "set interface ip address pg2 10.0.2.1/24");
    run(&mut b, "set acl-plugin acl permit src 10.0.0.0/8 dst 0.0.0.0/0");
    run(&mut b, "abf policy add id 1 acl 0 via 10.0.2.2 pg2");
    run(&mut b, "abf policy add id 2 acl 0 via 10.0.2.2 pg2 via 10.0.1.2 pg1");
    run(&mut b, "abf attach ip4 policy 1 pg0");
    run(&mut b, "abf attach ip4 policy 2 pg0");
    b.connected(|rig| rig.router.remove_interface(pg2));
    let left: Vec<_> = attachments(&b.router).map(|(_, _, attachment)| attachment.policy).collect();
    assert_eq!(left, [2]);
}
