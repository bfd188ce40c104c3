//! Dispatch tables: from a number (protocol, ICMP type, UDP port) to an edge.
//!
//! A protocol adds itself while the graph is put together or later, and needs no place in the nodes
//! that lead to it.

use std::collections::{HashMap, HashSet};
use std::fmt;

use graph::{BuildError, NodeIndex, Slot};
use infra::rcu::{Reader, Shared};
use wire::{IpVersion, Protocol, icmp4, icmp6};

use super::version::Nodes;
use super::{V4, V6, Version};
use crate::router::Router;

const NOBODY: u32 = u32::MAX;

/// Returns the edge to the node that is registered for a number.
#[derive(Clone)]
pub struct Edges {
    slots: Box<[u32]>,
    /// The edge for numbers without a handler.
    others: u32,
    /// Numbers whose packets need no checksum, in ascending order.
    bare: Vec<u16>,
}

impl Edges {
    /// The edge for `number`, if a node is registered.
    #[inline(always)]
    pub fn find(&self, number: usize) -> Option<Slot> {
        let slot = self.slots.get(number).copied().filter(|slot| *slot != NOBODY);
        slot.or((self.others != NOBODY).then_some(self.others)).map(Slot)
    }
    /// Whether packets for `number` are only accepted with a checksum.
    pub(super) fn needs_checksum(&self, number: u16) -> bool {
        self.find(number.into()).is_some() && self.bare.binary_search(&number).is_err()
    }
}

/// The tables of all dispatching nodes, by the node's name.
#[derive(Default)]
struct Dispatch(HashMap<&'static str, Table>);

/// The table of one node.
struct Table {
    edges: Shared<Edges>,
    /// Numbers whose packets a program gets, and the edge for when it no longer does.
    behind: HashMap<u16, u32>,
}

impl Table {
    fn with_room_for(count: usize) -> Self {
        let edges = Edges { slots: vec![NOBODY; count].into(), others: NOBODY, bare: Vec::new() };
        Self { edges: Shared::new(edges), behind: HashMap::new() }
    }
    /// Makes `slot` the edge for `number`.
    fn publish(&mut self, number: u16, slot: u32) {
        let mut edges = self.edges.current().clone();
        edges.slots[usize::from(number)] = slot;
        self.edges.publish(edges);
    }
    /// Returns the edge to the node that is registered for a number, even if packets are punted.
    fn listener(&self, number: u16) -> u32 {
        let edge = self.edges.current().slots[usize::from(number)];
        self.behind.get(&number).copied().unwrap_or(edge)
    }
    /// Changes the edge of a number's handler. A program's share is unchanged.
    fn set_listener(&mut self, number: u16, slot: u32) {
        match self.behind.get_mut(&number) {
            Some(behind) => *behind = slot,
            None => self.publish(number, slot),
        }
    }
}

/// Reasons why something cannot be given to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Another node is registered.
    Taken {
        /// The node that dispatches.
        at: &'static str,
        /// Protocol, type or port.
        number: u16,
    },
    /// The graph refuses the edge.
    Graph(BuildError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken { at, number } => write!(f, "{at}: number {number} is in use"),
            Self::Graph(e) => e.fmt(f),
        }
    }
}
impl std::error::Error for Error {}

/// Forgets registrations of nodes that leave the graph.
fn forget(router: &mut Router, gone: &HashSet<NodeIndex>) {
    let mut tables = std::mem::take(&mut router.own_mut::<Dispatch>().0);
    for (at, table) in &mut tables {
        let is_gone = |slot: u32| {
            let node = router.engine.target_of(at, Slot(slot));
            node.is_some_and(|node| gone.contains(&node))
        };
        let mut edges = table.edges.current().clone();
        edges.slots.iter_mut().filter(|slot| is_gone(**slot)).for_each(|slot| *slot = NOBODY);
        edges.others = if is_gone(edges.others) { NOBODY } else { edges.others };
        table.behind.values_mut().filter(|s| is_gone(**s)).for_each(|slot| *slot = NOBODY);
        table.edges.publish(edges);
    }
    router.own_mut::<Dispatch>().0 = tables;
}

