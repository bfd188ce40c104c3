//! `show files` and `show unix errors`: the process in its system.

use std::fmt;
use std::fs;

use control::cli::{Cli, Command, Error, Output};
use control::log::Level;
use infra::order::Order;
use serde::Serialize;

use crate::router::Router;

/// Show open files, sockets and devices.
#[derive(Command)]
#[command("show files")]
struct ShowFiles;

/// Show system call failures recorded in the log.
#[derive(Command)]
#[command("show unix errors")]
struct ShowErrors;

#[derive(Serialize)]
struct File {
    descriptor: u32,
    target: String,
}

fn write_files(rows: &[File], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{:>3} File Name", "FD")?;
    rows.iter().try_for_each(|file| writeln!(f, "{:>3} {}", file.descriptor, file.target))
}

fn write_errors(rows: &[String], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if rows.is_empty() {
        return writeln!(f, "no Unix errors so far");
    }
    rows.iter().try_for_each(|line| writeln!(f, "{line}"))
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|_, _: ShowFiles| -> Result<_, Error> { Ok(Output::rows(files()?, write_files)) });
    cli.command(|router, _: ShowErrors| -> Result<_, Error> {
        let entries = router.log.entries();
        let failed = entries.iter().filter(|e| e.level <= Level::Error);
        Ok(Output::rows(failed.map(ToString::to_string), write_errors))
    });
}

fn files() -> Result<Vec<File>, Error> {
    let entries = fs::read_dir("/proc/self/fd")?.flatten();
    let file = |entry: fs::DirEntry| {
        let descriptor = entry.file_name().to_str()?.parse().ok()?;
        // What is gone again is this list's own.
        let target = fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned();
        Some(File { descriptor, target })
    };
    let mut files: Vec<_> = entries.filter_map(file).collect();
    files.order_by_key(|file| file.descriptor);
    Ok(files)
}
