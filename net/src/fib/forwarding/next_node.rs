//! Next nodes: the edges of the nodes that look up, and the effect of each kind of bucket.

use graph::{Flags, Packet, Slot};
use infra::rcu::Epoch;

use super::load_balance::Via;
use super::lookup::Headers;
use super::lookup_dpo::Depth;
use super::lpm::LpmReader;
use crate::drops::Problem;
use crate::fib::forwarding::Forwarding;

/// The next node of a packet, in either family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextNode {
    /// Dropped on purpose.
    Drop,
    /// To control.
    Punt,
    /// To this router.
    Receive,
    /// To a neighbour.
    Rewrite,
    /// Into a tunnel.
    Midchain,
    /// To a connected network.
    Glean,
    /// Through another load balance.
    LoadBalance,
    /// Another look at its destination.
    LookupDst,
    /// A look at its source.
    LookupSrc,
    /// As if received elsewhere.
    InterfaceRx,
    /// An ICMP error to its sender.
    IcmpError,
    /// To the node of an object's kind.
    Object(Slot),
}

macro_rules! edges {
    ($(#[$doc:meta])* $name:ident, $($variant:ident => $to:literal),*;
        $error:literal, $dst:literal, $src:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, graph::Next)]
        #[allow(missing_docs)]
        pub enum $name {
            $(#[to($to)] $variant,)*
            #[to($error, payload = Problem)]
            IcmpError,
            #[to($dst, payload = Depth)]
            LookupDst,
            #[to($src, payload = Depth)]
            LookupSrc,
            #[dynamic]
            Object(Slot),
        }
        impl From<NextNode> for $name {
            #[inline(always)]
            fn from(next: NextNode) -> Self {
                match next {
                    $(NextNode::$variant => Self::$variant,)*
                    NextNode::IcmpError => Self::IcmpError,
                    NextNode::LookupDst => Self::LookupDst,
                    NextNode::LookupSrc => Self::LookupSrc,
                    NextNode::Object(slot) => Self::Object(slot),
                }
            }
        }
    };
}

edges! {
    /// Edges of `ip4-lookup` and `ip4-load-balance`.
    Next4, Drop => "ip4-drop", Punt => "ip4-punt", Receive => "ip4-receive",
    Rewrite => "ip4-rewrite", Midchain => "ip4-midchain", Glean => "ip4-glean",
    LoadBalance => "ip4-load-balance", InterfaceRx => "interface-rx-dpo-ip4";
    "ip4-icmp-error", "lookup-ip4-dst", "lookup-ip4-src"
}
edges! {
    /// Edges of `ip6-lookup` and `ip6-load-balance`.
    Next6, Drop => "ip6-drop", Punt => "ip6-punt", Receive => "ip6-receive",
    Rewrite => "ip6-rewrite", Midchain => "ip6-midchain", Glean => "ip6-glean",
    LoadBalance => "ip6-load-balance", InterfaceRx => "interface-rx-dpo-ip6";
    "ip6-icmp-error", "lookup-ip6-dst", "lookup-ip6-src"
}

/// Notes on the packet what the next node needs, and says which that is.
#[inline(always)]
pub(in crate::fib) fn next_node<F: Headers, N>(
    forwarding: &Forwarding<F>,
    p: &mut Packet<'_, N>,
    via: Via,
    dst: F::Bits,
    epoch: Epoch<'_>,
) -> NextNode {
    match via {
        Via::Adjacency(adjacency) => {
            p.set_adjacency(adjacency.0);
            NextNode::Rewrite
        }
        Via::Glean(adjacency) => {
            p.set_adjacency(adjacency.0);
            NextNode::Glean
        }
        Via::Midchain(adjacency) => {
            p.set_adjacency(adjacency.0);
            NextNode::Midchain
        }
        Via::LoadBalance(index) => {
            p.set_adjacency(index);
            NextNode::LoadBalance
        }
        Via::Receive(_) => ends(p, NextNode::Receive),
        Via::Drop => ends(p, NextNode::Drop),
        other => rare(forwarding, p, other, dst, epoch),
    }
}

impl<F: Headers> Forwarding<F> {
    /// Notes on the packet what the next node needs where a bucket leads, and says which edge goes
    /// there.
    #[inline(always)]
    pub fn lead<N>(&self, p: &mut Packet<'_, N>, via: Via, epoch: Epoch<'_>) -> F::BalanceNext {
        let dst = F::destination(p);
        next_node::<F, _>(self, p, via, dst, epoch).into()
    }
}

#[inline(always)]
fn ends<N>(p: &mut Packet<'_, N>, next: NextNode) -> NextNode {
    p.set_adjacency(0);
    next
}

#[cold]
#[inline(never)]
fn rare<F: Headers, N>(
    forwarding: &Forwarding<F>,
    p: &mut Packet<'_, N>,
    via: Via,
    dst: F::Bits,
    epoch: Epoch<'_>,
) -> NextNode {
    p.set_adjacency(0);
    match via {
        Via::Punt => NextNode::Punt,
        Via::Unreachable => {
            p.set_payload(F::UNREACHABLE);
            NextNode::IcmpError
        }
        Via::Prohibit => {
            p.set_payload(F::PROHIBITED);
            NextNode::IcmpError
        }
        Via::Lookup(table) => {
            p.set_fib(table);
            p.set_payload(Depth::default());
            NextNode::LookupDst
        }
        Via::SourceLookup(table) => {
            p.set_fib(table);
            p.set_payload(Depth::default());
            NextNode::LookupSrc
        }
        Via::InterfaceRx(interface) => {
            p.set_adjacency(interface);
            NextNode::InterfaceRx
        }
        Via::Object(object) => {
            let slot = forwarding.objects.slot(object.kind, epoch);
            p.set_adjacency(object.index);
            slot.map_or(NextNode::Drop, NextNode::Object)
        }
        Via::LinkLocal => {
            let table = forwarding.link_local(p.rx(), epoch);
            let next =
                table.map_or(NextNode::Drop, |table| again(forwarding, p, table, dst, epoch));
            // Only our own packets leave for a link-local address (RFC 4291 section 2.5.6).
            let stays = next == NextNode::Receive || p.flags().has(Flags::LOCAL);
            if stays { next } else { ends(p, NextNode::Drop) }
        }
        _ => NextNode::Drop,
    }
}

/// Sends the packet on to the load balance that another table finds.
fn again<F: Headers, N>(
    forwarding: &Forwarding<F>,
    p: &mut Packet<'_, N>,
    table: u16,
    dst: F::Bits,
    epoch: Epoch<'_>,
) -> NextNode {
    let index = forwarding.table(table, epoch).map_or(0, |table| table.lookup(dst, epoch));
    let balance = forwarding.load_balance(index, epoch);
    let via = balance.choose(p.flow_hash());
    match via {
        Via::Receive(_) => NextNode::Receive,
        // One more table and no further: tables may lead to each other.
        Via::Lookup(_) | Via::SourceLookup(_) | Via::LinkLocal | Via::Drop => NextNode::Drop,
        _ => {
            p.set_adjacency(index);
            NextNode::LoadBalance
        }
    }
}
