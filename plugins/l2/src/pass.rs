//! The frames of a vector on the fast path of layer 2, from their keys to the exits they leave by.

use graph::arc::Start;
use graph::{Ahead, BLOCK, Passes};
use infra::table::exact::View;
use net::ethernet::{L2_OUTPUT, note_headers};
use net::fast_path::{Exit, Outputs};
use net::interface::{Counters, EdgesReader};
use net::prelude::*;
use wire::ethernet::Header;

use super::block::{Block, Head, Keys};
use super::fib::{self, Entry};
use super::input::{Count, Input};
use super::state::{PortSeen, Tables};
use super::{forward, learn, output};

/// Share of a frame's clocks by node, in thousandths, the node that has it in its hands having the
/// rest: what each costs when it is called by itself.
mod share {
    /// `l2-input`, when `ethernet-input` has the frame.
    pub const INPUT: u64 = 200;
    pub const LEARN: u64 = 180;
    pub const FORWARD: u64 = 180;
    /// `l2-output`.
    pub const OUTPUT: u64 = 150;
    /// The output of an interface.
    pub const LAST: u64 = 120;

    /// The same of frames of a cross-connect.
    pub mod connected {
        pub const OUTPUT: u64 = 260;
        pub const LAST: u64 = 210;
    }
}

/// Interfaces whose exits are known at a time.
pub const EXITS: usize = 8;

/// The exit by an interface, for frames of a domain and a group.
#[derive(Clone, Copy)]
pub struct Egress {
    interface: u32,
    /// Sequence numbers of addresses that were learned there and still count.
    sequence: u16,
    exit: Option<Exit>,
}

impl Egress {
    pub const NONE: Self = Self { interface: u32::MAX, sequence: 0, exit: None };
}

/// Nodes that usual frames of a port pass, and the edges that lead there.
#[derive(Clone, Copy)]
pub struct Stages {
    /// Features that the frames meet up to the last one.
    pub met: u64,
    pub first: Slot,
    pub learn: Option<(u32, Slot)>,
    pub forward: Option<u32>,
    pub output: u32,
}

/// One frame on its way.
pub struct Pass<'a> {
    pub tables: &'a Tables,
    pub view: View<'a>,
    pub edges: Option<&'a EdgesReader>,
    pub start: Start<'a>,
    pub epoch: Epoch<'a>,
    pub minute: u8,
    pub stages: Stages,
    /// The only interface whose packets are meant, if not those of all.
    pub only: Option<u32>,
    /// Whether the headers of frames were not noted yet; they have no tags then.
    pub notes: bool,
    /// The receive port; `None` if its frames pass other nodes.
    pub rx: u32,
    pub port: Option<&'a PortSeen>,
    /// The entry of a source of which nothing is to be learned, and the key of the last one.
    pub expected: Entry,
    pub known: u64,
    /// The latest transmit interfaces of its domain and group, each at a place of its number.
    pub exits: [Egress; EXITS],
    pub outputs: Outputs<'a>,
}

/// Features that usual frames of a port meet up to the one that knows their interface.
#[inline(always)]
pub fn met(port: &PortSeen, bits: u64) -> u64 {
    let [_, forward, output] = port.usual;
    let features = bits & port.masks[0];
    let last = if features & forward != 0 { forward } else { output };
    features & (last | last.wrapping_sub(1))
}

