//! Cryptography of IKEv2: algorithms, keys, encrypted payloads, key exchange, signatures.

pub mod certificate;
pub mod der;
pub mod group;
pub mod job;
pub mod keys;
mod named;
pub mod seal;
pub mod signature;
pub mod suite;

pub use named::{CIPHERS_BY_NAME, GROUPS_BY_NAME, MACS_BY_NAME, PRFS_BY_NAME, name_of};
