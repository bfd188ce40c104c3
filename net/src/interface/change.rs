//! Making, changing and deleting interfaces.

use std::collections::BTreeSet;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use graph::arc::FeatureArc;
use graph::{BuildError, Engine, NoAnswer, Node, NodeIndex};
use wire::MacAddr;

use super::output::INTERFACE_OUTPUT;
use super::{
    Change, Error, Flooding, Interface, InterfaceIndex, InterfaceOutput, Interfaces, Kind, Mtu,
    NewInterface, Offloads, Start, TagRewrite, Values, counters,
};
use crate::gso;
use crate::router::Router;

/// Letters of a tag at most.
const MAX_TAG: usize = 63;
/// Bytes of a frame at most.
const MAX_LINK_MTU: u32 = 65_535;

/// A name is one word of ASCII: clients refuse to read others.
fn check_name(name: &str) -> Result<(), Error> {
    let is_letter = |b: u8| b.is_ascii_graphic() && b != b'{' && b != b'}';
    if name.is_empty() || name.len() > MAX_TAG || !name.bytes().all(is_letter) {
        return Err(Error::Invalid("not a name for an interface"));
    }
    Ok(())
}

impl Router {
    /// Makes an interface, down, with the driver's transmit node `tx` as `<name>-tx`.
    ///
    /// # Errors
    /// A name that is in use or none; too many. Nothing is made then.
    pub fn add_interface(
        &mut self,
        new: NewInterface,
        tx: impl Node,
    ) -> Result<InterfaceIndex, Error> {
        self.add_interface_by(new, |engine, name| engine.add_named(name, tx))
    }
    /// The same with a transmit node that `add` adds under its name.
    ///
    /// # Errors
    /// As of [`Router::add_interface`], and those of `add`.
    pub fn add_interface_by(
        &mut self,
        new: NewInterface,
        add: impl FnOnce(&mut Engine, &str) -> Result<NodeIndex, BuildError>,
    ) -> Result<InterfaceIndex, Error> {
        check_name(&new.name)?;
        if self.interfaces.named(&new.name).is_some() {
            return Err(Error::NameInUse(new.name));
        }
        let (index, port) = self.interfaces.reserve(new.mac, None)?;
        let made = Arc::new(new.clone());
        let nodes = self.begin_counting(index, &new.name).and_then(|()| {
            let nodes = self.add_interface_nodes(&new, index, add).map_err(Error::Graph);
            nodes.inspect_err(|_| counters::hide(&mut self.stats, index.0 as usize, &new.name))
        });
        let (output, tx) = nodes.inspect_err(|_| self.interfaces.release(index))?;
        self.publish_counters();
        self.interfaces.put(Interface {
            index,
            name: new.name,
            made,
            sup: index,
            sub: None,
            subs: BTreeSet::new(),
            kind: new.kind,
            hardware: new.hardware,
            tag: String::new(),
            link_speed: 0,
            speeds: &[],
            numa_node: None,
            link_mtu: new.mtu,
            mac: new.mac,
            own_mac: None,
            admin_up: false,
            link_up: false,
            is_device_gone: false,
            mtu: Mtu { l3: new.mtu, ip4: 0, ip6: 0, mpls: 0 },
            offloads: new.offloads,
            asks_segments: false,
            flooding: Flooding::default(),
            tag_rewrite: TagRewrite::default(),
            far_end: None,
            lent: Vec::new(),
            has_learned_mtu: false,
            start: Start::default(),
            link_follows_admin: new.link_follows_admin,
            output,
            tx,
            queues: Vec::new(),
            port,
        });
        self.interfaces.change_port(index, |p| p.output = Some(output.0));
        self.interfaces.set_offloads(index, new.offloads);
        self.tell(index, Change::Added);
        Ok(index)
    }
    /// Sets how a new interface starts, and applies it: whether up, and whether created late.
    pub fn start_interface(&mut self, index: InterfaceIndex, is_up: bool, is_late: bool) {
        let Some(i) = self.interfaces.at_mut(index) else { return };
        i.start = Start { is_up, is_late, ..i.start };
        if is_up {
            self.set_admin(index, true);
        }
    }
    /// Starts up a new interface on which its creator enabled IP in these tables.
    pub(crate) fn start_with_tables(&mut self, index: InterfaceIndex, tables: [Option<u16>; 2]) {
        let Some(i) = self.interfaces.at_mut(index) else { return };
        i.start.tables = tables;
        let is_late = i.start.is_late;
        self.start_interface(index, true, is_late);
    }
    /// Sets whether big packets are segmented before an interface sends them.
    pub fn set_segments(&mut self, index: InterfaceIndex, is_asked: bool) {
        let Some(i) = self.interfaces.at_mut(index) else { return };
        i.asks_segments = is_asked;
        self.tell(index, Change::Segments);
    }
    fn add_interface_nodes(
        &mut self,
        new: &NewInterface,
        index: InterfaceIndex,
        add: impl FnOnce(&mut Engine, &str) -> Result<NodeIndex, BuildError>,
    ) -> Result<(NodeIndex, NodeIndex), BuildError> {
        let tx_name = format!("{}-tx", new.name);
        let output_name = format!("{}-output", new.name);
        let tx = add(&mut self.engine, &tx_name)?;
        let output = InterfaceOutput::new(index, &self.interfaces);
        let output = self.engine.add_named(&output_name, output);
        let output = output.inspect_err(|_| self.engine.remove(tx))?;
        let slot = self.engine.connect(&output_name, &tx_name)?;
        assert_eq!(slot, InterfaceOutput::TX, "the first edge that is connected");
        self.engine.starts(output, &INTERFACE_OUTPUT)?;
        let edge = self.engine.connect(INTERFACE_OUTPUT.end, &tx_name)?;
        self.interfaces.set_edge(index, Some(edge));
        Ok((output, tx))
    }
    /// Deletes an interface: its sub-interfaces and what refers to it go first, then its nodes.
    /// Packets on their way to it are dropped and counted.
    pub fn remove_interface(&mut self, index: InterfaceIndex) {
        let Some(i) = self.interfaces.at(index) else { return };
        for sub in i.subs.clone() {
            self.remove_interface(sub);
        }
        self.tell(index, Change::Deleting);
        let Some(gone) = self.interfaces.take(index) else { return };
        self.engine.forget_interface(index.0);
        if gone.is_sub() {
            self.forget_sub(&gone);
        } else {
            self.engine.remove(gone.output);
            self.engine.remove(gone.tx);
        }
        self.interfaces.release(index);
        counters::hide(&mut self.stats, index.0 as usize, &gone.name);
        self.publish_counters();
        self.note_deleted();
    }
    /// Lets clients see the counters of a new interface, which start at zero.
    pub(super) fn begin_counting(
        &mut self,
        index: InterfaceIndex,
        name: &str,
    ) -> Result<(), Error> {
        counters::publish(&mut self.stats, index.0 as usize, name).map_err(Error::Statistics)?;
        if self.interfaces.values(index) != Values::default() {
            // They were another's. A thread that does not answer keeps their values.
            let at = index.0 as usize;
            let _ = self.zero_interface_counters(at..at + 1);
        }
        Ok(())
    }
    /// Sets the counters of one interface or all to zero.
    ///
    /// # Errors
    /// When a thread does not answer.
    pub fn clear_interface_counters(
        &mut self,
        only: Option<InterfaceIndex>,
    ) -> Result<(), NoAnswer> {
        let all = 0..self.interfaces.end();
        self.stats.note_clear();
        let only = only.map(|i| i.0 as usize);
        self.zero_interface_counters(only.map_or(all, |at| at..at + 1))
    }
    fn zero_interface_counters(&mut self, range: Range<usize>) -> Result<(), NoAnswer> {
        let counters = self.interfaces.counters();
        self.engine.on_threads(move |thread| counters.zero(thread, range.clone()))
    }
    /// Switches a feature of an arc on or off for all interfaces, those to come as well.
    ///
    /// # Panics
    /// For a feature that is not on the arc.
    pub fn set_feature_everywhere(
        &mut self,
        arc: &'static FeatureArc,
        feature: &'static str,
        on: bool,
    ) {
        self.interfaces.everywhere.retain(|(at, node)| !ptr::eq(*at, arc) || *node != feature);
        if on {
            self.interfaces.everywhere.push((arc, feature));
        }
        let all: Vec<_> = self.interfaces.iter().map(|i| i.index).collect();
        for InterfaceIndex(index) in all {
            let done = self.engine.set_feature(arc, feature, index, on);
            done.unwrap_or_else(|e| panic!("features are placed when they register: {e}"));
        }
    }
    /// Switches an interface on or off.
    pub fn set_admin(&mut self, index: InterfaceIndex, up: bool) {
        let Some(i) = self.interfaces.at_mut(index) else { return };
        let before = (i.admin_up, i.link_up);
        i.admin_up = up;
        if i.link_follows_admin {
            i.link_up = up;
        }
        let is_changed = before != (i.admin_up, i.link_up);
        self.interfaces.change_port(index, |p| p.punts = false);
        if is_changed {
            self.publish_state(index);
        }
    }
    /// Switches an interface on so that all frames it brings in are punted, until it is switched on
    /// or off again.
    pub fn set_punting(&mut self, index: InterfaceIndex) {
        self.set_admin(index, true);
        self.interfaces.change_port(index, |p| p.punts = true);
    }
    /// Says whether an interface, not yet in a bridge domain, gets copies of what is flooded there.
    pub fn set_flooding(&mut self, index: InterfaceIndex, flooding: Flooding) {
        if let Some(i) = self.interfaces.at_mut(index) {
            i.flooding = flooding;
        }
    }
    /// Reports that the link of an interface is up or down.
    pub fn set_link(&mut self, index: InterfaceIndex, up: bool) {
        let Some(i) = self.interfaces.at_mut(index) else { return };
        i.is_device_gone = false;
        if i.link_up != up {
            i.link_up = up;
            self.publish_state(index);
        }
    }
    /// Marks the device of an interface as missing: it has no link until it is back.
    pub fn lose_device(&mut self, index: InterfaceIndex) {
        self.set_link(index, false);
        self.interfaces.at_mut(index).into_iter().for_each(|i| i.is_device_gone = true);
    }
    /// Tells the state of an interface although it has not changed: of some kinds clients wait for
    /// it when one was made.
    pub fn announce_state(&mut self, index: InterfaceIndex) {
        self.tell(index, Change::State);
    }
    /// A sub-interface is up while its parent is, too, and has its link.
    fn publish_state(&mut self, index: InterfaceIndex) {
        let Some(i) = self.interfaces.at(index) else { return };
        let (mut up, subs) = (i.admin_up, i.subs.clone());
        if let Some(sup) = self.interfaces.at(i.sup).filter(|s| s.index != index) {
            let link = sup.link_up;
            up &= sup.admin_up;
            if let Some(i) = self.interfaces.at_mut(index) {
                i.link_up = link;
            }
        }
        self.interfaces.change_port(index, |p| p.up = up);
        self.tell(index, Change::State);
        subs.into_iter().for_each(|sub| self.publish_state(sub));
    }
    /// Gives an interface another address, and its sub-interfaces with it.
    pub fn set_mac(&mut self, index: InterfaceIndex, mac: MacAddr) {
        let Some(i) = self.interfaces.at_mut(index) else { return };
        (i.mac, i.own_mac) = (mac, None);
        let subs = i.subs.clone();
        self.interfaces.change_port(index, |p| p.mac = mac);
        self.refresh_adjacencies(index);
        self.tell(index, Change::Mac);
        subs.into_iter().for_each(|sub| self.set_mac(sub, mac));
    }
    /// Gives an interface the address of another one, which is no part of the configuration; with
    /// `None` its own again.
    pub fn give_mac(&mut self, index: InterfaceIndex, mac: Option<MacAddr>) {
        let Some(i) = self.interfaces.at_mut(index) else { return };
        let own = i.own_mac.unwrap_or(i.mac);
        let new = mac.unwrap_or(own);
        if i.mac != new {
            self.set_mac(index, new);
        }
        if let Some(i) = self.interfaces.at_mut(index) {
            i.own_mac = mac.map(|_| own);
        }
    }
    /// Adds or deletes a secondary MAC address of an interface. True if that is a change.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::Unfit`], [`Error::Invalid`] for a group's address.
    pub fn set_secondary_mac(
        &mut self,
        index: InterfaceIndex,
        mac: MacAddr,
        on: bool,
    ) -> Result<bool, Error> {
        if mac.is_multicast() || mac == MacAddr::ZERO {
            return Err(Error::Invalid("no address of one interface"));
        }
        self.change_secondary(index, mac, on)
    }
    /// As [`Router::set_secondary_mac`], also for the address of a group.
    fn change_secondary(
        &mut self,
        index: InterfaceIndex,
        mac: MacAddr,
        on: bool,
    ) -> Result<bool, Error> {
        let i = self.interfaces.at(index).ok_or(Error::Unknown)?;
        if i.kind != Kind::Ethernet || i.is_sub() {
            return Err(Error::Unfit);
        }
        let had = i.port.secondary.contains(&mac);
        let rest = i.port.secondary.iter().copied().filter(|m| *m != mac);
        let after = rest.chain(on.then_some(mac)).collect();
        self.interfaces.change_port(index, |p| p.secondary = after);
        Ok(had != on)
    }
    /// Makes an interface accept frames to an address that a feature lends it, or stop: also that
    /// of a group. An address set by the operator stays.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::Unfit`].
    pub fn lend_mac(&mut self, index: InterfaceIndex, mac: MacAddr, on: bool) -> Result<(), Error> {
        let had = self.interfaces.at(index).ok_or(Error::Unknown)?.lent.contains(&mac);
        if on == had {
            return Ok(());
        }
        let is_new = self.change_secondary(index, mac, on)?;
        if let Some(i) = self.interfaces.at_mut(index) {
            i.lent.retain(|lent| *lent != mac);
            i.lent.extend(Some(mac).filter(|_| on && is_new));
        }
        Ok(())
    }
    /// Changes the MTUs of an interface.
    pub fn set_mtu(&mut self, index: InterfaceIndex, mtu: Mtu) {
        let Some(i) = self.interfaces.at_mut(index) else { return };
        i.has_learned_mtu &= i.mtu.ip4 == mtu.ip4;
        i.mtu = mtu;
        self.follow_mtu(index);
    }
    pub(super) fn follow_mtu(&mut self, index: InterfaceIndex) {
        let subs = self.interfaces.at(index).map(|i| i.subs.clone()).unwrap_or_default();
        self.refresh_adjacencies(index);
        self.tell(index, Change::Mtu);
        subs.into_iter().for_each(|sub| self.follow_mtu(sub));
    }
    /// Changes how much the device carries, and with it the MTU of layer 3.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::Unfit`] for a sub-interface, [`Error::Invalid`] size.
    pub fn set_link_mtu(&mut self, index: InterfaceIndex, bytes: u32) -> Result<(), Error> {
        let i = self.interfaces.at_mut(index).ok_or(Error::Unknown)?;
        if i.is_sub() || i.kind == Kind::Local {
            return Err(Error::Unfit);
        }
        if !(64..=MAX_LINK_MTU).contains(&bytes) {
            return Err(Error::Invalid("an MTU of a device is 64 to 65535 bytes"));
        }
        i.link_mtu = bytes;
        let mtu = Mtu { l3: bytes, ..i.mtu };
        self.set_mtu(index, mtu);
        Ok(())
    }
    /// Follows a host device's new MTU of `bytes`. So does layer 3, unless a smaller one is set.
    pub fn follow_device_mtu(&mut self, index: InterfaceIndex, bytes: u32) {
        let Some(i) = self.interfaces.at_mut(index) else { return };
        let bytes = bytes.min(MAX_LINK_MTU);
        let is_less = i.mtu.l3 < i.link_mtu && i.mtu.l3 < bytes;
        let l3 = if is_less { i.mtu.l3 } else { bytes };
        i.link_mtu = bytes;
        Arc::make_mut(&mut i.made).mtu = bytes;
        let mtu = Mtu { l3, ..i.mtu };
        self.set_mtu(index, mtu);
    }
    /// Notes what the operator calls an interface; empty for nothing.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::Invalid`] length.
    pub fn set_tag(&mut self, index: InterfaceIndex, tag: &str) -> Result<(), Error> {
        let i = self.interfaces.at_mut(index).ok_or(Error::Unknown)?;
        if tag.len() > MAX_TAG {
            return Err(Error::Invalid("a tag has 63 letters at most"));
        }
        if !control::cli::is_printable(tag) {
            return Err(Error::Invalid("a tag is a line of text without braces and $"));
        }
        tag.clone_into(&mut i.tag);
        Ok(())
    }
    /// Gives an interface another name, and its nodes and sub-interfaces with it.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::NameInUse`], [`Error::Invalid`] name.
    pub fn rename_interface(&mut self, index: InterfaceIndex, name: &str) -> Result<(), Error> {
        let i = self.interfaces.at(index).ok_or(Error::Unknown)?;
        check_name(name)?;
        let (output, tx, subs, is_sub) = (i.output, i.tx, i.subs.clone(), i.is_sub());
        let new_subs: Vec<_> = subs.iter().filter_map(|s| self.renamed_sub(*s, name)).collect();
        let taken = |name: &str| self.interfaces.named(name).is_some();
        if let Some(taken) =
            std::iter::once(name).chain(new_subs.iter().map(|s| s.1.as_str())).find(|n| taken(n))
        {
            return Err(Error::NameInUse(taken.to_owned()));
        }
        if !is_sub {
            self.engine.rename(tx, &format!("{name}-tx"))?;
            self.engine.rename(output, &format!("{name}-output"))?;
        }
        for (index, name) in [(index, name.to_owned())].into_iter().chain(new_subs) {
            counters::rename(
                &mut self.stats,
                index.0 as usize,
                self.interfaces.name(index.0),
                &name,
            );
            self.interfaces.rename(index, &name);
            self.tell(index, Change::Name);
        }
        self.publish_counters();
        Ok(())
    }
    fn renamed_sub(&self, sub: InterfaceIndex, parent: &str) -> Option<(InterfaceIndex, String)> {
        let id = self.interfaces.at(sub)?.sub?.id;
        Some((sub, format!("{parent}.{id}")))
    }
    /// Replays existing interfaces and addresses to a newly loaded feature.
    pub fn introduce(&mut self, owner: control::feature::Owner) {
        let all: Vec<_> = self.interfaces.iter().map(|i| i.index).collect();
        let observers: Vec<_> = self.interfaces.observers.of(owner).copied().collect();
        for observer in observers {
            all.iter().for_each(|index| observer(self, *index, Change::Added));
        }
        self.introduce_addresses(owner, &all);
    }
    pub(super) fn tell(&mut self, index: InterfaceIndex, change: Change) {
        if change == Change::Added {
            // One that has left the graph with its plugin is no longer on its arc.
            let engine = &mut self.engine;
            let is_set = |(arc, node): &(&'static FeatureArc, &str)| {
                engine.set_feature(arc, node, index.0, true).is_ok()
            };
            self.interfaces.everywhere.retain(is_set);
        }
        let mut observers: Vec<_> = self.interfaces.observers.iter().copied().collect();
        if change == Change::Deleting {
            // Features that build on others release their state before these.
            observers.reverse();
        }
        for observer in observers {
            observer(self, index, change);
        }
    }
}

impl Interfaces {
    /// Says what the transmit node of an interface does by itself from now on.
    pub fn set_offloads(&mut self, index: InterfaceIndex, offloads: Offloads) {
        let Some(i) = self.at_mut(index) else { return };
        i.offloads = offloads;
        self.change_port(index, |p| p.todo = gso::left_by(offloads));
    }
    /// Says that there is only one other station on the link of an interface.
    pub fn set_far_end(&mut self, index: InterfaceIndex, far_end: Option<MacAddr>) {
        if let Some(i) = self.at_mut(index) {
            i.far_end = far_end;
        }
    }
    /// Enables or disables promiscuous mode.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn set_promiscuous(&mut self, index: InterfaceIndex, on: bool) -> Result<(), Error> {
        self.at(index).ok_or(Error::Unknown)?;
        self.change_port(index, |port| port.promiscuous = on);
        Ok(())
    }
    /// Notes the NUMA node that a device is on, near which its receive queues are served.
    pub fn set_numa_node(&mut self, index: InterfaceIndex, node: Option<usize>) {
        let Some(i) = self.at_mut(index) else { return };
        i.numa_node = node;
    }
}
