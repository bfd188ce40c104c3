//! The packet generator.
#![forbid(unsafe_code)]

use net::{Feature, Parts};

/// The packet generator.
pub const FEATURE: Feature =
    Feature { name: "pg", about: "Packet generator", default_enabled: true, register };

fn register(_: &mut Parts) -> Result<(), control::feature::Refused> {
    Ok(())
}
