//! Packets that leave a bridge as they came.

use control::api::Retval;
use dvr::FEATURE;
use net::adjacency::Link;
use net::fib::types::{FibPath, FibPathType};
use net::fib::{Ip4, RouteOf, TableIndex};
use net::testing::whole::{Bench, packet_to, packet6};
use wire::MacAddr;

/// A bridge of `pg0`, VLAN 9 of `pg1`, and `pg2` as the router's own port.
fn bench() -> Bench {
    let mut b = Bench::plugged(&[l2::FEATURE, FEATURE]);
    b.add_interface("pg2", net::interface::Kind::Ethernet, 0xac);
    for line in [
        "create sub-interfaces pg1 9",
        "set interface state pg1.9 up",
        "set interface l2 bridge pg0 5",
        "set interface l2 bridge pg1.9 5",
        "set interface l2 tag-rewrite pg1.9 pop 1",
        "set interface l2 bridge pg2 5 bvi",
        "set interface ip address pg2 10.5.0.1/24",
        "set interface ip address pg2 2001:db8:5::1/64",
    ] {
        assert!(["", "pg1.9\n"].contains(&b.cli(line).as_str()), "{line}");
    }
    b
}

/// A frame for the router's own port.
fn frame(mac: MacAddr, is_ip6: bool) -> Vec<u8> {
    let mut frame = match is_ip6 {
        false => packet_to(mac, "10.5.0.7"),
        true => packet6("2001:db8:5::7"),
    };
    frame[..6].copy_from_slice(&mac.0);
    frame
}

#[test]
fn a_packet_leaves_as_the_frame_it_came_as() {
    let mut b = bench();
    let (pg0, pg1, own) = (b.pg0, b.pg1, b.interface("pg2"));
    let mac = b.control(|router, _| router.interfaces.at(own).unwrap().mac);
    b.cli("ip route add 10.5.0.7/32 via dvr pg1.9");
    b.cli("ip route add 2001:db8:5::7/128 via dvr pg1.9");
    for is_ip6 in [false, true] {
        let frame = frame(mac, is_ip6);
        let tagged = [&frame[..12], &[0x81, 0, 0, 9], &frame[12..]].concat();
        for n in [1, 3, 4, 255, 256] {
            let out = b.receive(pg0, &vec![frame.clone(); n]);
            let left = out.iter().filter(|c| c.bytes == tagged && c.at == "sent");
            assert_eq!(left.count(), n, "with its tag and all hops");
        }
        // Back in with a tag, out where there is none.
        let (host, len) = if is_ip6 { ("2001:db8:5::7", 128) } else { ("10.5.0.7", 32) };
        b.cli(&format!("ip route del {host}/{len}"));
        b.cli(&format!("ip route add {host}/{len} via dvr pg0"));
        let out = b.receive(pg1, &[tagged]);
        assert!(out.iter().any(|c| c.tx == pg0.0 && c.bytes == frame));
    }
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn the_features_of_routed_packets_hold_until_no_path_leads_there() {
    let mut b = bench();
    let features = |b: &mut Bench| b.cli("show interface features pg0");
    assert!(!features(&mut b).contains("dvr-reinject"));
    b.cli("ip route add 10.5.0.7/32 via dvr pg0");
    b.cli("ip route add 10.5.0.8/32 via dvr pg0");
    b.cli("ip route del 10.5.0.7/32");
    assert!(features(&mut b).contains("ip4-dvr-reinject"));
    assert!(features(&mut b).contains("ip6-dvr-reinject"));
    b.cli("ip route del 10.5.0.8/32");
    assert!(!features(&mut b).contains("dvr-reinject"));
}

#[test]
fn a_deleted_interface_takes_no_packets_under_its_number() {
    let mut b = bench();
    let (pg0, own) = (b.pg0, b.interface("pg2"));
    let mac = b.control(|router, _| router.interfaces.at(own).unwrap().mac);
    let pg3 = b.add_interface("pg3", net::interface::Kind::Ethernet, 0xad);
    b.cli("ip route add 10.5.0.7/32 via dvr pg3");
    b.control(|router, _| router.remove_interface(pg3));
    // Threads of other tests hold the number up for a while.
    let reused = (0..1000).any(|_| {
        let new = b.add_interface("pg4", net::interface::Kind::Ethernet, 0xad);
        if new != pg3 {
            b.control(|router, _| router.remove_interface(new));
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        new == pg3
    });
    assert!(reused);
    assert!(b.receive(pg0, &[frame(mac, false)]).iter().all(|c| c.at != "sent"));
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn paths_have_a_type_of_their_own_in_messages() {
    let mut b = bench();
    let pg0 = b.pg0;
    b.cli("ip route add 10.5.0.7/32 via dvr pg0");
    assert!(b.cli("show ip fib 10.5.0.7/32").contains("dvr-pg0"));
    b.control(|router, _| {
        let prefix = "10.5.0.7/32".parse().unwrap();
        let paths = router.paths_of(TableIndex::DEFAULT, prefix).unwrap();
        let path = FibPath::of::<Ip4>(router, &paths[0]);
        assert_eq!((path.kind, path.sw_if_index), (FibPathType::DVR, pg0.0));
        assert_eq!(path.native::<Ip4>(router).unwrap(), paths[0]);
        let nowhere = FibPath { sw_if_index: 99, ..path };
        assert_eq!(nowhere.native::<Ip4>(router).err(), Some(Retval::INVALID_SW_IF_INDEX));
        let labelled = path.native_of(router, RouteOf::Link(Link::Ethernet));
        assert_eq!(labelled.err(), Some(Retval::INVALID_ADDRESS_FAMILY));
    });
}
