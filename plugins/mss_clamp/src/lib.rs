//! TCP MSS clamping: the maximum segment size that hosts tell each other (RFC 9293 section 3.7.1)
//! is lowered where a path is known to carry less.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;

use net::ip4::IP4_OUTPUT;
use net::ip6::IP6_OUTPUT;
use net::prelude::*;

pub use api::{MssClampDir, MssClampEnableDisable, MssClampGet};
pub use node::{Clamp, Clamped};

/// MSS clamping.
pub const FEATURE: Feature = Feature {
    name: "mss_clamp",
    about: "TCP MSS clamping plugin",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4", "ip6"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The clamping of one IP version's packets on an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clamping {
    /// Bytes of a segment at most.
    pub mss: u16,
    /// Received packets.
    pub rx: bool,
    /// Sent packets.
    pub tx: bool,
}

/// The setting of an interface: for IPv4 and IPv6.
pub type Both = [Clamping; 2];

/// Reasons why clamping cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
    /// the maximum segment size must not be 0
    #[retval(INVALID_VALUE)]
    Zero,
}

/// Sets how packets are clamped on an interface.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn set(router: &mut Router, interface: InterfaceIndex, both: Both) -> Result<(), Error> {
    if both.iter().any(|c| (c.rx || c.tx) && c.mss == 0) {
        return Err(Error::Zero);
    }
    Ok(router.put(interface, both)?)
}

/// The interfaces with clamping, by number.
pub fn all(router: &Router) -> impl Iterator<Item = (InterfaceIndex, Both)> {
    let set = router.settings::<Both>().map(|(interface, both)| (interface, *both));
    set.filter(|(_, both)| both.iter().any(|c| c.rx || c.tx))
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    let settings = router.attach::<Both>().map_err(refuse)?;
    node::add::<V4>(router, [&IP4_UNICAST, &IP4_OUTPUT], &settings).map_err(refuse)?;
    node::add::<V6>(router, [&IP6_UNICAST, &IP6_OUTPUT], &settings).map_err(refuse)?;
    router.attach_at::<Both, _>([
        AttachedAt { arc: &IP4_UNICAST, node: V4::NAMES[0], is_on: |both| both[0].rx },
        AttachedAt { arc: &IP4_OUTPUT, node: V4::NAMES[1], is_on: |both| both[0].tx },
        AttachedAt { arc: &IP6_UNICAST, node: V6::NAMES[0], is_on: |both| both[1].rx },
        AttachedAt { arc: &IP6_OUTPUT, node: V6::NAMES[1], is_on: |both| both[1].tx },
    ]);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
