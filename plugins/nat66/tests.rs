//! Stateless translation of single IPv6 addresses: tests with packets.

use control::api::Retval;
use nat66::*;
use net::InterfaceIndex;
use net::testing::packets::*;
use net::testing::whole::{Bench, HOST, PG0, PG1, sent, solicitation, summed};
use wire::ethernet::{EtherType, Header};
use wire::icmp6;
use zerocopy::IntoBytes;

const LOCAL: &str = "2001:db8::5";
const EXTERNAL: &str = "2001:db8:1::5";
const FAR: &str = "2001:db8:1::2";

fn bench() -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    for line in [
        "set ip neighbor pg0 2001:db8::5 02:00:00:00:00:05",
        "set ip neighbor pg1 2001:db8:1::2 02:00:00:00:00:bb",
        "nat66 plugin enable",
        "set interface nat66 in pg0",
        "set interface nat66 out pg1",
        "nat66 add static mapping local 2001:db8::5 external 2001:db8:1::5",
    ] {
        b.set(line);
    }
    b.wait(0.0);
    b
}

fn framed(to_pg1: bool, packet: &[u8]) -> Vec<u8> {
    let mac = if to_pg1 { PG1 } else { PG0 };
    [Header::new(mac, HOST, EtherType::IP6).as_bytes(), packet].concat()
}

/// The packet that leaves for one received on `pg1` or `pg0`.
#[track_caller]
fn through(b: &mut Bench, on_pg1: bool, packet: &[u8]) -> Vec<u8> {
    let on = if on_pg1 { b.pg1 } else { b.pg0 };
    let out = b.receive(on, &[framed(on_pg1, packet)]);
    let sent = sent(&out);
    assert_eq!(sent.len(), 1);
    sent[0][14..].to_vec()
}

fn octets(text: &str) -> [u8; 16] {
    text.parse::<std::net::Ipv6Addr>().unwrap().octets()
}

#[test]
fn addresses_are_translated_both_ways_with_right_checksums() {
    let mut b = bench();
    let out = through(&mut b, false, &udp6(LOCAL, FAR, 80, &[1; 9]));
    assert_eq!((&out[8..24], &out[24..40]), (&octets(EXTERNAL)[..], &octets(FAR)[..]));
    assert!(sum6(&out).is_valid());
    let back = through(&mut b, true, &udp6(FAR, EXTERNAL, 80, &[1; 9]));
    assert_eq!(back[24..40], octets(LOCAL));
    assert!(sum6(&back).is_valid());
    let ping = icmp6(LOCAL, FAR, icmp6::Type::ECHO_REQUEST, &[0, 1, 0, 2, 7]);
    assert!(sum6(&through(&mut b, false, &ping)).is_valid());
    b.expect(&[]);
    let shown = b.run("show nat66 static mappings");
    assert!(shown.contains("total pkts 3"), "{shown}");
}

#[test]
fn errors_are_translated_with_what_they_quote() {
    let mut b = bench();
    for quoted in [udp6(EXTERNAL, FAR, 80, &[1; 9]), ip6(EXTERNAL, FAR, wire::Protocol(253), &[3])]
    {
        let rest = [&[0; 4], &quoted[..]].concat();
        let error = icmp6(FAR, EXTERNAL, icmp6::Type::TIME_EXCEEDED, &rest);
        let out = through(&mut b, true, &error);
        assert_eq!(out[24..40], octets(LOCAL));
        assert_eq!(out[48 + 8..48 + 24], octets(LOCAL));
        assert!(sum6(&out).is_valid());
    }
}

#[test]
fn what_is_not_mapped_or_stays_inside_passes() {
    let mut b = bench();
    let other = udp6("2001:db8::6", FAR, 80, &[1; 9]);
    assert_eq!(through(&mut b, false, &other)[8..24], octets("2001:db8::6"));
    b.expect(&[("nat66-in2out", "no translation", 1)]);
    // To another host inside.
    let inside = udp6(LOCAL, LOCAL, 80, &[1; 9]);
    assert_eq!(through(&mut b, false, &inside)[8..24], octets(LOCAL));
}

