//! The packet generator: interfaces whose packets are made or replayed, and captured.
//!
//! A stream is described on the control side ([`stream`]) and runs in `pg-input` ([`input`]) on
//! one thread. What it sends comes from a template ([`data`]) or from a file ([`replay`]).
//! Its interfaces hold no packets for neighbours: what comes out follows from what goes in.
#![forbid(unsafe_code)]

pub mod api;
mod capture;
mod capturing;
mod coalesce;
mod commands;
pub mod data;
mod input;
mod interface;
mod mac_filter;
mod offload;
mod replay;
mod source;
mod spec;
mod stream;
mod trace;
mod tx;

use std::ops::Range;

use net::interface::Change;
use net::{Configuration, Feature, InterfaceIndex, Origin, Parts, Router};

use input::PgInput;
use stream::Generator;

/// The packet generator.
pub const FEATURE: Feature = Feature {
    name: "pg",
    about: "Packet generator",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["ethernet"],
    register,
    configuration: Configuration::Commands(interface::configuration),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    let router = &mut *parts.router;
    let input = PgInput::new(router.interfaces.counters());
    let input = router.engine.add_input(input).map_err(net::refuse)?;
    router.insert(Generator::new(input));
    router.interfaces.observe(changed);
    router.on_threads.push(move_to);
    api::register(&mut parts.api);
    commands::register(&mut parts.cli);
    interface::register(&mut parts.cli);
    coalesce::register(&mut parts.cli);
    mac_filter::register(parts.router, &mut parts.cli).map_err(net::refuse)?;
    Ok(())
}

/// Streams and captures end with their interface.
fn changed(router: &mut Router, index: InterfaceIndex, change: Change) {
    match change {
        Change::Deleting => {
            router.with::<Generator, _>(|generator, router| generator.forget(router, index));
        }
        Change::Segments => interface::follow_segments(router, index),
        _ => (),
    }
}

/// Streams go on at the threads that stay.
fn move_to(router: &mut Router, threads: &Range<usize>) -> Result<(), String> {
    let moved = router.with(|g: &mut Generator, router: &mut Router| {
        g.coalesce_on_all(router);
        g.move_to(router, threads)
    });
    moved.unwrap_or(Ok(())).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests;
