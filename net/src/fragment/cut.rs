//! Packets cut within the node that makes them too long: fragments take its edge one after the
//! other, with what the node puts in front of each.

use graph::{Flags, NewPacket, Node, Packet};

use super::{Cut, Error, MOST_HEADER, Pieces, identification};
use crate::gso;

/// Makes a packet its first fragment of at most `mtu` bytes. The others follow it: `wrap` puts the
/// front of one on a new packet, given its header and the length of what comes after.
///
/// # Errors
/// Why it cannot be cut. Fragments that were made before are dropped with the packet.
#[inline(never)]
pub fn cut<V: Cut, N: Node>(
    p: &mut Packet<'_, N>,
    mtu: usize,
    sequence: &mut u64,
    mut wrap: impl FnMut(&mut NewPacket<'_, N>, &mut [u8], usize) -> Option<()>,
) -> Result<(), Error> {
    if p.flags().has(Flags::CHECKSUM_TODO) {
        gso::complete(p).map_err(|_| Error::Malformed)?;
    }
    gso::with_bytes(p, |p, whole| {
        let pieces = Pieces::of::<V>(whole, mtu, identification(sequence))?.own(true);
        for i in 1..pieces.count() {
            let header = pieces.header::<V>(whole, i)?;
            let mut bytes = [0; MOST_HEADER];
            let bytes = &mut bytes[..header.bytes().len()];
            bytes.copy_from_slice(header.bytes());
            let body = &whole[pieces.range(i)];
            let mut new = p.fresh().ok_or(Error::Memory)?;
            wrap(&mut new, bytes, body.len()).ok_or(Error::Memory)?;
            new.extend(body).ok_or(Error::Memory)?;
            new.follow().ok_or(Error::Memory)?;
        }
        let header = pieces.header::<V>(whole, 0)?;
        let first = pieces.range(0);
        p.clear_flags(Flags::GSO.with(Flags::TUNNEL));
        p.truncate_chain(first.end);
        p.advance(first.start).ok_or(Error::CantFragmentHeader)?;
        let front = p.prepend(header.bytes().len()).ok_or(Error::CantFragmentHeader)?;
        front.copy_from_slice(header.bytes());
        Ok(())
    })
    .ok_or(Error::Memory)?
}
