//! Making and deleting tunnels.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use control::feature::Owner;
use graph::{BuildError, Slot};
use infra::rcu::SharedSlab;
use infra::sequence::Sequence;
use wire::{IpVersion, MacAddr};

use super::output::{Sending, ToOutput};
use super::{
    Carrier, Decapsulate, EncapDecapFlags, Encapsulate, End, Ends, Error, Front, Input, Kind,
    Outer, Output, Tunnel, Tuple,
};
use crate::adjacency::chain::Hop;
use crate::adjacency::{AdjacencyIndex, Link, Role};
use crate::fib::{Followed, TableIndex};
use crate::interface::{
    self, Change, Flooding, InterfaceIndex, Kind as Carries, MAX_INTERFACES, NewInterface, Offloads,
};
use crate::ip::{Chain, Encapsulation};
use crate::router::Router;
use crate::teib::Peers;

/// Node that takes labelled packets.
const MPLS: &str = "mpls-input";

/// The tunnels of a kind.
pub struct Tunnels<K> {
    /// Twice this, and one more over IPv6, is the kind in tuples.
    number: u8,
    by_instance: BTreeMap<u32, Tunnel<K>>,
    by_interface: HashMap<InterfaceIndex, u32>,
}

/// The part that all kinds share.
pub(super) struct Common {
    pub(super) ends: Ends,
    /// Interfaces of tunnels of all kinds, and their outer headers.
    interfaces: HashMap<InterfaceIndex, Outer>,
    /// Tuples that packets of tunnels with one far end are received by.
    pub(super) received: HashMap<InterfaceIndex, Tuple>,
    /// Owners of the kinds; a free number is reused.
    kinds: Vec<Owner>,
    /// Headers in front of frames, by interface.
    sending: SharedSlab<Sending>,
    /// Path lists that frames follow, by interface.
    followed: HashMap<InterfaceIndex, To>,
    /// Number of tunnels that need packets of a carrier.
    pub(super) carriers: HashMap<(IpVersion, Carrier, &'static str), u32>,
    /// Tunnels with several far ends: what stands for one of them.
    pub(super) multipoint: HashMap<InterfaceIndex, (Tuple, End)>,
    /// Number of tunnels that listen to a group on an interface.
    pub(super) groups: HashMap<(TableIndex, IpAddr, InterfaceIndex), u32>,
}

/// Object given up with a tunnel for frames.
enum To {
    Route(Followed),
    Multicast(AdjacencyIndex),
}

impl Common {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            ends: Ends::new(),
            interfaces: HashMap::new(),
            received: HashMap::new(),
            kinds: Vec::new(),
            sending: SharedSlab::new(MAX_INTERFACES)?,
            followed: HashMap::new(),
            carriers: HashMap::new(),
            multipoint: HashMap::new(),
            groups: HashMap::new(),
        })
    }
}

/// A tunnel for IP packets, as its adjacencies need it.
struct Packets<K> {
    interface: InterfaceIndex,
    outer: Outer,
    kind: K,
    peers: Peers,
}

impl<K: Kind> Encapsulation for Packets<K> {
    fn chain(&self, link: Link, next_hop: IpAddr) -> Option<Chain> {
        if let Front::Own(chain) = self.kind.front(&self.outer, link, next_hop) {
            return chain;
        }
        let behind = self.kind.behind(link)?;
        let (mut outer, mut dst) = (self.outer, self.outer.dst);
        if outer.is_multipoint() {
            (outer.table, dst) = self.peers.find(self.interface, next_hop)?;
        }
        Some(outer.chain(dst, K::HOP_LIMITS, link, &behind))
    }
}

/// Offloads of a tunnel's interface: all, unless segments are asked for.
fn offloads(asks_segments: bool) -> Offloads {
    Offloads { checksum: true, gso: !asks_segments, tunnels: true }
}

/// Segmentation was enabled or disabled.
pub(super) fn changed(router: &mut Router, index: InterfaceIndex, change: Change) {
    let Some(i) = router.interfaces.at(index).filter(|_| change == Change::Segments) else {
        return;
    };
    if router.own::<Common>().interfaces.contains_key(&index) {
        router.interfaces.set_offloads(index, offloads(i.asks_segments));
    }
}

