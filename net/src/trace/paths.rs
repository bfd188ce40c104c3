//! `show trace paths`: which ways the traced packets took, and how many took each.

use std::collections::BTreeMap;
use std::fmt;

use control::cli::{Cli, Command, Output};
use graph::NodeIndex;
use serde::Serialize;

use crate::router::Router;

/// Show the different ways the traced packets took through the graph.
#[derive(Command)]
#[command("show trace paths")]
struct ShowPaths {
    /// number of ways to show
    max: Option<usize>,
}

#[derive(Serialize)]
struct Path {
    packets: usize,
    nodes: Vec<String>,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Paths(Vec<Path>);

impl fmt::Display for Paths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("No packets in trace buffer");
        }
        for (at, path) in self.0.iter().enumerate() {
            writeln!(f, "Path {at}: {} packets", path.packets)?;
            writeln!(f, "  {}", path.nodes.join(" -> "))?;
        }
        Ok(())
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, show: ShowPaths| {
        let mut counts = BTreeMap::<Vec<u16>, usize>::new();
        for thread in router.traced_packets()? {
            for packet in thread.packets {
                *counts.entry(packet.visits.iter().map(|v| v.0).collect()).or_default() += 1;
            }
        }
        let name = |node: u16| router.engine.name_of(NodeIndex(node)).to_owned();
        let paths = counts
            .into_iter()
            .map(|(nodes, packets)| Path { packets, nodes: nodes.into_iter().map(name).collect() });
        let mut paths: Vec<_> = paths.collect();
        paths.sort_by_key(|path| std::cmp::Reverse(path.packets));
        paths.truncate(show.max.unwrap_or(usize::MAX));
        Ok(Output::of(Paths(paths)))
    });
}
