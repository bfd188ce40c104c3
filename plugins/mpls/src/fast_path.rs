//! The fast path of labelled packets: those that get one label towards a known neighbour pass
//! `mpls-output` and the output of an interface in the hands of the node that puts it on, and wait
//! for the driver. Those whose label is swapped begin in the hands of `mpls-input` and pass
//! `mpls-lookup` and the node that puts the new label on as well.
//!
//! A packet takes it when no feature, trace or watcher is on its path. Another is left as it came,
//! unchanged and uncounted, and goes node by node. What nodes count is counted as if each had been
//! called.

use std::sync::atomic::AtomicU32;

use graph::{Ahead, BLOCK, Next, Passes};
use infra::counter::Rows;
use infra::table::numbers::{Numbers32Reader, NumbersReader, View};
use net::adjacency::Adjacency;
use net::fast_path::{Egress, Outputs, Pause, edge};
use net::fib::{Brief, Forwarding4, ObjectEdges, ObjectKind, Popped};
use net::interface::{Counters, Port};
use net::prelude::*;
use wire::mpls::Entry;

use super::impose::{Carried, Inner, UNDONE};
use super::input::MPLS_INPUT;
use super::output::{MPLS_OUTPUT, Output};
use super::table::{UNCOUNTED, place};
use super::{input, lookup};

/// Length of an Ethernet header.
const ETHERNET: usize = 14;
/// Flags of packets that go node by node.
const UNUSUAL: Flags = UNDONE.with(Flags::TRACED).with(Flags::CHAINED);
/// Flags that the nodes of the path take off.
const TAKEN_OFF: Flags = Flags::POPPED.with(Flags::L3).with(Flags::L4);
/// Steps of a swap, each of which works on another block.
const STEPS: usize = 3;

/// Share of a packet's clocks by node, in thousandths, the first node having the rest.
mod share {
    pub const OUTPUT: u64 = 300;
    pub const LAST: u64 = 200;

    /// The same of packets whose label is swapped.
    pub mod swap {
        pub const LOOKUP: u64 = 300;
        pub const IMPOSE: u64 = 200;
        pub const OUTPUT: u64 = 200;
        pub const LAST: u64 = 120;
    }
}

/// The path behind a label, on one thread.
#[derive(Clone)]
pub struct FastPath {
    /// Of impositions.
    briefs: NumbersReader,
    ports: SlabReader<Port>,
    counters: Arc<Counters>,
    adjacencies: SlabReader<Adjacency>,
    /// Packets and bytes by adjacency.
    by_adjacency: Rows<VolumeCounter>,
    pause: Pause,
}

/// Packets of a frame on their way to drivers.
struct Leaving<'a> {
    fast: &'a FastPath,
    epoch: Epoch<'a>,
    by_adjacency: &'a [VolumeCounter],
    /// `mpls-output`.
    node: u32,
    /// The last adjacency, and what is behind it.
    index: u32,
    egress: Option<Egress<'a>>,
    outputs: Outputs<'a>,
}

