//! Types of messages about associations and policies (`ipsec_types`).

use control::Secret;
use control::api::types::{Address, IpDscp};
use control::api::{Fields, Record};
use net::InterfaceIndex;
use net::tunnel::{EncapDecapFlags, TunnelMode};

control::numbers! {
    /// Ciphers.
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
    /// Keyed hashes.
    pub enum IpsecIntegAlg: u32 = "ipsec_integ_alg" in "vnet/ipsec/ipsec_types.api" {
        NONE = 0 => "IPSEC_API_INTEG_ALG_NONE",
        MD5_96 = 1 => "IPSEC_API_INTEG_ALG_MD5_96",
        SHA1_96 = 2 => "IPSEC_API_INTEG_ALG_SHA1_96",
        SHA_256_96 = 3 => "IPSEC_API_INTEG_ALG_SHA_256_96",
        SHA_256_128 = 4 => "IPSEC_API_INTEG_ALG_SHA_256_128",
        SHA_384_192 = 5 => "IPSEC_API_INTEG_ALG_SHA_384_192",
        SHA_512_256 = 6 => "IPSEC_API_INTEG_ALG_SHA_512_256",
    }
    /// Properties of an association.
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
    /// What becomes of a packet.
    pub enum IpsecSpdAction: u32 = "ipsec_spd_action" in "vnet/ipsec/ipsec_types.api" {
        BYPASS = 0 => "IPSEC_API_SPD_ACTION_BYPASS",
        DISCARD = 1 => "IPSEC_API_SPD_ACTION_DISCARD",
        RESOLVE = 2 => "IPSEC_API_SPD_ACTION_RESOLVE",
        PROTECT = 3 => "IPSEC_API_SPD_ACTION_PROTECT",
    }
    /// Further properties of a tunnel.
    pub flags TunnelFlags: u8 = "tunnel_flags" in "vnet/tunnel/tunnel_types.api" {
        TRACK_MTU = 1 => "TUNNEL_API_FLAG_TRACK_MTU",
    }
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/ipsec/ipsec_types.api")]
pub struct Key {
    /// its bytes
    pub length: u8,
    /// the bytes, and zeros
    pub data: Secret<[u8; 128]>,
}

/// A tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[name("tunnel")]
#[file("vnet/tunnel/tunnel_types.api")]
pub struct TunnelRecord {
    /// number in the interface's name
    pub instance: u32,
    /// own address
    pub src: Address,
    /// far end
    pub dst: Address,
    /// its interface
    pub sw_if_index: InterfaceIndex,
    /// table that leads to the far end
    pub table_id: u32,
    /// fields that are copied
    pub encap_decap_flags: EncapDecapFlags,
    /// one far end or several
    pub mode: TunnelMode,
    /// further properties
    pub flags: TunnelFlags,
    /// code point of outer headers
    pub dscp: IpDscp,
    /// hops of outer headers
    pub hop_limit: u8,
}

/// Fields that all versions of an association begin with.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
pub struct Keys {
    /// number that policies name it by
    pub sad_id: u32,
    /// security parameters index
    pub spi: u32,
    /// ESP or AH
    pub protocol: IpsecProto,
    /// the cipher
    pub crypto_algorithm: IpsecCryptoAlg,
    /// its key
    pub crypto_key: Key,
    /// the keyed hash
    pub integrity_algorithm: IpsecIntegAlg,
    /// its key
    pub integrity_key: Key,
    /// further properties
    pub flags: IpsecSadFlags,
}

/// Fields behind those of the tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
pub struct Behind {
    /// bytes in front of initialization vectors
    pub salt: u32,
    /// source port of UDP
    #[preset(4500)]
    pub udp_src_port: u16,
    /// destination port of UDP
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
    /// own address of a tunnel
    pub tunnel_src: Address,
    /// far end of a tunnel
    pub tunnel_dst: Address,
    /// table that leads to the far end
    pub tx_table_id: u32,
    /// salt and ports
    #[flatten]
    pub behind: Behind,
}

/// A security association, and fields that its tunnel copies.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/ipsec/ipsec_types.api")]
pub struct IpsecSadEntryV2 {
    /// number, algorithms, keys and flags
    #[flatten]
    pub keys: Keys,
    /// own address of a tunnel
    pub tunnel_src: Address,
    /// far end of a tunnel
    pub tunnel_dst: Address,
    /// fields that are copied
    pub tunnel_flags: EncapDecapFlags,
    /// code point of outer headers
    pub dscp: IpDscp,
    /// table that leads to the far end
    pub tx_table_id: u32,
    /// salt and ports
    #[flatten]
    pub behind: Behind,
}

/// A security association with its tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/ipsec/ipsec_types.api")]
pub struct IpsecSadEntryV3 {
    /// number, algorithms, keys and flags
    #[flatten]
    pub keys: Keys,
    /// the tunnel
    pub tunnel: TunnelRecord,
    /// salt and ports
    #[flatten]
    pub behind: Behind,
}

/// A security association with its tunnel and window.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/ipsec/ipsec_types.api")]
pub struct IpsecSadEntryV4 {
    /// number, algorithms, keys and flags
    #[flatten]
    pub keys: Keys,
    /// the tunnel
    pub tunnel: TunnelRecord,
    /// salt and ports
    #[flatten]
    pub behind: Behind,
    /// numbers that the window holds
    #[preset(64)]
    pub anti_replay_window_size: u32,
}

/// A policy; protocol 0 is any.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/ipsec/ipsec_types.api")]
pub struct IpsecSpdEntry {
    /// the policy
    #[flatten]
    pub policy: PolicyFields,
}

/// A policy, whose protocol may be 0.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[file("vnet/ipsec/ipsec_types.api")]
pub struct IpsecSpdEntryV2 {
    /// the policy
    #[flatten]
    pub policy: PolicyFields,
}

/// Fields of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
pub struct PolicyFields {
    /// its database
    pub spd_id: u32,
    /// greater ones are looked at first
    pub priority: i32,
    /// for packets that go out
    pub is_outbound: bool,
    /// the association that protects packets
    pub sa_id: u32,
    /// what becomes of packets
    pub policy: IpsecSpdAction,
    /// their protocol; 255 for any, as is 0 in the first version
    pub protocol: u8,
    /// first address of the far side
    pub remote_address_start: Address,
    /// last address of the far side
    pub remote_address_stop: Address,
    /// first address of this side
    pub local_address_start: Address,
    /// last address of this side
    pub local_address_stop: Address,
    /// first port of the far side
    pub remote_port_start: u16,
    /// last port of the far side
    pub remote_port_stop: u16,
    /// first port of this side
    pub local_port_start: u16,
    /// last port of this side
    pub local_port_stop: u16,
}
