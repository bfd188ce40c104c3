//! Packets between IPv6 hosts and IPv4 servers.

use std::net::{Ipv4Addr, Ipv6Addr};

use control::api::Retval;
use nat64::*;
use net::InterfaceIndex;
use net::testing::packets::*;
use net::testing::whole::{self, Bench, sent};
use translation::numbers::NatConfigFlags;
use wire::{Protocol, checksum, icmp6, ip4, ip6};
use zerocopy::{FromBytes, IntoBytes};

use super::translation::with;
use super::translation_both::answer as answer_for;

const A: &str = "2001:db8::2";
const B: &str = "2001:db8::3";
const SERVER: &str = "10.0.1.2";
const SERVER6: &str = "64:ff9b::a00:102";
const OUTSIDE: &str = "192.0.2.1";
const OUTSIDE6: &str = "64:ff9b::c000:201";

/// Hosts are behind `pg0`, IPv4 behind `pg1`.
fn bench(more: &[&str]) -> Bench {
    let mut b = Bench::plugged(&with(FEATURE));
    let first = [
        "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01",
        "set ip neighbor pg0 2001:db8::3 02:00:00:00:00:01",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb",
        "set ip neighbor pg1 10.0.1.3 02:00:00:00:00:bb",
        "nat64 plugin enable bib-buckets 10 st-buckets 20",
        "set interface nat64 in pg0",
        "set interface nat64 out pg1",
        "nat64 add pool address 192.0.2.1",
    ];
    first.iter().chain(more).for_each(|line| b.set(line));
    b.wait(0.0);
    b
}

/// The packets that leave for those received on `pg0`, or on `pg1`; all checksums are verified.
fn through(b: &mut Bench, on_pg1: bool, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let out = whole::through(b, on_pg1, packets);
    out.iter().for_each(|packet| check(packet));
    out
}

