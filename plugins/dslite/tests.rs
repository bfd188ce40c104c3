//! Customers' IPv4 packets in IPv6, and back.

use control::api::Retval;
use dslite::*;
use net::Router;
use net::testing::packets::*;
use net::testing::whole::{Bench, PG0, PG1, one, through};
use net::testing::{Rig, Transmit, new_interface};
use wire::{Protocol, checksum, icmp6, ip4};
use zerocopy::{FromBytes, IntoBytes};

use super::translation::with;
use super::translation_both::answer;

const B4: &str = "2001:db8:1::2";
const AFTR: &str = "2001:db8:ffff::1";
const POOL: &str = "192.0.2.1";
const HOST_INSIDE: &str = "192.168.1.1";
const SERVER: &str = "10.0.0.2";

/// Servers are behind `pg0`, customers behind `pg1`.
fn bench(more: &[&str]) -> Bench {
    let mut b = Bench::plugged(&with(FEATURE));
    let first = [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb",
        "set ip neighbor pg1 2001:db8:1::3 02:00:00:00:00:bb",
        "dslite set aftr-tunnel-endpoint-address 2001:db8:ffff::1",
        "dslite add pool address 192.0.2.1",
    ];
    first.iter().chain(more).for_each(|line| b.set(line));
    b.wait(0.0);
    b
}

fn tunnelled(b4: &str, inner: &[u8]) -> Vec<u8> {
    ip6(b4, AFTR, Protocol::IP4, inner)
}

/// Addresses and ports of an IPv4 packet, whose sums are right.
#[track_caller]
fn ends(p: &[u8]) -> [(String, u16); 2] {
    let (h, _) = ip4::Header::ref_from_prefix(p).unwrap();
    assert!(h.is_checksum_valid(), "the sum of the IP header");
    if h.protocol == Protocol::UDP {
        assert!(sum4(p).is_valid(), "the sum");
    }
    let port = |at: usize| u16::from_be_bytes([p[at], p[at + 1]]);
    [(h.src_addr().to_string(), port(20)), (h.dst_addr().to_string(), port(22))]
}

fn end(addr: &str, port: u16) -> (String, u16) {
    (addr.to_owned(), port)
}

fn octets(text: &str) -> [u8; 16] {
    text.parse::<std::net::Ipv6Addr>().unwrap().octets()
}

#[test]
fn hosts_of_customers_share_an_address_and_answers_find_them_in_their_tunnel() {
    let mut b = bench(&[]);
    let asked = udp4(HOST_INSIDE, SERVER, 53, &[7; 21]);
    let out = one(&mut b, true, &tunnelled(B4, &asked));
    let [(addr, port), to] = ends(&out);
    assert_eq!((addr.as_str(), to), (POOL, end(SERVER, 53)));
    let other = one(&mut b, true, &tunnelled("2001:db8:1::3", &asked));
    assert_ne!(ends(&other)[0].1, port, "the same host address behind another B4");
    let again = one(&mut b, true, &tunnelled(B4, &udp4(HOST_INSIDE, SERVER, 54, &[7; 21])));
    assert_eq!(ends(&again)[0].1, port, "the same to another far end");
    let back = one(&mut b, false, &udp4(SERVER, POOL, port, &[7; 21]));
    assert_eq!((&back[8..24], &back[24..40]), (&octets(AFTR)[..], &octets(B4)[..]));
    assert_eq!((back[6], ends(&back[40..])), (4, [end(SERVER, 1234), end(HOST_INSIDE, 1234)]));
    assert_eq!(back[40 + 8], 63, "a hop less");
    b.expect(&[
        ("dslite-in2out", "valid in2out DS-Lite packets", 1),
        ("dslite-in2out-slowpath", "valid in2out DS-Lite packets", 2),
        ("dslite-out2in", "valid out2in DS-Lite packets", 1),
    ]);
    // In its tunnel a packet counts as it was received.
    let (there, back) = (2 * (asked.len() + 40), asked.len());
    let line = format!("total pkts 3, total bytes {}", there + back);
    assert!(b.run("show dslite sessions").contains(&line));
    for n in [1, 3, 4, 255, 256] {
        assert_eq!(through(&mut b, true, &vec![tunnelled(B4, &asked); n]).len(), n);
        let answer = udp4(SERVER, POOL, port, &[7; 21]);
        assert_eq!(through(&mut b, false, &vec![answer; n]).len(), n);
    }
    let shown = b.run("show dslite sessions");
    assert!(shown.starts_with("B4 2001:db8:1::2 1 sessions\n  in "), "{shown}");
    assert!(shown.contains(" protocol udp\n    total pkts "), "{shown}");
    assert!(b.run("show dslite pool").starts_with("DS-Lite pool:\n192.0.2.1"));
    b.set("clear dslite sessions");
    assert_eq!(b.run("show dslite sessions"), "");
}

