use control::process::Processes;
use graph::testing::Caught;
use proptest::prelude::*;
use wire::{Protocol, ip4, ip6};
use zerocopy::IntoBytes;

use super::*;
use crate::ip::testing::Bench;
use crate::ip::testing::packets::*;

const FULL4: &str = "ip4-full-reassembly-feature";
const FULL6: &str = "ip6-full-reassembly-feature";
const SHALLOW4: &str = "ip4-sv-reassembly-feature";
const SHALLOW6: &str = "ip6-sv-reassembly-feature";

fn bench(kind: Kind, config: Config) -> Bench {
    let mut bench = Bench::new();
    let pg0 = bench.pg0;
    bench.control(|r| {
        r.enable_reassembly(pg0, kind, [true; 2]).unwrap();
        r.set_reassembly(0, kind, config).unwrap();
        r.set_reassembly(1, kind, config).unwrap();
    });
    bench
}

const PATIENT: Config = Config { timeout: 1000.0, most: 1000, longest: 1000, walk: 10.0 };

/// Cuts a packet at multiples of 8 bytes of its data.
fn cut(packet: &[u8], id: u16, len: usize) -> Vec<Vec<u8>> {
    let is_4 = packet[0] >> 4 == 4;
    let (front, data) = packet.split_at(if is_4 { 20 } else { 40 });
    let count = data.len().div_ceil(len);
    let piece = |(i, data): (usize, &[u8])| piece(front, i * len, data, i + 1 < count, id);
    data.chunks(len).enumerate().map(piece).collect()
}

/// One fragment of the packet that starts with the IP header `front`.
fn piece(front: &[u8], offset: usize, data: &[u8], more: bool, id: u16) -> Vec<u8> {
    if front[0] >> 4 == 4 {
        let packet = [front, data].concat();
        return changed4(packet, |h| {
            h.id = id.into();
            h.total_len = (20 + data.len() as u16).into();
            h.fragment = ((offset / 8) as u16 | (u16::from(more) * ip4::MORE_FRAGMENTS)).into();
        });
    }
    let fragment = ip6::FragmentHeader {
        next_header: Protocol(front[6]),
        reserved: 0,
        offset_more: (offset as u16 | u16::from(more)).into(),
        id: u32::from(id).into(),
    };
    let packet = [front, fragment.as_bytes(), data].concat();
    changed6(packet, |h| {
        h.next_header = Protocol::FRAGMENT;
        h.payload_len = (8 + data.len() as u16).into();
    })
}

fn packet(is_4: bool, data: &[u8]) -> Vec<u8> {
    if is_4 { udp4(HOST4, "16.0.0.1", 1, data) } else { udp6(HOST6, "2001:db8:ff::1", 1, data) }
}

fn send(bench: &mut Bench, packets: &[Vec<u8>]) -> Vec<Caught> {
    let is_4 = packets[0][0] >> 4 == 4;
    bench.send(if is_4 { "ip4-input" } else { "ip6-input" }, packets)
}

/// Packets for the lookup, with the identification gone, which the whole keeps.
fn forwarded(out: &[Caught]) -> Vec<Vec<u8>> {
    let on = out.iter().filter(|c| c.at.ends_with("-lookup"));
    on.map(|c| match c.bytes[0] >> 4 {
        4 => changed4(c.bytes.clone(), |h| h.id = 0.into()),
        _ => c.bytes.clone(),
    })
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn fragments_in_any_order_are_the_packet(
        is_4: bool,
        len in 17..6000_usize,
        room in 1..190_usize,
        seed: u64,
    ) {
        let data: Vec<u8> = (0..len).map(|i| (i * 13 + i / 256) as u8).collect();
        let packet = packet(is_4, &data);
        let mut fragments = cut(&packet, 5, room * 8);
        let copies = fragments.clone();
        fragments.extend(copies.into_iter().skip(1).step_by(3)); // some twice
        let mut state = seed | 1;
        for i in (1..fragments.len()).rev() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            fragments.swap(i, (state >> 33) as usize % (i + 1));
        }
        fragments.retain(|f| f[6] & 0x1f != 0 || f[7] != 1 || !is_4); // offset 8 is refused
        let mut bench = bench(Kind::Full, PATIENT);
        let mut out = Vec::new();
        for fragment in fragments {
            out.extend(send(&mut bench, &[fragment]));
        }
        let is_refused = is_4 && room == 1;
        let is_single = packet.len() - if is_4 { 20 } else { 40 } <= room * 8;
        if is_refused {
            prop_assert_eq!(forwarded(&out).len(), 0);
        } else {
            prop_assert_eq!(&forwarded(&out)[0], &packet);
            prop_assert!(is_single || forwarded(&out).len() == 1);
        }
    }
}

