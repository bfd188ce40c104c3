//! The engine from outside: frames, merging, arcs, drops, panics, trace, deleted nodes.

use std::convert::Infallible;
use std::fmt;

use graph::arc::{FeatureArc, Side};
use graph::testing::{TestGraph, TestInput};
use graph::{Buffer, Continue, Flags, Frame, Names, Node, Record};

static ARC: FeatureArc = FeatureArc {
    name: "test-arc",
    starts: &["split"],
    order: &["first", "second", "third"],
    end: "end",
    side: Side::Receive,
};

/// Sends odd bytes to `odd`, 0xff over the arc's features, drops 0, panics at 0xee.
#[derive(Clone)]
struct Split;

#[derive(Clone, Copy, graph::Next)]
enum SplitNext {
    #[to("odd")]
    Odd,
    #[to("even")]
    Even,
    #[to("end")]
    End,
    #[dynamic]
    Feature(graph::Slot),
}

#[derive(Clone, Copy, graph::Reason)]
enum SplitError {
    /// Zero is not welcome.
    Zero,
    /// Empty packet.
    #[name("no bytes")]
    Empty,
}

#[derive(Clone, Copy, graph::Count)]
enum SplitCount {
    /// Packets looked at.
    Seen,
}

struct Said(u8);

impl Record for Said {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  byte {} from {}", self.0, names.name("interface", 7))
    }
}

impl Node for Split {
    const NAME: &'static str = "split";
    type Next = SplitNext;
    type Error = SplitError;
    type Count = SplitCount;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let arc = frame.start(&ARC);
        let n = frame.len() as u64;
        frame.each(|p| {
            let byte = *p.bytes().first().ok_or(SplitError::Empty)?;
            p.trace(|_| Said(byte));
            match byte {
                0 => Err(SplitError::Zero),
                0xee => panic!("magic packet"),
                0xff => {
                    let rx = p.rx();
                    Ok(arc.first(rx).map_or(SplitNext::End, SplitNext::Feature))
                }
                b if b % 2 == 1 => Ok(SplitNext::Odd),
                _ => Ok(SplitNext::Even),
            }
        });
        frame.count(SplitCount::Seen, n);
    }
}

/// Appends its letter and goes on.
#[derive(Clone)]
struct Letter<const L: char>;

impl<const L: char> Node for Letter<L> {
    const NAME: &'static str = match L {
        'a' => "first",
        'b' => "second",
        _ => "third",
    };
    type Next = Continue;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            p.append(&[L as u8]).expect("there is room");
            Ok(Continue)
        });
    }
}

/// Takes packets with a payload only.
#[derive(Clone)]
struct Picky;

impl Node for Picky {
    const NAME: &'static str = "picky";
    type Next = SplitNext;
    type Error = Infallible;
    type Count = Infallible;
    const INPUT: &'static str = "something";
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.forward_all(SplitNext::Odd);
    }
}

struct Plain;
impl Names for Plain {
    fn name(&self, kind: &str, index: u32) -> String {
        format!("{kind}{index}")
    }
}

fn graph() -> TestGraph {
    TestGraph::new(|e| {
        e.add(Split)?;
        e.add_feature(&ARC, Letter::<'c'>)?;
        e.add_feature(&ARC, Letter::<'a'>)?;
        e.add_input(TestInput { packets: Vec::new(), next: SplitNext::Odd, rx: 0 })
    })
    .0
}

fn rx3(p: &mut Buffer<'_>) {
    p.set_rx(3);
}

#[test]
fn packets_scatter_in_order_whatever_the_frame_size() {
    for n in [1usize, 3, 4, 255, 256, 257, 600] {
        let mut g = graph();
        let packets: Vec<_> = (0..n).map(|i| vec![(i % 200 + 1) as u8, (i / 200) as u8]).collect();
        let out = g.send("split", &packets, rx3);
        for (name, parity) in [("odd", 1), ("even", 0)] {
            let got: Vec<_> =
                out.iter().filter(|c| c.at == name).map(|c| c.bytes.clone()).collect();
            let want: Vec<_> = packets.iter().filter(|p| p[0] % 2 == parity).cloned().collect();
            assert_eq!(got, want, "{name} of {n}");
        }
        g.expect_counters(&[("split", "seen", n as u64)]);
        assert_eq!(g.buffers_used(), 0);
    }
}

#[test]
fn err_is_a_counted_drop_through_the_drop_node() {
    let mut g = graph();
    let out = g.send("split", &[vec![0], vec![], vec![2]], rx3);
    let drops: Vec<_> = out.iter().map(|c| (c.at.as_str(), c.error.as_str())).collect();
    let split = |t: &str| format!("split: {t}");
    let (zero, empty) = (split("Zero is not welcome"), split("Empty packet"));
    assert_eq!(drops, [("error-drop", zero.as_str()), ("error-drop", &empty), ("even", "")]);
    g.expect_counters(&[("split", "zero", 1), ("split", "no bytes", 1), ("split", "seen", 3)]);
}

