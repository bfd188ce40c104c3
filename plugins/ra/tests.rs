//! Routers and hosts, from outside.

use std::net::Ipv6Addr;

pub mod advertisement;

use advertisement::advertisement;
use control::api::Retval;
use net::InterfaceIndex;
use net::nd::frame;
use net::testing::whole::*;
use ra::*;
use wire::nd::{self, NdOption};
use wire::{MacAddr, Protocol, checksum, icmp6};
use zerocopy::{FromBytes, IntoBytes};

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
    frame((HOST, ip6(src)), (MacAddr::for_ip6_group(all), all), message)
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
    let mut b = Bench::plugged(&[FEATURE]);
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
    let (dst, ..) = told(&out[0].bytes);
    assert_eq!((dst, &out[0].bytes[..6]), (ip6("ff02::1"), &HOST.0[..]), "to who asked alone");
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
    let mut b = Bench::plugged(&[FEATURE]);
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
    let mut b = Bench::plugged(&[FEATURE]);
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
        ("ip6 nd pg0 prefix fe80::/64", "not a valid prefix to advertise"),
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
    let mut b = Bench::plugged(&[FEATURE]);
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
    let mut b = Bench::plugged(&[FEATURE]);
    b.control(|router, _| {
        let pg0 = router.interfaces.named("pg0").unwrap().index;
        let retries = Retries { count: 3, ..Retries::default() };
        solicit(router, pg0, Some(retries)).unwrap();
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
    let mut b = Bench::plugged(&[FEATURE]);
    b.control(|router, _| {
        router.insert(Vec::<Advertised>::new());
        observe(router, |router, heard| {
            router.state_mut::<Vec<Advertised>>().unwrap().push(*heard);
        });
    });
    let frame = advertisement(LINK_LOCAL, 1800, &[("2001:db8:7::", 64, 0xc0, 200, 100)]);
    for n in [1usize, 3, 32] {
        assert!(b.receive(b.pg0, &vec![frame.clone(); n]).is_empty());
        b.expect(&[("ip6-icmp-input", "router_advertisements_rx", n as u64)]);
        b.control(|router, _| {
            let all = std::mem::take(router.state_mut::<Vec<Advertised>>().unwrap());
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

fn nothing(sw_if_index: InterfaceIndex) -> SwInterfaceIp6ndRaConfig {
    SwInterfaceIp6ndRaConfig {
        sw_if_index,
        suppress: 0,
        managed: 0,
        other: 0,
        ll_option: 0,
        send_unicast: 0,
        cease: 0,
        is_no: false,
        default_router: 0,
        max_interval: 0,
        min_interval: 0,
        lifetime: 0,
        initial_count: 0,
        initial_interval: 0,
    }
}

#[test]
fn advertisers_come_back_as_they_were_set() {
    Bench::plugged(&[FEATURE]).talk(|local, router| {
        let pg0 = router.interfaces.named("pg0").unwrap().index;
        let base = nothing(pg0);
        let config = SwInterfaceIp6ndRaConfig {
            managed: 1,
            send_unicast: 1,
            max_interval: 20,
            default_router: 1,
            lifetime: 100,
            ..base.clone()
        };
        local.call(router, &config).unwrap();
        let on = SwInterfaceIp6ndRaConfig { is_no: true, suppress: 1, ..base.clone() };
        local.call(router, &on).unwrap();
        let prefix: wire::Prefix = "2001:db8::1/64".parse().unwrap();
        let set = |is_no| SwInterfaceIp6ndRaPrefix {
            sw_if_index: pg0,
            prefix: prefix.into(),
            use_default: false,
            no_advertise: false,
            off_link: false,
            no_autoconfig: true,
            no_onlink: false,
            is_no,
            val_lifetime: 20,
            pref_lifetime: 10,
        };
        local.call(router, &set(false)).unwrap();
        let dump = SwInterfaceIp6ndRaDump { sw_if_index: pg0 };
        let rows = local.dump(router, &dump);
        let (row, p) = (&rows[0], &rows[0].prefixes[0]);
        assert!(row.send_radv && row.adv_managed_flag && row.send_unicast);
        assert_eq!((row.max_radv_interval, row.min_radv_interval), (20.0, 15.0));
        assert_eq!((row.adv_router_lifetime, row.adv_link_mtu, rows.len()), (100, 9000, 1));
        assert_eq!((p.prefix, p.autonomous_flag), (prefix.into(), false));
        assert_eq!(
            local
                .dump(router, &SwInterfaceIp6ndRaDump { sw_if_index: InterfaceIndex(u32::MAX) })
                .len(),
            2
        );
        local.call(router, &set(true)).unwrap();
        assert_eq!(local.call(router, &set(true)).err(), Some(Retval::NO_SUCH_ENTRY));
        let bad = SwInterfaceIp6ndRaConfig { max_interval: 2, ..base };
        assert_eq!(local.call(router, &bad).err(), Some(Retval::INVALID_VALUE));
        let nowhere = SwInterfaceIp6ndRaConfig { sw_if_index: InterfaceIndex(77), ..bad };
        assert_eq!(local.call(router, &nowhere).err(), Some(Retval::INVALID_SW_IF_INDEX));
        let look = |stop| Ip6ndSendRouterSolicitation {
            irt: 1,
            mrt: 0,
            mrc: 2,
            mrd: 0,
            sw_if_index: pg0,
            stop,
        };
        local.call(router, &look(false)).unwrap();
        local.call(router, &look(true)).unwrap();
    });
}

#[test]
fn clients_hear_what_other_routers_say() {
    let mut b = Bench::plugged(&[FEATURE]);
    let pg0 = b.pg0;
    b.talk(|local, router| {
        local.call(router, &WantIp6RaEvents { enable: true, pid: 7 }).unwrap();
        let mut told = Advertised::new(pg0, ip6("fe80::1"));
        told.lifetime = 1800;
        router.events.sender().send(told);
        router.handle_events();
        let seen = local.events::<Ip6RaEvent>();
        assert_eq!((seen.len(), seen[0].router_lifetime_in_sec), (1, 1800));
    });
}

#[test]
fn values_have_bounds() {
    let refused = |c: Changes| Config::default().with(&c).is_err();
    for (interval, is_bad) in [
        ((3, None), true),
        ((4, None), false),
        ((1801, None), true),
        ((200, Some(2)), true),
        ((200, Some(151)), true),
        ((200, Some(150)), false),
    ] {
        let c = Changes { interval: Some(interval), ..Changes::default() };
        assert_eq!(refused(c), is_bad, "{interval:?}");
    }
    for (lifetime, is_bad) in [(0, false), (199, true), (200, false), (9001, true)] {
        let c = Changes { lifetime: Some(lifetime), ..Changes::default() };
        assert_eq!(refused(c), is_bad, "{lifetime}");
    }
    for (initial, is_bad) in [((3, 16), false), ((4, 16), true), ((1, 0), true)] {
        let c = Changes { initial: Some(initial), ..Changes::default() };
        assert_eq!(refused(c), is_bad, "{initial:?}");
    }
}

#[test]
fn who_is_changed_advertises() {
    let none = Changes::default();
    let sends = |changes| Config::default().with(&changes).unwrap().sends;
    assert!(!sends(none) && !sends(Changes { suppress_mac: true, ..none }));
    for change in [
        Changes { starts: true, ..none },
        Changes { managed: true, ..none },
        Changes { other: true, ..none },
        Changes { unicast: true, ..none },
        Changes { ceases: true, ..none },
        Changes { lifetime: Some(600), ..none },
        Changes { initial: Some((3, 10)), ..none },
        Changes { interval: Some((100, None)), ..none },
    ] {
        assert!(sends(change) && sends(Changes { is_no: true, ..change }));
        assert!(!sends(Changes { suppress: true, ..change }));
    }
    // What is written says so where nothing is sent.
    let mut b = Bench::plugged(&[FEATURE]);
    b.cli("ip6 nd pg0 ra-other-config-flag");
    b.cli("ip6 nd pg0 ra-suppress");
    let kept = b.cli("show configuration ra");
    assert!(kept.contains("ip6 nd pg0 ra-suppress"), "{kept}");
}

#[test]
fn no_takes_back() {
    let all = Changes {
        suppress: true,
        managed: true,
        other: true,
        suppress_mac: true,
        unicast: true,
        ceases: true,
        lifetime: Some(1000),
        initial: Some((1, 4)),
        interval: Some((10, None)),
        ..Changes::default()
    };
    let changed = Config::default().with(&all).unwrap();
    assert_eq!((changed.managed, changed.tells_mac, changed.min_interval), (true, false, 7.5));
    let back = changed.with(&Changes { is_no: true, ..all }).unwrap();
    assert_eq!(back, Config { sends: true, ..Config::default() });
}

fn active() -> Advertiser {
    let config = Config { sends: true, ..Config::default() };
    Advertiser { config, ..Advertiser::new(100.0) }
}

#[test]
fn the_first_three_follow_each_other_faster() {
    let mut a = active();
    let mut times = Vec::new();
    let mut now = 100.0;
    while times.len() < 6 {
        if a.is_due(now) {
            times.push(now);
        }
        now += 0.5;
    }
    let gaps: Vec<_> = times.windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!(gaps[..2], [16.0, 16.0]);
    assert!(gaps[2..].iter().all(|g| (149.5..=200.5).contains(g)), "{gaps:?}");
    assert_eq!(a.tally.sent, 6);
}

#[test]
fn a_router_that_ceases_says_so_three_times() {
    let mut a = active();
    a.config.ceases = true;
    let sent = (0..1000).filter(|s| a.is_due(100.0 + f64::from(*s))).count();
    assert_eq!(sent, 3);
    let frame = a.frame(0.0, (MacAddr([2; 6]), Ipv6Addr::LOCALHOST), 1500, None);
    assert_eq!(frame[14 + 40 + 6..][..2], [0, 0], "its lifetime is over");
}

#[test]
fn learned_prefixes_run_out() {
    let mut a = active();
    let prefix: wire::prefix::Ip6Prefix = "2001:db8:7::/64".parse().unwrap();
    a.learned.push(Learned { prefix, preferred_until: 150.0, valid_until: 200.0 });
    // Valid and preferred seconds of the only prefix option.
    let told = |a: &Advertiser, now: f64| {
        let frame = a.frame(now, (MacAddr([2; 6]), Ipv6Addr::LOCALHOST), 1500, None);
        let at = frame.windows(3).position(|bytes| bytes == [3, 4, 64])?;
        let seconds = |at: usize| u32::from_be_bytes(frame[at..at + 4].try_into().unwrap());
        Some((seconds(at + 4), seconds(at + 8)))
    };
    assert_eq!(told(&a, 110.5), Some((89, 39)));
    assert_eq!(told(&a, 160.0), Some((40, 0)));
    assert_eq!(told(&a, 200.0), None);
    a.learned[0].valid_until = f64::INFINITY;
    assert_eq!(told(&a, 200.0), Some((u32::MAX, 0)));
    // What is set counts.
    let set = Prefix {
        prefix,
        on_link: true,
        autonomous: true,
        valid: 7,
        preferred: 5,
        is_silent: false,
    };
    a.prefixes.push(set);
    assert_eq!(a.all_prefixes(110.5).collect::<Vec<_>>(), [set]);
}

#[test]
fn answers_keep_a_distance() {
    let mut a = active();
    let answered = [0.0, 1.0, 2.9, 3.0, 7.0].map(|t| a.answers(t));
    assert_eq!(answered, [true, false, false, true, true]);
    a.restart(7.5);
    assert!(a.answers(7.6), "a new configuration is told at once");
    assert_eq!(a.tally, Tally { sent: 4, received: 6, dropped: 2 });
}
