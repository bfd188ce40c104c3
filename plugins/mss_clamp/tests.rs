//! TCP MSS clamping: tests with packets.

use control::api::Retval;
use mss_clamp::*;
use net::InterfaceIndex;
use net::testing::Bench;
use net::testing::packets::*;
use wire::{Protocol, tcp};
use zerocopy::{FromBytes, IntoBytes};

/// A SYN with these options, its checksum right.
fn syn(is_4: bool, flags: tcp::Flags, options: &[u8]) -> Vec<u8> {
    let mut header = tcp::Header::new(1000, 80, 7, 0, flags);
    header.data_offset = ((20 + options.len()) as u8 / 4) << 4;
    let segment = [header.as_bytes(), options].concat();
    let (mut packet, sum) = if is_4 {
        let packet = ip4(HOST4, "16.0.0.1", Protocol::TCP, &segment);
        (packet.clone(), sum4(&packet))
    } else {
        let packet = ip6(HOST6, "2001:db8:ff::1", Protocol::TCP, &segment);
        (packet.clone(), sum6(&packet))
    };
    let at = packet.len() - segment.len() + 16;
    packet[at..at + 2].copy_from_slice(sum.checksum().as_bytes());
    packet
}

fn mss(packet: &[u8], options: usize, at: usize) -> u16 {
    let from = packet.len() - options + at;
    u16::from_be_bytes([packet[from], packet[from + 1]])
}

fn clamping(mss: u16, rx: bool, tx: bool) -> [Clamping; 2] {
    [Clamping { mss, rx, tx }; 2]
}

#[test]
fn segment_sizes_are_lowered_and_never_raised() {
    let mut bench = Bench::plugged(FEATURE);
    let pg0 = bench.pg0;
    bench.control(|r| set(r, pg0, clamping(1000, true, false)).unwrap());
    for (is_4, node) in [(true, "ip4-input"), (false, "ip6-input")] {
        let name = format!("tcp-mss-clamping-ip{}-in", if is_4 { 4 } else { 6 });
        for (options, at) in [
            (vec![2, 4, 5, 180], 2),
            (vec![1, 1, 2, 4, 5, 180, 0, 0], 4),
            (vec![1, 2, 4, 5, 180, 0, 0, 0], 3), // at an odd place
            (vec![3, 3, 7, 2, 4, 5, 180, 0], 5),
        ] {
            let packet = syn(is_4, tcp::Flags::SYN, &options);
            let out = bench.send(node, &[packet]);
            assert_eq!(mss(&out[0].bytes, options.len(), at), 1000);
            let sum = if is_4 { sum4(&out[0].bytes) } else { sum6(&out[0].bytes) };
            assert!(sum.is_valid(), "{options:?}");
            bench.expect(&[(name.as_str(), "clamped", 1)]);
        }
        let small = syn(is_4, tcp::Flags::SYN, &[2, 4, 3, 0]);
        let later = syn(is_4, tcp::Flags::ACK, &[2, 4, 5, 180]);
        let endless = syn(is_4, tcp::Flags::SYN, &[9, 0, 9, 0]);
        let cut =
            syn(is_4, tcp::Flags::SYN, &[2, 4, 5, 180])[..if is_4 { 40 } else { 60 }].to_vec();
        for packet in [small, later, endless] {
            assert_eq!(bench.send(node, std::slice::from_ref(&packet))[0].bytes, packet);
        }
        bench.send(node, &[cut]);
        let moved =
            if is_4 { ("ip4-input", "bad_length", 1) } else { ("ip6-input", "bad_length", 1) };
        bench.expect(&[moved]);
    }
}

