//! Clients behind `pg0`, servers of VIPs behind `pg1`, in IPv4 and IPv6.

use std::collections::BTreeMap;
use std::net::IpAddr;

use control::api::Retval;
use control::api::types::{Address, AddressWithPrefix, Prefix};
use lb::*;
use net::testing::packets::{changed4, ip4, ip6, sum4, sum6};
use net::testing::whole::{Bench, through};
use sessions::Flow;
use wire::Protocol;
use zerocopy::IntoBytes;

const FEATURES: [net::Feature; 3] = [sessions::FEATURE, translation::FEATURE, FEATURE];

fn bench(lines: &[&str]) -> Bench {
    let mut b = Bench::plugged(&FEATURES);
    for line in [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01",
        "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb",
        "set ip neighbor pg1 10.0.1.3 02:00:00:00:00:bc",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb",
        "set ip neighbor pg1 2001:db8:1::3 02:00:00:00:00:bc",
        "lb conf ip4-src-address 39.40.41.42 ip6-src-address 2004::1",
    ] {
        b.set(line);
    }
    b.wait(0.0);
    lines.iter().for_each(|line| b.set(line));
    b.graph.moved_counters();
    b
}

fn start(packet: &[u8]) -> usize {
    if packet[0] >> 4 == 4 { 20 } else { 40 }
}

/// A datagram, or a segment, with a right checksum.
fn packet(protocol: Protocol, src: (&str, u16), dst: (&str, u16)) -> Vec<u8> {
    let ports = [src.1.to_be_bytes(), dst.1.to_be_bytes()].concat();
    let (upper, at) = match protocol {
        Protocol::TCP => {
            ([&ports[..], &[0, 0, 0, 1, 0, 0, 0, 2, 0x50, 2, 9, 9, 0, 0, 0, 0]].concat(), 16)
        }
        _ => ([&ports[..], &[0, 20, 0, 0], &[7; 12]].concat(), 6),
    };
    let make = if src.0.contains(':') { ip6 } else { ip4 };
    let mut packet = make(src.0, dst.0, protocol, &upper);
    let sum = if packet[0] >> 4 == 4 { sum4(&packet) } else { sum6(&packet) };
    let at = start(&packet) + at;
    packet[at..at + 2].copy_from_slice(sum.checksum().as_bytes());
    packet
}

fn is_valid(packet: &[u8]) -> bool {
    if packet[0] >> 4 == 4 { sum4(packet).is_valid() } else { sum6(packet).is_valid() }
}

type End = (IpAddr, u16);

/// Source and destination.
fn ends(packet: &[u8]) -> (End, End) {
    let at = start(packet);
    let port = |n: usize| u16::from_be_bytes([packet[at + n], packet[at + n + 1]]);
    let addr = |from: usize, len: usize| -> IpAddr {
        match len {
            4 => <[u8; 4]>::try_from(&packet[from..from + 4]).unwrap().into(),
            _ => <[u8; 16]>::try_from(&packet[from..from + 16]).unwrap().into(),
        }
    };
    let (src, dst) =
        if at == 20 { (addr(12, 4), addr(16, 4)) } else { (addr(8, 16), addr(24, 16)) };
    ((src, port(0)), (dst, port(2)))
}

fn end(addr: &str, port: u16) -> End {
    (addr.parse().unwrap(), port)
}

/// Flows of as many clients.
fn flows(count: u16, client: &str, dst: (&str, u16)) -> Vec<Vec<u8>> {
    (0..count).map(|n| packet(Protocol::UDP, (client, 1000 + n), dst)).collect()
}

/// How many packets went to each destination.
fn spread(packets: &[Vec<u8>]) -> BTreeMap<IpAddr, usize> {
    let mut all = BTreeMap::new();
    packets.iter().for_each(|p| *all.entry(ends(p).1.0).or_default() += 1);
    all
}

/// Client, a VIP's prefix and an address of it, of both versions.
const CLIENTS: [(&str, &str, &str, &str); 2] = [
    ("10.0.0.2", "90.0.0.0/8", "90.0.0.7", "lb4"),
    ("2001:db8::2", "2001:db9::/32", "2001:db9::7", "lb6"),
];

