//! Making and deleting tunnels.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use graph::{BuildError, Slot};
use infra::rcu::SharedSlab;
use infra::sequence::Sequence;
use wire::MacAddr;

use super::output::{Sending, ToOutput};
use super::{
    Carrier, Decapsulate, EncapDecapFlags, Encapsulate, End, Ends, Error, Front, Input, Kind,
    Outer, Output, Tunnel, Tuple,
};
use crate::adjacency::chain::{Chain, Encapsulation, Hop};
use crate::adjacency::{AdjacencyIndex, Link, Role};
use crate::fib::{Followed, Ip4, Ip6, Path, Source, TableIndex, Target};
use crate::interface::{
    self, Flooding, InterfaceIndex, Kind as Carries, MAX_INTERFACES, NewInterface, Offloads,
};
use crate::ip::midchain::Stacked;
use crate::ip::{V4, V6};
use crate::mfib::{ItfFlags, MPath, MPrefix};
use crate::router::Router;
use crate::teib::Peers;

/// MTU of a new tunnel.
const MTU: u32 = 9000;

/// Node that takes labelled packets.
const MPLS: &str = "mpls-input";

/// The tunnels of a kind.
pub struct Tunnels<K> {
    /// Twice this, and one more over IPv6, is the kind in tuples.
    number: u8,
    by_instance: BTreeMap<u32, Tunnel<K>>,
    by_interface: HashMap<InterfaceIndex, u32>,
}

/// What all kinds share.
pub(super) struct Common {
    ends: Ends,
    /// Kinds there are.
    kinds: u8,
    /// What frames get in front, by interface.
    sending: SharedSlab<Sending>,
    /// Path lists that frames follow, by interface.
    followed: HashMap<InterfaceIndex, To>,
    /// How many tunnels need packets of a carrier.
    carriers: HashMap<(Link, Carrier), u32>,
    /// Tunnels with several far ends: what stands for one of them.
    multipoint: HashMap<InterfaceIndex, (Tuple, End)>,
    /// How many tunnels listen to a group on an interface.
    groups: HashMap<(TableIndex, IpAddr, InterfaceIndex), u32>,
}

/// What is given up with a tunnel for frames.
enum To {
    Route(Followed),
    Group(AdjacencyIndex),
}

impl Common {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            ends: Ends::new(),
            kinds: 0,
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
        Some(outer.chain(dst, K::HOP_LIMIT, link, &behind))
    }
}

