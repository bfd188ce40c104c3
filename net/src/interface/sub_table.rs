//! The table from VLAN tags to sub-interfaces (IEEE 802.1Q clause 9).

use std::sync::Arc;

use super::vlan::Tagged;
use super::{InterfaceIndex, SubInterface};

/// In a [`Key`], a VLAN that does not matter.
const ANY: u32 = 0x1000;

/// Number of tags, kind of the outer one, and the VLANs that matter, in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u32);

impl Key {
    const DEFAULT: Self = Self(u32::MAX);
    const UNTAGGED: Self = Self::new(0, false, 0, 0);

    const fn new(tags: u32, is_dot1ad: bool, outer: u32, inner: u32) -> Self {
        Self(tags << 28 | (is_dot1ad as u32) << 27 | outer << 13 | inner)
    }
    /// Place of a key for one tag and a certain VLAN in [`SubTable::one`].
    fn place(self) -> Option<usize> {
        let (tags, outer) = (self.0 >> 28, self.0 >> 13 & (2 * ANY - 1));
        (tags == 1 && outer != ANY).then(|| place(self.0 >> 27 & 1 != 0, outer as u16))
    }
    fn of(sub: &SubInterface) -> Self {
        let any = |id: Option<u16>| id.map_or(ANY, u32::from);
        match sub.tags {
            _ if sub.is_default => Self::DEFAULT,
            0 => Self::UNTAGGED,
            1 => Self::new(1, sub.is_dot1ad, any(sub.outer), ANY),
            _ => Self::new(2, sub.is_dot1ad, any(sub.outer), any(sub.inner)),
        }
    }
}

/// The sub-interfaces of one interface, by the tags of the frames they take. A changed copy shares
/// all parts with the original but one.
///
/// What a frame costs does not depend on how many there are: one with one tag is for the
/// sub-interface that stands at its VLAN's place, one with two is looked for at most seven times in
/// a part of the table that stays small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubTable {
    /// Each in the order of its keys; one part while they are few, [`PARTS`] from then on.
    parts: Vec<Arc<Part>>,
    count: usize,
    /// Sub-interfaces for one tag, by VLAN: first of 802.1Q, then of 802.1ad. None before the
    /// first.
    one: Vec<Arc<[u32; PIECE]>>,
    /// Sub-interfaces for frames with one tag that no other takes, by kind of tag.
    other: [u32; 2],
    /// The same for VLAN 0.
    zero: [u32; 2],
    /// Sub-interface for frames without tags.
    untagged: u32,
}

impl Default for SubTable {
    fn default() -> Self {
        let none = [NOBODY; 2];
        let (parts, one) = (Vec::new(), Vec::new());
        Self { parts, count: 0, one, other: none, zero: none, untagged: NOBODY }
    }
}

type Part = Vec<(Key, Entry)>;

/// VLAN numbers there are.
const VLANS: usize = 1 << 12;
/// VLANs in one piece of [`SubTable::one`].
const PIECE: usize = 256;
/// In place of an interface, none.
const NOBODY: u32 = u32::MAX;