#[test]
fn packets_for_a_vip_go_to_its_servers_in_gre() {
    for (client, prefix, vip, node) in CLIENTS {
        for (encap, servers) in
            [("gre4", ["10.0.1.2", "10.0.1.3"]), ("gre6", ["2001:db8:1::2", "2001:db8:1::3"])]
        {
            for (port, is_last) in
                [("", false), (" protocol udp port 80", false), (" protocol udp port 80", true)]
            {
                let name = format!("{node}-{encap}{}", if port.is_empty() { "" } else { "-port" });
                let [first, second] = servers;
                let lines = match is_last {
                    false => [
                        format!("lb vip {prefix}{port} encap {encap}"),
                        format!("lb as {prefix}{port} {first} {second}"),
                    ],
                    true => [
                        format!("lb vip encap {encap}{port} {prefix}"),
                        format!("lb as {first}{port} {prefix} {second}"),
                    ],
                };
                let mut b = bench(&lines.each_ref().map(String::as_str));
                for n in [1, 3, 4, 255, 256] {
                    let packets = flows(n, client, (vip, 80));
                    let out = through(&mut b, false, &packets);
                    assert_eq!(out.len(), packets.len());
                    for (out, packet) in out.iter().zip(&packets) {
                        let at = start(out);
                        let kind: &[u8] = if start(packet) == 20 { &[8, 0] } else { &[0x86, 0xdd] };
                        assert_eq!(out[at..at + 4], [&[0, 0], kind].concat());
                        assert_eq!(out[at + 4..], packet[..]);
                        assert_eq!(if at == 20 { out[8] } else { out[7] }, 127, "hops");
                        let ((src, _), (dst, _)) = ends(out);
                        let own = if at == 20 { "39.40.41.42" } else { "2004::1" };
                        assert_eq!(src, own.parse::<IpAddr>().unwrap());
                        assert!(servers.iter().any(|server| dst == end(server, 0).0));
                    }
                    if n == 256 {
                        assert!(spread(&out).values().all(|count| *count > 80));
                    }
                    b.expect(&[(&name, "no error", n.into())]);
                }
                if port.is_empty() {
                    continue;
                }
                let other = packet(Protocol::UDP, (client, 1), (vip, 81));
                assert_eq!(through(&mut b, false, &[other]).len(), 0);
                b.expect(&[(&name, "protocol not supported", 1)]);
            }
        }
    }
}

#[test]
fn l3dsr_keeps_ports_and_names_the_vip_by_a_dscp() {
    let mut b = bench(&["lb vip 90.0.0.0/8 encap l3dsr dscp 7", "lb as 90.0.0.0/8 10.0.1.2"]);
    for protocol in [Protocol::UDP, Protocol::TCP] {
        let ask = packet(protocol, ("10.0.0.2", 5), ("90.0.0.7", 80));
        let ask = changed4(ask, |h| h.tos = 3);
        let out = through(&mut b, false, &[ask]);
        assert!(is_valid(&out[0]));
        assert_eq!(ends(&out[0]), (end("10.0.0.2", 5), end("10.0.1.2", 80)));
        assert_eq!(out[0][1], 7 << 2 | 3);
        let unchanged = out[0].clone();
        assert_eq!(changed4(out[0].clone(), |_| ()), unchanged, "the header's checksum is right");
        b.expect(&[("lb4-l3dsr", "no error", 1)]);
    }
}

