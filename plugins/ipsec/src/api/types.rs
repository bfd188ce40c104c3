//! API types for associations and policies (`ipsec_types`).

use control::Secret;
use control::api::types::{Address, IpDscp};
use control::api::{Fields, Record};
use net::InterfaceIndex;
use net::tunnel::{EncapDecapFlags, TunnelMode};

control::numbers! {
    /// Encryption algorithms.
    pub enum IpsecCryptoAlg: u32 = "ipsec_crypto_alg" in "vnet/ipsec/ipsec_types.api" {
        NONE = 0 => "IPSEC_API_CRYPTO_ALG_NONE",
        AES_CBC_128 = 1 => "IPSEC_API_CRYPTO_ALG_AES_CBC_128",
        AES_CBC_192 = 2 => "IPSEC_API_CRYPTO_ALG_AES_CBC_192",
        AES_CBC_256 = 3 => "IPSEC_API_CRYPTO_ALG_AES_CBC_256",
        AES_CTR_128 = 4 => "IPSEC_API_CRYPTO_ALG_AES_CTR_128",
        AES_CTR_192 = 5 => "IPSEC_API_CRYPTO_ALG_AES_CTR_192",
        AES_CTR_256 = 6 => "IPSEC_API_CRYPTO_ALG_AES_CTR_256",
        AES_GCM_128 = 7 => "IPSEC_API_CRYPTO_ALG_AES_GCM_128",
        AES_GCM_192 = 8 => "IPSEC_API_CRYPTO_ALG_AES_GCM_192",
        AES_GCM_256 = 9 => "IPSEC_API_CRYPTO_ALG_AES_GCM_256",
        DES_CBC = 10 => "IPSEC_API_CRYPTO_ALG_DES_CBC",
        TRIPLE_DES_CBC = 11 => "IPSEC_API_CRYPTO_ALG_3DES_CBC",
        CHACHA20_POLY1305 = 12 => "IPSEC_API_CRYPTO_ALG_CHACHA20_POLY1305" later,
        AES_NULL_GMAC_128 = 13 => "IPSEC_API_CRYPTO_ALG_AES_NULL_GMAC_128" later,
        AES_NULL_GMAC_192 = 14 => "IPSEC_API_CRYPTO_ALG_AES_NULL_GMAC_192" later,
        AES_NULL_GMAC_256 = 15 => "IPSEC_API_CRYPTO_ALG_AES_NULL_GMAC_256" later,
    }
    /// Integrity algorithms.
    pub enum IpsecIntegAlg: u32 = "ipsec_integ_alg" in "vnet/ipsec/ipsec_types.api" {
        NONE = 0 => "IPSEC_API_INTEG_ALG_NONE",
        MD5_96 = 1 => "IPSEC_API_INTEG_ALG_MD5_96",
        SHA1_96 = 2 => "IPSEC_API_INTEG_ALG_SHA1_96",
        SHA_256_96 = 3 => "IPSEC_API_INTEG_ALG_SHA_256_96",
        SHA_256_128 = 4 => "IPSEC_API_INTEG_ALG_SHA_256_128",
        SHA_384_192 = 5 => "IPSEC_API_INTEG_ALG_SHA_384_192",
        SHA_512_256 = 6 => "IPSEC_API_INTEG_ALG_SHA_512_256",
    }
    /// Flags of a security association.
    pub enum IpsecSadFlags: u32 = "ipsec_sad_flags" in "vnet/ipsec/ipsec_types.api" {
        NONE = 0 => "IPSEC_API_SAD_FLAG_NONE",
        USE_ESN = 1 => "IPSEC_API_SAD_FLAG_USE_ESN",
        USE_ANTI_REPLAY = 2 => "IPSEC_API_SAD_FLAG_USE_ANTI_REPLAY",
        IS_TUNNEL = 4 => "IPSEC_API_SAD_FLAG_IS_TUNNEL",
        IS_TUNNEL_V6 = 8 => "IPSEC_API_SAD_FLAG_IS_TUNNEL_V6",
        UDP_ENCAP = 16 => "IPSEC_API_SAD_FLAG_UDP_ENCAP",
        IS_INBOUND = 64 => "IPSEC_API_SAD_FLAG_IS_INBOUND",
        ASYNC = 128 => "IPSEC_API_SAD_FLAG_ASYNC" later,
    }
    /// Protocols.
    pub enum IpsecProto: u32 = "ipsec_proto" in "vnet/ipsec/ipsec_types.api" {
        ESP = 50 => "IPSEC_API_PROTO_ESP",
        AH = 51 => "IPSEC_API_PROTO_AH",
    }
    /// Action.
    pub enum IpsecSpdAction: u32 = "ipsec_spd_action" in "vnet/ipsec/ipsec_types.api" {
        BYPASS = 0 => "IPSEC_API_SPD_ACTION_BYPASS",
        DISCARD = 1 => "IPSEC_API_SPD_ACTION_DISCARD",
        RESOLVE = 2 => "IPSEC_API_SPD_ACTION_RESOLVE",
        PROTECT = 3 => "IPSEC_API_SPD_ACTION_PROTECT",
    }
    /// Tunnel flags.
    pub flags TunnelFlags: u8 = "tunnel_flags" in "vnet/tunnel/tunnel_types.api" {
        TRACK_MTU = 1 => "TUNNEL_API_FLAG_TRACK_MTU",
    }
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/ipsec/ipsec_types.api")]
pub struct Key {
    /// bytes
    pub length: u8,
    /// bytes, zero padded
    pub data: Secret<[u8; 128]>,
}

/// A tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[name("tunnel")]
#[file("vnet/tunnel/tunnel_types.api")]
pub struct TunnelRecord {
    /// instance number in the interface name
    pub instance: u32,
    /// local address
    pub src: Address,
    /// remote address
    pub dst: Address,
    /// interface index
    pub sw_if_index: InterfaceIndex,
    /// table to route the outer packets in
    pub table_id: u32,
    /// fields to copy
    pub encap_decap_flags: EncapDecapFlags,
    /// point-to-point or multipoint
    pub mode: TunnelMode,
    /// flags
    pub flags: TunnelFlags,
    /// DSCP of outer headers
    pub dscp: IpDscp,
    /// hop limit of outer headers
    pub hop_limit: u8,
}

/// Leading fields common to all versions of an association.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
pub struct Keys {
    /// SA ID
    pub sad_id: u32,
    /// SPI
    pub spi: u32,
    /// ESP or AH
    pub protocol: IpsecProto,
    /// encryption algorithm
    pub crypto_algorithm: IpsecCryptoAlg,
    /// key
    pub crypto_key: Key,
    /// integrity algorithm
    pub integrity_algorithm: IpsecIntegAlg,
    /// key
    pub integrity_key: Key,
    /// flags
    pub flags: IpsecSadFlags,
}

/// Fields after those of the tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
pub struct Behind {
    /// salt
    pub salt: u32,
    /// UDP source port
    #[preset(4500)]
    pub udp_src_port: u16,
    /// UDP destination port
    #[preset(4500)]
    pub udp_dst_port: u16,
}

/// A security association.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/ipsec/ipsec_types.api")]
pub struct IpsecSadEntry {
    /// number, algorithms, keys and flags
    #[flatten]
    pub keys: Keys,
    /// tunnel source address
    pub tunnel_src: Address,
    /// tunnel destination address
    pub tunnel_dst: Address,
    /// table to route the outer packets in
    pub tx_table_id: u32,
    /// salt and ports
    #[flatten]
    pub behind: Behind,
}

/// A security association with copied tunnel fields.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/ipsec/ipsec_types.api")]
pub struct IpsecSadEntryV2 {
    /// number, algorithms, keys and flags
    #[flatten]
    pub keys: Keys,
    /// tunnel source address
    pub tunnel_src: Address,
    /// tunnel destination address
    pub tunnel_dst: Address,
    /// fields to copy
    pub tunnel_flags: EncapDecapFlags,
    /// DSCP of outer headers
    pub dscp: IpDscp,
    /// table to route the outer packets in
    pub tx_table_id: u32,
    /// salt and ports
    #[flatten]
    pub behind: Behind,
}

/// A security association with a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/ipsec/ipsec_types.api")]
pub struct IpsecSadEntryV3 {
    /// number, algorithms, keys and flags
    #[flatten]
    pub keys: Keys,
    /// tunnel interface
    pub tunnel: TunnelRecord,
    /// salt and ports
    #[flatten]
    pub behind: Behind,
}

/// A security association with a tunnel and a window size.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/ipsec/ipsec_types.api")]
pub struct IpsecSadEntryV4 {
    /// number, algorithms, keys and flags
    #[flatten]
    pub keys: Keys,
    /// tunnel interface
    pub tunnel: TunnelRecord,
    /// salt and ports
    #[flatten]
    pub behind: Behind,
    /// anti-replay window size
    #[preset(64)]
    pub anti_replay_window_size: u32,
}

/// A policy; protocol 0 is any.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/ipsec/ipsec_types.api")]
pub struct IpsecSpdEntry {
    /// policy
    #[flatten]
    pub policy: PolicyFields,
}

/// A policy; protocol 0 is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/ipsec/ipsec_types.api")]
pub struct IpsecSpdEntryV2 {
    /// policy
    #[flatten]
    pub policy: PolicyFields,
}

/// Fields of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
pub struct PolicyFields {
    /// security policy database
    pub spd_id: u32,
    /// priority; the highest is tried first
    pub priority: i32,
    /// true for outbound packets
    pub is_outbound: bool,
    /// SA that protects the packets
    pub sa_id: u32,
    /// action
    pub policy: IpsecSpdAction,
    /// protocol; 255 for any, and 0 in the first version
    pub protocol: u8,
    /// first remote address
    pub remote_address_start: Address,
    /// last remote address
    pub remote_address_stop: Address,
    /// first local address
    pub local_address_start: Address,
    /// last local address
    pub local_address_stop: Address,
    /// first remote port
    pub remote_port_start: u16,
    /// last remote port
    pub remote_port_stop: u16,
    /// first local port
    pub local_port_start: u16,
    /// last local port
    pub local_port_stop: u16,
}
