//! Numbers of IKEv2 (the registry "Internet Key Exchange Version 2 (IKEv2) Parameters").

/// Kinds of exchanges.
pub mod exchange {
    /// Key exchange.
    pub const IKE_SA_INIT: u8 = 34;
    /// Proofs of identity and the first child.
    pub const IKE_AUTH: u8 = 35;
    /// Further associations, and new keys.
    pub const CREATE_CHILD_SA: u8 = 36;
    /// Deletions and signs of life.
    pub const INFORMATIONAL: u8 = 37;
}

/// Kinds of payloads.
pub mod payload {
    /// Nothing follows.
    pub const NONE: u8 = 0;
    /// Proposals of an association.
    pub const SA: u8 = 33;
    /// Public value.
    pub const KEY_EXCHANGE: u8 = 34;
    /// Identity of who began.
    pub const ID_I: u8 = 35;
    /// Identity of the other end.
    pub const ID_R: u8 = 36;
    /// Certificate.
    pub const CERTIFICATE: u8 = 37;
    /// Request for a certificate.
    pub const CERTIFICATE_REQUEST: u8 = 38;
    /// Proof of identity.
    pub const AUTH: u8 = 39;
    /// Nonce.
    pub const NONCE: u8 = 40;
    /// Notification.
    pub const NOTIFY: u8 = 41;
    /// Deletion.
    pub const DELETE: u8 = 42;
    /// Mark of a vendor.
    pub const VENDOR: u8 = 43;
    /// Traffic of who began.
    pub const TS_I: u8 = 44;
    /// Traffic of the other end.
    pub const TS_R: u8 = 45;
    /// Sealed payloads.
    pub const SEALED: u8 = 46;
    /// Configuration of an end.
    pub const CONFIGURATION: u8 = 47;
    /// A message of EAP.
    pub const EAP: u8 = 48;
    /// A sealed part of payloads (RFC 7383).
    pub const FRAGMENT: u8 = 53;
}

/// Protocols of associations.
pub mod protocol {
    /// IKE itself.
    pub const IKE: u8 = 1;
    /// AH.
    pub const AH: u8 = 2;
    /// ESP.
    pub const ESP: u8 = 3;
}

/// Kinds of transforms.
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
    /// Critical payload that is not known.
    pub const UNSUPPORTED_CRITICAL_PAYLOAD: u16 = 1;
    /// Syntax.
    pub const INVALID_SYNTAX: u16 = 7;
    /// No proposal is acceptable.
    pub const NO_PROPOSAL_CHOSEN: u16 = 14;
    /// Another group is wanted.
    pub const INVALID_KE_PAYLOAD: u16 = 17;
    /// The proof of identity is wrong.
    pub const AUTHENTICATION_FAILED: u16 = 24;
    /// No further associations.
    pub const NO_ADDITIONAL_SAS: u16 = 35;
    /// No traffic in common.
    pub const TS_UNACCEPTABLE: u16 = 38;
    /// Not now.
    pub const TEMPORARY_FAILURE: u16 = 43;
    /// No such child.
    pub const CHILD_SA_NOT_FOUND: u16 = 44;
    /// First of those that are no errors.
    pub const FIRST_STATUS: u16 = 16384;
    /// The sender has no other association with this end.
    pub const INITIAL_CONTACT: u16 = 16384;
    /// Hash of the sender's address.
    pub const NAT_DETECTION_SOURCE_IP: u16 = 16388;
    /// Hash of the receiver's address.
    pub const NAT_DETECTION_DESTINATION_IP: u16 = 16389;
    /// Bytes that whoever begins must send back.
    pub const COOKIE: u16 = 16390;
    /// Transport mode.
    pub const USE_TRANSPORT_MODE: u16 = 16391;
    /// The association that is replaced.
    pub const REKEY_SA: u16 = 16393;
    /// No padding beyond need.
    pub const ESP_TFC_PADDING_NOT_SUPPORTED: u16 = 16394;
    /// Messages may come in parts (RFC 7383).
    pub const IKEV2_FRAGMENTATION_SUPPORTED: u16 = 16430;
    /// Hashes for signatures (RFC 7427).
    pub const SIGNATURE_HASH_ALGORITHMS: u16 = 16431;
}

/// Methods of proofs of identity.
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
    /// Name of a host.
    pub const FQDN: u8 = 2;
    /// Name of a user.
    pub const RFC822: u8 = 3;
    /// IPv6 address.
    pub const IP6: u8 = 5;
    /// Distinguished name, in DER.
    pub const DN: u8 = 9;
    /// General name, in DER.
    pub const GN: u8 = 10;
    /// Bytes that only both ends understand.
    pub const KEY_ID: u8 = 11;
}

/// Encoding of an X.509 certificate.
pub const X509: u8 = 4;
