//! All interfaces, by number and by name.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use control::feature::Registered;
use control::stats::Segment;
use graph::arc::FeatureArc;
use graph::{InputState, Slot};
use hashbrown::HashMap;
use infra::rcu::{SharedSlab, SlabReader};
use infra::table::names::Names;
use infra::table::numbers::Numbers;
use wire::MacAddr;

use super::output::ArcEnd;
use super::{
    Brief, Briefs, Counters, Edges, Error, Interface, InterfaceIndex, MAX_INTERFACES, Observer,
    Port, RxQueue, TxQueues, Values,
};
use crate::router::Router;

/// Describes the device of an interface: lines of `show hardware-interfaces`.
pub type Describe = fn(&Router, &Interface) -> Vec<String>;

/// Longest wait for readers of an interface that is gone, so that the next one has its number.
const LATE: Duration = Duration::from_millis(10);

/// All interfaces.
pub struct Interfaces {
    list: Vec<Option<Interface>>,
    by_name: Names,
    ports: SharedSlab<Port>,
    /// [`Brief`]s of these.
    briefs: Numbers,
    /// Edge from the end of the output arc to `<name>-tx`, by interface.
    edges: Edges,
    counters: Arc<Counters>,
    pub(super) observers: Registered<Observer>,
    /// Features that are on for all interfaces.
    pub(super) everywhere: Vec<(&'static FeatureArc, &'static str)>,
    /// Interfaces that ever were.
    made: u32,
    /// Interfaces that have receive queues.
    pub(super) receiving: BTreeSet<InterfaceIndex>,
    /// By interface.
    pub(super) tx_queues: HashMap<InterfaceIndex, TxQueues>,
    /// Description of devices, by hardware class.
    pub(super) describe: HashMap<&'static str, Describe>,
    /// Number of deletions so far, and at the last time that memory was given back.
    pub(super) deleted: u64,
    pub(super) given_back: u64,
    /// Default mode of the receive queues of new interfaces.
    pub default_rx_mode: InputState,
}