#[track_caller]
fn one(b: &mut Bench, on_pg1: bool, packet: &[u8]) -> Vec<u8> {
    let mut all = through(b, on_pg1, &[packet.to_vec()]);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[track_caller]
fn check(packet: &[u8]) {
    if packet[0] >> 4 == 6 {
        let upper = ip6::upper_layer(packet).unwrap();
        let summed = [Protocol::TCP, Protocol::UDP, Protocol::ICMP6].contains(&upper.protocol);
        assert!(!summed || upper.fragment.is_some() || sum6(packet).is_valid(), "the sum");
        return;
    }
    let (header, _) = ip4::Header::ref_from_prefix(packet).unwrap();
    assert!(header.is_checksum_valid(), "the sum of the IP header");
    match header.protocol {
        _ if header.is_fragment() => (),
        Protocol::UDP | Protocol::TCP => assert!(sum4(packet).is_valid(), "the sum"),
        Protocol::ICMP => {
            assert!(checksum::Sum::ZERO.add_bytes(&packet[20..]).is_valid(), "the sum of ICMP");
        }
        _ => (),
    }
}

/// Ends of a packet of either version with ports.
fn ends(p: &[u8]) -> [(String, u16); 2] {
    let (addrs, at) = match p[0] >> 4 {
        6 => {
            let (h, _) = ip6::Header::ref_from_prefix(p).unwrap();
            ([h.src_addr().to_string(), h.dst_addr().to_string()], 40)
        }
        _ => {
            let (h, _) = ip4::Header::ref_from_prefix(p).unwrap();
            ([h.src_addr().to_string(), h.dst_addr().to_string()], 20)
        }
    };
    let port = |at: usize| u16::from_be_bytes([p[at], p[at + 1]]);
    let [src, dst] = addrs;
    [(src, port(at)), (dst, port(at + 2))]
}

fn end(addr: &str, port: u16) -> (String, u16) {
    (addr.to_owned(), port)
}

/// A UDP packet of a host; its port is 1234.
fn ask(host: &str, port: u16) -> Vec<u8> {
    udp6(host, SERVER6, port, &[7; 21])
}

/// A UDP packet to an end outside.
fn answer(from: (&str, u16), port: u16) -> Vec<u8> {
    let mut p = udp4(from.0, OUTSIDE, port, &[7; 21]);
    let old = u16::from_be_bytes([p[20], p[21]]);
    p[20..22].copy_from_slice(&from.1.to_be_bytes());
    let sum = zerocopy::network_endian::U16::from_bytes([p[26], p[27]]);
    let sum = checksum::update(sum, old.into(), from.1.into());
    p[26..28].copy_from_slice(sum.as_bytes());
    p
}

#[test]
fn a_host_has_one_end_outside_for_all_far_ends() {
    let mut b = bench(&[]);
    let out = one(&mut b, false, &ask(A, 53));
    let [(addr, port), to] = ends(&out);
    assert_eq!((addr.as_str(), to), (OUTSIDE, end(SERVER, 53)));
    let other = one(&mut b, false, &ask(A, 54));
    assert_eq!(ends(&other)[0], (addr, port), "the same to another port");
    let host = one(&mut b, false, &ask(B, 53));
    assert_ne!(ends(&host)[0].1, port, "another host has another port");
    let back = one(&mut b, true, &answer((SERVER, 53), port));
    assert_eq!(ends(&back), [end(SERVER6, 53), end(A, 1234)]);
    // A far end that the host has not sent to.
    let far = one(&mut b, true, &answer(("10.0.1.3", 99), port));
    assert_eq!(ends(&far), [end("64:ff9b::a00:103", 99), end(A, 1234)]);
    assert_eq!(through(&mut b, true, &[answer((SERVER, 53), port ^ 1)]).len(), 0);
    b.expect(&[("nat64-out2in", "no translation", 1)]);
    for n in [1, 3, 4, 255, 256] {
        assert_eq!(through(&mut b, false, &vec![ask(A, 53); n]).len(), n);
        assert_eq!(through(&mut b, true, &vec![answer((SERVER, 53), port); n]).len(), n);
    }
    let shown = b.run("show nat64 bib udp");
    assert!(shown.contains("dynamic 3 sessions"), "{shown}");
    let shown = b.run("show nat64 session table all");
    assert_eq!(shown.lines().count(), 5, "{shown}");
    assert!(shown.starts_with("NAT64 sessions:\n") && shown.contains(" protcol udp vrf 0\n"));
    assert!(b.run("show nat64 bib udp").starts_with("NAT64 udp BIB entries:\n"));
    let pool = b.run("show nat64 pool");
    assert!(pool.contains("\n  2 busy udp ports\n  0 busy tcp ports\n"), "{pool}");
}

#[test]
fn echoes_and_other_protocols_pass_both_ways() {
    let mut b = bench(&[]);
    let ping = icmp6(A, SERVER6, icmp6::Type::ECHO_REQUEST, &[0, 9, 0, 2, 7]);
    let out = one(&mut b, false, &ping);
    assert_eq!((out[20], out[9]), (8, 1));
    let mut reply = ping4(SERVER, OUTSIDE, &[7]);
    (reply[20], reply[24], reply[25]) = (0, out[24], out[25]);
    reply[22..24].fill(0);
    let sum = checksum::Sum::ZERO.add_bytes(&reply[20..]).checksum();
    reply[22..24].copy_from_slice(sum.as_bytes());
    let back = one(&mut b, true, &reply);
    assert_eq!((back[40], &back[44..46]), (129, &[0, 9][..]));
    let gre = one(&mut b, false, &ip6(A, SERVER6, Protocol(47), &[0; 8]));
    assert_eq!((gre[9], &gre[12..16]), (47, &[192, 0, 2, 1][..]));
    let back = one(&mut b, true, &ip4(SERVER, OUTSIDE, Protocol(47), &[0; 8]));
    assert_eq!(back[24..40], A.parse::<Ipv6Addr>().unwrap().octets());
    // What is no error and no echo belongs to the link.
    let query = icmp6(A, SERVER6, icmp6::Type::NEIGHBOR_SOLICITATION, &[0; 20]);
    assert_eq!(through(&mut b, false, &[query]).len(), 0);
    b.expect(&[("nat64-in2out", "unsupported protocol", 1)]);
}

#[test]
fn an_error_quotes_the_packet_that_its_receiver_sent() {
    let mut b = bench(&[]);
    let asked = ask(A, 53);
    let out = one(&mut b, false, &asked);
    let port = ends(&out)[0].1;
    let mut icmp = [&[11, 0, 0, 0, 0, 0, 0, 0], &out[..]].concat();
    let sum = checksum::Sum::ZERO.add_bytes(&icmp).checksum();
    icmp[2..4].copy_from_slice(sum.as_bytes());
    let told = one(&mut b, true, &ip4("10.0.1.3", OUTSIDE, Protocol::ICMP, &icmp));
    assert_eq!(told[8..24], "64:ff9b::a00:103".parse::<Ipv6Addr>().unwrap().octets());
    assert_eq!((told[40], ends(&told[48..])), (3, ends(&asked)));
    assert_eq!(told[48 + 46..48 + 48], asked[46..48], "the sum that it was sent with");
    // And the other way.
    let got = one(&mut b, true, &answer((SERVER, 53), port));
    let told =
        icmp6(A, SERVER6, icmp6::Type::DESTINATION_UNREACHABLE, &[&[0; 4], &got[..]].concat());
    let told = one(&mut b, false, &told);
    assert_eq!((&told[12..16], told[20]), (&[192, 0, 2, 1][..], 3));
    assert_eq!(ends(&told[28..]), [end(SERVER, 53), end(OUTSIDE, port)]);
    // About a packet that was never sent.
    let stray = icmp6(B, SERVER6, icmp6::Type::TIME_EXCEEDED, &[&[0; 4], &got[..]].concat());
    let mut stray = stray;
    stray[48 + 43] ^= 1;
    assert_eq!(through(&mut b, false, &[stray]).len(), 0);
    b.expect(&[("nat64-in2out-slowpath", "no translation", 1)]);
}

#[test]
fn fragments_are_translated_in_any_order() {
    let mut b = bench(&[]);
    let whole = ask(A, 53);
    let cut = |data: std::ops::Range<usize>, offset_more: u16| {
        let fragment = ip6::FragmentHeader {
            next_header: Protocol::UDP,
            reserved: 0,
            offset_more: offset_more.into(),
            id: 9.into(),
        };
        let body = [fragment.as_bytes(), &whole[data]].concat();
        ip6(A, SERVER6, Protocol::FRAGMENT, &body)
    };
    let (first, last) = (cut(40..56, 1), cut(56..69, 16));
    let out = through(&mut b, false, &[last, first]);
    assert_eq!(out.len(), 2);
    for p in &out {
        assert_eq!(p[12..16], [192, 0, 2, 1]);
    }
    let mut bytes = vec![0; 29];
    for p in &out {
        let (header, body) = ip4::Header::ref_from_prefix(p).unwrap();
        bytes[header.fragment_offset()..][..body.len()].copy_from_slice(body);
    }
    assert!(sum4(&ip4(OUTSIDE, SERVER, Protocol::UDP, &bytes)).is_valid());
    let ping = icmp6(A, SERVER6, icmp6::Type::ECHO_REQUEST, &[0, 9, 0, 2]);
    let body = [&[58, 0, 0, 1, 0, 0, 0, 1], &ping[40..]].concat();
    let out = through(&mut b, false, &[ip6(A, SERVER6, Protocol::FRAGMENT, &body)]);
    assert_eq!(out.len(), 0, "the sum is over the length of all fragments");
}

/// The type, code and MTU of an ICMP error, of either version.
fn told(packet: &[u8]) -> (u8, u8, u32) {
    let icmp = if packet[0] >> 4 == 4 { &packet[20..] } else { &packet[40..] };
    (icmp[0], icmp[1], u32::from_be_bytes(*icmp[4..].first_chunk().unwrap()))
}

#[test]
fn what_does_not_fit_on_the_other_side_is_cut_or_its_sender_told() {
    let mut b = bench(&["set interface mtu packet 1500 pg0", "set interface mtu packet 1400 pg1"]);
    let of = |len: usize| udp6(A, SERVER6, 53, &vec![7; len - 48]);
    // The packet that would begin the session is judged as those behind it.
    let error = one(&mut b, false, &of(1421));
    assert_eq!(
        (told(&error), &error[24..40]),
        ((2, 0, 1420), &A.parse::<Ipv6Addr>().unwrap().octets()[..])
    );
    let out = one(&mut b, false, &of(1420));
    assert_eq!(out.len(), 1400);
    assert_eq!(told(&one(&mut b, false, &of(1500))), (2, 0, 1420));

    let port = ends(&out)[0].1;
    let back = |len: usize, fragment: u16| {
        let mut p = udp4(SERVER, OUTSIDE, port, &vec![7; len - 28]);
        p[20..22].copy_from_slice(&53_u16.to_be_bytes());
        p[26..28].fill(0);
        let sum = sum4(&p).checksum();
        p[26..28].copy_from_slice(sum.as_bytes());
        changed4(p, |h| h.fragment = fragment.into())
    };
    let whole = one(&mut b, true, &back(1480, ip4::DONT_FRAGMENT));
    assert_eq!((whole.len(), whole[7]), (1500, 63));
    let error = one(&mut b, true, &back(1481, ip4::DONT_FRAGMENT));
    assert_eq!((told(&error), &error[16..20]), ((3, 4, 1480), &[10, 0, 1, 2][..]));
    let pieces = through(&mut b, true, &[back(1500, 0)]);
    assert!(pieces.iter().all(|p| p[6] == 44 && p[7] == 63 && p.len() <= 1500), "{pieces:?}");
    assert_eq!(pieces.iter().map(|p| p.len() - 48).sum::<usize>(), 1480);
    // A fragment that becomes too long is cut once more.
    let pieces = through(&mut b, true, &[back(1500, ip4::MORE_FRAGMENTS)]);
    let places = pieces.iter().map(|p| (p[6], u16::from_be_bytes([p[42], p[43]])));
    assert_eq!(places.collect::<Vec<_>>(), [(44, 1), (44, (pieces[0].len() as u16 - 48) | 1)]);
}

#[test]
fn mappings_stay_and_lead_inside_and_between_hosts() {
    let mut b = bench(&["nat64 add static bib 2001:db8::3 53 192.0.2.1 5353 udp"]);
    let came = one(&mut b, true, &answer((SERVER, 99), 5353));
    assert_eq!(ends(&came), [end(SERVER6, 99), end(B, 53)]);
    // A host asks the end outside of the other.
    let there = one(&mut b, false, &udp6(A, OUTSIDE6, 5353, &[7; 21]));
    let [(from, port), to] = ends(&there);
    assert_eq!((from.as_str(), to), (OUTSIDE6, end(B, 53)));
    let mut reply = udp6(B, OUTSIDE6, port, &[7; 21]);
    reply[40..42].copy_from_slice(&53_u16.to_be_bytes());
    let sum = zerocopy::network_endian::U16::from_bytes([reply[46], reply[47]]);
    let sum = checksum::update(sum, 1234.into(), 53.into());
    reply[46..48].copy_from_slice(sum.as_bytes());
    let back = one(&mut b, false, &reply);
    assert_eq!(ends(&back), [end(OUTSIDE6, 5353), end(A, 1234)]);
    let again = b.cli("nat64 add static bib 2001:db8::2 53 192.0.2.1 5353 udp");
    assert!(again.contains("already has a mapping"), "{again}");
    b.set("nat64 add static bib 2001:db8::3 53 192.0.2.1 5353 udp del");
    assert_eq!(through(&mut b, true, &[answer((SERVER, 99), 5353)]).len(), 0);
}

#[test]
fn prefixes_of_tables_stand_for_ipv4() {
    let mut b = bench(&["nat64 add prefix 2001:db8:ff::/48"]);
    let behind = "2001:db8:ff:a00:1:200::";
    let out = one(&mut b, false, &udp6(A, behind, 53, &[7; 21]));
    assert_eq!(ends(&out)[1], end(SERVER, 53));
    let back = one(&mut b, true, &answer((SERVER, 53), ends(&out)[0].1));
    assert_eq!(ends(&back)[0], end(behind, 53));
    assert!(b.cli("nat64 add prefix 2001:db8:ff::/47").contains("length 47"));
    assert!(b.cli("nat64 add prefix 2001:db8:fe::/48 del").contains("no such prefix"));
    assert!(b.cli("nat64 add prefix 2001:db8:fe::/48 tenant-vrf 9").is_empty());
    assert!(b.run("show nat64 prefix").contains("2001:db8:fe::/48 tenant-vrf 9"));
}

#[test]
fn what_has_been_on_its_way_too_long_is_told() {
    let mut b = bench(&[]);
    let out = one(&mut b, false, &changed6(ask(A, 53), |h| h.hop_limit = 1));
    assert_eq!((out[6], out[40]), (58, 3));
    let port = ends(&one(&mut b, false, &ask(A, 53)))[0].1;
    let out = one(&mut b, true, &changed4(answer((SERVER, 53), port), |h| h.ttl = 1));
    assert_eq!((out[9], out[20]), (1, 11));
}

#[test]
fn sessions_end_with_their_timeout_and_their_address() {
    let mut b = bench(&["set nat64 timeout udp 2"]);
    let port = ends(&one(&mut b, false, &ask(A, 53)))[0].1;
    b.wait(3.0);
    assert!(!b.run("show nat64 session table all").contains(A));
    assert_eq!(through(&mut b, true, &[answer((SERVER, 53), port)]).len(), 0);
    let port = ends(&one(&mut b, false, &ask(A, 53)))[0].1;
    b.set("nat64 add pool address 192.0.2.1 del");
    assert!(!b.run("show nat64 bib all").contains(A));
    let passes = through(&mut b, true, &[answer((SERVER, 53), port)]);
    assert!(passes.is_empty(), "no route");
    assert_eq!(through(&mut b, false, &[ask(A, 53)]).len(), 0, "no address");
    b.set("nat64 add interface address pg1");
    assert_eq!(ends(&one(&mut b, false, &ask(A, 53)))[0].0, "10.0.1.1");
    b.set("set interface ip address del pg1 10.0.1.1/24");
    assert!(!b.run("show nat64 pool").contains("10.0.1.1"));
}

#[test]
fn there_are_as_many_sessions_and_bindings_as_there_may_be() {
    let mut b = bench(&[]);
    // Hosts without room get an error: address unreachable (RFC 6146 section 3.5.1.1).
    let of_4 = |packets: &[Vec<u8>]| {
        let is_told = |p: &&Vec<u8>| p[0] >> 4 == 6 && p[6] == 58 && p[40..42] == [1, 3];
        let of_4 = packets.iter().filter(|p| p[0] >> 4 == 4).count();
        (of_4, packets.iter().filter(is_told).count())
    };
    let packets: Vec<_> = (0..250).map(|port| ask(A, port + 1)).collect();
    assert_eq!(of_4(&through(&mut b, false, &packets)), (200, 50));
    let mut other = ask(B, 1);
    assert_eq!(of_4(&through(&mut b, false, &[other.clone()])), (0, 1));
    b.set("clear nat64 sessions");
    let packets: Vec<_> = (0..120_u16)
        .map(|host| {
            let addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 1, host);
            other = ask(&addr.to_string(), 1);
            other.clone()
        })
        .collect();
    assert_eq!(of_4(&through(&mut b, false, &packets)).0, 100);
}

