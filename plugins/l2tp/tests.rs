//! Frames in sessions, and what is no session's.

use control::api::Retval;
use l2tp::*;
use net::InterfaceIndex;
use net::testing::{Rig, packets::*};
use net::tunnel::testing::*;
use wire::Protocol;

const FRAME: &[u8] = &[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5, 1, 2, 3, 4];
const OUR: &str = "2001:db8:1::1";
const CLIENT: &str = "2a01::1";

fn bench(more: &str) -> Rig {
    let mut rig = rig(FEATURE);
    let line = format!(
        "create l2tpv3 tunnel client {CLIENT} our {OUR} local-cookie 1122334455667788 \
         remote-cookie 0xa1 local-session 7 remote-session 8 {more}"
    );
    assert_eq!(rig.run(&line), "l2tpv3_tunnel0\n");
    rig.set("set interface state l2tpv3_tunnel0 up");
    settle(&mut rig);
    rig
}

/// A packet of a session.
fn packet(dst: &str, session: u32, cookie: u64, more: &[u8]) -> Vec<u8> {
    let bytes = [&session.to_be_bytes()[..], &cookie.to_be_bytes(), more].concat();
    let addr = |text: &str| text.parse().unwrap();
    let len = bytes.len() as u16;
    let header = wire::ip6::Header::new(addr(CLIENT), addr(dst), Protocol(115), len);
    [zerocopy::IntoBytes::as_bytes(&header), &bytes].concat()
}

const COOKIE: u64 = 0x1122_3344_5566_7788;

#[test]
fn frames_travel_with_number_and_cookie_of_the_other_side() {
    for (more, sublayer) in [("", &[][..]), ("l2-sublayer-present", &[0; 4])] {
        let mut rig = bench(more);
        let out = frame_sent(&mut rig, "l2tpv3_tunnel0", FRAME);
        let header = [&[0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0xa1][..], sublayer].concat();
        assert_eq!((out[6], &out[40..]), (115, &[&header, FRAME].concat()[..]));
        assert_eq!(usize::from(u16::from_be_bytes([out[4], out[5]])), out.len() - 40);
        rig.graph.moved_counters();
        let back = packet(OUR, 7, COOKIE, &[sublayer, FRAME].concat());
        for n in [1, 3, 4, 255, 256] {
            let out = send(&mut rig, "ip6-receive", &vec![back.clone(); n]);
            assert_eq!(out.len(), n);
            assert!(out.iter().all(|c| (c.at.as_str(), &c.bytes[..]) == ("ethernet-input", FRAME)));
            let taken = "L2TP user (ip6) to L2 network pkts";
            rig.expect(&[("l2tp-decap-local", taken, n as u64)]);
        }
    }
}

#[test]
fn packets_with_another_number_or_cookie_or_for_a_tunnel_that_is_down_are_counted() {
    let mut rig = bench("");
    for (bad, why) in [
        (packet(OUR, 9, COOKIE, FRAME), "l2tpv3 session not found"),
        (packet(OUR, 7, COOKIE + 1, FRAME), "l2tpv3 local cookie mismatches"),
        (packet(OUR, 7, COOKIE, &[])[..50].to_vec(), "l2tpv3 session not found"),
    ] {
        send(&mut rig, "ip6-receive", &[bad]);
        rig.expect(&[("l2tp-decap-local", why, 1)]);
    }
    let key = |key| L2tpv3SetLookupKey { key };
    rig.talk(|client, router| client.call(router, &key(LookupKey::SRC_ADDR)).unwrap());
    send(&mut rig, "ip6-receive", &[packet(OUR, 9, COOKIE, FRAME)]);
    rig.expect(&[("l2tp-decap-local", "l2tpv3 local session id mismatches", 1)]);
    rig.set("set interface state l2tpv3_tunnel0 down");
    rig.graph.moved_counters();
    send(&mut rig, "ip6-receive", &[packet(OUR, 7, COOKIE, FRAME)]);
    rig.expect(&[("l2tp-decap-local", "l2tpv3 tunnel is down", 1)]);
}

