//! Nodes by the ten thousand: what one costs does not depend on how many there are; features that
//! several require; features that no catalogue knows.

mod nodes;

use std::convert::Infallible;

use graph::arc::{Beside, FeatureArc, Side};
use graph::testing::TestGraph;
use graph::{BuildError, Continue, Engine, Frame, Node, NodeIndex, Slot};
use infra::memory::allocations::{Counted, allocated};
use nodes::{Next, Start};

#[global_allocator]
static ALLOCATOR: Counted = Counted;

static ARC: FeatureArc = FeatureArc {
    name: "many",
    starts: &["start"],
    order: &["one", "two", "three"],
    end: "end",
    side: Side::Receive,
};

/// A feature that adds its letter.
#[derive(Clone)]
struct Letter<const C: char>;

impl<const C: char> Node for Letter<C> {
    const NAME: &'static str = match C {
        '1' => "one",
        '2' => "two",
        '3' => "three",
        'a' => "stranger-a",
        _ => "stranger-b",
    };
    type Next = Continue;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            p.append(&[C as u8]);
            Ok(Continue)
        });
    }
}

/// A node made for one interface, which counts a reason.
#[derive(Clone)]
struct Own(u32);

#[derive(Clone, Copy, graph::Reason)]
enum Error {
    /// Not wanted.
    Unwanted,
}

impl Node for Own {
    const NAME: &'static str = "own";
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let own = self.0;
        frame.each(|p| match p.tx() {
            tx if tx == own => Err(Error::Unwanted),
            _ => Ok(Next::End),
        });
    }
}

/// Sends packets to the edge that they name.
#[derive(Clone)]
struct Hub(Slot);

impl Node for Hub {
    const NAME: &'static str = "hub";
    type Next = Next;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let base = self.0.0;
        frame.each(|p| Ok(Next::To(Slot(base + p.adjacency()))));
    }
}

fn graph() -> TestGraph {
    let (graph, ()) = TestGraph::new(|engine| {
        engine.add(Start(&ARC))?;
        engine.add(Hub(Slot(2)))?;
        engine.add_feature(&ARC, Letter::<'1'>)?;
        engine.add_feature(&ARC, Letter::<'2'>)?;
        engine.add_feature(&ARC, Letter::<'3'>).map(drop)
    });
    graph
}

fn add(engine: &mut Engine, number: u32) -> Result<[NodeIndex; 2], BuildError> {
    let names = [format!("if{number}-tx"), format!("if{number}-output")];
    let tx = engine.add_named(&names[0], Own(number))?;
    let output = engine.add_named(&names[1], Own(number))?;
    engine.connect(&names[1], &names[0])?;
    engine.starts(output, &ARC)?;
    engine.connect("hub", &names[1])?;
    ["one", "three"].iter().try_for_each(|f| engine.set_feature(&ARC, f, number, true))?;
    engine.require_feature(&ARC, "two", number)?;
    Ok([tx, output])
}

fn remove(engine: &mut Engine, number: u32, nodes: [NodeIndex; 2]) {
    engine.forget_interface(number);
    nodes.into_iter().for_each(|node| engine.remove(node));
}

#[test]
fn what_an_interface_costs_does_not_grow_with_their_number() {
    const COUNT: u32 = 16 * 1024;
    let mut graph = graph();
    let engine = &mut graph.engine;
    let mut nodes = Vec::with_capacity(COUNT as usize);
    // Twice as many each time, so that tables which double do so once in each.
    let mut spent = Vec::new();
    for end in [COUNT / 16, COUNT / 8, COUNT / 4, COUNT / 2, COUNT] {
        let (first, before) = (nodes.len() as u32, allocated());
        (first..end).for_each(|i| nodes.push(add(engine, i).unwrap()));
        spent.push((allocated() - before) / u64::from(end - first));
        engine.take_counter_changes();
    }
    assert!(spent[4] < spent[1] * 3 / 2, "bytes for each to make: {spent:?}");
    let mut spent = Vec::new();
    for end in [COUNT / 2, COUNT / 4, COUNT / 8, COUNT / 16, 0] {
        let (count, before) = (nodes.len() as u32 - end, allocated());
        while nodes.len() as u32 > end {
            let last = nodes.len() as u32 - 1;
            remove(engine, last, nodes.pop().unwrap());
        }
        spent.push((allocated() - before) / u64::from(count));
        engine.take_counter_changes();
    }
    assert!(spent[0] < spent[3] * 3 / 2, "bytes for each to delete: {spent:?}");
}

#[test]
fn nodes_edges_and_counters_have_numbers_beyond_16_bits() {
    const COUNT: u32 = 66_000;
    let mut graph = graph();
    for i in 0..COUNT {
        let name = format!("node{i}");
        graph.engine.add_named(&name, Own(i)).unwrap();
        assert_eq!(graph.engine.connect("hub", &name).unwrap(), Slot(2 + i));
    }
    let last = COUNT - 1;
    let caught = graph.send("hub", &[vec![1], vec![2]], move |p| {
        let is_first = p.bytes() == [1];
        p.set_adjacency(if is_first { last } else { last - 1 });
        p.set_tx(last);
    });
    let seen: Vec<_> = caught.iter().map(|c| (c.at.as_str(), c.error.as_str())).collect();
    assert_eq!(seen, [("error-drop", "node65999: Not wanted"), ("end", "")]);
    graph.expect_counters(&[("node65999", "unwanted", 1)]);
}

