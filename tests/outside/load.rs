//! Much of it: a big table listed while packets pass, interfaces that come and go.
//!
//! With `FERROVIA_TIMING=1` as much as is promised, and in the time that is.

use std::time::{Duration, Instant};

use ferrovia_client::messages::{
    AddressUnion, CreateLoopback, DeleteLoopback, FibPath, FibPathNh, IpRouteAddDelV2,
    IpRouteV2Dump, SwInterfaceDump,
};
use ferrovia_client::{Client, stats};
use tests::{Daemon, eventually, is_timing_wanted};

/// A /32 from 32.0.0.0 on, over the neighbour on pg1.
fn route(n: u32, pg1: u32) -> IpRouteAddDelV2 {
    let mut request = IpRouteAddDelV2::default();
    request.route.prefix.len = 32;
    request.route.prefix.address.un = AddressUnion::of_ip4(&(0x2000_0000 + n).to_be_bytes());
    let nh = FibPathNh { address: AddressUnion::of_ip4(&[10, 0, 1, 2]), ..Default::default() };
    request.route.paths = vec![FibPath { sw_if_index: pg1, weight: 1, nh, ..Default::default() }];
    request
}

#[test]
fn a_big_table_is_listed_while_packets_pass() {
    let is_full = is_timing_wanted();
    let count = if is_full { 1_000_000 } else { 20_000 };
    let daemon = Daemon::start(crate::GENERATORS);
    let socket = daemon.folder().join("api.sock");
    let mut client = Client::connect_shared(socket, "load", 4 << 20).unwrap();
    let interfaces = client.dump(&SwInterfaceDump { sw_if_index: u32::MAX, ..Default::default() });
    let is_pg1 = |name: &str| name == "pg1";
    let pg1 = interfaces.unwrap().iter().find(|i| is_pg1(&i.interface_name)).unwrap().sw_if_index;
    let refused = client.calls((0..count).map(|n| route(n, pg1)), |_, _| ()).unwrap();
    assert_eq!(refused, 0);

    let segment = stats::fetch(&daemon.folder().join("stats.sock")).unwrap();
    let reader = stats::Reader::new(segment).unwrap();
    let sum = |name: &str| reader.read(name).unwrap().unwrap().sum(0);
    // Neighbors are not resolved now, so packets sent on pg1 are those received on pg0.
    let before = (sum("/interfaces/pg0/rx"), sum("/interfaces/pg1/tx"));
    daemon.tell(
        "packet-generator new { name s limit 0 rate 20000 size 64-64 interface pg0 \
         node ethernet-input data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa \
         UDP: 10.0.0.2 -> 32.0.0.0-32.0.31.255 UDP: 1 -> 2 incrementing 22 } }",
    );
    daemon.tell("packet-generator enable s");
    let is_running = || sum("/interfaces/pg0/rx") > before.0 + 100;
    assert!(eventually(is_running));
    #[allow(clippy::disallowed_methods, reason = "how long it takes is real time")]
    let start = Instant::now();
    let (mut rows, mut own) = (0, 0);
    let each = |row: ferrovia_client::messages::IpRouteV2Details| {
        rows += 1;
        let is_own = row.route.prefix.address.un.ip4().is_ok_and(|a| (32..48).contains(&a[0]));
        own += u32::from(is_own && row.route.prefix.len == 32);
    };
    client.dump_each(&IpRouteV2Dump::default(), each).unwrap();
    let took = start.elapsed();
    println!("{rows} routes listed in {took:?}");
    assert_eq!(own, count);
    assert!(!is_full || took < Duration::from_secs(3), "{took:?}");
    daemon.tell("packet-generator disable s");
    let passed = || (sum("/interfaces/pg0/rx") - before.0, sum("/interfaces/pg1/tx") - before.1);
    let is_even = || passed().0 == passed().1;
    assert!(eventually(is_even), "{:?}", passed());
    println!("{} packets forwarded meanwhile", passed().0);
}

