//! Captures of packets: received, transmitted or dropped ones, at nodes and on feature arcs, to
//! files and streams.
//!
//! The engine shows packets in front of nodes to watchers ([`graph::Watch`]): nodes know nothing of
//! captures, and while there is none nothing is done. A watcher copies what is wanted into the lane
//! of its thread ([`copies`]); a writer of the capture's own takes copies out and writes them
//! ([`writer`]), in the form that was asked for ([`form`]). `pcap trace` and `pcap dispatch trace`
//! are captures like any other, in classic files.
#![forbid(unsafe_code)]

mod captures;
mod commands;
mod copies;
mod dispatch;
mod form;
mod pcapng;
mod points;
mod request;
mod stop;
mod writer;

pub use captures::{
    Capture, CaptureRequest, Captures, Ended, Error, Folder, NewCapture, Places, Written, place,
};
pub use form::Kind;
pub use points::Chooser;
pub use writer::{Limits, Sink};

use net::{Configuration, Feature, Origin, Parts};

/// Captures of packets.
pub const FEATURE: Feature = Feature {
    name: "capture",
    about: "Captures of packets at any place",
    origin: Origin::Core,
    default_enabled: true,
    requires: &["interface", "trace"],
    register,
    configuration: Configuration::None("packets are captured for a while"),
};

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    parts.router.insert(Captures::default());
    parts.router.interfaces.observe(captures::follow);
    commands::register(&mut parts.cli);
    stop::register(&mut parts.cli);
    Ok(())
}
