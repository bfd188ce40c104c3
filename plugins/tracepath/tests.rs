//! Paths of traced packets: tests with packets.

use net::testing::Bench;
use net::testing::packets::*;
use tracepath::TracepathDump;

/// Three packets of one path are traced.
fn bench() -> Bench {
    let plugins = [tracepath::FEATURE, tracenode::FEATURE];
    let mut bench = Bench::featuring(&plugins, 1, |_| (), |_| ());
    assert_eq!(bench.run("show trace paths").unwrap(), "\nNo trace paths found\n");
    bench.run("tracenode feature pg0").unwrap();
    bench.run("trace add trace-filtering 3").unwrap();
    bench.send("ip4-input", &vec![udp4(HOST4, "16.0.0.1", 9, b"data"); 3]);
    bench
}

#[test]
fn paths_are_shown_and_drawn() {
    let mut bench = bench();
    let mut run = |line: &str| bench.run(line).unwrap();
    let packets = |text: &str| text.matches("Packet ").count();
    let text = run("show trace paths");
    let first =
        "\nFound 1 unique paths across all threads (showing top 1):\n\n  [0] Count: 3  ID: 0x";
    assert!(text.starts_with(first), "{text}");
    assert!(text.contains("Threads: [0]\n      Path: trace-filtering -> ip4-lookup"), "{text}");
    let text = run("show trace paths max 0");
    assert!(text.contains("No trace paths"), "{text}");
    let text = run("show trace path 0 max 2");
    let rule = "=".repeat(20);
    let first = format!("\n{rule} Path [0] {rule}\nPath: trace-filtering -> ip4-lookup");
    assert!(text.starts_with(&first) && packets(&text) == 2, "{text}");
    assert!(text.contains("Threads: [0]  Count: 3\n\n--- Thread 0 "), "{text}");
    assert!(text.contains("\nLimiting display to 2 packets."), "{text}");
    assert!(run("show trace path").starts_with("path index required."));
    let text = run("show trace paths graphviz");
    let edge = "\n  \"trace-filtering\" -> \"ip4-lookup\" [label=\"3\"]\n";
    assert!(text.contains(edge), "{text}");
    let file = std::env::temp_dir().join(format!("trace-{}.dot", std::process::id()));
    let command = format!("show trace paths graphviz 0 file {}", file.display());
    assert_eq!(run(&command), format!("1 paths written to {}\n", file.display()));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    std::fs::remove_file(file).unwrap();
    let json = bench.connected(|rig| rig.cli.run(&mut rig.router, "show trace paths"));
    assert_eq!(json.output.to_json()[0]["packets"], 3);
    let text = bench.run("show trace path 1").unwrap();
    assert_eq!(text, "No traces found for requested path indices\n");
}

#[test]
fn programs_get_each_path_once() {
    let mut bench = bench();
    bench.talk(|local, router| {
        let paths = local.dump(router, &TracepathDump {});
        assert_eq!((paths.len(), paths[0].n_pkts, paths[0].thread_bitmap), (1, 3, 1));
        let nodes: Vec<_> = paths[0].nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(nodes[..2], ["trace-filtering", "ip4-lookup"]);
        let again = local.dump(router, &TracepathDump {});
        assert_eq!(paths[0].path_id, again[0].path_id);
        router.engine.clear_trace();
        assert!(local.dump(router, &TracepathDump {}).is_empty());
    });
}
