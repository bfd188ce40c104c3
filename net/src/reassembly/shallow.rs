//! `ip4-sv-reassembly-feature`, `ip6-sv-reassembly-feature`: fragments wait until the first of
//! their packet has passed.
//!
//! Nodes behind it that look at ports meet the first fragment, which has them, before any other.
//! The packet is not put together: its fragments go on as they are.

use graph::arc::Along;
use graph::{Buffer, Edge, Frame, Held, Node, Payload};
use infra::rcu::Reader;

use super::config::{Config, Settings};
use super::pieces::{List, Piece, Pieces};
use super::table::Table;
use super::version::{Fragment, Reassemble};
use super::walk::{Reporter, Walked};
use crate::icmp::Problem;
use crate::ip::Headers;
use crate::punt::EventSender;

/// Packets in a frame at most.
const FRAME: usize = 256;

/// Holds fragments back until the first of their packet has come.
pub struct Shallow<V: Reassemble> {
    version: V,
    settings: Reader<Settings>,
    reporter: Reporter,
    table: Table<V::Key, Packet>,
    pieces: Pieces,
    kept: Vec<Held>,
}

/// A packet whose fragments come.
struct Packet {
    /// When the latest came, in seconds.
    heard: f64,
    /// Whether the first has passed.
    is_open: bool,
    /// Those that wait.
    list: List,
    count: u32,
}

/// Edges of [`Shallow`].
#[derive(Clone, Copy)]
pub enum Next<V> {
    /// Tell the sender.
    IcmpError(V),
    /// The reason is counted already.
    Drop(V),
    /// Along the arc.
    On(V),
}

/// What [`Shallow`] counts besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// successful reassemblies.
    #[name("reass_success")]
    Success,
    /// fragments received.
    #[name("reass_fragments_rcvd")]
    Received,
}

impl<V: Reassemble> graph::Next for Next<V> {
    const EDGES: &'static [Edge] = &[
        Edge { to: V::NODES.icmp_error, payload: Problem::NAME },
        Edge { to: V::NODES.drop, payload: "" },
    ];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u16 {
        match self {
            Self::IcmpError(_) => 0,
            Self::Drop(_) => 1,
            Self::On(_) => along.next(p),
        }
    }
}

/// Each thread holds its own.
impl<V: Reassemble> Clone for Shallow<V> {
    fn clone(&self) -> Self {
        let mut new = Self::new(self.settings.clone(), self.reporter.events());
        new.table.set_capacity(self.table.capacity());
        new
    }
}

impl<V: Reassemble> Node for Shallow<V> {
    const NAME: &'static str = V::REASSEMBLY.shallow;
    type Next = Next<V>;
    type Error = V::Error;
    type Count = Count;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let config = self.settings.read(frame.epoch()).shallow[V::FAMILY];
        let mut kept = std::mem::take(&mut self.kept);
        frame.each_or_keep(&mut kept, |p| Ok((!V::concerns(p)).then_some(Next::On(self.version))));
        let now = if kept.is_empty() { 0.0 } else { frame.now() };
        for held in kept.drain(..) {
            self.take_in(frame, held, config, now);
        }
        self.kept = kept;
        self.reporter.report(V::FAMILY, self.table.len());
    }
}

