//! `show errors`: why packets were dropped, and what else nodes counted.

use std::fmt;

use control::cli::{Cli, Command, Error, Output};
use graph::show::centered;
use serde::Serialize;

use crate::router::Router;

/// Show nonzero node counters.
#[derive(Command)]
#[command("show errors", "show node counters")]
struct ShowErrors {
    /// accepted; the output is the same
    verbose: bool,
    /// accepted, prints the same: how much of it
    #[positional]
    level: Option<u32>,
}

/// Reset the counters.
#[derive(Command)]
#[command("clear errors", "clear node counters")]
struct ClearErrors;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, show: ShowErrors| {
        let _ = (show.verbose, show.level);
        let moved = router.engine.errors().into_iter();
        let rows = moved.map(|(_, node, text, count)| Row {
            count,
            node,
            reason: text.text,
            severity: text.severity,
        });
        Ok(Output::rows(rows, write_rows))
    });
    cli.command(|router, _: ClearErrors| {
        router.stats.note_clear();
        router.engine.clear_errors();
        Ok::<(), Error>(())
    });
}

#[derive(Serialize)]
struct Row {
    count: u64,
    node: String,
    reason: &'static str,
    severity: &'static str,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let columns = |node, reason, severity| {
        let [node, reason] = [node, reason].map(|text| centered(text, 35));
        format!("{node}{reason}{}", centered(severity, 10))
    };
    writeln!(f, "{}{}", centered("Count", 10), columns("Node", "Reason", "Severity"))?;
    rows.iter().try_for_each(|row| {
        writeln!(f, "{:>10}{}", row.count, columns(&row.node, row.reason, row.severity))
    })
}
