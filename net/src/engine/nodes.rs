//! `show node` and `show vlib graph`: the nodes and what leads where.

use std::fmt;
use std::io::Write;

use control::cli::{Args, Cli, Command, Error, Output, Word, io_text};
use control::private_file;
use graph::show::{EdgeCount, GraphRows, NodeDetail, state_text};
use graph::{InputState, NodeIndex};
use infra::cpu::Variant;
use infra::order::Order;
use serde::Serialize;

use super::no_answer;
use crate::router::Router;

/// `show node [index] NAME|NUMBER`.
struct ShowNode(String);

impl Command for ShowNode {
    const PATHS: &'static [&'static str] = &["show node"];
    const ABOUT: &'static str = "Show a node with its next and previous nodes";
    const USAGE: &'static str = "{<node> | index <number>} [verbose]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut node = None;
        while !args.is_empty() {
            // Accepted: all is shown.
            if args.keyword("verbose") || args.keyword("index") {
                continue;
            }
            if node.is_some() {
                return Err(args.unknown());
            }
            node = Some(args.value("node")?);
        }
        node.map(Self).ok_or_else(|| Error::new("missing node"))
    }
}

/// Show the CPU variants of node code, and how many nodes run each.
#[derive(Command)]
#[command("show node variants")]
struct ShowVariants;

/// Select the CPU variant of a node.
#[derive(Command)]
#[command("set node function")]
struct SetVariant {
    /// node name
    #[positional]
    node: String,
    /// a variant listed by `show node variants`
    #[positional]
    variant: Word,
}

#[derive(Serialize)]
struct VariantRow {
    name: &'static str,
    priority: u32,
    /// Nodes that run it.
    nodes: usize,
    description: &'static str,
}

fn write_variants(rows: &[VariantRow], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{:<16}{:>9}{:>7}  Description", "Name", "Priority", "Nodes")?;
    rows.iter().try_for_each(|v| {
        writeln!(f, "{:<16}{:>9}{:>7}  {}", v.name, v.priority, v.nodes, v.description)
    })
}

/// Show the graph: nodes with next and previous nodes.
#[derive(Command)]
#[command("show vlib graph")]
struct ShowVlibGraph {
    /// only this node
    #[positional]
    #[values("node")]
    node: Option<String>,
}

/// Print the node graph for Graphviz.
#[derive(Command)]
#[command("show vlib graphviz")]
struct Draw {
    /// only edges that packets took, and their nodes
    filter: bool,
    /// label edges with their packets
    #[alias("calls")]
    vectors: bool,
    /// may stand before the file
    #[keyword("file")]
    _keyword: bool,
    /// write it to this file
    #[positional]
    file: Option<std::path::PathBuf>,
}