#[test]
fn features_run_in_the_catalogues_order_on_their_interface_only() {
    let mut g = graph();
    g.engine.set_feature(&ARC, "third", 3, true).unwrap();
    g.engine.set_feature(&ARC, "first", 3, true).unwrap();
    assert!(g.engine.set_feature(&ARC, "second", 3, true).is_err(), "not built");

    let out = g.send("split", &[vec![0xff]], rx3);
    assert_eq!((out[0].at.as_str(), out[0].bytes.as_slice()), ("end", &b"\xffac"[..]));
    let other = g.send("split", &[vec![0xff]], |p| p.set_rx(4));
    assert_eq!(other[0].bytes, b"\xff");
    assert_eq!(g.engine.features_of(3), [("test-arc", vec!["first", "third"])]);

    g.engine.set_feature(&ARC, "first", 3, false).unwrap();
    let out = g.send("split", &[vec![0xff]], rx3);
    assert_eq!(out[0].bytes, b"\xffc");
}

#[test]
fn a_panic_costs_its_frame_and_nothing_else() {
    let mut g = graph();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let out = g.send("split", &[vec![2], vec![0xee], vec![4]], rx3);
    std::panic::set_hook(hook);
    assert!(out.is_empty());
    g.expect_counters(&[("split", "node_failed", 3)]);
    assert_eq!(g.send("split", &[vec![2]], rx3).len(), 1);
    assert_eq!(g.buffers_used(), 0);
}

/// Judges its packets twice.
#[derive(Clone)]
struct Twice;

impl Node for Twice {
    const NAME: &'static str = "twice";
    type Next = SplitNext;
    type Error = Infallible;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|_| Ok(SplitNext::Odd));
        frame.each(|_| Ok(SplitNext::Even));
        frame.passes(|packets| packets.usual(packets.all(), |_, _| Some(SplitNext::Even)));
        frame.consume(|_| Ok(()));
    }
}

#[test]
fn a_packet_goes_on_only_once() {
    let mut g = TestGraph::new(|e| e.add(Twice)).0;
    let out = g.send("twice", &[vec![1], vec![2]], rx3);
    assert_eq!(out.iter().map(|c| c.at.as_str()).collect::<Vec<_>>(), ["odd", "odd"]);
    assert_eq!(g.buffers_used(), 0);
}

#[test]
fn frames_for_the_same_node_merge_and_a_trace_tells_the_way() {
    let mut g = graph();
    let input = g.engine.index_of("test-input").unwrap();
    g.engine.trace(input, 2);
    g.engine
        .with_node(0, input, |i: &mut TestInput<SplitNext>| i.packets = vec![vec![9; 5000]; 3])
        .unwrap();
    let out = g.run();
    assert_eq!(out.len(), 3);
    assert!(out.iter().all(|c| c.bytes == vec![9; 5000] && c.flags == Flags::default()));
    let rows = g.engine.runtime_rows().unwrap();
    let odd = rows[0].nodes.iter().find(|n| n.name == "odd").unwrap();
    assert_eq!((odd.stats.calls, odd.stats.vectors), (1, 3));
    let text = g.trace_text(&Plain);
    assert_eq!(text.len(), 2);
    assert!(text[0].contains(": test-input\n") && text[0].ends_with(": odd\n"), "{}", text[0]);
    g.engine.clear_trace();
    assert_eq!((g.trace_text(&Plain).len(), g.buffers_used()), (0, 0));

    g.engine.trace(input, 1);
    g.engine.with_node(0, input, |i: &mut TestInput<SplitNext>| i.packets = vec![vec![9]]).unwrap();
    g.run();
    assert_eq!(g.trace_text(&Plain).len(), 1);
}

#[test]
fn a_removed_node_drops_what_still_reaches_it_and_its_number_serves_again() {
    let mut g = graph();
    let one = g.engine.add_named("if1-tx", Letter::<'z'>).unwrap();
    let slot = g.engine.connect("split", "if1-tx").unwrap();
    assert!(g.engine.add_named("if1-tx", Letter::<'z'>).is_err());
    g.engine.add(Picky).unwrap();
    let why = g.engine.connect("split", "picky").unwrap_err();
    assert_eq!(why.to_string(), "split sends picky another payload than it accepts");
    g.engine.remove(one);
    assert!(g.engine.connect("split", "if1-tx").is_err());
    let out = g.send("even", &[], rx3);
    assert!(out.is_empty());
    let two = g.engine.add_named("if2-tx", Letter::<'z'>).unwrap();
    assert_eq!((two, g.engine.connect("split", "if2-tx").unwrap()), (one, slot));
}

/// Sends two long new packets behind each packet of one byte.
#[derive(Clone)]
struct Multiply;

