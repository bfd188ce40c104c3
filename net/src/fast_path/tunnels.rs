//! Packets into tunnels on the fast path: they pass the mid-chain node of their version and
//! `adj-midchain-tx`, then the nodes of the [underlay](super::underlay). Those of tunnels with a
//! node of a feature after their headers wait for that.

use std::ops::Range;

use graph::{Ahead, BLOCK, Buffer, Flags, Node, Passes};
use infra::counter::{Volume, VolumeCounter};

use super::through::{ETHERNET, Pass, share};
use super::underlay::{Lane, Underlay};
use crate::adjacency::Adjacency;
use crate::adjacency::chain::{ENCLOSED, Hop};
use crate::fib::count as count_route;
use crate::gso::UNDONE;
use crate::ip::{Onward, Stacked, Version, with_hop};

/// An adjacency into a tunnel whose packets need nothing else.
#[derive(Clone, Copy)]
struct Entry<'a> {
    index: u32,
    adjacency: &'a Adjacency,
    hop: &'a Hop,
    /// The mid-chain node, and the one after it.
    midchain: u32,
    transmit: u32,
    /// The next step after the headers; `None` when packets wait for the node there, which is a
    /// feature's.
    behind: Option<(Onward, Lane<'a>)>,
}

/// Data for a frame's packets into tunnels.
pub(super) struct Tunnels<'a> {
    /// Whether a packet that was left has an offload pending: what comes after it is left too.
    is_behind: bool,
    stacked: &'a Stacked,
    underlay: Underlay<'a>,
    /// Packets and bytes sent, by interface.
    sent: &'a [VolumeCounter],
    /// Packets that went into tunnels.
    packets: u64,
}

impl Tunnels<'_> {
    /// Counts after the headers; the numbers of packets that went into tunnels, and of those that
    /// passed the underlay too.
    #[inline(never)]
    pub fn end<N: Node>(self, packets: &mut Passes<'_, N>) -> (u64, u64) {
        (self.packets, self.underlay.end(packets, share::tunnel::REWRITE))
    }
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
        let (through, epoch, thread) = (self.through, self.epoch, self.thread);
        let mut tunnels = self.tunnels.take().unwrap_or_else(|| Tunnels {
            is_behind: false,
            stacked: &through.stacked,
            underlay: Underlay::new(&through.neighbors, false, (epoch, thread)),
            sent: through.counters.tx.row(thread),
            packets: 0,
        });
        if tunnels.is_behind {
            packets.leave(block);
        } else {
            self.send_over(packets, &mut tunnels, (block, plain), (leaf, index));
        }
        self.tunnels = Some(tunnels);
    }
    /// Does so, if the path there needs nothing else.
    #[inline(always)]
    fn send_over<N: Node>(
        &mut self,
        packets: &mut Passes<'_, N>,
        tunnels: &mut Tunnels<'a>,
        (block, plain): (Range<usize>, u64),
        (leaf, index): (u32, u32),
    ) {
        let into = self.entry_over(packets, tunnels, index);
        let Some(into) = into else { return packets.leave(block) };
        let (mut run, mut sent) = (Volume::default(), Volume::default());
        packets.all_beyond(
            block,
            #[inline(always)]
            |ahead, i, p| {
                let is_undone = p.flags().has(UNDONE);
                if is_undone | tunnels.is_behind | (plain >> (i % BLOCK) & 1 == 0) {
                    tunnels.is_behind |= is_undone;
                    return None;
                }
                let (to, len) = self.enclose(ahead, p, tunnels, &into)?;
                run += Volume { packets: 1, bytes: len };
                sent += Volume { packets: 1, bytes: len + into.hop.header.len() as u64 };
                Some(to)
            },
        );
        count_route(self.routes, leaf, run);
        tunnels.packets += run.packets;
        let Entry { midchain, transmit, adjacency, .. } = into;
        packets.sent(self.nodes.lookup, self.through.edges.to_midchain, run.packets);
        packets.sent(midchain, adjacency.output, run.packets);
        packets.passed(midchain, run.packets, share::tunnel::MIDCHAIN);
        if into.behind.is_some() {
            packets.passed(transmit, run.packets, share::tunnel::TRANSMIT);
            count_route(tunnels.sent, adjacency.interface.0, sent);
        }
    }
    /// Puts the headers of a tunnel in front of a packet, and sends it on: the node that it waits
    /// for, and the length that it had. `None`, and nothing has changed, when it has to go node by
    /// node.
    #[inline(always)]
    fn enclose(
        &mut self,
        ahead: Ahead<'_>,
        p: &mut Buffer<'_>,
        tunnels: &mut Tunnels<'a>,
        into: &Entry<'a>,
    ) -> Option<(u32, u64)> {
        if p.rx() != self.ingress.rx {
            self.enter_by(ahead, p.rx());
        }
        let fib = self.ingress.fib?;
        let (a, hop) = (into.adjacency, into.hop);
        let (flags, offset, room) = (p.flags(), p.offset(), p.headroom() + ETHERNET);
        let packet = p.bytes_mut().get_mut(ETHERNET..)?;
        let len = packet.len();
        let has_hop = V::hops_of(packet).is_some_and(|hops| hops > 1);
        if !has_hop | (len > usize::from(a.mtu)) | (room < hop.header.len()) {
            return None;
        }
        let mut flags = flags.with(Flags::L2).with(Flags::L3);
        if !hop.header.is_empty() {
            V::spend_hop_of(packet); // otherwise where the packet gets headers
            flags = flags.with(ENCLOSED);
        }
        p.set_l2_offset(offset);
        p.set_l3_offset(offset + ETHERNET as i16);
        p.set_flags(flags);
        p.advance(ETHERNET)?;
        hop.put_in_front(p)?;
        if a.is_counted {
            tunnels.underlay.count(into.index, p.len());
        }
        p.set_tx(a.interface.0);
        self.ingress.packets += 1;
        let Some((onward, lane)) = &into.behind else {
            p.set_fib(fib);
            p.set_adjacency(into.index);
            return Some((into.transmit, len as u64));
        };
        onward.take(p);
        Some((tunnels.underlay.send(lane, p, &mut self.outputs), len as u64))
    }
    /// The entry of a tunnel over an adjacency, if no feature is on the path.
    fn entry_over<N: Node>(
        &mut self,
        packets: &Passes<'_, N>,
        tunnels: &mut Tunnels<'a>,
        index: u32,
    ) -> Option<Entry<'a>> {
        let ahead = packets.ahead().1;
        let midchain = ahead.target(self.nodes.lookup, self.through.edges.to_midchain)?;
        let a = self.through.adjacencies.read(index, self.epoch);
        let (adjacency, hop) = a.and_then(with_hop)?;
        let feature = ahead.feature(midchain, V::OUTPUT_ARC, adjacency.interface.0);
        if feature.is_some() || (hop.header.is_empty() && !adjacency.is_led) {
            return None;
        }
        let transmit = ahead.target(midchain, adjacency.output)?;
        let behind = match adjacency.is_led {
            true => None,
            false => {
                let onward = tunnels.stacked.onward(hop, self.epoch);
                let lane = tunnels.underlay.lane(ahead, transmit, &onward, &mut self.outputs)?;
                Some((onward, lane))
            }
        };
        Some(Entry { index, adjacency, hop, midchain, transmit, behind })
    }
}
