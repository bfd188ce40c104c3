//! The nodes that gather the fragments of packets, each those of its place.
//!
//! A packet's fragments meet on one thread, which a hash of what they have in common chooses; the
//! others hand them over. What a node does with them is its [`Method`]'s business: here they are
//! recognized, held within limits, and given up.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};

use graph::arc::Along;
use graph::{Buffer, Edge, Flags, Frame, Held, Node, Payload};
use infra::rcu::{Epoch, Reader, SlabReader};

use super::config::{Config, Settings};
use super::handoff::Owner;
use super::pieces::{List, Piece, Pieces};
use super::place::{AGAIN, CUSTOM, LOCAL, PLACES, SENT};
use super::table::Table;
use super::trace::FragmentTrace;
use super::version::{Fragment, Reassemble};
use super::walk::{Reporter, Task};
use super::{Incomplete, Usage};
use crate::adjacency::Adjacency;
use crate::drops::Problem;
use crate::events::EventSender;

/// Reason why an explanation of a fragment ends here.
const WAITS: &str = "it waits here for other fragments of its packet; give the whole packet";

/// Packets in a frame at most.
const FRAME: usize = 256;

/// The reassembly of a packet's fragments.
pub(super) trait Method<V: Reassemble>: Clone + Send + Sized + 'static {
    /// The ICMP error for its sender when a packet stays incomplete.
    const TIMEOUT_PROBLEM: Option<Problem>;
    /// The state of a partly received packet.
    type Packet: Entry;
    /// Whether the first fragment goes on by itself, unless the last is waited for as well.
    const PASSES_FIRST: bool;

    /// With nothing in it.
    fn new() -> Self;
    /// Does what one fragment calls for.
    fn take_in<const PLACE: usize, On: graph::Cpu>(
        node: &mut Gather<V, Self, PLACE>,
        frame: &mut Frame<'_, Gather<V, Self, PLACE>, On>,
        fragment: New<V>,
    );
    /// Makes the only fragment of a packet what goes on.
    fn take_only(p: &mut Buffer<'_>);
}

/// A packet some of whose fragments have come.
pub(super) trait Entry: Send + 'static {
    /// The fragments that are held.
    fn list(&mut self) -> &mut List;
    /// From when on its time counts, in seconds.
    fn since(&self) -> f64;
    /// Description for a trace.
    fn text(&self) -> String;
}

/// A fragment that has come.
pub(super) struct New<V: Reassemble> {
    pub(super) key: V::Key,
    /// Receive interface.
    pub(super) rx: u32,
    pub(super) piece: Piece,
    /// Place of its IP header, in bytes.
    pub(super) l3: usize,
    /// Whether nothing follows it.
    pub(super) is_last: bool,
    pub(super) config: Config,
    /// Whether fragments wait for the last one as well as the first (shallow reassembly).
    pub(super) is_extended: bool,
    /// The time in seconds.
    pub(super) now: f64,
}

/// Gathers fragments at one place, given by its position in the list of all.
pub(super) struct Gather<V: Reassemble, M: Method<V>, const PLACE: usize> {
    pub(super) version: V,
    pub(super) method: M,
    pub(super) table: Table<V::Key, M::Packet>,
    pub(super) pieces: Pieces,
    settings: Reader<Settings>,
    adjacencies: SlabReader<Adjacency>,
    reporter: Reporter,
    kept: Vec<Held>,
    /// Chooses the thread of a packet, the same on all threads. A sender does not know it.
    pub(super) meeting: RandomState,
}

/// Edges of [`Gather`].
#[derive(Clone, Copy)]
pub(super) enum Next<V, const PLACE: usize> {
    /// An ICMP error to the sender.
    IcmpError(V),
    /// The reason is counted already.
    Drop(V),
    /// To the thread where the others are.
    HandOff(V),
    /// Along the arc, to be delivered, to be looked up again, or received again.
    On(V),
}

impl<V: Reassemble, const PLACE: usize> graph::Next for Next<V, PLACE> {
    const EDGES: &'static [Edge] = &[
        Edge { to: V::NODES.icmp_error, payload: Problem::NAME },
        Edge { to: V::NODES.drop, payload: "" },
        Edge { to: PLACES[PLACE].handoffs[V::INDEX], payload: Owner::NAME },
        Edge {
            to: match PLACE {
                CUSTOM => V::NODES.lookup,
                AGAIN => V::NODES.input,
                _ => V::NODES.local,
            },
            payload: "",
        },
    ];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u32 {
        match self {
            Self::IcmpError(_) => 0,
            Self::Drop(_) => 1,
            Self::HandOff(_) => 2,
            Self::On(_) if matches!(PLACE, LOCAL | CUSTOM | AGAIN) => 3,
            Self::On(_) => along.next(p),
        }
    }
}

