//! `arping` with neighbours that answer and some that do not.

use arping::{ArpingAcd, ArpingRequest};
use control::api::Retval;
use control::cli::{Output, Run};
use net::InterfaceIndex;
use net::neighbor::{ArpFrame, NdFrame};
use net::testing::whole::*;
use wire::{MacAddr, nd};
use zerocopy::FromBytes;

/// Answer of `OTHER` on `pg1`'s link to a question of either kind.
fn answer(frame: &[u8]) -> Vec<Vec<u8>> {
    if frame[12..14] == [8, 6] {
        let asked = ArpFrame::read_from_bytes(frame).unwrap();
        let (target, sender) = (asked.arp.target.addr(), asked.arp.sender.addr());
        return vec![bytes(reply(OTHER, &target.to_string(), PG1, &sender.to_string()))];
    }
    let asked = NdFrame::read_from_bytes(frame).unwrap();
    let (target, src) = (asked.target.into(), asked.ip.src.into());
    let flags = nd::SOLICITED | nd::OVERRIDE;
    vec![bytes(NdFrame::advertisement(OTHER, PG1, target, src, flags))]
}

#[test]
fn neighbours_are_asked_and_their_answers_counted() {
    let mut b = Bench::plugged(&[arping::FEATURE]);
    let text = b.run_task("arping 10.0.1.2 pg1 repeat 3 interval 0.1", answer);
    let mac = "02:00:00:00:00:02";
    assert_eq!(
        text,
        format!(
            "Sending 3 ARP Request to 10.0.1.2\nReceived 3 ARP Replies from {mac} (10.0.1.2)\n"
        )
    );
    let text = b.run_task("arping 2001:db8:1::2 pg1", answer);
    let got = format!("1 ICMP6 neighbor advertisements from {mac} (2001:db8:1::2)");
    assert_eq!(text, format!("Sending 1 Neighbor Solicitation to 2001:db8:1::2\nReceived {got}\n"));
    assert!(b.cli("show ip neighbors").contains(mac), "they are learned as well");
    let text = b.run_task("arping 10.0.1.9 pg1", |_| Vec::new());
    assert_eq!(text, "Sending 1 ARP Request to 10.0.1.9\nReceived 0 ARP Replies\n");
    assert_eq!(b.graph.buffers_used(), 0);
}

#[test]
fn questions_and_announcements_are_what_they_should_be() {
    let mut b = Bench::plugged(&[arping::FEATURE]);
    let seen = std::cell::RefCell::new(Vec::new());
    let keep = |frame: &[u8]| {
        seen.borrow_mut().push(frame.to_vec());
        Vec::new()
    };
    b.run_task("arping 10.0.1.2 pg1", keep);
    b.run_task("arping gratuitous 10.0.1.2 pg1", keep);
    b.run_task("arping 2001:db8:1::2 pg1", keep);
    b.run_task("arping gratuitous 2001:db8:1::2 pg1", keep);
    let seen = seen.into_inner();
    let arp = |i: usize| ArpFrame::read_from_bytes(&seen[i]).unwrap();
    assert_eq!(arp(0), request(PG1, "10.0.1.1", "10.0.1.2"));
    assert_eq!(arp(1), request(PG1, "10.0.1.2", "10.0.1.2"));
    let nd = |i: usize| NdFrame::read_from_bytes(&seen[i]).unwrap();
    assert_eq!(
        (nd(2).ip.src, nd(2).target),
        (ip6("2001:db8:1::1").octets(), ip6("2001:db8:1::2").octets())
    );
    assert_eq!(nd(2).ethernet.dst, MacAddr([0x33, 0x33, 0xff, 0, 0, 2]));
    assert_eq!(
        (nd(3).ip.src, nd(3).ip.dst),
        (ip6("2001:db8:1::2").octets(), ip6("ff02::1").octets())
    );
    assert_eq!(nd(3).ethernet.dst, MacAddr([0x33, 0x33, 0, 0, 0, 1]));
    // Without an address of ours the question is a probe.
    b.cli("set interface ip address del pg1 all");
    let sent = std::cell::RefCell::new(Vec::new());
    b.run_task("arping 10.0.1.2 pg1", |frame| {
        sent.borrow_mut().push(frame.to_vec());
        Vec::new()
    });
    let probe = ArpFrame::read_from_bytes(&sent.into_inner()[0]).unwrap();
    assert_eq!(probe, request(PG1, "0.0.0.0", "10.0.1.2"));
}

