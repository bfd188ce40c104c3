//! Generic receive offload, for whom the router sends to: TCP segments of a flow that leave by one
//! interface are joined to a packet of up to 64 KB, which [`net::gso`] would cut into the same
//! segments again. What takes them gets one packet instead of some forty.
//!
//! A driver's node has a [`Coalescer`] on each of its threads. Segments are joined as long as they
//! come one behind the other and differ in nothing but their numbers, what they acknowledge and
//! the window: both of these count as the last one says. A flow ends with a segment that is
//! shorter or says PSH or FIN, goes before any other packet of its connection, and waits for its
//! next segment no longer than 40 us, or on a test device until the next packets come. What is
//! joined has had its checksum verified.
#![forbid(unsafe_code)]

mod flow;
mod segment;

use std::fmt;

use graph::{Frame, Held, NoAnswer, Node, NodeIndex, Packet};

use flow::{Flow, JoinResult};
use net::Router;
use segment::Look;

/// Flows at most that an interface has segments of on each thread.
pub const FLOWS: usize = 16;
/// Longest wait of a segment for the next of its flow, in seconds. Less than a thread waits for
/// packets before it goes to sleep.
const PATIENCE: f64 = 40e-6;
/// Seconds after which segments of a test device are not joined to later ones.
const TEST_PATIENCE: f64 = 5e-3;
/// Segments of memory that a joined packet has at most: a driver takes as many.
const MOST_SEGMENTS: usize = 60;

/// The shape of an interface's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// They start with an Ethernet header; else with IP.
    pub is_ethernet: bool,
    /// Joined ones are sent as what is to be cut; else their checksum is completed.
    pub is_gso: bool,
}

/// Counts of joined packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// Segments.
    pub segments: u64,
    /// Packets that they were joined to.
    pub packets: u64,
    /// Flows that ended because there were too many.
    pub evicted: u64,
    /// Flows that there are segments of now.
    pub flows: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { segments, packets, evicted, flows } = self;
        write!(f, "flow-table: size {FLOWS}, {flows} in use, {evicted} evicted, ")?;
        write!(f, "{segments} segments joined to {packets} packets")
    }
}

/// Joined segments on each thread, by number, at a driver's node; `of` gives its coalescer.
///
/// # Errors
/// A thread does not answer.
pub fn tallies<N: Node>(
    router: &mut Router,
    tx: NodeIndex,
    of: fn(&N) -> &Coalescer,
) -> Result<Vec<(usize, Tally)>, NoAnswer> {
    let mut all = Vec::new();
    for thread in router.engine.data_threads() {
        let tally = router.engine.with_node(thread, tx, move |n: &mut N| of(n).tally())?;
        all.extend(tally.map(|tally| (thread, tally)));
    }
    Ok(all)
}

/// Joins what an interface sends on one thread, while that is wanted.
#[derive(Debug)]
pub struct Coalescer {
    shape: Shape,
    /// Longest wait of a segment, in seconds.
    patience: f64,
    /// And then goes, or else with the next packets.
    is_on_time: bool,
    table: Option<Box<Table>>,
}

/// Another thread's begins empty.
impl Clone for Coalescer {
    fn clone(&self) -> Self {
        let table = self.table.as_ref().filter(|t| !t.is_ending).map(|_| Box::default());
        Self { table, ..*self }
    }
}

/// The flows, in the order of their first segments.
#[derive(Debug)]
struct Table {
    flows: Vec<Flow>,
    tally: Tally,
    /// Nothing is to be joined any more.
    is_ending: bool,
}

impl Default for Table {
    fn default() -> Self {
        let flows = Vec::with_capacity(FLOWS);
        Self { flows, tally: Tally::default(), is_ending: false }
    }
}

