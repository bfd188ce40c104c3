//! Dropped packets pass the features of their arc before they end.

use std::convert::Infallible;
use std::slice;

use graph::{Continue, Frame, Node};

use super::ERROR_DROP;
use crate::ip::testing::Bench;
use crate::ip::testing::packets::*;

/// A feature that looks at what is dropped.
#[derive(Clone)]
struct Watch;

#[derive(Clone, Copy, graph::Count)]
enum Seen {
    /// Packets looked at.
    Dropped,
}

impl Node for Watch {
    const NAME: &'static str = "sflow-drop";
    type Next = Continue;
    type Error = Infallible;
    type Count = Seen;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let count = frame.len() as u64;
        frame.forward_all(Continue);
        frame.count(Seen::Dropped, count);
    }
}

#[test]
fn drops_of_an_interface_pass_its_features_and_are_counted_once() {
    let mut bench = Bench::with(|router| {
        router.engine.add_feature(&ERROR_DROP, Watch).unwrap();
    });
    let (pg0, pg1) = (bench.pg0, bench.pg1);
    let bad4 = changed4(udp4(HOST4, "10.0.1.2", 1, &[]), |h| h.ttl = 0);
    let bad6 = changed6(udp6(HOST6, "2001:db8:1::2", 1, &[]), |h| h.hop_limit = 0);
    for on in [true, false] {
        bench.control(|router| {
            router.engine.set_feature(&ERROR_DROP, Watch::NAME, pg0.0, on).unwrap();
        });
        for n in [1, 3, 4, 255, 256] {
            let before = bench.router.interfaces.values(pg0).drops;
            let at = pg1.0;
            let elsewhere =
                bench.send_as("ip4-drop", slice::from_ref(&bad4), move |p| p.set_rx(at));
            assert!(elsewhere.is_empty());
            for (node, packet) in [("ip4-drop", &bad4), ("ip6-drop", &bad6)] {
                assert!(bench.send(node, &vec![packet.clone(); n]).is_empty());
            }
            let now = bench.router.interfaces.values(pg0).drops;
            assert_eq!(now - before, 2 * n as u64);
        }
    }
    let all = 2 * (1 + 3 + 4 + 255 + 256);
    let seen = bench.graph.engine.errors();
    let seen = seen.iter().filter(|(_, node, ..)| node == "sflow-drop");
    assert_eq!(seen.map(|(.., value)| *value).sum::<u64>(), all);
}

#[test]
fn drops_are_shown_by_reason_and_interface_with_rates_and_samples() {
    let mut bench = Bench::new();
    let (pg0, pg1) = (bench.pg0, bench.pg1);
    let mut bad = udp4(HOST4, "10.0.1.2", 1, &[]);
    bad[10] ^= 1; // the checksum
    let text = bench.run("show drops").unwrap();
    assert!(text.starts_with("no packets were dropped in "), "{text}");
    bench.send("ip4-input", &vec![bad.clone(); 30]);
    bench.send_as("ip4-input", &vec![bad; 10], move |p| p.set_rx(pg1.0));
    bench.control(|router| {
        router.engine.clock().adjust(10.0);
        router.handle_events();
    });
    let seen = bench.control(|router| router.dropped().unwrap());
    let [reason] = &seen.reasons[..] else { panic!("{seen:?}") };
    assert_eq!((reason.node.as_str(), reason.packets, reason.elsewhere), ("ip4-input", 40, 0));
    let on: Vec<_> =
        reason.interfaces.iter().map(|on| (on.interface.as_str(), on.packets)).collect();
    assert_eq!(on, [("pg0", 30), ("pg1", 10)]);
    assert!((3.9..4.1).contains(&reason.rate), "{}", reason.rate);
    let [sample] = &reason.samples[..] else { panic!("one a second: {reason:?}") };
    assert_eq!((sample.interface.as_str(), &sample.headers[0][..4]), ("pg0", "UDP:"));

    // The last look is new: rates are reckoned from the start still.
    assert!(bench.control(|router| router.dropped().unwrap()).reasons[0].rate > 3.0);
    bench.control(|router| router.engine.clock().adjust(10.0));
    assert_eq!(bench.control(|router| router.dropped().unwrap()).reasons[0].rate, 0.0);
    let text = bench.run("show drops verbose").unwrap();
    assert!(text.contains("30 on pg0 (0.0/s), 10 on pg1"), "{text}");
    assert!(text.contains("s ago on pg0, 28 bytes:"), "{text}");

    bench.set("clear drops");
    assert!(bench.control(|router| router.dropped().unwrap()).reasons.is_empty());
    assert_eq!(bench.router.interfaces.values(pg0).drops, 30, "counters stay");
}

#[test]
fn what_an_icmp_error_answers_is_shown_apart() {
    let mut bench = Bench::new();
    let last = changed4(udp4(HOST4, "10.0.1.2", 1, &[]), |h| h.ttl = 0);
    bench.send("ip4-input", &[last]);
    let seen = bench.control(|router| router.dropped().unwrap());
    let [reason] = &seen.reasons[..] else { panic!("{seen:?}") };
    assert_eq!((reason.packets, reason.elsewhere, reason.interfaces.len()), (1, 1, 0));
}