/// The nodes and their edges.
fn picture(details: &[NodeDetail], draw: &Draw) -> String {
    let mut text = "digraph nodes {\n".to_owned();
    for node in details {
        let mut edges = node.next.iter().filter(|edge| !draw.filter || edge.vectors > 0).peekable();
        if node.kind == "input" && (edges.peek().is_some() || !draw.filter) {
            text += &format!("  \"{}\" [shape=box]\n", node.name);
        }
        for EdgeCount { name, vectors, .. } in edges {
            let label = if draw.vectors { format!(" [label={vectors}]") } else { String::new() };
            text += &format!("  \"{}\" -> \"{name}\"{label}\n", node.name);
        }
    }
    text + "}\n"
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.values("node", |router: &Router| {
        router.engine.node_names().map(|(_, name)| name.to_owned()).collect()
    });
    cli.command(|router, ShowNode(name): ShowNode| {
        let index = find(router, &name)?;
        Ok(Output::of(details(router, &[index])?.remove(0)))
    });
    cli.command(|router, _: ShowVariants| -> Result<_, Error> {
        let nodes: Vec<_> = router.engine.node_names().map(|(index, _)| index).collect();
        let row = |v: Variant| VariantRow {
            name: v.name(),
            priority: v.priority(),
            nodes: nodes.iter().filter(|n| router.engine.variant_of(**n) == v).count(),
            description: v.description(),
        };
        let supported = Variant::ALL.into_iter().filter(|variant| variant.is_supported());
        Ok(Output::rows(supported.map(row), write_variants))
    });
    cli.values("variant", |_| {
        let supported = Variant::ALL.into_iter().filter(|variant| variant.is_supported());
        supported.map(|variant| variant.name().to_owned()).collect()
    });
    cli.command(|router, set: SetVariant| {
        let node = find(router, &set.node)?;
        let variant = Variant::from_name(&set.variant);
        match variant.is_some_and(|variant| router.engine.set_variant(node, variant)) {
            true => Ok(()),
            false => Err(set.variant.unknown("variant")),
        }
    });
    cli.command(|router, draw: Draw| {
        let details = details(router, &sorted(router))?;
        let text = picture(&details, &draw);
        let Some(file) = draw.file else { return Ok(Output::both(text, details)) };
        let written = private_file::replace(&file, |old| old.starts_with(b"digraph "))
            .and_then(|mut new| new.write_all(text.as_bytes()));
        written.map_err(|e| Error::new(format!("`{}': {}", file.display(), io_text(&e))))?;
        let count = details.len();
        Ok(Output::both(format!("{count} nodes written to {}", file.display()), details))
    });
    cli.command(|router, show: ShowVlibGraph| {
        let nodes = match show.node {
            Some(name) => vec![find(router, &name)?],
            None => sorted(router),
        };
        Ok(Output::of(GraphRows(details(router, &nodes)?)))
    });
}

/// The node of a name or number.
pub(super) fn find(router: &Router, name: &str) -> Result<NodeIndex, Error> {
    let by_number = || {
        let index = NodeIndex(name.parse().ok()?);
        (!router.engine.name_of(index).is_empty()).then_some(index)
    };
    let found = router.engine.index_of(name).or_else(by_number);
    found.ok_or_else(|| Error::new(format!("unknown node name: '{name}'")))
}

fn sorted(router: &Router) -> Vec<NodeIndex> {
    let mut nodes: Vec<_> = router.engine.node_names().collect();
    nodes.order_by_key(|node| node.1);
    nodes.into_iter().map(|node| node.0).collect()
}

fn details(router: &mut Router, nodes: &[NodeIndex]) -> Result<Vec<NodeDetail>, Error> {
    let mut sources = router.engine.sources_of(nodes);
    let mut detail = |index| detail(router, index, sources.remove(&index).unwrap_or_default());
    nodes.iter().map(|index| detail(*index)).collect()
}

fn detail(
    router: &mut Router,
    index: NodeIndex,
    sources: Vec<NodeIndex>,
) -> Result<NodeDetail, Error> {
    let engine = &mut router.engine;
    let next = engine.edge_counts(index).map_err(no_answer)?;
    let is_input = engine.is_input(index);
    // Beside workers thread 0 runs no nodes; where one is active it may be on any.
    let mut state = None;
    for thread in engine.data_threads().filter(|_| is_input) {
        let here = engine.input_state(thread, index).map_err(no_answer)?;
        state = state.filter(|s| *s != InputState::Disabled).or(here);
    }
    let active = engine.variant_of(index);
    let supported = Variant::ALL.into_iter().filter(|variant| variant.is_supported());
    let row = |v: Variant| (v.name(), v.priority(), v == active, v.description());
    Ok(NodeDetail {
        name: engine.name_of(index).to_owned(),
        kind: if is_input { "input" } else { "internal" },
        state: state_text(state),
        index: index.0,
        variants: supported.map(row).collect(),
        next,
        previous: sources.into_iter().map(|i| (engine.name_of(i).to_owned(), i.0)).collect(),
    })
}
