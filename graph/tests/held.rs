//! Packets that a node keeps: they go on, or they go back to the pool, whatever happens to the
//! node.

use std::convert::Infallible;

use graph::testing::{TestGraph, TestInput};
use graph::{BuildError, Engine, Flags, Frame, Held, Node, Settings};

/// Keeps odd packets, sends even ones on, drops 0, panics at 0xee with packets in its hands.
#[derive(Default)]
struct Keeper {
    kept: Vec<Held>,
}

impl Clone for Keeper {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[derive(Clone, Copy, graph::Next)]
enum Next {
    #[to("out")]
    Out,
    #[to("keeper")]
    Keeper,
    #[dynamic]
    Astray(graph::Slot),
}

#[derive(Clone, Copy, graph::Reason)]
enum Error {
    /// Zero is not welcome.
    Zero,
}

impl Node for Keeper {
    const NAME: &'static str = "keeper";
    type Next = Next;
    type Error = Error;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        for mut held in frame.take() {
            match held.buffer().bytes()[0] {
                0 => frame.discard(held, Error::Zero),
                0xee => panic!("on purpose"),
                0xef => frame.send(held, Next::Astray(graph::Slot(99))),
                byte if byte % 2 == 1 => self.kept.push(held),
                _ => frame.send(held, Next::Out),
            }
        }
        assert_eq!(frame.take().count(), 0, "a frame is taken once");
    }
    fn end(&mut self, frame: &mut Frame<'_, Self>) {
        self.kept.drain(..).for_each(|held| frame.discard(held, Error::Zero));
    }
}

impl Keeper {
    fn release<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        for mut held in self.kept.drain(..) {
            let mut p = frame.packet_of(&mut held);
            let rx = p.rx();
            if let Some(mut new) = p.fresh() {
                new.append(&[rx as u8]).unwrap();
                new.send(Next::Out);
            }
            frame.send(held, Next::Out);
        }
    }
}

fn register(engine: &mut Engine) -> Result<graph::NodeIndex, BuildError> {
    let keeper = engine.add(Keeper::default())?;
    engine.add_input(TestInput { packets: Vec::new(), next: Next::Keeper, rx: 4 })?;
    Ok(keeper)
}

fn graph() -> (TestGraph, graph::NodeIndex) {
    TestGraph::new(register)
}

#[test]
fn kept_packets_go_on_when_control_says_so() {
    for n in [1usize, 3, 4, 255, 256] {
        let (mut g, keeper) = graph();
        let packets: Vec<_> = (0..n).map(|i| vec![(i % 100 + 1) as u8]).collect();
        let out = g.send("keeper", &packets, |p| p.set_rx(7));
        let odd = packets.iter().filter(|p| p[0] % 2 == 1).count();
        assert_eq!((out.len(), g.buffers_used()), (n - odd, odd));

        g.engine.visit(0, keeper, |k: &mut Keeper, frame| k.release(frame));
        let out = g.run();
        assert_eq!((out.len(), g.buffers_used()), (2 * odd, 0));
        assert_eq!(out[0].bytes, [7]);
        assert_eq!((out[1].bytes.as_slice(), out[1].rx), (packets[0].as_slice(), 7));
        g.expect_counters(&[]);
    }
}

#[test]
fn discarded_packets_are_counted_drops() {
    let (mut g, _) = graph();
    let out = g.send("keeper", &[vec![0], vec![2]], |_| ());
    let ends: Vec<_> = out.iter().map(|c| (c.at.as_str(), c.error.as_str())).collect();
    assert!(ends.contains(&("error-drop", "keeper: Zero is not welcome")), "{ends:?}");
    g.expect_counters(&[("keeper", "zero", 1)]);
    assert_eq!(g.buffers_used(), 0);
}

#[test]
fn what_is_kept_on_a_thread_that_ends_is_dropped_and_counted() {
    let settings = Settings { workers: vec![None; 2], shares_cpu: true, ..Settings::default() };
    let start = |e: &mut Engine| e.start().unwrap();
    let (mut g, keeper) = TestGraph::with(settings, start, register);
    for (thread, byte) in [(1, 1), (2, 3), (2, 5)] {
        g.engine.inject(thread, keeper, vec![byte], |_| ());
    }
    g.engine.fence().unwrap();
    assert_eq!((g.caught().len(), g.buffers_used()), (0, 3));
    g.engine.keep_threads(1..2).unwrap();
    let dropped: Vec<_> = g.caught().into_iter().map(|c| (c.at, c.bytes)).collect();
    assert_eq!(dropped, [3, 5].map(|byte| ("error-drop".to_owned(), vec![byte])));
    g.expect_counters(&[("keeper", "zero", 2)]);
    assert_eq!(g.buffers_used(), 1);
}

#[test]
fn chains_and_traced_packets_are_held_whole() {
    let (mut g, keeper) = graph();
    let input = g.engine.index_of("test-input").unwrap();
    g.engine.trace(input, 1);
    let packets = vec![vec![9; 5000]];
    g.engine.with_node(0, input, |i: &mut TestInput<Next>| i.packets = packets).unwrap();
    assert!(g.run().is_empty());
    assert_eq!(g.buffers_used(), 3);
    g.engine.visit(0, keeper, |k: &mut Keeper, frame| k.release(frame));
    let out = g.run();
    assert_eq!((out[1].bytes.len(), out[1].flags), (5000, Flags::default()));

    let again = vec![vec![9; 5000]];
    g.engine.with_node(0, input, |i: &mut TestInput<Next>| i.packets = again).unwrap();
    g.run();
    g.engine.with_node(0, keeper, |k: &mut Keeper| k.kept.clear()).unwrap();
    assert_eq!(g.buffers_used(), 0);
}

#[test]
fn a_panic_leaks_nothing_and_leaves_the_node_at_work() {
    let (mut g, keeper) = graph();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    assert!(g.send("keeper", &[vec![1], vec![2], vec![0xee], vec![4]], |_| ()).len() == 1);
    assert_eq!(g.buffers_used(), 1, "only the one that is kept");
    g.engine.visit(0, keeper, |_: &mut Keeper, _| panic!("on purpose"));
    std::panic::set_hook(hook);
    g.expect_counters(&[("keeper", "node_failed", 2)]);
    assert_eq!(g.send("keeper", &[vec![2]], |_| ()).len(), 1);
}

#[test]
fn a_removed_node_and_an_edge_that_is_not_there_give_packets_back() {
    let (mut g, keeper) = graph();
    g.send("keeper", &[vec![1], vec![3], vec![0xef]], |_| ());
    g.expect_counters(&[("keeper", "node_failed", 1)]);
    assert_eq!(g.buffers_used(), 2);
    g.engine.remove(keeper);
    assert_eq!(g.buffers_used(), 0);
}
