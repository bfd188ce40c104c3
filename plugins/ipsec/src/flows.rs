//! Flow cache of policies: each thread has its own, a table with one entry per hash. A new flow
//! replaces the one in its entry.
//!
//! An entry is valid for one version of its database, until the database changes.

use infra::counter::{Counter, Rows};
use wire::Protocol;

/// Counters of a thread for each direction: the newest version seen, and the number of cached flows
/// of that version.
pub const COLUMNS: usize = 2;

/// An IPv4 flow.
#[derive(Clone, Copy)]
pub struct Key {
    addresses: [[u8; 4]; 2],
    ports: u32,
    /// Database, protocol, and whether there are ports.
    rest: u64,
}

impl Key {
    /// Creates the key from source to destination, as in the packet.
    pub fn new(
        spd: u32,
        (src, dst): (u128, u128),
        protocol: Protocol,
        ports: Option<(u16, u16)>,
    ) -> Self {
        let (a, b) = ports.unwrap_or_default();
        let rest = u64::from(spd) << 16 | u64::from(protocol.0) << 8 | u64::from(ports.is_some());
        Self {
            addresses: [(src as u32).to_be_bytes(), (dst as u32).to_be_bytes()],
            ports: u32::from(a) << 16 | u32::from(b),
            rest,
        }
    }
    /// The hash used by VPP: CRC32C of addresses, ports and protocol.
    fn hash(&self) -> u32 {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(self.addresses.as_flattened());
        bytes[8..12].copy_from_slice(&self.ports.to_be_bytes());
        bytes[12] = (self.rest >> 8) as u8;
        bytes.iter().fold(0, |crc, byte| CRC[usize::from(crc as u8 ^ byte)] ^ crc >> 8)
    }
    fn words(&self) -> [u64; 2] {
        let [a, b] = self.addresses.map(u32::from_be_bytes);
        [u64::from(a) << 32 | u64::from(b), self.ports.into()]
    }
}

/// CRC32C of single bytes (RFC 3720, appendix B.4).
const CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let (mut crc, mut bit) = (at as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
};

/// The cached flows of one thread and direction. A clone is empty.
pub struct Flows {
    /// Addresses; ports; version; the rest of the key above the policy's index.
    places: Vec<[u64; 4]>,
    counted: Rows<Counter>,
    /// Of [`COLUMNS`], the first one.
    column: usize,
}

impl Clone for Flows {
    fn clone(&self) -> Self {
        Self::new(self.places.len(), self.counted.clone(), self.column)
    }
}

/// Bits of a policy's index.
const PLACE_BITS: u32 = 24;

impl Flows {
    /// Creates a cache for `count` flows, a power of two; 0 for none.
    pub fn new(count: usize, counted: Rows<Counter>, column: usize) -> Self {
        // Zeroed memory is allocated lazily, as flows are added.
        Self { places: vec![[0; 4]; count], counted, column }
    }
    /// Whether the cache is enabled.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        !self.places.is_empty()
    }
    fn place(&self, key: &Key) -> usize {
        key.hash() as usize & (self.places.len().wrapping_sub(1))
    }
    /// Index of a flow's policy in this version of its database.
    pub fn find(&self, key: &Key, version: u64) -> Option<u32> {
        let [a, b, seen, rest] = *self.places.get(self.place(key))?;
        let is_it = [a, b] == key.words() && seen == version && rest >> PLACE_BITS == key.rest;
        is_it.then_some((rest & ((1 << PLACE_BITS) - 1)) as u32)
    }
    /// Caches the index of a flow's policy.
    pub fn put(&mut self, key: &Key, version: u64, policy: u32, thread: usize) {
        let Some([newest, count]) =
            self.counted.row(thread).get(self.column..).and_then(<[_]>::first_chunk)
        else {
            return;
        };
        if policy >> PLACE_BITS != 0 || version < newest.value() {
            return;
        }
        if version > newest.value() {
            newest.set(version);
            count.set(0);
        }
        let at = self.place(key);
        let Some(place) = self.places.get_mut(at) else { return };
        if place[2] != version {
            count.add(1);
        }
        let [a, b] = key.words();
        *place = [a, b, version, key.rest << PLACE_BITS | u64::from(policy)];
    }
}

/// Number of cached flows of a version, of all threads.
pub fn count(counted: &Rows<Counter>, column: usize, version: u64) -> u64 {
    let versions = counted.column(column).map(Counter::value);
    let counts = counted.column(column + 1).map(Counter::value);
    versions.zip(counts).filter(|(seen, _)| *seen == version).map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(spd: u32, src: u32, port: u16) -> Key {
        Key::new(spd, (src.into(), 0xac10_0302), Protocol::UDP, Some((port, 1)))
    }

    #[test]
    fn hashes_are_those_that_the_original_collides_by() {
        assert_eq!(key(0, 0xac10_0202, 1).hash(), 0x432c_99c2);
    }

    #[test]
    fn flows_are_remembered_until_their_database_changes_or_another_takes_their_place() {
        let counted = Rows::new(1, COLUMNS).unwrap();
        let mut flows = Flows::new(1, counted.clone(), 0);
        let (one, other) = (key(0, 7, 1), key(1, 7, 1));
        assert_eq!(flows.find(&one, 3), None);
        flows.put(&one, 3, 5, 0);
        assert_eq!(
            (flows.find(&one, 3), flows.find(&one, 4), flows.find(&other, 3)),
            (Some(5), None, None)
        );
        flows.put(&other, 3, 6, 0);
        assert_eq!((flows.find(&one, 3), flows.find(&other, 3)), (None, Some(6)));
        assert_eq!((count(&counted, 0, 3), count(&counted, 0, 4)), (1, 0));
        flows.put(&one, 4, 5, 0);
        flows.put(&other, 3, 6, 0);
        assert_eq!((flows.find(&one, 4), count(&counted, 0, 4)), (Some(5), 1));
        assert!(flows.clone().find(&one, 4).is_none());
    }
}
