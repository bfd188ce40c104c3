//! Several data-plane threads: packets add up, keep their order, and flow on while threads change.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use tests::capture::frames;
use tests::{Daemon, TwoHosts, eventually, has, is_root, skip};

use crate::GENERATORS;

/// Two workers on the first CPUs this test may use, and control on all of them. `None` with one
/// CPU.
pub fn two_workers() -> Option<String> {
    let cpus = infra::cpu::allowed().ok()?;
    let &[first, second, ..] = cpus.as_slice() else {
        skip("it has one CPU");
        return None;
    };
    Some(format!("cpu {{ corelist-workers {first},{second} }}"))
}

/// The words for `set workers` that name these two again.
pub fn both(config: &str) -> String {
    config.replace("cpu { corelist-workers", "set workers corelist").replace(" }", "")
}

/// Adds a stream whose packets count in their destination, from 16.`flow`.0.0 on.
fn add_stream(daemon: &Daemon, flow: u8, count: usize, more: &str) {
    let last = count - 1;
    daemon.tell(&format!(
        "packet-generator new {{ name s{flow} limit {count} size 64-64 interface pg0 {more} \
         node ethernet-input data {{ IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa \
         UDP: 10.0.0.2 -> 16.{flow}.0.0-16.{flow}.{}.{} UDP: 1234 -> 2345 incrementing 22 }} }}",
        last >> 8,
        last & 255,
    ));
}

fn capture(daemon: &Daemon) -> PathBuf {
    let path = daemon.folder().join("out.pcap");
    daemon.tell(&format!("packet-generator capture pg1 pcap {}", path.display()));
    path
}

/// The numbers of the captured packets of a flow, in their order.
fn order(path: &Path, flow: u8) -> Vec<usize> {
    let frames = frames(path);
    let mine = frames.iter().filter(|frame| frame[31] == flow);
    mine.map(|frame| usize::from(u16::from_be_bytes([frame[32], frame[33]]))).collect()
}

#[track_caller]
fn expect_all(path: &Path, flow: u8, count: usize) {
    let order = order(path, flow);
    let wrong = order.iter().enumerate().find(|(at, number)| at != *number);
    assert_eq!((order.len(), wrong), (count, None), "length, and the first out of order");
}

/// A counter of an interface.
fn counted(daemon: &Daemon, interface: &str, counter: &str) -> u64 {
    let text = daemon.tell(&format!("show interface {interface}"));
    let line = text.lines().find(|line| line.contains(counter));
    line.and_then(|line| line.split_whitespace().last()?.parse().ok()).unwrap_or(0)
}

#[test]
fn counters_add_up_over_threads_and_flows_keep_their_order() {
    let Some(config) = two_workers() else { return };
    let daemon = Daemon::start_with(&config, GENERATORS);
    let path = capture(&daemon);
    add_stream(&daemon, 0, 20_000, "worker 0");
    add_stream(&daemon, 1, 30_000, "worker 1");
    daemon.generate();
    expect_all(&path, 0, 20_000);
    expect_all(&path, 1, 30_000);
    assert_eq!(counted(&daemon, "pg0", "rx packets"), 50_000);
    // The router may have something of its own to say.
    assert!((50_000..50_010).contains(&counted(&daemon, "pg1", "tx packets")));

    let text = daemon.tell("show runtime");
    let threads: Vec<_> = text.split("---------------\n").collect();
    let heads = ["Thread 0 vpp_main (lcore ", "Thread 1 vpp_wk_0 (lcore ", "Thread 2 vpp_wk_1 ("];
    for (thread, head) in threads.iter().zip(heads) {
        assert!(thread.starts_with(head), "{text}");
        assert!(thread.contains("\n  vector rates in "), "{text}");
    }
    assert!(threads[0].contains("ip4-neighbor-age-process") && !threads[0].contains("ip4-lookup"));
    for (thread, vectors) in threads[1..].iter().zip(["20000", "30000"]) {
        let lookup = thread.lines().find(|line| line.starts_with("ip4-lookup"));
        let columns: Vec<_> = lookup.expect("it had packets").split_whitespace().collect();
        assert_eq!((columns[1], columns[3]), ("active", vectors), "{text}");
    }
    assert!(daemon.tell("show vlib graph").contains("pg-input"), "thread 0 has no nodes");
    let text = daemon.tell("show threads");
    assert!(text.contains("vpp_main") && text.contains("vpp_wk_0") && text.contains("vpp_wk_1"));
    assert!(daemon.tell("show buffers").trim_end().ends_with(" 0"), "a buffer was lost");
}

