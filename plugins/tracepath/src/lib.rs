//! Paths of traced packets through the graph: their nodes, how many packets took each, and a
//! picture of them. Read from the trace each time; nothing is kept beside it.
#![forbid(unsafe_code)]

mod api;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;

use control::cli::{Cli, Command, Error, Output, io_text};
use control::feature::Refused;
use control::private_file;
use graph::{NodeIndex, TracedPacket};
use net::trace::timestamps;
use net::{Configuration, Feature, Origin, Parts, Router};
use serde::Serialize;

pub use api::{TracePathNode, TracepathDetails, TracepathDump};

/// Paths of traced packets.
pub const FEATURE: Feature = Feature {
    name: "tracepath",
    about: "Display traces based on packet paths",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["trace"],
    register,
    configuration: Configuration::None("packets are traced for a while"),
};

/// Packets of a path that are shown when nothing else is said.
const SHOWN: usize = 50;

/// Show the distinct paths of traced packets through the graph.
#[derive(Command)]
#[command("show trace paths")]
struct ShowPaths {
    /// maximum number of paths
    max: Option<usize>,
}

/// Show the packets of selected paths.
#[derive(Command)]
#[command("show trace path")]
struct ShowPackets {
    /// path number in `show trace paths`; default all
    #[positional]
    index: Vec<usize>,
    /// maximum packets per path
    max: Option<usize>,
}

/// Print the paths of traced packets for Graphviz.
#[derive(Command)]
#[command("show trace paths graphviz")]
struct Draw {
    /// path number in `show trace paths`; default all
    #[positional]
    index: Vec<usize>,
    /// maximum number of paths
    max: Option<usize>,
    /// write it to this file
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

/// Packets traced on one path.
#[derive(Default)]
struct Traced {
    /// Names of its nodes, in the order of the visits.
    nodes: Vec<String>,
    packets: Vec<TracedPacket>,
    /// Threads that packets began on, the first 64 as bits.
    threads: u64,
}

impl Traced {
    /// A number that this path has as long as its nodes have their names.
    fn id(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.nodes.hash(&mut hasher);
        hasher.finish()
    }
}

/// All paths, the most used first.
fn traced(router: &mut Router) -> Result<Vec<Traced>, Error> {
    let mut paths = BTreeMap::<Vec<u32>, Traced>::new();
    for thread in router.traced_packets()? {
        for packet in thread.packets {
            let nodes = packet.visits.iter().map(|visit| visit.0).collect();
            let path = paths.entry(nodes).or_default();
            path.threads |= 1u64.checked_shl(thread.id as u32).unwrap_or(0);
            path.packets.push(packet);
        }
    }
    let name = |node: &u32| router.engine.name_of(NodeIndex(*node)).to_owned();
    let named = |(nodes, path): (Vec<u32>, Traced)| Traced {
        nodes: nodes.iter().map(name).collect(),
        ..path
    };
    let mut paths: Vec<_> = paths.into_iter().map(named).collect();
    paths.sort_by_key(|path| std::cmp::Reverse(path.packets.len()));
    Ok(paths)
}

/// The first `max` of the paths that are chosen; `shown` packets of each with their texts.
fn paths(router: &mut Router, chosen: &[usize], max: usize, shown: usize) -> Result<Paths, Error> {
    let traced = traced(router)?;
    if let Some(index) = chosen.iter().find(|index| **index >= traced.len()) {
        return Err(Error::new(format!("no path {index}")));
    }
    let time = timestamps::of(router).writer(router);
    let path = |(index, Traced { nodes, packets, .. })| Path {
        index,
        packets: packets.len(),
        nodes,
        texts: packets
            .iter()
            .take(shown)
            .map(|p| p.text_at(&router.engine, router, &time))
            .collect(),
    };
    let is_chosen = |index: &usize| chosen.is_empty() || chosen.contains(index);
    let all = traced.into_iter().enumerate().filter(|(index, _)| is_chosen(index));
    Ok(Paths(all.take(max).map(path).collect()))
}

/// The nodes on the paths and the edges between them.
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

fn register(parts: &mut Parts) -> Result<(), Refused> {
    commands(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}

fn commands(cli: &mut Cli<Router>) {
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
                let written = private_file::replace(&file, |old| old.starts_with(b"digraph "))
                    .and_then(|mut new| new.write_all(text.as_bytes()));
                written
                    .map_err(|e| Error::new(format!("`{}': {}", file.display(), io_text(&e))))?;
                let text = format!("{} paths written to {}", paths.0.len(), file.display());
                Ok(Output::both(text, paths))
            }
        }
    });
}