#[test]
fn words_need_no_blanks_in_between() {
    let mut b = Bench::plugged(&[arping::FEATURE]);
    for addr in ["10.0.1.2", "2001:db8:1::2"] {
        let text = b.run_task(&format!("arping {addr}pg1 repeat 2interval 0.1"), answer);
        assert!(text.contains("\nReceived 2 "), "{text}");
        let text = b.run_task(&format!("arping gratuitous{addr}pg1 repeat 2"), |_| Vec::new());
        assert!(text.starts_with("Sending 2 "), "{text}");
    }
}

#[test]
fn who_stops_asking_leaves_nothing_behind() {
    let mut b = Bench::plugged(&[arping::FEATURE]);
    let (mut run, mut out) = (Run::new("arping 10.0.1.2 pg1 repeat 9"), Output::none());
    let mut gone = (Run::new("arping 10.0.0.9 pg0 repeat 9"), Output::none());
    b.control(|router, cli| {
        run.step(cli, router, &mut out);
        gone.0.step(cli, router, &mut gone.1);
        assert_eq!(arping::in_progress(router), 2);
        run.cancel(router, &mut out);
        assert!(out.to_text().ends_with("Received 0 ARP Replies\n"));
        router.remove_interface(router.interfaces.named("pg0").unwrap().index);
        assert!(arping::in_progress(router) == 0);
        gone.0.cancel(router, &mut gone.1);
    });
    b.graph.run();
    assert!(!b.cli("show interface features pg1").contains("arping"));
}

#[test]
fn what_cannot_be_asked() {
    let mut b = Bench::plugged(&[arping::FEATURE]);
    for (line, error) in [
        (" 10.0.1.2 nosuch", "unknown interface `nosuch'"),
        (" 10.0.1.2 local0", "the interface has no neighbors"),
        (" 224.0.0.1 pg1", "not a valid neighbor address"),
        (" 10.0.1.2 pg1 interval -1", "not a valid interval"),
        (" 10.0.1.2 pg1 sometimes", "unknown input `sometimes'"),
    ] {
        assert_eq!(b.cli(&format!("arping{line}")), format!("arping: {error}\n"));
    }
}

#[test]
fn questions_are_counted_and_wrong_ones_refused() {
    let mut b = Bench::plugged(&[arping::FEATURE]);
    let pg0 = b.pg0;
    b.talk(|local, router| {
        let ask = |addr: &str, sw_if_index, interval| ArpingRequest {
            address: addr.parse::<std::net::IpAddr>().unwrap().into(),
            sw_if_index,
            is_garp: false,
            repeat: 2,
            interval,
        };
        // The graph does not run meanwhile.
        assert_eq!(local.call(router, &ask("10.0.0.2", pg0, 0.0)).unwrap().reply_count, 0);
        for (addr, on, interval, error) in [
            ("10.0.0.2", InterfaceIndex(99), 0.0, Retval::INVALID_SW_IF_INDEX),
            ("10.0.0.2", InterfaceIndex(0), 0.0, Retval::INVALID_INTERFACE),
            ("224.0.0.1", pg0, 0.0, Retval::INVALID_DST_ADDRESS),
            ("2001:db8::2", pg0, -1.0, Retval::INVALID_VALUE),
        ] {
            assert_eq!(local.call(router, &ask(addr, on, interval)).err(), Some(error));
        }
        let ArpingRequest { address, sw_if_index, is_garp, repeat, .. } =
            ask("2001:db8::2", pg0, 0.0);
        let acd = ArpingAcd { address, sw_if_index, is_garp, repeat, interval: 0.0 };
        let reply = local.call(router, &acd).unwrap();
        assert_eq!((reply.reply_count, reply.mac_address), (0, MacAddr::ZERO));
        assert!(arping::in_progress(router) == 0);
    });
    assert_eq!(b.graph.run().len(), 4);
}
