//! Paths of traced packets through the graph: their nodes, how many packets took each, and a
//! picture of them. Read from the trace each time; nothing is kept beside it.
#![forbid(unsafe_code)]

mod api;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;

use control::cli::io_text;
use control::private_file;
use graph::{NodeIndex, TracedPacket};
use net::prelude::*;
use net::trace::timestamps;

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
    /// path number in `show trace paths`
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
    id: u64,
    packets: usize,
    threads: Vec<u32>,
    nodes: Vec<String>,
    /// Texts of its packets, where they are asked for, after the thread that each began on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    texts: Vec<(String, String)>,
    /// Whether more packets took it than have texts.
    #[serde(skip)]
    has_more: bool,
}

impl Path {
    fn threads(&self) -> String {
        let all: Vec<_> = self.threads.iter().map(ToString::to_string).collect();
        format!("Threads: [{}]", all.join(", "))
    }
    /// The line of a list of paths.
    fn summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, id, packets, nodes, .. } = self;
        write!(f, "  [{index}] Count: {packets}  ID: {id:#018x}  Length: {:2}  ", nodes.len())?;
        writeln!(f, "{}\n      Path: {}\n", self.threads(), nodes.join(" -> "))
    }
    /// Its packets, thread by thread.
    fn details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{0} Path [{1}] {0}", "=".repeat(20), self.index)?;
        writeln!(f, "Path: {}", self.nodes.join(" -> "))?;
        writeln!(f, "{}  Count: {}", self.threads(), self.packets)?;
        let mut last = None;
        for (i, (thread, text)) in self.texts.iter().enumerate() {
            if last.replace(thread) != Some(thread) {
                writeln!(f, "\n--- Thread {thread} ---")?;
            }
            writeln!(f, "Packet {}\n\n{text}", i + 1)?;
        }
        match self.has_more {
            true => {
                let shown = self.texts.len();
                writeln!(f, "Limiting display to {shown} packets. To display more specify max.")
            }
            false => Ok(()),
        }
    }
}

/// Part of the paths that is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Their nodes, of so many paths in all.
    Nodes(usize),
    Packets,
    /// Nothing, as none is named.
    None,
}

fn write_paths(paths: &[Path], part: Part, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let all = match part {
        Part::None => {
            let hint = "Use 'show trace paths' to see available paths.";
            return write!(f, "path index required. {hint}");
        }
        Part::Packets if paths.is_empty() => {
            return f.write_str("No traces found for requested path indices");
        }
        Part::Packets => return paths.iter().try_for_each(|path| path.details(f)),
        Part::Nodes(all) => all,
    };
    if paths.is_empty() {
        return f.write_str("\nNo trace paths found");
    }
    let shown = paths.len();
    writeln!(f, "\nFound {all} unique paths across all threads (showing top {shown}):\n")?;
    paths.iter().try_for_each(|path| path.summary(f))?;
    match all - shown {
        0 => Ok(()),
        more => writeln!(f, "  ... {more} more paths not shown (use 'max' to see more)"),
    }
}

fn shown(paths: Vec<Path>, part: Part) -> Output {
    Output::rows(paths, move |paths, f| write_paths(paths, part, f))
}

/// Packets traced on one path.
#[derive(Default)]
struct Traced {
    /// Names of its nodes, in the order of the visits.
    nodes: Vec<String>,
    /// Each with the thread that it began on.
    packets: Vec<(String, TracedPacket)>,
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
            path.packets.push((format!("{} {}", thread.id, thread.name), packet));
        }
    }
    let name = |node: &u32| router.engine.name_of(NodeIndex(*node)).to_owned();
    let named = |(nodes, path): (Vec<u32>, Traced)| Traced {
        nodes: nodes.iter().map(name).collect(),
        ..path
    };
    let mut paths: Vec<_> = paths.into_iter().map(named).collect();
    paths.order_by_key(|path| std::cmp::Reverse(path.packets.len()));
    Ok(paths)
}

/// The first `max` of the paths that are chosen; `shown` packets of each with their texts.
fn paths(
    router: &mut Router,
    chosen: &[usize],
    max: usize,
    shown: usize,
) -> Result<(Vec<Path>, Part), Error> {
    let traced = traced(router)?;
    let count = traced.len();
    let time = timestamps::of(router).writer(router);
    let path = |(index, traced): (usize, Traced)| {
        let text = |p: &TracedPacket| p.text_at(&router.engine, router, &time);
        let first = traced.packets.iter().take(shown);
        Path {
            index,
            id: traced.id(),
            packets: traced.packets.len(),
            threads: (0..u64::BITS).filter(|id| traced.threads >> id & 1 > 0).collect(),
            texts: first.map(|(thread, p)| (thread.clone(), text(p))).collect(),
            has_more: traced.packets.len() > shown,
            nodes: traced.nodes,
        }
    };
    let is_chosen = |index: &usize| chosen.is_empty() || chosen.contains(index);
    let all = traced.into_iter().enumerate().filter(|(index, _)| is_chosen(index));
    let part = if shown > 0 { Part::Packets } else { Part::Nodes(count) };
    Ok((all.take(max).map(path).collect(), part))
}

/// The nodes on the paths and the edges between them.
fn picture(paths: &[Path]) -> String {
    let mut edges = BTreeMap::<(&str, &str), usize>::new();
    let mut nodes = BTreeSet::new();
    for path in paths {
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
        let (paths, part) = paths(router, &[], show.max.unwrap_or(usize::MAX), 0)?;
        Ok(shown(paths, part))
    });
    cli.command(|router: &mut Router, show: ShowPackets| {
        if show.index.is_empty() {
            return Ok(shown(Vec::new(), Part::None));
        }
        let most = show.max.unwrap_or(SHOWN);
        let (paths, part) = paths(router, &show.index, usize::MAX, most)?;
        Ok(shown(paths, part))
    });
    cli.command(|router: &mut Router, draw: Draw| {
        let (paths, _) = paths(router, &draw.index, draw.max.unwrap_or(usize::MAX), 0)?;
        let text = picture(&paths);
        match draw.file {
            None => Ok(Output::both(text, paths)),
            Some(file) => {
                let written = private_file::replace(&file, |old| old.starts_with(b"digraph "))
                    .and_then(|mut new| new.write_all(text.as_bytes()));
                written
                    .map_err(|e| Error::new(format!("`{}': {}", file.display(), io_text(&e))))?;
                let text = format!("{} paths written to {}", paths.len(), file.display());
                Ok(Output::both(text, paths))
            }
        }
    });
}
