//! Frames of devices that may pass or not.

use control::api::{Retval, Text};
use mactime::*;
use net::testing::packets::udp4;
use net::testing::whole::{Bench, HOST, PG0, sent};
use wire::MacAddr;
use wire::ethernet::{EtherType, Header};
use zerocopy::IntoBytes;

/// The device behind `pg0`, which is also the source of all frames there.
const DEVICE: MacAddr = HOST;
/// All of the week.
const ALWAYS: &str = "range 0 604800";
const NODE: &str = "mactime";

fn bench() -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    for line in ["set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb", "mactime enable-disable pg0"] {
        b.set(line);
    }
    b.graph.moved_counters();
    b
}

/// How many of these frames to a port leave.
fn pass(b: &mut Bench, port: u16, n: usize) -> usize {
    let packet = udp4("10.0.0.2", "10.0.1.2", port, b"x");
    let frame = [Header::new(PG0, HOST, EtherType::IP4).as_bytes(), &packet].concat();
    let rx = b.pg0.0;
    // The devices that have a start of the arc are no part of this router.
    let out = b.graph.send(NODE, &vec![frame; n], move |p| p.set_rx(rx));
    sent(&out).len()
}

#[track_caller]
fn set(b: &mut Bench, line: &str) {
    assert_eq!(b.cli(&format!("set mactime device {DEVICE} {line}")), "", "{line}");
}

#[test]
fn a_device_passes_or_not_and_others_pass() {
    for n in [1, 3, 4, 255, 256] {
        let (mut b, count) = (bench(), n as u64);
        assert_eq!(pass(&mut b, 9, n), n);
        b.expect(&[(NODE, "Permitted packets", count)]);
        for (line, reason) in [
            ("drop", "Static drop packets"),
            (&format!("drop {ALWAYS}"), "Range drop packets"),
            (&format!("allow {ALWAYS} quota 0"), "Data quota drop packets"),
        ] {
            set(&mut b, line);
            assert_eq!(pass(&mut b, 9, n), 0, "{line}");
            b.expect(&[(NODE, reason, count)]);
        }
        for line in ["allow", &format!("allow {ALWAYS}"), &format!("allow {ALWAYS} quota 1000000")]
        {
            set(&mut b, line);
            assert_eq!(pass(&mut b, 9, n), n, "{line}");
            b.expect(&[(NODE, "Permitted packets", count)]);
        }
        assert_eq!(b.graph.buffers_used(), 0);
    }
}

#[test]
fn a_device_is_the_destination_of_what_is_sent() {
    let mut b = bench();
    let to: MacAddr = "02:00:00:00:00:bb".parse().unwrap();
    assert_eq!(b.cli("mactime enable-disable pg1"), "");
    assert_eq!(b.cli(&format!("set mactime device {to} drop")), "");
    assert_eq!(pass(&mut b, 9, 3), 0);
    b.expect(&[(NODE, "Permitted packets", 3), ("mactime-tx", "Static drop packets", 3)]);
}

#[test]
fn a_quota_is_used_up_and_begins_anew() {
    let mut b = bench();
    // A frame has 43 bytes.
    set(&mut b, &format!("allow {ALWAYS} quota 100"));
    assert_eq!(pass(&mut b, 9, 5), 3);
    b.expect(&[(NODE, "Data quota drop packets", 2), (NODE, "Permitted packets", 3)]);
    assert!(b.cli("show mactime verbose").contains("used 129 of 100 bytes"));
    assert_eq!(b.cli("clear mactime"), "");
    assert_eq!(pass(&mut b, 9, 5), 3);
}

#[test]
fn known_times_are_in_their_ranges() {
    let said = bench().cli("test time-range");
    assert_eq!((said.matches("OK").count(), said.contains("FAILED")), (4, false), "{said}");
}

#[test]
fn one_port_may_be_closed() {
    let mut b = bench();
    set(&mut b, "allow no-udp-10001");
    assert_eq!((pass(&mut b, 10_001, 2), pass(&mut b, 10_002, 2)), (0, 2));
    b.expect(&[(NODE, "Dropped UDP DST-port 10001", 2), (NODE, "Permitted packets", 2)]);
}

#[test]
fn clients_declare_and_list_devices() {
    let mut b = bench();
    let pg1 = b.pg1;
    b.talk(|local, router| {
        let on = MactimeEnableDisable { enable_disable: true, sw_if_index: pg1 };
        local.call(router, &on).unwrap();
        let range = TimeRange { start: 10.0, end: 20.5 };
        let new = |drop, allow, name: &str| MactimeAddDelRange {
            is_add: true,
            drop,
            allow,
            allow_quota: 0,
            no_udp_10001: true,
            data_quota: 0,
            mac_address: DEVICE,
            device_name: Text::from(name),
            ranges: vec![range],
        };
        local.call(router, &new(true, false, "tv")).unwrap();
        for (drop, allow, name) in [(false, false, "tv"), (true, true, "tv"), (true, false, "")] {
            let refused = local.call(router, &new(drop, allow, name)).err();
            assert_eq!(refused, Some(Retval::INVALID_VALUE));
        }
        let (rows, _, end) = local.stream(router, &MactimeDump { my_table_epoch: 0 });
        assert_eq!((rows.len(), rows[0].flags, &*rows[0].device_name), (1, 4 | 32, "tv"));
        assert_eq!(rows[0].ranges, [MactimeTimeRange { start: 10.0, end: 20.5 }]);
        let known = MactimeDump { my_table_epoch: end.table_epoch };
        assert_eq!(local.stream(router, &known).0.len(), 0, "nothing is new");
        let gone = MactimeAddDelRange { is_add: false, ..new(true, false, "tv") };
        local.call(router, &gone).unwrap();
        assert_eq!(local.call(router, &gone).err(), Some(Retval::NO_SUCH_ENTRY));
    });
    for (line, why) in [
        ("set mactime device 02:00:00:00:00:01", "expected allow or drop"),
        ("set mactime device 02:00:00:00:00:01 allow range 5 604801", "0 to 604800"),
        (
            "set mactime device 02:00:00:00:00:01 drop range 5 6 quota 7",
            "a quota requires allowed ranges",
        ),
        ("set mactime device ff:ff:ff:ff:ff:ff drop", "a unicast MAC address"),
    ] {
        let said = b.cli(line);
        assert!(said.contains(why), "{line}: {said}");
    }
}
