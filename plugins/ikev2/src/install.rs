//! Children installed: associations of ESP, and the tunnel that they protect.

use ipip::Ipip;
use net::fib::TableIndex;
use net::tunnel::Outer;
use net::{InterfaceIndex, Router};
use wire::{IpVersion, Protocol};

use super::Ikev2;
use super::crypto::keys::ChildKey;
use super::crypto::suite::{gmac, integ};
use super::machine::{Install, NATT_PORT};

/// Numbers that windows hold.
const WINDOW: u32 = 128;

/// A tunnel and the children that protect it.
#[derive(Clone, Debug)]
pub struct Group {
    tunnel: InterfaceIndex,
    /// It was made here, and goes with its last child.
    is_made: bool,
    /// The association that seals.
    out: u32,
    /// The child whose keys it has.
    seals: u32,
    /// The youngest is the last.
    children: Vec<Member>,
}

/// A child of a group.
#[derive(Clone, Debug)]
struct Member {
    child: u32,
    replaces: Option<u32>,
    /// The association that opens.
    opens: u32,
    /// Configuration of the one that seals, once it is this child's turn.
    sealing: ipsec::Config,
}

/// The association of one direction.
fn config(child: &Install, id: u32, is_inbound: bool, port: u16) -> ipsec::Config {
    let (key, spi) = match is_inbound {
        true => (&child.keys.0, child.spis.0),
        false => (&child.keys.1, child.spis.1),
    };
    let ChildKey { encr, salt, integ: hash } = key;
    let by_gmac = child.suite.integ.and_then(gmac);
    let (cipher, cipher_key) = match by_gmac {
        Some((_, cipher)) => (cipher, hash),
        None => (child.suite.encr.cipher, encr),
    };
    let mac = child.suite.integ.and_then(integ).and_then(|(.., esp)| esp).unwrap_or(0);
    let (local, remote) = match child.ends.local.1 {
        NATT_PORT => (NATT_PORT, child.ends.remote.1),
        _ => (port, port),
    };
    let ports = if is_inbound { (remote, local) } else { (local, remote) };
    ipsec::Config {
        id,
        spi,
        protocol: Protocol::ESP,
        cipher,
        cipher_key: cipher_key.0.clone(),
        mac,
        mac_key: if by_gmac.is_some() { Vec::new() } else { hash.0.clone() },
        salt: salt.0.first_chunk().map_or(0, |salt| u32::from_be_bytes(*salt)),
        has_esn: child.suite.has_esn,
        has_anti_replay: true,
        is_inbound,
        is_async: false,
        udp: child.has_udp.then_some(ports),
        tunnel: None,
        window: WINDOW,
        is_derived: true,
    }
}

fn new_id(router: &mut Router) -> u32 {
    loop {
        let all = router.own_mut::<Ikev2>();
        let id = all.next_sa;
        all.next_sa = id.wrapping_add(1) | 0x8000_0000;
        if ipsec::index(router, id).is_err() {
            return id;
        }
    }
}

fn warn(router: &mut Router, child: &Install, why: impl std::fmt::Display) {
    let text = format!("{}: {}: {why}", child.profile, child.ends.remote.0);
    router.log.class("ikev2", "").warn(text);
}

/// Installs a child.
pub(super) fn add(router: &mut Router, child: &Install) {
    let all = router.own::<Ikev2>();
    let known = child.replaces.and_then(|old| all.children.get(&old).copied());
    let profile = all.machine.profiles.get(&child.profile);
    let port = profile.and_then(|p| p.udp_port).unwrap_or(NATT_PORT);
    let tunnel = profile.and_then(|p| p.tunnel).map(InterfaceIndex);
    let done = match known {
        Some(group) => replace(router, child, group, port),
        None => begin(router, child, tunnel, port),
    };
    if let Err(why) = done {
        warn(router, child, why);
    }
}

fn begin(
    router: &mut Router,
    child: &Install,
    tunnel: Option<InterfaceIndex>,
    port: u16,
) -> Result<(), String> {
    let text = |why: &dyn std::fmt::Display| why.to_string();
    let (tunnel, is_made) = match tunnel {
        Some(tunnel) => (tunnel, false),
        None => tunnel_of(router, child).map_err(|e| text(&e))?,
    };
    let [out, opens] = [new_id(router), new_id(router)];
    let add = |router: &mut Router, id, is_inbound| {
        ipsec::add_sa(router, config(child, id, is_inbound, port)).map(drop)
    };
    let done = add(router, out, false)
        .and_then(|()| add(router, opens, true))
        .and_then(|()| ipsec::protect(router, tunnel, unspecified(child), out, &[opens]));
    if let Err(why) = done {
        let _ = ipsec::remove_sa(router, out);
        let _ = ipsec::remove_sa(router, opens);
        if is_made {
            let _ = router.remove_tunnel::<Ipip>(tunnel);
        }
        return Err(text(&why));
    }
    let all = router.own_mut::<Ikev2>();
    let number = all.next_group;
    all.next_group += 1;
    let sealing = config(child, out, false, port);
    let member = Member { child: child.child, replaces: None, opens, sealing };
    let group = Group { tunnel, is_made, out, seals: child.child, children: vec![member] };
    all.groups.insert(number, group);
    all.children.insert(child.child, number);
    Ok(())
}

