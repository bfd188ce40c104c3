//! Devices of Linux and their addresses: what has changed since it was last known is done to their
//! interfaces.
//!
//! A message only says that something may have changed. The kernel's current state is compared with
//! its last known state, so that changes of both sides, reported late, never chase each other.

use drivers::host::netlink::{Link, Netlink};
use linux_cp::{Kind, Wanted};
use net::interface::{Mtu, SubInterface};
use net::prelude::*;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::AddressMessage;

use super::message;

/// Devices of a namespace, and their addresses.
pub(super) struct Seen {
    pub(super) links: Vec<Link>,
    pub(super) addresses: Vec<(u32, Prefix)>,
}

impl Seen {
    /// Asks the kernel.
    pub(super) fn of(kernel: &mut Netlink) -> io::Result<Self> {
        let links = kernel.links()?;
        let mut addresses = Vec::new();
        kernel.dump(RouteNetlinkMessage::GetAddress(AddressMessage::default()), |message| {
            if let RouteNetlinkMessage::NewAddress(message) = message {
                addresses.extend(message::address(&message));
            }
        })?;
        Ok(Self { links, addresses })
    }
    /// The addresses of a device but the link-local one.
    pub(super) fn addresses_of(&self, device: u32) -> BTreeSet<Prefix> {
        let all = self.addresses.iter().filter(|(of, _)| *of == device);
        all.map(|(_, prefix)| *prefix).filter(|prefix| !is_link_local(prefix)).collect()
    }
    fn link_local(&self, device: u32) -> Option<Prefix> {
        let mut all = self.addresses.iter().filter(|(of, _)| *of == device);
        all.find(|(_, prefix)| is_link_local(prefix)).map(|(_, prefix)| *prefix)
    }
}

fn is_link_local(prefix: &Prefix) -> bool {
    matches!(prefix.addr(), IpAddr::V6(addr) if addr.is_unicast_link_local())
}

/// Looks at the devices of a namespace.
pub(super) fn look(router: &mut Router, namespace: &str) {
    let seen = match linux_cp::with_kernel(router, namespace, Seen::of) {
        Ok(seen) => seen,
        Err(e) => {
            let log = router.log.class("linux-nl", "nl");
            return log.warn(format_args!("namespace '{namespace}': {e}"));
        }
    };
    add_vlans(router, namespace, &seen);
    let here = linux_cp::all(router).filter(|p| p.device != 0 && p.namespace == namespace);
    let here: Vec<_> = here.map(|pair| (pair.phy, pair.device)).collect();
    let mut is_switched = false;
    for (phy, device) in here {
        match seen.links.iter().find(|link| link.number == device) {
            Some(link) => {
                is_switched |= follow_link(router, phy, link);
                is_switched |= follow_addresses(router, phy, device, &seen);
            }
            // The device was deleted: so is the pair. The other sub-interfaces' went before.
            None => drop(linux_cp::remove(router, phy)),
        }
    }
    if is_switched {
        // The kernel does not tell which routes it forgot.
        super::begin(router, namespace);
    }
}

/// Updates the state and MTU of an interface from its device; returns whether it was set up or
/// down.
fn follow_link(router: &mut Router, phy: InterfaceIndex, link: &Link) -> bool {
    let is_synced = linux_cp::settings(router).is_synced;
    let Some(pair) = linux_cp::of_mut(router, phy) else { return false };
    let is_switched = std::mem::replace(&mut pair.known.is_up, link.is_up) != link.is_up;
    if is_switched && !link.is_up && is_synced {
        // Linux forgot them: it gets them again.
        pair.known.addresses.retain(|address| address.addr().is_ipv4());
    }
    let old = pair.known.mtu;
    let mtu = link.mtu.filter(|mtu| *mtu != old);
    pair.known.mtu = link.mtu.unwrap_or(old);
    if let Some(l3) = mtu
        && let Some(i) = router.interfaces.at(phy)
        && router.interfaces.mtu_of(phy, |mtu| mtu.l3) != l3
    {
        let mtu = Mtu { l3, ..i.mtu };
        router.set_mtu(phy, mtu);
    }
    if is_switched {
        router.set_admin(phy, link.is_up);
    }
    is_switched
}

/// Updates the addresses of an interface from its device; returns whether some are gone.
fn follow_addresses(router: &mut Router, phy: InterfaceIndex, device: u32, seen: &Seen) -> bool {
    let there = seen.addresses_of(device);
    let Some(pair) = linux_cp::of_mut(router, phy) else { return false };
    let known = std::mem::replace(&mut pair.known.addresses, there.clone());
    let mut problems = Vec::new();
    for gone in known.difference(&there) {
        if router.addresses.of(phy).iter().any(|has| has == *gone)
            && let Err(e) = router.remove_address(phy, *gone)
        {
            problems.push(format!("without {gone}: {e}"));
        }
    }
    for new in there.difference(&known) {
        if !router.addresses.of(phy).iter().any(|has| has == *new)
            && let Err(e) = router.add_address(phy, *new)
        {
            problems.push(format!("address {new}: {e}"));
        }
    }
    if let Some(Prefix::Ip6(own)) = seen.link_local(device)
        && router.addresses.of(phy).link_local != Some(own.addr())
        && let Err(e) = router.set_link_local(phy, own.addr())
    {
        problems.push(format!("address {own}: {e}"));
    }
    let (log, name) = (router.log.class("linux-nl", "nl"), router.interfaces.name(phy.0));
    problems.iter().for_each(|problem| log.warn(format_args!("{name}: {problem}")));
    // What Linux lacks of the interface's it gets, if so configured.
    linux_cp::push(router, phy);
    !known.is_subset(&there)
}

/// Makes sub-interfaces for VLAN devices that were made in Linux above devices of pairs.
fn add_vlans(router: &mut Router, namespace: &str, seen: &Seen) {
    for link in &seen.links {
        let Some((above, vlan, is_dot1ad)) = link.vlan else { continue };
        let Some(name) = link.name.clone() else { continue };
        let here = || linux_cp::all(router).filter(|p| p.device != 0 && p.namespace == namespace);
        if here().any(|pair| pair.device == link.number) {
            continue;
        }
        let Some(parent) = here().find(|pair| pair.device == above).map(|p| p.phy) else {
            continue;
        };
        let sub = SubInterface { is_dot1ad, ..SubInterface::dot1q(vlan.into(), vlan) };
        let made = match router.add_sub_interface(parent, sub) {
            Ok(made) => made,
            Err(e) => {
                let log = router.log.class("linux-nl", "nl");
                log.warn(format_args!("{name}: {e}"));
                continue;
            }
        };
        let kind = Some(Kind::Tap);
        let wanted = Wanted { phy: made, name, kind, namespace: namespace.to_owned(), id: None };
        let Err(e) = linux_cp::add_sub(router, &wanted) else { continue };
        router.log.class("linux-nl", "nl").warn(e);
        router.remove_interface(made);
    }
}
