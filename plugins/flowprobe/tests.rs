//! Packets from `pg0` to `pg1`, and what a collector behind `pg0` gets to know of them.

use control::api::Retval;
use flowprobe::*;
use net::testing::packets::{ip4, udp6};
use net::testing::whole::{Bench, HOST, PG0, PG1, sent};
use net::{InterfaceIndex, Router};
use wire::Protocol;
use wire::ethernet::{EtherType, Header};
use zerocopy::IntoBytes;

fn bench(lines: &[&str]) -> Bench {
    let mut b = Bench::plugged(&[sessions::FEATURE, ipfix::FEATURE, FEATURE]);
    for line in [
        "set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb",
        "set ip neighbor pg0 10.0.0.9 02:00:00:00:00:bc",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb",
        "set ipfix exporter collector 10.0.0.9 src 10.0.0.1 path-mtu 1400",
    ] {
        b.set(line);
    }
    b.wait(0.0);
    lines.iter().for_each(|line| b.set(line));
    b.graph.moved_counters();
    b
}

fn frame(packet: &[u8]) -> Vec<u8> {
    let kind = if packet[0] >> 4 == 6 { EtherType::IP6 } else { EtherType::IP4 };
    [Header::new(PG0, HOST, kind).as_bytes(), packet].concat()
}

/// Whether a frame is for the collector.
fn is_export(frame: &[u8]) -> bool {
    frame[12..14] == [8, 0] && frame[30..34] == [10, 0, 0, 9]
}

/// Sends packets through; how many get there, and the sets that the collector gets meanwhile.
fn through(b: &mut Bench, packets: &[Vec<u8>]) -> (usize, Vec<(u16, Vec<u8>)>) {
    let out = b.receive(b.pg0, &packets.iter().map(|p| frame(p)).collect::<Vec<_>>());
    let out = sent(&out);
    (out.iter().filter(|frame| !is_export(frame)).count(), sets(&out))
}

/// The sets with records that the collector gets while time passes.
fn waited(b: &mut Bench, seconds: f64) -> Vec<(u16, Vec<u8>)> {
    let out = b.wait(seconds);
    sets(&sent(&out)).into_iter().filter(|set| set.0 != 2).collect()
}

/// Sets that the collector gets: number and contents.
fn sets(frames: &[&[u8]]) -> Vec<(u16, Vec<u8>)> {
    let exports = frames.iter().filter(|frame| is_export(frame));
    exports
        .map(|frame| {
            let set = &frame[14 + 28 + 16..];
            (u16::from_be_bytes([set[0], set[1]]), set[4..].to_vec())
        })
        .collect()
}

/// The same after a flush.
fn flushed(b: &mut Bench) -> Vec<(u16, Vec<u8>)> {
    b.set("ipfix flush");
    sets(&sent(&b.settle()))
}

/// The numbers of the fields of a template.
fn template(contents: &[u8]) -> (u16, Vec<u16>) {
    let fields = contents[4..].chunks(4);
    let id = u16::from_be_bytes([contents[0], contents[1]]);
    (id, fields.map(|field| u16::from_be_bytes([field[0], field[1]])).collect())
}

const COMMON: [u16; 6] = [10, 14, 61, 2, 156, 157];

fn with(more: &[u16]) -> Vec<u16> {
    [&COMMON, more].concat()
}

/// The fields of all groups, for each version.
const IP4: [u16; 10] = [56, 80, 256, 8, 12, 4, 1, 7, 11, 6];
const IP6: [u16; 10] = [56, 80, 256, 27, 28, 4, 1, 7, 11, 6];

fn datagram(src_port: u16) -> Vec<u8> {
    let ports = [src_port.to_be_bytes(), 53_u16.to_be_bytes()].concat();
    ip4("10.0.0.2", "10.0.1.2", Protocol::UDP, &[&ports[..], &[0, 12, 0, 0, 1, 2, 3, 4]].concat())
}

