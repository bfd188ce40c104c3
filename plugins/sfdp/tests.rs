//! Packets of tenants: sessions on `pg0` and `pg1`, and services that they pass.

use control::api::Retval;
use net::testing::packets::*;
use net::testing::whole::{Bench, through};
use sfdp::*;
use wire::tcp::{self, Flags};
use wire::{Protocol, checksum};
use zerocopy::IntoBytes;

const IN: [&str; 2] = ["10.0.0.2", "2001:db8::2"];
const OUT: [&str; 2] = ["10.0.1.2", "2001:db8:1::2"];
const LOOKUP: [&str; 2] = ["sfdp-lookup-ip4", "sfdp-lookup-ip6"];

const SYN: Flags = Flags::SYN;
const SYN_ACK: Flags = Flags(0x12);
const ACK: Flags = Flags::ACK;
const FIN_ACK: Flags = Flags(0x11);
const RST: Flags = Flags::RST;

fn bench(more: &[&str]) -> Bench {
    let sample = net::Feature { default_enabled: true, ..sample::FEATURE };
    let features =
        [sessions::FEATURE, translation::FEATURE, ::acl::FEATURE, FEATURE, acl::FEATURE, sample];
    let mut b = Bench::plugged(&features);
    for line in [
        "set ip neighbor pg0 10.0.0.2 02:00:00:00:00:01",
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb",
        "set ip neighbor pg0 2001:db8::2 02:00:00:00:00:01",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb",
        "sfdp tenant add 1",
        "sfdp tenant add 2",
    ] {
        set(&mut b, line);
    }
    more.iter().for_each(|line| set(&mut b, line));
    b.graph.moved_counters();
    b
}

/// Both directions of tenants 1 (IPv4) and 2 (IPv6) pass these services, on both interfaces.
fn chained(services: &str) -> Bench {
    let mut b = bench(&[]);
    for (tenant, version, lookup) in [(1, "", "ip4-lookup"), (2, " ip6", "ip6-lookup")] {
        for direction in ["forward", "reverse"] {
            let line = format!("set sfdp services tenant {tenant} {services} {lookup} {direction}");
            set(&mut b, &line);
        }
        for interface in ["pg0", "pg1"] {
            set(&mut b, &format!("set sfdp interface-input {interface} tenant {tenant}{version}"));
        }
    }
    b.graph.moved_counters();
    b
}

#[track_caller]
fn set(b: &mut Bench, line: &str) {
    b.set(line);
}

fn packet(ends: [&str; 2], protocol: Protocol, payload: &[u8]) -> Vec<u8> {
    if ends[0].contains(':') {
        ip6(ends[0], ends[1], protocol, payload)
    } else {
        ip4(ends[0], ends[1], protocol, payload)
    }
}

fn segment(ends: [&str; 2], ports: [u16; 2], flags: Flags, [seq, ack]: [u32; 2]) -> Vec<u8> {
    let mut header = tcp::Header::new(ports[0], ports[1], seq, ack, flags);
    let bare = packet(ends, Protocol::TCP, header.as_bytes());
    let sum = if bare[0] >> 4 == 4 { sum4(&bare) } else { sum6(&bare) };
    header.checksum = sum.checksum();
    packet(ends, Protocol::TCP, header.as_bytes())
}

fn datagram(ends: [&str; 2], port: u16) -> Vec<u8> {
    if ends[0].contains(':') {
        udp6(ends[0], ends[1], port, b"x")
    } else {
        udp4(ends[0], ends[1], port, b"x")
    }
}

fn answer(packet: &[u8]) -> Vec<u8> {
    let mut answer = packet.to_vec();
    let (at, len, upper) = if packet[0] >> 4 == 4 { (12, 4, 20) } else { (8, 16, 40) };
    answer[at..at + len].copy_from_slice(&packet[at + len..at + 2 * len]);
    answer[at + len..at + 2 * len].copy_from_slice(&packet[at..at + len]);
    answer[upper..upper + 2].copy_from_slice(&packet[upper + 2..upper + 4]);
    answer[upper + 2..upper + 4].copy_from_slice(&packet[upper..upper + 2]);
    answer
}