impl Coalescer {
    /// One that joins, or not yet.
    pub fn new(shape: Shape, is_on: bool) -> Self {
        let table = is_on.then(Box::default);
        Self { shape, patience: PATIENCE, is_on_time: true, table }
    }
    /// One of a test device: what waits goes ahead of the next packets, however late they come, so
    /// that a burst is joined the same way each time.
    pub fn for_tests(shape: Shape, is_on: bool) -> Self {
        Self { patience: TEST_PATIENCE, is_on_time: false, ..Self::new(shape, is_on) }
    }
    /// Form of packets.
    pub fn shape(&self) -> Shape {
        self.shape
    }
    /// Begins to join, or ends it: the next call of [`Coalescer::run`] then sends what waits.
    pub fn switch(&mut self, on: bool) {
        match &mut self.table {
            Some(table) => table.is_ending = !on,
            None => self.table = on.then(Box::default),
        }
    }
    /// Whether packets have to come by here.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.table.is_some()
    }
    /// Joined segments on this thread; `None` when none are to be joined.
    pub fn tally(&self) -> Option<Tally> {
        let table = self.table.as_ref()?;
        Some(Tally { flows: table.flows.len(), ..table.tally })
    }
    /// Takes the packets of a frame and gives `send` those that are to go now, as
    /// [`Frame::consume`] would. For a frame without packets as well, with which the node is called
    /// when time has passed.
    #[cold]
    #[inline(never)]
    pub fn run<N: Node, On>(
        &mut self,
        frame: &mut Frame<'_, N, On>,
        mut send: impl FnMut(&mut Packet<'_, N>) -> Result<(), N::Error>,
    ) {
        let packets = frame.take();
        let Some(table) = &mut self.table else { return };
        let now = frame.now();
        let mut out = Out { frame: &mut *frame, send: &mut send, shape: self.shape };
        if !self.is_on_time {
            table.end_before(now - self.patience, &mut out);
        }
        for held in packets {
            table.take(held, now, &mut out);
        }
        if table.is_ending {
            table.end_before(f64::INFINITY, &mut out);
            self.table = None;
        } else if self.is_on_time {
            table.end_before(now - self.patience, &mut out);
            if let Some(flow) = table.flows.first() {
                frame.recall_in(flow.since + self.patience - now);
            }
        }
    }
}

/// Function of a driver that takes a packet.
type Send<'a, N> = dyn FnMut(&mut Packet<'_, N>) -> Result<(), <N as Node>::Error> + 'a;

/// Outlet of packets.
struct Out<'a, 'f, N: Node, On> {
    frame: &'a mut Frame<'f, N, On>,
    send: &'a mut Send<'a, N>,
    shape: Shape,
}

impl<N: Node, On> Out<'_, '_, N, On> {
    fn send(&mut self, mut held: Held) {
        let mut p = self.frame.packet_of(&mut held);
        if let Err(reason) = (self.send)(&mut p) {
            p.error(reason);
            self.frame.count_dropped(1);
        }
        self.frame.release(held);
    }
}

impl Table {
    fn take<N: Node, On>(&mut self, mut held: Held, now: f64, out: &mut Out<'_, '_, N, On>) {
        let look = segment::look(&held.buffer(), out.shape.is_ethernet);
        let (key, segment) = match look {
            Look::Other => return out.send(held),
            Look::Piece => {
                while !self.flows.is_empty() {
                    self.end(0, out);
                }
                return out.send(held);
            }
            Look::Bare(key) => (key, None),
            Look::Data(key, segment) => {
                out.frame.packet_of(&mut held).truncate_chain(segment.end);
                (key, segment.is_right(&held.buffer()).then_some(segment))
            }
        };
        if let Some(at) = self.flows.iter().position(|flow| flow.key == key) {
            held = match segment {
                Some(segment) => match self.flows[at].join(&segment, held) {
                    JoinResult::More => return,
                    JoinResult::Last => return self.end(at, out),
                    JoinResult::Not(held) => held,
                },
                None => held,
            };
            self.end(at, out);
        }
        match segment.filter(|s| !s.is_last()) {
            Some(segment) => {
                if self.flows.len() == FLOWS {
                    self.tally.evicted += 1;
                    self.end(0, out);
                }
                self.flows.push(Flow::new(key, segment, held, now));
            }
            None => out.send(held),
        }
    }
    /// Ends flows whose first segment came at `time` or before.
    fn end_before<N: Node, On>(&mut self, time: f64, out: &mut Out<'_, '_, N, On>) {
        while self.flows.first().is_some_and(|flow| flow.since <= time) {
            self.end(0, out);
        }
    }
    /// Sends a flow's segments as one packet.
    fn end<N: Node, On>(&mut self, at: usize, out: &mut Out<'_, '_, N, On>) {
        let flow = self.flows.remove(at);
        if flow.count > 1 {
            self.tally.packets += 1;
            self.tally.segments += flow.count;
        }
        out.send(flow.into_packet(out.shape.is_gso));
    }
}

#[cfg(test)]
mod tests;