fn segment(flags: u8) -> Vec<u8> {
    let upper = [4, 210, 16, 225, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, flags, 9, 9, 0, 0, 0, 0];
    ip4("10.0.0.2", "10.0.1.2", Protocol::TCP, &upper)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte))
}

/// A record of IPv4 with all groups of fields, cut into these.
struct Cut {
    rx: u64,
    tx: u64,
    direction: u64,
    packets: u64,
    times: [u64; 2],
    src_mac: u64,
    dst_mac: u64,
    ethertype: u64,
    ends: [u64; 2],
    protocol: u64,
    bytes: u64,
    ports: [u64; 2],
    flags: u64,
}

impl Cut {
    fn of(record: &[u8]) -> Self {
        let mut at = 0;
        let mut next = |len: usize| {
            at += len;
            number(&record[at - len..at])
        };
        Self {
            rx: next(4),
            tx: next(4),
            direction: next(1),
            packets: next(8),
            times: [next(8), next(8)],
            src_mac: next(6),
            dst_mac: next(6),
            ethertype: next(2),
            ends: [next(4), next(4)],
            protocol: next(1),
            bytes: next(8),
            ports: [next(2), next(2)],
            flags: next(2),
        }
    }
}

/// Bytes of such a record.
const LEN: usize = 70;

/// The records of a set; templates, which come again from time to time, are none.
fn cut(set: &(u16, Vec<u8>)) -> Vec<Cut> {
    let records = if set.0 == 2 { &[][..] } else { &set.1[..] };
    records.chunks(LEN).map(Cut::of).collect()
}

#[test]
fn times_and_types_are_written_as_collectors_want_them() {
    let params = "flowprobe params active 0 ethertype network record l2 timestamps milliseconds";
    let mut b = bench(&[params, "flowprobe feature add-del ip4 pg0 rx"]);
    let shown = b.cli("show flowprobe params");
    assert!(
        shown.ends_with("passive: 120 timestamps: milliseconds ethertype: network\n"),
        "{shown}"
    );
    let line = "flowprobe params record l2 active 0 timestamps milliseconds ethertype network\n";
    assert!(b.cli("show configuration").contains(line));
    let (_, mut all) = through(&mut b, &[datagram(7)]);
    all.extend(flushed(&mut b));
    let fields = all.iter().find(|set| set.0 == 2).map(|set| template(&set.1).1).unwrap();
    assert_eq!(fields, [10, 14, 61, 2, 152, 153, 56, 80, 256]);
    let record = &all.iter().find(|set| set.0 != 2).unwrap().1;
    let [from, to] = [17, 25].map(|at| u64::from_be_bytes(*record[at..].first_chunk().unwrap()));
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
    assert!(from <= to && now.abs_diff(to) < 60_000, "{from} {to} {now}");
    assert_eq!(record[33 + 12..33 + 14], [8, 0]);
    // Clients that know nothing of it leave it as it is.
    b.set("flowprobe feature add-del ip4 pg0 rx disable");
    b.talk(|local, router| {
        let record_flags = FlowprobeRecordFlags(1);
        let set = FlowprobeSetParams { record_flags, active_timer: 5, passive_timer: 10 };
        local.call(router, &set).unwrap();
    });
    assert!(b.cli("show flowprobe params").contains("timestamps: milliseconds"));
    for (line, why) in [
        ("flowprobe params l2", "expected record, and l2, l3 or l4"),
        ("flowprobe params record l2 timestamps seconds", "expected nanoseconds or milliseconds"),
        ("flowprobe feature add-del ip4", "expected an interface"),
    ] {
        assert!(b.cli(line).contains(why), "{line}");
    }
}