#[test]
fn whole_packets_pass_and_fragments_are_counted() {
    for n in [1, 3, 4, 255, 256] {
        let mut bench = bench(Kind::Full, PATIENT);
        let whole = packet(true, b"whole");
        assert_eq!(send(&mut bench, &vec![whole; n]).len(), n);
        bench.expect(&[]);
    }
    let mut bench = bench(Kind::Full, PATIENT);
    let out = send(&mut bench, &cut(&packet(true, &[7; 1000]), 1, 400));
    assert_eq!(forwarded(&out), [packet(true, &[7; 1000])]);
    bench.expect(&[
        (FULL4, "reass_success", 1),
        (FULL4, "reass_fragments_reassembled", 3),
        (FULL4, "reass_fragments_rcvd", 3),
    ]);
}

#[test]
fn fragments_of_ip4_may_overlap_and_those_of_ip6_not() {
    let data: Vec<u8> = (0..1192u32).map(|i| i as u8).collect();
    for is_4 in [true, false] {
        let mut bench = bench(Kind::Full, PATIENT);
        let packet = packet(is_4, &data);
        let (fine, coarse) = (cut(&packet, 1, 200), cut(&packet, 1, 304));
        let mixed: Vec<_> = fine.into_iter().zip(coarse).flat_map(|(a, b)| [a, b]).collect();
        let out = send(&mut bench, &mixed[..8]);
        assert_eq!(forwarded(&out).len(), usize::from(is_4));
        if is_4 {
            assert_eq!(forwarded(&out), [packet]);
            assert_eq!(bench.graph.buffers_used(), 0);
        }
    }
    let mut bench = bench(Kind::Full, PATIENT);
    let pieces = cut(&packet(false, &[0; 800]), 1, 400);
    let front = &packet(false, &[0; 800])[..40];
    let over = piece(front, 392, &[1; 400], true, 1);
    assert!(send(&mut bench, &[pieces[0].clone(), over]).is_empty());
    bench.expect(&[(FULL6, "reass_overlapping_fragment", 1), (FULL6, "reass_fragments_rcvd", 2)]);
}

#[test]
fn malformed_fragments_are_dropped_or_told() {
    let mut bench = bench(Kind::Full, PATIENT);
    let front = &packet(true, &[])[..20];
    let odd = piece(front, 0, &[0; 9], true, 1);
    let far = piece(front, 65528, &[0; 100], false, 2);
    let empty = piece(front, 800, &[], false, 3);
    assert!(send(&mut bench, &[odd, far, empty]).is_empty());
    bench.expect(&[(FULL4, "reass_malformed_packet", 3), (FULL4, "reass_fragments_rcvd", 3)]);
    // Beyond what the last fragment said.
    let last = piece(front, 80, &[0; 16], false, 4);
    let beyond = piece(front, 96, &[0; 16], true, 4);
    assert!(send(&mut bench, &[last, beyond]).is_empty());
    bench.expect(&[(FULL4, "reass_malformed_packet", 1), (FULL4, "reass_fragments_rcvd", 2)]);

    let front = &packet(false, &[])[..40];
    let odd = piece(front, 0, &[0; 21], true, 1);
    let far = piece(front, 65528, &[0; 100], false, 2);
    let options = [&[17, 0, 1, 4, 0, 0, 0, 0][..]].concat();
    let mut missing = piece(front, 0, &options, true, 3);
    missing[40] = Protocol::DESTINATION_OPTIONS.0;
    let told = send(&mut bench, &[odd, far, missing]);
    let said: Vec<_> = told.iter().map(|c| (c.bytes[40], c.bytes[41], c.bytes[47])).collect();
    assert_eq!(said, [(4, 0, 4), (4, 0, 42), (4, 3, 0)]);
    bench.expect(&[
        ("ip6-icmp-error", "param_problem_sent", 3),
        (FULL6, "reass_missing_upper", 1),
        (FULL6, "reass_invalid_frag_size", 1),
        (FULL6, "reass_invalid_frag_len", 1),
        (FULL6, "reass_fragments_rcvd", 3),
    ]);
}

#[test]
fn the_only_fragment_is_the_packet_beside_others() {
    let mut bench = bench(Kind::Full, PATIENT);
    let long = packet(false, &[3; 1000]);
    let pieces = cut(&long, 1, 400);
    let short = packet(false, b"only");
    assert!(send(&mut bench, &pieces[..1]).is_empty());
    let only = piece(&short[..40], 0, &short[40..], false, 1);
    assert_eq!(forwarded(&send(&mut bench, &[only])), [short]);
    assert_eq!(forwarded(&send(&mut bench, &pieces[1..])), [long]);
}