#[test]
fn clients_set_and_list_all_of_it() {
    let mut b = Bench::plugged(&with(FEATURE));
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.talk(|local, router| {
        let side = |sw_if_index, flags, is_add| Nat64AddDelInterface { is_add, flags, sw_if_index };
        let (inside, outside) = (NatConfigFlags::INSIDE, NatConfigFlags::NONE);
        let early = local.call(router, &side(pg0, inside, true)).err();
        assert_eq!(early, Some(Retval::FEATURE_DISABLED));
        let plugin = |enable| Nat64PluginEnableDisable {
            bib_buckets: 0,
            bib_memory_size: 0,
            st_buckets: 0,
            st_memory_size: 0,
            enable,
        };
        local.call(router, &plugin(true)).unwrap();
        assert_eq!(local.call(router, &plugin(true)).err(), Some(Retval::FEATURE_ALREADY_ENABLED));
        local.call(router, &side(pg0, inside, true)).unwrap();
        local.call(router, &side(pg1, outside, true)).unwrap();
        local.call(router, &side(pg1, outside, true)).unwrap();
        let nowhere = side(InterfaceIndex(77), inside, true);
        assert_eq!(local.call(router, &nowhere).err(), Some(Retval::INVALID_SW_IF_INDEX));
        let rows = local.dump(router, &Nat64InterfaceDump {});
        let flags: Vec<_> = rows.iter().map(|r| (r.sw_if_index, r.flags.0)).collect();
        assert_eq!(flags, [(pg0, 32), (pg1, 16)]);
        local.call(router, &side(pg1, inside, false)).unwrap();
        assert_eq!(local.dump(router, &Nat64InterfaceDump {}).len(), 1);
        let pool = |vrf_id, is_add| Nat64AddDelPoolAddrRange {
            start_addr: Ipv4Addr::new(192, 0, 2, 1),
            end_addr: Ipv4Addr::new(192, 0, 2, 3),
            vrf_id,
            is_add,
        };
        local.call(router, &pool(7, true)).unwrap();
        assert_eq!(local.call(router, &pool(7, true)).err(), Some(Retval::VALUE_EXIST));
        let rows = local.dump(router, &Nat64PoolAddrDump {});
        assert_eq!((rows.len(), rows[2].vrf_id), (3, 7));
        let mapping = |is_add| Nat64AddDelStaticBib {
            i_addr: A.parse().unwrap(),
            o_addr: OUTSIDE.parse().unwrap(),
            i_port: 1,
            o_port: 2,
            vrf_id: 3,
            proto: 6,
            is_add,
        };
        local.call(router, &mapping(true)).unwrap();
        assert_eq!(local.call(router, &mapping(true)).err(), Some(Retval::VALUE_EXIST));
        let rows = local.dump(router, &Nat64BibDump { proto: 255 });
        assert_eq!((rows.len(), rows[0].vrf_id, rows[0].flags.0), (1, 3, 64));
        assert_eq!(local.dump(router, &Nat64BibDump { proto: 17 }).len(), 0);
        local.call(router, &mapping(false)).unwrap();
        assert_eq!(local.call(router, &mapping(false)).err(), Some(Retval::NO_SUCH_ENTRY));
        let times = Nat64SetTimeouts { udp: 1, tcp_established: 2, tcp_transitory: 3, icmp: 4 };
        local.call(router, &times).unwrap();
        assert_eq!(local.call(router, &Nat64GetTimeouts {}).unwrap().tcp_transitory, 3);
        assert_eq!(local.dump(router, &Nat64StDump { proto: 255 }).len(), 0);
        local.call(router, &plugin(false)).unwrap();
        assert_eq!(local.dump(router, &Nat64PoolAddrDump {}).len(), 0);
    });
    assert_eq!(b.run("show configuration nat64"), "");
}