/// Each thread holds its own.
impl<V: Reassemble, M: Method<V>, const PLACE: usize> Clone for Gather<V, M, PLACE> {
    fn clone(&self) -> Self {
        let (settings, adjacencies) = (self.settings.clone(), self.adjacencies.clone());
        let most = self.table.capacity();
        let new = Self::new(settings, adjacencies, self.reporter.events(), most);
        Self { meeting: self.meeting.clone(), ..new }
    }
}

impl<V: Reassemble, M: Method<V>, const PLACE: usize> Node for Gather<V, M, PLACE> {
    const NAME: &'static str = PLACES[PLACE].nodes[V::INDEX];
    const EXPLAINABLE: bool = true;
    type Next = Next<V, PLACE>;
    type Error = V::Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;
    const FRAGMENTS_ONLY: bool = true;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let settings = self.settings.read(epoch);
        let limits = (settings.of(V::INDEX, PLACES[PLACE].kind), settings.extended[V::INDEX]);
        let is_on = PLACE != LOCAL || settings.local[V::INDEX];
        let mut kept = std::mem::take(&mut self.kept);
        frame.each_or_keep(&mut kept, |p| match self.concerns(p, epoch) {
            true if is_on => Ok(None),
            true => Err(V::DROPPED),
            false => Ok(Some(Next::On(self.version))),
        });
        let now = if kept.is_empty() { 0.0 } else { frame.now() };
        for held in kept.drain(..) {
            self.sort(frame, held, limits, now);
        }
        self.kept = kept;
        self.reporter.report(V::INDEX, self.table.len());
    }
    fn end(&mut self, frame: &mut Frame<'_, Self>) {
        self.give_up_all(frame, V::DROPPED, |_| true);
    }
}

