//! Types of messages about tunnels (`tunnel_types`), and answers that all kinds share.

use control::api::Retval;
use control::api::types::Address;

use super::{Kind, Outer, Tunnel, no_interface};
use crate::interface::InterfaceIndex;
use crate::router::Router;

control::numbers! {
    /// Fields copied between outer and inner headers.
    pub enum EncapDecapFlags: u8
        = "tunnel_encap_decap_flags" in "vnet/tunnel/tunnel_types.api" {
        NONE = 0 => "TUNNEL_API_ENCAP_DECAP_FLAG_NONE",
        ENCAP_COPY_DF = 1 => "TUNNEL_API_ENCAP_DECAP_FLAG_ENCAP_COPY_DF",
        ENCAP_SET_DF = 2 => "TUNNEL_API_ENCAP_DECAP_FLAG_ENCAP_SET_DF",
        ENCAP_COPY_DSCP = 4 => "TUNNEL_API_ENCAP_DECAP_FLAG_ENCAP_COPY_DSCP",
        ENCAP_COPY_ECN = 8 => "TUNNEL_API_ENCAP_DECAP_FLAG_ENCAP_COPY_ECN",
        DECAP_COPY_ECN = 16 => "TUNNEL_API_ENCAP_DECAP_FLAG_DECAP_COPY_ECN",
        ENCAP_INNER_HASH = 32 => "TUNNEL_API_ENCAP_DECAP_FLAG_ENCAP_INNER_HASH" later,
        ENCAP_COPY_HOP_LIMIT = 64 => "TUNNEL_API_ENCAP_DECAP_FLAG_ENCAP_COPY_HOP_LIMIT" later,
        ENCAP_COPY_FLOW_LABEL = 128 => "TUNNEL_API_ENCAP_DECAP_FLAG_ENCAP_COPY_FLOW_LABEL" later,
    }
    /// Tunnel mode: one or several far ends.
    pub enum TunnelMode: u8 = "tunnel_mode" in "vnet/tunnel/tunnel_types.api" {
        P2P = 0 => "TUNNEL_API_MODE_P2P",
        MP = 1 => "TUNNEL_API_MODE_MP",
    }
}

impl TunnelMode {
    /// Of a tunnel with several far ends, or one.
    pub fn of(is_multipoint: bool) -> Self {
        if is_multipoint { Self::MP } else { Self::P2P }
    }
}

/// The outer header that a message names by both addresses, the interface that a group is reached
/// by and the table.
///
/// # Errors
/// An address that is none, no such table.
pub fn outer(
    router: &Router,
    (src, dst): (Address, Address),
    group_over: InterfaceIndex,
    table: u32,
) -> Result<Outer, Retval> {
    let (src, dst) = (src.native()?, dst.native()?);
    let group_over = Some(group_over).filter(|i| dst.is_multicast() && *i != no_interface());
    Ok(Outer { group_over, ..Outer::new(src, dst, router.tunnel_table(src, table)?) })
}

/// Rows of tunnels of a kind: of that of an interface, or of all.
pub fn rows<K: Kind, R>(
    router: &Router,
    of: InterfaceIndex,
    row: impl Fn(&Router, &Tunnel<K>) -> R,
) -> Vec<R> {
    router.tunnels::<K>().chosen(of).map(|tunnel| row(router, tunnel)).collect()
}
