//! From which address of ours to ask: what routing says of the way to the destination.
#![forbid(unsafe_code)]

use std::net::IpAddr;

use infra::rcu::Participant;

use crate::adjacency::AdjacencyIndex;
use crate::fib::{Family, Finder, Ip4, Ip6, TableIndex, Via};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Load balances that lead to one another, at most.
const DEEPEST: usize = 8;

/// The address of `interface` to ask `dst` from; without one, that of the interface on the way
/// there. An address of our own is asked from itself.
pub(super) fn choose(
    router: &Router,
    dst: IpAddr,
    table: TableIndex,
    interface: Option<InterfaceIndex>,
) -> Option<IpAddr> {
    let interface = match interface {
        Some(interface) => interface,
        None => match way(router, dst, table) {
            Via::Receive => return Some(dst),
            Via::Adjacency(index) | Via::Glean(index) => leaves_by(router, index)?,
            _ => return None,
        },
    };
    let me = Participant::join();
    let ours = router.addresses.reader();
    match dst {
        IpAddr::V4(dst) => ours
            .covering4(interface.0, dst, me.epoch())
            .or_else(|| ours.source4(interface.0, me.epoch()))
            .map(IpAddr::from),
        IpAddr::V6(dst) => ours.source6(interface.0, dst, me.epoch()).map(IpAddr::from),
    }
}

fn leaves_by(router: &Router, index: AdjacencyIndex) -> Option<InterfaceIndex> {
    router.adjacencies.at(index).map(|a| a.interface)
}

fn way(router: &Router, dst: IpAddr, table: TableIndex) -> Via {
    match dst {
        IpAddr::V4(dst) => follow::<Ip4>(router, dst.to_bits(), table),
        IpAddr::V6(dst) => follow::<Ip6>(router, dst.to_bits(), table),
    }
}

fn follow<F: Family>(router: &Router, dst: F::Bits, table: TableIndex) -> Via {
    let me = Participant::join();
    let forwarding = router.fib.forwarding::<F>();
    let look_up = |table: u16| {
        forwarding
            .table(table, me.epoch())
            .map(|t| t.lookup(dst, me.epoch()))
            .map_or(Via::Drop, Via::LoadBalance)
    };
    let mut way = look_up(table.0);
    for _ in 0..DEEPEST {
        way = match way {
            Via::LoadBalance(index) => forwarding.load_balance(index, me.epoch()).choose(0),
            Via::Lookup(table) => look_up(table),
            end => return end,
        };
    }
    Via::Drop
}
