//! `ip4-mfib-forward-lookup` and `ip4-mfib-forward-rpf`, and their twins of IPv6: the route of a
//! packet to a group, and the check of its receive interface (reverse-path forwarding, RFC 7761
//! section 4.2).

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;

use graph::arc::Along;
use graph::{Buffer, BuildError, Edge, Flags, Frame, Names, Node, Record};
use infra::counter::{Rows, VolumeCounter};
use infra::rcu::{Epoch, SlabReader};

use super::kind::Multicast;
use super::signal::Signals;
use super::table::{MRoute, MfibReader};
use super::{EntryFlags, ItfFlags};
use crate::adjacency::Adjacency;
use crate::fib::{Forwarding, Ip4, Ip6, LpmReader, Popped, Via};
use crate::ip::Version;
use crate::router::Router;

/// Finds the route of packets to groups.
#[derive(Clone, Debug)]
pub struct Lookup<F: Multicast> {
    lpm: MfibReader<F>,
}

/// The edge of [`Lookup`].
#[derive(Clone, Copy)]
pub struct ToRpf<F>(PhantomData<F>);

impl<F: Multicast> graph::Next for ToRpf<F> {
    const EDGES: &'static [Edge] = &[Edge { to: F::NODES.rpf, payload: "" }];
    #[inline(always)]
    fn slot(self, _: &Along<'_>, _: &mut Buffer<'_>) -> u32 {
        0
    }
}

impl<F: Multicast> Node for Lookup<F> {
    const NAME: &'static str = F::NODES.lookup;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = ToRpf<F>;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = <F::Version as Version>::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            let (source, group) = F::flow(p);
            let route = self.lpm.find(p.fib(), source, group, epoch);
            p.set_adjacency(route);
            p.trace(|p| Found { fib: p.fib(), route });
            Ok(ToRpf(PhantomData))
        });
    }
}

struct Found {
    fib: u16,
    route: u32,
}

impl Record for Found {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  fib {} entry {}", self.fib, self.route)
    }
}

/// Checks the receive interface of packets to groups.
#[derive(Clone)]
pub struct Rpf<F: Multicast> {
    routes: SlabReader<MRoute>,
    counters: Rows<VolumeCounter>,
    unicast: Forwarding<F>,
    adjacencies: SlabReader<Adjacency>,
    /// Events for control.
    pub(super) signals: Signals,
}

/// Edges of [`Rpf`].
#[derive(Clone, Copy, graph::Next)]
pub enum ForwardNext<F: Multicast> {
    /// The route drops.
    #[to(<F::Version as Version>::NODES.drop)]
    Drop(PhantomData<F>),
    /// Copies are made.
    #[to(F::NODES.replicate)]
    Replicate,
}

impl<F: Multicast> Node for Rpf<F> {
    const NAME: &'static str = F::NODES.rpf;
    const COUNTED_AT: &'static str = <F::Version as Version>::NODES.input;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = ForwardNext<F>;
    type Error = <F::Version as Version>::Error;
    type Count = Infallible;
    const DROP: &'static str = <F::Version as Version>::NODES.drop;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let (thread, now) = (frame.thread(), frame.now());
        frame.each(|p| {
            let index = p.adjacency();
            let Some(route) = self.routes.read(index, epoch) else {
                return Ok(ForwardNext::Drop(PhantomData));
            };
            if let Some(counter) = self.counters.row(thread).get(index as usize) {
                counter.add(1, p.total_len() as u64);
            }
            let rx = p.rx();
            let flags = route.flags_of(rx).unwrap_or_default();
            p.trace(|_| ForwardTrace { route: index, rx, flags });
            let wants_signal = flags.signals(route.flags)
                || (route.flags.has(EntryFlags::CONNECTED) && self.is_connected(p, epoch));
            if wants_signal {
                self.signals.note(index, rx, now, p.bytes());
            }
            let rpf_id = Popped::of(p).map_or(0, |popped| popped.rpf_id);
            p.clear_flags(Flags::POPPED);
            let is_accepted = match rpf_id {
                0 => flags.has(ItfFlags::ACCEPT),
                id => route.rpf_id == id,
            };
            if !is_accepted && !route.flags.has(EntryFlags::ACCEPT_ALL) {
                return Err(F::Version::RPF_FAILURE);
            }
            Ok(if route.copies.is_empty() {
                ForwardNext::Drop(PhantomData)
            } else {
                ForwardNext::Replicate
            })
        });
    }
}

impl<F: Multicast> Rpf<F> {
    /// Whether the source of a packet is on a network of its receive interface.
    fn is_connected(&self, p: &Buffer<'_>, epoch: Epoch<'_>) -> bool {
        let Some(table) = self.unicast.table(p.fib(), epoch) else { return false };
        let leaf = table.lookup(F::source(p), epoch);
        let via = self.unicast.load_balance(leaf, epoch).single();
        let (Some(Via::Glean(adjacency)) | Some(Via::Adjacency(adjacency))) = via else {
            return false;
        };
        let adjacency = self.adjacencies.read(adjacency.0, epoch);
        adjacency.is_some_and(|a| a.interface.0 == p.rx())
    }
}

struct ForwardTrace {
    route: u32,
    rx: u32,
    flags: ItfFlags,
}

impl Record for ForwardTrace {
    fn write(&self, names: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interface = names.name("interface", self.rx);
        write!(f, "  entry {} itf {interface} flags {}", self.route, self.flags)
    }
}

pub(super) fn register(router: &mut Router) -> Result<(), BuildError> {
    add::<Ip4>(router)?;
    add::<Ip6>(router)
}

fn add<F: Multicast>(router: &mut Router) -> Result<(), BuildError> {
    router.engine.add(Lookup { lpm: F::mtables(&router.mfib).reader() })?;
    let rpf = Rpf {
        routes: router.mfib.routes.reader(),
        counters: router.mfib.counters.clone(),
        unicast: router.fib.forwarding::<F>(),
        adjacencies: router.adjacencies.reader(),
        signals: Signals::default(),
    };
    router.engine.add(rpf)?;
    Ok(())
}