impl FastPath {
    pub(super) fn new(router: &Router) -> Self {
        Self {
            briefs: router.fib.briefs(),
            ports: router.interfaces.ports(),
            counters: router.interfaces.counters(),
            adjacencies: router.adjacencies.reader(),
            by_adjacency: router.adjacencies.counters(),
            pause: Pause::default(),
        }
    }
    fn leaving<'a>(&'a self, node: u32, epoch: Epoch<'a>, thread: usize) -> Leaving<'a> {
        Leaving {
            fast: self,
            epoch,
            by_adjacency: self.by_adjacency.row(thread),
            node,
            index: u32::MAX,
            egress: None,
            outputs: Outputs::new(&self.ports, epoch),
        }
    }
    /// Puts one label on packets that take the path; leaves all others.
    #[inline(always)]
    pub(super) fn impose<C: Carried, N: Node>(
        &mut self,
        packets: &mut Passes<'_, N>,
        (epoch, thread): (Epoch<'_>, usize),
    ) {
        let (node, ahead) = packets.ahead();
        let to_output = edge(lookup::To::EDGES, Output::<false>::NAME);
        let output = ahead.target(node, to_output).filter(|_| !packets.are_watched());
        let Some(output) = output.filter(|_| self.pause.is_over()) else {
            return packets.leave(packets.all());
        };
        let briefs = self.briefs.view();
        let mut leaving = self.leaving(output, epoch, thread);
        // What comes behind a packet that is to be cut stays behind its segments.
        let mut is_behind = false;
        packets.all_beyond(
            packets.all(),
            #[inline(always)]
            |ahead, _, p| {
                let flags = p.flags();
                is_behind |= flags.has(UNDONE);
                if flags.has(UNUSUAL) | is_behind {
                    return None;
                }
                let brief = Brief::of(briefs.at(p.adjacency() as usize))?;
                let inner = C::inner(p, Popped::of(p))?;
                let to = leaving.egress(ahead, brief.adjacency(), p, size_of::<Entry>())?;
                C::spend(p);
                let new = entry(brief.entry(), brief.is_uniform(), inner);
                p.prepend(size_of::<Entry>())?.copy_from_slice(new.as_bytes());
                leaving.send(p, &to)
            },
        );
        let went = leaving.end(packets, (share::OUTPUT, share::LAST), thread);
        packets.sent(node, to_output, went);
        self.pause.after(went, packets.all().len());
    }
}

/// A label as a packet gets it.
#[inline(always)]
fn entry(own: u32, is_uniform: usize, inner: Inner) -> Entry {
    let taken = own & !0xfff | u32::from(inner.exp & 7) << 9 | u32::from(inner.ttl);
    let takes = inner.ttl != 0 && (inner.is_swap || is_uniform != 0);
    Entry::of_word(if takes { taken } else { own } | u32::from(inner.is_last) << 8)
}

impl<'a> Leaving<'a> {
    /// The egress of a packet that gets `more` bytes of labels, if nothing else is to be done.
    #[inline(always)]
    fn egress(
        &mut self,
        ahead: Ahead<'_>,
        index: u32,
        p: &Buffer<'_>,
        more: usize,
    ) -> Option<Egress<'a>> {
        if index != self.index {
            let adjacency = self.fast.adjacencies.read(index, self.epoch);
            self.index = index;
            self.egress = self.outputs.egress(ahead, (self.node, &MPLS_OUTPUT), adjacency);
        }
        let to = self.egress?;
        let fits = p.len() + more <= usize::from(to.adjacency.mtu);
        let has_room = p.headroom() >= ETHERNET + more;
        (fits & has_room & !p.flags().has(to.exit.todo)).then_some(to)
    }
    /// Sends a packet with all its labels: the node that it waits for.
    #[inline(always)]
    fn send(&mut self, p: &mut Buffer<'_>, to: &Egress<'_>) -> Option<u32> {
        let a = to.adjacency;
        p.prepend(ETHERNET)?.copy_from_slice(a.header.first_chunk::<ETHERNET>()?);
        let (flags, l2) = (p.flags().without(TAKEN_OFF), p.offset());
        p.set_flags(flags);
        p.set_l2_offset(l2);
        p.set_adjacency(self.index);
        p.set_tx(a.interface.0);
        self.outputs.count(&to.exit, p.len());
        if a.is_counted
            && let Some(counter) = self.by_adjacency.get(self.index as usize)
        {
            counter.add(1, p.len() as u64);
        }
        Some(to.exit.tx)
    }
    /// Counts for `mpls-output` and what is behind it as if each had been called; the number of
    /// packets passed.
    fn end<N: Node>(
        self,
        packets: &mut Passes<'_, N>,
        (output, last): (u64, u64),
        thread: usize,
    ) -> u64 {
        let went = self.outputs.end(packets, last, (&self.fast.counters, thread));
        packets.passed(self.node, went, output);
        went
    }
}

/// The path of packets whose label is swapped, on one thread.
#[derive(Clone)]
pub struct SwapPath {
    pub(super) fast: FastPath,
    /// Load balances by label, by table.
    pub(super) tables: SlabReader<Numbers32Reader>,
    pub(super) balances: Forwarding4,
    /// Edges of `mpls-lookup`.
    pub(super) objects: ObjectEdges,
}

/// An imposer: the edge of `mpls-lookup` that leads there, its number, and packets that passed it.
#[derive(Clone, Copy)]
struct Imposer {
    edge: Slot,
    node: u32,
    packets: u64,
}

/// One frame on its way.
struct Pass<'a> {
    swap: &'a SwapPath,
    rx: u32,
    fib: u16,
    labels: View<'a, AtomicU32>,
    routes: &'a [VolumeCounter],
    /// By place in a block under way: the place of the label in its table, `u32::MAX` for none, and
    /// its load balance.
    places: [[u32; BLOCK]; STEPS],
    leaves: [[u32; BLOCK]; STEPS],
    /// Packets of the last load balance that are not counted yet.
    leaf: u32,
    run: Volume,
    imposers: [Imposer; 2],
    leaving: Leaving<'a>,
}

