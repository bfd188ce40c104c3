//! Messages of the module `netmap`.
#![forbid(unsafe_code)]

use control::api::{Api, Message, Retval};
use net::Router;
use wire::MacAddr;

use super::commands::{delete, end_of_pipe};
use super::interface::{Netmaps, Wanted};
use crate::host::background::make;

/// Create an interface on a netmap port.
#[derive(Message)]
pub struct NetmapCreate {
    /// port name
    pub netmap_if_name: [u8; 64],
    /// MAC address, unless random
    pub hw_addr: [u8; 6],
    /// nonzero: use the device's address, or a random one
    pub use_random_hw_addr: u8,
    /// nonzero: the port is an end of a pipe
    pub is_pipe: u8,
    /// nonzero: it is the master end
    pub is_master: u8,
}

/// Delete an interface on a netmap port.
#[derive(Message)]
pub struct NetmapDelete {
    /// port name
    pub netmap_if_name: [u8; 64],
}

/// A name up to its zero.
fn name(bytes: &[u8; 64]) -> Result<&str, Retval> {
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    std::str::from_utf8(name).map_err(|_| Retval::INVALID_VALUE)
}

fn wanted(m: &NetmapCreate) -> Result<Wanted, Retval> {
    let name = name(&m.netmap_if_name)?;
    let port = if m.is_pipe != 0 { end_of_pipe(name, m.is_master != 0) } else { name.to_owned() };
    Ok(Wanted { port, mac: (m.use_random_hw_addr == 0).then_some(MacAddr(m.hw_addr)) })
}

pub(super) fn register(api: &mut Api<Router>) {
    api.plugin("netmap", "1.0.0")
        .task(|router: &mut Router, _, m: NetmapCreate| {
            make::<Netmaps, _, _>(router, wanted(&m)?, |_, made| made.map(drop))
        })
        .call(|router: &mut Router, m: NetmapDelete| Ok(delete(router, name(&m.netmap_if_name)?)?));
}
