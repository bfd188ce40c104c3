//! `ip4-icmp-error`, `ip6-icmp-error`: tell senders what is wrong with their packets.

use graph::{Buffer, Count, Flags, Frame, Node, Payload};
use infra::rcu::{Epoch, Reader};

use super::{Limit, Problem, Restore};
use crate::address::AddressReader;
use crate::ip::{Headers, Version};

/// Hops that an ICMP error leaves with: all there are.
pub(super) const HOPS: u8 = 255;
/// Kinds of errors that are counted, at most.
const KINDS: usize = 4;

/// A version of IP, as senders of ICMP errors need it. Functions on packets take those whose
/// current bytes start at the IP header.
pub trait ErrorSender: Version {
    /// The lookup node for errors.
    const LOOKUP: &'static str;
    /// Bytes of a packet that an error quotes at most.
    const QUOTED: usize;
    /// Its counters.
    type Sent: Count;
    /// All of it.
    const SENT: &'static [Self::Sent];

    /// Counter of errors of this ICMP type.
    fn sent(kind: u8) -> Self::Sent;
    /// Whether an error about a packet may be sent.
    fn may_send(p: &Buffer<'_>, problem: Problem) -> bool;
    /// Makes a packet the error about itself. `None` when no address of ours is fit to send it.
    fn make_error(
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
    restores: Reader<Vec<Restore>>,
    limit: Limit,
}

/// Edges of [`IcmpError`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next<V: ErrorSender> {
    /// To find the way back.
    #[to(V::LOOKUP)]
    Lookup(V),
}

/// Drops of [`IcmpError`].
#[derive(Clone, Copy, graph::Reason)]
pub enum Error {
    /// error message dropped.
    Drop,
}

impl<V: ErrorSender> IcmpError<V> {
    pub(super) fn new(addresses: AddressReader, restores: Reader<Vec<Restore>>) -> Self {
        Self { version: V::SELF, addresses, restores, limit: Limit::new() }
    }
}

impl<V: ErrorSender> Node for IcmpError<V> {
    const NAME: &'static str = V::NODES.icmp_error;
    const EXPLAINABLE: bool = true;
    type Next = Next<V>;
    type Error = Error;
    type Count = V::Sent;
    const INPUT: &'static str = Problem::NAME;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread) = (frame.epoch(), frame.thread());
        let restores = self.restores.read(epoch);
        self.limit.fill(frame.now());
        let mut sent = [0; KINDS];
        frame.each(|p| {
            let problem = p.payload::<Problem>();
            restores.iter().for_each(|restore| restore(p, thread, epoch));
            p.trace(Headers::<V>::of);
            let is_ours = p.flags().has(Flags::LOCAL);
            if is_ours || !V::may_send(p, problem) || !self.limit.take() {
                return Err(Error::Drop);
            }
            // What the first segment has is enough, cut to what an error may quote.
            p.truncate_chain(V::QUOTED.min(p.len()));
            V::make_error(p, problem, &self.addresses, epoch).ok_or(Error::Drop)?;
            sent[V::sent(problem.kind).index()] += 1;
            Ok(Next::Lookup(self.version))
        });
        V::SENT.iter().for_each(|what| frame.count(*what, sent[what.index()]));
    }
}
