use std::rc::Rc;

use control::api::{Api, Local, Retval};
use control::cli::Cli;
use control::log::Log;
use control::process::Processes;
use control::stats::reader::{Reader, Sample};
use graph::{Frame, Node};
use wire::MacAddr;

use super::detailed::CollectDetailedInterfaceStats;
use super::*;
use crate::interface;
use crate::interface::{InterfaceIndex, Kind, NewInterface, Offloads};
use crate::router::Router;

#[derive(Clone)]
struct Transmit;

impl Node for Transmit {
    const NAME: &'static str = "test-tx";
    type Next = std::convert::Infallible;
    type Error = std::convert::Infallible;
    type Count = std::convert::Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.consume(|_| Ok(()));
    }
}

struct Bench {
    router: Router,
    cli: Cli<Router>,
    api: Rc<Api<Router>>,
    reader: Reader,
}

impl Bench {
    fn new(settings: Settings) -> Self {
        let graph = graph::Settings { buffers: 4096, ..Default::default() };
        let router = Router::new(graph, Log::new()).unwrap();
        let mut parts = crate::Assembly::new(router);
        parts.router.insert(settings);
        for feature in crate::FEATURES {
            parts.add(feature).unwrap();
        }
        let crate::Assembly { mut router, cli, mut api, .. } = parts;
        api.finish(&router.clients).unwrap();
        router.engine.build().unwrap();
        router.engine.start_inline();
        let reader = Reader::new(router.stats.readable().unwrap()).unwrap();
        Self { router, cli, api: Rc::new(api), reader }
    }
    fn add(&mut self, name: &str) -> InterfaceIndex {
        let new = NewInterface {
            name: name.to_owned(),
            kind: Kind::Ethernet,
            hardware: "pg",
            mac: MacAddr([2, 0, 0, 0, 0, 0xaa]),
            mtu: 9000,
            offloads: Offloads::default(),
            link_follows_admin: true,
        };
        let index = self.router.add_interface(new, Transmit).unwrap();
        self.router.set_admin(index, true);
        index
    }
    fn run(&mut self, line: &str) -> String {
        self.cli.run(&mut self.router, line).text()
    }
    /// Lets processes run at a time in seconds.
    fn at(&mut self, now: f64) {
        Processes::run_due(&mut self.router, |r| &mut r.processes, now);
    }
    fn send(&mut self, node: &str, frames: &[Vec<u8>], rx: u32) {
        let node = self.router.engine.index_of(node).unwrap();
        for frame in frames {
            self.router.engine.inject(0, node, frame.clone(), move |p| p.set_rx(rx));
        }
        self.router.engine.run_inline(100);
    }
    fn read(&self, name: &str) -> Sample {
        self.reader.read(name).unwrap().unwrap_or_else(|| panic!("{name} is not there"))
    }
}

fn frame(first: u8, len: usize) -> Vec<u8> {
    let dst = if first == 0xff { [0xff; 6] } else { [first, 0, 0, 0, 0, 0xaa] };
    let mut frame = [&dst[..], &[2, 0, 0, 0, 0, 0xbb, 0x90, 0x01]].concat();
    frame.resize(len, 0);
    frame
}

#[test]
fn the_router_tells_about_itself() {
    let mut b = Bench::new(Settings::default());
    b.at(0.0);
    assert_eq!(b.read("/sys/heartbeat"), Sample::Number(1));
    b.at(9.0);
    assert_eq!(b.read("/sys/heartbeat"), Sample::Number(1), "every ten seconds");
    b.at(10.0);
    assert_eq!(b.read("/sys/heartbeat"), Sample::Number(2));
    b.at(100_000.0);
    assert_eq!(b.read("/sys/heartbeat"), Sample::Number(3), "a clock that jumps beats once");
    assert_eq!(b.read("/sys/num_worker_threads"), Sample::Number(0));
    let Sample::Simple(rows) = b.read("/mem/stat segment") else { panic!("it is a row") };
    let [total, used, free] = [rows[0][0], rows[0][1], rows[0][2]];
    assert!(used > 8192 && used + free == total && rows.len() == 1, "{rows:?}");
    assert_eq!(b.read("/mem/stat segment/used"), Sample::Simple(vec![vec![used]]));
    assert!(b.read("/mem/main heap/used").sum(0) > 1 << 20);
    let pool = |what: &str| b.read(&format!("/buffer-pools/default-numa-0/{what}")).sum(0);
    assert_eq!(pool("used"), 0);
    assert!(pool("available") > 0 && pool("cached") < 4096);
    let names = b.reader.names().unwrap();
    assert!(names.contains_key("/sys/loops_per_worker") && !names.contains_key("/sys/node/calls"));
    assert_eq!(b.read("/sys/vector_rate_per_worker"), Sample::Simple(vec![vec![0]]));
}

