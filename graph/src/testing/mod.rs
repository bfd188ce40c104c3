//! The node test bench: build a graph, send packets, see packets and counters.
//!
//! Edges that leave the tested part end in sinks named like the missing node, so nothing is mocked.
#![forbid(unsafe_code)]

mod foretold;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use crate::buffer::Flags;
use crate::control::{BuildError, Engine, Settings};
use crate::engine::Frame;
use crate::node::Node;
use crate::trace::Names;
use crate::{Buffer, Input, InputState, Intake, Next, NodeIndex, Ports};
use foretold::Foretold;

/// A packet that reached a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caught {
    /// Name of the missing node.
    pub at: String,
    /// All its bytes.
    pub bytes: Vec<u8>,
    /// Receive interface.
    pub rx: u32,
    /// Transmit interface.
    pub tx: u32,
    /// Adjacency or path group.
    pub adjacency: u32,
    /// Flags.
    pub flags: Flags,
    /// Ports that it has beside it.
    pub ports: Option<Ports>,
    /// Reason of the drop, as `node: text`; empty without one.
    pub error: String,
}

type Catches = Arc<Mutex<Vec<(Caught, u32)>>>;

#[derive(Clone)]
struct Sink {
    name: String,
    catches: Catches,
}

impl Node for Sink {
    const NAME: &'static str = "sink";
    type Next = Infallible;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = "error-drop";
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let mut catches = self.catches.lock().unwrap_or_else(PoisonError::into_inner);
        frame.consume(|p| {
            let caught = Caught {
                at: self.name.clone(),
                bytes: p.segments().flatten().copied().collect(),
                rx: p.rx(),
                tx: p.tx(),
                adjacency: p.adjacency(),
                ports: p.ports(),
                flags: p.flags().without(Flags::TRACED.with(Flags::CHAINED)),
                error: String::new(),
            };
            catches.push((caught, Buffer::error(p)));
            Ok(())
        });
    }
}

