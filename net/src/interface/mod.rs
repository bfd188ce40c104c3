//! Interfaces: what packets come in on and go out of.
//!
//! An interface is made of a row here, a [`Port`] that nodes read, and two nodes of its own:
//! `<name>-output`, where packets with a finished layer 2 header arrive, and the driver's
//! `<name>-tx`.

mod cli;
mod counters;
mod output;
mod queues;
mod show;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use graph::{BuildError, Node, NodeIndex, Slot};
use infra::rcu::{Shared, SharedSlab, SlabReader};
use serde::Serialize;
use wire::MacAddr;

use crate::router::{Feature, Parts, Router, refuse};

pub use counters::{Counters, MAX_INTERFACES, Traffic, Values};
pub use output::{INTERFACE_OUTPUT, InterfaceOutput};
pub use queues::RxQueue;

/// Number of an interface (`sw_if_index`). `local0` is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct InterfaceIndex(pub u32);

/// What an interface carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Kind {
    /// Ethernet frames.
    Ethernet,
    /// IP packets without a layer 2 header.
    Ip,
    /// Nothing: `local0`.
    Local,
}

/// What the transmit node of an interface does by itself, as packet metadata asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Offloads {
    /// Completes TCP and UDP checksums.
    pub checksum: bool,
    /// Cuts big TCP packets into segments.
    pub gso: bool,
}

/// MTUs in bytes; 0 for a protocol means that the layer 3 MTU counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Mtu {
    /// Of layer 3, any protocol.
    pub l3: u32,
    /// Of IPv4.
    pub ip4: u32,
    /// Of IPv6.
    pub ip6: u32,
    /// Of MPLS.
    pub mpls: u32,
}

impl Mtu {
    /// The MTU that counts for IPv4.
    pub fn for_ip4(&self) -> u32 {
        if self.ip4 == 0 { self.l3 } else { self.ip4 }
    }
    /// The MTU that counts for IPv6.
    pub fn for_ip6(&self) -> u32 {
        if self.ip6 == 0 { self.l3 } else { self.ip6 }
    }
}

/// What an interface is made from.
#[derive(Clone, Debug)]
pub struct NewInterface {
    /// Name, unique.
    pub name: String,
    /// What it carries.
    pub kind: Kind,
    /// Hardware class as `show hardware-interfaces` names it.
    pub hardware: &'static str,
    /// Its own address; zero where there is none.
    pub mac: MacAddr,
    /// MTU of layer 3.
    pub mtu: u32,
    /// What the transmit node does by itself.
    pub offloads: Offloads,
    /// Whether the link is up as long as the interface is.
    pub link_follows_admin: bool,
}

/// One interface, as control knows it.
#[derive(Clone, Debug, Serialize)]
pub struct Interface {
    /// Its number.
    pub index: InterfaceIndex,
    /// Its name.
    pub name: String,
    /// What it carries.
    pub kind: Kind,
    /// Hardware class.
    pub hardware: &'static str,
    /// Its own address.
    #[serde(serialize_with = "as_text")]
    pub mac: MacAddr,
    /// Switched on.
    pub admin_up: bool,
    /// Able to carry packets.
    pub link_up: bool,
    /// MTUs.
    pub mtu: Mtu,
    /// What the transmit node does by itself.
    pub offloads: Offloads,
    #[serde(skip)]
    link_follows_admin: bool,
    /// `<name>-output`.
    #[serde(skip)]
    pub output: NodeIndex,
    /// `<name>-tx`.
    #[serde(skip)]
    pub tx: NodeIndex,
    /// Its receive queues, by number.
    #[serde(skip)]
    pub queues: Vec<RxQueue>,
    #[serde(skip)]
    before: Values,
    #[serde(skip)]
    port: Port,
}

fn as_text<S: serde::Serializer>(v: &impl fmt::Display, s: S) -> Result<S::Ok, S::Error> {
    s.collect_str(v)
}

/// What nodes read of an interface.
#[derive(Clone, Debug)]
pub struct Port {
    /// Its own address.
    pub mac: MacAddr,
    /// Up, so that packets may pass.
    pub up: bool,
    /// Takes frames for any address.
    pub promiscuous: bool,
    /// IPv4 table of packets received here; `None` while IPv4 is not enabled.
    pub ip4: Option<u16>,
    /// IPv6 table of packets received here; `None` while IPv6 is not enabled.
    pub ip6: Option<u16>,
}

/// What happened to an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was added.
    Added,
    /// It is about to be deleted.
    Deleting,
    /// Admin or link state.
    State,
    /// Its MAC address.
    Mac,
    /// One of its MTUs.
    Mtu,
}

/// Called after (before, for [`Change::Deleting`]) an interface changed.
pub type Observer = fn(&mut Router, InterfaceIndex, Change);