#[test]
fn threads_change_while_packets_flow_and_none_is_lost() {
    let Some(config) = two_workers() else { return };
    let daemon = Daemon::start_with(&config, GENERATORS);
    let path = capture(&daemon);
    add_stream(&daemon, 0, 20_000, "worker 0 rate 10000");
    add_stream(&daemon, 1, 20_000, "worker 1 rate 10000");
    daemon.tell("packet-generator enable");
    for change in ["set workers 0", "set workers 1", &both(&config), "set workers 0"] {
        sleep(Duration::from_millis(200));
        daemon.tell(change);
    }
    let names = daemon.tell("show threads");
    assert!(names.contains("vpp_main") && !names.contains("vpp_wk_"), "{names}");
    let is_done = || !daemon.tell("show packet-generator").contains("Yes");
    assert!(eventually(is_done));
    expect_all(&path, 0, 20_000);
    expect_all(&path, 1, 20_000);
    assert!((40_000..40_010).contains(&counted(&daemon, "pg1", "tx packets")));
    assert!(daemon.tell("show buffers").trim_end().ends_with(" 0"), "a buffer was lost");
    let refused = daemon.ask("set workers 4000");
    assert!(
        !refused.is_ok && refused.error.contains("4000 workers need a CPU each"),
        "{refused:?}"
    );
    assert!(!daemon.ask("set workers corelist 0,0").is_ok);
}

#[test]
fn hosts_talk_over_two_workers_whichever_serves_a_queue() {
    let Some(config) = two_workers() else { return };
    if !is_root() || !has("ping") {
        return;
    }
    let hosts = TwoHosts::with(&config);
    let ping = || {
        let text = hosts.left.run("ping -n -c 20 -i 0.05 -W 10 10.1.2.2");
        assert!(text.contains("20 received, 0% packet loss"), "{text}");
    };
    let placement = || hosts.router.tell("show interface rx-placement");
    ping();
    let expected = "Thread 1 (vpp_wk_0):\n  node af-packet-input:\n    \
                    host-left queue 0 (adaptive)\nThread 2 (vpp_wk_1):\n  node af-packet-input:\n    \
                    host-right queue 0 (adaptive)\n";
    assert_eq!(placement(), expected);
    let echoes = hosts.left.start("ping -n -i 0.002 -c 500 -W 10 10.1.2.2");
    for change in [
        "set interface rx-placement host-left worker 1",
        "set interface rx-placement host-right worker 0",
        "set workers 1",
        "set interface rx-mode host-left interrupt",
        &both(&config),
    ] {
        sleep(Duration::from_millis(150));
        hosts.router.tell(change);
    }
    drop(echoes);
    ping();
    assert!(placement().contains("host-left queue 0 (interrupt)"), "{}", placement());
    let text = hosts.router.ask("set interface rx-placement host-left main");
    assert!(text.error.contains("with workers, the main thread receives no packets"), "{text:?}");
}

#[test]
fn threads_are_scheduled_and_rest_as_configured() {
    let config = "cpu { scheduler-policy batch } unix { poll-sleep-usec 2000 }";
    let daemon = Daemon::start_with(config, GENERATORS);
    let threads = daemon.tell("show threads");
    assert!(threads.contains("batch (0)") && !threads.contains("other (0)"), "{threads}");
    daemon.tell(
        "packet-generator new { name s size 64-64 interface pg0 node ethernet-input data { \
         IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa UDP: 10.0.0.2 -> 16.0.0.1 \
         UDP: 1234 -> 2345 incrementing 22 } }",
    );
    daemon.tell("packet-generator enable");
    daemon.tell("clear runtime");
    sleep(Duration::from_millis(500));
    let text = daemon.tell("show runtime");
    let rate = text.split("loops/sec ").nth(1).and_then(|rest| rest.split('\n').next());
    let rate: f64 = rate.and_then(|rate| rate.parse().ok()).expect("loops per second");
    assert!((1.0..510.0).contains(&rate), "{rate} loops a second, though a stream polls");
}

