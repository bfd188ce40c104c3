//! Labels put on, swapped and taken off; what labels lead to; tunnels.

use control::api::Retval;
use control::api::types::Prefix;
use graph::Buffer;
use graph::testing::Caught;
use mpls::*;
use net::InterfaceIndex;
use net::fib::RouteCounting;
use net::fib::types::{FibMplsLabel, FibPath, FibPathNhProto, FibPathType};
use net::testing::Rig;
use net::testing::packets::*;
use wire::MacAddr;
use wire::mpls::{Entry, stack};
use zerocopy::IntoBytes;

/// The layer 2 address of the neighbours on `pg1`.
const NEIGHBOR: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xbb]);

/// A router with all that labels go together with, `pg0` and `pg1`.
pub(super) struct Bench {
    pub rig: Rig,
    pub pg0: InterfaceIndex,
    pub pg1: InterfaceIndex,
}

impl std::ops::Deref for Bench {
    type Target = Rig;
    fn deref(&self) -> &Rig {
        &self.rig
    }
}

impl std::ops::DerefMut for Bench {
    fn deref_mut(&mut self) -> &mut Rig {
        &mut self.rig
    }
}

impl Bench {
    pub fn run(&mut self, line: &str) -> Result<String, String> {
        self.attempt(line)
    }
    /// Sends packets received on `pg0` into a node; drops of nodes are omitted.
    pub fn send(&mut self, at: &str, packets: &[Vec<u8>]) -> Vec<Caught> {
        let rx = self.pg0.0;
        self.send_as(at, packets, move |p| p.set_rx(rx))
    }
    fn send_as(
        &mut self,
        at: &str,
        packets: &[Vec<u8>],
        prepare: impl Fn(&mut Buffer<'_>) + Clone + Send + 'static,
    ) -> Vec<Caught> {
        self.graph.send(at, packets, prepare)
    }
}

/// `pg0` takes labelled packets; the neighbours of `pg1` are known.
fn bench() -> Bench {
    bench_with(&[])
}

/// The same with more features.
pub(super) fn bench_with(more: &[net::Feature]) -> Bench {
    let own = [
        net::fast_path::FEATURE,
        net::fib::FEATURE,
        net::address::FEATURE,
        net::ip4::FEATURE,
        net::ip6::FEATURE,
        net::mfib::FEATURE,
        net::icmp::FEATURE,
        net::fragment::FEATURE,
        FEATURE,
    ];
    let mut rig = Rig::new(&[&own[..], more].concat());
    rig.add_networks(2);
    rig.graph.run();
    rig.graph.caught();
    let (pg0, pg1) = (rig.interface("pg0"), rig.interface("pg1"));
    let mut bench = Bench { rig, pg0, pg1 };
    set(&mut bench, "mpls table add 0");
    set(&mut bench, "set interface mpls pg0 enable");
    bench
}

pub(super) fn set(bench: &mut Bench, line: &str) {
    let done = bench.run(line);
    assert!(done.is_ok(), "{line}: {done:?}");
    // Neighbours that routes lead to answer at once.
    bench.control(|router| {
        let missing = router.adjacencies.iter().filter(|(_, a)| !a.complete);
        let missing: Vec<_> = missing.map(|(index, _)| index).collect();
        missing.into_iter().for_each(|index| router.complete_adjacency(index, NEIGHBOR));
    });
    // And nothing requests them.
    bench.graph.run();
    bench.graph.caught();
}

/// A packet below labels: label, traffic class, time to live.
pub(super) fn labelled(labels: &[(u32, u8, u8)], below: &[u8]) -> Vec<u8> {
    let last = labels.len() - 1;
    let entry = |(i, (label, exp, ttl)): (usize, &(u32, u8, u8))| {
        Entry::new(*label, *exp, i == last, *ttl).as_bytes().to_vec()
    };
    let mut all: Vec<u8> = labels.iter().enumerate().flat_map(entry).collect();
    all.extend(below);
    all
}

/// The labels of a frame that was sent, and what is below them.
pub(super) fn labels(sent: &Caught) -> (Vec<(u32, u8, u8)>, &[u8]) {
    assert_eq!((sent.at.as_str(), &sent.bytes[12..14]), ("sent", &[0x88, 0x47][..]), "{sent:?}");
    let all: Vec<_> = stack(&sent.bytes[14..]).map(|e| (e.label(), e.exp(), e.ttl())).collect();
    let below = &sent.bytes[14 + 4 * all.len()..];
    (all, below)
}

fn with_ttl4(packet: Vec<u8>, ttl: u8, tos: u8) -> Vec<u8> {
    changed4(packet, |h| (h.ttl, h.tos) = (ttl, tos))
}

#[test]
fn a_label_is_swapped_and_has_a_hop_less() {
    let mut bench = bench();
    set(&mut bench, "mpls local-label add 32 via 10.0.1.2 pg1 out-labels 33 ttl 7 exp 5");
    let ip = udp4(HOST4, "9.9.9.9", 7, b"data");
    for n in [1, 3, 4, 255, 256] {
        let packet = labelled(&[(32, 1, 32)], &ip);
        let out = bench.send("mpls-input", &vec![packet; n]);
        assert_eq!(out.len(), n);
        for sent in &out {
            assert_eq!(labels(sent), (vec![(33, 1, 31)], &ip[..]), "not those of the route");
        }
        bench.expect(&[]);
    }
    let out = bench.send("mpls-input", &[labelled(&[(32, 7, 21), (99, 2, 9)], &ip)]);
    assert_eq!(labels(&out[0]), (vec![(33, 7, 20), (99, 2, 9)], &ip[..]), "not the last label");
    for (ttl, node) in [(0, "mpls-input"), (1, "mpls-lookup")] {
        let out = bench.send("mpls-input", &[labelled(&[(32, 0, ttl)], &ip)]);
        assert_eq!(out.len(), 0, "{ttl}");
        bench.expect(&[(node, "ttl_expired", 1)]);
    }
    bench.send("mpls-input", &[labelled(&[(500, 0, 9)], &ip), vec![1, 2, 3]]);
    bench.expect(&[("mpls-lookup", "drop", 1), ("mpls-input", "no_label", 1)]);
}

#[test]
fn labels_are_counted_where_routes_are() {
    for (counting, counted) in
        [(RouteCounting::Off, "to:[0:0]"), (RouteCounting::Auto, "to:[3:24]")]
    {
        let mut bench = bench();
        bench.control(move |router| router.fib.counting = counting);
        set(&mut bench, "mpls local-label add 32 via 10.0.1.2 pg1 out-labels 33");
        let packet = labelled(&[(32, 0, 9)], b"data");
        for packets in [vec![packet.clone()], vec![packet; 2]] {
            assert_eq!(bench.send("mpls-input", &packets).len(), packets.len());
        }
        let shown = bench.run("show mpls fib 0 32").unwrap();
        assert!(shown.contains(counted), "{shown}");
    }
}

#[test]
fn labelled_packets_come_in_only_where_the_operator_wants_them() {
    let mut bench = bench();
    set(&mut bench, "mpls local-label add 32 via 10.0.1.2 pg1 out-labels 33");
    let packet = labelled(&[(32, 0, 9)], b"x");
    let pg1 = bench.pg1.0;
    let send = |bench: &mut Bench| {
        bench.send_as("mpls-input", std::slice::from_ref(&packet), move |p| p.set_rx(pg1)).len()
    };
    assert_eq!(send(&mut bench), 0);
    bench.expect(&[("mpls-not-enabled", "not_enabled", 1)]);
    set(&mut bench, "set interface mpls pg1 enable");
    assert_eq!(send(&mut bench), 1);
    assert_eq!(bench.run("show mpls interface pg1").unwrap(), "pg1\n  MPLS enabled\n");
    set(&mut bench, "set interface mpls pg1 disable");
    assert_eq!(send(&mut bench), 0);
    bench.expect(&[("mpls-not-enabled", "not_enabled", 1)]);
    assert_eq!(bench.run("show mpls interface").unwrap(), "pg0\n  MPLS enabled\n");
}

#[test]
fn routes_put_labels_on_and_those_they_lead_through_put_theirs_outside() {
    let mut bench = bench();
    for line in [
        "ip route add 20.0.0.1/32 via 10.0.1.2 pg1 out-labels 32 ttl 64",
        "ip route add 20.0.0.2/32 via 10.0.1.2 pg1 out-labels 32 uniform",
        "ip route add 21.0.0.0/8 via 20.0.0.1 out-labels 44 45 exp 3 ttl 9",
        "ip route add 2001:db8:20::1/128 via 2001:db8:1::2 pg1 out-labels 32 uniform",
        "ip route add 2001:db8:21::/48 via 20.0.0.1 out-labels 46",
        "ip route add 22.0.0.0/8 via 10.0.1.2 pg1 out-labels implicit-null",
        "ip route add 23.0.0.0/8 via 10.0.1.2 pg1 out-labels router-alert ipv6-explicit-null",
    ] {
        set(&mut bench, line);
    }
    let four = |dst: &str| with_ttl4(udp4(HOST4, dst, 7, b"data"), 54, 0xbe);
    for (dst, expected) in [
        ("20.0.0.1", vec![(32, 0, 64)]),
        ("20.0.0.2", vec![(32, 5, 53)]),
        ("21.1.1.1", vec![(32, 0, 64), (44, 0, 64), (45, 3, 9)]),
        ("23.1.1.1", vec![(1, 0, 64), (2, 0, 64)]),
    ] {
        for n in [1, 3, 4, 255, 256] {
            let out = bench.send("ip4-lookup", &vec![four(dst); n]);
            assert_eq!(out.len(), n, "{dst}");
            for sent in &out {
                let (found, below) = labels(sent);
                let hop_less = changed4(four(dst), |h| h.ttl = 53);
                assert_eq!((found, below), (expected.clone(), &hop_less[..]), "{dst}");
            }
        }
    }
    let six = |dst: &str| changed6(udp6(HOST6, dst, 7, b"data"), |h| h.hop_limit = 54);
    for (dst, expected) in
        [("2001:db8:20::1", vec![(32, 0, 53)]), ("2001:db8:21::9", vec![(32, 0, 64), (46, 0, 64)])]
    {
        let out = bench.send("ip6-lookup", &[six(dst)]);
        let (found, below) = labels(&out[0]);
        assert_eq!((found, below[7]), (expected, 53), "{dst}");
    }
    let out = bench.send("ip4-lookup", &[four("22.1.1.1")]);
    assert_eq!(out[0].bytes[12..14], [8, 0], "implicit null asks for none");
    let out = bench.send("ip4-lookup", &[with_ttl4(four("20.0.0.1"), 1, 0)]);
    assert!(out.iter().all(|c| c.at != "sent" || c.bytes[12..14] == [8, 0]), "{out:?}");
    bench.graph.run();
}

#[test]
fn without_its_last_label_a_packet_is_checked_and_follows_the_path() {
    let mut bench = bench();
    for line in [
        "mpls local-label add 33 eos via 10.0.1.2 pg1",
        "mpls local-label add 34 eos via 10.0.1.2 pg1 out-labels implicit-null uniform",
        "mpls local-label add 35 eos ip6 via 2001:db8:1::2 pg1",
        "mpls local-label add 33 non-eos via 10.0.1.2 pg1",
        "mpls local-label add 34 non-eos via 10.0.1.2 pg1 out-labels implicit-null uniform",
        "mpls local-label add 36 non-eos via mpls-lookup-in-table 0",
    ] {
        set(&mut bench, line);
    }
    let ip = with_ttl4(udp4(HOST4, "9.9.9.9", 7, b"data"), 64, 0);
    let sent = |bench: &mut Bench, labels: &[(u32, u8, u8)], below: &[u8]| {
        let out = bench.send("mpls-input", &[labelled(labels, below)]);
        out.into_iter().find(|c| c.at == "sent").map(|c| c.bytes[12..].to_vec())
    };
    let expect4 = |ttl, tos| {
        let ip = with_ttl4(ip.clone(), ttl, tos);
        Some([&[8, 0], &ip[..]].concat())
    };
    assert_eq!(sent(&mut bench, &[(33, 5, 9)], &ip), expect4(63, 0), "pipe");
    assert_eq!(sent(&mut bench, &[(34, 5, 9)], &ip), expect4(8, 5 << 5), "uniform");
    assert_eq!(sent(&mut bench, &[(36, 0, 9), (33, 0, 9)], &ip), expect4(63, 0), "two labels");
    let padded = [&ip[..], &[0; 9]].concat();
    assert_eq!(sent(&mut bench, &[(33, 5, 9)], &padded), expect4(63, 0), "what is behind is cut");
    let six = udp6(HOST6, "2001:db8:9::9", 7, b"data");
    let out = sent(&mut bench, &[(35, 0, 9)], &six).unwrap();
    assert_eq!((&out[..2], out[2 + 7]), (&[0x86, 0xdd][..], six[7] - 1));
    assert_eq!(sent(&mut bench, &[(33, 0, 9), (99, 0, 9)], &ip), None, "whose label is 99?");
    let next = sent(&mut bench, &[(34, 3, 9), (99, 0, 200)], &ip).unwrap();
    assert_eq!(next[..6], [&[0x88, 0x47], Entry::new(99, 3, true, 8).as_bytes()].concat());
    bench.expect(&[("null-node", "blackholed packets", 1)]);
    let mut wrong = ip.clone();
    wrong[10] ^= 1;
    let node = "ip4-mpls-label-disposition-pipe";
    for (below, reason) in [
        (&wrong[..], "bad_checksum"),
        (&ip[..19], "too_short"),
        (&ip[..24], "bad_length"),
        (&six[..], "version"),
    ] {
        assert_eq!(sent(&mut bench, &[(33, 0, 9)], below), None);
        bench.expect(&[(node, reason, 1)]);
    }
}

#[test]
fn explicit_nulls_and_tables_have_packets_looked_up() {
    let mut bench = bench();
    for line in [
        "ip table add 7",
        "ip route add 20.0.0.0/8 via 10.0.1.2 pg1",
        "ip route add 2001:db8:20::/48 via 2001:db8:1::2 pg1",
        "ip route add 20.0.0.0/8 table 7 via 10.0.1.3 pg1",
        "mpls local-label add 34 eos via ip4-lookup-in-table 7",
    ] {
        set(&mut bench, line);
    }
    let four = udp4(HOST4, "20.0.0.1", 7, b"data");
    let six = udp6(HOST6, "2001:db8:20::1", 7, b"data");
    for (label, below, ethertype) in [(0, &four, 0x800), (2, &six, 0x86dd), (34, &four, 0x800)] {
        let out = bench.send("mpls-input", &[labelled(&[(label, 0, 9)], below)]);
        assert_eq!((out.len(), out[0].at.as_str()), (1, "sent"), "{label}");
        assert_eq!(out[0].bytes[12..14], u16::to_be_bytes(ethertype), "{label}");
    }
    let out = bench.send("mpls-input", &[labelled(&[(1, 0, 9)], &four)]);
    assert!(out.is_empty(), "router alert");
    for null in [0, 2] {
        let out = bench.send("mpls-input", &[labelled(&[(null, 0, 9), (34, 0, 9)], &four)]);
        assert_eq!((out.len(), &out[0].bytes[12..14]), (1, &[8, 0][..]), "{null} above 34");
    }
}

#[test]
fn labels_lead_through_labels() {
    let mut bench = bench();
    for line in [
        "mpls local-label add 34 via via-label 32 out-labels 44 ttl 64 45",
        "ip route add 20.0.0.0/8 via via-label 34 out-labels 55",
    ] {
        set(&mut bench, line);
    }
    let ip = udp4(HOST4, "20.0.0.1", 7, b"data");
    let packet = labelled(&[(34, 0, 3)], &ip);
    assert_eq!(
        bench.send("mpls-input", std::slice::from_ref(&packet)).len(),
        0,
        "32 leads nowhere yet"
    );
    bench.graph.run();
    set(&mut bench, "mpls local-label add 32 non-eos via 10.0.1.2 pg1 out-labels 33");
    let out = bench.send("mpls-input", std::slice::from_ref(&packet));
    assert_eq!(labels(&out[0]).0, [(33, 0, 64), (44, 0, 64), (45, 0, 2)]);
    let out = bench.send("ip4-lookup", std::slice::from_ref(&ip));
    let all = [(33, 0, 64), (44, 0, 64), (45, 0, 64), (55, 0, 64)];
    assert_eq!(labels(&out[0]).0, all);
    set(&mut bench, "mpls local-label del 32 non-eos");
    assert_eq!(bench.send("mpls-input", &[packet]).len(), 0);
    for word in ["sum", "brief"] {
        let summary = bench.run("show mpls fib summary").unwrap();
        assert_eq!(bench.run(&format!("show mpls fib {word}")).unwrap(), summary);
    }
    let shown = bench.run("show mpls fib table 0 34").unwrap();
    assert!(shown.contains("34:eos/21 fib:0 index:") && shown.contains("34:neos/20"), "{shown}");
    assert!(shown.contains(" refs:1 src-flags:added,contributing,active,\n"), "{shown}");
    assert!(
        shown.contains("\n forwarding:   mpls-eos-chain\n  [@0]: dpo-load-balance: "),
        "{shown}"
    );
}

#[test]
fn a_label_goes_where_the_prefix_does_that_it_is_bound_to() {
    let mut bench = bench();
    let bind = |bench: &mut Bench, mb_is_bind, prefix: &str| {
        let mb_prefix: Prefix = prefix.parse::<wire::Prefix>().unwrap().into();
        let (mb_mpls_table_id, mb_label, mb_ip_table_id) = (0, 44, 0);
        let m =
            MplsIpBindUnbind { mb_mpls_table_id, mb_label, mb_ip_table_id, mb_is_bind, mb_prefix };
        bench.talk(|local, router| local.call(router, &m).map(drop))
    };
    bind(&mut bench, true, "20.0.0.0/8").unwrap();
    set(&mut bench, "ip route add 20.0.0.0/8 via 10.0.1.2 pg1 out-labels 45");
    bench.graph.engine.clock().adjust(0.1);
    bench.control(|router| router.run_due());
    let ip = udp4(HOST4, "20.0.0.1", 7, b"data");
    let out = bench.send("mpls-input", &[labelled(&[(44, 0, 9)], &ip)]);
    assert_eq!(labels(&out[0]).0, [(45, 0, 8)]);
    let out = bench.send("mpls-input", &[labelled(&[(44, 0, 9), (99, 0, 9)], &ip)]);
    assert_eq!(labels(&out[0]).0, [(45, 0, 8), (99, 0, 9)]);
    set(&mut bench, "ip route del 20.0.0.0/8");
    set(&mut bench, "ip route add 20.0.0.0/16 via 10.0.1.2 pg1");
    bench.graph.engine.clock().adjust(0.1);
    bench.control(|router| router.run_due());
    let out = bench.send("mpls-input", &[labelled(&[(44, 0, 9)], &ip)]);
    assert_eq!(out[0].bytes[12..14], [8, 0], "looked up by its own destination");
    bind(&mut bench, false, "20.0.0.0/8").unwrap();
    assert_eq!(bind(&mut bench, false, "20.0.0.0/8"), Err(Retval::NO_SUCH_ENTRY));
    assert_eq!(bench.send("mpls-input", &[labelled(&[(44, 0, 9)], &ip)]).len(), 0);
}

#[test]
fn what_is_too_big_is_cut_below_its_labels_or_its_sender_is_told() {
    let mut bench = bench();
    set(&mut bench, "set interface mtu mpls 1000 pg1");
    set(&mut bench, "ip route add 20.0.0.0/8 via 10.0.1.2 pg1 out-labels 32 33");
    let ip = udp4(HOST4, "20.0.0.1", 7, &[7; 2000]);
    let out = bench.send("ip4-lookup", std::slice::from_ref(&ip));
    assert_eq!(out.len(), 3);
    bench.expect(&[("mpls-frag", "fragment_sent", 3)]);
    let mut body: Vec<u8> = Vec::new();
    for sent in &out {
        let (found, below) = labels(sent);
        assert_eq!(found, [(32, 0, 64), (33, 0, 64)]);
        assert!(sent.bytes.len() - 14 <= 1000);
        body.extend(&below[20..]);
    }
    assert_eq!(body, ip[20..]);
    let whole = changed4(ip, |h| h.fragment = 0x4000.into());
    bench.send("ip4-lookup", &[whole]);
    bench.expect(&[
        ("ip4-icmp-error", "dest_unreach_sent", 1),
        ("mpls-frag", "dont_fragment_set", 1),
    ]);
}

#[test]
fn copies_go_over_all_paths_of_a_multicast_label() {
    let mut bench = bench();
    let path = |addr: [u8; 4], label| {
        let mut path = FibPath { sw_if_index: bench.pg1.0, weight: 1, ..FibPath::default() };
        path.nh.address = std::net::IpAddr::from(addr).into();
        path.n_labels = 1;
        path.label_stack[0] = FibMplsLabel { label, ..FibMplsLabel::default() };
        path
    };
    let add = |paths: Vec<FibPath>, is_add| MplsRouteAddDel {
        mr_is_add: is_add,
        mr_is_multipath: false,
        mr_route: MplsRoute {
            mr_label: 3400,
            mr_eos: 1,
            mr_is_multicast: true,
            mr_paths: paths,
            ..MplsRoute::default()
        },
    };
    let route = add(vec![path([10, 0, 1, 2], 1), path([10, 0, 1, 3], 2)], true);
    bench.talk(|local, router| local.call(router, &route).map(drop)).unwrap();
    set(&mut bench, "mpls table add 0");
    let ip = udp4(HOST4, "9.9.9.9", 7, b"data");
    for n in [1, 3, 4, 255, 256] {
        let out = bench.send("mpls-input", &vec![labelled(&[(3400, 0, 9)], &ip); n]);
        assert_eq!(out.len(), 2 * n);
        for label in [1, 2] {
            let of = out.iter().filter(|sent| labels(sent) == (vec![(label, 0, 8)], &ip[..]));
            assert_eq!(of.count(), n, "{label}");
        }
    }
    let found = bench.talk(|local, router| {
        let table = MplsTable { mt_table_id: 0, ..MplsTable::default() };
        local.dump(router, &MplsRouteDump { table })
    });
    let found = found.into_iter().find(|d| d.mr_route.mr_label == 3400).unwrap().mr_route;
    assert_eq!((found.mr_paths.len(), found.mr_is_multicast, found.mr_eos), (2, true, 1));
    assert_eq!(found.mr_paths[1].label_stack[0].label, 2);
    bench.talk(|local, router| local.call(router, &add(vec![], false)).map(drop)).unwrap();
    assert_eq!(bench.send("mpls-input", &[labelled(&[(3400, 0, 9)], &ip)]).len(), 0);
}

#[test]
fn senders_of_groups_below_labels_are_told_that_hops_are_used_up() {
    let mut bench = bench();
    let path = FibPath {
        proto: FibPathNhProto::IP6,
        sw_if_index: u32::MAX,
        rpf_id: 55,
        ..FibPath::default()
    };
    let mr_route = MplsRoute {
        mr_label: 34,
        mr_eos: 1,
        mr_eos_proto: 1,
        mr_is_multicast: true,
        mr_paths: vec![path],
        ..MplsRoute::default()
    };
    let add = MplsRouteAddDel { mr_is_add: true, mr_is_multipath: false, mr_route };
    bench.talk(|local, router| local.call(router, &add).map(drop)).unwrap();
    set(&mut bench, "ip mroute add ff0e::1 rpf-id 55 via pg1 Forward");
    let six = |hops| changed6(udp6("2001:db8:1::9", "ff0e::1", 7, b"data"), |h| h.hop_limit = hops);
    let out = bench.send("mpls-input", &[labelled(&[(34, 0, 9)], &six(9))]);
    assert_eq!(out.len(), 1);
    assert_eq!((out[0].bytes[12..14].to_vec(), out[0].bytes[14 + 7]), (vec![0x86, 0xdd], 8));
    bench.send("mpls-input", &[labelled(&[(34, 0, 9)], &six(1))]);
    bench.expect(&[
        ("ip6-icmp-error", "ttl_expire_sent", 1),
        ("ip6-mpls-label-disposition-pipe", "time_expired", 1),
    ]);
    set(&mut bench, "ip mroute add ff0e::1 rpf-id 56 via pg1 Forward");
    assert!(bench.send("mpls-input", &[labelled(&[(34, 0, 9)], &six(9))]).is_empty());
}

#[test]
fn tunnels_put_their_labels_outside_those_of_routes() {
    let mut bench = bench();
    let made = bench.run("mpls tunnel via 10.0.1.2 pg1 out-labels 44 ttl 32 46 uniform").unwrap();
    assert_eq!(made, "mpls-tunnel0\n");
    for line in [
        "set interface state mpls-tunnel0 up",
        "ip route add 20.0.0.0/8 via mpls-tunnel0",
        "ip route add 21.0.0.0/8 via mpls-tunnel0 out-labels 33 ttl 47",
        "ip route add 2001:db8:20::/48 via mpls-tunnel0",
    ] {
        set(&mut bench, line);
    }
    let four = |dst: &str| with_ttl4(udp4(HOST4, dst, 7, b"data"), 24, 0);
    let out = bench.send("ip4-lookup", &[four("20.0.0.1"), four("21.0.0.1")]);
    assert_eq!(labels(&out[0]).0, [(44, 0, 32), (46, 0, 23)], "one hop for all of it");
    assert_eq!(labels(&out[1]).0, [(44, 0, 32), (46, 0, 47), (33, 0, 47)]);
    let six = changed6(udp6(HOST6, "2001:db8:20::1", 7, b"data"), |h| h.hop_limit = 24);
    let out = bench.send("ip6-lookup", &[six]);
    assert_eq!(labels(&out[0]).0, [(44, 0, 32), (46, 0, 23)]);
    set(&mut bench, "set interface mtu packet 500 mpls-tunnel0");
    for dst in ["20.0.0.1", "21.0.0.1"] {
        let big = udp4(HOST4, dst, 7, &[1; 700]);
        assert_eq!(bench.send("ip4-lookup", &[big]).len(), 2, "{dst}");
    }
    bench.graph.run();
    let shown = bench.run("show mpls tunnel").unwrap();
    let index = bench.interface("mpls-tunnel0").0;
    let head =
        format!("[@0] mpls-tunnel0: sw_if_index:{index} hw_if_index:{index} \n via:\n    via ");
    assert!(shown.starts_with(&head), "{shown}");
    set(&mut bench, "mpls tunnel del mpls-tunnel0");
    assert!(bench.send("ip4-lookup", &[four("20.0.0.1")]).is_empty());
    let made = bench.run(
        "mpls tunnel multicast via 10.0.1.2 pg1 out-labels 1 via 10.0.1.3 pg1 \
        out-labels 2",
    );
    assert_eq!(made.unwrap(), "mpls-tunnel0\n");
    set(&mut bench, "set interface state mpls-tunnel0 up");
    set(&mut bench, "ip route add 20.0.0.0/8 via mpls-tunnel0");
    let out = bench.send("ip4-lookup", &[four("20.0.0.1")]);
    let mut found: Vec<_> = out.iter().map(|sent| labels(sent).0[0]).collect();
    found.sort_unstable();
    assert_eq!(found, [(1, 0, 64), (2, 0, 64)]);
}

#[test]
fn frames_travel_below_labels_and_come_out_behind_a_control_word() {
    let mut bench = bench();
    let path = "via 10.0.1.2 pg1 out-labels 42 ttl 64 uniform";
    let made = bench.run(&format!("mpls tunnel l2-only {path}")).unwrap();
    assert_eq!(made, "mpls-tunnel0\n");
    set(&mut bench, "set interface state mpls-tunnel0 up");
    let tunnel = bench.interface("mpls-tunnel0");
    let frame = [&[9; 12], &[8, 0][..], &udp4(HOST4, "9.9.9.9", 7, b"data")].concat();
    let out = bench
        .send_as("mpls-tunnel0-output", std::slice::from_ref(&frame), move |p| p.set_tx(tunnel.0));
    assert_eq!(labels(&out[0]), (vec![(42, 0, 64)], &frame[..]), "a frame has no hops");
    for (label, flags, word) in [(55, 0, &[][..]), (56, 4, &[1; 4][..])] {
        let path = FibPath {
            sw_if_index: tunnel.0,
            kind: FibPathType::INTERFACE_RX,
            proto: FibPathNhProto::ETHERNET,
            flags: net::fib::types::FibPathFlags(flags),
            weight: 1,
            ..FibPath::default()
        };
        let route = MplsRoute {
            mr_label: label,
            mr_eos: 1,
            mr_eos_proto: 3,
            mr_paths: vec![path],
            ..MplsRoute::default()
        };
        let add = MplsRouteAddDel { mr_is_add: true, mr_is_multipath: false, mr_route: route };
        bench.talk(|local, router| local.call(router, &add).map(drop)).unwrap();
        let below = [word, &frame].concat();
        let out = bench.send("mpls-input", &[labelled(&[(label, 0, 9)], &below)]);
        assert!(out.is_empty(), "{label}: IPv4 is not enabled on the tunnel");
        bench.expect(&[("ip4-not-enabled", "not_enabled", 1)]);
    }
    set(&mut bench, "mpls local-label add eos 57 via l2-input-on mpls-tunnel0");
    assert!(bench.send("mpls-input", &[labelled(&[(57, 0, 9)], &frame)]).is_empty());
    bench.expect(&[("ip4-not-enabled", "not_enabled", 1)]);
}

#[test]
fn flows_keep_to_a_path_and_an_entropy_label_tells_them_apart() {
    let mut bench = bench();
    set(
        &mut bench,
        "mpls local-label add 32 via 10.0.1.2 pg1 out-labels 1 via 10.0.1.3 pg1 \
        out-labels 2",
    );
    let first_of = |bench: &mut Bench, i: u8| {
        let ip = udp4(HOST4, &format!("9.9.9.{i}"), 7, b"data");
        let out = bench.send("mpls-input", &[labelled(&[(32, 0, 9)], &ip)]);
        labels(&out[0]).0[0].0
    };
    let before: Vec<_> = (0..64).map(|i| first_of(&mut bench, i)).collect();
    bench.control(|router| router.set_flow_hash_seed(0x1111_1111));
    let after: Vec<_> = (0..64).map(|i| first_of(&mut bench, i)).collect();
    assert_ne!(before, after, "the router's own seed counts");
    let mut count = |packet: &dyn Fn(u8) -> Vec<u8>| {
        let packets: Vec<_> = (0..64).map(packet).collect();
        let out = bench.send("mpls-input", &packets);
        let first = out.iter().filter(|sent| labels(sent).0[0].0 == 1).count();
        assert_eq!(out.len(), 64);
        first
    };
    let ip = |i: u8| udp4(HOST4, &format!("9.9.9.{i}"), 7, b"data");
    let spread = count(&|i| labelled(&[(32, 0, 9)], &ip(i)));
    assert!((16..48).contains(&spread), "{spread}");
    let one = count(&|i| labelled(&[(32, 0, 9), (7, 0, 0), (500, 0, 0)], &ip(i)));
    assert!(one == 0 || one == 64, "all have one entropy label: {one}");
    let spread = count(&|i| labelled(&[(32, 0, 9), (7, 0, 0), (500 + u32::from(i), 0, 0)], &ip(0)));
    assert!((16..48).contains(&spread), "{spread}");
}

#[test]
fn a_neighbour_is_asked_for_once_a_second_however_many_frames_need_it() {
    let mut b = bench_with(&[net::neighbor::FEATURE]);
    b.run("ip route add 10.9.0.0/16 via 10.0.1.77 pg1 out-labels 50").unwrap();
    let questions = |b: &mut Bench, packets: &[Vec<u8>]| {
        let mut out = b.send("ip4-input", packets);
        b.control(|router| router.handle_events());
        out.extend(b.graph.run());
        out.iter().filter(|c| c.bytes.get(12..14) == Some(&[8, 6])).count()
    };
    questions(&mut b, &[]);
    let packets = vec![udp4("10.0.0.2", "10.9.1.1", 80, &[0; 20]); 3];
    let first: usize = (0..5).map(|_| questions(&mut b, &packets)).sum();
    assert_eq!(first, 1);
    b.graph.engine.clock().adjust(1.1);
    assert_eq!(questions(&mut b, &packets), 1);
}

#[test]
fn commands_and_messages_name_what_is_wrong_and_leave_nothing() {
    let mut bench = bench();
    for (line, word) in [
        ("mpls local-label add 32 via 10.0.1.2 pg9 out-labels 3", "parse error"),
        ("mpls local-label add 1048576 via 10.0.1.2 pg1", "1048576"),
        ("mpls local-label add via 10.0.1.2 pg1", "expected a label"),
        ("mpls local-label add 32", "missing path"),
        ("mpls local-label add table 9 32 via 10.0.1.2 pg1", "table 9"),
        ("mpls local-label del 32", "no such label"),
        ("mpls tunnel", "missing path"),
        ("mpls tunnel del pg0", "no such tunnel"),
        ("mpls table del 9", "no such table"),
        ("mpls table del 0", "in use"),
        ("show mpls fib table 9", "table 9"),
        ("set interface mpls pg9 enable", "pg9"),
    ] {
        let error = bench.run(line).unwrap_err();
        assert!(error.contains(word), "{line}: {error}");
    }
    let pg0 = bench.pg0;
    bench.talk(|local, router| {
        let route = |mr_table_id, mr_label, mr_paths| MplsRouteAddDel {
            mr_is_add: true,
            mr_is_multipath: false,
            mr_route: MplsRoute { mr_table_id, mr_label, mr_paths, ..MplsRoute::default() },
        };
        for (message, error) in [
            (route(9, 32, vec![]), Retval::NO_SUCH_FIB),
            (route(0, 1 << 20, vec![]), Retval::INVALID_VALUE),
            (route(0, 32, vec![]), Retval::NO_PATHS_IN_ROUTE),
        ] {
            assert_eq!(local.call(router, &message).err(), Some(error));
        }
        let enable = |i, enable| SwInterfaceSetMplsEnable { sw_if_index: i, enable };
        let nowhere = local.call(router, &enable(InterfaceIndex(99), true)).err();
        assert_eq!(nowhere, Some(Retval::INVALID_SW_IF_INDEX));
        let all = MplsInterfaceDump { sw_if_index: InterfaceIndex(u32::MAX) };
        let on: Vec<_> = local.dump(router, &all).iter().map(|d| d.sw_if_index).collect();
        assert_eq!(on, [pg0]);
        local.call(router, &enable(pg0, false)).unwrap();
        let del = MplsTableAddDel { mt_is_add: false, mt_table: MplsTable::default() };
        local.call(router, &del).unwrap();
        assert!(local.dump(router, &MplsTableDump {}).is_empty());
        assert_eq!(local.call(router, &enable(pg0, true)).err(), Some(Retval::NO_SUCH_FIB));
    });
}
