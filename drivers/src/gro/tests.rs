use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use graph::testing::TestGraph;
use graph::{Buffer, Flags};
use proptest::prelude::*;
use wire::ethernet::{self, EtherType};
use wire::upper::{Upper, ip_offset};
use wire::zerocopy::{FromBytes, IntoBytes};
use wire::{MacAddr, Protocol, ip4, ip6, tcp, vlan};

use super::*;
use net::gso::{Layout, Segments};

/// A packet that left.
#[derive(Clone, Debug)]
struct Left {
    bytes: Vec<u8>,
    gso_size: u16,
    /// The packet as it is cut again.
    cut: Vec<Vec<u8>>,
}

/// The node of a driver.
#[derive(Clone)]
struct Tx {
    coalescer: Coalescer,
    left: Arc<Mutex<Vec<Left>>>,
}

#[derive(Clone, Copy, graph::Reason)]
enum Refused {
    /// Not to be sent.
    Unwanted,
}

impl Node for Tx {
    const NAME: &'static str = "tx";
    type Next = Infallible;
    type Error = Refused;
    type Count = Infallible;

    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let left = Arc::clone(&self.left);
        let send = |p: &mut Packet<'_, Self>| {
            let left_now = Left::of(p);
            let is_unwanted = left_now.bytes.last() == Some(&0xee);
            left.lock().unwrap().push(left_now);
            if is_unwanted { Err(Refused::Unwanted) } else { Ok(()) }
        };
        if self.coalescer.is_on() {
            self.coalescer.run(frame, send);
        } else {
            frame.consume(send);
        }
    }
    fn end(&mut self, frame: &mut Frame<'_, Self>) {
        self.coalescer.switch(false);
        self.process(frame);
    }
}

impl Left {
    fn of(p: &Buffer<'_>) -> Self {
        let bytes = p.segments().flatten().copied().collect::<Vec<u8>>();
        let cut = if p.flags().has(Flags::GSO) {
            let segments = Segments::new(&bytes, Layout::of(p).unwrap(), p.gso_size().into());
            segments.unwrap().map(|s| [s.headers(), s.payload].concat()).collect()
        } else {
            vec![bytes.clone()]
        };
        Self { bytes, gso_size: p.gso_size(), cut }
    }
}

struct Bench {
    graph: TestGraph,
    node: graph::NodeIndex,
    left: Arc<Mutex<Vec<Left>>>,
}

impl Bench {
    fn new(is_gso: bool) -> Self {
        let left = Arc::default();
        let shape = Shape { is_ethernet: true, is_gso };
        let coalescer = Coalescer { patience: LONG, ..Coalescer::new(shape, true) };
        let tx = Tx { coalescer, left: Arc::clone(&left) };
        let (graph, node) = TestGraph::new(|engine| engine.add(tx));
        Self { graph, node, left }
    }
    /// Packets that leave when these come at once.
    fn send(&mut self, packets: &[Vec<u8>]) -> Vec<Left> {
        self.graph.send("tx", packets, |_| ());
        std::mem::take(&mut *self.left.lock().unwrap())
    }
    /// Packets that leave when none come for so long.
    fn wait(&mut self, seconds: f64) -> Vec<Left> {
        self.graph.engine.clock().adjust(seconds);
        self.send(&[])
    }
    fn tally(&mut self) -> Option<Tally> {
        self.graph.engine.with_node(0, self.node, |tx: &mut Tx| tx.coalescer.tally()).unwrap()
    }
}

/// A connection.
#[derive(Clone, Copy, Debug)]
struct Connection {
    port: u16,
    is_ip6: bool,
    is_tagged: bool,
    may_be_fragmented: bool,
    options: usize,
}

const PLAIN: Connection =
    Connection { port: 1, is_ip6: false, is_tagged: false, may_be_fragmented: false, options: 0 };
/// Longest wait of a segment here, in seconds: longer than a test takes.
const LONG: f64 = 1000.0;
const ACK: tcp::Flags = tcp::Flags::ACK;

