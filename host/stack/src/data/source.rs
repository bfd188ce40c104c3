//! Source address selection for connections.

use std::net::IpAddr;

use infra::rcu::{Epoch, Participant};
use net::fib::{Family, Ip4, Ip6, LpmReader, TableIndex, Via};
use net::{InterfaceIndex, Router};

/// Limit of nested load balances.
const DEEPEST: usize = 8;

/// The source address for packets to `peer` in a table: an address of the namespace's interface, or
/// of the outgoing interface, or the peer's address itself if it is local.
pub fn towards(
    router: &Router,
    peer: IpAddr,
    table: TableIndex,
    interface: Option<InterfaceIndex>,
) -> Option<IpAddr> {
    let me = Participant::join();
    if let Some(interface) = interface {
        return of_interface(router, interface, peer, me.epoch());
    }
    let via = match peer {
        IpAddr::V4(peer) => follow::<Ip4>(router, peer.to_bits(), table, me.epoch()),
        IpAddr::V6(peer) => follow::<Ip6>(router, peer.to_bits(), table, me.epoch()),
    };
    match via {
        Via::Receive(_) => Some(peer),
        Via::Adjacency(index) | Via::Midchain(index) | Via::Glean(index) => {
            let interface = router.adjacencies.at(index)?.interface;
            of_interface(router, interface, peer, me.epoch())
        }
        _ => None,
    }
}

fn of_interface(
    router: &Router,
    interface: InterfaceIndex,
    peer: IpAddr,
    epoch: Epoch<'_>,
) -> Option<IpAddr> {
    let ours = router.addresses.reader();
    match peer {
        IpAddr::V4(peer) => ours
            .covering4(interface.0, peer, epoch)
            .or_else(|| ours.source4(interface.0, epoch))
            .map(IpAddr::from),
        IpAddr::V6(peer) => ours.source6(interface.0, peer, epoch).map(IpAddr::from),
    }
}

fn follow<F: Family>(router: &Router, peer: F::Bits, table: TableIndex, epoch: Epoch<'_>) -> Via {
    let forwarding = router.fib.forwarding::<F>();
    let look_up = |table: u16| {
        let table = forwarding.table(table, epoch);
        table.map_or(Via::Drop, |table| Via::LoadBalance(table.lookup(peer, epoch)))
    };
    let mut via = look_up(table.0);
    for _ in 0..DEEPEST {
        via = match via {
            Via::LoadBalance(index) => forwarding.load_balance(index, epoch).choose(0),
            Via::Lookup(table) => look_up(table),
            end => return end,
        };
    }
    Via::Drop
}
