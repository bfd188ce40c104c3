use control::api::Retval;

use super::api::*;
use crate::engine::tests::bench;

#[test]
fn trace_follows_packets_from_the_input_node() {
    let mut b = bench();
    assert_eq!(b.run("trace add test-input 2"), "");
    b.router.engine.run_inline(10);
    let text = b.run("show trace");
    let head = "------------------- Start of thread 0 vpp_main -------------------\nPacket 1\n\n";
    assert!(text.starts_with(head), "{text}");
    assert!(text.contains(": filter\n  seen on local0\n"), "{text}");
    assert!(text.contains("\n\nPacket 2\n\n") && !text.contains("Packet 3"), "{text}");
    assert!(b.run("show trace max 1").contains("Limiting display to 1 packets."));
    assert_eq!(b.json("show trace")[0]["packets"][0]["nodes"][1], "filter");

    assert_eq!(b.run("clear trace"), "");
    assert!(b.run("show trace").ends_with("No packets in trace buffer\n"));
    let wrong = "trace add: expected NODE COUNT, got `nosuch-node 10'\n";
    assert_eq!(b.run("trace add nosuch-node 10"), wrong);
    assert_eq!(b.run("trace add test-input"), "trace add: expected NODE COUNT, got `test-input'\n");
    assert!(
        b.run("trace add filter 1").starts_with("trace add: node 'filter' is not an input node")
    );
}

#[test]
fn a_filter_chooses_what_is_shown() {
    let mut b = bench();
    b.run("trace add test-input 3");
    b.router.engine.run_inline(10);
    let packets = |text: &str| text.matches("Packet ").count();
    assert_eq!(packets(&b.run("show trace")), 3);
    assert_eq!(b.run("trace filter include filter 2"), "");
    assert_eq!(packets(&b.run("show trace")), 2);
    assert_eq!(b.run("trace filter exclude filter 2"), "");
    assert_eq!(packets(&b.run("show trace")), 0);
    assert_eq!(b.run("trace filter include nosuch 2"), "trace filter: unknown node `nosuch'\n");
    assert_eq!(
        b.run("trace filter filter 2"),
        "trace filter: expected include|exclude NODE COUNT, got `filter 2'\n"
    );
    assert_eq!(packets(&b.run("show trace")), 0, "as before");
    assert_eq!(b.run("trace filter none"), "");
    assert_eq!(packets(&b.run("show trace")), 3);
}

#[test]
fn times_are_written_as_wanted() {
    let mut b = bench();
    b.run("trace add test-input 1");
    b.router.engine.run_inline(10);
    let time = |text: &str| text.lines().nth(3).unwrap().split(": ").next().unwrap().to_owned();
    assert!(time(&b.run("show trace")).starts_with("00:00:"));
    assert_eq!(b.run("set trace timestamp-format unix"), "");
    let seconds: f64 = time(&b.run("show trace")).parse().unwrap();
    assert!((seconds - control::wall::now().as_secs_f64()).abs() < 60.0, "{seconds}");
    b.run("set trace timestamp-format datetime");
    assert!(time(&b.run("show trace")).ends_with('Z'));
    assert_eq!(b.run("show trace timestamp-format"), "Trace timestamp format: datetime\n");
    let wrong = "set trace timestamp-format: invalid format `lunar'\n";
    assert_eq!(b.run("set trace timestamp-format lunar"), wrong);
}

#[test]
fn programs_read_times_as_operators_do() {
    let mut b = bench();
    b.run("trace add test-input 1");
    b.router.engine.run_inline(10);
    for format in ["relative", "unix", "datetime"] {
        b.run(&format!("set trace timestamp-format {format}"));
        let shown = b.run("show trace");
        b.talk(|local, router| {
            let dump = TraceDump { clear_cache: 0, thread_id: 0, position: 0, max_records: 1 };
            let v2 = TraceV2Dump { thread_id: 0, position: 0, max: 1, clear_cache: false };
            let texts = [
                local.stream(router, &dump).0[0].trace_data.clone(),
                local.dump(router, &v2)[0].trace_data.clone(),
            ];
            // The wall clock at the start is recomputed each time: the last digits differ.
            let coarse = |text: &str| text[..8].to_owned();
            let time = coarse(shown.lines().nth(3).unwrap());
            assert!(texts.iter().all(|t| coarse(t) == time), "{texts:?} {time}");
        });
    }
}