impl Connection {
    /// A frame, right in all respects.
    fn frame(self, tcp: tcp::Header, id: u16, data: &[u8]) -> Vec<u8> {
        let kind = if self.is_ip6 { EtherType::IP6 } else { EtherType::IP4 };
        let tag = if self.is_tagged { EtherType::VLAN } else { kind };
        let ethernet = ethernet::Header::new(MacAddr([2; 6]), MacAddr([4; 6]), tag);
        let mut frame = ethernet.as_bytes().to_vec();
        if self.is_tagged {
            frame.extend(vlan::Tag::new(vlan::Id::MAX, kind).as_bytes());
        }
        let (l3, len) = (frame.len(), 20 + self.options + data.len());
        if self.is_ip6 {
            let (src, dst) = ([1; 16].into(), [2; 16].into());
            frame.extend(ip6::Header::new(src, dst, Protocol::TCP, len as u16).as_bytes());
        } else {
            let (src, dst) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
            let mut ip = ip4::Header::new(src, dst, Protocol::TCP, (20 + len) as u16);
            ip.fragment = if self.may_be_fragmented { 0 } else { ip4::DONT_FRAGMENT }.into();
            ip.id = id.into();
            ip.update_checksum();
            frame.extend(ip.as_bytes());
        }
        let tcp = tcp::Header { src_port: self.port.into(), ..tcp };
        frame.extend(
            tcp::Header { data_offset: (5 + self.options as u8 / 4) << 4, ..tcp }.as_bytes(),
        );
        frame.extend(vec![1; self.options]);
        frame.extend(data);
        summed(frame, l3)
    }
}

/// A frame with its TCP checksum.
fn summed(mut frame: Vec<u8>, l3: usize) -> Vec<u8> {
    let upper = Upper::of(&frame[l3..]).unwrap();
    let l4 = l3 + upper.offset;
    frame[l4 + 16..l4 + 18].fill(0);
    let sum = upper.pseudo(&frame[l3..], frame.len() - l4).unwrap().add_bytes(&frame[l4..]);
    frame[l4 + 16..l4 + 18].copy_from_slice(sum.checksum().as_bytes());
    frame
}

fn header(seq: u32, ack: u32, flags: tcp::Flags) -> tcp::Header {
    tcp::Header::new(0, 80, seq, ack, flags)
}

/// Segments of 1460 bytes, one behind the other, each acknowledging one byte more.
fn stream(of: Connection, count: u32) -> Vec<Vec<u8>> {
    let frame = |n| of.frame(header(n * 1460, n, ACK), n as u16, &[n as u8; 1460]);
    (0..count).map(frame).collect()
}

/// Bytes of a frame that have to leave as received, and whether its checksums are right.
/// Acknowledgements, the window, padding and meaningless identifications may change.
fn kept(frame: &[u8]) -> (Vec<u8>, bool) {
    let l3 = ip_offset(frame).unwrap();
    let Some(upper) = Upper::of(&frame[l3..]).filter(|u| !u.is_fragment) else {
        return (frame.to_vec(), false);
    };
    let (mut bytes, l4) = (frame[..l3 + upper.end].to_vec(), l3 + upper.offset);
    let sum = upper.pseudo(&bytes[l3..], bytes.len() - l4).unwrap().add_bytes(&bytes[l4..]);
    let (tcp, _) = tcp::Header::mut_from_prefix(&mut bytes[l4..]).unwrap();
    (tcp.ack, tcp.window, tcp.checksum) = Default::default();
    let mut is_right = sum.is_valid();
    if let Ok((ip, _)) = ip4::Header::mut_from_prefix(&mut bytes[l3..])
        && ip.version() == 4
    {
        is_right &= ip.is_checksum_valid();
        if ip.dont_fragment() {
            (ip.id, ip.checksum) = Default::default();
        }
    }
    (bytes, is_right)
}

#[test]
fn segments_leave_as_packets_of_64_kb() {
    for of in [PLAIN, Connection { is_ip6: true, ..PLAIN }] {
        let mut bench = Bench::new(true);
        let frames = stream(of, 124);
        let mut left = bench.send(&frames);
        assert_eq!(left.len(), 2);
        assert_eq!(bench.tally().unwrap().flows, 1);
        left.extend(bench.wait(LONG));
        assert_eq!(left.iter().map(|l| l.cut.len()).collect::<Vec<_>>(), [44, 44, 36]);
        assert!(left.iter().all(|l| l.gso_size == 1460));
        let l4 = if of.is_ip6 { 54 } else { 34 };
        let acks = left.iter().map(|l| tcp::Header::ref_from_prefix(&l.bytes[l4..]).unwrap().0.ack);
        assert_eq!(acks.map(|ack| ack.get()).collect::<Vec<_>>(), [43, 87, 123]);
        let cut: Vec<_> = left.iter().flat_map(|l| &l.cut).map(|f| kept(f)).collect();
        assert_eq!(cut, frames.iter().map(|f| kept(f)).collect::<Vec<_>>());
        let joined = Tally { segments: 124, packets: 3, ..Tally::default() };
        assert_eq!(bench.tally(), Some(joined));
        assert_eq!(bench.graph.buffers_used(), 0);
    }
}

