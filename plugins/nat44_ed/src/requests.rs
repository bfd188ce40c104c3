//! What operators and clients ask for.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use net::Router;
use net::fib::Ip4;
use net::interface::InterfaceIndex;
use translation::address_of;
use translation::mapping::{self, Local, Mapping, Twice};
use translation::pool::PoolAddress;
use translation::session::Timeouts;
use wire::Protocol;

use crate::core::Core;
use crate::log;
use crate::state::{
    Error, Nat, Role, change, release_address, release_mapping, remove_sessions, set_role, settings,
};

/// Adds a role to an interface, or takes it away.
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

/// Adds addresses to a pool, or takes them out.
pub fn set_addresses(
    router: &mut Router,
    range: [Ipv4Addr; 2],
    vrf: Option<u32>,
    is_twice: bool,
    is_add: bool,
) -> Result<(), Error> {
    let gone = change(router, |s| s.pool.set(range, vrf, is_twice, is_add))?;
    gone.into_iter().for_each(|address| release_address(router, address));
    Ok(())
}

/// Has packets get the address of an interface, or no longer.
pub fn set_interface_address(
    router: &mut Router,
    interface: InterfaceIndex,
    is_twice: bool,
    is_add: bool,
) -> Result<(), Error> {
    settings(router)?;
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let address = address_of(router, interface);
    change(router, |s| s.pool.set_interface(interface, is_twice, is_add))?;
    if let Some(addr) = address.filter(|_| !is_add) {
        let from = Some(interface.0);
        release_address(router, PoolAddress { addr, vrf: None, is_twice, from });
    }
    Ok(())
}

/// Adds a mapping.
pub fn add_mapping(router: &mut Router, new: Mapping) -> Result<(), Error> {
    settings(router)?;
    mapping::check(router, &new)?;
    change(router, |s| mapping::add(&mut s.mappings, new))
}

/// Takes a mapping away: the one that stands for the same outside, with the same hosts if it is
/// not balanced.
pub fn remove_mapping(router: &mut Router, old: &Mapping) -> Result<(), Error> {
    let gone = change(router, |s| mapping::remove(&mut s.mappings, old))?;
    release_mapping(router, &gone);
    Ok(())
}

/// Adds a host to a mapping, or takes it away; two stay at least.
pub fn set_local(
    router: &mut Router,
    external: (Ipv4Addr, u16, Protocol),
    local: Local,
    is_add: bool,
) -> Result<(), Error> {
    change(router, |s| {
        let (addr, port, protocol) = external;
        let is_meant = |m: &&mut Mapping| {
            m.is_balanced && (m.external, m.port, m.protocol) == (addr, port, Some(protocol))
        };
        let mapping = s.mappings.iter_mut().find(is_meant).ok_or(Error::Unknown)?;
        let same = |l: &Local| (l.addr, l.port, l.vrf) == (local.addr, local.port, local.vrf);
        match (mapping.locals.iter().position(same), is_add) {
            (None, true) => mapping.locals.push(local),
            (Some(_), false) if mapping.locals.len() <= 2 => return Err(Error::TooFewHosts),
            (Some(at), false) => drop(mapping.locals.remove(at)),
            (Some(_), true) => return Err(Error::Exists),
            (None, false) => return Err(Error::Unknown),
        }
        Ok(())
    })?;
    if !is_add {
        let (host, protocol) = ((local.addr.octets(), local.port), external.2);
        let _ = remove_sessions(router, move |s| {
            (s.forward.src, s.forward.src_port) == host && s.forward.protocol() == protocol
        });
    }
    Ok(())
}

/// How the far end is translated, from the words of a request.
pub fn twice_of(always: bool, to_itself: bool) -> Result<Twice, Error> {
    match (always, to_itself) {
        (true, true) => Err(Error::BothTwice),
        (true, false) => Ok(Twice::Always),
        (false, true) => Ok(Twice::ToItself),
        (false, false) => Ok(Twice::No),
    }
}

/// Sets the timeouts.
pub fn set_timeouts(router: &mut Router, new: Timeouts) -> Result<(), Error> {
    change(router, |s| {
        s.timeouts = new;
        Ok(())
    })?;
    let sessions = router.own::<Nat>().sessions.current().clone();
    let Some(sessions) = sessions else { return Ok(()) };
    sessions.set_classes(router, new.classes()).map_err(|_| Error::NoAnswer)
}

/// Sets how many sessions a table may have.
pub fn set_limit(router: &mut Router, vrf: u32, most: u32) -> Result<(), Error> {
    settings(router)?;
    router.fib.table::<Ip4>(vrf).ok_or(Error::NoTable(vrf))?;
    change(router, |s| {
        s.limits.insert(vrf, most);
        Ok(())
    })
}

/// A session as clients name it.
#[derive(Clone, Copy, Debug)]
pub struct SessionName {
    /// Whether the address is that of the host, not the one it gets.
    pub is_inside: bool,
    /// Address and port.
    pub near: ([u8; 4], u16),
    /// The far end as seen from there, if it counts.
    pub far: Option<([u8; 4], u16)>,
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
        let (near, far) = match name.is_inside {
            true => ((s.forward.src, s.forward.src_port), (s.forward.dst, s.forward.dst_port)),
            false => ((s.reverse.dst, s.reverse.dst_port), (s.reverse.src, s.reverse.src_port)),
        };
        near == name.near
            && name.far.is_none_or(|f| f == far)
            && s.forward.protocol() == name.protocol
            && (!name.is_inside || s.data.in_fib == table.0)
    })?;
    if gone > 0 { Ok(()) } else { Err(Error::Unknown) }
}

/// Ends what is over; whether there may be more.
pub fn expire(router: &mut Router) -> bool {
    let nat = router.own::<Nat>();
    let core = nat.core.clone();
    let Some(sessions) = nat.sessions.current().clone() else { return false };
    let by_fib = core.by_fib.clone();
    let is_logged = nat_log::is_wanted(router);
    let ends = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&ends);
    let more = sessions.expire(router, move |_, end, gone| {
        Core::ended(&by_fib, end, gone);
        if is_logged {
            to.lock().unwrap_or_else(PoisonError::into_inner).push(*gone);
        }
    });
    let ends = std::mem::take(&mut *ends.lock().unwrap_or_else(PoisonError::into_inner));
    log::ended(router, &ends);
    let _ = sessions.visit(router, move |thread, table| core.show_total(thread, table));
    more
}

/// Adds a table of hosts whose far ends are in certain tables, or takes it away.
pub fn set_table(router: &mut Router, vrf: u32, is_add: bool) -> Result<(), Error> {
    change(router, |s| match (s.vrfs.contains_key(&vrf), is_add) {
        (false, true) => {
            s.vrfs.insert(vrf, [vrf].into());
            Ok(())
        }
        (true, false) => {
            s.vrfs.remove(&vrf);
            Ok(())
        }
        (true, true) => Err(Error::Exists),
        (false, false) => Err(Error::Unknown),
    })
}

/// Adds a table of far ends to one of hosts, or takes it away.
pub fn set_route(router: &mut Router, vrf: u32, far: u32, is_add: bool) -> Result<(), Error> {
    change(router, |s| {
        let tables = s.vrfs.get_mut(&vrf).ok_or(Error::Unknown)?;
        match is_add {
            true if !tables.insert(far) => Err(Error::Exists),
            false if !tables.remove(&far) => Err(Error::Unknown),
            _ => Ok(()),
        }
    })
}
