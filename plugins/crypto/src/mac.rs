//! Keyed hashes with prepared keys (RFC 2104).

use hmac::Mac as _;
use md5::Md5;
use subtle::ConstantTimeEq;

use super::algorithm::{Hash, MacAlgorithm};

/// Bytes of the longest hash.
pub const MAX_HASH: usize = 64;

/// A keyed hash with its key.
pub struct Mac {
    /// The algorithm.
    pub algorithm: MacAlgorithm,
    key: Key,
}

enum Key {
    None,
    Md5(Box<hmac::Hmac<Md5>>),
    Sha(Box<ring::hmac::Key>),
}

impl Mac {
    /// Prepares a key of any length.
    pub fn new(algorithm: MacAlgorithm, key: &[u8]) -> Self {
        let sha = |with| Key::Sha(Box::new(ring::hmac::Key::new(with, key)));
        let key = match algorithm.hash {
            Hash::None => Key::None,
            Hash::Md5 => match hmac::Hmac::new_from_slice(key) {
                Ok(key) => Key::Md5(Box::new(key)),
                Err(_) => Key::None,
            },
            Hash::Sha1 => sha(ring::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY),
            Hash::Sha256 => sha(ring::hmac::HMAC_SHA256),
            Hash::Sha384 => sha(ring::hmac::HMAC_SHA384),
            Hash::Sha512 => sha(ring::hmac::HMAC_SHA512),
        };
        Self { algorithm, key }
    }
    /// The hash of some parts, one after the other, at full length; zeros follow it.
    #[inline]
    pub fn hash(&self, parts: &[&[u8]]) -> [u8; MAX_HASH] {
        let mut out = [0; MAX_HASH];
        let mut put = |hash: &[u8]| {
            if let Some(place) = out.get_mut(..hash.len()) {
                place.copy_from_slice(hash);
            }
        };
        match &self.key {
            Key::None => (),
            Key::Md5(key) => {
                let mut hash = (**key).clone();
                parts.iter().for_each(|part| hash.update(part));
                put(&hash.finalize().into_bytes());
            }
            Key::Sha(key) => {
                let mut hash = ring::hmac::Context::with_key(key);
                parts.iter().for_each(|part| hash.update(part));
                put(hash.sign().as_ref());
            }
        }
        out
    }
    /// Whether `icv` is what is sent of the hash of some parts.
    #[inline]
    pub fn verify(&self, parts: &[&[u8]], icv: &[u8]) -> bool {
        let hash = self.hash(parts);
        let own = hash.get(..self.algorithm.icv).unwrap_or(&[]);
        own.ct_eq(icv).into()
    }
}
