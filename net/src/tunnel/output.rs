//! Output nodes of tunnels for Ethernet frames: the tunnel's headers are put in front, and the
//! packet goes on as the route to the far end leads.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use graph::{Flags, Frame, Names, Node, Reason, Record, Slot};
use infra::rcu::{Epoch, SlabReader};
use infra::sequence::Sequence;

use super::Kind;
use crate::adjacency::AdjacencyIndex;
use crate::adjacency::chain::Hop;
use crate::fast_path::{Neighbors, Outputs, Underlay};
use crate::gso::UNDONE;
use crate::interface::{Counters, Port};
use crate::ip::{Onward, Stacked};
use crate::router::Router;

/// The headers in front of frames for an interface, and the next node.
#[derive(Clone, Debug)]
pub struct Sending {
    /// The headers, stacked on the route to the far end.
    pub hop: Hop,
    /// The adjacency that a multicast group is reached over instead.
    pub group: Option<AdjacencyIndex>,
    /// The edge to a node between the headers and the way to the far end, and the number that
    /// frames have there in place of an adjacency's.
    pub led: Option<(Slot, u32)>,
    /// Place of the frame's sequence number in the headers.
    pub sequence: Option<(usize, Arc<Sequence>)>,
    /// The edge of the output node to itself.
    pub again: Slot,
    /// The output node.
    pub node: &'static str,
}

/// Encapsulation by a kind of tunnel.
pub trait Encapsulate: Kind {
    /// Reasons to drop a frame.
    type Error: Reason;
    /// Counters besides drops.
    type Count: graph::Count;
    /// The tunnel cannot take it.
    const NO_TUNNEL: Self::Error;
    /// A frame was put into a packet.
    const ENCAPSULATED: Self::Count;
}

/// Counters of output nodes of most kinds.
#[derive(Clone, Copy, graph::Count)]
pub enum OutputCount {
    /// good packets encapsulated.
    #[name("good packets encapsulated")]
    Encapsulated,
}

/// A kind that counts what it sends as most do: [`Unsent`] and [`OutputCount`].
pub trait CountsAsMost: Kind {}

impl<K: CountsAsMost> Encapsulate for K {
    type Error = Unsent;
    type Count = OutputCount;
    const NO_TUNNEL: Unsent = Unsent::NoTunnel;
    const ENCAPSULATED: OutputCount = OutputCount::Encapsulated;
}

/// Share of a packet's clocks by node, in thousandths, the output node having the rest.
mod share {
    pub const REWRITE: u64 = 250;
    /// The output of an interface.
    pub const OUTPUT: u64 = 100;
}

/// `<interface>-tx`: to the node that all tunnels of a kind share. Tunnels that have none send
/// nothing this way.
#[derive(Clone)]
pub(super) struct ToOutput {
    pub has_output: bool,
}

/// Edges of [`ToOutput`] and [`Output`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The output node; from there to the neighbour on the way to the far end, or wherever else
    /// the route to it leads.
    #[dynamic]
    To(Slot),
}

/// Drops of [`ToOutput`], and of [`Output`] of kinds that have no others.
#[derive(Clone, Copy, graph::Reason)]
pub enum Unsent {
    /// tunnel cannot take it.
    #[name("tunnel cannot take it")]
    NoTunnel,
    /// tunnel carries no frames.
    #[name("tunnel carries no frames")]
    NoFrames,
}

impl ToOutput {
    /// The edge to the output node: after the drop, the first that is connected.
    pub const OUTPUT: Slot = Slot(1);
}

impl Node for ToOutput {
    const NAME: &'static str = "tunnel-output-no-count";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = Unsent;
    type Count = Infallible;
    const READS_BYTES: bool = false;
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        match self.has_output {
            true => frame.forward_all(Next::To(Self::OUTPUT)),
            false => frame.each(|_| Err(Unsent::NoFrames)),
        }
    }
}

/// Flags of packets that are treated one by one: traced, in segments, with an offload pending.
const UNUSUAL: Flags = UNDONE.with(Flags::TRACED).with(Flags::CHAINED);

/// Sends Ethernet frames to far ends.
pub struct Output<K> {
    sending: SlabReader<Sending>,
    ports: SlabReader<Port>,
    counters: Arc<Counters>,
    stacked: Stacked,
    neighbors: Neighbors,
    of: PhantomData<fn() -> K>,
}

