use std::convert::Infallible;
use std::fmt;

use control::api::{Api, Local};
use control::cli::Cli;
use control::log::Log;
use graph::{Frame, Input, InputState, Intake, Names, Node, Record, Settings};

use super::*;
use crate::router::Router;
use crate::{drops, interface};

/// Brings in three packets and nothing more.
#[derive(Clone)]
struct Source(usize);

#[derive(Clone, Copy, graph::Next)]
enum ToFilter {
    #[to("filter")]
    Filter,
}

struct Said(&'static str);

impl Record for Said {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {} {}", self.0, names.name("interface", 0))
    }
}

impl Input for Source {
    const NAME: &'static str = "test-input";
    type Next = ToFilter;
    type Error = Infallible;
    type Count = Infallible;
    const STATE: InputState = InputState::Adaptive;

    #[inline(always)]
    fn poll<On: graph::Cpu>(&mut self, intake: &mut Intake<'_, Self, On>) {
        let left = std::mem::take(&mut self.0);
        intake.each(left, 0, |p| {
            p.extend(&[0; 64])?;
            Some(ToFilter::Filter)
        });
    }
}

/// Drops all packets.
#[derive(Clone)]
struct Filter;

#[derive(Clone, Copy, graph::Reason)]
enum Refused {
    /// unwanted packets
    Unwanted,
}

impl Node for Filter {
    const NAME: &'static str = "filter";
    type Next = Infallible;
    type Error = Refused;
    type Count = Infallible;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            p.trace(|_| Said("seen on"));
            Err(Refused::Unwanted)
        });
    }
}

pub(crate) struct Bench {
    pub router: Router,
    cli: Cli<Router>,
    api: Api<Router>,
}

pub(crate) fn bench() -> Bench {
    let settings = Settings { buffers: 4096, ..Settings::default() };
    let router = Router::new(settings, Log::new()).unwrap();
    let mut parts = crate::Assembly::new(router);
    let trace = crate::trace::FEATURE;
    let dump = crate::trace::TRACEDUMP;
    for feature in [FEATURE, trace, dump, drops::FEATURE, interface::FEATURE] {
        parts.add(&feature).unwrap();
    }
    let crate::Assembly { mut router, cli, mut api, .. } = parts;
    cli.check().unwrap();
    api.finish(&router.clients).unwrap();
    router.engine.add_input(Source(3)).unwrap();
    router.engine.add(Filter).unwrap();
    router.engine.build().unwrap();
    router.engine.start_inline();
    Bench { router, cli, api }
}