#[test]
fn a_joined_packet_that_nobody_cuts_has_its_checksum() {
    let mut bench = Bench::new(false);
    let left = [bench.send(&stream(PLAIN, 3)), bench.wait(LONG)].concat();
    assert_eq!((left.len(), left[0].gso_size), (1, 0));
    let (bytes, is_right) = kept(&left[0].bytes);
    assert_eq!((bytes.len(), is_right), (54 + 3 * 1460, true));
}

#[test]
fn a_flow_ends_with_push_fin_or_a_short_segment() {
    let mut bench = Bench::new(true);
    let first = |seq| PLAIN.frame(header(seq, 1, ACK), 1, &[1; 100]);
    let padded = [PLAIN.frame(header(100, 1, ACK), 1, &[2; 1]), vec![0; 5]].concat();
    let ends = [
        PLAIN.frame(header(100, 1, ACK | tcp::Flags::PSH), 1, &[2; 100]),
        PLAIN.frame(header(100, 1, ACK | tcp::Flags::FIN), 1, &[2; 100]),
        PLAIN.frame(header(100, 1, ACK), 1, &[2; 99]),
        padded,
    ];
    for end in ends {
        let left = bench.send(&[first(0), end.clone(), first(900)]);
        assert_eq!(left.len(), 1);
        assert_eq!(
            left[0].cut.iter().map(|f| kept(f)).collect::<Vec<_>>(),
            [kept(&first(0)), kept(&end)]
        );
        assert_eq!(bench.wait(LONG).len(), 1);
    }
    let alone = PLAIN.frame(header(0, 1, ACK | tcp::Flags::PSH), 1, &[2; 100]);
    assert_eq!(bench.send(&[alone]).len(), 1);
}

#[test]
fn what_cannot_be_joined_comes_behind_what_waits() {
    let data = [7; 100];
    let next = |change: fn(&mut tcp::Header)| {
        let mut tcp = header(100, 1, ACK);
        change(&mut tcp);
        PLAIN.frame(tcp, 2, &data)
    };
    let of_ip = |change: fn(&mut ip4::Header)| {
        let mut frame = next(|_| ());
        let (ip, _) = ip4::Header::mut_from_prefix(&mut frame[14..]).unwrap();
        change(ip);
        ip.update_checksum();
        frame
    };
    let mut wrong = next(|_| ());
    *wrong.last_mut().unwrap() ^= 1;
    let mut elsewhere = next(|_| ());
    elsewhere[0] = 6;
    let optional = Connection { options: 4, ..PLAIN };
    let strangers = [
        PLAIN.frame(header(100, 1, ACK), 2, &[]),
        next(|t| t.seq = 101.into()),
        next(|t| t.seq = 99.into()),
        next(|t| t.ack = 0.into()),
        next(|t| t.flags = ACK | tcp::Flags::RST),
        next(|t| t.flags = ACK | tcp::Flags::CWR),
        next(|t| t.flags = tcp::Flags::default()),
        PLAIN.frame(header(100, 1, ACK), 2, &[7; 101]),
        optional.frame(header(100, 1, ACK), 2, &data),
        of_ip(|ip| ip.tos = 3),
        of_ip(|ip| ip.ttl -= 1),
        of_ip(|ip| ip.fragment = 0.into()),
        of_ip(|ip| ip.fragment = ip4::MORE_FRAGMENTS.into()),
        wrong,
        elsewhere,
    ];
    let mut bench = Bench::new(true);
    for stranger in strangers {
        let first = PLAIN.frame(header(0, 1, ACK), 1, &data);
        let left = [bench.send(&[first.clone(), stranger.clone()]), bench.wait(LONG)].concat();
        let bytes = left.iter().map(|l| l.bytes.clone()).collect::<Vec<_>>();
        assert_eq!(bytes, [first, stranger]);
    }
    assert_eq!(bench.tally(), Some(Tally::default()));
    let grown = Connection { may_be_fragmented: true, ..PLAIN };
    let frame = |seq, id| grown.frame(header(seq, 1, ACK), id, &data);
    assert_eq!(bench.send(&[frame(0, 5), frame(100, 6), frame(200, 8)])[0].cut.len(), 2);
}

