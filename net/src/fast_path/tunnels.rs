//! Packets into tunnels on the fast path: they pass the mid-chain node of their version and
//! `adj-midchain-tx`, then the nodes of the [underlay](super::underlay).

use std::ops::Range;

use graph::{Ahead, BLOCK, Buffer, Flags, Node, Passes};
use infra::counter::Volume;

use super::through::{ETHERNET, Pass, share};
use super::underlay::Lane;
use crate::adjacency::Adjacency;
use crate::adjacency::chain::Hop;
use crate::fib::count as count_route;
use crate::gso;
use crate::ip::{Onward, Version, with_hop};

/// An adjacency into a tunnel whose packets need nothing else.
#[derive(Clone, Copy)]
struct Into<'a> {
    index: u32,
    adjacency: &'a Adjacency,
    hop: &'a Hop,
    /// The mid-chain node, and the one behind it.
    midchain: u32,
    transmit: u32,
    /// The next step behind the headers.
    onward: Onward,
    lane: Lane<'a>,
}

impl<'a, V: Version> Pass<'a, V> {
    /// Sends the packets of a block into a tunnel, over an adjacency that the leaf of all leads to.
    #[inline(never)]
    pub(super) fn send_into<N: Node>(
        &mut self,
        packets: &mut Passes<'_, N>,
        block: Range<usize>,
        plain: u64,
        (leaf, index): (u32, u32),
    ) {
        let is_any_undone = self.is_any_undone.get_or_insert_with(|| gso::is_any_undone(packets));
        let into = if *is_any_undone { None } else { self.into_over(packets, index) };
        let Some(into) = into else { return packets.leave(block) };
        let (mut run, mut sent) = (Volume::default(), Volume::default());
        packets.usual_beyond(
            block,
            #[inline(always)]
            |ahead, i, p| {
                if plain >> (i % BLOCK) & 1 == 0 {
                    return None;
                }
                let (to, len) = self.enclose(ahead, p, &into)?;
                run += Volume { packets: 1, bytes: len };
                sent += Volume { packets: 1, bytes: len + into.hop.header.len() as u64 };
                Some(to)
            },
        );
        count_route(self.routes, leaf, run);
        self.into += run.packets;
        let Into { midchain, transmit, adjacency, .. } = into;
        packets.sent(self.nodes.lookup, self.edges.to_midchain, run.packets);
        packets.sent(midchain, adjacency.output, run.packets);
        packets.passed(midchain, run.packets, share::tunnel::MIDCHAIN);
        packets.passed(transmit, run.packets, share::tunnel::TRANSMIT);
        count_route(self.tunnels_sent, adjacency.interface.0, sent);
    }
    /// Puts the headers of a tunnel in front of a packet, and sends it on: the node that it waits
    /// for, and the length that it had. `None`, and nothing has changed, when it has to go node by
    /// node.
    #[inline(always)]
    fn enclose(
        &mut self,
        ahead: Ahead<'_>,
        p: &mut Buffer<'_>,
        into: &Into<'a>,
    ) -> Option<(u32, u64)> {
        if p.rx() != self.ingress.rx {
            self.enter_by(ahead, p.rx());
        }
        self.ingress.fib?;
        let (a, hop) = (into.adjacency, into.hop);
        let (flags, offset, room) = (p.flags(), p.offset(), p.headroom() + ETHERNET);
        let packet = p.bytes_mut().get_mut(ETHERNET..)?;
        let len = packet.len();
        let has_hop = V::hops_of(packet).is_some_and(|hops| hops > 1);
        if !has_hop | (len > usize::from(a.mtu)) | (room < hop.header.len()) {
            return None;
        }
        V::spend_hop_of(packet);
        p.set_l2_offset(offset);
        p.set_l3_offset(offset + ETHERNET as i16);
        p.set_flags(flags.with(Flags::L2).with(Flags::L3).with(Flags::LOCAL));
        p.advance(ETHERNET)?;
        hop.put_in_front(p)?;
        if a.is_counted {
            self.underlay.count(into.index, p.len());
        }
        p.set_tx(a.interface.0);
        into.onward.take(p);
        self.ingress.packets += 1;
        Some((self.underlay.send(&into.lane, p, &mut self.outputs), len as u64))
    }
    /// The way into a tunnel over an adjacency, if no feature is on the path.
    fn into_over<N: Node>(&mut self, packets: &Passes<'_, N>, index: u32) -> Option<Into<'a>> {
        let ahead = packets.ahead().1;
        let midchain = ahead.target(self.nodes.lookup, self.edges.to_midchain)?;
        let a = self.adjacencies.read(index, self.epoch);
        let (adjacency, hop) = a.and_then(with_hop).filter(|(_, hop)| !hop.header.is_empty())?;
        let feature = ahead.start(midchain, V::OUTPUT_ARC)?.first(adjacency.interface.0);
        if feature.is_some() || adjacency.is_led {
            return None;
        }
        let transmit = ahead.target(midchain, adjacency.output)?;
        let onward = self.stacked.onward(hop, self.epoch);
        let lane = self.underlay.lane(ahead, transmit, &onward, &mut self.outputs)?;
        Some(Into { index, adjacency, hop, midchain, transmit, onward, lane })
    }
}
