//! Network prefix translation of IPv6: tests with packets.

use std::net::Ipv6Addr;

use control::api::Retval;
use control::api::types::Ip6Prefix as PrefixField;
use net::InterfaceIndex;
use net::testing::Bench;
use net::testing::packets::*;
use npt66::*;
use wire::{Ip6Prefix, icmp6};

const INSIDE: &str = "fd01:203:405::/48";
const OUTSIDE: &str = "2001:db8:1::/48";

fn binding(internal: &str, external: &str) -> Binding {
    Binding::new(internal.parse().unwrap(), external.parse().unwrap())
}

fn addr(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

fn bench() -> Bench {
    let mut bench = Bench::plugged(FEATURE);
    let pg1 = bench.pg1;
    bench.control(|r| add(r, pg1, INSIDE.parse().unwrap(), OUTSIDE.parse().unwrap()).unwrap());
    bench
}

#[test]
fn the_example_of_the_rfc_is_translated_both_ways() {
    let b = binding(INSIDE, OUTSIDE);
    let (inside, outside) = (addr("fd01:203:405:1::1234"), addr("2001:db8:1:d550::1234"));
    assert_eq!(b.outside(inside), Ok(outside));
    assert_eq!(b.inside(outside), Ok(inside));
}

#[test]
fn any_translation_keeps_the_sum_and_goes_back() {
    let sum = |a: Ipv6Addr| wire::checksum::Sum::ZERO.add_bytes(&a.octets()).fold() % 0xffff;
    for (internal, external) in [
        (INSIDE, OUTSIDE),
        ("fd00::/8", "2001:db8::/32"),
        ("fd01:203:405:6::/64", "2001:db8:1:2::/64"),
        ("fd01:203:405:600::/56", "2001:db8:1::/48"),
    ] {
        let b = binding(internal, external);
        let network: Ip6Prefix = internal.parse().unwrap();
        for host in [1, 0x1234, 0xffff_0000_0000_0001, 0xffff_ffff_0000_0000_u64] {
            let inside = Ipv6Addr::from_bits(network.addr().to_bits() | u128::from(host));
            let outside = b.outside(inside).unwrap();
            assert!(b.is_internal(inside) && b.is_external(outside), "{inside} {outside}");
            assert_eq!(sum(inside), sum(outside), "{internal} {host:x}");
            assert_eq!(b.inside(outside), Ok(inside));
        }
    }
    let subnet_full = addr("fd01:203:405:ffff::1");
    assert_eq!(binding(INSIDE, OUTSIDE).outside(subnet_full).ok(), None);
}

#[test]
fn packets_are_translated_out_and_in() {
    let mut bench = bench();
    let over = bench.neighbor("2001:db8:1::2", true).0;
    let packet = udp6("fd01:203:405:1::1234", "2001:db8:ff::1", 80, &[1; 9]);
    let out = bench.send_as("ip6-rewrite", &[packet], move |p| p.set_adjacency(over));
    let sent = &out[0].bytes[14..];
    assert_eq!(sent[8..24], addr("2001:db8:1:d550::1234").octets());
    assert!(sum6(sent).is_valid());
    bench.expect(&[("npt66-output", "tx", 1)]);
    let back = udp6("2001:db8:ff::1", "2001:db8:1:d550::1234", 80, &[1; 9]);
    let rx = bench.pg1.0;
    let out = bench.send_as("ip6-input", &[back], move |p| p.set_rx(rx));
    assert_eq!(out[0].bytes[24..40], addr("fd01:203:405:1::1234").octets());
    assert!(sum6(&out[0].bytes).is_valid());
    bench.expect(&[("npt66-input", "rx", 1)]);
}

fn error_of(kind: icmp6::Type, rest: &[u8]) -> Vec<u8> {
    icmp6("2001:db8:ff::9", "2001:db8:1:d550::1234", kind, rest)
}

#[test]
fn errors_are_translated_with_what_they_quote() {
    let mut bench = bench();
    let quoted = udp6("2001:db8:1:d550::1234", "2001:db8:ff::1", 80, &[1; 9]);
    let rest = [&[0; 4], &quoted[..]].concat();
    let kind = icmp6::Type::TIME_EXCEEDED;
    let error = error_of(kind, &rest);
    let rx = bench.pg1.0;
    let out = bench.send_as("ip6-input", &[error], move |p| p.set_rx(rx));
    let inside = addr("fd01:203:405:1::1234").octets();
    assert_eq!(out[0].bytes[24..40], inside);
    assert_eq!(out[0].bytes[40 + 8 + 8..40 + 8 + 24], inside);
    assert!(sum6(&out[0].bytes).is_valid());
    bench.expect(&[("npt66-input", "rx", 1)]);
    let mut wrong = error_of(kind, &rest);
    wrong[42] ^= 1;
    bench.send_as("ip6-input", &[wrong], move |p| p.set_rx(rx));
    bench.expect(&[("npt66-input", "icmp6_checksum", 1)]);
    let cut = icmp6("2001:db8:ff::9", "2001:db8:1:d550::1234", kind, &rest[..20]);
    bench.send_as("ip6-input", &[cut], move |p| p.set_rx(rx));
    bench.expect(&[("npt66-input", "icmp6_truncated", 1)]);
    let full = udp6("2001:db8:ff::1", "2001:db8:1:ffff::1", 80, &[]);
    bench.send_as("ip6-input", &[full], move |p| p.set_rx(rx));
    bench.expect(&[("npt66-input", "translation", 1)]);
}

#[test]
fn bindings_are_set_shown_and_refused() {
    let mut bench = Bench::plugged(FEATURE);
    let line = format!("set npt66 binding interface pg1 internal {INSIDE} external {OUTSIDE}");
    bench.run(&line).unwrap();
    assert!(bench.run("show npt66").unwrap().contains(INSIDE));
    assert_eq!(bench.run("show npt66").unwrap().lines().count(), 1);
    bench.run(&line).unwrap();
    assert_eq!(bench.run("show npt66").unwrap().lines().count(), 1, "it is there already");
    let other = format!("set npt66 binding interface pg1 internal {INSIDE} external 2001:db9::/48");
    assert!(bench.run(&other).unwrap_err().contains(INSIDE));
    bench.run(&format!("{line} del")).unwrap();
    assert!(bench.run(&format!("{line} del")).unwrap_err().contains(INSIDE));
    let pg1 = bench.pg1;
    bench.talk(|local, router| {
        let message = |is_add, sw_if_index, len| Npt66BindingAddDel {
            is_add,
            sw_if_index,
            internal: PrefixField { address: addr("fd01::"), len },
            external: PrefixField { address: addr("2001:db8::"), len: 48 },
        };
        local.call(router, &message(true, pg1, 48)).unwrap();
        let refused = |m: &Npt66BindingAddDel, router: &mut _| local.call(router, m).err();
        assert_eq!(refused(&message(true, pg1, 48), router), None);
        assert_eq!(refused(&message(true, pg1, 47), router), Some(Retval::VALUE_EXIST));
        assert_eq!(refused(&message(false, pg1, 47), router), Some(Retval::NO_SUCH_ENTRY));
        assert_eq!(refused(&message(true, pg1, 65), router), Some(Retval::INVALID_VALUE));
        assert_eq!(refused(&message(true, pg1, 129), router), Some(Retval::INVALID_VALUE));
        let nowhere = message(true, InterfaceIndex(99), 48);
        assert_eq!(refused(&nowhere, router), Some(Retval::INVALID_SW_IF_INDEX));
        local.call(router, &message(false, pg1, 48)).unwrap();
    });
}
