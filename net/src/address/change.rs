//! Adding and removing addresses, with the routes they bring.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::prefix::IpPrefix;
use wire::{IpVersion, MacAddr, Prefix};

use super::{AddressState, Error, OnInterface};
use crate::adjacency::Link;
use crate::fib::{Ip4, Ip6, Path, Source, TableIndex, Target};
use crate::interface::InterfaceIndex;
use crate::router::Router;

impl Router {
    /// Gives an interface an address, with routes to its network and to itself. A link-local one
    /// takes the place of the one it has.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn add_address(&mut self, interface: InterfaceIndex, new: Prefix) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        let addr = new.addr();
        let is_broadcast = addr == IpAddr::V4(Ipv4Addr::BROADCAST);
        // IPv6 takes multicast addresses, as the original does: nothing is sent from them.
        let is_multicast = addr.is_multicast() && (addr.is_ipv4() || new.prefix_len() < 128);
        if new.prefix_len() == 0 || is_multicast || addr.is_unspecified() || is_broadcast {
            return Err(Error::Invalid(new));
        }
        if let IpAddr::V6(link_local) = addr
            && link_local.is_unicast_link_local()
        {
            let is_host = new.prefix_len() == 128;
            is_host.then_some(()).ok_or(Error::LinkLocalLen(new))?;
            return self.set_link_local(interface, link_local);
        }
        self.check_conflict(interface, new)?;
        let before = self.addresses.of(interface).clone();
        let mut after = before.clone();
        match new {
            Prefix::Ip4(p) => after.ip4.push(p),
            Prefix::Ip6(p) => after.ip6.push(p),
        }
        self.have(interface, after)
    }
    /// Gives an interface an address that was learned, and is in no configuration.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn add_learned_address(
        &mut self,
        interface: InterfaceIndex,
        new: Prefix,
    ) -> Result<(), Error> {
        self.add_address(interface, new)?;
        self.addresses.learned.insert((interface, new));
        Ok(())
    }
    /// Takes an address away from an interface, with its routes.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotDeletable`].
    pub fn remove_address(&mut self, interface: InterfaceIndex, gone: Prefix) -> Result<(), Error> {
        let mut after = self.addresses.of(interface).clone();
        if after.link_local.map(IpAddr::V6) == Some(gone.addr()) && gone.prefix_len() == 128 {
            return Err(Error::NotDeletable(gone));
        }
        let (count4, count6) = (after.ip4.len(), after.ip6.len());
        match gone {
            Prefix::Ip4(gone) => after.ip4.retain(|p| *p != gone),
            Prefix::Ip6(gone) => after.ip6.retain(|p| *p != gone),
        }
        if (after.ip4.len(), after.ip6.len()) == (count4, count6) {
            return Err(Error::NotFound(gone));
        }
        self.have(interface, after)
    }
    /// Says what speaks against packets coming from an address of an interface, or that nothing
    /// does.
    pub fn set_standing(
        &mut self,
        interface: InterfaceIndex,
        addr: Ipv6Addr,
        standing: Option<AddressState>,
    ) {
        let on = self.addresses.of(interface);
        if on.standing(addr) == standing {
            return;
        }
        let mut after = on.clone();
        after.standing.retain(|(a, _)| *a != addr);
        after.standing.extend(standing.map(|standing| (addr, standing)));
        self.addresses.put(interface, after);
    }
    /// Takes all addresses away from an interface but its link-local one.
    pub fn remove_all_addresses(&mut self, interface: InterfaceIndex) {
        let mut after = self.addresses.of(interface).clone();
        after.ip4.clear();
        after.ip6.clear();
        // Only less than before: there is nothing that could be refused.
        let _ = self.have(interface, after);
    }
    /// Enables or disables IPv4 on an interface without an address.
    ///
    /// # Errors
    /// [`Error::NoInterface`], [`Error::Route`].
    pub fn enable_ip4(&mut self, interface: InterfaceIndex, on: bool) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        let after = OnInterface { wants_ip4: on, ..self.addresses.of(interface).clone() };
        self.have(interface, after)
    }
    /// Enables IPv6 on an interface, with a link-local address, or disables it, unless it has other
    /// addresses.
    ///
    /// # Errors
    /// [`Error::NoInterface`], [`Error::Route`].
    pub fn enable_ip6(&mut self, interface: InterfaceIndex, on: bool) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        let after = OnInterface { wants_ip6: on, ..self.addresses.of(interface).clone() };
        self.have(interface, after)
    }
    /// Makes an interface accept packets of an IP version as long as a feature needs it, which is
    /// in no configuration of its own. Each hold is released once.
    ///
    /// # Errors
    /// [`Error::NoInterface`], [`Error::Route`].
    pub fn hold_ip(
        &mut self,
        interface: InterfaceIndex,
        version: IpVersion,
        on: bool,
    ) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        let mut after = self.addresses.of(interface).clone();
        let held = &mut after.held[version as usize];
        *held = if on { *held + 1 } else { held.saturating_sub(1) };
        self.have(interface, after)
    }
    /// Says that what makes an interface has enabled IP on it, and has it start up.
    pub fn start_with_ip(&mut self, interface: InterfaceIndex) {
        let on = self.addresses.of(interface);
        let (ip4, ip6) = (on.wants_ip4.then_some(on.table4.0), on.wants_ip6.then_some(on.table6.0));
        self.start_with_tables(interface, [ip4, ip6]);
    }
    /// Gives an interface another link-local address; IPv6 is enabled if it was not.
    ///
    /// # Errors
    /// [`Error::NoInterface`], [`Error::NotLinkLocal`], [`Error::Route`].
    pub fn set_link_local(
        &mut self,
        interface: InterfaceIndex,
        addr: Ipv6Addr,
    ) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        if !addr.is_unicast_link_local() {
            return Err(Error::NotLinkLocal(addr));
        }
        let on = self.addresses.of(interface).clone();
        let wants_ip6 = on.wants_ip6 || !on.is_ip6_configured();
        self.have(interface, OnInterface { link_local: Some(addr), wants_ip6, ..on })
    }
    /// Sets the table of an interface.
    ///
    /// # Errors
    /// [`Error::HasAddresses`] of that family, [`Error::Route`].
    pub fn set_interface_table4(
        &mut self,
        interface: InterfaceIndex,
        table: TableIndex,
    ) -> Result<(), Error> {
        let on = self.addresses.of(interface).clone();
        if !on.ip4.is_empty() {
            return Err(Error::HasAddresses);
        }
        self.use_table::<Ip4>(table, true);
        self.use_table::<Ip4>(on.table4, false);
        self.move_table(interface, on.clone(), OnInterface { table4: table, ..on })
    }
    /// The same for IPv6.
    ///
    /// # Errors
    /// [`Error::HasAddresses`] of that family, [`Error::Route`].
    pub fn set_interface_table6(
        &mut self,
        interface: InterfaceIndex,
        table: TableIndex,
    ) -> Result<(), Error> {
        let on = self.addresses.of(interface).clone();
        if !on.ip6.is_empty() {
            return Err(Error::HasAddresses);
        }
        self.use_table::<Ip6>(table, true);
        self.use_table::<Ip6>(on.table6, false);
        self.move_table(interface, on.clone(), OnInterface { table6: table, ..on })
    }
    /// Takes what is in the old tables out before it comes into the new ones.
    fn move_table(
        &mut self,
        interface: InterfaceIndex,
        old: OnInterface,
        new: OnInterface,
    ) -> Result<(), Error> {
        let off = |on: &OnInterface| OnInterface {
            wants_ip4: false,
            wants_ip6: false,
            held: [0; 2],
            ..on.clone()
        };
        let keeps = |on: OnInterface| if on.iter().next().is_some() { on } else { off(&on) };
        self.have(interface, keeps(old))?;
        self.have(interface, new)
    }
    /// Follows an interface that is switched on or off: only while it is on its addresses bring
    /// routes.
    pub(super) fn follow_admin(&mut self, interface: InterfaceIndex) {
        let on = self.addresses.of(interface).clone();
        let is_up = self.interfaces.at(interface).is_some_and(|i| i.admin_up);
        if on.is_routed == is_up || on.iter().next().is_none() {
            return;
        }
        if let Err(why) = self.have(interface, on) {
            let name = self.interfaces.name(interface.0).to_owned();
            let log = self.log.class("ip", "address");
            log.error(format_args!("routes of {name}: {why}"));
        }
    }
    /// Follows a change of the interface's own MAC address.
    pub(super) fn renew_link_local(&mut self, interface: InterfaceIndex) {
        let on = self.addresses.of(interface).clone();
        let Some(mac) = self.interfaces.at(interface).map(|i| i.mac) else { return };
        if on.link_local.is_some() {
            // Without room for one route more the old address stays.
            let _ = self.have(interface, OnInterface { link_local: Some(mac.link_local()), ..on });
        }
    }
    /// Takes everything away from an interface that is being deleted.
    pub(super) fn forget_addresses(&mut self, interface: InterfaceIndex) {
        let on = self.addresses.of(interface);
        let (table4, table6) = (on.table4, on.table6);
        let nothing = OnInterface { table4, table6, ..OnInterface::default() };
        // Only less than before: there is nothing that could be refused.
        let _ = self.have(interface, nothing);
        self.use_table::<Ip4>(table4, false);
        self.use_table::<Ip6>(table6, false);
        self.addresses.put(interface, OnInterface::default());
    }
    /// The table and prefix of a neighbour's host route.
    pub(crate) fn neighbor_route(
        &self,
        interface: InterfaceIndex,
        addr: IpAddr,
    ) -> Option<(TableIndex, Prefix)> {
        let on = self.addresses.of(interface);
        let table = match addr {
            IpAddr::V4(_) => on.table4,
            IpAddr::V6(a) if a.is_unicast_link_local() => self.fib.link_local_of(interface)?,
            IpAddr::V6(_) => on.table6,
        };
        Some((table, host(addr)))
    }

    fn check_conflict(&self, interface: InterfaceIndex, new: Prefix) -> Result<(), Error> {
        let table_of = |on: &OnInterface| match new {
            Prefix::Ip4(_) => on.table4,
            Prefix::Ip6(_) => on.table6,
        };
        let table = table_of(self.addresses.of(interface));
        for (other, on) in self.addresses.iter().filter(|(_, on)| table_of(on) == table) {
            for with in on.iter() {
                // Several addresses of one network may be on one interface.
                let is_sibling = other == interface
                    && with.network() == new.network()
                    && with.addr() != new.addr();
                let overlaps = with.contains(new.addr()) || new.contains(with.addr());
                // A single address may lie in the network of another interface.
                let is_within = other != interface
                    && (new.is_host() || with.is_host())
                    && with.addr() != new.addr();
                if overlaps && !is_sibling && !is_within {
                    return Err(Error::Conflict { with, interface: other });
                }
            }
        }
        Ok(())
    }
    /// Makes an interface have what `after` says: routes first, then what nodes see. The link-local
    /// address comes and goes with IPv6.
    pub(super) fn have(
        &mut self,
        interface: InterfaceIndex,
        mut after: OnInterface,
    ) -> Result<(), Error> {
        let before = self.addresses.of(interface).clone();
        let known = after.link_local.or(before.link_local);
        after.link_local = after.has_ip6().then(|| {
            let mac = self.interfaces.at(interface).map(|i| i.mac).unwrap_or_default();
            known.unwrap_or_else(|| mac.link_local())
        });
        if let (Some(own), None) = (after.link_local, before.link_local) {
            self.add_link_local(interface, own)?;
        }
        after.forget_standing();
        let is_up = self.interfaces.at(interface).is_some_and(|i| i.admin_up);
        after.is_routed = is_up && after.iter().next().is_some();
        let (old, new) = (self.routes(interface, &before), self.routes(interface, &after));
        let mut done = Vec::new();
        for route in new.iter().filter(|r| !old.contains(r)) {
            let (table, prefix, target) = *route;
            if let Err(e) = self.set_route(table, prefix, Source::INTERFACE, &[Path::to(target)]) {
                self.undo(interface, &done, &old, &before);
                return Err(e.into());
            }
            done.push(*route);
        }
        for (table, prefix, _) in old.iter().filter(|r| !has(&new, r)) {
            // It was put there by the same rule.
            let _ = self.remove_route(*table, *prefix, Source::INTERFACE, &[]);
        }
        if after.link_local.is_none() && before.link_local.is_some() {
            self.remove_link_local(interface);
        }
        let [port4, port6] = [Link::Ip4, Link::Ip6].map(|link| after.table(link).map(|t| t.0));
        self.follow_groups(interface, &before, &after);
        self.follow_solicited_nodes(interface, &before, &after);
        self.addresses.learned.retain(|(on, p)| *on != interface || after.iter().any(|a| a == *p));
        self.addresses.put(interface, after);
        self.interfaces.change_port(interface, |p| (p.ip4, p.ip6) = (port4, port6));
        for observer in self.addresses.observers.clone().iter() {
            observer(self, interface, &before);
        }
        let lender = self.addresses.of(interface).clone();
        self.lend(interface, Some(&lender));
        Ok(())
    }
    /// Replays existing addresses to a newly loaded feature.
    pub(crate) fn introduce_addresses(
        &mut self,
        owner: control::feature::Owner,
        on: &[InterfaceIndex],
    ) {
        let observers: Vec<_> = self.addresses.observers.of(owner).copied().collect();
        let has_some = |index: &&InterfaceIndex| self.addresses.all.at(index.0).is_some();
        let on: Vec<_> = on.iter().filter(has_some).collect();
        for observer in observers {
            on.iter().for_each(|index| observer(self, **index, &OnInterface::default()));
        }
    }
    /// The routes that what an interface has brings.
    fn routes(
        &self,
        interface: InterfaceIndex,
        on: &OnInterface,
    ) -> Vec<(TableIndex, Prefix, Target)> {
        let link_local =
            self.fib.link_local_of(interface).zip(on.link_local).map(|(table, addr)| {
                let receive =
                    Target::Receive { interface: Some(interface), addr: Some(addr.into()) };
                (table, host(addr.into()), receive)
            });
        routes(interface, on).into_iter().chain(link_local).collect()
    }
    /// Takes back routes that were made before one was refused.
    fn undo(
        &mut self,
        interface: InterfaceIndex,
        done: &[(TableIndex, Prefix, Target)],
        old: &[(TableIndex, Prefix, Target)],
        before: &OnInterface,
    ) {
        for (table, prefix, _) in done {
            let was = old.iter().find(|o| (o.0, o.1) == (*table, *prefix));
            // Back to what was there a moment ago: there is room for it.
            let _ = match was {
                Some((_, _, target)) => {
                    let path = Path::to(*target);
                    self.set_route(*table, *prefix, Source::INTERFACE, &[path]).map(drop)
                }
                None => self.remove_route(*table, *prefix, Source::INTERFACE, &[]),
            };
        }
        if before.link_local.is_none() {
            self.remove_link_local(interface);
        }
    }
    /// Makes an interface accept frames to the solicited-node groups of its IPv6 addresses: one
    /// that several addresses share is removed with the last of them.
    fn follow_solicited_nodes(
        &mut self,
        interface: InterfaceIndex,
        before: &OnInterface,
        after: &OnInterface,
    ) {
        if (before.link_local, &before.ip6) == (after.link_local, &after.ip6) {
            return;
        }
        let macs = |on: &OnInterface| -> BTreeSet<MacAddr> {
            on.solicited_nodes().into_iter().map(MacAddr::for_ip6_group).collect()
        };
        let (old, new) = (macs(before), macs(after));
        for (mac, is_on) in
            old.difference(&new).map(|m| (m, false)).chain(new.difference(&old).map(|m| (m, true)))
        {
            // Sub-interfaces take what their parent does, and tunnels have no such frames.
            let _ = self.lend_mac(interface, *mac, is_on);
        }
    }
    /// Makes an interface listen to the groups of the enabled versions, in its tables.
    fn follow_groups(&mut self, interface: InterfaceIndex, old: &OnInterface, new: &OnInterface) {
        let all = [Link::Ip4, Link::Ip6].map(|link| (link, old.table(link), new.table(link)));
        for (link, old, new) in all.into_iter().filter(|(_, old, new)| old != new) {
            let both = [(old, false), (new, true)];
            for (table, is_on) in both.into_iter().filter_map(|(t, is_on)| Some((t?, is_on))) {
                match link {
                    Link::Ip4 => self.listen_to_groups::<Ip4>(table, interface, is_on),
                    _ => self.listen_to_groups::<Ip6>(table, interface, is_on),
                }
            }
        }
    }
}

