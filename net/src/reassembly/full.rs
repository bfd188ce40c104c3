//! `ip4-full-reassembly-feature`, `ip4-local-full-reassembly` and those of IPv6: packets put
//! together again.
//!
//! Fragments are held until all are there. The whole packet goes on in the buffer of the one that
//! came last, which is the one whose place on the arc is known.

use graph::arc::Along;
use graph::{Buffer, Edge, Flags, Frame, Held, Node, Payload};
use infra::rcu::Reader;

use super::config::{Config, Settings};
use super::partial::{Added, Partial};
use super::pieces::{Piece, Pieces};
use super::table::Table;
use super::version::{Fragment, Reassemble};
use super::walk::{Reporter, Walked};
use crate::icmp::Problem;
use crate::ip::Headers;
use crate::punt::EventSender;

/// Longest packet in bytes.
const LONGEST: usize = 40 + 65535;
/// Packets in a frame at most.
const FRAME: usize = 256;

/// Puts packets together: those an interface receives, or those for this router.
pub struct Full<V: Reassemble, const LOCAL: bool> {
    version: V,
    settings: Reader<Settings>,
    reporter: Reporter,
    table: Table<V::Key, Partial>,
    pieces: Pieces,
    /// The packet at hand.
    whole: Vec<u8>,
    kept: Vec<Held>,
    replaced: Vec<Held>,
}

/// Edges of [`Full`].
#[derive(Clone, Copy)]
pub enum Next<V, const LOCAL: bool> {
    /// Tell the sender.
    IcmpError(V),
    /// The reason is counted already.
    Drop(V),
    /// Along the arc, or to be delivered.
    On(V),
}

/// What [`Full`] counts besides drops.
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// successful reassemblies.
    #[name("reass_success")]
    Success,
    /// fragments reassembled.
    #[name("reass_fragments_reassembled")]
    Reassembled,
    /// fragments received.
    #[name("reass_fragments_rcvd")]
    Received,
}

impl<V: Reassemble, const LOCAL: bool> graph::Next for Next<V, LOCAL> {
    const EDGES: &'static [Edge] = &[
        Edge { to: V::NODES.icmp_error, payload: Problem::NAME },
        Edge { to: V::NODES.drop, payload: "" },
        Edge { to: V::NODES.local, payload: "" },
    ];
    #[inline(always)]
    fn slot(self, along: &Along<'_>, p: &mut Buffer<'_>) -> u16 {
        match self {
            Self::IcmpError(_) => 0,
            Self::Drop(_) => 1,
            Self::On(_) if LOCAL => 2,
            Self::On(_) => along.next(p),
        }
    }
}

/// Each thread holds its own.
impl<V: Reassemble, const LOCAL: bool> Clone for Full<V, LOCAL> {
    fn clone(&self) -> Self {
        let mut new = Self::new(self.settings.clone(), self.reporter.events());
        new.table.set_capacity(self.table.capacity());
        new
    }
}

impl<V: Reassemble, const LOCAL: bool> Node for Full<V, LOCAL> {
    const NAME: &'static str = if LOCAL { V::REASSEMBLY.local } else { V::REASSEMBLY.full };
    type Next = Next<V, LOCAL>;
    type Error = V::Error;
    type Count = Count;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let settings = self.settings.read(frame.epoch());
        let config = settings.full[V::FAMILY];
        let is_on = !LOCAL || settings.local[V::FAMILY];
        let mut kept = std::mem::take(&mut self.kept);
        frame.each_or_keep(&mut kept, |p| match V::concerns(p) {
            true if is_on => Ok(None),
            true => Err(V::DROPPED),
            false => Ok(Some(Next::On(self.version))),
        });
        let now = if kept.is_empty() { 0.0 } else { frame.now() };
        for held in kept.drain(..) {
            self.take_in(frame, held, config, now);
        }
        self.kept = kept;
        self.reporter.report(V::FAMILY, self.table.len());
    }
}

