//! Traces that begin in the middle of the graph: tests with packets.

use control::api::Retval;
use net::InterfaceIndex;
use net::testing::Bench;
use net::testing::packets::*;
use tracenode::*;

fn traced(bench: &mut Bench) -> String {
    bench.run("show trace").unwrap()
}

#[test]
fn packets_are_traced_from_the_feature_on() {
    let mut bench = Bench::plugged(FEATURE);
    bench.run("tracenode feature pg0").unwrap();
    let four = udp4(HOST4, "16.0.0.1", 9, b"data");
    let six = udp6(HOST6, "2001:db8:ff::1", 9, b"data");
    bench.send("ip4-input", std::slice::from_ref(&four));
    assert!(traced(&mut bench).contains("No packets in trace buffer"), "nobody asked yet");
    bench.run("trace add trace-filtering 3").unwrap();
    let sent = bench.send("ip4-input", &[four.clone(), four.clone()]);
    assert_eq!(sent.len(), 2, "they go on");
    bench.send("ip6-input", &[six.clone(), six]);
    let text = traced(&mut bench);
    assert_eq!(text.matches("Packet ").count(), 3, "{text}");
    assert_eq!(text.matches(": trace-filtering\n").count(), 3, "{text}");
    assert!(!text.contains("-input\n"), "nothing before: {text}");
    assert!(text.contains(": ip4-lookup\n") && text.contains(": ip6-lookup\n"), "{text}");
    bench.run("clear trace").unwrap();
    bench.run("trace add trace-filtering 3").unwrap();
    bench.run("tracenode feature pg0 disable").unwrap();
    bench.send("ip4-input", &[four]);
    assert!(traced(&mut bench).contains("No packets in trace buffer"));
}

#[test]
fn programs_switch_it_too() {
    let mut bench = Bench::plugged(FEATURE);
    let pg0 = bench.pg0;
    bench.talk(|local, router| {
        let ask =
            |sw_if_index, enable| TracenodeEnableDisable { sw_if_index, is_pcap: false, enable };
        assert_eq!(local.call(router, &ask(pg0, true)), Ok(()));
        let nowhere = local.call(router, &ask(InterfaceIndex(99), true));
        assert_eq!(nowhere, Err(Retval::INVALID_SW_IF_INDEX));
        assert_eq!(local.call(router, &ask(pg0, false)), Ok(()));
    });
}
