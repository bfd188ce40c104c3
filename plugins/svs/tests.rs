//! Tables chosen by the sources of packets: tests with packets.

use control::api::Retval;
use control::api::types::AddressFamily;
use net::testing::packets::*;
use net::testing::whole::{Bench, HOST, PG0, sent};
use svs::*;
use wire::ethernet::{EtherType, Header};
use zerocopy::IntoBytes;

/// In each table the far network is behind another neighbour, whose address ends with its number.
fn bench() -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    for id in [0, 10, 20] {
        if id > 0 {
            b.set(&format!("ip table add {id}"));
            b.set(&format!("ip6 table add {id}"));
        }
        let mac = format!("02:00:00:00:01:{id:02}");
        b.set(&format!("set ip neighbor pg1 10.0.1.1{id} {mac}"));
        b.set(&format!("set ip neighbor pg1 2001:db8:1::1{id} {mac}"));
        b.set(&format!("ip route add 16.0.0.0/8 table {id} via 10.0.1.1{id} pg1"));
        b.set(&format!("ip route add 2001:db8:ff::/48 table {id} via 2001:db8:1::1{id} pg1"));
    }
    b.wait(0.0);
    b
}

/// Identifiers of the tables that packets from these sources are looked up in.
fn tables(b: &mut Bench, sources: &[&str]) -> Vec<u32> {
    let through = |source: &&str| {
        let (kind, packet) = match source.contains(':') {
            true => (EtherType::IP6, udp6(source, "2001:db8:ff::1", 9, &[])),
            false => (EtherType::IP4, udp4(source, "16.0.0.1", 9, &[])),
        };
        let frame = [Header::new(PG0, HOST, kind).as_bytes(), &packet].concat();
        let pg0 = b.pg0;
        let out = b.receive(pg0, &[frame]);
        let last = sent(&out)[0][5];
        format!("{last:x}").parse().unwrap()
    };
    sources.iter().map(through).collect()
}

#[test]
fn the_longest_prefix_of_a_source_chooses_the_table() {
    let mut b = bench();
    for line in [
        "svs table add ip4 table-id 100",
        "svs table add ip6 table-id 100",
        "svs route add 100 10.0.0.0/8 10",
        "svs route add 100 10.1.0.0/16 20",
        "svs route add 100 2001:db8::/32 20",
        "svs enable enable ip4 100 pg0",
        "svs enable enable ip6 table-id 100 pg0",
    ] {
        b.set(line);
    }
    let sources = ["10.2.0.1", "10.1.0.1", "11.0.0.1", "2001:db8::7", "2001:db9::7"];
    assert_eq!(tables(&mut b, &sources), [10, 20, 0, 20, 0]);
    b.set("svs route add 100 10.1.0.0/16 10");
    assert_eq!(tables(&mut b, &sources[1..2]), [10], "a route is changed in place");
    b.set("svs route delete 100 10.1.0.0/16");
    b.set("svs route delete 100 10.0.0.0/8 10");
    b.set("svs route add 100 0.0.0.0/0 20");
    assert_eq!(tables(&mut b, &sources[..3]), [20, 20, 20]);
    b.set("svs enable disable ip4 100 pg0");
    assert_eq!(tables(&mut b, &sources[..3]), [0, 0, 0]);
    let shown = b.run("show svs");
    assert!(shown.contains("0.0.0.0/0 -> table-id 20"));
    assert!(shown.starts_with("Source VRF select interface to fib-index mappings:\n ipv4\n"));
    let told = b.run("show configuration svs");
    assert!(told.contains("svs enable enable ip6 table-id 100 pg0"), "{told}");
}

#[test]
fn clients_set_and_list_it() {
    let mut b = bench();
    let pg0 = b.pg0;
    b.talk(|local, router| {
        let version = local.call(router, &SvsPluginGetVersion {}).unwrap();
        assert_eq!((version.major, version.minor), (1, 0));
        let af = AddressFamily::IP6;
        let table = |is_add| SvsTableAddDel { is_add, af, table_id: 7 };
        let enable = |is_enable| SvsEnableDisable { is_enable, af, table_id: 7, sw_if_index: pg0 };
        assert_eq!(local.call(router, &enable(true)).err(), Some(Retval::NO_SUCH_FIB));
        local.call(router, &table(true)).unwrap();
        let route = |source_table_id| SvsRouteAddDel {
            is_add: true,
            prefix: "2001:db8::/32".parse::<wire::Prefix>().unwrap().into(),
            table_id: 7,
            source_table_id,
        };
        local.call(router, &route(10)).unwrap();
        assert_eq!(local.call(router, &route(99)).err(), Some(Retval::NO_SUCH_FIB));
        local.call(router, &enable(true)).unwrap();
        let rows = local.dump(router, &SvsDump {});
        assert_eq!((rows.len(), rows[0].table_id, rows[0].af), (1, 7, af));
        assert_eq!(local.call(router, &table(false)).err(), Some(Retval::INSTANCE_IN_USE));
        local.call(router, &enable(false)).unwrap();
        assert_eq!(local.call(router, &enable(false)).err(), Some(Retval::NO_SUCH_ENTRY));
        local.call(router, &table(false)).unwrap();
        assert_eq!(local.dump(router, &SvsDump {}).len(), 0);
    });
}
