//! Routers and hosts, from outside.

use std::net::Ipv6Addr;

use wire::nd::{self, NdOption};
use wire::{MacAddr, Protocol, checksum, icmp6};
use zerocopy::{FromBytes, IntoBytes};

use super::advertiser::on_link;
use crate::neighbor::testing::*;

const LINK_LOCAL: &str = "fe80::ff:fe00:1";

/// A solicitation of routers, from `src`.
fn looking(src: &str, tells_mac: bool) -> Vec<u8> {
    let head = nd::RouterSolicitation {
        icmp: icmp6::Header::new(icmp6::Type::ROUTER_SOLICITATION, 0),
        reserved: 0.into(),
    };
    let mut message = head.as_bytes().to_vec();
    if tells_mac {
        message.extend_from_slice(nd::LinkLayer::source(HOST).as_bytes());
    }
    let all = ip6("ff02::2");
    on_link((HOST, ip6(src)), (MacAddr::for_ip6_group(all), all), message)
}

/// Destination and message of an advertisement, checked.
fn told(bytes: &[u8]) -> (Ipv6Addr, nd::RouterAdvertisement, Vec<u8>) {
    let (header, message) = bytes[14..].split_at(40);
    let header = wire::ip6::Header::read_from_bytes(header).unwrap();
    assert_eq!((header.hop_limit, header.src_addr()), (255, ip6("fe80::ff:fe00:aa")));
    let len = message.len() as u32;
    assert!(
        checksum::ip6_pseudo(header.src, header.dst, Protocol::ICMP6, len)
            .add_bytes(message)
            .is_valid()
    );
    let (head, options) = nd::RouterAdvertisement::read_from_prefix(message).unwrap();
    (header.dst_addr(), head, options.to_vec())
}

#[test]
fn who_asks_is_answered_and_not_too_often() {
    let mut b = Bench::new();
    let asked = looking(LINK_LOCAL, true);
    assert!(b.receive(b.pg0, std::slice::from_ref(&asked)).is_empty(), "it is silent at first");
    b.expect(&[("ip6-icmp-input", "router_solicitation_radv_not_config", 1)]);
    assert_eq!(b.cli("ip6 nd pg0 no ra-suppress"), "");
    assert_eq!(b.graph.run().len(), 1, "everybody is told at once");
    assert_eq!(b.cli("ip6 nd pg0 ra-send-unicast"), "");
    b.graph.run();
    b.expect(&[("ip6-icmp-input", "router_advertisements_tx", 2)]);

    let out = b.receive(b.pg0, std::slice::from_ref(&asked));
    let (dst, head, options) = told(&out[0].bytes);
    assert_eq!((dst, out.len(), &out[0].bytes[..6]), (ip6(LINK_LOCAL), 1, &HOST.0[..]));
    assert_eq!((head.hop_limit, head.flags, head.router_lifetime.get()), (64, 0, 600));
    let options: Vec<_> = nd::options(&options).map(Result::unwrap).collect();
    assert_eq!(options, [NdOption::SourceLinkLayer(PG0), NdOption::Mtu(9000)]);
    b.expect(&[("ip6-icmp-input", "router_advertisements_tx", 1)]);
    assert!(b.cli("show ip6 neighbors").contains(LINK_LOCAL));

    assert!(b.receive(b.pg0, std::slice::from_ref(&asked)).is_empty(), "too soon");
    b.cli("ip6 nd pg0 ra-send-unicast");
    b.graph.run();
    assert_eq!(b.receive(b.pg0, &[asked]).len(), 1, "a change starts anew");
    b.cli("ip6 nd pg0 ra-send-unicast");
    b.graph.run();
    let out = b.receive(b.pg0, &[looking("::", false)]);
    assert_eq!(told(&out[0].bytes).0, ip6("ff02::1"));
    let shown = b.cli("show ip6 interface pg0");
    for line in [
        "    ND router advertisements sent 7\n",
        "    ND router solicitations received 4\n",
        "    ND router solicitations dropped 1\n",
        "are sent every 200.0 seconds (min interval is 150.0)\n",
    ] {
        assert!(shown.contains(line), "{line}{shown}");
    }
}

#[test]
fn wrong_solicitations_are_counted() {
    let mut b = Bench::new();
    b.cli("ip6 nd pg0 no ra-suppress");
    b.graph.run();
    b.expect(&[("ip6-icmp-input", "router_advertisements_tx", 1)]);
    for (frame, counter) in [
        (looking("2001:db8:1::9", true), "router_solicitation_source_not_on_link"),
        (looking("::", true), "drop"),
    ] {
        for n in [1usize, 3, 255, 256] {
            assert!(b.receive(b.pg0, &vec![frame.clone(); n]).is_empty());
            b.expect(&[("ip6-icmp-input", counter, n as u64)]);
        }
    }
}

