//! Message authentication codes with prepared keys (RFC 2104).
#![forbid(unsafe_code)]

use hmac::Hmac;
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};

use super::algorithm::{Hash, MacAlgorithm};
#[cfg(target_arch = "x86_64")]
use super::lanes;

/// Length of the longest hash, in bytes.
pub const MAX_HASH: usize = 64;

/// A message authentication code with its key.
pub struct Mac {
    /// Algorithm.
    pub algorithm: MacAlgorithm,
    key: Key,
    /// The key for several packets in parallel, for SHA-1 and SHA-256 on processors that support
    /// it.
    #[cfg(target_arch = "x86_64")]
    lanes: Option<Box<lanes::Key>>,
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
        #[cfg(target_arch = "x86_64")]
        let lanes = match algorithm.hash {
            Hash::Sha1 => lanes::Key::new(lanes::Hash::Sha1, key),
            Hash::Sha256 => lanes::Key::new(lanes::Hash::Sha256, key),
            _ => None,
        };
        let key = match algorithm.hash {
            Hash::None => None,
            Hash::Md5 => prepared(key).map(Key::Md5),
            Hash::Sha1 => prepared(key).map(Key::Sha1),
            Hash::Sha256 => prepared(key).map(Key::Sha256),
            Hash::Sha384 => prepared(key).map(Key::Sha384),
            Hash::Sha512 => prepared(key).map(Key::Sha512),
        };
        Self {
            algorithm,
            key: key.unwrap_or(Key::None),
            #[cfg(target_arch = "x86_64")]
            lanes: lanes.map(Box::new),
        }
    }
    /// Hashes at most 64 messages; `done` gets the index and the full hash of each, padded with
    /// zeros.
    pub fn hash_each(&self, messages: &[&[u8]], mut done: impl FnMut(usize, &[u8])) {
        #[cfg(target_arch = "x86_64")]
        if let Some(key) = self.lanes.as_ref().filter(|_| messages.len() >= FEW) {
            return in_lanes(key, messages, done);
        }
        for (at, message) in messages.iter().enumerate() {
            done(at, &self.hash(&[message]));
        }
    }
    /// Returns the full hash of some parts, one after the other, padded with zeros.
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
    /// Whether `icv` is the truncated hash of some parts.
    #[inline]
    pub fn verify(&self, parts: &[&[u8]], icv: &[u8]) -> bool {
        let hash = self.hash(parts);
        let own = hash.get(..self.algorithm.icv).unwrap_or(&[]);
        super::are_equal(own, icv)
    }
}

/// Number of messages from which hashing in parallel is faster than one by one.
#[cfg(target_arch = "x86_64")]
const FEW: usize = 4;
/// Maximum number of messages.
#[cfg(target_arch = "x86_64")]
const MOST: usize = 64;

/// Hashes messages in lanes, those of similar lengths together, as the others of a group wait for
/// the longest.
#[cfg(target_arch = "x86_64")]
fn in_lanes(key: &lanes::Key, messages: &[&[u8]], mut done: impl FnMut(usize, &[u8])) {
    let mut order: [u8; MOST] = std::array::from_fn(|at| at as u8);
    let count = messages.len().min(MOST);
    let order = &mut order[..count];
    let len = |at: &u8| messages[usize::from(*at)].len();
    if !order.is_sorted_by_key(len) {
        order.sort_unstable_by_key(len);
    }
    let mut hashes = [[0; lanes::MAX_HASH]; lanes::LANES];
    for group in order.chunks(lanes::LANES) {
        let mut those: [&[u8]; lanes::LANES] = [&[]; lanes::LANES];
        for (place, at) in those.iter_mut().zip(group) {
            *place = messages[usize::from(*at)];
        }
        key.hash(&those[..group.len()], &mut hashes);
        group.iter().zip(&hashes).for_each(|(at, hash)| done((*at).into(), hash));
    }
}

/// Prepares a key of any length for a hash function.
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
