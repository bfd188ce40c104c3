//! `show runtime`: activity of each thread, node and process since the counters were cleared.

use control::cli::{Cli, Command, Output, Word};
use graph::show::{Detail, ProcessRow, Runtime, ThreadRow};

use super::no_answer;
use crate::router::Router;

/// Show runtime statistics of threads, nodes and processes.
#[derive(Command)]
#[command("show runtime")]
struct ShowRuntime {
    /// accepted; the output is the same
    #[keyword("time")]
    #[alias("t")]
    _time: bool,
    /// only active nodes; the default
    #[keyword("brief")]
    #[alias("b")]
    _brief: bool,
    /// include idle nodes
    #[alias("v")]
    verbose: bool,
    /// include the longest time of each node
    #[alias("m")]
    max: bool,
    /// threads only
    #[alias("sum")]
    #[alias("su")]
    summary: bool,
    /// only this node
    #[positional]
    node: Option<Word>,
}

impl ShowRuntime {
    fn detail(&self) -> Detail {
        match self {
            Self { summary: true, .. } => Detail::Summary,
            Self { max: true, .. } => Detail::Largest,
            Self { verbose: true, .. } | Self { node: Some(_), .. } => Detail::All,
            _ => Detail::Busy,
        }
    }
}

/// Reset the counters.
#[derive(Command)]
#[command("clear runtime")]
struct ClearRuntime;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, show: ShowRuntime| {
        let detail = show.detail();
        let mut threads = router.engine.runtime_rows().map_err(no_answer)?;
        if let Some(worker) = threads.first().filter(|t| t.thread > 0) {
            // Beside workers the main thread runs processes only.
            let main = ThreadRow {
                thread: 0,
                name: "vpp_main".to_owned(),
                cpu: super::threads::only_cpu(),
                nodes: Vec::new(),
                loops: 0,
                input: 0,
                output: 0,
                drop: 0,
                punt: 0,
                ..worker.clone()
            };
            threads.insert(0, main);
        }
        let processes = router.processes.status().map(|p| ProcessRow {
            name: p.name.to_owned(),
            state: p.state.to_owned(),
            calls: p.calls,
            suspends: p.suspends,
            clocks: p.clocks,
        });
        let mut processes: Vec<_> = processes.collect();
        if let Some(node) = &show.node {
            let is_known = router.engine.index_of(node).is_some()
                || processes.iter().any(|process| process.name == **node);
            if !is_known {
                return Err(node.unknown("node"));
            }
            processes.retain(|process| process.name == **node);
            threads.iter_mut().for_each(|thread| thread.nodes.retain(|row| row.name == **node));
        }
        Ok(Output::of(Runtime { threads, processes, detail }))
    });
    cli.command(|router, _: ClearRuntime| {
        router.stats.note_clear();
        router.engine.clear_runtime();
        router.processes.clear_counters();
        Ok(())
    });
}