impl<K: Kind> Tunnels<K> {
    /// All, by instance.
    pub fn iter(&self) -> impl Iterator<Item = &Tunnel<K>> {
        self.by_instance.values()
    }
    /// The tunnel of an interface.
    pub fn at(&self, interface: InterfaceIndex) -> Option<&Tunnel<K>> {
        self.by_instance.get(self.by_interface.get(&interface)?)
    }
    /// The tunnel of an interface, or all for the number that no interface has.
    pub fn chosen(&self, interface: InterfaceIndex) -> impl Iterator<Item = &Tunnel<K>> {
        let is_all = interface.0 == u32::MAX;
        let one = self.at(interface).filter(|_| !is_all);
        self.iter().filter(move |_| is_all).chain(one)
    }
    fn instance(&self, wanted: Option<u32>) -> Result<u32, Error> {
        match wanted {
            Some(wanted) if self.by_instance.contains_key(&wanted) => Err(Error::InUse(wanted)),
            Some(wanted) => Ok(wanted),
            None => {
                let used = self.by_instance.keys().zip(0..).find(|(used, n)| **used != *n);
                Ok(used.map_or(self.by_instance.len() as u32, |(_, n)| n))
            }
        }
    }
    fn tuple(&self, outer: &Outer, kind: &K) -> Tuple {
        Tuple {
            kind: self.number * 2 + u8::from(outer.link() == Link::Ip6),
            table: outer.table.0,
            key: kind.key(),
            remote: Tuple::bits(outer.dst),
            local: Tuple::bits(outer.src),
        }
    }
}

fn check(outer: &Outer) -> Result<(), Error> {
    if outer.src.is_ipv4() != outer.dst.is_ipv4() {
        return Err(Error::Families);
    }
    if outer.src == outer.dst {
        return Err(Error::SameAddresses);
    }
    if outer.src.is_unspecified() || outer.src.is_multicast() {
        return Err(Error::Source(outer.src));
    }
    if outer.dst.is_multicast() && outer.group_over.is_none() {
        return Err(Error::NoGroupInterface(outer.dst));
    }
    Ok(())
}

