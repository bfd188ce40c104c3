//! Packets that go on at another thread: order, room, features, traces, and threads that come and
//! go.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use graph::arc::{FeatureArc, Side};
use graph::testing::{Caught, TestGraph};
use graph::{Continue, Engine, Frame, Names, Node, Plan, Settings, Slot};

static ARC: FeatureArc = FeatureArc {
    name: "test-arc",
    starts: &["entrance"],
    order: &["first", "carry", "last"],
    end: "end",
    side: Side::Receive,
};

/// Hands each packet to the thread that its first byte names; 0xff is dropped.
#[derive(Clone)]
struct Spread;

#[derive(Clone, Copy, graph::Next)]
enum ToMark {
    #[to("mark")]
    Mark,
}

#[derive(Clone, Copy, graph::Reason)]
enum Error {
    /// Not wanted.
    Unwanted,
    /// congestion drop.
    #[name("congestion drop")]
    Congestion,
}

impl Node for Spread {
    const NAME: &'static str = "spread";
    type Next = ToMark;
    type Error = Error;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.hand_off(Error::Congestion, |p| match p.bytes()[0] {
            0xff => Err(Error::Unwanted),
            0xee => panic!("on purpose"),
            thread => Ok((thread.into(), ToMark::Mark)),
        });
    }
}

/// Writes down the thread that a packet is on.
#[derive(Clone)]
struct Mark;

#[derive(Clone, Copy, graph::Next)]
enum ToOut {
    #[to("out")]
    Out,
}

impl Node for Mark {
    const NAME: &'static str = "mark";
    type Next = ToOut;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let thread = frame.thread() as u32;
        frame.each(|p| {
            p.set_tx(thread);
            Ok(ToOut::Out)
        });
    }
}

fn settings(workers: usize) -> Settings {
    Settings {
        buffers: 32_768,
        workers: vec![None; workers],
        most_workers: 3,
        shares_cpu: true,
        ..Settings::default()
    }
}

fn register(engine: &mut Engine) -> Result<(), graph::BuildError> {
    engine.add(Spread)?;
    engine.add(Mark).map(drop)
}

fn inline(threads: usize) -> TestGraph {
    TestGraph::with(settings(0), |e| e.start_inline_threads(threads), register).0
}

fn running(workers: usize) -> TestGraph {
    let start = |e: &mut Engine| e.start().expect("threads start");
    TestGraph::with(settings(workers), start, register).0
}

/// The byte behind the thread's, of the packets that `thread` had.
fn order(caught: &[Caught], thread: u32) -> Vec<u8> {
    caught.iter().filter(|c| c.tx == thread && c.at == "out").map(|c| c.bytes[1]).collect()
}

#[test]
fn packets_go_on_at_the_thread_they_are_for_in_their_order() {
    let mut t = inline(3);
    let packets: Vec<_> = (0..200u8).map(|i| vec![[0, 1, 2, 9, 0xff][i as usize % 5], i]).collect();
    let caught = t.send("spread", &packets, |_| ());
    // Those for a thread that does not exist stay where they are.
    let here: Vec<_> = (0..200).filter(|i| [0, 3].contains(&(i % 5))).collect();
    assert_eq!(order(&caught, 0), here);
    assert_eq!(order(&caught, 1), (1..200).step_by(5).collect::<Vec<_>>());
    assert_eq!(order(&caught, 2), (2..200).step_by(5).collect::<Vec<_>>());
    t.expect_counters(&[("spread", "unwanted", 40)]);
    assert_eq!(t.buffers_used(), 0);
}

#[test]
fn what_finds_no_room_is_dropped_and_counted() {
    let mut t = inline(2);
    let packets = vec![vec![1, 0]; 10_000];
    let caught = t.send("spread", &packets, |_| ());
    assert_eq!(order(&caught, 1).len(), 8192);
    assert_eq!(caught.iter().filter(|c| c.error.ends_with("congestion drop")).count(), 1808);
    t.expect_counters(&[("spread", "congestion drop", 1808)]);
    assert_eq!(t.send("spread", &[vec![1, 7]], |_| ()).len(), 1, "there is room again");
    assert_eq!(t.buffers_used(), 0);
}

