//! VLAN tag rewrite: the edit of a bridged frame's tags on receive, and the reverse on transmit
//! (IEEE 802.1Q, 802.1ah for the headers of provider backbone bridging).

use graph::{Buffer, Flags};
use net::interface::{Interface, TagRewrite};
use wire::ethernet::{EtherType, Header};

use super::packet;

/// Bytes of the addresses at the start of a frame.
const ADDRESSES: u8 = 12;
/// Bytes of a tag.
const TAG: u8 = 4;
/// Bytes of a header of backbone bridging: addresses, tag of the backbone, tag of the service.
pub const PBB: u8 = 22;
/// Type of the tag behind that of the backbone.
const SERVICE: EtherType = EtherType::new(0x88e7);
/// Largest VLAN.
const MAX_VLAN: u32 = 0x0fff;
/// Largest service.
const MAX_SERVICE: u32 = 0x00ff_ffff;

/// Bytes taken out at a place of a frame, and others put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edit {
    at: u8,
    pop: u8,
    len: u8,
    push: [u8; PBB as usize],
}

/// Edits of received frames, and the reverse for transmitted ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// For received frames, in order.
    pub input: Vec<Edit>,
    /// For frames to be sent.
    pub output: Vec<Edit>,
}

/// Reasons why tags cannot be rewritten so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, control::feature::Refusal)]
pub enum Error {
    /// no such interface
    #[retval(INVALID_SW_IF_INDEX)]
    NoInterface,
    /// no such operation
    #[retval(INVALID_VALUE_2)]
    NoOperation,
    /// a VLAN ID is at most 4095
    #[retval(INVALID_VLAN)]
    Vlan,
    /// a service identifier is at most 16777215
    #[retval(INVALID_VALUE)]
    Service,
    /// the interface does not match so many tags
    #[retval(INVALID_VLAN)]
    TagCount,
}

/// Numbers of tags that each operation takes from a received frame and puts in.
const OPERATIONS: [(u8, u8); 9] =
    [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (1, 1), (1, 2), (2, 1), (2, 2)];

/// Number of tags that an operation puts in.
pub fn pushed(op: u32) -> usize {
    OPERATIONS.get(op as usize).map_or(0, |(_, push)| usize::from(*push))
}

/// Operations of backbone bridging, in the numbers of clients.
pub mod pbb {
    /// Frames are received without its header and transmitted with it.
    pub const PUSH: u32 = 2;
    /// Frames are received with its header and transmitted without it.
    pub const POP: u32 = 4;
    /// Its header becomes a tag.
    pub const TRANSLATE: u32 = 7;
}

impl Edit {
    fn tags(pop: u8, push: &[[u8; 4]]) -> Self {
        let bytes = push.concat();
        let mut edit =
            Self { at: ADDRESSES, pop: pop * TAG, len: bytes.len() as u8, push: [0; 22] };
        edit.push[..bytes.len()].copy_from_slice(&bytes);
        edit
    }
    /// Bytes that a frame becomes longer by.
    fn growth(&self) -> i16 {
        i16::from(self.len) - i16::from(self.pop)
    }
    /// Does it to a frame; `None` and a frame that is to be dropped where it does not have what is
    /// taken out, or no room.
    pub fn apply(&self, p: &mut Buffer<'_>) -> Option<()> {
        let (at, pop, len) = (usize::from(self.at), usize::from(self.pop), usize::from(self.len));
        let has_it = match self.at {
            0 if pop > 0 => {
                let types = [p.bytes().get(12..14)?, p.bytes().get(16..18)?];
                types == [&EtherType::QINQ.get().to_be_bytes()[..], &SERVICE.get().to_be_bytes()]
            }
            0 => true,
            _ => packet::header_len(p) >= size_of::<Header>() + pop,
        };
        let mut front = [0; ADDRESSES as usize];
        front[..at].copy_from_slice(p.bytes().get(..at).filter(|_| has_it)?);
        let header_len = packet::header_len(p) as i16 + self.growth();
        p.advance(at + pop)?;
        let room = p.prepend(at + len)?;
        room[..at].copy_from_slice(&front[..at]);
        room[at..].copy_from_slice(&self.push[..len]);
        let offset = p.offset();
        p.set_l2_offset(offset);
        p.set_l3_offset(offset + header_len.max(size_of::<Header>() as i16));
        p.add_flags(Flags::L2.with(Flags::L3));
        Some(())
    }
    /// Whether a frame's outer tags are those that this edit puts in.
    pub fn is_undone_by(&self, p: &Buffer<'_>) -> bool {
        let (at, len) = (usize::from(self.at), usize::from(self.len));
        let same = |(have, push): (&[u8], &[u8])| {
            have[..2] == push[..2] && have[2] & 0xf == push[2] && have[3] == push[3]
        };
        let have = p.bytes().get(at..at + len).unwrap_or(&[]);
        have.len() == len && have.chunks(4).zip(self.push[..len].chunks(4)).all(same)
    }
}

