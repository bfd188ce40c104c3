//! `ip4-rx-urpf-loose`, `ip4-tx-urpf-strict` and their kin.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;

use graph::arc::FeatureArc;
use graph::{BuildError, Continue, Flags, Frame, Names, Node, Record};
use infra::rcu::{Epoch, Reader, Shared, SlabReader};
use wire::{ip4, ip6};
use zerocopy::FromBytes;

use super::{Direction, Mode, Tables};
use crate::adjacency::Adjacency;
use crate::fib::{Finder, Forwarding, Headers, Ip4, Ip6, Via};
use crate::interface::Port;
use crate::ip4::{IP4_OUTPUT, IP4_UNICAST};
use crate::ip6::{IP6_OUTPUT, IP6_UNICAST};
use crate::router::Router;

/// How many load balances in a row are followed.
const DEPTH: usize = 8;

/// A family whose sources are checked.
pub trait Checked: Headers {
    /// Names of the nodes: for what comes in and what goes out, loose and strict.
    const NODES: [[&'static str; 2]; 2];
    /// Arcs of what comes in and what goes out.
    const ARCS: [&'static FeatureArc; 2];
    /// Source address in an IP header.
    fn source_in(packet: &[u8]) -> Option<Self::Bits>;
    /// Whether a source is none that routes could lead to: it is of the link itself.
    fn is_of_link(source: Self::Bits) -> bool;
    /// The table of packets that come in on an interface.
    fn table(port: &Port) -> Option<u16>;
}

impl Checked for Ip4 {
    const NODES: [[&'static str; 2]; 2] =
        [["ip4-rx-urpf-loose", "ip4-rx-urpf-strict"], ["ip4-tx-urpf-loose", "ip4-tx-urpf-strict"]];
    const ARCS: [&'static FeatureArc; 2] = [&IP4_UNICAST, &IP4_OUTPUT];
    #[inline(always)]
    fn source_in(packet: &[u8]) -> Option<u32> {
        ip4::Header::ref_from_prefix(packet).ok().map(|(h, _)| u32::from_be_bytes(h.src))
    }
    #[inline(always)]
    fn is_of_link(source: u32) -> bool {
        source == 0
    }
    fn table(port: &Port) -> Option<u16> {
        port.ip4
    }
}

impl Checked for Ip6 {
    const NODES: [[&'static str; 2]; 2] =
        [["ip6-rx-urpf-loose", "ip6-rx-urpf-strict"], ["ip6-tx-urpf-loose", "ip6-tx-urpf-strict"]];
    const ARCS: [&'static FeatureArc; 2] = [&IP6_UNICAST, &IP6_OUTPUT];
    #[inline(always)]
    fn source_in(packet: &[u8]) -> Option<u128> {
        ip6::Header::ref_from_prefix(packet).ok().map(|(h, _)| u128::from_be_bytes(h.src))
    }
    #[inline(always)]
    fn is_of_link(source: u128) -> bool {
        source == 0 || source >> 118 == 0xfe80 >> 6
    }
    fn table(port: &Port) -> Option<u16> {
        port.ip6
    }
}

/// The arc and the name of the node that checks so.
pub(super) fn place<F: Checked>(
    direction: Direction,
    mode: Mode,
) -> (&'static FeatureArc, &'static str) {
    let way = usize::from(direction == Direction::Tx);
    (F::ARCS[way], F::NODES[way][usize::from(mode == Mode::Strict)])
}

/// Checks the sources of packets that come in, or go `OUT`, loosely or `STRICT`ly.
#[derive(Clone)]
pub struct Urpf<F: Checked, const OUT: bool, const STRICT: bool> {
    forwarding: Forwarding<F>,
    adjacencies: SlabReader<Adjacency>,
    ports: SlabReader<Port>,
    tables: Reader<Tables>,
    of: PhantomData<F>,
}

/// Drops of [`Urpf`].
#[derive(Clone, Copy, Debug, graph::Reason)]
pub enum Error {
    /// uRPF Drop.
    #[name("uRPF Drop")]
    Drop,
}

impl<F: Checked, const OUT: bool, const STRICT: bool> Node for Urpf<F, OUT, STRICT> {
    const NAME: &'static str = F::NODES[OUT as usize][STRICT as usize];
    type Next = Continue;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = F::DROP_NODE;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let tables = self.tables.read(epoch);
        frame.each(|p| {
            if OUT && p.flags().has(Flags::LOCAL) {
                return Ok(Continue);
            }
            let (rx, at) = (p.rx(), if OUT { p.tx() } else { p.rx() });
            // On the way out the layer 2 header of the adjacency is in front.
            let l3 = match self.adjacencies.read(p.adjacency(), epoch) {
                Some(a) if OUT => a.header_len.into(),
                _ => 0,
            };
            let source = p.bytes().get(l3..).and_then(F::source_in).ok_or(Error::Drop)?;
            let own = || self.ports.read(rx, epoch).and_then(F::table);
            let table = tables.get(at as usize).copied().flatten().or_else(own);
            let table = table.ok_or(Error::Drop)?;
            let leads_back = self.leads_back(table, source, rx, epoch);
            p.trace(|_| Looked { table, leads_back });
            if leads_back { Ok(Continue) } else { Err(Error::Drop) }
        });
    }
}

impl<F: Checked, const OUT: bool, const STRICT: bool> Urpf<F, OUT, STRICT> {
    /// Whether a way leads back to a source, over `rx` if that counts.
    #[inline(always)]
    fn leads_back(&self, table: u16, source: F::Bits, rx: u32, epoch: Epoch<'_>) -> bool {
        let Some(finder) = self.forwarding.table(table, epoch) else { return false };
        let leaf = finder.lookup(source, epoch);
        if let Some(adjacency) = self.forwarding.only_neighbor(leaf) {
            return !STRICT || self.is_over(adjacency.0, rx, epoch);
        }
        F::is_of_link(source) || self.balance_leads(leaf, rx, epoch, DEPTH)
    }
    #[inline(never)]
    fn balance_leads(&self, index: u32, rx: u32, epoch: Epoch<'_>, depth: usize) -> bool {
        let balance = self.forwarding.load_balance(index, epoch);
        balance.buckets().iter().any(|via| match *via {
            Via::Adjacency(a) | Via::Midchain(a) | Via::Glean(a) => {
                !STRICT || self.is_over(a.0, rx, epoch)
            }
            Via::LoadBalance(next) => depth > 0 && self.balance_leads(next, rx, epoch, depth - 1),
            Via::Lookup(_) | Via::SourceLookup(_) | Via::Exempt => !STRICT,
            _ => false,
        })
    }
    #[inline(always)]
    fn is_over(&self, adjacency: u32, rx: u32, epoch: Epoch<'_>) -> bool {
        self.adjacencies.read(adjacency, epoch).is_some_and(|a| a.interface.0 == rx)
    }
}

struct Looked {
    table: u16,
    leads_back: bool,
}

impl Record for Looked {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = if self.leads_back { "pass" } else { "drop" };
        write!(f, "  uRPF: fib {} {found}", self.table)
    }
}

/// Adds the nodes of a family; returns what is looked up where, for what comes in and what goes
/// out.
pub(super) fn add<F: Checked>(router: &mut Router) -> Result<[Shared<Tables>; 2], BuildError> {
    let rx = both::<F, false>(router)?;
    let tx = both::<F, true>(router)?;
    Ok([rx, tx])
}

fn both<F: Checked, const OUT: bool>(router: &mut Router) -> Result<Shared<Tables>, BuildError> {
    let tables = Shared::new(Tables::new());
    let loose = node::<F, OUT, false>(router, &tables);
    router.engine.add_feature(F::ARCS[OUT as usize], loose)?;
    let strict = node::<F, OUT, true>(router, &tables);
    router.engine.add_feature(F::ARCS[OUT as usize], strict)?;
    Ok(tables)
}

fn node<F: Checked, const OUT: bool, const STRICT: bool>(
    router: &Router,
    tables: &Shared<Tables>,
) -> Urpf<F, OUT, STRICT> {
    Urpf {
        forwarding: router.fib.forwarding(),
        adjacencies: router.adjacencies.reader(),
        ports: router.interfaces.ports(),
        tables: tables.reader(),
        of: PhantomData,
    }
}
