//! `trace add`, `trace filter`, `show trace`, `clear trace`.

use std::fmt;

use control::cli::{ArgInfo, Args, Cli, Command, Error, Kind, Output};
use graph::NodeIndex;
use serde::Serialize;

use super::{Filter, Rule, timestamps};
use crate::router::Router;

/// Default number of packets of `show trace`.
const SHOWN: usize = 50;

/// `trace add NODE COUNT`.
struct TraceAdd {
    node: String,
    count: u32,
    filters: bool,
    /// The typed words, for errors.
    typed: String,
}

impl TraceAdd {
    fn refused(&self) -> Error {
        Error::new(format!("expected NODE COUNT, got `{}'", self.typed))
    }
}

impl Command for TraceAdd {
    const PATHS: &'static [&'static str] = &["trace add"];
    const ABOUT: &'static str = "Trace the next packets of an input node";
    const ARGS: &'static [ArgInfo] = &[
        ArgInfo { values: "input", ..ArgInfo::of("input node", &[], "input node", Kind::Required) },
        ArgInfo {
            range: "0-4294967295",
            ..ArgInfo::of("count", &[], "packets to trace per thread", Kind::Required)
        },
    ];
    const USAGE: &'static str = "<input node> <count> [verbose] [filter]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let typed = args.remaining().to_owned();
        let node = args.word().unwrap_or_default().to_owned();
        let count = args.optional();
        // Accepted: there is one form of trace.
        args.keyword("verbose");
        let filters = args.keyword("filter");
        let command = Self { node, count: count.unwrap_or_default(), filters, typed };
        if count.is_none() { Err(command.refused()) } else { Ok(command) }
    }
}

/// `trace filter none`, `trace filter include|exclude NODE COUNT`.
struct TraceFilter {
    /// Node's name, whether it must have been visited, and how many packets to show.
    rule: Option<(String, bool, usize)>,
}

impl Command for TraceFilter {
    const PATHS: &'static [&'static str] = &["trace filter"];
    const ABOUT: &'static str = "Show only traced packets that visited, or did not visit, a node";
    const USAGE: &'static str = "none | [include|exclude] <node> <count>";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        if args.keyword("none") {
            return Ok(Self { rule: None });
        }
        let includes = args.keyword("include");
        if !includes && !args.keyword("exclude") {
            let got = args.remaining();
            return Err(Error::new(format!("expected include|exclude NODE COUNT, got `{got}'")));
        }
        Ok(Self { rule: Some((args.value("node")?, includes, args.value("count")?)) })
    }
}

impl TraceFilter {
    fn carry_out(self, router: &mut Router) -> Result<(), Error> {
        let rule = match self.rule {
            None => None,
            Some((name, includes, count)) => {
                let node = router.engine.index_of(&name);
                let node = node.ok_or_else(|| Error::new(format!("unknown node `{name}'")))?;
                Some(Rule { includes, node, count })
            }
        };
        router.insert(Filter(rule));
        Ok(())
    }
}

/// Show traced packets.
#[derive(Command)]
#[command("show trace")]
struct ShowTrace {
    /// maximum packets to show
    max: Option<usize>,
}

/// Clear the trace and stop tracing.
#[derive(Command)]
#[command("clear trace")]
struct ClearTrace;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, add: TraceAdd| {
        let node = router.engine.index_of(&add.node).ok_or_else(|| add.refused())?;
        if add.filters && !router.engine.has_trace_filter() {
            return Err(Error::new("no trace filter is set: see `classify filter trace'"));
        }
        if !router.start_trace(node, add.count, add.filters) {
            let name = &add.node;
            return Err(Error::new(format!("node '{name}' is not an input node")));
        }
        Ok(())
    });
    cli.command(|router, filter: TraceFilter| filter.carry_out(router));
    cli.values("input", |router: &Router| {
        let nodes = router.engine.node_names();
        let inputs = nodes.filter(|(node, _)| router.engine.starts_traces(*node));
        inputs.map(|(_, name)| name.to_owned()).collect()
    });
    cli.command(|router, show: ShowTrace| {
        Ok(Output::rows(trace(router, show.max.unwrap_or(SHOWN))?, write_trace))
    });
    cli.command(|router, _: ClearTrace| {
        router.engine.clear_trace();
        Ok(())
    });
}

#[derive(Serialize)]
struct Thread {
    thread: usize,
    name: String,
    packets: Vec<Packet>,
    /// Packets left out.
    more: usize,
}

#[derive(Serialize)]
struct Packet {
    nodes: Vec<String>,
    text: String,
}

fn trace(router: &mut Router, max: usize) -> Result<Vec<Thread>, Error> {
    let mut threads = Vec::new();
    let time = timestamps::of(router).writer(router);
    for thread in router.traced_packets()? {
        let engine = &router.engine;
        let packets = thread.packets.iter().take(max).map(|packet| {
            let node = |visit: &(u32, f64, _)| engine.name_of(NodeIndex(visit.0)).to_owned();
            Packet {
                nodes: packet.visits.iter().map(node).collect(),
                text: packet.text_at(engine, router, &time),
            }
        });
        let more = thread.packets.len().saturating_sub(max);
        let packets = packets.collect();
        threads.push(Thread { thread: thread.id, name: thread.name, packets, more });
    }
    Ok(threads)
}

fn write_trace(rows: &[Thread], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for Thread { thread, name, packets, more } in rows {
        let line = "-------------------";
        writeln!(f, "{line} Start of thread {thread} {name} {line}")?;
        if packets.is_empty() {
            writeln!(f, "No packets in trace buffer")?;
        }
        for (i, packet) in packets.iter().enumerate() {
            writeln!(f, "Packet {}\n\n{}", i + 1, packet.text)?;
        }
        if *more > 0 {
            let shown = packets.len();
            write!(f, "Limiting display to {shown} packets.")?;
            writeln!(f, " To display more specify max.")?;
        }
    }
    Ok(())
}
