//! Counters of Linux for threads.

use std::thread::sleep;
use std::time::Duration;

use net::testing::Bench;
use perfmon::*;

#[test]
fn a_thread_that_sleeps_is_counted_until_the_end() {
    let mut bench = Bench::plugged(FEATURE);
    assert_eq!(bench.run("show perfmon active-bundle").unwrap(), "");
    bench.run("perfmon start bundle context-switches type thread").unwrap();
    let active = bench.run("show perfmon active-bundle").unwrap();
    assert!(active.starts_with("name: context-switches\n"), "{active}");
    // Linux counts for the process's first thread; others of the tests' have it switched as well.
    let voluntary = |bench: &mut Bench| {
        let counted = bench.control(|router| counted(router));
        assert_eq!((counted.len(), counted[0].values.len()), (1, 2), "{counted:?}");
        counted[0].values[0]
    };
    let before = voluntary(&mut bench);
    sleep(Duration::from_millis(20));
    assert!(voluntary(&mut bench) >= before);
    let shown = bench.run("show perfmon statistics raw").unwrap();
    assert!(shown.starts_with("per-thread context switches in "), "{shown}");
    let busy = bench.run("perfmon start bundle page-faults").unwrap_err();
    assert!(busy.contains("`context-switches' is being measured"), "{busy}");
    bench.run("perfmon stop").unwrap();
    assert_eq!(bench.run("show perfmon active-bundle").unwrap(), "");
    let last = bench.run("show perfmon statistics").unwrap();
    sleep(Duration::from_millis(20));
    assert_eq!(bench.run("show perfmon statistics").unwrap(), last, "nothing is counted any more");
    assert!(bench.run("perfmon stop").unwrap_err().contains("no measurement is active"));
    bench.run("perfmon start bundle page-faults").unwrap();
    let shown = bench.run("show perfmon statistics").unwrap();
    assert!(shown.contains("Minor") && shown.contains("vpp_main"), "{shown}");
    bench.run("perfmon reset").unwrap();
    assert_eq!(bench.run("show perfmon statistics").unwrap(), "nothing was measured\n");
}

#[test]
fn values_are_the_kernels() {
    // Of this thread, which now sleeps and touches memory.
    let id = std::fs::read_link("/proc/thread-self").unwrap();
    let id: u32 = id.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let read = |name: &str| Bundle::named(name).unwrap().read(id).unwrap();
    let (switches, faults) = (read("context-switches"), read("page-faults"));
    for _ in 0..5 {
        sleep(Duration::from_millis(1));
    }
    // So much comes from the kernel, whatever was freed before.
    let mut memory = vec![0_u8; 64 << 20];
    memory[..1 << 20].fill(1);
    assert_eq!(std::hint::black_box(&memory)[1], 1);
    assert!(read("context-switches")[0] >= switches[0] + 5);
    assert!(read("page-faults")[0] > faults[0]);
    assert_eq!(Bundle::named("page-faults").unwrap().read(u32::MAX), None);
}

#[test]
fn what_there_is_not_is_named() {
    let mut bench = Bench::plugged(FEATURE);
    let all = bench.run("show perfmon bundle").unwrap();
    assert!(all.contains("context-switches") && all.contains("page-faults"), "{all}");
    let one = bench.run("show perfmon bundle page-faults verbose").unwrap();
    assert_eq!(one.matches("name: ").count(), 1, "{one}");
    let source = bench.run("show perfmon source linux verbose").unwrap();
    assert!(source.contains("description: Linux kernel performance counters"), "{source}");
    for (line, word) in [
        ("perfmon start bundle cycles", "`cycles'"),
        ("perfmon start bundle page-faults type node", "no per-node counters"),
        ("perfmon start bundle page-faults type core", "`core'"),
        ("show perfmon bundle cycles", "`cycles'"),
        ("show perfmon source intel-core", "`intel-core'"),
    ] {
        let said = bench.run(line).unwrap_err();
        assert!(said.contains(word), "{line}: {said}");
    }
    assert_eq!(bench.run("show perfmon active-bundle").unwrap(), "");
}
