//! `graph_node_get` of the module `graph` and `show graph`: nodes by number, name or property.

use std::fmt;

use control::api::{Api, Message, Retval, Text};
use control::cli::{Args, Cli, Command, Error, Output};
use graph::NodeIndex;
use serde::Serialize;

use super::nodes::find;
use crate::router::Router;

/// A number that means none.
const NONE: u32 = u32::MAX;

control::numbers! {
    /// Node properties.
    enum NodeFlag: u32 = "node_flag" in "" {
        NO_FREE = 1 => "NODE_FLAG_FRAME_NO_FREE_AFTER_DISPATCH",
        IS_OUTPUT = 2 => "NODE_FLAG_IS_OUTPUT",
        IS_DROP = 4 => "NODE_FLAG_IS_DROP",
        IS_PUNT = 8 => "NODE_FLAG_IS_PUNT",
        IS_HANDOFF = 16 => "NODE_FLAG_IS_HANDOFF",
        TRACE = 32 => "NODE_FLAG_TRACE",
        TO_POLLING = 64 => "NODE_FLAG_SWITCH_FROM_INTERRUPT_TO_POLLING_MODE",
        TO_INTERRUPT = 128 => "NODE_FLAG_SWITCH_FROM_POLLING_TO_INTERRUPT_MODE",
        TRACE_SUPPORTED = 256 => "NODE_FLAG_TRACE_SUPPORTED",
    }
}

/// List nodes: one by index or name, or all with any of the given properties.
#[derive(Message)]
#[stream(GraphNodeDetails, GraphNodeGetReply)]
#[option(
    "vat_help",
    "graph_node_dump [start <cursor>] [node_index <index>]|[node_name <name>]|[flags]"
)]
struct GraphNodeGet {
    /// 0, or the cursor from the previous reply
    cursor: u32,
    /// node index; 4294967295 for any
    index: u32,
    /// node name; empty for any
    name: Text<64>,
    /// properties, any of which must match; 0 for any node
    flags: NodeFlag,
    /// include edges
    want_arcs: bool,
}

/// End of the list.
#[derive(Message)]
struct GraphNodeGetReply {
    /// cursor for the next request; 4294967295 at the end
    cursor: u32,
}

/// A node.
#[derive(Message)]
struct GraphNodeDetails {
    index: u32,
    name: Text<64>,
    flags: NodeFlag,
    /// indexes of the next nodes
    #[counted(n_arcs: u32)]
    arcs_out: Vec<u32>,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("graph", "1.0.0").stream_rows(
        // The cursor is about several.
        |m: &GraphNodeGet| if (m.index, &*m.name) == (NONE, "") { m.cursor } else { 0 },
        |router, m, piece| {
            let row = |node| row(router, node, m.want_arcs);
            if let Some(node) = one(router, m)? {
                piece.offer(node.0, || row(node));
                return Ok(());
            }
            let has = |node: &NodeIndex| m.flags.0 == 0 || flags(router, *node).0 & m.flags.0 != 0;
            let mut nodes = router.engine.node_names().map(|(node, _)| node).filter(has);
            nodes.all(|node| piece.offer(node.0, || row(node)));
            Ok(())
        },
        |cursor| GraphNodeGetReply { cursor },
    );
}

/// Properties as words of the command line.
const WORDS: [(&str, NodeFlag); 9] = [
    ("input", NodeFlag::TRACE_SUPPORTED),
    ("trace_supported", NodeFlag::TRACE_SUPPORTED),
    ("drop", NodeFlag::IS_DROP),
    ("output", NodeFlag::IS_OUTPUT),
    ("punt", NodeFlag::IS_PUNT),
    ("handoff", NodeFlag::IS_HANDOFF),
    ("no_free", NodeFlag::NO_FREE),
    ("polling", NodeFlag::TO_POLLING),
    ("interrupt", NodeFlag::TO_INTERRUPT),
];

/// `show graph`.
struct ShowGraph {
    node: Option<String>,
    want_arcs: bool,
    flags: NodeFlag,
}