#[test]
fn packets_queued_on_a_worker_that_goes_are_counted() {
    let Some(config) = two_workers() else { return };
    let daemon = Daemon::start_with(&config, GENERATORS);
    daemon.tell("scheduler port pg1 rate 8k burst 1 queue-length 100 packets 100");
    add_stream(&daemon, 0, 50, "worker 1");
    daemon.generate();
    // One went at once, and maybe another one meanwhile.
    let sent = |text: &str| -> u64 {
        let found = text.split(" sent ").nth(1).and_then(|t| t.split(' ').next()?.parse().ok());
        found.unwrap_or_else(|| panic!("{text}"))
    };
    let shown = daemon.tell("show scheduler pg1");
    assert!(shown.contains(" thread 2\n") && sent(&shown) < 25, "{shown}");
    daemon.tell("set workers 0");
    let shown = daemon.tell("show scheduler pg1");
    let flushed = 50 - sent(&shown);
    assert!(shown.contains(&format!("waiting 0 sent {}", sent(&shown))), "{shown}");
    assert!(shown.contains(&format!(" flushed {flushed}\n")), "{shown}");
    let errors = daemon.tell("show errors");
    assert!(errors.contains("terminated thread"), "{errors}");
    assert!(daemon.tell("show buffers").trim_end().ends_with(" 0"), "a buffer was lost");
    // Another thread takes the port over.
    add_stream(&daemon, 1, 5, "");
    daemon.generate();
    let shown = daemon.tell("show scheduler pg1");
    assert!(shown.contains(" thread 0\n"), "{shown}");
}

/// The sessions that a router shows.
fn sessions(daemon: &Daemon) -> String {
    daemon.tell("show sfdp session-table unsafe-show-all")
}

#[test]
fn sessions_of_services_are_on_the_thread_of_their_first_packet_until_it_goes() {
    let Some(config) = two_workers() else { return };
    let daemon = Daemon::start_with(&config, GENERATORS);
    for line in [
        "sfdp tenant add 1",
        "set sfdp services tenant 1 sfdp-l4-lifecycle ip4-lookup forward",
        "set sfdp services tenant 1 sfdp-l4-lifecycle ip4-lookup reverse",
        "set sfdp interface-input pg0 tenant 1",
        "set sfdp interface-input pg1 tenant 1",
    ] {
        daemon.tell(line);
    }
    let path = capture(&daemon);
    add_stream(&daemon, 3, 500, "worker 0");
    daemon.generate();
    expect_all(&path, 3, 500);
    let on = |text: &str, thread: &str| {
        let of =
            |line: &&str| line.starts_with("0x") && line.split_whitespace().nth(2) == Some(thread);
        text.lines().filter(of).count()
    };
    assert_eq!(on(&sessions(&daemon), "1"), 500);
    // Replies are received on the other thread.
    daemon.tell(
        "packet-generator new { name back limit 500 size 64-64 interface pg1 worker 1 \
         node ethernet-input data { IP4: 02:00:00:00:00:bb -> 02:00:00:00:00:ab \
         UDP: 16.3.0.0-16.3.1.243 -> 10.0.0.2 UDP: 2345 -> 1234 incrementing 22 } }",
    );
    daemon.tell("packet-generator enable-stream back");
    let all_answered = || sessions(&daemon).matches("established").count() == 500;
    assert!(eventually(all_answered), "{}", sessions(&daemon));
    assert_eq!(on(&sessions(&daemon), "1"), 500);
    let moved = daemon.tell("show errors");
    let line = moved.lines().find(|line| line.contains("remote flow"));
    assert!(line.is_some_and(|line| line.contains("500")), "{moved}");
    daemon.tell("set workers 0");
    assert_eq!(sessions(&daemon).matches("established").count(), 500);
    assert_eq!(on(&sessions(&daemon), "0"), 500);
    daemon.generate();
    assert!(daemon.tell("show sfdp tenant 1").contains("created 500 removed 0"));
}