/// Why an interface cannot be made or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The name is in use.
    NameInUse(String),
    /// There are as many as there may be.
    Full,
    /// The graph refuses its nodes.
    Graph(BuildError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameInUse(name) => write!(f, "interface name `{name}' is in use"),
            Self::Full => write!(f, "no more than {MAX_INTERFACES} interfaces"),
            Self::Graph(e) => e.fmt(f),
        }
    }
}
impl std::error::Error for Error {}

impl From<BuildError> for Error {
    fn from(e: BuildError) -> Self {
        Self::Graph(e)
    }
}

/// All interfaces.
pub struct Interfaces {
    list: Vec<Option<Interface>>,
    by_name: HashMap<String, InterfaceIndex>,
    ports: SharedSlab<Port>,
    /// Edge from the end of the output arc to `<name>-tx`, by interface.
    edges: Shared<Vec<Option<Slot>>>,
    counters: Arc<Counters>,
    observers: Vec<Observer>,
}

impl Interfaces {
    pub(crate) fn new(threads: usize) -> io::Result<Self> {
        Ok(Self {
            list: Vec::new(),
            by_name: HashMap::new(),
            ports: SharedSlab::new(MAX_INTERFACES)?,
            edges: Shared::new(Vec::new()),
            counters: Arc::new(Counters::new(threads)?),
            observers: Vec::new(),
        })
    }
    /// The interface with this number.
    pub fn at(&self, index: InterfaceIndex) -> Option<&Interface> {
        self.list.get(index.0 as usize)?.as_ref()
    }
    /// The interface with this name.
    pub fn named(&self, name: &str) -> Option<&Interface> {
        self.at(*self.by_name.get(name)?)
    }
    /// Name of number `index`, or `DELETED`.
    pub fn name(&self, index: u32) -> &str {
        self.at(InterfaceIndex(index)).map_or("DELETED", |i| &i.name)
    }
    /// All, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Interface> {
        self.list.iter().flatten()
    }
    /// For nodes: what they read of interfaces.
    pub fn ports(&self) -> SlabReader<Port> {
        self.ports.reader()
    }
    /// For nodes: the counters they raise.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }
    /// What an interface counted since it was made or cleared.
    pub fn values(&self, index: InterfaceIndex) -> Values {
        let before = self.at(index).map(|i| i.before).unwrap_or_default();
        self.counters.of(index.0 as usize).since(&before)
    }
    /// Starts counting anew, on one interface or all.
    pub fn clear_counters(&mut self, only: Option<InterfaceIndex>) {
        for i in self.list.iter_mut().flatten().filter(|i| only.is_none_or(|o| o == i.index)) {
            i.before = self.counters.of(i.index.0 as usize);
        }
    }
    /// Has `observer` called whenever an interface changes.
    pub fn observe(&mut self, observer: Observer) {
        self.observers.push(observer);
    }
    /// Says which threads and nodes serve the receive queues of an interface.
    pub fn set_queues(&mut self, index: InterfaceIndex, queues: Vec<RxQueue>) {
        if let Some(i) = self.at_mut(index) {
            i.queues = queues;
        }
    }
    fn set_edge(&mut self, index: InterfaceIndex, edge: Option<Slot>) {
        let mut edges = self.edges.current().clone();
        let at = index.0 as usize;
        edges.resize(edges.len().max(at + 1), None);
        edges[at] = edge;
        self.edges.publish(edges);
    }
    fn at_mut(&mut self, index: InterfaceIndex) -> Option<&mut Interface> {
        self.list.get_mut(index.0 as usize)?.as_mut()
    }
    /// Changes what nodes see of an interface.
    pub fn change_port(&mut self, index: InterfaceIndex, change: impl FnOnce(&mut Port)) {
        if let Some(i) = self.at_mut(index) {
            change(&mut i.port);
            let port = i.port.clone();
            self.ports.replace(index.0, port);
        }
    }
    /// What nodes see of an interface.
    pub fn port(&self, index: InterfaceIndex) -> Option<&Port> {
        self.at(index).map(|i| &i.port)
    }
}