#[test]
fn interfaces_that_come_and_go_leave_nothing_behind() {
    let rounds = if is_timing_wanted() { 10_000 } else { 300 };
    let more = "statseg { per-node-counters on update-interval 0.1 }";
    let daemon = Daemon::start_with(more, &[]);
    let mut client = Client::connect(daemon.folder().join("api.sock"), "load").unwrap();
    let segment = stats::fetch(&daemon.folder().join("stats.sock")).unwrap();
    let reader = stats::Reader::new(segment).unwrap();
    let used = || reader.read("/mem/stat segment").unwrap().unwrap().sum(1);
    let settle = || {
        let beats = || reader.read("/sys/heartbeat").unwrap().unwrap().sum(0);
        let now = beats();
        assert!(eventually(|| beats() > now + 2));
        (used(), reader.names().unwrap().len())
    };
    let mut churn = |rounds| {
        for _ in 0..rounds {
            let on = client.call(&CreateLoopback::default()).unwrap().sw_if_index;
            client.call(&DeleteLoopback { sw_if_index: on }).unwrap();
        }
    };
    // A number serves again when no thread can know it any more, so in a hurry some are in use.
    churn(50);
    let (bytes, names) = settle();
    churn(rounds);
    let (now, names_now) = settle();
    println!("{rounds} rounds: from {bytes} to {now} bytes");
    assert_eq!(names, names_now);
    assert!(now < bytes + (128 << 10), "{bytes} bytes became {now}");
}

/// Bytes that a process has in memory.
fn memory(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.id())).unwrap();
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
    };
    of("RssAnon:") + of("RssShmem:")
}

#[test]
fn interfaces_by_the_thousand_cost_little_each_and_give_it_back() {
    let count: u32 = if is_timing_wanted() { 16_000 } else { 2_000 };
    let daemon = Daemon::start(crate::GENERATORS);
    let mut client = Client::connect(daemon.folder().join("api.sock"), "load").unwrap();
    let segment = stats::fetch(&daemon.folder().join("stats.sock")).unwrap();
    let reader = stats::Reader::new(segment).unwrap();
    let mut make = || {
        let mut all = Vec::new();
        let requests = (0..count).map(|_| CreateLoopback::default());
        let refused = client.calls(requests, |_, made| all.push(made.unwrap().sw_if_index));
        assert_eq!(refused.unwrap(), 0);
        all
    };
    let before = memory(&daemon);
    let all = make();
    let each = (memory(&daemon) - before) / u64::from(count);
    println!("{count} loopbacks: {each} bytes each");
    assert!(each < 16 << 10, "{each} bytes each");

    // The last one has all that others have, under its own name.
    let last = format!("loop{}", count - 1);
    daemon.tell(&format!("set interface state {last} up"));
    daemon.tell(&format!("set interface ip address {last} 10.9.0.1/24"));
    let sum = |name: &str| reader.read(name).unwrap().unwrap().sum(0);
    let sent = || sum(&format!("/interfaces/{last}/tx"));
    assert!(eventually(|| sent() == 1), "its address is announced");
    daemon.tell(&format!("set ip neighbor {last} 10.9.0.2 02:00:00:00:09:02 static"));
    daemon.tell(
        "packet-generator new { name s limit 7 size 64-64 interface pg0 node ethernet-input \
         data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:aa UDP: 10.0.0.2 -> 10.9.0.2 \
         UDP: 1 -> 2 incrementing 22 } }",
    );
    daemon.generate();
    assert_eq!(sent(), 8);
    assert_eq!(sum(&format!("/err/{last}-output/interface is down")), 0);
    let runtime = daemon.tell("show runtime");
    let has_run = |node: &str| runtime.lines().any(|line| line.starts_with(&format!("{node} ")));
    assert!(has_run(&format!("{last}-output")) && has_run(&format!("{last}-tx")), "{runtime}");
    assert!(daemon.tell(&format!("show node {last}-tx")).contains("ethernet-input"));

    let delete = |all: Vec<u32>, client: &mut Client| {
        let requests = all.into_iter().map(|sw_if_index| DeleteLoopback { sw_if_index });
        assert_eq!(client.calls(requests, |_, _| ()).unwrap(), 0);
    };
    let most = memory(&daemon);
    let mut other = Client::connect(daemon.folder().join("api.sock"), "load").unwrap();
    delete(all, &mut other);
    assert!(!daemon.tell("show interface").contains("loop"));
    assert!(reader.read(&format!("/interfaces/{last}/tx")).unwrap().is_none());
    let all = make();
    let again = memory(&daemon);
    assert!(again < most + (most - before) / 8, "{before} bytes became {most}, then {again}");
    delete(all, &mut other);
}