impl Router {
    /// The table that the operator knows by a number, in the family of an address.
    ///
    /// # Errors
    /// [`Error::NoTable`].
    pub fn tunnel_table(&self, addr: IpAddr, id: u32) -> Result<TableIndex, Error> {
        self.fib.table_for(Link::of(addr), id).ok_or(Error::NoTable(id))
    }
    /// The number that the operator knows the table of an outer header by.
    pub fn tunnel_table_id(&self, outer: &Outer) -> u32 {
        self.fib.table_id_for(outer.src, outer.table).unwrap_or_default()
    }
    /// Makes a kind of tunnel known, with its input nodes.
    ///
    /// # Errors
    /// Names of nodes that are in use.
    pub fn add_tunnel_kind<K: Decapsulate>(&mut self) -> Result<(), BuildError> {
        self.add_tunnel_kind_without_input::<K>();
        let (over4, over6) = (self.tunnel_input::<K, false>(), self.tunnel_input::<K, true>());
        self.engine.add(over4)?;
        self.engine.add(over6)?;
        Ok(())
    }
    /// Makes a kind of tunnel known that adds its input nodes by itself.
    pub fn add_tunnel_kind_without_input<K: Kind>(&mut self) {
        let common = self.own_mut::<Common>();
        let free = common.kinds.iter().position(|owner| !owner.is_there());
        let number = free.unwrap_or(common.kinds.len());
        common.kinds.resize(common.kinds.len().max(number + 1), Owner::CORE);
        common.kinds[number] = Owner::current();
        let number = number as u8;
        let (by_instance, by_interface) = Default::default();
        self.insert(Tunnels::<K> { number, by_instance, by_interface });
        self.interfaces.observe(super::carrier::interface_changed::<K>);
    }
    /// The input node of a kind that is known.
    pub(super) fn tunnel_input<K: Decapsulate, const IS_6: bool>(&self) -> Input<K, IS_6> {
        let kind = self.own::<Tunnels<K>>().number * 2 + u8::from(IS_6);
        let read = (self.interfaces.ports(), self.interfaces.counters());
        Input::new(kind, self.own::<Common>().ends.reader(), read)
    }
    /// Adds the output nodes of a kind that carries Ethernet frames.
    ///
    /// # Errors
    /// Names of nodes that are in use.
    pub fn add_tunnel_outputs<K: Encapsulate>(&mut self, names: &[&str]) -> Result<(), BuildError> {
        for name in names {
            let sending = self.own::<Common>().sending.reader();
            let output = Output::<K>::new(self, sending);
            self.engine.add_named(name, output)?;
        }
        Ok(())
    }
    /// The outer header of a tunnel of any kind, by its interface.
    pub fn outer_of_tunnel(&self, interface: InterfaceIndex) -> Option<Outer> {
        self.state::<Common>()?.interfaces.get(&interface).copied()
    }
    /// The tunnels of a kind.
    pub fn tunnels<K: Kind>(&self) -> &Tunnels<K> {
        self.own()
    }
    /// The interface of the tunnel between these addresses.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn find_tunnel<K: Kind>(&self, outer: &Outer, kind: &K) -> Result<InterfaceIndex, Error> {
        let key = kind.key();
        let same = |t: &&Tunnel<K>| {
            let o = &t.outer;
            (o.src, o.dst, o.table) == (outer.src, outer.dst, outer.table) && t.kind.key() == key
        };
        self.tunnels::<K>().iter().find(same).map(|t| t.interface).ok_or(Error::Unknown)
    }
    /// Makes a tunnel: the one of this instance, or of the first that is free.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn add_tunnel<K: Kind>(
        &mut self,
        instance: Option<u32>,
        outer: Outer,
        kind: K,
    ) -> Result<InterfaceIndex, Error> {
        check(&outer)?;
        if let Some(over) = outer.group_over {
            self.interfaces.at(over).ok_or(Error::NoGroupInterface(outer.dst))?;
        }
        let tunnels = self.own::<Tunnels<K>>();
        let tuple = tunnels.tuple(&outer, &kind);
        if self.own::<Common>().ends.at(&tuple.received()).is_some() {
            return Err(Error::Exists);
        }
        let is_multipoint = outer.is_multipoint() && kind.guard().is_none();
        if is_multipoint && self.find_tunnel(&outer, &kind).is_ok() {
            return Err(Error::Exists);
        }
        let instance = tunnels.instance(instance)?;
        let input = K::INPUT[usize::from(outer.link() == Link::Ip6)];
        if kind.next().is_some_and(|slot| self.engine.end_of(input, slot).is_none()) {
            return Err(Error::NoNext);
        }
        let node = K::INPUT[IpVersion::from(outer.src) as usize];
        self.use_carrier(outer.src, kind.carrier(), node).map_err(Error::Taken)?;
        self.use_table_of(outer.link(), outer.table, true);
        let interface = self.add_tunnel_interface(instance, &outer, &kind);
        let interface = interface.inspect_err(|_| {
            self.leave_carrier(outer.src, kind.carrier(), node);
            self.use_table_of(outer.link(), outer.table, false);
        })?;
        let copies_ecn = outer.flags.contains(EncapDecapFlags::DECAP_COPY_ECN);
        let local = Tuple::bits(outer.src);
        let mpls = self.engine.index_of(MPLS).and_then(|_| self.engine.connect(input, MPLS).ok());
        let (next, carried) = (kind.next(), kind.carries());
        let guard = kind.guard();
        let is_sealed = false;
        let end = End { interface, copies_ecn, next, carried, mpls, guard, local, is_sealed };
        let common = self.own_mut::<Common>();
        common.interfaces.insert(interface, outer);
        match is_multipoint {
            true => drop(common.multipoint.insert(interface, (tuple, end))),
            false => {
                common.received.insert(interface, tuple.received());
                common.ends.put(tuple.received(), Some(end));
            }
        }
        self.listen_to_group(&outer, true);
        self.follow_far_end(interface, &outer, &kind);
        if kind.mac(instance).is_none() {
            self.encapsulate_packets(interface, outer, kind.clone());
        }
        let tunnels = self.own_mut::<Tunnels<K>>();
        tunnels.by_interface.insert(interface, instance);
        tunnels.by_instance.insert(instance, Tunnel { instance, interface, outer, kind });
        self.start_interface(interface, K::STARTS_UP, outer.group_over.is_some());
        Ok(interface)
    }
    /// Makes a tunnel, or deletes the one between these addresses with this key.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn add_or_remove_tunnel<K: Kind>(
        &mut self,
        is_add: bool,
        instance: Option<u32>,
        outer: Outer,
        kind: K,
    ) -> Result<InterfaceIndex, Error> {
        if is_add {
            return self.add_tunnel(instance, outer, kind);
        }
        let interface = self.find_tunnel(&outer, &kind)?;
        self.remove_tunnel::<K>(interface).map(|()| interface)
    }
    /// Changes what a kind has of a tunnel besides: its key stays.
    ///
    /// # Errors
    /// [`Error::NoInterface`].
    pub fn change_tunnel<K: Kind>(
        &mut self,
        interface: InterfaceIndex,
        kind: K,
    ) -> Result<(), Error> {
        let tunnels = self.own_mut::<Tunnels<K>>();
        let instance = *tunnels.by_interface.get(&interface).ok_or(Error::NoInterface)?;
        let tunnel = tunnels.by_instance.get_mut(&instance).ok_or(Error::NoInterface)?;
        let outer = tunnel.outer;
        tunnel.kind = kind.clone();
        let common = self.own_mut::<Common>();
        if let Some(old) = common.sending.at(interface.0).cloned()
            && let Some(behind) = kind.behind(Link::Ethernet)
        {
            let new = outer.chain(outer.dst, K::HOP_LIMITS, Link::Ethernet, &behind);
            let hop = Hop { header: new.header, fixup: new.fixup, ..old.hop };
            common.sending.put(interface.0, Some(Sending { hop, ..old }));
        }
        if kind.mac(instance).is_none() {
            self.encapsulate_packets(interface, outer, kind);
        }
        Ok(())
    }
    fn encapsulate_packets<K: Kind>(&mut self, on: InterfaceIndex, outer: Outer, kind: K) {
        let peers = self.own::<Peers>().clone();
        self.encapsulate(on, Rc::new(Packets { interface: on, outer, kind, peers }));
    }
    /// Passes frames of a tunnel through a node between the tunnel's headers and the route to the
    /// remote address: there they have this number in place of an adjacency's. `None`: no such
    /// node. Returns whether it is a point-to-point tunnel for frames.
    pub fn lead_frames(&mut self, interface: InterfaceIndex, to: Option<(&str, u32)>) -> bool {
        let sending = self.own::<Common>().sending.at(interface.0);
        let Some(old) = sending.filter(|s| s.group.is_none()).cloned() else { return false };
        let edge = |(node, mark)| Some((self.engine.connect(old.node, node).ok()?, mark));
        let led = to.and_then(edge);
        let new = Sending { led, ..old };
        self.own_mut::<Common>().sending.put(interface.0, Some(new));
        to.is_none() || led.is_some()
    }
    /// Deletes a tunnel with its interface.
    ///
    /// # Errors
    /// [`Error::NoInterface`].
    pub fn remove_tunnel<K: Kind>(&mut self, interface: InterfaceIndex) -> Result<(), Error> {
        let tunnels = self.own_mut::<Tunnels<K>>();
        let instance = tunnels.by_interface.remove(&interface).ok_or(Error::NoInterface)?;
        let gone = tunnels.by_instance.remove(&instance).ok_or(Error::NoInterface)?;
        let tuple = tunnels.tuple(&gone.outer, &gone.kind).received();
        self.listen_to_group(&gone.outer, false);
        self.forget_peers(interface);
        let common = self.own_mut::<Common>();
        common.interfaces.remove(&interface);
        common.multipoint.remove(&interface);
        common.received.remove(&interface);
        if common.ends.at(&tuple).is_some_and(|end| end.interface == interface) {
            common.ends.put(tuple, None);
        }
        common.sending.put(interface.0, None);
        let followed = common.followed.remove(&interface);
        let src = gone.outer.src;
        self.leave_carrier(src, gone.kind.carrier(), K::INPUT[IpVersion::from(src) as usize]);
        self.remove_interface(interface);
        match followed {
            Some(To::Route(route)) => self.unfollow(route),
            Some(To::Multicast(adjacency)) => self.release_adjacency(adjacency),
            None => (),
        }
        self.use_table_of(gone.outer.link(), gone.outer.table, false);
        Ok(())
    }
    /// Says that a far end of a tunnel with several became known, or is known no longer.
    pub(crate) fn change_far_end(&mut self, on: InterfaceIndex, far: IpAddr, is_known: bool) {
        let common = self.own_mut::<Common>();
        let Some((tuple, end)) = common.multipoint.get(&on).copied() else { return };
        let tuple = Tuple { remote: Tuple::bits(far), ..tuple };
        let owner = common.ends.at(&tuple).map(|end| end.interface);
        if owner.is_none_or(|owner| owner == on) {
            common.ends.put(tuple, is_known.then_some(end));
        }
    }
    /// Ends for packets from far ends of a kind, in no order.
    pub fn tunnel_ends<K: Kind>(&self) -> impl Iterator<Item = (&Tuple, &End)> {
        let number = self.own::<Tunnels<K>>().number;
        self.own::<Common>().ends.iter().filter(move |(tuple, _)| tuple.kind / 2 == number)
    }
    fn add_tunnel_interface<K: Kind>(
        &mut self,
        instance: u32,
        outer: &Outer,
        kind: &K,
    ) -> Result<InterfaceIndex, Error> {
        let mac = kind.mac(instance);
        let new = NewInterface {
            name: format!("{}{instance}", kind.prefix()),
            kind: if mac.is_some() { Carries::Ethernet } else { Carries::Ip },
            hardware: K::HARDWARE,
            mac: mac.unwrap_or(MacAddr::ZERO),
            mtu: kind.mtu(),
            offloads: offloads(false),
            link_follows_admin: true,
        };
        let output = kind.output(outer.link());
        let tx = format!("{}-tx", new.name);
        let made = self.add_interface(new, ToOutput { has_output: output.is_some() });
        let interface = made.map_err(Error::Interface)?;
        let is_group = outer.dst.is_multicast();
        let flooding = if is_group { Flooding::Master } else { Flooding::WithoutMaster };
        self.set_flooding(interface, flooding);
        if let Some(output) = output {
            match self.engine.connect(&tx, output) {
                Ok(slot) => assert_eq!(slot, ToOutput::OUTPUT, "the first edge that is connected"),
                Err(e) => {
                    self.remove_interface(interface);
                    return Err(Error::Interface(interface::Error::Graph(e)));
                }
            }
        }
        Ok(interface)
    }
    /// Makes frames for an interface follow the route to the remote address, or go to the group
    /// there.
    fn follow_far_end<K: Kind>(&mut self, interface: InterfaceIndex, outer: &Outer, kind: &K) {
        let Some(output) = kind.output(outer.link()) else { return };
        let Some(behind) = kind.behind(Link::Ethernet) else { return };
        let chain = outer.chain(outer.dst, K::HOP_LIMITS, Link::Ethernet, &behind);
        let over = outer.group_over.filter(|_| outer.dst.is_multicast());
        let (followed, stacked, group) = if let Some(over) = over {
            let nobody = outer.link().unspecified();
            let Ok(group) = self.use_adjacency(over, Role::Multicast, nobody) else { return };
            (To::Multicast(group), 0, Some(group))
        } else {
            let Ok(route) = self.follow(outer.link(), outer.table, outer.dst, None) else { return };
            let stacked = route.load_balance();
            (To::Route(route), stacked, None)
        };
        let Chain { header, fixup, carries_offloads, .. } = chain;
        let ip = header.len() - behind.bytes.len();
        let sequence = behind.sequence.map(|at| (ip + usize::from(at), Arc::<Sequence>::default()));
        let edge = |router: &mut Self, to| router.engine.connect(output, to).unwrap_or(Slot(0));
        let rewrite = edge(self, outer.link().rewrite_node());
        let balance = edge(self, outer.link().load_balance_node());
        let again = edge(self, output);
        let fib = outer.table.0;
        let hop = Hop { header, fixup, carries_offloads, stacked, fib, rewrite, balance };
        if let To::Route(route) = &followed {
            self.carry(interface, route);
        }
        let common = self.own_mut::<Common>();
        common.sending.put(
            interface.0,
            Some(Sending { hop, group, led: None, sequence, again, node: output }),
        );
        common.followed.insert(interface, followed);
    }
}
