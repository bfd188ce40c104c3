//! Operations on bridge domains, their ports and their addresses.

use net::ethernet::{L2_INPUT, L2_OUTPUT};
use net::interface::{Kind, TagRewrite};
use net::prelude::*;

use super::arcs::{self, BLOCKING, input};
use super::fib::{self, Entry};
use super::macs::{self, Gone};
use super::output::Patched;
use super::rewrite::{self, Rewrite};
use super::state::{
    Bridging, Domain, MAX_ID, Place, Port, Role, hide_domain, publish_domain, publish_port,
};

/// Reasons why a request about layer 2 is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// no such peer interface
    #[retval(INVALID_SW_IF_INDEX_2)]
    NoPeer,
    /// not an Ethernet interface
    #[retval(INVALID_INTERFACE)]
    NoEthernet,
    /// no such bridge domain
    #[retval(NO_SUCH_ENTRY)]
    NoDomain,
    /// the bridge domain exists
    #[retval(BD_ALREADY_EXISTS)]
    Exists,
    /// the bridge domain has members
    #[retval(BD_IN_USE)]
    InUse,
    /// bridge domain 0 cannot be changed
    #[retval(BD_NOT_MODIFIABLE)]
    Zero,
    /// a bridge domain ID is at most 16777215
    #[retval(BD_ID_EXCEED_MAX)]
    Id,
    /// the bridge domain already has a BVI
    #[retval(BD_ALREADY_HAS_BVI)]
    HasBvi,
    /// limit reached
    #[retval(TABLE_TOO_BIG)]
    Full,
    /// no such entry
    #[retval(NO_SUCH_ENTRY)]
    NoEntry,
    /// the interface is not in the bridge domain
    #[retval(INVALID_SW_IF_INDEX)]
    NotMember,
    /// an interface cannot be connected to itself
    #[retval(INVALID_SW_IF_INDEX_2)]
    Itself,
    /// not a unicast MAC address
    #[retval(INVALID_VALUE)]
    Mac,
}

fn at(router: &Router, interface: InterfaceIndex) -> Result<(), Error> {
    let i = router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    if i.kind == Kind::Ethernet { Ok(()) } else { Err(Error::NoEthernet) }
}

fn domain_mut(router: &mut Router, id: u32) -> Result<&mut Domain, Error> {
    router.own_mut::<Bridging>().domains.get_mut(&id).ok_or(Error::NoDomain)
}

/// Changes a domain and has nodes see it.
pub fn change<R>(
    router: &mut Router,
    id: u32,
    change: impl FnOnce(&mut Domain) -> R,
) -> Result<R, Error> {
    if id == 0 {
        return Err(Error::Zero);
    }
    let done = change(domain_mut(router, id)?);
    publish_domain(router, id);
    Ok(done)
}

/// Makes a bridge domain; its number is the lowest free one if not given.
///
/// # Errors
/// [`Error`]; nothing is made then.
pub fn add(router: &mut Router, id: Option<u32>, bits: u32, age: u8) -> Result<u32, Error> {
    let bridging = router.own_mut::<Bridging>();
    let free = || (1..=MAX_ID).find(|id| !bridging.domains.contains_key(id));
    let id = id.or_else(free).ok_or(Error::Full)?;
    match id {
        0 => return Err(Error::Zero),
        _ if id > MAX_ID => return Err(Error::Id),
        _ if bridging.domains.contains_key(&id) => return Err(Error::Exists),
        _ => {}
    }
    let index = bridging.free_index().ok_or(Error::Full)?;
    macs::finish(router, |gone| gone == Gone::Domain(index));
    let bridging = router.own_mut::<Bridging>();
    let domain = Domain {
        index,
        bits: bits & input::OWN,
        rewrites: true,
        mac_age: age,
        tag: String::new(),
        limit: bridging.default_limit,
        bvi: None,
        unknown: None,
        members: Vec::new(),
        owners: Arc::default(),
    };
    bridging.domains.insert(id, domain);
    bridging.by_index.insert(index, id);
    publish_domain(router, id);
    router.note(format_args!("bridge domain {id}: created"));
    super::scan::wake(router);
    Ok(id)
}

/// Features of a domain that is made without being asked for any.
pub const DEFAULT_BITS: u32 = input::LEARN | input::FWD | input::FLOOD | input::UU_FLOOD;

/// Deletes a bridge domain with its addresses.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove(router: &mut Router, id: u32) -> Result<(), Error> {
    if id == 0 {
        return Err(Error::Zero);
    }
    let domain = domain_mut(router, id)?;
    if !domain.members.is_empty() || domain.unknown.is_some() {
        return Err(Error::InUse);
    }
    let index = domain.index;
    let bridging = router.own_mut::<Bridging>();
    bridging.domains.remove(&id);
    bridging.by_index.remove(&index);
    bridging.flush_domain(index);
    hide_domain(router, index);
    macs::forget(router, Gone::Domain(index));
    router.note(format_args!("bridge domain {id}: deleted"));
    Ok(())
}

