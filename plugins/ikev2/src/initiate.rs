//! Initiation of associations: the peer's address and the local source address.

use dns::Resolved;
use ping::Origin;

use net::prelude::*;

use super::machine::{At, Ends, PORT};
use super::{Error, Ikev2, PROCESS, acts};

/// Seconds after which resolving a peer's name is given up.
const PATIENCE: f64 = 30.0;

/// Initiates an association, at once or when the peer's name is resolved.
///
/// # Errors
/// [`Error`].
pub(super) fn begin(router: &mut Router, name: &str) -> Result<(), Error> {
    let profile = router.own::<Ikev2>().machine.profiles.get(name);
    let profile = profile.ok_or_else(|| Error::NoProfile(name.to_owned()))?;
    let none = || Error::NoResponder(name.to_owned());
    let responder = profile.responder.clone().ok_or_else(none)?;
    let addr = match &responder.at {
        At::Addr(addr) => *addr,
        At::Name(host) => match dns::resolve(router, host) {
            Resolved::Addrs(addrs) => *addrs.first().ok_or(Error::Unresolved(host.clone()))?,
            Resolved::Unknown => return Err(Error::Unresolved(host.clone())),
            Resolved::Asked => {
                let now = router.now();
                router.own_mut::<Ikev2>().resolving.push((name.to_owned(), now));
                router.processes.signal(PROCESS, 0);
                return Ok(());
            }
        },
    };
    begin_with(router, name, responder.interface, addr)
}

fn begin_with(router: &mut Router, name: &str, interface: u32, addr: IpAddr) -> Result<(), Error> {
    let on = Some(InterfaceIndex(interface)).filter(|on| router.interfaces.at(*on).is_some());
    let origin = Origin::towards(addr, None, on.filter(|on| on.0 != 0), router);
    let origin = origin.map_err(|_| Error::Unreachable(addr))?;
    origin.end(router);
    let table = on.map_or(0_u16, |on| router.addresses.of(on).table_for(addr).0);
    let ends = Ends {
        local: (origin.src, PORT),
        remote: (addr, PORT),
        table,
        interface,
        node: if addr.is_ipv6() { 2 } else { 0 },
    };
    let now = router.now();
    let all = router.own_mut::<Ikev2>();
    all.machine.initiate(now, name, ends).map_err(Error::Machine)?;
    acts::carry_out(router);
    router.processes.signal(PROCESS, 0);
    Ok(())
}

/// Initiates associations again with peers that became silent.
pub(super) fn again(router: &mut Router, now: f64) {
    for name in router.own_mut::<Ikev2>().machine.due(now) {
        if let Err(why) = begin(router, &name) {
            router.log.class("ikev2", "").warn(format!("{name}: {why}"));
        }
    }
}

/// Continues associations whose peer's name has been resolved.
pub(super) fn resolve(router: &mut Router, now: f64) {
    let waiting = std::mem::take(&mut router.own_mut::<Ikev2>().resolving);
    for (name, since) in waiting {
        let profile = router.own::<Ikev2>().machine.profiles.get(&name);
        let Some(responder) = profile.and_then(|p| p.responder.clone()) else { continue };
        let At::Name(host) = &responder.at else { continue };
        let done = match dns::resolve(router, host) {
            Resolved::Addrs(addrs) => match addrs.first() {
                Some(addr) => begin_with(router, &name, responder.interface, *addr),
                None => Err(Error::Unresolved(host.clone())),
            },
            Resolved::Asked if now - since < PATIENCE => {
                router.own_mut::<Ikev2>().resolving.push((name, since));
                continue;
            }
            _ => Err(Error::Unresolved(host.clone())),
        };
        if let Err(why) = done {
            router.log.class("ikev2", "").warn(format!("{name}: {why}"));
        }
    }
}