#[test]
fn echoes_pass_and_errors_quote_the_packet_that_their_receiver_sent() {
    let mut b = bench(&[]);
    let out = one(&mut b, true, &tunnelled(B4, &ping4(HOST_INSIDE, SERVER, &[7])));
    assert!(checksum::Sum::ZERO.add_bytes(&out[20..]).is_valid());
    let mut reply = ping4(SERVER, POOL, &[7]);
    (reply[20], reply[24], reply[25]) = (0, out[24], out[25]);
    reply[22..24].fill(0);
    let sum = checksum::Sum::ZERO.add_bytes(&reply[20..]).checksum();
    reply[22..24].copy_from_slice(sum.as_bytes());
    let back = one(&mut b, false, &reply);
    assert_eq!((back[60], &back[64..66]), (0, &[0, 7][..]));
    assert!(checksum::Sum::ZERO.add_bytes(&back[60..]).is_valid());
    let asked = udp4(HOST_INSIDE, SERVER, 53, &[7; 21]);
    let out = one(&mut b, true, &tunnelled(B4, &asked));
    let mut icmp = [&[3, 3, 0, 0, 0, 0, 0, 0], &out[..]].concat();
    let sum = checksum::Sum::ZERO.add_bytes(&icmp).checksum();
    icmp[2..4].copy_from_slice(sum.as_bytes());
    let told = one(&mut b, false, &ip4(SERVER, POOL, Protocol::ICMP, &icmp));
    assert_eq!(ends(&told[40 + 28..]), ends(&asked));
    assert!(checksum::Sum::ZERO.add_bytes(&told[60..]).is_valid());
}

#[test]
fn what_is_not_for_the_tunnel_is_refused_or_answered() {
    let mut b = bench(&[]);
    let ping = icmp6(B4, AFTR, icmp6::Type::ECHO_REQUEST, &[0, 1, 0, 2]);
    let reply = one(&mut b, true, &ping);
    assert_eq!((reply[40], &reply[8..24]), (129, &octets(AFTR)[..]));
    b.expect(&[("ip6-icmp-input", "echo_replies_sent", 1)]);
    let refused: [(Vec<u8>, &str, &str); 4] = [
        (ip6(B4, AFTR, Protocol(47), &[0; 8]), "dslite-in2out", "bad ip6 protocol"),
        (
            tunnelled(B4, &ip4(HOST_INSIDE, SERVER, Protocol(47), &[0; 8])),
            "dslite-in2out",
            "unsupported protocol",
        ),
        (
            tunnelled(B4, &ip4(HOST_INSIDE, SERVER, Protocol::ICMP, &[9, 0, 0, 0, 0, 0, 0, 0])),
            "dslite-in2out",
            "unsupported icmp type",
        ),
        (tunnelled(B4, &[0x45; 9]), "dslite-in2out", "unknown"),
    ];
    for (packet, node, reason) in refused {
        assert_eq!(through(&mut b, true, &[packet]).len(), 0, "{reason}");
        b.expect(&[(node, reason, 1)]);
    }
    assert_eq!(through(&mut b, false, &[udp4(SERVER, POOL, 99, &[])]).len(), 0);
    b.expect(&[("dslite-out2in", "no translation", 1)]);
    b.set("dslite add pool address 192.0.2.1 del");
    let asked = tunnelled(B4, &udp4(HOST_INSIDE, SERVER, 53, &[7; 21]));
    assert_eq!(through(&mut b, true, &[asked]).len(), 0);
    b.expect(&[("dslite-in2out-slowpath", "out of ports", 1)]);
}

#[test]
fn packets_that_are_too_long_for_the_tunnel_are_cut_outside() {
    let mut b = bench(&["set interface mtu packet 1500 pg1"]);
    let asked = tunnelled(B4, &udp4(HOST_INSIDE, SERVER, 53, &[7; 21]));
    let port = ends(&one(&mut b, true, &asked))[0].1;
    let back = through(&mut b, false, &[udp4(SERVER, POOL, port, &[7; 1460])]);
    assert_eq!(back.iter().map(|p| p[6]).collect::<Vec<_>>(), [44, 44]);
}

