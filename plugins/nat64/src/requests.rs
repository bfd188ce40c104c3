//! Requests of operators and clients.

use net::prelude::*;
use translation::session::Timeouts;
use wire::siit::embedded;

use crate::config::Static;
use crate::core::{classes, protocol4};
use crate::state::{
    Error, Nat, Role, change, release, remove_sessions, set_role, settings, show_totals,
};

/// Addresses of a range at most.
const MOST_ADDRESSES: u32 = 1 << 16;

/// Puts an interface on a side, where it may be already, or takes it off: off the only one it has,
/// whichever is named.
pub fn set_side(
    router: &mut Router,
    interface: InterfaceIndex,
    is_inside: bool,
    is_add: bool,
) -> Result<(), Error> {
    settings(router)?;
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let hands_off = router.engine.data_threads().len() > 1;
    let mut role = router.setting::<Role>(interface);
    let has_both = role.is_inside && role.is_outside;
    if !is_add && !role.is_inside && !role.is_outside {
        return Err(Error::NoSide);
    }
    let side = if is_inside { &mut role.is_inside } else { &mut role.is_outside };
    *side = is_add;
    let role = if is_add || has_both { Role { hands_off, ..role } } else { Role::default() };
    set_role(router, interface, role)
}

/// Adds addresses to the pool, or takes them out.
pub fn set_addresses(
    router: &mut Router,
    [first, last]: [Ipv4Addr; 2],
    vrf: Option<u32>,
    is_add: bool,
) -> Result<(), Error> {
    let (from, to) = (u32::from(first), u32::from(last));
    if to.checked_sub(from).is_none_or(|more| more >= MOST_ADDRESSES) {
        return Err(Error::BadRange);
    }
    let range: Vec<Ipv4Addr> = (from..=to).map(Ipv4Addr::from).collect();
    change(router, |s| {
        let is_there = |addr: &&Ipv4Addr| s.pool.iter().any(|(known, _)| known == *addr);
        if is_add {
            if let Some(known) = range.iter().find(is_there) {
                return Err(Error::InPool(*known));
            }
            s.pool.extend(range.iter().map(|addr| (*addr, vrf)));
            return Ok(());
        }
        if let Some(unknown) = range.iter().find(|addr| !is_there(addr)) {
            return Err(Error::NotInPool(*unknown));
        }
        s.pool.retain(|(addr, _)| !(first..=last).contains(addr));
        Ok(())
    })?;
    if !is_add {
        release(router, range);
    }
    Ok(())
}

/// Uses an interface's address as the pool, or stops.
pub fn set_interface_address(
    router: &mut Router,
    interface: InterfaceIndex,
    is_add: bool,
) -> Result<(), Error> {
    settings(router)?;
    router.interfaces.at(interface).ok_or(Error::NoInterface)?;
    let address = translation::address_of(router, interface);
    change(router, |s| {
        let at = s.interfaces.iter().position(|known| *known == interface);
        match (at, is_add) {
            (None, true) => s.interfaces.push(interface),
            (Some(at), false) => drop(s.interfaces.remove(at)),
            (Some(_), true) => return Err(Error::InterfaceInPool),
            (None, false) => return Err(Error::InterfaceNotInPool),
        }
        Ok(())
    })?;
    if !is_add {
        release(router, address.into_iter().collect());
    }
    Ok(())
}

/// Sets or deletes the NAT64 prefix of a table. With an interface, packets to it are received there
/// once more, for translation.
pub fn set_prefix(
    router: &mut Router,
    prefix: Ip6Prefix,
    (vrf, on): (u32, Option<InterfaceIndex>),
    is_add: bool,
) -> Result<(), Error> {
    if on.is_some_and(|on| router.interfaces.at(on).is_none()) {
        return Err(Error::NoInterface);
    }
    if !embedded::LENS.contains(&prefix.prefix_len()) {
        return Err(Error::PrefixLen(prefix.prefix_len()));
    }
    let prefix = prefix.network();
    change(router, |s| {
        if is_add {
            s.prefixes.insert(vrf, prefix);
            match on {
                Some(on) => drop(s.received.insert(vrf, on)),
                None => drop(s.received.remove(&vrf)),
            }
            return Ok(());
        }
        match s.prefixes.get(&vrf) {
            Some(known) if *known == prefix => {
                s.prefixes.remove(&vrf);
                s.received.remove(&vrf);
            }
            _ => return Err(Error::NoPrefix(vrf)),
        }
        Ok(())
    })
}

/// Adds or deletes a static mapping; sessions of its ends are deleted.
pub fn set_static(router: &mut Router, new: Static, is_add: bool) -> Result<(), Error> {
    let new = Static { protocol: protocol4(new.protocol), ..new };
    change(router, |s| {
        let host = |m: &Static| (m.host, m.port, m.protocol, m.vrf);
        let outside = |m: &Static| (m.outside, m.outside_port, m.protocol);
        if is_add {
            let meets = |m: &Static| host(m) == host(&new) || outside(m) == outside(&new);
            if s.statics.iter().any(meets) {
                return Err(Error::Mapped);
            }
            s.statics.push(new);
            return Ok(());
        }
        let at = s.statics.iter().position(|m| *m == new).ok_or(Error::NotMapped)?;
        s.statics.remove(at);
        Ok(())
    })?;
    remove_sessions(router, move |s| {
        let is_host = (s.forward.src, s.forward.src_port) == (new.host.octets(), new.port);
        let end = (s.reverse.dst, s.reverse.dst_port);
        let is_outside = end == (new.outside.octets(), new.outside_port);
        s.reverse.protocol() == new.protocol && (is_host || is_outside)
    })
}

/// Sets the timeouts.
pub fn set_timeouts(router: &mut Router, new: Timeouts) -> Result<(), Error> {
    change(router, |s| {
        s.timeouts = new;
        Ok(())
    })?;
    let all = router.own::<Nat>().all.current().clone();
    let Some(all) = all else { return Ok(()) };
    all.sessions.set_classes(router, classes(new)).map_err(|_| Error::NoAnswer)
}

/// Ends all sessions.
pub fn clear(router: &mut Router) -> Result<(), Error> {
    let statics = settings(router)?.statics.len();
    remove_sessions(router, |_| true)?;
    show_totals(router, statics);
    Ok(())
}
