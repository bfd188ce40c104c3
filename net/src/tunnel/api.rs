//! Types of messages about tunnels (`tunnel_types`).

control::numbers! {
    /// Fields that a tunnel copies between the outer header and the packet it carries.
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
    /// Number of far ends of a tunnel.
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
