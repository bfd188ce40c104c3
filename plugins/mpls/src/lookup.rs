//! `mpls-lookup` and `lookup-mpls-dst`: where the first label of a packet leads, which is taken
//! off; `mpls-load-balance`: on from one load balance to what it leads to.

use infra::table::numbers::Numbers32Reader;
use net::fib::{Forwarding4, LoadBalance, ObjectEdges, Popped, Via, flow_from, next};
use net::prelude::*;
use wire::mpls::{ENTROPY_INDICATOR, Entry, stack};

use super::error::Error;
use super::table::{UNCOUNTED, place};

/// Edges of nodes that send labelled packets on.
#[derive(Clone, Copy, graph::Next)]
pub enum To {
    /// On purpose.
    #[to("mpls-drop")]
    Drop,
    /// To control.
    #[to("mpls-punt")]
    Punt,
    /// To a neighbour.
    #[to("mpls-output")]
    Output,
    /// Into a tunnel.
    #[to("mpls-midchain")]
    Midchain,
    /// Through another load balance.
    #[to("mpls-load-balance")]
    LoadBalance,
    /// A lookup of the next label.
    #[to("lookup-mpls-dst")]
    Lookup,
    /// To an object.
    #[dynamic]
    Object(Slot),
}

/// Sends labelled packets where a bucket leads.
#[derive(Clone)]
pub struct Lead(pub(super) ObjectEdges);

impl Lead {
    /// Notes on a packet what the next node needs, and says which that is.
    #[inline(always)]
    pub fn to<N>(&self, p: &mut Packet<'_, N>, via: Via, epoch: Epoch<'_>) -> To {
        match via {
            Via::Object(object) => {
                p.set_adjacency(object.index);
                self.0.slot(object.kind, epoch).map_or(To::Drop, To::Object)
            }
            Via::Adjacency(a) => {
                p.set_adjacency(a.0);
                To::Output
            }
            Via::Midchain(a) => {
                p.set_adjacency(a.0);
                To::Midchain
            }
            Via::LoadBalance(index) => {
                p.set_adjacency(index);
                To::LoadBalance
            }
            Via::Lookup(table) => {
                p.set_fib(table);
                To::Lookup
            }
            Via::Punt => To::Punt,
            _ => To::Drop,
        }
    }
}

/// Hash of the flow of a labelled packet: its entropy label if it has one (RFC 6790), otherwise the
/// labels and the IP packet below them, as in the original. The router's seed keeps routers in a
/// row from all choosing alike.
fn flow_of(bytes: &[u8], seed: u64) -> u32 {
    let (mut hash, mut len, mut is_entropy) = (seed as u32, 0, false);
    for entry in stack(bytes) {
        if is_entropy {
            return next(seed as u32 ^ entry.label());
        }
        is_entropy = entry.label() == ENTROPY_INDICATOR;
        hash ^= entry.label();
        len += size_of::<Entry>();
    }
    hash ^ flow_from(bytes.get(len..).unwrap_or(&[]), seed)
}

/// The bucket of a packet.
#[inline(always)]
fn choose<N>(p: &mut Packet<'_, N>, balance: LoadBalance<'_>, is_new: bool, seed: u64) -> Via {
    if let Some(via) = balance.single() {
        return via;
    }
    let had = p.flags().has(Flags::HASH) && !is_new;
    // Another choice than the one before made of the same hash, or it were no choice.
    let hash = if had { next(p.flow_hash()) } else { flow_of(p.bytes(), seed) };
    p.set_flow_hash(hash);
    p.add_flags(Flags::HASH);
    balance.choose(hash)
}

/// Looks the first label up and takes it off; `AGAIN`, in a table that a route names.
#[derive(Clone)]
pub struct Lookup<const AGAIN: bool> {
    /// Load balances by label and whether it is the last of its stack, by table.
    pub(super) tables: SlabReader<Numbers32Reader>,
    pub(super) balances: Forwarding4,
    pub(super) lead: Lead,
}

