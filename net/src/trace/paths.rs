//! `show trace path…`: which ways the traced packets took, how many took each, and as a picture.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use control::cli::{Cli, Command, Error, Output};
use graph::{NodeIndex, TracedPacket};
use serde::Serialize;

use super::timestamps;
use crate::router::Router;

/// Packets of a way that are shown when nothing else is said.
const SHOWN: usize = 50;

/// Show the different ways the traced packets took through the graph.
#[derive(Command)]
#[command("show trace paths")]
struct ShowPaths {
    /// number of ways to show
    max: Option<usize>,
}

/// Show the packets that took one of these ways.
#[derive(Command)]
#[command("show trace path")]
struct ShowPackets {
    /// number of a way in `show trace paths`; all when none is given
    #[positional]
    index: Vec<usize>,
    /// number of packets to show of each way
    max: Option<usize>,
}

/// Draw the ways the traced packets took, in the language of Graphviz.
#[derive(Command)]
#[command("show trace paths graphviz")]
struct Draw {
    /// number of a way in `show trace paths`; all when none is given
    #[positional]
    index: Vec<usize>,
    /// number of ways to draw
    max: Option<usize>,
    /// write it there
    #[values("file")]
    file: Option<PathBuf>,
}

#[derive(Serialize)]
struct Path {
    /// Its number in the list of all.
    index: usize,
    packets: usize,
    nodes: Vec<String>,
    /// Texts of its packets, where they are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    texts: Vec<String>,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Paths(Vec<Path>);

impl fmt::Display for Paths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("No packets in trace buffer");
        }
        for path in &self.0 {
            writeln!(f, "Path {}: {} packets", path.index, path.packets)?;
            writeln!(f, "  {}", path.nodes.join(" -> "))?;
            for (i, text) in path.texts.iter().enumerate() {
                writeln!(f, "Packet {}\n\n{text}", i + 1)?;
            }
        }
        Ok(())
    }
}

/// Numbers of the nodes on a way.
type Way = Vec<u16>;

/// The ways with their packets, the most used first.
fn ways(router: &mut Router) -> Result<Vec<(Way, Vec<TracedPacket>)>, Error> {
    let mut ways = BTreeMap::<Way, Vec<TracedPacket>>::new();
    for thread in router.traced_packets()? {
        for packet in thread.packets {
            let way = packet.visits.iter().map(|visit| visit.0).collect();
            ways.entry(way).or_default().push(packet);
        }
    }
    let mut ways: Vec<_> = ways.into_iter().collect();
    ways.sort_by_key(|(_, packets)| std::cmp::Reverse(packets.len()));
    Ok(ways)
}

/// The first `max` of the ways that are chosen; `shown` packets of each with their texts.
fn paths(router: &mut Router, chosen: &[usize], max: usize, shown: usize) -> Result<Paths, Error> {
    let ways = ways(router)?;
    if let Some(index) = chosen.iter().find(|index| **index >= ways.len()) {
        return Err(Error::new(format!("no way has the number {index}")));
    }
    let time = timestamps::of(router).writer(router);
    let path = |(index, (nodes, packets)): (usize, (Way, Vec<TracedPacket>))| Path {
        index,
        packets: packets.len(),
        nodes: nodes.iter().map(|n| router.engine.name_of(NodeIndex(*n)).to_owned()).collect(),
        texts: packets
            .iter()
            .take(shown)
            .map(|p| p.text_at(&router.engine, router, &time))
            .collect(),
    };
    let is_chosen = |index: &usize| chosen.is_empty() || chosen.contains(index);
    let all = ways.into_iter().enumerate().filter(|(index, _)| is_chosen(index));
    Ok(Paths(all.take(max).map(path).collect()))
}

/// The nodes on the ways and the edges between them.
fn picture(paths: &Paths) -> String {
    let mut edges = BTreeMap::<(&str, &str), usize>::new();
    let mut nodes = BTreeSet::new();
    for path in &paths.0 {
        nodes.extend(path.nodes.iter().map(String::as_str));
        for pair in path.nodes.windows(2) {
            *edges.entry((&pair[0], &pair[1])).or_default() += path.packets;
        }
    }
    let mut text = "digraph trace {\n".to_owned();
    text.extend(nodes.iter().map(|node| format!("  \"{node}\"\n")));
    text.extend(
        edges.iter().map(|((from, to), packets)| {
            format!("  \"{from}\" -> \"{to}\" [label=\"{packets}\"]\n")
        }),
    );
    text + "}\n"
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, show: ShowPaths| {
        Ok(Output::of(paths(router, &[], show.max.unwrap_or(usize::MAX), 0)?))
    });
    cli.command(|router: &mut Router, show: ShowPackets| {
        let shown = show.max.unwrap_or(SHOWN);
        Ok(Output::of(paths(router, &show.index, usize::MAX, shown)?))
    });
    cli.command(|router: &mut Router, draw: Draw| {
        let paths = paths(router, &draw.index, draw.max.unwrap_or(usize::MAX), 0)?;
        let text = picture(&paths);
        match draw.file {
            None => Ok(Output::both(text, paths)),
            Some(file) => {
                std::fs::write(&file, text)?;
                let text = format!("{} paths written to {}", paths.0.len(), file.display());
                Ok(Output::both(text, paths))
            }
        }
    });
}