#[test]
fn servers_that_translate_answer_as_the_vip() {
    for (nat, client, vip, server) in [
        ("nat4", "10.0.0.2", "90.0.0.7", "10.0.1.2"),
        ("nat6", "2001:db8::2", "2001:db9::7", "2001:db8:1::2"),
    ] {
        for (word, protocol) in [("udp", Protocol::UDP), ("tcp", Protocol::TCP)] {
            let len = if nat == "nat4" { 32 } else { 128 };
            let key = format!("{vip}/{len} protocol {word} port 80");
            let mut b = bench(&[
                &format!("lb vip {key} encap {nat} type clusterip target_port 3307"),
                &format!("lb as {key} {server}"),
                &format!("lb set interface {nat} in pg1"),
            ]);
            let node = if nat == "nat4" { "lb4-nat4-port" } else { "lb6-nat6-port" };
            let ask = packet(protocol, (client, 5), (vip, 80));
            let out = through(&mut b, false, &[ask]);
            assert!(is_valid(&out[0]));
            assert_eq!(ends(&out[0]), (end(client, 5), end(server, 3307)));
            b.expect(&[(node, "no error", 1)]);
            let answer = packet(protocol, (server, 3307), (client, 5));
            let back = through(&mut b, true, std::slice::from_ref(&answer));
            assert!(is_valid(&back[0]));
            assert_eq!(ends(&back[0]), (end(vip, 80), end(client, 5)));
            b.expect(&[(&format!("lb-{nat}-in2out"), "no error", 1)]);
            let other = packet(protocol, (server, 3308), (client, 5));
            assert_eq!(
                ends(&through(&mut b, true, &[other])[0]),
                (end(server, 3308), end(client, 5))
            );
            b.expect(&[]);
            b.set(&format!("lb set interface {nat} in pg1 del"));
            let back = through(&mut b, true, &[answer]);
            assert_eq!(ends(&back[0]), (end(server, 3307), end(client, 5)));
            // A server answers on a port for one VIP only.
            let other = key.replace("port 80", "port 81");
            b.set(&format!("lb vip {other} encap {nat} target_port 3307"));
            let told = b.cli(&format!("lb as {other} {server}"));
            assert!(told.contains(&format!("{server} serves another VIP on that port")), "{told}");
        }
    }
}

#[test]
fn a_node_port_is_met_at_any_address_of_the_router() {
    for (nat, client, router, vip, server, node) in [
        ("nat4", "10.0.0.2", "10.0.0.1", "90.0.0.7/32", "10.0.1.2", "lb4-nodeport"),
        ("nat6", "2001:db8::2", "2001:db8::1", "2001:db9::7/128", "2001:db8:1::2", "lb6-nodeport"),
    ] {
        let key = format!("{vip} protocol udp port 80");
        let service = format!("encap {nat} type nodeport target_port 3307 node_port 30080");
        let mut b = bench(&[
            &format!("lb vip {key} {service}"),
            &format!("lb as {key} {server}"),
            &format!("lb set interface {nat} in pg1"),
        ]);
        let ask = packet(Protocol::UDP, (client, 5), (router, 30080));
        let out = through(&mut b, false, std::slice::from_ref(&ask));
        assert!(is_valid(&out[0]));
        assert_eq!(ends(&out[0]), (end(client, 5), end(server, 3307)));
        b.expect(&[(node, "no error", 1)]);
        let answer = packet(Protocol::UDP, (server, 3307), (client, 5));
        let back = through(&mut b, true, &[answer]);
        let vip_addr = vip.split('/').next().unwrap();
        assert_eq!(ends(&back[0]), (end(vip_addr, 30080), end(client, 5)));
        let other = vip.replace("::7", "::8").replace(".7", ".8");
        let second = format!("lb vip {other} protocol udp port 80 {service}");
        assert!(b.cli(&second).contains("node port 30080 is in use"));
        let tcp = format!("lb vip {other} protocol tcp port 80 {service}");
        assert!(b.cli(&tcp).contains("are UDP only"));
        b.set(&format!("lb vip {key} del"));
        b.graph.moved_counters();
        // No listener there now: the router itself answers.
        let back = through(&mut b, false, &[ask]);
        assert_eq!(ends(&back[0]).0.0, end(router, 0).0);
        b.set(&second);
    }
}

