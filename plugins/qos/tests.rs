//! Marks recorded, stored and written, over IP, labels and tags.

use control::api::Retval;
use net::InterfaceIndex;
use net::testing::packets::*;
use net::testing::whole::{Bench, HOST, PG0, sent};
use qos::*;
use wire::Protocol;
use wire::ethernet::{EtherType, Header};
use wire::mpls::Entry;
use zerocopy::{FromBytes, IntoBytes};

fn bench() -> Bench {
    let mut b = Bench::plugged(&[l2::FEATURE, mpls::FEATURE, FEATURE]);
    for line in [
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb",
        "ip route add 10.9.0.0/16 via 10.0.1.2 pg1",
        "ip route add 2001:db8:9::/48 via 2001:db8:1::2 pg1",
    ] {
        b.set(line);
    }
    b.wait(0.0);
    b
}

/// A frame from the host on `pg0`, with a tag or without.
fn frame(tag: Option<u16>, kind: EtherType, packet: &[u8]) -> Vec<u8> {
    let header = Header::new(PG0, HOST, if tag.is_some() { EtherType::VLAN } else { kind });
    let tag = tag.map(|control| [control.to_be_bytes(), kind.get().to_be_bytes()]);
    [header.as_bytes(), tag.as_ref().map_or(&[], |t| t.as_flattened()), packet].concat()
}

fn ip4_with(tos: u8) -> Vec<u8> {
    changed4(udp4("10.0.0.2", "10.9.9.9", 9, &[7; 20]), |h| h.tos = tos)
}

fn ip6_with(class: u8) -> Vec<u8> {
    changed6(udp6("2001:db8::2", "2001:db8:9::9", 9, &[7; 20]), |h| h.set_traffic_class(class))
}

/// The only frame that leaves for a received one.
#[track_caller]
fn through(b: &mut Bench, frame: Vec<u8>) -> Vec<u8> {
    let pg0 = b.pg0;
    let out = b.receive(pg0, &[frame]);
    let sent = sent(&out);
    assert_eq!(sent.len(), 1);
    sent[0].to_vec()
}

/// Type of service or traffic class of what leaves for packets of both versions.
#[track_caller]
fn marks(b: &mut Bench, mark: u8) -> [u8; 2] {
    let four = through(b, frame(None, EtherType::IP4, &ip4_with(mark)));
    let six = through(b, frame(None, EtherType::IP6, &ip6_with(mark)));
    let (header, _) = wire::ip4::Header::ref_from_prefix(&four[14..]).unwrap();
    assert!(header.is_checksum_valid());
    [four[15], six[14] << 4 | six[15] >> 4]
}

#[test]
fn marks_of_ip_are_recorded_and_mapped() {
    let mut b = bench();
    b.set("qos egress map id 7 [ip][0-255]=3[ip][9]=200 [vlan][9]=1");
    b.set("qos mark ip pg1 id 7");
    assert_eq!(marks(&mut b, 9), [9, 9], "nothing is recorded");
    b.set("qos record ip pg0");
    assert_eq!(marks(&mut b, 9), [200, 200]);
    assert_eq!(marks(&mut b, 10), [3, 3]);
    b.set("qos egress map id 7 [ip][10]=11");
    assert_eq!(marks(&mut b, 10), [11, 11], "a map changes while it is used");
    b.set("qos record ip pg0 disable");
    b.set("qos store ip pg0 value 9");
    assert_eq!(marks(&mut b, 77), [200, 200]);
    b.set("qos record ip pg0");
    assert_eq!(marks(&mut b, 10), [11, 11], "what a packet says counts more than its interface");
    b.set("qos mark ip pg1 disable");
    assert_eq!(marks(&mut b, 10), [10, 10]);
}

#[test]
fn fragments_of_a_marked_packet_are_all_marked() {
    let mut b = bench();
    b.set("qos egress map id 1 [ip][4]=8");
    b.set("qos record ip pg0");
    b.set("qos mark ip pg1 id 1");
    b.set("set interface mtu ip4 576 pg1");
    let big = changed4(udp4("10.0.0.2", "10.9.9.9", 9, &[7; 1200]), |h| h.tos = 4);
    let pg0 = b.pg0;
    let out = b.receive(pg0, &[frame(None, EtherType::IP4, &big)]);
    let tos: Vec<u8> = sent(&out).iter().map(|f| f[15]).collect();
    assert_eq!(tos, [8; 3]);
}

