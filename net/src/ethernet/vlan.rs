//! VLAN tags: which sub-interface a frame is for, and what is put in front of what one sends (IEEE
//! 802.1Q clause 9).

use std::sync::Arc;

use graph::{Buffer, Flags};
use wire::ethernet::{EtherType, Header};
use wire::vlan::Tag;
use zerocopy::{FromBytes, IntoBytes};

use crate::interface::{InterfaceIndex, SubInterface};

/// Length of the addresses at the start of a frame.
const ADDRESSES: usize = 12;
/// Length of one tag.
const TAG: usize = size_of::<Tag>();
/// Tags of which the VLAN counts.
const LOOKED_AT: usize = 2;
/// In a [`Key`], a VLAN that does not matter.
const ANY: u32 = 0x1000;

/// Up to two tags to be put behind the addresses of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    len: u8,
    bytes: [u8; LOOKED_AT * TAG],
}

impl Tags {
    /// No tags.
    pub const NONE: Self = Self { len: 0, bytes: [0; LOOKED_AT * TAG] };

    /// One tag, a service tag if `is_dot1ad`.
    pub fn one(is_dot1ad: bool, vlan: u16) -> Self {
        let mut tags = Self::NONE;
        tags.push(if is_dot1ad { EtherType::QINQ } else { EtherType::VLAN }, vlan);
        tags
    }
    /// An outer tag, a service tag if `is_dot1ad`, and an inner one.
    pub fn two(is_dot1ad: bool, outer: u16, inner: u16) -> Self {
        let mut tags = Self::one(is_dot1ad, outer);
        tags.push(EtherType::VLAN, inner);
        tags
    }
    fn push(&mut self, kind: EtherType, vlan: u16) {
        let at = usize::from(self.len);
        self.bytes[at..at + 2].copy_from_slice(kind.as_bytes());
        self.bytes[at + 2..at + TAG].copy_from_slice(&vlan.to_be_bytes());
        self.len += TAG as u8;
    }
    /// Puts them in behind the addresses of a frame; `None` without headroom.
    pub fn insert(&self, p: &mut Buffer<'_>) -> Option<()> {
        let len = usize::from(self.len);
        if len == 0 {
            return Some(());
        }
        p.prepend(len)?;
        let front = p.bytes_mut().get_mut(..ADDRESSES + len)?;
        front.copy_within(len.., 0);
        front[ADDRESSES..].copy_from_slice(&self.bytes[..len]);
        let offset = p.offset();
        p.set_l2_offset(offset);
        p.add_flags(Flags::L2);
        Some(())
    }
}

/// The tags of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// How many there are, all of them.
    pub count: usize,
    /// The outer one is a service tag.
    is_dot1ad: bool,
    /// VLANs of the first two.
    vlans: [u16; LOOKED_AT],
    /// What follows the last tag.
    pub ethertype: EtherType,
}

impl Tagged {
    /// Reads the tags of a frame; `None` when it is cut off.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let (header, mut rest) = Header::ref_from_prefix(frame).ok()?;
        let mut tagged = Self {
            count: 0,
            is_dot1ad: header.ethertype == EtherType::QINQ,
            vlans: [0; LOOKED_AT],
            ethertype: header.ethertype,
        };
        while tagged.ethertype.is_vlan() {
            let (tag, after) = Tag::ref_from_prefix(rest).ok()?;
            if let Some(vlan) = tagged.vlans.get_mut(tagged.count) {
                *vlan = tag.id().get();
            }
            (tagged.ethertype, rest) = (tag.ethertype, after);
            tagged.count += 1;
        }
        Some(tagged)
    }
    /// Whether it is in no VLAN: without tags, or with one that has only a priority (IEEE 802.1Q
    /// clause 9.6, VLAN 0).
    pub fn is_untagged(&self) -> bool {
        self.count == 0 || (self.count == 1 && self.vlans[0] == 0)
    }
    /// Length of the header with all tags in bytes.
    pub fn header_len(&self) -> usize {
        size_of::<Header>() + self.count * TAG
    }
}

/// Number of tags, kind of the outer one, and the VLANs that matter, in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u32);

impl Key {
    const DEFAULT: Self = Self(u32::MAX);

