//! `show unix files`: the descriptors that the process has open.

use std::fmt;
use std::fs;

use control::cli::{Cli, Command, Output};
use infra::order::Order;
use net::Router;
use serde::Serialize;

/// Show the router's open files and sockets.
#[derive(Command)]
#[command("show unix files")]
struct ShowFiles;

#[derive(Serialize)]
struct Row {
    descriptor: u32,
    file: String,
}

fn write_table(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{:<12}File", "Descriptor")?;
    rows.iter().try_for_each(|row| writeln!(f, "{:<12}{}", row.descriptor, row.file))
}

pub fn register(cli: &mut Cli<Router>) {
    cli.command(|_: &mut Router, _: ShowFiles| Ok(Output::rows(open(), write_table)));
}

/// All of them in order, but for the one that this looks with.
fn open() -> Vec<Row> {
    let files = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let row = |entry: fs::DirEntry| {
        let descriptor = entry.file_name().to_str()?.parse().ok()?;
        let file = fs::read_link(entry.path()).ok()?.display().to_string();
        Some(Row { descriptor, file })
    };
    let mut rows: Vec<_> = files.filter_map(row).collect();
    rows.retain(|row| !row.file.starts_with("/proc/"));
    rows.order_by_key(|row| row.descriptor);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_files_are_listed() {
        let file = fs::File::open("/dev/null").unwrap();
        assert!(open().iter().any(|row| row.file == "/dev/null"));
        drop(file);
        assert!(!open().iter().any(|row| row.file.starts_with("/proc/self")));
    }
}
