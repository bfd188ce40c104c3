//! `trace add`, `show trace`, `clear trace`: the way of single packets through the graph.

use std::fmt;

use control::cli::{Args, Cli, Command, Error, Output};
use graph::NodeIndex;
use serde::Serialize;

use super::no_answer;
use crate::router::Router;

/// Packets that `show trace` shows when it is not told how many.
const SHOWN: usize = 50;

/// `trace add NODE COUNT`.
struct TraceAdd {
    node: String,
    count: u32,
    /// What was typed, for errors.
    typed: String,
}

impl TraceAdd {
    fn refused(&self) -> Error {
        Error::new(format!("expected NODE COUNT, got `{}'", self.typed))
    }
}

impl Command for TraceAdd {
    const PATHS: &'static [&'static str] = &["trace add"];
    const ABOUT: &'static str = "Trace the next packets that an input node brings in";
    const USAGE: &'static str = "<input node> <count> [verbose] [filter]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let typed = args.remaining().to_owned();
        let node = args.word().unwrap_or_default().to_owned();
        let count = args.optional();
        // Accepted: there is one form of trace, and no filter to pass.
        args.keyword("verbose");
        args.keyword("filter");
        let command = Self { node, count: count.unwrap_or_default(), typed };
        if count.is_none() { Err(command.refused()) } else { Ok(command) }
    }
}

/// Show the traced packets.
#[derive(Command)]
#[command("show trace")]
struct ShowTrace {
    /// number of packets to show
    max: Option<usize>,
}

/// Forget the traced packets and trace no more.
#[derive(Command)]
#[command("clear trace")]
struct ClearTrace;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, add: TraceAdd| {
        let node = router.engine.index_of(&add.node).ok_or_else(|| add.refused())?;
        if !router.engine.is_input(node) {
            let name = &add.node;
            return Err(Error::new(format!(
                "node '{name}' brings no packets in: trace one that does"
            )));
        }
        router.engine.trace(node, add.count);
        Ok(())
    });
    cli.command(|router, show: ShowTrace| {
        Ok(Output::of(trace(router, show.max.unwrap_or(SHOWN))?))
    });
    cli.command(|router, _: ClearTrace| {
        router.engine.clear_trace();
        Ok(())
    });
}

#[derive(Serialize)]
#[serde(transparent)]
struct Trace(Vec<Thread>);

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

fn trace(router: &mut Router, max: usize) -> Result<Trace, Error> {
    let infos = router.engine.thread_infos();
    let mut threads = Vec::new();
    for at in router.engine.data_threads() {
        let traced = router.engine.traced(at).map_err(no_answer)?;
        let engine = &router.engine;
        let packets = traced.iter().take(max).map(|packet| {
            let node = |visit: &(u16, f64, _)| engine.name_of(NodeIndex(visit.0)).to_owned();
            Packet {
                nodes: packet.visits.iter().map(node).collect(),
                text: packet.text(engine, router),
            }
        });
        let (thread, name) = match infos.iter().find(|info| info.id == at) {
            Some(info) => (info.id, info.name.clone()),
            None => (at, "vpp_main".to_owned()),
        };
        let more = traced.len().saturating_sub(max);
        threads.push(Thread { thread, name, packets: packets.collect(), more });
    }
    Ok(Trace(threads))
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Thread { thread, name, packets, more } in &self.0 {
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
}