#[test]
fn without_timers_each_packet_is_a_record() {
    let mut b = bench(&[
        "flowprobe params record l2 l3 l4 active 0",
        "flowprobe feature add-del pg1 ip4 tx",
    ]);
    let templates = flushed(&mut b);
    assert_eq!(templates.len(), 1);
    let (id, fields) = template(&templates[0].1);
    assert_eq!((templates[0].0, fields), (2, with(&IP4)));
    for n in [1, 3, 4, 255, 256] {
        let (passed, mut all) = through(&mut b, &vec![datagram(1000); n]);
        assert_eq!(passed, n);
        b.expect(&[("flowprobe-output-ip4", "Exported packets", n as u64)]);
        let mut seen = 0;
        all.append(&mut flushed(&mut b));
        for set in all {
            assert_eq!(set.0, id);
            seen += cut(&set).len();
            for record in cut(&set) {
                assert_eq!((record.rx, record.tx), (b.pg0.0.into(), b.pg1.0.into()));
                assert_eq!((record.direction, record.packets, record.bytes), (1, 1, 32));
                let [from, to] = record.times.map(|time| (time >> 32) - 2_208_988_800);
                let now = control::wall::now().as_secs();
                assert!(from == to && from.abs_diff(now) <= 60, "{from} {to} {now}");
                assert_eq!((record.src_mac, record.dst_mac), (number(&PG1.0), 0x0200_0000_00bb));
                assert_eq!(record.ethertype, 8);
                assert_eq!(record.ends, [0x0a00_0002, 0x0a00_0102]);
                assert_eq!((record.protocol, record.ports), (17, [1000, 53]));
            }
        }
        assert_eq!(seen, n);
    }
}

#[test]
fn flows_are_recorded_when_they_are_due_and_when_they_are_over() {
    let mut b = bench(&[
        "flowprobe params record l2 l3 l4 active 10 passive 20",
        "flowprobe feature add-del pg0 ip4 rx",
    ]);
    flushed(&mut b);
    through(&mut b, &[segment(2), segment(0x10), datagram(1000)]);
    b.expect(&[]);
    let shown = b.cli("show flowprobe table");
    let tcp = "10.0.0.2 -> 10.0.1.2 protocol 6 ports 1234 -> 4321 packets 2 bytes 80";
    assert!(shown.contains(tcp), "{shown}");
    let shown = b.cli("show flowprobe statistics");
    assert!(shown.contains("thread 0: 2 flows of 262144, 2 made"), "{shown}");
    assert_eq!(flushed(&mut b), []);
    let mut records: Vec<_> = waited(&mut b, 15.5).iter().flat_map(cut).collect();
    records.sort_by_key(|record| record.protocol);
    let [tcp, udp] = &records[..] else { panic!("{} records", records.len()) };
    assert_eq!((tcp.rx, tcp.tx, tcp.direction), (b.pg0.0.into(), 0, 0));
    assert_eq!((tcp.packets, tcp.bytes, tcp.flags), (2, 80, 0x12));
    assert_eq!((tcp.src_mac, tcp.dst_mac), (number(&HOST.0), number(&PG0.0)));
    assert_eq!((udp.packets, udp.bytes, udp.flags), (1, 32, 0));
    // New counts are recorded once more; silent flows end without a record.
    through(&mut b, &[segment(1)]);
    let records: Vec<_> = waited(&mut b, 60.0).iter().flat_map(cut).collect();
    let [fin] = &records[..] else { panic!("{} records", records.len()) };
    assert_eq!((fin.packets, fin.bytes, fin.flags), (1, 40, 1));
    assert_eq!(b.cli("show flowprobe table"), "");
    // A packet that finds its flow due takes the record along.
    through(&mut b, &[segment(2)]);
    b.graph.engine.clock().adjust(11.0);
    through(&mut b, &[segment(0x10)]);
    b.expect(&[("flowprobe-input-ip4", "Exported packets", 1)]);
    let records: Vec<_> = flushed(&mut b).iter().flat_map(cut).collect();
    assert_eq!((records[0].packets, records[0].flags), (2, 0x12));
    // Flows are forgotten with the interface that is not probed any more.
    through(&mut b, &[segment(2)]);
    b.set("flowprobe feature add-del pg0 ip4 rx disable");
    assert_eq!(b.cli("show flowprobe table"), "");
    assert_eq!(waited(&mut b, 60.0), []);
}