impl<V: Reassemble, const LOCAL: bool> Full<V, LOCAL> {
    pub(super) fn new(settings: Reader<Settings>, events: EventSender) -> Self {
        Self {
            version: V::SELF,
            settings,
            reporter: Reporter::new(events, 0),
            table: Table::new(Config::FULL.most as usize),
            pieces: Pieces::new(),
            whole: Vec::with_capacity(LONGEST),
            kept: Vec::with_capacity(FRAME),
            replaced: Vec::with_capacity(FRAME),
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
            Fragment::Piece { key, from, to, start, is_last } => {
                let piece = Piece { from, to, start, packet: held };
                self.add(frame, key, piece, is_last, config, now);
            }
            Fragment::Only => {
                V::unwrap(&mut held.buffer());
                frame.send(held, Next::On(self.version));
            }
            Fragment::Bad(reason) => frame.discard(held, reason),
            Fragment::Told(reason, problem) => {
                let mut p = frame.packet_of(&mut held);
                p.error(reason);
                p.set_payload(problem);
                frame.send(held, Next::IcmpError(self.version));
            }
        }
    }
    fn add<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        key: V::Key,
        mut piece: Piece,
        is_last: bool,
        config: Config,
        now: f64,
    ) {
        let found = self.table.find(&key);
        let is_late = |p: &mut Partial| now - p.since >= config.timeout;
        let found = match found {
            Some(at) if self.table.at(at).is_none_or(is_late) => {
                self.give_up(frame, at, None);
                None
            }
            found => found,
        };
        let limit = self.table.capacity().min(config.most as usize);
        let Some(at) = found.or_else(|| {
            (self.table.len() < limit).then(|| self.table.insert(key, Partial::new(now)))
        }) else {
            return frame.discard(piece.packet, V::LIMIT);
        };
        let Some(partial) = self.table.at(at) else { return };
        if partial.count >= config.longest {
            let reason = Some(frame.count_reason(&mut piece.packet, V::TOO_MANY));
            frame.send(piece.packet, Next::Drop(self.version));
            return self.give_up(frame, at, reason);
        }
        if self.pieces.is_full() {
            return frame.discard(piece.packet, V::NO_BUFFERS);
        }
        let carrier = piece.packet.buffer().index();
        let may = V::MAY_OVERLAP;
        match partial.add(&mut self.pieces, piece, is_last, may, &mut self.replaced) {
            Added::Kept => {
                let complete = partial.complete();
                self.replaced.drain(..).for_each(|held| frame.release(held));
                if let Some(len) = complete {
                    self.finish(frame, at, carrier, len as usize);
                }
            }
            Added::Duplicate(held) => frame.discard(held, V::DUPLICATE),
            Added::Overlapping(held) => self.refuse(frame, at, held, V::OVERLAPPING),
            Added::Inconsistent(held) => self.refuse(frame, at, held, V::INCONSISTENT),
        }
    }
    /// Drops a fragment, and with it all that came before.
    fn refuse<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        at: u32,
        mut held: Held,
        reason: V::Error,
    ) {
        let reason = frame.count_reason(&mut held, reason);
        frame.send(held, Next::Drop(self.version));
        self.give_up(frame, at, Some(reason));
    }
    /// Gives up an incomplete packet, for a reason that is counted already or because time is up.
    fn give_up<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        at: u32,
        mut reason: Option<u16>,
    ) {
        let Some(mut partial) = self.table.remove(at) else { return };
        let problem = V::TIMEOUT_PROBLEM.filter(|_| reason.is_none());
        while let Some(Piece { from, mut packet, .. }) = self.pieces.pop(&mut partial.list) {
            match reason {
                None => reason = Some(frame.count_reason(&mut packet, V::TIMEOUT)),
                Some(reason) => packet.buffer().set_error(reason),
            }
            match problem.filter(|_| from == 0) {
                Some(problem) => {
                    packet.buffer().set_payload(problem);
                    frame.send(packet, Next::IcmpError(self.version));
                }
                None => frame.send(packet, Next::Drop(self.version)),
            }
        }
    }
    /// Sends on a packet that is complete, in the buffer `carrier`; `len` bytes of data.
    fn finish<On: graph::Cpu>(
        &mut self,
        frame: &mut Frame<'_, Self, On>,
        at: u32,
        carrier: u32,
        len: usize,
    ) {
        let Some(mut partial) = self.table.remove(at) else { return };
        self.whole.clear();
        let (mut kept, mut fits) = (None, Some(()));
        while let Some(mut piece) = self.pieces.pop(&mut partial.list) {
            if piece.from == 0 {
                let p = piece.packet.buffer();
                let first = p.bytes().get(..piece.start as usize);
                fits = first.and_then(|first| V::header(first, len, &mut self.whole));
            }
            copy(&mut piece, &mut self.whole);
            if piece.packet.buffer().index() == carrier {
                kept = Some(piece.packet);
            } else {
                frame.release(piece.packet);
            }
        }
        let mut held = kept.expect("the fragment that was just added is in the list");
        if fits.is_none() {
            return frame.discard(held, V::INCONSISTENT);
        }
        let mut p = frame.packet_of(&mut held);
        p.truncate_chain(0);
        let unknown = Flags::CHECKSUM_OK.with(Flags::L4).with(Flags::HASH);
        p.clear_flags(unknown);
        if p.extend(&self.whole).is_none() {
            return frame.discard(held, V::NO_BUFFERS);
        }
        frame.count(Count::Success, 1);
        frame.count(Count::Reassembled, partial.count.into());
        frame.send(held, Next::On(self.version));
    }
}

/// Appends the data of a fragment.
fn copy(piece: &mut Piece, whole: &mut Vec<u8>) {
    let (mut skip, mut left) = (piece.start as usize, (piece.to - piece.from) as usize);
    for segment in piece.packet.buffer().segments() {
        let data = segment.get(skip..).unwrap_or(&[]);
        skip = skip.saturating_sub(segment.len());
        let data = &data[..data.len().min(left)];
        left -= data.len();
        whole.extend_from_slice(data);
    }
}

impl<V: Reassemble, const LOCAL: bool> Walked for Full<V, LOCAL> {
    fn walk(&mut self, frame: &mut Frame<'_, Self>) {
        let timeout = self.settings.read(frame.epoch()).full[V::FAMILY].timeout;
        let now = frame.now();
        while let Some(at) = self.table.oldest()
            && self.table.at(at).is_some_and(|p| now - p.since >= timeout)
        {
            self.give_up(frame, at, None);
        }
        self.reporter.walked();
        self.reporter.report(V::FAMILY, self.table.len());
    }
    fn set_capacity(&mut self, most: usize) {
        self.table.set_capacity(most);
    }
    fn usage(&self) -> super::Usage {
        let lines = self
            .table
            .iter()
            .map(|(key, p)| format!("{key:?}: {} fragments since {:.3}", p.count, p.since));
        super::Usage { contexts: lines.collect(), fragments: self.pieces.len() }
    }
}
