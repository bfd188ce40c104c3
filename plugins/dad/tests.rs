//! Duplicate address detection from outside.

use control::api::Retval;
use dad::*;
use net::nd::Duplicate;
use net::neighbor::NdFrame;
use net::testing::whole::*;
use wire::{MacAddr, nd};

const NEW: &str = "2001:db8:5::1";

/// Questions about an address among what was sent.
fn questions(out: &[graph::testing::Caught]) -> usize {
    let is_question = |c: &&graph::testing::Caught| {
        c.bytes.len() == 78 && c.bytes[54] == 135 && c.bytes[22..38] == [0; 16]
    };
    out.iter().filter(is_question).count()
}

fn bench() -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    assert_eq!(b.cli("set ip6 dad enable transmits 2 delay 1"), "");
    b.cli(&format!("set interface ip address pg1 {NEW}/64"));
    b
}

/// Another node has this address.
fn claim(addr: &str) -> Vec<u8> {
    let all = ip6("ff02::1");
    let to = MacAddr::for_ip6_group(all);
    summed(&NdFrame::advertisement(HOST, to, ip6(addr), all, nd::OVERRIDE), 0)
}

#[test]
fn an_address_nobody_claims_is_ours() {
    let mut b = bench();
    let out = b.wait(0.0);
    assert_eq!(questions(&out), 1, "those that were there before are not asked for");
    assert!(b.cli("show ip6 dad").contains("tentative"));
    let mut asked = solicitation("2001:db8:5::2", NEW);
    asked.ethernet.src = OTHER;
    let asked = summed(&asked, 0);
    assert!(b.receive(b.pg1, std::slice::from_ref(&asked)).is_empty(), "nobody is answered yet");
    b.expect(&[("ip6-icmp-input", "drop", 1)]);
    assert_eq!(questions(&b.wait(1.5)), 1);
    assert_eq!(questions(&b.wait(3.0)), 0);
    let shown = b.cli("show ip6 dad");
    assert!(!shown.contains("tentative") && shown.contains("preferred"), "{shown}");
    assert_eq!(b.receive(b.pg1, &[asked]).len(), 1);
    b.cli(&format!("set interface ip address del pg1 {NEW}/64"));
    assert!(!b.cli("show ip6 dad").contains(NEW));
    assert!(b.cli("show ip6 interface pg1").contains("ND DAD is enabled\n"));
}

#[test]
fn packets_come_from_no_address_that_is_tentative() {
    let mut b = bench();
    let source = |b: &mut Bench| {
        let (on, me) = (b.pg1.0, infra::rcu::Participant::join());
        let all = b.control(|router, _| router.addresses.reader());
        let found = all.source6(on, ip6("2001:db8:5::2"), me.epoch());
        (found, all.covering6(on, ip6("2001:db8:5::2"), me.epoch()))
    };
    b.wait(0.0);
    assert_eq!(source(&mut b), (Some(ip6("2001:db8:1::1")), None), "the new one is asked for");
    b.wait(5.0);
    assert_eq!(source(&mut b), (Some(ip6(NEW)), Some(ip6(NEW))));
    b.cli(&format!("set interface ip address del pg1 {NEW}/64"));
    b.cli(&format!("set interface ip address pg1 {NEW}/64"));
    assert_eq!(source(&mut b), (Some(ip6("2001:db8:1::1")), None));
    b.cli("set ip6 dad disable");
    assert_eq!(source(&mut b).0, Some(ip6(NEW)), "nobody is asked any more");
}

#[test]
fn an_address_somebody_has_or_wants_is_a_duplicate() {
    for frame in [claim(NEW), summed(&solicitation("::", NEW), 8)] {
        let mut b = bench();
        b.wait(0.0);
        assert!(b.receive(b.pg1, &[frame]).is_empty());
        b.expect(&[("ip6-icmp-input", "drop", 1)]);
        b.wait(5.0);
        let shown = b.cli("show ip6 dad");
        assert!(shown.contains("duplicate"), "{shown}");
        assert!(b.cli("show interface address").contains(NEW), "it is the operator's to remove");
        b.cli("set ip6 dad disable");
        assert!(!b.cli("show ip6 dad").contains("duplicate"));
    }
}

#[test]
fn our_own_question_is_no_conflict() {
    let mut b = bench();
    let mut echo = solicitation("::", NEW);
    echo.ethernet.src = PG1;
    b.receive(b.pg1, &[summed(&echo, 8)]);
    b.wait(5.0);
    assert!(!b.cli("show ip6 dad").contains("duplicate"));
}

#[test]
fn a_link_that_comes_back_is_asked_again() {
    let mut b = bench();
    b.wait(5.0);
    b.cli("set interface state pg1 down");
    assert!(!b.cli("show ip6 dad").contains("pg1"));
    b.cli("set interface state pg1 up");
    assert_eq!(questions(&b.wait(0.0)), 2, "both that the operator gave it");
}