/// Adds an interface to a bridge domain, which is created if necessary.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn bridge(
    router: &mut Router,
    interface: InterfaceIndex,
    id: u32,
    role: Role,
    group: u8,
) -> Result<(), Error> {
    at(router, interface)?;
    match id {
        0 => return Err(Error::Zero),
        _ if id > MAX_ID => return Err(Error::Id),
        _ => {}
    }
    let bridging = router.own::<Bridging>();
    let there = bridging.domains.get(&id);
    if role == Role::Bvi && there.and_then(|d| d.bvi).is_some_and(|bvi| bvi != interface) {
        return Err(Error::HasBvi);
    }
    if there.is_none() {
        add(router, Some(id), DEFAULT_BITS, 0)?;
    }
    leave(router, interface);
    let index = router.own::<Bridging>().domains.get(&id).ok_or(Error::NoDomain)?.index;
    let is_back = [Gone::Port(interface), Gone::Bvi(index)];
    macs::finish(router, |gone| is_back.contains(&gone));
    let bridging = router.own_mut::<Bridging>();
    let domain = bridging.domains.get_mut(&id).ok_or(Error::NoDomain)?;
    let before = match role {
        Role::Unknown => domain.unknown.replace(interface),
        Role::Bvi => {
            domain.bvi = Some(interface);
            domain.members.push((interface, group));
            None
        }
        Role::Normal => {
            domain.members.push((interface, group));
            None
        }
    };
    // The router's own address is set, so there is nothing to learn from it.
    let input = if role == Role::Bvi { input::OWN & !input::LEARN } else { input::OWN };
    let port = Port { place: Place::Bridge(id, role, group), input, output: 0 };
    bridging.ports.insert(interface, port);
    if let Some(before) = before {
        bridging.ports.remove(&before);
        publish_port(router, before);
    }
    if role == Role::Bvi {
        let mac = router.interfaces.at(interface).map_or(MacAddr::ZERO, |i| i.mac);
        macs::set_entry(router, index, mac, Entry::fixed(interface.0, fib::STATIC | fib::BVI));
    }
    publish_domain(router, id);
    Ok(())
}

/// Sends all frames of an interface out of another one.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn cross_connect(
    router: &mut Router,
    from: InterfaceIndex,
    to: InterfaceIndex,
) -> Result<(), Error> {
    at(router, from)?;
    router.interfaces.at(to).ok_or(Error::NoPeer)?;
    if from == to {
        return Err(Error::Itself);
    }
    leave(router, from);
    let port = Port { place: Place::CrossConnect(to), input: 0, output: 0 };
    router.own_mut::<Bridging>().ports.insert(from, port);
    publish_port(router, from);
    Ok(())
}

/// Gives all frames of an interface to a feature, which is on [`net::ethernet::L2_INPUT`]: with
/// their tags, as they are rewritten. What the feature sends by `l2-output` keeps its tags but for
/// that. An interface that is bridged or cross-connected stays so. Once for each feature; see
/// [`give_back`].
///
/// # Errors
/// [`Error::NoInterface`].
pub fn lend(router: &mut Router, interface: InterfaceIndex) -> Result<(), Error> {
    at(router, interface)?;
    let ports = &mut router.own_mut::<Bridging>().ports;
    let place = Place::Lent(0);
    let port = ports.entry(interface).or_insert(Port { place, input: 0, output: 0 });
    if let Place::Lent(count) = &mut port.place {
        *count += 1;
        publish_port(router, interface);
    }
    Ok(())
}

/// Ends what [`lend`] began; with the last feature the interface is one of layer 3 again.
pub fn give_back(router: &mut Router, interface: InterfaceIndex) {
    let port = router.own_mut::<Bridging>().ports.get_mut(&interface);
    match port.map(|port| &mut port.place) {
        Some(Place::Lent(count @ 2..)) => *count -= 1,
        Some(Place::Lent(_)) => leave(router, interface),
        _ => (),
    }
}

/// Gives an interface back to layer 3.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn routed(router: &mut Router, interface: InterfaceIndex) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    leave(router, interface);
    Ok(())
}

/// Takes an interface out of layer 2; addresses learned there count no longer.
pub(crate) fn leave(router: &mut Router, interface: InterfaceIndex) {
    let bridging = router.own_mut::<Bridging>();
    let Some(port) = bridging.ports.remove(&interface) else { return };
    bridging.flush_port(interface);
    if let Place::Bridge(id, role, _) = port.place {
        let domain = bridging.domains.get_mut(&id);
        let domain = domain.expect("a domain is there while it has ports");
        domain.members.retain(|m| m.0 != interface);
        match role {
            Role::Bvi => domain.bvi = None,
            Role::Unknown => domain.unknown = None,
            Role::Normal => {}
        }
        let index = domain.index;
        publish_port(router, interface);
        if role == Role::Bvi {
            macs::forget(router, Gone::Bvi(index));
        }
        publish_domain(router, id);
        super::scan::soon(router);
    } else {
        publish_port(router, interface);
    }
}