#[test]
fn a_panic_while_packets_are_chosen_hands_none_over() {
    let mut t = inline(2);
    let caught = t.send("spread", &[vec![1, 0], vec![0xee], vec![1, 1]], |_| ());
    assert_eq!((caught.len(), t.buffers_used()), (0, 0));
    t.expect_counters(&[("spread", "node_failed", 3)]);
}

/// A feature that goes on at thread 0.
#[derive(Clone)]
struct Carry;

impl Node for Carry {
    const NAME: &'static str = "carry";
    type Next = Continue;
    type Error = Error;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.hand_off(Error::Congestion, |_| Ok((0, Continue)));
    }
}

/// A feature that adds a byte.
#[derive(Clone)]
struct Add<const B: u8>;

impl<const B: u8> Node for Add<B> {
    const NAME: &'static str = if B == 1 { "first" } else { "last" };
    type Next = Continue;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            p.append(&[B]);
            Ok(Continue)
        });
    }
}

#[derive(Clone)]
struct Entrance;

#[derive(Clone, Copy, graph::Next)]
enum EntranceNext {
    #[to("end")]
    End,
    #[dynamic]
    Feature(Slot),
}

impl Node for Entrance {
    const NAME: &'static str = "entrance";
    type Next = EntranceNext;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let start = frame.start(&ARC);
        frame.each(|p| {
            let interface = p.rx();
            Ok(start.first(interface).map_or(EntranceNext::End, EntranceNext::Feature))
        });
    }
}

#[test]
fn features_go_on_where_the_packet_was_though_others_change_meanwhile() {
    let (mut t, ()) = TestGraph::with(
        settings(0),
        |e| e.start_inline_threads(2),
        |engine| {
            engine.add(Entrance)?;
            engine.add_feature(&ARC, Add::<1>)?;
            engine.add_feature(&ARC, Carry)?;
            engine.add_feature(&ARC, Add::<2>).map(drop)
        },
    );
    let mut run = |before: &[&str], after: &[&str]| {
        for feature in ARC.order {
            t.engine.set_feature(&ARC, feature, 0, before.contains(feature)).unwrap();
        }
        let entrance = t.engine.index_of("entrance").unwrap();
        t.engine.inject(1, entrance, vec![0], |_| ());
        t.engine.run_inline(1); // thread 0 has had its turn when thread 1 hands over
        for feature in ARC.order {
            t.engine.set_feature(&ARC, feature, 0, after.contains(feature)).unwrap();
        }
        t.run().remove(0).bytes
    };
    assert_eq!(run(&["first", "carry", "last"], &["first", "carry", "last"]), [0, 1, 2]);
    assert_eq!(run(&["first", "carry", "last"], &["carry", "last"]), [0, 1, 2]);
    assert_eq!(run(&["carry", "last"], &["first", "carry", "last"]), [0, 2]);
    assert_eq!(run(&["first", "carry"], &["first"]), [0, 1]);
    assert_eq!(run(&["carry"], &["carry"]), [0]);
}

struct NoNames;

impl Names for NoNames {
    fn name(&self, _: &str, index: u32) -> String {
        index.to_string()
    }
}

/// Stands for the node that traces go on under.
#[derive(Clone)]
struct HandoffTrace;

impl Node for HandoffTrace {
    const NAME: &'static str = "handoff_trace";
    type Next = Infallible;
    type Error = Error;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|_| Err(Error::Unwanted));
    }
}

