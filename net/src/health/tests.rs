//! Checks find what is wrong, and nothing when nothing is.

use super::{Health, Lately, Severity};
use crate::neighbor::testing::{HOST, PG0, bytes, reply, request};
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

#[test]
fn answers_and_questions_for_others_are_no_losses() {
    let mut b = Bench::new();
    let pg0 = b.pg0;
    let answer = bytes(reply(HOST, "10.0.0.2", PG0, "10.0.0.1"));
    let other = bytes(request(HOST, "10.0.0.2", "10.0.0.77"));
    b.receive(pg0, &[answer, other]);
    let seen = health(&mut b);
    assert!(seen.healthy && seen.findings.is_empty(), "{seen}");
    let drops = b.run("show drops");
    assert!(drops.contains("IP4 destination address not local to subnet"), "{drops}");
    assert!(
        !drops.contains("ARP replies received"),
        "an answer has done what it came for: {drops}"
    );
}

#[test]
fn what_failed_at_the_start_is_said_until_it_is_forgotten() {
    let mut b = Bench::new();
    let failed = "/etc/setup:3";
    b.control(|router, _| router.note_start(Severity::Error, failed, "no such interface"));
    let seen = health(&mut b);
    assert_eq!(found(&seen), [("start", failed, Severity::Error)], "{seen}");
    assert!(b.run("show health strict").ends_with("1 of these are errors\n"));
    b.control(|router, _| router.forget_start(|subject| subject.starts_with("/etc/setup")));
    assert!(health(&mut b).healthy);
}

#[test]
fn routes_without_a_usable_path_are_named() {
    let mut b = Bench::new();
    b.set("ip route add 10.6.0.0/16 via 10.99.1.1");
    let seen = health(&mut b);
    assert_eq!(found(&seen), [("routes", "10.6.0.0/16 in table 0", Severity::Error)], "{seen}");
    b.set("ip route add 10.7.0.0/16 via 10.99.1.1");
    let text = b.run("show health");
    assert!(text.contains("has no usable path, like another with the same paths"), "{text}");
}

#[test]
fn losses_are_told_for_a_minute_however_often_somebody_looks() {
    let mut lately = Lately::default();
    assert_eq!(lately.add(0, 1.0), 0);
    assert_eq!(lately.add(3, 10.0), 3);
    assert_eq!((lately.add(0, 11.0), lately.add(2, 30.0)), (3, 5));
    assert_eq!(lately.add(0, 90.0), 5, "a minute after the last one");
    assert_eq!(lately.add(0, 91.0), 0);
    assert_eq!(lately.add(4, 200.0), 4);
}