#[test]
fn a_turn_exports_some_of_many_flows_and_the_next_ones_the_rest() {
    let mut b = bench(&[
        "flowprobe params record l2 l3 l4 active 10 passive 20",
        "flowprobe feature add-del pg0 ip4 rx",
    ]);
    for ports in (1..=2000_u16).collect::<Vec<_>>().chunks(250) {
        through(&mut b, &ports.iter().map(|port| datagram(*port)).collect::<Vec<_>>());
    }
    flushed(&mut b);
    b.graph.engine.clock().adjust(15.0);
    let count = |sets: &[(u16, Vec<u8>)]| sets.iter().flat_map(cut).count();
    let (mut turns, mut records) = (0, 0);
    while records < 2000 {
        b.control(|router, _| router.run_due());
        let now = count(&sets(&sent(&b.graph.run())));
        // What a turn takes, and what waited for company.
        assert!(now <= 600, "{now} records in one turn");
        (turns, records) = (turns + usize::from(now > 0), records + now);
        b.graph.engine.clock().adjust(0.002);
    }
    assert!(turns >= 4 && records == 2000, "{turns} {records}");
}

#[test]
fn frames_have_a_template_for_each_kind() {
    for (groups, expected) in [
        ("l2", vec![with(&IP4[..3])]),
        ("l3", vec![with(&IP4[3..7]), with(&IP6[3..7])]),
        ("l4", vec![with(&IP4[7..]), with(&IP6[7..])]),
        ("l2 l3 l4", vec![with(&IP4[..3]), with(&IP4), with(&IP6)]),
    ] {
        for (way, node, direction) in
            [("rx", "flowprobe-input-l2", 0), ("tx", "flowprobe-output-l2", 1)]
        {
            let interface = if way == "rx" { "pg0" } else { "pg1" };
            let mut b = bench(&[
                &format!("flowprobe params record {groups} active 0"),
                &format!("flowprobe feature add-del {interface} l2 {way}"),
            ]);
            let templates: Vec<_> = flushed(&mut b).iter().map(|set| template(&set.1)).collect();
            let fields: Vec<_> = templates.iter().map(|(_, fields)| fields.clone()).collect();
            assert_eq!(fields, expected, "{groups}");
            if way == "rx" {
                continue;
            }
            let six = udp6("2001:db8::2", "2001:db8:1::2", 53, b"six!");
            assert_eq!(through(&mut b, &[datagram(1000), six]).0, 2);
            b.expect(&[(node, "Exported packets", 2)]);
            let records = flushed(&mut b);
            assert!(records.iter().all(|(_, record)| record[8] == direction));
            match groups {
                "l2" => assert_eq!(records[0].1.len(), 2 * (33 + 14)),
                _ => {
                    let numbers: Vec<_> = records.iter().map(|(id, _)| *id).collect();
                    let last: Vec<_> =
                        templates[templates.len() - 2..].iter().map(|t| t.0).collect();
                    assert_eq!(numbers, last);
                }
            }
            if groups == "l2 l3 l4" {
                let record = &records[1].1;
                assert_eq!(record[45..47], [0xdd, 0x86]);
                let six = |last: &str| last.parse::<std::net::Ipv6Addr>().unwrap().octets();
                assert_eq!(record[47..63], six("2001:db8::2"));
                assert_eq!(record[63..79], six("2001:db8:1::2"));
                assert_eq!(number(&record[80..88]), 40 + 8 + 4);
                assert_eq!(number(&record[90..92]), 53);
            }
        }
    }
}

#[test]
fn ip6_is_recorded_where_it_comes_in_and_where_it_leaves() {
    let mut b = bench(&[
        "flowprobe params record l3 active 0",
        "flowprobe feature add-del pg0 ip6 both",
        "flowprobe feature add-del pg1 ip6 both",
        "flowprobe feature add-del pg1 ip4",
    ]);
    assert_eq!(flushed(&mut b).len(), 2);
    let six = udp6("2001:db8::2", "2001:db8:1::2", 53, b"");
    assert_eq!(through(&mut b, &[six]).0, 1);
    let exported = "Exported packets";
    b.expect(&[("flowprobe-input-ip6", exported, 1), ("flowprobe-output-ip6", exported, 1)]);
    let records = flushed(&mut b);
    let directions: Vec<_> = records[0].1.chunks(33 + 41).map(|record| record[8]).collect();
    assert_eq!(directions, [0, 1]);
}