#[test]
fn clients_set_and_list_all_of_it() {
    let mut b = Bench::plugged(&[FEATURE]);
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.talk(|local, router| {
        let side = |sw_if_index, flags, is_add| Nat66AddDelInterface { is_add, flags, sw_if_index };
        let (inside, outside) = (NatConfigFlags::INSIDE, NatConfigFlags::NONE);
        let early = local.call(router, &side(pg0, inside, true)).err();
        assert_eq!(early, Some(Retval::FEATURE_DISABLED));
        let plugin = |enable| Nat66PluginEnableDisable { outside_vrf: 0, enable };
        local.call(router, &plugin(true)).unwrap();
        assert_eq!(local.call(router, &plugin(true)).err(), Some(Retval::FEATURE_ALREADY_ENABLED));
        local.call(router, &side(pg0, inside, true)).unwrap();
        local.call(router, &side(pg1, outside, true)).unwrap();
        assert_eq!(local.call(router, &side(pg1, outside, true)).err(), Some(Retval::VALUE_EXIST));
        let nowhere = side(InterfaceIndex(77), inside, true);
        assert_eq!(local.call(router, &nowhere).err(), Some(Retval::INVALID_SW_IF_INDEX));
        let rows = local.dump(router, &Nat66InterfaceDump {});
        let flags: Vec<_> = rows.iter().map(|r| (r.sw_if_index, r.flags.0)).collect();
        assert_eq!(flags, [(pg0, 32), (pg1, 16)]);
        let mapping = |is_add| Nat66AddDelStaticMapping {
            is_add,
            local_ip_address: LOCAL.parse().unwrap(),
            external_ip_address: EXTERNAL.parse().unwrap(),
            vrf_id: 3,
        };
        local.call(router, &mapping(true)).unwrap();
        assert_eq!(local.call(router, &mapping(true)).err(), Some(Retval::VALUE_EXIST));
        let rows = local.dump(router, &Nat66StaticMappingDump {});
        assert_eq!((rows.len(), rows[0].vrf_id, rows[0].total_pkts), (1, 3, 0));
        local.call(router, &mapping(false)).unwrap();
        assert_eq!(local.call(router, &mapping(false)).err(), Some(Retval::NO_SUCH_ENTRY));
        local.call(router, &mapping(true)).unwrap();
        local.call(router, &plugin(false)).unwrap();
        assert_eq!(local.dump(router, &Nat66InterfaceDump {}).len(), 0);
        assert_eq!(local.dump(router, &Nat66StaticMappingDump {}).len(), 0);
    });
    let told = b.run("show configuration nat66");
    assert_eq!(told, "");
}

#[test]
fn neighbours_outside_find_mapped_addresses_here() {
    let mut b = bench();
    let (pg0, pg1) = (b.pg0, b.pg1);
    b.set("nat66 add static mapping local 2001:db8::6 external 2001:db8:1::6");
    let mut answers = |on, src: &str, target: &str, is_probe: bool| -> usize {
        let mut frame = solicitation(src, target);
        if is_probe {
            frame.ethernet.dst = PG1;
            frame.ip.dst = target.parse::<std::net::Ipv6Addr>().unwrap().octets();
        }
        let out = b.receive(on, &[summed(&frame, 0)]);
        let is_answer = |f: &&[u8]| f[54] == icmp6::Type::NEIGHBOR_ADVERTISEMENT.0;
        sent(&out).into_iter().filter(is_answer).count()
    };
    assert_eq!(answers(pg1, FAR, EXTERNAL, false), 1);
    assert_eq!(answers(pg1, FAR, "2001:db8:1::6", false), 1);
    assert_eq!(answers(pg1, FAR, EXTERNAL, true), 1, "whether it is there still");
    assert_eq!(answers(pg1, FAR, "2001:db8:1::7", false), 0);
    assert_eq!(answers(pg0, LOCAL, EXTERNAL, false), 0);
}
