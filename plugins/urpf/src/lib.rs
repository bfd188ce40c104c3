//! Checks of source addresses on interfaces: unicast reverse path forwarding (RFC 3704).
//!
//! *Loose* passes a packet when there is any route to its source. *Strict* passes received packets
//! when a path to their source leads over the interface, and transmitted ones when there is a route
//! to their source and no path leads over the interface: hosts behind it cannot have sent them.
//! Packets of this router pass on output.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;

use net::prelude::*;

pub use api::{UrpfInterfaceDetails, UrpfInterfaceDump, UrpfMode, UrpfUpdate, UrpfUpdateV2};
pub use node::{Sources, Urpf};

/// Source checks.
pub const FEATURE: Feature = Feature {
    name: "urpf",
    about: "Unicast Reverse Path Forwarding (uRPF)",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The mode of a source check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// There is a route.
    Loose,
    /// A path leads over the interface.
    Strict,
}

/// The direction of an interface's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received ones.
    Rx,
    /// Sent ones.
    Tx,
}

/// A check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// The mode.
    pub mode: Mode,
    /// The table of sources; `None` for that of the receive interface.
    pub table: Option<TableIndex>,
}

/// The setting of an interface: checks of received and sent packets, of IPv4 and IPv6.
pub type Checks = [[Option<Check>; 2]; 2];

/// Reasons why a check is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// Nonexistent table id {0}
    #[retval(NO_SUCH_FIB)]
    NoTable(u32),
}

/// Checks sources of an interface's packets, in a table of this number or that of their receive
/// interface; no mode disables the check.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(
    router: &mut Router,
    interface: InterfaceIndex,
    (direction, version): (Direction, IpVersion),
    mode: Option<Mode>,
    table_id: Option<u32>,
) -> Result<(), Error> {
    let table = |id| router.fib.table_for(version, id).ok_or(Error::NoTable(id));
    let table = table_id.map(table).transpose()?;
    let mut checks = router.setting::<Checks>(interface);
    let check = mode.map(|mode| Check { mode, table });
    checks[direction as usize][version as usize] = check;
    Ok(router.put(interface, checks)?)
}

/// All checks, by interface.
pub fn all(router: &Router) -> impl Iterator<Item = (InterfaceIndex, Direction, IpVersion, Check)> {
    let places = [Direction::Rx, Direction::Tx]
        .map(|direction| IpVersion::ALL.map(|version| (direction, version)));
    router.settings::<Checks>().flat_map(move |(interface, checks)| {
        let both = places.as_flattened().to_vec().into_iter().zip(checks.as_flattened());
        both.filter_map(move |((direction, version), check)| {
            check.map(|check| (interface, direction, version, check))
        })
    })
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let settings = router.attach::<Checks>().map_err(refuse)?;
    node::add::<Ip4, 0>(router, &settings).map_err(refuse)?;
    node::add::<Ip6, 1>(router, &settings).map_err(refuse)?;
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