fn icmp_error(from: &str, to: &str, about: &[u8]) -> Vec<u8> {
    let mut quoted = [&[3, 1, 0, 0, 0, 0, 0, 0], about].concat();
    let sum = checksum::Sum::ZERO.add_bytes(&quoted).checksum().to_bytes();
    quoted[2..4].copy_from_slice(&sum);
    packet([from, to], Protocol::ICMP, &quoted)
}

fn dump(b: &mut Bench) -> Vec<SfdpSessionDetails> {
    b.talk(|local, router| local.dump(router, &SfdpSessionDump {}))
}

#[test]
fn packets_of_both_directions_are_one_session_and_pass_its_services() {
    for v in 0..2 {
        for n in [1, 3, 4, 255, 256] {
            let mut b = chained("sfdp-l4-lifecycle");
            let ask = datagram([IN[v], OUT[v]], 9);
            assert_eq!(through(&mut b, false, &vec![ask.clone(); n]).len(), n);
            assert_eq!(through(&mut b, true, &vec![answer(&ask); n]).len(), n);
            let count = n as u64;
            b.expect(&[(LOOKUP[v], "flow miss", 1), (LOOKUP[v], "local flow", 2 * count - 1)]);
            let all = dump(&mut b);
            assert_eq!(all.len(), 1);
            assert_eq!((all[0].tenant_id, all[0].session_type.0), (v as u32 + 1, v as u8));
            assert_eq!(all[0].state, SfdpSessionState::ESTABLISHED);
            assert!((119.0..=120.0).contains(&all[0].remaining_time));
            let key = all[0].keys[0];
            assert_eq!(key.init_addr.native().unwrap().to_string(), IN[v]);
            assert_eq!((key.resp_port, key.context_id), (9, v as u32 + 1));
            let id = format!("show sfdp session-detail 0x{:x}", all[0].session_id);
            let shown = b.cli(&id);
            let packets = format!("    packets: {n}\n");
            assert_eq!(shown.matches(&packets).count(), 2, "{shown}");
            assert_eq!(b.graph.buffers_used(), 0);
        }
    }
}

#[test]
fn a_tenant_without_services_drops_and_unknown_protocols_have_no_sessions() {
    let mut b = bench(&[
        "set sfdp interface-input pg0 tenant 1",
        "set sfdp interface-input pg0 tenant 2 ip6",
    ]);
    for v in 0..2 {
        let odd = packet([IN[v], OUT[v]], Protocol(253), &[0; 8]);
        let ask = datagram([IN[v], OUT[v]], 9);
        assert_eq!(through(&mut b, false, &[odd, ask]).len(), 0);
        b.expect(&[
            (LOOKUP[v], "unknown protocol", 1),
            (LOOKUP[v], "flow miss", 1),
            ("sfdp-drop", "drop", 1),
        ]);
    }
    assert_eq!(dump(&mut b).len(), 2);
    // Where the tenant says so, they go elsewhere.
    set(&mut b, "set sfdp sp-node tenant 1 ip4-unknown-proto node ip4-lookup");
    let odd = packet([IN[0], OUT[0]], Protocol(253), &[0; 8]);
    assert_eq!(through(&mut b, false, &[odd]).len(), 1);
    // The link's own packets are no tenant's.
    let solicitation = packet(["fe80::1", "2001:db8::1"], Protocol::ICMP6, &[135; 24]);
    let mut solicitation = solicitation;
    solicitation[7] = 255;
    through(&mut b, false, &[solicitation]);
    assert_eq!(dump(&mut b).len(), 2);
}