#[test]
fn prefixes_are_told_with_their_flags_and_lifetimes() {
    let mut b = Bench::new();
    b.cli("ip6 nd pg0 no ra-suppress");
    b.cli("ip6 nd pg0 ra-managed-config-flag ra-other-config-flag ra-suppress-link-layer");
    assert_eq!(b.cli("ip6 nd pg0 prefix 2001:db8::1/64 infinite"), "");
    assert_eq!(b.cli("ip6 nd pg0 prefix 2001:db8:5::/64 1000 900 no-autoconfig off-link"), "");
    assert_eq!(b.cli("ip6 nd pg0 prefix 2001:db8:6::/64 no-advertise"), "");
    let out = b.graph.run();
    let (_, head, options) = told(&out.last().unwrap().bytes);
    assert_eq!(head.flags, nd::MANAGED | nd::OTHER_CONFIG);
    let read = nd::options(&options).filter_map(|o| match o.unwrap() {
        NdOption::Prefix(p) => Some((
            Ipv6Addr::from(p.prefix),
            p.flags,
            p.valid_lifetime.get(),
            p.preferred_lifetime.get(),
        )),
        _ => None,
    });
    assert_eq!(
        read.collect::<Vec<_>>(),
        [
            (ip6("2001:db8::1"), nd::ON_LINK | nd::AUTONOMOUS, u32::MAX, u32::MAX),
            (ip6("2001:db8:5::"), 0, 1000, 900),
        ]
    );
    assert_eq!(b.cli("ip6 nd pg0 no prefix 2001:db8::1/64"), "");
    let out = b.graph.run();
    assert_eq!(nd::options(&told(&out[0].bytes).2).count(), 2, "MTU and one prefix");
    for (line, error) in [
        ("ip6 nd pg0 no prefix 2001:db8::1/64", "no such prefix"),
        ("ip6 nd pg0 prefix fe80::/64", "not a prefix that hosts can be told"),
        ("ip6 nd pg0 ra-interval 3", "longest interval is 4 to 1800 seconds"),
        ("ip6 nd pg0 bogus", "unknown input `bogus'"),
        ("ip6 nd local0 ra-suppress", "IPv6 is not enabled on the interface"),
        ("ip6 nd nosuch ra-suppress", "unknown interface `nosuch ra-suppress'"),
    ] {
        assert_eq!(b.cli(line), format!("ip6 nd: {error}\n"));
    }
}

#[test]
fn everybody_is_told_in_time() {
    let mut b = Bench::new();
    b.cli("ip6 nd pg0 no ra-suppress");
    b.cli("ip6 nd pg0 ra-interval 10 7");
    assert_eq!(b.graph.run().len(), 2);
    let out = b.wait(60.0);
    assert!((6..=8).contains(&out.len()), "{}", out.len());
    b.cli("ip6 nd pg0 ra-cease");
    assert_eq!(b.graph.run().len(), 1);
    let out = b.wait(60.0);
    assert_eq!(out.len(), 2);
    assert_eq!(told(&out[1].bytes).1.router_lifetime.get(), 0);
    b.cli("ip6 nd pg0 no ra-cease");
    b.cli("set interface state pg0 down");
    b.graph.run();
    assert_eq!(b.wait(60.0).len(), 0);
}

#[test]
fn routers_are_looked_for_at_growing_distances() {
    let mut b = Bench::new();
    b.control(|router, _| {
        let pg0 = router.interfaces.named("pg0").unwrap().index;
        let retries = super::Retries { count: 3, ..super::Retries::default() };
        router.solicit_routers(pg0, Some(retries)).unwrap();
    });
    let out = b.wait(0.5);
    assert_eq!(out.len(), 1);
    let mut expected = looking("fe80::ff:fe00:aa", true);
    assert_eq!((&out[0].bytes[..6], out[0].bytes.len()), (&expected[..6], expected.len()));
    expected[6..12].copy_from_slice(&PG0.0);
    assert_eq!(out[0].bytes[..54], expected[..54]);
    assert_eq!(b.wait(1.0).len(), 1, "after a second");
    assert_eq!(b.wait(10.0).len(), 1, "after two, and no more");
}

#[test]
fn advertisements_of_others_are_read_with_all_they_say() {
    let mut b = Bench::new();
    b.control(|router, _| {
        router.insert(Vec::<super::Advertised>::new());
        router.on_advertisement(|router, heard| {
            router.state_mut::<Vec<super::Advertised>>().unwrap().push(*heard);
        });
    });
    let frame = advertisement(LINK_LOCAL, 1800, &[("2001:db8:7::", 64, 0xc0, 200, 100)]);
    for n in [1usize, 3, 32] {
        assert!(b.receive(b.pg0, &vec![frame.clone(); n]).is_empty());
        b.expect(&[("ip6-icmp-input", "router_advertisements_rx", n as u64)]);
        b.control(|router, _| {
            let all = std::mem::take(router.state_mut::<Vec<super::Advertised>>().unwrap());
            assert_eq!(all.len(), n);
            let p = all[0].prefixes().next().unwrap();
            assert_eq!((all[0].lifetime, all[0].mac), (1800, Some(HOST)));
            assert_eq!((p.len, p.flags, p.valid, p.preferred), (64, 0xc0, 200, 100));
        });
    }
    let frame = advertisement("2001:db8::2", 1800, &[]);
    b.receive(b.pg0, &[frame]);
    b.expect(&[("ip6-icmp-input", "router_advertisement_source_not_link_local", 1)]);
}

/// An advertisement of another router.
pub(crate) fn advertisement(
    src: &str,
    lifetime: u16,
    prefixes: &[(&str, u8, u8, u32, u32)],
) -> Vec<u8> {
    let head = nd::RouterAdvertisement {
        icmp: icmp6::Header::new(icmp6::Type::ROUTER_ADVERTISEMENT, 0),
        hop_limit: 64,
        flags: 8,
        router_lifetime: lifetime.into(),
        reachable_time: 0.into(),
        retrans_timer: 0.into(),
    };
    let mut message = [head.as_bytes(), nd::LinkLayer::source(HOST).as_bytes()].concat();
    for (addr, len, flags, valid, preferred) in prefixes {
        let prefix = format!("{addr}/{len}").parse().unwrap();
        let option = nd::PrefixInformation::new(prefix, *flags, *valid, *preferred);
        message.extend_from_slice(option.as_bytes());
    }
    let all = ip6("ff02::1");
    on_link((HOST, ip6(src)), (MacAddr::for_ip6_group(all), all), message)
}