#[test]
fn limits_hold() {
    let few = Config { longest: 3, ..PATIENT };
    for (is_4, node) in [(true, FULL4), (false, FULL6)] {
        let mut bench = bench(Kind::Full, few);
        let long = cut(&packet(is_4, &[0; 1000]), 1000, 176);
        let short = cut(&packet(is_4, &[0; 1000]), 1001, 480);
        let out = send(&mut bench, &[long, short].concat());
        assert_eq!(forwarded(&out).len(), 1);
        let counters = bench.graph.engine.errors();
        let of =
            |name| counters.iter().find(|c| c.1 == node && c.2.name == name).map_or(0, |c| c.3);
        assert_eq!((of("reass_fragment_chain_too_long"), of("reass_success")), (1, 1));
    }
    let mut bench = bench(Kind::Full, Config { most: 0, ..PATIENT });
    assert!(send(&mut bench, &cut(&packet(true, &[0; 1000]), 1, 400)).is_empty());
    bench.expect(&[(FULL4, "reass_limit_reached", 3), (FULL4, "reass_fragments_rcvd", 3)]);
}

/// Makes control handle the requests of the data plane, and due work.
fn walk(bench: &mut Bench, seconds: f64) -> Vec<Caught> {
    bench.control(|r| {
        r.handle_events();
        let now = r.now();
        for _ in 0..3 {
            Processes::run_due(r, |r| &mut r.processes, now);
        }
        r.engine.clock().adjust(seconds);
        Processes::run_due(r, |r| &mut r.processes, now + seconds);
    });
    bench.graph.run()
}

#[test]
fn what_stays_incomplete_is_given_up() {
    for (is_4, node) in [(true, FULL4), (false, FULL6)] {
        let mut bench = bench(Kind::Full, Config { timeout: 0.1, walk: 0.05, ..PATIENT });
        let pieces = cut(&packet(is_4, &[0; 1000]), 1, 400);
        assert!(send(&mut bench, &pieces[..2]).is_empty());
        assert_eq!(bench.graph.buffers_used(), 2);
        let told = walk(&mut bench, 0.25);
        assert_eq!(told.len(), usize::from(!is_4));
        if let [told] = &told[..] {
            assert_eq!(
                (told.bytes[40..42].to_vec(), &told.bytes[48..]),
                (vec![3, 1], &pieces[0][..])
            );
        }
        assert_eq!(bench.graph.buffers_used(), 0);
        assert!(send(&mut bench, &pieces[2..]).is_empty());
        let counters = bench.graph.engine.errors();
        let late = counters.iter().find(|c| c.1 == node && c.2.name == "reass_timeout").unwrap();
        assert_eq!(late.3, 1);
    }
    let mut bench = bench(Kind::Full, Config { timeout: 0.0, ..PATIENT });
    assert!(send(&mut bench, &cut(&packet(true, &[0; 1000]), 1, 400)).is_empty());
}

#[test]
fn packets_for_us_are_put_together_unless_that_is_off() {
    let ping = ping4(HOST4, "10.0.0.1", &[1; 1000]);
    let pieces = cut(&ping, 9, 400);
    let mut bench = Bench::new();
    let out = bench.send("ip4-receive", &pieces);
    assert_eq!((out.len(), out[0].bytes.len()), (1, ping.len()));
    bench.expect(&[
        ("ip4-icmp-input", "echo_replies_sent", 1),
        ("ip4-local-full-reassembly", "reass_success", 1),
        ("ip4-local-full-reassembly", "reass_fragments_reassembled", 3),
        ("ip4-local-full-reassembly", "reass_fragments_rcvd", 3),
    ]);
    bench.control(|r| r.set_local_reassembly([false, true]));
    assert!(bench.send("ip4-receive", &pieces).is_empty());
    bench.expect(&[("ip4-local-full-reassembly", "drop", 3)]);
}

#[test]
fn fragments_follow_the_first() {
    let mut bench = bench(Kind::Shallow, PATIENT);
    let pieces = cut(&packet(true, &[0; 1000]), 1, 248);
    assert!(send(&mut bench, &pieces[1..2]).is_empty());
    let out = send(&mut bench, &pieces[..1]);
    let bytes: Vec<_> = out.iter().map(|c| c.bytes.clone()).collect();
    assert_eq!(bytes, [pieces[1].clone(), pieces[0].clone()]);
    assert!(out.iter().all(|c| c.at == "ip4-lookup"));
    assert_eq!(send(&mut bench, &pieces[2..]).len(), pieces.len() - 2);
    bench.expect(&[(SHALLOW4, "reass_success", 1), (SHALLOW4, "reass_fragments_rcvd", 5)]);
}