#[test]
fn numbers_of_nodes_and_edges_begin_again_when_memory_was_given_back() {
    const COUNT: u32 = 3000;
    let mut graph = graph();
    let end = |graph: &TestGraph| graph.engine.node_names().map(|(n, _)| n).max().unwrap();
    for kept in [0, 1] {
        let before = end(&graph);
        let mut nodes: Vec<_> = (0..COUNT)
            .filter(|i| *i != 0 || kept == 0)
            .map(|i| (i, add(&mut graph.engine, i).unwrap()))
            .collect();
        let slot = |graph: &mut TestGraph, i| {
            graph.engine.connect("hub", &format!("if{i}-output")).unwrap().0
        };
        let last = slot(&mut graph, COUNT - 1);
        assert_eq!(last, 2 + COUNT - 1, "edges have the numbers that they had before");
        // All but the first go, in no order.
        nodes.rotate_left(COUNT as usize / 3);
        for (i, own) in nodes.iter().filter(|(i, _)| *i != 0) {
            remove(&mut graph.engine, *i, *own);
        }
        graph.engine.give_back();
        assert!(end(&graph).0 < before.0 + 2 + 2);
        let caught = graph.send("hub", &[vec![1], vec![2]], move |p| {
            p.set_adjacency(if p.bytes() == [1] { 0 } else { last });
            p.set_tx(0);
        });
        let caught: Vec<_> = caught.iter().map(|c| (c.bytes[0], c.error.as_str())).collect();
        assert_eq!(caught, [(1, "if0-output: Not wanted")], "the other one is lost");
        graph.expect_counters(&[("hub", "node_failed", 1), ("if0-output", "unwanted", 1)]);
    }
}

fn letters(graph: &mut TestGraph) -> String {
    let caught = graph.send("start", &[vec![b'.']], |p| p.set_rx(5));
    caught.iter().map(|c| String::from_utf8_lossy(&c.bytes).into_owned()).collect()
}

#[test]
fn a_feature_stays_on_while_anybody_requires_it() {
    let mut graph = graph();
    let mut step = |change: fn(&mut Engine) -> Result<(), BuildError>, after: &str| {
        change(&mut graph.engine).unwrap();
        assert_eq!(letters(&mut graph), after);
    };
    step(|e| e.require_feature(&ARC, "two", 5), ".2");
    step(|e| e.require_feature(&ARC, "two", 5), ".2");
    step(|e| e.release_feature(&ARC, "two", 5), ".2");
    step(|e| e.set_feature(&ARC, "two", 5, false), ".2");
    step(|e| e.set_feature(&ARC, "one", 5, true), ".12");
    step(|e| e.release_feature(&ARC, "two", 5), ".1");
    step(|e| e.set_feature(&ARC, "two", 5, true), ".12");
    step(|e| e.require_feature(&ARC, "two", 5), ".12");
    step(|e| e.release_feature(&ARC, "two", 5), ".12");
    step(|e| e.require_feature(&ARC, "two", 5), ".12");
    step(|e| e.set_feature(&ARC, "two", 5, false), ".12");
    assert_eq!(graph.engine.features_of(5), [("many", vec!["one", "two"])]);
    graph.engine.forget_interface(5);
    assert_eq!(letters(&mut graph), ".");
    graph.engine.require_feature(&ARC, "two", 5).unwrap();
    graph.engine.release_feature(&ARC, "two", 5).unwrap();
    assert_eq!(letters(&mut graph), ".", "what was required before is forgotten");
    assert!(graph.engine.require_feature(&ARC, "four", 5).is_err());
}

#[test]
fn a_feature_that_no_catalogue_knows_is_placed_beside_a_name() {
    let (mut graph, ()) = TestGraph::new(|engine| {
        engine.add(Start(&ARC))?;
        engine.add_feature(&ARC, Letter::<'1'>)?;
        engine.add_feature(&ARC, Letter::<'3'>)?;
        engine.add(Letter::<'a'>)?;
        engine.add(Letter::<'b'>)?;
        let named = |node: &str| BuildError::NotOnArc { node: node.to_owned(), arc: "many" };
        let mut place = |node, beside| engine.place_beside(&ARC, node, beside);
        let unknown = place("stranger-a", Beside::After("nobody"));
        assert_eq!(unknown, Err(named("nobody")));
        assert_eq!(place("stranger-a", Beside::After("end")), Err(named("end")));
        place("stranger-a", Beside::Before("two"))?; // which is not built
        place("stranger-b", Beside::After("stranger-a"))?;
        let again = place("stranger-b", Beside::Before("end"));
        assert_eq!(again, Err(BuildError::DuplicateNode("stranger-b".to_owned())));
        // Known as soon as it is placed, although the graph is not built yet.
        engine.set_feature(&ARC, "stranger-b", 5, true)
    });
    assert_eq!(letters(&mut graph), ".b");
    let (_, order, _) = graph.engine.arcs().next().unwrap();
    assert_eq!(order, ["one", "stranger-a", "stranger-b", "three"]);
    for feature in ["three", "one", "stranger-a"] {
        graph.engine.set_feature(&ARC, feature, 5, true).unwrap();
    }
    assert_eq!(letters(&mut graph), ".1ab3");
}