#[test]
fn tenants_with_contexts_of_their_own_do_not_share_sessions() {
    let mut b = bench(&[
        "sfdp tenant add 3 context 1",
        "set sfdp interface-input pg0 tenant 1",
        "set sfdp interface-input pg1 tenant 2",
    ]);
    let ask = datagram([IN[0], OUT[0]], 9);
    through(&mut b, false, std::slice::from_ref(&ask));
    through(&mut b, true, &[answer(&ask)]);
    assert_eq!(dump(&mut b).len(), 2);
    let refused = b.cli("set sfdp interface-input pg1 tenant 3");
    assert!(refused.contains("belongs to tenant 2"), "{refused}");
    let refused = b.cli("set sfdp interface-input pg1 tenant 1 disable");
    assert!(refused.contains("does not belong to that tenant"), "{refused}");
    set(&mut b, "set sfdp interface-input pg1 tenant 2 disable");
    set(&mut b, "set sfdp interface-input pg1 tenant 2 disable");
    set(&mut b, "set sfdp interface-input pg1 tenant 3");
    through(&mut b, true, &[answer(&ask)]);
    assert_eq!(dump(&mut b).len(), 2, "one context, one session");
}

/// The state and the time that is left of the only session.
fn left(b: &mut Bench) -> (u8, u32) {
    let all = dump(b);
    assert_eq!(all.len(), 1);
    (all[0].state.0, all[0].remaining_time.round() as u32)
}

/// Sends a segment from `pg0`, or from outside; whether it passes.
fn step(b: &mut Bench, v: usize, is_outside: bool, flags: Flags, numbers: [u32; 2]) -> bool {
    let (ends, ports) = match is_outside {
        true => ([OUT[v], IN[v]], [80, 4000]),
        false => ([IN[v], OUT[v]], [4000, 80]),
    };
    !through(b, is_outside, &[segment(ends, ports, flags, numbers)]).is_empty()
}

/// Services that follow a connection, and both of them.
const FOLLOWING: [&str; 4] = [
    "sfdp-l4-lifecycle",
    "sfdp-tcp-check",
    "sfdp-l4-lifecycle sfdp-tcp-check",
    "sfdp-tcp-check sfdp-l4-lifecycle",
];

/// A segment: whether of the far side, its flags and numbers, and the state and timeout after it.
type Step = (bool, Flags, [u32; 2], (u8, u32));

/// The handshake.
const HANDSHAKE: [Step; 3] = [
    (false, SYN, [100, 0], (0, 5)),
    (true, SYN_ACK, [900, 101], (0, 5)),
    (false, ACK, [101, 901], (1, 3600)),
];

#[test]
fn a_connection_lasts_from_its_handshake_to_the_first_fin_and_ends_with_the_last() {
    for services in FOLLOWING {
        for (v, first) in [(0, false), (0, true), (1, false), (1, true)] {
            let mut b = chained(services);
            let [mine, other] = if first { [901, 101] } else { [101, 901] };
            let steps = [
                (first, FIN_ACK, [mine, other], (1, 5)),
                (!first, ACK, [other, mine + 1], (1, 5)),
                (!first, ACK, [other, mine + 1], (1, 5)),
                (!first, FIN_ACK, [other, mine + 1], (1, 5)),
            ];
            for (is_outside, flags, numbers, expected) in HANDSHAKE.into_iter().chain(steps) {
                assert!(step(&mut b, v, is_outside, flags, numbers));
                assert_eq!(left(&mut b), expected, "{services} {flags}");
                b.wait(1.0);
            }
            assert!(step(&mut b, v, first, ACK, [mine + 1, other + 1]));
            b.wait(0.01);
            assert_eq!(dump(&mut b).len(), 0, "{services}");
            assert!(step(&mut b, v, false, SYN, [700, 0]));
            assert_eq!(left(&mut b), (0, 5));
            assert!(b.cli("show sfdp tenant").contains("sessions created 2 removed 1"));
        }
    }
}

#[test]
fn a_reset_of_either_side_ends_a_session_whatever_its_state() {
    for services in FOLLOWING {
        for (v, known, is_outside) in [(0, 1, true), (1, 2, false), (0, 3, false), (1, 3, true)] {
            let mut b = chained(services);
            for (from, flags, numbers, _) in HANDSHAKE.into_iter().take(known) {
                assert!(step(&mut b, v, from, flags, numbers));
            }
            assert!(step(&mut b, v, is_outside, RST, [901, 101]));
            b.wait(0.01);
            assert_eq!(dump(&mut b).len(), 0, "{services}");
        }
    }
}