impl Command for ShowGraph {
    const PATHS: &'static [&'static str] = &["show graph"];
    const ABOUT: &'static str = "Show nodes: one, or those with any of the given properties";
    const USAGE: &'static str = "[node [<node>]] [want_arcs] [input|trace_supported] [drop] \
        [output] [punt] [handoff] [no_free] [polling] [interrupt]";

    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let mut show = Self { node: None, want_arcs: false, flags: NodeFlag(0) };
        while let Some(word) = args.peek() {
            let place = *args;
            args.word();
            let is_option = |word| word == "want_arcs" || WORDS.iter().any(|w| w.0 == word);
            if let Some((_, flag)) = WORDS.iter().find(|w| w.0 == word) {
                show.flags.0 |= flag.0;
            } else if word == "want_arcs" {
                show.want_arcs = true;
            } else if word != "node" {
                return Err(place.error("unknown input"));
            } else if !args.peek().is_none_or(is_option) {
                show.node = args.word().map(str::to_owned);
            }
        }
        Ok(show)
    }
}

/// A node of `show graph`.
#[derive(Serialize)]
struct Row {
    index: u32,
    name: String,
    flags: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arcs: Vec<Arc>,
}

/// The node at the end of an edge.
#[derive(Serialize)]
struct Arc {
    index: u32,
    name: String,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{:<8}{:<40}Flags", "Index", "Node")?;
    for row in rows {
        let line = format!("{:<8}{:<40}{}", row.index, row.name, row.flags.join(" "));
        writeln!(f, "{}", line.trim_end())?;
        for (edge, arc) in row.arcs.iter().enumerate() {
            writeln!(f, "  {:<6}  -> {} ({})", format!("[{edge}]"), arc.name, arc.index)?;
        }
    }
    Ok(())
}

pub(super) fn register_command(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, show: ShowGraph| -> Result<_, Error> {
        let nodes = match &show.node {
            Some(name) => vec![find(router, name)?],
            None => router.engine.node_names().map(|(node, _)| node).collect(),
        };
        let nodes = nodes.into_iter().map(|node| (node, flags(router, node)));
        let has = |flags: NodeFlag| show.flags.0 == 0 || flags.0 & show.flags.0 != 0;
        let rows = nodes.filter(|(_, flags)| show.node.is_some() || has(*flags));
        let name = |node| router.engine.name_of(node).to_owned();
        // Of the two words for one property the first.
        let words = || WORDS.iter().filter(|word| word.0 != "trace_supported");
        let row = |(node, flags): (NodeIndex, NodeFlag)| Row {
            index: node.0,
            name: name(node),
            flags: words().filter(|w| flags.0 & w.1.0 != 0).map(|w| w.0).collect(),
            arcs: match show.want_arcs {
                true => router.engine.next_of(node),
                false => Vec::new(),
            }
            .into_iter()
            .map(|node| Arc { index: node.0, name: name(node) })
            .collect(),
        };
        Ok(Output::rows(rows.map(row), write_rows))
    });
}

/// The node with the number or name asked for; `None` when neither is given.
fn one(router: &Router, m: &GraphNodeGet) -> Result<Option<NodeIndex>, Retval> {
    let engine = &router.engine;
    let found = match (m.index, &*m.name) {
        (NONE, "") => return Ok(None),
        (NONE, name) => engine.index_of(name),
        (index, _) => engine.node_names().map(|n| n.0).find(|n| n.0 == index),
    };
    found.map(Some).ok_or(Retval::NO_SUCH_NODE)
}

fn row(router: &Router, node: NodeIndex, with_edges: bool) -> GraphNodeDetails {
    let next = if with_edges { router.engine.next_of(node) } else { Vec::new() };
    GraphNodeDetails {
        index: node.0,
        name: router.engine.name_of(node).into(),
        flags: flags(router, node),
        arcs_out: next.into_iter().map(|node| node.0).collect(),
    }
}

fn flags(router: &Router, node: NodeIndex) -> NodeFlag {
    let name = router.engine.name_of(node);
    let is_output = router.interfaces.iter().any(|i| i.output == node || i.tx == node);
    NodeFlag(0)
        .with(NodeFlag::IS_OUTPUT, is_output)
        .with(NodeFlag::IS_DROP, matches!(name, "drop" | "error-drop"))
        .with(NodeFlag::IS_PUNT, matches!(name, "punt" | "error-punt"))
        .with(NodeFlag::IS_HANDOFF, name.ends_with("-handoff"))
        .with(NodeFlag::TRACE_SUPPORTED, router.engine.starts_traces(node))
}

#[cfg(test)]
mod tests {
    use control::api::STREAM_PIECE;

    use super::super::tests::bench;
    use super::*;

    fn ask(index: u32, name: &str, flags: NodeFlag) -> GraphNodeGet {
        GraphNodeGet { cursor: 0, index, name: name.into(), flags, want_arcs: true }
    }

