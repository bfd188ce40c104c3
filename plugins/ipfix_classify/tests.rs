//! Sessions of classifier tables as IPFIX records: tests with packets.

use control::api::Retval;
use ipfix_classify::*;
use net::Feature;
use net::testing::whole::{Bench, packet, sent};

fn bench() -> Bench {
    let plugins: [Feature; 3] = [classify::FEATURE, ipfix::FEATURE, FEATURE];
    let mut b = Bench::plugged(&plugins);
    b.set("set ip neighbor pg1 10.0.1.2 02:00:00:00:00:bb");
    b.set("set ipfix exporter collector 10.0.1.2 src 10.0.1.1 template-interval 1000");
    b.set("classify table mask l3 ip4 src dst");
    b.wait(0.0);
    b
}

/// Records that the collector got: what stands behind the header of their set.
fn records(out: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let messages = out.iter().filter(|frame| frame[36..38] == 4739_u16.to_be_bytes());
    let data =
        messages.map(|frame| frame[42 + 16..].to_vec()).filter(|set| set[0] != 0 || set[1] > 2);
    data.map(|set| set[4..].to_vec()).collect()
}

#[test]
fn a_session_that_had_packets_is_a_record() {
    let mut b = bench();
    b.set("set ipfix classify stream domain 7 src-port 4000");
    b.set("ipfix classify table add 0 ip4");
    b.set("classify session table-index 0 match l3 ip4 src 10.0.0.2 dst 10.0.1.2");
    b.set("classify session table-index 0 match l3 ip4 src 10.0.0.3 dst 10.0.1.2");
    b.set("set interface input acl intfc pg0 ip4-table 0");
    let on = b.pg0;
    b.receive(on, &[packet("10.0.1.2"), packet("10.0.1.2"), packet("10.0.1.9")]);
    b.settle();
    let mut out = b.wait(25.0);
    out.extend(b.wait(6.0));
    let out: Vec<_> = sent(&out).into_iter().map(<[u8]>::to_vec).collect();
    let expected = [&[10, 0, 0, 2, 10, 0, 1, 2, 0][..], &2_u64.to_be_bytes()].concat();
    assert_eq!(records(&out), [expected]);
}

#[test]
fn tables_are_exported_once_and_stay_as_long() {
    let mut b = bench();
    b.set("ipfix classify table add 0 ip4 udp");
    assert!(b.cli("ipfix classify table add 0").contains("exported already"));
    assert!(b.cli("ipfix classify table add 1").contains("no classifier table 1"));
    assert!(b.cli("ipfix classify table del 1").contains("is not exported"));
    assert!(b.cli("classify table del table 0").contains("in use"));
    b.set("set ipfix classify stream domain 2 src-port 5000");
    let shown = b.cli("show configuration ipfix_classify");
    let lines =
        "set ipfix classify stream domain 2 src-port 5000\nipfix classify table add 0 ip4 udp\n";
    assert_eq!(shown, lines);
    b.talk(|local, router| {
        let add = |table_id, is_add| IpfixClassifyTableAddDel {
            table_id,
            ip_version: control::api::types::AddressFamily::IP4,
            transport_protocol: control::api::types::IpProto(6),
            is_add,
        };
        assert_eq!(local.call(router, &add(9, true)).err(), Some(Retval::NO_SUCH_TABLE));
        assert_eq!(local.call(router, &add(0, true)).err(), Some(Retval::VALUE_EXIST));
        local.call(router, &add(0, false)).unwrap();
        assert_eq!(local.call(router, &add(0, false)).err(), Some(Retval::NO_SUCH_ENTRY));
    });
}