#[test]
fn others_do_not_wait() {
    let mut bench = Bench::new(true);
    let mut udp = PLAIN.frame(header(0, 1, ACK), 1, &[1; 100]);
    udp[14 + 9] = Protocol::UDP.0;
    let [one, two]: [Vec<u8>; 2] = stream(PLAIN, 2).try_into().unwrap();
    let left = bench.send(&[one, udp.clone(), vec![9; 60], two]);
    assert_eq!(left.iter().map(|l| &l.bytes).collect::<Vec<_>>(), [&udp, &vec![9; 60]]);
    assert_eq!(bench.wait(LONG)[0].cut.len(), 2);
}

#[test]
fn the_oldest_goes_when_there_are_too_many() {
    let mut bench = Bench::new(true);
    let of = |port| stream(Connection { port, ..PLAIN }, 1).remove(0);
    let frames: Vec<_> = (0..=FLOWS as u16).map(of).collect();
    let left = bench.send(&frames);
    assert_eq!(left.iter().map(|l| &l.bytes).collect::<Vec<_>>(), [&frames[0]]);
    let tally = Tally { evicted: 1, flows: FLOWS, ..Tally::default() };
    assert_eq!(bench.tally(), Some(tally));
    assert_eq!(bench.wait(LONG).len(), FLOWS);
}

#[test]
fn time_runs_from_the_first_segment() {
    let mut bench = Bench::new(true);
    let frames = stream(PLAIN, 3);
    assert!(bench.send(&frames[..1]).is_empty());
    assert!(bench.wait(LONG * 0.6).is_empty());
    assert!(bench.send(&frames[1..2]).is_empty());
    assert_eq!(bench.wait(LONG * 0.4)[0].cut.len(), 2);
    assert!(bench.wait(LONG).is_empty());
}

#[test]
fn nothing_stays_when_it_is_switched_off_or_ends() {
    let mut bench = Bench::new(true);
    bench.send(&stream(PLAIN, 2));
    let node = bench.node;
    bench.graph.engine.visit(0, node, |tx: &mut Tx, frame| {
        tx.coalescer.switch(false);
        tx.process(frame);
    });
    assert_eq!(
        bench.send(&stream(PLAIN, 2)).iter().map(|l| l.cut.len()).collect::<Vec<_>>(),
        [2, 1, 1]
    );
    assert_eq!(bench.tally(), None);
    bench.graph.engine.visit(0, node, |tx: &mut Tx, _| tx.coalescer.switch(true));
    bench.send(&stream(PLAIN, 2));
    bench.graph.engine.visit(0, node, |tx: &mut Tx, frame| tx.end(frame));
    assert_eq!(bench.send(&[])[0].cut.len(), 2);
    assert_eq!(bench.graph.buffers_used(), 0);
}

#[test]
fn what_a_driver_refuses_is_counted() {
    let mut bench = Bench::new(true);
    let frame = |seq, byte: u8| PLAIN.frame(header(seq, 1, ACK), 1, &[byte; 50]);
    bench.send(&[frame(0, 1), frame(50, 0xee)]);
    bench.wait(LONG);
    bench.graph.expect_counters(&[("tx", "unwanted", 1)]);
    assert_eq!(bench.graph.buffers_used(), 0);
}

/// Next segment of a connection.
#[derive(Clone, Copy, Debug)]
struct Step {
    of: usize,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Full,
    Short(usize),
    Push,
    Bare,
    Wrong,
    Gap,
    Padded,
    Marked,
    Piece,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let what = prop_oneof![
        20 => Just(What::Full),
        1 => (1..100usize).prop_map(What::Short),
        1 => Just(What::Push),
        1 => Just(What::Bare),
        1 => Just(What::Wrong),
        1 => Just(What::Gap),
        1 => Just(What::Padded),
        1 => Just(What::Marked),
        1 => Just(What::Piece),
    ];
    let step = (0..4usize, what).prop_map(|(of, what)| Step { of, what });
    proptest::collection::vec(step, 1..400)
}