impl Router {
    /// The table of a node that dispatches, made with room for `count` numbers when it is not
    /// there.
    pub(crate) fn dispatch_table(&mut self, node: &'static str, count: usize) -> Reader<Edges> {
        if self.state::<Dispatch>().is_none() {
            self.insert(Dispatch::default());
            self.on_leaving.push(forget);
        }
        let tables = self.state_mut::<Dispatch>().expect("just put in");
        tables.0.entry(node).or_insert_with(|| Table::with_room_for(count)).edges.reader()
    }
    /// Sends packets for this router of an IPv4 protocol to `node`: their current bytes start at
    /// the IP header, `l4_offset` is the start of the protocol's own, lengths and known checksums
    /// are right.
    ///
    /// # Errors
    /// A missing node, a protocol in use.
    pub fn ip4_protocol(&mut self, protocol: Protocol, node: &str) -> Result<(), Error> {
        self.local_protocol::<V4>(protocol, node)
    }
    /// As [`Router::ip4_protocol`], for IPv6.
    ///
    /// # Errors
    /// The same.
    pub fn ip6_protocol(&mut self, protocol: Protocol, node: &str) -> Result<(), Error> {
        self.local_protocol::<V6>(protocol, node)
    }
    pub(super) fn local_protocol<V: Version>(
        &mut self,
        protocol: Protocol,
        to: &str,
    ) -> Result<(), Error> {
        let nodes = [V::NODES.receive, V::NODES.local_end, V::NODES.local];
        nodes.into_iter().try_for_each(|at| self.dispatch(at, protocol.0.into(), to))
    }
    /// Sends ICMP messages of a type for this router to `node`, as at [`Router::ip4_protocol`].
    ///
    /// # Errors
    /// A missing node, a type in use.
    pub fn icmp4_type(&mut self, kind: icmp4::Type, node: &str) -> Result<(), Error> {
        self.dispatch(V4::NODES.icmp_input, kind.0.into(), node)
    }
    /// As [`Router::icmp4_type`], for ICMPv6.
    ///
    /// # Errors
    /// The same.
    pub fn icmp6_type(&mut self, kind: icmp6::Type, node: &str) -> Result<(), Error> {
        self.dispatch(V6::NODES.icmp_input, kind.0.into(), node)
    }
    /// Sends UDP over IPv4 to a port to `node`: current bytes start after the UDP header,
    /// `l3_offset` and `l4_offset` are the starts of the headers.
    ///
    /// # Errors
    /// A missing node, a port in use.
    pub fn udp4_port(&mut self, port: u16, node: &str) -> Result<(), Error> {
        self.dispatch(V4::NODES.udp_lookup, port, node)
    }
    /// As [`Router::udp4_port`], over IPv6.
    ///
    /// # Errors
    /// The same.
    pub fn udp6_port(&mut self, port: u16, node: &str) -> Result<(), Error> {
        self.dispatch(V6::NODES.udp_lookup, port, node)
    }
    /// Gives an unused number to `to`, or frees it. A program's share is unchanged.
    ///
    /// # Errors
    /// A missing node, a number in use.
    pub fn redispatch(
        &mut self,
        at: &'static str,
        number: u16,
        to: Option<&str>,
    ) -> Result<(), Error> {
        match to {
            Some(to) => return self.dispatch(at, number, to),
            None => self.table(at).set_listener(number, NOBODY),
        }
        Ok(())
    }
    /// [`Router::redispatch`] for several numbers, at the cost of one.
    ///
    /// # Errors
    /// The same; nothing has changed then.
    pub fn redispatch_all(
        &mut self,
        at: &'static str,
        numbers: &[u16],
        to: Option<&str>,
    ) -> Result<(), Error> {
        let slot = to.map(|to| self.engine.connect(at, to).map_err(Error::Graph)).transpose()?;
        let table = self.table(at);
        let is_taken = |number: &&u16| slot.is_some() && table.listener(**number) != NOBODY;
        if let Some(number) = numbers.iter().find(is_taken) {
            return Err(Error::Taken { at, number: *number });
        }
        let (slot, mut edges) = (slot.map_or(NOBODY, |slot| slot.0), table.edges.current().clone());
        for number in numbers {
            match table.behind.get_mut(number) {
                Some(behind) => *behind = slot,
                None => edges.slots[usize::from(*number)] = slot,
            }
        }
        table.edges.publish(edges);
        Ok(())
    }
    /// Gives a program the packets for a number, through the node `to`, instead of its handler; or
    /// stops. The handler may change meanwhile.
    ///
    /// # Errors
    /// A missing node.
    pub(crate) fn divert(
        &mut self,
        at: &'static str,
        number: u16,
        to: Option<&str>,
    ) -> Result<(), Error> {
        let slot = to.map(|to| self.engine.connect(at, to).map_err(Error::Graph)).transpose()?;
        let table = self.table(at);
        match slot {
            Some(Slot(slot)) => {
                let listener = table.listener(number);
                table.behind.insert(number, listener);
                table.publish(number, slot);
            }
            None => {
                if let Some(behind) = table.behind.remove(&number) {
                    table.publish(number, behind);
                }
            }
        }
        Ok(())
    }
    /// As [`Router::redispatch`], for a protocol.
    ///
    /// # Errors
    /// The same.
    pub fn redispatch_protocol(
        &mut self,
        version: IpVersion,
        protocol: Protocol,
        to: Option<&str>,
    ) -> Result<(), Error> {
        let nodes = Nodes::of(version);
        let nodes = [nodes.receive, nodes.local_end, nodes.local];
        nodes.into_iter().try_for_each(|at| self.redispatch(at, protocol.0.into(), to))
    }
    /// Gives all unused numbers to `to`, or to none.
    ///
    /// # Errors
    /// A missing node.
    pub(crate) fn dispatch_others(
        &mut self,
        at: &'static str,
        to: Option<&str>,
    ) -> Result<(), Error> {
        let slot = to.map(|to| self.engine.connect(at, to).map_err(Error::Graph)).transpose()?;
        let others = slot.map_or(NOBODY, |slot| slot.0);
        let table = self.table(at);
        table.edges.publish(Edges { others, ..table.edges.current().clone() });
        Ok(())
    }
    /// Receives packets of tunnels at a UDP port, over IPv6 also without a checksum (RFC 6935), or
    /// stops.
    ///
    /// # Errors
    /// A missing node, a port in use.
    pub fn lead_tunnel_port(
        &mut self,
        version: IpVersion,
        port: u16,
        to: Option<&str>,
    ) -> Result<(), Error> {
        let at = Nodes::of(version).udp_lookup;
        self.redispatch(at, port, to)?;
        let table = self.table(at);
        let mut edges = table.edges.current().clone();
        edges.bare.retain(|bare| *bare != port);
        edges.bare.extend(to.map(|_| port));
        edges.bare.sort_unstable();
        table.edges.publish(edges);
        Ok(())
    }
    /// Nodes that take UDP ports: family, port, name of the node.
    pub fn udp_takers(&self) -> Vec<(&'static str, u16, String)> {
        let mut all = self.takers("ip4", V4::NODES.udp_lookup);
        all.extend(self.takers("ip6", V6::NODES.udp_lookup));
        all
    }
    /// Nodes that take protocols: family, protocol, name of the node.
    pub(crate) fn protocol_takers(&self) -> Vec<(&'static str, u16, String)> {
        let mut all = self.takers("ip4", V4::NODES.local);
        all.extend(self.takers("ip6", V6::NODES.local));
        all
    }
    fn takers(&self, family: &'static str, at: &str) -> Vec<(&'static str, u16, String)> {
        let Some(table) = self.state::<Dispatch>().and_then(|d| d.0.get(at)) else {
            return Vec::new();
        };
        let taken =
            table.edges.current().slots.iter().enumerate().filter(|(_, slot)| **slot != NOBODY);
        let node = |slot: u32| self.engine.end_of(at, Slot(slot)).unwrap_or_default().to_owned();
        taken.map(|(number, slot)| (family, number as u16, node(*slot))).collect()
    }
    fn table(&mut self, at: &'static str) -> &mut Table {
        let tables = self.state_mut::<Dispatch>();
        tables.and_then(|t| t.0.get_mut(at)).expect("a dispatching node has a table")
    }
    fn dispatch(&mut self, at: &'static str, number: u16, to: &str) -> Result<(), Error> {
        let slot = self.engine.connect(at, to).map_err(Error::Graph)?;
        let table = self.table(at);
        if table.listener(number) != NOBODY {
            return Err(Error::Taken { at, number });
        }
        table.set_listener(number, slot.0);
        Ok(())
    }
}