/// Forgets an interface that is about to be deleted.
pub(crate) fn forget(router: &mut Router, interface: InterfaceIndex) {
    let patches = router.own::<Bridging>().patches.iter();
    let its = patches.filter(|(rx, tx)| interface == **rx || interface == **tx);
    for rx in its.map(|(rx, _)| *rx).collect::<Vec<_>>() {
        // Both are there.
        let _ = set_patch(router, rx, None);
    }
    let bridging = router.own::<Bridging>();
    let is_peer = |port: &Port| port.place == Place::CrossConnect(interface);
    let connected: Vec<_> =
        bridging.ports.iter().filter(|(_, p)| is_peer(p)).map(|p| *p.0).collect();
    connected.into_iter().for_each(|from| leave(router, from));
    if router.own::<Bridging>().ports.contains_key(&interface) {
        leave(router, interface);
        macs::forget(router, Gone::Port(interface));
    }
}

/// Makes all frames of an interface leave by another one, or stops.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn set_patch(
    router: &mut Router,
    rx: InterfaceIndex,
    tx: Option<InterfaceIndex>,
) -> Result<(), Error> {
    router.put(rx, Patched(tx)).map_err(|_| Error::NoInterface)?;
    let patches = &mut router.own_mut::<Bridging>().patches;
    match tx {
        Some(tx) => drop(patches.insert(rx, tx)),
        None => drop(patches.remove(&rx)),
    }
    Ok(())
}

/// Adds or deletes the owner of an address in a domain, for ARP termination.
///
/// # Errors
/// [`Error`].
pub fn set_owner(
    router: &mut Router,
    id: u32,
    addr: IpAddr,
    mac: Option<MacAddr>,
) -> Result<(), Error> {
    let done = change(router, id, |domain| {
        let owners = Arc::make_mut(&mut domain.owners);
        match mac {
            Some(mac) => {
                owners.insert(addr, mac);
                true
            }
            None => owners.remove(&addr).is_some(),
        }
    });
    if done? { Ok(()) } else { Err(Error::NoEntry) }
}

/// Sets or clears features of a port; returns the bitmap of its input features.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn set_bits(
    router: &mut Router,
    interface: InterfaceIndex,
    [received, sent]: [u32; 2],
    on: bool,
) -> Result<[u32; 2], Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    if let Some(port) = router.own_mut::<Bridging>().ports.get_mut(&interface) {
        let change = |old: u32, bits: u32| if on { old | bits } else { old & !bits };
        port.input = change(port.input, received & input::OWN);
        port.output = change(port.output, sent & BLOCKING);
    }
    arcs::switch(router, &L2_INPUT, interface, received & !(input::OWN | input::XCONNECT), on);
    arcs::switch(router, &L2_OUTPUT, interface, sent, on);
    publish_port(router, interface);
    bits(router, interface)
}

/// Bitmaps of the input and output features of an interface.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn bits(router: &Router, interface: InterfaceIndex) -> Result<[u32; 2], Error> {
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let port = router.own::<Bridging>().ports.get(&interface);
    let on = arcs::bits_on(router, &L2_INPUT, interface) & !input::OWN;
    let own = port.map_or([0; 2], |port| [port.input, port.output]);
    Ok([on | own[0], arcs::bits_on(router, &L2_OUTPUT, interface) | own[1]])
}

/// Sets the tag rewrite of an interface.
///
/// # Errors
/// [`rewrite::Error`]; nothing has changed then.
pub fn set_rewrite(
    router: &mut Router,
    interface: InterfaceIndex,
    mut wanted: TagRewrite,
) -> Result<(), rewrite::Error> {
    let i = router.interfaces.at(interface).ok_or(rewrite::Error::NoInterface)?;
    made(i, &wanted)?;
    if !wanted.is_backbone {
        // What the operation does not push is of no meaning.
        let count = rewrite::pushed(wanted.op);
        wanted.push_dot1q = u32::from(count > 0 && wanted.push_dot1q != 0);
        wanted.tags[count..].fill(0);
    }
    router.note_tag_rewrite(interface, wanted);
    if router.own::<Bridging>().ports.contains_key(&interface) {
        publish_port(router, interface);
    }
    Ok(())
}

/// Edits of an interface that rewrites tags so.
pub(crate) fn made(i: &net::Interface, wanted: &TagRewrite) -> Result<Rewrite, rewrite::Error> {
    if wanted.is_backbone { rewrite::backbone(wanted) } else { rewrite::vlan(i, wanted) }
}
