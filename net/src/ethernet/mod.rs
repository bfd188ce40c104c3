//! Ethernet: the node that every frame enters by (IEEE 802.3 §3, RFC 894), and the arcs of layer 2.

mod ethertypes;
mod input;
mod layer2;
mod llc;
mod unbridged;

use infra::rcu::Shared;
use wire::ethernet::EtherType;

use crate::router::{Router, refuse};

pub use crate::interface::{SubTable, Tagged, Tags};
pub use ethertypes::lend_layer2;
pub use input::{
    EthernetInput, FastPath, NOBODY, Next, NodeByNode, for_own, note_headers, own_untagged,
};
pub use layer2::{
    L2_INPUT, L2_INPUT_IP4, L2_INPUT_IP6, L2_INPUT_NONIP, L2_OUTPUT, L2_OUTPUT_IP4, L2_OUTPUT_IP6,
    L2_OUTPUT_NONIP,
};
pub use llc::SnapProtocol;
pub use unbridged::{Unbridged, bridged_header};

/// Adds Ethernet input, with a fast path for usual packets.
///
/// # Errors
/// Those of the graph.
pub fn add<F: FastPath>(router: &mut Router, fast: F) -> Result<(), control::feature::Refused> {
    let types = ethertypes::EtherTypes::default();
    let bridging = input::Bridging(Shared::new(None));
    let input = EthernetInput::new(&router.interfaces, &types, &bridging, fast);
    router.engine.add(input).map_err(refuse)?;
    router.insert(bridging);
    router.engine.add(Unbridged::new(&router.interfaces)).map_err(refuse)?;
    router.insert(types);
    router.on_leaving.push(ethertypes::forget::<F>);
    llc::add(router).map_err(refuse)?;
    router.register_ethertype(EtherType::LENGTH, llc::LLC).map_err(refuse)?;
    // Frames that are too long to tell their length (draft-ietf-isis-ext-eth).
    router.register_ethertype(EtherType::new(0x8870), llc::LLC).map_err(refuse)?;
    Ok(())
}

#[cfg(test)]
mod tests;
