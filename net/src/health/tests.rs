//! Checks find what is wrong, and nothing when nothing is.

use super::{Health, Severity};
use crate::testing::whole::{Bench, packet};

fn health(b: &mut Bench) -> Health {
    b.control(|router, _| router.health())
}

/// Check, subject and weight of what was found.
fn found(health: &Health) -> Vec<(&str, &str, Severity)> {
    health.findings.iter().map(|f| (f.check, f.subject.as_str(), f.severity)).collect()
}

#[test]
fn a_router_without_trouble_is_healthy() {
    let mut b = Bench::new();
    let health = health(&mut b);
    assert!(health.healthy && health.findings.is_empty(), "{health}");
    assert_eq!(
        b.run("show health"),
        format!("healthy: {} checks find nothing wrong\n", health.checks.len())
    );
    assert!(b.run("show health verbose").contains("checked  neighbours "));
}

#[test]
fn interfaces_without_a_link_and_routes_over_them_are_named() {
    let mut b = Bench::new();
    b.set("ip route add 10.5.0.0/16 via 10.0.1.77 pg1");
    b.set("ip route add 10.6.0.0/16 via 10.5.1.1");
    let seen = health(&mut b);
    assert_eq!(found(&seen), [("neighbours", "10.0.1.77 on pg1", Severity::Error)], "{seen}");
    b.set("set ip neighbor pg1 10.0.1.77 02:00:00:00:01:77");
    assert!(health(&mut b).healthy);

    let pg1 = b.pg1;
    b.control(|router, _| router.set_link(pg1, false));
    let seen = health(&mut b);
    let names: Vec<_> = found(&seen).iter().map(|f| (f.0, f.1.to_owned())).collect();
    assert!(names.contains(&("interfaces", "pg1".to_owned())), "{seen}");
    assert!(names.contains(&("routes", "10.5.0.0/16 in table 0".to_owned())), "{seen}");
    assert!(!seen.healthy && seen.errors() >= 2);
    let text = b.run("show health strict");
    assert!(text.contains("error    interfaces     pg1: is up, but has no link"), "{text}");
    assert!(text.ends_with("of these are errors\n"), "{text}");
}

#[test]
fn drops_of_now_are_a_warning_and_those_of_before_are_not() {
    let mut b = Bench::new();
    let mut bad = packet("10.0.1.2");
    bad[24] ^= 1; // the checksum of its header
    let pg0 = b.pg0;
    b.receive(pg0, &[bad]);
    let seen = health(&mut b);
    assert_eq!(found(&seen), [("drops", "ip4-input", Severity::Warning)], "{seen}");
    b.graph.engine.clock().adjust(6.0);
    assert!(health(&mut b).healthy);
}