#[test]
fn only_addresses_of_the_operator_that_can_be_anothers_are_asked_for() {
    let mut b = bench();
    b.wait(5.0);
    b.cli("set interface state pg1 down");
    b.cli("set interface state pg1 up");
    b.wait(5.0);
    let asked = |b: &mut Bench, addr: &str| {
        assert_eq!(b.cli(&format!("set interface ip address pg1 {addr}")), "");
        questions(&b.wait(0.0))
    };
    assert_eq!(asked(&mut b, "fe80::77/128"), 1, "a link-local address of its own making is");
    assert_eq!(asked(&mut b, "::1/128"), 0);
    assert_eq!(asked(&mut b, "ff05::5/128"), 0);
    let shown = b.cli("show ip6 dad");
    assert!(shown.contains("fe80::77 ") && !shown.contains(" ::1 "), "{shown}");
}

#[test]
fn nothing_is_sent_from_a_multicast_address() {
    let mut b = Bench::plugged(&[FEATURE]);
    b.cli("set interface ip address pg1 ff05::5/128");
    let text = b.cli("set interface ip address pg1 ff05::/64");
    assert!(text.contains("ff05::/64"), "{text}");
    let (on, me) = (b.pg1.0, infra::rcu::Participant::join());
    let all = b.control(|router, _| router.addresses.reader());
    let found = all.source6(on, ip6("ff05::5"), me.epoch());
    assert_eq!(found, Some(ip6("2001:db8:1::1")));
}

#[test]
fn values_out_of_bounds_are_refused() {
    let mut b = Bench::plugged(&[FEATURE]);
    for (words, error) in [
        ("transmits 0", "transmits must be 1 to 10"),
        ("transmits 11", "transmits must be 1 to 10"),
        ("delay 0", "delay must be more than 0 and at most 3600 seconds"),
        ("delay nan", "delay must be more than 0 and at most 3600 seconds"),
    ] {
        let text = b.cli(&format!("set ip6 dad enable {words}"));
        assert_eq!(text, format!("set ip6 dad enable: {error}\n"));
    }
}

#[test]
fn clients_configure_it_and_hear_the_outcome() {
    let mut b = Bench::plugged(&[FEATURE]);
    let pg1 = b.pg1;
    b.talk(|local, router| {
        let set = |transmits, delay| Ip6DadEnableDisable {
            enable: true,
            dad_transmits: transmits,
            dad_retransmit_delay: delay,
        };
        local.call(router, &set(3, 0.5)).unwrap();
        for bad in [set(0, 1.0), set(11, 1.0), set(1, 0.0), set(1, f64::NAN)] {
            assert_eq!(local.call(router, &bad).err(), Some(Retval::INVALID_VALUE));
        }
        let rows = local.dump(router, &Ip6DadDump {});
        let row = (rows[0].enabled, rows[0].dad_transmits, rows[0].dad_retransmit_delay);
        assert_eq!(row, (true, 3, 0.5));
        for _ in 0..2 {
            local.call(router, &WantIp6DadEvents { enable_disable: true, pid: 7 }).unwrap();
        }
        router.add_address(pg1, format!("{NEW}/64").parse().unwrap()).unwrap();
        router.events.sender().send(Duplicate { interface: pg1, addr: ip6(NEW) });
        router.handle_events();
        let seen = local.events::<Ip6DadEvent>();
        let states: Vec<_> = seen.iter().map(|e| (e.state, e.dad_count)).collect();
        let tentative = Ip6DadState::TENTATIVE;
        assert_eq!(states, [(tentative, 0), (tentative, 1), (Ip6DadState::DUPLICATE, 1)]);
        let off = Ip6DadEnableDisable { enable: false, ..set(0, 0.0) };
        local.call(router, &off).unwrap();
        assert!(!local.dump(router, &Ip6DadDump {})[0].enabled);
    });
}

#[test]
fn duplicates_are_removed_while_that_is_on() {
    let autoremove = net::Feature { default_enabled: true, ..autoremove::FEATURE };
    let mut b = Bench::plugged(&[FEATURE, autoremove]);
    assert!(b.cli("show ip6 dad").contains("Enabled: yes"));
    let become_duplicate = |b: &mut Bench, addr: &str| {
        assert_eq!(b.cli(&format!("set interface ip address pg1 {addr}/64")), "");
        b.receive(b.pg1, &[claim(addr)]);
        b.cli("show interface address").contains(addr)
    };
    assert!(!become_duplicate(&mut b, "2001:db8:5::1"));
    b.cli("set ip6 dad autoremove disable");
    assert!(become_duplicate(&mut b, "2001:db8:6::1"));
    b.cli("set ip6 dad disable");
    b.cli("set ip6 dad autoremove enable");
    assert!(b.cli("show ip6 dad").contains("Enabled: yes"), "it is what finds duplicates");
    assert!(!become_duplicate(&mut b, "2001:db8:7::1"));
    assert!(b.cli("show ip6 dad autoremove").contains("Removed: 2"));
}
