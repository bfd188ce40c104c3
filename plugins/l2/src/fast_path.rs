//! The fast path of layer 2: frames between two known hosts, and those of a cross-connect, pass
//! `l2-learn`, `l2-fwd`, `l2-output` and the output of an interface in the hands of `l2-input`, and
//! wait for its driver.
//!
//! A frame takes it when it is for one address, no other feature is on its path, nothing is to be
//! learned of its source, its destination is known, and its tags stay as they are. Another is left
//! as it came, unchanged and uncounted, and goes node by node; so addresses that move do it behind
//! the other frames of their vector. What nodes count is counted as if each had been called.

use std::ops::Range;
use std::sync::Arc;

use graph::arc::Start;
use graph::{Ahead, BLOCK, Next, Node, Passes, Slot};
use infra::counter::Volume;
use infra::rcu::{Epoch, Reader, SlabReader};
use infra::table::exact::View;
use net::ethernet::{L2_INPUT, L2_OUTPUT};
use net::fast_path::{Exit, Outputs, Pause, edge};
use net::interface::{Counters, EdgesReader, Port};

use super::block::{Addresses, Block, Keys, Lookups};
use super::fib::{self, Entry};
use super::state::{PortSeen, Tables};
use super::{forward, learn, output};

/// Share of a frame's clocks by node, in thousandths, `l2-input` having the rest: what each costs
/// when it is called by itself.
mod share {
    pub const LEARN: u64 = 200;
    pub const FORWARD: u64 = 200;
    /// `l2-output`.
    pub const OUTPUT: u64 = 200;
    /// The output of an interface.
    pub const LAST: u64 = 150;

    /// The same of frames of a cross-connect.
    pub mod connected {
        pub const OUTPUT: u64 = 330;
        pub const LAST: u64 = 250;
    }
}

/// Interfaces whose exits are known at a time.
const EXITS: usize = 8;

/// The exit by an interface, for frames of a domain and a group.
#[derive(Clone, Copy)]
struct Egress {
    interface: u32,
    /// Sequence numbers of addresses that were learned there and still count.
    sequence: u16,
    exit: Option<Exit>,
}

impl Egress {
    const NONE: Self = Self { interface: u32::MAX, sequence: 0, exit: None };
}

/// The fast path, on one thread.
#[derive(Clone)]
pub struct FastPath {
    tables: Tables,
    /// Edges of `l2-output` to the output of each interface.
    edges: Edges,
    interfaces: SlabReader<Port>,
    counters: Arc<Counters>,
    /// Edge of `l2-fwd` to `l2-output`.
    to_output: Slot,
    /// The block under way and the next one.
    blocks: [Block; 2],
    pause: Pause,
}

/// Edges of `l2-output`, once it is there.
type Edges = Reader<Option<EdgesReader>>;

/// Nodes that usual frames of a port pass, and the edges that lead there.
#[derive(Clone, Copy)]
struct Stages {
    /// Features that the frames meet up to the last one.
    met: u64,
    first: Slot,
    learn: Option<(u32, Slot)>,
    forward: Option<u32>,
    output: u32,
}

/// One frame on its way.
struct Pass<'a> {
    tables: &'a Tables,
    view: View<'a>,
    edges: Option<&'a EdgesReader>,
    start: Start<'a>,
    epoch: Epoch<'a>,
    minute: u8,
    stages: Stages,
    /// The port that packets come in by; `None` when its frames pass other nodes.
    rx: u32,
    port: Option<&'a PortSeen>,
    /// The entry of a source of which nothing is to be learned, and the key of the last one.
    expected: Entry,
    known: u64,
    /// The last interfaces that packets of its domain and group went out by, each at a place of
    /// its number.
    exits: [Egress; EXITS],
    outputs: Outputs<'a>,
}

/// Features that usual frames of a port meet up to the one that knows their interface.
#[inline(always)]
fn met(port: &PortSeen, bits: u64) -> u64 {
    let [_, forward, output] = port.usual;
    let features = bits & port.masks[0];
    let last = if features & forward != 0 { forward } else { output };
    features & (last | last.wrapping_sub(1))
}

