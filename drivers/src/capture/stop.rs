//! `capture stop`, `show captures`.

use std::fmt;

use control::cli::{Cli, Command, Error, Output, Task};
use net::Router;
use serde::Serialize;

use super::captures::{self, Captures};
use super::writer::Progress;
use crate::host::background::Pending;

/// Stop a capture.
#[derive(Command)]
#[command("capture stop")]
struct Stop {
    /// capture name; needed for more than one at a time
    #[positional]
    #[values("capture")]
    name: Option<String>,
}

/// Show captures.
#[derive(Command)]
#[command("show captures")]
struct Show;

/// A capture that has ended.
#[derive(Serialize)]
struct Stopped {
    name: String,
    to: String,
    packets: u64,
    bytes: u64,
    files: u64,
    lost: u64,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, to, packets, bytes, lost, .. } = self;
        let plural = if *packets == 1 { "" } else { "s" };
        writeln!(f, "capture {name}: {packets} packet{plural}, {bytes} bytes to {to}; {lost} lost")
    }
}

fn stop(router: &mut Router, c: Stop) -> Result<Box<dyn Task<Router>>, Error> {
    let all = router.state::<Captures>().ok_or("not available")?;
    let names: Vec<_> = all.iter().map(|(name, _)| name.clone()).collect();
    let name = match (c.name, names.as_slice()) {
        (Some(name), _) => name,
        (None, [name]) => name.clone(),
        (None, []) => return Err(captures::Error::NotRunning.into()),
        (None, _) => return Err("expected the name of a capture".into()),
    };
    let stop = |all: &mut Captures, router: &mut Router| all.stop(router, &name);
    let (ended, written) = router.with(stop).ok_or("not available")??;
    Ok(Box::new(Pending::new(written, move |_: &mut Router, written| {
        let failed = written.map_err(captures::Error::from)?;
        let (Progress { packets, bytes, files, .. }, lost) = ended.progress();
        // A reader that has enough closes the connection.
        if !matches!(failed, Err(captures::Error::NoReader)) {
            failed?;
        }
        Ok(Output::of(Stopped { name, to: ended.to, packets, bytes, files, lost }))
    })))
}

#[derive(Serialize)]
struct Row {
    name: String,
    what: String,
    interfaces: Vec<String>,
    filter: String,
    to: String,
    /// Copies that found no room on their way to the file.
    lost: u64,
    #[serde(flatten)]
    progress: Progress,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if rows.is_empty() {
        return writeln!(f, "no captures");
    }
    for row in rows {
        let state = match &row.progress.ended {
            Some(why) => format!("ended: {why}"),
            None => "running".to_owned(),
        };
        writeln!(f, "{}: {state}", row.name)?;
        writeln!(f, "  of {}", row.what)?;
        if !row.interfaces.is_empty() {
            writeln!(f, "  interfaces {}", row.interfaces.join(", "))?;
        }
        if !row.filter.is_empty() {
            writeln!(f, "  filter {}", row.filter)?;
        }
        let Progress { packets, bytes, files, .. } = row.progress;
        writeln!(f, "  to {}, files {files}", row.to)?;
        writeln!(f, "  packets {packets}, bytes {bytes}, lost {}", row.lost)?;
    }
    Ok(())
}

fn show(router: &Router) -> Result<Output, Error> {
    let all = router.state::<Captures>().ok_or("not available")?;
    let row = |(name, capture): (&String, &captures::Capture)| {
        let (progress, lost) = capture.progress();
        let interfaces = capture.interfaces().iter();
        Row {
            name: name.clone(),
            what: capture.what.clone(),
            interfaces: interfaces.map(|i| router.interfaces.name(i.0).to_owned()).collect(),
            filter: capture.filter.clone(),
            to: capture.to.clone(),
            lost,
            progress,
        }
    };
    Ok(Output::rows(all.iter().map(row), write_rows))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.task(stop);
    cli.command(|router: &mut Router, _: Show| show(router));
    cli.values("capture", |router: &Router| {
        let all = router.state::<Captures>();
        all.into_iter().flat_map(Captures::iter).map(|(name, _)| name.clone()).collect()
    });
}