#[test]
fn hosts_of_customers_are_told_what_fits_outside() {
    let mut b = bench(&["set interface mtu packet 1400 pg0"]);
    let asked = |len: usize, fragment: u16| {
        let inner = udp4(HOST_INSIDE, SERVER, 53, &vec![7; len - 28]);
        tunnelled(B4, &changed4(inner, |h| h.fragment = fragment.into()))
    };
    assert_eq!(one(&mut b, true, &asked(1400, ip4::DONT_FRAGMENT)).len(), 1400);
    let error = one(&mut b, true, &asked(1401, ip4::DONT_FRAGMENT));
    assert_eq!((error[6], &error[24..40]), (4, &octets(B4)[..]), "in its tunnel");
    let error = &error[40..];
    assert_eq!((&error[16..20], error[20], error[21]), (&[192, 168, 1, 1][..], 3, 4));
    assert_eq!(error[26..28], 1400_u16.to_be_bytes());
    assert_eq!((&error[40..44], &error[48..50]), (&[192, 168, 1, 1][..], &[4, 210][..]));
    assert_eq!(through(&mut b, true, &[asked(1401, 0)]).len(), 2);
}

/// Both fragments of an IPv4 packet, of which the first has `len` bytes of data.
fn halves4(packet: &[u8], len: usize) -> [Vec<u8>; 2] {
    let (header, data) = packet.split_at(20);
    let half = |offset: usize, data: &[u8], more: u16| {
        let mut header = ip4::Header::read_from_bytes(header).unwrap();
        header.total_len = (20 + data.len() as u16).into();
        header.id = 77.into();
        header.fragment = ((offset as u16 / 8) | more).into();
        header.update_checksum();
        [header.as_bytes(), data].concat()
    };
    [half(0, &data[..len], ip4::MORE_FRAGMENTS), half(len, &data[len..], 0)]
}

/// The same of an IPv6 packet.
fn halves6(packet: &[u8], len: usize) -> [Vec<u8>; 2] {
    let (header, data) = packet.split_at(40);
    let half = |offset: usize, data: &[u8], more: u16| {
        let [high, low] = (offset as u16 | more).to_be_bytes();
        let mut half = [header, &[header[6], 0, high, low, 0, 0, 0, 9], data].concat();
        half[6] = 44;
        half[4..6].copy_from_slice(&(8 + data.len() as u16).to_be_bytes());
        half
    };
    [half(0, &data[..len], 1), half(len, &data[len..], 0)]
}

#[test]
fn fragments_inside_the_tunnel_and_of_it_are_put_together_and_translated() {
    let mut b = bench(&[]);
    let packet = |len| udp4(HOST_INSIDE, SERVER, 53, &vec![7; len]);
    let first = one(&mut b, true, &tunnelled(B4, &packet(21)));
    let whole = packet(2000);
    let inner = halves4(&whole, 1024).map(|half| tunnelled(B4, &half));
    let outer = halves6(&tunnelled(B4, &whole), 1024);
    let cut = inner.clone().map(|part| halves6(&part, 512));
    let both = cut.concat();
    // Other fragments of the same numbers from another customer do not mix with them.
    let other = halves4(&packet(2000), 1024).map(|half| tunnelled("2001:db8:1::3", &half));
    for mut parts in [inner.to_vec(), outer.to_vec()] {
        for _ in 0..2 {
            let (last, before) = parts.split_last().unwrap();
            for part in before.iter().chain(&other[..1]) {
                assert_eq!(through(&mut b, true, std::slice::from_ref(part)).len(), 0);
            }
            let out = one(&mut b, true, last);
            assert_eq!((ends(&out), &out[28..]), (ends(&first), &whole[28..]));
            assert_eq!(one(&mut b, true, &other[1]).len(), whole.len());
            parts.reverse();
        }
    }
    let out = through(&mut b, true, &both);
    assert_eq!((out.len(), ends(&out[0]), &out[0][28..]), (1, ends(&first), &whole[28..]));
    // The last one is put together twice, both parts of the tunnel's first.
    b.expect(&[
        ("ip6-full-reassembly-custom", "reass_success", 8 + 3),
        ("ip6-full-reassembly-custom", "reass_fragments_reassembled", 16 + 6),
        ("ip6-full-reassembly-custom", "reass_fragments_rcvd", 16 + 6),
        ("dslite-in2out", "valid in2out DS-Lite packets", 8),
        ("dslite-in2out-slowpath", "valid in2out DS-Lite packets", 2),
    ]);
}