impl<const AGAIN: bool> Node for Lookup<AGAIN> {
    const NAME: &'static str = if AGAIN { "lookup-mpls-dst" } else { "mpls-lookup" };
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = To;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "mpls-drop";
    const COUNTED_AT: &'static str = if AGAIN { "mpls-lookup" } else { "" };

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let counters = self.balances.count_to(frame.thread());
        let (_, seed) = self.balances.hashing(0, epoch);
        frame.each(
            #[inline(always)]
            |p| {
                let entry = *p.header::<Entry>().ok_or(Error::NoLabel)?;
                let fib = p.fib();
                let table = self.tables.read(u32::from(fib), epoch).ok_or(Error::DisallowedFib)?;
                let leaf = table.view().at(place(entry.label(), entry.is_last()));
                if leaf == 0 {
                    return Err(Error::Drop);
                }
                let index = leaf & !UNCOUNTED;
                if leaf == index
                    && let Some(counter) = counters.get(index as usize)
                {
                    counter.add(1, p.total_len() as u64);
                }
                let via = choose(p, self.balances.load_balance(index, epoch), true, seed);
                p.trace(|_| LookupTrace { fib, index, entry });
                p.set_payload(Popped {
                    rpf_id: 0,
                    ttl: entry.ttl(),
                    exp: entry.exp(),
                    is_last: entry.is_last().into(),
                    unused: 0,
                });
                p.add_flags(Flags::POPPED);
                p.advance(size_of::<Entry>()).ok_or(Error::NoLabel)?;
                Ok(self.lead.to(p, via, epoch))
            },
        );
    }
}

struct LookupTrace {
    fib: u16,
    index: u32,
    entry: Entry,
}

impl Record for LookupTrace {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fib, index, entry } = self;
        write!(
            f,
            "  MPLS: next [-1], lookup fib index {fib}, LB index {index} hash 0 label {} eos {}",
            entry.label(),
            u8::from(entry.is_last())
        )
    }
}

/// Follows the load balance that a packet names as its adjacency.
#[derive(Clone)]
pub struct Balance {
    pub(super) balances: Forwarding4,
    pub(super) lead: Lead,
}

impl Node for Balance {
    const NAME: &'static str = "mpls-load-balance";
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = To;
    type Error = Error;
    type Count = Infallible;
    const DROP: &'static str = "mpls-drop";
    const COUNTED_AT: &'static str = "mpls-lookup";

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let epoch = frame.epoch();
        let counters = self.balances.count_via(frame.thread());
        let (_, seed) = self.balances.hashing(0, epoch);
        frame.each(
            #[inline(always)]
            |p| {
                let index = p.adjacency();
                if let Some(counter) = counters.get(index as usize) {
                    counter.add(1, p.total_len() as u64);
                }
                let via = choose(p, self.balances.load_balance(index, epoch), false, seed);
                p.trace(|_| Followed(index));
                Ok(self.lead.to(p, via, epoch))
            },
        );
    }
}

struct Followed(u32);

impl Record for Followed {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  load-balance {}", self.0)
    }
}

pub(super) fn add(
    router: &mut Router,
    tables: &SlabReader<Numbers32Reader>,
) -> Result<(), BuildError> {
    add_lookup::<false>(router, tables)?;
    add_lookup::<true>(router, tables)?;
    router.add_forwarder(Link::Mpls, Balance::NAME, |router, objects| Balance {
        balances: router.fib.forwarding(),
        lead: Lead(objects),
    })?;
    Ok(())
}

fn add_lookup<const AGAIN: bool>(
    router: &mut Router,
    tables: &SlabReader<Numbers32Reader>,
) -> Result<(), BuildError> {
    router.add_forwarder(Link::Mpls, Lookup::<AGAIN>::NAME, |router, objects| {
        let (tables, balances) = (tables.clone(), router.fib.forwarding());
        Lookup::<AGAIN> { tables, balances, lead: Lead(objects) }
    })?;
    Ok(())
}