fn unspecified(child: &Install) -> std::net::IpAddr {
    match child.ends.remote.0 {
        std::net::IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        std::net::IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// The tunnel between the ends: the one that is there, or a new one.
fn tunnel_of(
    router: &mut Router,
    child: &Install,
) -> Result<(InterfaceIndex, bool), net::tunnel::Error> {
    let (local, remote) = (child.ends.local.0, child.ends.remote.0);
    let outer = Outer::new(local, remote, TableIndex(child.ends.table));
    if let Ok(known) = router.find_tunnel(&outer, &Ipip::default()) {
        return Ok((known, false));
    }
    let tunnel = router.add_tunnel(None, outer, Ipip::default())?;
    router.set_admin(tunnel, true);
    for version in [IpVersion::V4, IpVersion::V6] {
        // It takes packets without an address of its own.
        let _ = router.hold_ip(tunnel, version, true);
    }
    Ok((tunnel, true))
}

/// Opens with the new child at once. It seals when the other end has it: RFC 7296 section 2.8 has
/// the end that answered wait until the old child is deleted.
fn replace(router: &mut Router, child: &Install, number: u64, port: u16) -> Result<(), String> {
    let opens = new_id(router);
    let Some(group) = router.own::<Ikev2>().groups.get(&number).cloned() else {
        return Err("its tunnel is gone".to_owned());
    };
    ipsec::add_sa(router, config(child, opens, true, port)).map_err(|e| e.to_string())?;
    let sealing = config(child, group.out, false, port);
    let member = Member { child: child.child, replaces: child.replaces, opens, sealing };
    let all = router.own_mut::<Ikev2>();
    all.children.insert(child.child, number);
    if let Some(group) = all.groups.get_mut(&number) {
        group.children.push(member);
    }
    protect(router, number).map_err(|e| e.to_string())?;
    if child.is_ready { seal(router, number, child.child) } else { Ok(()) }
}

/// Seals with a child from now on.
fn seal(router: &mut Router, number: u64, child: u32) -> Result<(), String> {
    let group = router.own_mut::<Ikev2>().groups.get_mut(&number);
    let Some(group) = group else { return Ok(()) };
    let Some(member) = group.children.iter().find(|m| m.child == child) else { return Ok(()) };
    group.seals = child;
    let sealing = member.sealing.clone();
    ipsec::replace_sa(router, sealing).map_err(|e| e.to_string())
}

fn protect(router: &mut Router, number: u64) -> Result<(), ipsec::Error> {
    let Some(group) = router.own::<Ikev2>().groups.get(&number).cloned() else { return Ok(()) };
    let ins: Vec<_> = group.children.iter().map(|m| m.opens).collect();
    let next_hop = next_hop(router, group.tunnel);
    ipsec::protect(router, group.tunnel, next_hop, group.out, &ins)
}

fn next_hop(router: &Router, tunnel: InterfaceIndex) -> std::net::IpAddr {
    let is_6 = router.outer_of_tunnel(tunnel).is_some_and(|outer| outer.src.is_ipv6());
    match is_6 {
        true => std::net::Ipv6Addr::UNSPECIFIED.into(),
        false => std::net::Ipv4Addr::UNSPECIFIED.into(),
    }
}

/// Removes a child. The one that replaces it, or else the youngest, seals from then on; with the
/// last one the group goes.
pub(super) fn remove(router: &mut Router, child: u32) {
    let all = router.own_mut::<Ikev2>();
    let Some(number) = all.children.remove(&child) else { return };
    let Some(group) = all.groups.get_mut(&number) else { return };
    let Some(at) = group.children.iter().position(|m| m.child == child) else { return };
    let gone = group.children.remove(at);
    let next = group.children.iter().find(|m| m.replaces == Some(child));
    if let Some(next) = next.or(group.children.last()).map(|m| m.child) {
        let is_turn = group.seals == child;
        let done = protect(router, number).map_err(|e| e.to_string());
        let done = done.and_then(|()| if is_turn { seal(router, number, next) } else { Ok(()) });
        if let Err(why) = done {
            router.log.class("ikev2", "").warn(why);
        }
    } else if let Some(group) = all.groups.remove(&number) {
        let next_hop = next_hop(router, group.tunnel);
        let _ = ipsec::unprotect(router, group.tunnel, next_hop);
        let _ = ipsec::remove_sa(router, group.out);
        if group.is_made {
            let _ = router.remove_tunnel::<Ipip>(group.tunnel);
        }
    }
    let _ = ipsec::remove_sa(router, gone.opens);
}
