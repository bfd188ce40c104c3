//! Exporters of flow information (IPFIX): tests with packets.

use std::net::{IpAddr, Ipv4Addr};

use control::api::Retval;
use ipfix::*;
use net::testing::whole::{Bench, sent};

fn bench() -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    b.set("set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb");
    b.set("set ip neighbor pg1 10.0.1.3 02:00:00:00:00:bc");
    b.wait(0.0);
    b
}

/// Messages with the last byte of their collectors' addresses.
fn messages(b: &mut Bench) -> Vec<(u8, Vec<u8>)> {
    let out = b.settle();
    let packets = sent(&out).into_iter().map(|frame| frame[14..].to_vec());
    packets
        .map(|packet| {
            assert_eq!(packet[22..24], 4739_u16.to_be_bytes());
            (packet[19], packet[28..].to_vec())
        })
        .collect()
}

#[test]
fn collectors_get_a_template_and_then_records() {
    let mut b = bench();
    b.set("set ipfix exporter collector 10.0.1.2 src 10.0.1.1 udp-checksum");
    b.set("ipfix exporter collector 10.0.1.3 src 10.0.1.1");
    let fields = vec![Field::new(8, 4), Field { id: 7, len: 2, enterprise: Some(9) }];
    let stream = b.control(|router, _| {
        let stream = add_stream(router, 5, 4000, fields);
        export(router, stream, &[1, 2, 3, 4, 0, 80]);
        export(router, stream, &[1, 2, 3, 5, 0, 81]);
        export(router, stream, &[1]); // no record
        flush(router);
        stream
    });
    let all = messages(&mut b);
    assert_eq!(all.iter().map(|(to, _)| *to).collect::<Vec<_>>(), [2, 2, 3, 3]);
    let (template, data) = (&all[0].1, &all[1].1);
    assert_eq!((template.len(), &template[..4]), (16 + 20, &[0, 10, 0, 36][..]));
    assert_eq!(template[12..16], 5_u32.to_be_bytes());
    let expected = [0, 2, 0, 20, 1, 0, 0, 2, 0, 8, 0, 4, 0x80, 7, 0, 2, 0, 0, 0, 9];
    assert_eq!(template[16..], expected);
    assert_eq!(data[8..12], [0; 4], "no record came before");
    assert_eq!(data[16..], [1, 0, 0, 16, 1, 2, 3, 4, 0, 80, 1, 2, 3, 5, 0, 81]);
    b.control(|router, _| {
        export(router, stream, &[1, 2, 3, 6, 0, 82]);
        flush(router);
    });
    let more = messages(&mut b);
    assert_eq!(more.len(), 2, "the template is known");
    assert_eq!(more[0].1[8..12], 2_u32.to_be_bytes());
    // Templates come again in their interval.
    let later = b.wait(21.0);
    assert_eq!(sent(&later).len(), 2);
}

#[test]
fn records_are_gathered_as_far_as_the_path_takes_them() {
    let mut b = bench();
    b.set("set ipfix exporter collector 10.0.1.2 src 10.0.1.1 path-mtu 100");
    b.control(|router, _| {
        let stream = add_stream(router, 1, 4000, vec![Field::new(1, 8)]);
        (0..10).for_each(|n| export(router, stream, &[n; 8]));
        remove_stream(router, stream);
    });
    let data: Vec<_> =
        messages(&mut b).into_iter().map(|(_, m)| m).filter(|m| m[17] == 0).collect();
    assert!(data.iter().all(|m| m.len() + 28 <= 100), "{data:02x?}");
    assert_eq!(data.iter().map(|m| (m.len() - 20) / 8).sum::<usize>(), 10);
}

#[test]
fn records_wait_four_to_five_seconds_for_others_whenever_they_come() {
    let mut b = bench();
    b.set("set ipfix exporter collector 10.0.1.2 src 10.0.1.1 template-interval 1000");
    let stream = b.control(|router, _| add_stream(router, 1, 4000, vec![Field::new(1, 8)]));
    b.control(|router, _| flush(router));
    messages(&mut b);
    for n in 0..12 {
        b.wait(f64::from(n) * 0.5);
        assert_eq!(messages(&mut b), [], "nothing waits");
        b.control(|router, _| export(router, stream, &[n; 8]));
        assert!(b.wait(3.0).is_empty(), "record {n}");
        b.control(|router, _| export(router, stream, &[n; 8]));
        let (out, both) = (b.wait(2.25), [n; 16]);
        let out = sent(&out);
        assert_eq!(out.len(), 1, "record {n}");
        assert!(out[0].ends_with(&both), "both at once");
    }
}

#[test]
fn exporters_are_made_changed_and_deleted() {
    let mut b = bench();
    let addr = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 1, last)).into();
    b.talk(|local, router| {
        let exporter = |last, path_mtu, vrf_id| IpfixExporter {
            collector_address: addr(last),
            collector_port: u16::MAX,
            src_address: addr(1),
            vrf_id,
            path_mtu,
            template_interval: 30,
            udp_checksum: false,
        };
        let set = |path_mtu, vrf_id| SetIpfixExporter { exporter: exporter(2, path_mtu, vrf_id) };
        local.call(router, &set(u32::MAX, u32::MAX)).unwrap();
        let refused = |m: SetIpfixExporter, router: &mut _| local.call(router, &m).err();
        assert_eq!(refused(set(1451, 0), router), Some(Retval::INVALID_VALUE));
        assert_eq!(refused(set(67, 0), router), Some(Retval::INVALID_VALUE));
        assert_eq!(refused(set(1450, 9), router), Some(Retval::NO_SUCH_FIB));
        let first = &local.dump(router, &IpfixExporterDump {})[0].exporter;
        assert_eq!((first.collector_port, first.path_mtu, first.vrf_id), (4739, 512, u32::MAX));
        let create = |last, is_create, path_mtu| IpfixExporterCreateDelete {
            is_create,
            exporter: exporter(last, path_mtu, u32::MAX),
        };
        let number = local.call(router, &create(3, true, 1400)).unwrap().stat_index;
        assert_eq!(local.call(router, &create(3, true, 1401)).unwrap().stat_index, number);
        let (rows, _, _) = local.stream(router, &IpfixAllExporterGet { cursor: 0 });
        assert_eq!(rows.iter().map(|r| r.exporter.path_mtu).collect::<Vec<_>>(), [512, 1401]);
        local.call(router, &create(3, false, 1400)).unwrap();
        let gone = local.call(router, &create(3, false, 1400)).err();
        assert_eq!(gone, Some(Retval::NO_SUCH_ENTRY));
        let first = local.call(router, &create(2, false, 1400)).err();
        assert_eq!(first, Some(Retval::INVALID_VALUE));
        local.call(router, &IpfixFlush {}).unwrap();
    });
    let told = b.run("show configuration ipfix");
    assert_eq!(told, "set ipfix exporter collector 10.0.1.2 src 10.0.1.1 template-interval 30\n");
    assert_eq!(b.run("set ipfix exporter"), "IPFIX Collector is disabled\n");
    assert_eq!(b.run("show configuration ipfix"), "");
    // A collector has one exporter: the first takes the place of another.
    b.set("ipfix exporter collector 10.0.1.4 src 10.0.1.1 path-mtu 600");
    b.set("set ipfix exporter collector 10.0.1.4 src 10.0.1.1");
    let told = b.run("show configuration ipfix");
    assert_eq!(told, "set ipfix exporter collector 10.0.1.4 src 10.0.1.1\n");
}