#[test]
fn nodes_are_there_when_they_are_wanted() {
    let mut b = Bench::new(Settings { per_node: true, ..Settings::default() });
    let pg0 = b.add("pg/0");
    b.at(0.0);
    b.send("pg/0-output", &[frame(2, 60), frame(2, 60), frame(2, 60)], 0);
    b.at(10.0);
    let index = b.router.engine.index_of("pg/0-output").unwrap().0 as usize;
    assert_eq!(b.read("/sys/node/vectors").sum(index), 3);
    assert_eq!(b.read("/nodes/pg_0-output/vectors").sum(0), 3);
    assert_eq!(b.read("/nodes/pg_0-output/calls").sum(0), 1);
    assert!(b.read("/nodes/pg_0-output/clocks").sum(0) > 0);
    assert_eq!(b.read("/nodes/pg_0-output/suspends").sum(0), 0);
    assert!(b.read("/nodes/statseg-collector-process/suspends").sum(0) > 0);
    assert!(b.read("/nodes/statseg-collector-process/clocks").sum(0) > 0);
    let Sample::Names(names) = b.read("/sys/node/names") else { panic!("they are names") };
    assert_eq!(names[index].as_deref(), Some("pg/0-output"));
    assert_eq!(b.read("/sys/vector_rate_per_worker").sum(0), 3);

    b.router.remove_interface(pg0);
    b.add("pg1");
    b.at(20.0);
    let links = b.reader.names().unwrap();
    assert!(!links.keys().any(|n| n.starts_with("/nodes/pg_0")));
    assert!(links.contains_key("/nodes/pg1-tx/calls"));
    let Sample::Names(names) = b.read("/sys/node/names") else { panic!("they are names") };
    let of = |name: &str| names.iter().filter(|n| n.as_deref() == Some(name)).count();
    assert_eq!((of("pg/0-output"), of("pg1-output")), (0, 1));
}

#[test]
fn what_is_carried_is_counted_by_kind_where_it_is_wanted() {
    let mut b = Bench::new(Settings::default());
    let pg0 = b.add("pg0");
    let frames = [frame(2, 60), frame(1, 70), frame(0xff, 80), frame(2, 100)];
    b.send("pg0-output", &frames, 0);
    let index = pg0.0 as usize;
    let values = b.router.interfaces.values(pg0);
    assert_eq!((values.tx.packets, values.tx_unicast.packets), (4, 0));
    assert_eq!(b.run("interface collect detailed-stats pg0 enable"), "");
    b.send("pg0-output", &frames, 0);
    let values = b.router.interfaces.values(pg0);
    let of = |t: interface::Traffic| (t.packets, t.bytes);
    assert_eq!(
        (of(values.tx_unicast), of(values.tx_multicast), of(values.tx_broadcast)),
        ((2, 160), (1, 70), (1, 80))
    );
    assert_eq!(b.read("/if/tx-unicast").sum(index), 2);
    assert_eq!(b.read("/interfaces/pg0/tx-broadcast").sum(0), 1);
    assert!(b.run("show interface pg0").contains("tx-unicast packets"));
    assert_eq!(b.run("interface collect detailed-stats disable"), "");
    b.send("pg0-output", &frames, 0);
    assert_eq!(b.read("/if/tx-unicast").sum(index), 2);
    let refused = b.run("interface collect detailed-stats local0 enable");
    assert!(refused.contains("not supported by this interface"), "{refused}");
    assert!(
        b.run("interface collect detailed-stats pg0 now").contains("expected enable or disable")
    );

    b.run("interface collect detailed-stats pg0 enable");
    b.router.remove_interface(pg0);
    let again = b.add("pg1");
    assert!(!b.router.interfaces.port(again).unwrap().detailed);
}

#[test]
fn received_frames_are_counted_by_kind_too() {
    let mut b = Bench::new(Settings::default());
    let api = Rc::clone(&b.api);
    let pg0 = b.add("pg0");
    let frames = [frame(2, 60), frame(1, 70), frame(0xff, 80), frame(2, 100)];
    b.send("ethernet-input", &frames, pg0.0);
    let mut call = |sw_if_index| {
        let local = Local::new(&api, &b.cli, &b.router.clients);
        let m = CollectDetailedInterfaceStats { sw_if_index, enable_disable: true };
        local.call(&mut b.router, &m)
    };
    call(pg0).unwrap();
    assert_eq!(call(InterfaceIndex(99)), Err(Retval::INVALID_SW_IF_INDEX));
    assert_eq!(call(InterfaceIndex(0)), Err(Retval::INVALID_INTERFACE));
    b.send("stats-collect-rx", &frames, pg0.0);
    let values = b.router.interfaces.values(pg0);
    let of = |t: interface::Traffic| (t.packets, t.bytes);
    assert_eq!(
        (of(values.rx_unicast), of(values.rx_multicast), of(values.rx_broadcast)),
        ((2, 160), (1, 70), (1, 80))
    );
}