#[test]
fn fragments_that_do_not_fit_together_follow_the_first_all_the_same() {
    for (is_4, node) in [(true, SHALLOW4), (false, SHALLOW6)] {
        let mut bench = bench(Kind::Shallow, PATIENT);
        let whole = packet(is_4, &[0; 100]);
        let (front, data) = whole.split_at(if is_4 { 20 } else { 40 });
        let odd = piece(front, 0, &data[..14], true, 1);
        assert_eq!(send(&mut bench, &[odd])[0].at, if is_4 { "ip4-lookup" } else { "ip6-lookup" });
        bench.expect(&[(node, "reass_success", 1), (node, "reass_fragments_rcvd", 1)]);
    }
}

#[test]
fn fragments_without_ports_do_not_pass_and_are_given_up_when_control_says_so() {
    for (is_4, node, name) in
        [(true, SHALLOW4, "reass_unsupp_ip_prot"), (false, SHALLOW6, "reass_unsupp_ip_proto")]
    {
        let mut bench = bench(Kind::Shallow, PATIENT);
        let igp = Protocol(9);
        let whole = match is_4 {
            true => ip4(HOST4, "16.0.0.1", igp, &[0; 1000]),
            false => ip6(HOST6, "2001:db8:ff::1", igp, &[0; 1000]),
        };
        let pieces = cut(&whole, 7, 400);
        assert!(send(&mut bench, &pieces).is_empty());
        assert_eq!(bench.graph.buffers_used(), 2, "the first is dropped, others wait");
        let family = usize::from(!is_4);
        let none = Config { timeout: 0.0, ..PATIENT };
        bench.control(|r| r.set_reassembly(family, Kind::Shallow, none).unwrap());
        bench.control(|r| r.set_reassembly(family, Kind::Shallow, PATIENT).unwrap());
        assert!(bench.graph.run().is_empty());
        assert_eq!(bench.graph.buffers_used(), 0);
        let moved = [("reass_timeout", 1), ("reass_fragments_rcvd", 3), (name, 1)];
        bench.expect(&moved.map(|(name, n)| (node, name, n)));
        assert_eq!(send(&mut bench, &[whole]).len(), 1, "whole packets pass");
    }
}

#[test]
fn extended_they_wait_for_the_first_and_the_last() {
    for (is_4, six) in [(true, "ip4"), (false, "ip6")] {
        let node = if is_4 { SHALLOW4 } else { SHALLOW6 };
        let pieces = cut(&packet(is_4, &[0; 1000]), 1, 248);
        let last = pieces.len() - 1;
        for [one, two] in [[0, last], [last, 0]] {
            let mut bench = bench(Kind::Shallow, PATIENT);
            bench.run(&format!("set ip reassembly extended {six} on")).unwrap();
            let out = send(&mut bench, &[pieces[one].clone(), pieces[1].clone()]);
            assert!(out.is_empty(), "{}", out.len());
            let out = send(&mut bench, &[pieces[two].clone(), pieces[2].clone()]);
            let bytes: Vec<_> = out.iter().map(|c| c.bytes.clone()).collect();
            let order = [one, 1, two, 2].map(|i| pieces[i].clone());
            assert_eq!(bytes, order);
            bench.expect(&[(node, "reass_success", 1), (node, "reass_fragments_rcvd", 4)]);
            bench.run(&format!("set ip reassembly extended {six} off")).unwrap();
            let other = cut(&packet(is_4, &[0; 1000]), 2, 248);
            assert_eq!(send(&mut bench, &other[..1]).len(), 1);
        }
        let mut bench = bench(Kind::Shallow, Config { timeout: 0.1, walk: 0.05, ..PATIENT });
        bench.run("set ip reassembly extended on").unwrap();
        let twice = [pieces[0].clone(), pieces[0].clone()];
        assert!(send(&mut bench, &twice).is_empty());
        assert!(walk(&mut bench, 0.25).is_empty());
        assert_eq!(bench.graph.buffers_used(), 0);
    }
    let error = Bench::new().run("set ip reassembly extended ip5").unwrap_err();
    assert!(error.contains("ip5"), "{error}");
}

