//! Limit on connections of TCP that a source begins with the router itself.
#![forbid(unsafe_code)]

mod node;

use net::ip4::IP4_LOCAL;
use net::prelude::*;

pub use node::{BURST, RATE};

/// Limit on connections of TCP to the router.
pub const FEATURE: Feature = Feature {
    name: "syn_filter",
    about: "Limit on connections of TCP that a source begins with the router",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["ip4"],
    register,
    configuration: Configuration::Commands(configuration),
};

/// The setting of an interface: whether connections over it are limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Filtered(bool);

/// Reasons why something cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    #[from(NoInterface)]
    NoInterface,
}

/// Enables or disables the SYN filter on an interface.
///
/// # Errors
/// [`Error::NoInterface`].
pub fn set(router: &mut Router, interface: InterfaceIndex, on: bool) -> Result<(), Error> {
    Ok(router.put(interface, Filtered(on))?)
}

/// Enable or disable the TCP SYN rate filter on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("ip syn filter")]
#[stage(Attachments)]
struct Set {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// disable
    disable: bool,
}

fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (interface, Filtered(on)) in router.settings::<Filtered>() {
        if *on {
            lines.push(&Set { interface, disable: false });
        }
    }
}

fn commands(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Set| Ok(set(router, c.interface, !c.disable)?));
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.attach::<Filtered>().map_err(refuse)?;
    router.engine.add_feature(&IP4_LOCAL, node::Filter::new()).map_err(refuse)?;
    let node = node::NAME;
    router.attach_at::<Filtered, _>([AttachedAt { arc: &IP4_LOCAL, node, is_on: |f| f.0 }]);
    commands(&mut parts.cli);
    Ok(())
}
