//! Fragments of IPv4 packets (RFC 791 sections 3.1 and 3.2).

use wire::ip4::{self, MORE_FRAGMENTS, OFFSET_MASK};
use zerocopy::FromBytes;

use super::{Cut, Error, Header, Piece};
use crate::ip::V4;

/// Length of a header without options in bytes.
const PLAIN: usize = size_of::<ip4::Header>();
/// Bit of an option's type: it is copied to all fragments.
const COPIED: u8 = 0x80;
const END: u8 = 0;
const NO_OPERATION: u8 = 1;

impl Cut for V4 {
    const TITLE: &'static str = "IPv4";

    fn split(whole: &[u8]) -> Result<(usize, usize), Error> {
        let (header, _) = ip4::Header::ref_from_prefix(whole).map_err(|_| Error::Malformed)?;
        let len = header.header_len();
        if len < PLAIN || len > whole.len() || usize::from(header.total_len.get()) != whole.len() {
            return Err(Error::Malformed);
        }
        if header.dont_fragment() {
            return Err(Error::DontFragmentSet);
        }
        Ok((len, len))
    }
    fn header(whole: &[u8], body: usize, piece: Piece) -> Result<Header, Error> {
        let (plain, options) = whole[..body].split_at(PLAIN);
        let mut new = Header::new(plain)?;
        if piece.offset == 0 {
            new.push(options)?;
        } else {
            copy_options(options, &mut new)?;
        }
        let len = new.len;
        let bytes = new.bytes_mut();
        let (header, options) =
            ip4::Header::mut_from_prefix(bytes).map_err(|_| Error::Malformed)?;
        let old = header.fragment.get();
        let offset = (old & OFFSET_MASK) + (piece.offset / 8) as u16;
        let more = if piece.is_last { old & MORE_FRAGMENTS } else { MORE_FRAGMENTS };
        header.fragment = (offset | more).into();
        // Packets of this router get one when they are cut: others kept theirs all the way.
        if piece.is_own && header.id.get() == 0 {
            header.id = (piece.id as u16).max(1).into();
        }
        header.version_ihl = 4 << 4 | (len / 4) as u8;
        header.total_len = ((len + piece.len) as u16).into();
        header.update_checksum_with(options);
        Ok(new)
    }
}

/// The options that go into later fragments.
fn copy_options(options: &[u8], new: &mut Header) -> Result<(), Error> {
    let mut left = options;
    while let Some(&kind) = left.first().filter(|kind| **kind != END) {
        let len = match left.get(1) {
            _ if kind == NO_OPERATION => 1,
            Some(len) => usize::from(*len),
            None => break,
        };
        let Some((option, rest)) = left.split_at_checked(len).filter(|_| len > 0) else { break };
        if kind & COPIED != 0 {
            new.push(option)?;
        }
        left = rest;
    }
    let padding = new.len.next_multiple_of(4) - new.len;
    new.push(&[END; 4][..padding])
}