#[test]
fn the_segment_is_listed_in_the_columns_that_scripts_know() {
    let mut b = Bench::new(Settings::default());
    b.add("pg0");
    let text = b.run("show statistics segment num_worker");
    let expected = concat!(
        "Name                                                                             Type",
        "      Value\n",
        "/sys/num_worker_threads                                                    Gauge     ",
        "          0    \n"
    );
    assert_eq!(text, expected);
    b.router.interfaces.counters().rx.row(0)[1].add(9, 638);
    let text = b.run("show statistics segment /interfaces/pg0/rx verbose");
    assert!(text.contains("/interfaces/pg0/rx-miss"), "{text}");
    assert!(text.contains("         1: 9 packets, 638 bytes\n"), "{text}");
    let all = b.run("show statistics segment");
    let names: Vec<_> = all.lines().skip(1).map(|l| l[..74].trim_end()).collect();
    assert!(names.is_sorted() && names.len() > 60);
    assert!(all.contains("/err/pg0-output/interface is down"));
}

#[test]
fn entries_of_a_ring_have_numbers_and_times() {
    let mut b = Bench::new(Settings::default());
    let command =
        |count: u32, size: u32| format!("test stats ring-buffer-gen /test/ring {count} 0 {size}");
    assert_eq!(b.run(&command(0, 4)), "Generated 0 messages in ring buffer /test/ring\n");
    assert_eq!(b.read("/test/ring"), Sample::Ring(vec![vec![]]), "one thread writes");
    assert_eq!(b.run(&command(6, 4)), "Generated 6 messages in ring buffer /test/ring\n");
    let Sample::Ring(threads) = b.read("/test/ring") else { panic!("it is a ring") };
    let half = |entry: &[u8], at: usize| <[u8; 8]>::try_from(&entry[at..at + 8]).unwrap();
    let numbers: Vec<_> = threads[0].iter().map(|e| u64::from_ne_bytes(half(e, 0))).collect();
    assert_eq!(numbers, [2, 3, 4, 5], "the oldest have made room");
    assert!(threads[0].iter().all(|e| f64::from_ne_bytes(half(e, 8)) > 0.0));
    assert!(b.run(&command(1, 8)).contains("ring `/test/ring' has 4 entries"));
    assert!(b.run("test stats ring-buffer-gen /test/none 1 0 0").contains("invalid ring-size `0'"));
    assert!(b.run("test stats ring-buffer-gen /sys/heartbeat 1 0 4").contains("/sys/heartbeat"));
}

#[test]
fn the_state_is_published_in_parts_while_somebody_reads_it() {
    let mut b = Bench::new(Settings::default());
    b.add("pg0");
    let mut time = 0.0;
    let mut turn = |b: &mut Bench, seconds: f64| {
        time += seconds;
        b.at(time);
    };
    (0..100).for_each(|_| turn(&mut b, 0.1));
    assert!(b.router.published.read().families.is_empty(), "nobody reads");
    let state = b.router.published.clone();
    turn(&mut b, 2.0);
    assert!(state.read().families.is_empty(), "a part a turn");
    (0..100).for_each(|_| turn(&mut b, 0.01));
    let now = state.read();
    let value = |name: &str, label: &str, is: &str| {
        let samples = &now.families[name].samples;
        samples.iter().find(|s| s.labels.get(label).is_some_and(|of| of == is)).map(|s| s.value)
    };
    assert_eq!(value("interface_link_up", "interface", "pg0"), Some(1.0));
    assert_eq!(value("interface_link_up", "interface", "local0"), None);
    assert_eq!(value("health_check_ok", "check", "buffers"), Some(1.0));
    assert_eq!(value("health_findings", "severity", "error"), Some(0.0));
    assert!(value("routes", "family", "ip4").is_some_and(|count| count > 0.0));
    assert_eq!(value("neighbors", "family", "ip6"), Some(0.0));
    assert_eq!(now.health["healthy"], true);
    assert!(now.by_interface.contains("/if/rx") && !now.by_interface.contains("/net/route/to"));
    let index = b.router.interfaces.named("pg0").unwrap().index;
    b.router.set_admin(index, false);
    (0..700).for_each(|_| turn(&mut b, 0.01));
    assert_eq!(state.read().families["interface_admin_up"].samples[0].value, 0.0);
}
