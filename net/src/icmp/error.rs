//! `ip4-icmp-error`, `ip6-icmp-error`: tell senders what is wrong with their packets.

use graph::arc::Along;
use graph::{Buffer, Count, Edge, Flags, Frame, Node, Payload};
use infra::rcu::Epoch;

use super::{Limit, Problem};
use crate::address::AddressReader;
use crate::ip::{Headers, Version};

/// Hops that an ICMP error leaves with: all there are.
pub(super) const HOPS: u8 = 255;
/// Kinds of errors that are counted, at most.
const KINDS: usize = 4;

/// A version whose senders are told. Functions on packets take those whose current bytes start at
/// the IP header.
pub trait Tell: Version {
    /// Where errors find their way.
    const LOOKUP: &'static str;
    /// Bytes of a packet that an error quotes at most.
    const QUOTED: usize;
    /// What is counted.
    type Sent: Count;
    /// All of it.
    const SENT: &'static [Self::Sent];

    /// What an error of this ICMP type is counted as.
    fn sent(kind: u8) -> Self::Sent;
    /// Whether the sender of a packet may be told of a problem.
    fn may_tell(p: &Buffer<'_>, problem: Problem) -> bool;
    /// Makes a packet the error about itself. `None` when no address of ours is fit to send it.
    fn tell(
        p: &mut Buffer<'_>,
        problem: Problem,
        addresses: &AddressReader,
        epoch: Epoch<'_>,
    ) -> Option<()>;
}

/// Makes packets ICMP errors about themselves.
#[derive(Clone)]
pub struct IcmpError<V> {
    version: V,
    addresses: AddressReader,
    limit: Limit,
}

/// Edges of [`IcmpError`].
#[derive(Clone, Copy)]
pub enum Next<V> {
    /// To find the way back.
    Lookup(V),
}

/// Drops of [`IcmpError`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// error message dropped.
    Drop,
}

impl<V: Tell> graph::Next for Next<V> {
    const EDGES: &'static [Edge] = &[Edge { to: V::LOOKUP, payload: "" }];
    #[inline(always)]
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        let Self::Lookup(_) = self;
        0
    }
}

impl<V: Tell> IcmpError<V> {
    pub(super) fn new(addresses: AddressReader) -> Self {
        Self { version: V::SELF, addresses, limit: Limit::new() }
    }
}

impl<V: Tell> Node for IcmpError<V> {
    const NAME: &'static str = V::NODES.icmp_error;
    type Next = Next<V>;
    type Error = Error;
    type Count = V::Sent;
    const INPUT: &'static str = Problem::NAME;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        self.limit.fill(frame.now());
        let mut sent = [0; KINDS];
        frame.each(|p| {
            p.trace(Headers::<V>::of);
            let problem = p.payload::<Problem>();
            let is_ours = p.flags().has(Flags::LOCAL);
            if is_ours || !V::may_tell(p, problem) || !self.limit.take() {
                return Err(Error::Drop);
            }
            // What the first segment has is enough, cut to what an error may quote.
            p.truncate_chain(V::QUOTED.min(p.len()));
            V::tell(p, problem, &self.addresses, epoch).ok_or(Error::Drop)?;
            sent[V::sent(problem.kind).index()] += 1;
            Ok(Next::Lookup(self.version))
        });
        V::SENT.iter().for_each(|what| frame.count(*what, sent[what.index()]));
    }
}