/// A graph under test.
pub struct TestGraph {
    /// The engine, for what the methods below do not cover.
    pub engine: Engine,
    seen: BTreeMap<(String, &'static str), u64>,
    catches: Catches,
    sinks: Vec<&'static str>,
    /// Frames of several packets that were sent.
    frames: usize,
    /// Whether packets are explained before they are sent.
    foretells: bool,
    /// Time to which the clock is turned back.
    held_at: Option<f64>,
}

/// Frames of several packets that are explained at most: tests of floods have no time for it.
const FRAMES: usize = 200;

impl TestGraph {
    /// Builds the graph from what `register` adds; returns what `register` returned.
    ///
    /// # Panics
    /// When the graph cannot be built: that is a failed test.
    pub fn new<T>(register: impl FnOnce(&mut Engine) -> Result<T, BuildError>) -> (Self, T) {
        let settings = Settings { buffers: 4096, ..Settings::default() };
        Self::with(settings, Engine::start_inline, register)
    }
    /// As [`TestGraph::new`] with other settings and threads: those that `start` starts.
    ///
    /// # Panics
    /// When the graph cannot be built: that is a failed test.
    pub fn with<T>(
        settings: Settings,
        start: impl FnOnce(&mut Engine),
        register: impl FnOnce(&mut Engine) -> Result<T, BuildError>,
    ) -> (Self, T) {
        let mut engine = Engine::new(settings).unwrap_or_else(|e| panic!("no memory: {e}"));
        let made = register(&mut engine).unwrap_or_else(|e| panic!("{e}"));
        let catches = Catches::default();
        let sinks = engine.open_names();
        for name in &sinks {
            let sink = Sink { name: (*name).to_owned(), catches: Arc::clone(&catches) };
            engine.add_sink(name, sink).unwrap_or_else(|e| panic!("{e}"));
        }
        engine.build().unwrap_or_else(|e| panic!("{e}"));
        start(&mut engine);
        foretold::note_reasons(&engine);
        let (seen, held_at) = (BTreeMap::new(), None);
        (Self { engine, seen, catches, sinks, frames: 0, foretells: true, held_at }, made)
    }
    /// Sends packets into node `at` in one frame, each prepared, and runs until the graph is idle.
    /// Returns the packets that reached sinks, in order. A packet sent alone must meet the fate of
    /// its explanation, as far as nodes may be explained.
    pub fn send(
        &mut self,
        at: &str,
        packets: &[Vec<u8>],
        prepare: impl Fn(&mut Buffer<'_>) + Clone + Send + 'static,
    ) -> Vec<Caught> {
        self.send_on(self.engine.data_threads().start, at, packets, prepare)
    }
    /// As [`TestGraph::send`], on another thread.
    pub fn send_on(
        &mut self,
        thread: usize,
        at: &str,
        packets: &[Vec<u8>],
        prepare: impl Fn(&mut Buffer<'_>) + Clone + Send + 'static,
    ) -> Vec<Caught> {
        let node = self.engine.index_of(at).unwrap_or_else(|| panic!("no node {at}"));
        self.turn_back();
        if let [_] = packets {
            // What is still on its way counts for itself.
            self.engine.run_inline(1000);
        }
        let is_foretold = self.foretells && (packets.len() == 1 || self.frames < FRAMES);
        self.frames += usize::from(packets.len() > 1);
        let foretold = is_foretold
            .then(|| Foretold::of(&mut self.engine, &self.sinks, node, packets, prepare.clone()))
            .flatten();
        for bytes in packets {
            self.engine.inject(thread, node, bytes.clone(), prepare.clone());
        }
        let caught = self.run();
        if let Some(foretold) = foretold {
            foretold.expect(&self.engine);
        }
        caught
    }
    /// Stops explaining each packet before it is sent: for tests that send very many packets and
    /// create as many sessions.
    pub fn send_only(&mut self) {
        self.foretells = false;
    }
    /// Turns the clock back to this moment before each packet from now on, so that a test's result
    /// does not depend on how long it takes.
    pub fn hold_time(&mut self) {
        self.held_at = Some(self.engine.clock().now());
    }
    fn turn_back(&self) {
        if let Some(then) = self.held_at {
            let clock = self.engine.clock();
            clock.adjust(then - clock.now());
        }
    }
    /// Runs until the graph is idle; returns what reached sinks since the last call.
    pub fn run(&mut self) -> Vec<Caught> {
        self.turn_back();
        self.engine.run_inline(1000);
        self.caught()
    }
    /// Packets that have reached sinks since the last call.
    pub fn caught(&mut self) -> Vec<Caught> {
        let caught =
            std::mem::take(&mut *self.catches.lock().unwrap_or_else(PoisonError::into_inner));
        let text = |n: u32| if n == 0 { String::new() } else { self.engine.describe_error(n) };
        caught.into_iter().map(|(c, error)| Caught { error: text(error), ..c }).collect()
    }
    /// Checks that exactly these counters moved since the last call: node, name, by how much.
    ///
    /// # Panics
    /// When others did: that is a failed test.
    #[track_caller]
    pub fn expect_counters(&mut self, expected: &[(&str, &str, u64)]) {
        let moved = self.moved_counters();
        let moved: Vec<_> = moved.iter().map(|(n, t, v)| (n.as_str(), *t, *v)).collect();
        assert_eq!(moved, expected, "counters that moved (left) and counters expected (right)");
    }
    /// The counters that moved since this was asked last: node, name, by how much.
    pub fn moved_counters(&mut self) -> Vec<(String, &'static str, u64)> {
        let mut moved = Vec::new();
        for (_, node, text, value) in self.engine.errors() {
            let old = self.seen.insert((node.clone(), text.name), value).unwrap_or(0);
            if value != old {
                moved.push((node, text.name, value - old));
            }
        }
        moved
    }
    /// Text of all traces so far.
    pub fn trace_text(&mut self, names: &dyn Names) -> Vec<String> {
        let packets = self.engine.traced(0).unwrap_or_default();
        packets.iter().map(|p| p.text(&self.engine, names)).collect()
    }
    /// Free buffers, for leak tests: everything that is not in a packet.
    pub fn buffers_used(&mut self) -> usize {
        self.engine.buffers_used().unwrap_or(0)
    }
}

/// An input node for tests: brings in the packets it was given, up to 256 at a time, all to one
/// node.
#[derive(Clone)]
pub struct TestInput<X> {
    /// Packets still to come.
    pub packets: Vec<Vec<u8>>,
    /// Edge for all packets.
    pub next: X,
    /// Interface they come from.
    pub rx: u32,
}

impl<X: Next + Send> Input for TestInput<X> {
    const NAME: &'static str = "test-input";
    type Next = X;
    type Error = Infallible;
    type Count = Infallible;
    const STATE: InputState = InputState::Adaptive;
    #[inline(always)]
    fn poll<On: graph::Cpu>(&mut self, intake: &mut Intake<'_, Self, On>) {
        let (next, packets) = (self.next, &mut self.packets);
        let n = packets.len();
        intake.each(n, self.rx, |p| {
            let bytes = packets.first()?;
            p.extend(bytes)?;
            packets.remove(0);
            Some(next)
        });
    }
}

impl Engine {
    fn add_sink(&mut self, name: &str, sink: Sink) -> Result<NodeIndex, BuildError> {
        let index = self.add_named(name, sink)?;
        self.take_anything(index);
        Ok(index)
    }
}
