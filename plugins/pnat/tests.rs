//! Stateless matching and rewriting of IPv4 packets: tests with packets.

use control::api::Retval;
use control::api::types::IpProto;
use net::InterfaceIndex;
use net::testing::Bench;
use net::testing::packets::*;
use pnat::*;
use wire::{Protocol, ip4};
use zerocopy::FromBytes;

fn bench() -> Bench {
    Bench::plugged(FEATURE)
}

/// Addresses and ports of a packet, whose checksums must be right.
#[track_caller]
fn seen(packet: &[u8]) -> (String, String, u16, u16) {
    let (header, rest) = ip4::Header::ref_from_prefix(packet).unwrap();
    assert!(header.is_checksum_valid() && sum4(packet).is_valid());
    let port = |at: usize| u16::from_be_bytes([rest[at], rest[at + 1]]);
    (header.src_addr().to_string(), header.dst_addr().to_string(), port(0), port(2))
}

#[test]
fn what_a_binding_matches_is_rewritten_on_the_way_in() {
    let mut b = bench();
    b.run(
        "set pnat translation interface pg0 match proto udp dst 16.0.0.1 dport 53 \
         rewrite src 1.2.3.4 dst 10.0.1.2 sport 7 dport 5353 in",
    )
    .unwrap();
    let out = b.send("ip4-input", &[udp4(HOST4, "16.0.0.1", 53, &[1, 2, 3])]);
    assert_eq!(seen(&out[0].bytes), ("1.2.3.4".into(), "10.0.1.2".into(), 7, 5353));
    b.expect(&[("pnat-input", "rewrite", 1)]);
    let other = udp4(HOST4, "16.0.0.1", 54, &[1, 2, 3]);
    assert_eq!(b.send("ip4-input", std::slice::from_ref(&other))[0].bytes, other);
    b.expect(&[("pnat-input", "none", 1)]);
}

#[test]
fn what_a_binding_matches_is_rewritten_on_the_way_out() {
    let mut b = bench();
    b.run("set pnat translation interface pg1 match src 10.0.0.2 rewrite src 9.9.9.9 out").unwrap();
    let over = b.neighbor("10.0.1.2", true).0;
    let packet = udp4(HOST4, "10.0.1.2", 53, &[1, 2, 3]);
    let out = b.send_as("ip4-rewrite", &[packet], move |p| p.set_adjacency(over));
    assert_eq!(seen(&out[0].bytes[14..]).0, "9.9.9.9");
    b.expect(&[("pnat-output", "rewrite", 1)]);
}

#[test]
fn bytes_are_copied_and_cleared_with_the_checksums_they_count_for() {
    let mut b = bench();
    let line = "set pnat translation interface pg0 match dst 16.0.0.1 rewrite ";
    for (rewrite, at, value) in [
        ("copy byte@28 to byte@31", 31, 1),
        ("copy byte@30 to byte@1", 1, 3),
        ("clear byte@29", 29, 0),
        ("clear byte@32", 32, 0), // the odd last one
        ("clear byte@19", 19, 0), // of an address
    ] {
        b.run(&format!("{line}{rewrite} in")).unwrap();
        let out = b.send("ip4-input", &[udp4(HOST4, "16.0.0.1", 53, &[1, 2, 3, 4, 5])]);
        seen(&out[0].bytes);
        assert_eq!(out[0].bytes[at], value, "{rewrite}");
        b.run(&format!("{line}{rewrite} in del")).unwrap();
        b.expect(&[("pnat-input", "rewrite", 1)]);
    }
    b.run(&format!("{line}clear byte@200 in")).unwrap();
    b.send("ip4-input", &[udp4(HOST4, "16.0.0.1", 53, &[1, 2])]);
    b.expect(&[("pnat-input", "tooshort", 1)]);
}

