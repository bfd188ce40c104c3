//! `ip4-rx-urpf-loose`, `ip4-tx-urpf-strict` and the other six.

use graph::arc::FeatureArc;
use graph::{BuildError, Continue, Frame, Names, Node, Record};
use infra::rcu::SlabReader;
use net::Router;
use net::fib::{Ip4, Ip6};
use net::interface::{AttachedAt, Port};
use net::ip::{ReversePath, ReversePaths, SourceFamily};
use net::ip4::IP4_OUTPUT;
use net::ip6::IP6_OUTPUT;
use net::prelude::*;

use super::{Checks, Mode};

/// A family whose sources are checked.
pub trait Sources: SourceFamily {
    /// Names of the nodes: for received and sent packets, loose and strict.
    const NODES: [[&'static str; 2]; 2];
    /// Arcs of received and sent packets.
    const ARCS: [&'static FeatureArc; 2];
    /// Whether no route leads back to a packet's source, and none needs to: it stays on its link.
    fn stays_on_link(packet: &[u8]) -> bool;
}

impl Sources for Ip4 {
    const NODES: [[&'static str; 2]; 2] =
        [["ip4-rx-urpf-loose", "ip4-rx-urpf-strict"], ["ip4-tx-urpf-loose", "ip4-tx-urpf-strict"]];
    const ARCS: [&'static FeatureArc; 2] = [&IP4_UNICAST, &IP4_OUTPUT];

    /// Hosts without an address ask all others (RFC 1122 section 3.2.1.3).
    #[inline(always)]
    fn stays_on_link(packet: &[u8]) -> bool {
        ip4::Header::ref_from_prefix(packet)
            .is_ok_and(|(h, _)| h.src == [0; 4] && h.dst == [255; 4])
    }
}

impl Sources for Ip6 {
    const NODES: [[&'static str; 2]; 2] =
        [["ip6-rx-urpf-loose", "ip6-rx-urpf-strict"], ["ip6-tx-urpf-loose", "ip6-tx-urpf-strict"]];
    const ARCS: [&'static FeatureArc; 2] = [&IP6_UNICAST, &IP6_OUTPUT];

    #[inline(always)]
    fn stays_on_link(packet: &[u8]) -> bool {
        let header = ip6::Header::ref_from_prefix(packet).ok();
        header.is_some_and(|(h, _)| h.src_addr().is_unicast_link_local())
    }
}

/// Checks sources of received packets, or sent ones (`OUT`), loosely or `STRICT`ly.
#[derive(Clone)]
pub struct Urpf<F: Sources, const LINK: usize, const OUT: bool, const STRICT: bool> {
    paths: ReversePaths<F>,
    ports: SlabReader<Port>,
    settings: SlabReader<Checks>,
}

/// Drops of [`Urpf`].
#[derive(Clone, Copy, Debug, graph::Reason)]
pub enum Error {
    /// uRPF Drop.
    #[name("uRPF Drop")]
    Drop,
}

impl<F: Sources, const LINK: usize, const OUT: bool, const STRICT: bool> Node
    for Urpf<F, LINK, OUT, STRICT>
{
    const NAME: &'static str = F::NODES[OUT as usize][STRICT as usize];
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = Continue;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = F::DROP_NODE;

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        frame.each(|p| {
            if OUT && self.paths.sends_own(p, epoch) {
                return Ok(Continue);
            }
            let (rx, at) = (p.rx(), if OUT { p.tx() } else { p.rx() });
            // On output the headers of the adjacency are in front.
            let l3 = if OUT { self.paths.front(p, epoch) } else { 0 };
            let packet = p.bytes().get(l3..).unwrap_or_default();
            let source = F::source_in(packet).ok_or(Error::Drop)?;
            let own = || self.ports.read(rx, epoch).and_then(F::table);
            let checks = self.settings.read(at, epoch);
            let check = checks.and_then(|checks| checks[usize::from(OUT)][LINK]);
            let table = check.and_then(|check| check.table).map(|table| table.0).or_else(own);
            let table = table.ok_or(Error::Drop)?;
            let leads = |over| self.paths.find(table, source, over, epoch) == ReversePath::Away;
            let leads_back = match (STRICT, OUT) {
                (false, _) => leads(None),
                (true, false) => leads(Some(rx)),
                // Hosts behind the interface cannot have sent packets that leave by it.
                (true, true) => leads(None) && !leads(Some(at)),
            } || F::stays_on_link(packet);
            p.trace(|_| CheckTrace { table, leads_back });
            if leads_back { Ok(Continue) } else { Err(Error::Drop) }
        });
    }
}

struct CheckTrace {
    table: u16,
    leads_back: bool,
}

impl Record for CheckTrace {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = if self.leads_back { "pass" } else { "drop" };
        write!(f, "  uRPF: fib {} {found}", self.table)
    }
}

/// Adds the nodes of a family, which is at `LINK` in [`Checks`].
pub(super) fn add<F: Sources, const LINK: usize>(
    router: &mut Router,
    settings: &SlabReader<Checks>,
) -> Result<(), BuildError> {
    add_one::<F, LINK, false, false>(router, settings)?;
    add_one::<F, LINK, false, true>(router, settings)?;
    add_one::<F, LINK, true, false>(router, settings)?;
    add_one::<F, LINK, true, true>(router, settings)
}

fn add_one<F: Sources, const LINK: usize, const OUT: bool, const STRICT: bool>(
    router: &mut Router,
    settings: &SlabReader<Checks>,
) -> Result<(), BuildError> {
    let (paths, ports) = (ReversePaths::new(router), router.interfaces.ports());
    let node = Urpf::<F, LINK, OUT, STRICT> { paths, ports, settings: settings.clone() };
    let arc = F::ARCS[OUT as usize];
    router.engine.add_feature(arc, node)?;
    let is_on = |checks: &Checks| {
        let check = checks[OUT as usize][LINK];
        check.is_some_and(|check| (check.mode == Mode::Strict) == STRICT)
    };
    let node = F::NODES[OUT as usize][STRICT as usize];
    router.attach_at([AttachedAt { arc, node, is_on }]);
    Ok(())
}