impl Node for Multiply {
    const NAME: &'static str = "multiply";
    type Next = SplitNext;
    type Error = SplitError;
    type Count = Infallible;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        frame.each(|p| {
            let byte = p.bytes()[0];
            for _ in 0..2 {
                let mut new = p.fresh().ok_or(SplitError::Empty)?;
                new.extend(&[byte; 5000]).ok_or(SplitError::Empty)?;
                new.follow().ok_or(SplitError::Empty)?;
            }
            match byte {
                0 => Err(SplitError::Zero),
                0xee => panic!("magic packet"),
                b if b % 2 == 1 => Ok(SplitNext::Odd),
                _ => Ok(SplitNext::Even),
            }
        });
    }
}

#[test]
fn followers_stay_behind_their_leader() {
    let (mut g, _) = TestGraph::new(|e| {
        e.add(Multiply)?;
        e.add_input(TestInput { packets: Vec::new(), next: SplitNext::Odd, rx: 0 })
    });
    for n in [1, 3, 4, 255, 256] {
        let packets: Vec<_> = (1..=n).map(|i| vec![(i % 100 + 1) as u8]).collect();
        let caught = g.send("multiply", &packets, |_| ());
        for at in ["odd", "even"] {
            let mine: Vec<_> = caught.iter().filter(|c| c.at == at).collect();
            let bytes: Vec<_> = packets.iter().map(|p| p[0]).collect();
            let bytes: Vec<_> =
                bytes.into_iter().filter(|b| (b % 2 == 1) == (at == "odd")).collect();
            assert_eq!(mine.len(), bytes.len() * 3, "{n} packets, {at}");
            for (group, byte) in mine.chunks(3).zip(bytes) {
                assert_eq!(group[0].bytes, [byte]);
                assert_eq!(group[1].bytes, vec![byte; 5000]);
                assert_eq!(group[2].bytes, vec![byte; 5000]);
            }
        }
    }
    g.expect_counters(&[]);
    assert_eq!(g.send("multiply", &[vec![0], vec![2]], |_| ()).len(), 6, "dropped ones too");
    assert!(g.send("multiply", &[vec![1], vec![0xee], vec![3]], |_| ()).is_empty());
    assert_eq!(g.buffers_used(), 0);
}

/// Sends even bytes on at once, others after a closer look.
#[derive(Clone)]
struct Sieve;

impl Node for Sieve {
    const NAME: &'static str = "sieve";
    type Next = SplitNext;
    type Error = SplitError;
    type Count = SplitCount;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let mut usual = 0;
        frame.passes(|packets| {
            packets.usual(packets.all(), |_, p| {
                let is_even = p.bytes().first().is_some_and(|b| *b != 0 && b.is_multiple_of(2));
                usual += u64::from(is_even);
                is_even.then_some(SplitNext::Even)
            });
            packets.others(packets.all(), |_, p| {
                match *p.bytes().first().ok_or(SplitError::Empty)? {
                    0 => Err(SplitError::Zero),
                    byte => {
                        p.trace(|_| Said(byte));
                        Ok(if byte.is_multiple_of(2) { SplitNext::End } else { SplitNext::Odd })
                    }
                }
            });
        });
        frame.count(SplitCount::Seen, usual);
    }
}

#[test]
fn the_usual_and_the_others_leave_in_order_whatever_the_frame_size() {
    for n in [1usize, 3, 4, 255, 256, 257] {
        let mut g = TestGraph::new(|e| e.add(Sieve)).0;
        let packets: Vec<_> = (0..n).map(|i| vec![(i % 200) as u8, (i / 200) as u8]).collect();
        let out = g.send("sieve", &packets, rx3);
        for (name, parity) in [("odd", 1), ("even", 0)] {
            let got: Vec<_> =
                out.iter().filter(|c| c.at == name).map(|c| c.bytes.clone()).collect();
            let is_mine = |p: &&Vec<u8>| p[0] % 2 == parity && p[0] != 0;
            let want: Vec<_> = packets.iter().filter(is_mine).cloned().collect();
            assert_eq!(got, want, "{name} of {n}");
        }
        let zeros = packets.iter().filter(|p| p[0] == 0).count() as u64;
        let even = out.iter().filter(|c| c.at == "even").count() as u64;
        let mut expected = vec![("sieve", "zero", zeros)];
        expected.extend((even > 0).then_some(("sieve", "seen", even)));
        g.expect_counters(&expected);
        assert_eq!(g.buffers_used(), 0);
    }
}

#[test]
fn packets_of_several_segments_are_never_usual() {
    let mut g = TestGraph::new(|e| e.add(Sieve)).0;
    let out = g.send("sieve", &[vec![2], vec![2; 5000], vec![]], rx3);
    let went: Vec<_> = out.iter().map(|c| c.at.as_str()).collect();
    assert_eq!(went, ["even", "end", "error-drop"]);
    g.expect_counters(&[("sieve", "no bytes", 1), ("sieve", "seen", 1)]);
}