    #[test]
    fn nodes_are_found_by_number_name_and_property() {
        let mut b = bench();
        b.talk(|local, router| {
            let any = NodeFlag(0);
            let (rows, retval, last) = local.stream(router, &ask(NONE, "", any));
            let all: Vec<_> =
                router.engine.node_names().map(|(i, name)| (i.0, name.to_owned())).collect();
            let seen: Vec<_> = rows.iter().map(|r| (r.index, r.name.to_string())).collect();
            assert_eq!((seen, retval, last.cursor), (all.clone(), 0, NONE));

            let index = router.engine.index_of("test-input").unwrap().0;
            let filter = router.engine.index_of("filter").unwrap().0;
            for question in [ask(index, "", any), ask(NONE, "test-input", any)] {
                let (rows, retval, _) = local.stream(router, &question);
                let row = &rows[0];
                assert_eq!(
                    (rows.len(), retval, row.index, &*row.name),
                    (1, 0, index, "test-input")
                );
                assert!(row.arcs_out.contains(&filter), "{:?}", row.arcs_out);
                let (rows, ..) =
                    local.stream(router, &GraphNodeGet { want_arcs: false, ..question });
                assert!(rows[0].arcs_out.is_empty());
            }
            let (rows, ..) = local.stream(router, &ask(NONE, "", NodeFlag(4 | 8)));
            let names: Vec<_> = rows.iter().map(|r| r.name.to_string()).collect();
            assert!(
                !names.is_empty() && names.iter().all(|n| n.contains("drop") || n.contains("punt"))
            );
            for (index, name) in [(NONE - 1, ""), (NONE, "nosuch")] {
                let (rows, retval, last) = local.stream(router, &ask(index, name, any));
                assert_eq!((rows.len(), retval, last.cursor), (0, Retval::NO_SUCH_NODE.0, NONE));
            }
        });
    }

    #[test]
    fn operators_ask_for_nodes_by_the_same() {
        let mut b = bench();
        let (input, filter) = ("test-input", "filter");
        let index = |name: &str| b.router.engine.index_of(name).unwrap().0;
        let (input_row, edge) = (index(input), index(filter));
        let one = b.run("show graph node test-input want_arcs");
        assert!(one.lines().nth(1).is_some_and(|l| l.ends_with(" input")), "{one}");
        assert!(one.contains(&format!("-> {filter} ({edge})\n")), "{one}");
        assert_eq!(b.run(&format!("show graph want_arcs node {input_row}")), one);
        assert_eq!(b.run("show graph node test-input").lines().count(), 2);

        let all = b.router.engine.node_names().count();
        assert_eq!(b.run("show graph").lines().count(), 1 + all);
        assert_eq!(b.run("show graph node").lines().count(), 1 + all);
        let some = b.run("show graph node drop punt");
        let wanted = |l: &str| l.contains("drop") || l.contains("punt");
        assert!(some.lines().count() > 1 && some.lines().skip(1).all(wanted), "{some}");
        let any = "show graph node input drop output punt handoff no_free polling interrupt";
        assert!(b.run(any).contains(input) && !b.run(any).contains(filter));
        assert!(b.run("show graph trace_supported").contains(input));
        assert_eq!(b.run("show graph polling interrupt no_free").lines().count(), 1);
        assert_eq!(b.json(any), b.json(&any.replace("input", "trace_supported")));
        assert_eq!(b.json("show graph node filter")[0]["name"], filter);

        assert_eq!(b.run("show graph node nosuch"), "show graph: unknown node name: 'nosuch'\n");
        let wrong = "show graph: unknown input `inputs drop'\n";
        assert_eq!(b.run("show graph inputs drop"), wrong);
    }

    #[test]
    fn many_nodes_come_in_pieces() {
        let mut b = bench();
        b.talk(|local, router| {
            for n in 0..STREAM_PIECE {
                let name = format!("another-{n}");
                router.engine.add_named(&name, super::super::handoff::HandoffTrace).unwrap();
            }
            let all = router.engine.node_names().count();
            let (rows, retval, last) = local.stream(router, &ask(NONE, "", NodeFlag(0)));
            assert_eq!((rows.len(), retval), (STREAM_PIECE, Retval::EAGAIN.0));
            let rest = GraphNodeGet { cursor: last.cursor, ..ask(NONE, "", NodeFlag(0)) };
            let (more, retval, last) = local.stream(router, &rest);
            assert_eq!((rows.len() + more.len(), retval, last.cursor), (all, 0, NONE));
        });
    }
}