#[test]
fn all_labels_and_both_tags_of_marks_are_written() {
    let mut b = bench();
    for line in [
        "mpls table add 0",
        "set interface mpls pg0 enable",
        "set interface mpls pg1 enable",
        "ip route add 10.8.0.0/16 via 10.0.1.2 pg1 out-labels 100 200 300",
        "qos egress map id 1 [ip][5]=6 [mpls][3]=64 [vlan][7]=9",
        "qos record ip pg0",
        "qos record mpls pg0",
        "qos record vlan pg0",
        "qos mark mpls pg1 id 1",
        "qos mark ip pg1 id 1",
        "mpls local-label add 50 eos ip4 via ip4-lookup-in-table 0",
    ] {
        b.set(line);
    }
    let packet = changed4(udp4("10.0.0.2", "10.8.0.1", 9, &[7; 20]), |h| h.tos = 5);
    let out = through(&mut b, frame(None, EtherType::IP4, &packet));
    let exps: Vec<_> = wire::mpls::stack(&out[14..]).map(|e| (e.label(), e.exp())).collect();
    assert_eq!(exps, [(100, 6), (200, 6), (300, 6)]);
    // The label is gone, what it said is not.
    let labelled = [Entry::new(50, 3, true, 9).as_bytes(), &ip4_with(1)].concat();
    assert_eq!(through(&mut b, frame(None, EtherType::MPLS, &labelled))[15], 64);
    b.expect(&[]);
}

#[test]
fn priorities_of_tags_are_recorded_and_written() {
    let mut b = bench();
    b.run("create sub-interfaces pg0 11");
    for line in [
        "set interface state pg0.11 up",
        "set interface ip address pg0.11 10.0.11.1/24",
        "set interface ip address pg0.11 2001:db8:11::1/64",
        "set ip neighbor pg0.11 10.0.11.2 02:00:00:00:00:01",
        "set ip neighbor pg0.11 2001:db8:11::2 02:00:00:00:00:01",
        "qos egress map id 1 [vlan][11]=200 [ip][5]=13",
        "qos record vlan pg0.11",
        "qos mark ip pg1 id 1",
        "qos record ip pg0",
        "qos mark vlan pg0.11 id 1",
    ] {
        b.set(line);
    }
    // Priority 5, to be dropped first.
    let tag = 5 << 13 | 1 << 12 | 11;
    assert_eq!(through(&mut b, frame(Some(tag), EtherType::IP4, &ip4_with(1)))[15], 200);
    let six = through(&mut b, frame(Some(tag), EtherType::IP6, &ip6_with(1)));
    assert_eq!(six[14] << 4 | six[15] >> 4, 200);
    let to4 = changed4(udp4("10.0.0.2", "10.0.11.2", 9, &[7; 20]), |h| h.tos = 5);
    let to6 = changed6(udp6("2001:db8::2", "2001:db8:11::2", 9, &[7; 20]), |h| {
        h.set_traffic_class(5);
    });
    for (kind, packet) in [(EtherType::IP4, to4), (EtherType::IP6, to6)] {
        let out = through(&mut b, frame(None, kind, &packet));
        assert_eq!(out[14..16], (13_u16 << 12 | 11).to_be_bytes(), "{out:02x?}");
    }
}