#[test]
fn what_goes_out_is_clamped_behind_its_header() {
    let mut bench = Bench::plugged(FEATURE);
    let pg1 = bench.pg1;
    bench.control(|r| set(r, pg1, clamping(536, false, true)).unwrap());
    for (is_4, node, neighbor) in
        [(true, "ip4-rewrite", "10.0.1.2"), (false, "ip6-rewrite", "2001:db8:1::2")]
    {
        let over = bench.neighbor(neighbor, true).0;
        let packet = syn(is_4, tcp::Flags::SYN | tcp::Flags::ACK, &[2, 4, 5, 180]);
        let out = bench.send_as(node, &[packet], move |p| p.set_adjacency(over));
        assert_eq!((out[0].at.as_str(), mss(&out[0].bytes, 4, 2)), ("sent", 536));
        let header = tcp::Header::ref_from_prefix(&out[0].bytes[if is_4 { 34 } else { 54 }..]);
        assert_eq!(header.unwrap().0.dst_port.get(), 80);
        let name = format!("tcp-mss-clamping-ip{}-out", if is_4 { 4 } else { 6 });
        bench.expect(&[(name.as_str(), "clamped", 1)]);
    }
}

#[test]
fn commands_set_and_show_it() {
    let mut bench = Bench::plugged(FEATURE);
    bench
        .run("set interface tcp-mss-clamp pg0 ip4 enable ip4-mss 1000 ip6 rx ip6-mss 900")
        .unwrap();
    let shown = bench.run("show interface tcp-mss-clamp pg0").unwrap();
    assert!(shown.contains("ip4: dir RX/TX mss 1000") && shown.contains("ip6: dir RX mss 900"));
    bench.run("set interface tcp-mss-clamp pg0 ip4 disable ip6 disable").unwrap();
    assert_eq!(bench.run("show interface tcp-mss-clamp").unwrap(), "");
    let error = bench.run("set interface tcp-mss-clamp pg0 ip4 sideways").unwrap_err();
    assert!(error.contains("sideways"), "{error}");
    let error = bench.run("show interface tcp-mss-clamp pg9").unwrap_err();
    assert!(error.contains("unknown interface `pg9'"), "{error}");
    assert!(bench.run("set interface tcp-mss-clamp pg0 ip4 rx ip4-mss 0").is_err());
}

#[test]
fn clients_set_and_list_it() {
    let mut bench = Bench::plugged(FEATURE);
    let (pg0, pg1) = (bench.pg0, bench.pg1);
    bench.talk(|local, router| {
        let set = |sw_if_index, ipv4_mss| MssClampEnableDisable {
            sw_if_index,
            ipv4_mss,
            ipv6_mss: 1200,
            ipv4_direction: MssClampDir(3),
            ipv6_direction: MssClampDir::RX,
        };
        local.call(router, &set(pg0, 1000)).unwrap();
        local.call(router, &set(pg1, 1001)).unwrap();
        let get = |i| MssClampGet { cursor: 0, sw_if_index: InterfaceIndex(i) };
        let (rows, retval, last) = local.stream(router, &get(u32::MAX));
        let listed: Vec<_> = rows.iter().map(|r| (r.sw_if_index, r.ipv4_mss)).collect();
        assert_eq!(listed, [(pg0, 1000), (pg1, 1001)]);
        assert_eq!((rows[0].ipv4_direction.0, rows[0].ipv6_direction.0), (3, 1));
        assert_eq!((retval, last.cursor), (0, u32::MAX));
        let later = MssClampGet { cursor: pg1.0, ..get(u32::MAX) };
        assert_eq!(local.stream(router, &later).0.len(), 1);
        assert_eq!(local.stream(router, &get(pg1.0)).0.len(), 1);
        assert_eq!(local.stream(router, &get(99)).1, Retval::INVALID_SW_IF_INDEX.0);
        let nowhere = local.call(router, &set(InterfaceIndex(99), 1)).err();
        assert_eq!(nowhere, Some(Retval::INVALID_SW_IF_INDEX));
        assert_eq!(local.call(router, &set(pg0, 0)).err(), Some(Retval::INVALID_VALUE));
    });
}