#[test]
fn fragments_from_outside_are_put_together_and_go_into_the_tunnel() {
    let mut b = bench(&[]);
    let asked = tunnelled(B4, &udp4(HOST_INSIDE, SERVER, 53, &[7; 21]));
    let port = ends(&one(&mut b, true, &asked))[0].1;
    let whole = udp4(SERVER, POOL, port, &[7; 2000]);
    let mut parts = halves4(&whole, 1024);
    for _ in 0..2 {
        assert_eq!(through(&mut b, false, &parts[..1]).len(), 0);
        let back = one(&mut b, false, &parts[1]);
        let ends = ends(&back[40..]);
        assert_eq!(ends, [end(SERVER, 1234), end(HOST_INSIDE, 1234)]);
        assert_eq!((&back[24..40], &back[68..]), (&octets(B4)[..], &whole[28..]));
        parts.reverse();
    }
    b.expect(&[
        ("ip4-full-reassembly-custom", "reass_success", 2),
        ("ip4-full-reassembly-custom", "reass_fragments_reassembled", 4),
        ("ip4-full-reassembly-custom", "reass_fragments_rcvd", 4),
        ("dslite-in2out-slowpath", "valid in2out DS-Lite packets", 1),
        ("dslite-out2in", "valid out2in DS-Lite packets", 2),
    ]);
}

#[test]
fn sessions_are_logged_with_the_tunnel_of_their_host() {
    let mut b = bench(&["set syslog sender collector 10.0.0.2 src 10.0.0.1"]);
    let asked = tunnelled(B4, &udp4(HOST_INSIDE, SERVER, 53, &[7; 21]));
    let out = through(&mut b, true, &[asked]);
    let text = out.iter().map(|p| String::from_utf8_lossy(&p[28..]).into_owned());
    let text = text.filter(|text| text.contains("napmap")).collect::<Vec<_>>();
    assert_eq!(text.len(), 1);
    for part in ["APMADD", "SV6ENC=\"2001:db8:1::2\"", "ISADDR=\"192.168.1.1\"", "PROTO=\"17\""] {
        assert!(text[0].contains(part), "{part} {text:?}");
    }
}

#[test]
fn clients_set_and_list_all_of_it() {
    let mut b = bench(&[]);
    b.talk(|local, router| {
        let range = |is_add| DsliteAddDelPoolAddrRange {
            start_addr: [192, 0, 2, 5].into(),
            end_addr: [192, 0, 2, 6].into(),
            is_add,
        };
        local.call(router, &range(true)).unwrap();
        assert_eq!(local.call(router, &range(true)).err(), Some(Retval::VALUE_EXIST));
        assert_eq!(local.dump(router, &DsliteAddressDump {}).len(), 3);
        local.call(router, &range(false)).unwrap();
        assert_eq!(local.call(router, &range(false)).err(), Some(Retval::NO_SUCH_ENTRY));
        let (ip4_addr, ip6_addr) = ([192, 0, 0, 1].into(), "2001:db8::77".parse().unwrap());
        local.call(router, &DsliteSetAftrAddr { ip4_addr, ip6_addr }).unwrap();
        let told = local.call(router, &DsliteGetAftrAddr {}).unwrap();
        assert_eq!((told.ip4_addr, told.ip6_addr), (ip4_addr, ip6_addr));
        let b4 = DsliteSetB4Addr { ip4_addr, ip6_addr };
        assert_eq!(local.call(router, &b4).err(), Some(Retval::FEATURE_DISABLED));
        assert!(local.call(router, &DsliteGetB4Addr {}).unwrap().ip6_addr.is_unspecified());
    });
    let told = b.run("show configuration dslite");
    let aftr = "dslite set aftr-tunnel-endpoint-address 2001:db8::77 ip4 192.0.0.1\n";
    assert_eq!(told, format!("{aftr}dslite add pool address 192.0.2.1\n"));
    let routes = b.run("show ip6 fib");
    assert!(routes.contains("2001:db8::77/128") && !routes.contains("2001:db8:ffff::1/128"));
}

