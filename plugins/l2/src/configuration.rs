//! The configuration of layer 2, as commands.

use control::cli::Text;
use net::prelude::*;

use super::arcs::{self, input};
use super::bvi;
use super::cli::{
    Create, DomainRewrite, PortFilter, PortFlood, PortForward, PortLearn, SetDefaultLimit,
    SetLimit, SetOwner,
};
use super::domain::DEFAULT_BITS;
use super::fib::{self, Entry};
use super::mac_cli::AddMac;
use super::macs::Target;
use super::port_cli::{SetBackbone, SetBridge, SetCrossConnect, SetPatch, SetTags};
use super::state::{Bridging, DEFAULT_LIMIT, Domain, Place, Port, Role};

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    let bridging = router.own::<Bridging>();
    if bridging.default_limit != DEFAULT_LIMIT {
        lines.push(&SetDefaultLimit { maxentries: bridging.default_limit });
    }
    for (id, domain) in &bridging.domains {
        made(bridging, *id, domain, lines);
    }
    bvi::configuration(router, lines);
    for i in router.interfaces.iter().filter(|i| i.tag_rewrite.op > 0) {
        let (interface, wanted) = (i.index, i.tag_rewrite);
        match wanted.is_backbone {
            true => lines.push(&SetBackbone { interface, wanted }),
            false => lines.push(&SetTags { interface, wanted }),
        }
    }
    for (bridge_domain_id, domain) in &bridging.domains {
        if !domain.rewrites {
            let bridge_domain_id = *bridge_domain_id;
            lines.push(&DomainRewrite { bridge_domain_id, disable: true });
        }
        for interface in domain.members.iter().map(|m| m.0).chain(domain.unknown) {
            port(router, interface, lines);
        }
    }
    for (interface, port) in &bridging.ports {
        if let Place::CrossConnect(peer) = port.place {
            lines.push(&SetCrossConnect { interface: *interface, peer });
        }
    }
    for (rx, tx) in &bridging.patches {
        lines.push(&SetPatch { rx: *rx, tx: *tx, del: false });
    }
    addresses(router, lines);
}

fn made(bridging: &Bridging, id: u32, domain: &Domain, lines: &mut Lines<'_>) {
    let changed = (domain.bits ^ DEFAULT_BITS) & input::OWN;
    let set = |bit| (changed & bit != 0).then_some(u8::from(domain.bits & bit != 0));
    lines.push(&Create {
        bridge_domain_id: Some(id),
        learn: set(input::LEARN),
        forward: set(input::FWD),
        uu_flood: set(input::UU_FLOOD),
        flood: set(input::FLOOD),
        arp_term: set(input::ARP_TERM),
        arp_ufwd: set(input::ARP_UFWD),
        mac_age: Some(domain.mac_age).filter(|age| *age > 0),
        bd_tag: Text::printed(&domain.tag),
        del: false,
    });
    if domain.limit != bridging.default_limit {
        let learn_limit = Some(domain.limit);
        lines.push(&SetLimit { bridge_domain_id: id, default: false, learn_limit });
    }
    for (ip, mac) in domain.owners.iter() {
        lines.push(&SetOwner { id, entry: Some((*ip, *mac, false)) });
    }
}

fn port(router: &Router, interface: InterfaceIndex, lines: &mut Lines<'_>) {
    let bridging = router.own::<Bridging>();
    let Some(Port { place: Place::Bridge(id, role, group), input: bits, .. }) =
        bridging.ports.get(&interface).copied()
    else {
        return;
    };
    let (bvi, uu_fwd) = (role == Role::Bvi, role == Role::Unknown);
    let shg = Some(group).filter(|group| *group > 0);
    lines.push(&SetBridge { interface, bridge_domain_id: id, shg, bvi, uu_fwd });
    let disable = true;
    if bits & input::LEARN == 0 && !bvi {
        lines.push(&PortLearn { interface, disable });
    }
    if bits & input::FWD == 0 {
        lines.push(&PortForward { interface, disable });
    }
    if bits & input::FLOOD == 0 {
        lines.push(&PortFlood { interface, disable });
    }
    if arcs::bits_on(router, &net::ethernet::L2_OUTPUT, interface) & 1 << 6 != 0 {
        lines.push(&PortFilter { interface, disable: false });
    }
}

/// Addresses that were set; a virtual interface's own comes with it.
fn addresses(router: &Router, lines: &mut Lines<'_>) {
    let bridging = router.own::<Bridging>();
    let mut all = Vec::new();
    bridging.fib.each(|key, value| {
        let (entry, (index, mac)) = (Entry(value), fib::of_key(key));
        if entry.has(fib::STATIC) {
            all.push((bridging.by_index.get(&index).copied(), mac, entry));
        }
    });
    all.sort_by_key(|(id, mac, _)| (*id, mac.0));
    for (id, mac, entry) in all {
        let (Some(id), interface) = (id, InterfaceIndex(entry.interface())) else { continue };
        let own = router.interfaces.at(interface).map(|i| i.mac);
        let to = match () {
            () if entry.has(fib::FILTER) => Target::Filter,
            // Its port has left: it counts no longer.
            () if bridging.domain_of(interface).map(|(id, ..)| id) != Some(id) => continue,
            () if entry.has(fib::BVI) && own == Some(mac) => continue,
            () if entry.has(fib::BVI) => Target::Bvi(interface),
            () => Target::On(interface, true),
        };
        lines.push(&AddMac { mac, id, to });
    }
}