#[test]
fn what_begins_without_a_syn_ends_with_the_packet_or_is_blocked() {
    for services in FOLLOWING {
        for (v, flags) in [(0, ACK), (1, SYN_ACK), (0, FIN_ACK), (1, RST)] {
            let mut b = chained(services);
            assert!(step(&mut b, v, false, flags, [5, 5]), "{services} {flags}");
            b.wait(0.01);
            assert_eq!(dump(&mut b).len(), 0, "{services} {flags}");
            set(&mut b, "set sfdp tcp-check fsol-non-syn security");
            b.graph.moved_counters();
            // It is blocked for its timeout, whatever comes meanwhile.
            assert!(!step(&mut b, v, false, flags, [5, 5]));
            assert_eq!(left(&mut b), (0, 30));
            b.wait(10.0);
            assert!(!step(&mut b, v, true, ACK, [5, 6]));
            assert!(!step(&mut b, v, false, SYN, [5, 6]));
            b.expect(&[
                (LOOKUP[v], "flow miss", 1),
                (LOOKUP[v], "local flow", 2),
                ("sfdp-drop", "drop", 3),
            ]);
            assert_eq!(left(&mut b), (0, 20));
            let shown = b.cli("show sfdp tcp session-table");
            assert!(shown.contains("blocked"), "{shown}");
        }
    }
}

#[test]
fn a_packet_one_way_does_not_keep_a_session_alive() {
    let mut b = chained("sfdp-l4-lifecycle");
    let ask = datagram([IN[0], OUT[0]], 9);
    for _ in 0..3 {
        through(&mut b, false, std::slice::from_ref(&ask));
        b.wait(2.0);
    }
    assert_eq!(dump(&mut b).len(), 0);
}

#[test]
fn a_timeout_that_is_changed_is_that_of_packets_from_then_on() {
    let mut b = chained("sfdp-l4-lifecycle");
    let ask = datagram([IN[0], OUT[0]], 9);
    through(&mut b, false, std::slice::from_ref(&ask));
    through(&mut b, true, &[answer(&ask)]);
    set(&mut b, "set sfdp timeout tenant 1 established 7");
    assert_eq!(left(&mut b), (1, 120));
    through(&mut b, false, &[ask]);
    assert_eq!(left(&mut b), (1, 7));
    assert!(b.cli("set sfdp timeout tenant 1 nothing 7").contains("no timeout nothing"));
}

#[test]
fn other_protocols_pass_the_check_and_flags_of_connections_are_listed() {
    let mut b = chained("sfdp-tcp-check");
    set(&mut b, "set sfdp tcp-check fsol-non-syn security");
    let ask = datagram([IN[0], OUT[0]], 9);
    assert_eq!(through(&mut b, false, std::slice::from_ref(&ask)).len(), 1);
    assert_eq!(through(&mut b, true, &[answer(&ask)]).len(), 1);
    set(&mut b, "kill sfdp session all");
    for (from, flags, numbers, _) in HANDSHAKE {
        assert!(step(&mut b, 0, from, flags, numbers));
    }
    let all = b.talk(|local, router| local.dump(router, &SfdpTcpSessionDump {}));
    assert_eq!(all[0].flags, SfdpTcpCheckSessionFlags::ESTABLISHED);
    assert!(b.cli("show sfdp tcp session-table").contains("10.0.1.2:80 established"));
}

