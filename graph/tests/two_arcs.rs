//! A node on two arcs: each packet goes on along the arc it is on.

use std::convert::Infallible;

use graph::arc::{Along, FeatureArc, Side};
use graph::testing::TestGraph;
use graph::{Buffer, Continue, Edge, Frame, Node, Slot};

static ONE: FeatureArc = FeatureArc {
    name: "one",
    starts: &["start-one"],
    order: &["shared", "own"],
    end: "end-one",
    side: Side::Receive,
};

static TWO: FeatureArc = FeatureArc {
    name: "two",
    starts: &["start-two"],
    order: &["before", "shared"],
    end: "end-two",
    side: Side::Transmit,
};

macro_rules! start {
    ($name:ident, $text:literal, $arc:ident) => {
        #[derive(Clone)]
        struct $name;
        impl Node for $name {
            const NAME: &'static str = $text;
            type Next = Start;
            type Error = Infallible;
            type Count = Infallible;
            #[inline(always)]
            fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
                let arc = frame.start(&$arc);
                frame.each(|p| {
                    let interface = if $arc.side == Side::Receive { p.rx() } else { p.tx() };
                    Ok(arc.first(interface).map_or(Start::Sink, Start::Feature))
                });
            }
        }
    };
}

#[derive(Clone, Copy, graph::Next)]
enum Start {
    #[to("unused")]
    Sink,
    #[dynamic]
    Feature(Slot),
}

start!(StartOne, "start-one", ONE);
start!(StartTwo, "start-two", TWO);

macro_rules! passes {
    ($name:ident, $text:literal) => {
        #[derive(Clone)]
        struct $name;
        impl Node for $name {
            const NAME: &'static str = $text;
            type Next = Continue;
            type Error = Infallible;
            type Count = Infallible;
            #[inline(always)]
            fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
                frame.forward_all(Continue);
            }
        }
    };
}

passes!(Own, "own");
passes!(Before, "before");

/// Bytes below 10 are on the first arc.
#[derive(Clone)]
struct Both;

#[derive(Clone, Copy)]
struct On(&'static FeatureArc);

impl graph::Next for On {
    const EDGES: &'static [Edge] = &[];
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        along.next_on(self.0, p)
    }
}

impl Node for Both {
    const NAME: &'static str = "shared";
    type Next = On;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<C: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, C>) {
        frame.each(|p| Ok(On(if p.bytes()[0] < 10 { &ONE } else { &TWO })));
    }
}

#[test]
fn packets_stay_on_their_arc() {
    let (mut graph, ()) = TestGraph::new(|engine| {
        engine.add(StartOne)?;
        engine.add(StartTwo)?;
        engine.add_feature(&ONE, Both)?;
        engine.place(&TWO, "shared")?;
        engine.add_feature(&ONE, Own)?;
        engine.add_feature(&TWO, Before)?;
        Ok(())
    });
    let mut set = |arc, feature, interface| {
        graph.engine.set_feature(arc, feature, interface, true).unwrap();
    };
    set(&ONE, "shared", 1);
    set(&ONE, "own", 1);
    set(&TWO, "before", 2);
    set(&TWO, "shared", 2);
    for n in [1, 3, 4, 255, 256] {
        let one = graph.send("start-one", &vec![vec![1]; n], |p| p.set_rx(1));
        assert!(one.len() == n && one.iter().all(|c| c.at == "end-one"));
        let two = graph.send("start-two", &vec![vec![11]; n], |p| p.set_tx(2));
        assert!(two.len() == n && two.iter().all(|c| c.at == "end-two"));
    }
    graph.expect_counters(&[]);
}
