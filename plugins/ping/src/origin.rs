//! The origin of packets of our own: source address, table, and the route to the destination.

use graph::NodeIndex;
use infra::rcu::Participant;
use net::adjacency::{AdjacencyIndex, Role};
use net::fib::{Family, LpmReader, Via};
use net::prelude::*;

/// Load balances that lead to one another, at most.
const DEEPEST: usize = 8;

/// The origin of packets to one destination.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The source, an address of ours.
    pub src: IpAddr,
    /// The destination.
    pub dst: IpAddr,
    /// Whether the destination is an address of this router's own.
    pub is_own: bool,
    /// Interface that packets seem to come from, which gives a link-local destination its meaning.
    interface: Option<InterfaceIndex>,
    table: TableIndex,
    /// The lookup, or what sends to groups.
    node: NodeIndex,
    /// The adjacency of groups on the interface.
    to_groups: Option<AdjacencyIndex>,
}

/// Reasons why packets cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// Nonexistent table id {0}
    #[retval(NO_SUCH_FIB)]
    UnknownTable(u32),
    /// a link-local address or a group needs a source interface
    #[retval(INVALID_DST_ADDRESS)]
    WhichLink,
    /// no source address or no route to the host
    #[retval(INVALID_DST_ADDRESS)]
    Unreachable,
}

impl Origin {
    /// Towards `dst` in the table called `id`, from the address of `interface`. Without a table it
    /// is that of the interface, or the first one; without an interface, the one on the way there.
    /// An address of our own is asked from itself.
    ///
    /// # Errors
    /// [`Error`].
    pub fn towards(
        dst: IpAddr,
        id: Option<u32>,
        interface: Option<InterfaceIndex>,
        router: &mut Router,
    ) -> Result<Self, Error> {
        let table = match (id, interface) {
            (None, Some(on)) => Some(router.addresses.of(on).table_for(dst)),
            _ => router.fib.table_for(dst, id.unwrap_or(0)),
        };
        let table = table.ok_or(Error::UnknownTable(id.unwrap_or(0)))?;
        let is_link_local = matches!(dst, IpAddr::V6(dst) if dst.is_unicast_link_local());
        if (is_link_local || dst.is_multicast()) && interface.is_none() {
            return Err(Error::WhichLink);
        }
        let via = route(router, dst, table);
        let src = choose(router, dst, via, interface).ok_or(Error::Unreachable)?;
        let group_on = interface.filter(|_| dst.is_multicast());
        let any = Link::of(dst).unspecified();
        let to_groups = group_on.map(|on| router.use_adjacency(on, Role::Multicast, any));
        let to_groups = to_groups.transpose().map_err(|_| Error::Unreachable)?;
        let node = match (dst, to_groups) {
            (IpAddr::V4(_), None) => "ip4-lookup",
            (IpAddr::V6(_), None) => "ip6-lookup",
            (IpAddr::V4(_), Some(_)) => V4::NODES.rewrite_mcast,
            (IpAddr::V6(_), Some(_)) => V6::NODES.rewrite_mcast,
        };
        let node = router.engine.index_of(node).expect("the graph has lookups and rewrites");
        let is_own = matches!(via, Via::Receive(_));
        Ok(Self { src, dst, is_own, interface, table, node, to_groups })
    }
    /// No more packets will be sent.
    pub fn end(&self, router: &mut Router) {
        if let Some(index) = self.to_groups {
            router.release_adjacency(index);
        }
    }
    /// Sends a packet, whose metadata and bytes `prepare` may still change on the data plane.
    pub fn send(
        &self,
        router: &mut Router,
        packet: Vec<u8>,
        prepare: impl FnOnce(&mut Buffer<'_>) + Send + 'static,
    ) {
        let Self { interface, table, node, to_groups, .. } = *self;
        let thread = router.engine.data_threads().start;
        router.engine.inject(thread, node, packet, move |p| {
            prepare(p);
            let l3 = p.offset();
            p.set_l3_offset(l3);
            p.set_rx(interface.map_or(0, |i| i.0));
            p.set_fib(table.0);
            to_groups.into_iter().for_each(|index| p.set_adjacency(index.0));
            p.add_flags(Flags::LOCAL.with(Flags::L3));
        });
    }
}

fn choose(
    router: &Router,
    dst: IpAddr,
    via: Via,
    interface: Option<InterfaceIndex>,
) -> Option<IpAddr> {
    let interface = match (interface, via) {
        (Some(interface), _) => interface,
        (None, Via::Receive(_)) => return Some(dst),
        (None, Via::Adjacency(index) | Via::Midchain(index) | Via::Glean(index)) => {
            leaves_by(router, index)?
        }
        _ => return None,
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

fn route(router: &Router, dst: IpAddr, table: TableIndex) -> Via {
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
    let mut via = look_up(table.0);
    for _ in 0..DEEPEST {
        via = match via {
            Via::LoadBalance(index) => forwarding.load_balance(index, me.epoch()).choose(0),
            Via::Lookup(table) => look_up(table),
            end => return end,
        };
    }
    Via::Drop
}
