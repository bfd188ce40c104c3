//! Nodes of the lookup and interface-rx DPOs: `lookup-ip4-dst` and `lookup-ip6-dst` look up the
//! destination in another table, `lookup-ip4-src` and `lookup-ip6-src` the source,
//! `interface-rx-dpo-ip4` and `-ip6` have the packet received on another interface.
//!
//! Tables and interfaces may lead to each other: after a few looks the packet is dropped.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use graph::arc::Along;
use graph::{Buffer, BuildError, Edge, Flags, Frame, Names, Node, Payload, Record};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::lookup::{Headers, choose};
use super::lpm::LpmReader;
use super::next_node::{NextNode, next_node};
use crate::fib::TableIndex;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::fib::forwarding::Forwarding;
use crate::interface::Counters;
use crate::router::Router;

/// Most tables a packet is looked up in after the first.
const MOST: u8 = 4;

/// The number of lookups of a packet after the first.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(transparent)]
pub struct Depth(u8);

impl Payload for Depth {
    const NAME: &'static str = "lookup-depth";
}

/// The field of a packet that is looked up.
pub trait LookupKey: Clone + Send + 'static {
    /// Node name.
    fn name<F: Headers>() -> &'static str;
    /// The address.
    fn at<F: Headers>(p: &Buffer<'_>) -> F::Bits;
}

/// The destination.
#[derive(Clone, Debug)]
pub struct Destination;

impl LookupKey for Destination {
    fn name<F: Headers>() -> &'static str {
        F::LOOKUP_DST
    }
    fn at<F: Headers>(p: &Buffer<'_>) -> F::Bits {
        F::destination(p)
    }
}

/// Source.
#[derive(Clone, Debug)]
pub struct Source;

impl LookupKey for Source {
    fn name<F: Headers>() -> &'static str {
        F::LOOKUP_SRC
    }
    fn at<F: Headers>(p: &Buffer<'_>) -> F::Bits {
        F::source(p)
    }
}

/// Looks a packet up in the table it names.
#[derive(Clone, Debug)]
pub struct LookupNode<F: Family, L> {
    forwarding: Forwarding<F>,
    look: PhantomData<L>,
}

impl<F: Headers, L: LookupKey> Node for LookupNode<F, L> {
    const NAME: &'static str = "lookup-again";
    const EXPLAINABLE: bool = true;
    type Next = F::BalanceNext;
    type Error = Infallible;
    type Count = Infallible;
    const INPUT: &'static str = Depth::NAME;
    const DROP: &'static str = F::DROP_NODE;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let forwarding = &self.forwarding;
        let counters = forwarding.count_to(frame.thread());
        frame.each(
            #[inline(always)]
            |p| {
                let (fib, Depth(depth)) = (p.fib(), p.payload());
                let addr = L::at::<F>(p);
                let index =
                    forwarding.table(fib, epoch).map_or(0, |table| table.lookup(addr, epoch));
                if let Some(counter) = counters.get(index as usize) {
                    counter.add(1, p.total_len() as u64);
                }
                p.trace(|_| LookupTrace::<F> { fib, addr, index });
                let balance = forwarding.load_balance(index, epoch);
                let via = match balance.single() {
                    Some(via) => via,
                    None => choose::<F, _>(forwarding, p, balance, epoch),
                };
                let mut next = next_node::<F, _>(forwarding, p, via, F::destination(p), epoch);
                if matches!(next, NextNode::LookupDst | NextNode::LookupSrc) {
                    p.set_payload(Depth(depth + 1));
                    if depth + 1 >= MOST {
                        next = NextNode::Drop;
                    }
                }
                Ok(F::BalanceNext::from(next))
            },
        );
    }
}

struct LookupTrace<F: Family> {
    fib: u16,
    addr: F::Bits,
    index: u32,
}

impl<F: Headers> Record for LookupTrace<F> {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addr = F::addr(self.addr);
        write!(f, "  fib-index:{} addr:{addr} load-balance:{}", self.fib, self.index)
    }
    fn explain(&self, names: &dyn Names) -> Option<Vec<String>> {
        let router = names.router()?.downcast_ref::<Router>()?;
        Some(router.matched_route::<F>(TableIndex(self.fib), self.addr))
    }
}

/// Receives packets on the interface in their adjacency field.
#[derive(Clone)]
pub struct InterfaceRx<F> {
    counters: Arc<Counters>,
    of: PhantomData<F>,
}

/// Reasons why packets are not received on another interface.
#[derive(Clone, Copy, graph::Reason)]
pub enum RxError {
    /// routing loop between tables.
    Loop,
}

/// The edge of [`InterfaceRx`].
#[derive(Clone, Copy)]
pub struct Input<F>(PhantomData<F>);

impl<F: Headers> graph::Next for Input<F> {
    const EDGES: &'static [Edge] = &[Edge { to: F::INPUT_NODE, payload: "" }];
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        0
    }
}

impl<F: Headers> Node for InterfaceRx<F> {
    const NAME: &'static str = F::INTERFACE_RX;
    const EXPLAINABLE: bool = true;
    type Next = Input<F>;
    type Error = RxError;
    type Count = Infallible;
    const DROP: &'static str = F::DROP_NODE;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let received = self.counters.rx.row(frame.thread());
        frame.each(|p| {
            let interface = p.adjacency();
            let entered = p.flags().entered().ok_or(RxError::Loop)?;
            p.clear_flags(Flags::ENTRIES);
            p.add_flags(entered);
            p.set_rx(interface);
            if let Some(counter) = received.get(interface as usize) {
                counter.add(1, p.total_len() as u64);
            }
            p.trace(|_| Entered { interface });
            Ok(Input(PhantomData))
        });
    }
}

struct Entered {
    interface: u32,
}

impl Record for Entered {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}", names.name("interface", self.interface))
    }
}

pub(in crate::fib) fn register(router: &mut Router) -> Result<(), BuildError> {
    add::<Ip4>(router)?;
    add::<Ip6>(router)
}

fn add<F: Headers>(router: &mut Router) -> Result<(), BuildError> {
    add_look::<F, Destination>(router)?;
    add_look::<F, Source>(router)?;
    let counters = router.interfaces.counters();
    router.engine.add(InterfaceRx::<F> { counters, of: PhantomData })?;
    Ok(())
}

fn add_look<F: Headers, L: LookupKey>(router: &mut Router) -> Result<(), BuildError> {
    router.add_forwarder(F::LINK, L::name::<F>(), |router, objects| LookupNode::<F, L> {
        forwarding: router.fib.forwarding::<F>().leading_to(objects),
        look: PhantomData,
    })?;
    Ok(())
}
