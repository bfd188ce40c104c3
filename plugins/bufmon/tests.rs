//! Counters of buffers, by node.

use graph::{Handled, Monitored};
use net::testing::Bench;

/// A bridge of three ports.
fn bench() -> Bench {
    let features = [net::fast_path::FEATURE, l2::FEATURE, bufmon::FEATURE];
    let mut bench = Bench::featuring(&features, 1, |_| (), |_| ());
    bench.add_interface("pg2", net::interface::Kind::Ethernet, 0xac);
    for port in ["pg0", "pg1", "pg2"] {
        bench.set(&format!("set interface l2 bridge {port} 1"));
    }
    bench
}

fn frame(dst: u8) -> Vec<u8> {
    [&[dst; 6][..], &[2, 0, 0, 1, 0, 1, 0x45, 0x45], &[7; 50]].concat()
}

/// Buffers of a node: taken, returned, received, sent; and those that remained with it.
fn of(bench: &mut Bench, node: &str) -> ([u64; 4], i64) {
    bench.control(|router| {
        let all = router.engine.handled().unwrap();
        let at = all.iter().find(|(at, _)| router.engine.name_of(*at) == node);
        let h = at.map_or(Handled::default(), |(_, handled)| *handled);
        ([h.taken, h.returned, h.received, h.sent], bufmon::buffered(&h))
    })
}

#[test]
fn copies_are_counted_where_they_are_made() {
    for n in [1, 3, 4, 100] {
        let mut bench = bench();
        let count = n as u64;
        bench.send("ethernet-input", &vec![frame(0xff); n]);
        assert_eq!(of(&mut bench, "l2-flood"), ([0; 4], 0), "not yet");
        bench.set("set buffer traces on");
        assert_eq!(bench.run("show buffer traces status").unwrap(), "buffers tracing is on\n");
        bench.send("ethernet-input", &vec![frame(0xff); n]);
        assert_eq!(of(&mut bench, "l2-flood"), ([count, 0, count, 2 * count], 0));
        assert_eq!(of(&mut bench, "l2-output"), ([0, 0, 2 * count, 2 * count], 0));
        let shown = bench.run("show buffer traces verbose").unwrap();
        let words: Vec<_> =
            shown.lines().map(|l| l.split_whitespace().collect::<Vec<_>>()).collect();
        let numbers = [count, 0, count, 2 * count, 0].map(|number| number.to_string());
        let row = words.iter().find(|words| words[0] == "l2-flood").unwrap();
        assert_eq!(row[1..], numbers);
        assert!(!bench.run("show buffer traces").unwrap().contains("l2-flood"), "nothing remained");
        bench.set("set buffer traces off");
        bench.send("ethernet-input", &vec![frame(0xff); n]);
        assert_eq!(of(&mut bench, "l2-flood"), ([count, 0, count, 2 * count], 0), "not any more");
        bench.set("clear buffer traces");
        assert_eq!(of(&mut bench, "l2-flood"), ([0; 4], 0));
        assert_eq!(bench.run("show buffer traces status").unwrap(), "buffers tracing is off\n");
    }
}

#[test]
fn dropped_packets_are_given_back() {
    let mut bench = bench();
    bench.set("set buffer traces on");
    bench.send("feature-bitmap-drop", &vec![frame(1); 200]);
    assert_eq!(of(&mut bench, "drop"), ([0, 200, 200, 0], 0));
    assert_eq!(of(&mut bench, "error-drop"), ([0, 0, 200, 200], 0));
    bench.control(|router| assert!(!router.engine.is_monitored(Monitored::Fields)));
    for wrong in ["set buffer traces", "set buffer traces on off"] {
        assert!(bench.run(wrong).unwrap_err().contains("on or off"));
    }
}
