//! Requests of operators and clients.

use net::prelude::*;
use translation::mapping::{Local, Mapping, Twice};

use crate::state::{Error, Nat};

/// Adds or deletes a server of a mapping; at least two stay.
pub fn set_local(
    router: &mut Router,
    external: (Ipv4Addr, u16, Protocol),
    local: Local,
    is_add: bool,
) -> Result<(), Error> {
    Nat::change(router, |s| {
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
        let _ = Nat::remove_sessions(router, move |s| {
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

/// Sets how many sessions a table may have.
pub fn set_limit(router: &mut Router, vrf: u32, most: u32) -> Result<(), Error> {
    Nat::settings(router)?;
    router.fib.table::<Ip4>(vrf).ok_or(Error::NoTable(vrf))?;
    Nat::change(router, |s| {
        s.more.limits.insert(vrf, most);
        Ok(())
    })
}

/// Adds or deletes a table of inside hosts, with tables of external hosts.
pub fn set_table(router: &mut Router, vrf: u32, is_add: bool) -> Result<(), Error> {
    Nat::change(router, |s| match (s.more.vrfs.contains_key(&vrf), is_add) {
        (false, true) => {
            s.more.vrfs.insert(vrf, [vrf].into());
            Ok(())
        }
        (true, false) => {
            s.more.vrfs.remove(&vrf);
            Ok(())
        }
        (true, true) => Err(Error::Exists),
        (false, false) => Err(Error::Unknown),
    })
}

/// Adds or deletes a table of external hosts of an inside table.
pub fn set_route(router: &mut Router, vrf: u32, far: u32, is_add: bool) -> Result<(), Error> {
    Nat::change(router, |s| {
        let tables = s.more.vrfs.get_mut(&vrf).ok_or(Error::Unknown)?;
        match is_add {
            true if !tables.insert(far) => Err(Error::Exists),
            false if !tables.remove(&far) => Err(Error::Unknown),
            _ => Ok(()),
        }
    })
}
