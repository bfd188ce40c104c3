//! Explanations of packets: followed packets, ends, and the absence of side effects.

mod nodes;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use graph::explain::{End, ExplainedPacket};
use graph::testing::TestGraph;
use graph::{Frame, Names, Node, NodeIndex, explained};
use nodes::Tally;

/// Sends on what begins with 1, makes a copy of what begins with 2 and drops it, panics at 3, goes
/// round with 4, and does not know about 5; others are for a node that keeps state.
#[derive(Clone)]
struct Split;

#[derive(Clone, Copy, graph::Next)]
enum Next {
    #[to("out")]
    Out,
    #[to("split")]
    Again,
    #[to("keeper")]
    Keeper,
}

#[derive(Clone, Copy, graph::Reason)]
enum Error {
    /// Twos are not wanted.
    Two,
}

#[derive(Clone, Copy, graph::Count)]
enum Count {
    /// Packets looked at.
    Seen,
}

impl Node for Split {
    const NAME: &'static str = "split";
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = Error;
    type Count = Count;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.count(Count::Seen, frame.len() as u64);
        frame.each(|p| {
            p.say(|p| {
                let first = p.bytes()[0];
                move |_| format!("begins with {first}")
            });
            match p.bytes()[0] {
                1 => {
                    p.bytes_mut()[0] = 9;
                    Ok(Next::Out)
                }
                2 => {
                    if let Some(mut new) = p.fresh() {
                        new.append(&[7]);
                        new.send(Next::Out);
                    }
                    Err(Error::Two)
                }
                3 => panic!("at three"),
                4 => Ok(Next::Again),
                5 => {
                    p.stop_explaining("fives are odd");
                    Ok(Next::Out)
                }
                _ => Ok(Next::Keeper),
            }
        });
    }
}

struct NoNames;

impl Names for NoNames {
    fn name(&self, _: &str, index: u32) -> String {
        index.to_string()
    }
}

fn graph() -> (TestGraph, Arc<AtomicU64>) {
    TestGraph::new(|engine| {
        let kept = Arc::new(AtomicU64::new(0));
        engine.add(Split)?;
        engine.add_named("keeper", Tally(Arc::clone(&kept)))?;
        Ok(kept)
    })
}

fn explain(graph: &mut TestGraph, first: u8) -> Vec<ExplainedPacket> {
    let node = graph.engine.index_of("split").unwrap();
    graph.engine.explain(node, &[first, 0, 0], |p| p.set_rx(3))
}

#[test]
fn the_way_of_a_packet_is_told_and_nobody_notices() {
    let (mut graph, kept) = graph();
    let name = |graph: &TestGraph, node: NodeIndex| graph.engine.name_of(node).to_owned();
    let [packet] = &explain(&mut graph, 1)[..] else { panic!("one packet") };
    let [split, out] = &packet.steps[..] else { panic!("two steps") };
    assert_eq!((name(&graph, split.node), name(&graph, out.node)), ("split".into(), "out".into()));
    assert_eq!((split.before.bytes[0], split.after.as_ref().unwrap().bytes[0]), (1, 9));
    assert_eq!((split.before.rx, packet.end), (3, End::Stopped), "sinks keep state");
    assert_eq!(explained(split.records[0].as_ref(), &NoNames), ["begins with 1"]);
    assert_eq!(graph.engine.describe_error(split.counted[0].index), "split: Packets looked at");

    let [dropped, made] = &explain(&mut graph, 2)[..] else { panic!("two packets") };
    assert_eq!(made.made.map(|m| (m.packet, name(&graph, m.node))), Some((0, "split".into())));
    let last = dropped.steps.last().unwrap();
    assert_eq!(name(&graph, last.node), "error-drop");
    assert_eq!(graph.engine.describe_error(last.before.error), "split: Twos are not wanted");

    let [failed] = &explain(&mut graph, 3)[..] else { panic!("one packet") };
    let counted = failed.steps[0].counted.iter().map(|c| graph.engine.describe_error(c.index));
    assert!(counted.into_iter().any(|text| text == "split: dropped because the node failed"));

    let [round] = &explain(&mut graph, 4)[..] else { panic!("one packet") };
    assert_eq!((round.end, round.steps.len() > 100), (End::TooLong, true));
    let [unknown] = &explain(&mut graph, 5)[..] else { panic!("one packet") };
    assert_eq!((unknown.end, unknown.steps.len()), (End::Unknown("fives are odd"), 1));

    let [stopped] = &explain(&mut graph, 6)[..] else { panic!("one packet") };
    assert_eq!((stopped.end, kept.load(Ordering::Relaxed)), (End::Stopped, 0));

    assert!(graph.run().is_empty(), "nothing is sent");
    graph.expect_counters(&[]);
    assert_eq!((graph.buffers_used(), graph.trace_text(&NoNames).len()), (0, 0));
    let rows = graph.engine.runtime_rows().unwrap();
    assert!(rows.iter().flat_map(|row| &row.nodes).all(|node| node.stats.calls == 0));
}
