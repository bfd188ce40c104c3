//! Fragmentation on transmit, for encrypted packets after encryption (RFC 4303 section 3.3.4):
//! `ip4-rewrite` and `ip6-rewrite` do not fragment packets to interfaces with policies.

use net::fragment::{self, Error};
use net::prelude::*;

/// Longest layer 2 header in bytes.
const LAYER_2: usize = 32;

/// Fragments an IP packet after `front` bytes of layer 2 into fragments of at most `mtu` bytes: the
/// packet becomes the first one, and the others follow it. All get the given flags.
///
/// # Errors
/// The reason why it cannot be fragmented.
#[cold]
#[inline(never)]
pub fn cut<N: Node>(
    p: &mut Packet<'_, N>,
    front: usize,
    (mtu, is_6): (u16, bool),
    marks: Flags,
    sequence: &mut u64,
) -> Result<(), Error> {
    let mut layer_2 = [0; LAYER_2];
    let layer_2 = layer_2.get_mut(..front).ok_or(Error::CantFragmentHeader)?;
    layer_2.copy_from_slice(p.bytes().get(..front).ok_or(Error::Malformed)?);
    p.advance(front).ok_or(Error::Malformed)?;
    let layer_2 = &*layer_2;
    let wrap = |new: &mut graph::NewPacket<'_, N>, header: &mut [u8], _: usize| {
        let at = new.offset();
        new.set_l2_offset(at);
        new.add_flags(marks);
        new.append(layer_2)?;
        new.append(header)
    };
    let mtu = usize::from(mtu);
    match is_6 {
        true => fragment::cut::<V6, N>(p, mtu, sequence, wrap)?,
        false => fragment::cut::<V4, N>(p, mtu, sequence, wrap)?,
    }
    p.prepend(front).ok_or(Error::CantFragmentHeader)?.copy_from_slice(layer_2);
    let at = p.offset();
    p.set_l2_offset(at);
    p.add_flags(marks);
    Ok(())
}
