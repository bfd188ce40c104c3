//! Changes of metadata that are found, and their times.

use mdata::*;
use net::testing::Bench;
use net::testing::packets::*;

/// The line of a node in `show buffer metadata`.
fn line(bench: &mut Bench, node: &str) -> Option<String> {
    let shown = bench.run("show buffer metadata").unwrap();
    let start = format!("{node}: ");
    shown.lines().find_map(|line| line.strip_prefix(&start)).map(str::to_owned)
}

fn send(bench: &mut Bench, n: usize) {
    let neighbor = bench.neighbor("10.0.1.2", true);
    let packets = vec![udp4(HOST4, "10.0.1.2", 99, &[0; 72]); n];
    let out = bench.send_as("ip4-rewrite", &packets, move |p| p.set_adjacency(neighbor.0));
    assert_eq!(out.iter().filter(|c| c.at == "sent").count(), n);
}

#[test]
fn fields_that_a_node_changes_are_found_while_they_are_tracked() {
    for n in [1, 3, 4, 255, 256] {
        let mut bench = Bench::plugged(FEATURE);
        send(&mut bench, n);
        assert!(bench.run("show buffer metadata").unwrap().contains("tracking is off"));
        bench.set("buffer metadata tracking on");
        assert!(bench.run("show buffer metadata").unwrap().contains("tracking is on"));
        send(&mut bench, n);
        let rewritten = line(&mut bench, "ip4-rewrite").unwrap();
        assert!(rewritten.ends_with(&format!("({n} packets)")), "{rewritten}");
        let has = |name: &str| rewritten.split([',', ' ']).any(|word| word == name);
        assert!(has("current_data") && has("current_length"), "{rewritten}");
        assert!(has("sw_if_index[VLIB_TX]") && !has("sw_if_index[VLIB_RX]"), "{rewritten}");
        assert_eq!(line(&mut bench, "pg1-tx"), Some(format!("none ({n} packets)")));
        assert_eq!(line(&mut bench, "ip4-lookup"), None);
        // Findings stay until tracking restarts.
        bench.set("buffer metadata tracking off");
        send(&mut bench, n);
        assert_eq!(line(&mut bench, "ip4-rewrite"), Some(rewritten));
        bench.set("buffer metadata tracking on");
        assert_eq!(line(&mut bench, "ip4-rewrite"), None);
    }
}

#[test]
fn the_message_tracks_too() {
    let mut bench = Bench::plugged(FEATURE);
    for enable_disable in [true, false] {
        bench.talk(|local, router| {
            local.call(router, &MdataEnableDisable { enable_disable }).unwrap();
            assert_eq!(is_on(router), enable_disable);
        });
    }
    for wrong in ["buffer metadata tracking", "buffer metadata tracking on off"] {
        assert!(bench.run(wrong).unwrap_err().contains("on or off"));
    }
}
