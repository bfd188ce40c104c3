//! `show runtime`: what each thread, node and process did since the counters were cleared.

use control::cli::{Cli, Command, Output};
use graph::show::{Detail, ProcessRow, Runtime, ThreadRow};

use super::no_answer;
use crate::router::Router;

/// Show what threads, nodes and processes did.
#[derive(Command)]
#[command("show runtime")]
struct ShowRuntime {
    /// accepted, prints the same
    #[keyword("time")]
    #[alias("t")]
    _time: bool,
    /// nodes that did something, the default
    #[keyword("brief")]
    #[alias("b")]
    _brief: bool,
    /// nodes that did nothing, too
    #[alias("v")]
    verbose: bool,
    /// the longest time each node took
    #[alias("m")]
    max: bool,
    /// threads only
    #[alias("sum")]
    #[alias("su")]
    summary: bool,
}

impl ShowRuntime {
    fn detail(&self) -> Detail {
        match self {
            Self { summary: true, .. } => Detail::Summary,
            Self { max: true, .. } => Detail::Largest,
            Self { verbose: true, .. } => Detail::All,
            _ => Detail::Busy,
        }
    }
}

/// Start counting anew.
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
        Ok(Output::of(Runtime { threads, processes: processes.collect(), detail }))
    });
    cli.command(|router, _: ClearRuntime| {
        router.stats.note_clear();
        router.engine.clear_runtime();
        router.processes.clear_counters();
        Ok(())
    });
}