#[test]
fn clients_set_and_list_what_is_probed() {
    let mut b = bench(&[]);
    let interfaces = [b.pg0, b.pg1];
    b.talk(|local, router| {
        let probe = |which, direction, at: usize, is_add| FlowprobeInterfaceAddDel {
            is_add,
            which,
            direction,
            sw_if_index: interfaces[at],
        };
        let (ip4, rx, tx) = (FlowprobeWhich::IP4, FlowprobeDirection::RX, FlowprobeDirection::TX);
        let refused =
            |m: FlowprobeInterfaceAddDel, router: &mut Router| local.call(router, &m).err();
        let none = Retval::CANNOT_ENABLE_DISABLE_FEATURE;
        assert_eq!(refused(probe(ip4, rx, 0, true), router), Some(none));
        let params = |record, active_timer, passive_timer| FlowprobeSetParams {
            record_flags: FlowprobeRecordFlags(record),
            active_timer,
            passive_timer,
        };
        for bad in [params(8, 1, 2), params(3, 3, 2)] {
            assert_eq!(local.call(router, &bad).err(), Some(Retval::INVALID_VALUE));
        }
        local.call(router, &params(3, u32::MAX, u32::MAX)).unwrap();
        let got = local.call(router, &FlowprobeGetParams {}).unwrap();
        assert_eq!((got.record_flags.0, got.active_timer, got.passive_timer), (3, 15, 120));
        assert_eq!(refused(probe(ip4, rx, 0, true), router), None);
        assert_eq!(refused(probe(ip4, rx, 0, true), router), Some(Retval::VALUE_EXIST));
        assert_eq!(refused(probe(ip4, tx, 0, false), router), Some(Retval::NO_SUCH_ENTRY));
        let unknown = probe(FlowprobeWhich(7), rx, 0, true);
        assert_eq!(refused(unknown, router), Some(Retval::INVALID_VALUE));
        let far =
            FlowprobeInterfaceAddDel { sw_if_index: InterfaceIndex(99), ..probe(ip4, rx, 0, true) };
        assert_eq!(refused(far, router), Some(Retval::INVALID_SW_IF_INDEX));
        let old = FlowprobeTxInterfaceAddDel {
            is_add: true,
            which: FlowprobeWhichFlags::L2,
            sw_if_index: interfaces[1],
        };
        local.call(router, &old).unwrap();
        let later = local.call(router, &params(1, 1, 2)).err();
        assert_eq!(later, Some(Retval::UNSUPPORTED));
        let list = |sw_if_index| FlowprobeInterfaceDump { sw_if_index };
        let rows = local.dump(router, &list(InterfaceIndex(u32::MAX)));
        let rows: Vec<_> = rows.iter().map(|r| (r.which.0, r.direction.0, r.sw_if_index)).collect();
        assert_eq!(rows, [(0, 0, interfaces[0]), (2, 1, interfaces[1])]);
        assert_eq!(local.dump(router, &list(interfaces[1])).len(), 1);
        assert_eq!(local.dump(router, &list(InterfaceIndex(99))).len(), 0);
    });
    let told = b.cli("show configuration flowprobe");
    let expected = "flowprobe params record l2 l3\n\
        flowprobe feature add-del pg0 ip4 rx\n\
        flowprobe feature add-del pg1 l2 tx\n";
    assert_eq!(told, expected);
    assert_eq!(b.cli("show flowprobe feature"), " pg0 ip4 rx\n pg1 l2 tx\n");
    assert_eq!(b.cli("show flowprobe params"), " l2 l3 active: 15 passive: 120\n");
}