#[test]
fn connections_with_a_lifecycle_are_listed_as_checked() {
    let mut b = chained("sfdp-l4-lifecycle");
    let all = b.talk(|local, router| local.dump(router, &SfdpServiceDump {}));
    let bit = |name: &str| all.iter().find(|s| s.node_name.as_str() == name).unwrap().index;
    let [lifecycle, check] = ["sfdp-l4-lifecycle", "sfdp-tcp-check"].map(bit);
    through(&mut b, false, &[datagram([IN[0], OUT[0]], 9)]);
    let of = |b: &mut Bench| {
        let bits = dump(b)[0].forward_bitmap;
        let id = format!("show sfdp session-detail 0x{:x}", dump(b)[0].session_id);
        (bits >> lifecycle & 1, bits >> check & 1, b.cli(&id))
    };
    let (began, checked, shown) = of(&mut b);
    assert_eq!((began, checked), (1, 0));
    assert!(shown.contains("forward service chain: sfdp-l4-lifecycle,ip4-lookup,"), "{shown}");
    set(&mut b, "kill sfdp session all");
    for (from, flags, numbers, _) in HANDSHAKE {
        assert!(step(&mut b, 0, from, flags, numbers));
    }
    let (began, checked, shown) = of(&mut b);
    assert_eq!((began, checked), (0, 1));
    assert!(shown.contains("reverse service chain: sfdp-tcp-check,ip4-lookup,"), "{shown}");
}

#[test]
fn icmp_errors_go_the_way_of_the_session_that_they_are_about() {
    let mut b = chained("sfdp-l4-lifecycle");
    let ask = datagram([IN[0], OUT[0]], 9);
    let error = icmp_error("10.0.1.9", IN[0], &ask);
    assert_eq!(through(&mut b, true, std::slice::from_ref(&error)).len(), 0);
    b.expect(&[("sfdp-lookup-ip4-icmp", "no session", 1)]);
    through(&mut b, false, &[ask]);
    b.graph.moved_counters();
    assert_eq!(through(&mut b, true, &[error]).len(), 1);
    b.expect(&[]);
    assert_eq!(left(&mut b).0, 0, "an error is no answer");
    let cut = icmp_error("10.0.1.9", IN[0], &[0x45, 0, 0, 0]);
    assert_eq!(through(&mut b, true, &[cut]).len(), 0);
    b.expect(&[("sfdp-lookup-ip4-icmp", "invalid inner packet", 1)]);
}

#[test]
fn sources_are_translated_and_answers_back() {
    let mut b = bench(&[
        "sfdp nat alloc-pool add 7 192.0.2.1",
        "set sfdp services tenant 1 sfdp-l4-lifecycle sfdp-nat-late-rewrite sfdp-nat-output forward",
        "set sfdp services tenant 1 sfdp-nat-early-rewrite sfdp-l4-lifecycle ip4-lookup reverse",
        "set sfdp nat snat tenant 1 outside-tenant 2 table 0 alloc-pool 7",
        "set sfdp interface-input pg0 tenant 1",
        "set sfdp nat external-interface pg1 tenant 2",
    ]);
    for n in [1, 3, 4, 255, 256] {
        let ask = datagram([IN[0], OUT[0]], 9);
        let out = through(&mut b, false, &vec![ask.clone(); n]);
        assert_eq!(out.len(), n);
        assert_eq!(out[0][12..16], [192, 0, 2, 1]);
        super::nat44_ed::check(&out[0]);
        let back = through(&mut b, true, &vec![answer(&out[0]); n]);
        assert_eq!(back.len(), n);
        assert_eq!(
            (&back[0][12..20], &back[0][20..24]),
            (&answer(&ask)[12..20], &answer(&ask)[20..24])
        );
        super::nat44_ed::check(&back[0]);
        // An error about it is for the host, too.
        let error = icmp_error("10.0.1.9", "192.0.2.1", &out[0]);
        let told = through(&mut b, true, &[error]);
        assert_eq!(told[0][16..20], ask[12..16]);
        assert_eq!(told[0][28 + 12..28 + 20], ask[12..20]);
    }
    let all = dump(&mut b);
    assert_eq!((all.len(), all[0].keys.len()), (1, 2));
    assert!(b.cli("sfdp nat alloc-pool del 7").contains("pool 7 is used by tenant 1"));
    // An unsolicited packet finds no session, and its tenant has no services.
    b.graph.moved_counters();
    assert_eq!(through(&mut b, true, &[datagram([OUT[0], "192.0.2.1"], 99)]).len(), 0);
    b.expect(&[("sfdp-lookup-ip4", "flow miss", 1), ("sfdp-drop", "drop", 1)]);
    set(&mut b, "set sfdp nat snat tenant 1 disable");
    set(&mut b, "sfdp nat alloc-pool del 7");
}