#[test]
fn at_the_customer_s_edge_packets_go_into_the_tunnel_and_come_out_of_it() {
    let ce = |router: &mut Router| {
        router.stanzas = control::config::Config::parse("dslite { ce }", &[]).unwrap().others;
    };
    let interfaces = |router: &mut Router| {
        let new = |(name, mac)| router.add_interface(new_interface(name, mac), Transmit).unwrap();
        [("pg0", PG0), ("pg1", PG1)].map(new).into()
    };
    let features = [net::FEATURES, &with(FEATURE)].concat();
    let mut b = Bench::of(Rig::made(1, &features, ce, interfaces));
    for line in [
        "set interface state pg0 up",
        "set interface state pg1 up",
        "set interface ip address pg0 10.0.0.1/24",
        "set interface ip address pg1 2001:db8:1::1/64",
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb",
        "ip route add 2001:db8:ffff::/48 via 2001:db8:1::2 pg1",
        "dslite set b4-tunnel-endpoint-address 2001:db8:2::1",
        "dslite set aftr-tunnel-endpoint-address 2001:db8:ffff::1",
    ] {
        b.set(line);
    }
    b.wait(0.0);
    let own = "2001:db8:2::1";
    let asked = udp4("10.0.0.2", "203.0.113.9", 53, &[7; 21]);
    for n in [1, 3, 4, 255, 256] {
        let out = through(&mut b, false, &vec![asked.clone(); n]);
        assert_eq!((out.len(), &out[0][8..24]), (n, &octets(own)[..]));
        assert_eq!((&out[0][24..40], out[0][48]), (&octets(AFTR)[..], 63));
        b.expect(&[("dslite-ce-encap", "valid CE encap DS-Lite packets", n as u64)]);
    }
    let answer = udp4("203.0.113.9", "10.0.0.2", 1234, &[7; 21]);
    let back = one(&mut b, true, &ip6(AFTR, own, Protocol::IP4, &answer));
    assert_eq!(ends(&back), [end("203.0.113.9", 1234), end("10.0.0.2", 1234)]);
    b.expect(&[("dslite-ce-decap", "valid CE decap DS-Lite packets", 1)]);
    let parts = halves6(&ip6(AFTR, own, Protocol::IP4, &answer), 24);
    assert_eq!(through(&mut b, true, &parts[..1]).len(), 0);
    assert_eq!(one(&mut b, true, &parts[1]), back);
    let parts = halves4(&answer, 16).map(|part| ip6(AFTR, own, Protocol::IP4, &part));
    assert_eq!(through(&mut b, true, &parts).iter().map(Vec::len).collect::<Vec<_>>(), [36, 33]);
    b.expect(&[
        ("ip6-full-reassembly-custom", "reass_success", 1),
        ("ip6-full-reassembly-custom", "reass_fragments_reassembled", 2),
        ("ip6-full-reassembly-custom", "reass_fragments_rcvd", 2),
        ("dslite-ce-decap", "valid CE decap DS-Lite packets", 3),
    ]);
    let forged = ip6("2001:db8:1::66", own, Protocol::IP4, &answer);
    assert_eq!(through(&mut b, true, &[forged]).len(), 0);
    b.expect(&[("dslite-ce-decap", "no translation", 1)]);
    let ping = icmp6("2001:db8:1::2", own, icmp6::Type::ECHO_REQUEST, &[0, 1, 0, 2]);
    assert_eq!(one(&mut b, true, &ping)[40], 129);
    let told = b.run("show dslite b4-tunnel-endpoint-address");
    assert_eq!(told, "2001:db8:2::1\n");
}

#[test]
fn addresses_of_the_pool_are_answered_for_where_they_are_of_the_network() {
    let mut b = bench(&["dslite add pool address 10.0.0.70 - 10.0.0.79"]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    for (on, target, is_answered) in [
        (pg0, "10.0.0.70", true),
        (pg0, "10.0.0.80", false),
        (pg0, "192.0.2.1", false),
        (pg1, "10.0.0.70", false),
    ] {
        assert_eq!(answer(&mut b, on, target).is_some(), is_answered, "{target}");
    }
    b.set("dslite add pool address 10.0.0.70 - 10.0.0.79 del");
    assert_eq!(answer(&mut b, pg0, "10.0.0.70"), None);
}