#[test]
fn sessions_that_come_and_go_are_logged() {
    let mut b = bench(&[
        "set syslog sender collector 10.0.1.3 src 10.0.1.1",
        "set ipfix exporter collector 10.0.1.3 src 10.0.1.1",
        "nat ipfix logging enable",
    ]);
    let logged = |out: &[Vec<u8>]| -> Vec<String> {
        let is_syslog = |p: &&Vec<u8>| p[9] == 17 && p[22..24] == 514_u16.to_be_bytes();
        let texts = out.iter().filter(is_syslog);
        texts.map(|p| String::from_utf8_lossy(&p[28..]).into_owned()).collect()
    };
    let records = |out: &[Vec<u8>]| {
        let is_record = |p: &&Vec<u8>| p[22..24] == 4739_u16.to_be_bytes() && p[44] > 0;
        out.iter().filter(is_record).count()
    };
    let mut out = through(&mut b, false, &[ask(A, 53)]);
    out.extend(settle(&mut b));
    let texts = logged(&out);
    assert_eq!(texts.len(), 1);
    assert!(texts[0].contains("NAT") && texts[0].contains("SADD [nsess"), "{texts:?}");
    for part in
        ["IATYP=\"IPv6\"", "ISADDR=\"2001:db8::2\"", "XSADDR=\"192.0.2.1\"", "XDPORT=\"53\""]
    {
        assert!(texts[0].contains(part), "{part} {texts:?}");
    }
    assert_eq!(records(&out), 2, "a binding and a session");
    b.set("clear nat64 sessions");
    let out = settle(&mut b);
    assert!(logged(&out)[0].contains("SDEL"));
    assert_eq!(records(&out), 2);
    let again = b.run("show configuration nat_log");
    assert_eq!(again, "nat ipfix logging enable\n");
}

