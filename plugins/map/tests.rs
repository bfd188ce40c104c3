//! Addresses and ports of IPv4 mapped into IPv6: MAP-E, MAP-T, LW4o6: tests with packets.

use control::api::Retval;
use map::*;
use net::InterfaceIndex;
use net::testing::packets::*;
use net::testing::whole::{self, Bench, one};
use wire::{Protocol, icmp6, ip4, tcp};
use zerocopy::{FromBytes, IntoBytes};

const E: &str = "map add domain ip4-pfx 192.168.0.0/16 ip6-pfx 2001::/32 ip6-src 3000::1/128 \
    ea-bits-len 20 psid-offset 4 psid-len 4 mtu 1280";
const T: &str = "map add domain ip4-pfx 192.168.0.0/24 ip6-pfx 2001:db8::/32 \
    ip6-src 1234:5678:90ab:cdef::/64 ea-bits-len 16 psid-offset 6 psid-len 4 mtu 1500";

/// IPv4 hosts are on `pg0`, customers behind `pg1`.
fn bench(domain: &str, word: &str) -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    for line in [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb",
        "ip route add 2001::/16 via 2001:db8:1::2 pg1",
        domain,
        &format!("map interface pg0 {word}"),
        &format!("map interface pg1 {word}"),
    ] {
        b.set(line);
    }
    b.wait(0.0);
    b
}

/// The packets that leave for one received on `pg0`, or on `pg1`.
fn through(b: &mut Bench, on_pg1: bool, packet: &[u8]) -> Vec<Vec<u8>> {
    whole::through(b, on_pg1, &[packet.to_vec()])
}

fn octets(text: &str) -> [u8; 16] {
    text.parse::<std::net::Ipv6Addr>().unwrap().octets()
}

fn tcp4(src: &str, dst: &str, ports: (u16, u16), flags: tcp::Flags) -> Vec<u8> {
    let mut header = tcp::Header::new(ports.0, ports.1, 7, 0, flags);
    header.data_offset = 6 << 4;
    let mut packet = ip4(src, dst, Protocol::TCP, &[header.as_bytes(), &[2, 4, 5, 0xb4]].concat());
    let sum = sum4(&packet).checksum();
    packet[36..38].copy_from_slice(sum.as_bytes());
    packet
}

fn tcp6(src: &str, dst: &str, ports: (u16, u16)) -> Vec<u8> {
    let header = tcp::Header::new(ports.0, ports.1, 7, 0, tcp::Flags::ACK);
    let mut packet = ip6(src, dst, Protocol::TCP, header.as_bytes());
    let sum = sum6(&packet).checksum();
    packet[56..58].copy_from_slice(sum.as_bytes());
    packet
}

const CUSTOMER_E: &str = "2001:0:101:7000:0:c0a8:101:7";
const CUSTOMER_T: &str = "2001:db8:1f0::c0a8:1:f";
const OUTSIDE_T: &str = "1234:5678:90ab:cdef:a:0:200:0";

