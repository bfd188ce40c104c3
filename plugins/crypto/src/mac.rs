//! Keyed hashes with prepared keys (RFC 2104).
#![forbid(unsafe_code)]

use hmac::Hmac;
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};
use subtle::ConstantTimeEq;

use super::algorithm::{Hash, MacAlgorithm};

/// Bytes of the longest hash.
pub const MAX_HASH: usize = 64;

/// A keyed hash with its key.
pub struct Mac {
    /// Algorithm.
    pub algorithm: MacAlgorithm,
    key: Key,
}

enum Key {
    None,
    Md5(Box<Hmac<Md5>>),
    Sha1(Box<Hmac<Sha1>>),
    Sha256(Box<Hmac<Sha256>>),
    Sha384(Box<Hmac<Sha384>>),
    Sha512(Box<Hmac<Sha512>>),
}

impl Mac {
    /// Prepares a key of any length.
    pub fn new(algorithm: MacAlgorithm, key: &[u8]) -> Self {
        let key = match algorithm.hash {
            Hash::None => None,
            Hash::Md5 => prepared(key).map(Key::Md5),
            Hash::Sha1 => prepared(key).map(Key::Sha1),
            Hash::Sha256 => prepared(key).map(Key::Sha256),
            Hash::Sha384 => prepared(key).map(Key::Sha384),
            Hash::Sha512 => prepared(key).map(Key::Sha512),
        };
        Self { algorithm, key: key.unwrap_or(Key::None) }
    }
    /// The hash of some parts, one after the other, at full length; zeros follow it.
    #[inline]
    pub fn hash(&self, parts: &[&[u8]]) -> [u8; MAX_HASH] {
        match &self.key {
            Key::None => [0; MAX_HASH],
            Key::Md5(key) => hash(&**key, parts),
            Key::Sha1(key) => hash(&**key, parts),
            Key::Sha256(key) => hash(&**key, parts),
            Key::Sha384(key) => hash(&**key, parts),
            Key::Sha512(key) => hash(&**key, parts),
        }
    }
    /// Whether `icv` is what is sent of the hash of some parts.
    #[inline]
    pub fn verify(&self, parts: &[&[u8]], icv: &[u8]) -> bool {
        let hash = self.hash(parts);
        let own = hash.get(..self.algorithm.icv).unwrap_or(&[]);
        own.ct_eq(icv).into()
    }
}

/// A key of any length that a hash starts from.
fn prepared<K: hmac::digest::KeyInit>(key: &[u8]) -> Option<Box<K>> {
    K::new_from_slice(key).ok().map(Box::new)
}

#[inline]
fn hash<K: hmac::Mac + Clone>(key: &K, parts: &[&[u8]]) -> [u8; MAX_HASH] {
    let mut hash = key.clone();
    parts.iter().for_each(|part| hash.update(part));
    let bytes = hash.finalize().into_bytes();
    let mut out = [0; MAX_HASH];
    for (place, byte) in out.iter_mut().zip(bytes) {
        *place = byte;
    }
    out
}