#[test]
fn flows_keep_their_server_until_they_are_silent_flushed_or_the_server_goes() {
    let mut b = bench(&["lb vip 90.0.0.0/8 encap l3dsr", "lb as 90.0.0.0/8 10.0.1.2"]);
    let all = flows(64, "10.0.0.2", ("90.0.0.7", 80));
    let [first, second] = ["10.0.1.2", "10.0.1.3"].map(|addr| end(addr, 0).0);
    let all_at_first = BTreeMap::from([(first, 64)]);
    assert_eq!(spread(&through(&mut b, false, &all)), all_at_first);
    // A second server, and the first one leaves: known flows stay.
    b.set("lb as 90.0.0.0/8 10.0.1.3");
    b.set("lb as 90.0.0.0/8 10.0.1.2 del");
    b.wait(38.0);
    assert_eq!(spread(&through(&mut b, false, &all)), all_at_first);
    b.wait(38.0);
    let shown = b.cli("show lb vips verbose");
    assert!(shown.contains("    10.0.1.2 weight:100 buckets:0 flows:64 removed\n"), "{shown}");
    assert!(
        shown.contains("    packet from existing sessions: 64\n    first session packet: 64\n"),
        "{shown}"
    );
    assert!(b.cli("lb as 90.0.0.0/8 10.0.1.2 del").contains("no server 10.0.1.2"));
    b.wait(10.0);
    let shown = b.cli("show lb vips verbose");
    assert!(!shown.contains("10.0.1.2"), "its last flow is over: {shown}");
    assert_eq!(spread(&through(&mut b, false, &all)), BTreeMap::from([(second, 64)]));
    // It returns, and flushing redistributes the flows.
    b.set("lb as 90.0.0.0/8 10.0.1.2");
    assert_eq!(spread(&through(&mut b, false, &all)), BTreeMap::from([(second, 64)]));
    b.set("lb flush vip 90.0.0.0/8");
    assert!(spread(&through(&mut b, false, &all)).values().all(|count| *count > 16));
    // A share of nothing: no new flows; with flush none at all.
    b.set("lb as 90.0.0.0/8 10.0.1.2 weight 0");
    assert!(spread(&through(&mut b, false, &all)).contains_key(&first));
    b.set("lb as 90.0.0.0/8 10.0.1.2 weight 0 flush");
    assert_eq!(spread(&through(&mut b, false, &all)), BTreeMap::from([(second, 64)]));
    b.set("lb as 90.0.0.0/8 10.0.1.3 del flush");
    b.graph.moved_counters();
    let none = through(&mut b, false, &all);
    assert!(none.is_empty(), "{:?}", none.first());
    b.expect(&[("lb4-l3dsr", "no server", 64)]);
    // Errors about a flow go with it.
    b.set("lb as 90.0.0.0/8 10.0.1.2 weight 100");
    b.set("lb as 90.0.0.0/8 10.0.1.3");
    for ask in &all {
        let to = ends(&through(&mut b, false, std::slice::from_ref(ask))[0]).1.0;
        let ((client, port), (vip, _)) = ends(ask);
        let answer = packet(Protocol::UDP, (&vip.to_string(), 80), (&client.to_string(), port));
        let upper = [&[3, 4, 0, 0, 0, 0, 5, 0], &answer[..]].concat();
        let mut error = ip4("10.0.0.9", &vip.to_string(), Protocol::ICMP, &upper);
        let sum = wire::checksum::Sum::ZERO.add_bytes(&error[20..]).checksum();
        error[22..24].copy_from_slice(sum.as_bytes());
        let out = through(&mut b, false, &[error]);
        assert_eq!(ends(&out[0]).1.0, to);
        assert!(wire::checksum::Sum::ZERO.add_bytes(&out[0][20..]).is_valid());
        assert_eq!(out[0][28..], answer[..]);
    }
}

#[test]
fn all_flows_of_a_source_may_go_to_one_server() {
    let mut b = bench(&[
        "lb vip 90.0.0.0/8 encap l3dsr src_ip_sticky",
        "lb as 90.0.0.0/8 10.0.1.2 10.0.1.3",
        "lb conf buckets 1",
    ]);
    let out = through(&mut b, false, &flows(64, "10.0.0.2", ("90.0.0.7", 80)));
    assert_eq!(spread(&out).len(), 1);
    let clients = (0..64).map(|n| format!("10.0.0.{}", n + 2));
    let packets: Vec<_> =
        clients.map(|client| packet(Protocol::UDP, (&client, 1), ("90.0.0.7", 80))).collect();
    assert!(spread(&through(&mut b, false, &packets)).values().all(|count| *count > 16));
    let shown = b.cli("show lb vips verbose");
    assert!(shown.contains("first session packet: 4\n    untracked packet: 60"), "{shown}");
}

