//! VLAN tags of frames: read, and put into what a sub-interface sends (IEEE 802.1Q clause 9).

use graph::{Buffer, Flags, Metadata};
use wire::ethernet::{EtherType, Header};
use wire::vlan::{Id, Tag};
use zerocopy::FromBytes;

/// Length of the addresses at the start of a frame.
const ADDRESSES: usize = 12;
/// Length of one tag.
const TAG: usize = size_of::<Tag>();
/// Tags of which the VLAN counts.
pub(super) const LOOKED_AT: usize = 2;

/// Up to two tags to insert after the addresses of a frame: VLAN of the outer one, of the inner
/// one of 802.1Q, whether the outer one is a service tag, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags(u32);

/// Bits of a VLAN.
const VLAN: u32 = 12;
const IS_DOT1AD: u32 = 2 * VLAN;
const COUNT: u32 = IS_DOT1AD + 1;

impl Tags {
    /// No tags.
    pub const NONE: Self = Self(0);

    /// One tag, a service tag if `is_dot1ad`.
    pub fn one(is_dot1ad: bool, vlan: u16) -> Self {
        Self(1 << COUNT | u32::from(is_dot1ad) << IS_DOT1AD | u32::from(vlan))
    }
    /// An outer tag, a service tag if `is_dot1ad`, and an inner one.
    pub fn two(is_dot1ad: bool, outer: u16, inner: u16) -> Self {
        let Self(one) = Self::one(is_dot1ad, outer);
        Self((one + (1 << COUNT)) | (u32::from(inner) << VLAN))
    }
    /// Their length, in bytes.
    pub fn size(self) -> usize {
        TAG * (self.0 >> COUNT) as usize
    }
    /// All of it in the lowest [`Tags::BITS`] bits.
    pub fn to_bits(self) -> u64 {
        self.0.into()
    }
    /// The same from these; higher ones do not count.
    #[inline(always)]
    pub fn from_bits(bits: u64) -> Self {
        Self(bits as u32 & ((1 << Self::BITS) - 1))
    }
    /// Number of bits in use.
    pub const BITS: u32 = COUNT + 2;

    /// Inserts them after the addresses of a frame; `None` without headroom.
    #[inline(always)]
    pub fn insert(self, p: &mut Buffer<'_>) -> Option<()> {
        let kind = if self.0 >> IS_DOT1AD & 1 != 0 { EtherType::QINQ } else { EtherType::VLAN };
        let tag = |kind: EtherType, at: u32| {
            let control = self.0 >> at & ((1 << VLAN) - 1);
            (u32::from(kind.get()) << 16 | control).to_be_bytes()
        };
        let (outer, inner) = (tag(kind, 0), tag(EtherType::VLAN, VLAN));
        match self.0 >> COUNT {
            0 => return Some(()),
            1 => insert(p, outer)?,
            _ => insert::<{ 2 * TAG }>(p, *[outer, inner].as_flattened().first_chunk()?)?,
        }
        if let Some(priority) = p.metadata(&TAG_PRIORITY) {
            prioritize(p, priority);
        }
        Some(())
    }
}

/// Priority and drop eligibility (4 bits) of the outer tag that a packet gets when it is sent.
pub const TAG_PRIORITY: Metadata<u8> = Metadata::new("tag priority", 10, Flags::inherited(4));

/// Writes priority and drop eligibility into the outer tag of a frame.
#[cold]
fn prioritize(p: &mut Buffer<'_>, priority: u8) {
    if let Some(control) = p.bytes_mut().get_mut(ADDRESSES + 2) {
        *control = priority << 4 | *control & 0xf;
    }
}

/// Inserts bytes after the addresses of a frame.
#[inline(always)]
fn insert<const LEN: usize>(p: &mut Buffer<'_>, tags: [u8; LEN]) -> Option<()> {
    p.prepend(LEN)?;
    let front = p.bytes_mut();
    let addresses: [u8; ADDRESSES] = *front.get(LEN..)?.first_chunk()?;
    *front.first_chunk_mut()? = addresses;
    *front.get_mut(ADDRESSES..)?.first_chunk_mut()? = tags;
    let offset = p.offset();
    p.set_l2_offset(offset);
    p.add_flags(Flags::L2);
    Some(())
}

/// The tags of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// Number of tags.
    pub count: usize,
    /// The outer one is a service tag.
    pub(crate) is_dot1ad: bool,
    /// VLANs of the first two.
    pub(crate) vlans: [u16; LOOKED_AT],
    /// The part after the last tag.
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
    /// Reads the tags of a frame with at most two without a loop; `None` when it has more or is cut
    /// off.
    #[inline(always)]
    pub fn read_few(frame: &[u8]) -> Option<Self> {
        let two = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
        let kind = |at: usize| Some(EtherType::new(two(at)?));
        let vlan = |at: usize| Some(two(at)? & Id::MAX.get());
        let outer = kind(ADDRESSES)?;
        let is_dot1ad = outer == EtherType::QINQ;
        let mut tagged = Self { count: 0, is_dot1ad, vlans: [0; LOOKED_AT], ethertype: outer };
        if outer.is_vlan() {
            (tagged.count, tagged.vlans[0]) = (1, vlan(ADDRESSES + 2)?);
            tagged.ethertype = kind(ADDRESSES + TAG)?;
            if tagged.ethertype.is_vlan() {
                (tagged.count, tagged.vlans[1]) = (2, vlan(ADDRESSES + TAG + 2)?);
                tagged.ethertype = kind(ADDRESSES + 2 * TAG)?;
            }
        }
        (!tagged.ethertype.is_vlan()).then_some(tagged)
    }
    /// Outer VLAN ID.
    pub fn outer(&self) -> Option<u16> {
        (self.count > 0).then_some(self.vlans[0])
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

#[cfg(test)]
mod tests {
    use super::super::sub_table::tests::frame;
    use super::*;

    #[test]
    fn a_frame_that_ends_in_its_tags_is_none() {
        assert!(Tagged::read(&frame(&[(0x8100, 1)])[..15]).is_none());
        let tagged = Tagged::read(&frame(&[(0x8100, 1), (0x88a8, 2), (0x8100, 3)])).unwrap();
        assert_eq!((tagged.count, tagged.header_len()), (3, 26));
        assert_eq!(tagged.ethertype, EtherType::IP4);
    }
}