/// Place of a VLAN, which is less than [`VLANS`], in [`SubTable::one`].
#[inline(always)]
fn place(is_dot1ad: bool, vlan: u16) -> usize {
    usize::from(is_dot1ad) * VLANS + usize::from(vlan)
}

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
        self.arrange(key);
        true
    }
    /// Takes a sub-interface out.
    pub fn remove(&mut self, sub: &SubInterface) {
        let (key, part) = (Key::of(sub), self.part(Key::of(sub)));
        let Some(entries) = self.parts.get_mut(part) else { return };
        if let Ok(at) = entries.binary_search_by_key(&key, |e| e.0) {
            Arc::make_mut(entries).remove(at);
            self.count -= 1;
            self.arrange(key);
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
    /// Updates the matches for frames with one tag or none, after a change of `key`.
    fn arrange(&mut self, key: Key) {
        let interface = |key| self.at(key).map(|e| e.interface);
        if let Some(place) = key.place() {
            let interface = interface(key).unwrap_or(NOBODY);
            if self.one.is_empty() {
                let empty = Arc::new([NOBODY; PIECE]);
                self.one = std::iter::repeat_n(empty, 2 * VLANS / PIECE).collect();
            }
            Arc::make_mut(&mut self.one[place / PIECE])[place % PIECE] = interface;
            return;
        }
        let any = [false, true].map(|is_dot1ad| interface(Key::new(1, is_dot1ad, ANY, ANY)));
        let (untagged, default) = (interface(Key::UNTAGGED), interface(Key::DEFAULT));
        let zero = any.map(|any| any.or(untagged).unwrap_or(NOBODY));
        self.other = any.map(|any| any.or(default).unwrap_or(NOBODY));
        (self.zero, self.untagged) = (zero, untagged.unwrap_or(NOBODY));
    }
    /// Whether frames without tags may be for one of them.
    pub fn has_untagged(&self) -> bool {
        self.untagged != NOBODY
    }
    /// The sub-interface of a frame: the one with the most specific match.
    #[inline(always)]
    pub fn find(&self, tagged: &Tagged) -> Option<u32> {
        let found = match tagged.count {
            0 => self.untagged,
            1 => self.with_one(tagged.is_dot1ad, tagged.vlans[0]),
            _ => self.with_several(tagged),
        };
        (found != NOBODY).then_some(found)
    }
    #[inline(always)]
    fn with_one(&self, is_dot1ad: bool, vlan: u16) -> u32 {
        let place = place(is_dot1ad, vlan);
        let own = self.one.get(place / PIECE).map_or(NOBODY, |piece| piece[place % PIECE]);
        let others = if vlan == 0 { self.zero } else { self.other };
        if own == NOBODY { others[usize::from(is_dot1ad)] } else { own }
    }
    #[inline(never)]
    fn with_several(&self, tagged: &Tagged) -> u32 {
        let [outer, inner] = tagged.vlans.map(u32::from);
        let key = |tags, outer, inner| (tags, Key::new(tags, tagged.is_dot1ad, outer, inner));
        let keys = [
            key(2, outer, inner),
            key(2, outer, ANY),
            key(2, ANY, inner),
            key(2, ANY, ANY),
            key(1, outer, ANY),
            key(1, ANY, ANY),
        ];
        // Tags after the second one are ignored.
        let fits = |tags: u32, e: &Entry| !e.is_exact || tags as usize == tagged.count.min(2);
        let found = keys.iter().find_map(|(tags, key)| self.at(*key).filter(|e| fits(*tags, e)));
        found.or_else(|| self.at(Key::DEFAULT)).map_or(NOBODY, |e| e.interface)
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
pub(super) mod tests {
    use super::super::vlan::LOOKED_AT;
    use super::*;

    /// A frame with these tags before an IPv4 packet.
    pub fn frame(tags: &[(u16, u16)]) -> Vec<u8> {
        let mut bytes = vec![0; 12];
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
        let cases: [(Tags<'_>, Option<u32>); 10] = [
            (&[(Q, 100)], Some(0)),
            (&[(Q, 0xe064)], Some(0)),
            (&[(Q, 200)], Some(1)),
            (&[(Q, 200), (Q, 5)], Some(1)),
            (&[(Q, 300)], Some(2)),
            (&[(Q, 100), (Q, 7)], Some(3)),
            (&[(Q, 100), (Q, 8)], Some(4)),
            (&[(AD, 100), (Q, 7)], Some(5)),
            (&[(AD, 100), (Q, 7), (Q, 1)], Some(5)),
            (&[(AD, 100), (Q, 8), (Q, 1)], Some(6)),
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

    /// The same as [`SubTable::find`], by a linear search.
    fn find_among(subs: &[SubInterface], tags: &[(u16, u16)]) -> Option<u32> {
        let vlan = |at: usize| tags.get(at).map(|tag| tag.1 & 0xfff);
        let is_untagged = tags.is_empty() || (tags.len() == 1 && vlan(0) == Some(0));
        let rank = |s: &SubInterface| {
            let is = |at: usize, wanted: Option<u16>| match wanted {
                Some(id) if vlan(at) == Some(id) => Some(0),
                Some(_) => None,
                None => Some(2 - at),
            };
            let is_kind = tags.first().is_some_and(|tag| (tag.0 == 0x88a8) == s.is_dot1ad);
            let fits = !s.is_exact || usize::from(s.tags) == tags.len().min(2);
            match s.tags {
                0 if s.is_default => (!is_untagged).then_some(9),
                0 => is_untagged.then_some(8),
                1 if is_kind && fits => Some(4 + is(0, s.outer)?),
                2 if is_kind && fits && tags.len() > 1 => Some(is(0, s.outer)? + is(1, s.inner)?),
                _ => None,
            }
        };
        let ranked = subs.iter().enumerate().filter_map(|(at, s)| Some((rank(s)?, at as u32)));
        ranked.min().map(|(_, at)| at)
    }

    #[test]
    fn every_frame_finds_what_a_search_through_all_finds() {
        let mut seed = 1_u32;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % below
        };
        for _ in 0..200 {
            let (mut table, mut subs) = (SubTable::default(), Vec::new());
            for _ in 0..random(30) {
                let tags = random(3) as u8;
                let mut id = || (random(4) > 0).then(|| 1 + random(4) as u16);
                let (outer, inner) = (id().filter(|_| tags > 0), id().filter(|_| tags > 1));
                let is_default = tags == 0 && random(2) == 0;
                let is_dot1ad = tags > 0 && random(2) == 0;
                let is_exact = !is_default && random(2) == 0;
                let sub = SubInterface {
                    tags,
                    is_dot1ad,
                    is_exact,
                    is_default,
                    outer,
                    inner,
                    ..SubInterface::default()
                };
                let index = InterfaceIndex(subs.len() as u32);
                if table.add(&sub, index) {
                    subs.push(sub);
                }
                // One of them goes, for the next to take its number.
                if let Some(last) = subs.last().filter(|_| random(4) == 0) {
                    table.remove(last);
                    subs.pop();
                }
            }
            for _ in 0..200 {
                let kind = |n| [0x8100, 0x88a8][n as usize];
                let tags: Vec<_> =
                    (0..random(4)).map(|_| (kind(random(2)), random(6) as u16)).collect();
                assert_eq!(find(&table, &tags), find_among(&subs, &tags), "{tags:?} {subs:?}");
                // Read the other way it is the same, or is left to the first.
                let bytes = frame(&tags);
                let few = Tagged::read_few(&bytes);
                assert_eq!(few.is_some(), tags.len() <= LOOKED_AT);
                assert!(few.is_none_or(|few| Some(few) == Tagged::read(&bytes)));
            }
        }
    }

    #[test]
    fn a_port_has_a_sub_interface_for_each_vlan() {
        let mut table = SubTable::default();
        let index = |vlan: u16| InterfaceIndex(u32::from(vlan) + 10);
        for vlan in 1..4095 {
            assert!(table.add(&SubInterface::dot1q(vlan.into(), vlan), index(vlan)));
        }
        for vlan in 1..4095 {
            assert_eq!(find(&table, &[(0x8100, vlan)]), Some(index(vlan).0));
            assert_eq!(find(&table, &[(0x88a8, vlan)]), None);
            assert_eq!(find(&table, &[(0x8100, vlan), (0x8100, 1)]), None, "they are exact");
        }
        table.remove(&SubInterface::dot1q(7, 7));
        assert_eq!(find(&table, &[(0x8100, 7)]), None);
        assert_eq!(find(&table, &[(0x8100, 4095)]), None);
    }
}
