//! Who takes what: tables from a number (protocol, ICMP type, UDP port) to an edge.
//!
//! A protocol adds itself while the graph is put together or later, and needs no place in the nodes
//! that lead to it.

use std::collections::HashMap;
use std::fmt;

use graph::{BuildError, Slot};
use infra::rcu::{Reader, Shared};
use wire::{Protocol, icmp4, icmp6};

use super::{V4, V6, Version};
use crate::router::Router;

const NOBODY: u16 = u16::MAX;

/// The edge that leads to who takes a number.
#[derive(Clone)]
pub struct Edges {
    slots: Box<[u16]>,
    /// To who takes those that nobody else does.
    others: u16,
}

impl Edges {
    /// The edge for `number`, if anybody takes it.
    #[inline(always)]
    pub fn find(&self, number: usize) -> Option<Slot> {
        let slot = self.slots.get(number).copied().filter(|slot| *slot != NOBODY);
        slot.or((self.others != NOBODY).then_some(self.others)).map(Slot)
    }
}

/// The tables of all dispatching nodes, by the node's name.
#[derive(Default)]
struct Dispatch(HashMap<&'static str, Shared<Edges>>);

/// Why something cannot be given to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Another node takes it.
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
            Self::Taken { at, number } => write!(f, "{at}: number {number} is taken"),
            Self::Graph(e) => e.fmt(f),
        }
    }
}
impl std::error::Error for Error {}

impl Router {
    /// The table of a node that dispatches, made with room for `count` numbers when it is not
    /// there.
    pub(crate) fn dispatch_table(&mut self, node: &'static str, count: usize) -> Reader<Edges> {
        if self.state::<Dispatch>().is_none() {
            self.insert(Dispatch::default());
        }
        let tables = self.state_mut::<Dispatch>().expect("just put in");
        let new = || Shared::new(Edges { slots: vec![NOBODY; count].into(), others: NOBODY });
        tables.0.entry(node).or_insert_with(new).reader()
    }
    /// Has `node` take packets for this router of an IPv4 protocol: their current bytes start at
    /// the IP header, `l4_offset` says where the protocol's own begin, lengths and known checksums
    /// are right.
    ///
    /// # Errors
    /// A node that is not there, a protocol that is taken.
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
    /// Has `node` take ICMP messages of a type that are for this router, as
    /// [`Router::ip4_protocol`] says.
    ///
    /// # Errors
    /// A node that is not there, a type that is taken.
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
    /// Has `node` take UDP over IPv4 to a port: current bytes start behind the UDP header,
    /// `l3_offset` and `l4_offset` say where the headers are.
    ///
    /// # Errors
    /// A node that is not there, a port that is taken.
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
    /// Has `to` take a number that nobody takes, or nobody take it any more.
    ///
    /// # Errors
    /// A node that is not there, a number that is taken.
    pub(crate) fn redispatch(
        &mut self,
        at: &'static str,
        number: u16,
        to: Option<&str>,
    ) -> Result<(), Error> {
        match to {
            Some(to) => self.dispatch(at, number, to),
            None => {
                self.set_taker(at, number, None);
                Ok(())
            }
        }
    }
    /// Has an edge lead to who takes a number of the node that has it, or nobody take it any more;
    /// returns the edge that there was.
    pub(crate) fn set_taker(
        &mut self,
        at: &'static str,
        number: u16,
        to: Option<Slot>,
    ) -> Option<Slot> {
        let mut edges = self.table(at).current().clone();
        let entry = &mut edges.slots[usize::from(number)];
        let old = std::mem::replace(entry, to.map_or(NOBODY, |slot| slot.0));
        self.table(at).publish(edges);
        (old != NOBODY).then_some(Slot(old))
    }
    /// As [`Router::redispatch`], for a protocol.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn redispatch_protocol<V: Version>(
        &mut self,
        protocol: Protocol,
        to: Option<&str>,
    ) -> Result<(), Error> {
        let nodes = [V::NODES.receive, V::NODES.local_end, V::NODES.local];
        nodes.into_iter().try_for_each(|at| self.redispatch(at, protocol.0.into(), to))
    }
    /// Has `to` take all numbers that nobody takes, or nobody.
    ///
    /// # Errors
    /// A node that is not there.
    pub(crate) fn dispatch_others(
        &mut self,
        at: &'static str,
        to: Option<&str>,
    ) -> Result<(), Error> {
        let slot = to.map(|to| self.engine.connect(at, to).map_err(Error::Graph)).transpose()?;
        let others = slot.map_or(NOBODY, |slot| slot.0);
        let edges = Edges { others, ..self.table(at).current().clone() };
        self.table(at).publish(edges);
        Ok(())
    }
    /// Who takes which UDP ports: family, port, name of the node.
    pub(crate) fn udp_takers(&self) -> Vec<(&'static str, u16, String)> {
        let mut all = self.takers("ip4", V4::NODES.udp_lookup);
        all.extend(self.takers("ip6", V6::NODES.udp_lookup));
        all
    }
    /// Who takes which protocols: family, protocol, name of the node.
    pub(crate) fn protocol_takers(&self) -> Vec<(&'static str, u16, String)> {
        let mut all = self.takers("ip4", V4::NODES.local);
        all.extend(self.takers("ip6", V6::NODES.local));
        all
    }
    fn takers(&self, family: &'static str, at: &str) -> Vec<(&'static str, u16, String)> {
        let Some(table) = self.state::<Dispatch>().and_then(|d| d.0.get(at)) else {
            return Vec::new();
        };
        let taken = table.current().slots.iter().enumerate().filter(|(_, slot)| **slot != NOBODY);
        let node = |slot: u16| self.engine.end_of(at, Slot(slot)).unwrap_or_default().to_owned();
        taken.map(|(number, slot)| (family, number as u16, node(*slot))).collect()
    }
    fn table(&mut self, at: &'static str) -> &mut Shared<Edges> {
        let tables = self.state_mut::<Dispatch>();
        tables.and_then(|t| t.0.get_mut(at)).expect("a dispatching node has a table")
    }
    fn dispatch(&mut self, at: &'static str, number: u16, to: &str) -> Result<(), Error> {
        let slot = self.engine.connect(at, to).map_err(Error::Graph)?;
        self.table(at).update(|edges| {
            let entry = edges.slots.get_mut(usize::from(number)).filter(|e| **e == NOBODY);
            *entry.ok_or(Error::Taken { at, number })? = slot.0;
            Ok(())
        })
    }
}