#[test]
fn headers_of_ip6_that_end_early_or_say_too_little_are_told() {
    let front = &packet(false, &[])[..40];
    // Hop-by-hop options announce a fragment header of which one byte is there.
    let mut cut_off = [front, &[Protocol::FRAGMENT.0, 0, 1, 4, 0, 0, 0, 0, 17]].concat();
    cut_off[6] = Protocol::HOP_BY_HOP.0;
    cut_off[5] = 9;
    for (kind, node) in [(Kind::Full, FULL6), (Kind::Shallow, SHALLOW6)] {
        let mut bench = bench(kind, PATIENT);
        let told = send(&mut bench, std::slice::from_ref(&cut_off));
        assert_eq!((&told[0].bytes[40..42], told[0].bytes[47]), (&[4, 0][..], 48));
        bench.expect(&[
            ("ip6-icmp-error", "param_problem_sent", 1),
            (node, "reass_no_frag_hdr", 1),
            (node, "reass_fragments_rcvd", 1),
        ]);
    }
    let mut bench = bench(Kind::Full, PATIENT);
    let mut trailed = piece(front, 0, &[0; 24], true, 1);
    trailed.push(0);
    let told = send(&mut bench, &[trailed]);
    assert_eq!((&told[0].bytes[40..42], told[0].bytes[47]), (&[4, 0][..], 4));
    bench.expect(&[
        ("ip6-icmp-error", "param_problem_sent", 1),
        (FULL6, "reass_invalid_frag_len", 1),
        (FULL6, "reass_fragments_rcvd", 1),
    ]);
    let (first, later) = (piece(front, 0, &[], true, 2), piece(front, 800, &[], false, 2));
    assert!(send(&mut bench, &[first, later]).is_empty(), "nobody is told");
    bench.expect(&[(FULL6, "reass_invalid_frag_len", 2), (FULL6, "reass_fragments_rcvd", 2)]);
}

#[test]
fn a_last_fragment_may_be_one_byte() {
    for is_4 in [true, false] {
        let mut bench = bench(Kind::Full, PATIENT);
        let whole = packet(is_4, &[9; 169]);
        assert_eq!(forwarded(&send(&mut bench, &cut(&whole, 3, 176))), [whole]);
    }
}

#[test]
fn a_flood_of_fragments_on_one_interface_leaves_room_for_others_and_is_named() {
    let few = Config { most: 8, ..PATIENT };
    for (kind, is_4, node) in [
        (Kind::Full, true, FULL4),
        (Kind::Full, false, FULL6),
        (Kind::Shallow, true, SHALLOW4),
        (Kind::Shallow, false, SHALLOW6),
    ] {
        let mut bench = bench(kind, few);
        let pg1 = bench.pg1;
        bench.control(|r| {
            r.enable_reassembly(pg1, kind, [true; 2]).unwrap();
            assert!(r.health().findings.iter().all(|f| f.check != "reassembly"));
        });
        let at = if is_4 { "ip4-input" } else { "ip6-input" };
        let send_on = |bench: &mut Bench, fragments: &[Vec<u8>]| {
            bench.send_as(at, fragments, move |p| p.set_rx(pg1.0))
        };
        let whole = packet(is_4, &[5; 1000]);
        // The first fragment never comes.
        let flood = |from: u16, count: u16| -> Vec<_> {
            (from..from + count).map(|id| cut(&whole, id, 400)[1].clone()).collect()
        };
        send(&mut bench, &flood(100, 20));
        let pieces = cut(&whole, 1, 400);
        let mut out = send_on(&mut bench, &pieces[1..]);
        out.extend(send(&mut bench, &flood(200, 20)));
        out.extend(send_on(&mut bench, &pieces[..1]));
        let expected = if kind == Kind::Full { 1 } else { 3 };
        assert_eq!(forwarded(&out).len(), expected, "{node}");
        // It gets no more than its share, either.
        send_on(&mut bench, &flood(300, 20));
        let pieces = cut(&whole, 2, 400);
        let mut out = send(&mut bench, &pieces[1..]);
        out.extend(send_on(&mut bench, &flood(400, 20)));
        out.extend(send(&mut bench, &pieces[..1]));
        if kind == Kind::Shallow {
            assert_eq!(forwarded(&out).len(), expected, "{node}");
        }
        let health = bench.control(|r| r.health());
        let found: Vec<_> = health.findings.iter().filter(|f| f.check == "reassembly").collect();
        assert_eq!((found.len(), found[0].subject.as_str()), (1, node));
        bench.control(|r| r.engine.clock().adjust(61.0));
        bench.control(|r| r.health());
        let again = bench.control(|r| r.health());
        assert!(again.findings.iter().all(|f| f.check != "reassembly"), "in the last minute");
    }
}

#[test]
fn counters_have_the_names_that_clients_look_up() {
    let bench = Bench::new();
    let counters = bench.graph.engine.counters();
    let names: Vec<_> = counters.map(|(_, node, text, _)| (node.to_owned(), text.name)).collect();
    let places = PLACES.iter().flat_map(|place| place.nodes);
    let others = place::COUNTED4.into_iter().chain(place::COUNTED6);
    for node in places.chain(others).chain(["ip4-input", "ip6-input", "ip4-local", "ip6-local"]) {
        let unsupported = match node.starts_with("ip4") {
            true => "reass_unsupp_ip_prot",
            false => "reass_unsupp_ip_proto",
        };
        for name in ["none", "punt", "rpf_failure", "reass_internal_error", unsupported] {
            let found = names.iter().filter(|(at, n)| at == node && *n == name).count();
            assert_eq!(found, 1, "{node}/{name}");
        }
    }
}

