//! `ip4-lookup` and `ip6-lookup`: route lookup by destination.

use std::convert::Infallible;
use std::fmt;
use std::ops::Range;

use graph::{BLOCK, Buffer, BuildError, Flags, Frame, Names, Next, Node, Packet, Passes, Record};
use infra::counter::{Volume, VolumeCounter};
use infra::rcu::Epoch;
use wire::{icmp4, icmp6, ip4, ip6, print};

use super::load_balance::{LoadBalance, Via};
use super::load_balance_node::LoadBalanceNode;
use super::lpm::LpmReader;
use super::next_node::{Next4, Next6, NextNode, next_node};
use crate::drops::Problem;
use crate::fib::control::path::TableIndex;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::fib::forwarding::Forwarding;
use crate::flow_hash::{self, FlowHash};
use crate::router::Router;

/// Steps of a lookup, each of which works on another block.
const STEPS: usize = 4;

/// A family, as its lookup nodes need it.
pub trait Headers: Family {
    /// Edges of the lookup node.
    type LookupNext: Next + From<NextNode> + Send;
    /// Edges of the load-balance node.
    type BalanceNext: Next + From<NextNode> + Send;
    /// Name of the lookup node.
    const LOOKUP: &'static str;
    /// Name of the node that looks once more at the destination.
    const LOOKUP_DST: &'static str;
    /// Name of the node that looks at the source.
    const LOOKUP_SRC: &'static str;
    /// Name of the node that has packets received elsewhere.
    const INTERFACE_RX: &'static str;
    /// Name of the node that receives packets.
    const INPUT_NODE: &'static str;
    /// The family's drop node.
    const DROP_NODE: &'static str;
    /// The ICMP error for a sender whose packet is not let through.
    const PROHIBITED: Problem;
    /// The ICMP error for a sender whose destination cannot be reached.
    const UNREACHABLE: Problem;
    /// The destination in the header at the start of `packet`; 0 when that is not complete.
    fn destination(packet: &Buffer<'_>) -> Self::Bits;
    /// The source in the header at the start of `packet`; 0 when that is not complete.
    fn source(packet: &Buffer<'_>) -> Self::Bits;
    /// Hash of the flow that `packet` is of.
    fn flow_hash(packet: &[u8], config: (FlowHash, u64)) -> u32;
    /// Writes the headers of `packet` for a trace.
    fn write(packet: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl Headers for Ip4 {
    type LookupNext = Next4;
    type BalanceNext = Next4;
    const LOOKUP: &'static str = "ip4-lookup";
    const LOOKUP_DST: &'static str = "lookup-ip4-dst";
    const LOOKUP_SRC: &'static str = "lookup-ip4-src";
    const INTERFACE_RX: &'static str = "interface-rx-dpo-ip4";
    const INPUT_NODE: &'static str = "ip4-input";
    const DROP_NODE: &'static str = "ip4-drop";
    const PROHIBITED: Problem =
        Problem::ip4(icmp4::Type::DESTINATION_UNREACHABLE, icmp4::code::HOST_PROHIBITED, 0);
    const UNREACHABLE: Problem =
        Problem::ip4(icmp4::Type::DESTINATION_UNREACHABLE, icmp4::code::HOST_UNREACHABLE, 0);
    #[inline(always)]
    fn destination(packet: &Buffer<'_>) -> u32 {
        packet.header::<ip4::Header>().map_or(0, |h| u32::from_be_bytes(h.dst))
    }
    fn source(packet: &Buffer<'_>) -> u32 {
        packet.header::<ip4::Header>().map_or(0, |h| u32::from_be_bytes(h.src))
    }
    fn flow_hash(packet: &[u8], config: (FlowHash, u64)) -> u32 {
        flow_hash::flow4(packet, config)
    }
    fn write(packet: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", print::ip4(packet, 2))
    }
}

impl Headers for Ip6 {
    type LookupNext = Next6;
    type BalanceNext = Next6;
    const LOOKUP: &'static str = "ip6-lookup";
    const LOOKUP_DST: &'static str = "lookup-ip6-dst";
    const LOOKUP_SRC: &'static str = "lookup-ip6-src";
    const INTERFACE_RX: &'static str = "interface-rx-dpo-ip6";
    const INPUT_NODE: &'static str = "ip6-input";
    const DROP_NODE: &'static str = "ip6-drop";
    const PROHIBITED: Problem = Problem::ip6(
        icmp6::Type::DESTINATION_UNREACHABLE,
        icmp6::code::ADMINISTRATIVELY_PROHIBITED,
        0,
    );
    const UNREACHABLE: Problem =
        Problem::ip6(icmp6::Type::DESTINATION_UNREACHABLE, icmp6::code::NO_ROUTE, 0);
    #[inline(always)]
    fn destination(packet: &Buffer<'_>) -> u128 {
        packet.header::<ip6::Header>().map_or(0, |h| u128::from_be_bytes(h.dst))
    }
    fn source(packet: &Buffer<'_>) -> u128 {
        packet.header::<ip6::Header>().map_or(0, |h| u128::from_be_bytes(h.src))
    }
    fn flow_hash(packet: &[u8], config: (FlowHash, u64)) -> u32 {
        flow_hash::flow6(packet, config)
    }
    fn write(packet: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", print::ip6(packet, 2))
    }
}

/// Looks the destination up and sends the packet where its route leads.
#[derive(Clone, Debug)]
pub struct Lookup<F: Family> {
    forwarding: Forwarding<F>,
}

impl<F: Headers> Node for Lookup<F> {
    const NAME: &'static str = F::LOOKUP;
    const EXPLAINABLE: bool = true;
    const HOT: bool = true;
    type Next = F::LookupNext;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = F::DROP_NODE;
    const READS_BYTES: bool = false; // what is read of them is, in a pass before

    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let (epoch, thread, cpu) = (frame.epoch(), frame.thread(), frame.cpu());
        let forwarding = &self.forwarding;
        let counters = forwarding.count_to(thread);
        // In line whatever its size: out of line it is compiled for any processor of the kind.
        frame.passes(
            #[inline(always)]
            |packets| {
                // Neighbouring packets nearly always look up in one table.
                let mut fib = 0;
                packets.look(0..packets.all().end.min(1), |_, p| fib = p.fib());
                let mut steps = LookupSteps { forwarding, counters, epoch, fib, differ: 0 };
                in_blocks(forwarding, packets, (cpu, epoch, thread, fib), &mut steps);
            },
        );
    }
}

/// Work on the packets of a block around its lookup.
pub(crate) trait Steps<F: Headers, N: Node> {
    /// Reads the keys of a block.
    fn read(
        &mut self,
        packets: &mut Passes<'_, N>,
        block: Range<usize>,
        keys: &mut [F::Bits; BLOCK],
    );
    /// May change the leaves that were found.
    #[inline(always)]
    fn found(&mut self, _: &mut Passes<'_, N>, _: Range<usize>, _: &mut [u32; BLOCK]) {}
    /// Decides the fate of the packets.
    fn judge(&mut self, packets: &mut Passes<'_, N>, block: Range<usize>, leaves: &[u32]);
}

/// Looks up packets of a frame in table `fib`, block after block. A block is read while the one
/// before it starts, the one before that finishes and the fourth is judged: what one step asks for
/// comes while others are worked on.
#[inline(always)]
pub(crate) fn in_blocks<F: Headers, N: Node, On: graph::Cpu>(
    forwarding: &Forwarding<F>,
    packets: &mut Passes<'_, N>,
    (cpu, epoch, thread, fib): (On, Epoch<'_>, usize, u16),
    steps: &mut impl Steps<F, N>,
) {
    let counters = forwarding.count_to(thread);
    // Without a table, leaves stay 0.
    let (mut keys, mut leaves) = ([[F::Bits::default(); BLOCK]; STEPS], [[0; BLOCK]; STEPS]);
    let mut begun = [[<F::LpmReader as LpmReader>::Step::default(); BLOCK]; 2];
    let (end, table) = (packets.all().end, forwarding.table(fib, epoch));
    let places = |block: usize| (block * BLOCK).min(end)..((block + 1) * BLOCK).min(end);
    for step in 0..end.div_ceil(BLOCK) + STEPS - 1 {
        let (block, read) = (places(step), &mut keys[step % STEPS]);
        steps.read(packets, block.clone(), read);
        if let Some(table) = table {
            table.fetch(&read[..block.len()]);
        }
        if let Some(step) = step.checked_sub(1) {
            let (block, at) = (places(step), step % STEPS);
            if let Some(table) = table {
                table.start(cpu, &keys[at][..block.len()], &mut begun[step % 2], epoch);
            }
        }
        if let Some(step) = step.checked_sub(2) {
            let (block, at) = (places(step), step % STEPS);
            let (keys, leaves) = (&keys[at][..block.len()], &mut leaves[at]);
            if let Some(table) = table {
                table.finish(cpu, keys, &begun[step % 2], leaves, epoch);
            }
            steps.found(packets, block, leaves);
            fetch_balances(forwarding, counters, &leaves[..keys.len()]);
        }
        if let Some(step) = step.checked_sub(3) {
            let block = places(step);
            let leaves = &leaves[step % STEPS][..block.len()];
            steps.judge(packets, block, leaves);
        }
    }
}

/// The steps of a lookup node.
struct LookupSteps<'a, F: Family> {
    forwarding: &'a Forwarding<F>,
    counters: &'a [VolumeCounter],
    epoch: Epoch<'a>,
    fib: u16,
    /// Not 0 once a packet looks up in another table.
    differ: u16,
}

impl<F: Headers> Steps<F, Lookup<F>> for LookupSteps<'_, F> {
    #[inline(always)]
    fn read(
        &mut self,
        packets: &mut Passes<'_, Lookup<F>>,
        block: Range<usize>,
        keys: &mut [F::Bits; BLOCK],
    ) {
        let mut others = 0;
        packets.look(block, |i, p| {
            keys[i % BLOCK] = F::destination(p);
            others |= p.fib() ^ self.fib;
        });
        self.differ |= others;
    }
    #[inline(always)]
    fn found(
        &mut self,
        packets: &mut Passes<'_, Lookup<F>>,
        block: Range<usize>,
        leaves: &mut [u32; BLOCK],
    ) {
        if self.differ != 0 {
            packets.look(block, |i, p| {
                leaves[i % BLOCK] = find_one(self.forwarding, p, self.epoch);
            });
        }
    }
    #[inline(always)]
    fn judge(&mut self, packets: &mut Passes<'_, Lookup<F>>, block: Range<usize>, leaves: &[u32]) {
        judge(self.forwarding, self.counters, packets, block, leaves, self.epoch);
    }
}

/// Counts the packets of a block and sends them where their leaves lead.
#[inline(always)]
fn judge<F: Headers>(
    forwarding: &Forwarding<F>,
    counters: &[VolumeCounter],
    packets: &mut Passes<'_, Lookup<F>>,
    block: Range<usize>,
    leaves: &[u32],
    epoch: Epoch<'_>,
) {
    // Packets of one route are counted together. Where routes change between packets none are:
    // whether one more has the same is what the processor cannot foresee.
    if are_alike(leaves) {
        let (leaf, mut run) = (leaves.first().copied().unwrap_or(0), Volume::default());
        let (neighbor, next) = match forwarding.only_tunnel(leaf) {
            None => (forwarding.only_neighbor(leaf), NextNode::Rewrite),
            tunnel => (tunnel, NextNode::Midchain),
        };
        packets.usual_to(block.clone(), next.into(), |_, p| {
            p.set_adjacency(neighbor?.0);
            run += Volume { packets: 1, bytes: p.len() as u64 };
            Some(())
        });
        count(counters, leaf, run);
    } else {
        packets.usual_to(block.clone(), NextNode::Rewrite.into(), |i, p| {
            let leaf = leaves[i % BLOCK];
            p.set_adjacency(forwarding.only_neighbor(leaf)?.0);
            count(counters, leaf, Volume { packets: 1, bytes: p.len() as u64 });
            Some(())
        });
    }
    if packets.are_left(block.clone()) {
        packets.rest(block.clone(), |i, p| {
            let object = forwarding.only_object(leaves[i % BLOCK])?;
            let edge = forwarding.objects.slot(object.kind, epoch)?;
            p.set_adjacency(object.index);
            count(counters, leaves[i % BLOCK], Volume { packets: 1, bytes: p.len() as u64 });
            Some(NextNode::Object(edge).into())
        });
    }
    packets.others(block, |i, p| {
        let leaf = leaves[i % BLOCK];
        count(counters, leaf, Volume { packets: 1, bytes: p.total_len() as u64 });
        Ok(elsewhere::<F, _>(forwarding, p, leaf, epoch))
    });
}

/// Whether all these leaves are one.
#[inline(always)]
pub(crate) fn are_alike(leaves: &[u32]) -> bool {
    let Some(first) = leaves.first() else { return true };
    leaves.iter().fold(0, |differ, leaf| differ | (leaf ^ first)) == 0
}

/// Asks for what is read of the load balances that were found, unless it is the same for all.
#[inline(always)]
fn fetch_balances<F: Family>(
    forwarding: &Forwarding<F>,
    counters: &[VolumeCounter],
    leaves: &[u32],
) {
    if !are_alike(leaves) {
        for leaf in leaves {
            forwarding.balances.fetch(*leaf);
            counters.get(*leaf as usize).into_iter().for_each(infra::cpu::prefetch);
        }
    }
}

/// Looks up in a table of its own.
#[cold]
#[inline(never)]
fn find_one<F: Headers>(forwarding: &Forwarding<F>, p: &Buffer<'_>, epoch: Epoch<'_>) -> u32 {
    forwarding.table(p.fib(), epoch).map_or(0, |table| table.lookup(F::destination(p), epoch))
}

/// Anywhere but to the only neighbour of a route. Not in line: choosing among many kinds of ways is
/// a jump through a table, which costs more than all the rest where the processor does not predict
/// it.
#[inline(never)]
fn elsewhere<F: Headers, N>(
    forwarding: &Forwarding<F>,
    p: &mut Packet<'_, N>,
    index: u32,
    epoch: Epoch<'_>,
) -> F::LookupNext {
    let dst = F::destination(p);
    let balance = forwarding.load_balance(index, epoch);
    let via = match balance.single() {
        Some(via) => via,
        None => choose::<F, _>(forwarding, p, balance, epoch),
    };
    let next = next_node::<F, _>(forwarding, p, via, dst, epoch);
    if p.flags().has(Flags::TRACED) {
        trace::<F, _>(p, true);
    }
    F::LookupNext::from(next)
}

/// One of several ways, by the flow.
pub(in crate::fib) fn choose<F: Headers, N>(
    forwarding: &Forwarding<F>,
    p: &mut Packet<'_, N>,
    balance: LoadBalance<'_>,
    epoch: Epoch<'_>,
) -> Via {
    let hash = F::flow_hash(p.bytes(), forwarding.hashing(p.fib(), epoch));
    p.set_flow_hash(hash);
    p.add_flags(Flags::HASH);
    balance.choose(hash)
}

/// Says in the packet's trace what was found.
#[cold]
#[inline(never)]
pub(super) fn trace<F: Headers, N>(p: &mut Packet<'_, N>, is_lookup: bool) {
    p.trace(|p| LookupTrace::<F>::of(p, is_lookup));
}

#[inline(always)]
pub(crate) fn count(counters: &[VolumeCounter], index: u32, run: Volume) {
    if let Some(counter) = counters.get(index as usize) {
        counter.add(run.packets, run.bytes);
    }
}

/// The trace record of a lookup.
struct LookupTrace<F: Family> {
    /// Whether a route was looked up, or one followed on.
    is_lookup: bool,
    fib: u16,
    adjacency: u32,
    hash: u32,
    dst: F::Bits,
    bytes: Vec<u8>,
}

impl<F: Headers> LookupTrace<F> {
    fn of(p: &Buffer<'_>, is_lookup: bool) -> Self {
        let hash = if p.flags().has(Flags::HASH) { p.flow_hash() } else { 0 };
        let bytes = p.bytes()[..p.len().min(128)].to_vec();
        let (fib, adjacency, dst) = (p.fib(), p.adjacency(), F::destination(p));
        Self { is_lookup, fib, adjacency, hash, dst, bytes }
    }
}

impl<F: Headers> Record for LookupTrace<F> {
    fn write(&self, _: &dyn Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (fib, adjacency, hash) = (self.fib, self.adjacency, self.hash);
        writeln!(f, "  fib {fib} dpo-idx {adjacency} flow hash: {hash:#010x}")?;
        F::write(&self.bytes, f)
    }
    fn explain(&self, names: &dyn Names) -> Option<Vec<String>> {
        let router = names.router()?.downcast_ref::<Router>()?;
        if !self.is_lookup {
            return Some(vec!["follows what the route before led to".to_owned()]);
        }
        let mut said = router.matched_route::<F>(TableIndex(self.fib), self.dst);
        if self.hash != 0 {
            said.push(format!("one of several paths, by the flow's hash {:#010x}", self.hash));
        }
        Some(said)
    }
}

pub(in crate::fib) fn register(router: &mut Router) -> Result<(), BuildError> {
    add::<Ip4>(router)?;
    add::<Ip6>(router)
}

fn add<F: Headers>(router: &mut Router) -> Result<(), BuildError> {
    let forwarding = |router: &Router, objects| router.fib.forwarding::<F>().leading_to(objects);
    router.add_forwarder(F::LINK, F::LOOKUP, |router, objects| Lookup {
        forwarding: forwarding(router, objects),
    })?;
    router.add_forwarder(F::LINK, F::LINK.load_balance_node(), |router, objects| {
        LoadBalanceNode::new(forwarding(router, objects))
    })?;
    Ok(())
}
