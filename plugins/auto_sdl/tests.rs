//! Tests of denying peers that leave connections half-open.

use auto_sdl::*;
use control::api::Retval;
use host_stack::FEATURE as SESSION;
use host_stack::control::{SdlRuleV2, SessionSdlAddDelV2, SessionSdlV3Dump};
use host_stack::data::Unfinished;
use net::testing::whole::Bench;

fn bench() -> Bench {
    let mut b = Bench::plugged(&[SESSION, FEATURE]);
    b.set("session enable rt-backend sdl");
    b
}

/// A half-open connection of a peer in table 0.
fn unfinished(b: &mut Bench, peer: &str) {
    let of = Unfinished { fib: 0, peer: peer.parse().unwrap() };
    b.control(|router, _| {
        let mut sender = router.events.sender();
        assert!(sender.send(of));
        router.handle_events();
    });
}

fn denied(b: &mut Bench) -> Vec<wire::Prefix> {
    b.talk(|local, router| {
        let rows = local.dump(router, &SessionSdlV3Dump {});
        rows.iter().map(|row| row.rmt.native().unwrap()).collect()
    })
}

fn config(b: &mut Bench, threshold: u32, remove_timeout: u32, enable: bool) -> Result<(), Retval> {
    b.talk(|local, router| {
        local.call(router, &AutoSdlConfig { threshold, remove_timeout, enable }).map(drop)
    })
}

#[test]
fn a_peer_is_denied_for_a_while_after_the_threshold() {
    let mut b = bench();
    unfinished(&mut b, "10.0.0.9");
    assert!(denied(&mut b).is_empty(), "it is not enabled");
    config(&mut b, 2, 3, true).unwrap();
    unfinished(&mut b, "10.0.0.9");
    unfinished(&mut b, "2001:db8::9");
    assert!(denied(&mut b).is_empty());
    unfinished(&mut b, "10.0.0.9");
    assert_eq!(denied(&mut b), ["10.0.0.9/32".parse().unwrap()]);
    let shown = b.run("show auto-sdl 10.0.0.9");
    assert!(shown.contains("unfinished 2") && shown.contains("denied for 3 s"), "{shown}");
    assert!(b.run("show auto-sdl summary").ends_with("peers 2, denied 1\n"));
    assert!(b.run("show session sdl").contains("learned"));
    assert!(!b.run("show configuration").contains("10.0.0.9"), "it is not configured");
    b.wait(2.0);
    assert_eq!(denied(&mut b).len(), 1);
    b.wait(2.0);
    assert!(denied(&mut b).is_empty());
    assert_eq!(b.run("show auto-sdl"), "");
}

#[test]
fn old_unfinished_connections_do_not_count() {
    let mut b = bench();
    config(&mut b, 2, 3, true).unwrap();
    unfinished(&mut b, "10.0.0.9");
    b.wait(4.0);
    unfinished(&mut b, "10.0.0.9");
    assert!(denied(&mut b).is_empty());
}

#[test]
fn disabling_forgets_what_was_learned_and_no_rule_of_the_operators() {
    let mut b = bench();
    b.set("session sdl add 10.0.0.7/32 action 1");
    config(&mut b, 1, 60, true).unwrap();
    for peer in ["10.0.0.7", "10.0.0.9"] {
        unfinished(&mut b, peer);
    }
    assert_eq!(denied(&mut b).len(), 2);
    config(&mut b, 5, 300, false).unwrap();
    assert_eq!(denied(&mut b), ["10.0.0.7/32".parse().unwrap()]);
    assert!(b.run("show session sdl").contains("10.0.0.7/32"));
    config(&mut b, 1, 60, true).unwrap();
    unfinished(&mut b, "10.0.0.9");
    b.set("session disable");
    b.set("session enable rt-backend sdl");
    assert!(denied(&mut b).is_empty());
    assert_eq!(b.run("show auto-sdl summary"), "auto-sdl disabled\npeers 0, denied 0\n");
    let rule = SdlRuleV2 {
        rmt: "10.0.0.9/32".parse::<wire::Prefix>().unwrap().into(),
        action_index: 0,
        tag: "".into(),
    };
    let add = SessionSdlAddDelV2 { appns_index: 0, is_add: true, r: vec![rule] };
    b.talk(|local, router| local.call(router, &add).map(drop)).unwrap();
    config(&mut b, 1, 60, true).unwrap();
    unfinished(&mut b, "10.0.0.9");
    config(&mut b, 1, 60, false).unwrap();
    assert_eq!(denied(&mut b).len(), 1, "the operator's rule stays");
}

#[test]
fn settings_are_checked_and_print_themselves() {
    let mut b = Bench::plugged(&[SESSION, FEATURE]);
    assert_eq!(config(&mut b, 1, 1, true), Err(Retval::FEATURE_DISABLED));
    b.set("session enable rt-backend sdl");
    assert_eq!(config(&mut b, 0, 1, true), Err(Retval::INVALID_VALUE));
    assert_eq!(config(&mut b, 1, 0, true), Err(Retval::INVALID_VALUE_2));
    b.set("auto-sdl enable threshold 7");
    let told = b.run("show configuration auto_sdl");
    assert_eq!(told, "auto-sdl enable threshold 7 remove-timeout 300\n");
    assert!(b.attempt("auto-sdl threshold 7").unwrap_err().contains("expected enable or disable"));
    b.set("auto-sdl disable");
    assert_eq!(b.run("show configuration auto_sdl"), "");
}