    fn new(tags: u32, is_dot1ad: bool, outer: u32, inner: u32) -> Self {
        Self(tags << 28 | u32::from(is_dot1ad) << 27 | outer << 13 | inner)
    }
    fn of(sub: &SubInterface) -> Self {
        let any = |id: Option<u16>| id.map_or(ANY, u32::from);
        match sub.tags {
            _ if sub.is_default => Self::DEFAULT,
            0 => Self::new(0, false, 0, 0),
            1 => Self::new(1, sub.is_dot1ad, any(sub.outer), ANY),
            _ => Self::new(2, sub.is_dot1ad, any(sub.outer), any(sub.inner)),
        }
    }
}

/// The sub-interfaces of one interface, by the tags of the frames they take. A changed copy shares
/// all parts with the original but one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubTable {
    /// Each in the order of its keys; one part while they are few, [`PARTS`] from then on.
    parts: Vec<Arc<Part>>,
    count: usize,
}

type Part = Vec<(Key, Entry)>;

/// Parts of a table with more than [`FEW`] entries.
const PARTS: usize = 256;
const FEW: usize = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    interface: u32,
    is_exact: bool,
}

impl SubTable {
    /// Adds a sub-interface; false when there is one for the same tags.
    pub fn add(&mut self, sub: &SubInterface, index: InterfaceIndex) -> bool {
        let (key, entry) = (Key::of(sub), Entry { interface: index.0, is_exact: sub.is_exact });
        if self.at(key).is_some() {
            return false;
        }
        self.count += 1;
        self.set_parts(if self.count > FEW { PARTS } else { self.parts.len().max(1) });
        let at = self.part(key);
        insert(Arc::make_mut(&mut self.parts[at]), key, entry);
        true
    }
    /// Takes a sub-interface out.
    pub fn remove(&mut self, sub: &SubInterface) {
        let (key, part) = (Key::of(sub), self.part(Key::of(sub)));
        let Some(entries) = self.parts.get_mut(part) else { return };
        if let Ok(at) = entries.binary_search_by_key(&key, |e| e.0) {
            Arc::make_mut(entries).remove(at);
            self.count -= 1;
        }
    }
    fn part(&self, key: Key) -> usize {
        key.0.wrapping_mul(0x9e37_79b1) as usize >> 24 & self.parts.len().wrapping_sub(1)
    }
    fn set_parts(&mut self, count: usize) {
        if self.parts.len() != count {
            let old = std::mem::replace(&mut self.parts, vec![Arc::default(); count]);
            for (key, entry) in old.iter().flat_map(|part| part.iter().copied()) {
                let at = self.part(key);
                insert(Arc::make_mut(&mut self.parts[at]), key, entry);
            }
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// Whether frames without tags may be for one of them.
    pub fn has_untagged(&self) -> bool {
        self.at(Key::new(0, false, 0, 0)).is_some()
    }
    /// The sub-interface that a frame is for: the one that says most about its tags.
    pub fn find(&self, tagged: &Tagged) -> Option<u32> {
        let [outer, inner] = tagged.vlans.map(u32::from);
        let is_dot1ad = tagged.is_dot1ad;
        let key = |tags, outer, inner| Key::new(tags, is_dot1ad, outer, inner);
        let two = [(outer, inner), (outer, ANY), (ANY, inner), (ANY, ANY)];
        let two = two.map(|(outer, inner)| key(2, outer, inner));
        let one = [key(1, outer, ANY), key(1, ANY, ANY)];
        let none = [Key::new(0, false, 0, 0)];
        let candidates: [(usize, &[Key]); 3] = [(2, &two), (1, &one), (0, &none)];
        for (tags, keys) in candidates {
            if tags > tagged.count || (tags == 0 && !tagged.is_untagged()) {
                continue;
            }
            let fits = |e: &Entry| !e.is_exact || tags == 0 || tags == tagged.count;
            if let Some(entry) = keys.iter().find_map(|k| self.at(*k).filter(fits)) {
                return Some(entry.interface);
            }
        }
        let default = self.at(Key::DEFAULT).filter(|_| !tagged.is_untagged());
        default.map(|e| e.interface)
    }
    fn at(&self, key: Key) -> Option<Entry> {
        let part = self.parts.get(self.part(key))?;
        let at = part.binary_search_by_key(&key, |e| e.0).ok()?;
        Some(part[at].1)
    }
}

fn insert(part: &mut Part, key: Key, entry: Entry) {
    if let Err(at) = part.binary_search_by_key(&key, |e| e.0) {
        part.insert(at, (key, entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with these tags before an IPv4 packet.
    fn frame(tags: &[(u16, u16)]) -> Vec<u8> {
        let mut bytes = vec![0; ADDRESSES];
        for (kind, vlan) in tags {
            bytes.extend(kind.to_be_bytes().into_iter().chain(vlan.to_be_bytes()));
        }
        bytes.extend([8, 0, 0x45]);
        bytes
    }
    fn find(table: &SubTable, tags: &[(u16, u16)]) -> Option<u32> {
        table.find(&Tagged::read(&frame(tags)).unwrap())
    }

    #[test]
    fn the_most_specific_match_wins() {
        let sub = |tags, outer, inner, is_exact| SubInterface {
            tags,
            outer,
            inner,
            is_exact,
            ..SubInterface::default()
        };
        let mut table = SubTable::default();
        let subs = [
            sub(1, Some(100), None, true),
            sub(1, Some(200), None, false),
            sub(1, None, None, false),
            sub(2, Some(100), Some(7), true),
            sub(2, Some(100), None, true),
            SubInterface { is_dot1ad: true, ..sub(2, Some(100), Some(7), true) },
            SubInterface { is_default: true, ..sub(0, None, None, false) },
        ];
        for (i, s) in subs.iter().enumerate() {
            assert!(table.add(s, InterfaceIndex(i as u32)));
            assert!(!table.add(s, InterfaceIndex(99)));
        }
        const Q: u16 = 0x8100;
        const AD: u16 = 0x88a8;
        type Tags<'a> = &'a [(u16, u16)];
        let cases: [(Tags<'_>, Option<u32>); 9] = [
            (&[(Q, 100)], Some(0)),
            (&[(Q, 0xe064)], Some(0)),
            (&[(Q, 200)], Some(1)),
            (&[(Q, 200), (Q, 5)], Some(1)),
            (&[(Q, 300)], Some(2)),
            (&[(Q, 100), (Q, 7)], Some(3)),
            (&[(Q, 100), (Q, 8)], Some(4)),
            (&[(AD, 100), (Q, 7)], Some(5)),
            (&[(AD, 100), (Q, 7), (Q, 1)], Some(6)),
        ];
        for (tags, expected) in cases {
            assert_eq!(find(&table, tags), expected, "{tags:?}");
        }
        assert_eq!(find(&table, &[]), None);
        table.remove(&subs[6]);
        assert_eq!(find(&table, &[(AD, 1)]), None);
        assert!(table.add(&sub(0, None, None, false), InterfaceIndex(8)) && table.has_untagged());
        assert_eq!(find(&table, &[]), Some(8));
        assert_eq!(find(&table, &[(Q, 0xe000)]), Some(2), "any VLAN, 0 among them");
        table.remove(&subs[2]);
        assert_eq!(find(&table, &[(Q, 0xe000)]), Some(8), "only a priority");
    }

    #[test]
    fn a_copy_with_one_more_shares_nearly_all_parts() {
        let (mut table, count) = (SubTable::default(), 4095);
        for id in 1..=count {
            let before = table.clone();
            assert!(table.add(&SubInterface::dot1q(id.into(), id), InterfaceIndex(id.into())));
            let same = before.parts.iter().zip(&table.parts).filter(|(a, b)| Arc::ptr_eq(a, b));
            let (same, most) = (same.count(), table.parts.iter().map(|p| p.len()).max().unwrap());
            assert!(
                usize::from(id) <= FEW + 1 || (same == PARTS - 1 && most <= 48),
                "{same} {most}"
            );
        }
        for id in 1..=count {
            assert_eq!(find(&table, &[(0x8100, id)]), Some(id.into()));
        }
        (1..=count).for_each(|id| table.remove(&SubInterface::dot1q(id.into(), id)));
        assert!(table.is_empty() && find(&table, &[(0x8100, 1)]).is_none());
    }

    #[test]
    fn a_frame_that_ends_in_its_tags_is_none() {
        assert!(Tagged::read(&frame(&[(0x8100, 1)])[..15]).is_none());
        let tagged = Tagged::read(&frame(&[(0x8100, 1), (0x88a8, 2), (0x8100, 3)])).unwrap();
        assert_eq!((tagged.count, tagged.header_len()), (3, 26));
        assert_eq!(tagged.ethertype, EtherType::IP4);
    }
}