impl<K> Clone for Output<K> {
    fn clone(&self) -> Self {
        Self {
            sending: self.sending.clone(),
            ports: self.ports.clone(),
            counters: Arc::clone(&self.counters),
            stacked: self.stacked.clone(),
            neighbors: self.neighbors.clone(),
            of: PhantomData,
        }
    }
}

impl<K: Encapsulate> Output<K> {
    pub(super) fn new(router: &Router, sending: SlabReader<Sending>) -> Self {
        Self {
            sending,
            ports: router.interfaces.ports(),
            counters: router.interfaces.counters(),
            stacked: Stacked::new(router),
            neighbors: Neighbors::new(router),
            of: PhantomData,
        }
    }
    /// Headers in front of frames for an interface; those of a sub-interface have its tags already.
    #[inline(always)]
    fn find<'e>(&'e self, interface: u32, epoch: Epoch<'e>) -> Option<&'e Sending> {
        let of_parent = || self.sending.read(self.ports.read(interface, epoch)?.sup.0, epoch);
        self.sending.read(interface, epoch).or_else(of_parent)
    }
    /// The next step after the headers: over the adjacency of a group, or as the route leads.
    #[inline(always)]
    fn onward(&self, to: &Sending, epoch: Epoch<'_>) -> Onward {
        match (to.led, to.group) {
            (Some((edge, mark)), _) => Onward::led(mark, edge),
            (None, Some(group)) => Onward::over(group, &to.hop),
            (None, None) => self.stacked.onward(&to.hop, epoch),
        }
    }
}

impl<K: Encapsulate> Node for Output<K> {
    const NAME: &'static str = "tunnel-output";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Next;
    type Error = K::Error;
    type Count = K::Count;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread, this) = (frame.epoch(), frame.thread(), &*self);
        let mut put = 0;
        // What comes behind a frame that was cut stays behind its segments.
        let mut is_behind = false;
        let (mut known, mut found) = (u32::MAX, None);
        frame.passes(
            #[inline(always)]
            |packets| {
                // What comes behind a packet with an offload pending stays behind it.
                let mut is_any_undone = false;
                let (node, is_watched) = (packets.ahead().0, packets.are_watched());
                let mut outputs = Outputs::new(&this.ports, epoch);
                let mut underlay = Underlay::new(&this.neighbors, is_watched, (epoch, thread));
                packets.all_beyond(
                    packets.all(),
                    #[inline(always)]
                    |ahead, _, p| {
                        if is_any_undone | p.flags().has(UNUSUAL) {
                            is_any_undone |= p.flags().has(UNDONE);
                            return None;
                        }
                        let interface = p.tx();
                        if interface != known {
                            let to = this.find(interface, epoch);
                            found = to.filter(|to| to.sequence.is_none()).and_then(|to| {
                                let onward = this.onward(to, epoch);
                                let lane = underlay.lane(ahead, node, &onward, &mut outputs)?;
                                Some((to, onward, lane))
                            });
                            known = interface;
                        }
                        let (to, onward, lane) = found?;
                        if p.headroom() < to.hop.header.len() {
                            return None;
                        }
                        to.hop.enclose(p)?;
                        put += 1;
                        onward.take(p);
                        Some(underlay.send(&lane, p, &mut outputs))
                    },
                );
                underlay.end(packets, share::REWRITE);
                outputs.end(packets, share::OUTPUT, (&this.counters, thread));
                packets.others(packets.all(), |_, p| {
                    let interface = p.tx();
                    let to = this.find(interface, epoch).ok_or(K::NO_TUNNEL)?;
                    let again = to.hop.comes_again(p, |_| false, &mut is_behind);
                    if again.map_err(|_| K::NO_TUNNEL)? {
                        return Ok(Next::To(to.again));
                    }
                    to.hop.enclose(p).ok_or(K::NO_TUNNEL)?;
                    let is_explained = p.is_explained();
                    if let Some((at, sequence)) = &to.sequence
                        && let Some(field) = p.bytes_mut().get_mut(*at..*at + size_of::<u32>())
                    {
                        let number = if is_explained { 0 } else { sequence.take() };
                        field.copy_from_slice(&number.to_be_bytes());
                    }
                    put += 1;
                    p.trace(|_| Put { interface });
                    Ok(Next::To(this.onward(to, epoch).take(p)))
                });
            },
        );
        frame.count(K::ENCAPSULATED, put);
    }
}

struct Put {
    interface: u32,
}

impl Record for Put {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  encapsulated for {}", names.name("interface", self.interface))
    }
}