#[test]
fn what_is_wrong_is_refused_and_changes_nothing() {
    let mut b = bench();
    let error = |b: &mut Bench, line: &str| b.attempt(line).unwrap_err();
    assert!(error(&mut b, "qos record dscp pg0").contains("dscp"));
    assert!(error(&mut b, "qos record ext pg0").contains("ext"));
    assert!(error(&mut b, "qos record ip pg7").contains("pg7"));
    assert!(error(&mut b, "qos record ip pg0 disable").contains("ip"));
    assert!(error(&mut b, "qos store vlan pg0 value 3").contains("vlan"));
    assert!(error(&mut b, "qos store ip pg0").contains("value"));
    assert!(error(&mut b, "qos mark ip pg1 id 9").contains('9'));
    for wrong in ["[ip][300]=4", "[ip][3]=4[ip]", "x[ip][3]=4", "[ip]", "[]"] {
        assert!(error(&mut b, &format!("qos egress map id 1 {wrong}")).contains(wrong));
    }
    assert!(error(&mut b, "qos egress map id 1 delete").contains('1'));
    b.set("qos egress map id 1 [ip][1]=4");
    b.set("qos mark ip pg1 id 1");
    assert!(error(&mut b, "qos egress map id 1 delete").contains("in use by an interface"));
    assert!(b.run("show qos egress map id 1").contains("Map-ID:1"));
    assert_eq!(b.run("show qos mark"), " pg1:\n  IP: map:1\n");
    b.set("qos mark ip pg1 disable");
    b.set("qos egress map id 1 delete");
    assert_eq!(b.run("show qos egress map"), "");
}

#[test]
fn clients_set_and_list_all_of_it() {
    let mut b = bench();
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.talk(|local, router| {
        let record = |enable, source| QosRecordEnableDisable {
            enable,
            record: QosRecord { sw_if_index: pg0, input_source: source },
        };
        local.call(router, &record(true, QosSource::IP)).unwrap();
        local.call(router, &record(true, QosSource::MPLS)).unwrap();
        let rows = local.dump(router, &QosRecordDump {});
        let sources: Vec<_> = rows.iter().map(|r| r.record.input_source).collect();
        assert_eq!(sources, [QosSource::MPLS, QosSource::IP]);
        let refused = |r: Result<_, Retval>| r.err();
        let unknown = record(true, QosSource(9));
        assert_eq!(refused(local.call(router, &unknown).map(drop)), Some(Retval::INVALID_VALUE));
        let store = QosStoreEnableDisable {
            enable: true,
            store: QosStore { sw_if_index: pg0, input_source: QosSource::IP, value: 5 },
        };
        local.call(router, &store).unwrap();
        assert_eq!(local.dump(router, &QosStoreDump {})[0].store.value, 5);
        let rows = [1, 2, 3, 4].map(|n| QosEgressMapRow { outputs: [n; 256] });
        local.call(router, &QosEgressMapUpdate { map: QosEgressMap { id: 8, rows } }).unwrap();
        let maps = local.dump(router, &QosEgressMapDump {});
        assert_eq!((maps.len(), maps[0].map.id, maps[0].map.rows[2].outputs[9]), (1, 8, 3));
        let mark = |i: InterfaceIndex, map_id| QosMarkEnableDisable {
            enable: true,
            mark: QosMark { sw_if_index: i.0, map_id, output_source: QosSource::VLAN },
        };
        local.call(router, &mark(pg1, 8)).unwrap();
        let none = local.call(router, &mark(pg1, 9)).err();
        assert_eq!(none, Some(Retval::NO_SUCH_TABLE));
        let of = |sw_if_index| QosMarkDump { sw_if_index };
        assert_eq!(local.dump(router, &of(pg1)).len(), 1);
        assert_eq!(local.dump(router, &of(pg0)).len(), 0);
        for all in [0, u32::MAX] {
            assert_eq!(local.dump(router, &of(InterfaceIndex(all)))[0].mark.map_id, 8);
        }
        let used = local.call(router, &QosEgressMapDelete { id: 8 }).err();
        assert_eq!(used, Some(Retval::INSTANCE_IN_USE));
    });
    let told = b.run("show configuration");
    assert!(told.contains("qos egress map id 8 [ext][0-255]=1"), "{told}");
    assert!(told.contains("qos mark vlan pg1 id 8"), "{told}");
}

#[test]
fn packets_without_a_place_for_marks_pass() {
    let mut b = bench();
    b.set("qos egress map id 1 [ip][0-255]=8");
    b.set("qos record ip pg0");
    b.set("qos record vlan pg0");
    b.set("qos mark vlan pg1 id 1");
    let packet = ip4("10.0.0.2", "10.9.9.9", Protocol(253), &[]);
    let out = through(&mut b, frame(None, EtherType::IP4, &packet));
    assert_eq!(out.len(), 34);
}
