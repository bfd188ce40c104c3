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
        if ip6::extensions(whole).any(|e| e.protocol == Protocol::FRAGMENT) {
            return Err(Error::CantFragmentHeader); // a piece already
        }
        let (_, body) = fragment_place(whole);
        Ok((body, body + FRAGMENT))
    }
    fn header(whole: &[u8], body: usize, piece: Piece) -> Result<Header, Error> {
        let (announced_at, _) = fragment_place(whole);
        let next_header = Protocol(*whole.get(announced_at).ok_or(Error::Malformed)?);
        let mut new = Header::new(&whole[..body])?;
        let offset_more = (piece.offset as u16 | u16::from(!piece.is_last)).into();
        let fragment =
            FragmentHeader { next_header, reserved: 0, offset_more, id: piece.id.into() };
        new.push(fragment.as_bytes())?;
        let payload_len = new.len - size_of::<ip6::Header>() + piece.len;
        let bytes = new.bytes_mut();
        bytes[announced_at] = Protocol::FRAGMENT.0;
        let (header, _) = ip6::Header::mut_from_prefix(bytes).map_err(|_| Error::Malformed)?;
        header.payload_len = (payload_len as u16).into();
        Ok(new)
    }
}