/// A tag of a VLAN, of the service kind if `is_dot1ad`.
fn tag(is_dot1ad: bool, vlan: u16) -> [u8; 4] {
    let kind = if is_dot1ad { EtherType::QINQ } else { EtherType::VLAN };
    let ([a, b], [c, d]) = (kind.get().to_be_bytes(), vlan.to_be_bytes());
    [a, b, c, d]
}

/// Edits of an interface that rewrites tags so.
///
/// # Errors
/// [`Error`].
pub fn vlan(i: &Interface, wanted: &TagRewrite) -> Result<Rewrite, Error> {
    let operation = OPERATIONS.get(wanted.op as usize);
    let (pop, push) = *operation.ok_or(Error::NoOperation)?;
    if wanted.tags[..usize::from(push)].iter().any(|vlan| *vlan > MAX_VLAN) {
        return Err(Error::Vlan);
    }
    let sub = i.sub.unwrap_or_default();
    let [outer, inner] = [sub.outer, sub.inner];
    let popped = match pop {
        0 => Vec::new(),
        // Only what is known can be put in again.
        _ if sub.tags < pop => return Err(Error::TagCount),
        1 => vec![tag(sub.is_dot1ad, outer.ok_or(Error::TagCount)?)],
        _ => vec![
            tag(sub.is_dot1ad, outer.ok_or(Error::TagCount)?),
            tag(false, inner.ok_or(Error::TagCount)?),
        ],
    };
    // The inner one of two is a customer's.
    let is_dot1ad = wanted.push_dot1q == 0;
    let [first, second] = wanted.tags.map(|vlan| vlan as u16);
    let pushed = match push {
        0 => Vec::new(),
        1 => vec![tag(is_dot1ad, first)],
        _ => vec![tag(is_dot1ad, first), tag(false, second)],
    };
    let edits = |pop: u8, push: &[[u8; 4]]| match (pop, push.len()) {
        (0, 0) => Vec::new(),
        _ => vec![Edit::tags(pop, push)],
    };
    Ok(Rewrite { input: edits(pop, &pushed), output: edits(push, &popped) })
}

/// Edits of headers of backbone bridging.
///
/// # Errors
/// [`Error`].
pub fn backbone(wanted: &TagRewrite) -> Result<Rewrite, Error> {
    if u32::from(wanted.b_vlanid) > MAX_VLAN || u32::from(wanted.outer_tag) > MAX_VLAN {
        return Err(Error::Vlan);
    }
    if wanted.i_sid > MAX_SERVICE {
        return Err(Error::Service);
    }
    let header = [
        &wanted.b_dmac.0[..],
        &wanted.b_smac.0,
        &tag(true, wanted.b_vlanid),
        &SERVICE.get().to_be_bytes(),
        &wanted.i_sid.to_be_bytes(),
    ];
    let mut push = Edit { at: 0, pop: 0, len: PBB, push: [0; 22] };
    push.push.copy_from_slice(&header.concat());
    let pop = Edit { at: 0, pop: PBB, len: 0, push: [0; 22] };
    Ok(match wanted.op {
        0 => Rewrite::default(),
        pbb::PUSH => Rewrite { input: vec![push], output: vec![pop] },
        pbb::POP => Rewrite { input: vec![pop], output: vec![push] },
        pbb::TRANSLATE => Rewrite {
            input: vec![pop, Edit::tags(0, &[tag(true, wanted.outer_tag)])],
            output: vec![Edit::tags(1, &[]), push],
        },
        _ => return Err(Error::NoOperation),
    })
}
