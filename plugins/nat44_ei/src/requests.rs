//! Requests of operators and clients.

use net::prelude::*;
use sessions::slices::Gather;
use translation::mapping::Mapping;
use translation::ports::PortSet;
use translation::session::NatSession;

use crate::state::{Error, Nat};

/// Sets the ports that packets get.
pub fn set_ports(router: &mut Router, ports: PortSet) -> Result<(), Error> {
    if !ports.is_valid() {
        return Err(Error::BadRange);
    }
    Nat::change(router, |s| {
        s.more.ports = ports;
        Ok(())
    })
}

/// Adds addresses to the pool, or takes them out; with static mappings only there is none.
pub fn set_addresses(
    router: &mut Router,
    range: [Ipv4Addr; 2],
    vrf: Option<u32>,
    is_add: bool,
) -> Result<(), Error> {
    let settings = Nat::settings(router)?;
    if settings.more.is_static_only {
        return Err(Error::StaticOnly);
    }
    let has_port = |m: &Mapping| {
        let is_bound = !m.is_of_address() && m.interface.is_none();
        is_bound && (range[0]..=range[1]).contains(&m.external)
    };
    if !is_add && settings.mappings.iter().any(has_port) {
        return Err(Error::InUse);
    }
    Nat::set_addresses(router, range, vrf, false, is_add)
}

/// Ends all sessions of a host, whose table is given by its index.
pub fn remove_user<R: 'static>(
    router: &Router,
    host: Ipv4Addr,
    table: TableIndex,
    answer: impl FnOnce(Result<(), Error>) -> R + 'static,
) -> Result<Gather<(), R>, Error> {
    Nat::settings(router)?;
    let host = host.octets();
    let is_meant = move |s: &NatSession| s.forward.src == host && s.data.in_fib == table.0;
    Ok(Nat::ended(router, is_meant, answer))
}

/// Enables the export of records of all kinds of NAT, in a domain and from a port, or disables it.
pub fn set_export(router: &mut Router, to: Option<(u32, u16)>) -> Result<(), Error> {
    Nat::settings(router)?;
    if to.is_some() || nat_log::exported(router).is_some() {
        let done = nat_log::export(router, nat_log::Translator::Nat44Ei, to);
        done.expect("what is exported can be ended");
    }
    Ok(())
}