impl Bench {
    pub fn run(&mut self, line: &str) -> String {
        self.cli.run(&mut self.router, line).text()
    }
    /// Lets `work` talk to the router as a client of the binary API does.
    pub fn talk(&mut self, work: impl FnOnce(&Local<'_, Router>, &mut Router)) {
        let local = Local::new(&self.api, &self.cli, &self.router.clients);
        work(&local, &mut self.router);
    }
    pub fn json(&mut self, line: &str) -> serde_json::Value {
        self.cli.run(&mut self.router, line).output.to_json()
    }
}

#[test]
fn errors_have_the_columns_that_scripts_know() {
    let mut b = bench();
    b.router.engine.run_inline(10);
    let head = concat!(
        "   Count                  Node                              Reason      ",
        "         Severity \n"
    );
    let row = concat!(
        "         3               filter                        unwanted packets   ",
        "         error  \n"
    );
    assert_eq!(b.run("show errors"), format!("{head}{row}"));
    assert_eq!(b.json("sh err")[0]["reason"], "unwanted packets");
    assert_eq!(b.run("clear errors"), "");
    assert_eq!(b.run("show errors"), head);
}

#[test]
fn runtime_counts_from_the_time_it_was_cleared() {
    let mut b = bench();
    b.router.engine.run_inline(10);
    let text = b.run("show runtime");
    let row = text.lines().find(|l| l.starts_with("filter ")).expect("it did something");
    let fields: Vec<_> = row.split_whitespace().collect();
    assert_eq!((fields[1], fields[2], fields[3], fields[6]), ("active", "1", "3", "3.00"));
    assert!(text.starts_with("Time 0."), "{text}");
    assert!(text.contains("\n  vector rates in "));
    assert!(!text.contains("local0-tx"));
    assert!(b.run("show runtime verbose").contains("\nlocal0-tx "));
    assert!(b.run("show runtime max").contains("Max Vectors"));
    assert_eq!(b.run("show runtime summary").lines().count(), 2);
    let one = b.run("show runtime local0-tx");
    assert!(one.contains("\nlocal0-tx ") && !one.contains("\nerror-drop "), "{one}");
    assert!(b.run("show runtime nosuch").contains("unknown node `nosuch'"));

    b.run("clear runtime");
    let text = b.run("show runtime");
    assert!(text.contains("in 0.0000e0, out 0.0000e0, drop 0.0000e0, punt 0.0000e0\n"), "{text}");
    assert!(!text.contains("\nfilter "));
}

#[test]
fn processes_are_among_the_nodes() {
    let mut b = bench();
    let body = |_: &mut Router, _| control::process::Wake::OnEvent;
    b.router.processes.spawn("some-process", Box::new(body));
    let now = b.router.now();
    control::process::Processes::run_due(&mut b.router, |r| &mut r.processes, now);
    let text = b.run("show runtime");
    let row = text.lines().find(|l| l.starts_with("some-process ")).expect("it ran");
    assert_eq!(&row[..57], r#"some-process                  "event wait"               "#);
    assert_eq!(&row[57..90], "1               0               1");
}

#[test]
fn nodes_are_found_by_name_and_number() {
    let mut b = bench();
    b.router.engine.run_inline(10);
    let text = b.run("show node test-input");
    let index = b.router.engine.index_of("test-input").unwrap().0;
    assert!(
        text.starts_with(&format!(
            "node test-input, type input, state interrupt wa, index {index}\n"
        )),
        "{text}"
    );
    assert!(text.contains(
        "  node function variants:\n    Name             Priority  Active  Description\n"
    ));
    assert_eq!(text.matches("  yes   ").count(), 1);
    assert_eq!(b.run(&format!("show node index {index}")), text);
    assert_eq!(b.run(&format!("show node verbose index {index}")), text);
    assert_eq!(b.run("show physmem d"), b.run("show physmem v map"));
    assert_eq!(b.run("show node counters verbose 1"), b.run("show errors"));
    assert!(b.run("show node filter").contains(&format!("\n    test-input ({index})")));
    let text = b.run("show node variants");
    assert!(text.starts_with("Name             Priority  Nodes  Description\ndefault "), "{text}");
    let all = b.router.engine.node_names().count();
    let best = infra::cpu::Variant::best().name();
    let line = text.lines().find(|line| line.starts_with(best)).unwrap();
    assert_eq!(line.split_whitespace().nth(2), Some(all.to_string().as_str()), "{text}");
    assert!(b.run("show vlib graph filter").contains("\nfilter "));
    assert!(b.run("show vlib graph").lines().count() > 5);
    assert_eq!(b.run("set node function filter default"), "");
    b.router.engine.run_inline(2);
    let filter = b.router.engine.index_of("filter").unwrap();
    assert_eq!(b.router.engine.variant_of(filter), infra::cpu::Variant::Default);
    let wrong = "set node function: unknown variant `bozo'\n";
    assert_eq!(b.run("set node function filter bozo"), wrong);
    let wrong = "set node function: unknown node name: 'nosuch'\n";
    assert_eq!(b.run("set node function nosuch default"), wrong);
}

#[test]
fn clock_moves_when_told() {
    let mut b = bench();
    let text = b.run("show clock");
    let rest = text.strip_prefix("Time now ").unwrap();
    assert!(rest.split(',').next().unwrap().parse::<f64>().unwrap() < 3600.0);
    assert_eq!(b.run("set clock adjust 7200"), "");
    assert!(b.router.now() > 7200.0);
    assert_eq!(
        b.run("set clock adjust nan"),
        "set clock adjust: seconds must be a finite number\n"
    );
    assert!(b.run("set clock adjust soon").contains("invalid seconds"));
    let before = b.router.now();
    let back = "set clock adjust: the clock cannot go back by -50\n";
    assert_eq!(b.run("set clock adjust -50"), back);
    for far in ["1e300", "1000000000", "inf"] {
        let text = b.run(&format!("set clock adjust {far}"));
        assert!(
            text.contains("at most 99999") || far == "inf" && text.contains("finite"),
            "{text}"
        );
    }
    assert!((before..before + 5.0).contains(&b.router.now()), "nothing was carried out");
    assert_eq!(b.run("set clock adjust 0"), "");
}

#[test]
fn buffers_and_memory_are_told() {
    let mut b = bench();
    let text = b.run("show buffers");
    let head = concat!(
        "Pool Name            Index NUMA  Size  Data Size  ",
        "Total  Avail  Cached   Used  "
    );
    assert_eq!(text.lines().next(), Some(head));
    let row = text.lines().nth(1).unwrap();
    assert!(row.starts_with("default-numa-0         0     0   2368     2048"), "{row}");
    assert!(b.run("show physmem").contains("   arena 'buffers-numa-0' pages "));
    assert!(b.run("show memory").contains("name 'main heap'\n  page stats: page-size 4K, "));
    assert!(b.run("show memory main-heap").starts_with("  base "));
}

#[test]
fn arcs_are_listed_with_their_ends() {
    let mut b = bench();
    let text = b.run("show features");
    assert!(text.starts_with("Available feature paths\n"), "{text}");
    let text = b.run("show interface features local0");
    assert!(text.starts_with("Feature paths configured on local0...\n"), "{text}");
    assert_eq!(b.run("show interface verbose local0 features"), text);
    assert!(b.run("show int feat").starts_with("Feature paths configured on local0...\n"));
    let wrong = "show interface features: unknown interface `nosuch'\n";
    assert_eq!(b.run("show interface features nosuch"), wrong);
}

#[test]
fn the_program_tells_what_it_is() {
    let mut b = bench();
    let plugins = vec![Plugin::built_in("urpf_plugin.so".to_owned(), "Checks of source addresses")];
    let version = "ferrovia v1 built by X".to_owned();
    b.router.insert(Program { version, plugins, ..Program::default() });
    assert_eq!(b.run("show version"), "ferrovia v1 built by X\n");
    assert!(b.run("show version verbose").contains("Current PID:              "));
    let text = b.run("show plugins");
    assert!(
        text.starts_with(" Plugin path is: built in plugins shown in load order\n\n     Plugin  ")
    );
    assert!(text.contains("\n  1. urpf_plugin.so                           "), "{text}");
    assert!(b.run("show cpu").starts_with("Model name:               "));
    assert!(b.run("show threads").starts_with("ID Name LWP CPU Sched Loops Epolls "));
}