#[test]
fn a_full_table_lets_the_oldest_go_and_counts_what_finds_no_room() {
    let mut b = chained("sfdp-l4-lifecycle");
    let packets: Vec<_> = (0..64).map(|port| datagram([IN[0], OUT[0]], 100 + port)).collect();
    through(&mut b, false, &packets);
    assert_eq!(dump(&mut b).len(), 64);
    set(&mut b, "kill sfdp session all");
    assert_eq!(dump(&mut b).len(), 0);
    // Ended flows are free: the same start again.
    assert_eq!(through(&mut b, false, &packets).len(), 64);
    let number = dump(&mut b)[3].session_idx;
    set(&mut b, &format!("kill sfdp session index {number}"));
    assert_eq!(dump(&mut b).len(), 63);
    assert!(b.cli(&format!("kill sfdp session index {number}")).contains("no such session"));
    set(&mut b, "sfdp tenant del 1");
    assert_eq!(dump(&mut b).len(), 0);
    assert!(b.cli("show sfdp status").contains("number of active sessions: 0"));
    assert_eq!(through(&mut b, false, &packets[..1]).len(), 1, "it is no tenant's any more");
}

#[test]
fn the_sample_has_a_timeout_and_a_parser_of_its_own() {
    let mut b = bench(&[
        "set sfdp services tenant 1 sample-non-terminal ip4-lookup forward",
        "set sfdp services tenant 1 sample-non-terminal ip4-lookup reverse",
        "set sfdp timeout tenant 1 sample-timeout 10",
        "set sfdp sample-parser pg0 tenant 1",
        "set sfdp sample-parser pg1 tenant 1",
    ]);
    let ask = datagram([IN[0], OUT[0]], 9);
    assert_eq!(through(&mut b, false, &vec![ask.clone(); 5]).len(), 5);
    assert_eq!(through(&mut b, true, &[answer(&ask)]).len(), 1);
    assert_eq!(left(&mut b), (1, 10));
    assert_eq!(dump(&mut b)[0].session_type, SfdpSessionType::USER);
    assert!(b.cli("show sfdp session-table").contains("custom-parser: sample-ip4-parser"));
    b.wait(11.5);
    assert_eq!(dump(&mut b).len(), 0);
}

#[test]
fn the_access_list_of_a_tenant_says_what_passes() {
    let mut b = chained("sfdp-l4-lifecycle sfdp-acl-sample");
    let tcp = [0, 1].map(|v| segment([IN[v], OUT[v]], [1000, 80], SYN, [1, 0]));
    let udp = [0, 1].map(|v| datagram([IN[v], OUT[v]], 9));
    assert_eq!(through(&mut b, false, &[&tcp[..], &udp].concat()).len(), 4, "there is no list");
    b.cli("set acl-plugin acl permit proto 17, permit src 2001:db8::/32");
    for line in ["set sfdp acl tenant 1 acl_index 0", "set sfdp acl tenant 2 acl_index 0"] {
        set(&mut b, line);
    }
    b.graph.moved_counters();
    let passed = through(&mut b, false, &[&tcp[..], &udp].concat());
    assert_eq!(passed.len(), 3, "the first rule is about IPv4, which TCP is not permitted in");
    b.expect(&[
        ("sfdp-lookup-ip4", "local flow", 2),
        ("sfdp-lookup-ip6", "local flow", 2),
        ("sfdp-acl-sample", "drop", 1),
    ]);
    assert_eq!(through(&mut b, true, &[answer(&udp[0])]).len(), 1, "answers pass the list, too");
    let unreachable = icmp_error("10.0.1.9", IN[0], &udp[0]);
    assert_eq!(through(&mut b, true, &[unreachable]).len(), 1, "errors are about what passed");
    assert!(b.cli("delete acl-plugin acl index 0").contains("in use by another feature"));
    set(&mut b, "set sfdp acl tenant 1 acl_index 0 disable");
    assert_eq!(through(&mut b, false, &tcp[..1]).len(), 1);
}

