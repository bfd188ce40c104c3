//! `ip4-rewrite-mcast`, `ip6-rewrite-mcast`: as [`super::Rewrite`], to the layer 2 address of the group
//! that a packet is for (RFC 1112 section 6.4, RFC 2464 section 7).

use std::collections::HashMap;
use std::convert::Infallible;

use graph::{BuildError, Frame, Node, Slot};
use infra::rcu::{Reader, Shared, SlabReader};
use wire::ethernet;

use super::Version;
use super::rewrite::{Next, Rewritten, put_in_front, spend_hop};
use crate::adjacency::Adjacency;
use crate::interface::{Change, InterfaceIndex};
use crate::router::Router;

/// Sends packets to groups.
#[derive(Clone)]
pub struct RewriteGroup<V> {
    /// The version.
    pub version: V,
    /// How groups are reached.
    pub adjacencies: SlabReader<Adjacency>,
    /// Edges by interface.
    pub outputs: Reader<Table>,
}

impl<V: Version> Node for RewriteGroup<V> {
    const NAME: &'static str = V::NODES.rewrite_mcast;
    type Next = Next<V>;
    type Error = V::Error;
    type Count = Infallible;
    const DROP: &'static str = V::NODES.drop;

    #[inline(always)]
    fn process(&mut self, frame: &mut Frame<'_, Self>) {
        let (epoch, version) = (frame.epoch(), self.version);
        let arc = frame.start(V::OUTPUT_ARC);
        let outputs = self.outputs.read(epoch);
        frame.each(|p| {
            let a = self.adjacencies.read(p.adjacency(), epoch).filter(|a| a.complete);
            let a = a.ok_or(V::DROPPED)?;
            let tx = a.interface.0;
            let output = outputs.get(tx as usize).copied().flatten().ok_or(V::DROPPED)?;
            if !spend_hop::<V, _>(p, a.mtu)? {
                return Ok(Next::IcmpError(version));
            }
            let group = V::group_mac(p);
            put_in_front(p, a).ok_or(V::DROPPED)?;
            if let Some(header) = p.header_mut::<ethernet::Header>().filter(|_| a.header_len > 0) {
                header.dst = group;
            }
            p.trace(|p| Rewritten::of(p, a));
            Ok(Next::Output(arc.first(tx, p).unwrap_or(output)))
        });
    }
}

/// Edges from the nodes of both versions to the output of each interface.
#[derive(Default)]
struct Outputs(HashMap<&'static str, Shared<Table>>);

/// Edges by interface.
pub type Table = Vec<Option<Slot>>;

/// Adds the node of one version.
pub(super) fn add<V: Version>(router: &mut Router) -> Result<(), BuildError> {
    let table = Shared::new(Table::new());
    let (adjacencies, outputs) = (router.adjacencies.reader(), table.reader());
    router.engine.add(RewriteGroup { version: V::SELF, adjacencies, outputs })?;
    if router.state::<Outputs>().is_none() {
        router.insert(Outputs::default());
        router.interfaces.observe(follow);
    }
    if let Some(Outputs(tables)) = router.state_mut() {
        tables.insert(V::NODES.rewrite_mcast, table);
    }
    let there: Vec<_> = router.interfaces.iter().map(|i| i.index).collect();
    there.into_iter().for_each(|i| follow(router, i, Change::Added));
    Ok(())
}

/// Gives the nodes an edge to the output of a new interface.
fn follow(router: &mut Router, interface: InterfaceIndex, change: Change) {
    if change != Change::Added {
        return;
    }
    let output = format!("{}-output", router.interfaces.name(interface.0));
    router.with(|outputs: &mut Outputs, router| {
        for (node, table) in &mut outputs.0 {
            let Ok(slot) = router.engine.connect(node, &output) else { continue };
            let mut edges = table.current().clone();
            let at = interface.0 as usize;
            edges.resize(edges.len().max(at + 1), None);
            edges[at] = Some(slot);
            table.publish(edges);
        }
    });
}