/// Packets that control sends.
fn settle(b: &mut Bench) -> Vec<Vec<u8>> {
    let out = b.wait(6.0);
    sent(&out).into_iter().map(|frame| frame[14..].to_vec()).collect()
}

#[test]
fn addresses_outside_are_answered_for_there_in_any_order_of_commands() {
    let mut b = bench(&["set interface nat64 out pg1 del"]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.set("nat64 add pool address 10.0.1.70 - 10.0.1.79");
    b.set("nat64 add static bib tcp 10.0.1.90 22 2001:db8::2 22");
    assert_eq!(answer_for(&mut b, pg1, "10.0.1.70"), None);
    b.set("set interface nat64 del in pg0");
    b.set("set interface nat64 in pg0 out pg1");
    for (on, target, is_answered) in [
        (pg1, "192.0.2.1", true),
        (pg1, "10.0.1.70", true),
        (pg1, "10.0.1.79", true),
        (pg1, "10.0.1.80", false),
        (pg1, "10.0.1.90", true),
        (pg0, "10.0.1.70", false),
    ] {
        assert_eq!(answer_for(&mut b, on, target).is_some(), is_answered, "{target}");
    }
    b.set("nat64 plugin disable");
    assert_eq!(answer_for(&mut b, pg1, "10.0.1.70"), None);
}

#[test]
fn packets_to_a_prefix_are_received_on_the_interface_that_translates() {
    let mut b = bench(&["set interface nat64 in pg0 del"]);
    let pg2 = b.add_interface("pg2", net::interface::Kind::Ethernet, 3);
    b.set("set interface ip address pg2 2001:db8:2::1/64");
    b.set("set interface nat64 in pg2");
    let packet = udp6(A, SERVER6, 53, b"data");
    b.set("nat64 add prefix 64:ff9b::/96 interface pg2");
    let out = one(&mut b, false, &packet);
    assert_eq!(out[12..20], [192, 0, 2, 1, 10, 0, 1, 2]);
    let printed = b.cli("show configuration nat64");
    assert!(printed.contains("nat64 add prefix 64:ff9b::/96 interface pg2\n"), "{printed}");
    b.control(|r, _| r.remove_interface(pg2));
    assert!(!b.cli("show ip6 fib").contains("64:ff9b::/96"));
}

#[test]
fn strangers_leave_a_quarter_of_the_table_to_hosts() {
    let mut b = bench(&[]);
    let out = one(&mut b, false, &ask(A, 1));
    let [(_, port), _] = ends(&out);
    b.graph.moved_counters();
    // From as many far ends, to the port that the host has.
    let from = |n: u16| answer((&format!("10.0.3.{n}"), 1000 + n), port);
    let strange: Vec<_> = (0..250).map(from).collect();
    assert_eq!(through(&mut b, true, &strange).len(), 149);
    b.expect(&[("nat64-out2in", "no room for sessions from outside", 101)]);
    assert!(b.run("show health").contains("has 150 of 200 sessions: packets from outside"));
    // What was there goes on, and hosts begin others.
    assert_eq!(through(&mut b, true, &strange[..1]).len(), 1);
    let packets: Vec<_> = (0..60).map(|port| ask(B, port + 1)).collect();
    let of_4 = |packets: Vec<Vec<u8>>| packets.iter().filter(|p| p[0] >> 4 == 4).count();
    assert_eq!(of_4(through(&mut b, false, &packets)), 50);
    b.set("clear nat64 sessions");
    assert!(!b.run("show health").contains("packets from outside begin no others"));
}
