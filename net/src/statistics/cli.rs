//! `show statistics segment`.

use std::fmt;

use control::cli::{Args, Cli, Command, Error, Output};
use control::stats::{Segment, Value};
use infra::order::Order;
use serde::Serialize;

use crate::router::Router;

/// `show statistics segment [NAME] [verbose]`.
struct ShowSegment {
    name: Option<String>,
    verbose: bool,
}

impl Command for ShowSegment {
    const PATHS: &'static [&'static str] = &["show statistics segment"];
    const ABOUT: &'static str = "Show statistics exported to other programs";
    const USAGE: &'static str = "[<counter-name>] [verbose]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut verbose = args.keyword("verbose");
        let name = args.word().map(str::to_owned);
        verbose |= args.keyword("verbose");
        Ok(Self { name, verbose })
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router, show: ShowSegment| {
        let wanted = |name: &str| show.name.as_ref().is_none_or(|part| name.contains(&**part));
        let stats = &router.stats;
        let mut rows: Vec<_> = stats
            .iter()
            .filter(|(name, _)| wanted(name))
            .map(|(name, value)| Row::of(stats, name, &value, show.verbose))
            .collect();
        rows.order_by(|a, b| a.name.cmp(&b.name));
        Ok(Output::rows(rows, write_table))
    });
}

#[derive(Serialize)]
struct Row {
    name: String,
    kind: &'static str,
    /// The number itself, or where it is.
    value: u64,
    /// Columns that are not zero, all threads together; names.
    columns: Vec<(usize, String)>,
}

impl Row {
    fn of(stats: &Segment, name: &str, value: &Value<'_>, verbose: bool) -> Self {
        let kind = match value {
            Value::Scalar(_) => "ScalarPtr",
            Value::Gauge(_) => "Gauge",
            Value::Simple(..) | Value::Combined(..) => "CMainPtr",
            Value::Names(_) => "NameVector",
            Value::Symlink(..) => "Symlink",
            Value::Histogram(..) => "Histogram",
            Value::Ring(..) => "RingBuffer",
        };
        let columns = if verbose { columns(stats, value) } else { Vec::new() };
        let place = stats.place(name).unwrap_or_default();
        Self { name: name.to_owned(), kind, value: place, columns }
    }
}

fn columns(stats: &Segment, value: &Value<'_>) -> Vec<(usize, String)> {
    let text = |column: usize| match value {
        Value::Simple(rows, _) | Value::Histogram(rows, _) => {
            let sum = rows.sum(column);
            (sum > 0).then(|| sum.to_string())
        }
        Value::Combined(rows, _) => {
            let sum = rows.sum(column);
            let text = || format!("{} packets, {} bytes", sum.packets, sum.bytes);
            (sum.packets > 0).then(text)
        }
        Value::Names(names) => names.get(column)?.map(str::to_owned),
        _ => None,
    };
    match value {
        Value::Simple(_, len) | Value::Combined(_, len) | Value::Histogram(_, len) => {
            (0..*len).filter_map(|c| Some((c, text(c)?))).collect()
        }
        Value::Names(names) => (0..names.len()).filter_map(|c| Some((c, text(c)?))).collect(),
        Value::Symlink(target, column) => {
            let target = stats.value(target).map(|value| columns(stats, &value));
            let column = *column as usize;
            target.unwrap_or_default().into_iter().filter(|c| c.0 == column).collect()
        }
        _ => Vec::new(),
    }
}

fn write_table(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{:<74} {:>10}{:>11}", "Name", "Type", "Value")?;
    for row in rows {
        writeln!(f, "{:<74.74} {:<10}{:>11}    ", row.name, row.kind, row.value)?;
        for (column, text) in &row.columns {
            writeln!(f, "  {column:>8}: {text}")?;
        }
    }
    Ok(())
}
