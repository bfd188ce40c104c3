//! Policies of labels and what is steered into them.

use net::testing::packets::*;
use sr_mpls::FEATURE;

use super::mpls::{Bench, bench_with, labelled, labels, set};

/// The labels that segments have at the neighbours.
fn bench() -> Bench {
    let mut bench = bench_with(&[FEATURE]);
    for label in [32, 33, 34, 35] {
        let line = format!("mpls local-label add {label} via 10.0.1.2 pg1 out-labels {label}");
        set(&mut bench, &line);
    }
    bench
}

fn sent(bench: &mut Bench, at: &str, packet: Vec<u8>) -> Vec<Vec<u32>> {
    let out = bench.send(at, &[packet]);
    let read = |caught: &graph::testing::Caught| labels(caught).0.iter().map(|l| l.0).collect();
    let mut all: Vec<Vec<u32>> = out.iter().filter(|c| c.at == "sent").map(read).collect();
    all.sort();
    all
}

fn to(dst: &str) -> Vec<u8> {
    udp4(HOST4, dst, 7, b"data")
}

#[test]
fn the_label_of_a_policy_gives_way_to_its_segments() {
    let mut bench = bench();
    set(&mut bench, "sr mpls policy add bsid 999 next 32 next 33 next 34");
    let packet = labelled(&[(999, 0, 64)], &to("9.9.9.9"));
    assert_eq!(sent(&mut bench, "mpls-input", packet.clone()), [[32, 33, 34]]);
    let below = labelled(&[(999, 0, 64), (50, 0, 9)], &to("9.9.9.9"));
    assert_eq!(sent(&mut bench, "mpls-input", below), [[32, 33, 34, 50]]);
    set(&mut bench, "sr mpls policy add bsid 998 next 35");
    let one = labelled(&[(998, 0, 64)], &to("9.9.9.9"));
    assert_eq!(sent(&mut bench, "mpls-input", one), [[35]]);
    set(&mut bench, "sr mpls policy del bsid 999");
    assert_eq!(sent(&mut bench, "mpls-input", packet), [[0; 0]; 0]);
}

#[test]
fn a_policy_that_sprays_sends_a_copy_over_each_list() {
    let mut bench = bench();
    set(&mut bench, "sr mpls policy add bsid 999 next 32 next 33 spray");
    set(&mut bench, "sr mpls policy mod bsid 999 add sl next 34 next 35");
    let packet = labelled(&[(999, 0, 64)], &to("9.9.9.9"));
    assert_eq!(sent(&mut bench, "mpls-input", packet.clone()), [[32, 33], [34, 35]]);
    set(&mut bench, "sr mpls policy mod bsid 999 del sl index 0");
    assert_eq!(sent(&mut bench, "mpls-input", packet), [[34, 35]]);
    let last = bench.run("sr mpls policy mod bsid 999 del sl index 1").unwrap_err();
    assert!(last.contains("cannot be deleted"), "{last}");
}

#[test]
fn prefixes_are_steered_by_policy_and_get_their_own_label_first() {
    let mut bench = bench();
    set(&mut bench, "sr mpls policy add bsid 999 next 32 next 33");
    set(&mut bench, "sr mpls steer l3 20.0.0.0/8 via sr policy bsid 999");
    assert_eq!(sent(&mut bench, "ip4-lookup", to("20.1.1.1")), [[32, 33]]);
    set(&mut bench, "sr mpls steer l3 20.0.0.0/8 via sr policy bsid 999 vpn-label 500");
    assert_eq!(sent(&mut bench, "ip4-lookup", to("20.1.1.1")), [[32, 33, 500]]);
    set(&mut bench, "sr mpls steer del l3 20.0.0.0/8");
    assert_eq!(sent(&mut bench, "ip4-lookup", to("20.1.1.1")), [[0; 0]; 0]);
    let none = bench.run("sr mpls steer l3 20.0.0.0/8 via sr policy bsid 998").unwrap_err();
    assert!(none.contains("no such policy"), "{none}");
}