impl FastPath {
    /// With the edges of `l2-output` to the output of each interface.
    pub fn new(
        tables: &Tables,
        edges: Edges,
        interfaces: SlabReader<Port>,
        counters: Arc<Counters>,
    ) -> Self {
        let to_output = edge(forward::Next::EDGES, output::Output::NAME);
        let (tables, blocks, pause) = (tables.clone(), [Block::EMPTY; 2], Pause::default());
        Self { tables, edges, interfaces, counters, to_output, blocks, pause }
    }
    /// Takes frames that pass the same nodes as the first one; says whether it went over them.
    #[inline(always)]
    pub fn take<N: Node>(
        &mut self,
        packets: &mut Passes<'_, N>,
        start: Start<'_>,
        (epoch, minute, thread): (Epoch<'_>, u8, usize),
    ) -> bool {
        let all = packets.all();
        if packets.are_watched() || all.is_empty() || !self.pause.is_over() {
            return false;
        }
        let mut ends = [(0, None, [0; 2]); 2];
        for (place, end) in [0, all.end - 1].into_iter().zip(&mut ends) {
            packets.look(place..place + 1, |_, p| {
                let domain = self.tables.ports.read(p.rx(), epoch).map_or(0, |port| port.domain);
                let addresses = Addresses::of(p);
                *end = (p.rx(), addresses, addresses.map_or([0; 2], |a| a.keys(domain)));
            });
        }
        let [(rx, first, keys), (last_rx, last, _)] = ends;
        let (node, ahead) = packets.ahead();
        let port = self.tables.ports.read(rx, epoch);
        let stages = port.and_then(|port| self.stages(port, start.bits(rx), (node, ahead)));
        let Some(stages) = stages else { return false };
        let sequence = port.map_or(0, |port| port.sequence);
        let mut pass = Pass {
            tables: &self.tables,
            view: self.tables.fib.read(epoch),
            edges: self.edges.read(epoch).as_ref(),
            start,
            epoch,
            minute,
            stages,
            rx,
            port,
            expected: Entry::learned(rx, sequence, minute),
            known: 0,
            exits: [Egress::NONE; EXITS],
            outputs: Outputs::new(&self.interfaces, epoch),
        };
        // Where the first and the last frame are of one flow, most of them are.
        let mask = if stages.forward.is_some() { Addresses::BOTH } else { Addresses::UNICAST };
        let [first, last] = [first, last].map(|addresses| addresses.map(|a| a.and(mask)));
        let flow = first.filter(|a| rx == last_rx && first == last && !a.is_multicast());
        match flow.and_then(|flow| Some((flow, pass.exit_of(ahead, keys)?))) {
            Some((flow, exit)) => pass.take_flow(packets, (flow, mask), exit),
            None => packets.leave(all.clone()),
        }
        if packets.are_left(all.clone()) {
            pass.take_left(packets, &mut self.blocks);
        }
        let went = pass.end(packets, (node, self.to_output), (&self.counters, thread));
        self.pause.after(went, all.len());
        true
    }
    /// The nodes that usual frames of a port pass, when no others are among them.
    #[inline(never)]
    fn stages(
        &self,
        port: &PortSeen,
        bits: u64,
        (node, ahead): (u32, Ahead<'_>),
    ) -> Option<Stages> {
        let ([learn, forward, output], met) = (port.usual, met(port, bits));
        let first = ahead.start(node, &L2_INPUT)?.at(met.trailing_zeros());
        let next = ahead.target(node, first)?;
        let (learn, forward) = if met == output && met != 0 {
            (None, None)
        } else if met == forward {
            (None, Some(next))
        } else if met == learn | forward {
            let edge = ahead.start(next, &L2_INPUT)?.at(forward.trailing_zeros());
            (Some((next, edge)), Some(ahead.target(next, edge)?))
        } else {
            return None;
        };
        let output = forward.map_or(Some(next), |node| ahead.target(node, self.to_output))?;
        Some(Stages { met, first, learn, forward, output })
    }
}

impl<'a> Pass<'a> {
    /// Takes the frames of a flow: those with its bits in the bits of a mask.
    #[inline(always)]
    fn take_flow<N: Node>(
        &mut self,
        packets: &mut Passes<'_, N>,
        (flow, mask): (Addresses, Addresses),
        (to, exit): (u32, Exit),
    ) {
        let (rx, mut sent) = (self.rx, Volume::default());
        packets.usual_beyond(
            packets.all(),
            #[inline(always)]
            |_, _, p| {
                let is_alike = p.rx() == rx && Addresses::of(p)?.and(mask) == flow;
                if !is_alike || p.flags().has(exit.todo) {
                    return None;
                }
                p.set_tx(to);
                sent += Volume { packets: 1, bytes: p.len() as u64 };
                Some(exit.tx)
            },
        );
        self.outputs.count_all(&exit, sent);
    }
    /// Takes frames of any flows among those that are left.
    #[inline(always)]
    fn take_left<N: Node>(&mut self, packets: &mut Passes<'_, N>, blocks: &mut [Block; 2]) {
        let end = packets.all().end;
        let places = |block: usize| (block * BLOCK).min(end)..((block + 1) * BLOCK).min(end);
        let [mut block, mut next] = blocks.each_mut();
        self.read(packets, places(0), block);
        if self.stages.forward.is_some() {
            block.destinations.fetch_all(self.view);
        }
        for n in 0..end.div_ceil(BLOCK) {
            self.read(packets, places(n + 1), next);
            self.send(packets, places(n), block, next);
            std::mem::swap(&mut block, &mut next);
        }
    }
    /// Reads the keys of a block.
    #[inline(always)]
    fn read<N: Node>(&self, packets: &mut Passes<'_, N>, places: Range<usize>, block: &mut Block) {
        let (mut ports, mut rx, mut domain) = (0, u32::MAX, None);
        let (looks_up, view, len) = (self.stages.forward.is_some(), self.view, places.len());
        packets.look(
            places,
            #[inline(always)]
            |place, p| {
                if p.rx() != rx {
                    (ports, rx) = (ports + 1, p.rx());
                    domain = self.port(rx).map(|port| port.domain);
                }
                let mut keys = [0; 2];
                if let (Some(addresses), Some(domain)) = (Addresses::of(p), domain)
                    && !addresses.is_multicast()
                {
                    keys = addresses.keys(domain);
                }
                let at = place % BLOCK;
                [block.sources.keys[at], block.destinations.keys[at]] = keys;
                if looks_up {
                    block.destinations.buckets[at] = view.bucket(keys[1]);
                }
            },
        );
        let Lookups { keys, buckets, .. } = &mut block.sources;
        let is_alike = ports == 1 && keys[..len].iter().fold(0, |d, s| d | (s ^ keys[0])) == 0;
        block.alike = is_alike.then_some(rx);
        if looks_up && self.stages.learn.is_some() && !is_alike {
            for (key, bucket) in keys[..len].iter().zip(buckets) {
                *bucket = view.bucket(*key);
                view.fetch_bucket(*bucket);
            }
        }
    }
    /// Sends the frames of a block on, and asks for what is known of the next one; those that have
    /// to go node by node are left as they are.
    #[inline(always)]
    fn send<N: Node>(
        &mut self,
        packets: &mut Passes<'_, N>,
        places: Range<usize>,
        block: &mut Block,
        next: &Block,
    ) {
        let Block { sources, destinations, alike } = block;
        let len = places.len();
        let looks_up = self.stages.forward.is_some();
        let mut are_known = self.stages.learn.is_none();
        if let Some(rx) = *alike
            && !are_known
        {
            if rx != self.rx {
                self.enter_by(rx);
            }
            are_known = self.is_known(sources.keys[0]);
            if !are_known {
                if looks_up {
                    next.destinations.fetch_all(self.view);
                }
                return;
            }
        }
        if !are_known {
            sources.find(len, self.view, |_| ());
        }
        if looks_up {
            destinations.find(len, self.view, |place| next.destinations.fetch(place, self.view));
        }
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
                p.set_tx(to);
                self.outputs.count(&exit, p.len());
                Some(exit.tx)
            },
        );
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
        port.filter(|port| met(port, self.start.bits(rx)) == self.stages.met)
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
    fn exit_of(&mut self, ahead: Ahead<'_>, [source, destination]: Keys) -> Option<(u32, Exit)> {
        let is_known = self.is_known(source);
        let looks_up = is_known && self.stages.forward.is_some();
        let entry = Entry(if looks_up { self.view.find(destination) } else { 0 });
        if is_known { self.exit(ahead, entry) } else { None }
    }
    /// The interface that a frame goes out by, and the exit there.
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
    fn end<N: Node>(
        self,
        packets: &mut Passes<'_, N>,
        (node, to_output): (u32, Slot),
        counters: (&Counters, usize),
    ) -> u64 {
        let Stages { first, learn, forward, output, .. } = self.stages;
        let (share_here, last) = match forward {
            Some(_) => (share::OUTPUT, share::LAST),
            None => (share::connected::OUTPUT, share::connected::LAST),
        };
        let went = self.outputs.end(packets, last, counters);
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
