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
pub struct Edges(Box<[u16]>);

impl Edges {
    /// The edge for `number`, if anybody takes it.
    #[inline(always)]
    pub fn find(&self, number: usize) -> Option<Slot> {
        self.0.get(number).filter(|slot| **slot != NOBODY).map(|slot| Slot(*slot))
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
        let new = || Shared::new(Edges(vec![NOBODY; count].into()));
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
    fn dispatch(&mut self, at: &'static str, number: u16, to: &str) -> Result<(), Error> {
        let slot = self.engine.connect(at, to).map_err(Error::Graph)?;
        let tables = self.state_mut::<Dispatch>();
        let table = tables.and_then(|t| t.0.get_mut(at)).expect("a dispatching node has a table");
        table.update(|edges| {
            let entry = edges.0.get_mut(usize::from(number)).filter(|e| **e == NOBODY);
            *entry.ok_or(Error::Taken { at, number })? = slot.0;
            Ok(())
        })
    }
}