impl<K: Kind> Tunnels<K> {
    /// All, by instance.
    pub fn iter(&self) -> impl Iterator<Item = &Tunnel<K>> {
        self.by_instance.values()
    }
    /// That of an interface.
    pub fn at(&self, interface: InterfaceIndex) -> Option<&Tunnel<K>> {
        self.by_instance.get(self.by_interface.get(&interface)?)
    }
    /// That of an interface, or all for the number that no interface has.
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
        let id = match outer.src {
            IpAddr::V4(_) => self.fib.table_id::<Ip4>(outer.table),
            IpAddr::V6(_) => self.fib.table_id::<Ip6>(outer.table),
        };
        id.unwrap_or_default()
    }
    /// Makes a kind of tunnel known, with its input nodes.
    ///
    /// # Errors
    /// Names of nodes that are in use.
    pub fn add_tunnel_kind<K: Decapsulate>(&mut self) -> Result<(), BuildError> {
        let common = self.own_mut::<Common>();
        let number = common.kinds;
        common.kinds += 1;
        let (by_instance, by_interface) = Default::default();
        self.insert(Tunnels::<K> { number, by_instance, by_interface });
        let (over4, over6) = (self.tunnel_input::<K, false>(), self.tunnel_input::<K, true>());
        self.engine.add(over4)?;
        self.engine.add(over6)?;
        Ok(())
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
            let output = Output::<K>::new(sending, self.interfaces.ports(), Stacked::new(self));
            self.engine.add_named(name, output)?;
        }
        Ok(())
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
        self.use_carrier::<K>(outer.link(), kind.carrier())?;
        let interface = self.add_tunnel_interface(instance, &outer, &kind);
        let interface = interface.inspect_err(|_| {
            self.leave_carrier(outer.link(), kind.carrier());
        })?;
        let copies_ecn = outer.flags.contains(EncapDecapFlags::DECAP_COPY_ECN);
        let local = Tuple::bits(outer.src);
        let mpls = self.engine.index_of(MPLS).and_then(|_| self.engine.connect(input, MPLS).ok());
        let (next, carried) = (kind.next(), kind.carries());
        let guard = kind.guard();
        let end = End { interface, copies_ecn, next, carried, mpls, guard, local };
        let common = self.own_mut::<Common>();
        match is_multipoint {
            true => drop(common.multipoint.insert(interface, (tuple, end))),
            false => common.ends.put(tuple.received(), Some(end)),
        }
        self.listen_to_group(&outer, true);
        self.follow_far_end(interface, &outer, &kind);
        if kind.mac(instance).is_none() {
            self.encapsulate_packets(interface, outer, kind.clone());
        }
        let tunnels = self.own_mut::<Tunnels<K>>();
        tunnels.by_interface.insert(interface, instance);
        tunnels.by_instance.insert(instance, Tunnel { instance, interface, outer, kind });
        self.set_admin(interface, K::STARTS_UP);
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
            let new = outer.chain(outer.dst, K::HOP_LIMIT, Link::Ethernet, &behind);
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
        common.multipoint.remove(&interface);
        if common.ends.at(&tuple).is_some_and(|end| end.interface == interface) {
            common.ends.put(tuple, None);
        }
        common.sending.put(interface.0, None);
        let followed = common.followed.remove(&interface);
        self.leave_carrier(gone.outer.link(), gone.kind.carrier());
        self.remove_interface(interface);
        match followed {
            Some(To::Route(route)) => self.unfollow(route),
            Some(To::Group(adjacency)) => self.release_adjacency(adjacency),
            None => (),
        }
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
    /// Where packets from far ends of a kind belong, in no order.
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
            name: format!("{}{instance}", K::PREFIX),
            kind: if mac.is_some() { Carries::Ethernet } else { Carries::Ip },
            hardware: K::HARDWARE,
            mac: mac.unwrap_or(MacAddr::ZERO),
            mtu: MTU,
            offloads: Offloads::default(),
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
    /// Has frames for an interface follow the route to the far end, or go to the group there.
    fn follow_far_end<K: Kind>(&mut self, interface: InterfaceIndex, outer: &Outer, kind: &K) {
        let Some(output) = kind.output(outer.link()) else { return };
        let Some(behind) = kind.behind(Link::Ethernet) else { return };
        let chain = outer.chain(outer.dst, K::HOP_LIMIT, Link::Ethernet, &behind);
        let over = outer.group_over.filter(|_| outer.dst.is_multicast());
        let (followed, stacked, group) = if let Some(over) = over {
            let nobody = outer.link().unspecified();
            let Ok(group) = self.use_adjacency(over, Role::Multicast, nobody) else { return };
            (To::Group(group), 0, Some(group))
        } else {
            let Ok(route) = self.follow(outer.link(), outer.table, outer.dst, None) else { return };
            let stacked = route.load_balance();
            (To::Route(route), stacked, None)
        };
        let Chain { header, fixup, .. } = chain;
        let ip = header.len() - behind.bytes.len();
        let sequence = behind.sequence.map(|at| (ip + usize::from(at), Arc::<Sequence>::default()));
        let edge = |router: &mut Self, to| router.engine.connect(output, to).unwrap_or(Slot(0));
        let rewrite = edge(self, outer.link().rewrite_node());
        let balance = edge(self, outer.link().load_balance_node());
        let hop = Hop { header, fixup, stacked, fib: outer.table.0, rewrite, balance };
        let common = self.own_mut::<Common>();
        common.sending.put(interface.0, Some(Sending { hop, group, sequence }));
        common.followed.insert(interface, followed);
    }
    /// Has packets to the group of a tunnel received, or no longer by it.
    fn listen_to_group(&mut self, outer: &Outer, is_on: bool) {
        let Some(over) = outer.group_over.filter(|_| outer.dst.is_multicast()) else { return };
        let groups = &mut self.own_mut::<Common>().groups;
        let users = groups.entry((outer.table, outer.dst, over)).or_default();
        let was_on = *users > 0;
        *users = if is_on { *users + 1 } else { users.saturating_sub(1) };
        if was_on == (*users > 0) {
            return;
        }
        let len = if outer.dst.is_ipv4() { 32 } else { 128 };
        let prefix = MPrefix { group: outer.dst, len, source: None };
        let path = |target, flags| MPath { path: Path::to(target), flags };
        let own = outer.link().unspecified();
        let accept = path(Target::Attached { interface: over, own }, ItfFlags::ACCEPT);
        let receive = Target::Receive { interface: None, addr: None };
        let receive = path(receive, ItfFlags::FORWARD);
        if is_on {
            let both = [accept, receive];
            let _ = self.add_mroute_paths(outer.table, prefix, Source::SPECIAL, &both);
            return;
        }
        let key = |(table, group, _): &(TableIndex, IpAddr, InterfaceIndex)| (*table, *group);
        let groups = &mut self.own_mut::<Common>().groups;
        groups.retain(|_, users| *users > 0);
        let is_left = groups.keys().any(|group| key(group) == (outer.table, outer.dst));
        let gone = if is_left { vec![accept] } else { vec![accept, receive] };
        let _ = self.remove_mroute(outer.table, prefix, Source::SPECIAL, &gone);
    }
    /// Has packets of a carrier come to the input node of a kind.
    fn use_carrier<K: Kind>(&mut self, link: Link, carrier: Carrier) -> Result<(), Error> {
        let users = self.own_mut::<Common>().carriers.entry((link, carrier)).or_default();
        *users += 1;
        if *users > 1 {
            return Ok(());
        }
        let done = self.lead_carrier(link, carrier, Some(K::INPUT[usize::from(link == Link::Ip6)]));
        done.map_err(Error::Taken).inspect_err(|_| {
            self.own_mut::<Common>().carriers.remove(&(link, carrier));
        })
    }
    fn leave_carrier(&mut self, link: Link, carrier: Carrier) {
        let carriers = &mut self.own_mut::<Common>().carriers;
        let Some(users) = carriers.get_mut(&(link, carrier)) else { return };
        *users -= 1;
        if *users == 0 {
            carriers.remove(&(link, carrier));
            let done = self.lead_carrier(link, carrier, None);
            done.expect("what was taken can be given up");
        }
    }
    fn lead_carrier(
        &mut self,
        link: Link,
        carrier: Carrier,
        to: Option<&str>,
    ) -> Result<(), crate::ip::Error> {
        match (carrier, link == Link::Ip6) {
            (Carrier::Protocols(all), false) => {
                all.iter().try_for_each(|p| self.redispatch_protocol::<V4>(*p, to))
            }
            (Carrier::Protocols(all), true) => {
                all.iter().try_for_each(|p| self.redispatch_protocol::<V6>(*p, to))
            }
            (Carrier::Port(port), false) => self.lead_tunnel_port::<V4>(port, to),
            (Carrier::Port(port), true) => self.lead_tunnel_port::<V6>(port, to),
        }
    }
}