#[test]
fn nobody_can_say_which_flows_share_a_bucket() {
    let mut b = bench(&[
        "lb vip 90.0.0.0/8 encap l3dsr",
        "lb as 90.0.0.0/8 10.0.1.2 10.0.1.3",
        "lb conf buckets 1024",
    ]);
    // Flows whose hash that chooses the server ends in the same bits.
    let hash = |port: u16| {
        let ends = (([10, 0, 0, 2], port), ([90, 0, 0, 7], 80));
        sessions::Key::hash(&Flow::new(ends.0, ends.1, Protocol::UDP, 0), 0x6d61_676c_6576)
    };
    let wanted = hash(1) % 1024;
    let ports: Vec<u16> = (1..=u16::MAX).filter(|port| hash(*port) % 1024 == wanted).collect();
    let forged = ports[..32].iter();
    let forged = forged.map(|port| packet(Protocol::UDP, ("10.0.0.2", *port), ("90.0.0.7", 80)));
    through(&mut b, false, &forged.collect::<Vec<_>>());
    let shown = b.cli("show lb vips verbose");
    assert!(shown.contains("first session packet: 32\n    untracked packet: 0"), "{shown}");
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let mut b = bench(&["lb vip 90.0.0.0/8 encap gre4", "lb vip 91.0.0.0/8 protocol tcp port 80"]);
    let before = b.cli("show configuration lb");
    for (line, why) in [
        ("lb vip 90.0.0.0/8", "the VIP exists"),
        ("lb vip 90.0.0.0/8 protocol udp port 5", "either one VIP for all ports or one per port"),
        ("lb vip 91.0.0.0/8", "either one VIP for all ports or one per port"),
        ("lb vip 91.0.0.0/8 protocol udp port 5 encap gre6", "must have the same encapsulation"),
        ("lb vip 2001:db9::/32 encap l3dsr", "l3dsr is not available for this IP version"),
        ("lb vip 92.0.0.0/8 encap nat6", "nat6 is not available for this IP version"),
        ("lb vip 92.0.0.0/8 encap l3dsr dscp 64", "dscp 64 is not 0 to 63"),
        ("lb vip 92.0.0.0/8 new_len 1000", "table length must be a power of 2"),
        ("lb vip 92.0.0.0/8 encap nat4 target_port 5", "protocol and port are missing"),
        ("lb vip 92.0.0.0/8 protocol udp port 5 encap nat4", "target_port is missing"),
        ("lb vip 92.0.0.0/8 protocol udp port 0", "protocol and port are missing"),
        ("lb vip 92.0.0.0/8 protocol sctp port 5", "expected tcp or udp"),
        ("lb vip 93.0.0.0/8 del", "no such VIP"),
        ("lb as 93.0.0.0/8 10.0.1.2", "no such VIP"),
        ("lb as 90.0.0.0/8 10.0.1.2 2001:db8::1", "2001:db8::1 is of another IP version"),
        ("lb as 90.0.0.0/8 10.0.1.2 10.0.1.2", "server 10.0.1.2 exists"),
        ("lb as 90.0.0.0/8 10.0.1.2 weight 101", "weight 101 is not 0 to 100"),
        ("lb as 90.0.0.0/8 10.0.1.2 del", "no server 10.0.1.2"),
        ("lb as 90.0.0.0/8", "expected the address of a server"),
        ("lb conf buckets 3", "sticky buckets must be a power of 2"),
        ("lb conf timeout 0", "a timeout is at least one second"),
        ("lb flush vip 93.0.0.0/8", "no such VIP"),
    ] {
        let told = b.cli(line);
        assert!(told.contains(why), "{line}: {told}");
    }
    assert_eq!(b.cli("show configuration lb"), before);
    b.set("lb conf ip4-src-address 0.0.0.0");
    b.set("lb as 90.0.0.0/8 10.0.1.2");
    assert_eq!(through(&mut b, false, &flows(1, "10.0.0.2", ("90.0.0.7", 80))).len(), 0);
    b.expect(&[("lb4-gre4", "no source address", 1)]);
}

fn prefix(text: &str) -> AddressWithPrefix {
    AddressWithPrefix(Prefix::from(text.parse::<wire::Prefix>().unwrap()))
}

