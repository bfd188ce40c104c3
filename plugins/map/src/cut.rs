//! Packets that are too long for their domain, cut into fragments.

use graph::{Flags, NewPacket, Node, Packet};
use net::fragment::{Cut, Pieces, identification};
use net::gso;

use super::table::Error;

/// Longest header of a fragment in bytes.
const HEADER: usize = 256;

/// Makes a packet its first fragment of at most `mtu` bytes. The others follow it: `wrap` puts the
/// front of one on a new packet, given its header and the length of what comes behind.
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
        let pieces = Pieces::of::<V>(whole, mtu, identification(sequence));
        let pieces = pieces.map_err(|_| Error::FragmentMalformed)?.own(true);
        for i in 1..pieces.count() {
            let header = pieces.header::<V>(whole, i).map_err(|_| Error::FragmentMalformed)?;
            let mut bytes = [0; HEADER];
            let bytes = &mut bytes[..header.bytes().len()];
            bytes.copy_from_slice(header.bytes());
            let body = &whole[pieces.range(i)];
            let mut new = p.fresh().ok_or(Error::FragmentMemory)?;
            wrap(&mut new, bytes, body.len()).ok_or(Error::FragmentMemory)?;
            new.extend(body).ok_or(Error::FragmentMemory)?;
            new.follow().ok_or(Error::FragmentMemory)?;
        }
        let header = pieces.header::<V>(whole, 0).map_err(|_| Error::FragmentMalformed)?;
        let first = pieces.range(0);
        p.clear_flags(Flags::GSO.with(Flags::TUNNEL));
        p.truncate_chain(first.end);
        p.advance(first.start).ok_or(Error::FragmentMalformed)?;
        let front = p.prepend(header.bytes().len()).ok_or(Error::FragmentMalformed)?;
        front.copy_from_slice(header.bytes());
        Ok(())
    })
    .ok_or(Error::FragmentMemory)?
}