#[test]
fn words_of_commands_come_in_any_order() {
    let mut b = bench(&[]);
    for line in [
        "sfdp tenant context 7 77 add",
        "set sfdp services sfdp-l4-lifecycle forward tenant 77",
        "set sfdp timeout embryonic 9 tenant 77",
        "set sfdp sp-node node ip4-lookup ip4-unknown-proto tenant 77",
        "set sfdp icmp-error-node node ip4-lookup ip4 tenant 77",
        "set sfdp interface-input ip6 tenant 77 pg0",
        "sfdp nat alloc-pool 3 10.9.9.1 add 10.9.9.2",
        "set sfdp nat snat alloc-pool 3 outside-tenant 2 tenant 1 table 0",
        "set sfdp nat external-interface tenant 2 pg1",
    ] {
        set(&mut b, line);
    }
    let shown = b.cli("show sfdp tenant detail 77");
    for part in ["sfdp-l4-lifecycle", "embryonic: 9", "ip4-lookup"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    for line in [
        "set sfdp nat external-interface disable tenant 2 pg1",
        "set sfdp nat snat disable tenant 1",
        "sfdp nat alloc-pool 3 del",
        "set sfdp interface-input disable pg0 tenant 77 ip6",
        "sfdp tenant 77 del",
    ] {
        set(&mut b, line);
    }
    assert!(b.cli("sfdp tenant del 77").contains("no tenant 77"));
}

#[test]
fn requests_that_make_no_sense_are_refused_and_change_nothing() {
    let mut b = bench(&[]);
    for (line, why) in [
        ("sfdp tenant add 1", "tenant 1 exists"),
        ("sfdp tenant del 9", "no tenant 9"),
        ("set sfdp services tenant 1 sfdp-drop nothing forward", "no service nothing"),
        ("set sfdp services tenant 9 sfdp-drop forward", "no tenant 9"),
        ("set sfdp services tenant 1 sfdp-drop", "forward or reverse"),
        ("set sfdp timeout tenant 9 embryonic 1", "no tenant 9"),
        ("set sfdp sp-node tenant 1 nothing node ip4-lookup", "no sp-node nothing"),
        ("set sfdp sp-node tenant 1 ip4-reass node nothing", "no node nothing"),
        ("set sfdp interface-input pg0 tenant 9", "no tenant 9"),
        ("set sfdp nat snat tenant 1 outside-tenant 2 alloc-pool 3", "no pool 3"),
        ("set sfdp acl tenant 9 acl_index 0", "no tenant 9"),
        ("set sfdp acl tenant 1 acl_index 0", "no access list 0"),
        ("set sfdp acl tenant 1 acl_index 0 disable", "does not have access list 0"),
        ("set sfdp acl tenant 1", "missing acl-index"),
        ("set sfdp nat snat tenant 1 disable", "not enabled for tenant 1"),
        ("sfdp nat alloc-pool add 1", "1 to 65536 addresses"),
        ("set sfdp eviction sessions-margin 99999999", "at most"),
        ("show sfdp session-detail 77", "0x"),
    ] {
        let said = b.cli(line);
        assert!(said.contains(why), "{line}: {said}");
    }
    b.talk(|local, router| {
        let timeout = SfdpSetTimeout { tenant_id: 1, timeout_value: 1, timeout_id: 255 };
        assert_eq!(local.call(router, &timeout).err(), Some(Retval::UNSPECIFIED));
        let names: Vec<_> = local
            .dump(router, &SfdpTimeoutDump { tenant_id: u32::MAX })
            .into_iter()
            .map(|row| (row.name.to_string(), row.timeout_value))
            .collect();
        assert_eq!(names[0], ("embryonic".to_owned(), 5));
        let services = local.dump(router, &SfdpServiceDump {});
        assert!(services.iter().all(|row| &*row.scope == "default"));
    });
}