#[test]
fn clients_make_list_and_delete_vips_and_servers() {
    let mut b = bench(&[]);
    let addr = |text: &str| -> Address { text.parse::<IpAddr>().unwrap().into() };
    let vip = |protocol, port, is_del| LbAddDelVipV2 {
        vip: VipFields {
            pfx: prefix("90.0.0.0/8"),
            protocol,
            port,
            encap: LbEncapType::L3DSR,
            dscp: 7,
            kind: LbSrvType::CLUSTERIP,
            target_port: 0,
            node_port: 0,
            new_flows_table_length: 1024,
        },
        src_ip_sticky: true,
        is_del,
    };
    let server = |protocol, port, server, weight, is_del| LbAddDelAsV2 {
        pfx: prefix("90.0.0.0/8"),
        protocol,
        port,
        as_address: addr(server),
        weight,
        is_del,
        is_flush: is_del,
    };
    b.talk(|local, router| {
        for port in [80, 443] {
            local.call(router, &vip(6, port, false)).unwrap();
            local.call(router, &server(6, port, "10.0.1.2", 50, false)).unwrap();
        }
        local.call(router, &server(6, 80, "10.0.1.3", 100, false)).unwrap();
        let refused = local.call(router, &vip(255, 0, false)).err();
        assert_eq!(refused, Some(Retval::VALUE_EXIST));
        let mut unknown = vip(17, 80, false);
        unknown.vip.encap = LbEncapType(7);
        assert_eq!(local.call(router, &unknown).err(), Some(Retval::INVALID_ARGUMENT));
        let any = PrefixMatcher { le: 0, ge: 0 };
        let dump = |pfx, pfx_matcher, protocol, port| LbVipDump {
            pfx: prefix(pfx),
            pfx_matcher,
            protocol,
            port,
        };
        let mut ports = |dump: &LbVipDump| -> Vec<u16> {
            local.dump(router, dump).iter().map(|details| details.vip.port).collect()
        };
        assert_eq!(ports(&dump("0.0.0.0/0", any, 255, 0)), [80, 443]);
        assert_eq!(ports(&dump("90.0.0.0/8", any, 6, 443)), [443]);
        assert_eq!(ports(&dump("90.0.0.0/8", any, 17, 0)), [0; 0]);
        assert_eq!(ports(&dump("80.0.0.0/4", any, 255, 0)), [0; 0]);
        assert_eq!(ports(&dump("80.0.0.0/4", PrefixMatcher { le: 8, ge: 8 }, 255, 0)), [80, 443]);
        assert_eq!(ports(&dump("80.0.0.0/4", PrefixMatcher { le: 7, ge: 0 }, 255, 0)), [0; 0]);
        let of_80 = LbAsV2Dump { pfx: prefix("90.0.0.0/8"), protocol: 6, port: 80 };
        let rows = local.dump(router, &of_80);
        let shares: Vec<_> = rows.iter().map(|row| (row.weight, row.num_buckets)).collect();
        assert_eq!(shares, [(50, 350), (100, 674)]);
        let weight = LbAsSetWeight {
            pfx: prefix("90.0.0.0/8"),
            protocol: 6,
            port: 80,
            as_address: addr("10.0.1.2"),
            weight: 0,
            is_flush: true,
        };
        local.call(router, &weight).unwrap();
        let rows = local.dump(router, &of_80);
        assert_eq!(rows.iter().map(|row| row.num_buckets).collect::<Vec<_>>(), [0, 1024]);
        let flush = LbFlushVip { pfx: prefix("90.0.0.0/8"), protocol: 0, port: 0 };
        local.call(router, &flush).unwrap();
        local.call(router, &server(6, 80, "10.0.1.3", 0, true)).unwrap();
        let gone = local.call(router, &server(6, 80, "10.0.1.3", 0, true)).err();
        assert_eq!(gone, Some(Retval::NO_SUCH_ENTRY));
    });
    let told = b.cli("show configuration lb");
    let expected = "lb conf ip4-src-address 39.40.41.42 ip6-src-address 2004::1\n\
        lb vip 90.0.0.0/8 protocol tcp port 80 encap l3dsr dscp 7 src_ip_sticky\n\
        lb as 90.0.0.0/8 protocol tcp port 80 10.0.1.2 weight 0\n\
        lb vip 90.0.0.0/8 protocol tcp port 443 encap l3dsr dscp 7 src_ip_sticky\n\
        lb as 90.0.0.0/8 protocol tcp port 443 10.0.1.2 weight 50\n";
    assert_eq!(told, expected);
    b.talk(|local, router| {
        for port in [80, 443] {
            local.call(router, &vip(6, port, true)).unwrap();
        }
        assert_eq!(local.call(router, &vip(6, 80, true)).err(), Some(Retval::NO_SUCH_ENTRY));
        let all = LbAsDump { pfx: prefix("0.0.0.0/0"), protocol: 0, port: 0 };
        assert_eq!(local.dump(router, &all).len(), 0);
    });
}
