//! Fragments of IPv6 packets (RFC 8200 section 4.5).

use wire::Protocol;
use wire::ip6::{self, FragmentHeader, fragment_place};
use zerocopy::{FromBytes, IntoBytes};

use super::{Cut, Error, Header, Piece};
use crate::ip::V6;

/// Length of a fragment header in bytes.
const FRAGMENT: usize = size_of::<FragmentHeader>();

impl Cut for V6 {
    const TITLE: &'static str = "IPv6";

    fn split(whole: &[u8]) -> Result<(usize, usize), Error> {
        let (header, _) = ip6::Header::ref_from_prefix(whole).map_err(|_| Error::Malformed)?;
        if size_of_val(header) + usize::from(header.payload_len.get()) != whole.len() {
            return Err(Error::Malformed);
        }
        // A piece already: its header stands for those of its pieces.
        if let Some((at, _)) = piece_of(whole) {
            return Ok((at + FRAGMENT, at + FRAGMENT));
        }
        let (_, body) = fragment_place(whole);
        Ok((body, body + FRAGMENT))
    }
    fn header(whole: &[u8], body: usize, piece: Piece) -> Result<Header, Error> {
        if let Some((at, old)) = piece_of(whole) {
            return again(whole, body, piece, (at, old));
        }
        let (announced_at, _) = fragment_place(whole);
        let next_header = Protocol(*whole.get(announced_at).ok_or(Error::Malformed)?);
        let mut new = Header::new(&whole[..body])?;
        let offset_more = (piece.offset as u16 | u16::from(!piece.is_last)).into();
        let fragment =
            FragmentHeader { next_header, reserved: 0, offset_more, id: piece.id.into() };
        new.push(fragment.as_bytes())?;
        new.bytes_mut()[announced_at] = Protocol::FRAGMENT.0;
        finish(new, piece)
    }
}

/// The fragment header of a packet, and its place.
fn piece_of(whole: &[u8]) -> Option<(usize, FragmentHeader)> {
    let at = ip6::extensions(whole).find(|e| e.protocol == Protocol::FRAGMENT)?.offset;
    let (old, _) = FragmentHeader::read_from_prefix(whole.get(at..)?).ok()?;
    Some((at, old))
}

/// The header of a fragment of a fragment, which keeps its place in the packet. Only translators
/// have such: of fragments of IPv4.
fn again(
    whole: &[u8],
    body: usize,
    piece: Piece,
    (at, old): (usize, FragmentHeader),
) -> Result<Header, Error> {
    let mut new = Header::new(whole.get(..body).ok_or(Error::Malformed)?)?;
    let more = u16::from(!piece.is_last || old.more_fragments());
    let offset_more = ((old.offset() + piece.offset) as u16 | more).into();
    let room = new.bytes_mut().get_mut(at..at + FRAGMENT).ok_or(Error::Malformed)?;
    room.copy_from_slice(FragmentHeader { offset_more, ..old }.as_bytes());
    finish(new, piece)
}

fn finish(mut new: Header, piece: Piece) -> Result<Header, Error> {
    let payload_len = new.len - size_of::<ip6::Header>() + piece.len;
    let (header, _) =
        ip6::Header::mut_from_prefix(new.bytes_mut()).map_err(|_| Error::Malformed)?;
    header.payload_len = (payload_len as u16).into();
    Ok(new)
}
