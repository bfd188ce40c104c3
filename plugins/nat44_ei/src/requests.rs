//! Requests of operators and clients.

use net::prelude::*;
use translation::ports::PortSet;

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

/// Ends all sessions of a host, whose table is given by its index.
pub fn remove_user(router: &mut Router, host: Ipv4Addr, table: TableIndex) -> Result<(), Error> {
    Nat::settings(router)?;
    let host = host.octets();
    let gone =
        Nat::remove_sessions(router, move |s| s.forward.src == host && s.data.in_fib == table.0)?;
    if gone > 0 { Ok(()) } else { Err(Error::Unknown) }
}

/// Enables the export of records of all kinds of NAT, in a domain and from a port, or disables it.
pub fn set_export(router: &mut Router, to: Option<(u32, u16)>) -> Result<(), Error> {
    Nat::settings(router)?;
    if to.is_some() || nat_log::exported(router).is_some() {
        let done = nat_log::export(router, to);
        done.expect("what is exported can be ended");
    }
    Ok(())
}