impl<'a> Pass<'a> {
    /// The first bytes of a frame; `None` when it is cut off or has tags and they are to be noted.
    #[inline(always)]
    fn head(notes: bool, p: &Buffer<'_>) -> Option<Head> {
        Head::of(p).filter(|head| !notes || !head.is_tagged())
    }
    /// Lets a frame leave by an interface.
    #[inline(always)]
    fn leave(notes: bool, p: &mut Buffer<'_>, to: u32) {
        if notes {
            note_headers(p, size_of::<Header>());
        }
        p.set_tx(to);
    }
    /// Takes the frames of a flow: those with its bits in the bits of a mask.
    #[inline(always)]
    pub fn take_flow<N: Node>(
        &mut self,
        packets: &mut Passes<'_, N>,
        (flow, mask): (Head, Head),
        (to, exit): (u32, Exit),
    ) {
        let (rx, notes, mut sent) = (self.rx, self.notes, Volume::default());
        packets.usual_beyond(
            packets.all(),
            #[inline(always)]
            |_, _, p| {
                let is_alike = p.rx() == rx && Self::head(notes, p)?.and(mask) == flow;
                if !is_alike || p.flags().has(exit.todo) {
                    return None;
                }
                Self::leave(notes, p, to);
                sent += Volume { packets: 1, bytes: p.len() as u64 };
                Some(exit.tx)
            },
        );
        self.outputs.count_all(&exit, sent);
    }
    /// Takes frames of any flows among those that are left, which are all of them or not.
    #[inline(always)]
    pub fn take_left<N: Node>(
        &mut self,
        packets: &mut Passes<'_, N>,
        blocks: &mut [Block; 2],
        are_all: bool,
    ) {
        let end = packets.all().end;
        let places = |block: usize| (block * BLOCK).min(end)..((block + 1) * BLOCK).min(end);
        let [mut block, mut next] = blocks.each_mut();
        self.read(packets, places(0), block);
        for n in 0..end.div_ceil(BLOCK) {
            self.read(packets, places(n + 1), next);
            self.send(packets, (places(n), are_all), block);
            std::mem::swap(&mut block, &mut next);
        }
    }
    /// Reads the keys of a block, and asks for what is known of them.
    #[inline(always)]
    fn read<N: Node>(&self, packets: &mut Passes<'_, N>, places: Range<usize>, block: &mut Block) {
        let (looks_up, view, len) = (self.stages.forward.is_some(), self.view, places.len());
        block.have_keys = self.read_alike(packets, places.clone(), block);
        if !block.have_keys {
            self.read_each(packets, places, block);
        }
        if looks_up {
            block.destinations.fetch(len, view);
            if self.stages.learn.is_some() && !block.is_from_one_host() {
                block.sources.fetch(len, view);
            }
        }
    }
    /// Reads the keys of a block of frames received on one port, each to one address, and without
    /// tags if those are to be noted; false if they differ.
    #[inline(always)]
    fn read_alike<N: Node>(
        &self,
        packets: &mut Passes<'_, N>,
        places: Range<usize>,
        block: &mut Block,
    ) -> bool {
        let Some(start) = places.clone().next() else { return false };
        let (mut rx, mut first) = (0, Head::NONE);
        packets.look(start..start + 1, |_, p| {
            (rx, first) = (p.rx(), Self::head(self.notes, p).unwrap_or(Head::NONE));
        });
        let Some(port) = self.port(rx) else { return false };
        let domain = port.domain;
        // Bits in which any of the others differs from the first one.
        let (mut differ, mut of_rx, mut any) = (Head::NOTHING, 0, first);
        let (mut flags, mut bytes) = (0, 0);
        let destinations = &mut block.destinations.keys;
        packets.look(
            places.clone(),
            #[inline(always)]
            |place, p| {
                let head = Head::of(p).unwrap_or(Head::NONE);
                destinations[place % BLOCK] = head.destination(domain);
                (differ, any) = (differ.or(head.differs(first)), any.or(head));
                (of_rx, flags) = (of_rx | (p.rx() ^ rx), flags | p.flags().0);
                bytes += p.len() as u64;
            },
        );
        if of_rx != 0 || any.is_multicast() {
            return false;
        }
        // Those of the first one's protocol have no tags, as it has none.
        if self.notes && differ.has(Head::PROTOCOL) {
            let mut is_tagged = false;
            packets.look(
                places.clone(),
                #[inline(always)]
                |_, p| is_tagged |= Head::of(p).is_some_and(Head::is_tagged),
            );
            if is_tagged {
                return false;
            }
        }
        block.flags = Flags(flags);
        block.volume = Volume { packets: places.len() as u64, bytes };
        block.port = Some(rx);
        block.has_one_source = !differ.has(Head::SOURCE);
        block.sources.keys[0] = first.source(domain);
        if !block.has_one_source && self.stages.learn.is_some() {
            let sources = &mut block.sources.keys;
            packets.look(
                places,
                #[inline(always)]
                |place, p| {
                    let head = Head::of(p).unwrap_or(Head::NONE);
                    sources[place % BLOCK] = head.source(domain);
                },
            );
        }
        true
    }
    /// Reads the keys of a block of any frames.
    #[inline(never)]
    fn read_each<N: Node>(
        &self,
        packets: &mut Passes<'_, N>,
        places: Range<usize>,
        block: &mut Block,
    ) {
        let (mut ports, mut rx, mut domain, len) = (0, u32::MAX, None, places.len());
        packets.look(places, |place, p| {
            if p.rx() != rx {
                (ports, rx) = (ports + 1, p.rx());
                domain = self.port(rx).map(|port| port.domain);
            }
            let mut keys = [0; 2];
            if let (Some(head), Some(domain)) = (Self::head(self.notes, p), domain)
                && !head.is_multicast()
            {
                keys = head.keys(domain);
            }
            let at = place % BLOCK;
            [block.sources.keys[at], block.destinations.keys[at]] = keys;
        });
        let keys = &block.sources.keys[..len];
        block.port = (ports == 1).then_some(rx);
        block.has_one_source = keys.iter().fold(0, |d, s| d | (s ^ keys[0])) == 0;
    }
    /// Sends the frames of a block on; those that have to go node by node are left as they are.
    #[inline(always)]
    fn send<N: Node>(
        &mut self,
        packets: &mut Passes<'_, N>,
        (places, are_all): (Range<usize>, bool),
        block: &mut Block,
    ) {
        let looks_up = self.stages.forward.is_some();
        let len = places.len();
        if let Some(rx) = block.port
            && rx != self.rx
        {
            self.enter_by(rx);
        }
        let are_known = self.stages.learn.is_none() || self.are_known(block, len);
        if !are_known && block.is_from_one_host() {
            return;
        }
        if looks_up {
            block.destinations.find(len, self.view);
        }
        if let Some(entry) = block.destinations.one_egress(len)
            && block.port.is_some()
            && are_known
            && are_all
            && block.have_keys
        {
            let (_, ahead) = packets.ahead();
            let Some((to, exit)) = self.exit(ahead, entry) else { return };
            if !block.flags.has(exit.todo.with(Flags::TRACED).with(Flags::CHAINED)) {
                match self.notes {
                    true => packets.all_to(places, exit.tx, |p| Self::leave(true, p, to)),
                    false => packets.all_to(places, exit.tx, |p| Self::leave(false, p, to)),
                }
                self.outputs.count_all(&exit, block.volume);
                return;
            }
        }
        let (Block { sources, destinations, .. }, notes) = (block, self.notes);
        packets.rest_beyond(
            places,
            #[inline(always)]
            |ahead, place, p| {
                let at = place % BLOCK;
                if p.rx() != self.rx {
                    self.enter_by(p.rx());
                }
                let is_known =
                    are_known || learn::is_known(Entry(sources.entries[at]), self.expected);
                if destinations.keys[at] == 0 || !is_known {
                    return None;
                }
                let (to, exit) = self.exit(ahead, Entry(destinations.entries[at]))?;
                if p.flags().has(exit.todo) {
                    return None;
                }
                Self::leave(notes, p, to);
                self.outputs.count(&exit, p.len());
                Some(exit.tx)
            },
        );
    }
    /// Whether nothing is to be learned of any source of a block, which are looked up for that.
    #[inline(always)]
    fn are_known(&mut self, block: &mut Block, len: usize) -> bool {
        if block.is_from_one_host() {
            return self.is_known(block.sources.keys[0]);
        }
        block.sources.find(len, self.view);
        let expected = self.expected;
        let is_known = |entry: &u64| learn::is_known(Entry(*entry), expected);
        block.port.is_some()
            && block.sources.entries[..len].iter().fold(true, |all, e| all & is_known(e))
    }
    /// Goes on with packets of another port.
    #[inline(never)]
    fn enter_by(&mut self, rx: u32) {
        let port = self.port(rx);
        let part = |port: Option<&PortSeen>| port.map(|port| (port.domain, port.group));
        if part(port) != part(self.port) {
            self.exits = [Egress::NONE; EXITS];
        }
        let sequence = port.map_or(0, |port| port.sequence);
        (self.rx, self.port) = (rx, port);
        (self.known, self.expected) = (0, Entry::learned(rx, sequence, self.minute));
    }
    /// A port whose frames pass the same nodes.
    #[inline(never)]
    fn port(&self, rx: u32) -> Option<&'a PortSeen> {
        let port = self.tables.ports.read(rx, self.epoch);
        let is_meant = self.only.is_none_or(|only| only == rx);
        port.filter(|port| is_meant && met(port, self.start.bits(rx)) == self.stages.met)
    }
    /// Whether nothing is to be learned of a source.
    #[inline(always)]
    fn is_known(&mut self, source: u64) -> bool {
        if self.stages.learn.is_some() && source != self.known {
            if !learn::is_known(Entry(self.view.find(source)), self.expected) {
                return false;
            }
            self.known = source;
        }
        true
    }
    /// The exit of a frame of these keys, and its interface.
    #[inline(always)]
    pub fn exit_of(
        &mut self,
        ahead: Ahead<'_>,
        [source, destination]: Keys,
    ) -> Option<(u32, Exit)> {
        let is_known = self.is_known(source);
        let looks_up = is_known && self.stages.forward.is_some();
        let entry = Entry(if looks_up { self.view.find(destination) } else { 0 });
        if is_known { self.exit(ahead, entry) } else { None }
    }
    /// The transmit interface of a frame, and the exit there.
    #[inline(always)]
    fn exit(&mut self, ahead: Ahead<'_>, entry: Entry) -> Option<(u32, Exit)> {
        let (to, is_set) = match self.stages.forward {
            Some(_) => (entry.egress(self.rx)?, entry.has(fib::STATIC)),
            None => (self.port?.peer, true),
        };
        let place = to as usize % EXITS;
        if self.exits[place].interface != to {
            self.exits[place] = self.egress(ahead, to);
        }
        let Egress { sequence, exit, .. } = self.exits[place];
        Some((to, exit.filter(|_| is_set || entry.sequence() == sequence)?))
    }
    /// The exit by an interface, when it is a port of the domain that frames are forwarded in.
    #[inline(never)]
    fn egress(&mut self, ahead: Ahead<'_>, to: u32) -> Egress {
        let port = self.tables.ports.read(to, self.epoch);
        let is_port = match (self.stages.forward, port, self.port) {
            (Some(_), Some(port), Some(from)) => port.domain == from.domain,
            (forward, ..) => forward.is_none(),
        };
        let exit = if is_port { self.exit_by(ahead, to) } else { None };
        Egress { interface: to, sequence: port.map_or(0, |port| port.sequence), exit }
    }
    /// The exit by an interface, as `l2-output` leads there.
    fn exit_by(&mut self, ahead: Ahead<'_>, to: u32) -> Option<Exit> {
        let from = self.port?;
        let port = self.tables.ports.read(to, self.epoch);
        let output = self.stages.output;
        let feature = ahead.feature(output, &L2_OUTPUT, to);
        if feature.is_some() || !output::is_usual(port, from.domain, from.group) {
            return None;
        }
        let edge = self.edges?.read(self.epoch).to(to)?;
        self.outputs.exit(ahead, output, edge, to)
    }
    /// Counts for each node as if it had been called; the number of frames passed.
    pub fn end<N: Node>(
        self,
        packets: &mut Passes<'_, N>,
        (node, before, to_output): (u32, Option<(u32, Slot)>, Slot),
        counters: (&Counters, usize),
    ) -> u64 {
        let Stages { first, learn, forward, output, .. } = self.stages;
        let (share_here, last) = match forward {
            Some(_) => (share::OUTPUT, share::LAST),
            None => (share::connected::OUTPUT, share::connected::LAST),
        };
        let went = self.outputs.end(packets, last, counters);
        if let Some((before, edge)) = before {
            packets.sent(before, edge, went);
            packets.passed(node, went, share::INPUT);
            packets.count_at::<Input>(node, Count::Packets, went);
        }
        packets.sent(node, first, went);
        if let Some((learn, to_forward)) = learn {
            packets.sent(learn, to_forward, went);
            packets.passed(learn, went, share::LEARN);
            packets.count_at::<learn::Learn>(learn, learn::Count::Packets, went);
        }
        if let Some(forward) = forward {
            packets.sent(forward, to_output, went);
            packets.passed(forward, went, share::FORWARD);
            packets.count_at::<forward::Forward>(forward, forward::Count::Packets, went);
            packets.count_at::<forward::Forward>(forward, forward::Count::Hits, went);
        }
        packets.passed(output, went, share_here);
        packets.count_at::<output::Output>(output, output::Count::Packets, went);
        went
    }
}