#[test]
fn a_firewall_lets_answers_in_on_whichever_thread_they_come() {
    let Some(config) = two_workers() else { return };
    let daemon = Daemon::start_with(&config, GENERATORS);
    for line in [
        "firewall zone inside",
        "firewall zone outside",
        "firewall interface pg0 zone inside",
        "firewall interface pg1 zone outside",
        "firewall policy inside outside default permit",
    ] {
        daemon.tell(line);
    }
    let path = capture(&daemon);
    add_stream(&daemon, 4, 500, "worker 0");
    daemon.generate();
    // Sessions are on both threads, between which nothing keeps an order.
    assert!(eventually(|| order(&path, 4).len() == 500), "{}", order(&path, 4).len());
    // The router says something of itself now and then.
    let before = counted(&daemon, "pg0", "tx packets");
    let back = |name: &str, port: u16| {
        daemon.tell(&format!(
            "packet-generator new {{ name {name} limit 500 size 64-64 interface pg1 worker 1 \
             node ethernet-input data {{ IP4: 02:00:00:00:00:bb -> 02:00:00:00:00:ab \
             UDP: 16.4.0.0-16.4.1.243 -> 10.0.0.2 UDP: {port} -> 1234 incrementing 22 }} }}"
        ));
        daemon.tell(&format!("packet-generator enable-stream {name}"));
    };
    back("answers", 2345);
    let in_time = || counted(&daemon, "pg0", "tx packets") >= before + 500;
    assert!(eventually(in_time), "{}", daemon.tell("show errors"));
    back("strangers", 9);
    let dropped = || daemon.tell("show errors").contains("no policy between the zones");
    assert!(eventually(dropped), "{}", daemon.tell("show errors"));
    assert!(counted(&daemon, "pg0", "tx packets") < before + 520);
    daemon.tell("set workers 0");
    assert!(daemon.tell("show firewall sessions count 1").contains("sessions 500 of"));
}

#[test]
fn flows_of_a_load_balancer_keep_their_server_while_threads_change() {
    let Some(config) = two_workers() else { return };
    let daemon = Daemon::start_with(&config, GENERATORS);
    for line in [
        "set ip neighbor pg1 10.0.1.3 02:00:00:00:00:bc static",
        "lb vip 16.5.0.0/16 encap l3dsr",
        "lb as 16.5.0.0/16 10.0.1.2",
    ] {
        daemon.tell(line);
    }
    add_stream(&daemon, 5, 500, "worker 1");
    daemon.generate();
    // From now on, new flows go elsewhere.
    daemon.tell("lb as 16.5.0.0/16 10.0.1.3");
    daemon.tell("lb as 16.5.0.0/16 10.0.1.2 del");
    let expect = |known: &str| {
        let shown = daemon.tell("show lb vips verbose");
        assert!(shown.contains("10.0.1.2 weight:100 buckets:0 flows:500 removed"), "{shown}");
        assert!(shown.contains(known) && shown.contains("first session packet: 500"), "{shown}");
    };
    expect("packet from existing sessions: 0\n");
    daemon.tell("set workers 0");
    expect("packet from existing sessions: 0\n");
    daemon.generate();
    expect("packet from existing sessions: 500\n");
    // Either of two threads may get them now.
    daemon.tell(&both(&config));
    expect("packet from existing sessions: 500\n");
    daemon.generate();
    expect("packet from existing sessions: 1000\n");
}

#[test]
fn flows_that_are_probed_are_exported_once_when_their_thread_ends() {
    let Some(config) = two_workers() else { return };
    let daemon = Daemon::start_with(&config, GENERATORS);
    for line in [
        "set ipfix exporter collector 10.0.1.2 src 10.0.1.1",
        "flowprobe params record l3 active 600 passive 900",
        "flowprobe feature add-del pg0 ip4 rx",
    ] {
        daemon.tell(line);
    }
    let expect = |flows: &str, exported: &str| {
        let shown = daemon.tell("show flowprobe statistics");
        assert!(shown.contains(flows) && shown.contains(exported), "{shown}");
    };
    add_stream(&daemon, 6, 500, "worker 1");
    daemon.generate();
    expect("thread 2: 500 flows", " 0 records exported");
    daemon.tell("set workers 0");
    expect("IPFIX", " 500 records exported");
    daemon.generate();
    expect("thread 0: 500 flows", " 500 records exported");
    daemon.tell(&both(&config));
    expect("IPFIX", " 1000 records exported");
}
