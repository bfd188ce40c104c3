//! `ip4-pvti-bypass`, `ip6-pvti-bypass`: datagrams of tunnels leave the path of other packets for
//! this router right after receive.

use net::prelude::*;

use super::input::{Peers, peer_of};
use super::{BYPASS, INPUT};

/// Whether datagrams over IPv4 and over IPv6 leave early on an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bypassing(pub [bool; 2]);

/// Sees which packets are of tunnels.
#[derive(Clone)]
pub struct Bypass<V, const IS_6: bool> {
    peers: Reader<Peers>,
    of: PhantomData<V>,
}

/// Edges of [`Bypass`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<const IS_6: bool> {
    /// A tunnel's datagram.
    #[to(INPUT[IS_6 as usize])]
    Input,
    /// On with the features of the interface.
    #[along]
    Continue,
}

/// Counters of [`Bypass`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// PVTI bypass tunnel packets processed.
    #[name("PVTI bypass tunnel packets processed")]
    Processed,
}

impl<V: Version, const IS_6: bool> Bypass<V, IS_6> {
    pub(super) fn new(peers: Reader<Peers>) -> Self {
        Self { peers, of: PhantomData }
    }
    /// Whether a packet is a tunnel's; then its current bytes are those behind the UDP header.
    #[inline(always)]
    fn leaves(&self, p: &mut Buffer<'_>, epoch: Epoch<'_>) -> bool {
        let Ok(upper) = V::upper(p) else { return false };
        if upper.protocol != Protocol::UDP || V::is_fragment(p) {
            return false;
        }
        let is_bare = upper.header::<udp::Header>(p).is_some_and(|udp| udp.checksum.get() == 0);
        if !is_bare && V::verify(p, &upper).is_err() {
            return false;
        }
        let (l3, front) = (p.offset(), upper.offset + size_of::<udp::Header>());
        p.set_l3_offset(l3);
        p.set_l4_offset(l3 + upper.offset as i16);
        let peer = peer_of::<IS_6>(p);
        let is_known = peer.is_some_and(|peer| self.peers.read(epoch).contains_key(&peer));
        let leaves = is_known && p.advance(front).is_some();
        if leaves {
            p.add_flags(Flags::L3.with(Flags::L4));
        }
        leaves
    }
}

impl<V: Version, const IS_6: bool> Node for Bypass<V, IS_6> {
    const NAME: &'static str = BYPASS[IS_6 as usize];
    type Next = Next<IS_6>;
    type Error = Infallible;
    type Count = Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, this, mut count) = (frame.epoch(), &*self, 0);
        frame.each(
            #[inline(always)]
            |p| {
                let leaves = this.leaves(p, epoch);
                count += u64::from(leaves);
                Ok(if leaves { Next::Input } else { Next::Continue })
            },
        );
        frame.count(Count::Processed, count);
    }
}