impl Router {
    /// Makes an interface, down, with the driver's transmit node `tx` as `<name>-tx`.
    ///
    /// # Errors
    /// A name that is in use; too many. Nothing is made then.
    pub fn add_interface(
        &mut self,
        new: NewInterface,
        tx: impl Node,
    ) -> Result<InterfaceIndex, Error> {
        if self.interfaces.by_name.contains_key(&new.name) {
            return Err(Error::NameInUse(new.name));
        }
        let port = Port { mac: new.mac, up: false, promiscuous: false, ip4: None, ip6: None };
        let index = self.interfaces.ports.insert(port.clone()).map_err(|_| Error::Full)?;
        let index = InterfaceIndex(index);
        let nodes = self.add_interface_nodes(&new, index, tx);
        let (output, tx) = nodes.inspect_err(|_| self.interfaces.ports.remove(index.0))?;
        let interface = Interface {
            index,
            name: new.name.clone(),
            kind: new.kind,
            hardware: new.hardware,
            mac: new.mac,
            admin_up: false,
            link_up: false,
            mtu: Mtu { l3: new.mtu, ip4: 0, ip6: 0, mpls: 0 },
            offloads: new.offloads,
            link_follows_admin: new.link_follows_admin,
            output,
            tx,
            queues: Vec::new(),
            before: self.interfaces.counters.of(index.0 as usize),
            port,
        };
        let list = &mut self.interfaces.list;
        list.resize(list.len().max(index.0 as usize + 1), None);
        list[index.0 as usize] = Some(interface);
        self.interfaces.by_name.insert(new.name, index);
        self.tell(index, Change::Added);
        Ok(index)
    }
    fn add_interface_nodes(
        &mut self,
        new: &NewInterface,
        index: InterfaceIndex,
        tx: impl Node,
    ) -> Result<(NodeIndex, NodeIndex), BuildError> {
        let tx_name = format!("{}-tx", new.name);
        let output_name = format!("{}-output", new.name);
        let tx = self.engine.add_named(&tx_name, tx)?;
        let output = InterfaceOutput::new(index, new.offloads, &self.interfaces);
        let output = self.engine.add_named(&output_name, output);
        let output = output.inspect_err(|_| self.engine.remove(tx))?;
        let slot = self.engine.connect(&output_name, &tx_name)?;
        assert_eq!(slot, InterfaceOutput::TX, "the first edge that is connected");
        self.engine.starts(output, &INTERFACE_OUTPUT)?;
        let edge = self.engine.connect(INTERFACE_OUTPUT.end, &tx_name)?;
        self.interfaces.set_edge(index, Some(edge));
        Ok((output, tx))
    }
    /// Deletes an interface: what refers to it goes first, then its nodes. Packets on their way to
    /// it are dropped and counted.
    pub fn remove_interface(&mut self, index: InterfaceIndex) {
        if self.interfaces.at(index).is_none() {
            return;
        }
        self.tell(index, Change::Deleting);
        let Some(gone) = self.interfaces.list[index.0 as usize].take() else { return };
        self.interfaces.by_name.remove(&gone.name);
        self.interfaces.set_edge(index, None);
        self.engine.remove(gone.output);
        self.engine.remove(gone.tx);
        self.interfaces.ports.remove(index.0);
    }
    /// Switches an interface on or off.
    pub fn set_admin(&mut self, index: InterfaceIndex, up: bool) {
        let Some(i) = self.interfaces.at_mut(index) else { return };
        i.admin_up = up;
        if i.link_follows_admin {
            i.link_up = up;
        }
        self.publish_state(index);
    }
    /// Says that the link of an interface came up or went down.
    pub fn set_link(&mut self, index: InterfaceIndex, up: bool) {
        let Some(i) = self.interfaces.at_mut(index) else { return };
        if i.link_up != up {
            i.link_up = up;
            self.publish_state(index);
        }
    }
    fn publish_state(&mut self, index: InterfaceIndex) {
        let up = self.interfaces.at(index).is_some_and(|i| i.admin_up);
        self.interfaces.change_port(index, |p| p.up = up);
        self.tell(index, Change::State);
    }
    /// Gives an interface another address.
    pub fn set_mac(&mut self, index: InterfaceIndex, mac: MacAddr) {
        let Some(i) = self.interfaces.at_mut(index) else { return };
        i.mac = mac;
        self.interfaces.change_port(index, |p| p.mac = mac);
        self.refresh_adjacencies(index);
        self.tell(index, Change::Mac);
    }
    /// Changes the MTUs of an interface.
    pub fn set_mtu(&mut self, index: InterfaceIndex, mtu: Mtu) {
        let Some(i) = self.interfaces.at_mut(index) else { return };
        i.mtu = mtu;
        self.refresh_adjacencies(index);
        self.tell(index, Change::Mtu);
    }
    fn tell(&mut self, index: InterfaceIndex, change: Change) {
        for observer in self.interfaces.observers.clone() {
            observer(self, index, change);
        }
    }
}

/// Interfaces and `local0`.
pub const FEATURE: Feature = Feature {
    name: "interface",
    about: "Interfaces, their state and counters",
    default_enabled: true,
    register,
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    let end = output::ArcEnd { edges: parts.router.interfaces.edges.reader() };
    parts.router.engine.add(end).map_err(refuse)?;
    let local = NewInterface {
        name: "local0".to_owned(),
        kind: Kind::Local,
        hardware: "local",
        mac: MacAddr::ZERO,
        mtu: 0,
        offloads: Offloads::default(),
        link_follows_admin: false,
    };
    parts.router.add_interface(local, output::LocalTx).map_err(refuse)?;
    cli::register(&mut parts.cli);
    queues::register(&mut parts.cli);
    Ok(())
}

#[cfg(test)]
mod tests;
