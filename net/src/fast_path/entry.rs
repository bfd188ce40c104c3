//! The begin of the fast path of packets that features await: they pass `ethernet-input`, the input
//! node of their version and reassembly in the hands of the former, and wait for the next feature.

use graph::{Ahead, Buffer, Flags, Node, Passes, Slot};
use infra::rcu::Epoch;

use super::through::{ETHERNET, Through};
use crate::ethernet::{NOBODY, for_own, own_untagged};
use crate::ip::{SourceFamily, Version, count};

/// Nodes of reassembly at most on the path.
const MOST_SKIPPED: usize = 2;

/// Share of a packet's clocks by node, in thousandths, `ethernet-input` having the rest.
mod share {
    pub const INPUT: u64 = 500;
    pub const REASSEMBLY: u64 = 150;
}

/// The path of packets of an interface to their first feature.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The input node, its edge to the first feature.
    input: (u32, Slot),
    /// Nodes of reassembly that others than fragments pass, with their edges along the arc.
    skipped: [(u32, Slot); MOST_SKIPPED],
    count: usize,
    /// The feature that packets wait for.
    feature: u32,
}

impl Entry {
    /// Of an interface that has features; `None` where it has none.
    fn of<V: Version>(ahead: Ahead<'_>, input: u32, rx: u32) -> Option<Self> {
        let first = ahead.feature(input, V::UNICAST_ARC, rx)?;
        let feature = ahead.target(input, first)?;
        let (skipped, count) = ([(0, Slot(0)); MOST_SKIPPED], 0);
        let mut entry = Self { input: (input, first), skipped, count, feature };
        while entry.count < MOST_SKIPPED && ahead.is_for_fragments(entry.feature) {
            let edge = ahead.along(entry.feature, V::UNICAST_ARC, rx)?;
            entry.skipped[entry.count] = (entry.feature, edge);
            entry.feature = ahead.target(entry.feature, edge)?;
            entry.count += 1;
        }
        Some(entry)
    }
}

impl<V: Version> Through<V> {
    /// Takes packets of the interface of the first one to their features; false where it has none.
    /// Out of line, so that other packets pay nothing for it.
    #[inline(never)]
    pub(super) fn take_to_features<N: Node>(
        &mut self,
        packets: &mut Passes<'_, N>,
        (rx, epoch, thread): (u32, Epoch<'_>, usize),
    ) -> bool {
        let Some(went) = self.enter_by_features(packets, (rx, epoch, thread)) else { return false };
        self.pause.after(went, packets.all().len());
        true
    }
    /// The number of packets that went.
    #[inline(always)]
    fn enter_by_features<N: Node>(
        &self,
        packets: &mut Passes<'_, N>,
        (rx, epoch, thread): (u32, Epoch<'_>, usize),
    ) -> Option<u64> {
        let (ethernet, ahead) = packets.ahead();
        let input = ahead.target(ethernet, self.edges.to_input)?;
        let entry = Entry::of::<V>(ahead, input, rx)?;
        let port = self.ports.read(rx, epoch)?;
        let (fib, own) = (V::Family::table(port)?, own_untagged(port));
        if own == NOBODY {
            return None;
        }
        let (ethertype, is_behind_reassembly) = (self.ethertype, entry.count > 0);
        let mut went = 0;
        packets.usual_beyond(
            packets.all(),
            #[inline(always)]
            |_, _, p| {
                let frame = p.bytes();
                if p.rx() != rx || for_own(frame, own) != Some(ethertype) {
                    return None;
                }
                let packet = frame.get(ETHERNET..)?;
                V::plain(packet)?;
                if is_behind_reassembly && !V::is_whole(packet) {
                    return None;
                }
                enter(p, fib)?;
                went += 1;
                Some(entry.feature)
            },
        );
        count(V::received(&self.counters).row(thread), rx, went);
        packets.sent(ethernet, self.edges.to_input, went);
        packets.sent(entry.input.0, entry.input.1, went);
        packets.passed(entry.input.0, went, share::INPUT);
        for (node, edge) in &entry.skipped[..entry.count] {
            packets.sent(*node, *edge, went);
            packets.passed(*node, went, share::REASSEMBLY);
        }
        Some(went)
    }
}

/// Takes the Ethernet header off a packet that looks up in a table.
#[inline(always)]
pub(super) fn enter(p: &mut Buffer<'_>, fib: u16) -> Option<()> {
    let offset = p.offset();
    p.advance(ETHERNET)?;
    p.set_l2_offset(offset);
    p.set_l3_offset(offset + ETHERNET as i16);
    p.add_flags(Flags::L2.with(Flags::L3));
    p.set_fib(fib);
    Some(())
}