impl<V: Reassemble, M: Method<V>, const PLACE: usize> Gather<V, M, PLACE> {
    pub(super) fn new(
        settings: Reader<Settings>,
        adjacencies: SlabReader<Adjacency>,
        events: EventSender<Incomplete>,
        most: usize,
    ) -> Self {
        let kind = PLACES[PLACE].kind;
        Self {
            version: V::SELF,
            method: M::new(),
            table: Table::new(most),
            pieces: Pieces::new(),
            settings,
            adjacencies,
            reporter: Reporter::new(events, kind),
            kept: Vec::with_capacity(FRAME),
            meeting: RandomState::new(),
        }
    }
    /// Place of the IP header in a packet, in bytes. `None` when its adjacency went while it was
    /// handed over.
    #[inline(always)]
    fn l3(&self, p: &Buffer<'_>, epoch: Epoch<'_>) -> Option<usize> {
        if PLACE != SENT {
            return Some(0);
        }
        self.adjacencies.read(p.adjacency(), epoch).map(Adjacency::front)
    }
    /// Whether a packet has to be looked at more closely.
    #[inline(always)]
    fn concerns(&self, p: &Buffer<'_>, epoch: Epoch<'_>) -> bool {
        self.l3(p, epoch)
            .and_then(|l3| p.bytes().get(l3..))
            .is_some_and(|packet| V::concerns(packet, PLACE))
    }
    /// Finds out what a fragment is and where it belongs.
    fn sort<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        mut held: Held,
        (config, is_extended): (Config, bool),
        now: f64,
    ) {
        let p = held.buffer();
        let scope = if PLACE == SENT { p.tx() } else { p.fib().into() };
        let l3 = self.l3(&p, frame.epoch()).unwrap_or(0);
        let (packet, there) = (p.bytes().get(l3..).unwrap_or(&[]), p.total_len() - l3.min(p.len()));
        let fragment = V::fragment(packet, there, scope, PLACE);
        if let Fragment::Piece { key, .. } = &fragment {
            let thread = frame.thread_of(self.meeting.hash_one(key));
            if thread != frame.thread() {
                held.buffer().set_payload(Owner { thread: thread as u32 });
                return frame.send(held, Next::HandOff(self.version));
            }
        }
        frame.count_as(V::RECEIVED, 1);
        frame.packet_of(&mut held).trace(|p| FragmentTrace::of(p, l3, &fragment));
        match fragment {
            Fragment::Piece { key, from, to, start, is_last } => {
                if frame.is_explained() && !(M::PASSES_FIRST && from == 0 && !is_extended) {
                    frame.packet_of(&mut held).stop_explaining(WAITS);
                    return frame.release(held);
                }
                let rx = held.buffer().rx();
                let piece = Piece { from, to, start, packet: held };
                let new = New { key, rx, piece, l3, is_last, config, is_extended, now };
                M::take_in(self, frame, new);
            }
            Fragment::Only => {
                M::take_only(&mut held.buffer());
                frame.send(held, Next::On(self.version));
            }
            Fragment::Told(reason, problem) if PLACE != SENT => {
                let mut p = frame.packet_of(&mut held);
                p.error(reason);
                p.set_payload(problem);
                frame.send(held, Next::IcmpError(self.version));
            }
            Fragment::Bad(reason) | Fragment::Told(reason, _) => frame.discard(held, reason),
        }
    }
    /// The packet of this key, unless its time is up.
    pub(super) fn find<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        new: &New<V>,
    ) -> Option<u32> {
        let at = self.table.find(&new.key)?;
        if self.table.at(at).is_some_and(|p| new.now - p.since() < new.config.timeout) {
            return Some(at);
        }
        self.time_out(frame, at);
        None
    }
    /// Most packets held.
    pub(super) fn limit(&self, config: &Config) -> usize {
        self.table.capacity().min(config.most as usize)
    }
    /// Whether one more fragment can be held, of an interface and the packet `of`. Where there is
    /// no room, the latest packets of an interface that holds more than its share are given up for
    /// one that holds less.
    pub(super) fn has_room<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        rx: u32,
        of: u32,
    ) -> bool {
        if self.pieces.is_full() {
            let (shares, share) = (self.pieces.shares(), self.pieces.share(rx));
            let gone = self.table.giving_way(shares, share, false);
            if let Some(gone) = gone.filter(|gone| shares.count(rx) < share && *gone != of) {
                self.give_up(frame, gone, None, V::LIMIT, None);
            }
        }
        !self.pieces.is_full()
    }
    /// Gives up a packet whose time is up.
    fn time_out<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>, at: u32) {
        self.give_up(frame, at, None, V::TIMEOUT, M::TIMEOUT_PROBLEM);
    }
    /// Drops a fragment, and all earlier ones of its packet.
    pub(super) fn refuse<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        at: u32,
        mut held: Held,
        reason: V::Error,
    ) {
        let counted = frame.count_reason(&mut held, reason);
        frame.send(held, Next::Drop(self.version));
        self.give_up(frame, at, Some(counted), reason, None);
    }
    /// Deletes a packet and drops its held fragments, for a reason that is counted already or else
    /// counted once. The sender of the first fragment may get an error.
    pub(super) fn give_up<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        at: u32,
        mut counted: Option<u32>,
        reason: V::Error,
        problem: Option<Problem>,
    ) {
        let Some(mut packet) = self.table.remove(at) else { return };
        while let Some(Piece { from, packet: mut held, .. }) = self.pieces.pop(packet.list()) {
            match counted {
                None => counted = Some(frame.count_reason(&mut held, reason)),
                Some(counted) => held.buffer().set_error(counted),
            }
            match problem.filter(|_| from == 0) {
                Some(problem) => {
                    held.buffer().set_payload(problem);
                    frame.send(held, Next::IcmpError(self.version));
                }
                None => frame.send(held, Next::Drop(self.version)),
            }
        }
    }
    /// Gives up the packets that have such a fragment.
    fn give_up_all(
        &mut self,
        frame: &mut Frame<'_, Self>,
        reason: V::Error,
        is_meant: impl Fn(&Buffer<'_>) -> bool,
    ) {
        for at in self.table.numbers() {
            let Some(packet) = self.table.at(at) else { continue };
            if self.pieces.any(packet.list(), |piece| is_meant(&piece.packet.buffer())) {
                self.give_up(frame, at, None, reason, None);
            }
        }
    }
    /// Runs work requested by control.
    pub(super) fn work(&mut self, frame: &mut Frame<'_, Self>, task: Task) {
        match task {
            Task::Walk { timeout } => {
                let now = frame.now();
                while let Some(at) = self.table.oldest()
                    && self.table.at(at).is_some_and(|p| now - p.since() >= timeout)
                {
                    self.time_out(frame, at);
                }
                self.reporter.walked();
                self.reporter.report(V::INDEX, self.table.len());
            }
            Task::Grow(most) => self.table.set_capacity(most),
            Task::Forget(interface) => {
                let is_its = |p: &Buffer<'_>| p.rx() == interface || p.tx() == interface;
                self.give_up_all(frame, V::DROPPED, is_its);
            }
        }
    }
    /// Held packets.
    pub(super) fn usage(&self) -> Usage {
        let lines = self.table.iter().map(|(key, p)| format!("{key}: {}", p.text()));
        Usage { contexts: lines.collect(), fragments: self.pieces.len() }
    }
}

/// Flags that hold no longer for a packet that is put together.
pub(super) const UNKNOWN: Flags =
    Flags::CHECKSUM_OK.with(Flags::L4).with(Flags::HASH).with(Flags::PORTS);
