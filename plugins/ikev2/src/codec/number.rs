//! Numbers from IANA's registry "Internet Key Exchange Version 2 (IKEv2) Parameters".

/// Exchange types.
pub mod exchange {
    /// Key exchange.
    pub const IKE_SA_INIT: u8 = 34;
    /// Authentication and the first child SA.
    pub const IKE_AUTH: u8 = 35;
    /// Further child SAs, and rekeying.
    pub const CREATE_CHILD_SA: u8 = 36;
    /// Deletions and liveness checks.
    pub const INFORMATIONAL: u8 = 37;
}

/// Payload types.
pub mod payload {
    /// No next payload.
    pub const NONE: u8 = 0;
    /// Proposals (security association).
    pub const SA: u8 = 33;
    /// Public value.
    pub const KEY_EXCHANGE: u8 = 34;
    /// Identity of the initiator.
    pub const ID_I: u8 = 35;
    /// Identity of the responder.
    pub const ID_R: u8 = 36;
    /// Certificate.
    pub const CERTIFICATE: u8 = 37;
    /// Request for a certificate.
    pub const CERTIFICATE_REQUEST: u8 = 38;
    /// Authentication.
    pub const AUTH: u8 = 39;
    /// Nonce.
    pub const NONCE: u8 = 40;
    /// Notification.
    pub const NOTIFY: u8 = 41;
    /// Deletion.
    pub const DELETE: u8 = 42;
    /// Vendor ID.
    pub const VENDOR: u8 = 43;
    /// Traffic selectors of the initiator.
    pub const TS_I: u8 = 44;
    /// Traffic selectors of the responder.
    pub const TS_R: u8 = 45;
    /// Encrypted payloads.
    pub const SEALED: u8 = 46;
    /// Configuration.
    pub const CONFIGURATION: u8 = 47;
    /// A message of EAP.
    pub const EAP: u8 = 48;
    /// Encrypted fragment (RFC 7383).
    pub const FRAGMENT: u8 = 53;
}

/// Protocol IDs.
pub mod protocol {
    /// IKE itself.
    pub const IKE: u8 = 1;
    /// AH.
    pub const AH: u8 = 2;
    /// ESP.
    pub const ESP: u8 = 3;
}

/// Transform types.
pub mod transform {
    /// Encryption.
    pub const ENCR: u8 = 1;
    /// Pseudorandom function.
    pub const PRF: u8 = 2;
    /// Integrity.
    pub const INTEG: u8 = 3;
    /// Group of the key exchange.
    pub const GROUP: u8 = 4;
    /// Extended sequence numbers.
    pub const ESN: u8 = 5;
}

/// Types of notifications.
pub mod notify {
    /// Unknown critical payload.
    pub const UNSUPPORTED_CRITICAL_PAYLOAD: u16 = 1;
    /// Malformed message.
    pub const INVALID_SYNTAX: u16 = 7;
    /// No proposal is acceptable.
    pub const NO_PROPOSAL_CHOSEN: u16 = 14;
    /// The responder requires another group.
    pub const INVALID_KE_PAYLOAD: u16 = 17;
    /// Authentication failed.
    pub const AUTHENTICATION_FAILED: u16 = 24;
    /// The responder accepts no further child SAs.
    pub const NO_ADDITIONAL_SAS: u16 = 35;
    /// The traffic selectors have no traffic in common.
    pub const TS_UNACCEPTABLE: u16 = 38;
    /// The request cannot be handled now.
    pub const TEMPORARY_FAILURE: u16 = 43;
    /// No such child SA.
    pub const CHILD_SA_NOT_FOUND: u16 = 44;
    /// First type that is not an error.
    pub const FIRST_STATUS: u16 = 16384;
    /// The sender has no other association with the receiver.
    pub const INITIAL_CONTACT: u16 = 16384;
    /// Hash of the sender's address.
    pub const NAT_DETECTION_SOURCE_IP: u16 = 16388;
    /// Hash of the receiver's address.
    pub const NAT_DETECTION_DESTINATION_IP: u16 = 16389;
    /// Cookie that the initiator must return.
    pub const COOKIE: u16 = 16390;
    /// Transport mode.
    pub const USE_TRANSPORT_MODE: u16 = 16391;
    /// The SA being rekeyed.
    pub const REKEY_SA: u16 = 16393;
    /// The sender does not accept traffic-flow confidentiality padding.
    pub const ESP_TFC_PADDING_NOT_SUPPORTED: u16 = 16394;
    /// The sender supports fragmented messages (RFC 7383).
    pub const IKEV2_FRAGMENTATION_SUPPORTED: u16 = 16430;
    /// Hash algorithms supported for signatures (RFC 7427).
    pub const SIGNATURE_HASH_ALGORITHMS: u16 = 16431;
}

/// Authentication methods.
pub mod auth {
    /// Signature by RSA with SHA-1.
    pub const RSA: u8 = 1;
    /// Shared key.
    pub const SHARED_KEY: u8 = 2;
    /// ECDSA on P-256 with SHA-256 (RFC 4754).
    pub const ECDSA_256: u8 = 9;
    /// ECDSA on P-384 with SHA-384 (RFC 4754).
    pub const ECDSA_384: u8 = 10;
    /// Signature that names its algorithm (RFC 7427).
    pub const SIGNATURE: u8 = 14;
}

/// Types of identities.
pub mod id {
    /// IPv4 address.
    pub const IP4: u8 = 1;
    /// Fully qualified domain name.
    pub const FQDN: u8 = 2;
    /// E-mail address.
    pub const RFC822: u8 = 3;
    /// IPv6 address.
    pub const IP6: u8 = 5;
    /// Distinguished name, in DER.
    pub const DN: u8 = 9;
    /// General name, in DER.
    pub const GN: u8 = 10;
    /// Opaque bytes, agreed between the peers.
    pub const KEY_ID: u8 = 11;
}

/// Encoding of an X.509 certificate.
pub const X509: u8 = 4;