#[test]
fn a_trace_goes_on_at_the_other_thread() {
    let start = |e: &mut Engine| e.start_inline_threads(2);
    let (mut t, ()) = TestGraph::with(settings(0), start, |engine| {
        register(engine)?;
        engine.add(HandoffTrace)?;
        let packets = vec![vec![1, 5], vec![0, 6]];
        let input = graph::testing::TestInput { packets, next: Next::Spread, rx: 0 };
        engine.add_input(input).map(drop)
    });
    t.engine.trace(t.engine.index_of("test-input").unwrap(), 10);
    assert_eq!(t.run().len(), 4, "each thread has an input of its own");
    let packets = t.engine.traced(1).unwrap();
    let texts: Vec<_> = packets.iter().map(|p| p.text(&t.engine, &NoNames)).collect();
    let handed: Vec<_> = texts.iter().filter(|t| t.contains("handoff_trace")).collect();
    assert_eq!(handed.len(), 1);
    assert!(handed[0].contains("\nHANDED-OFF: from thread 0 trace index 0\n"), "{}", handed[0]);
    assert!(handed[0].contains(": mark\n") && handed[0].contains(": out\n"));
    assert_eq!(t.buffers_used(), 0);
}

#[derive(Clone, Copy, graph::Next)]
enum Next {
    #[to("spread")]
    Spread,
}

/// Waits, at most 30 s, until `count` packets came out.
fn wait_for(t: &mut TestGraph, count: usize) -> Vec<Caught> {
    let (mut caught, end) = (Vec::new(), Instant::now() + Duration::from_secs(30));
    while caught.len() < count && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
        caught.extend(t.caught());
    }
    caught
}

fn inject(t: &mut TestGraph, from: usize, packets: impl Iterator<Item = Vec<u8>>) {
    let node = t.engine.index_of("spread").unwrap();
    for packet in packets {
        t.engine.inject(from, node, packet, |_| ());
    }
}

#[test]
fn a_sleeping_thread_is_woken_by_what_is_handed_to_it() {
    let mut t = running(2);
    for i in 0..20 {
        std::thread::sleep(Duration::from_millis(2)); // both threads are asleep now
        inject(&mut t, 1, std::iter::once(vec![2, i]));
        let caught = wait_for(&mut t, 1);
        assert_eq!(order(&caught, 2), [i]);
    }
    let sleeper = t.engine.thread_infos().remove(1);
    assert!(sleeper.sleeps > 0 && sleeper.wakeups > 0, "{sleeper:?}");
}

#[test]
fn flows_keep_their_order_between_running_threads() {
    let mut t = running(2);
    for round in 0..50 {
        inject(&mut t, 1, (0..250).map(|i| vec![if i % 2 == 0 { 2 } else { 1 }, i]));
        inject(&mut t, 2, (0..250).map(|i| vec![1, i]));
        t.engine.fence().unwrap();
        let caught = t.caught();
        assert_eq!(caught.len(), 500, "a fence waits for packets between threads, {round}");
        assert_eq!(order(&caught, 2), (0..250).step_by(2).collect::<Vec<_>>());
    }
    assert_eq!(t.buffers_used(), 0);
}

#[test]
fn threads_come_and_go_without_losing_packets() {
    let mut t = running(0);
    let plan = Plan { cpu: None, shares: true };
    let mut sent = 0;
    let mut caught = 0;
    for round in 0..6 {
        let workers = [1, 3, 2, 3, 1, 0][round];
        let range = if workers == 0 { 0..1 } else { 1..workers + 1 };
        t.engine.add_threads(range.start, &vec![plan; range.len()]).unwrap();
        let there = t.engine.data_threads();
        for from in there.clone() {
            for to in there.clone() {
                inject(&mut t, from, (0..100).map(|i| vec![to as u8, i]));
                sent += 100;
            }
        }
        t.engine.keep_threads(range.clone()).unwrap();
        assert_eq!(t.engine.data_threads(), range);
        let names: Vec<_> = t.engine.thread_infos().into_iter().map(|i| i.name).collect();
        assert_eq!(names[0], if workers == 0 { "vpp_main" } else { "vpp_wk_0" });
        t.engine.fence().unwrap();
        caught += t.caught().len();
        assert_eq!(caught, sent, "after round {round}");
    }
    assert_eq!(t.buffers_used(), 0);
}
