//! Connection tracking for IPv6 (RFC 6092): an interface to the outside lets in what answers
//! something that it sent.
#![forbid(unsafe_code)]

mod api;
mod cli;
mod node;
mod state;

use net::interface::INTERFACE_OUTPUT;
use net::prelude::*;

pub use api::*;

/// Connection tracking for IPv6.
pub const FEATURE: Feature = Feature {
    name: "ct6",
    about: "Connection tracking for IPv6",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip6", "sessions", "translation"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The process that ends what is over.
const PROCESS: &str = "ct6-expire";
/// Time between its rounds.
const ROUND: Duration = Duration::from_secs(5);

/// The setting of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// Connections that begin with what it sends are remembered.
    pub inside: bool,
    /// Received packets are checked.
    pub outside: bool,
}

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
}

/// Sets a side of an interface.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn set_side(
    router: &mut Router,
    interface: InterfaceIndex,
    is_inside: bool,
    on: bool,
) -> Result<(), Error> {
    router.interfaces.at(interface).ok_or(NoInterface)?;
    let mut sides = router.setting::<Sides>(interface);
    *(if is_inside { &mut sides.inside } else { &mut sides.outside }) = on;
    Ok(router.put(interface, sides)?)
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.attach::<Sides>().map_err(refuse)?;
    let all = state::new(router).map_err(refuse)?;
    node::add(router, &all).map_err(refuse)?;
    router.insert(state::Tracker(all));
    let [inside, outside] = node::NAMES;
    router.attach_at::<Sides, _>([
        AttachedAt { arc: &INTERFACE_OUTPUT, node: inside, is_on: |s| s.inside },
        AttachedAt { arc: &IP6_UNICAST, node: outside, is_on: |s| s.outside },
    ]);
    router.on_threads.push(state::threads_changed);
    let body = |router: &mut Router, _| match state::expire(router) {
        true => Wake::After(Duration::from_millis(1)),
        false => Wake::After(ROUND),
    };
    router.processes.spawn(PROCESS, Box::new(body));
    sessions::list(router, "ct6", state::usage);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