#[test]
fn of_too_many_the_one_silent_longest_is_given_up() {
    let mut bench = bench(Kind::Shallow, Config { most: 1, ..PATIENT });
    let (one, two) =
        (cut(&packet(true, &[0; 1000]), 1, 400), cut(&packet(true, &[0; 1000]), 2, 400));
    assert!(send(&mut bench, &[one[1].clone(), two[1].clone()]).is_empty());
    assert_eq!(send(&mut bench, &two[..1]).len(), 2);
    assert_eq!(send(&mut bench, &one[..1]).len(), 1);
    bench.expect(&[
        (SHALLOW4, "reass_limit_reached", 1),
        (SHALLOW4, "reass_success", 2),
        (SHALLOW4, "reass_fragments_rcvd", 4),
    ]);
}

/// Sends each packet on the next of three threads.
fn send_around(bench: &mut Bench, first: usize, packets: &[Vec<u8>]) -> Vec<Caught> {
    let at = if packets[0][0] >> 4 == 4 { "ip4-input" } else { "ip6-input" };
    let each = packets.iter().enumerate();
    each.flat_map(|(i, p)| bench.send_on((first + i) % 3, at, std::slice::from_ref(p))).collect()
}

#[test]
fn fragments_on_several_threads_meet_on_one() {
    let mut bench = Bench::with_threads(3, |_| ());
    let pg0 = bench.pg0;
    bench.control(|r| {
        r.enable_reassembly(pg0, Kind::Full, [true; 2]).unwrap();
        r.set_reassembly(0, Kind::Full, PATIENT).unwrap();
        r.set_reassembly(1, Kind::Full, PATIENT).unwrap();
    });
    let mut expected = Vec::new();
    let mut fragments = Vec::new();
    for id in 1..40 {
        let data: Vec<u8> = (0..1200).map(|i| (i * usize::from(id)) as u8).collect();
        let whole = packet(id % 2 == 0, &data);
        fragments.push(cut(&whole, id, 400));
        expected.push(whole);
    }
    let mut out = Vec::new();
    // Not the first ones first, and each packet's on different threads.
    for round in [1, 0, 3, 2] {
        for (at, pieces) in fragments.iter().enumerate() {
            out.extend(send_around(&mut bench, at + round, &pieces[round..=round]));
        }
    }
    let mut whole = forwarded(&out);
    whole.sort();
    expected.sort();
    assert!(whole == expected, "{} of {}", whole.len(), expected.len());
    assert_eq!(bench.graph.buffers_used(), 0);
    bench.expect(&[
        (FULL4, "reass_success", 19),
        (FULL4, "reass_fragments_reassembled", 76),
        (FULL4, "reass_fragments_rcvd", 76),
        (FULL6, "reass_success", 20),
        (FULL6, "reass_fragments_reassembled", 80),
        (FULL6, "reass_fragments_rcvd", 80),
    ]);
    let handed: u64 = ["ip4-full-reass-feature-hoff", "ip6-full-reass-feature-hoff"]
        .into_iter()
        .map(|node| vectors(&mut bench, node))
        .sum();
    assert!((60..140).contains(&handed), "{handed} of 156");
}

/// Packets that a node was given on all threads.
fn vectors(bench: &mut Bench, node: &str) -> u64 {
    let rows = bench.graph.engine.runtime_rows().unwrap();
    let nodes = rows.iter().flat_map(|row| &row.nodes);
    nodes.filter(|n| n.name == node).map(|n| n.stats.vectors).sum()
}

#[test]
fn for_us_and_shallow_they_meet_as_well() {
    let mut bench = Bench::with_threads(3, |_| ());
    let ping = ping4(HOST4, "10.0.0.1", &[1; 1000]);
    for (id, pieces) in (1..10).map(|id| (usize::from(id), cut(&ping, id, 400))) {
        let mut out = Vec::new();
        for (i, piece) in pieces.iter().enumerate() {
            out.extend(bench.send_on((id + i) % 3, "ip4-receive", std::slice::from_ref(piece)));
        }
        assert_eq!((out.len(), out[0].bytes.len()), (1, ping.len()));
    }
    assert!(vectors(&mut bench, "ip4-local-full-reassembly-handoff") > 5);
    let pg0 = bench.pg0;
    bench.control(|r| r.enable_reassembly(pg0, Kind::Shallow, [true; 2]).unwrap());
    for id in 1..10 {
        let pieces = cut(&packet(true, &[0; 1000]), id, 400);
        let around = [pieces[1].clone(), pieces[2].clone(), pieces[0].clone()];
        let out = send_around(&mut bench, usize::from(id), &around);
        let bytes: Vec<_> = out.iter().map(|c| c.bytes.clone()).collect();
        assert_eq!(bytes, around);
        assert!(out.iter().all(|c| c.at == "ip4-lookup"), "their place on the arc went along");
    }
    assert!(vectors(&mut bench, "ip4-sv-reass-feature-hoff") > 5);
}

