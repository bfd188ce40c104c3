//! ICMP errors about packets that were translated, and packets that pass as they are.

use net::testing::whole::Bench;

use super::{lab, packet};

const LONG: &str = "fragment offset 16384 UDP: 1234 -> 2345 incrementing 1172";
const LONG6: &str = "UDP: 1234 -> 2345 incrementing 1372";

/// Packets that leave an interface after one was received on another, without their frames.
fn sent(b: &mut Bench, on: &str, words: &str, by: &str) -> Vec<Vec<u8>> {
    let (rx, tx) = (b.interface(on), b.interface(by));
    let bytes = packet(words);
    let entrance = if bytes[0] >> 4 == 4 { "ip4-input" } else { "ip6-input" };
    let caught = b.graph.send(entrance, &[bytes], move |p| p.set_rx(rx.0));
    let left = caught.into_iter().filter(|c| c.at == "sent" && c.tx == tx.0);
    left.map(|c| c.bytes[14..].to_vec()).collect()
}

/// Checks that what came back is the error that a packet needs to be cut, and quotes it as it came.
#[track_caller]
fn expect_error(about: &str, back: &[Vec<u8>], asked: &[u8], mtu: u16) {
    let [error] = back else { panic!("{about}: one error, not {back:02x?}") };
    let is_4 = asked[0] >> 4 == 4;
    let (dst, src, icmp) = if is_4 { (16..20, 12..16, 20) } else { (24..40, 8..24, 40) };
    assert_eq!(error[dst.clone()], asked[src.clone()], "{about}: it goes to the sender");
    let kind = if is_4 { [3, 4] } else { [2, 0] };
    assert_eq!(error[icmp..icmp + 2], kind, "{about}");
    assert_eq!(error[icmp + 6..icmp + 8], mtu.to_be_bytes(), "{about}");
    let quoted = &error[icmp + 8..];
    assert_eq!(quoted[src.clone()], asked[src], "{about}: its own source is inside");
    assert_eq!(quoted[dst.clone()], asked[dst], "{about}: and its own destination");
    let ports = if is_4 { 20..24 } else { 40..44 };
    assert_eq!(quoted[ports.clone()], asked[ports], "{about}: and its own ports");
}

#[test]
fn senders_are_told_of_packets_that_do_not_fit_as_they_sent_them() {
    let to_4 = format!("UDP: 10.0.0.2 -> 10.0.1.2 {LONG}");
    let to_service = "UDP: 10.0.0.2 -> 192.0.2.9 fragment offset 16384 UDP: 1234 -> 80 \
        incrementing 1172";
    let to_6 = format!("UDP: 2001:db8::2 -> 2001:db8:1::2 {LONG6}");
    for (lines, words) in [
        (
            "nat44 plugin enable\nnat44 add address 192.0.2.1\nset interface nat44 in pg0 out pg1",
            &*to_4,
        ),
        (
            "nat44 ei plugin enable\nnat44 ei add address 192.0.2.1\n\
             set interface nat44 ei in pg0 out pg1",
            &to_4,
        ),
        (
            "nat44 plugin enable\nnat44 add address 192.0.2.1\n\
             set interface nat44 out pg1 output-feature",
            &to_4,
        ),
        (
            "det44 plugin enable\ndet44 add in 10.0.0.0/24 out 192.0.2.1/32\n\
             set interface det44 inside pg0 outside pg1",
            &to_4,
        ),
        (
            "cnat translation add proto UDP vip 192.0.2.9 80 to 10.0.0.9 1 -> 10.0.1.2 2345",
            to_service,
        ),
        (
            "nat66 plugin enable\nset interface nat66 in pg0 out pg1\n\
          nat66 add static mapping local 2001:db8::2 external 2001:db8:f::2",
            &to_6,
        ),
    ] {
        let mut b = lab(lines);
        b.set("set interface mtu packet 1000 pg1");
        let is_4 = words == to_4 || words == to_service;
        b.set(if is_4 {
            "set interface mtu packet 1000 pg1"
        } else {
            "set interface mtu packet 1300 pg1"
        });
        let back = sent(&mut b, "pg0", words, "pg0");
        expect_error(lines, &back, &packet(words), if is_4 { 1000 } else { 1300 });
    }
}

#[test]
fn far_ends_are_told_of_packets_that_do_not_fit_inside_as_they_sent_them() {
    for (lines, to) in [
        (
            "nat44 plugin enable\nset interface nat44 in pg0 out pg1\n\
             nat44 add static mapping udp local 10.0.0.2 2345 external 192.0.2.1 2345",
            "10.0.1.2 -> 192.0.2.1",
        ),
        (
            "nat44 ei plugin enable\nset interface nat44 ei in pg0 out pg1\n\
             nat44 ei add address 192.0.2.1\n\
             nat44 ei add static mapping udp local 10.0.0.2 2345 external 192.0.2.1 2345",
            "10.0.1.2 -> 192.0.2.1",
        ),
        (
            "nat66 plugin enable\nset interface nat66 in pg0 out pg1\n\
             nat66 add static mapping local 2001:db8::2 external 2001:db8:f::2",
            "2001:db8:1::2 -> 2001:db8:f::2",
        ),
    ] {
        let mut b = lab(lines);
        let is_4 = !to.contains(':');
        let mtu = if is_4 { 1000 } else { 1300 };
        b.set(&format!("set interface mtu packet {mtu} pg0"));
        let words = format!("UDP: {to} {}", if is_4 { LONG } else { LONG6 });
        let back = sent(&mut b, "pg1", &words, "pg1");
        expect_error(lines, &back, &packet(&words), mtu);
    }
}

#[test]
fn without_forwarding_only_sessions_that_exist_pass() {
    for kind in ["nat44", "nat44 ei"] {
        let lines = "KIND plugin enable\nset interface KIND in pg0 out pg1\n\
            KIND forwarding enable";
        let mut b = lab(&lines.replace("KIND", kind));
        let asked = "UDP: 10.0.1.2 -> 10.0.0.2 UDP: 20 -> 80 incrementing 20";
        let answer = "UDP: 10.0.0.2 -> 10.0.1.2 UDP: 80 -> 20 incrementing 20";
        assert_eq!(sent(&mut b, "pg1", asked, "pg0").len(), 1, "{kind}");
        assert_eq!(sent(&mut b, "pg0", answer, "pg1").len(), 1, "{kind}");
        b.set(&format!("{kind} forwarding disable"));
        assert_eq!(sent(&mut b, "pg1", asked, "pg0").len(), 1, "{kind}: it has a session");
        assert_eq!(sent(&mut b, "pg0", answer, "pg1").len(), 1, "{kind}: it has a session");
        let other = "UDP: 10.0.0.2 -> 10.0.1.2 UDP: 81 -> 20 incrementing 20";
        assert!(sent(&mut b, "pg0", other, "pg1").is_empty(), "{kind}: there is no address");
    }
}