#[test]
fn only_tcp_and_udp_have_ports() {
    let mut b = bench();
    let line = "set pnat translation interface pg0 match dst 16.0.0.1";
    b.run(&format!("{line} rewrite dst 10.0.1.2 sport 9 in")).unwrap();
    let echo = ping4(HOST4, "16.0.0.1", &[5; 6]);
    let out = b.send("ip4-input", std::slice::from_ref(&echo));
    assert_eq!(out[0].bytes[16..20], [10, 0, 1, 2]);
    assert_eq!(out[0].bytes[20..], echo[20..], "its number stays");
    for wrong in ["proto icmp sport 7", "proto sctp dport 7", ""] {
        let line = format!("set pnat translation interface pg1 match {wrong} rewrite sport 9 in");
        let error = b.run(&line).unwrap_err();
        let reason = if wrong.is_empty() { "no field" } else { "only TCP and UDP" };
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn bindings_at_one_end_match_the_same_fields() {
    let mut b = bench();
    let set = "set pnat translation interface pg0 match";
    b.run(&format!("{set} dst 16.0.0.1 rewrite dst 1.1.1.1 in")).unwrap();
    b.run(&format!("{set} dst 16.0.0.2 rewrite dst 1.1.1.1 in")).unwrap();
    let error = b.run(&format!("{set} src 16.0.0.2 rewrite dst 1.1.1.1 in")).unwrap_err();
    assert!(error.contains("other fields"), "{error}");
    let error = b.run(&format!("{set} dst 16.0.0.2 rewrite dst 1.1.1.2 in")).unwrap_err();
    assert!(error.contains("same packets"), "{error}");
    assert_eq!(b.run("show pnat translations").unwrap().lines().count(), 2);
    assert_eq!(b.run("show pnat interfaces").unwrap(), "sw_if_index: 1 input mask: DA \n");
    // The other end has fields of its own; ports need no protocol.
    b.run(&format!("{set} dport 9 rewrite dst 1.1.1.2 out")).unwrap();
    let error = b.run(&format!("{set} dst 16.0.0.2 rewrite dst 1.1.1.1 out")).unwrap_err();
    assert!(error.contains("other fields"), "{error}");
    let all = b.run("show pnat translations").unwrap();
    assert!(all.starts_with("[0] match: {*:*,*,16.0.0.1:*} rewrite: {*:*,1.1.1.1:*}\n"), "{all}");
    assert!(all.contains("match: {*:*,*,*:9} rewrite: {*:*,1.1.1.2:*}"), "{all}");
    let shown = b.run("show pnat interfaces").unwrap();
    assert_eq!(shown, "sw_if_index: 1 input mask: DA  output mask: DP \n");
    assert!(
        b.run(&format!("{set} dst 1.1.1.1 rewrite sideways 4 out"))
            .unwrap_err()
            .contains("sideways")
    );
}

#[test]
fn clients_make_attach_and_list_bindings() {
    let mut b = bench();
    let pg0 = b.pg0;
    b.talk(|local, router| {
        let none = std::net::Ipv4Addr::UNSPECIFIED;
        let matched = |mask| PnatMatchTuple {
            src: none,
            dst: "16.0.0.1".parse().unwrap(),
            proto: IpProto::UDP,
            sport: 0,
            dport: 53,
            mask,
        };
        let rewrite = PnatRewriteTuple {
            src: none,
            dst: "10.0.1.2".parse().unwrap(),
            sport: 0,
            dport: 0,
            mask: PnatMask::DA,
            from_offset: 0,
            to_offset: 0,
            clear_offset: 0,
        };
        let add = |mask| PnatBindingAdd { r#match: matched(mask), rewrite };
        let first = local.call(router, &add(PnatMask(2 | 8))).unwrap().binding_index;
        let add2 = PnatBindingAddV2 { r#match: matched(PnatMask::DA), rewrite };
        let second = local.call(router, &add2).unwrap().binding_index;
        let wrong = local.call(router, &add(PnatMask(128))).err();
        assert_eq!(wrong, Some(Retval::INVALID_VALUE));
        let any = PnatMatchTuple { proto: IpProto(0), ..matched(PnatMask::DA) };
        let bare = PnatBindingAdd { r#match: any, rewrite };
        let no_ports = local.call(router, &bare).err();
        assert_eq!(no_ports, Some(Retval::INVALID_SW_IF_INDEX), "ports without a protocol");
        let bare = PnatMatchTuple { dport: 0, ..any };
        let bare = PnatBindingAdd { r#match: bare, rewrite };
        let any = local.call(router, &bare).unwrap().binding_index;
        local.call(router, &PnatBindingDel { binding_index: any }).unwrap();
        let nothing = local.call(router, &add(PnatMask(0))).err();
        assert_eq!(nothing, Some(Retval::UNSPECIFIED));
        let attach = |binding_index, sw_if_index| PnatBindingAttach {
            sw_if_index,
            attachment: PnatAttachmentPoint::INPUT,
            binding_index,
        };
        local.call(router, &attach(first, pg0)).unwrap();
        let refused = |m: PnatBindingAttach, router: &mut _| local.call(router, &m).err();
        assert_eq!(refused(attach(second, pg0), router), Some(Retval(-2)), "other fields");
        assert_eq!(refused(attach(first, pg0), router), Some(Retval(-3)), "once more");
        assert_eq!(refused(attach(99, pg0), router), Some(Retval(-1)), "no binding");
        let nowhere = attach(second, InterfaceIndex(9));
        assert_eq!(refused(nowhere, router), Some(Retval::INVALID_SW_IF_INDEX));
        let (rows, retval, _) = local.stream(router, &PnatBindingsGet { cursor: 0 });
        let masks: Vec<_> = rows.iter().map(|r| r.r#match.mask.0).collect();
        assert_eq!((masks, retval), (vec![2 | 8, 2], 0));
        let (rows, _, _) = local.stream(router, &PnatInterfacesGet { cursor: 0 });
        assert_eq!((rows[0].enabled, rows[0].lookup_mask[0].0), ([true, false], 2 | 8));
        let look = PnatFlowLookup {
            sw_if_index: pg0,
            attachment: PnatAttachmentPoint::INPUT,
            r#match: matched(PnatMask(2 | 8)),
        };
        assert_eq!(local.call(router, &look).unwrap().binding_index, first);
        let other = PnatFlowLookup { r#match: matched(PnatMask(2)), ..look };
        assert_eq!(local.call(router, &other).err(), Some(Retval(-1)), "other fields");
        let del = |binding_index| PnatBindingDel { binding_index };
        let detach = PnatBindingDetach {
            sw_if_index: pg0,
            attachment: PnatAttachmentPoint::INPUT,
            binding_index: first,
        };
        local.call(router, &detach).unwrap();
        assert_eq!(local.call(router, &detach).err(), Some(Retval(-2)));
        local.call(router, &attach(first, pg0)).unwrap();
        local.call(router, &del(first)).unwrap();
        assert_eq!(local.call(router, &del(first)).err(), Some(Retval(-1)));
        assert_eq!(local.call(router, &detach).err(), Some(Retval(-1)), "no binding");
        let (rows, _, _) = local.stream(router, &PnatInterfacesGet { cursor: 0 });
        assert!(rows.is_empty(), "deleted bindings are attached nowhere");
    });
}

#[test]
fn fragments_are_matched_by_the_ports_of_their_packet() {
    let mut b = bench();
    b.run("set pnat translation interface pg0 match proto udp dport 53 rewrite dst 10.0.1.2 in")
        .unwrap();
    let whole = udp4(HOST4, "16.0.0.1", 53, &[7; 40]);
    let first = changed4(whole[..44].to_vec(), |h| {
        h.fragment = ip4::MORE_FRAGMENTS.into();
        h.total_len = 44.into();
    });
    let second = changed4([&whole[..20], &whole[44..]].concat(), |h| {
        h.fragment = 3.into();
        h.total_len = (20 + whole.len() as u16 - 44).into();
    });
    let out = b.send("ip4-input", &[second, first]);
    let to: Vec<_> = out.iter().map(|c| c.bytes[16..20].to_vec()).collect();
    assert_eq!(to, [[10, 0, 1, 2]; 2]);
}

#[test]
fn ports_count_for_every_protocol_without_one() {
    let mut b = bench();
    let line = "set pnat translation interface pg0 match dst 16.0.0.1 dport 53";
    b.run(&format!("{line} rewrite dst 10.0.1.2 in")).unwrap();
    let tcp = [&[0, 9, 0, 53], &[0; 8][..], &[0x50, 2], &[0; 6]].concat();
    let tcp = ip4(HOST4, "16.0.0.1", Protocol::TCP, &tcp);
    for packet in [udp4(HOST4, "16.0.0.1", 53, &[1]), tcp] {
        let out = b.send("ip4-input", &[packet]);
        assert_eq!(out[0].bytes[16..20], [10, 0, 1, 2]);
    }
    // The number of an echo is no port then, nor has every protocol ports.
    let echo = ping4(HOST4, "16.0.0.1", &[5; 6]);
    for other in [udp4(HOST4, "16.0.0.1", 54, &[1]), echo] {
        assert_eq!(b.send("ip4-input", std::slice::from_ref(&other))[0].bytes, other);
    }
    b.expect(&[("pnat-input", "none", 2), ("pnat-input", "rewrite", 2)]);
}