#[test]
fn what_is_held_where_a_thread_ends_is_counted() {
    let mut bench = bench(Kind::Full, PATIENT);
    assert!(send(&mut bench, &cut(&packet(true, &[0; 1000]), 1, 400)[..2]).is_empty());
    assert_eq!(bench.graph.buffers_used(), 2);
    bench.graph.engine.keep_threads(0..0).unwrap();
    bench.graph.run();
    bench.expect(&[(FULL4, "drop", 1), (FULL4, "reass_fragments_rcvd", 2)]);
}

#[test]
fn fragments_that_follow_have_the_ports_of_the_first() {
    for is_4 in [true, false] {
        let mut bench = bench(Kind::Shallow, PATIENT);
        let pieces = cut(&packet(is_4, &[0; 1000]), 1, 248);
        let order = [1, 0, 2, 3, 4].map(|i| pieces[i].clone());
        let out = send(&mut bench, &order);
        let ports = Some(graph::Ports { src: 1234, dst: 1 });
        assert!(out.iter().all(|c| c.ports == ports), "{:?}", out[0].ports);
        assert_eq!(out.len(), 5);
        let shown = bench.run(&format!("show ip{}-sv-reassembly details", 6 - 2 * i32::from(is_4)));
        assert!(shown.unwrap().contains("id 1: first fragment came, ports 1234 -> 1"));
    }
}

#[test]
fn whole_packets_of_one_fragment_stay_as_they_are() {
    let mut bench = bench(Kind::Shallow, PATIENT);
    let short = packet(false, b"only");
    let only = piece(&short[..40], 0, &short[40..], false, 1);
    let pieces = cut(&packet(false, &[3; 1000]), 1, 400);
    let stream = [pieces[0].clone(), only, pieces[1].clone(), pieces[2].clone()];
    let out = send(&mut bench, &stream);
    let bytes: Vec<_> = out.into_iter().map(|c| c.bytes).collect();
    assert_eq!(bytes.len(), 4);
    assert!(stream.iter().all(|sent| bytes.contains(sent)));
}

#[test]
fn what_is_sent_and_what_is_for_groups_follows_the_first() {
    let mut bench = Bench::new();
    let (pg0, pg1) = (bench.pg0, bench.pg1);
    let adjacency = bench.neighbor("10.0.1.2", true);
    let adjacency6 = bench.neighbor("2001:db8:1::2", true);
    bench.control(|r| {
        for (arc, node) in PLACES[SENT].arcs.unwrap().into_iter().zip(PLACES[SENT].nodes) {
            r.engine.set_feature(arc, node, pg1.0, true).unwrap();
        }
        r.enable_reassembly(pg0, Kind::Shallow, [true; 2]).unwrap();
    });
    for (is_4, adjacency) in [(true, adjacency), (false, adjacency6)] {
        let at = if is_4 { "ip4-rewrite" } else { "ip6-rewrite" };
        let to = move |p: &mut graph::Buffer<'_>| p.set_adjacency(adjacency.0);
        let pieces = cut(&packet(is_4, &[0; 1000]), 1, 400);
        assert!(bench.send_as(at, &pieces[1..2], to).is_empty());
        let whole = packet(is_4, b"whole");
        assert_eq!(bench.send_as(at, &[whole], to).len(), 1);
        let out = bench.send_as(at, &[pieces[2].clone(), pieces[0].clone()], to);
        let sizes: Vec<_> = out.iter().map(|c| c.bytes.len()).collect();
        assert_eq!(sizes, [1, 2, 0].map(|i| pieces[i].len() + 14));
        assert!(out.iter().all(|c| c.at == "sent" && c.tx == pg1.0));
    }
    let group = ip4(HOST4, "239.1.1.1", Protocol::UDP, &[0; 1000]);
    let pieces = cut(&group, 3, 400);
    assert!(send(&mut bench, &pieces[1..2]).is_empty());
    let out = send(&mut bench, &pieces[..1]);
    assert_eq!(out.len(), 2);
    assert!(out.iter().all(|c| c.at == "ip4-mfib-forward-lookup"));
}