impl SwapPath {
    /// Takes packets of the interface of the first one, whose table is `fib`; says whether it went
    /// over them.
    #[inline(always)]
    pub(super) fn take<N: Node>(
        &mut self,
        packets: &mut Passes<'_, N>,
        (rx, fib): (u32, u16),
        (epoch, thread): (Epoch<'_>, usize),
    ) -> bool {
        if packets.are_watched() || !self.fast.pause.is_over() {
            return false;
        }
        let Some(went) = self.pass(packets, (rx, fib), (epoch, thread)) else { return false };
        self.fast.pause.after(went, packets.all().len());
        true
    }
    /// The number of packets that went.
    #[inline(always)]
    fn pass<N: Node>(
        &self,
        packets: &mut Passes<'_, N>,
        (rx, fib): (u32, u16),
        (epoch, thread): (Epoch<'_>, usize),
    ) -> Option<u64> {
        let (node, ahead) = packets.ahead();
        if ahead.feature(node, &MPLS_INPUT, rx).is_some() {
            return None;
        }
        let to_lookup = edge(input::Next::EDGES, lookup::Lookup::<false>::NAME);
        let to_output = edge(lookup::To::EDGES, Output::<false>::NAME);
        let lookup = ahead.target(node, to_lookup)?;
        let imposer = |kind: ObjectKind| {
            let edge = self.objects.slot(kind, epoch)?;
            Some(Imposer { edge, node: ahead.target(lookup, edge)?, packets: 0 })
        };
        let [pipe, uniform] = ObjectKind::LABELS;
        let imposers = [imposer(pipe)?, imposer(uniform)?];
        let output = ahead.target(imposers[0].node, to_output)?;
        let none = [[0; BLOCK]; STEPS];
        let mut pass = Pass {
            swap: self,
            rx,
            fib,
            labels: self.tables.read(fib.into(), epoch)?.view(),
            routes: self.balances.count_to(thread),
            places: none,
            leaves: none,
            leaf: 0,
            run: Volume::default(),
            imposers,
            leaving: self.fast.leaving(output, epoch, thread),
        };
        let end = packets.all().end;
        let places = |block: usize| (block * BLOCK).min(end)..((block + 1) * BLOCK).min(end);
        for step in 0..end.div_ceil(BLOCK) + STEPS - 1 {
            pass.read(packets, step, places(step));
            if let Some(block) = step.checked_sub(1) {
                pass.find(block, places(block).len());
            }
            if let Some(block) = step.checked_sub(2) {
                pass.send(packets, block, places(block));
            }
        }
        pass.count();
        let (imposers, leaving) = (pass.imposers, pass.leaving);
        let went = leaving.end(packets, (share::swap::OUTPUT, share::swap::LAST), thread);
        self.fast.counters.mpls.row(thread).get(rx as usize)?.add(went);
        packets.sent(node, to_lookup, went);
        packets.passed(lookup, went, share::swap::LOOKUP);
        for imposer in imposers {
            packets.sent(lookup, imposer.edge, imposer.packets);
            packets.passed(imposer.node, imposer.packets, share::swap::IMPOSE);
            packets.sent(imposer.node, to_output, imposer.packets);
        }
        Some(went)
    }
}

impl Pass<'_> {
    /// Reads the labels of a block.
    #[inline(always)]
    fn read<N: Node>(&mut self, packets: &mut Passes<'_, N>, block: usize, at: Range<usize>) {
        let (places, labels, rx) = (&mut self.places[block % STEPS], self.labels, self.rx);
        packets.look(
            at,
            #[inline(always)]
            |i, p| {
                let entry = p.header::<Entry>().filter(|entry| entry.ttl() > 1);
                let is_usual = p.rx() == rx && !p.flags().has(UNUSUAL);
                let entry = entry.filter(|_| is_usual);
                let label = entry.map_or(u32::MAX, |e| place(e.label(), e.is_last()) as u32);
                labels.fetch(label as usize);
                places[i % BLOCK] = label;
            },
        );
    }
    /// Finds their load balances.
    #[inline(always)]
    fn find(&mut self, block: usize, len: usize) {
        let (places, leaves) = (&self.places[block % STEPS], &mut self.leaves[block % STEPS]);
        for (place, leaf) in places[..len].iter().zip(leaves) {
            *leaf = self.labels.at(*place as usize);
            self.swap.balances.fetch(*leaf & !UNCOUNTED);
            // None for those that are not counted.
            self.routes.get(*leaf as usize).into_iter().for_each(infra::cpu::prefetch);
        }
    }
    /// Sends the packets of a block.
    #[inline(always)]
    fn send<N: Node>(&mut self, packets: &mut Passes<'_, N>, block: usize, at: Range<usize>) {
        let block = block % STEPS;
        packets.usual_beyond(
            at,
            #[inline(always)]
            |ahead, i, p| {
                let leaf = self.leaves[block][i % BLOCK];
                let swap = self.swap.balances.only_swap(leaf & !UNCOUNTED)?;
                let to = self.leaving.egress(ahead, swap.adjacency(), p, 0)?;
                let old = *p.header::<Entry>()?;
                let popped = Popped {
                    ttl: old.ttl(),
                    exp: old.exp(),
                    is_last: old.is_last().into(),
                    ..Popped::default()
                };
                let new = entry(swap.label() << 12, swap.is_uniform(), Inner::below(popped)?);
                if leaf != self.leaf {
                    self.count();
                    self.leaf = leaf;
                }
                self.run += Volume { packets: 1, bytes: p.len() as u64 };
                self.imposers[swap.is_uniform()].packets += 1;
                *p.header_mut::<Entry>()? = new;
                p.set_fib(self.fib);
                self.leaving.send(p, &to)
            },
        );
    }
    /// Counts packets for the last load balance.
    #[inline(always)]
    fn count(&mut self) {
        let run = std::mem::take(&mut self.run);
        // None for those that are not counted.
        if let Some(counter) = self.routes.get(self.leaf as usize).filter(|_| run.packets > 0) {
            counter.add(run.packets, run.bytes);
        }
    }
}
