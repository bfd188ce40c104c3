//! Nodes and features that come and go while packets flow.

mod nodes;

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use graph::arc::{Beside, FeatureArc, Side};
use graph::testing::TestGraph;
use graph::{
    BuildError, Continue, CounterText, Edge, Engine, Foreign, ForeignFrame, Frame, Input,
    InputState, Intake, Node, Settings,
};
use nodes::{Start, Tally};

static ARC: FeatureArc = FeatureArc {
    name: "changing",
    starts: &["start"],
    order: &["fixed", "known"],
    end: "end",
    side: Side::Receive,
};

/// A feature that adds its letter.
#[derive(Clone)]
struct Letter<const C: char>;

impl<const C: char> Node for Letter<C> {
    const NAME: &'static str = if C == 'f' { "fixed" } else { "known" };
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

/// Drops every packet whose first byte is d, consumes c, sends e to its edge, panics at p.
struct Judge;

const REASONS: &[CounterText] =
    &[CounterText { name: "disliked", text: "Disliked.", severity: "error" }];
const COUNTS: &[CounterText] = &[CounterText { name: "seen", text: "Seen.", severity: "info" }];

impl Foreign for Judge {
    fn on_thread(&self, _: usize) -> Box<dyn Foreign> {
        Box::new(Self)
    }
    fn process(&mut self, frame: &mut ForeignFrame<'_>) {
        for at in 0..frame.indices().len() {
            let verdict = match frame.packet(at).unwrap().bytes()[0] {
                b'd' => ForeignFrame::DROP,
                b'c' => ForeignFrame::CONSUMED,
                b'e' => 0,
                b'x' => 77,
                b'p' => panic!("at a packet"),
                _ => ForeignFrame::CONTINUE,
            };
            frame.verdicts()[at] = verdict;
        }
        frame.count(1, frame.indices().len() as u64);
        frame.count(9, 1);
    }
}

fn add_judge(engine: &mut Engine) -> Result<(), BuildError> {
    engine.place_beside(&ARC, "judge", Beside::After("fixed"))?;
    let edges = [Edge { to: "aside", payload: "" }];
    let texts = (REASONS, COUNTS);
    engine.add_foreign("judge", (&edges, "error-drop"), texts, || Box::new(Judge))?;
    engine.lay_out_changed_arcs()
}

fn graph() -> TestGraph {
    let (graph, ()) = TestGraph::new(|engine| {
        engine.add(Start(&ARC))?;
        engine.add_feature(&ARC, Letter::<'f'>)?;
        // Another node sends there, so that there is a sink.
        engine
            .add_foreign(
                "other",
                (&[Edge { to: "aside", payload: "" }], "error-drop"),
                (&[], &[]),
                || Box::new(Judge),
            )
            .map(drop)
    });
    graph
}

fn sent(graph: &mut TestGraph, packets: &[&str]) -> Vec<String> {
    let packets: Vec<_> = packets.iter().map(|p| p.as_bytes().to_vec()).collect();
    let caught = graph.send("start", &packets, |p| p.set_rx(3));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    caught.iter().map(|c| format!("{} {}", c.at, text(&c.bytes))).collect()
}

#[test]
fn a_feature_comes_and_goes_and_leaves_others_as_they_were() {
    let mut graph = graph();
    graph.engine.set_feature(&ARC, "fixed", 3, true).unwrap();
    let all = ["a", "d", "c", "e", "x", "b"];
    for round in 0..100 {
        assert_eq!(sent(&mut graph, &["d"]), ["end df"]);
        graph.engine.set_owner(7);
        add_judge(&mut graph.engine).unwrap();
        graph.engine.set_owner(0);
        assert_eq!(sent(&mut graph, &["d"]), ["end df"], "it is on nowhere yet");
        graph.engine.set_feature(&ARC, "judge", 3, true).unwrap();
        // Others that come meanwhile stay.
        if round == 50 {
            graph.engine.add_feature(&ARC, Letter::<'k'>).unwrap();
            graph.engine.lay_out_changed_arcs().unwrap();
        }
        let seen = sent(&mut graph, &all);
        let mut expected = vec!["end af", "error-drop df", "aside ef", "error-drop xf", "end bf"];
        let mut seen = seen.iter().map(String::as_str).collect::<Vec<_>>();
        seen.sort_unstable();
        expected.sort_unstable();
        assert_eq!(seen, expected);
        let moved: Vec<_> = graph.engine.errors().iter().map(|e| (e.2.name, e.3)).collect();
        assert_eq!(moved, [("disliked", 1), ("seen", 6), ("node_failed", 1)]);
        assert_eq!(graph.engine.nodes_of(7).len(), 1);
        graph.engine.remove_all_of(7).unwrap();
        assert!(graph.engine.index_of("judge").is_none());
        assert!(graph.engine.set_feature(&ARC, "judge", 3, true).is_err());
        assert_eq!(graph.buffers_used(), 0);
        let edges = |e: &Engine| e.next_of(e.index_of("start").unwrap()).len();
        assert!(edges(&graph.engine) < 12, "edges do not grow: {}", edges(&graph.engine));
        graph.expect_counters(&[]);
    }
    graph.engine.set_feature(&ARC, "known", 3, true).unwrap();
    assert_eq!(sent(&mut graph, &["d"]), ["end dfk"]);
}

#[test]
fn a_foreign_node_that_panics_loses_its_frame_only() {
    let mut graph = graph();
    add_judge(&mut graph.engine).unwrap();
    graph.engine.set_feature(&ARC, "judge", 3, true).unwrap();
    assert_eq!(sent(&mut graph, &["a", "p"]), [""; 0]);
    assert_eq!(sent(&mut graph, &["a"]), ["end a"]);
    graph.expect_counters(&[("judge", "seen", 1), ("judge", "node_failed", 2)]);
    assert_eq!(graph.buffers_used(), 0);
}

#[test]
fn what_cannot_come_changes_nothing() {
    let mut graph = graph();
    graph.engine.set_owner(7);
    graph.engine.place(&ARC, "known").unwrap();
    let missing = graph.engine.lay_out_changed_arcs();
    assert_eq!(missing, Err(BuildError::UnknownNode("known".into())));
    let odd = [Edge { to: "start", payload: "odd" }];
    let why =
        graph.engine.add_foreign("known", (&odd, "error-drop"), (&[], &[]), || Box::new(Judge));
    let payload = BuildError::Payload { node: "known".into(), to: "start".into() };
    assert_eq!(why, Err(payload));
    graph.engine.set_owner(0);
    assert_eq!(graph.engine.remove_all_of(7), Ok(()));
    assert_eq!(sent(&mut graph, &["d"]), ["end d"]);
}

#[test]
fn an_edge_drops_its_packets_until_its_node_is_there() {
    let mut graph = graph();
    let mut add = |name: &str, edge: Edge, owner| {
        graph.engine.set_owner(owner);
        let edges = ([edge], "error-drop");
        let texts = (REASONS, COUNTS);
        graph.engine.add_foreign(name, (&edges.0, edges.1), texts, || Box::new(Judge))
    };
    add("early", Edge { to: "late", payload: "" }, 7).unwrap();
    add("odd", Edge { to: "later", payload: "odd" }, 8).unwrap();
    let why = add("later", Edge { to: "end", payload: "" }, 0);
    assert_eq!(why, Err(BuildError::Payload { node: "odd".into(), to: "later".into() }));
    let open: HashSet<_> = graph.engine.open_edges().collect();
    assert_eq!(open, [("early", "late"), ("odd", "later")].into());
    assert_eq!(graph.engine.open_edge_of(7), Some(("early", "late")));

    let send = |graph: &mut TestGraph| {
        let caught = graph.send("early", &[b"e".to_vec()], |_| ());
        caught.into_iter().map(|c| c.at).collect::<Vec<_>>()
    };
    assert_eq!(send(&mut graph), ["error-drop"]);
    graph.engine.set_owner(9);
    graph
        .engine
        .add_foreign("late", (&[Edge { to: "end", payload: "" }], "error-drop"), (&[], &[]), || {
            Box::new(Judge)
        })
        .unwrap();
    assert_eq!(graph.engine.open_edge_of(7), None);
    assert_eq!(send(&mut graph), ["end"]);
    graph.engine.remove_all_of(9).unwrap();
    assert_eq!(graph.engine.open_edge_of(7), Some(("early", "late")));
    assert_eq!(send(&mut graph), ["error-drop"]);
    graph.engine.remove_all_of(7).unwrap();
    graph.engine.remove_all_of(8).unwrap();
    assert_eq!(graph.engine.open_edges().next(), None);
}

/// Brings in packets without end.
#[derive(Clone)]
struct Flood(Arc<AtomicU64>);

#[derive(Clone, Copy, graph::Next)]
enum Begin {
    #[to("start")]
    Start,
}

impl Input for Flood {
    const NAME: &'static str = "flood";
    type Next = Begin;
    type Error = Infallible;
    type Count = Infallible;
    const STATE: InputState = InputState::Polling;
    #[inline(always)]
    fn poll<On: graph::Cpu>(&mut self, intake: &mut Intake<'_, Self, On>) {
        intake.each(32, 3, |p| {
            p.extend(b"a")?;
            self.0.fetch_add(1, Relaxed);
            Some(Begin::Start)
        });
    }
}

#[test]
fn no_packet_is_lost_while_features_come_and_go_on_two_threads() {
    let (came, went, lost) = <(Arc<AtomicU64>, Arc<AtomicU64>, Arc<AtomicU64>)>::default();
    let settings = Settings {
        buffers: 8192,
        workers: vec![None, None],
        most_workers: 2,
        ..Settings::default()
    };
    let mut engine = Engine::new(settings).unwrap();
    engine.add_input(Flood(Arc::clone(&came))).unwrap();
    engine.add(Start(&ARC)).unwrap();
    engine.add_feature(&ARC, Letter::<'f'>).unwrap();
    engine.add_named("end", Tally(Arc::clone(&went))).unwrap();
    engine.add_named("error-drop", Tally(Arc::clone(&lost))).unwrap();
    engine.add_named("aside", Tally(Arc::clone(&lost))).unwrap();
    engine.build().unwrap();
    engine.start().unwrap();
    engine.set_feature(&ARC, "fixed", 3, true).unwrap();
    for round in 0..25 {
        let before = went.load(Relaxed);
        engine.set_owner(7);
        add_judge(&mut engine).unwrap();
        engine.set_owner(0);
        engine.set_feature(&ARC, "judge", 3, true).unwrap();
        engine.fence().unwrap();
        let seen = || engine.errors().iter().any(|e| e.2.name == "seen" && e.3 > 0);
        while !seen() {
            std::thread::yield_now();
        }
        engine.remove_all_of(7).unwrap();
        assert!(went.load(Relaxed) > before, "packets flow in round {round}");
    }
    engine.keep_threads(1..1).unwrap();
    let (came, went) = (came.load(Relaxed), went.load(Relaxed));
    assert_eq!((came, lost.load(Relaxed)), (went, 0));
}

#[test]
fn who_waits_until_all_is_done_finds_that_no_thread_has_a_removed_node() {
    let held = Arc::new(AtomicU64::new(0));
    let workers = vec![None, None];
    let settings = Settings { buffers: 256, workers, most_workers: 2, ..Settings::default() };
    let mut engine = Engine::new(settings).unwrap();
    engine.add_named("error-drop", Tally(Arc::default())).unwrap();
    engine.build().unwrap();
    engine.start().unwrap();
    for _ in 0..100 {
        let node = engine.add_named("end", Tally(Arc::clone(&held))).unwrap();
        engine.remove(node);
        engine.until_done().wait();
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