const CONNECTIONS: [(Connection, usize); 4] = [
    (PLAIN, 1460),
    (Connection { port: 2, is_ip6: true, options: 12, ..PLAIN }, 1428),
    (Connection { port: 3, may_be_fragmented: true, is_tagged: true, ..PLAIN }, 101),
    (Connection { port: 4, is_ip6: true, is_tagged: true, ..PLAIN }, 3000),
];

/// The next frame of a connection, which has come to `seq` with packet `n`.
fn next_frame((of, mss): (Connection, usize), seq: &mut u32, n: u16, what: What) -> Vec<u8> {
    let l3 = if of.is_tagged { 18 } else { 14 };
    let len = match what {
        What::Bare => 0,
        What::Short(len) => len,
        What::Padded => 1,
        _ => mss,
    };
    let flags = if matches!(what, What::Push) { ACK | tcp::Flags::PSH } else { ACK };
    if matches!(what, What::Gap) {
        *seq = seq.wrapping_add(7);
    }
    let data: Vec<u8> = (0..len).map(|at| (at as u32).wrapping_add(*seq) as u8).collect();
    let mut frame = of.frame(header(*seq, n.into(), flags), n, &data);
    *seq = seq.wrapping_add(len as u32);
    match what {
        What::Wrong => *frame.last_mut().unwrap() ^= 0x55,
        What::Padded => frame.extend([0; 5]),
        What::Marked if of.is_ip6 => frame[l3 + 1] |= 0x30,
        What::Marked | What::Piece if !of.is_ip6 => {
            let (ip, _) = ip4::Header::mut_from_prefix(&mut frame[l3..]).unwrap();
            match what {
                What::Marked => ip.tos = 3,
                _ => ip.fragment = ip4::MORE_FRAGMENTS.into(),
            }
            ip.update_checksum();
        }
        _ => (),
    }
    frame
}

/// Frames by connection, as far as it shows.
fn by_connection<'f>(frames: impl Iterator<Item = &'f Vec<u8>>) -> Vec<Vec<(Vec<u8>, bool)>> {
    let mut all = vec![Vec::new(); CONNECTIONS.len()];
    for frame in frames {
        let l3 = ip_offset(frame).unwrap();
        let l4 = l3 + Upper::of(&frame[l3..]).unwrap().offset;
        let port = u16::from_be_bytes([frame[l4], frame[l4 + 1]]);
        all[usize::from(port) - 1].push(kept(frame));
    }
    all
}

proptest! {
    #[test]
    fn cut_again_all_is_as_it_came(
        steps in steps(),
        start in any::<u32>(),
        sizes in proptest::collection::vec(1..120usize, 20),
    ) {
        let mut bench = Bench::new(true);
        let (mut seqs, mut counts) = ([start; 4], [0; 4]);
        let frames: Vec<_> = steps.iter().map(|step| {
            counts[step.of] += 1;
            let (seq, n) = (&mut seqs[step.of], counts[step.of]);
            next_frame(CONNECTIONS[step.of], seq, n, step.what)
        }).collect();
        let (mut left, mut rest) = (Vec::new(), &frames[..]);
        for size in sizes.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*size));
            left.extend(bench.send(now));
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        left.extend(bench.wait(LONG));
        let cut = by_connection(left.iter().flat_map(|l| &l.cut));
        let came = by_connection(frames.iter());
        for (cut, came) in cut.iter().zip(&came) {
            prop_assert_eq!(cut, came);
        }
        prop_assert_eq!(bench.graph.buffers_used(), 0);
    }
}

#[test]
fn on_a_test_device_what_waits_goes_ahead_of_the_next_packets() {
    let mut b = Bench::new(true);
    let coalescer = Coalescer::for_tests(Shape { is_ethernet: true, is_gso: true }, true);
    let set = |tx: &mut Tx| tx.coalescer = coalescer;
    b.graph.engine.with_node(0, b.node, set).unwrap();
    let segments = stream(PLAIN, 3);
    assert!(b.send(&segments[..2]).is_empty());
    assert!(b.wait(1.0).is_empty());
    // The next segment is too late to be joined.
    let left = b.send(&segments[2..]);
    assert_eq!(left.iter().map(|l| l.cut.len()).collect::<Vec<_>>(), [2]);
    assert_eq!(b.tally().unwrap().flows, 1);
}