impl<V: Reassemble> Shallow<V> {
    pub(super) fn new(settings: Reader<Settings>, events: EventSender) -> Self {
        Self {
            version: V::SELF,
            settings,
            reporter: Reporter::new(events, 1),
            table: Table::new(Config::SHALLOW.most as usize),
            pieces: Pieces::new(),
            kept: Vec::with_capacity(FRAME),
        }
    }
    /// Does what one fragment calls for.
    fn take_in<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        mut held: Held,
        config: Config,
        now: f64,
    ) {
        frame.count(Count::Received, 1);
        frame.packet_of(&mut held).trace(Headers::<V>::of);
        match V::fragment(&held.buffer()) {
            Fragment::Piece { key, from, to, start, .. } => {
                let piece = Piece { from, to, start, packet: held };
                self.pass_or_hold(frame, key, piece, config, now);
            }
            Fragment::Only => frame.send(held, Next::On(self.version)),
            Fragment::Bad(reason) => frame.discard(held, reason),
            Fragment::Told(reason, problem) => {
                let mut p = frame.packet_of(&mut held);
                p.error(reason);
                p.set_payload(problem);
                frame.send(held, Next::IcmpError(self.version));
            }
        }
    }
    fn pass_or_hold<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        key: V::Key,
        mut piece: Piece,
        config: Config,
        now: f64,
    ) {
        let Some(at) = self.find_or_make(frame, key, config, now) else {
            return frame.discard(piece.packet, V::LIMIT);
        };
        self.table.touch(at);
        let Some(packet) = self.table.at(at) else { return };
        packet.heard = now;
        if piece.from == 0 && !packet.is_open {
            packet.is_open = true;
            frame.count(Count::Success, 1);
            let p = piece.packet.buffer();
            let (rx, cursor) = (p.rx(), p.cursor());
            while let Some(mut waiting) = self.pieces.pop(&mut packet.list) {
                // What they knew of the arc is of another loop.
                waiting.packet.buffer().set_rx(rx);
                waiting.packet.buffer().set_cursor(cursor);
                frame.send(waiting.packet, Next::On(self.version));
            }
        }
        if packet.is_open {
            return frame.send(piece.packet, Next::On(self.version));
        }
        if packet.count >= config.longest {
            let reason = frame.count_reason(&mut piece.packet, V::TOO_MANY);
            frame.send(piece.packet, Next::Drop(self.version));
            return self.give_up(frame, at, Some(reason), V::TOO_MANY);
        }
        if self.pieces.is_full() {
            return frame.discard(piece.packet, V::NO_BUFFERS);
        }
        packet.count += 1;
        self.pieces.push(&mut packet.list, piece);
    }
    /// The packet that a fragment belongs to; room for a new one is made by giving up the one that
    /// was silent longest. `None` when there may be none.
    fn find_or_make<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        key: V::Key,
        config: Config,
        now: f64,
    ) -> Option<u32> {
        if let Some(at) = self.table.find(&key) {
            if self.table.at(at).is_some_and(|p| now - p.heard < config.timeout) {
                return Some(at);
            }
            self.give_up(frame, at, None, V::TIMEOUT);
        }
        let limit = self.table.capacity().min(config.most as usize);
        if limit == 0 {
            return None;
        }
        while self.table.len() >= limit
            && let Some(oldest) = self.table.oldest()
        {
            self.give_up(frame, oldest, None, V::LIMIT);
        }
        let new = Packet { heard: now, is_open: false, list: List::EMPTY, count: 0 };
        Some(self.table.insert(key, new))
    }
    /// Forgets a packet and drops what waits of it, for a reason that is counted already or else
    /// counted once.
    fn give_up<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        at: u32,
        mut counted: Option<u16>,
        reason: V::Error,
    ) {
        let Some(mut packet) = self.table.remove(at) else { return };
        while let Some(mut piece) = self.pieces.pop(&mut packet.list) {
            match counted {
                None => counted = Some(frame.count_reason(&mut piece.packet, reason)),
                Some(counted) => piece.packet.buffer().set_error(counted),
            }
            frame.send(piece.packet, Next::Drop(self.version));
        }
    }
}

impl<V: Reassemble> Walked for Shallow<V> {
    fn walk(&mut self, frame: &mut Frame<'_, Self>) {
        let timeout = self.settings.read(frame.epoch()).shallow[V::FAMILY].timeout;
        let now = frame.now();
        while let Some(at) = self.table.oldest()
            && self.table.at(at).is_some_and(|p| now - p.heard >= timeout)
        {
            self.give_up(frame, at, None, V::TIMEOUT);
        }
        self.reporter.walked();
        self.reporter.report(V::FAMILY, self.table.len());
    }
    fn set_capacity(&mut self, most: usize) {
        self.table.set_capacity(most);
    }
    fn usage(&self) -> super::Usage {
        let lines = self.table.iter().map(|(key, p)| {
            let state = if p.is_open { "first fragment passed" } else { "first fragment missing" };
            format!("{key:?}: {state}, {} fragments wait", p.count)
        });
        super::Usage { contexts: lines.collect(), fragments: self.pieces.len() }
    }
}