#[test]
fn features_that_need_ports_do_not_switch_them_off_for_each_other() {
    let mut bench = Bench::new();
    let pg0 = bench.pg0;
    bench.control(|r| {
        let mut step = |change: &dyn Fn(&mut Router), expected| {
            change(r);
            let on = r.engine.features_of(pg0.0).into_iter().flat_map(|(_, names)| names);
            assert_eq!(on.filter(|name| *name == SHALLOW6).count(), expected);
        };
        let need =
            |is_needed| move |r: &mut Router| r.need_fragment_ports(pg0, 1, is_needed).unwrap();
        let enable = |on| {
            move |r: &mut Router| r.enable_reassembly(pg0, Kind::Shallow, [false, on]).unwrap()
        };
        step(&need(true), 1);
        step(&need(true), 1);
        step(&need(false), 1);
        step(&enable(true), 1);
        step(&need(false), 1);
        step(&enable(false), 0);
    });
}

#[test]
fn fragments_of_an_interface_that_goes_are_given_up() {
    let mut bench = bench(Kind::Full, PATIENT);
    let pg1 = bench.pg1;
    assert!(send(&mut bench, &cut(&packet(true, &[0; 1000]), 1, 400)[..2]).is_empty());
    bench.control(|r| r.remove_interface(pg1));
    assert_eq!(bench.graph.buffers_used(), 2);
    let pg0 = bench.pg0;
    bench.control(|r| r.remove_interface(pg0));
    bench.graph.run();
    bench.expect(&[(FULL4, "drop", 1), (FULL4, "reass_fragments_rcvd", 2)]);
}

#[test]
fn hostile_fragments_end_in_counters() {
    // A length and an offset that together are more than a packet has; an offset of 8 bytes, which
    // could write over TCP's flags; then one that is right.
    let mut bench = bench(Kind::Full, PATIENT);
    let front = &packet(true, &[])[..20];
    let far = piece(front, 65520, &[0; 116], false, 1);
    let tiny = [piece(front, 0, &[8], true, 7), piece(front, 8, &[8], false, 7)];
    let right = cut(&packet(true, &[0; 1000]), 1000, 400);
    let out = send(&mut bench, &[&[far][..], &tiny[..], &right[..]].concat());
    assert_eq!(forwarded(&out).len(), 1);
    bench.expect(&[
        ("ip4-input", "fragment_offset_one", 1),
        (FULL4, "reass_malformed_packet", 2),
        (FULL4, "reass_success", 1),
        (FULL4, "reass_fragments_reassembled", 3),
        (FULL4, "reass_fragments_rcvd", 5),
    ]);
    // IPv6: a later fragment that would make the packet too long causes an error, and so does one
    // without a whole header, but not one whose headers do not end in the first segment.
    let front = &packet(false, &[])[..40];
    let far = piece(front, 65248, &[0; 500], false, 1);
    let mut short = piece(front, 0, &[], true, 2);
    short.truncate(42);
    let short = changed6(short, |h| h.payload_len = 2.into());
    let mut options = vec![Protocol::FRAGMENT.0, 255];
    options.resize(2048, 0);
    let endless = ip6(HOST6, "2001:db8:ff::1", Protocol::HOP_BY_HOP, &options);
    // What says to be longer than it is.
    let cut = changed6(piece(front, 0, &[0; 400], true, 3), |h| h.payload_len = 65535.into());
    let lost = changed6(piece(front, 400, &[0; 400], true, 3), |h| h.payload_len = 808.into());
    let told = send(&mut bench, &[far.clone(), short, endless, cut, lost]);
    let said: Vec<_> = told.iter().map(|c| (c.bytes[40], c.bytes[41], c.bytes[47])).collect();
    assert_eq!(said, [(4, 0, 42), (4, 0, 40), (4, 0, 4)]);
    assert_eq!(told[0].bytes[48..], far[..told[0].bytes.len() - 48]);
    bench.expect(&[
        ("ip6-icmp-error", "param_problem_sent", 3),
        (FULL6, "reass_invalid_frag_size", 1),
        (FULL6, "reass_invalid_frag_len", 2),
        (FULL6, "reass_no_frag_hdr", 2),
        (FULL6, "reass_fragments_rcvd", 5),
    ]);
}

#[test]
fn rogue_fragments_behind_a_whole_packet_wait_alone() {
    let mut bench = bench(Kind::Full, PATIENT);
    let long = packet(false, &[3; 1000]);
    assert_eq!(forwarded(&send(&mut bench, &cut(&long, 1, 400))), std::slice::from_ref(&long));
    let rogue = piece(&long[..40], 4864, &[1; 308], false, 1);
    assert!(send(&mut bench, &vec![rogue; 200]).is_empty());
    assert_eq!(bench.graph.buffers_used(), 1);
    assert_eq!(forwarded(&send(&mut bench, &cut(&long, 2, 400))), [long]);
}