fn host(addr: IpAddr) -> Prefix {
    match addr {
        IpAddr::V4(a) => IpPrefix::host(a).into(),
        IpAddr::V6(a) => IpPrefix::host(a).into(),
    }
}

fn has(routes: &[(TableIndex, Prefix, Target)], route: &(TableIndex, Prefix, Target)) -> bool {
    routes.iter().any(|r| (r.0, r.1) == (route.0, route.1))
}

/// The routes that an interface's addresses bring.
fn routes(interface: InterfaceIndex, on: &OnInterface) -> Vec<(TableIndex, Prefix, Target)> {
    let mut all = Vec::new();
    if !on.is_routed {
        return all;
    }
    let receive = |addr: IpAddr| Target::Receive { interface: Some(interface), addr: Some(addr) };
    for prefix in on.iter() {
        let addr = prefix.addr();
        let table = if addr.is_ipv4() { on.table4 } else { on.table6 };
        all.push((table, host(addr), receive(addr)));
    }
    for prefix in on.iter() {
        let own = prefix.addr();
        let table = if own.is_ipv4() { on.table4 } else { on.table6 };
        let mut add = |prefix: Prefix, target| {
            // The first address of a network speaks for it.
            if !has(&all, &(table, prefix, target)) {
                all.push((table, prefix, target));
            }
        };
        add(prefix.network(), Target::Attached { interface, own });
        if let Prefix::Ip4(p) = prefix
            && p.prefix_len() == 31
        {
            // The two ends of a link (RFC 3021).
            let peer = IpAddr::V4(Ipv4Addr::from_bits(p.addr().to_bits() ^ 1));
            add(host(peer), Target::Neighbor { interface, addr: peer });
        }
        if let Prefix::Ip4(p) = prefix
            && p.prefix_len() <= 30
        {
            let network = p.network().addr();
            add(host(network.into()), Target::Drop);
            let everybody = Target::Neighbor { interface, addr: Ipv4Addr::BROADCAST.into() };
            let broadcast = match on.directed_broadcast {
                true => everybody,
                false if on.punts_broadcast => Target::Punt,
                false => Target::Drop,
            };
            let last = Ipv4Addr::from_bits(network.to_bits() | !p.mask().to_bits());
            add(host(last.into()), broadcast);
        }
    }
    all
}
