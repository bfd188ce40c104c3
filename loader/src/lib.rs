//! Plugins in shared objects: what they register goes in while packets flow, and out again.
//!
//! A plugin is refused in words before any of its code runs when its stamp is not this router's. It
//! gets a table of functions with C layout, so it shares no code, type or static with the router.

mod built_in;
mod commands;
mod declare;
mod host;
mod object;
mod plugin;
mod stamp;

pub use plugin::{Error, Loader, load, unload};
pub use stamp::{Stamp, read as read_stamp};

use control::feature::Refused;
use net::interface::Change;
use net::{Configuration, Feature, Origin, Parts};

/// The loader of plugins.
pub const FEATURE: Feature = Feature {
    name: "loader",
    about: "Plugins in shared objects",
    origin: Origin::Core,
    default_enabled: true,
    requires: &[],
    register,
    configuration: Configuration::Commands(commands::configuration),
};

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let loader = Loader::new(parts.cli.clone(), parts.api.clone());
    parts.router.insert(loader);
    parts.router.interfaces.observe(|router, interface, change| {
        if change == Change::Deleting {
            plugin::forget_interface(router, interface);
        }
        host::tell_interface(router, interface, change);
    });
    commands::register(&mut parts.cli);
    Ok(())
}

#[cfg(test)]
mod tests;
