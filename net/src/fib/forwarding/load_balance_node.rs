//! `ip4-load-balance` and `ip6-load-balance`: on from one load balance to what it leads to, for
//! routes that resolve through others.

use std::convert::Infallible;

use graph::{Flags, Frame, Node, Packet};
use infra::rcu::Epoch;

use super::load_balance::{LoadBalance, Via};
use super::lookup::{Headers, trace};
use super::next_node::next_node;
use crate::fib::forwarding::Forwarding;
use crate::flow_hash;

/// Chooses a way out of the load balance that a packet names as its adjacency.
#[derive(Clone, Debug)]
pub struct LoadBalanceNode<F: Headers> {
    forwarding: Forwarding<F>,
}

impl<F: Headers> LoadBalanceNode<F> {
    pub(in crate::fib) fn new(forwarding: Forwarding<F>) -> Self {
        Self { forwarding }
    }
}

impl<F: Headers> Node for LoadBalanceNode<F> {
    const NAME: &'static str = F::LINK.load_balance_node();
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = F::BalanceNext;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = F::DROP_NODE;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let forwarding = &self.forwarding;
        let counters = forwarding.count_via(frame.thread());
        frame.each(
            #[inline(always)]
            |p| {
                let index = p.adjacency();
                if let Some(counter) = counters.get(index as usize) {
                    counter.add(1, p.total_len() as u64);
                }
                let balance = forwarding.load_balance(index, epoch);
                let via = match balance.single() {
                    Some(via) => via,
                    None => choose::<F, _>(forwarding, p, balance, epoch),
                };
                let dst = F::destination(p);
                let next = next_node::<F, _>(forwarding, p, via, dst, epoch);
                if p.flags().has(Flags::TRACED) {
                    trace::<F, _>(p, false);
                }
                Ok(F::BalanceNext::from(next))
            },
        );
    }
}

/// One of several ways, by the flow: another choice than the one before made of the same hash, or
/// it were no choice.
#[inline(never)]
fn choose<F: Headers, N>(
    forwarding: &Forwarding<F>,
    p: &mut Packet<'_, N>,
    balance: LoadBalance<'_>,
    epoch: Epoch<'_>,
) -> Via {
    let had = p.flags().has(Flags::HASH);
    let hash = if had {
        flow_hash::next(p.flow_hash())
    } else {
        F::flow_hash(p.bytes(), forwarding.hashing(p.fib(), epoch))
    };
    p.set_flow_hash(hash);
    p.add_flags(Flags::HASH);
    balance.choose(hash)
}