#[test]
fn two_cookies_are_valid_while_far_ends_change() {
    let mut rig = bench("");
    rig.set("set l2tpv3 tunnel cookie l2tpv3_tunnel0 local 5 remote 6");
    assert_eq!(frame_sent(&mut rig, "l2tpv3_tunnel0", FRAME)[51], 6);
    for (cookie, is_valid) in [(COOKIE, true), (5, true), (6, false)] {
        let out = send(&mut rig, "ip6-receive", &[packet(OUR, 7, cookie, FRAME)]);
        assert_eq!(out.iter().any(|c| c.at == "ethernet-input"), is_valid, "{cookie}");
    }
    rig.set("set l2tpv3 tunnel cookie l2tpv3_tunnel0 local 9 remote 6");
    let out = send(&mut rig, "ip6-receive", &[packet(OUR, 7, COOKIE, FRAME)]);
    assert!(out.iter().all(|c| c.at != "ethernet-input"));
}

#[test]
fn interfaces_take_packets_of_sessions_for_any_address_where_they_are_told() {
    let mut rig = bench("");
    let elsewhere = packet("2a01::77", 7, COOKIE, FRAME);
    let there = |rig: &mut Rig, packet: &[u8]| {
        let out = send(rig, "ip6-input", &[packet.to_vec()]);
        out.into_iter().map(|c| c.at).find(|at| at == "ethernet-input" || at == "sent")
    };
    assert_eq!(there(&mut rig, &elsewhere).as_deref(), Some("sent"));
    rig.set("set interface ip6 l2tpv3 pg0");
    assert_eq!(there(&mut rig, &elsewhere).as_deref(), Some("ethernet-input"));
    let other = packet("2a01::77", 99, COOKIE, FRAME);
    assert_eq!(there(&mut rig, &other).as_deref(), Some("sent"));
    let plain = udp6(HOST6, "2a01::77", 7, b"data");
    assert_eq!(there(&mut rig, &plain).as_deref(), Some("sent"));
    rig.set("set interface ip6 l2tpv3 pg0 del");
    assert_eq!(there(&mut rig, &elsewhere).as_deref(), Some("sent"));
}

#[test]
fn messages_make_list_and_refuse_sessions() {
    let mut rig = bench("");
    let addr = |text: &str| text.parse::<std::net::IpAddr>().unwrap().into();
    let good = L2tpv3CreateTunnel {
        client_address: addr("2a01::2"),
        our_address: addr(OUR),
        local_session_id: 17,
        remote_session_id: 18,
        local_cookie: 1.into(),
        remote_cookie: 2.into(),
        l2_sublayer_present: true,
        encap_vrf_id: 0,
    };
    rig.talk(|client, router| {
        for (bad, why) in [
            (L2tpv3CreateTunnel { local_session_id: 7, ..good }, Retval::TUNNEL_EXISTS),
            (
                L2tpv3CreateTunnel { our_address: addr("10.0.0.1"), ..good },
                Retval::INVALID_ADDRESS_FAMILY,
            ),
            (L2tpv3CreateTunnel { encap_vrf_id: 9, ..good }, Retval::NO_SUCH_FIB),
        ] {
            assert_eq!(client.call(router, &bad).unwrap_err(), why);
        }
        let made = client.call(router, &good).unwrap().sw_if_index;
        let rows = client.dump(router, &SwIfL2tpv3TunnelDump {});
        assert_eq!(rows.len(), 2);
        assert_eq!(
            (rows[1].sw_if_index, rows[1].interface_name.as_str()),
            (made, "l2tpv3_tunnel1")
        );
        assert_eq!((rows[1].local_cookie.0, rows[1].remote_cookie.0), ([1, 1], 2));
        // Both have one address of this router.
        let key = |key| L2tpv3SetLookupKey { key };
        let refused = client.call(router, &key(LookupKey::DST_ADDR)).unwrap_err();
        assert_eq!(refused, Retval::INSTANCE_IN_USE);
        assert_eq!(client.call(router, &key(LookupKey(9))).unwrap_err(), Retval::INVALID_VALUE);
        let wrong = L2tpv3SetTunnelCookies {
            sw_if_index: InterfaceIndex(0),
            new_local_cookie: 1.into(),
            new_remote_cookie: 1.into(),
        };
        assert_eq!(client.call(router, &wrong).unwrap_err(), Retval::INVALID_SW_IF_INDEX);
    });
    assert!(rig.run("show l2tpv3 verbose").contains("session local 7 remote 8"));
}

#[test]
fn words_of_commands_are_those_of_the_original() {
    let mut rig = rig(FEATURE);
    rig.set("ip6 table add 7");
    let line = format!(
        "create l2tpv3 tunnel fib-id 7 our {OUR} client {CLIENT} remote-session-id 8 \
         local-session-id 7"
    );
    assert_eq!(rig.run(&line), "l2tpv3_tunnel0\n");
}