impl Interfaces {
    /// The address that an interface was made with; of a sub-interface, that of its parent.
    pub(super) fn usual_mac(&self, index: InterfaceIndex) -> Option<MacAddr> {
        let i = self.at(index)?;
        let parent = self.at(i.sup).filter(|_| i.is_sub());
        Some(parent.map_or(i.made.mac, |parent| parent.mac))
    }
    pub(crate) fn new(stats: &mut Segment) -> io::Result<Self> {
        Ok(Self {
            list: Vec::new(),
            by_name: Names::default(),
            ports: SharedSlab::new(MAX_INTERFACES)?,
            briefs: Numbers::new(MAX_INTERFACES)?,
            edges: Edges::new()?,
            counters: Arc::new(Counters::new(stats).map_err(io::Error::other)?),
            observers: Registered::default(),
            everywhere: Vec::new(),
            made: 0,
            receiving: BTreeSet::new(),
            tx_queues: HashMap::new(),
            describe: HashMap::new(),
            deleted: 0,
            given_back: 0,
            default_rx_mode: InputState::Adaptive,
        })
    }
    /// The interface with this number.
    pub fn at(&self, index: InterfaceIndex) -> Option<&Interface> {
        self.list.get(index.0 as usize)?.as_ref()
    }
    /// The interface with this name.
    pub fn named(&self, name: &str) -> Option<&Interface> {
        let index = self.by_name.find(name, |at| name_of(&self.list, at))?;
        self.at(InterfaceIndex(index))
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
    /// For nodes: what their loops need of interfaces.
    pub fn briefs(&self) -> Briefs {
        Briefs::new(&self.briefs)
    }
    /// For nodes: the counters they raise.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }
    /// Counters of an interface since it was made or cleared.
    pub fn values(&self, index: InterfaceIndex) -> Values {
        self.counters.of(index.0 as usize)
    }
    /// Frees the memory after the last interface.
    pub(super) fn give_back(&mut self) {
        let end = self.list.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        self.list.truncate(end);
        self.list.shrink_to_fit();
        self.tx_queues.shrink_to_fit();
    }
    /// More than the largest number there was since memory was given back.
    pub fn end(&self) -> usize {
        self.list.len()
    }
    /// Calls `observer` whenever an interface changes.
    pub fn observe(&mut self, observer: Observer) {
        self.observers.push(observer);
    }
    /// Calls `describe` for devices of a hardware class.
    pub fn describe(&mut self, hardware: &'static str, describe: Describe) {
        self.describe.insert(hardware, describe);
    }
    /// All receive queues.
    pub(super) fn queues(&self) -> impl Iterator<Item = &RxQueue> {
        self.receiving.iter().filter_map(|index| self.at(*index)).flat_map(|i| &i.queues)
    }
    /// The receive queues of an interface; none if it is missing.
    pub(super) fn queues_mut(&mut self, index: InterfaceIndex) -> Option<&mut Vec<RxQueue>> {
        self.at_mut(index).map(|i| &mut i.queues)
    }
    pub(super) fn set_edge(&mut self, index: InterfaceIndex, edge: Option<Slot>) {
        self.edges.set(index, edge);
    }
    pub(super) fn at_mut(&mut self, index: InterfaceIndex) -> Option<&mut Interface> {
        self.list.get_mut(index.0 as usize)?.as_mut()
    }
    /// Changes what nodes see of an interface.
    pub fn change_port(&mut self, index: InterfaceIndex, change: impl FnOnce(&mut Port)) {
        if let Some(i) = self.at_mut(index) {
            change(&mut i.port);
            let port = i.port.clone();
            Brief::publish(&mut self.briefs, index.0, Some(&port));
            self.ports.replace(index.0, port);
        }
    }
    /// An interface, as nodes read it.
    pub fn port(&self, index: InterfaceIndex) -> Option<&Port> {
        self.at(index).map(|i| &i.port)
    }
    /// Puts in a new interface, whose number [`Interfaces::reserve`] gave, once it is complete.
    pub(super) fn put(&mut self, mut interface: Interface) {
        self.made = self.made.wrapping_add(1);
        interface.start.order = self.made;
        let (number, index) = (interface.index.0, interface.index.0 as usize);
        self.list.resize(self.list.len().max(index + 1), None);
        self.list[index] = Some(interface);
        self.by_name.insert(number, |at| name_of(&self.list, at));
    }
    /// Takes out an interface; its number stays in use until [`Interfaces::release`].
    pub(super) fn take(&mut self, index: InterfaceIndex) -> Option<Interface> {
        self.at(index)?;
        self.by_name.remove(index.0, |at| name_of(&self.list, at));
        let gone = self.list[index.0 as usize].take()?;
        self.tx_queues.remove(&index);
        self.receiving.remove(&index);
        self.set_edge(index, None);
        Some(gone)
    }
    /// Renames an interface to an unused name.
    pub(super) fn rename(&mut self, index: InterfaceIndex, name: &str) {
        if self.at(index).is_none() {
            return;
        }
        self.by_name.remove(index.0, |at| name_of(&self.list, at));
        if let Some(i) = self.at_mut(index) {
            name.clone_into(&mut i.name);
        }
        self.by_name.insert(index.0, |at| name_of(&self.list, at));
    }
    /// A number for a new interface, and what nodes see of it; `sup` is the interface whose nodes
    /// it uses, itself if `None`.
    pub(super) fn reserve(
        &mut self,
        mac: MacAddr,
        sup: Option<InterfaceIndex>,
    ) -> Result<(InterfaceIndex, Port), Error> {
        self.ports.settle(LATE);
        let mut port = Port::new(mac, sup.unwrap_or(InterfaceIndex(0)));
        let index = self.ports.insert(port.clone()).map_err(|_| Error::Full)?;
        let index = InterfaceIndex(index);
        port.sup = sup.unwrap_or(index);
        Brief::publish(&mut self.briefs, index.0, Some(&port));
        self.ports.replace(index.0, port.clone());
        Ok((index, port))
    }
    /// Gives back a number.
    pub(super) fn release(&mut self, index: InterfaceIndex) {
        Brief::publish(&mut self.briefs, index.0, None);
        self.ports.remove(index.0);
    }
    /// The node that leads to `<name>-tx` from the end of the output arc.
    pub(super) fn arc_end(&self) -> ArcEnd {
        ArcEnd { edges: self.edges.reader() }
    }
}

fn name_of(list: &[Option<Interface>], index: u32) -> &str {
    list.get(index as usize).and_then(Option::as_ref).map_or("", |i| &i.name)
}