#[test]
fn packets_for_customers_are_put_into_ipv6_and_theirs_taken_out() {
    let mut b = bench(E, "");
    let packet = udp4(HOST4, "192.168.1.1", 10000, &[7; 20]);
    let out = one(&mut b, false, &packet);
    assert_eq!((out[6], out[7]), (4, 63));
    assert_eq!((&out[8..24], &out[24..40]), (&octets("3000::1")[..], &octets(CUSTOMER_E)[..]));
    assert_eq!(out[40..], changed4(packet.clone(), |h| h.decrement_ttl()));
    // Back: the port is the source's.
    let mut inner = udp4("192.168.1.1", HOST4, 1234, &[7; 20]);
    inner[20..22].copy_from_slice(&10000_u16.to_be_bytes());
    inner[26..28].fill(0);
    let back = ip6(CUSTOMER_E, "3000::1", Protocol::IP4, &inner);
    let out = one(&mut b, true, &back);
    assert_eq!((&out[12..20], out[8]), (&inner[12..20], 63));
    // From a customer whose port it is not.
    inner[20..22].copy_from_slice(&20000_u16.to_be_bytes());
    assert_eq!(through(&mut b, true, &ip6(CUSTOMER_E, "3000::1", Protocol::IP4, &inner)).len(), 0);
    b.expect(&[("ip6-map", "decap_sec_check", 1)]);
    b.set("map params security-check disable");
    one(&mut b, true, &ip6(CUSTOMER_E, "3000::1", Protocol::IP4, &inner));
    // From an address that no domain has: never.
    let foreign = udp4("10.9.9.9", HOST4, 1234, &[7; 20]);
    let foreign = ip6(CUSTOMER_E, "3000::1", Protocol::IP4, &foreign);
    assert_eq!(through(&mut b, true, &foreign).len(), 0);
    b.expect(&[("ip6-map", "no_domain", 1)]);
    let shown = b.run("show map stats");
    assert!(shown.contains("Encapsulated packets: 1 "), "{shown}");
    assert!(shown.contains("Decapsulated packets: 2 "), "{shown}");
    assert!(shown.contains("0 encap, 2 decap"), "{shown}");
    for line in [
        "MAP pre-resolve: IP6 next-hop: un-set, IP4 next-hop: un-set\n",
        "security check: disabled, fragmented packet security check: disabled\n",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    let shown = b.run("show map domain counters");
    assert!(shown.contains(" tag {[no-tag]} ip4-pfx ") && shown.contains("   TX: "), "{shown}");
}

#[test]
fn others_packets_and_ports_of_nobody_are_left_alone_or_dropped() {
    let mut b = bench(E, "");
    let own = udp4(HOST4, "10.0.0.2", 9, &[]);
    assert_eq!(one(&mut b, false, &own)[12..20], own[12..20]);
    assert_eq!(through(&mut b, false, &udp4(HOST4, "192.168.1.1", 100, &[])).len(), 0);
    b.expect(&[("ip4-map", "sec_check", 1)]);
    let portless = ip4(HOST4, "192.168.1.1", Protocol(47), &[0; 8]);
    assert_eq!(through(&mut b, false, &portless).len(), 0);
    b.expect(&[("ip4-map", "bad_protocol", 1)]);
}

#[test]
fn long_packets_are_cut_inside_or_outside_and_senders_told() {
    let mut b = bench(E, "");
    let packet = udp4(HOST4, "192.168.1.1", 10000, &[7; 1400]);
    let outer = through(&mut b, false, &packet);
    assert_eq!(outer.iter().map(|p| p[6]).collect::<Vec<_>>(), [44, 44]);
    assert!(outer.iter().all(|p| p.len() <= 1280));
    b.set("map params fragment inner");
    let inner = through(&mut b, false, &packet);
    assert_eq!(inner.len(), 2);
    for piece in &inner {
        assert_eq!((piece[6], &piece[24..40]), (4, &octets(CUSTOMER_E)[..]));
        assert!(ip4::Header::ref_from_prefix(&piece[40..]).unwrap().0.is_fragment());
        assert_eq!(usize::from(u16::from_be_bytes([piece[4], piece[5]])), piece.len() - 40);
    }
    let forbidden = changed4(packet, |h| h.fragment = ip4::DONT_FRAGMENT.into());
    let told = one(&mut b, false, &forbidden);
    assert_eq!((told[20], told[21], &told[26..28]), (3, 4, &1240_u16.to_be_bytes()[..]));
    b.set("map params fragment ignore-df");
    assert_eq!(through(&mut b, false, &forbidden).len(), 2);
    let expired = changed4(udp4(HOST4, "192.168.1.1", 10000, &[]), |h| h.ttl = 1);
    assert_eq!(one(&mut b, false, &expired)[20], 11);
}

/// The type, code and MTU of an ICMP error, of either version.
fn told(packet: &[u8]) -> (u8, u8, u32) {
    let icmp = if packet[0] >> 4 == 4 { &packet[20..] } else { &packet[40..] };
    (icmp[0], icmp[1], u32::from_be_bytes(*icmp[4..].first_chunk().unwrap()))
}

/// A domain without an MTU of its own.
fn unbound(domain: &str) -> String {
    domain.rsplit_once(" mtu ").unwrap().0.to_owned()
}

#[test]
fn what_does_not_fit_the_next_hop_is_cut_or_its_sender_told() {
    for (domain, word, dst, port, growth) in
        [(E, "", "192.168.1.1", 10000, 40), (T, "map-t", "192.168.0.1", 0xabcd, 20)]
    {
        let mut b = bench(&unbound(domain), word);
        b.set("set interface mtu packet 1500 pg1");
        let of = |len: usize| udp4(HOST4, dst, port, &vec![7; len - 28]);
        let bound = |len| changed4(of(len), |h| h.fragment = ip4::DONT_FRAGMENT.into());
        assert_eq!(one(&mut b, false, &bound(1500 - growth)).len(), 1500);
        let pieces = through(&mut b, false, &of(1500));
        assert!(pieces.iter().all(|p| p[6] == 44 && p.len() <= 1500), "{pieces:?}");
        assert_eq!(pieces.iter().map(|p| p.len() - 48).sum::<usize>(), 1500 + growth - 40);
        let error = one(&mut b, false, &bound(1500));
        assert_eq!(
            (told(&error), &error[16..20]),
            ((3, 4, 1500 - growth as u32), &[10, 0, 0, 2][..])
        );
        // The least of several ways, one of them behind another lookup.
        b.set("ip6 table add 7");
        b.set("ip route add 2001::/16 table 7 via 2001:db8:1::2 pg1");
        b.set("ip route del 2001::/16");
        b.set("ip route add 2001::/16 via ip6-lookup-in-table 7");
        b.wait(0.0);
        assert_eq!(told(&one(&mut b, false, &bound(1500))).2, 1500 - growth as u32);
        // What the domain says counts where it is less.
        b.set("map del domain index 0");
        b.set(&format!("{} mtu 1400", unbound(domain)));
        assert_eq!(told(&one(&mut b, false, &bound(1500))).2, 1400 - growth as u32);
        b.set("set interface mtu packet 1300 pg1");
        assert_eq!(told(&one(&mut b, false, &bound(1500))).2, 1300 - growth as u32);
    }
}

#[test]
fn customers_are_told_what_fits_outside() {
    let mut b = bench(&unbound(T), "map-t");
    b.set("set interface mtu packet 1400 pg0");
    let of = |len: usize| {
        let mut packet = udp6(CUSTOMER_T, OUTSIDE_T, 80, &vec![7; len - 48]);
        packet[40..42].copy_from_slice(&0xabcd_u16.to_be_bytes());
        packet[46..48].fill(0);
        let sum = sum6(&packet).checksum();
        packet[46..48].copy_from_slice(sum.as_bytes());
        packet
    };
    assert_eq!(one(&mut b, true, &of(1420)).len(), 1400);
    let error = one(&mut b, true, &of(1421));
    assert_eq!((told(&error), &error[24..40]), ((2, 0, 1420), &octets(CUSTOMER_T)[..]));
    b.set("set interface mtu packet 1200 pg0");
    assert_eq!(told(&one(&mut b, true, &of(1421))), (2, 0, 1280), "no less is told");
    assert_eq!(through(&mut b, true, &of(1280)).len(), 2, "what is as long may be cut");

    let mut b = bench(&unbound(E), "");
    b.set("set interface mtu packet 1400 pg0");
    let inner = |fragment: u16, len: usize| {
        let mut inner = udp4("192.168.1.1", HOST4, 1234, &vec![7; len - 28]);
        inner[20..22].copy_from_slice(&10000_u16.to_be_bytes());
        inner[26..28].fill(0);
        let inner = changed4(inner, |h| h.fragment = fragment.into());
        ip6(CUSTOMER_E, "3000::1", Protocol::IP4, &inner)
    };
    assert_eq!(one(&mut b, true, &inner(ip4::DONT_FRAGMENT, 1400)).len(), 1400);
    let error = one(&mut b, true, &inner(ip4::DONT_FRAGMENT, 1401));
    assert_eq!((told(&error), &error[24..40]), ((2, 0, 1440), &octets(CUSTOMER_E)[..]));
    assert_eq!(through(&mut b, true, &inner(0, 1401)).len(), 2);
}

#[test]
fn fragments_are_mapped_by_the_ports_of_their_packet() {
    let mut b = bench(E, "");
    let whole = udp4(HOST4, "192.168.1.1", 10000, &[7; 40]);
    let piece = |from: usize, to: usize, fragment: u16| {
        let bytes = [&whole[..20], &whole[from..to]].concat();
        changed4(bytes, |h| {
            h.fragment = fragment.into();
            h.total_len = ((20 + to - from) as u16).into();
        })
    };
    let (first, last) = (piece(20, 44, ip4::MORE_FRAGMENTS), piece(44, whole.len(), 3));
    assert_eq!(through(&mut b, false, &last).len(), 0, "it waits for the first");
    let out = through(&mut b, false, &first);
    let to: Vec<_> = out.iter().map(|p| p[24..40].to_vec()).collect();
    assert_eq!(to, [octets(CUSTOMER_E).to_vec(), octets(CUSTOMER_E).to_vec()]);
}

#[test]
fn senders_hear_of_errors_within_ipv6() {
    let mut b = bench(E, "");
    b.set("map params icmp source-address 10.0.0.99");
    let inner = udp4(HOST4, "192.168.1.1", 10000, &[7; 20]);
    let quoted = ip6("3000::1", CUSTOMER_E, Protocol::IP4, &inner);
    let rest = [&1280_u32.to_be_bytes()[..], &quoted].concat();
    let error = icmp6("2001:db8:1::9", "3000::1", icmp6::Type::PACKET_TOO_BIG, &rest);
    let out = one(&mut b, true, &error);
    assert_eq!((&out[12..16], &out[16..20]), (&[10, 0, 0, 99][..], &[10, 0, 0, 2][..]));
    assert_eq!((out[20], out[21], &out[26..28]), (3, 4, &1240_u16.to_be_bytes()[..]));
    assert!(wire::checksum::Sum::ZERO.add_bytes(&out[20..]).is_valid());
    assert_eq!(out[28..], inner);
}

#[test]
fn packets_are_translated_both_ways() {
    let mut b = bench(T, "map-t");
    let packet = tcp4(HOST4, "192.168.0.1", (0xabcd, 0xabcd), tcp::Flags::ACK);
    let out = one(&mut b, false, &packet);
    assert_eq!((&out[8..24], &out[24..40]), (&octets(OUTSIDE_T)[..], &octets(CUSTOMER_T)[..]));
    assert_eq!(out[7], 63);
    assert!(sum6(&out).is_valid());
    let back = one(&mut b, true, &tcp6(CUSTOMER_T, OUTSIDE_T, (0xabcd, 80)));
    assert_eq!((&back[12..16], &back[16..20]), (&[192, 168, 0, 1][..], &[10, 0, 0, 2][..]));
    assert_eq!((back[8], &back[4..8]), (63, &[0; 4][..]));
    assert!(sum4(&back).is_valid());
    // Another customer's port.
    assert_eq!(through(&mut b, true, &tcp6(CUSTOMER_T, OUTSIDE_T, (0xdcba, 80))).len(), 0);
    b.expect(&[("ip6-map-t", "sec_check", 1)]);
    b.set("map params icmp6 unreachables on");
    let told = one(&mut b, true, &tcp6(CUSTOMER_T, OUTSIDE_T, (0xdcba, 80)));
    assert_eq!((told[40], told[41]), (1, 5));
}

#[test]
fn addresses_that_are_none_of_the_domains_do_not_pass() {
    // All bits that are mapped are right; those of the domain's prefix are not.
    let mut b = bench(T, "map-t");
    one(&mut b, true, &tcp6(CUSTOMER_T, OUTSIDE_T, (0xabcd, 80)));
    for spoofed in ["2001:db8:1f0::c0a8:101:f", "2001:db8:1f0::a00:1:f", "2001:db8:1f0::c0a8:1:e"] {
        let packet = tcp6(spoofed, OUTSIDE_T, (0xabcd, 80));
        assert_eq!(through(&mut b, true, &packet).len(), 0, "{spoofed}");
        b.expect(&[("ip6-map-t", "sec_check", 1)]);
    }
    let mut b = bench(E, "");
    let mut inner = udp4("192.168.1.1", HOST4, 1234, &[7; 20]);
    inner[20..22].copy_from_slice(&10000_u16.to_be_bytes());
    inner[26..28].fill(0);
    one(&mut b, true, &ip6(CUSTOMER_E, "3000::1", Protocol::IP4, &inner));
    let inner = changed4(inner, |h| h.src = [10, 168, 1, 1]);
    let spoofed = "2001:0:101:7000:0:aa8:101:7";
    assert_eq!(through(&mut b, true, &ip6(spoofed, "3000::1", Protocol::IP4, &inner)).len(), 0);
    b.expect(&[("ip6-map", "decap_sec_check", 1)]);
}

#[test]
fn connections_are_told_a_size_that_fits() {
    let mut b = bench(T, "map-t");
    b.set("map params tcp-mss 1300");
    let packet = tcp4(HOST4, "192.168.0.1", (0xabcd, 0xabcd), tcp::Flags::SYN);
    let out = one(&mut b, false, &packet);
    assert_eq!(out[62..64], 1300_u16.to_be_bytes());
    assert!(sum6(&out).is_valid());
}

#[test]
fn long_packets_are_translated_into_fragments() {
    let mut b = bench(T, "map-t");
    let packet = udp4(HOST4, "192.168.0.1", 0xabcd, &[7; 1465]);
    let out = through(&mut b, false, &packet);
    assert_eq!(out.iter().map(|p| p[6]).collect::<Vec<_>>(), [44, 44]);
    let echo = through(&mut b, false, &ping4_of(0xabcd, &[7; 1465]));
    assert_eq!(echo.iter().map(|p| (p[6], p[40])).collect::<Vec<_>>(), [(44, 58), (44, 58)]);
    // A fragment that becomes too long is cut once more.
    let piece = changed4(packet, |h| h.fragment = ip4::MORE_FRAGMENTS.into());
    let out = through(&mut b, false, &piece);
    assert_eq!(out.iter().map(|p| (p[6], p[43] & 1)).collect::<Vec<_>>(), [(44, 1), (44, 1)]);
}

fn ping4_of(id: u16, data: &[u8]) -> Vec<u8> {
    let mut packet = ping4(HOST4, "192.168.0.1", data);
    packet[24..26].copy_from_slice(&id.to_be_bytes());
    packet[22..24].fill(0);
    let sum = wire::checksum::Sum::ZERO.add_bytes(&packet[20..]).checksum();
    packet[22..24].copy_from_slice(sum.as_bytes());
    packet
}

#[test]
fn an_edge_has_the_relay_for_all_destinations() {
    let edge = format!(
        "map add domain ip4-pfx 0.0.0.0/0 ip6-pfx 1234:5678:90ab:cdef::/64 ip6-src {CUSTOMER_T}/128"
    );
    let mut b = bench(&edge, "map-t");
    b.set("ip route add 1234::/16 via 2001:db8:1::2 pg1");
    b.set("ip route add 192.168.0.0/16 via 10.0.0.2 pg0");
    b.wait(0.0);
    let packet = tcp4("192.168.0.1", "10.0.0.2", (0xabcd, 80), tcp::Flags::ACK);
    let out = one(&mut b, false, &packet);
    assert_eq!((&out[8..24], &out[24..40]), (&octets(CUSTOMER_T)[..], &octets(OUTSIDE_T)[..]));
    let back = one(&mut b, true, &tcp6(OUTSIDE_T, CUSTOMER_T, (80, 0xabcd)));
    assert_eq!((&back[12..16], &back[16..20]), (&[10, 0, 0, 2][..], &[192, 168, 0, 1][..]));
}

#[test]
fn rules_give_port_sets_addresses() {
    let mut b = bench(
        "map add domain ip4-pfx 192.168.0.1/32 ip6-pfx 2001:db8::/32 ip6-src 3000::1 \
         psid-offset 6 psid-len 4",
        "",
    );
    b.set("map add rule index 0 psid 15 ip6-dst 2001:db8:7::1");
    let out = one(&mut b, false, &udp4(HOST4, "192.168.0.1", 0xabcd, &[]));
    assert_eq!(out[24..40], octets("2001:db8:7::1"));
    assert_eq!(through(&mut b, false, &udp4(HOST4, "192.168.0.1", 0xab00, &[])).len(), 0);
    b.expect(&[("ip4-map", "no_binding", 1)]);
    let error = b.attempt("map add rule index 0 psid 16 ip6-dst 2001:db8:7::2").unwrap_err();
    assert!(error.contains("port set"), "{error}");
    assert!(b.run("show map domain index 0").contains("rule psid: 15 ip6-dst 2001:db8:7::1"));
    b.set("map add rule index 0 psid 15 ip6-dst 2001:db8:7::1 del");
    assert!(b.attempt("map add rule index 0 psid 15 ip6-dst 2001:db8:7::1 del").is_err());
}

#[test]
fn clients_make_list_and_delete_domains_by_the_thousand() {
    let mut b = Bench::plugged(&[FEATURE]);
    let pg0 = b.pg0;
    b.talk(|local, router| {
        let domain = |n: u32, len| MapAddDomain {
            ip6_prefix: prefix6("2001::", 32),
            ip4_prefix: control::api::types::Ip4Prefix { address: (0x8243_0000 + n).into(), len },
            ip6_src: prefix6("2001::1", 128),
            ea_bits_len: 0,
            psid_offset: 0,
            psid_length: 0,
            mtu: 1280,
            tag: "tag".into(),
        };
        let numbers: Vec<u32> =
            (0..3000).map(|n| local.call(router, &domain(n, 32)).unwrap().index).collect();
        assert_eq!(numbers, (0..3000).collect::<Vec<_>>());
        assert_eq!(local.call(router, &domain(1, 33)).err(), Some(Retval::INVALID_VALUE));
        let tagged = MapAddDomain { tag: "two } words".into(), ..domain(1, 32) };
        assert!(local.call(router, &tagged).is_err(), "no command has such a tag");
        let get = |cursor| MapDomainsGet { cursor };
        let (rows, retval, last) = local.stream(router, &get(0));
        assert_eq!((retval, last.cursor), (Retval::EAGAIN.0, rows.len() as u32));
        local.call(router, &MapDelDomain { index: last.cursor }).unwrap();
        let gone = local.call(router, &MapDelDomain { index: last.cursor }).err();
        assert_eq!(gone, Some(Retval::NO_SUCH_ENTRY));
        let (more, _, _) = local.stream(router, &get(last.cursor));
        assert_eq!(more[0].domain_index, last.cursor + 1);
        assert_eq!(local.stream(router, &get(5000)).1, Retval::INVALID_VALUE.0);
        assert_eq!(local.dump(router, &MapDomainDump {}).len(), 2999);
        let on = |is_enable, sw_if_index| MapIfEnableDisable {
            sw_if_index,
            is_enable,
            is_translation: true,
        };
        local.call(router, &on(false, pg0)).unwrap();
        local.call(router, &on(true, pg0)).unwrap();
        let nowhere = on(true, InterfaceIndex(99));
        assert_eq!(local.call(router, &nowhere).err(), Some(Retval::INVALID_SW_IF_INDEX));
        local.call(router, &MapParamSetTcp { tcp_mss: 1200 }).unwrap();
        let class = MapParamSetTrafficClass { copy: false, tc_class: 9 };
        local.call(router, &class).unwrap();
        let told = local.call(router, &MapParamGet {}).unwrap();
        assert_eq!((told.tc_copy, told.tc_class, told.sec_check_enable), (false, 9, true));
        let stats = local.call(router, &MapSummaryStats {}).unwrap();
        assert_eq!((stats.total_bindings, stats.total_pkts), (2999, [0; 2]));
    });
    let told = b.run("show configuration map");
    assert!(told.contains("map params traffic-class 0x9"), "{told}");
    assert!(told.contains("map interface pg0 map-t"), "{told}");
}

#[test]
fn tags_of_several_words_are_in_the_configuration() {
    let mut b = Bench::plugged(&[FEATURE]);
    let made = "map add domain tag {west side} ip4-pfx 10.0.0.0/24 ip6-pfx 2001:db8::/48 \
        ip6-src 2001::1/128 ea-bits-len 8";
    b.set(made);
    assert_eq!(b.run("show configuration map"), format!("{made}\n"));
    assert!(b.run("show map domain").contains("tag {west side} "));
}

fn prefix6(addr: &str, len: u8) -> control::api::types::Ip6Prefix {
    control::api::types::Ip6Prefix { address: addr.parse().unwrap(), len }
}

#[test]
fn customers_have_plain_addresses_where_those_outside_have_them() {
    let mut b = bench(&T.replace("90ab:cdef::/64", "90ab:cdef::/96"), "map-t");
    let (customer, outside) = ("2001:db8:1f0::c0a8:1", "1234:5678:90ab:cdef::a00:2");
    let packet = tcp4(HOST4, "192.168.0.1", (0xabcd, 0xabcd), tcp::Flags::ACK);
    let out = one(&mut b, false, &packet);
    assert_eq!((&out[8..24], &out[24..40]), (&octets(outside)[..], &octets(customer)[..]));
    let back = one(&mut b, true, &tcp6(customer, outside, (0xabcd, 80)));
    assert_eq!(back[12..20], [192, 168, 0, 1, 10, 0, 0, 2]);
    assert!(through(&mut b, true, &tcp6(CUSTOMER_T, outside, (0xabcd, 80))).is_empty());
    b.expect(&[("ip6-map-t", "sec_check", 1)]);
}