#[test]
fn routes_and_tunnels_lead_through_the_label_of_a_policy() {
    let mut bench = bench();
    for line in [
        "sr mpls policy add bsid 999 next 32",
        "ip route add 20.0.0.1/32 via via-label 999 out-labels 55",
        "ip route add 20.0.0.2/32 via via-label 999",
        "mpls tunnel add via via-label 999 out-labels 44 46",
        "set interface state mpls-tunnel0 up",
        "ip route add 20.0.0.3/32 via mpls-tunnel0",
        "ip route add 20.0.0.4/32 via mpls-tunnel0 out-labels 33",
    ] {
        set(&mut bench, line);
    }
    for segments in [&[32][..], &[32, 33, 34]] {
        let own: &[&[u32]] = &[&[55], &[], &[44, 46], &[44, 46, 33]];
        for (host, own) in (1..).zip(own) {
            let all = [segments, own].concat();
            let packet = to(&format!("20.0.0.{host}"));
            assert_eq!(sent(&mut bench, "ip4-lookup", packet), [all], "20.0.0.{host}");
        }
        set(&mut bench, "sr mpls policy del bsid 999");
        assert_eq!(sent(&mut bench, "ip4-lookup", to("20.0.0.1")), [[0; 0]; 0]);
        set(&mut bench, "sr mpls policy add bsid 999 next 32 next 33 next 34");
    }
}

#[test]
fn a_colour_finds_the_policy_to_its_next_hop_or_one_that_will_do() {
    let mut bench = bench();
    set(&mut bench, "ip route add 1.1.1.1/32 via 10.0.1.2 pg1 out-labels 77");
    set(&mut bench, "sr mpls policy add bsid 999 next 32 next 33");
    set(&mut bench, "sr mpls steer l3 20.0.0.0/8 via next-hop 1.1.1.1 color 7 co 0");
    assert_eq!(sent(&mut bench, "ip4-lookup", to("20.1.1.1")), [[77]], "as its next hop");
    set(&mut bench, "sr mpls policy te bsid 999 endpoint 1.1.1.1 color 7");
    assert_eq!(sent(&mut bench, "ip4-lookup", to("20.1.1.1")), [[32, 33]]);
    set(&mut bench, "sr mpls policy te clear bsid 999");
    assert_eq!(sent(&mut bench, "ip4-lookup", to("20.1.1.1")), [[77]], "as before");
    for (endpoint, co, found) in
        [("0.0.0.0", 0, false), ("0.0.0.0", 1, true), ("2.2.2.2", 1, false), ("2.2.2.2", 2, true)]
    {
        set(&mut bench, &format!("sr mpls policy te bsid 999 endpoint {endpoint} color 7"));
        set(
            &mut bench,
            &format!("sr mpls steer l3 20.0.0.0/8 via next-hop 1.1.1.1 color 7 co {co}"),
        );
        let wanted = if found { vec![32, 33] } else { vec![77] };
        assert_eq!(sent(&mut bench, "ip4-lookup", to("20.1.1.1")), [wanted], "{endpoint} {co}");
    }
    let co = bench.run("sr mpls steer l3 20.0.0.0/8 via next-hop 1.1.1.1 color 7 co 3");
    assert!(co.unwrap_err().contains("co must be"));
}

#[test]
fn labels_that_cannot_be_are_refused() {
    let mut bench = bench();
    for line in [
        "sr mpls policy add bsid 15 next 32",
        "sr mpls policy add bsid 999 next 3",
        "sr mpls policy add bsid 999",
        "sr mpls policy add bsid 1048576 next 32",
    ] {
        let said = bench.run(line).unwrap_err();
        assert!(said.contains("labels are"), "{line}: {said}");
    }
    set(&mut bench, "sr mpls policy add bsid 999 next 32");
    assert!(bench.run("sr mpls policy add bsid 999 next 33").is_err());
    assert!(bench.run("sr mpls policy mod bsid 999 del sl index 9").is_err());
    assert!(bench.run("sr mpls policy del bsid 998").is_err());
}
