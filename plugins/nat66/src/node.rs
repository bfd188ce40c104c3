//! `nat66-in2out`: sources of packets from inside; `nat66-out2in`: destinations of those from
//! outside.

use infra::counter::Rows;
use net::drops::Problem;
use net::icmp::Restore;
use net::ip::{ReversePath, ReversePaths};
use net::prelude::*;

use super::Table;
use super::packet::readdress;

/// For packets from inside, and from outside.
pub(super) const NAMES: [&str; 2] = ["nat66-in2out", "nat66-out2in"];

/// Translates packets from inside, or from outside (`IN`).
#[derive(Clone)]
pub struct Translate<const IN: bool> {
    table: Reader<Table>,
    paths: ReversePaths<Ip6>,
    counters: Rows<VolumeCounter>,
}

/// Edges of [`Translate`].
#[derive(Clone, Copy, graph::Next)]
pub enum Next {
    /// The sender gets time exceeded: about the packet as it sent it.
    #[to("ip6-icmp-error", payload = Problem)]
    Icmp,
    /// A neighbour asks for an address outside: the router answers for it.
    #[to("ip6-local")]
    Local,
    /// Along the arc.
    #[along]
    Along,
}

/// Counters of [`Translate`].
#[derive(Clone, Copy, graph::Count)]
pub enum Count {
    /// packets without a mapping.
    #[name("no translation")]
    #[severity("error")]
    NoTranslation,
    /// truncated packets.
    #[name("unknown")]
    #[severity("error")]
    Unknown,
}

impl<const IN: bool> Node for Translate<IN> {
    const NAME: &'static str = NAMES[IN as usize];
    const EXPLAINABLE: bool = true;
    type Next = Next;
    type Error = std::convert::Infallible;
    type Count = Count;
    const DROP: &'static str = "ip6-drop";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let table = self.table.read(epoch);
        let counted = self.counters.row(frame.thread());
        let (mut unmapped, mut unknown) = (0, 0);
        frame.each(
            #[inline(always)]
            |p| {
                let Some(header) = p.header::<ip6::Header>() else {
                    unknown += 1;
                    return Ok(Next::Along);
                };
                let expires = header.hop_limit <= 1;
                let may_ask = header.hop_limit == 255 && header.next_header == Protocol::ICMP6;
                let (src, dst, fib) = (header.src_addr(), header.dst_addr(), p.fib());
                let found = match IN {
                    true => table.by_external.get(&dst).map(|(to, fib, n)| (*to, *fib, *n)),
                    false => {
                        let found = table.by_local.get(&(fib, src));
                        let leaves = |(to, n): &(Ipv6Addr, u32)| {
                            Some((*to, self.way_out(table, fib, dst, epoch)?, *n))
                        };
                        found.and_then(leaves)
                    }
                };
                let Some((to, fib, number)) = found else {
                    unmapped += 1;
                    return Ok(Next::Along);
                };
                if IN && may_ask && is_solicitation(p) {
                    return Ok(Next::Local);
                }
                if expires {
                    p.set_payload(V6::EXPIRED_PROBLEM);
                    return Ok(Next::Icmp);
                }
                let from = if IN { dst } else { src };
                if IN {
                    readdress::<true>(p, from, to)
                } else {
                    readdress::<false>(p, from, to)
                }
                p.set_fib(fib);
                if let Some(counter) = counted.get(number as usize) {
                    counter.add(1, p.total_len() as u64);
                }
                p.trace(|_| Translated { from, to });
                Ok(Next::Along)
            },
        );
        frame.count(Count::NoTranslation, unmapped);
        frame.count(Count::Unknown, unknown);
    }
}

/// Whether a message of ICMPv6 behind a plain header asks for a neighbour.
#[cold]
fn is_solicitation(p: &Buffer<'_>) -> bool {
    p.bytes().get(size_of::<ip6::Header>()) == Some(&icmp6::Type::NEIGHBOR_SOLICITATION.0)
}

impl<const IN: bool> Translate<IN> {
    /// The table by whose routes a packet leaves by an outside interface; `None` when it does not.
    #[inline(always)]
    fn way_out(&self, table: &Table, fib: u16, dst: Ipv6Addr, epoch: Epoch<'_>) -> Option<u16> {
        let leads_out = |fib: &u16| {
            let over = |i: &u32| {
                self.paths.find(*fib, dst.to_bits(), Some(*i), epoch) == ReversePath::Away
            };
            table.outside.iter().any(over)
        };
        [fib, table.outside_table].into_iter().find(leads_out)
    }
}

/// The trace record of the nodes.
struct Translated {
    from: Ipv6Addr,
    to: Ipv6Addr,
}

impl Record for Translated {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  nat66: {} translated to {}", self.from, self.to)
    }
}

/// Gives packets the address back that they came with, when an error is about them.
fn restore(table: Reader<Table>) -> Restore {
    Arc::new(move |p, _, epoch| {
        let table = table.read(epoch);
        let Some(header) = p.header::<ip6::Header>() else { return };
        let (src, dst, fib) = (header.src_addr(), header.dst_addr(), p.fib());
        if table.outside.contains(&p.rx()) {
            if let Some((external, _)) = table.by_local.get(&(fib, dst)) {
                readdress::<true>(p, dst, *external);
            }
        } else if let Some((local, table, _)) = table.by_external.get(&src) {
            readdress::<false>(p, src, *local);
            p.set_fib(*table);
        }
    })
}

/// Adds the nodes.
pub(super) fn add(
    router: &mut Router,
    table: &Shared<Table>,
    counters: &Rows<VolumeCounter>,
) -> Result<(), BuildError> {
    let (table, counters, paths) = (table.reader(), counters.clone(), ReversePaths::new(router));
    let from_inside = Translate::<false> {
        table: table.clone(),
        paths: paths.clone(),
        counters: counters.clone(),
    };
    router.restore_before_errors(restore(table.clone()));
    router.engine.add_feature(&IP6_UNICAST, from_inside)?;
    router.engine.add_feature(&IP6_UNICAST, Translate::<true> { table, paths, counters })?;
    Ok(())
}
