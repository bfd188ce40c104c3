//! Ethernet: the node every frame enters by (IEEE 802.3 §3, RFC 894).

mod input;

use crate::router::{Feature, Parts, refuse};

pub use input::EthernetInput;

/// Ethernet input.
pub const FEATURE: Feature =
    Feature { name: "ethernet", about: "Ethernet input", default_enabled: true, register };

fn register(parts: &mut Parts) -> Result<(), control::feature::Refused> {
    let router = &mut parts.router;
    router.engine.add(EthernetInput::new(&router.interfaces)).map_err(refuse)?;
    Ok(())
}
