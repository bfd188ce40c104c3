use super::api::TracepathDump;
use crate::engine::tests::bench;

#[test]
fn paths_are_shown_drawn_and_told() {
    let mut b = bench();
    assert_eq!(b.run("show trace paths"), "No packets in trace buffer\n");
    b.run("trace add test-input 3");
    b.router.engine.run_inline(10);
    let packets = |text: &str| text.matches("Packet ").count();
    let text = b.run("show trace paths");
    assert!(text.starts_with("Path 0: 3 packets\n  test-input -> filter -> "), "{text}");
    assert_eq!(b.json("show trace paths")[0]["packets"], 3);
    let text = b.run("show trace path 0 max 2");
    assert!(text.starts_with("Path 0: 3 packets\n") && packets(&text) == 2, "{text}");
    assert_eq!(b.run("show trace path 1"), "show trace path: no path has the number 1\n");
    let text = b.run("show trace paths graphviz");
    assert!(text.contains("\n  \"test-input\" -> \"filter\" [label=\"3\"]\n"), "{text}");
    let file = std::env::temp_dir().join(format!("trace-{}.dot", std::process::id()));
    let command = format!("show trace paths graphviz 0 file {}", file.display());
    assert_eq!(b.run(&command), format!("1 paths written to {}\n", file.display()));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn programs_get_each_path_once() {
    let mut b = bench();
    b.run("trace add test-input 3");
    b.router.engine.run_inline(10);
    b.talk(|local, router| {
        let paths = local.dump(router, &TracepathDump {});
        assert_eq!((paths.len(), paths[0].n_pkts, paths[0].thread_bitmap), (1, 3, 1));
        let nodes: Vec<_> = paths[0].nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(nodes[..2], ["test-input", "filter"]);
        let again = local.dump(router, &TracepathDump {});
        assert_eq!(paths[0].path_id, again[0].path_id);
        router.engine.clear_trace();
        assert!(local.dump(router, &TracepathDump {}).is_empty());
    });
}
