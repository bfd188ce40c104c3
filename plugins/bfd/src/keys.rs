//! Keys, and the authentication of packets with them (RFC 5880 section 6.7.4).

use net::prelude::*;
use sha1::{Digest, Sha1 as Hash};
use wire::bfd::{Control, Header, Sha1, flag};

use super::Error;

/// Bytes of a key, zeros behind it.
pub const KEY: usize = 20;
/// Most keys there may be.
pub const MAX_KEYS: usize = 4096;
/// Place of the hash in a packet.
const HASH_AT: usize = size_of::<Header>() + size_of::<Sha1>() - KEY;

/// A shared secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// [`Sha1::KEYED`] or [`Sha1::METICULOUS`].
    pub kind: u8,
    /// The key, zeros behind it.
    pub bytes: [u8; KEY],
    /// Bytes.
    pub len: u8,
}

impl Secret {
    /// Whether the sequence number grows with each packet.
    pub fn is_meticulous(&self) -> bool {
        self.kind == Sha1::METICULOUS
    }
}

/// A configured key.
#[derive(Clone)]
pub struct Key {
    /// The secret.
    pub secret: Arc<Secret>,
    /// Sessions that use it, or are about to.
    pub use_count: u32,
}

/// The authentication of a session.
#[derive(Clone)]
pub struct Authentication {
    /// Configured key ID.
    pub conf_key_id: u32,
    /// Its number for both ends.
    pub key_id: u8,
    /// The secret.
    pub secret: Arc<Secret>,
}

impl PartialEq for Authentication {
    fn eq(&self, other: &Self) -> bool {
        (self.conf_key_id, self.key_id) == (other.conf_key_id, other.key_id)
    }
}

/// The keys by number.
#[derive(Default)]
pub struct Keys(BTreeMap<u32, Key>);

impl Keys {
    /// All, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Key)> {
        self.0.iter().map(|(id, key)| (*id, key))
    }
    /// Sets a key that no session uses.
    ///
    /// # Errors
    /// [`Error::KeyInUse`], [`Error::UnknownType`], [`Error::KeyLength`], [`Error::TooManyKeys`].
    pub fn set(&mut self, id: u32, kind: u8, key: &[u8]) -> Result<(), Error> {
        if ![Sha1::KEYED, Sha1::METICULOUS].contains(&kind) {
            return Err(Error::UnknownType(kind));
        }
        if key.is_empty() || key.len() > KEY {
            return Err(Error::KeyLength(key.len()));
        }
        match self.0.get(&id) {
            Some(known) if known.use_count > 0 => return Err(Error::KeyInUse),
            None if self.0.len() >= MAX_KEYS => return Err(Error::TooManyKeys),
            _ => (),
        }
        let mut bytes = [0; KEY];
        bytes[..key.len()].copy_from_slice(key);
        let secret = Arc::new(Secret { kind, bytes, len: key.len() as u8 });
        self.0.insert(id, Key { secret, use_count: 0 });
        Ok(())
    }
    /// Removes a key that no session uses.
    ///
    /// # Errors
    /// [`Error::NoKey`], [`Error::KeyInUse`].
    pub fn remove(&mut self, id: u32) -> Result<(), Error> {
        if self.0.get(&id).ok_or(Error::NoKey)?.use_count > 0 {
            return Err(Error::KeyInUse);
        }
        self.0.remove(&id);
        Ok(())
    }
    /// Uses a key once more.
    ///
    /// # Errors
    /// [`Error::NoKey`].
    pub fn hold(&mut self, conf_key_id: u32, key_id: u8) -> Result<Authentication, Error> {
        let key = self.0.get_mut(&conf_key_id).ok_or(Error::NoKey)?;
        key.use_count += 1;
        Ok(Authentication { conf_key_id, key_id, secret: key.secret.clone() })
    }
    /// Uses a key once less.
    pub fn release(&mut self, gone: &Authentication) {
        if let Some(key) = self.0.get_mut(&gone.conf_key_id) {
            key.use_count -= 1;
        }
    }
}

/// The hash of a packet with a key in its place.
fn hash(front: &[u8], secret: &Secret) -> [u8; KEY] {
    let mut hash = Hash::new();
    hash.update(front);
    hash.update(secret.bytes);
    hash.finalize().into()
}

impl Authentication {
    /// Whether a packet is authentic; its sequence number is not looked at.
    pub fn is_authentic(&self, packet: &Control<'_>) -> bool {
        let Ok((section, _)) = Sha1::ref_from_prefix(packet.authentication) else { return false };
        let is_ours = section.kind == self.secret.kind
            && section.key_id == self.key_id
            && section.len == Sha1::LEN
            && packet.bytes.len() == HASH_AT + KEY;
        let Some(front) = packet.bytes.get(..HASH_AT).filter(|_| is_ours) else { return false };
        let right = hash(front, &self.secret);
        // In constant time.
        right.iter().zip(section.hash).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
    }
    /// A packet with its authentication section.
    pub fn sign(&self, mut header: Header, sequence: u32) -> Vec<u8> {
        header.state_flags |= flag::AUTHENTICATED;
        header.len += Sha1::LEN;
        let section = Sha1 {
            kind: self.secret.kind,
            len: Sha1::LEN,
            key_id: self.key_id,
            reserved: 0,
            sequence: sequence.into(),
            hash: [0; KEY],
        };
        let mut packet = [header.as_bytes(), section.as_bytes()].concat();
        packet.truncate(HASH_AT);
        let hash = hash(&packet, &self.secret);
        packet.extend(hash);
        packet
    }
}
