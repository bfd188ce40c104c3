//! `ip4-rx-urpf-loose`, `ip4-tx-urpf-strict` and their kin.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;

use graph::arc::FeatureArc;
use graph::{BuildError, Continue, Flags, Frame, Names, Node, Record};
use infra::rcu::{Epoch, Reader, Shared, SlabReader};
use wire::{ip4, ip6};
use zerocopy::FromBytes;

use super::back::{Back, WaysBack};
use super::{Direction, Mode, Tables};
use crate::address::AddressReader;
use crate::fib::{Headers, Ip4, Ip6};
use crate::interface::Port;
use crate::ip4::{IP4_OUTPUT, IP4_UNICAST};
use crate::ip6::{IP6_OUTPUT, IP6_UNICAST};
use crate::router::Router;

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
    /// Whether an interface has this address, or uses it.
    fn owns(all: &AddressReader, interface: u32, addr: Self::Bits, epoch: Epoch<'_>) -> bool;
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
    fn owns(all: &AddressReader, interface: u32, addr: u32, epoch: Epoch<'_>) -> bool {
        all.owns4(interface, addr.into(), epoch)
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
    fn owns(all: &AddressReader, interface: u32, addr: u128, epoch: Epoch<'_>) -> bool {
        all.owns6(interface, addr.into(), epoch)
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
    ways: WaysBack<F>,
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
            let l3 = if OUT { self.ways.header_len(p.adjacency(), epoch) } else { 0 };
            let source = p.bytes().get(l3..).and_then(F::source_in).ok_or(Error::Drop)?;
            let own = || self.ports.read(rx, epoch).and_then(F::table);
            let table = tables.get(at as usize).copied().flatten().or_else(own);
            let table = table.ok_or(Error::Drop)?;
            let leads = |over| self.ways.find(table, source, over, epoch) == Back::Away;
            let leads_back = match (STRICT, OUT) {
                (false, _) => leads(None),
                (true, false) => leads(Some(rx)),
                // Nobody behind the interface sends what leaves by it.
                (true, true) => leads(None) && !leads(Some(at)),
            } || F::is_of_link(source);
            p.trace(|_| Looked { table, leads_back });
            if leads_back { Ok(Continue) } else { Err(Error::Drop) }
        });
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
        ways: WaysBack::new(router),
        ports: router.interfaces.ports(),
        tables: tables.reader(),
        of: PhantomData,
    }
}