#[test]
fn programs_page_through_the_trace() {
    let mut b = bench();
    let node = b.router.engine.index_of("test-input").unwrap().0;
    let capture = |node_index| TraceCapturePackets {
        node_index,
        max_packets: 3,
        use_filter: false,
        verbose: true,
        pre_capture_clear: true,
    };
    b.talk(|local, router| {
        local.call(router, &capture(node)).unwrap();
        assert_eq!(local.call(router, &capture(9999)), Err(Retval::NO_SUCH_NODE));
        assert_eq!(local.call(router, &capture(70_000)), Err(Retval::NO_SUCH_NODE));
        router.engine.run_inline(10);
        let dump = TraceDump { clear_cache: 1, thread_id: 0, position: 0, max_records: 2 };
        let (rows, retval, reply) = local.stream(router, &dump);
        assert_eq!((rows.len(), retval, reply.done, reply.last_position), (2, 0, 0, 1));
        assert_eq!((rows[1].more_this_thread, rows[1].more_threads, rows[1].position), (1, 0, 1));
        assert!(rows[1].trace_data.contains(": filter\n  seen on local0\n"));
        let (rows, _, reply) = local.stream(router, &TraceDump { position: 2, ..dump });
        assert_eq!((rows.len(), rows[0].done, reply.done), (1, 1, 1));
        local.call(router, &TraceClearCache {}).unwrap();

        let v2 = TraceV2Dump { thread_id: u32::MAX, position: 1, max: 1, clear_cache: false };
        let rows = local.dump(router, &v2);
        assert_eq!((rows.len(), rows[0].position, rows[0].more), (1, 1, true));
        assert!(rows[0].trace_data.contains(": test-input\n"));

        local.call(router, &TraceClearCapture {}).unwrap();
        assert!(local.dump(router, &v2).is_empty());
        let (rows, _, reply) = local.stream(router, &dump);
        assert_eq!((rows.len(), reply.done), (0, 1));
    });
}

#[test]
fn programs_set_filters() {
    let mut b = bench();
    b.run("trace add test-input 3");
    b.router.engine.run_inline(10);
    let node = b.router.engine.index_of("filter").unwrap().0;
    let filters = |flag, node_index| TraceSetFilters {
        flag,
        count: 1,
        node_index,
        classifier_table_index: u32::MAX,
    };
    let all = TraceV2Dump { thread_id: 0, position: 0, max: 50, clear_cache: false };
    b.talk(|local, router| {
        let set = |flag, node, router: &mut _| local.call(router, &filters(flag, node));
        set(FilterFlag::INCLUDE_NODE, node, router).unwrap();
        assert_eq!(local.dump(router, &all).len(), 1);
        set(FilterFlag::EXCLUDE_NODE, node, router).unwrap();
        assert_eq!(local.dump(router, &all).len(), 0);
        set(FilterFlag::NONE, u32::MAX, router).unwrap();
        assert_eq!(local.dump(router, &all).len(), 3);
        let no_table = set(FilterFlag::INCLUDE_CLASSIFIER, 0, router);
        assert_eq!(no_table, Err(Retval::NO_SUCH_TABLE));
        assert_eq!(set(FilterFlag(77), 0, router), Err(Retval::INVALID_VALUE));
        let unknown = set(FilterFlag::EXCLUDE_NODE, u32::MAX, router);
        assert_eq!(unknown, Err(Retval::NO_SUCH_NODE));

        let functions = local.dump(router, &TraceFilterFunctionDump {});
        assert!(functions.len() == 1 && functions[0].selected);
        let name = functions[0].name.clone();
        let set = TraceSetFilterFunction { filter_function_name: name };
        local.call(router, &set).unwrap();
        let other = TraceSetFilterFunction { filter_function_name: "other".to_owned() };
        assert_eq!(local.call(router, &other), Err(Retval::NO_SUCH_ENTRY));
    });
}
