//! What operators and clients ask for.

use std::net::Ipv4Addr;

use net::Router;
use net::fib::{Ip4, TableIndex};
use net::interface::InterfaceIndex;
use translation::address_of;
use translation::mapping::{self, Mapping};
use translation::ports::PortSet;
use translation::session::Timeouts;
use wire::Protocol;

use crate::state::{
    Error, Nat, Role, change, release_address, release_addresses, release_mapping, remove_sessions,
    set_role, settings,
};

/// Adds a side to an interface, or takes it away.
pub fn set_interface(
    router: &mut Router,
    interface: InterfaceIndex,
    change: impl FnOnce(&mut Role) -> &mut bool,
    is_add: bool,
) -> Result<(), Error> {
    settings(router)?;
    let hands_off = router.engine.data_threads().len() > 1;
    let role = translation::role::changed(router, interface, change, is_add, hands_off)?;
    set_role(router, interface, role)
}

/// Adds addresses to the pool, or takes them out.
pub fn set_addresses(
    router: &mut Router,
    range: [Ipv4Addr; 2],
    vrf: Option<u32>,
    is_add: bool,
) -> Result<(), Error> {
    let gone = change(router, |s| s.pool.set(range, vrf, false, is_add))?;
    release_addresses(router, &gone);
    Ok(())
}

/// Has packets get the address of an interface, or no longer.
pub fn set_interface_address(
    router: &mut Router,
    interface: InterfaceIndex,
    is_add: bool,
) -> Result<(), Error> {
    settings(router)?;
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    change(router, |s| s.pool.set_interface(interface, false, is_add))?;
    if let Some(addr) = address_of(router, interface).filter(|_| !is_add) {
        release_address(router, addr);
    }
    Ok(())
}

/// Adds a mapping, or takes it away with its sessions.
pub fn set_mapping(router: &mut Router, mapping: Mapping, is_add: bool) -> Result<(), Error> {
    settings(router)?;
    if is_add {
        mapping::check(router, &mapping)?;
        return change(router, |s| mapping::add(&mut s.mappings, mapping));
    }
    let gone = change(router, |s| mapping::remove(&mut s.mappings, &mapping))?;
    release_mapping(router, &gone);
    Ok(())
}

/// Sets the ports that packets get.
pub fn set_ports(router: &mut Router, ports: PortSet) -> Result<(), Error> {
    if !ports.is_valid() {
        return Err(Error::BadRange);
    }
    change(router, |s| {
        s.ports = ports;
        Ok(())
    })
}

/// Sets the timeouts; sessions have the new ones at once.
pub fn set_timeouts(router: &mut Router, new: Timeouts) -> Result<(), Error> {
    change(router, |s| {
        s.timeouts = new;
        Ok(())
    })?;
    let sessions = router.own::<Nat>().sessions.current().clone();
    let Some(sessions) = sessions else { return Ok(()) };
    sessions.set_classes(router, new.classes()).map_err(|_| Error::NoAnswer)
}

/// A session as clients name it.
#[derive(Clone, Copy, Debug)]
pub struct SessionName {
    /// Whether the address is that of the host, not the one it gets.
    pub is_inside: bool,
    /// Address and port.
    pub near: ([u8; 4], u16),
    /// The protocol.
    pub protocol: Protocol,
    /// The table of the host, if it is named by its host.
    pub vrf: u32,
}

/// Ends a session.
pub fn remove_session(router: &mut Router, name: SessionName) -> Result<(), Error> {
    settings(router)?;
    let table = router.fib.table::<Ip4>(name.vrf).ok_or(Error::NoTable(name.vrf))?;
    let gone = remove_sessions(router, move |s| {
        let near = match name.is_inside {
            true => (s.forward.src, s.forward.src_port),
            false => (s.reverse.dst, s.reverse.dst_port),
        };
        near == name.near
            && s.forward.protocol() == name.protocol
            && (!name.is_inside || s.data.in_fib == table.0)
    })?;
    if gone > 0 { Ok(()) } else { Err(Error::Unknown) }
}

/// Ends all sessions of a host, whose table is given by its index.
pub fn remove_user(router: &mut Router, host: Ipv4Addr, table: TableIndex) -> Result<(), Error> {
    settings(router)?;
    let host = host.octets();
    let gone = remove_sessions(router, move |s| s.forward.src == host && s.data.in_fib == table.0)?;
    if gone > 0 { Ok(()) } else { Err(Error::Unknown) }
}

/// Has the records of all kinds of NAT exported, in a domain and from a port, or no longer.
pub fn set_export(router: &mut Router, to: Option<(u32, u16)>) -> Result<(), Error> {
    settings(router)?;
    if to.is_some() || nat_log::exported(router).is_some() {
        let done = nat_log::export(router, to);
        done.expect("what is exported can be ended");
    }
    Ok(())
}
